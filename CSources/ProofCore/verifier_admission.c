// SPDX-License-Identifier: Apache-2.0

// Admission of tokens and orders, both signed by an issuer that the hardware trusts.

#include "crypto.h"
#include "internal.h"
#include "order.h"
#include "token.h"
#include "verifier_answer.h"
#include "verifier_clock.h"
#include "verifier_detail.h"
#include "verifier_grant.h"
#include "verifier_log.h"
#include "verifier_receive.h"
#include "verifier_review.h"

#if PFC_OPENS_TOKENS

/// Whether a signature would move the hardware's time by more than one may (PFC_EPOCH_STEP).
static int is_ahead(const struct pfc_verifier *verifier, uint64_t issued) {
  uint64_t known = pfc_verifier_time(verifier);
  return known != 0 && issued > known && issued - known > PFC_EPOCH_STEP;
}

// TOKEN ----------------------------------------------------------------------------------------------------------

static const struct pfc_slot *holder_of(const struct pfc_ledger *ledger,
                                        const uint8_t digest[PFC_TOKEN_DIGEST_BYTES]) {
  for (int i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *slot = &ledger->slots[i];
    // Twice, by other code: what is held already is answered without being opened.
    if (slot->state == PFC_SLOT_HELD && memcmp(slot->token_digest, digest, PFC_TOKEN_DIGEST_BYTES) == 0 &&
        pfc_equal(slot->token_digest, digest, PFC_TOKEN_DIGEST_BYTES)) {
      return slot;
    }
  }
  return NULL;
}

static uint8_t tell(uint16_t *detail, uint16_t told, uint8_t verdict) {
  *detail = told;
  return verdict;
}

/// Judges an authentic token. PFC_VERDICT_HELD if it may take slot `*index`, PFC_VERDICT_READY if it may do so after
/// its generation has proved itself.
static uint8_t judge_token(const struct pfc_verifier *verifier, const struct pfc_token *token, int *index,
                           uint16_t *detail) {
  const struct pfc_ledger *ledger = &verifier->ledger;
  uint64_t now = pfc_verifier_epoch(verifier);
  if (token->issued > now) now = token->issued;
  *index = pfc_ledger_find(ledger, token->instance_id);
  if (token->issued < ledger->floor) return tell(detail, PFC_TOLD(PFC_DETAIL_BELOW_FLOOR), PFC_VERDICT_SUPERSEDED);
  if (is_ahead(verifier, token->issued)) return tell(detail, PFC_DETAIL_AHEAD, PFC_VERDICT_EXPIRED);
  if (*index >= 0 && token->generation <= ledger->slots[*index].revoked) return PFC_VERDICT_REVOKED;
  if (*index >= 0 && token->generation <= ledger->slots[*index].generation) {
    return tell(detail, PFC_TOLD(PFC_DETAIL_OLDER_GENERATION), PFC_VERDICT_SUPERSEDED);
  }
  if (token->not_after != 0 && now > token->not_after) {
    return tell(detail, PFC_TOLD(pfc_days_past(now, token->not_after)), PFC_VERDICT_EXPIRED);
  }
  if (*index >= 0 && ledger->slots[*index].state == PFC_SLOT_HELD && (token->policy & PFC_POLICY_UPCOMING) != 0) {
    return PFC_VERDICT_READY;
  }
  if (*index < 0) *index = pfc_ledger_find_free(ledger);
  return *index >= 0 ? PFC_VERDICT_HELD : PFC_VERDICT_NO_ROOM;
}

/// Puts a token that was judged and reviewed into its slot.
PFC_APART static uint8_t hold_token(struct pfc_verifier *verifier, int index, const struct pfc_token *token,
                          const uint8_t digest[PFC_TOKEN_DIGEST_BYTES], const uint32_t *review) {
  struct pfc_ledger *ledger = &verifier->ledger;
  struct pfc_slot next = {0};
  int fresh = ledger->slots[index].state == PFC_SLOT_FREE;
  int changed = 0;
  int result;
  if (fresh) {
    // Commands of an earlier tenant, or before this one was known, cannot be told any more.
    next.last.counter = ledger->counter;
  } else {
    next = ledger->slots[index];
  }
  pfc_slot_fill(&next, token, digest);
  result = pfc_log_token(verifier, token);
  if (result == PFC_OK) {
    result = pfc_verifier_raise(verifier, review, token->issued, 0, &changed);
    // First: a cut between leaves an instance without what it was lent, never one with what another was.
    if (result == PFC_OK) result = pfc_grant_clear(verifier, index);
    if (result == PFC_OK) result = pfc_ledger_put(ledger, index, &next);
    if (result != PFC_OK) pfc_log_withdraw(verifier);
  }
  if (result == PFC_OK && fresh) verifier->alive_from[index] = verifier->swept_from;
  pfc_wipe(&next, sizeof next);
  return result == PFC_OK ? PFC_VERDICT_HELD : pfc_verdict_of(result);
}

/// Makes an upcoming token that was judged and reviewed the link's candidate. The slot stays as it is: a thief of the
/// app's files can present the token too.
PFC_APART static uint8_t stand_candidate(struct pfc_verifier *verifier, struct pfc_session *session, int index,
                                         const struct pfc_token *token,
                                         const uint8_t digest[PFC_TOKEN_DIGEST_BYTES], uint32_t review) {
  int changed = 0;
  int result;
  review ^= PFC_REVIEW_READY ^ PFC_REVIEW_PASSED;
  result = pfc_verifier_raise(verifier, &review, token->issued, 0, &changed);
  if (result != PFC_OK) return pfc_verdict_of(result);
  memset(&session->candidate, 0, sizeof session->candidate);
  pfc_slot_fill(&session->candidate, token, digest);
  pfc_slot_inherit(&session->candidate, &verifier->ledger.slots[index]);
  return PFC_VERDICT_READY;
}

/// Opens a token and, if all is well at the second look too, holds it or makes it the link's candidate.
static uint8_t take_token(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                          size_t size, const uint8_t digest[PFC_TOKEN_DIGEST_BYTES], uint16_t *detail) {
  struct pfc_token token;
  uint8_t verdict;
  int index = -1;
  int result = pfc_token_open_told(&token, message, size, verifier->hardware, detail);
  if (result != PFC_OK) return pfc_verdict_of(result);
#if PFC_SEALS_COMMANDS
  // Its instance could send no command to hardware that answers no sealed ones.
  if ((token.policy & PFC_POLICY_SEALED) != 0 && !verifier->seal.on) {
    pfc_wipe(&token, sizeof token);
    return tell(detail, PFC_TOLD(PFC_DETAIL_RESERVED_BIT), PFC_VERDICT_TOO_NEW);
  }
#endif
  verdict = judge_token(verifier, &token, &index, detail);
  if (verdict == PFC_VERDICT_HELD || verdict == PFC_VERDICT_READY) {
    uint32_t review = pfc_review_token(verifier, index, message, size, &token);
    // The two looks never differ unless something was done to the hardware.
    if (verdict == PFC_VERDICT_HELD && review == PFC_REVIEW_PASSED) {
      verdict = hold_token(verifier, index, &token, digest, &review);
    } else if (verdict == PFC_VERDICT_READY && review == PFC_REVIEW_READY) {
      verdict = stand_candidate(verifier, session, index, &token, digest, review);
    } else {
      verdict = PFC_VERDICT_FAULT;
    }
  }
  pfc_wipe(&token, sizeof token);
  return verdict;
}

void pfc_receive_token(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                          size_t size, struct pfc_outcome *outcome) {
  const struct pfc_slot *slot;
  const struct pfc_slot *candidate = &session->candidate;
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES];
  uint8_t verdict = PFC_VERDICT_HELD;
  uint16_t detail = 0;
  int result = pfc_token_check_head(message, size, verifier->hardware);
  if (result != PFC_OK) {
    pfc_answer_plain(outcome, pfc_verdict_of(result), pfc_token_head_detail(message, result), 0);
    return;
  }
  pfc_token_digest(digest, message);
  slot = holder_of(&verifier->ledger, digest);
  if (slot == NULL) {
    if (session->openings >= PFC_SESSION_OPENINGS_MAX) {
      pfc_answer_plain(outcome, PFC_VERDICT_BUSY, PFC_SESSION_WAIT_SECONDS, 0);
      return;
    }
    verdict = take_token(verifier, session, message, size, digest, &detail);
    slot = holder_of(&verifier->ledger, digest);
  }
  if (verdict == PFC_VERDICT_HELD && slot != NULL) {
    pfc_answer_signed(outcome, slot, digest, PFC_VERDICT_HELD, pfc_uses_detail(slot->uses), 0);
  } else if (verdict == PFC_VERDICT_READY) {
    // Counts as an opening: it cost public-key work and changed nothing that lasts.
    session->openings++;
    pfc_answer_signed(outcome, candidate, digest, PFC_VERDICT_READY, pfc_uses_detail(candidate->uses), 0);
  } else {
    session->openings++;
    pfc_answer_plain(outcome, verdict, detail != 0 ? detail : pfc_verdict_detail(verdict), 0);
  }
}

// ORDER ----------------------------------------------------------------------------------------------------------

static int revoke(struct pfc_verifier *verifier, const struct pfc_order *order, int *changed) {
  struct pfc_ledger *ledger = &verifier->ledger;
  struct pfc_slot next = {0};
  int index = pfc_ledger_find(ledger, order->instance_id);
  int fresh = index < 0;
  int result;
  // The order revokes tokens issued before itself, and so before the floor: they are gone already.
  if (order->issued < ledger->floor) return PFC_OK;
  if (!fresh) {
    const struct pfc_slot *slot = &ledger->slots[index];
    if (order->generation <= slot->revoked && order->issued <= slot->revoked_at) return PFC_OK;
    next = *slot;
  } else {
    index = pfc_ledger_find_free(ledger);
    if (index < 0) return PFC_E_SPACE;
    memcpy(next.instance_id, order->instance_id, PFC_ID_BYTES);
    next.last.counter = ledger->counter;
  }
  pfc_slot_revoke(&next, order->generation, order->issued);
  result = pfc_ledger_put(ledger, index, &next);
  if (result == PFC_OK) *changed = 1;
  if (result == PFC_OK && fresh) verifier->alive_from[index] = verifier->swept_from;
  pfc_wipe(&next, sizeof next);
  return result;
}

/// Whether an authentic order asks for what is not so already. One that was obeyed can be sent again by anyone, and
/// changes nothing: not here, and once more not where epoch, floor and slots only rise.
static int is_news(const struct pfc_ledger *ledger, const struct pfc_order *order) {
  const struct pfc_slot *slot;
  int index;
  if (order->issued > ledger->epoch) return 1;
  if (order->type == PFC_ORDER_FLOOR) return order->issued > ledger->floor;
  if (order->type != PFC_ORDER_REVOKE || order->issued < ledger->floor) return 0;
  index = pfc_ledger_find(ledger, order->instance_id);
  if (index < 0) return 1;
  slot = &ledger->slots[index];
  return order->generation > slot->revoked || order->issued > slot->revoked_at;
}

/// Whether an order finds a slot, if it needs one. One that does not may be sent again by anyone, and writes nothing.
static int has_room(const struct pfc_ledger *ledger, const struct pfc_order *order) {
  if (order->type != PFC_ORDER_REVOKE || order->issued < ledger->floor) return 1;
  return pfc_ledger_find(ledger, order->instance_id) >= 0 || pfc_ledger_find_free(ledger) >= 0;
}

static int obey(struct pfc_verifier *verifier, const struct pfc_order *order, const volatile uint32_t *review,
                int *changed) {
  int result = has_room(&verifier->ledger, order) ? pfc_log_order(verifier, order) : PFC_E_SPACE;
  if (result != PFC_OK) return result;
  if (order->type == PFC_ORDER_REVOKE) result = revoke(verifier, order, changed);
  if (result == PFC_OK) {
    result = pfc_verifier_raise(verifier, review, order->issued, order->type == PFC_ORDER_FLOOR ? order->issued : 0,
                                changed);
  }
  if (result != PFC_OK) pfc_log_withdraw(verifier);
  return result;
}

void pfc_receive_order(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                          size_t size, struct pfc_outcome *outcome) {
  struct pfc_order order;
  uint8_t verdict = PFC_VERDICT_DONE;
  // Stays 0 where nothing is reviewed, so that a fault that skips the branches below finds no passed review.
  volatile uint32_t review = 0;
  uint16_t detail = 0;
  int changed = 0;
  int result;
  if (session->openings >= PFC_SESSION_OPENINGS_MAX) {
    pfc_answer_plain(outcome, PFC_VERDICT_BUSY, PFC_SESSION_WAIT_SECONDS, 0);
    return;
  }
  result = pfc_order_check_head(message, size, verifier->hardware);
  if (result != PFC_OK) {
    pfc_answer_plain(outcome, pfc_verdict_of(result), pfc_order_detail(message, result), 0);
    return;
  }
  result = pfc_order_open(&order, message, size, verifier->hardware);
  if (result == PFC_OK && is_ahead(verifier, order.issued)) {
    verdict = PFC_VERDICT_EXPIRED;
    detail = PFC_DETAIL_AHEAD;
  } else if (result == PFC_OK && is_news(&verifier->ledger, &order)) {
    review = pfc_review_order(verifier, message, size, &order);
    // The two looks never differ unless something was done to the hardware.
    result = review == PFC_REVIEW_PASSED ? obey(verifier, &order, &review, &changed) : PFC_E_STORAGE;
  }
  if (result != PFC_OK) {
    verdict = result == PFC_E_SPACE ? PFC_VERDICT_NO_ROOM : pfc_verdict_of(result);
    detail = result == PFC_E_TOO_NEW ? pfc_order_detail(message, result) : pfc_verdict_detail(verdict);
  }
  if (!changed || result != PFC_OK) session->openings++;
  pfc_answer_plain(outcome, verdict, detail, 0);
}

#endif
