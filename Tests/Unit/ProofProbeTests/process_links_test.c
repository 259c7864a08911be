// SPDX-License-Identifier: Apache-2.0

/// Links of programs that nothing was done to: bound or not, under whichever name, by whichever choice of the
/// processor's. And links that were turned elsewhere.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "process/symbols.h"
#include "process_place.h"
#include "process_suites.h"

/// Every record of the links, and how many of them say by themselves that something is wrong.
struct links {
  struct listing listing;
  unsigned alarms;
  char words[256];
};

static int add_record(void *context, uint8_t class_, uint8_t number, const uint8_t *name, size_t name_size,
                      const uint8_t *digest) {
  return listing_add(&((struct links *)context)->listing, class_, number, name, name_size, digest);
}

static void add_alarm(void *context, uint8_t class_, uint8_t number, const char *name, const char *words) {
  struct links *links = context;
  (void)class_;
  (void)number;
  if (links->alarms++ == 0) (void)snprintf(links->words, sizeof links->words, "%s: %s", name, words);
}

static bool collect(struct links *links, struct pfp_probe *probe, uint8_t policy) {
  struct pfc_config draft = place_draft(policy, 1);
  for (size_t i = 0; i < draft.source_count; i++) {
    if (draft.sources[i].class_ == PFC_CLASS_ENVIRONMENT && draft.sources[i].number == PFP_ENVIRONMENT_LINKS) {
      draft.sources[0] = draft.sources[i];
    }
  }
  draft.source_count = 1;
  memset(links, 0, sizeof *links);
  return CHECK_NUMBER(pfp_probe_observe(probe, &draft, add_record, add_alarm, links), PFP_OK);
}

static bool same(const struct links *a, const struct links *b) {
  return a->listing.size == b->listing.size && memcmp(a->listing.bytes, b->listing.bytes, a->listing.size) == 0;
}

/// Runs a function in a child; its answer is the child's exit code.
static int in_child(int (*run)(uint8_t), uint8_t policy) {
  int status = -1;
  pid_t child;
  (void)fflush(stdout);
  child = fork();
  if (child == 0) _exit(run(policy));
  (void)waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void under_each_policy(int (*run)(uint8_t)) {
  REQUIRE(place_begin());
  for (uint8_t policy = PFC_POLICY_FULL; policy <= PFC_POLICY_INCREMENTAL; policy++) {
    test_case("policy %u", policy);
    CHECK_NUMBER(in_child(run, policy), 0);
  }
  place_finish();
}

/// A file beside this program.
static void beside(char path[512], const char *name) {
  ssize_t size = readlink("/proc/self/exe", path, 400);
  char *slash;
  path[size > 0 ? size : 0] = 0;
  slash = strrchr(path, '/');
  (void)snprintf(slash != NULL ? slash + 1 : path, 100, "%s", name);
}

static void *open_beside(const char *name) {
  char path[512];
  beside(path, name);
  return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

static struct links before, after;

// Lawful bindings ------------------------------------------------------------------------------------------------

static int call_by_every_name(uint8_t policy) {
  void *library = open_beside("liblinkscaller.so");
  struct pfp_probe *probe = place_probe();
  int (*call)(void);
  void *address = library != NULL ? dlsym(library, "links_caller_call") : NULL;
  memcpy(&call, &address, sizeof call);
  if (address == NULL || !collect(&before, probe, policy)) return 2;
  if (call() != 6) return 3;
  if (!collect(&after, probe, policy)) return 4;
  if (after.alarms != 0) return fprintf(stderr, "%s\n", after.words), 5;
  return same(&before, &after) ? 0 : 6;
}

static void aliases_are_one_observation(void) { under_each_policy(call_by_every_name); }

/// The other program's output, under variables of its own, by the time of printing.
struct output {
  char cold[1 << 14], warm[1 << 14], memcpy_place[64];
};

static bool run_program(struct output *output, const char *variables) {
  char path[512], command[700], line[512];
  FILE *pipe;
  memset(output, 0, sizeof *output);
  beside(path, "links-program");
  (void)snprintf(command, sizeof command, "%s '%s'", variables, path);
  pipe = popen(command, "r");
  if (!CHECK(pipe != NULL)) return false;
  while (fgets(line, sizeof line, pipe) != NULL) {
    char *words = strchr(line, ' ');
    char *to = strncmp(line, "cold", 4) == 0 ? output->cold : strncmp(line, "warm", 4) == 0 ? output->warm : NULL;
    if (words != NULL && strncmp(line, "memcpy", 6) == 0) {
      (void)snprintf(output->memcpy_place, sizeof output->memcpy_place, "%.60s", words);
    } else if (to != NULL && strlen(to) + strlen(words) < sizeof output->cold) {
      (void)strcat(to, words);
    }
  }
  return CHECK_NUMBER(pclose(pipe), 0) && CHECK(output->cold[0] != 0);
}

/// Names the first line that differs.
static void check_same_lines(const char *one, const char *other) {
  size_t line = 0;
  for (size_t i = 0; one[i] != 0 && one[i] == other[i]; i++) {
    if (one[i] == '\n') line = i + 1;
  }
  test_case("%.*s | %.*s", (int)strcspn(one + line, "\n"), one + line, (int)strcspn(other + line, "\n"), other + line);
  CHECK(strcmp(one, other) == 0);
}

static void a_taken_address_is_one_observation(void) {
  static struct output output;
  REQUIRE(run_program(&output, "env -u LD_BIND_NOW"));
  check_same_lines(output.cold, output.warm);
  CHECK(strstr(output.warm, "alarm") == NULL);
}

static void binding_at_once_is_one_observation(void) {
  static struct output lazy, eager;
  REQUIRE(run_program(&lazy, "env -u LD_BIND_NOW") && run_program(&eager, "LD_BIND_NOW=1"));
  check_same_lines(lazy.cold, eager.cold);
  check_same_lines(lazy.warm, eager.warm);
}

static void implementations_are_one_observation(void) {
  static struct output usual, other;
  REQUIRE(run_program(&usual, "env -u GLIBC_TUNABLES"));
  REQUIRE(run_program(&other,
                      "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX_Usable,-AVX2_Usable,-ERMS,-FSRM,-AVX512F,"
                      "-AVX512VL,-AVX512BW,-AVX_Fast_Unaligned_Load,-SSSE3,-Fast_Unaligned_Copy"));
  if (strcmp(usual.memcpy_place, other.memcpy_place) == 0) {
    test_note("    skipped: the loader chooses one implementation of memcpy whatever it is told");
    return;
  }
  check_same_lines(usual.cold, other.cold);
}

// Hooks ----------------------------------------------------------------------------------------------------------

/// Where a library keeps the address of a function that it calls.
static uintptr_t slot_of(void *library, const char *name) {
  struct link_map *map = library;
  const ElfW(Sym) *symbols = NULL;
  const char *strings = NULL;
  const ElfW(Rela) *slots = NULL;
  size_t size = 0;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) strings = (const char *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) slots = (const ElfW(Rela) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) size = entry->d_un.d_val;
  }
  for (size_t i = 0; slots != NULL && i < size / sizeof *slots; i++) {
    if (strcmp(strings + symbols[ELF64_R_SYM(slots[i].r_info)].st_name, name) == 0) {
      return map->l_addr + slots[i].r_offset;
    }
  }
  return 0;
}

/// Turns the slot of a name to an address. 0 if the links then differ and say so.
static int turned(const char *name, uintptr_t target, uint8_t policy) {
  void *library = open_beside("liblinkscaller.so");
  struct pfp_probe *probe = place_probe();
  uintptr_t slot = library != NULL ? slot_of(library, name) : 0;
  if (slot == 0 || target == 0) return 2;
  if (!collect(&before, probe, policy) || before.alarms != 0) return 3;
  memcpy((void *)slot, &target, sizeof target);
  if (!collect(&after, probe, policy)) return 4;
  if (same(&before, &after)) return 5;
  return after.alarms == 1 && strstr(after.words, name) != NULL ? 0 : 6;
}

static uintptr_t address_in(void *library, const char *name) {
  return (uintptr_t)dlsym(library, name);
}

static int turn_to_another_function(uint8_t policy) {
  return turned("alias_first", address_in(open_beside("liblinksalias.so"), "_ZN5ThingC1Ev"), policy);
}

/// Into a function, not at its beginning: no symbol is there.
static int turn_into_a_function(uint8_t policy) {
  return turned("alias_first", address_in(open_beside("liblinksalias.so"), "alias_first") + 1, policy);
}

/// Another library with functions of the very names, which the caller does not need and was not opened with.
static int turn_to_a_namesake(uint8_t policy) {
  return turned("alias_first", address_in(open_beside("liblinksnamesake.so"), "alias_first"), policy);
}

/// A function that the processor's choice would never be: an internal one of libc, which has no name there.
static int turn_to_no_implementation(uint8_t policy) {
  return turned("memcpy", address_in(RTLD_DEFAULT, "memcpy") + 4, policy);
}

/// The function that chooses among the implementations, instead of one of them.
static int turn_to_the_resolver(uint8_t policy) {
  struct pfp_objects objects;
  uintptr_t resolver = 0;
  if (pfp_objects_read(&objects) != 0) return 7;
  for (size_t i = 0; i < objects.count && resolver == 0; i++) {
    struct pfp_symbols symbols;
    struct pfp_wanted wanted = {.name = "memcpy", .hash = 0x0d827590};
    struct pfp_definition found;
    objects.items[i].readable = 1;
    if (strcmp(objects.items[i].name, "libc.so.6") != 0 || pfp_symbols_open(&symbols, &objects.items[i]) != 0) continue;
    wanted.version = "GLIBC_2.14";
    if (pfp_symbols_find(&found, &symbols, &wanted) && ELF64_ST_TYPE(found.symbol->st_info) == STT_GNU_IFUNC) {
      resolver = pfp_definition_address(&found);
    }
    pfp_symbols_close(&symbols);
  }
  pfp_objects_free(&objects);
  return turned("memcpy", resolver, policy);
}

/// A word of RELRO that no symbol names, turned by its own offset.
static int turn_a_constant(uint8_t policy) {
  void *library = open_beside("liblinkscaller.so");
  struct pfp_probe *probe = place_probe();
  uintptr_t at = address_in(library, "links_caller_table"), word;
  long page = sysconf(_SC_PAGESIZE);
  if (at == 0 || !collect(&before, probe, policy)) return 2;
  if (mprotect((void *)(at & ~((uintptr_t)page - 1)), (size_t)page, PROT_READ | PROT_WRITE) != 0) return 3;
  memcpy(&word, (void *)at, sizeof word);
  word++;
  memcpy((void *)at, &word, sizeof word);
  if (!collect(&after, probe, policy)) return 4;
  return same(&before, &after) ? 5 : 0;
}

/// Its table of symbols ends before the pages that may not be read.
static int open_constants(uint8_t policy) {
  struct pfp_probe *probe = place_probe();
  if (open_beside("liblinksconstants.so") == NULL) return 2;
  if (!collect(&before, probe, policy) || !collect(&after, probe, policy)) return 3;
  return same(&before, &after) ? 0 : 4;
}

static void constants_alone_are_measured(void) { under_each_policy(open_constants); }
static void another_function_is_seen(void) { under_each_policy(turn_to_another_function); }
static void the_middle_of_a_function_is_seen(void) { under_each_policy(turn_into_a_function); }
static void a_namesake_is_seen(void) { under_each_policy(turn_to_a_namesake); }
static void no_implementation_is_seen(void) { under_each_policy(turn_to_no_implementation); }
static void a_resolver_is_seen(void) { under_each_policy(turn_to_the_resolver); }
static void a_constant_is_seen(void) { under_each_policy(turn_a_constant); }

static const struct test tests[] = {
    TEST("names of one address, in a library of its own scope, are one observation before and after the first call",
         aliases_are_one_observation),
    TEST("a function whose address a program takes is one observation before and after the first call",
         a_taken_address_is_one_observation),
    TEST("links bound at the start are the observation of links bound at the first call",
         binding_at_once_is_one_observation),
    TEST("whichever implementation the processor makes the loader choose is one observation",
         implementations_are_one_observation),
    TEST("a library of constants, with pages between its segments that may not be read, is measured",
         constants_alone_are_measured),
    TEST("a slot that leads to another function of the same library is seen", another_function_is_seen),
    TEST("a slot that leads into a function is seen", the_middle_of_a_function_is_seen),
    TEST("a slot that leads to a function of the name outside of the library's scope is seen", a_namesake_is_seen),
    TEST("a slot that leads to no implementation of its function is seen", no_implementation_is_seen),
    TEST("a slot that leads to the resolver of its function is seen", a_resolver_is_seen),
    TEST("a constant that leads elsewhere is seen", a_constant_is_seen),
};

const struct suite process_links_suite = SUITE("links", tests);
