// SPDX-License-Identifier: Apache-2.0

/// Bounds of the attribute server from both sides, against docs/LINK.md.

#include <stdlib.h>
#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

static struct rig rig;
static uint8_t answer[PFD_MTU_MAX];

/// PDUs in hexadecimal; an empty response: there is none.
struct exchange {
  const char *request, *response;
};

static unsigned make(uint16_t mtu) { return rig_serve(&rig, 12, mtu); }

static void expect(unsigned link, const char *request, const char *response) {
  rig_expect(&rig, link, request, response);
}

static void expect_each(unsigned link, const struct exchange *exchanges, size_t count) {
  for (size_t i = 0; i < count; i++) expect(link, exchanges[i].request, exchanges[i].response);
}

static void handles_have_their_properties_and_messages(void) {
  // By handle, from 0 on: section 3. Read 2, Write Command 4, Write Request 8, notify 16; the types of section 10 of
  // SPEC.md.
  static const struct {
    uint8_t properties, message;
  } attributes[] = {
      {0, 0}, {0, 0},  {0, 0}, {12, 3}, {0, 0}, {30, 1}, {0, 0}, {0, 0},  {12, 4}, {0, 0},
      {16, 0}, {0, 0}, {0, 0}, {2, 0},  {0, 0}, {12, 6}, {0, 0}, {12, 7}, {0, 0},  {2, 0},
      {0, 0}, {2, 0},  {0, 0}, {12, 11}, {0, 0}, {2, 0}, {0, 0}, {12, 13}, {0, 0}, {0, 0},
  };
  for (uint16_t handle = 0; handle < sizeof attributes / sizeof attributes[0]; handle++) {
    test_case("handle %u", handle);
    CHECK_NUMBER(pfd_gatt_properties(handle), attributes[handle].properties);
    CHECK_NUMBER(pfd_gatt_message_type(handle), attributes[handle].message);
  }
}

static void ranges_end_where_they_say(void) {
  static const struct exchange exchanges[] = {
      {"08 0600 0600 0229", "09 04 0600 0100"},
      {"08 0600 0a00 0229", "09 04 0600 0100"},
      {"08 0500 0b00 0229", "09 04 0600 0100 0b00 0100"},
      {"08 0700 0b00 0229", "09 04 0b00 0100"},
      {"08 0b00 0b00 0229", "09 04 0b00 0100"},
      {"08 0700 0a00 0229", "01 08 0700 0a"},
      {"08 0100 0500 0229", "01 08 0100 0a"},
      {"08 0c00 ffff 0229", "01 08 0c00 0a"},
      {"08 0200 0200 0328", "09 15 0200 0c 0300 54453292db07cdb2444fda3e020019db"},
      {"08 0300 0400 0328", "09 15 0400 1e 0500 54453292db07cdb2444fda3e030019db"},
      {"08 1a00 1a00 0328", "09 15 1a00 0c 1b00 54453292db07cdb2444fda3e0d0019db"},
      {"08 0300 0300 0328", "01 08 0300 0a"},
      {"08 1b00 ffff 0328", "01 08 1b00 0a"},
      {"10 0100 0100 0028", "11 14 0100 1b00 54453292db07cdb2444fda3e010019db"},
      {"04 0100 0100", "05 01 0100 0028"},
      {"04 1b00 1b00", "05 02 1b00 54453292db07cdb2444fda3e0d0019db"},
      {"06 0100 0100 0028 54453292db07cdb2444fda3e010019db", "07 0100 1b00"},
      {"06 0200 ffff 0028 54453292db07cdb2444fda3e010019db", "01 06 0200 0a"},
      {"06 0100 ffff 0328 54453292db07cdb2444fda3e010019db", "01 06 0100 0a"},
      {"06 0100 ffff 0028 54453292db07cdb2444fda3e020019db", "01 06 0100 0a"},
      {"06 0100 ffff 0028 54453292db07cdb2444fda3e0100 19", "01 06 0100 0a"},
      {"06 0100 ffff 0028", "01 06 0100 0a"},
      {"06 0100 ffff 00", "01 06 0100 04"},
  };
  expect_each(make(185), exchanges, sizeof exchanges / sizeof exchanges[0]);
}

static void refusals_name_the_first_handle_and_the_error(void) {
  static const struct exchange exchanges[] = {
      {"08 05", "01 08 0000 04"},          {"08 0500", "01 08 0500 04"},
      {"04 05", "01 04 0000 04"},          {"04 0500", "01 04 0500 04"},
      {"0a 1b00", "01 0a 1b00 02"},        {"0a 1c00", "01 0a 1c00 01"},
      {"0a 0d00 00", "01 0a 0d00 04"},     {"0c 0d00", "01 0c 0d00 04"},
      {"0c 0d00 00", "01 0c 0d00 04"},     {"0c 0d00 0000 00", "01 0c 0d00 04"},
      {"12 0000 00", "01 12 0000 01"},     {"12 0100 00", "01 12 0100 03"},
      {"12 1b00 00", "01 12 1b00 80"},     {"12 0300", "01 12 0300 80"},
      {"12 0300 83", "01 12 0300 80"},     {"12 0300 8300", "01 12 0300 80"},
      {"12 0600 0001", "01 12 0600 13"},   {"12 0600 010000", "01 12 0600 0d"},
      {"12 0600", "01 12 0600 0d"},        {"12", "01 12 0000 04"},
      {"02", "01 02 0000 04"},             {"02 1700 00", "01 02 0000 04"},
      {"0a", "01 0a 0000 04"},             {"52 0300", ""},
  };
  expect_each(make(23), exchanges, sizeof exchanges / sizeof exchanges[0]);
}

static void the_shortest_mtu_is_exchanged(void) {
  unsigned link = make(23);
  expect(link, "02 1600", "01 02 0000 04");
  expect(link, "02 1700", "03 0502");
  CHECK_NUMBER(rig.unit.links[link].mtu, 23);
  expect(link, "02 b900", "01 02 0000 06");
  // A PDU of as many bytes as the MTU is taken, and one more is not.
  expect(link, "12 0300 c301 000000000000000000000000000000000000", "01 12 0300 80");
  expect(link, "12 0300 c301 00000000000000000000000000000000000000", "01 12 0000 04");
}

static void a_read_value_has_one_byte_less_than_the_mtu(void) {
  for (uint16_t mtu = 28; mtu <= 42; mtu++) {
    unsigned link = make(mtu);
    test_case("MTU %u", mtu);
    CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_CHALLENGE, NULL, 0), PFD_LINK_OPEN);
    CHECK_NUMBER(rig_take(&rig, link, answer), mtu < 41 ? mtu : 41);
    CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_STATUS, NULL, 0), PFD_LINK_OPEN);
    CHECK_NUMBER(rig_take(&rig, link, answer), mtu < 29 ? mtu : 29);
  }
  unsigned link = make(185);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_STATUS, NULL, 0), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 29);
  expect(link, "0c 0d00 1c00", "0d");
  expect(link, "0c 0d00 1d00", "01 0c 0d00 07");
}

static void a_discovery_tells_seven_at_most(void) {
  static const struct {
    uint16_t mtu;
    size_t size;
  } cases[] = {{43, 23}, {44, 44}, {148, 128}, {149, 149}, {150, 149}, {170, 149}, {517, 149}};
  static const uint8_t all[7] = {0x08, 1, 0, 0xff, 0xff, 0x03, 0x28};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    unsigned link = make(cases[i].mtu);
    test_case("MTU %u", cases[i].mtu);
    CHECK_NUMBER(rig_write(&rig, link, all, sizeof all), PFD_LINK_OPEN);
    CHECK_NUMBER(rig_take(&rig, link, answer), cases[i].size);
  }
}

/// Leaves a PDU to a write of a descriptor waiting, then takes PDUs again.
static void a_second_request_after_a_write_ends_the_link(void) {
  static const uint8_t read[3] = {PFD_ATT_READ_REQUEST, 0x0D, 0};
  static const uint8_t write[5] = {PFD_ATT_WRITE_REQUEST, 0x06, 0, 1, 0};
  unsigned link = make(185);
  rig.inboxes[link].full = true;
  CHECK_NUMBER(rig_write(&rig, link, write, sizeof write), PFD_LINK_OPEN);
  CHECK_NUMBER(pfd_unit_is_sending(&rig.unit, link), 1);
  rig.inboxes[link].full = false;
  CHECK_NUMBER(rig_write(&rig, link, read, sizeof read), PFD_LINK_CLOSE);
}

static void a_request_behind_a_notification_is_answered(void) {
  static const uint8_t read[3] = {PFD_ATT_READ_REQUEST, 0x0D, 0};
  struct owner owner;
  unsigned link = make(185);
  owner_make(&owner, &rig, 1, 1, 5);
  rig.inboxes[link].full = true;
  CHECK_NUMBER(owner_present(&owner, &rig, link), 0);
  CHECK_NUMBER(pfd_unit_is_sending(&rig.unit, link), 1);
  rig.inboxes[link].full = false;
  CHECK_NUMBER(rig_write(&rig, link, read, sizeof read), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, answer), 3 + 4 + 43 + 2);
  CHECK_NUMBER(answer[0], PFD_ATT_NOTIFICATION);
  CHECK_NUMBER(rig_take(&rig, link, answer), 29);
  CHECK_NUMBER(answer[0], PFD_ATT_READ_RESPONSE);
}

static void a_refusal_is_told_with_link_opcode_error_and_number(void) {
  (void)make(185);
  unsigned link = rig_connect(&rig, 185);
  CHECK_NUMBER(link, 1);
  for (unsigned i = 1; i <= 10; i++) {
    expect(link, "0a 0300", "01 0a 0300 02");
    CHECK_NUMBER(rig.events[PFD_EVENT_REFUSED], i < 10 ? 1 : 2);
    CHECK_NUMBER(rig.event.kind, PFD_EVENT_REFUSED);
    CHECK_NUMBER(rig.event.link, 1);
    CHECK_NUMBER(rig.event.a, 0x0a);
    CHECK_NUMBER(rig.event.b, 0x02);
    CHECK_COUNT(rig.event.number, i < 10 ? 1 : 10);
  }
  pfd_unit_disconnect(&rig.unit, link);
  CHECK_NUMBER(rig.event.kind, PFD_EVENT_DISCONNECTED);
  CHECK_NUMBER(rig.event.link, 1);
  CHECK_COUNT(rig.event.number, 10);
}

static const struct test tests[] = {
    TEST("handles have the properties and messages of the page", handles_have_their_properties_and_messages),
    TEST("a discovery's range ends where it says", ranges_end_where_they_say),
    TEST("refusals name the first handle and the error", refusals_name_the_first_handle_and_the_error),
    TEST("the shortest MTU is exchanged, and bounds a PDU", the_shortest_mtu_is_exchanged),
    TEST("a value that is read has one byte less than the MTU", a_read_value_has_one_byte_less_than_the_mtu),
    TEST("a discovery tells as many as fit, seven at most", a_discovery_tells_seven_at_most),
    TEST("a second request before the response to a write left ends the link",
         a_second_request_after_a_write_ends_the_link),
    TEST("a request that comes before a notification left is answered behind it",
         a_request_behind_a_notification_is_answered),
    TEST("a refusal is told with link, opcode, error and number", a_refusal_is_told_with_link_opcode_error_and_number),
};

const struct suite link_bounds_suite = SUITE("link-bounds", tests);
