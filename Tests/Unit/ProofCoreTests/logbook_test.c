// SPDX-License-Identifier: Apache-2.0

/// The hardware's log: entries, stored heads and keys, messages, and the end at which the hardware writes.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"

static uint8_t drawn[32], hardware_id[16], first_key[32], store_key[32], nonce[16];

static void begin(void) {
  struct dice dice = {77};
  uint8_t secret[32];
  dice_fill(&dice, drawn, sizeof drawn);
  dice_fill(&dice, hardware_id, sizeof hardware_id);
  dice_fill(&dice, secret, sizeof secret);
  dice_fill(&dice, nonce, sizeof nonce);
  pfc_log_first_key(first_key, drawn, hardware_id);
  pfc_log_store_key(store_key, secret);
}

/// L_number.
static void key_at(uint8_t key[32], uint64_t number) {
  memcpy(key, first_key, 32);
  while (number-- > 0) pfc_log_step(key);
}

static const struct pfc_log_content command = {
    .event = PFC_LOG_COMMAND, .verdict = 1, .command_class = 15, .kind = 3, .who = {1, 2, 3, 4}, .epoch = 5,
    .counter = 6};
static const struct pfc_log_content token = {
    .event = PFC_LOG_TOKEN, .verdict = 3, .who = {255, 0, 255, 0}, .epoch = UINT32_MAX, .counter = UINT32_MAX};
static const struct pfc_log_content order = {.event = PFC_LOG_ORDER, .verdict = 4, .kind = 15};
static const struct pfc_log_content note = {.event = PFC_LOG_NOTE,
                                            .flags = PFC_LOG_STARTED,
                                            .undone = PFC_LOG_UNDONE_MAX,
                                            .refused = {255, 1, 2, 3},
                                            .epoch = 7,
                                            .counter = 8};
static const struct pfc_log_content *const contents[] = {&command, &token, &order, &note};

static void check_content(const struct pfc_log_content *actual, const struct pfc_log_content *expected) {
  CHECK_NUMBER(actual->event, expected->event);
  CHECK_NUMBER(actual->verdict, expected->verdict);
  CHECK_NUMBER(actual->undone, expected->undone);
  CHECK_NUMBER(actual->command_class, expected->command_class);
  CHECK_NUMBER(actual->kind, expected->kind);
  CHECK_NUMBER(actual->flags, expected->flags);
  CHECK_BYTES(actual->who, expected->who, 4);
  CHECK_BYTES(actual->refused, expected->refused, PFC_LOG_GROUPS);
  CHECK_COUNT(actual->epoch, expected->epoch);
  CHECK_COUNT(actual->counter, expected->counter);
}

// Entries --------------------------------------------------------------------------------------------------------

static void entry_round_trip(void) {
  static const uint64_t numbers[] = {0, 1, UINT64_C(0x100000000), UINT64_MAX};
  begin();
  for (unsigned i = 0; i < 4; i++) {
    for (unsigned k = 0; k < 4; k++) {
      struct pfc_log_content opened;
      uint8_t entry[PFC_LOG_ENTRY_BYTES];
      test_case("event %u, number %llu", contents[i]->event, (unsigned long long)numbers[k]);
      CHECK_NUMBER(pfc_log_seal(entry, contents[i], first_key, numbers[k], hardware_id), PFC_OK);
      CHECK_NUMBER(pfc_log_open(&opened, entry, first_key, numbers[k], hardware_id), PFC_OK);
      check_content(&opened, contents[i]);
    }
  }
}

static void check_shut(const uint8_t entry[PFC_LOG_ENTRY_BYTES], const uint8_t key[32], uint64_t number,
                       const uint8_t id[16]) {
  struct pfc_log_content opened = command;
  CHECK_NUMBER(pfc_log_open(&opened, entry, key, number, id), PFC_E_DIFFERS);
  CHECK_ZEROS(&opened, sizeof opened);
}

static void entry_is_bound(void) {
  uint8_t entry[PFC_LOG_ENTRY_BYTES], other[32];
  begin();
  CHECK_NUMBER(pfc_log_seal(entry, &command, first_key, 9, hardware_id), PFC_OK);
  test_case("another number");
  check_shut(entry, first_key, 10, hardware_id);
  memcpy(other, first_key, 32);
  for (unsigned bit = 0; bit < 256; bit++) {
    test_case("bit %u of the key", bit);
    other[bit / 8] ^= (uint8_t)(1u << bit % 8);
    check_shut(entry, other, 9, hardware_id);
    other[bit / 8] ^= (uint8_t)(1u << bit % 8);
    test_case("bit %u of the entry", bit);
    entry[bit / 8] ^= (uint8_t)(1u << bit % 8);
    check_shut(entry, first_key, 9, hardware_id);
    entry[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  for (unsigned i = 0; i < 16; i++) {
    test_case("byte %u of the hardware id", i);
    memcpy(other, hardware_id, 16);
    other[i] ^= 1;
    check_shut(entry, first_key, 9, other);
  }
}

static void later_keys_do_not_open(void) {
  uint8_t entries[20][PFC_LOG_ENTRY_BYTES], key[32];
  begin();
  for (unsigned i = 0; i < 20; i++) {
    key_at(key, i);
    CHECK_NUMBER(pfc_log_seal(entries[i], &command, key, i, hardware_id), PFC_OK);
  }
  for (unsigned held = 1; held < 20; held++) {
    key_at(key, held);
    for (unsigned i = 0; i < held; i++) {
      test_case("L_%u and entry %u", held, i);
      check_shut(entries[i], key, i, hardware_id);
    }
  }
}

static void keys_differ(void) {
  uint8_t keys[4][32], secret[32];
  begin();
  memcpy(keys[0], first_key, 32);
  key_at(keys[1], 1);
  pfc_factory_secret(secret, drawn, hardware_id);
  memcpy(keys[2], secret, 32);
  hardware_id[0] ^= 1;
  pfc_log_first_key(keys[3], drawn, hardware_id);
  for (unsigned i = 0; i < 4; i++) {
    for (unsigned k = 0; k < i; k++) CHECK_DIFFER(keys[i], keys[k], 32);
  }
}

static void one_number_twice_tells_nothing(void) {
  uint8_t one[PFC_LOG_ENTRY_BYTES], two[PFC_LOG_ENTRY_BYTES];
  struct pfc_log_content other = command;
  unsigned same = 0;
  begin();
  other.counter++;
  CHECK_NUMBER(pfc_log_seal(one, &command, first_key, 0, hardware_id), PFC_OK);
  CHECK_NUMBER(pfc_log_seal(two, &other, first_key, 0, hardware_id), PFC_OK);
  // Both contents differ in 1 of 16 bytes. A mask of the number alone would leave the other 15 equal.
  for (unsigned i = 0; i < PFC_LOG_CONTENT_BYTES; i++) same += one[i] == two[i];
  CHECK(same < 4);
}

static void seal_refuses(const struct pfc_log_content *content) {
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  memset(entry, 1, sizeof entry);
  CHECK_NUMBER(pfc_log_seal(entry, content, first_key, 0, hardware_id), PFC_E_ARGUMENT);
  CHECK_ZEROS(entry, sizeof entry);
}

static void contents_are_in_range(void) {
  struct pfc_log_content content;
  begin();
  for (unsigned event = 0; event < 256; event++) {
    content = (struct pfc_log_content){.event = (uint8_t)event};
    test_case("event %u", event);
    if (event == 0 || event > 5) seal_refuses(&content);
  }
  test_case("fields");
  content = command;
  content.command_class = 16;
  seal_refuses(&content);
  content = command;
  content.kind = 16;
  seal_refuses(&content);
  content = command;
  content.flags = PFC_LOG_STARTED;
  seal_refuses(&content);
  content = command;
  content.undone = 1;
  seal_refuses(&content);
  content = note;
  content.flags = 2;
  seal_refuses(&content);
  content = note;
  content.undone = PFC_LOG_UNDONE_MAX + 1;
  seal_refuses(&content);
}

/// Seals 16 bytes as the page says, in range or not.
static void seal_bytes(uint8_t entry[PFC_LOG_ENTRY_BYTES], const uint8_t bytes[16], const uint8_t log_key[32],
                       uint64_t number) {
  uint8_t key[32], text[41], full[32];
  put64(text, number);
  pfc_derive(key, "pfc2.log-entry..", log_key, 32, text, 8);
  text[0] = 2;
  put64(text + 1, number);
  memcpy(text + 9, hardware_id, 16);
  memcpy(text + 25, bytes, 16);
  pfc_mac_once(full, key, 32, text, sizeof text);
  memcpy(entry + 16, full, 16);
  text[0] = 1;
  memcpy(text + 1, full, 16);
  pfc_mac_once(full, key, 32, text, 17);
  for (unsigned i = 0; i < 16; i++) entry[i] = bytes[i] ^ full[i];
}

static void later_contents_are_too_new(void) {
  static const struct {
    uint8_t event, second, third, fourth;
    int result;
  } cases[] = {
      {1, 255, 255, 0, PFC_OK},       {0, 0, 0, 0, PFC_E_TOO_NEW},  {4, 4, 16, 0, PFC_OK},
      {6, 0, 0, 0, PFC_E_TOO_NEW},    {255, 0, 0, 0, PFC_E_TOO_NEW}, {1, 1, 0, 1, PFC_E_TOO_NEW},
      {5, 15, 0, 1, PFC_OK},          {5, 16, 0, 0, PFC_E_TOO_NEW}, {5, 0, 0, 2, PFC_E_TOO_NEW},
      {5, 0, 1, 0, PFC_E_TOO_NEW},    {5, 0, 0, 0x81, PFC_E_TOO_NEW},
  };
  begin();
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t bytes[16] = {cases[i].event, cases[i].second, cases[i].third, cases[i].fourth};
    uint8_t entry[PFC_LOG_ENTRY_BYTES];
    struct pfc_log_content content;
    test_case("case %u", i);
    seal_bytes(entry, bytes, first_key, 3);
    CHECK_NUMBER(pfc_log_open(&content, entry, first_key, 3, hardware_id), cases[i].result);
    if (cases[i].result != PFC_OK) CHECK_ZEROS(&content, sizeof content);
  }
}

// Flash ----------------------------------------------------------------------------------------------------------

/// Writes the tag of changed bytes anew.
static void tag_anew(uint8_t *bytes, size_t size) {
  uint8_t full[32];
  pfc_mac_once(full, store_key, 32, bytes, size - 16);
  memcpy(bytes + size - 16, full, 16);
}

static void page_head(void) {
  uint8_t bytes[PFC_LOG_PAGE_HEAD_BYTES];
  uint64_t number;
  begin();
  pfc_log_page_encode(bytes, UINT64_C(0x0102030405060708), store_key);
  CHECK_BYTES(bytes, "PL\1\1\0\0\0\0\10\7\6\5\4\3\2\1", 16);
  CHECK_NUMBER(pfc_log_page_decode(&number, bytes, store_key), PFC_OK);
  CHECK_COUNT(number, UINT64_C(0x0102030405060708));
  for (unsigned bit = 0; bit < 8 * sizeof bytes; bit++) {
    test_case("bit %u", bit);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK_NUMBER(pfc_log_page_decode(&number, bytes, store_key), PFC_E_DAMAGED);
    CHECK_COUNT(number, 0);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  for (unsigned at = 0; at < 8; at++) {
    test_case("byte %u of a well made head", at);
    bytes[at] ^= 2;
    tag_anew(bytes, sizeof bytes);
    CHECK_NUMBER(pfc_log_page_decode(&number, bytes, store_key), at < 2 || at == 3 ? PFC_E_DAMAGED : PFC_E_TOO_NEW);
    bytes[at] ^= 2;
  }
  test_case("erased and zeroed flash");
  memset(bytes, 255, sizeof bytes);
  CHECK_NUMBER(pfc_log_page_decode(&number, bytes, store_key), PFC_E_DAMAGED);
  memset(bytes, 0, sizeof bytes);
  CHECK_NUMBER(pfc_log_page_decode(&number, bytes, store_key), PFC_E_DAMAGED);
}

static struct pfc_log_key_record sample_record(void) {
  struct pfc_log_key_record record = {9, 48, 40, 3, PFC_LOG_STARTED, {0}};
  key_at(record.key, 48);
  return record;
}

static void key_record(void) {
  uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES];
  struct pfc_log_key_record record = sample_record(), decoded;
  begin();
  record = sample_record();
  CHECK_NUMBER(pfc_log_key_record_encode(bytes, &record, store_key), PFC_OK);
  CHECK_BYTES(bytes, "PL\1\2\11\0\0\0\60\0\0\0\0\0\0\0\50\0\0\0\0\0\0\0\3\1\0\0\0\0\0\0", 32);
  CHECK_BYTES(bytes + 32, record.key, 32);
  CHECK_NUMBER(pfc_log_key_record_decode(&decoded, bytes, store_key), PFC_OK);
  CHECK_COUNT(decoded.sequence, 9);
  CHECK_COUNT(decoded.number, 48);
  CHECK_COUNT(decoded.acknowledged, 40);
  CHECK_NUMBER(decoded.undone, 3);
  CHECK_NUMBER(decoded.flags, PFC_LOG_STARTED);
  CHECK_BYTES(decoded.key, record.key, 32);
  for (unsigned bit = 0; bit < 8 * sizeof bytes; bit++) {
    test_case("bit %u", bit);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK_NUMBER(pfc_log_key_record_decode(&decoded, bytes, store_key), PFC_E_DAMAGED);
    CHECK_ZEROS(&decoded, sizeof decoded);
    bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  test_case("a page head is none");
  memset(bytes, 0, sizeof bytes);
  pfc_log_page_encode(bytes, 48, store_key);
  CHECK_NUMBER(pfc_log_key_record_decode(&decoded, bytes, store_key), PFC_E_DAMAGED);
}

static void key_record_ranges(void) {
  uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES];
  struct pfc_log_key_record record, decoded;
  static const struct {
    unsigned at;
    uint8_t value;
    int result;
  } cases[] = {{2, 2, PFC_E_TOO_NEW},   {3, 1, PFC_E_DAMAGED},  {8, 49, PFC_E_DAMAGED}, {8, 64, PFC_OK},
               {24, 15, PFC_OK},        {24, 16, PFC_E_TOO_NEW}, {25, 2, PFC_E_TOO_NEW}, {26, 1, PFC_E_TOO_NEW},
               {31, 128, PFC_E_TOO_NEW}};
  begin();
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("byte %u, %u", cases[i].at, cases[i].value);
    record = sample_record();
    CHECK_NUMBER(pfc_log_key_record_encode(bytes, &record, store_key), PFC_OK);
    bytes[cases[i].at] = cases[i].value;
    tag_anew(bytes, sizeof bytes);
    CHECK_NUMBER(pfc_log_key_record_decode(&decoded, bytes, store_key), cases[i].result);
    if (cases[i].result != PFC_OK) CHECK_ZEROS(&decoded, sizeof decoded);
  }
  test_case("a key of zeros");
  memset(bytes + PFC_LOG_KEY_RECORD_KEY_AT, 0, 32);
  CHECK_NUMBER(pfc_log_key_record_decode(&decoded, bytes, store_key), PFC_E_DAMAGED);
  bytes[2] = 1;
  memset(bytes + 24, 0, 8);
  tag_anew(bytes, sizeof bytes);
  CHECK_NUMBER(pfc_log_key_record_decode(&decoded, bytes, store_key), PFC_E_DAMAGED);
  CHECK_ZEROS(&decoded, sizeof decoded);
  for (unsigned i = 0; i < 4; i++) {
    test_case("encoding, case %u", i);
    record = sample_record();
    if (i == 0) memset(record.key, 0, 32);
    if (i == 1) record.number++;
    if (i == 2) record.flags = 2;
    if (i == 3) record.undone = PFC_LOG_UNDONE_MAX + 1;
    CHECK_NUMBER(pfc_log_key_record_encode(bytes, &record, store_key), PFC_E_ARGUMENT);
    CHECK_ZEROS(bytes, sizeof bytes);
  }
}

// The hardware's end ---------------------------------------------------------------------------------------------

static struct pfc_log log_state;
static uint8_t flash[64][PFC_LOG_ENTRY_BYTES];

static void new_log(void) {
  struct pfc_log_key_record record = {0};
  begin();
  memcpy(record.key, first_key, 32);
  pfc_log_resume(&log_state, &record);
}

/// Writes an entry, and says whether it was taken.
static bool append(const struct pfc_log_content *content) {
  if (pfc_log_put(flash[log_state.next], &log_state, content, hardware_id) != PFC_OK) return false;
  pfc_log_written(&log_state, content);
  return true;
}

/// A proved event as the hardware logs it: a note before it where one is due.
static void append_event(void) {
  struct pfc_log_content due;
  if (pfc_log_note(&log_state, &due, 1, 2)) CHECK(append(&due));
  CHECK(append(&command));
}

static void only_proved_events_write(void) {
  struct pfc_log_content due;
  new_log();
  CHECK_NUMBER(pfc_log_note(&log_state, &due, 1, 2), 0);
  CHECK_ZEROS(&due, sizeof due);
  append_event();
  CHECK_COUNT(log_state.next, 1);
  for (unsigned i = 0; i < 1000; i++) {
    pfc_log_refuse(&log_state, PFC_VERDICT_DEVICE_DIFFERS);
    if (i % 100 == 0) pfc_log_resume_end(&log_state, 0);
  }
  CHECK_COUNT(log_state.next, 1);
  append_event();
  CHECK_COUNT(log_state.next, 3);
  CHECK_NUMBER(pfc_log_note(&log_state, &due, 1, 2), 0);
  append_event();
  CHECK_COUNT(log_state.next, 4);
}

static void refusals_are_counted_by_group(void) {
  struct pfc_log_content due;
  new_log();
  for (unsigned verdict = 0; verdict <= 50; verdict++) pfc_log_refuse(&log_state, (uint8_t)verdict);
  REQUIRE(CHECK_NUMBER(pfc_log_note(&log_state, &due, UINT64_C(0x700000001), UINT64_C(0x900000002)), 1));
  CHECK_BYTES(due.refused, "\20\20\2\1", 4);
  CHECK_NUMBER(due.event, PFC_LOG_NOTE);
  CHECK_NUMBER(due.flags, 0);
  CHECK_COUNT(due.epoch, 1);
  CHECK_COUNT(due.counter, 2);
  for (unsigned i = 0; i < 300; i++) pfc_log_refuse(&log_state, PFC_VERDICT_BUSY);
  CHECK_NUMBER(log_state.refused[3], 255);
  CHECK_BYTES(log_state.refused, "\20\20\2", 3);
  CHECK(append(&due));
  CHECK_ZEROS(log_state.refused, PFC_LOG_GROUPS);
  // Numbers below 16 are no refusals, and those from 80 on have no group.
  struct pfc_log before = log_state;
  for (unsigned verdict = 0; verdict < 16; verdict++) pfc_log_refuse(&log_state, (uint8_t)verdict);
  for (unsigned verdict = 80; verdict < 256; verdict++) pfc_log_refuse(&log_state, (uint8_t)verdict);
  CHECK_BYTES(&log_state, &before, sizeof before);
}

static void a_due_note_comes_first(void) {
  uint8_t entry[PFC_LOG_ENTRY_BYTES];
  struct pfc_log before;
  new_log();
  pfc_log_refuse(&log_state, PFC_VERDICT_STALE);
  before = log_state;
  CHECK_NUMBER(pfc_log_put(entry, &log_state, &command, hardware_id), PFC_E_ARGUMENT);
  CHECK_ZEROS(entry, sizeof entry);
  CHECK_NUMBER(pfc_log_put(entry, &log_state, &note, hardware_id), PFC_OK);
  CHECK_BYTES(&log_state, &before, sizeof before);
}

/// Starts from the key record of the block at hand, as slice after slice of flash is found.
static void restart(const struct pfc_log_key_record *record, uint64_t found, bool is_undone) {
  struct pfc_log_content content;
  pfc_log_resume(&log_state, record);
  for (uint64_t i = record->number; i < found; i++) {
    int result = pfc_log_resume_entry(&log_state, &content, flash[i], hardware_id);
    CHECK(result == PFC_OK || result == PFC_E_DIFFERS);
  }
  pfc_log_resume_end(&log_state, is_undone);
}

static void a_start_finds_the_place(void) {
  struct pfc_log_key_record record;
  struct pfc_log_content due;
  uint8_t key[32];
  new_log();
  CHECK_NUMBER(pfc_log_turns(&log_state), 1);
  pfc_log_turn(&record, &log_state, 1, 0);
  for (unsigned i = 0; i < 5; i++) append_event();
  CHECK_NUMBER(pfc_log_turns(&log_state), 0);
  restart(&record, 5, false);
  key_at(key, 5);
  CHECK_COUNT(log_state.next, 5);
  CHECK_BYTES(log_state.key, key, 32);
  REQUIRE(CHECK_NUMBER(pfc_log_note(&log_state, &due, 0, 0), 1));
  CHECK_NUMBER(due.flags, PFC_LOG_STARTED);
  CHECK_NUMBER(due.undone, 0);
  test_case("the last entry did not happen");
  restart(&record, 5, true);
  CHECK_NUMBER(log_state.undone, 1);
  test_case("the last two writes were cut");
  flash[4][0] ^= 1;
  flash[3][31] ^= 1;
  restart(&record, 5, false);
  CHECK_COUNT(log_state.next, 5);
  CHECK_NUMBER(log_state.undone, 2);
  CHECK_BYTES(log_state.key, key, 32);
  test_case("an entry that opens comes behind");
  append_event();
  CHECK_COUNT(log_state.next, 7);
  restart(&record, 7, false);
  CHECK_NUMBER(log_state.undone, 0);
  CHECK_COUNT(log_state.next, 7);
}

static void a_block_carries_what_is_to_tell(void) {
  struct pfc_log_key_record record;
  struct pfc_log_content due;
  uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES];
  new_log();
  for (unsigned i = 0; i < 15; i++) append_event();
  CHECK_NUMBER(pfc_log_turns(&log_state), 0);
  CHECK_NUMBER(pfc_log_put(flash[15], &log_state, &command, hardware_id), PFC_OK);
  flash[15][5] ^= 1;
  pfc_log_failed(&log_state);
  pfc_log_resume_end(&log_state, 0);
  CHECK_NUMBER(pfc_log_turns(&log_state), 1);
  pfc_log_turn(&record, &log_state, 7, 3);
  CHECK_COUNT(record.sequence, 7);
  CHECK_COUNT(record.number, 16);
  CHECK_COUNT(record.acknowledged, 3);
  CHECK_NUMBER(pfc_log_key_record_encode(bytes, &record, store_key), PFC_OK);
  CHECK_NUMBER(pfc_log_key_record_decode(&record, bytes, store_key), PFC_OK);
  restart(&record, 16, false);
  REQUIRE(CHECK_NUMBER(pfc_log_note(&log_state, &due, 0, 0), 1));
  CHECK_NUMBER(due.undone, 1);
  CHECK_NUMBER(due.flags, PFC_LOG_STARTED);
  CHECK_COUNT(log_state.next, 16);
}

static void undone_entries_are_counted(void) {
  struct pfc_log_content due;
  new_log();
  append_event();
  pfc_log_undo(&log_state);
  CHECK_NUMBER(pfc_log_note(&log_state, &due, 0, 0), 1);
  CHECK_NUMBER(due.undone, 1);
  for (unsigned i = 0; i < 300; i++) pfc_log_failed(&log_state);
  CHECK_COUNT(log_state.next, 301);
  CHECK_NUMBER(pfc_log_note(&log_state, &due, 0, 0), 1);
  CHECK_NUMBER(due.undone, PFC_LOG_UNDONE_MAX);
}

// Messages -------------------------------------------------------------------------------------------------------

static void ask_round_trip(void) {
  uint8_t message[PFC_LOG_ASK_BYTES + 1] = {0};
  struct pfc_log_ask ask;
  begin();
  pfc_log_ask_encode(message, UINT64_C(0x1122334455667788), nonce);
  CHECK_COUNT(get64(message), UINT64_C(0x1122334455667788));
  CHECK_BYTES(message + 8, nonce, 16);
  CHECK_NUMBER(pfc_log_ask_decode(&ask, message, 24), PFC_OK);
  CHECK_COUNT(ask.from, UINT64_C(0x1122334455667788));
  CHECK(ask.nonce == message + 8);
  for (size_t size = 0; size <= 25; size++) {
    test_case("%zu bytes", size);
    if (size == 24) continue;
    CHECK_NUMBER(pfc_log_ask_decode(&ask, message, size), PFC_E_MALFORMED);
    CHECK_ZEROS(&ask, sizeof ask);
  }
}

static void message_round_trip(void) {
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
  struct pfc_log_fields fields;
  size_t size;
  new_log();
  for (unsigned i = 0; i < 40; i++) append_event();
  pfc_log_resume_end(&log_state, 1);
  pfc_log_refuse(&log_state, PFC_VERDICT_BUSY);
  for (uint8_t count = 0; count <= PFC_LOG_ENTRIES_MAX; count++) {
    uint64_t first = count > 0 ? 31 : 40;
    test_case("%u entries", count);
    memcpy(message + PFC_LOG_FIELDS_BYTES, flash[31], (size_t)PFC_LOG_ENTRY_BYTES * count);
    REQUIRE(CHECK_NUMBER(pfc_log_message_make(message, sizeof message, &size, &log_state, 2, first, count, nonce),
                         PFC_OK));
    CHECK_NUMBER(size, 48 + 32 * count);
    REQUIRE(CHECK_NUMBER(pfc_log_message_decode(&fields, message, size), PFC_OK));
    CHECK_COUNT(fields.first, first);
    CHECK_COUNT(fields.oldest, 2);
    CHECK_COUNT(fields.next, 40);
    CHECK_BYTES(fields.refused, "\0\0\0\1", 4);
    CHECK_NUMBER(fields.flags, PFC_LOG_STARTED);
    CHECK_NUMBER(fields.undone, 1);
    CHECK_NUMBER(fields.count, count);
    CHECK_NUMBER(pfc_log_message_check(message, size, log_state.key, nonce), PFC_OK);
    CHECK_NUMBER(pfc_log_message_make(message, size - 1, &size, &log_state, 2, first, count, nonce), PFC_E_SPACE);
    CHECK_NUMBER(size, 0);
  }
}

static void head_covers_all(void) {
  uint8_t message[PFC_LOG_BYTES(2)], key[32], other[16];
  size_t size;
  new_log();
  for (unsigned i = 0; i < 4; i++) append_event();
  memcpy(message + PFC_LOG_FIELDS_BYTES, flash[1], 64);
  REQUIRE(CHECK_NUMBER(pfc_log_message_make(message, sizeof message, &size, &log_state, 0, 1, 2, nonce), PFC_OK));
  for (unsigned bit = 0; bit < 8 * sizeof message; bit++) {
    test_case("bit %u of the message", bit);
    message[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK_NUMBER(pfc_log_message_check(message, size, log_state.key, nonce), PFC_E_DIFFERS);
    message[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  for (unsigned i = 0; i < 16; i++) {
    test_case("byte %u of the nonce", i);
    memcpy(other, nonce, 16);
    other[i] ^= 128;
    CHECK_NUMBER(pfc_log_message_check(message, size, log_state.key, other), PFC_E_DIFFERS);
  }
  test_case("keys");
  key_at(key, 3);
  CHECK_NUMBER(pfc_log_message_check(message, size, key, nonce), PFC_E_DIFFERS);
  key_at(key, 5);
  CHECK_NUMBER(pfc_log_message_check(message, size, key, nonce), PFC_E_DIFFERS);
  key_at(key, 4);
  CHECK_NUMBER(pfc_log_message_check(message, size, key, nonce), PFC_OK);
}

static void message_ranges(void) {
  static const struct {
    uint64_t oldest, first, next;
    uint8_t count;
    bool fits;
  } cases[] = {
      {0, 0, 0, 0, true},  {0, 0, 1, 0, false}, {0, 0, 1, 1, true},  {0, 0, 0, 1, false},
      {3, 2, 9, 1, false}, {2, 2, 9, 7, true},  {2, 2, 9, 8, false}, {0, 0, 10, 9, true},
      {0, 0, 20, 10, false}, {5, 6, 5, 0, false}, {6, 6, 5, 0, false},
      {0, UINT64_MAX, UINT64_MAX, 0, true}, {0, UINT64_MAX, UINT64_MAX, 1, false}, {0, UINT64_MAX, 3, 4, false},
      {UINT64_MAX, 0, 1, 1, false},
  };
  begin();
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    uint8_t message[PFC_LOG_BYTES(10)] = {0};
    struct pfc_log state = {.next = cases[i].next};
    struct pfc_log_fields fields;
    size_t size;
    int fits = cases[i].fits ? PFC_OK : PFC_E_ARGUMENT;
    test_case("case %u", i);
    CHECK_NUMBER(pfc_log_message_make(message, sizeof message, &size, &state, cases[i].oldest, cases[i].first,
                                      cases[i].count, nonce), fits);
    put64(message, cases[i].first);
    put64(message + 8, cases[i].oldest);
    put64(message + 16, cases[i].next);
    message[30] = cases[i].count;
    CHECK_NUMBER(pfc_log_message_decode(&fields, message, PFC_LOG_BYTES((size_t)cases[i].count)),
                 cases[i].fits ? PFC_OK : PFC_E_MALFORMED);
    if (!cases[i].fits) CHECK_ZEROS(&fields, sizeof fields);
  }
}

static void message_sizes_and_reserved_bits(void) {
  uint8_t message[400] = {0};
  struct pfc_log_fields fields;
  put64(message + 16, 9);
  for (unsigned count = 1; count <= 9; count++) {
    message[30] = (uint8_t)count;
    for (size_t size = 0; size <= sizeof message; size++) {
      test_case("%u entries, %zu bytes", count, size);
      CHECK_NUMBER(pfc_log_message_decode(&fields, message, size),
                   size == 48 + 32 * count ? PFC_OK : PFC_E_MALFORMED);
    }
  }
  test_case("reserved");
  message[31] = 1;
  CHECK_NUMBER(pfc_log_message_decode(&fields, message, 336), PFC_E_TOO_NEW);
  message[31] = 0;
  message[28] = 2;
  CHECK_NUMBER(pfc_log_message_decode(&fields, message, 336), PFC_E_TOO_NEW);
  message[28] = 1;
  message[29] = 16;
  CHECK_NUMBER(pfc_log_message_decode(&fields, message, 336), PFC_E_TOO_NEW);
  CHECK_ZEROS(&fields, sizeof fields);
}

static const struct test tests[] = {
    TEST("an entry opens as what was sealed", entry_round_trip),
    TEST("an entry opens under its own number, key and hardware only, and not with a bit changed", entry_is_bound),
    TEST("a key that has moved on opens none of the entries before", later_keys_do_not_open),
    TEST("each key of the log is its own, and none is the factory secret", keys_differ),
    TEST("two contents under one number do not give away their difference", one_number_twice_tells_nothing),
    TEST("a content out of range is not sealed", contents_are_in_range),
    TEST("a content of a later version is too new", later_contents_are_too_new),
    TEST("a page head is read back, and not with a bit changed", page_head),
    TEST("a key record is read back, and not with a bit changed", key_record),
    TEST("a key record out of range is refused, and so is a key of zeros", key_record_ranges),
    TEST("refusals and starts write nothing, and at most one note beside the next proved event",
         only_proved_events_write),
    TEST("refusals are counted by group, and stay at 255", refusals_are_counted_by_group),
    TEST("where a note is due nothing else is sealed", a_due_note_comes_first),
    TEST("a start finds the end of the log, and how many entries before it did not happen", a_start_finds_the_place),
    TEST("a key record carries what the next note has to tell", a_block_carries_what_is_to_tell),
    TEST("entries whose write failed and entries without their slot are told of, up to 15", undone_entries_are_counted),
    TEST("LOG-ASK is read back, at its one size", ask_round_trip),
    TEST("LOG is read back with 0 to 9 entries, and does not leave its buffer", message_round_trip),
    TEST("a head covers nonce, key and each bit of the message", head_covers_all),
    TEST("numbers of a LOG that contradict each other are malformed", message_ranges),
    TEST("a LOG has the size that its count gives, and no reserved bit", message_sizes_and_reserved_bits),
};
const struct suite logbook_suite = SUITE("logbook", tests);
