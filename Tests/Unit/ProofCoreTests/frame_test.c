// SPDX-License-Identifier: Apache-2.0

/// Cutting messages into packets, and the rules by which a receiver ignores what cannot be right.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "packets.h"

static void check_is_the_published_crc(void) {
  // CRC-16/IBM-3740 (once "CCITT-FALSE"): the check value of the CRC RevEng catalogue.
  CHECK_NUMBER(crc16((const uint8_t *)"123456789", 9), 0x29b1);
}

static void every_size_is_cut_and_joined(void) {
  static struct packets cut, specified;
  uint8_t message[PFC_MESSAGE_MAX];
  for (size_t s = 0; s < shape_count; s++) {
    message_make(message, &shapes[s], s);
    for (size_t packet_size = PFC_PACKET_MIN; packet_size <= PFC_PACKET_MAX; packet_size++) {
      struct pfc_reassembler reassembler;
      test_case("type %u, %zu bytes, packets of %zu", shapes[s].type, shapes[s].size, packet_size);
      packets_cut(&cut, &shapes[s], message, packet_size);
      packets_specify(&specified, &shapes[s], message, packet_size);
      REQUIRE(CHECK_NUMBER(cut.count, specified.count));
      CHECK_NUMBER(pfc_fragment_count(shapes[s].type, shapes[s].size, packet_size), cut.count);
      pfc_reassemble_init(&reassembler);
      for (size_t i = 0; i < cut.count; i++) {
        REQUIRE(CHECK_NUMBER(cut.sizes[i], specified.sizes[i]));
        CHECK_BYTES(cut.bytes[i], specified.bytes[i], cut.sizes[i]);
        CHECK(i + 1 == cut.count || cut.sizes[i] == packet_size);
        REQUIRE(CHECK_NUMBER(pfc_reassemble(&reassembler, cut.bytes[i], cut.sizes[i]),
                             i + 1 == cut.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE));
      }
      CHECK_NUMBER(reassembler.type, shapes[s].type);
      CHECK_NUMBER(reassembler.size, shapes[s].size);
      CHECK_BYTES(reassembler.bytes, message, shapes[s].size);
    }
  }
}

static void what_cannot_be_sent_is_refused(void) {
  uint8_t message[700] = {0}, packet[PFC_PACKET_MAX];
  struct pfc_fragmenter fragmenter;
  static const size_t packet_sizes[] = {0, 1, 2, 4, 5, 19, 515, 65536, 65556};
  for (unsigned i = 0; i < sizeof packet_sizes / sizeof packet_sizes[0]; i++) {
    test_case("packets of %zu", packet_sizes[i]);
    CHECK_NUMBER(pfc_fragment_init(&fragmenter, PFC_MESSAGE_TOKEN, message, 288, packet_sizes[i]), PFC_E_ARGUMENT);
    CHECK_NUMBER(pfc_fragment_next(&fragmenter, packet), 0);
    CHECK_NUMBER(pfc_fragment_count(PFC_MESSAGE_TOKEN, 288, packet_sizes[i]), 0);
  }
  for (unsigned type = 0; type < 20; type++) {
    for (size_t size = 0; size < sizeof message; size++) {
      test_case("type %u, %zu bytes", type, size);
      if (pfc_message_fits((uint8_t)type, size)) continue;
      CHECK_NUMBER(pfc_fragment_init(&fragmenter, (uint8_t)type, message, size, 20), PFC_E_ARGUMENT);
      CHECK_NUMBER(pfc_fragment_next(&fragmenter, packet), 0);
      CHECK_NUMBER(pfc_fragment_count((uint8_t)type, size, 20), 0);
    }
  }
}

// docs/SPEC.md section 11, "Packet budget". An ATT packet has three bytes less than the MTU.
static void packet_budget_holds(void) {
  static const struct {
    const char *what;
    struct shape shape;
    size_t at_23, at_185;
  } table[] = {
      {"ASK", {PFC_MESSAGE_ASK, 1}, 1, 1},          {"CHALLENGE", {PFC_MESSAGE_CHALLENGE, 40}, 3, 1},
      {"TOKEN", {PFC_MESSAGE_TOKEN, 288}, 17, 2},   {"COMMAND, integrity, 8 bytes", {PFC_MESSAGE_COMMAND, 98}, 6, 1},
      {"VERDICT", {PFC_MESSAGE_VERDICT, 43}, 3, 1},
  };
  size_t first_23 = 0, first_185 = 0, repeat_23 = 0, repeat_185 = 0;
  for (unsigned i = 0; i < 5; i++) {
    size_t at_23 = pfc_fragment_count(table[i].shape.type, table[i].shape.size, 20);
    size_t at_185 = pfc_fragment_count(table[i].shape.type, table[i].shape.size, 182);
    // First contact has two verdicts and everything else once; a repeat has no token and one verdict.
    size_t times = i == 4 ? 2 : 1;
    test_case("%s", table[i].what);
    CHECK_NUMBER(at_23, table[i].at_23);
    CHECK_NUMBER(at_185, table[i].at_185);
    first_23 += times * at_23;
    first_185 += times * at_185;
    repeat_23 += i == 2 ? 0 : at_23;
    repeat_185 += i == 2 ? 0 : at_185;
  }
  test_case("sums");
  CHECK_NUMBER(first_23, 33);
  CHECK_NUMBER(first_185, 7);
  CHECK_NUMBER(repeat_23, 13);
  CHECK_NUMBER(repeat_185, 4);
}

/// A packet that is ignored whatever came before.
struct garbage {
  const char *what;
  uint8_t bytes[600];
  size_t size;
};

enum { GARBAGE_CASES = 21 };

/// docs/SPEC.md section 11, "A receiver ignores, without touching the message in flight".
static void garbage_make(struct garbage *garbage, unsigned index) {
  static const struct shape ask = {PFC_MESSAGE_ASK, 1}, verdict = {PFC_MESSAGE_VERDICT, 43};
  static struct packets packets;
  static const uint8_t message[43] = {1};
  memset(garbage, 0, sizeof *garbage);
  packets_specify(&packets, index < 12 ? &verdict : &ask, message, 20);
  memcpy(garbage->bytes, packets.bytes[0], packets.sizes[0]);
  garbage->size = packets.sizes[0];
  switch (index) {
    case 0:
      garbage->what = "an empty packet";
      garbage->size = 0;
      break;
    case 1:
      garbage->what = "one byte";
      garbage->size = 1;
      break;
    case 2:
      garbage->what = "two bytes";
      garbage->size = 2;
      break;
    case 3:
      garbage->what = "longer than 514";
      garbage->size = 515;
      break;
    case 4:
      garbage->what = "type 0";
      garbage->bytes[0] = 0x80;
      break;
    case 5:
      garbage->what = "type 14";
      garbage->bytes[0] = 0x8e;
      break;
    case 6:
      garbage->what = "type 15";
      garbage->bytes[0] = 0x8f;
      break;
    case 7:
      garbage->what = "bit 5";
      garbage->bytes[0] |= 0x20;
      break;
    case 8:
      garbage->what = "bit 4";
      garbage->bytes[0] |= 0x10;
      break;
    case 9:
      garbage->what = "a first fragment with index 1";
      garbage->bytes[1] = 1;
      break;
    case 10:
      garbage->what = "a first fragment with index 255";
      garbage->bytes[1] = 255;
      break;
    case 11:
      garbage->what = "a later fragment with index 0";
      garbage->bytes[0] &= 0x7f;
      break;
    case 12:
      garbage->what = "a first fragment that ends before its length";
      garbage->size = 3;
      break;
    case 13:
      garbage->what = "a first fragment without a byte";
      garbage->size = 4;
      break;
    case 14:
      garbage->what = "a length its type never has: 0";
      garbage->bytes[2] = 0;
      break;
    case 15:
      garbage->what = "a length its type never has: 2";
      garbage->bytes[2] = 2;
      break;
    case 16:
      garbage->what = "a length its type never has: 65535";
      garbage->bytes[2] = garbage->bytes[3] = 255;
      break;
    case 17:
      garbage->what = "a first fragment beyond its stream";
      garbage->size++;
      break;
    case 18:
      garbage->what = "a first fragment marked last before its stream ends";
      garbage->size--;
      break;
    case 19:
      garbage->what = "a first fragment that ends its stream without the mark";
      garbage->bytes[0] &= 0xbf;
      break;
    default:
      garbage->what = "a later fragment with index 0, marked last";
      garbage->bytes[0] &= 0x7f;
      break;
  }
}

static void garbage_leaves_the_message_in_flight(void) {
  static struct packets packets;
  static const struct shape token = {PFC_MESSAGE_TOKEN, 288};
  uint8_t message[288];
  message_make(message, &token, 3);
  packets_specify(&packets, &token, message, 20);
  for (unsigned g = 0; g < GARBAGE_CASES; g++) {
    struct garbage garbage;
    struct pfc_reassembler reassembler;
    garbage_make(&garbage, g);
    test_case("%u. %s", g + 1, garbage.what);
    pfc_reassemble_init(&reassembler);
    for (size_t i = 0; i < packets.count; i++) {
      CHECK_NUMBER(pfc_reassemble(&reassembler, garbage.bytes, garbage.size), PFC_FRAME_GARBAGE);
      REQUIRE(CHECK_NUMBER(pfc_reassemble(&reassembler, packets.bytes[i], packets.sizes[i]),
                           i + 1 == packets.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE));
    }
    CHECK_BYTES(reassembler.bytes, message, sizeof message);
  }
}

/// A later fragment of another type that is carried gives the message in flight up; one of no such type is ignored.
static void types_that_are_carried(void) {
  static struct packets packets;
  static const struct shape token = {PFC_MESSAGE_TOKEN, 288};
  uint8_t message[288];
  message_make(message, &token, 3);
  packets_specify(&packets, &token, message, 20);
  for (unsigned type = 0; type < 16; type++) {
    const bool is_carried = (type >= 1 && type <= 8) || (PFC_CHANNEL && type == 9) ||
                            (PFC_SEALS_COMMANDS && type == 10) || (PFC_KEEPS_LOG && (type == 11 || type == 12)) ||
                            (PFC_GRANTS && type == 13);
    struct pfc_reassembler reassembler;
    uint8_t packet[20];
    test_case("type %u", type);
    pfc_reassemble_init(&reassembler);
    CHECK_NUMBER(pfc_reassemble(&reassembler, packets.bytes[0], packets.sizes[0]), PFC_FRAME_MORE);
    memcpy(packet, packets.bytes[1], sizeof packet);
    packet[0] = (uint8_t)type;
    CHECK_NUMBER(pfc_reassemble(&reassembler, packet, sizeof packet),
                 type == 3 ? PFC_FRAME_MORE : is_carried ? PFC_FRAME_LOST : PFC_FRAME_GARBAGE);
    if (!is_carried) {
      CHECK_NUMBER(pfc_reassemble(&reassembler, packets.bytes[1], packets.sizes[1]), PFC_FRAME_MORE);
    }
  }
}

static void lengths_a_type_never_has(void) {
  // Not marked last, as the beginning of something that never ends would come.
  uint8_t packet[PFC_PACKET_MIN] = {0};
  struct pfc_reassembler reassembler;
  pfc_reassemble_init(&reassembler);
  for (unsigned type = PFC_MESSAGE_ASK; type <= PFC_MESSAGE_STATUS; type++) {
    for (unsigned length = 0; length <= 65535; length++) {
      enum pfc_frame_result expected = PFC_FRAME_GARBAGE;
      if (pfc_message_fits((uint8_t)type, length) && length + PFC_FRAME_CHECK_BYTES > sizeof packet - 4) {
        expected = PFC_FRAME_MORE;
      }
      packet[0] = (uint8_t)(0x80 | type);
      packet[2] = (uint8_t)length;
      packet[3] = (uint8_t)(length >> 8);
      test_case("type %u, length %u", type, length);
      REQUIRE(CHECK_NUMBER(pfc_reassemble(&reassembler, packet, sizeof packet), expected));
    }
  }
}

/// A later fragment of a token in flight (packets of 20, the third is next) that gives the message up.
static void lost_messages(void) {
  static struct packets packets;
  static const struct shape token = {PFC_MESSAGE_TOKEN, 288};
  static const char *const what[] = {
      "another type",
      "an index ahead",
      "a last mark before the end",
      "bytes beyond the end, marked last",
      "the end without a mark",
      "a wrong check",
      "bytes beyond the end, not marked",
  };
  uint8_t message[288];
  message_make(message, &token, 4);
  packets_specify(&packets, &token, message, 20);
  for (unsigned i = 0; i < sizeof what / sizeof what[0]; i++) {
    struct pfc_reassembler reassembler;
    size_t before = i < 3 ? 2 : packets.count - 1;
    uint8_t packet[PFC_PACKET_MAX] = {0};
    size_t size = packets.sizes[before];
    test_case("%u. %s", i + 1, what[i]);
    memcpy(packet, packets.bytes[before], size);
    if (i == 0) packet[0] = (uint8_t)((packet[0] & 0xf0) | PFC_MESSAGE_COMMAND);
    if (i == 1) packet[1]++;
    if (i == 2) packet[0] |= 0x40;
    if (i == 3 || i == 6) size++;
    if (i == 4 || i == 6) packet[0] &= 0xbf;
    if (i == 5) packet[size - 1] ^= 1;
    pfc_reassemble_init(&reassembler);
    for (size_t p = 0; p < before; p++) {
      REQUIRE(CHECK_NUMBER(pfc_reassemble(&reassembler, packets.bytes[p], packets.sizes[p]), PFC_FRAME_MORE));
    }
    CHECK_NUMBER(pfc_reassemble(&reassembler, packet, size), PFC_FRAME_LOST);
    // Nothing is in flight any more: the right packet comes too late.
    CHECK_NUMBER(pfc_reassemble(&reassembler, packets.bytes[before], packets.sizes[before]), PFC_FRAME_GARBAGE);
    for (size_t p = 0; p < packets.count; p++) {
      CHECK_NUMBER(pfc_reassemble(&reassembler, packets.bytes[p], packets.sizes[p]),
                   p + 1 == packets.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE);
    }
  }
}

static void single_packet_with_a_wrong_check(void) {
  static struct packets packets;
  static const struct shape ask = {PFC_MESSAGE_ASK, 1};
  const uint8_t message[1] = {1};
  struct pfc_reassembler reassembler;
  packets_specify(&packets, &ask, message, 20);
  packets.bytes[0][4] ^= 3;
  pfc_reassemble_init(&reassembler);
  CHECK_NUMBER(pfc_reassemble(&reassembler, packets.bytes[0], packets.sizes[0]), PFC_FRAME_LOST);
}

static void short_fragments_are_taken(void) {
  // A sender may have a smaller packet than the receiver thinks: one byte at a time is still a message.
  static const struct shape ask = {PFC_MESSAGE_CHALLENGE, 40};
  uint8_t message[40], stream[42], head[43];
  struct pfc_reassembler reassembler;
  message_make(message, &ask, 6);
  head[0] = PFC_MESSAGE_CHALLENGE;
  put16(head + 1, 40);
  memcpy(head + 3, message, 40);
  memcpy(stream, message, 40);
  put16(stream + 40, crc16(head, sizeof head));
  pfc_reassemble_init(&reassembler);
  for (unsigned i = 0; i < 42; i++) {
    const uint8_t first[5] = {0x82, 0, 40, 0, stream[0]};
    const uint8_t later[3] = {(uint8_t)(i == 41 ? 0x42 : 0x02), (uint8_t)i, stream[i]};
    REQUIRE(CHECK_NUMBER(pfc_reassemble(&reassembler, i == 0 ? first : later, i == 0 ? 5 : 3),
                         i == 41 ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE));
  }
  CHECK_BYTES(reassembler.bytes, message, 40);
}

static void index_never_wraps(void) {
  // 300 fragments of one byte: the 256th has no index left, so the message cannot be sent this way.
  struct pfc_reassembler reassembler;
  const uint8_t first[5] = {0x83, 0, 288 % 256, 288 / 256, 0};
  pfc_reassemble_init(&reassembler);
  CHECK_NUMBER(pfc_reassemble(&reassembler, first, 5), PFC_FRAME_MORE);
  for (unsigned i = 1; i < 256; i++) {
    const uint8_t later[3] = {0x03, (uint8_t)i, 0};
    CHECK_NUMBER(pfc_reassemble(&reassembler, later, 3), PFC_FRAME_MORE);
  }
  for (unsigned i = 0; i < 256; i++) {
    const uint8_t later[3] = {0x03, (uint8_t)i, 0};
    enum pfc_frame_result result = pfc_reassemble(&reassembler, later, 3);
    test_case("index %u once more", i);
    CHECK_NUMBER(result, i == 0 ? PFC_FRAME_GARBAGE : PFC_FRAME_REPEATED);
  }
}

static void noise_never_overflows(void) {
  struct dice dice = {8};
  struct {
    uint8_t before[64];
    struct pfc_reassembler reassembler;
    uint8_t after[64];
  } guarded;
  memset(&guarded, 0x5a, sizeof guarded);
  pfc_reassemble_init(&guarded.reassembler);
  for (unsigned round = 0; round < (options.thorough ? 5000000u : 300000u); round++) {
    uint8_t packet[PFC_PACKET_MAX + 8];
    size_t size = dice_below(&dice, round % 8 == 0 ? sizeof packet + 1 : 40);
    dice_fill(&dice, packet, size);
    // Mostly near what could be right, so that messages come into flight.
    if (size >= 4 && round % 3 != 0) {
      packet[0] = (uint8_t)((packet[0] & 0xc0) | (1 + packet[0] % 8));
      packet[1] &= 0x03;
      if ((packet[0] & 0x80) != 0) {
        static const uint16_t sizes[9] = {0, 1, 40, 288, 90, 43, 124, 72, 28};
        packet[1] = 0;
        put16(packet + 2, sizes[packet[0] & 15]);
      }
    }
    enum pfc_frame_result result = pfc_reassemble(&guarded.reassembler, packet, size);
    if (result == PFC_FRAME_COMPLETE) {
      CHECK_NUMBER(pfc_message_fits(guarded.reassembler.type, guarded.reassembler.size), 1);
    }
    REQUIRE(CHECK(guarded.reassembler.filled <= sizeof guarded.reassembler.bytes));
  }
  for (unsigned i = 0; i < 64; i++) REQUIRE(CHECK(guarded.before[i] == 0x5a && guarded.after[i] == 0x5a));
}

static const struct test tests[] = {
    TEST("the check is the CRC the specification names", check_is_the_published_crc),
    TEST("every message is cut as specified and joined again, at every packet size from 20 to 514",
         every_size_is_cut_and_joined),
    TEST("a message that cannot be sent is refused", what_cannot_be_sent_is_refused),
    TEST("the packet budget of the specification holds", packet_budget_holds),
    TEST("an impossible packet is ignored, and the message in flight is kept",
         garbage_leaves_the_message_in_flight),
    TEST("a fragment of a type that no message has is ignored", types_that_are_carried),
    TEST("a first fragment with a length its type never has begins nothing", lengths_a_type_never_has),
    TEST("a later fragment that does not fit gives the message up", lost_messages),
    TEST("a message in one packet with a wrong check is given up", single_packet_with_a_wrong_check),
    TEST("fragments that do not fill a packet are taken", short_fragments_are_taken),
    TEST("an index never wraps", index_never_wraps),
    TEST("noise never completes an impossible message nor leaves the buffer", noise_never_overflows),
};

const struct suite frame_suite = SUITE("frame", tests);
