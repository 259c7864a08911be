// SPDX-License-Identifier: Apache-2.0

#include "verifier_grant.h"

#include "crypto.h"
#include "grant.h"
#include "internal.h"
#include "verifier_answer.h"
#include "verifier_clock.h"
#include "verifier_detail.h"
#include "verifier_log.h"
#include "verifier_receive.h"
#include "verifier_review.h"

#if PFC_GRANTS

enum { AT_OWNER = 8 };

int pfc_verifier_take_grants(struct pfc_verifier *verifier) {
  int result;
  if (!verifier->ready) return PFC_E_ARGUMENT;
  result = pfc_grants_load(&verifier->grants, &verifier->ledger.storage, verifier->ledger.record_key);
  // A lock that cannot tell what was taken back opens nothing.
  verifier->ready = result == PFC_OK;
  verifier->grants.on = verifier->ready;
  return result;
}

int pfc_grant_clear(struct pfc_verifier *verifier, int index) {
  if (!verifier->grants.on || verifier->ledger.slots[index].state == PFC_SLOT_HELD) return PFC_OK;
  return pfc_grants_forget(&verifier->grants, index, &verifier->ledger.storage, verifier->ledger.record_key);
}

// Commands -------------------------------------------------------------------------------------------------------

/// Whether a row is that of the slot's present instance. Firmware that takes no grants may have given the slot away.
static int is_own(const struct pfc_verifier *verifier, int index) {
  return memcmp(verifier->grants.rows[index].member_id, verifier->ledger.slots[index].instance_id,
                PFC_GRANT_PREFIX_BYTES) == 0;
}

/// The slot of the row's owner if it is still held by that instance, or NULL.
static const struct pfc_slot *owner_of(const struct pfc_verifier *verifier, const struct pfc_grant_row *row) {
  const struct pfc_slot *slot;
  if (row->owner == 0 || row->owner > PFC_SLOTS) return NULL;
  slot = &verifier->ledger.slots[row->owner - 1];
  if (slot->state != PFC_SLOT_HELD) return NULL;
  return memcmp(slot->instance_id, row->owner_id, PFC_GRANT_PREFIX_BYTES) == 0 ? slot : NULL;
}

/// Whether the instance of a slot could send commands now.
static int is_able(const struct pfc_verifier *verifier, const struct pfc_slot *slot) {
  if (slot->not_after != 0 && pfc_verifier_epoch(verifier) > slot->not_after) return 0;
  return slot->attempts != 0 && slot->uses != 0;
}

static int is_over(const struct pfc_verifier *verifier, const struct pfc_grant_row *row) {
  return row->uses == 0 || pfc_verifier_epoch(verifier) > row->end;
}

uint16_t pfc_grant_lent(const struct pfc_verifier *verifier, int index) {
  const struct pfc_grant_row *row = &verifier->grants.rows[index];
  const struct pfc_slot *owner;
  if (!verifier->grants.on || !is_own(verifier, index)) return 0;
  if (is_over(verifier, row)) return 0;
  owner = owner_of(verifier, row);
  if (owner == NULL || !is_able(verifier, owner)) return 0;
  return row->classes & owner->delegable_classes & owner->integrity_classes;
}

uint16_t pfc_grant_detail(const struct pfc_verifier *verifier, int index, uint8_t command_class) {
  const struct pfc_grant_row *row = &verifier->grants.rows[index];
  uint16_t bit = (uint16_t)(1u << command_class);
  if (!verifier->grants.on || !is_own(verifier, index) || (row->classes & bit) == 0) return 0;
  if (is_over(verifier, row)) return PFC_DETAIL_GRANT_SPENT;
  return (pfc_grant_lent(verifier, index) & bit) != 0 ? PFC_DETAIL_INTEGRITY_DEMANDED : PFC_DETAIL_OWNER_CANNOT;
}

PFC_APART int pfc_grant_charge(struct pfc_verifier *verifier, int index) {
  struct pfc_ledger *ledger = &verifier->ledger;
  struct pfc_grant_row row = verifier->grants.rows[index];
  struct pfc_slot *owner;
  // Only a fault leads here with nothing lent.
  if (row.owner == 0 || row.owner > PFC_SLOTS || row.uses == 0) return PFC_E_STORAGE;
  owner = &ledger->slots[row.owner - 1];
  if (owner->uses == 0) return PFC_E_STORAGE;
  if (owner->uses != PFC_USES_UNLIMITED) {
    int result;
    // Spent in memory whatever storage says, as an attempt is.
    owner->uses--;
    result = pfc_ledger_store(ledger, row.owner - 1);
    if (result != PFC_OK) return result;
  }
  row.uses--;
  return pfc_grants_put(&verifier->grants, index, &row, &ledger->storage, ledger->record_key);
}

// GRANT ----------------------------------------------------------------------------------------------------------

/// A grant whose tag is right, and whom it concerns.
struct met {
  struct pfc_grant grant;
  uint8_t digest[PFC_NONCE_BYTES];
  int owner;   ///< Slots
  int member;
};

static uint8_t tell(uint16_t *detail, uint16_t told, uint8_t verdict) {
  *detail = PFC_TOLD(told);
  return verdict;
}

/// The slot that holds the token which the grant names; one that takes back also finds the token that the row names,
/// which the member may have replaced since. -1 if there is none.
static int find_member(const struct pfc_verifier *verifier, const struct pfc_grant *grant, int owner) {
  for (int i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *slot = &verifier->ledger.slots[i];
    const struct pfc_grant_row *row = &verifier->grants.rows[i];
    if (slot->state != PFC_SLOT_HELD) continue;
    if (memcmp(slot->token_digest, grant->member, PFC_TOKEN_DIGEST_BYTES) == 0) return i;
    if (grant->classes == 0 && row->owner == owner + 1 && is_own(verifier, i) &&
        memcmp(row->named, grant->member, PFC_GRANT_PREFIX_BYTES) == 0) {
      return i;
    }
  }
  return -1;
}

/// Checks a grant as far as its tag. PFC_VERDICT_NONE if the owner's app made it.
static uint8_t meet_grant(const struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                          size_t size, struct met *met, uint16_t *detail) {
  const struct pfc_slot *slot;
  int result = pfc_grant_decode(&met->grant, message, size, verifier->hardware->id);
  if (result == PFC_E_TOO_NEW) return tell(detail, pfc_grant_head_detail(message), PFC_VERDICT_TOO_NEW);
  if (result != PFC_OK) return pfc_verdict_of(result);
  if (session->refusals >= PFC_SESSION_REFUSALS_MAX) return PFC_VERDICT_BUSY;
  met->owner = pfc_ledger_find(&verifier->ledger, met->grant.owner);
  if (met->owner < 0) return PFC_VERDICT_UNKNOWN;
  slot = &verifier->ledger.slots[met->owner];
  if (slot->state != PFC_SLOT_HELD) return PFC_VERDICT_REVOKED;
  result = pfc_grant_check(message, &slot->secrets, slot->token_digest);
  PFC_DECLASSIFY(&result, sizeof result);
  if (result == PFC_OK) return PFC_VERDICT_NONE;
  session->refusals++;
  return PFC_VERDICT_DEVICE_DIFFERS;
}

/// Judges a grant that its owner made. PFC_VERDICT_DONE if it is to be taken, PFC_VERDICT_HELD if it was already.
static uint8_t judge_grant(const struct pfc_verifier *verifier, struct met *met, uint16_t *detail) {
  const struct pfc_grant *grant = &met->grant;
  const struct pfc_slot *owner = &verifier->ledger.slots[met->owner];
  const struct pfc_grant_row *row;
  uint64_t now = pfc_verifier_epoch(verifier);
  uint32_t last = 0;
  int stands = 0;
  if (grant->generation != owner->generation) {
    return tell(detail, PFC_DETAIL_OLDER_GENERATION, PFC_VERDICT_SUPERSEDED);
  }
  met->member = find_member(verifier, grant, met->owner);
  if (met->member < 0) return tell(detail, PFC_DETAIL_NO_MEMBER, PFC_VERDICT_UNKNOWN);
  row = &verifier->grants.rows[met->member];
  if (is_own(verifier, met->member)) {
    last = row->serials[met->owner];
    stands = row->owner == met->owner + 1;
  }
  if (grant->serial <= last) {
    // Again, after a lost answer: nothing of this serial is left to take back, or the row is this very grant.
    int same = stands && memcmp(row->digest, met->digest, PFC_GRANT_PREFIX_BYTES) == 0;
    if (grant->classes == 0 ? !stands || row->uses == 0 : grant->serial == last && same) return PFC_VERDICT_HELD;
    return tell(detail, PFC_DETAIL_GRANT_SPENT, PFC_VERDICT_NOT_PERMITTED);
  }
  if (grant->classes == 0) return PFC_VERDICT_DONE;
  if (!is_able(verifier, owner)) return tell(detail, PFC_DETAIL_OWNER_CANNOT, PFC_VERDICT_NOT_PERMITTED);
  if ((grant->classes & (uint16_t)~(owner->delegable_classes & owner->integrity_classes)) != 0) {
    return tell(detail, PFC_DETAIL_NOT_DELEGABLE, PFC_VERDICT_NOT_PERMITTED);
  }
  if (now > grant->end) return tell(detail, pfc_days_past(now, grant->end), PFC_VERDICT_EXPIRED);
  return PFC_VERDICT_DONE;
}

/// Takes a grant that was judged and reviewed: entry in the log, then the row.
PFC_APART static uint8_t take_grant(struct pfc_verifier *verifier, const struct met *met) {
  const struct pfc_grant *grant = &met->grant;
  struct pfc_ledger *ledger = &verifier->ledger;
  const struct pfc_slot *member = &ledger->slots[met->member];
  struct pfc_grant_row row = {0};
  int result = pfc_log_grant(verifier, member, grant->classes == 0);
  if (result != PFC_OK) return PFC_VERDICT_FAULT;
  if (is_own(verifier, met->member)) row = verifier->grants.rows[met->member];
  memcpy(row.member_id, member->instance_id, sizeof row.member_id);
  row.serials[met->owner] = grant->serial;
  if (grant->classes != 0) {
    row.owner = (uint8_t)(met->owner + 1);
    row.classes = grant->classes;
    row.end = grant->end;
    memcpy(row.owner_id, grant->owner, sizeof row.owner_id);
    memcpy(row.named, grant->member, sizeof row.named);
    memcpy(row.digest, met->digest, sizeof row.digest);
  }
  // Another owner's loan stays.
  if (row.owner == met->owner + 1) row.uses = grant->uses;
  result = pfc_grants_put(&verifier->grants, met->member, &row, &ledger->storage, ledger->record_key);
  if (result == PFC_OK) return PFC_VERDICT_DONE;
  pfc_log_withdraw(verifier);
  return PFC_VERDICT_FAULT;
}

/// Carries an authentic grant as far as its row. PFC_VERDICT_DONE if it stands then.
static uint8_t accept_grant(struct pfc_verifier *verifier, const uint8_t *message, size_t size, struct met *met,
                            uint16_t *detail) {
  uint8_t verdict = judge_grant(verifier, met, detail);
  uint32_t review;
  if (verdict != PFC_VERDICT_DONE && verdict != PFC_VERDICT_HELD) return verdict;
  review = pfc_review_grant(verifier, met->owner, met->member, message, size);
  // The two looks never differ unless something was done to the hardware.
  if (verdict == PFC_VERDICT_HELD) return review == PFC_REVIEW_READY ? PFC_VERDICT_DONE : PFC_VERDICT_FAULT;
  return review == PFC_REVIEW_PASSED ? take_grant(verifier, met) : PFC_VERDICT_FAULT;
}

/// 1 if the row says and storage holds what *done* tells, found by other code: an owner who is told that a loan is
/// taken back does not ask again.
PFC_APART static int is_done(const struct pfc_verifier *verifier, const struct met *met) {
  const struct pfc_grant *grant = &met->grant;
  uint32_t back = (uint32_t)(grant->classes == 0), found = 0, wrong = 0;
  // Not met->member: what chose it may have been skipped.
  for (int i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *slot = &verifier->ledger.slots[i];
    const struct pfc_grant_row *row = &verifier->grants.rows[i];
    uint32_t stands = (uint32_t)(row->owner == met->owner + 1);
    int named = back && stands && memcmp(row->named, grant->member, PFC_GRANT_PREFIX_BYTES) == 0;
    if (memcmp(slot->token_digest, grant->member, PFC_TOKEN_DIGEST_BYTES) != 0 && !named) continue;
    if (slot->state != PFC_SLOT_HELD) continue;
    found = 1;
    wrong |= (uint32_t)(row->serials[met->owner] < grant->serial) | (back & stands & (row->uses != 0)) |
             ((back ^ 1u) & (stands ^ 1u)) | ((back ^ 1u) & (row->uses > grant->uses));
    wrong |= (uint32_t)!pfc_grants_are_stored(&verifier->grants, i, &verifier->ledger.storage,
                                              verifier->ledger.record_key);
  }
  return found && wrong == 0;
}

void pfc_receive_grant(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message, size_t size,
                       struct pfc_outcome *outcome) {
  struct met met;
  uint16_t detail = 0;
  uint8_t verdict;
  memset(&met, 0, sizeof met);
  met.owner = met.member = -1;
  verdict = meet_grant(verifier, session, message, size, &met, &detail);
  if (verdict == PFC_VERDICT_NONE) {
    pfc_grant_digest(met.digest, message);
    verdict = accept_grant(verifier, message, size, &met, &detail);
  }
  // Only a fault leads here with anything else.
  if (verdict == PFC_VERDICT_DONE && !is_done(verifier, &met)) verdict = PFC_VERDICT_FAULT;
  outcome->instance_id = met.grant.serial != 0 ? message + AT_OWNER : NULL;
  if (verdict == PFC_VERDICT_DONE) {
    // The answer is for the member of a loan, or for the owner of one that is taken back.
    int index = met.grant.classes != 0 ? met.member : met.owner;
    pfc_answer_signed(outcome, &verifier->ledger.slots[index], met.digest, verdict,
                      met.grant.classes != 0 ? verifier->grants.rows[met.member].uses : 0, 0);
  } else {
    pfc_answer_plain(outcome, verdict, detail != 0 ? detail : pfc_verdict_detail(verdict), 0);
  }
}

#endif
