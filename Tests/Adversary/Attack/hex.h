// SPDX-License-Identifier: Apache-2.0

/// Bytes as lower-case hexadecimal text, for programs that talk in lines.

#ifndef ATTACK_HEX_H
#define ATTACK_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline void hex_print(const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) printf("%02x", bytes[i]);
}

/// The number of bytes, or -1.
static inline long hex_read(uint8_t *bytes, size_t capacity, const char *text) {
  static const char DIGITS[] = "0123456789abcdef";
  size_t size = strlen(text) / 2;
  if (strlen(text) % 2 != 0 || size > capacity) return -1;
  for (size_t i = 0; i < size; i++) {
    const char *high = strchr(DIGITS, text[2 * i]), *low = strchr(DIGITS, text[2 * i + 1]);
    if (high == NULL || low == NULL) return -1;
    bytes[i] = (uint8_t)((high - DIGITS) << 4 | (low - DIGITS));
  }
  return (long)size;
}

#endif
