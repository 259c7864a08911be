// SPDX-License-Identifier: Apache-2.0

/// Shared by the tests of the C shim's bounds.

#ifndef JOSE_SHIM_BOUNDS_H
#define JOSE_SHIM_BOUNDS_H

#include <stddef.h>
#include <stdint.h>

/// 1 MiB: the longest message.
enum { MESSAGE_MAX = 1048576 };

extern const uint8_t zeros[2048];
/// Filled by each test that uses it.
extern uint8_t large[MESSAGE_MAX + 1];

/// Counts, and names what does not hold.
void that(int holds, const char *words);

/// Whether all bytes are zeros; at most 2048.
int is_zero(const void *bytes, size_t size);

/// Whether bytes are these hexadecimal digits.
int is_hex(const uint8_t *bytes, size_t size, const char *digits);

/// The bytes of hexadecimal digits.
void unhex(uint8_t *bytes, const char *digits);

/// The tests of keys, signatures and certificates.
void test_keys(void);

#endif
