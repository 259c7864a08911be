// SPDX-License-Identifier: Apache-2.0

#include <stdlib.h>

#include "process/process.h"
#include "system/platform.h"

// The address sanitizer forbids to read between variables, and much of an object lies there. Where it is built in,
// memory is hashed from a copy that it does not see being made.

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PFP_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define PFP_SANITIZED 1
#endif

#ifdef PFP_SANITIZED

__attribute__((no_sanitize("address"), noinline)) static void copy_unseen(uint8_t *to, const uint8_t *from,
                                                                          size_t size) {
  // Volatile, or the compiler makes it a memcpy, which the sanitizer sees.
  const volatile uint8_t *source = from;
  for (size_t i = 0; i < size; i++) to[i] = source[i];
}

int pfp_hash_memory(const struct pfp_hash *hash, struct pfp_content *contents, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct pfp_content copy = {.size = contents[i].size};
    uint8_t *bytes = malloc(copy.size + 1);
    if (bytes == NULL) return -1;
    copy_unseen(bytes, contents[i].bytes, copy.size);
    copy.bytes = bytes;
    pfp_hash_contents(hash, &copy, 1);
    for (size_t j = 0; j < sizeof copy.digest; j++) contents[i].digest[j] = copy.digest[j];
    free(bytes);
  }
  return 0;
}

#else

/// Bytes that are worth a second thread: starting one costs as much as hashing some 100 KiB.
#define WORTH_TWO ((size_t)2 << 20)

int pfp_hash_memory(const struct pfp_hash *hash, struct pfp_content *contents, size_t count) {
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) bytes += contents[i].size;
  if (bytes >= WORTH_TWO && pfp_processors() > 1) {
    pfp_hash_contents_shared(hash, contents, count);
  } else {
    pfp_hash_contents(hash, contents, count);
  }
  return 0;
}

#endif
