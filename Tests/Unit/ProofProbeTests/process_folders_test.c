// SPDX-License-Identifier: Apache-2.0

/// Files that are system modules: by library folder, pattern, owner and mode, in a root folder that the test fills.
/// Objects are made by hand, so no library has to be there.

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_made.h"
#include "process_place.h"
#include "process_suites.h"
#include "system/platform.h"

enum { PASSED = 0, FAILED = 1, NO_RIGHTS = 77 };

/// Makes a file of root's with all folders to it.
static bool make(const char *path) {
  char folder[256];
  int file;
  (void)umask(022);
  (void)snprintf(folder, sizeof folder, "%s", path);
  for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    (void)mkdir(folder, 0755);
    *slash = '/';
  }
  file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  return CHECK(file >= 0) && CHECK(close(file) == 0);
}

/// The root folder is the place, with the kernel's /proc.
static bool enter(void) {
  char proc[128];
  (void)snprintf(proc, sizeof proc, "%s/proc", place.folder);
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return false;
  if (chmod(place.folder, 0755) != 0 || mkdir(proc, 0755) != 0) return false;
  return mount("/proc", proc, NULL, MS_BIND | MS_REC, NULL) == 0 && chroot(place.folder) == 0 && chdir("/") == 0;
}

static void play(void (*work)(void)) {
  int status = -1;
  pid_t child;
  REQUIRE(place_begin());
  (void)fflush(stdout);
  child = fork();
  if (child == 0) {
    if (!enter() || !pfp_trust_root()) _exit(NO_RIGHTS);
    work();
    (void)fflush(stdout);
    _exit(harness_failures() == 0 ? PASSED : FAILED);
  }
  (void)waitpid(child, &status, 0);
  place_finish();
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_RIGHTS) {
    test_note("    skipped: no right to a root folder of its own, or root is not the machine's");
  } else {
    CHECK_NUMBER(status, 0);
  }
}

/// An object that nothing needs, with its file here.
static void begin(const char *path) {
  made_begin();
  // Behind the list stands one that would open what is opened, and be a module.
  made.items[MADE_OBJECTS].explained = strstr(path, "libG") != NULL;
  (void)strcpy(made.items[MADE_OBJECTS].path, strstr(path, "libG") != NULL ? "/usr/lib/libepoxy.so.0" : path);
  (void)strcpy(made.items[MADE_APART].path, path);
}

static bool is_module(size_t object) {
  pfp_objects_find_modules(&made.objects);
  CHECK_NUMBER(made.items[MADE_OBJECTS].is_system_module, 0);
  return made.items[object].is_system_module == 1;
}

// Folders --------------------------------------------------------------------------------------------------------

static void check_folders(void) {
  static const struct {
    const char *path;
    bool module;
  } CASES[] = {{"/lib/gconv/A.so", true},
               {"/lib32/gconv/A.so", true},
               {"/lib64/gconv/A.so", true},
               {"/libx32/gconv/A.so", true},
               {"/usr/lib/gconv/A.so", true},
               {"/usr/lib64/gconv/A.so", true},
               {"/usr/libx32/gconv/A.so", true},
               {"/lib/x86_64-linux-gnu/gconv/A.so", true},
               {"/usr/lib/aarch64-linux-gnu/libnss_a.so.2", true},
               {"/usr/lib/a-linux-b/gconv/deep/A.so", true},
               {"/lib/x86_64-linux/gconv/A.so", false},
               {"/lib/other/gconv/A.so", false},
               {"/lib/gconv/A.so.1", false},
               {"/lib/own/a-linux-b/gconv/A.so", false},
               {"/libx/gconv/A.so", false},
               {"/lib128/gconv/A.so", false},
               {"/usr/local/lib/gconv/A.so", false},
               {"/opt/lib/gconv/A.so", false},
               {"/usr/li/gconv/A.so", false},
               {"/usr/liX/gconv/A.so", false},
               {"/liX/gconv/A.so", false},
               {"/usr/libX/gconv/A.so", false}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    test_case("%s", CASES[i].path);
    if (!make(CASES[i].path)) return;
    begin(CASES[i].path);
    CHECK(is_module(MADE_APART) == CASES[i].module);
  }
}

// Rights ---------------------------------------------------------------------------------------------------------

#define MODULE "/usr/lib/gconv/A.so"

/// Each folder to the file, and the file: its owner and who may write to it.
static void check_rights(void) {
  static const char *const PATHS[] = {MODULE, "/usr/lib/gconv", "/usr/lib", "/usr", "/"};
  if (!make(MODULE)) return;
  for (size_t i = 0; i < sizeof PATHS / sizeof PATHS[0]; i++) {
    static const mode_t OTHERS[] = {0020, 0002};
    const mode_t mode = i == 0 ? 0644 : 0755;
    test_case("%s", PATHS[i]);
    for (size_t j = 0; j < 2; j++) {
      CHECK_NUMBER(chmod(PATHS[i], mode | OTHERS[j]), 0);
      begin(MODULE);
      CHECK(!is_module(MADE_APART));
    }
    CHECK(chmod(PATHS[i], mode) == 0 && chown(PATHS[i], 1, 0) == 0);
    begin(MODULE);
    CHECK(!is_module(MADE_APART));
    CHECK_NUMBER(chown(PATHS[i], 0, 1), 0);
    begin(MODULE);
    CHECK(is_module(MADE_APART));
  }
}

static void check_kinds(void) {
  if (!make(MODULE)) return;
  CHECK(symlink("A.so", "/usr/lib/gconv/link.so") == 0 && mkdir("/usr/lib/gconv/folder.so", 0755) == 0);
  CHECK(symlink("gconv", "/usr/lib/pkcs11") == 0);
  begin("/usr/lib/gconv/link.so");
  CHECK(!is_module(MADE_APART));
  begin("/usr/lib/gconv/folder.so");
  CHECK(!is_module(MADE_APART));
  begin("/usr/lib/pkcs11/A.so");
  CHECK(!is_module(MADE_APART));
  begin("/usr/lib/gconv/missing.so");
  CHECK(!is_module(MADE_APART));
  begin("");
  CHECK(!is_module(MADE_APART));
  begin(MODULE);
  made.items[MADE_APART].explained = 1;
  CHECK(!is_module(MADE_APART));
}

// Needs ----------------------------------------------------------------------------------------------------------

static void need(size_t object, size_t other) {
  made_dynamic(object, DT_NEEDED, made_string(object, made.items[other].name));
}

/// A module needs MADE_OWN, which needs MADE_OTHER.
static void begin_needs(const char *own, const char *other) {
  begin(MODULE);
  (void)strcpy(made.items[MADE_OWN].path, own);
  (void)strcpy(made.items[MADE_OTHER].path, other);
  need(MADE_APART, MADE_OWN);
  need(MADE_OWN, MADE_OTHER);
}

static void check_needs(void) {
  if (!make(MODULE) || !make("/usr/lib/liba.so") || !make("/lib64/libb.so") || !make("/opt/liba.so")) return;
  begin_needs("/usr/lib/liba.so", "/lib64/libb.so");
  CHECK(is_module(MADE_APART) && made.items[MADE_OWN].is_system_module && made.items[MADE_OTHER].is_system_module);
  CHECK(!made.items[MADE_LOADER].is_system_module && !made.items[MADE_EXECUTABLE].is_system_module);
  // One that is elsewhere, or explained, brings nothing.
  begin_needs("/opt/liba.so", "/lib64/libb.so");
  CHECK(is_module(MADE_APART) && !made.items[MADE_OWN].is_system_module && !made.items[MADE_OTHER].is_system_module);
  begin_needs("/usr/lib/liba.so", "/lib64/libb.so");
  made.items[MADE_OWN].explained = 1;
  CHECK(is_module(MADE_APART) && !made.items[MADE_OWN].is_system_module && !made.items[MADE_OTHER].is_system_module);
  CHECK_NUMBER(chmod("/lib64/libb.so", 0666), 0);
  begin_needs("/usr/lib/liba.so", "/lib64/libb.so");
  CHECK(is_module(MADE_APART) && made.items[MADE_OWN].is_system_module && !made.items[MADE_OTHER].is_system_module);
}

enum { CHAIN = 67 };

/// Each object needs the next one; the first is a module.
static void check_chain(void) {
  static ElfW(Dyn) needs[CHAIN][2];
  static char names[CHAIN][8];
  struct pfp_object *items = calloc(CHAIN, sizeof *items);
  struct pfp_objects objects = {.items = items, .count = CHAIN};
  if (!make(MODULE) || !make("/usr/lib/liba.so") || !CHECK(items != NULL)) return;
  for (size_t i = 0; i < CHAIN; i++) {
    (void)snprintf(items[i].name, sizeof items[i].name, "l%zu", i);
    (void)snprintf(names[i], sizeof names[i], "l%zu", i + 1);
    (void)strcpy(items[i].path, i == 0 ? MODULE : "/usr/lib/liba.so");
    needs[i][0] = (ElfW(Dyn)){.d_tag = DT_NEEDED};
    items[i].dynamic = needs[i];
    items[i].strings = names[i];
    items[i].strings_size = sizeof names[i];
  }
  pfp_objects_find_modules(&objects);
  for (size_t i = 0; i < CHAIN; i++) {
    test_case("object %zu", i);
    CHECK_NUMBER(items[i].is_system_module, i <= 64);
  }
  pfp_objects_free(&objects);
}

// Openers --------------------------------------------------------------------------------------------------------

static void begin_opener(const char *opened, const char *opener) {
  begin(opened);
  (void)strcpy(made.items[MADE_OWN].path, opener);
  made.items[MADE_OWN].explained = 1;
}

static void check_openers(void) {
  static const char *const OPENED[] = {"/usr/lib/libGL.so.1.7",       "/usr/lib/libEGL.so.1", "/usr/lib/libOpenGL.so.0",
                                       "/usr/lib/libGLX.so.0",        "/usr/lib/libGLX.so.1", "/usr/lib/libGLESv2.so.2",
                                       "/usr/lib/libGLESv1_CM.so.1.0"};
  if (!make("/usr/lib/libepoxy.so.0") || !make("/opt/libepoxy.so.0") || !make("/usr/lib/libepoxy.so.1")) return;
  for (size_t i = 0; i < sizeof OPENED / sizeof OPENED[0]; i++) {
    test_case("%s", OPENED[i]);
    if (!make(OPENED[i])) return;
    begin_opener(OPENED[i], "/usr/lib/libepoxy.so.0");
    CHECK(is_module(MADE_APART));
    begin_opener(OPENED[i], "/usr/lib/libepoxy.so.0");
    made.items[MADE_OWN].explained = 0;
    CHECK(!is_module(MADE_APART));
    made.items[MADE_OWN].is_system_module = 1;
    CHECK(is_module(MADE_APART));
    begin_opener(OPENED[i], "/opt/libepoxy.so.0");
    CHECK(!is_module(MADE_APART));
    begin_opener(OPENED[i], "/usr/lib/libepoxy.so.1");
    CHECK(!is_module(MADE_APART));
  }
  test_case("the first object");
  begin(OPENED[0]);
  (void)strcpy(made.items[MADE_EXECUTABLE].path, "/usr/lib/libepoxy.so.0");
  made.items[MADE_EXECUTABLE].explained = 1;
  CHECK(is_module(MADE_APART));
  test_case("a library that it does not open");
  if (!make("/usr/lib/libGLU.so.1")) return;
  begin_opener("/usr/lib/libGLU.so.1", "/usr/lib/libepoxy.so.0");
  CHECK(!is_module(MADE_APART));
  CHECK_NUMBER(chmod("/usr/lib/libepoxy.so.0", 0666), 0);
  begin_opener(OPENED[0], "/usr/lib/libepoxy.so.0");
  CHECK(!is_module(MADE_APART));
}

static void modules_are_in_library_folders(void) { play(check_folders); }
static void modules_are_roots(void) { play(check_rights); }
static void modules_are_files_of_their_own(void) { play(check_kinds); }
static void modules_bring_what_they_need(void) { play(check_needs); }
static void chains_of_modules_are_followed(void) { play(check_chain); }
static void opened_libraries_have_an_opener(void) { play(check_openers); }

static const struct test tests[] = {
    TEST("a module is in a library folder, where a pattern says", modules_are_in_library_folders),
    TEST("only root may write to a module and each of its folders", modules_are_roots),
    TEST("a module is a file, and neither a link nor behind one", modules_are_files_of_their_own),
    TEST("a module brings what it needs from library folders", modules_bring_what_they_need),
    TEST("a chain of what a module needs is followed, 64 long", chains_of_modules_are_followed),
    TEST("a library of OpenGL is a module beside the library that opens it", opened_libraries_have_an_opener),
};

const struct suite process_folders_suite = SUITE("folders of modules", tests);
