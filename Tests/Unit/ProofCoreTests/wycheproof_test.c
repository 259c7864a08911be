// SPDX-License-Identifier: Apache-2.0

/// C2SP/wycheproof, through the core's own entry points. The files stand in Tests/Vectors/wycheproof; without the
/// folder these tests say so and hold nothing.

#include <stdio.h>
#include <string.h>

#include "ProofCore.h"
#include "block.h"
#include "harness.h"
#include "json.h"

enum { BYTES_MAX = 4096 };

/// Outcomes of a file's cases.
struct tally {
  unsigned valid, refused, beyond;
};

typedef void judge(const struct json *group, const struct json *test, struct tally *tally);

static bool is(const struct json *test, const char *result) { return strcmp(json_text(test, "result"), result) == 0; }

static size_t bytes_of(const struct json *object, const char *name, uint8_t *bytes) {
  size_t size;
  if (!CHECK(parse_bytes(json_text(object, name), bytes, BYTES_MAX, &size))) return 0;
  return size;
}

static void run_file(const char *name, judge *judge_case, const char *beyond) {
  struct json_file file;
  struct tally tally = {0, 0, 0};
  long long cases = 0;
  if (options.wycheproof == NULL) {
    test_note("%s not run: no Wycheproof folder", name);
    return;
  }
  test_case("%s", name);
  if (!CHECK(json_open(&file, options.wycheproof, name))) return;
  const struct json *groups = json_member(file.root, "testGroups");
  for (const struct json *group = groups->first; group != NULL; group = group->next) {
    for (const struct json *test = json_member(group, "tests")->first; test != NULL; test = test->next, cases++) {
      test_case("%s tcId %lld: %s", name, json_member(test, "tcId")->number, json_text(test, "comment"));
      judge_case(group, test, &tally);
    }
  }
  test_case("%s", name);
  CHECK_NUMBER(cases, json_member(file.root, "numberOfTests")->number);
  CHECK_NUMBER(tally.valid + tally.refused + tally.beyond, cases);
  test_note("%s: %u valid, %u refused, %u %s", name, tally.valid, tally.refused, tally.beyond, beyond);
  json_close(&file);
}

static void judge_hmac(const struct json *group, const struct json *test, struct tally *tally) {
  static uint8_t key[BYTES_MAX], message[BYTES_MAX], expected[BYTES_MAX];
  struct pfc_mac mac;
  uint8_t tag[32];
  size_t key_size = bytes_of(test, "key", key), size = bytes_of(test, "msg", message);
  size_t tag_size = bytes_of(test, "tag", expected);
  (void)group;
  pfc_mac_init(&mac, key, key_size);
  pfc_mac_update(&mac, message, size);
  pfc_mac_final(tag, &mac);
  // Tags may be truncated to their first bytes, as the configuration's and the records' are.
  REQUIRE(CHECK(tag_size <= sizeof tag));
  CHECK_NUMBER(pfc_equal(tag, expected, tag_size), is(test, "valid"));
  if (is(test, "valid")) {
    tally->valid++;
  } else {
    tally->refused++;
  }
}

static void judge_hkdf(const struct json *group, const struct json *test, struct tally *tally) {
  static uint8_t key[BYTES_MAX], salt[BYTES_MAX], info[BYTES_MAX], expected[BYTES_MAX * 4];
  uint8_t derived[32];
  size_t size;
  (void)group;
  // Invalid cases ask for more than 255 blocks; this function has one length.
  if (!is(test, "valid")) {
    tally->beyond++;
    return;
  }
  pfc_hkdf(derived, salt, bytes_of(test, "salt", salt), key, bytes_of(test, "ikm", key), info,
           bytes_of(test, "info", info));
  REQUIRE(CHECK(parse_bytes(json_text(test, "okm"), expected, sizeof expected, &size)));
  CHECK_BYTES(derived, expected, size < sizeof derived ? size : sizeof derived);
  tally->valid++;
}

static void judge_x25519(const struct json *group, const struct json *test, struct tally *tally) {
  static uint8_t public_key[BYTES_MAX], secret_key[BYTES_MAX], expected[BYTES_MAX];
  uint8_t shared[32];
  (void)group;
  REQUIRE(CHECK_NUMBER(bytes_of(test, "public", public_key), 32));
  REQUIRE(CHECK_NUMBER(bytes_of(test, "private", secret_key), 32));
  REQUIRE(CHECK_NUMBER(bytes_of(test, "shared", expected), 32));
  memset(shared, 0xa5, sizeof shared);
  if (pfc_is_zero(expected, 32)) {
    CHECK_NUMBER(pfc_shared_secret(shared, secret_key, public_key), PFC_E_SIGNATURE);
    CHECK_ZEROS(shared, sizeof shared);
    tally->refused++;
  } else {
    CHECK_NUMBER(pfc_shared_secret(shared, secret_key, public_key), PFC_OK);
    CHECK_BYTES(shared, expected, 32);
    tally->valid++;
  }
}

static void judge_ed25519(const struct json *group, const struct json *test, struct tally *tally) {
  static uint8_t message[BYTES_MAX], signature[BYTES_MAX], public_key[BYTES_MAX];
  size_t size = bytes_of(test, "msg", message), signature_size = bytes_of(test, "sig", signature);
  REQUIRE(CHECK_NUMBER(bytes_of(json_member(group, "publicKey"), "pk", public_key), 32));
  // The wire has no place for a signature of another length.
  if (signature_size != PFC_SIGNATURE_BYTES) {
    CHECK(is(test, "invalid"));
    tally->beyond++;
    return;
  }
  CHECK_NUMBER(pfc_verify(signature, message, size, public_key), is(test, "valid") ? PFC_OK : PFC_E_SIGNATURE);
  if (is(test, "valid")) {
    tally->valid++;
  } else {
    tally->refused++;
  }
}

static void hmac(void) { run_file("hmac_sha256_test.json", judge_hmac, "beyond the interface"); }
static void hkdf(void) { run_file("hkdf_sha256_test.json", judge_hkdf, "of a length the interface does not offer"); }
static void x25519(void) { run_file("x25519_test.json", judge_x25519, "beyond the interface"); }
static void ed25519(void) {
  run_file("ed25519_test.json", judge_ed25519, "of a signature length the wire does not have");
}

static const struct test tests[] = {
    TEST("Wycheproof HMAC-SHA-256: valid tags are made, invalid ones are not", hmac),
    TEST("Wycheproof HKDF-SHA-256: the first 32 bytes are as published", hkdf),
    TEST("Wycheproof X25519: secrets are as published, and a secret of zeros is refused", x25519),
    TEST("Wycheproof Ed25519: valid signatures verify, all invalid ones are refused", ed25519),
};

const struct suite wycheproof_suite = SUITE("wycheproof", tests);
