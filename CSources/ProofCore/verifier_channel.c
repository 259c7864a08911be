// SPDX-License-Identifier: Apache-2.0

#include "verifier_channel.h"

#include "crypto.h"
#include "internal.h"
#include "verifier_clock.h"

#if PFC_CHANNEL

// Life -----------------------------------------------------------------------------------------------------------

int pfc_verifier_keep_channels(struct pfc_verifier *verifier) {
  if (!verifier->ready) return PFC_E_ARGUMENT;
  verifier->channels = 1;
  return PFC_OK;
}

void pfc_channel_end(struct pfc_session *session) { pfc_wipe(&session->channel, sizeof session->channel); }

uint8_t pfc_channel_verdict(uint8_t kind) {
  return pfc_kind_is_integrity(kind) ? PFC_VERDICT_ACCEPTED : PFC_VERDICT_ACCEPTED_DEVICE;
}

uint32_t pfc_channel_sum(const struct pfc_channel *channel) {
  uint32_t sum = 0;
  for (size_t i = 0; i < sizeof channel->chain; i++) sum = (sum ^ channel->chain[i]) * 16777619u;
  return sum;
}

uint32_t pfc_channel_seconds(const struct pfc_verifier *verifier) {
  uint32_t limit = verifier->hardware->challenge_seconds;
  return limit != 0 && limit < PFC_CHANNEL_SECONDS ? limit : PFC_CHANNEL_SECONDS;
}

/// Draws the next command's counter, and ends every older challenge of the instance: whatever else of it is accepted
/// from now on ends this channel. 0 if there is none.
static uint64_t draw_next(struct pfc_verifier *verifier, int index) {
  uint64_t next = 0;
  if (pfc_ledger_take_counter(&verifier->ledger, &next) != PFC_OK) return 0;
  verifier->alive_from[index] = next;
  return next;
}

uint64_t pfc_channel_wait(struct pfc_verifier *verifier, struct pfc_session *session,
                          const struct pfc_channel *channel, const uint8_t chain[PFC_CHANNEL_KEY_BYTES],
                          uint64_t before) {
  struct pfc_channel *waiting = &session->channel;
  uint64_t next;
  if (channel->left == 0) return 0;
  next = draw_next(verifier, channel->slot);
  if (next == 0) return 0;
  *waiting = *channel;
  memcpy(waiting->chain, chain, sizeof waiting->chain);
  waiting->sum = pfc_channel_sum(waiting);
  waiting->before = before;
  waiting->next = next;
  return next;
}

PFC_APART uint64_t pfc_channel_open(struct pfc_verifier *verifier, struct pfc_session *session, int index,
                                    const struct pfc_outcome *outcome, const uint8_t chain[PFC_CHANNEL_KEY_BYTES]) {
  const struct pfc_slot *slot = &verifier->ledger.slots[index];
  struct pfc_channel channel = {.slot = (uint8_t)index, .kind = outcome->kind};
  if (!verifier->channels || outcome->execute != PFC_EXECUTE) return 0;
  // A command that told a copy opens none.
  if (outcome->verdict != pfc_channel_verdict(outcome->kind)) return 0;
  if ((slot->policy & PFC_POLICY_CHANNEL) == 0) return 0;
  channel.opened = pfc_platform_seconds(&verifier->platform);
  channel.left = verifier->platform.seconds != NULL ? PFC_CHANNEL_COMMANDS : PFC_CHANNEL_COMMANDS_BLIND;
  memcpy(channel.token_digest, slot->token_digest, sizeof channel.token_digest);
  return pfc_channel_wait(verifier, session, &channel, chain, outcome->counter);
}

#endif
