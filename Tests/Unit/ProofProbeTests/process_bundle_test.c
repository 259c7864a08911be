// SPDX-License-Identifier: Apache-2.0

/// The bundle and further folders of a probe: limits, errors, and findings that name the entry.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "probe/parts.h"
#include "process_place.h"
#include "process_suites.h"

static struct listing listings[2];

/// One finding, of the bundle, with this name and text.
static void one_finding(const struct pfp_diagnosis *diagnosis, uint8_t kind, uint8_t certain, const char *name,
                        const char *text) {
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK_NUMBER(diagnosis->findings[0].number, PFP_APP_BUNDLE);
  CHECK_NUMBER(diagnosis->findings[0].kind, kind);
  CHECK_NUMBER(diagnosis->findings[0].certain, certain);
  CHECK(strcmp(diagnosis->findings[0].name, name) == 0);
  if (!CHECK(strcmp(diagnosis->findings[0].text, text) == 0)) test_note("said: %s", diagnosis->findings[0].text);
}

static void an_entry_of_thousands_is_named(void) {
  enum { FILES = 7000 };
  struct pfc_key key = place_key();
  struct pfp_probe *probe;
  struct baseline baseline;
  const struct pfp_diagnosis *diagnosis;
  char name[32], path[160];
  REQUIRE(place_begin());
  for (unsigned i = 0; i < FILES; i++) {
    (void)snprintf(name, sizeof name, "file-%04u", i);
    place_write(name, name);
  }
  probe = place_probe();
  REQUIRE(probe != NULL && baseline_take(&baseline, probe, PFC_POLICY_TRUSTING, 1));
  test_case("no index");
  place_write("file-4711", "changed");
  diagnosis = baseline_diagnose(probe, &baseline);
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK(diagnosis->findings[0].name[0] == 0 && diagnosis->findings[0].certain == 0);
  CHECK(strncmp(diagnosis->findings[0].text, "bundle: one of 1", 16) == 0);
  test_case("no index is made of another bundle than the configuration's");
  CHECK_NUMBER(pfp_probe_index(probe, baseline.bytes, baseline.size, &key), PFP_E_CHANGING);
  place_write("file-4711", "file-4711");
  CHECK_NUMBER(pfp_probe_index(probe, baseline.bytes, baseline.size, &key), PFP_OK);
  CHECK_COUNT(baseline_diagnose(probe, &baseline)->count, 0);
  test_case("changed");
  place_write("file-4711", "changed");
  one_finding(baseline_diagnose(probe, &baseline), PFP_FINDING_CHANGED, 1, "file-4711", "bundle: file-4711: changed");
  place_write("file-4711", "file-4711");
  test_case("added");
  place_write("one-more", "");
  one_finding(baseline_diagnose(probe, &baseline), PFP_FINDING_CHANGED, 1, "one-more", "bundle: one-more: added");
  (void)snprintf(path, sizeof path, "%s/one-more", place.bundle);
  CHECK_NUMBER(unlink(path), 0);
  test_case("gone");
  (void)snprintf(path, sizeof path, "%s/file-0815", place.bundle);
  CHECK_NUMBER(unlink(path), 0);
  one_finding(baseline_diagnose(probe, &baseline), PFP_FINDING_GONE, 1, "", "bundle: 1 entry is missing");
  place_write("file-0815", "file-0815");
  test_case("the folder's mode");
  CHECK_NUMBER(chmod(place.bundle, 0700), 0);
  one_finding(baseline_diagnose(probe, &baseline), PFP_FINDING_CHANGED, 1, "",
              "bundle: the mode of the folder itself changed");
  CHECK_NUMBER(chmod(place.bundle, 0755), 0);

  test_case("an index of another baseline is not believed");
  struct baseline later;
  place_write("file-0001", "a new version");
  REQUIRE(baseline_take(&later, probe, PFC_POLICY_TRUSTING, 2));
  place_write("file-0001", "changed");
  diagnosis = baseline_diagnose(probe, &later);
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK(diagnosis->findings[0].name[0] == 0 && diagnosis->findings[0].certain == 0);
  place_write("file-0001", "file-0001");

  test_case("a damaged index");
  (void)snprintf(path, sizeof path, "%s/bundle-index", place.storage);
  place_write("file-4711", "changed");
  for (long at = 0; at < 120000; at += 3001) {
    FILE *file = fopen(path, "r+e");
    REQUIRE(CHECK(file != NULL && fseek(file, at, SEEK_SET) == 0));
    int byte = fgetc(file);
    if (byte == EOF) {
      (void)fclose(file);
      break;
    }
    CHECK(fseek(file, at, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF && fclose(file) == 0);
    diagnosis = baseline_diagnose(probe, &baseline);
    CHECK(diagnosis->count == 1 && diagnosis->findings[0].certain == 0);
    file = fopen(path, "r+e");
    CHECK(file != NULL && fseek(file, at, SEEK_SET) == 0 && fputc(byte, file) != EOF && fclose(file) == 0);
    at += at > 20000 ? 30000 : 0;
  }
  test_case("whole again, and without its end");
  one_finding(baseline_diagnose(probe, &baseline), PFP_FINDING_CHANGED, 1, "file-4711", "bundle: file-4711: changed");
  CHECK_NUMBER(truncate(path, 50000), 0);
  CHECK_NUMBER(baseline_diagnose(probe, &baseline)->findings[0].certain, 0);
  pfp_probe_free(probe);
  place_finish();
}

static struct pfp_probe *probe_of_folders(const struct pfp_probe_folder *folders, size_t count) {
  struct pfp_probe_options own = {
      .bundle = place.bundle, .storage = place.storage, .folders = folders, .folder_count = count};
  struct pfp_probe *probe = NULL;
  CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK);
  return probe;
}

static void further_folders(void) {
  char path[160], file[200], other[160];
  struct baseline baseline;
  const struct pfp_diagnosis *diagnosis;
  REQUIRE(place_begin());
  (void)snprintf(path, sizeof path, "%s/library", place.folder);
  (void)snprintf(other, sizeof other, "%s/other", place.folder);
  (void)snprintf(file, sizeof file, "%s/hashlib.py", path);
  CHECK(mkdir(path, 0755) == 0 && mkdir(other, 0755) == 0);
  FILE *written = fopen(file, "we");
  REQUIRE(CHECK(written != NULL && fputs("genuine", written) >= 0 && fclose(written) == 0));
  const struct pfp_probe_folder folders[] = {{"library", path}, {"other", other}}, turned[] = {folders[1], folders[0]};
  struct pfp_probe *one = place_probe(), *none = probe_of_folders(NULL, 0), *both = probe_of_folders(folders, 2),
                   *same = probe_of_folders(turned, 2);
  REQUIRE(one != NULL && none != NULL && both != NULL && same != NULL);
  for (uint8_t policy = PFC_POLICY_FULL; policy <= PFC_POLICY_TRUSTING; policy++) {
    test_case("policy %u", policy);
    CHECK(listing_collect(&listings[0], one, policy) && listing_collect(&listings[1], none, policy) &&
          listing_same(&listings[1], &listings[0]));
    // Two records more, whatever the order they are given in.
    CHECK(listing_collect(&listings[1], both, policy));
    CHECK_COUNT(listings[1].size, listings[0].size + 2 * (2 + 32) + strlen("folder:library") + strlen("folder:other"));
    CHECK(listing_collect(&listings[0], same, policy) && listing_same(&listings[1], &listings[0]));
  }
  REQUIRE(baseline_take(&baseline, both, PFC_POLICY_TRUSTING, 1));
  CHECK_COUNT(baseline_diagnose(both, &baseline)->count, 0);
  written = fopen(file, "we");
  REQUIRE(CHECK(written != NULL && fputs("forged", written) >= 0 && fclose(written) == 0));
  diagnosis = baseline_diagnose(both, &baseline);
  bool named = false;
  for (size_t i = 0; i < diagnosis->count; i++) {
    CHECK_NUMBER(diagnosis->findings[i].number, PFP_APP_BUNDLE);
    named = named || strcmp(diagnosis->findings[i].name, "folder:library") == 0;
  }
  CHECK(named);
  test_case("a folder that is gone");
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  CHECK(rmdir(other) == 0);
  CHECK_NUMBER(pfp_probe_collect(both, &draft, listing_add, &listings[0]), PFP_E_MISSING);
  CHECK(strcmp(pfp_probe_failure(both)->path, other) == 0);
  pfp_probe_free(one);
  pfp_probe_free(none);
  pfp_probe_free(both);
  pfp_probe_free(same);
  place_finish();
}

static void bad_folders(void) {
  static const struct pfp_probe_folder good[9] = {{"a", "/a"}, {"b", "/b"}, {"c", "/c"}, {"d", "/d"}, {"e", "/e"},
                                                  {"f", "/f"}, {"g", "/g"}, {"h", "/h"}, {"i", "/i"}};
  char name[PFP_FOLDER_NAME_MAX + 2];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  const struct pfp_probe_folder bad[][2] = {{{"a", "/a"}, {"a", "/b"}}, {{"a", "/a"}, {"", "/b"}},
                                            {{"a", "/a"}, {"b/c", "/b"}}, {{"a", "/a"}, {NULL, "/b"}},
                                            {{"a", "/a"}, {"b", NULL}}, {{"a", "/a"}, {name, "/b"}}};
  struct pfp_probe *probe;
  struct pfp_probe_options own = {.folders = good, .folder_count = PFP_FOLDERS_MAX};
  CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK);
  pfp_probe_free(probe);
  own.folder_count++;
  CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_E_ARGUMENT);
  own.folder_count = 2;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    test_case("case %zu", i);
    own.folders = bad[i];
    CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_E_ARGUMENT);
    CHECK(probe == NULL);
  }
}

/// The executable is the last file of a measurement, and is kept if there is room for it.
static void cache_has_the_app_s_limit(void) {
  static const uint32_t limits[] = {0, 1};
  REQUIRE(place_begin());
  for (unsigned i = 0; i < sizeof limits / sizeof limits[0]; i++) {
    struct pfp_probe_options own = {.bundle = place.bundle, .storage = place.storage, .cache_bytes = limits[i]};
    struct pfp_probe *probe;
    test_case("cache_bytes %u", limits[i]);
    REQUIRE(CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK));
    REQUIRE(listing_collect(&listings[0], probe, PFC_POLICY_TRUSTING));
    CHECK_COUNT(pfp_files_statistics(probe->files)->unkept_full, limits[i] == 1);
    REQUIRE(listing_collect(&listings[1], probe, PFC_POLICY_TRUSTING));
    CHECK_COUNT(pfp_files_statistics(probe->files)->reused, limits[i] == 0);
    (void)listing_same(&listings[1], &listings[0]);
    pfp_probe_free(probe);
  }
  place_finish();
}

static void bad_bundles_are_errors_by_name(void) {
  struct pfp_probe_options own = {0};
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  struct pfp_probe *probe;
  char fifo[128];
  REQUIRE(place_begin());
  (void)snprintf(fifo, sizeof fifo, "%s/fifo", place.folder);
  CHECK_NUMBER(mkfifo(fifo, 0600), 0);
  const struct {
    const char *path;
    int result;
  } cases[] = {{"/nonexistent", PFP_E_MISSING},
               {fifo, PFP_E_TYPE},
               {"/dev/null", PFP_E_TYPE},
               {"/etc/passwd", PFP_E_TYPE}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%s", cases[i].path);
    own.bundle = cases[i].path;
    REQUIRE(CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK));
    memset(&listings[0], 0, sizeof listings[0]);
    CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, &listings[0]), cases[i].result);
    CHECK_COUNT(listings[0].size, 0);
    CHECK(strcmp(pfp_probe_failure(probe)->path, cases[i].path) == 0);
    pfp_probe_free(probe);
  }
  place_finish();
}

static const struct test tests[] = {
    TEST("of 7,000 entries the one that changed is named by its path, or none is", an_entry_of_thousands_is_named),
    TEST("what is kept has the limit that the app sets", cache_has_the_app_s_limit),
    TEST("a further folder is one record more, and named when it changed", further_folders),
    TEST("folders that cannot be told apart are refused", bad_folders),
    TEST("a bundle that is no folder is an error that names it, and no record", bad_bundles_are_errors_by_name),
};

const struct suite process_bundle_suite = SUITE("bundle of a probe", tests);
