// SPDX-License-Identifier: Apache-2.0

/// Channels at the verifier: what opens one, what each of its commands must meet, and each of its ends.

#include <string.h>

#include "curve_count.h"
#include "harness.h"
#include "log_chip.h"
#include "world.h"

#include "../../../CSources/ProofCore/verifier_channel.h"
#include "../../../CSources/ProofCore/verifier_review.h"

#if PFC_CHANNEL

enum { UNLOCK = 0, RING = 1, SETTINGS = 2, SECRET = 3 };
enum { INTEGRITY = PFC_KIND_SEALED_INTEGRITY, DEVICE = PFC_KIND_SEALED_DEVICE };

/// An app's end of a channel.
struct end {
  uint8_t chain[32];
  uint64_t next;
  struct pfc_sealed_sent sent;
  uint64_t counter;  ///< The last command's
};

static struct world world;
static struct app owner, other;
static struct end end;
static uint8_t message[PFC_MESSAGE_MAX];
static size_t size;
static uint16_t detail;
static bool is_sealed;
static struct dice dice;
static bool asks_between;  ///< The other app asks on the second link before a sealed command is sent
static const uint8_t nothing[sizeof(struct pfc_channel)];

static int number_of(const struct app *app) {
  return pfc_ledger_find(&world.verifier.ledger, app->token.instance_id);
}

static struct pfc_slot *slot_of(const struct app *app) { return &world.verifier.ledger.slots[number_of(app)]; }

static bool has_channel(const struct pfc_session *link) { return memcmp(&link->channel, nothing, sizeof nothing) != 0; }

static bool accepts(uint8_t verdict) {
  return verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_DEVICE ||
         verdict == PFC_VERDICT_ACCEPTED_COPY || verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY;
}

static void hold(struct app *app, uint64_t seed, uint8_t policy, uint32_t uses) {
  app_make(app, &world, seed);
  app_ratchet(app, policy);
  app->token.uses = uses;
  app->token.device_classes = 1u << UNLOCK;
  app->token.integrity_classes = 1u << UNLOCK | 1u << RING | 1u << SETTINGS;
  app_issue(app, &world);
  REQUIRE(CHECK_NUMBER(app_present(app, &world), PFC_VERDICT_HELD));
}

static void start(void) {
  REQUIRE(CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK));
  REQUIRE(CHECK_NUMBER(pfc_verifier_keep_channels(&world.verifier), PFC_OK));
}

/// A lock that opens channels, and an owner whose token has this policy.
static void begin_with(uint8_t policy, bool clock, uint32_t uses) {
  world_make(&world, 320);
  world_clock(&world, clock);
  dice.state = 321;
  memset(&end, 0, sizeof end);
  start();
  hold(&owner, 322, policy, uses);
}

static void begin(void) { begin_with(PFC_POLICY_CHANNEL, true, PFC_USES_UNLIMITED); }

/// A whole sealed command. The app's end is filled from an answer that opens.
static uint8_t seal(struct app *app, uint8_t kind, uint8_t class_, struct end *of) {
  const uint8_t what = PFC_ASK_SEALED;
  uint8_t lock_key[32], ephemeral[32];
  struct pfc_sealed_sent sent;
  struct pfc_answer answer;
  struct pfc_request request = {.kind = kind, .command_class = class_, .command = (const uint8_t *)"x",
                                .command_size = 1};
  struct pfc_seal_facts facts = {.hardware_id = world.hardware.id, .instance_id = app->token.instance_id,
                                 .token_digest = app->digest, .device_key = app->token.secrets.device_key,
                                 .lock_key = lock_key, .challenge = &request.challenge};
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  (void)world_send(&world, PFC_MESSAGE_ASK, &what, 1);
  if (pfc_sealed_challenge_decode(&request.challenge, lock_key, world.outcome.reply, world.outcome.reply_size) !=
      PFC_OK) {
    return world.outcome.verdict;
  }
  if ((app->token.policy & PFC_POLICY_RATCHET) != 0) request.ratchet = app->ratchet, request.known = app->known;
  memcpy(request.instance_id, app->token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, world.hardware.id, PFC_ID_BYTES);
  dice_fill(&dice, ephemeral, sizeof ephemeral);
  CHECK_NUMBER(pfc_sealed_create(message, sizeof message, &size, &sent, &request, &facts, &app->token.secrets,
                                 ephemeral), PFC_OK);
  app->challenge = request.challenge;
  memset(of, 0, sizeof *of);
  if (asks_between) {
    world.link = &world.links[1];
    CHECK(world_ask(&world, &other.challenge));
    world.link = &world.links[0];
    asks_between = false;
  }
  pfc_verifier_receive(&world.verifier, world.link, PFC_MESSAGE_COMMAND, message, size, &world.outcome);
  if (world.outcome.reply_type != PFC_MESSAGE_SEALED_DOWN) return world.outcome.verdict;
  CHECK_NUMBER(pfc_sealed_down_open(&answer, &of->next, world.outcome.reply, world.outcome.reply_size,
                                    request.challenge.counter, sent.down), PFC_OK);
  memcpy(of->chain, sent.chain, sizeof of->chain);
  memcpy(app->nonce, sent.step, sizeof app->nonce);
  app_follow(app, answer.verdict);
  memcpy(app->nonce, sent.nonce, sizeof app->nonce);
  CHECK_NUMBER(of->next != 0, has_channel(world.link));
  return answer.verdict;
}

static void make_under(struct end *of, uint64_t counter, uint8_t class_, const char *text) {
  CHECK_NUMBER(pfc_channel_up_create(message, sizeof message, &size, &of->sent, of->chain, counter, class_,
                                     (const uint8_t *)text, strlen(text)), PFC_OK);
  of->counter = counter;
}

static void make(struct end *of, uint8_t class_) { make_under(of, of->next, class_, "again"); }

/// Sends what was made. The end moves on if the answer opens.
static uint8_t send(struct end *of) {
  struct pfc_outcome *outcome = &world.outcome;
  struct pfc_answer answer = {0};
  uint64_t next = 0;
  memset(outcome, 0xa5, sizeof *outcome);
  pfc_verifier_receive(&world.verifier, world.link, PFC_MESSAGE_SEALED_UP, message, size, outcome);
  is_sealed = outcome->reply_type == PFC_MESSAGE_SEALED_DOWN;
  if (is_sealed) {
    CHECK_NUMBER(pfc_sealed_down_open(&answer, &next, outcome->reply, outcome->reply_size, of->counter,
                                      of->sent.down), PFC_OK);
    memcpy(of->chain, of->sent.chain, sizeof of->chain);
    of->next = next;
  } else {
    CHECK_NUMBER(outcome->reply_type, PFC_MESSAGE_VERDICT);
    CHECK_NUMBER(pfc_answer_decode(&answer, outcome->reply, outcome->reply_size), PFC_OK);
    CHECK_ZEROS(answer.receipt, sizeof answer.receipt);
    CHECK(!accepts(answer.verdict));
  }
  detail = answer.detail;
  CHECK_NUMBER(answer.verdict, outcome->verdict);
  CHECK_NUMBER(outcome->execute, accepts(answer.verdict) ? PFC_EXECUTE : 0);
  // A channel goes on behind an acceptance alone, and its keys are gone otherwise.
  if (!accepts(answer.verdict)) CHECK(next == 0);
  CHECK_NUMBER(next != 0, has_channel(world.link));
  return answer.verdict;
}

static uint8_t act(struct end *of, uint8_t class_) {
  make(of, class_);
  return send(of);
}

/// The channel is over: its next command is stale, and nothing is computed for it.
static void check_over(void) {
  unsigned before = curve_count;
  make_under(&end, end.next != 0 ? end.next : 99, UNLOCK, "again");
  CHECK_NUMBER(send(&end), PFC_VERDICT_STALE);
  CHECK_NUMBER(detail, PFC_DETAIL_NO_CHANNEL);
  CHECK_NUMBER(curve_count - before, 0);
}

static void begin_open(void) {
  begin();
  REQUIRE(CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED));
  REQUIRE(CHECK(end.next != 0));
}

// Opening --------------------------------------------------------------------------------------------------------

static void commands_are_one_round_trip(void) {
  for (uint8_t kind = INTEGRITY; kind <= DEVICE; kind++) {
    uint8_t accepted = kind == INTEGRITY ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE;
    test_case("kind %u", kind);
    begin();
    REQUIRE(CHECK_NUMBER(seal(&owner, kind, UNLOCK, &end), accepted));
    for (unsigned i = 0; i < PFC_CHANNEL_COMMANDS; i++) {
      unsigned curves = curve_count;
      uint64_t counter = end.next;
      CHECK(counter > world.highest_counter);
      world.highest_counter = counter;
      CHECK_NUMBER(act(&end, UNLOCK), accepted);
      CHECK(is_sealed);
      CHECK_NUMBER(detail, 65535);
      CHECK_NUMBER(curve_count - curves, 0);
      CHECK_NUMBER(world.outcome.kind, kind);
      CHECK_NUMBER(world.outcome.command_class, UNLOCK);
      CHECK_BYTES(world.outcome.command, "again", 5);
      CHECK_NUMBER(world.outcome.command_size, 5);
      CHECK_COUNT(world.outcome.counter, counter);
      CHECK_BYTES(world.outcome.instance_id, owner.token.instance_id, PFC_ID_BYTES);
      CHECK_NUMBER(end.next != 0, i + 1 < PFC_CHANNEL_COMMANDS);
    }
    CHECK(!has_channel(world.link));
  }
}

static void channels_are_shorter_without_a_clock(void) {
  begin_with(PFC_POLICY_CHANNEL, false, PFC_USES_UNLIMITED);
  REQUIRE(CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED));
  for (unsigned i = 0; i < PFC_CHANNEL_COMMANDS_BLIND; i++) {
    CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(end.next != 0, i + 1 < PFC_CHANNEL_COMMANDS_BLIND);
  }
}

static void only_permitted_commands_open_one(void) {
  struct pfc_capabilities told;
  // The token does not permit it.
  begin_with(0, true, PFC_USES_UNLIMITED);
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK_COUNT(end.next, 0);
  begin_with(PFC_POLICY_SEALED, true, PFC_USES_UNLIMITED);
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK_COUNT(end.next, 0);
  // A command that is refused, and one in the clear.
  begin();
  CHECK_NUMBER(seal(&owner, DEVICE, SETTINGS, &end), PFC_VERDICT_NOT_PERMITTED);
  CHECK_COUNT(end.next, 0);
  CHECK_NUMBER(app_do(&owner, &world, PFC_KIND_INTEGRITY, UNLOCK, "open"), PFC_VERDICT_ACCEPTED);
  CHECK(!has_channel(world.link));
  // Hardware that opens none takes the token, and answers SEALED-UP as a message that it does not know.
  pfc_verifier_capabilities(&world.verifier, &told);
  CHECK_NUMBER(told.features & PFC_FEATURE_CHANNEL, PFC_FEATURE_CHANNEL);
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(pfc_verifier_prepare(&world.verifier), PFC_OK);
  pfc_verifier_capabilities(&world.verifier, &told);
  CHECK_NUMBER(told.features & PFC_FEATURE_CHANNEL, 0);
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK_COUNT(end.next, 0);
  make_under(&end, 9, UNLOCK, "x");
  CHECK_NUMBER(send(&end), PFC_VERDICT_MALFORMED);
  CHECK_NUMBER(pfc_verifier_keep_channels(&world.verifier), PFC_OK);
  CHECK_NUMBER(slot_of(&owner)->policy, PFC_POLICY_CHANNEL);
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK(end.next != 0);
  // No keys, no channels, whatever the firmware says.
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  CHECK_NUMBER(pfc_verifier_keep_channels(&world.verifier), PFC_OK);
  pfc_verifier_capabilities(&world.verifier, &told);
  CHECK_NUMBER(told.features & PFC_FEATURE_CHANNEL, 0);
  world.verifier.ready = 0;
  CHECK_NUMBER(pfc_verifier_keep_channels(&world.verifier), PFC_E_ARGUMENT);
}

static void copies_open_none(void) {
  struct app copy;
  begin_with(PFC_POLICY_CHANNEL | PFC_RATCHET_REPORT, true, PFC_USES_UNLIMITED);
  copy = owner;
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK(end.next != 0);
  CHECK_NUMBER(seal(&copy, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED_COPY);
  CHECK_COUNT(end.next, 0);
  CHECK_NUMBER(seal(&owner, DEVICE, UNLOCK, &end), PFC_VERDICT_ACCEPTED_DEVICE_COPY);
  CHECK_COUNT(end.next, 0);
}

static void ratchets_stay(void) {
  for (uint8_t policy = PFC_RATCHET_REPORT; policy <= PFC_RATCHET_REFUSE; policy++) {
    test_case("policy %u", policy);
    begin_with(PFC_POLICY_CHANNEL | policy, true, PFC_USES_UNLIMITED);
    REQUIRE(CHECK_NUMBER(seal(&owner, INTEGRITY, SETTINGS, &end), PFC_VERDICT_ACCEPTED));
    for (unsigned i = 0; i < 3; i++) {
      CHECK_NUMBER(act(&end, SETTINGS), PFC_VERDICT_ACCEPTED);
      CHECK_BYTES(slot_of(&owner)->ratchet, owner.ratchet, PFC_RATCHET_BYTES);
      CHECK_NUMBER(slot_of(&owner)->sum, pfc_slot_sum(slot_of(&owner)));
    }
    CHECK_NUMBER(slot_of(&owner)->copies, 0);
    // The detail is the class's, not that of a missing tag.
    CHECK_NUMBER(act(&end, SECRET), PFC_VERDICT_NOT_PERMITTED);
    CHECK_NUMBER(detail, PFC_DETAIL_CLASS_NOT_PERMITTED);
    CHECK_NUMBER(seal(&owner, INTEGRITY, SETTINGS, &end), PFC_VERDICT_ACCEPTED);
  }
}

static void candidates_open_theirs(void) {
  struct app updated;
  begin();
  updated = owner;
  app_update(&updated);
  updated.token.policy = PFC_POLICY_UPCOMING | PFC_POLICY_CHANNEL;
  app_issue(&updated, &world);
  CHECK_NUMBER(app_present(&updated, &world), PFC_VERDICT_READY);
  CHECK_NUMBER(seal(&updated, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(slot_of(&owner)->generation, updated.token.generation);
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
}

// Judgement of each command --------------------------------------------------------------------------------------

static void classes_are_those_of_the_kind(void) {
  begin_open();
  CHECK_NUMBER(act(&end, RING), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&end, SECRET), PFC_VERDICT_NOT_PERMITTED);
  CHECK(is_sealed);
  CHECK_NUMBER(detail, PFC_DETAIL_CLASS_NOT_PERMITTED);
  CHECK(!has_channel(world.link));
  begin();
  CHECK_NUMBER(seal(&owner, DEVICE, UNLOCK, &end), PFC_VERDICT_ACCEPTED_DEVICE);
  CHECK_NUMBER(act(&end, RING), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(detail, PFC_DETAIL_INTEGRITY_DEMANDED);
}

static void uses_attempts_and_ends_are_looked_at_each_time(void) {
  begin_with(PFC_POLICY_CHANNEL, true, 3);
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(detail, 1);
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(detail, 0);
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_NO_USES);
  CHECK(is_sealed);
  begin_open();
  slot_of(&owner)->attempts = 0;
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_NO_ATTEMPTS);
  begin_open();
  slot_of(&owner)->not_after = 1;
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_EXPIRED);
  // Secrets that a fault overwrote: the second look finds it, and the answer is in the clear.
  begin_open();
  slot_of(&owner)->sum ^= 1;
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_FAULT);
  CHECK(!is_sealed);
}

static void counters_are_strict(void) {
  for (int step = -2; step <= 2; step++) {
    begin_open();
    if (step == 0) continue;
    test_case("step %d", step);
    make_under(&end, end.next + (uint64_t)(int64_t)step, UNLOCK, "x");
    CHECK_NUMBER(send(&end), PFC_VERDICT_STALE);
    CHECK_NUMBER(detail, PFC_DETAIL_NO_CHANNEL);
    check_over();
  }
  // The same message again is a wrong counter, and ends the channel.
  begin_open();
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(send(&end), PFC_VERDICT_STALE);
  check_over();
}

static void altered_messages_end_the_channel(void) {
  begin_open();
  make(&end, UNLOCK);
  for (size_t i = 0; i < size; i++) {
    begin_open();
    make(&end, UNLOCK);
    message[i] ^= 1;
    test_case("byte %zu", i);
    CHECK_NUMBER(send(&end), i < 8 ? PFC_VERDICT_STALE : PFC_VERDICT_DEVICE_DIFFERS);
    CHECK_NUMBER(world.link->refusals, i < 8 ? 0 : 1);
    CHECK_ZEROS(world.verifier.opened, sizeof world.verifier.opened);
    check_over();
  }
  // Refusals of the link stop a channel, too.
  begin_open();
  world.link->refusals = PFC_SESSION_REFUSALS_MAX;
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_BUSY);
  CHECK_NUMBER(detail, PFC_SESSION_WAIT_SECONDS);
  CHECK(!has_channel(world.link));
}

static void strangers_cost_nothing(void) {
  unsigned before;
  begin();
  before = curve_count;
  for (unsigned i = 0; i < 64; i++) {
    dice_fill(&dice, message, 32);
    size = 25 + i;
    CHECK_NUMBER(send(&end), PFC_VERDICT_STALE);
    CHECK_NUMBER(detail, PFC_DETAIL_NO_CHANNEL);
  }
  CHECK_NUMBER(curve_count - before, 0);
  CHECK_NUMBER(world.link->refusals, 0);
  // A counter of 0 finds no channel in one that is not there.
  memset(message, 0, 8);
  CHECK_NUMBER(send(&end), PFC_VERDICT_STALE);
}

// Ends -----------------------------------------------------------------------------------------------------------

static void time_ends_it(void) {
  for (unsigned limit = 0; limit < 3; limit++) {
    static const uint16_t limits[] = {30, 5, 0};
    uint32_t seconds = limits[limit] == 5 ? 5 : 30;
    test_case("limit %u", limits[limit]);
    begin();
    world.hardware.challenge_seconds = limits[limit];
    world.seconds = UINT32_MAX - 3;
    CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
    world.seconds += seconds;
    CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
    world.seconds++;
    check_over();
  }
}

static void any_other_message_ends_it(void) {
  static const uint8_t types[] = {PFC_MESSAGE_ASK, PFC_MESSAGE_CHALLENGE, PFC_MESSAGE_TOKEN, PFC_MESSAGE_COMMAND,
                                  PFC_MESSAGE_ORDER, PFC_MESSAGE_RECALL, PFC_MESSAGE_STATUS, PFC_MESSAGE_SEALED_DOWN,
                                  PFC_MESSAGE_LOG_ASK, PFC_MESSAGE_GRANT, 0, 14, 255};
  for (size_t i = 0; i < sizeof types; i++) {
    uint8_t bytes[1] = {PFC_ASK_STATUS};
    test_case("type %u", types[i]);
    begin_open();
    pfc_verifier_receive(&world.verifier, world.link, types[i], bytes, 1, &world.outcome);
    CHECK(!has_channel(world.link));
    check_over();
  }
  // A SEALED-UP of no length that there is.
  begin_open();
  pfc_verifier_receive(&world.verifier, world.link, PFC_MESSAGE_SEALED_UP, message, 24, &world.outcome);
  CHECK(!has_channel(world.link));
  check_over();
}

static void links_end_it(void) {
  begin_open();
  // Another link has no channel, and the first one keeps its own.
  make(&end, UNLOCK);
  world.link = &world.links[1];
  CHECK_NUMBER(send(&end), PFC_VERDICT_STALE);
  world.link = &world.links[0];
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  pfc_session_close(world.link);
  CHECK(!has_channel(world.link));
  pfc_session_init(world.link);
  check_over();
  begin_open();
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  start();
  check_over();
}

static void other_commands_of_the_instance_end_it(void) {
  struct end second;
  begin_open();
  // Commands on another link, in the clear and sealed.
  world.link = &world.links[1];
  CHECK_NUMBER(app_do(&owner, &world, PFC_KIND_DEVICE, UNLOCK, "x"), PFC_VERDICT_ACCEPTED_DEVICE);
  world.link = &world.links[0];
  check_over();
  begin_open();
  world.link = &world.links[1];
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &second), PFC_VERDICT_ACCEPTED);
  CHECK(second.next != 0);
  world.link = &world.links[0];
  check_over();
  world.link = &world.links[1];
  CHECK_NUMBER(act(&second, UNLOCK), PFC_VERDICT_ACCEPTED);
  // A challenge from before the channel is dead, also one that is newer than the channel's first command.
  begin();
  asks_between = true;
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK_COUNT(end.next, other.challenge.counter + 1);
  world.link = &world.links[1];
  owner.challenge = other.challenge;
  app_command(&owner, &world, PFC_KIND_DEVICE, UNLOCK, "x");
  CHECK_NUMBER(app_send(&owner, &world), PFC_VERDICT_STALE);
  CHECK_NUMBER(world.answer.detail, PFC_DETAIL_CHALLENGE_ENDED);
  world.link = &world.links[0];
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  // Those of other instances do not touch it.
  hold(&other, 330, PFC_POLICY_CHANNEL, PFC_USES_UNLIMITED);
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  world.link = &world.links[1];
  CHECK_NUMBER(seal(&other, INTEGRITY, UNLOCK, &second), PFC_VERDICT_ACCEPTED);
  world.link = &world.links[0];
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  world.link = &world.links[1];
  CHECK_NUMBER(act(&second, UNLOCK), PFC_VERDICT_ACCEPTED);
  // The keys of one do not open the other.
  make_under(&end, second.next, UNLOCK, "x");
  CHECK_NUMBER(send(&end), PFC_VERDICT_DEVICE_DIFFERS);
}

static void recalls_tell_of_it_and_end_it(void) {
  struct end lost;
  begin_open();
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  // The answer to this one is lost.
  make(&end, UNLOCK);
  lost = end;
  CHECK_NUMBER(send(&end), PFC_VERDICT_ACCEPTED);
  memcpy(owner.nonce, lost.sent.nonce, sizeof owner.nonce);
  owner.challenge.counter = lost.counter;
  world.link = &world.links[1];
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_ACCEPTED);
  world.link = &world.links[0];
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  // This one never came: a recall denies it, for ever.
  make(&end, UNLOCK);
  memcpy(owner.nonce, end.sent.nonce, sizeof owner.nonce);
  owner.challenge.counter = end.counter;
  world.link = &world.links[1];
  CHECK_NUMBER(app_recall(&owner, &world), PFC_VERDICT_NOT_EXECUTED);
  world.link = &world.links[0];
  CHECK_NUMBER(send(&end), PFC_VERDICT_STALE);
  CHECK(!has_channel(world.link));
}

static void revocations_floors_and_tokens_end_it(void) {
  struct app newer;
  begin_open();
  world.link = &world.links[1];
  CHECK_NUMBER(world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, owner.token.instance_id, 9), PFC_VERDICT_DONE);
  world.link = &world.links[0];
  check_over();
  begin_open();
  world.link = &world.links[1];
  CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 1, NULL, 0), PFC_VERDICT_DONE);
  world.link = &world.links[0];
  check_over();
  begin_open();
  newer = owner;
  app_renew(&newer);
  newer.token.policy = PFC_POLICY_CHANNEL;
  newer.token.generation++;
  app_issue(&newer, &world);
  world.link = &world.links[1];
  CHECK_NUMBER(app_present(&newer, &world), PFC_VERDICT_HELD);
  world.link = &world.links[0];
  check_over();
}

static void storage_that_fails_ends_it(void) {
  begin_with(PFC_POLICY_CHANNEL, true, 9);
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  make(&end, UNLOCK);
  world.flash.cut_write = world.flash.writes;
  world.flash.cut_offset = 0;
  CHECK_NUMBER(send(&end), PFC_VERDICT_FAULT);
  CHECK(!is_sealed);
  CHECK_NUMBER(slot_of(&owner)->uses, 8);
  // No counter is left that is reserved, and none can be: the command stands, and the channel is over.
  begin_open();
  world.verifier.ledger.counter = world.verifier.ledger.counter_end;
  world.flash.cut_write = world.flash.writes;
  world.flash.cut_offset = 0;
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_COUNT(end.next, 0);
  CHECK(!has_channel(world.link));
}

static void cuts_leave_old_or_new(void) {
  unsigned accepted = 0;
  for (size_t offset = 0; offset <= PFC_RECORD_BYTES_MAX; offset++) {
    uint8_t verdict;
    begin_with(PFC_POLICY_CHANNEL | PFC_RATCHET_REPORT, true, 9);
    test_case("cut at byte %zu", offset);
    CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
    make(&end, UNLOCK);
    world.flash.cut_write = world.flash.writes;
    world.flash.cut_offset = offset;
    world.flash.cut_rest = (enum flash_rest)(offset % 3);
    CHECK_NUMBER(send(&end), PFC_VERDICT_FAULT);
    CHECK_NUMBER(world_restart(&world), PFC_OK);
    start();
    memcpy(owner.nonce, end.sent.nonce, sizeof owner.nonce);
    owner.challenge.counter = end.counter;
    verdict = app_recall(&owner, &world);
    if (verdict != PFC_VERDICT_NOT_EXECUTED) {
      CHECK_NUMBER(verdict, PFC_VERDICT_ACCEPTED);
      accepted++;
    }
    CHECK_NUMBER(slot_of(&owner)->uses, verdict == PFC_VERDICT_ACCEPTED ? 7 : 8);
    CHECK_NUMBER(send(&end), PFC_VERDICT_STALE);
    CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
    CHECK_NUMBER(slot_of(&owner)->copies, 0);
  }
  test_note("%zu cuts, %u left the command accepted", (size_t)PFC_RECORD_BYTES_MAX + 1, accepted);
}

static void the_log_has_its_commands(void) {
  static struct chip chip;
  static struct pfc_log_ring ring;
  uint8_t first_key[32] = {7};
  uint64_t before;
  begin();
  chip_make(&chip, 1024, 5, 0);
  CHECK_NUMBER(pfc_log_ring_format(&chip.port, &world.hardware, 0, first_key), PFC_OK);
  CHECK_NUMBER(pfc_verifier_keep_log(&world.verifier, &ring, &chip.port), PFC_OK);
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  before = ring.log.next;
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_COUNT(ring.log.next, before + 1);
  CHECK_NUMBER(act(&end, SECRET), PFC_VERDICT_NOT_PERMITTED);
  CHECK_COUNT(ring.log.next, before + 2);
  check_over();
  CHECK_COUNT(ring.log.next, before + 2);
}

// The second look ------------------------------------------------------------------------------------------------

static struct pfc_seal taken;
static struct pfc_channel channel;

static bool passes(uint8_t verdict) {
  return pfc_review_channel(&world.verifier, channel.slot, message, size, verdict, &taken) == PFC_REVIEW_PASSED;
}

/// A command that stands before its second look.
static void meet(void) {
  begin_open();
  make(&end, RING);
  channel = world.link->channel;
  pfc_channel_end(world.link);
  memset(&taken, 0, sizeof taken);
  taken.plain = world.verifier.opened;
  taken.channel = &channel;
}

static void the_second_look_sees_for_itself(void) {
  enum { CASES = 30 };
  meet();
  CHECK(passes(PFC_VERDICT_ACCEPTED));
  CHECK(!passes(PFC_VERDICT_ACCEPTED_DEVICE));
  CHECK(!passes(PFC_VERDICT_ACCEPTED_COPY));
  for (unsigned i = 0; i < CASES; i++) {
    struct pfc_slot *slot;
    uint8_t verdict = PFC_VERDICT_ACCEPTED;
    meet();
    slot = slot_of(&owner);
    test_case("%u", i);
    switch (i) {
      case 0: taken.channel = NULL; break;
      case 1: channel.next++; break;
      case 2: channel.before = channel.next; slot->last.counter = channel.next; break;
      case 3: channel.left = 0; break;
      case 4: channel.left = PFC_CHANNEL_COMMANDS + 1; break;
      case 5: world.hardware.challenge_seconds = 0; world.seconds += PFC_CHANNEL_SECONDS + 1; break;
      case 6: world.hardware.challenge_seconds = 5; world.seconds += 6; break;
      case 7: slot->state = PFC_SLOT_REVOKED; break;
      case 8: slot->state = PFC_SLOT_FREE; break;
      case 9: slot->token_digest[3] ^= 1; break;
      case 10: channel.token_digest[15] ^= 1; break;
      case 11: world.verifier.alive_from[channel.slot] = channel.next + 1; break;
      case 12: slot->secrets.device[5] ^= 1; break;
      case 13: channel.sum ^= 4; break;
      case 14: channel.chain[0] ^= 1; break;
      case 15: channel.before--; break;
      case 16: slot->last.counter++; break;
      case 17: slot->last.verdict = PFC_VERDICT_ACCEPTED_COPY; break;
      case 18: slot->last.verdict = PFC_VERDICT_NONE; break;
      case 19: slot->attempts = 0; break;
      case 20: slot->uses = 0; break;
      case 21: slot->not_after = 1; world.verifier.epoch = 2; break;
      case 22: slot->policy = 0; break;
      case 23: slot->policy = PFC_POLICY_SEALED; break;
      case 24: world.verifier.channels = 0; break;
      case 25: channel.kind = DEVICE; verdict = PFC_VERDICT_ACCEPTED_DEVICE; break;
      case 26: channel.kind = PFC_KIND_INTEGRITY; break;
      case 27: slot->integrity_classes = 1u << UNLOCK; break;
      case 28: message[size - 1] ^= 1; break;
      default: message[0] ^= 1; break;
    }
    CHECK(!passes(verdict));
  }
  meet();
  CHECK(pfc_review_channel(&world.verifier, channel.slot + 1, message, size, PFC_VERDICT_ACCEPTED, &taken) !=
        PFC_REVIEW_PASSED);
  CHECK(pfc_review_channel(&world.verifier, -1, message, size, PFC_VERDICT_ACCEPTED, &taken) != PFC_REVIEW_PASSED);
  CHECK(pfc_review_channel(&world.verifier, PFC_SLOTS, message, size, PFC_VERDICT_ACCEPTED, &taken) !=
        PFC_REVIEW_PASSED);
  // A channel without a key, whose sum is right.
  meet();
  memset(channel.chain, 0, sizeof channel.chain);
  channel.sum = 0;
  memset(end.chain, 0, sizeof end.chain);
  make(&end, RING);
  CHECK(!passes(PFC_VERDICT_ACCEPTED));
}

static void the_first_look_sees_for_itself(void) {
  enum { CASES = 9 };
  for (unsigned i = 0; i < CASES; i++) {
    struct pfc_channel *waiting = &world.link->channel;
    struct pfc_slot *slot;
    begin_open();
    waiting = &world.link->channel;
    slot = slot_of(&owner);
    test_case("%u", i);
    switch (i) {
      case 0: waiting->left = 0; break;
      case 1: waiting->before++; break;
      case 2: slot->last.counter--; break;
      case 3: slot->policy = 0; break;
      case 4: slot->state = PFC_SLOT_REVOKED; break;
      case 5: slot->token_digest[0] ^= 1; break;
      case 6: world.verifier.alive_from[number_of(&owner)]++; break;
      case 7: waiting->opened -= PFC_CHANNEL_SECONDS + 1; break;
      default: waiting->next++; break;
    }
    check_over();
  }
}

#if PFC_GRANTS
/// A loan is charged for each command of a channel, and its end ends them.
static void loans_are_charged_for_each_command(void) {
  struct pfc_grant_row *row;
  int lender;
  begin();
  hold(&other, 331, PFC_POLICY_CHANNEL, 9);
  REQUIRE(CHECK_NUMBER(pfc_verifier_take_grants(&world.verifier), PFC_OK));
  lender = number_of(&other);
  row = &world.verifier.grants.rows[number_of(&owner)];
  memset(row, 0, sizeof *row);
  row->owner = (uint8_t)(lender + 1);
  row->classes = 1u << SECRET;
  row->uses = 2;
  row->end = WORLD_BEGIN + 1000;
  memcpy(row->owner_id, other.token.instance_id, sizeof row->owner_id);
  memcpy(row->member_id, owner.token.instance_id, sizeof row->member_id);
  slot_of(&other)->delegable_classes = 1u << SECRET;
  slot_of(&other)->integrity_classes |= 1u << SECRET;
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&end, SECRET), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(row->uses, 1);
  CHECK_NUMBER(slot_of(&other)->uses, 8);
  CHECK_NUMBER(act(&end, UNLOCK), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(row->uses, 1);
  CHECK_NUMBER(act(&end, SECRET), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(act(&end, SECRET), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(detail, PFC_DETAIL_GRANT_SPENT);
  // A device match has nothing lent.
  row->uses = 2;
  CHECK_NUMBER(seal(&owner, DEVICE, UNLOCK, &end), PFC_VERDICT_ACCEPTED_DEVICE);
  CHECK_NUMBER(act(&end, SECRET), PFC_VERDICT_NOT_PERMITTED);
  // The owner is gone in between: both looks see it.
  CHECK_NUMBER(seal(&owner, INTEGRITY, UNLOCK, &end), PFC_VERDICT_ACCEPTED);
  slot_of(&other)->attempts = 0;
  make(&end, SECRET);
  channel = world.link->channel;
  memset(&taken, 0, sizeof taken);
  taken.plain = world.verifier.opened;
  taken.channel = &channel;
  CHECK(!passes(PFC_VERDICT_ACCEPTED));
  CHECK_NUMBER(send(&end), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(detail, PFC_DETAIL_OWNER_CANNOT);
}
#endif

static const struct test tests[] = {
    TEST("a further command is one message each way, without X25519, up to 16", commands_are_one_round_trip),
    TEST("a channel has 4 commands where there is no clock", channels_are_shorter_without_a_clock),
    TEST("only an accepted sealed command of a token that permits it opens a channel",
         only_permitted_commands_open_one),
    TEST("a command that tells a copy opens none", copies_open_none),
    TEST("a channel's commands leave the ratchet", ratchets_stay),
    TEST("a candidate that is committed opens a channel", candidates_open_theirs),
    TEST("the classes are those of the kind that opened it", classes_are_those_of_the_kind),
    TEST("uses, attempts, end and secrets are looked at for each command",
         uses_attempts_and_ends_are_looked_at_each_time),
    TEST("any other counter, a repeat among them, ends the channel", counters_are_strict),
    TEST("a message with any byte altered ends the channel", altered_messages_end_the_channel),
    TEST("a stranger's message finds no channel and costs nothing", strangers_cost_nothing),
    TEST("a channel ends after 30 seconds, or the hardware's shorter limit", time_ends_it),
    TEST("any other message on the link ends the channel", any_other_message_ends_it),
    TEST("a channel is its link's, and ends with it and with the power", links_end_it),
    TEST("another command of the instance ends it, and an older challenge is dead",
         other_commands_of_the_instance_end_it),
    TEST("a recall tells of a channel's command, and denies one for ever", recalls_tell_of_it_and_end_it),
    TEST("a revocation, a floor and another token end it", revocations_floors_and_tokens_end_it),
    TEST("storage that fails ends it", storage_that_fails_ends_it),
    TEST("a power cut at any byte leaves the slot before or after, and the recall tells which", cuts_leave_old_or_new),
    TEST("the log has its commands and refusals", the_log_has_its_commands),
    TEST("the first look sees each condition for itself", the_first_look_sees_for_itself),
    TEST("the second look sees each condition for itself", the_second_look_sees_for_itself),
#if PFC_GRANTS
    TEST("a loan is charged for each command, and judged for each", loans_are_charged_for_each_command),
#endif
};

const struct suite verifier_channel_suite = SUITE("verifier channel", tests);

#endif
