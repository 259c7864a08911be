// SPDX-License-Identifier: Apache-2.0

/// The verifier's side of sealed commands: the life of E_lock, who sent a hint, the opening of a box.

#ifndef PFC_VERIFIER_SEALED_H
#define PFC_VERIFIER_SEALED_H

#include "sealed.h"
#include "verifier.h"

#if PFC_SEALS_COMMANDS

/// A sealed command that was opened, for the second look and the answer. Secret.
struct pfc_seal {
  struct pfc_seal_facts facts;
  uint8_t *plain;       ///< The verifier's room for what was in the box
  uint8_t shared[32];   ///< The result of X25519
  uint8_t step[PFC_NONCE_BYTES];
  uint8_t down[32];
#if PFC_CHANNEL
  uint8_t chain[PFC_CHANNEL_KEY_BYTES];  ///< The key of the channel that the command may open, or that goes on
  const struct pfc_channel *channel;     ///< The channel that the command belongs to; NULL: it has its own proofs
#endif
};

/// 1 if E_lock is there, is the one that came with the session's challenge, and is not too old.
PFC_MUST_USE int pfc_seal_is_live(const struct pfc_verifier *verifier, const struct pfc_session *session);

/// 1 if E_lock is there and not too old. Wipes it where it is too old.
PFC_MUST_USE int pfc_seal_is_ready(struct pfc_verifier *verifier);

/// The held slot whose hint the command has, or -1. Computes the hint of every slot, in constant time.
PFC_APART PFC_MUST_USE int pfc_seal_find(const struct pfc_verifier *verifier, const struct pfc_session *session,
                                         const struct pfc_sealed *sealed);

/// The slot of the link's candidate, if the command has the candidate's hint and may be judged under it, or -1.
/// Computes the hint, whether there is a candidate or not.
PFC_APART PFC_MUST_USE int pfc_seal_find_candidate(const struct pfc_verifier *verifier,
                                                   const struct pfc_session *session,
                                                   const struct pfc_sealed *sealed);

/// Opens the command under the secrets of `judged`, and wipes e_lock. The caller has found the right hint. Fills all
/// of `*seal`, `*command` and `*nonce`, or answers as `pfc_sealed_open`, also where X25519 gives zeros.
PFC_APART PFC_MUST_USE int pfc_seal_open(struct pfc_verifier *verifier, const struct pfc_session *session, int index,
                                         const struct pfc_slot *judged, const uint8_t *message, size_t size,
                                         struct pfc_seal *seal, struct pfc_command *command,
                                         uint8_t nonce[PFC_NONCE_BYTES]);

/// Seals the VERDICT that stands in the outcome's reply: it becomes a SEALED-DOWN. `next` is the counter of the
/// channel's next command, or 0.
void pfc_seal_answer(struct pfc_outcome *outcome, uint64_t next, const uint8_t down[32]);

#endif

#endif
