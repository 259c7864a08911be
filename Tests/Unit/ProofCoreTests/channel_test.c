// SPDX-License-Identifier: Apache-2.0

/// The formats and keys of a channel.

#include <string.h>

#include "ProofCore.h"
#include "forge.h"
#include "harness.h"

#if PFC_CHANNEL

static struct pfc_sealed_sent sent;
static uint8_t chain[32], message[PFC_MESSAGE_MAX], plain[PFC_SEALED_PLAIN_MAX], text[PFC_SEALED_COMMAND_MAX + 1];
static size_t size;

static void begin(void) {
  struct dice dice = {.state = 300};
  dice_fill(&dice, chain, sizeof chain);
  dice_fill(&dice, text, sizeof text);
}

static int create(size_t capacity, uint64_t counter, uint8_t class_, size_t length) {
  return pfc_channel_up_create(message, capacity, &size, &sent, chain, counter, class_, text, length);
}

static void every_size_round_trips(void) {
  begin();
  for (size_t length = 0; length <= PFC_SEALED_COMMAND_MAX; length++) {
    struct pfc_command command;
    uint8_t nonce[PFC_NONCE_BYTES], down[32], next[32];
    uint64_t counter = length % 2 == 0 ? length + 1 : UINT64_MAX - length;
    uint8_t class_ = (uint8_t)(length % PFC_CLASSES);
    test_case("%zu bytes", length);
    CHECK_NUMBER(create(24 + length, counter, class_, length), PFC_E_SPACE);
    CHECK_NUMBER(size, 0);
    CHECK_ZEROS(&sent, sizeof sent);
    REQUIRE(CHECK_NUMBER(create(25 + length, counter, class_, length), PFC_OK));
    CHECK_NUMBER(size, 25 + length);
    CHECK(pfc_message_fits(PFC_MESSAGE_SEALED_UP, size));
    CHECK_COUNT(get64(message), counter);
    REQUIRE(CHECK_NUMBER(pfc_channel_up_open(&command, plain, nonce, message, size, chain), PFC_OK));
    CHECK_BYTES(nonce, sent.nonce, sizeof nonce);
    CHECK_COUNT(command.counter, counter);
    CHECK_NUMBER(command.command_class, class_);
    CHECK_NUMBER(command.command_size, length);
    CHECK_BYTES(command.command, text, length);
    CHECK_NUMBER(command.in_channel, 1);
    CHECK(command.device_proof == NULL && command.integrity_proof == NULL && command.ratchet_tag == NULL);
    pfc_channel_follow(down, next, chain, counter);
    CHECK_BYTES(down, sent.down, sizeof down);
    CHECK_BYTES(next, sent.chain, sizeof next);
    // In place, as the hardware may.
    memcpy(next, chain, sizeof next);
    pfc_channel_follow(down, next, next, counter);
    CHECK_BYTES(next, sent.chain, sizeof next);
  }
}

static void ranges_are_checked(void) {
  begin();
  CHECK_NUMBER(create(sizeof message, 1, PFC_CLASSES, 4), PFC_E_ARGUMENT);
  CHECK_NUMBER(create(sizeof message, 0, 0, 4), PFC_E_ARGUMENT);
  CHECK_NUMBER(create(sizeof message, 1, 0, PFC_SEALED_COMMAND_MAX + 1), PFC_E_ARGUMENT);
  CHECK_NUMBER(size, 0);
  CHECK_ZEROS(&sent, sizeof sent);
}

static void what_was_altered_does_not_open(void) {
  struct pfc_command command;
  uint8_t nonce[PFC_NONCE_BYTES];
  begin();
  REQUIRE(CHECK_NUMBER(create(sizeof message, 7, 1, 9), PFC_OK));
  for (size_t i = 0; i < size; i++) {
    test_case("byte %zu", i);
    message[i] ^= 0x20;
    CHECK_NUMBER(pfc_channel_up_open(&command, plain, nonce, message, size, chain), PFC_E_RECIPIENT);
    message[i] ^= 0x20;
    CHECK_ZEROS(plain, sizeof plain);
    CHECK_ZEROS(nonce, sizeof nonce);
    CHECK_ZEROS(&command, sizeof command);
  }
  CHECK_NUMBER(pfc_channel_up_open(&command, plain, nonce, message, size - 1, chain), PFC_E_RECIPIENT);
  CHECK_NUMBER(pfc_channel_up_open(&command, plain, nonce, message, size, sent.chain), PFC_E_RECIPIENT);
  for (size_t length = 0; length < 25; length++) {
    CHECK_NUMBER(pfc_channel_up_open(&command, plain, nonce, message, length, chain), PFC_E_MALFORMED);
  }
  CHECK_NUMBER(pfc_channel_up_open(&command, plain, nonce, message, 242, chain), PFC_E_MALFORMED);
  CHECK_NUMBER(pfc_channel_up_open(&command, plain, nonce, message, SIZE_MAX, chain), PFC_E_MALFORMED);
}

static void classes_are_checked_inside(void) {
  begin();
  for (unsigned class_ = 0; class_ < 256; class_ += class_ < 17 ? 1 : 239) {
    struct pfc_command command;
    uint8_t nonce[PFC_NONCE_BYTES], key[32], info[8], inside[5] = {(uint8_t)class_, 1, 2, 3, 4};
    test_case("class %u", class_);
    put64(info, 9);
    put64(message, 9);
    pfc_derive(key, PFC_LABEL_CHANNEL_UP, chain, sizeof chain, info, sizeof info);
    pfc_box(message + 8, inside, sizeof inside, key);
    CHECK_NUMBER(pfc_channel_up_open(&command, plain, nonce, message, 29, chain),
                 class_ < PFC_CLASSES ? PFC_OK : PFC_E_MALFORMED);
    if (class_ >= PFC_CLASSES) CHECK_ZEROS(plain, sizeof plain);
    if (class_ >= PFC_CLASSES) CHECK_ZEROS(&command, sizeof command);
  }
}

/// All keys of a command differ, also from those of the next one and from those of another counter.
static void keys_serve_once(void) {
  uint8_t keys[9][32];
  unsigned count = 0;
  begin();
  for (uint64_t counter = 1; counter <= 2; counter++) {
    REQUIRE(CHECK_NUMBER(create(sizeof message, counter, 0, 0), PFC_OK));
    memset(keys[count], 0, 32);
    memcpy(keys[count++], sent.nonce, sizeof sent.nonce);
    memcpy(keys[count++], sent.down, 32);
    memcpy(keys[count++], sent.chain, 32);
  }
  memcpy(chain, sent.chain, sizeof chain);
  REQUIRE(CHECK_NUMBER(create(sizeof message, 2, 0, 0), PFC_OK));
  memset(keys[count], 0, 32);
  memcpy(keys[count++], sent.nonce, sizeof sent.nonce);
  memcpy(keys[count++], sent.down, 32);
  memcpy(keys[count++], sent.chain, 32);
  for (unsigned i = 0; i < count; i++) {
    for (unsigned j = 0; j < i; j++) CHECK(memcmp(keys[i], keys[j], 16) != 0);
  }
}

/// Packets of the smallest size carry it, and those of the largest.
static void frames_carry_it(void) {
  static const size_t packet_sizes[] = {PFC_PACKET_MIN, 182, PFC_PACKET_MAX};
  begin();
  for (unsigned i = 0; i < 3; i++) {
    enum pfc_frame_result result = PFC_FRAME_GARBAGE;
    struct pfc_fragmenter fragmenter;
    struct pfc_reassembler reassembler;
    uint8_t packet[PFC_PACKET_MAX];
    size_t taken;
    REQUIRE(CHECK_NUMBER(create(sizeof message, 7, 1, 40 * i), PFC_OK));
    CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_SEALED_UP, message, size, packet_sizes[i]), PFC_OK);
    pfc_reassemble_init(&reassembler);
    while ((taken = pfc_fragment_next(&fragmenter, packet)) > 0) result = pfc_reassemble(&reassembler, packet, taken);
    CHECK_NUMBER(result, PFC_FRAME_COMPLETE);
    CHECK_NUMBER(reassembler.type, PFC_MESSAGE_SEALED_UP);
    CHECK_BYTES(reassembler.bytes, message, size);
  }
}

static const struct test tests[] = {
    TEST("every size of a command comes out of its box as it went in", every_size_round_trips),
    TEST("a class, a counter or a length out of range makes no message", ranges_are_checked),
    TEST("a message that was altered, or made under another key, does not open", what_was_altered_does_not_open),
    TEST("a class above 15 is malformed", classes_are_checked_inside),
    TEST("no two keys of a channel are the same", keys_serve_once),
    TEST("frames carry a SEALED-UP", frames_carry_it),
};

const struct suite channel_suite = SUITE("channel", tests);

#endif
