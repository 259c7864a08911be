#include <string.h>

#include "files_parts.h"

bool pfp_long_begin(struct pfp_worker *worker, struct pfp_item *item, int fd) {
  struct pfp_run *run = worker->run;
  struct pfp_long *file = run->longs;
  (void)pthread_mutex_lock(&run->lock);
  while (file < run->longs + PFP_LONGS && file->item != NULL) file++;
  if (file < run->longs + PFP_LONGS) file->item = item;
  (void)pthread_mutex_unlock(&run->lock);
  if (file == run->longs + PFP_LONGS) return false;
  // Without windows nobody takes any of it yet.
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
  worker->own = file;
  (void)pthread_mutex_lock(&run->lock);
  file->windows = (file->size - 1) / PFP_WINDOW_BYTES + 1;
  if (run->idle != 0) (void)pthread_cond_broadcast(&run->work);
  (void)pthread_mutex_unlock(&run->lock);
  return true;
}

/// With the run's lock held. Until a file has windows its other fields are those of the worker that begins it, and
/// nobody else's to read.
static bool has_window(const struct pfp_long *file) {
  return file->windows != 0 && file->next < file->windows && file->next - file->folded < PFP_WINDOWS_AHEAD;
}

bool pfp_long_waits(const struct pfp_run *run) {
  for (unsigned i = 0; i < PFP_LONGS; i++) {
    if (has_window(&run->longs[i])) return true;
  }
  return false;
}

/// The next window of the worker's own file, or of any.
static void take_window(struct pfp_worker *worker, bool help) {
  struct pfp_run *run = worker->run;
  struct pfp_window *window = worker->windows;
  struct pfp_long *file = NULL;
  while (window < worker->windows + PFP_WINDOWS && window->file != NULL) window++;
  if (window == worker->windows + PFP_WINDOWS) return;
  (void)pthread_mutex_lock(&run->lock);
  if (worker->own != NULL && worker->own->next >= worker->own->windows) worker->own = NULL;
  if (worker->own != NULL && has_window(worker->own)) file = worker->own;
  for (unsigned i = 0; file == NULL && help && i < PFP_LONGS; i++) {
    if (has_window(&run->longs[i])) file = &run->longs[i];
  }
  if (file != NULL) {
    window->file = file;
    window->index = file->next++;
  }
  (void)pthread_mutex_unlock(&run->lock);
  if (file == NULL) return;
  uint64_t left = pfp_leaf_count(file->size) - window->index * PFP_WINDOW_LEAVES;
  window->leaves = left < PFP_WINDOW_LEAVES ? (uint32_t)left : PFP_WINDOW_LEAVES;
  window->begun = window->ended = 0;
  window->broken = false;
  window->error = 0;
  worker->window = window;
}

static void window_ended(struct pfp_worker *worker, struct pfp_window *window);

struct pfp_job *pfp_long_leaf(struct pfp_worker *worker, unsigned lane, bool help) {
  if (worker->window == NULL && (help || worker->own != NULL)) take_window(worker, help);
  struct pfp_window *window = worker->window;
  if (window == NULL) return NULL;

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

/// The file's last window is folded: nobody else knows of it any more.
static void file_ended(struct pfp_worker *worker, struct pfp_long *file) {
  struct pfp_item *item = file->item;
  uint8_t digest[PFP_HASH_BYTES];
  bool broken = file->broken;
  int error = file->error;
  pfp_fold_final(digest, &file->fold);
  // A page of zeros is told by the mapping; a file that is cut off afterwards, by its size.
  if (file->mapped && !pfp_map_end(&file->map)) broken = true;
  pfp_read_end(worker, item, file->fd);
  (void)pthread_mutex_lock(&worker->run->lock);
  file->windows = 0;
  file->item = NULL;
  (void)pthread_mutex_unlock(&worker->run->lock);
  if (broken) {
    pfp_read_unfinished(worker, item, error);
  } else {
    pfp_read_content(worker, item, digest);
  }
}

static void window_ended(struct pfp_worker *worker, struct pfp_window *window) {
  struct pfp_long *file = window->file;
  uint64_t slot = window->index % PFP_WINDOWS_AHEAD;
  if (file->mapped) {
    uint64_t offset = window->index * PFP_WINDOW_BYTES;
    uint64_t left = file->size - offset;
    pfp_map_release(&file->map, offset, left < PFP_WINDOW_BYTES ? (size_t)left : (size_t)PFP_WINDOW_BYTES);
    window->broken = !pfp_map_whole(&file->map);
  }
  (void)pthread_mutex_lock(&worker->run->lock);
  memcpy(file->leaves[slot], window->digests, sizeof window->digests);
  file->ready[slot] = true;
  if (window->broken) {
    // The rest is not worth reading.
    file->windows = file->next;
    file->broken = true;
    file->error = window->error;
  }
  while (file->ready[file->folded % PFP_WINDOWS_AHEAD]) {
    slot = file->folded % PFP_WINDOWS_AHEAD;
    uint64_t left = pfp_leaf_count(file->size) - file->folded * PFP_WINDOW_LEAVES;
    pfp_fold_update(&file->fold, file->leaves[slot],
                    (size_t)(left < PFP_WINDOW_LEAVES ? left : PFP_WINDOW_LEAVES) * PFP_HASH_BYTES);
    file->ready[slot] = false;
    file->folded++;
  }
  bool last = file->folded == file->windows;
  // Somebody may have waited for a window to become free.
  if (worker->run->idle != 0) (void)pthread_cond_broadcast(&worker->run->work);
  (void)pthread_mutex_unlock(&worker->run->lock);
  window->file = NULL;
  if (last) file_ended(worker, file);
}

void pfp_long_leaf_done(struct pfp_worker *worker, struct pfp_window *window, uint32_t index,
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
