#define _GNU_SOURCE
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include "JOSEWitness.h"

enum { NEEDLE = 16, NEEDLES = 3, PAGE = 4096, CHUNK = 64 * 1024 };
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

/// Reads memory that may be protected or gone: fails where a load would end the process.
static int try_read(void *to, uintptr_t from, size_t size) {
  struct iovec local = {.iov_base = to, .iov_len = size};
  struct iovec remote = {.iov_base = (void *)from, .iov_len = size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static uint8_t buffer[CHUNK + NEEDLE];

/// Counts in one chunk, and so far beyond its end that nothing is missed between two.
static size_t count_in_chunk(uintptr_t from, size_t size, size_t beyond) {
  const uintptr_t own = (uintptr_t)buffer;
  if (from < own + sizeof buffer && own < from + size + beyond) return 0;
  if (try_read(buffer, from, size + beyond)) return count_in(buffer, size + beyond);
  if (try_read(buffer, from, size)) return count_in(buffer, size);
  size_t count = 0;
  for (size_t at = 0; size > PAGE && at < size; at += PAGE) {
    if (try_read(buffer, from + at, PAGE)) count += count_in(buffer, PAGE);
  }
  return count;
}

size_t jose_witness_traces(void) {
  char line[512];
  size_t count = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) return (size_t)-1;
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long from;
    unsigned long to;
    char permissions[5];
    if (sscanf(line, "%lx-%lx %4s", &from, &to, permissions) != 3) continue;
    if (permissions[0] != 'r' || permissions[1] != 'w' || to - from > LARGEST) continue;
    while (from < to) {
      const size_t size = to - from < CHUNK ? to - from : CHUNK;
      count += count_in_chunk(from, size, to - from > size ? NEEDLE - 1 : 0);
      from += size;
    }
  }
  fclose(maps);
  explicit_bzero(buffer, sizeof buffer);
  return count;
}

void jose_witness_free_unwiped(void) {
  uint8_t *secret = malloc(JOSE_WITNESS_BYTES);
  if (secret == NULL) return;
  jose_witness_fill(secret, JOSE_WITNESS_BYTES);
  // Or the compiler leaves out a write that nobody reads.
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
