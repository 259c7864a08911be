// SPDX-License-Identifier: Apache-2.0

/// Each part of a look at who watches: the tracer that the kernel names, what a release compares, and what a hold keeps
/// from others and from the app.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/watch.h"
#include "process_place.h"
#include "process_sight.h"
#include "process_suites.h"

static struct pfp_process process;

/// A process whose status has this text; NULL: it cannot be read.
static void begin(const char *text) {
  process = (struct pfp_process){.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  if (text == NULL) return;
  process.status = memfd_create("status", MFD_CLOEXEC);
  CHECK(process.status >= 0 && write(process.status, text, strlen(text)) == (ssize_t)strlen(text));
}

// Tracers --------------------------------------------------------------------------------------------------------

static void the_tracer_is_the_number_of_its_line(void) {
  static const struct {
    const char *text;
    int tracer;
  } CASES[] = {{"Name:\tx\nTracerPid:\t0\nUid:\t7\n", 0},
               {"Name:\tx\nTracerPid:\t1\nUid:\t0\n", 1},
               {"Name:\tx\nTracerPid:\t9\n", 1},
               {"Name:\tx\nTracerPid:\t4194304\n", 1},
               {"\nTracerPid:7\n", 1},
               {"\nTracerPid:\ta\n", 0},
               {"Name:\tx\nUid:\t7\n", -1},
               {"TracerPid:\t7\n", -1},
               {"", -1},
               {NULL, -1}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    struct pfp_sight sight;
    test_case("case %zu", i);
    begin(CASES[i].text);
    CHECK_NUMBER(pfp_watch_look(&sight, &process), 0);
    CHECK_NUMBER(sight.tracer, CASES[i].tracer);
    if (sight.tracer != 0) CHECK_NUMBER(sight.every_tracer, 0);
    pfp_process_close(&process);
  }
}

// Release --------------------------------------------------------------------------------------------------------

static const uint8_t PROOF[PFC_PROOF_BYTES] = {9, 8, 7, 6, 5, 4, 3, 2, 1};

/// Whether a proof that is released is still what it was.
static bool releases(enum pfp_release_after after) {
  uint8_t proof[PFC_PROOF_BYTES];
  memcpy(proof, PROOF, sizeof proof);
  CHECK_NUMBER(pfp_release(proof, &process, after), PFP_OK);
  return memcmp(proof, PROOF, sizeof proof) == 0;
}

/// Each part of what a measurement saw must be what the second look sees.
static void a_release_compares_each_part(void) {
  struct pfp_sight sight;
  begin("x\nTracerPid:\t0\n");
  CHECK_NUMBER(pfp_watch_look(&sight, &process), 0);
  for (unsigned how = 0; how < 8; how++) {
    struct pfp_sight other = sight;
    test_case("part %u", how);
    if (how == 1) other.tracer = 1;
    if (how == 2) other.every_tracer = !other.every_tracer;
    if (how == 3) other.breakpoints++;
    if (how == 4) other.free_code++;
    if (how == 5) other.free_data++;
    if (how == 6) other.personality_told = !other.personality_told;
    if (how == 7) other.personality ^= 1;
    pfp_watch_remember(&other);
    CHECK(releases(PFP_AFTER_MEASUREMENT) == (how == 0));
    CHECK(releases(PFP_AFTER_PROOF));
  }
  pfp_watch_remember(NULL);
  pfp_process_close(&process);
}

/// Each byte of a proof is another one where the looks differ, some time or other.
static void a_mask_covers_each_byte(void) {
  struct pfp_sight sight;
  bool changed[PFC_PROOF_BYTES] = {false};
  begin("x\nTracerPid:\t0\n");
  CHECK_NUMBER(pfp_watch_look(&sight, &process), 0);
  sight.personality ^= 1;
  pfp_watch_remember(&sight);
  for (unsigned i = 0; i < 64; i++) {
    uint8_t proof[PFC_PROOF_BYTES];
    memcpy(proof, PROOF, sizeof proof);
    CHECK_NUMBER(pfp_release(proof, &process, PFP_AFTER_MEASUREMENT), PFP_OK);
    for (size_t j = 0; j < sizeof proof; j++) changed[j] = changed[j] || proof[j] != PROOF[j];
  }
  for (size_t j = 0; j < sizeof changed; j++) {
    test_case("byte %zu", j);
    CHECK(changed[j]);
  }
  pfp_watch_remember(NULL);
  pfp_process_close(&process);
}

/// A measurement forgets the release before it: the next proof follows the measurement, and not that release.
static void a_measurement_forgets_the_release_before_it(void) {
  struct pfp_sight sight;
  begin("x\nTracerPid:\t0\n");
  CHECK_NUMBER(pfp_watch_look(&sight, &process), 0);
  pfp_watch_remember(&sight);
  CHECK(!releases(PFP_AFTER_PROOF));
  pfp_watch_remember(&sight);
  CHECK(releases(PFP_AFTER_MEASUREMENT) && releases(PFP_AFTER_PROOF));
  pfp_watch_remember(&sight);
  CHECK(!releases(PFP_AFTER_PROOF));
  pfp_watch_remember(NULL);
  CHECK(!releases(PFP_AFTER_PROOF) && releases(PFP_AFTER_MEASUREMENT));
  pfp_process_close(&process);
}

// Personality ----------------------------------------------------------------------------------------------------

static int looks_twice(struct pfp_probe *probe) {
  struct pfp_sight sight;
  (void)probe;
  begin("x\nTracerPid:\t0\n");
  if (personality(ADDR_NO_RANDOMIZE) == -1) return 2;
  for (unsigned i = 0; i < 2; i++) {
    if (pfp_watch_look(&sight, &process) != 0) return 3;
    if (!sight.personality_told || sight.personality != ADDR_NO_RANDOMIZE) return 4;
  }
  return personality(0xFFFFFFFF) == ADDR_NO_RANDOMIZE ? 0 : 5;
}

static void a_look_leaves_the_personality(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(looks_twice), 0);
  place_finish();
}

// Holds ----------------------------------------------------------------------------------------------------------

/// The parent holds its breakpoints. Its child has none of them, and one of its own that is in use.
static int looks_under_a_hold(struct pfp_probe *probe) {
  struct sight_record record;
  int status = -1;
  pid_t child;
  pfp_watch_begin();
  child = fork();
  if (child == 0) {
    if (sight_breakpoint() < 0) _exit(2);
    if (sight_look(&record, probe, BREAKPOINTS) != PFP_OK) _exit(3);
    _exit(sight_says(&record, "none") ? 4 : 0);
  }
  if (waitpid(child, &status, 0) != child) return 5;
  pfp_watch_end();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 6;
}

/// Held, and no longer held.
static int holds(bool held) {
  int breakpoint = sight_breakpoint(), error = errno;
  if (breakpoint >= 0) (void)close(breakpoint);
  return held ? breakpoint < 0 && error == ENOSPC : breakpoint >= 0;
}

static int holds_after_ends(struct pfp_probe *probe) {
  (void)probe;
  pfp_watch_begin();
  pfp_watch_end();
  if (!holds(false)) return 5;
  pfp_watch_end();
  pfp_watch_end();
  pfp_watch_begin();
  if (!holds(true)) return 2;
  pfp_watch_begin();
  pfp_watch_end();
  if (!holds(true)) return 3;
  pfp_watch_end();
  return holds(false) ? 0 : 4;
}

static int held_while_measuring;

static int note_hold(void *user, const struct pfp_progress *progress) {
  (void)progress;
  if (!holds(true)) *(int *)user = 0;
  return 0;
}

/// From the first file on, no other program gets a breakpoint.
static int measures_under_a_hold(struct pfp_probe *probe) {
  struct pfp_probe_options own = {.bundle = place.bundle, .progress = note_hold, .user = &held_while_measuring};
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  static struct listing listing;
  struct pfp_probe *second;
  (void)probe;
  held_while_measuring = 1;
  if (pfp_probe_create(&second, &own) != PFP_OK) return 2;
  if (pfp_probe_collect(second, &draft, listing_add, &listing) != PFP_OK) return 3;
  if (!holds(false)) return 4;
  return held_while_measuring ? 0 : 5;
}

static void holds_are_the_threads_own(void) {
  static const struct {
    const char *what;
    int (*run)(struct pfp_probe *);
  } CASES[] = {{"a child of a process that holds", looks_under_a_hold},
               {"an end without a beginning", holds_after_ends},
               {"a measurement", measures_under_a_hold}};
  if (!sight_can_ask()) return;
  REQUIRE(place_begin());
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    test_case("%s", CASES[i].what);
    CHECK_NUMBER(sight_in_child(CASES[i].run), 0);
  }
  place_finish();
}

/// The thread that holds has no copy of the app's descriptors, whatever their numbers.
static int closes_under_a_hold(struct pfp_probe *probe) {
  static const int NUMBERS[] = {0, 1, 2, 200};
  (void)probe;
  for (size_t i = 0; i < sizeof NUMBERS / sizeof NUMBERS[0]; i++) {
    int ends[2];
    char byte;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0 || dup2(ends[1], NUMBERS[i]) < 0 || close(ends[1]) != 0) return 2;
    pfp_watch_begin();
    if (close(NUMBERS[i]) != 0 || read(ends[0], &byte, 1) != 0) return 3 + NUMBERS[i] % 100;
    pfp_watch_end();
    (void)close(ends[0]);
  }
  return 0;
}

static void a_hold_keeps_no_descriptor(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(closes_under_a_hold), 0);
  place_finish();
}

static const struct test tests[] = {
    TEST("the tracer is the number of its line, and without one it is untold", the_tracer_is_the_number_of_its_line),
    TEST("a release compares each part of two looks", a_release_compares_each_part),
    TEST("a mask covers each byte of a proof", a_mask_covers_each_byte),
    TEST("a measurement forgets the release before it", a_measurement_forgets_the_release_before_it),
    TEST("a look leaves the personality as it is", a_look_leaves_the_personality),
    TEST("breakpoints are held by one thread of one process, while it measures", holds_are_the_threads_own),
    TEST("a hold keeps no descriptor of the app's open", a_hold_keeps_no_descriptor),
};

const struct suite process_seen_suite = SUITE("seen", tests);
