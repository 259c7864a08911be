// SPDX-License-Identifier: Apache-2.0

/// Modules that system libraries open for themselves: no observation while they are what root installed, and an
/// observation when they are anything else.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <iconv.h>
#include <link.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "process/process.h"
#include "process_place.h"
#include "process_suites.h"

static struct listing before, after;

/// Everything that tells of code in this process: of the app's code and of the environment, its objects, executable
/// memory, code pages and links.
static bool collect(struct listing *listing, struct pfp_probe *probe, uint8_t policy) {
  struct pfc_config draft = place_draft(policy, 1);
  unsigned kept = 0;
  for (unsigned i = 0; i < draft.source_count; i++) {
    const struct pfc_source source = draft.sources[i];
    if ((source.class_ == PFC_CLASS_APP && source.number == PFP_APP_CODE) ||
        (source.class_ == PFC_CLASS_ENVIRONMENT && source.number >= PFP_ENVIRONMENT_OBJECTS &&
         source.number <= PFP_ENVIRONMENT_LINKS)) {
      draft.sources[kept++] = source;
    }
  }
  draft.source_count = (uint8_t)kept;
  memset(listing, 0, sizeof *listing);
  return CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, listing), PFP_OK);
}

static bool same(void) {
  return before.size == after.size && memcmp(before.bytes, after.bytes, before.size) == 0;
}

/// Answers of a child. Those from 10 on are no failure: what the test needs is not there.
enum { AS_EXPECTED = 0, CANNOT_COLLECT = 2, NOT_OPENED = 3, DIFFERS = 4, SAME = 5, NO_RIGHTS = 10, NOT_HERE = 11 };

static void under_each_policy(int (*run)(uint8_t)) {
  REQUIRE(place_begin());
  for (uint8_t policy = PFC_POLICY_FULL; policy <= PFC_POLICY_INCREMENTAL; policy++) {
    int status = -1;
    pid_t child;
    test_case("policy %u", policy);
    (void)fflush(stdout);
    child = fork();
    if (child == 0) _exit(run(policy));
    (void)waitpid(child, &status, 0);
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (status == NO_RIGHTS || status == NOT_HERE) {
      test_note("    skipped: %s", status == NO_RIGHTS ? "only root can arrange this" : "no such module here");
    } else {
      CHECK_NUMBER(status, AS_EXPECTED);
    }
  }
  place_finish();
}

/// The path of the loaded object whose name contains `part`; false if there is none.
static bool find(const char *part, char path[512], struct link_map **found) {
  struct link_map *map = dlopen(NULL, RTLD_LAZY);
  for (; map != NULL; map = map->l_next) {
    if (strstr(map->l_name, part) == NULL) continue;
    (void)snprintf(path, 512, "%.500s", map->l_name);
    *found = map;
    return true;
  }
  return false;
}

static const char CHARACTERS[] = "/gconv/KOI8-R.so";

static bool open_characters(char path[512], struct link_map **map) {
  return iconv_open("UTF-8", "KOI8-R") != (iconv_t)-1 && find(CHARACTERS, path, map);
}

// Open or not ----------------------------------------------------------------------------------------------------

static int converts_characters(uint8_t policy) {
  struct pfp_probe *probe = place_probe();
  struct link_map *map;
  char path[512];
  if (!collect(&before, probe, policy)) return CANNOT_COLLECT;
  if (!open_characters(path, &map)) return NOT_HERE;
  if (!collect(&after, probe, policy)) return CANNOT_COLLECT;
  return same() ? AS_EXPECTED : DIFFERS;
}

/// Modules that this machine's own configuration makes the name service open; many machines have none.
static int looks_a_user_up(uint8_t policy) {
  struct pfp_probe *probe = place_probe();
  struct link_map *map;
  char path[512];
  if (!collect(&before, probe, policy)) return CANNOT_COLLECT;
  (void)getpwnam("no-such-user-anywhere");
  if (!find("/libnss_", path, &map)) return NOT_HERE;
  if (!collect(&after, probe, policy)) return CANNOT_COLLECT;
  return same() ? AS_EXPECTED : DIFFERS;
}

/// Mounts one file over another, for this process alone.
static bool put_over(const char *what, const char *where) {
  return mount(what, where, NULL, MS_BIND, NULL) == 0;
}

static bool own_mounts(void) {
  return geteuid() == 0 && unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/// The folder of the C library, in which the name service looks.
static bool library_folder(char folder[512]) {
  struct link_map *map;
  char path[512];
  if (!find("/libc.so.6", path, &map) || realpath(path, folder) == NULL) return false;
  *strrchr(folder, '/') = 0;
  return true;
}

static bool copy_file(const char *to, const char *from, mode_t mode) {
  char command[4800];
  (void)snprintf(command, sizeof command, "cp '%s' '%s' && chmod %o '%s'", from, to, (unsigned)mode, to);
  return system(command) == 0;
}

/// A made module and a made configuration, in the places of the system's: opened by the C library itself.
static int opens_made_module(uint8_t policy, mode_t mode, uid_t owner) {
  char folder[512], target[600], module[256], names[256], own[512];
  struct pfp_probe *probe;
  struct link_map *map;
  FILE *file;
  ssize_t size = readlink("/proc/self/exe", own, sizeof own - 32);
  if (size <= 0 || !own_mounts()) return NO_RIGHTS;
  own[size] = 0;
  (void)strcpy(strrchr(own, '/') + 1, "libnssmodule.so");
  (void)snprintf(module, sizeof module, "%s/module", place.folder);
  (void)snprintf(names, sizeof names, "%s/nsswitch.conf", place.folder);
  file = fopen(names, "we");
  if (file == NULL || fputs("passwd: files hesiod\n", file) < 0 || fclose(file) != 0) return NO_RIGHTS;
  if (!library_folder(folder) || !copy_file(module, own, mode) || chown(module, owner, 0) != 0) return NO_RIGHTS;
  (void)snprintf(target, sizeof target, "%s/libnss_hesiod.so.2", folder);
  if (access(target, R_OK) != 0) return NOT_HERE;
  if (!put_over(module, target) || !put_over(names, "/etc/nsswitch.conf")) return NO_RIGHTS;
  probe = place_probe();
  if (!collect(&before, probe, policy)) return CANNOT_COLLECT;
  (void)getpwnam("no-such-user-anywhere");
  if (!find("/libnss_hesiod", target, &map)) return NOT_OPENED;
  if (!collect(&after, probe, policy)) return CANNOT_COLLECT;
  return same() ? SAME : DIFFERS;
}

static int asks_roots_module(uint8_t policy) {
  int answer = opens_made_module(policy, 0644, 0);
  return answer == SAME ? AS_EXPECTED : answer;
}

static void characters_are_no_injection(void) { under_each_policy(converts_characters); }
static void names_are_no_injection(void) { under_each_policy(looks_a_user_up); }
static void roots_modules_are_no_injection(void) { under_each_policy(asks_roots_module); }

// Anything else --------------------------------------------------------------------------------------------------

static int differs(void) { return same() ? SAME : AS_EXPECTED; }

static int expects_difference(int answer) { return answer == DIFFERS ? AS_EXPECTED : answer; }

static int asks_anyones_module(uint8_t policy) { return expects_difference(opens_made_module(policy, 0666, 0)); }
static int asks_a_groups_module(uint8_t policy) { return expects_difference(opens_made_module(policy, 0664, 0)); }
static int asks_a_users_module(uint8_t policy) { return expects_difference(opens_made_module(policy, 0644, 65534)); }

static void others_modules_are_seen(void) {
  under_each_policy(asks_anyones_module);
  under_each_policy(asks_a_groups_module);
  under_each_policy(asks_a_users_module);
}

/// The very same module, from where an ordinary user may put one, as GCONV_PATH says.
static int opens_elsewhere(uint8_t policy) {
  struct pfp_probe *probe = place_probe();
  struct link_map *map;
  char path[512], real[4096], copy[256];
  if (!open_characters(path, &map) || realpath(path, real) == NULL) return NOT_HERE;
  (void)snprintf(copy, sizeof copy, "%s/KOI8-R.so", place.folder);
  if (!copy_file(copy, real, 0644)) return NO_RIGHTS;
  if (!collect(&before, probe, policy)) return CANNOT_COLLECT;
  if (dlopen(copy, RTLD_NOW | RTLD_LOCAL) == NULL) return NOT_OPENED;
  if (!collect(&after, probe, policy)) return CANNOT_COLLECT;
  return differs();
}

static void modules_elsewhere_are_seen(void) { under_each_policy(opens_elsewhere); }

/// A library of the system's that no system library opens for itself.
static int opens_no_module(uint8_t policy) {
  struct pfp_probe *probe = place_probe();
  if (!collect(&before, probe, policy)) return CANNOT_COLLECT;
  if (dlopen("libBrokenLocale.so.1", RTLD_NOW | RTLD_LOCAL) == NULL) return NOT_HERE;
  if (!collect(&after, probe, policy)) return CANNOT_COLLECT;
  return differs();
}

static void other_libraries_are_seen(void) { under_each_policy(opens_no_module); }

/// The library that GTK draws with opens OpenGL for itself. The app needs the first, and either opens the second.
static int draws(uint8_t policy, bool needs_opener) {
  static const char *const NAMES[] = {"libepoxy.so.0"};
  struct pfp_probe_options own = {.bundle = place.bundle, .storage = place.storage};
  struct pfp_probe *probe = NULL;
  if (dlopen(NAMES[0], RTLD_NOW | RTLD_LOCAL) == NULL) return NOT_HERE;
  own.plugins = NAMES;
  own.plugin_count = needs_opener;
  if (pfp_probe_create(&probe, &own) != PFP_OK) return CANNOT_COLLECT;
  if (!collect(&before, probe, policy)) return CANNOT_COLLECT;
  if (dlopen("libGL.so.1", RTLD_NOW | RTLD_LOCAL) == NULL) return NOT_HERE;
  if (!collect(&after, probe, policy)) return CANNOT_COLLECT;
  pfp_probe_free(probe);
  return same() ? SAME : DIFFERS;
}

static int draws_by_a_library(uint8_t policy) {
  int answer = draws(policy, true);
  return answer == SAME ? AS_EXPECTED : answer;
}

static int draws_by_a_stray_library(uint8_t policy) { return expects_difference(draws(policy, false)); }

/// The same with an opener that is not as root installed it.
static int draws_by_anyones_library(uint8_t policy) {
  char folder[512], real[4096], target[600], copy[256];
  if (!own_mounts()) return NO_RIGHTS;
  if (!library_folder(folder)) return NOT_HERE;
  (void)snprintf(target, sizeof target, "%s/libepoxy.so.0", folder);
  (void)snprintf(copy, sizeof copy, "%s/opener", place.folder);
  if (realpath(target, real) == NULL) return NOT_HERE;
  if (!copy_file(copy, real, 0666) || !put_over(copy, real)) return NO_RIGHTS;
  return expects_difference(draws(policy, true));
}

static void opened_libraries_are_no_injection(void) { under_each_policy(draws_by_a_library); }

static void libraries_opened_by_others_are_seen(void) {
  under_each_policy(draws_by_a_stray_library);
  under_each_policy(draws_by_anyones_library);
}

/// Changes a byte of a module that is open, where no later test asks; puts it back or not.
static int changes(uint8_t policy, bool code, bool put_back) {
  struct pfp_probe *probe = place_probe();
  struct link_map *map;
  struct pfp_objects objects;
  char path[512];
  uintptr_t at = 0, page = (uintptr_t)sysconf(_SC_PAGESIZE);
  if (!open_characters(path, &map)) return NOT_HERE;
  if (pfp_objects_read(&objects) != 0) return CANNOT_COLLECT;
  for (size_t i = 0; i < objects.count; i++) {
    const struct pfp_object *object = &objects.items[i];
    if (object->bias != map->l_addr) continue;
    // The first word that leads somewhere: to a function of the module's own.
    for (uintptr_t word = object->relro; !code && word < object->relro_end && at == 0; word += sizeof word) {
      if (pfp_objects_at(&objects, *(const uintptr_t *)word) != NULL) at = word;
    }
    for (size_t j = 0; code && j < object->segment_count; j++) {
      if ((object->segments[j].flags & PFP_EXECUTE) != 0) at = object->segments[j].start;
    }
  }
  pfp_objects_free(&objects);
  if (at == 0) return NOT_HERE;
  if (!collect(&before, probe, policy)) return CANNOT_COLLECT;
  if (mprotect((void *)(at & ~(page - 1)), page, PROT_READ | PROT_WRITE) != 0) return NO_RIGHTS;
  *(volatile uint8_t *)at ^= 4;
  if (put_back) *(volatile uint8_t *)at ^= 4;
  if (mprotect((void *)(at & ~(page - 1)), page, code ? PROT_READ | PROT_EXEC : PROT_READ) != 0) return NO_RIGHTS;
  if (!collect(&after, probe, policy)) return CANNOT_COLLECT;
  return differs();
}

static int patches_code(uint8_t policy) { return changes(policy, true, false); }
static int patches_code_and_back(uint8_t policy) { return changes(policy, true, true); }
static int turns_a_word(uint8_t policy) { return changes(policy, false, false); }

static void patched_modules_are_seen(void) {
  under_each_policy(patches_code);
  under_each_policy(patches_code_and_back);
}

static void turned_modules_are_seen(void) { under_each_policy(turns_a_word); }

static bool write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  ssize_t size = file >= 0 ? write(file, text, strlen(text)) : -1;
  return file >= 0 && close(file) == 0 && size == (ssize_t)strlen(text);
}

/// Where an ordinary user may call himself root, root's files are not root's. Here root does, so that the files look
/// as they did.
static int opens_in_a_user_namespace(uint8_t policy) {
  struct pfp_probe *probe;
  struct link_map *map;
  char path[512];
  if (geteuid() != 0 || unshare(CLONE_NEWUSER) != 0 || !write_file("/proc/self/uid_map", "0 0 1")) return NO_RIGHTS;
  probe = place_probe();
  if (!collect(&before, probe, policy)) return CANNOT_COLLECT;
  if (!open_characters(path, &map)) return NOT_HERE;
  if (!collect(&after, probe, policy)) return CANNOT_COLLECT;
  return differs();
}

static void no_root_no_module(void) { under_each_policy(opens_in_a_user_namespace); }

// Diagnosis ------------------------------------------------------------------------------------------------------

/// Many libraries that the app does not declare, as an interpreter has them: several in each group.
static bool open_many(unsigned count, void **last) {
  char own[512], copy[256];
  ssize_t size = readlink("/proc/self/exe", own, sizeof own - 32);
  if (size <= 0) return false;
  own[size] = 0;
  (void)strcpy(strrchr(own, '/') + 1, "liblinksalias.so");
  for (unsigned i = 0; i < count; i++) {
    (void)snprintf(copy, sizeof copy, "%s/many-%u.so", place.folder, i);
    if (!copy_file(copy, own, 0644)) return false;
    *last = dlopen(copy, RTLD_NOW | RTLD_LOCAL);
    if (*last == NULL) return false;
  }
  (void)snprintf(copy, sizeof copy, "%s/mal.so", place.folder);
  return copy_file(copy, own, 0644);
}

/// How many findings of a source there are, and how many of them have these words.
static unsigned count_findings(const struct pfp_diagnosis *diagnosis, uint8_t class_, uint8_t number,
                               const char *words, unsigned *with) {
  unsigned count = 0;
  *with = 0;
  for (size_t i = 0; i < diagnosis->count; i++) {
    const struct pfp_finding *finding = &diagnosis->findings[i];
    if (finding->class_ != class_ || finding->number != number) continue;
    count++;
    *with += strstr(finding->text, words) != NULL && finding->certain;
    if (strstr(finding->text, words) == NULL) (void)fprintf(stderr, "%s\n", finding->text);
  }
  return count;
}

enum { MANY = 40 };

static int names_what_is_new(uint8_t policy) {
  static struct baseline baseline;
  struct pfp_probe *probe = place_probe();
  const struct pfp_diagnosis *diagnosis;
  char path[256];
  unsigned with;
  void *last;
  if (!open_many(MANY, &last) || !baseline_take(&baseline, probe, policy, 1)) return CANNOT_COLLECT;
  (void)snprintf(path, sizeof path, "%s/mal.so", place.folder);
  if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL) return NOT_OPENED;
  diagnosis = baseline_diagnose(probe, &baseline);
  if (count_findings(diagnosis, PFC_CLASS_APP, PFP_APP_CODE, "mal.so: is loaded", &with) != 1 || with != 1) return 6;
  if (count_findings(diagnosis, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_OBJECTS, "mal.so is loaded", &with) != 1 ||
      with != 1) {
    return 7;
  }
  if (count_findings(diagnosis, PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_LINKS, "mal.so", &with) != 1 || with != 1) {
    return 8;
  }
  return diagnosis->count == 3 ? AS_EXPECTED : 9;
}

static int names_what_changed(uint8_t policy) {
  static struct baseline baseline;
  struct pfp_probe *probe = place_probe();
  const struct pfp_diagnosis *diagnosis;
  uintptr_t at, page = (uintptr_t)sysconf(_SC_PAGESIZE);
  unsigned with;
  void *last;
  if (!open_many(MANY, &last) || !baseline_take(&baseline, probe, policy, 1)) return CANNOT_COLLECT;
  at = (uintptr_t)dlsym(last, "alias_first");
  if (mprotect((void *)(at & ~(page - 1)), page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return NO_RIGHTS;
  *(volatile uint8_t *)at ^= 1;
  if (mprotect((void *)(at & ~(page - 1)), page, PROT_READ | PROT_EXEC) != 0) return NO_RIGHTS;
  diagnosis = baseline_diagnose(probe, &baseline);
  return count_findings(diagnosis, PFC_CLASS_APP, PFP_APP_CODE, "many-39.so: code differs from its file", &with) == 1 &&
                 with == 1
             ? AS_EXPECTED
             : 6;
}

/// Nothing that was loaded has other code: a diagnosis does not say so of what is left.
static int accuses_nobody(uint8_t policy) {
  static struct baseline baseline;
  struct pfp_probe *probe = place_probe();
  const struct pfp_diagnosis *diagnosis;
  void *last;
  if (!open_many(MANY, &last) || !baseline_take(&baseline, probe, policy, 1)) return CANNOT_COLLECT;
  if (dlclose(last) != 0) return NOT_OPENED;
  diagnosis = baseline_diagnose(probe, &baseline);
  for (size_t i = 0; i < diagnosis->count; i++) {
    const struct pfp_finding *finding = &diagnosis->findings[i];
    if (strstr(finding->text, "code differs") != NULL) return fprintf(stderr, "%s\n", finding->text), 6;
    if (finding->class_ == PFC_CLASS_APP && finding->certain) return fprintf(stderr, "%s\n", finding->text), 7;
  }
  return diagnosis->count != 0 && diagnosis->count <= 3 ? AS_EXPECTED : 8;
}

static void what_is_new_is_named(void) { under_each_policy(names_what_is_new); }
static void what_changed_is_named(void) { under_each_policy(names_what_changed); }
static void what_did_not_change_is_not_named(void) { under_each_policy(accuses_nobody); }

static const struct test tests[] = {
    TEST("of many undeclared libraries a diagnosis names the one that is new, and no other", what_is_new_is_named),
    TEST("of many undeclared libraries a diagnosis names the one whose code changed, and no other",
         what_changed_is_named),
    TEST("where a library is gone a diagnosis says of no other that its code differs",
         what_did_not_change_is_not_named),
    TEST("a module for a character set is one observation, open or not", characters_are_no_injection),
    TEST("a module of the name service is one observation, open or not", names_are_no_injection),
    TEST("a module that only root can write is one observation, open or not", roots_modules_are_no_injection),
    TEST("a module in its place that others can write is seen", others_modules_are_seen),
    TEST("a module in a folder that others can write is seen", modules_elsewhere_are_seen),
    TEST("a library of the system's that is no module is seen", other_libraries_are_seen),
    TEST("a library that a library of the system's opens is one observation, open or not",
         opened_libraries_are_no_injection),
    TEST("the same library is seen if the app does not need the one that opens it, or others can write that one",
         libraries_opened_by_others_are_seen),
    TEST("a module whose code was written to is seen, also when it was put back", patched_modules_are_seen),
    TEST("a module with a word that leads elsewhere is seen", turned_modules_are_seen),
    TEST("in another user namespace a module is seen", no_root_no_module),
};

const struct suite process_modules_suite = SUITE("modules", tests);
