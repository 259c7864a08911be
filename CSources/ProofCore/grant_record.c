// SPDX-License-Identifier: Apache-2.0

#include "grant_record.h"

#include "crypto.h"
#include "internal.h"

#if PFC_GRANTS

enum {
  AT_OWNER = 0,
  AT_ZERO = 1,
  AT_CLASSES = 2,
  AT_USES = 4,
  AT_ZEROS = 6,
  AT_END = 8,
  AT_DIGEST = 16,
  AT_SERIALS = 48,

  FIRST_RECORD = 1 + PFC_SLOTS,
  NAMES = offsetof(struct pfc_grant_row, digest)
};

_Static_assert(AT_SERIALS + 4 * PFC_SLOTS == PFC_GRANT_RECORD_BYTES, "the serials end a record");
_Static_assert(PFC_GRANT_RECORD_BYTES <= PFC_RECORD_PAYLOAD_MAX, "a row fits a record");
_Static_assert(offsetof(struct pfc_grant_row, serials) == NAMES + AT_SERIALS - AT_DIGEST, "four names stand together");

void pfc_grant_row_encode(uint8_t bytes[PFC_GRANT_RECORD_BYTES], const struct pfc_grant_row *row) {
  memset(bytes, 0, PFC_GRANT_RECORD_BYTES);
  bytes[AT_OWNER] = row->owner;
  pfc_put16(bytes + AT_CLASSES, row->classes);
  pfc_put16(bytes + AT_USES, row->uses);
  pfc_put64(bytes + AT_END, row->end);
  memcpy(bytes + AT_DIGEST, (const uint8_t *)row + NAMES, AT_SERIALS - AT_DIGEST);
  for (unsigned i = 0; i < PFC_SLOTS; i++) pfc_put32(bytes + AT_SERIALS + 4 * i, row->serials[i]);
}

int pfc_grant_row_decode(struct pfc_grant_row *row, const uint8_t bytes[PFC_GRANT_RECORD_BYTES]) {
  memset(row, 0, sizeof *row);
  if (bytes[AT_OWNER] > PFC_SLOTS) return PFC_E_DAMAGED;
  if ((bytes[AT_ZERO] | pfc_get16(bytes + AT_ZEROS)) != 0) return PFC_E_TOO_NEW;
  row->owner = bytes[AT_OWNER];
  row->classes = pfc_get16(bytes + AT_CLASSES);
  row->uses = pfc_get16(bytes + AT_USES);
  row->end = pfc_get64(bytes + AT_END);
  memcpy((uint8_t *)row + NAMES, bytes + AT_DIGEST, AT_SERIALS - AT_DIGEST);
  for (unsigned i = 0; i < PFC_SLOTS; i++) row->serials[i] = pfc_get32(bytes + AT_SERIALS + 4 * i);
  return PFC_OK;
}

int pfc_grants_format(const struct pfc_storage *storage, const uint8_t hardware_secret_key[PFC_SECRET_KEY_BYTES]) {
  uint8_t key[32];
  uint8_t bytes[PFC_RECORD_BYTES(PFC_GRANT_RECORD_BYTES)] = {0};
  struct pfc_record record;
  int result = PFC_OK;
  pfc_record_key(key, hardware_secret_key);
  for (unsigned i = 0; i < PFC_SLOTS && result == PFC_OK; i++) {
    memset(bytes + PFC_RECORD_HEAD_BYTES, 0, PFC_GRANT_RECORD_BYTES);
    result = pfc_record_format(&record, bytes, PFC_GRANT_RECORD_BYTES, storage, FIRST_RECORD + i, key);
  }
  pfc_wipe(key, sizeof key);
  return result;
}

/// 1 if a copy was never written, 0 if both were; PFC_E_STORAGE if storage does not answer. The other copy may be the
/// very first write, which a power cut tore: then nothing was ever lent.
static int is_blank(const struct pfc_storage *storage, unsigned index) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_GRANT_RECORD_BYTES)];
  int found = 0;
  for (unsigned copy = 0; copy < PFC_RECORD_COPIES; copy++) {
    int blank = 1;
    if (storage->read(storage->context, index, copy, bytes, sizeof bytes) != 0) return PFC_E_STORAGE;
    for (size_t i = 0; i < sizeof bytes; i++) {
      if ((bytes[0] != 0 && bytes[0] != 0xff) || bytes[i] != bytes[0]) blank = 0;
    }
    if (blank) found = 1;
  }
  return found;
}

static int load_row(struct pfc_grants *grants, unsigned i, const struct pfc_storage *storage,
                    const uint8_t record_key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_GRANT_RECORD_BYTES)];
  int result = pfc_record_load(&grants->records[i], bytes, PFC_GRANT_RECORD_BYTES, storage, FIRST_RECORD + i,
                               record_key);
  if (result == PFC_OK) return pfc_grant_row_decode(&grants->rows[i], bytes + PFC_RECORD_HEAD_BYTES);
  if (result != PFC_E_DAMAGED) return result;
  result = is_blank(storage, FIRST_RECORD + i);
  if (result != 1) return result == 0 ? PFC_E_DAMAGED : result;
  memset(bytes, 0, sizeof bytes);
  return pfc_record_format(&grants->records[i], bytes, PFC_GRANT_RECORD_BYTES, storage, FIRST_RECORD + i, record_key);
}

int pfc_grants_load(struct pfc_grants *grants, const struct pfc_storage *storage, const uint8_t record_key[32]) {
  int result = PFC_OK;
  memset(grants, 0, sizeof *grants);
  for (unsigned i = 0; i < PFC_SLOTS && result == PFC_OK; i++) result = load_row(grants, i, storage, record_key);
  if (result != PFC_OK) memset(grants, 0, sizeof *grants);
  return result;
}

int pfc_grants_put(struct pfc_grants *grants, int index, const struct pfc_grant_row *row,
                   const struct pfc_storage *storage, const uint8_t record_key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_GRANT_RECORD_BYTES)];
  int result;
  pfc_grant_row_encode(bytes + PFC_RECORD_HEAD_BYTES, row);
  result = pfc_record_save(&grants->records[index], bytes, PFC_GRANT_RECORD_BYTES, storage,
                           FIRST_RECORD + (unsigned)index, record_key);
  if (result == PFC_OK) grants->rows[index] = *row;
  return result;
}

PFC_APART int pfc_grants_are_stored(const struct pfc_grants *grants, int index, const struct pfc_storage *storage,
                                    const uint8_t record_key[32]) {
  uint8_t bytes[PFC_RECORD_BYTES(PFC_GRANT_RECORD_BYTES)], payload[PFC_GRANT_RECORD_BYTES];
  struct pfc_record record;
  pfc_grant_row_encode(payload, &grants->rows[index]);
  return pfc_record_load(&record, bytes, PFC_GRANT_RECORD_BYTES, storage, FIRST_RECORD + (unsigned)index,
                         record_key) == PFC_OK &&
         pfc_equal(bytes + PFC_RECORD_HEAD_BYTES, payload, sizeof payload);
}

/// A row that was ever written names its member.
static int is_empty(const struct pfc_grant_row *row) { return pfc_is_zero(row->member_id, sizeof row->member_id); }

int pfc_grants_forget(struct pfc_grants *grants, int index, const struct pfc_storage *storage,
                      const uint8_t record_key[32]) {
  int result = PFC_OK;
  for (int i = 0; i < PFC_SLOTS && result == PFC_OK; i++) {
    struct pfc_grant_row row = grants->rows[i];
    int changed = row.serials[index] != 0;
    row.serials[index] = 0;
    if (row.owner == index + 1) {
      // Serials of other owners stay, and with them the member's name.
      memset(&row, 0, offsetof(struct pfc_grant_row, member_id));
      changed = 1;
    }
    if (i == index && !is_empty(&row)) {
      memset(&row, 0, sizeof row);
      changed = 1;
    }
    if (changed) result = pfc_grants_put(grants, i, &row, storage, record_key);
  }
  return result;
}

#endif
