// SPDX-License-Identifier: Apache-2.0

/// The second implementation's log: keys, entries, what is stored and sent, readings, and what must be refused.

#include <stdio.h>
#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "vectors.h"

static int result_of(const char *word) {
  static const struct {
    const char *word;
    int result;
  } words[] = {{"none", PFC_OK},
               {"damaged", PFC_E_DAMAGED},
               {"too-new", PFC_E_TOO_NEW},
               {"malformed", PFC_E_MALFORMED},
               {"differs", PFC_E_DIFFERS},
               {"too-far", PFC_E_TOO_FAR}};
  for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(words[i].word, word) == 0) return words[i].result;
  }
  CHECK_NUMBER(0, 1);
  return 0;
}

// Valid ----------------------------------------------------------------------------------------------------------

static void judge_keys(const struct block *block) {
  uint8_t drawn[32], id[16], key[32], derived[32], number[8];
  uint64_t steps = block_number(block, "number");
  block_exactly(block, "drawn", drawn, 32);
  block_exactly(block, "hardware_id", id, 16);
  pfc_log_first_key(key, drawn, id);
  check_field(block, "first_key", key, 32);
  put64(number, steps);
  while (steps-- > 0) pfc_log_step(key);
  check_field(block, "key", key, 32);
  pfc_derive(derived, PFC_LABEL_LOG_ENTRY, key, 32, number, 8);
  check_field(block, "entry_key", derived, 32);
  pfc_derive(derived, PFC_LABEL_LOG_HEAD, key, 32, NULL, 0);
  check_field(block, "head_key", derived, 32);
}

static void judge_entry(const struct block *block) {
  struct pfc_log_content content, opened;
  uint8_t key[32], id[16], entry[PFC_LOG_ENTRY_BYTES];
  uint64_t number = block_number(block, "number");
  memset(&content, 0, sizeof content);
  block_exactly(block, "key", key, 32);
  block_exactly(block, "hardware_id", id, 16);
  content.event = byte_of(block, "event");
  content.verdict = byte_of(block, "verdict");
  content.undone = byte_of(block, "undone");
  content.command_class = byte_of(block, "class");
  content.kind = byte_of(block, "kind");
  content.flags = byte_of(block, "flags");
  block_exactly(block, "who", content.event == PFC_LOG_NOTE ? content.refused : content.who, 4);
  content.epoch = (uint32_t)block_number(block, "epoch");
  content.counter = (uint32_t)block_number(block, "counter");
  CHECK_NUMBER(pfc_log_seal(entry, &content, key, number, id), PFC_OK);
  check_field(block, "entry", entry, sizeof entry);
  CHECK_NUMBER(pfc_log_open(&opened, entry, key, number, id), PFC_OK);
  CHECK_BYTES(&opened, &content, sizeof content);
}

static void store_key_of(const struct block *block, uint8_t key[32]) {
  uint8_t secret[32];
  block_exactly(block, "hardware_secret", secret, 32);
  pfc_log_store_key(key, secret);
}

static void judge_page(const struct block *block) {
  uint8_t key[32], bytes[PFC_LOG_PAGE_HEAD_BYTES];
  uint64_t number;
  store_key_of(block, key);
  check_field(block, "store_key", key, 32);
  pfc_log_page_encode(bytes, block_number(block, "number"), key);
  check_field(block, "bytes", bytes, sizeof bytes);
  CHECK_NUMBER(pfc_log_page_decode(&number, bytes, key), PFC_OK);
  CHECK_COUNT(number, block_number(block, "number"));
}

static void judge_key_record(const struct block *block) {
  struct pfc_log_key_record record = {0}, decoded;
  uint8_t key[32], bytes[PFC_LOG_KEY_RECORD_BYTES], again[PFC_LOG_KEY_RECORD_BYTES];
  store_key_of(block, key);
  record.sequence = (uint32_t)block_number(block, "sequence");
  record.number = block_number(block, "number");
  record.acknowledged = block_number(block, "acknowledged");
  record.undone = byte_of(block, "undone");
  record.flags = byte_of(block, "flags");
  block_exactly(block, "key", record.key, 32);
  CHECK_NUMBER(pfc_log_key_record_encode(bytes, &record, key), PFC_OK);
  check_field(block, "bytes", bytes, sizeof bytes);
  CHECK_NUMBER(pfc_log_key_record_decode(&decoded, bytes, key), PFC_OK);
  CHECK_NUMBER(pfc_log_key_record_encode(again, &decoded, key), PFC_OK);
  CHECK_BYTES(again, bytes, sizeof bytes);
}

static void judge_ask(const struct block *block) {
  uint8_t message[PFC_LOG_ASK_BYTES], nonce[16];
  block_exactly(block, "nonce", nonce, 16);
  pfc_log_ask_encode(message, block_number(block, "from"), nonce);
  check_field(block, "message", message, sizeof message);
}

static void judge_message(const struct block *block) {
  uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)], nonce[16];
  struct pfc_log state = {0};
  uint8_t count = 0;
  size_t size, entry_size;
  block_exactly(block, "nonce", nonce, 16);
  block_exactly(block, "key", state.key, 32);
  block_exactly(block, "refused", state.refused, 4);
  state.next = block_number(block, "next");
  state.flags = byte_of(block, "flags");
  state.undone = byte_of(block, "undone");
  for (size_t i = 0; i < block->count; i++) {
    if (strcmp(block->fields[i].name, "entry") != 0) continue;
    REQUIRE(CHECK(count < PFC_LOG_ENTRIES_MAX));
    CHECK(parse_bytes(block->fields[i].value, message + PFC_LOG_FIELDS_BYTES + PFC_LOG_ENTRY_BYTES * count,
                      PFC_LOG_ENTRY_BYTES, &entry_size));
    count++;
  }
  REQUIRE(CHECK_NUMBER(pfc_log_message_make(message, sizeof message, &size, &state, block_number(block, "oldest"),
                                            block_number(block, "first"), count, nonce), PFC_OK));
  check_field(block, "message", message, size);
}

// Readings -------------------------------------------------------------------------------------------------------

enum { KEPT = 32, LINES = 64 };

static struct {
  uint8_t kept[KEPT][PFC_LOG_ENTRY_BYTES];
  bool has[KEPT];
  char lines[LINES][48];
  unsigned told, compared;
} story;

static const uint8_t *find_kept(void *context, uint64_t number) {
  (void)context;
  return number < KEPT && story.has[number] ? story.kept[number] : NULL;
}

static void take_finding(void *context, const struct pfc_log_finding *finding) {
  static const char *const names[] = {"entry",       "unknown", "undone",  "torn",   "missing",
                                      "overwritten", "unclear", "changed", "forked", "shorter"};
  unsigned kind = 0;
  (void)context;
  while (finding->kind >> kind > 1) kind++;
  REQUIRE(CHECK(story.told < LINES));
  (void)snprintf(story.lines[story.told++], sizeof story.lines[0], "%s %llu %llu", names[kind],
                 (unsigned long long)finding->first, (unsigned long long)finding->count);
}

static const struct pfc_log_listener listener = {NULL, find_kept, take_finding};

/// A `log` line: nonce and message.
static int take_line(struct pfc_log_reader *reader, const char *value, uint64_t bound) {
  static uint8_t message[1024];
  char nonce_text[33] = {0};
  uint8_t nonce[16];
  size_t size = 0, nonce_size = 0;
  struct pfc_log_fields fields;
  int result;
  if (!CHECK(strlen(value) > 33)) return PFC_E_ARGUMENT;
  memcpy(nonce_text, value, 32);
  CHECK(parse_bytes(nonce_text, nonce, 16, &nonce_size) && nonce_size == 16);
  CHECK(parse_bytes(value + 33, message, sizeof message, &size));
  result = pfc_log_reader_take(reader, nonce, message, size, bound, &listener);
  if (result != PFC_OK || pfc_log_message_decode(&fields, message, size) != PFC_OK) return result;
  for (unsigned i = 0; i < fields.count && fields.first + i < KEPT; i++) {
    uint64_t number = fields.first + i;
    if (story.has[number]) continue;
    memcpy(story.kept[number], message + PFC_LOG_FIELDS_BYTES + (size_t)PFC_LOG_ENTRY_BYTES * i, PFC_LOG_ENTRY_BYTES);
    story.has[number] = true;
  }
  return PFC_OK;
}

static void judge_reading(const struct block *block) {
  static const char *const outcomes[] = {"whole", "incomplete", "altered"};
  struct pfc_log_reader reader;
  uint8_t key[32], id[16];
  uint64_t bound = block_number(block, "bound");
  int result = PFC_OK;
  memset(&story, 0, sizeof story);
  block_exactly(block, "hardware_id", id, 16);
  block_exactly(block, "first_key", key, 32);
  pfc_log_reader_begin(&reader, key, block_number(block, "first"), id);
  for (size_t i = 0; i < block->count; i++) {
    const char *name = block->fields[i].name, *value = block->fields[i].value;
    if (strcmp(name, "log") == 0) {
      result = take_line(&reader, value, bound);
    } else if (strcmp(name, "close") == 0) {
      result = pfc_log_reader_end(&reader, &listener);
    } else if (strcmp(name, "finding") == 0) {
      if (!CHECK(story.compared < story.told && strcmp(story.lines[story.compared], value) == 0)) {
        test_note("%s instead of %s", story.compared < story.told ? story.lines[story.compared] : "nothing", value);
      }
      story.compared++;
    } else if (strcmp(name, "result") == 0) {
      CHECK_NUMBER(result, result_of(value));
      CHECK_NUMBER(story.told, story.compared);
    } else if (strcmp(name, "outcome") == 0) {
      CHECK(result >= 0 && result < 3 && strcmp(outcomes[result], value) == 0);
      CHECK_NUMBER(story.told, story.compared);
    }
  }
}

// Hostile --------------------------------------------------------------------------------------------------------

static int expected_of(const struct block *block) {
  int expected = result_of(block_word(block, "refusal"));
  CHECK_NUMBER(strcmp(block_word(block, "result"), "valid") == 0, expected == PFC_OK);
  return expected;
}

static void judge_open_entry(const struct block *block) {
  struct pfc_log_content content;
  uint8_t key[32], id[16], entry[PFC_LOG_ENTRY_BYTES];
  block_exactly(block, "key", key, 32);
  block_exactly(block, "hardware_id", id, 16);
  block_exactly(block, "entry", entry, sizeof entry);
  CHECK_NUMBER(pfc_log_open(&content, entry, key, block_number(block, "number"), id), expected_of(block));
  if (expected_of(block) != PFC_OK) CHECK_ZEROS(&content, sizeof content);
}

static void judge_read_page(const struct block *block) {
  uint8_t key[32], bytes[PFC_LOG_PAGE_HEAD_BYTES];
  uint64_t number;
  store_key_of(block, key);
  block_exactly(block, "bytes", bytes, sizeof bytes);
  CHECK_NUMBER(pfc_log_page_decode(&number, bytes, key), expected_of(block));
  if (expected_of(block) != PFC_OK) CHECK_COUNT(number, 0);
}

static void judge_read_key_record(const struct block *block) {
  uint8_t key[32], bytes[PFC_LOG_KEY_RECORD_BYTES];
  struct pfc_log_key_record record;
  store_key_of(block, key);
  block_exactly(block, "bytes", bytes, sizeof bytes);
  CHECK_NUMBER(pfc_log_key_record_decode(&record, bytes, key), expected_of(block));
  if (expected_of(block) != PFC_OK) CHECK_ZEROS(&record, sizeof record);
}

static void judge_read_message(const struct block *block) {
  static uint8_t message[1024];
  struct pfc_log_fields fields;
  size_t size = block_bytes(block, "message", message, sizeof message);
  CHECK_NUMBER(pfc_log_message_decode(&fields, message, size), expected_of(block));
  if (expected_of(block) != PFC_OK) CHECK_ZEROS(&fields, sizeof fields);
}

static void valid_file(void) {
  static const struct judge judges[] = {{"log_keys", judge_keys},
                                        {"log_entry", judge_entry},
                                        {"log_page", judge_page},
                                        {"log_key_record", judge_key_record},
                                        {"log_ask", judge_ask},
                                        {"log_message", judge_message},
                                        {"log_reading", judge_reading}};
  JUDGE_FILE("log.txt", judges);
}

static void hostile_file(void) {
  static const struct judge judges[] = {{"open_log_entry", judge_open_entry},
                                        {"read_log_page", judge_read_page},
                                        {"read_log_key_record", judge_read_key_record},
                                        {"read_log_message", judge_read_message}};
  JUDGE_FILE("hostile_log.txt", judges);
}

static const struct test tests[] = {
    TEST("keys, entries, stored bytes, messages and readings are the second implementation's", valid_file),
    TEST("hostile entries, stored bytes and messages are refused for the right reason", hostile_file),
};

const struct suite logbook_vectors_suite = SUITE("logbook vectors", tests);
