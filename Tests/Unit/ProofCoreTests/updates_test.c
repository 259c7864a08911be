// SPDX-License-Identifier: Apache-2.0

/// Fifty updates of app, system and firmware, with unlocks in between. An honest phone is never refused.
///
/// The phones follow SPEC.md as the SDK does: they settle an open command first, present the token of the pair that
/// fits their build, and ask. Mishaps strike at random: lost commands and answers, links and power that end, slow
/// phones, strangers. One phone borrows a class from another. The model beside them counts generations, uses and
/// attempts in whole numbers. It has no key and no measurement, and expects each answer of the hardware.

#include <string.h>

#include "harness.h"
#include "world.h"

enum {
  PHONES = 4,
  PAIRS = 4,
  UPDATES = 50,
  UNLOCKS = 2000,
  UNLOCKS_LONG = 100000,
  USES = 60000,
  ATTEMPTS = 5,
  LIFE_DAYS = 90,
  ROUND_DAYS = 15,
  DAY = 86400,
  NONE = -1,
  OWNER = 0,
  MEMBER = 1,
  LENT = 5,        ///< The class that the owner lends, and that the member's token does not permit
  LOAN_USES = 40
};

enum mishap {
  NOTHING,
  COMMAND_LOST,
  ANSWER_LOST,
  POWER_CUT,      ///< In the command's write, if it has one
  ANSWER_AND_POWER_LOST,
  LINK_ENDS,      ///< Between token and command
  POWER_FAILS,    ///< Between token and command
  SLOW,           ///< The challenge dies of old age, on hardware with a clock
  STRANGER,       ///< Another link, wrong proofs, garbage
  MISHAPS
};

enum kind_of_update { APP, SYSTEM, FIRMWARE, BOTH, KINDS };

struct build {
  uint32_t app, system;
};

/// A phone, and the model of what the hardware knows of it.
struct phone {
  struct app pairs[PAIRS];  ///< The present one, then those to come
  struct build builds[PAIRS];
  struct build installed;
  uint8_t policy;  ///< enum pfc_ratchet_policy
  uint32_t limit;  ///< Uses of a token
  uint8_t ratchet[PFC_RATCHET_BYTES];
  uint32_t known;
  int open;          ///< Pair of the command that is open, or NONE
  uint64_t fetched;  ///< When it was online last
  struct app held;   ///< The pair that the hardware holds; of generation 0 before the first
  uint32_t uses, attempts;
};

static struct world world;
static struct phone phones[PHONES];
static struct dice dice;
static uint64_t now;
static struct {
  uint32_t serial, uses;
  uint64_t end;
} loan;

static struct {
  unsigned unlocks, refused, refused_rightly, unknown, recalled, candidates, again, cuts, fetches, updates;
  unsigned loans, lent, overcharged;
  unsigned struck[MISHAPS];
} tally;

static bool is_same(struct build a, struct build b) { return a.app == b.app && a.system == b.system; }

/// The secrets of a measurement: a function of installation, fetch and build.
static void measure(struct pfc_secrets *secrets, const struct app *app, uint32_t base, struct build build) {
  uint64_t which = ((uint64_t)base << 40) ^ ((uint64_t)build.app << 20) ^ build.system;
  struct dice own = {get64(app->token.instance_id) ^ which};
  dice_fill(&own, secrets, sizeof *secrets);
}

/// The phone goes online: a present pair, and one for each build that the operator has registered.
static void fetch(struct phone *phone, bool predicts) {
  struct app first = phone->pairs[0];
  uint32_t base = first.token.generation + PAIRS;
  for (unsigned i = 0; i < PAIRS; i++) {
    struct app *pair = &phone->pairs[i];
    *pair = first;
    pair->token.version = PFC_TOKEN_VERSION_2;
    pair->token.base = base;
    pair->token.generation = base + i;
    pair->token.policy = (uint8_t)(phone->policy | (i != 0 ? PFC_POLICY_UPCOMING : 0));
    pair->token.issued = now;
    pair->token.not_after = now + (uint64_t)LIFE_DAYS * DAY;
    phone->builds[i] = (struct build){phone->installed.app + (i & 1u), phone->installed.system + (i >> 1)};
    // A build that is not registered has no pair: its place is taken by the present one's.
    if (i != 0 && !predicts) phone->builds[i] = phone->installed;
    measure(&pair->token.secrets, pair, base, phone->builds[i]);
    app_issue(pair, &world);
  }
  phone->fetched = now;
  tally.fetches++;
}

static void take_grants(void) {
#if PFC_GRANTS
  CHECK_NUMBER(pfc_verifier_take_grants(&world.verifier), PFC_OK);
#endif
}

static void begin(void) {
  memset(&tally, 0, sizeof tally);
  memset(phones, 0, sizeof phones);
  memset(&loan, 0, sizeof loan);
  world_make(&world, 2026);
  take_grants();
  dice.state = 20261128;
  now = WORLD_BEGIN + DAY;
  for (unsigned i = 0; i < PHONES; i++) {
    struct phone *phone = &phones[i];
    app_make(&phone->pairs[0], &world, 3000 + i);
    phone->pairs[0].token.device_classes = 1u << 0;
    phone->pairs[0].token.attempts = ATTEMPTS;
    if (i == OWNER) phone->pairs[0].token.delegable_classes = 1u << LENT;
    if (i == MEMBER) phone->pairs[0].token.integrity_classes &= (uint16_t)~(1u << LENT);
    phone->limit = i == 1 ? PFC_USES_UNLIMITED : USES;
    phone->pairs[0].token.uses = phone->limit;
    phone->policy = i == 0 ? PFC_RATCHET_NONE : i == 3 ? PFC_RATCHET_REFUSE : PFC_RATCHET_REPORT;
    if (i == 1) phone->policy = PFC_RATCHET_NONE;
    phone->open = NONE;
    fetch(phone, true);
  }
}

/// The pair that fits the build, as a measurement tells it; the present one if none does.
static int fitting(const struct phone *phone) {
  for (int i = 0; i < PAIRS; i++) {
    if (is_same(phone->builds[i], phone->installed)) return i;
  }
  return 0;
}

static bool is_held(const struct phone *phone, int pair) {
  return phone->held.token.generation == phone->pairs[pair].token.generation;
}

static bool is_stored(const struct phone *phone) {
  return phone->policy != PFC_RATCHET_NONE || phone->limit != PFC_USES_UNLIMITED;
}

/// Both ends change as this verdict says.
static void follow(struct phone *phone, int pair, uint8_t verdict) {
  struct app *app = &phone->pairs[pair];
  if (!is_held(phone, pair)) phone->held = *app;
  if (phone->uses != PFC_USES_UNLIMITED) phone->uses--;
  app_follow(app, verdict);
  memcpy(phone->ratchet, app->ratchet, sizeof phone->ratchet);
  phone->known = app->known;
  phone->open = NONE;
}

static void new_link(void) {
  pfc_session_close(world.link);
  pfc_session_init(world.link);
}

static void power(void) {
  CHECK_NUMBER(world_restart(&world), PFC_OK);
  take_grants();
}

#if PFC_GRANTS

static int slot_of(const struct phone *phone) {
  return pfc_ledger_find(&world.verifier.ledger, phone->held.token.instance_id);
}

/// A lent command costs the owner a use, and the loan one.
static void charge(void) {
  phones[OWNER].uses--;
  loan.uses--;
}

/// Compares what the hardware stores of the loan. A power cut between its writes may have cost one use more than there
/// were commands, the owner's first.
static void audit_loan(bool was_cut) {
  uint32_t uses = world.verifier.ledger.slots[slot_of(&phones[OWNER])].uses;
  uint32_t left = world.verifier.grants.rows[slot_of(&phones[MEMBER])].uses;
  uint32_t owed = phones[OWNER].uses - uses, lost = loan.uses - left;
  CHECK(owed <= (was_cut ? 1u : 0u) && lost <= owed);
  tally.overcharged += owed;
  phones[OWNER].uses = uses;
  loan.uses = left;
}

/// Whether the member has something to use: the owner lends again when nothing is left, or the time is over. A cut in
/// the write of the loan is followed by the same grant.
static bool borrow(void) {
  const struct phone *owner = &phones[OWNER], *member = &phones[MEMBER];
  struct pfc_grant grant = {.generation = owner->held.token.generation, .serial = loan.serial + 1,
                            .classes = 1u << LENT, .uses = LOAN_USES, .end = now + 2 * (uint64_t)LIFE_DAYS * DAY};
  uint8_t bytes[PFC_GRANT_BYTES], digest[PFC_NONCE_BYTES];
  // Both were there, and the owner's app is as its held token says.
  if (member->held.token.generation == 0 || grant.generation == 0 || !is_held(owner, fitting(owner))) return false;
  if (loan.uses != 0 && now <= loan.end) return true;
  memcpy(grant.hardware_id, world.hardware.id, PFC_ID_BYTES);
  memcpy(grant.owner, owner->held.token.instance_id, PFC_ID_BYTES);
  memcpy(grant.member, member->held.digest, PFC_TOKEN_DIGEST_BYTES);
  CHECK_NUMBER(pfc_grant_create(bytes, &grant, &owner->held.token.secrets, owner->held.digest), PFC_OK);
  pfc_grant_digest(digest, bytes);
  if (dice_below(&dice, 3) == 0) {
    world.flash.cut_write = world.flash.writes;
    world.flash.cut_offset = dice_below(&dice, PFC_RECORD_BYTES_MAX);
    world.flash.cut_rest = (enum flash_rest)dice_below(&dice, 3);
    (void)world_send(&world, PFC_MESSAGE_GRANT, bytes, sizeof bytes);
    world.flash.cut_write = FLASH_NEVER;
    power();
  }
  if (!CHECK_NUMBER(world_send(&world, PFC_MESSAGE_GRANT, bytes, sizeof bytes), PFC_VERDICT_DONE)) tally.refused++;
  CHECK_NUMBER(pfc_receipt_check(world.answer.receipt, member->held.token.secrets.device_key, digest,
                                 PFC_VERDICT_DONE, LOAN_USES, 0),
               PFC_OK);
  loan.serial++;
  loan.uses = LOAN_USES;
  loan.end = grant.end;
  tally.loans++;
  return true;
}

#else

static void charge(void) {}
static void audit_loan(bool was_cut) { (void)was_cut; }
static bool borrow(void) { return false; }

#endif

/// Settles the command that was left open. True if it was done, or may have been.
static bool settle(struct phone *phone, bool is_forgotten) {
  int pair = phone->open;
  bool is_before = false;
  uint8_t verdict = app_recall(&phone->pairs[pair], &world);
  tally.recalled++;
  if (!is_held(phone, pair) && verdict == PFC_VERDICT_DEVICE_DIFFERS) {
    // It did not commit its pair: the one before ends it for good.
    struct app before = phone->held;
    before.challenge = phone->pairs[pair].challenge;
    memcpy(before.nonce, phone->pairs[pair].nonce, sizeof before.nonce);
    verdict = app_recall(&before, &world);
    is_before = true;
  }
  if (!is_before && (verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_DEVICE)) {
    follow(phone, pair, verdict);
    return true;
  }
  phone->open = NONE;
  if (is_forgotten && !is_stored(phone)) {
    // The hardware stored no last command, and lost power: a person looks at the door.
    CHECK_NUMBER(verdict, PFC_VERDICT_STALE);
    if (!is_before && !is_held(phone, pair)) phone->held = phone->pairs[pair];
    tally.unknown++;
    return true;
  }
  CHECK_NUMBER(verdict, PFC_VERDICT_NOT_EXECUTED);
  return false;
}

static void present(struct phone *phone, int pair) {
  struct app *app = &phone->pairs[pair];
  bool is_upcoming = (app->token.policy & PFC_POLICY_UPCOMING) != 0 && phone->held.token.generation != 0;
  uint32_t uses = app->token.uses;
  uint8_t verdict = app_present(app, &world);
  if (!CHECK_NUMBER(verdict, is_upcoming ? PFC_VERDICT_READY : PFC_VERDICT_HELD)) tally.refused++;
  if (is_upcoming) {
    tally.candidates++;
    // The ratchet goes on.
    memcpy(app->ratchet, phone->ratchet, sizeof app->ratchet);
    app->known = phone->known;
    return;
  }
  memcpy(phone->ratchet, app->ratchet, sizeof phone->ratchet);
  phone->held = *app;
  phone->uses = uses;
  phone->attempts = app->token.attempts;
}

static void stranger(void) {
  struct pfc_session *own = world.link;
  struct app other;
  uint8_t noise[40];
  world.link = own == &world.links[0] ? &world.links[1] : &world.links[0];
  new_link();
  app_make(&other, &world, 9000 + dice_below(&dice, 1000));
  memcpy(other.token.instance_id, phones[dice_below(&dice, PHONES)].pairs[0].token.instance_id, PFC_ID_BYTES);
  uint8_t verdict = app_do(&other, &world, PFC_KIND_INTEGRITY, 1, "go");
  CHECK(verdict == PFC_VERDICT_DEVICE_DIFFERS || verdict == PFC_VERDICT_NOT_PERMITTED ||
        verdict == PFC_VERDICT_UNKNOWN);
  dice_fill(&dice, noise, sizeof noise);
  (void)world_send(&world, (uint8_t)(1 + dice_below(&dice, 12)), noise, sizeof noise);
  world.link = own;
}

/// One command, of the class that is lent if `borrows`, as the mishap lets it. True once it is done, as far as the
/// phone knows.
static bool command(struct phone *phone, int pair, enum mishap mishap, bool borrows) {
  struct app *app = &phone->pairs[pair];
  bool device = !borrows && is_held(phone, pair) && dice_below(&dice, 8) == 0;
  uint8_t kind = (uint8_t)((device ? PFC_KIND_DEVICE : PFC_KIND_INTEGRITY) +
                           (phone->policy != PFC_RATCHET_NONE ? PFC_KIND_INTEGRITY_RATCHET - PFC_KIND_INTEGRITY : 0));
  uint8_t expected = device ? PFC_VERDICT_ACCEPTED_DEVICE : PFC_VERDICT_ACCEPTED;
  uint8_t verdict;
  memcpy(app->ratchet, phone->ratchet, sizeof app->ratchet);
  app->known = phone->known;
  if (!CHECK(world_ask(&world, &app->challenge))) return false;
  app_command(app, &world, kind, device ? 0 : borrows ? LENT : 1, "go");
  phone->open = pair;
  if (mishap == COMMAND_LOST) return false;
  if (mishap == SLOW) {
    world.seconds += 61;
    if (world.platform.seconds != NULL) expected = PFC_VERDICT_STALE;
  }
  if (mishap == POWER_CUT) {
    world.flash.cut_write = world.flash.writes + (borrows ? (long)dice_below(&dice, 2) : 0);
    world.flash.cut_offset = dice_below(&dice, PFC_RECORD_BYTES_MAX);
    world.flash.cut_rest = (enum flash_rest)dice_below(&dice, 3);
  }
  verdict = app_send(app, &world);
  world.flash.cut_write = FLASH_NEVER;
  if (world.flash.dark) {
    tally.cuts++;
    power();
    if (borrows) audit_loan(true);
    return false;
  }
  // Whether or not its answer arrives.
  if (borrows && verdict == PFC_VERDICT_ACCEPTED) {
    charge();
    audit_loan(false);
    tally.lent++;
  }
  if (mishap == ANSWER_LOST) return false;
  if (mishap == ANSWER_AND_POWER_LOST) {
    power();
    return false;
  }
  if (expected == PFC_VERDICT_STALE && verdict == expected) {
    tally.again++;
    return false;
  }
  if (!CHECK_NUMBER(verdict, expected) || !CHECK(app_believes(app, &world))) {
    tally.refused++;
    return false;
  }
  follow(phone, pair, verdict);
  CHECK_NUMBER(world.answer.detail, phone->uses == PFC_USES_UNLIMITED ? 65535 : phone->uses);
  return true;
}

/// A phone whose build was not predicted: refused for that reason, until it was online.
static void refuse_and_renew(struct phone *phone) {
  uint8_t kind = phone->policy != PFC_RATCHET_NONE ? PFC_KIND_INTEGRITY_RATCHET : PFC_KIND_INTEGRITY;
  struct app changed = phone->held;
  new_link();
  memcpy(changed.ratchet, phone->ratchet, sizeof changed.ratchet);
  changed.known = phone->known;
  measure(&changed.token.secrets, &changed, changed.token.base, phone->installed);
  // The device is the same.
  memcpy(changed.token.secrets.device_key, phone->held.token.secrets.device_key, PFC_KEY_BYTES);
  memcpy(changed.token.secrets.device, phone->held.token.secrets.device, PFC_MEASUREMENT_BYTES);
  CHECK_NUMBER(app_do(&changed, &world, kind, 1, "go"), PFC_VERDICT_INTEGRITY_DIFFERS);
  CHECK_NUMBER(world.answer.detail, --phone->attempts);
  tally.refused_rightly++;
  fetch(phone, true);
}

static void unlock(struct phone *phone, enum mishap mishap) {
  bool is_forgotten = false, done = false, borrows = false;
  bool wants_lent = phone == &phones[MEMBER] && dice_below(&dice, 3) == 0;
  tally.unlocks++;
  tally.struck[mishap]++;
  if (mishap == STRANGER) stranger();
  for (unsigned contact = 0; contact < 4 && !done; contact++) {
    int pair = fitting(phone);
    new_link();
    world.seconds += dice_below(&dice, 20);
    if (phone->open != NONE && settle(phone, is_forgotten)) return;
    if (wants_lent && contact == 0) borrows = borrow();
    if (!is_held(phone, pair)) present(phone, pair);
    if (mishap == LINK_ENDS) new_link();
    if (mishap == POWER_FAILS) power();
    if (mishap == LINK_ENDS || mishap == POWER_FAILS) {
      mishap = NOTHING;
      continue;
    }
    is_forgotten = mishap == ANSWER_AND_POWER_LOST || mishap == POWER_CUT;
    done = command(phone, pair, mishap, borrows && loan.uses != 0);
    mishap = NOTHING;
  }
  if (!CHECK(done)) tally.refused++;
}

/// New firmware starts from the flash of the one before, with or without a clock, with another life of challenges.
static void update_firmware(unsigned number) {
  world.hardware.challenge_seconds = number % 2 == 0 ? 60 : 30;
  world_clock(&world, number % 4 < 2);
  take_grants();
}

/// The phone installs what is new. It was online before, if the build is to be predicted and is not yet.
static void install(struct phone *phone, enum kind_of_update kind) {
  if (kind == APP || kind == BOTH) phone->installed.app++;
  if (kind == SYSTEM || kind == BOTH) phone->installed.system++;
}

static bool has_pair(const struct phone *phone, enum kind_of_update kind) {
  struct phone later = *phone;
  install(&later, kind);
  return is_same(later.builds[fitting(&later)], later.installed);
}

static void play(unsigned unlocks) {
  static const enum kind_of_update order[] = {APP, SYSTEM, FIRMWARE, BOTH, FIRMWARE, SYSTEM, APP};
  unsigned each = unlocks / UPDATES;
  begin();
  for (unsigned number = 0; number < UPDATES; number++) {
    enum kind_of_update kind = order[number % (sizeof order / sizeof order[0])];
    bool is_installed[PHONES] = {false};
    uint32_t issued = WORLD_BEGIN;
    now += (uint64_t)ROUND_DAYS * DAY;
    test_case("update %u, kind %d", number, (int)kind);
    if (kind == FIRMWARE) update_firmware(number);
    for (unsigned i = 0; i < each; i++) {
      unsigned which = dice_below(&dice, PHONES);
      struct phone *phone = &phones[which];
      bool is_old = now - phone->fetched > (uint64_t)(LIFE_DAYS - 2 * ROUND_DAYS) * DAY;
      bool wants = kind != FIRMWARE && !is_installed[which];
      // No update is installed, and nothing is fetched, while a command is open.
      if (phone->open == NONE && (is_old || (wants && !has_pair(phone, kind)))) fetch(phone, true);
      if (phone->open == NONE && wants && dice_below(&dice, 3) == 0) {
        bool is_control = number % 25 == 24 && which == 0 && kind != FIRMWARE;
        if (is_control) fetch(phone, false);
        if (is_control) unlock(phone, NOTHING);
        install(phone, kind);
        is_installed[which] = true;
        tally.updates++;
        if (is_control) refuse_and_renew(phone);
      }
      unlock(phone, dice_below(&dice, 10) < 6 ? NOTHING : (enum mishap)dice_below(&dice, MISHAPS));
      if (dice_below(&dice, 50) != 0) continue;
      CHECK_NUMBER(world_order(&world, PFC_ORDER_EPOCH, now, NULL, 0), PFC_VERDICT_DONE);
    }
    // Tokens that no phone has any more are superseded.
    for (unsigned i = 0; i < PHONES; i++) {
      if (phones[i].held.token.generation == 0) continue;
      if (i == 0 || phones[i].held.token.issued < issued) issued = (uint32_t)phones[i].held.token.issued;
    }
    new_link();
    CHECK_NUMBER(world_order(&world, PFC_ORDER_FLOOR, issued, NULL, 0), PFC_VERDICT_DONE);
  }
}

static void honest_phones_are_never_refused(void) {
  unsigned long stored;
  play(options.thorough ? UNLOCKS_LONG : UNLOCKS);
  CHECK_NUMBER(tally.refused, 0);
  CHECK(tally.refused_rightly != 0 && tally.candidates != 0 && tally.recalled != 0 && tally.cuts != 0);
  for (unsigned i = 0; i < MISHAPS; i++) CHECK(tally.struck[i] != 0);
  stored = (unsigned long)world.flash.writes * 1000 / tally.unlocks;
  test_note("%u unlocks over %u updates, %u of them installed on a phone: %u refused falsely, %u rightly",
            tally.unlocks, (unsigned)UPDATES, tally.updates, tally.refused, tally.refused_rightly);
  test_note("%u candidates, %u fetches, %u recalls, %u power cuts, %u asked again, %u of unknown outcome",
            tally.candidates, tally.fetches, tally.recalled, tally.cuts, tally.again, tally.unknown);
  if (PFC_GRANTS) CHECK(tally.loans != 0 && tally.lent != 0);
  test_note("%u loans, %u lent commands accepted, %u charged without a deed", tally.loans, tally.lent,
            tally.overcharged);
  test_note("%lu.%03lu writes of a record for each unlock", stored / 1000, stored % 1000);
}

static const struct test tests[] = {
    TEST("over fifty updates of app, system and firmware no honest phone is refused", honest_phones_are_never_refused),
};

const struct suite updates_suite = SUITE("updates", tests);
