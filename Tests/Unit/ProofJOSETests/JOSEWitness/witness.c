// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "JOSEWitness.h"
#include "MemoryScan.h"

enum { NEEDLE = 16, NEEDLES = 3 };
static const size_t LARGEST = (size_t)4 << 30;

static uint8_t mask[JOSE_WITNESS_BYTES];
static uint8_t masked[JOSE_WITNESS_BYTES];
/// The needles' own masks: independent, so that no two masked arrays give the secret by accident.
static uint8_t needle_mask[NEEDLES][NEEDLE];
static uint8_t needle_masked[NEEDLES][NEEDLE];

static void draw(uint8_t *bytes, size_t size) {
  while (getrandom(bytes, size, 0) != (ssize_t)size) {
  }
}

static void hide(int which, const uint8_t needle[NEEDLE]) {
  draw(needle_mask[which], NEEDLE);
  for (size_t i = 0; i < NEEDLE; i++) needle_masked[which][i] = needle[i] ^ needle_mask[which][i];
}

/// The first 16 characters of the base64 of `bytes`; 1 if both alphabets write them alike.
static int encode(uint8_t text[NEEDLE], const uint8_t bytes[NEEDLE]) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  int is_common = 1;
  for (size_t i = 0; i < NEEDLE; i++) {
    const size_t bit = i * 6;
    const unsigned pair = (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];
    const unsigned sextet = pair >> (10 - bit % 8) & 0x3f;
    is_common = is_common && sextet < 62;
    text[i] = sextet < 62 ? (uint8_t)letters[sextet] : 0;
  }
  return is_common;
}

void jose_witness_begin(void) {
  uint8_t end[NEEDLE];
  uint8_t text[NEEDLE];
  do {
    draw(mask, sizeof mask);
    draw(masked, sizeof masked);
    // The first byte stays 0: a scalar is then below the order of its curve.
    masked[JOSE_WITNESS_BYTES - 32] = mask[JOSE_WITNESS_BYTES - 32];
    for (size_t i = 0; i < NEEDLE; i++) {
      const size_t at = JOSE_WITNESS_BYTES - NEEDLE + i;
      end[i] = mask[at] ^ masked[at];
    }
    // Most memory is zeros, which nothing should begin with that is looked for.
  } while (!encode(text, end) || end[0] == 0 || end[NEEDLE - 1] == 0);
  hide(0, end);
  hide(1, text);
  for (size_t i = 0; i < NEEDLE / 2; i++) {
    const uint8_t swapped = end[i];
    end[i] = end[NEEDLE - 1 - i];
    end[NEEDLE - 1 - i] = swapped;
  }
  hide(2, end);
  explicit_bzero(end, sizeof end);
  explicit_bzero(text, sizeof text);
}

void jose_witness_fill(uint8_t *secret, size_t size) {
  const size_t start = JOSE_WITNESS_BYTES - size;
  for (size_t i = 0; i < size; i++) secret[i] = mask[start + i] ^ masked[start + i];
}

void jose_witness_watch(const uint8_t *secret, size_t size) {
  uint8_t needle[NEEDLE];
  hide(0, secret + size - NEEDLE);
  for (size_t i = 0; i < NEEDLE; i++) needle[i] = secret[size - 1 - i];
  hide(1, needle);
  for (size_t i = 0; i < NEEDLE; i++) needle[i] = secret[NEEDLE - 1 - i];
  hide(2, needle);
  explicit_bzero(needle, sizeof needle);
}

static size_t count_in(const uint8_t *bytes, size_t size) {
  size_t count = 0;
  for (int which = 0; which < NEEDLES; which++) {
    const int first = needle_mask[which][0] ^ needle_masked[which][0];
    size_t at = 0;
    while (at + NEEDLE <= size) {
      const uint8_t *found = memchr(bytes + at, first, size - NEEDLE - at + 1);
      if (found == NULL) break;
      size_t i = 0;
      while (i < NEEDLE && (found[i] ^ needle_mask[which][i]) == needle_masked[which][i]) i++;
      count += i == NEEDLE;
      at = (size_t)(found - bytes) + 1;
    }
  }
  return count;
}

size_t jose_witness_traces(void) { return memory_scan(count_in, NEEDLE, LARGEST); }

void jose_witness_free_unwiped(void) {
  uint8_t *secret = malloc(JOSE_WITNESS_BYTES);
  if (secret == NULL) return;
  jose_witness_fill(secret, JOSE_WITNESS_BYTES);
  // Keeps the compiler from leaving out a write that is never read.
  __asm__ volatile("" : : "r"(secret) : "memory");
  free(secret);
}

size_t jose_witness_library_errors(void) {
  size_t count = 0;
  while (ERR_get_error() != 0) count++;
  return count;
}

void jose_witness_raise_library_error(void) { ERR_raise(ERR_LIB_USER, ERR_R_INTERNAL_ERROR); }

void jose_witness_clear_library_errors(void) { ERR_clear_error(); }
