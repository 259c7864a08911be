// SPDX-License-Identifier: Apache-2.0

/// The whole unit: several centrals, eviction, replies, time.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

static struct rig rig;
static struct owner owner;

static unsigned make(bool clock) {
  rig_make(&rig, 21, clock);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  owner_make(&owner, &rig, 5, 1, 1000);
  unsigned link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  return link;
}

static void read_reply(unsigned link, uint8_t reply[PFD_REPLY_BYTES]) {
  uint8_t pdu[PFD_MTU_MAX];
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_REPLY, NULL, 0), PFD_LINK_OPEN);
  REQUIRE(CHECK_NUMBER(rig_take(&rig, link, pdu), 1 + PFD_REPLY_BYTES));
  memcpy(reply, pdu + 1, PFD_REPLY_BYTES);
}

static void the_reply_is_for_whoever_commanded(void) {
  uint8_t reply[PFD_REPLY_BYTES];
  unsigned link = make(true), other = rig_connect(&rig, 23);
  read_reply(link, reply);
  CHECK_ZEROS(reply, sizeof reply);
  CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  read_reply(link, reply);
  CHECK_COUNT(get64(reply), owner.challenge.counter);
  CHECK_NUMBER(reply[8], PFD_DONE);
  CHECK_NUMBER(reply[9], 1);
  CHECK_NUMBER(reply[14], 1);
  CHECK_NUMBER(owner_do(&owner, &rig, link, 2, "autolock 300"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(owner_do(&owner, &rig, link, 3, "install 0"), PFC_VERDICT_ACCEPTED);
  read_reply(link, reply);
  CHECK_NUMBER(reply[8], PFD_DONE_RANGE);
  CHECK_NUMBER(reply[10] | reply[11] << 8, 300);
  CHECK_NUMBER(reply[14], 2);
  read_reply(other, reply);
  CHECK_ZEROS(reply, sizeof reply);
  pfd_unit_disconnect(&rig.unit, link);
  CHECK_NUMBER(rig_connect(&rig, 185), link);
  read_reply(link, reply);
  CHECK_ZEROS(reply, sizeof reply);
}

static void interleaved_fragments_of_two_centrals_do_not_mix(void) {
  struct owner second;
  struct pfc_fragmenter out[2];
  uint8_t packet[PFC_PACKET_MAX], pdu[PFD_MTU_MAX];
  size_t size;
  bool more = true;
  (void)make(true);
  unsigned links[2] = {rig_connect(&rig, 23), rig_connect(&rig, 23)};
  owner_make(&second, &rig, 6, 1, 3);
  CHECK_NUMBER(pfc_fragment_init(&out[0], PFC_MESSAGE_TOKEN, owner.bytes, sizeof owner.bytes, 20), PFC_OK);
  CHECK_NUMBER(pfc_fragment_init(&out[1], PFC_MESSAGE_TOKEN, second.bytes, sizeof second.bytes, 20), PFC_OK);
  while (more) {
    more = false;
    for (unsigned i = 0; i < 2; i++) {
      size = pfc_fragment_next(&out[i], packet);
      if (size == 0) continue;
      more = true;
      (void)rig_put(&rig, links[i], PFD_ATT_WRITE_COMMAND, PFD_HANDLE_TOKEN, packet, size);
    }
  }
  for (unsigned i = 0; i < 2; i++) {
    CHECK(rig_take(&rig, links[i], pdu) > 0);
    CHECK_NUMBER(pdu[3 + 4], PFC_VERDICT_HELD);
  }
}

static void a_challenge_dies_with_its_link_and_is_of_its_link_alone(void) {
  unsigned link = make(true), other = rig_connect(&rig, 185);
  CHECK(owner_ask(&owner, &rig, link));
  owner_prepare(&owner, &rig, 1, "open");
  CHECK_NUMBER(owner_send(&owner, &rig, other), PFC_VERDICT_STALE);
  pfd_unit_disconnect(&rig.unit, link);
  CHECK_ZEROS(&rig.unit.links[link], sizeof rig.unit.links[link]);
  CHECK_NUMBER(rig_connect(&rig, 185), link);
  CHECK_NUMBER(owner_send(&owner, &rig, link), PFC_VERDICT_STALE);
  CHECK_NUMBER(rig.unit.device.done, 0);
}

static void refused_packets_are_told_at_powers_of_ten(void) {
  static const uint8_t junk[4] = {PFD_ATT_WRITE_COMMAND, PFD_HANDLE_COMMAND, 0, 7};
  unsigned link = make(true);
  for (unsigned i = 0; i < 100000; i++) CHECK_NUMBER(rig_write(&rig, link, junk, sizeof junk), PFD_LINK_OPEN);
  CHECK_NUMBER(rig.events[PFD_EVENT_REFUSED], 6);
  CHECK_COUNT(rig.event.number, 100000);
}

/// 30 days, a visit each five minutes, a restart each day, orders once a day.
static void a_month_passes_and_nothing_grows(void) {
  enum { DAYS = 30, VISITS = 24 * 12, SECONDS = 300 };
  static struct rig kept;
  unsigned erases;
  uint32_t generation = 1;
  (void)make(true);
  kept = rig;
  for (unsigned day = 0; day < DAYS; day++) {
    test_case("day %u", day);
    for (unsigned visit = 0; visit < VISITS; visit++) {
      unsigned link = rig_connect(&rig, visit % 2 ? 185 : 23);
      // It is served on the same link always: none is lost on the way.
      REQUIRE(CHECK_NUMBER(link, day == 0 ? 1 : 0));
      REQUIRE(CHECK_NUMBER(owner_do(&owner, &rig, link, 1, visit % 2 ? "open" : "close"), PFC_VERDICT_ACCEPTED));
      if (rig.unit.verifier.ledger.slots[0].uses < 5) {
        owner_make(&owner, &rig, 5, ++generation, 1000);
        REQUIRE(CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD));
      }
      pfd_unit_disconnect(&rig.unit, link);
      rig.seconds += SECONDS;
      pfd_unit_tick(&rig.unit);
    }
    unsigned link = rig_connect(&rig, 185);
    CHECK_NUMBER(rig_order(&rig, link, PFC_ORDER_EPOCH, 1710000000 + day * 86400, NULL, 0), PFC_VERDICT_DONE);
    REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
  }
  erases = rig.nor.erases - kept.nor.erases;
  test_note("month: %d visits, %u flash writes, %u erases\n", DAYS * VISITS,
            rig.nor.operations - kept.nor.operations - erases, erases);
  // One write for each command, token, order and start, and an erase for each four (pages of 1024 bytes).
  CHECK(erases <= (DAYS * VISITS + 200) / 4);
  CHECK(!rig.nor.broke_rule);
  CHECK_COUNT(rig.unit.accepted, 0);
}

static const struct test tests[] = {
    TEST("the reply goes to the commanding central, on that link alone", the_reply_is_for_whoever_commanded),
    TEST("interleaved fragments of two centrals do not mix", interleaved_fragments_of_two_centrals_do_not_mix),
    TEST("a challenge is of its link alone, and dies with it",
         a_challenge_dies_with_its_link_and_is_of_its_link_alone),
    TEST("a flood of refused packets tells itself six times in a hundred thousand",
         refused_packets_are_told_at_powers_of_ten),
    TEST("a month passes and nothing grows", a_month_passes_and_nothing_grows),
};

const struct suite unit_suite = SUITE("unit", tests);
