// SPDX-License-Identifier: Apache-2.0

/// The look at who can watch this process: personality, and what it says without an answer.

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "process_place.h"
#include "process_sight.h"
#include "process_suites.h"

// Personality ----------------------------------------------------------------------------------------------------

static int with_personality(struct pfp_probe *probe) {
  struct sight_record record;
  if (personality(0) == -1) return 2;
  if (sight_look(&record, probe, "personality") != PFP_OK || !sight_says(&record, "none")) return 3;
  if (personality(ADDR_NO_RANDOMIZE) == -1) return 4;
  return sight_look(&record, probe, "personality") == PFP_OK && sight_says(&record, "00040000") ? 0 : 5;
}

static void personality_is_an_observation(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(with_personality), 0);
  place_finish();
}

// No answer ------------------------------------------------------------------------------------------------------

/// With each number of descriptors to spare, the whole measurement is the same or none.
static int with_few_descriptors(struct pfp_probe *probe) {
  static struct listing before, now;
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  struct rlimit limit;
  int next, failures = 0;
  if (pfp_probe_collect(probe, &draft, listing_add, &before) != PFP_OK) return 2;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
  next = dup(0);
  (void)close(next);
  for (rlim_t spare = 0; spare < 12; spare++) {
    int result;
    limit.rlim_cur = (rlim_t)next + spare;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 4;
    memset(&now, 0, sizeof now);
    result = pfp_probe_collect(probe, &draft, listing_add, &now);
    if (result == PFP_E_RESOURCE) {
      failures++;
    } else if (result != PFP_OK || now.size != before.size || memcmp(now.bytes, before.bytes, now.size) != 0) {
      return 5;
    }
  }
  return failures > 0 ? 0 : 6;
}

/// Each source alone: the others cannot fail in its place.
static int each_with_few_descriptors(struct pfp_probe *probe) {
  static struct listing before, now;
  struct pfc_config all = place_draft(PFC_POLICY_FULL, 1);
  struct rlimit limit;
  int next = dup(0);
  (void)close(next);
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 2;
  for (size_t i = 0; i < all.source_count; i++) {
    struct pfc_config draft = all;
    draft.sources[0] = all.sources[i];
    draft.source_count = 1;
    memset(&before, 0, sizeof before);
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 3;
    if (pfp_probe_collect(probe, &draft, listing_add, &before) != PFP_OK) return 4;
    for (rlim_t spare = 0; spare < 4; spare++) {
      int result;
      limit.rlim_cur = (rlim_t)next + spare;
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 5;
      memset(&now, 0, sizeof now);
      result = pfp_probe_collect(probe, &draft, listing_add, &now);
      if (result == PFP_E_RESOURCE) continue;
      if (result != PFP_OK || now.size != before.size || memcmp(now.bytes, before.bytes, now.size) != 0) {
        return 100 + (int)i;
      }
    }
  }
  return 0;
}

static void no_descriptor_makes_nothing_absent(void) {
  REQUIRE(place_begin());
  test_case("all sources");
  CHECK_NUMBER(sight_in_child(with_few_descriptors), 0);
  test_case("each source");
  CHECK_NUMBER(sight_in_child(each_with_few_descriptors), 0);
  place_finish();
}

static int keep_preload(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                        const uint8_t *digest) {
  struct sight_record *record = context;
  (void)class_;
  (void)number;
  if (name_size != strlen(record->name) || memcmp(name, record->name, name_size) != 0) return 0;
  record->seen++;
  record->present = digest != NULL;
  return 0;
}

/// /etc/ld.so.preload is there and cannot be read: a folder has its name, in mounts of this child's own.
static int unreadable_preload(struct pfp_probe *probe) {
  struct sight_record record = {.name = "ld.so.preload"};
  struct pfc_config draft = sight_draft(PFP_ENVIRONMENT_PRELOAD);
  if (unshare(CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0) return 2;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", "/etc", "tmpfs", 0, NULL) != 0) return 3;
  if (mkdir("/etc/ld.so.preload", 0700) != 0) return 4;
  if (pfp_probe_collect(probe, &draft, keep_preload, &record) != PFP_OK) return 5;
  return record.seen == 1 && !record.present ? 0 : 6;
}

static void an_unreadable_preload_file_is_absent(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(unreadable_preload), 0);
  place_finish();
}

static const struct test tests[] = {
    TEST("personality is an observation", personality_is_an_observation),
    TEST("with too few descriptors a source is what it was, or there is no measurement",
         no_descriptor_makes_nothing_absent),
    TEST("a preload file that is there and cannot be read is absent", an_unreadable_preload_file_is_absent),
};

const struct suite process_watch_suite = SUITE("who watches", tests);
