// SPDX-License-Identifier: Apache-2.0

/// A library for LD_PRELOAD, as a thief builds it: it stands between the app and the C library, and sees all it sends.

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/// Number of bytes overheard. A thief would keep the bytes.
static volatile size_t overheard;

/// In the place of the C library's `send`; counts the bytes and passes them on.
ssize_t send(int socket, const void *bytes, size_t size, int flags) {
  overheard += size;
  return sendto(socket, bytes, size, flags, NULL, 0);
}
