// SPDX-License-Identifier: Apache-2.0

#include "ledger.h"

#include "crypto.h"
#include "internal.h"
#include "message.h"

enum {
  AT_COUNTER_END = 0,
  AT_EPOCH = 8,
  AT_FLOOR = 16,

  GLOBAL_RECORD = 0,
  FIRST_SLOT_RECORD = 1
};

_Static_assert(PFC_SLOTS >= 1 && PFC_SLOTS <= 32, "1 to 32 slots");
_Static_assert(AT_FLOOR + 8 == PFC_LEDGER_GLOBAL_BYTES, "the floor ends the global record");

static void encode_global(uint8_t bytes[PFC_LEDGER_GLOBAL_BYTES], uint64_t counter_end, uint64_t epoch,
                          uint64_t floor) {
  pfc_put64(bytes + AT_COUNTER_END, counter_end);
  pfc_put64(bytes + AT_EPOCH, epoch);
  pfc_put64(bytes + AT_FLOOR, floor);
}

/// Reads record 0 into `*record` as well, which later copies follow.
static int load_past(struct pfc_ledger_past *past, struct pfc_record *record, const struct pfc_storage *storage,
                     const uint8_t key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_LEDGER_GLOBAL_BYTES)];
  const uint8_t *payload = bytes + PFC_RECORD_HEAD_BYTES;
  int result = pfc_record_load(record, bytes, PFC_LEDGER_GLOBAL_BYTES, storage, GLOBAL_RECORD, key);
  memset(past, 0, sizeof *past);
  if (result != PFC_OK) return result;
  past->counter = pfc_get64(payload + AT_COUNTER_END);
  past->epoch = pfc_get64(payload + AT_EPOCH);
  past->floor = pfc_get64(payload + AT_FLOOR);
  return PFC_OK;
}

int pfc_ledger_read_past(struct pfc_ledger_past *past, const struct pfc_storage *storage,
                         const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]) {
  struct pfc_record record;
  uint8_t key[32];
  int result;
  pfc_record_key(key, hardware_secret_key);
  result = load_past(past, &record, storage, key);
  pfc_wipe(key, sizeof key);
  return result;
}

static int put_global(struct pfc_ledger *ledger, uint64_t counter_end, uint64_t epoch, uint64_t floor) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_LEDGER_GLOBAL_BYTES)];
  int result;
  // They only rise: a counter's end that wrapped around is lower, too.
  if (counter_end < ledger->counter_end || epoch < ledger->epoch || floor < ledger->floor) return PFC_E_STORAGE;
  encode_global(bytes + PFC_RECORD_HEAD_BYTES, counter_end, epoch, floor);
  result = pfc_record_save(&ledger->global, bytes, PFC_LEDGER_GLOBAL_BYTES, &ledger->storage, GLOBAL_RECORD,
                           ledger->record_key);
  if (result == PFC_OK) {
    ledger->counter_end = counter_end;
    ledger->epoch = epoch;
    ledger->floor = floor;
  }
  return result;
}

static int save_slot(struct pfc_ledger *ledger, int index, const struct pfc_slot *slot) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)];
  uint32_t wrong = pfc_slot_sum(slot) ^ slot->sum;
  int result;
  PFC_DECLASSIFY(&wrong, sizeof wrong);
  // Secrets that no token brought are not made durable.
  if (wrong != 0) return PFC_E_STORAGE;
  pfc_slot_encode(bytes + PFC_RECORD_HEAD_BYTES, slot);
  result = pfc_record_save(&ledger->records[index], bytes, PFC_SLOT_BYTES, &ledger->storage,
                           FIRST_SLOT_RECORD + (unsigned)index, ledger->record_key);
  pfc_wipe(bytes, sizeof bytes);
  return result;
}

/// Reads a slot's record, in either version, into the payload of this one.
static int load_payload(struct pfc_record *record, uint8_t bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)],
                        const struct pfc_ledger *ledger, unsigned index) {
  int result = pfc_record_load(record, bytes, PFC_SLOT_BYTES, &ledger->storage, FIRST_SLOT_RECORD + index,
                               ledger->record_key);
#if PFC_READS_VERSION_1
  if (result == PFC_OK && record->is_old) pfc_slot_upgrade(bytes + PFC_RECORD_HEAD_BYTES);
#endif
  return result;
}

int pfc_ledger_store(struct pfc_ledger *ledger, int index) { return save_slot(ledger, index, &ledger->slots[index]); }

/// PFC_OK if a slot is free in storage as well, or will be at the next start.
static int check_free(const struct pfc_ledger *ledger, int index) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)];
  struct pfc_record record;
  struct pfc_slot slot;
  int result = load_payload(&record, bytes, ledger, (unsigned)index);
  if (result == PFC_OK) result = pfc_slot_decode(&slot, bytes + PFC_RECORD_HEAD_BYTES);
  if (result == PFC_OK) {
    int superseded = pfc_slot_supersede(&slot, ledger->floor);
    (void)superseded;
    if (slot.state != PFC_SLOT_FREE) result = PFC_E_STORAGE;
    pfc_wipe(&slot, sizeof slot);
  }
  pfc_wipe(bytes, sizeof bytes);
  return result == PFC_OK ? PFC_OK : PFC_E_STORAGE;
}

int pfc_ledger_put(struct pfc_ledger *ledger, int index, const struct pfc_slot *slot) {
  int result = ledger->slots[index].state == PFC_SLOT_FREE ? check_free(ledger, index) : PFC_OK;
  if (result == PFC_OK) result = save_slot(ledger, index, slot);
  if (result == PFC_OK) ledger->slots[index] = *slot;
  return result;
}

int pfc_ledger_format(const struct pfc_storage *storage, const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES],
                      uint64_t epoch, uint64_t floor, uint64_t counter) {
  uint8_t key[32];
  uint8_t bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)] = {0};
  struct pfc_record record;
  int result;
  pfc_record_key(key, hardware_secret_key);
  // The floor goes first: from then on nothing that a half-formatted ledger still holds is worth anything.
  encode_global(bytes + PFC_RECORD_HEAD_BYTES, counter, epoch, floor);
  result = pfc_record_format(&record, bytes, PFC_LEDGER_GLOBAL_BYTES, storage, GLOBAL_RECORD, key);
  for (unsigned i = 0; i < PFC_SLOTS && result == PFC_OK; i++) {
    memset(bytes + PFC_RECORD_HEAD_BYTES, 0, PFC_SLOT_BYTES);
    result = pfc_record_format(&record, bytes, PFC_SLOT_BYTES, storage, FIRST_SLOT_RECORD + i, key);
  }
  pfc_wipe(key, sizeof key);
  return result;
}

/// Frees or disarms what the floor has passed.
static int free_superseded(struct pfc_ledger *ledger) {
  int result = PFC_OK;
  for (int i = 0; i < PFC_SLOTS; i++) {
    // Clear memory first: the floor is already durable, so these secrets are dead even if the store below fails.
    if (pfc_slot_supersede(&ledger->slots[i], ledger->floor)) {
      int stored = pfc_ledger_store(ledger, i);
      if (result == PFC_OK) result = stored;
    }
  }
  return result;
}

static int reserve_counters(struct pfc_ledger *ledger) {
  return put_global(ledger, ledger->counter_end + PFC_COUNTER_BLOCK, ledger->epoch, ledger->floor);
}

#if PFC_READS_VERSION_1
/// Writes what was read in version 1 over both its copies. A power cut leaves a copy of either version, and the next
/// start goes on.
static int renew_records(struct pfc_ledger *ledger) {
  int result = PFC_OK;
  if (ledger->global.has_old) result = put_global(ledger, ledger->counter_end, ledger->epoch, ledger->floor);
  for (int i = 0; i < PFC_SLOTS; i++) {
    if (!ledger->records[i].has_old) continue;
    for (unsigned copies = 0; copies < PFC_RECORD_COPIES && result == PFC_OK; copies++) {
      result = pfc_ledger_store(ledger, i);
    }
  }
  return result;
}
#endif

PFC_APART static int load_slots(struct pfc_ledger *ledger) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)];
  int result = PFC_OK;
  for (unsigned i = 0; i < PFC_SLOTS && result == PFC_OK; i++) {
    struct pfc_slot *slot = &ledger->slots[i];
    result = load_payload(&ledger->records[i], bytes, ledger, i);
    if (result == PFC_OK) result = pfc_slot_decode(slot, bytes + PFC_RECORD_HEAD_BYTES);
    if (result == PFC_OK && slot->state != PFC_SLOT_FREE && !pfc_slot_stores_last(slot)) {
      // Where uses are not counted, and there is no ratchet, the last command was not stored: older ones cannot be told
      // any more.
      slot->last.verdict = PFC_VERDICT_NONE;
      slot->last.counter = ledger->counter;
    }
  }
  pfc_wipe(bytes, sizeof bytes);
  return result;
}

int pfc_ledger_load(struct pfc_ledger *ledger, const struct pfc_storage *storage,
                    const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]) {
  struct pfc_ledger_past past;
  int result;
  memset(ledger, 0, sizeof *ledger);
  ledger->storage = *storage;
  pfc_record_key(ledger->record_key, hardware_secret_key);
  result = load_past(&past, &ledger->global, &ledger->storage, ledger->record_key);
  if (result == PFC_OK) {
    // Counters up to the reserved end may have been used before the restart: the next challenge counts from that end.
    ledger->counter = past.counter;
    ledger->counter_end = ledger->counter;
    ledger->epoch = past.epoch;
    ledger->floor = past.floor;
    result = reserve_counters(ledger);
  }
  if (result == PFC_OK) result = load_slots(ledger);
#if PFC_READS_VERSION_1
  if (result == PFC_OK) result = renew_records(ledger);
#endif
  if (result == PFC_OK) result = free_superseded(ledger);
  if (result != PFC_OK) pfc_wipe(ledger, sizeof *ledger);
  return result;
}

int pfc_ledger_take_counter(struct pfc_ledger *ledger, uint64_t *counter) {
  if (ledger->counter == ledger->counter_end) {
    int result = reserve_counters(ledger);
    if (result != PFC_OK) return result;
  }
  *counter = ledger->counter++;
  return PFC_OK;
}

int pfc_ledger_raise(struct pfc_ledger *ledger, uint64_t epoch, uint64_t floor, int *changed) {
  uint64_t new_epoch = epoch > ledger->epoch ? epoch : ledger->epoch;
  uint64_t new_floor = floor > ledger->floor ? floor : ledger->floor;
  if (new_epoch != ledger->epoch || new_floor != ledger->floor) {
    int result = put_global(ledger, ledger->counter_end, new_epoch, new_floor);
    if (result != PFC_OK) return result;
    *changed = 1;
  }
  return free_superseded(ledger);
}

int pfc_ledger_find(const struct pfc_ledger *ledger, const uint8_t instance_id[PFC_ID_BYTES]) {
  for (int i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *slot = &ledger->slots[i];
    if (slot->state != PFC_SLOT_FREE && memcmp(slot->instance_id, instance_id, PFC_ID_BYTES) == 0) return i;
  }
  return -1;
}

int pfc_ledger_find_free(const struct pfc_ledger *ledger) {
  for (int i = 0; i < PFC_SLOTS; i++) {
    if (ledger->slots[i].state == PFC_SLOT_FREE) return i;
  }
  return -1;
}
