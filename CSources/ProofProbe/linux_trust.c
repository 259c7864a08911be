#define _GNU_SOURCE

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "files_platform.h"

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
  return real != 0 && effective != 0 && saved != 0 && !has_capabilities();
}
