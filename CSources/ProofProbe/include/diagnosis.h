// SPDX-License-Identifier: Apache-2.0

/// Changes since the baseline, by source and name, in words and as values; found on the device, offline.
///
/// It comes from the blinded leaves of the configuration alone (docs/SPEC.md, section 5). A leaf tells that a group of
/// records differs, not what it was: so a finding names what stands in that group now. Where a record is suspicious by
/// itself, it is named alone; where several could be meant, all are named and `certain` is 0; where the group is empty
/// now, something that was there is gone. An entry of the bundle is named by the index in the storage folder
/// (`pfp_probe_index`); without one, a finding tells of how many entries one differs, and names none.
///
/// One finding names the loaded objects that are new: a group that is the baseline's without one or two of its
/// records is known to have gained them. Where that is not so, one line says "one of N" and accuses no object.
///
/// For people. An app must not decide anything by it: an attacker who controls the process can patch such a decision.
/// The verifier decides, by the measurement.

#ifndef PFP_DIAGNOSIS_H
#define PFP_DIAGNOSIS_H

#include <stddef.h>
#include <stdint.h>

#include "key.h"
#include "probe.h"
#include "probe_result.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PFP_FINDINGS_MAX 96
#define PFP_FINDING_TEXT_MAX 240

/// Kinds of finding.
enum pfp_finding_kind {
  PFP_FINDING_CHANGED = 1,     ///< A record is not the baseline's.
  PFP_FINDING_SUSPICIOUS = 2,  ///< A record is not the baseline's, and says by itself what is wrong.
  PFP_FINDING_ABSENT = 3,      ///< A record is not the baseline's: it cannot be read now.
  PFP_FINDING_GONE = 4         ///< A record of the baseline is not there any more.
};

/// One difference.
struct pfp_finding {
  uint8_t class_;   ///< enum pfc_class
  uint8_t number;   ///< As in sources.h
  uint8_t kind;     ///< enum pfp_finding_kind
  uint8_t certain;  ///< 1 if this record differs; 0 if it is one of several of which at least one differs
  char source[32];  ///< The source's name, for people
  char name[PFC_NAME_MAX + 1];      ///< The record's name; for the bundle a path; empty if gone. Terminated
  char text[PFP_FINDING_TEXT_MAX];  ///< One line: "libfoo.so.2: code differs"
};

/// All differences.
struct pfp_diagnosis {
  uint8_t device_comparable;  ///< 0: the configuration was made for another SDK build. Nothing can be told.
  uint8_t app_comparable;     ///< 0: the configuration was made on another device. Only device sources can be told.
  size_t count;
  size_t left_out;  ///< Findings beyond PFP_FINDINGS_MAX
  struct pfp_finding findings[PFP_FINDINGS_MAX];
};

/// Measures, compares with the configuration's leaves and tells. Fails as `pfp_probe_measure` does; `*diagnosis` is
/// then all zeros. No finding: nothing differs that the leaves know. (Leaves are short: one difference in 2^32 escapes
/// them, but not the measurement.)
PFP_MUST_USE int pfp_probe_diagnose(struct pfp_diagnosis *diagnosis, struct pfp_probe *probe, const uint8_t *config,
                                    size_t size, const struct pfc_key *key);

/// Keeps an index of the bundle's entries in the storage folder, 16 bytes each, so that a later diagnosis names the
/// entry that changed. Call it once when a configuration was adopted: the bundle is read. Without an index a diagnosis
/// tells of how many entries one changed. It decides nothing, and nothing is measured by it.
///
/// PFP_E_MISSING without bundle or storage, PFP_E_CHANGING if the bundle is not the configuration's, and as
/// `pfp_probe_measure` fails. The index that was there then stays.
PFP_MUST_USE int pfp_probe_index(struct pfp_probe *probe, const uint8_t *config, size_t size,
                                 const struct pfc_key *key);

#ifdef __cplusplus
}
#endif

#endif
