// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "floor.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/// Linux 6.7, linux/fs.h.
struct scan {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, inverted, mask, anyof, returned;
};
struct region {
  uint64_t start, end, categories;
};
/// Linux 6.11, linux/fs.h.
struct query {
  uint64_t size, flags, address, start, end, vma_flags, page_size, offset, inode;
  uint32_t major, minor, name_size, build_id_size;
  uint64_t name, build_id;
};

#define SCAN _IOWR('f', 16, struct scan)
#define QUERY _IOWR('f', 17, struct query)

enum { RANGES = 4096, PATHS = 1024, FILES = 64, RANGE_BYTES = 4 << 20 };

static struct {
  int *files;
  size_t file_count;
  struct region ranges[RANGES];
  size_t range_count;
  char *paths[PATHS];
  size_t path_count;
  int maps, pagemap;
  atomic_size_t file, range, failed;
} all;

static int add_object(struct dl_phdr_info *info, size_t size, void *user) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  (void)size;
  (void)user;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t start = (info->dlpi_addr + header->p_vaddr) & ~(page - 1);
    uintptr_t end = (info->dlpi_addr + header->p_vaddr + header->p_filesz + page - 1) & ~(page - 1);
    struct region *last = all.range_count != 0 ? &all.ranges[all.range_count - 1] : NULL;
    if (header->p_type != PT_LOAD || (header->p_flags & PF_W) != 0 || header->p_filesz == 0) continue;
    if (last != NULL && last->end == start && end - last->start <= RANGE_BYTES) {
      last->end = end;
      continue;
    }
    while (start < end && all.range_count < RANGES) {
      uintptr_t to = end - start > RANGE_BYTES ? start + RANGE_BYTES : end;
      all.ranges[all.range_count++] = (struct region){start, to, 0};
      start = to;
    }
  }
  if (info->dlpi_name != NULL && info->dlpi_name[0] == '/' && all.path_count < PATHS) {
    all.paths[all.path_count++] = strdup(info->dlpi_name);
  }
  return 0;
}

int floor_open(const char *bundle) {
  char *roots[] = {strdup(bundle), NULL};
  FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
  FTSENT *entry;
  size_t capacity = 0;
  while (walk != NULL && (entry = fts_read(walk)) != NULL) {
    if (entry->fts_info != FTS_F) continue;
    if (all.file_count == capacity) {
      capacity = 2 * capacity + 1024;
      all.files = realloc(all.files, capacity * sizeof *all.files);
      if (all.files == NULL) return ENOMEM;
    }
    all.files[all.file_count] = open(entry->fts_path, O_RDONLY | O_CLOEXEC);
    if (all.files[all.file_count++] < 0) return errno;
  }
  if (walk != NULL) (void)fts_close(walk);
  free(roots[0]);
  all.maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  all.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (all.maps < 0 || all.pagemap < 0) return errno;
  (void)dl_iterate_phdr(add_object, NULL);
  return 0;
}

static void *ask_files(void *user) {
  size_t at;
  while ((at = atomic_fetch_add(&all.file, FILES)) < all.file_count) {
    for (size_t i = at; i < at + FILES && i < all.file_count; i++) {
      struct stat found;
      if (fstat(all.files[i], &found) != 0) all.failed++;
    }
  }
  return user;
}

static void *ask_ranges(void *user) {
  size_t at;
  while ((at = atomic_fetch_add(&all.range, 1)) < all.range_count) {
    struct region regions[64];
    // Pages that are there and are not the file's.
    struct scan scan = {.size = sizeof scan,
                        .start = all.ranges[at].start,
                        .end = all.ranges[at].end,
                        .vec = (uint64_t)(uintptr_t)regions,
                        .vec_len = 64,
                        .inverted = 4,
                        .mask = 4,
                        .anyof = 24,
                        .returned = 28};
    if (ioctl(all.pagemap, SCAN, &scan) < 0) all.failed++;
  }
  return user;
}

static void on_two(void *(*ask)(void *)) {
  pthread_t second;
  int two = pthread_create(&second, NULL, ask, NULL) == 0;
  (void)ask(NULL);
  if (two) (void)pthread_join(second, NULL);
}

static void ask_mappings(void) {
  char name[4096];
  uint64_t address = 0;
  for (;;) {
    struct query query = {.size = sizeof query,
                          .flags = 0x10,
                          .address = address,
                          .name = (uint64_t)(uintptr_t)name,
                          .name_size = sizeof name};
    if (ioctl(all.maps, QUERY, &query) != 0) return;
    address = query.end;
  }
}

size_t floor_ask(void) {
  atomic_store(&all.file, 0);
  atomic_store(&all.range, 0);
  on_two(ask_files);
  ask_mappings();
  on_two(ask_ranges);
  for (size_t i = 0; i < all.path_count; i++) {
    struct statx found;
    if (statx(AT_FDCWD, all.paths[i], 0, STATX_BASIC_STATS, &found) != 0) all.failed++;
  }
  return atomic_exchange(&all.failed, 0);
}
