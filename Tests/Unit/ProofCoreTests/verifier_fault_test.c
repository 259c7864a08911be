// SPDX-License-Identifier: Apache-2.0

/// When randomness or storage fails: nothing is done, nothing is given away, and the hardware recovers.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct world world;
static struct app app;

static void begin(uint64_t seed) {
  world_make(&world, seed);
  app_make(&app, &world, seed + 10000);
  app.token.uses = 10;
  app_issue(&app, &world);
  CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
}

static uint8_t act(void) { return app_do(&app, &world, PFC_KIND_INTEGRITY, 1, "go"); }

static void no_challenge_without_randomness(void) {
  struct pfc_challenge challenge;
  begin(1);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  for (unsigned i = 0; i < 2; i++) {
    test_case("%s", i == 0 ? "failing" : "repeating");
    world.random = i == 0 ? RANDOM_FAILS : RANDOM_REPEATS;
    for (unsigned again = 0; again < 3; again++) {
      CHECK(!world_ask(&world, &challenge));
      CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_FAULT);
    }
  }
  world.random = RANDOM_GOOD;
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

static void zeros_are_no_randomness(void) {
  struct pfc_challenge challenge;
  begin(2);
  memset(world.last_random, 0, sizeof world.last_random);
  world.random = RANDOM_REPEATS;
  CHECK(!world_ask(&world, &challenge));
  CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_FAULT);
  // Also after a good challenge, from which zeros differ.
  world.random = RANDOM_GOOD;
  REQUIRE(CHECK(world_ask(&world, &challenge)));
  memset(world.last_random, 0, sizeof world.last_random);
  world.random = RANDOM_REPEATS;
  CHECK(!world_ask(&world, &challenge));
  CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_FAULT);
}

static void fault_leaves_no_live_challenge(void) {
  struct pfc_challenge challenge;
  begin(3);
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  CHECK_NUMBER(world.link->live, 1);
  world.random = RANDOM_FAILS;
  CHECK(!world_ask(&world, &challenge));
  CHECK_NUMBER(world.link->live, 0);
  CHECK_ZEROS(world.link->challenge.bytes, sizeof world.link->challenge.bytes);
  world.random = RANDOM_GOOD;
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  app_command(&app, &world, PFC_KIND_INTEGRITY, 1, "go");
  world.random = RANDOM_FAILS;
  CHECK(!world_ask(&world, &challenge));
  CHECK_NUMBER(app_send(&app, &world), PFC_VERDICT_STALE);
}

static void counters_go_on_over_blocks(void) {
  struct pfc_challenge challenge;
  begin(4);
  unsigned blocks = 0;
  for (unsigned i = 0; i < PFC_COUNTER_BLOCK + 10; i++) {
    long writes = world.flash.writes;
    REQUIRE(CHECK(world_ask(&world, &challenge)));
    CHECK_COUNT(challenge.counter, 1 + i);
    blocks += (unsigned)(world.flash.writes - writes);
  }
  CHECK_NUMBER(blocks, 1);
  test_case("a restart skips what may have been used");
  uint64_t last = challenge.counter;
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  REQUIRE(CHECK(world_ask(&world, &challenge)));
  CHECK(challenge.counter > last);
}

static void counters_are_reserved_before_use(void) {
  struct pfc_challenge challenge;
  begin(5);
  while (world.verifier.ledger.counter != world.verifier.ledger.counter_end) {
    REQUIRE(CHECK(world_ask(&world, &challenge)));
  }
  world.flash.fail_all_writes = true;
  for (unsigned i = 0; i < 3; i++) {
    CHECK(!world_ask(&world, &challenge));
    CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_FAULT);
  }
  flash_power(&world.flash);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

static void counters_never_wrap(void) {
  static const uint64_t starts[] = {UINT64_MAX,         UINT64_MAX - 1,     UINT64_MAX - 65535,
                                    UINT64_MAX - 65536, UINT64_MAX - 65537, UINT64_MAX - 200000};
  for (unsigned i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    test_case("%u", i + 1);
    begin(6);
    world.highest_counter = 0;
    if (pfc_verifier_provision(&world.hardware, &world.platform, 0, 0, starts[i]) != PFC_OK) continue;
    for (unsigned restart = 0; restart < 5; restart++) {
      struct pfc_challenge challenge;
      if (world_restart(&world) != PFC_OK) break;
      // `world_ask` checks that each is higher than all before.
      for (unsigned ask = 0; ask < 3 && world_ask(&world, &challenge); ask++) CHECK(challenge.counter >= starts[i]);
    }
  }
}

/// Something that writes, and what it answers when all is well.
static uint8_t run_step(unsigned step) {
  switch (step) {
    case 0: return act();
    case 1: {
      struct app changed = app;
      changed.token.secrets.integrity[0] ^= 1;
      return app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go");
    }
    case 2: {
      struct app renewed = app;
      renewed.token.generation = 2;
      renewed.token.issued = WORLD_BEGIN + 1;
      app_issue(&renewed, &world);
      return app_present(&renewed, &world);
    }
    case 3: {
      struct app other;
      app_make(&other, &world, 10001);
      app_issue(&other, &world);
      return app_present(&other, &world);
    }
    case 4: return world_order(&world, PFC_ORDER_EPOCH, WORLD_BEGIN + 3, NULL, 0);
    case 5: return world_order(&world, PFC_ORDER_REVOKE, WORLD_BEGIN + 4, app.token.instance_id, 1);
    default: return world_order(&world, PFC_ORDER_FLOOR, WORLD_BEGIN + 5, NULL, 0);
  }
}

static const uint8_t step_verdicts[] = {PFC_VERDICT_ACCEPTED, PFC_VERDICT_INTEGRITY_DIFFERS,
                                        PFC_VERDICT_HELD,     PFC_VERDICT_HELD,
                                        PFC_VERDICT_DONE,     PFC_VERDICT_DONE,
                                        PFC_VERDICT_DONE};

static void each_failing_write_is_a_fault(void) {
  for (unsigned step = 0; step < sizeof step_verdicts; step++) {
    for (long write = 0;; write++) {
      test_case("step %u, write %ld", step, write);
      begin(7);
      long before = world.flash.writes;
      world.flash.fail_write = before + write;
      uint8_t verdict = run_step(step);
      if (world.flash.writes <= before + write) {
        // The write that was to fail did not happen: all writes of this step have been tried.
        CHECK_NUMBER(verdict, step_verdicts[step]);
        CHECK(write > 0);
        break;
      }
      CHECK_NUMBER(verdict, PFC_VERDICT_FAULT);
      CHECK_NUMBER(world.outcome.execute, 0);
      // Once more, with storage that works: now it is done.
      flash_power(&world.flash);
      pfc_session_init(world.link);
      CHECK_NUMBER(run_step(step), step_verdicts[step]);
      REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    }
  }
}

static void failed_use_is_not_executed_and_not_lost(void) {
  begin(8);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  struct app earlier = app;
  world.flash.fail_all_writes = true;
  CHECK_NUMBER(act(), PFC_VERDICT_FAULT);
  CHECK_NUMBER(world.outcome.execute, 0);
  flash_power(&world.flash);
  // A recall still gives the answers of before.
  CHECK_NUMBER(app_recall(&earlier, &world), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(app_recall(&app, &world), PFC_VERDICT_NOT_EXECUTED);
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(world.answer.detail, 8);
}

static void failing_storage_gives_no_attempts(void) {
  // An attacker who can break storage must not gain guesses by it.
  begin(9);
  struct app changed = app;
  changed.token.secrets.integrity[0] ^= 1;
  world.flash.fail_all_writes = true;
  for (unsigned i = 0; i < 10; i++) {
    uint8_t verdict = app_do(&changed, &world, PFC_KIND_INTEGRITY, 1, "go");
    CHECK(verdict == PFC_VERDICT_FAULT || verdict == PFC_VERDICT_NO_ATTEMPTS);
  }
  CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_NO_ATTEMPTS);
}

static void each_failing_call_of_a_start_is_told(void) {
  begin(10);
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  long reads = world.flash.reads, writes = world.flash.writes;
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  reads = world.flash.reads - reads;
  writes = world.flash.writes - writes;
  for (long read = 0; read < reads; read++) {
    test_case("read %ld of %ld", read, reads);
    flash_power(&world.flash);
    world.flash.fail_read = world.flash.reads + read;
    // The other copy may be intact, but the one that was not read may be newer.
    CHECK_NUMBER(pfc_verifier_init(&world.verifier, &world.hardware, &world.platform), PFC_E_STORAGE);
    (void)run_step(4);
    CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_FAULT);
  }
  for (long write = 0; write < writes; write++) {
    test_case("write %ld of %ld", write, writes);
    flash_power(&world.flash);
    world.flash.fail_write = world.flash.writes + write;
    CHECK_NUMBER(pfc_verifier_init(&world.verifier, &world.hardware, &world.platform), PFC_E_STORAGE);
    (void)run_step(4);
    CHECK_NUMBER(world.outcome.verdict, PFC_VERDICT_FAULT);
  }
  test_case("afterwards");
  REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
  CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
}

static void damaged_records_stop_everything(void) {
  for (unsigned record = 0; record <= PFC_SLOTS; record++) {
    struct pfc_status status;
    uint8_t message[PFC_RECALL_BYTES] = {1};
    test_case("record %u", record);
    begin(12);
    memset(world.flash.areas[record], 0x5a, sizeof world.flash.areas[record]);
    CHECK_NUMBER(world_restart(&world), PFC_E_DAMAGED);
    CHECK_NUMBER(world_send(&world, PFC_MESSAGE_ASK, message, 1), PFC_VERDICT_FAULT);
    CHECK_NUMBER(world_send(&world, PFC_MESSAGE_TOKEN, app.bytes, sizeof app.bytes), PFC_VERDICT_FAULT);
    CHECK_NUMBER(world_send(&world, PFC_MESSAGE_RECALL, message, sizeof message), PFC_VERDICT_FAULT);
    CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, 5, NULL, 0), PFC_VERDICT_FAULT);
    CHECK_COUNT(pfc_verifier_epoch(&world.verifier), 0);
    pfc_verifier_status(&world.verifier, &status);
    CHECK_NUMBER(status.slots_used, 0);
    test_case("record %u, provisioned again with a floor", record);
    REQUIRE(CHECK_NUMBER(pfc_verifier_provision(&world.hardware, &world.platform, 0, WORLD_BEGIN + 100, 1000000),
                         PFC_OK));
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_SUPERSEDED);
    app.token.issued = WORLD_BEGIN + 100;
    app_issue(&app, &world);
    CHECK_NUMBER(app_present(&app, &world), PFC_VERDICT_HELD);
    CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
    CHECK(app.challenge.counter >= 1000000);
  }
}

static void anothers_flash_is_damaged(void) {
  static struct world other;
  begin(13);
  world_make(&other, 14);
  memcpy(world.flash.areas, other.flash.areas, sizeof world.flash.areas);
  CHECK_NUMBER(world_restart(&world), PFC_E_DAMAGED);
}

static void impossible_hardware_does_not_start(void) {
  for (unsigned i = 1; i <= 14; i++) {
    struct pfc_hardware hardware;
    struct pfc_platform platform;
    test_case("%u", i);
    begin(15);
    hardware = world.hardware;
    platform = world.platform;
    switch (i) {
      case 1: hardware.mode = 0; break;
      case 2: hardware.mode = 3; break;
      case 3: hardware.allow_literal = 2; break;
      case 4: hardware.issuer_count = 0; break;
      case 5: hardware.issuer_count = PFC_ISSUERS_MAX + 1; break;
      case 6: hardware.issuer_count = 2; break;  // The second key is zeros.
      case 7: memset(hardware.id, 0, 16); break;
      case 8: memset(hardware.secret_key, 0, 32); break;
      case 9: hardware.public_key[0] ^= 1; break;
      case 10: memset(hardware.public_key, 0, 32); break;
      case 11: platform.random = NULL; break;
      case 12: platform.storage.read = NULL; break;
      case 13: platform.storage.write = NULL; break;
      default: hardware.mode = 255; break;
    }
    CHECK_NUMBER(pfc_verifier_init(&world.verifier, &hardware, &platform), PFC_E_ARGUMENT);
    CHECK_NUMBER(act(), PFC_VERDICT_FAULT);
    CHECK_NUMBER(pfc_verifier_provision(&hardware, &platform, 0, 0, 0), PFC_E_ARGUMENT);
    test_case("%u, and nothing was written over", i);
    REQUIRE(CHECK_NUMBER(world_restart(&world), PFC_OK));
    CHECK_NUMBER(act(), PFC_VERDICT_ACCEPTED);
  }
}

static void wiped_is_wiped(void) {
  const uint8_t what = 1;
  begin(16);
  pfc_verifier_wipe(&world.verifier);
  CHECK_ZEROS(&world.verifier, sizeof world.verifier);
  CHECK_NUMBER(world_send(&world, PFC_MESSAGE_ASK, &what, 1), PFC_VERDICT_FAULT);
  REQUIRE(CHECK(world_restart(&world) == PFC_OK));
  REQUIRE(CHECK(world_ask(&world, &app.challenge)));
  pfc_session_close(world.link);
  CHECK_ZEROS(world.link, sizeof *world.link);
}

static void failed_start_leaves_no_secrets(void) {
  begin(17);
  // The last slot's record is the last to load: all others are in memory by then.
  memset(world.flash.areas[PFC_SLOTS], 0, sizeof world.flash.areas[PFC_SLOTS]);
  memset(&world.verifier, 0xa5, sizeof world.verifier);
  CHECK_NUMBER(world_restart(&world), PFC_E_DAMAGED);
  CHECK_ZEROS(&world.verifier.ledger, sizeof world.verifier.ledger);
}

static const struct test tests[] = {
    TEST("a bad random source gives no challenge", no_challenge_without_randomness),
    TEST("zeros are no randomness", zeros_are_no_randomness),
    TEST("an ask that fails leaves no challenge live", fault_leaves_no_live_challenge),
    TEST("counters go on over blocks, one write each, and skip at a restart", counters_go_on_over_blocks),
    TEST("a counter is reserved before it is used", counters_are_reserved_before_use),
    TEST("counters never wrap", counters_never_wrap),
    TEST("each write that fails is a fault, and what was asked can be done afterwards", each_failing_write_is_a_fault),
    TEST("a use that could not be stored is not executed and not lost", failed_use_is_not_executed_and_not_lost),
    TEST("failing storage gives no attempts", failing_storage_gives_no_attempts),
    TEST("a start goes on only if every call of storage does, and can be repeated",
         each_failing_call_of_a_start_is_told),
    TEST("a record without an intact copy stops everything until provisioning with a floor",
         damaged_records_stop_everything),
    TEST("another piece of hardware's flash is damaged", anothers_flash_is_damaged),
    TEST("hardware and platforms that cannot be right do not start", impossible_hardware_does_not_start),
    TEST("a wiped verifier and a closed link are zeros", wiped_is_wiped),
    TEST("a start that fails leaves no secrets", failed_start_leaves_no_secrets),
};

const struct suite verifier_fault_suite = SUITE("verifier fault", tests);
