// SPDX-License-Identifier: Apache-2.0

/// base64url: one text for each byte string.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"

static int decodes(const char *text, size_t size, uint8_t *bytes, size_t capacity, size_t *written) {
  int result = pfc_base64url_decode(bytes, capacity, written, text, size);
  if (result != PFC_OK) CHECK_NUMBER(*written, 0);
  return result;
}

static void published_texts(void) {
  // RFC 4648, section 10, without padding; the last two need the two characters of section 5.
  static const struct {
    const char *bytes, *text;
  } cases[] = {{"", ""},         {"f", "Zg"},         {"fo", "Zm8"},   {"foo", "Zm9v"},
               {"foob", "Zm9vYg"}, {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"}, {"\xff\xff\xfe", "___-"},
               {"\xfb\xef\xbe", "----"}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char text[16];
    uint8_t bytes[16];
    size_t size = strlen(cases[i].bytes), written;
    test_case("%u. %s", i + 1, cases[i].text);
    pfc_base64url_encode(text, (const uint8_t *)cases[i].bytes, size);
    CHECK_NUMBER(PFC_BASE64URL_SIZE(size), strlen(cases[i].text));
    CHECK_BYTES(text, cases[i].text, strlen(cases[i].text));
    CHECK_NUMBER(decodes(cases[i].text, strlen(cases[i].text), bytes, sizeof bytes, &written), PFC_OK);
    CHECK_NUMBER(written, size);
    CHECK_BYTES(bytes, cases[i].bytes, size);
  }
}

static void bytes_come_back(void) {
  struct dice dice = {1};
  for (size_t size = 0; size <= 200; size++) {
    uint8_t bytes[200], back[200];
    char text[300];
    size_t written;
    test_case("%zu bytes", size);
    dice_fill(&dice, bytes, size);
    memset(text, '!', sizeof text);
    pfc_base64url_encode(text, bytes, size);
    CHECK_NUMBER(text[PFC_BASE64URL_SIZE(size)], '!');
    CHECK_NUMBER(decodes(text, PFC_BASE64URL_SIZE(size), back, size, &written), PFC_OK);
    CHECK_NUMBER(written, size);
    CHECK_BYTES(back, bytes, size);
    if (size > 0) {
      CHECK_NUMBER(decodes(text, PFC_BASE64URL_SIZE(size), back, size - 1, &written), PFC_E_SPACE);
    }
  }
}

static void other_characters_are_refused(void) {
  static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  for (int character = 0; character < 256; character++) {
    char text[4] = {'A', 'A', 'A', 'A'};
    uint8_t bytes[3];
    size_t written;
    int known = character != 0 && strchr(alphabet, character) != NULL;
    test_case("character %d", character);
    for (unsigned at = 0; at < 4; at++) {
      text[at] = (char)character;
      CHECK_NUMBER(decodes(text, 4, bytes, sizeof bytes, &written), known ? PFC_OK : PFC_E_MALFORMED);
      text[at] = 'A';
    }
  }
}

static void unused_bits_are_refused(void) {
  uint8_t bytes[3];
  size_t written;
  test_case("1. a byte: four unused bits");
  CHECK_NUMBER(decodes("Zg", 2, bytes, 3, &written), PFC_OK);
  CHECK_NUMBER(decodes("Zh", 2, bytes, 3, &written), PFC_E_MALFORMED);
  CHECK_NUMBER(decodes("Zv", 2, bytes, 3, &written), PFC_E_MALFORMED);
  test_case("2. two bytes: two unused bits");
  CHECK_NUMBER(decodes("Zm8", 3, bytes, 3, &written), PFC_OK);
  CHECK_NUMBER(decodes("Zm9", 3, bytes, 3, &written), PFC_E_MALFORMED);
  CHECK_NUMBER(decodes("Zm-", 3, bytes, 3, &written), PFC_E_MALFORMED);
  test_case("3. lengths that no bytes have, and padding");
  CHECK_NUMBER(decodes("Z", 1, bytes, 3, &written), PFC_E_MALFORMED);
  CHECK_NUMBER(decodes("Zm9vY", 5, bytes, 3, &written), PFC_E_MALFORMED);
  CHECK_NUMBER(decodes("Zg==", 4, bytes, 3, &written), PFC_E_MALFORMED);
}

static const struct test tests[] = {
    TEST("base64url gives the published texts", published_texts),
    TEST("bytes of every length come back, and fit exactly", bytes_come_back),
    TEST("a character outside the alphabet is refused at each place", other_characters_are_refused),
    TEST("unused bits, impossible lengths and padding are refused", unused_bits_are_refused),
};

const struct suite base64url_suite = SUITE("base64url", tests);
