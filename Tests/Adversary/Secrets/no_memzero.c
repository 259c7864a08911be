// SPDX-License-Identifier: Apache-2.0

/// The planted mutant: what the core takes for sodium_memzero when it is built with -Dsodium_memzero=no_memzero.

#include <sodium.h>

void no_memzero(void *const bytes, const size_t size);

void no_memzero(void *const bytes, const size_t size) {
  (void)bytes;
  (void)size;
}
