// SPDX-License-Identifier: Apache-2.0

#include "HardwareBench.h"

#include <string.h>

#include "ProofDevice.h"

enum { PAGE_BYTES = 1024, FLASH_BYTES = PAGE_BYTES * (int)(PFD_FLASH_PAGES + PFD_GRANT_PAGES), QUEUE = 8 };

static uint8_t flash[FLASH_BYTES];
static uint64_t dice;
static struct pfd_port port;
static struct pfd_unit unit;
static int link = -1;
static uint32_t done;
static int seals, channels;

static struct {
  uint8_t bytes[HARDWARE_BENCH_PDU_MAX];
  size_t size;
} queue[QUEUE];
static unsigned queued;

static int draw(void *context, uint8_t *bytes, size_t size) {
  (void)context;
  for (size_t i = 0; i < size; i++) {
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    bytes[i] = (uint8_t)(dice >> 56);
  }
  return 0;
}

static int flash_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  (void)context;
  memcpy(bytes, flash + offset, size);
  return 0;
}

static int flash_erase(void *context, uint32_t offset) {
  (void)context;
  memset(flash + offset, 0xFF, PAGE_BYTES);
  return 0;
}

static int flash_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  (void)context;
  for (size_t i = 0; i < size; i++) flash[offset + i] &= bytes[i];
  return 0;
}

static int send_pdu(void *context, unsigned to, const uint8_t *pdu, size_t size) {
  (void)context;
  (void)to;
  if (queued == QUEUE) return -1;
  memcpy(queue[queued].bytes, pdu, size);
  queue[queued++].size = size;
  return 0;
}

static void hear(void *context, const struct pfd_event *event) {
  (void)context;
  if (event->kind == PFD_EVENT_DONE) done++;
}

int hardware_bench_make(uint8_t id, uint8_t secret, const uint8_t issuer[32], uint64_t seed) {
  struct pfc_hardware hardware = {.mode = PFC_MODE_PRODUCTION, .issuer_count = 1};
  memset(flash, 0xFF, sizeof flash);
  memset(hardware.id, id, sizeof hardware.id);
  memset(hardware.secret_key, secret, sizeof hardware.secret_key);
  pfc_public_key(hardware.public_key, hardware.secret_key);
  memcpy(hardware.issuers[0].public_key, issuer, 32);
  dice = seed;
  done = 0;
  seals = channels = 0;
  port = (struct pfd_port){.random = draw,
                           .flash = {.page_bytes = PAGE_BYTES,
                                     .read = flash_read,
                                     .erase = flash_erase,
                                     .program = flash_program},
                           .send = send_pdu,
                           .event = hear};
  if (pfd_unit_provision(&port, &hardware, 0, 0, 1) != PFC_OK) return -1;
  return hardware_bench_restart();
}

int hardware_bench_restart(void) {
  link = -1;
  queued = 0;
  if (pfd_unit_start(&unit, &port) != PFC_OK) return -1;
  if (channels && pfd_unit_keep_channels(&unit) != PFC_OK) return -1;
  return seals ? pfd_unit_seal(&unit) : 0;
}

int hardware_bench_keep_channels(void) {
  channels = 1;
  return pfd_unit_keep_channels(&unit);
}

int hardware_bench_seal(void) {
  seals = 1;
  return pfd_unit_seal(&unit);
}

int hardware_bench_lend(void) {
  port.flash.grant_page = PFD_FLASH_PAGES;
  return hardware_bench_restart();
}

void hardware_bench_connect(void) {
  if (link < 0) link = pfd_unit_connect(&unit);
}

void hardware_bench_disconnect(void) {
  if (link >= 0) pfd_unit_disconnect(&unit, (unsigned)link);
  link = -1;
  queued = 0;
}

int hardware_bench_receive(const uint8_t *pdu, size_t size) {
  // Reject a PDU on a link that has ended: its sender's link ends.
  enum pfd_link_state state = PFD_LINK_CLOSE;
  if (link >= 0) state = pfd_unit_receive(&unit, (unsigned)link, pdu, size);
  pfd_unit_tick(&unit);
  return state == PFD_LINK_CLOSE;
}

size_t hardware_bench_take(uint8_t pdu[HARDWARE_BENCH_PDU_MAX]) {
  size_t size = 0;
  if (queued == 0) return 0;
  size = queue[0].size;
  memcpy(pdu, queue[0].bytes, size);
  queued--;
  memmove(&queue[0], &queue[1], queued * sizeof queue[0]);
  if (link >= 0) pfd_unit_flush(&unit, (unsigned)link);
  return size;
}

uint32_t hardware_bench_done(void) { return done; }
