// SPDX-License-Identifier: Apache-2.0

/// The measuring thread of a program that the probe was put into.

#ifndef MEASURER_H
#define MEASURER_H

/// Begins the thread, once in a process. 0, or anything else if it does not run.
int measurer_begin(void);

/// Says that the program has opened what it opens at its start.
void measurer_ready(void);

#endif
