// SPDX-License-Identifier: Apache-2.0

/// A hash whose message comes in pieces: the tree over leaves, the bundle over entries.

#ifndef PFP_HASH_FOLD_H
#define PFP_HASH_FOLD_H

#include <sodium/crypto_generichash_blake2b.h>

#include "hash.h"

/// B(role, message) in progress.
struct pfp_fold {
  crypto_generichash_blake2b_state state;
};

void pfp_fold_init(struct pfp_fold *fold, const struct pfp_hash *hash, enum pfp_role role);
void pfp_fold_update(struct pfp_fold *fold, const void *bytes, size_t size);
/// The integer, little-endian, in `width` bytes.
void pfp_fold_number(struct pfp_fold *fold, uint64_t number, unsigned width);
void pfp_fold_final(uint8_t digest[PFP_HASH_BYTES], struct pfp_fold *fold);

/// The role's personalisation.
const uint8_t *pfp_role_bytes(enum pfp_role role);

/// Leaves of a content of `size` bytes; 0 if it is hashed in one piece.
static inline uint64_t pfp_leaf_count(uint64_t size) {
  return size <= PFP_LEAF_BYTES ? 0 : (size - 1) / PFP_LEAF_BYTES + 1;
}

#endif
