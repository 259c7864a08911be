// SPDX-License-Identifier: Apache-2.0

/// Calls of backend and hardware with keys, tokens and records.

#include <sodium.h>
#include <string.h>

#include "wipe.h"

// Platform -------------------------------------------------------------------------------------------------------

static int area_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  const struct vault *vault = context;
  memcpy(bytes, vault->areas[record][copy], size);
  return 0;
}

static int area_write(void *context, unsigned record, unsigned copy, const uint8_t *bytes, size_t size) {
  struct vault *vault = context;
  if (vault->broken_from > 0 && ++vault->writes >= vault->broken_from) return -1;
  memcpy(vault->areas[record][copy], bytes, size);
  return 0;
}

/// Answers for the first copy alone.
static int half_read(void *context, unsigned record, unsigned copy, uint8_t *bytes, size_t size) {
  return copy == 0 ? area_read(context, record, copy, bytes, size) : -1;
}

static int next_random(void *context, uint8_t *bytes, size_t size) {
  struct vault *vault = context;
  vault_fill(bytes, size, 100u + vault->random_next++);
  return 0;
}

static void add_clamped(const char *name, const uint8_t secret_key[32]) {
  uint8_t clamped[32];
  memcpy(clamped, secret_key, sizeof clamped);
  needle_add(name, clamped, sizeof clamped);
  clamped[0] &= 248;
  clamped[31] = (uint8_t)((clamped[31] & 127) | 64);
  needle_add(name, clamped, sizeof clamped);
}

static void need_hardware(struct vault *vault) {
  struct pfc_hardware *hardware = &vault->hardware;
  vault_fill(hardware->secret_key, sizeof hardware->secret_key, 20);
  add_clamped("hardware secret key", hardware->secret_key);
  vault_fill(hardware->id, sizeof hardware->id, 21);
  pfc_public_key(hardware->public_key, hardware->secret_key);
  hardware->mode = PFC_MODE_PRODUCTION;
  hardware->issuer_count = 1;
  vault_fill(vault->seed, sizeof vault->seed, 22);
  pfc_signing_key(hardware->issuers[0].public_key, vault->signing_key, vault->seed);
  vault->storage = (struct pfc_storage){vault, area_read, area_write};
  vault->platform = (struct pfc_platform){.context = vault, .random = next_random, .storage = vault->storage};
}

/// The seed, and what Ed25519 makes of it: the scalar, before and after clamping, and the prefix of its nonces.
static void need_signing_key(const struct vault *vault) {
  uint8_t expanded[64];
  crypto_hash_sha512(expanded, vault->seed, sizeof vault->seed);
  needle_add("signing seed", vault->seed, sizeof vault->seed);
  needle_add("signing scalar", expanded, sizeof expanded);
  expanded[0] &= 248;
  expanded[31] = (uint8_t)((expanded[31] & 63) | 64);
  needle_add("signing scalar", expanded, 32);
}

/// Intermediate values of X25519 and XSalsa20 for a sealed box: the shared secret, the box's key, the stream's key, and
/// the authenticator's key.
static void need_shared_key(const struct vault *vault) {
  uint8_t shared[32], key[32], stream_key[32], first_block[32], nonce[24], keys[64];
  pfc_public_key(keys, vault->ephemeral);
  memcpy(keys + 32, vault->hardware.public_key, 32);
  crypto_generichash(nonce, sizeof nonce, keys, sizeof keys, NULL, 0);
  vault_expect(crypto_scalarmult(shared, vault->ephemeral, vault->hardware.public_key) == 0, "shared");
  vault_expect(crypto_box_beforenm(key, vault->hardware.public_key, vault->ephemeral) == 0, "a key");
  crypto_core_hsalsa20(stream_key, nonce, key, NULL);
  crypto_stream_salsa20(first_block, sizeof first_block, nonce + 16, stream_key);
  needle_add("shared secret", shared, sizeof shared);
  needle_add("box key", key, sizeof key);
  needle_add("stream key", stream_key, sizeof stream_key);
  needle_add("authenticator key", first_block, sizeof first_block);
}

static void need_token(struct vault *vault) {
  struct pfc_token *token = &vault->token;
  *token = (struct pfc_token){.version = PFC_VERSION,
                              .mode = PFC_MODE_PRODUCTION,
                              .form = PFC_FORM_DIVERSIFIED,
                              .integrity_classes = 1,
                              .attempts = 2,
                              .uses = 100,
                              .generation = 1,
                              .issued = 1000};
  memcpy(token->hardware_id, vault->hardware.id, PFC_ID_BYTES);
  vault_fill(token->instance_id, PFC_ID_BYTES, 23);
  vault_fill(&token->secrets, sizeof token->secrets, 24);
  vault_fill(vault->ephemeral, sizeof vault->ephemeral, 25);
  needle_add_mac_key("K_hw", token->secrets.integrity_key, PFC_KEY_BYTES);
  needle_add("IM_hw", token->secrets.integrity, PFC_MEASUREMENT_BYTES);
  needle_add_mac_key("DPK_hw", token->secrets.device_key, PFC_KEY_BYTES);
  needle_add("DM_hw", token->secrets.device, PFC_MEASUREMENT_BYTES);
}

// Boxes and signatures -------------------------------------------------------------------------------------------

static void prepare_box(struct vault *vault) {
  need_hardware(vault);
  vault_fill(vault->ephemeral, sizeof vault->ephemeral, 25);
  need_shared_key(vault);
  vault_fill(vault->payload, sizeof vault->payload, 26);
  add_clamped("ephemeral secret key", vault->ephemeral);
  needle_add("the content", vault->payload, sizeof vault->payload);
  vault_expect(pfc_seal(vault->out, vault->payload, sizeof vault->payload, vault->hardware.public_key,
                        vault->ephemeral) == PFC_OK,
               "sealed");
}

static void run_seal(struct vault *vault) {
  vault_expect(pfc_seal(vault->out, vault->payload, sizeof vault->payload, vault->hardware.public_key,
                        vault->ephemeral) == PFC_OK,
               "sealed");
}

static void run_unseal(struct vault *vault) {
  vault_expect(pfc_unseal(vault->payload, vault->out, sizeof vault->payload + PFC_SEAL_BYTES,
                          vault->hardware.public_key, vault->hardware.secret_key) == PFC_OK,
               "opened");
}

static void run_public_key(struct vault *vault) { pfc_public_key(vault->out, vault->hardware.secret_key); }

static void run_shared_secret(struct vault *vault) {
  vault_expect(pfc_shared_secret(vault->out, vault->ephemeral, vault->hardware.public_key) == PFC_OK, "shared");
}

static void prepare_signature(struct vault *vault) {
  need_hardware(vault);
  need_signing_key(vault);
}

static void run_signing_key(struct vault *vault) {
  pfc_signing_key(vault->out, vault->signing_key, vault->seed);
}

static void run_sign(struct vault *vault) { pfc_sign(vault->out, vault->salt, sizeof vault->salt, vault->signing_key); }

// Tokens ---------------------------------------------------------------------------------------------------------

void wipe_create_token(struct vault *vault) {
  vault_expect(pfc_token_create(vault->sealed, &vault->token, vault->hardware.public_key, NULL, vault->signing_key,
                                vault->ephemeral) == PFC_OK,
               "created");
}

void wipe_prepare_token(struct vault *vault) {
  need_hardware(vault);
  need_signing_key(vault);
  need_token(vault);
  need_shared_key(vault);
  add_clamped("ephemeral secret key", vault->ephemeral);
  wipe_create_token(vault);
}

static void run_token_open(struct vault *vault) {
  vault_expect(pfc_token_open(&vault->opened, vault->sealed, sizeof vault->sealed, &vault->hardware) == PFC_OK,
               "opened");
}

/// Opened, and then found to be for hardware of the other mode.
static void prepare_refused_token(struct vault *vault) {
  wipe_prepare_token(vault);
  vault->hardware.mode = PFC_MODE_DEVELOPMENT;
}

// Suite 2: a box under a key that is derived from X25519 and the factory secret.

static void run_factory_secret(struct vault *vault) {
  pfc_factory_secret(vault->hardware.factory_secret, vault->drawn, vault->hardware.id);
}

void wipe_need_factory_secret(struct vault *vault) {
  vault_fill(vault->drawn, sizeof vault->drawn, 29);
  needle_add_derived("factory secret", PFC_LABEL_FACTORY_SECRET, vault->drawn, sizeof vault->drawn, vault->hardware.id,
                     PFC_ID_BYTES);
  run_factory_secret(vault);
  vault->hardware.has_factory_secret = 1;
}

static void run_create_safe(struct vault *vault) {
  vault_expect(pfc_token_create(vault->sealed, &vault->token, vault->hardware.public_key,
                                vault->hardware.factory_secret, vault->signing_key, vault->ephemeral) == PFC_OK,
               "created");
}

static void prepare_safe_token(struct vault *vault) {
  uint8_t input[32 + PFC_FACTORY_SECRET_BYTES], info[2 * PFC_PUBLIC_KEY_BYTES + PFC_ID_BYTES + PFC_TOKEN_HEAD_BYTES];
  uint8_t key[32], stream_key[32], first_block[32];
  static const uint8_t nonce[24] = {0};
  wipe_prepare_token(vault);
  wipe_need_factory_secret(vault);
  vault->token.version = PFC_TOKEN_VERSION_2;
  vault->token.base = vault->token.generation;
  run_create_safe(vault);
  vault_expect(pfc_shared_secret(input, vault->ephemeral, vault->hardware.public_key) == PFC_OK, "shared");
  memcpy(input + 32, vault->hardware.factory_secret, PFC_FACTORY_SECRET_BYTES);
  memcpy(info, vault->sealed + PFC_TOKEN_HEAD_BYTES, PFC_PUBLIC_KEY_BYTES);
  memcpy(info + 32, vault->hardware.public_key, PFC_PUBLIC_KEY_BYTES);
  memcpy(info + 64, vault->hardware.id, PFC_ID_BYTES);
  memcpy(info + 80, vault->sealed, PFC_TOKEN_HEAD_BYTES);
  needle_add_derived("key of the box", PFC_LABEL_TOKEN_SEAL, input, sizeof input, info, sizeof info);
  pfc_derive(key, PFC_LABEL_TOKEN_SEAL, input, sizeof input, info, sizeof info);
  crypto_core_hsalsa20(stream_key, nonce, key, NULL);
  crypto_stream_salsa20(first_block, sizeof first_block, nonce + 16, stream_key);
  needle_add("stream key", stream_key, sizeof stream_key);
  needle_add("authenticator key", first_block, sizeof first_block);
}

/// Its box does not open, so that nothing is called after that.
static void prepare_damaged_safe_token(struct vault *vault) {
  prepare_safe_token(vault);
  vault->sealed[PFC_TOKEN_BYTES - 1] ^= 1;
}

static void run_damaged_safe_token(struct vault *vault) {
  vault_expect(pfc_token_open(&vault->opened, vault->sealed, sizeof vault->sealed, &vault->hardware) == PFC_E_RECIPIENT,
               "refused");
}

static void prepare_refused_safe_token(struct vault *vault) {
  prepare_safe_token(vault);
  vault->hardware.mode = PFC_MODE_DEVELOPMENT;
}

static void run_refused_token(struct vault *vault) {
  vault_expect(pfc_token_open(&vault->opened, vault->sealed, sizeof vault->sealed, &vault->hardware) == PFC_E_MODE,
               "refused");
}

// Records --------------------------------------------------------------------------------------------------------

static void prepare_record(struct vault *vault) {
  need_hardware(vault);
  needle_add_derived("record key", PFC_LABEL_RECORD_KEY, vault->hardware.secret_key, 32, NULL, 0);
  vault_fill(vault->payload, sizeof vault->payload, 26);
  needle_add("the payload", vault->payload, sizeof vault->payload);
  pfc_record_key(vault->record_key, vault->hardware.secret_key);
}

static void run_record_key(struct vault *vault) { pfc_record_key(vault->record_key, vault->hardware.secret_key); }

static void run_record_save(struct vault *vault) {
  memcpy(vault->stored + PFC_RECORD_HEAD_BYTES, vault->payload, sizeof vault->payload);
  vault_expect(pfc_record_format(&vault->record, vault->stored, sizeof vault->payload, &vault->storage, 1,
                                 vault->record_key) == PFC_OK,
               "formatted");
}

static void prepare_record_load(struct vault *vault) {
  prepare_record(vault);
  run_record_save(vault);
}

/// The right tag of an edited record is a secret: an attacker who finds it has forged the record.
static void prepare_damaged_load(struct vault *vault) {
  struct pfc_mac mac;
  uint8_t tag[32];
  prepare_record_load(vault);
  for (unsigned copy = 0; copy < PFC_RECORD_COPIES; copy++) {
    vault->areas[1][copy][PFC_RECORD_HEAD_BYTES] ^= 1;
    pfc_mac_init(&mac, vault->record_key, sizeof vault->record_key);
    pfc_mac_update(&mac, vault->areas[1][copy], PFC_RECORD_HEAD_BYTES + sizeof vault->payload);
    pfc_mac_final(tag, &mac);
    needle_add("the tag of an edited record", tag, sizeof tag);
  }
}

static void run_damaged_load(struct vault *vault) {
  vault_expect(pfc_record_load(&vault->record, vault->stored, sizeof vault->payload, &vault->storage, 1,
                               vault->record_key) == PFC_E_DAMAGED,
               "refused");
}

/// The record's old content is read, and is another secret.
static void prepare_record_again(struct vault *vault) {
  prepare_record_load(vault);
  vault_fill(vault->payload, sizeof vault->payload, 27);
}

static void prepare_unreadable_load(struct vault *vault) {
  prepare_record_load(vault);
  vault->storage.read = half_read;
}

static void run_unreadable_load(struct vault *vault) {
  vault_expect(pfc_record_load(&vault->record, vault->stored, sizeof vault->payload, &vault->storage, 1,
                               vault->record_key) == PFC_E_STORAGE,
               "refused");
}

static void run_record_load(struct vault *vault) {
  vault_expect(pfc_record_load(&vault->record, vault->stored, sizeof vault->payload, &vault->storage, 1,
                               vault->record_key) == PFC_OK,
               "loaded");
}

const struct wipe_case wipe_hardware_cases[] = {
    {"seal", prepare_box, run_seal, 0, 0, 0},
    {"unseal", prepare_box, run_unseal, 0, 0, 0},
    {"public key", need_hardware, run_public_key, 0, 0, 0},
    {"shared secret", prepare_box, run_shared_secret, 0, 0, 0},
    {"signing key", prepare_signature, run_signing_key, 0, 0, 0},
    {"sign", prepare_signature, run_sign, 0, 0, 0},
    {"token create", wipe_prepare_token, wipe_create_token, 1, 0, 0},
    {"token open", wipe_prepare_token, run_token_open, 1, 0, 0},
    {"token open, refused", prepare_refused_token, run_refused_token, 1, GONE(opened)},
    {"factory secret", prepare_safe_token, run_factory_secret, 1, 0, 0},
    {"token create, suite 2", prepare_safe_token, run_create_safe, 1, 0, 0},
    {"token open, suite 2", prepare_safe_token, run_token_open, 1, 0, 0},
    {"token open, suite 2, damaged", prepare_damaged_safe_token, run_damaged_safe_token, 1, GONE(opened)},
    {"token open, suite 2, refused", prepare_refused_safe_token, run_refused_token, 1, GONE(opened)},
    {"record key", prepare_record, run_record_key, 1, 0, 0},
    {"record save", prepare_record, run_record_save, 0, 0, 0},
    {"record save over another", prepare_record_again, run_record_save, 1, 0, 0},
    {"record load", prepare_record_load, run_record_load, 0, 0, 0},
    {"record load, damaged", prepare_damaged_load, run_damaged_load, 1, GONE(stored)},
    {"record load, one copy unreadable", prepare_unreadable_load, run_unreadable_load, 0, GONE(stored)},
    {NULL, NULL, NULL, 0, 0, 0},
};
