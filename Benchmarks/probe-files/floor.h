// SPDX-License-Identifier: Apache-2.0

/// The kernel's price of a warm measurement with descriptors kept: the same fstat of each file, the same questions
/// about mappings, pages and objects' paths, on two threads as the probe asks them, and nothing else.

#ifndef FLOOR_H
#define FLOOR_H

#include <stddef.h>

/// Opens each file below the folder, and notes the pages and paths of what is loaded. 0, or an errno.
int floor_open(const char *bundle);
/// Asks everything once. The number of questions that the kernel did not answer.
size_t floor_ask(void);

#endif
