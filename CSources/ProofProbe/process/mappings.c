// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "probe_result.h"
#include "process/process.h"
#include "system/platform.h"

/// From the kernel's uapi, linux/fs.h of 6.11; older headers lack it.
struct procmap_query {
  uint64_t size;
  uint64_t query_flags;
  uint64_t query_addr;
  uint64_t vma_start;
  uint64_t vma_end;
  uint64_t vma_flags;
  uint64_t vma_page_size;
  uint64_t vma_offset;
  uint64_t inode;
  uint32_t dev_major;
  uint32_t dev_minor;
  uint32_t vma_name_size;
  uint32_t build_id_size;
  uint64_t vma_name_addr;
  uint64_t build_id_addr;
};

#define PFP_PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)

enum { QUERY_COVERING_OR_NEXT = 0x10, QUERY_FLAGS = 0x0F };

_Static_assert(PFP_READ == 1 && PFP_WRITE == 2 && PFP_EXECUTE == 4 && PFP_SHARED == 8, "the query's own flags");

static uint64_t device_number(uint32_t major, uint32_t minor) { return (uint64_t)major << 32 | minor; }

/// Room for one more mapping with a name of this size. NULL for lack of memory.
static struct pfp_mapping *append(struct pfp_mappings *mappings, const char *name, size_t name_size) {
  struct pfp_mapping *mapping;
  if (mappings->count == mappings->capacity) {
    size_t capacity = mappings->capacity != 0 ? 2 * mappings->capacity : 256;
    struct pfp_mapping *grown = realloc(mappings->items, capacity * sizeof *grown);
    if (grown == NULL) return NULL;
    mappings->items = grown;
    mappings->capacity = capacity;
  }
  if (mappings->names_capacity - mappings->names_size < name_size + 1) {
    size_t capacity = 2 * mappings->names_capacity + name_size + 4096;
    char *grown = realloc(mappings->names, capacity);
    if (grown == NULL) return NULL;
    mappings->names = grown;
    mappings->names_capacity = capacity;
  }
  mapping = &mappings->items[mappings->count++];
  mapping->name = mappings->names_size;
  memcpy(mappings->names + mappings->names_size, name, name_size);
  mappings->names[mappings->names_size + name_size] = 0;
  mappings->names_size += name_size + 1;
  return mapping;
}

/// 1 done, 0 the kernel does not know the query, -1 out of memory.
static int read_by_query(struct pfp_mappings *mappings, int descriptor) {
  char name[4096];
  uint64_t address = 0;
  for (;;) {
    struct procmap_query query = {.size = sizeof query,
                                  .query_flags = QUERY_COVERING_OR_NEXT,
                                  .query_addr = address,
                                  .vma_name_addr = (uint64_t)(uintptr_t)name,
                                  .vma_name_size = sizeof name};
    struct pfp_mapping *mapping;
    size_t name_size;
    if (ioctl(descriptor, PFP_PROCMAP_QUERY, &query) != 0) {
      if (errno == EINTR) continue;
      // ENOENT: no mapping at or after the address. Anything else at the first question: not supported.
      return errno == ENOENT && mappings->count != 0 ? 1 : 0;
    }
    name_size = query.vma_name_size != 0 ? query.vma_name_size - 1 : 0;
    mapping = append(mappings, name, name_size);
    if (mapping == NULL) return -1;
    mapping->start = (uintptr_t)query.vma_start;
    mapping->end = (uintptr_t)query.vma_end;
    mapping->offset = query.vma_offset;
    mapping->inode = query.inode;
    mapping->device = device_number(query.dev_major, query.dev_minor);
    mapping->flags = (unsigned)query.vma_flags & QUERY_FLAGS;
    if (mapping->end <= address) return 0;
    address = mapping->end;
  }
}

/// One line of /proc/self/maps. As `pfp_mappings_read`.
static int read_line(struct pfp_mappings *mappings, char *line) {
  unsigned long long start, end, offset, inode;
  unsigned major, minor;
  char permissions[5];
  int at = 0;
  struct pfp_mapping *mapping;
  if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, permissions, &offset, &major, &minor, &inode,
             &at) < 7) {
    return PFP_E_UNREADABLE;
  }
  mapping = append(mappings, line + at, strlen(line + at));
  if (mapping == NULL) return PFP_E_RESOURCE;
  mapping->start = (uintptr_t)start;
  mapping->end = (uintptr_t)end;
  mapping->offset = offset;
  mapping->inode = inode;
  mapping->device = device_number(major, minor);
  mapping->flags = (permissions[0] == 'r' ? PFP_READ : 0u) | (permissions[1] == 'w' ? PFP_WRITE : 0u) |
                   (permissions[2] == 'x' ? PFP_EXECUTE : 0u) | (permissions[3] == 's' ? PFP_SHARED : 0u);
  return PFP_OK;
}

/// Reads the text to its end before parsing it: a change between two reads would show a mapping twice or not at all.
static int read_by_text(struct pfp_mappings *mappings, int descriptor) {
  size_t size = 0, capacity = 1u << 16;
  char *text = malloc(capacity);
  int result = PFP_E_RESOURCE;
  while (text != NULL) {
    ssize_t count;
    if (capacity - size < 4096) {
      char *grown = realloc(text, 2 * capacity);
      if (grown == NULL) break;
      text = grown;
      capacity *= 2;
    }
    count = pread(descriptor, text + size, capacity - size - 1, (off_t)size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && !pfp_error_is_resource(errno)) result = PFP_E_UNREADABLE;
    if (count < 0) break;
    size += (size_t)count;
    if (count == 0) {
      result = PFP_OK;
      break;
    }
  }
  if (result == PFP_OK) {
    char *line = text;
    text[size] = 0;
    while (result == PFP_OK && *line != 0) {
      char *end = strchr(line, '\n');
      if (end == NULL) break;
      *end = 0;
      result = read_line(mappings, line);
      line = end + 1;
    }
    if (result == PFP_OK && mappings->count == 0) result = PFP_E_UNREADABLE;
  }
  free(text);
  return result;
}

int pfp_mappings_read(struct pfp_mappings *mappings, const struct pfp_process *process) {
  int done = 0, result;
  memset(mappings, 0, sizeof *mappings);
  if (process->maps < 0) return PFP_E_UNREADABLE;
  if (!process->no_query) done = read_by_query(mappings, process->maps);
  result = done < 0 ? PFP_E_RESOURCE : PFP_OK;
  if (done == 0) {
    pfp_mappings_free(mappings);
    result = read_by_text(mappings, process->maps);
  }
  if (result != PFP_OK) pfp_mappings_free(mappings);
  return result;
}

const struct pfp_mapping *pfp_mappings_at(const struct pfp_mappings *mappings, uintptr_t address) {
  size_t low = 0, high = mappings->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (mappings->items[middle].end <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == mappings->count || mappings->items[low].start > address) return NULL;
  return &mappings->items[low];
}

void pfp_mappings_free(struct pfp_mappings *mappings) {
  free(mappings->items);
  free(mappings->names);
  memset(mappings, 0, sizeof *mappings);
}

int pfp_mapping_ask(struct pfp_mapping *answer, uintptr_t address, const struct pfp_process *process) {
  struct pfp_mappings mappings;
  const struct pfp_mapping *mapping;
  struct procmap_query query = {.size = sizeof query, .query_addr = (uint64_t)address};
  int result;
  memset(answer, 0, sizeof *answer);
  // One question, where the kernel takes questions; all mappings otherwise.
  if (!process->no_query && ioctl(process->maps, PFP_PROCMAP_QUERY, &query) == 0) {
    answer->start = (uintptr_t)query.vma_start;
    answer->end = (uintptr_t)query.vma_end;
    answer->offset = query.vma_offset;
    answer->inode = query.inode;
    answer->device = device_number(query.dev_major, query.dev_minor);
    answer->flags = (unsigned)query.vma_flags & QUERY_FLAGS;
    return 1;
  }
  result = pfp_mappings_read(&mappings, process);
  if (result != PFP_OK) return result;
  mapping = pfp_mappings_at(&mappings, address);
  result = mapping != NULL;
  if (mapping != NULL) *answer = *mapping;
  pfp_mappings_free(&mappings);
  return result;
}

int pfp_mapped_identity(uint64_t *device, uint64_t *inode, const char *path, const struct pfp_process *process) {
  struct pfp_mapping mapping;
  long page = sysconf(_SC_PAGESIZE);
  void *bytes;
  int asked, error;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return pfp_error_is_resource(errno) ? PFP_E_RESOURCE : PFP_E_UNREADABLE;
  bytes = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, descriptor, 0);
  error = errno;
  (void)close(descriptor);
  if (bytes == MAP_FAILED) return pfp_error_is_resource(error) ? PFP_E_RESOURCE : PFP_E_UNREADABLE;
  asked = pfp_mapping_ask(&mapping, (uintptr_t)bytes, process);
  (void)munmap(bytes, (size_t)page);
  if (asked != 1) return asked < 0 ? asked : PFP_E_UNREADABLE;
  *device = mapping.device;
  *inode = mapping.inode;
  return PFP_OK;
}
