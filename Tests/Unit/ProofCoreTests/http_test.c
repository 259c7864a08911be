// SPDX-License-Identifier: Apache-2.0

/// The digest of a request, and its one spelling.

#include <string.h>

#include "ProofCore.h"
#include "gate_world.h"
#include "harness.h"

/// The digest from the page's formula, by one transcript.
static void expected_of(uint8_t digest[32], const char *lines, const uint8_t body[32], const char *authorization) {
  struct pfc_hash hash;
  uint8_t last[32];
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, authorization, strlen(authorization));
  pfc_hash_final(last, &hash);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, lines, strlen(lines));
  pfc_hash_update(&hash, body, 32);
  pfc_hash_update(&hash, "\n", 1);
  pfc_hash_update(&hash, last, 32);
  pfc_hash_final(digest, &hash);
}

static void digest_is_the_specs(void) {
  struct pfc_http request = request_of("POST", "https", "api.example.com:8443", "/pay?to=a%20b");
  uint8_t digest[32], expected[32];
  authorize(&request, "Bearer x");
  expected_of(expected, "POST\nhttps\napi.example.com:8443\n/pay?to=a%20b\n", request.body_digest, "Bearer x");
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_OK);
  CHECK_BYTES(digest, expected, 32);
  test_case("without an authorization");
  authorize(&request, "");
  expected_of(expected, "POST\nhttps\napi.example.com:8443\n/pay?to=a%20b\n", request.body_digest, "");
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_OK);
  CHECK_BYTES(digest, expected, 32);
  request.authorization = NULL;
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_OK);
  CHECK_BYTES(digest, expected, 32);
}

static void every_part_is_covered(void) {
  enum { SHAPES = 14 };
  struct pfc_http shapes[SHAPES];
  uint8_t digests[SHAPES][32];
  shapes[0] = request_of("GET", "https", "a.example", "/x");
  shapes[1] = request_of("HEAD", "https", "a.example", "/x");
  shapes[2] = request_of("get", "https", "a.example", "/x");
  shapes[3] = request_of("GET", "http", "a.example", "/x");
  shapes[4] = request_of("GET", "https", "b.example", "/x");
  shapes[5] = request_of("GET", "https", "a.example:444", "/x");
  shapes[6] = request_of("GET", "https", "a.example", "/y");
  shapes[7] = request_of("GET", "https", "a.example", "/x?");
  shapes[8] = request_of("GET", "https", "a.example", "/x?a=1");
  shapes[9] = request_of("GET", "https", "a.example", "/X");
  shapes[10] = request_of("GET", "https", "a.example", "/%78");
  shapes[11] = shapes[0], shapes[11].body_digest[31] ^= 1;
  shapes[12] = shapes[0], authorize(&shapes[12], "Bearer a");
  shapes[13] = shapes[0], authorize(&shapes[13], "Bearer b");
  for (unsigned i = 0; i < SHAPES; i++) {
    test_case("shape %u", i);
    CHECK_NUMBER(pfc_http_digest(digests[i], &shapes[i]), PFC_OK);
    for (unsigned j = 0; j < i; j++) CHECK_DIFFER(digests[i], digests[j], 32);
  }
}

static void spells(const char *method, const char *scheme, const char *authority, const char *target, int expected) {
  struct pfc_http request = request_of(method, scheme, authority, target);
  uint8_t digest[32];
  test_case("'%s' '%s' '%s' '%s'", method, scheme, authority, target);
  memset(digest, 0xa5, sizeof digest);
  CHECK_NUMBER(pfc_http_digest(digest, &request), expected);
  if (expected != PFC_OK) CHECK_ZEROS(digest, sizeof digest);
}

static void one_spelling_of_an_authority(void) {
  static const char *const good[] = {"a",       "a.example",   "a.example:1",  "a.example:65535", "127.0.0.1:8080",
                                     "[::1]",   "[::1]:8443",  "xn--bcher-kva.example", "a_b.example:80", "a.",
                                     "a:9",     "a:12349"};
  static const char *const bad[] = {"",          "A.example",  "a.example:443", "a.example:",  "a.example:0",
                                    "a:065",     "a:65536",    "a:99999",       "a:100000",    "a:4x",
                                    "a:+1",      ":80",        "u@a.example",   "a/b",         "a?b",
                                    "a#b",       "a\\b",       "a b",           "a\tb",        ("b\xc3\xbc" "cher"),
                                    "[::1",      "[]",         "[::1]x",        "[::1]:443",   "a:1:2", "::1", "a\x7f",
                                    // 80 more than a number of 32 or 64 bits holds.
                                    "a:4294967376", "a:18446744073709551696"};
  for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) spells("GET", "https", good[i], "/", PFC_OK);
  for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) spells("GET", "https", bad[i], "/", PFC_E_MALFORMED);
  spells("GET", "http", "a:443", "/", PFC_OK);
  spells("GET", "http", "a:80", "/", PFC_E_MALFORMED);
}

static void one_spelling_of_the_rest(void) {
  static const char *const methods[] = {"", "GE T", "GET\n", "G:ET", "G/T", "G\xc3\xa4T", "G(T", "\"GET\"", "G,T",
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG"};
  static const char *const schemes[] = {"", "HTTPS", "ftp", "https ", "httpx", "ws", "htt"};
  static const char *const targets[] = {"",       "x",     "a.example/x", "https://a/", "**", "/a#b",   "/a\\b", "/a b",
                                        "/a\nb",  "/a\rb", "/a\tb",       "/\xc3\xa4",  "?x", "/a\x7f", "#"};
  for (unsigned i = 0; i < sizeof methods / sizeof methods[0]; i++) {
    spells(methods[i], "https", "a", "/", PFC_E_MALFORMED);
  }
  for (unsigned i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
    spells("GET", schemes[i], "a", "/", PFC_E_MALFORMED);
  }
  for (unsigned i = 0; i < sizeof targets / sizeof targets[0]; i++) {
    spells("GET", "https", "a", targets[i], PFC_E_MALFORMED);
  }
  spells("OPTIONS", "https", "a", "*", PFC_OK);
  spells("M-SEARCH!#$%&'*+.^_`|~9", "https", "a", "/", PFC_OK);
  spells("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF", "https", "a", "/", PFC_OK);
  spells("GET", "https", "a", "//a/../b/%2f?q=?&\"<>{}|^`[]", PFC_OK);
}

static void lines_cannot_be_smuggled(void) {
  struct pfc_http request = request_of("GET", "https", "a.example", "/x");
  uint8_t digest[32];
  static const char *const bad[] = {"Bearer a\nX: y", "Bearer a\r", "\n"};
  for (unsigned i = 0; i < 3; i++) {
    test_case("authorization %u", i);
    authorize(&request, bad[i]);
    CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_E_MALFORMED);
  }
  test_case("a zero byte in each text");
  authorize(&request, "Bearer");
  request.authorization_size = 7;
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_E_MALFORMED);
  authorize(&request, "");
  request.method_size++;
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_E_MALFORMED);
  request.method_size--;
  request.authority_size++;
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_E_MALFORMED);
  request.authority_size--;
  request.target_size++;
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_E_MALFORMED);
  request.target_size--;
  CHECK_NUMBER(pfc_http_digest(digest, &request), PFC_OK);
}

static void limits_are_the_specs(void) {
  char long_text[258];
  memset(long_text, 'a', sizeof long_text);
  long_text[256] = '\0';
  spells("GET", "https", long_text, "/", PFC_E_MALFORMED);
  long_text[255] = '\0';
  spells("GET", "https", long_text, "/", PFC_OK);
  long_text[0] = '/';
  spells("GET", "https", "a", long_text, PFC_OK);
}

static const struct test tests[] = {
    TEST("a request's digest is the page's", digest_is_the_specs),
    TEST("two requests that differ in anything covered have two digests", every_part_is_covered),
    TEST("an authority has one spelling", one_spelling_of_an_authority),
    TEST("a method, a scheme and a target have one spelling", one_spelling_of_the_rest),
    TEST("no part can hold a line of another", lines_cannot_be_smuggled),
    TEST("an authority has at most 255 characters, a target any number", limits_are_the_specs),
};

const struct suite http_suite = SUITE("http", tests);
