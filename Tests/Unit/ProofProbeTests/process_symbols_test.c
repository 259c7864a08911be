// SPDX-License-Identifier: Apache-2.0

/// Names in an object's own tables: which entry a request takes, by name, version, kind and address, and where a table
/// is not read.

#include <string.h>

#include "process_made.h"
#include "process_suites.h"

static struct pfp_symbols symbols;

/// Opens the tables of MADE_OWN.
static bool open_own(void) { return CHECK_NUMBER(pfp_symbols_open(&symbols, &made.items[MADE_OWN]), 0); }

static struct pfp_wanted wanted(const char *name, const char *version) {
  struct pfp_wanted request = {.name = name, .version = version, .hash = 5381};
  for (; *name != 0; name++) request.hash = request.hash * 33 + (uint8_t)*name;
  return request;
}

/// Whether a request takes this entry; 0: none.
static bool takes(const struct pfp_wanted *request, uint32_t index) {
  struct pfp_definition found = {0};
  int answer = pfp_symbols_find(&found, &symbols, request);
  if (index == 0) return answer == 0;
  return answer == 1 && found.object == &made.items[MADE_OWN] && found.symbol == &made.images[MADE_OWN].symbols[index];
}

static bool is_there(const char *name) {
  struct pfp_wanted request = wanted(name, NULL);
  return !takes(&request, 0);
}

// Tables ---------------------------------------------------------------------------------------------------------

/// MADE_OWN with the symbols "a", "b", "c" in a table of this format.
static void begin(bool is_gnu) {
  made_begin();
  if (is_gnu) made_gnu(MADE_OWN);
  for (size_t i = 0; i < 3; i++) {
    const char name[] = {(char)('a' + i), 0};
    (void)made_symbol(MADE_OWN, name, STT_FUNC, made_function(MADE_OWN, i + 1));
  }
}

static void names_are_found_in_both_formats(void) {
  for (unsigned is_gnu = 0; is_gnu < 2; is_gnu++) {
    test_case("%s", is_gnu ? "newer format" : "older format");
    begin(is_gnu != 0);
    if (!open_own()) return;
    for (uint32_t i = 1; i <= 3; i++) {
      const char name[] = {(char)('a' + i - 1), 0};
      struct pfp_wanted request = wanted(name, NULL);
      CHECK(takes(&request, i));
    }
    CHECK(!is_there("d") && !is_there("") && !is_there("ab"));
    pfp_symbols_close(&symbols);
  }
}

/// Objects whose tables are damaged or not there have no names.
static void damaged_tables_have_no_names(void) {
  for (unsigned how = 0; how < 8; how++) {
    struct pfp_object *own = &made.items[MADE_OWN];
    struct made_image *image = &made.images[MADE_OWN];
    test_case("how %u", how);
    begin(how >= 5);
    if (how == 0) own->readable = 0;
    if (how == 1) own->strings = NULL;
    if (how == 2) own->strings_size = 0;
    if (how == 3) own->strings_size--;
    if (how == 4) image->hash[0] = 0;
    if (how == 5) image->hash[0] = 0;
    if (how == 6) image->hash[2] = 0;
    if (how == 7) own->segments[1].flags = PFP_EXECUTE;
    if (open_own()) CHECK(!is_there("a") && !is_there("c"));
    CHECK((symbols.symbols == NULL) == (how < 4));
    pfp_symbols_close(&symbols);
  }
}

/// A name that stands behind the end of the table of strings is "".
static void names_end_with_the_strings(void) {
  struct pfp_wanted request;
  begin(false);
  made.items[MADE_OWN].strings_size -= 2;
  if (!open_own()) return;
  CHECK(is_there("b") && !is_there("c"));
  request = pfp_symbols_wanted(&symbols, 3);
  CHECK(strcmp(request.name, "") == 0);
  request = pfp_symbols_wanted(&symbols, 2);
  CHECK(strcmp(request.name, "b") == 0);
  CHECK_COUNT(request.hash, wanted("b", NULL).hash);
  CHECK(request.version == NULL && request.is_call == 0);
  pfp_symbols_close(&symbols);
  request = pfp_symbols_wanted(&symbols, 2);
  CHECK(strcmp(request.name, "") == 0);
}

/// Segments that end within the header of the hash table, or within the chain.
static void tables_end_with_their_segment(void) {
  struct made_image *image = &made.images[MADE_OWN];
  for (unsigned is_gnu = 0; is_gnu < 2; is_gnu++) {
    const uint32_t *header_end = image->hash + (is_gnu ? 4 : 2), *chain = image->hash + (is_gnu ? 7 : 4);
    struct pfp_segment *segment = &made.items[MADE_OWN].segments[1];
    for (unsigned how = 0; how < 4; how++) {
      test_case("%s, how %u", is_gnu ? "newer format" : "older format", how);
      begin(is_gnu != 0);
      // The last byte of the header, or of the link of "b", lies in the segment or just does not.
      segment->size = (uintptr_t)(how < 2 ? header_end : chain + 2) - (how & 1) - segment->start;
      if (!open_own()) return;
      CHECK((symbols.gnu_hash == NULL && symbols.old_hash == NULL) == (how == 1));
      CHECK(is_there("a") == (how >= 2));
      CHECK(is_there("b") == (how == 2));
      pfp_symbols_close(&symbols);
    }
    begin(is_gnu != 0);
    // The segment begins behind the table.
    segment->start = (uintptr_t)image->hash + 1;
    if (open_own()) CHECK(symbols.gnu_hash == NULL && symbols.old_hash == NULL);
    pfp_symbols_close(&symbols);
  }
}

static void the_filter_of_a_table_counts(void) {
  struct made_image *image = &made.images[MADE_OWN];
  const uint32_t hash = wanted("b", NULL).hash;
  for (unsigned how = 0; how < 3; how++) {
    uint64_t filter = UINT64_MAX;
    test_case("how %u", how);
    begin(true);
    if (how == 1) filter &= ~(UINT64_C(1) << hash % 64);
    if (how == 2) filter &= ~(UINT64_C(1) << (hash >> 6) % 64);
    memcpy(image->hash + 4, &filter, sizeof filter);
    if (open_own()) CHECK(is_there("b") == (how == 0));
    pfp_symbols_close(&symbols);
  }
}

// Kinds ----------------------------------------------------------------------------------------------------------

/// Whether an entry of this kind answers a request, and whether it answers one for a slot.
static void check_kind(unsigned binding, unsigned type, unsigned section, uint64_t value, bool answers, bool calls) {
  ElfW(Sym) *symbol = &made.images[MADE_OWN].symbols[1];
  struct pfp_wanted request = wanted("a", NULL);
  test_case("binding %u, type %u, section %u, value %llu", binding, type, section, (unsigned long long)value);
  begin(false);
  symbol->st_info = (unsigned char)ELF64_ST_INFO(binding, type);
  symbol->st_shndx = (ElfW(Section))section;
  symbol->st_value = value;
  if (!open_own()) return;
  CHECK(takes(&request, answers ? 1 : 0));
  request.is_call = 1;
  CHECK(takes(&request, calls ? 1 : 0));
  pfp_symbols_close(&symbols);
}

static void only_definitions_answer(void) {
  for (unsigned type = 0; type < 16; type++) {
    bool answers = type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC || type == STT_COMMON ||
                   type == STT_GNU_IFUNC;
    check_kind(STB_GLOBAL, type, 1, 8, answers, answers);
  }
  for (unsigned binding = 0; binding < 16; binding++) {
    bool answers = binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE;
    check_kind(binding, STT_FUNC, 1, 8, answers, answers);
  }
  check_kind(STB_GLOBAL, STT_FUNC, 1, 0, false, false);
  check_kind(STB_GLOBAL, STT_FUNC, SHN_ABS, 0, true, true);
  // An executable's entry of the PLT, which stands for a function's address.
  check_kind(STB_GLOBAL, STT_FUNC, SHN_UNDEF, 8, true, false);
  check_kind(STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, false, false);
}

static void absolute_definitions_have_no_load_address(void) {
  const ElfW(Sym) absolute = {.st_shndx = SHN_ABS, .st_value = 24}, other = {.st_shndx = 1, .st_value = 24};
  const struct pfp_object object = {.bias = 4096};
  struct pfp_definition definition = {.object = &object, .symbol = &absolute};
  CHECK_COUNT(pfp_definition_address(&definition), 24);
  definition.symbol = &other;
  CHECK_COUNT(pfp_definition_address(&definition), 4120);
}

// Versions -------------------------------------------------------------------------------------------------------

enum { HIDDEN = 0x8000 };

/// The object's versions: 1 its own name, 2 "V2", 3 "V3"; of another object it asks for 4 "N4", 5 "N5" and 6 "N6".
static struct {
  struct {
    ElfW(Verdef) definition;
    ElfW(Verdaux) name;
  } defined[3];
  struct {
    ElfW(Verneed) need;
    ElfW(Vernaux) names[2];
  } needed[2];
} table;

static void define_versions(void) {
  static const char *const NAMES[] = {"libown.so", "V2", "V3"};
  static const char *const NEEDS[] = {"N4", "N5", "N6"};
  memset(&table, 0, sizeof table);
  for (size_t i = 0; i < 3; i++) {
    table.defined[i].definition = (ElfW(Verdef)){.vd_version = 1,
                                                 .vd_flags = i == 0 ? VER_FLG_BASE : 0,
                                                 .vd_ndx = (ElfW(Half))((i + 1) | (i == 2 ? HIDDEN : 0)),
                                                 .vd_cnt = 1,
                                                 .vd_aux = sizeof(ElfW(Verdef)),
                                                 .vd_next = sizeof table.defined[0]};
    table.defined[i].name.vda_name = made_string(MADE_OWN, NAMES[i]);
  }
  for (size_t i = 0; i < 2; i++) {
    table.needed[i].need = (ElfW(Verneed)){.vn_version = 1,
                                           .vn_cnt = i == 0 ? 2 : 1,
                                           .vn_aux = sizeof(ElfW(Verneed)),
                                           .vn_next = sizeof table.needed[0]};
  }
  for (size_t i = 0; i < 3; i++) {
    table.needed[i / 2].names[i % 2] = (ElfW(Vernaux)){.vna_other = (ElfW(Half))((4 + i) | (i == 1 ? HIDDEN : 0)),
                                                       .vna_name = made_string(MADE_OWN, NEEDS[i]),
                                                       .vna_next = sizeof(ElfW(Vernaux))};
  }
  made_dynamic(MADE_OWN, DT_VERDEF, (uintptr_t)&table.defined - made.items[MADE_OWN].bias);
  made_dynamic(MADE_OWN, DT_VERDEFNUM, 3);
  made_dynamic(MADE_OWN, DT_VERNEED, (uintptr_t)&table.needed - made.items[MADE_OWN].bias);
  made_dynamic(MADE_OWN, DT_VERNEEDNUM, 2);
  made_dynamic_at(MADE_OWN, DT_VERSYM, made.images[MADE_OWN].versions);
}

/// Several entries of the name "f" with these versions; 0 ends them. All at one address, or each at its own.
static bool begin_versions(const unsigned *versions, bool one_address) {
  made_begin();
  define_versions();
  for (size_t i = 0; versions[i] != 0; i++) {
    uint32_t index = made_symbol(MADE_OWN, "f", STT_FUNC, made_function(MADE_OWN, one_address ? 1 : i + 1));
    made.images[MADE_OWN].versions[index] = (ElfW(Half))versions[i];
  }
  return open_own();
}

#define VERSIONS(...) ((const unsigned[]){__VA_ARGS__, 0})

static void check_found(const unsigned *versions, const char *version, uint32_t index) {
  struct pfp_wanted request = wanted("f", version);
  struct pfp_definition found;
  if (!begin_versions(versions, false)) return;
  CHECK(takes(&request, index));
  if (index != 0 && pfp_symbols_find(&found, &symbols, &request)) {
    unsigned number = versions[index - 1] & 0x7FFF;
    CHECK(strcmp(found.version, version == NULL || number == 1 ? "" : number == 2 ? "V2" : "V3") == 0);
  }
  pfp_symbols_close(&symbols);
}

static void a_version_is_the_one_asked_for(void) {
  check_found(VERSIONS(2, 3), "V2", 1);
  check_found(VERSIONS(2, 3), "V3", 2);
  check_found(VERSIONS(2 | HIDDEN, 3), "V2", 1);
  check_found(VERSIONS(2, 3), "V4", 0);
  // An entry without a version answers unless it is hidden.
  check_found(VERSIONS(1), "V2", 1);
  check_found(VERSIONS(1 | HIDDEN), "V2", 0);
  check_found(VERSIONS(1 | HIDDEN, 2), "V2", 2);
}

static void no_version_is_the_first_or_the_only_one(void) {
  check_found(VERSIONS(3, 2), NULL, 2);
  check_found(VERSIONS(3, 2 | HIDDEN), NULL, 2);
  check_found(VERSIONS(3, 1), NULL, 2);
  check_found(VERSIONS(3), NULL, 1);
  check_found(VERSIONS(3 | HIDDEN), NULL, 0);
  check_found(VERSIONS(3 | HIDDEN, 4), NULL, 2);
  check_found(VERSIONS(4, 3 | HIDDEN), NULL, 1);
  check_found(VERSIONS(3, 4), NULL, 0);
  check_found(VERSIONS(3, 4, 5), NULL, 0);
}

static void requests_have_the_version_of_their_table(void) {
  static const char *const NAMES[] = {NULL, NULL, "V2", "V3", "N4", "N5", "N6", NULL};
  for (unsigned version = 1; version < 8; version++) {
    for (unsigned hidden = 0; hidden <= HIDDEN; hidden += HIDDEN) {
      struct pfp_wanted request;
      test_case("version %u", version);
      if (!begin_versions(VERSIONS(version | hidden), false)) return;
      request = pfp_symbols_wanted(&symbols, 1);
      CHECK(NAMES[version] == NULL ? request.version == NULL
                                   : request.version != NULL && strcmp(request.version, NAMES[version]) == 0);
      pfp_symbols_close(&symbols);
    }
  }
}

// Addresses ------------------------------------------------------------------------------------------------------

/// The version of the entry that stands at the first function; "-" for none.
static const char *named(const unsigned *versions, bool one_address, const char *version) {
  struct pfp_wanted request = wanted("f", version);
  struct pfp_definition found;
  const char *answer = "-";
  if (begin_versions(versions, one_address) &&
      pfp_symbols_named(&found, &symbols, &request, made_function(MADE_OWN, 1))) {
    answer = found.version;
  }
  pfp_symbols_close(&symbols);
  return answer;
}

static void an_address_has_the_version_asked_for(void) {
  CHECK(strcmp(named(VERSIONS(3, 2), true, "V3"), "V3") == 0);
  CHECK(strcmp(named(VERSIONS(2, 3), true, "V3"), "V3") == 0);
  CHECK(strcmp(named(VERSIONS(4, 3, 2), true, "V3"), "V3") == 0);
  // Else the first in the order of bytes.
  CHECK(strcmp(named(VERSIONS(3, 4, 2), true, "V9"), "N4") == 0);
  CHECK(strcmp(named(VERSIONS(4, 3), true, "V9"), "N4") == 0);
  CHECK(strcmp(named(VERSIONS(3, 2), true, NULL), "") == 0);
  // Those at other addresses do not count.
  CHECK(strcmp(named(VERSIONS(3, 2), false, "V2"), "V3") == 0);
  CHECK(strcmp(named(VERSIONS(3), false, "V3"), "V3") == 0);
}

static void resolvers_and_locals_have_no_address(void) {
  struct pfp_wanted request = wanted("a", NULL);
  struct pfp_definition found;
  for (unsigned how = 0; how < 4; how++) {
    ElfW(Sym) *symbol = &made.images[MADE_OWN].symbols[1];
    test_case("how %u", how);
    begin(false);
    if (how == 1) symbol->st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
    if (how == 2) symbol->st_info = (unsigned char)ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
    // The address of a function may be an entry of the PLT.
    if (how == 3) symbol->st_shndx = SHN_UNDEF;
    if (!open_own()) return;
    CHECK_NUMBER(pfp_symbols_named(&found, &symbols, &request, made_function(MADE_OWN, 1)), how == 0 || how == 3);
    CHECK_NUMBER(pfp_symbols_named(&found, &symbols, &request, made_function(MADE_OWN, 2)), 0);
    pfp_symbols_close(&symbols);
  }
}

// Walks ----------------------------------------------------------------------------------------------------------

/// Global functions, one after the other; other kinds are passed over.
static void functions_are_walked(void) {
  struct made_image *image = &made.images[MADE_OWN];
  uint32_t index = 0;
  const char *name;
  begin(true);
  (void)made_symbol(MADE_OWN, "weak", STT_FUNC, made_function(MADE_OWN, 4));
  (void)made_symbol(MADE_OWN, "variable", STT_OBJECT, made_function(MADE_OWN, 4));
  (void)made_symbol(MADE_OWN, "asked for", STT_FUNC, 0);
  (void)made_symbol(MADE_OWN, "empty", STT_FUNC, made_function(MADE_OWN, 4));
  (void)made_symbol(MADE_OWN, "undefined", STT_FUNC, made_function(MADE_OWN, 4));
  (void)made_symbol(MADE_OWN, "last", STT_FUNC, made_function(MADE_OWN, 5));
  image->symbols[4].st_info = (unsigned char)ELF64_ST_INFO(STB_WEAK, STT_FUNC);
  image->symbols[7].st_value = 0;
  image->symbols[8].st_shndx = SHN_UNDEF;
  if (!open_own()) return;
  for (uint32_t i = 0; i < 4; i++, index++) {
    static const char *const NAMES[] = {"a", "b", "c", "last"};
    static const uint32_t INDEXES[] = {1, 2, 3, 9};
    name = pfp_symbols_next(&symbols, &index);
    if (!CHECK(name != NULL)) break;
    CHECK(strcmp(name, NAMES[i]) == 0);
    CHECK_COUNT(index, INDEXES[i]);
  }
  CHECK(pfp_symbols_next(&symbols, &index) == NULL);
  pfp_symbols_close(&symbols);
}

static void walks_end_with_the_tables(void) {
  struct made_image *image = &made.images[MADE_OWN];
  struct pfp_segment *segment = &made.items[MADE_OWN].segments[1];
  for (unsigned how = 0; how < 4; how++) {
    uint32_t index = 0;
    test_case("how %u", how);
    begin(how != 0);
    if (how == 1) image->hash[6] = 0;  // The bucket is empty.
    if (how == 2) segment->start = (uintptr_t)image->versions;  // The symbols stand before it.
    if (how == 3) segment->size = (uintptr_t)(image->hash + 7 + 3) - 1 - segment->start;
    if (!open_own()) return;
    CHECK(pfp_symbols_next(&symbols, &index) == NULL);
    pfp_symbols_close(&symbols);
  }
}

static void open_and_close(void) {
  if (!begin_versions(VERSIONS(2, 3), false)) return;
  CHECK_COUNT(symbols.version_count, 7);
  pfp_symbols_close(&symbols);
}

static void tables_leave_nothing_behind(void) {
  CHECK_COUNT(made_left(open_and_close), 0);
  CHECK(symbols.object == NULL && symbols.symbols == NULL && symbols.version_names == NULL);
}

/// Hashes of System V ABI's document, written out modulo five; the longer names fold their upper four bits.
static void an_older_table_is_searched_by_its_hash(void) {
  static const char *const NAMES[] = {"printf", "exit", "syscall", "flapenguin.me", "a_name_of_many_bytes",
                                      "another_long_one"};
  // Five buckets, entries, then each bucket's first entry, then each entry's next.
  static const uint32_t TABLE[] = {5, 7, 0, 6, 2, 5, 1, 0, 3, 4, 0, 0, 0, 0};
  made_begin();
  for (size_t i = 0; i < 6; i++) (void)made_symbol(MADE_OWN, NAMES[i], STT_FUNC, made_function(MADE_OWN, i + 1));
  memcpy(made.images[MADE_OWN].hash, TABLE, sizeof TABLE);
  if (!open_own()) return;
  for (uint32_t i = 1; i <= 6; i++) {
    struct pfp_wanted request = wanted(NAMES[i - 1], NULL);
    test_case("%s", NAMES[i - 1]);
    CHECK(takes(&request, i));
  }
  pfp_symbols_close(&symbols);
}

enum { BUCKETS = 3, FIRST = 2, FILTERS = 4, SHIFT = 5, ENTRIES = 7 };

/// A table whose numbers are all different. Its first entry is asked for only, and stands in no bucket; its last one
/// stands in the last bucket, where it does not belong.
static void begin_buckets(const char *names[ENTRIES]) {
  static const char *const NAMES[ENTRIES - 1] = {"printf", "exit", "syscall", "fork", "wait", "read"};
  uint32_t words[4 + 2 * FILTERS + BUCKETS + ENTRIES] = {BUCKETS, FIRST, FILTERS, SHIFT};
  uint32_t *buckets = words + 4 + 2 * FILTERS, *chain = buckets + BUCKETS, count = 0;
  uint64_t filters[FILTERS] = {0};
  made_begin();
  made_gnu(MADE_OWN);
  (void)made_symbol(MADE_OWN, "asked for", STT_FUNC, 0);
  for (uint32_t bucket = 0; bucket < BUCKETS; bucket++) {
    for (size_t i = 0; i < ENTRIES - 1; i++) {
      if (wanted(NAMES[i], NULL).hash % BUCKETS == bucket) names[count++] = NAMES[i];
    }
  }
  names[count++] = wanted("stray", NULL).hash % BUCKETS != BUCKETS - 1 ? "stray" : "astray";
  for (uint32_t i = 0; i < ENTRIES; i++) {
    const uint32_t hash = wanted(names[i], NULL).hash, bucket = i == ENTRIES - 1 ? BUCKETS - 1 : hash % BUCKETS;
    const bool is_last = i == ENTRIES - 1 || (i < ENTRIES - 2 && wanted(names[i + 1], NULL).hash % BUCKETS != bucket);
    CHECK_COUNT(made_symbol(MADE_OWN, names[i], STT_FUNC, made_function(MADE_OWN, i % 8)), FIRST + i);
    if (buckets[bucket] == 0) buckets[bucket] = FIRST + i;
    chain[i] = is_last ? hash | 1 : hash & ~1u;
    filters[hash / 64 % FILTERS] |= UINT64_C(1) << hash % 64 | UINT64_C(1) << (hash >> SHIFT) % 64;
  }
  memcpy(words + 4, filters, sizeof filters);
  memcpy(made.images[MADE_OWN].hash, words, sizeof words);
  // Behind the table stands one more.
  made.images[MADE_OWN].symbols[FIRST + ENTRIES] = made.images[MADE_OWN].symbols[FIRST];
}

static void a_newer_table_is_searched_by_its_numbers(void) {
  const char *names[ENTRIES];
  uint32_t index = 0;
  begin_buckets(names);
  if (!open_own()) return;
  for (uint32_t i = 0; i < ENTRIES; i++, index++) {
    struct pfp_wanted request = wanted(names[i], NULL);
    const char *next = pfp_symbols_next(&symbols, &index);
    test_case("%s", names[i]);
    CHECK(takes(&request, i < ENTRIES - 1 ? FIRST + i : 0));
    CHECK(next != NULL && strcmp(next, names[i]) == 0);
    CHECK_COUNT(index, FIRST + i);
  }
  CHECK(pfp_symbols_next(&symbols, &index) == NULL);
  CHECK(!is_there("asked for") && !is_there("write"));
  pfp_symbols_close(&symbols);
}

static const struct test tests[] = {
    TEST("a newer table is searched by its numbers", a_newer_table_is_searched_by_its_numbers),
    TEST("an older table is searched by its hash", an_older_table_is_searched_by_its_hash),
    TEST("a name is found in a hash table of either format", names_are_found_in_both_formats),
    TEST("damaged tables have no names", damaged_tables_have_no_names),
    TEST("a name behind the end of the strings is empty", names_end_with_the_strings),
    TEST("a hash table is read only in its segment", tables_end_with_their_segment),
    TEST("a name that the table's filter does not have is not looked for", the_filter_of_a_table_counts),
    TEST("an entry answers if its binding, type, section and value define something", only_definitions_answer),
    TEST("an absolute definition has no load address", absolute_definitions_have_no_load_address),
    TEST("a request with a version takes that version", a_version_is_the_one_asked_for),
    TEST("a request without a version takes the first one, or the only one", no_version_is_the_first_or_the_only_one),
    TEST("a request has the version that the object's table gives it", requests_have_the_version_of_their_table),
    TEST("an address is named by the version asked for, else by the first", an_address_has_the_version_asked_for),
    TEST("a resolver or a local entry names no address", resolvers_and_locals_have_no_address),
    TEST("a walk names each global function once", functions_are_walked),
    TEST("a walk ends with the tables", walks_end_with_the_tables),
    TEST("tables of symbols leave no memory behind", tables_leave_nothing_behind),
};

const struct suite process_symbols_suite = SUITE("symbols", tests);
