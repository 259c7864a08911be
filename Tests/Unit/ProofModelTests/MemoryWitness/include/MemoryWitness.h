// SPDX-License-Identifier: Apache-2.0

/// Sees what secrets leave behind in this process's memory.
///
/// A pattern of random bytes plays the secret. It is kept masked, so that the witness itself holds no copy that it
/// would find. One pattern at a time.

#ifndef MEMORY_WITNESS_H
#define MEMORY_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#define WITNESS_BYTES_MAX 64

/// Draws a new pattern of 16 to WITNESS_BYTES_MAX bytes and forgets what was seen.
void witness_begin(size_t size);

/// Writes the pattern to where a secret is to stand.
void witness_fill(void *secret);

/// How many copies of the pattern stand in readable memory now. Mappings over 256 MiB are left out: no allocator of
/// these tests makes such, and a sanitizer's shadow is terabytes.
size_t witness_copies(void);

/// How many mappings were given back to the system since `witness_begin`.
size_t witness_unmapped(void);

/// How many of them still held the pattern when they were given back.
size_t witness_unmapped_unwiped(void);

/// Gives a mapping back with the pattern in it: what the witness must see.
void witness_unmap_unwiped(void);

#endif
