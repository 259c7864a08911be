// SPDX-License-Identifier: Apache-2.0

/// Digests of code in memory: which are kept between measurements, and what ends that. The calls that hash memory are
/// counted at the platform's function: the linker puts ours before it (--wrap).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "system/platform.h"
#include "process/process.h"
#include "process_place.h"
#include "process_suites.h"

enum { ORDINARY = 65534, BYTES = 4096 };

static uintptr_t watched;  ///< An address in code
static unsigned hashed;    ///< How often a content was hashed that holds it

// The names that --wrap asks for are the linker's.
int __real_pfp_hash_memory(const struct pfp_hash *hash, struct pfp_content *contents, size_t count);
int __wrap_pfp_hash_memory(const struct pfp_hash *hash, struct pfp_content *contents, size_t count);
int __wrap_pfp_hash_memory(const struct pfp_hash *hash, struct pfp_content *contents, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uintptr_t start = (uintptr_t)contents[i].bytes;
    if (watched >= start && watched - start < contents[i].size) hashed++;
  }
  return __real_pfp_hash_memory(hash, contents, count);
}

uint64_t __real_pfp_keep_clock(void);
uint64_t __wrap_pfp_keep_clock(void);
uint64_t __wrap_pfp_keep_clock(void) { return __real_pfp_keep_clock() + place_ahead; }

// The place: two copies of a library --------------------------------------------------------------------------------

static char library[128], other[128];

static bool copy_library(char path[128], const char *name, uid_t owner) {
  char command[4608];
  Dl_info found;
  (void)snprintf(path, 128, "%s/%s", place.folder, name);
  // A library that this program is linked with.
  if (!CHECK(dladdr(dlsym(RTLD_DEFAULT, "call_late"), &found) != 0)) return false;
  (void)snprintf(command, sizeof command, "cp '%.4000s' '%s' && chmod 755 '%s'", found.dli_fname, path, path);
  return CHECK_NUMBER(system(command), 0) && CHECK(chown(path, owner, owner) == 0);
}

static bool begin(uid_t owner) {
  place_ahead = UINT64_C(60000000000);  // The files just written count as long settled.
  return place_begin() && CHECK(chmod(place.folder, 0755) == 0) && copy_library(library, "libkept.so", owner) &&
         copy_library(other, "libother.so", owner);
}

static void finish(void) {
  place_ahead = 0;
  watched = 0;
  place_finish();
}

/// An ordinary user's process, which may still read its own /proc.
static bool become_ordinary(void) {
  return setresgid(ORDINARY, ORDINARY, ORDINARY) == 0 && setresuid(ORDINARY, ORDINARY, ORDINARY) == 0 &&
         prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0;
}

static bool play(bool (*work)(uint8_t policy), uint8_t policy) {
  int status = -1;
  pid_t child;
  (void)fflush(stdout);
  child = fork();
  if (child == 0) {
    bool good = work(policy);
    (void)fflush(stdout);
    _exit(good ? 0 : 1);
  }
  return CHECK(child > 0) && CHECK(waitpid(child, &status, 0) == child) && CHECK(status == 0);
}

static struct listing first, now;

/// Measures, and answers how often the watched code was hashed.
static unsigned hashed_in(struct listing *listing, struct pfp_probe *probe, uint8_t policy) {
  hashed = 0;
  (void)listing_collect(listing, probe, policy);
  return hashed;
}

static bool same_as_first(void) { return first.size == now.size && memcmp(first.bytes, now.bytes, now.size) == 0; }

static struct pfp_probe *open_and_measure(uint8_t policy) {
  void *opened = dlopen(library, RTLD_NOW);
  struct pfp_probe *probe = place_probe();
  if (!CHECK(opened != NULL) || probe == NULL) return NULL;
  watched = (uintptr_t)dlsym(opened, "call_late");
  if (!CHECK(watched != 0)) return NULL;
  CHECK_COUNT(hashed_in(&first, probe, policy), 1);
  return probe;
}

// Keeping -----------------------------------------------------------------------------------------------------------

static bool keeps(uint8_t policy) {
  struct pfp_probe *probe;
  if (!CHECK(become_ordinary())) return false;
  probe = open_and_measure(policy);
  if (probe == NULL) return false;
  for (unsigned i = 0; i < 3; i++) {
    CHECK_COUNT(hashed_in(&now, probe, policy), 0);
    CHECK(same_as_first());
  }
  pfp_probe_forget(probe);
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(same_as_first());
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

static bool hashes(uint8_t policy) {
  struct pfp_probe *probe = open_and_measure(policy);
  if (probe == NULL) return false;
  for (unsigned i = 0; i < 3; i++) {
    CHECK_COUNT(hashed_in(&now, probe, policy), 1);
    CHECK(same_as_first());
  }
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

/// Where a loaded object has constants alone, or 0.
static uintptr_t constants_of(uintptr_t address) {
  struct pfp_objects objects;
  const struct pfp_object *object;
  uintptr_t found = 0;
  if (!CHECK_NUMBER(pfp_objects_read(&objects), 0)) return 0;
  object = pfp_objects_at(&objects, address);
  for (size_t i = 0; object != NULL && i < object->segment_count; i++) {
    if (object->segments[i].flags == PFP_READ) found = object->segments[i].start;
  }
  pfp_objects_free(&objects);
  return found;
}

static bool keeps_constants(uint8_t policy) {
  struct pfp_probe *probe = open_and_measure(policy);
  if (probe == NULL) return false;
  watched = constants_of(watched);
  if (watched == 0) test_note("    skipped: this linker puts constants into the segment of code");
  pfp_probe_forget(probe);
  CHECK_COUNT(hashed_in(&now, probe, policy), watched != 0);
  for (unsigned i = 0; i < 2; i++) {
    CHECK_COUNT(hashed_in(&now, probe, policy), watched != 0 && policy == PFC_POLICY_FULL);
    CHECK(same_as_first());
  }
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

static bool hashes_as_ordinary(uint8_t policy) { return CHECK(become_ordinary()) && hashes(policy); }

/// 1 if this is root, who alone can make files that an ordinary user cannot change.
static bool is_root(void) {
  if (geteuid() == 0) return true;
  test_note("skipped: it takes root to make files of root's");
  return false;
}

static void kept_if_guarded(void) {
  if (!is_root()) return;
  REQUIRE(begin(0));
  for (uint8_t policy = PFC_POLICY_INCREMENTAL; policy <= PFC_POLICY_TRUSTING; policy++) {
    test_case("policy %u", policy);
    (void)play(keeps, policy);
  }
  test_case("policy full");
  (void)play(hashes_as_ordinary, PFC_POLICY_FULL);
  finish();
}

static void hashed_if_writable(void) {
  REQUIRE(begin(geteuid() == 0 ? ORDINARY : geteuid()));
  for (uint8_t policy = PFC_POLICY_INCREMENTAL; policy <= PFC_POLICY_TRUSTING; policy++) {
    test_case("the user's own file, policy %u", policy);
    (void)play(geteuid() == 0 ? hashes_as_ordinary : hashes, policy);
  }
  if (geteuid() == 0) {
    CHECK(chown(library, 0, 0) == 0);
    test_case("root's process");
    (void)play(hashes, PFC_POLICY_TRUSTING);
    CHECK(chown(library, 0, 0) == 0 && chmod(library, 0757) == 0);
    test_case("others may write");
    (void)play(hashes_as_ordinary, PFC_POLICY_TRUSTING);
  }
  finish();
}

static void constants_kept(void) {
  REQUIRE(begin(geteuid()));
  test_case("policy full");
  (void)play(keeps_constants, PFC_POLICY_FULL);
  test_case("policy trusting");
  (void)play(keeps_constants, PFC_POLICY_TRUSTING);
  finish();
}

// Events that end it ------------------------------------------------------------------------------------------------

static uint8_t *page_of(uintptr_t address) { return (uint8_t *)(address & ~(uintptr_t)(BYTES - 1)); }

static void set_byte(uint8_t *at, uint8_t value) {
  uint8_t *page = page_of((uintptr_t)at);
  CHECK(mprotect(page, BYTES, PROT_READ | PROT_WRITE) == 0);
  *at = value;
  CHECK(mprotect(page, BYTES, PROT_READ | PROT_EXEC) == 0);
}

/// Another byte in a page of code, and the same byte again; then the page is the file's once more.
static bool ends_by_a_patch(uint8_t policy) {
  struct pfp_probe *probe;
  uint8_t *at, byte;
  if (!CHECK(become_ordinary())) return false;
  probe = open_and_measure(policy);
  if (probe == NULL) return false;
  CHECK_COUNT(hashed_in(&now, probe, policy), 0);
  at = (uint8_t *)watched;
  byte = *at;
  test_case("policy %u, patched", policy);
  set_byte(at, byte ^ 1);
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(!same_as_first());
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(!same_as_first());
  test_case("policy %u, put back", policy);
  set_byte(at, byte);
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(!same_as_first());
  test_case("policy %u, given back", policy);
  CHECK(madvise(page_of(watched), BYTES, MADV_DONTNEED) == 0);
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(same_as_first());
  CHECK_COUNT(hashed_in(&now, probe, policy), 0);
  CHECK(same_as_first());
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

/// The page of another file of root's, with the same bytes, over the code.
static bool ends_by_another_file(uint8_t policy) {
  struct pfp_probe *probe;
  struct pfp_process process = {.maps = -1};
  struct pfp_mapping mapping;
  int file;
  if (!CHECK(become_ordinary())) return false;
  probe = open_and_measure(policy);
  if (probe == NULL || !CHECK(pfp_process_open(&process) == 0)) return false;
  CHECK_COUNT(hashed_in(&now, probe, policy), 0);
  CHECK_NUMBER(pfp_mapping_ask(&mapping, watched, &process), 1);
  pfp_process_close(&process);
  file = open(other, O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  CHECK(mmap(page_of(watched), BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file,
             (off_t)(mapping.offset + ((uintptr_t)page_of(watched) - mapping.start))) != MAP_FAILED);
  (void)close(file);
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(!same_as_first());
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

/// The same file under a shared mapping: not a private copy, and still not how a loader maps code.
static bool ends_by_a_shared_mapping(uint8_t policy) {
  struct pfp_probe *probe;
  struct pfp_process process = {.maps = -1};
  struct pfp_mapping mapping;
  int file;
  if (!CHECK(become_ordinary())) return false;
  probe = open_and_measure(policy);
  if (probe == NULL || !CHECK(pfp_process_open(&process) == 0)) return false;
  CHECK_NUMBER(pfp_mapping_ask(&mapping, watched, &process), 1);
  pfp_process_close(&process);
  file = open(library, O_RDONLY | O_CLOEXEC);
  CHECK(mmap(page_of(watched), BYTES, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, file,
             (off_t)(mapping.offset + ((uintptr_t)page_of(watched) - mapping.start))) != MAP_FAILED);
  (void)close(file);
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(!same_as_first());
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

/// A process that lacks its pagemap cannot tell private copies: everything is hashed.
static bool ends_without_pagemap(uint8_t policy) {
  struct pfp_probe *probe;
  if (!CHECK(become_ordinary())) return false;
  // Not dumpable before the probe opens its files: /proc is root's then.
  if (!CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)) return false;
  probe = open_and_measure(policy);
  if (probe == NULL) return false;
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(same_as_first());
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

static void changes_end_it(void) {
  static const struct {
    const char *what;
    bool (*work)(uint8_t policy);
  } cases[] = {{"a patch", ends_by_a_patch},
               {"another file", ends_by_another_file},
               {"a shared mapping", ends_by_a_shared_mapping},
               {"no pagemap", ends_without_pagemap}};
  if (!is_root()) return;
  REQUIRE(begin(0));
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    for (uint8_t policy = PFC_POLICY_INCREMENTAL; policy <= PFC_POLICY_TRUSTING; policy++) {
      test_case("%s, policy %u", cases[i].what, policy);
      (void)play(cases[i].work, policy);
    }
  }
  finish();
}

/// Pipes: the child has measured; the parent has written to the file.
static int told[2], done[2];

static bool sees_a_change(uint8_t policy) {
  struct pfp_probe *probe;
  uint8_t word = 0;
  // A view of mounts of its own, for the file that is mounted over the library.
  if (!CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)) return false;
  if (!CHECK(become_ordinary())) return false;
  probe = open_and_measure(policy);
  if (probe == NULL) return false;
  CHECK_COUNT(hashed_in(&now, probe, policy), 0);
  CHECK(write(told[1], "1", 1) == 1 && read(done[0], &word, 1) == 1);
  CHECK_COUNT(hashed_in(&now, probe, policy), 1);
  CHECK(!same_as_first());
  // The file under the path says nothing about the file in memory, if that is another one.
  CHECK_COUNT(hashed_in(&now, probe, policy), word == 'w' ? 0 : 1);
  CHECK(!same_as_first());
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

static void overwrite(const char *path) {
  int file = open(path, O_RDWR | O_CLOEXEC);
  uint8_t byte = 0x90;
  Dl_info found;
  void *opened = dlopen(path, RTLD_NOW);
  void *at = opened != NULL ? dlsym(opened, "call_late") : NULL;
  CHECK(file >= 0 && at != NULL && dladdr(at, &found) != 0);
  if (at != NULL) {
    // Code of these fixtures stands in the file where it stands in memory.
    CHECK(pwrite(file, &byte, 1, (off_t)((uintptr_t)at - (uintptr_t)found.dli_fbase)) == 1);
  }
  if (opened != NULL) (void)dlclose(opened);
  (void)close(file);
}

/// In the child's view of mounts.
static void mount_over(pid_t child) {
  char command[512];
  (void)snprintf(command, sizeof command, "nsenter --mount --target %ld mount --bind '%s' '%s'", (long)child, other,
                 library);
  CHECK_NUMBER(system(command), 0);
}

static void a_new_file_ends_it(void) {
  if (!is_root()) return;
  for (unsigned i = 0; i < 6; i++) {
    static const char *const hows[] = {"written", "replaced", "covered"};
    const uint8_t policy = i % 2 == 0 ? PFC_POLICY_INCREMENTAL : PFC_POLICY_TRUSTING;
    const char *what = hows[i / 2];
    int status = -1;
    uint8_t word;
    pid_t child;
    test_case("%s, policy %u", what, policy);
    REQUIRE(begin(0) && CHECK(pipe(told) == 0 && pipe(done) == 0));
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
      (void)close(told[0]);
      (void)close(done[1]);
      bool good = sees_a_change(policy);
      (void)fflush(stdout);
      _exit(good ? 0 : 1);
    }
    (void)close(told[1]);
    (void)close(done[0]);
    CHECK(read(told[0], &word, 1) == 1);
    switch (i / 2) {
      case 0: overwrite(library); break;
      case 1: CHECK(rename(other, library) == 0); break;
      default: mount_over(child); break;
    }
    CHECK(write(done[1], what, 1) == 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    (void)close(told[0]);
    (void)close(done[1]);
    finish();
  }
}

// A measurement that did not end ------------------------------------------------------------------------------------

static unsigned steps, stop_at;

static int step(void *user, const struct pfp_progress *progress) {
  (void)user;
  (void)progress;
  return ++steps == stop_at;
}

/// A cancelled measurement asks for a file that changed, and so learns it; the next one must not take what was hashed
/// before for the file's.
static bool forgets_after_a_cancel(uint8_t policy) {
  struct pfp_probe_options own = {.bundle = place.bundle, .storage = place.storage, .progress = step};
  struct pfp_probe *probe = NULL;
  struct pfc_config draft = place_draft(policy, 1);
  void *opened = dlopen(library, RTLD_NOW);
  int file;
  uint8_t byte = 0x5A;
  if (!CHECK(opened != NULL) || !CHECK_NUMBER(pfp_probe_create(&probe, &own), PFP_OK)) return false;
  CHECK(listing_collect(&first, probe, policy));
  steps = 0;
  CHECK(listing_collect(&now, probe, policy));
  CHECK(same_as_first());
  // A byte of the ELF header that no loader reads after the start; it is one of the object's constants.
  file = open(library, O_RDWR | O_CLOEXEC);
  CHECK(file >= 0 && pwrite(file, &byte, 1, 12) == 1);
  (void)close(file);
  stop_at = steps;  // The last step: each object's file was asked for.
  steps = 0;
  memset(&now, 0, sizeof now);
  CHECK_NUMBER(pfp_probe_collect(probe, &draft, listing_add, &now), PFP_E_CANCELLED);
  stop_at = 0;
  CHECK(listing_collect(&now, probe, policy));
  CHECK(!same_as_first());
  pfp_probe_free(probe);
  return harness_failures() == 0;
}

static void a_cancel_forgets(void) {
  REQUIRE(begin(geteuid()));
  (void)play(forgets_after_a_cancel, PFC_POLICY_TRUSTING);
  finish();
}

static const struct test tests[] = {
    TEST("code of a file that this user cannot change is hashed once", kept_if_guarded),
    TEST("code of a file that this user can change is hashed at each measurement", hashed_if_writable),
    TEST("constants of a file that is trusted are hashed once", constants_kept),
    TEST("a patch, another file, a shared mapping, or no pagemap: code is hashed again", changes_end_it),
    TEST("a file that was written, replaced or covered: code is hashed again", a_new_file_ends_it),
    TEST("a measurement that was cancelled leaves nothing kept of objects", a_cancel_forgets),
};

const struct suite process_kept_suite = SUITE("kept code", tests);
