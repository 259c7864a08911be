// SPDX-License-Identifier: Apache-2.0

/// Reassembly: streams of packets, made by the fuzzer byte by byte or by an independent fragmentation and then
/// dropped, repeated and damaged.
///
/// Oracles: a second receiver, written from docs/SPEC.md, section 11, answers every packet alike; what completes is
/// what the core's own fragmenter cuts into the same packets; garbage and repetitions leave every byte of the state;
/// and whatever came before, an undamaged message arrives.

#include <stdlib.h>

#include "fuzz.h"

enum { STREAM_MAX = PFC_MESSAGE_MAX + 2, PACKETS_MAX = 512 };

/// The second receiver. It keeps the stream and judges by the letter of the specification.
struct receiver {
  int flying;
  uint8_t type;
  size_t index, size, filled, packet_size;
  uint8_t stream[STREAM_MAX];
};

static uint16_t crc(const uint8_t *bytes, size_t size, uint16_t value) {
  for (size_t i = 0; i < 8 * size; i++) {
    int bit = (bytes[i / 8] >> (7 - i % 8) & 1) ^ value >> 15;
    value = (uint16_t)(value << 1 ^ (bit ? 0x1021 : 0));
  }
  return value;
}

static uint16_t check_of(uint8_t type, const uint8_t *message, size_t size) {
  uint8_t head[3] = {type, (uint8_t)size, (uint8_t)(size >> 8)};
  return crc(message, size, crc(head, sizeof head, 0xFFFF));
}

enum { TYPES = 14 };

/// The sizes of each type's messages. Nothing fits a type that is not carried.
static const struct {
  size_t least, most, step;
} sizes[TYPES] = {
    [1] = {1, 1, 1},
    [2] = {40, PFC_SEALS_COMMANDS ? 72 : 40, 32},
    [3] = {288, 288, 1},
    [4] = {58, 358, 1},
    [5] = {43, 43, 1},
    [6] = {124, 124, 1},
    [7] = {72, 72, 1},
    [8] = {28, 28, 1},
    [9] = {25, 241, PFC_CHANNEL},
    [10] = {35, 35, PFC_SEALS_COMMANDS},
    [11] = {24, 24, 1},
    [12] = {48, 336, 32},
    [13] = {96, 96, PFC_GRANTS},
};

static int is_carried(uint8_t type) { return type < TYPES && sizes[type].step != 0; }

static int fits(uint8_t type, size_t size) {
  return is_carried(type) && size >= sizes[type].least && size <= sizes[type].most &&
         (size - sizes[type].least) % sizes[type].step == 0;
}

static enum pfc_frame_result lost(struct receiver *receiver) {
  receiver->flying = 0;
  return PFC_FRAME_LOST;
}

/// Bytes were taken up to the stream's end, or not.
static enum pfc_frame_result advance(struct receiver *receiver) {
  if (receiver->filled < receiver->size + 2) return PFC_FRAME_MORE;
  uint16_t check = check_of(receiver->type, receiver->stream, receiver->size);
  if (check != fuzz_get16(receiver->stream + receiver->size)) return lost(receiver);
  receiver->flying = 0;
  return PFC_FRAME_COMPLETE;
}

static enum pfc_frame_result receive(struct receiver *receiver, const uint8_t *packet, size_t size) {
  if (size < 3 || size > 514) return PFC_FRAME_GARBAGE;
  int first = packet[0] >> 7, last = packet[0] >> 6 & 1;
  uint8_t type = packet[0] & 15, index = packet[1];
  if ((packet[0] & 0x30) != 0 || !is_carried(type)) return PFC_FRAME_GARBAGE;
  if (first) {
    if (index != 0 || size < 5) return PFC_FRAME_GARBAGE;
    size_t length = fuzz_get16(packet + 2), taken = size - 4;
    if (!fits(type, length) || taken > length + 2 || last != (taken == length + 2)) return PFC_FRAME_GARBAGE;
    *receiver = (struct receiver){.flying = 1, .type = type, .size = length, .index = 1, .filled = taken};
    receiver->packet_size = size;
    memcpy(receiver->stream, packet + 4, taken);
    return advance(receiver);
  }
  if (index == 0 || !receiver->flying) return PFC_FRAME_GARBAGE;
  if (type == receiver->type && index < receiver->index) return PFC_FRAME_REPEATED;
  size_t taken = size - 2, left = receiver->size + 2 - receiver->filled;
  if (type != receiver->type || index != receiver->index || taken > left || last != (taken == left)) {
    return lost(receiver);
  }
  memcpy(receiver->stream + receiver->filled, packet + 2, taken);
  receiver->filled += taken;
  receiver->index++;
  return advance(receiver);
}

/// Cuts a message without the core. Returns the packets' total size; packets are `packet_size` long but for the last.
static size_t cut(uint8_t *packets, size_t packet_size, uint8_t type, const uint8_t *message, size_t size) {
  uint8_t stream[STREAM_MAX];
  size_t offset = 0, total = 0;
  memcpy(stream, message, size);
  fuzz_put16(stream + size, check_of(type, message, size));
  for (uint8_t index = 0; offset < size + 2; index++) {
    size_t head = index == 0 ? 4 : 2, left = size + 2 - offset;
    size_t taken = left < packet_size - head ? left : packet_size - head;
    uint8_t *packet = packets + total;
    packet[0] = (uint8_t)(type | (index == 0 ? 0x80 : 0) | (taken == left ? 0x40 : 0));
    packet[1] = index;
    if (index == 0) fuzz_put16(packet + 2, (uint16_t)size);
    memcpy(packet + head, stream + offset, taken);
    total += head + taken;
    offset += taken;
  }
  return total;
}

/// The core's fragmenter gives the packets of `cut`.
static void check_fragmenter(size_t packet_size, uint8_t type, const uint8_t *message, size_t size) {
  uint8_t packets[STREAM_MAX * 2], packet[PFC_PACKET_MAX];
  struct pfc_fragmenter fragmenter;
  size_t total = cut(packets, packet_size, type, message, size), offset = 0, count = 0, taken;
  REQUIRE(pfc_fragment_init(&fragmenter, type, message, size, packet_size) == PFC_OK);
  while ((taken = pfc_fragment_next(&fragmenter, packet)) > 0) {
    REQUIRE(taken <= packet_size && offset + taken <= total && memcmp(packets + offset, packet, taken) == 0);
    offset += taken;
    count++;
  }
  REQUIRE(offset == total && pfc_fragment_count(type, size, packet_size) == count);
  REQUIRE(pfc_fragment_next(&fragmenter, packet) == 0);
}

static void deliver(struct pfc_reassembler *reassembler, struct receiver *receiver, const uint8_t *bytes, size_t size) {
  struct pfc_reassembler before = *reassembler;
  uint8_t *packet = fuzz_copy(bytes, size);
  enum pfc_frame_result result = pfc_reassemble(reassembler, packet, size);
  enum pfc_frame_result model = receive(receiver, packet, size);
  free(packet);
  REQUIRE(result == model);
  REQUIRE(reassembler->size <= PFC_MESSAGE_MAX && reassembler->filled <= reassembler->size + PFC_FRAME_CHECK_BYTES);
  if (result == PFC_FRAME_GARBAGE || result == PFC_FRAME_REPEATED) {
    REQUIRE(memcmp(&before, reassembler, sizeof before) == 0);
  }
  if (result != PFC_FRAME_COMPLETE) return;
  REQUIRE(reassembler->type == receiver->type && reassembler->size == receiver->size);
  REQUIRE(memcmp(reassembler->bytes, receiver->stream, receiver->size) == 0);
  if (receiver->packet_size >= PFC_PACKET_MIN) {
    check_fragmenter(receiver->packet_size, receiver->type, receiver->stream, receiver->size);
  }
}

/// One message of the fuzzer's choice, cut; each packet is delivered, dropped, repeated, damaged, or shortened.
static void send(struct pfc_reassembler *reassembler, struct receiver *receiver, struct fuzz_input *input) {
  static const uint8_t types[10] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12};
  uint8_t message[PFC_MESSAGE_MAX], packets[STREAM_MAX * 2];
  uint8_t type = types[fuzz_u8(input) % 10];
  size_t size = sizes[type].least, choices = (sizes[type].most - size) / sizes[type].step + 1;
  if (choices > 1) size += fuzz_u16(input) % choices * sizes[type].step;
  size_t packet_size = PFC_PACKET_MIN + fuzz_u16(input) % (PFC_PACKET_MAX - PFC_PACKET_MIN + 1);
  memset(message, fuzz_u8(input), sizeof message);
  size_t total = cut(packets, packet_size, type, message, size);
  for (size_t at = 0; at < total; at += packet_size) {
    size_t length = total - at < packet_size ? total - at : packet_size;
    uint8_t fate = fuzz_u8(input);
    if (fate == 1) continue;
    if (fate == 2) deliver(reassembler, receiver, packets + at, length);
    if (fate == 3) fuzz_flip(input, packets + at, length);
    if (fate == 4) length = fuzz_u8(input) % (length + 1);
    deliver(reassembler, receiver, packets + at, length);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct pfc_reassembler reassembler;
  struct receiver receiver = {0};
  uint8_t packet[PFC_PACKET_MAX + 2], clean[PFC_PACKET_MAX];
  static const uint8_t ask[1] = {PFC_ASK_CHALLENGE};
  pfc_reassemble_init(&reassembler);
  for (int i = 0; i < PACKETS_MAX && input.left > 0; i++) {
    if ((fuzz_u8(&input) & 1) != 0) {
      send(&reassembler, &receiver, &input);
    } else {
      size_t length = fuzz_u8(&input);
      if (length == 255) length = fuzz_u16(&input) % sizeof packet;
      fuzz_take(&input, packet, length);
      deliver(&reassembler, &receiver, packet, length);
    }
  }
  size_t length = cut(clean, PFC_PACKET_MIN, PFC_MESSAGE_ASK, ask, sizeof ask);
  REQUIRE(pfc_reassemble(&reassembler, clean, length) == PFC_FRAME_COMPLETE);
  return 0;
}
