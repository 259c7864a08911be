// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "MemoryScan.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096, CHUNK = 64 * 1024 };

/// One for all witnesses, and one scan at a time: what one has just read is no trace for another to find.
static uint8_t buffer[CHUNK + MEMORY_SCAN_NEEDLE_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int memory_scan_read(void *to, uintptr_t from, size_t size) {
  struct iovec local = {.iov_base = to, .iov_len = size};
  struct iovec remote = {.iov_base = (void *)from, .iov_len = size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

static size_t count_in_range(memory_scan_count count, size_t needle, uintptr_t from, uintptr_t to) {
  const uintptr_t own_from = (uintptr_t)buffer;
  const uintptr_t own_to = own_from + sizeof buffer;
  size_t sum = 0;
  while (from < to) {
    size_t size = to - from < CHUNK ? to - from : CHUNK;
    size_t overlap = to - from - size < needle - 1 ? to - from - size : needle - 1;
    if (from < own_to && own_from < from + size + overlap) {
      // Up to the buffer, then on behind it.
      if (from < own_from) sum += count_in_range(count, needle, from, own_from);
      from = own_to;
      continue;
    }
    if (memory_scan_read(buffer, from, size + overlap)) {
      sum += count(buffer, size + overlap);
    } else {
      // A page of it is gone, or only what follows is.
      for (uintptr_t page = from; page < from + size; page += PAGE) {
        size_t part = from + size - page < PAGE ? from + size - page : PAGE;
        if (memory_scan_read(buffer, page, part)) sum += count(buffer, part);
      }
    }
    from += size;
  }
  return sum;
}

size_t memory_scan(memory_scan_count count, size_t needle, size_t largest) {
  char line[512];
  size_t sum = 0;
  FILE *maps = fopen("/proc/self/maps", "re");
  if (maps == NULL) return (size_t)-1;
  (void)pthread_mutex_lock(&lock);
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long from;
    unsigned long to;
    char permissions[5];
    if (sscanf(line, "%lx-%lx %4s", &from, &to, permissions) != 3) continue;
    // The kernel's own ([vvar], [vsyscall]) cannot be read from outside.
    if (permissions[0] != 'r' || strstr(line, "[v") != NULL || to - from > largest) continue;
    sum += count_in_range(count, needle, from, to);
  }
  explicit_bzero(buffer, sizeof buffer);
  (void)pthread_mutex_unlock(&lock);
  fclose(maps);
  return sum;
}
