// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <sys/prctl.h>

#include "probe.h"

int pfp_harden(void) {
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return errno;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  return 0;
}
