// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "inside.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <iconv.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample_library.h"

__attribute__((noinline)) int inside_ask(int door) { return sample_may_open(door); }

static void *address_of(int (*function)(int)) {
  void *address;
  memcpy(&address, &function, sizeof address);
  return address;
}

void *inside_address_of_library(void) { return dlsym(RTLD_DEFAULT, "sample_may_open"); }
void *inside_address_of_constant(void) { return dlsym(RTLD_DEFAULT, "sample_doors"); }
void *inside_address_of_ask(void) { return address_of(inside_ask); }

static uintptr_t page_of(void *address) {
  return (uintptr_t)address & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
}

/// `mov eax, 1 ; ret`: yes to everything.
static const uint8_t YES[] = {0xB8, 0x01, 0x00, 0x00, 0x00, 0xC3};
static uint8_t saved[sizeof YES];

static const char *write_code(void *address, const uint8_t *bytes) {
  void *page = (void *)page_of(address);
  size_t size = 2 * (size_t)sysconf(_SC_PAGESIZE);
  if (mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0 &&
      mprotect(page, size /= 2, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    return "mprotect";
  }
  memcpy(address, bytes, sizeof YES);
  return mprotect(page, size, PROT_READ | PROT_EXEC) != 0 ? "mprotect back" : NULL;
}

static uintptr_t slot_of(struct link_map *map, const char *name) {
  const ElfW(Sym) *symbols = NULL;
  const char *strings = NULL;
  const ElfW(Rela) *tables[2] = {NULL, NULL};
  size_t sizes[2] = {0, 0};
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag == DT_SYMTAB) symbols = (const ElfW(Sym) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_STRTAB) strings = (const char *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_JMPREL) tables[0] = (const ElfW(Rela) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_PLTRELSZ) sizes[0] = entry->d_un.d_val;
    if (entry->d_tag == DT_RELA) tables[1] = (const ElfW(Rela) *)entry->d_un.d_ptr;
    if (entry->d_tag == DT_RELASZ) sizes[1] = entry->d_un.d_val;
  }
  for (int t = 0; t < 2; t++) {
    for (size_t i = 0; tables[t] != NULL && i < sizes[t] / sizeof(ElfW(Rela)); i++) {
      const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(tables[t][i].r_info)];
      if (strcmp(strings + symbol->st_name, name) == 0) return map->l_addr + tables[t][i].r_offset;
    }
  }
  return 0;
}

void *inside_address_of_slot(void) {
  struct link_map *map = dlopen(NULL, RTLD_LAZY);
  return map != NULL ? (void *)slot_of(map, "sample_may_open") : NULL;
}

static const char *write_slot(uintptr_t at, void *target) {
  uintptr_t page = page_of((void *)at);
  if (at == 0) return "no slot";
  if (mprotect((void *)page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE) != 0) return "mprotect";
  memcpy((void *)at, &target, sizeof target);
  return NULL;
}

/// A function of another object that answers something else.
static const char *hook(void) { return write_slot((uintptr_t)inside_address_of_slot(), dlsym(RTLD_DEFAULT, "abs")); }

static const char *map_code(int protection) {
  size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void *code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED) return "mmap";
  memcpy(code, YES, sizeof YES);
  return mprotect(code, size, protection) != 0 ? "mprotect" : NULL;
}

static int copy_to_memory(const char *path) {
  uint8_t bytes[65536];
  ssize_t count;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  int memory = memfd_create("library", 0);
  while (file >= 0 && (count = read(file, bytes, sizeof bytes)) > 0) {
    if (write(memory, bytes, (size_t)count) != count) break;
  }
  if (file >= 0) (void)close(file);
  return memory;
}

static const char *load_memory(const char *path) {
  char name[64];
  int memory = copy_to_memory(path);
  (void)snprintf(name, sizeof name, "/proc/self/fd/%d", memory);
  return dlopen(name, RTLD_NOW | RTLD_LOCAL) != NULL ? NULL : "dlopen";
}

/// Takes the place of the library's page of code with a copy of it in which one function answers yes: by an anonymous
/// page, or by a page of a file that reads the same.
static const char *take_place(const char *path) {
  void *address = inside_address_of_library();
  size_t size = (size_t)sysconf(_SC_PAGESIZE);
  void *page = (void *)page_of(address);
  uint8_t *copy = malloc(size);
  int descriptor = -1;
  void *placed;
  if (copy == NULL) return "malloc";
  memcpy(copy, page, size);
  memcpy(copy + ((uintptr_t)address - (uintptr_t)page), YES, sizeof YES);
  if (path != NULL) {
    descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
    if (descriptor < 0 || write(descriptor, copy, size) != (ssize_t)size) return "write";
    placed = mmap(page, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, descriptor, 0);
    (void)close(descriptor);
  } else {
    placed = mmap(page, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
    if (placed != MAP_FAILED) memcpy(placed, copy, size);
    if (placed != MAP_FAILED && mprotect(placed, size, PROT_READ | PROT_EXEC) != 0) return "mprotect";
  }
  free(copy);
  return placed == MAP_FAILED ? "mmap" : NULL;
}

/// Has the C library convert to a character set whose module is in a folder of the attacker's.
static const char *convert(const char *folder) {
  char module[4096];
  if (setenv("GCONV_PATH", folder, 1) != 0) return "setenv";
  if (iconv_open("KOI8-R", "UTF-8") == (iconv_t)-1) return "iconv_open";
  (void)snprintf(module, sizeof module, "%s/evil.so", folder);
  return dlopen(module, RTLD_LAZY | RTLD_NOLOAD) != NULL ? NULL : "no module was opened";
}

enum { PAGE = 4096 };

/// Takes the place of the library's page of constants with a page of a file, which has its permissions.
static const char *take_constants(const char *path) {
  static uint8_t copy[PAGE];
  void *page = (void *)page_of(inside_address_of_constant());
  int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  void *placed = MAP_FAILED;
  memcpy(copy, page, sizeof copy);
  copy[0] ^= 1;
  if (descriptor < 0 || write(descriptor, copy, sizeof copy) != (ssize_t)sizeof copy) return "write";
  placed = mmap(page, sizeof copy, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0);
  (void)close(descriptor);
  return placed == MAP_FAILED ? "mmap" : NULL;
}

/// Unused variables.
static _Alignas(PAGE) uint8_t room[3 * PAGE];

/// Code of a file in the place of variables: between the first and the last byte of the executable.
static const char *take_room(const char *path) {
  int descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  void *placed = MAP_FAILED;
  if (descriptor < 0 || write(descriptor, YES, sizeof YES) != (ssize_t)sizeof YES) return "write";
  placed = mmap(room + PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, descriptor, 0);
  (void)close(descriptor);
  return placed == MAP_FAILED ? "mmap" : NULL;
}

static void *wait_for_ever(void *unused) {
  for (;;) (void)pause();
  return unused;
}

static const char *start_thread(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, wait_for_ever, NULL) != 0 ? "thread" : NULL;
}

/// Starts a program that is set-user-id.
static const char *gain_rights(char *path) {
  char *const arguments[] = {path, NULL};
  char *const environment[] = {NULL};
  pid_t child;
  int status = -1;
  if (posix_spawn(&child, path, NULL, NULL, arguments, environment) != 0) return "spawn";
  (void)waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "no rights gained";
}

const char *inside_do(char *attack) {
  char *argument = strchr(attack, ' ');
  if (argument != NULL) *argument++ = 0;
  if (strcmp(attack, "patch") == 0) {
    memcpy(saved, inside_address_of_library(), sizeof saved);
    return write_code(inside_address_of_library(), YES);
  }
  if (strcmp(attack, "restore") == 0) return write_code(inside_address_of_library(), saved);
  if (strcmp(attack, "got") == 0) return hook();
  if (strcmp(attack, "anonymous") == 0) return map_code(PROT_READ | PROT_EXEC);
  if (strcmp(attack, "writable") == 0) return map_code(PROT_READ | PROT_WRITE | PROT_EXEC);
  if (strcmp(attack, "memfd") == 0 && argument != NULL) return load_memory(argument);
  if (strcmp(attack, "dlopen") == 0 && argument != NULL) {
    return dlopen(argument, RTLD_NOW | RTLD_LOCAL) != NULL ? NULL : "dlopen";
  }
  if (strcmp(attack, "thread") == 0) return start_thread();
  if (strcmp(attack, "gain") == 0 && argument != NULL) return gain_rights(argument);
  if (strcmp(attack, "traceable") == 0) {
    // An error where the kernel has no such restriction to lift.
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    return NULL;
  }
  if (strcmp(attack, "convert") == 0 && argument != NULL) return convert(argument);
  if (strcmp(attack, "overmap") == 0) return take_place(NULL);
  if (strcmp(attack, "mapfile") == 0 && argument != NULL) return take_place(argument);
  if (strcmp(attack, "mapconstants") == 0 && argument != NULL) return take_constants(argument);
  if (strcmp(attack, "room") == 0 && argument != NULL) return take_room(argument);
  return "unknown attack";
}
