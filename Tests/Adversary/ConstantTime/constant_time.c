// SPDX-License-Identifier: Apache-2.0

/// Runs every check under valgrind and prints one line for each: a check fails if memcheck reported anything while it
/// ran, or if its secret did not flow where it should.
///
///     valgrind constant_time              all checks
///     valgrind constant_time NAME…        those named
///     SODIUM_INIT=1 valgrind …            after sodium_init, with the implementations it picks for this processor
///     NATIVE_TRANSCRIPTS=1 valgrind …     linked with standin/kernel.c: the native path's own transcripts

#include "constant_time.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static unsigned complaints;

void make_secret(void *bytes, size_t size, uint8_t seed) {
  uint8_t *byte = bytes;
  for (size_t i = 0; i < size; i++) byte[i] = (uint8_t)(1 + (seed * 31u + i * 7u) % 255);
  conceal(bytes, size);
}

struct pfc_key make_secret_key(uint8_t bytes[PFC_KEY_BYTES]) {
  make_secret(bytes, PFC_KEY_BYTES, 1);
  return pfc_key_plain(bytes, PFC_MODE_PRODUCTION);
}

void conceal(void *bytes, size_t size) { (void)VALGRIND_MAKE_MEM_UNDEFINED(bytes, size); }

void reveal(void *bytes, size_t size) { (void)VALGRIND_MAKE_MEM_DEFINED(bytes, size); }

void expect_secret(const char *what, const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    uint8_t undefined_bits = 0;
    (void)VALGRIND_GET_VBITS((const char *)bytes + i, &undefined_bits, 1);
    if (undefined_bits != 0) continue;
    printf("    no secret in byte %zu of %s\n", i, what);
    complaints++;
    return;
  }
}

void expect(const char *what, int condition) {
  if (condition) return;
  printf("    not so: %s\n", what);
  complaints++;
}

static int is_named(const char *name, int count, char **names) {
  for (int i = 0; i < count; i++) {
    if (strcmp(name, names[i]) == 0) return 1;
  }
  return count == 0;
}

int main(int argc, char **argv) {
  static const struct check *const groups[] = {checks_proof, checks_measurement, checks_hardware, checks_gate,
                                               checks_logbook, checks_sealed, checks_channel,
                                               checks_grant};
  unsigned passed = 0, failed = 0;
  if (!RUNNING_ON_VALGRIND) {
    fprintf(stderr, "constant_time: means nothing without valgrind\n");
    return 2;
  }
  // valgrind hides the SHA-256 instructions, so the path is libsodium's unless standin/kernel.c is linked in its place.
  if ((pfc_hash_in_use() == PFC_HASH_PORTABLE) != (getenv("NATIVE_TRANSCRIPTS") == NULL)) {
    fprintf(stderr, "constant_time: path %d of SHA-256 is in use\n", (int)pfc_hash_in_use());
    return 2;
  }
  if (getenv("SODIUM_INIT") != NULL && sodium_init() < 0) return 2;
  for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++) {
    for (const struct check *check = groups[group]; check->name != NULL; check++) {
      if (!is_named(check->name, argc - 1, argv + 1)) continue;
      unsigned before = (unsigned)VALGRIND_COUNT_ERRORS;
      complaints = 0;
      check->run();
      unsigned reports = (unsigned)VALGRIND_COUNT_ERRORS - before;
      int ok = reports == 0 && complaints == 0;
      if (ok) {
        passed++;
      } else {
        failed++;
      }
      printf("  %s  %s", ok ? "ok    " : "FAILED", check->name);
      if (reports > 0) printf(": %u places depend on a secret", reports);
      printf("\n");
      fflush(stdout);
    }
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed > 0;
}
