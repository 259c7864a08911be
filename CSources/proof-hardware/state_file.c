// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "options.h"
#include "system.h"

static int complain(const struct state_file *file, const char *what) {
  log_line(LOG_ERROR, "%s: %s", file->name, what);
  return STATUS_FAILED;
}

static bool compose(char name[STATE_PATH_BYTES], const char *flash, const char *end) {
  int size = snprintf(name, STATE_PATH_BYTES, "%s%s", flash, end);
  return size > 0 && size < STATE_PATH_BYTES;
}

int state_file_open(struct state_file *file, const char *flash) {
  const char *slash = strrchr(flash, '/');
  const char *name = slash != NULL ? slash + 1 : flash;
  memset(file, 0, sizeof *file);
  // The folder's path first, where the file's name stands later.
  (void)snprintf(file->name, sizeof file->name, "%.*s", slash != NULL ? (int)(slash - flash) + 1 : 1,
                 slash != NULL ? flash : ".");
  file->folder = open(file->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file->folder < 0) return complain(file, system_error());
  if (compose(file->name, name, ".state") && compose(file->draft, name, ".state.new")) return GO_ON;
  errno = ENAMETOOLONG;
  return complain(file, system_error());
}

void state_file_close(struct state_file *file) {
  if (file->folder >= 0) (void)close(file->folder);
  file->folder = -1;
}

int state_file_load(const struct state_file *file, struct pfd_unit *unit) {
  uint8_t state[PFD_STATE_BYTES + 1];
  struct stat status;
  ssize_t count;
  int from = openat(file->folder, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (from < 0) return errno == ENOENT ? GO_ON : complain(file, system_error());
  if (fstat(from, &status) != 0) status.st_mode = 0;
  count = S_ISREG(status.st_mode) ? read(from, state, sizeof state) : 0;
  (void)close(from);
  if (S_ISREG(status.st_mode) && (status.st_mode & 022) != 0) {
    return complain(file, "others can write it: chmod 600");
  }
  if (count == PFD_STATE_BYTES && pfd_unit_restore(unit, state) == PFC_OK) return GO_ON;
  return complain(file, "not the state of a device. Restore it from a backup, or remove it: then the lock is closed, "
                        "autolock is 0 and the firmware's version is 1");
}

/// Writes the draft and makes it durable.
static bool write_draft(const struct state_file *file, const uint8_t state[PFD_STATE_BYTES]) {
  int to = openat(file->folder, file->draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool written = to >= 0 && write(to, state, PFD_STATE_BYTES) == PFD_STATE_BYTES && fsync(to) == 0;
  int error = errno;
  if (to >= 0) (void)close(to);
  errno = error;
  return written;
}

int state_file_keep(const struct state_file *file, const uint8_t state[PFD_STATE_BYTES]) {
  if (write_draft(file, state) && renameat(file->folder, file->draft, file->folder, file->name) == 0 &&
      fsync(file->folder) == 0) {
    return 0;
  }
  log_line(LOG_ERROR, "%s: %s", file->name, system_error());
  return -1;
}

int state_file_remove(const struct state_file *file) {
  bool gone = unlinkat(file->folder, file->name, 0) == 0 ? fsync(file->folder) == 0 : errno == ENOENT;
  return gone ? GO_ON : complain(file, system_error());
}
