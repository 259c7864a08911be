// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <linux/close_range.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/breakpoints.h"
#include "base/thread.h"

// The kernel gives each thread as many breakpoints as the processor has, and counts those of gdb, of perf and of the
// whole machine (`perf -a`) against that number. A breakpoint of another process counts for that process alone. A
// disabled event holds its place, so holding all of them both asks and keeps others out.
//
// A place is free again when the last descriptor of its event is closed. A child that another thread of the app forks
// meanwhile would inherit the descriptors and keep the places taken, and the next measurement would find them in use.
// So a helper thread opens them, in a descriptor table of its own that no child inherits.

/// The address that the breakpoints name. They are never enabled.
static unsigned char nothing[8];

/// A descriptor, or -1 with `errno`.
static int open_one(uint32_t type, pid_t thread) {
  struct perf_event_attr event;
  memset(&event, 0, sizeof event);
  event.type = PERF_TYPE_BREAKPOINT;
  event.size = sizeof event;
  event.bp_type = type;
  event.bp_addr = (uint64_t)(uintptr_t)nothing;
  event.bp_len = type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_1;
  event.disabled = 1;
  event.exclude_kernel = 1;
  event.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/// Opens until there is no place left. Returns the number; `hold->error` is why it ended.
static unsigned take(struct pfp_hold *hold, uint32_t type) {
  unsigned count = 0;
  hold->error = ENOSPC;
  while (count < PFP_BREAKPOINTS_MAX) {
    if (open_one(type, hold->thread) < 0) {
      hold->error = errno;
      break;
    }
    count++;
  }
  return count;
}

static void *help(void *user) {
  struct pfp_hold *hold = user;
  // Leaves this thread with a table that is empty: what the app closes meanwhile is closed, too.
  if (syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0) {
    hold->error = errno == ENOMEM ? ENOMEM : EPERM;
    (void)sem_post(&hold->taken);
    return NULL;
  }
  hold->code = take(hold, HW_BREAKPOINT_X);
#if !defined(__x86_64__)
  // Here code and data have breakpoints of their own.
  if (hold->error == ENOSPC) hold->data = take(hold, HW_BREAKPOINT_W);
#endif
  (void)sem_post(&hold->taken);
  while (sem_wait(&hold->ended) != 0) continue;
  // Before the thread ends, and is joined: the next measurement must find these places free.
  (void)syscall(SYS_close_range, 0u, UINT_MAX, 0u);
  return NULL;
}

void pfp_hold_take(struct pfp_hold *hold) {
  int error;
  memset(hold, 0, sizeof *hold);
  hold->thread = gettid();
  if (sem_init(&hold->taken, 0, 0) != 0 || sem_init(&hold->ended, 0, 0) != 0) {
    hold->error = ENOMEM;
    return;
  }
  error = pfp_thread_start(&hold->helper, help, hold);
  if (error != 0) {
    // No thread left is no answer.
    hold->error = ENOMEM;
    return;
  }
  hold->helped = 1;
  while (sem_wait(&hold->taken) != 0) continue;
}

void pfp_hold_release(struct pfp_hold *hold) {
  if (!hold->helped) return;
  hold->helped = 0;
  (void)sem_post(&hold->ended);
  (void)pthread_join(hold->helper, NULL);
  (void)sem_destroy(&hold->taken);
  (void)sem_destroy(&hold->ended);
}
