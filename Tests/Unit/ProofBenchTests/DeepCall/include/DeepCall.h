// SPDX-License-Identifier: Apache-2.0

/// A call that takes as much stack as it is told to: C alone, for what Swift's library takes depends on what was looked
/// up and allocated before, most of all under a sanitizer.

#ifndef DEEP_CALL_H
#define DEEP_CALL_H

/// @param kibibytes  An int: how often it calls itself, with an array of 1,024 bytes each time.
void deep_call(void *kibibytes);

#endif
