// SPDX-License-Identifier: Apache-2.0

#include "http.h"

#include "crypto.h"
#include "internal.h"

static int is_among(char character, const char *characters, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (characters[i] == character) return 1;
  }
  return 0;
}

/// Visible ASCII, and none of these.
static int is_visible_but(const char *text, size_t size, const char *refused, size_t count) {
  for (size_t i = 0; i < size; i++) {
    if (text[i] < 0x21 || text[i] > 0x7e || is_among(text[i], refused, count)) return 0;
  }
  return 1;
}

/// The characters of a token in RFC 9110, section 5.6.2: visible ASCII without its delimiters.
static int method_is_valid(const char *text, size_t size) {
  static const char delimiters[] = "\"(),/:;<=>?@[\\]{}";
  return size > 0 && size <= PFC_HTTP_METHOD_MAX && is_visible_but(text, size, delimiters, sizeof delimiters - 1);
}

/// The port's number, or 0 where these digits are none.
static uint32_t port_of(const char *digits, size_t size) {
  uint32_t port = 0;
  if (size == 0 || size > 5 || digits[0] == '0') return 0;
  for (size_t i = 0; i < size; i++) {
    if (digits[i] < '0' || digits[i] > '9') return 0;
    port = 10 * port + (uint32_t)(digits[i] - '0');
  }
  return port <= 65535 ? port : 0;
}

/// How many characters the host has; 0 where there is none. A colon within brackets belongs to the host.
static size_t host_size(const char *text, size_t size) {
  size_t end = 0;
  char last = text[0] == '[' ? ']' : ':';
  while (end < size && text[end] != last) end++;
  if (last == ':') return end;
  return end < size && end > 1 ? end + 1 : 0;
}

static int authority_is_valid(const char *text, size_t size, uint32_t own_port) {
  static const char refused[] = "@/?#\\ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  size_t host;
  uint32_t port;
  if (size == 0 || size > PFC_HTTP_AUTHORITY_MAX) return 0;
  if (!is_visible_but(text, size, refused, sizeof refused - 1)) return 0;
  host = host_size(text, size);
  if (host == 0 || host == size) return host == size;
  if (text[host] != ':') return 0;
  port = port_of(text + host + 1, size - host - 1);
  return port != 0 && port != own_port;
}

static int target_is_valid(const char *text, size_t size) {
  static const char refused[] = "#\\";
  if (size == 0 || !is_visible_but(text, size, refused, sizeof refused - 1)) return 0;
  return text[0] == '/' || (size == 1 && text[0] == '*');
}

/// Looks at every byte alike, because the value is a credential: no branch depends on what a character is.
static int authorization_is_valid(const char *text, size_t size) {
  uint32_t refused = 0;
  for (size_t i = 0; i < size; i++) {
    uint32_t byte = (uint8_t)text[i];
    // Each difference is below 256, so its predecessor has the highest bit only where it is 0.
    refused |= (byte - 1) | ((byte ^ '\n') - 1) | ((byte ^ '\r') - 1);
  }
  refused >>= 31;
  PFC_DECLASSIFY(&refused, sizeof refused);
  return refused == 0;
}

/// The port that a scheme has by itself; 0 for a scheme that is refused.
static uint32_t scheme_port(const char *text, size_t size) {
  if (size == 4 && memcmp(text, "http", 4) == 0) return 80;
  return size == 5 && memcmp(text, "https", 5) == 0 ? 443 : 0;
}

static void add_line(struct pfc_hash *hash, const void *bytes, size_t size) {
  pfc_hash_update(hash, bytes, size);
  pfc_hash_update(hash, "\n", 1);
}

int pfc_http_digest(uint8_t digest[PFC_DIGEST_BYTES], const struct pfc_http *request) {
  struct pfc_hash hash;
  uint8_t authorization[PFC_DIGEST_BYTES];
  uint32_t own_port = scheme_port(request->scheme, request->scheme_size);
  memset(digest, 0, PFC_DIGEST_BYTES);
  if (own_port == 0 || !method_is_valid(request->method, request->method_size)) return PFC_E_MALFORMED;
  if (!authority_is_valid(request->authority, request->authority_size, own_port)) return PFC_E_MALFORMED;
  if (!target_is_valid(request->target, request->target_size)) return PFC_E_MALFORMED;
  if (!authorization_is_valid(request->authorization, request->authorization_size)) return PFC_E_MALFORMED;
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, request->authorization, request->authorization_size);
  pfc_hash_final(authorization, &hash);
  pfc_hash_init(&hash);
  add_line(&hash, request->method, request->method_size);
  add_line(&hash, request->scheme, request->scheme_size);
  add_line(&hash, request->authority, request->authority_size);
  add_line(&hash, request->target, request->target_size);
  add_line(&hash, request->body_digest, PFC_DIGEST_BYTES);
  pfc_hash_update(&hash, authorization, sizeof authorization);
  pfc_hash_final(digest, &hash);
  pfc_wipe(authorization, sizeof authorization);
  return PFC_OK;
}
