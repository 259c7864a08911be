// SPDX-License-Identifier: Apache-2.0

/// A look's counts, its second half, and the findings that it keeps of an object for the next look, on objects and
/// mappings that are made by hand.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evidence/transcript.h"
#include "process_place.h"
#include "process_scene.h"
#include "process_suites.h"

/// The executable and the vdso as a look leaves them.
static struct pfp_object seen, vdso;

static int take(void) {
  static struct pfp_view view;
  int result = pfp_view_take(&view, &scene.process, &scene.look);
  if (result == PFP_OK) {
    seen = view.objects.items[0];
    vdso = view.objects.items[1];
    pfp_view_free(&view);
  }
  return result;
}

static void end(void) {
  pfp_process_close(&scene.process);
  made_objects = NULL;
  made_mappings = NULL;
}

static void begin_counting(void) {
  scene_begin();
  scene.process.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  CHECK(scene.process.pagemap >= 0);
}

/// Gives a page back: it then is none, until it is read.
static void drop(size_t page) { CHECK_NUMBER(madvise((void *)scene_page(page), PAGE, MADV_DONTNEED), 0); }

// Pages ----------------------------------------------------------------------------------------------------------

/// All of this memory is the test's own: each page of code and constants is a private copy, and no page between them.
static void each_object_has_its_own_pages(void) {
  for (int no_query = 0; no_query < 2; no_query++) {
    for (unsigned how = 0; how < 4; how++) {
      test_case("no_query %d, how %u", no_query, how);
      begin_counting();
      scene.process.no_query = no_query;
      // The vdso's page stands behind the executable's last one; then before its first one.
      if (how == 1) scene.items[1].segments[0].start = scene_page(CONSTANTS + 1);
      if (how == 2) scene.items[0].segments[1].start = scene_page(CODE + 2) + 16;
      if (how == 3) scene.items[0].segments[0].start = scene_page(VDSO + 1);
      if (how == 3) scene.items[0].segments[0].file_size = PAGE;
      CHECK_NUMBER(take(), PFP_OK);
      CHECK_NUMBER(seen.private_pages, how == 3 ? 2 : 3);
      CHECK_NUMBER(vdso.private_pages, 1);
      end();
    }
  }
}

static void pages_without_a_pagemap_are_unknown(void) {
  scene_begin();
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_NUMBER(seen.private_pages, -1);
  CHECK_NUMBER(vdso.private_pages, -1);
  end();
}

static int drop_all_pages(void *context, uint64_t bytes) {
  (void)context;
  (void)bytes;
  for (size_t page = 0; page < VDSO; page++) drop(page);
  return 0;
}

/// Reading makes a page of one that was given back, before the second half looks. Fewer pages do not count.
static void more_pages_count_and_fewer_do_not(void) {
  begin_counting();
  drop(1);
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_NUMBER(seen.private_pages, 3);
  end();
  test_case("fewer");
  begin_counting();
  scene.look.pace.step = drop_all_pages;
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_NUMBER(seen.private_pages, 3);
  end();
}

static int open_the_pagemap(void *context, uint64_t bytes) {
  (void)context;
  (void)bytes;
  if (scene.process.pagemap < 0) scene.process.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  return CHECK(scene.process.pagemap >= 0) ? 0 : 1;
}

/// A count that the first half could not tell stays unknown, also if the second one tells it.
static void pages_that_were_unknown_stay_so(void) {
  scene_begin();
  scene.look.pace.step = open_the_pagemap;
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_NUMBER(seen.private_pages, -1);
  end();
}

// Places ---------------------------------------------------------------------------------------------------------

static void check_place(unsigned misplaced, bool readable) {
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_NUMBER(seen.misplaced, 2 * misplaced);
  CHECK_NUMBER(seen.readable, readable);
  end();
}

/// A segment's pages are whole, also if its first and last byte are within one.
static void segments_take_whole_pages(void) {
  struct pfp_segment *constants = &scene.items[0].segments[1];
  scene_begin();
  constants->start++, constants->offset++;
  check_place(0, true);
  scene_begin();
  constants->start += PAGE - 17, constants->offset += PAGE - 17, constants->file_size = 1;
  check_place(0, true);
  scene_begin();
  constants->start -= 16, constants->offset -= 16, constants->file_size = PAGE;
  check_place(0, true);
  scene_begin();
  constants->start -= 16, constants->offset -= 16, constants->file_size = PAGE + 1;
  check_place(1, false);
  scene_begin();
  constants->start += PAGE - 17, constants->offset += PAGE - 17, constants->file_size = 2;
  check_place(1, false);
}

static void headers_may_let_data_be_executed(void) {
  scene_begin();
  scene.items[0].segments[2].flags |= PFP_EXECUTE;
  scene.maps[2].flags |= PFP_EXECUTE;
  check_place(0, true);
}

/// Bytes that are not the file's have no place in it, wherever they begin.
static void cleared_data_has_no_place_in_the_file(void) {
  scene_begin();
  scene.items[0].segments[3].start += 8;
  check_place(0, true);
  scene_begin();
  scene.items[0].segments[2].file_size = 0;
  scene.maps[2].flags |= PFP_SHARED;
  check_place(0, true);
}

/// No mapping at the first segment: no file is the object's, so that every other mapping is another's.
static void an_object_without_its_first_mapping_has_no_file(void) {
  scene_begin();
  scene.maps[0].start = scene.maps[0].end;
  check_place(4, false);
  CHECK_COUNT(seen.inode, 0);
  CHECK_COUNT(seen.device, 0);
}

/// A look at places comes twice also where no code is hashed.
static void places_are_looked_at_twice(void) {
  scene_begin();
  scene.look.wants_code = 0;
  scene.maps[1].flags |= PFP_WRITE;
  check_place(1, true);
}

// Paths ----------------------------------------------------------------------------------------------------------

/// A name of so many bytes that begins with a slash, of a file that is not there.
static void take_path(size_t size, uint64_t inode) {
  static char names[5000];
  scene_begin();
  memset(names, 'a', sizeof names);
  names[0] = '/';
  names[size] = 0;
  (void)strcpy(names + size + 1, "[vdso]");
  scene.mappings.names = names;
  scene.mappings.names_size = sizeof names;
  scene.maps[3].name = size + 1;
  for (size_t i = 0; i < 3; i++) scene.maps[i].inode = inode;
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_NUMBER(vdso.misplaced, 0);
  end();
}

static void a_path_that_is_gone_is_replaced(void) {
  static const size_t SIZES[] = {2, 200, 4095};
  for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
    test_case("%zu bytes", SIZES[i]);
    take_path(SIZES[i], INODE);
    CHECK_COUNT(strlen(seen.path), SIZES[i]);
    CHECK_NUMBER(seen.replaced, 1);
    // Its file's size is another one's.
    CHECK_NUMBER(seen.has_code, 1);
  }
  test_case("a longer name");
  take_path(4096, INODE);
  CHECK_COUNT(strlen(seen.path), 0);
  CHECK_NUMBER(seen.replaced, 0);
  test_case("no file");
  take_path(2, 0);
  CHECK_COUNT(strlen(seen.path), 0);
  CHECK_NUMBER(seen.replaced, 0);
}

// Code -----------------------------------------------------------------------------------------------------------

/// A constant segment of no bytes of the file is no part of the digest.
static void constants_that_are_not_the_files_are_not_hashed(void) {
  uint8_t code[PFC_DIGEST_BYTES];
  scene_begin();
  CHECK_NUMBER(take(), PFP_OK);
  memcpy(code, seen.code, sizeof code);
  end();
  scene_begin();
  scene.items[0].segments[3].flags = PFP_READ;
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_BYTES(seen.code, code, sizeof code);
  end();
}

static void the_vdso_is_identified(void) {
  uint8_t fact[PFC_DIGEST_BYTES];
  pfp_fact(fact, "vdso", 4);
  scene_begin();
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_NUMBER(vdso.has_code, 1);
  CHECK_BYTES(vdso.code, fact, sizeof fact);
  end();
}

// Lists ----------------------------------------------------------------------------------------------------------

static uint64_t steps;

static int mend_the_list(void *context, uint64_t bytes) {
  (void)context;
  (void)bytes;
  if (steps++ == 0) scene.objects.added--;
  return 0;
}

static void a_list_that_changes_once_is_looked_at_again(void) {
  scene_begin();
  scene.objects.added++;
  scene.look.pace.step = mend_the_list;
  steps = 0;
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_COUNT(steps, 2);
  CHECK_NUMBER(seen.has_code, 1);
  end();
}

// Kept -----------------------------------------------------------------------------------------------------------

static struct pfp_files *files;

/// The memory is a file's, of which no page is a private copy. The look is an incremental one.
static bool begin_kept_under(uint8_t policy) {
  struct pfp_files_options how = {.policy = policy, .limit_log2 = 30};
  char path[128];
  int file;
  if (!place_begin()) return false;
  begin_counting();
  (void)snprintf(path, sizeof path, "%s/memory", place.folder);
  file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (!CHECK(file >= 0 && write(file, scene_memory, sizeof scene_memory) == (ssize_t)sizeof scene_memory)) return false;
  // A mapping keeps what it was made of open: not for writing.
  CHECK(close(file) == 0);
  file = open(path, O_RDONLY | O_CLOEXEC);
  CHECK(mmap(scene_memory, sizeof scene_memory, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == scene_memory);
  CHECK(close(file) == 0);
  scene.look.files = NULL;
  scene.items[0].relro = scene_page(DATA);
  scene.items[0].relro_end = scene_page(DATA) + 64;
  if (!CHECK_NUMBER(pfp_files_create(&files, &how), PFP_OK)) return false;
  scene.look.files = files;
  return true;
}

static bool begin_kept(void) { return begin_kept_under(PFP_POLICY_INCREMENTAL); }

static void end_kept(void) {
  end();
  pfp_files_free(files);
  CHECK(mmap(scene_memory, sizeof scene_memory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == scene_memory);
  place_finish();
}

/// Findings of a look before this one.
static void preset(struct pfp_object *object) {
  object->has_links = 1;
  object->replaced = 1;
  object->astray = 3;
  object->moved = 5;
  memset(object->links, 0x71, sizeof object->links);
  memset(object->links_raw, 0x72, sizeof object->links_raw);
  (void)strcpy(object->astray_first, "leads");
}

static void all_of_a_clean_object_is_kept(void) {
  for (unsigned loose = 0; loose < 2; loose++) {
    REQUIRE(begin_kept());
    preset(&scene.items[0]);
    scene.items[0].loose = loose;
    CHECK_NUMBER(take(), PFP_OK);
    CHECK_COUNT(scene.process.cache_added, scene.objects.added);
    CHECK_COUNT(scene.process.cache_removed, scene.objects.removed);
    if (CHECK_COUNT(scene.process.cache_count, 1)) {
      const struct pfp_code_cache *entry = &scene.process.cache[0];
      CHECK(strcmp(entry->name, "executable") == 0);
      CHECK_COUNT(entry->bias, seen.bias);
      CHECK_COUNT(entry->device, DEVICE);
      CHECK_COUNT(entry->inode, INODE);
      CHECK_NUMBER(entry->replaced, 1);
      CHECK_BYTES(entry->contents, seen.contents, sizeof seen.contents);
      CHECK(!pfc_is_zero(entry->contents[0], PFP_HASH_BYTES) && pfc_is_zero(entry->contents[2], PFP_HASH_BYTES));
      // Words that the raw digest does not cover may change unseen.
      CHECK_NUMBER(entry->has_links, loose == 0);
      CHECK_BYTES(entry->links, seen.links, sizeof seen.links);
      CHECK_BYTES(entry->links_raw, seen.links_raw, sizeof seen.links_raw);
      CHECK(entry->links[0] == 0x71 && entry->links_raw[0] == 0x72 && strcmp(entry->astray_first, "leads") == 0);
      CHECK_NUMBER(entry->astray, 3);
      CHECK_NUMBER(entry->moved, 5);
    }
    end_kept();
  }
}

static void an_object_that_is_not_clean_is_not_kept(void) {
  for (unsigned how = 0; how < 5; how++) {
    test_case("how %u", how);
    REQUIRE(begin_kept());
    if (how == 0) scene.maps[1].flags |= PFP_WRITE;
    if (how == 1) scene.look.wants_code = 0;
    if (how == 2) (void)close(scene.process.pagemap), scene.process.pagemap = -1;
    if (how == 3) CHECK(mprotect((void *)scene_page(1), PAGE, PROT_READ | PROT_WRITE) == 0), scene_memory[PAGE] = 1;
    if (how == 4) scene.look.files = NULL;
    CHECK_NUMBER(take(), PFP_OK);
    CHECK_COUNT(scene.process.cache_count, 0);
    end_kept();
  }
}

static struct pfp_code_cache *entry(void) { return &scene.process.cache[0]; }

/// Links that were kept stand for words with the same bytes, in the same object, while no object came or went.
static void kept_links_are_of_this_object_and_these_words(void) {
  for (unsigned how = 0; how < 11; how++) {
    test_case("how %u", how);
    REQUIRE(begin_kept());
    scene.look.wants_links = 1;
    CHECK_NUMBER(take(), PFP_OK);
    REQUIRE(CHECK_COUNT(scene.process.cache_count, 1) && CHECK_NUMBER(seen.has_links, 0));
    CHECK(!pfc_is_zero(entry()->links_raw, sizeof seen.links_raw));
    entry()->has_links = 1;
    entry()->astray = 4;
    entry()->moved = 6;
    memset(entry()->links, 0x73, sizeof entry()->links);
    (void)strcpy(entry()->astray_first, "led");
    if (how == 1) entry()->bias++;
    if (how == 2) entry()->device++;
    if (how == 3) entry()->inode++;
    if (how == 4) (void)strcpy(entry()->name, "executablf");
    if (how == 5) entry()->links_raw[PFC_DIGEST_BYTES - 1] ^= 1;
    if (how == 6) entry()->has_links = 0;
    if (how == 7) scene.process.cache_added++;
    if (how == 8) scene.process.cache_removed++;
    if (how == 9) scene.process.cache_count = 0;
    // A look that keeps nothing has no digest of its own to compare.
    if (how == 10) scene.look.files = NULL, memset(entry()->links_raw, 0, sizeof entry()->links_raw);
    CHECK_NUMBER(take(), PFP_OK);
    CHECK_NUMBER(seen.has_links, how == 0);
    CHECK_NUMBER(seen.astray, how == 0 ? 4 : 0);
    CHECK_NUMBER(seen.moved, how == 0 ? 6 : 0);
    CHECK(strcmp(seen.astray_first, how == 0 ? "led" : "") == 0);
    CHECK_NUMBER(seen.links[PFC_DIGEST_BYTES - 1], how == 0 ? 0x73 : 0);
    end_kept();
  }
}

/// The mappings are those of the file, which has settled.
static bool begin_vouched(void) {
  uint64_t device = 0, inode = 0;
  place_ahead = UINT64_C(60000000000);
  if (!begin_kept_under(PFP_POLICY_TRUSTING)) return false;
  scene.process.maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  (void)snprintf(scene.names + 16, sizeof scene.names - 16, "%s/memory", place.folder);
  if (!CHECK_NUMBER(pfp_mapped_identity(&device, &inode, scene.names + 16, &scene.process), PFP_OK)) return false;
  for (size_t i = 0; i < 3; i++) {
    scene.maps[i].device = device;
    scene.maps[i].inode = inode;
    scene.maps[i].name = 16;
  }
  return CHECK_NUMBER(take(), PFP_OK) && CHECK_COUNT(scene.process.cache_count, 1) &&
         CHECK(seen.has_code == 1 && seen.replaced == 0 && seen.private_pages == 0);
}

static int lose_the_pagemap(void *context, uint64_t bytes) {
  (void)context;
  (void)bytes;
  if (scene.process.pagemap >= 0) (void)close(scene.process.pagemap);
  scene.process.pagemap = -1;
  return 0;
}

/// Code of a known object whose file this user can change is hashed at each look, and pages are then counted once more.
/// One count is enough where nothing is hashed.
static void what_is_hashed_is_looked_at_twice(void) {
  for (int wants_code = 0; wants_code < 2; wants_code++) {
    test_case("%s", wants_code ? "code" : "no code");
    if (begin_vouched()) {
      uint8_t code[PFC_DIGEST_BYTES];
      memcpy(code, seen.code, sizeof code);
      scene.look.wants_code = wants_code;
      scene.look.pace.step = lose_the_pagemap;
      CHECK_NUMBER(take(), PFP_OK);
      CHECK_NUMBER(seen.unchanged, 1);
      CHECK_NUMBER(seen.private_pages, wants_code ? -1 : 0);
      // Constants are kept, and the digest is that of all.
      CHECK_NUMBER(seen.has_code, wants_code);
      if (wants_code) CHECK_BYTES(seen.code, code, sizeof code);
    }
    place_ahead = 0;
    end_kept();
  }
}

/// Constants have the digest that was kept, here another one, if each of these holds.
static void constants_are_kept_if_the_kernel_vouches(void) {
  static const uint8_t KEPT[PFP_HASH_BYTES] = {7};
  for (unsigned how = 0; how < 6; how++) {
    test_case("how %u", how);
    if (begin_vouched()) {
      memcpy(entry()->contents[1], KEPT, sizeof KEPT);
      if (how == 1) entry()->bias++;
      if (how == 2) entry()->replaced = 1;
      if (how == 3) scene.maps[1].flags |= PFP_WRITE;
      if (how == 4) CHECK(mprotect((void *)scene_page(CODE), PAGE, PROT_READ | PROT_WRITE) == 0), ++scene_memory[0];
      if (how == 5) pfp_files_forget(files);
      CHECK_NUMBER(take(), PFP_OK);
      CHECK((memcmp(seen.contents[1], KEPT, sizeof KEPT) == 0) == (how == 0));
    }
    place_ahead = 0;
    end_kept();
  }
}

static void an_object_without_constants_has_a_digest(void) {
  scene_begin();
  for (size_t i = 0; i < 2; i++) scene.items[0].segments[i].flags |= PFP_WRITE;
  CHECK_NUMBER(take(), PFP_OK);
  CHECK_NUMBER(seen.has_code, 1);
  end();
}

static const struct test tests[] = {
    TEST("private pages are counted for the object that they are of", each_object_has_its_own_pages),
    TEST("private pages are unknown where there is no pagemap", pages_without_a_pagemap_are_unknown),
    TEST("private pages that come during a look count, and those that go still do", more_pages_count_and_fewer_do_not),
    TEST("private pages that were unknown stay so", pages_that_were_unknown_stay_so),
    TEST("a segment takes the whole of its first and last page", segments_take_whole_pages),
    TEST("data may be executed if the headers say so", headers_may_let_data_be_executed),
    TEST("cleared data has no place in the file", cleared_data_has_no_place_in_the_file),
    TEST("an object that is not mapped at its first segment has no file",
         an_object_without_its_first_mapping_has_no_file),
    TEST("places are looked at twice, whether code is hashed or not", places_are_looked_at_twice),
    TEST("an object whose path leads nowhere is replaced, and a path has 4095 bytes", a_path_that_is_gone_is_replaced),
    TEST("a constant segment of no bytes of the file is not hashed", constants_that_are_not_the_files_are_not_hashed),
    TEST("the vdso is identified and not hashed", the_vdso_is_identified),
    TEST("a list of objects that changes once is looked at again", a_list_that_changes_once_is_looked_at_again),
    TEST("all findings of a clean object are kept", all_of_a_clean_object_is_kept),
    TEST("an object that is not clean is not kept", an_object_that_is_not_clean_is_not_kept),
    TEST("pages are counted twice if code is hashed, and once if all is known", what_is_hashed_is_looked_at_twice),
    TEST("constants are kept if the kernel vouches for them", constants_are_kept_if_the_kernel_vouches),
    TEST("an object without constants has a digest", an_object_without_constants_has_a_digest),
    TEST("kept links stand for the same words of the same object", kept_links_are_of_this_object_and_these_words),
};

const struct suite process_again_suite = SUITE("again", tests);
