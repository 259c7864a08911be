// SPDX-License-Identifier: Apache-2.0

/// The second look at commands, tokens, orders and recalls: it sees by itself all that the first one sees, so that
/// either may be skipped. The verifier never lets these states come as far; here they are set by hand.
/// Tests/Adversary/Faults and Tests/Process/Firmware/skip.py walk the two looks together.

#include <string.h>

#include "../../../CSources/ProofCore/verifier_answer.h"
#include "../../../CSources/ProofCore/verifier_review.h"
#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app;
static int slot_index;

/// Hardware that holds a token, and a right command under a live challenge.
static struct pfc_slot *begin(uint8_t kind) {
  world_make(&world, 40);
  world_clock(&world, true);
  app_make(&app, &world, 41);
  app.token.not_after = WORLD_BEGIN + 1000;
  app.token.integrity_classes = 0x000e;
  app.token.device_classes = 0x000c;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK(world_ask(&world, &app.challenge));
  app_command(&app, &world, kind, 3, "open");
  slot_index = pfc_ledger_find(&world.verifier.ledger, app.token.instance_id);
  return &world.verifier.ledger.slots[slot_index];
}

/// The verdict of the first look.
static uint8_t first = PFC_VERDICT_ACCEPTED;

static bool passes_at(size_t size) {
  int inside = slot_index >= 0 && slot_index < PFC_SLOTS ? slot_index : 0;
  const struct pfc_slot *judged = &world.verifier.ledger.slots[inside];
#if PFC_SEALS_COMMANDS
  return pfc_review_command(&world.verifier, world.link, slot_index, judged, app.message, size, first, NULL) ==
         PFC_REVIEW_PASSED;
#else
  return pfc_review_command(&world.verifier, world.link, slot_index, judged, app.message, size, first) ==
         PFC_REVIEW_PASSED;
#endif
}

static bool passes(void) { return passes_at(app.size); }

static void right_commands_pass(void) {
  for (uint8_t kind = PFC_KIND_INTEGRITY; kind <= PFC_KIND_DEVICE; kind++) {
    (void)begin(kind);
    CHECK(passes());
    world.seconds += world.hardware.challenge_seconds;
    CHECK(passes());
    world_clock(&world, false);
    REQUIRE(CHECK(world_ask(&world, &app.challenge)));
    app_command(&app, &world, kind, 3, "open");
    CHECK(passes());
  }
}

static void proofs_and_secrets_are_seen_bit_by_bit(void) {
  for (uint8_t kind = PFC_KIND_INTEGRITY; kind <= PFC_KIND_DEVICE; kind++) {
    struct pfc_slot *slot = begin(kind);
    uint8_t *secrets = (uint8_t *)&slot->secrets;
    for (size_t bit = 0; bit < 8 * app.size; bit++) {
      test_case("kind %u, bit %zu of the message", kind, bit);
      app.message[bit / 8] ^= (uint8_t)(1u << bit % 8);
      CHECK(!passes());
      app.message[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t byte = 0; byte < sizeof slot->secrets; byte++) {
      // A device proof has nothing to do with the first two secrets.
      bool used = kind == PFC_KIND_INTEGRITY || byte >= PFC_KEY_BYTES + PFC_MEASUREMENT_BYTES;
      test_case("kind %u, byte %zu of the secrets", kind, byte);
      secrets[byte] ^= 1;
      CHECK(!passes());
      slot->sum = pfc_slot_sum(slot);
      CHECK(passes() != used);
      secrets[byte] ^= 1;
      slot->sum = pfc_slot_sum(slot);
    }
    CHECK(passes());
  }
}

static void secrets_that_no_token_brought_are_not_stored(void) {
  struct pfc_slot *slot = begin(PFC_KIND_INTEGRITY), spoilt = *slot;
  CHECK_NUMBER(pfc_ledger_put(&world.verifier.ledger, slot_index, slot), PFC_OK);
  spoilt.secrets.device[31] ^= 1;
  CHECK_NUMBER(pfc_ledger_put(&world.verifier.ledger, slot_index, &spoilt), PFC_E_STORAGE);
  CHECK_BYTES(&slot->secrets, &app.token.secrets, sizeof slot->secrets);
}

static void challenges_are_seen(void) {
  (void)begin(PFC_KIND_INTEGRITY);
  test_case("1. another counter");
  world.link->challenge.counter++;
  CHECK(!passes());
  world.link->challenge.counter--;
  test_case("2. other bytes");
  world.link->challenge.bytes[31] ^= 1;
  CHECK(!passes());
  world.link->challenge.bytes[31] ^= 1;
  CHECK(passes());
  test_case("3. too old");
  world.seconds += world.hardware.challenge_seconds + 1;
  CHECK(!passes());
  test_case("4. wiped: a command that was proved under the challenge that is none");
  memset(&world.link->challenge, 0, sizeof world.link->challenge);
  world.link->asked = world.seconds;
  app.challenge = world.link->challenge;
  app_command(&app, &world, PFC_KIND_INTEGRITY, 3, "open");
  CHECK(!passes());
}

static void slots_are_seen(void) {
  static const struct {
    const char *what;
    struct pfc_slot change;
  } cases[] = {{"revoked", {.state = PFC_SLOT_HELD ^ PFC_SLOT_REVOKED}},
               {"free", {.state = PFC_SLOT_HELD ^ PFC_SLOT_FREE}},
               {"of another instance", {.instance_id = {[15] = 1}}},
               {"without the class", {.integrity_classes = 1u << 3}}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfc_slot *slot = begin(PFC_KIND_INTEGRITY);
    test_case("%u. %s", i + 1, cases[i].what);
    slot->state ^= cases[i].change.state;
    slot->instance_id[15] ^= cases[i].change.instance_id[15];
    slot->integrity_classes ^= cases[i].change.integrity_classes;
    CHECK(!passes());
  }
  struct pfc_slot *slot = begin(PFC_KIND_INTEGRITY);
  test_case("no attempts");
  slot->attempts = 0;
  CHECK(!passes());
  slot->attempts = 1;
  CHECK(passes());
  test_case("no uses");
  slot->uses = 0;
  CHECK(!passes());
  slot->uses = 1;
  CHECK(passes());
  test_case("expired");
  world.verifier.epoch = slot->not_after;
  world.verifier.epoch_seconds = world.seconds;
  CHECK(passes());
  world.seconds++;
  CHECK(!passes());
  slot->not_after = 0;
  CHECK(passes());
  test_case("recalled");
  world.verifier.alive_from[slot_index] = app.challenge.counter + 1;
  CHECK(!passes());
  world.verifier.alive_from[slot_index] = app.challenge.counter;
  CHECK(passes());
  test_case("accepted already");
  slot->last.counter = app.challenge.counter;
  CHECK(passes());
  slot->last.verdict = PFC_VERDICT_ACCEPTED;
  CHECK(!passes());
}

static void classes_are_the_kinds_own(void) {
  struct pfc_slot *slot = begin(PFC_KIND_DEVICE);
  slot->device_classes = (uint16_t)~(1u << 3);
  CHECK(!passes());
  slot->device_classes = 1u << 3;
  slot->integrity_classes = 0;
  CHECK(passes());
}

/// A slot of this policy, and a command whose ratchet is in step or not.
static struct pfc_slot *begin_step(uint8_t policy, bool out, uint8_t class_) {
  struct pfc_slot *slot;
  world_make(&world, 42);
  app_make(&app, &world, 43);
  app_ratchet(&app, policy);
  app.token.device_classes = 1;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
  CHECK(world_ask(&world, &app.challenge));
  app.ratchet[0] ^= out ? 1 : 0;
  app_command(&app, &world, PFC_KIND_INTEGRITY_RATCHET, class_, "open");
  slot_index = pfc_ledger_find(&world.verifier.ledger, app.token.instance_id);
  slot = &world.verifier.ledger.slots[slot_index];
  return slot;
}

static void steps_are_as_the_verdict_tells(void) {
  for (uint8_t policy = PFC_RATCHET_REPORT; policy <= PFC_RATCHET_REFUSE; policy++) {
    for (unsigned out = 0; out < 2; out++) {
      for (uint8_t class_ = 0; class_ < 2; class_++) {
        struct pfc_slot *slot = begin_step(policy, out != 0, class_);
        bool kept = policy == PFC_RATCHET_REFUSE && class_ == 1;
        test_case("policy %u, out of step %u, class %u", policy, out, class_);
        first = PFC_VERDICT_ACCEPTED;
        CHECK_NUMBER(passes(), out == 0);
        first = PFC_VERDICT_ACCEPTED_COPY;
        CHECK_NUMBER(passes(), out == 1 && !kept);
        first = out != 0 ? PFC_VERDICT_ACCEPTED_COPY : PFC_VERDICT_ACCEPTED;
        slot->policy = PFC_RATCHET_NONE;
        CHECK(!passes());
        first = PFC_VERDICT_ACCEPTED;
      }
    }
  }
  struct pfc_slot *slot = begin(PFC_KIND_INTEGRITY);
  CHECK(passes());
  first = PFC_VERDICT_ACCEPTED_COPY;
  CHECK(!passes());
  first = PFC_VERDICT_ACCEPTED;
  slot->policy = PFC_RATCHET_REPORT;
  CHECK(!passes());
}

static void no_slot_and_no_command_do_not_pass(void) {
  (void)begin(PFC_KIND_INTEGRITY);
  slot_index = -1;
  CHECK(!passes());
  slot_index = PFC_SLOTS;
  CHECK(!passes());
  (void)begin(PFC_KIND_INTEGRITY);
  for (size_t size = 0; size < app.size; size++) {
    test_case("%zu bytes", size);
    CHECK(!passes_at(size));
  }
}

static void acceptances_are_told_and_done_together(void) {
  static const uint32_t executes[] = {PFC_EXECUTE, 0, PFC_EXECUTE ^ 1};
  static const uint8_t verdicts[] = {PFC_VERDICT_ACCEPTED, PFC_VERDICT_ACCEPTED_DEVICE, PFC_VERDICT_INTEGRITY_DIFFERS};
  for (unsigned e = 0; e < 3; e++) {
    for (unsigned v = 0; v < 3; v++) {
      struct pfc_outcome outcome;
      bool agrees = (e == 0) == (v < 2);
      test_case("execute %08x, told %u", executes[e], verdicts[v]);
      memset(&outcome, 0, sizeof outcome);
      pfc_answer_plain(&outcome, verdicts[v], 0, 7);
      outcome.execute = executes[e];
      pfc_answer_confirm(&outcome, 7);
      CHECK_NUMBER(outcome.verdict, agrees ? verdicts[v] : PFC_VERDICT_FAULT);
      CHECK_NUMBER(outcome.reply[0], agrees ? verdicts[v] : PFC_VERDICT_FAULT);
      CHECK_NUMBER(outcome.execute, agrees ? executes[e] : 0);
    }
  }
}

/// Hardware without this app's token, and the token, opened.
static struct pfc_token present(uint32_t generation) {
  struct pfc_token opened;
  world_make(&world, 42);
  app_make(&app, &world, 43);
  app.token.generation = generation;
  app.token.not_after = WORLD_BEGIN + 1000;
  app_issue(&app, &world);
  CHECK_NUMBER(pfc_token_open(&opened, app.bytes, sizeof app.bytes, &world.hardware), PFC_OK);
  slot_index = 0;
  return opened;
}

static bool token_passes(const struct pfc_token *opened) {
  return pfc_review_token(&world.verifier, slot_index, app.bytes, sizeof app.bytes, opened) == PFC_REVIEW_PASSED;
}

static void tokens_are_opened_again(void) {
  struct pfc_token opened = present(1), other = opened;
  CHECK(token_passes(&opened));
  test_case("another token than the first look's");
  other.secrets.device[31] ^= 1;
  CHECK(!token_passes(&other));
  other = opened;
  other.integrity_classes ^= 1;
  CHECK(!token_passes(&other));
  test_case("no slot");
  slot_index = -1;
  CHECK(!token_passes(&opened));
  slot_index = PFC_SLOTS;
  CHECK(!token_passes(&opened));
  slot_index = 0;
  test_case("of another mode");
  world.hardware.mode = PFC_MODE_DEVELOPMENT;
  CHECK(!token_passes(&opened));
  world.hardware.mode = PFC_MODE_PRODUCTION;
  test_case("signed by no issuer known here");
  world.hardware.issuers[0].public_key[0] ^= 1;
  CHECK(!token_passes(&opened));
  world.hardware.issuers[0].public_key[0] ^= 1;
  test_case("altered");
  app.bytes[PFC_TOKEN_BYTES - 1] ^= 1;
  memset(&other, 0, sizeof other);
  CHECK(!token_passes(&opened));
  CHECK(!token_passes(&other));
  app.bytes[PFC_TOKEN_BYTES - 1] ^= 1;
  CHECK(token_passes(&opened));
}

static void tokens_must_be_of_their_time(void) {
  struct pfc_token opened = present(1);
  world.verifier.ledger.floor = opened.issued;
  world.verifier.epoch = opened.not_after;
  CHECK(token_passes(&opened));
  world.verifier.ledger.floor++;
  CHECK(!token_passes(&opened));
  world.verifier.ledger.floor = 0;
  world.verifier.epoch++;
  CHECK(!token_passes(&opened));
  test_case("beyond the step");
  world.verifier.epoch = opened.issued - PFC_EPOCH_STEP;
  CHECK(token_passes(&opened));
  world.verifier.epoch--;
  CHECK(!token_passes(&opened));
  world.verifier.ledger.floor = opened.issued - PFC_EPOCH_STEP;
  CHECK(token_passes(&opened));
}

static void tokens_must_be_newer_than_what_is_known(void) {
  struct pfc_token opened = present(5);
  struct pfc_slot *slot = &world.verifier.ledger.slots[0];
  slot->state = PFC_SLOT_HELD;
  test_case("the slot of another instance");
  CHECK(!token_passes(&opened));
  memcpy(slot->instance_id, opened.instance_id, PFC_ID_BYTES);
  for (uint8_t state = PFC_SLOT_HELD; state <= PFC_SLOT_REVOKED; state++) {
    slot->state = state;
    test_case("state %u, generation", state);
    slot->generation = 4;
    CHECK(token_passes(&opened));
    slot->generation = 5;
    CHECK(!token_passes(&opened));
    slot->generation = 0;
    test_case("state %u, revoked generation", state);
    slot->revoked = 4;
    CHECK(token_passes(&opened));
    slot->revoked = 5;
    CHECK(!token_passes(&opened));
    slot->revoked = 0;
  }
  test_case("a second slot for the same instance");
  slot_index = 1;
  CHECK(!token_passes(&opened));
}

// Orders and recalls. ---------------------------------------------------------------------------------------------

static void no_time_is_raised_without_the_second_look(void) {
  static const uint32_t reviews[] = {0, 1, ~PFC_REVIEW_PASSED};
  world_make(&world, 46);
  for (unsigned i = 0; i < sizeof reviews / sizeof reviews[0]; i++) {
    int changed = 0;
    CHECK_NUMBER(pfc_verifier_raise(&world.verifier, &reviews[i], WORLD_BEGIN, WORLD_BEGIN, &changed), PFC_E_STORAGE);
    CHECK_NUMBER(changed, 0);
    CHECK_COUNT(world.verifier.ledger.epoch, 0);
    CHECK_COUNT(world.verifier.ledger.floor, 0);
  }
}

static void orders_are_opened_again(void) {
  struct pfc_order order = {.type = PFC_ORDER_FLOOR, .issued = WORLD_BEGIN + 5}, other;
  uint8_t bytes[PFC_ORDER_BYTES];
  world_make(&world, 44);
  memcpy(order.hardware_id, world.hardware.id, PFC_ID_BYTES);
  CHECK_NUMBER(pfc_order_create(bytes, &order, world.issuer.signing_key), PFC_OK);
  CHECK_NUMBER(pfc_order_open(&order, bytes, sizeof bytes, &world.hardware), PFC_OK);
  CHECK_NUMBER(pfc_review_order(&world.verifier, bytes, sizeof bytes, &order), PFC_REVIEW_PASSED);
  test_case("beyond the step");
  world.verifier.epoch = order.issued - PFC_EPOCH_STEP - 1;
  CHECK(pfc_review_order(&world.verifier, bytes, sizeof bytes, &order) != PFC_REVIEW_PASSED);
  world.verifier.epoch++;
  CHECK_NUMBER(pfc_review_order(&world.verifier, bytes, sizeof bytes, &order), PFC_REVIEW_PASSED);
  world.verifier.epoch = 0;
  test_case("another order than the first look's");
  other = order;
  other.issued++;
  CHECK(pfc_review_order(&world.verifier, bytes, sizeof bytes, &other) != PFC_REVIEW_PASSED);
  memset(&other, 0, sizeof other);
  for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
    test_case("bit %zu", bit);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK(pfc_review_order(&world.verifier, bytes, sizeof bytes, &order) != PFC_REVIEW_PASSED);
    // Remains of a refused opening are no order either.
    CHECK(pfc_review_order(&world.verifier, bytes, sizeof bytes, &other) != PFC_REVIEW_PASSED);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
}

static void recalls_are_seen_bit_by_bit(void) {
  struct pfc_slot *slot = begin(PFC_KIND_INTEGRITY);
  uint8_t message[PFC_RECALL_BYTES];
  pfc_recall_create(message, app.token.instance_id, 1, app.nonce, app.token.secrets.device_key);
  CHECK_NUMBER(pfc_review_recall(&world.verifier, slot_index, message), PFC_REVIEW_PASSED);
  for (size_t bit = 0; bit < 8 * sizeof message; bit++) {
    test_case("bit %zu", bit);
    message[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK(pfc_review_recall(&world.verifier, slot_index, message) != PFC_REVIEW_PASSED);
    message[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  test_case("another's slot");
  slot->instance_id[0] ^= 1;
  CHECK(pfc_review_recall(&world.verifier, slot_index, message) != PFC_REVIEW_PASSED);
  slot->instance_id[0] ^= 1;
  test_case("no slot");
  CHECK(pfc_review_recall(&world.verifier, -1, message) != PFC_REVIEW_PASSED);
  CHECK(pfc_review_recall(&world.verifier, PFC_SLOTS, message) != PFC_REVIEW_PASSED);
  slot->state = PFC_SLOT_REVOKED;
  CHECK(pfc_review_recall(&world.verifier, slot_index, message) != PFC_REVIEW_PASSED);
}

/// A fault wipes a tenant in memory (docs/results/firmware.md): until the next start its slot must not be given away.
static void a_tenant_lost_in_memory_keeps_its_place(void) {
  struct app older, other;
  (void)begin(PFC_KIND_INTEGRITY);
  older = app;
  app.token.generation = 2;
  app.token.issued = WORLD_BEGIN + 1;
  app_issue(&app, &world);
  REQUIRE(CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD));
  CHECK_NUMBER(app_present(&older, &world), PFC_VERDICT_SUPERSEDED);
  memset(&world.verifier.ledger.slots[slot_index], 0, sizeof world.verifier.ledger.slots[slot_index]);
  CHECK_NUMBER(app_present(&older, &world), PFC_VERDICT_FAULT);
  app_make(&other, &world, 43);
  app_issue(&other, &world);
  CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_FAULT);
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 2, other.token.instance_id, 1), PFC_VERDICT_FAULT);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(app_present(&older, &world), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_HELD);
}

/// A floor frees memory first: the slot is free even if storage refused the write.
static void a_tenant_below_the_floor_keeps_no_place(void) {
  struct app other;
  (void)begin(PFC_KIND_INTEGRITY);
  // The floor is stored; that it frees the slot is not.
  world.flash.fail_write = world.flash.writes + 1;
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 5, NULL, 0), PFC_VERDICT_FAULT);
  flash_power(&world.flash);
  CHECK_NUMBER(world.verifier.ledger.slots[slot_index].state, PFC_SLOT_FREE);
  app_make(&other, &world, 43);
  other.token.issued = WORLD_BEGIN + 6;
  app_issue(&other, &world);
  CHECK_NUMBER(app_present(&other, &world), PFC_VERDICT_HELD);
}

static const struct test tests[] = {
    TEST("the verdict tells a copy exactly where the command is out of step", steps_are_as_the_verdict_tells),
    TEST("a right command passes the second look, up to the age limit and without a clock", right_commands_pass),
    TEST("the second look sees every bit of the message and every secret", proofs_and_secrets_are_seen_bit_by_bit),
    TEST("secrets that no token brought are not stored", secrets_that_no_token_brought_are_not_stored),
    TEST("the second look sees a challenge that is another, too old, or none", challenges_are_seen),
    TEST("the second look sees what the slot does not permit", slots_are_seen),
    TEST("the second look asks for the classes of the kind that is proved", classes_are_the_kinds_own),
    TEST("no slot and no command pass the second look", no_slot_and_no_command_do_not_pass),
    TEST("the second look opens a token again, and compares", tokens_are_opened_again),
    TEST("no time is raised without the second look", no_time_is_raised_without_the_second_look),
    TEST("the second look knows floor and epoch", tokens_must_be_of_their_time),
    TEST("the second look knows an instance's slot and generations", tokens_must_be_newer_than_what_is_known),
    TEST("the second look opens an order again, and compares", orders_are_opened_again),
    TEST("the second look sees every bit of a recall", recalls_are_seen_bit_by_bit),
    TEST("an acceptance is told and done, or neither", acceptances_are_told_and_done_together),
    TEST("a tenant that is lost in memory keeps its place", a_tenant_lost_in_memory_keeps_its_place),
    TEST("a tenant below the floor keeps no place", a_tenant_below_the_floor_keeps_no_place),
};

const struct suite verifier_review_suite = SUITE("verifier review", tests);
