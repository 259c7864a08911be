// SPDX-License-Identifier: Apache-2.0

#include "life.h"

#include <string.h>

_Static_assert(PFC_SLOTS >= 4, "four instances have slots at once");

enum action {
  PROVISION,  ///< number: floor after WORLD_BEGIN, or 0 for none
  RESTART,
  TOKEN,  ///< number: issued after WORLD_BEGIN; value: uses
  ACT,    ///< value: expected verdict
  ACT_DEVICE,
  ACT_CHANGED,  ///< The app's integrity differs
  REVOKE,       ///< number: issued; value: generation
  EPOCH,
  FLOOR,
  RECALL,
  DRAIN,  ///< Asks until the block of counters is used up
  LINK    ///< A new link
};

static const struct {
  const char *name;
  enum action action;
  unsigned app;
  uint32_t number;
  uint32_t value;
  uint8_t verdict;
} script[LIFE_STEPS] = {
    {"provisioning", PROVISION, 0, 0, 0, 0},
    {"the first start", RESTART, 0, 0, 0, 0},
    {"a counted token", TOKEN, 0, 10, 10, PFC_VERDICT_HELD},
    {"a counted use", ACT, 0, 0, 0, PFC_VERDICT_ACCEPTED},
    {"a counted use, device only", ACT_DEVICE, 0, 0, 0, PFC_VERDICT_ACCEPTED_DEVICE},
    {"a failed attempt", ACT_CHANGED, 0, 0, 0, PFC_VERDICT_INTEGRITY_DIFFERS},
    {"a token without limit", TOKEN, 1, 20, PFC_USES_UNLIMITED, PFC_VERDICT_HELD},
    {"a use without limit", ACT, 1, 0, 0, PFC_VERDICT_ACCEPTED},
    {"a failed attempt without limit of uses", ACT_CHANGED, 1, 0, 0, PFC_VERDICT_INTEGRITY_DIFFERS},
    {"an epoch", EPOCH, 0, 100, 0, PFC_VERDICT_DONE},
    {"a newer token that tells the time", TOKEN, 0, 200, 3, PFC_VERDICT_HELD},
    {"a use of the newer token", ACT, 0, 0, 0, PFC_VERDICT_ACCEPTED},
    {"a recall", RECALL, 0, 0, 0, PFC_VERDICT_ACCEPTED},
    {"a revocation", REVOKE, 1, 300, 1, PFC_VERDICT_DONE},
    {"a use of the revoked token", ACT, 1, 0, 0, PFC_VERDICT_REVOKED},
    {"a token after the revocation", TOKEN, 1, 310, PFC_USES_UNLIMITED, PFC_VERDICT_HELD},
    {"a revocation of an unknown instance", REVOKE, 2, 320, PFC_GENERATION_ALL, PFC_VERDICT_DONE},
    {"a third token", TOKEN, 3, 330, 5, PFC_VERDICT_HELD},
    {"a second restart", RESTART, 0, 0, 0, 0},
    {"the rest of a block of counters", DRAIN, 0, 0, 0, 0},
    {"the first use of the next block", ACT, 3, 0, 0, PFC_VERDICT_ACCEPTED},
    {"a floor that frees two slots", FLOOR, 0, 315, 0, PFC_VERDICT_DONE},
    {"a token after the floor", TOKEN, 0, 400, 2, PFC_VERDICT_HELD},
    {"a new link", LINK, 0, 0, 0, 0},
    {"the first of two uses", ACT, 0, 0, 0, PFC_VERDICT_ACCEPTED},
    {"the last use", ACT_DEVICE, 0, 0, 0, PFC_VERDICT_ACCEPTED_DEVICE},
    {"one use too many", ACT, 0, 0, 0, PFC_VERDICT_NO_USES},
    {"the second attempt", ACT_CHANGED, 3, 0, 0, PFC_VERDICT_INTEGRITY_DIFFERS},
    {"the last attempt", ACT_CHANGED, 3, 0, 0, PFC_VERDICT_INTEGRITY_DIFFERS},
    {"one attempt too many", ACT, 3, 0, 0, PFC_VERDICT_NO_ATTEMPTS},
    {"a third restart", RESTART, 0, 0, 0, 0},
    {"provisioning again, with a floor", PROVISION, 0, 1000, 0, 0},
    {"the start after it", RESTART, 0, 0, 0, 0},
    {"a token from before it", TOKEN, 3, 500, 5, PFC_VERDICT_SUPERSEDED},
    {"a token from after it", TOKEN, 4, 1100, 5, PFC_VERDICT_HELD},
    {"a use of it", ACT, 4, 0, 0, PFC_VERDICT_ACCEPTED},
};

const char *life_step_name(unsigned step) { return script[step].name; }

bool life_step_provisions(unsigned step) { return script[step].action == PROVISION; }

void life_begin(struct life *life, uint64_t seed) {
  memset(life, 0, sizeof *life);
  world_make(&life->world, seed);
  flash_erase(&life->world.flash, seed + 1);
  pfc_verifier_wipe(&life->world.verifier);
  for (unsigned i = 0; i < LIFE_APPS; i++) {
    app_make(&life->apps[i], &life->world, seed + 20 + i);
    life->apps[i].token.generation = 0;
    life->apps[i].token.attempts = 2;
  }
}

/// The outside hears nothing of what is said in the dark.
static bool heard(const struct life *life) { return !life->world.flash.dark; }

static void hear_order(struct life *life, uint64_t issued) {
  if (heard(life) && life->world.answer.verdict == PFC_VERDICT_DONE && issued > life->epoch) life->epoch = issued;
}

static void hear_done(struct life *life) {
  for (unsigned i = 0; i < life->done_count; i++) {
    if (memcmp(life->done[i], life->last.nonce, PFC_NONCE_BYTES) == 0) life->done_twice = true;
  }
  if (CHECK(life->done_count < 64)) memcpy(life->done[life->done_count++], life->last.nonce, PFC_NONCE_BYTES);
}

static void do_provision(struct life *life, uint32_t number, bool strict) {
  uint64_t floor = number == 0 ? 0 : WORLD_BEGIN + number;
  uint64_t counter = life->world.highest_counter + 1;
  int result = pfc_verifier_provision(&life->world.hardware, &life->world.platform, 0, floor, counter);
  if (strict) CHECK_NUMBER(result, PFC_OK);
  if (result != PFC_OK || !heard(life)) return;
  life->provisioned = true;
  life->floor = floor;
  life->epoch = 0;
  memset(life->witnesses, 0, sizeof life->witnesses);
}

static void do_token(struct life *life, unsigned which, uint32_t number, uint32_t uses) {
  struct app *app = &life->apps[which];
  struct witness *witness = &life->witnesses[which];
  app->token.generation++;
  app->token.issued = WORLD_BEGIN + number;
  app->token.uses = uses;
  app_issue(app, &life->world);
  if (app_present(app, &life->world) != PFC_VERDICT_HELD || !heard(life)) return;
  witness->generation = app->token.generation;
  witness->issued = app->token.issued;
  witness->uses = uses;
  witness->attempts = app->token.attempts;
  if (app->token.issued > life->epoch) life->epoch = app->token.issued;
}

static void do_act(struct life *life, unsigned which, enum action action) {
  struct app *app = &life->apps[which];
  struct witness *witness = &life->witnesses[which];
  uint8_t byte = app->token.secrets.integrity[0];
  if (action == ACT_CHANGED) app->token.secrets.integrity[0] ^= 1;
  uint8_t verdict = app_do(app, &life->world, action == ACT_DEVICE ? PFC_KIND_DEVICE : PFC_KIND_INTEGRITY, 1, "go");
  app->token.secrets.integrity[0] = byte;
  life->last = *app;
  if (!heard(life)) return;
  if (verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_DEVICE) {
    hear_done(life);
    if (witness->uses != PFC_USES_UNLIMITED) witness->uses = life->world.answer.detail;
  }
  if (verdict == PFC_VERDICT_INTEGRITY_DIFFERS) witness->attempts = life->world.answer.detail;
}

void life_step(struct life *life, unsigned step, bool strict) {
  struct world *world = &life->world;
  unsigned which = script[step].app;
  struct witness *witness = &life->witnesses[which];
  uint64_t issued = WORLD_BEGIN + script[step].number;
  world->outcome.verdict = 0;
  switch (script[step].action) {
    case PROVISION: do_provision(life, script[step].number, strict); return;
    case RESTART: {
      pfc_session_init(&world->links[0]);
      int result = pfc_verifier_init(&world->verifier, &world->hardware, &world->platform);
      if (strict) CHECK_NUMBER(result, PFC_OK);
      return;
    }
    case TOKEN: do_token(life, which, script[step].number, script[step].value); break;
    case ACT:
    case ACT_DEVICE:
    case ACT_CHANGED: do_act(life, which, script[step].action); break;
    case REVOKE:
      (void)world_order(world, PFC_ORDER_REVOKE, issued, life->apps[which].token.instance_id, script[step].value);
      hear_order(life, issued);
      if (heard(life) && world->answer.verdict == PFC_VERDICT_DONE && witness->revoked < script[step].value) {
        witness->revoked = script[step].value;
        witness->revoked_issued = issued;
      }
      break;
    case EPOCH:
      (void)world_order(world, PFC_ORDER_EPOCH, issued, NULL, 0);
      hear_order(life, issued);
      break;
    case FLOOR:
      (void)world_order(world, PFC_ORDER_FLOOR, issued, NULL, 0);
      hear_order(life, issued);
      if (heard(life) && world->answer.verdict == PFC_VERDICT_DONE && issued > life->floor) life->floor = issued;
      break;
    case RECALL: (void)app_recall(&life->apps[which], world); break;
    case DRAIN: {
      struct pfc_challenge challenge;
      while (world->verifier.ledger.counter != world->verifier.ledger.counter_end) {
        if (!world_ask(world, &challenge)) break;
      }
      return;
    }
    case LINK:
      pfc_session_close(world->link);
      pfc_session_init(world->link);
      return;
  }
  if (strict) CHECK_NUMBER(world->outcome.verdict, script[step].verdict);
}

void life_check(struct life *life) {
  struct world *world = &life->world;
  const struct pfc_ledger *ledger = &world->verifier.ledger;
  struct pfc_challenge challenge;
  // Provisioning forgets the epoch, but then its floor stands above everything the epoch has ended.
  CHECK(ledger->epoch >= life->epoch || ledger->floor > life->epoch);
  CHECK(ledger->floor >= life->floor);
  CHECK(!life->done_twice);
  for (unsigned i = 0; i < LIFE_APPS; i++) {
    const struct witness *witness = &life->witnesses[i];
    int index = pfc_ledger_find(ledger, life->apps[i].token.instance_id);
    // Nothing that was held or revoked vanishes, but for a floor above it.
    if (index < 0) {
      if (witness->generation != 0) CHECK(ledger->floor > witness->issued);
      if (witness->revoked != 0) CHECK(ledger->floor > witness->revoked_issued);
      continue;
    }
    const struct pfc_slot *slot = &ledger->slots[index];
    CHECK(slot->revoked >= witness->revoked || ledger->floor > witness->revoked_issued);
    CHECK(slot->generation >= witness->generation || ledger->floor > witness->issued);
    if (slot->state == PFC_SLOT_HELD) CHECK(slot->generation > slot->revoked);
    if (witness->generation != 0 && slot->generation == witness->generation && slot->state == PFC_SLOT_HELD) {
      CHECK(slot->uses <= witness->uses);
      CHECK(slot->attempts <= witness->attempts);
    }
  }
  // The command that was under way when the power went: as it was, and under whatever comes next.
  if (life->last.size == 0) return;
  CHECK_NUMBER(app_send(&life->last, world), PFC_VERDICT_STALE);
  // `world_ask` checks that no counter comes twice.
  if (!CHECK(world_ask(world, &challenge))) return;
  CHECK_NUMBER(app_send(&life->last, world), PFC_VERDICT_STALE);
  CHECK_NUMBER(world->outcome.execute, 0);
}
