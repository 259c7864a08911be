// SPDX-License-Identifier: Apache-2.0

/// A device and one message that it refuses, for walk.c, which skips instructions between `walk_begin` and `walk_end`.
///
///     target SCENARIO        judges that scenario's message and exits with an enum fault_result
///     target --list          names the scenarios, one a line
///
/// Code outside of the two marks, set-up and the final look, is not attacked: it stands for the world.

#include <stdio.h>
#include <string.h>

#include "ProofCore.h"
#include "fault.h"
#include "target.h"

struct world world;
struct app app;
uint8_t message[PFC_MESSAGE_MAX];
size_t message_size;
uint8_t message_type = PFC_MESSAGE_COMMAND;
static struct device device;

void begin(void) {
  world_make(&world, 5);
  world_clock(&world, true);
  device.verifier = &world.verifier;
  device.session = world.link;
  app_make(&app, &world, 6);
  app.token.attempts = 5;
  app.token.uses = 100;
  app.token.integrity_classes = 0x000f;
  app.token.device_classes = 0x0001;
}

void hold(void) {
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static int open_answer(struct pfc_answer *answer) {
  return message_type == PFC_MESSAGE_SEALED_UP ? channel_answer(answer, device.reply)
                                               : sealed_answer(answer, device.reply);
}

/// The verdict of the last reply, however it is told; 0 if none can be read.
static uint8_t told(void) {
  struct pfc_answer answer;
  if (device.reply_type == PFC_MESSAGE_SEALED_DOWN) {
    return open_answer(&answer) == PFC_OK ? answer.verdict : PFC_VERDICT_NONE;
  }
  return device.reply[0];
}

uint8_t send(void) {
  device_receive(&device, message_type, message, message_size);
  return told();
}

void prove(uint8_t kind, uint8_t class_) {
  CHECK(world_ask(&world, &app.challenge));
  app_command(&app, &world, kind, class_, "open");
  memcpy(message, app.message, app.size);
  message_size = app.size;
}

enum { DONE_MAX = 8 };

enum { AT_COUNTER = 18, AT_PROOF = 26, AT_ESCORT = AT_PROOF + PFC_PROOF_BYTES };

/// The owner's app after a change: all but the integrity measurement is right.
static void changed_app(void) {
  begin();
  hold();
  app.token.secrets.integrity[0] ^= 1;
  prove(PFC_KIND_INTEGRITY, 1);
}

static void changed_device(void) {
  begin();
  hold();
  app.token.secrets.device[0] ^= 1;
  prove(PFC_KIND_INTEGRITY, 1);
}

static void strangers_device_proof(void) {
  begin();
  hold();
  prove(PFC_KIND_DEVICE, 0);
  message[AT_PROOF + 31] ^= 0x80;
}

static void zero_proofs(void) {
  begin();
  hold();
  prove(PFC_KIND_INTEGRITY, 1);
  memset(message + AT_PROOF, 0, 2 * PFC_PROOF_BYTES);
}

/// The same message again: its challenge is spent.
static void replay(void) {
  begin();
  hold();
  prove(PFC_KIND_INTEGRITY, 1);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
}

/// The same message, with the counter of a new challenge in it.
static void replay_renumbered(void) {
  replay();
  CHECK(world_ask(&world, &app.challenge));
  for (unsigned i = 0; i < 8; i++) message[AT_COUNTER + i] = (uint8_t)(app.challenge.counter >> (8 * i));
}

/// The same message under a new challenge.
static void replay_later(void) {
  replay();
  CHECK(world_ask(&world, &app.challenge));
}

static void late(void) {
  begin();
  hold();
  prove(PFC_KIND_INTEGRITY, 1);
  world.seconds += 31;
}

static void class_of_no_integrity(void) {
  begin();
  hold();
  prove(PFC_KIND_INTEGRITY, 9);
}

static void class_of_no_device(void) {
  begin();
  hold();
  prove(PFC_KIND_DEVICE, 1);
}

/// A slot that refuses copies, and its owner has sent a command since the copy was made.
static void copy(uint8_t class_) {
  begin();
  app_ratchet(&app, PFC_RATCHET_REFUSE);
  hold();
  CHECK_NUMBER(app_do(&app, &world, PFC_KIND_INTEGRITY_RATCHET, 1, "open"), PFC_VERDICT_ACCEPTED);
  prove(PFC_KIND_INTEGRITY_RATCHET, class_);
}

static void copied(void) { copy(1); }

/// A device match permits this class to a copy, too.
static void copy_unlocks(void) { copy(0); }

/// A command that has no ratchet's tag, where there is a ratchet.
static void without_ratchet(void) {
  begin();
  app_ratchet(&app, PFC_RATCHET_REFUSE);
  hold();
  prove(PFC_KIND_INTEGRITY, 1);
}

/// A revoked slot keeps public values, and its secrets are zeros: an attacker who knows that can prove with them.
static void revoked(void) {
  begin();
  hold();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, app.token.instance_id, 1), PFC_VERDICT_DONE);
  memset(&app.token.secrets, 0, sizeof app.token.secrets);
  prove(PFC_KIND_INTEGRITY, 1);
}

/// A free slot is all zeros: its instance, its keys.
static void nobody(void) {
  begin();
  hold();
  memset(app.token.instance_id, 0, sizeof app.token.instance_id);
  memset(&app.token.secrets, 0, sizeof app.token.secrets);
  prove(PFC_KIND_INTEGRITY, 1);
}

static void recalled(void) {
  begin();
  hold();
  prove(PFC_KIND_INTEGRITY, 1);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
}

static void expired(void) {
  begin();
  app.token.not_after = WORLD_BEGIN + 10;
  hold();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 100, NULL, 0), PFC_VERDICT_DONE);
  prove(PFC_KIND_INTEGRITY, 1);
}

static void no_attempts(void) {
  begin();
  app.token.attempts = 1;
  hold();
  app.token.secrets.integrity[0] ^= 1;
  prove(PFC_KIND_INTEGRITY, 1);
  CHECK_NUMBER(send(), PFC_VERDICT_INTEGRITY_DIFFERS);
  app.token.secrets.integrity[0] ^= 1;
  prove(PFC_KIND_INTEGRITY, 1);
}

static void no_uses(void) {
  begin();
  app.token.uses = 1;
  hold();
  prove(PFC_KIND_INTEGRITY, 1);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
  prove(PFC_KIND_INTEGRITY, 1);
}

static void right(void) {
  begin();
  hold();
  prove(PFC_KIND_INTEGRITY, 1);
}

// Tokens. What matters is whether a command with the token's secrets is done afterwards. -------------------------

/// A token made of `app.token`, with everything that the public knows, signed by `signer`.
static void forge(const struct issuer *signer) {
  uint8_t head[PFC_TOKEN_HEAD_BYTES], body[PFC_TOKEN_BODY_BYTES];
  forge_parts(head, body, &app.token, &world.issuer);
  forge_token(message, head, body, world.hardware.public_key, world.hardware.public_key, signer, 7);
  message_size = PFC_TOKEN_BYTES;
}

/// The hardware's public key and the issuer's id are public.
static void token_of_a_stranger(void) {
  struct issuer stranger;
  begin();
  issuer_make(&stranger, 8);
  forge(&stranger);
}

static void token_unsigned(void) {
  begin();
  forge(NULL);
}

static void token_of_development(void) {
  begin();
  app.token.mode = PFC_MODE_DEVELOPMENT;
  forge(&world.issuer);
}

static void token_literal(void) {
  begin();
  app.token.form = PFC_FORM_LITERAL;
  forge(&world.issuer);
}

static void token_of_other_hardware(void) {
  begin();
  app.token.hardware_id[15] ^= 1;
  forge(&world.issuer);
}

static void token_expired(void) {
  begin();
  app.token.not_after = WORLD_BEGIN + 10;
  CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 100, NULL, 0), PFC_VERDICT_DONE);
  forge(&world.issuer);
}

static void token_below_the_floor(void) {
  begin();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 100, NULL, 0), PFC_VERDICT_DONE);
  forge(&world.issuer);
}

static void token_revoked(void) {
  begin();
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, app.token.instance_id, 1), PFC_VERDICT_DONE);
  forge(&world.issuer);
}

/// An older generation with secrets of its own.
static void token_superseded(void) {
  begin();
  app.token.generation = 2;
  hold();
  app.token.generation = 1;
  app.token.secrets.integrity[0] ^= 1;
  forge(&world.issuer);
}

/// Rightly signed and sealed by suite 1, where there is a factory secret: an attacker who broke both curves.
static void token_of_suite_1(void) {
  begin();
  world_factory(&world);
  forge(&world.issuer);
}

/// The same attacker by suite 2, with a factory secret of his own.
static void token_of_another_secret(void) {
  uint8_t secret[PFC_FACTORY_SECRET_BYTES] = {1}, ephemeral[PFC_SECRET_KEY_BYTES] = {2};
  begin();
  world_factory(&world);
  app_renew(&app);
  CHECK_NUMBER(pfc_token_create(message, &app.token, world.hardware.public_key, secret, world.issuer.signing_key,
                                ephemeral),
               PFC_OK);
  message_size = PFC_TOKEN_BYTES;
}

static const struct scenario scenarios[] = {
    {"changed-app", changed_app, PFC_VERDICT_INTEGRITY_DIFFERS, ONCE},
    {"changed-device", changed_device, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"stranger", strangers_device_proof, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"zero-proofs", zero_proofs, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"replay", replay, PFC_VERDICT_STALE, ONCE},
    {"replay-renumbered", replay_renumbered, PFC_VERDICT_DEVICE_DIFFERS, ONCE},
    {"replay-later", replay_later, PFC_VERDICT_STALE, ONCE},
    {"late", late, PFC_VERDICT_STALE, ONCE},
    {"class-integrity", class_of_no_integrity, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"class-device", class_of_no_device, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"copied", copied, PFC_VERDICT_COPIED, ONCE},
    {"copy-then-use", copy_unlocks, PFC_VERDICT_ACCEPTED_COPY, THEN_USE},
    {"without-ratchet", without_ratchet, PFC_VERDICT_NOT_PERMITTED, ONCE},
    {"revoked", revoked, PFC_VERDICT_REVOKED, ONCE},
    {"nobody", nobody, PFC_VERDICT_UNKNOWN, ONCE},
    {"recalled", recalled, PFC_VERDICT_STALE, ONCE},
    {"expired", expired, PFC_VERDICT_EXPIRED, ONCE},
    {"no-attempts", no_attempts, PFC_VERDICT_NO_ATTEMPTS, ONCE},
    {"no-uses", no_uses, PFC_VERDICT_NO_USES, ONCE},
    {"right-then-replayed", right, PFC_VERDICT_ACCEPTED, TWICE},
    {"token-stranger", token_of_a_stranger, PFC_VERDICT_NOT_SIGNED, THEN_ACT},
    {"token-unsigned", token_unsigned, PFC_VERDICT_NOT_SIGNED, THEN_ACT},
    {"token-development", token_of_development, PFC_VERDICT_WRONG_MODE, THEN_ACT},
    {"token-literal", token_literal, PFC_VERDICT_WRONG_MODE, THEN_ACT},
    {"token-suite-1", token_of_suite_1, PFC_VERDICT_WRONG_MODE, THEN_ACT},
    {"token-other-secret", token_of_another_secret, PFC_VERDICT_NOT_FOR_ME, THEN_ACT},
    {"token-elsewhere", token_of_other_hardware, PFC_VERDICT_NOT_FOR_ME, THEN_ACT},
    {"token-expired", token_expired, PFC_VERDICT_EXPIRED, THEN_ACT},
    {"token-floor", token_below_the_floor, PFC_VERDICT_SUPERSEDED, THEN_ACT},
    {"token-revoked", token_revoked, PFC_VERDICT_REVOKED, THEN_ACT},
    {"token-superseded", token_superseded, PFC_VERDICT_SUPERSEDED, THEN_ACT},
    {NULL, NULL, 0, ONCE},
};

__attribute__((noinline)) void walk_begin(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void walk_end(void) { __asm__ volatile("" ::: "memory"); }

static int is_accepted(uint8_t verdict) {
  return verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_DEVICE ||
         verdict == PFC_VERDICT_ACCEPTED_COPY || verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY;
}

/// Whether the app that sent the command believes that it was accepted.
static int is_believed(void) {
  struct pfc_answer answer;
  if (device.reply_type == PFC_MESSAGE_SEALED_DOWN) {
    return open_answer(&answer) == PFC_OK && is_accepted(answer.verdict);
  }
  return pfc_answer_decode(&answer, device.reply, PFC_VERDICT_MESSAGE_BYTES) == PFC_OK && is_accepted(answer.verdict) &&
         pfc_receipt_check(answer.receipt, app.token.secrets.device_key, app.nonce, answer.verdict, answer.detail,
                           answer.counter) == PFC_OK;
}

static int is_sealed(const struct scenario *scenario) { return strncmp(scenario->name, "sealed-", 7) == 0; }

static int is_grant(const struct scenario *scenario) {
  return scenario->then == THEN_BORROW || scenario->then == THEN_LOSE;
}

static enum fault_result run(const struct scenario *scenario) {
  unsigned right = is_accepted(scenario->verdict) ? 1 : 0;
  scenario->make();
  device_done = 0;
  device.reply_type = 0;
  memset(device.reply, 0, sizeof device.reply);
  if (harness_failures() != 0) return FAULT_NOT_SET_UP;
  uint8_t type = scenario->then == THEN_ACT ? PFC_MESSAGE_TOKEN : message_type;
  if (is_grant(scenario)) type = PFC_MESSAGE_GRANT;
  walk_begin();
  device_receive(&device, type, message, message_size);
  walk_end();
  uint8_t verdict = told();
  if (scenario->then == TWICE) (void)send();
  if (scenario->then == THEN_GO_ON) {
    channel_go_on();
    (void)send();
  }
  if (scenario->then == THEN_USE && is_sealed(scenario)) {
    sealed_use();
    (void)send();
  } else if (scenario->then == THEN_USE) {
    // Had the fault forked the ratchet, the copy would know the new one.
    pfc_ratchet_fork(app.ratchet, &app.token.secrets, app.nonce);
    prove(PFC_KIND_INTEGRITY_RATCHET, 1);
    (void)send();
  }
  if (scenario->then == THEN_ACT) {
    if (device_done != 0) return FAULT_OPENED;
    prove(PFC_KIND_INTEGRITY, 1);
    (void)send();
  }
  if (is_grant(scenario)) {
    if (device_done != 0) return FAULT_OPENED;
    prove(PFC_KIND_INTEGRITY, grant_class);
    (void)send();
    // An owner who gets no answer takes back again.
    if (scenario->then == THEN_LOSE) {
      if (verdict == PFC_VERDICT_DONE && device_done != 0) return FAULT_TOLD;
      return verdict == scenario->verdict ? FAULT_REFUSED : FAULT_REFUSED_OTHERWISE;
    }
  }
  // More than a few is a counter that was overwritten or never loaded, and no command.
  if (device_done > right && device_done <= right + DONE_MAX) return FAULT_OPENED;
  if (right == 0 && is_believed()) return FAULT_TOLD;
  return verdict == scenario->verdict ? FAULT_REFUSED : FAULT_REFUSED_OTHERWISE;
}

/// Runs the scenario of this name, or prints every name if there is none. FAULT_NOT_SET_UP if it is not in the list.
static int play(const struct scenario *list, const char *name) {
  for (; list->name != NULL; list++) {
    if (name == NULL) (void)printf("%s\n", list->name);
    else if (strcmp(name, list->name) == 0) return (int)run(list);
  }
  return FAULT_NOT_SET_UP;
}

int main(int argc, char **argv) {
  int result = FAULT_NOT_SET_UP;
  const char *name = argc == 2 && strcmp(argv[1], "--list") != 0 ? argv[1] : NULL;
  if (argc != 2) return result;
  result = play(scenarios, name);
  if (result == FAULT_NOT_SET_UP) result = play(sealed_scenarios, name);
  if (result == FAULT_NOT_SET_UP) result = play(grant_scenarios, name);
  if (result == FAULT_NOT_SET_UP) result = play(channel_scenarios, name);
  return name == NULL ? 0 : result;
}
