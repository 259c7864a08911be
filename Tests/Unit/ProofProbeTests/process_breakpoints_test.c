// SPDX-License-Identifier: Apache-2.0

/// Breakpoints in debug registers: those of other programs are seen, and the probe's own keep others out.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ProofProbe.h"
#include "process_place.h"
#include "process_sight.h"
#include "process_suites.h"

static int with_breakpoint(struct pfp_probe *probe) {
  struct sight_record before, during, after;
  int breakpoint;
  if (sight_look(&before, probe, BREAKPOINTS) != PFP_OK || before.seen != 1 || !before.present) return 2;
  breakpoint = sight_breakpoint();
  if (breakpoint < 0) return 3;
  if (sight_look(&during, probe, BREAKPOINTS) != PFP_OK || !during.present) return 4;
  if (memcmp(during.digest, before.digest, sizeof before.digest) == 0) return 5;
#if defined(__x86_64__)
  if (!sight_says(&before, "none") || !sight_says(&during, "in use")) return 6;
#endif
  if (close(breakpoint) != 0 || sight_look(&after, probe, BREAKPOINTS) != PFP_OK) return 7;
  return memcmp(after.digest, before.digest, sizeof before.digest) == 0 ? 0 : 8;
}

static void a_breakpoint_is_an_observation(void) {
  if (!sight_can_ask()) return;
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(with_breakpoint), 0);
  place_finish();
}

/// A child holds breakpoints of its own while its parent looks.
static int beside_a_debugged_process(struct pfp_probe *probe) {
  struct sight_record before, during;
  int ready[2];
  char byte = 'n';
  pid_t other;
  if (sight_look(&before, probe, BREAKPOINTS) != PFP_OK || pipe2(ready, O_CLOEXEC) != 0) return 2;
  other = fork();
  if (other == 0) {
    byte = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && sight_breakpoint() >= 0 && sight_breakpoint() >= 0 ? 'y' : 'n';
    (void)!write(ready[1], &byte, 1);
    for (;;) (void)pause();
  }
  if (read(ready[0], &byte, 1) != 1 || byte != 'y') return 3;
  for (int i = 0; i < 50; i++) {
    if (sight_look(&during, probe, BREAKPOINTS) != PFP_OK) return 4;
    if (memcmp(during.digest, before.digest, sizeof before.digest) != 0) return 5;
  }
  (void)kill(other, SIGKILL);
  return 0;
}

static void anothers_breakpoints_do_not_count(void) {
  if (!sight_can_ask()) return;
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(beside_a_debugged_process), 0);
  place_finish();
}

static atomic_int forking;

/// Children that inherit every descriptor of this process and stay.
static void *fork_on(void *count) {
  while (forking) {
    pid_t child = fork();
    if (child == 0) {
      if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(1);
      for (;;) (void)pause();
    }
    if (child > 0 && ++*(int *)count == 300) return NULL;
  }
  return NULL;
}

static int beside_forks(struct pfp_probe *probe) {
  struct sight_record before, now;
  pthread_t thread;
  int count = 0;
  if (sight_look(&before, probe, BREAKPOINTS) != PFP_OK) return 2;
  forking = 1;
  if (pthread_create(&thread, NULL, fork_on, &count) != 0) return 3;
  for (int i = 0; i < 1000; i++) {
    if (sight_look(&now, probe, BREAKPOINTS) != PFP_OK) return 4;
    if (memcmp(now.digest, before.digest, sizeof before.digest) != 0) return 5;
  }
  forking = 0;
  (void)pthread_join(thread, NULL);
  return count > 0 ? 0 : 6;
}

static void no_child_keeps_a_breakpoint(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(beside_forks), 0);
  place_finish();
}

struct looker {
  pthread_t thread;
  struct pfp_probe *probe;
  const struct sight_record *first;
  int odd;
};

static void *look_on(void *user) {
  struct looker *looker = user;
  struct sight_record now;
  for (int i = 0; i < 500; i++) {
    pfp_probe_hold();
    if (sight_look(&now, looker->probe, BREAKPOINTS) != PFP_OK ||
        memcmp(now.digest, looker->first->digest, sizeof now.digest) != 0) {
      looker->odd++;
    }
    pfp_probe_let_go();
  }
  return NULL;
}

static void threads_hold_their_own(void) {
  struct looker lookers[3];
  struct sight_record before;
  REQUIRE(place_begin());
  for (int i = 0; i < 3; i++) lookers[i] = (struct looker){.probe = place_probe(), .first = &before};
  CHECK_NUMBER(sight_look(&before, lookers[0].probe, BREAKPOINTS), PFP_OK);
  for (int i = 0; i < 3; i++) REQUIRE(pthread_create(&lookers[i].thread, NULL, look_on, &lookers[i]) == 0);
  for (int i = 0; i < 3; i++) {
    (void)pthread_join(lookers[i].thread, NULL);
    CHECK_NUMBER(lookers[i].odd, 0);
    pfp_probe_free(lookers[i].probe);
  }
  place_finish();
}

/// As a container's filter of system calls answers.
static int without_perf(struct pfp_probe *probe) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  struct sight_record record;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return 2;
  }
  for (int i = 0; i < 1000; i++) {
    if (sight_look(&record, probe, BREAKPOINTS) != PFP_OK) return 3;
    if (!sight_says(&record, "cannot be asked")) return 4;
  }
  return 0;
}

static void a_container_cannot_ask(void) {
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(without_perf), 0);
  place_finish();
}

/// While a thread holds its breakpoints, a debugger gets none.
static int held(struct pfp_probe *probe) {
  struct sight_record record;
  int breakpoint;
  pfp_probe_hold();
  breakpoint = sight_breakpoint();
  if (breakpoint >= 0 || errno != ENOSPC) return 2;
  // One that cannot be set is not one that is: the thread's own are no observation.
  if (sight_look(&record, probe, BREAKPOINTS) != PFP_OK || sight_says(&record, "in use")) return 3;
  pfp_probe_let_go();
  breakpoint = sight_breakpoint();
  return breakpoint >= 0 ? 0 : 4;
}

static void a_hold_keeps_others_out(void) {
  if (!sight_can_ask()) return;
  REQUIRE(place_begin());
  CHECK_NUMBER(sight_in_child(held), 0);
  place_finish();
}

static const struct test tests[] = {
    TEST("a hardware breakpoint of perf is an observation while it is set", a_breakpoint_is_an_observation),
    TEST("breakpoints of another process are none of this one's", anothers_breakpoints_do_not_count),
    TEST("children forked while a measurement holds breakpoints keep none of them", no_child_keeps_a_breakpoint),
    TEST("threads that measure at once see no breakpoints of each other", threads_hold_their_own),
    TEST("where a filter forbids to ask, a thousand measurements say the same", a_container_cannot_ask),
    TEST("no breakpoint can be set in a thread that holds its own", a_hold_keeps_others_out),
};

const struct suite process_breakpoints_suite = SUITE("breakpoints", tests);
