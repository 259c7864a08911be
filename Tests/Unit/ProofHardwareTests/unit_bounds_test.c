// SPDX-License-Identifier: Apache-2.0

/// A unit's replies, log events and records byte by byte, and their bounds from both sides.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

static struct rig rig;
static struct owner owner;

static unsigned make(uint64_t counter) {
  rig_make(&rig, 22, true);
  CHECK_NUMBER(rig_provision(&rig, 0, counter), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  owner_make(&owner, &rig, 5, 1, 1000);
  owner.token.attempts = 100;
  owner.token.integrity_classes = 0x7FFF;
  owner.token.device_classes = 1;
  owner_sign(&owner, &rig);
  unsigned link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  return link;
}

/// docs/LINK.md, section 6: fields of distinct bytes.
static void a_reply_has_the_layout_of_the_page(void) {
  uint8_t pdu[PFD_MTU_MAX], expected[18] = {0};
  unsigned link = make(0x0102030405060708);
  CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(owner_do(&owner, &rig, link, 2, "autolock 300"), PFC_VERDICT_ACCEPTED);
  rig.unit.device.done = 0x0A0B0C0D;
  CHECK_NUMBER(owner_do(&owner, &rig, link, 3, "install 1543"), PFC_VERDICT_ACCEPTED);
  CHECK_COUNT(owner.challenge.counter >> 32, 0x01020304);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_REPLY, NULL, 0), PFD_LINK_OPEN);
  REQUIRE(CHECK_NUMBER(rig_take(&rig, link, pdu), 19));
  put64(expected, owner.challenge.counter);
  memcpy(expected + 8, (const uint8_t[]){1, 1, 0x2C, 0x01, 0x07, 0x06, 0x0E, 0x0C, 0x0B, 0x0A}, 10);
  CHECK_BYTES(pdu + 1, expected, sizeof expected);
}

/// The event of a message: sends it, and compares what the event names it by.
static void expect_reference(unsigned link, uint16_t handle, const uint8_t *message, size_t size, uint8_t verdict,
                             uint32_t reference) {
  CHECK_NUMBER(rig_verdict(&rig, link, handle, message, size), verdict);
  CHECK_NUMBER(rig.event.kind, PFD_EVENT_JUDGED);
  CHECK_NUMBER(rig.event.b, verdict);
  CHECK_BYTES(rig.event.hardware, rig.hardware.id, 4);
  CHECK_COUNT(get32(rig.event.message), reference);
}

static void an_event_names_a_message_by_its_counter_or_its_digest(void) {
  static const struct {
    size_t command;
    const char *name;
  } sizes[] = {{6, "a command as long as a grant"}, {198, "a command as long as a token"}, {1, "a short command"}};
  unsigned link = make(0x0102030405060708);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    char command[199] = {0};
    test_case("%s", sizes[i].name);
    memset(command, 'x', sizes[i].command);
    CHECK(owner_ask(&owner, &rig, link));
    owner_prepare(&owner, &rig, 0, command);
    CHECK_NUMBER(owner.size, 90 + sizes[i].command);
    // The last byte of the device proof.
    owner.message[89] ^= 1;
    expect_reference(link, PFD_HANDLE_COMMAND, owner.message, owner.size, PFC_VERDICT_DEVICE_DIFFERS,
                     (uint32_t)owner.challenge.counter);
  }
  test_case("a token");
  expect_reference(link, PFD_HANDLE_TOKEN, owner.bytes, 288, PFC_VERDICT_HELD, get32(owner.digest));
}

// How often verdicts are told ------------------------------------------------------------------------------------

enum { TIMES = 20 };

static uint8_t ask_status(unsigned link) {
  static const uint8_t what = PFC_ASK_STATUS;
  struct pfc_reassembler answer;
  return rig_send(&rig, link, PFD_HANDLE_CHALLENGE, &what, 1, &answer) == PFC_MESSAGE_STATUS ? 0 : 0xFF;
}

static uint8_t do_by_device(unsigned link) {
  struct pfc_request request = {.kind = PFC_KIND_DEVICE};
  CHECK(owner_ask(&owner, &rig, link));
  memcpy(request.instance_id, owner.token.instance_id, PFC_ID_BYTES);
  memcpy(request.hardware_id, rig.hardware.id, PFC_ID_BYTES);
  request.challenge = owner.challenge;
  request.command = (const uint8_t *)"status";
  request.command_size = 6;
  CHECK_NUMBER(pfc_command_create(owner.message, sizeof owner.message, &owner.size, owner.nonce, &request,
                                  &owner.token.secrets),
               PFC_OK);
  return owner_send(&owner, &rig, link);
}

static uint8_t recall(unsigned link) {
  uint8_t message[PFC_RECALL_BYTES];
  CHECK(owner_ask(&owner, &rig, link));
  owner_prepare(&owner, &rig, 0, "status");
  pfc_recall_create(message, owner.token.instance_id, owner.challenge.counter, owner.nonce,
                    owner.token.secrets.device_key);
  return rig_verdict(&rig, link, PFD_HANDLE_RECALL, message, sizeof message);
}

static uint8_t do_of_another_app(unsigned link) {
  struct owner changed = owner;
  changed.token.secrets.integrity_key[0] ^= 1;
  return owner_do(&changed, &rig, link, 0, "status");
}

static uint8_t do_accepted(unsigned link) { return owner_do(&owner, &rig, link, 0, "status"); }
static uint8_t do_not_permitted(unsigned link) { return owner_do(&owner, &rig, link, 15, "status"); }
static uint8_t present(unsigned link) { return owner_present(&owner, &rig, link); }

static uint8_t send_junk(unsigned link) {
  static const uint8_t junk[90] = {1, 1, 9};
  return rig_verdict(&rig, link, PFD_HANDLE_COMMAND, junk, sizeof junk);
}

/// Those that no message gets without the instance's keys are told each time, others ten times and then at the 100th.
static void verdicts_are_told_each_time_or_ten_times(void) {
  static const struct {
    const char *name;
    uint8_t (*send)(unsigned link);
    uint8_t verdict;
    unsigned events;
  } cases[] = {
      {"a status", ask_status, PFC_VERDICT_NONE, TIMES},
      {"accepted", do_accepted, PFC_VERDICT_ACCEPTED, 2 * TIMES},
      {"accepted by the device", do_by_device, PFC_VERDICT_ACCEPTED_DEVICE, 2 * TIMES},
      {"not executed", recall, PFC_VERDICT_NOT_EXECUTED, 2 * TIMES},
      {"integrity differs", do_of_another_app, PFC_VERDICT_INTEGRITY_DIFFERS, 2 * TIMES},
      {"not permitted", do_not_permitted, PFC_VERDICT_NOT_PERMITTED, 2 * TIMES},
      {"held", present, PFC_VERDICT_HELD, 9},  // The first one came when the link was made.
      {"stale", send_junk, PFC_VERDICT_STALE, 10},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    unsigned link = make(1), before = rig.events[PFD_EVENT_JUDGED];
    test_case("%s", cases[i].name);
    for (unsigned k = 0; k < TIMES; k++) REQUIRE(CHECK_NUMBER(cases[i].send(link), cases[i].verdict));
    CHECK_NUMBER(rig.events[PFD_EVENT_JUDGED] - before, cases[i].events);
  }
}

static void faults_are_told_ten_times(void) {
  (void)make(1);
  nor_damage(&rig.nor, 0);
  nor_damage(&rig.nor, 1);
  CHECK_NUMBER(rig_start(&rig), PFC_E_DAMAGED);
  unsigned link = rig_connect(&rig, 185);
  for (unsigned i = 0; i < TIMES; i++) CHECK_NUMBER(send_junk(link), PFC_VERDICT_FAULT);
  CHECK_NUMBER(rig.events[PFD_EVENT_JUDGED], 1 + 10);
}

// Life -----------------------------------------------------------------------------------------------------------

static void a_unit_needs_no_reader_of_its_log(void) {
  unsigned link = make(1);
  rig.port.event = NULL;
  CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  pfd_unit_disconnect(&rig.unit, link);
  CHECK_NUMBER(pfd_unit_connect(&rig.unit), 0);
}

static void any_one_free_link_is_room(void) {
  for (unsigned free = 0; free < 8; free++) {
    test_case("link %u", free);
    pfd_unit_disconnect(&rig.unit, make(1));
    for (unsigned i = 0; i < 8; i++) CHECK_NUMBER(rig_connect(&rig, 23), i);
    CHECK_NUMBER(pfd_unit_has_room(&rig.unit), 0);
    pfd_unit_disconnect(&rig.unit, free);
    CHECK_NUMBER(pfd_unit_has_room(&rig.unit), 1);
    CHECK_NUMBER(pfd_unit_connect(&rig.unit), free);
    CHECK_NUMBER(pfd_unit_has_room(&rig.unit), 0);
  }
}

static void a_log_that_cannot_be_read_is_a_fault(void) {
  static const uint8_t key[PFC_LOG_KEY_BYTES] = {7}, nonce[PFC_NONCE_BYTES] = {1};
  uint8_t message[PFC_LOG_ASK_BYTES];
  rig_make(&rig, 23, true);
  rig.nor.log_pages = NOR_LOG_PAGES;
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(pfd_unit_provision_log(&rig.port, &rig.hardware, 0, key), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  owner_make(&owner, &rig, 5, 1, 9);
  unsigned link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  CHECK_NUMBER(do_accepted(link), PFC_VERDICT_ACCEPTED);
  pfc_log_ask_encode(message, 0, nonce);
  rig.nor.silent = true;
  CHECK_NUMBER(rig_verdict(&rig, link, PFD_HANDLE_LOG, message, sizeof message), PFC_VERDICT_FAULT);
}

/// With the key that stands there the ledger is emptied first: another mode or issuer finds nothing of what the old one
/// let in. Another key comes first, as to it all that stands there is damaged. Each identity is written once.
static void provisioning_writes_in_an_order_that_a_cut_cannot_use(void) {
  for (unsigned rekeys = 0; rekeys < 2; rekeys++) {
    uint8_t identity[2 * NOR_PAGE_BYTES], blank[NOR_PAGE_BYTES];
    test_case("%s", rekeys ? "another key" : "the same key");
    (void)make(1);
    memset(blank, 0xFF, sizeof blank);
    memcpy(identity, rig.nor.bytes, sizeof identity);
    CHECK_BYTES(identity + 232, blank, sizeof blank - 232);
    rig.hardware.mode = PFC_MODE_DEVELOPMENT;
    rig.hardware.secret_key[1] ^= (uint8_t)(rekeys << 4);
    pfc_public_key(rig.hardware.public_key, rig.hardware.secret_key);
    // One operation is done, and the next one not begun.
    rig.nor.tear = NOR_NOTHING;
    rig.nor.cut = rig.nor.operations + 2;
    CHECK(rig_provision(&rig, 0, 1) != PFC_OK);
    CHECK_NUMBER(memcmp(rig.nor.bytes, identity, sizeof identity) == 0, !rekeys);
    nor_power(&rig.nor);
    CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
    test_case("%s, at the end", rekeys ? "another key" : "the same key");
    for (unsigned copy = 0; copy < 2; copy++) {
      // After another key was cut off, the second one's first copy has its entry already.
      unsigned entries = rekeys && copy == 0 ? 3 : 2;
      const uint8_t *page = rig.nor.bytes + copy * NOR_PAGE_BYTES;
      CHECK_BYTES(page + (entries - 1) * 232, "PI\2\2", 4);
      CHECK_BYTES(page + entries * 232, blank, sizeof blank - entries * 232);
    }
  }
  test_case("a third key");
  rig.hardware.secret_key[1] ^= 0x20;
  pfc_public_key(rig.hardware.public_key, rig.hardware.secret_key);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig.nor.bytes[3 * 232], 'P');
  CHECK_NUMBER(rig.nor.bytes[NOR_PAGE_BYTES + 2 * 232], 'P');
  CHECK_NUMBER(rig.nor.bytes[NOR_PAGE_BYTES + 3 * 232], 0xFF);
}

// Records --------------------------------------------------------------------------------------------------------

static struct nor nor;

/// A hardware whose fields have distinct bytes.
static void make_identity(struct pfc_hardware *hardware, uint8_t bytes[232]) {
  uint8_t check[32];
  memset(hardware, 0, sizeof *hardware);
  nor_make(&nor, 24);
  hardware->mode = PFC_MODE_DEVELOPMENT;
  hardware->allow_literal = 1;
  hardware->issuer_count = 4;
  hardware->challenge_seconds = 0x0102;
  hardware->has_factory_secret = 1;
  memset(bytes, 0, 232);
  memcpy(bytes, (const uint8_t[]){'P', 'I', 2, PFC_MODE_DEVELOPMENT, 1, 4, 0x02, 0x01}, 8);
  for (unsigned i = 8; i < 216; i++) bytes[i] = (uint8_t)i;
  memcpy(hardware->id, bytes + 8, 16);
  memcpy(hardware->secret_key, bytes + 24, 32);
  for (unsigned i = 0; i < 4; i++) memcpy(hardware->issuers[i].public_key, bytes + 56 + 32 * i, 32);
  memcpy(hardware->factory_secret, bytes + 184, 32);
  pfc_public_key(hardware->public_key, hardware->secret_key);
  pfc_hash_once(check, "pfd1.identity...", bytes, 216);
  memcpy(bytes + 216, check, 16);
}

static void an_identity_has_the_layout_of_its_header(void) {
  struct pfc_hardware saved, found;
  uint8_t bytes[232], blank[NOR_PAGE_BYTES];
  make_identity(&saved, bytes);
  memset(blank, 0xFF, sizeof blank);
  CHECK_NUMBER(pfd_identity_save(&saved, &nor.port), PFC_OK);
  CHECK_BYTES(nor.bytes, bytes, sizeof bytes);
  CHECK_BYTES(nor.bytes + NOR_PAGE_BYTES, bytes, sizeof bytes);
  test_case("and no third copy");
  CHECK_BYTES(nor.bytes + 2 * NOR_PAGE_BYTES, blank, sizeof blank);
  for (unsigned copy = 0; copy < 2; copy++) {
    test_case("copy %u alone", copy);
    make_identity(&saved, bytes);
    memcpy(nor.bytes + copy * NOR_PAGE_BYTES, bytes, sizeof bytes);
    nor_damage(&nor, 1 - copy);
    REQUIRE(CHECK_NUMBER(pfd_identity_load(&found, &nor.port), PFC_OK));
    CHECK_BYTES(found.issuers, saved.issuers, sizeof saved.issuers);
    CHECK_BYTES(found.factory_secret, saved.factory_secret, 32);
    CHECK_NUMBER(found.challenge_seconds, 0x0102);
  }
  test_case("a third copy is none");
  nor_damage(&nor, 0);
  nor_damage(&nor, 1);
  memcpy(nor.bytes + 2 * NOR_PAGE_BYTES, bytes, sizeof bytes);
  CHECK_NUMBER(pfd_identity_load(&found, &nor.port), PFC_E_DAMAGED);
}

static void an_identity_of_another_magic_is_none(void) {
  static const uint8_t heads[][3] = {{'P', 'J', 2}, {'Q', 'I', 2}, {'P', 'I', 3}, {'P', 'I', 0}};
  for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
    struct pfc_hardware hardware;
    uint8_t bytes[232], check[32];
    test_case("%c%c %u", heads[i][0], heads[i][1], heads[i][2]);
    make_identity(&hardware, bytes);
    memcpy(bytes, heads[i], 3);
    pfc_hash_once(check, "pfd1.identity...", bytes, 216);
    memcpy(bytes + 216, check, 16);
    memcpy(nor.bytes, bytes, sizeof bytes);
    CHECK_NUMBER(pfd_identity_load(&hardware, &nor.port), PFC_E_DAMAGED);
  }
}

/// state.h: a state with these bytes and the right check.
static int decode(struct pfd_device *device, const uint8_t head[8]) {
  uint8_t state[24], check[32];
  memcpy(state, head, 8);
  pfc_hash_once(check, "pfd1.state......", state, 8);
  memcpy(state + 8, check, 16);
  return pfd_state_decode(device, state, 77);
}

static void a_state_has_the_layout_and_bounds_of_its_header(void) {
  static const struct {
    uint8_t head[8];
    int result;
  } cases[] = {
      {{'P', 'D', 1, 1, 0x10, 0x0E, 0x07, 0x06}, PFC_OK},         {{'P', 'D', 1, 0, 0, 0, 1, 0}, PFC_OK},
      {{'P', 'D', 1, 0, 0, 0, 0xFF, 0xFF}, PFC_OK},               {{'P', 'D', 1, 2, 0, 0, 1, 0}, PFC_E_DAMAGED},
      {{'P', 'D', 1, 0, 0x11, 0x0E, 1, 0}, PFC_E_DAMAGED},        {{'P', 'D', 1, 0, 0, 0, 0, 0}, PFC_E_DAMAGED},
      {{'P', 'E', 1, 0, 0, 0, 1, 0}, PFC_E_DAMAGED},              {{'Q', 'D', 1, 0, 0, 0, 1, 0}, PFC_E_DAMAGED},
      {{'P', 'D', 0, 0, 0, 0, 1, 0}, PFC_E_DAMAGED},              {{'P', 'D', 2, 0, 0, 0, 1, 0}, PFC_E_DAMAGED},
  };
  struct pfd_device device = {.open = 1, .autolock = 3600, .firmware = 0x0607};
  uint8_t state[24];
  pfd_state_encode(state, &device);
  CHECK_BYTES(state, cases[0].head, 8);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%zu", i);
    pfd_device_init(&device);
    CHECK_NUMBER(decode(&device, cases[i].head), cases[i].result);
    if (cases[i].result != PFC_OK) continue;
    CHECK_NUMBER(device.open, cases[i].head[3]);
    CHECK_NUMBER(device.autolock, cases[i].head[4] | cases[i].head[5] << 8);
    CHECK_NUMBER(device.firmware, cases[i].head[6] | cases[i].head[7] << 8);
    CHECK_NUMBER(device.opened, 77);
  }
}

static void an_entry_has_232_bytes_and_a_page_as_many_as_fit(void) {
  uint8_t entry[240], found[232];
  nor_make(&nor, 25);
  // Two entries, to the last byte.
  nor.port.page_bytes = 464;
  for (unsigned i = 0; i < 3; i++) {
    test_case("write %u", i);
    memset(entry, (int)(0x10 + i), sizeof entry);
    // 13 bytes are one unit of programming and a piece of one.
    CHECK_NUMBER(pfd_flash_write(&nor.port, 0, entry, i == 1 ? 13 : 232), 0);
    CHECK_NUMBER(nor.erases, i < 2 ? 0 : 1);
    CHECK_NUMBER(pfd_flash_read(&nor.port, 0, found, i == 1 ? 13 : 232), 0);
    CHECK_BYTES(found, entry, i == 1 ? 13 : 232);
    if (i == 1) CHECK_NUMBER(nor.bytes[232 + 13], 0xFF);
  }
  CHECK_NUMBER(pfd_flash_write(&nor.port, 0, entry, 233), -1);
  CHECK_NUMBER(pfd_flash_read(&nor.port, 0, found, 233), -1);
  CHECK_NUMBER(nor.erases, 1);
}

static const struct test tests[] = {
    TEST("a reply has the layout of the page", a_reply_has_the_layout_of_the_page),
    TEST("an event names a message by its counter, or a token by its digest",
         an_event_names_a_message_by_its_counter_or_its_digest),
    TEST("verdicts that need keys are told each time, others ten times", verdicts_are_told_each_time_or_ten_times),
    TEST("faults are told ten times", faults_are_told_ten_times),
    TEST("a unit needs no reader of its log", a_unit_needs_no_reader_of_its_log),
    TEST("any one free link is room", any_one_free_link_is_room),
    TEST("a log that cannot be read is a fault", a_log_that_cannot_be_read_is_a_fault),
    TEST("provisioning writes in an order that a power cut cannot use",
         provisioning_writes_in_an_order_that_a_cut_cannot_use),
    TEST("an identity has the layout of its header, in two copies", an_identity_has_the_layout_of_its_header),
    TEST("an identity of another magic or version is none", an_identity_of_another_magic_is_none),
    TEST("a state has the layout and the bounds of its header", a_state_has_the_layout_and_bounds_of_its_header),
    TEST("an entry has 232 bytes, and a page as many as fit", an_entry_has_232_bytes_and_a_page_as_many_as_fit),
};

const struct suite unit_bounds_suite = SUITE("unit-bounds", tests);
