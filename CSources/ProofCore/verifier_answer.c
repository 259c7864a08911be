// SPDX-License-Identifier: Apache-2.0

#include "verifier_answer.h"

#include "internal.h"
#include "verifier_detail.h"

enum { DETAIL_UNLIMITED = 65535 };

uint16_t pfc_uses_detail(uint32_t uses) {
  if (uses == PFC_USES_UNLIMITED) return DETAIL_UNLIMITED;
  return uses < DETAIL_UNLIMITED ? (uint16_t)uses : DETAIL_UNLIMITED - 1;
}

void pfc_answer_plain(struct pfc_outcome *outcome, uint8_t verdict, uint16_t detail, uint64_t counter) {
  struct pfc_answer reply = {.verdict = verdict, .detail = detail, .counter = counter};
  outcome->execute = 0;
  outcome->verdict = verdict;
  outcome->reply_type = PFC_MESSAGE_VERDICT;
  outcome->reply_size = PFC_VERDICT_MESSAGE_BYTES;
  pfc_answer_encode(outcome->reply, &reply);
}

/// An answer that only this hardware can have made, for this nonce.
void pfc_answer_signed(struct pfc_outcome *outcome, const struct pfc_slot *slot,
                          const uint8_t nonce[PFC_NONCE_BYTES], uint8_t verdict, uint16_t detail, uint64_t counter) {
  struct pfc_answer reply = {.verdict = verdict, .detail = detail, .counter = counter};
  pfc_receipt_make(reply.receipt, slot->secrets.device_key, nonce, verdict, detail, counter);
  pfc_answer_plain(outcome, verdict, detail, counter);
  pfc_answer_encode(outcome->reply, &reply);
}

int pfc_verdict_accepts(uint8_t verdict) {
  return verdict == PFC_VERDICT_ACCEPTED || verdict == PFC_VERDICT_ACCEPTED_DEVICE ||
         (PFC_RATCHETS && (verdict == PFC_VERDICT_ACCEPTED_COPY || verdict == PFC_VERDICT_ACCEPTED_DEVICE_COPY));
}

void pfc_answer_confirm(struct pfc_outcome *outcome, uint64_t counter) {
  // As it stands in memory, and not as a register remembers it.
  const volatile uint32_t *execute = &outcome->execute;
  const volatile uint8_t *told = &outcome->reply[0];
  uint32_t is_to_be_done = *execute ^ PFC_EXECUTE;
  if (pfc_verdict_accepts(*told) == (is_to_be_done == 0)) return;
  pfc_answer_plain(outcome, PFC_VERDICT_FAULT, PFC_TOLD(PFC_DETAIL_NOT_STORED), counter);
}

uint16_t pfc_verdict_detail(uint8_t verdict) {
  if (verdict == PFC_VERDICT_BUSY) return PFC_SESSION_WAIT_SECONDS;
  // The same for a failed write and for reviews that differ: a fault must not learn how far it came.
  if (verdict == PFC_VERDICT_FAULT) return PFC_TOLD(PFC_DETAIL_NOT_STORED);
  return verdict == PFC_VERDICT_NO_ROOM ? PFC_TOLD(PFC_SLOTS) : 0;
}

uint8_t pfc_verdict_of(int result) {
  switch (result) {
    case PFC_E_RECIPIENT:
      return PFC_VERDICT_NOT_FOR_ME;
    case PFC_E_SIGNATURE:
      return PFC_VERDICT_NOT_SIGNED;
    case PFC_E_MODE:
      return PFC_VERDICT_WRONG_MODE;
    case PFC_E_TOO_NEW:
      return PFC_VERDICT_TOO_NEW;
    case PFC_E_STORAGE:
    case PFC_E_RANDOM:
      return PFC_VERDICT_FAULT;
    default:
      return PFC_VERDICT_MALFORMED;
  }
}
