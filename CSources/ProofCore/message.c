// SPDX-License-Identifier: Apache-2.0

#include "message.h"

#include "crypto.h"
#include "internal.h"
#include "ratchet.h"

int pfc_message_fits(uint8_t type, size_t size) {
  switch (type) {
    case PFC_MESSAGE_ASK:
      return size == PFC_ASK_BYTES;
    case PFC_MESSAGE_CHALLENGE:
      return size == PFC_CHALLENGE_MESSAGE_BYTES || (PFC_SEALS_COMMANDS && size == PFC_SEALED_CHALLENGE_BYTES);
    case PFC_MESSAGE_TOKEN:
      return PFC_OPENS_TOKENS && size == PFC_TOKEN_BYTES;
    case PFC_MESSAGE_COMMAND:
      return size >= PFC_COMMAND_DEVICE_BYTES && size <= PFC_MESSAGE_MAX;
    case PFC_MESSAGE_VERDICT:
      return size == PFC_VERDICT_MESSAGE_BYTES;
    case PFC_MESSAGE_ORDER:
      return PFC_OPENS_TOKENS && size == PFC_ORDER_BYTES;
    case PFC_MESSAGE_RECALL:
      return size == PFC_RECALL_BYTES;
    case PFC_MESSAGE_STATUS:
      return size == PFC_STATUS_BYTES;
#if PFC_CHANNEL
    case PFC_MESSAGE_SEALED_UP:
      return size >= PFC_CHANNEL_UP_BYTES && size <= PFC_CHANNEL_UP_BYTES + PFC_SEALED_COMMAND_MAX;
#endif
    case PFC_MESSAGE_SEALED_DOWN:
      return PFC_SEALS_COMMANDS && size == PFC_SEALED_DOWN_BYTES;
    case PFC_MESSAGE_LOG_ASK:
      return PFC_KEEPS_LOG && size == PFC_LOG_ASK_BYTES;
    case PFC_MESSAGE_LOG:
      return PFC_KEEPS_LOG && size >= PFC_LOG_BYTES(0) && size <= PFC_LOG_BYTES(PFC_LOG_ENTRIES_MAX) &&
             size <= PFC_MESSAGE_MAX && (size - PFC_LOG_BYTES(0)) % PFC_LOG_ENTRY_BYTES == 0;
    case PFC_MESSAGE_GRANT:
      return PFC_GRANTS && size == PFC_GRANT_BYTES;
    default:
      return 0;
  }
}

// CHALLENGE ------------------------------------------------------------------------------------------------------

enum {
  CHALLENGE_COUNTER = 0,
  CHALLENGE_BYTES = 8
};

_Static_assert(CHALLENGE_BYTES + PFC_CHALLENGE_BYTES == PFC_CHALLENGE_MESSAGE_BYTES, "random bytes end a challenge");

void pfc_challenge_encode(uint8_t message[PFC_CHALLENGE_MESSAGE_BYTES], const struct pfc_challenge *challenge) {
  pfc_put64(message + CHALLENGE_COUNTER, challenge->counter);
  memcpy(message + CHALLENGE_BYTES, challenge->bytes, PFC_CHALLENGE_BYTES);
}

int pfc_challenge_decode(struct pfc_challenge *challenge, const uint8_t *message, size_t size) {
  memset(challenge, 0, sizeof *challenge);
  if (size != PFC_CHALLENGE_MESSAGE_BYTES) return PFC_E_MALFORMED;
  challenge->counter = pfc_get64(message + CHALLENGE_COUNTER);
  memcpy(challenge->bytes, message + CHALLENGE_BYTES, PFC_CHALLENGE_BYTES);
  return PFC_OK;
}

// COMMAND --------------------------------------------------------------------------------------------------------

enum {
  COMMAND_KIND = 0,
  COMMAND_CLASS = 1,
  COMMAND_INSTANCE = 2,
  COMMAND_COUNTER = 18
};

_Static_assert(COMMAND_COUNTER + 8 == PFC_COMMAND_HEAD_BYTES, "the counter ends the head");

/// Bytes between the head and the device proof, by kind.
static size_t before_device_proof(uint8_t kind) {
  return (pfc_kind_is_integrity(kind) ? PFC_PROOF_BYTES : 0u) +
         (pfc_kind_has_ratchet(kind) ? PFC_COMMAND_RATCHET_BYTES : 0u);
}

uint8_t *pfc_command_device_proof(uint8_t *message) {
  return message + PFC_COMMAND_HEAD_BYTES + before_device_proof(message[COMMAND_KIND]);
}

int pfc_command_begin(uint8_t *message, size_t capacity, size_t *size, uint8_t nonce[PFC_NONCE_BYTES],
                      const struct pfc_request *request, const struct pfc_secrets *secrets) {
  uint8_t *proof;
  size_t fixed = PFC_COMMAND_DEVICE_BYTES + before_device_proof(request->kind);
  int result = pfc_nonce_derive(nonce, request->hardware_id, &request->challenge, request->kind,
                                request->command_class, request->command, request->command_size);
  *size = 0;
  if (result != PFC_OK) return result;
  if (pfc_kind_has_ratchet(request->kind) && request->ratchet == NULL) return PFC_E_ARGUMENT;
  if (capacity < fixed + request->command_size) return PFC_E_SPACE;
  message[COMMAND_KIND] = request->kind;
  message[COMMAND_CLASS] = request->command_class;
  memcpy(message + COMMAND_INSTANCE, request->instance_id, PFC_ID_BYTES);
  pfc_put64(message + COMMAND_COUNTER, request->challenge.counter);
  if (pfc_kind_is_integrity(request->kind)) {
    pfc_proof_make_once(message + PFC_COMMAND_HEAD_BYTES, secrets->integrity_key, nonce, secrets->integrity);
  }
  proof = pfc_command_device_proof(message);
#if PFC_RATCHETS
  if (pfc_kind_has_ratchet(request->kind)) {
    pfc_ratchet_tag(proof - PFC_COMMAND_RATCHET_BYTES, request->ratchet, nonce);
    pfc_put32(proof - 4, request->known);
  }
#endif
  memset(proof, 0, PFC_PROOF_BYTES);
  if (request->command_size > 0) memcpy(proof + PFC_PROOF_BYTES, request->command, request->command_size);
  *size = fixed + request->command_size;
  return PFC_OK;
}

/// The nonce that the device proof behind `before` answers.
static void escort(uint8_t answered[PFC_NONCE_BYTES], const uint8_t nonce[PFC_NONCE_BYTES], uint8_t kind,
                   const uint8_t *before) {
  memcpy(answered, nonce, PFC_NONCE_BYTES);
  if (kind == PFC_KIND_INTEGRITY) pfc_nonce_escort(answered, nonce, before);
#if PFC_RATCHETS
  if (pfc_kind_has_ratchet(kind)) pfc_nonce_escort_ratchet(answered, nonce, before, before_device_proof(kind));
#endif
}

void pfc_command_escort(uint8_t answered[PFC_NONCE_BYTES], const uint8_t nonce[PFC_NONCE_BYTES],
                        const struct pfc_command *command) {
#if PFC_RATCHETS
  escort(answered, nonce, command->kind, command->device_proof - before_device_proof(command->kind));
#else
  escort(answered, nonce, command->kind, command->integrity_proof);
#endif
}

void pfc_command_end(uint8_t *message, const uint8_t nonce[PFC_NONCE_BYTES], const struct pfc_secrets *secrets) {
  uint8_t answered[PFC_NONCE_BYTES];
  escort(answered, nonce, message[COMMAND_KIND], message + PFC_COMMAND_HEAD_BYTES);
  pfc_proof_make_once(pfc_command_device_proof(message), secrets->device_key, answered, secrets->device);
}

int pfc_command_create(uint8_t *message, size_t capacity, size_t *size, uint8_t nonce[PFC_NONCE_BYTES],
                       const struct pfc_request *request, const struct pfc_secrets *secrets) {
  int result = pfc_command_begin(message, capacity, size, nonce, request, secrets);
  if (result == PFC_OK) pfc_command_end(message, nonce, secrets);
  return result;
}

int pfc_command_decode(struct pfc_command *command, const uint8_t *message, size_t size) {
  const uint8_t *at;
  size_t fixed;
  memset(command, 0, sizeof *command);
  if (size < PFC_COMMAND_DEVICE_BYTES) return PFC_E_MALFORMED;
  if (!pfc_kind_is_known(message[COMMAND_KIND])) return PFC_E_TOO_NEW;
  if (message[COMMAND_CLASS] >= PFC_CLASSES) return PFC_E_MALFORMED;
  fixed = PFC_COMMAND_DEVICE_BYTES + before_device_proof(message[COMMAND_KIND]);
  if (size < fixed || size - fixed > PFC_COMMAND_MAX) return PFC_E_MALFORMED;
  command->kind = message[COMMAND_KIND];
  command->command_class = message[COMMAND_CLASS];
  command->instance_id = message + COMMAND_INSTANCE;
  command->counter = pfc_get64(message + COMMAND_COUNTER);
  at = message + PFC_COMMAND_HEAD_BYTES;
  if (pfc_kind_is_integrity(command->kind)) {
    command->integrity_proof = at;
    at += PFC_PROOF_BYTES;
  }
#if PFC_RATCHETS
  if (pfc_kind_has_ratchet(command->kind)) {
    command->ratchet_tag = at;
    command->known = pfc_get32(at + PFC_RATCHET_TAG_BYTES);
    at += PFC_COMMAND_RATCHET_BYTES;
  }
#endif
  command->device_proof = at;
  command->command = at + PFC_PROOF_BYTES;
  command->command_size = size - fixed;
  return PFC_OK;
}

// VERDICT --------------------------------------------------------------------------------------------------------

enum {
  ANSWER_VERDICT = 0,
  ANSWER_DETAIL = 1,
  ANSWER_COUNTER = 3,
  ANSWER_RECEIPT = 11
};

_Static_assert(ANSWER_RECEIPT + PFC_RECEIPT_BYTES == PFC_VERDICT_MESSAGE_BYTES, "the receipt ends a verdict");

void pfc_answer_encode(uint8_t message[PFC_VERDICT_MESSAGE_BYTES], const struct pfc_answer *answer) {
  message[ANSWER_VERDICT] = answer->verdict;
  pfc_put16(message + ANSWER_DETAIL, answer->detail);
  pfc_put64(message + ANSWER_COUNTER, answer->counter);
  memcpy(message + ANSWER_RECEIPT, answer->receipt, PFC_RECEIPT_BYTES);
}

static int verdict_is_known(uint8_t verdict) {
  return (verdict >= PFC_VERDICT_ACCEPTED && verdict <= PFC_VERDICT_READY) ||
         (verdict >= PFC_VERDICT_INTEGRITY_DIFFERS && verdict <= PFC_VERDICT_COPIED) ||
         (verdict >= PFC_VERDICT_NOT_FOR_ME && verdict <= PFC_VERDICT_TOO_NEW) ||
         (verdict >= PFC_VERDICT_MALFORMED && verdict <= PFC_VERDICT_FAULT);
}

int pfc_answer_decode(struct pfc_answer *answer, const uint8_t *message, size_t size) {
  memset(answer, 0, sizeof *answer);
  if (size != PFC_VERDICT_MESSAGE_BYTES || !verdict_is_known(message[ANSWER_VERDICT])) return PFC_E_MALFORMED;
  answer->verdict = message[ANSWER_VERDICT];
  answer->detail = pfc_get16(message + ANSWER_DETAIL);
  answer->counter = pfc_get64(message + ANSWER_COUNTER);
  memcpy(answer->receipt, message + ANSWER_RECEIPT, PFC_RECEIPT_BYTES);
  return PFC_OK;
}

// RECALL ---------------------------------------------------------------------------------------------------------

enum {
  RECALL_COUNTER = PFC_ID_BYTES,
  RECALL_NONCE = RECALL_COUNTER + 8,
  RECALL_TAG = RECALL_NONCE + PFC_NONCE_BYTES
};

_Static_assert(RECALL_TAG + PFC_PROOF_BYTES == PFC_RECALL_BYTES, "the tag ends a recall");

static void recall_tag(uint8_t tag[PFC_PROOF_BYTES], const uint8_t *message, const uint8_t device_key[PFC_KEY_BYTES]) {
  uint8_t key[32];
  pfc_derive(key, PFC_LABEL_RECALL_KEY, device_key, PFC_KEY_BYTES, NULL, 0);
  pfc_mac_once(tag, key, sizeof key, message, RECALL_TAG);
  pfc_wipe(key, sizeof key);
}

void pfc_recall_create(uint8_t message[PFC_RECALL_BYTES], const uint8_t instance_id[PFC_ID_BYTES], uint64_t counter,
                       const uint8_t nonce[PFC_NONCE_BYTES], const uint8_t device_key[PFC_KEY_BYTES]) {
  memcpy(message, instance_id, PFC_ID_BYTES);
  pfc_put64(message + RECALL_COUNTER, counter);
  memcpy(message + RECALL_NONCE, nonce, PFC_NONCE_BYTES);
  recall_tag(message + RECALL_TAG, message, device_key);
}

int pfc_recall_decode(struct pfc_recall *recall, const uint8_t *message, size_t size) {
  memset(recall, 0, sizeof *recall);
  if (size != PFC_RECALL_BYTES) return PFC_E_MALFORMED;
  recall->instance_id = message;
  recall->counter = pfc_get64(message + RECALL_COUNTER);
  recall->nonce = message + RECALL_NONCE;
  return PFC_OK;
}

int pfc_recall_check(const uint8_t message[PFC_RECALL_BYTES], const uint8_t device_key[PFC_KEY_BYTES]) {
  uint8_t expected[PFC_PROOF_BYTES];
  int result;
  recall_tag(expected, message, device_key);
  result = pfc_equal(expected, message + RECALL_TAG, sizeof expected) ? PFC_OK : PFC_E_DIFFERS;
  pfc_wipe(expected, sizeof expected);
  return result;
}

// STATUS ---------------------------------------------------------------------------------------------------------

enum {
  STATUS_VERSION = 0,
  STATUS_MODE = 1,
  STATUS_HARDWARE = 2,
  STATUS_SLOTS = 18,
  STATUS_SLOTS_USED = 19,
  STATUS_EPOCH = 20
};

_Static_assert(STATUS_EPOCH + 8 == PFC_STATUS_BYTES, "the epoch ends a status");

void pfc_status_encode(uint8_t message[PFC_STATUS_BYTES], const struct pfc_status *status) {
  message[STATUS_VERSION] = PFC_VERSION;
  message[STATUS_MODE] = status->mode;
  memcpy(message + STATUS_HARDWARE, status->hardware_id, PFC_ID_BYTES);
  message[STATUS_SLOTS] = status->slots;
  message[STATUS_SLOTS_USED] = status->slots_used;
  pfc_put64(message + STATUS_EPOCH, status->epoch);
}

int pfc_status_decode(struct pfc_status *status, const uint8_t *message, size_t size) {
  memset(status, 0, sizeof *status);
  if (size != PFC_STATUS_BYTES) return PFC_E_MALFORMED;
  if (message[STATUS_VERSION] != PFC_VERSION) return PFC_E_TOO_NEW;
  if (message[STATUS_MODE] != PFC_MODE_PRODUCTION && message[STATUS_MODE] != PFC_MODE_DEVELOPMENT) {
    return PFC_E_MALFORMED;
  }
  if (message[STATUS_SLOTS_USED] > message[STATUS_SLOTS]) return PFC_E_MALFORMED;
  status->mode = message[STATUS_MODE];
  memcpy(status->hardware_id, message + STATUS_HARDWARE, PFC_ID_BYTES);
  status->slots = message[STATUS_SLOTS];
  status->slots_used = message[STATUS_SLOTS_USED];
  status->epoch = pfc_get64(message + STATUS_EPOCH);
  return PFC_OK;
}

// CAPABILITIES ---------------------------------------------------------------------------------------------------

enum {
  CAPABILITIES_VERSION = 1,
  CAPABILITIES_AT_SLOTS = 1,
  CAPABILITIES_AT_FEATURES = 4,
  CAPABILITIES_AT_HARDWARE = 8
};

void pfc_capabilities_encode(uint8_t value[PFC_CAPABILITIES_BYTES], const struct pfc_capabilities *capabilities) {
  memset(value, 0, PFC_CAPABILITIES_BYTES);
  value[0] = CAPABILITIES_VERSION;
  value[CAPABILITIES_AT_SLOTS] = capabilities->slots;
  pfc_put32(value + CAPABILITIES_AT_FEATURES, capabilities->features);
  memcpy(value + CAPABILITIES_AT_HARDWARE, capabilities->hardware_id, PFC_ID_BYTES);
}

int pfc_capabilities_decode(struct pfc_capabilities *capabilities, const uint8_t *value, size_t size) {
  memset(capabilities, 0, sizeof *capabilities);
  if (size != PFC_CAPABILITIES_BYTES) return PFC_E_MALFORMED;
  if (value[0] != CAPABILITIES_VERSION) return PFC_E_TOO_NEW;
  capabilities->slots = value[CAPABILITIES_AT_SLOTS];
  capabilities->features = pfc_get32(value + CAPABILITIES_AT_FEATURES);
  memcpy(capabilities->hardware_id, value + CAPABILITIES_AT_HARDWARE, PFC_ID_BYTES);
  return PFC_OK;
}
