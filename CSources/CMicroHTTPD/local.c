// SPDX-License-Identifier: Apache-2.0

// Unix sockets. The folder and the mode of the socket decide who reaches the server, so both are checked.

#define _GNU_SOURCE

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "parts.h"

enum { LOCAL_BACKLOG = 1024 };

static const char PREFIX[] = "unix:";

const char *pfh_local_path(const char *address) {
  return strncmp(address, PREFIX, sizeof PREFIX - 1) == 0 ? address + sizeof PREFIX - 1 : NULL;
}

/// 0 if only its owner, this user or root, can replace files in the folder of a path.
static int check_folder(const char *path) {
  char folder[sizeof((struct sockaddr_un *)0)->sun_path];
  const char *const slash = strrchr(path, '/');
  const size_t size = slash == NULL ? 0 : (size_t)(slash - path);
  if (slash == NULL) {
    memcpy(folder, ".", 2);
  } else {
    memcpy(folder, path, size + 1);
    folder[size == 0 ? 1 : size] = '\0';
  }
  struct stat status;
  if (stat(folder, &status) != 0) return -1;
  const int is_own = status.st_uid == geteuid() || status.st_uid == 0;
  if (is_own && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return 0;
  errno = EPERM;
  return -1;
}

/// Whether a path is a socket on which no process listens any more.
static int is_dead(const char *path, const struct sockaddr_un *address) {
  struct stat status;
  if (lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode)) return 0;
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return 0;
  const int failure = connect(probe, (const struct sockaddr *)address, sizeof *address) == 0 ? 0 : errno;
  close(probe);
  return failure == ECONNREFUSED;
}

enum pfh_result pfh_listen_local(int *listening, const char *path, unsigned mode) {
  struct sockaddr_un address;
  memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  const size_t size = strlen(path);
  if (size == 0 || size >= sizeof address.sun_path) return PFH_E_ADDRESS;
  memcpy(address.sun_path, path, size + 1);
  if (check_folder(path) != 0) return PFH_E_BIND;
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return PFH_E_BIND;
  // A process that was killed leaves its socket behind.
  if (is_dead(path, &address)) (void)unlink(path);
  // No client can connect before listen, so the mode counts from the first connection on.
  if (bind(made, (const struct sockaddr *)&address, sizeof address) != 0 || chmod(path, (mode_t)mode) != 0 ||
      listen(made, LOCAL_BACKLOG) != 0) {
    const int reason = errno;
    close(made);
    errno = reason;
    return PFH_E_BIND;
  }
  *listening = made;
  return PFH_OK;
}
