// SPDX-License-Identifier: Apache-2.0

/// Apps ask for the log over the link: who may, how often, what they get, and what it costs others.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

enum { USES = 400, ENTRIES = 512, LOGS_FOR_40 = 5 };

static struct rig rig;
static struct owner owner, other;
static uint8_t first_key[32];

/// Findings of the backend.
static struct {
  unsigned entries, alarms;
} found;

static const uint8_t *find_stored(void *context, uint64_t number) {
  (void)context, (void)number;
  return NULL;
}

static void note_finding(void *context, const struct pfc_log_finding *finding) {
  (void)context;
  found.entries += finding->kind == PFC_LOG_ENTRY;
  found.alarms += finding->kind != PFC_LOG_ENTRY;
}

static const struct pfc_log_listener listener = {NULL, find_stored, note_finding};

static void begin(uint64_t seed) {
  struct dice dice = {seed + 1};
  rig_make(&rig, seed, true);
  rig.nor.log_pages = NOR_LOG_PAGES;
  dice_fill(&dice, first_key, sizeof first_key);
  owner_make(&owner, &rig, 5, 1, USES);
  owner_make(&other, &rig, 6, 1, USES);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(pfd_unit_provision_log(&rig.port, &rig.hardware, 0, first_key), PFC_OK);
  REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
}

/// A link on which a command was accepted.
static unsigned prove(struct owner *app, unsigned commands) {
  unsigned link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(app, &rig, link), PFC_VERDICT_HELD);
  for (unsigned i = 0; i < commands; i++) CHECK_NUMBER(owner_do(app, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  return link;
}

/// Asks once. The type of the answer.
static uint8_t ask(unsigned link, uint64_t from, const uint8_t nonce[16], struct pfc_reassembler *answer) {
  uint8_t message[PFC_LOG_ASK_BYTES];
  pfc_log_ask_encode(message, from, nonce);
  return rig_send(&rig, link, PFD_HANDLE_LOG, message, sizeof message, answer);
}

static uint8_t refusal(unsigned link) {
  static const uint8_t nonce[16] = {1};
  struct pfc_reassembler answer;
  uint8_t type = ask(link, 0, nonce, &answer);
  return type == PFC_MESSAGE_VERDICT ? answer.bytes[0] : 0;
}

/// Carries entries from `from` on to a reader. How many LOGs it took.
static unsigned carry(struct pfc_log_reader *reader, unsigned link, uint64_t from) {
  uint8_t nonce[16] = {7};
  unsigned count = 0;
  for (;;) {
    struct pfc_reassembler answer;
    struct pfc_log_fields fields;
    nonce[1] = (uint8_t)++count;
    if (!CHECK_NUMBER(ask(link, from, nonce, &answer), PFC_MESSAGE_LOG)) return 0;
    CHECK_NUMBER(pfc_log_message_decode(&fields, answer.bytes, answer.size), PFC_OK);
    CHECK_NUMBER(pfc_log_reader_take(reader, nonce, answer.bytes, answer.size, ENTRIES, &listener), PFC_OK);
    nonce[1] ^= 0x80;
    CHECK_NUMBER(pfc_log_message_check(answer.bytes, answer.size, reader->key, nonce), PFC_E_DIFFERS);
    nonce[1] ^= 0x80;
    from = fields.first + fields.count;
    if (from == fields.next || fields.count == 0) return count;
  }
}

static int carry_all(unsigned link, unsigned *logs) {
  struct pfc_log_reader reader;
  memset(&found, 0, sizeof found);
  pfc_log_reader_begin(&reader, first_key, 0, rig.hardware.id);
  *logs = carry(&reader, link, 0);
  return pfc_log_reader_end(&reader, &listener);
}

static void the_whole_log_comes(void) {
  unsigned link, logs;
  begin(51);
  // A note of the start, the token, 38 commands.
  link = prove(&owner, 38);
  CHECK_NUMBER(carry_all(link, &logs), PFC_LOG_WHOLE);
  CHECK_NUMBER(found.entries, 40);
  CHECK_NUMBER(found.alarms, 0);
  CHECK_NUMBER(logs, LOGS_FOR_40);
  CHECK_NUMBER(PFC_LOG_ENTRIES_MAX * logs >= 40, 1);
  test_case("after a start");
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  link = prove(&owner, 1);
  CHECK_NUMBER(carry_all(link, &logs), PFC_LOG_WHOLE);
  CHECK_NUMBER(found.entries, 42);
}

static void places_outside_the_log(void) {
  static const uint8_t nonce[16] = {9};
  struct pfc_reassembler answer;
  struct pfc_log_fields fields;
  unsigned link;
  begin(52);
  link = prove(&owner, 3);
  for (unsigned turn = 0; turn < 3; turn++) {
    static const uint64_t from[3] = {5, 6, UINT64_MAX};
    test_case("from %u", turn);
    CHECK_NUMBER(ask(link, from[turn], nonce, &answer), PFC_MESSAGE_LOG);
    CHECK_NUMBER(pfc_log_message_decode(&fields, answer.bytes, answer.size), PFC_OK);
    CHECK_COUNT(fields.first, 5);
    CHECK_COUNT(fields.next, 5);
    CHECK_NUMBER(fields.count, 0);
  }
  test_case("overwritten entries: from the oldest that there is");
  for (unsigned i = 0; i < 300; i++) {
    if (owner_do(&owner, &rig, link, 1, "open") != PFC_VERDICT_ACCEPTED) break;
  }
  CHECK(rig.unit.log.oldest > 0);
  CHECK_NUMBER(ask(link, 0, nonce, &answer), PFC_MESSAGE_LOG);
  CHECK_NUMBER(pfc_log_message_decode(&fields, answer.bytes, answer.size), PFC_OK);
  CHECK_COUNT(fields.first, rig.unit.log.oldest);
  CHECK_COUNT(fields.oldest, rig.unit.log.oldest);
  CHECK_NUMBER(fields.count, PFC_LOG_ENTRIES_MAX);
}

static void a_stranger_gets_nothing(void) {
  unsigned link, operations;
  begin(53);
  link = prove(&owner, 1);
  pfd_unit_disconnect(&rig.unit, link);
  link = rig_connect(&rig, 185);
  operations = rig.nor.operations;
  for (unsigned i = 0; i < 40; i++) CHECK_NUMBER(refusal(link), PFC_VERDICT_NOT_PERMITTED);
  CHECK_NUMBER(rig.nor.operations, operations);
  CHECK_NUMBER(rig.unit.log.log.refused[0], 40);
  test_case("a token alone proves nothing, and a refused command neither");
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  CHECK_NUMBER(refusal(link), PFC_VERDICT_NOT_PERMITTED);
  CHECK(owner_ask(&owner, &rig, link));
  owner_prepare(&owner, &rig, 1, "open");
  owner.message[owner.size - 1] ^= 1;
  CHECK_NUMBER(owner_send(&owner, &rig, link), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(refusal(link), PFC_VERDICT_NOT_PERMITTED);
  test_case("a proof does not outlive its link");
  CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(refusal(link), 0);
  pfd_unit_disconnect(&rig.unit, link);
  CHECK_NUMBER(refusal(rig_connect(&rig, 185)), PFC_VERDICT_NOT_PERMITTED);
}

static void a_courier_is_held_to_its_pace(void) {
  unsigned link;
  begin(54);
  link = prove(&owner, 1);
  for (unsigned i = 0; i < PFD_LOGS_MAX; i++) CHECK_NUMBER(refusal(link), 0);
  CHECK_NUMBER(refusal(link), PFC_VERDICT_BUSY);
  CHECK_NUMBER(refusal(link), PFC_VERDICT_BUSY);
  test_case("the next accepted command");
  CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  for (unsigned i = 0; i < PFD_LOGS_MAX; i++) CHECK_NUMBER(refusal(link), 0);
  CHECK_NUMBER(refusal(link), PFC_VERDICT_BUSY);
}

/// Asks on a link that holds fewer packets than a LOG has.
static bool ask_slowly(unsigned link, uint16_t mtu, struct pfc_reassembler *answer) {
  static const uint8_t nonce[16] = {4};
  uint8_t message[PFC_LOG_ASK_BYTES], packet[PFC_PACKET_MAX], pdu[PFD_MTU_MAX];
  struct pfc_fragmenter fragmenter;
  bool is_whole = false;
  size_t size;
  pfc_log_ask_encode(message, 0, nonce);
  CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_LOG_ASK, message, sizeof message, mtu - 3u), PFC_OK);
  while ((size = pfc_fragment_next(&fragmenter, packet)) != 0) {
    CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_COMMAND, PFD_HANDLE_LOG, packet, size), PFD_LINK_OPEN);
  }
  pfc_reassemble_init(answer);
  while ((size = rig_take(&rig, link, pdu)) != 0) {
    CHECK(size <= mtu && size <= PFD_OUT_MAX);
    is_whole = pfc_reassemble(answer, pdu + 3, size - 3) == PFC_FRAME_COMPLETE;
    pfd_unit_flush(&rig.unit, link);
  }
  return is_whole && answer->type == PFC_MESSAGE_LOG && pfc_log_message_check(answer->bytes, answer->size,
                                                                              rig.unit.log.log.key, nonce) == PFC_OK;
}

static void any_mtu(void) {
  struct pfc_reassembler answer;
  unsigned link;
  begin(58);
  pfd_unit_disconnect(&rig.unit, prove(&owner, 12));
  for (unsigned mtu = PFD_MTU_MIN; mtu <= PFD_MTU_MAX; mtu += mtu < 200 ? 1 : 40) {
    test_case("MTU %u", mtu);
    link = rig_connect(&rig, (uint16_t)mtu);
    rig.unit.links[link].may_ask = rig.unit.links[link].logs_left = 1;
    CHECK(ask_slowly(link, (uint16_t)mtu, &answer));
    CHECK_NUMBER(answer.size, PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX));
    pfd_unit_disconnect(&rig.unit, link);
  }
}

static void a_courier_that_takes_nothing_blocks_itself(void) {
  static const uint8_t nonce[16] = {3};
  uint8_t message[PFC_LOG_ASK_BYTES], packet[PFC_PACKET_MAX], pdu[PFD_MTU_MAX];
  struct pfc_fragmenter fragmenter;
  struct pfc_reassembler answer;
  struct pfc_log_fields fields;
  unsigned link, second;
  size_t size;
  uint8_t type = 0;
  begin(55);
  link = prove(&owner, 12);
  rig.inboxes[link].full = true;
  pfc_log_ask_encode(message, 0, nonce);
  CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_LOG_ASK, message, sizeof message, 182), PFC_OK);
  while ((size = pfc_fragment_next(&fragmenter, packet)) != 0) {
    CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_COMMAND, PFD_HANDLE_LOG, packet, size), PFD_LINK_OPEN);
  }
  CHECK(pfd_unit_is_sending(&rig.unit, link));
  test_case("what it writes meanwhile changes nothing");
  for (unsigned i = 0; i < 50; i++) {
    memset(packet, (int)i, sizeof packet);
    packet[0] = 0xC0 | PFC_MESSAGE_LOG_ASK;
    (void)rig_put(&rig, link, PFD_ATT_WRITE_COMMAND, PFD_HANDLE_LOG, packet, 60);
  }
  test_case("others are served, and the log grows");
  second = prove(&other, 3);
  CHECK_NUMBER(refusal(second), 0);
  test_case("then it comes, as it was when it was asked for");
  rig.inboxes[link].full = false;
  pfd_unit_flush(&rig.unit, link);
  pfc_reassemble_init(&answer);
  while ((size = rig_take(&rig, link, pdu)) != 0) {
    if (pfc_reassemble(&answer, pdu + 3, size - 3) == PFC_FRAME_COMPLETE) type = answer.type;
  }
  CHECK_NUMBER(type, PFC_MESSAGE_LOG);
  CHECK_NUMBER(pfc_log_message_decode(&fields, answer.bytes, answer.size), PFC_OK);
  CHECK_COUNT(fields.next, 14);
  CHECK(!pfd_unit_is_sending(&rig.unit, link));
  CHECK_NUMBER(refusal(link), 0);
}

static void asking_writes_nothing(void) {
  unsigned link, operations;
  uint64_t next;
  begin(56);
  link = prove(&owner, 20);
  operations = rig.nor.operations;
  next = rig.unit.log.log.next;
  for (unsigned i = 0; i < PFD_LOGS_MAX; i++) CHECK_NUMBER(refusal(link), 0);
  CHECK_NUMBER(rig.nor.operations, operations);
  CHECK_COUNT(rig.unit.log.log.next, next);
}

static void what_is_no_log_ask(void) {
  static const uint8_t short_ask[PFC_LOG_ASK_BYTES - 1] = {0};
  uint8_t pdu[PFD_MTU_MAX] = {0xC0 | PFC_MESSAGE_LOG_ASK, 0, sizeof short_ask, 0};
  unsigned link;
  begin(57);
  link = prove(&owner, 1);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_WRITE_REQUEST, PFD_HANDLE_LOG, pdu, 6 + sizeof short_ask), PFD_LINK_OPEN);
  CHECK_NUMBER(rig_take(&rig, link, pdu), 5);
  CHECK_NUMBER(pdu[4], PFD_ATT_NOT_A_FRAGMENT);
  test_case("hardware without a log");
  rig.nor.log_pages = 0;
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  CHECK_NUMBER(refusal(prove(&owner, 1)), PFC_VERDICT_MALFORMED);
  test_case("hardware that lost it");
  rig.nor.log_pages = NOR_LOG_PAGES;
  rig.hardware.secret_key[0] ^= 0x10;
  pfc_public_key(rig.hardware.public_key, rig.hardware.secret_key);
  CHECK_NUMBER(rig_provision(&rig, 0, 1 << 20), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_E_DAMAGED);
  CHECK_NUMBER(refusal(rig_connect(&rig, 185)), PFC_VERDICT_FAULT);
}

static const struct test tests[] = {
    TEST("an app carries the whole log, part by part", the_whole_log_comes),
    TEST("a place outside the log is answered with the nearest one", places_outside_the_log),
    TEST("a link without an accepted command gets nothing, and flash is not touched", a_stranger_gets_nothing),
    TEST("an accepted command pays for so many LOGs", a_courier_is_held_to_its_pace),
    TEST("an app that takes no packets blocks itself alone", a_courier_that_takes_nothing_blocks_itself),
    TEST("a LOG comes whole with any MTU", any_mtu),
    TEST("asking writes nothing", asking_writes_nothing),
    TEST("a short LOG-ASK, hardware without a log, hardware that lost it", what_is_no_log_ask),
};

const struct suite unit_courier_suite = SUITE("unit-courier", tests);
