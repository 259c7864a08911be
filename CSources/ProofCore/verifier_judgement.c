// SPDX-License-Identifier: Apache-2.0

// Judgement of a command, and the later answer about one (recall).

#include "crypto.h"
#include "internal.h"
#include "proof.h"
#include "ratchet.h"
#include "verifier_answer.h"
#include "verifier_channel.h"
#include "verifier_clock.h"
#include "verifier_detail.h"
#include "verifier_grant.h"
#include "verifier_log.h"
#include "verifier_receive.h"
#include "verifier_review.h"
#include "verifier_sealed.h"

/// Rate limit: after PFC_SESSION_REFUSALS_MAX wrong device proofs this link answers BUSY to every command and recall.
static uint8_t meet_stranger(const struct pfc_session *session) {
  return session->refusals < PFC_SESSION_REFUSALS_MAX ? PFC_VERDICT_NONE : PFC_VERDICT_BUSY;
}

static void answer_refused(struct pfc_outcome *outcome, uint8_t verdict, uint16_t detail, uint64_t counter) {
  pfc_answer_plain(outcome, verdict, detail != 0 ? detail : pfc_verdict_detail(verdict), counter);
}

// COMMAND --------------------------------------------------------------------------------------------------------

PFC_APART static int check_proof(const uint8_t *proof, const uint8_t key[PFC_KEY_BYTES],
                                 const uint8_t nonce[PFC_NONCE_BYTES],
                                 const uint8_t measurement[PFC_MEASUREMENT_BYTES]) {
  uint8_t expected[PFC_PROOF_BYTES];
  int result;
  pfc_proof_make_once(expected, key, nonce, measurement);
  result = pfc_equal(expected, proof, sizeof expected) ? PFC_OK : PFC_E_DIFFERS;
  pfc_wipe(expected, sizeof expected);
  PFC_DECLASSIFY(&result, sizeof result);
  return result;
}

/// Spends one attempt, durably, before the verdict that would tell the app to try again.
static uint8_t spend_attempt(struct pfc_verifier *verifier, int index) {
  // Spent in memory whatever storage says: it may fail, but it does not fail in the attacker's favour.
  verifier->ledger.slots[index].attempts--;
  return pfc_ledger_store(&verifier->ledger, index) == PFC_OK ? PFC_VERDICT_INTEGRITY_DIFFERS : PFC_VERDICT_FAULT;
}

#if PFC_RATCHETS

static uint8_t ratchet_policy(const struct pfc_slot *slot) { return slot->policy & PFC_POLICY_RATCHET; }

static int tells_copy(uint8_t verdict) {
  return verdict == PFC_VERDICT_ACCEPTED_COPY || verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY;
}

/// Whether the command's tag is that of the slot's ratchet, in constant time.
PFC_APART static int is_in_step(const struct pfc_slot *slot, const struct pfc_command *command,
                                const uint8_t nonce[PFC_NONCE_BYTES]) {
  uint8_t expected[PFC_RATCHET_TAG_BYTES];
  int result;
  pfc_ratchet_tag(expected, slot->ratchet, nonce);
  result = pfc_equal(expected, command->ratchet_tag, sizeof expected);
  pfc_wipe(expected, sizeof expected);
  // The verdict tells it.
  PFC_DECLASSIFY(&result, sizeof result);
  return result;
}

/// The verdict on a command whose proofs are right and whose class is permitted.
static uint8_t judge_step(const struct pfc_slot *slot, const struct pfc_command *command,
                          const uint8_t nonce[PFC_NONCE_BYTES]) {
  int integrity = pfc_kind_is_integrity(command->kind);
  if (ratchet_policy(slot) == PFC_RATCHET_NONE || is_in_step(slot, command, nonce)) {
    return integrity ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE;
  }
  if (ratchet_policy(slot) == PFC_RATCHET_REFUSE && (slot->device_classes & (1u << command->command_class)) == 0) {
    return PFC_VERDICT_COPIED;
  }
  return integrity ? PFC_VERDICT_ACCEPTED_COPY : PFC_VERDICT_ACCEPTED_DEVICE_COPY;
}

static int has_other_kind(const struct pfc_slot *slot, const struct pfc_command *command) {
#if PFC_SEALS_COMMANDS
  int has_tag = command->ratchet_tag != NULL;
#if PFC_CHANNEL
  // The command that opened the channel has shown it.
  if (command->in_channel) return 0;
#endif
#else
  int has_tag = pfc_kind_has_ratchet(command->kind);
#endif
  return has_tag != (ratchet_policy(slot) != PFC_RATCHET_NONE);
}

#if PFC_SEALS_COMMANDS
/// A command in the clear, at a slot that takes sealed commands only.
static int is_too_open(const struct pfc_slot *slot, const struct pfc_command *command) {
  return (slot->policy & PFC_POLICY_SEALED) != 0 && !pfc_kind_is_sealed(command->kind);
}
#endif

/// Detail of *not permitted*, to a command of the other sort of slot.
static uint16_t kind_detail(const struct pfc_slot *slot) {
  if (ratchet_policy(slot) == PFC_RATCHET_NONE) return PFC_DETAIL_RATCHET_NONE;
  return ratchet_policy(slot) == PFC_RATCHET_REPORT ? PFC_DETAIL_RATCHET_REPORT : PFC_DETAIL_RATCHET_REFUSE;
}

static void count_copy(struct pfc_slot *slot) {
  if (slot->copies < UINT8_MAX) slot->copies++;
}

/// Counts a refused copy. Stored once in each start, so that a copy that tries again does not wear the flash.
static uint8_t note_copy(struct pfc_verifier *verifier, int index) {
  uint32_t bit = (uint32_t)1 << index;
  count_copy(&verifier->ledger.slots[index]);
  if ((verifier->noted & bit) != 0) return PFC_VERDICT_COPIED;
  if (pfc_ledger_store(&verifier->ledger, index) != PFC_OK) return PFC_VERDICT_FAULT;
  verifier->noted |= bit;
  return PFC_VERDICT_COPIED;
}

/// Moves the ratchet for an accepted command, in memory. Where copies are refused, a command out of step leaves it:
/// otherwise a copy would come into step by a class that it may use, and then use the others.
static void step_ratchet(struct pfc_slot *slot, const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict) {
  uint8_t next[PFC_RATCHET_BYTES];
  memcpy(next, slot->ratchet, sizeof next);
  if (!tells_copy(verdict)) {
    pfc_ratchet_next(next, slot->ratchet, nonce);
  } else if (ratchet_policy(slot) == PFC_RATCHET_REPORT) {
    pfc_ratchet_fork(next, &slot->secrets, nonce);
  }
  pfc_slot_step(slot, next);
  pfc_wipe(next, sizeof next);
}

/// Notes an accepted command and moves its ratchet, with one write. Without a nonce the ratchet stays.
PFC_APART static int accept_step(struct pfc_verifier *verifier, int index, const uint8_t nonce[PFC_NONCE_BYTES],
                                 uint8_t verdict) {
  struct pfc_slot *slot = &verifier->ledger.slots[index];
  uint32_t bit = (uint32_t)1 << index;
  uint8_t before[PFC_RATCHET_BYTES];
  uint8_t copies = slot->copies;
  int result;
  memcpy(before, slot->ratchet, sizeof before);
  if (nonce != NULL) step_ratchet(slot, nonce, verdict);
  if (tells_copy(verdict)) {
    count_copy(slot);
    // Again, by other code: one skipped instruction above must not bring a copy into step.
    if (ratchet_policy(slot) != PFC_RATCHET_REPORT) pfc_slot_step(slot, before);
  }
  result = pfc_ledger_store(&verifier->ledger, index);
  if (result == PFC_OK) {
    verifier->unsure &= ~bit;
  } else {
    // The write may have arrived. A recall stores the slot again before it denies the command: otherwise
    // the next start could find a ratchet that the app never learns of, and an owner would look like a copy.
    verifier->unsure |= bit;
    slot->copies = copies;
    pfc_slot_step(slot, before);
  }
  pfc_wipe(before, sizeof before);
  return result;
}

/// PFC_OK if storage holds what memory holds of the slot.
static int settle_slot(struct pfc_verifier *verifier, int index) {
  uint32_t bit = (uint32_t)1 << index;
  int result = PFC_OK;
  if ((verifier->unsure & bit) != 0) result = pfc_ledger_store(&verifier->ledger, index);
  if (result == PFC_OK) verifier->unsure &= ~bit;
  return result;
}

#endif

/// Moves the ratchet: the nonce, or for a sealed command a value that only its two ends know. NULL for a command of a
/// channel, which leaves the ratchet.
static const uint8_t *step_of(const struct pfc_command *command, const uint8_t nonce[PFC_NONCE_BYTES]) {
#if PFC_CHANNEL
  if (command->in_channel) return NULL;
#endif
#if PFC_SEALS_COMMANDS
  if (command->step != NULL) return command->step;
#endif
  (void)command;
  return nonce;
}

/// Stores an accepted command: PFC_OK, or what it failed with. The slot's ratchet is then as before.
static int store_accepted(struct pfc_verifier *verifier, int index, const uint8_t nonce[PFC_NONCE_BYTES],
                          uint8_t verdict) {
#if PFC_RATCHETS
  if (ratchet_policy(&verifier->ledger.slots[index]) != PFC_RATCHET_NONE) {
    return accept_step(verifier, index, nonce, verdict);
  }
#else
  (void)nonce, (void)verdict;
#endif
  return pfc_ledger_store(&verifier->ledger, index);
}

/// Notes an accepted command before it is done: durably where uses are counted, or where there is a ratchet.
static uint8_t note_accepted(struct pfc_verifier *verifier, int index, const struct pfc_command *command,
                             const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict) {
  struct pfc_slot *slot = &verifier->ledger.slots[index];
  struct pfc_last before = slot->last;
#if PFC_RATCHETS
  uint32_t counted = slot->uses != PFC_USES_UNLIMITED;
#else
  const uint32_t counted = 1;
#endif
  slot->last.verdict = verdict;
  slot->last.counter = command->counter;
  memcpy(slot->last.nonce, nonce, PFC_LAST_NONCE_BYTES);
  if (!pfc_slot_stores_last(slot)) return verdict;
  slot->uses -= counted;
  if (store_accepted(verifier, index, step_of(command, nonce), verdict) == PFC_OK) return verdict;
  // Undo: a use that is not durable is not done, and a recall must not confirm it.
  slot->uses += counted;
  slot->last = before;
  return PFC_VERDICT_FAULT;
}

#if PFC_OPENS_TOKENS
/// The link's candidate for this command, brought up to date with its slot. NULL if there is none, or if the slot
/// has its token already. A candidate serves integrity commands only: what does not prove a generation commits none.
PFC_APART static const struct pfc_slot *candidate_of(struct pfc_session *session, const struct pfc_slot *slot,
                                                     const struct pfc_command *command,
                                                     const uint8_t nonce[PFC_NONCE_BYTES]) {
  struct pfc_slot *candidate = &session->candidate;
  uint8_t answered[PFC_NONCE_BYTES];
  if (candidate->state != PFC_SLOT_HELD || !pfc_kind_is_integrity(command->kind)) return NULL;
  if (memcmp(candidate->instance_id, slot->instance_id, PFC_ID_BYTES) != 0) return NULL;
  if (memcmp(candidate->token_digest, slot->token_digest, PFC_TOKEN_DIGEST_BYTES) == 0) return NULL;
  pfc_command_escort(answered, nonce, command);
  if (check_proof(command->device_proof, candidate->secrets.device_key, answered, candidate->secrets.device) !=
      PFC_OK) {
    return NULL;
  }
  pfc_slot_inherit(candidate, slot);
  return candidate;
}

/// Judges a candidate again, as its token was: another link may have brought an order or a newer token meanwhile.
static uint8_t judge_candidate(const struct pfc_verifier *verifier, const struct pfc_slot *candidate,
                               const struct pfc_slot *slot) {
  if (candidate->issued < verifier->ledger.floor) return PFC_VERDICT_SUPERSEDED;
  if (candidate->generation <= slot->revoked) return PFC_VERDICT_REVOKED;
  if (candidate->generation <= slot->generation) return PFC_VERDICT_SUPERSEDED;
  return PFC_VERDICT_NONE;
}

/// The candidate's generation is proved: it replaces the slot's, with its first command, in one write. The older
/// generation never returns. The candidate is gone whatever storage says: the app presents its token again.
static uint8_t commit(struct pfc_verifier *verifier, int index, struct pfc_slot *candidate,
                      const struct pfc_command *command, const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict) {
  int result;
  // Only a fault leads here with what is not newer: a wiped candidate would clear the slot and its revocation.
  if (candidate->generation <= verifier->ledger.slots[index].generation) return PFC_VERDICT_FAULT;
  candidate->last.verdict = verdict;
  candidate->last.counter = command->counter;
  memcpy(candidate->last.nonce, nonce, PFC_LAST_NONCE_BYTES);
  if (candidate->uses != PFC_USES_UNLIMITED) candidate->uses--;
#if PFC_RATCHETS
  if (ratchet_policy(candidate) != PFC_RATCHET_NONE) step_ratchet(candidate, step_of(command, nonce), verdict);
  if (tells_copy(verdict)) count_copy(candidate);
#endif
  result = pfc_ledger_put(&verifier->ledger, index, candidate);
#if PFC_RATCHETS
  // As in accept_step: the write may have arrived. A recall stores the older slot again before it denies the command.
  if (result == PFC_OK) {
    verifier->unsure &= ~((uint32_t)1 << index);
  } else {
    verifier->unsure |= (uint32_t)1 << index;
  }
#endif
  pfc_wipe(candidate, sizeof *candidate);
  return result == PFC_OK ? verdict : PFC_VERDICT_FAULT;
}
#endif

/// Whether an accepted command is of a class that the instance is lent.
static int is_lent(const struct pfc_slot *judged, const struct pfc_command *command) {
  return pfc_kind_is_integrity(command->kind) && (judged->integrity_classes & (1u << command->command_class)) == 0;
}

/// Notes a command that both looks let in, once a loan is charged: in its slot, or with the candidate that replaces it.
static uint8_t store(struct pfc_verifier *verifier, struct pfc_session *session, int index,
                      const struct pfc_slot *judged, const struct pfc_command *command,
                      const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict) {
  if (is_lent(judged, command) && pfc_grant_charge(verifier, index) != PFC_OK) return PFC_VERDICT_FAULT;
#if PFC_OPENS_TOKENS
  if (judged != &verifier->ledger.slots[index]) {
    return commit(verifier, index, &session->candidate, command, nonce, verdict);
  }
#else
  (void)session;
#endif
  return note_accepted(verifier, index, command, nonce, verdict);
}

/// Carries a command that the first look let in as far as its execution: entry in the log, then its slot.
static uint8_t accept(struct pfc_verifier *verifier, struct pfc_session *session, int index,
                      const struct pfc_slot *judged, const struct pfc_command *command,
                      const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict, uint32_t review) {
  uint8_t stored = PFC_VERDICT_FAULT;
  // The two looks never differ unless something was done to the hardware: the log tells that, too.
  int result = pfc_log_command(verifier, command, review == PFC_REVIEW_PASSED ? verdict : PFC_VERDICT_FAULT);
  if (review != PFC_REVIEW_PASSED || result != PFC_OK) return PFC_VERDICT_FAULT;
  stored = store(verifier, session, index, judged, command, nonce, verdict);
  if (stored == PFC_VERDICT_FAULT) pfc_log_withdraw(verifier);
  return stored;
}

/// Checks a command under a live challenge against its slot; proofs are checked later.
static uint8_t judge_slot(const struct pfc_verifier *verifier, const struct pfc_slot *slot) {
  if (slot->not_after != 0 && pfc_verifier_epoch(verifier) > slot->not_after) return PFC_VERDICT_EXPIRED;
  if (slot->attempts == 0) return PFC_VERDICT_NO_ATTEMPTS;
  if (slot->uses == 0) return PFC_VERDICT_NO_USES;
  return PFC_VERDICT_NONE;
}

#if PFC_CHANNEL
/// The first look at a command of a channel: its box is its proof.
PFC_APART static uint8_t judge_in_channel(const struct pfc_verifier *verifier, int index,
                                          const struct pfc_channel *channel, const struct pfc_command *command) {
  const struct pfc_slot *slot = &verifier->ledger.slots[index];
  uint16_t permitted = slot->device_classes;
  uint8_t verdict = judge_slot(verifier, slot);
  if (verdict != PFC_VERDICT_NONE) return verdict;
  if (pfc_kind_is_integrity(channel->kind)) {
    permitted = (uint16_t)(slot->integrity_classes | pfc_grant_lent(verifier, index));
  }
  if (((permitted >> command->command_class) & 1u) == 0) return PFC_VERDICT_NOT_PERMITTED;
  return pfc_channel_verdict(channel->kind);
}
#endif

/// The first look: the verdict, or what would be it if nothing is found at the second.
PFC_APART static uint8_t judge_command(const struct pfc_verifier *verifier, struct pfc_session *session, int index,
                                       const struct pfc_slot *slot, const struct pfc_command *command,
                                       const uint8_t nonce[PFC_NONCE_BYTES]) {
  uint16_t permitted = pfc_kind_is_integrity(command->kind) ? slot->integrity_classes : slot->device_classes;
  uint8_t answered[PFC_NONCE_BYTES];
  uint8_t verdict = judge_slot(verifier, slot);
  if (verdict != PFC_VERDICT_NONE) return verdict;
  pfc_command_escort(answered, nonce, command);
  if (check_proof(command->device_proof, slot->secrets.device_key, answered, slot->secrets.device) != PFC_OK) {
    session->refusals++;
    return PFC_VERDICT_DEVICE_DIFFERS;
  }
  if (pfc_kind_is_integrity(command->kind) &&
      check_proof(command->integrity_proof, slot->secrets.integrity_key, nonce, slot->secrets.integrity) != PFC_OK) {
    return PFC_VERDICT_INTEGRITY_DIFFERS;
  }
#if PFC_SEALS_COMMANDS
  if (is_too_open(slot, command)) return PFC_VERDICT_NOT_PERMITTED;
#endif
#if PFC_RATCHETS
  if (has_other_kind(slot, command)) return PFC_VERDICT_NOT_PERMITTED;
#endif
  if (pfc_kind_is_integrity(command->kind)) permitted |= pfc_grant_lent(verifier, index);
  if ((permitted & (1u << command->command_class)) == 0) return PFC_VERDICT_NOT_PERMITTED;
#if PFC_RATCHETS
  return judge_step(slot, command, nonce);
#else
  return command->kind == PFC_KIND_INTEGRITY ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE;
#endif
}

/// Takes the live challenge. 1 if it is the one that the command answers; otherwise `*detail` says why not. The
/// challenge is dead either way. It still stands in the session, for the review, until `pfc_receive_command` wipes it.
static int take_challenge(const struct pfc_verifier *verifier, struct pfc_session *session, uint64_t counter,
                          uint16_t *detail) {
  uint16_t limit = verifier->hardware->challenge_seconds;
  int live = session->live;
  session->live = 0;
  *detail = PFC_TOLD(PFC_DETAIL_NO_CHALLENGE);
  if (!live) return 0;
  *detail = PFC_TOLD(PFC_DETAIL_OTHER_CHALLENGE);
  if (session->challenge.counter != counter) return 0;
  *detail = PFC_TOLD(PFC_DETAIL_CHALLENGE_TIMED_OUT);
  return limit == 0 || verifier->platform.seconds == NULL ||
         pfc_platform_seconds(&verifier->platform) - session->asked <= limit;
}

/// Checks a command before its proofs: PFC_VERDICT_NONE if it is to be judged, for the slot `*index`.
static uint8_t meet_command(const struct pfc_verifier *verifier, struct pfc_session *session,
                            const struct pfc_command *command, int *index, uint8_t nonce[PFC_NONCE_BYTES],
                            uint16_t *detail) {
  if (!take_challenge(verifier, session, command->counter, detail)) return PFC_VERDICT_STALE;
  *detail = 0;
  *index = pfc_ledger_find(&verifier->ledger, command->instance_id);
  if (*index < 0) return PFC_VERDICT_UNKNOWN;
  if (command->counter < verifier->alive_from[*index]) {
    *detail = PFC_TOLD(PFC_DETAIL_CHALLENGE_ENDED);
    return PFC_VERDICT_STALE;
  }
  if (verifier->ledger.slots[*index].state == PFC_SLOT_REVOKED) return PFC_VERDICT_REVOKED;
  return pfc_nonce_derive(nonce, verifier->hardware->id, &session->challenge, command->kind, command->command_class,
                          command->command, command->command_size) == PFC_OK
             ? PFC_VERDICT_NONE
             : PFC_VERDICT_MALFORMED;
}

/// The detail of a verdict to a command whose device proof was judged. Nothing is told before that: a stranger who
/// sends an instance id must not learn its limits.
static uint16_t judged_detail(const struct pfc_verifier *verifier, int index, const struct pfc_slot *judged,
                              const struct pfc_command *command, uint8_t verdict) {
  const struct pfc_slot *slot = &verifier->ledger.slots[index];
  uint16_t lent;
  if (pfc_verdict_accepts(verdict)) return pfc_uses_detail(slot->uses);
  if (verdict == PFC_VERDICT_INTEGRITY_DIFFERS) return slot->attempts;
#if PFC_RATCHETS
  if (verdict == PFC_VERDICT_COPIED) return (uint16_t)slot->last.counter;
#if PFC_SEALS_COMMANDS
  if (verdict == PFC_VERDICT_NOT_PERMITTED && is_too_open(judged, command)) return PFC_DETAIL_SEALED_DEMANDED;
#endif
  if (verdict == PFC_VERDICT_NOT_PERMITTED && has_other_kind(judged, command)) return kind_detail(judged);
#endif
  if (verdict != PFC_VERDICT_NOT_PERMITTED) return 0;
  if ((judged->integrity_classes & (1u << command->command_class)) != 0) {
    return PFC_TOLD(PFC_DETAIL_INTEGRITY_DEMANDED);
  }
  lent = pfc_grant_detail(verifier, index, command->command_class);
  return lent != 0 ? PFC_TOLD(lent) : PFC_TOLD(PFC_DETAIL_CLASS_NOT_PERMITTED);
}

/// Writes the entry of a command that is refused, if its device proof is right. The refusal stands whatever flash says.
static void log_refused(struct pfc_verifier *verifier, const struct pfc_command *command, uint8_t verdict) {
  int result = PFC_OK;
  switch (verdict) {
    case PFC_VERDICT_INTEGRITY_DIFFERS:
    case PFC_VERDICT_NOT_PERMITTED:
    case PFC_VERDICT_COPIED:
    case PFC_VERDICT_REVOKED:  // These two come from a candidate whose device proof is right.
    case PFC_VERDICT_SUPERSEDED:
      result = pfc_log_command(verifier, command, verdict);
      break;
    default:
      break;
  }
  (void)result;
}

#if PFC_SEALS_COMMANDS
#define SEAL_ARGUMENT(seal) , seal
#else
#define SEAL_ARGUMENT(seal)
#endif

void pfc_answer_met(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                    const struct pfc_command *command, int index, const struct pfc_slot *judged,
                    const uint8_t nonce[PFC_NONCE_BYTES], struct pfc_outcome *outcome PFC_SEAL_PARAMETER) {
#if PFC_OPENS_TOKENS
  const struct pfc_slot *slot = &verifier->ledger.slots[index];
#else
  const struct pfc_slot *slot = judged;
#endif
  uint32_t review = 0;
  uint8_t verdict = PFC_VERDICT_NONE;
#if PFC_OPENS_TOKENS
  if (judged != slot) verdict = judge_candidate(verifier, judged, slot);
  if (verdict != PFC_VERDICT_NONE) {
    log_refused(verifier, command, verdict);
    answer_refused(outcome, verdict, 0, command->counter);
    return;
  }
#endif
#if PFC_CHANNEL
  if (seal != NULL && seal->channel != NULL) {
    verdict = judge_in_channel(verifier, index, seal->channel, command);
  } else
#endif
  {
    verdict = judge_command(verifier, session, index, judged, command, nonce);
  }
  if (pfc_verdict_accepts(verdict)) {
#if PFC_CHANNEL
    if (seal != NULL && seal->channel != NULL) {
      review = pfc_review_channel(verifier, index, message, size, verdict, seal);
    } else
#endif
    {
      review = pfc_review_command(verifier, session, index, judged, message, size, verdict SEAL_ARGUMENT(seal));
    }
    verdict = accept(verifier, session, index, judged, command, nonce, verdict, review);
    judged = slot;
  } else {
    log_refused(verifier, command, verdict);
  }
  if (verdict == PFC_VERDICT_INTEGRITY_DIFFERS) verdict = spend_attempt(verifier, index);
#if PFC_RATCHETS
  if (verdict == PFC_VERDICT_COPIED) verdict = note_copy(verifier, index);
#endif
  if (verdict == PFC_VERDICT_FAULT) {
    answer_refused(outcome, verdict, 0, command->counter);
    return;
  }
  pfc_answer_signed(outcome, judged, nonce, verdict, judged_detail(verifier, index, judged, command, verdict),
                    command->counter);
  if (pfc_verdict_accepts(verdict)) {
    // Ends the instance's older challenges on every link. The last accepted command is then the one with the highest
    // counter, and a recall that finds a lower one does not deny a command that was done.
    verifier->alive_from[index] = command->counter + 1;
    outcome->kind = command->kind;
#if PFC_RATCHETS
    outcome->known = command->known;
#endif
    outcome->command_class = command->command_class;
    outcome->command = command->command;
    outcome->command_size = command->command_size;
    outcome->counter = command->counter;
    // Made of what the review has found, and of nothing that stands ready: to come here by accident is not enough.
    outcome->execute = review ^ (PFC_REVIEW_PASSED ^ PFC_EXECUTE);
  }
}

/// Judges a command in the clear and answers it. The session's challenge is spent by whatever comes out.
static void answer_command(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                           size_t size, const struct pfc_command *command, struct pfc_outcome *outcome) {
  const struct pfc_slot *judged;
#if PFC_OPENS_TOKENS
  const struct pfc_slot *candidate;
#endif
  uint8_t nonce[PFC_NONCE_BYTES] = {0};
  uint16_t detail = 0;
  int index = -1;
  uint8_t verdict = meet_command(verifier, session, command, &index, nonce, &detail);
  if (verdict != PFC_VERDICT_NONE) {
    answer_refused(outcome, verdict, PFC_TOLD(detail), command->counter);
    return;
  }
  judged = &verifier->ledger.slots[index];
#if PFC_OPENS_TOKENS
  candidate = candidate_of(session, judged, command, nonce);
  if (candidate != NULL) judged = candidate;
#endif
  pfc_answer_met(verifier, session, message, size, command, index, judged, nonce, outcome SEAL_ARGUMENT(NULL));
}

#if PFC_SEALS_COMMANDS

/// Checks a sealed command before its proofs: PFC_VERDICT_NONE if it was opened and is to be judged under `*judged`,
/// for the slot `*index`. A stranger ends at the hint.
static uint8_t meet_sealed(struct pfc_verifier *verifier, struct pfc_session *session, const struct pfc_sealed *sealed,
                           const uint8_t *message, size_t size, int *index, const struct pfc_slot **judged,
                           struct pfc_seal *seal, struct pfc_command *command, uint8_t nonce[PFC_NONCE_BYTES],
                           uint16_t *detail) {
  int candidate, result;
  if (!take_challenge(verifier, session, sealed->counter, detail)) return PFC_VERDICT_STALE;
  *detail = PFC_TOLD(PFC_DETAIL_SEAL_REPLACED);
  if (!pfc_seal_is_live(verifier, session)) return PFC_VERDICT_STALE;
  *detail = 0;
  *index = pfc_seal_find(verifier, session, sealed);
  candidate = pfc_seal_find_candidate(verifier, session, sealed);
  if (candidate >= 0) *index = candidate;
  if (*index < 0) {
    session->refusals++;
    return PFC_VERDICT_DEVICE_DIFFERS;
  }
  *detail = PFC_TOLD(PFC_DETAIL_CHALLENGE_ENDED);
  if (sealed->counter < verifier->alive_from[*index]) return PFC_VERDICT_STALE;
  *detail = 0;
  *judged = candidate >= 0 ? &session->candidate : &verifier->ledger.slots[*index];
  result = pfc_seal_open(verifier, session, *index, *judged, message, size, seal, command, nonce);
  if (result == PFC_E_MALFORMED) return PFC_VERDICT_MALFORMED;
  if (result != PFC_OK) {
    session->refusals++;
    return PFC_VERDICT_DEVICE_DIFFERS;
  }
  if (candidate >= 0) pfc_slot_inherit(&session->candidate, &verifier->ledger.slots[*index]);
  return PFC_VERDICT_NONE;
}

/// Judges a sealed command and answers it: by VERDICT if it was not opened, otherwise by SEALED-DOWN.
PFC_APART static void answer_sealed(struct pfc_verifier *verifier, struct pfc_session *session,
                                    const struct pfc_sealed *sealed, const uint8_t *message, size_t size,
                                    struct pfc_outcome *outcome) {
  struct pfc_seal seal;
  struct pfc_command command = {0};
  const struct pfc_slot *judged = NULL;
  uint8_t nonce[PFC_NONCE_BYTES] = {0};
  uint64_t next = 0;
  uint16_t detail = 0;
  int index = -1;
  uint8_t verdict;
  memset(&seal, 0, sizeof seal);
  verdict = meet_sealed(verifier, session, sealed, message, size, &index, &judged, &seal, &command, nonce, &detail);
  if (verdict != PFC_VERDICT_NONE) {
    answer_refused(outcome, verdict, detail, sealed->counter);
    pfc_answer_confirm(outcome, sealed->counter);
  } else {
    outcome->instance_id = command.instance_id;
    pfc_answer_met(verifier, session, message, size, &command, index, judged, nonce, outcome, &seal);
    pfc_answer_confirm(outcome, sealed->counter);
#if PFC_CHANNEL
    next = pfc_channel_open(verifier, session, index, outcome, seal.chain);
#endif
    if (outcome->verdict != PFC_VERDICT_FAULT) pfc_seal_answer(outcome, next, seal.down);
  }
  pfc_wipe(&seal, sizeof seal);
}

void pfc_receive_sealed(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                        size_t size, struct pfc_outcome *outcome) {
  struct pfc_sealed sealed;
  uint8_t verdict = PFC_VERDICT_MALFORMED;
  if (pfc_sealed_decode(&sealed, message, size) == PFC_OK) verdict = meet_stranger(session);
  if (verdict != PFC_VERDICT_NONE) {
    answer_refused(outcome, verdict, 0, sealed.counter);
    return;
  }
  answer_sealed(verifier, session, &sealed, message, size, outcome);
  // Dead already; now there is nothing left that could come back to life.
  pfc_wipe(&session->challenge, sizeof session->challenge);
}

#endif

void pfc_receive_command(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                         size_t size, struct pfc_outcome *outcome) {
  struct pfc_command command;
  uint8_t verdict;
  int result;
  result = pfc_command_decode(&command, message, size);
  verdict = result == PFC_E_TOO_NEW ? PFC_VERDICT_TOO_NEW : PFC_VERDICT_MALFORMED;
  if (result == PFC_OK) verdict = meet_stranger(session);
  outcome->instance_id = command.instance_id;
  if (verdict != PFC_VERDICT_NONE) {
    answer_refused(outcome, verdict, verdict == PFC_VERDICT_TOO_NEW ? PFC_TOLD(PFC_DETAIL_UNKNOWN_KIND) : 0,
                   command.counter);
    return;
  }
  answer_command(verifier, session, message, size, &command, outcome);
  // Dead already; now there is nothing left that could come back to life.
  pfc_wipe(&session->challenge, sizeof session->challenge);
  pfc_answer_confirm(outcome, command.counter);
}

// RECALL ---------------------------------------------------------------------------------------------------------

static uint8_t judge_recall(const struct pfc_slot *slot, const struct pfc_recall *recall) {
  if (recall->counter < slot->last.counter) return PFC_VERDICT_STALE;
  if (recall->counter == slot->last.counter && slot->last.verdict != PFC_VERDICT_NONE &&
      memcmp(recall->nonce, slot->last.nonce, PFC_LAST_NONCE_BYTES) == 0) {
    return slot->last.verdict;
  }
  return PFC_VERDICT_NOT_EXECUTED;
}

/// Checks a recall, all but its answer. PFC_VERDICT_NONE if there is an answer, for the slot `*index`.
static uint8_t meet_recall(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                           const struct pfc_recall *recall, int *index) {
  int result;
  if (meet_stranger(session) != PFC_VERDICT_NONE) return PFC_VERDICT_BUSY;
  *index = pfc_ledger_find(&verifier->ledger, recall->instance_id);
  if (*index < 0 || verifier->ledger.slots[*index].state != PFC_SLOT_HELD) return PFC_VERDICT_UNKNOWN;
  result = pfc_recall_check(message, verifier->ledger.slots[*index].secrets.device_key);
  PFC_DECLASSIFY(&result, sizeof result);
  if (result != PFC_OK) {
    session->refusals++;
    return PFC_VERDICT_DEVICE_DIFFERS;
  }
  if (recall->counter >= verifier->ledger.counter) return PFC_VERDICT_MALFORMED;
  // The two looks never differ unless something was done to the hardware.
  return pfc_review_recall(verifier, *index, message) == PFC_REVIEW_PASSED ? PFC_VERDICT_NONE : PFC_VERDICT_FAULT;
}

void pfc_receive_recall(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                        size_t size, struct pfc_outcome *outcome) {
  struct pfc_recall recall;
  const struct pfc_slot *slot;
  uint8_t verdict = PFC_VERDICT_MALFORMED;
  int index = -1;
  if (pfc_recall_decode(&recall, message, size) == PFC_OK) {
    verdict = meet_recall(verifier, session, message, &recall, &index);
  }
  outcome->instance_id = recall.instance_id;
  if (verdict != PFC_VERDICT_NONE) {
    answer_refused(outcome, verdict, 0, recall.counter);
    return;
  }
#if PFC_RATCHETS
  if (settle_slot(verifier, index) != PFC_OK) {
    answer_refused(outcome, PFC_VERDICT_FAULT, 0, recall.counter);
    return;
  }
#endif
  slot = &verifier->ledger.slots[index];
  // "Not executed" must stay true: whatever was asked before is dead for this instance, on every link.
  if (recall.counter >= verifier->alive_from[index]) verifier->alive_from[index] = recall.counter + 1;
  pfc_answer_signed(outcome, slot, recall.nonce, judge_recall(slot, &recall), 0, recall.counter);
}
