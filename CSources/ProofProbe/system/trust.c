// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "system/platform.h"
#include "system/proc.h"

bool pfp_trust_root(void) {
  static const char FIRST[] = "user:[4026531837]";  // PROC_USER_INIT_INO: a constant of the kernel's interface
  char name[64];
  int link = pfp_proc_open(-1, "self/ns/user", O_PATH | O_NOFOLLOW);
  ssize_t size = link >= 0 ? readlinkat(link, "", name, sizeof name) : -1;
  if (link >= 0) (void)close(link);
  return size == (ssize_t)(sizeof FIRST - 1) && memcmp(name, FIRST, sizeof FIRST - 1) == 0;
}

/// Capabilities that this thread has or may take back. All of them, if the kernel does not say.
static bool has_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}, {0}};
  if (syscall(SYS_capget, &header, data) != 0) return true;
  return (data[0].permitted | data[1].permitted) != 0;
}

bool pfp_trust_unprivileged(void) {
  uid_t real, effective, saved;
  if (getresuid(&real, &effective, &saved) != 0) return false;
  return real != 0 && effective != 0 && saved != 0 && !has_capabilities() && pfp_trust_root();
}
