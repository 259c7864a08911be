// SPDX-License-Identifier: Apache-2.0

// Watches a program with performance events, as perf does: no ptrace, no byte of the program changed.
//
//   breakpoint start PROGRAM ARGUMENT…   sets a hardware breakpoint on itself, which stays when it executes PROGRAM
//   breakpoint thread PID                sets one on a running program
//   breakpoint everywhere                sets one on every processor, for all programs; says "waiting" while it cannot
//   breakpoint sample PID                samples registers and stack of a running program, without a breakpoint
//
// All but `start` say "set" and wait to be ended.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ADDRESS = 0x1000 };

static int open_event(struct perf_event_attr *event, pid_t pid, int processor) {
  event->size = sizeof *event;
  event->exclude_kernel = 1;
  return (int)syscall(SYS_perf_event_open, event, pid, processor, -1, 0);
}

static int set_breakpoint(pid_t pid, int processor) {
  struct perf_event_attr event = {.type = PERF_TYPE_BREAKPOINT, .bp_type = HW_BREAKPOINT_X, .bp_addr = ADDRESS};
  event.bp_len = sizeof(long);
  return open_event(&event, pid, processor);
}

/// On one processor, for every thread. Any probe on this machine that measures just now holds all four breakpoints for
/// its own thread, and the kernel then refuses this one: it is asked for until that measurement is over.
static int set_machine_breakpoint(int processor) {
  int result = set_breakpoint(-1, processor);
  if (result < 0 && errno == ENOSPC) {
    puts("waiting");
    (void)fflush(stdout);
    do {
      (void)sched_yield();
      result = set_breakpoint(-1, processor);
    } while (result < 0 && errno == ENOSPC);
  }
  return result;
}

static int sample(pid_t pid) {
  struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .inherit = 1};
  event.sample_period = 50000;
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER;
  event.sample_stack_user = 4096;
  return open_event(&event, pid, -1);
}

int main(int count, char **arguments) {
  const char *mode = count > 1 ? arguments[1] : "";
  int result = -1;
  if (strcmp(mode, "start") == 0 && count > 2) {
    if (set_breakpoint(0, -1) < 0) {
      perror("breakpoint");
      return 1;
    }
    (void)execv(arguments[2], arguments + 2);
  } else if (strcmp(mode, "thread") == 0 && count > 2) {
    result = set_breakpoint(atoi(arguments[2]), -1);
  } else if (strcmp(mode, "everywhere") == 0) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    result = 0;
    for (int i = 0; i < processors && result >= 0; i++) result = set_machine_breakpoint(i);
  } else if (strcmp(mode, "sample") == 0 && count > 2) {
    result = sample(atoi(arguments[2]));
  }
  if (result < 0) {
    perror("breakpoint");
    return 1;
  }
  puts("set");
  (void)fflush(stdout);
  for (;;) (void)pause();
}
