// SPDX-License-Identifier: Apache-2.0

/// The verifier's side of grants: what a slot is lent now, who pays for it.

#ifndef PFC_VERIFIER_GRANT_H
#define PFC_VERIFIER_GRANT_H

#include "verifier.h"

#if PFC_GRANTS

/// The command classes that the instance of slot `index` is lent now: those that its owner could send, too.
uint16_t pfc_grant_lent(const struct pfc_verifier *verifier, int index);

/// Detail of *not permitted* to a command of a class that its own token does not permit. 0 if it was never lent.
uint16_t pfc_grant_detail(const struct pfc_verifier *verifier, int index, uint8_t command_class);

/// Charges one lent command: first the owner's slot, then the row. PFC_OK when both are durable. A cut or a failure
/// between costs a use and does nothing.
PFC_APART PFC_MUST_USE int pfc_grant_charge(struct pfc_verifier *verifier, int index);

/// Before slot `index` holds a token: forgets what was lent and by whom, unless the token follows one that it holds.
PFC_MUST_USE int pfc_grant_clear(struct pfc_verifier *verifier, int index);

#else

static inline uint16_t pfc_grant_lent(const struct pfc_verifier *verifier, int index) {
  (void)verifier, (void)index;
  return 0;
}

static inline uint16_t pfc_grant_detail(const struct pfc_verifier *verifier, int index, uint8_t command_class) {
  (void)verifier, (void)index, (void)command_class;
  return 0;
}

static inline int pfc_grant_charge(struct pfc_verifier *verifier, int index) {
  (void)verifier, (void)index;
  return PFC_OK;
}

static inline int pfc_grant_clear(struct pfc_verifier *verifier, int index) {
  (void)verifier, (void)index;
  return PFC_OK;
}

#endif

#endif
