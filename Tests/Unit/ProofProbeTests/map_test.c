// SPDX-License-Identifier: Apache-2.0

/// Mapped files: pages that are gone read as zeros, and every other SIGBUS stays the process's.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/platform.h"
#include "probe_suites.h"
#include "tree.h"
#include "wrapped.h"

enum { PAGE = 4096, GUARDS = 16 };

/// Called once, when the next file is mapped.
static void (*while_mapping)(void);

WRAPPED(void *, mmap, void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  void (*now)(void) = fd >= 0 ? while_mapping : NULL;
  if (now != NULL) {
    while_mapping = NULL;
    now();
  }
  return __real_mmap(address, size, protection, flags, fd, offset);
}

/// A file of so many pages of one byte value each, mapped.
struct mapped {
  struct tree tree;
  struct pfp_map map;
  int fd;
};

static struct mapped map_pages(unsigned pages, uint64_t size) {
  struct mapped mapped = {.tree = tree_make()};
  char *bytes = malloc((size_t)pages * PAGE);
  if (bytes == NULL) abort();
  memset(bytes, 'p', (size_t)pages * PAGE);
  tree_file(&mapped.tree, "file", bytes, (size_t)pages * PAGE);
  free(bytes);
  mapped.fd = open(tree_path(&mapped.tree, "file"), O_RDWR | O_CLOEXEC);
  faults_reset();
  CHECK_NUMBER(pfp_map_begin(&mapped.map, mapped.fd, size), 0);
  return mapped;
}

static void cut(const struct mapped *mapped, off_t size) {
  if (ftruncate(mapped->fd, size) != 0) abort();
}

static void unmap(struct mapped *mapped, bool whole) {
  CHECK(pfp_map_end(&mapped->map) == whole);
  CHECK(mapped->map.bytes == NULL);
  (void)close(mapped->fd);
  tree_drop(&mapped->tree);
}

static uint8_t byte_at(const struct mapped *mapped, size_t offset) {
  return *(const volatile uint8_t *)(mapped->map.bytes + offset);
}

static void gone_pages_read_as_zeros(void) {
  // The file is cut to so many bytes, and one byte is read.
  static const struct {
    off_t left;
    size_t at;
    uint8_t byte;
    bool whole;
  } cases[] = {
      {3 * PAGE, 0, 'p', true},     {3 * PAGE, 3 * PAGE - 1, 'p', true}, {PAGE, PAGE - 1, 'p', true},
      {PAGE, PAGE, 0, false},       {PAGE, 2 * PAGE - 1, 0, false},      {PAGE, 3 * PAGE - 1, 0, false},
      {0, 0, 0, false},             {0, 1234, 0, false},                 {PAGE + 1, PAGE, 'p', true},
      {PAGE + 1, PAGE + 1, 0, true}, {PAGE + 1, 2 * PAGE, 0, false},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct mapped mapped = map_pages(3, 3 * PAGE);
    test_case("cut to %d bytes, byte %zu", (int)cases[i].left, cases[i].at);
    CHECK(pfp_map_whole(&mapped.map));
    cut(&mapped, cases[i].left);
    errno = 77;
    CHECK_NUMBER(byte_at(&mapped, cases[i].at), cases[i].byte);
    CHECK_NUMBER(errno, 77);
    CHECK(pfp_map_whole(&mapped.map) == cases[i].whole);
    unmap(&mapped, cases[i].whole);
  }
}

/// A page of zeros stands in one place: the pages around it are still the file's.
static void one_page_is_replaced(void) {
  struct mapped mapped = map_pages(3, 3 * PAGE);
  cut(&mapped, PAGE);
  CHECK_NUMBER(byte_at(&mapped, PAGE + 100), 0);
  cut(&mapped, 3 * PAGE);
  if (pwrite(mapped.fd, "12345", 5, PAGE - 2) != 5 || pwrite(mapped.fd, "67890", 5, 2 * PAGE) != 5) abort();
  CHECK_NUMBER(byte_at(&mapped, PAGE - 1), '2');
  CHECK_NUMBER(byte_at(&mapped, PAGE), 0);
  CHECK_NUMBER(byte_at(&mapped, 2 * PAGE), '6');
  unmap(&mapped, false);
}

/// The one of two files that was cut is told, before and after the other one's end.
static void each_file_by_itself(void) {
  struct mapped one = map_pages(2, 2 * PAGE), two = map_pages(2, 2 * PAGE);
  cut(&two, 0);
  CHECK_NUMBER(byte_at(&two, 5), 0);
  CHECK(pfp_map_whole(&one.map) && !pfp_map_whole(&two.map));
  unmap(&one, true);
  CHECK_NUMBER(byte_at(&two, PAGE + 5), 0);
  unmap(&two, false);
  // A place that was used before tells nothing of what was there.
  one = map_pages(2, 2 * PAGE);
  two = map_pages(2, 2 * PAGE);
  CHECK(pfp_map_whole(&one.map) && pfp_map_whole(&two.map));
  unmap(&two, true);
  unmap(&one, true);
}

static struct mapped between;

static void map_between(void) { between = map_pages(2, 2 * PAGE); }

/// A file that another thread maps at the same moment has a place of its own.
static void two_at_the_same_moment(void) {
  while_mapping = map_between;
  struct mapped mapped = map_pages(2, 2 * PAGE);
  REQUIRE(CHECK(while_mapping == NULL));
  CHECK(between.map.guard != mapped.map.guard);
  cut(&between, 0);
  CHECK_NUMBER(byte_at(&between, 3), 0);
  unmap(&between, false);
  unmap(&mapped, true);
}

static void sixteen_at_a_time(void) {
  struct mapped mapped[GUARDS];
  struct pfp_map more;
  for (unsigned i = 0; i < GUARDS; i++) mapped[i] = map_pages(1, PAGE);
  CHECK_NUMBER(pfp_map_begin(&more, mapped[0].fd, PAGE), -ENOTSUP);
  unmap(&mapped[7], true);
  mapped[7] = map_pages(1, PAGE);
  CHECK_NUMBER(pfp_map_begin(&more, mapped[0].fd, PAGE), -ENOTSUP);
  for (unsigned i = 0; i < GUARDS; i++) {
    test_case("file %u", i);
    cut(&mapped[i], 0);
    CHECK_NUMBER(byte_at(&mapped[i], i), 0);
    unmap(&mapped[i], false);
  }
}

/// Mappings that fail use up no place, and leave no handler.
static void failures_leave_nothing(void) {
  struct tree tree = tree_make();
  struct sigaction now;
  struct pfp_map map;
  tree_text(&tree, "file", "text");
  int fd = open(tree_path(&tree, "file"), O_RDONLY | O_CLOEXEC);
  faults_reset();
  for (unsigned i = 0; i < 3 * GUARDS; i++) {
    CHECK_NUMBER(pfp_map_begin(&map, fd, 0), -EINVAL);
    CHECK_NUMBER(pfp_map_begin(&map, -1, PAGE), -EBADF);
  }
  REQUIRE(CHECK(sigaction(SIGBUS, NULL, &now) == 0));
  CHECK(now.sa_handler == SIG_DFL);
  CHECK_NUMBER(pfp_map_begin(&map, fd, 4), 0);
  CHECK_BYTES(map.bytes, "text", 4);
  CHECK_COUNT(map.size, 4);
  const void *bytes = map.bytes;
  CHECK(pfp_map_end(&map));
  // Nothing is mapped there any more.
  CHECK(msync((void *)(uintptr_t)bytes, PAGE, MS_ASYNC) != 0 && errno == ENOMEM);
  (void)close(fd);
  tree_drop(&tree);
}

// The handler ----------------------------------------------------------------------------------------------------

static void own_bus(int number) { (void)number; }
static void own_bus_told(int number, siginfo_t *information, void *context) {
  (void)number;
  (void)information;
  (void)context;
}

static bool is_default(void) {
  struct sigaction now;
  return sigaction(SIGBUS, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

static void the_handler_is_there_while_files_are_mapped(void) {
  struct sigaction now;
  CHECK(is_default());
  struct mapped one = map_pages(1, PAGE);
  CHECK(!is_default());
  REQUIRE(CHECK(sigaction(SIGBUS, NULL, &now) == 0));
  CHECK_NUMBER(now.sa_flags & (SA_SIGINFO | SA_ONSTACK), SA_SIGINFO | SA_ONSTACK);
  struct mapped two = map_pages(1, PAGE);
  unmap(&one, true);
  CHECK(!is_default());
  unmap(&two, true);
  CHECK(is_default());
}

/// A handler of either kind that the process installs is left alone, before a mapping and during one.
static void handlers_of_the_process(void) {
  const struct sigaction handlers[] = {{.sa_handler = own_bus},
                                       {.sa_handler = SIG_IGN},
                                       {.sa_sigaction = own_bus_told, .sa_flags = SA_SIGINFO}};
  struct sigaction before, now;
  struct pfp_map map;
  REQUIRE(CHECK(sigaction(SIGBUS, NULL, &before) == 0));
  for (unsigned i = 0; i < 3; i++) {
    struct mapped mapped = map_pages(1, PAGE);
    test_case("handler %u", i);
    CHECK(sigaction(SIGBUS, &handlers[i], NULL) == 0);
    unmap(&mapped, true);
    CHECK(sigaction(SIGBUS, NULL, &now) == 0);
    CHECK(now.sa_handler == handlers[i].sa_handler && (now.sa_flags & SA_SIGINFO) == handlers[i].sa_flags);
    CHECK_NUMBER(pfp_map_begin(&map, 0, PAGE), -ENOTSUP);
    CHECK(sigaction(SIGBUS, NULL, &now) == 0);
    CHECK(now.sa_handler == handlers[i].sa_handler && (now.sa_flags & SA_SIGINFO) == handlers[i].sa_flags);
    CHECK(sigaction(SIGBUS, &before, NULL) == 0);
  }
}

// Other code's SIGBUS ----------------------------------------------------------------------------------------------

enum way { RAISED, SENT, QUEUED, OTHER_FILE, BEHIND_THE_END, WHILE_MAPPING, WAYS };

/// A page of another file that was cut off, at this address or anywhere.
static const volatile uint8_t *other_page(void *address) {
  int fd = memfd_create("other", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, PAGE) != 0) abort();
  void *page = mmap(address, PAGE, PROT_READ, MAP_SHARED | (address != NULL ? MAP_FIXED : 0), fd, 0);
  if (page == MAP_FAILED || ftruncate(fd, 0) != 0) abort();
  return page;
}

/// A page that was free right below another file's.
static const volatile uint8_t *page_behind(struct mapped *mapped) {
  uint8_t *two = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const volatile uint8_t *page = other_page(two + PAGE);
  (void)munmap(two, PAGE);
  // Until the free page is the one that the next mapping gets.
  while (mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != two) continue;
  (void)munmap(two, PAGE);
  CHECK_NUMBER(pfp_map_begin(&mapped->map, mapped->fd, PAGE), 0);
  return mapped->map.bytes == two ? page : NULL;
}

/// A signal that says what a fault says, but for its code.
static void forge(const struct mapped *mapped, int code) {
  siginfo_t information = {.si_signo = SIGBUS, .si_code = code};
  information.si_addr = (void *)(uintptr_t)mapped->map.bytes;
  (void)syscall(SYS_rt_sigqueueinfo, getpid(), SIGBUS, &information);
}

static void read_other_page(void) { _exit(*other_page(NULL) != 0 ? 1 : 2); }

/// All places but one are taken: the last one was never used before.
static void fault_while_mapping(void) {
  for (unsigned i = 2; i < GUARDS; i++) (void)map_pages(1, PAGE);
  while_mapping = read_other_page;
  (void)map_pages(1, PAGE);
}

static bool other_bus(enum way way) {
  struct mapped mapped = map_pages(1, PAGE);
  const volatile uint8_t *page;
  switch (way) {
    case RAISED: (void)raise(SIGBUS); break;
    case SENT: forge(&mapped, SI_USER); break;
    case QUEUED: forge(&mapped, SI_QUEUE); break;
    case OTHER_FILE: return *other_page(NULL) != 0;
    case BEHIND_THE_END:
      (void)pfp_map_end(&mapped.map);
      page = page_behind(&mapped);
      return page == NULL || *page != 0;
    case WHILE_MAPPING: fault_while_mapping(); break;
    case WAYS: break;
  }
  return true;
}

static void other_code_is_killed(void) {
  for (enum way way = RAISED; way < WAYS; way++) {
    int status = 0;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(other_bus(way) ? 1 : 2);
    REQUIRE(CHECK(child > 0 && waitpid(child, &status, 0) == child));
    test_case("way %u", way);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
  }
}

// Memory and processor ---------------------------------------------------------------------------------------------

static void pages_are_zeros(void) {
  faults_reset();
  for (unsigned i = 0; i < 3; i++) {
    uint8_t *pages = pfp_pages(3 * PAGE);
    REQUIRE(CHECK(pages != NULL));
    CHECK_ZEROS(pages, 3 * PAGE);
    memset(pages, 0xEE, 3 * PAGE);
    pfp_pages_free(pages, 3 * PAGE);
    CHECK(msync(pages, 3 * PAGE, MS_ASYNC) != 0 && errno == ENOMEM);
  }
  pfp_pages_free(NULL, PAGE);
  CHECK(pfp_pages(SIZE_MAX / 2) == NULL);
}

/// Pages that are given back are not counted for the process any more.
static void released_pages(void) {
  enum { PAGES = 64 };
  struct mapped mapped = map_pages(PAGES, PAGES * PAGE);
  unsigned present[2] = {0, 0};
  uint64_t entries[PAGES];
  int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  REQUIRE(CHECK(pagemap >= 0));
  for (unsigned i = 0; i < PAGES; i++) CHECK_NUMBER(byte_at(&mapped, (size_t)i * PAGE), 'p');
  for (unsigned round = 0; round < 2; round++) {
    off_t at = (off_t)((uintptr_t)mapped.map.bytes / PAGE * 8);
    REQUIRE(CHECK(pread(pagemap, entries, sizeof entries, at) == sizeof entries));
    for (unsigned i = 0; i < PAGES; i++) present[round] += (entries[i] >> 63) != 0;
    if (round == 0) pfp_map_release(&mapped.map, 8 * PAGE, 32 * PAGE);
  }
  CHECK_COUNT(present[0], PAGES);
  CHECK_COUNT(present[1], PAGES - 32);
  CHECK_NUMBER(byte_at(&mapped, 9 * PAGE), 'p');
  (void)close(pagemap);
  unmap(&mapped, true);
}

bool __real_pfp_map_pays(void);

static void mapping_pays_on_intel(void) {
  char line[256];
  bool intel = false;
  FILE *processors = fopen("/proc/cpuinfo", "re");
  REQUIRE(CHECK(processors != NULL));
  while (fgets(line, sizeof line, processors) != NULL) {
    intel = intel || (strncmp(line, "vendor_id", 9) == 0 && strstr(line, "GenuineIntel") != NULL);
  }
  (void)fclose(processors);
  CHECK(__real_pfp_map_pays() == intel);
  CHECK(__real_pfp_map_pays() == intel);
}

static const struct test tests[] = {
    TEST("a SIGBUS of other code kills as it would have", other_code_is_killed),
    TEST("a page beyond the end of its file reads as zeros, and is told", gone_pages_read_as_zeros),
    TEST("one page is replaced, and none beside it", one_page_is_replaced),
    TEST("each file is told by itself", each_file_by_itself),
    TEST("two files that are mapped at the same moment have a place each", two_at_the_same_moment),
    TEST("sixteen files are mapped at a time", sixteen_at_a_time),
    TEST("a mapping that fails leaves nothing behind", failures_leave_nothing),
    TEST("the handler is there while files are mapped", the_handler_is_there_while_files_are_mapped),
    TEST("a handler of the process's own is left alone", handlers_of_the_process),
    TEST("pages are zeros when they come, and gone when they are freed", pages_are_zeros),
    TEST("pages of a mapping are given back where it is asked for", released_pages),
    TEST("mapping pays on Intel's processors", mapping_pays_on_intel),
};

const struct suite map_suite = SUITE("map", tests);
