// SPDX-License-Identifier: Apache-2.0

/// One function for each kind of message, called by verifier.c: tokens and orders in verifier_admission.c, commands and
/// recalls in verifier_judgement.c, grants in verifier_grant.c.

#ifndef PFC_VERIFIER_RECEIVE_H
#define PFC_VERIFIER_RECEIVE_H

#include "verifier.h"

// Each fills `*outcome` completely. The message has a size its type may have.
void pfc_receive_token(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                       struct pfc_outcome *outcome);
void pfc_receive_order(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                       struct pfc_outcome *outcome);
void pfc_receive_command(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                         size_t size, struct pfc_outcome *outcome);
#if PFC_SEALS_COMMANDS
void pfc_receive_sealed(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                        size_t size, struct pfc_outcome *outcome);
#endif
#if PFC_GRANTS
void pfc_receive_grant(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                       struct pfc_outcome *outcome);
#endif
void pfc_receive_recall(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                        size_t size, struct pfc_outcome *outcome);

#endif
