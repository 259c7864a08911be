// SPDX-License-Identifier: Apache-2.0

/// The second check of what was admitted.

#ifndef PFC_VERIFIER_REVIEW_H
#define PFC_VERIFIER_REVIEW_H

#include "order.h"
#include "verifier.h"
#include "verifier_clock.h"  // PFC_REVIEW_PASSED
#include "verifier_sealed.h"

// Apart: what the first look has found must not be carried into the second by the compiler.

/// Judges a command that is about to be accepted a second time, while its challenge still stands in the session.
/// `judged` is the slot `index`, or the session's candidate for it, `verdict` is what the first look gave. `seal` is
/// NULL for a command in the clear; a sealed one is opened again. PFC_REVIEW_PASSED, or any other value.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_command(const struct pfc_verifier *verifier, const struct pfc_session *session,
                            int index, const struct pfc_slot *judged, const uint8_t *message, size_t size,
#if PFC_SEALS_COMMANDS
                            uint8_t verdict, const struct pfc_seal *seal);
#else
                            uint8_t verdict);
#endif

#if PFC_CHANNEL
/// The same for a command of a channel, `seal->channel`, which stands in the link no more: opens it once more.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_channel(const struct pfc_verifier *verifier, int index, const uint8_t *message, size_t size,
                            uint8_t verdict, const struct pfc_seal *seal);
#endif

/// The same for a token that is about to take the slot `index`: opens it once more. `token` is what the first opening
/// gave. PFC_REVIEW_READY instead of PFC_REVIEW_PASSED if it may only become a candidate.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_token(const struct pfc_verifier *verifier, int index, const uint8_t *message,
                          size_t size, const struct pfc_token *token);

/// The same for an order that is about to be obeyed: opens it once more.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_order(const struct pfc_verifier *verifier, const uint8_t *message, size_t size,
                          const struct pfc_order *order);

#if PFC_GRANTS
/// The same for a grant that is about to be taken, from the slot `owner` to the slot `member`. PFC_REVIEW_READY instead
/// of PFC_REVIEW_PASSED if it was taken already.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_grant(const struct pfc_verifier *verifier, int owner, int member, const uint8_t *message,
                          size_t size);
#endif

/// The same for a recall that is about to be answered for the slot `index`.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_recall(const struct pfc_verifier *verifier, int index,
                           const uint8_t message[PFC_RECALL_BYTES]);

#endif
