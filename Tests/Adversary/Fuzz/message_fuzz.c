// SPDX-License-Identifier: Apache-2.0

/// Messages: every decoder on raw bytes, and every creator on fields of the fuzzer's choice.
///
/// Oracles: what decodes encodes to the same bytes; what points into a message lies in it; what is created decodes to
/// the fields it was created from, and its proofs are those of docs/SPEC.md, section 7.

#include <stdlib.h>

#include "fuzz.h"

static void check_fits(uint8_t type, size_t size) {
  static const struct {
    size_t least, most;
  } sizes[9] = {{1, 0},  {1, 1},  {40, 40},   {288, 288}, {58, 358},
                {43, 43}, {124, 124}, {72, 72}, {28, 28}};
  int fits = type < 9 && size >= sizes[type].least && size <= sizes[type].most;
  if (type == 2 && size == 72) fits = PFC_SEALS_COMMANDS;
  if (type == 9) fits = PFC_CHANNEL && size >= 25 && size <= 241;
  if (type == 10) fits = PFC_SEALS_COMMANDS && size == 35;
  if (type == 11) fits = size == 24;
  if (type == 13) fits = PFC_GRANTS && size == 96;
  if (type == 12) fits = size >= 48 && size <= 336 && size % 32 == 16;
  REQUIRE(pfc_message_fits(type, size) == fits);
}

static int within(const uint8_t *part, size_t part_size, const uint8_t *message, size_t size) {
  return part >= message && part_size <= size && part - message <= (ptrdiff_t)(size - part_size);
}

/// A command's bytes before its own, by kind.
static size_t head_of(uint8_t kind) {
  return (kind == 1 || kind == 3 ? 90u : 58u) + (kind == 3 || kind == 4 ? 12u : 0u);
}

static void check_command(const uint8_t *message, size_t size) {
  struct pfc_command command;
  if (pfc_command_decode(&command, message, size) != PFC_OK) {
    // Refused for a reason: the length, the kind or the class.
    size_t head = size > 0 ? head_of(message[0]) : 58;
    REQUIRE(size < head || size > head + 256 || message[0] < 1 || message[0] > 4 || message[1] > 15);
    return;
  }
  size_t head = head_of(command.kind);
  REQUIRE(command.kind == message[0] && command.command_class == message[1] && command.command_class < PFC_CLASSES);
  REQUIRE(command.kind >= PFC_KIND_INTEGRITY && command.kind <= PFC_KIND_DEVICE_RATCHET);
  REQUIRE(command.instance_id == message + 2 && command.counter == fuzz_get64(message + 18));
  REQUIRE(command.integrity_proof == (command.kind % 2 == 1 ? message + 26 : NULL));
  REQUIRE(command.ratchet_tag == (command.kind > 2 ? message + head - 44 : NULL));
  REQUIRE(command.known == (command.kind > 2 ? fuzz_get32(message + head - 36) : 0));
  REQUIRE(command.device_proof == message + head - 32);
  REQUIRE(command.command_size == size - head && command.command_size <= PFC_COMMAND_MAX);
  REQUIRE(command.command_size == 0 || command.command == message + head);
  REQUIRE(within(command.device_proof, 32, message, size));
}

static void check_decode(uint8_t type, const uint8_t *message, size_t size) {
  uint8_t again[PFC_MESSAGE_MAX];
  struct pfc_challenge challenge;
  struct pfc_answer answer;
  struct pfc_recall recall;
  struct pfc_status status;
  static const uint8_t device_key[PFC_KEY_BYTES] = {1};
  int result = PFC_OK;
  memset(again, 0, sizeof again);
  switch (type) {
    case PFC_MESSAGE_CHALLENGE:
      result = pfc_challenge_decode(&challenge, message, size);
      if (result == PFC_OK) pfc_challenge_encode(again, &challenge);
      REQUIRE((result == PFC_OK) == (size == 40));
      break;
    case PFC_MESSAGE_COMMAND:
      check_command(message, size);
      return;
    case PFC_MESSAGE_VERDICT:
      result = pfc_answer_decode(&answer, message, size);
      if (result == PFC_OK) pfc_answer_encode(again, &answer);
      REQUIRE(size == 43 || result != PFC_OK);
      break;
    case PFC_MESSAGE_RECALL:
      result = pfc_recall_decode(&recall, message, size);
      REQUIRE((result == PFC_OK) == (size == 72));
      if (result != PFC_OK) return;
      REQUIRE(recall.instance_id == message && recall.counter == fuzz_get64(message + 16));
      REQUIRE(recall.nonce == message + 24);
      REQUIRE(pfc_recall_check(message, device_key) == PFC_E_DIFFERS);
      return;
    case PFC_MESSAGE_STATUS:
      result = pfc_status_decode(&status, message, size);
      if (result == PFC_OK) pfc_status_encode(again, &status);
      REQUIRE(size == 28 || result != PFC_OK);
      break;
    default:
      return;
  }
  REQUIRE(result != PFC_OK || memcmp(again, message, size) == 0);
}

/// Both proofs of a command, made a second time from the transcript in the specification.
static void check_proofs(const uint8_t *message, const uint8_t nonce[16], const struct pfc_request *request,
                         const struct pfc_secrets *secrets) {
  uint8_t transcript[16 + 16 + 32 + 8 + 1 + 1 + 2 + 256], digest[32];
  struct pfc_hash hash;
  struct pfc_proof_key key;
  memcpy(transcript, PFC_LABEL_NONCE, 16);
  memcpy(transcript + 16, request->hardware_id, 16);
  memcpy(transcript + 32, request->challenge.bytes, 32);
  fuzz_put64(transcript + 64, request->challenge.counter);
  transcript[72] = request->kind;
  transcript[73] = request->command_class;
  fuzz_put16(transcript + 74, (uint16_t)request->command_size);
  if (request->command_size > 0) memcpy(transcript + 76, request->command, request->command_size);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, transcript, 76 + request->command_size);
  pfc_hash_final(digest, &hash);
  REQUIRE(memcmp(digest, nonce, 16) == 0);

  if (request->kind % 2 == 1) {
    pfc_proof_key_init(&key, secrets->integrity_key);
    REQUIRE(pfc_proof_check(message + 26, &key, nonce, secrets->integrity) == PFC_OK);
  }
  size_t device_at = head_of(request->kind) - 32;
  if (request->kind > 2) {
    pfc_derive(digest, PFC_LABEL_RATCHET_TAG, request->ratchet, 16, NULL, 0);
    pfc_mac_once(digest, digest, 32, nonce, 16);
    REQUIRE(memcmp(digest, message + device_at - 12, 8) == 0 && fuzz_get32(message + device_at - 4) == request->known);
    memcpy(transcript, PFC_LABEL_ESCORT_2, 16);
    memcpy(transcript + 16, nonce, 16);
    memcpy(transcript + 32, message + 26, device_at - 26);
    pfc_hash_init(&hash);
    pfc_hash_update(&hash, transcript, 32 + device_at - 26);
    pfc_hash_final(digest, &hash);
  } else if (request->kind == PFC_KIND_INTEGRITY) {
    memcpy(transcript, PFC_LABEL_ESCORT, 16);
    memcpy(transcript + 16, nonce, 16);
    memcpy(transcript + 32, message + 26, 32);
    pfc_hash_init(&hash);
    pfc_hash_update(&hash, transcript, 64);
    pfc_hash_final(digest, &hash);
  }
  pfc_proof_key_init(&key, secrets->device_key);
  REQUIRE(pfc_proof_check(message + device_at, &key, digest, secrets->device) == PFC_OK);
}

static void check_create(struct fuzz_input *input) {
  struct pfc_secrets secrets = fuzz_token(1).secrets;
  struct pfc_request request = {.kind = (uint8_t)(fuzz_u8(input) ^ PFC_KIND_INTEGRITY)};
  struct pfc_command command;
  uint8_t nonce[PFC_NONCE_BYTES];
  size_t size = 1;
  request.command_class = fuzz_u8(input);
  request.command_size = fuzz_u16(input) % (PFC_COMMAND_MAX + 2);
  size_t capacity = (size_t)PFC_MESSAGE_MAX - fuzz_u16(input) % (PFC_MESSAGE_MAX + 1);
  request.challenge.counter = fuzz_u64(input);
  fuzz_take(input, request.challenge.bytes, sizeof request.challenge.bytes);
  fuzz_take(input, request.instance_id, sizeof request.instance_id);
  fuzz_take(input, request.hardware_id, sizeof request.hardware_id);
  request.ratchet = request.hardware_id;
  request.known = (uint32_t)request.challenge.counter;
  uint8_t bytes[PFC_COMMAND_MAX + 1];
  fuzz_take(input, bytes, sizeof bytes);
  uint8_t *own = fuzz_copy(bytes, request.command_size);
  uint8_t *message = fuzz_copy(NULL, 0);
  free(message);
  message = malloc(capacity + 1);
  if (message == NULL) abort();
  request.command = own;

  int result = pfc_command_create(message, capacity, &size, nonce, &request, &secrets);
  size_t needed = head_of(request.kind) + request.command_size;
  if (request.kind < 1 || request.kind > 4 || request.command_class > 15 || request.command_size > 256) {
    REQUIRE(result == PFC_E_ARGUMENT && size == 0);
  } else if (needed > capacity) {
    REQUIRE(result == PFC_E_SPACE && size == 0);
  } else {
    REQUIRE(result == PFC_OK && size == needed);
    REQUIRE(pfc_command_decode(&command, message, size) == PFC_OK);
    REQUIRE(command.kind == request.kind && command.command_class == request.command_class);
    REQUIRE(command.counter == request.challenge.counter && command.command_size == request.command_size);
    REQUIRE(memcmp(command.instance_id, request.instance_id, PFC_ID_BYTES) == 0);
    REQUIRE(command.command_size == 0 || memcmp(command.command, own, request.command_size) == 0);
    check_proofs(message, nonce, &request, &secrets);
  }
  free(own);
  free(message);
}

static void check_recall(struct fuzz_input *input) {
  uint8_t message[PFC_RECALL_BYTES], id[PFC_ID_BYTES], nonce[PFC_NONCE_BYTES], key[PFC_KEY_BYTES];
  uint64_t counter = fuzz_u64(input);
  fuzz_take(input, id, sizeof id);
  fuzz_take(input, nonce, sizeof nonce);
  fuzz_take(input, key, sizeof key);
  pfc_recall_create(message, id, counter, nonce, key);
  REQUIRE(memcmp(message, id, 16) == 0 && fuzz_get64(message + 16) == counter);
  REQUIRE(memcmp(message + 24, nonce, 16) == 0);
  uint8_t recall_key[32], tag[32];
  struct pfc_mac mac;
  pfc_derive(recall_key, PFC_LABEL_RECALL_KEY, key, sizeof key, NULL, 0);
  pfc_mac_init(&mac, recall_key, sizeof recall_key);
  pfc_mac_update(&mac, message, 40);
  pfc_mac_final(tag, &mac);
  REQUIRE(memcmp(message + 40, tag, sizeof tag) == 0);
  int flipped = fuzz_flip(input, message, sizeof message);
  REQUIRE(pfc_recall_check(message, key) == (flipped ? PFC_E_DIFFERS : PFC_OK));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  uint8_t type = fuzz_u8(&input);
  uint8_t *message;
  switch (type) {
    case 0x80:
      check_create(&input);
      break;
    case 0x81:
      check_recall(&input);
      break;
    default:
      message = fuzz_copy(input.bytes, input.left);
      check_fits(type, input.left);
      check_decode(type, message, input.left);
      free(message);
  }
  return 0;
}
