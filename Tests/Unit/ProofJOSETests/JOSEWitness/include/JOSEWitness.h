// SPDX-License-Identifier: Apache-2.0

/// Sees what keys and measurements leave behind in this process's memory.
///
/// Random bytes play the secret. They are kept masked, so that the witness itself holds no copy that it would find.
/// Searches for the secret's last 16 bytes, forwards and backwards (libcrypto keeps numbers with the lowest byte
/// first), and the beginning of their base64: an allocator overwrites the beginning of a freed block, not its end.

#ifndef JOSE_WITNESS_H
#define JOSE_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#define JOSE_WITNESS_BYTES 64

/// Draws a new secret.
void jose_witness_begin(void);

/// Writes the last `size` bytes of the secret, at most JOSE_WITNESS_BYTES, to where it is to stand.
void jose_witness_fill(uint8_t *secret, size_t size);

/// Looks from now on for another secret, such as a number of RSA, of at least 16 bytes: for its end, forwards and
/// backwards, and its beginning backwards, which is the end of libcrypto's number.
void jose_witness_watch(const uint8_t *secret, size_t size);

/// How many traces of the secret stand in readable memory now. Mappings over 4 GiB are left out: no allocator of these
/// tests makes such, and a sanitizer's shadow is terabytes.
size_t jose_witness_traces(void);

/// Does what must be seen: puts the secret into a block of the heap, and frees it as it is.
void jose_witness_free_unwiped(void);

/// How many errors wait in libcrypto's queue of this thread.
size_t jose_witness_library_errors(void);

/// Puts an error into libcrypto's queue of this thread, as another user of libcrypto would.
void jose_witness_raise_library_error(void);

/// Empties libcrypto's queue of this thread.
void jose_witness_clear_library_errors(void);

#endif
