// SPDX-License-Identifier: Apache-2.0

/// The index of a bundle, shard by shard, in a configuration that asks for little else.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "probe/parts.h"
#include "process_place.h"
#include "process_suites.h"

enum { SHARDS = 64 };

static struct pfp_probe *probe;
static struct baseline baseline;
static char names[SHARDS][16];

/// FNV-1a, as PROBE.md has it.
static unsigned shard_of(const char *name) {
  uint32_t hash = 2166136261u;
  for (const char *c = name; *c != 0; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
  return hash % SHARDS;
}

/// The `which`th name of this shard.
static void name_in(char name[16], unsigned shard, unsigned which) {
  for (unsigned i = 0;; i++) {
    (void)snprintf(name, 16, "f%u", i);
    if (shard_of(name) == shard && which-- == 0) return;
  }
}

static void forget_file(const char *name) {
  char path[160];
  (void)snprintf(path, sizeof path, "%s/%.15s", place.bundle, name);
  CHECK_NUMBER(unlink(path), 0);
}

/// A bundle of `each` files in every shard, and its index.
static bool begin(unsigned each) {
  struct pfc_key key = place_key();
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  char name[16];
  if (!place_begin()) return false;
  forget_file("one");
  forget_file("two");
  forget_file("three");
  for (unsigned shard = 0; shard < SHARDS; shard++) {
    name_in(names[shard], shard, 0);
    for (unsigned i = 0; i < each; i++) {
      name_in(name, shard, i);
      place_write(name, "1");
    }
  }
  // A configuration has a source of the device.
  draft.source_count = 2;
  draft.sources[0] = (struct pfc_source){.class_ = 1, .number = 1, .version = 1};
  draft.sources[1] = (struct pfc_source){.class_ = 2, .number = 3, .version = 1, .groups_log2 = 6};
  probe = place_probe();
  return probe != NULL && CHECK_NUMBER(pfp_probe_baseline(&baseline.config, probe, &draft, &key), PFP_OK) &&
         CHECK_NUMBER(pfc_config_encode(baseline.bytes, sizeof baseline.bytes, &baseline.size, &baseline.config),
                      PFC_OK) &&
         CHECK_NUMBER(pfp_probe_index(probe, baseline.bytes, baseline.size, &key), PFP_OK) &&
         CHECK_COUNT(baseline_diagnose(probe, &baseline)->count, 0);
}

static void end(void) {
  pfp_probe_free(probe);
  place_finish();
}

/// The one finding: of an entry, or with an empty name of entries that are missing.
static void expect(uint8_t kind, const char *name, const char *text) {
  const struct pfp_diagnosis *diagnosis = baseline_diagnose(probe, &baseline);
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK_COUNT(diagnosis->left_out, 0);
  CHECK_NUMBER(diagnosis->findings[0].kind, kind);
  CHECK_NUMBER(diagnosis->findings[0].certain, 1);
  CHECK(strcmp(diagnosis->findings[0].name, name) == 0);
  if (!CHECK(strcmp(diagnosis->findings[0].text, text) == 0)) test_note("said: %s", diagnosis->findings[0].text);
}

static void an_entry_of_each_shard_is_named(void) {
  char text[64], added[16];
  REQUIRE(begin(3));
  for (unsigned shard = 0; shard < SHARDS; shard++) {
    test_case("shard %u", shard);
    place_write(names[shard], "2");
    (void)snprintf(text, sizeof text, "bundle: %.15s: changed", names[shard]);
    expect(PFP_FINDING_CHANGED, names[shard], text);
    forget_file(names[shard]);
    expect(PFP_FINDING_GONE, "", "bundle: 1 entry is missing");
    place_write(names[shard], "1");
    name_in(added, shard, 3);
    place_write(added, "1");
    (void)snprintf(text, sizeof text, "bundle: %.15s: added", added);
    expect(PFP_FINDING_CHANGED, added, text);
    forget_file(added);
  }
  CHECK_COUNT(baseline_diagnose(probe, &baseline)->count, 0);
  test_case("two of one shard");
  forget_file(names[9]);
  name_in(added, 9, 2);
  forget_file(added);
  expect(PFP_FINDING_GONE, "", "bundle: 2 entries are missing");
  end();
}

/// How many findings have this name.
static unsigned named(const struct pfp_diagnosis *diagnosis, const char *name) {
  unsigned count = 0;
  for (size_t i = 0; i < diagnosis->count; i++) count += strcmp(diagnosis->findings[i].name, name) == 0;
  return count;
}

/// Paths of 32 entries are kept of each shard, and 96 findings in all.
static void entries_beyond_the_room_are_counted(void) {
  static const struct {
    unsigned added, findings, left_out;
  } cases[] = {{31, 31, 0}, {32, 32, 0}, {33, 32, 1}, {40, 32, 8}};
  char name[16];
  REQUIRE(begin(1));
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct pfp_diagnosis *diagnosis;
    test_case("%u", cases[i].added);
    for (unsigned k = i == 0 ? 0 : cases[i - 1].added; k < cases[i].added; k++) {
      name_in(name, 5, 1 + k);
      place_write(name, "1");
    }
    // Another shard's entry, which keeps its place.
    place_write(names[6], "2");
    diagnosis = baseline_diagnose(probe, &baseline);
    CHECK_COUNT(diagnosis->count, cases[i].findings + 1);
    CHECK_COUNT(diagnosis->left_out, cases[i].left_out);
    CHECK_NUMBER(named(diagnosis, names[6]), 1);
    place_write(names[6], "1");
  }
  test_case("all shards");
  for (unsigned shard = 0; shard < SHARDS; shard++) {
    if (shard != 5) place_write(names[shard], "2");
    name_in(name, shard, 1);
    if (shard != 5) place_write(name, "2");
  }
  const struct pfp_diagnosis *diagnosis = baseline_diagnose(probe, &baseline);
  CHECK_COUNT(diagnosis->count, 96);
  CHECK_COUNT(diagnosis->left_out, 63 * 2 + 40 - 96);
  end();
}

/// Bytes of the file: a magic of 8, 64 digests of 32, 64 numbers of entries of 4, 16 for each entry, and a tag of 16.
static void an_index_has_its_size_and_no_other(void) {
  enum { HEAD = 8 + 64 * 32 + 64 * 4 };
  char path[160];
  uint8_t bytes[HEAD + 16 * 128 + 16 + 16];
  struct stat status;
  REQUIRE(begin(2));
  (void)snprintf(path, sizeof path, "%s/bundle-index", place.storage);
  REQUIRE(CHECK(stat(path, &status) == 0) && CHECK_NUMBER(status.st_size, HEAD + 16 * 128 + 16));
  CHECK_NUMBER(status.st_mode & 07777, 0600);
  FILE *file = fopen(path, "re");
  REQUIRE(CHECK(file != NULL));
  CHECK_COUNT(fread(bytes, 1, sizeof bytes, file), HEAD + 16 * 128 + 16);
  (void)fclose(file);
  CHECK_BYTES(bytes, "PKBI0001", 8);
  for (unsigned shard = 0; shard < SHARDS; shard++) CHECK_COUNT(get32(bytes + 8 + 64 * 32 + 4 * shard), 2);
  place_write(names[0], "2");
  for (int more = -2; more <= 2; more++) {
    test_case("%d bytes more", more);
    CHECK_NUMBER(truncate(path, HEAD + 16 * 128 + 16 + more), 0);
    CHECK_NUMBER(baseline_diagnose(probe, &baseline)->findings[0].certain, more == 0);
    file = fopen(path, "we");
    REQUIRE(CHECK(file != NULL));
    CHECK_COUNT(fwrite(bytes, 1, HEAD + 16 * 128 + 16, file), HEAD + 16 * 128 + 16);
    (void)fclose(file);
  }
  test_case("nothing but a head");
  CHECK_NUMBER(truncate(path, HEAD + 15), 0);
  CHECK_NUMBER(baseline_diagnose(probe, &baseline)->findings[0].certain, 0);
  CHECK_NUMBER(truncate(path, HEAD + 16), 0);
  CHECK_NUMBER(baseline_diagnose(probe, &baseline)->findings[0].certain, 0);
  end();
}

/// The same sources as at the beginning, of the bundle as it is.
static bool take_anew(void) {
  struct pfc_key key = place_key();
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  draft.source_count = 2;
  draft.sources[0] = (struct pfc_source){.class_ = 1, .number = 1, .version = 1};
  draft.sources[1] = (struct pfc_source){.class_ = 2, .number = 3, .version = 1, .groups_log2 = 6};
  return CHECK_NUMBER(pfp_probe_baseline(&baseline.config, probe, &draft, &key), PFP_OK) &&
         CHECK_NUMBER(pfc_config_encode(baseline.bytes, sizeof baseline.bytes, &baseline.size, &baseline.config),
                      PFC_OK);
}

/// The index of an earlier baseline is believed in each shard that did not change since, and in no other.
static void an_index_is_believed_shard_by_shard(void) {
  REQUIRE(begin(2));
  for (unsigned shard = 0; shard < SHARDS; shard++) {
    const unsigned other = (shard + 1) % SHARDS;
    const struct pfp_diagnosis *diagnosis;
    test_case("shard %u", shard);
    place_write(names[shard], "3");
    REQUIRE(take_anew());
    place_write(names[shard], "4");
    place_write(names[other], "4");
    diagnosis = baseline_diagnose(probe, &baseline);
    REQUIRE(CHECK_COUNT(diagnosis->count, 2));
    for (size_t i = 0; i < 2; i++) {
      const struct pfp_finding *finding = &diagnosis->findings[i];
      CHECK_NUMBER(finding->certain, finding->name[0] != 0);
    }
    CHECK_NUMBER(named(diagnosis, names[other]), 1);
    CHECK_NUMBER(named(diagnosis, ""), 1);
    place_write(names[shard], "1");
    place_write(names[other], "1");
  }
  end();
}

/// No index is made of a bundle that differs from the configuration's in any shard.
static void an_index_is_of_the_configurations_bundle(void) {
  struct pfc_key key = place_key();
  REQUIRE(begin(1));
  for (unsigned shard = 0; shard < SHARDS; shard++) {
    test_case("shard %u", shard);
    place_write(names[shard], "2");
    CHECK_NUMBER(pfp_probe_index(probe, baseline.bytes, baseline.size, &key), PFP_E_CHANGING);
    place_write(names[shard], "1");
  }
  CHECK_NUMBER(pfp_probe_index(probe, baseline.bytes, baseline.size, &key), PFP_OK);
  end();
}

/// An entry is named without an index if its shard has no other one.
static void without_an_index_an_entry_alone_is_named(void) {
  const struct pfp_diagnosis *diagnosis;
  char path[160], text[96];
  for (unsigned each = 1; each <= 2; each++) {
    test_case("%u of each shard", each);
    REQUIRE(begin(each));
    (void)snprintf(path, sizeof path, "%s/bundle-index", place.storage);
    CHECK_NUMBER(unlink(path), 0);
    for (unsigned shard = 0; shard < SHARDS; shard += 9) {
      place_write(names[shard], "2");
      diagnosis = baseline_diagnose(probe, &baseline);
      REQUIRE(CHECK_COUNT(diagnosis->count, 1));
      CHECK_NUMBER(diagnosis->findings[0].kind, PFP_FINDING_CHANGED);
      CHECK_NUMBER(diagnosis->findings[0].certain, each == 1);
      CHECK(strcmp(diagnosis->findings[0].name, each == 1 ? names[shard] : "") == 0);
      (void)snprintf(text, sizeof text, "bundle: %.15s: changed, added, or beside one that is missing", names[shard]);
      if (each == 2) (void)strcpy(text, "bundle: one of 2 entries changed, or was added or removed beside them; no "
                                        "index tells which");
      CHECK(strcmp(diagnosis->findings[0].text, text) == 0);
      place_write(names[shard], "1");
    }
    forget_file(names[3]);
    diagnosis = baseline_diagnose(probe, &baseline);
    REQUIRE(CHECK_COUNT(diagnosis->count, 1));
    CHECK_NUMBER(diagnosis->findings[0].kind, each == 1 ? PFP_FINDING_GONE : PFP_FINDING_CHANGED);
    CHECK_NUMBER(diagnosis->findings[0].certain, each == 2);
    if (each == 1) CHECK(strcmp(diagnosis->findings[0].text, "bundle: an entry is missing") == 0);
    end();
  }
}

/// A probe without the bundle: each shard is absent, and differs.
static void shards_that_cannot_be_read_are_told_each(void) {
  struct pfp_probe_options own = {.storage = place.storage};
  const struct pfp_diagnosis *diagnosis;
  struct pfp_probe *bare;
  REQUIRE(begin(1) && CHECK_NUMBER(pfp_probe_create(&bare, &own), PFP_OK));
  diagnosis = baseline_diagnose(bare, &baseline);
  CHECK_COUNT(diagnosis->count, SHARDS);
  for (unsigned shard = 0; shard < SHARDS && shard < diagnosis->count; shard++) {
    const struct pfp_finding *finding = &diagnosis->findings[shard];
    test_case("shard %u", shard);
    CHECK_NUMBER(finding->kind, PFP_FINDING_ABSENT);
    CHECK_NUMBER(finding->certain, 1);
    CHECK(finding->class_ == 2 && finding->number == 3 && strcmp(finding->source, "bundle") == 0);
    CHECK(strlen(finding->name) == 1 && finding->name[0] >= '0' && finding->name[0] <= 'o');
    CHECK(strcmp(finding->text, "bundle: cannot be read") == 0);
  }
  pfp_probe_free(bare);
  end();
}

static const struct test tests[] = {
    TEST("an entry of each shard is named: changed, missing, added", an_entry_of_each_shard_is_named),
    TEST("entries and findings beyond the room are counted", entries_beyond_the_room_are_counted),
    TEST("an index is believed shard by shard", an_index_is_believed_shard_by_shard),
    TEST("an index is of the configuration's bundle", an_index_is_of_the_configurations_bundle),
    TEST("an entry that is alone in its shard is named without an index", without_an_index_an_entry_alone_is_named),
    TEST("shards that cannot be read are told, each for itself", shards_that_cannot_be_read_are_told_each),
    TEST("an index has its size, and with another one it names no entry", an_index_has_its_size_and_no_other),
};

const struct suite process_index_suite = SUITE("index", tests);
