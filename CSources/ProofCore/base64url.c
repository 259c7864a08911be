// SPDX-License-Identifier: Apache-2.0

#include "base64url.h"

#include "internal.h"

static const char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void pfc_base64url_encode(char *text, const uint8_t *bytes, size_t size) {
  uint32_t waiting = 0;
  unsigned bits = 0;
  for (size_t i = 0; i < size; i++) {
    waiting = (waiting << 8 | bytes[i]) & 0xFFFFu;
    for (bits += 8; bits >= 6; bits -= 6) *text++ = alphabet[waiting >> (bits - 6) & 63];
  }
  if (bits > 0) *text = alphabet[waiting << (6 - bits) & 63];
}

static int value_of(char character) {
  if (character >= 'A' && character <= 'Z') return character - 'A';
  if (character >= 'a' && character <= 'z') return character - 'a' + 26;
  if (character >= '0' && character <= '9') return character - '0' + 52;
  if (character == '-') return 62;
  return character == '_' ? 63 : -1;
}

int pfc_base64url_decode(uint8_t *bytes, size_t capacity, size_t *size, const char *text, size_t text_size) {
  uint32_t waiting = 0;
  unsigned bits = 0;
  size_t written = 0;
  *size = 0;
  if (text_size % 4 == 1) return PFC_E_MALFORMED;
  for (size_t i = 0; i < text_size; i++) {
    int value = value_of(text[i]);
    if (value < 0) return PFC_E_MALFORMED;
    waiting = (waiting << 6 | (uint32_t)value) & 0xFFFFu;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    if (written == capacity) return PFC_E_SPACE;
    bytes[written++] = (uint8_t)(waiting >> bits);
  }
  // A second text for the same bytes would be a second name for one token.
  if ((waiting & ((1u << bits) - 1)) != 0) return PFC_E_MALFORMED;
  *size = written;
  return PFC_OK;
}
