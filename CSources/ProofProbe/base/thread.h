// SPDX-License-Identifier: Apache-2.0

/// Threads of a measurement's own.

#ifndef PFP_THREAD_H
#define PFP_THREAD_H

#include <pthread.h>

/// A thread that takes no signals, which are the application's, except those an instruction of its own causes.
/// 0 or an error number.
int pfp_thread_start(pthread_t *thread, void *(*work)(void *), void *user);

#endif
