// SPDX-License-Identifier: Apache-2.0

#include "DeepCall.h"

// The address sanitizer would put the arrays elsewhere.
#if defined(__clang__)
#define UNWATCHED __attribute__((no_sanitize("address", "thread"), noinline))
#else
#define UNWATCHED __attribute__((noinline))
#endif

UNWATCHED static int descend(int steps) {
  volatile unsigned char bytes[1024];
  bytes[0] = 1;
  if (steps > 1) bytes[1] = (unsigned char)descend(steps - 1);
  return bytes[0];  // Read after the call: the array is needed until then.
}

UNWATCHED void deep_call(void *kibibytes) {
  const int *steps = kibibytes;
  if (*steps > 0) (void)descend(*steps);
}
