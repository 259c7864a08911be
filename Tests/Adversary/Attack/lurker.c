// SPDX-License-Identifier: Apache-2.0

// A debugger that is attached while a program works with its keys, and at no other time.
//
//   lurker PID ATTACH DETACH
//
// Root is asked by the kernel for leave when a program opens one of the two files (fanotify), and the program waits
// for the answer. When PID opens ATTACH, lurker attaches to it before it lets it go on; when PID opens DETACH, it
// detaches. Says "armed" and runs until it is ended.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int same(int descriptor, const struct stat *file) {
  struct stat opened;
  return fstat(descriptor, &opened) == 0 && opened.st_dev == file->st_dev && opened.st_ino == file->st_ino;
}

int main(int count, char **arguments) {
  struct fanotify_event_metadata events[16];
  struct stat attach, leave;
  pid_t pid = count == 4 ? atoi(arguments[1]) : 0;
  int attached = 0, notify;
  if (pid == 0 || stat(arguments[2], &attach) != 0 || stat(arguments[3], &leave) != 0) return 2;
  notify = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
  if (notify < 0 || fanotify_mark(notify, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, arguments[2]) != 0 ||
      fanotify_mark(notify, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, arguments[3]) != 0) {
    perror("lurker");
    return 1;
  }
  puts("armed");
  (void)fflush(stdout);
  for (;;) {
    ssize_t size = read(notify, events, sizeof events);
    const struct fanotify_event_metadata *event = events;
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return 1;
    for (; FAN_EVENT_OK(event, size); event = FAN_EVENT_NEXT(event, size)) {
      struct fanotify_response answer = {event->fd, FAN_ALLOW};
      int leaves = event->pid == pid && attached && same(event->fd, &leave);
      if (event->pid == pid && !attached && same(event->fd, &attach)) {
        attached = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
      }
      // The stop is there once the open has returned, so the answer goes first.
      if (leaves && ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0) leaves = 0;
      (void)!write(notify, &answer, sizeof answer);
      (void)close(event->fd);
      if (leaves && waitpid(pid, NULL, __WALL) == pid && ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0) attached = 0;
    }
  }
}
