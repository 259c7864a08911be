// SPDX-License-Identifier: Apache-2.0

#include <string.h>

#include "jobs/handover.h"
#include "jobs/work.h"

bool pfp_long_begin(struct pfp_worker *worker, struct pfp_item *item, int fd) {
  struct pfp_run *run = worker->run;
  struct pfp_long *file = pfp_place_reserve(worker, item);
  if (file == NULL) return false;
  // It is not open: no other worker looks at it.
  file->opener = worker;
  file->fd = fd;
  file->size = item->identity.size;
  file->broken = false;
  file->error = 0;
  file->next = file->folded = 0;
  memset(file->ready, 0, sizeof file->ready);
  pfp_fold_init(&file->fold, &run->files->hash, PFP_TREE);
  pfp_fold_number(&file->fold, file->size, 8);
  // Reading always works.
  file->mapped = pfp_map_pays() && pfp_map_begin(&file->map, fd, file->size) == 0;
  pfp_long_open(run, file, (file->size - 1) / PFP_WINDOW_BYTES + 1);
  return true;
}

static struct pfp_window *free_window(struct pfp_worker *worker) {
  struct pfp_window *window = worker->windows;
  while (window < worker->windows + PFP_WINDOWS && window->file != NULL) window++;
  return window == worker->windows + PFP_WINDOWS ? NULL : window;
}

bool pfp_window_free(struct pfp_worker *worker) { return free_window(worker) != NULL; }

void pfp_window_begin(struct pfp_worker *worker, const struct pfp_piece *piece) {
  struct pfp_window *window = free_window(worker);
  uint64_t left = pfp_leaf_count(piece->file->size) - piece->window * PFP_WINDOW_LEAVES;
  window->file = piece->file;
  window->index = piece->window;
  window->leaves = left < PFP_WINDOW_LEAVES ? (uint32_t)left : PFP_WINDOW_LEAVES;
  window->begun = window->ended = 0;
  window->broken = false;
  window->error = 0;
  worker->window = window;
}

static void window_ended(struct pfp_worker *worker, struct pfp_window *window);

struct pfp_job *pfp_window_leaf(struct pfp_worker *worker, unsigned lane) {
  struct pfp_window *window = worker->window;
  const struct pfp_long *file = window->file;
  uint32_t index = window->begun;
  uint64_t offset = window->index * PFP_WINDOW_BYTES + (uint64_t)index * PFP_LEAF_BYTES;
  uint64_t left = file->size - offset;
  size_t size = left < PFP_LEAF_BYTES ? (size_t)left : PFP_LEAF_BYTES;
  const uint8_t *bytes = NULL;
  if (file->mapped) {
    bytes = file->map.bytes + offset;
  } else {
    uint8_t *slot = pfp_worker_slot(worker, lane);
    int64_t got = pfp_read_at(file->fd, slot, size, offset);
    bytes = slot;
    if (got != (int64_t)size) {
      // The rest of the window is not read; what was begun of it ends by itself.
      window->broken = true;
      window->error = got < 0 ? (int)-got : 0;
      window->leaves = window->begun;
      worker->window = NULL;
      if (window->ended == window->leaves) window_ended(worker, window);
      return NULL;
    }
  }
  window->begun++;
  if (window->begun == window->leaves) worker->window = NULL;
  atomic_fetch_add_explicit(&worker->run->bytes, size, memory_order_relaxed);
  return pfp_worker_job(worker, lane, PFP_JOB_LONG, window, index, PFP_LEAF, bytes, size);
}

/// The file's last window is folded: no other worker looks at it any more. Its place stays its item's, which may have
/// to be read again.
static void file_ended(struct pfp_worker *worker, struct pfp_long *file) {
  struct pfp_item *item = file->item;
  uint8_t digest[PFP_HASH_BYTES];
  bool broken = file->broken;
  int error = file->error;
  pfp_fold_final(digest, &file->fold);
  // A page of zeros is told by the mapping; a file that is cut off afterwards, by its size.
  if (file->mapped && !pfp_map_end(&file->map)) broken = true;
  pfp_read_end(worker, item, file->fd);
  file->mapped = false;
  file->fd = -1;
  if (broken) {
    pfp_read_unfinished(worker, item, error);
  } else {
    pfp_read_content(worker, item, digest);
  }
}

static void window_ended(struct pfp_worker *worker, struct pfp_window *window) {
  struct pfp_long *file = window->file;
  if (file->mapped) {
    uint64_t offset = window->index * PFP_WINDOW_BYTES;
    uint64_t left = file->size - offset;
    pfp_map_release(&file->map, offset, left < PFP_WINDOW_BYTES ? (size_t)left : (size_t)PFP_WINDOW_BYTES);
    window->broken = !pfp_map_whole(&file->map);
  }
  bool last = pfp_window_fold(worker->run, window);
  window->file = NULL;
  if (last) file_ended(worker, file);
}

void pfp_window_leaf_done(struct pfp_worker *worker, struct pfp_window *window, uint32_t index,
                          const uint8_t digest[PFP_HASH_BYTES]) {
  memcpy(window->digests + (size_t)index * PFP_HASH_BYTES, digest, PFP_HASH_BYTES);
  window->ended++;
  if (window->ended == window->leaves) window_ended(worker, window);
}

void pfp_long_abandon(struct pfp_run *run) {
  for (unsigned i = 0; i < PFP_LONGS; i++) {
    struct pfp_long *file = &run->longs[i];
    if (file->item == NULL) continue;
    if (file->mapped) (void)pfp_map_end(&file->map);
    pfp_close(file->fd);
    file->item = NULL;
  }
}
