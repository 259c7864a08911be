// SPDX-License-Identifier: Apache-2.0

/// A flood of garbage, and what it costs the owner: counted in basic blocks of core and device, not in time.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

enum { GARBAGE = 1000000, UNLOCKS = 600, LIVE_MAX = 64 };

static struct rig rig;
static struct owner owner, stranger;
static uint64_t work;

/// Called by each basic block of core and device: the Makefile compiles them so.
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { work++; }

/// PDUs with fragments of messages that nearly are some.
static struct {
  uint8_t bytes[PFD_MTU_MIN];
  size_t size;
} live[LIVE_MAX];
static unsigned lives;

static void add_live(uint16_t handle, const uint8_t *message, size_t size) {
  struct pfc_fragmenter fragmenter;
  uint8_t packet[PFC_PACKET_MAX];
  size_t count;
  CHECK_NUMBER(pfc_fragment_init(&fragmenter, pfd_gatt_message_type(handle), message, size, PFD_MTU_MIN - 3u), PFC_OK);
  while ((count = pfc_fragment_next(&fragmenter, packet)) != 0 && CHECK(lives < LIVE_MAX)) {
    live[lives].bytes[0] = PFD_ATT_WRITE_COMMAND;
    put16(live[lives].bytes + 1, handle);
    memcpy(live[lives].bytes + 3, packet, count);
    live[lives++].size = 3 + count;
  }
}

/// Noise; a fragment in its place or out of it; one with a bit changed; one with another's head.
static void send_garbage(struct dice *dice, unsigned *link) {
  uint8_t pdu[2 * PFD_MTU_MIN], taken[PFD_MTU_MAX];
  size_t size = 1 + dice_below(dice, sizeof pdu);
  unsigned kind = dice_below(dice, 4);
  dice_fill(dice, pdu, sizeof pdu);
  if (kind != 0) {
    unsigned chosen = dice_below(dice, lives);
    size = live[chosen].size;
    memcpy(pdu, live[chosen].bytes, kind == 3 ? 5 : size);
    if (kind == 2) pdu[dice_below(dice, (uint32_t)size)] ^= (uint8_t)(1u << dice_below(dice, 8));
  }
  if (rig_write(&rig, *link, pdu, size) == PFD_LINK_CLOSE) {
    pfd_unit_disconnect(&rig.unit, *link);
    *link = rig_connect(&rig, PFD_MTU_MIN);
  }
  while (rig_take(&rig, *link, taken) != 0) continue;
}

/// The work of the dearest and of the cheapest of so many unlocks.
static void unlock(unsigned link, uint64_t *most, uint64_t *least) {
  *most = 0;
  *least = UINT64_MAX;
  for (unsigned i = 0; i < UNLOCKS; i++) {
    uint64_t before = work, took;
    REQUIRE(CHECK_NUMBER(owner_do(&owner, &rig, link, 1, i % 2 ? "open" : "close"), PFC_VERDICT_ACCEPTED));
    took = work - before;
    if (took > *most) *most = took;
    if (took < *least) *least = took;
  }
}

static void a_million_garbage_packets_cost_the_owner_nothing(void) {
  struct dice dice = {77};
  uint8_t order[PFC_ORDER_BYTES] = {0}, recall[72] = {0};
  uint64_t most[2], least[2];
  unsigned link, hostile;
  lives = 0;
  rig_make(&rig, 31, true);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  owner_make(&owner, &rig, 5, 1, PFC_USES_UNLIMITED);
  owner_make(&stranger, &rig, 6, 1, 1000);
  link = rig_connect(&rig, 185);
  hostile = rig_connect(&rig, PFD_MTU_MIN);
  REQUIRE(CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD));
  unlock(link, &most[0], &least[0]);
  add_live(PFD_HANDLE_TOKEN, owner.bytes, sizeof owner.bytes);
  add_live(PFD_HANDLE_COMMAND, owner.message, owner.size);
  stranger.bytes[200] ^= 1;
  add_live(PFD_HANDLE_TOKEN, stranger.bytes, sizeof stranger.bytes);
  add_live(PFD_HANDLE_ORDER, order, sizeof order);
  add_live(PFD_HANDLE_RECALL, recall, sizeof recall);
  for (unsigned i = 0; i < GARBAGE; i++) {
    send_garbage(&dice, &hostile);
    if (i % (GARBAGE / 10) == 0) {
      REQUIRE(CHECK_NUMBER(owner_do(&owner, &rig, link, 1, "open"), PFC_VERDICT_ACCEPTED));
    }
  }
  unlock(link, &most[1], &least[1]);
  test_note("%d garbage packets, seed 77: an unlock takes %llu to %llu basic blocks before, %llu to %llu after\n",
            GARBAGE, (unsigned long long)least[0], (unsigned long long)most[0], (unsigned long long)least[1],
            (unsigned long long)most[1]);
  CHECK(least[0] > 100);
  // Keys and nonces are others each time: some hundredths of a percent are theirs.
  CHECK(most[1] <= most[0] + most[0] / 200);
  CHECK(least[1] <= least[0] + least[0] / 200);
}

static const struct test tests[] = {
    TEST("a million garbage packets cost the owner nothing", a_million_garbage_packets_cost_the_owner_nothing),
};

const struct suite flood_suite = SUITE("flood", tests);
