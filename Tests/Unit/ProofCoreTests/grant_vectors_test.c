// SPDX-License-Identifier: Apache-2.0

/// The second implementation's grants and records of loans, and those that must be refused.

#include <stdlib.h>
#include <string.h>

#include "ProofCore.h"
#include "flash.h"
#include "harness.h"
#include "suites.h"
#include "vectors.h"

#if PFC_GRANTS

static void take_own(const struct block *block, struct pfc_secrets *secrets, uint8_t digest[16]) {
  memset(secrets, 0, sizeof *secrets);
  block_exactly(block, "k", secrets->integrity_key, 16);
  block_exactly(block, "im", secrets->integrity, 32);
  block_exactly(block, "dpk", secrets->device_key, 16);
  block_exactly(block, "dm", secrets->device, 32);
  block_exactly(block, "token_digest", digest, 16);
}

static void judge_grant(const struct block *block) {
  struct pfc_grant grant, found;
  struct pfc_secrets secrets;
  uint8_t token_digest[16], bytes[PFC_GRANT_BYTES], digest[16];
  take_own(block, &secrets, token_digest);
  memset(&grant, 0, sizeof grant);
  block_exactly(block, "hardware_id", grant.hardware_id, 16);
  block_exactly(block, "owner", grant.owner, 16);
  block_exactly(block, "member", grant.member, 16);
  grant.generation = (uint32_t)block_number(block, "generation");
  grant.serial = (uint32_t)block_number(block, "serial");
  grant.classes = (uint16_t)block_number(block, "classes");
  grant.uses = (uint16_t)block_number(block, "uses");
  grant.end = block_number(block, "end");
  CHECK_NUMBER(pfc_grant_create(bytes, &grant, &secrets, token_digest), PFC_OK);
  check_field(block, "grant", bytes, sizeof bytes);
  pfc_grant_digest(digest, bytes);
  check_field(block, "digest", digest, sizeof digest);
  CHECK_NUMBER(pfc_grant_decode(&found, bytes, sizeof bytes, grant.hardware_id), PFC_OK);
  CHECK_BYTES(&found, &grant, sizeof found);
  CHECK_NUMBER(pfc_grant_check(bytes, &secrets, token_digest), PFC_OK);
}

static void judge_loan(const struct block *block) {
  struct pfc_grant_row row, found;
  uint8_t payload[PFC_GRANT_RECORD_BYTES];
  struct flash flash;
  struct pfc_storage storage = flash_storage(&flash);
  struct pfc_record record = {.sequence = 4, .copy = 1};
  uint8_t key[32];
  const char *serials = block_word(block, "serials");
  if (block_number(block, "slots") != PFC_SLOTS) {
    test_note("a loan of grant.txt not read: it is about %u slots", (unsigned)block_number(block, "slots"));
    return;
  }
  memset(&row, 0, sizeof row);
  row.owner = byte_of(block, "owner");
  row.classes = (uint16_t)block_number(block, "classes");
  row.uses = (uint16_t)block_number(block, "uses");
  row.end = block_number(block, "end");
  block_exactly(block, "digest", row.digest, 8);
  block_exactly(block, "owner_id", row.owner_id, 8);
  block_exactly(block, "member_id", row.member_id, 8);
  block_exactly(block, "named", row.named, 8);
  for (unsigned i = 0; i < PFC_SLOTS; i++) {
    char *end;
    row.serials[i] = (uint32_t)strtoul(serials, &end, 10);
    serials = end;
  }
  pfc_grant_row_encode(payload, &row);
  check_field(block, "payload", payload, sizeof payload);
  CHECK_NUMBER(pfc_grant_row_decode(&found, payload), PFC_OK);
  CHECK_BYTES(&found, &row, sizeof row);
  flash_erase(&flash, 1);
  block_exactly(block, "record_key", key, 32);
  CHECK_NUMBER(payload_save(&record, payload, sizeof payload, &storage, 1 + PFC_SLOTS, key), PFC_OK);
  check_field(block, "bytes", flash.areas[1 + PFC_SLOTS][0], PFC_RECORD_BYTES(PFC_GRANT_RECORD_BYTES));
}

static void judge_open(const struct block *block) {
  struct pfc_grant grant;
  struct pfc_secrets secrets;
  uint8_t hardware_id[16], token_digest[16], bytes[128];
  size_t size = block_bytes(block, "grant", bytes, sizeof bytes);
  const char *word = block_word(block, "refusal");
  int result;
  take_own(block, &secrets, token_digest);
  block_exactly(block, "hardware_id", hardware_id, 16);
  result = pfc_grant_decode(&grant, bytes, size, hardware_id);
  if (result != PFC_OK) CHECK_ZEROS(&grant, sizeof grant);
  if (result == PFC_OK) result = pfc_grant_check(bytes, &secrets, token_digest);
  CHECK_NUMBER(result, strcmp(word, "none") == 0         ? PFC_OK
                       : strcmp(word, "differs") == 0    ? PFC_E_DIFFERS
                       : strcmp(word, "too-new") == 0    ? PFC_E_TOO_NEW
                       : strcmp(word, "not-for-me") == 0 ? PFC_E_RECIPIENT
                                                         : PFC_E_MALFORMED);
}

static void judge_read_loan(const struct block *block) {
  struct pfc_grant_row row;
  uint8_t bytes[PFC_RECORD_PAYLOAD_MAX];
  size_t size = block_bytes(block, "bytes", bytes, sizeof bytes);
  const char *word = block_word(block, "refusal");
  int expected = strcmp(word, "none") == 0 ? PFC_OK : strcmp(word, "damaged") == 0 ? PFC_E_DAMAGED : PFC_E_TOO_NEW;
  if (size != PFC_GRANT_RECORD_BYTES) return;
  CHECK_NUMBER(pfc_grant_row_decode(&row, bytes), expected);
  if (expected != PFC_OK) CHECK_ZEROS(&row, sizeof row);
}

static void valid_file(void) {
  static const struct judge judges[] = {{"grant", judge_grant}, {"loan", judge_loan}};
  JUDGE_FILE("grant.txt", judges);
}

static void hostile_file(void) {
  static const struct judge judges[] = {{"open_grant", judge_open}, {"read_loan", judge_read_loan}};
  JUDGE_FILE("hostile_grant.txt", judges);
}

static const struct test tests[] = {
    TEST("grants and records are the second implementation's", valid_file),
    TEST("hostile grants and records are refused for the right reason", hostile_file),
};

const struct suite grant_vectors_suite = SUITE("grant vectors", tests);

#endif
