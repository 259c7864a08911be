// SPDX-License-Identifier: Apache-2.0

/// The attribute server, PDU by PDU, against docs/LINK.md.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

static struct rig rig;
static uint8_t answer[PFD_MTU_MAX];

static unsigned make(uint16_t mtu) { return rig_serve(&rig, 11, mtu); }

static void expect(unsigned link, const char *request, const char *response) {
  rig_expect(&rig, link, request, response);
}

static void discovery_finds_what_the_page_says(void) {
  unsigned link = make(185);
  expect(link, "10 0100 ffff 0028", "11 14 0100 1b00 54453292db07cdb2444fda3e010019db");
  expect(link, "10 0200 ffff 0028", "01 10 0200 0a");
  expect(link, "10 0100 ffff 0128", "01 10 0100 10");
  expect(link, "08 0200 0300 0328", "09 15 0200 0c 0300 54453292db07cdb2444fda3e020019db");
  expect(link, "08 0f00 1200 0328", "09 15 1000 0c 1100 54453292db07cdb2444fda3e080019db"
                                    "1200 02 1300 54453292db07cdb2444fda3e090019db");
  expect(link, "08 0100 ffff 0229", "09 04 0600 0100 0b00 0100");
  expect(link, "08 0100 ffff 002a", "01 08 0100 0a");
  expect(link, "08 0000 ffff 0328", "01 08 0000 01");
  expect(link, "08 0500 0400 0328", "01 08 0500 01");
  expect(link, "08 0500 0600", "01 08 0500 04");
  expect(link, "08", "01 08 0000 04");
  // The declarations of all twelve characteristics, as many in one response as fit.
  static const uint8_t properties[12] = {0x0c, 0x1e, 0x0c, 0x10, 0x02, 0x0c,
                                         0x0c, 0x02, 0x02, 0x0c, 0x02, 0x0c};
  for (unsigned mtu = 23; mtu <= 65; mtu += 21) {
    unsigned other = rig_connect(&rig, (uint16_t)mtu), found = 0;
    uint16_t from = 1;
    for (;;) {
      uint8_t pdu[7] = {0x08, 0, 0, 0xff, 0xff, 0x03, 0x28};
      put16(pdu + 1, from);
      CHECK_NUMBER(rig_write(&rig, other, pdu, sizeof pdu), PFD_LINK_OPEN);
      size_t size = rig_take(&rig, other, answer);
      if (answer[0] == PFD_ATT_ERROR) break;
      CHECK_NUMBER((size - 2) % 21, 0);
      CHECK((size - 2) / 21 == (mtu - 2) / 21 || found + (size - 2) / 21 == 12);
      for (size_t at = 2; at + 21 <= size; at += 21) {
        REQUIRE(CHECK(found < 12));
        CHECK_NUMBER(answer[at + 2], properties[found]);
        CHECK_NUMBER(answer[at + 5 + 12], 2 + found);
        from = (uint16_t)(answer[at] + 1);
        found++;
      }
    }
    CHECK_NUMBER(found, 12);
  }
}

static void the_smaller_mtu_counts_and_once(void) {
  unsigned link = make(23);
  expect(link, "02 1600", "01 02 0000 04");
  expect(link, "02 17", "01 02 0000 04");
  expect(link, "02 b900", "03 0502");
  CHECK_NUMBER(rig.unit.links[link].mtu, 185);
  expect(link, "02 0502", "01 02 0000 06");
  CHECK_NUMBER(rig.unit.links[link].mtu, 185);
  link = rig_connect(&rig, 0xFFFF);
  CHECK_NUMBER(rig.unit.links[link].mtu, 517);
}

static void refuses_by_the_table_of_errors(void) {
  unsigned link = make(23);
  expect(link, "", "");
  expect(link, "0a 0000", "01 0a 0000 01");
  expect(link, "0a 1c00", "01 0a 1c00 01");
  expect(link, "0a 0300", "01 0a 0300 02");
  expect(link, "0a 0a00", "01 0a 0a00 02");
  expect(link, "0a 03", "01 0a 0000 04");
  expect(link, "12 0d00 00", "01 12 0d00 03");
  expect(link, "12 0a00 00", "01 12 0a00 03");
  expect(link, "12 1300 00", "01 12 1300 03");
  expect(link, "12 1900 00", "01 12 1900 03");
  expect(link, "12 1c00 00", "01 12 1c00 01");
  expect(link, "12 06", "01 12 0000 04");
  expect(link, "12 0600 01", "01 12 0600 0d");
  expect(link, "12 0600 0200", "01 12 0600 13");
  expect(link, "12 0300", "01 12 0300 80");
  expect(link, "12 0800 c101000000", "01 12 0800 80");
  // A whole ASK, at the wrong characteristic and at the right one.
  expect(link, "12 0800 c100 0100 01 65d5", "01 12 0800 80");
  expect(link, "0e 0300 0500", "01 0e 0000 06");
  expect(link, "0e 0300 0500", "01 0e 0000 06");
  expect(link, "16 0300 0000", "01 16 0000 06");
  // Commands, answers and confirmations get no answer.
  expect(link, "52 1400 00", "");
  expect(link, "52", "");
  expect(link, "d2 0300 00", "");
  expect(link, "0b", "");
  expect(link, "1b 0300", "");
  expect(link, "1e", "");
  expect(link, "0a 0600", "0b 0100");
  expect(link, "12 0b00 0000", "13");
  expect(link, "0a 0b00", "0b 0000");
  // Longer than the MTU.
  expect(link, "12 0300 c301 0000000000000000000000000000000000000000", "01 12 0000 04");
  expect(link, "52 0300 c301 0000000000000000000000000000000000000000", "");
}

// Readers of docs/LINK.md guessed each of these wrong once.
static void corners_of_the_page_hold(void) {
  unsigned link = make(23);
  // A declaration is read by type only.
  expect(link, "0a 0100", "01 0a 0100 02");
  expect(link, "0a 0200", "01 0a 0200 02");
  // The handle of an Error Response is the request's first one, also if the length is wrong.
  expect(link, "08 0500 ffff 03", "01 08 0500 04");
  expect(link, "10 0700 ffff", "01 10 0700 04");
  // Odd opcodes, and those with bit 6, are ignored; other even ones are requests.
  expect(link, "1e", "");
  expect(link, "15", "");
  expect(link, "25", "");
  expect(link, "99", "");
  expect(link, "42", "");
  expect(link, "18", "01 18 0000 06");
  // A type of 16 bytes is well formed; no attribute and no group has it.
  expect(link, "08 0100 ffff fb349b5f800000800010000003280000", "01 08 0100 0a");
  expect(link, "10 0100 ffff fb349b5f800000800010000000280000", "01 10 0100 10");
  // Read By Type finds characteristics and descriptors, not services.
  expect(link, "08 0100 ffff 0028", "01 08 0100 0a");
}

static void attributes_are_found_as_the_bluetooth_core_says(void) {
  // Vol 3, Part F, 3.4.3: Find Information, then Find By Type Value.
  static const uint8_t numbers[] = {2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
  unsigned link = make(185), values = 0;
  expect(link, "04 0100 ffff", "05 01 0100 0028 0200 0328");
  expect(link, "04 0300 ffff", "05 02 0300 54453292db07cdb2444fda3e020019db");
  expect(link, "04 0600 0700", "05 01 0600 0229 0700 0328");
  expect(link, "04 0600 0600", "05 01 0600 0229");
  expect(link, "04 1300 ffff", "05 02 1300 54453292db07cdb2444fda3e090019db");
  expect(link, "04 1500 ffff", "05 02 1500 54453292db07cdb2444fda3e0a0019db");
  expect(link, "04 1700 ffff", "05 02 1700 54453292db07cdb2444fda3e0b0019db");
  expect(link, "04 1900 ffff", "05 02 1900 54453292db07cdb2444fda3e0c0019db");
  expect(link, "04 1b00 ffff", "05 02 1b00 54453292db07cdb2444fda3e0d0019db");
  expect(link, "04 1c00 ffff", "01 04 1c00 0a");
  expect(link, "04 0000 ffff", "01 04 0000 01");
  expect(link, "04 0500 0400", "01 04 0500 01");
  expect(link, "04 0100 ff", "01 04 0100 04");
  expect(link, "04 0100 ffff 00", "01 04 0100 04");
  expect(link, "04", "01 04 0000 04");
  // A client that goes on behind the last handle it was told finds each attribute once.
  for (unsigned mtu = 23; mtu <= 185; mtu += 81) {
    unsigned other = rig_connect(&rig, (uint16_t)mtu);
    uint16_t next = 1;
    values = 0;
    for (;;) {
      uint8_t pdu[5] = {0x04, 0, 0, 0xff, 0xff};
      put16(pdu + 1, next);
      CHECK_NUMBER(rig_write(&rig, other, pdu, sizeof pdu), PFD_LINK_OPEN);
      size_t size = rig_take(&rig, other, answer);
      if (answer[0] == PFD_ATT_ERROR) break;
      size_t entry = answer[1] == 1 ? 4 : 18;
      REQUIRE(CHECK(size > 2 && (size - 2) % entry == 0));
      for (size_t at = 2; at < size; at += entry) {
        REQUIRE(CHECK_NUMBER(answer[at] | answer[at + 1] << 8, next));
        next++;
        if (entry != 18) continue;
        REQUIRE(CHECK(values < sizeof numbers));
        CHECK_NUMBER(answer[at + 2 + 12], numbers[values++]);
      }
    }
    CHECK_NUMBER(next, PFD_HANDLE_LAST + 1);
    CHECK_NUMBER(values, sizeof numbers);
  }
  expect(link, "06 0100 ffff 0028 54453292db07cdb2444fda3e010019db", "07 0100 1b00");
  expect(link, "06 0100 0100 0028 54453292db07cdb2444fda3e010019db", "07 0100 1b00");
  expect(link, "06 0200 ffff 0028 54453292db07cdb2444fda3e010019db", "01 06 0200 0a");
  expect(link, "06 0100 ffff 0028 54453292db07cdb2444fda3e020019db", "01 06 0100 0a");
  expect(link, "06 0100 ffff 0028 0f18", "01 06 0100 0a");
  expect(link, "06 0100 ffff 0028", "01 06 0100 0a");
  expect(link, "06 0100 ffff 0328 54453292db07cdb2444fda3e010019db", "01 06 0100 0a");
  expect(link, "06 0000 ffff 0028 54453292db07cdb2444fda3e010019db", "01 06 0000 01");
  expect(link, "06 0200 0100 0028 54453292db07cdb2444fda3e010019db", "01 06 0200 01");
  expect(link, "06 0100 ffff 00", "01 06 0100 04");
}

static void long_values_are_read_from_one_snapshot(void) {
  uint8_t value[64];
  unsigned link = make(23);
  expect(link, "0c 0500 0100", "01 0c 0500 07");
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_CHALLENGE, NULL, 0), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 23);
  memcpy(value, answer + 1, 22);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_BLOB_REQUEST, PFD_HANDLE_CHALLENGE, "\x16\0", 2), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 1 + 40 - 22);
  memcpy(value + 22, answer + 1, 18);
  CHECK_COUNT(get64(value), rig.unit.links[link].session.challenge.counter);
  CHECK_BYTES(value + 8, rig.unit.links[link].session.challenge.bytes, PFC_CHALLENGE_BYTES);
  expect(link, "0c 0500 2800", "0d");
  expect(link, "0c 0500 2900", "01 0c 0500 07");
  expect(link, "0c 0d00 0100", "01 0c 0d00 07");
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_STATUS, NULL, 0), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 23);
  CHECK_BYTES(answer + 3, rig.hardware.id, PFC_ID_BYTES);
  // Reading is asking: a second challenge has taken the first one's place.
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_CHALLENGE, NULL, 0), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 23);
  CHECK_COUNT(get64(answer + 1), get64(value) + 1);
}

static int no_random(void *context, uint8_t *bytes, size_t size) {
  (void)context;
  memset(bytes, 0, size);
  return -1;
}

static void a_failed_read_leaves_no_snapshot_to_continue(void) {
  unsigned link = make(23);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_CHALLENGE, NULL, 0), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 23);
  rig.unit.verifier.platform.random = no_random;
  expect(link, "0a 0500", "01 0a 0500 0e");
  expect(link, "0c 0500 1600", "01 0c 0500 07");
}

static void an_answer_that_was_sent_is_erased(void) {
  struct owner owner;
  unsigned link = make(185);
  owner_make(&owner, &rig, 1, 1, 5);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  CHECK_ZEROS(rig.unit.links[link].reply, sizeof rig.unit.links[link].reply);
  CHECK_ZEROS(rig.unit.links[link].out, sizeof rig.unit.links[link].out);
}

static void nothing_is_judged_whose_answer_nobody_could_hear(void) {
  struct owner owner;
  unsigned link = make(185);
  owner_make(&owner, &rig, 1, 1, 5);
  expect(link, "12 0b00 0000", "13");
  CHECK_NUMBER(owner_present(&owner, &rig, link), 0);
  CHECK_NUMBER(rig.unit.verifier.ledger.slots[0].state, PFC_SLOT_FREE);
  expect(link, "12 0300 8300", "01 12 0300 fd");
  expect(link, "12 0b00 0100", "13");
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  expect(link, "12 0600 0000", "13");
  expect(link, "12 0500 c100 0100 01 0000", "01 12 0500 fd");
}

static void a_write_request_says_what_became_of_the_fragment(void) {
  struct owner owner;
  struct pfc_fragmenter fragmenter;
  uint8_t packet[PFC_PACKET_MAX], spare[PFC_PACKET_MAX];
  size_t size;
  unsigned link = make(185);
  owner_make(&owner, &rig, 1, 1, 5);
  CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_TOKEN, owner.bytes, sizeof owner.bytes, 182), PFC_OK);
  size = pfc_fragment_next(&fragmenter, packet);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_REQUEST, PFD_HANDLE_TOKEN, packet, size), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 1);
  CHECK_NUMBER(answer[0], PFD_ATT_WRITE_RESPONSE);
  size = pfc_fragment_next(&fragmenter, packet);
  memcpy(spare, packet, size);
  spare[size - 1] ^= 1;
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_REQUEST, PFD_HANDLE_TOKEN, spare, size), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 5);
  CHECK_NUMBER(answer[4], PFD_ATT_FRAGMENT_LOST);
  // The response to the last one comes before the verdict.
  CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_TOKEN, owner.bytes, sizeof owner.bytes, 182), PFC_OK);
  while ((size = pfc_fragment_next(&fragmenter, packet)) != 0) {
    CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_REQUEST, PFD_HANDLE_TOKEN, packet, size), PFD_LINK_OPEN);
    CHECK_NUMBER(rig_take(&rig, link, answer), 1);
    CHECK_NUMBER(answer[0], PFD_ATT_WRITE_RESPONSE);
  }
  CHECK(rig_take(&rig, link, answer) > 1);
  CHECK_NUMBER(answer[0], PFD_ATT_NOTIFICATION);
  CHECK_NUMBER(answer[3 + 4], PFC_VERDICT_HELD);
}

static void a_second_open_request_ends_the_link(void) {
  static const uint8_t read[3] = {PFD_ATT_READ_REQUEST, PFD_HANDLE_STATUS, 0};
  static const uint8_t junk[4] = {PFD_ATT_WRITE_COMMAND, PFD_HANDLE_COMMAND, 0, 7};
  unsigned link = make(185);
  rig.inboxes[link].full = true;
  CHECK_NUMBER(rig_write(&rig, link, read, sizeof read), PFD_LINK_OPEN);
  CHECK_NUMBER(pfd_unit_is_sending(&rig.unit, link), 1);
  CHECK_NUMBER(rig_write(&rig, link, junk, sizeof junk), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_write(&rig, link, read, sizeof read), PFD_LINK_CLOSE);
  // Also when the first response could leave by now: the second request came before it.
  link = rig_connect(&rig, 185);
  rig.inboxes[link].full = true;
  CHECK_NUMBER(rig_write(&rig, link, read, sizeof read), PFD_LINK_OPEN);
  rig.inboxes[link].full = false;
  CHECK_NUMBER(rig_write(&rig, link, read, sizeof read), PFD_LINK_CLOSE);
}

static void a_slow_central_gets_every_piece_in_order(void) {
  static const uint8_t ask[] = {0xc1, 0, 1, 0, 1, 0, 0};
  struct pfc_fragmenter fragmenter;
  struct pfc_reassembler whole;
  uint8_t packet[PFC_PACKET_MAX];
  unsigned link = make(23);
  CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_ASK, ask + 4, 1, 20), PFC_OK);
  size_t size = pfc_fragment_next(&fragmenter, packet);
  rig.inboxes[link].full = true;
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_REQUEST, PFD_HANDLE_CHALLENGE, packet, size), PFD_LINK_OPEN);
  CHECK_NUMBER(rig.inboxes[link].count, 0);
  pfc_reassemble_init(&whole);
  enum pfc_frame_result result = PFC_FRAME_MORE;
  for (unsigned piece = 0; piece < 4; piece++) {
    CHECK_NUMBER(pfd_unit_is_sending(&rig.unit, link), 1);
    // Room for one PDU at a time.
    rig.inboxes[link].count = RIG_QUEUE - 1;
    rig.inboxes[link].full = false;
    pfd_unit_flush(&rig.unit, link);
    size = rig.inboxes[link].pdus[RIG_QUEUE - 1].size;
    memcpy(answer, rig.inboxes[link].pdus[RIG_QUEUE - 1].bytes, size);
    if (piece == 0) CHECK_NUMBER(answer[0], PFD_ATT_WRITE_RESPONSE);
    if (piece > 0) result = pfc_reassemble(&whole, answer + 3, size - 3);
  }
  CHECK_NUMBER(result, PFC_FRAME_COMPLETE);
  CHECK_NUMBER(whole.type, PFC_MESSAGE_CHALLENGE);
  rig.inboxes[link].count = 0;
  pfd_unit_flush(&rig.unit, link);
  CHECK_NUMBER(pfd_unit_is_sending(&rig.unit, link), 0);
}

/// PDUs that go over the air when `count` packets of a message are written, and what comes back.
static void the_budget_of_the_page_holds(void) {
  struct owner owner;
  unsigned link = make(23);
  owner_make(&owner, &rig, 1, 1, 5);
  CHECK_NUMBER(pfc_fragment_count(PFC_MESSAGE_TOKEN, PFC_TOKEN_BYTES, 20), 17);
  CHECK_NUMBER(pfc_fragment_count(PFC_MESSAGE_VERDICT, PFC_VERDICT_MESSAGE_BYTES, 20), 3);
  CHECK_NUMBER(pfc_fragment_count(PFC_MESSAGE_COMMAND, PFC_COMMAND_INTEGRITY_BYTES + 8, 20), 6);
  CHECK_NUMBER(pfc_fragment_count(PFC_MESSAGE_COMMAND, PFC_COMMAND_INTEGRITY_BYTES + 8, 182), 1);
  CHECK_NUMBER(pfc_fragment_count(PFC_MESSAGE_VERDICT, PFC_VERDICT_MESSAGE_BYTES, 182), 1);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  // A repeat at MTU 185: read, response, write, notification.
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_CHALLENGE, NULL, 0), PFD_LINK_OPEN);
  CHECK_NUMBER(rig.inboxes[link].count, 1);
  CHECK_NUMBER(rig_take(&rig, link, answer), 41);
  CHECK_NUMBER(pfc_challenge_decode(&owner.challenge, answer + 1, 40), PFC_OK);
  owner_prepare(&owner, &rig, 0, "status");
  CHECK_NUMBER(owner_send(&owner, &rig, link), PFC_VERDICT_ACCEPTED);
}

static const struct test tests[] = {
    TEST("discovery finds what the page says", discovery_finds_what_the_page_says),
    TEST("attributes are found as the Bluetooth core says", attributes_are_found_as_the_bluetooth_core_says),
    TEST("the smaller MTU counts, and is exchanged once", the_smaller_mtu_counts_and_once),
    TEST("refusals follow the table of errors", refuses_by_the_table_of_errors),
    TEST("corners that readers of the page guessed wrong", corners_of_the_page_hold),
    TEST("a long value is read from one snapshot, and reading the challenge asks for it",
         long_values_are_read_from_one_snapshot),
    TEST("a failed read leaves no snapshot to continue", a_failed_read_leaves_no_snapshot_to_continue),
    TEST("an answer that was sent is erased", an_answer_that_was_sent_is_erased),
    TEST("a message is not judged if its answer could not be heard", nothing_is_judged_whose_answer_nobody_could_hear),
    TEST("a write request says what became of the fragment", a_write_request_says_what_became_of_the_fragment),
    TEST("a second request while one is open ends the link", a_second_open_request_ends_the_link),
    TEST("a slow central gets every piece, in order", a_slow_central_gets_every_piece_in_order),
    TEST("the packet budget holds", the_budget_of_the_page_holds),
};

const struct suite link_suite = SUITE("link", tests);
