// SPDX-License-Identifier: Apache-2.0

#include "channel.h"

#include "crypto.h"
#include "internal.h"

#if PFC_CHANNEL

enum {
  AT_COUNTER = 0,
  AT_BOX = AT_COUNTER + 8,
  PLAIN_CLASS = 0,
  PLAIN_COMMAND = 1
};

_Static_assert(AT_BOX + PFC_SEAL_TAG_BYTES + PLAIN_COMMAND == PFC_CHANNEL_UP_BYTES, "the command ends a SEALED-UP");
_Static_assert(PLAIN_COMMAND + PFC_SEALED_COMMAND_MAX <= PFC_SEALED_PLAIN_MAX, "every command can be opened");
_Static_assert(PFC_CHANNEL_UP_BYTES + PFC_SEALED_COMMAND_MAX <= PFC_MESSAGE_MAX, "a message has room for a SEALED-UP");

/// A key of the command with this counter.
PFC_APART static void channel_key(uint8_t key[32], const char label[PFC_LABEL_BYTES + 1],
                                  const uint8_t chain[PFC_CHANNEL_KEY_BYTES], uint64_t counter) {
  uint8_t info[8];
  pfc_put64(info, counter);
  pfc_derive(key, label, chain, PFC_CHANNEL_KEY_BYTES, info, sizeof info);
}

PFC_APART static void channel_nonce(uint8_t nonce[PFC_NONCE_BYTES], const uint8_t chain[PFC_CHANNEL_KEY_BYTES],
                                    const uint8_t *message, size_t size) {
  uint8_t full[32];
  pfc_derive(full, PFC_LABEL_CHANNEL_NONCE, chain, PFC_CHANNEL_KEY_BYTES, message, size);
  memcpy(nonce, full, PFC_NONCE_BYTES);
  pfc_wipe(full, sizeof full);
}

void pfc_channel_follow(uint8_t down[32], uint8_t next[PFC_CHANNEL_KEY_BYTES],
                        const uint8_t chain[PFC_CHANNEL_KEY_BYTES], uint64_t counter) {
  channel_key(down, PFC_LABEL_CHANNEL_BACK, chain, counter);
  channel_key(next, PFC_LABEL_CHANNEL_NEXT, chain, counter);
}

int pfc_channel_up_create(uint8_t *message, size_t capacity, size_t *size, struct pfc_sealed_sent *sent,
                          const uint8_t chain[PFC_CHANNEL_KEY_BYTES], uint64_t counter, uint8_t command_class,
                          const uint8_t *command, size_t command_size) {
  uint8_t key[32];
  uint8_t *plain;
  *size = 0;
  memset(sent, 0, sizeof *sent);
  if (command_class >= PFC_CLASSES || command_size > PFC_SEALED_COMMAND_MAX || counter == 0) return PFC_E_ARGUMENT;
  if (capacity < PFC_CHANNEL_UP_BYTES + command_size) return PFC_E_SPACE;
  plain = message + AT_BOX + PFC_SEAL_TAG_BYTES;
  pfc_put64(message + AT_COUNTER, counter);
  plain[PLAIN_CLASS] = command_class;
  if (command_size > 0) memcpy(plain + PLAIN_COMMAND, command, command_size);
  channel_key(key, PFC_LABEL_CHANNEL_UP, chain, counter);
  pfc_box(message + AT_BOX, plain, PLAIN_COMMAND + command_size, key);
  pfc_wipe(key, sizeof key);
  *size = PFC_CHANNEL_UP_BYTES + command_size;
  channel_nonce(sent->nonce, chain, message, *size);
  pfc_channel_follow(sent->down, sent->chain, chain, counter);
  return PFC_OK;
}

int pfc_channel_up_open(struct pfc_command *command, uint8_t plain[PFC_SEALED_PLAIN_MAX],
                        uint8_t nonce[PFC_NONCE_BYTES], const uint8_t *message, size_t size,
                        const uint8_t chain[PFC_CHANNEL_KEY_BYTES]) {
  uint8_t key[32];
  uint64_t counter;
  int result;
  memset(command, 0, sizeof *command);
  memset(plain, 0, PFC_SEALED_PLAIN_MAX);
  memset(nonce, 0, PFC_NONCE_BYTES);
  if (size < PFC_CHANNEL_UP_BYTES || size - PFC_CHANNEL_UP_BYTES > PFC_SEALED_COMMAND_MAX) return PFC_E_MALFORMED;
  counter = pfc_get64(message + AT_COUNTER);
  channel_key(key, PFC_LABEL_CHANNEL_UP, chain, counter);
  result = pfc_unbox_whole(plain, message + AT_BOX, size - AT_BOX, key);
  PFC_DECLASSIFY(&result, sizeof result);
  pfc_wipe(key, sizeof key);
  if (result != PFC_OK) return result;
  // The class shows in what is done.
  PFC_DECLASSIFY(plain + PLAIN_CLASS, 1);
  if (plain[PLAIN_CLASS] >= PFC_CLASSES) {
    pfc_wipe(plain, PFC_SEALED_PLAIN_MAX);
    return PFC_E_MALFORMED;
  }
  command->counter = counter;
  command->command_class = plain[PLAIN_CLASS];
  command->command = plain + PLAIN_COMMAND;
  command->command_size = size - PFC_CHANNEL_UP_BYTES;
  command->in_channel = 1;
  channel_nonce(nonce, chain, message, size);
  return PFC_OK;
}

#endif
