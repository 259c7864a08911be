// SPDX-License-Identifier: Apache-2.0

#include "slot.h"

#include "crypto.h"
#include "internal.h"

enum {
  AT_STATE = 0,
  AT_LAST_VERDICT = 1,
  AT_INTEGRITY_CLASSES = 2,
  AT_DEVICE_CLASSES = 4,
  AT_ATTEMPTS = 6,
  AT_USES = 8,
  AT_GENERATION = 12,
  AT_REVOKED = 16,
  AT_NOT_AFTER = 20,
  AT_ISSUED = 28,
  AT_REVOKED_AT = 36,
  AT_LAST_COUNTER = 44,
  AT_INSTANCE = 52,
  AT_DIGEST = 68,
  AT_LAST_NONCE = 84,
  AT_SECRETS = 92,
  AT_LATER = 188,  // Zeros in this version: 16 bytes for a ratchet, the policy, the number of copies seen
  AT_DELEGABLE = 206,

  AT_SECRETS_1 = 100  // In version 1, which had a nonce of 16 bytes and nothing behind the secrets
};

// Two runs of bytes are stored as they stand in a slot: ids, and what is known of commands and secrets.
enum {
  NAMES = offsetof(struct pfc_slot, instance_id),
  KNOWN = offsetof(struct pfc_slot, last.nonce)
};

_Static_assert(offsetof(struct pfc_slot, token_digest) == NAMES + AT_DIGEST - AT_INSTANCE, "the first run");
_Static_assert(offsetof(struct pfc_slot, secrets) == KNOWN + AT_SECRETS - AT_LAST_NONCE, "the second run");
_Static_assert(AT_SECRETS + sizeof(struct pfc_secrets) == AT_LATER, "four secrets");
_Static_assert(PFC_TOKEN_POLICY == 0, "a policy other than 0 has a place in the slot");
_Static_assert(AT_DELEGABLE + 2 == PFC_SLOT_BYTES, "the delegable classes end a slot");
_Static_assert(AT_SECRETS_1 + sizeof(struct pfc_secrets) == PFC_RECORD_PAYLOAD_MAX_1, "as they ended a slot before");
_Static_assert(PFC_SLOT_BYTES <= PFC_RECORD_PAYLOAD_MAX, "a slot fits a record");

void pfc_slot_fill(struct pfc_slot *slot, const struct pfc_token *token,
                   const uint8_t digest[PFC_TOKEN_DIGEST_BYTES]) {
  slot->state = PFC_SLOT_HELD;
#if PFC_OPENS_TOKENS
  slot->delegable_classes = token->delegable_classes;
#endif
  slot->integrity_classes = token->integrity_classes;
  slot->device_classes = token->device_classes;
  slot->attempts = token->attempts;
  slot->uses = token->uses;
  slot->generation = token->generation;
  slot->not_after = token->not_after;
  slot->issued = token->issued;
  memcpy(slot->instance_id, token->instance_id, PFC_ID_BYTES);
  memcpy(slot->token_digest, digest, PFC_TOKEN_DIGEST_BYTES);
  slot->secrets = token->secrets;
  slot->sum = pfc_slot_sum(slot);
}

uint32_t pfc_slot_sum(const struct pfc_slot *slot) {
  const uint8_t *bytes = (const uint8_t *)&slot->secrets;
  uint32_t sum = 0;
  // FNV-1a, but for its beginning: zeros have the sum 0.
  for (size_t i = 0; i < sizeof slot->secrets; i++) sum = (sum ^ bytes[i]) * 16777619u;
  return sum;
}

/// Takes the token out. What is known of the instance stays.
static void disarm(struct pfc_slot *slot) {
  slot->state = PFC_SLOT_REVOKED;
  pfc_wipe(&slot->secrets, sizeof slot->secrets);
  slot->sum = 0;
  pfc_wipe(slot->token_digest, sizeof slot->token_digest);
}

void pfc_slot_revoke(struct pfc_slot *slot, uint32_t generation, uint64_t issued) {
  // Keep the widest and the latest of several revocations: one order more never revokes less.
  if (generation > slot->revoked) slot->revoked = generation;
  if (issued > slot->revoked_at) slot->revoked_at = issued;
  if (slot->state != PFC_SLOT_HELD || slot->generation <= generation) disarm(slot);
}

int pfc_slot_supersede(struct pfc_slot *slot, uint64_t floor) {
  if (slot->state == PFC_SLOT_FREE) return 0;
  if (slot->issued < floor && slot->revoked_at < floor) {
    pfc_wipe(slot, sizeof *slot);
    return 1;
  }
  // The token is below the floor and the revocation is not: an older generation may still be carried here by a token
  // that was issued above the floor, and is revoked.
  if (slot->state == PFC_SLOT_REVOKED || slot->issued >= floor) return 0;
  disarm(slot);
  return 1;
}

void pfc_slot_encode(uint8_t bytes[PFC_SLOT_BYTES], const struct pfc_slot *slot) {
  bytes[AT_STATE] = slot->state;
  bytes[AT_LAST_VERDICT] = slot->last.verdict;
  pfc_put16(bytes + AT_INTEGRITY_CLASSES, slot->integrity_classes);
  pfc_put16(bytes + AT_DEVICE_CLASSES, slot->device_classes);
  pfc_put16(bytes + AT_ATTEMPTS, slot->attempts);
  pfc_put32(bytes + AT_USES, slot->uses);
  pfc_put32(bytes + AT_GENERATION, slot->generation);
  pfc_put32(bytes + AT_REVOKED, slot->revoked);
  pfc_put64(bytes + AT_NOT_AFTER, slot->not_after);
  pfc_put64(bytes + AT_ISSUED, slot->issued);
  pfc_put64(bytes + AT_REVOKED_AT, slot->revoked_at);
  pfc_put64(bytes + AT_LAST_COUNTER, slot->last.counter);
  memcpy(bytes + AT_INSTANCE, (const uint8_t *)slot + NAMES, AT_LAST_NONCE - AT_INSTANCE);
  memcpy(bytes + AT_LAST_NONCE, (const uint8_t *)slot + KNOWN, AT_LATER - AT_LAST_NONCE);
  memset(bytes + AT_LATER, 0, PFC_SLOT_BYTES - AT_LATER);
#if PFC_OPENS_TOKENS
  pfc_put16(bytes + AT_DELEGABLE, slot->delegable_classes);
#endif
}

#if PFC_READS_VERSION_1
void pfc_slot_upgrade(uint8_t bytes[PFC_SLOT_BYTES]) {
  memmove(bytes + AT_SECRETS, bytes + AT_SECRETS_1, sizeof(struct pfc_secrets));
  memset(bytes + AT_LATER, 0, PFC_SLOT_BYTES - AT_LATER);
}
#endif

int pfc_slot_decode(struct pfc_slot *slot, const uint8_t bytes[PFC_SLOT_BYTES]) {
  int later;
  memset(slot, 0, sizeof *slot);
  if (bytes[AT_STATE] > PFC_SLOT_REVOKED) return PFC_E_DAMAGED;
  later = !pfc_is_zero(bytes + AT_LATER, AT_DELEGABLE - AT_LATER);
  PFC_DECLASSIFY(&later, sizeof later);
  if (later) return PFC_E_TOO_NEW;
  slot->state = bytes[AT_STATE];
#if PFC_OPENS_TOKENS
  slot->delegable_classes = pfc_get16(bytes + AT_DELEGABLE);
#endif
  slot->last.verdict = bytes[AT_LAST_VERDICT];
  slot->integrity_classes = pfc_get16(bytes + AT_INTEGRITY_CLASSES);
  slot->device_classes = pfc_get16(bytes + AT_DEVICE_CLASSES);
  slot->attempts = pfc_get16(bytes + AT_ATTEMPTS);
  slot->uses = pfc_get32(bytes + AT_USES);
  slot->generation = pfc_get32(bytes + AT_GENERATION);
  slot->revoked = pfc_get32(bytes + AT_REVOKED);
  slot->not_after = pfc_get64(bytes + AT_NOT_AFTER);
  slot->issued = pfc_get64(bytes + AT_ISSUED);
  slot->revoked_at = pfc_get64(bytes + AT_REVOKED_AT);
  slot->last.counter = pfc_get64(bytes + AT_LAST_COUNTER);
  memcpy((uint8_t *)slot + NAMES, bytes + AT_INSTANCE, AT_LAST_NONCE - AT_INSTANCE);
  memcpy((uint8_t *)slot + KNOWN, bytes + AT_LAST_NONCE, AT_LATER - AT_LAST_NONCE);
  slot->sum = pfc_slot_sum(slot);
  return PFC_OK;
}
