// SPDX-License-Identifier: Apache-2.0

/// Folds evidence into IM and DM (docs/SPEC.md, section 6). Constant memory, whatever the number of records.
///
/// One set of sources has one encoding: records arrive in strictly increasing order of (class, number, name), names
/// compared as bytes, a prefix before its extensions. A record out of order, a repeated one, an over-long or empty
/// name, or a source that was not asked for is refused; after a refusal the fold is dead: only `_wipe` is left.
///
///     struct pfc_measurement fold;
///     if (pfc_measurement_init(&fold, mc, mc_size, &key, 0) == PFC_OK) {
///       for each record: pfc_measurement_update(&fold, class_, number, name, name_size, digest or NULL);
///       result = pfc_measurement_final(&measured, &fold);
///     }

#ifndef PFC_MEASUREMENT_H
#define PFC_MEASUREMENT_H

#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "crypto.h"
#include "key.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Computes the leaves for `pfc_measurement_compare`, and neither IM nor DM.
#define PFC_MEASURE_LEAVES 1u

/// A fold in progress. Owned by the caller, secret, about 1.9 KiB. Its fields are the core's own business.
struct pfc_measurement {
  uint8_t state;
  uint8_t leaves_wanted;
  uint8_t own_key;      ///< The key is the one the configuration was made for.
  uint8_t device_done;  ///< Device records are over; what they unlock is known.
  uint8_t class_;       ///< Class of the record before.
  uint8_t number;
  uint8_t name_size;
  uint8_t name[PFC_NAME_MAX];
  uint32_t records;         ///< So far, all classes.
  uint32_t device_records;  ///< So far.
  uint32_t records_before;  ///< Records of the baseline that this fold repeats.
  uint32_t seen;            ///< One bit for each asked-for source.
  struct pfc_config config;
  struct pfc_mac integrity;
  struct pfc_hash device_set;
  struct pfc_mac record_beginning;  ///< Beginning of the transcripts of records in leaves of the present key.
  uint8_t device_key[PFC_KEY_BYTES];
  uint8_t device_digest[PFC_DIGEST_BYTES];
  uint8_t leaf_check[PFC_CONFIG_LEAF_BYTES];
  uint8_t leaves[PFC_CONFIG_LEAVES_MAX][PFC_CONFIG_LEAF_BYTES];
};

/// Begins a measurement under an encoded configuration. A key other than the configuration's is not an error here: IM
/// then simply differs, and DM does not. `flags`: 0 or PFC_MEASURE_LEAVES. Fails as `pfc_config_decode` does.
PFC_MUST_USE int pfc_measurement_init(struct pfc_measurement *fold, const uint8_t *config, size_t size,
                                      const struct pfc_key *key, unsigned flags);

/// Adds one record. `digest` is PFC_DIGEST_BYTES long, or NULL for a source that could not be read: "absent" is an
/// observation of its own. PFC_E_ORDER, PFC_E_SOURCE or PFC_E_ARGUMENT kill the fold.
PFC_MUST_USE int pfc_measurement_update(struct pfc_measurement *fold, uint8_t class_, uint8_t number,
                                        const uint8_t *name, size_t name_size, const uint8_t *digest);

/// Ends the fold and wipes it. PFC_E_SOURCE if an asked-for source had no record at all: nothing is skipped in
/// silence; PFC_E_ARGUMENT for a fold of leaves. On failure `*measured` is all zeros.
PFC_MUST_USE int pfc_measurement_final(struct pfc_measured *measured, struct pfc_measurement *fold);

/// Changes since the baseline, group by group.
struct pfc_difference {
  /// One bit for each leaf, least significant first: set if the group's records are not the baseline's.
  uint8_t groups[PFC_CONFIG_LEAVES_MAX / 8];
  /// 1 if device groups can be compared: the key is the one the configuration was made for.
  uint8_t device_comparable;
  /// 1 if app and environment groups can be compared: the device is the one the configuration was made on.
  uint8_t app_comparable;
};

/// Like `_final`, but tells what differs. For a fold begun with PFC_MEASURE_LEAVES. Groups that cannot be compared
/// have their bit clear.
PFC_MUST_USE int pfc_measurement_compare(struct pfc_difference *difference, struct pfc_measurement *fold);

/// The baseline, on the service's side: begins from a draft whose `salt`, `sources`, `policy`, `limit_log2` and
/// `generation` are set. The core sets `mode`, `key_id`, `leaf_count`. Then `_update` as above, then `_baseline_final`.
PFC_MUST_USE int pfc_measurement_baseline_init(struct pfc_measurement *fold, const struct pfc_config *draft,
                                               const struct pfc_key *key);

/// Ends a baseline: the complete configuration, ready for `pfc_config_encode`. IM and DM then come from an ordinary
/// measurement under the encoded bytes. Wipes the fold. On failure `*config` is all zeros.
PFC_MUST_USE int pfc_measurement_baseline_final(struct pfc_config *config, struct pfc_measurement *fold);

/// Ends a baseline too, writes the encoded configuration, and goes on as the measurement under it: the same records
/// again, in the same order, then `_final`. So a service, or an app that attests, spares the second computation of all
/// that follows from the device class and from the leaves. Records are not compared with those of the first time: IM
/// covers what comes now, DM and the leaves what came then. `_final` fails with PFC_E_ORDER if their numbers differ.
/// `key` is the baseline's. PFC_E_SPACE if the configuration does not fit, PFC_E_SOURCE as `_final`; both kill the
/// fold.
PFC_MUST_USE int pfc_measurement_baseline_repeat(uint8_t *config, size_t capacity, size_t *size,
                                                 struct pfc_measurement *fold, const struct pfc_key *key);

/// Gives a fold up.
void pfc_measurement_wipe(struct pfc_measurement *fold);

#ifdef __cplusplus
}
#endif

#endif
