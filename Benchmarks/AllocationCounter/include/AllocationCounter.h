// SPDX-License-Identifier: Apache-2.0

/// Counts this process's allocations on the heap: by C, Swift, or a library behind them.
///
/// The functions of the C library are defined again here and call it under its other names, so this works with
/// glibc and in an executable. A sanitizer brings its own: then nothing is counted.

#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stddef.h>

/// Allocations of the calling thread since it began.
size_t allocation_count(void);

/// 1 if allocations are counted in this build.
int allocation_count_works(void);

#endif
