// SPDX-License-Identifier: Apache-2.0

#include "fuzz.h"

#include <sanitizer/asan_interface.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void fuzz_fail(const char *condition, const char *file, int line) {
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
  abort();
}

void fuzz_take(struct fuzz_input *input, void *bytes, size_t size) {
  size_t taken = size < input->left ? size : input->left;
  memset(bytes, 0, size);
  if (taken > 0) memcpy(bytes, input->bytes, taken);
  input->bytes += taken;
  input->left -= taken;
}

uint8_t fuzz_u8(struct fuzz_input *input) {
  uint8_t value;
  fuzz_take(input, &value, 1);
  return value;
}

uint16_t fuzz_u16(struct fuzz_input *input) {
  uint8_t bytes[2];
  fuzz_take(input, bytes, sizeof bytes);
  return fuzz_get16(bytes);
}

uint32_t fuzz_u32(struct fuzz_input *input) {
  uint8_t bytes[4];
  fuzz_take(input, bytes, sizeof bytes);
  return fuzz_get32(bytes);
}

uint64_t fuzz_u64(struct fuzz_input *input) {
  uint8_t bytes[8];
  fuzz_take(input, bytes, sizeof bytes);
  return fuzz_get64(bytes);
}

void fuzz_xor(struct fuzz_input *input, uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size && input->left > 0; i++) bytes[i] ^= fuzz_u8(input);
}

int fuzz_flip(struct fuzz_input *input, uint8_t *bytes, size_t size) {
  uint16_t where = fuzz_u16(input);
  if (where == 0 || size == 0) return 0;
  bytes[where / 8 % size] ^= (uint8_t)(1u << where % 8);
  return 1;
}

uint8_t *fuzz_copy(const uint8_t *bytes, size_t size) {
  uint8_t *copy = malloc(size > 0 ? size : 1);
  if (copy == NULL) abort();
  if (size > 0) {
    memcpy(copy, bytes, size);
  } else {
    ASAN_POISON_MEMORY_REGION(copy, 1);
  }
  return copy;
}

int fuzz_all(const void *bytes, size_t size, uint8_t value) {
  const uint8_t *byte = bytes;
  for (size_t i = 0; i < size; i++) {
    if (byte[i] != value) return 0;
  }
  return 1;
}

void fuzz_put16(uint8_t *bytes, uint16_t value) {
  bytes[0] = (uint8_t)value;
  bytes[1] = (uint8_t)(value >> 8);
}

void fuzz_put32(uint8_t *bytes, uint32_t value) {
  fuzz_put16(bytes, (uint16_t)value);
  fuzz_put16(bytes + 2, (uint16_t)(value >> 16));
}

void fuzz_put64(uint8_t *bytes, uint64_t value) {
  fuzz_put32(bytes, (uint32_t)value);
  fuzz_put32(bytes + 4, (uint32_t)(value >> 32));
}

uint16_t fuzz_get16(const uint8_t *bytes) { return (uint16_t)(bytes[0] | bytes[1] << 8); }

uint32_t fuzz_get32(const uint8_t *bytes) {
  return fuzz_get16(bytes) | (uint32_t)fuzz_get16(bytes + 2) << 16;
}

uint64_t fuzz_get64(const uint8_t *bytes) {
  return fuzz_get32(bytes) | (uint64_t)fuzz_get32(bytes + 4) << 32;
}

const struct fuzz_fixture *fuzz_fixture(void) {
  static struct fuzz_fixture fixture;
  struct pfc_hardware *hardware = &fixture.hardware;
  if (hardware->mode != 0) return &fixture;

  memset(hardware->id, 0x48, sizeof hardware->id);
  memset(hardware->secret_key, 0x53, sizeof hardware->secret_key);
  pfc_public_key(hardware->public_key, hardware->secret_key);
  hardware->mode = PFC_MODE_PRODUCTION;
  hardware->issuer_count = FUZZ_ISSUERS_TRUSTED;
  for (uint8_t i = 0; i < FUZZ_ISSUERS; i++) {
    uint8_t seed[32];
    uint8_t public_key[PFC_PUBLIC_KEY_BYTES];
    memset(seed, 0x60 + i, sizeof seed);
    pfc_signing_key(public_key, fixture.signing_keys[i], seed);
    pfc_issuer_id(fixture.issuer_ids[i], public_key);
    if (i < FUZZ_ISSUERS_TRUSTED) {
      memcpy(hardware->issuers[i].public_key, public_key, sizeof public_key);
    }
  }
  return &fixture;
}

struct pfc_token fuzz_token(uint8_t instance) {
  struct pfc_token token = {
      .version = PFC_VERSION,
      .mode = PFC_MODE_PRODUCTION,
      .form = PFC_FORM_DIVERSIFIED,
      .integrity_classes = 0x000F,
      .device_classes = 0x0003,
      .attempts = 3,
      .uses = 5,
      .generation = 1,
      .not_after = 2000,
      .issued = 1000,
  };
  memcpy(token.hardware_id, fuzz_fixture()->hardware.id, sizeof token.hardware_id);
  memset(token.instance_id, instance, sizeof token.instance_id);
  memset(token.secrets.integrity_key, 0x11, sizeof token.secrets.integrity_key);
  memset(token.secrets.integrity, 0x22, sizeof token.secrets.integrity);
  memset(token.secrets.device_key, 0x33, sizeof token.secrets.device_key);
  memset(token.secrets.device, 0x44, sizeof token.secrets.device);
  return token;
}
