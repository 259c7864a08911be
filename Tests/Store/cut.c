// SPDX-License-Identifier: Apache-2.0

// Runs a program and kills it before one system call:  cut N PROGRAM ARGUMENT...
//
// Calls are counted from the program's first getpgrp on, up to its second. Before the Nth of them, counted from 1, the
// program gets SIGKILL, so that this call and all later ones never happen. The name of the call is printed. Ends with
// 0 if the program was killed, with 3 if it came to its second getpgrp first, with 1 for anything else.

#define _GNU_SOURCE

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *name_of(unsigned long long number) {
  switch (number) {
    case SYS_openat: return "openat";
    case SYS_unlinkat: return "unlinkat";
    case SYS_fchmod: return "fchmod";
    case SYS_write: return "write";
    case SYS_fsync: return "fsync";
    case SYS_mkdirat: return "mkdir";
#ifdef SYS_mkdir
    case SYS_mkdir: return "mkdir";
#endif
    case SYS_close: return "close";
    case SYS_renameat: return "renameat";
    case SYS_read: return "read";
    case SYS_pread64: return "pread64";
    case SYS_pwrite64: return "pwrite64";
    case SYS_fdatasync: return "fdatasync";
    case SYS_ftruncate: return "ftruncate";
    case SYS_fcntl: return "fcntl";
    default: return "other";
  }
}

static int fail(const char *what) {
  perror(what);
  return 1;
}

/// The marker, which glibc makes as getpgid(0) or getpgrp.
static int is_marker(unsigned long long number) {
#ifdef SYS_getpgrp
  if (number == SYS_getpgrp) return 1;
#endif
  return number == SYS_getpgid;
}

static int watch(pid_t child, long target) {
  long count = 0;
  int inside = 0;
  int status;
  for (;;) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0) return fail("continue");
    if (waitpid(child, &status, __WALL) != child) return fail("wait");
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      (void)fprintf(stderr, "cut: the program ended by itself\n");
      return 1;
    }
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0) return fail("look");
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    if (is_marker(info.entry.nr)) {
      if (inside) return 3;
      inside = 1;
      continue;
    }
    if (inside && ++count == target) {
      (void)printf("%s\n", name_of(info.entry.nr));
      if (kill(child, SIGKILL) != 0) return fail("kill");
      if (waitpid(child, &status, __WALL) != child || !WIFSIGNALED(status)) return fail("end");
      return 0;
    }
  }
}

int main(int count, char **arguments) {
  pid_t child;
  int status;
  if (count < 3) {
    (void)fprintf(stderr, "usage: cut N PROGRAM ARGUMENT...\n");
    return 2;
  }
  child = fork();
  if (child < 0) return fail("fork");
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(1);
    (void)raise(SIGSTOP);
    (void)execv(arguments[2], arguments + 2);
    _exit(1);
  }
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return fail("start");
  if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) return fail("trace");
  return watch(child, strtol(arguments[1], NULL, 10));
}
