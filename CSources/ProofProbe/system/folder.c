// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "system/platform.h"

static uint8_t type_of(unsigned char type) {
  switch (type) {
    case DT_REG: return PFP_TYPE_FILE;
    case DT_DIR: return PFP_TYPE_FOLDER;
    case DT_LNK: return PFP_TYPE_LINK;
    case DT_FIFO: return PFP_TYPE_FIFO;
    case DT_SOCK: return PFP_TYPE_SOCKET;
    case DT_CHR: return PFP_TYPE_CHARACTER;
    case DT_BLK: return PFP_TYPE_BLOCK;
    default: return 0;
  }
}

int pfp_listing_begin(struct pfp_listing *listing, int fd) {
  listing->fd = fd;
  listing->at = listing->filled = 0;
  return lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;
}

int pfp_listing_next(struct pfp_listing *listing, const char **name, uint8_t *type) {
  for (;;) {
    if (listing->at == listing->filled) {
      // Not readdir: it allocates, and is no faster.
      ssize_t got = getdents64(listing->fd, listing->buffer, sizeof listing->buffer);
      if (got < 0) return -errno;
      if (got == 0) return 0;
      listing->at = 0;
      listing->filled = (uint32_t)got;
    }
    // The kernel aligns every entry for a pointer's sake.
    const struct dirent64 *entry = (const struct dirent64 *)(const void *)(listing->buffer + listing->at);
    listing->at += entry->d_reclen;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    *name = entry->d_name;
    *type = type_of(entry->d_type);
    return 1;
  }
}
