// SPDX-License-Identifier: Apache-2.0

#define _XOPEN_SOURCE 700

#include "schedule.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "base/thread.h"

enum { THREADS = 8, MUTEXES = 8, CHOICES = 65536, NOBODY = -1, STACK = 512 << 10 };

enum state { UNUSED, READY, LOCKING, WAITING, DOZING, JOINING, ENDED };

static struct {
  enum state state;
  const void *object;  ///< Object that it waits for
  ucontext_t context;
  void *stack;
  void *(*work)(void *);
  void *user;
  bool timed_out;
} threads[THREADS];

static struct {
  const pthread_mutex_t *mutex;
  int owner;
} mutexes[MUTEXES];

static struct {
  uint8_t taken, options;
} choices[CHOICES];

static struct schedule plan;
static struct schedule_run run;
static uint32_t depth, known;
static unsigned deviations;
static int me, count;
static bool in_force;

void (*schedule_hangs)(void);

// Choosing -------------------------------------------------------------------------------------------------------

static unsigned choose(unsigned options) {
  if (options < 2) return 0;
  if (depth == CHOICES) {
    (void)fprintf(stderr, "schedule: a run of more than %d choices\n", CHOICES);
    abort();
  }
  if (depth == known) {
    choices[known].taken = 0;
    choices[known++].options = (uint8_t)options;
  }
  return choices[depth++].taken;
}

const char *schedule_words(void) {
  static char words[1024];
  size_t used = 0;
  words[0] = '\0';
  for (uint32_t i = 0; i < depth && used + 32 < sizeof words; i++) {
    if (choices[i].taken == 0) continue;
    used += (size_t)snprintf(words + used, sizeof words - used, "%u:%u ", i, choices[i].taken);
  }
  return words;
}

bool schedule_next(void) {
  known = depth;
  while (known != 0 && choices[known - 1].taken + 1 == choices[known - 1].options) known--;
  if (known == 0) return false;
  choices[known - 1].taken++;
  return true;
}

// Turns ----------------------------------------------------------------------------------------------------------

static void pass_to(int next) {
  int from = me;
  if (next == me) return;
  me = next;
  if (swapcontext(&threads[from].context, &threads[next].context) != 0) abort();
}

/// The thread with this number among those that are ready, without `me`.
static int ready_thread(unsigned number) {
  for (int i = 0; i < count; i++) {
    if (i != me && threads[i].state == READY && number-- == 0) return i;
  }
  return NOBODY;
}

static unsigned ready_others(void) {
  unsigned others = 0;
  for (int i = 0; i < count; i++) others += i != me && threads[i].state == READY;
  return others;
}

/// This thread cannot go on: another one does.
static void give_way(void) {
  unsigned others = ready_others();
  if (others == 0 && run.interrupted) {
    for (int i = 0; i < count && others == 0; i++) {
      if (threads[i].state != DOZING) continue;
      threads[i].timed_out = true;
      threads[i].state = READY;
      if (i == me) return;
      others = 1;
    }
  }
  if (others == 0) schedule_hangs();
  unsigned choice = deviations == plan.deviations ? 0 : choose(others);
  deviations += choice != 0;
  pass_to(ready_thread(choice));
}

/// Before each step that others can see.
static void step(void) {
  run.steps++;
  if (plan.interrupt_at == run.steps) {
    run.interrupted = true;
    plan.interrupt(plan.user);
  }
  unsigned others = ready_others();
  if (others == 0 || deviations == plan.deviations) return;
  unsigned choice = choose(1 + others);
  if (choice == 0) return;
  deviations++;
  pass_to(ready_thread(choice - 1));
}

static void ready_all(enum state state, const void *object) {
  for (int i = 0; i < count; i++) {
    if (threads[i].state == state && threads[i].object == object) threads[i].state = READY;
  }
}

static void wait_for(enum state state, const void *object) {
  threads[me].state = state;
  threads[me].object = object;
  give_way();
}

void schedule_begin(const struct schedule *schedule) {
  plan = *schedule;
  known = 0;
}

void schedule_start(void) {
  depth = 0;
  deviations = 0;
  run = (struct schedule_run){0};
  me = 0;
  count = 1;
  threads[0].state = READY;
  for (int i = 0; i < MUTEXES; i++) mutexes[i].mutex = NULL;
  in_force = true;
}

struct schedule_run schedule_stop(void) {
  in_force = false;
  return run;
}

// Wrappers of pthread --------------------------------------------------------------------------------------------

// The names that --wrap asks for are the linker's.
#define WRAPPED(result, name, ...)   \
  result __real_##name(__VA_ARGS__); \
  result __wrap_##name(__VA_ARGS__); \
  result __wrap_##name(__VA_ARGS__)

static int *owner_of(const pthread_mutex_t *mutex) {
  for (int i = 0; i < MUTEXES; i++) {
    if (mutexes[i].mutex == NULL) {
      mutexes[i].mutex = mutex;
      mutexes[i].owner = NOBODY;
    }
    if (mutexes[i].mutex == mutex) return &mutexes[i].owner;
  }
  abort();
}

static void own(const pthread_mutex_t *mutex) {
  int *owner = owner_of(mutex);
  while (*owner != NOBODY) wait_for(LOCKING, mutex);
  *owner = me;
}

static void disown(const pthread_mutex_t *mutex) {
  *owner_of(mutex) = NOBODY;
  ready_all(LOCKING, mutex);
}

WRAPPED(int, pthread_mutex_lock, pthread_mutex_t *mutex) {
  if (!in_force) return __real_pthread_mutex_lock(mutex);
  step();
  own(mutex);
  return 0;
}

WRAPPED(int, pthread_mutex_unlock, pthread_mutex_t *mutex) {
  if (!in_force) return __real_pthread_mutex_unlock(mutex);
  disown(mutex);
  return 0;
}

WRAPPED(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex) {
  if (!in_force) return __real_pthread_cond_wait(condition, mutex);
  disown(mutex);
  wait_for(WAITING, condition);
  own(mutex);
  return 0;
}

WRAPPED(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
  if (!in_force) return __real_pthread_cond_timedwait(condition, mutex, until);
  threads[me].timed_out = false;
  disown(mutex);
  wait_for(DOZING, condition);
  own(mutex);
  return threads[me].timed_out ? ETIMEDOUT : 0;
}

static void signal_all(const pthread_cond_t *condition) {
  ready_all(WAITING, condition);
  ready_all(DOZING, condition);
}

WRAPPED(int, pthread_cond_broadcast, pthread_cond_t *condition) {
  if (!in_force) return __real_pthread_cond_broadcast(condition);
  signal_all(condition);
  return 0;
}

/// One thread at most waits for any condition that is signalled to one.
WRAPPED(int, pthread_cond_signal, pthread_cond_t *condition) {
  if (!in_force) return __real_pthread_cond_signal(condition);
  signal_all(condition);
  return 0;
}

static void thread_main(void) {
  (void)threads[me].work(threads[me].user);
  threads[me].state = ENDED;
  ready_all(JOINING, &threads[me]);
  give_way();
}

/// Not a thread of the system's but a stack of its own: changing over costs no more than a call.
WRAPPED(int, pfp_thread_start, pthread_t *thread, void *(*work)(void *), void *user) {
  if (!in_force) return __real_pfp_thread_start(thread, work, user);
  int number = count++;
  if (number == THREADS || getcontext(&threads[number].context) != 0) abort();
  if (threads[number].stack == NULL) threads[number].stack = malloc(STACK);
  if (threads[number].stack == NULL) abort();
  threads[number].context.uc_stack.ss_sp = threads[number].stack;
  threads[number].context.uc_stack.ss_size = STACK;
  threads[number].context.uc_link = NULL;
  makecontext(&threads[number].context, thread_main, 0);
  threads[number].work = work;
  threads[number].user = user;
  threads[number].state = READY;
  *thread = (pthread_t)number;
  return 0;
}

WRAPPED(int, pthread_join, pthread_t thread, void **value) {
  if (!in_force) return __real_pthread_join(thread, value);
  while (threads[thread].state != ENDED) wait_for(JOINING, &threads[thread]);
  return 0;
}
