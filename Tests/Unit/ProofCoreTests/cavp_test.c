// SPDX-License-Identifier: Apache-2.0

/// NIST's Cryptographic Algorithm Validation Program for SHA-256: the published files of byte-oriented short messages,
/// long messages and the Monte Carlo test, as Tests/Vectors/cavp has them.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ProofCore.h"
#include "block.h"
#include "harness.h"

enum { MESSAGE_MAX = 6400, LINE_MAX_BYTES = 2 * MESSAGE_MAX + 64 };

static void hash(uint8_t digest[32], const uint8_t *message, size_t size) {
  struct pfc_hash state;
  pfc_hash_init(&state);
  pfc_hash_update(&state, message, size);
  pfc_hash_final(digest, &state);
}

static FILE *open_file(const char *name) {
  char path[512];
  FILE *file;
  if (options.vectors == NULL) {
    test_note("%s not run: no folder of vectors", name);
    return NULL;
  }
  (void)snprintf(path, sizeof path, "%s/cavp/%s", options.vectors, name);
  file = fopen(path, "r");
  test_case("%s", path);
  CHECK(file != NULL);
  return file;
}

/// The value of the next line `name = value`, or NULL at the end of the file.
static const char *next_value(FILE *file, const char *name) {
  static char line[LINE_MAX_BYTES];
  size_t size = strlen(name);
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, name, size) != 0 || strncmp(line + size, " = ", 3) != 0) continue;
    line[strcspn(line, "\r\n")] = '\0';
    return line + size + 3;
  }
  return NULL;
}

static void run_messages(const char *name, unsigned expected_cases) {
  static uint8_t message[MESSAGE_MAX];
  FILE *file = open_file(name);
  unsigned cases = 0;
  if (file == NULL) return;
  for (const char *value; (value = next_value(file, "Len")) != NULL; cases++) {
    uint8_t expected[32], digest[32];
    size_t bits = (size_t)strtoul(value, NULL, 10), size = 0;
    test_case("%s, %zu bits", name, bits);
    value = next_value(file, "Msg");
    if (!CHECK(value != NULL && parse_bytes(value, message, sizeof message, &size))) break;
    // The message of no bits is written as one byte.
    if (bits == 0) size = 0;
    CHECK_NUMBER(size, bits / 8);
    value = next_value(file, "MD");
    if (!CHECK(value != NULL)) break;
    (void)unhex(expected, sizeof expected, value);
    hash(digest, message, size);
    CHECK_BYTES(digest, expected, sizeof expected);
  }
  CHECK_NUMBER(cases, expected_cases);
  (void)fclose(file);
}

static void short_messages(void) { run_messages("SHA256ShortMsg.rsp", 65); }
static void long_messages(void) { run_messages("SHA256LongMsg.rsp", 64); }

/// "The Secure Hash Algorithm Validation System", section 6.4: each message is the last three digests.
static void monte_carlo(void) {
  FILE *file = open_file("SHA256Monte.rsp");
  uint8_t digests[3][32], next[32], expected[32];
  const char *value;
  unsigned count = 0;
  if (file == NULL) return;
  value = next_value(file, "Seed");
  if (CHECK(value != NULL)) {
    (void)unhex(next, sizeof next, value);
    for (; (value = next_value(file, "MD")) != NULL; count++) {
      test_case("Monte Carlo, count %u", count);
      (void)unhex(expected, sizeof expected, value);
      for (unsigned i = 0; i < 3; i++) memcpy(digests[i], next, sizeof next);
      for (unsigned i = 0; i < 1000; i++) {
        hash(next, digests[0], sizeof digests);
        memmove(digests[0], digests[1], 2 * sizeof next);
        memcpy(digests[2], next, sizeof next);
      }
      CHECK_BYTES(next, expected, sizeof expected);
    }
  }
  CHECK_NUMBER(count, 100);
  (void)fclose(file);
}

static const struct test tests[] = {
    TEST("CAVP: 65 short messages have the published digests", short_messages),
    TEST("CAVP: 64 long messages have the published digests", long_messages),
    TEST("CAVP: 100,000 hashes of the Monte Carlo test give the published digests", monte_carlo),
};

const struct suite cavp_suite = SUITE("cavp", tests);
