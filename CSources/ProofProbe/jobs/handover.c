// SPDX-License-Identifier: Apache-2.0

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <string.h>
#include <time.h>

#include "jobs/handover.h"

/// Nothing is awaited.
static const uint64_t nothing = UINT64_MAX;

/// How often the calling thread looks up from its wait.
enum { LOOK_NANOSECONDS = 50000000 };

static struct pfp_item *item_at(struct pfp_run *run, uint64_t index) { return &run->items[index % PFP_ITEMS]; }

// Behind the lock ------------------------------------------------------------------------------------------------

static void lock(struct pfp_run *run) { (void)pthread_mutex_lock(&run->lock); }
static void unlock(struct pfp_run *run) { (void)pthread_mutex_unlock(&run->lock); }

/// A piece may be taken that could not be before.
static void wake(struct pfp_run *run) {
  if (run->asleep != 0) (void)pthread_cond_broadcast(&run->work);
}

/// Each worker that took an item and has not looked at it yet may need one.
static bool has_places(const struct pfp_run *run) { return PFP_LONGS - run->places >= run->workers; }

/// Until a file is open its other fields are those of the worker that begins it.
static bool has_window(const struct pfp_long *file) {
  return file->windows != 0 && file->next < file->windows && file->next - file->folded < PFP_WINDOWS_AHEAD;
}

/// A file with a window to take, of those that `opener` began or of all.
static struct pfp_long *find_window(struct pfp_run *run, const struct pfp_worker *opener) {
  uint32_t left = run->places;
  for (struct pfp_long *file = run->longs; left != 0; file++) {
    if (file->item == NULL) continue;
    left--;
    if (has_window(file) && (opener == NULL || file->opener == opener)) return file;
  }
  return NULL;
}

static bool take(struct pfp_worker *worker, bool windows, struct pfp_piece *piece) {
  struct pfp_run *run = worker->run;
  struct pfp_long *file = windows ? find_window(run, worker) : NULL;
  *piece = (struct pfp_piece){0};
  if (file == NULL && run->taken != run->published && has_places(run)) {
    piece->item = item_at(run, run->taken++);
    return true;
  }
  if (file == NULL && windows) file = find_window(run, NULL);
  if (file == NULL) return false;
  piece->file = file;
  piece->window = file->next++;
  return true;
}

static void stop(struct pfp_run *run) {
  atomic_store(&run->stop, true);
  (void)pthread_cond_broadcast(&run->work);
  (void)pthread_cond_signal(&run->arrived);
}

// Taking ---------------------------------------------------------------------------------------------------------

bool pfp_run_stopped(const struct pfp_run *run) {
  return atomic_load_explicit(&run->stop, memory_order_relaxed) ||
         atomic_load_explicit(&run->files->cancel, memory_order_relaxed);
}

void pfp_run_stop(struct pfp_run *run) {
  lock(run);
  stop(run);
  unlock(run);
}

void pfp_publish(struct pfp_run *run) {
  lock(run);
  run->published = run->filled;
  wake(run);
  unlock(run);
}

bool pfp_take(struct pfp_worker *worker, bool windows, struct pfp_piece *piece) {
  lock(worker->run);
  bool taken = take(worker, windows, piece);
  unlock(worker->run);
  return taken;
}

bool pfp_take_or_sleep(struct pfp_worker *worker) {
  struct pfp_run *run = worker->run;
  bool taken = false;
  lock(run);
  while (!pfp_run_stopped(run) && !(taken = take(worker, true, &worker->taken))) {
    run->asleep++;
    (void)pthread_cond_wait(&run->work, &run->lock);
    run->asleep--;
  }
  // A caller who cancelled has woken no thread.
  if (!taken) stop(run);
  unlock(run);
  return taken;
}

// Long files -----------------------------------------------------------------------------------------------------

struct pfp_long *pfp_place_reserve(struct pfp_worker *worker, struct pfp_item *item) {
  struct pfp_run *run = worker->run;
  struct pfp_long *file = item->place;
  if (file != NULL) return file;
  lock(run);
  // Free places are never fewer than workers that hold an item and have not read it: such an item is taken only if
  // there is one for each worker, and so is a place at a second reading. A first reading finds one for certain.
  if (item->readings <= 1 || has_places(run)) {
    file = run->longs;
    while (file->item != NULL) file++;
    file->item = item;
    file->windows = 0;
    file->fd = -1;
    file->mapped = false;
    run->places++;
  }
  unlock(run);
  item->place = file;
  return file;
}

void pfp_place_free(struct pfp_run *run, struct pfp_item *item) {
  if (item->place == NULL) return;
  lock(run);
  item->place->item = NULL;
  run->places--;
  wake(run);
  unlock(run);
  item->place = NULL;
}

void pfp_long_open(struct pfp_run *run, struct pfp_long *file, uint64_t windows) {
  lock(run);
  file->windows = windows;
  wake(run);
  unlock(run);
}

bool pfp_window_fold(struct pfp_run *run, const struct pfp_window *window) {
  struct pfp_long *file = window->file;
  uint64_t slot = window->index % PFP_WINDOWS_AHEAD;
  lock(run);
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
  if (last) file->windows = 0;
  wake(run);
  unlock(run);
  return last;
}

// The calling thread's wait --------------------------------------------------------------------------------------

void pfp_item_done(struct pfp_run *run, struct pfp_item *item) {
  atomic_store(&item->done, true);
  uint64_t awaited = atomic_load(&run->awaited);
  if (awaited == nothing || item_at(run, awaited) != item) return;
  // With the lock: the calling thread is then before its look at `done`, or waiting already.
  lock(run);
  (void)pthread_cond_signal(&run->arrived);
  unlock(run);
}

/// False if it is time to look up and nothing has arrived.
static bool doze(struct pfp_run *run) {
  struct timespec until;
  (void)clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += LOOK_NANOSECONDS;
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  return pthread_cond_timedwait(&run->arrived, &run->lock, &until) != ETIMEDOUT;
}

int pfp_await(struct pfp_run *run, uint64_t index) {
  struct pfp_item *item = item_at(run, index);
  int result = PFP_OK;
  atomic_store(&run->awaited, index);
  lock(run);
  while (!atomic_load(&item->done) && !pfp_run_stopped(run) && result == PFP_OK) {
    if (doze(run)) continue;
    unlock(run);
    struct pfp_progress progress = {.files = run->retired, .bytes = atomic_load(&run->bytes)};
    result = pfp_files_progress(run->files, &progress);
    lock(run);
  }
  unlock(run);
  atomic_store(&run->awaited, nothing);
  if (result == PFP_OK && !atomic_load(&item->done)) result = PFP_E_CANCELLED;
  return result;
}
