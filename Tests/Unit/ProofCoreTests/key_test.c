// SPDX-License-Identifier: Apache-2.0

/// MPK, its id, DPK, and the secrets diversified for one piece of hardware.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"

static void hkdf(uint8_t out[32], const char *label, const void *key, size_t key_size, const void *info, size_t size) {
  pfc_hkdf(out, (const uint8_t *)label, 16, key, key_size, info, size);
}

static void key_id_is_the_specs(void) {
  struct dice dice = {1};
  for (uint8_t mode = 1; mode <= 2; mode++) {
    uint8_t mpk[16], expected[32], id[8];
    struct pfc_key key;
    test_case("mode %u", mode);
    dice_fill(&dice, mpk, sizeof mpk);
    key = pfc_key_plain(mpk, mode);
    pfc_key_id(id, &key);
    hkdf(expected, "pfc1.key-id.....", mpk, 16, &mode, 1);
    CHECK_NUMBER(id[0], mode);
    CHECK_BYTES(id + 1, expected, 7);
  }
}

static void mode_changes_the_whole_id(void) {
  uint8_t mpk[16] = {42}, production[8], development[8];
  struct pfc_key key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  pfc_key_id(production, &key);
  key.mode = PFC_MODE_DEVELOPMENT;
  pfc_key_id(development, &key);
  CHECK_DIFFER(production, development, 1);
  CHECK_DIFFER(production + 1, development + 1, 7);
}

static void device_key_depends_on_key_and_salt(void) {
  struct dice dice = {2};
  uint8_t mpk[16], salt[16], dpk[16], other[16], expected[32];
  struct pfc_key key;
  dice_fill(&dice, mpk, 16);
  dice_fill(&dice, salt, 16);
  key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  pfc_key_device(dpk, &key, salt);
  hkdf(expected, "pfc1.device-key.", mpk, 16, salt, 16);
  CHECK_BYTES(dpk, expected, 16);
  for (unsigned bit = 0; bit < 128; bit++) {
    test_case("bit %u", bit);
    salt[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    pfc_key_device(other, &key, salt);
    CHECK_DIFFER(other, dpk, 16);
    salt[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    mpk[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    pfc_key_device(other, &key, salt);
    CHECK_DIFFER(other, dpk, 16);
    mpk[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
}

struct counted {
  uint8_t bytes[16];
  unsigned loads;
};

static struct counted *current_key;

static void load_counted(uint8_t bytes[PFC_KEY_BYTES], const void *context) {
  CHECK(context == current_key);
  memcpy(bytes, current_key->bytes, 16);
  current_key->loads++;
}

static void key_is_loaded_through_its_function(void) {
  struct counted counted = {{9, 8, 7}, 0};
  struct pfc_key key = {load_counted, &counted, PFC_MODE_DEVELOPMENT};
  struct pfc_key plain = pfc_key_plain(counted.bytes, PFC_MODE_DEVELOPMENT);
  struct pfc_measured measured;
  struct pfc_secrets a, b;
  uint8_t id[8], expected_id[8], salt[16] = {1}, dpk[16], expected_dpk[16], hardware[16] = {3};
  current_key = &counted;
  memset(&measured, 0x11, sizeof measured);
  pfc_key_id(id, &key);
  CHECK_NUMBER(counted.loads, 1);
  pfc_key_id(expected_id, &plain);
  CHECK_BYTES(id, expected_id, 8);
  pfc_key_device(dpk, &key, salt);
  CHECK_NUMBER(counted.loads, 2);
  pfc_key_device(expected_dpk, &plain, salt);
  CHECK_BYTES(dpk, expected_dpk, 16);
  CHECK_NUMBER(pfc_secrets_make(&a, &key, &measured, PFC_FORM_DIVERSIFIED, hardware), PFC_OK);
  CHECK_NUMBER(counted.loads, 3);
  CHECK_NUMBER(pfc_secrets_make(&b, &plain, &measured, PFC_FORM_DIVERSIFIED, hardware), PFC_OK);
  CHECK_BYTES(&a, &b, sizeof a);
}

static void diversified_secrets_are_the_specs(void) {
  struct dice dice = {3};
  uint8_t mpk[16], hardware[16], expected[32];
  struct pfc_key key;
  struct pfc_measured measured;
  struct pfc_secrets secrets;
  dice_fill(&dice, mpk, 16);
  dice_fill(&dice, hardware, 16);
  dice_fill(&dice, &measured, sizeof measured);
  key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  REQUIRE(CHECK_NUMBER(pfc_secrets_make(&secrets, &key, &measured, PFC_FORM_DIVERSIFIED, hardware), PFC_OK));
  hkdf(expected, "pfc1.hw-key.....", mpk, 16, hardware, 16);
  CHECK_BYTES(secrets.integrity_key, expected, 16);
  hkdf(expected, "pfc1.hw-im......", measured.integrity, 32, hardware, 16);
  CHECK_BYTES(secrets.integrity, expected, 32);
  hkdf(expected, "pfc1.hw-dkey....", measured.device_key, 16, hardware, 16);
  CHECK_BYTES(secrets.device_key, expected, 16);
  hkdf(expected, "pfc1.hw-dm......", measured.device, 32, hardware, 16);
  CHECK_BYTES(secrets.device, expected, 32);
}

static void other_hardware_shares_no_secret(void) {
  struct dice dice = {4};
  uint8_t mpk[16], hardware[16];
  struct pfc_key key;
  struct pfc_measured measured;
  struct pfc_secrets a, b;
  dice_fill(&dice, mpk, 16);
  dice_fill(&dice, hardware, 16);
  dice_fill(&dice, &measured, sizeof measured);
  key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  REQUIRE(CHECK_NUMBER(pfc_secrets_make(&a, &key, &measured, PFC_FORM_DIVERSIFIED, hardware), PFC_OK));
  for (unsigned bit = 0; bit < 128; bit++) {
    test_case("hardware id bit %u", bit);
    hardware[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    REQUIRE(CHECK_NUMBER(pfc_secrets_make(&b, &key, &measured, PFC_FORM_DIVERSIFIED, hardware), PFC_OK));
    CHECK_DIFFER(a.integrity_key, b.integrity_key, 16);
    CHECK_DIFFER(a.integrity, b.integrity, 32);
    CHECK_DIFFER(a.device_key, b.device_key, 16);
    CHECK_DIFFER(a.device, b.device, 32);
    hardware[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
}

static void literal_form_is_the_plain_values(void) {
  struct dice dice = {5};
  uint8_t mpk[16], hardware[16];
  struct pfc_key key;
  struct pfc_measured measured;
  struct pfc_secrets secrets;
  dice_fill(&dice, mpk, 16);
  dice_fill(&dice, hardware, 16);
  dice_fill(&dice, &measured, sizeof measured);
  key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  REQUIRE(CHECK_NUMBER(pfc_secrets_make(&secrets, &key, &measured, PFC_FORM_LITERAL, hardware), PFC_OK));
  CHECK_BYTES(secrets.integrity_key, mpk, 16);
  CHECK_BYTES(secrets.integrity, measured.integrity, 32);
  CHECK_BYTES(secrets.device_key, measured.device_key, 16);
  CHECK_BYTES(secrets.device, measured.device, 32);
}

static void unknown_form_is_refused(void) {
  uint8_t mpk[16] = {1}, hardware[16] = {2};
  struct pfc_key key = pfc_key_plain(mpk, PFC_MODE_PRODUCTION);
  struct pfc_measured measured;
  memset(&measured, 0x22, sizeof measured);
  for (unsigned form = 0; form < 256; form++) {
    struct pfc_secrets secrets;
    if (form == PFC_FORM_DIVERSIFIED || form == PFC_FORM_LITERAL) continue;
    test_case("form %u", form);
    memset(&secrets, 0xa5, sizeof secrets);
    CHECK_NUMBER(pfc_secrets_make(&secrets, &key, &measured, (uint8_t)form, hardware), PFC_E_ARGUMENT);
    CHECK_ZEROS(&secrets, sizeof secrets);
  }
}

static const struct test tests[] = {
    TEST("a key's id is its mode and seven bytes derived from key and mode", key_id_is_the_specs),
    TEST("the same bytes in another mode have another id altogether", mode_changes_the_whole_id),
    TEST("the device proof key depends on every bit of key and salt", device_key_depends_on_key_and_salt),
    TEST("a key is reached through its function, once for each call", key_is_loaded_through_its_function),
    TEST("diversified secrets are derived under four labels of their own", diversified_secrets_are_the_specs),
    TEST("two pieces of hardware share no secret, however alike their ids", other_hardware_shares_no_secret),
    TEST("the literal form is the plain key and measurements", literal_form_is_the_plain_values),
    TEST("a form that is neither is refused", unknown_form_is_refused),
};

const struct suite key_suite = SUITE("key", tests);
