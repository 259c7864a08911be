// SPDX-License-Identifier: Apache-2.0

#include "harness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A defect that breaks a loop of a million cases should still leave a report that a person reads.
enum { LINES_MAX = 8, VALUE_MAX = 32 };

struct options options;

static struct {
  const char *noun;
  const char *property;
  char label[160];
  unsigned failures;
} current = {.noun = "proofcore-tests", .property = "outside tests"};

unsigned harness_failures(void) { return current.failures; }

static bool fail(const char *file, int line) {
  current.failures++;
  if (current.failures > LINES_MAX) {
    if (current.failures == LINES_MAX + 1) printf("  (more failures of this property are not printed)\n");
    return false;
  }
  const char *slash = strrchr(file, '/');
  printf("%s:%d: %s: \"%s\"", slash != NULL ? slash + 1 : file, line, current.noun, current.property);
  if (current.label[0] != '\0') printf(" [%s]", current.label);
  printf(": ");
  return true;
}

static void print_bytes(const uint8_t *bytes, size_t size) {
  size_t shown = size < VALUE_MAX ? size : VALUE_MAX;
  for (size_t i = 0; i < shown; i++) printf("%02x", bytes[i]);
  if (shown < size) printf("...");
}

bool check_true(bool held, const char *text, const char *file, int line) {
  if (!held && fail(file, line)) printf("%s does not hold\n", text);
  return held;
}

bool check_number(long long actual, long long expected, const char *text, const char *file, int line) {
  bool held = actual == expected;
  if (!held && fail(file, line)) printf("%s is %lld, expected %lld\n", text, actual, expected);
  return held;
}

bool check_count(uint64_t actual, uint64_t expected, const char *text, const char *file, int line) {
  bool held = actual == expected;
  if (!held && fail(file, line)) printf("%s is %" PRIu64 ", expected %" PRIu64 "\n", text, actual, expected);
  return held;
}

bool check_bytes(const void *actual, const void *expected, size_t size, const char *text, const char *file, int line) {
  if (size == 0 || memcmp(actual, expected, size) == 0) return true;
  if (fail(file, line)) {
    const uint8_t *a = actual, *e = expected;
    size_t first = 0;
    while (a[first] == e[first]) first++;
    printf("%s, from byte %zu of %zu, is ", text, first, size);
    print_bytes(a + first, size - first);
    printf(", expected ");
    print_bytes(e + first, size - first);
    printf("\n");
  }
  return false;
}

bool check_differ(const void *a, const void *b, size_t size, const char *text, const char *file, int line) {
  bool held = size != 0 && memcmp(a, b, size) != 0;
  if (!held && fail(file, line)) printf("%s: equal, expected to differ\n", text);
  return held;
}

bool check_zeros(const void *bytes, size_t size, const char *text, const char *file, int line) {
  const uint8_t *b = bytes;
  for (size_t i = 0; i < size; i++) {
    if (b[i] == 0) continue;
    if (fail(file, line)) printf("%s: byte %zu of %zu is %02x, expected zeros\n", text, i, size, b[i]);
    return false;
  }
  return true;
}

void check_numbers(const struct number *numbers, size_t count) {
  for (size_t i = 0; i < count; i++) {
    test_case("%d", numbers[i].expected);
    CHECK_NUMBER(numbers[i].is, numbers[i].expected);
  }
}

void test_case(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(current.label, sizeof current.label, format, arguments);
  va_end(arguments);
}

void test_note(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("%s: ", current.noun);
  (void)vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
}

static bool is_chosen(const struct suite *suite, const struct test *test) {
  return options.filter == NULL || strstr(suite->noun, options.filter) != NULL ||
         strstr(test->property, options.filter) != NULL;
}

unsigned harness_chosen(const struct suite *const *suites, size_t count) {
  unsigned chosen = 0;
  for (size_t s = 0; s < count; s++) {
    for (size_t t = 0; t < suites[s]->count; t++) chosen += is_chosen(suites[s], &suites[s]->tests[t]);
  }
  return chosen;
}

void harness_play(const struct suite *const *suites, size_t count, unsigned *passed, unsigned *failed) {
  for (size_t s = 0; s < count; s++) {
    for (size_t t = 0; t < suites[s]->count; t++) {
      const struct test *test = &suites[s]->tests[t];
      if (!is_chosen(suites[s], test)) continue;
      current.noun = suites[s]->noun;
      current.property = test->property;
      current.label[0] = '\0';
      current.failures = 0;
      test->run();
      (void)fflush(stdout);
      if (current.failures == 0) {
        ++*passed;
      } else {
        ++*failed;
      }
    }
  }
}

int harness_run(const struct suite *const *suites, size_t count) {
  unsigned passed = 0, failed = 0;
  harness_play(suites, count, &passed, &failed);
  printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

int harness_main(int argc, char **argv, const char *program, const struct suite *const *suites, size_t count) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--long") == 0) {
      options.thorough = true;
    } else if (strcmp(argv[i], "--filter") == 0 && i + 1 < argc) {
      options.filter = argv[++i];
    } else {
      (void)fprintf(stderr, "usage: %s [--long] [--filter TEXT]\n", program);
      return 2;
    }
  }
  return harness_run(suites, count);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

size_t unhex(uint8_t *bytes, size_t capacity, const char *text) {
  size_t size = 0;
  int high = -1;
  for (const char *c = text; *c != '\0'; c++) {
    if (*c == ' ') continue;
    int digit = hex_digit(*c);
    if (digit < 0 || size == capacity) {
      printf("not hexadecimal, or longer than %zu bytes: %.40s\n", capacity, text);
      exit(2);
    }
    if (high < 0) {
      high = digit;
    } else {
      bytes[size++] = (uint8_t)(high * 16 + digit);
      high = -1;
    }
  }
  if (high >= 0) {
    printf("an odd number of digits: %.40s\n", text);
    exit(2);
  }
  return size;
}

uint64_t dice_roll(struct dice *dice) {
  uint64_t z = (dice->state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

uint32_t dice_below(struct dice *dice, uint32_t sides) { return (uint32_t)(dice_roll(dice) % sides); }

void dice_fill(struct dice *dice, void *bytes, size_t size) {
  uint8_t *b = bytes;
  for (size_t i = 0; i < size;) {
    uint64_t roll = dice_roll(dice);
    for (unsigned n = 0; n < 8 && i < size; n++, i++) b[i] = (uint8_t)(roll >> (8 * n));
  }
}

void put16(uint8_t *bytes, uint16_t value) {
  bytes[0] = (uint8_t)value;
  bytes[1] = (uint8_t)(value >> 8);
}

void put32(uint8_t *bytes, uint32_t value) {
  for (unsigned i = 0; i < 4; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

void put64(uint8_t *bytes, uint64_t value) {
  for (unsigned i = 0; i < 8; i++) bytes[i] = (uint8_t)(value >> (8 * i));
}

uint32_t get32(const uint8_t *bytes) {
  uint32_t value = 0;
  for (unsigned i = 4; i > 0; i--) value = (value << 8) | bytes[i - 1];
  return value;
}

uint64_t get64(const uint8_t *bytes) {
  uint64_t value = 0;
  for (unsigned i = 8; i > 0; i--) value = (value << 8) | bytes[i - 1];
  return value;
}
