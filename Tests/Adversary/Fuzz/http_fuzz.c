// SPDX-License-Identifier: Apache-2.0

/// Requests: texts of the fuzzer's choice, cut at the bytes that it names.
///
/// Oracles: a second reading of the spelling in docs/SPEC.md, section 15; the digest is that of one transcript; two
/// requests with one digest are one request.

#include <stdlib.h>

#include "fuzz.h"

static int visible(const char *text, size_t size, const char *refused) {
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte <= ' ' || byte >= 0x7f || strchr(refused, byte) != NULL) return 0;
  }
  return 1;
}

static int authority_is_right(const char *text, size_t size, const char *own_port) {
  char copy[260];
  char *port = NULL;
  if (size == 0 || size > 255 || !visible(text, size, "@/?#\\ABCDEFGHIJKLMNOPQRSTUVWXYZ")) return 0;
  memcpy(copy, text, size);
  copy[size] = '\0';
  if (copy[0] == '[') {
    char *end = strchr(copy, ']');
    if (end == NULL || end == copy + 1 || (end[1] != '\0' && end[1] != ':')) return 0;
    if (end[1] == ':') port = end + 2;
  } else {
    port = strchr(copy, ':');
    if (port == copy) return 0;
    if (port != NULL) port++;
  }
  if (port == NULL) return 1;
  if (port[0] < '1' || port[0] > '9' || strlen(port) > 5 || strspn(port, "0123456789") != strlen(port)) return 0;
  return atoi(port) <= 65535 && strcmp(port, own_port) != 0;
}

static int expected(const struct pfc_http *request) {
  int secure = request->scheme_size == 5 && memcmp(request->scheme, "https", 5) == 0;
  int plain = request->scheme_size == 4 && memcmp(request->scheme, "http", 4) == 0;
  if (!secure && !plain) return 0;
  if (request->method_size < 1 || request->method_size > 32) return 0;
  if (!visible(request->method, request->method_size, "\"(),/:;<=>?@[\\]{}")) return 0;
  if (!authority_is_right(request->authority, request->authority_size, secure ? "443" : "80")) return 0;
  if (request->target_size < 1 || !visible(request->target, request->target_size, "#\\")) return 0;
  if (request->target[0] != '/' && !(request->target_size == 1 && request->target[0] == '*')) return 0;
  for (size_t i = 0; i < request->authorization_size; i++) {
    if (strchr("\n\r", request->authorization[i]) != NULL) return 0;
  }
  return 1;
}

/// Fuzzer's text, or this one where it has none.
static char *text_from(struct fuzz_input *input, const char *otherwise, size_t *size) {
  uint8_t bytes[300];
  *size = fuzz_u8(input);
  if (*size == 0) {
    *size = strlen(otherwise);
    return (char *)fuzz_copy((const uint8_t *)otherwise, *size);
  }
  fuzz_take(input, bytes, *size);
  return (char *)fuzz_copy(bytes, *size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct pfc_http request;
  struct pfc_hash hash;
  uint8_t digest[32], last[32], again[32];
  memset(&request, 0, sizeof request);
  char *authorization = text_from(&input, "Bearer a", &request.authorization_size);
  char *target = text_from(&input, "/x?y", &request.target_size);
  char *authority = text_from(&input, "a.example:81", &request.authority_size);
  char *method = text_from(&input, "GET", &request.method_size);
  char *scheme = text_from(&input, "https", &request.scheme_size);
  request.authorization = authorization;
  request.target = target;
  request.authority = authority;
  request.method = method;
  request.scheme = scheme;
  memset(digest, 0xEE, sizeof digest);
  int result = pfc_http_digest(digest, &request);
  REQUIRE((result == PFC_OK) == expected(&request));
  if (result != PFC_OK) {
    REQUIRE(result == PFC_E_MALFORMED && fuzz_all(digest, sizeof digest, 0));
  } else {
    pfc_hash_init(&hash);
    pfc_hash_update(&hash, authorization, request.authorization_size);
    pfc_hash_final(last, &hash);
    pfc_hash_init(&hash);
    pfc_hash_update(&hash, method, request.method_size);
    pfc_hash_update(&hash, "\n", 1);
    pfc_hash_update(&hash, scheme, request.scheme_size);
    pfc_hash_update(&hash, "\n", 1);
    pfc_hash_update(&hash, authority, request.authority_size);
    pfc_hash_update(&hash, "\n", 1);
    pfc_hash_update(&hash, target, request.target_size);
    pfc_hash_update(&hash, "\n", 1);
    pfc_hash_update(&hash, request.body_digest, 32);
    pfc_hash_update(&hash, "\n", 1);
    pfc_hash_update(&hash, last, 32);
    pfc_hash_final(again, &hash);
    REQUIRE(memcmp(again, digest, 32) == 0);
    request.body_digest[0] ^= 1;
    REQUIRE(pfc_http_digest(again, &request) == PFC_OK && memcmp(again, digest, 32) != 0);
  }
  free(authorization);
  free(target);
  free(authority);
  free(method);
  free(scheme);
  return 0;
}
