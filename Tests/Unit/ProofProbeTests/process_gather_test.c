// SPDX-License-Identifier: Apache-2.0

/// A measurement from outside: its progress in numbers, what another policy, limit or `forget` begins anew, what ends
/// it, and what a probe has of its options.

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "probe/parts.h"
#include "process_place.h"
#include "process_scene.h"
#include "process_sight.h"
#include "process_suites.h"

static struct listing listings[2];

/// The device's processor and the sources of files; with pages also those.
static struct pfc_config draft_of(uint8_t policy, uint8_t limit_log2, bool pages) {
  struct pfc_config draft = place_draft(policy, 1);
  draft.limit_log2 = limit_log2;
  draft.source_count = pages ? 4 : 3;
  draft.sources[0] = (struct pfc_source){.class_ = 1, .number = 2, .version = 1};
  draft.sources[1] = (struct pfc_source){.class_ = 2, .number = 2, .version = 1};
  draft.sources[2] = (struct pfc_source){.class_ = 2, .number = 3, .version = 1, .groups_log2 = 6};
  draft.sources[3] = (struct pfc_source){.class_ = 3, .number = 5, .version = 1};
  return draft;
}

static int collect(struct listing *listing, struct pfp_probe *probe, const struct pfc_config *draft) {
  memset(listing, 0, sizeof *listing);
  return pfp_probe_collect(probe, draft, listing_add, listing);
}

static struct pfp_probe *probe_of(const struct pfp_probe_options *own) {
  struct pfp_probe *probe = NULL;
  CHECK_NUMBER(pfp_probe_create(&probe, own), PFP_OK);
  return probe;
}

static void failed(struct pfp_probe *probe, int result, int error, const char *path) {
  const struct pfp_probe_failure *failure = pfp_probe_failure(probe);
  CHECK_NUMBER(failure->result, result);
  CHECK_NUMBER(failure->core, 0);
  CHECK_NUMBER(failure->error, error);
  if (!CHECK(strcmp(failure->path, path) == 0)) test_note("said: %s", failure->path);
}

// Progress -------------------------------------------------------------------------------------------------------

static struct pfp_progress last;

static int keep_progress(void *user, const struct pfp_progress *progress) {
  CHECK(user == &last);
  CHECK(progress->files >= last.files && progress->bytes >= last.bytes);
  // The bundle has three files of nine bytes.
  if (progress->bytes <= 9) CHECK(progress->files <= 3);
  last = *progress;
  return 0;
}

/// Bytes of all loaded objects that no program may write to.
static uint64_t constant_bytes(void) {
  struct pfp_objects objects;
  uint64_t bytes = 0;
  if (!CHECK_NUMBER(pfp_objects_read(&objects), 0)) return 0;
  for (size_t i = 0; i < objects.count; i++) {
    const struct pfp_object *object = &objects.items[i];
    for (size_t j = 0; j < object->segment_count && !object->is_vdso; j++) {
      if ((object->segments[j].flags & PFP_WRITE) == 0) bytes += object->segments[j].file_size;
    }
  }
  pfp_objects_free(&objects);
  return bytes;
}

static void progress_ends_with_all_files_and_bytes(void) {
  char program[160];
  struct pfp_probe_options own = {
      .executable = program, .bundle = place.bundle, .progress = keep_progress, .user = &last};
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  place_write("../program", "12345");
  (void)snprintf(program, sizeof program, "%s/program", place.folder);
  REQUIRE((probe = probe_of(&own)) != NULL);
  for (uint8_t policy = 1; policy <= 3; policy++) {
    for (unsigned pages = 0; pages < 2; pages++) {
      struct pfc_config draft = draft_of(policy, 30, pages != 0);
      const struct pfp_progress done = {4, 14 + constant_bytes()};
      test_case("policy %u, %s pages", policy, pages ? "with" : "without");
      memset(&last, 0, sizeof last);
      CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_OK);
      if (pages) CHECK(last.files == done.files && last.bytes == done.bytes);
      // The executable counts when it was read, of which nothing more is told.
      if (!pages) CHECK(last.files <= 4 && last.bytes <= 14);
      CHECK_COUNT(probe->done.files, 4);
      CHECK_COUNT(probe->done.bytes, pages ? done.bytes : 14);
    }
  }
  pfp_probe_free(probe);
  place_finish();
}

// Ends -----------------------------------------------------------------------------------------------------------

static struct pfp_probe *cancelled;

static int cancel(void *user, const struct pfp_progress *progress) {
  (void)progress;
  ++*(unsigned *)user;
  pfp_probe_cancel(cancelled);
  return 0;
}

/// Progress is told after 256 entries, and at the bundle's end. What comes after the part that was cancelled is not
/// looked at: a folder that is missing.
static void a_cancel_ends_the_part_at_hand(void) {
  const struct pfp_probe_folder folder = {"missing", "/no-such-folder"};
  unsigned calls = 0;
  struct pfp_probe_options own = {
      .bundle = place.bundle, .folders = &folder, .folder_count = 1, .progress = cancel, .user = &calls};
  struct pfc_config draft = draft_of(PFC_POLICY_FULL, 30, false);
  REQUIRE(place_begin());
  for (unsigned i = 0; i < 300; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "entry-%u", i);
    place_write(name, "");
  }
  REQUIRE((cancelled = probe_of(&own)) != NULL);
  CHECK_NUMBER(collect(&listings[0], cancelled, &draft), PFP_E_CANCELLED);
  CHECK_NUMBER(calls, 1);
  CHECK_COUNT(listings[0].size, 0);
  cancelled->options.progress = NULL;
  CHECK_NUMBER(collect(&listings[0], cancelled, &draft), PFP_E_MISSING);
  failed(cancelled, PFP_E_MISSING, ENOENT, "/no-such-folder");
  pfp_probe_free(cancelled);
  place_finish();
}

/// An executable that is not there is absent; one with more bytes than the limit ends the call.
static void an_executable_is_absent_or_ends_the_call(void) {
  char program[160];
  struct pfp_probe_options own = {.executable = program};
  struct pfc_config draft = draft_of(PFC_POLICY_FULL, 16, false);
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  (void)snprintf(program, sizeof program, "%s/program", place.folder);
  REQUIRE((probe = probe_of(&own)) != NULL);
  draft.source_count = 2;
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_OK);
  CHECK_NUMBER(listings[0].absent, 1);
  CHECK_COUNT(probe->done.files, 0);
  CHECK_COUNT(probe->done.bytes, 0);
  failed(probe, PFP_OK, 0, "");
  place_write("../program", "1");
  CHECK_NUMBER(truncate(program, 65536), 0);
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_OK);
  CHECK_NUMBER(listings[0].absent, 0);
  CHECK_NUMBER(truncate(program, 65537), 0);
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_E_LIMIT);
  failed(probe, PFP_E_LIMIT, 0, program);
  pfp_probe_free(probe);
  place_finish();
}

static void failures_have_their_error_and_path(void) {
  char loop[160];
  const struct pfp_probe_folder folders[] = {{"good", place.storage}, {"loop", loop}};
  struct pfp_probe_options own = {.bundle = loop};
  struct pfc_config draft = draft_of(PFC_POLICY_FULL, 30, false);
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  (void)snprintf(loop, sizeof loop, "%s/loop", place.folder);
  CHECK_NUMBER(symlink("loop", loop), 0);
  test_case("a bundle");
  REQUIRE((probe = probe_of(&own)) != NULL);
  failed(probe, PFP_OK, 0, "");
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_E_UNREADABLE);
  failed(probe, PFP_E_UNREADABLE, ELOOP, loop);
  pfp_probe_free(probe);
  test_case("a further folder");
  own = (struct pfp_probe_options){.bundle = place.bundle, .folders = folders, .folder_count = 2};
  REQUIRE((probe = probe_of(&own)) != NULL);
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_E_UNREADABLE);
  failed(probe, PFP_E_UNREADABLE, ELOOP, loop);
  draft.source_count = 2;
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_OK);
  failed(probe, PFP_OK, 0, "");
  pfp_probe_free(probe);
  place_finish();
}

/// Failures that no file is to blame for.
static void failures_of_the_call_blame_no_file(void) {
  struct pfc_config draft = draft_of(PFC_POLICY_FULL, 30, false);
  struct pfp_probe *probe;
  REQUIRE(place_begin() && (probe = place_probe()) != NULL);
  draft.source_count = 1;
  pfp_probe_cancel(probe);
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_E_CANCELLED);
  failed(probe, PFP_E_CANCELLED, 0, "");
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_OK);
  draft.sources[0] = (struct pfc_source){.class_ = 3, .number = 1, .version = 9};
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_E_UNSUPPORTED);
  failed(probe, PFP_E_UNSUPPORTED, 0, "debugger");
  pfp_probe_free(probe);
  place_finish();
}

/// Measures this source alone while no descriptor is left.
static void collect_without_descriptors(struct pfp_probe *probe, struct pfc_source source, const char *path) {
  struct pfc_config draft = draft_of(PFC_POLICY_FULL, 30, false);
  struct rlimit limit = {0}, less;
  int next = dup(0);
  draft.source_count = 1;
  draft.sources[0] = source;
  CHECK(next >= 0 && close(next) == 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0);
  less = limit;
  less.rlim_cur = (rlim_t)next;
  CHECK_NUMBER(setrlimit(RLIMIT_NOFILE, &less), 0);
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_E_RESOURCE);
  CHECK_NUMBER(setrlimit(RLIMIT_NOFILE, &limit), 0);
  test_case("source %u/%u", source.class_, source.number);
  failed(probe, PFP_E_RESOURCE, 0, path);
  CHECK_COUNT(listings[0].size, 0);
}

static void a_lack_of_descriptors_is_told(void) {
  struct pfp_probe *probe;
  REQUIRE(place_begin() && (probe = place_probe()) != NULL);
  collect_without_descriptors(probe, (struct pfc_source){.class_ = 1, .number = 1, .version = 1}, "");
  collect_without_descriptors(probe, (struct pfc_source){.class_ = 2, .number = 2, .version = 1}, "/proc/self/exe");
  collect_without_descriptors(probe, (struct pfc_source){.class_ = 3, .number = 1, .version = 2}, "");
  // Another process opened what this one has.
  probe->process.owner = 1;
  collect_without_descriptors(probe, (struct pfc_source){.class_ = 2, .number = 4, .version = 1}, "");
  pfp_probe_free(probe);
  place_finish();
}

/// Libraries come or go at both looks.
static void libraries_that_change_are_blamed(void) {
  struct pfp_probe *probe;
  struct pfc_config draft = draft_of(PFC_POLICY_FULL, 30, true);
  REQUIRE(place_begin());
  REQUIRE((probe = place_probe()) != NULL);
  scene_begin();
  scene.objects.added++;
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_E_CHANGING);
  failed(probe, PFP_E_CHANGING, 0, "loaded libraries");
  made_objects = NULL;
  made_mappings = NULL;
  pfp_probe_free(probe);
  place_finish();
}

// Anew -----------------------------------------------------------------------------------------------------------

/// The device's processor, code and the bundle.
static struct pfc_config draft_of_code(uint8_t policy, uint8_t limit_log2) {
  struct pfc_config draft = draft_of(policy, limit_log2, false);
  draft.sources[1] = (struct pfc_source){.class_ = 2, .number = 1, .version = 1, .groups_log2 = 4};
  return draft;
}

/// Files that were known at the last measurement: of the bundle, and of the further folder.
static void check_known(struct pfp_probe *probe, uint8_t policy, uint8_t limit_log2, unsigned bundle,
                        unsigned folder) {
  struct pfc_config draft = draft_of_code(policy, limit_log2);
  CHECK_NUMBER(collect(&listings[1], probe, &draft), PFP_OK);
  (void)listing_same(&listings[1], &listings[0]);
  CHECK_COUNT(pfp_files_statistics(probe->files)->reused, bundle);
  CHECK_COUNT(pfp_files_statistics(probe->folder_files[0])->reused, folder);
  CHECK((probe->object_files != NULL) == (policy != PFC_POLICY_FULL));
}

static void another_policy_or_limit_begins_anew(void) {
  const struct pfp_probe_folder folder = {"one", place.storage};
  struct pfp_probe_options own = {.bundle = place.bundle, .folders = &folder, .folder_count = 1};
  struct pfc_config draft;
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  place_ahead = UINT64_C(60000000000);
  REQUIRE((probe = probe_of(&own)) != NULL);
  draft = draft_of_code(PFC_POLICY_TRUSTING, 30);
  CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_OK);
  check_known(probe, PFC_POLICY_TRUSTING, 30, 3, 1);
  test_case("another limit");
  check_known(probe, PFC_POLICY_TRUSTING, 31, 0, 0);
  check_known(probe, PFC_POLICY_TRUSTING, 31, 3, 1);
  test_case("another policy");
  check_known(probe, PFC_POLICY_FULL, 31, 0, 0);
  check_known(probe, PFC_POLICY_FULL, 31, 0, 0);
  check_known(probe, PFC_POLICY_TRUSTING, 31, 0, 0);
  check_known(probe, PFC_POLICY_TRUSTING, 31, 3, 1);
  test_case("forgotten");
  CHECK(probe->knows_shards && probe->process.knows_processor && probe->process.cache_count != 0);
  CHECK_COUNT(pfp_files_statistics(probe->object_files)->reused, 1);
  pfp_probe_forget(probe);
  CHECK(!probe->knows_shards && !probe->process.knows_processor && probe->process.cache == NULL);
  CHECK_COUNT(probe->process.cache_count, 0);
  check_known(probe, PFC_POLICY_TRUSTING, 31, 0, 0);
  CHECK_COUNT(pfp_files_statistics(probe->object_files)->reused, 0);
  check_known(probe, PFC_POLICY_TRUSTING, 31, 3, 1);
  place_ahead = 0;
  pfp_probe_free(probe);
  place_finish();
}

/// The processor is asked once in a process, unless the policy is full.
static void the_processor_is_known_unless_the_policy_is_full(void) {
  struct pfp_probe *probe;
  REQUIRE(place_begin());
  REQUIRE((probe = place_probe()) != NULL);
  for (uint8_t policy = 1; policy <= 3; policy++) {
    struct pfc_config draft = draft_of(policy, 30, false);
    test_case("policy %u", policy);
    draft.source_count = 1;
    pfp_probe_forget(probe);
    CHECK_NUMBER(collect(&listings[0], probe, &draft), PFP_OK);
    probe->process.processor[3] ^= 1;
    CHECK_NUMBER(collect(&listings[1], probe, &draft), PFP_OK);
    CHECK((memcmp(listings[0].bytes, listings[1].bytes, listings[0].size) == 0) == (policy == PFC_POLICY_FULL));
  }
  pfp_probe_free(probe);
  place_finish();
}

// Alarms ---------------------------------------------------------------------------------------------------------

struct told {
  char alarms[256];
};

static int no_record(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                     const uint8_t *digest) {
  (void)context, (void)class_, (void)number, (void)name, (void)name_size, (void)digest;
  return 0;
}

static void note_alarm(void *context, uint8_t class_, uint8_t number, const char *name, const char *words) {
  struct told *told = context;
  size_t size = strlen(told->alarms);
  (void)snprintf(told->alarms + size, sizeof told->alarms - size, "%u/%u %s %s\n", class_, number, name, words);
}

/// A serial that cannot be read has words, and is no alarm.
static void words_alone_are_no_alarm(void) {
  struct pfp_probe_options own = {.executable = "/no-such-file"};
  struct pfc_config draft = place_draft(PFC_POLICY_FULL, 1);
  struct told told = {""};
  struct pfp_probe *probe = probe_of(&own);
  REQUIRE(probe != NULL);
  draft.source_count = 5;
  CHECK_NUMBER(pfp_probe_observe(probe, &draft, no_record, note_alarm, &told), PFP_OK);
  if (!CHECK(strcmp(told.alarms, "1/5 secret is not there\n") == 0)) test_note("said: %s", told.alarms);
  pfp_probe_free(probe);
}

static int stop(void *user, const struct pfp_progress *progress) {
  (void)user;
  (void)progress;
  return 1;
}

// A probe --------------------------------------------------------------------------------------------------------

static void a_probe_has_options_of_its_own(void) {
  char executable[] = "/exe", bundle[] = "/bundle", storage[] = "/storage", name[] = "n", path[] = "/p", one[] = "o",
       other[] = "t";
  struct pfp_probe_folder folders[] = {{name, path}, {"second", "/q"}};
  const char *plugins[] = {one, other, "third"};
  struct pfp_probe_options own = {executable, bundle, folders, 2, storage, plugins, 3, 0, 7, 9, stop, &own};
  struct pfp_probe *probe = probe_of(&own);
  REQUIRE(probe != NULL);
  executable[1] = bundle[1] = storage[1] = name[0] = path[1] = one[0] = other[0] = 'x';
  folders[1] = folders[0];
  plugins[2] = one;
  CHECK(strcmp(probe->options.executable, "/exe") == 0 && strcmp(probe->options.bundle, "/bundle") == 0);
  CHECK(strcmp(probe->options.storage, "/storage") == 0);
  CHECK(probe->options.folder_count == 2 && probe->options.plugin_count == 3);
  CHECK(strcmp(probe->options.folders[0].name, "n") == 0 && strcmp(probe->options.folders[0].path, "/p") == 0);
  CHECK(strcmp(probe->options.folders[1].name, "second") == 0 && strcmp(probe->options.folders[1].path, "/q") == 0);
  CHECK(strcmp(probe->options.plugins[0], "o") == 0 && strcmp(probe->options.plugins[1], "t") == 0);
  CHECK(strcmp(probe->options.plugins[2], "third") == 0);
  CHECK(probe->options.descriptors == 7 && probe->options.cache_bytes == 9 && probe->options.harden == 0);
  CHECK(probe->options.progress == stop && probe->options.user == &own);
  failed(probe, PFP_OK, 0, "");
  pfp_probe_free(probe);
}

/// Each folder is looked at, the first one too.
static void the_first_folder_must_be_sound(void) {
  char name[PFP_FOLDER_NAME_MAX + 2];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  const struct pfp_probe_folder bad[] = {{"", "/b"}, {"b/c", "/b"}, {NULL, "/b"}, {"b", NULL}, {name, "/b"}};
  struct pfp_probe_options own = {.folder_count = 1};
  struct pfp_probe *probe;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    test_case("case %zu", i);
    own.folders = &bad[i];
    CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_E_ARGUMENT);
    CHECK(probe == NULL);
  }
  const struct pfp_probe_folder twice[] = {{"a", "/a"}, {"b", "/b"}, {"b", "/c"}};
  own = (struct pfp_probe_options){.folders = twice, .folder_count = 3};
  CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_E_ARGUMENT);
}

static int hardens(struct pfp_probe *probe) {
  struct pfp_probe_options own = {.harden = 0};
  struct pfp_probe *second;
  const int privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  (void)probe;
  if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return 2;
  if (pfp_probe_create(&second, &own) != PFP_OK) return 3;
  if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != privileges) return 4;
  own.harden = 1;
  if (pfp_probe_create(&second, &own) != PFP_OK) return 5;
  if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return 6;
  return pfp_harden() == 0 ? 0 : 7;
}

static void a_hardened_process_is_not_dumpable(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(hardens), 0);
  place_finish();
}

static void make_and_free(void) {
  static const char *const PLUGINS[] = {"one", "two"};
  const struct pfp_probe_folder folder = {"one", place.storage};
  struct pfp_probe_options own = {.executable = "/proc/self/exe",
                                  .bundle = place.bundle,
                                  .folders = &folder,
                                  .folder_count = 1,
                                  .storage = place.storage,
                                  .plugins = PLUGINS,
                                  .plugin_count = 2};
  pfp_probe_free(probe_of(&own));
}

static void a_probe_leaves_nothing_behind(void) {
  REQUIRE(place_begin());
  CHECK_COUNT(made_left(make_and_free), 0);
  place_finish();
}

static const struct test tests[] = {
    TEST("progress ends with all files and bytes", progress_ends_with_all_files_and_bytes),
    TEST("a cancel ends the part at hand", a_cancel_ends_the_part_at_hand),
    TEST("an executable that cannot be read is absent, and one beyond the limit ends the call",
         an_executable_is_absent_or_ends_the_call),
    TEST("failures have their error and path, and a success has none", failures_have_their_error_and_path),
    TEST("failures of the call blame no file", failures_of_the_call_blame_no_file),
    TEST("a lack of descriptors is told", a_lack_of_descriptors_is_told),
    TEST("libraries that change are blamed", libraries_that_change_are_blamed),
    TEST("another policy, another limit or forgetting begins anew", another_policy_or_limit_begins_anew),
    TEST("the processor is known unless the policy is full", the_processor_is_known_unless_the_policy_is_full),
    TEST("words alone are no alarm", words_alone_are_no_alarm),
    TEST("a probe has options of its own", a_probe_has_options_of_its_own),
    TEST("each folder must be sound, the first one too", the_first_folder_must_be_sound),
    TEST("a hardened process is not dumpable, and gets no new privileges", a_hardened_process_is_not_dumpable),
    TEST("a probe leaves no memory behind", a_probe_leaves_nothing_behind),
};

const struct suite process_gather_suite = SUITE("gather", tests);
