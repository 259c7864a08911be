// SPDX-License-Identifier: Apache-2.0

// Commands of channels: met, opened, handed to the judgement, answered.

#include "crypto.h"
#include "internal.h"
#include "verifier_answer.h"
#include "verifier_channel.h"
#include "verifier_clock.h"
#include "verifier_detail.h"
#include "verifier_receive.h"
#include "verifier_sealed.h"

#if PFC_CHANNEL

/// 1 if the channel waits for a command with this counter, and nothing has ended it.
static int is_live(const struct pfc_verifier *verifier, const struct pfc_channel *channel, uint64_t counter) {
  const struct pfc_slot *slot = &verifier->ledger.slots[channel->slot];
  if (channel->next == 0 || channel->next != counter || channel->left == 0) return 0;
  if (verifier->platform.seconds != NULL &&
      pfc_platform_seconds(&verifier->platform) - channel->opened > pfc_channel_seconds(verifier)) {
    return 0;
  }
  if (slot->state != PFC_SLOT_HELD || (slot->policy & PFC_POLICY_CHANNEL) == 0) return 0;
  if (memcmp(slot->token_digest, channel->token_digest, PFC_TOKEN_DIGEST_BYTES) != 0) return 0;
  // The instance had no other command accepted since, and recalled none.
  return slot->last.counter == channel->before && counter >= verifier->alive_from[channel->slot];
}

/// Checks a command of a channel as far as its box. PFC_VERDICT_NONE if it was opened and is to be judged. A stranger
/// ends before anything is computed.
static uint8_t meet(struct pfc_verifier *verifier, struct pfc_session *session, const struct pfc_channel *channel,
                    const uint8_t *message, size_t size, struct pfc_seal *seal, struct pfc_command *command,
                    uint8_t nonce[PFC_NONCE_BYTES], uint16_t *detail) {
  int result;
  // The channel was taken from the link. If it still stands there, a skipped instruction has had other memory wiped.
  if (session->channel.next != 0) {
    pfc_channel_end(session);
    return PFC_VERDICT_FAULT;
  }
  if (session->refusals >= PFC_SESSION_REFUSALS_MAX) return PFC_VERDICT_BUSY;
  *detail = PFC_TOLD(PFC_DETAIL_NO_CHANNEL);
  if (!is_live(verifier, channel, pfc_get64(message))) return PFC_VERDICT_STALE;
  *detail = 0;
  seal->plain = verifier->opened;
  seal->channel = channel;
  result = pfc_channel_up_open(command, seal->plain, nonce, message, size, channel->chain);
  if (result == PFC_E_MALFORMED) return PFC_VERDICT_MALFORMED;
  if (result != PFC_OK) {
    session->refusals++;
    return PFC_VERDICT_DEVICE_DIFFERS;
  }
  command->kind = channel->kind;
  command->instance_id = verifier->ledger.slots[channel->slot].instance_id;
  pfc_channel_follow(seal->down, seal->chain, channel->chain, command->counter);
  return PFC_VERDICT_NONE;
}

/// Judges a command of the channel that was taken from the link, and answers it.
static void answer(struct pfc_verifier *verifier, struct pfc_session *session, struct pfc_channel *channel,
                   const uint8_t *message, size_t size, struct pfc_outcome *outcome) {
  struct pfc_seal seal;
  struct pfc_command command = {0};
  uint8_t nonce[PFC_NONCE_BYTES] = {0};
  uint64_t counter = pfc_get64(message), next = 0;
  uint16_t detail = 0;
  uint8_t verdict;
  memset(&seal, 0, sizeof seal);
  verdict = meet(verifier, session, channel, message, size, &seal, &command, nonce, &detail);
  if (verdict != PFC_VERDICT_NONE) {
    pfc_answer_plain(outcome, verdict, detail != 0 ? detail : pfc_verdict_detail(verdict), counter);
    pfc_answer_confirm(outcome, counter);
  } else {
    outcome->instance_id = command.instance_id;
    pfc_answer_met(verifier, session, message, size, &command, channel->slot,
                   &verifier->ledger.slots[channel->slot], nonce, outcome, &seal);
    pfc_answer_confirm(outcome, counter);
    if (outcome->execute == PFC_EXECUTE) {
      channel->left--;
      next = pfc_channel_wait(verifier, session, channel, seal.chain, counter);
    }
    if (outcome->verdict != PFC_VERDICT_FAULT) pfc_seal_answer(outcome, next, seal.down);
  }
  pfc_wipe(&seal, sizeof seal);
}

void pfc_receive_channel(struct pfc_verifier *verifier, struct pfc_session *session, const uint8_t *message,
                         size_t size, struct pfc_outcome *outcome) {
  // Taken: whatever goes wrong from here on, the link has no channel any more.
  struct pfc_channel channel = session->channel;
  pfc_channel_end(session);
  answer(verifier, session, &channel, message, size, outcome);
  pfc_wipe(&channel, sizeof channel);
}

#endif
