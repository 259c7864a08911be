// SPDX-License-Identifier: Apache-2.0

/// An index of a bundle's entries as they were at the baseline, kept in the app's storage: with it a diagnosis names
/// the entry that changed. It decides nothing.
///
/// A configuration has one leaf for each shard of the bundle, so it tells which shard differs, not which entry. The
/// index has 16 bytes for each entry. Its first part are the shards' digests: a shard of the index counts only if its
/// digest gives the configuration's leaf, so an index of another baseline, or one that was written by an attacker, is
/// not believed. Names and contents stand in it under a key made from the storage secret.
///
///     index = "PKBI0001" ‖ 64 shard digests ‖ 64 counts (u32) ‖ entries, shard by shard, in order of `name`
///             ‖ M(everything before)[0..16)
///     entry = M("n", path)[0..8) ‖ M("c", path ‖ entry digest)[0..8)
///
/// M is BLAKE2b-256 keyed with the storage secret, its personalisation `pfp1.index......`; the letter comes first.

#ifndef PFP_BUNDLE_INDEX_H
#define PFP_BUNDLE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"
#include "sources.h"
#include "wire.h"

#define PFP_INDEX_NAME "bundle-index"  ///< The file's name in the storage folder
#define PFP_INDEX_DIFFERING_MAX 32u    ///< Paths kept of each shard

struct pfp_index_entry {
  uint64_t name, content;
};

/// How an entry differs from the index.
enum pfp_index_differs { PFP_INDEX_CHANGED = 1, PFP_INDEX_ADDED };

struct pfp_index_differing {
  char *path;
  uint8_t how;
};

/// The index that the entries of a bundle are compared with, and the result.
struct pfp_bundle_look {
  bool collects;  ///< The entries become an index, instead of being compared with one.
  bool has_index;
  bool failed;  ///< Out of memory while collecting
  uint8_t key[32];
  uint8_t digests[PFP_BUNDLE_SHARDS][PFC_DIGEST_BYTES];  ///< Digests of the index's shards
  uint32_t from[PFP_BUNDLE_SHARDS + 1];                  ///< Where in `entries` each shard begins
  struct pfp_index_entry *entries;
  uint8_t *shard_of;  ///< While collecting
  size_t count, capacity;
  uint8_t *seen;
  uint64_t present[PFP_BUNDLE_SHARDS];  ///< Entries of the bundle now
  uint64_t found[PFP_BUNDLE_SHARDS];    ///< Those of them under a path that the index has
  struct pfp_index_differing differing[PFP_BUNDLE_SHARDS][PFP_INDEX_DIFFERING_MAX];
  uint64_t differing_count[PFP_BUNDLE_SHARDS];
};

/// Prepares to collect. PFP_E_RESOURCE, or why there is no secret (storage.h).
PFP_MUST_USE int pfp_index_begin(struct pfp_bundle_look **look, const char *storage);
/// Prepares to compare, with the index of this storage if there is a sound one. `storage` may be NULL. PFP_E_RESOURCE.
PFP_MUST_USE int pfp_index_load(struct pfp_bundle_look **look, const char *storage);
/// One entry of the bundle.
void pfp_index_entry(struct pfp_bundle_look *look, size_t shard, const struct pfp_entry *entry);
/// Writes what was collected, in place of what was there: whole or not at all. `digests` are the shards'.
PFP_MUST_USE int pfp_index_write(struct pfp_bundle_look *look, const char *storage,
                                 uint8_t digests[PFP_BUNDLE_SHARDS][PFC_DIGEST_BYTES]);
/// Entries of a shard that the index has and the bundle has not.
uint64_t pfp_index_gone(const struct pfp_bundle_look *look, size_t shard);
void pfp_index_free(struct pfp_bundle_look *look);

#endif
