// SPDX-License-Identifier: Apache-2.0

/// Numbers of sources and failures, the text of mappings field by field, and words of findings.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "probe/parts.h"
#include "process_place.h"
#include "process_suites.h"

static struct listing listings[2];

// Sources --------------------------------------------------------------------------------------------------------

/// Groups decide how much one leaf tells, and what a fold costs.
static void sources_have_their_groups_and_names(void) {
  static const struct {
    uint8_t class_, number, version, groups_log2;
    const char *name;
  } SOURCES[] = {
      {1, 1, 1, 0, "machine-id"},      {1, 2, 1, 0, "processor"},      {1, 3, 1, 2, "board serial"},
      {1, 4, 2, 0, "root file system"}, {1, 5, 1, 0, "storage secret"}, {2, 1, 1, 4, "code in memory"},
      {2, 2, 1, 0, "executable file"}, {2, 3, 1, 6, "bundle"},         {2, 4, 1, 0, "SDK version"},
      {3, 1, 2, 2, "debugger"},        {3, 2, 1, 2, "preloading"},     {3, 3, 1, 0, "loaded objects"},
      {3, 4, 1, 3, "executable memory"}, {3, 5, 1, 0, "code pages"},   {3, 6, 2, 3, "links"},
      {3, 7, 1, 1, "instrumentation"}, {3, 8, 1, 0, "os-release"},     {3, 9, 1, 0, "kernel release"},
      {3, 10, 1, 0, "variables"},
  };
  size_t count, index = 99;
  const struct pfp_source *sources = pfp_sources(&count);
  struct pfc_config proposed = {.source_count = 3};
  pfp_sources_propose(&proposed);
  REQUIRE(CHECK_COUNT(count, 19) && CHECK_COUNT(proposed.source_count, 19));
  for (size_t i = 0; i < count; i++) {
    const struct pfc_source *source = &proposed.sources[i];
    test_case("%s", SOURCES[i].name);
    CHECK(sources[i].class_ == SOURCES[i].class_ && sources[i].number == SOURCES[i].number);
    CHECK(sources[i].version == SOURCES[i].version && sources[i].groups_log2 == SOURCES[i].groups_log2);
    CHECK(strcmp(sources[i].name, SOURCES[i].name) == 0);
    CHECK(source->class_ == SOURCES[i].class_ && source->number == SOURCES[i].number);
    CHECK(source->version == SOURCES[i].version && source->groups_log2 == SOURCES[i].groups_log2);
    CHECK(strcmp(pfp_source_name(SOURCES[i].class_, SOURCES[i].number), SOURCES[i].name) == 0);
    CHECK(pfp_source_find(source->class_, source->number, source->version) == &sources[i]);
    CHECK(pfp_source_find(source->class_, source->number, (uint8_t)(source->version - 1)) == NULL);
    proposed.sources[i].version++;
    CHECK_NUMBER(pfp_sources_check(&proposed, &index), PFC_E_SOURCE);
    CHECK_COUNT(index, i);
    proposed.sources[i].version--;
  }
  CHECK_NUMBER(pfp_sources_check(&proposed, &index), PFC_OK);
}

// Mappings -------------------------------------------------------------------------------------------------------

/// A file with this text, in place of /proc/self/maps.
static struct pfp_process process_of(const char *text, size_t size) {
  struct pfp_process process = {.maps = memfd_create("maps", MFD_CLOEXEC), .pagemap = -1, .status = -1, .initial = -1};
  CHECK(process.maps >= 0 && write(process.maps, text, size) == (ssize_t)size);
  return process;
}

static const char TEXT[] =
    "00001000-00003000 r--p 00000000 00:00 0 \n"
    "00003000-00004000 rwxs 00102000 fe:1a 4711                       /a folder/lib b.so (deleted)\n"
    "00008000-0000a000 -w-s 00000000 103:05 8                         [stack]\n"
    "7fff00000000-7fff00001000 --xp 7ffffffff000 08:01 4294967297     /x\n";

static void the_text_of_mappings_is_read_field_by_field(void) {
  static const struct pfp_mapping FIELDS[] = {
      {.start = 0x1000, .end = 0x3000, .flags = 1},
      {.start = 0x3000, .end = 0x4000, .offset = 0x102000, .inode = 4711, .device = 0xFE0000001A, .flags = 15},
      {.start = 0x8000, .end = 0xA000, .inode = 8, .device = 0x10300000005, .flags = 10},
      {.start = 0x7FFF00000000, .end = 0x7FFF00001000, .offset = 0x7FFFFFFFF000, .inode = 4294967297,
       .device = 0x800000001, .flags = 4},
  };
  static const char *const NAMES[] = {"", "/a folder/lib b.so (deleted)", "[stack]", "/x"};
  for (int no_query = 0; no_query < 2; no_query++) {
    struct pfp_process process = process_of(TEXT, sizeof TEXT - 1);
    struct pfp_mappings mappings;
    process.no_query = no_query;
    REQUIRE(CHECK_NUMBER(pfp_mappings_read(&mappings, &process), PFP_OK));
    REQUIRE(CHECK_COUNT(mappings.count, 4));
    for (size_t i = 0; i < 4; i++) {
      const struct pfp_mapping *is = &mappings.items[i], *expected = &FIELDS[i];
      test_case("line %zu", i);
      CHECK(is->start == expected->start && is->end == expected->end);
      CHECK_COUNT(is->offset, expected->offset);
      CHECK_COUNT(is->inode, expected->inode);
      CHECK_COUNT(is->device, expected->device);
      CHECK_NUMBER(is->flags, expected->flags);
      CHECK(strcmp(mappings.names + is->name, NAMES[i]) == 0);
      CHECK(pfp_mappings_at(&mappings, is->start) == is && pfp_mappings_at(&mappings, is->end - 1) == is);
      CHECK(pfp_mappings_at(&mappings, is->end) == (i == 0 ? is + 1 : NULL));
    }
    CHECK(pfp_mappings_at(&mappings, 0xFFF) == NULL && pfp_mappings_at(&mappings, 0x7FFF) == NULL);
    pfp_mappings_free(&mappings);
    (void)close(process.maps);
  }
}

static void one_mapping_is_asked_for(void) {
  struct pfp_process process = process_of(TEXT, sizeof TEXT - 1);
  struct pfp_mapping mapping;
  CHECK_NUMBER(pfp_mapping_ask(&mapping, 0x3FFF, &process), 1);
  CHECK(mapping.start == 0x3000 && mapping.end == 0x4000);
  CHECK_COUNT(mapping.device, 0xFE0000001A);
  CHECK_NUMBER(pfp_mapping_ask(&mapping, 0x4000, &process), 0);
  CHECK_COUNT(mapping.end, 0);
  (void)close(process.maps);
  CHECK_NUMBER(pfp_mapping_ask(&mapping, 0x3FFF, &(struct pfp_process){.maps = -1}), PFP_E_UNREADABLE);
}

static void text_that_is_no_mappings_is_unreadable(void) {
  static const char *const TEXTS[] = {"", "\n", "00001000-00003000 r--p 00000000 00:00\n", "x\n",
                                      "00001000-00003000 r--p 00000000 00:00 0 \nx\n"};
  for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
    struct pfp_process process = process_of(TEXTS[i], strlen(TEXTS[i]));
    struct pfp_mappings mappings;
    test_case("text %zu", i);
    CHECK_NUMBER(pfp_mappings_read(&mappings, &process), PFP_E_UNREADABLE);
    CHECK(mappings.items == NULL && mappings.count == 0);
    (void)close(process.maps);
  }
}

/// More than the first allocations hold: 256 mappings, 4096 bytes of names, 64 KiB of text.
static void many_mappings_are_all_read(void) {
  enum { COUNT = 1100, LINE = 400 };
  char *text = malloc(COUNT * LINE), name[LINE];
  size_t size = 0;
  struct pfp_process process;
  struct pfp_mappings mappings;
  REQUIRE(CHECK(text != NULL));
  for (unsigned i = 0; i < COUNT; i++) {
    size += (size_t)snprintf(text + size, LINE, "%x-%x r-xp %08x 08:01 %u /%0*u\n", 4096 * (i + 1), 4096 * (i + 2), i,
                             i + 1, (int)(i % 300) + 1, i);
  }
  process = process_of(text, size);
  free(text);
  REQUIRE(CHECK_NUMBER(pfp_mappings_read(&mappings, &process), PFP_OK));
  REQUIRE(CHECK_COUNT(mappings.count, COUNT));
  for (unsigned i = 0; i < COUNT; i++) {
    const struct pfp_mapping *mapping = &mappings.items[i];
    test_case("mapping %u", i);
    (void)snprintf(name, sizeof name, "/%0*u", (int)(i % 300) + 1, i);
    CHECK(mapping->start == 4096 * (i + 1) && mapping->inode == i + 1 && mapping->offset == i);
    CHECK(strcmp(mappings.names + mapping->name, name) == 0);
    CHECK(pfp_mappings_at(&mappings, mapping->start) == mapping);
  }
  pfp_mappings_free(&mappings);
  (void)close(process.maps);
}

// A probe --------------------------------------------------------------------------------------------------------

static void forgetting_at_first_changes_nothing(void) {
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL && listing_collect(&listings[0], probe, PFC_POLICY_INCREMENTAL));
  pfp_probe_forget(probe);
  REQUIRE(listing_collect(&listings[1], probe, PFC_POLICY_INCREMENTAL));
  (void)listing_same(&listings[1], &listings[0]);
  pfp_probe_free(probe);
  test_case("before anything was learned");
  probe = place_probe();
  REQUIRE(probe != NULL);
  pfp_probe_forget(probe);
  REQUIRE(listing_collect(&listings[1], probe, PFC_POLICY_INCREMENTAL));
  (void)listing_same(&listings[1], &listings[0]);
  pfp_probe_free(probe);
  place_finish();
}

static void failed(struct pfp_probe *probe, int result, int expected, int core, int error, const char *path) {
  const struct pfp_probe_failure *failure = pfp_probe_failure(probe);
  CHECK_NUMBER(result, expected);
  CHECK_NUMBER(failure->result, expected);
  CHECK_NUMBER(failure->core, core);
  CHECK_NUMBER(failure->error, error);
  if (!CHECK(strcmp(failure->path, path) == 0)) test_note("said: %s", failure->path);
}

static int refuse(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                  const uint8_t *digest) {
  (void)class_, (void)number, (void)name, (void)name_size, (void)digest;
  return ++*(int *)context == 3 ? -5 : 0;
}

static void failures_have_their_numbers_and_paths(void) {
  static struct pfp_diagnosis diagnosis;
  static struct baseline baseline;
  struct pfc_key key = place_key();
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1), made;
  struct pfc_measured measured;
  struct pfp_probe *probe, *bare, *half;
  int calls = 0;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(CHECK_NUMBER(pfp_probe_create(&bare, &(struct pfp_probe_options){0}), PFP_OK));
  REQUIRE(CHECK_NUMBER(pfp_probe_create(&half, &(struct pfp_probe_options){.bundle = place.bundle}), PFP_OK));
  REQUIRE(probe != NULL && baseline_take(&baseline, probe, PFC_POLICY_FULL, 1));
  test_case("a configuration without its last byte");
  failed(probe, pfp_probe_measure(&measured, probe, baseline.bytes, baseline.size - 1, &key), PFP_E_CORE,
         PFC_E_DAMAGED, 0, "");
  failed(probe, pfp_probe_diagnose(&diagnosis, probe, baseline.bytes, baseline.size - 1, &key), PFP_E_CORE,
         PFC_E_DAMAGED, 0, "");
  failed(probe, pfp_probe_index(probe, baseline.bytes, baseline.size - 1, &key), PFP_E_CORE, PFC_E_DAMAGED, 0, "");
  test_case("an index without bundle or storage");
  failed(bare, pfp_probe_index(bare, baseline.bytes, baseline.size, &key), PFP_E_MISSING, 0, 0, "bundle");
  failed(half, pfp_probe_index(half, baseline.bytes, baseline.size, &key), PFP_E_MISSING, 0, 0, "storage");
  test_case("a third record that the caller refuses");
  failed(probe, pfp_probe_collect(probe, &draft, refuse, &calls), PFP_E_CORE, -5, 0, "board serial");
  CHECK_NUMBER(calls, 3);
  CHECK_ZEROS(&measured, sizeof measured);
  CHECK_ZEROS(&diagnosis, sizeof diagnosis);
  test_case("a draft of no generation");
  draft.generation = 0;
  failed(probe, pfp_probe_baseline(&made, probe, &draft, &key), PFP_E_CORE, PFC_E_ARGUMENT, 0, "");
  CHECK_ZEROS(&made, sizeof made);
  pfp_probe_free(half);
  pfp_probe_free(bare);
  pfp_probe_free(probe);
  place_finish();
}

/// The records and the alarms of one measurement, a line each.
struct told {
  char records[128], alarms[128];
};

static int note_record(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                       const uint8_t *digest) {
  struct told *told = context;
  size_t size = strlen(told->records);
  (void)digest;
  (void)snprintf(told->records + size, sizeof told->records - size, "%u/%u %.*s\n", class_, number, (int)name_size,
                 (const char *)name);
  return 0;
}

static void note_alarm(void *context, uint8_t class_, uint8_t number, const char *name, const char *words) {
  struct told *told = context;
  size_t size = strlen(told->alarms);
  (void)snprintf(told->alarms + size, sizeof told->alarms - size, "%u/%u %s %s\n", class_, number, name, words);
}

static void alarms_are_given_from_the_first_record_on(void) {
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  struct told told = {"", ""};
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  probe = place_probe();
  REQUIRE(probe != NULL);
  draft.source_count = 1;
  draft.sources[0] = (struct pfc_source){.class_ = 3, .number = 2, .version = 1, .groups_log2 = 2};
  CHECK(setenv("LD_AUDIT", "", 1) == 0 && setenv("LD_PRELOAD", "", 1) == 0);
  CHECK_NUMBER(pfp_probe_observe(probe, &draft, note_record, note_alarm, &told), PFP_OK);
  CHECK(unsetenv("LD_AUDIT") == 0 && unsetenv("LD_PRELOAD") == 0);
  CHECK(strcmp(told.records, "3/2 LD_AUDIT\n3/2 LD_LIBRARY_PATH\n3/2 LD_PRELOAD\n3/2 ld.so.preload\n") == 0);
  CHECK(strcmp(told.alarms, "3/2 LD_AUDIT is set\n3/2 LD_PRELOAD is set\n") == 0);
  pfp_probe_free(probe);
  place_finish();
}

// Words ----------------------------------------------------------------------------------------------------------

static void one_finding(const struct pfp_diagnosis *diagnosis, const char *source, const char *name,
                        const char *text) {
  REQUIRE(CHECK_COUNT(diagnosis->count, 1));
  CHECK_NUMBER(diagnosis->findings[0].certain, 1);
  CHECK_NUMBER(diagnosis->findings[0].kind, PFP_FINDING_CHANGED);
  CHECK(strcmp(diagnosis->findings[0].source, source) == 0);
  CHECK(strcmp(diagnosis->findings[0].name, name) == 0);
  if (!CHECK(strcmp(diagnosis->findings[0].text, text) == 0)) test_note("said: %s", diagnosis->findings[0].text);
}

static void a_changed_executable_is_named(void) {
  char path[160];
  struct pfp_probe *probe;
  struct baseline baseline;
  struct pfp_probe_options own = {.executable = path};
  REQUIRE(place_begin());
  place_write("../program", "1");
  (void)snprintf(path, sizeof path, "%s/program", place.folder);
  REQUIRE(CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK));
  REQUIRE(baseline_take(&baseline, probe, PFC_POLICY_FULL, 1));
  CHECK_COUNT(baseline_diagnose(probe, &baseline)->count, 0);
  place_write("../program", "2");
  one_finding(baseline_diagnose(probe, &baseline), "executable file", "executable", "executable: changed");
  pfp_probe_free(probe);
  place_finish();
}

static void names_are_one_line_of_text(void) {
  struct pfc_key key = place_key();
  struct pfp_probe *probe;
  struct baseline baseline;
  REQUIRE(place_begin());
  place_write("a\nb\x1f c\x7f\xc3\xa4", "1");
  probe = place_probe();
  REQUIRE(probe != NULL && baseline_take(&baseline, probe, PFC_POLICY_FULL, 1));
  CHECK_NUMBER(pfp_probe_index(probe, baseline.bytes, baseline.size, &key), PFP_OK);
  place_write("a\nb\x1f c\x7f\xc3\xa4", "2");
  one_finding(baseline_diagnose(probe, &baseline), "bundle", "a\nb\x1f c\x7f\xc3\xa4",
              "bundle: a?b? c?\xc3\xa4: changed");
  pfp_probe_free(probe);
  place_finish();
}

static const struct test tests[] = {
    TEST("sources have their groups and names, and each wrong version is told by its place",
         sources_have_their_groups_and_names),
    TEST("the text of mappings is read field by field", the_text_of_mappings_is_read_field_by_field),
    TEST("one mapping is asked for", one_mapping_is_asked_for),
    TEST("text that is no mappings is unreadable", text_that_is_no_mappings_is_unreadable),
    TEST("many mappings are all read", many_mappings_are_all_read),
    TEST("forgetting at first changes nothing", forgetting_at_first_changes_nothing),
    TEST("failures have their numbers and paths", failures_have_their_numbers_and_paths),
    TEST("alarms are given from the first record on", alarms_are_given_from_the_first_record_on),
    TEST("a changed executable is named", a_changed_executable_is_named),
    TEST("names are one line of text", names_are_one_line_of_text),
};

const struct suite process_bounds_suite = SUITE("bounds", tests);
