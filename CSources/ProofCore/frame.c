// SPDX-License-Identifier: Apache-2.0

#include "frame.h"

#include "internal.h"

enum {
  FLAG_FIRST = 0x80,
  FLAG_LAST = 0x40,
  FLAGS_ZERO = 0x30,
  TYPE_MASK = 0x0F,

  FIRST_HEAD_BYTES = PFC_FRAME_HEAD_BYTES + PFC_FRAME_LENGTH_BYTES
};

// The longest message in the smallest packets still counts its fragments in one byte.
_Static_assert((PFC_MESSAGE_MAX + PFC_FRAME_CHECK_BYTES) / (PFC_PACKET_MIN - PFC_FRAME_HEAD_BYTES) + 2 < 256,
               "a fragment's index has one byte");
// A profile takes shorter commands; whatever `pfc_message_fits` lets in must still find room in the one buffer.
_Static_assert(PFC_RECALL_BYTES <= PFC_MESSAGE_MAX && PFC_VERDICT_MESSAGE_BYTES <= PFC_MESSAGE_MAX, "room for each");
_Static_assert(!PFC_OPENS_TOKENS || (PFC_TOKEN_BYTES <= PFC_MESSAGE_MAX && PFC_ORDER_BYTES <= PFC_MESSAGE_MAX),
               "room for what is opened");
_Static_assert(PFC_MESSAGE_MAX + PFC_FRAME_CHECK_BYTES < 65536, "a stream's length has two bytes");

/// CRC-16 with polynomial 0x1021, initial value 0xFFFF. Finds radio errors; nothing secret or hostile rests on it.
static uint32_t crc_update(uint32_t crc, const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) {
    crc ^= (uint32_t)bytes[i] << 8;
    for (int bit = 0; bit < 8; bit++) crc = (crc << 1) ^ ((crc & 0x8000u) != 0 ? 0x1021u : 0u);
  }
  return crc & 0xFFFFu;
}

static uint16_t check_of(uint8_t type, const uint8_t *message, uint16_t size) {
  uint8_t head[3];
  head[0] = type;
  pfc_put16(head + 1, size);
  return (uint16_t)crc_update(crc_update(0xFFFF, head, sizeof head), message, size);
}

// Out ------------------------------------------------------------------------------------------------------------

int pfc_fragment_init(struct pfc_fragmenter *fragmenter, uint8_t type, const uint8_t *message, size_t size,
                      size_t packet_size) {
  memset(fragmenter, 0, sizeof *fragmenter);
  fragmenter->done = 1;
  if (packet_size < PFC_PACKET_MIN || packet_size > PFC_PACKET_MAX) return PFC_E_ARGUMENT;
  if (!pfc_message_fits(type, size)) return PFC_E_ARGUMENT;
  fragmenter->message = message;
  fragmenter->size = (uint16_t)size;
  fragmenter->check = check_of(type, message, (uint16_t)size);
  fragmenter->packet_size = (uint16_t)packet_size;
  fragmenter->type = type;
  fragmenter->done = 0;
  return PFC_OK;
}

size_t pfc_fragment_next(struct pfc_fragmenter *fragmenter, uint8_t *packet) {
  uint16_t total = (uint16_t)(fragmenter->size + PFC_FRAME_CHECK_BYTES);
  size_t head = fragmenter->index == 0 ? FIRST_HEAD_BYTES : PFC_FRAME_HEAD_BYTES;
  size_t left = (size_t)(total - fragmenter->offset);
  size_t piece = fragmenter->packet_size - head;
  uint8_t check[PFC_FRAME_CHECK_BYTES];
  if (fragmenter->done) return 0;
  pfc_put16(check, fragmenter->check);
  if (piece > left) piece = left;
  packet[0] = fragmenter->type;
  packet[1] = fragmenter->index;
  if (fragmenter->index == 0) {
    packet[0] |= FLAG_FIRST;
    pfc_put16(packet + PFC_FRAME_HEAD_BYTES, fragmenter->size);
  }
  if (piece == left) {
    packet[0] |= FLAG_LAST;
    fragmenter->done = 1;
  }
  for (size_t i = 0; i < piece; i++) {
    size_t at = fragmenter->offset + i;
    packet[head + i] = at < fragmenter->size ? fragmenter->message[at] : check[at - fragmenter->size];
  }
  fragmenter->offset = (uint16_t)(fragmenter->offset + piece);
  fragmenter->index++;
  return head + piece;
}

size_t pfc_fragment_count(uint8_t type, size_t size, size_t packet_size) {
  size_t total = size + PFC_FRAME_CHECK_BYTES;
  size_t first;
  size_t later;
  if (packet_size < PFC_PACKET_MIN || packet_size > PFC_PACKET_MAX || !pfc_message_fits(type, size)) return 0;
  first = packet_size - FIRST_HEAD_BYTES;
  later = packet_size - PFC_FRAME_HEAD_BYTES;
  return total <= first ? 1 : 1 + (total - first + later - 1) / later;
}

// In -------------------------------------------------------------------------------------------------------------

void pfc_reassemble_init(struct pfc_reassembler *reassembler) { memset(reassembler, 0, sizeof *reassembler); }

static enum pfc_frame_result give_up(struct pfc_reassembler *reassembler, enum pfc_frame_result result) {
  reassembler->type = 0;
  reassembler->expected = 0;
  return result;
}

/// Whether the stream is complete, and if so, right.
static enum pfc_frame_result finish(struct pfc_reassembler *reassembler, int last) {
  uint16_t total = (uint16_t)(reassembler->size + PFC_FRAME_CHECK_BYTES);
  if (last != (reassembler->filled == total)) return give_up(reassembler, PFC_FRAME_LOST);
  if (!last) return PFC_FRAME_MORE;
  if (pfc_get16(reassembler->bytes + reassembler->size) !=
      check_of(reassembler->type, reassembler->bytes, reassembler->size)) {
    return give_up(reassembler, PFC_FRAME_LOST);
  }
  reassembler->expected = 0;
  return PFC_FRAME_COMPLETE;
}

static enum pfc_frame_result take_first(struct pfc_reassembler *reassembler, const uint8_t *packet, size_t size) {
  uint8_t type = packet[0] & TYPE_MASK;
  int last = (packet[0] & FLAG_LAST) != 0;
  size_t piece;
  size_t message;
  // All of this before the message in flight is touched.
  if (packet[1] != 0 || size <= FIRST_HEAD_BYTES) return PFC_FRAME_GARBAGE;
  piece = size - FIRST_HEAD_BYTES;
  message = pfc_get16(packet + PFC_FRAME_HEAD_BYTES);
  if (!pfc_message_fits(type, message)) return PFC_FRAME_GARBAGE;
  if (piece > message + PFC_FRAME_CHECK_BYTES) return PFC_FRAME_GARBAGE;
  if (last != (piece == message + PFC_FRAME_CHECK_BYTES)) return PFC_FRAME_GARBAGE;
  reassembler->type = type;
  reassembler->expected = 1;
  reassembler->size = (uint16_t)message;
  reassembler->filled = (uint16_t)piece;
  memcpy(reassembler->bytes, packet + FIRST_HEAD_BYTES, piece);
  return finish(reassembler, last);
}

static enum pfc_frame_result take_later(struct pfc_reassembler *reassembler, const uint8_t *packet, size_t size) {
  uint8_t type = packet[0] & TYPE_MASK;
  uint8_t index = packet[1];
  size_t piece = size - PFC_FRAME_HEAD_BYTES;
  if (index == 0 || reassembler->expected == 0) return PFC_FRAME_GARBAGE;
  if (type == reassembler->type && index < reassembler->expected) return PFC_FRAME_REPEATED;
  if (type != reassembler->type || index > reassembler->expected) return give_up(reassembler, PFC_FRAME_LOST);
  if (piece > (size_t)(reassembler->size + PFC_FRAME_CHECK_BYTES - reassembler->filled)) {
    return give_up(reassembler, PFC_FRAME_LOST);
  }
  memcpy(reassembler->bytes + reassembler->filled, packet + PFC_FRAME_HEAD_BYTES, piece);
  reassembler->filled = (uint16_t)(reassembler->filled + piece);
  reassembler->expected++;
  return finish(reassembler, (packet[0] & FLAG_LAST) != 0);
}

/// Whether messages of this type are carried.
static int is_carried(uint8_t type) {
  return (type >= PFC_MESSAGE_ASK && type <= PFC_MESSAGE_STATUS) ||
         (PFC_CHANNEL && type == PFC_MESSAGE_SEALED_UP) || (PFC_SEALS_COMMANDS && type == PFC_MESSAGE_SEALED_DOWN) ||
         (PFC_KEEPS_LOG && (type == PFC_MESSAGE_LOG_ASK || type == PFC_MESSAGE_LOG)) ||
         (PFC_GRANTS && type == PFC_MESSAGE_GRANT);
}

enum pfc_frame_result pfc_reassemble(struct pfc_reassembler *reassembler, const uint8_t *packet, size_t size) {
  uint8_t type;
  if (size <= PFC_FRAME_HEAD_BYTES || size > PFC_PACKET_MAX) return PFC_FRAME_GARBAGE;
  type = packet[0] & TYPE_MASK;
  if ((packet[0] & FLAGS_ZERO) != 0 || !is_carried(type)) return PFC_FRAME_GARBAGE;
  return (packet[0] & FLAG_FIRST) != 0 ? take_first(reassembler, packet, size)
                                       : take_later(reassembler, packet, size);
}
