// SPDX-License-Identifier: Apache-2.0

/// The verifier's entries in the log. Each does nothing where the hardware keeps no log.

#ifndef PFC_VERIFIER_LOG_H
#define PFC_VERIFIER_LOG_H

#include "order.h"
#include "token.h"
#include "verifier.h"

#if PFC_KEEPS_LOG

/// Writes the entry of a command whose device proof is right. PFC_OK, also where there is no log: carry it out then.
PFC_MUST_USE int pfc_log_command(struct pfc_verifier *verifier, const struct pfc_command *command, uint8_t verdict);
/// The same of a token that is about to take a slot.
PFC_MUST_USE int pfc_log_token(struct pfc_verifier *verifier, const struct pfc_token *token);
/// The same of an order that is about to change something.
PFC_MUST_USE int pfc_log_order(struct pfc_verifier *verifier, const struct pfc_order *order);

/// The same of a grant that is about to be taken, of or from the instance of this slot.
PFC_MUST_USE int pfc_log_grant(struct pfc_verifier *verifier, const struct pfc_slot *member, int takes_back);

/// The event of the entry written last did not happen.
void pfc_log_withdraw(struct pfc_verifier *verifier);

/// The number of the next entry; 0 where there is no log.
uint64_t pfc_log_next(const struct pfc_verifier *verifier);
/// Counts a refusal, unless entries were written since the next one had this number.
void pfc_log_answered(struct pfc_verifier *verifier, uint64_t next, uint8_t verdict);

#else

static inline int pfc_log_command(struct pfc_verifier *verifier, const struct pfc_command *command, uint8_t verdict) {
  (void)verifier, (void)command, (void)verdict;
  return PFC_OK;
}

static inline int pfc_log_token(struct pfc_verifier *verifier, const struct pfc_token *token) {
  (void)verifier, (void)token;
  return PFC_OK;
}

static inline int pfc_log_order(struct pfc_verifier *verifier, const struct pfc_order *order) {
  (void)verifier, (void)order;
  return PFC_OK;
}

static inline int pfc_log_grant(struct pfc_verifier *verifier, const struct pfc_slot *member, int takes_back) {
  (void)verifier, (void)member, (void)takes_back;
  return PFC_OK;
}

static inline void pfc_log_withdraw(struct pfc_verifier *verifier) { (void)verifier; }

static inline uint64_t pfc_log_next(const struct pfc_verifier *verifier) {
  (void)verifier;
  return 0;
}

static inline void pfc_log_answered(struct pfc_verifier *verifier, uint64_t next, uint8_t verdict) {
  (void)verifier, (void)next, (void)verdict;
}

#endif

#endif
