// SPDX-License-Identifier: Apache-2.0

#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jobs/handover.h"
#include "jobs/work.h"
#include "base/thread.h"

_Static_assert((PFP_ITEMS & (PFP_ITEMS - 1)) == 0, "indices wrap");

/// Items that are handed to workers behind one lock.
enum { PUBLISH = 16 };

static struct pfp_item *item_at(struct pfp_run *run, uint64_t index) { return &run->items[index % PFP_ITEMS]; }

// Beginning and ending -------------------------------------------------------------------------------------------

static int start(struct pfp_run *run, unsigned workers) {
  const size_t slots = (size_t)PFP_LANES_MAX * PFP_SLOT_BYTES;
  while (run->workers < workers) {
    struct pfp_worker *worker = &run->worker[run->workers];
    worker->run = run;
    worker->slots = pfp_pages(slots);
    int error = worker->slots == NULL ? ENOMEM : pfp_thread_start(&worker->thread, pfp_worker_main, worker);
    if (error != 0) {
      pfp_pages_free(worker->slots, slots);
      return error;
    }
    run->workers++;
  }
  return 0;
}

int pfp_run_begin(struct pfp_run **run, struct pfp_files *files, unsigned workers) {
  struct pfp_run *new = pfp_pages(sizeof *new);
  pthread_condattr_t monotonic;
  int error;
  *run = NULL;
  if (new == NULL) return pfp_files_fail(files, PFP_E_RESOURCE, ENOMEM, "", 0);
  new->files = files;
  new->limit = UINT64_C(1) << files->options.limit_log2;
  atomic_init(&new->awaited, UINT64_MAX);
  // None of these can fail on Linux.
  (void)pthread_mutex_init(&new->lock, NULL);
  (void)pthread_cond_init(&new->work, NULL);
  (void)pthread_condattr_init(&monotonic);
  (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  (void)pthread_cond_init(&new->arrived, &monotonic);
  (void)pthread_condattr_destroy(&monotonic);
  error = start(new, workers);
  if (error != 0) {
    pfp_run_end(new);
    return pfp_files_fail(files, PFP_E_RESOURCE, error, "", 0);
  }
  *run = new;
  return PFP_OK;
}

static void add(struct pfp_files_statistics *sum, const struct pfp_files_statistics *part) {
  sum->files += part->files;
  sum->files_read += part->files_read;
  sum->bytes_read += part->bytes_read;
  sum->retries += part->retries;
  sum->reused += part->reused;
}

void pfp_run_end(struct pfp_run *run) {
  pfp_run_stop(run);
  for (unsigned i = 0; i < run->workers; i++) {
    struct pfp_worker *worker = &run->worker[i];
    (void)pthread_join(worker->thread, NULL);
    for (unsigned r = 0; r < PFP_READINGS; r++) {
      if (worker->readings[r].item != NULL) pfp_close(worker->readings[r].fd);
    }
    pfp_pages_free(worker->slots, (size_t)PFP_LANES_MAX * PFP_SLOT_BYTES);
    add(&run->files->statistics, &worker->statistics);
  }
  pfp_long_abandon(run);
  for (; run->retired < run->filled; run->retired++) {
    struct pfp_item *item = item_at(run, run->retired);
    pfp_files_release(run->files, item->fd);
    pfp_files_release(run->files, item->known_fd);
    pfp_folder_release(run, item->folder);
  }
  (void)pthread_cond_destroy(&run->arrived);
  (void)pthread_cond_destroy(&run->work);
  (void)pthread_mutex_destroy(&run->lock);
  pfp_pages_free(run, sizeof *run);
}

void pfp_folder_release(struct pfp_run *run, struct pfp_folder *folder) {
  if (folder == NULL || --folder->references != 0) return;
  pfp_close(folder->fd);
  free(folder);
  run->folders--;
}

// The calling thread's side --------------------------------------------------------------------------------------

/// Room in the ring of messages, or NULL. Messages are not cut: one that does not fit before the end starts over.
static uint8_t *message(struct pfp_run *run, size_t size, uint64_t *end) {
  uint64_t begin = run->messages_head;
  uint64_t left = PFP_MESSAGES - begin % PFP_MESSAGES;
  if (left < size) begin += left;
  if (begin + size - run->messages_tail > PFP_MESSAGES) return NULL;
  *end = begin + size;
  return run->messages + begin % PFP_MESSAGES;
}

struct pfp_item *pfp_run_item(struct pfp_run *run, const char *path, size_t path_size) {
  struct pfp_item *item = item_at(run, run->filled);
  size_t size = PFP_ENTRY_HEADER + path_size + PFP_HASH_BYTES;
  uint64_t end;
  if (run->filled - run->retired == PFP_ITEMS) return NULL;
  uint8_t *room = message(run, size, &end);
  if (room == NULL) return NULL;
  memset(item, 0, sizeof *item);
  memset(room, 0, size);
  memcpy(room + PFP_ENTRY_HEADER, path, path_size);
  item->message = room;
  item->message_end = end;
  item->path_size = (uint32_t)path_size;
  item->state = PFP_STATE_PRESENT;
  item->fd = item->known_fd = -1;
  return item;
}

void pfp_run_fill(struct pfp_run *run) {
  run->messages_head = item_at(run, run->filled)->message_end;
  run->filled++;
  // `published` changes on this thread only, so it may be read without the lock.
  if (run->filled - run->published >= PUBLISH) pfp_publish(run);
}

struct pfp_item *pfp_run_oldest(struct pfp_run *run, bool wait, int *result) {
  struct pfp_item *oldest = item_at(run, run->retired);
  *result = PFP_OK;
  if (run->retired == run->filled) return NULL;
  if (!atomic_load(&oldest->done)) {
    if (!wait) return NULL;
    pfp_publish(run);
    // Some way ahead first: one wait for many items. Whatever is taken in order is done nearly in order.
    uint64_t ahead = run->retired + PFP_ITEMS / 4;
    if (ahead < run->filled) *result = pfp_await(run, ahead);
    if (*result == PFP_OK && !atomic_load(&oldest->done)) *result = pfp_await(run, run->retired);
    if (*result != PFP_OK) return NULL;
  }
  return oldest;
}

void pfp_run_retire(struct pfp_run *run) {
  struct pfp_item *item = item_at(run, run->retired);
  run->messages_tail = item->message_end;
  pfp_folder_release(run, item->folder);
  run->retired++;
}
