// SPDX-License-Identifier: Apache-2.0

/// Grants: an owner lends command classes to another instance of the same hardware, without a network (docs/SPEC.md,
/// section 19).
///
/// The owner's app makes a grant from its fresh integrity and device measurements and its token. The member is an
/// instance that holds a slot by a token of its own: the grant names that token. Any courier brings the 96 bytes to the
/// hardware. From then on the member's integrity commands of these classes are accepted, as long as the owner could
/// still send them. A grant with no classes takes back what stands.
///
///     key = KDF("pfc2.grant-key..", K_hw || IM_hw || DPK_hw || DM_hw, owner's token digest)
///     tag = HMAC-SHA-256(key, the 64 bytes before)

#ifndef PFC_GRANT_H
#define PFC_GRANT_H

#include <stddef.h>
#include <stdint.h>

#include "hardware.h"
#include "key.h"
#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A GRANT, without its tag.
struct pfc_grant {
  uint8_t hardware_id[PFC_ID_BYTES];  ///< The message carries the first four bytes. `pfc_grant_decode` fills in its own
  uint8_t owner[PFC_ID_BYTES];        ///< Instance id of the app that makes the grant
  uint8_t member[PFC_TOKEN_DIGEST_BYTES];  ///< Digest of the token that the member holds
  uint32_t generation;                     ///< The owner's; not 0
  uint32_t serial;   ///< Not 0. Higher than that of each earlier grant of this owner to this member
  uint16_t classes;  ///< Command classes lent, one bit each. 0 takes back what stands
  uint16_t uses;     ///< Commands lent: 1 to PFC_GRANT_USES_MAX; 0 where it takes back
  uint64_t end;      ///< Unix seconds, not 0. 0 where it takes back
};

/// Owner's side. `secrets` are those of the owner's token, made from fresh measurements; `token_digest` names the
/// token. PFC_E_ARGUMENT if a field is out of range; the output is then zeroed.
PFC_MUST_USE int pfc_grant_create(uint8_t bytes[PFC_GRANT_BYTES], const struct pfc_grant *grant,
                                  const struct pfc_secrets *secrets,
                                  const uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES]);

/// A grant's short name; the nonce of the receipt that answers it.
void pfc_grant_digest(uint8_t digest[PFC_NONCE_BYTES], const uint8_t bytes[PFC_GRANT_BYTES]);

/// The shape alone, no tag is checked, for a courier, who knows no hardware. `hardware_id` has four bytes, then zeros.
/// PFC_E_MALFORMED; PFC_E_TOO_NEW if version, suite or a reserved byte is unknown. On failure `*grant` is zero.
PFC_MUST_USE int pfc_grant_read(struct pfc_grant *grant, const uint8_t *bytes, size_t size);

#if PFC_GRANTS
/// Hardware side: the same, and PFC_E_RECIPIENT for other hardware.
PFC_MUST_USE int pfc_grant_decode(struct pfc_grant *grant, const uint8_t *bytes, size_t size,
                                  const uint8_t hardware_id[PFC_ID_BYTES]);

/// Detail of *too new* for such bytes.
uint16_t pfc_grant_head_detail(const uint8_t bytes[PFC_GRANT_BYTES]);

/// PFC_OK or PFC_E_DIFFERS, in constant time.
PFC_MUST_USE int pfc_grant_check(const uint8_t bytes[PFC_GRANT_BYTES], const struct pfc_secrets *secrets,
                                 const uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES]);
#endif

/// The tag that the 64 bytes before it must have.
void pfc_grant_tag(uint8_t tag[PFC_GRANT_TAG_BYTES], const uint8_t bytes[PFC_GRANT_BYTES],
                   const struct pfc_secrets *secrets, const uint8_t token_digest[PFC_TOKEN_DIGEST_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
