// SPDX-License-Identifier: Apache-2.0

/// Sealed commands and answers with any bytes; and a lock with one owner, whose messages are changed, repeated and
/// late.
///
/// Oracles: a second reading of docs/SPEC.md, section 18, judges shapes. A command is done exactly if it arrives as it
/// was made, for the live challenge and the present key, and then once. Its answer opens, and a changed one does not.
/// A message that is changed within kind, hint or E_app leaves the key alone, so it cost no X25519.

#include <stdlib.h>

#include "fuzz.h"

static const struct fuzz_fixture *fixture;
static uint8_t areas[PFC_SLOTS + 1][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];
static uint32_t seconds, drawn;

static int read_area(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, areas[record][copy], size);
  return 0;
}

static int write_area(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(areas[record][copy], bytes, size);
  return 0;
}

static int draw(void *context, uint8_t *bytes, size_t size) {
  (void)context;
  drawn++;
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)(((drawn * 0x9E3779B1u) ^ ((uint32_t)i * 0x85EBCA6Bu)) >> 13);
  return 0;
}

static uint32_t tell_seconds(void *context) {
  (void)context;
  return seconds;
}

// Shapes ---------------------------------------------------------------------------------------------------------

static void check_shape(struct fuzz_input *input) {
  struct pfc_sealed sealed;
  size_t size = input->left, fixed;
  uint8_t *exact = fuzz_copy(input->bytes, size);
  int result = pfc_sealed_decode(&sealed, exact, size), expected = PFC_OK;
  fixed = size > 0 && exact[0] == 5 ? 142 : 110;
  if (size == 0 || size < fixed || size > fixed + 216) expected = PFC_E_MALFORMED;
  if (size > 0 && exact[0] != 5 && exact[0] != 6) expected = PFC_E_TOO_NEW;
  REQUIRE(result == expected);
  if (result != PFC_OK) {
    REQUIRE(fuzz_all(&sealed, sizeof sealed, 0));
  } else {
    REQUIRE(sealed.hint == exact + 1 && sealed.app_key == exact + 17 && sealed.counter == fuzz_get64(exact + 9));
  }
  free(exact);
}

static void check_answer(struct fuzz_input *input) {
  struct pfc_answer answer = {.verdict = PFC_VERDICT_ACCEPTED}, opened;
  uint8_t down[32] = {9}, message[PFC_SEALED_DOWN_BYTES], before[PFC_SEALED_DOWN_BYTES];
  uint64_t next = fuzz_u64(input), found;
  int result;
  answer.detail = fuzz_u16(input);
  answer.counter = fuzz_u64(input);
  pfc_sealed_down_create(message, &answer, next, down);
  memcpy(before, message, sizeof before);
  fuzz_xor(input, message, sizeof message);
  result = pfc_sealed_down_open(&opened, &found, message, sizeof message, answer.counter, down);
  REQUIRE(result == (memcmp(before, message, sizeof before) == 0 ? PFC_OK : PFC_E_DIFFERS));
  if (result == PFC_OK) {
    REQUIRE(opened.verdict == answer.verdict && opened.detail == answer.detail && found == next);
  } else {
    REQUIRE(fuzz_all(&opened, sizeof opened, 0) && found == 0);
  }
}

// A lock ---------------------------------------------------------------------------------------------------------

static struct {
  struct pfc_verifier verifier;
  struct pfc_session links[2];
  struct pfc_token token;
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES], ratchet[PFC_RATCHET_BYTES];
  struct pfc_challenge challenge;  ///< Asked last, with its key and link
  uint8_t lock_key[32], link;
  uint8_t message[PFC_MESSAGE_MAX];  ///< Made last
  size_t size;
  struct pfc_sealed_sent sent;
  uint64_t made_for;  ///< Counter
  int may_come;       ///< It was made and has not been judged
  uint64_t alive_from;  ///< Older challenges ended with a later command
} lock;

static void begin(uint8_t policy) {
  uint8_t bytes[PFC_TOKEN_BYTES], ephemeral[32] = {5};
  struct pfc_outcome outcome;
  struct pfc_platform platform = {.random = draw, .seconds = tell_seconds, .storage = {NULL, read_area, write_area}};
  memset(&lock, 0, sizeof lock);
  seconds = drawn = 0;
  fixture = fuzz_fixture();
  lock.token = fuzz_token(0x31);
  lock.token.version = PFC_TOKEN_VERSION_2;
  lock.token.base = lock.token.generation;
  lock.token.policy = policy % 3 | (policy & PFC_POLICY_SEALED);
  lock.token.not_after = 0;
  lock.token.uses = PFC_USES_UNLIMITED;
  lock.token.integrity_classes = lock.token.device_classes = 0xffff;
  REQUIRE(pfc_token_create(bytes, &lock.token, fixture->hardware.public_key, NULL, fixture->signing_keys[0],
                           ephemeral) == PFC_OK);
  pfc_token_digest(lock.digest, bytes);
  REQUIRE(pfc_verifier_provision(&fixture->hardware, &platform, 0, 0, 1) == PFC_OK);
  REQUIRE(pfc_verifier_init(&lock.verifier, &fixture->hardware, &platform) == PFC_OK);
  REQUIRE(pfc_verifier_prepare(&lock.verifier) == PFC_OK);
  pfc_session_init(&lock.links[0]);
  pfc_session_init(&lock.links[1]);
  pfc_verifier_receive(&lock.verifier, &lock.links[0], PFC_MESSAGE_TOKEN, bytes, sizeof bytes, &outcome);
  REQUIRE(outcome.verdict == PFC_VERDICT_HELD);
  pfc_ratchet_begin(lock.ratchet, &lock.token.secrets, lock.digest);
}

static void ask(uint8_t what, uint8_t link) {
  struct pfc_outcome outcome;
  struct pfc_challenge challenge;
  uint8_t key[32];
  pfc_verifier_receive(&lock.verifier, &lock.links[link], PFC_MESSAGE_ASK, &what, 1, &outcome);
  if (pfc_sealed_challenge_decode(&challenge, key, outcome.reply, outcome.reply_size) != PFC_OK) return;
  REQUIRE(what == PFC_ASK_SEALED && outcome.reply_type == PFC_MESSAGE_CHALLENGE);
  lock.challenge = challenge;
  memcpy(lock.lock_key, key, sizeof key);
  lock.link = link;
}

static void make(struct fuzz_input *input, uint8_t kind) {
  static uint8_t text[PFC_SEALED_COMMAND_MAX];
  struct pfc_request request = {.kind = kind, .command = text, .challenge = lock.challenge};
  struct pfc_seal_facts facts = {.hardware_id = fixture->hardware.id,
                                 .instance_id = lock.token.instance_id,
                                 .token_digest = lock.digest,
                                 .device_key = lock.token.secrets.device_key,
                                 .lock_key = lock.lock_key,
                                 .challenge = &lock.challenge};
  uint8_t ephemeral[32];
  request.command_class = fuzz_u8(input) % PFC_CLASSES;
  request.command_size = fuzz_u8(input) % (PFC_SEALED_COMMAND_MAX + 1);
  memcpy(request.hardware_id, fixture->hardware.id, PFC_ID_BYTES);
  memcpy(request.instance_id, lock.token.instance_id, PFC_ID_BYTES);
  if (lock.token.policy % 4 != 0) request.ratchet = lock.ratchet;
  (void)draw(NULL, ephemeral, sizeof ephemeral);
  lock.may_come = pfc_sealed_create(lock.message, sizeof lock.message, &lock.size, &lock.sent, &request, &facts,
                                    &lock.token.secrets, ephemeral) == PFC_OK;
  lock.made_for = lock.challenge.counter;
}

/// Sends what was made, changed or not. `link` may be another than that of its challenge.
static void send(struct fuzz_input *input, uint8_t link) {
  struct pfc_session *session = &lock.links[link];
  struct pfc_outcome outcome;
  struct pfc_answer answer;
  uint8_t changed[PFC_MESSAGE_MAX];
  uint64_t next;
  size_t size = lock.size;
  int is_live = session->live && session->challenge.counter == lock.made_for &&
                seconds - session->asked <= fixture->hardware.challenge_seconds;
  int has_key = lock.verifier.seal.ready && session->seal_number == lock.verifier.seal.number &&
                seconds - lock.verifier.seal.made < PFC_SEAL_SECONDS;
  uint8_t was_ready = lock.verifier.seal.ready;
  if (lock.size == 0) return;
  memcpy(changed, lock.message, size);
  (void)fuzz_flip(input, changed, size);
  if (fixture->hardware.challenge_seconds == 0) {
    is_live = session->live && session->challenge.counter == lock.made_for;
  }
  is_live = is_live && lock.made_for >= lock.alive_from;
  int is_whole = memcmp(changed, lock.message, size) == 0;
  int is_strange = memcmp(changed, lock.message, 9) != 0 || memcmp(changed + 17, lock.message + 17, 32) != 0;
  int is_busy = session->refusals >= PFC_SESSION_REFUSALS_MAX;
  pfc_verifier_receive(&lock.verifier, session, PFC_MESSAGE_COMMAND, changed, size, &outcome);
  if (is_strange) REQUIRE(lock.verifier.seal.ready == was_ready);
  if (outcome.execute != PFC_EXECUTE) {
    REQUIRE(outcome.execute == 0);
    REQUIRE(!(is_whole && is_live && has_key && lock.may_come && !is_busy));
    return;
  }
  REQUIRE(is_whole && is_live && has_key && lock.may_come && !is_busy);
  REQUIRE(outcome.reply_type == PFC_MESSAGE_SEALED_DOWN && !lock.verifier.seal.ready);
  REQUIRE(outcome.command == lock.verifier.opened + (lock.message[0] == 5 ? 77 : 45));
  REQUIRE(pfc_sealed_down_open(&answer, &next, outcome.reply, outcome.reply_size, lock.made_for, lock.sent.down) ==
          PFC_OK);
  REQUIRE(answer.verdict == (lock.message[0] == 5 ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE));
  if (lock.token.policy % 4 != 0) pfc_ratchet_next(lock.ratchet, lock.ratchet, lock.sent.step);
  lock.may_come = 0;
  lock.alive_from = lock.made_for + 1;
}

static void live(struct fuzz_input *input) {
  begin(fuzz_u8(input));
  for (unsigned steps = 0; input->left > 0 && steps < 64; steps++) {
    uint8_t what = fuzz_u8(input);
    switch (what & 7) {
      case 0: (void)pfc_verifier_prepare(&lock.verifier); break;
      case 1: ask(PFC_ASK_SEALED, what >> 3 & 1); break;
      case 2: ask((uint8_t)(what >> 4), what >> 3 & 1); break;
      case 3: make(input, what & 8 ? PFC_KIND_SEALED_DEVICE : PFC_KIND_SEALED_INTEGRITY); break;
      case 4: send(input, lock.link); break;
      case 5: send(input, what >> 3 & 1); break;
      case 6: seconds += (uint32_t)(what >> 3) * 21; break;
      default: pfc_session_init(&lock.links[what >> 3 & 1]); break;
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  switch (fuzz_u8(&input) % 3) {
    case 0: live(&input); break;
    case 1: check_shape(&input); break;
    default: check_answer(&input); break;
  }
  return 0;
}
