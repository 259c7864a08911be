// SPDX-License-Identifier: Apache-2.0

/// The messages' encodings.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"

static void sizes_are_the_tables(void) {
  for (unsigned type = 0; type < 256; type++) {
    for (size_t size = 0; size <= 700; size++) {
      bool fits = (type == 1 && size == 1) ||
                  (type == 2 && (size == 40 || (PFC_SEALS_COMMANDS && size == 72))) ||
                  (type == 3 && size == 288) || (type == 4 && size >= 58 && size <= 358) ||
                  (type == 5 && size == 43) || (type == 6 && size == 124) ||
                  (type == 7 && size == 72) || (type == 8 && size == 28) ||
                  (PFC_CHANNEL && type == 9 && size >= 25 && size <= 241) ||
                  (PFC_SEALS_COMMANDS && type == 10 && size == 35) ||
                  (type == 11 && size == 24) || (type == 12 && size >= 48 && size <= 336 && size % 32 == 16) ||
                  (PFC_GRANTS && type == 13 && size == 96);
      test_case("type %u, %zu bytes", type, size);
      CHECK_NUMBER(pfc_message_fits((uint8_t)type, size), fits);
    }
    CHECK_NUMBER(pfc_message_fits((uint8_t)type, SIZE_MAX), 0);
  }
}

static void challenge_round_trip(void) {
  struct pfc_challenge challenge = {UINT64_C(0x1122334455667788), {0}}, decoded;
  uint8_t message[41] = {0};
  for (unsigned i = 0; i < 32; i++) challenge.bytes[i] = (uint8_t)i;
  pfc_challenge_encode(message, &challenge);
  CHECK_COUNT(get64(message), challenge.counter);
  CHECK_BYTES(message + 8, challenge.bytes, 32);
  CHECK_NUMBER(pfc_challenge_decode(&decoded, message, 40), PFC_OK);
  CHECK_COUNT(decoded.counter, challenge.counter);
  CHECK_BYTES(decoded.bytes, challenge.bytes, 32);
  for (size_t size = 0; size <= 41; size++) {
    test_case("%zu bytes", size);
    if (size != 40) CHECK_NUMBER(pfc_challenge_decode(&decoded, message, size), PFC_E_MALFORMED);
  }
}

static struct pfc_request request;
static struct pfc_secrets secrets;
static uint8_t text[PFC_COMMAND_MAX + 1], ratchet[PFC_RATCHET_BYTES];

/// A command's bytes before its own, by kind.
static size_t fixed_of(uint8_t kind) { return (kind % 2 == 1 ? 90u : 58u) + (kind > 2 ? 12u : 0u); }

static void make_request(uint8_t kind, size_t size) {
  struct dice dice = {kind + 10u * size};
  memset(&request, 0, sizeof request);
  dice_fill(&dice, &secrets, sizeof secrets);
  dice_fill(&dice, text, sizeof text);
  dice_fill(&dice, request.instance_id, 16);
  dice_fill(&dice, request.hardware_id, 16);
  dice_fill(&dice, request.challenge.bytes, 32);
  request.challenge.counter = dice_roll(&dice);
  request.kind = kind;
  request.command_class = 5;
  request.command = size != 0 ? text : NULL;
  request.command_size = size;
  dice_fill(&dice, ratchet, sizeof ratchet);
  request.ratchet = ratchet;
  request.known = (uint32_t)dice_roll(&dice);
}

static void command_round_trip(void) {
  static const size_t sizes[] = {0, 1, 8, 255, 256};
  for (uint8_t kind = 1; kind <= 4; kind++) {
    for (unsigned i = 0; i < 5; i++) {
      uint8_t message[PFC_MESSAGE_MAX], nonce[16], expected_nonce[16], escort[16], proof[32];
      size_t size, fixed = fixed_of(kind);
      struct pfc_command command;
      struct pfc_proof_key key;
      test_case("kind %u, %zu bytes", kind, sizes[i]);
      make_request(kind, sizes[i]);
      REQUIRE(CHECK_NUMBER(pfc_command_create(message, sizeof message, &size, nonce, &request, &secrets), PFC_OK));
      CHECK_NUMBER(size, fixed + sizes[i]);
      CHECK_NUMBER(pfc_nonce_derive(expected_nonce, request.hardware_id, &request.challenge, kind, 5, request.command,
                                    request.command_size),
                   PFC_OK);
      CHECK_BYTES(nonce, expected_nonce, 16);
      CHECK_NUMBER(message[0], kind);
      CHECK_NUMBER(message[1], 5);
      CHECK_BYTES(message + 2, request.instance_id, 16);
      CHECK_COUNT(get64(message + 18), request.challenge.counter);
      if (kind % 2 == 1) {
        pfc_proof_key_init(&key, secrets.integrity_key);
        pfc_proof_make(proof, &key, nonce, secrets.integrity);
        CHECK_BYTES(message + 26, proof, 32);
        pfc_nonce_escort(escort, nonce, proof);
      } else {
        memcpy(escort, nonce, 16);
      }
      if (kind > 2) {
        uint8_t tag[PFC_RATCHET_TAG_BYTES];
        pfc_ratchet_tag(tag, ratchet, nonce);
        CHECK_BYTES(message + fixed - 44, tag, sizeof tag);
        CHECK_NUMBER(get32(message + fixed - 36), request.known);
        pfc_nonce_escort_ratchet(escort, nonce, message + 26, fixed - 26 - 32);
      }
      pfc_proof_key_init(&key, secrets.device_key);
      pfc_proof_make(proof, &key, escort, secrets.device);
      CHECK_BYTES(message + fixed - 32, proof, 32);
      CHECK_BYTES(message + fixed, text, sizes[i]);
      REQUIRE(CHECK_NUMBER(pfc_command_decode(&command, message, size), PFC_OK));
      CHECK_NUMBER(command.kind, kind);
      CHECK_NUMBER(command.command_class, 5);
      CHECK(command.instance_id == message + 2);
      CHECK_COUNT(command.counter, request.challenge.counter);
      CHECK(command.integrity_proof == (kind % 2 == 1 ? message + 26 : NULL));
      CHECK(command.device_proof == message + fixed - 32);
      CHECK(command.ratchet_tag == (kind > 2 ? message + fixed - 44 : NULL));
      CHECK_NUMBER(command.known, kind > 2 ? request.known : 0);
      CHECK(command.command == message + fixed);
      CHECK_NUMBER(command.command_size, sizes[i]);
    }
  }
}

static void command_creator_keeps_its_bounds(void) {
  uint8_t message[PFC_MESSAGE_MAX + 8], nonce[16];
  size_t size;
  for (unsigned i = 1; i <= 6; i++) {
    test_case("%u", i);
    make_request(PFC_KIND_INTEGRITY, 8);
    if (i == 1) request.kind = 0;
    if (i == 2) request.kind = 5;
    if (i == 3) request.command_class = 16;
    if (i == 4) request.command_class = 255;
    if (i == 5) request.command_size = 257;
    if (i == 6) request.kind = PFC_KIND_DEVICE_RATCHET;
    if (i == 6) request.ratchet = NULL;
    size = 99;
    CHECK_NUMBER(pfc_command_create(message, sizeof message, &size, nonce, &request, &secrets), PFC_E_ARGUMENT);
    CHECK_NUMBER(size, 0);
  }
  for (uint8_t kind = 1; kind <= 4; kind++) {
    size_t needed = fixed_of(kind) + 8u;
    make_request(kind, 8);
    for (size_t capacity = 0; capacity <= needed; capacity++) {
      test_case("kind %u, %zu bytes of space", kind, capacity);
      memset(message, 0xa5, sizeof message);
      size = 99;
      CHECK_NUMBER(pfc_command_create(message, capacity, &size, nonce, &request, &secrets),
                   capacity < needed ? PFC_E_SPACE : PFC_OK);
      CHECK_NUMBER(size, capacity < needed ? 0 : needed);
      for (size_t at = capacity; at < sizeof message; at++) REQUIRE(CHECK(message[at] == 0xa5));
    }
  }
}

static void command_decoder_keeps_its_bounds(void) {
  uint8_t message[PFC_MESSAGE_MAX + 8], nonce[16];
  struct pfc_command command;
  size_t full;
  for (uint8_t kind = 1; kind <= 4; kind++) {
    make_request(kind, 256);
    REQUIRE(CHECK_NUMBER(pfc_command_create(message, sizeof message, &full, nonce, &request, &secrets), PFC_OK));
    for (size_t size = 0; size <= sizeof message; size++) {
      bool fits = size >= fixed_of(kind) && size <= fixed_of(kind) + 256;
      test_case("kind %u, %zu bytes", kind, size);
      CHECK_NUMBER(pfc_command_decode(&command, message, size), fits ? PFC_OK : PFC_E_MALFORMED);
    }
    for (unsigned value = 0; value < 256; value++) {
      test_case("kind byte %u", value);
      message[0] = (uint8_t)value;
      CHECK_NUMBER(pfc_command_decode(&command, message, 110),
                   value >= 1 && value <= 4 ? PFC_OK : PFC_E_TOO_NEW);
      message[0] = kind;
      test_case("class byte %u", value);
      message[1] = (uint8_t)value;
      CHECK_NUMBER(pfc_command_decode(&command, message, 110), value < 16 ? PFC_OK : PFC_E_MALFORMED);
      message[1] = 5;
    }
  }
}

static void answer_round_trip(void) {
  static const uint8_t known[] = {1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 18, 19, 20, 21, 22, 23,
                                  32, 33, 34, 35, 36, 37, 38, 39, 48, 49, 50};
  for (unsigned verdict = 0; verdict < 256; verdict++) {
    struct pfc_answer answer, decoded;
    uint8_t message[44];
    bool is_known = memchr(known, (int)verdict, sizeof known) != NULL;
    test_case("verdict %u", verdict);
    memset(&answer, 0, sizeof answer);
    memset(answer.receipt, (int)verdict, sizeof answer.receipt);
    answer.verdict = (uint8_t)verdict;
    answer.detail = (uint16_t)(0xff00 + verdict);
    answer.counter = UINT64_C(0xf0f1f2f3f4f5f6f7);
    pfc_answer_encode(message, &answer);
    CHECK_NUMBER(message[0], verdict);
    CHECK_NUMBER(message[1] + 256 * message[2], answer.detail);
    CHECK_COUNT(get64(message + 3), answer.counter);
    CHECK_BYTES(message + 11, answer.receipt, 32);
    CHECK_NUMBER(pfc_answer_decode(&decoded, message, 43), is_known ? PFC_OK : PFC_E_MALFORMED);
    if (!is_known) continue;
    CHECK_NUMBER(decoded.verdict, verdict);
    CHECK_NUMBER(decoded.detail, answer.detail);
    CHECK_COUNT(decoded.counter, answer.counter);
    CHECK_BYTES(decoded.receipt, answer.receipt, 32);
    for (size_t size = 0; size <= 44; size++) {
      if (size != 43) CHECK_NUMBER(pfc_answer_decode(&decoded, message, size), PFC_E_MALFORMED);
    }
  }
}

static void recall_round_trip(void) {
  struct dice dice = {72};
  uint8_t message[73], instance[16], nonce[16], dpk[16], key[32], tag[32];
  struct pfc_recall recall;
  struct pfc_mac mac;
  dice_fill(&dice, instance, 16);
  dice_fill(&dice, nonce, 16);
  dice_fill(&dice, dpk, 16);
  pfc_recall_create(message, instance, 99, nonce, dpk);
  CHECK_BYTES(message, instance, 16);
  CHECK_COUNT(get64(message + 16), 99);
  CHECK_BYTES(message + 24, nonce, 16);
  pfc_hkdf(key, (const uint8_t *)"pfc1.recall-key.", 16, dpk, 16, NULL, 0);
  pfc_mac_init(&mac, key, 32);
  pfc_mac_update(&mac, message, 40);
  pfc_mac_final(tag, &mac);
  CHECK_BYTES(message + 40, tag, 32);
  CHECK_NUMBER(pfc_recall_decode(&recall, message, 72), PFC_OK);
  CHECK(recall.instance_id == message && recall.nonce == message + 24);
  CHECK_COUNT(recall.counter, 99);
  for (size_t size = 0; size <= 73; size++) {
    test_case("%zu bytes", size);
    if (size != 72) CHECK_NUMBER(pfc_recall_decode(&recall, message, size), PFC_E_MALFORMED);
  }
  CHECK_NUMBER(pfc_recall_check(message, dpk), PFC_OK);
  for (size_t bit = 0; bit < 8 * 72; bit++) {
    test_case("bit %zu", bit);
    message[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    CHECK_NUMBER(pfc_recall_check(message, dpk), PFC_E_DIFFERS);
    message[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
  for (size_t bit = 0; bit < 128; bit++) {
    test_case("bit %zu of the key", bit);
    dpk[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    CHECK_NUMBER(pfc_recall_check(message, dpk), PFC_E_DIFFERS);
    dpk[bit / 8] ^= (uint8_t)(1u << (bit % 8));
  }
}

static void status_round_trip(void) {
  struct pfc_status status, decoded;
  uint8_t message[29] = {0};
  memset(&status, 0, sizeof status);
  status.mode = PFC_MODE_DEVELOPMENT;
  status.slots = 8;
  status.slots_used = 8;
  status.epoch = UINT64_C(0xfedcba9876543210);
  memset(status.hardware_id, 0x3c, 16);
  pfc_status_encode(message, &status);
  CHECK_NUMBER(message[0], 1);
  CHECK_NUMBER(message[1], 2);
  CHECK_BYTES(message + 2, status.hardware_id, 16);
  CHECK_NUMBER(message[18], 8);
  CHECK_NUMBER(message[19], 8);
  CHECK_COUNT(get64(message + 20), status.epoch);
  CHECK_NUMBER(pfc_status_decode(&decoded, message, 28), PFC_OK);
  CHECK_NUMBER(decoded.mode, 2);
  CHECK_NUMBER(decoded.slots, 8);
  CHECK_NUMBER(decoded.slots_used, 8);
  CHECK_COUNT(decoded.epoch, status.epoch);
  CHECK_BYTES(decoded.hardware_id, status.hardware_id, 16);
  for (size_t size = 0; size <= 29; size++) {
    test_case("%zu bytes", size);
    if (size != 28) CHECK_NUMBER(pfc_status_decode(&decoded, message, size), PFC_E_MALFORMED);
  }
  message[0] = 2;
  CHECK_NUMBER(pfc_status_decode(&decoded, message, 28), PFC_E_TOO_NEW);
  message[0] = 1;
  message[1] = 3;
  CHECK_NUMBER(pfc_status_decode(&decoded, message, 28), PFC_E_MALFORMED);
  message[1] = 2;
  message[19] = 9;
  CHECK_NUMBER(pfc_status_decode(&decoded, message, 28), PFC_E_MALFORMED);
}

static const struct test tests[] = {
    TEST("a message of each type has the sizes of the table and no other", sizes_are_the_tables),
    TEST("a challenge's bytes", challenge_round_trip),
    TEST("a command's bytes, proofs and nonce, for both kinds and the edges of length", command_round_trip),
    TEST("the command's maker refuses what has no encoding, and keeps to its space", command_creator_keeps_its_bounds),
    TEST("the command's reader refuses every other length, kind and class", command_decoder_keeps_its_bounds),
    TEST("an answer's bytes, and every verdict of the table and no other", answer_round_trip),
    TEST("a recall's bytes, and every flipped bit, truncation and extension is refused", recall_round_trip),
    TEST("a status's bytes", status_round_trip),
};

const struct suite message_suite = SUITE("message", tests);
