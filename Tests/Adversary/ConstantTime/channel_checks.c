// SPDX-License-Identifier: Apache-2.0

/// Channels at both ends: the chain, every key and the command are secret; messages and verdicts are public.

#include <string.h>

#include "constant_time.h"

static uint8_t areas[PFC_SLOTS + 1][PFC_RECORD_COPIES][PFC_RECORD_BYTES_MAX];

static int area_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, areas[record][copy], size);
  return 0;
}

static int area_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(areas[record][copy], bytes, size);
  return 0;
}

static int no_random(void *context, uint8_t *bytes, size_t size) {
  (void)context, (void)bytes, (void)size;
  return -1;
}

/// A command, its opening, and its answer.
static void both_ends(void) {
  static uint8_t message[PFC_MESSAGE_MAX], plain[PFC_SEALED_PLAIN_MAX];
  uint8_t chain[PFC_CHANNEL_KEY_BYTES], text[40], nonce[PFC_NONCE_BYTES], down[32], told[PFC_SEALED_DOWN_BYTES];
  struct pfc_sealed_sent sent;
  struct pfc_command command;
  struct pfc_answer answer = {.verdict = PFC_VERDICT_ACCEPTED, .counter = 9}, opened;
  uint64_t next;
  size_t size;
  make_secret(chain, sizeof chain, 1);
  make_secret(text, sizeof text, 2);
  expect("made", pfc_channel_up_create(message, sizeof message, &size, &sent, chain, 9, 3, text, sizeof text) ==
                     PFC_OK);
  expect_secret("the box", message + 8, size - 8);
  expect_secret("the answer's key", sent.down, sizeof sent.down);
  expect_secret("the next key", sent.chain, sizeof sent.chain);
  reveal(message, sizeof message);
  expect("opened", pfc_channel_up_open(&command, plain, nonce, message, size, chain) == PFC_OK);
  expect_secret("the command", command.command, command.command_size);
  pfc_channel_follow(down, chain, chain, 9);
  pfc_sealed_down_create(told, &answer, 10, down);
  reveal(told, sizeof told);
  expect("told", pfc_sealed_down_open(&opened, &next, told, sizeof told, 9, sent.down) == PFC_OK);
  message[size - 1] ^= 1;
  expect("refused", pfc_channel_up_open(&command, plain, nonce, message, size, chain) == PFC_E_RECIPIENT);
}

/// A lock whose slot and channel are there already, up to the answer.
static void visit(void) {
  static struct pfc_verifier verifier;
  static const uint8_t classes[] = {0, 0, 9};
  struct pfc_hardware hardware;
  struct pfc_session session;
  struct pfc_outcome outcome;
  struct pfc_sealed_sent sent;
  struct pfc_slot slot;
  uint8_t message[PFC_MESSAGE_MAX], text[8];
  uint64_t next = 5;
  size_t size;
  struct pfc_platform platform = {.random = no_random, .storage = {NULL, area_read, area_write}};
  memset(&hardware, 0, sizeof hardware);
  memset(hardware.id, 0x48, PFC_ID_BYTES);
  hardware.mode = PFC_MODE_PRODUCTION;
  hardware.issuer_count = 1;
  make_secret(hardware.secret_key, sizeof hardware.secret_key, 1);
  pfc_public_key(hardware.public_key, hardware.secret_key);
  reveal(hardware.public_key, sizeof hardware.public_key);
  memset(hardware.issuers[0].public_key, 0x58, PFC_PUBLIC_KEY_BYTES);
  expect("provisioned", pfc_verifier_provision(&hardware, &platform, 0, 0, 1) == PFC_OK);
  expect("started", pfc_verifier_init(&verifier, &hardware, &platform) == PFC_OK);
  expect("kept", pfc_verifier_keep_channels(&verifier) == PFC_OK);
  memset(&slot, 0, sizeof slot);
  slot.state = PFC_SLOT_HELD;
  slot.integrity_classes = 1;
  slot.attempts = 3;
  slot.uses = 9;
  slot.generation = 1;
  slot.policy = PFC_POLICY_CHANNEL;
  slot.last.verdict = PFC_VERDICT_ACCEPTED;
  slot.last.counter = 1;
  memset(slot.instance_id, 0x49, PFC_ID_BYTES);
  make_secret(&slot.secrets, sizeof slot.secrets, 3);
  slot.sum = pfc_slot_sum(&slot);
  verifier.ledger.slots[0] = slot;
  verifier.ledger.counter = next + 1;
  pfc_session_init(&session);
  session.channel = (struct pfc_channel){
      .next = next, .before = 1, .slot = 0, .kind = PFC_KIND_SEALED_INTEGRITY, .left = PFC_CHANNEL_COMMANDS_BLIND};
  make_secret(session.channel.chain, sizeof session.channel.chain, 4);
  session.channel.sum = 0;
  for (size_t i = 0; i < PFC_CHANNEL_KEY_BYTES; i++) {
    session.channel.sum = (session.channel.sum ^ session.channel.chain[i]) * 16777619u;
  }
  for (size_t i = 0; i < sizeof classes; i++) {
    struct pfc_answer answer;
    uint8_t chain[PFC_CHANNEL_KEY_BYTES];
    memcpy(chain, session.channel.chain, sizeof chain);
    make_secret(text, sizeof text, (uint8_t)(5 + i));
    expect("made", pfc_channel_up_create(message, sizeof message, &size, &sent, chain, next, classes[i], text,
                                         sizeof text) == PFC_OK);
    reveal(message, sizeof message);
    pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_SEALED_UP, message, size, &outcome);
    expect("the expected verdict",
           outcome.verdict == (classes[i] == 0 ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_NOT_PERMITTED));
    expect_secret("the sealed answer", outcome.reply + 8, PFC_SEALED_DOWN_BYTES - 8);
    reveal(outcome.reply, sizeof outcome.reply);
    expect("told", pfc_sealed_down_open(&answer, &next, outcome.reply, outcome.reply_size, message[0], sent.down) ==
                       PFC_OK);
  }
  expect("ended", next == 0);
  // The box does not open: nothing is told of it but that.
  pfc_verifier_receive(&verifier, &session, PFC_MESSAGE_SEALED_UP, message, size, &outcome);
  expect("stale", outcome.verdict == PFC_VERDICT_STALE);
}

const struct check checks_channel[] = {
    {"channel: both ends", both_ends},
    {"channel: a visit", visit},
    {NULL, NULL},
};
