// SPDX-License-Identifier: Apache-2.0

#include "logbook.h"

#include "crypto.h"
#include "internal.h"
#include "message.h"

// Keys -----------------------------------------------------------------------------------------------------------

void pfc_log_first_key(uint8_t key[PFC_LOG_KEY_BYTES], const uint8_t drawn[PFC_FACTORY_SECRET_BYTES],
                       const uint8_t hardware_id[PFC_ID_BYTES]) {
  pfc_derive(key, PFC_LABEL_LOG_FIRST, drawn, PFC_FACTORY_SECRET_BYTES, hardware_id, PFC_ID_BYTES);
}

void pfc_log_step(uint8_t key[PFC_LOG_KEY_BYTES]) {
  pfc_derive(key, PFC_LABEL_LOG_STEP, key, PFC_LOG_KEY_BYTES, NULL, 0);
}

void pfc_log_store_key(uint8_t key[32], const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]) {
  pfc_derive(key, PFC_LABEL_LOG_STORE, hardware_secret_key, PFC_SECRET_KEY_BYTES, NULL, 0);
}

// Entries --------------------------------------------------------------------------------------------------------

enum {
  CONTENT_EVENT = 0,
  CONTENT_VERDICT = 1,  // Notes: undone
  CONTENT_CLASS = 2,    // Class in the lower four bits, kind in the upper
  CONTENT_FLAGS = 3,
  CONTENT_WHO = 4,  // Notes: refused
  CONTENT_EPOCH = 8,
  CONTENT_COUNTER = 12,

  ENTRY_TAG = PFC_LOG_CONTENT_BYTES,

  MASK = 1,  // First byte of what an entry's key authenticates, one for each use
  TAG = 2
};

_Static_assert(CONTENT_COUNTER + 4 == PFC_LOG_CONTENT_BYTES, "the counter ends a content");
_Static_assert(CONTENT_WHO + PFC_LOG_GROUPS == CONTENT_EPOCH, "counts stand where the instance does");

/// Whether a note may tell this. A key record and a LOG say it in the place of the next note.
static int is_telling(uint8_t flags, uint8_t undone) {
  return (flags & ~(unsigned)PFC_LOG_STARTED) == 0 && undone <= PFC_LOG_UNDONE_MAX;
}

static int event_is_known(uint8_t event) {
  return (event >= PFC_LOG_COMMAND && event <= PFC_LOG_NOTE);
}

static int encode_content(uint8_t bytes[PFC_LOG_CONTENT_BYTES], const struct pfc_log_content *content) {
  int is_note = content->event == PFC_LOG_NOTE;
  if (!event_is_known(content->event) || !is_telling(content->flags, content->undone)) return PFC_E_ARGUMENT;
  if (content->command_class >= PFC_CLASSES || content->kind > 15) return PFC_E_ARGUMENT;
  if (!is_note && (content->flags != 0 || content->undone != 0)) return PFC_E_ARGUMENT;
  bytes[CONTENT_EVENT] = content->event;
  bytes[CONTENT_VERDICT] = is_note ? content->undone : content->verdict;
  bytes[CONTENT_CLASS] = (uint8_t)(is_note ? 0 : content->command_class | content->kind << 4);
  bytes[CONTENT_FLAGS] = content->flags;
  memcpy(bytes + CONTENT_WHO, is_note ? content->refused : content->who, PFC_LOG_GROUPS);
  pfc_put32(bytes + CONTENT_EPOCH, content->epoch);
  pfc_put32(bytes + CONTENT_COUNTER, content->counter);
  return PFC_OK;
}

static int decode_content(struct pfc_log_content *content, const uint8_t bytes[PFC_LOG_CONTENT_BYTES]) {
  int is_note = bytes[CONTENT_EVENT] == PFC_LOG_NOTE;
  if (!event_is_known(bytes[CONTENT_EVENT])) return PFC_E_TOO_NEW;
  if (is_note) {
    if (!is_telling(bytes[CONTENT_FLAGS], bytes[CONTENT_VERDICT]) || bytes[CONTENT_CLASS] != 0) return PFC_E_TOO_NEW;
  } else if (bytes[CONTENT_FLAGS] != 0) {
    return PFC_E_TOO_NEW;
  }
  content->event = bytes[CONTENT_EVENT];
  content->flags = bytes[CONTENT_FLAGS];
  if (is_note) {
    content->undone = bytes[CONTENT_VERDICT];
    memcpy(content->refused, bytes + CONTENT_WHO, PFC_LOG_GROUPS);
  } else {
    content->verdict = bytes[CONTENT_VERDICT];
    content->command_class = bytes[CONTENT_CLASS] & 15u;
    content->kind = bytes[CONTENT_CLASS] >> 4;
    memcpy(content->who, bytes + CONTENT_WHO, sizeof content->who);
  }
  content->epoch = pfc_get32(bytes + CONTENT_EPOCH);
  content->counter = pfc_get32(bytes + CONTENT_COUNTER);
  return PFC_OK;
}

static void entry_key(uint8_t key[32], const uint8_t log_key[PFC_LOG_KEY_BYTES], uint64_t number) {
  uint8_t info[8];
  pfc_put64(info, number);
  pfc_derive(key, PFC_LABEL_LOG_ENTRY, log_key, PFC_LOG_KEY_BYTES, info, sizeof info);
}

static void content_tag(uint8_t tag[PFC_LOG_TAG_BYTES], const uint8_t key[32], uint64_t number,
                        const uint8_t hardware_id[PFC_ID_BYTES], const uint8_t content[PFC_LOG_CONTENT_BYTES]) {
  uint8_t bytes[1 + 8 + PFC_ID_BYTES + PFC_LOG_CONTENT_BYTES];
  uint8_t full[32];
  bytes[0] = TAG;
  pfc_put64(bytes + 1, number);
  memcpy(bytes + 9, hardware_id, PFC_ID_BYTES);
  memcpy(bytes + 9 + PFC_ID_BYTES, content, PFC_LOG_CONTENT_BYTES);
  pfc_mac_once(full, key, 32, bytes, sizeof bytes);
  memcpy(tag, full, PFC_LOG_TAG_BYTES);
  pfc_wipe(full, sizeof full);
  pfc_wipe(bytes, sizeof bytes);
}

/// Seals and opens: the mask depends on the tag.
static void mask_content(uint8_t to[PFC_LOG_CONTENT_BYTES], const uint8_t from[PFC_LOG_CONTENT_BYTES],
                         const uint8_t key[32], const uint8_t tag[PFC_LOG_TAG_BYTES]) {
  uint8_t bytes[1 + PFC_LOG_TAG_BYTES];
  uint8_t full[32];
  bytes[0] = MASK;
  memcpy(bytes + 1, tag, PFC_LOG_TAG_BYTES);
  pfc_mac_once(full, key, 32, bytes, sizeof bytes);
  for (unsigned i = 0; i < PFC_LOG_CONTENT_BYTES; i++) to[i] = from[i] ^ full[i];
  pfc_wipe(full, sizeof full);
}

int pfc_log_seal(uint8_t entry[PFC_LOG_ENTRY_BYTES], const struct pfc_log_content *content,
                 const uint8_t key[PFC_LOG_KEY_BYTES], uint64_t number, const uint8_t hardware_id[PFC_ID_BYTES]) {
  uint8_t bytes[PFC_LOG_CONTENT_BYTES], own[32];
  int result = encode_content(bytes, content);
  memset(entry, 0, PFC_LOG_ENTRY_BYTES);
  if (result != PFC_OK) return result;
  entry_key(own, key, number);
  content_tag(entry + ENTRY_TAG, own, number, hardware_id, bytes);
  mask_content(entry, bytes, own, entry + ENTRY_TAG);
  pfc_wipe(own, sizeof own);
  pfc_wipe(bytes, sizeof bytes);
  return PFC_OK;
}

int pfc_log_open(struct pfc_log_content *content, const uint8_t entry[PFC_LOG_ENTRY_BYTES],
                 const uint8_t key[PFC_LOG_KEY_BYTES], uint64_t number, const uint8_t hardware_id[PFC_ID_BYTES]) {
  uint8_t bytes[PFC_LOG_CONTENT_BYTES], own[32], tag[PFC_LOG_TAG_BYTES];
  int result = PFC_E_DIFFERS, is_right;
  memset(content, 0, sizeof *content);
  entry_key(own, key, number);
  mask_content(bytes, entry, own, entry + ENTRY_TAG);
  content_tag(tag, own, number, hardware_id, bytes);
  is_right = pfc_equal(tag, entry + ENTRY_TAG, sizeof tag);
  PFC_DECLASSIFY(&is_right, sizeof is_right);
  if (is_right) {
    // The holder of the key reads the content: it is no secret from here on.
    PFC_DECLASSIFY(bytes, sizeof bytes);
    result = decode_content(content, bytes);
  }
  pfc_wipe(own, sizeof own);
  pfc_wipe(tag, sizeof tag);
  pfc_wipe(bytes, sizeof bytes);
  return result;
}

// Flash ----------------------------------------------------------------------------------------------------------

enum {
  STORED_VERSION = 2,
  STORED_SORT = 3,
  STORED_SEQUENCE = 4,  // Page heads: zeros
  STORED_NUMBER = 8,
  RECORD_ACKNOWLEDGED = 16,
  RECORD_UNDONE = 24,
  RECORD_FLAGS = 25,
  RECORD_ZEROS = 26,

  PAGE_TAG = PFC_LOG_PAGE_HEAD_BYTES - PFC_LOG_TAG_BYTES,
  RECORD_TAG = PFC_LOG_KEY_RECORD_BYTES - PFC_LOG_TAG_BYTES,

  SORT_PAGE = 1,
  SORT_KEY = 2
};

_Static_assert(STORED_NUMBER + 8 == PAGE_TAG, "the number ends a page head");
_Static_assert(PFC_LOG_KEY_RECORD_KEY_AT + PFC_LOG_KEY_BYTES == RECORD_TAG, "the key ends a key record");
_Static_assert(PFC_LOG_KEY_RECORD_KEY_AT % 32 == 0, "the key can be programmed to zeros by words of up to 32 bytes");

static void stored_tag(uint8_t tag[PFC_LOG_TAG_BYTES], const uint8_t *bytes, size_t size, const uint8_t store_key[32]) {
  uint8_t full[32];
  pfc_mac_once(full, store_key, 32, bytes, size);
  memcpy(tag, full, PFC_LOG_TAG_BYTES);
  pfc_wipe(full, sizeof full);
}

static void stored_begin(uint8_t *bytes, size_t size, uint8_t sort, uint64_t number) {
  memset(bytes, 0, size);
  memcpy(bytes, PFC_LOG_MAGIC, STORED_VERSION);
  bytes[STORED_VERSION] = PFC_VERSION;
  bytes[STORED_SORT] = sort;
  pfc_put64(bytes + STORED_NUMBER, number);
}

/// `size` is that of the bytes before the tag.
static int stored_check(const uint8_t *bytes, size_t size, uint8_t sort, const uint8_t store_key[32]) {
  uint8_t tag[PFC_LOG_TAG_BYTES];
  int intact;
  stored_tag(tag, bytes, size, store_key);
  intact = pfc_equal(tag, bytes + size, sizeof tag);
  PFC_DECLASSIFY(&intact, sizeof intact);
  pfc_wipe(tag, sizeof tag);
  if (!intact || memcmp(bytes, PFC_LOG_MAGIC, STORED_VERSION) != 0 || bytes[STORED_SORT] != sort) return PFC_E_DAMAGED;
  return bytes[STORED_VERSION] == PFC_VERSION ? PFC_OK : PFC_E_TOO_NEW;
}

void pfc_log_page_encode(uint8_t bytes[PFC_LOG_PAGE_HEAD_BYTES], uint64_t number, const uint8_t store_key[32]) {
  stored_begin(bytes, PFC_LOG_PAGE_HEAD_BYTES, SORT_PAGE, number);
  stored_tag(bytes + PAGE_TAG, bytes, PAGE_TAG, store_key);
}

int pfc_log_page_decode(uint64_t *number, const uint8_t bytes[PFC_LOG_PAGE_HEAD_BYTES], const uint8_t store_key[32]) {
  int result = stored_check(bytes, PAGE_TAG, SORT_PAGE, store_key);
  if (result == PFC_OK && pfc_get32(bytes + STORED_SEQUENCE) != 0) result = PFC_E_TOO_NEW;
  *number = result == PFC_OK ? pfc_get64(bytes + STORED_NUMBER) : 0;
  return result;
}

int pfc_log_key_record_encode(uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES], const struct pfc_log_key_record *record,
                              const uint8_t store_key[32]) {
  int is_zero = pfc_is_zero(record->key, sizeof record->key);
  PFC_DECLASSIFY(&is_zero, sizeof is_zero);
  stored_begin(bytes, PFC_LOG_KEY_RECORD_BYTES, SORT_KEY, record->number);
  if (is_zero || record->number % PFC_LOG_BLOCK != 0 || !is_telling(record->flags, record->undone)) {
    memset(bytes, 0, PFC_LOG_KEY_RECORD_BYTES);
    return PFC_E_ARGUMENT;
  }
  pfc_put32(bytes + STORED_SEQUENCE, record->sequence);
  pfc_put64(bytes + RECORD_ACKNOWLEDGED, record->acknowledged);
  bytes[RECORD_UNDONE] = record->undone;
  bytes[RECORD_FLAGS] = record->flags;
  memcpy(bytes + PFC_LOG_KEY_RECORD_KEY_AT, record->key, PFC_LOG_KEY_BYTES);
  stored_tag(bytes + RECORD_TAG, bytes, RECORD_TAG, store_key);
  return PFC_OK;
}

int pfc_log_key_record_decode(struct pfc_log_key_record *record, const uint8_t bytes[PFC_LOG_KEY_RECORD_BYTES],
                              const uint8_t store_key[32]) {
  int result = stored_check(bytes, RECORD_TAG, SORT_KEY, store_key);
  int is_zero = pfc_is_zero(bytes + PFC_LOG_KEY_RECORD_KEY_AT, PFC_LOG_KEY_BYTES);
  uint64_t number = pfc_get64(bytes + STORED_NUMBER);
  PFC_DECLASSIFY(&is_zero, sizeof is_zero);
  memset(record, 0, sizeof *record);
  if (result != PFC_OK) return result;
  if (!is_telling(bytes[RECORD_FLAGS], bytes[RECORD_UNDONE]) ||
      !pfc_is_zero(bytes + RECORD_ZEROS, PFC_LOG_KEY_RECORD_KEY_AT - RECORD_ZEROS)) {
    return PFC_E_TOO_NEW;
  }
  if (is_zero || number % PFC_LOG_BLOCK != 0) return PFC_E_DAMAGED;
  record->sequence = pfc_get32(bytes + STORED_SEQUENCE);
  record->number = number;
  record->acknowledged = pfc_get64(bytes + RECORD_ACKNOWLEDGED);
  record->undone = bytes[RECORD_UNDONE];
  record->flags = bytes[RECORD_FLAGS];
  memcpy(record->key, bytes + PFC_LOG_KEY_RECORD_KEY_AT, PFC_LOG_KEY_BYTES);
  return PFC_OK;
}

// The hardware's end ---------------------------------------------------------------------------------------------

static void advance(struct pfc_log *log) {
  pfc_log_step(log->key);
  log->next++;
}

void pfc_log_undo(struct pfc_log *log) {
  if (log->undone < PFC_LOG_UNDONE_MAX) log->undone++;
}

void pfc_log_resume(struct pfc_log *log, const struct pfc_log_key_record *record) {
  memset(log, 0, sizeof *log);
  memcpy(log->key, record->key, sizeof log->key);
  log->next = record->number;
  log->undone = record->undone;
  log->flags = record->flags;
}

int pfc_log_resume_entry(struct pfc_log *log, struct pfc_log_content *content,
                         const uint8_t entry[PFC_LOG_ENTRY_BYTES], const uint8_t hardware_id[PFC_ID_BYTES]) {
  int result = pfc_log_open(content, entry, log->key, log->next, hardware_id);
  if (result == PFC_E_DIFFERS) {
    pfc_log_undo(log);
  } else {
    // The entry was written after all that was to tell: it is the note, or follows it.
    log->undone = 0;
    log->flags = 0;
  }
  advance(log);
  return result;
}

void pfc_log_resume_end(struct pfc_log *log, int is_undone) {
  if (is_undone) pfc_log_undo(log);
  log->flags = PFC_LOG_STARTED;
}

void pfc_log_refuse(struct pfc_log *log, uint8_t verdict) {
  unsigned group = verdict == PFC_VERDICT_BUSY ? PFC_LOG_GROUPS - 1 : verdict / 16u - 1;
  // Acceptances are below 16, where the subtraction gives a group that is not there.
  if (group < PFC_LOG_GROUPS && log->refused[group] < UINT8_MAX) log->refused[group]++;
}

int pfc_log_note(const struct pfc_log *log, struct pfc_log_content *content, uint64_t epoch, uint64_t counter) {
  static const uint8_t none[PFC_LOG_GROUPS] = {0};
  memset(content, 0, sizeof *content);
  if (log->flags == 0 && log->undone == 0 && memcmp(log->refused, none, sizeof none) == 0) return 0;
  content->event = PFC_LOG_NOTE;
  content->flags = log->flags;
  content->undone = log->undone;
  memcpy(content->refused, log->refused, sizeof content->refused);
  content->epoch = (uint32_t)epoch;
  content->counter = (uint32_t)counter;
  return 1;
}

int pfc_log_turns(const struct pfc_log *log) { return log->next % PFC_LOG_BLOCK == 0; }

void pfc_log_turn(struct pfc_log_key_record *record, const struct pfc_log *log, uint32_t sequence,
                  uint64_t acknowledged) {
  memset(record, 0, sizeof *record);
  record->sequence = sequence;
  record->number = log->next;
  record->acknowledged = acknowledged;
  record->undone = log->undone;
  record->flags = log->flags;
  memcpy(record->key, log->key, sizeof record->key);
}

int pfc_log_put(uint8_t entry[PFC_LOG_ENTRY_BYTES], const struct pfc_log *log, const struct pfc_log_content *content,
                const uint8_t hardware_id[PFC_ID_BYTES]) {
  struct pfc_log_content note;
  memset(entry, 0, PFC_LOG_ENTRY_BYTES);
  if (content->event != PFC_LOG_NOTE && pfc_log_note(log, &note, 0, 0)) return PFC_E_ARGUMENT;
  return pfc_log_seal(entry, content, log->key, log->next, hardware_id);
}

void pfc_log_written(struct pfc_log *log, const struct pfc_log_content *content) {
  if (content->event == PFC_LOG_NOTE) {
    memset(log->refused, 0, sizeof log->refused);
    log->undone = 0;
    log->flags = 0;
  }
  advance(log);
}

void pfc_log_failed(struct pfc_log *log) {
  pfc_log_undo(log);
  advance(log);
}

// Messages -------------------------------------------------------------------------------------------------------

enum {
  LOG_FIRST = 0,
  LOG_OLDEST = 8,
  LOG_NEXT = 16,
  LOG_REFUSED = 24,
  LOG_FLAGS = LOG_REFUSED + PFC_LOG_GROUPS,
  LOG_UNDONE,
  LOG_COUNT,
  LOG_ZERO
};

_Static_assert(LOG_ZERO + 1 == PFC_LOG_FIELDS_BYTES, "a zero ends the fields");

void pfc_log_ask_encode(uint8_t message[PFC_LOG_ASK_BYTES], uint64_t from, const uint8_t nonce[PFC_NONCE_BYTES]) {
  pfc_put64(message, from);
  memcpy(message + 8, nonce, PFC_NONCE_BYTES);
}

int pfc_log_ask_decode(struct pfc_log_ask *ask, const uint8_t *message, size_t size) {
  memset(ask, 0, sizeof *ask);
  if (size != PFC_LOG_ASK_BYTES) return PFC_E_MALFORMED;
  ask->from = pfc_get64(message);
  ask->nonce = message + 8;
  return PFC_OK;
}

static int has_range(uint64_t oldest, uint64_t first, uint64_t next, uint8_t count) {
  return count <= PFC_LOG_ENTRIES_MAX && oldest <= first && first <= next && count <= next - first &&
         (count > 0 || first == next);
}

/// The head of the `size` bytes before it.
static void message_head(uint8_t head[PFC_LOG_TAG_BYTES], const uint8_t *message, size_t size,
                         const uint8_t key[PFC_LOG_KEY_BYTES], const uint8_t nonce[PFC_NONCE_BYTES]) {
  uint8_t own[32], full[32];
  struct pfc_mac mac;
  pfc_derive(own, PFC_LABEL_LOG_HEAD, key, PFC_LOG_KEY_BYTES, NULL, 0);
  pfc_mac_init(&mac, own, sizeof own);
  pfc_mac_update(&mac, nonce, PFC_NONCE_BYTES);
  pfc_mac_update(&mac, message, size);
  pfc_mac_final(full, &mac);
  memcpy(head, full, PFC_LOG_TAG_BYTES);
  pfc_wipe(full, sizeof full);
  pfc_wipe(own, sizeof own);
}

int pfc_log_message_make(uint8_t *message, size_t capacity, size_t *size, const struct pfc_log *log, uint64_t oldest,
                         uint64_t first, uint8_t count, const uint8_t nonce[PFC_NONCE_BYTES]) {
  size_t before = PFC_LOG_FIELDS_BYTES + (size_t)PFC_LOG_ENTRY_BYTES * count;
  *size = 0;
  if (!has_range(oldest, first, log->next, count)) return PFC_E_ARGUMENT;
  if (capacity < before + PFC_LOG_TAG_BYTES) return PFC_E_SPACE;
  pfc_put64(message + LOG_FIRST, first);
  pfc_put64(message + LOG_OLDEST, oldest);
  pfc_put64(message + LOG_NEXT, log->next);
  memcpy(message + LOG_REFUSED, log->refused, PFC_LOG_GROUPS);
  message[LOG_FLAGS] = log->flags;
  message[LOG_UNDONE] = log->undone;
  message[LOG_COUNT] = count;
  message[LOG_ZERO] = 0;
  message_head(message + before, message, before, log->key, nonce);
  *size = before + PFC_LOG_TAG_BYTES;
  return PFC_OK;
}

int pfc_log_message_decode(struct pfc_log_fields *fields, const uint8_t *message, size_t size) {
  uint64_t first, oldest, next;
  memset(fields, 0, sizeof *fields);
  if (size < PFC_LOG_BYTES(0) || size != PFC_LOG_BYTES((size_t)message[LOG_COUNT])) return PFC_E_MALFORMED;
  first = pfc_get64(message + LOG_FIRST);
  oldest = pfc_get64(message + LOG_OLDEST);
  next = pfc_get64(message + LOG_NEXT);
  if (!has_range(oldest, first, next, message[LOG_COUNT])) return PFC_E_MALFORMED;
  if (message[LOG_ZERO] != 0 || !is_telling(message[LOG_FLAGS], message[LOG_UNDONE])) return PFC_E_TOO_NEW;
  fields->first = first;
  fields->oldest = oldest;
  fields->next = next;
  memcpy(fields->refused, message + LOG_REFUSED, PFC_LOG_GROUPS);
  fields->flags = message[LOG_FLAGS];
  fields->undone = message[LOG_UNDONE];
  fields->count = message[LOG_COUNT];
  return PFC_OK;
}

int pfc_log_message_check(const uint8_t *message, size_t size, const uint8_t key[PFC_LOG_KEY_BYTES],
                          const uint8_t nonce[PFC_NONCE_BYTES]) {
  uint8_t head[PFC_LOG_TAG_BYTES];
  int is_right;
  message_head(head, message, size - PFC_LOG_TAG_BYTES, key, nonce);
  is_right = pfc_equal(head, message + size - PFC_LOG_TAG_BYTES, sizeof head);
  PFC_DECLASSIFY(&is_right, sizeof is_right);
  pfc_wipe(head, sizeof head);
  return is_right ? PFC_OK : PFC_E_DIFFERS;
}
