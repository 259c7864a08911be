// SPDX-License-Identifier: Apache-2.0

#include "identity.h"

#include <string.h>

#include "bytes.h"

enum {
  AT_VERSION = 2,
  AT_MODE = 3,
  AT_LITERAL = 4,
  AT_ISSUER_COUNT = 5,
  AT_SECONDS = 6,
  AT_ID = 8,
  AT_SECRET_KEY = 24,
  AT_ISSUERS = 56,
  AT_FACTORY_SECRET = 184,
  AT_CHECK = 216,
  CHECK_BYTES = 16,
  IDENTITY_VERSION = 2,

  AT_CHECK_1 = AT_FACTORY_SECRET  // In version 1
};

_Static_assert(AT_ISSUERS + PFC_ISSUERS_MAX * PFC_PUBLIC_KEY_BYTES == AT_FACTORY_SECRET, "four issuers");
_Static_assert(AT_FACTORY_SECRET + PFC_FACTORY_SECRET_BYTES == AT_CHECK, "the check ends the identity");
_Static_assert(AT_CHECK + CHECK_BYTES == PFD_IDENTITY_BYTES && PFD_IDENTITY_BYTES <= PFD_ENTRY_BYTES, "one entry");

/// Where the check stands; 0 for a version that is not known.
static size_t check_offset(uint8_t version) {
#if PFC_READS_VERSION_1
  if (version == PFC_VERSION) return AT_CHECK_1;
#endif
  return version == IDENTITY_VERSION ? AT_CHECK : 0;
}

static void make_check(uint8_t check[32], const uint8_t *bytes, size_t size) {
  pfc_hash_once(check, "pfd1.identity...", bytes, size);
}

static int decode(struct pfc_hardware *hardware, const uint8_t bytes[PFD_IDENTITY_BYTES]) {
  uint8_t check[32];
  size_t at_check = check_offset(bytes[AT_VERSION]);
  if (memcmp(bytes, "PI", AT_VERSION) != 0 || at_check == 0) return PFC_E_DAMAGED;
  make_check(check, bytes, at_check);
  if (!pfc_equal(check, bytes + at_check, CHECK_BYTES)) return PFC_E_DAMAGED;
  hardware->mode = bytes[AT_MODE];
  hardware->challenge_seconds = get16(bytes + AT_SECONDS);
  memcpy(hardware->id, bytes + AT_ID, PFC_ID_BYTES);
  memcpy(hardware->secret_key, bytes + AT_SECRET_KEY, PFC_SECRET_KEY_BYTES);
#if PFC_OPENS_TOKENS
  hardware->allow_literal = bytes[AT_LITERAL];
  hardware->issuer_count = bytes[AT_ISSUER_COUNT];
  for (unsigned i = 0; i < PFC_ISSUERS_MAX; i++) {
    memcpy(hardware->issuers[i].public_key, bytes + AT_ISSUERS + i * PFC_PUBLIC_KEY_BYTES, PFC_PUBLIC_KEY_BYTES);
  }
  if (at_check == AT_CHECK) memcpy(hardware->factory_secret, bytes + AT_FACTORY_SECRET, PFC_FACTORY_SECRET_BYTES);
  hardware->has_factory_secret = !pfc_is_zero(hardware->factory_secret, PFC_FACTORY_SECRET_BYTES);
  pfc_public_key(hardware->public_key, hardware->secret_key);
#endif
  return pfc_hardware_check(hardware) == PFC_OK ? PFC_OK : PFC_E_DAMAGED;
}

PFC_APART int pfd_identity_load(struct pfc_hardware *hardware, const struct pfd_flash *flash) {
  uint8_t bytes[PFD_IDENTITY_BYTES];
  int result = PFC_E_DAMAGED;
  for (unsigned page = 0; page < PFD_FLASH_IDENTITY_PAGES && result == PFC_E_DAMAGED; page++) {
    memset(hardware, 0, sizeof *hardware);
    result = pfd_flash_read(flash, page, bytes, sizeof bytes) == 0 ? decode(hardware, bytes) : PFC_E_STORAGE;
  }
  pfc_wipe(bytes, sizeof bytes);
  if (result != PFC_OK) pfc_wipe(hardware, sizeof *hardware);
  return result;
}

#if PFC_OPENS_TOKENS
int pfd_identity_save(const struct pfc_hardware *hardware, const struct pfd_flash *flash) {
  uint8_t bytes[PFD_IDENTITY_BYTES] = {'P', 'I', IDENTITY_VERSION};
  uint8_t check[32];
  int result = PFC_OK;
  if (pfc_hardware_check(hardware) != PFC_OK) return PFC_E_ARGUMENT;
  bytes[AT_MODE] = hardware->mode;
  bytes[AT_LITERAL] = hardware->allow_literal;
  bytes[AT_ISSUER_COUNT] = hardware->issuer_count;
  put16(bytes + AT_SECONDS, hardware->challenge_seconds);
  memcpy(bytes + AT_ID, hardware->id, PFC_ID_BYTES);
  memcpy(bytes + AT_SECRET_KEY, hardware->secret_key, PFC_SECRET_KEY_BYTES);
  for (unsigned i = 0; i < hardware->issuer_count; i++) {
    memcpy(bytes + AT_ISSUERS + i * PFC_PUBLIC_KEY_BYTES, hardware->issuers[i].public_key, PFC_PUBLIC_KEY_BYTES);
  }
  memcpy(bytes + AT_FACTORY_SECRET, hardware->factory_secret, PFC_FACTORY_SECRET_BYTES);
  make_check(check, bytes, AT_CHECK);
  memcpy(bytes + AT_CHECK, check, CHECK_BYTES);
  for (unsigned page = 0; page < PFD_FLASH_IDENTITY_PAGES && result == PFC_OK; page++) {
    if (pfd_flash_write(flash, page, bytes, sizeof bytes) != 0) result = PFC_E_STORAGE;
  }
  pfc_wipe(bytes, sizeof bytes);
  return result;
}
#endif
