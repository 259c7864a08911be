// SPDX-License-Identifier: Apache-2.0

/// Malformed bundles through the whole probe: an error that names the cause and not one record, or a defined
/// observation.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"
#include "process_suites.h"
#include "sources.h"

static char folder[64];

/// A path in the test's folder, in one of a few static buffers.
static const char *in_folder(const char *name) {
  static char paths[8][160];
  static unsigned turn;
  char *path = paths[turn++ % 8];
  (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static void make_file(const char *name, off_t size) {
  int file = open(in_folder(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  REQUIRE(CHECK(file >= 0));
  CHECK(write(file, "x", 1) == 1 && ftruncate(file, size) == 0);
  (void)close(file);
}

static bool begin(void) {
  (void)strcpy(folder, "/var/tmp/proofkit-bad-XXXXXX");
  return CHECK(mkdtemp(folder) != NULL && chmod(folder, 0755) == 0);
}

static void finish(void) {
  char command[128];
  (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
  CHECK_NUMBER(system(command), 0);
}

/// How many records arrived.
struct tally {
  unsigned records;
};

static int count(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                 const uint8_t *digest) {
  struct tally *tally = context;
  (void)class_;
  (void)number;
  (void)name;
  (void)name_size;
  (void)digest;
  tally->records++;
  return 0;
}

/// Collects the bundle alone; the failure's path is compared with `blamed`.
static bool collects(const char *bundle, uint8_t policy, uint8_t limit_log2, int result, const char *blamed) {
  struct pfp_probe_options own = {.bundle = bundle};
  struct pfc_config draft = {.policy = policy, .limit_log2 = limit_log2, .source_count = 1};
  struct pfp_probe *probe;
  struct tally tally = {0};
  const struct pfp_source *source = pfp_source_find(PFC_CLASS_APP, PFP_APP_BUNDLE, 1);
  bool good;
  if (!CHECK(source != NULL) || !CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK)) return false;
  draft.sources[0].class_ = source->class_;
  draft.sources[0].number = source->number;
  draft.sources[0].version = source->version;
  draft.sources[0].groups_log2 = source->groups_log2;
  good = CHECK_NUMBER(pfp_probe_collect(probe, &draft, count, &tally), result);
  good = CHECK(strcmp(pfp_probe_failure(probe)->path, blamed) == 0) && good;
  good = CHECK_COUNT(tally.records, result == PFP_OK ? PFP_BUNDLE_SHARDS : 0) && good;
  pfp_probe_free(probe);
  return good;
}

static void roots_that_are_no_bundle(void) {
  REQUIRE(begin());
  CHECK_NUMBER(mkfifo(in_folder("fifo"), 0600), 0);
  CHECK(symlink("loop", in_folder("loop")) == 0 && symlink("nowhere", in_folder("dangling")) == 0);
  CHECK(symlink("/dev/zero", in_folder("device")) == 0);
  make_file("file", 1);
  const struct {
    const char *path;
    int result;
  } cases[] = {{in_folder("missing"), PFP_E_MISSING}, {in_folder("dangling"), PFP_E_MISSING},
               {in_folder("fifo"), PFP_E_TYPE},       {in_folder("device"), PFP_E_TYPE},
               {in_folder("file"), PFP_E_TYPE},       {in_folder("loop"), PFP_E_UNREADABLE}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (uint8_t policy = PFC_POLICY_FULL; policy <= PFC_POLICY_TRUSTING; policy++) {
      test_case("%s, policy %u", cases[i].path, policy);
      (void)collects(cases[i].path, policy, 30, cases[i].result, cases[i].path);
    }
  }
  finish();
}

static void a_file_beyond_the_limit(void) {
  REQUIRE(begin());
  CHECK_NUMBER(mkdir(in_folder("bundle"), 0755), 0);
  make_file("bundle/small", 1000);
  make_file("bundle/vast", (off_t)1 << 40);
  for (uint8_t policy = PFC_POLICY_FULL; policy <= PFC_POLICY_TRUSTING; policy++) {
    test_case("policy %u", policy);
    (void)collects(in_folder("bundle"), policy, 34, PFP_E_LIMIT, "vast");
  }
  CHECK_NUMBER(unlink(in_folder("bundle/vast")), 0);
  (void)collects(in_folder("bundle"), PFC_POLICY_FULL, 34, PFP_OK, "");
  finish();
}

/// As a user who may not read everything. 0 if all is well.
static int as_ordinary_user(void) {
  bool good = true;
  if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
  good = collects(in_folder("closed"), PFC_POLICY_FULL, 30, PFP_E_UNREADABLE, in_folder("closed")) && good;
  // An unreadable entry is an observation, not an error.
  good = collects(in_folder("bundle"), PFC_POLICY_FULL, 30, PFP_OK, "") && good;
  return good ? 0 : 1;
}

static void what_may_not_be_read(void) {
  int status = -1;
  pid_t child;
  REQUIRE(begin());
  CHECK(mkdir(in_folder("bundle"), 0755) == 0 && mkdir(in_folder("closed"), 0) == 0);
  make_file("bundle/secret", 10);
  CHECK_NUMBER(chmod(in_folder("bundle/secret"), 0), 0);
  (void)fflush(stdout);
  child = fork();
  if (child == 0) _exit(as_ordinary_user());
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  finish();
}

static void odd_entries(void) {
  REQUIRE(begin());
  CHECK_NUMBER(mkdir(in_folder("bundle"), 0755), 0);
  make_file("bundle/\xff\xfe not UTF-8 \x80", 10);
  CHECK_NUMBER(mkfifo(in_folder("bundle/fifo"), 0600), 0);
  CHECK(symlink("loop", in_folder("bundle/loop")) == 0 && symlink(".", in_folder("bundle/self")) == 0);
  for (uint8_t policy = PFC_POLICY_FULL; policy <= PFC_POLICY_TRUSTING; policy++) {
    test_case("policy %u", policy);
    (void)collects(in_folder("bundle"), policy, 30, PFP_OK, "");
  }
  finish();
}

static const struct test tests[] = {
    TEST("a root that is missing, no folder, a device or a loop is an error by name", roots_that_are_no_bundle),
    TEST("a file of 1 TiB is refused by the configuration's limit, by name", a_file_beyond_the_limit),
    TEST("an unreadable folder is an error, an unreadable entry is none", what_may_not_be_read),
    TEST("names that are not UTF-8, FIFOs and loops of links are entries", odd_entries),
};

const struct suite process_bad_suite = SUITE("bad input of a probe", tests);
