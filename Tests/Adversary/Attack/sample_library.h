// SPDX-License-Identifier: Apache-2.0

/// The sample app's own library: what attacks replace, hook and redirect.

#ifndef SAMPLE_LIBRARY_H
#define SAMPLE_LIBRARY_H

/// May the door be opened? The genuine library says no (0).
int sample_may_open(int door);

/// Constants that the library has beside its code.
extern const unsigned char sample_doors[4096];

#endif
