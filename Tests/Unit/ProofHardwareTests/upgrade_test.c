// SPDX-License-Identifier: Apache-2.0

/// Flash that firmware of version 1 has left: its entries of 224 bytes, its identity, its records. And the identity of
/// version 2 with a factory secret.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

enum {
  OLD_SLOT = PFC_RECORD_BYTES(PFC_RECORD_PAYLOAD_MAX_1),
  OLD_IDENTITY = 200,
  OLD_ENTRIES = NOR_PAGE_BYTES / (int)PFD_ENTRY_BYTES_1
};

static struct rig rig, before;
static struct owner owner, other;

/// Puts an entry into an erased page where version 1 would: behind `behind` older ones.
static void put_old(unsigned page, const uint8_t *bytes, size_t size, unsigned behind) {
  uint8_t *first = rig.nor.bytes + (size_t)page * NOR_PAGE_BYTES;
  memset(first, 0xff, NOR_PAGE_BYTES);
  for (unsigned i = 0; i <= behind; i++) {
    memcpy(first + i * PFD_ENTRY_BYTES_1, bytes, size);
    // Older entries have other bytes behind their heads.
    if (i < behind) memset(first + i * PFD_ENTRY_BYTES_1 + 3, 0x11, size - 3);
  }
}

/// Turns the copy of a record into one of version 1.
static void age_record(unsigned record, unsigned copy, const uint8_t key[32], unsigned behind) {
  unsigned page = PFD_FLASH_IDENTITY_PAGES + 2 * record + copy;
  uint8_t entry[PFD_ENTRY_BYTES], aged[PFD_ENTRY_BYTES], tag[32];
  size_t size = record == 0 ? PFC_RECORD_BYTES(PFC_LEDGER_GLOBAL_BYTES) : (size_t)OLD_SLOT;
  CHECK_NUMBER(pfd_flash_read(&rig.nor.port, page, entry, sizeof entry), 0);
  memcpy(aged, entry, sizeof aged);
  aged[2] = 1;
  if (record != 0) {
    memset(aged + 8 + 92, 0xcc, 8);
    memcpy(aged + 8 + 100, entry + 8 + 92, 96);
  }
  pfc_mac_once(tag, key, 32, aged, size - 16);
  memcpy(aged + size - 16, tag, 16);
  put_old(page, aged, size, behind);
}

static void age_identity(unsigned page) {
  uint8_t bytes[PFD_IDENTITY_BYTES], check[32];
  CHECK_NUMBER(pfd_flash_read(&rig.nor.port, page, bytes, sizeof bytes), 0);
  bytes[2] = 1;
  pfc_hash_once(check, "pfd1.identity...", bytes, 184);
  memcpy(bytes + 184, check, 16);
  put_old(page, bytes, OLD_IDENTITY, 0);
}

/// A unit with an owner who was let in once and another who is revoked, in flash of version 1.
static void live_in_version_1(unsigned behind) {
  uint8_t key[32];
  rig_make(&rig, 31, true);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  owner_make(&owner, &rig, 5, 1, 9);
  owner_make(&other, &rig, 6, 1, 9);
  unsigned link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  CHECK_NUMBER(owner_present(&other, &rig, link), PFC_VERDICT_HELD);
  CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(rig_order(&rig, link, PFC_ORDER_REVOKE, 1700000500, &other, 5), PFC_VERDICT_DONE);
  pfc_record_key(key, rig.hardware.secret_key);
  for (unsigned record = 0; record <= PFC_SLOTS; record++) {
    for (unsigned copy = 0; copy < PFC_RECORD_COPIES; copy++) age_record(record, copy, key, behind);
  }
  for (unsigned page = 0; page < PFD_FLASH_IDENTITY_PAGES; page++) age_identity(page);
  before = rig;
}

static void check_served(void) {
  unsigned link = rig_connect(&rig, 185);
  struct owner one = owner, two = other;
  CHECK_NUMBER(owner_do(&one, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(owner_present(&two, &rig, link), PFC_VERDICT_REVOKED);
  for (unsigned page = PFD_FLASH_IDENTITY_PAGES; page < PFD_FLASH_PAGES; page++) {
    // A cut erase leaves anything there, but no page of version 1 that is still in use.
    CHECK(rig.nor.bytes[(size_t)page * NOR_PAGE_BYTES + 2] != 1);
  }
  CHECK(!rig.nor.broke_rule);
}

static void old_flash_is_taken_over(void) {
  for (unsigned behind = 0; behind < OLD_ENTRIES; behind++) {
    test_case("%u older entries in each page", behind);
    live_in_version_1(behind);
    REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
    CHECK_NUMBER(rig.unit.hardware.has_factory_secret, 0);
    check_served();
  }
}

static void cuts_leave_a_start(void) {
  live_in_version_1(2);
  unsigned from = rig.nor.operations, cuts = 0;
  REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
  unsigned operations = rig.nor.operations - from;
  for (unsigned at = 1; at <= operations; at++) {
    for (unsigned turn = 0; turn < (options.thorough ? 48u : 6u); turn++) {
      test_case("operation %u of %u, turn %u", at, operations, turn);
      rig = before;
      rig.nor.dice.state = turn;
      rig.nor.tear = (enum nor_tear)(turn % NOR_TEARS);
      rig.nor.cut = rig.nor.operations + at;
      nor_attach(&rig.nor);
      CHECK(rig_start(&rig) != PFC_OK);
      nor_power(&rig.nor);
      REQUIRE(CHECK_NUMBER(rig_start(&rig), PFC_OK));
      check_served();
      cuts++;
    }
  }
  test_note("%u cuts in %u flash operations of the first start", cuts, operations);
}

static void identity_keeps_the_factory_secret(void) {
  struct pfc_hardware loaded;
  rig_make(&rig, 33, true);
  memset(rig.hardware.factory_secret, 0x5f, PFC_FACTORY_SECRET_BYTES);
  rig.hardware.has_factory_secret = 1;
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_BYTES(rig.nor.bytes + 184, rig.hardware.factory_secret, 32);
  REQUIRE(CHECK_NUMBER(pfd_identity_load(&loaded, &rig.nor.port), PFC_OK));
  CHECK_NUMBER(loaded.has_factory_secret, 1);
  CHECK_BYTES(loaded.factory_secret, rig.hardware.factory_secret, 32);
  for (unsigned byte = 0; byte < PFD_IDENTITY_BYTES; byte++) {
    test_case("byte %u of one copy is damaged: the other counts", byte);
    rig.nor.bytes[byte] ^= 1;
    REQUIRE(CHECK_NUMBER(pfd_identity_load(&loaded, &rig.nor.port), PFC_OK));
    CHECK_BYTES(loaded.factory_secret, rig.hardware.factory_secret, 32);
    rig.nor.bytes[byte] ^= 1;
  }
}

static void capabilities_are_read(void) {
  for (unsigned factory = 0; factory < 2; factory++) {
    struct pfc_capabilities told;
    uint8_t pdu[PFD_MTU_MAX], value[PFC_CAPABILITIES_BYTES], offset[2] = {22, 0};
    test_case("a factory secret: %u", factory);
    rig_make(&rig, 34, true);
    memset(rig.hardware.factory_secret, factory != 0 ? 0x5f : 0, PFC_FACTORY_SECRET_BYTES);
    rig.hardware.has_factory_secret = (uint8_t)factory;
    CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
    CHECK_NUMBER(rig_start(&rig), PFC_OK);
    unsigned link = rig_connect(&rig, 23);
    CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_CAPABILITIES, NULL, 0), PFD_LINK_OPEN);
    REQUIRE(CHECK_NUMBER(rig_take(&rig, link, pdu), 23));
    memcpy(value, pdu + 1, 22);
    CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_BLOB_REQUEST, PFD_HANDLE_CAPABILITIES, offset, 2), PFD_LINK_OPEN);
    REQUIRE(CHECK_NUMBER(rig_take(&rig, link, pdu), 1 + 18));
    memcpy(value + 22, pdu + 1, 18);
    REQUIRE(CHECK_NUMBER(pfc_capabilities_decode(&told, value, sizeof value), PFC_OK));
    CHECK_NUMBER(told.features, factory != 0 ? 0x63 : 0x43);
    owner_make(&owner, &rig, 5, 1, 9);
    CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
    CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED);
  }
}

static const struct test tests[] = {
    TEST("flash of version 1 is taken over, wherever its last entries stand", old_flash_is_taken_over),
    TEST("power cuts in any flash operation of it leave a start that does", cuts_leave_a_start),
    TEST("an identity keeps its factory secret in both copies", identity_keeps_the_factory_secret),
    TEST("capabilities are read in two pieces, and the token that they ask for is held", capabilities_are_read),
};

const struct suite upgrade_suite = SUITE("upgrade", tests);
