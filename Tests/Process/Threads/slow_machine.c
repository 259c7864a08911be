// SPDX-License-Identifier: Apache-2.0

// Another machine for the process that it is preloaded into:
//
//   SLOW_PROCESSORS=N  it has N processors, and as many threads for Swift's tasks
//   SLOW_SEED=N        every third new thread comes to its work up to half a second late; which ones, and by how much,
//                      depends on N and on how many threads there were before

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LATE_EVERY = 3, LATE_MAX = 500000 };

typedef void *work_function(void *);
typedef int create_function(pthread_t *, const pthread_attr_t *, work_function *, void *);
typedef long number_function(int);

struct late_work {
  work_function *work;
  void *context;
  useconds_t delay;
};

static atomic_ulong threads;

// C has no conversion of what dlsym returns to a function.
static void find(const char *name, void *function, size_t size) {
  void *const found = dlsym(RTLD_NEXT, name);
  memcpy(function, &found, size);
}

long sysconf(int name) {
  static number_function *original;
  if (original == NULL) find("sysconf", &original, sizeof original);
  const char *const count = getenv("SLOW_PROCESSORS");
  const int counts = name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF;
  return counts && count != NULL ? atol(count) : original(name);
}

static void *begin_late(void *context) {
  const struct late_work late = *(struct late_work *)context;
  free(context);
  usleep(late.delay);
  return late.work(late.context);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, work_function *work, void *context) {
  static create_function *original;
  if (original == NULL) find("pthread_create", &original, sizeof original);
  const char *const seed = getenv("SLOW_SEED");
  if (seed == NULL) return original(thread, attributes, work, context);
  // The last steps of splitmix64.
  uint64_t mixed = (strtoull(seed, NULL, 10) << 32) + atomic_fetch_add(&threads, 1);
  mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
  mixed ^= mixed >> 31;
  struct late_work *const late = mixed % LATE_EVERY == 0 ? malloc(sizeof *late) : NULL;
  if (late == NULL) return original(thread, attributes, work, context);
  *late = (struct late_work){.work = work, .context = context, .delay = (useconds_t)(mixed >> 32) % LATE_MAX};
  const int failure = original(thread, attributes, begin_late, late);
  if (failure != 0) free(late);
  return failure;
}
