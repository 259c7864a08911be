// SPDX-License-Identifier: Apache-2.0

/// proof-child: runs a program that ends with its parent, even if the parent is killed. The demonstration's director
/// uses it; the director ends its children itself unless it is killed outright.

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "version.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2 };

static int complain(const char *what) {
  (void)fprintf(stderr, "proof-child: %s: %s\n", what, strerror(errno));
  return STATUS_FAILED;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    return printf("proof-child %s\n", PROOFKIT_VERSION) < 0 ? STATUS_FAILED : 0;
  }
  if (argc < 3) {
    (void)fprintf(stderr, "usage: proof-child PARENT PROGRAM [ARGUMENTS]\n"
                          "PARENT is the process that starts this one. The program is killed when it ends.\n");
    return STATUS_USAGE;
  }
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return complain("PR_SET_PDEATHSIG");
  // A parent that ended before that is no longer this one's parent, and its end will not be told.
  if (getppid() != (pid_t)strtol(argv[1], NULL, 10)) return STATUS_FAILED;
  (void)execv(argv[2], argv + 2);
  return complain(argv[2]);
}
