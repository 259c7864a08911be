// SPDX-License-Identifier: Apache-2.0

#ifndef PROCESS_KERNEL_H
#define PROCESS_KERNEL_H

/// Answers every ioctl in the kernel's place: 0 or more, or -1 with `errno`. NULL: the kernel does.
extern int (*kernel_answers)(unsigned long request, void *argument);

#endif
