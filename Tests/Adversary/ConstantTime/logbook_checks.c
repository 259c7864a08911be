// SPDX-License-Identifier: Apache-2.0

/// The hardware's log at both ends: keys are secret, numbers and sealed bytes are public, and so is a content to the
/// holder of its key.

#include <string.h>

#include "constant_time.h"

static uint8_t hardware_id[PFC_ID_BYTES] = "public hardware", nonce[PFC_NONCE_BYTES] = "a public nonce";

static void make_keys(uint8_t first_key[PFC_LOG_KEY_BYTES], uint8_t store_key[32]) {
  uint8_t drawn[PFC_FACTORY_SECRET_BYTES], secret_key[PFC_SECRET_KEY_BYTES];
  make_secret(drawn, sizeof drawn, 1);
  make_secret(secret_key, sizeof secret_key, 2);
  pfc_log_first_key(first_key, drawn, hardware_id);
  pfc_log_store_key(store_key, secret_key);
  expect_secret("L_0", first_key, PFC_LOG_KEY_BYTES);
}

static void entries(void) {
  struct pfc_log_content content = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 2, .who = {1, 2, 3, 4}}, opened;
  uint8_t key[PFC_LOG_KEY_BYTES], store_key[32], entry[PFC_LOG_ENTRY_BYTES];
  make_keys(key, store_key);
  pfc_log_step(key);
  expect_secret("L_1", key, sizeof key);
  expect("sealed", pfc_log_seal(entry, &content, key, 1, hardware_id) == PFC_OK);
  expect_secret("the entry", entry, sizeof entry);
  reveal(entry, sizeof entry);  // Couriers carry it.
  expect("opened", pfc_log_open(&opened, entry, key, 1, hardware_id) == PFC_OK && opened.kind == 2);
  for (size_t i = 0; i < sizeof entry; i += 31) {
    entry[i] ^= 1;
    expect("refused", pfc_log_open(&opened, entry, key, 1, hardware_id) == PFC_E_DIFFERS);
    entry[i] ^= 1;
  }
}

static void stored(void) {
  struct pfc_log_key_record record = {.sequence = 1, .number = 32}, decoded;
  uint8_t store_key[32], page[PFC_LOG_PAGE_HEAD_BYTES], bytes[PFC_LOG_KEY_RECORD_BYTES];
  uint64_t number;
  make_keys(record.key, store_key);
  pfc_log_page_encode(page, 127, store_key);
  expect_secret("the page head's tag", page + 16, PFC_LOG_TAG_BYTES);
  expect("read", pfc_log_page_decode(&number, page, store_key) == PFC_OK && number == 127);
  page[31] ^= 1;
  expect("damaged", pfc_log_page_decode(&number, page, store_key) == PFC_E_DAMAGED);
  expect("stored", pfc_log_key_record_encode(bytes, &record, store_key) == PFC_OK);
  expect("loaded", pfc_log_key_record_decode(&decoded, bytes, store_key) == PFC_OK && decoded.number == 32);
  expect_secret("the key", decoded.key, sizeof decoded.key);
  bytes[40] ^= 1;
  expect("refused", pfc_log_key_record_decode(&decoded, bytes, store_key) == PFC_E_DAMAGED);
}

static struct pfc_log lock;
static uint8_t message[PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX)];
static size_t message_size;

/// A start, refusals, a note, commands, and the LOG that carries them.
static void make_message(const uint8_t first_key[PFC_LOG_KEY_BYTES]) {
  struct pfc_log_key_record record = {.number = 0};
  struct pfc_log_content content = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1}, note;
  uint8_t *at = message + PFC_LOG_FIELDS_BYTES;
  memcpy(record.key, first_key, PFC_LOG_KEY_BYTES);
  pfc_log_resume(&lock, &record);
  pfc_log_resume_end(&lock, 0);
  pfc_log_refuse(&lock, PFC_VERDICT_STALE);
  expect("a note is due", pfc_log_note(&lock, &note, 1, 2));
  expect("put", pfc_log_put(at, &lock, &note, hardware_id) == PFC_OK);
  pfc_log_written(&lock, &note);
  for (unsigned i = 1; i < 4; i++) {
    expect("put", pfc_log_put(at + i * PFC_LOG_ENTRY_BYTES, &lock, &content, hardware_id) == PFC_OK);
    pfc_log_written(&lock, &content);
  }
  expect("made", pfc_log_message_make(message, sizeof message, &message_size, &lock, 0, 0, 4, nonce) == PFC_OK);
  expect_secret("the head", message + message_size - PFC_LOG_TAG_BYTES, PFC_LOG_TAG_BYTES);
  reveal(message, message_size);  // It goes over the link.
}

static const uint8_t *find_stored(void *context, uint64_t number) {
  (void)context;
  // Entry 3 was another before.
  return number == 3 ? message + PFC_LOG_FIELDS_BYTES : message + PFC_LOG_FIELDS_BYTES + number * PFC_LOG_ENTRY_BYTES;
}

static void take_finding(void *context, const struct pfc_log_finding *finding) {
  *(unsigned *)context |= finding->kind;
}

static void readings(void) {
  struct pfc_log_reader reader;
  uint8_t first_key[PFC_LOG_KEY_BYTES], store_key[32];
  unsigned found = 0;
  struct pfc_log_listener listener = {&found, find_stored, take_finding};
  make_keys(first_key, store_key);
  make_message(first_key);
  pfc_log_reader_begin(&reader, first_key, 0, hardware_id);
  message[message_size - 1] ^= 1;
  expect("refused", pfc_log_reader_take(&reader, nonce, message, message_size, 9, &listener) == PFC_E_DIFFERS);
  message[message_size - 1] ^= 1;
  expect("read", pfc_log_reader_take(&reader, nonce, message, message_size, 9, &listener) == PFC_OK);
  expect("entries", found == PFC_LOG_ENTRY);
  expect_secret("the reader's key", reader.key, sizeof reader.key);
  expect("read again", pfc_log_reader_take(&reader, nonce, message, message_size, 9, &listener) == PFC_OK);
  expect("changed", (found & PFC_LOG_CHANGED) != 0);
  expect("altered", pfc_log_reader_end(&reader, &listener) == PFC_LOG_ALTERED);
}

static void starts(void) {
  struct pfc_log_key_record record = {.number = 0};
  struct pfc_log_content content;
  uint8_t store_key[32];
  make_keys(record.key, store_key);
  make_message(record.key);
  pfc_log_resume(&lock, &record);
  message[PFC_LOG_FIELDS_BYTES + 3 * PFC_LOG_ENTRY_BYTES] ^= 1;
  for (unsigned i = 0; i < 4; i++) {
    int result = pfc_log_resume_entry(&lock, &content, message + PFC_LOG_FIELDS_BYTES + i * PFC_LOG_ENTRY_BYTES,
                                      hardware_id);
    expect("the last write was cut", result == (i == 3 ? PFC_E_DIFFERS : PFC_OK));
  }
  pfc_log_resume_end(&lock, 0);
  expect("one undone", lock.undone == 1 && lock.next == 4);
  expect_secret("L_4", lock.key, sizeof lock.key);
  pfc_log_turn(&record, &lock, 1, 0);
  expect_secret("the block's key", record.key, sizeof record.key);
}

enum { PAGE = 320, PAGES = 5 };

static uint8_t pages[PAGES * PAGE];

static int read_page(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, pages + offset, size);
  return 0;
}

static int erase_page(void *context, uint32_t offset) {
  (void)context;
  memset(pages + offset, 255, PAGE);
  return 0;
}

static int program_page(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  (void)context;
  for (size_t i = 0; i < size; i++) pages[offset + i] &= bytes[i];
  return 0;
}

/// Entries over two blocks and a start behind them. Keys in flash stay secret.
static void place_in_flash(void) {
  static const struct pfc_log_flash flash = {
      .page_bytes = PAGE, .pages = PAGES, .read = read_page, .erase = erase_page, .program = program_page};
  struct pfc_log_content content = {.event = PFC_LOG_COMMAND, .verdict = 1, .kind = 1}, last;
  struct pfc_hardware hardware;
  struct pfc_log_ring ring;
  uint8_t key[PFC_LOG_KEY_BYTES], store_key[32], entry[PFC_LOG_ENTRY_BYTES];
  memset(&hardware, 0, sizeof hardware);
  memcpy(hardware.id, hardware_id, sizeof hardware.id);
  make_secret(hardware.secret_key, sizeof hardware.secret_key, 2);
  make_keys(key, store_key);
  expect("formatted", pfc_log_ring_format(&flash, &hardware, 0, key) == PFC_OK);
  expect("started", pfc_log_ring_start(&ring, &flash, &hardware, &last) == PFC_OK);
  pfc_log_ring_settle(&ring, 0);
  for (unsigned i = 0; i < 20; i++) expect("written", pfc_log_ring_write(&ring, &content, 2) == PFC_OK);
  expect("read", pfc_log_ring_read(&ring, entry, 20) == PFC_OK);
  expect("started again", pfc_log_ring_start(&ring, &flash, &hardware, &last) == PFC_OK && ring.log.next == 21);
  expect_secret("L_21", ring.log.key, sizeof ring.log.key);
}

const struct check checks_logbook[] = {
    {"log: seal and open an entry", entries},
    {"log: page heads and key records", stored},
    {"log: a reading", readings},
    {"log: a start of the hardware", starts},
    {"log: its place in flash", place_in_flash},
    {NULL, NULL},
};
