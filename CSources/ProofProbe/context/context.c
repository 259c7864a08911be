// SPDX-License-Identifier: Apache-2.0

#include "context/context.h"

#include <string.h>

int pfp_files_fail(struct pfp_files *files, int result, int error, const char *path, size_t path_size) {
  if (path_size > PFP_PATH_MAX) path_size = PFP_PATH_MAX;
  files->failure.result = result;
  files->failure.error = error;
  memmove(files->failure_path, path, path_size);
  files->failure_path[path_size] = '\0';
  files->failure.path_size = path_size;
  return result;
}

void pfp_files_release(struct pfp_files *files, int fd) {
  if (fd < 0) return;
  pfp_close(fd);
  atomic_fetch_add(&files->descriptors_left, 1);
}

int pfp_files_progress(struct pfp_files *files, const struct pfp_progress *progress) {
  if (files->options.progress != NULL && files->options.progress(files->options.user, progress) != 0) {
    atomic_store(&files->cancel, true);
  }
  return atomic_load(&files->cancel) ? pfp_files_fail(files, PFP_E_CANCELLED, 0, "", 0) : PFP_OK;
}

unsigned pfp_workers(const struct pfp_files *files) {
  unsigned processors = pfp_processors();
  if (files->options.workers != 0) return files->options.workers;
  return processors < PFP_WORKERS_DEFAULT ? processors : PFP_WORKERS_DEFAULT;
}
