// SPDX-License-Identifier: Apache-2.0

/// The kernel's description of this process, read from /proc.

#ifndef PFP_LINUX_PROC_H
#define PFP_LINUX_PROC_H

/// Opens a path below `folder`, a folder of /proc, for reading, with `flags` besides; below /proc itself if `folder` is
/// negative. -1 with `errno` if that cannot be done; EXDEV if the file found is not the kernel's: the user who starts a
/// program can mount a file over /proc/PID/status, in a namespace of their own and without privileges.
int pfp_proc_open(int folder, const char *path, int flags);

#endif
