// SPDX-License-Identifier: Apache-2.0

/// A channel (docs/SPEC.md, section 20): further commands of one link, each with one message up and one down.
///
/// A sealed command that was accepted opens it, if the token permits it. The answer tells the counter of the next
/// command. Each command and its answer are sealed under keys of their own, which come from the channel's key, `chain`:
///
///     up    = KDF("pfc2.chan-up....", chain, u64(counter))     the box of the command
///     down  = KDF("pfc2.chan-back..", chain, u64(counter))     the box of the answer
///     nonce = KDF("pfc2.chan-nonce.", chain, the whole SEALED-UP)[0..16)     for a recall
///     chain = KDF("pfc2.chan-next..", chain, u64(counter))     from the next command on
///
/// A key serves once and cannot be computed from a later one: an attacker who opens the hardware while a channel stands
/// reads none of its earlier commands. The answer is a SEALED-DOWN (sealed.h).

#ifndef PFC_CHANNEL_H
#define PFC_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "message.h"
#include "result.h"
#include "sealed.h"
#include "wire.h"

#if PFC_CHANNEL

#ifdef __cplusplus
extern "C" {
#endif

/// App side: seals a command. `counter` is what the hardware's last answer told as the next, never used twice, and
/// `chain` the key that came with it. PFC_E_SPACE if `capacity` is too small; PFC_E_ARGUMENT if a field is out of
/// range. Fills all of `*sent` but `step`, which is zeros; its `chain` is the key for the command after this one, and
/// must not be `chain` itself. On failure `*size` is 0 and `*sent` is all zeros.
PFC_MUST_USE int pfc_channel_up_create(uint8_t *message, size_t capacity, size_t *size, struct pfc_sealed_sent *sent,
                                       const uint8_t chain[PFC_CHANNEL_KEY_BYTES], uint64_t counter,
                                       uint8_t command_class, const uint8_t *command, size_t command_size);

/// Hardware side: opens a message. Fills class, counter and command, which leads into `plain`, and `nonce`; kind and
/// instance are the channel's. PFC_E_RECIPIENT if the box was made under another key or was altered; PFC_E_MALFORMED if
/// its length or its class is none. On failure all outputs are zeros.
PFC_MUST_USE int pfc_channel_up_open(struct pfc_command *command, uint8_t plain[PFC_SEALED_PLAIN_MAX],
                                     uint8_t nonce[PFC_NONCE_BYTES], const uint8_t *message, size_t size,
                                     const uint8_t chain[PFC_CHANNEL_KEY_BYTES]);

/// Hardware side: the keys that follow the command of this counter. Secret. `next` may be `chain`.
void pfc_channel_follow(uint8_t down[32], uint8_t next[PFC_CHANNEL_KEY_BYTES],
                        const uint8_t chain[PFC_CHANNEL_KEY_BYTES], uint64_t counter);

#ifdef __cplusplus
}
#endif

#endif

#endif
