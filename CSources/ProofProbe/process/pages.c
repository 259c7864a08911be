// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "system/platform.h"
#include "process/process.h"
#include "base/thread.h"

/// From the kernel's uapi, linux/fs.h of 6.7; older headers lack it.
struct pm_scan_arg {
  uint64_t size;
  uint64_t flags;
  uint64_t start;
  uint64_t end;
  uint64_t walk_end;
  uint64_t vec;
  uint64_t vec_len;
  uint64_t max_pages;
  uint64_t category_inverted;
  uint64_t category_mask;
  uint64_t category_anyof_mask;
  uint64_t return_mask;
};

struct page_region {
  uint64_t start;
  uint64_t end;
  uint64_t categories;
};

#define PFP_PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)

enum { PAGE_FILE = 1u << 2, PAGE_PRESENT = 1u << 3, PAGE_SWAPPED = 1u << 4 };
enum { REGIONS = 64, ENTRIES = 512 };

static const uint64_t ENTRY_FILE = 1ull << 61, ENTRY_SWAPPED = 1ull << 62, ENTRY_PRESENT = 1ull << 63;

/// Asks for pages that exist and are not the file's. The count, -1 if the kernel does not know the question.
static long scan(uintptr_t start, uintptr_t end, int descriptor, uint64_t page) {
  struct page_region regions[REGIONS];
  uint64_t pages = 0;
  while (start < end) {
    struct pm_scan_arg argument = {.size = sizeof argument,
                                   .start = start,
                                   .end = end,
                                   .vec = (uint64_t)(uintptr_t)regions,
                                   .vec_len = REGIONS,
                                   .category_inverted = PAGE_FILE,
                                   .category_mask = PAGE_FILE,
                                   .category_anyof_mask = PAGE_PRESENT | PAGE_SWAPPED,
                                   .return_mask = PAGE_FILE | PAGE_PRESENT | PAGE_SWAPPED};
    int count = ioctl(descriptor, PFP_PAGEMAP_SCAN, &argument);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    for (int i = 0; i < count; i++) pages += (regions[i].end - regions[i].start) / page;
    if (argument.walk_end <= start) break;
    start = (uintptr_t)argument.walk_end;
  }
  return (long)pages;
}

static long read_entries(uintptr_t start, uintptr_t end, int descriptor, uint64_t page) {
  uint64_t entries[ENTRIES];
  long pages = 0;
  while (start < end) {
    size_t wanted = (size_t)((end - start) / page);
    ssize_t got;
    if (wanted > ENTRIES) wanted = ENTRIES;
    got = pread(descriptor, entries, wanted * sizeof entries[0], (off_t)(start / page * sizeof entries[0]));
    if (got < 0 && errno == EINTR) continue;
    if (got < (ssize_t)sizeof entries[0]) return -1;
    for (size_t i = 0; i < (size_t)got / sizeof entries[0]; i++) {
      if ((entries[i] & (ENTRY_PRESENT | ENTRY_SWAPPED)) != 0 && (entries[i] & ENTRY_FILE) == 0) pages++;
    }
    start += (uintptr_t)((size_t)got / sizeof entries[0] * page);
  }
  return pages;
}

long pfp_pages_private(uintptr_t start, uintptr_t end, const struct pfp_process *process) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  long pages = -1;
  if (process->pagemap < 0) return -1;
  if (!process->no_query) pages = scan(start, end, process->pagemap, page);
  return pages >= 0 ? pages : read_entries(start, end, process->pagemap, page);
}

/// Bytes that are worth a second thread: starting one costs as much as scanning some thousand pages.
#define WORTH_TWO ((uintptr_t)64 << 20)

struct counting {
  struct pfp_page_range *ranges;
  size_t count;
  const struct pfp_process *process;
  atomic_size_t next;
};

static void *count_ranges(void *user) {
  struct counting *counting = user;
  size_t i;
  while ((i = atomic_fetch_add(&counting->next, 1)) < counting->count) {
    struct pfp_page_range *range = &counting->ranges[i];
    range->pages = pfp_pages_private(range->start, range->end, counting->process);
  }
  return NULL;
}

void pfp_pages_count(struct pfp_page_range *ranges, size_t count, const struct pfp_process *process) {
  struct counting counting = {.ranges = ranges, .count = count, .process = process};
  uintptr_t bytes = 0;
  pthread_t second;
  int two;
  for (size_t i = 0; i < count; i++) bytes += ranges[i].end - ranges[i].start;
  two = bytes >= WORTH_TWO && pfp_processors() > 1 && pfp_thread_start(&second, count_ranges, &counting) == 0;
  (void)count_ranges(&counting);
  if (two) (void)pthread_join(second, NULL);
}
