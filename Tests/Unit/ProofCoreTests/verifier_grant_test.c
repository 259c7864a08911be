// SPDX-License-Identifier: Apache-2.0

/// GRANT: which ones the hardware takes, and what it answers to others.

#include <string.h>

#include "grant_stage.h"
#include "suites.h"

#if PFC_GRANTS

static void hardware_takes_them_where_it_says_so(void) {
  struct pfc_capabilities capabilities;
  stage_begin(PFC_USES_UNLIMITED);
  pfc_verifier_capabilities(&stage.world.verifier, &capabilities);
  CHECK((capabilities.features & PFC_FEATURE_GRANTS) != 0);
  CHECK_NUMBER(world_restart(&stage.world), PFC_OK);
  pfc_verifier_capabilities(&stage.world.verifier, &capabilities);
  CHECK((capabilities.features & PFC_FEATURE_GRANTS) == 0);
  CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_MALFORMED);
  memset(&stage.world.verifier, 0, sizeof stage.world.verifier);
  CHECK_NUMBER(pfc_verifier_take_grants(&stage.world.verifier), PFC_E_ARGUMENT);
}

static void damaged_records_close_the_lock(void) {
  stage_begin(PFC_USES_UNLIMITED);
  memset(stage.world.flash.areas[1 + PFC_SLOTS], 0x5a, sizeof stage.world.flash.areas[0]);
  CHECK_NUMBER(stage_start(), PFC_E_DAMAGED);
  CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_FAULT);
  CHECK_NUMBER(app_do(&stage.owner, &stage.world, PFC_KIND_INTEGRITY, OPEN, "x"), PFC_VERDICT_FAULT);
  CHECK_NUMBER(pfc_grants_format(&stage.world.platform.storage, stage.world.hardware.secret_key), PFC_OK);
  CHECK_NUMBER(stage_start(), PFC_OK);
  CHECK_NUMBER(stage_do(&stage.owner, OPEN), PFC_VERDICT_ACCEPTED);
}

/// Nothing of the grants has changed, in memory or in storage.
static struct pfc_grants before;
static struct flash flash_before;
static void remember(void) {
  before = stage.world.verifier.grants;
  flash_before = stage.world.flash;
}
static void check_nothing_changed(void) {
  CHECK_BYTES(before.rows, stage.world.verifier.grants.rows, sizeof before.rows);
  CHECK_NUMBER(stage.world.flash.writes, flash_before.writes);
}

static void every_bit_counts(void) {
  stage_begin(PFC_USES_UNLIMITED);
  stage_fill(&stage.owner, &stage.member, 1, 1u << OPEN, 2);
  stage_sign(&stage.owner);
  remember();
  for (unsigned bit = 0; bit < 8 * PFC_GRANT_BYTES; bit++) {
    uint8_t verdict;
    test_case("bit %u", bit);
    pfc_session_init(stage.world.link);
    stage.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    verdict = stage_present(&stage.member);
    CHECK(verdict == PFC_VERDICT_DEVICE_DIFFERS || verdict == PFC_VERDICT_UNKNOWN || verdict == PFC_VERDICT_MALFORMED ||
          verdict == PFC_VERDICT_TOO_NEW || verdict == PFC_VERDICT_NOT_FOR_ME);
    if (bit >= 8 * 24 && bit < 8 * 40) CHECK_NUMBER(verdict, PFC_VERDICT_DEVICE_DIFFERS);
    if (bit >= 8 * 64) CHECK_NUMBER(verdict, PFC_VERDICT_DEVICE_DIFFERS);
    CHECK_NUMBER(stage.world.link->refusals, verdict == PFC_VERDICT_DEVICE_DIFFERS);
    stage.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  check_nothing_changed();
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DONE);
}

static void shapes_have_their_verdicts(void) {
  static const struct {
    unsigned at;
    uint8_t value, verdict, detail;
  } cases[] = {{0, 'X', PFC_VERDICT_MALFORMED, 0}, {2, 2, PFC_VERDICT_TOO_NEW, PFC_DETAIL_LATER_VERSION},
               {3, 2, PFC_VERDICT_TOO_NEW, PFC_DETAIL_LATER_SUITE},
               {60, 1, PFC_VERDICT_TOO_NEW, PFC_DETAIL_RESERVED_BIT}, {44, 0, PFC_VERDICT_MALFORMED, 0}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    stage_begin(PFC_USES_UNLIMITED);
    stage_fill(&stage.owner, &stage.member, 1, 1u << OPEN, 2);
    stage_sign(&stage.owner);
    stage.bytes[cases[i].at] = cases[i].value;
    pfc_grant_tag(stage.bytes + 64, stage.bytes, &stage.owner.token.secrets, stage.owner.digest);
    test_case("%u", i + 1);
    CHECK_NUMBER(stage_present(&stage.member), cases[i].verdict);
    CHECK_NUMBER(stage_detail(), cases[i].detail);
    CHECK_NUMBER(stage.world.link->refusals, 0);
  }
  CHECK_NUMBER(world_send(&stage.world, PFC_MESSAGE_GRANT, stage.bytes, 95), PFC_VERDICT_MALFORMED);
}

static void other_locks_refuse_it(void) {
  stage_begin(PFC_USES_UNLIMITED);
  stage_fill(&stage.owner, &stage.member, 1, 1u << OPEN, 2);
  stage.grant.hardware_id[0] ^= 1;
  stage_sign(&stage.owner);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_NOT_FOR_ME);
  // The same phones at a lock whose id begins alike: other secrets and another token.
  stage_fill(&stage.owner, &stage.member, 1, 1u << OPEN, 2);
  stage_sign(&stage.owner);
  stage.owner.token.secrets.device[0] ^= 1;
  stage.owner.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.owner), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DEVICE_DIFFERS);
}

static void the_owner_must_be_one(void) {
  struct app stranger, changed;
  stage_begin(PFC_USES_UNLIMITED);
  app_make(&stranger, &stage.world, 220);
  app_issue(&stranger, &stage.world);
  remember();
  test_case("an instance that holds no slot");
  stage_fill(&stranger, &stage.member, 1, 1u << OPEN, 2);
  stage_sign(&stranger);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_UNKNOWN);
  CHECK_NUMBER(stage_detail(), 0);
  test_case("a stranger who names the owner");
  stage_fill(&stage.owner, &stage.member, 1, 1u << OPEN, 2);
  stage_sign(&stranger);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DEVICE_DIFFERS);
  test_case("a changed app on the owner's device");
  for (unsigned i = 0; i < sizeof changed.token.secrets; i++) {
    pfc_session_init(stage.world.link);
    changed = stage.owner;
    ((uint8_t *)&changed.token.secrets)[i] ^= 1;
    stage_fill(&changed, &stage.member, 1, 1u << OPEN, 2);
    stage_sign(&changed);
    CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DEVICE_DIFFERS);
  }
  check_nothing_changed();
}

static void wrong_tags_are_counted(void) {
  stage_begin(PFC_USES_UNLIMITED);
  stage_fill(&stage.owner, &stage.member, 1, 1u << OPEN, 2);
  stage_sign(&stage.owner);
  stage.bytes[95] ^= 1;
  for (unsigned i = 0; i < PFC_SESSION_REFUSALS_MAX; i++) {
    CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DEVICE_DIFFERS);
  }
  stage.bytes[95] ^= 1;
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_BUSY);
  CHECK_NUMBER(stage_detail(), PFC_SESSION_WAIT_SECONDS);
  CHECK_NUMBER(app_do(&stage.owner, &stage.world, PFC_KIND_INTEGRITY, OPEN, "x"), PFC_VERDICT_BUSY);
  pfc_session_init(stage.world.link);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DONE);
}

static void other_generations_are_refused(void) {
  stage_begin(PFC_USES_UNLIMITED);
  stage_fill(&stage.owner, &stage.member, 1, 1u << OPEN, 2);
  stage.grant.generation = 2;
  stage_sign(&stage.owner);
  remember();
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_SUPERSEDED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_OLDER_GENERATION);
  check_nothing_changed();
}

static void the_member_must_hold_the_token(void) {
  struct app guest;
  stage_begin(PFC_USES_UNLIMITED);
  guest = stage.member;
  remember();
  test_case("another digest");
  guest.digest[0] ^= 1;
  stage_fill(&stage.owner, &guest, 1, 1u << OPEN, 2);
  stage_sign(&stage.owner);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_UNKNOWN);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_NO_MEMBER);
  check_nothing_changed();
  test_case("the token that was held before");
  guest = stage.member;
  stage.member.token.generation = 2;
  CHECK_NUMBER(stage_hold(&stage.member), PFC_VERDICT_HELD);
  stage_fill(&stage.owner, &guest, 1, 1u << OPEN, 2);
  stage_sign(&stage.owner);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_UNKNOWN);
  test_case("a revoked member");
  stage_fill(&stage.owner, &stage.member, 1, 1u << OPEN, 2);
  stage_sign(&stage.owner);
  CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_REVOKE, WORLD_BEGIN + 1, stage.member.token.instance_id, 9),
               PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_UNKNOWN);
}

static void only_delegable_classes_are_lent(void) {
  stage_begin(PFC_USES_UNLIMITED);
  remember();
  for (uint8_t wider = RING; wider < PFC_CLASSES; wider++) {
    stage_fill(&stage.owner, &stage.member, 1, (uint16_t)(1u << OPEN | 1u << wider), 2);
    stage_sign(&stage.owner);
    CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_NOT_PERMITTED);
    CHECK_NUMBER(stage_detail(), PFC_DETAIL_NOT_DELEGABLE);
  }
  check_nothing_changed();
  // A slot whose token permits the class no more: storage of another firmware.
  stage_slot(&stage.owner)->integrity_classes = 1u << RING;
  CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_NOT_DELEGABLE);
}

static void what_was_lent_is_not_lent_on(void) {
  struct app third;
  stage_begin(PFC_USES_UNLIMITED);
  app_make(&third, &stage.world, 221);
  app_renew(&third);
  third.token.integrity_classes = 1u << SETTINGS;
  third.token.device_classes = 0;
  CHECK_NUMBER(stage_hold(&third), PFC_VERDICT_HELD);
  CHECK_NUMBER(stage_lend(1, 5), PFC_VERDICT_DONE);
  stage_fill(&stage.member, &third, 1, 1u << OPEN, 2);
  stage_sign(&stage.member);
  CHECK_NUMBER(stage_present(&third), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_NOT_DELEGABLE);
  CHECK_NUMBER(stage_do(&third, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_CLASS_NOT_PERMITTED);
}

static void ended_grants_are_refused(void) {
  stage_begin(PFC_USES_UNLIMITED);
  CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_EPOCH, GRANT_END, NULL, 0), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_DONE);
  CHECK_NUMBER(world_order(&stage.world, PFC_ORDER_EPOCH, GRANT_END + 86401, NULL, 0), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_lend(2, 2), PFC_VERDICT_EXPIRED);
  CHECK_NUMBER(stage_detail(), 2);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_GRANT_SPENT);
}

static void owners_who_cannot_lend_nothing(void) {
  for (unsigned i = 0; i < 3; i++) {
    stage_begin(PFC_USES_UNLIMITED);
    if (i == 0) stage_slot(&stage.owner)->attempts = 0;
    if (i == 1) stage_slot(&stage.owner)->uses = 0;
    if (i == 2) stage_slot(&stage.owner)->not_after = WORLD_BEGIN - 1;
    test_case("%u", i);
    remember();
    CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_NOT_PERMITTED);
    CHECK_NUMBER(stage_detail(), PFC_DETAIL_OWNER_CANNOT);
    check_nothing_changed();
    // To take back is always possible.
    CHECK_NUMBER(stage_take_back(1), PFC_VERDICT_DONE);
  }
}

static void serials_only_rise(void) {
  uint8_t first[PFC_GRANT_BYTES];
  stage_begin(PFC_USES_UNLIMITED);
  CHECK_NUMBER(stage_lend(5, 2), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_detail(), 2);
  memcpy(first, stage.bytes, sizeof first);
  test_case("again, after a lost answer");
  remember();
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_detail(), 2);
  check_nothing_changed();
  test_case("after a use");
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_detail(), 1);
  test_case("used up");
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DONE);
  CHECK_NUMBER(stage_detail(), 0);
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  test_case("the same serial with other content, a lower one");
  remember();
  CHECK_NUMBER(stage_lend(5, 3), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_GRANT_SPENT);
  CHECK_NUMBER(stage_lend(4, 2), PFC_VERDICT_NOT_PERMITTED);
  check_nothing_changed();
  test_case("a higher one, and the first again, also after a start");
  CHECK_NUMBER(stage_lend(6, 1), PFC_VERDICT_DONE);
  memcpy(stage.bytes, first, sizeof first);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_start(), PFC_OK);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_detail(), PFC_DETAIL_GRANT_SPENT);
  CHECK_NUMBER(stage_row(&stage.member)->uses, 1);
}

static void storage_that_fails_takes_nothing(void) {
  stage_begin(PFC_USES_UNLIMITED);
  before = stage.world.verifier.grants;
  stage.world.flash.fail_all_writes = true;
  CHECK_NUMBER(stage_lend(1, 2), PFC_VERDICT_FAULT);
  CHECK_BYTES(before.rows, stage.world.verifier.grants.rows, sizeof before.rows);
  stage.world.flash.fail_all_writes = false;
  CHECK_NUMBER(stage_do(&stage.member, OPEN), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(stage_present(&stage.member), PFC_VERDICT_DONE);
}

static const struct test tests[] = {
    TEST("hardware takes grants where it says so", hardware_takes_them_where_it_says_so),
    TEST("damaged records close the lock", damaged_records_close_the_lock),
    TEST("a grant with any bit changed is refused, and changes nothing", every_bit_counts),
    TEST("shapes have their verdicts", shapes_have_their_verdicts),
    TEST("other locks refuse it", other_locks_refuse_it),
    TEST("only the owner's unchanged app on its device makes one", the_owner_must_be_one),
    TEST("wrong tags are counted", wrong_tags_are_counted),
    TEST("a grant of another generation is refused", other_generations_are_refused),
    TEST("the member must hold the token that is named", the_member_must_hold_the_token),
    TEST("only delegable classes are lent", only_delegable_classes_are_lent),
    TEST("what was lent is not lent on", what_was_lent_is_not_lent_on),
    TEST("an ended grant is refused, and lends nothing", ended_grants_are_refused),
    TEST("an owner who could send no command lends nothing", owners_who_cannot_lend_nothing),
    TEST("serials only rise, and the last grant may be presented again", serials_only_rise),
    TEST("storage that fails takes nothing", storage_that_fails_takes_nothing),
};

const struct suite verifier_grant_suite = SUITE("verifier grant", tests);

#endif
