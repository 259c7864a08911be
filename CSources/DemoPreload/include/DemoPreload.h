// SPDX-License-Identifier: Apache-2.0

/// A library for LD_PRELOAD, as a thief builds it: it stands between the app and the C library, and sees all it sends.

#ifndef DEMO_PRELOAD_H
#define DEMO_PRELOAD_H

#include <sys/types.h>

/// In the place of the C library's `send`; counts the bytes and passes them on.
ssize_t send(int socket, const void *bytes, size_t size, int flags);

#endif
