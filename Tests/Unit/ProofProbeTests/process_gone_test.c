// SPDX-License-Identifier: Apache-2.0

/// Words about libraries that are gone or new, by how many others share their group; and about folders, and progress.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "probe/parts.h"
#include "process_place.h"
#include "process_suites.h"

enum { COPIES = 6 };

static struct pfp_probe *probe;
static struct baseline baseline;
static char names[COPIES][24];
static void *handles[COPIES];
static bool taken[16];

/// Notes the group of each library that is loaded.
static int note_group(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                      const uint8_t *digest) {
  int group = pfc_config_group(context, class_, number, name, name_size);
  (void)digest;
  // The configuration's first leaf is the device's.
  if (class_ == PFC_CLASS_APP && group >= 1 && group <= 16) taken[group - 1] = true;
  return 0;
}

/// A device source, code in 16 groups, loaded objects.
static struct pfc_config draft_of_code(void) {
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  draft.source_count = 3;
  draft.sources[0] = (struct pfc_source){.class_ = 1, .number = 1, .version = 1};
  draft.sources[1] = (struct pfc_source){.class_ = 2, .number = 1, .version = 1, .groups_log2 = 4};
  draft.sources[2] = (struct pfc_source){.class_ = 3, .number = 3, .version = 1};
  return draft;
}

static void copy_library(const char *to) {
  char from[512], buffer[4096];
  ssize_t size = readlink("/proc/self/exe", from, sizeof from - 16);
  REQUIRE(CHECK(size > 0));
  from[size] = 0;
  (void)strcpy(strrchr(from, '/') + 1, "liblazy.so");
  FILE *in = fopen(from, "re"), *out = fopen(to, "we");
  REQUIRE(CHECK(in != NULL && out != NULL));
  for (size_t count; (count = fread(buffer, 1, sizeof buffer, in)) != 0;) {
    CHECK_COUNT(fwrite(buffer, 1, count, out), count);
  }
  (void)fclose(in);
  (void)fclose(out);
}

/// Names for copies of a library, in their order, all in one group that no other object has.
static bool begin(void) {
  struct pfc_config draft = draft_of_code();
  int free_group = 0;
  unsigned found = 0;
  if (!place_begin()) return false;
  probe = place_probe();
  memset(taken, 0, sizeof taken);
  if (probe == NULL || !CHECK_NUMBER(pfp_probe_collect(probe, &draft, note_group, &draft), PFP_OK)) return false;
  while (free_group < 16 && taken[free_group]) free_group++;
  if (!CHECK(free_group < 16)) return false;
  for (unsigned i = 100; found < COPIES; i++) {
    char *name = names[found], path[160];
    (void)snprintf(name, sizeof names[0], "libgone%u.so", i);
    if (pfc_config_group(&draft, 2, 1, (const uint8_t *)name, strlen(name)) != 1 + free_group) continue;
    (void)snprintf(path, sizeof path, "%s/%.23s", place.folder, name);
    copy_library(path);
    found++;
  }
  return true;
}

static void open_copies(unsigned from, unsigned end) {
  for (unsigned i = from; i < end; i++) {
    char path[160];
    (void)snprintf(path, sizeof path, "%s/%.23s", place.folder, names[i]);
    handles[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    CHECK(handles[i] != NULL);
  }
}

static void close_copies(unsigned from, unsigned end) {
  for (unsigned i = from; i < end; i++) CHECK_NUMBER(dlclose(handles[i]), 0);
}

static bool take(void) {
  struct pfc_key key = place_key();
  struct pfc_config draft = draft_of_code();
  return CHECK_NUMBER(pfp_probe_baseline(&baseline.config, probe, &draft, &key), PFP_OK) &&
         CHECK_NUMBER(pfc_config_encode(baseline.bytes, sizeof baseline.bytes, &baseline.size, &baseline.config),
                      PFC_OK) &&
         CHECK_COUNT(baseline_diagnose(probe, &baseline)->count, 0);
}

static void check_finding(const struct pfp_finding *finding, uint8_t class_, uint8_t kind, uint8_t certain,
                          const char *name, const char *text) {
  CHECK_NUMBER(finding->class_, class_);
  CHECK_NUMBER(finding->kind, kind);
  CHECK_NUMBER(finding->certain, certain);
  CHECK(strcmp(finding->name, name) == 0);
  if (!CHECK(strcmp(finding->text, text) == 0)) test_note("said: %s", finding->text);
}

static void end(void) {
  pfp_probe_free(probe);
  place_finish();
}

/// A library is gone beside so many of its group.
static void a_library_that_is_gone_is_told_by_its_group(void) {
  REQUIRE(begin());
  for (unsigned left = 0; left < COPIES; left++) {
    const struct pfp_diagnosis *diagnosis;
    char text[240] = "code in memory: something that was there is gone";
    test_case("beside %u", left);
    open_copies(0, left + 1);
    REQUIRE(take());
    close_copies(left, left + 1);
    diagnosis = baseline_diagnose(probe, &baseline);
    REQUIRE(CHECK_COUNT(diagnosis->count, 2));
    if (left == 1) (void)snprintf(text, sizeof text, "%.23s: changed, or one beside it is gone", names[0]);
    if (left > 1) {
      size_t at = (size_t)snprintf(text, sizeof text, "code in memory: one of %u differs, or one more is gone: ", left);
      for (unsigned i = 0; i < left && i < 4; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.23s", i == 0 ? "" : ", ", names[i]);
      }
      if (left == 5) (void)snprintf(text + at, sizeof text - at, ", ...");
    }
    check_finding(&diagnosis->findings[0], 2, left == 0 ? PFP_FINDING_GONE : PFP_FINDING_CHANGED, left == 0,
                  left == 1 ? names[0] : "", text);
    CHECK_NUMBER(diagnosis->findings[1].class_, 3);
    close_copies(0, left);
  }
  end();
}

static void libraries_that_are_new_are_named(void) {
  const struct pfp_diagnosis *diagnosis;
  char text[96];
  REQUIRE(begin());
  // Those that are new come before those that were there.
  open_copies(2, 4);
  REQUIRE(take());
  test_case("one");
  open_copies(0, 1);
  diagnosis = baseline_diagnose(probe, &baseline);
  REQUIRE(CHECK_COUNT(diagnosis->count, 2));
  (void)snprintf(text, sizeof text, "%.23s: is loaded, and nothing needs it", names[0]);
  check_finding(&diagnosis->findings[0], 2, PFP_FINDING_SUSPICIOUS, 1, names[0], text);
  (void)snprintf(text, sizeof text, "%.23s is loaded, and nothing needs it", names[0]);
  check_finding(&diagnosis->findings[1], 3, PFP_FINDING_SUSPICIOUS, 1, "unexplained", text);
  test_case("two");
  open_copies(1, 2);
  diagnosis = baseline_diagnose(probe, &baseline);
  REQUIRE(CHECK_COUNT(diagnosis->count, 3));
  for (unsigned i = 0; i < 2; i++) {
    (void)snprintf(text, sizeof text, "%.23s: is loaded, and nothing needs it", names[i]);
    check_finding(&diagnosis->findings[i], 2, PFP_FINDING_SUSPICIOUS, 1, names[i], text);
  }
  (void)snprintf(text, sizeof text, "%.23s and 1 more is loaded, and nothing needs it", names[0]);
  check_finding(&diagnosis->findings[2], 3, PFP_FINDING_SUSPICIOUS, 1, "unexplained", text);
  test_case("three are not told apart");
  open_copies(4, 5);
  diagnosis = baseline_diagnose(probe, &baseline);
  REQUIRE(CHECK_COUNT(diagnosis->count, 2));
  CHECK_NUMBER(diagnosis->findings[0].certain, 0);
  CHECK(strncmp(diagnosis->findings[0].text, "code in memory: one of 5 differs, or one more is gone: ", 55) == 0);
  close_copies(0, 5);
  end();
}

// A probe's own counts -------------------------------------------------------------------------------------------

static int keep_progress(void *user, const struct pfp_progress *progress) {
  *(struct pfp_progress *)user = *progress;
  return 0;
}

/// Three files of 9 bytes, and the executable.
static void progress_begins_anew_at_each_measurement(void) {
  struct pfp_progress last;
  struct pfp_probe_options own = {.progress = keep_progress, .user = &last};
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  struct stat status;
  REQUIRE(place_begin());
  own.bundle = place.bundle;
  REQUIRE(CHECK(stat("/proc/self/exe", &status) == 0));
  REQUIRE(CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK));
  draft.source_count = 4;
  draft.sources[0] = (struct pfc_source){.class_ = 1, .number = 1, .version = 1};
  draft.sources[1] = (struct pfc_source){.class_ = 2, .number = 2, .version = 1};
  draft.sources[2] = (struct pfc_source){.class_ = 2, .number = 3, .version = 1, .groups_log2 = 6};
  draft.sources[3] = (struct pfc_source){.class_ = 3, .number = 5, .version = 1};
  for (unsigned i = 0; i < 2; i++) {
    struct listing *listing = malloc(sizeof *listing);
    REQUIRE(CHECK(listing != NULL));
    memset(listing, 0, sizeof *listing);
    memset(&last, 0, sizeof last);
    CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, listing), PFP_OK);
    CHECK_COUNT(last.files, 3 + 1);
    CHECK(last.bytes >= 9 + (uint64_t)status.st_size && last.bytes < 10 * (uint64_t)status.st_size);
    free(listing);
  }
  end();
}

static int find_folder(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                       const uint8_t *digest) {
  if (class_ == 2 && number == 3 && name_size == 11 && memcmp(name, "folder:only", 11) == 0 && digest != NULL) {
    ++*(unsigned *)context;
  }
  return 0;
}

static void one_further_folder_is_one_record(void) {
  struct pfp_probe_folder folder = {"only", place.storage};
  struct pfp_probe_options own = {.folders = &folder, .folder_count = 1};
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  unsigned records = 0;
  REQUIRE(place_begin());
  REQUIRE(CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK));
  // The options are copied.
  folder = (struct pfp_probe_folder){"other", "/nowhere"};
  CHECK_NUMBER(pfp_probe_collect(probe, &draft, find_folder, &records), PFP_OK);
  CHECK_NUMBER(records, 1);
  end();
}

static const struct test tests[] = {
    TEST("a library that is gone is told by the others of its group", a_library_that_is_gone_is_told_by_its_group),
    TEST("one or two libraries that are new are named, three are not", libraries_that_are_new_are_named),
    TEST("progress begins anew at each measurement", progress_begins_anew_at_each_measurement),
    TEST("one further folder is one record", one_further_folder_is_one_record),
};

const struct suite process_gone_suite = SUITE("gone", tests);
