// SPDX-License-Identifier: Apache-2.0

/// The verifier's side of channels: when one opens, goes on and ends.

#ifndef PFC_VERIFIER_CHANNEL_H
#define PFC_VERIFIER_CHANNEL_H

#include "channel.h"
#include "verifier.h"

#if PFC_CHANNEL

/// Wipes the link's channel.
void pfc_channel_end(struct pfc_session *session);

/// The verdict that accepts in a channel which a command of this kind opened.
uint8_t pfc_channel_verdict(uint8_t kind);

/// Opens a channel behind a sealed command that was judged and is to be executed, if hardware and token permit it and
/// the command told no copy. `chain` is its first key. The counter of its next command, or 0 if none was opened.
PFC_APART uint64_t pfc_channel_open(struct pfc_verifier *verifier, struct pfc_session *session, int index,
                                    const struct pfc_outcome *outcome, const uint8_t chain[PFC_CHANNEL_KEY_BYTES]);

/// Puts a channel into its link, to wait under the key `chain` for the command after the one of the counter `before`,
/// which was accepted. The counter of that command, or 0 if the channel ends.
uint64_t pfc_channel_wait(struct pfc_verifier *verifier, struct pfc_session *session,
                          const struct pfc_channel *channel, const uint8_t chain[PFC_CHANNEL_KEY_BYTES],
                          uint64_t before);

/// Checksum of a channel's key, 0 if it is all zeros.
uint32_t pfc_channel_sum(const struct pfc_channel *channel);

/// Seconds that a channel of this hardware lives, where there is a clock.
uint32_t pfc_channel_seconds(const struct pfc_verifier *verifier);

#endif

#endif
