// SPDX-License-Identifier: Apache-2.0

/// The device's state across restarts.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

static struct rig rig;
static struct owner owner;

/// The port's storage.
static struct {
  uint8_t state[PFD_STATE_BYTES];
  unsigned count;
  bool fails;
} stored;

static int keep(void *context, const uint8_t state[PFD_STATE_BYTES]) {
  (void)context;
  if (stored.fails) return -1;
  memcpy(stored.state, state, sizeof stored.state);
  stored.count++;
  return 0;
}

/// A unit whose port stores the state; its first link, on which the owner's token is held.
static unsigned begin(bool clock) {
  unsigned link;
  memset(&stored, 0, sizeof stored);
  rig_make(&rig, 41, clock);
  rig.port.keep = keep;
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  owner_make(&owner, &rig, 5, 1, 1000);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  return link;
}

/// The reply's result and its state (docs/LINK.md, section 6) after a command that is accepted.
static unsigned say(unsigned link, uint8_t class_, const char *command) {
  uint8_t pdu[PFD_MTU_MAX];
  CHECK_NUMBER(owner_do(&owner, &rig, link, class_, command), PFC_VERDICT_ACCEPTED);
  CHECK_NUMBER(rig_put(&rig, link, PFD_ATT_READ_REQUEST, PFD_HANDLE_REPLY, NULL, 0), PFD_LINK_OPEN);
  if (!CHECK_NUMBER(rig_take(&rig, link, pdu), 1 + PFD_REPLY_BYTES)) return 0;
  CHECK_NUMBER(pdu[1 + 9], rig.unit.device.open);
  return pdu[1 + 8];
}

static bool same(const struct pfd_device *a, const struct pfd_device *b) {
  return a->open == b->open && a->autolock == b->autolock && a->firmware == b->firmware && a->opened == b->opened &&
         a->done == b->done;
}

static void comes_back_as_it_was_told(void) {
  unsigned link = begin(true);
  CHECK_NUMBER(say(link, 3, "install 7"), PFD_DONE);
  CHECK_NUMBER(say(link, 2, "autolock 5"), PFD_DONE);
  CHECK_NUMBER(say(link, 1, "open"), PFD_DONE);
  rig.seconds = 1000;
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  CHECK_NUMBER(pfd_unit_restore(&rig.unit, stored.state), PFC_OK);
  CHECK_NUMBER(rig.unit.device.open, 1);
  CHECK_NUMBER(rig.unit.device.autolock, 5);
  CHECK_NUMBER(rig.unit.device.done, 0);
  link = rig_connect(&rig, 185);
  CHECK_NUMBER(say(link, 3, "install 6"), PFD_DONE_RANGE);
  // Autolock counts from the start.
  rig.seconds = 1004;
  pfd_unit_tick(&rig.unit);
  CHECK_NUMBER(rig.unit.device.open, 1);
  rig.seconds = 1005;
  pfd_unit_tick(&rig.unit);
  CHECK_NUMBER(rig.unit.device.open, 0);
  // It is stored, too, that the lock closed itself.
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  CHECK_NUMBER(pfd_unit_restore(&rig.unit, stored.state), PFC_OK);
  CHECK_NUMBER(rig.unit.device.open, 0);
  CHECK_NUMBER(rig.unit.device.firmware, 7);
}

static void is_stored_when_it_changes_alone(void) {
  unsigned link = begin(true);
  CHECK_NUMBER(say(link, 0, "status"), PFD_DONE);
  CHECK_NUMBER(say(link, 1, "close"), PFD_DONE);
  CHECK_NUMBER(say(link, 1, "jump"), PFD_DONE_UNKNOWN);
  CHECK_NUMBER(say(link, 3, "install 0"), PFD_DONE_RANGE);
  pfd_unit_tick(&rig.unit);
  CHECK_NUMBER(stored.count, 0);
  CHECK_NUMBER(say(link, 1, "open"), PFD_DONE);
  CHECK_NUMBER(stored.count, 1);
  CHECK_NUMBER(say(link, 1, "open"), PFD_DONE);
  CHECK_NUMBER(stored.count, 1);
}

static void that_cannot_be_stored_is_not_taken(void) {
  static const struct {
    uint8_t class_;
    const char *command;
  } cases[] = {{1, "open"}, {2, "autolock 9"}, {3, "install 9"}};
  unsigned link = begin(true);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfd_device before = rig.unit.device;
    test_case("`%s`", cases[i].command);
    stored.fails = true;
    CHECK_NUMBER(say(link, cases[i].class_, cases[i].command), PFD_DONE_NOT_STORED);
    CHECK(same(&before, &rig.unit.device));
    stored.fails = false;
    CHECK_NUMBER(say(link, cases[i].class_, cases[i].command), PFD_DONE);
  }
  // A lock that closes itself closes, whatever can be stored.
  stored.fails = true;
  rig.seconds += 9;
  pfd_unit_tick(&rig.unit);
  CHECK_NUMBER(rig.unit.device.open, 0);
}

static void with_one_bit_changed_is_refused(void) {
  struct pfd_device device, before;
  uint8_t state[PFD_STATE_BYTES];
  pfd_device_init(&device);
  device.autolock = 60;
  before = device;
  pfd_state_encode(state, &device);
  for (unsigned bit = 0; bit < 8 * sizeof state; bit++) {
    test_case("bit %u", bit);
    state[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK_NUMBER(pfd_state_decode(&device, state, 1), PFC_E_DAMAGED);
    CHECK(same(&before, &device));
    state[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  CHECK_NUMBER(pfd_state_decode(&device, state, 1), PFC_OK);
}

/// Fuzzing behind the check: any head with the right check is refused, or is the state of a device, word for word.
static void of_any_head_is_refused_or_read_as_it_stands(void) {
  struct dice dice = {.state = 43};
  unsigned taken = 0;
  for (unsigned turn = 0; turn < 200000; turn++) {
    struct pfd_device device;
    uint8_t state[PFD_STATE_BYTES] = {'P', 'D', 1}, again[PFD_STATE_BYTES], check[32];
    dice_fill(&dice, state + 3, 5);
    state[3] &= (uint8_t)(state[4] & 1 ? 1 : 0xFF);
    state[5] &= (uint8_t)(state[4] & 2 ? 0x0F : 0xFF);
    if (turn % 16 == 0) state[turn / 16 % 8] ^= (uint8_t)(1u << turn / 128 % 8);
    pfc_hash_once(check, "pfd1.state......", state, 8);
    memcpy(state + 8, check, 16);
    pfd_device_init(&device);
    if (pfd_state_decode(&device, state, turn) != PFC_OK) continue;
    taken++;
    CHECK(device.open <= 1 && device.autolock <= PFD_AUTOLOCK_MAX && device.firmware >= PFD_FIRMWARE_FIRST);
    pfd_state_encode(again, &device);
    CHECK(memcmp(again, state, sizeof state) == 0);
  }
  CHECK(taken > 1000);
  test_note("state: %u of 200000 heads taken\n", taken);
}

static const struct test tests[] = {
    TEST("comes back after a restart as the reply told it, and autolock counts anew", comes_back_as_it_was_told),
    TEST("is stored when it changes, and only then", is_stored_when_it_changes_alone),
    TEST("that cannot be stored is not taken, and the reply says so", that_cannot_be_stored_is_not_taken),
    TEST("with one bit changed is refused", with_one_bit_changed_is_refused),
    TEST("of any head with its check is refused or read as it stands", of_any_head_is_refused_or_read_as_it_stands),
};

const struct suite state_suite = SUITE("state", tests);
