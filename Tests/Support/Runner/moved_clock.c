// SPDX-License-Identifier: Apache-2.0

// The time of day of one process, moved by a file: preloaded into it. The system's own clock would change for every
// process. MOVED_CLOCK names a file whose first eight bytes are the seconds that are added (little endian).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

typedef int clock_function(clockid_t, struct timespec *);
typedef int wait_function(sem_t *, const struct timespec *);

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

// libc's own does not call the function above.
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec moment;
  const int result = clock_gettime(CLOCK_REALTIME, &moment);
  now->tv_sec = moment.tv_sec;
  now->tv_usec = moment.tv_nsec / 1000;
  return result;
}

time_t time(time_t *kept) {
  struct timespec moment;
  if (clock_gettime(CLOCK_REALTIME, &moment) != 0) return -1;
  if (kept != NULL) *kept = moment.tv_sec;
  return moment.tv_sec;
}

// The kernel waits by its own clock: a moment of the moved one is moved back.
int sem_timedwait(sem_t *semaphore, const struct timespec *end) {
  static wait_function *original;
  if (original == NULL) original = (wait_function *)dlsym(RTLD_NEXT, "sem_timedwait");
  struct timespec real = *end;
  if (shift != NULL) real.tv_sec -= *shift;
  return original(semaphore, &real);
}
