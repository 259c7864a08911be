/// Read leases (fcntl(2)): granted only while nobody has the file open, or mapped, for writing. Whoever opens it for
/// writing while one is held waits until it is given back, here less than a microsecond later, or is told to come again
/// if he does not want to wait.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "files_platform.h"

int pfp_lease_begin(int fd) {
  // Whoever waits is announced by a signal. It goes to this thread, a worker, which lets none through and ends with the
  // measurement.
  struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = gettid()};
  if (fcntl(fd, F_SETOWN_EX, &owner) != 0) return -errno;
  if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) return 1;
  return errno == EAGAIN ? 0 : -errno;
}

void pfp_lease_end(int fd) { (void)fcntl(fd, F_SETLEASE, F_UNLCK); }
