// SPDX-License-Identifier: Apache-2.0

/// Objects as the loader tells them: segments, RELRO, tables, notes and names, from program headers that are made by
/// hand. dl_iterate_phdr stands before the loader's.

#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

#include "process/process.h"
#include "process_suites.h"
#include "wrapped.h"

enum { PAGE = 4096, OBJECTS = 40, HEADERS = 20, WHOLE = sizeof(struct dl_phdr_info) };

/// The loader's list while a test plays; no object: its own.
static struct dl_phdr_info infos[OBJECTS];
static size_t info_count, info_size;

typedef int (*visitor)(struct dl_phdr_info *info, size_t size, void *context);

WRAPPED(int, dl_iterate_phdr, visitor visit, void *context) {
  int answer = 0;
  if (info_count == 0) return __real_dl_iterate_phdr(visit, context);
  for (size_t i = 0; i < info_count && answer == 0; i++) answer = visit(&infos[i], info_size, context);
  return answer;
}

/// One object's memory. Its load address is two pages before it.
static _Alignas(PAGE) struct {
  ElfW(Dyn) dynamic[16];
  char strings[512];
  uint8_t notes[512];
  uint8_t rest[4 * PAGE];
} image;
static ElfW(Phdr) headers[HEADERS];
static size_t dynamic_count;
static struct pfp_objects objects;
static const struct pfp_object *object;

static uintptr_t bias(void) { return (uintptr_t)&image - 2 * PAGE; }

static void header(uint32_t type, uintptr_t at, size_t size) {
  headers[infos[1].dlpi_phnum++] =
      (ElfW(Phdr)){.p_type = type, .p_flags = PF_R, .p_vaddr = at - bias(), .p_memsz = size, .p_filesz = size};
}

static void dynamic(ElfW(Sxword) tag, uint64_t value) {
  image.dynamic[dynamic_count++] = (ElfW(Dyn)){.d_tag = tag, .d_un.d_val = value};
}

/// An executable of one byte, and a library that the test gives its headers.
static void begin(void) {
  static const ElfW(Phdr) first = {.p_type = PT_LOAD, .p_memsz = 1, .p_filesz = 1};
  static const char byte;
  memset(&image, 0, sizeof image);
  memset(headers, 0, sizeof headers);
  memset(infos, 0, sizeof infos);
  dynamic_count = 0;
  infos[0] =
      (struct dl_phdr_info){.dlpi_addr = (uintptr_t)&byte, .dlpi_name = "", .dlpi_phdr = &first, .dlpi_phnum = 1};
  infos[1] = (struct dl_phdr_info){.dlpi_addr = bias(), .dlpi_name = "/lib/file.so", .dlpi_phdr = headers};
  info_count = 2;
  info_size = WHOLE;
}

/// A library with one segment over all of it, and a dynamic section.
static void begin_whole(void) {
  begin();
  header(PT_LOAD, (uintptr_t)&image, sizeof image);
  header(PT_DYNAMIC, (uintptr_t)&image, sizeof image.dynamic);
}

static bool take(void) {
  if (!CHECK_NUMBER(pfp_objects_read(&objects), 0)) return false;
  object = objects.count > 1 ? &objects.items[1] : &objects.items[0];
  return true;
}

static void end(void) {
  pfp_objects_free(&objects);
  info_count = 0;
}

// Segments -------------------------------------------------------------------------------------------------------

static void segments_are_the_loaded_headers(void) {
  const uintptr_t low = (uintptr_t)&image;
  begin();
  header(PT_LOAD, low + 2 * PAGE, 300);
  header(PT_LOAD, low + 100, 200);
  header(PT_NULL, low - PAGE, 9 * PAGE);
  header(PT_LOAD, low + PAGE, 2 * PAGE);
  headers[0].p_flags = PF_X;
  headers[1].p_flags = PF_W;
  headers[1].p_filesz = 77;
  headers[1].p_offset = 5;
  headers[3].p_flags = PF_R | PF_X;
  if (take()) {
    const struct pfp_segment *second = &object->segments[1];
    CHECK_COUNT(object->segment_count, 3);
    CHECK_COUNT(object->low, low + 100);
    CHECK_COUNT(object->high, low + 3 * PAGE);
    CHECK_COUNT(object->bias, low - 2 * PAGE);
    CHECK(object->segments[0].flags == 4 && second->flags == 2 && object->segments[2].flags == 5);
    CHECK(second->start == low + 100 && second->size == 200 && second->file_size == 77 && second->offset == 5);
    CHECK_NUMBER(object->misplaced, 0);
    CHECK(object->dynamic == NULL && object->build_id == NULL && object->strings == NULL);
    CHECK(object->relro == 0 && object->relro_end == 0);
  }
  end();
}

/// Sixteen are looked at. One more still counts for the object's place.
static void more_segments_than_sixteen_are_misplaced(void) {
  for (unsigned count = 16; count <= 18; count++) {
    test_case("%u segments", count);
    begin();
    for (unsigned i = 0; i < count; i++) header(PT_LOAD, (uintptr_t)&image + 64 * i, 64);
    if (take()) {
      CHECK_COUNT(object->segment_count, 16);
      CHECK_NUMBER(object->misplaced, count - 16);
      CHECK_COUNT(object->high, (uintptr_t)&image + 64 * count);
      CHECK_COUNT(object->segments[15].start, (uintptr_t)&image + 64 * 15);
    }
    end();
  }
}

/// Whole pages are protected: the end goes down to one, and not below the beginning.
static void relro_ends_with_its_last_whole_page(void) {
  static const struct {
    size_t from, size, end;
  } CASES[] = {{16, 2 * PAGE - 16, 2 * PAGE}, {16, 2 * PAGE - 17, PAGE}, {16, 2 * PAGE - 15, 2 * PAGE},
               {16, PAGE - 16, PAGE},         {16, PAGE - 17, 16},       {16, 1, 16},
               {0, PAGE, PAGE},               {1, PAGE, PAGE}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    test_case("from %zu, %zu bytes", CASES[i].from, CASES[i].size);
    begin_whole();
    header(PT_GNU_RELRO, (uintptr_t)&image + CASES[i].from, CASES[i].size);
    if (take()) {
      CHECK_COUNT(object->relro, (uintptr_t)&image + CASES[i].from);
      CHECK_COUNT(object->relro_end, (uintptr_t)&image + CASES[i].end);
    }
    end();
  }
}

static void an_object_without_segments_is_none(void) {
  begin();
  header(PT_DYNAMIC, (uintptr_t)&image, sizeof image.dynamic);
  if (take()) CHECK_COUNT(objects.count, 1);
  end();
  test_case("before the executable");
  begin();
  infos[1] = infos[0];
  infos[0].dlpi_phnum = 0;
  if (take()) {
    CHECK_COUNT(objects.count, 1);
    CHECK(objects.items[0].is_executable == 1 && strcmp(objects.items[0].name, "executable") == 0);
  }
  end();
}

static void the_vdso_is_where_the_kernel_says(void) {
  const uintptr_t vdso = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
  if (vdso == 0) {
    test_note("    skipped: this kernel gives no vdso");
    return;
  }
  for (uintptr_t off = 0; off < 2; off++) {
    begin();
    header(PT_LOAD, vdso + off, 64);
    if (take()) CHECK_NUMBER(object->is_vdso, off == 0);
    end();
  }
}

// Tables ---------------------------------------------------------------------------------------------------------

/// The strings lie in the object with all of their bytes.
static void strings_lie_in_the_object(void) {
  const uintptr_t low = (uintptr_t)&image, high = low + sizeof image;
  const struct {
    uintptr_t at;
    size_t size;
    bool known;
  } cases[] = {{low, 1, true},      {low, sizeof image, true}, {low, sizeof image + 1, false}, {low - 1, 1, false},
               {high - 9, 9, true}, {high - 9, 10, false},     {high, 0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("case %zu", i);
    begin_whole();
    dynamic(DT_STRTAB, cases[i].at - bias());
    dynamic(DT_STRSZ, cases[i].size);
    if (take()) {
      CHECK(object->strings == (cases[i].known ? (const char *)cases[i].at : NULL));
      CHECK_COUNT(object->strings_size, cases[i].size);
      CHECK(object->dynamic == image.dynamic);
    }
    end();
  }
}

static void flags_tell_when_an_object_binds_and_relocates(void) {
  static const struct {
    ElfW(Sxword) tag;
    uint64_t value;
    int now, text;
  } CASES[] = {{DT_FLAGS, 8, 1, 0},        {DT_FLAGS_1, 1, 1, 0},       {DT_BIND_NOW, 0, 1, 0}, {DT_FLAGS, 4, 0, 1},
               {DT_TEXTREL, 0, 0, 1},      {DT_FLAGS, 8 | 4, 1, 1},     {DT_FLAGS, 2 | 16, 0, 0},
               {DT_FLAGS_1, ~1u, 0, 0},    {DT_PLTGOT, 1, 0, 0},        {DT_FLAGS, ~12u, 0, 0}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    test_case("tag %lld, value %llu", (long long)CASES[i].tag, (unsigned long long)CASES[i].value);
    begin_whole();
    dynamic(CASES[i].tag, CASES[i].value);
    if (take()) {
      CHECK_NUMBER(object->binds_now, CASES[i].now);
      CHECK_NUMBER(object->relocates_text, CASES[i].text);
    }
    end();
  }
}

// Notes ----------------------------------------------------------------------------------------------------------

static size_t notes_size;

/// Sizes, type, name and bytes, each part padded to four. The bytes begin with their own number.
static void note(uint32_t type, const char *name, uint32_t name_size, uint32_t size) {
  uint8_t *at = image.notes + notes_size;
  put32(at, name_size);
  put32(at + 4, size);
  put32(at + 8, type);
  memcpy(at + 12, name, name_size);
  at += 12 + (name_size + 3) / 4 * 4;
  for (uint32_t i = 0; i < size; i++) at[i] = (uint8_t)(notes_size + i);
  notes_size = (size_t)(at - image.notes) + (size + 3) / 4 * 4;
}

static void begin_notes(void) {
  begin_whole();
  notes_size = 0;
}

/// The build id that is found if the notes have this size: `size` bytes at `at`, or none.
static void check_id(size_t notes, size_t at, size_t size) {
  header(PT_NOTE, (uintptr_t)image.notes, notes);
  if (take()) {
    CHECK(object->build_id == (at != 0 ? image.notes + at : NULL));
    CHECK_COUNT(object->build_id_size, size);
  }
  end();
}

static void the_build_id_is_found_behind_other_notes(void) {
  static const struct {
    const char *name;
    uint32_t type, name_size, size;
  } OTHERS[] = {{"GNU", 1, 4, 16},   {"GNU", 4, 4, 5},  {"stapsdt", 3, 8, 20}, {"ABCD", 3, 5, 20},
                {"GNUX", 3, 4, 20},  {"GNU", 3, 3, 20}, {"ABC", 3, 4, 6},      {"GNU", 2, 4, 7},
                {"ABCDEFGHI", 1, 9, 1}, {"", 3, 0, 0}};
  for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
    size_t before;
    test_case("behind note %zu", i);
    begin_notes();
    note(OTHERS[i].type, OTHERS[i].name, OTHERS[i].name_size, OTHERS[i].size);
    before = notes_size;
    check_id(before, 0, 0);
    begin_notes();
    note(OTHERS[i].type, OTHERS[i].name, OTHERS[i].name_size, OTHERS[i].size);
    note(3, "GNU", 4, 20);
    check_id(notes_size, before + 16, 20);
  }
}

/// Notes that end within the id, with it, or within its head. Behind their end stands another one.
static void notes_end_with_their_segment(void) {
  for (size_t short_ = 0; short_ <= 36; short_++) {
    test_case("%zu bytes short", short_);
    begin_notes();
    note(3, "GNU", 4, 20);
    note(3, "GNU", 4, 20);
    check_id(36 - short_, short_ == 0 ? 16 : 0, short_ == 0 ? 20 : 0);
  }
  test_case("an id of no bytes");
  begin_notes();
  note(3, "GNU", 4, 0);
  check_id(16, 16, 0);
  test_case("padding that reaches beyond");
  begin_notes();
  note(1, "GNU", 4, 1);
  note(3, "GNU", 4, 20);
  check_id(17, 0, 0);
}

static void the_first_segment_of_notes_with_an_id_counts(void) {
  begin_notes();
  note(3, "GNU", 4, 20);
  note(1, "GNU", 4, 4);
  note(3, "GNU", 4, 8);
  header(PT_NOTE, (uintptr_t)image.notes + 36, 20);
  header(PT_NOTE, (uintptr_t)image.notes + 56, 24);
  // Another one behind these, whose id is not taken.
  check_id(36, 56 + 16, 8);
}

// Names ----------------------------------------------------------------------------------------------------------

static void check_name(const char *loader, const char *soname, uint64_t offset, const char *expected) {
  begin_whole();
  infos[1].dlpi_name = loader;
  if (soname != NULL) {
    (void)strcpy(image.strings + 3, soname);
    dynamic(DT_STRTAB, (uintptr_t)image.strings - bias());
    dynamic(DT_STRSZ, 3 + strlen(soname) + 1);
    dynamic(DT_SONAME, offset);
  }
  if (take()) {
    CHECK(object->is_executable == 0 && objects.items[0].is_executable == 1);
    if (!CHECK(strcmp(object->name, expected) == 0)) test_note("said: %s", object->name);
  }
  end();
}

static void an_object_has_its_own_name_or_its_files(void) {
  char longest[260], cut[201];
  memset(longest, 'n', sizeof longest);
  longest[sizeof longest - 1] = 0;
  memset(cut, 'n', sizeof cut);
  cut[200] = 0;
  check_name("/lib/file.so", "libown.so.1", 3, "libown.so.1");
  check_name("/lib/file.so", "", 3, "file.so");
  check_name("/lib/file.so", "libown.so.1", 400, "file.so");
  check_name("/lib/file.so", NULL, 0, "file.so");
  check_name("file.so", NULL, 0, "file.so");
  check_name("", NULL, 0, "nameless");
  check_name(NULL, NULL, 0, "nameless");
  check_name("", "libown.so.1", 3, "libown.so.1");
  check_name("/lib/file.so", longest, 3, cut);
}

// Lists ----------------------------------------------------------------------------------------------------------

/// An older loader's list ends before the counters.
static void counters_are_read_if_the_loader_has_them(void) {
  static const size_t END = offsetof(struct dl_phdr_info, dlpi_subs) + 8;
  for (unsigned short_ = 0; short_ < 2; short_++) {
    test_case("%u bytes short", short_);
    begin_whole();
    infos[1].dlpi_adds = infos[0].dlpi_adds = 21;
    infos[1].dlpi_subs = infos[0].dlpi_subs = 4;
    info_size = END - short_;
    if (take()) {
      CHECK_COUNT(objects.added, short_ ? 0 : 21);
      CHECK_COUNT(objects.removed, short_ ? 0 : 4);
      CHECK_NUMBER(pfp_objects_current(&objects), 1);
      infos[0].dlpi_adds++;
      CHECK_NUMBER(pfp_objects_current(&objects), short_);
    }
    end();
  }
}

/// The list has the loader's order, and one of addresses, however long it is.
static void long_lists_are_whole_and_sorted(void) {
  static ElfW(Phdr) each[OBJECTS];
  begin();
  for (size_t i = 0; i < OBJECTS; i++) {
    // Each one before the last one.
    each[i] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_memsz = 8, .p_filesz = 8};
    infos[i] = (struct dl_phdr_info){.dlpi_addr = (uintptr_t)&image.rest[8 * (OBJECTS - i)],
                                     .dlpi_name = "x",
                                     .dlpi_phdr = &each[i],
                                     .dlpi_phnum = 1};
  }
  info_count = OBJECTS;
  if (take() && CHECK_COUNT(objects.count, OBJECTS)) {
    for (size_t i = 0; i < OBJECTS; i++) {
      CHECK_COUNT(objects.items[i].low, (uintptr_t)&image.rest[8 * (OBJECTS - i)]);
      CHECK_COUNT(objects.by_address[i], OBJECTS - 1 - i);
      CHECK(pfp_objects_at(&objects, objects.items[i].low + 7) == &objects.items[i]);
    }
  }
  end();
}

static const struct test tests[] = {
    TEST("segments are the headers that are loaded, and the object is from the lowest to the highest byte",
         segments_are_the_loaded_headers),
    TEST("segments beyond sixteen are misplaced", more_segments_than_sixteen_are_misplaced),
    TEST("RELRO ends with its last whole page", relro_ends_with_its_last_whole_page),
    TEST("an object without segments is none", an_object_without_segments_is_none),
    TEST("the vdso is the object at the kernel's address", the_vdso_is_where_the_kernel_says),
    TEST("strings count if all of them lie in the object", strings_lie_in_the_object),
    TEST("each flag tells that an object binds at once or relocates its code",
         flags_tell_when_an_object_binds_and_relocates),
    TEST("the build id is found behind any other note", the_build_id_is_found_behind_other_notes),
    TEST("notes end with their segment", notes_end_with_their_segment),
    TEST("the first segment of notes with a build id counts", the_first_segment_of_notes_with_an_id_counts),
    TEST("an object is named by itself, else by its file", an_object_has_its_own_name_or_its_files),
    TEST("the loader's counters are read if its list has them", counters_are_read_if_the_loader_has_them),
    TEST("a long list is whole, and sorted by address", long_lists_are_whole_and_sorted),
};

const struct suite process_headers_suite = SUITE("headers", tests);
