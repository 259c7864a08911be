// SPDX-License-Identifier: Apache-2.0

/// Counts the core's X25519: it takes the place of libsodium's two functions that the core calls for it.

#ifndef CURVE_COUNT_H
#define CURVE_COUNT_H

/// X25519 computed since the program's start, key pairs included; not those inside libsodium's sealed boxes.
extern unsigned curve_count;

#endif
