// SPDX-License-Identifier: Apache-2.0

/// Facts from files at fixed places, in a view of mounts of the test's own: the system's release, the machine, serials,
/// preloading, and the second path to a process.

#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "ProofProbe.h"
#include "evidence/transcript.h"
#include "process/process.h"
#include "process_kernel.h"
#include "process_place.h"
#include "process_suites.h"
#include "process_words.h"

enum { PASSED = 0, FAILED = 1, NO_RIGHTS = 77 };

/// Plays in a child with mounts of its own; /etc and /sys are empty.
static void play(void (*work)(void)) {
  int status = -1;
  pid_t child;
  (void)fflush(stdout);
  child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS | (geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0) _exit(NO_RIGHTS);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) _exit(NO_RIGHTS);
    if (mount("none", "/etc", "tmpfs", 0, NULL) != 0 || mount("none", "/sys", "tmpfs", 0, NULL) != 0) _exit(NO_RIGHTS);
    work();
    (void)fflush(stdout);
    _exit(harness_failures() == 0 ? PASSED : FAILED);
  }
  (void)waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_RIGHTS) {
    test_note("    skipped: no right to mounts of its own");
  } else {
    CHECK_NUMBER(status, 0);
  }
}

static char content[1 << 22];

static void put(const char *path, const void *bytes, size_t size) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0);
}

/// F(`pfp1.fact.......`, text).
static void fact_of(uint8_t digest[PFC_DIGEST_BYTES], const char *text, size_t size) {
  struct pfp_transcript transcript;
  const uint8_t length[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16), 0};
  pfp_transcript_init(&transcript, "pfp1.fact.......");
  pfp_transcript_raw(&transcript, length, sizeof length);
  pfp_transcript_raw(&transcript, text, size);
  pfp_transcript_final(digest, &transcript);
}

static void check_fact(uint8_t class_, uint8_t number, const char *name, const char *text, size_t size) {
  uint8_t digest[PFC_DIGEST_BYTES];
  fact_of(digest, text, size);
  evidence_check(class_, number, name, digest, 0, NULL);
}

static struct pfp_process process = {.maps = -1, .pagemap = -1, .status = -1, .initial = -1};

static void take_environment(void) {
  evidence_begin();
  pfp_environment_report(&evidence, &process);
  CHECK_NUMBER(evidence.failed, 0);
}

static void take_device(const char *storage) {
  evidence_begin();
  pfp_device_report(&evidence, storage, &process, 0);
  CHECK_NUMBER(evidence.failed, 0);
}

// The system -----------------------------------------------------------------------------------------------------

/// A file of up to 16,383 bytes. A longer one counts as none.
static void check_release(void) {
  static const size_t SIZES[] = {0, 5, 16383, 16384};
  char usual[16384];
  ssize_t usual_size = pfp_read_file(usual, sizeof usual, "/usr/lib/os-release");
  struct utsname names;
  memset(content, 'r', sizeof content);
  for (size_t i = 0; i < 5; i++) {
    bool there = i < 3;
    test_case("case %zu", i);
    if (i < 4) put("/etc/os-release", content, SIZES[i]);
    if (i == 4) CHECK_NUMBER(unlink("/etc/os-release"), 0);
    take_environment();
    if (there) check_fact(3, 8, "os-release", content, SIZES[i]);
    if (!there && usual_size >= 0) check_fact(3, 8, "os-release", usual, (size_t)usual_size);
    if (!there && usual_size < 0) evidence_check(3, 8, "os-release", NULL, 0, NULL);
    CHECK_NUMBER(uname(&names), 0);
    check_fact(3, 9, "kernel", names.release, strlen(names.release));
    pfp_evidence_free(&evidence);
  }
}

static void check_machine(void) {
  static const struct {
    const char *bytes;
    size_t size, told;
  } CASES[] = {{"abc\n", 4, 3}, {"abc", 3, 3},      {"abc \n\n", 6, 3}, {"abc\0\n", 5, 3}, {" a b\n", 5, 4},
               {"a", 1, 1},     {"abc\n\t", 5, 5}, {"\n", 1, 0},       {"", 0, 0}};
  take_device(NULL);
  evidence_check(1, 1, "machine-id", NULL, 0, "cannot be read");
  pfp_evidence_free(&evidence);
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    test_case("case %zu", i);
    put("/etc/machine-id", CASES[i].bytes, CASES[i].size);
    take_device(NULL);
    if (CASES[i].told != 0) check_fact(1, 1, "machine-id", CASES[i].bytes, CASES[i].told);
    if (CASES[i].told == 0) evidence_check(1, 1, "machine-id", NULL, 0, "cannot be read");
    pfp_evidence_free(&evidence);
  }
  memset(content, 'm', sizeof content);
  for (size_t size = 16383; size <= 16384; size++) {
    test_case("%zu bytes", size);
    put("/etc/machine-id", content, size);
    take_device(NULL);
    if (size == 16383) check_fact(1, 1, "machine-id", content, size);
    if (size == 16384) evidence_check(1, 1, "machine-id", NULL, 0, "cannot be read");
    pfp_evidence_free(&evidence);
  }
}

static void check_serials(void) {
  CHECK(mkdir("/sys/class", 0755) == 0 && mkdir("/sys/class/dmi", 0755) == 0 && mkdir("/sys/class/dmi/id", 0755) == 0);
  put("/sys/class/dmi/id/board_serial", "B-1 \n", 5);
  put("/sys/class/dmi/id/product_serial", "\n", 1);
  put("/sys/class/dmi/id/product_uuid", "U-2", 3);
  take_device(NULL);
  check_fact(1, 3, "board serial", "B-1", 3);
  evidence_check(1, 3, "product serial", NULL, 0, "cannot be read");
  check_fact(1, 3, "product uuid", "U-2", 3);
  if (access("/proc/device-tree/serial-number", F_OK) != 0) {
    evidence_check(1, 3, "device-tree serial", NULL, 0, "cannot be read");
  }
  pfp_evidence_free(&evidence);
}

/// The record of the first processor: these lines, or absent.
static void check_processor(const char *text, size_t size, const char *told, size_t told_size) {
  put("/etc/cpuinfo", text, size);
  take_device(NULL);
  if (told_size != 0) check_fact(1, 2, "processor", told, told_size);
  if (told_size == 0) evidence_check(1, 2, "processor", NULL, 0, NULL);
  CHECK_NUMBER(process.knows_processor, told_size != 0);
  pfp_evidence_free(&evidence);
}

/// Lines whose whole name is one of the page's, up to the first blank line; at most 16 KiB of them.
static void check_processors(void) {
  static const char TEXT[] =
      "processor\t: 0\nvendor_id\t: V\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: M  \nmodelx\t: 1\n"
      "model namex: 1\nxmodel: 1\nstepping: 3\nmodel without a colon\nCPU part\t: 0xd0c\nflags\t: a\nSerial : 9\n"
      "cpu MHz\t: 1\ncpu\t: P\nmachine\t: X\n\nvendor_id\t: second\n";
  static const char TOLD[] = "vendor_id\t: V\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: M\nstepping: 3\n"
                             "CPU part\t: 0xd0c\nSerial : 9\ncpu\t: P\nmachine\t: X\n";
  put("/etc/cpuinfo", "", 0);
  if (!CHECK_NUMBER(mount("/etc/cpuinfo", "/proc/cpuinfo", NULL, MS_BIND, NULL), 0)) return;
  check_processor(TEXT, sizeof TEXT - 1, TOLD, sizeof TOLD - 1);
  test_case("none");
  check_processor("\nvendor_id\t: V\n", 15, "", 0);
  check_processor("flags: a\n", 9, "", 0);
  check_processor("", 0, "", 0);
  test_case("a last line without its end");
  check_processor("cpu: P", 6, "cpu: P\n", 7);
  test_case("many");
  for (size_t i = 0; i < 130; i++) {
    (void)snprintf(content + 128 * i, sizeof content - 128 * i, "vendor_id: %0116zu\n", i);
  }
  check_processor(content, 128 * 127, content, 128 * 127);
  check_processor(content, 128 * 130, content, 128 * 128);
}

// Preloading -----------------------------------------------------------------------------------------------------

/// u64(1), and the content as a text: a file that says "none" is not no file.
static void check_preload(void) {
  static const size_t SIZES[] = {0, 4, (1 << 21) - 1, 1 << 21};
  take_environment();
  check_fact(3, 2, "ld.so.preload", "none", 4);
  pfp_evidence_free(&evidence);
  memset(content, '#', sizeof content);
  memcpy(content, "none", 4);
  for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
    struct pfp_transcript transcript;
    uint8_t digest[PFC_DIGEST_BYTES];
    test_case("%zu bytes", SIZES[i]);
    put("/etc/ld.so.preload", content, SIZES[i]);
    pfp_transcript_init(&transcript, "pfp1.fact.......");
    pfp_transcript_number(&transcript, 1);
    pfp_transcript_add(&transcript, content, SIZES[i]);
    pfp_transcript_final(digest, &transcript);
    take_environment();
    evidence_check(3, 2, "ld.so.preload", i < 3 ? digest : NULL, 1, "exists");
    pfp_evidence_free(&evidence);
  }
}

static void an_empty_environment_is_read(void) {
  uint8_t digest[PFC_DIGEST_BYTES];
  process.initial = memfd_create("environ", MFD_CLOEXEC);
  take_environment();
  pfp_variables_report(&evidence, &process);
  page_begin();
  page_number(0);
  page_number(0);
  page_digest(digest, "pfp1.fact.......");
  evidence_check(3, 2, "LD_AUDIT", digest, 0, NULL);
  CHECK_NUMBER(evidence_record(3, 10, "variables")->present, 1);
  pfp_evidence_free(&evidence);
  (void)close(process.initial);
  process.initial = -1;
}

/// The first environment has room for two bytes less than 2 MiB.
static void long_environments_are_read_or_absent(void) {
  static const char END[] = "\0LUA_PATH=l\0LD_PRELOAD=p";
  for (size_t size = (1 << 21) - 2; size < 1 << 21; size++) {
    uint8_t digest[PFC_DIGEST_BYTES];
    test_case("%zu bytes", size);
    memset(content, 'e', sizeof content);
    memcpy(content + size - sizeof END + 1, END, sizeof END - 1);
    process.initial = memfd_create("environ", MFD_CLOEXEC);
    CHECK(write(process.initial, content, size) == (ssize_t)size);
    take_environment();
    pfp_variables_report(&evidence, &process);
    if (size == (1 << 21) - 2) {
      page_begin();
      page_number(1);
      page_text("p");
      page_number(0);
      page_digest(digest, "pfp1.fact.......");
      evidence_check(3, 2, "LD_PRELOAD", digest, 1, "is set");
      page_begin();
      page_text("LUA_PATH");
      page_number(1);
      page_text("l");
      page_number(0);
      page_number(1);
      page_digest(digest, "pfp1.variables..");
      evidence_check(3, 10, "variables", digest, 0, "LUA_PATH is set");
    } else {
      evidence_check(3, 2, "LD_PRELOAD", NULL, 0, NULL);
      evidence_check(3, 10, "variables", NULL, 0, NULL);
    }
    pfp_evidence_free(&evidence);
    (void)close(process.initial);
    process.initial = -1;
  }
}

// Views ----------------------------------------------------------------------------------------------------------

/// The processor says that it is QEMU's translator.
static bool is_translated(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  __cpuid(1u, a, b, c, d);
  if ((c & 0x80000000u) == 0) return false;
  __cpuid(0x40000000u, a, b, c, d);
  return b == 0x54474354u && c == 0x43544743u && d == 0x47435447u;
#else
  return false;
#endif
}

static void no_instrument_is_none(void) {
  take_environment();
  if (is_translated()) {
    uint8_t digest[PFC_DIGEST_BYTES];
    fact_of(digest, "qemu", 4);
    evidence_check(3, 7, "translator", digest, 1, "the processor is emulated by QEMU");
  } else {
    check_fact(3, 7, "translator", "none", 4);
  }
  check_fact(3, 7, "valgrind", "none", 4);
  check_fact(3, 7, "views", "agree", 5);
  pfp_evidence_free(&evidence);
}

/// Mounts over the very name, be it a link's.
static bool put_over(const char *what, const char *where) {
  int tree = (int)syscall(SYS_open_tree, AT_FDCWD, what, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
  return CHECK(tree >= 0) && CHECK(syscall(SYS_move_mount, tree, "", AT_FDCWD, where, MOVE_MOUNT_F_EMPTY_PATH) == 0);
}

/// Another link over the second path to this program: the same words, one byte of them less, or the last one another.
static void check_views(void) {
  char own[4096], link[128], where[64];
  const ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
  if (!CHECK(size > 0)) return;
  (void)snprintf(where, sizeof where, "/proc/%d/task/%d/exe", (int)getpid(), (int)gettid());
  for (unsigned how = 0; how < 3; how++) {
    uint8_t digest[PFC_DIGEST_BYTES];
    test_case("how %u", how);
    (void)snprintf(link, sizeof link, "%s/link-%u", place.folder, how);
    own[size] = 0;
    if (how == 1) own[size - 1] = 0;
    if (how == 2) own[size - 1] = '-';
    if (!CHECK_NUMBER(symlink(own, link), 0) || !put_over(link, where)) return;
    if (how == 1) CHECK_NUMBER(readlink("/proc/self/exe", own, sizeof own - 1), size);
    take_environment();
    fact_of(digest, how == 0 ? "agree" : "differ", how == 0 ? 5 : 6);
    evidence_check(3, 7, "views", digest, how != 0, how == 0 ? NULL : "the program runs inside another program");
    pfp_evidence_free(&evidence);
    CHECK_NUMBER(umount2(where, MNT_DETACH | UMOUNT_NOFOLLOW), 0);
  }
  test_case("no second link");
  (void)snprintf(link, sizeof link, "%s/no-link", place.folder);
  put(link, "", 0);
  if (!put_over(link, where)) return;
  take_environment();
  evidence_check(3, 7, "views", NULL, 0, NULL);
  pfp_evidence_free(&evidence);
  CHECK_NUMBER(umount2(where, MNT_DETACH | UMOUNT_NOFOLLOW), 0);
  test_case("no second view of mappings");
  (void)snprintf(where, sizeof where, "/proc/%d/task/%d/maps", (int)getpid(), (int)gettid());
  (void)snprintf(link, sizeof link, "%s/maps", place.folder);
  put(link, "", 0);
  if (!put_over(link, where)) return;
  take_environment();
  evidence_check(3, 7, "views", NULL, 0, NULL);
  pfp_evidence_free(&evidence);
}

static uint64_t rights;

/// PROCMAP_QUERY: a mapping over every address, with these rights.
static int answer_rights(unsigned long request, void *argument) {
  CHECK_COUNT(request, 0xC0686611);
  put64((uint8_t *)argument + 32, UINT64_MAX);
  put64((uint8_t *)argument + 40, rights);
  return 0;
}

/// In the second view this program's own code must be executable.
static void the_second_view_has_this_programs_code(void) {
  kernel_answers = answer_rights;
  for (rights = 0; rights < 8; rights++) {
    uint8_t digest[PFC_DIGEST_BYTES];
    const bool agree = (rights & 4) != 0;
    test_case("rights %u", (unsigned)rights);
    take_environment();
    fact_of(digest, agree ? "agree" : "differ", agree ? 5 : 6);
    evidence_check(3, 7, "views", digest, !agree, agree ? NULL : "the program runs inside another program");
    pfp_evidence_free(&evidence);
  }
  kernel_answers = NULL;
}

// The secret -----------------------------------------------------------------------------------------------------

static void a_secret_is_told_by_its_bytes_or_why_not(void) {
  uint8_t secret[PFP_SECRET_BYTES];
  char path[160];
  REQUIRE(place_begin());
  (void)snprintf(path, sizeof path, "%s/device-secret", place.storage);
  test_case("there");
  CHECK_NUMBER(pfp_read_file(content, 33, path), 32);
  memcpy(secret, content, sizeof secret);
  take_device(place.storage);
  check_fact(1, 5, "secret", (const char *)secret, sizeof secret);
  pfp_evidence_free(&evidence);
  test_case("open to others");
  CHECK_NUMBER(chmod(place.storage, 0710), 0);
  take_device(place.storage);
  evidence_check(1, 5, "secret", NULL, 1, "is open to others");
  pfp_evidence_free(&evidence);
  test_case("too short");
  CHECK(chmod(place.storage, 0700) == 0 && truncate(path, 31) == 0);
  take_device(place.storage);
  evidence_check(1, 5, "secret", NULL, 0, "cannot be read");
  pfp_evidence_free(&evidence);
  test_case("gone");
  CHECK_NUMBER(unlink(path), 0);
  take_device(place.storage);
  evidence_check(1, 5, "secret", NULL, 1, "is not there");
  pfp_evidence_free(&evidence);
  test_case("no storage");
  take_device(NULL);
  evidence_check(1, 5, "secret", NULL, 1, "is not there");
  pfp_evidence_free(&evidence);
  place_finish();
}

// Records --------------------------------------------------------------------------------------------------------

static void two_records_are_sorted(void) {
  evidence_begin();
  CHECK(pfp_evidence_add(&evidence, 2, 4, "b", NULL) != NULL && pfp_evidence_add(&evidence, 2, 4, "a", NULL) != NULL);
  pfp_evidence_sort(&evidence);
  CHECK(strcmp(evidence.records[0]->name, "a") == 0 && strcmp(evidence.records[1]->name, "b") == 0);
  pfp_evidence_free(&evidence);
}

static void note_twice(void) {
  struct pfp_record *record;
  evidence_begin();
  record = pfp_evidence_add(&evidence, 2, 4, "sdk", NULL);
  pfp_record_note(record, 0, "%s", "words that are longer than any small room has");
  pfp_record_note(record, 1, "%s", "others that are longer than any small room has");
  pfp_evidence_free(&evidence);
}

static void words_leave_nothing_behind(void) { CHECK_COUNT(made_left(note_twice), 0); }

static void releases_are_files_of_the_system(void) { play(check_release); }
static void a_machine_is_told_without_its_end(void) { play(check_machine); }
static void serials_are_files_of_the_board(void) { play(check_serials); }
static void a_processor_is_told_by_its_lines(void) { play(check_processors); }
static void a_preload_file_is_told_by_its_content(void) { play(check_preload); }

static void two_views_must_agree(void) {
  REQUIRE(place_begin());
  play(check_views);
  place_finish();
}

static const struct test tests[] = {
    TEST("the system's release is one of two files, and the kernel's is its own", releases_are_files_of_the_system),
    TEST("a machine's text has no blanks at its end, and is not empty", a_machine_is_told_without_its_end),
    TEST("serials are files of the board", serials_are_files_of_the_board),
    TEST("a processor is told by its lines, and no other", a_processor_is_told_by_its_lines),
    TEST("a preload file is told by its content", a_preload_file_is_told_by_its_content),
    TEST("an empty environment is read", an_empty_environment_is_read),
    TEST("an environment of 2 MiB is read or absent", long_environments_are_read_or_absent),
    TEST("no instrument is told where there is none", no_instrument_is_none),
    TEST("two views of the program must agree", two_views_must_agree),
    TEST("the second view has this program's code", the_second_view_has_this_programs_code),
    TEST("a secret is told by its bytes, or why it is not", a_secret_is_told_by_its_bytes_or_why_not),
    TEST("two records are sorted", two_records_are_sorted),
    TEST("words of a record leave no memory behind", words_leave_nothing_behind),
};

const struct suite process_places_suite = SUITE("places", tests);
