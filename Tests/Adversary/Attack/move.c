// SPDX-License-Identifier: Apache-2.0

// Exchanges a block of a file of ext4 for one that was never written, with the rights of the file's owner.
//
//   move FILE OTHER    OTHER is made. Ends with 3 where blocks cannot be moved.

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

// From ext4's own header, which is not in the kernel's interface.
struct move_extent {
  uint32_t reserved, donor_fd;
  uint64_t orig_start, donor_start, len, moved_len;
};
#define EXT4_IOC_MOVE_EXT_ _IOWR('f', 15, struct move_extent)

int main(int argc, char **argv) {
  static const char bytes[65536] = "other bytes";
  if (argc != 3) return 2;
  int file = open(argv[1], O_RDWR | O_CLOEXEC), other = open(argv[2], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  struct move_extent move = {.donor_fd = (uint32_t)file, .len = 1};
  if (file < 0 || other < 0 || write(other, bytes, sizeof bytes) != (ssize_t)sizeof bytes || fsync(other) != 0 ||
      fsync(file) != 0) {
    perror("move");
    return 1;
  }
  if (ioctl(other, EXT4_IOC_MOVE_EXT_, &move) != 0 || move.moved_len != 1) return 3;
  // The page cache still has what was in the block.
  return posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}
