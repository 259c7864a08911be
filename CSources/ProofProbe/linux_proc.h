/// What the kernel says of this process, in its own words.

#ifndef PFP_LINUX_PROC_H
#define PFP_LINUX_PROC_H

/// Opens a path below `folder`, a folder of /proc, for reading, with `flags` besides; below /proc itself if `folder` is
/// negative. -1 with `errno` if that cannot be done; EXDEV if what stands there is not the kernel's: whoever starts a
/// program may mount what he likes over /proc/PID/status, in a namespace of his own and without any rights.
int pfp_proc_open(int folder, const char *path, int flags);

#endif
