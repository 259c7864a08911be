// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <string.h>

#include "jobs/handover.h"
#include "jobs/work.h"

static int folder_of(const struct pfp_item *item) { return item->folder == NULL ? pfp_here() : item->folder->fd; }

// Known ----------------------------------------------------------------------------------------------------------

/// The item is as it was when it was measured last.
static bool reuse(struct pfp_worker *worker, struct pfp_item *item) {
  if (!item->is_known || !pfp_identity_equal(&item->identity, &item->known)) return false;
  if (item->identity.type == PFP_TYPE_FILE) {
    if (!pfp_item_count(worker, item)) return true;
    worker->statistics.files++;
    worker->statistics.reused++;
    atomic_fetch_add_explicit(&worker->run->bytes, item->identity.size, memory_order_relaxed);
  }
  memcpy(item->content, item->known_content, PFP_HASH_BYTES);
  item->fd = item->known_fd;
  item->known_fd = -1;
  item->keep = PFP_KEEP;
  pfp_item_finish(worker, item);
  return true;
}

/// True if the item is done with: reused, failed, or of another type than was listed.
static bool settle_by_name(struct pfp_worker *worker, struct pfp_item *item, uint8_t listed) {
  int result = pfp_identify_name(&item->identity, folder_of(item), pfp_item_name(item), item->follow);
  if (result != 0) {
    item->identity.type = listed;
    pfp_item_failed(worker, item, -result);
    return true;
  }
  if (item->identity.type != listed) {
    item->identity.type = listed;
    pfp_read_broken(worker, item);
    return true;
  }
  return reuse(worker, item);
}

// Links and special files ----------------------------------------------------------------------------------------

static struct pfp_job *begin_link(struct pfp_worker *worker, unsigned lane, struct pfp_item *item) {
  struct pfp_identity after;
  uint8_t *slot = pfp_worker_slot(worker, lane);
  uint64_t before = pfp_keep_clock();
  bool identified = pfp_incremental(worker->run->files);
  if (identified && settle_by_name(worker, item, PFP_TYPE_LINK)) return NULL;
  int64_t size = pfp_read_link(folder_of(item), pfp_item_name(item), slot, PFP_PATH_MAX + 1);
  if (size < 0) {
    pfp_item_failed(worker, item, (int)-size);
    return NULL;
  }
  item->steady = true;
  if (identified) {
    item->keep = pfp_keep_entry(&item->identity, before, &worker->memory, folder_of(item));
    if (pfp_identify_name(&after, folder_of(item), pfp_item_name(item), false) != 0 ||
        !pfp_identity_equal(&after, &item->identity)) {
      item->steady = false;
      item->keep = PFP_KEEP_NOTHING;
    }
  }
  item->identity.size = (uint64_t)size;
  return pfp_worker_job(worker, lane, PFP_JOB_CONTENT, item, 0, PFP_LINK, slot, (size_t)size);
}

/// Never opened: opening a FIFO or a device does things.
static void begin_special(struct pfp_worker *worker, struct pfp_item *item) {
  uint64_t before = pfp_keep_clock();
  if (settle_by_name(worker, item, item->identity.type)) return;
  if (pfp_incremental(worker->run->files)) {
    item->keep = pfp_keep_entry(&item->identity, before, &worker->memory, folder_of(item));
  }
  pfp_item_finish(worker, item);
}

// Files ----------------------------------------------------------------------------------------------------------

/// Opened and identified, or dealt with: then negative.
static int open_file(struct pfp_worker *worker, struct pfp_item *item) {
  int fd = pfp_open_file(folder_of(item), pfp_item_name(item), item->follow);
  int result;
  if (fd < 0) {
    // Its type and mode can still be told, if not its content.
    if (pfp_identify_name(&item->identity, folder_of(item), pfp_item_name(item), item->follow) != 0 ||
        item->identity.type != PFP_TYPE_FILE) {
      memset(&item->identity, 0, sizeof item->identity);
      item->identity.type = PFP_TYPE_FILE;
    }
    pfp_item_failed(worker, item, -fd);
    return -1;
  }
  if (pfp_incremental(worker->run->files)) {
    result = pfp_keep_file(&item->identity, &item->keep, &worker->memory, fd,
                           pfp_trusts_owner(worker->run->files));
  } else {
    result = pfp_identify(&item->identity, fd);
  }
  if (result == 0 && item->identity.type == PFP_TYPE_FILE && pfp_item_count(worker, item)) return fd;
  pfp_close(fd);
  if (result != 0) {
    pfp_item_failed(worker, item, -result);
  } else if (item->identity.type != PFP_TYPE_FILE) {
    item->identity.type = PFP_TYPE_FILE;
    pfp_read_broken(worker, item);
  }
  return -1;
}

/// A file of one leaf: read in one go, with room for a byte that should not be there.
static struct pfp_job *begin_short(struct pfp_worker *worker, unsigned lane, struct pfp_item *item, int fd) {
  uint8_t *slot = pfp_worker_slot(worker, lane);
  int64_t size = pfp_read(fd, slot, PFP_LEAF_BYTES + 1);
  if (size < 0) {
    pfp_close(fd);
    pfp_item_failed(worker, item, (int)-size);
    return NULL;
  }
  pfp_read_end(worker, item, fd);
  if ((uint64_t)size != item->identity.size) {
    pfp_files_release(worker->run->files, item->fd);
    item->fd = -1;
    item->steady = false;
    item->keep = PFP_KEEP_NOTHING;
    if (size > PFP_LEAF_BYTES) {
      pfp_read_broken(worker, item);
      return NULL;
    }
    item->identity.size = (uint64_t)size;
  }
  atomic_fetch_add_explicit(&worker->run->bytes, (uint64_t)size, memory_order_relaxed);
  return pfp_worker_job(worker, lane, PFP_JOB_CONTENT, item, 0, PFP_CONTENT, slot, (size_t)size);
}

/// A file of a few leaves: this worker reads them one by one as lanes become free.
static void begin_reading(struct pfp_worker *worker, struct pfp_item *item, int fd) {
  struct pfp_reading *reading = worker->readings;
  // A free reading exists: see PFP_READINGS.
  while (reading->item != NULL) reading++;
  reading->item = item;
  reading->fd = fd;
  reading->leaves = (uint32_t)pfp_leaf_count(item->identity.size);
  reading->begun = reading->ended = 0;
  reading->over = reading->broken = false;
  reading->error = 0;
  for (unsigned i = 0; i < 8; i++) reading->message[i] = (uint8_t)(item->identity.size >> (8 * i));
  worker->reading = reading;
}

/// All leaves ended. Whatever comes next, the reading's descriptor is done with.
static void reading_ended(struct pfp_worker *worker, struct pfp_reading *reading) {
  struct pfp_item *item = reading->item;
  if (!reading->broken) {
    pfp_worker_task(worker, PFP_TASK_TREE, reading);
    return;
  }
  reading->item = NULL;
  pfp_read_unfinished(worker, item, reading->error);
}

struct pfp_job *pfp_read_leaf(struct pfp_worker *worker, unsigned lane) {
  struct pfp_reading *reading = worker->reading;
  uint64_t offset = (uint64_t)reading->begun * PFP_LEAF_BYTES;
  uint64_t left = reading->item->identity.size - offset;
  size_t size = left < PFP_LEAF_BYTES ? (size_t)left : PFP_LEAF_BYTES;
  uint8_t *slot = pfp_worker_slot(worker, lane);
  int64_t got = pfp_read(reading->fd, slot, size);
  if (got == (int64_t)size) reading->begun++;
  if (got == (int64_t)size && reading->begun < reading->leaves) {
    atomic_fetch_add_explicit(&worker->run->bytes, size, memory_order_relaxed);
    return pfp_worker_job(worker, lane, PFP_JOB_LEAF, reading, reading->begun - 1, PFP_LEAF, slot, size);
  }
  // The last leaf, or less than was there.
  worker->reading = NULL;
  reading->over = true;
  reading->broken = got != (int64_t)size;
  if (got < 0) reading->error = (int)-got;
  pfp_read_end(worker, reading->item, reading->fd);
  reading->fd = -1;
  if (!reading->broken) {
    atomic_fetch_add_explicit(&worker->run->bytes, size, memory_order_relaxed);
    return pfp_worker_job(worker, lane, PFP_JOB_LEAF, reading, reading->begun - 1, PFP_LEAF, slot, size);
  }
  if (reading->ended == reading->begun) reading_ended(worker, reading);
  return NULL;
}

void pfp_read_leaf_done(struct pfp_worker *worker, struct pfp_reading *reading, uint32_t index,
                        const uint8_t digest[PFP_HASH_BYTES]) {
  memcpy(reading->message + 8 + (size_t)index * PFP_HASH_BYTES, digest, PFP_HASH_BYTES);
  reading->ended++;
  if (reading->over && reading->ended == reading->begun) reading_ended(worker, reading);
}

struct pfp_job *pfp_read_begin(struct pfp_worker *worker, unsigned lane, struct pfp_item *item) {
  int fd;
  if (item->prepared) {
    pfp_item_finish(worker, item);
    return NULL;
  }
  item->readings++;
  item->keep = PFP_KEEP_NOTHING;
  if (item->identity.type == PFP_TYPE_LINK) return begin_link(worker, lane, item);
  if (item->identity.type != PFP_TYPE_FILE) {
    begin_special(worker, item);
    return NULL;
  }
  if (item->is_known && item->readings == 1 && settle_by_name(worker, item, PFP_TYPE_FILE)) return NULL;
  fd = open_file(worker, item);
  if (fd < 0) return NULL;
  if (item->identity.size <= PFP_LEAF_BYTES) return begin_short(worker, lane, item, fd);
  if (item->identity.size < PFP_LONG_FROM) {
    begin_reading(worker, item, fd);
  } else if (!pfp_long_begin(worker, item, fd)) {
    // It has become long since it was read first, and others move as well.
    pfp_close(fd);
    pfp_item_give_up(worker, item, PFP_E_CHANGING, 0);
  }
  return NULL;
}
