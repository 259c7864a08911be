// SPDX-License-Identifier: Apache-2.0

#include "verifier_sealed.h"

#include "crypto.h"
#include "internal.h"
#include "proof.h"
#include "verifier_clock.h"

#if PFC_SEALS_COMMANDS

// Life of E_lock -------------------------------------------------------------------------------------------------

static int is_old(const struct pfc_verifier *verifier) {
  return verifier->platform.seconds != NULL &&
         pfc_platform_seconds(&verifier->platform) - verifier->seal.made >= PFC_SEAL_SECONDS;
}

/// Makes e_lock unreadable. E_lock stays: the answer to a command in hand still names it.
static void spend(struct pfc_seal_key *key) {
  key->ready = 0;
  pfc_wipe(key->secret, sizeof key->secret);
}

/// Draws a pair. One that fails or repeats leaves none.
PFC_APART static int draw(struct pfc_verifier *verifier) {
  struct pfc_seal_key *key = &verifier->seal;
  uint8_t before[PFC_PUBLIC_KEY_BYTES];
  int zero, same;
  memcpy(before, key->public_key, sizeof before);
  spend(key);
  if (verifier->platform.random(verifier->platform.context, key->secret, sizeof key->secret) != 0) {
    spend(key);
    return PFC_E_RANDOM;
  }
  zero = pfc_is_zero(key->secret, sizeof key->secret);
  PFC_DECLASSIFY(&zero, sizeof zero);
  if (zero) {
    spend(key);
    return PFC_E_RANDOM;
  }
  pfc_public_key(key->public_key, key->secret);
  PFC_DECLASSIFY(key->public_key, sizeof key->public_key);
  same = memcmp(before, key->public_key, sizeof before) == 0;
  if (same) {
    spend(key);
    return PFC_E_RANDOM;
  }
  key->number++;
  // 0 is no number: a challenge that came without a key has it.
  if (key->number == 0) key->number = 1;
  key->made = pfc_platform_seconds(&verifier->platform);
  key->ready = 1;
  return PFC_OK;
}

int pfc_verifier_prepare(struct pfc_verifier *verifier) {
  if (!verifier->ready) return PFC_E_ARGUMENT;
  verifier->seal.on = 1;
  return pfc_seal_is_ready(verifier) ? PFC_OK : draw(verifier);
}

int pfc_seal_is_ready(struct pfc_verifier *verifier) {
  if (verifier->seal.ready && is_old(verifier)) spend(&verifier->seal);
  return verifier->seal.ready;
}

int pfc_seal_is_live(const struct pfc_verifier *verifier, const struct pfc_session *session) {
  return verifier->seal.ready && session->seal_number == verifier->seal.number && !is_old(verifier);
}

// Hints ----------------------------------------------------------------------------------------------------------

/// 1 if the command has this slot's hint and the slot is held, in constant time.
static uint32_t is_of(const struct pfc_verifier *verifier, const struct pfc_session *session,
                      const struct pfc_slot *slot, const struct pfc_sealed *sealed) {
  uint8_t hint[PFC_SEAL_HINT_BYTES];
  uint32_t right;
  pfc_seal_hint(hint, slot->secrets.device_key, &session->challenge, sealed->kind, verifier->seal.public_key,
                sealed->app_key);
  right = (uint32_t)pfc_equal(hint, sealed->hint, sizeof hint) & (uint32_t)(slot->state == PFC_SLOT_HELD);
  pfc_wipe(hint, sizeof hint);
  return right;
}

PFC_APART int pfc_seal_find(const struct pfc_verifier *verifier, const struct pfc_session *session,
                            const struct pfc_sealed *sealed) {
  uint32_t found = 0;  // The slot's number plus 1
  for (uint32_t i = 0; i < PFC_SLOTS; i++) {
    uint32_t mask = 0 - is_of(verifier, session, &verifier->ledger.slots[i], sealed);
    found = (found & ~mask) | ((i + 1) & mask);
  }
  PFC_DECLASSIFY(&found, sizeof found);
  return (int)found - 1;
}

PFC_APART int pfc_seal_find_candidate(const struct pfc_verifier *verifier, const struct pfc_session *session,
                                      const struct pfc_sealed *sealed) {
  const struct pfc_slot *candidate = &session->candidate;
  const struct pfc_slot *slot;
  uint32_t right = is_of(verifier, session, candidate, sealed);
  int index;
  PFC_DECLASSIFY(&right, sizeof right);
  if (!right || !pfc_kind_is_integrity(sealed->kind)) return -1;
  index = pfc_ledger_find(&verifier->ledger, candidate->instance_id);
  if (index < 0) return -1;
  slot = &verifier->ledger.slots[index];
  if (slot->state != PFC_SLOT_HELD) return -1;
  return memcmp(candidate->token_digest, slot->token_digest, PFC_TOKEN_DIGEST_BYTES) != 0 ? index : -1;
}

// Box ------------------------------------------------------------------------------------------------------------

PFC_APART int pfc_seal_open(struct pfc_verifier *verifier, const struct pfc_session *session, int index,
                            const struct pfc_slot *judged, const uint8_t *message, size_t size,
                            struct pfc_seal *seal, struct pfc_command *command, uint8_t nonce[PFC_NONCE_BYTES]) {
  struct pfc_sealed sealed;
  int result = pfc_sealed_decode(&sealed, message, size);
  if (result != PFC_OK) return result;
  result = pfc_shared_secret(seal->shared, verifier->seal.secret, sealed.app_key) == PFC_OK ? PFC_OK : PFC_E_RECIPIENT;
  PFC_DECLASSIFY(&result, sizeof result);
  // One X25519 for each key, whatever comes of it.
  spend(&verifier->seal);
  if (result != PFC_OK) return result;
  seal->facts = (struct pfc_seal_facts){.hardware_id = verifier->hardware->id,
                                        .instance_id = verifier->ledger.slots[index].instance_id,
                                        .token_digest = judged->token_digest,
                                        .device_key = judged->secrets.device_key,
                                        .lock_key = verifier->seal.public_key,
                                        .challenge = &session->challenge};
  seal->plain = verifier->opened;
  result = pfc_sealed_open(command, seal->plain, nonce, &seal->facts, seal->shared, message, size);
  if (result != PFC_OK) return result;
  pfc_sealed_follow(seal->step, seal->down, &seal->facts, seal->shared, message, size);
#if PFC_CHANNEL
  pfc_sealed_chain(seal->chain, &seal->facts, seal->shared, message, size);
#endif
  command->step = seal->step;
  return PFC_OK;
}

/// 0 if the box opens and tells what it is to tell. One skipped instruction on the way to the box can put other bytes
/// under a right authenticator.
PFC_APART static uint32_t answer_difference(const struct pfc_answer *answer, uint8_t verdict, uint64_t next,
                                            const uint8_t *message, const uint8_t down[32]) {
  struct pfc_answer told;
  uint64_t told_next;
  if (pfc_sealed_down_open(&told, &told_next, message, PFC_SEALED_DOWN_BYTES, answer->counter, down) != PFC_OK) {
    return 1;
  }
  return (uint32_t)(told.verdict ^ verdict) | (uint32_t)(told.detail ^ answer->detail) | (uint32_t)(told_next != next);
}

void pfc_seal_answer(struct pfc_outcome *outcome, uint64_t next, const uint8_t down[32]) {
  struct pfc_answer answer;
  if (pfc_answer_decode(&answer, outcome->reply, outcome->reply_size) != PFC_OK) return;
  memset(outcome->reply, 0, sizeof outcome->reply);
  pfc_sealed_down_create(outcome->reply, &answer, next, down);
  outcome->sealed_detail = answer.detail;
  outcome->reply_type = PFC_MESSAGE_SEALED_DOWN;
  outcome->reply_size = PFC_SEALED_DOWN_BYTES;
  // Only a fault leads here. The app gets no answer that opens, and asks again by a recall.
  if (answer_difference(&answer, outcome->verdict, next, outcome->reply, down) != 0) {
    memset(outcome->reply, 0, sizeof outcome->reply);
  }
}

#endif
