// SPDX-License-Identifier: Apache-2.0

/// Looks through this process's own memory, for witnesses of what secrets leave behind.

#ifndef MEMORY_SCAN_H
#define MEMORY_SCAN_H

#include <stddef.h>
#include <stdint.h>

/// The longest thing that can be looked for.
#define MEMORY_SCAN_NEEDLE_MAX 64

/// How often something stands in these bytes.
typedef size_t (*memory_scan_count)(const uint8_t *bytes, size_t size);

/// Sums up what is counted in all readable mappings of at most `largest` bytes. `needle` is how long a thing is that
/// is looked for: one that lies across two pieces is seen, and seen once. The buffer that is read into is left out,
/// and wiped; scans wait for each other. (size_t)-1 if the mappings cannot be read.
size_t memory_scan(memory_scan_count count, size_t needle, size_t largest);

/// Reads memory that may be protected or gone: 0 where a load would end the process.
int memory_scan_read(void *to, uintptr_t from, size_t size);

#endif
