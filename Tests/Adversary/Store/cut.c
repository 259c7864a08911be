// SPDX-License-Identifier: Apache-2.0

// Runs a program and kills it before one system call:  cut N PROGRAM ARGUMENT...
// Saves each content of a file that is mapped into a program:  cut states FILE FOLDER PROGRAM ARGUMENT...
//
// Calls are counted from the program's first getpgrp on, up to its second. Before the Nth of them, counted from 1, the
// program gets SIGKILL, so that this call and all later ones never happen. The name of the call is printed. Ends with
// 0 if the program was killed, with 3 if it came to its second getpgrp first, with 1 for anything else.
//
// `states` runs the program one instruction at a time from its first getpgrp on. When one has changed the first 20 KiB
// of the file, they are saved as FOLDER/1, FOLDER/2 and so on: the file as a kill at this instruction leaves it. A line
// `state N` tells of each, between the program's own lines.

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *name_of(unsigned long long number) {
  switch (number) {
    case SYS_openat: return "openat";
    case SYS_unlinkat: return "unlinkat";
    case SYS_fchmod: return "fchmod";
    case SYS_write: return "write";
    case SYS_fsync: return "fsync";
    case SYS_mkdirat: return "mkdir";
#ifdef SYS_mkdir
    case SYS_mkdir: return "mkdir";
#endif
    case SYS_close: return "close";
    case SYS_renameat: return "renameat";
    case SYS_read: return "read";
    case SYS_pread64: return "pread64";
    case SYS_pwrite64: return "pwrite64";
    case SYS_fdatasync: return "fdatasync";
    case SYS_ftruncate: return "ftruncate";
    case SYS_fcntl: return "fcntl";
    case SYS_flock: return "flock";
    default: return "other";
  }
}

static int fail(const char *what) {
  perror(what);
  return 1;
}

/// The marker, which glibc makes as getpgid(0) or getpgrp.
static int is_marker(unsigned long long number) {
#ifdef SYS_getpgrp
  if (number == SYS_getpgrp) return 1;
#endif
  return number == SYS_getpgid;
}

static int watch(pid_t child, long target) {
  long count = 0;
  int inside = 0;
  int status;
  for (;;) {
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0) return fail("continue");
    if (waitpid(child, &status, __WALL) != child) return fail("wait");
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      (void)fprintf(stderr, "cut: the program ended by itself\n");
      return 1;
    }
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0) return fail("look");
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY) continue;
    if (is_marker(info.entry.nr)) {
      if (inside) return 3;
      inside = 1;
      continue;
    }
    if (inside && ++count == target) {
      (void)printf("%s\n", name_of(info.entry.nr));
      if (kill(child, SIGKILL) != 0) return fail("kill");
      if (waitpid(child, &status, __WALL) != child || !WIFSIGNALED(status)) return fail("end");
      return 0;
    }
  }
}

enum { WATCHED = 20480 };

static int save(const char *folder, long number, const unsigned char *content) {
  char path[PATH_MAX];
  (void)snprintf(path, sizeof path, "%s/%ld", folder, number);
  const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0 || write(file, content, WATCHED) != WATCHED || close(file) != 0) return fail(path);
  (void)printf("state %ld\n", number);
  return fflush(stdout) == 0 ? 0 : fail("output");
}

/// The beginning of the file, mapped; NULL if it cannot be.
static const unsigned char *map(const char *path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  const unsigned char *const mapped = mmap(NULL, WATCHED, PROT_READ, MAP_SHARED, file, 0);
  (void)close(file);
  return mapped == MAP_FAILED ? NULL : mapped;
}

static int watch_file(pid_t child, const char *path, const char *folder) {
  static unsigned char before[WATCHED];
  int status;
  struct __ptrace_syscall_info info;
  do {
    if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0) return fail("continue");
    if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) return fail("wait");
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0) return fail("look");
  } while (info.op != PTRACE_SYSCALL_INFO_ENTRY || !is_marker(info.entry.nr));
  const unsigned char *const content = map(path);
  if (content == NULL) return fail(path);
  (void)memcpy(before, content, WATCHED);
  for (long number = 1;;) {
    if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) != 0) return fail("step");
    if (waitpid(child, &status, __WALL) != child) return fail("wait");
    if (!WIFSTOPPED(status)) return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : fail("the program");
    // Its pages of states, and its first slots: the rest of 20 KiB is empty.
    if (memcmp(before + 4096, content + 4096, 128) == 0 && memcmp(before + 8192, content + 8192, 128) == 0 &&
        memcmp(before + 16384, content + 16384, 512) == 0) {
      continue;
    }
    (void)memcpy(before, content, WATCHED);
    if (save(folder, number++, before) != 0) return 1;
  }
}

int main(int count, char **arguments) {
  pid_t child;
  int status;
  if (count < 3 || (strcmp(arguments[1], "states") == 0 && count < 5)) {
    (void)fprintf(stderr, "usage: cut N PROGRAM ARGUMENT...\n       cut states FILE FOLDER PROGRAM ARGUMENT...\n");
    return 2;
  }
  const int is_watched = strcmp(arguments[1], "states") == 0;
  char **const program = arguments + (is_watched ? 4 : 2);
  child = fork();
  if (child < 0) return fail("fork");
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(1);
    (void)raise(SIGSTOP);
    (void)execv(program[0], program);
    _exit(1);
  }
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return fail("start");
  if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0) return fail("trace");
  if (is_watched) return watch_file(child, arguments[2], arguments[3]);
  return watch(child, strtol(arguments[1], NULL, 10));
}
