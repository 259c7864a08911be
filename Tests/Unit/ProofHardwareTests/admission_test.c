// SPDX-License-Identifier: Apache-2.0

/// The order of service when more centrals come than there are links, in virtual time: a test lets each second pass.

#include <string.h>

#include "hardware_suites.h"
#include "rig.h"

enum { GUESTS = 5, BOUND_SECONDS = 10 };

static struct rig rig;
static struct owner owner, guests[GUESTS];

static void make(bool clock) {
  rig_make(&rig, 21, clock);
  CHECK_NUMBER(rig_provision(&rig, 0, 1), PFC_OK);
  CHECK_NUMBER(rig_start(&rig), PFC_OK);
  owner_make(&owner, &rig, 5, 1, PFC_USES_UNLIMITED);
  unsigned link = rig_connect(&rig, 185);
  CHECK_NUMBER(owner_present(&owner, &rig, link), PFC_VERDICT_HELD);
  for (unsigned i = 0; i < GUESTS; i++) {
    owner_make(&guests[i], &rig, 50 + i, 1, PFC_USES_UNLIMITED);
    CHECK_NUMBER(owner_present(&guests[i], &rig, link), PFC_VERDICT_HELD);
  }
  pfd_unit_disconnect(&rig.unit, link);
}

static void fill(void) {
  for (unsigned i = 0; i < PFD_LINKS; i++) CHECK_NUMBER(rig_connect(&rig, 185), i);
  CHECK_NUMBER(pfd_unit_connect(&rig.unit), -1);
}

/// Draws often enough that each link that may be closed is drawn: bit i of the answer for link i.
static unsigned drawn(void) {
  unsigned links = 0;
  for (unsigned i = 0; i < 400; i++) {
    int link = pfd_unit_yield(&rig.unit);
    if (link >= 0) links |= 1u << link;
  }
  CHECK_NUMBER(links != 0, pfd_unit_has_room(&rig.unit));
  return links;
}

static void status(struct owner *who, unsigned link) {
  CHECK_NUMBER(owner_do(who, &rig, link, 0, "status"), PFC_VERDICT_ACCEPTED);
}

static void a_free_link_is_room_and_nobody_yields(void) {
  make(true);
  for (unsigned i = 0; i < PFD_LINKS; i++) {
    CHECK_NUMBER(pfd_unit_has_room(&rig.unit), 1);
    CHECK_NUMBER(pfd_unit_yield(&rig.unit), -1);
    CHECK_NUMBER(rig_connect(&rig, 23), i);
    rig.seconds += PFD_PROVE_SECONDS;
  }
}

static void strangers_yield_at_random_after_their_time_to_prove(void) {
  make(true);
  fill();
  CHECK_NUMBER(drawn(), 0);
  rig.seconds += PFD_PROVE_SECONDS - 1;
  CHECK_NUMBER(drawn(), 0);
  rig.seconds++;
  CHECK_NUMBER(drawn(), 0xFF);
  // The draw is no order: the same link twice in a row, and a later one before an earlier one.
  unsigned same = 0, back = 0;
  int before = pfd_unit_yield(&rig.unit);
  for (unsigned i = 0; i < 100; i++) {
    int link = pfd_unit_yield(&rig.unit);
    same += link == before;
    back += link < before;
    before = link;
  }
  CHECK(same > 0 && back > 10);
}

static void only_an_accepted_command_proves(void) {
  static const uint8_t junk[90] = {1, 1, 9};
  make(true);
  fill();
  status(&owner, 3);
  // Garbage, a wrong proof, a held token, an order: none of them is a proof.
  CHECK_NUMBER(rig_verdict(&rig, 0, PFD_HANDLE_COMMAND, junk, sizeof junk), PFC_VERDICT_STALE);
  CHECK(owner_ask(&guests[0], &rig, 1));
  owner_prepare(&guests[0], &rig, 0, "status");
  guests[0].message[guests[0].size - 10] ^= 1;
  CHECK_NUMBER(owner_send(&guests[0], &rig, 1), PFC_VERDICT_DEVICE_DIFFERS);
  CHECK_NUMBER(owner_present(&guests[0], &rig, 2), PFC_VERDICT_HELD);
  CHECK_NUMBER(rig_order(&rig, 4, PFC_ORDER_EPOCH, 1700000100, NULL, 0), PFC_VERDICT_DONE);
  rig.seconds += PFD_PROVE_SECONDS;
  CHECK_NUMBER(drawn(), 0xFF & ~(1u << 3));
}

static void a_proved_link_is_kept_until_it_is_idle(void) {
  make(true);
  fill();
  status(&owner, 3);
  rig.seconds += PFD_IDLE_SECONDS - 1;
  CHECK_NUMBER(drawn(), 0xFF & ~(1u << 3));
  status(&owner, 3);
  rig.seconds += PFD_IDLE_SECONDS - 1;
  CHECK_NUMBER(drawn(), 0xFF & ~(1u << 3));
  rig.seconds++;
  CHECK_NUMBER(drawn(), 0xFF);
}

static void eight_proved_links_of_one_guest_are_one(void) {
  for (int clock = 0; clock < 2; clock++) {
    make(clock == 1);
    fill();
    for (unsigned i = 0; i < PFD_LINKS; i++) status(&guests[0], i);
    rig.seconds += PFD_PROVE_SECONDS;
    CHECK_NUMBER(drawn(), 0x7F);
    // Commands on all of them in turn keep the last one alone.
    for (unsigned second = 0; second < 10; second++) {
      for (unsigned i = 0; i < PFD_LINKS; i++) status(&guests[0], i);
      rig.seconds++;
      CHECK_NUMBER(drawn(), 0x7F);
    }
  }
}

static void half_the_links_stay_open_to_newcomers_however_many_prove(void) {
  for (int clock = 0; clock < 2; clock++) {
    make(clock == 1);
    fill();
    for (unsigned i = 0; i < GUESTS; i++) status(&guests[i], i);
    rig.seconds += PFD_PROVE_SECONDS;
    // The four that proved last.
    CHECK_NUMBER(drawn(), 0xFF & ~0x1Eu);
    status(&guests[0], 0);
    CHECK_NUMBER(drawn(), 0xFF & ~0x1Du);
  }
}

static void a_link_that_was_used_before_has_proved_nothing(void) {
  make(true);
  fill();
  status(&owner, 3);
  pfd_unit_disconnect(&rig.unit, 3);
  CHECK_NUMBER(rig_connect(&rig, 23), 3);
  rig.seconds += PFD_PROVE_SECONDS;
  CHECK_NUMBER(drawn(), 0xFF);
}

static int no_random(void *context, uint8_t *bytes, size_t size) {
  (void)context;
  memset(bytes, 0xA5, size);
  return -1;
}

static void a_draw_that_fails_still_makes_room(void) {
  make(true);
  fill();
  status(&owner, 0);
  rig.seconds += PFD_PROVE_SECONDS;
  rig.port.random = no_random;
  CHECK_NUMBER(drawn(), 1u << 1);
}

static void the_one_link_of_a_firmware_ends_without_commands(void) {
  make(true);
  unsigned link = rig_connect(&rig, 23);
  rig.seconds += PFD_ALONE_SECONDS - 1;
  CHECK_NUMBER(pfd_unit_is_overdue(&rig.unit, link), 0);
  status(&owner, link);
  rig.seconds += PFD_ALONE_SECONDS - 1;
  CHECK_NUMBER(pfd_unit_is_overdue(&rig.unit, link), 0);
  CHECK(owner_ask(&owner, &rig, link));
  CHECK_NUMBER(rig.events[PFD_EVENT_EVICTED], 0);
  rig.seconds++;
  CHECK_NUMBER(pfd_unit_is_overdue(&rig.unit, link), 1);
  CHECK_NUMBER(rig.events[PFD_EVENT_EVICTED], 1);
  make(false);
  CHECK_NUMBER(pfd_unit_is_overdue(&rig.unit, rig_connect(&rig, 23)), 0);
}

// Floods ---------------------------------------------------------------------------------------------------------

enum { STRANGER = 0, OWNER = 1, WAITING_MAX = 64 };

/// The queue of a port: centrals wait in the order in which they came.
static struct {
  unsigned count;
  uint8_t who[WAITING_MAX];
} queue;

static void join(uint8_t who) {
  if (CHECK(queue.count < WAITING_MAX)) queue.who[queue.count++] = who;
}

/// Serves the queue as a port does. Strangers whose links end come again. The owner's link, or -1.
static int serve(unsigned half_open) {
  int found = -1;
  while (queue.count > 0 && pfd_unit_has_room(&rig.unit)) {
    int yielding = pfd_unit_yield(&rig.unit);
    unsigned link;
    uint8_t who = queue.who[0];
    memmove(queue.who, queue.who + 1, --queue.count);
    if (yielding >= 0) {
      pfd_unit_disconnect(&rig.unit, (unsigned)yielding);
      join(STRANGER);
    }
    link = rig_connect(&rig, 23);
    if (who == OWNER) found = (int)link;
    for (unsigned i = 0; who == STRANGER && i < half_open; i++) {
      static const uint8_t first[20] = {0x80 | PFC_MESSAGE_COMMAND, 0, 90};
      (void)rig_put(&rig, link, PFD_ATT_WRITE_COMMAND, PFD_HANDLE_COMMAND, first, sizeof first);
    }
  }
  return found;
}

/// Holds all links, lets so many strangers wait, and the owner behind them: the seconds until his command is accepted.
static unsigned wait_of_owner(unsigned proved, unsigned strangers, unsigned half_open) {
  memset(&queue, 0, sizeof queue);
  fill();
  for (unsigned i = 0; i < proved; i++) status(&guests[i % 4], i);
  for (unsigned i = 0; i < strangers; i++) join(STRANGER);
  join(OWNER);
  for (unsigned seconds = 0; seconds <= 3 * BOUND_SECONDS; seconds++) {
    int link = serve(half_open);
    if (link >= 0) {
      // All that he must send fits the time that his link is kept.
      rig.seconds += PFD_PROVE_SECONDS - 1;
      CHECK_NUMBER(serve(half_open), -1);
      CHECK_NUMBER(owner_do(&owner, &rig, (unsigned)link, 1, "open"), PFC_VERDICT_ACCEPTED);
      return seconds + PFD_PROVE_SECONDS - 1;
    }
    // Guests in league with the strangers keep their links busy.
    for (unsigned i = 0; proved > 0 && i < 4; i++) status(&guests[i], (proved - 4 + i) % PFD_LINKS);
    rig.seconds++;
  }
  return UINT32_MAX;
}

static void the_owner_gets_in_within_ten_seconds_under_each_flood(void) {
  static const struct {
    const char *name;
    unsigned proved, strangers, half_open, most;
  } floods[] = {
      {"eight proved idle links", 8, 0, 0, 3},
      {"two strangers that come again without end", 0, 2, 0, 3},
      {"twelve strangers that come again without end", 0, 12, 0, 5},
      {"eight proved links and twelve strangers", 8, 12, 0, 9},
      {"half-open messages on all links", 0, 12, 40, 5},
      {"all of it", 8, 12, 40, 9},
  };
  for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
    unsigned waited;
    make(true);
    test_case("%s", floods[i].name);
    waited = wait_of_owner(floods[i].proved, floods[i].strangers, floods[i].half_open);
    test_note("%s: the owner's command is accepted after %u virtual seconds\n", floods[i].name, waited);
    CHECK(waited <= floods[i].most && waited <= BOUND_SECONDS);
  }
}

// The log --------------------------------------------------------------------------------------------------------

static void a_flood_of_messages_is_thirteen_lines_an_hour(void) {
  static const uint8_t junk[90] = {1, 1, 9};
  make(true);
  unsigned link = rig_connect(&rig, 185);
  for (unsigned hour = 0; hour < 2; hour++) {
    unsigned before = rig.events[PFD_EVENT_JUDGED];
    for (unsigned i = 0; i < 100000; i++) {
      CHECK_NUMBER(rig_verdict(&rig, link, PFD_HANDLE_COMMAND, junk, sizeof junk), PFC_VERDICT_STALE);
    }
    CHECK_NUMBER(rig.events[PFD_EVENT_JUDGED] - before, 13);
    // It hides no other verdict, and none that takes the owner's keys.
    CHECK_NUMBER(owner_present(&guests[0], &rig, link), PFC_VERDICT_HELD);
    CHECK_NUMBER(rig.event.b, PFC_VERDICT_HELD);
    for (unsigned i = 0; i < 200; i++) {
      unsigned heard = rig.events[PFD_EVENT_JUDGED];
      status(&owner, link);
      CHECK_NUMBER(rig.events[PFD_EVENT_JUDGED] - heard, 2);
    }
    rig.seconds += PFD_TALLY_SECONDS;
  }
}

static void a_flood_of_connections_is_twelve_lines_an_hour(void) {
  make(true);
  fill();
  for (unsigned hour = 0; hour < 2; hour++) {
    unsigned before = rig.events[PFD_EVENT_EVICTED];
    for (unsigned i = 0; i < 1000; i++) {
      rig.seconds += PFD_PROVE_SECONDS;
      int yielding = pfd_unit_yield(&rig.unit);
      REQUIRE(CHECK(yielding >= 0));
      pfd_unit_disconnect(&rig.unit, (unsigned)yielding);
      CHECK_NUMBER(rig_connect(&rig, 23), yielding);
    }
    CHECK_NUMBER(rig.events[PFD_EVENT_EVICTED] - before, 12);
    rig.seconds += PFD_TALLY_SECONDS;
  }
}

static void counts_that_are_full_stay_and_tell_nothing(void) {
  static const uint8_t junk[90] = {1, 1, 9};
  make(true);
  unsigned link = rig_connect(&rig, 185);
  (void)rig_verdict(&rig, link, PFD_HANDLE_COMMAND, junk, sizeof junk);
  for (uint16_t left = 2; left-- > 0;) {
    rig.unit.judged[PFC_VERDICT_STALE] = (uint16_t)(UINT16_MAX - left);
    unsigned before = rig.events[PFD_EVENT_JUDGED];
    CHECK_NUMBER(rig_verdict(&rig, link, PFD_HANDLE_COMMAND, junk, sizeof junk), PFC_VERDICT_STALE);
    CHECK_NUMBER(rig.unit.judged[PFC_VERDICT_STALE], UINT16_MAX);
    CHECK_NUMBER(rig.events[PFD_EVENT_JUDGED], before);
  }
  make(true);
  fill();
  for (uint32_t left = 2; left-- > 0;) {
    rig.seconds += PFD_PROVE_SECONDS;
    rig.unit.evicted = UINT32_MAX - left;
    unsigned before = rig.events[PFD_EVENT_EVICTED];
    int yielding = pfd_unit_yield(&rig.unit);
    REQUIRE(CHECK(yielding >= 0));
    CHECK_COUNT(rig.unit.evicted, UINT32_MAX);
    CHECK_NUMBER(rig.events[PFD_EVENT_EVICTED], before);
    pfd_unit_disconnect(&rig.unit, (unsigned)yielding);
    (void)rig_connect(&rig, 23);
  }
}

static const struct test tests[] = {
    TEST("a free link is room, and no link yields", a_free_link_is_room_and_nobody_yields),
    TEST("strangers yield at random after their time to prove", strangers_yield_at_random_after_their_time_to_prove),
    TEST("only an accepted command proves", only_an_accepted_command_proves),
    TEST("a proved link is kept until it is idle", a_proved_link_is_kept_until_it_is_idle),
    TEST("eight proved links of one guest count as one", eight_proved_links_of_one_guest_are_one),
    TEST("half the links stay open to newcomers, however many prove",
         half_the_links_stay_open_to_newcomers_however_many_prove),
    TEST("a new link on a used place has proved nothing", a_link_that_was_used_before_has_proved_nothing),
    TEST("a draw that fails still makes room", a_draw_that_fails_still_makes_room),
    TEST("the one link of a firmware ends without commands", the_one_link_of_a_firmware_ends_without_commands),
    TEST("the owner gets in within ten seconds under each flood",
         the_owner_gets_in_within_ten_seconds_under_each_flood),
    TEST("a flood of messages is thirteen log lines an hour", a_flood_of_messages_is_thirteen_lines_an_hour),
    TEST("a flood of connections is twelve log lines an hour", a_flood_of_connections_is_twelve_lines_an_hour),
    TEST("counts that are full stay full, and tell nothing", counts_that_are_full_stay_and_tell_nothing),
};

const struct suite admission_suite = SUITE("admission", tests);
