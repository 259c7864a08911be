// SPDX-License-Identifier: Apache-2.0

/// The backend's reader of the hardware's log: one model of a lock, couriers that cheat, and what the reader finds.

#include <stdio.h>
#include <string.h>

#include "ProofCore.h"
#include "harness.h"

enum { ENTRIES = 64 };

/// The lock. Its flash has a place for each entry; `oldest` says which are left.
static struct {
  struct pfc_log end;
  uint64_t oldest;
  uint8_t flash[ENTRIES][PFC_LOG_ENTRY_BYTES];
} lock;

static uint8_t drawn[32], hardware_id[16], first_key[32], nonce[16];
static struct pfc_log_reader reader;

/// The reader's findings as text: the word of each kind, then the numbers. Entries of commands are left out.
static char told[1024];

/// The backend's store.
static uint8_t stored[ENTRIES][PFC_LOG_ENTRY_BYTES];
static bool has_stored[ENTRIES];

static const uint8_t *find_stored(void *context, uint64_t number) {
  (void)context;
  return number < ENTRIES && has_stored[number] ? stored[number] : NULL;
}

static void note_finding(void *context, const struct pfc_log_finding *finding) {
  static const char *const names[] = {"entry",   "unknown", "undone",  "torn",   "missing",
                                      "overwritten", "unclear", "changed", "forked", "shorter"};
  size_t at = strlen(told);
  unsigned kind = 0;
  (void)context;
  while (finding->kind >> kind > 1) kind++;
  CHECK((finding->content != NULL) == (finding->kind == PFC_LOG_ENTRY));
  // Entries of commands are many: only notes are named.
  if (finding->kind == PFC_LOG_ENTRY && finding->content->event != PFC_LOG_NOTE) return;
  (void)snprintf(told + at, sizeof told - at, "%s%s %llu+%llu", at > 0 ? ", " : "",
                 finding->kind == PFC_LOG_ENTRY ? "note" : names[kind], (unsigned long long)finding->first,
                 (unsigned long long)finding->count);
}

static const struct pfc_log_listener listener = {NULL, find_stored, note_finding};

static void check_told(const char *expected) {
  if (!CHECK(strcmp(told, expected) == 0)) test_note("told: %s", told);
  told[0] = 0;
}

static void begin(void) {
  struct pfc_log_key_record record = {0};
  struct dice dice = {78};
  memset(&lock, 0, sizeof lock);
  memset(has_stored, 0, sizeof has_stored);
  told[0] = 0;
  dice_fill(&dice, drawn, sizeof drawn);
  dice_fill(&dice, hardware_id, sizeof hardware_id);
  dice_fill(&dice, nonce, sizeof nonce);
  pfc_log_first_key(first_key, drawn, hardware_id);
  memcpy(record.key, first_key, 32);
  pfc_log_resume(&lock.end, &record);
  pfc_log_reader_begin(&reader, first_key, 0, hardware_id);
}

static void write_entry(const struct pfc_log_content *content) {
  CHECK_NUMBER(pfc_log_put(lock.flash[lock.end.next], &lock.end, content, hardware_id), PFC_OK);
  pfc_log_written(&lock.end, content);
}

/// A proved event, behind a note where one is due.
static void happen(uint32_t counter) {
  struct pfc_log_content content;
  if (pfc_log_note(&lock.end, &content, 0, counter)) write_entry(&content);
  content = (struct pfc_log_content){.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1, .counter = counter};
  write_entry(&content);
}

static void happen_often(unsigned times) {
  for (unsigned i = 0; i < times; i++) happen(i);
}

/// A command whose entry is cut in the middle, and the start after it.
static void cut(void) {
  struct pfc_log_content content = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1};
  if (pfc_log_note(&lock.end, &content, 0, 0)) write_entry(&content);
  content = (struct pfc_log_content){.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1};
  CHECK_NUMBER(pfc_log_put(lock.flash[lock.end.next], &lock.end, &content, hardware_id), PFC_OK);
  memset(lock.flash[lock.end.next] + 10, 255, 22);
  pfc_log_failed(&lock.end);
  pfc_log_resume_end(&lock.end, 0);
}

/// A LOG from entry `first` on, as the lock sends it. Its size.
static size_t message_of(uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)], uint64_t first, unsigned count) {
  size_t size;
  memcpy(message + PFC_LOG_FIELDS_BYTES, lock.flash[first < ENTRIES ? first : 0], (size_t)PFC_LOG_ENTRY_BYTES * count);
  CHECK_NUMBER(pfc_log_message_make(message, PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX), &size, &lock.end, lock.oldest, first,
                                    (uint8_t)count, nonce), PFC_OK);
  return size;
}

static int take(const uint8_t *message, size_t size) {
  int result = pfc_log_reader_take(&reader, nonce, message, size, PFC_LOG_STEPS_MAX, &listener);
  struct pfc_log_fields fields;
  if (result == PFC_OK && pfc_log_message_decode(&fields, message, size) == PFC_OK) {
    for (unsigned i = 0; i < fields.count; i++) {
      const uint8_t *entry = message + PFC_LOG_FIELDS_BYTES + (size_t)PFC_LOG_ENTRY_BYTES * i;
      if (has_stored[fields.first + i]) continue;
      memcpy(stored[fields.first + i], entry, PFC_LOG_ENTRY_BYTES);
      has_stored[fields.first + i] = true;
    }
  }
  return result;
}

/// A courier brings entries `first` to `first` + `count` - 1 in one LOG.
static void bring(uint64_t first, unsigned count) {
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
  size_t size = message_of(message, first, count);
  CHECK_NUMBER(take(message, size), PFC_OK);
}

/// Couriers bring all from `first` on.
static void bring_all(uint64_t first) {
  while (first < lock.end.next) {
    uint64_t count = lock.end.next - first;
    if (count > PFC_LOG_ENTRIES_MAX) count = PFC_LOG_ENTRIES_MAX;
    bring(first, (unsigned)count);
    first += count;
  }
}

static void check_end(int outcome, const char *expected) {
  CHECK_NUMBER(pfc_log_reader_end(&reader, &listener), outcome);
  check_told(expected);
  CHECK_ZEROS(&reader, sizeof reader);
}

// Findings -------------------------------------------------------------------------------------------------------

static unsigned count_entries;
static void count_finding(void *context, const struct pfc_log_finding *finding) {
  (void)context;
  if (finding->kind != PFC_LOG_ENTRY) return;
  CHECK_COUNT(finding->first, count_entries);
  CHECK_COUNT(finding->content->counter, count_entries);
  count_entries++;
}

static void whole(void) {
  static const struct pfc_log_listener counting = {NULL, find_stored, count_finding};
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
  begin();
  happen_often(40);
  count_entries = 0;
  for (unsigned first = 0; first < 40; first += 8) {
    size_t size = message_of(message, first, 8);
    CHECK_NUMBER(pfc_log_reader_take(&reader, nonce, message, size, PFC_LOG_STEPS_MAX, &counting), PFC_OK);
  }
  CHECK_NUMBER(count_entries, 40);
  check_end(PFC_LOG_WHOLE, "");
  test_case("an empty log");
  begin();
  bring(0, 0);
  check_end(PFC_LOG_WHOLE, "");
}

static void another_nonce(void) {
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
  struct pfc_log_reader before;
  size_t size;
  begin();
  happen_often(3);
  size = message_of(message, 0, 3);
  before = reader;
  nonce[3] ^= 1;
  CHECK_NUMBER(take(message, size), PFC_E_DIFFERS);
  check_told("");
  CHECK_BYTES(&reader, &before, sizeof before);
  nonce[3] ^= 1;
  CHECK_NUMBER(take(message, size), PFC_OK);
}

static void couriers_change_nothing(void) {
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)], other[32];
  struct pfc_log_reader before;
  size_t size;
  begin();
  happen_often(12);
  bring(0, 4);
  before = reader;
  size = message_of(message, 4, 3);
  for (size_t i = 0; i < size; i++) {
    int result;
    test_case("byte %zu", i);
    message[i] ^= 1;
    result = take(message, size);
    CHECK(result == PFC_E_DIFFERS || result == PFC_E_MALFORMED || result == PFC_E_TOO_NEW || result == PFC_E_TOO_FAR);
    CHECK_BYTES(&reader, &before, sizeof before);
    message[i] ^= 1;
  }
  test_case("two entries change places");
  memcpy(other, message + PFC_LOG_FIELDS_BYTES, 32);
  memmove(message + PFC_LOG_FIELDS_BYTES, message + PFC_LOG_FIELDS_BYTES + 32, 32);
  memcpy(message + PFC_LOG_FIELDS_BYTES + 32, other, 32);
  CHECK_NUMBER(take(message, size), PFC_E_DIFFERS);
  test_case("an entry is cut off");
  message[30]--;
  CHECK_NUMBER(take(message, size - 32), PFC_E_DIFFERS);
  CHECK_BYTES(&reader, &before, sizeof before);
  check_told("");
}

static void another_hardware(void) {
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)], other_id[16], other_key[32];
  size_t size;
  begin();
  happen_often(3);
  size = message_of(message, 0, 3);
  memcpy(other_id, hardware_id, 16);
  other_id[0] ^= 1;
  pfc_log_first_key(other_key, drawn, other_id);
  pfc_log_reader_begin(&reader, other_key, 0, other_id);
  CHECK_NUMBER(take(message, size), PFC_E_DIFFERS);
}

static void truncation(void) {
  begin();
  happen_often(20);
  bring(0, 9);
  bring(9, 5);
  check_told("");
  check_end(PFC_LOG_INCOMPLETE, "missing 14+6");
}

static void gap(void) {
  begin();
  happen_often(20);
  bring(0, 5);
  bring(8, 9);
  check_told("missing 5+3");
  bring(17, 3);
  check_end(PFC_LOG_INCOMPLETE, "");
  test_case("the gap is closed later");
  begin();
  happen_often(20);
  bring(0, 5);
  bring(8, 9);
  bring(17, 3);
  check_told("missing 5+3");
  bring(4, 5);
  check_end(PFC_LOG_WHOLE, "");
}

static void overwritten(void) {
  begin();
  happen_often(30);
  bring(0, 5);
  lock.oldest = 12;
  bring(15, 9);
  check_told("overwritten 5+7, missing 12+3");
  bring(24, 6);
  bring(12, 3);
  check_end(PFC_LOG_INCOMPLETE, "");
  test_case("all that is left is there");
  begin();
  happen_often(30);
  lock.oldest = 30;
  bring(30, 0);
  check_end(PFC_LOG_INCOMPLETE, "overwritten 0+30");
}

static void repeated(void) {
  begin();
  happen_often(12);
  bring(0, 9);
  bring(3, 6);
  bring(3, 9);
  bring(0, 9);
  check_end(PFC_LOG_WHOLE, "");
}

static void fork(void) {
  struct pfc_log put_back;
  begin();
  happen_often(5);
  put_back = lock.end;
  happen(100);
  happen(101);
  bring(0, 7);
  lock.end = put_back;
  happen(200);
  bring(0, 6);
  check_told("shorter 6+1, forked 5+1");
  happen(201);
  happen(202);
  bring(6, 2);
  check_told("forked 6+1");
  check_end(PFC_LOG_ALTERED, "");
  test_case("the log has grown beyond its former end before it is read");
  begin();
  happen_often(5);
  put_back = lock.end;
  happen(100);
  bring_all(0);
  lock.end = put_back;
  happen(200);
  happen(201);
  bring(5, 2);
  check_told("forked 5+1");
  check_end(PFC_LOG_ALTERED, "");
  test_case("the log alone became shorter");
  begin();
  happen_often(5);
  put_back = lock.end;
  happen(100);
  bring_all(0);
  lock.end = put_back;
  bring(5, 0);
  check_told("shorter 5+1");
  check_end(PFC_LOG_ALTERED, "");
}

static void torn(void) {
  begin();
  happen_often(3);
  cut();
  happen(9);
  bring_all(0);
  check_told("torn 3+1, note 4+1");
  check_end(PFC_LOG_WHOLE, "");
  test_case("explained by a later LOG");
  begin();
  happen_often(3);
  cut();
  happen(9);
  bring(0, 4);
  check_told("");
  bring(4, 2);
  check_told("torn 3+1, note 4+1");
  check_end(PFC_LOG_WHOLE, "");
  test_case("the last entry, explained by the LOG itself");
  begin();
  happen_often(3);
  cut();
  bring_all(0);
  check_told("torn 3+1");
  happen(9);
  bring_all(4);
  check_told("undone 3+1, note 4+1");
  check_end(PFC_LOG_WHOLE, "");
  test_case("the last entry, in the second of two parts, and the first of them again");
  begin();
  happen_often(3);
  cut();
  bring(0, 2);
  check_told("");
  bring(2, 2);
  check_told("torn 3+1");
  bring(0, 2);
  check_told("");
  check_end(PFC_LOG_WHOLE, "");
  test_case("the note's own write was cut");
  begin();
  happen_often(3);
  cut();
  memset(lock.flash[lock.end.next], 0, PFC_LOG_ENTRY_BYTES);
  pfc_log_failed(&lock.end);
  happen(9);
  bring_all(0);
  check_told("torn 3+2, note 5+1");
  check_end(PFC_LOG_WHOLE, "");
}

static void torn_without_a_reason_is_changed(void) {
  begin();
  happen_often(6);
  lock.flash[2][0] ^= 1;
  bring_all(0);
  check_told("changed 2+1");
  check_end(PFC_LOG_ALTERED, "");
  test_case("the last one");
  begin();
  happen_often(6);
  lock.flash[5][31] ^= 1;
  bring_all(0);
  check_told("changed 5+1");
  check_end(PFC_LOG_ALTERED, "");
  test_case("a note that tells of fewer");
  begin();
  happen_often(6);
  cut();
  happen(9);
  lock.flash[5][1] ^= 1;
  lock.flash[4][1] ^= 1;
  bring_all(0);
  check_told("changed 4+2, torn 6+1, note 7+1");
  check_end(PFC_LOG_ALTERED, "");
  test_case("a start alone explains nothing");
  begin();
  happen_often(6);
  pfc_log_resume_end(&lock.end, 0);
  happen(9);
  lock.flash[5][1] ^= 1;
  bring_all(0);
  check_told("changed 5+1, note 6+1");
  check_end(PFC_LOG_ALTERED, "");
  test_case("two entries have changed places in flash");
  begin();
  happen_often(6);
  memcpy(lock.flash[10], lock.flash[2], 32);
  memcpy(lock.flash[2], lock.flash[3], 32);
  memcpy(lock.flash[3], lock.flash[10], 32);
  bring_all(0);
  check_told("changed 2+2");
  check_end(PFC_LOG_ALTERED, "");
  test_case("an entry that was read before");
  begin();
  happen_often(6);
  bring_all(0);
  lock.flash[2][7] ^= 1;
  bring(0, 6);
  check_told("changed 2+1");
  check_end(PFC_LOG_ALTERED, "");
}

static void undone(void) {
  begin();
  happen_often(3);
  pfc_log_resume_end(&lock.end, 1);
  bring_all(0);
  check_told("undone 2+1");
  happen(9);
  bring_all(3);
  check_told("undone 2+1, note 3+1");
  check_end(PFC_LOG_WHOLE, "");
  test_case("and a cut write behind it");
  begin();
  happen_often(3);
  pfc_log_undo(&lock.end);
  memset(lock.flash[3], 0, PFC_LOG_ENTRY_BYTES);
  pfc_log_failed(&lock.end);
  happen(9);
  bring_all(0);
  check_told("torn 3+1, undone 2+1, note 4+1");
  check_end(PFC_LOG_WHOLE, "");
}

static void unclear(void) {
  begin();
  happen_often(3);
  cut();
  happen(9);
  bring(0, 4);
  check_told("");
  check_end(PFC_LOG_INCOMPLETE, "unclear 3+1, missing 4+2");
  test_case("a gap behind it");
  begin();
  happen_often(3);
  cut();
  happen(9);
  bring(0, 4);
  bring(5, 1);
  check_told("unclear 3+1, missing 4+1");
  check_end(PFC_LOG_INCOMPLETE, "");
}

static void bound_of_steps(void) {
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
  struct pfc_log_reader before;
  size_t size;
  begin();
  happen_often(20);
  size = message_of(message, 0, 9);
  before = reader;
  CHECK_NUMBER(pfc_log_reader_take(&reader, nonce, message, size, 19, &listener), PFC_E_TOO_FAR);
  CHECK_BYTES(&reader, &before, sizeof before);
  CHECK_NUMBER(pfc_log_reader_take(&reader, nonce, message, size, 20, &listener), PFC_OK);
  test_case("from where the reader is");
  size = message_of(message, 9, 9);
  CHECK_NUMBER(pfc_log_reader_take(&reader, nonce, message, size, 10, &listener), PFC_E_TOO_FAR);
  CHECK_NUMBER(pfc_log_reader_take(&reader, nonce, message, size, 11, &listener), PFC_OK);
  test_case("the highest number");
  put64(message + 16, UINT64_MAX);
  CHECK_NUMBER(take(message, size), PFC_E_TOO_FAR);
  put64(message, UINT64_MAX - 20);
  CHECK_NUMBER(take(message, size), PFC_E_TOO_FAR);
  check_told("");
}

static void begins_later(void) {
  uint8_t key[32], message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
  size_t size;
  begin();
  happen_often(20);
  memcpy(key, first_key, 32);
  for (unsigned i = 0; i < 12; i++) pfc_log_step(key);
  pfc_log_reader_begin(&reader, key, 12, hardware_id);
  size = message_of(message, 11, 9);
  CHECK_NUMBER(take(message, size), PFC_E_TOO_FAR);
  bring(12, 8);
  bring(12, 8);
  check_end(PFC_LOG_WHOLE, "");
  test_case("a note tells of entries before the reader's first");
  begin();
  happen_often(3);
  cut();
  cut();
  happen(9);
  memcpy(key, first_key, 32);
  for (unsigned i = 0; i < 4; i++) pfc_log_step(key);
  pfc_log_reader_begin(&reader, key, 4, hardware_id);
  bring_all(4);
  check_told("note 4+1, torn 5+1, note 6+1");
  check_end(PFC_LOG_WHOLE, "");
  begin();
  happen_often(3);
  pfc_log_undo(&lock.end);
  happen(9);
  memcpy(key, first_key, 32);
  for (unsigned i = 0; i < 3; i++) pfc_log_step(key);
  pfc_log_reader_begin(&reader, key, 3, hardware_id);
  bring_all(3);
  check_told("note 3+1");
  check_end(PFC_LOG_WHOLE, "");
}

static void later_versions(void) {
  uint8_t key[32], text[41], full[32];
  struct pfc_log state;
  begin();
  happen_often(1);
  state = lock.end;
  happen_often(3);
  // Entry 1 becomes one of event 6, and entry 0 does not open.
  put64(text, 1);
  pfc_derive(key, "pfc2.log-entry..", state.key, 32, text, 8);
  memset(text, 0, sizeof text);
  text[0] = 2;
  put64(text + 1, 1);
  memcpy(text + 9, hardware_id, 16);
  text[25] = 6;
  pfc_mac_once(full, key, 32, text, sizeof text);
  memcpy(lock.flash[1] + 16, full, 16);
  text[0] = 1;
  memcpy(text + 1, lock.flash[1] + 16, 16);
  pfc_mac_once(full, key, 32, text, 17);
  memcpy(lock.flash[1], full, 16);
  lock.flash[1][0] ^= 6;
  bring_all(0);
  check_told("unknown 1+1");
  lock.flash[0][0] ^= 1;
  pfc_log_reader_begin(&reader, first_key, 0, hardware_id);
  memset(has_stored, 0, sizeof has_stored);
  bring_all(0);
  check_told("unclear 0+1, unknown 1+1");
  check_end(PFC_LOG_INCOMPLETE, "");
}

static const struct test tests[] = {
    TEST("a log that came whole is whole, and each entry is told once", whole),
    TEST("a LOG that answers another nonce is refused, and tells nothing", another_nonce),
    TEST("a LOG that a courier has changed, reordered or shortened is refused, and tells nothing",
         couriers_change_nothing),
    TEST("a LOG of other hardware is refused", another_hardware),
    TEST("entries that a courier keeps back at the end are missing", truncation),
    TEST("entries that a courier keeps back in the middle are missing until they come", gap),
    TEST("entries that the ring has overwritten are told apart from those kept back", overwritten),
    TEST("an entry that comes twice is told once", repeated),
    TEST("flash that was put back shows as a shorter log, and as two entries of one number", fork),
    TEST("an entry whose write was cut is torn, where the hardware says so", torn),
    TEST("an entry that does not open is changed, where the hardware does not say so",
         torn_without_a_reason_is_changed),
    TEST("an entry that did not happen is told of", undone),
    TEST("an entry that does not open is unclear while the next one is missing", unclear),
    TEST("a number beyond the bound of steps is too far, and no forgery", bound_of_steps),
    TEST("a reader that begins later reads nothing before its first entry", begins_later),
    TEST("an entry of a later version is unknown, and no sign of a change", later_versions),
};
const struct suite logbook_reader_suite = SUITE("logbook reader", tests);
