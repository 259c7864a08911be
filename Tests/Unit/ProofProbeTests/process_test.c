// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/process.h"
#include "process_suites.h"
#include "sources.h"

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static void both_readings_agree(void) {
  struct pfp_process process = {0};
  struct pfp_mappings asked, read;
  pfp_process_open(&process);
  // Twice first, so that what the reading itself allocates is there already.
  for (int i = 0; i < 2; i++) {
    process.no_query = 0;
    REQUIRE(CHECK_NUMBER(pfp_mappings_read(&asked, &process), 0));
    process.no_query = 1;
    REQUIRE(CHECK_NUMBER(pfp_mappings_read(&read, &process), 0));
    if (i == 0) {
      pfp_mappings_free(&asked);
      pfp_mappings_free(&read);
    }
  }
  // Heap and anonymous memory may grow between the two; what comes from files does not.
  for (size_t i = 0; i < read.count; i++) {
    const struct pfp_mapping *one = &read.items[i], *other;
    if (one->inode == 0) continue;
    test_case("%s", read.names + one->name);
    other = pfp_mappings_at(&asked, one->start);
    if (!CHECK(other != NULL)) continue;
    CHECK(other->start == one->start && other->end == one->end && other->offset == one->offset);
    CHECK(other->inode == one->inode && other->device == one->device);
    CHECK_NUMBER(other->flags, one->flags);
    CHECK(strcmp(asked.names + other->name, read.names + one->name) == 0);
  }
  pfp_mappings_free(&asked);
  pfp_mappings_free(&read);
  pfp_process_close(&process);
}

static void mappings_are_found_by_address(void) {
  struct pfp_process process = {0};
  struct pfp_mappings mappings;
  pfp_process_open(&process);
  REQUIRE(CHECK_NUMBER(pfp_mappings_read(&mappings, &process), 0));
  for (size_t i = 0; i < mappings.count; i++) {
    const struct pfp_mapping *mapping = &mappings.items[i];
    CHECK(pfp_mappings_at(&mappings, mapping->start) == mapping);
    CHECK(pfp_mappings_at(&mappings, mapping->end - 1) == mapping);
    CHECK(pfp_mappings_at(&mappings, mapping->end) != mapping);
  }
  CHECK(pfp_mappings_at(&mappings, 0) == NULL);
  pfp_mappings_free(&mappings);
  pfp_process_close(&process);
}

/// Both ways to count, at each step: nothing touched, pages read, one written, the byte put back.
static void private_pages_are_counted(void) {
  struct pfp_process process = {0};
  char name[] = "/var/tmp/proofkit-pages-XXXXXX";
  size_t size = 16 * page_bytes();
  int file = mkstemp(name);
  volatile uint8_t *bytes;
  REQUIRE(CHECK(file >= 0));
  (void)unlink(name);
  REQUIRE(CHECK_NUMBER(ftruncate(file, (off_t)size), 0));
  bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  REQUIRE(CHECK(bytes != MAP_FAILED));
  pfp_process_open(&process);
  for (int step = 0; step < 4; step++) {
    static const long EXPECTED[] = {0, 0, 1, 1};
    uint8_t sum = 0;
    if (step == 1) {
      for (size_t i = 0; i < size; i += page_bytes()) sum = (uint8_t)(sum + bytes[i]);
    }
    if (step == 2) bytes[3 * page_bytes() + sum] = 0xCC;
    if (step == 3) bytes[3 * page_bytes()] = 0;
    for (process.no_query = 0; process.no_query < 2; process.no_query++) {
      test_case("step %d, %s", step, process.no_query ? "pagemap" : "scan");
      CHECK_NUMBER(pfp_pages_private((uintptr_t)bytes, (uintptr_t)bytes + size, &process), EXPECTED[step]);
    }
  }
  pfp_process_close(&process);
  (void)munmap((void *)(uintptr_t)bytes, size);
  (void)close(file);
}

/// Enough of them for a second thread: each range has the pages that were written to in it, and no other's.
static void two_threads_count_alike(void) {
  enum { RANGES = 48 };
  struct pfp_process process = {0};
  struct pfp_page_range ranges[RANGES];
  char name[] = "/var/tmp/proofkit-pages-XXXXXX";
  size_t size = RANGES * PFP_PAGE_RANGE_BYTES;
  int file = mkstemp(name);
  uint8_t *bytes;
  REQUIRE(CHECK(file >= 0));
  (void)unlink(name);
  REQUIRE(CHECK_NUMBER(ftruncate(file, (off_t)size), 0));
  bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  REQUIRE(CHECK(bytes != MAP_FAILED));
  for (size_t i = 0; i < RANGES; i++) {
    ranges[i].start = (uintptr_t)bytes + i * PFP_PAGE_RANGE_BYTES;
    ranges[i].end = ranges[i].start + PFP_PAGE_RANGE_BYTES;
    ranges[i].pages = -2;
    for (size_t page = 0; page < i % 5; page++) bytes[i * PFP_PAGE_RANGE_BYTES + 7 * page * page_bytes()] = 1;
  }
  pfp_process_open(&process);
  for (process.no_query = 0; process.no_query < 2; process.no_query++) {
    pfp_pages_count(ranges, RANGES, &process);
    for (size_t i = 0; i < RANGES; i++) {
      test_case("range %zu, %s", i, process.no_query ? "pagemap" : "scan");
      CHECK_NUMBER(ranges[i].pages, (long)(i % 5));
    }
  }
  pfp_process_close(&process);
  pfp_pages_count(ranges, RANGES, &process);
  CHECK_NUMBER(ranges[RANGES - 1].pages, -1);
  (void)munmap(bytes, size);
  (void)close(file);
}

static void nothing_readable_is_no_count(void) {
  struct pfp_process process = {.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  struct pfp_mappings mappings;
  CHECK_NUMBER(pfp_mappings_read(&mappings, &process), PFP_E_UNREADABLE);
  CHECK_NUMBER(pfp_pages_private(0x10000, 0x20000, &process), -1);
}

static void objects_are_named_and_explained(void) {
  struct pfp_objects objects;
  int executables = 0, libraries = 0, vdsos = 0;
  REQUIRE(CHECK_NUMBER(pfp_objects_read(&objects), 0));
  pfp_objects_explain(&objects, NULL, 0);
  for (size_t i = 0; i < objects.count; i++) {
    const struct pfp_object *object = &objects.items[i];
    test_case("%s", object->name);
    executables += object->is_executable;
    vdsos += object->is_vdso;
    libraries += strcmp(object->name, "libc.so.6") == 0;
    CHECK_NUMBER(object->explained, 1);
    CHECK(object->segment_count > 0);
    CHECK(pfp_objects_at(&objects, object->low) == object);
    CHECK(pfp_objects_at(&objects, object->high - 1) == object);
  }
  CHECK_NUMBER(executables, 1);
  CHECK_NUMBER(libraries, 1);
  CHECK(vdsos <= 1);
  CHECK_NUMBER(pfp_objects_current(&objects), 1);
  pfp_objects_free(&objects);
}

static void sources_are_in_order_and_fit(void) {
  struct pfc_config config = {.policy = PFC_POLICY_FULL};
  size_t index = 99;
  unsigned leaves = 0;
  pfp_sources_propose(&config);
  CHECK_NUMBER(pfp_sources_check(&config, &index), PFC_OK);
  for (size_t i = 0; i < config.source_count; i++) {
    const struct pfc_source *source = &config.sources[i], *before = &config.sources[i == 0 ? 0 : i - 1];
    leaves += 1u << source->groups_log2;
    CHECK(i == 0 || source->class_ > before->class_ ||
          (source->class_ == before->class_ && source->number > before->number));
    CHECK(pfp_source_find(source->class_, source->number, source->version) != NULL);
    CHECK(pfp_source_find(source->class_, source->number, (uint8_t)(source->version + 1)) == NULL);
  }
  CHECK(leaves <= PFC_CONFIG_LEAVES_MAX);
  config.sources[3].version = 9;
  CHECK_NUMBER(pfp_sources_check(&config, &index), PFC_E_SOURCE);
  CHECK_COUNT(index, 3);
}

static const struct test tests[] = {
    TEST("both ways to read the mappings say the same", both_readings_agree),
    TEST("a mapping is found by each of its addresses and by no other", mappings_are_found_by_address),
    TEST("a page written to stays a private copy, also when the byte is put back", private_pages_are_counted),
    TEST("ranges shared by two threads have each its own count", two_threads_count_alike),
    TEST("where nothing can be read nothing is counted", nothing_readable_is_no_count),
    TEST("every loaded object has a name and a reason", objects_are_named_and_explained),
    TEST("sources stand in order, fit one configuration, and know their versions", sources_are_in_order_and_fit),
};

const struct suite process_suite = SUITE("process", tests);
