// SPDX-License-Identifier: Apache-2.0

/// Declarations that this C library's headers leave out in strict C11.

#ifndef PRIu64
#include <inttypes.h>
#ifndef PRIu64
#define PRIu64 "llu"
#endif
#ifndef PRIx64
#define PRIx64 "llx"
#endif
#endif
