// SPDX-License-Identifier: Apache-2.0

#include "sample_library.h"

// SAMPLE_ANSWER is set when the same name is built with other code.
#ifndef SAMPLE_ANSWER
#define SAMPLE_ANSWER 0
#endif

// No relocation, no variable: a segment of its own that is neither written nor executed.
const unsigned char sample_doors[4096] = {'s', 'h', 'u', 't'};

int sample_may_open(int door) { return door < 0 ? -1 : SAMPLE_ANSWER; }
