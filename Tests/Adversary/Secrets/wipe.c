// SPDX-License-Identifier: Apache-2.0

/// Runs every case on a painted stack of its own and then looks for its secrets on that stack and in static memory.
///
///     wipe                   every secret must be gone, but for what LEFTOVERS lists
///     wipe --without-wiping  linked without the core's wiping: every case whose secrets the core holds must be caught
///
/// HASH_PATH, a number of `enum pfc_hash_path`, forces that path of SHA-256.
///
/// LEFTOVERS (a path in the environment) lists what is left in spite of the core's wiping: case|secret. The lines that
/// were needed are added to the file LEFTOVERS_SEEN.

#define _DEFAULT_SOURCE
#include "wipe.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK_BYTES = 1 << 18, PAINT = 0xA5, FOUND_MAX = 32, LEFTOVERS_MAX = 32 };

extern char __data_start[], _end[];

static struct vault *vault;
static uint8_t *stack;
static ucontext_t here, there;
static const struct wipe_case *current;
int is_without_wiping;

static struct leftover {
  char name[64], needle[64];
  int seen;
} leftovers[LEFTOVERS_MAX];
static size_t leftover_count;

static void *map(size_t size) {
  void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) abort();
  return mapped;
}

void vault_fill(void *bytes, size_t size, uint32_t seed) {
  uint8_t *byte = bytes;
  uint32_t state = seed * 2654435761u + 1;
  for (size_t i = 0; i < size; i++) {
    state = state * 1664525u + 1013904223u;
    byte[i] = (uint8_t)(state >> 24);
  }
}

void vault_expect(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "wipe: %s: not so: %s\n", current->name, what);
  exit(2);
}

static void run_there(void) { current->run(vault); }

static void run_on_painted_stack(void) {
  memset(stack, PAINT, STACK_BYTES);
  if (getcontext(&there) != 0) abort();
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = STACK_BYTES;
  there.uc_link = &here;
  makecontext(&there, run_there, 0);
  if (swapcontext(&here, &there) != 0) abort();
}

static int is_leftover(const char *needle) {
  for (size_t i = 0; i < leftover_count; i++) {
    if (strcmp(leftovers[i].name, current->name) == 0 && strcmp(leftovers[i].needle, needle) == 0) {
      leftovers[i].seen = 1;
      return 1;
    }
  }
  return 0;
}

/// How many needles the case left behind.
static size_t search(const char *where, const uint8_t *memory, size_t size, int tell) {
  struct needle_found found[FOUND_MAX];
  size_t count = needle_search(found, FOUND_MAX, memory, size), left = 0;
  for (size_t i = 0; i < count; i++) {
    if (is_leftover(found[i].name)) continue;
    left++;
    if (!tell) continue;
    printf("    %zu bytes of %s (%s) in %s, %zu below its top\n", found[i].size, found[i].name, found[i].form, where,
           size - found[i].offset);
  }
  return left;
}

static size_t deepest(void) {
  size_t untouched = 0;
  while (untouched < STACK_BYTES && stack[untouched] == PAINT) untouched++;
  return STACK_BYTES - untouched;
}

static int run_case(void) {
  // A case starts from nothing; remains of the case before in the vault are no secret.
  memset(vault, 0, sizeof *vault);
  needle_clear();
  current->prepare(vault);
  run_on_painted_stack();
  size_t used = deepest();
  size_t left = search("the stack", stack, STACK_BYTES, !is_without_wiping) +
                search("static memory", (const uint8_t *)__data_start, (size_t)(_end - __data_start),
                       !is_without_wiping) +
                search("what it was to wipe", (const uint8_t *)vault + current->gone_offset, current->gone_size,
                       !is_without_wiping);
  int ok = is_without_wiping ? left > 0 || !current->own : left == 0;
  if (!ok && is_without_wiping) printf("    not caught without wiping\n");
  printf("  %s  %s (%zu bytes of stack)\n", ok ? "ok    " : "FAILED", current->name, used);
  return ok;
}

static void read_leftovers(const char *path) {
  char line[160];
  FILE *file = path != NULL ? fopen(path, "r") : NULL;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    struct leftover *leftover = &leftovers[leftover_count];
    if (line[0] == '#' || line[0] == '\n') continue;
    if (leftover_count == LEFTOVERS_MAX || sscanf(line, "%63[^|]|%63[^|\n]", leftover->name, leftover->needle) != 2) {
      fprintf(stderr, "wipe: cannot read: %s", line);
      exit(2);
    }
    leftover_count++;
  }
  if (file != NULL) fclose(file);
}

/// Appends the lines of the list that were needed.
static void tell_seen(const char *path) {
  FILE *file = path != NULL ? fopen(path, "a") : NULL;
  for (size_t i = 0; file != NULL && i < leftover_count; i++) {
    if (leftovers[i].seen) fprintf(file, "%s|%s\n", leftovers[i].name, leftovers[i].needle);
  }
  if (file != NULL) fclose(file);
}

int main(int argc, char **argv) {
  static const struct wipe_case *const groups[] = {wipe_app_cases, wipe_hardware_cases, wipe_verifier_cases,
                                                   wipe_sodium_cases, wipe_gate_cases,    wipe_logbook_cases,
                                                   wipe_sealed_cases, wipe_channel_cases, wipe_grant_cases,
                                                   wipe_device_cases};
  is_without_wiping = argc == 2 && strcmp(argv[1], "--without-wiping") == 0;
  unsigned passed = 0, failed = 0;
  if (getenv("SODIUM_INIT") != NULL && sodium_init() < 0) return 2;
  if (getenv("HASH_PATH") != NULL && pfc_hash_use((enum pfc_hash_path)atoi(getenv("HASH_PATH"))) != PFC_OK) {
    fprintf(stderr, "wipe: this build or this processor lacks path %s of SHA-256\n", getenv("HASH_PATH"));
    return 2;
  }
  vault = map(sizeof *vault);
  stack = map(STACK_BYTES);
  read_leftovers(getenv("LEFTOVERS"));
  for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++) {
    for (current = groups[group]; current->name != NULL; current++) {
      if (run_case()) {
        passed++;
      } else {
        failed++;
      }
    }
  }
  tell_seen(getenv("LEFTOVERS_SEEN"));
  printf("%u passed, %u failed\n", passed, failed);
  return failed > 0;
}
