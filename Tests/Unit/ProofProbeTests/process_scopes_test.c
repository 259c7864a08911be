// SPDX-License-Identifier: Apache-2.0

/// Where the loader looks names up: the global scope in the order of loading, the lists of objects that were opened,
/// and which definition is the first.

#include <string.h>

#include "process_suites.h"
#include "process_words.h"

/// Forgets what an object needs.
static void need_nothing(size_t object) {
  for (size_t i = 0; i < made.images[object].dynamic_count; i++) {
    if (made.images[object].dynamic[i].d_tag == DT_NEEDED) made.images[object].dynamic[i].d_tag = DT_DEBUG;
  }
}

static void need(size_t object, size_t other) {
  made_dynamic(object, DT_NEEDED, made_string(object, made.items[other].name));
}

static void check_indexes(const size_t *actual, size_t actual_count, const size_t *expected, size_t count) {
  if (!CHECK_COUNT(actual_count, count)) return;
  for (size_t i = 0; i < count; i++) CHECK_COUNT(actual[i], expected[i]);
}

#define CHECK_GLOBAL(...)                                                                                       \
  do {                                                                                                          \
    const size_t expected_[] = {__VA_ARGS__};                                                                   \
    check_indexes(made.scopes.global, made.scopes.global_count, expected_, sizeof expected_ / sizeof(size_t)); \
  } while (0)

#define CHECK_LIST(number_, ...)                                                                            \
  do {                                                                                                      \
    const size_t expected_[] = {__VA_ARGS__};                                                               \
    check_indexes(made.scopes.lists + (number_)*MADE_OBJECTS, made.scopes.list_counts[number_], expected_, \
                  sizeof expected_ / sizeof(size_t));                                                       \
  } while (0)

// Global scope ---------------------------------------------------------------------------------------------------

static void needed_objects_are_global(void) {
  made_begin();
  if (made_scopes()) {
    CHECK_GLOBAL(MADE_EXECUTABLE, MADE_OWN, MADE_OTHER, MADE_LOADER);
    CHECK_COUNT(made.scopes.list_count, 1);
    CHECK_LIST(0, MADE_APART);
  }
  made_end();
}

/// The first need is the last object; what it needs stands before it, and in the order of loading.
static void the_global_scope_is_in_the_order_of_loading(void) {
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_LOADER);
  need(MADE_LOADER, MADE_OWN);
  need(MADE_OWN, MADE_EXECUTABLE);
  if (made_scopes()) {
    // MADE_OTHER stands before the last that is needed: it was preloaded.
    CHECK_GLOBAL(MADE_EXECUTABLE, MADE_OWN, MADE_OTHER, MADE_LOADER);
  }
  made_end();
}

static void preloaded_objects_bring_what_they_need(void) {
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_OTHER);
  need(MADE_OWN, MADE_APART);
  if (made_scopes()) {
    CHECK_GLOBAL(MADE_EXECUTABLE, MADE_OWN, MADE_OTHER, MADE_APART);
    CHECK_COUNT(made.scopes.list_count, 1);
    CHECK_LIST(0, MADE_LOADER);
  }
  made_end();
}

/// The vdso is in no scope, wherever it stands.
static void the_vdso_is_in_no_scope(void) {
  made_begin();
  need(MADE_EXECUTABLE, MADE_APART);
  if (made_scopes()) {
    CHECK_GLOBAL(MADE_EXECUTABLE, MADE_OWN, MADE_OTHER, MADE_LOADER, MADE_APART);
    CHECK_COUNT(made.scopes.list_count, 0);
  }
  made_end();
}

/// The executable needs nothing: what was loaded after it was opened.
static void an_executable_alone_is_global(void) {
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  if (made_scopes()) {
    CHECK_GLOBAL(MADE_EXECUTABLE);
    CHECK_COUNT(made.scopes.list_count, 4);
  }
  made_end();
}

// Opened objects -------------------------------------------------------------------------------------------------

/// MADE_OTHER was opened. It needs two, one of which needs both others; each stands once.
static void lists_go_from_near_to_far(void) {
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_OWN);
  need(MADE_OTHER, MADE_APART);
  need(MADE_OTHER, MADE_OWN);
  need(MADE_APART, MADE_LOADER);
  need(MADE_APART, MADE_OTHER);
  if (made_scopes()) {
    CHECK_GLOBAL(MADE_EXECUTABLE, MADE_OWN);
    CHECK_COUNT(made.scopes.list_count, 1);
    CHECK_LIST(0, MADE_OTHER, MADE_APART, MADE_OWN, MADE_LOADER);
  }
  made_end();
}

/// Two objects were opened, both of which need a third one.
static void each_opened_object_has_a_list(void) {
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_OWN, MADE_LOADER);
  need(MADE_OTHER, MADE_LOADER);
  need(MADE_OTHER, MADE_APART);
  if (made_scopes()) {
    CHECK_COUNT(made.scopes.list_count, 2);
    CHECK_LIST(0, MADE_OWN, MADE_LOADER);
    CHECK_LIST(1, MADE_OTHER, MADE_LOADER, MADE_APART);
  }
  made_end();
}

/// MADE_OTHER, and MADE_APART behind it, were opened; MADE_OTHER has a name. Whether it is global then.
static bool is_global_by(const char *name, unsigned others) {
  bool global;
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_OWN);
  need(MADE_OTHER, MADE_APART);
  made_gnu(MADE_OTHER);
  for (unsigned i = 0; i < others; i++) (void)made_symbol(MADE_OTHER, "shared", STT_FUNC, made_function(MADE_OTHER, i));
  (void)made_symbol(MADE_OTHER, name, STT_FUNC, made_function(MADE_OTHER, 1));
  (void)made_symbol(MADE_LOADER, "shared", STT_FUNC, made_function(MADE_LOADER, 1));
  if (!made_scopes()) return false;
  global = made.scopes.global_count == 4;
  if (global) CHECK_GLOBAL(MADE_EXECUTABLE, MADE_OWN, MADE_OTHER, MADE_APART);
  if (!global) CHECK_GLOBAL(MADE_EXECUTABLE, MADE_OWN);
  CHECK_COUNT(made.scopes.list_count, 2);
  CHECK_LIST(0, MADE_OTHER, MADE_APART);
  CHECK_LIST(1, MADE_LOADER);
  made_end();
  return global;
}

/// This program has a name of the tests', and not the other one.
static void objects_opened_for_all_are_global(void) {
  CHECK(is_global_by("made_resolver", 0));
  CHECK(!is_global_by("made_by_no_test", 0));
  // Names of other objects tell nothing.
  CHECK(is_global_by("made_resolver", 3));
  CHECK(!is_global_by("shared", 2));
}

// Definitions ----------------------------------------------------------------------------------------------------

static bool finds(size_t object, const struct pfp_wanted *wanted, size_t owner) {
  struct pfp_definition found = {0};
  int answer = pfp_scopes_find(&found, &made.scopes, &made.items[object], wanted);
  if (owner == MADE_OBJECTS) return answer == 0;
  return answer == 1 && found.object == &made.items[owner];
}

static struct pfp_wanted wanted(const char *name) {
  struct pfp_wanted request = {.name = name, .hash = 5381};
  for (; *name != 0; name++) request.hash = request.hash * 33 + (uint8_t)*name;
  return request;
}

/// Each object defines the name; MADE_OWN is global, the list of MADE_LOADER has MADE_APART, MADE_OTHER its own.
static void begin_names(void) {
  made_begin();
  need_nothing(MADE_EXECUTABLE);
  need(MADE_EXECUTABLE, MADE_OWN);
  need(MADE_LOADER, MADE_APART);
  for (size_t i = MADE_OTHER; i < MADE_OBJECTS; i++) (void)made_symbol(i, "listed", STT_FUNC, made_function(i, 1));
  for (size_t i = MADE_OWN; i < MADE_OBJECTS; i++) (void)made_symbol(i, "global", STT_FUNC, made_function(i, 2));
  (void)made_symbol(MADE_APART, "far", STT_FUNC, made_function(MADE_APART, 3));
}

static void the_global_scope_comes_first(void) {
  struct pfp_wanted listed = wanted("listed"), global = wanted("global"), far = wanted("far"), none = wanted("");
  begin_names();
  if (made_scopes()) {
    for (size_t i = 0; i < MADE_OBJECTS; i++) CHECK(finds(i, &global, MADE_OWN) && finds(i, &none, MADE_OBJECTS));
    CHECK(finds(MADE_OTHER, &listed, MADE_OTHER));
    CHECK(finds(MADE_LOADER, &listed, MADE_LOADER));
    CHECK(finds(MADE_APART, &listed, MADE_LOADER));
    CHECK(finds(MADE_LOADER, &far, MADE_APART));
    // An object outside of the list does not find that one.
    CHECK(finds(MADE_OTHER, &far, MADE_OBJECTS));
    CHECK(finds(MADE_OWN, &listed, MADE_OBJECTS));
  }
  made_end();
}

static void an_object_that_binds_itself_comes_first(void) {
  struct pfp_wanted global = wanted("global"), listed = wanted("listed");
  for (unsigned how = 0; how < 3; how++) {
    test_case("how %u", how);
    begin_names();
    if (how == 0) made_dynamic(MADE_APART, DT_SYMBOLIC, 0);
    if (how == 1) made_dynamic(MADE_APART, DT_FLAGS, DF_SYMBOLIC | DF_BIND_NOW);
    if (how == 2) made_dynamic(MADE_APART, DT_FLAGS, DF_BIND_NOW);
    if (made_scopes()) {
      CHECK(finds(MADE_APART, &global, how == 2 ? MADE_OWN : MADE_APART));
      CHECK(finds(MADE_APART, &listed, how == 2 ? MADE_LOADER : MADE_APART));
    }
    made_end();
  }
}

static bool may_find(size_t object, size_t owner, uint32_t symbol, const struct pfp_wanted *request) {
  struct pfp_definition definition = {.object = &made.items[owner], .symbol = &made.images[owner].symbols[symbol]};
  return pfp_scopes_may_find(&definition, &made.scopes, &made.items[object], request) == 1;
}

static void the_first_of_a_list_is_lawful(void) {
  struct pfp_wanted listed = wanted("listed");
  begin_names();
  if (made_scopes()) {
    CHECK(may_find(MADE_APART, MADE_LOADER, 1, &listed));
    CHECK(may_find(MADE_LOADER, MADE_LOADER, 1, &listed));
    CHECK(may_find(MADE_OTHER, MADE_OTHER, 1, &listed));
    // A later one, one of another list, and any for an object in no list.
    CHECK(!may_find(MADE_APART, MADE_APART, 1, &listed));
    CHECK(!may_find(MADE_OTHER, MADE_LOADER, 1, &listed));
    CHECK(!may_find(MADE_OWN, MADE_LOADER, 1, &listed));
    listed = wanted("nowhere");
    CHECK(!may_find(MADE_APART, MADE_LOADER, 1, &listed));
  }
  made_end();
}

static void namesakes_are_counted(void) {
  made_begin();
  (void)strcpy(made.items[MADE_OTHER].name, "libown.so");
  (void)strcpy(made.items[MADE_APART].name, "libown.so");
  if (made_scopes()) {
    static const unsigned COUNTS[MADE_OBJECTS] = {[MADE_OTHER] = 1, [MADE_APART] = 2};
    for (size_t i = 0; i < MADE_OBJECTS; i++) CHECK_NUMBER(made.scopes.namesakes[i], COUNTS[i]);
  }
  made_end();
}

/// A resolver's answer is kept, and counts for this resolver.
static void a_resolver_is_asked_once(void) {
  struct pfp_object *own = &made.items[MADE_OWN];
  made_begin();
  made_choice = 0x1234;
  if (made_scopes()) {
    CHECK_COUNT(pfp_scopes_choose(&made.scopes, own, (uintptr_t)made_resolver), 0x1234);
    made_choice = 0x4321;
    CHECK_COUNT(pfp_scopes_choose(&made.scopes, own, (uintptr_t)made_resolver), 0x1234);
    CHECK_NUMBER(made_resolved, 1);
    CHECK_COUNT(pfp_scopes_choose(&made.scopes, own, (uintptr_t)made_resolver + 1), 0);
    own->readable = 0;
    CHECK_COUNT(pfp_scopes_choose(&made.scopes, own, (uintptr_t)made_resolver), 0);
    own->readable = 1;
    own->segments[2].flags = PFP_READ;
    CHECK_COUNT(pfp_scopes_choose(&made.scopes, own, (uintptr_t)made_resolver), 0);
  }
  made_end();
}

static void make_and_free(void) {
  (void)made_scopes();
  made_end();
}

static void scopes_leave_nothing_behind(void) {
  made_begin();
  CHECK_COUNT(made_left(make_and_free), 0);
  CHECK(made.scopes.symbols == NULL && made.scopes.global == NULL && made.scopes.objects == NULL);
}

static const struct test tests[] = {
    TEST("the global scope is the executable and what it needs", needed_objects_are_global),
    TEST("the global scope is in the order of loading", the_global_scope_is_in_the_order_of_loading),
    TEST("a preloaded object is global with all it needs", preloaded_objects_bring_what_they_need),
    TEST("the vdso is in no scope", the_vdso_is_in_no_scope),
    TEST("an executable that needs nothing is alone in the global scope", an_executable_alone_is_global),
    TEST("an opened object's list goes from near to far, each object once", lists_go_from_near_to_far),
    TEST("each opened object that no list has yet has a list", each_opened_object_has_a_list),
    TEST("an opened object whose own names the program finds is global, with its list",
         objects_opened_for_all_are_global),
    TEST("a definition in the global scope comes before one in a list", the_global_scope_comes_first),
    TEST("an object that binds itself takes its own definition", an_object_that_binds_itself_comes_first),
    TEST("the first definition in a list of the object is lawful", the_first_of_a_list_is_lawful),
    TEST("objects of one name are numbered in the order of loading", namesakes_are_counted),
    TEST("a resolver is called once, and only in code", a_resolver_is_asked_once),
    TEST("scopes leave no memory behind", scopes_leave_nothing_behind),
};

const struct suite process_scopes_suite = SUITE("scopes", tests);
