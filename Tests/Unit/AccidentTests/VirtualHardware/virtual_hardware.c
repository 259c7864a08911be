// SPDX-License-Identifier: Apache-2.0

#include "VirtualHardware.h"

#include <stdbool.h>
#include <string.h>

#include "ProofDevice.h"

enum {
  PIECES = 24,
  PAGE_BYTES = 1024,
  LOG_PAGES = 6,
  GRANT_PAGE = (int)PFD_FLASH_PAGES + LOG_PAGES,
  FLASH_BYTES = PAGE_BYTES * (GRANT_PAGE + (int)PFD_GRANT_PAGES),
  QUEUE = 16
};

struct queue {
  unsigned count;
  struct {
    uint8_t bytes[VIRTUAL_HARDWARE_PDU_MAX];
    size_t size;
  } pdus[QUEUE];
};

static struct piece {
  bool is_used;
  uint8_t flash[FLASH_BYTES];
  uint64_t dice;
  uint32_t seconds, done, operations, erases, cut;
  enum virtual_hardware_tear tear;
  bool dark, seals, keeps_channels, has_log;
  uint8_t log_key[PFC_LOG_KEY_BYTES];
  struct pfc_hardware hardware;
  struct pfd_port port;
  struct pfd_unit unit;
  struct queue queues[PFD_LINKS];
} pieces[PIECES];

static uint8_t roll(struct piece *piece) {
  piece->dice = piece->dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint8_t)(piece->dice >> 56);
}

static int draw(void *context, uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) bytes[i] = roll(context);
  return 0;
}

static uint32_t seconds(void *context) { return ((struct piece *)context)->seconds; }

static int flash_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  struct piece *piece = context;
  if (piece->dark) return -1;
  memcpy(bytes, piece->flash + offset, size);
  return 0;
}

/// Changes `size` bytes into `after`, as far as power lasts.
static int change(struct piece *piece, uint32_t offset, const uint8_t *after, size_t size) {
  uint8_t *at = piece->flash + offset;
  if (piece->dark) return -1;
  piece->operations++;
  if (piece->cut == 0 || --piece->cut != 0) {
    memcpy(at, after, size);
    return 0;
  }
  piece->dark = true;
  if (piece->tear == VIRTUAL_HARDWARE_PART) memcpy(at, after, (size_t)roll(piece) * size / 256);
  for (size_t i = 0; i < size && piece->tear == VIRTUAL_HARDWARE_NOISE; i++) {
    at[i] = (uint8_t)(at[i] ^ ((at[i] ^ after[i]) & roll(piece)));
  }
  return -1;
}

static int flash_erase(void *context, uint32_t offset) {
  static const uint8_t blank = 0xFF;
  uint8_t after[PAGE_BYTES];
  struct piece *piece = context;
  memset(after, blank, sizeof after);
  if (!piece->dark) piece->erases++;
  return change(piece, offset, after, sizeof after);
}

static int flash_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  struct piece *piece = context;
  uint8_t after[PAGE_BYTES];
  if (size > sizeof after) return -1;
  for (size_t i = 0; i < size; i++) after[i] = piece->flash[offset + i] & bytes[i];
  return change(piece, offset, after, size);
}

static int send_pdu(void *context, unsigned to, const uint8_t *pdu, size_t size) {
  struct piece *piece = context;
  struct queue *queue = &piece->queues[to];
  // Nothing leaves without power.
  if (piece->dark || queue->count == QUEUE) return -1;
  memcpy(queue->pdus[queue->count].bytes, pdu, size);
  queue->pdus[queue->count++].size = size;
  return 0;
}

static void hear(void *context, const struct pfd_event *event) {
  struct piece *piece = context;
  if (event->kind == PFD_EVENT_DONE) piece->done++;
}

int virtual_hardware_make(const uint8_t id[VIRTUAL_HARDWARE_ID_BYTES],
                          const uint8_t secret_key[VIRTUAL_HARDWARE_KEY_BYTES], uint64_t seed) {
  int number = 0;
  while (number < PIECES && pieces[number].is_used) number++;
  if (number == PIECES) return -1;
  struct piece *piece = &pieces[number];
  memset(piece, 0, sizeof *piece);
  memset(piece->flash, 0xFF, sizeof piece->flash);
  piece->is_used = true;
  piece->dice = seed;
  piece->dark = true;
  piece->hardware.mode = PFC_MODE_DEVELOPMENT;
  piece->hardware.challenge_seconds = 30;
  memcpy(piece->hardware.id, id, PFC_ID_BYTES);
  virtual_hardware_rekey(number, secret_key);
  piece->port = (struct pfd_port){.context = piece,
                                  .random = draw,
                                  .seconds = seconds,
                                  .flash = {.context = piece,
                                            .page_bytes = PAGE_BYTES,
                                            .read = flash_read,
                                            .erase = flash_erase,
                                            .program = flash_program},
                                  .send = send_pdu,
                                  .event = hear};
  return number;
}

void virtual_hardware_scrap(int number) { pieces[number].is_used = false; }

void virtual_hardware_distrust(int number) {
  memset(pieces[number].hardware.issuers, 0, sizeof pieces[number].hardware.issuers);
  pieces[number].hardware.issuer_count = 0;
}

void virtual_hardware_trust(int number, const uint8_t issuer[VIRTUAL_HARDWARE_KEY_BYTES]) {
  struct pfc_hardware *hardware = &pieces[number].hardware;
  if (hardware->issuer_count == PFC_ISSUERS_MAX) return;
  memcpy(hardware->issuers[hardware->issuer_count++].public_key, issuer, PFC_PUBLIC_KEY_BYTES);
}

void virtual_hardware_draw(int number, const uint8_t drawn[VIRTUAL_HARDWARE_KEY_BYTES]) {
  struct piece *piece = &pieces[number];
  pfc_factory_secret(piece->hardware.factory_secret, drawn, piece->hardware.id);
  piece->hardware.has_factory_secret = 1;
  pfc_log_first_key(piece->log_key, drawn, piece->hardware.id);
  piece->has_log = true;
  piece->port.flash.log_page = PFD_FLASH_PAGES;
  piece->port.flash.log_pages = LOG_PAGES;
}

void virtual_hardware_seal(int number, int seals) { pieces[number].seals = seals != 0; }

void virtual_hardware_keep_channels(int number, int keeps) { pieces[number].keeps_channels = keeps != 0; }

void virtual_hardware_lend(int number) { pieces[number].port.flash.grant_page = GRANT_PAGE; }

void virtual_hardware_rekey(int number, const uint8_t secret_key[VIRTUAL_HARDWARE_KEY_BYTES]) {
  struct pfc_hardware *hardware = &pieces[number].hardware;
  memcpy(hardware->secret_key, secret_key, PFC_SECRET_KEY_BYTES);
  pfc_public_key(hardware->public_key, hardware->secret_key);
}

int virtual_hardware_provision(int number, uint64_t epoch, uint64_t floor, uint64_t counter) {
  struct piece *piece = &pieces[number];
  piece->dark = false;
  piece->cut = 0;
  int result = pfd_unit_provision(&piece->port, &piece->hardware, epoch, floor, counter);
  if (result == PFC_OK && piece->has_log) {
    result = pfd_unit_provision_log(&piece->port, &piece->hardware, 0, piece->log_key);
  }
  piece->dark = true;
  return result;
}

int virtual_hardware_start(int number) {
  struct piece *piece = &pieces[number];
  piece->dark = false;
  memset(piece->queues, 0, sizeof piece->queues);
  int result = pfd_unit_start(&piece->unit, &piece->port);
  if (result == PFC_OK && piece->keeps_channels) result = pfd_unit_keep_channels(&piece->unit);
  if (result == PFC_OK && piece->seals) result = pfd_unit_seal(&piece->unit);
  return result;
}

void virtual_hardware_cut(int number, uint32_t operation, enum virtual_hardware_tear tear) {
  pieces[number].cut = operation;
  pieces[number].tear = tear;
}

int virtual_hardware_is_dark(int number) { return pieces[number].dark; }

void virtual_hardware_pass(int number, uint32_t passed) {
  pieces[number].seconds += passed;
  if (!pieces[number].dark) pfd_unit_tick(&pieces[number].unit);
}

int virtual_hardware_connect(int number) {
  struct piece *piece = &pieces[number];
  if (piece->dark) return -1;
  int link = pfd_unit_yield(&piece->unit);
  if (link >= 0) virtual_hardware_disconnect(number, link);
  link = pfd_unit_connect(&piece->unit);
  if (link >= 0) piece->queues[link].count = 0;
  return link;
}

void virtual_hardware_disconnect(int number, int link) {
  struct piece *piece = &pieces[number];
  piece->queues[link].count = 0;
  if (!piece->dark) pfd_unit_disconnect(&piece->unit, (unsigned)link);
}

int virtual_hardware_receive(int number, int link, const uint8_t *pdu, size_t size) {
  struct piece *piece = &pieces[number];
  if (piece->dark) return 1;
  enum pfd_link_state state = pfd_unit_receive(&piece->unit, (unsigned)link, pdu, size);
  if (!piece->dark) pfd_unit_tick(&piece->unit);
  return piece->dark || state == PFD_LINK_CLOSE;
}

size_t virtual_hardware_take(int number, int link, uint8_t pdu[VIRTUAL_HARDWARE_PDU_MAX]) {
  struct piece *piece = &pieces[number];
  struct queue *queue = &piece->queues[link];
  if (queue->count == 0) return 0;
  size_t size = queue->pdus[0].size;
  memcpy(pdu, queue->pdus[0].bytes, size);
  queue->count--;
  memmove(&queue->pdus[0], &queue->pdus[1], queue->count * sizeof queue->pdus[0]);
  if (!piece->dark) pfd_unit_flush(&piece->unit, (unsigned)link);
  return size;
}

uint32_t virtual_hardware_done(int number) { return pieces[number].done; }
uint32_t virtual_hardware_operations(int number) { return pieces[number].operations; }
uint32_t virtual_hardware_erases(int number) { return pieces[number].erases; }
uint64_t virtual_hardware_epoch(int number) { return pfc_verifier_epoch(&pieces[number].unit.verifier); }

/// The slot of an instance that holds a token, or -1.
static int held_slot(const struct piece *piece, const uint8_t instance[VIRTUAL_HARDWARE_ID_BYTES]) {
  const struct pfc_ledger *ledger = &piece->unit.verifier.ledger;
  int slot = pfc_ledger_find(ledger, instance);
  return slot >= 0 && ledger->slots[slot].state == PFC_SLOT_HELD ? slot : -1;
}

uint32_t virtual_hardware_generation(int number, const uint8_t instance[VIRTUAL_HARDWARE_ID_BYTES]) {
  int slot = held_slot(&pieces[number], instance);
  return slot >= 0 ? pieces[number].unit.verifier.ledger.slots[slot].generation : 0;
}

uint32_t virtual_hardware_uses(int number, const uint8_t instance[VIRTUAL_HARDWARE_ID_BYTES]) {
  int slot = held_slot(&pieces[number], instance);
  return slot >= 0 ? pieces[number].unit.verifier.ledger.slots[slot].uses : 0;
}

uint32_t virtual_hardware_lent(int number, const uint8_t instance[VIRTUAL_HARDWARE_ID_BYTES]) {
  int slot = held_slot(&pieces[number], instance);
  return slot >= 0 ? pieces[number].unit.verifier.grants.rows[slot].uses : 0;
}

size_t virtual_hardware_flash_size(void) { return FLASH_BYTES; }
void virtual_hardware_read_flash(int number, uint8_t *flash) { memcpy(flash, pieces[number].flash, FLASH_BYTES); }
void virtual_hardware_put_flash(int number, const uint8_t *flash) { memcpy(pieces[number].flash, flash, FLASH_BYTES); }
