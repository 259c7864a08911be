// SPDX-License-Identifier: Apache-2.0

#include "packets.h"

#include <string.h>

#include "harness.h"

const struct shape shapes[] = {
    {PFC_MESSAGE_ASK, 1},       {PFC_MESSAGE_CHALLENGE, 40}, {PFC_MESSAGE_TOKEN, 288},  {PFC_MESSAGE_COMMAND, 58},
    {PFC_MESSAGE_COMMAND, 59},  {PFC_MESSAGE_COMMAND, 90},   {PFC_MESSAGE_COMMAND, 98}, {PFC_MESSAGE_COMMAND, 314},
    {PFC_MESSAGE_COMMAND, 345}, {PFC_MESSAGE_COMMAND, 346},  {PFC_MESSAGE_VERDICT, 43}, {PFC_MESSAGE_ORDER, 124},
    {PFC_MESSAGE_RECALL, 72},   {PFC_MESSAGE_STATUS, 28},
};
const size_t shape_count = sizeof shapes / sizeof shapes[0];

void message_make(uint8_t *message, const struct shape *shape, uint64_t seed) {
  struct dice dice = {seed + shape->type};
  dice_fill(&dice, message, shape->size);
}

void packets_cut(struct packets *packets, const struct shape *shape, const uint8_t *message, size_t packet_size) {
  struct pfc_fragmenter fragmenter;
  packets->count = 0;
  if (!CHECK_NUMBER(pfc_fragment_init(&fragmenter, shape->type, message, shape->size, packet_size), PFC_OK)) return;
  for (;;) {
    size_t size;
    if (!CHECK(packets->count < PACKETS_MAX)) return;
    size = pfc_fragment_next(&fragmenter, packets->bytes[packets->count]);
    if (size == 0) return;
    packets->sizes[packets->count++] = size;
  }
}

// Bit by bit, most significant first, as the polynomial reads: x^16 + x^12 + x^5 + 1.
uint16_t crc16(const uint8_t *bytes, size_t size) {
  unsigned remainder = 0xffff;
  for (size_t i = 0; i < 8 * size; i++) {
    unsigned bit = (bytes[i / 8] >> (7 - i % 8)) & 1u;
    unsigned top = remainder >> 15;
    remainder = (remainder << 1) & 0xffff;
    if ((top ^ bit) != 0) remainder ^= 0x1021;
  }
  return (uint16_t)remainder;
}

void packets_specify(struct packets *packets, const struct shape *shape, const uint8_t *message, size_t packet_size) {
  uint8_t stream[3 + PFC_MESSAGE_MAX + 2];
  size_t at = 0, total = shape->size + 2;
  stream[0] = shape->type;
  put16(stream + 1, (uint16_t)shape->size);
  memcpy(stream + 3, message, shape->size);
  put16(stream + 3 + shape->size, crc16(stream, 3 + shape->size));
  packets->count = 0;
  while (at < total) {
    uint8_t *packet = packets->bytes[packets->count];
    size_t head = packets->count == 0 ? 4 : 2;
    size_t piece = packet_size - head < total - at ? packet_size - head : total - at;
    packet[0] = shape->type;
    if (packets->count == 0) packet[0] |= 0x80;
    if (at + piece == total) packet[0] |= 0x40;
    packet[1] = (uint8_t)packets->count;
    if (packets->count == 0) put16(packet + 2, (uint16_t)shape->size);
    memcpy(packet + head, stream + 3 + at, piece);
    packets->sizes[packets->count++] = head + piece;
    at += piece;
  }
}
