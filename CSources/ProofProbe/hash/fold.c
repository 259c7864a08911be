// SPDX-License-Identifier: Apache-2.0

#include "hash/fold.h"

// None of libsodium's functions below can fail: every length is a constant in range.

void pfp_fold_init(struct pfp_fold *fold, const struct pfp_hash *hash, enum pfp_role role) {
  (void)crypto_generichash_blake2b_init_salt_personal(&fold->state, hash->key, PFP_HASH_KEY_BYTES, PFP_HASH_BYTES,
                                                      hash->salt, pfp_role_bytes(role));
}

void pfp_fold_update(struct pfp_fold *fold, const void *bytes, size_t size) {
  (void)crypto_generichash_blake2b_update(&fold->state, bytes, size);
}

void pfp_fold_number(struct pfp_fold *fold, uint64_t number, unsigned width) {
  uint8_t bytes[8];
  for (unsigned i = 0; i < width; i++) bytes[i] = (uint8_t)(number >> (8 * i));
  pfp_fold_update(fold, bytes, width);
}

void pfp_fold_final(uint8_t digest[PFP_HASH_BYTES], struct pfp_fold *fold) {
  (void)crypto_generichash_blake2b_final(&fold->state, digest, PFP_HASH_BYTES);
}
