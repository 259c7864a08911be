// SPDX-License-Identifier: Apache-2.0

/// Loaded objects by name, by address and by need, on objects made by hand.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process_made.h"
#include "process_suites.h"

static size_t index_at(uintptr_t address) {
  const struct pfp_object *object = pfp_objects_at(&made.objects, address);
  return object != NULL ? (size_t)(object - made.items) : SIZE_MAX;
}

static void explain(const char *const *plugins, size_t count) { pfp_objects_explain(&made.objects, plugins, count); }

static void forget_names(void) {
  free(made.objects.names);
  made.objects.names = NULL;
}

/// Forgets what the executable needs.
static void need_nothing(void) {
  struct made_image *image = &made.images[MADE_EXECUTABLE];
  for (size_t i = 0; i < image->dynamic_count; i++) {
    if (image->dynamic[i].d_tag == DT_NEEDED) image->dynamic[i].d_tag = DT_DEBUG;
  }
}

static void need(size_t object, const char *name) { made_dynamic(object, DT_NEEDED, made_string(object, name)); }

// Dynamic sections -----------------------------------------------------------------------------------------------

/// An address in the object is one in memory; any other lacks the load address.
static void dynamic_addresses_are_in_memory(void) {
  struct pfp_object *own = &made.items[MADE_OWN];
  made_begin();
  made_dynamic(MADE_OWN, DT_INIT, own->low);
  made_dynamic(MADE_OWN, DT_FINI, own->high - 1);
  made_dynamic(MADE_OWN, DT_RELA, own->high);
  made_dynamic(MADE_OWN, DT_RELR, own->low - 1);
  made_dynamic(MADE_OWN, DT_PLTGOT, 24);
  made_dynamic(MADE_OWN, DT_PLTGOT, 32);
  CHECK_COUNT(pfp_dynamic_address(own, DT_INIT), own->low);
  CHECK_COUNT(pfp_dynamic_address(own, DT_FINI), own->high - 1);
  CHECK_COUNT(pfp_dynamic_address(own, DT_RELA), own->high + own->bias);
  CHECK_COUNT(pfp_dynamic_address(own, DT_RELR), own->low - 1 + own->bias);
  CHECK_COUNT(pfp_dynamic_address(own, DT_PLTGOT), own->bias + 24);
  CHECK_COUNT(pfp_dynamic_address(own, DT_JMPREL), 0);
  CHECK_COUNT(pfp_dynamic_value(own, DT_PLTGOT, 7), 24);
  CHECK_COUNT(pfp_dynamic_value(own, DT_JMPREL, 7), 7);
  // Entries behind the end do not count.
  made_dynamic(MADE_OWN, DT_NULL, 0);
  made_dynamic(MADE_OWN, DT_JMPREL, 48);
  CHECK_COUNT(pfp_dynamic_address(own, DT_JMPREL), 0);
  CHECK_COUNT(pfp_dynamic_value(own, DT_JMPREL, 7), 7);
  own->dynamic = NULL;
  CHECK_COUNT(pfp_dynamic_address(own, DT_PLTGOT), 0);
  CHECK_COUNT(pfp_dynamic_value(own, DT_PLTGOT, 7), 7);
}

// Addresses ------------------------------------------------------------------------------------------------------

static void objects_are_found_by_address(void) {
  made_begin();
  for (size_t i = 0; i < MADE_OBJECTS; i++) made.items[i].high = made.items[i].low + 64;
  for (size_t i = 0; i < MADE_OBJECTS; i++) {
    test_case("object %zu", i);
    CHECK_COUNT(index_at(made.items[i].low - 1), SIZE_MAX);
    CHECK_COUNT(index_at(made.items[i].low), i);
    CHECK_COUNT(index_at(made.items[i].high - 1), i);
    CHECK_COUNT(index_at(made.items[i].high), SIZE_MAX);
  }
}

// Names ----------------------------------------------------------------------------------------------------------

/// By its own name or its file's, with or without sorted names; the first in the order of loading.
static void objects_are_found_by_name(void) {
  made_begin();
  (void)strcpy(made.items[MADE_OTHER].path, "/lib/other-1.2.so");
  (void)strcpy(made.items[MADE_LOADER].path, "/lib/libapart.so");
  (void)strcpy(made.items[MADE_VDSO].name, "libown.so");
  for (unsigned sorted = 0; sorted < 2; sorted++) {
    test_case("%s", sorted ? "sorted" : "one by one");
    if (sorted) explain(NULL, 0);
    CHECK_COUNT(pfp_objects_named(&made.objects, "executable"), MADE_EXECUTABLE);
    CHECK_COUNT(pfp_objects_named(&made.objects, "libown.so"), MADE_OWN);
    CHECK_COUNT(pfp_objects_named(&made.objects, "libother.so"), MADE_OTHER);
    CHECK_COUNT(pfp_objects_named(&made.objects, "other-1.2.so"), MADE_OTHER);
    CHECK_COUNT(pfp_objects_named(&made.objects, "libapart.so"), MADE_LOADER);
    CHECK_COUNT(pfp_objects_named(&made.objects, "ld-made.so"), MADE_LOADER);
    CHECK_COUNT(pfp_objects_named(&made.objects, "/lib/other-1.2.so"), SIZE_MAX);
    CHECK_COUNT(pfp_objects_named(&made.objects, "zzz"), SIZE_MAX);
    CHECK_COUNT(pfp_objects_named(&made.objects, "a"), SIZE_MAX);
    CHECK_COUNT(pfp_objects_named(&made.objects, "libown"), SIZE_MAX);
  }
  forget_names();
}

/// A need is a string of the object's own table, with or without folders.
static void needs_are_strings_of_the_object(void) {
  struct pfp_object *own = &made.items[MADE_OWN];
  uint32_t plain, below, last;
  made_begin();
  plain = made_string(MADE_OWN, "libother.so");
  below = made_string(MADE_OWN, "/opt/lib/libother.so");
  last = made_string(MADE_OWN, "libother.so");
  CHECK_COUNT(pfp_objects_needed(&made.objects, own, plain), MADE_OTHER);
  CHECK_COUNT(pfp_objects_needed(&made.objects, own, below), MADE_OTHER);
  CHECK_COUNT(pfp_objects_needed(&made.objects, own, last), MADE_OTHER);
  CHECK_COUNT(pfp_objects_needed(&made.objects, own, own->strings_size), SIZE_MAX);
  // The last string lacks its end.
  own->strings_size--;
  CHECK_COUNT(pfp_objects_needed(&made.objects, own, last), SIZE_MAX);
  CHECK_COUNT(pfp_objects_needed(&made.objects, own, plain), MADE_OTHER);
  own->strings = NULL;
  CHECK_COUNT(pfp_objects_needed(&made.objects, own, plain), SIZE_MAX);
}

/// Names that follow each other, in the other order, with no name before them; and an object behind the list.
static void neighbours_in_name_are_told_apart(void) {
  made_begin();
  for (size_t i = 0; i < MADE_OBJECTS; i++) (void)strcpy(made.items[i].path, "/z");
  (void)strcpy(made.items[MADE_OWN].name, "b.so");
  (void)strcpy(made.items[MADE_OTHER].name, "a.so");
  (void)strcpy(made.items[MADE_OBJECTS].name, "behind");
  made.items[MADE_OBJECTS].is_vdso = 1;
  for (unsigned sorted = 0; sorted < 2; sorted++) {
    if (sorted) explain(NULL, 0);
    CHECK_COUNT(pfp_objects_named(&made.objects, "a.so"), MADE_OTHER);
    CHECK_COUNT(pfp_objects_named(&made.objects, "b.so"), MADE_OWN);
    CHECK_COUNT(pfp_objects_named(&made.objects, "z"), MADE_EXECUTABLE);
    CHECK_COUNT(pfp_objects_named(&made.objects, "behind"), SIZE_MAX);
  }
  CHECK_NUMBER(made.items[MADE_OBJECTS].explained, 0);
  forget_names();
}

// Explanations ---------------------------------------------------------------------------------------------------

#define CHECK_EXPLAINED(...)                                                                          \
  do {                                                                                                \
    const int expected_[MADE_OBJECTS] = {__VA_ARGS__};                                                \
    for (size_t i_ = 0; i_ < MADE_OBJECTS; i_++) CHECK_NUMBER(made.items[i_].explained, expected_[i_]); \
    forget_names();                                                                                   \
  } while (0)

static void needs_explain(void) {
  made_begin();
  explain(NULL, 0);
  CHECK_EXPLAINED(1, 1, 1, 1, 1, 0);
  // Through others, in a circle.
  made_begin();
  need_nothing();
  need(MADE_EXECUTABLE, "libapart.so");
  need(MADE_APART, "ld-made.so");
  need(MADE_LOADER, "libapart.so");
  explain(NULL, 0);
  CHECK_EXPLAINED(1, 0, 0, 1, 1, 1);
}

static void plugins_explain(void) {
  static const char *const PLUGINS[] = {"libother.so", "libmissing.so", "libapart.so"};
  made_begin();
  need_nothing();
  need(MADE_OTHER, "ld-made.so");
  explain(PLUGINS, 1);
  CHECK_EXPLAINED(1, 0, 1, 1, 1, 0);
  made_begin();
  need_nothing();
  explain(PLUGINS, 3);
  CHECK_EXPLAINED(1, 0, 1, 0, 1, 1);
}

static void a_second_object_of_a_name_is_not_explained(void) {
  made_begin();
  (void)strcpy(made.items[MADE_APART].name, "libown.so");
  explain(NULL, 0);
  CHECK_EXPLAINED(1, 1, 1, 1, 1, 0);
}

// The loader's list ----------------------------------------------------------------------------------------------

static void a_changed_list_is_not_current(void) {
  struct pfp_objects objects;
  REQUIRE(CHECK_NUMBER(pfp_objects_read(&objects), 0));
  CHECK_NUMBER(pfp_objects_current(&objects), 1);
  CHECK(objects.added >= objects.count - 1);
  objects.added++;
  CHECK_NUMBER(pfp_objects_current(&objects), 0);
  objects.added--;
  objects.removed++;
  CHECK_NUMBER(pfp_objects_current(&objects), 0);
  pfp_objects_free(&objects);
  CHECK(objects.items == NULL && objects.names == NULL && objects.by_address == NULL && objects.count == 0);
}

extern const ElfW(Ehdr) __ehdr_start;  ///< The linker's name of where this program begins

/// Segments are the program headers, in their order, and flags each for itself.
static void check_segments(const struct pfp_object *own) {
  const ElfW(Phdr) *headers = (const ElfW(Phdr) *)((uintptr_t)&__ehdr_start + __ehdr_start.e_phoff);
  size_t count = 0;
  for (size_t i = 0; i < __ehdr_start.e_phnum; i++) {
    const struct pfp_segment *segment = &own->segments[count];
    test_case("header %zu", i);
    if (headers[i].p_type != PT_LOAD || !CHECK(count < own->segment_count)) continue;
    CHECK_COUNT(segment->start, own->bias + headers[i].p_vaddr);
    CHECK_COUNT(segment->size, headers[i].p_memsz);
    CHECK_COUNT(segment->file_size, headers[i].p_filesz);
    CHECK_COUNT(segment->offset, headers[i].p_offset);
    CHECK_NUMBER((segment->flags & PFP_READ) != 0, (headers[i].p_flags & PF_R) != 0);
    CHECK_NUMBER((segment->flags & PFP_WRITE) != 0, (headers[i].p_flags & PF_W) != 0);
    CHECK_NUMBER((segment->flags & PFP_EXECUTE) != 0, (headers[i].p_flags & PF_X) != 0);
    CHECK_COUNT(own->low <= segment->start && own->high >= segment->start + segment->size, 1);
    count++;
  }
  CHECK_COUNT(count, own->segment_count);
  CHECK_COUNT(own->low, own->segments[0].start);
  CHECK_COUNT(own->high, own->segments[count - 1].start + own->segments[count - 1].size);
}

static void objects_are_what_their_headers_say(void) {
  struct pfp_objects objects;
  const struct pfp_object *own;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  REQUIRE(CHECK_NUMBER(pfp_objects_read(&objects), 0));
  own = &objects.items[0];
  CHECK(strcmp(own->name, "executable") == 0 && own->is_executable && !own->is_vdso);
  CHECK_COUNT(own->low, (uintptr_t)&__ehdr_start);
  check_segments(own);
  CHECK_COUNT(own->relro_end % page, 0);
  CHECK(own->relro > own->low && own->relro < own->relro_end && own->relro_end <= own->high);
  for (size_t i = 1; i < objects.count; i++) {
    CHECK(objects.items[i].name[0] != 0 && !objects.items[i].is_executable);
    CHECK_NUMBER(objects.items[i].relocates_text, 0);
    CHECK(pfp_objects_at(&objects, objects.items[i].low) == &objects.items[i]);
  }
  pfp_objects_free(&objects);
}

/// The note with the build id, as the linker wrote it into this program and the system's libraries.
static void build_ids_are_those_of_the_notes(void) {
  struct pfp_objects objects;
  REQUIRE(CHECK_NUMBER(pfp_objects_read(&objects), 0));
  for (size_t i = 0; i < objects.count; i++) {
    const struct pfp_object *object = &objects.items[i];
    if (object->build_id == NULL) continue;
    test_case("%s", object->name);
    CHECK_COUNT(object->build_id_size, 20);
    // The head of the note: sizes of name and id, type, name.
    CHECK_COUNT(get32(object->build_id - 16), 4);
    CHECK_COUNT(get32(object->build_id - 12), 20);
    CHECK_COUNT(get32(object->build_id - 8), 3);
    CHECK_BYTES(object->build_id - 4, "GNU", 4);
  }
  pfp_objects_free(&objects);
}

static void read_and_free(void) {
  struct pfp_objects objects;
  REQUIRE(CHECK_NUMBER(pfp_objects_read(&objects), 0));
  pfp_objects_explain(&objects, NULL, 0);
  pfp_objects_explain(&objects, NULL, 0);
  pfp_objects_free(&objects);
}

static void lists_leave_nothing_behind(void) { CHECK_COUNT(made_left(read_and_free), 0); }

static const struct test tests[] = {
    TEST("entries of a dynamic section are found up to its end", dynamic_addresses_are_in_memory),
    TEST("an object is found by each of its addresses and by no other", objects_are_found_by_address),
    TEST("the first object of a name is found, by its own name or its file's", objects_are_found_by_name),
    TEST("neighbours in name are told apart", neighbours_in_name_are_told_apart),
    TEST("a need is a whole string of the object's own table", needs_are_strings_of_the_object),
    TEST("what the executable needs is explained, and the vdso", needs_explain),
    TEST("what a declared plugin needs is explained", plugins_explain),
    TEST("a second object of a name is not explained", a_second_object_of_a_name_is_not_explained),
    TEST("a list of objects is current until the loader adds or removes one", a_changed_list_is_not_current),
    TEST("this program's object is what its program headers say", objects_are_what_their_headers_say),
    TEST("a build id is what the note has", build_ids_are_those_of_the_notes),
    TEST("lists of objects leave no memory behind", lists_leave_nothing_behind),
};

const struct suite process_objects_suite = SUITE("objects", tests);
