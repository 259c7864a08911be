// SPDX-License-Identifier: Apache-2.0

#include "slot.h"

#include "crypto.h"
#include "internal.h"
#include "ratchet.h"

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
  AT_RATCHET = 188,
  AT_POLICY = 204,
  AT_COPIES = 205,
  AT_DELEGABLE = 206,

  AT_SECRETS_1 = 100  // In version 1, which had a nonce of 16 bytes and nothing behind the secrets
};

// Two runs of bytes are stored as they stand in a slot: ids, and what is known of commands and secrets.
enum {
  NAMES = offsetof(struct pfc_slot, instance_id),
  KNOWN = offsetof(struct pfc_slot, last.nonce),
  KNOWN_BYTES = (PFC_RATCHETS ? AT_POLICY : AT_RATCHET) - AT_LAST_NONCE
};

_Static_assert(offsetof(struct pfc_slot, token_digest) == NAMES + AT_DIGEST - AT_INSTANCE, "the first run");
_Static_assert(offsetof(struct pfc_slot, secrets) == KNOWN + AT_SECRETS - AT_LAST_NONCE, "the second run");
_Static_assert(AT_SECRETS + sizeof(struct pfc_secrets) == AT_RATCHET, "four secrets");
_Static_assert((PFC_TOKEN_POLICY & ~(PFC_POLICY_UPCOMING | PFC_SLOT_POLICY)) == 0, "a policy has a place here");
#if PFC_RATCHETS
_Static_assert(offsetof(struct pfc_slot, ratchet) == KNOWN + AT_RATCHET - AT_LAST_NONCE, "the ratchet ends the run");
#endif
_Static_assert(AT_RATCHET + PFC_RATCHET_BYTES == AT_POLICY, "16 bytes");
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
#if PFC_RATCHETS
  slot->policy = token->policy & PFC_SLOT_POLICY;
  slot->copies = 0;
  memset(slot->ratchet, 0, sizeof slot->ratchet);
  if ((slot->policy & PFC_POLICY_RATCHET) != PFC_RATCHET_NONE) {
    pfc_ratchet_begin(slot->ratchet, &slot->secrets, digest);
  }
#endif
  slot->sum = pfc_slot_sum(slot);
}

/// FNV-1a, but for its beginning: zeros have the sum 0.
static uint32_t sum_of(const void *bytes, size_t size) {
  const uint8_t *at = bytes;
  uint32_t sum = 0;
  for (size_t i = 0; i < size; i++) sum = (sum ^ at[i]) * 16777619u;
  return sum;
}

uint32_t pfc_slot_sum(const struct pfc_slot *slot) {
  uint32_t sum = sum_of(&slot->secrets, sizeof slot->secrets);
#if PFC_RATCHETS
  sum ^= sum_of(slot->ratchet, sizeof slot->ratchet);
#endif
  return sum;
}

int pfc_slot_stores_last(const struct pfc_slot *slot) {
#if PFC_RATCHETS
  if ((slot->policy & PFC_POLICY_RATCHET) != PFC_RATCHET_NONE) return 1;
#endif
  return slot->uses != PFC_USES_UNLIMITED;
}

#if PFC_RATCHETS
void pfc_slot_step(struct pfc_slot *slot, const uint8_t ratchet[PFC_RATCHET_BYTES]) {
  slot->sum ^= sum_of(slot->ratchet, sizeof slot->ratchet) ^ sum_of(ratchet, PFC_RATCHET_BYTES);
  memcpy(slot->ratchet, ratchet, sizeof slot->ratchet);
}
#endif

#if PFC_OPENS_TOKENS
void pfc_slot_inherit(struct pfc_slot *candidate, const struct pfc_slot *slot) {
  if (slot->attempts < candidate->attempts) candidate->attempts = slot->attempts;
  if (slot->uses < candidate->uses) candidate->uses = slot->uses;
  candidate->revoked = slot->revoked;
  candidate->revoked_at = slot->revoked_at;
#if PFC_RATCHETS
  // A copied phone has the upcoming token, too: its ratchet would otherwise begin anew, and hide the copy.
  if (pfc_slot_ratchet(slot) != PFC_RATCHET_NONE && pfc_slot_ratchet(candidate) != PFC_RATCHET_NONE) {
    candidate->copies = slot->copies;
    pfc_slot_step(candidate, slot->ratchet);
  }
#endif
}
#endif

/// Takes the token out. What is known of the instance stays.
static void disarm(struct pfc_slot *slot) {
  slot->state = PFC_SLOT_REVOKED;
  pfc_wipe(&slot->secrets, sizeof slot->secrets);
#if PFC_RATCHETS
  pfc_wipe(slot->ratchet, sizeof slot->ratchet);
  slot->policy = 0;
  slot->copies = 0;
#endif
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
  memcpy(bytes + AT_LAST_NONCE, (const uint8_t *)slot + KNOWN, KNOWN_BYTES);
  memset(bytes + AT_LAST_NONCE + KNOWN_BYTES, 0, PFC_SLOT_BYTES - AT_LAST_NONCE - KNOWN_BYTES);
#if PFC_RATCHETS
  bytes[AT_POLICY] = slot->policy;
  bytes[AT_COPIES] = slot->copies;
#endif
#if PFC_OPENS_TOKENS
  pfc_put16(bytes + AT_DELEGABLE, slot->delegable_classes);
#endif
}

#if PFC_READS_VERSION_1
void pfc_slot_upgrade(uint8_t bytes[PFC_SLOT_BYTES]) {
  memmove(bytes + AT_SECRETS, bytes + AT_SECRETS_1, sizeof(struct pfc_secrets));
  memset(bytes + AT_RATCHET, 0, PFC_SLOT_BYTES - AT_RATCHET);
}
#endif

/// Whether the slot has what this build would not obey. The policy came with a token's rights, and is public.
static int is_later(const uint8_t bytes[PFC_SLOT_BYTES]) {
#if PFC_SEALS_COMMANDS
  uint8_t ratchet = bytes[AT_POLICY] & (uint8_t)~(PFC_SLOT_POLICY & ~PFC_POLICY_RATCHET);
  int later = ratchet != PFC_RATCHET_REPORT && ratchet != PFC_RATCHET_REFUSE;
  if (later) later = (ratchet | bytes[AT_COPIES]) != 0 || !pfc_is_zero(bytes + AT_RATCHET, PFC_RATCHET_BYTES);
#else
  int later = bytes[AT_POLICY] != PFC_RATCHET_REPORT && bytes[AT_POLICY] != PFC_RATCHET_REFUSE;
  if (!PFC_RATCHETS || later) later = !pfc_is_zero(bytes + AT_RATCHET, AT_DELEGABLE - AT_RATCHET);
#endif
  PFC_DECLASSIFY(&later, sizeof later);
  return later;
}

int pfc_slot_decode(struct pfc_slot *slot, const uint8_t bytes[PFC_SLOT_BYTES]) {
  memset(slot, 0, sizeof *slot);
  if (bytes[AT_STATE] > PFC_SLOT_REVOKED) return PFC_E_DAMAGED;
  if (is_later(bytes)) return PFC_E_TOO_NEW;
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
  memcpy((uint8_t *)slot + KNOWN, bytes + AT_LAST_NONCE, KNOWN_BYTES);
#if PFC_RATCHETS
  slot->policy = bytes[AT_POLICY];
  slot->copies = bytes[AT_COPIES];
#endif
  slot->sum = pfc_slot_sum(slot);
  return PFC_OK;
}
