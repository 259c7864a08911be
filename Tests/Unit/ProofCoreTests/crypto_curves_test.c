// SPDX-License-Identifier: Apache-2.0

/// X25519, Ed25519 and the sealed box, through the core's own door to libsodium.

#include <sodium/crypto_box.h>
#include <string.h>

#include "ProofCore.h"
#include "harness.h"

// RFC 7748, section 5.2: the two single vectors, and the iterated one after 1, 1,000 and (long) 1,000,000 rounds.
static void rfc_7748(void) {
  static const char *const single[2][3] = {
      {"a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
       "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
       "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"},
      {"4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
       "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
       "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"},
  };
  static const struct {
    unsigned rounds;
    const char *k;
  } iterated[] = {
      {1, "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"},
      {1000, "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"},
      {1000000, "7c3911e0ab2586fd864497297e575e6f3bc601c0883c30df5f4dd2d24f665424"},
  };
  uint8_t k[32] = {9}, u[32] = {9};
  unsigned round = 0;
  for (unsigned i = 0; i < 2; i++) {
    uint8_t scalar[32], point[32], expected[32], shared[32];
    test_case("RFC 7748 section 5.2, vector %u", i + 1);
    (void)unhex(scalar, 32, single[i][0]);
    (void)unhex(point, 32, single[i][1]);
    (void)unhex(expected, 32, single[i][2]);
    CHECK_NUMBER(pfc_shared_secret(shared, scalar, point), PFC_OK);
    CHECK_BYTES(shared, expected, 32);
  }
  for (unsigned i = 0; i < (options.thorough ? 3u : 2u); i++) {
    uint8_t expected[32], next[32];
    test_case("RFC 7748 section 5.2, after %u rounds", iterated[i].rounds);
    for (; round < iterated[i].rounds; round++) {
      REQUIRE(CHECK_NUMBER(pfc_shared_secret(next, k, u), PFC_OK));
      memcpy(u, k, 32);
      memcpy(k, next, 32);
    }
    (void)unhex(expected, 32, iterated[i].k);
    CHECK_BYTES(k, expected, 32);
  }
}

// RFC 7748, section 6.1.
static void rfc_7748_agreement(void) {
  uint8_t alice[32], bob[32], alice_public[32], bob_public[32], expected[32], shared[32];
  (void)unhex(alice, 32, "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
  (void)unhex(bob, 32, "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb");
  pfc_public_key(alice_public, alice);
  pfc_public_key(bob_public, bob);
  (void)unhex(expected, 32, "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  CHECK_BYTES(alice_public, expected, 32);
  (void)unhex(expected, 32, "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
  CHECK_BYTES(bob_public, expected, 32);
  (void)unhex(expected, 32, "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
  CHECK_NUMBER(pfc_shared_secret(shared, alice, bob_public), PFC_OK);
  CHECK_BYTES(shared, expected, 32);
  CHECK_NUMBER(pfc_shared_secret(shared, bob, alice_public), PFC_OK);
  CHECK_BYTES(shared, expected, 32);
}

// RFC 8032, section 7.1.
static void rfc_8032(void) {
  static const struct {
    const char *name, *seed, *public_key, *message, *signature;
  } cases[] = {
      {"TEST 1", "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
       "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0"
       "595bbe24655141438e7a100b"},
      {"TEST 2", "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
       "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
       "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eae"
       "b4302aeeb00d291612bb0c00"},
      {"TEST 3", "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
       "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
       "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9"
       "716ed28dc027beceea1ec40a"},
      {"TEST 1024", "f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5",
       "278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e",
       "08b8b2b733424243760fe426a4b54908632110a66c2f6591eabd3345e3e4eb98fa6e264bf09efe12ee50f8f54e9f77b1e355f6c5"
       "0544e23fb1433ddf73be84d879de7c0046dc4996d9e773f4bc9efe5738829adb26c81b37c93a1b270b20329d658675fc6ea534e0"
       "810a4432826bf58c941efb65d57a338bbd2e26640f89ffbc1a858efcb8550ee3a5e1998bd177e93a7363c344fe6b199ee5d02e82"
       "d522c4feba15452f80288a821a579116ec6dad2b3b310da903401aa62100ab5d1a36553e06203b33890cc9b832f79ef80560ccb9"
       "a39ce767967ed628c6ad573cb116dbefefd75499da96bd68a8a97b928a8bbc103b6621fcde2beca1231d206be6cd9ec7aff6f6c9"
       "4fcd7204ed3455c68c83f4a41da4af2b74ef5c53f1d8ac70bdcb7ed185ce81bd84359d44254d95629e9855a94a7c1958d1f8ada5"
       "d0532ed8a5aa3fb2d17ba70eb6248e594e1a2297acbbb39d502f1a8c6eb6f1ce22b3de1a1f40cc24554119a831a9aad6079cad88"
       "425de6bde1a9187ebb6092cf67bf2b13fd65f27088d78b7e883c8759d2c4f5c65adb7553878ad575f9fad878e80a0c9ba63bcbcc"
       "2732e69485bbc9c90bfbd62481d9089beccf80cfe2df16a2cf65bd92dd597b0707e0917af48bbb75fed413d238f5555a7a569d80"
       "c3414a8d0859dc65a46128bab27af87a71314f318c782b23ebfe808b82b0ce26401d2e22f04d83d1255dc51addd3b75a2b1ae078"
       "4504df543af8969be3ea7082ff7fc9888c144da2af58429ec96031dbcad3dad9af0dcbaaaf268cb8fcffead94f3c7ca495e056a9"
       "b47acdb751fb73e666c6c655ade8297297d07ad1ba5e43f1bca32301651339e22904cc8c42f58c30c04aafdb038dda0847dd988d"
       "cda6f3bfd15c4b4c4525004aa06eeff8ca61783aacec57fb3d1f92b0fe2fd1a85f6724517b65e614ad6808d6f6ee34dff7310fdc"
       "82aebfd904b01e1dc54b2927094b2db68d6f903b68401adebf5a7e08d78ff4ef5d63653a65040cf9bfd4aca7984a74d371459867"
       "80fc0b16ac451649de6188a7dbdf191f64b5fc5e2ab47b57f7f7276cd419c17a3ca8e1b939ae49e488acba6b965610b5480109c8"
       "b17b80e1b7b750dfc7598d5d5011fd2dcc5600a32ef5b52a1ecc820e308aa342721aac0943bf6686b64b2579376504ccc493d97e"
       "6aed3fb0f9cd71a43dd497f01f17c0e2cb3797aa2a2f256656168e6c496afc5fb93246f6b1116398a346f1a641f3b041e989f791"
       "4f90cc2c7fff357876e506b50d334ba77c225bc307ba537152f3f1610e4eafe595f6d9d90d11faa933a15ef1369546868a7f3a45"
       "a96768d40fd9d03412c091c6315cf4fde7cb68606937380db2eaaa707b4c4185c32eddcdd306705e4dc1ffc872eeee475a64dfac"
       "86aba41c0618983f8741c5ef68d3a101e8a3b8cac60c905c15fc910840b94c00a0b9d0",
       "0aab4c900501b3e24d7cdf4663326a3a87df5e4843b2cbdb67cbf6e460fec350aa5371b1508f9f4528ecea23c436d94b5e8fcd4f"
       "681e30a6ac00a9704a188a03"},
      {"TEST SHA(abc)", "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
       "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423"
       "643ce80e2a9ac94fa54ca49f",
       "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c"
       "138ac17ad9bef1177331a704"},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    static uint8_t message[1024];
    uint8_t seed[32], expected_public[32], expected[64], public_key[32], signing_key[64], signature[64];
    size_t size = unhex(message, sizeof message, cases[i].message);
    test_case("RFC 8032 section 7.1, %s", cases[i].name);
    (void)unhex(seed, 32, cases[i].seed);
    (void)unhex(expected_public, 32, cases[i].public_key);
    (void)unhex(expected, 64, cases[i].signature);
    pfc_signing_key(public_key, signing_key, seed);
    CHECK_BYTES(public_key, expected_public, 32);
    pfc_sign(signature, message, size, signing_key);
    CHECK_BYTES(signature, expected, 64);
    CHECK_NUMBER(pfc_verify(expected, message, size, public_key), PFC_OK);
    expected[dice_below(&(struct dice){i}, 64)] ^= 1;
    CHECK_NUMBER(pfc_verify(expected, message, size, public_key), PFC_E_SIGNATURE);
  }
}

// libsodium's own crypto_box_seal is the other implementation: whatever one seals the other opens.
static void sealed_box_is_libsodiums(void) {
  struct dice dice = {48};
  uint8_t secret[32], public_key[32], ephemeral[32], message[200], sealed[200 + PFC_SEAL_BYTES], opened[200];
  for (size_t size = 0; size <= sizeof message; size += 25) {
    test_case("%zu bytes", size);
    dice_fill(&dice, secret, 32);
    dice_fill(&dice, ephemeral, 32);
    dice_fill(&dice, message, size);
    pfc_public_key(public_key, secret);
    CHECK_NUMBER(pfc_seal(sealed, message, size, public_key, ephemeral), PFC_OK);
    CHECK_NUMBER(crypto_box_seal_open(opened, sealed, size + PFC_SEAL_BYTES, public_key, secret), 0);
    CHECK_BYTES(opened, message, size);
    memset(opened, 0xa5, sizeof opened);
    CHECK_NUMBER(crypto_box_seal(sealed, message, size, public_key), 0);
    CHECK_NUMBER(pfc_unseal(opened, sealed, size + PFC_SEAL_BYTES, public_key, secret), PFC_OK);
    CHECK_BYTES(opened, message, size);
  }
}

static void altered_box_does_not_open(void) {
  struct dice dice = {49};
  uint8_t secret[32], public_key[32], ephemeral[32], message[16], sealed[16 + PFC_SEAL_BYTES], opened[32];
  dice_fill(&dice, secret, 32);
  dice_fill(&dice, ephemeral, 32);
  dice_fill(&dice, message, sizeof message);
  pfc_public_key(public_key, secret);
  REQUIRE(CHECK_NUMBER(pfc_seal(sealed, message, sizeof message, public_key, ephemeral), PFC_OK));
  for (size_t bit = 0; bit < 8 * sizeof sealed; bit++) {
    test_case("bit %zu", bit);
    memset(opened, 0xa5, sizeof opened);
    sealed[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    // The top bit of an X25519 public key is ignored by the curve, but not by the nonce.
    CHECK_NUMBER(pfc_unseal(opened, sealed, sizeof sealed, public_key, secret), PFC_E_RECIPIENT);
    CHECK_ZEROS(opened, sizeof message);
    sealed[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
  for (size_t size = 0; size < sizeof sealed; size++) {
    test_case("cut to %zu bytes", size);
    CHECK_NUMBER(pfc_unseal(opened, sealed, size, public_key, secret), PFC_E_RECIPIENT);
  }
}

// The points of order 1, 2, 4 and 8 of Curve25519 and its twist, canonical and not; from the list in "May the Fourth
// Be With You" (Genkin, Valenta, Yarom), which libsodium's blacklist quotes too.
static void low_order_points_are_refused(void) {
  static const char *const points[] = {
      "0000000000000000000000000000000000000000000000000000000000000000",
      "0100000000000000000000000000000000000000000000000000000000000000",
      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  };
  struct dice dice = {8};
  for (unsigned i = 0; i < 2 * sizeof points / sizeof points[0]; i++) {
    uint8_t point[32], secret[32], shared[32], sealed[16 + PFC_SEAL_BYTES];
    test_case("point %u%s", i / 2, i % 2 != 0 ? " with the ignored top bit" : "");
    (void)unhex(point, 32, points[i / 2]);
    if (i % 2 != 0) point[31] |= 0x80;
    dice_fill(&dice, secret, 32);
    memset(shared, 0xa5, sizeof shared);
    CHECK_NUMBER(pfc_shared_secret(shared, secret, point), PFC_E_SIGNATURE);
    CHECK_ZEROS(shared, sizeof shared);
    CHECK_NUMBER(pfc_seal(sealed, secret, 16, point, secret), PFC_E_RECIPIENT);
  }
}

static void small_order_signer_is_refused(void) {
  // The neutral element as public key and as R, S = 0: the signature equation holds for every message.
  uint8_t public_key[32] = {1}, signature[64] = {1};
  CHECK_NUMBER(pfc_verify(signature, (const uint8_t *)"any", 3, public_key), PFC_E_SIGNATURE);
}

static const struct test tests[] = {
    TEST("RFC 7748: X25519 gives the published points", rfc_7748),
    TEST("RFC 7748: both sides agree on the published secret", rfc_7748_agreement),
    TEST("RFC 8032: Ed25519 gives the published keys and signatures", rfc_8032),
    TEST("a sealed box is libsodium's, byte for byte, both ways", sealed_box_is_libsodiums),
    TEST("a sealed box with any bit flipped or any byte missing does not open", altered_box_does_not_open),
    TEST("low-order points are refused, whatever the secret key", low_order_points_are_refused),
    TEST("a signature that would hold for every message is refused", small_order_signer_is_refused),
};

const struct suite crypto_curves_suite = SUITE("crypto curves", tests);
