// SPDX-License-Identifier: Apache-2.0

/// The tests' harness: properties in tables, checks that print where and what, deterministic dice.
///
/// A test is a function that holds one property; a suite is a table of them. A failed check prints one line with file,
/// line, suite, case and values, and the test goes on, so that one run shows as much as it can. After a few lines the
/// test falls silent; it has failed anyway.

#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
  const char *property;  ///< Property that holds, as a sentence
  void (*run)(void);
};

struct suite {
  const char *noun;
  const struct test *tests;
  size_t count;
};

#define TEST(property_, run_) {(property_), (run_)}
#define SUITE(noun_, tests_) {(noun_), (tests_), sizeof(tests_) / sizeof((tests_)[0])}

/// The command line.
struct options {
  const char *vectors;     ///< Folder of the independent implementation's vectors
  const char *wycheproof;  ///< Folder of the Wycheproof files
  const char *filter;      ///< Run only tests whose noun or property contains this
  bool emit;
  bool thorough;  ///< `--long`
  int native;     ///< The hash path that this build and processor have beside the portable one, or the portable one
};

extern struct options options;

/// Runs every test that passes the filter. 0 if none failed.
int harness_run(const struct suite *const *suites, size_t count);

/// The same without the closing line; adds to the counts.
void harness_play(const struct suite *const *suites, size_t count, unsigned *passed, unsigned *failed);

/// How many tests pass the filter.
unsigned harness_chosen(const struct suite *const *suites, size_t count);

/// The `main` of a program whose only options are `--long` and `--filter TEXT`. 2 for any other.
int harness_main(int argc, char **argv, const char *program, const struct suite *const *suites, size_t count);

/// How many checks have failed since the test at hand began. For what runs outside tests.
unsigned harness_failures(void);

/// Names the case at hand; printed with every failure until the next call or the end of the test.
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void test_case(const char *format, ...);

/// One line that belongs to the report even when all is well: a count, a missing folder.
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void test_note(const char *format, ...);

/// Each answers whether the check held.
bool check_true(bool held, const char *text, const char *file, int line);
bool check_number(long long actual, long long expected, const char *text, const char *file, int line);
bool check_count(uint64_t actual, uint64_t expected, const char *text, const char *file, int line);
bool check_bytes(const void *actual, const void *expected, size_t size, const char *text, const char *file, int line);
bool check_differ(const void *a, const void *b, size_t size, const char *text, const char *file, int line);
bool check_zeros(const void *bytes, size_t size, const char *text, const char *file, int line);

#define CHECK(held) check_true((held), #held, __FILE__, __LINE__)
/// Signed numbers: results, verdicts, sizes.
#define CHECK_NUMBER(actual, expected) \
  check_number((long long)(actual), (long long)(expected), #actual, __FILE__, __LINE__)
/// Unsigned 64-bit numbers: counters, epochs.
#define CHECK_COUNT(actual, expected) check_count((actual), (expected), #actual, __FILE__, __LINE__)
#define CHECK_BYTES(actual, expected, size) check_bytes((actual), (expected), (size), #actual, __FILE__, __LINE__)
#define CHECK_DIFFER(a, b, size) check_differ((a), (b), (size), #a " against " #b, __FILE__, __LINE__)
#define CHECK_ZEROS(bytes, size) check_zeros((bytes), (size), #bytes, __FILE__, __LINE__)

/// A number as the code has it, and as a page does.
struct number {
  int is, expected;
};

/// Each number is a case of its own.
void check_numbers(const struct number *numbers, size_t count);

/// Leaves the test function when a check that the rest stands on does not hold.
#define REQUIRE(check)    \
  do {                    \
    if (!(check)) return; \
  } while (0)

/// Bytes of a literal in hexadecimal; spaces are skipped. Ends the program on a literal that is not hexadecimal or
/// does not fit: that is a defect of the test itself.
size_t unhex(uint8_t *bytes, size_t capacity, const char *text);

/// A deterministic source of bytes, the same on every machine (SplitMix64). Not for secrets outside tests.
struct dice {
  uint64_t state;
};

uint64_t dice_roll(struct dice *dice);
/// 0 to `sides` - 1.
uint32_t dice_below(struct dice *dice, uint32_t sides);
void dice_fill(struct dice *dice, void *bytes, size_t size);

/// Little-endian integers, byte by byte.
void put16(uint8_t *bytes, uint16_t value);
void put32(uint8_t *bytes, uint32_t value);
void put64(uint8_t *bytes, uint64_t value);
uint32_t get32(const uint8_t *bytes);
uint64_t get64(const uint8_t *bytes);

#endif
