// SPDX-License-Identifier: Apache-2.0

#define _POSIX_C_SOURCE 200809L

#include <signal.h>

#include "base/thread.h"

int pfp_thread_start(pthread_t *thread, void *(*work)(void *), void *user) {
  static const int own[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  sigset_t blocked, before;
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error != 0) return error;
  (void)sigfillset(&blocked);
  for (unsigned i = 0; i < sizeof own / sizeof own[0]; i++) (void)sigdelset(&blocked, own[i]);
  (void)pthread_attr_setstacksize(&attributes, (size_t)512 << 10);
  // The new thread inherits the mask, so there is no moment at which it could take one.
  (void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
  error = pthread_create(thread, &attributes, work, user);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  (void)pthread_attr_destroy(&attributes);
  return error;
}
