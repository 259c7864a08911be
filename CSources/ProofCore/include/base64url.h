// SPDX-License-Identifier: Apache-2.0

/// base64url (RFC 4648, section 5) without padding, strict: one text for each byte string, and no other text decodes.
///
/// For public bytes only: which characters a text has decides which branches run.

#ifndef PFC_BASE64URL_H
#define PFC_BASE64URL_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The characters that `size` bytes take.
#define PFC_BASE64URL_SIZE(size) ((size) / 3 * 4 + ((size) % 3 * 4 + 2) / 3)

/// Writes PFC_BASE64URL_SIZE(size) characters, without a terminator. `bytes` may be NULL if `size` is 0.
void pfc_base64url_encode(char *text, const uint8_t *bytes, size_t size);

/// Reads `text_size` characters. PFC_E_MALFORMED for another character (`=`, `+`, `/`, white space), a length that no
/// byte string has, or an unused bit that is set; PFC_E_SPACE if the bytes do not fit `capacity`. `*size` is then 0,
/// and the output is unspecified.
PFC_MUST_USE int pfc_base64url_decode(uint8_t *bytes, size_t capacity, size_t *size, const char *text,
                                      size_t text_size);

#ifdef __cplusplus
}
#endif

#endif
