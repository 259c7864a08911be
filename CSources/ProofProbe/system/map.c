// SPDX-License-Identifier: Apache-2.0

/// Mapped files, and what happens when one is cut off while it is read.
///
/// Reading a mapped page beyond the end of its file is answered with SIGBUS, whose default is the end of the process.
/// While files are mapped here, and only if the process has left SIGBUS at its default, a handler of ours puts a page
/// of zeros where such a read happened and notes it; any other SIGBUS ends the process as it would have.

#define _GNU_SOURCE

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "system/platform.h"

void *pfp_pages(size_t size) {
  void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? NULL : pages;
}

void pfp_pages_free(void *pages, size_t size) {
  if (pages != NULL) (void)munmap(pages, size);
}

// Mapping saves the copy and adds faults and the removal of pages, which interrupts the other worker. It saves more
// than it costs on an Intel processor, and costs more than it saves on AMD's. Measured on both, docs/results/probe.md;
// processors not measured are read, which is simpler.
bool pfp_map_pays(void) {
#if defined(__x86_64__)
  static atomic_int known;  // 0: not asked yet. A virtual machine takes its time to answer.
  int pays = atomic_load(&known);
  if (pays == 0) {
    unsigned highest, b, c, d;
    char maker[12];
    pays = 1;
    if (__get_cpuid(0, &highest, &b, &c, &d) != 0) {
      memcpy(maker, &b, 4);
      memcpy(maker + 4, &d, 4);
      memcpy(maker + 8, &c, 4);
      if (memcmp(maker, "GenuineIntel", sizeof maker) == 0) pays = 2;
    }
    atomic_store(&known, pays);
  }
  return pays == 2;
#else
  return false;
#endif
}

/// Mappings at any time, in the whole process: two for each measurement going on.
enum { GUARDS = 16 };

static struct {
  atomic_uintptr_t begin, end;  ///< Addresses; end 0: free
  atomic_int hit;
} guards[GUARDS];

static pthread_mutex_t guards_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned guards_used;
static size_t page_size;  ///< Set before the handler is.

static void handle(int number, siginfo_t *information, void *context) {
  int error = errno;
  uintptr_t address = (uintptr_t)information->si_addr;
  (void)context;
  // Below 1: sent by a process, and then si_addr means something else.
  for (unsigned i = 0; i < GUARDS && information->si_code > 0; i++) {
    if (address < atomic_load(&guards[i].begin) || address >= atomic_load(&guards[i].end)) continue;
    // A bare system call, safe here although POSIX does not list it. Pages are powers of two.
    void *page = (uint8_t *)information->si_addr - (address & (page_size - 1));
    if (mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
    atomic_store(&guards[i].hit, 1);
    errno = error;
    return;
  }
  // Not ours. With the default back in place the instruction faults again, or the signal is raised again.
  (void)signal(number, SIG_DFL);
  if (information->si_code <= 0) (void)raise(number);
  errno = error;
}

static int handler_install(void) {
  struct sigaction ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK}, before;
  (void)sigemptyset(&ours.sa_mask);
  page_size = (size_t)sysconf(_SC_PAGESIZE);
  if (sigaction(SIGBUS, &ours, &before) != 0) return -errno;
  if ((before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL) return 0;
  (void)sigaction(SIGBUS, &before, NULL);
  return -ENOTSUP;
}

static void handler_remove(void) {
  struct sigaction plain = {.sa_handler = SIG_DFL}, found;
  (void)sigemptyset(&plain.sa_mask);
  if (sigaction(SIGBUS, &plain, &found) != 0) return;
  // Another handler was installed in the meantime: put it back.
  if ((found.sa_flags & SA_SIGINFO) == 0 || found.sa_sigaction != handle) (void)sigaction(SIGBUS, &found, NULL);
}

static int guard_take(void) {
  int taken = -ENOTSUP;
  (void)pthread_mutex_lock(&guards_lock);
  if (guards_used < GUARDS && (guards_used != 0 || handler_install() == 0)) {
    for (taken = 0; atomic_load(&guards[taken].end) != 0;) taken++;
    atomic_store(&guards[taken].hit, 0);
    // An empty range, but taken.
    atomic_store(&guards[taken].begin, UINTPTR_MAX);
    atomic_store(&guards[taken].end, UINTPTR_MAX);
    guards_used++;
  }
  (void)pthread_mutex_unlock(&guards_lock);
  return taken;
}

static void guard_give(int taken) {
  (void)pthread_mutex_lock(&guards_lock);
  atomic_store(&guards[taken].begin, UINTPTR_MAX);
  atomic_store(&guards[taken].end, 0);
  if (--guards_used == 0) handler_remove();
  (void)pthread_mutex_unlock(&guards_lock);
}

int pfp_map_begin(struct pfp_map *map, int fd, uint64_t size) {
  void *bytes;
  *map = (struct pfp_map){.size = size, .guard = guard_take()};
  if (map->guard < 0) return map->guard;
  bytes = size > SIZE_MAX ? MAP_FAILED : mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
  if (bytes == MAP_FAILED) {
    int error = errno;
    guard_give(map->guard);
    return -error;
  }
  map->bytes = bytes;
  // Page tables of huge pages would map, and charge to the process, two megabytes for every touch.
  (void)madvise(bytes, (size_t)size, MADV_NOHUGEPAGE);
  // The end first: in between the range is empty, not everything.
  atomic_store(&guards[map->guard].end, (uintptr_t)bytes + (uintptr_t)size);
  atomic_store(&guards[map->guard].begin, (uintptr_t)bytes);
  return 0;
}

void pfp_map_release(const struct pfp_map *map, uint64_t offset, size_t size) {
  // A copy of the address without const: madvise changes nothing that is read.
  (void)madvise((void *)((uintptr_t)map->bytes + (uintptr_t)offset), size, MADV_DONTNEED);
}

bool pfp_map_whole(const struct pfp_map *map) { return atomic_load(&guards[map->guard].hit) == 0; }

bool pfp_map_end(struct pfp_map *map) {
  bool whole;
  // Until it is gone a read of it may still fault.
  (void)munmap((void *)(uintptr_t)map->bytes, (size_t)map->size);
  whole = pfp_map_whole(map);
  guard_give(map->guard);
  map->bytes = NULL;
  return whole;
}
