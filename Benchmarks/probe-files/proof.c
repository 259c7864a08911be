// SPDX-License-Identifier: Apache-2.0

/// A full proof of a large app, cold and warm, side by side in one process.
///
///     probe-proof [--user ID] [--only KIND] BUNDLE STORAGE ROUNDS [LIBRARY…]
///
/// `--user` makes it an ordinary user's app first: only then does the mode of root's files protect their bytes. `floor`
/// is not a proof: it asks what the kernel is asked in a warm one with descriptors (floor.h).
///
/// The app is this program: its bundle is BUNDLE, its code what is loaded, the libraries named included. Each round
/// makes one proof of each kind, so that whatever else the machine does meets all alike. Prints one line of JSON: for
/// each kind, round by round, how long it took (times) and what both threads worked (work), in nanoseconds.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "floor.h"
#include "key.h"
#include "probe.h"
#include "sources.h"
#include "storage.h"

enum { KINDS = 6, ROUNDS_MAX = 100000 };

struct kind {
  const char *name;
  uint8_t policy;
  uint32_t descriptors;
  int forgets;  ///< Drop the kept state: each proof is the first.
  unsigned every;  ///< Made in every so many rounds
  int is_floor;    ///< No proof: the kernel's part of a warm one
  struct pfp_probe *probe;
  uint8_t config[PFC_CONFIG_BYTES_MAX];
  size_t config_size;
  uint64_t *times, *work;
  size_t count;
};

static const uint8_t KEY[PFC_KEY_BYTES] = "a benchmark key";

static void stop(const char *what, int result) {
  (void)fprintf(stderr, "probe-proof: %s: %d\n", what, result);
  exit(1);
}

static uint64_t now(clockid_t clock) {
  struct timespec time;
  (void)clock_gettime(clock, &time);
  return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

static void begin(struct kind *kind, struct pfp_probe_options options) {
  struct pfc_key key = pfc_key_plain(KEY, PFC_MODE_DEVELOPMENT);
  struct pfc_config draft, config;
  int result;
  memset(&draft, 0, sizeof draft);
  draft.policy = kind->policy;
  draft.limit_log2 = 40;
  draft.generation = 1;
  memset(draft.salt, 7, sizeof draft.salt);
  pfp_sources_propose(&draft);
  options.descriptors = kind->descriptors;
  result = pfp_probe_create(&kind->probe, &options);
  if (result != PFP_OK) stop("create", result);
  result = pfp_probe_baseline(&config, kind->probe, &draft, &key);
  if (result != PFP_OK) stop(pfp_probe_failure(kind->probe)->path, result);
  result = pfc_config_encode(kind->config, sizeof kind->config, &kind->config_size, &config);
  if (result != PFC_OK) stop("encode", result);
}

static void prove(struct kind *kind, struct pfc_measured *measured) {
  struct pfc_key key = pfc_key_plain(KEY, PFC_MODE_DEVELOPMENT);
  uint64_t before, work;
  int result;
  if (kind->forgets) pfp_probe_forget(kind->probe);
  (void)memset(measured, 0, sizeof *measured);
  work = now(CLOCK_PROCESS_CPUTIME_ID);
  before = now(CLOCK_MONOTONIC);
  result = kind->is_floor ? (int)floor_ask()
                          : pfp_probe_measure(measured, kind->probe, kind->config, kind->config_size, &key);
  kind->times[kind->count] = now(CLOCK_MONOTONIC) - before;
  kind->work[kind->count++] = now(CLOCK_PROCESS_CPUTIME_ID) - work;
  if (result != PFP_OK) stop(kind->is_floor ? "floor" : pfp_probe_failure(kind->probe)->path, result);
}

/// An ordinary user's process: no user id of root's, no capability.
static void become(const char *user) {
  uid_t id = (uid_t)strtoul(user, NULL, 10);
  if (setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0) stop("user", errno);
  // The change of user took its own /proc away from it.
  if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) stop("user", errno);
}

static void list(const uint64_t *numbers, size_t count) {
  for (size_t i = 0; i < count; i++) (void)printf("%s%llu", i == 0 ? "[" : ", ", (unsigned long long)numbers[i]);
  (void)printf("%s", count == 0 ? "[]" : "]");
}

int main(int argc, char **argv) {
  struct kind kinds[KINDS] = {
      {.name = "full", .policy = PFC_POLICY_FULL, .every = 10},
      {.name = "trusting, first", .policy = PFC_POLICY_TRUSTING, .forgets = 1, .every = 10},
      {.name = "incremental, again", .policy = PFC_POLICY_INCREMENTAL, .every = 10},
      {.name = "warm, by name", .policy = PFC_POLICY_TRUSTING, .every = 1},
      {.name = "warm, descriptors", .policy = PFC_POLICY_TRUSTING, .descriptors = 10000, .every = 1},
      {.name = "floor", .every = 1, .is_floor = 1},
  };
  struct pfp_probe_options options = {0};
  const char *plugins[1024], *only = NULL;
  unsigned long rounds;
  for (; argc > 2 && argv[1][0] == '-'; argc -= 2, argv += 2) {
    if (strcmp(argv[1], "--only") == 0) only = argv[2];
    if (strcmp(argv[1], "--user") == 0) become(argv[2]);
  }
  if (argc < 4 || argc > 1024) {
    (void)fprintf(stderr, "usage: probe-proof [--user ID] [--only KIND] BUNDLE STORAGE ROUNDS [LIBRARY...]\n");
    return 2;
  }
  rounds = strtoul(argv[3], NULL, 10);
  if (rounds > ROUNDS_MAX) rounds = ROUNDS_MAX;
  for (int i = 4; i < argc; i++) {
    const char *slash = strrchr(argv[i], '/');
    if (dlopen(argv[i], RTLD_NOW) == NULL) stop(dlerror(), 0);
    plugins[i - 4] = slash != NULL ? slash + 1 : argv[i];
  }
  options.bundle = argv[1];
  options.storage = argv[2];
  options.plugins = plugins;
  options.plugin_count = (size_t)(argc - 4);
  if (pfp_storage_prepare(argv[2]) != PFP_OK) stop("storage", 0);
  for (unsigned i = 0; i < KINDS; i++) {
    kinds[i].times = calloc(rounds + 2, sizeof kinds[i].times[0]);
    kinds[i].work = calloc(rounds + 2, sizeof kinds[i].work[0]);
    if (kinds[i].times == NULL || kinds[i].work == NULL) stop("memory", 0);
    if (!kinds[i].is_floor) begin(&kinds[i], options);
  }
  if ((only == NULL || strcmp(only, "floor") == 0) && floor_open(argv[1]) != 0) stop("floor", errno);
  for (unsigned long round = 0; round <= rounds; round++) {
    for (unsigned i = 0; i < KINDS; i++) {
      // Another one begins each round, so that none is always first.
      struct kind *kind = &kinds[(i + round) % KINDS];
      struct pfc_measured measured;
      if (round % kind->every != 0 || (only != NULL && strcmp(only, kind->name) != 0)) continue;
      prove(kind, &measured);
      // The first round warms up.
      if (round == 0) kind->count = 0;
    }
  }
  (void)printf("{");
  for (unsigned i = 0; i < KINDS; i++) {
    (void)printf("%s\"%s\": {\"times\": ", i == 0 ? "" : ", ", kinds[i].name);
    list(kinds[i].times, kinds[i].count);
    (void)printf(", \"work\": ");
    list(kinds[i].work, kinds[i].count);
    (void)printf("}");
    pfp_probe_free(kinds[i].probe);
    free(kinds[i].times);
    free(kinds[i].work);
  }
  (void)printf("}\n");
  return 0;
}
