// SPDX-License-Identifier: Apache-2.0

/// The ratchet: a secret that app and hardware step together, once for each accepted command, so that a copy of the
/// app's storage is noticed at the first command that one of the two sends after the other.
///
///     R_0    = KDF("pfc2.ratchet-0..", DPK_hw || DM_hw, token digest)[0..16)
///     tag    = HMAC(KDF("pfc2.ratchet-tag", R, ""), nonce)[0..8)
///     R_next = KDF("pfc2.ratchet-up.", R, nonce)[0..16)
///     R_fork = KDF("pfc2.ratchet-fk.", DPK_hw || DM_hw, nonce)[0..16)
///
/// R_next follows a command that was in step. R_fork follows one that was not, where the policy reports copies: the
/// sender goes on in step, and the other holder of the secrets is out of step from then on.

#ifndef PFC_RATCHET_H
#define PFC_RATCHET_H

#include <stdint.h>

#include "key.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bits 0 and 1 of a token's policy. 3 is reserved.
enum pfc_ratchet_policy {
  PFC_RATCHET_NONE = 0,    ///< No ratchet: commands have the kinds 1 and 2.
  PFC_RATCHET_REPORT = 1,  ///< A command out of step is accepted, and the verdict tells of the copy.
  PFC_RATCHET_REFUSE = 2   ///< So is one of a class that a device match permits. Any other class is refused.
};

/// Details of *not permitted* where a command has the kind of the other sort of slot. The receipt covers them: an app
/// learns its token's policy from them.
enum pfc_ratchet_detail {
  PFC_DETAIL_RATCHET_REPORT = 6,  ///< The slot has a ratchet, and reports copies: send kind 3 or 4.
  PFC_DETAIL_RATCHET_REFUSE = 7,  ///< The slot has a ratchet, and refuses copies: send kind 3 or 4.
  PFC_DETAIL_RATCHET_NONE = 8     ///< The slot has no ratchet: send kind 1 or 2.
};

/// The ratchet that a token begins with.
void pfc_ratchet_begin(uint8_t ratchet[PFC_RATCHET_BYTES], const struct pfc_secrets *secrets,
                       const uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES]);

/// The tag of one command.
void pfc_ratchet_tag(uint8_t tag[PFC_RATCHET_TAG_BYTES], const uint8_t ratchet[PFC_RATCHET_BYTES],
                     const uint8_t nonce[PFC_NONCE_BYTES]);

/// The ratchet after a command in step. `next` may be `ratchet`.
void pfc_ratchet_next(uint8_t next[PFC_RATCHET_BYTES], const uint8_t ratchet[PFC_RATCHET_BYTES],
                      const uint8_t nonce[PFC_NONCE_BYTES]);

/// The ratchet after a command out of step, under PFC_RATCHET_REPORT.
void pfc_ratchet_fork(uint8_t fork[PFC_RATCHET_BYTES], const struct pfc_secrets *secrets,
                      const uint8_t nonce[PFC_NONCE_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
