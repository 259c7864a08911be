// SPDX-License-Identifier: Apache-2.0

#include "verifier_log.h"

#include "internal.h"
#include "verifier_answer.h"

#if PFC_KEEPS_LOG

static int write_event(struct pfc_verifier *verifier, struct pfc_log_content *content,
                       const uint8_t instance_id[PFC_ID_BYTES]) {
  memcpy(content->who, instance_id, sizeof content->who);
  content->epoch = (uint32_t)pfc_verifier_epoch(verifier);
  return pfc_log_ring_write(verifier->log, content, verifier->ledger.counter);
}

int pfc_log_command(struct pfc_verifier *verifier, const struct pfc_command *command, uint8_t verdict) {
  struct pfc_log_content content = {.event = PFC_LOG_COMMAND,
                                    .verdict = verdict,
                                    .command_class = command->command_class,
                                    .kind = command->kind,
                                    .counter = (uint32_t)command->counter};
  return verifier->log != NULL ? write_event(verifier, &content, command->instance_id) : PFC_OK;
}

#if PFC_OPENS_TOKENS

int pfc_log_token(struct pfc_verifier *verifier, const struct pfc_token *token) {
  struct pfc_log_content content = {.event = PFC_LOG_TOKEN,
                                    .verdict = PFC_VERDICT_HELD,
                                    .counter = (uint32_t)verifier->ledger.counter};
  return verifier->log != NULL ? write_event(verifier, &content, token->instance_id) : PFC_OK;
}

int pfc_log_order(struct pfc_verifier *verifier, const struct pfc_order *order) {
  struct pfc_log_content content = {.event = PFC_LOG_ORDER,
                                    .verdict = PFC_VERDICT_DONE,
                                    .kind = order->type,
                                    .counter = (uint32_t)verifier->ledger.counter};
  return verifier->log != NULL ? write_event(verifier, &content, order->instance_id) : PFC_OK;
}

#if PFC_GRANTS
int pfc_log_grant(struct pfc_verifier *verifier, const struct pfc_slot *member, int takes_back) {
  struct pfc_log_content content = {.event = PFC_LOG_GRANT,
                                    .verdict = PFC_VERDICT_DONE,
                                    .kind = takes_back ? PFC_LOG_TAKES_BACK : PFC_LOG_LENDS,
                                    .counter = (uint32_t)verifier->ledger.counter};
  return verifier->log != NULL ? write_event(verifier, &content, member->instance_id) : PFC_OK;
}
#endif

#endif

void pfc_log_withdraw(struct pfc_verifier *verifier) {
  if (verifier->log != NULL) pfc_log_undo(&verifier->log->log);
}

uint64_t pfc_log_next(const struct pfc_verifier *verifier) {
  return verifier->log != NULL ? verifier->log->log.next : 0;
}

void pfc_log_answered(struct pfc_verifier *verifier, uint64_t next, uint8_t verdict) {
  if (verifier->log != NULL && verifier->log->log.next == next) pfc_log_refuse(&verifier->log->log, verdict);
}

// Starts ---------------------------------------------------------------------------------------------------------

/// Whether the log's last entry is a command that was accepted, and its slot does not know it: power was cut between
/// the two. A slot that does not store its last command cannot tell, and the entry stands.
static int is_undone(const struct pfc_verifier *verifier, const struct pfc_log_content *last) {
  int unknown = 0;
  if (last->event != PFC_LOG_COMMAND || !pfc_verdict_accepts(last->verdict)) return 0;
  for (int i = 0; i < PFC_SLOTS; i++) {
    const struct pfc_slot *slot = &verifier->ledger.slots[i];
    if (slot->state != PFC_SLOT_HELD || memcmp(slot->instance_id, last->who, sizeof last->who) != 0) continue;
    if (!pfc_slot_stores_last(slot)) return 0;
    if (slot->last.verdict == last->verdict && (uint32_t)slot->last.counter == last->counter) return 0;
    unknown = 1;
  }
  return unknown;
}

int pfc_verifier_keep_log(struct pfc_verifier *verifier, struct pfc_log_ring *ring, const struct pfc_log_flash *flash) {
  struct pfc_log_content last;
  int result;
  if (!verifier->ready) return PFC_E_ARGUMENT;
  result = pfc_log_ring_start(ring, flash, verifier->hardware, &last);
  // A lock that is to keep a log and cannot opens nothing.
  verifier->ready = result == PFC_OK;
  if (result != PFC_OK) return result;
  pfc_log_ring_settle(ring, is_undone(verifier, &last));
  verifier->log = ring;
  return PFC_OK;
}

#endif
