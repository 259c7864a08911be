// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/platform.h"
#include "system/proc.h"
#include "process/process.h"

/// Some of these belong to root once the process is not dumpable, and open no more; hence they are opened once.
int pfp_process_open(struct pfp_process *process) {
  static const char *const NAMES[] = {"self/maps", "self/pagemap", "self/status", "self/environ"};
  int *const places[] = {&process->maps, &process->pagemap, &process->status, &process->initial};
  int result = 0;
  for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
    *places[i] = pfp_proc_open(-1, NAMES[i], 0);
    if (*places[i] < 0 && pfp_error_is_resource(errno)) result = -1;
  }
  process->owner = result == 0 ? getpid() : 0;
  return result;
}

static void close_one(int *descriptor) {
  if (*descriptor >= 0) (void)close(*descriptor);
  *descriptor = -1;
}

void pfp_process_close(struct pfp_process *process) {
  close_one(&process->maps);
  close_one(&process->pagemap);
  close_one(&process->status);
  close_one(&process->initial);
  free(process->cache);
  process->cache = NULL;
  process->cache_count = 0;
}

int pfp_process_renew(struct pfp_process *process) {
  int no_query = process->no_query, result;
  if (process->owner == getpid()) return 0;
  pfp_process_close(process);
  result = pfp_process_open(process);
  process->no_query = no_query;
  return result;
}

int pfp_process_executable(void) {
  // Ask for the link itself: a file may be mounted over it, too.
  int link = pfp_proc_open(-1, "self/exe", O_PATH | O_NOFOLLOW);
  if (link < 0) return pfp_error_is_resource(errno) ? -1 : 0;
  (void)close(link);
  return 1;
}

ssize_t pfp_read_descriptor(void *bytes, size_t capacity, int descriptor) {
  size_t size = 0;
  errno = EBADF;
  if (descriptor < 0) return -1;
  while (size < capacity) {
    ssize_t count = pread(descriptor, (uint8_t *)bytes + size, capacity - size, (off_t)size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) return (ssize_t)size;
    size += (size_t)count;
  }
  errno = EFBIG;
  return -1;
}

ssize_t pfp_read_file(void *bytes, size_t capacity, const char *path) {
  // A FIFO or a device in the place of a file must not block.
  int error, descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  ssize_t size;
  if (descriptor < 0) return -1;
  size = pfp_read_descriptor(bytes, capacity, descriptor);
  error = errno;
  (void)close(descriptor);
  errno = error;
  return size;
}
