// SPDX-License-Identifier: Apache-2.0

/// proof-tracer: a debugger in its smallest form, for the demonstration. It runs a program as gdb does: traced from its
/// first instruction on, with every signal passed through.

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "version.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_SIGNALLED = 128 };

static int complain(const char *what) {
  (void)fprintf(stderr, "proof-tracer: %s: %s\n", what, strerror(errno));
  return STATUS_FAILED;
}

/// In the child: becomes the program, stopped for the tracer.
static int become(char **command) {
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) return complain("the kernel does not permit tracing");
  (void)execv(command[0], command);
  return complain(command[0]);
}

/// Lets the traced program run, passing on what it is sent, until it ends: its status.
static int follow(pid_t child) {
  int status;
  int begun = 0;
  for (;;) {
    long passed = 0;
    if (waitpid(child, &status, 0) < 0) {
      if (errno == EINTR) continue;
      return complain("waitpid");
    }
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (WIFSIGNALED(status)) return STATUS_SIGNALLED + WTERMSIG(status);
    if (begun) {
      passed = WSTOPSIG(status);
    } else {
      // The stop of exec. If this process is ended, the program goes with it.
      begun = 1;
      if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL) != 0) return complain("PTRACE_O_EXITKILL");
    }
    if (ptrace(PTRACE_CONT, child, NULL, passed) != 0 && errno != ESRCH) return complain("PTRACE_CONT");
  }
}

int main(int argc, char **argv) {
  pid_t child;
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    return printf("proof-tracer %s\n", PROOFKIT_VERSION) < 0 ? STATUS_FAILED : 0;
  }
  if (argc < 2) {
    (void)fprintf(stderr, "usage: proof-tracer PROGRAM [ARGUMENTS]\n");
    return STATUS_USAGE;
  }
  child = fork();
  if (child < 0) return complain("fork");
  if (child == 0) return become(argv + 1);
  return follow(child);
}
