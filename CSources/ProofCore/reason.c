// SPDX-License-Identifier: Apache-2.0

#include <string.h>

#include "reason_table.h"

// A code with a detail that is a number: origin, verdict, dot, N.
enum { ANY_SIZE = 16 };

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

static int find_exactly(struct pfc_reason *reason, const char *code, size_t size) {
  for (size_t i = 0; i < PFC_REASON_ROWS; i += 1) {
    const char *own = pfc_reason_rows[i].code;
    size_t same = 0;
    while (same < size && own[same] != 0 && own[same] == code[same]) same += 1;
    if (same == size && own[size] == 0) return pfc_reason_at(reason, i);
  }
  return PFC_E_ARGUMENT;
}

// The characters before a detail's number, dot and all; 0 where the code has none.
static size_t before_detail(const char *code, size_t size) {
  size_t at = size;
  while (at > 0 && code[at - 1] >= '0' && code[at - 1] <= '9') at -= 1;
  return at > 0 && at < size && code[at - 1] == '.' ? at : 0;
}

int pfc_reason_find(struct pfc_reason *reason, const char *code, size_t size) {
  char any[ANY_SIZE];
  size_t head = before_detail(code, size);
  int result = find_exactly(reason, code, size);
  if (result == PFC_OK || head == 0 || head >= sizeof any) return result;
  memcpy(any, code, head);
  any[head] = 'N';
  return find_exactly(reason, any, head + 1);
}

static size_t put_number(char *to, unsigned number) {
  size_t size = 0;
  for (unsigned unit = 10000; unit > 0; unit /= 10) {
    if (number >= unit || unit == 1) to[size++] = (char)('0' + number / unit % 10);
  }
  return size;
}

// The code of an origin of 5 characters and a number below 1,000.
static int find_number(struct pfc_reason *reason, const char origin[5], unsigned number) {
  char code[10];
  memcpy(code, origin, 5);
  return pfc_reason_find(reason, code, 5 + put_number(code + 5, number));
}

int pfc_reason_of_result(struct pfc_reason *reason, int result) {
  if (result >= 0 || result < -999) return PFC_E_ARGUMENT;
  return find_number(reason, "CORE-", (unsigned)-result);
}

int pfc_reason_of_verdict(struct pfc_reason *reason, uint8_t verdict) { return find_number(reason, "LOCK-", verdict); }

int pfc_reason_of_detail(struct pfc_reason *reason, uint8_t verdict, uint16_t detail) {
  char code[14] = "LOCK-";
  size_t size = 5 + put_number(code + 5, verdict);
  code[size++] = '.';
  size += put_number(code + size, detail);
  return pfc_reason_find(reason, code, size) == PFC_OK ? PFC_OK : pfc_reason_of_verdict(reason, verdict);
}
