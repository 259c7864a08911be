// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto.h"
#include "system/platform.h"
#include "base/secret.h"
#include "storage.h"

/// A folder of this user alone, or an error.
static int open_folder(int *descriptor, const char *folder) {
  struct stat status;
  *descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (*descriptor < 0) {
    if (pfp_error_is_resource(errno)) return PFP_E_RESOURCE;
    return errno == ENOENT ? PFP_E_MISSING : errno == ENOTDIR ? PFP_E_TYPE : PFP_E_UNREADABLE;
  }
  if (fstat(*descriptor, &status) != 0 || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    (void)close(*descriptor);
    *descriptor = -1;
    return PFP_E_EXPOSED;
  }
  return PFP_OK;
}

static int write_all(int descriptor, const uint8_t *bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t count = write(descriptor, bytes + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return -1;
    done += (size_t)count;
  }
  return 0;
}

static int fill_random(uint8_t *bytes, size_t size) {
  // Up to 256 bytes come whole or not at all.
  ssize_t count;
  do {
    count = getrandom(bytes, size, 0);
  } while (count < 0 && errno == EINTR);
  return count == (ssize_t)size ? 0 : -1;
}

int pfp_secret_read(uint8_t secret[PFP_SECRET_BYTES], const char *folder) {
  uint8_t bytes[PFP_SECRET_BYTES + 1];
  struct stat status;
  int directory, descriptor, error;
  ssize_t size;
  int result = open_folder(&directory, folder);
  if (result != PFP_OK) return result;
  descriptor = openat(directory, PFP_SECRET_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  error = errno;
  (void)close(directory);
  if (descriptor < 0 && pfp_error_is_resource(error)) return PFP_E_RESOURCE;
  if (descriptor < 0) return error == ENOENT ? PFP_E_MISSING : PFP_E_UNREADABLE;
  result = PFP_E_EXPOSED;
  if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
      (status.st_mode & 077) == 0 && status.st_nlink == 1) {
    size = read(descriptor, bytes, sizeof bytes);
    result = size == PFP_SECRET_BYTES ? PFP_OK : PFP_E_UNREADABLE;
    if (result == PFP_OK) memcpy(secret, bytes, PFP_SECRET_BYTES);
  }
  (void)close(descriptor);
  pfc_wipe(bytes, sizeof bytes);
  return result;
}

int pfp_storage_prepare(const char *folder) {
  uint8_t secret[PFP_SECRET_BYTES];
  char name[64];
  unsigned long long suffix;
  int directory, descriptor = -1;
  int result = open_folder(&directory, folder);
  if (result != PFP_OK) return result;
  if (faccessat(directory, PFP_SECRET_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
    (void)close(directory);
    return PFP_OK;
  }
  if (fill_random(secret, sizeof secret) != 0 || fill_random((uint8_t *)&suffix, sizeof suffix) != 0) {
    (void)close(directory);
    return PFP_E_RESOURCE;
  }
  (void)snprintf(name, sizeof name, "." PFP_SECRET_NAME "-%016llx", suffix);
  descriptor = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  result = PFP_E_UNREADABLE;
  if (descriptor >= 0) {
    int whole = fchmod(descriptor, 0600) == 0 && write_all(descriptor, secret, sizeof secret) == 0 &&
                fsync(descriptor) == 0;
    (void)close(descriptor);
    // A rename that never replaces: of several at once, one wins and the others find it done.
    if (whole && renameat2(directory, name, directory, PFP_SECRET_NAME, RENAME_NOREPLACE) == 0) {
      result = fsync(directory) == 0 ? PFP_OK : PFP_E_UNREADABLE;
    } else {
      if (whole && errno == EEXIST) result = PFP_OK;
      (void)unlinkat(directory, name, 0);
    }
  }
  pfc_wipe(secret, sizeof secret);
  (void)close(directory);
  return result;
}
