// SPDX-License-Identifier: Apache-2.0

/// Sealed commands at the verifier: the life of E_lock, strangers, downgrades, and the same verdicts as in the clear.

#include <string.h>

#include "curve_count.h"
#include "harness.h"
#include "log_chip.h"
#include "world.h"

#include "../../../CSources/ProofCore/verifier_review.h"

#if PFC_SEALS_COMMANDS

enum { UNLOCK = 0, SETTINGS = 2 };

static struct world world;
static struct app owner, copy;

/// The last message and its answer.
static struct pfc_challenge challenge;
static struct pfc_sealed_sent sent;
static uint8_t lock_key[32], message[PFC_MESSAGE_MAX];
static size_t size;
static bool is_sealed;  ///< The last answer was a SEALED-DOWN that opened
static uint16_t detail;
static struct dice dice;

static struct pfc_slot *slot_of(const struct app *app) {
  return &world.verifier.ledger.slots[pfc_ledger_find(&world.verifier.ledger, app->token.instance_id)];
}

/// A lock that answers sealed commands, with a clock, and an owner with a token of this policy.
static void begin(uint8_t policy) {
  world_make(&world, 120);
  world_clock(&world, true);
  dice.state = 121;
  REQUIRE(CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK));
  app_make(&owner, &world, 122);
  app_ratchet(&owner, policy);
  owner.token.device_classes = 1u << UNLOCK;
  owner.token.integrity_classes = 1u << UNLOCK | 1u << SETTINGS;
  app_issue(&owner, &world);
  REQUIRE(CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD));
}

/// ASK 3. The verdict where there is no challenge.
static uint8_t ask(void) {
  const uint8_t what = PFC_ASK_SEALED;
  uint8_t verdict = world_send(&world, PFC_MESSAGE_ASK, &what, 1);
  detail = world.answer.detail;
  if (world.outcome.reply_type != PFC_MESSAGE_CHALLENGE) return verdict;
  CHECK_NUMBER(pfc_sealed_challenge_decode(&challenge, lock_key, world.outcome.reply, world.outcome.reply_size),
               PFC_OK);
  CHECK(challenge.counter > world.highest_counter);
  CHECK_BYTES(lock_key, world.verifier.seal.public_key, sizeof lock_key);
  world.highest_counter = challenge.counter;
  return PFC_VERDICT_NONE;
}

static void make_with(struct app *app, uint8_t kind, uint8_t class_, const char *text, bool has_ratchet) {
  struct pfc_request request = {.kind = kind,
                                .command_class = class_,
                                .challenge = challenge,
                                .command = (const uint8_t *)text,
                                .command_size = strlen(text),
                                .ratchet = has_ratchet ? app->ratchet : NULL,
                                .known = has_ratchet ? app->known : 0};
  struct pfc_seal_facts facts = {.hardware_id = world.hardware.id,
                                 .instance_id = app->token.instance_id,
                                 .token_digest = app->digest,
                                 .device_key = app->token.secrets.device_key,
                                 .lock_key = lock_key,
                                 .challenge = &challenge};
  uint8_t ephemeral[32];
  memcpy(request.instance_id, app->token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, world.hardware.id, PFC_ID_BYTES);
  dice_fill(&dice, ephemeral, sizeof ephemeral);
  app->challenge = challenge;
  CHECK_NUMBER(pfc_sealed_create(message, sizeof message, &size, &sent, &request, &facts, &app->token.secrets,
                                 ephemeral), PFC_OK);
  memcpy(app->nonce, sent.nonce, sizeof sent.nonce);
}

static void make(struct app *app, uint8_t kind, uint8_t class_, const char *text) {
  make_with(app, kind, class_, text, (app->token.policy & PFC_POLICY_RATCHET) != 0);
}

static bool accepts(uint8_t verdict) {
  return verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_DEVICE ||
         verdict == PFC_VERDICT_ACCEPTED_COPY || verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY;
}

/// Sends what was made. Checks that exactly an acceptance is executed, and that it is never told in the clear.
static uint8_t send(void) {
  struct pfc_outcome *outcome = &world.outcome;
  struct pfc_answer answer = {0};
  uint64_t next = 0;
  memset(outcome, 0xa5, sizeof *outcome);
  pfc_verifier_receive(&world.verifier, world.link, PFC_MESSAGE_COMMAND, message, size, outcome);
  CHECK_NUMBER(pfc_message_fits(outcome->reply_type, outcome->reply_size), 1);
  is_sealed = outcome->reply_type == PFC_MESSAGE_SEALED_DOWN;
  if (is_sealed) {
    CHECK_NUMBER(pfc_sealed_down_open(&answer, &next, outcome->reply, outcome->reply_size, challenge.counter,
                                      sent.down), PFC_OK);
    CHECK_COUNT(next, 0);
  } else {
    CHECK_NUMBER(outcome->reply_type, PFC_MESSAGE_VERDICT);
    CHECK_NUMBER(pfc_answer_decode(&answer, outcome->reply, outcome->reply_size), PFC_OK);
    CHECK_ZEROS(answer.receipt, sizeof answer.receipt);
    CHECK(!accepts(answer.verdict));
  }
  detail = answer.detail;
  CHECK_NUMBER(answer.verdict, outcome->verdict);
  CHECK_NUMBER(outcome->execute, accepts(answer.verdict) ? PFC_EXECUTE : 0);
  // These three leave the challenge alive.
  if (answer.verdict != PFC_VERDICT_BUSY && answer.verdict != PFC_VERDICT_TOO_NEW &&
      answer.verdict != PFC_VERDICT_MALFORMED) {
    CHECK_NUMBER(world.link->live, 0);
  }
  return answer.verdict;
}

/// Moves the app's ratchet with the step of the command sent last.
static void follow(struct app *app, uint8_t verdict) {
  uint8_t nonce[PFC_NONCE_BYTES];
  memcpy(nonce, app->nonce, sizeof nonce);
  memcpy(app->nonce, sent.step, sizeof nonce);
  app_follow(app, verdict);
  memcpy(app->nonce, nonce, sizeof nonce);
}

/// Makes a key if there is none, asks, makes, sends, follows.
static uint8_t act(struct app *app, uint8_t kind, uint8_t class_) {
  uint8_t verdict;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  verdict = ask();
  if (verdict != PFC_VERDICT_NONE) return verdict;
  make(app, kind, class_, "open");
  verdict = send();
  follow(app, verdict);
  return verdict;
}

// Acceptance -----------------------------------------------------------------------------------------------------

static void commands_are_done_and_answered_once(void) {
  for (uint8_t kind = PFC_KIND_SEALED_INTEGRITY; kind <= PFC_KIND_SEALED_DEVICE; kind++) {
    uint8_t accepted = kind == PFC_KIND_SEALED_INTEGRITY ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE;
    unsigned before;
    test_case("kind %u", kind);
    begin(0);
    REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
    make(&owner, kind, UNLOCK, "open the door");
    before = curve_count;
    CHECK_NUMBER(send(), accepted);
    CHECK_NUMBER(curve_count - before, 1);
    CHECK(is_sealed);
    CHECK_NUMBER(detail, 65535);
    CHECK_NUMBER(world.outcome.kind, kind);
    CHECK_NUMBER(world.outcome.command_class, UNLOCK);
    CHECK_NUMBER(world.outcome.command_size, 13);
    CHECK_BYTES(world.outcome.command, "open the door", 13);
    CHECK_COUNT(world.outcome.counter, challenge.counter);
    CHECK_BYTES(world.outcome.instance_id, owner.token.instance_id, PFC_ID_BYTES);
    // e_lock served once.
    CHECK_NUMBER(world.verifier.seal.ready, 0);
    CHECK_ZEROS(world.verifier.seal.secret, 32);
    before = curve_count;
    CHECK_NUMBER(send(), PFC_VERDICT_STALE);
    CHECK_NUMBER(detail, PFC_DETAIL_NO_CHALLENGE);
    CHECK_NUMBER(curve_count - before, 0);
    // The next message wipes the content of the last.
    CHECK_ZEROS(world.verifier.opened, sizeof world.verifier.opened);
  }
}

static void the_longest_command_is_done(void) {
  char text[PFC_SEALED_COMMAND_MAX + 1];
  begin(0);
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = 0;
  REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
  make(&owner, PFC_KIND_SEALED_INTEGRITY, SETTINGS, text);
  CHECK_NUMBER(size, PFC_MESSAGE_MAX);
  CHECK_NUMBER(send(), PFC_VERDICT_ACCEPTED);
  CHECK_BYTES(world.outcome.command, text, PFC_SEALED_COMMAND_MAX);
}

static void every_slot_is_found(void) {
  static struct app apps[PFC_SLOTS];
  begin(0);
  apps[0] = owner;
  for (unsigned i = 1; i < PFC_SLOTS; i++) {
    app_make(&apps[i], &world, 200 + i);
    app_issue(&apps[i], &world);
    REQUIRE(CHECK_NUMBER(app_present(&apps[i], &world), PFC_VERDICT_HELD));
  }
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    test_case("slot %u", i);
    CHECK_NUMBER(act(&apps[i], PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
    CHECK_BYTES(world.outcome.instance_id, apps[i].token.instance_id, PFC_ID_BYTES);
  }
}

// Strangers ------------------------------------------------------------------------------------------------------

static void strangers_cause_no_curve(void) {
  static uint8_t recorded[PFC_MESSAGE_MAX];
  size_t recorded_size;
  unsigned before;
  begin(0);
  REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
  make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
  memcpy(recorded, message, size);
  recorded_size = size;
  before = curve_count;
  for (unsigned i = 0; i < 64; i++) (void)ask();
  CHECK_NUMBER(curve_count - before, 0);
  // Each bit of the hint, of E_app and of the kind; a recorded hint beside another E_app; garbage.
  for (unsigned i = 0; i < 58; i++) {
    if (i >= 9 && i < 17) continue;  // The counter: stale
    if (world.link->refusals == PFC_SESSION_REFUSALS_MAX) pfc_session_init(world.link);
    test_case("byte %u", i);
    REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
    make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
    before = curve_count;
    if (i == 0) message[0] = PFC_KIND_SEALED_DEVICE;
    if (i > 0 && i < 49) message[i] ^= 0x10;
    if (i == 49) memcpy(message + 1, recorded + 1, 8);
    if (i == 50) memcpy(message + 17, recorded + 17, 32);
    if (i == 51) memset(message + 1, 0, 8);
    if (i == 52) memset(message + 1, 0xff, 8);
    if (i > 52) dice_fill(&dice, message + 1, 8);
    CHECK_NUMBER(send(), PFC_VERDICT_DEVICE_DIFFERS);
    CHECK(!is_sealed);
    CHECK_NUMBER(curve_count - before, 0);
    CHECK_NUMBER(world.verifier.seal.ready, 1);
  }
  // A recorded command under its own counter, later.
  memcpy(message, recorded, recorded_size);
  size = recorded_size;
  before = curve_count;
  CHECK_NUMBER(send(), PFC_VERDICT_STALE);
  REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
  memcpy(message, recorded, recorded_size);
  put64(message + 9, challenge.counter);
  CHECK_NUMBER(send(), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(curve_count - before, 0);
}

static void free_and_revoked_slots_have_no_hint(void) {
  static const struct pfc_slot nothing;
  struct app keyless;
  unsigned before;
  begin(0);
  keyless = owner;
  memcpy(&keyless.token.secrets, &nothing.secrets, sizeof nothing.secrets);
  before = curve_count;
  CHECK_NUMBER(ask(), PFC_VERDICT_NONE);
  make(&keyless, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
  before = curve_count;
  CHECK_NUMBER(send(), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(curve_count - before, 0);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, owner.token.instance_id, 9), PFC_VERDICT_DONE);
  CHECK_NUMBER(ask(), PFC_VERDICT_NONE);
  make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
  before = curve_count;
  CHECK_NUMBER(send(), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(curve_count - before, 0);
  // Its token tells why.
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_REVOKED);
}

static void refusals_are_counted(void) {
  begin(0);
  for (unsigned i = 0; i < PFC_SESSION_REFUSALS_MAX; i++) {
    CHECK_NUMBER(world.link->refusals, i);
    CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
    REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
    make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
    // The hint and the box in turn.
    message[i % 2 == 0 ? 1 : size - 1] ^= 1;
    CHECK_NUMBER(send(), PFC_VERDICT_DEVICE_DIFFERS);
  }
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_BUSY);
  CHECK_NUMBER(detail, PFC_SESSION_WAIT_SECONDS);
  CHECK_NUMBER(world.link->live, 1);
}

static void altered_boxes_are_refused_in_the_clear(void) {
  begin(0);
  for (size_t i = PFC_SEALED_HEAD_BYTES; i < PFC_SEALED_INTEGRITY_BYTES + 4; i++) {
    struct pfc_slot before = *slot_of(&owner);
    unsigned count;
    test_case("byte %zu", i);
    pfc_session_init(world.link);
    CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
    REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
    make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
    message[i] ^= 1;
    count = curve_count;
    CHECK_NUMBER(send(), PFC_VERDICT_DEVICE_DIFFERS);
    CHECK(!is_sealed);
    CHECK_NUMBER(curve_count - count, 1);
    // A second try under the same key is not possible.
    CHECK_NUMBER(world.verifier.seal.ready, 0);
    CHECK_ZEROS(world.verifier.seal.secret, 32);
    CHECK_ZEROS(world.verifier.opened, sizeof world.verifier.opened);
    CHECK_BYTES(slot_of(&owner), &before, sizeof before);
  }
}

static void malformed_contents_are_refused(void) {
  static const uint8_t sizes[][2] = {{5, 141}, {6, 109}, {6, 60}};
  begin(0);
  for (unsigned i = 0; i < 3; i++) {
    REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
    make(&owner, sizes[i][0], UNLOCK, "");
    size = sizes[i][1];
    CHECK_NUMBER(send(), PFC_VERDICT_MALFORMED);
    CHECK_NUMBER(world.link->live, 1);
  }
  REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
  make(&owner, PFC_KIND_SEALED_DEVICE, UNLOCK, "");
  size = 327;
  CHECK_NUMBER(send(), PFC_VERDICT_MALFORMED);
}

// Life of E_lock -------------------------------------------------------------------------------------------------

static void hardware_that_makes_no_keys_answers_as_before(void) {
  struct pfc_capabilities told;
  world_make(&world, 120);
  pfc_verifier_capabilities(&world.verifier, &told);
  CHECK_NUMBER(told.features & PFC_FEATURE_SEALED, 0);
  CHECK_NUMBER(ask(), PFC_VERDICT_TOO_NEW);
  CHECK_NUMBER(detail, PFC_DETAIL_UNKNOWN_KIND);
  app_make(&owner, &world, 122);
  app_ratchet(&owner, PFC_POLICY_SEALED);
  app_issue(&owner, &world);
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_TOO_NEW);
  CHECK_NUMBER(world.answer.detail, PFC_DETAIL_RESERVED_BIT);
  memset(message, PFC_KIND_SEALED_INTEGRITY, 150);
  size = 150;
  CHECK_NUMBER(send(), PFC_VERDICT_TOO_NEW);
  CHECK_NUMBER(detail, PFC_DETAIL_UNKNOWN_KIND);
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  pfc_verifier_capabilities(&world.verifier, &told);
  CHECK_NUMBER(told.features & PFC_FEATURE_SEALED, PFC_FEATURE_SEALED);
  CHECK_NUMBER(app_present(&owner, &world), PFC_VERDICT_HELD);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  memset(&world.verifier, 0, sizeof world.verifier);
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_E_ARGUMENT);
}

static void keys_end(void) {
  uint8_t first[32];
  unsigned before;
  begin(0);
  memcpy(first, world.verifier.seal.public_key, sizeof first);
  before = curve_count;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  CHECK_NUMBER(curve_count - before, 0);
  world.seconds += PFC_SEAL_SECONDS - 1;
  CHECK_NUMBER(ask(), PFC_VERDICT_NONE);
  CHECK_BYTES(lock_key, first, sizeof first);
  world.seconds += 1;
  make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
  CHECK_NUMBER(send(), PFC_VERDICT_STALE);
  CHECK_NUMBER(detail, PFC_DETAIL_SEAL_REPLACED);
  // Too old to hand out, and gone.
  CHECK_NUMBER(ask(), PFC_VERDICT_BUSY);
  CHECK_NUMBER(detail, 1);
  CHECK_ZEROS(world.verifier.seal.secret, 32);
  CHECK_NUMBER(curve_count - before, 2);  // The app's two
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  CHECK(memcmp(first, world.verifier.seal.public_key, sizeof first) != 0);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  // At a start there is none.
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  memcpy(first, world.verifier.seal.public_key, sizeof first);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(world.verifier.seal.ready, 0);
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  CHECK(memcmp(first, world.verifier.seal.public_key, sizeof first) != 0);
}

static void keys_live_on_without_a_clock(void) {
  begin(0);
  world_clock(&world, false);
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  world.seconds += 10 * PFC_SEAL_SECONDS;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
}

static void replaced_keys_make_challenges_stale(void) {
  struct pfc_challenge other;
  uint8_t other_key[32];
  unsigned before;
  begin(0);
  // Another link's command uses the key.
  CHECK_NUMBER(ask(), PFC_VERDICT_NONE);
  other = challenge;
  memcpy(other_key, lock_key, sizeof other_key);
  world.link = &world.links[1];
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  for (unsigned made = 0; made < 2; made++) {
    test_case("another key is %s", made ? "there" : "not there");
    world.link = &world.links[0];
    if (made) CHECK_NUMBER(ask(), PFC_VERDICT_NONE);
    if (made) other = challenge;
    if (made) world.verifier.seal.number++;
    challenge = other;
    memcpy(lock_key, other_key, sizeof lock_key);
    make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
    before = curve_count;
    CHECK_NUMBER(send(), PFC_VERDICT_STALE);
    CHECK_NUMBER(detail, PFC_DETAIL_SEAL_REPLACED);
    CHECK_NUMBER(curve_count - before, 0);
    CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  }
  // A challenge without a key, also after one with.
  test_case("a challenge without a key");
  CHECK_NUMBER(ask(), PFC_VERDICT_NONE);
  REQUIRE(CHECK(world_ask(&world, &challenge)));
  make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
  CHECK_NUMBER(send(), PFC_VERDICT_STALE);
  CHECK_NUMBER(detail, PFC_DETAIL_SEAL_REPLACED);
  // A command in the clear may answer a challenge with a key.
  CHECK_NUMBER(ask(), PFC_VERDICT_NONE);
  owner.challenge = challenge;
  app_command(&owner, &world, PFC_KIND_INTEGRITY, UNLOCK, "open");
  CHECK_NUMBER(app_send(&owner, &world), PFC_VERDICT_ACCEPTED);
}

static int write_and_fail(void *context, uint8_t *bytes, size_t length) {
  (void)context;
  memset(bytes, 7, length);
  return -1;
}

static void bad_generators_leave_no_key(void) {
  begin(0);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  world.random = RANDOM_FAILS;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_E_RANDOM);
  CHECK_NUMBER(world.verifier.seal.ready, 0);
  CHECK_NUMBER(ask(), PFC_VERDICT_BUSY);
  world.random = RANDOM_REPEATS;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  world.verifier.seal.ready = 0;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_E_RANDOM);
  CHECK_ZEROS(world.verifier.seal.secret, 32);
  memset(world.last_random, 0, sizeof world.last_random);
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_E_RANDOM);
  CHECK_NUMBER(world.verifier.seal.ready, 0);
  world.verifier.platform.random = write_and_fail;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_E_RANDOM);
  CHECK_NUMBER(world.verifier.seal.ready, 0);
  CHECK_ZEROS(world.verifier.seal.secret, 32);
  world.verifier.platform.random = world.platform.random;
  world.random = RANDOM_GOOD;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  world.verifier.seal.number = UINT32_MAX;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.verifier.seal.number, 1);
  world.random = RANDOM_FAILS;
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_E_RANDOM);
}

// Verdicts -------------------------------------------------------------------------------------------------------

static void verdicts_are_sealed(void) {
  struct app changed;
  begin(0);
  changed = owner;
  changed.token.secrets.integrity[3] ^= 1;
  CHECK_NUMBER(act(&changed, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK(is_sealed);
  CHECK_NUMBER(detail, 2);
  CHECK_NUMBER(slot_of(&owner)->attempts, 2);
  CHECK_NUMBER(world.link->refusals, 0);
  changed = owner;
  changed.token.secrets.device[3] ^= 1;
  CHECK_NUMBER(act(&changed, PFC_KIND_SEALED_DEVICE, UNLOCK), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK(is_sealed);
  CHECK_NUMBER(world.link->refusals, 1);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_DEVICE, SETTINGS), PFC_VERDICT_NOT_PERMITTED);
  CHECK(is_sealed);
  CHECK_NUMBER(detail, PFC_DETAIL_INTEGRITY_DEMANDED);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, 9), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(detail, PFC_DETAIL_CLASS_NOT_PERMITTED);
  slot_of(&owner)->uses = 0;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_NO_USES);
  CHECK(is_sealed);
  slot_of(&owner)->uses = 1;
  slot_of(&owner)->attempts = 0;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_NO_ATTEMPTS);
  CHECK(is_sealed);
  slot_of(&owner)->attempts = 1;
  slot_of(&owner)->not_after = 1;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_EXPIRED);
  CHECK(is_sealed);
  slot_of(&owner)->not_after = 0;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(detail, 0);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_NO_USES);
  // The hardware's own secrets were overwritten by a fault: the second look finds it.
  slot_of(&owner)->uses = 5;
  slot_of(&owner)->sum ^= 1;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_FAULT);
  CHECK(!is_sealed);
}

/// The second look at what was made, opened as the first look does.
static struct pfc_seal seal;

static bool passes(uint8_t verdict) {
  const struct pfc_slot *slot = slot_of(&owner);
  int index = (int)(slot - world.verifier.ledger.slots);
  return pfc_review_command(&world.verifier, world.link, index, slot, message, size, verdict, &seal) ==
         PFC_REVIEW_PASSED;
}

/// Meets a sealed command anew, up to its review.
static void meet(uint8_t kind) {
  struct pfc_command command;
  uint8_t nonce[PFC_NONCE_BYTES];
  begin(0);
  REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
  make(&owner, kind, UNLOCK, "open");
  const struct pfc_slot *slot = slot_of(&owner);
  memset(&seal, 0, sizeof seal);
  CHECK_NUMBER(pfc_seal_open(&world.verifier, world.link, (int)(slot - world.verifier.ledger.slots), slot, message,
                             size, &seal, &command, nonce), PFC_OK);
}

static void the_second_look_sees_for_itself(void) {
  enum { CASES = 20 };
  uint8_t other[32];
  struct pfc_challenge same;
  for (unsigned i = 0; i <= CASES; i++) {
    uint8_t verdict = PFC_VERDICT_ACCEPTED;
    test_case("case %u", i);
    meet(PFC_KIND_SEALED_INTEGRITY);
    CHECK(passes(PFC_VERDICT_ACCEPTED));
    same = world.link->challenge;
    // Each alone is wrong, though the bytes that it leads to may be right.
    switch (i) {
      case 0: memcpy(other, seal.facts.device_key, 16), seal.facts.device_key = other; break;
      case 1: memcpy(other, seal.facts.token_digest, 16), seal.facts.token_digest = other; break;
      case 2: memcpy(other, seal.facts.instance_id, 16), seal.facts.instance_id = other; break;
      case 3: memcpy(other, seal.facts.lock_key, 32), seal.facts.lock_key = other; break;
      case 4: seal.facts.challenge = &same; break;
      case 5: world.link->seal_number = 0, world.verifier.seal.number = 0; break;
      case 6: world.link->seal_number++; break;
      case 7: memset(seal.shared, 0, sizeof seal.shared); break;
      case 8: message[size - 1] ^= 1; break;
      case 9: message[1] ^= 1; break;
      case 10: slot_of(&owner)->attempts = 0; break;
      case 11: slot_of(&owner)->uses = 0; break;
      case 12: slot_of(&owner)->secrets.integrity[0] ^= 1; break;
      case 13: slot_of(&owner)->secrets.device[0] ^= 1; break;
      case 14: slot_of(&owner)->integrity_classes = 1u << SETTINGS; break;
      case 15: world.verifier.alive_from[slot_of(&owner) - world.verifier.ledger.slots] = challenge.counter + 1; break;
      case 16: world.seconds += 31; break;
      case 17: verdict = PFC_VERDICT_ACCEPTED_COPY; break;
      case 18: slot_of(&owner)->policy = PFC_RATCHET_REPORT; break;
      case 19: slot_of(&owner)->sum ^= 1; break;
      default: memset(&world.link->challenge, 0, sizeof world.link->challenge); break;
    }
    CHECK(!passes(verdict));
  }
  // A command in the clear is no sealed one, nor the reverse.
  meet(PFC_KIND_SEALED_DEVICE);
  CHECK(passes(PFC_VERDICT_ACCEPTED_DEVICE));
  message[0] = PFC_KIND_DEVICE;
  CHECK(!passes(PFC_VERDICT_ACCEPTED_DEVICE));
}

static void commands_in_the_clear_are_refused_where_sealed_ones_are_demanded(void) {
  for (uint8_t ratchet = PFC_RATCHET_NONE; ratchet <= PFC_RATCHET_REFUSE; ratchet++) {
    begin(PFC_POLICY_SEALED | ratchet);
    for (unsigned start = 0; start < 2; start++) {
      struct pfc_slot before = *slot_of(&owner);
      for (uint8_t kind = PFC_KIND_INTEGRITY; kind <= PFC_KIND_DEVICE_RATCHET; kind++) {
        test_case("policy %u, kind %u, start %u", ratchet, kind, start);
        CHECK_NUMBER(app_do(&owner, &world, kind, UNLOCK, "open"), PFC_VERDICT_NOT_PERMITTED);
        CHECK_NUMBER(world.answer.detail, PFC_DETAIL_SEALED_DEMANDED);
        CHECK_BYTES(slot_of(&owner), &before, sizeof before);
      }
      CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, SETTINGS), PFC_VERDICT_ACCEPTED);
      CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_DEVICE, UNLOCK), PFC_VERDICT_ACCEPTED_DEVICE);
      CHECK_NUMBER(world_restart(&world), PFC_OK);
      CHECK_NUMBER(slot_of(&owner)->policy, PFC_POLICY_SEALED | ratchet);
      CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
    }
  }
  // A stranger is told nothing of the policy.
  copy = owner;
  copy.token.secrets.device[0] ^= 1;
  CHECK_NUMBER(app_do(&copy, &world, PFC_KIND_DEVICE, UNLOCK, "open"), PFC_VERDICT_DEVICE_DIFFERS);
}

// Ratchet --------------------------------------------------------------------------------------------------------

static void owners_stay_in_step(void) {
  for (uint8_t policy = PFC_RATCHET_REPORT; policy <= PFC_RATCHET_REFUSE; policy++) {
    begin(policy);
    for (unsigned i = 0; i < 12; i++) {
      test_case("policy %u, command %u", policy, i);
      if (i % 3 == 1) {
        // In the clear between sealed ones.
        uint8_t verdict = app_do(&owner, &world, PFC_KIND_INTEGRITY_RATCHET, UNLOCK, "open");
        CHECK_NUMBER(verdict, PFC_VERDICT_ACCEPTED);
        app_follow(&owner, verdict);
      } else {
        CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, SETTINGS), PFC_VERDICT_ACCEPTED);
      }
      CHECK_BYTES(slot_of(&owner)->ratchet, owner.ratchet, PFC_RATCHET_BYTES);
      CHECK_NUMBER(slot_of(&owner)->sum, pfc_slot_sum(slot_of(&owner)));
    }
    CHECK_NUMBER(slot_of(&owner)->copies, 0);
  }
}

static void copies_are_told_of(void) {
  begin(PFC_RATCHET_REPORT);
  copy = owner;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, SETTINGS), PFC_VERDICT_ACCEPTED);
  // A thief who knows the nonce, and not the step, is out of step all the more.
  memcpy(copy.nonce, owner.nonce, sizeof copy.nonce);
  copy.challenge = owner.challenge;
  app_follow(&copy, PFC_VERDICT_ACCEPTED);
  CHECK(memcmp(copy.ratchet, owner.ratchet, PFC_RATCHET_BYTES) != 0);
  CHECK_NUMBER(act(&copy, PFC_KIND_SEALED_INTEGRITY, SETTINGS), PFC_VERDICT_ACCEPTED_COPY);
  CHECK(is_sealed);
  CHECK_NUMBER(slot_of(&owner)->copies, 1);
  CHECK_BYTES(slot_of(&owner)->ratchet, copy.ratchet, PFC_RATCHET_BYTES);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_DEVICE, UNLOCK), PFC_VERDICT_ACCEPTED_DEVICE_COPY);
  begin(PFC_RATCHET_REFUSE);
  copy = owner;
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, SETTINGS), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&copy, PFC_KIND_SEALED_INTEGRITY, SETTINGS), PFC_VERDICT_COPIED);
  CHECK(is_sealed);
  CHECK_NUMBER(detail, (uint16_t)owner.known);
  CHECK_NUMBER(act(&copy, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED_COPY);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, SETTINGS), PFC_VERDICT_ACCEPTED);
}

static void tags_of_the_other_sort_are_refused(void) {
  static const uint16_t details[] = {PFC_DETAIL_RATCHET_NONE, PFC_DETAIL_RATCHET_REPORT, PFC_DETAIL_RATCHET_REFUSE};
  for (uint8_t policy = PFC_RATCHET_NONE; policy <= PFC_RATCHET_REFUSE; policy++) {
    test_case("policy %u", policy);
    begin(policy);
    REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
    make_with(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open", policy == PFC_RATCHET_NONE);
    CHECK_NUMBER(send(), PFC_VERDICT_NOT_PERMITTED);
    CHECK(is_sealed);
    CHECK_NUMBER(detail, details[policy]);
    CHECK_NUMBER(slot_of(&owner)->copies, 0);
    CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  }
}

// Recall, candidates, log, power ---------------------------------------------------------------------------------

static void recalls_tell_what_became_of_it(void) {
  begin(PFC_RATCHET_REPORT);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_ACCEPTED);
  // A command that never came: the recall ends its challenge.
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
  make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_NOT_EXECUTED);
  unsigned before = curve_count;
  CHECK_NUMBER(send(), PFC_VERDICT_STALE);
  CHECK_NUMBER(detail, PFC_DETAIL_CHALLENGE_ENDED);
  CHECK_NUMBER(curve_count - before, 0);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
}

static void candidates_are_committed(void) {
  for (uint8_t policy = PFC_RATCHET_NONE; policy <= PFC_RATCHET_REPORT; policy++) {
    struct app updated;
    test_case("policy %u", policy);
    begin(policy);
    CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
    updated = owner;
    app_update(&updated);
    updated.token.policy = (uint8_t)(PFC_POLICY_UPCOMING | PFC_POLICY_SEALED | policy);
    app_issue(&updated, &world);
    CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_READY);
    memcpy(updated.ratchet, owner.ratchet, sizeof updated.ratchet);
    // A device match commits nothing, and has no hint of the slot.
    CHECK_NUMBER(act(&updated, PFC_KIND_SEALED_DEVICE, UNLOCK), PFC_VERDICT_DEVICE_DIFFERS);
    CHECK(!is_sealed);
    // The present pair still opens.
    CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
    memcpy(updated.ratchet, owner.ratchet, sizeof updated.ratchet);
    updated.known = owner.known;
    // A wrong integrity proof costs the slot an attempt.
    copy = updated;
    copy.token.secrets.integrity[0] ^= 1;
    CHECK_NUMBER(act(&copy, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_INTEGRITY_DIFFERS);
    CHECK(is_sealed);
    CHECK_NUMBER(slot_of(&owner)->attempts, 2);
    CHECK_NUMBER(act(&updated, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
    CHECK(is_sealed);
    CHECK_NUMBER(slot_of(&owner)->generation, updated.token.generation);
    CHECK_NUMBER(slot_of(&owner)->policy, PFC_POLICY_SEALED | policy);
    CHECK_BYTES(slot_of(&owner)->ratchet, policy != 0 ? updated.ratchet : (const uint8_t[16]){0}, PFC_RATCHET_BYTES);
    CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_DEVICE_DIFFERS);
    CHECK_NUMBER(act(&updated, PFC_KIND_SEALED_DEVICE, UNLOCK), PFC_VERDICT_ACCEPTED_DEVICE);
    CHECK_NUMBER(world_restart(&world), PFC_OK);
    CHECK_NUMBER(act(&updated, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
  }
}

static void candidates_are_judged_again(void) {
  struct app updated;
  begin(0);
  updated = owner;
  app_update(&updated);
  app_issue(&updated, &world);
  CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_READY);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 1, NULL, 0), PFC_VERDICT_DONE);
  // The floor has freed the slot, too.
  CHECK_NUMBER(act(&updated, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_DEVICE_DIFFERS);
  begin(0);
  CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_READY);
  world.verifier.ledger.floor = WORLD_BEGIN + 1;
  CHECK_NUMBER(act(&updated, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_SUPERSEDED);
  CHECK(is_sealed);
  world.verifier.ledger.floor = 0;
  slot_of(&owner)->revoked = updated.token.generation;
  CHECK_NUMBER(act(&updated, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_REVOKED);
  CHECK(is_sealed);
}

static void the_log_has_sealed_commands(void) {
  static struct chip chip;
  static struct pfc_log_ring ring;
  struct pfc_log_content content;
  uint8_t first_key[32], key[32], entry[PFC_LOG_ENTRY_BYTES];
  uint64_t next;
  begin(0);
  chip_make(&chip, 1024, 5, 0);
  dice_fill(&dice, first_key, sizeof first_key);
  CHECK_NUMBER(pfc_log_ring_format(&chip.port, &world.hardware, 0, first_key), PFC_OK);
  CHECK_NUMBER(pfc_verifier_keep_log(&world.verifier, &ring, &chip.port), PFC_OK);
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, SETTINGS), PFC_VERDICT_ACCEPTED);
  next = ring.log.next;
  memcpy(key, first_key, sizeof key);
  for (uint64_t i = 0; i + 1 < next; i++) pfc_log_step(key);
  REQUIRE(CHECK_NUMBER(pfc_log_ring_read(&ring, entry, next - 1), PFC_OK));
  CHECK_NUMBER(pfc_log_open(&content, entry, key, next - 1, world.hardware.id), PFC_OK);
  CHECK_NUMBER(content.event, PFC_LOG_COMMAND);
  CHECK_NUMBER(content.verdict, PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(content.kind, PFC_KIND_SEALED_INTEGRITY);
  CHECK_NUMBER(content.command_class, SETTINGS);
  CHECK_NUMBER(content.counter, (uint32_t)challenge.counter);
  CHECK_BYTES(content.who, owner.token.instance_id, sizeof content.who);
  // A refusal with a right device proof has one, too; a stranger's has none.
  CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_DEVICE, SETTINGS), PFC_VERDICT_NOT_PERMITTED);
  CHECK_COUNT(ring.log.next, next + 1);
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  CHECK_NUMBER(ask(), PFC_VERDICT_NONE);
  make(&owner, PFC_KIND_SEALED_DEVICE, UNLOCK, "open");
  message[1] ^= 1;
  CHECK_NUMBER(send(), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_COUNT(ring.log.next, next + 1);
  CHECK(ring.log.refused[0] != 0);
}

static void cuts_leave_old_or_new(void) {
  unsigned accepted = 0, cuts = 0;
  for (size_t offset = 0; offset <= PFC_RECORD_BYTES_MAX; offset++) {
    uint8_t verdict;
    begin(PFC_RATCHET_REPORT | PFC_POLICY_SEALED);
    test_case("cut at byte %zu", offset);
    CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
    REQUIRE(CHECK_NUMBER(ask(), PFC_VERDICT_NONE));
    make(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK, "open");
    world.flash.cut_write = world.flash.writes;
    world.flash.cut_offset = offset;
    world.flash.cut_rest = (enum flash_rest)(offset % 3);
    CHECK_NUMBER(send(), PFC_VERDICT_FAULT);
    CHECK(!is_sealed);
    CHECK(world.flash.dark);
    CHECK_NUMBER(world_restart(&world), PFC_OK);
    verdict = app_recall(&owner, &world);
    if (verdict != PFC_VERDICT_NOT_EXECUTED) {
      CHECK_NUMBER(verdict, PFC_VERDICT_ACCEPTED);
      accepted++;
    }
    follow(&owner, verdict);
    // The challenge died with the power.
    CHECK_NUMBER(send(), PFC_VERDICT_TOO_NEW);
    CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
    CHECK_NUMBER(send(), PFC_VERDICT_STALE);
    CHECK_NUMBER(act(&owner, PFC_KIND_SEALED_INTEGRITY, UNLOCK), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(slot_of(&owner)->copies, 0);
    cuts++;
  }
  test_note("%u cuts, %u left the command accepted", cuts, accepted);
}

static void wipes_leave_no_key(void) {
  begin(0);
  pfc_verifier_wipe(&world.verifier);
  CHECK_ZEROS(&world.verifier.seal, sizeof world.verifier.seal);
}

static const struct test tests[] = {
    TEST("a sealed command is done once, answered by one SEALED-DOWN, and uses its key up",
         commands_are_done_and_answered_once),
    TEST("the longest sealed command fits the longest message", the_longest_command_is_done),
    TEST("the instance in each slot is found by its hint", every_slot_is_found),
    TEST("a stranger makes the hardware compute no X25519", strangers_cause_no_curve),
    TEST("a free or revoked slot has no hint", free_and_revoked_slots_have_no_hint),
    TEST("wrong hints and boxes are refusals of the link", refusals_are_counted),
    TEST("a box that does not open is refused in the clear, and its key is gone",
         altered_boxes_are_refused_in_the_clear),
    TEST("a length that no sealed command has is malformed", malformed_contents_are_refused),
    TEST("hardware whose firmware makes no keys answers as before", hardware_that_makes_no_keys_answers_as_before),
    TEST("a key ends after 600 seconds and at a start, and is made outside of ASK", keys_end),
    TEST("a key lives on where there is no clock", keys_live_on_without_a_clock),
    TEST("a challenge without the present key is stale for a sealed command", replaced_keys_make_challenges_stale),
    TEST("a generator that fails, repeats or gives zeros leaves no key", bad_generators_leave_no_key),
    TEST("verdicts are those of commands in the clear, and sealed", verdicts_are_sealed),
    TEST("the second look sees each condition for itself", the_second_look_sees_for_itself),
    TEST("kinds 1 to 4 are refused where the token permits sealed commands only",
         commands_in_the_clear_are_refused_where_sealed_ones_are_demanded),
    TEST("an owner stays in step, sealed and in the clear in turn", owners_stay_in_step),
    TEST("a copy is told of in a sealed answer, and cannot follow without the step", copies_are_told_of),
    TEST("a tag for the other sort of slot is refused, and the detail tells the policy",
         tags_of_the_other_sort_are_refused),
    TEST("a recall tells of a sealed command, and ends its challenge", recalls_tell_what_became_of_it),
    TEST("a sealed integrity command commits a candidate, and a device match does not", candidates_are_committed),
    TEST("a candidate is judged again at its sealed command", candidates_are_judged_again),
    TEST("the log has sealed commands by their kind, and nothing of strangers", the_log_has_sealed_commands),
    TEST("a power cut at any byte leaves the slot before or after, and the recall tells which", cuts_leave_old_or_new),
    TEST("wiping the verifier wipes the key", wipes_leave_no_key),
};

const struct suite verifier_sealed_suite = SUITE("verifier sealed", tests);

#endif
