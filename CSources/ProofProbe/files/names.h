// SPDX-License-Identifier: Apache-2.0

/// The names of one folder, in order, in bounded memory.
///
/// Entries of a bundle stand in order of their whole relative paths. Within one folder that is the order of the names,
/// except that what is below the folder "a" comes where "a/" would: after "a", "a-b" and "a.b", before "a0". So each
/// folder among the names has two places, its own and the *descent*.
///
/// A folder with more names than fit is listed several times: each pass keeps the lowest places after those already
/// handed out.

#ifndef PFP_FILES_NAMES_H
#define PFP_FILES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFP_NAME_MAX 255  ///< Bytes of a name on any file system of Linux.

/// A name's place, or the descent's.
struct pfp_place {
  uint64_t prefix;  ///< The first eight bytes, big-endian, zeros after a shorter key: decides most comparisons.
  uint32_t record;
  uint32_t descent;
};

/// A pass over one folder. Lives in memory lent by the caller.
struct pfp_names {
  uint8_t *memory;
  uint32_t size;        ///< Size of the memory
  uint32_t used;        ///< By records: u8 type, u8 length, name, 0
  struct pfp_place *places;  ///< After `_sort`
  uint32_t count;
  uint32_t next;        ///< To hand out
  bool bounded;         ///< Places from `ceiling` on were left out
  bool resumed;         ///< Places up to `floor` were handed out by passes before
  bool ceiling_descent, floor_descent;
  char ceiling[PFP_NAME_MAX + 1], floor[PFP_NAME_MAX + 1];
};

/// The least memory that makes progress.
#define PFP_NAMES_LEAST 4096u

/// `size` must be at least PFP_NAMES_LEAST, `memory` aligned for a place.
void pfp_names_begin(struct pfp_names *names, void *memory, uint32_t size);
/// Adds a name of 1 to PFP_NAME_MAX bytes, terminated.
void pfp_names_add(struct pfp_names *names, uint8_t type, const char *name);
/// Ends a pass: the names can be handed out. Answers how much of the memory is needed from now on.
uint32_t pfp_names_sort(struct pfp_names *names);
/// After all were handed out: whether another pass is needed. It then is begun.
bool pfp_names_more(struct pfp_names *names);

/// A name handed out to the caller.
struct pfp_name {
  const char *bytes;
  uint8_t size;
  uint8_t type;
  bool descent;
};
/// False after the last.
bool pfp_names_next(struct pfp_names *names, struct pfp_name *name);

#endif
