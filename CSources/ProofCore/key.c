// SPDX-License-Identifier: Apache-2.0

#include "key.h"

#include "crypto.h"
#include "internal.h"

static void load_plain(uint8_t bytes[PFC_KEY_BYTES], const void *context) { memcpy(bytes, context, PFC_KEY_BYTES); }

struct pfc_key pfc_key_plain(const uint8_t bytes[PFC_KEY_BYTES], uint8_t mode) {
  return (struct pfc_key){.load = load_plain, .context = bytes, .mode = mode};
}

void pfc_key_id(uint8_t id[PFC_KEY_ID_BYTES], const struct pfc_key *key) {
  uint8_t bytes[PFC_KEY_BYTES];
  uint8_t derived[32];
  key->load(bytes, key->context);
  pfc_derive(derived, PFC_LABEL_KEY_ID, bytes, sizeof bytes, &key->mode, sizeof key->mode);
  id[0] = key->mode;
  memcpy(id + 1, derived, PFC_KEY_ID_BYTES - 1);
  pfc_wipe(bytes, sizeof bytes);
  pfc_wipe(derived, sizeof derived);
}

void pfc_key_device(uint8_t device_key[PFC_KEY_BYTES], const struct pfc_key *key,
                    const uint8_t salt[PFC_SALT_BYTES]) {
  uint8_t bytes[PFC_KEY_BYTES];
  uint8_t derived[32];
  key->load(bytes, key->context);
  pfc_derive(derived, PFC_LABEL_DEVICE_KEY, bytes, sizeof bytes, salt, PFC_SALT_BYTES);
  memcpy(device_key, derived, PFC_KEY_BYTES);
  pfc_wipe(bytes, sizeof bytes);
  pfc_wipe(derived, sizeof derived);
}

static void diversify(uint8_t *to, const char label[PFC_LABEL_BYTES + 1], const uint8_t *from, size_t size,
                      const uint8_t hardware_id[PFC_ID_BYTES]) {
  uint8_t derived[32];
  pfc_derive(derived, label, from, size, hardware_id, PFC_ID_BYTES);
  memcpy(to, derived, size);
  pfc_wipe(derived, sizeof derived);
}

int pfc_secrets_make(struct pfc_secrets *secrets, const struct pfc_key *key, const struct pfc_measured *measured,
                     uint8_t form, const uint8_t hardware_id[PFC_ID_BYTES]) {
  if (form != PFC_FORM_DIVERSIFIED && form != PFC_FORM_LITERAL) {
    pfc_wipe(secrets, sizeof *secrets);
    return PFC_E_ARGUMENT;
  }
  key->load(secrets->integrity_key, key->context);
  memcpy(secrets->integrity, measured->integrity, sizeof secrets->integrity);
  memcpy(secrets->device_key, measured->device_key, sizeof secrets->device_key);
  memcpy(secrets->device, measured->device, sizeof secrets->device);
  if (form == PFC_FORM_DIVERSIFIED) {
    diversify(secrets->integrity_key, PFC_LABEL_HARDWARE_KEY, secrets->integrity_key, PFC_KEY_BYTES, hardware_id);
    diversify(secrets->integrity, PFC_LABEL_HARDWARE_IM, secrets->integrity, PFC_MEASUREMENT_BYTES, hardware_id);
    diversify(secrets->device_key, PFC_LABEL_HARDWARE_DEVICE_KEY, secrets->device_key, PFC_KEY_BYTES, hardware_id);
    diversify(secrets->device, PFC_LABEL_HARDWARE_DM, secrets->device, PFC_MEASUREMENT_BYTES, hardware_id);
  }
  return PFC_OK;
}
