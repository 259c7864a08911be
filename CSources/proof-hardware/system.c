// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

int system_random(void *context, uint8_t *bytes, size_t size) {
  // Up to 256 bytes come whole or not at all.
  ssize_t count;
  (void)context;
  do {
    count = getrandom(bytes, size, 0);
  } while (count < 0 && errno == EINTR);
  return count == (ssize_t)size ? 0 : -1;
}

uint32_t system_seconds(void *context) {
  static time_t began = -1;
  struct timespec time;
  (void)context;
  (void)clock_gettime(CLOCK_BOOTTIME, &time);
  if (began < 0) began = time.tv_sec;
  return (uint32_t)(time.tv_sec - began);
}

const char *system_error(void) {
  // Unlike strerror, it never allocates.
  const char *text = strerrordesc_np(errno);
  return text != NULL ? text : "unknown error";
}
