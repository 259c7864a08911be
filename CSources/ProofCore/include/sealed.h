// SPDX-License-Identifier: Apache-2.0

/// Sealed commands (docs/SPEC.md, section 18): an eavesdropper reads neither the command nor which instance sent it.
///
/// The hardware's challenge carries an X25519 key, E_lock. The app adds one of its own, E_app. Both ends mix the
/// shared secret with the device proof key, so that who lacks one of the two reads nothing: neither a peer in the
/// middle, who has no device proof key, nor a thief of the device proof key who recorded earlier commands.
///
///     hint   = HMAC(KDF("pfc2.hint-key...", DPK_hw, ""), challenge || counter || kind || E_lock || E_app)[0..8)
///     head   = kind || hint || counter || E_app
///     H      = SHA-256("pfc2.channel-id." || hardware id || instance id || token digest || challenge || head ||
///                      E_lock)
///     shared = X25519(e_app, E_lock) = X25519(e_lock, E_app)
///     first  = KDF("pfc2.chan-first.", shared || DPK_hw, H)
///     T      = SHA-256("pfc2.transcript." || H || the whole sealed COMMAND)
///     down   = KDF("pfc2.chan-down..", shared || DPK_hw, T)
///     step   = KDF("pfc2.chan-step..", shared || DPK_hw, T)[0..16)
///     chain  = KDF("pfc2.chan-key...", shared || DPK_hw, T), the first key of the channel that it may open (channel.h)
///     nonce  = that of proof.h, under the label "pfc2.nonce......" and with H at its end
///
/// The hint is checked before any public-key work: a stranger cannot make the hardware multiply.

#ifndef PFC_SEALED_H
#define PFC_SEALED_H

#include <stddef.h>
#include <stdint.h>

#include "key.h"
#include "message.h"
#include "result.h"
#include "wire.h"

#if PFC_SEALS_COMMANDS

#ifdef __cplusplus
extern "C" {
#endif

/// Facts that both ends know before a command is sealed. Everything is borrowed; `device_key` is secret.
struct pfc_seal_facts {
  const uint8_t *hardware_id;   ///< PFC_ID_BYTES
  const uint8_t *instance_id;   ///< PFC_ID_BYTES
  const uint8_t *token_digest;  ///< PFC_TOKEN_DIGEST_BYTES, of the token whose secrets the proofs use
  const uint8_t *device_key;    ///< PFC_KEY_BYTES: DPK_hw
  const uint8_t *lock_key;      ///< PFC_PUBLIC_KEY_BYTES: E_lock
  const struct pfc_challenge *challenge;
};

// CHALLENGE with a key ------------------------------------------------------------------------------------------

/// Hardware side.
void pfc_sealed_challenge_encode(uint8_t message[PFC_SEALED_CHALLENGE_BYTES], const struct pfc_challenge *challenge,
                                 const uint8_t lock_key[PFC_PUBLIC_KEY_BYTES]);
/// App side. PFC_E_MALFORMED for any other size. On failure both outputs are all zeros.
PFC_MUST_USE int pfc_sealed_challenge_decode(struct pfc_challenge *challenge, uint8_t lock_key[PFC_PUBLIC_KEY_BYTES],
                                             const uint8_t *message, size_t size);

// COMMAND --------------------------------------------------------------------------------------------------------

/// Kept by the app until a sealed command is answered. Secret.
struct pfc_sealed_sent {
  uint8_t nonce[PFC_NONCE_BYTES];  ///< For a recall, as with a command in the clear
  uint8_t step[PFC_NONCE_BYTES];   ///< Takes the nonce's place where the ratchet moves (ratchet.h)
  uint8_t down[32];                ///< Opens the answer
#if PFC_CHANNEL
  uint8_t chain[PFC_CHANNEL_KEY_BYTES];  ///< The channel's key, if the answer opens one (channel.h)
#endif
};

/// App side: makes the proofs and seals. `request->kind` is 5 or 6; `request->ratchet` is NULL where the app's token
/// has no ratchet, and `request->known` is then 0. `facts` names the same challenge, hardware and instance as
/// `request`; its device key is that of `secrets`. `ephemeral` is 32 fresh random bytes for each call. PFC_E_SPACE if
/// `capacity` is too small; PFC_E_ARGUMENT if a field is out of range or E_lock is a low-order point. On failure
/// `*size` is 0 and `*sent` is all zeros.
PFC_MUST_USE int pfc_sealed_create(uint8_t *message, size_t capacity, size_t *size, struct pfc_sealed_sent *sent,
                                   const struct pfc_request *request, const struct pfc_seal_facts *facts,
                                   const struct pfc_secrets *secrets,
                                   const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]);

/// The same in three steps, for an app that looks at its surroundings after each proof. The first writes everything but
/// the device proof and seals nothing: the message is secret until the last step. An integrity proof is then at
/// PFC_SEALED_INTEGRITY_PROOF. `shared` is secret. Answers as `pfc_sealed_create`; on failure `*size` is 0, `nonce` and
/// `shared` are zeros.
PFC_MUST_USE int pfc_sealed_begin(uint8_t *message, size_t capacity, size_t *size, uint8_t nonce[PFC_NONCE_BYTES],
                                  uint8_t shared[32], const struct pfc_request *request,
                                  const struct pfc_seal_facts *facts, const struct pfc_secrets *secrets,
                                  const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]);
/// The second step: makes the device proof, which binds the integrity proof as it now is in the message.
void pfc_sealed_end(uint8_t *message, const uint8_t nonce[PFC_NONCE_BYTES], const struct pfc_secrets *secrets);
/// The last step: seals the message in its place, fills `*sent`, and wipes `shared`.
void pfc_sealed_close(uint8_t *message, size_t size, struct pfc_sealed_sent *sent,
                      const uint8_t nonce[PFC_NONCE_BYTES], uint8_t shared[32],
                      const struct pfc_seal_facts *facts);
/// Where a begun message has its device proof.
uint8_t *pfc_sealed_device_proof(uint8_t *message);

/// A sealed COMMAND, parsed. Pointers lead into the message.
struct pfc_sealed {
  uint8_t kind;
  const uint8_t *hint;
  uint64_t counter;
  const uint8_t *app_key;  ///< E_app
};

/// Hardware side: the shape alone, nothing is checked. PFC_E_TOO_NEW if the kind is no sealed one, PFC_E_MALFORMED if
/// the length is none of a sealed command.
PFC_MUST_USE int pfc_sealed_decode(struct pfc_sealed *sealed, const uint8_t *message, size_t size);

/// The hint of a sealed command with this kind and E_app.
void pfc_seal_hint(uint8_t hint[PFC_SEAL_HINT_BYTES], const uint8_t device_key[PFC_KEY_BYTES],
                   const struct pfc_challenge *challenge, uint8_t kind, const uint8_t lock_key[PFC_PUBLIC_KEY_BYTES],
                   const uint8_t app_key[PFC_PUBLIC_KEY_BYTES]);

/// Hardware side: opens a message that `pfc_sealed_decode` took, with the X25519 result of both keys. `*command` leads
/// into `plain`, and its instance into `facts`. `*nonce` is what the proofs answer. No proof is checked.
/// PFC_E_RECIPIENT if the box was made under another key or was altered; PFC_E_MALFORMED if what it holds is no
/// command. On failure all outputs are zeros.
PFC_MUST_USE int pfc_sealed_open(struct pfc_command *command, uint8_t plain[PFC_SEALED_PLAIN_MAX],
                                 uint8_t nonce[PFC_NONCE_BYTES], const struct pfc_seal_facts *facts,
                                 const uint8_t shared[32], const uint8_t *message, size_t size);

/// Hardware side: the keys that follow a command which was opened. Secret.
void pfc_sealed_follow(uint8_t step[PFC_NONCE_BYTES], uint8_t down[32], const struct pfc_seal_facts *facts,
                       const uint8_t shared[32], const uint8_t *message, size_t size);

#if PFC_CHANNEL
/// Hardware side: the key of the channel that a command opens which was opened and accepted. Secret.
void pfc_sealed_chain(uint8_t chain[PFC_CHANNEL_KEY_BYTES], const struct pfc_seal_facts *facts,
                      const uint8_t shared[32], const uint8_t *message, size_t size);
#endif

// SEALED-DOWN ----------------------------------------------------------------------------------------------------

/// Hardware side: the one answer to an opened command, under a key that serves once. `next` is the counter of the
/// channel's next command, or 0: no channel is open.
void pfc_sealed_down_create(uint8_t message[PFC_SEALED_DOWN_BYTES], const struct pfc_answer *answer, uint64_t next,
                            const uint8_t down[32]);

/// App side: authentic when it opens; there is no receipt. PFC_E_MALFORMED if it has another size or an unknown
/// verdict, PFC_E_DIFFERS if it was made under another key, was altered, or answers another counter than `counter`.
/// On failure `*answer` is all zeros.
PFC_MUST_USE int pfc_sealed_down_open(struct pfc_answer *answer, uint64_t *next, const uint8_t *message, size_t size,
                                      uint64_t counter, const uint8_t down[32]);

#ifdef __cplusplus
}
#endif

#endif

#endif
