// SPDX-License-Identifier: Apache-2.0

/// Read leases (fcntl(2)): granted only if no process has the file open, or mapped, for writing. A process that opens
/// it for writing meanwhile waits until the lease is given back, here less than a microsecond later. With O_NONBLOCK it
/// gets EWOULDBLOCK instead.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "system/platform.h"

int pfp_lease_begin(int fd) {
  // A signal announces each waiting process. It goes to this thread, a worker, which blocks all signals and ends with
  // the measurement.
  struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = gettid()};
  if (fcntl(fd, F_SETOWN_EX, &owner) != 0) return -errno;
  if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) return 1;
  return errno == EAGAIN ? 0 : -errno;
}

void pfp_lease_end(int fd) { (void)fcntl(fd, F_SETLEASE, F_UNLCK); }
