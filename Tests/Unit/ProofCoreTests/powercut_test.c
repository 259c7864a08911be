// SPDX-License-Identifier: Apache-2.0

/// Power fails in the middle of every write of a long life, at every byte, and comes back.

#include <string.h>

#include "harness.h"
#include "life.h"

/// The life before each step, and the one that is lived.
static struct life moments[LIFE_STEPS];
static struct life now;

/// The writes of each step when nothing interrupts it.
static struct life_write traces[LIFE_STEPS][LIFE_TRACE_MAX];
static unsigned trace_counts[LIFE_STEPS];
static unsigned tracing;

static int traced_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  if (CHECK(trace_counts[tracing] < LIFE_TRACE_MAX)) {
    struct life_write *write = &traces[tracing][trace_counts[tracing]++];
    write->record = record;
    write->size = size;
    memcpy(write->bytes, bytes, size);
  }
  return flash_write(context, record, copy, bytes, size);
}

/// Lives the whole life once without a cut, and remembers every moment and every write.
static void live_once(void) {
  life_begin(&now, 77);
  for (unsigned step = 0; step < LIFE_STEPS; step++) {
    test_case("without a cut, step %u: %s", step, life_step_name(step));
    tracing = step;
    trace_counts[step] = 0;
    moments[step] = now;
    now.world.platform.storage.write = now.world.verifier.platform.storage.write =
        now.world.verifier.ledger.storage.write = traced_write;
    life_step(&now, step, true);
    now.world.platform.storage.write = now.world.verifier.platform.storage.write =
        now.world.verifier.ledger.storage.write = flash_write;
    // Check the answers after every step as well as after every cut.
    if (step >= 1 && !life_step_provisions(step)) {
      struct life kept = now;
      life_check(&now);
      now = kept;
    }
  }
}

/// Each record of the ledger is what it was before the step, or what one of the step's writes made of it.
static void check_old_or_new(unsigned step) {
  const struct pfc_ledger *found = &now.world.verifier.ledger;
  const struct pfc_storage old_storage = flash_storage(&moments[step].world.flash);
  for (unsigned slot = 0; slot < PFC_SLOTS; slot++) {
    uint8_t before[PFC_SLOT_BYTES], after[PFC_SLOT_BYTES];
    bool known;
    // Compared as stored: what a slot does not store starts anew with every start.
    struct pfc_record record;
    if (!CHECK_NUMBER(
            payload_load(&record, after, sizeof after, &now.world.platform.storage, 1 + slot, found->record_key),
            PFC_OK)) {
      return;
    }
    if (payload_load(&record, before, sizeof before, &old_storage, 1 + slot, found->record_key) != PFC_OK) {
      memset(before, 0, sizeof before);
    }
    known = memcmp(before, after, sizeof after) == 0;
    for (unsigned i = 0; i < trace_counts[step] && !known; i++) {
      known = traces[step][i].record == 1 + slot && memcmp(traces[step][i].bytes + 8, after, sizeof after) == 0;
    }
    // A floor or a new, empty ledger frees a slot also after the cut, at the next start.
    if (!known) {
      static const uint8_t nothing[PFC_SLOT_BYTES];
      known = memcmp(after, nothing, sizeof after) == 0 && found->floor > moments[step].floor;
    }
    CHECK(known);
  }
}

struct cut {
  unsigned step;
  long write;
  size_t offset;
  enum flash_rest rest;
};

static unsigned cuts, refused_starts, lives;

/// Does the step with the power cut, starts again and looks around.
static void cut_once(const struct cut *cut, bool live_on, struct dice *dice) {
  test_case("step %u (%s), write %ld cut at byte %zu, rest %d", cut->step, life_step_name(cut->step), cut->write,
            cut->offset, (int)cut->rest);
  cuts++;
  now = moments[cut->step];
  now.world.flash.cut_write = now.world.flash.writes + cut->write;
  now.world.flash.cut_offset = cut->offset;
  now.world.flash.cut_rest = cut->rest;
  life_step(&now, cut->step, false);
  CHECK(now.world.flash.dark);

  // Sometimes the power fails again during the start.
  int result;
  flash_power(&now.world.flash);
  if (live_on) {
    now.world.flash.cut_write = now.world.flash.writes + (long)dice_below(dice, 2);
    now.world.flash.cut_offset = dice_below(dice, 232);
    now.world.flash.cut_rest = (enum flash_rest)dice_below(dice, 3);
    result = pfc_verifier_init(&now.world.verifier, &now.world.hardware, &now.world.platform);
    CHECK(result == PFC_OK || result == PFC_E_STORAGE || result == PFC_E_DAMAGED);
  }
  result = world_restart(&now.world);
  if (result != PFC_OK) {
    // A half-written new ledger over none: nothing to start from, and it says so.
    CHECK_NUMBER(result, PFC_E_DAMAGED);
    CHECK(life_step_provisions(cut->step) && !now.provisioned);
    refused_starts++;
    life_step(&now, cut->step, true);
    CHECK_NUMBER(world_restart(&now.world), PFC_OK);
  }
  life_check(&now);
  if (cut->step != 0) check_old_or_new(cut->step);
  if (!live_on) return;
  // The step again, as its app or backend would do, and the rest of the life.
  lives++;
  pfc_session_init(now.world.link);
  for (unsigned step = cut->step; step < LIFE_STEPS; step++) {
    if (step == cut->step + 1 || step % 7 == 0) {
      CHECK_NUMBER(world_restart(&now.world), PFC_OK);
      life_check(&now);
    }
    life_step(&now, step, false);
    pfc_session_init(now.world.link);
  }
  CHECK_NUMBER(world_restart(&now.world), PFC_OK);
  life_check(&now);
}

static void every_cut_leaves_old_or_new(void) {
  struct dice dice = {78};
  unsigned writes = 0;
  cuts = refused_starts = lives = 0;
  live_once();
  for (unsigned step = 0; step < LIFE_STEPS; step++) {
    for (unsigned w = 0; w < trace_counts[step]; w++) {
      size_t size = traces[step][w].size;
      writes++;
      for (size_t offset = 0; offset <= size; offset++) {
        // The edges of head, payload and tag always; in the quick run a spread of the rest.
        bool edge = offset <= 1 || offset == 8 || offset == size - 16 || offset >= size - 1;
        if (!options.thorough && !edge && dice_below(&dice, 12) != 0) continue;
        for (unsigned rest = 0; rest < 3; rest++) {
          struct cut cut = {step, (long)w, offset, (enum flash_rest)rest};
          if (!options.thorough && rest != (offset + w) % 3) continue;
          cut_once(&cut, dice_below(&dice, options.thorough ? 25 : 10) == 0, &dice);
        }
      }
    }
  }
  test_note("%u cuts in %u writes of %u steps; %u starts refused until provisioned; %u lives lived on to their end",
            cuts, writes, (unsigned)LIFE_STEPS, refused_starts, lives);
}

static void many_cuts_in_one_life(void) {
  struct dice dice = {79};
  unsigned count = 0;
  for (unsigned round = 0; round < (options.thorough ? 2000u : 40u); round++) {
    life_begin(&now, 500 + round);
    CHECK_NUMBER(pfc_verifier_provision(&now.world.hardware, &now.world.platform, 0, 0, 1), PFC_OK);
    CHECK_NUMBER(world_restart(&now.world), PFC_OK);
    for (unsigned step = 2; step < LIFE_STEPS; step++) {
      test_case("round %u, step %u (%s)", round, step, life_step_name(step));
      if (life_step_provisions(step)) break;
      if (step == 19) continue;  // Draining a block of counters is the other test's.
      now.world.flash.cut_write = now.world.flash.writes + (long)dice_below(&dice, 3);
      now.world.flash.cut_offset = dice_below(&dice, 232);
      now.world.flash.cut_rest = (enum flash_rest)dice_below(&dice, 3);
      life_step(&now, step, false);
      count += now.world.flash.dark;
      REQUIRE(CHECK_NUMBER(world_restart(&now.world), PFC_OK));
      life_check(&now);
      // Presenting the token may have been cut off: once more.
      pfc_session_init(now.world.link);
    }
  }
  test_note("%u more cuts, many in each life", count);
}

static const struct test tests[] = {
    TEST("a cut at any byte of any write leaves the old state or the new, and nothing answered is taken back",
         every_cut_leaves_old_or_new),
    TEST("the same when power fails again and again", many_cuts_in_one_life),
};

const struct suite powercut_suite = SUITE("powercut", tests);
