// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include "BenchInstruments.h"

extern char **environ;

static int prepare(posix_spawn_file_actions_t *actions, const char *folder, int pipe_end, int is_quiet) {
  int failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  if (!failed && folder != NULL) failed = posix_spawn_file_actions_addchdir_np(actions, folder);
  if (!failed && is_quiet) failed = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
  if (failed) return failed;
  if (pipe_end >= 0) return posix_spawn_file_actions_adddup2(actions, pipe_end, 1);
  return posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
}

int bench_spawn(pid_t *process, char *const words[], const char *folder, int is_quiet, int *output) {
  posix_spawn_file_actions_t actions;
  int ends[2] = {-1, -1}, failed = posix_spawn_file_actions_init(&actions);
  if (failed) return failed;
  if (output != NULL && pipe2(ends, O_CLOEXEC) != 0) failed = errno;
  if (!failed) failed = prepare(&actions, folder, ends[1], is_quiet);
  if (!failed) failed = posix_spawnp(process, words[0], &actions, NULL, words, environ);
  (void)posix_spawn_file_actions_destroy(&actions);
  if (ends[1] >= 0) (void)close(ends[1]);
  if (failed && ends[0] >= 0) (void)close(ends[0]);
  if (!failed && output != NULL) *output = ends[0];
  return failed;
}
