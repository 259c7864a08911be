// SPDX-License-Identifier: Apache-2.0

/// Questions about mappings and pages, and the kernel's answers: as in the kernel's linux/fs.h, byte by byte, and in
/// the files of /proc where it has no answer.

#define _GNU_SOURCE
#include "process_kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/process.h"
#include "probe_result.h"
#include "process_place.h"
#include "process_suites.h"

enum { PAGE = 4096, TIMES = 20 };

/// Errors of the first calls; 0: an answer.
static int errors[TIMES];
static unsigned calls;

static int next_error(void) { return calls < TIMES ? errors[calls++] : 0; }

static void begin(int (*answers)(unsigned long request, void *argument)) {
  memset(errors, 0, sizeof errors);
  calls = 0;
  kernel_answers = answers;
}

static void end(void) { kernel_answers = NULL; }

static int fail(int error) {
  errno = error;
  return -1;
}

// Mappings -------------------------------------------------------------------------------------------------------

static const struct {
  uint64_t start, end, flags, offset, inode;
  uint32_t major, minor;
  const char *name;
} MAPS[] = {{0x10000, 0x13000, 1 | 0x10, 0, 0, 0, 0, NULL},
            {0x13000, 0x14000, 15 | 0x40, 0x102000, 4711, 0xFE, 0x1A, "/a folder/lib b.so (deleted)"},
            {0x7FFF00000000, 0x7FFF00001000, 4, 0x7FFFFFFFF000, 4294967297, 8, 1, "[x]"}};
enum { COUNT = sizeof MAPS / sizeof MAPS[0] };

/// The second answer is again the first mapping: the kernel does not go on.
static bool repeats;

/// PROCMAP_QUERY: 104 bytes.
static int answer_query(unsigned long request, void *argument) {
  uint8_t *query = argument;
  const uint64_t address = get64(query + 16), flags = get64(query + 8);
  int error = next_error();
  if (error != 0) return fail(error);
  CHECK_COUNT(request, 0xC0686611);
  CHECK_COUNT(get64(query), 104);
  CHECK_COUNT(get32(query + 84), 0);
  CHECK(flags == 0x10 || flags == 0);
  for (size_t i = 0; i < COUNT; i++) {
    const size_t size = MAPS[i].name != NULL ? strlen(MAPS[i].name) + 1 : 0;
    if (!repeats && (MAPS[i].end <= address || (flags == 0 && MAPS[i].start > address))) continue;
    put64(query + 24, MAPS[i].start);
    put64(query + 32, MAPS[i].end);
    put64(query + 40, MAPS[i].flags);
    put64(query + 48, 77);
    put64(query + 56, MAPS[i].offset);
    put64(query + 64, MAPS[i].inode);
    put32(query + 72, MAPS[i].major);
    put32(query + 76, MAPS[i].minor);
    if (flags == 0x10) {
      CHECK_NUMBER(get32(query + 80), 4096);
      if (size != 0) memcpy((void *)(uintptr_t)get64(query + 88), MAPS[i].name, size);
      put32(query + 80, (uint32_t)size);
    } else {
      CHECK_NUMBER(get32(query + 80), 0);
    }
    return 0;
  }
  return fail(ENOENT);
}

/// A file with this text, in place of /proc/self/maps.
static struct pfp_process process_of(const char *text) {
  struct pfp_process process = {.maps = memfd_create("maps", MFD_CLOEXEC), .pagemap = -1, .status = -1, .initial = -1};
  CHECK(process.maps >= 0 && write(process.maps, text, strlen(text)) == (ssize_t)strlen(text));
  return process;
}

static const char TEXT[] = "00020000-00021000 r--p 00000000 00:00 0 text\n";

static void check_mapping(const struct pfp_mapping *is, size_t i) {
  test_case("mapping %zu", i);
  CHECK_COUNT(is->start, MAPS[i].start);
  CHECK_COUNT(is->end, MAPS[i].end);
  CHECK_COUNT(is->offset, MAPS[i].offset);
  CHECK_COUNT(is->inode, MAPS[i].inode);
  CHECK_COUNT(is->device, (uint64_t)MAPS[i].major << 32 | MAPS[i].minor);
  CHECK_NUMBER(is->flags, MAPS[i].flags & 15);
}

/// All mappings of the answers, or the one of the text.
static void check_read(bool answered) {
  struct pfp_process process = process_of(TEXT);
  struct pfp_mappings mappings;
  REQUIRE(CHECK_NUMBER(pfp_mappings_read(&mappings, &process), PFP_OK));
  CHECK_COUNT(mappings.count, answered ? COUNT : 1);
  for (size_t i = 0; answered && i < COUNT && i < mappings.count; i++) {
    check_mapping(&mappings.items[i], i);
    CHECK(strcmp(mappings.names + mappings.items[i].name, MAPS[i].name != NULL ? MAPS[i].name : "") == 0);
  }
  if (!answered) CHECK(strcmp(mappings.names + mappings.items[0].name, "text") == 0);
  pfp_mappings_free(&mappings);
  pfp_process_close(&process);
}

static void mappings_are_asked_for_one_after_the_other(void) {
  begin(answer_query);
  check_read(true);
  CHECK_NUMBER(calls, COUNT + 1);
  test_case("interrupted");
  begin(answer_query);
  for (size_t i = 0; i < 8; i += 2) errors[i] = EINTR;
  check_read(true);
  CHECK_NUMBER(calls, 2 * (COUNT + 1));
  end();
}

/// Where the kernel does not know the question, or its answers end in the middle, the text tells all of them.
static void the_text_is_read_where_answers_fail(void) {
  static const int ERRORS[] = {ENOTTY, ENOENT, EINVAL, EIO};
  for (size_t i = 0; i < sizeof ERRORS / sizeof ERRORS[0]; i++) {
    test_case("first, error %d", ERRORS[i]);
    begin(answer_query);
    errors[0] = ERRORS[i];
    check_read(false);
    if (ERRORS[i] == ENOENT) continue;
    for (size_t later = 1; later <= COUNT; later++) {
      test_case("call %zu, error %d", later, ERRORS[i]);
      begin(answer_query);
      errors[later] = ERRORS[i];
      check_read(false);
    }
  }
  test_case("no progress");
  begin(answer_query);
  repeats = true;
  check_read(false);
  CHECK_NUMBER(calls, 2);
  repeats = false;
  end();
}

static void one_mapping_is_one_question(void) {
  struct pfp_process process = process_of(TEXT);
  struct pfp_mapping mapping;
  for (size_t i = 0; i < COUNT; i++) {
    begin(answer_query);
    CHECK_NUMBER(pfp_mapping_ask(&mapping, MAPS[i].start, &process), 1);
    CHECK_NUMBER(calls, 1);
    check_mapping(&mapping, i);
    CHECK_NUMBER(pfp_mapping_ask(&mapping, MAPS[i].end - 1, &process), 1);
    check_mapping(&mapping, i);
  }
  test_case("none");
  CHECK_NUMBER(pfp_mapping_ask(&mapping, 0xFFFF, &process), 0);
  CHECK_COUNT(mapping.end, 0);
  test_case("no question");
  process.no_query = 1;
  CHECK_NUMBER(pfp_mapping_ask(&mapping, MAPS[0].start, &process), 0);
  CHECK_NUMBER(pfp_mapping_ask(&mapping, 0x20000, &process), 1);
  CHECK_COUNT(mapping.end, 0x21000);
  end();
  pfp_process_close(&process);
}

/// A last line without its end is no line; a file that cannot be read is none.
static void text_ends_with_a_line(void) {
  struct pfp_process process = process_of("00001000-00002000 r--p 00000000 00:00 0 \n00002000-00003000 r--p 00000");
  struct pfp_mappings mappings;
  process.no_query = 1;
  CHECK_NUMBER(pfp_mappings_read(&mappings, &process), PFP_OK);
  CHECK_COUNT(mappings.count, 1);
  pfp_mappings_free(&mappings);
  (void)close(process.maps);
  process.maps = open("/dev/null", O_WRONLY | O_CLOEXEC);
  CHECK_NUMBER(pfp_mappings_read(&mappings, &process), PFP_E_UNREADABLE);
  CHECK(mappings.items == NULL && mappings.names == NULL);
  pfp_process_close(&process);
}

// Identities -----------------------------------------------------------------------------------------------------

static unsigned mappings_of(const struct pfp_process *process, uint64_t inode) {
  struct pfp_mappings mappings;
  unsigned count = 0;
  if (!CHECK_NUMBER(pfp_mappings_read(&mappings, process), PFP_OK)) return 99;
  for (size_t i = 0; i < mappings.count; i++) count += mappings.items[i].inode == inode;
  pfp_mappings_free(&mappings);
  return count;
}

static void a_file_is_identified_by_its_mapping(void) {
  struct pfp_process process = {0}, elsewhere = process_of(TEXT);
  struct pfp_mapping own;
  uint64_t device = 0, inode = 0;
  char path[160];
  void *bytes;
  int file;
  REQUIRE(place_begin());
  (void)snprintf(path, sizeof path, "%s/one", place.bundle);
  file = open(path, O_RDONLY | O_CLOEXEC);
  bytes = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0);
  CHECK(pfp_process_open(&process) == 0 && file >= 0 && bytes != MAP_FAILED && close(file) == 0);
  CHECK_NUMBER(pfp_mapping_ask(&own, (uintptr_t)bytes, &process), 1);
  CHECK(munmap(bytes, PAGE) == 0 && own.inode != 0);
  CHECK_NUMBER(pfp_mapped_identity(&device, &inode, path, &process), PFP_OK);
  CHECK_COUNT(inode, own.inode);
  CHECK_COUNT(device, own.device);
  CHECK_NUMBER(mappings_of(&process, inode), 0);
  CHECK_NUMBER(pfp_mapped_identity(&device, &inode, place.bundle, &process), PFP_E_UNREADABLE);
  CHECK_NUMBER(pfp_mapped_identity(&device, &inode, "/no-such-file", &process), PFP_E_UNREADABLE);
  // Where no mapping is told, or none can be read.
  elsewhere.no_query = 1;
  CHECK_NUMBER(pfp_mapped_identity(&device, &inode, path, &elsewhere), PFP_E_UNREADABLE);
  pfp_process_close(&elsewhere);
  CHECK_NUMBER(pfp_mapped_identity(&device, &inode, path, &elsewhere), PFP_E_UNREADABLE);
  CHECK_COUNT(inode, own.inode);
  pfp_process_close(&process);
  place_finish();
}

// Pages ----------------------------------------------------------------------------------------------------------

enum { BASE = 0x100000, END = BASE + 100 * PAGE };
static uint64_t walk_ends[TIMES];
static bool is_empty;

/// PAGEMAP_SCAN: 96 bytes. Two regions of two pages and one page at first, then one of three pages.
static int answer_scan(unsigned long request, void *argument) {
  static const uint64_t WANTED[12] = {96, 0, 0, END, 0, 0, 64, 0, 4, 4, 0x18, 0x1C};
  static const uint64_t REGIONS[2][4] = {{BASE, BASE + 2 * PAGE, BASE + 5 * PAGE, BASE + 6 * PAGE},
                                         {BASE + 20 * PAGE, BASE + 23 * PAGE, 0, 0}};
  uint8_t *scan = argument, *regions = (uint8_t *)(uintptr_t)get64(scan + 40);
  int error = next_error();
  const unsigned turn = get64(scan + 16) != BASE;
  if (error != 0) return fail(error);
  CHECK_COUNT(request, 0xC0606610);
  for (size_t i = 0; i < 12; i++) {
    if (i != 2 && i != 4 && i != 5) CHECK_COUNT(get64(scan + 8 * i), WANTED[i]);
  }
  if (turn == 1) CHECK_COUNT(get64(scan + 16), walk_ends[0]);
  for (size_t i = 0; i < 2; i++) {
    put64(regions + 24 * i, REGIONS[turn][2 * i]);
    put64(regions + 24 * i + 8, REGIONS[turn][2 * i + 1]);
    put64(regions + 24 * i + 16, 8);
  }
  put64(scan + 32, walk_ends[turn]);
  return is_empty ? 0 : turn == 0 ? 2 : 1;
}

/// A pagemap file with these entries from BASE on.
static struct pfp_process pagemap_of(const uint64_t *entries, size_t count) {
  struct pfp_process process = {.maps = -1, .pagemap = memfd_create("pagemap", MFD_CLOEXEC), .status = -1,
                                .initial = -1};
  CHECK(process.pagemap >= 0);
  CHECK_NUMBER(pwrite(process.pagemap, entries, 8 * count, BASE / PAGE * 8), 8 * count);
  return process;
}

static void pages_are_scanned_to_the_end(void) {
  struct pfp_process process = pagemap_of((const uint64_t[]){UINT64_C(1) << 63}, 1);
  begin(answer_scan);
  walk_ends[0] = BASE + 10 * PAGE;
  walk_ends[1] = END;
  CHECK_NUMBER(pfp_pages_private(BASE, END, &process), 6);
  CHECK_NUMBER(calls, 2);
  test_case("interrupted");
  begin(answer_scan);
  errors[0] = errors[1] = errors[3] = EINTR;
  CHECK_NUMBER(pfp_pages_private(BASE, END, &process), 6);
  CHECK_NUMBER(calls, 5);
  test_case("no progress");
  begin(answer_scan);
  walk_ends[0] = BASE;
  CHECK_NUMBER(pfp_pages_private(BASE, END, &process), 3);
  CHECK_NUMBER(calls, 1);
  test_case("nothing");
  CHECK_NUMBER(pfp_pages_private(BASE, BASE, &process), 0);
  CHECK_NUMBER(calls, 1);
  test_case("no region, after an interruption");
  begin(answer_scan);
  errors[0] = EINTR;
  is_empty = true;
  walk_ends[0] = END;
  CHECK_NUMBER(pfp_pages_private(BASE, END, &process), 0);
  CHECK_NUMBER(calls, 2);
  is_empty = false;
  end();
  pfp_process_close(&process);
}

/// Present or swapped, and not the file's.
static void entries_tell_of_private_pages(void) {
  static const struct {
    uint64_t bits;
    long pages;
  } CASES[] = {{0, 0}, {UINT64_C(1) << 63, 1}, {UINT64_C(1) << 62, 1}, {UINT64_C(3) << 62, 1},
               {UINT64_C(5) << 61, 0}, {UINT64_C(3) << 61, 0}, {UINT64_C(1) << 61, 0}, {(UINT64_C(1) << 61) - 1, 0}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    struct pfp_process process = pagemap_of(&CASES[i].bits, 1);
    test_case("case %zu", i);
    process.no_query = 1;
    CHECK_NUMBER(pfp_pages_private(BASE, BASE + PAGE, &process), CASES[i].pages);
    // A kernel without the question.
    process.no_query = 0;
    begin(answer_scan);
    errors[0] = ENOTTY;
    CHECK_NUMBER(pfp_pages_private(BASE, BASE + PAGE, &process), CASES[i].pages);
    end();
    // The file ends before the second page.
    CHECK_NUMBER(pfp_pages_private(BASE, BASE + 2 * PAGE, &process), -1);
    pfp_process_close(&process);
  }
}

/// More than one question has room for, in both ways: every other page of a file's mapping is written to.
static void many_pages_are_all_counted(void) {
  enum { MANY = 1300 };
  struct pfp_process process = {0};
  char path[160];
  uint8_t *bytes;
  int file;
  REQUIRE(place_begin());
  (void)snprintf(path, sizeof path, "%s/one", place.bundle);
  file = open(path, O_RDWR | O_CLOEXEC);
  CHECK(file >= 0 && ftruncate(file, MANY * PAGE) == 0);
  bytes = mmap(NULL, MANY * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  REQUIRE(CHECK(bytes != MAP_FAILED));
  for (size_t i = 0; i < MANY; i += 2) bytes[i * PAGE] = 1;
  CHECK_NUMBER(pfp_process_open(&process), 0);
  for (process.no_query = 0; process.no_query < 2; process.no_query++) {
    test_case("no_query %d", process.no_query);
    CHECK_NUMBER(pfp_pages_private((uintptr_t)bytes, (uintptr_t)bytes + MANY * PAGE, &process), MANY / 2);
    CHECK_NUMBER(pfp_pages_private((uintptr_t)bytes + PAGE, (uintptr_t)bytes + 513 * PAGE, &process), 256);
    CHECK_NUMBER(pfp_pages_private((uintptr_t)bytes + PAGE, (uintptr_t)bytes + 514 * PAGE, &process), 256);
  }
  pfp_process_close(&process);
  (void)munmap(bytes, MANY * PAGE);
  (void)close(file);
  place_finish();
}

// Files ----------------------------------------------------------------------------------------------------------

/// Reads at most one byte less than there is room for: a full room may have been too small.
static void a_file_is_read_whole_or_not(void) {
  char bytes[16], path[160], fifo[160];
  REQUIRE(place_begin());
  (void)snprintf(path, sizeof path, "%s/one", place.bundle);
  (void)snprintf(fifo, sizeof fifo, "%s/fifo", place.folder);
  place_write("one", "0123456789");
  memset(bytes, 'x', sizeof bytes);
  CHECK_NUMBER(pfp_read_file(bytes, 11, path), 10);
  CHECK_BYTES(bytes, "0123456789xxxxxx", sizeof bytes);
  errno = 0;
  CHECK_NUMBER(pfp_read_file(bytes, 10, path), -1);
  CHECK_NUMBER(errno, EFBIG);
  CHECK_NUMBER(pfp_read_file(bytes, 11, "/no-such-file"), -1);
  CHECK_NUMBER(errno, ENOENT);
  CHECK_NUMBER(pfp_read_file(bytes, 11, place.bundle), -1);
  CHECK_NUMBER(errno, EISDIR);
  CHECK_NUMBER(mkfifo(fifo, 0600), 0);
  CHECK_NUMBER(pfp_read_file(bytes, 11, fifo), -1);
  CHECK_NUMBER(errno, ESPIPE);
  CHECK_NUMBER(pfp_read_descriptor(bytes, 11, -1), -1);
  CHECK_NUMBER(errno, EBADF);
  place_write("one", "");
  CHECK_NUMBER(pfp_read_file(bytes, 1, path), 0);
  place_finish();
}

/// A child opens its own descriptors, and asks as its parent did.
static void a_process_renews_what_another_one_opened(void) {
  struct pfp_process process = {0};
  int maps;
  CHECK_NUMBER(pfp_process_open(&process), 0);
  CHECK_NUMBER(process.owner, getpid());
  process.no_query = 1;
  process.cache = calloc(1, sizeof *process.cache);
  process.cache_count = 1;
  maps = process.maps;
  CHECK_NUMBER(pfp_process_renew(&process), 0);
  CHECK(process.maps == maps && process.cache_count == 1);
  process.owner = 1;
  CHECK_NUMBER(pfp_process_renew(&process), 0);
  CHECK_NUMBER(process.owner, getpid());
  CHECK_NUMBER(process.no_query, 1);
  CHECK(process.cache == NULL && process.cache_count == 0);
  CHECK(process.maps >= 0 && process.pagemap >= 0 && process.status >= 0 && process.initial >= 0);
  pfp_process_close(&process);
  CHECK(process.maps == -1 && process.pagemap == -1 && process.status == -1 && process.initial == -1);
  CHECK(fcntl(maps, F_GETFD) == -1 && errno == EBADF);
}

static const struct test tests[] = {
    TEST("mappings are asked for, one after the other", mappings_are_asked_for_one_after_the_other),
    TEST("the text of mappings is read where an answer fails", the_text_is_read_where_answers_fail),
    TEST("one mapping is one question", one_mapping_is_one_question),
    TEST("the text of mappings ends with a line", text_ends_with_a_line),
    TEST("a file is identified by its mapping, of which nothing is left", a_file_is_identified_by_its_mapping),
    TEST("pages are scanned to the end", pages_are_scanned_to_the_end),
    TEST("an entry tells of a private page if it is there and not the file's", entries_tell_of_private_pages),
    TEST("many pages are all counted", many_pages_are_all_counted),
    TEST("a file is read whole or not at all", a_file_is_read_whole_or_not),
    TEST("a process renews what another one opened", a_process_renews_what_another_one_opened),
};

const struct suite process_kernel_suite = SUITE("kernel's answers", tests);
