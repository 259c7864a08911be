#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linux_proc.h"
#include "process.h"

/// Some of these belong to root once the process is not dumpable, and open no more; hence they are opened once.
void pfp_process_open(struct pfp_process *process) {
  process->maps = pfp_proc_open(-1, "self/maps", 0);
  process->pagemap = pfp_proc_open(-1, "self/pagemap", 0);
  process->status = pfp_proc_open(-1, "self/status", 0);
  process->initial = pfp_proc_open(-1, "self/environ", 0);
  process->owner = getpid();
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

void pfp_process_renew(struct pfp_process *process) {
  int no_query = process->no_query;
  if (process->owner == getpid()) return;
  pfp_process_close(process);
  pfp_process_open(process);
  process->no_query = no_query;
}

int pfp_process_executable(void) {
  // Of the link itself: over it, too, something may be mounted.
  int link = pfp_proc_open(-1, "self/exe", O_PATH | O_NOFOLLOW);
  if (link < 0) return 0;
  (void)close(link);
  return 1;
}

ssize_t pfp_read_descriptor(void *bytes, size_t capacity, int descriptor) {
  size_t size = 0;
  if (descriptor < 0) return -1;
  while (size < capacity) {
    ssize_t count = pread(descriptor, (uint8_t *)bytes + size, capacity - size, (off_t)size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) return (ssize_t)size;
    size += (size_t)count;
  }
  return -1;
}

ssize_t pfp_read_file(void *bytes, size_t capacity, const char *path) {
  // A FIFO or a device in the place of a file must not block.
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  ssize_t size;
  if (descriptor < 0) return -1;
  size = pfp_read_descriptor(bytes, capacity, descriptor);
  (void)close(descriptor);
  return size;
}
