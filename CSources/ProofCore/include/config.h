// SPDX-License-Identifier: Apache-2.0

/// The measurement configuration (MC): what is asked for, under which salt, and what the baseline looked like.
///
/// The service makes it, the app stores it, and its bytes enter the integrity measurement. It holds no usable secret:
/// the device proof key is wrapped under the device's own sources, the leaves are blinded.
///
/// Groups. Each asked-for source has 1, 2, 4, … 64 groups; a record belongs to group FNV-1a(name) mod that number, and
/// each group has one leaf of four bytes. Leaves stand in the order of the sources. So the number of leaves is bounded
/// whatever the number of records, and a source with few records names the one that changed.

#ifndef PFC_CONFIG_H
#define PFC_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "key.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Classes of evidence, in the order in which records arrive. Device comes first because its records unwrap the key
/// that blinds the other classes' leaves.
enum pfc_class {
  PFC_CLASS_DEVICE = 1,
  PFC_CLASS_APP = 2,
  PFC_CLASS_ENVIRONMENT = 3
};

/// How the app may measure.
enum pfc_policy {
  PFC_POLICY_FULL = 1,        ///< Every byte is read at each measurement.
  PFC_POLICY_INCREMENTAL = 2,  ///< Files that no program of the app's user can have changed are not read again.
  PFC_POLICY_TRUSTING = 3  ///< Files that statx reports as unchanged are not read again: trusts their owner.
};

/// One source asked for.
struct pfc_source {
  uint8_t class_;       ///< enum pfc_class
  uint8_t number;       ///< 1 to 255, within the class
  uint8_t version;      ///< 1 to 255: how this source is collected
  uint8_t groups_log2;  ///< 0 to PFC_CONFIG_GROUPS_LOG2_MAX
};

/// A configuration, decoded.
struct pfc_config {
  uint8_t mode;         ///< enum pfc_mode; equals the first byte of `key_id`
  uint8_t policy;       ///< enum pfc_policy
  uint8_t limit_log2;   ///< The app reads at most 2^limit_log2 bytes of files.
  uint8_t source_count;  ///< 1 to PFC_CONFIG_SOURCES_MAX
  uint8_t leaf_count;    ///< The sum of the sources' groups
  uint32_t generation;   ///< 1 or more; grows with every configuration of one app instance
  uint8_t key_id[PFC_KEY_ID_BYTES];
  uint8_t salt[PFC_SALT_BYTES];
  uint8_t wrapped_key[PFC_KEY_BYTES];  ///< DPK under a key made from the device sources
  uint8_t leaf_check[PFC_CONFIG_LEAF_BYTES];
  struct pfc_source sources[PFC_CONFIG_SOURCES_MAX];  ///< Strictly increasing by (class, number)
  uint8_t leaves[PFC_CONFIG_LEAVES_MAX][PFC_CONFIG_LEAF_BYTES];
};

/// Encodes into at most PFC_CONFIG_BYTES_MAX bytes and sets `*size`. PFC_E_ARGUMENT if a field is out of range,
/// sources are not strictly increasing, or there is not at least one device and one app source; PFC_E_SPACE if
/// `capacity` is too small. On failure `*size` is 0.
PFC_MUST_USE int pfc_config_encode(uint8_t *bytes, size_t capacity, size_t *size, const struct pfc_config *config);

/// Decodes and checks. Never trusts a length. The answers tell apart, in this order:
/// PFC_E_FOREIGN   not a measurement configuration at all (magic);
/// PFC_E_DAMAGED   its tag does not match: some byte was lost or changed, the version byte included;
/// PFC_E_TOO_NEW   intact, of a version or suite that this build does not know;
/// PFC_E_MALFORMED intact, but a field is out of range: made by a defective or hostile encoder.
/// On failure `*config` is all zeros.
PFC_MUST_USE int pfc_config_decode(struct pfc_config *config, const uint8_t *bytes, size_t size);

/// PFC_E_FOREIGN if the configuration was made for another measurement proof key, that is, another SDK build: device
/// proofs still work, integrity proofs need a new baseline. PFC_E_MODE if only the mode differs.
PFC_MUST_USE int pfc_config_check_key(const struct pfc_config *config, const struct pfc_key *key);

/// The index into `sources` of the one asked for, or -1.
PFC_MUST_USE int pfc_config_find(const struct pfc_config *config, uint8_t class_, uint8_t number);

/// FNV-1a of a name, with 32 bits: groups and the shards of a bundle use it. No secret depends on it.
PFC_MUST_USE uint32_t pfc_name_hash(const uint8_t *name, size_t size);

/// The group, an index into `leaves`, that a record of this source and name belongs to, or -1.
PFC_MUST_USE int pfc_config_group(const struct pfc_config *config, uint8_t class_, uint8_t number,
                                  const uint8_t *name, size_t name_size);

#ifdef __cplusplus
}
#endif

#endif
