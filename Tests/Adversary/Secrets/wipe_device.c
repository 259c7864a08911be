// SPDX-License-Identifier: Apache-2.0

/// Calls of hardware that load, store and forget the identity and a link.

#include <string.h>

#include "wipe.h"

// Flash ----------------------------------------------------------------------------------------------------------

static int flash_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  const struct vault *vault = context;
  memcpy(bytes, vault->flash + offset, size);
  return 0;
}

static int flash_erase(void *context, uint32_t offset) {
  struct vault *vault = context;
  memset(vault->flash + offset, 0xFF, PFD_PAGE_BYTES_MIN);
  return 0;
}

static int flash_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  struct vault *vault = context;
  for (size_t i = 0; i < size; i++) vault->flash[offset + i] &= bytes[i];
  return 0;
}

static int send_nothing(void *context, unsigned link, const uint8_t *pdu, size_t size) {
  (void)context, (void)link, (void)pdu, (void)size;
  return 0;
}

static void need_device(struct vault *vault) {
  wipe_prepare_token(vault);
  wipe_need_factory_secret(vault);
  memset(vault->flash, 0xFF, sizeof vault->flash);
  vault->port = (struct pfd_port){
      .context = vault,
      .random = vault->platform.random,
      .send = send_nothing,
      .flash = {.context = vault,
                .page_bytes = PFD_PAGE_BYTES_MIN,
                .read = flash_read,
                .erase = flash_erase,
                .program = flash_program},
  };
}

// Identity -------------------------------------------------------------------------------------------------------

static void run_identity_save(struct vault *vault) {
  vault_expect(pfd_identity_save(&vault->hardware, &vault->port.flash) == PFC_OK, "saved");
}

static void prepare_identity_load(struct vault *vault) {
  need_device(vault);
  run_identity_save(vault);
}

static void run_identity_load(struct vault *vault) {
  vault_expect(pfd_identity_load(&vault->loaded, &vault->port.flash) == PFC_OK, "loaded");
}

/// Both copies have the right check, and a mode that no hardware has.
static void prepare_invalid_identity(struct vault *vault) {
  prepare_identity_load(vault);
  for (unsigned page = 0; page < PFD_FLASH_IDENTITY_PAGES; page++) {
    uint8_t *bytes = vault->flash + page * PFD_PAGE_BYTES_MIN;
    uint8_t check[32];
    bytes[3] = 9;
    pfc_hash_once(check, "pfd1.identity...", bytes, PFD_IDENTITY_BYTES - 16);
    memcpy(bytes + PFD_IDENTITY_BYTES - 16, check, 16);
  }
}

static void run_invalid_identity(struct vault *vault) {
  vault_expect(pfd_identity_load(&vault->loaded, &vault->port.flash) == PFC_E_DAMAGED, "refused");
}

/// The identity that is replaced is a secret, too.
static void prepare_provision(struct vault *vault) {
  prepare_identity_load(vault);
  vault_fill(vault->hardware.secret_key, sizeof vault->hardware.secret_key, 28);
  pfc_public_key(vault->hardware.public_key, vault->hardware.secret_key);
  needle_add("the new secret key", vault->hardware.secret_key, sizeof vault->hardware.secret_key);
}

static void run_provision(struct vault *vault) {
  vault_expect(pfd_unit_provision(&vault->port, &vault->hardware, 1, 0, 0) == PFC_OK, "provisioned");
}

// Flash itself ---------------------------------------------------------------------------------------------------

enum { ODD_BYTES = PFD_ENTRY_BYTES - 1 };

/// The last unit of programming has seven bytes of the content, and padding.
static void prepare_odd_write(struct vault *vault) {
  need_device(vault);
  vault_fill(vault->out, ODD_BYTES, 26);
  vault->out[ODD_BYTES] = 0xFF;
  needle_add("the last unit", vault->out + ODD_BYTES + 1 - NEEDLE_WINDOW, NEEDLE_WINDOW);
  needle_add("the content", vault->out, ODD_BYTES);
}

static void run_odd_write(struct vault *vault) {
  vault_expect(pfd_flash_write(&vault->port.flash, 2, vault->out, ODD_BYTES) == 0, "written");
}

// Link and unit --------------------------------------------------------------------------------------------------

static void prepare_link(struct vault *vault) {
  need_device(vault);
  vault_fill(vault->payload, sizeof vault->payload, 26);
  needle_add("a received message", vault->payload, sizeof vault->payload);
  pfd_link_open(&vault->link, NULL, NULL);
  memcpy(vault->link.reassembler.bytes, vault->payload, sizeof vault->payload);
}

static void run_link_close(struct vault *vault) { pfd_link_close(&vault->link); }

static void prepare_unit(struct vault *vault) {
  need_device(vault);
  needle_add_derived("record key", PFC_LABEL_RECORD_KEY, vault->hardware.secret_key, 32, NULL, 0);
  run_provision(vault);
  vault_expect(pfd_unit_start(&vault->unit, &vault->port) == PFC_OK, "started");
}

static void run_unit_stop(struct vault *vault) { pfd_unit_stop(&vault->unit); }

static void prepare_unit_start(struct vault *vault) {
  need_device(vault);
  run_provision(vault);
}

static void run_unit_start(struct vault *vault) {
  vault_expect(pfd_unit_start(&vault->unit, &vault->port) == PFC_OK, "started");
}

const struct wipe_case wipe_device_cases[] = {
    {"identity save", need_device, run_identity_save, 1, 0, 0},
    {"identity load", prepare_identity_load, run_identity_load, 1, 0, 0},
    {"identity load, refused", prepare_invalid_identity, run_invalid_identity, 1, GONE(loaded)},
    {"provision over another key", prepare_provision, run_provision, 0, 0, 0},
    {"flash write, odd size", prepare_odd_write, run_odd_write, 1, 0, 0},
    {"link close", prepare_link, run_link_close, 1, GONE(link)},
    {"unit start", prepare_unit_start, run_unit_start, 0, 0, 0},
    {"unit stop", prepare_unit, run_unit_stop, 1, GONE(unit)},
    {NULL, NULL, NULL, 0, 0, 0},
};
