// SPDX-License-Identifier: Apache-2.0

/// Operating system calls of the port besides files and sockets.

#ifndef SYSTEM_H
#define SYSTEM_H

#include <stddef.h>
#include <stdint.h>

/// As `pfc_platform.random`.
int system_random(void *context, uint8_t *bytes, size_t size);

/// As `pfc_platform.seconds`: since the first call.
uint32_t system_seconds(void *context);

/// Text for `errno`.
const char *system_error(void);

#endif
