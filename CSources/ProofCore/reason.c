// SPDX-License-Identifier: Apache-2.0

#include <string.h>

#include "reason_table.h"

int pfc_reason_at(struct pfc_reason *reason, size_t index) {
  if (index >= PFC_REASON_ROWS) return PFC_E_ARGUMENT;
  const struct pfc_reason_row *row = &pfc_reason_rows[index];
  reason->code = row->code;
  reason->condition = row->condition;
  reason->cause = row->cause;
  reason->step = row->step;
  reason->mender = (enum pfc_mender)row->mender;
  reason->mender_name = pfc_mender_rows[row->mender].name;
  reason->mender_words = pfc_mender_rows[row->mender].words;
  return PFC_OK;
}

int pfc_reason_find(struct pfc_reason *reason, const char *code, size_t size) {
  for (size_t i = 0; i < PFC_REASON_ROWS; i += 1) {
    const char *own = pfc_reason_rows[i].code;
    size_t same = 0;
    while (same < size && own[same] != 0 && own[same] == code[same]) same += 1;
    if (same == size && own[size] == 0) return pfc_reason_at(reason, i);
  }
  return PFC_E_ARGUMENT;
}

// The code of an origin of 5 characters and a number below 1,000.
static int find_number(struct pfc_reason *reason, const char origin[5], unsigned number) {
  char code[8];
  size_t size = 5;
  memcpy(code, origin, size);
  for (unsigned unit = 100; unit > 0; unit /= 10) {
    if (number >= unit || unit == 1) code[size++] = (char)('0' + number / unit % 10);
  }
  return pfc_reason_find(reason, code, size);
}

int pfc_reason_of_result(struct pfc_reason *reason, int result) {
  if (result >= 0 || result < -999) return PFC_E_ARGUMENT;
  return find_number(reason, "CORE-", (unsigned)-result);
}

int pfc_reason_of_verdict(struct pfc_reason *reason, uint8_t verdict) { return find_number(reason, "LOCK-", verdict); }
