// SPDX-License-Identifier: Apache-2.0

/// The log's keys at the hardware and at the backend.

#include <string.h>

#include "wipe.h"

#define NUMBER UINT64_C(3)

static struct pfc_log_content content_of(struct vault *vault) {
  struct pfc_log_content content = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1};
  memcpy(content.who, vault->seed, sizeof content.who);
  memcpy(&content.epoch, vault->seed + 4, sizeof content.epoch);
  memcpy(&content.counter, vault->seed + 8, sizeof content.counter);
  return content;
}

/// L_3 and what is made from it.
static void prepare_log(struct vault *vault) {
  uint8_t number[8] = {NUMBER}, key[32], full[32], text[41] = {2};
  struct pfc_log_content content;
  vault_fill(vault->log.key, sizeof vault->log.key, 70);
  vault_fill(vault->hardware.id, sizeof vault->hardware.id, 71);
  vault_fill(vault->nonce, sizeof vault->nonce, 72);
  vault_fill(vault->seed, sizeof vault->seed, 73);
  vault->log.next = NUMBER;
  content = content_of(vault);
  vault_expect(pfc_log_seal(vault->entry, &content, vault->log.key, NUMBER, vault->hardware.id) == PFC_OK, "sealed");
  needle_add("L", vault->log.key, sizeof vault->log.key);
  needle_add_derived("next L", PFC_LABEL_LOG_STEP, vault->log.key, 32, NULL, 0);
  needle_add_derived("an entry's key", PFC_LABEL_LOG_ENTRY, vault->log.key, 32, number, 8);
  needle_add_derived("a head's key", PFC_LABEL_LOG_HEAD, vault->log.key, 32, NULL, 0);
  pfc_derive(key, PFC_LABEL_LOG_ENTRY, vault->log.key, 32, number, 8);
  text[0] = 1;
  memcpy(text + 1, vault->entry + 16, 16);
  pfc_mac_once(full, key, 32, text, 17);
  needle_add("the mask", full, 16);
  for (unsigned i = 0; i < 16; i++) full[i] ^= vault->entry[i];
  needle_add("the content", full, 16);
}

static void run_seal(struct vault *vault) {
  struct pfc_log_content content = content_of(vault);
  vault_expect(pfc_log_seal(vault->entry, &content, vault->log.key, NUMBER, vault->hardware.id) == PFC_OK, "sealed");
  pfc_wipe(&content, sizeof content);
}

static void run_open(struct vault *vault) {
  vault_expect(pfc_log_open(&vault->content, vault->entry, vault->log.key, NUMBER, vault->hardware.id) == PFC_OK,
               "opened");
}

/// A changed entry: an attacker who learns the tag that it should have can forge it.
static void prepare_wrong(struct vault *vault) {
  uint8_t number[8] = {NUMBER}, key[32], text[41] = {2}, full[32];
  prepare_log(vault);
  pfc_derive(key, PFC_LABEL_LOG_ENTRY, vault->log.key, 32, number, 8);
  text[0] = 1;
  memcpy(text + 1, vault->entry + 16, 16);
  pfc_mac_once(full, key, 32, text, 17);
  vault->entry[0] ^= 1;
  text[0] = 2;
  memcpy(text + 1, number, 8);
  memcpy(text + 9, vault->hardware.id, 16);
  for (unsigned i = 0; i < 16; i++) text[25 + i] = vault->entry[i] ^ full[i];
  pfc_mac_once(full, key, 32, text, sizeof text);
  needle_add("the right tag", full, 16);
  needle_add("the rest of a tag", full + 16, 16);
}

static void run_wrong(struct vault *vault) {
  vault_expect(
      pfc_log_open(&vault->content, vault->entry, vault->log.key, NUMBER, vault->hardware.id) == PFC_E_DIFFERS, "shut");
}

static void prepare_first(struct vault *vault) {
  prepare_log(vault);
  vault_fill(vault->drawn, sizeof vault->drawn, 74);
  needle_add_derived("L_0", PFC_LABEL_LOG_FIRST, vault->drawn, 32, vault->hardware.id, 16);
}

static void run_first(struct vault *vault) {
  pfc_log_first_key(vault->log.key, vault->drawn, vault->hardware.id);
  pfc_log_step(vault->log.key);
}

static void prepare_stored(struct vault *vault) {
  uint8_t key[32], full[32];
  prepare_log(vault);
  vault_fill(vault->hardware.secret_key, 32, 75);
  needle_add_derived("store key", PFC_LABEL_LOG_STORE, vault->hardware.secret_key, 32, NULL, 0);
  pfc_log_store_key(key, vault->hardware.secret_key);
  memcpy(vault->record_key, key, sizeof key);
  vault->log.next = 16;
  pfc_log_turn(&vault->key_record, &vault->log, 1, 0);
  vault_expect(pfc_log_key_record_encode(vault->out, &vault->key_record, key) == PFC_OK, "encoded");
  pfc_mac_once(full, key, 32, vault->out, 64);
  needle_add("the record's tag", full, 32);
}

static void run_store_key(struct vault *vault) { pfc_log_store_key(vault->record_key, vault->hardware.secret_key); }

static void run_record(struct vault *vault) {
  vault_expect(pfc_log_key_record_encode(vault->out, &vault->key_record, vault->record_key) == PFC_OK, "encoded");
}

static void run_load(struct vault *vault) {
  vault_expect(pfc_log_key_record_decode(&vault->key_record, vault->out, vault->record_key) == PFC_OK, "decoded");
}

/// A changed key record: the same of its tag.
static void prepare_damaged(struct vault *vault) {
  uint8_t full[32];
  prepare_stored(vault);
  vault->out[20] ^= 1;
  pfc_mac_once(full, vault->record_key, 32, vault->out, 64);
  needle_add("the right tag", full, 32);
}

static void run_damaged(struct vault *vault) {
  vault_expect(pfc_log_key_record_decode(&vault->key_record, vault->out, vault->record_key) == PFC_E_DAMAGED,
               "damaged");
}

static void prepare_message(struct vault *vault) {
  uint8_t key[32], text[512];
  prepare_log(vault);
  memcpy(vault->out + PFC_LOG_FIELDS_BYTES, vault->entry, PFC_LOG_ENTRY_BYTES);
  vault_fill(vault->log_reader.first_key, 32, 70);
  pfc_log_reader_begin(&vault->log_reader, vault->log.key, NUMBER, vault->hardware.id);
  vault_fill(text, sizeof text, 76);
  pfc_log_step(vault->log.key);
  vault->log.next++;
  needle_add_derived("the L after", PFC_LABEL_LOG_STEP, vault->log.key, 32, NULL, 0);
  needle_add_derived("the LOG's key", PFC_LABEL_LOG_HEAD, vault->log.key, 32, NULL, 0);
  pfc_derive(key, PFC_LABEL_LOG_HEAD, vault->log.key, 32, NULL, 0);
  vault_expect(pfc_log_message_make(vault->out, sizeof vault->out, &vault->out_size, &vault->log, NUMBER, NUMBER, 1,
                                    vault->nonce) == PFC_OK,
               "made");
  memcpy(text, vault->nonce, 16);
  memcpy(text + 16, vault->out, vault->out_size - 16);
  pfc_mac_once(text, key, 32, text, vault->out_size);
  needle_add("the rest of a head", text + 16, 16);
}

static void run_message(struct vault *vault) {
  vault_expect(pfc_log_message_make(vault->out, sizeof vault->out, &vault->out_size, &vault->log, NUMBER, NUMBER, 1,
                                    vault->nonce) == PFC_OK,
               "made");
}

static void prepare_wrong_head(struct vault *vault) {
  prepare_message(vault);
  needle_add("the right head", vault->out + vault->out_size - 16, 16);
  vault->out[vault->out_size - 16] ^= 1;
}

static void run_wrong_head(struct vault *vault) {
  vault_expect(pfc_log_message_check(vault->out, vault->out_size, vault->log.key, vault->nonce) == PFC_E_DIFFERS,
               "refused");
}

static const uint8_t *find_stored(void *context, uint64_t number) {
  struct vault *vault = context;
  return number == NUMBER ? vault->entry : NULL;
}

static void take_finding(void *context, const struct pfc_log_finding *finding) { (void)context, (void)finding; }

static void run_take(struct vault *vault) {
  struct pfc_log_listener listener = {vault, find_stored, take_finding};
  vault_expect(pfc_log_reader_take(&vault->log_reader, vault->nonce, vault->out, vault->out_size, 9, &listener) ==
                   PFC_OK,
               "taken");
}

static void run_refused(struct vault *vault) {
  struct pfc_log_listener listener = {vault, find_stored, take_finding};
  vault_expect(pfc_log_reader_take(&vault->log_reader, vault->nonce, vault->out, vault->out_size, 9, &listener) ==
                   PFC_E_DIFFERS,
               "refused");
}

/// The entry was read before, and the store has another one of its number.
static void prepare_again(struct vault *vault) {
  struct pfc_log_content content;
  uint8_t key[32];
  prepare_message(vault);
  run_take(vault);
  memcpy(key, vault->log_reader.first_key, sizeof key);
  content = content_of(vault);
  content.verdict = 2;
  vault_expect(pfc_log_seal(vault->entry, &content, key, NUMBER, vault->hardware.id) == PFC_OK, "sealed");
  needle_add("contents", content.who, 16);
}

static void run_end(struct vault *vault) {
  struct pfc_log_listener listener = {vault, find_stored, take_finding};
  vault_expect(pfc_log_reader_end(&vault->log_reader, &listener) == PFC_LOG_WHOLE, "ended");
}

static void run_resume(struct vault *vault) {
  vault_expect(pfc_log_resume_entry(&vault->log, &vault->content, vault->entry, vault->hardware.id) == PFC_OK, "found");
}

// The place in flash ---------------------------------------------------------------------------------------------

static int read_page(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  struct vault *vault = context;
  memcpy(bytes, vault->log_pages[0] + offset, size);
  return ++vault->writes == vault->broken_from ? -1 : 0;
}

static int erase_page(void *context, uint32_t offset) {
  struct vault *vault = context;
  memset(vault->log_pages[0] + offset, 255, WIPE_LOG_PAGE_BYTES);
  return 0;
}

static int program_page(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  struct vault *vault = context;
  for (size_t i = 0; i < size; i++) vault->log_pages[0][offset + i] &= bytes[i];
  return 0;
}

static void append_one(struct vault *vault) {
  struct pfc_log_content content = content_of(vault);
  vault_expect(pfc_log_ring_write(&vault->log_ring, &content, 9) == PFC_OK, "written");
  pfc_wipe(&content, sizeof content);
}

/// A log whose next entry begins a block.
static void prepare_ring(struct vault *vault) {
  uint8_t number[8] = {16}, key[32];
  struct pfc_log_content last;
  prepare_log(vault);
  vault_fill(vault->hardware.secret_key, 32, 75);
  vault->log_flash = (struct pfc_log_flash){.context = vault,
                                            .page_bytes = WIPE_LOG_PAGE_BYTES,
                                            .pages = WIPE_LOG_PAGES,
                                            .read = read_page,
                                            .erase = erase_page,
                                            .program = program_page};
  vault_expect(pfc_log_ring_format(&vault->log_flash, &vault->hardware, 0, vault->log.key) == PFC_OK, "formatted");
  vault_expect(pfc_log_ring_start(&vault->log_ring, &vault->log_flash, &vault->hardware, &last) == PFC_OK, "started");
  pfc_log_ring_settle(&vault->log_ring, 0);
  for (unsigned i = 0; i < 15; i++) append_one(vault);
  memcpy(key, vault->log.key, sizeof key);
  for (unsigned i = 0; i < 16; i++) pfc_log_step(key);
  needle_add("L_16", key, sizeof key);
  needle_add_derived("L_17", PFC_LABEL_LOG_STEP, key, 32, NULL, 0);
  needle_add_derived("the entry's key", PFC_LABEL_LOG_ENTRY, key, 32, number, 8);
  needle_add_derived("store key", PFC_LABEL_LOG_STORE, vault->hardware.secret_key, 32, NULL, 0);
}

static void run_format(struct vault *vault) {
  vault_expect(pfc_log_ring_format(&vault->log_flash, &vault->hardware, 0, vault->log.key) == PFC_OK, "formatted");
}

static void run_start(struct vault *vault) {
  vault_expect(pfc_log_ring_start(&vault->log_ring, &vault->log_flash, &vault->hardware, &vault->content) == PFC_OK,
               "started");
}

/// A log whose next entry begins a page.
static void prepare_page(struct vault *vault) {
  prepare_ring(vault);
  for (unsigned i = 15; i < 18; i++) append_one(vault);
}

/// Flash that fails at the last entry: the ring has the log's key by then.
static void prepare_silent(struct vault *vault) {
  struct pfc_log_content last;
  uint8_t key[32];
  unsigned reads;
  prepare_ring(vault);
  memcpy(key, vault->log.key, sizeof key);
  for (unsigned i = 0; i < 15; i++) pfc_log_step(key);
  needle_add("L_15", key, sizeof key);
  reads = vault->writes;
  vault_expect(pfc_log_ring_start(&vault->log_ring, &vault->log_flash, &vault->hardware, &last) == PFC_OK, "started");
  // The look at the other key page comes behind it.
  vault->broken_from = 2 * vault->writes - reads - WIPE_LOG_PAGE_BYTES / 96 * 3;
}

static void run_silent(struct vault *vault) {
  vault_expect(pfc_log_ring_start(&vault->log_ring, &vault->log_flash, &vault->hardware, &vault->content) ==
                   PFC_E_STORAGE,
               "silent");
}

static void prepare_end(struct vault *vault) {
  prepare_ring(vault);
  vault->verifier.log = &vault->log_ring;
}

static void run_log_end(struct vault *vault) { pfc_verifier_wipe(&vault->verifier); }

/// No key record, and a ring in memory from before.
static void prepare_lost(struct vault *vault) {
  prepare_ring(vault);
  memset(vault->log_pages, 255, sizeof vault->log_pages);
}

static void run_lost(struct vault *vault) {
  vault_expect(pfc_log_ring_start(&vault->log_ring, &vault->log_flash, &vault->hardware, &vault->content) ==
                   PFC_E_DAMAGED,
               "lost");
}

const struct wipe_case wipe_logbook_cases[] = {
    {"log, an entry and its block's key record", prepare_ring, append_one, 1, 0, 0},
    {"log, an entry and its page's head", prepare_page, append_one, 1, 0, 0},
    {"log, a start whose flash fails", prepare_silent, run_silent, 0, GONE(log_ring)},
    {"log, the end of a verifier that keeps one", prepare_end, run_log_end, 0, GONE(log_ring)},
    {"log, begin in flash", prepare_ring, run_format, 1, 0, 0},
    {"log, start from flash", prepare_ring, run_start, 1, 0, 0},
    {"log, a start that finds none", prepare_lost, run_lost, 0, GONE(log_ring)},
    {"log, first key and step", prepare_first, run_first, 0, 0, 0},
    {"log, seal", prepare_log, run_seal, 1, 0, 0},
    {"log, open", prepare_log, run_open, 1, 0, 0},
    {"log, an entry that does not open", prepare_wrong, run_wrong, 1, 0, 0},
    {"log, an entry found at a start", prepare_log, run_resume, 1, 0, 0},
    {"log, store key", prepare_stored, run_store_key, 1, 0, 0},
    {"log, store a key record", prepare_stored, run_record, 1, 0, 0},
    {"log, load a key record", prepare_stored, run_load, 0, 0, 0},
    {"log, a damaged key record", prepare_damaged, run_damaged, 0, 0, 0},
    {"log, make a LOG", prepare_message, run_message, 1, 0, 0},
    {"log, a wrong head", prepare_wrong_head, run_wrong_head, 1, 0, 0},
    {"log, take a LOG", prepare_message, run_take, 1, 0, 0},
    {"log, take a LOG with a wrong head", prepare_wrong_head, run_refused, 1, 0, 0},
    {"log, take a fork", prepare_again, run_take, 1, 0, 0},
    {"log, end of a reading", prepare_again, run_end, 0, GONE(log_reader)},
    {NULL, NULL, NULL, 0, 0, 0},
};
