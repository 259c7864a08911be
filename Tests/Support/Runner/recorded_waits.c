// SPDX-License-Identifier: Apache-2.0

// Records how long a process would wait, preloaded into it. RECORDED_WAITS names a file that gets a line for each wait:
//
//   sleep SECONDS      sleep and nanosleep; they return at once until RECORDED_SLEEPS calls were made, and wait from
//                      then on
//   condition SECONDS  pthread_cond_timedwait of 20 s or more; it times out at once
//   curl OPTION VALUE  curl_easy_setopt of a time limit, in milliseconds
//
// With RECORDED_NOW the clock of the day stands at this many seconds since 1970.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CURL_TIMEOUT = 155, CURL_CONNECT_TIMEOUT = 156, LONG_SECONDS = 20 };

typedef int clock_function(clockid_t, struct timespec *);
typedef int sleep_function(const struct timespec *, struct timespec *);
typedef int condition_function(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int option_function(void *, int, ...);

// The moment that this thread read last: a deadline is later than it by exactly the wait.
static _Thread_local struct timespec seen;
static atomic_int sleeps;

static void record(const char *line, size_t count) {
  const char *const name = getenv("RECORDED_WAITS");
  const int file = name == NULL ? -1 : open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line, count) != (ssize_t)count || close(file) != 0) abort();
}

static void record_seconds(const char *kind, time_t seconds, long nanoseconds) {
  char line[64];
  const int count = snprintf(line, sizeof line, "%s %lld.%09ld\n", kind, (long long)seconds, nanoseconds);
  record(line, (size_t)count);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  // Libraries ask for the time in their constructors.
  static clock_function *original;
  if (original == NULL) original = (clock_function *)dlsym(RTLD_NEXT, "clock_gettime");
  const int result = original(clock, now);
  if (clock == CLOCK_MONOTONIC) seen = *now;
  const char *const fixed = getenv("RECORDED_NOW");
  if (clock == CLOCK_REALTIME && fixed != NULL) *now = (struct timespec){.tv_sec = atoll(fixed)};
  return result;
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
  const char *const most = getenv("RECORDED_SLEEPS");
  record_seconds("sleep", wanted->tv_sec, wanted->tv_nsec);
  if (most != NULL && atomic_fetch_add(&sleeps, 1) < atoi(most)) return 0;
  return ((sleep_function *)dlsym(RTLD_NEXT, "nanosleep"))(wanted, left);
}

unsigned sleep(unsigned seconds) {
  const struct timespec wanted = {.tv_sec = (time_t)seconds};
  return nanosleep(&wanted, NULL) == 0 ? 0 : seconds;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict end) {
  time_t seconds = end->tv_sec - seen.tv_sec;
  long nanoseconds = end->tv_nsec - seen.tv_nsec;
  if (nanoseconds < 0) {
    seconds -= 1;
    nanoseconds += 1000000000L;
  }
  if (seconds >= LONG_SECONDS && seconds < 1000) {
    record_seconds("condition", seconds, nanoseconds);
    return ETIMEDOUT;
  }
  return ((condition_function *)dlsym(RTLD_NEXT, "pthread_cond_timedwait"))(condition, mutex, end);
}

// A value is a long, a pointer or a 64-bit number: each is a word.
int curl_easy_setopt(void *handle, int option, ...) {
  va_list values;
  va_start(values, option);
  void *const value = va_arg(values, void *);
  va_end(values);
  if (option == CURL_TIMEOUT || option == CURL_CONNECT_TIMEOUT) {
    char line[64];
    const int count = snprintf(line, sizeof line, "curl %d %ld\n", option, (long)value);
    record(line, (size_t)count);
  }
  return ((option_function *)dlsym(RTLD_NEXT, "curl_easy_setopt"))(handle, option, value);
}
