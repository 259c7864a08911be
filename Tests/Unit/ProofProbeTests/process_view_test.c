// SPDX-License-Identifier: Apache-2.0

/// A look at objects and mappings that are made by hand: whether mappings tile the segments, what is hashed, which
/// pages count, and what ends a look.

#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process_place.h"
#include "process_suites.h"
#include "process_words.h"

enum { PAGE = 4096, DEVICE = 7, INODE = 5, CODE = 0, CONSTANTS = 3, DATA = 5, VDSO = 10, PAGES = 12 };

static _Alignas(PAGE) uint8_t memory[PAGES * PAGE];
static struct pfp_object items[2];
static size_t by_address[2] = {0, 1};
static struct pfp_objects objects;
static struct pfp_mapping maps[8];
static char names[128];
static struct pfp_mappings mappings;
static struct pfp_hash hash;
static struct pfp_process process;
static struct pfp_look look;

static uintptr_t page_at(size_t page) { return (uintptr_t)memory + page * PAGE; }

static void map(size_t page, size_t count, uint64_t offset, unsigned flags) {
  maps[mappings.count++] =
      (struct pfp_mapping){page_at(page), page_at(page + count), offset, INODE, DEVICE, flags, 0};
}

/// An executable of code (two pages, the second one not full), constants, data and cleared data; and a vdso. Mapped as
/// their headers say.
static void begin(void) {
  static const uint8_t KEY[PFP_HASH_KEY_BYTES] = {1}, SALT[PFP_HASH_SALT_BYTES] = {2};
  struct pfp_objects loaded;
  made_objects = NULL;
  made_mappings = NULL;
  CHECK_NUMBER(pfp_hash_init(&hash, KEY, SALT, PFP_KERNEL_BEST), PFP_OK);
  memset(items, 0, sizeof items);
  for (size_t i = 0; i < sizeof memory; i++) memory[i] = (uint8_t)(i * 7 + i / PAGE);
  (void)strcpy(items[0].name, "executable");
  items[0].is_executable = 1;
  items[0].bias = page_at(0) - 0x10000;
  items[0].low = page_at(0);
  items[0].high = page_at(9);
  items[0].build_id = (const uint8_t *)"identity";
  items[0].build_id_size = 8;
  items[0].segments[0] =
      (struct pfp_segment){page_at(CODE), 2 * PAGE - 99, 2 * PAGE - 100, PAGE, PFP_READ | PFP_EXECUTE};
  items[0].segments[1] = (struct pfp_segment){page_at(CONSTANTS) + 16, 64, 64, 4 * PAGE + 16, PFP_READ};
  items[0].segments[2] = (struct pfp_segment){page_at(DATA), PAGE, 100, 6 * PAGE, PFP_READ | PFP_WRITE};
  items[0].segments[3] = (struct pfp_segment){page_at(7), PAGE, 0, 7 * PAGE, PFP_READ | PFP_WRITE};
  items[0].segment_count = 4;
  (void)strcpy(items[1].name, "linux-vdso.so.1");
  items[1].is_vdso = 1;
  items[1].low = items[1].bias = page_at(VDSO);
  items[1].high = page_at(VDSO + 1);
  items[1].segments[0] = (struct pfp_segment){page_at(VDSO), 64, 64, 0, PFP_READ | PFP_EXECUTE};
  items[1].segment_count = 1;
  REQUIRE(CHECK_NUMBER(pfp_objects_read(&loaded), 0));
  objects = (struct pfp_objects){.items = items, .count = 2, .capacity = 2, .by_address = by_address};
  objects.added = loaded.added;
  objects.removed = loaded.removed;
  pfp_objects_free(&loaded);
  // No name begins like a path's: no file is asked.
  (void)memcpy(names, "file\0[vdso]", 12);
  mappings = (struct pfp_mappings){.items = maps, .names = names, .names_size = sizeof names};
  map(CODE, 2, PAGE, PFP_READ | PFP_EXECUTE);
  map(CONSTANTS, 1, 4 * PAGE, PFP_READ);
  map(DATA, 1, 6 * PAGE, PFP_READ | PFP_WRITE);
  map(VDSO, 1, 0, PFP_READ | PFP_EXECUTE);
  maps[3].inode = maps[3].device = 0;
  maps[3].name = 5;
  process = (struct pfp_process){.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  look = (struct pfp_look){.hash = &hash, .wants_code = 1};
  made_objects = &objects;
  made_mappings = &mappings;
}

/// The executable as a look finds it, and the vdso's misplaced mappings.
static struct pfp_object seen;
static unsigned vdso_misplaced;

static int take(void) {
  static struct pfp_view view;
  int result = pfp_view_take(&view, &process, &look);
  if (result == PFP_OK) {
    seen = view.objects.items[0];
    vdso_misplaced = view.objects.items[1].misplaced;
    pfp_view_free(&view);
  }
  CHECK(view.objects.items == NULL && view.mappings.items == NULL && !view.has_mappings);
  pfp_process_close(&process);
  made_objects = NULL;
  made_mappings = NULL;
  return result;
}

// Tiles ----------------------------------------------------------------------------------------------------------

/// Each mapping that is not what the headers say counts at both looks.
static void check_tiles(unsigned misplaced, bool readable, bool vdso_is_wrong) {
  REQUIRE(CHECK_NUMBER(take(), PFP_OK));
  CHECK_NUMBER(seen.misplaced, 2 * misplaced);
  CHECK_NUMBER(seen.readable, readable);
  CHECK_NUMBER(seen.has_code, readable);
  CHECK_NUMBER(vdso_misplaced, vdso_is_wrong);
}

static void mappings_that_tile_are_in_place(void) {
  begin();
  check_tiles(0, true, false);
  // In two parts, in one part that begins earlier, and data that nothing may read.
  begin();
  maps[0].end = page_at(1);
  mappings.count = 1;
  map(1, 1, 2 * PAGE, PFP_READ | PFP_EXECUTE);
  map(2, 2, 3 * PAGE, PFP_READ);
  map(DATA, 1, 6 * PAGE, 0);
  map(VDSO, 1, 0, PFP_READ);
  maps[4].inode = 0;
  maps[4].name = 5;
  check_tiles(0, true, false);
}

static void mappings_of_another_kind_are_misplaced(void) {
  for (unsigned how = 0; how < 12; how++) {
    unsigned count = 1;
    bool readable = true;
    test_case("how %u", how);
    begin();
    if (how == 0) maps[1].device++;
    if (how == 1) maps[1].inode++;
    if (how == 2) maps[1].offset += PAGE;
    if (how == 3) maps[1].flags |= PFP_SHARED;
    if (how == 4) maps[1].flags |= PFP_WRITE;
    if (how == 5) maps[0].flags = PFP_READ;
    if (how == 6) maps[1].flags = 0, readable = false;
    if (how == 7) maps[2].flags |= PFP_EXECUTE;
    if (how == 8) maps[2].flags |= PFP_SHARED;
    if (how == 9) maps[2].offset = 0;
    if (how == 10) maps[0].offset = 0;
    // The object is what is mapped at its first segment: both others are not its own then.
    if (how == 11) maps[0].inode++, count = 2;
    check_tiles(count, readable, false);
  }
}

static void objects_without_a_file_are_misplaced(void) {
  begin();
  for (size_t i = 0; i < 3; i++) maps[i].inode = 0;
  // Each mapping, and the object.
  check_tiles(4, true, false);
}

static void missing_mappings_are_misplaced(void) {
  for (unsigned how = 0; how < 4; how++) {
    test_case("how %u", how);
    begin();
    if (how == 0) maps[0].end = page_at(1);                              // The second page of code
    if (how == 1) maps[1].start = maps[1].end = page_at(CONSTANTS + 1);  // Constants
    if (how == 2) maps[2].start = maps[2].end = page_at(DATA + 1);       // Data
    if (how == 3) maps[1].start = page_at(CONSTANTS) + 8, maps[1].offset += 8;
    check_tiles(1, how == 2, false);
  }
}

static void the_vdso_is_the_kernels(void) {
  for (unsigned how = 0; how < 4; how++) {
    test_case("how %u", how);
    begin();
    if (how == 0) maps[3].inode = 1;
    if (how == 1) maps[3].name = 0;
    if (how == 2) maps[3].flags |= PFP_WRITE;
    if (how == 3) mappings.count = 3;
    check_tiles(0, true, true);
  }
}

static void without_mappings_objects_are_read(void) {
  begin();
  mappings.items = NULL;
  REQUIRE(CHECK_NUMBER(take(), PFP_OK));
  CHECK(seen.readable && seen.has_code);
  CHECK_NUMBER(seen.private_pages, -1);
  CHECK_NUMBER(seen.misplaced, 0);
  CHECK_NUMBER(vdso_misplaced, 0);
}

// Code -----------------------------------------------------------------------------------------------------------

static void page_raw(const uint8_t *bytes) {
  for (size_t i = 0; i < PFP_HASH_BYTES; i += 8) page_number(get64(bytes + i));
}

static void page_segment(const struct pfp_segment *segment) {
  struct pfp_content content = {.bytes = (const uint8_t *)segment->start, .size = segment->file_size};
  pfp_hash_contents(&hash, &content, 1);
  page_number(segment->start - items[0].bias);
  page_number(segment->size);
  page_number(segment->flags);
  page_raw(content.digest);
}

/// Build id, then place, size, permissions and content of what may not be written to.
static void code_is_recorded_as_on_the_page(void) {
  uint8_t digest[PFC_DIGEST_BYTES];
  begin();
  page_begin();
  page_text("identity");
  page_segment(&items[0].segments[0]);
  page_segment(&items[0].segments[1]);
  page_digest(digest, "pfp1.code.......");
  REQUIRE(CHECK_NUMBER(take(), PFP_OK));
  CHECK_NUMBER(seen.has_code, 1);
  CHECK_BYTES(seen.code, digest, sizeof digest);
}

static void code_that_is_not_asked_for_is_not_hashed(void) {
  begin();
  look.wants_code = 0;
  REQUIRE(CHECK_NUMBER(take(), PFP_OK));
  CHECK_NUMBER(seen.has_code, 0);
  begin();
  items[0].relocates_text = 1;
  REQUIRE(CHECK_NUMBER(take(), PFP_OK));
  CHECK_NUMBER(seen.has_code, 0);
}

// Files ----------------------------------------------------------------------------------------------------------

/// The object's file, of this size, with its identity as mappings show it; then looks.
static void take_with_file(off_t size, unsigned device_off, unsigned inode_off) {
  static struct pfp_process own;
  struct pfp_process asking;
  int file;
  uint64_t device = 0, inode = 0;
  begin();
  made_objects = NULL;
  made_mappings = NULL;
  (void)snprintf(names + 16, sizeof names - 16, "%s/object", place.folder);
  file = open(names + 16, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  CHECK(file >= 0 && ftruncate(file, size) == 0);
  (void)close(file);
  CHECK_NUMBER(pfp_process_open(&own), 0);
  CHECK_NUMBER(pfp_mapped_identity(&device, &inode, names + 16, &own), 0);
  for (size_t i = 0; i < 3; i++) {
    maps[i].device = device + device_off;
    maps[i].inode = inode + inode_off;
    maps[i].name = 16;
  }
  asking = process;
  process = own;
  (void)close(process.pagemap);
  process.pagemap = asking.pagemap;
  made_objects = &objects;
  made_mappings = &mappings;
  CHECK_NUMBER(take(), PFP_OK);
}

static void a_path_that_leads_elsewhere_is_replaced(void) {
  REQUIRE(place_begin());
  take_with_file(8 * PAGE, 0, 0);
  CHECK_NUMBER(seen.replaced, 0);
  CHECK(strcmp(seen.path, names + 16) == 0);
  CHECK_NUMBER(seen.has_code, 1);
  take_with_file(8 * PAGE, 1, 0);
  CHECK_NUMBER(seen.replaced, 1);
  take_with_file(8 * PAGE, 0, 1);
  CHECK_NUMBER(seen.replaced, 1);
  CHECK_NUMBER(seen.has_code, 1);
  place_finish();
}

/// Constants end 80 bytes into page 4 of the file. Data may reach beyond its end.
static void a_file_that_became_shorter_is_not_read(void) {
  REQUIRE(place_begin());
  take_with_file(4 * PAGE + 80, 0, 0);
  CHECK_NUMBER(seen.has_code, 1);
  take_with_file(4 * PAGE + 79, 0, 0);
  CHECK_NUMBER(seen.has_code, 0);
  // Another file's size tells nothing of this one.
  take_with_file(4 * PAGE + 79, 0, 1);
  CHECK_NUMBER(seen.has_code, 1);
  place_finish();
}

// Ends -----------------------------------------------------------------------------------------------------------

static uint64_t paced;
static int answer;

static int pace(void *context, uint64_t bytes) {
  CHECK(context == &paced);
  paced += bytes;
  return answer;
}

static void progress_is_told_in_constant_bytes(void) {
  begin();
  look.pace.step = pace;
  look.pace.context = &paced;
  paced = 0;
  answer = 0;
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_COUNT(paced, 2 * PAGE - 100 + 64);
  begin();
  look.pace.step = pace;
  look.pace.context = &paced;
  answer = 1;
  CHECK_NUMBER(take(), PFP_E_CANCELLED);
}

/// Objects that came or went during each of two looks.
static void a_list_that_changes_twice_is_changing(void) {
  begin();
  objects.added++;
  CHECK_NUMBER(take(), PFP_E_CHANGING);
  begin();
  objects.removed++;
  CHECK_NUMBER(take(), PFP_E_CHANGING);
}

static void a_look_leaves_nothing_behind(void) {
  size_t used = 0;
  for (unsigned round = 0; round < 2; round++) {
    used = mallinfo2().uordblks;
    begin();
    look.wants_links = 1;
    CHECK_NUMBER(take(), PFP_OK);
    begin();
    objects.added++;
    CHECK_NUMBER(take(), PFP_E_CHANGING);
  }
  CHECK_COUNT(mallinfo2().uordblks, used);
}

static const struct test tests[] = {
    TEST("mappings that tile all segments are in place", mappings_that_tile_are_in_place),
    TEST("a mapping of another file, place or kind is misplaced", mappings_of_another_kind_are_misplaced),
    TEST("an object without a file is misplaced", objects_without_a_file_are_misplaced),
    TEST("a mapping that is missing is misplaced", missing_mappings_are_misplaced),
    TEST("a vdso that is not the kernel's is misplaced", the_vdso_is_the_kernels),
    TEST("without mappings objects are read, and pages not counted", without_mappings_objects_are_read),
    TEST("code is recorded as on the page", code_is_recorded_as_on_the_page),
    TEST("code that is not asked for, or relocates itself, has no digest", code_that_is_not_asked_for_is_not_hashed),
    TEST("an object whose path leads to another file is replaced", a_path_that_leads_elsewhere_is_replaced),
    TEST("code whose file no longer reaches its end is not read", a_file_that_became_shorter_is_not_read),
    TEST("progress is told in constant bytes, and can end a look", progress_is_told_in_constant_bytes),
    TEST("a list of objects that changes at two looks is changing", a_list_that_changes_twice_is_changing),
    TEST("a look leaves no memory behind", a_look_leaves_nothing_behind),
};

const struct suite process_view_suite = SUITE("view", tests);
