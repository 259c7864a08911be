// SPDX-License-Identifier: Apache-2.0

// Judgement of a command, and the later answer about one (recall).

#include "crypto.h"
#include "internal.h"
#include "proof.h"
#include "verifier_answer.h"
#include "verifier_clock.h"
#include "verifier_receive.h"
#include "verifier_review.h"

/// Rate limit: after PFC_SESSION_REFUSALS_MAX wrong device proofs this link answers BUSY to every command and recall.
static uint8_t meet_stranger(const struct pfc_session *session) {
  return session->refusals < PFC_SESSION_REFUSALS_MAX ? PFC_VERDICT_NONE : PFC_VERDICT_BUSY;
}

static void answer_refused(struct pfc_outcome *outcome, uint8_t verdict, uint64_t counter) {
  pfc_answer_plain(outcome, verdict, verdict == PFC_VERDICT_BUSY ? PFC_SESSION_WAIT_SECONDS : 0, counter);
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

/// Notes an accepted command, durably where uses are counted, before it is done.
static uint8_t accept(struct pfc_verifier *verifier, int index, const struct pfc_command *command,
                      const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict) {
  struct pfc_slot *slot = &verifier->ledger.slots[index];
  struct pfc_last before = slot->last;
  slot->last.verdict = verdict;
  slot->last.counter = command->counter;
  memcpy(slot->last.nonce, nonce, PFC_LAST_NONCE_BYTES);
  if (slot->uses == PFC_USES_UNLIMITED) return verdict;
  slot->uses--;
  if (pfc_ledger_store(&verifier->ledger, index) == PFC_OK) return verdict;
  // Undo: a use that is not durable is not done, and a recall must not confirm it.
  slot->uses++;
  slot->last = before;
  return PFC_VERDICT_FAULT;
}

/// Checks a command under a live challenge against its slot; proofs are checked later.
static uint8_t judge_slot(const struct pfc_verifier *verifier, const struct pfc_slot *slot) {
  if (slot->not_after != 0 && pfc_verifier_epoch(verifier) > slot->not_after) return PFC_VERDICT_EXPIRED;
  if (slot->attempts == 0) return PFC_VERDICT_NO_ATTEMPTS;
  if (slot->uses == 0) return PFC_VERDICT_NO_USES;
  return PFC_VERDICT_NONE;
}

/// The first look: the verdict, or what would be it if nothing is found at the second.
PFC_APART static uint8_t judge_command(const struct pfc_verifier *verifier, struct pfc_session *session, int index,
                                       const struct pfc_command *command, const uint8_t nonce[PFC_NONCE_BYTES]) {
  const struct pfc_slot *slot = &verifier->ledger.slots[index];
  uint16_t permitted = command->kind == PFC_KIND_INTEGRITY ? slot->integrity_classes : slot->device_classes;
  uint8_t answered[PFC_NONCE_BYTES];
  uint8_t verdict = judge_slot(verifier, slot);
  if (verdict != PFC_VERDICT_NONE) return verdict;
  memcpy(answered, nonce, sizeof answered);
  if (command->kind == PFC_KIND_INTEGRITY) pfc_nonce_escort(answered, nonce, command->integrity_proof);
  if (check_proof(command->device_proof, slot->secrets.device_key, answered, slot->secrets.device) != PFC_OK) {
    session->refusals++;
    return PFC_VERDICT_DEVICE_DIFFERS;
  }
  if (command->kind == PFC_KIND_INTEGRITY &&
      check_proof(command->integrity_proof, slot->secrets.integrity_key, nonce, slot->secrets.integrity) != PFC_OK) {
    return PFC_VERDICT_INTEGRITY_DIFFERS;
  }
  if ((permitted & (1u << command->command_class)) == 0) return PFC_VERDICT_NOT_PERMITTED;
  return command->kind == PFC_KIND_INTEGRITY ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE;
}

/// Takes the live challenge. 1 if it is the one the command answers; it is dead either way. It still stands in the
/// session, to be looked at, until `pfc_receive_command` wipes it.
static int take_challenge(const struct pfc_verifier *verifier, struct pfc_session *session, uint64_t counter) {
  uint16_t limit = verifier->hardware->challenge_seconds;
  int live = session->live;
  session->live = 0;
  if (!live || session->challenge.counter != counter) return 0;
  return limit == 0 || verifier->platform.seconds == NULL ||
         pfc_platform_seconds(&verifier->platform) - session->asked <= limit;
}

/// Checks a command before its proofs: PFC_VERDICT_NONE if it is to be judged, for the slot `*index`.
static uint8_t meet_command(const struct pfc_verifier *verifier, struct pfc_session *session,
                            const struct pfc_command *command, int *index, uint8_t nonce[PFC_NONCE_BYTES]) {
  if (!take_challenge(verifier, session, command->counter)) return PFC_VERDICT_STALE;
  *index = pfc_ledger_find(&verifier->ledger, command->instance_id);
  if (*index < 0) return PFC_VERDICT_UNKNOWN;
  if (command->counter < verifier->alive_from[*index]) return PFC_VERDICT_STALE;
  if (verifier->ledger.slots[*index].state == PFC_SLOT_REVOKED) return PFC_VERDICT_REVOKED;
  return pfc_nonce_derive(nonce, verifier->hardware->id, &session->challenge, command->kind, command->command_class,
                          command->command, command->command_size) == PFC_OK
             ? PFC_VERDICT_NONE
             : PFC_VERDICT_MALFORMED;
}

/// Judges a command twice and answers it. The session's challenge is spent by whatever comes out.
static void answer_command(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                           size_t size, const struct pfc_command *command, struct pfc_outcome *outcome) {
  const struct pfc_slot *slot;
  uint8_t nonce[PFC_NONCE_BYTES] = {0};
  uint16_t detail = 0;
  uint32_t review = 0;
  int index = -1;
  uint8_t verdict = meet_command(verifier, session, command, &index, nonce);
  if (verdict != PFC_VERDICT_NONE) {
    answer_refused(outcome, verdict, command->counter);
    return;
  }
  slot = &verifier->ledger.slots[index];
  verdict = judge_command(verifier, session, index, command, nonce);
  if (pfc_verdict_accepts(verdict)) {
    review = pfc_review_command(verifier, session, index, message, size);
    // The two looks never differ unless something was done to the hardware.
    verdict = review == PFC_REVIEW_PASSED ? accept(verifier, index, command, nonce, verdict) : PFC_VERDICT_FAULT;
  }
  if (verdict == PFC_VERDICT_INTEGRITY_DIFFERS) verdict = spend_attempt(verifier, index);
  if (pfc_verdict_accepts(verdict)) detail = pfc_uses_detail(slot->uses);
  if (verdict == PFC_VERDICT_INTEGRITY_DIFFERS) detail = slot->attempts;
  if (verdict == PFC_VERDICT_FAULT) {
    answer_refused(outcome, verdict, command->counter);
    return;
  }
  pfc_answer_signed(outcome, slot, nonce, verdict, detail, command->counter);
  if (pfc_verdict_accepts(verdict)) {
    // Ends the instance's older challenges on every link. The last accepted command is then the one with the highest
    // counter, and a recall that finds a lower one does not deny a command that was done.
    verifier->alive_from[index] = command->counter + 1;
    outcome->kind = command->kind;
    outcome->command_class = command->command_class;
    outcome->command = command->command;
    outcome->command_size = command->command_size;
    outcome->counter = command->counter;
    // Made of what the review has found, and of nothing that stands ready: to come here by accident is not enough.
    outcome->execute = review ^ (PFC_REVIEW_PASSED ^ PFC_EXECUTE);
  }
}

void pfc_receive_command(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                         size_t size, struct pfc_outcome *outcome) {
  struct pfc_command command;
  int result = pfc_command_decode(&command, message, size);
  uint8_t verdict = result == PFC_E_TOO_NEW ? PFC_VERDICT_TOO_NEW : PFC_VERDICT_MALFORMED;
  if (result == PFC_OK) verdict = meet_stranger(session);
  outcome->instance_id = command.instance_id;
  if (verdict != PFC_VERDICT_NONE) {
    answer_refused(outcome, verdict, command.counter);
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
    answer_refused(outcome, verdict, recall.counter);
    return;
  }
  slot = &verifier->ledger.slots[index];
  // "Not executed" must stay true: whatever was asked before is dead for this instance, on every link.
  if (recall.counter >= verifier->alive_from[index]) verifier->alive_from[index] = recall.counter + 1;
  pfc_answer_signed(outcome, slot, recall.nonce, judge_recall(slot, &recall), 0, recall.counter);
}
