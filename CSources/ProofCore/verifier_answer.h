// SPDX-License-Identifier: Apache-2.0

/// The verifier's replies.

#ifndef PFC_VERIFIER_ANSWER_H
#define PFC_VERIFIER_ANSWER_H

#include "verifier.h"

/// An answer without a receipt: a hint that anyone could have made.
void pfc_answer_plain(struct pfc_outcome *outcome, uint8_t verdict, uint16_t detail, uint64_t counter);

/// An answer that only this hardware can have made, for this nonce.
void pfc_answer_signed(struct pfc_outcome *outcome, const struct pfc_slot *slot,
                       const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict, uint16_t detail, uint64_t counter);

/// Takes an acceptance back that is told in the reply and was not decided, or the reverse. Comes last.
void pfc_answer_confirm(struct pfc_outcome *outcome, uint64_t counter);

/// Whether the verdict is one of those that have a command done.
int pfc_verdict_accepts(uint8_t verdict);

/// The verdict that tells a core's result.
uint8_t pfc_verdict_of(int result);

/// The detail that goes with a verdict of its own: seconds to wait, the number of slots, or a failed write.
uint16_t pfc_verdict_detail(uint8_t verdict);

/// Uses left, as a verdict's detail.
uint16_t pfc_uses_detail(uint32_t uses);

#endif
