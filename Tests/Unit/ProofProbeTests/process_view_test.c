// SPDX-License-Identifier: Apache-2.0

/// A look at objects and mappings that are made by hand: whether mappings tile the segments, what is hashed, which
/// pages count, and what ends a look.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process_place.h"
#include "process_scene.h"
#include "process_suites.h"
#include "process_words.h"

/// The executable as a look finds it, and the vdso's misplaced mappings.
static struct pfp_object seen;
static unsigned vdso_misplaced;

static int take(void) {
  static struct pfp_view view;
  int result = pfp_view_take(&view, &scene.process, &scene.look);
  if (result == PFP_OK) {
    seen = view.objects.items[0];
    vdso_misplaced = view.objects.items[1].misplaced;
    pfp_view_free(&view);
  }
  CHECK(view.objects.items == NULL && view.mappings.items == NULL && !view.has_mappings);
  pfp_process_close(&scene.process);
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
  scene_begin();
  check_tiles(0, true, false);
  // In two parts, in one part that begins earlier, and data that nothing may read.
  scene_begin();
  scene.maps[0].end = scene_page(1);
  scene.mappings.count = 1;
  scene_map(1, 1, 2 * PAGE, PFP_READ | PFP_EXECUTE);
  scene_map(2, 2, 3 * PAGE, PFP_READ);
  scene_map(DATA, 1, 6 * PAGE, 0);
  scene_map(VDSO, 1, 0, PFP_READ);
  scene.maps[4].inode = 0;
  scene.maps[4].name = 5;
  check_tiles(0, true, false);
}

static void mappings_of_another_kind_are_misplaced(void) {
  for (unsigned how = 0; how < 12; how++) {
    unsigned count = 1;
    bool readable = true;
    test_case("how %u", how);
    scene_begin();
    if (how == 0) scene.maps[1].device++;
    if (how == 1) scene.maps[1].inode++;
    if (how == 2) scene.maps[1].offset += PAGE;
    if (how == 3) scene.maps[1].flags |= PFP_SHARED;
    if (how == 4) scene.maps[1].flags |= PFP_WRITE;
    if (how == 5) scene.maps[0].flags = PFP_READ;
    if (how == 6) scene.maps[1].flags = 0, readable = false;
    if (how == 7) scene.maps[2].flags |= PFP_EXECUTE;
    if (how == 8) scene.maps[2].flags |= PFP_SHARED;
    if (how == 9) scene.maps[2].offset = 0;
    if (how == 10) scene.maps[0].offset = 0;
    // The object is what is mapped at its first segment: both others are not its own then.
    if (how == 11) scene.maps[0].inode++, count = 2;
    check_tiles(count, readable, false);
  }
}

static void objects_without_a_file_are_misplaced(void) {
  scene_begin();
  for (size_t i = 0; i < 3; i++) scene.maps[i].inode = 0;
  // Each mapping, and the object.
  check_tiles(4, true, false);
}

static void missing_mappings_are_misplaced(void) {
  for (unsigned how = 0; how < 4; how++) {
    test_case("how %u", how);
    scene_begin();
    if (how == 0) scene.maps[0].end = scene_page(1);                              // The second page of code
    if (how == 1) scene.maps[1].start = scene.maps[1].end = scene_page(CONSTANTS + 1);  // Constants
    if (how == 2) scene.maps[2].start = scene.maps[2].end = scene_page(DATA + 1);       // Data
    if (how == 3) scene.maps[1].start = scene_page(CONSTANTS) + 8, scene.maps[1].offset += 8;
    check_tiles(1, how == 2, false);
  }
}

static void the_vdso_is_the_kernels(void) {
  for (unsigned how = 0; how < 4; how++) {
    test_case("how %u", how);
    scene_begin();
    if (how == 0) scene.maps[3].inode = 1;
    if (how == 1) scene.maps[3].name = 0;
    if (how == 2) scene.maps[3].flags |= PFP_WRITE;
    if (how == 3) scene.mappings.count = 3;
    check_tiles(0, true, true);
  }
}

static void without_mappings_objects_are_read(void) {
  scene_begin();
  scene.mappings.items = NULL;
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
  pfp_hash_contents(&scene.hash, &content, 1);
  page_number(segment->start - scene.items[0].bias);
  page_number(segment->size);
  page_number(segment->flags);
  page_raw(content.digest);
}

/// Build id, then place, size, permissions and content of what may not be written to.
static void code_is_recorded_as_on_the_page(void) {
  uint8_t digest[PFC_DIGEST_BYTES];
  scene_begin();
  page_begin();
  page_text("identity");
  page_segment(&scene.items[0].segments[0]);
  page_segment(&scene.items[0].segments[1]);
  page_digest(digest, "pfp1.code.......");
  REQUIRE(CHECK_NUMBER(take(), PFP_OK));
  CHECK_NUMBER(seen.has_code, 1);
  CHECK_BYTES(seen.code, digest, sizeof digest);
}

static void code_that_is_not_asked_for_is_not_hashed(void) {
  scene_begin();
  scene.look.wants_code = 0;
  REQUIRE(CHECK_NUMBER(take(), PFP_OK));
  CHECK_NUMBER(seen.has_code, 0);
  scene_begin();
  scene.items[0].relocates_text = 1;
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
  scene_begin();
  made_objects = NULL;
  made_mappings = NULL;
  (void)snprintf(scene.names + 16, sizeof scene.names - 16, "%s/object", place.folder);
  file = open(scene.names + 16, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  CHECK(file >= 0 && ftruncate(file, size) == 0);
  (void)close(file);
  CHECK_NUMBER(pfp_process_open(&own), 0);
  CHECK_NUMBER(pfp_mapped_identity(&device, &inode, scene.names + 16, &own), 0);
  for (size_t i = 0; i < 3; i++) {
    scene.maps[i].device = device + device_off;
    scene.maps[i].inode = inode + inode_off;
    scene.maps[i].name = 16;
  }
  asking = scene.process;
  scene.process = own;
  (void)close(scene.process.pagemap);
  scene.process.pagemap = asking.pagemap;
  made_objects = &scene.objects;
  made_mappings = &scene.mappings;
  CHECK_NUMBER(take(), PFP_OK);
}

static void a_path_that_leads_elsewhere_is_replaced(void) {
  REQUIRE(place_begin());
  take_with_file(8 * PAGE, 0, 0);
  CHECK_NUMBER(seen.replaced, 0);
  CHECK(strcmp(seen.path, scene.names + 16) == 0);
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
  scene_begin();
  scene.look.pace.step = pace;
  scene.look.pace.context = &paced;
  paced = 0;
  answer = 0;
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_COUNT(paced, 2 * PAGE - 100 + 64);
  scene_begin();
  scene.look.pace.step = pace;
  scene.look.pace.context = &paced;
  answer = 1;
  CHECK_NUMBER(take(), PFP_E_CANCELLED);
}

/// Objects that came or went during each of two looks.
static void a_list_that_changes_twice_is_changing(void) {
  scene_begin();
  scene.objects.added++;
  CHECK_NUMBER(take(), PFP_E_CHANGING);
  scene_begin();
  scene.objects.removed++;
  CHECK_NUMBER(take(), PFP_E_CHANGING);
}

static void look_twice(void) {
  scene_begin();
  scene.look.wants_links = 1;
  CHECK_NUMBER(take(), PFP_OK);
  scene_begin();
  scene.objects.added++;
  CHECK_NUMBER(take(), PFP_E_CHANGING);
}

static void a_look_leaves_nothing_behind(void) { CHECK_COUNT(made_left(look_twice), 0); }

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
