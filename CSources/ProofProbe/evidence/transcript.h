// SPDX-License-Identifier: Apache-2.0

/// The digest of one observation: BLAKE2b-256 over labelled, length-prefixed parts.

#ifndef PFP_TRANSCRIPT_H
#define PFP_TRANSCRIPT_H

#include <sodium/crypto_generichash_blake2b.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

/// Labels of this probe, 16 ASCII characters each: BLAKE2b's personalisation. One use, one label.
#define PFP_LABEL_FACT "pfp1.fact......."    ///< A short fact read from the system
#define PFP_LABEL_CODE "pfp1.code......."    ///< One object's code
#define PFP_LABEL_LINKS "pfp2.links......"   ///< One object's relocated words
#define PFP_LABEL_FINDING "pfp1.finding...."  ///< Findings of one kind
#define PFP_LABEL_SHARD "pfp1.shard......"   ///< One shard of the bundle
#define PFP_LABEL_VARIABLES "pfp1.variables.."  ///< Variables of interpreters and libraries
#define PFP_LABEL_SIGHT "pfp1.sight......"   ///< One look at what can watch the process, inside one process only
#define PFP_LABEL_RELEASE "pfp1.release...."  ///< Mask of a proof between its last MAC and the second look
#define PFP_LABEL_FOLDER "pfp1.folder....."  ///< A further folder of the app
#define PFP_LABEL_RAW "pfp1.raw........"     ///< Compared inside one process only, never part of evidence

struct pfp_transcript {
  crypto_generichash_blake2b_state state;
};

void pfp_transcript_init(struct pfp_transcript *transcript, const char label[17]);
/// Bytes as they are, without a length.
void pfp_transcript_raw(struct pfp_transcript *transcript, const void *bytes, size_t size);
/// Length as u32, then the bytes.
void pfp_transcript_add(struct pfp_transcript *transcript, const void *bytes, size_t size);
void pfp_transcript_text(struct pfp_transcript *transcript, const char *text);
void pfp_transcript_number(struct pfp_transcript *transcript, uint64_t number);
void pfp_transcript_final(uint8_t digest[PFC_DIGEST_BYTES], struct pfp_transcript *transcript);

/// A whole transcript of one part.
void pfp_fact(uint8_t digest[PFC_DIGEST_BYTES], const void *bytes, size_t size);

#endif
