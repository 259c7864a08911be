// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "files/walk.h"

/// Folders open at a time, beyond those on the way down: entries under way hold theirs open.
enum { FOLDERS_AHEAD = 64 };

/// An item for the entry at `walk->path`. NULL only on failure, which `*result` tells.
static struct pfp_item *item_new(struct pfp_walk *walk, const struct pfp_level *level, size_t size, int *result) {
  struct pfp_item *item;
  *result = PFP_OK;
  while ((item = pfp_run_item(walk->run, walk->path, size)) == NULL) {
    *result = pfp_walk_collect(walk, true);
    if (*result != PFP_OK) return NULL;
  }
  item->folder = level->folder;
  item->folder->references++;
  item->name_at = level->path_size;
  if (pfp_incremental(walk->files)) {
    const struct pfp_known_entry *known = pfp_known_find(&walk->consumer, walk->path);
    if (known != NULL) {
      item->is_known = true;
      item->known = known->identity;
      item->known_fd = known->fd;
      memcpy(item->known_content, known->content, sizeof item->known_content);
    }
  }
  return item;
}

struct pfp_folder *pfp_walk_folder(struct pfp_walk *walk, int fd) {
  struct pfp_folder *folder = malloc(sizeof *folder);
  if (folder == NULL) return NULL;
  *folder = (struct pfp_folder){.fd = fd, .references = 1};
  walk->run->folders++;
  return folder;
}

/// Forgets the folders opened first that wait for their descent, but for `left`.
static void opened_forget(struct pfp_walk *walk, uint32_t left) {
  while (walk->opened_count > left) {
    pfp_folder_release(walk->run, walk->opened[0].folder);
    memmove(walk->opened, walk->opened + 1, --walk->opened_count * sizeof walk->opened[0]);
  }
}

/// Opens the folder at `walk->path` and puts it behind those that wait. 0 or a negative errno.
static int open_folder(struct pfp_walk *walk, const struct pfp_level *level, size_t size) {
  struct pfp_identity identity;
  struct pfp_folder *folder = NULL;
  int fd = pfp_open_folder(level->folder->fd, walk->path + level->path_size, false);
  int result;
  if (fd < 0) return fd;
  result = pfp_identify(&identity, fd);
  if (result == 0 && (folder = pfp_walk_folder(walk, fd)) == NULL) result = -ENOMEM;
  if (result != 0) {
    pfp_close(fd);
    return result;
  }
  opened_forget(walk, PFP_OPENED - 1);
  walk->opened[walk->opened_count].folder = folder;
  walk->opened[walk->opened_count].identity = identity;
  walk->opened[walk->opened_count].path_size = size;
  walk->opened_count++;
  return 0;
}

/// Whether the entry of the folder that waits at `walk->path` says that it could not be opened.
static bool is_absent(const struct pfp_walk *walk, size_t size) {
  return (walk->absent[size / 8] >> (size % 8) & 1) != 0;
}

static void set_absent(struct pfp_walk *walk, size_t size, bool absent) {
  const uint8_t bit = (uint8_t)(1u << (size % 8));
  walk->absent[size / 8] = (uint8_t)(absent ? walk->absent[size / 8] | bit : walk->absent[size / 8] & ~bit);
}

/// The entry of a folder: what is below it follows at its descent.
static int enter_folder(struct pfp_walk *walk, const struct pfp_level *level, size_t size) {
  int result = PFP_OK, error;
  uint64_t before = pfp_keep_clock();
  struct pfp_item *item = item_new(walk, level, size, &result);
  if (item == NULL) return result;
  item->prepared = true;
  error = open_folder(walk, level, size);
  if (pfp_error_is_change(-error)) error = open_folder(walk, level, size);
  set_absent(walk, size, error != 0);
  if (error == 0) {
    int fd = walk->opened[walk->opened_count - 1].folder->fd;
    item->identity = walk->opened[walk->opened_count - 1].identity;
    if (pfp_incremental(walk->files)) {
      item->keep = pfp_keep_entry(&item->identity, before, &walk->memory, fd);
    }
    if (item->is_known && item->known_fd >= 0 && pfp_identity_equal(&item->known, &item->identity)) {
      item->fd = item->known_fd;
      item->known_fd = -1;
    } else if (item->keep == PFP_KEEP && pfp_descriptor_take(walk->files)) {
      item->fd = pfp_duplicate(fd);
      if (item->fd < 0) atomic_fetch_add(&walk->files->descriptors_left, 1);
    }
  } else if (pfp_error_is_change(-error) || pfp_error_is_resource(-error)) {
    pfp_files_release(walk->files, item->known_fd);
    pfp_folder_release(walk->run, item->folder);
    return pfp_walk_fail(walk, pfp_error_is_change(-error) ? PFP_E_CHANGING : PFP_E_RESOURCE, -error, size);
  } else {
    if (pfp_identify_name(&item->identity, level->folder->fd, walk->path + level->path_size, false) != 0) {
      memset(&item->identity, 0, sizeof item->identity);
    }
    item->identity.type = PFP_TYPE_FOLDER;
    item->state = PFP_STATE_ABSENT;
    item->error = -error;
  }
  pfp_run_fill(walk->run);
  return PFP_OK;
}

/// An entry that is no folder: a worker's business.
static int enter_other(struct pfp_walk *walk, const struct pfp_level *level, size_t size, uint8_t type) {
  int result = PFP_OK;
  struct pfp_item *item = item_new(walk, level, size, &result);
  if (item == NULL) return result;
  item->identity.type = type;
  if (type == 0) {
    // The type is unknown after listing and stat: this process may not look.
    item->prepared = true;
    item->state = PFP_STATE_ABSENT;
    item->error = EACCES;
  }
  pfp_run_fill(walk->run);
  return PFP_OK;
}

// Folders --------------------------------------------------------------------------------------------------------

/// Reads names until the pass is complete.
static int list(struct pfp_walk *walk, struct pfp_level *level) {
  const char *name;
  uint8_t type;
  int more = pfp_listing_begin(&walk->listing, level->folder->fd);
  while (more == 0 && (more = pfp_listing_next(&walk->listing, &name, &type)) == 1) {
    struct pfp_identity identity;
    more = 0;
    if (strlen(name) > PFP_NAME_MAX) return pfp_walk_fail(walk, PFP_E_DEEP, ENAMETOOLONG, level->path_size);
    if (type == 0 && pfp_identify_name(&identity, level->folder->fd, name, false) == 0) type = identity.type;
    pfp_names_add(&level->names, type, name);
    if (atomic_load_explicit(&walk->files->cancel, memory_order_relaxed)) {
      return pfp_walk_fail(walk, PFP_E_CANCELLED, 0, 0);
    }
  }
  if (more < 0) {
    size_t size = level->path_size == 0 ? 0 : level->path_size - 1;
    return pfp_walk_fail(walk, pfp_error_is_resource(-more) ? PFP_E_RESOURCE : PFP_E_UNREADABLE, -more, size);
  }
  walk->names_used = level->memory_from + pfp_names_sort(&level->names);
  // Listed between two looks at it that were the same: then its times tell when that is no longer so.
  if (pfp_incremental(walk->files) && !pfp_unmoved(&level->identity, level->folder->fd)) walk->whole = false;
  return PFP_OK;
}

int pfp_walk_down(struct pfp_walk *walk, struct pfp_folder *folder, const struct pfp_identity *identity,
                  size_t path_size) {
  struct pfp_level *level = &walk->levels[walk->depth++];
  uint32_t reserve = (PFP_DEPTH_MAX + 1 - walk->depth) * PFP_NAMES_LEAST;
  uint32_t left = PFP_NAMES_ALL - walk->names_used;
  uint32_t share = left > reserve ? (left - reserve) / 4 * 3 : 0;
  level->folder = folder;
  level->path_size = (uint32_t)path_size;
  level->memory_from = walk->names_used;
  level->identity = *identity;
  pfp_names_begin(&level->names, walk->names + walk->names_used, share > PFP_NAMES_LEAST ? share : PFP_NAMES_LEAST);
  return list(walk, level);
}

static void up(struct pfp_walk *walk) {
  struct pfp_level *level = &walk->levels[--walk->depth];
  walk->names_used = level->memory_from;
  pfp_folder_release(walk->run, level->folder);
}

/// Walks the folder at `walk->path`.
static int descend(struct pfp_walk *walk, const struct pfp_level *level, size_t size) {
  if (walk->depth > PFP_DEPTH_MAX || size >= PFP_PATH_MAX) {
    return pfp_walk_fail(walk, PFP_E_DEEP, ENAMETOOLONG, size);
  }
  if (is_absent(walk, size)) return PFP_OK;
  if (walk->opened_count == 0 || walk->opened[walk->opened_count - 1].path_size != size) {
    int error = open_folder(walk, level, size);
    if (pfp_error_is_resource(-error)) return pfp_walk_fail(walk, PFP_E_RESOURCE, -error, size);
    // Its entry says that it could be opened.
    if (error != 0) return pfp_walk_fail(walk, PFP_E_CHANGING, -error, size);
    // It may not be the one that was handed out.
    walk->whole = false;
  }
  while (walk->run->folders > walk->depth + FOLDERS_AHEAD && walk->run->retired < walk->run->filled) {
    int result = pfp_walk_collect(walk, true);
    if (result != PFP_OK) return result;
  }
  walk->path[size] = '/';
  const struct pfp_opened *opened = &walk->opened[--walk->opened_count];
  return pfp_walk_down(walk, opened->folder, &opened->identity, size + 1);
}

int pfp_walk_step(struct pfp_walk *walk) {
  struct pfp_level *level = &walk->levels[walk->depth - 1];
  struct pfp_name name;
  if (!pfp_names_next(&level->names, &name)) {
    if (!pfp_names_more(&level->names)) {
      up(walk);
      return PFP_OK;
    }
    return list(walk, level);
  }
  size_t size = (size_t)level->path_size + name.size;
  if (size > PFP_PATH_MAX) return pfp_walk_fail(walk, PFP_E_DEEP, ENAMETOOLONG, level->path_size);
  memcpy(walk->path + level->path_size, name.bytes, (size_t)name.size + 1);
  if (name.descent) return descend(walk, level, size);
  if (name.type == PFP_TYPE_FOLDER) return enter_folder(walk, level, size);
  return enter_other(walk, level, size, name.type);
}

void pfp_walk_leave(struct pfp_walk *walk) {
  while (walk->depth != 0) up(walk);
  opened_forget(walk, 0);
}
