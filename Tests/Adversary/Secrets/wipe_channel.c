// SPDX-License-Identifier: Apache-2.0

/// Channels at app and hardware: keys on the stack, and the keys of a channel at each of its ends.

#include <string.h>

#include "wipe.h"

/// The verifier itself notices a channel that still stands where it was to be wiped.
static void receive(struct vault *vault, uint8_t type, const uint8_t *message, size_t size, uint8_t verdict) {
  pfc_verifier_receive(&vault->verifier, &vault->session, type, message, size, &vault->outcome);
  vault_expect(vault->outcome.verdict == verdict ||
                   (is_without_wiping && vault->outcome.verdict == PFC_VERDICT_FAULT), "the verdict");
}

static int make(struct vault *vault, uint64_t counter) {
  return pfc_channel_up_create(vault->out, sizeof vault->out, &vault->out_size, &vault->channel_sent, vault->chain,
                               counter, 0, (const uint8_t *)vault->text, 40);
}

/// A lock with a channel that waits, and the owner's next command in it.
static void prepare_channel(struct vault *vault) {
  uint8_t told[8];
  uint64_t next;
  wipe_prepare_sealed(vault, PFC_POLICY_CHANNEL, 0);
  vault_expect(pfc_verifier_keep_channels(&vault->verifier) == PFC_OK, "channels");
  receive(vault, PFC_MESSAGE_COMMAND, vault->out, vault->out_size, PFC_VERDICT_ACCEPTED);
  memcpy(vault->chain, vault->sealed_sent.chain, sizeof vault->chain);
  vault_fill(vault->text, sizeof vault->text, 84);
  next = vault->session.channel.next;
  vault_expect(next != 0 && make(vault, next) == PFC_OK, "made");
  for (unsigned i = 0; i < 8; i++) told[i] = (uint8_t)(next >> (8 * i));
  needle_add("the next key", vault->channel_sent.chain, PFC_CHANNEL_KEY_BYTES);
  needle_add("the answer's key", vault->channel_sent.down, 32);
  needle_add("the command in the channel", vault->text, 40);
  needle_add_derived("the command's key", PFC_LABEL_CHANNEL_UP, vault->chain, sizeof vault->chain, told, sizeof told);
}

static void run_create(struct vault *vault) {
  vault_expect(make(vault, vault->session.channel.next) == PFC_OK, "made");
}

static void run_open(struct vault *vault) {
  struct pfc_command command;
  vault_expect(pfc_channel_up_open(&command, vault->verifier.opened, vault->nonce, vault->out, vault->out_size,
                                   vault->chain) == PFC_OK, "opened");
}

static void run_follow(struct vault *vault) {
  pfc_channel_follow(vault->channel_sent.down, vault->channel_sent.chain, vault->chain, vault->session.channel.next);
}

static void run_command(struct vault *vault) {
  receive(vault, PFC_MESSAGE_SEALED_UP, vault->out, vault->out_size, PFC_VERDICT_ACCEPTED);
}

/// The last command of the channel.
static void prepare_last(struct vault *vault) {
  prepare_channel(vault);
  vault->session.channel.left = 1;
}

static void prepare_altered(struct vault *vault) {
  prepare_channel(vault);
  vault->out[vault->out_size - 1] ^= 1;
}

static void run_altered(struct vault *vault) {
  receive(vault, PFC_MESSAGE_SEALED_UP, vault->out, vault->out_size, PFC_VERDICT_DEVICE_DIFFERS);
}

static void prepare_revoked(struct vault *vault) {
  prepare_channel(vault);
  vault->verifier.ledger.slots[0].state = PFC_SLOT_REVOKED;
}

static void run_stale(struct vault *vault) {
  receive(vault, PFC_MESSAGE_SEALED_UP, vault->out, vault->out_size, PFC_VERDICT_STALE);
}

static void run_other_message(struct vault *vault) {
  static const uint8_t what[1] = {PFC_ASK_STATUS};
  receive(vault, PFC_MESSAGE_ASK, what, 1, PFC_VERDICT_NONE);
}

static void run_close(struct vault *vault) { pfc_session_close(&vault->session); }

const struct wipe_case wipe_channel_cases[] = {
    {"channel create", prepare_channel, run_create, 1, 0, 0},
    {"channel open", prepare_channel, run_open, 1, 0, 0},
    {"channel follow", prepare_channel, run_follow, 0, 0, 0},
    {"verifier, a channel's command", prepare_channel, run_command, 1, 0, 0},
    {"verifier, a channel's last command", prepare_last, run_command, 1, GONE(session.channel)},
    {"verifier, a channel's command altered", prepare_altered, run_altered, 1, GONE(session.channel)},
    {"verifier, a channel of a revoked slot", prepare_revoked, run_stale, 1, GONE(session.channel)},
    {"verifier, another message ends a channel", prepare_channel, run_other_message, 0, GONE(session.channel)},
    {"session, closed with a channel", prepare_channel, run_close, 0, GONE(session.channel)},
    {NULL, NULL, NULL, 0, 0, 0},
};
