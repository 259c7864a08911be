// SPDX-License-Identifier: Apache-2.0

/// Faults of a bad radio: loss, repetition, reordering, interleaving, corruption.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "packets.h"

static struct packets packets;
static uint8_t message[PFC_MESSAGE_MAX];
static struct pfc_reassembler reassembler;

// At 20 every message but ASK has several packets, at 182 some, at 60 the cuts fall elsewhere.
static const size_t packet_sizes[] = {20, 60, 182};

static enum pfc_frame_result take(const struct packets *from, size_t index) {
  return pfc_reassemble(&reassembler, from->bytes[index], from->sizes[index]);
}

/// Sends the message again, whole: whatever happened, the next message gets through.
static void recovers(const struct shape *shape) {
  for (size_t i = 0; i < packets.count; i++) {
    CHECK_NUMBER(take(&packets, i), i + 1 == packets.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE);
  }
  CHECK_BYTES(reassembler.bytes, message, shape->size);
}

/// Calls `body` for every shape and packet size, with the message cut and the reassembler new.
static void for_every_message(void (*body)(const struct shape *shape)) {
  for (size_t s = 0; s < shape_count; s++) {
    message_make(message, &shapes[s], 40 + s);
    for (unsigned p = 0; p < sizeof packet_sizes / sizeof packet_sizes[0]; p++) {
      packets_specify(&packets, &shapes[s], message, packet_sizes[p]);
      test_case("type %u, %zu bytes, packets of %zu", shapes[s].type, shapes[s].size, packet_sizes[p]);
      pfc_reassemble_init(&reassembler);
      body(&shapes[s]);
    }
  }
}

static void lose_each(const struct shape *shape) {
  for (size_t lost = 0; lost < packets.count; lost++) {
    for (size_t i = 0; i < packets.count; i++) {
      enum pfc_frame_result expected = PFC_FRAME_MORE;
      if (i == lost) continue;
      if (i > lost) expected = lost == 0 || i > lost + 1 ? PFC_FRAME_GARBAGE : PFC_FRAME_LOST;
      CHECK_NUMBER(take(&packets, i), expected);
    }
    recovers(shape);
    pfc_reassemble_init(&reassembler);
  }
}

static void lose(void) { for_every_message(lose_each); }

static void repeat_each(const struct shape *shape) {
  for (size_t twice = 0; twice < packets.count; twice++) {
    for (size_t i = 0; i < packets.count; i++) {
      enum pfc_frame_result expected = i + 1 == packets.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE;
      CHECK_NUMBER(take(&packets, i), expected);
      if (i != twice) continue;
      if (i == 0) {
        // A first fragment always begins anew.
        CHECK_NUMBER(take(&packets, i), expected);
      } else if (i + 1 < packets.count) {
        CHECK_NUMBER(take(&packets, i), PFC_FRAME_REPEATED);
      }
    }
    CHECK_NUMBER(reassembler.size, shape->size);
    CHECK_BYTES(reassembler.bytes, message, shape->size);
    // The message is complete; nothing is in flight that a late repetition could belong to.
    if (packets.count > 1) CHECK_NUMBER(take(&packets, packets.count - 1), PFC_FRAME_GARBAGE);
    recovers(shape);
    pfc_reassemble_init(&reassembler);
  }
}

static void repeat(void) { for_every_message(repeat_each); }

static void repeat_all_earlier_each(const struct shape *shape) {
  for (size_t i = 0; i < packets.count; i++) {
    CHECK_NUMBER(take(&packets, i), i + 1 == packets.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE);
    if (i + 1 == packets.count) break;
    for (size_t earlier = 1; earlier <= i; earlier++) CHECK_NUMBER(take(&packets, earlier), PFC_FRAME_REPEATED);
  }
  CHECK_BYTES(reassembler.bytes, message, shape->size);
}

static void repeat_all_earlier(void) { for_every_message(repeat_all_earlier_each); }

static void swap_each(const struct shape *shape) {
  for (size_t a = 0; a < packets.count; a++) {
    for (size_t b = a + 1; b < packets.count; b++) {
      for (size_t i = 0; i < packets.count; i++) {
        CHECK(take(&packets, i == a ? b : i == b ? a : i) != PFC_FRAME_COMPLETE);
      }
      recovers(shape);
      pfc_reassemble_init(&reassembler);
    }
  }
}

static void swap(void) { for_every_message(swap_each); }

static void interleave_on_one_link(void) {
  static struct packets other;
  static const struct shape token = {PFC_MESSAGE_TOKEN, 288}, command = {PFC_MESSAGE_COMMAND, 346};
  uint8_t second[PFC_MESSAGE_MAX];
  message_make(message, &token, 1);
  message_make(second, &command, 2);
  packets_specify(&packets, &token, message, 20);
  packets_specify(&other, &command, second, 20);
  pfc_reassemble_init(&reassembler);
  for (size_t i = 0; i < packets.count; i++) {
    test_case("packet %zu of each", i);
    // Each first fragment drops the other's message; each later one meets another type or nothing.
    CHECK_NUMBER(take(&packets, i), i == 0 ? PFC_FRAME_MORE : i == 1 ? PFC_FRAME_LOST : PFC_FRAME_GARBAGE);
    CHECK_NUMBER(take(&other, i), i == 0 ? PFC_FRAME_MORE : PFC_FRAME_GARBAGE);
  }
  recovers(&token);
}

static void interleave_messages_of_one_type(void) {
  static struct packets other;
  static const struct shape command = {PFC_MESSAGE_COMMAND, 346};
  uint8_t second[PFC_MESSAGE_MAX];
  message_make(message, &command, 1);
  message_make(second, &command, 2);
  packets_specify(&packets, &command, message, 20);
  packets_specify(&other, &command, second, 20);
  // Indices alone cannot tell the two apart; the check does.
  for (unsigned mask = 1; mask < 256; mask++) {
    test_case("mask %u", mask);
    pfc_reassemble_init(&reassembler);
    for (size_t i = 0; i < packets.count; i++) {
      const struct packets *from = (mask >> (i % 8) & 1) != 0 ? &other : &packets;
      enum pfc_frame_result result = take(from, i);
      if (i + 1 < packets.count) {
        CHECK_NUMBER(result, PFC_FRAME_MORE);
      } else {
        CHECK_NUMBER(result, mask == 255 ? PFC_FRAME_COMPLETE : PFC_FRAME_LOST);
      }
    }
  }
}

static void links_do_not_mix(void) {
  static struct packets other;
  static const struct shape token = {PFC_MESSAGE_TOKEN, 288}, command = {PFC_MESSAGE_COMMAND, 346};
  struct pfc_reassembler second_link;
  uint8_t second[PFC_MESSAGE_MAX];
  message_make(message, &token, 1);
  message_make(second, &command, 2);
  packets_specify(&packets, &token, message, 20);
  packets_specify(&other, &command, second, 20);
  pfc_reassemble_init(&reassembler);
  pfc_reassemble_init(&second_link);
  for (size_t i = 0; i < other.count; i++) {
    CHECK_NUMBER(pfc_reassemble(&second_link, other.bytes[i], other.sizes[i]),
                 i + 1 == other.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE);
    if (i < packets.count) {
      CHECK_NUMBER(take(&packets, i), i + 1 == packets.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE);
    }
  }
  CHECK_BYTES(reassembler.bytes, message, token.size);
  CHECK_BYTES(second_link.bytes, second, command.size);
}

static void new_message_drops_the_old(void) {
  static struct packets other;
  static const struct shape token = {PFC_MESSAGE_TOKEN, 288}, ask = {PFC_MESSAGE_ASK, 1};
  const uint8_t what[1] = {1};
  message_make(message, &token, 1);
  packets_specify(&packets, &token, message, 20);
  packets_specify(&other, &ask, what, 20);
  for (size_t before = 1; before < packets.count; before++) {
    test_case("after %zu packets", before);
    pfc_reassemble_init(&reassembler);
    for (size_t i = 0; i < before; i++) CHECK_NUMBER(take(&packets, i), PFC_FRAME_MORE);
    CHECK_NUMBER(take(&other, 0), PFC_FRAME_COMPLETE);
    CHECK_NUMBER(reassembler.type, PFC_MESSAGE_ASK);
    CHECK_BYTES(reassembler.bytes, what, 1);
    CHECK_NUMBER(take(&packets, before), PFC_FRAME_GARBAGE);
  }
}

/// Every value of every byte would be 255 runs; these reach every bit, all bits, and three neighbours.
static const uint8_t errors[] = {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xff, 0x0f, 0x3c, 0xa5};

static void corrupt_each(const struct shape *shape) {
  for (size_t bad = 0; bad < packets.count; bad++) {
    for (size_t byte = 0; byte < packets.sizes[bad]; byte++) {
      for (unsigned e = 0; e < sizeof errors; e++) {
        packets.bytes[bad][byte] ^= errors[e];
        for (size_t i = 0; i < packets.count; i++) {
          REQUIRE(CHECK(take(&packets, i) != PFC_FRAME_COMPLETE));
        }
        packets.bytes[bad][byte] ^= errors[e];
        pfc_reassemble_init(&reassembler);
      }
    }
  }
  recovers(shape);
}

static void corrupt(void) { for_every_message(corrupt_each); }

static void cut_short_each(const struct shape *shape) {
  for (size_t bad = 0; bad < packets.count; bad++) {
    for (size_t size = 0; size < packets.sizes[bad]; size++) {
      for (size_t i = 0; i < packets.count; i++) {
        size_t full = packets.sizes[i];
        if (i == bad) packets.sizes[i] = size;
        REQUIRE(CHECK(take(&packets, i) != PFC_FRAME_COMPLETE));
        packets.sizes[i] = full;
      }
      pfc_reassemble_init(&reassembler);
    }
  }
  recovers(shape);
}

static void cut_short(void) { for_every_message(cut_short_each); }

static void lengthen_each(const struct shape *shape) {
  for (size_t bad = 0; bad < packets.count; bad++) {
    if (packets.sizes[bad] == PFC_PACKET_MAX) continue;
    for (size_t i = 0; i < packets.count; i++) {
      packets.bytes[bad][packets.sizes[bad]] = 0;
      packets.sizes[bad] += i == bad;
      CHECK(take(&packets, i) != PFC_FRAME_COMPLETE);
      packets.sizes[bad] -= i == bad;
    }
    pfc_reassemble_init(&reassembler);
  }
  recovers(shape);
}

static void lengthen(void) { for_every_message(lengthen_each); }

static const struct test tests[] = {
    TEST("any one fragment lost loses the message and no more", lose),
    TEST("any one fragment twice does no harm", repeat),
    TEST("all earlier fragments again do no harm", repeat_all_earlier),
    TEST("any two fragments exchanged never make a message", swap),
    TEST("two messages interleaved on one link are lost, and the next one gets through", interleave_on_one_link),
    TEST("fragments of two messages of one type are told apart by the check", interleave_messages_of_one_type),
    TEST("two links do not mix", links_do_not_mix),
    TEST("a new message drops the one in flight", new_message_drops_the_old),
    TEST("any byte corrupted, by any bit or all, never makes a message", corrupt),
    TEST("any fragment cut short never makes a message", cut_short),
    TEST("any fragment one byte longer never makes a message", lengthen),
};

const struct suite frame_loss_suite = SUITE("frame loss", tests);
