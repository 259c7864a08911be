// SPDX-License-Identifier: Apache-2.0

/// Entries of a bundle known since it was last measured: in order, packed.
///
/// Written once, in order, and read back in order: by the next measurement, which takes from it what did not change
/// and writes its successor while pages already read are given back. So what is known needs its room once, not twice.

#ifndef PFP_FILES_KNOWN_H
#define PFP_FILES_KNOWN_H

#include "system/platform.h"

/// One entry.
struct pfp_known_entry {
  const char *path;  ///< Terminated
  uint32_t path_size;
  int fd;  ///< Kept open, or -1
  struct pfp_identity identity;
  uint8_t content[PFP_HASH_BYTES];
};

/// Entries are packed into pages of this size, each of which can be read without the others.
#define PFP_KNOWN_PAGE 32768u

struct pfp_known_page {
  struct pfp_known_page *next;
  uint32_t used;
  uint32_t entries;
  uint8_t bytes[PFP_KNOWN_PAGE - 16];
};
_Static_assert(sizeof(struct pfp_known_page) == PFP_KNOWN_PAGE, "whole pages");

/// Devices and mounts of one bundle; entries name them by number.
#define PFP_KNOWN_MOUNTS 16

struct pfp_known {
  struct pfp_known_page *first, *last;
  uint64_t entries;
  size_t bytes;  ///< Memory taken
  uint64_t device[PFP_KNOWN_MOUNTS], mount[PFP_KNOWN_MOUNTS];
  uint32_t mounts;
  uint32_t last_size;  ///< Size of the path written last
  char last_path[PFP_PATH_MAX + 1];
};

void pfp_known_init(struct pfp_known *known);
/// Frees everything and closes every descriptor. Answers how many there were.
uint32_t pfp_known_clear(struct pfp_known *known);

/// Adds an entry behind the others; takes its descriptor over. False, and nothing happened, if that needs memory
/// beyond `bytes_max` or a mount too many.
bool pfp_known_append(struct pfp_known *known, const struct pfp_known_entry *entry, size_t bytes_max);

/// Reads a page, or all of them. The entry's path lives in the cursor.
struct pfp_known_cursor {
  const struct pfp_known *known;
  struct pfp_known_page *page;
  uint32_t at, left;
  uint8_t *packed;  ///< Packed form of the entry read last
  struct pfp_known_entry entry;
  char path[PFP_PATH_MAX + 1];
};

/// Begins with `page`.
void pfp_known_read(struct pfp_known_cursor *cursor, const struct pfp_known *known, struct pfp_known_page *page);
/// The next entry of this page into `cursor->entry`; false at its end.
bool pfp_known_next(struct pfp_known_cursor *cursor);
/// Takes the descriptor of the entry read last out: it is the caller's from now on.
void pfp_known_take(struct pfp_known_cursor *cursor);

/// Reads in order what is known and gives pages back as it goes.
struct pfp_known_consumer {
  struct pfp_known known;  ///< Entries left
  struct pfp_known_cursor cursor;
  bool holds;       ///< `cursor.entry` is read and not yet consumed
  uint32_t closed;  ///< Descriptors closed, of entries that are gone
};

/// Takes all of `known`, which is empty afterwards.
void pfp_known_consume(struct pfp_known_consumer *consumer, struct pfp_known *known);
/// The entry with this path, or NULL. Paths must come in increasing order. Its descriptor is then the caller's.
const struct pfp_known_entry *pfp_known_find(struct pfp_known_consumer *consumer, const char *path);
/// Ends it. Of a measurement that failed, what was not yet consumed is put behind what was written, so that it is not
/// lost; otherwise it is gone.
void pfp_known_consumed(struct pfp_known_consumer *consumer, struct pfp_known *known, bool failed);

#endif
