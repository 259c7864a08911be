// SPDX-License-Identifier: Apache-2.0

/// Grants over the link: an owner lends, a member opens, and power fails in every flash operation of it.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

enum { OPEN = PFD_CLASS_UNLOCK, RING = 3, USES = 6, LENT = 3, END = 1800000000, NOW = 1700000600 };

static struct rig rig;
static struct owner owner, member;
static uint8_t bytes[PFC_GRANT_BYTES];

/// Answers given before the power went.
static struct {
  bool provisioned, lent, taken_back;
  unsigned accepted;  ///< Commands of the member, of the class that was lent
} told;

static void make(struct owner *app, uint64_t seed, uint16_t classes, uint16_t delegable) {
  owner_make(app, &rig, seed, 1, USES);
  app->token.version = PFC_TOKEN_VERSION_2;
  app->token.base = 1;
  app->token.integrity_classes = classes;
  app->token.device_classes = 0;
  app->token.delegable_classes = delegable;
  owner_sign(app, &rig);
}

static void begin(uint64_t seed, bool lends) {
  rig_make(&rig, seed, true);
  rig.nor.lends = lends;
  make(&owner, 5, 1u << OPEN | 1u << RING, 1u << OPEN);
  make(&member, 6, 1u << RING, 0);
  memset(&told, 0, sizeof told);
}

static void make_grant(uint32_t serial, uint16_t classes) {
  struct pfc_grant grant = {.generation = 1, .serial = serial, .classes = classes};
  if (classes != 0) {
    grant.uses = LENT;
    grant.end = END;
  }
  memcpy(grant.hardware_id, rig.hardware.id, PFC_ID_BYTES);
  memcpy(grant.owner, owner.token.instance_id, PFC_ID_BYTES);
  memcpy(grant.member, member.digest, PFC_TOKEN_DIGEST_BYTES);
  CHECK_NUMBER(pfc_grant_create(bytes, &grant, &owner.token.secrets, owner.digest), PFC_OK);
}

/// The verdict; *done* only with the receipt of the app that must know.
static uint8_t present(unsigned link, const struct owner *reader) {
  struct pfc_reassembler reassembler;
  struct pfc_answer answer = {0};
  uint8_t nonce[PFC_NONCE_BYTES];
  if (rig_send(&rig, link, PFD_HANDLE_GRANT, bytes, sizeof bytes, &reassembler) != PFC_MESSAGE_VERDICT) return 0;
  CHECK_NUMBER(pfc_answer_decode(&answer, reassembler.bytes, reassembler.size), PFC_OK);
  if (answer.verdict != PFC_VERDICT_DONE) return answer.verdict;
  pfc_grant_digest(nonce, bytes);
  CHECK_NUMBER(pfc_receipt_check(answer.receipt, reader->token.secrets.device_key, nonce, answer.verdict,
                                 answer.detail, 0),
               PFC_OK);
  return answer.verdict;
}

static unsigned start(void) {
  unsigned link;
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  CHECK_NUMBER(owner_present(&member, &rig, link), PFC_VERDICT_HELD);
  return link;
}

static void a_member_opens_with_a_grant_at_every_mtu(void) {
  static const uint16_t mtus[] = {23, 60, 185, 517};
  for (unsigned i = 0; i < sizeof mtus / sizeof mtus[0]; i++) {
    struct pfc_capabilities told_by;
    unsigned link;
    test_case("MTU %u", mtus[i]);
    begin(71, true);
    (void)start();
    link = rig_connect(&rig, mtus[i]);
    pfc_verifier_capabilities(&rig.unit.verifier, &told_by);
    CHECK((told_by.features & PFC_FEATURE_GRANTS) != 0);
    CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_NOT_PERMITTED);
    make_grant(1, 1u << OPEN);
    CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
    CHECK_NUMBER(rig.event.a, PFC_MESSAGE_GRANT);
    CHECK_NUMBER(rig.event.b, PFC_VERDICT_DONE);
    CHECK_NUMBER(rig.event.detail, LENT);
    for (unsigned round = 1; round <= LENT; round++) {
      CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_ACCEPTED);
      CHECK_NUMBER(rig.unit.device.done, round);
    }
    CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_NOT_PERMITTED);
    CHECK_NUMBER(rig.unit.device.done, LENT);
  }
}

/// The event names the grant as apps do: by its digest. One of another length has no digest.
static void the_event_names_the_grant(void) {
  unsigned link;
  uint8_t digest[PFC_NONCE_BYTES];
  begin(72, true);
  link = start();
  make_grant(1, 1u << OPEN);
  pfc_grant_digest(digest, bytes);
  CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
  CHECK_BYTES(rig.event.message, digest, sizeof rig.event.message);
  CHECK_BYTES(rig.event.hardware, rig.hardware.id, sizeof rig.event.hardware);
}

static void hardware_without_pages_takes_no_grants(void) {
  struct pfc_capabilities told_by;
  unsigned link;
  begin(73, false);
  link = start();
  pfc_verifier_capabilities(&rig.unit.verifier, &told_by);
  CHECK((told_by.features & PFC_FEATURE_GRANTS) == 0);
  make_grant(1, 1u << OPEN);
  CHECK_NUMBER(present(link, &member), PFC_VERDICT_MALFORMED);
  CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_NOT_PERMITTED);
}

/// A grant belongs to its own characteristic, and nothing else to it.
static void a_grant_has_a_place_of_its_own(void) {
  static const uint16_t others[] = {PFD_HANDLE_TOKEN, PFD_HANDLE_COMMAND, PFD_HANDLE_ORDER, PFD_HANDLE_RECALL,
                                    PFD_HANDLE_LOG};
  uint8_t pdu[PFD_MTU_MAX], packet[PFC_PACKET_MAX];
  struct pfc_fragmenter fragmenter;
  unsigned link;
  size_t size;
  begin(74, true);
  link = start();
  make_grant(1, 1u << OPEN);
  CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_GRANT, bytes, sizeof bytes, 182), PFC_OK);
  size = pfc_fragment_next(&fragmenter, packet);
  for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
    test_case("handle %u", others[i]);
    CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_REQUEST, others[i], packet, size), PFD_LINK_OPEN);
    CHECK_NUMBER(rig_take(&rig, link, pdu), 5);
    CHECK_NUMBER(pdu[4], PFD_ATT_NOT_A_FRAGMENT);
  }
  CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_TOKEN, owner.bytes, sizeof owner.bytes, 182), PFC_OK);
  size = pfc_fragment_next(&fragmenter, packet);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_REQUEST, PFD_HANDLE_GRANT, packet, size), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, pdu), 5);
  CHECK_NUMBER(pdu[4], PFD_ATT_NOT_A_FRAGMENT);
  CHECK_NUMBER(pfd_gatt_properties(PFD_HANDLE_GRANT), PFD_PROPERTY_WRITE | PFD_PROPERTY_WRITE_COMMAND);
  CHECK_NUMBER(PFD_HANDLE_LAST, PFD_HANDLE_GRANT);
}

static void no_changed_byte_is_taken(void) {
  unsigned link;
  begin(75, true);
  link = start();
  for (size_t at = 0; at < sizeof bytes; at++) {
    make_grant(1, 1u << OPEN);
    bytes[at] ^= (uint8_t)(1u << (at % 8));
    // Wrong tags are counted on a link.
    if (at % 8 == 0) {
      pfd_unit_disconnect(&rig.unit, link);
      link = rig_connect(&rig, 185);
    }
    CHECK(present(link, &member) != PFC_VERDICT_DONE);
  }
  pfd_unit_disconnect(&rig.unit, link);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_NOT_PERMITTED);
  make_grant(1, 1u << OPEN);
  CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
}

/// Loans outlive a start, and end with provisioning.
static void loans_are_stored(void) {
  unsigned link;
  begin(76, true);
  link = start();
  make_grant(7, 1u << OPEN);
  CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_ACCEPTED);
  // The very grant again is done and lends nothing more.
  CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
  CHECK_NUMBER(rig.event.detail, LENT - 1);
  link = start();
  CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_NOT_PERMITTED);
  make_grant(1, 1u << OPEN);
  CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
}

static void damaged_loans_refuse_everything(void) {
  unsigned link;
  begin(77, true);
  link = start();
  make_grant(1, 1u << OPEN);
  CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
  for (unsigned slot = 0; slot < 2; slot++) {
    struct nor kept = rig.nor;
    nor_damage(&rig.nor, NOR_GRANT_PAGE + 2 * slot);
    CHECK_NUMBER(rig_start(&rig), PFC_OK);
    nor_damage(&rig.nor, NOR_GRANT_PAGE + 2 * slot);
    nor_damage(&rig.nor, NOR_GRANT_PAGE + 2 * slot + 1);
    CHECK_NUMBER(rig_start(&rig), PFC_E_DAMAGED);
    CHECK_NUMBER(rig.event.kind, PFD_EVENT_REFUSES);
    CHECK_NUMBER(owner_present(&owner, &rig, rig_connect(&rig, 185)), PFC_VERDICT_FAULT);
    // Provisioned anew, it serves again, and nothing is lent.
    link = start();
    CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_NOT_PERMITTED);
    CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
    rig.nor = kept;
  }
}

// Power ----------------------------------------------------------------------------------------------------------

static void open_door(unsigned link) {
  if (owner_do(&member, &rig, link, OPEN, "open") == PFC_VERDICT_ACCEPTED) told.accepted++;
}

/// From blank flash: lent, two commands, taken back, lent anew, one command.
static void live(void) {
  unsigned link;
  if (rig_provision(&rig, 0, 1) != PFC_OK) return;
  told.provisioned = true;
  if (rig_start(&rig) != PFC_OK) return;
  link = rig_connect(&rig, 185);
  (void)owner_present(&owner, &rig, link);
  (void)owner_present(&member, &rig, link);
  (void)rig_order(&rig, link, PFC_ORDER_EPOCH, NOW, NULL, 0);
  make_grant(1, 1u << OPEN);
  told.lent = present(link, &member) == PFC_VERDICT_DONE;
  open_door(link);
  open_door(link);
  if (rig.nor.dark) return;
  make_grant(2, 0);
  told.taken_back = present(link, &owner) == PFC_VERDICT_DONE;
}

static void check_afterwards(void) {
  unsigned link, opened = told.accepted;
  uint8_t verdict;
  if (!told.provisioned) CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  CHECK_NUMBER(owner_present(&member, &rig, link), PFC_VERDICT_HELD);
  // The first grant once more: a lost answer is told again, and a replay lends nothing more.
  make_grant(1, 1u << OPEN);
  verdict = present(link, &member);
  if (told.taken_back) CHECK_NUMBER(verdict, PFC_VERDICT_NOT_PERMITTED);
  if (told.lent && !told.taken_back) CHECK(verdict == PFC_VERDICT_DONE || verdict == PFC_VERDICT_NOT_PERMITTED);
  if (!told.lent) CHECK_NUMBER(verdict, PFC_VERDICT_DONE);
  while (opened <= LENT && owner_do(&member, &rig, link, OPEN, "open") == PFC_VERDICT_ACCEPTED) opened++;
  CHECK(opened <= LENT);
  if (told.taken_back) CHECK_NUMBER(opened, told.accepted);
  // The owner's own uses: each accepted command of the member cost one, and one may be lost with a cut.
  CHECK(owner_do(&owner, &rig, link, OPEN, "open") == PFC_VERDICT_ACCEPTED);
  CHECK(rig.unit.verifier.ledger.slots[0].uses <= USES - 1 - told.accepted);
  CHECK(!rig.nor.broke_rule);
}

static void begin_life(void) { begin(78, true); }

static void a_cut_in_any_operation(void) {
  begin_life();
  live();
  CHECK_NUMBER(told.accepted, 2);
  CHECK(told.lent && told.taken_back);
  rig_cut_each(&rig, &(struct life){"loans", 3 * NOR_TEARS, begin_life, live, check_afterwards});
}

/// Hardware of the field that took no grants before: its pages are blank, and power fails while it begins.
static void a_cut_at_the_first_start_with_grants(void) {
  unsigned operations;
  begin(79, false);
  (void)start();
  rig.nor.lends = true;
  rig.nor.operations = 0;
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  operations = rig.nor.operations;
  CHECK(operations >= 2 * PFC_SLOTS);
  for (unsigned at = 1; at <= operations; at++) {
    for (unsigned turn = 0; turn < 3 * NOR_TEARS; turn++) {
      unsigned link;
      test_case("operation %u of %u, turn %u", at, operations, turn);
      begin(79, false);
      (void)start();
      rig.nor.lends = true;
      rig.nor.operations = 0;
      rig.nor.dice.state = 100 * at + turn;
      rig.nor.tear = (enum nor_tear)(turn % NOR_TEARS);
      rig.nor.cut = at;
      CHECK_NUMBER(rig_start(&rig), PFC_E_STORAGE);
      nor_power(&rig.nor);
      REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
      link = rig_connect(&rig, 185);
      make_grant(1, 1u << OPEN);
      CHECK_NUMBER(present(link, &member), PFC_VERDICT_DONE);
      CHECK_NUMBER(owner_do(&member, &rig, link, OPEN, "open"), PFC_VERDICT_ACCEPTED);
    }
  }
}

static const struct test tests[] = {
    TEST("a member opens with a grant at every MTU", a_member_opens_with_a_grant_at_every_mtu),
    TEST("the event names the grant", the_event_names_the_grant),
    TEST("hardware without pages takes no grants", hardware_without_pages_takes_no_grants),
    TEST("a grant has a place of its own", a_grant_has_a_place_of_its_own),
    TEST("no changed byte is taken", no_changed_byte_is_taken),
    TEST("loans are stored", loans_are_stored),
    TEST("damaged loans refuse everything", damaged_loans_refuse_everything),
    TEST("after a cut in any flash operation no use is lent twice", a_cut_in_any_operation),
    TEST("a cut at the first start with grants", a_cut_at_the_first_start_with_grants),
};

const struct suite unit_grant_suite = SUITE("unit-grant", tests);
