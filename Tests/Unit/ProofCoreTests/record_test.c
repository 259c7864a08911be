// SPDX-License-Identifier: Apache-2.0

/// Records that survive a power cut at any byte.

#include <string.h>

#include "ProofCore.h"
#include "flash.h"
#include "harness.h"

enum { SIZE = 24, TOTAL = 8 + SIZE + 16 };

static struct flash flash;
static struct pfc_storage storage;
static uint8_t key[32];
static const uint8_t hardware_secret[32] = {1, 2, 3};

static void begin(void) {
  flash_erase(&flash, 1);
  storage = flash_storage(&flash);
  pfc_record_key(key, hardware_secret);
}

static void fill(uint8_t payload[SIZE], unsigned value) { memset(payload, (int)value, SIZE); }

/// A copy as docs/SPEC.md section 12 lays it out, with this version and a right tag.
static void put_version(unsigned record, unsigned copy, unsigned version, unsigned number, uint32_t sequence,
                        unsigned value) {
  uint8_t *area = flash.areas[record][copy];
  uint8_t tag[32];
  struct pfc_mac mac;
  memcpy(area, "PS", 2);
  area[2] = (uint8_t)version;
  area[3] = (uint8_t)number;
  put32(area + 4, sequence);
  memset(area + 8, (int)value, SIZE);
  pfc_mac_init(&mac, key, 32);
  pfc_mac_update(&mac, area, 8 + SIZE);
  pfc_mac_final(tag, &mac);
  memcpy(area + 8 + SIZE, tag, 16);
}

static void put_copy(unsigned record, unsigned copy, unsigned number, uint32_t sequence, unsigned value) {
  put_version(record, copy, 2, number, sequence, value);
}

/// Content of record 3 at a start; -1 if it finds none.
static int find(void) {
  struct pfc_record record;
  uint8_t payload[SIZE];
  int result = payload_load(&record, payload, SIZE, &storage, 3, key);
  if (result != PFC_OK) {
    CHECK_NUMBER(result, PFC_E_DAMAGED);
    return -1;
  }
  for (unsigned i = 1; i < SIZE; i++) CHECK_NUMBER(payload[i], payload[0]);
  return payload[0];
}

static void key_is_derived(void) {
  uint8_t expected[32];
  begin();
  pfc_hkdf(expected, (const uint8_t *)"pfc1.record-key.", 16, hardware_secret, 32, NULL, 0);
  CHECK_BYTES(key, expected, 32);
}

static void bytes_are_the_specs(void) {
  struct pfc_record record;
  uint8_t payload[SIZE], written[TOTAL];
  begin();
  fill(payload, 0x77);
  REQUIRE(CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_OK));
  CHECK_NUMBER(flash.last_size, TOTAL);
  memcpy(written, flash.areas[3][flash.last_copy], TOTAL);
  put_copy(3, flash.last_copy, 3, get32(written + 4), 0x77);
  CHECK_BYTES(written, flash.areas[3][flash.last_copy], TOTAL);
}

static void newest_copy_is_the_record(void) {
  struct pfc_record record, loaded;
  uint8_t payload[SIZE];
  begin();
  CHECK_NUMBER(find(), -1);
  fill(payload, 0);
  REQUIRE(CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_OK));
  CHECK_NUMBER(find(), 0);
  for (unsigned value = 1; value < 200; value++) {
    test_case("save %u", value);
    uint8_t current = record.copy;
    uint8_t kept[PFC_RECORD_BYTES_MAX];
    memcpy(kept, flash.areas[3][current], sizeof kept);
    fill(payload, value);
    REQUIRE(CHECK_NUMBER(payload_save(&record, payload, SIZE, &storage, 3, key), PFC_OK));
    CHECK_NUMBER(flash.last_record, 3);
    CHECK_NUMBER(flash.last_copy, current ^ 1u);
    CHECK_BYTES(flash.areas[3][current], kept, sizeof kept);
    CHECK_NUMBER(find(), value);
    // Sometimes after a restart, which reads where the record stands.
    if (value % 3 == 0) {
      REQUIRE(CHECK_NUMBER(payload_load(&loaded, payload, SIZE, &storage, 3, key), PFC_OK));
      CHECK_NUMBER(loaded.copy, record.copy);
      CHECK_NUMBER(loaded.sequence, record.sequence);
      record = loaded;
    }
  }
}

static void torn_writes_leave_old_or_new(void) {
  for (unsigned rest = 0; rest < 3; rest++) {
    for (unsigned saves = 1; saves <= 2; saves++) {
      for (size_t offset = 0; offset <= TOTAL; offset++) {
        struct pfc_record record;
        uint8_t payload[SIZE];
        int found;
        test_case("rest %u, save %u, cut at byte %zu", rest, saves, offset);
        begin();
        fill(payload, 10);
        REQUIRE(CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_OK));
        if (saves == 2) {
          fill(payload, 11);
          REQUIRE(CHECK_NUMBER(payload_save(&record, payload, SIZE, &storage, 3, key), PFC_OK));
        }
        struct pfc_record before = record;
        flash.cut_write = flash.writes;
        flash.cut_offset = offset;
        flash.cut_rest = (enum flash_rest)rest;
        fill(payload, 12);
        CHECK_NUMBER(payload_save(&record, payload, SIZE, &storage, 3, key), PFC_E_STORAGE);
        CHECK_NUMBER(record.sequence, before.sequence);
        CHECK_NUMBER(record.copy, before.copy);
        flash_power(&flash);
        found = find();
        if (offset < TOTAL && rest != FLASH_OLD) {
          CHECK_NUMBER(found, 9 + saves);
        } else {
          CHECK(found == (int)(9 + saves) || found == 12);
        }
        if (offset == TOTAL) CHECK_NUMBER(found, 12);
      }
    }
  }
}

static void cut_formats_recover(void) {
  // Over nothing and over an older record: each cut leaves nothing, the old or the new; formatting again makes it
  // whole.
  for (unsigned over = 0; over < 2; over++) {
    for (long write = 0; write < 2; write++) {
      for (size_t offset = 0; offset <= TOTAL; offset++) {
        struct pfc_record record;
        uint8_t payload[SIZE];
        int found;
        test_case("over %s, write %ld, byte %zu", over != 0 ? "an older record" : "nothing", write, offset);
        begin();
        fill(payload, 20);
        if (over != 0) {
          REQUIRE(CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_OK));
          REQUIRE(CHECK_NUMBER(payload_save(&record, payload, SIZE, &storage, 3, key), PFC_OK));
        }
        flash.cut_write = flash.writes + write;
        flash.cut_offset = offset;
        flash.cut_rest = FLASH_ERASED;
        fill(payload, 21);
        CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_E_STORAGE);
        flash_power(&flash);
        found = find();
        CHECK(found == 21 || found == (over != 0 ? 20 : -1));
        if (write == 1) CHECK_NUMBER(found, 21);
        REQUIRE(CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_OK));
        CHECK_NUMBER(find(), 21);
      }
    }
  }
}

static void altered_copies_do_not_count(void) {
  for (unsigned copy = 0; copy < 2; copy++) {
    for (size_t bit = 0; bit < 8 * TOTAL; bit++) {
      test_case("copy %u, bit %zu", copy, bit);
      begin();
      put_copy(3, 0, 3, 5, 50);
      put_copy(3, 1, 3, 6, 60);
      flash.areas[3][copy][bit / 8] ^= (uint8_t)(1u << (bit % 8));
      CHECK_NUMBER(find(), copy == 0 ? 60 : 50);
      memset(flash.areas[3][copy ^ 1], 0xff, TOTAL);
      CHECK_NUMBER(find(), -1);
    }
  }
}

static void copies_of_other_versions_do_not_count(void) {
  for (unsigned version = 0; version < 256; version++) {
    const bool is_known = version == 2 || (PFC_READS_VERSION_1 && version == 1);
    test_case("version %u", version);
    begin();
    put_copy(3, 0, 3, 7, 10);
    put_version(3, 1, version, 3, 8, 11);
    CHECK_NUMBER(find(), is_known ? 11 : 10);
    memset(flash.areas[3][0], 0xff, TOTAL);
    CHECK_NUMBER(find(), is_known ? 11 : -1);
  }
}

static void copies_of_others_do_not_count(void) {
  struct pfc_record record;
  uint8_t payload[SIZE], own_key[32];
  begin();
  test_case("1. another record's bytes");
  put_copy(3, 0, 3, 5, 50);
  put_copy(3, 1, 4, 6, 60);
  CHECK_NUMBER(find(), 50);
  test_case("2. another piece of hardware's bytes");
  memcpy(own_key, key, 32);
  key[0] ^= 1;
  put_copy(3, 1, 3, 6, 60);
  memcpy(key, own_key, 32);
  CHECK_NUMBER(find(), 50);
  test_case("3. another length");
  CHECK_NUMBER(payload_load(&record, payload, SIZE - 1, &storage, 3, key), PFC_E_DAMAGED);
}

static void a_format_wins_from_its_first_write_on(void) {
  // Power fails between the two writes: one copy is new, the other still holds the older record, whole.
  for (unsigned saves = 0; saves < 4; saves++) {
    struct pfc_record record;
    uint8_t payload[SIZE];
    test_case("over a record saved %u times", saves);
    begin();
    fill(payload, 20);
    REQUIRE(CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_OK));
    for (unsigned i = 0; i < saves; i++) {
      REQUIRE(CHECK_NUMBER(payload_save(&record, payload, SIZE, &storage, 3, key), PFC_OK));
    }
    flash.fail_write = flash.writes + 1;
    fill(payload, 21);
    CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_E_STORAGE);
    flash_power(&flash);
    CHECK_NUMBER(find(), 21);
  }
}

static void sequences_do_not_wrap(void) {
  struct pfc_record record;
  uint8_t payload[SIZE];
  begin();
  put_copy(3, 0, 3, UINT32_MAX - 1, 1);
  put_copy(3, 1, 3, UINT32_MAX, 2);
  REQUIRE(CHECK_NUMBER(payload_load(&record, payload, SIZE, &storage, 3, key), PFC_OK));
  CHECK_NUMBER(payload[0], 2);
  fill(payload, 3);
  // Refusing is right, and so is any way of saving after which the newest is found; going back is not.
  if (payload_save(&record, payload, SIZE, &storage, 3, key) == PFC_OK) {
    CHECK_NUMBER(find(), 3);
  } else {
    CHECK_NUMBER(find(), 2);
  }
}

static void failing_storage_is_told(void) {
  struct pfc_record record;
  uint8_t payload[SIZE];
  begin();
  fill(payload, 30);
  REQUIRE(CHECK_NUMBER(payload_format(&record, payload, SIZE, &storage, 3, key), PFC_OK));
  test_case("a write that fails leaves the record where it was");
  struct pfc_record before = record;
  flash.fail_all_writes = true;
  fill(payload, 31);
  CHECK_NUMBER(payload_save(&record, payload, SIZE, &storage, 3, key), PFC_E_STORAGE);
  CHECK_NUMBER(record.sequence, before.sequence);
  CHECK_NUMBER(record.copy, before.copy);
  CHECK_NUMBER(find(), 30);
  flash_power(&flash);
  CHECK_NUMBER(payload_save(&record, payload, SIZE, &storage, 3, key), PFC_OK);
  CHECK_NUMBER(find(), 31);
  test_case("a copy that cannot be read might be the newer one");
  for (long read = 0; read < 2; read++) {
    flash.fail_read = flash.reads + read;
    CHECK_NUMBER(payload_load(&record, payload, SIZE, &storage, 3, key), PFC_E_STORAGE);
  }
  test_case("neither copy can be read");
  flash.dark = true;
  CHECK_NUMBER(payload_load(&record, payload, SIZE, &storage, 3, key), PFC_E_STORAGE);
}

/// Storage outside the chip: an attacker changes it between two reads.
static unsigned reads_before;
static uint32_t put_behind;

static int changing_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  if (reads_before-- == 0) {
    put_copy(3, 0, 3, put_behind, 1);
    if (put_behind == 0) flash.areas[3][0][8] ^= 1;
  }
  return flash_read(context, record, copy, bytes, size);
}

static void what_is_read_again_is_judged_again(void) {
  // The newest is copy 0, so it is read, then copy 1, then copy 0 once more.
  for (unsigned way = 0; way < 3; way++) {
    struct pfc_record record;
    uint8_t payload[SIZE];
    begin();
    put_copy(3, 0, 3, 9, 2);
    put_copy(3, 1, 3, 8, 3);
    storage.read = changing_read;
    reads_before = 2;
    put_behind = way == 0 ? 9 : way == 1 ? 7 : 0;
    test_case("%s", way == 0 ? "another of the same number" : way == 1 ? "an older one" : "a damaged one");
    int result = payload_load(&record, payload, SIZE, &storage, 3, key);
    // Only who has the key could make the first: it is a record like any other.
    CHECK_NUMBER(result, way == 0 ? PFC_OK : way == 1 ? PFC_E_STORAGE : PFC_E_DAMAGED);
    if (way == 0) CHECK_NUMBER(payload[0], 1);
    if (way != 0) CHECK_ZEROS(payload, sizeof payload);
  }
}

static void a_ledgers_past_is_told(void) {
  static const uint8_t zeros[32] = {0};
  struct pfc_ledger_past past;
  long writes;
  begin();
  CHECK_NUMBER(pfc_ledger_read_past(&past, &storage, hardware_secret), PFC_E_DAMAGED);
  CHECK_NUMBER(pfc_ledger_format(&storage, hardware_secret, 7, 9, 1ull << 40), PFC_OK);
  writes = flash.writes;
  CHECK_NUMBER(pfc_ledger_read_past(&past, &storage, hardware_secret), PFC_OK);
  CHECK(past.counter == 1ull << 40 && past.epoch == 7 && past.floor == 9);
  CHECK_NUMBER(pfc_ledger_read_past(&past, &storage, zeros), PFC_E_DAMAGED);
  CHECK(past.counter == 0 && past.epoch == 0 && past.floor == 0);
  CHECK_NUMBER(flash.writes, writes);
}

static void payloads_have_a_bound(void) {
  static uint8_t payload[PFC_RECORD_PAYLOAD_MAX + 1];
  struct pfc_record record;
  begin();
  CHECK_NUMBER(payload_format(&record, payload, PFC_RECORD_PAYLOAD_MAX, &storage, 3, key), PFC_OK);
  CHECK_NUMBER(payload_load(&record, payload, PFC_RECORD_PAYLOAD_MAX, &storage, 3, key), PFC_OK);
  CHECK_NUMBER(payload_format(&record, payload, sizeof payload, &storage, 3, key), PFC_E_ARGUMENT);
  CHECK_NUMBER(payload_save(&record, payload, sizeof payload, &storage, 3, key), PFC_E_ARGUMENT);
  CHECK_NUMBER(payload_load(&record, payload, sizeof payload, &storage, 3, key), PFC_E_ARGUMENT);
}

static const struct test tests[] = {
    TEST("the record key is derived from the hardware's secret key", key_is_derived),
    TEST("a record's bytes are the specification's", bytes_are_the_specs),
    TEST("a save goes to the other copy, and the newest copy is the record", newest_copy_is_the_record),
    TEST("a write torn at any byte leaves the old content or the new", torn_writes_leave_old_or_new),
    TEST("a format cut at any byte can be repeated", cut_formats_recover),
    TEST("a format wins from its first write on", a_format_wins_from_its_first_write_on),
    TEST("a copy with any bit flipped does not count", altered_copies_do_not_count),
    TEST("a copy of another version than 1 and 2 does not count", copies_of_other_versions_do_not_count),
    TEST("a copy of another record, hardware or length does not count", copies_of_others_do_not_count),
    TEST("the last sequence never brings the past back", sequences_do_not_wrap),
    TEST("failing storage is told, and changes nothing", failing_storage_is_told),
    TEST("a record that is read again is checked again", what_is_read_again_is_judged_again),
    TEST("a ledger's past is told to its hardware alone, and nothing is written", a_ledgers_past_is_told),
    TEST("a payload has at most 208 bytes", payloads_have_a_bound),
};

const struct suite record_suite = SUITE("record", tests);
