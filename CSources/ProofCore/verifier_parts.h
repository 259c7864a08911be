/// Shared by the verifier's sources: verifier.c (life and dispatch), verifier_admission.c (tokens, orders),
/// verifier_judgement.c (commands, recalls), verifier_review.c (second check of what was admitted), verifier_answer.c
/// (replies).

#ifndef PFC_VERIFIER_PARTS_H
#define PFC_VERIFIER_PARTS_H

#include "order.h"
#include "verifier.h"

/// The platform's seconds, or 0 where there is no clock.
uint32_t pfc_platform_seconds(const struct pfc_platform *platform);

/// The latest time that the hardware knows of: the epoch or the floor. 0 if it knows none.
uint64_t pfc_verifier_time(const struct pfc_verifier *verifier);

/// Raises epoch and floor, durably, if `*review` is PFC_REVIEW_PASSED: times of a token or an order count only after
/// the second review. A jump to this function by a fault brings no passed review. `*changed` is set to 1 if anything
/// stored rose.
PFC_MUST_USE int pfc_verifier_raise(struct pfc_verifier *verifier, const volatile uint32_t *review, uint64_t epoch,
                                    uint64_t floor, int *changed);

/// An answer without a receipt: a hint that anyone could have made.
void pfc_answer_plain(struct pfc_outcome *outcome, uint8_t verdict, uint16_t detail, uint64_t counter);

/// An answer that only this hardware can have made, for this nonce.
void pfc_answer_signed(struct pfc_outcome *outcome, const struct pfc_slot *slot,
                       const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict, uint16_t detail, uint64_t counter);

/// Takes an acceptance back that is told in the reply and was not decided, or the reverse. Comes last.
void pfc_answer_confirm(struct pfc_outcome *outcome, uint64_t counter);

/// Whether the verdict is one of the two that have a command done.
int pfc_verdict_accepts(uint8_t verdict);

#define PFC_REVIEW_PASSED 0xa53c6599u

// Apart: what the first look has found must not be carried into the second by the compiler.

/// Judges a command that is about to be accepted a second time, while its challenge still stands in the session.
/// PFC_REVIEW_PASSED, or any other value.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_command(const struct pfc_verifier *verifier, const struct pfc_session *session,
                            int index, const uint8_t *message, size_t size);

/// The same for a token that is about to take the slot `index`: opens it once more. `token` is what the first opening
/// gave.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_token(const struct pfc_verifier *verifier, int index, const uint8_t *message,
                          size_t size, const struct pfc_token *token);

/// The same for an order that is about to be obeyed: opens it once more.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_order(const struct pfc_verifier *verifier, const uint8_t *message, size_t size,
                          const struct pfc_order *order);

/// The same for a recall that is about to be answered for the slot `index`.
PFC_APART PFC_MUST_USE
uint32_t pfc_review_recall(const struct pfc_verifier *verifier, int index,
                           const uint8_t message[PFC_RECALL_BYTES]);

/// The verdict that tells a core's result.
uint8_t pfc_verdict_of(int result);

/// Uses left, as a verdict's detail.
uint16_t pfc_uses_detail(uint32_t uses);

// Each fills `*outcome` completely. The message has a size its type may have.
void pfc_receive_token(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                       struct pfc_outcome *outcome);
void pfc_receive_order(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                       struct pfc_outcome *outcome);
void pfc_receive_command(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                         size_t size, struct pfc_outcome *outcome);
void pfc_receive_recall(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                        size_t size, struct pfc_outcome *outcome);

#endif
