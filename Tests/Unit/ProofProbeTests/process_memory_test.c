// SPDX-License-Identifier: Apache-2.0

/// Memory and descriptors that run out: each place that asks is refused once, and then for good. A measurement either
/// says so or is the very same. The linker puts these functions before the library's (--wrap).

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "ProofProbe.h"
#include "process_place.h"
#include "process_suites.h"
#include "wrapped.h"

enum { SITES_MAX = 256, DESCRIPTORS = 64, DESCRIPTORS_USED = 32 };

/// A place in the code that asks for memory or a descriptor.
struct site {
  const void *caller;
  unsigned calls;
};

static struct {
  pthread_mutex_t mutex;
  bool counts;  ///< Calls are counted by site.
  struct site sites[SITES_MAX];
  size_t count;
  const void *refused;    ///< The site that is refused, or NULL
  unsigned nth;           ///< The first of its calls that is refused, from 1
  bool lasting, running;  ///< Every later call of all sites is refused, too
  unsigned refusals;
} memory = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct site *site_of(const void *caller) {
  for (size_t i = 0; i < memory.count; i++) {
    if (memory.sites[i].caller == caller) return &memory.sites[i];
  }
  if (memory.count == SITES_MAX) return NULL;
  memory.sites[memory.count] = (struct site){.caller = caller};
  return &memory.sites[memory.count++];
}

static bool refuses(const void *caller, int error) {
  bool refuse = false;
  (void)pthread_mutex_lock(&memory.mutex);
  if (memory.counts) {
    struct site *site = site_of(caller);
    if (site != NULL) site->calls++;
  }
  if (memory.refused != NULL) {
    if (memory.refused == caller && memory.nth != 0 && --memory.nth == 0) {
      refuse = true;
      memory.running = memory.lasting;
    } else {
      refuse = memory.running;
    }
    memory.refusals += refuse;
  }
  (void)pthread_mutex_unlock(&memory.mutex);
  if (refuse) errno = error;
  return refuse;
}

WRAPPED(void *, malloc, size_t size) {
  return refuses(__builtin_return_address(0), ENOMEM) ? NULL : __real_malloc(size);
}

WRAPPED(void *, calloc, size_t count, size_t size) {
  return refuses(__builtin_return_address(0), ENOMEM) ? NULL : __real_calloc(count, size);
}

WRAPPED(void *, realloc, void *old, size_t size) {
  return refuses(__builtin_return_address(0), ENOMEM) ? NULL : __real_realloc(old, size);
}

WRAPPED(char *, strdup, const char *text) {
  return refuses(__builtin_return_address(0), ENOMEM) ? NULL : __real_strdup(text);
}

WRAPPED(int, vasprintf, char **text, const char *format, va_list arguments) {
  return refuses(__builtin_return_address(0), ENOMEM) ? -1 : __real_vasprintf(text, format, arguments);
}

WRAPPED(FILE *, fopen, const char *path, const char *mode) {
  return refuses(__builtin_return_address(0), EMFILE) ? NULL : __real_fopen(path, mode);
}

WRAPPED(DIR *, fdopendir, int descriptor) {
  return refuses(__builtin_return_address(0), ENOMEM) ? NULL : __real_fdopendir(descriptor);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  va_list more;
  mode_t mode;
  va_start(more, flags);
  mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return refuses(__builtin_return_address(0), EMFILE) ? -1 : __real_open(path, flags, mode);
}

int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...) {
  va_list more;
  mode_t mode;
  va_start(more, flags);
  mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return refuses(__builtin_return_address(0), EMFILE) ? -1 : __real_openat(folder, path, flags, mode);
}

// Plays ------------------------------------------------------------------------------------------------------------

/// A play makes a probe, asks it, and frees it. Its result is told by bytes that are equal where the answers are.
struct told {
  int result;
  uint8_t bytes[sizeof(struct listing)];
  size_t size;
};

/// The bundle as it was, and after it changed.
static struct baseline baseline, unchanged;

static struct pfp_probe *made(struct told *told) {
  struct pfp_probe_options own = {.bundle = place.bundle, .storage = place.storage};
  struct pfp_probe *probe = NULL;
  told->result = pfp_probe_create(&probe, &own);
  CHECK((probe != NULL) == (told->result == PFP_OK));
  return probe;
}

static void play_collect(struct told *told) {
  static struct listing listing;
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  struct pfp_probe *probe = made(told);
  if (probe == NULL) return;
  memset(&listing, 0, sizeof listing);
  told->result = pfp_probe_collect(probe, &draft, listing_add, &listing);
  if (told->result != PFP_OK) CHECK_COUNT(listing.size, 0);
  memcpy(told->bytes, listing.bytes, listing.size);
  told->size = listing.size;
  pfp_probe_free(probe);
}

/// Twice: the second time is the one that has a cache.
static void play_measure(struct told *told) {
  struct pfc_measured measured;
  struct pfp_probe *probe = made(told);
  if (probe == NULL) return;
  for (unsigned i = 0; i < 2 && told->result == PFP_OK; i++) {
    told->result = baseline_measure(&measured, probe, &baseline);
    if (told->result != PFP_OK) continue;
    memcpy(told->bytes + told->size, &measured, sizeof measured);
    told->size += sizeof measured;
  }
  pfp_probe_free(probe);
}

/// Memory that is short may take words from a finding, and no finding.
static void play_diagnosis(struct told *told) {
  static struct pfp_diagnosis diagnosis;
  struct pfc_key key = place_key();
  struct pfp_probe *probe = made(told);
  if (probe == NULL) return;
  told->result = pfp_probe_diagnose(&diagnosis, probe, baseline.bytes, baseline.size, &key);
  told->bytes[told->size++] = diagnosis.device_comparable;
  told->bytes[told->size++] = diagnosis.app_comparable;
  for (size_t i = 0; i < diagnosis.count; i++) {
    told->bytes[told->size++] = diagnosis.findings[i].class_;
    told->bytes[told->size++] = diagnosis.findings[i].number;
    told->bytes[told->size++] = diagnosis.findings[i].kind;
  }
  pfp_probe_free(probe);
}

/// An index that was begun without memory is not the one that is read.
static void play_index(struct told *told) {
  struct pfc_key key = place_key();
  struct pfp_probe *probe = made(told);
  if (probe == NULL) return;
  told->result = pfp_probe_index(probe, unchanged.bytes, unchanged.size, &key);
  pfp_probe_free(probe);
}

static struct {
  const char *name;
  void (*play)(struct told *told);
} const PLAYS[] = {{"collect", play_collect}, {"measure", play_measure}, {"index", play_index},
             {"diagnose", play_diagnosis}};

/// The site that is refused next.
static const void *chosen_site;

static void begin_refusing(void) { memory.refused = chosen_site; }

static void end_refusing(void) { memory.refused = NULL; }

/// Descriptors below this number can be had.
static rlim_t descriptors_until;

static void set_descriptors(rlim_t until) {
  struct rlimit limit;
  CHECK_NUMBER(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = until;
  CHECK_NUMBER(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void begin_limiting(void) { set_descriptors(descriptors_until); }

static void end_limiting(void) { set_descriptors(DESCRIPTORS); }

// The walk ----------------------------------------------------------------------------------------------------------

static size_t open_descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  size_t count = 0;
  while (folder != NULL && readdir(folder) != NULL) count++;
  if (folder != NULL) (void)closedir(folder);
  return count;
}

static void count_sites(void (*play)(struct told *told), struct told *told) {
  memset(told, 0, sizeof *told);
  memory.count = 0;
  memory.counts = true;
  play(told);
  memory.counts = false;
}

static bool same_answer(const struct told *one, const struct told *other) {
  return one->result == other->result && one->size == other->size && memcmp(one->bytes, other->bytes, one->size) == 0;
}

/// Plays while something is refused. The answer is a lack of resources or the good one, and nothing is left behind.
static void play_without(unsigned which, const struct told *good, void (*begin)(void), void (*end)(void)) {
  static struct told now;
  size_t descriptors = open_descriptors();
  memset(&now, 0, sizeof now);
  begin();
  PLAYS[which].play(&now);
  end();
  if (now.result != PFP_E_RESOURCE) CHECK(same_answer(&now, good));
  CHECK_COUNT(open_descriptors(), descriptors);
  memset(&now, 0, sizeof now);
  PLAYS[which].play(&now);
  CHECK(same_answer(&now, good));
}

static void refuse(unsigned which, const struct told *good, const void *site, unsigned nth, bool lasting) {
  memory.nth = nth;
  memory.lasting = lasting;
  memory.running = false;
  memory.refusals = 0;
  chosen_site = site;
  play_without(which, good, begin_refusing, end_refusing);
  CHECK(memory.refusals != 0);
}

static void walk(unsigned which) {
  static struct told good;
  // The first play also sets up what the process keeps for good.
  count_sites(PLAYS[which].play, &good);
  count_sites(PLAYS[which].play, &good);
  CHECK_NUMBER(good.result, PFP_OK);
  CHECK(memory.count > 0);
  for (size_t i = 0; i < memory.count; i++) {
    struct site site = memory.sites[i];
    test_case("%s, place %zu of %zu at %p, asked %u times", PLAYS[which].name, i + 1, memory.count, site.caller,
              site.calls);
    refuse(which, &good, site.caller, 1, false);
    refuse(which, &good, site.caller, site.calls, false);
    refuse(which, &good, site.caller, 1, true);
  }
}

/// Only the last few plays find enough descriptors.
static void walk_descriptors(unsigned which) {
  static struct told good;
  count_sites(PLAYS[which].play, &good);
  CHECK_NUMBER(good.result, PFP_OK);
  for (descriptors_until = 3; descriptors_until < DESCRIPTORS_USED; descriptors_until++) {
    test_case("%s, descriptors below %u", PLAYS[which].name, (unsigned)descriptors_until);
    play_without(which, &good, begin_limiting, end_limiting);
  }
}

static void each_play(void (*walks)(unsigned which)) {
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  probe = place_probe();
  if (probe != NULL && baseline_take(&baseline, probe, PFC_POLICY_FULL, 3)) {
    place_write("two", "not 22\n");
    if (baseline_take(&unchanged, probe, PFC_POLICY_FULL, 3)) {
      for (unsigned which = 0; which < sizeof PLAYS / sizeof PLAYS[0]; which++) walks(which);
    }
  }
  pfp_probe_free(probe);
  place_finish();
}

static void refused_anywhere(void) { each_play(walk); }

static void no_descriptor(void) {
  struct rlimit before;
  REQUIRE(CHECK_NUMBER(getrlimit(RLIMIT_NOFILE, &before), 0));
  each_play(walk_descriptors);
  CHECK_NUMBER(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static const struct test tests[] = {
    TEST("memory or a descriptor that is refused, at any place, is told or changes no answer", refused_anywhere),
    TEST("descriptors that are not to be had are told or change no answer", no_descriptor),
};

const struct suite process_memory_suite = SUITE("memory", tests);
