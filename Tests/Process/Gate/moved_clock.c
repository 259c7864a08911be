// SPDX-License-Identifier: Apache-2.0

// The time of day of one process, moved by a file: preloaded into it. The system's own clock would change for every
// process. MOVED_CLOCK names a file whose first eight bytes are the seconds that are added (little endian).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

typedef int clock_function(clockid_t, struct timespec *);

static const volatile int64_t *shift;

__attribute__((constructor)) static void begin(void) {
  const char *const name = getenv("MOVED_CLOCK");
  const int file = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) abort();
  void *const made = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
  if (made == MAP_FAILED) abort();
  shift = made;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  // Libraries ask for the time in constructors that run before the one above.
  static clock_function *original;
  if (original == NULL) original = (clock_function *)dlsym(RTLD_NEXT, "clock_gettime");
  const int result = original(clock, now);
  if (shift != NULL && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *shift;
  return result;
}
