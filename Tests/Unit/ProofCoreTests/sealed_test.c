// SPDX-License-Identifier: Apache-2.0

/// The formats and keys of sealed commands, without a verifier.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"

#if PFC_SEALS_COMMANDS

static struct pfc_request request;
static struct pfc_secrets secrets;
static struct pfc_seal_facts facts;
static struct pfc_sealed_sent sent;
static uint8_t text[PFC_COMMAND_MAX + 1], ratchet[PFC_RATCHET_BYTES], digest[PFC_TOKEN_DIGEST_BYTES];
static uint8_t lock_secret[32], lock_key[32], ephemeral[32];
static uint8_t message[PFC_MESSAGE_MAX + 1], plain[PFC_SEALED_PLAIN_MAX];
static size_t size;

static void make_request(uint8_t kind, size_t command_size) {
  struct dice dice = {kind + 10u * command_size};
  memset(&request, 0, sizeof request);
  dice_fill(&dice, &secrets, sizeof secrets);
  dice_fill(&dice, text, sizeof text);
  dice_fill(&dice, request.instance_id, 16);
  dice_fill(&dice, request.hardware_id, 16);
  dice_fill(&dice, request.challenge.bytes, 32);
  dice_fill(&dice, digest, sizeof digest);
  dice_fill(&dice, ratchet, sizeof ratchet);
  dice_fill(&dice, lock_secret, sizeof lock_secret);
  dice_fill(&dice, ephemeral, sizeof ephemeral);
  pfc_public_key(lock_key, lock_secret);
  request.challenge.counter = dice_roll(&dice);
  request.kind = kind;
  request.command_class = 5;
  request.command = command_size != 0 ? text : NULL;
  request.command_size = command_size;
  facts = (struct pfc_seal_facts){.hardware_id = request.hardware_id,
                                  .instance_id = request.instance_id,
                                  .token_digest = digest,
                                  .device_key = secrets.device_key,
                                  .lock_key = lock_key,
                                  .challenge = &request.challenge};
}

static int create(size_t capacity) {
  return pfc_sealed_create(message, capacity, &size, &sent, &request, &facts, &secrets, ephemeral);
}

/// Opens what was made, as the hardware does.
static int open(struct pfc_command *command, uint8_t nonce[PFC_NONCE_BYTES]) {
  struct pfc_sealed sealed;
  uint8_t shared[32];
  if (!CHECK_NUMBER(pfc_sealed_decode(&sealed, message, size), PFC_OK)) return PFC_E_ARGUMENT;
  // A point of low order, by accident or not, is refused like a wrong box.
  if (pfc_shared_secret(shared, lock_secret, sealed.app_key) != PFC_OK) return PFC_E_RECIPIENT;
  return pfc_sealed_open(command, plain, nonce, &facts, shared, message, size);
}

static void every_size_round_trips(void) {
  for (uint8_t kind = PFC_KIND_SEALED_INTEGRITY; kind <= PFC_KIND_SEALED_DEVICE; kind++) {
    size_t fixed = kind == PFC_KIND_SEALED_INTEGRITY ? 142 : 110;
    for (size_t length = 0; length <= 216; length++) {
      struct pfc_command command;
      uint8_t nonce[PFC_NONCE_BYTES], answered[PFC_NONCE_BYTES], proof[PFC_PROOF_BYTES];
      test_case("kind %u, %zu bytes", kind, length);
      make_request(kind, length);
      if (length % 2 == 1) request.ratchet = ratchet, request.known = (uint32_t)length;
      CHECK_NUMBER(create(fixed + length - 1), PFC_E_SPACE);
      CHECK_NUMBER(size, 0);
      REQUIRE(CHECK_NUMBER(create(fixed + length), PFC_OK));
      CHECK_NUMBER(size, fixed + length);
      CHECK(pfc_message_fits(PFC_MESSAGE_COMMAND, size));
      REQUIRE(CHECK_NUMBER(open(&command, nonce), PFC_OK));
      CHECK_BYTES(nonce, sent.nonce, sizeof nonce);
      CHECK_NUMBER(command.kind, kind);
      CHECK_NUMBER(command.command_class, 5);
      CHECK_NUMBER(command.command_size, length);
      CHECK_BYTES(command.command, text, length);
      CHECK_BYTES(command.instance_id, request.instance_id, PFC_ID_BYTES);
      CHECK_COUNT(command.counter, request.challenge.counter);
      CHECK_NUMBER(command.known, length % 2 == 1 ? length : 0);
      CHECK_NUMBER(command.ratchet_tag != NULL, length % 2 == 1);
      pfc_command_escort(answered, nonce, &command);
      pfc_proof_make_once(proof, secrets.device_key, answered, secrets.device);
      CHECK_BYTES(command.device_proof, proof, sizeof proof);
      CHECK_NUMBER(command.integrity_proof != NULL, kind == PFC_KIND_SEALED_INTEGRITY);
      if (command.integrity_proof == NULL) continue;
      pfc_proof_make_once(proof, secrets.integrity_key, nonce, secrets.integrity);
      CHECK_BYTES(command.integrity_proof, proof, sizeof proof);
    }
  }
}

/// An app that finds itself changed between the proofs spoils the first one, and the second binds what it finds.
static void three_steps_make_what_one_makes(void) {
  for (uint8_t kind = PFC_KIND_SEALED_INTEGRITY; kind <= PFC_KIND_SEALED_DEVICE; kind++) {
    uint8_t whole[PFC_MESSAGE_MAX], nonce[PFC_NONCE_BYTES], answered[PFC_NONCE_BYTES], shared[32], proof[32];
    struct pfc_sealed_sent once;
    struct pfc_command command;
    test_case("kind %u", kind);
    make_request(kind, 20);
    REQUIRE(CHECK_NUMBER(create(sizeof message), PFC_OK));
    memcpy(whole, message, size);
    once = sent;
    for (int spoilt = 0; spoilt <= (kind == PFC_KIND_SEALED_INTEGRITY); spoilt++) {
      memset(message, 0xa5, sizeof message);
      REQUIRE(CHECK_NUMBER(pfc_sealed_begin(message, sizeof message, &size, nonce, shared, &request, &facts, &secrets,
                                            ephemeral), PFC_OK));
      if (spoilt) message[PFC_SEALED_INTEGRITY_PROOF] ^= 1;
      pfc_sealed_end(message, nonce, &secrets);
      pfc_sealed_close(message, size, &sent, nonce, shared, &facts);
      CHECK_ZEROS(shared, sizeof shared);
      CHECK_NUMBER(memcmp(message, whole, size) == 0, !spoilt);
      CHECK_BYTES(sent.nonce, once.nonce, sizeof once.nonce);
      REQUIRE(CHECK_NUMBER(open(&command, nonce), PFC_OK));
      pfc_command_escort(answered, nonce, &command);
      pfc_proof_make_once(proof, secrets.device_key, answered, secrets.device);
      CHECK_BYTES(command.device_proof, proof, sizeof proof);
    }
    CHECK(pfc_sealed_device_proof(message) == message + 66 + (kind == PFC_KIND_SEALED_INTEGRITY ? 32 : 0) + 12);
  }
}

static void nothing_of_the_command_is_readable(void) {
  make_request(PFC_KIND_SEALED_INTEGRITY, 60);
  memset(text, 'x', 60);
  REQUIRE(CHECK_NUMBER(create(sizeof message), PFC_OK));
  for (size_t i = 0; i + 8 <= size; i++) {
    CHECK(memcmp(message + i, text, 8) != 0);
    CHECK(memcmp(message + i, request.instance_id, 8) != 0);
  }
}

static void hints_of_two_challenges_share_nothing(void) {
  uint8_t first[8], other[8];
  struct pfc_challenge later;
  make_request(PFC_KIND_SEALED_DEVICE, 0);
  later = request.challenge;
  later.counter++;
  pfc_seal_hint(first, secrets.device_key, &request.challenge, 6, lock_key, ephemeral);
  pfc_seal_hint(other, secrets.device_key, &later, 6, lock_key, ephemeral);
  CHECK(memcmp(first, other, sizeof first) != 0);
  pfc_seal_hint(other, secrets.device_key, &request.challenge, 5, lock_key, ephemeral);
  CHECK(memcmp(first, other, sizeof first) != 0);
  pfc_seal_hint(other, secrets.device_key, &request.challenge, 6, ephemeral, ephemeral);
  CHECK(memcmp(first, other, sizeof first) != 0);
  pfc_seal_hint(other, secrets.device_key, &request.challenge, 6, lock_key, lock_key);
  CHECK(memcmp(first, other, sizeof first) != 0);
}

static void each_bit_of_the_box_counts(void) {
  make_request(PFC_KIND_SEALED_INTEGRITY, 4);
  for (size_t i = 0; i < 146; i++) {
    struct pfc_command command;
    uint8_t nonce[PFC_NONCE_BYTES];
    if (i == 0) continue;  // The kind is another shape.
    test_case("byte %zu", i);
    REQUIRE(CHECK_NUMBER(create(sizeof message), PFC_OK));
    message[i] ^= 1;
    CHECK_NUMBER(open(&command, nonce), PFC_E_RECIPIENT);
    CHECK_ZEROS(&command, sizeof command);
    CHECK_ZEROS(plain, sizeof plain);
    CHECK_ZEROS(nonce, sizeof nonce);
  }
}

static void step_and_answer_key_depend_on_every_byte(void) {
  uint8_t step[16], down[32], shared[32];
  struct pfc_sealed_sent before;
  make_request(PFC_KIND_SEALED_DEVICE, 3);
  REQUIRE(CHECK_NUMBER(create(sizeof message), PFC_OK));
  before = sent;
  REQUIRE(CHECK_NUMBER(pfc_shared_secret(shared, ephemeral, lock_key), PFC_OK));
  for (size_t i = 0; i < size; i++) {
    test_case("byte %zu", i);
    message[i] ^= 0x40;
    pfc_sealed_follow(step, down, &facts, shared, message, size);
    CHECK(memcmp(step, before.step, sizeof step) != 0);
    CHECK(memcmp(down, before.down, sizeof down) != 0);
    message[i] ^= 0x40;
  }
  pfc_sealed_follow(step, down, &facts, shared, message, size);
  CHECK_BYTES(down, before.down, sizeof down);
  CHECK_BYTES(step, before.step, sizeof step);
}

static void bad_arguments_are_refused(void) {
  static const uint8_t kinds[] = {0, 1, 2, 3, 4, 7, 255};
  struct pfc_challenge other;
  uint8_t zeros[32] = {0};
  for (unsigned i = 0; i < sizeof kinds; i++) {
    test_case("kind %u", kinds[i]);
    make_request(kinds[i], 4);
    CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  }
  make_request(5, 4);
  request.command_class = PFC_CLASSES;
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  make_request(5, PFC_SEALED_COMMAND_MAX + 1);
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  make_request(6, PFC_SEALED_COMMAND_MAX + 1);
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  make_request(5, 4);
  request.known = 1;
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  make_request(5, 4);
  facts.lock_key = zeros;
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  make_request(5, 4);
  facts.instance_id = zeros;
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  make_request(5, 4);
  facts.hardware_id = zeros;
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  make_request(5, 4);
  other = request.challenge;
  facts.challenge = &other;
  other.bytes[31] ^= 1;
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
  CHECK_NUMBER(size, 0);
  CHECK_ZEROS(&sent, sizeof sent);
  other = request.challenge;
  other.counter++;
  CHECK_NUMBER(create(sizeof message), PFC_E_ARGUMENT);
}

static void challenges_round_trip(void) {
  struct pfc_challenge challenge;
  uint8_t bytes[PFC_SEALED_CHALLENGE_BYTES + 1] = {0}, key[32];
  make_request(5, 0);
  pfc_sealed_challenge_encode(bytes, &request.challenge, lock_key);
  for (size_t length = 0; length <= sizeof bytes; length++) {
    int fits = length == PFC_SEALED_CHALLENGE_BYTES;
    test_case("%zu bytes", length);
    CHECK_NUMBER(pfc_sealed_challenge_decode(&challenge, key, bytes, length), fits ? PFC_OK : PFC_E_MALFORMED);
    if (fits) {
      CHECK_BYTES(&challenge, &request.challenge, sizeof challenge);
      CHECK_BYTES(key, lock_key, sizeof key);
    } else {
      CHECK_ZEROS(&challenge, sizeof challenge);
      CHECK_ZEROS(key, sizeof key);
    }
  }
}

static const struct test tests[] = {
    TEST("a sealed command of every size opens to what was sealed", every_size_round_trips),
    TEST("three steps make what one makes", three_steps_make_what_one_makes),
    TEST("neither the command nor the instance is readable", nothing_of_the_command_is_readable),
    TEST("a hint serves one challenge, kind and pair of keys", hints_of_two_challenges_share_nothing),
    TEST("a changed bit of a sealed command does not open", each_bit_of_the_box_counts),
    TEST("the answer's key and the ratchet's input depend on every byte", step_and_answer_key_depend_on_every_byte),
    TEST("arguments out of range, or that contradict each other, are refused", bad_arguments_are_refused),
    TEST("a challenge with a key has one size", challenges_round_trip),
};

const struct suite sealed_suite = SUITE("sealed", tests);

#endif
