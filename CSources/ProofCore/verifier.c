// SPDX-License-Identifier: Apache-2.0

#include "verifier.h"

#include "crypto.h"
#include "internal.h"
#include "verifier_answer.h"
#include "verifier_channel.h"
#include "verifier_clock.h"
#include "verifier_detail.h"
#include "verifier_log.h"
#include "verifier_receive.h"
#include "verifier_sealed.h"

// Life -----------------------------------------------------------------------------------------------------------

static int platform_is_complete(const struct pfc_platform *platform) {
  return platform->random != NULL && platform->storage.read != NULL && platform->storage.write != NULL;
}

int pfc_verifier_provision(const struct pfc_hardware *hardware, const struct pfc_platform *platform, uint64_t epoch,
                           uint64_t floor, uint64_t counter) {
  if (pfc_hardware_check(hardware) != PFC_OK || !platform_is_complete(platform)) return PFC_E_ARGUMENT;
  return pfc_ledger_format(&platform->storage, hardware->secret_key, epoch, floor, counter);
}

int pfc_verifier_init(struct pfc_verifier *verifier, const struct pfc_hardware *hardware,
                      const struct pfc_platform *platform) {
  int result;
  memset(verifier, 0, sizeof *verifier);
  if (pfc_hardware_check(hardware) != PFC_OK || !platform_is_complete(platform)) return PFC_E_ARGUMENT;
  result = pfc_ledger_load(&verifier->ledger, &platform->storage, hardware->secret_key);
  if (result != PFC_OK) return result;
  verifier->hardware = hardware;
  verifier->platform = *platform;
  verifier->epoch = verifier->ledger.epoch;
  verifier->epoch_seconds = pfc_platform_seconds(platform);
  verifier->ready = 1;
  return PFC_OK;
}

void pfc_verifier_wipe(struct pfc_verifier *verifier) {
#if PFC_KEEPS_LOG
  if (verifier->log != NULL) pfc_wipe(verifier->log, sizeof *verifier->log);
#endif
  pfc_wipe(verifier, sizeof *verifier);
}

void pfc_session_init(struct pfc_session *session) { memset(session, 0, sizeof *session); }

void pfc_session_close(struct pfc_session *session) { pfc_wipe(session, sizeof *session); }

void pfc_verifier_status(const struct pfc_verifier *verifier, struct pfc_status *status) {
  memset(status, 0, sizeof *status);
  if (!verifier->ready) return;
  status->mode = verifier->hardware->mode;
  status->slots = PFC_SLOTS;
  for (int i = 0; i < PFC_SLOTS; i++) {
    if (verifier->ledger.slots[i].state != PFC_SLOT_FREE) status->slots_used++;
  }
  status->epoch = pfc_verifier_epoch(verifier);
  memcpy(status->hardware_id, verifier->hardware->id, PFC_ID_BYTES);
}

#if PFC_OPENS_TOKENS
void pfc_verifier_capabilities(const struct pfc_verifier *verifier, struct pfc_capabilities *capabilities) {
  memset(capabilities, 0, sizeof *capabilities);
  if (!verifier->ready) return;
  capabilities->slots = PFC_SLOTS;
  capabilities->features = PFC_FEATURE_TOKEN_2 | PFC_FEATURE_UPCOMING | (PFC_RATCHETS ? PFC_FEATURE_RATCHET : 0u);
  if (verifier->hardware->has_factory_secret) capabilities->features |= PFC_FEATURE_FACTORY_SECRET;
#if PFC_KEEPS_LOG
  if (verifier->log != NULL) capabilities->features |= PFC_FEATURE_LOG;
#endif
#if PFC_GRANTS
  if (verifier->grants.on) capabilities->features |= PFC_FEATURE_GRANTS;
#endif
#if PFC_SEALS_COMMANDS
  if (verifier->seal.on) capabilities->features |= PFC_FEATURE_SEALED;
#endif
#if PFC_CHANNEL
  if (verifier->seal.on && verifier->channels) capabilities->features |= PFC_FEATURE_CHANNEL;
#endif
  memcpy(capabilities->hardware_id, verifier->hardware->id, PFC_ID_BYTES);
}
#endif

// ASK ------------------------------------------------------------------------------------------------------------

/// Draws into the session, whose challenge is dead.
static int draw_challenge(struct pfc_verifier *verifier, struct pfc_challenge *challenge) {
  if (verifier->platform.random(verifier->platform.context, challenge->bytes, PFC_CHALLENGE_BYTES) != 0) {
    return PFC_E_RANDOM;
  }
  // A stuck generator is found here; the counter keeps even its challenges apart.
  if (pfc_is_zero(challenge->bytes, PFC_CHALLENGE_BYTES)) return PFC_E_RANDOM;
  if (memcmp(challenge->bytes, verifier->last_random, PFC_CHALLENGE_BYTES) == 0) return PFC_E_RANDOM;
  memcpy(verifier->last_random, challenge->bytes, PFC_CHALLENGE_BYTES);
  return pfc_ledger_take_counter(&verifier->ledger, &challenge->counter);
}

/// Each of these fills the reply, or answers the verdict that is it.
PFC_APART static uint8_t receive_ask_challenge(struct pfc_verifier *verifier, struct pfc_session *session,
                                               struct pfc_outcome *outcome, uint16_t *detail) {
  int result;
  session->live = 0;
#if PFC_SEALS_COMMANDS
  session->seal_number = 0;
#endif
  result = draw_challenge(verifier, &session->challenge);
  if (result != PFC_OK) {
    pfc_wipe(&session->challenge, sizeof session->challenge);
    // Where details are not told, the parameter has no use, and the compiler drops it.
    if (PFC_TELLS_DETAILS) {
      *detail = result == PFC_E_RANDOM ? PFC_TOLD(PFC_DETAIL_NOT_DRAWN) : PFC_TOLD(PFC_DETAIL_NOT_STORED);
    }
    return pfc_verdict_of(result);
  }
  session->asked = pfc_platform_seconds(&verifier->platform);
  session->live = 1;
  outcome->reply_type = PFC_MESSAGE_CHALLENGE;
  outcome->reply_size = PFC_CHALLENGE_MESSAGE_BYTES;
  pfc_challenge_encode(outcome->reply, &session->challenge);
  return PFC_VERDICT_NONE;
}

#if PFC_SEALS_COMMANDS
/// A challenge with E_lock. It computes no X25519: the key was made before, or the asker waits.
PFC_APART static uint8_t receive_ask_sealed(struct pfc_verifier *verifier, struct pfc_session *session,
                                            struct pfc_outcome *outcome, uint16_t *detail) {
  uint8_t verdict;
  session->live = 0;
  *detail = 1;
  if (!pfc_seal_is_ready(verifier)) return PFC_VERDICT_BUSY;
  *detail = 0;
  verdict = receive_ask_challenge(verifier, session, outcome, detail);
  if (verdict != PFC_VERDICT_NONE) return verdict;
  session->seal_number = verifier->seal.number;
  outcome->reply_size = PFC_SEALED_CHALLENGE_BYTES;
  pfc_sealed_challenge_encode(outcome->reply, &session->challenge, verifier->seal.public_key);
  return PFC_VERDICT_NONE;
}
#endif

PFC_APART static uint8_t receive_ask_status(const struct pfc_verifier *verifier, struct pfc_outcome *outcome) {
  struct pfc_status status;
  pfc_verifier_status(verifier, &status);
  outcome->reply_type = PFC_MESSAGE_STATUS;
  outcome->reply_size = PFC_STATUS_BYTES;
  pfc_status_encode(outcome->reply, &status);
  return PFC_VERDICT_NONE;
}

// All ------------------------------------------------------------------------------------------------------------

/// PFC_VERDICT_NONE if the reply is filled; otherwise the verdict to tell, with `*detail`.
static uint8_t receive(struct pfc_verifier *verifier, struct pfc_session *session, uint8_t type,
                       const uint8_t *message, size_t size, struct pfc_outcome *outcome, uint16_t *detail) {
  if (!verifier->ready) {
    *detail = PFC_TOLD(PFC_DETAIL_NOT_STARTED);
    return PFC_VERDICT_FAULT;
  }
  if (!pfc_message_fits(type, size)) return PFC_VERDICT_MALFORMED;
  switch (type) {
    case PFC_MESSAGE_ASK:
      if (message[0] == PFC_ASK_CHALLENGE) return receive_ask_challenge(verifier, session, outcome, detail);
#if PFC_SEALS_COMMANDS
      if (message[0] == PFC_ASK_SEALED && verifier->seal.on) {
        return receive_ask_sealed(verifier, session, outcome, detail);
      }
#endif
      if (message[0] == PFC_ASK_STATUS) return receive_ask_status(verifier, outcome);
      *detail = PFC_TOLD(PFC_DETAIL_UNKNOWN_KIND);
      return PFC_VERDICT_TOO_NEW;
#if PFC_OPENS_TOKENS
    case PFC_MESSAGE_TOKEN:
      pfc_receive_token(verifier, session, message, size, outcome);
      return PFC_VERDICT_NONE;
    case PFC_MESSAGE_ORDER:
      pfc_receive_order(verifier, session, message, size, outcome);
      return PFC_VERDICT_NONE;
#endif
    case PFC_MESSAGE_COMMAND:
#if PFC_SEALS_COMMANDS
      if (verifier->seal.on && pfc_kind_is_sealed(message[0])) {
        pfc_receive_sealed(verifier, session, message, size, outcome);
        return PFC_VERDICT_NONE;
      }
#endif
      pfc_receive_command(verifier, session, message, size, outcome);
      return PFC_VERDICT_NONE;
#if PFC_CHANNEL
    case PFC_MESSAGE_SEALED_UP:
      if (!verifier->channels) break;
      pfc_receive_channel(verifier, session, message, size, outcome);
      return PFC_VERDICT_NONE;
#endif
#if PFC_GRANTS
    case PFC_MESSAGE_GRANT:
      if (!verifier->grants.on) break;
      pfc_receive_grant(verifier, session, message, size, outcome);
      return PFC_VERDICT_NONE;
#endif
    case PFC_MESSAGE_RECALL:
      pfc_receive_recall(verifier, session, message, size, outcome);
      return PFC_VERDICT_NONE;
    default:
      break;
  }
  // Refuse messages that only the hardware sends, and types that this build does not open.
  return PFC_VERDICT_MALFORMED;
}

void pfc_verifier_receive(struct pfc_verifier *verifier, struct pfc_session *session, uint8_t type,
                          const uint8_t *message, size_t size, struct pfc_outcome *outcome) {
  uint8_t verdict = PFC_VERDICT_NONE;
  uint16_t detail = 0;
  uint64_t next = pfc_log_next(verifier);
  memset(outcome, 0, sizeof *outcome);
#if PFC_SEALS_COMMANDS
  pfc_wipe(verifier->opened, sizeof verifier->opened);
#endif
#if PFC_CHANNEL
  // Any other message ends the link's channel. A SEALED-UP takes it, and gives it back if it was accepted.
  if (session->channel.next != 0 && (type != PFC_MESSAGE_SEALED_UP || !pfc_message_fits(type, size))) {
    pfc_channel_end(session);
    // If it still stands, a skipped instruction has had other memory wiped: judge nothing by that.
    if (session->channel.next != 0) verdict = PFC_VERDICT_FAULT, detail = pfc_verdict_detail(verdict);
  }
#endif
  if (verdict == PFC_VERDICT_NONE) verdict = receive(verifier, session, type, message, size, outcome, &detail);
  if (verdict != PFC_VERDICT_NONE) pfc_answer_plain(outcome, verdict, detail, 0);
  pfc_log_answered(verifier, next, outcome->verdict);
}
