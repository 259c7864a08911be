// SPDX-License-Identifier: Apache-2.0

/// One function for each kind of message, called by verifier.c: tokens and orders in verifier_admission.c, commands and
/// recalls in verifier_judgement.c, commands of a channel in verifier_channel_up.c, grants in verifier_grant.c.

#ifndef PFC_VERIFIER_RECEIVE_H
#define PFC_VERIFIER_RECEIVE_H

#include "verifier.h"
#include "verifier_sealed.h"

#if PFC_SEALS_COMMANDS
#define PFC_SEAL_PARAMETER , const struct pfc_seal *seal
#else
#define PFC_SEAL_PARAMETER
#endif

/// Judges a command that was met, twice, and answers it by VERDICT. `judged` is the slot `index` or the link's
/// candidate for it. `seal` is NULL for a command in the clear.
void pfc_answer_met(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                    const struct pfc_command *command, int index, const struct pfc_slot *judged,
                    const uint8_t nonce[PFC_NONCE_BYTES], struct pfc_outcome *outcome PFC_SEAL_PARAMETER);

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
#if PFC_CHANNEL
void pfc_receive_channel(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                         size_t size, struct pfc_outcome *outcome);
#endif
#if PFC_GRANTS
void pfc_receive_grant(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                       struct pfc_outcome *outcome);
#endif
void pfc_receive_recall(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                        size_t size, struct pfc_outcome *outcome);

#endif
