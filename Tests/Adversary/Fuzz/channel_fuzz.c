// SPDX-License-Identifier: Apache-2.0

/// Commands of channels with any bytes; and a lock on two links with a channel, whose owner's messages are changed,
/// repeated, late and on the wrong link.
///
/// Oracle: a second reading of docs/SPEC.md, section 20. A command is done exactly if it arrives as it was made, on the
/// link of its channel, under the counter told last, within the limits, and while nothing has ended the channel. Its
/// answer opens, and tells a next counter until the last one. No message costs X25519: there is no key for one.

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
  static const uint8_t chain[PFC_CHANNEL_KEY_BYTES] = {7};
  uint8_t plain[PFC_SEALED_PLAIN_MAX], nonce[PFC_NONCE_BYTES];
  struct pfc_command command;
  size_t size = input->left;
  uint8_t *exact = fuzz_copy(input->bytes, size);
  int result = pfc_channel_up_open(&command, plain, nonce, exact, size, chain);
  // An authenticator cannot be guessed.
  REQUIRE(result == (size < 25 || size > 241 ? PFC_E_MALFORMED : PFC_E_RECIPIENT));
  REQUIRE(fuzz_all(&command, sizeof command, 0) && fuzz_all(plain, sizeof plain, 0) && fuzz_all(nonce, 16, 0));
  free(exact);
}

static void check_round_trip(struct fuzz_input *input) {
  static uint8_t text[PFC_SEALED_COMMAND_MAX + 1];
  uint8_t chain[PFC_CHANNEL_KEY_BYTES] = {8}, plain[PFC_SEALED_PLAIN_MAX], nonce[PFC_NONCE_BYTES];
  uint8_t message[PFC_MESSAGE_MAX], before[PFC_MESSAGE_MAX];
  struct pfc_sealed_sent sent;
  struct pfc_command command;
  uint64_t counter = fuzz_u64(input);
  uint8_t class_ = fuzz_u8(input);
  size_t size, length = fuzz_u8(input), capacity = fuzz_u16(input) % (sizeof message + 1);
  int result;
  if (length > sizeof text) length = sizeof text;
  fuzz_take(input, text, length);
  result = pfc_channel_up_create(message, capacity, &size, &sent, chain, counter, class_, text, length);
  if (class_ > 15 || counter == 0 || length > 216) {
    REQUIRE(result == PFC_E_ARGUMENT && size == 0);
    return;
  }
  REQUIRE(result == (capacity < 25 + length ? PFC_E_SPACE : PFC_OK));
  if (result != PFC_OK) return;
  memcpy(before, message, size);
  (void)fuzz_flip(input, message, size);
  result = pfc_channel_up_open(&command, plain, nonce, message, size, chain);
  REQUIRE(result == (memcmp(before, message, size) == 0 ? PFC_OK : PFC_E_RECIPIENT));
  if (result != PFC_OK) return;
  REQUIRE(command.counter == counter && command.command_class == class_ && command.command_size == length);
  REQUIRE(memcmp(command.command, text, length) == 0 && memcmp(nonce, sent.nonce, sizeof nonce) == 0);
}

// A lock ---------------------------------------------------------------------------------------------------------

static struct {
  struct pfc_verifier verifier;
  struct pfc_session links[2];
  struct pfc_token token;
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
  struct pfc_slot *slot;
  uint8_t permits;
  // The model of the channel.
  int stands;
  uint8_t link, kind, left;
  uint32_t opened;
  uint64_t next;
  // The app's end, and its last message.
  uint8_t chain[PFC_CHANNEL_KEY_BYTES], message[PFC_MESSAGE_MAX];
  size_t size;
  struct pfc_sealed_sent sent;
  uint64_t made_for;
  uint8_t class_;
  int right;  ///< Made with the channel's present keys
} lock;

static void begin(uint8_t how) {
  uint8_t bytes[PFC_TOKEN_BYTES], ephemeral[32] = {5};
  struct pfc_outcome outcome;
  struct pfc_platform platform = {.random = draw, .seconds = how & 1 ? tell_seconds : NULL,
                                  .storage = {NULL, read_area, write_area}};
  memset(&lock, 0, sizeof lock);
  seconds = drawn = 0;
  fixture = fuzz_fixture();
  lock.token = fuzz_token(0x31);
  lock.token.version = PFC_TOKEN_VERSION_2;
  lock.token.base = lock.token.generation;
  lock.permits = (how & 2) == 0;
  lock.token.policy = lock.permits ? PFC_POLICY_CHANNEL : PFC_POLICY_SEALED;
  lock.token.not_after = 0;
  lock.token.uses = how & 4 ? 6 : PFC_USES_UNLIMITED;
  lock.token.integrity_classes = 0x00ff;
  lock.token.device_classes = 0x000f;
  REQUIRE(pfc_token_create(bytes, &lock.token, fixture->hardware.public_key, NULL, fixture->signing_keys[0],
                           ephemeral) == PFC_OK);
  pfc_token_digest(lock.digest, bytes);
  REQUIRE(pfc_verifier_provision(&fixture->hardware, &platform, 0, 0, 1) == PFC_OK);
  REQUIRE(pfc_verifier_init(&lock.verifier, &fixture->hardware, &platform) == PFC_OK);
  REQUIRE(pfc_verifier_prepare(&lock.verifier) == PFC_OK);
  REQUIRE(pfc_verifier_keep_channels(&lock.verifier) == PFC_OK);
  pfc_session_init(&lock.links[0]);
  pfc_session_init(&lock.links[1]);
  pfc_verifier_receive(&lock.verifier, &lock.links[0], PFC_MESSAGE_TOKEN, bytes, sizeof bytes, &outcome);
  REQUIRE(outcome.verdict == PFC_VERDICT_HELD);
  lock.slot = &lock.verifier.ledger.slots[pfc_ledger_find(&lock.verifier.ledger, lock.token.instance_id)];
}

/// A whole sealed command on this link.
static void open_channel(uint8_t link, uint8_t kind) {
  static const uint8_t what[1] = {PFC_ASK_SEALED};
  struct pfc_session *session = &lock.links[link];
  struct pfc_outcome outcome;
  struct pfc_answer answer;
  struct pfc_sealed_sent sent;
  uint8_t key[32], ephemeral[32], message[PFC_MESSAGE_MAX];
  struct pfc_request request = {.kind = kind, .command = key, .command_size = 0};
  struct pfc_seal_facts facts = {.hardware_id = fixture->hardware.id, .instance_id = lock.token.instance_id,
                                 .token_digest = lock.digest, .device_key = lock.token.secrets.device_key,
                                 .lock_key = key, .challenge = &request.challenge};
  uint64_t next = 0;
  size_t size;
  int busy = session->refusals >= PFC_SESSION_REFUSALS_MAX;
  if (pfc_verifier_prepare(&lock.verifier) != PFC_OK) return;
  pfc_verifier_receive(&lock.verifier, session, PFC_MESSAGE_ASK, what, 1, &outcome);
  if (lock.stands && lock.link == link) lock.stands = 0;
  REQUIRE(pfc_sealed_challenge_decode(&request.challenge, key, outcome.reply, outcome.reply_size) == PFC_OK);
  memcpy(request.hardware_id, fixture->hardware.id, PFC_ID_BYTES);
  memcpy(request.instance_id, lock.token.instance_id, PFC_ID_BYTES);
  (void)draw(NULL, ephemeral, sizeof ephemeral);
  REQUIRE(pfc_sealed_create(message, sizeof message, &size, &sent, &request, &facts, &lock.token.secrets,
                            ephemeral) == PFC_OK);
  pfc_verifier_receive(&lock.verifier, session, PFC_MESSAGE_COMMAND, message, size, &outcome);
  if (busy || outcome.execute != PFC_EXECUTE) return;
  REQUIRE(pfc_sealed_down_open(&answer, &next, outcome.reply, outcome.reply_size, request.challenge.counter,
                               sent.down) == PFC_OK);
  REQUIRE((next != 0) == lock.permits);
  // An accepted command ends the instance's channel on any link.
  lock.stands = next != 0;
  lock.link = link;
  lock.kind = kind;
  lock.opened = seconds;
  lock.left = lock.verifier.platform.seconds != NULL ? 16 : 4;
  lock.next = next;
  memcpy(lock.chain, sent.chain, sizeof lock.chain);
  lock.right = 0;
}

static void make(struct fuzz_input *input) {
  static uint8_t text[PFC_SEALED_COMMAND_MAX];
  uint8_t off = fuzz_u8(input);
  lock.class_ = off >> 4;
  lock.made_for = lock.next + (off & 7) / 6;
  if (lock.made_for == 0) lock.made_for = 1;
  REQUIRE(pfc_channel_up_create(lock.message, sizeof lock.message, &lock.size, &lock.sent, lock.chain, lock.made_for,
                                lock.class_, text, fuzz_u8(input) % (PFC_SEALED_COMMAND_MAX + 1)) == PFC_OK);
  lock.right = lock.made_for == lock.next;
}

static void send(struct fuzz_input *input, uint8_t link) {
  struct pfc_session *session = &lock.links[link];
  struct pfc_outcome outcome;
  struct pfc_answer answer;
  uint8_t changed[PFC_MESSAGE_MAX];
  uint32_t limit = fixture->hardware.challenge_seconds;
  uint64_t next;
  int live, permitted, whole;
  if (lock.size == 0) return;
  if (limit == 0 || limit > 30) limit = 30;
  memcpy(changed, lock.message, lock.size);
  (void)fuzz_flip(input, changed, lock.size);
  whole = memcmp(changed, lock.message, lock.size) == 0;
  live = lock.stands && lock.link == link && lock.right && session->refusals < PFC_SESSION_REFUSALS_MAX &&
         (lock.verifier.platform.seconds == NULL || seconds - lock.opened <= limit) && lock.slot->uses != 0;
  permitted = lock.class_ < (lock.kind == PFC_KIND_SEALED_INTEGRITY ? 8 : 4);
  pfc_verifier_receive(&lock.verifier, session, PFC_MESSAGE_SEALED_UP, changed, lock.size, &outcome);
  REQUIRE((outcome.execute == PFC_EXECUTE) == (whole && live && permitted));
  if (lock.stands && lock.link == link) lock.stands = 0;
  if (outcome.execute != PFC_EXECUTE) {
    REQUIRE(outcome.execute == 0 && fuzz_all(&session->channel, sizeof session->channel, 0));
    return;
  }
  REQUIRE(outcome.kind == lock.kind && outcome.command_class == lock.class_);
  REQUIRE(pfc_sealed_down_open(&answer, &next, outcome.reply, outcome.reply_size, lock.made_for, lock.sent.down) ==
          PFC_OK);
  lock.left--;
  REQUIRE((next != 0) == (lock.left != 0) && (next == 0 || next > lock.made_for));
  lock.stands = next != 0;
  lock.next = next;
  lock.right = 0;
  memcpy(lock.chain, lock.sent.chain, sizeof lock.chain);
}

/// Something else comes on this link, or happens to the instance.
static void disturb(struct fuzz_input *input, uint8_t link) {
  struct pfc_session *session = &lock.links[link];
  struct pfc_outcome outcome;
  uint8_t message[PFC_RECALL_BYTES], nonce[PFC_NONCE_BYTES] = {0}, type = fuzz_u8(input) & 15;
  if (type == PFC_MESSAGE_RECALL) {
    uint64_t counter = lock.next - (fuzz_u8(input) & 1);
    if (counter >= lock.verifier.ledger.counter || session->refusals >= PFC_SESSION_REFUSALS_MAX) return;
    pfc_recall_create(message, lock.token.instance_id, counter, nonce, lock.token.secrets.device_key);
    if (counter >= lock.next) lock.stands = 0;
  } else {
    fuzz_take(input, message, sizeof message);
    if (type == PFC_MESSAGE_SEALED_UP) type = PFC_MESSAGE_STATUS;
  }
  pfc_verifier_receive(&lock.verifier, session, type, message, sizeof message, &outcome);
  REQUIRE(outcome.execute == 0 && fuzz_all(&session->channel, sizeof session->channel, 0));
  if (lock.link == link) lock.stands = 0;
}

static void live(struct fuzz_input *input) {
  begin(fuzz_u8(input));
  for (unsigned steps = 0; input->left > 0 && steps < 64; steps++) {
    uint8_t what = fuzz_u8(input), link = what >> 3 & 1;
    switch (what & 7) {
      case 0: open_channel(link, what & 16 ? PFC_KIND_SEALED_DEVICE : PFC_KIND_SEALED_INTEGRITY); break;
      case 1:
      case 2: make(input); break;
      case 3:
      case 4: send(input, lock.link); break;
      case 5: send(input, link); break;
      case 6: disturb(input, link); break;
      default:
        if (what & 128) {
          pfc_session_close(&lock.links[link]);
          pfc_session_init(&lock.links[link]);
          if (lock.link == link) lock.stands = 0;
        } else {
          seconds += what >> 3;
        }
        break;
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  switch (fuzz_u8(&input) % 3) {
    case 0: live(&input); break;
    case 1: check_shape(&input); break;
    default: check_round_trip(&input); break;
  }
  return 0;
}
