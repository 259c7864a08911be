// SPDX-License-Identifier: Apache-2.0

#include "sealed.h"

#include "crypto.h"
#include "internal.h"
#include "proof.h"
#include "ratchet.h"

#if PFC_SEALS_COMMANDS

enum {
  AT_KIND = 0,
  AT_HINT = 1,
  AT_COUNTER = AT_HINT + PFC_SEAL_HINT_BYTES,
  AT_APP_KEY = AT_COUNTER + 8,
  AT_BOX = AT_APP_KEY + PFC_PUBLIC_KEY_BYTES,

  // Behind the head and the authenticator: a command's fields as in kinds 3 and 4.
  PLAIN_CLASS = 0,
  PLAIN_FIELDS = 1,

  DOWN_BOX = 8,
  DOWN_VERDICT = 0,
  DOWN_DETAIL = 1,
  DOWN_NEXT = 3,
  DOWN_PLAIN_BYTES = PFC_SEALED_DOWN_BYTES - DOWN_BOX - PFC_SEAL_TAG_BYTES
};

_Static_assert(AT_BOX == PFC_SEALED_HEAD_BYTES, "E_app ends the head");
_Static_assert(DOWN_NEXT + 8 == DOWN_PLAIN_BYTES, "the next counter ends a SEALED-DOWN");
_Static_assert(PFC_SEALED_COMMAND_MAX <= PFC_COMMAND_MAX, "a sealed command is no longer than one in the clear");
_Static_assert(PFC_SEALED_PLAIN_MAX <= PFC_UNBOX_WHOLE_MAX, "every sealed command can be opened");
_Static_assert(PFC_MESSAGE_MAX > PFC_SEALED_INTEGRITY_BYTES, "a message has room for a sealed command");
_Static_assert(PFC_SEALED_DEVICE_BYTES >= PFC_COMMAND_DEVICE_BYTES, "pfc_message_fits lets every sealed command in");

// CHALLENGE with a key ------------------------------------------------------------------------------------------

void pfc_sealed_challenge_encode(uint8_t message[PFC_SEALED_CHALLENGE_BYTES], const struct pfc_challenge *challenge,
                                 const uint8_t lock_key[PFC_PUBLIC_KEY_BYTES]) {
  pfc_challenge_encode(message, challenge);
  memcpy(message + PFC_CHALLENGE_MESSAGE_BYTES, lock_key, PFC_PUBLIC_KEY_BYTES);
}

int pfc_sealed_challenge_decode(struct pfc_challenge *challenge, uint8_t lock_key[PFC_PUBLIC_KEY_BYTES],
                                const uint8_t *message, size_t size) {
  memset(challenge, 0, sizeof *challenge);
  memset(lock_key, 0, PFC_PUBLIC_KEY_BYTES);
  if (size != PFC_SEALED_CHALLENGE_BYTES) return PFC_E_MALFORMED;
  memcpy(lock_key, message + PFC_CHALLENGE_MESSAGE_BYTES, PFC_PUBLIC_KEY_BYTES);
  return pfc_challenge_decode(challenge, message, PFC_CHALLENGE_MESSAGE_BYTES);
}

// Keys -----------------------------------------------------------------------------------------------------------

PFC_APART void pfc_seal_hint(uint8_t hint[PFC_SEAL_HINT_BYTES], const uint8_t device_key[PFC_KEY_BYTES],
                             const struct pfc_challenge *challenge, uint8_t kind,
                             const uint8_t lock_key[PFC_PUBLIC_KEY_BYTES],
                             const uint8_t app_key[PFC_PUBLIC_KEY_BYTES]) {
  enum { COUNTER = PFC_CHALLENGE_BYTES, KIND = COUNTER + 8, LOCK = KIND + 1, APP = LOCK + PFC_PUBLIC_KEY_BYTES };
  uint8_t told[APP + PFC_PUBLIC_KEY_BYTES];
  uint8_t key[32], full[32];
  memcpy(told, challenge->bytes, PFC_CHALLENGE_BYTES);
  pfc_put64(told + COUNTER, challenge->counter);
  told[KIND] = kind;
  memcpy(told + LOCK, lock_key, PFC_PUBLIC_KEY_BYTES);
  memcpy(told + APP, app_key, PFC_PUBLIC_KEY_BYTES);
  pfc_derive(key, PFC_LABEL_SEAL_HINT, device_key, PFC_KEY_BYTES, NULL, 0);
  pfc_mac_once(full, key, sizeof key, told, sizeof told);
  memcpy(hint, full, PFC_SEAL_HINT_BYTES);
  pfc_wipe(key, sizeof key);
  pfc_wipe(full, sizeof full);
}

/// H. `message` has at least its head.
PFC_APART static void seal_id(uint8_t id[32], const struct pfc_seal_facts *facts, const uint8_t *message) {
  struct pfc_hash hash;
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, PFC_LABEL_SEAL_ID, PFC_LABEL_BYTES);
  pfc_hash_update(&hash, facts->hardware_id, PFC_ID_BYTES);
  pfc_hash_update(&hash, facts->instance_id, PFC_ID_BYTES);
  pfc_hash_update(&hash, facts->token_digest, PFC_TOKEN_DIGEST_BYTES);
  pfc_hash_update(&hash, facts->challenge->bytes, PFC_CHALLENGE_BYTES);
  pfc_hash_update(&hash, message, PFC_SEALED_HEAD_BYTES);
  pfc_hash_update(&hash, facts->lock_key, PFC_PUBLIC_KEY_BYTES);
  pfc_hash_final(id, &hash);
}

/// A key of the command: both secrets go in, so that one alone gives nothing.
PFC_APART static void seal_key(uint8_t key[32], const char label[PFC_LABEL_BYTES + 1],
                               const struct pfc_seal_facts *facts, const uint8_t shared[32], const uint8_t info[32]) {
  uint8_t input[32 + PFC_KEY_BYTES];
  memcpy(input, shared, 32);
  memcpy(input + 32, facts->device_key, PFC_KEY_BYTES);
  pfc_derive(key, label, input, sizeof input, info, 32);
  pfc_wipe(input, sizeof input);
}

/// T.
PFC_APART static void seal_transcript(uint8_t transcript[32], const struct pfc_seal_facts *facts,
                                      const uint8_t *message, size_t size) {
  struct pfc_hash hash;
  uint8_t id[32];
  seal_id(id, facts, message);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, PFC_LABEL_SEAL_TRANSCRIPT, PFC_LABEL_BYTES);
  pfc_hash_update(&hash, id, sizeof id);
  pfc_hash_update(&hash, message, size);
  pfc_hash_final(transcript, &hash);
}

PFC_APART void pfc_sealed_follow(uint8_t step[PFC_NONCE_BYTES], uint8_t down[32], const struct pfc_seal_facts *facts,
                                 const uint8_t shared[32], const uint8_t *message, size_t size) {
  uint8_t transcript[32], full[32];
  seal_transcript(transcript, facts, message, size);
  seal_key(down, PFC_LABEL_SEAL_DOWN, facts, shared, transcript);
  seal_key(full, PFC_LABEL_SEAL_STEP, facts, shared, transcript);
  memcpy(step, full, PFC_NONCE_BYTES);
  pfc_wipe(full, sizeof full);
}

#if PFC_CHANNEL
PFC_APART void pfc_sealed_chain(uint8_t chain[PFC_CHANNEL_KEY_BYTES], const struct pfc_seal_facts *facts,
                                const uint8_t shared[32], const uint8_t *message, size_t size) {
  uint8_t transcript[32];
  seal_transcript(transcript, facts, message, size);
  seal_key(chain, PFC_LABEL_CHANNEL_KEY, facts, shared, transcript);
}
#endif

/// The nonce that the proofs of a sealed command answer. It binds both ephemeral keys through H.
PFC_APART static void seal_nonce(uint8_t nonce[PFC_NONCE_BYTES], const struct pfc_seal_facts *facts,
                                 const uint8_t id[32], const struct pfc_command *command) {
  struct pfc_hash hash;
  uint8_t head[12], digest[32];
  pfc_put64(head, command->counter);
  head[8] = command->kind;
  head[9] = command->command_class;
  pfc_put16(head + 10, (uint16_t)command->command_size);
  pfc_hash_init(&hash);
  pfc_hash_update(&hash, PFC_LABEL_SEAL_NONCE, PFC_LABEL_BYTES);
  pfc_hash_update(&hash, facts->hardware_id, PFC_ID_BYTES);
  pfc_hash_update(&hash, facts->challenge->bytes, PFC_CHALLENGE_BYTES);
  pfc_hash_update(&hash, head, sizeof head);
  pfc_hash_update(&hash, command->command, command->command_size);
  pfc_hash_update(&hash, id, 32);
  pfc_hash_final(digest, &hash);
  memcpy(nonce, digest, PFC_NONCE_BYTES);
}

// COMMAND --------------------------------------------------------------------------------------------------------

static size_t fixed_bytes(uint8_t kind) {
  return pfc_kind_is_integrity(kind) ? PFC_SEALED_INTEGRITY_BYTES : PFC_SEALED_DEVICE_BYTES;
}

int pfc_sealed_decode(struct pfc_sealed *sealed, const uint8_t *message, size_t size) {
  memset(sealed, 0, sizeof *sealed);
  if (size < 1) return PFC_E_MALFORMED;
  if (!pfc_kind_is_sealed(message[AT_KIND])) return PFC_E_TOO_NEW;
  if (size < fixed_bytes(message[AT_KIND])) return PFC_E_MALFORMED;
  if (size - fixed_bytes(message[AT_KIND]) > PFC_SEALED_COMMAND_MAX) return PFC_E_MALFORMED;
  sealed->kind = message[AT_KIND];
  sealed->hint = message + AT_HINT;
  sealed->counter = pfc_get64(message + AT_COUNTER);
  sealed->app_key = message + AT_APP_KEY;
  return PFC_OK;
}

/// Splits what was in the box, whose size fits its kind.
static int split(struct pfc_command *command, const struct pfc_sealed *sealed, const uint8_t *plain, size_t size) {
  const uint8_t *at = plain + PLAIN_FIELDS;
  int has_tag;
  command->kind = sealed->kind;
  command->counter = sealed->counter;
  command->command_class = plain[PLAIN_CLASS];
  if (pfc_kind_is_integrity(sealed->kind)) {
    command->integrity_proof = at;
    at += PFC_PROOF_BYTES;
  }
  command->known = pfc_get32(at + PFC_RATCHET_TAG_BYTES);
  has_tag = !pfc_is_zero(at, PFC_RATCHET_TAG_BYTES);
  // Whether the token has a ratchet will show in the verdict, and the class in what is done.
  PFC_DECLASSIFY(&has_tag, sizeof has_tag);
  PFC_DECLASSIFY(&command->command_class, sizeof command->command_class);
  PFC_DECLASSIFY(&command->known, sizeof command->known);
  if (has_tag) command->ratchet_tag = at;
  at += PFC_COMMAND_RATCHET_BYTES;
  command->device_proof = at;
  command->command = at + PFC_PROOF_BYTES;
  command->command_size = size - (size_t)(command->command - plain);
  if (command->command_class >= PFC_CLASSES) return PFC_E_MALFORMED;
  return has_tag || command->known == 0 ? PFC_OK : PFC_E_MALFORMED;
}

int pfc_sealed_open(struct pfc_command *command, uint8_t plain[PFC_SEALED_PLAIN_MAX], uint8_t nonce[PFC_NONCE_BYTES],
                    const struct pfc_seal_facts *facts, const uint8_t shared[32], const uint8_t *message,
                    size_t size) {
  struct pfc_sealed sealed;
  uint8_t id[32], key[32];
  int result = pfc_sealed_decode(&sealed, message, size);
  memset(command, 0, sizeof *command);
  memset(plain, 0, PFC_SEALED_PLAIN_MAX);
  memset(nonce, 0, PFC_NONCE_BYTES);
  if (result != PFC_OK) return result;
  seal_id(id, facts, message);
  seal_key(key, PFC_LABEL_SEAL_FIRST, facts, shared, id);
  result = pfc_unbox_whole(plain, message + AT_BOX, size - AT_BOX, key);
  PFC_DECLASSIFY(&result, sizeof result);
  pfc_wipe(key, sizeof key);
  if (result == PFC_OK) result = split(command, &sealed, plain, size - AT_BOX - PFC_SEAL_TAG_BYTES);
  if (result == PFC_OK) {
    command->instance_id = facts->instance_id;
    seal_nonce(nonce, facts, id, command);
  } else {
    memset(command, 0, sizeof *command);
    pfc_wipe(plain, PFC_SEALED_PLAIN_MAX);
  }
  return result;
}

static int is_valid(const struct pfc_request *request, const struct pfc_seal_facts *facts) {
  return pfc_kind_is_sealed(request->kind) && request->command_class < PFC_CLASSES &&
         request->command_size <= PFC_SEALED_COMMAND_MAX && (request->ratchet != NULL || request->known == 0) &&
         request->challenge.counter == facts->challenge->counter &&
         memcmp(request->challenge.bytes, facts->challenge->bytes, PFC_CHALLENGE_BYTES) == 0 &&
         memcmp(request->hardware_id, facts->hardware_id, PFC_ID_BYTES) == 0 &&
         memcmp(request->instance_id, facts->instance_id, PFC_ID_BYTES) == 0;
}

/// The fields of a message that is not sealed yet. They stand behind the room for the authenticator.
static uint8_t *plain_of(uint8_t *message) { return message + AT_BOX + PFC_SEAL_TAG_BYTES; }

static uint8_t *tag_of(uint8_t *message) {
  return plain_of(message) + PLAIN_FIELDS + (pfc_kind_is_integrity(message[AT_KIND]) ? PFC_PROOF_BYTES : 0);
}

uint8_t *pfc_sealed_device_proof(uint8_t *message) { return tag_of(message) + PFC_COMMAND_RATCHET_BYTES; }

int pfc_sealed_begin(uint8_t *message, size_t capacity, size_t *size, uint8_t nonce[PFC_NONCE_BYTES],
                     uint8_t shared[32], const struct pfc_request *request, const struct pfc_seal_facts *facts,
                     const struct pfc_secrets *secrets, const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]) {
  struct pfc_command command = {0};
  uint8_t id[32];
  uint8_t *plain, *tag, *proof;
  *size = 0;
  memset(nonce, 0, PFC_NONCE_BYTES);
  memset(shared, 0, 32);
  if (!is_valid(request, facts)) return PFC_E_ARGUMENT;
  if (capacity < fixed_bytes(request->kind) + request->command_size) return PFC_E_SPACE;
  if (pfc_shared_secret(shared, ephemeral, facts->lock_key) != PFC_OK) return PFC_E_ARGUMENT;
  message[AT_KIND] = request->kind;
  pfc_put64(message + AT_COUNTER, request->challenge.counter);
  pfc_public_key(message + AT_APP_KEY, ephemeral);
  pfc_seal_hint(message + AT_HINT, facts->device_key, facts->challenge, request->kind, facts->lock_key,
                message + AT_APP_KEY);
  seal_id(id, facts, message);
  command.kind = request->kind;
  command.command_class = request->command_class;
  command.counter = request->challenge.counter;
  command.command = request->command;
  command.command_size = request->command_size;
  seal_nonce(nonce, facts, id, &command);
  plain = plain_of(message);
  tag = tag_of(message);
  proof = pfc_sealed_device_proof(message);
  memset(message + AT_BOX, 0, (size_t)(proof + PFC_PROOF_BYTES - (message + AT_BOX)));
  plain[PLAIN_CLASS] = request->command_class;
  if (pfc_kind_is_integrity(request->kind)) {
    pfc_proof_make_once(plain + PLAIN_FIELDS, secrets->integrity_key, nonce, secrets->integrity);
  }
  if (request->ratchet != NULL) pfc_ratchet_tag(tag, request->ratchet, nonce);
  pfc_put32(tag + PFC_RATCHET_TAG_BYTES, request->known);
  if (request->command_size > 0) memcpy(proof + PFC_PROOF_BYTES, request->command, request->command_size);
  *size = fixed_bytes(request->kind) + request->command_size;
  return PFC_OK;
}

void pfc_sealed_end(uint8_t *message, const uint8_t nonce[PFC_NONCE_BYTES], const struct pfc_secrets *secrets) {
  struct pfc_command command = {.kind = message[AT_KIND], .device_proof = pfc_sealed_device_proof(message)};
  uint8_t answered[PFC_NONCE_BYTES];
  pfc_command_escort(answered, nonce, &command);
  pfc_proof_make_once(pfc_sealed_device_proof(message), secrets->device_key, answered, secrets->device);
}

void pfc_sealed_close(uint8_t *message, size_t size, struct pfc_sealed_sent *sent,
                      const uint8_t nonce[PFC_NONCE_BYTES], uint8_t shared[32],
                      const struct pfc_seal_facts *facts) {
  uint8_t key[32], id[32];
  memcpy(sent->nonce, nonce, PFC_NONCE_BYTES);
  seal_id(id, facts, message);
  seal_key(key, PFC_LABEL_SEAL_FIRST, facts, shared, id);
  pfc_box(message + AT_BOX, plain_of(message), size - AT_BOX - PFC_SEAL_TAG_BYTES, key);
  pfc_sealed_follow(sent->step, sent->down, facts, shared, message, size);
#if PFC_CHANNEL
  pfc_sealed_chain(sent->chain, facts, shared, message, size);
#endif
  pfc_wipe(shared, 32);
  pfc_wipe(key, sizeof key);
}

int pfc_sealed_create(uint8_t *message, size_t capacity, size_t *size, struct pfc_sealed_sent *sent,
                      const struct pfc_request *request, const struct pfc_seal_facts *facts,
                      const struct pfc_secrets *secrets, const uint8_t ephemeral[PFC_SECRET_KEY_BYTES]) {
  uint8_t nonce[PFC_NONCE_BYTES], shared[32];
  int result = pfc_sealed_begin(message, capacity, size, nonce, shared, request, facts, secrets, ephemeral);
  memset(sent, 0, sizeof *sent);
  if (result != PFC_OK) return result;
  pfc_sealed_end(message, nonce, secrets);
  pfc_sealed_close(message, *size, sent, nonce, shared, facts);
  return PFC_OK;
}

// SEALED-DOWN ----------------------------------------------------------------------------------------------------

void pfc_sealed_down_create(uint8_t message[PFC_SEALED_DOWN_BYTES], const struct pfc_answer *answer, uint64_t next,
                            const uint8_t down[32]) {
  uint8_t plain[DOWN_PLAIN_BYTES];
  plain[DOWN_VERDICT] = answer->verdict;
  pfc_put16(plain + DOWN_DETAIL, answer->detail);
  pfc_put64(plain + DOWN_NEXT, next);
  pfc_put64(message, answer->counter);
  pfc_box(message + DOWN_BOX, plain, sizeof plain, down);
}

int pfc_sealed_down_open(struct pfc_answer *answer, uint64_t *next, const uint8_t *message, size_t size,
                         uint64_t counter, const uint8_t down[32]) {
  uint8_t plain[DOWN_PLAIN_BYTES];
  uint8_t verdict[PFC_VERDICT_MESSAGE_BYTES] = {0};
  int result;
  memset(answer, 0, sizeof *answer);
  *next = 0;
  if (size != PFC_SEALED_DOWN_BYTES) return PFC_E_MALFORMED;
  result = pfc_unbox(plain, message + DOWN_BOX, size - DOWN_BOX, down);
  PFC_DECLASSIFY(&result, sizeof result);
  PFC_DECLASSIFY(plain, sizeof plain);
  if (result != PFC_OK || pfc_get64(message) != counter) return PFC_E_DIFFERS;
  memcpy(verdict, plain, DOWN_NEXT);
  pfc_put64(verdict + DOWN_NEXT, counter);
  result = pfc_answer_decode(answer, verdict, sizeof verdict);
  if (result == PFC_OK) *next = pfc_get64(plain + DOWN_NEXT);
  return result;
}

#endif
