// SPDX-License-Identifier: Apache-2.0

// Sealed commands that are refused (docs/SPEC.md, section 18), for target.c.

#include "target.h"

#include <string.h>

static struct pfc_challenge challenge;
static struct pfc_sealed_sent sent;
static uint8_t lock_key[PFC_PUBLIC_KEY_BYTES], number;

/// A device with a key for the next sealed command.
static void begin_sealed(uint8_t policy) {
  begin();
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  if (policy != 0) app_ratchet(&app, policy);
  hold();
}

/// Makes a key if there is none, and asks for a challenge with it.
static void ask_sealed(void) {
  const uint8_t what = PFC_ASK_SEALED;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  (void)world_send(&world, PFC_MESSAGE_ASK, &what, 1);
  CHECK_NUMBER(pfc_sealed_challenge_decode(&challenge, lock_key, world.outcome.reply, world.outcome.reply_size),
               PFC_OK);
}

/// A right sealed command under the challenge, made with the secrets that the app has by now.
static void seal_with(uint8_t kind, uint8_t class_, const uint8_t *ratchet) {
  struct pfc_request request = {.kind = kind,
                                .command_class = class_,
                                .challenge = challenge,
                                .command = (const uint8_t *)"open",
                                .command_size = 4,
                                .ratchet = ratchet,
                                .known = ratchet != NULL ? app.known : 0};
  struct pfc_seal_facts facts = {.hardware_id = world.hardware.id,
                                 .instance_id = app.token.instance_id,
                                 .token_digest = app.digest,
                                 .device_key = app.token.secrets.device_key,
                                 .lock_key = lock_key,
                                 .challenge = &challenge};
  uint8_t ephemeral[PFC_SECRET_KEY_BYTES] = {9, ++number};
  memcpy(request.instance_id, app.token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, world.hardware.id, PFC_ID_BYTES);
  CHECK_NUMBER(pfc_sealed_create(message, sizeof message, &message_size, &sent, &request, &facts, &app.token.secrets,
                                 ephemeral), PFC_OK);
  app.challenge = challenge;
  memcpy(app.nonce, sent.nonce, sizeof sent.nonce);
}

/// Asks and seals.
static void seal(uint8_t kind, uint8_t class_) {
  ask_sealed();
  seal_with(kind, class_, (app.token.policy & PFC_POLICY_RATCHET) != 0 ? app.ratchet : NULL);
}

void sealed_begin(uint8_t policy) { begin_sealed(policy); }

void sealed_make(uint8_t kind, uint8_t class_) { seal(kind, class_); }

const struct pfc_sealed_sent *sealed_last(void) { return &sent; }

int sealed_answer(struct pfc_answer *answer, const uint8_t *reply) {
  uint64_t next;
  return pfc_sealed_down_open(answer, &next, reply, PFC_SEALED_DOWN_BYTES, challenge.counter, sent.down);
}

// The sender -----------------------------------------------------------------------------------------------------

/// The owner's app after a change: all but the integrity measurement is right.
static void changed_app(void) {
  begin_sealed(0);
  app.token.secrets.integrity[0] ^= 1;
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
}

/// The device's key is right, and so hint and box; its measurement is not.
static void changed_device(void) {
  begin_sealed(0);
  app.token.secrets.device[0] ^= 1;
  seal(PFC_KIND_SEALED_DEVICE, 0);
}

/// All that is public is right, and no key.
static void stranger(void) {
  begin_sealed(0);
  memset(&app.token.secrets, 0x77, sizeof app.token.secrets);
  seal(PFC_KIND_SEALED_DEVICE, 0);
}

/// A free slot is all zeros: its instance, its keys, the digest of its token.
static void nobody(void) {
  begin_sealed(0);
  memset(app.token.instance_id, 0, sizeof app.token.instance_id);
  memset(&app.token.secrets, 0, sizeof app.token.secrets);
  memset(app.digest, 0, sizeof app.digest);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
}

/// A revoked slot keeps public values, and its secrets are zeros.
static void revoked(void) {
  begin_sealed(0);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, app.token.instance_id, 1), PFC_VERDICT_DONE);
  memset(&app.token.secrets, 0, sizeof app.token.secrets);
  memset(app.digest, 0, sizeof app.digest);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
}

// The message ----------------------------------------------------------------------------------------------------

enum { AT_COUNTER = 9, AT_APP_KEY = 17 };

/// The owner's command with one bit of its text turned on the way.
static void altered(void) {
  begin_sealed(0);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
  message[message_size - 1] ^= 1;
}

static void altered_key(void) {
  begin_sealed(0);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
  message[AT_APP_KEY + 3] ^= 1;
}

/// The same message again: its challenge is spent, and so is the key.
static void replay(void) {
  begin_sealed(0);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
}

/// The same message under a new challenge with a new key.
static void replay_later(void) {
  replay();
  ask_sealed();
}

/// The same message, with the counter of a new challenge in it.
static void replay_renumbered(void) {
  replay();
  ask_sealed();
  for (unsigned i = 0; i < 8; i++) message[AT_COUNTER + i] = (uint8_t)(challenge.counter >> (8 * i));
}

// The challenge and its key --------------------------------------------------------------------------------------

static void late(void) {
  begin_sealed(0);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
  world.seconds += 31;
}

/// The other link's command has used the key that came with this link's challenge.
static void key_used(void) {
  uint8_t kept[PFC_MESSAGE_MAX];
  size_t kept_size;
  begin_sealed(0);
  seal(PFC_KIND_SEALED_DEVICE, 0);
  memcpy(kept, message, sizeof kept);
  kept_size = message_size;
  world.link = &world.links[1];
  seal(PFC_KIND_SEALED_DEVICE, 0);
  // Changed on the way: the key is used, and the instance's older challenges live on.
  message[message_size - 1] ^= 1;
  pfc_verifier_receive(&world.verifier, world.link, PFC_MESSAGE_COMMAND, message, message_size, &world.outcome);
  CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_DEVICE_DIFFERS);
  world.link = &world.links[0];
  memcpy(message, kept, sizeof kept);
  message_size = kept_size;
}

static void key_replaced(void) {
  key_used();
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
}

static void recalled(void) {
  begin_sealed(0);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
}

// The slot -------------------------------------------------------------------------------------------------------

static void class_of_no_integrity(void) {
  begin_sealed(0);
  seal(PFC_KIND_SEALED_INTEGRITY, 9);
}

static void class_of_no_device(void) {
  begin_sealed(0);
  seal(PFC_KIND_SEALED_DEVICE, 1);
}

/// A command in the clear, at a slot that takes sealed ones only.
static void in_the_clear(void) {
  begin_sealed(PFC_POLICY_SEALED);
  prove(PFC_KIND_INTEGRITY, 1);
}

static void expired(void) {
  begin();
  app.token.not_after = WORLD_BEGIN + 10;
  hold();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 100, NULL, 0), PFC_VERDICT_DONE);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
}

static void no_attempts(void) {
  begin();
  app.token.attempts = 1;
  hold();
  app.token.secrets.integrity[0] ^= 1;
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
  CHECK_NUMBER(send(), PFC_VERDICT_INTEGRITY_DIFFERS);
  app.token.secrets.integrity[0] ^= 1;
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
}

static void no_uses(void) {
  begin();
  app.token.uses = 1;
  hold();
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
}

/// A slot that refuses copies, and its owner has sent a command since the copy was made.
static void copy(uint8_t class_) {
  begin_sealed(PFC_RATCHET_REFUSE);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
  seal(PFC_KIND_SEALED_INTEGRITY, class_);
}

static void copied(void) { copy(1); }

/// A device match permits this class to a copy, too.
static void copy_unlocks(void) { copy(0); }

void sealed_use(void) {
  // Had the fault forked the ratchet, the copy would know the new one.
  pfc_ratchet_fork(app.ratchet, &app.token.secrets, sent.step);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
}

/// A tag of zeros, where there is a ratchet.
static void without_ratchet(void) {
  begin_sealed(PFC_RATCHET_REFUSE);
  ask_sealed();
  seal_with(PFC_KIND_SEALED_INTEGRITY, 1, NULL);
}

static void right(void) {
  begin_sealed(0);
  seal(PFC_KIND_SEALED_INTEGRITY, 1);
}

const struct scenario sealed_scenarios[] = {
    {"sealed-changed-app", changed_app, PFC_VERDICT_INTEGRITY_DIFFERS, ONCE},
    {"sealed-changed-device", changed_device, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"sealed-stranger", stranger, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"sealed-nobody", nobody, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"sealed-revoked", revoked, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"sealed-altered", altered, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"sealed-altered-key", altered_key, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"sealed-replay", replay, PFC_VERDICT_STALE, ONCE},
    {"sealed-replay-later", replay_later, PFC_VERDICT_STALE, ONCE},
    {"sealed-replay-renumbered", replay_renumbered, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"sealed-late", late, PFC_VERDICT_STALE, ONCE},
    {"sealed-key-used", key_used, PFC_VERDICT_STALE, ONCE},
    {"sealed-key-replaced", key_replaced, PFC_VERDICT_STALE, ONCE},
    {"sealed-recalled", recalled, PFC_VERDICT_STALE, ONCE},
    {"sealed-class-integrity", class_of_no_integrity, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"sealed-class-device", class_of_no_device, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"sealed-demanded", in_the_clear, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"sealed-expired", expired, PFC_VERDICT_EXPIRED, ONCE},
    {"sealed-no-attempts", no_attempts, PFC_VERDICT_NO_ATTEMPTS, ONCE},
    {"sealed-no-uses", no_uses, PFC_VERDICT_NO_USES, ONCE},
    {"sealed-copied", copied, PFC_VERDICT_COPIED, ONCE},
    {"sealed-copy-then-use", copy_unlocks, PFC_VERDICT_ACCEPTED_COPY, THEN_USE},
    {"sealed-without-ratchet", without_ratchet, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"sealed-right-then-replayed", right, PFC_VERDICT_ACCEPTED, TWICE},
    {NULL, NULL, 0, ONCE},
};
