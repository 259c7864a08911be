/// What the port takes from the operating system besides files and sockets.

#ifndef SYSTEM_H
#define SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/// As `pfc_platform.random`.
int system_random(void *context, uint8_t *bytes, size_t size);

/// As `pfc_platform.seconds`: since the first call.
uint32_t system_seconds(void *context);

/// What `errno` means.
const char *system_error(void);

#endif
