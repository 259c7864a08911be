// SPDX-License-Identifier: Apache-2.0

/// Hashing of contents: keyed BLAKE2b-256 over leaves of 64 KiB, eight or four leaves at once where the processor can.
///
/// Every single hash is an ordinary BLAKE2b (RFC 7693) of 32 bytes with a key of 32 bytes, a salt of 16 and a
/// personalisation of 16: bit for bit what libsodium's `crypto_generichash_blake2b_salt_personal` gives. Key and salt
/// are the caller's and the same for all of them; the personalisation is the *role*, 16 ASCII characters, so that no
/// hash made for one use can stand where another is expected:
///
///     B(role, message) = BLAKE2b-256(key, salt, personalisation = role, message)
///
///     digest of a content of n bytes, n <= 65,536:     B("pfp1.content....", the content)
///     digest of a content of n bytes, n > 65,536:      B("pfp1.tree.......", u64(n) ‖ leaf 0 ‖ … ‖ leaf k-1)
///        k = ceil(n / 65,536); leaf i = B("pfp1.leaf.......", bytes 65,536 i to min(n, 65,536 (i + 1)))
///
/// Integers are little-endian. BLAKE2b counts the bytes of its message in its last block, so the length of a short
/// content and of each leaf is hashed too; the tree states it once more, so that the number of leaves is never a
/// matter of trust. `files.h` adds the roles of links, entries and bundles.

#ifndef PFP_HASH_H
#define PFP_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "probe_result.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFP_LEAF_BYTES 65536    ///< Leaf of a long content, and the longest content that is hashed in one piece.
#define PFP_HASH_BYTES 32       ///< A digest, a leaf.
#define PFP_HASH_KEY_BYTES 32
#define PFP_HASH_SALT_BYTES 16  ///< The length of a configuration's salt.
#define PFP_ROLE_BYTES 16

#define PFP_ROLE_CONTENT "pfp1.content...."
#define PFP_ROLE_TREE "pfp1.tree......."
#define PFP_ROLE_LEAF "pfp1.leaf......."
#define PFP_ROLE_LINK "pfp1.link......."
#define PFP_ROLE_ENTRY "pfp1.entry......"
#define PFP_ROLE_BUNDLE "pfp1.bundle....."

/// Numbers of the roles above.
enum pfp_role {
  PFP_CONTENT = 0,
  PFP_TREE = 1,
  PFP_LEAF = 2,
  PFP_LINK = 3,
  PFP_ENTRY = 4,
  PFP_BUNDLE = 5
};
#define PFP_ROLES 6

/// How leaves are hashed. All give the same digests.
enum pfp_kernel {
  PFP_KERNEL_BEST = 0,      ///< The fastest that this processor and operating system allow.
  PFP_KERNEL_PORTABLE = 1,  ///< libsodium, one leaf at a time.
  PFP_KERNEL_X4 = 2,        ///< AVX2, four leaves at once.
  PFP_KERNEL_X8 = 3         ///< AVX-512F, eight leaves at once.
};

/// A key, a salt and a kernel, prepared. Owned by the caller, never changed after `_init`: any number of threads may
/// use one at a time. Its fields are this module's own business.
struct pfp_hash {
  uint8_t key[PFP_HASH_KEY_BYTES];
  uint8_t salt[PFP_HASH_SALT_BYTES];
  uint8_t kernel;
  uint64_t start[PFP_ROLES][8];  ///< Chaining values after the key block, unless the kernel is the portable one.
};

/// PFP_E_ARGUMENT for a kernel that does not exist or that this machine cannot run.
PFP_MUST_USE int pfp_hash_init(struct pfp_hash *hash, const uint8_t key[PFP_HASH_KEY_BYTES],
                               const uint8_t salt[PFP_HASH_SALT_BYTES], enum pfp_kernel kernel);

/// 1 if this machine can run the kernel: the processor has the instructions and the operating system saves the
/// registers.
PFP_MUST_USE int pfp_kernel_available(enum pfp_kernel kernel);

/// One hash, B(role, message), by libsodium. `message` may be NULL if `size` is 0.
void pfp_hash_one(uint8_t digest[PFP_HASH_BYTES], const struct pfp_hash *hash, enum pfp_role role, const void *message,
                  size_t size);

/// One content in memory, of any length: what `pfp_hash_contents` hashes.
struct pfp_content {
  const uint8_t *bytes;  ///< May be NULL if `size` is 0. Must stay readable during the call.
  size_t size;
  uint8_t digest[PFP_HASH_BYTES];  ///< Filled in.
};

/// Digests of `count` contents in memory, leaves of different contents side by side. On the calling thread, without
/// heap, with at most 16 KiB of stack.
void pfp_hash_contents(const struct pfp_hash *hash, struct pfp_content *contents, size_t count);

/// The same digests, by the calling thread and one more that ends before the call does. By the calling thread alone if
/// no thread can be started.
void pfp_hash_contents_shared(const struct pfp_hash *hash, struct pfp_content *contents, size_t count);

#ifdef __cplusplus
}
#endif

#endif
