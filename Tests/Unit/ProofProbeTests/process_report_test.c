// SPDX-License-Identifier: Apache-2.0

/// Records and words for each thing that a look at the process may find, from views that are made by hand.

#include <string.h>

#include "process_suites.h"
#include "process_words.h"
#include "sources.h"

static struct pfp_view view;
static struct pfp_mapping mappings[8];
static char names[512];

enum { PAGE = 4096 };
static const uintptr_t CODE = 0x10000000;  ///< Three pages of code of MADE_OWN

/// Objects that are all as they should be, and no mapping.
static void begin(void) {
  made_begin();
  memset(&view, 0, sizeof view);
  evidence_begin();
  view.objects = made.objects;
  view.has_mappings = 1;
  view.mappings = (struct pfp_mappings){.items = mappings, .names = names, .names_size = 1};
  for (size_t i = 0; i < MADE_OBJECTS; i++) {
    struct pfp_object *object = &made.items[i];
    object->has_code = object->has_links = object->explained = 1;
    memset(object->code, (int)i + 1, sizeof object->code);
    memset(object->links, (int)i + 101, sizeof object->links);
  }
  made.items[MADE_OWN].segments[2] = (struct pfp_segment){CODE, 3 * PAGE, 3 * PAGE, 0, PFP_READ | PFP_EXECUTE};
  // Behind the last segment, and behind the last object, stands more code; and that object is not as it should be.
  made.items[MADE_OWN].segments[3] = (struct pfp_segment){CODE + 3 * PAGE, PAGE, PAGE, 0, PFP_READ | PFP_EXECUTE};
  made.items[MADE_OBJECTS] = made.items[MADE_OWN];
  made.items[MADE_OBJECTS].segments[2] = made.items[MADE_OWN].segments[3];
  (void)strcpy(made.items[MADE_OBJECTS].name, "behind");
  made.items[MADE_OBJECTS].explained = 0;
  made.items[MADE_OBJECTS].misplaced = 1;
  made.items[MADE_OBJECTS].replaced = 1;
  made.items[MADE_OBJECTS].private_pages = 1;
}

static void map(uintptr_t start, uintptr_t end, unsigned flags, uint64_t inode, const char *name) {
  struct pfp_mappings *all = &view.mappings;
  mappings[all->count++] = (struct pfp_mapping){start, end, 0, inode, 7, flags, all->names_size};
  (void)strcpy(names + all->names_size, name);
  all->names_size += strlen(name) + 1;
}

/// A finding of these names, in the order of bytes.
static void check_finding(uint8_t number, const char *name, const char *first, const char *second, const char *told) {
  uint8_t digest[PFC_DIGEST_BYTES];
  page_begin();
  if (first != NULL) page_text(first);
  if (second != NULL) page_text(second);
  page_number((first != NULL ? 1u : 0u) + (second != NULL ? 1u : 0u));
  page_digest(digest, "pfp1.finding....");
  evidence_check(PFC_CLASS_ENVIRONMENT, number, name, digest, told != NULL, told);
}

static const char *const KINDS[] = {"anonymous", "deleted", "foreign", "memfd", "misplaced", "replaced", "writable"};

/// Every kind of finding about mappings but this one is empty.
static void check_mappings(const char *kind, const char *first, const char *second, const char *told) {
  pfp_view_report(&evidence, &view);
  for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
    bool is_it = kind != NULL && strcmp(kind, KINDS[i]) == 0;
    check_finding(PFP_ENVIRONMENT_MAPPINGS, KINDS[i], is_it ? first : NULL, is_it ? second : NULL,
                  is_it ? told : NULL);
  }
  pfp_evidence_free(&evidence);
}

// Mappings -------------------------------------------------------------------------------------------------------

static void nothing_special_is_no_finding(void) {
  begin();
  map(CODE, CODE + 3 * PAGE, PFP_READ | PFP_EXECUTE, 5, "/lib/libown.so");
  map(CODE + 3 * PAGE, CODE + 9 * PAGE, PFP_READ | PFP_WRITE, 0, "");
  map(CODE + 9 * PAGE, CODE + 10 * PAGE, PFP_READ | PFP_WRITE, 9, "/memfd:shared (deleted)");
  check_mappings(NULL, NULL, NULL, NULL);
}

static void memory_of_no_file_is_anonymous(void) {
  begin();
  map(CODE, CODE + PAGE, PFP_EXECUTE, 0, "");
  check_mappings("anonymous", "", NULL, "memory of no file is executable");
  begin();
  map(CODE, CODE + PAGE, PFP_EXECUTE, 0, "[heap]");
  map(CODE + PAGE, CODE + 2 * PAGE, PFP_EXECUTE, 0, "");
  map(CODE + 2 * PAGE, CODE + 3 * PAGE, PFP_EXECUTE, 0, "[heap]");
  check_mappings("anonymous", "", "[heap]", "memory of no file and 1 more is executable");
}

static void files_that_are_no_code_are_told(void) {
  begin();
  map(CODE, CODE + PAGE, PFP_EXECUTE, 5, "/lib/b (deleted)");
  map(CODE, CODE + PAGE, PFP_EXECUTE, 5, "/lib/a (deleted)");
  check_mappings("deleted", "/lib/a (deleted)", "/lib/b (deleted)",
                 "/lib/a (deleted) and 1 more is executable and was deleted or replaced on disk");
  begin();
  map(CODE, CODE + PAGE, PFP_EXECUTE, 5, "/memfd:x (deleted)");
  check_mappings("memfd", "/memfd:x (deleted)", NULL, "/memfd:x (deleted) is executable and exists in memory only");
  begin();
  map(CODE, CODE + 4 * PAGE, PFP_EXECUTE, 5, "/memfd");
  check_mappings("foreign", "/memfd", NULL, "/memfd is executable and no loaded object's code");
  begin();
  map(CODE, CODE + PAGE, PFP_EXECUTE, 5, " (deleted)");
  check_mappings("deleted", " (deleted)", NULL,
                 " (deleted) is executable and was deleted or replaced on disk");
  begin();
  map(CODE, CODE + 4 * PAGE, PFP_EXECUTE, 5, "(deleted)");
  check_mappings("foreign", "(deleted)", NULL, "(deleted) is executable and no loaded object's code");
}

/// All of a mapping must be code: of one object, or of neighbours.
static void code_is_where_objects_have_it(void) {
  static const struct {
    uintptr_t start, end;
    bool code;
  } CASES[] = {{0, 3, true}, {1, 2, true}, {0, 4, false}, {2, 3, true}, {3, 4, false}, {1, 4, false}};
  for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
    const char *name = "/lib/libown.so";
    test_case("pages %zu to %zu", (size_t)CASES[i].start, (size_t)CASES[i].end);
    begin();
    map(CODE + CASES[i].start * PAGE, CODE + CASES[i].end * PAGE, PFP_EXECUTE, 5, name);
    check_mappings(CASES[i].code ? NULL : "foreign", name, NULL,
                   "/lib/libown.so is executable and no loaded object's code");
  }
  test_case("two objects");
  begin();
  made.items[MADE_OTHER].segments[2] = (struct pfp_segment){CODE + 3 * PAGE, 1, 1, 0, PFP_READ | PFP_EXECUTE};
  map(CODE, CODE + 4 * PAGE, PFP_EXECUTE, 5, "/lib/libown.so");
  check_mappings(NULL, NULL, NULL, NULL);
  test_case("a page before");
  begin();
  map(CODE - PAGE, CODE + PAGE, PFP_EXECUTE, 5, "/lib/libown.so");
  check_mappings("foreign", "/lib/libown.so", NULL, "/lib/libown.so is executable and no loaded object's code");
}

/// Code may stand in any object, and in any segment of it.
static void each_object_may_have_code(void) {
  for (size_t i = 0; i < MADE_OBJECTS; i++) {
    for (size_t j = 0; j < 3; j++) {
      test_case("object %zu, segment %zu", i, j);
      begin();
      made.items[i].segments[j] =
          (struct pfp_segment){CODE + 8 * PAGE, PAGE, PAGE, 0, PFP_READ | PFP_EXECUTE};
      map(CODE + 8 * PAGE, CODE + 9 * PAGE, PFP_EXECUTE, 5, "/lib/any.so");
      check_mappings(NULL, NULL, NULL, NULL);
    }
  }
}

/// Only constant bytes of a file that may be executed are code.
static void data_is_no_code(void) {
  for (unsigned how = 0; how < 3; how++) {
    struct pfp_segment *segment = &made.items[MADE_OWN].segments[2];
    test_case("how %u", how);
    begin();
    if (how == 0) segment->flags = PFP_READ;
    if (how == 1) segment->flags = PFP_READ | PFP_WRITE | PFP_EXECUTE;
    if (how == 2) segment->file_size = 0;
    map(CODE, CODE + PAGE, PFP_EXECUTE, 5, "/x");
    check_mappings("foreign", "/x", NULL, "/x is executable and no loaded object's code");
  }
}

static void writable_code_is_told(void) {
  begin();
  map(CODE, CODE + PAGE, PFP_EXECUTE | PFP_WRITE, 5, "/lib/libown.so");
  check_mappings("writable", "/lib/libown.so", NULL, "/lib/libown.so is executable and writable");
}

/// The kernel's own pages are known by name and place, and have no file.
static void the_kernels_own_pages_are_no_finding(void) {
  static const uintptr_t VSYSCALL = (uintptr_t)0xFFFFFFFFFF600000u;
  const uintptr_t vdso = made_function(MADE_VDSO, 0), other = made_function(MADE_OTHER, 0);
  begin();
  map(VSYSCALL, VSYSCALL + PAGE, PFP_EXECUTE, 0, "[vsyscall]");
  map(vdso, vdso + PAGE, PFP_EXECUTE, 0, "[vdso]");
  check_mappings(NULL, NULL, NULL, NULL);
  begin();
  map(VSYSCALL - PAGE, VSYSCALL, PFP_EXECUTE, 0, "[vsyscall]");
  check_mappings("anonymous", "[vsyscall]", NULL, "[vsyscall] is executable");
  begin();
  map(other, other + PAGE, PFP_EXECUTE, 0, "[vdso]");
  check_mappings("anonymous", "[vdso]", NULL, "[vdso] is executable");
  begin();
  map(CODE, CODE + PAGE, PFP_EXECUTE, 0, "[vdso]");
  check_mappings("anonymous", "[vdso]", NULL, "[vdso] is executable");
  begin();
  map(vdso, vdso + PAGE, PFP_EXECUTE, 0, "[other]");
  check_mappings("anonymous", "[other]", NULL, "[other] is executable");
  begin();
  map(VSYSCALL, VSYSCALL + PAGE, PFP_EXECUTE, 5, "[vsyscall]");
  check_mappings("foreign", "[vsyscall]", NULL, "[vsyscall] is executable and no loaded object's code");
}

static void objects_in_the_wrong_place_are_told(void) {
  begin();
  made.items[MADE_OWN].misplaced = 1;
  check_mappings("misplaced", "libown.so", NULL, "libown.so is not mapped as its program headers say");
  begin();
  made.items[MADE_OTHER].replaced = made.items[MADE_OWN].replaced = 1;
  check_mappings("replaced", "libother.so", "libown.so",
                 "libother.so and 1 more is another file on disk than the one in memory");
}

static void mappings_that_cannot_be_read_are_absent(void) {
  begin();
  view.has_mappings = 0;
  map(CODE, CODE + PAGE, PFP_EXECUTE, 0, "");
  pfp_view_report(&evidence, &view);
  for (size_t i = 0; i < sizeof KINDS / sizeof KINDS[0]; i++) {
    evidence_check(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_MAPPINGS, KINDS[i], NULL, 0, NULL);
  }
  pfp_evidence_free(&evidence);
}

// Objects --------------------------------------------------------------------------------------------------------

static void check_code(const char *name, size_t object, unsigned alarm, const char *told) {
  const struct pfp_object *of = &made.items[object];
  evidence_check(PFC_CLASS_APP, PFP_APP_CODE, name, of->has_code ? of->code : NULL, alarm, told);
}

static void check_links(const char *name, size_t object, unsigned alarm, const char *told) {
  const struct pfp_object *of = &made.items[object];
  evidence_check(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_LINKS, name, of->has_links ? of->links : NULL, alarm, told);
}

static bool has(uint8_t class_, uint8_t number, const char *name) {
  return evidence_record(class_, number, name) != NULL;
}

#define HAS_CODE(name) has(PFC_CLASS_APP, PFP_APP_CODE, name)
#define HAS_LINKS(name) has(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_LINKS, name)

static void each_object_has_its_records(void) {
  begin();
  pfp_view_report(&evidence, &view);
  for (size_t i = 0; i < MADE_OBJECTS; i++) {
    check_code(made.items[i].name, i, 0, NULL);
    if (i != MADE_VDSO) check_links(made.items[i].name, i, 0, NULL);
  }
  CHECK(!HAS_LINKS("linux-vdso"));
  check_finding(PFP_ENVIRONMENT_OBJECTS, "unexplained", NULL, NULL, NULL);
  check_finding(PFP_ENVIRONMENT_PAGES, "private", NULL, NULL, NULL);
  CHECK_COUNT(evidence.count, 2 * MADE_OBJECTS - 1 + 9);
  pfp_evidence_free(&evidence);
}

/// In the order of their digests, whichever was loaded first.
static void objects_of_one_name_are_numbered(void) {
  begin();
  for (size_t i = MADE_OWN; i <= MADE_LOADER; i++) (void)strcpy(made.items[i].name, "same.so");
  memset(made.items[MADE_OWN].code, 9, PFC_DIGEST_BYTES);
  pfp_view_report(&evidence, &view);
  check_code("same.so", MADE_OTHER, 0, NULL);
  check_code("same.so#2", MADE_LOADER, 0, NULL);
  check_code("same.so#3", MADE_OWN, 0, NULL);
  check_links("same.so#3", MADE_OWN, 0, NULL);
  pfp_evidence_free(&evidence);
}

/// Also where no object of another name stands before them.
static void all_objects_of_one_name_are_numbered(void) {
  static const char *const NAMES[] = {"same.so", "same.so#2", "same.so#3", "same.so#4", "same.so#5", "same.so#6"};
  begin();
  for (size_t i = 0; i < MADE_OBJECTS; i++) (void)strcpy(made.items[i].name, "same.so");
  pfp_view_report(&evidence, &view);
  for (size_t i = 0; i < MADE_OBJECTS; i++) check_code(NAMES[i], i, 0, NULL);
  pfp_evidence_free(&evidence);
}

static void report_both(void) {
  for (long pages = -1; pages <= 0; pages++) {
    begin();
    made.items[MADE_OWN].private_pages = 1;
    made.items[MADE_OTHER].private_pages = pages;
    made.items[MADE_OWN].misplaced = 1;
    map(CODE, CODE + PAGE, PFP_EXECUTE, 0, "");
    pfp_view_report(&evidence, &view);
    pfp_evidence_free(&evidence);
  }
}

static void a_report_leaves_nothing_behind(void) { CHECK_COUNT(made_left(report_both), 0); }

static void code_that_cannot_be_read_says_why(void) {
  begin();
  made.items[MADE_OWN].has_code = made.items[MADE_OTHER].has_code = 0;
  made.items[MADE_OTHER].relocates_text = 1;
  pfp_view_report(&evidence, &view);
  check_code("libown.so", MADE_OWN, 0, "cannot be read");
  check_code("libother.so", MADE_OTHER, 0, "relocates its own code, which no digest can follow");
  pfp_evidence_free(&evidence);
}

static void changed_code_comes_before_unexplained(void) {
  begin();
  made.items[MADE_OWN].private_pages = 1;
  made.items[MADE_OTHER].misplaced = 1;
  made.items[MADE_OTHER].explained = made.items[MADE_LOADER].explained = 0;
  pfp_view_report(&evidence, &view);
  check_code("libown.so", MADE_OWN, PFP_ALARM_CHANGED, "code differs from its file");
  check_code("libother.so", MADE_OTHER, PFP_ALARM_CHANGED, "code differs from its file");
  check_code("ld-made.so", MADE_LOADER, PFP_ALARM_UNEXPLAINED, "is loaded, and nothing needs it");
  check_finding(PFP_ENVIRONMENT_OBJECTS, "unexplained", "ld-made.so", "libother.so",
                "ld-made.so and 1 more is loaded, and nothing needs it");
  check_finding(PFP_ENVIRONMENT_PAGES, "private", "libown.so", NULL,
                "libown.so has code that is not its file's: patches or breakpoints");
  pfp_evidence_free(&evidence);
}

static void pages_that_cannot_be_told_are_absent(void) {
  begin();
  made.items[MADE_OWN].private_pages = 1;
  made.items[MADE_OTHER].private_pages = -1;
  pfp_view_report(&evidence, &view);
  evidence_check(PFC_CLASS_ENVIRONMENT, PFP_ENVIRONMENT_PAGES, "private", NULL, 0, NULL);
  check_code("libother.so", MADE_OTHER, 0, NULL);
  pfp_evidence_free(&evidence);
}

static void links_say_what_leads_elsewhere(void) {
  begin();
  made.items[MADE_OWN].astray = 1;
  (void)strcpy(made.items[MADE_OWN].astray_first, "100% of it leads elsewhere");
  made.items[MADE_OTHER].has_links = 0;
  made.items[MADE_LOADER].moved = 1;
  pfp_view_report(&evidence, &view);
  check_links("libown.so", MADE_OWN, PFP_ALARM_CHANGED, "100% of it leads elsewhere");
  check_links("libother.so", MADE_OTHER, 0, NULL);
  check_links("ld-made.so", MADE_LOADER, 0, NULL);
  pfp_evidence_free(&evidence);
}

// Modules --------------------------------------------------------------------------------------------------------

static void a_module_as_installed_has_no_record(void) {
  begin();
  made.items[MADE_OWN].is_system_module = 1;
  made.items[MADE_OWN].explained = 0;
  (void)strcpy(made.items[MADE_OTHER].name, "libown.so");
  pfp_view_report(&evidence, &view);
  check_code("libown.so", MADE_OTHER, 0, NULL);
  check_links("libown.so", MADE_OTHER, 0, NULL);
  CHECK(!HAS_CODE("libown.so#2") && !HAS_LINKS("libown.so#2"));
  check_finding(PFP_ENVIRONMENT_OBJECTS, "unexplained", NULL, NULL, NULL);
  pfp_evidence_free(&evidence);
}

/// A module whose words alone are odd has a record of them, and none of its code.
static void a_modules_odd_words_are_told(void) {
  for (unsigned how = 0; how < 3; how++) {
    struct pfp_object *own = &made.items[MADE_OWN];
    test_case("how %u", how);
    begin();
    own->is_system_module = 1;
    if (how == 0) own->moved = 1;
    if (how == 1) own->astray = 1;
    if (how == 1) (void)strcpy(own->astray_first, "leads");
    if (how == 2) own->has_links = 0;
    pfp_view_report(&evidence, &view);
    CHECK(!HAS_CODE("libown.so"));
    if (how == 0) {
      check_links("libown.so", MADE_OWN, PFP_ALARM_CHANGED, "a constant leads elsewhere than in its file");
    }
    if (how == 1) check_links("libown.so", MADE_OWN, PFP_ALARM_CHANGED, "leads");
    if (how == 2) CHECK(!HAS_LINKS("libown.so"));
    pfp_evidence_free(&evidence);
  }
}

/// Each of these makes a module an object like any other.
static void a_changed_module_is_an_object(void) {
  for (unsigned how = 0; how < 6; how++) {
    struct pfp_object *own = &made.items[MADE_OWN];
    test_case("how %u", how);
    begin();
    own->is_system_module = 1;
    own->explained = 0;
    if (how == 0) own->readable = 0;
    if (how == 1) own->misplaced = 1;
    if (how == 2) own->private_pages = 1;
    if (how == 3) own->replaced = 1;
    if (how == 4) own->relocates_text = 1;
    if (how == 5) own->private_pages = -1;
    pfp_view_report(&evidence, &view);
    CHECK(HAS_CODE("libown.so") == (how != 5));
    CHECK(HAS_LINKS("libown.so") == (how != 5));
    check_finding(PFP_ENVIRONMENT_OBJECTS, "unexplained", how != 5 ? "libown.so" : NULL, NULL,
                  how != 5 ? "libown.so is loaded, and nothing needs it" : NULL);
    pfp_evidence_free(&evidence);
  }
}

static const struct test tests[] = {
    TEST("mappings with nothing special are no finding", nothing_special_is_no_finding),
    TEST("executable memory of no file is anonymous", memory_of_no_file_is_anonymous),
    TEST("an executable mapping of a file that is no code is told by its kind", files_that_are_no_code_are_told),
    TEST("a mapping is code if objects have code in all of it", code_is_where_objects_have_it),
    TEST("each segment of each object may have code", each_object_may_have_code),
    TEST("variables and constants are no code", data_is_no_code),
    TEST("writable code is told", writable_code_is_told),
    TEST("the kernel's own pages are no finding in their place", the_kernels_own_pages_are_no_finding),
    TEST("objects that are misplaced or replaced are told", objects_in_the_wrong_place_are_told),
    TEST("mappings that cannot be read are absent", mappings_that_cannot_be_read_are_absent),
    TEST("each object has a record of its code, and one of its links unless it is the vdso",
         each_object_has_its_records),
    TEST("objects of one name are numbered by their digests", objects_of_one_name_are_numbered),
    TEST("all objects of one name are numbered", all_objects_of_one_name_are_numbered),
    TEST("a report leaves no memory behind", a_report_leaves_nothing_behind),
    TEST("code that cannot be read is absent, and says why", code_that_cannot_be_read_says_why),
    TEST("code that differs from its file is told before that nothing needs it",
         changed_code_comes_before_unexplained),
    TEST("private pages that cannot be told are absent", pages_that_cannot_be_told_are_absent),
    TEST("links say in words what leads elsewhere", links_say_what_leads_elsewhere),
    TEST("a module as root installed it has no record", a_module_as_installed_has_no_record),
    TEST("a module's words that lead elsewhere have a record", a_modules_odd_words_are_told),
    TEST("a module that was changed is an object like any other", a_changed_module_is_an_object),
};

const struct suite process_report_suite = SUITE("report", tests);
