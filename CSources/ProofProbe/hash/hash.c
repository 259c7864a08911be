// SPDX-License-Identifier: Apache-2.0

#include "hash.h"

#include <sodium/crypto_generichash_blake2b.h>
#include <string.h>

#include "hash/fold.h"
#include "hash/kernel.h"
#include "hash/lanes.h"
#include "hash/machine.h"

_Static_assert(PFP_HASH_BYTES == 32 && PFP_HASH_KEY_BYTES <= crypto_generichash_blake2b_KEYBYTES_MAX, "BLAKE2b-256");
_Static_assert(PFP_HASH_SALT_BYTES == crypto_generichash_blake2b_SALTBYTES, "a whole salt");
_Static_assert(PFP_ROLE_BYTES == crypto_generichash_blake2b_PERSONALBYTES, "a whole personalisation");

static const char roles[PFP_ROLES][PFP_ROLE_BYTES + 1] = {
    [PFP_CONTENT] = PFP_ROLE_CONTENT, [PFP_TREE] = PFP_ROLE_TREE,   [PFP_LEAF] = PFP_ROLE_LEAF,
    [PFP_LINK] = PFP_ROLE_LINK,       [PFP_ENTRY] = PFP_ROLE_ENTRY, [PFP_BUNDLE] = PFP_ROLE_BUNDLE,
};

const uint8_t *pfp_role_bytes(enum pfp_role role) { return (const uint8_t *)roles[role]; }

int pfp_kernel_available(enum pfp_kernel kernel) {
  switch (kernel) {
    case PFP_KERNEL_BEST:
    case PFP_KERNEL_PORTABLE: return 1;
    case PFP_KERNEL_X4: return pfp_machine_has_x4();
    case PFP_KERNEL_X8: return pfp_machine_has_x8();
  }
  return 0;
}

unsigned pfp_kernel_width(enum pfp_kernel kernel) {
  switch (kernel) {
    case PFP_KERNEL_X4: return 4;
    case PFP_KERNEL_X8: return 8;
    case PFP_KERNEL_BEST:
    case PFP_KERNEL_PORTABLE: break;
  }
  return 1;
}

pfp_compress_fn pfp_kernel_compress(enum pfp_kernel kernel) {
#if PFP_HAVE_X86_KERNELS
  if (kernel == PFP_KERNEL_X4) return pfp_compress_x4;
  if (kernel == PFP_KERNEL_X8) return pfp_compress_x8;
#else
  (void)kernel;
#endif
  return NULL;
}

enum pfp_kernel pfp_kernel_best(bool has_x4, bool has_x8) {
  if (has_x8) return PFP_KERNEL_X8;
  return has_x4 ? PFP_KERNEL_X4 : PFP_KERNEL_PORTABLE;
}

/// RFC 7693, section 2.5 and 3.3, with the salt and personalisation of the BLAKE2 paper: the parameter block goes into
/// the chaining value, the key is the first block.
static void prepare(uint64_t start[8], const struct pfp_hash *hash, enum pfp_role role, pfp_compress_fn compress) {
  static const uint64_t initial[8] = PFP_BLAKE2B_START;
  struct pfp_states states;
  const uint8_t *message[PFP_LANES_MAX];
  uint64_t tail[PFP_LANES_MAX];
  uint8_t key[PFP_BLOCK_BYTES] = {0};
  uint8_t parameters[64] = {PFP_HASH_BYTES, PFP_HASH_KEY_BYTES, 1, 1};
  memset(&states, 0, sizeof states);
  memcpy(parameters + 32, hash->salt, PFP_HASH_SALT_BYTES);
  memcpy(parameters + 48, roles[role], PFP_ROLE_BYTES);
  memcpy(key, hash->key, PFP_HASH_KEY_BYTES);
  for (unsigned i = 0; i < 8; i++) {
    uint64_t word = 0;
    for (unsigned byte = 8; byte > 0; byte--) word = word << 8 | parameters[8 * i + byte - 1];
    for (unsigned lane = 0; lane < PFP_LANES_MAX; lane++) states.chain[i][lane] = initial[i] ^ word;
  }
  for (unsigned lane = 0; lane < PFP_LANES_MAX; lane++) {
    message[lane] = key;
    tail[lane] = PFP_BLOCK_BYTES;
  }
  compress(&states, message, 1, tail);
  for (unsigned i = 0; i < 8; i++) start[i] = states.chain[i][0];
}

int pfp_hash_init(struct pfp_hash *hash, const uint8_t key[PFP_HASH_KEY_BYTES],
                  const uint8_t salt[PFP_HASH_SALT_BYTES], enum pfp_kernel kernel) {
  pfp_compress_fn compress;
  memset(hash, 0, sizeof *hash);
  if (!pfp_kernel_available(kernel)) return PFP_E_ARGUMENT;
  memcpy(hash->key, key, sizeof hash->key);
  memcpy(hash->salt, salt, sizeof hash->salt);
  hash->kernel = (uint8_t)(kernel == PFP_KERNEL_BEST ? pfp_kernel_best(pfp_machine_has_x4(), pfp_machine_has_x8())
                                                        : kernel);
  compress = pfp_kernel_compress(hash->kernel);
  for (unsigned role = 0; role < PFP_ROLES && compress != NULL; role++) {
    prepare(hash->start[role], hash, role, compress);
  }
  return PFP_OK;
}

void pfp_hash_one(uint8_t digest[PFP_HASH_BYTES], const struct pfp_hash *hash, enum pfp_role role, const void *message,
                  size_t size) {
  // Fails on lengths out of range alone, and these are constants.
  (void)crypto_generichash_blake2b_salt_personal(digest, PFP_HASH_BYTES, message, size, hash->key, PFP_HASH_KEY_BYTES,
                                                 hash->salt, pfp_role_bytes(role));
}
