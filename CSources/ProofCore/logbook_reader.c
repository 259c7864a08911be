// SPDX-License-Identifier: Apache-2.0

#include "logbook_reader.h"

#include "crypto.h"
#include "internal.h"

void pfc_log_reader_begin(struct pfc_log_reader *reader, const uint8_t key[PFC_LOG_KEY_BYTES], uint64_t first,
                          const uint8_t hardware_id[PFC_ID_BYTES]) {
  memset(reader, 0, sizeof *reader);
  memcpy(reader->first_key, key, sizeof reader->first_key);
  memcpy(reader->key, key, sizeof reader->key);
  memcpy(reader->hardware_id, hardware_id, sizeof reader->hardware_id);
  reader->first = first;
  reader->next = first;
  reader->end = first;
}

// Findings -------------------------------------------------------------------------------------------------------

static void tell(struct pfc_log_reader *reader, const struct pfc_log_listener *listener, unsigned kind, uint64_t first,
                 uint64_t count, const struct pfc_log_content *content) {
  struct pfc_log_finding finding = {.kind = kind, .first = first, .count = count, .content = content};
  if (count == 0) return;
  if (kind != PFC_LOG_MISSING && kind != PFC_LOG_OVERWRITTEN) reader->found |= kind;
  listener->found(listener->context, &finding);
}

/// Explains the entries before `next` that do not open: the hardware says that the last `undone` entries did not
/// happen.
static void explain(struct pfc_log_reader *reader, const struct pfc_log_listener *listener, uint64_t undone) {
  uint64_t unopened = reader->unopened;
  uint64_t torn = unopened < undone ? unopened : undone;
  if (undone > reader->next - reader->first) undone = reader->next - reader->first;
  tell(reader, listener, PFC_LOG_CHANGED, reader->next - unopened, unopened - torn, NULL);
  tell(reader, listener, PFC_LOG_TORN, reader->next - torn, torn, NULL);
  tell(reader, listener, PFC_LOG_UNDONE, reader->next - undone, undone - torn, NULL);
  reader->unopened = 0;
}

/// Leaves them unexplained.
static void leave_unclear(struct pfc_log_reader *reader, const struct pfc_log_listener *listener) {
  tell(reader, listener, PFC_LOG_UNCLEAR, reader->next - reader->unopened, reader->unopened, NULL);
  reader->unopened = 0;
}

/// Goes over entries that did not come, up to `to`.
static void skip(struct pfc_log_reader *reader, const struct pfc_log_listener *listener, uint64_t to) {
  uint64_t kept = reader->oldest < to ? reader->oldest : to;
  if (reader->next == to) return;
  leave_unclear(reader, listener);
  reader->absent += to - reader->next;
  if (kept > reader->next) {
    tell(reader, listener, PFC_LOG_OVERWRITTEN, reader->next, kept - reader->next, NULL);
    reader->next = kept;
  }
  tell(reader, listener, PFC_LOG_MISSING, reader->next, to - reader->next, NULL);
  reader->next = to;
}

/// The entry that is due.
static void read_next(struct pfc_log_reader *reader, const struct pfc_log_listener *listener, const uint8_t *entry,
                      const uint8_t key[PFC_LOG_KEY_BYTES]) {
  struct pfc_log_content content;
  int result = pfc_log_open(&content, entry, key, reader->next, reader->hardware_id);
  if (result == PFC_E_DIFFERS) {
    reader->unopened++;
  } else if (result == PFC_OK) {
    explain(reader, listener, content.undone);
    tell(reader, listener, PFC_LOG_ENTRY, reader->next, 1, &content);
  } else {
    // It may tell of the entries before in a way that this version does not know.
    leave_unclear(reader, listener);
    tell(reader, listener, PFC_LOG_UNKNOWN, reader->next, 1, NULL);
  }
  reader->next++;
  pfc_wipe(&content, sizeof content);
}

/// An entry from before the one that is due: late, repeated, or another than the one stored.
static void read_again(struct pfc_log_reader *reader, const struct pfc_log_listener *listener, const uint8_t *entry,
                       const uint8_t key[PFC_LOG_KEY_BYTES], uint64_t number) {
  const uint8_t *stored = listener->stored(listener->context, number);
  struct pfc_log_content content, other;
  int result;
  if (stored != NULL && memcmp(stored, entry, PFC_LOG_ENTRY_BYTES) == 0) return;
  result = pfc_log_open(&content, entry, key, number, reader->hardware_id);
  if (stored != NULL) {
    int before = pfc_log_open(&other, stored, key, number, reader->hardware_id);
    int both = result != PFC_E_DIFFERS && before != PFC_E_DIFFERS;
    tell(reader, listener, both ? PFC_LOG_FORKED : PFC_LOG_CHANGED, number, 1, NULL);
    pfc_wipe(&other, sizeof other);
  } else {
    unsigned kind = result == PFC_OK ? PFC_LOG_ENTRY : result == PFC_E_TOO_NEW ? PFC_LOG_UNKNOWN : PFC_LOG_UNCLEAR;
    if (reader->absent > 0) reader->absent--;
    tell(reader, listener, kind, number, 1, kind == PFC_LOG_ENTRY ? &content : NULL);
  }
  pfc_wipe(&content, sizeof content);
}

// Messages -------------------------------------------------------------------------------------------------------

/// Computes L_first in `*key` and checks the head under L_next.
static int check(uint8_t key[PFC_LOG_KEY_BYTES], const struct pfc_log_reader *reader,
                 const struct pfc_log_fields *fields, const uint8_t nonce[PFC_NONCE_BYTES], const uint8_t *message,
                 size_t size, uint64_t steps) {
  uint8_t last[PFC_LOG_KEY_BYTES];
  int is_ahead = reader->next <= fields->first;
  uint64_t at = is_ahead ? reader->next : reader->first;
  int result;
  if (fields->first < reader->first || fields->next - at > steps) return PFC_E_TOO_FAR;
  memcpy(key, is_ahead ? reader->key : reader->first_key, PFC_LOG_KEY_BYTES);
  for (; at < fields->first; at++) pfc_log_step(key);
  memcpy(last, key, sizeof last);
  for (; at < fields->next; at++) pfc_log_step(last);
  result = pfc_log_message_check(message, size, last, nonce);
  pfc_wipe(last, sizeof last);
  return result;
}

/// Reads the entries, and leaves the key of the one behind them in `*key`.
static void read_entries(struct pfc_log_reader *reader, const struct pfc_log_listener *listener,
                         const struct pfc_log_fields *fields, const uint8_t *entries, uint8_t key[PFC_LOG_KEY_BYTES]) {
  for (unsigned i = 0; i < fields->count; i++, entries += PFC_LOG_ENTRY_BYTES) {
    uint64_t number = fields->first + i;
    if (number < reader->next) {
      read_again(reader, listener, entries, key, number);
    } else {
      skip(reader, listener, number);
      read_next(reader, listener, entries, key);
    }
    pfc_log_step(key);
  }
}

int pfc_log_reader_take(struct pfc_log_reader *reader, const uint8_t nonce[PFC_NONCE_BYTES], const uint8_t *message,
                        size_t size, uint64_t steps, const struct pfc_log_listener *listener) {
  uint8_t key[PFC_LOG_KEY_BYTES] = {0};
  struct pfc_log_fields fields;
  uint64_t due = reader->next;
  int result = pfc_log_message_decode(&fields, message, size);
  if (result == PFC_OK) result = check(key, reader, &fields, nonce, message, size, steps);
  if (result == PFC_OK) {
    int is_last = fields.first + fields.count == fields.next && fields.next >= reader->end;
    if (fields.next < reader->end) {
      tell(reader, listener, PFC_LOG_SHORTER, fields.next, reader->end - fields.next, NULL);
    } else {
      reader->end = fields.next;
    }
    if (fields.oldest > reader->oldest) reader->oldest = fields.oldest;
    read_entries(reader, listener, &fields, message + PFC_LOG_FIELDS_BYTES, key);
    if (reader->next > due) memcpy(reader->key, key, sizeof reader->key);
    if (is_last && reader->next == fields.next) explain(reader, listener, fields.undone);
  }
  pfc_wipe(key, sizeof key);
  return result;
}

int pfc_log_reader_end(struct pfc_log_reader *reader, const struct pfc_log_listener *listener) {
  int outcome = PFC_LOG_WHOLE;
  if (reader->next < reader->end) skip(reader, listener, reader->end);
  leave_unclear(reader, listener);
  if (reader->absent > 0 || (reader->found & PFC_LOG_UNCLEAR) != 0) outcome = PFC_LOG_INCOMPLETE;
  if ((reader->found & (PFC_LOG_CHANGED | PFC_LOG_FORKED | PFC_LOG_SHORTER)) != 0) outcome = PFC_LOG_ALTERED;
  pfc_wipe(reader, sizeof *reader);
  return outcome;
}
