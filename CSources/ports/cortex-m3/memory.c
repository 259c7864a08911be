// SPDX-License-Identifier: Apache-2.0

/// The four functions of the C library that compilers and libsodium take for granted, in a loop each. newlib's, though
/// called nano, take 580 bytes.

#include <stddef.h>
#include <stdint.h>

typedef uint32_t __attribute__((may_alias)) word;

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memset(void *bytes, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);
size_t strlen(const char *text);

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
  uint8_t *t = to;
  const uint8_t *f = from;
  if ((((uintptr_t)t | (uintptr_t)f) & 3) == 0) {
    for (; size >= 4; size -= 4, t += 4, f += 4) *(word *)t = *(const word *)f;
  }
  for (; size > 0; size--) *t++ = *f++;
  return to;
}

void *memset(void *bytes, int value, size_t size) {
  uint8_t *b = bytes;
  if (((uintptr_t)b & 3) == 0) {
    for (; size >= 4; size -= 4, b += 4) *(word *)b = (uint8_t)value * 0x01010101u;
  }
  for (; size > 0; size--) *b++ = (uint8_t)value;
  return bytes;
}

int memcmp(const void *a, const void *b, size_t size) {
  const uint8_t *left = a, *right = b;
  for (; size > 0; size--, left++, right++) {
    if (*left != *right) return *left - *right;
  }
  return 0;
}

size_t strlen(const char *text) {
  const char *end = text;
  while (*end != 0) end++;
  return (size_t)(end - text);
}
