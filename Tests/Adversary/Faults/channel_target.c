// SPDX-License-Identifier: Apache-2.0

// Commands of channels that are refused (docs/SPEC.md, section 20), for target.c.

#include "target.h"

#include <string.h>

enum { INTEGRITY = PFC_KIND_SEALED_INTEGRITY, DEVICE = PFC_KIND_SEALED_DEVICE };

static struct pfc_sealed_sent sent;
static uint8_t chain[PFC_CHANNEL_KEY_BYTES];
static uint64_t next, counter;

static void make(uint64_t under, uint8_t class_) {
  CHECK_NUMBER(pfc_channel_up_create(message, sizeof message, &message_size, &sent, chain, under, class_,
                                     (const uint8_t *)"open", 4), PFC_OK);
  counter = under;
  message_type = PFC_MESSAGE_SEALED_UP;
}

int channel_answer(struct pfc_answer *answer, const uint8_t *reply) {
  uint64_t following;
  return pfc_sealed_down_open(answer, &following, reply, PFC_SEALED_DOWN_BYTES, counter, sent.down);
}

void channel_go_on(void) {
  memcpy(chain, sealed_last()->chain, sizeof chain);
  make(app.challenge.counter + 1, 1);
}

/// A channel that waits for its first command.
static void open_with(uint8_t policy, uint8_t kind) {
  sealed_begin(policy);
  CHECK_NUMBER(pfc_verifier_keep_channels(&world.verifier), PFC_OK);
  sealed_make(kind, 0);
  CHECK_NUMBER(send(), kind == INTEGRITY ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE);
  memcpy(chain, sealed_last()->chain, sizeof chain);
  next = app.challenge.counter + 1;
}

static void open(void) { open_with(PFC_POLICY_CHANNEL, INTEGRITY); }

/// The channel's next command is made right; what then happens to the lock spoils it.
static void open_and_make(void) {
  open();
  make(next, 1);
}

static struct pfc_slot *slot(void) {
  return &world.verifier.ledger.slots[pfc_ledger_find(&world.verifier.ledger, app.token.instance_id)];
}

static void class_of_no_integrity(void) {
  open();
  make(next, 9);
}

static void class_of_no_device(void) {
  open_with(PFC_POLICY_CHANNEL, DEVICE);
  make(next, 1);
}

/// No channel is there: all zeros, as the link's memory.
static void none(void) {
  sealed_begin(PFC_POLICY_CHANNEL);
  CHECK_NUMBER(pfc_verifier_keep_channels(&world.verifier), PFC_OK);
  memset(chain, 0, sizeof chain);
  make(1, 1);
  memset(message, 0, 8);
}

/// The keys are right, and the channel has ended on this link.
static void ended(void) {
  open_and_make();
  (void)world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 1, NULL, 0);
}

static void replay(void) {
  open_and_make();
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
}

static void other_counter(void) {
  open();
  make(next + 1, 1);
}

static void altered(void) {
  open_and_make();
  message[message_size - 1] ^= 1;
}

static void altered_class(void) {
  open_and_make();
  message[24] ^= 1;
}

static void late(void) {
  open_and_make();
  world.seconds += PFC_CHANNEL_SECONDS + 1;
}

static void none_left(void) {
  open_and_make();
  world.link->channel.left = 0;
}

static void revoked(void) {
  open_and_make();
  world.link = &world.links[1];
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, app.token.instance_id, 1), PFC_VERDICT_DONE);
}

static void other_token(void) {
  open_and_make();
  slot()->token_digest[0] ^= 1;
}

static void recalled(void) {
  open_and_make();
  world.verifier.alive_from[slot() - world.verifier.ledger.slots] = next + 1;
}

static void other_command(void) {
  open_and_make();
  slot()->last.counter++;
}

static void not_permitted(void) {
  open_and_make();
  slot()->policy = 0;
}

static void expired(void) {
  open_and_make();
  slot()->not_after = 1;
}

static void no_attempts(void) {
  open_and_make();
  slot()->attempts = 0;
}

static void no_uses(void) {
  open_and_make();
  slot()->uses = 0;
}

/// The sealed command itself is walked; the token permits no channel.
static void opens_none(void) {
  message_type = PFC_MESSAGE_COMMAND;
  sealed_begin(PFC_POLICY_SEALED);
  CHECK_NUMBER(pfc_verifier_keep_channels(&world.verifier), PFC_OK);
  sealed_make(INTEGRITY, 1);
}

const struct scenario channel_scenarios[] = {
    {"channel-class-integrity", class_of_no_integrity, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"channel-class-device", class_of_no_device, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"channel-none", none, PFC_VERDICT_STALE, ONCE},
    {"channel-ended", ended, PFC_VERDICT_STALE, ONCE},
    {"channel-replay", replay, PFC_VERDICT_STALE, ONCE},
    {"channel-other-counter", other_counter, PFC_VERDICT_STALE, ONCE},
    {"channel-altered", altered, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"channel-altered-class", altered_class, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"channel-late", late, PFC_VERDICT_STALE, ONCE},
    {"channel-none-left", none_left, PFC_VERDICT_STALE, ONCE},
    {"channel-revoked", revoked, PFC_VERDICT_STALE, ONCE},
    {"channel-other-token", other_token, PFC_VERDICT_STALE, ONCE},
    {"channel-recalled", recalled, PFC_VERDICT_STALE, ONCE},
    {"channel-other-command", other_command, PFC_VERDICT_STALE, ONCE},
    {"channel-not-permitted", not_permitted, PFC_VERDICT_STALE, ONCE},
    {"channel-expired", expired, PFC_VERDICT_EXPIRED, ONCE},
    {"channel-no-attempts", no_attempts, PFC_VERDICT_NO_ATTEMPTS, ONCE},
    {"channel-no-uses", no_uses, PFC_VERDICT_NO_USES, ONCE},
    {"channel-opens-none", opens_none, PFC_VERDICT_ACCEPTED, THEN_GO_ON},
    {"channel-right-then-replayed", open_and_make, PFC_VERDICT_ACCEPTED, TWICE},
    {NULL, NULL, 0, ONCE},
};
