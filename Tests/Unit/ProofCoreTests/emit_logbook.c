// SPDX-License-Identifier: Apache-2.0

/// The core's log, for Tests/Vectors/check.py to read.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ProofCore.h"
#include "emit.h"
#include "harness.h"

static struct pfc_log state;
static uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)], hardware_id[16];
static char contents[PFC_LOG_ENTRIES_MAX][96];
static unsigned count;

static void put(const struct pfc_log_content *content) {
  const uint8_t *who = content->event == PFC_LOG_NOTE ? content->refused : content->who;
  uint8_t *entry = message + PFC_LOG_FIELDS_BYTES + (size_t)PFC_LOG_ENTRY_BYTES * count;
  (void)snprintf(contents[count++], sizeof contents[0],
                 "%" PRIu64 " %u %u %u %u %u %u %02x%02x%02x%02x %" PRIu32 " %" PRIu32, state.next, content->event,
                 content->verdict, content->undone, content->command_class, content->kind, content->flags, who[0],
                 who[1], who[2], who[3], content->epoch, content->counter);
  CHECK_NUMBER(pfc_log_put(entry, &state, content, hardware_id), PFC_OK);
  pfc_log_written(&state, content);
}

static void put_event(uint8_t event, uint8_t kind, uint32_t counter) {
  struct pfc_log_content content;
  if (pfc_log_note(&state, &content, 1700000000, counter)) put(&content);
  content = (struct pfc_log_content){
      .event = event, .verdict = 1, .kind = kind, .who = {9, 8, 7, 6}, .epoch = 1700000000, .counter = counter};
  if (event == PFC_LOG_COMMAND) content.command_class = 11;
  put(&content);
}

static void emit_store(const uint8_t secret[32], const struct pfc_log_key_record *record) {
  uint8_t key[32], page[PFC_LOG_PAGE_HEAD_BYTES], bytes[PFC_LOG_KEY_RECORD_BYTES];
  pfc_log_store_key(key, secret);
  pfc_log_page_encode(page, record->number, key);
  CHECK_NUMBER(pfc_log_key_record_encode(bytes, record, key), PFC_OK);
  begin_block("made_log_store", "a page head and a key record");
  field_bytes("hardware_secret", secret, 32);
  field_number("number", record->number);
  field_number("sequence", record->sequence);
  field_number("acknowledged", record->acknowledged);
  field_number("undone", record->undone);
  field_number("flags", record->flags);
  field_bytes("key", record->key, 32);
  field_bytes("page", page, sizeof page);
  field_bytes("key_record", bytes, sizeof bytes);
}

void emit_logbook(void) {
  struct dice dice = {4714};
  struct pfc_log_key_record record = {0};
  uint8_t drawn[32], secret[32], nonce[16], ask[PFC_LOG_ASK_BYTES];
  size_t size;
  dice_fill(&dice, drawn, sizeof drawn);
  dice_fill(&dice, secret, sizeof secret);
  dice_fill(&dice, nonce, sizeof nonce);
  dice_fill(&dice, hardware_id, sizeof hardware_id);
  pfc_log_first_key(record.key, drawn, hardware_id);
  pfc_log_resume(&state, &record);
  count = 0;
  put_event(PFC_LOG_TOKEN, 0, 0);
  put_event(PFC_LOG_COMMAND, 4, 1);
  pfc_log_refuse(&state, PFC_VERDICT_STALE);
  pfc_log_refuse(&state, PFC_VERDICT_BUSY);
  put_event(PFC_LOG_COMMAND, 1, 2);
  pfc_log_resume_end(&state, 1);
  put_event(PFC_LOG_ORDER, 2, 65537);
  pfc_log_refuse(&state, PFC_VERDICT_MALFORMED);
  CHECK_NUMBER(pfc_log_message_make(message, sizeof message, &size, &state, 0, 0, (uint8_t)count, nonce), PFC_OK);
  pfc_log_ask_encode(ask, 0, nonce);
  begin_block("made_log", "a token, two commands of which one did not happen, refusals, an order");
  field_bytes("drawn", drawn, sizeof drawn);
  field_bytes("hardware_id", hardware_id, sizeof hardware_id);
  field_bytes("nonce", nonce, sizeof nonce);
  field_bytes("ask", ask, sizeof ask);
  field_bytes("message", message, size);
  for (unsigned i = 0; i < count; i++) field_text("content", contents[i]);
  for (unsigned i = 0; i < count; i++) {
    char finding[32];
    if (i == 4) field_text("finding", "undone 3 1");
    (void)snprintf(finding, sizeof finding, "entry %u 1", i);
    field_text("finding", finding);
  }
  field_text("outcome", "whole");
  emit_store(secret, &record);
  while (state.next % PFC_LOG_BLOCK != 0) pfc_log_failed(&state);
  pfc_log_turn(&record, &state, 77, 5);
  emit_store(secret, &record);
}
