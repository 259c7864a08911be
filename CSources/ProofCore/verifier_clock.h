// SPDX-License-Identifier: Apache-2.0

/// The verifier's time: the platform's seconds, the epoch that runs on with them, the floor.

#ifndef PFC_VERIFIER_CLOCK_H
#define PFC_VERIFIER_CLOCK_H

#include "verifier.h"

/// The platform's seconds, or 0 where there is no clock.
uint32_t pfc_platform_seconds(const struct pfc_platform *platform);

/// The latest time that the hardware knows of: the epoch or the floor. 0 if it knows none.
uint64_t pfc_verifier_time(const struct pfc_verifier *verifier);

/// The result of a second check (verifier_review.h) that passed.
#define PFC_REVIEW_PASSED 0xa53c6599u
/// The same for an upcoming token whose instance has a held slot: it may become a candidate, and not take the slot.
#define PFC_REVIEW_READY 0x5a93ca66u

/// Raises epoch and floor, durably, if `*review` is PFC_REVIEW_PASSED: times of a token or an order count only after
/// the second review. A jump to this function by a fault brings no passed review. `*changed` is set to 1 if anything
/// stored rose.
PFC_MUST_USE int pfc_verifier_raise(struct pfc_verifier *verifier, const volatile uint32_t *review, uint64_t epoch,
                                    uint64_t floor, int *changed);

#if PFC_OPENS_TOKENS
/// Days begun since an end that has passed, as *expired* tells them.
uint16_t pfc_days_past(uint64_t now, uint64_t end);
#endif

#endif
