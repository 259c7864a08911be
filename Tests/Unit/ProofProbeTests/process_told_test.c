// SPDX-License-Identifier: Apache-2.0

/// Words of a diagnosis about what differs: by the kind of record, and as far as one of many can be told.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "probe/parts.h"
#include "process_place.h"
#include "process_sight.h"
#include "process_suites.h"

enum { COPIES = 80 };

static struct pfp_probe *probe;
static struct baseline baseline;
static struct pfc_config draft;
static const struct pfp_diagnosis *diagnosis;
static void *handles[COPIES];
static unsigned opened;

/// One source more. A configuration has one of the device and one of the app at least.
static void ask(uint8_t class_, uint8_t number, uint8_t version, uint8_t groups_log2) {
  draft.sources[draft.source_count++] =
      (struct pfc_source){.class_ = class_, .number = number, .version = version, .groups_log2 = groups_log2};
}

static bool begin(const char *plugin) {
  const char *const plugins[] = {plugin};
  struct pfp_probe_options own = {
      .bundle = place.bundle, .storage = place.storage, .plugins = plugins, .plugin_count = plugin != NULL};
  draft = place_draft(PFC_POLICY_INCREMENTAL, 1);
  draft.source_count = 0;
  opened = 0;
  ask(1, 2, 1, 0);
  return place_begin() && CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK);
}

static bool take(void) {
  struct pfc_key key = place_key();
  return CHECK_NUMBER(pfp_probe_baseline(&baseline.config, probe, &draft, &key), PFP_OK) &&
         CHECK_NUMBER(pfc_config_encode(baseline.bytes, sizeof baseline.bytes, &baseline.size, &baseline.config),
                      PFC_OK) &&
         CHECK_COUNT(baseline_diagnose(probe, &baseline)->count, 0);
}

static void end(void) {
  while (opened != 0) CHECK_NUMBER(dlclose(handles[--opened]), 0);
  pfp_probe_free(probe);
  place_finish();
}

/// Diagnoses; so many findings.
static bool told(size_t count) {
  diagnosis = baseline_diagnose(probe, &baseline);
  return CHECK_COUNT(diagnosis->count, count) && CHECK_COUNT(diagnosis->left_out, 0);
}

static void check(size_t index, uint8_t kind, uint8_t certain, const char *name, const char *text) {
  const struct pfp_finding *finding = &diagnosis->findings[index];
  CHECK_NUMBER(finding->kind, kind);
  CHECK_NUMBER(finding->certain, certain);
  if (!CHECK(strcmp(finding->name, name) == 0)) test_note("named: %s", finding->name);
  if (!CHECK(strcmp(finding->text, text) == 0)) test_note("said: %s", finding->text);
}

// Libraries ------------------------------------------------------------------------------------------------------

/// Opens a copy of a library under this name.
static void *open_copy(const char *name) {
  char from[4096], to[160], command[4608];
  ssize_t size = readlink("/proc/self/exe", from, sizeof from - 16);
  if (!CHECK(size > 0)) return NULL;
  from[size] = 0;
  (void)strcpy(strrchr(from, '/') + 1, "liblazy.so");
  (void)snprintf(to, sizeof to, "%s/%s", place.folder, name);
  (void)snprintf(command, sizeof command, "cp '%.4000s' '%s'", from, to);
  CHECK_NUMBER(system(command), 0);
  handles[opened] = dlopen(to, RTLD_NOW | RTLD_LOCAL);
  if (!CHECK(handles[opened] != NULL)) return NULL;
  return handles[opened++];
}

/// Copies "m000" and so on, up to this number.
static void open_many(unsigned from, unsigned until) {
  for (unsigned i = from; i < until; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "m%03u", i);
    (void)open_copy(name);
  }
}

/// How many objects are loaded, and how many of them nothing explains.
static unsigned strangers(int *loaded) {
  struct pfp_objects objects;
  unsigned count = 0;
  if (!CHECK_NUMBER(pfp_objects_read(&objects), 0)) return 0;
  pfp_objects_explain(&objects, NULL, 0);
  for (size_t i = 0; i < objects.count; i++) count += !objects.items[i].explained;
  *loaded = (int)objects.count;
  pfp_objects_free(&objects);
  return count;
}

static void sixty_four_of_a_group_are_tried(void) {
  for (unsigned before = 63; before <= 64; before++) {
    int loaded = 0, number;
    test_case("beside %u", before);
    REQUIRE(begin(NULL));
    ask(2, 1, 1, 0);
    open_many(0, before - strangers(&loaded));
    REQUIRE(take());
    (void)open_copy("z");
    REQUIRE(told(1));
    if (before == 63) check(0, PFP_FINDING_SUSPICIOUS, 1, "z", "z: is loaded, and nothing needs it");
    if (before == 64) {
      CHECK_NUMBER(diagnosis->findings[0].certain, 0);
      CHECK(strncmp(diagnosis->findings[0].text, "code in memory: one of ", 23) == 0);
      CHECK(strstr(diagnosis->findings[0].text, ", ...") != NULL);
      // Those that are not tried are counted: these, and what this program needs. A module of the system's is none.
      (void)strangers(&loaded);
      number = atoi(diagnosis->findings[0].text + 23);
      CHECK(number > 65 && number <= loaded);
    }
    end();
  }
}

static void pairs_of_twelve_are_tried(void) {
  for (unsigned before = 10; before <= 11; before++) {
    int loaded;
    test_case("beside %u", before);
    REQUIRE(begin(NULL));
    ask(2, 1, 1, 0);
    open_many(0, before - strangers(&loaded));
    REQUIRE(take());
    (void)open_copy("x");
    (void)open_copy("y");
    REQUIRE(told(before == 10 ? 2 : 1));
    if (before == 10) check(0, PFP_FINDING_SUSPICIOUS, 1, "x", "x: is loaded, and nothing needs it");
    if (before == 10) check(1, PFP_FINDING_SUSPICIOUS, 1, "y", "y: is loaded, and nothing needs it");
    if (before == 11) CHECK_NUMBER(diagnosis->findings[0].certain, 0);
    end();
  }
}

/// The group of a name's code.
static int group_of(const char *name) {
  return pfc_config_group(&draft, 2, 1, (const uint8_t *)name, strlen(name));
}

/// A name that begins with this letter, in this group of code.
static void name_in_group(char name[16], char letter, int group) {
  for (unsigned i = 0;; i++) {
    (void)snprintf(name, 16, "%c%u", letter, i);
    if (group_of(name) == group) return;
  }
}

/// Each group tells its new library, and none that was there before, though that one comes first.
static void each_group_tells_its_new_library(void) {
  char before[16], name[16], text[96];
  REQUIRE(begin(NULL));
  ask(2, 1, 1, 4);
  // The configuration's first group is the device's.
  for (int group = 1; group <= 16; group++) {
    name_in_group(before, 'k', group);
    (void)open_copy(before);
  }
  REQUIRE(take());
  for (int group = 1; group <= 16; group++) {
    test_case("group %d", group);
    name_in_group(name, 'n', group);
    (void)open_copy(name);
    (void)snprintf(text, sizeof text, "%s: is loaded, and nothing needs it", name);
    if (told(1)) check(0, PFP_FINDING_SUSPICIOUS, 1, name, text);
    CHECK_NUMBER(dlclose(handles[--opened]), 0);
  }
  end();
}

/// New libraries, each in a group of its own.
static void all_new_libraries_are_counted(void) {
  bool taken[64] = {false};
  unsigned found = 0;
  REQUIRE(begin(NULL));
  ask(2, 1, 1, 4);
  ask(3, 3, 1, 0);
  REQUIRE(take());
  for (unsigned i = 0; found < 9; i++) {
    char name[16];
    (void)snprintf(name, sizeof name, "n%u", i);
    if (taken[group_of(name)]) continue;
    taken[group_of(name)] = true;
    (void)open_copy(name);
    found++;
    test_case("%u", found);
    if (found < 7) continue;
    char words[64];
    REQUIRE(told(found + 1));
    CHECK_NUMBER(diagnosis->findings[found].class_, 3);
    (void)snprintf(words, sizeof words, " and %u more is loaded, and nothing needs it", found - 1);
    CHECK(strstr(diagnosis->findings[found].text, words) != NULL);
  }
  end();
}

/// A plugin that the app declares is explained: that it is new is no suspicion, and it is not among the unexplained.
static void a_declared_library_was_not_loaded_before(void) {
  char name[16] = "", text[96];
  REQUIRE(begin("libdeclared.so"));
  ask(2, 1, 1, 4);
  ask(3, 3, 1, 0);
  REQUIRE(take());
  (void)open_copy("libdeclared.so");
  REQUIRE(told(1));
  check(0, PFP_FINDING_CHANGED, 1, "libdeclared.so", "libdeclared.so: was not loaded before");
  test_case("beside one that is not declared");
  for (unsigned i = 0; name[0] == 0 || group_of(name) == group_of("libdeclared.so"); i++) {
    (void)snprintf(name, sizeof name, "u%u", i);
  }
  (void)open_copy(name);
  REQUIRE(told(3));
  CHECK_NUMBER(diagnosis->findings[2].class_, 3);
  CHECK_NUMBER(diagnosis->findings[2].number, 3);
  (void)snprintf(text, sizeof text, "%s is loaded, and nothing needs it", name);
  check(2, PFP_FINDING_SUSPICIOUS, 1, "unexplained", text);
  end();
}

static void links_of_a_new_library_differ(void) {
  REQUIRE(begin(NULL));
  ask(2, 4, 1, 0);
  ask(3, 6, 2, 3);
  REQUIRE(take());
  (void)open_copy("libnew.so");
  REQUIRE(told(1));
  check(0, PFP_FINDING_CHANGED, 1, "libnew.so", "libnew.so: links differ");
  CHECK(diagnosis->findings[0].class_ == 3 && diagnosis->findings[0].number == 6);
  CHECK(strcmp(diagnosis->findings[0].source, "links") == 0);
  end();
}

/// The last segment of a library that no program may write to, or the one with code.
static bool find_segment(struct pfp_segment *found, const char *name, bool code) {
  struct pfp_objects objects;
  bool any = false;
  if (!CHECK_NUMBER(pfp_objects_read(&objects), 0)) return false;
  for (size_t i = 0; i < objects.count; i++) {
    for (size_t j = 0; j < objects.items[i].segment_count && strcmp(objects.items[i].name, name) == 0; j++) {
      const struct pfp_segment *segment = &objects.items[i].segments[j];
      if (segment->flags != (code ? PFP_READ | PFP_EXECUTE : PFP_READ)) continue;
      *found = *segment;
      any = true;
    }
  }
  pfp_objects_free(&objects);
  return any;
}

static bool protect(const struct pfp_segment *segment, int rights) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = segment->start & ~(page - 1);
  return CHECK(mprotect((void *)start, segment->start + segment->size - start, rights) == 0);
}

/// A name whose group of code no other loaded object has: the baseline tells it.
static bool find_alone(char name[16]) {
  bool taken[64] = {false};
  struct pfp_objects objects;
  if (!CHECK_NUMBER(pfp_objects_read(&objects), 0)) return false;
  for (size_t i = 0; i < objects.count; i++) taken[group_of(objects.items[i].name)] = true;
  pfp_objects_free(&objects);
  for (unsigned i = 0; i < 1000; i++) {
    (void)snprintf(name, 16, "a%u", i);
    if (!taken[group_of(name)]) return true;
  }
  return CHECK(false);
}

static void a_library_that_cannot_be_read_is_told(void) {
  struct pfp_segment segment;
  char name[16], text[96];
  REQUIRE(begin(NULL));
  ask(2, 1, 1, 4);
  REQUIRE(find_alone(name));
  (void)open_copy(name);
  REQUIRE(take());
  if (!find_segment(&segment, name, false)) {
    test_note("    skipped: this linker puts constants into the segment of code");
  } else if (protect(&segment, PROT_NONE)) {
    (void)snprintf(text, sizeof text, "%s: cannot be read, or one beside it is gone", name);
    if (told(1)) check(0, PFP_FINDING_ABSENT, 0, name, text);
    CHECK(protect(&segment, PROT_READ));
    CHECK(told(0));
  }
  end();
}

static void patch(const char *name) {
  struct pfp_segment segment;
  if (!CHECK(find_segment(&segment, name, true)) || !protect(&segment, PROT_READ | PROT_WRITE)) return;
  *(volatile uint8_t *)segment.start ^= 1;
  (void)protect(&segment, PROT_READ | PROT_EXEC);
}

/// One that says it is certain to have changed; two of one group say it each with less certainty.
static void changed_libraries_are_told_each(void) {
  char names[2][16], text[2][96];
  REQUIRE(begin(NULL));
  ask(2, 1, 1, 4);
  (void)strcpy(names[0], "p");
  for (unsigned i = 0; i == 0 || group_of(names[1]) != group_of(names[0]); i++) {
    (void)snprintf(names[1], sizeof names[1], "q%u", i);
  }
  (void)open_copy(names[0]);
  (void)open_copy(names[1]);
  REQUIRE(take());
  patch(names[1]);
  (void)snprintf(text[1], sizeof text[1], "%s: code differs from its file", names[1]);
  if (told(1)) check(0, PFP_FINDING_SUSPICIOUS, 1, names[1], text[1]);
  patch(names[0]);
  for (size_t i = 0; i < 2; i++) {
    (void)snprintf(text[i], sizeof text[i], "%s: code differs from its file (or another of its group)", names[i]);
  }
  if (told(2)) check(0, PFP_FINDING_SUSPICIOUS, 0, names[0], text[0]);
  if (diagnosis->count == 2) check(1, PFP_FINDING_SUSPICIOUS, 0, names[1], text[1]);
  end();
}

// Environment ----------------------------------------------------------------------------------------------------

/// The status that names a tracer cannot be read any more.
static void what_cannot_be_read_is_absent(void) {
  for (uint8_t groups_log2 = 0; groups_log2 <= 2; groups_log2 += 2) {
    char text[96];
    test_case("%u groups", 1u << groups_log2);
    REQUIRE(begin(NULL));
    ask(2, 4, 1, 0);
    ask(3, 1, 2, groups_log2);
    REQUIRE(take());
    (void)close(probe->process.status);
    probe->process.status = -1;
    if (groups_log2 == 0 && told(3)) {
      // Their name tells whether the processor's number is known.
      const char *name = diagnosis->findings[0].name;
      CHECK(strcmp(name, "hardware breakpoints") == 0 || strcmp(name, "free breakpoints") == 0);
      (void)snprintf(text, sizeof text, "%.30s: changed (or another of its group)", name);
      check(0, PFP_FINDING_CHANGED, 0, name, text);
      check(1, PFP_FINDING_CHANGED, 0, "personality", "personality: changed (or another of its group)");
      check(2, PFP_FINDING_ABSENT, 0, "tracer", "tracer: cannot be read (or another of its group)");
    }
    if (groups_log2 == 2 && told(1)) check(0, PFP_FINDING_ABSENT, 1, "tracer", "tracer: cannot be read");
    end();
  }
}

/// Records of a group that say by themselves what is wrong are told, and the others are not.
static void alarms_are_told_before_others(void) {
  REQUIRE(begin(NULL));
  ask(2, 4, 1, 0);
  ask(3, 2, 1, 0);
  REQUIRE(take());
  CHECK_NUMBER(setenv("LD_AUDIT", "", 1), 0);
  if (told(1)) check(0, PFP_FINDING_SUSPICIOUS, 1, "LD_AUDIT", "LD_AUDIT: is set");
  CHECK_NUMBER(setenv("LD_PRELOAD", "", 1), 0);
  if (told(2)) check(0, PFP_FINDING_SUSPICIOUS, 0, "LD_AUDIT", "LD_AUDIT: is set (or another of its group)");
  CHECK(unsetenv("LD_AUDIT") == 0 && unsetenv("LD_PRELOAD") == 0);
  CHECK(told(0));
  end();
}

/// Words of what is executable name it; the record's name is a kind.
static void executable_memory_is_told_by_its_words(void) {
  void *code;
  REQUIRE(begin(NULL));
  ask(2, 4, 1, 0);
  ask(3, 4, 1, 0);
  REQUIRE(take());
  code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (told(1)) check(0, PFP_FINDING_SUSPICIOUS, 1, "anonymous", "memory of no file is executable");
  (void)munmap(code, 4096);
  code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (told(2)) {
    check(0, PFP_FINDING_SUSPICIOUS, 0, "anonymous", "memory of no file is executable (or another of its group)");
    check(1, PFP_FINDING_SUSPICIOUS, 0, "writable",
          "memory of no file is executable and writable (or another of its group)");
  }
  (void)munmap(code, 4096);
  end();
}

/// Another release of the system, in mounts of this child's own.
static int changes_the_release(struct pfp_probe *unused) {
  int file;
  (void)unused;
  draft = place_draft(PFC_POLICY_FULL, 1);
  draft.source_count = 0;
  ask(1, 2, 1, 0);
  ask(2, 4, 1, 0);
  ask(3, 8, 1, 0);
  probe = place_probe();
  if (probe == NULL || !take()) return 2;
  if (unshare(CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0) return 77;
  if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("none", "/etc", "tmpfs", 0, NULL) != 0) return 77;
  file = open("/etc/os-release", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0 || write(file, "ID=other\n", 9) != 9 || close(file) != 0) return 3;
  if (!told(1)) return 4;
  check(0, PFP_FINDING_CHANGED, 1, "os-release", "os-release: changed");
  return harness_failures() == 0 ? 0 : 5;
}

static void another_release_is_told(void) {
  int status;
  REQUIRE(place_begin());
  status = sight_in_child(changes_the_release);
  if (status == 77) test_note("    skipped: no right to mounts of its own");
  if (status != 77) CHECK_NUMBER(status, 0);
  place_finish();
}

// Device ---------------------------------------------------------------------------------------------------------

/// On another device nothing of the app is known: its index is not made, and only the device is told.
static void another_device_has_no_index(void) {
  struct pfc_key key = place_key();
  REQUIRE(begin(NULL));
  ask(2, 3, 1, 6);
  REQUIRE(take());
  CHECK_NUMBER(pfp_probe_index(probe, baseline.bytes, baseline.size, &key), PFP_OK);
  // The incremental policy reads the processor once.
  probe->process.processor[0] ^= 1;
  CHECK_NUMBER(pfp_probe_index(probe, baseline.bytes, baseline.size, &key), PFP_E_CHANGING);
  place_write("two", "2?\n");
  if (told(1)) check(0, PFP_FINDING_CHANGED, 1, "processor", "processor: changed");
  CHECK(diagnosis->device_comparable == 1 && diagnosis->app_comparable == 0);
  probe->process.processor[0] ^= 1;
  if (told(1)) check(0, PFP_FINDING_CHANGED, 1, "two", "bundle: two: changed");
  CHECK(diagnosis->device_comparable == 1 && diagnosis->app_comparable == 1);
  end();
}

static const struct test tests[] = {
    TEST("sixty-four records of a group are tried for the one that is new", sixty_four_of_a_group_are_tried),
    TEST("pairs among twelve records of a group are tried for those that are new", pairs_of_twelve_are_tried),
    TEST("each group tells its new library", each_group_tells_its_new_library),
    TEST("all new libraries are counted", all_new_libraries_are_counted),
    TEST("a declared library that is new was not loaded before", a_declared_library_was_not_loaded_before),
    TEST("links of a new library differ", links_of_a_new_library_differ),
    TEST("a library that cannot be read is told", a_library_that_cannot_be_read_is_told),
    TEST("libraries whose code changed are told, each for itself", changed_libraries_are_told_each),
    TEST("a record that cannot be read is absent", what_cannot_be_read_is_absent),
    TEST("records that are suspicious by themselves are told, and no other", alarms_are_told_before_others),
    TEST("executable memory is told by its words", executable_memory_is_told_by_its_words),
    TEST("another release of the system is told", another_release_is_told),
    TEST("another device has no index, and tells nothing of the app", another_device_has_no_index),
};

const struct suite process_told_suite = SUITE("told", tests);
