// SPDX-License-Identifier: Apache-2.0

#include "gate.h"

#include "crypto.h"
#include "internal.h"

static int keys_are_valid(const struct pfc_gate *gate) {
  uint8_t public_key[PFC_PUBLIC_KEY_BYTES];
  if (gate->key_count == 0 || gate->key_count > PFC_GATE_KEYS_MAX) return 0;
  for (unsigned i = 0; i < gate->key_count; i++) {
    const struct pfc_gate_identity *identity = &gate->keys[i];
    if (i > 0 && identity->number == gate->keys[0].number) return 0;
    if (pfc_is_zero(identity->secret_key, PFC_SECRET_KEY_BYTES)) return 0;
    pfc_public_key(public_key, identity->secret_key);
    if (!pfc_equal(public_key, identity->public_key, sizeof public_key)) return 0;
  }
  return 1;
}

int pfc_gate_check(const struct pfc_gate *gate) {
  if (gate->mode != PFC_MODE_PRODUCTION && gate->mode != PFC_MODE_DEVELOPMENT) return PFC_E_ARGUMENT;
  if (pfc_is_zero(gate->id, PFC_ID_BYTES)) return PFC_E_ARGUMENT;
  if (gate->issuer_count == 0 || gate->issuer_count > PFC_ISSUERS_MAX) return PFC_E_ARGUMENT;
  for (unsigned i = 0; i < gate->issuer_count; i++) {
    if (pfc_is_zero(gate->issuers[i].public_key, PFC_PUBLIC_KEY_BYTES)) return PFC_E_ARGUMENT;
  }
  return keys_are_valid(gate) ? PFC_OK : PFC_E_ARGUMENT;
}

int pfc_gate_secret_make(uint8_t secret[PFC_GATE_SECRET_BYTES], const struct pfc_key *key,
                         const uint8_t integrity[PFC_MEASUREMENT_BYTES], const uint8_t gate_id[PFC_ID_BYTES],
                         const uint8_t instance_id[PFC_ID_BYTES], uint32_t generation) {
  uint8_t bytes[PFC_KEY_BYTES];
  uint8_t both[PFC_KEY_BYTES + 32];
  uint8_t derived[32];
  uint8_t info[PFC_ID_BYTES + PFC_ID_BYTES + 4];
  memset(secret, 0, PFC_GATE_SECRET_BYTES);
  if (generation == 0 || generation == PFC_GENERATION_ALL) return PFC_E_ARGUMENT;
  key->load(bytes, key->context);
  pfc_derive(derived, PFC_LABEL_GATE_KEY, bytes, sizeof bytes, gate_id, PFC_ID_BYTES);
  memcpy(both, derived, PFC_KEY_BYTES);
  pfc_derive(both + PFC_KEY_BYTES, PFC_LABEL_GATE_IM, integrity, PFC_MEASUREMENT_BYTES, gate_id, PFC_ID_BYTES);
  memcpy(info, gate_id, PFC_ID_BYTES);
  memcpy(info + PFC_ID_BYTES, instance_id, PFC_ID_BYTES);
  pfc_put32(info + 2 * PFC_ID_BYTES, generation);
  pfc_derive(secret, PFC_LABEL_GATE_SECRET, both, sizeof both, info, sizeof info);
  pfc_wipe(bytes, sizeof bytes);
  pfc_wipe(both, sizeof both);
  pfc_wipe(derived, sizeof derived);
  return PFC_OK;
}

static void make_handle(struct pfc_compact_keys *keys, const uint8_t secret[PFC_GATE_SECRET_BYTES],
                        uint32_t generation) {
  uint8_t derived[32];
  pfc_derive(derived, PFC_LABEL_GATE_HANDLE, secret, PFC_GATE_SECRET_BYTES, NULL, 0);
  memcpy(keys->handle, derived, PFC_HANDLE_BYTES);
  keys->generation = (uint16_t)generation;
  pfc_wipe(derived, sizeof derived);
}

void pfc_gate_keys_make(struct pfc_gate_keys *keys, const uint8_t secret[PFC_GATE_SECRET_BYTES],
                        uint32_t generation) {
  memset(keys, 0, sizeof *keys);
  make_handle(&keys->compact, secret, generation);
  pfc_derive(keys->request, PFC_LABEL_REQUEST_KEY, secret, PFC_GATE_SECRET_BYTES, NULL, 0);
  pfc_derive(keys->proof, PFC_LABEL_GATE_PROOF_KEY, secret, PFC_GATE_SECRET_BYTES, NULL, 0);
  pfc_derive(keys->compact.tag, PFC_LABEL_COMPACT_KEY, secret, PFC_GATE_SECRET_BYTES, NULL, 0);
  pfc_derive(keys->compact.mask, PFC_LABEL_MASK_KEY, secret, PFC_GATE_SECRET_BYTES, NULL, 0);
}

void pfc_gate_event_keys_make(struct pfc_compact_keys *keys, const uint8_t secret[PFC_GATE_SECRET_BYTES],
                              uint32_t generation, const uint8_t audience[PFC_ID_BYTES]) {
  memset(keys, 0, sizeof *keys);
  make_handle(keys, secret, generation);
  keys->event = 1;
  pfc_derive(keys->tag, PFC_LABEL_EVENT_KEY, secret, PFC_GATE_SECRET_BYTES, audience, PFC_ID_BYTES);
  pfc_derive(keys->mask, PFC_LABEL_MASK_KEY, secret, PFC_GATE_SECRET_BYTES, audience, PFC_ID_BYTES);
}

// Accounts of users -----------------------------------------------------------------------------------------------

int pfc_gate_account(uint8_t account[PFC_DIGEST_BYTES], const uint8_t key[PFC_GATE_KEY_BYTES], const char *name,
                     size_t size) {
  struct pfc_mac mac;
  memset(account, 0, PFC_DIGEST_BYTES);
  if (size == 0 || size > PFC_ACCOUNT_MAX) return PFC_E_ARGUMENT;
  pfc_mac_init(&mac, key, PFC_GATE_KEY_BYTES);
  pfc_mac_update(&mac, PFC_LABEL_ACCOUNT, PFC_LABEL_BYTES);
  pfc_mac_update(&mac, name, size);
  pfc_mac_final(account, &mac);
  return PFC_OK;
}

// Beacons ---------------------------------------------------------------------------------------------------------

enum {
  BEACON_KIND = 0x14,  // Version 1, kind 4, as in the head of a compact token.
  BEACON_INTERVAL = 1,
  BEACON_VALUE = 5
};

_Static_assert(BEACON_VALUE + PFC_BEACON_BYTES == PFC_BEACON_MESSAGE_BYTES, "the beacon ends its message");

void pfc_beacon_key(uint8_t key[PFC_GATE_KEY_BYTES], const uint8_t own_secret[32], const uint8_t gate_id[PFC_ID_BYTES],
                    uint8_t number) {
  uint8_t info[PFC_ID_BYTES + 1];
  memcpy(info, gate_id, PFC_ID_BYTES);
  info[PFC_ID_BYTES] = number;
  pfc_derive(key, PFC_LABEL_BEACON_KEY, own_secret, 32, info, sizeof info);
}

static void beacon_of(uint8_t beacon[PFC_BEACON_BYTES], const uint8_t key[PFC_GATE_KEY_BYTES], uint32_t interval) {
  uint8_t message[PFC_LABEL_BYTES + 4];
  uint8_t full[32];
  int zero;
  memcpy(message, PFC_LABEL_BEACON, PFC_LABEL_BYTES);
  pfc_put32(message + PFC_LABEL_BYTES, interval);
  pfc_mac_once(full, key, PFC_GATE_KEY_BYTES, message, sizeof message);
  zero = pfc_is_zero(full, PFC_BEACON_BYTES);
  // Zeros stand for no beacon. Each answer of the gate carries the beacon, so it is public.
  PFC_DECLASSIFY(&zero, sizeof zero);
  if (zero) full[0] = 1;
  memcpy(beacon, full, PFC_BEACON_BYTES);
  pfc_wipe(full, sizeof full);
}

void pfc_beacon_make(uint8_t message[PFC_BEACON_MESSAGE_BYTES], const uint8_t key[PFC_GATE_KEY_BYTES], uint64_t now) {
  uint32_t interval = (uint32_t)(now / PFC_BEACON_SECONDS);
  message[0] = BEACON_KIND;
  pfc_put32(message + BEACON_INTERVAL, interval);
  beacon_of(message + BEACON_VALUE, key, interval);
}

int pfc_beacon_read(uint8_t beacon[PFC_BEACON_BYTES], uint32_t *interval, const uint8_t *message, size_t size) {
  memset(beacon, 0, PFC_BEACON_BYTES);
  *interval = 0;
  if (size != PFC_BEACON_MESSAGE_BYTES || (message[0] & 15) != (BEACON_KIND & 15)) return PFC_E_MALFORMED;
  if (message[0] != BEACON_KIND) return PFC_E_TOO_NEW;
  if (pfc_is_zero(message + BEACON_VALUE, PFC_BEACON_BYTES)) return PFC_E_MALFORMED;
  *interval = pfc_get32(message + BEACON_INTERVAL);
  memcpy(beacon, message + BEACON_VALUE, PFC_BEACON_BYTES);
  return PFC_OK;
}

void pfc_beacons_at(struct pfc_beacons *beacons, const uint8_t key[PFC_GATE_KEY_BYTES], uint64_t now) {
  uint32_t next = (uint32_t)(now / PFC_BEACON_SECONDS) + 1;
  for (uint32_t i = 0; i < PFC_BEACONS_VALID; i++) beacon_of(beacons->valid[i], key, next - i);
}
