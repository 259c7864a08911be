// SPDX-License-Identifier: Apache-2.0

/// proof-elsewhere: runs a program on another machine, as far as /etc/machine-id tells: in namespaces of its own, in
/// which another file stands there. For the demonstration, which has one machine only.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "version.h"

enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_FORBIDDEN = 77 };

static int complain(const char *what, int status) {
  (void)fprintf(stderr, "proof-elsewhere: %s: %s\n", what, strerror(errno));
  return status;
}

static int put(const char *path, const char *text) {
  size_t size = strlen(text);
  int descriptor = open(path, O_WRONLY | O_CLOEXEC);
  ssize_t written;
  if (descriptor < 0) return -1;
  written = write(descriptor, text, size);
  (void)close(descriptor);
  return written == (ssize_t)size ? 0 : -1;
}

/// The same user as before, in namespaces where that user may mount.
static int leave(void) {
  char users[64], groups[64];
  (void)snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
  (void)snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return -1;
  if (put("/proc/self/setgroups", "deny") != 0) return -1;
  return put("/proc/self/uid_map", users) != 0 ? -1 : put("/proc/self/gid_map", groups);
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    return printf("proof-elsewhere %s\n", PROOFKIT_VERSION) < 0 ? STATUS_FAILED : 0;
  }
  if (argc < 3) {
    (void)fprintf(stderr, "usage: proof-elsewhere MACHINE-ID-FILE PROGRAM [ARGUMENTS]\n"
                          "Ends with 77 if the kernel allows no namespaces.\n");
    return STATUS_USAGE;
  }
  if (leave() != 0) return complain("namespaces", STATUS_FORBIDDEN);
  if (mount(argv[1], "/etc/machine-id", NULL, MS_BIND, NULL) != 0) return complain("mount", STATUS_FORBIDDEN);
  (void)execv(argv[2], argv + 2);
  return complain(argv[2], STATUS_FAILED);
}
