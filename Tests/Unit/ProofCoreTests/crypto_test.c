// SPDX-License-Identifier: Apache-2.0

/// SHA-256, HMAC, HKDF, comparing and wiping, through the core's own door to libsodium.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"

static void mac(uint8_t tag[32], const uint8_t *key, size_t key_size, const uint8_t *message, size_t size) {
  struct pfc_mac state;
  pfc_mac_init(&state, key, key_size);
  pfc_mac_update(&state, message, size);
  pfc_mac_final(tag, &state);
}

// RFC 4231, sections 4.2 to 4.8. Case 5 is truncated to 128 bits there.
static void rfc_4231(void) {
  static const struct {
    const char *key, *message, *tag;
  } cases[] = {
      {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
       "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
       "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
       "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd",
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {"0102030405060708090a0b0c0d0e0f10111213141516171819",
       "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
       "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {"0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c", "546573742057697468205472756e636174696f6e",
       "a3b6167473100ee06e0c796c2955552b"},
      // Cases 6 and 7 have a key of 131 bytes aa, made below.
      {"",
       "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b657920466972"
       "7374",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {"",
       "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b657920616e"
       "642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565647320746f206265"
       "20686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c676f726974686d2e",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t key[131], message[160], expected[32], tag[32];
    size_t key_size = unhex(key, sizeof key, cases[i].key);
    size_t size = unhex(message, sizeof message, cases[i].message);
    size_t tag_size = unhex(expected, sizeof expected, cases[i].tag);
    test_case("RFC 4231 test case %u", i + 1);
    if (key_size == 0) {
      memset(key, 0xaa, sizeof key);
      key_size = sizeof key;
    }
    mac(tag, key, key_size, message, size);
    CHECK_BYTES(tag, expected, tag_size);
  }
}

// RFC 5869, appendix A.1 to A.3, their first 32 bytes: the core never asks for more.
static void rfc_5869(void) {
  static const struct {
    const char *key, *salt, *info, *derived;
  } cases[] = {
      {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c", "f0f1f2f3f4f5f6f7f8f9",
       "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"},
      {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435"
       "363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f",
       "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495"
       "969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
       "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5"
       "e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
       "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"},
      {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
       "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t key[80], salt[80], info[80], expected[32], derived[32];
    size_t key_size = unhex(key, sizeof key, cases[i].key);
    size_t salt_size = unhex(salt, sizeof salt, cases[i].salt);
    size_t info_size = unhex(info, sizeof info, cases[i].info);
    test_case("RFC 5869 test case %u", i + 1);
    (void)unhex(expected, sizeof expected, cases[i].derived);
    pfc_hkdf(derived, salt_size != 0 ? salt : NULL, salt_size, key, key_size, info_size != 0 ? info : NULL, info_size);
    CHECK_BYTES(derived, expected, sizeof expected);
  }
}

// FIPS 180-4; the three messages of NIST's example document.
static void fips_180(void) {
  static const char *const cases[][2] = {
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
  };
  for (unsigned i = 0; i < 3; i++) {
    struct pfc_hash hash;
    uint8_t expected[32], digest[32];
    test_case("SHA-256, message %u", i + 1);
    (void)unhex(expected, 32, cases[i][1]);
    pfc_hash_init(&hash);
    pfc_hash_update(&hash, cases[i][0], strlen(cases[i][0]));
    pfc_hash_final(digest, &hash);
    CHECK_BYTES(digest, expected, 32);
  }
}

static void pieces_do_not_matter(void) {
  struct dice dice = {180};
  uint8_t message[300], key[48], whole[32], parts[32];
  dice_fill(&dice, message, sizeof message);
  dice_fill(&dice, key, sizeof key);
  for (size_t cut = 0; cut <= sizeof message; cut++) {
    struct pfc_mac state;
    test_case("cut at %zu", cut);
    mac(whole, key, sizeof key, message, sizeof message);
    pfc_mac_init(&state, key, sizeof key);
    pfc_mac_update(&state, message, cut);
    pfc_mac_update(&state, NULL, 0);
    pfc_mac_update(&state, message + cut, sizeof message - cut);
    pfc_mac_final(parts, &state);
    CHECK_BYTES(parts, whole, 32);
  }
}

static void finals_wipe(void) {
  struct pfc_hash hash;
  struct pfc_mac state;
  uint8_t out[32];
  memset(&hash, 0xa5, sizeof hash);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, "secret", 6);
  pfc_hash_final(out, &hash);
  CHECK_ZEROS(&hash, sizeof hash);
  memset(&state, 0xa5, sizeof state);
  pfc_mac_init(&state, (const uint8_t *)"key", 3);
  pfc_mac_update(&state, "secret", 6);
  pfc_mac_final(out, &state);
  CHECK_ZEROS(&state, sizeof state);
}

static void derive_is_hkdf_with_the_label_as_salt(void) {
  struct dice dice = {5869};
  uint8_t key[48], info[20], derived[32], extracted[32], expected[32], expanded[21];
  dice_fill(&dice, key, sizeof key);
  dice_fill(&dice, info, sizeof info);
  for (size_t size = 0; size <= sizeof info; size += 4) {
    test_case("%zu bytes of context", size);
    pfc_derive(derived, PFC_LABEL_HARDWARE_KEY, key, sizeof key, size != 0 ? info : NULL, size);
    // docs/SPEC.md, section 1: HMAC(HMAC(label, key), info || 0x01).
    mac(extracted, (const uint8_t *)PFC_LABEL_HARDWARE_KEY, PFC_LABEL_BYTES, key, sizeof key);
    memcpy(expanded, info, size);
    expanded[size] = 1;
    mac(expected, extracted, 32, expanded, size + 1);
    CHECK_BYTES(derived, expected, 32);
    pfc_hkdf(expected, (const uint8_t *)PFC_LABEL_HARDWARE_KEY, PFC_LABEL_BYTES, key, sizeof key, info, size);
    CHECK_BYTES(derived, expected, 32);
  }
}

static void labels_differ(void) {
  static const char *const labels[] = {PFC_LABEL_KEY_ID,
                                       PFC_LABEL_IM_KEY,
                                       PFC_LABEL_DEVICE_KEY,
                                       PFC_LABEL_DM_KEY,
                                       PFC_LABEL_WRAP_KEY,
                                       PFC_LABEL_LEAF_KEY,
                                       PFC_LABEL_DEVICE_LEAF_KEY,
                                       PFC_LABEL_CONFIG_TAG,
                                       PFC_LABEL_HARDWARE_KEY,
                                       PFC_LABEL_HARDWARE_IM,
                                       PFC_LABEL_HARDWARE_DEVICE_KEY,
                                       PFC_LABEL_HARDWARE_DM,
                                       PFC_LABEL_RECEIPT_KEY,
                                       PFC_LABEL_RECALL_KEY,
                                       PFC_LABEL_RECORD_KEY,
                                       PFC_LABEL_INTEGRITY,
                                       PFC_LABEL_DEVICE,
                                       PFC_LABEL_DEVICE_SET,
                                       PFC_LABEL_ABSENT,
                                       PFC_LABEL_LEAF,
                                       PFC_LABEL_NONCE,
                                       PFC_LABEL_ESCORT,
                                       PFC_LABEL_TOKEN_SIGN,
                                       PFC_LABEL_TOKEN_ID,
                                       PFC_LABEL_ORDER_SIGN,
                                       PFC_LABEL_ISSUER_ID,
                                       PFC_LABEL_LOG_FIRST,
                                       PFC_LABEL_LOG_STEP,
                                       PFC_LABEL_LOG_ENTRY,
                                       PFC_LABEL_LOG_HEAD,
                                       PFC_LABEL_LOG_STORE};
  for (unsigned i = 0; i < sizeof labels / sizeof labels[0]; i++) {
    test_case("%s", labels[i]);
    CHECK_NUMBER(strlen(labels[i]), PFC_LABEL_BYTES);
    for (unsigned j = 0; j < i; j++) CHECK(strcmp(labels[i], labels[j]) != 0);
  }
}

static void comparison_sees_every_bit(void) {
  uint8_t a[64] = {0}, b[64] = {0}, zeros[64] = {0};
  CHECK_NUMBER(pfc_equal(a, b, sizeof a), 1);
  CHECK_NUMBER(pfc_equal(a, b, 0), 1);
  CHECK_NUMBER(pfc_is_zero(zeros, sizeof zeros), 1);
  for (unsigned bit = 0; bit < 8 * sizeof a; bit++) {
    test_case("bit %u", bit);
    b[bit / 8] = (uint8_t)(1u << (bit % 8));
    CHECK_NUMBER(pfc_equal(a, b, sizeof a), 0);
    CHECK_NUMBER(pfc_is_zero(b, sizeof b), 0);
    // At the very end of what is compared, and just beyond it.
    CHECK_NUMBER(pfc_equal(a, b, bit / 8 + 1), 0);
    CHECK_NUMBER(pfc_is_zero(b, bit / 8 + 1), 0);
    CHECK_NUMBER(pfc_equal(a, b, bit / 8), 1);
    CHECK_NUMBER(pfc_is_zero(b, bit / 8), 1);
    b[bit / 8] = 0;
  }
}

#if PFC_SEALS_COMMANDS
/// A content of 352 bytes is the longest; each size opens alike by both functions.
static void boxes_of_every_size_open(void) {
  uint8_t key[32] = {5}, message[353], boxed[16 + 353], opened[354];
  for (size_t i = 0; i < sizeof message; i++) message[i] = (uint8_t)(7 * i + 1);
  for (size_t size = 0; size <= sizeof message; size++) {
    test_case("%zu bytes", size);
    pfc_box(boxed, message, size, key);
    memset(opened, 0x5a, sizeof opened);
    CHECK_NUMBER(pfc_unbox(opened, boxed, 16 + size, key), PFC_OK);
    CHECK_BYTES(opened, message, size);
    CHECK_NUMBER(opened[size], 0x5a);
    memset(opened, 0x5a, sizeof opened);
    CHECK_NUMBER(pfc_unbox_whole(opened, boxed, 16 + size, key), size <= 352 ? PFC_OK : PFC_E_RECIPIENT);
    if (size <= 352) CHECK_BYTES(opened, message, size);
    CHECK_NUMBER(opened[size], 0x5a);
    boxed[15] ^= 1;
    CHECK_NUMBER(pfc_unbox(opened, boxed, 16 + size, key), PFC_E_RECIPIENT);
    CHECK_ZEROS(opened, size);
    if (size > 352) continue;
    memset(opened, 0x5a, sizeof opened);
    CHECK_NUMBER(pfc_unbox_whole(opened, boxed, 16 + size, key), PFC_E_RECIPIENT);
    CHECK_ZEROS(opened, size);
    CHECK_NUMBER(opened[size], 0x5a);
  }
  for (size_t size = 0; size < 16; size++) {
    CHECK_NUMBER(pfc_unbox(opened, boxed, size, key), PFC_E_RECIPIENT);
    CHECK_NUMBER(pfc_unbox_whole(opened, boxed, size, key), PFC_E_RECIPIENT);
  }
}
#endif

static void wipe_wipes_all_and_no_more(void) {
  for (size_t size = 0; size <= 40; size++) {
    uint8_t bytes[48];
    test_case("%zu bytes", size);
    memset(bytes, 0xa5, sizeof bytes);
    pfc_wipe(bytes + 4, size);
    CHECK_ZEROS(bytes + 4, size);
    for (unsigned i = 0; i < 4; i++) CHECK(bytes[i] == 0xa5 && bytes[4 + size + i] == 0xa5);
  }
}

static const struct test tests[] = {
    TEST("RFC 4231: HMAC-SHA-256 gives the published tags", rfc_4231),
    TEST("RFC 5869: HKDF-SHA-256 gives the published output", rfc_5869),
    TEST("FIPS 180-4: SHA-256 gives the published digests", fips_180),
    TEST("a transcript does not depend on how it is cut into pieces", pieces_do_not_matter),
    TEST("ending a transcript wipes it", finals_wipe),
    TEST("deriving is HKDF with the label as salt", derive_is_hkdf_with_the_label_as_salt),
    TEST("every label has 16 characters and no other use", labels_differ),
    TEST("comparison sees every bit", comparison_sees_every_bit),
#if PFC_SEALS_COMMANDS
    TEST("a box of every size up to 352 bytes opens, by both functions", boxes_of_every_size_open),
#endif
    TEST("wiping clears all it was given and nothing else", wipe_wipes_all_and_no_more),
};

const struct suite crypto_suite = SUITE("crypto", tests);
