// SPDX-License-Identifier: Apache-2.0

/// A worker's work. Calls go down this page's list from its end: jobs/worker.c, jobs/read.c, jobs/long.c,
/// jobs/outcome.c, jobs/jobs.c.

#ifndef PFP_FILES_WORK_H
#define PFP_FILES_WORK_H

#include "jobs/run.h"

// jobs/jobs.c
/// Writes the entry's message except for the path, which is there already.
void pfp_item_message(struct pfp_item *item);
/// Something to be done by this worker when a lane is free.
void pfp_worker_task(struct pfp_worker *worker, enum pfp_task what, void *owner);
struct pfp_job *pfp_worker_job(struct pfp_worker *worker, unsigned lane, enum pfp_kind kind, void *owner,
                               uint32_t index, enum pfp_role role, const uint8_t *bytes, size_t size);
static inline uint8_t *pfp_worker_slot(const struct pfp_worker *worker, unsigned lane) {
  return worker->slots + (size_t)lane * PFP_SLOT_BYTES;
}

// jobs/outcome.c
/// The item is over: only its digest is missing.
void pfp_item_finish(struct pfp_worker *worker, struct pfp_item *item);
/// The item ends the measurement when its turn comes.
void pfp_item_give_up(struct pfp_worker *worker, struct pfp_item *item, int result, int error);
/// A system call on the item failed.
void pfp_item_failed(struct pfp_worker *worker, struct pfp_item *item, int error);
/// Counts the item's bytes towards the limit, before they are read. False if it is exceeded: it was given up.
bool pfp_item_count(struct pfp_worker *worker, struct pfp_item *item);
/// The content of an item was read and hashed: accepts it, or has it read again, or gives up.
void pfp_read_content(struct pfp_worker *worker, struct pfp_item *item, const uint8_t digest[PFP_HASH_BYTES]);
/// The entry is no longer as listed: reads again or gives up.
void pfp_read_broken(struct pfp_worker *worker, struct pfp_item *item);
/// A reading did not come to the file's end: it was cut off, or `error`.
void pfp_read_unfinished(struct pfp_worker *worker, struct pfp_item *item, int error);
/// Ends a reading: judges whether the file moved, and keeps or closes the descriptor.
void pfp_read_end(struct pfp_worker *worker, struct pfp_item *item, int fd);

// jobs/long.c
/// False if it has to be given up.
bool pfp_long_begin(struct pfp_worker *worker, struct pfp_item *item, int fd);
/// Whether this worker could hold one more window.
bool pfp_window_free(struct pfp_worker *worker);
/// Begins a window that was taken: `worker->window`.
void pfp_window_begin(struct pfp_worker *worker, const struct pfp_piece *piece);
/// The next leaf of the window under way, or NULL after one that could not be read.
struct pfp_job *pfp_window_leaf(struct pfp_worker *worker, unsigned lane);
void pfp_window_leaf_done(struct pfp_worker *worker, struct pfp_window *window, uint32_t index,
                          const uint8_t digest[PFP_HASH_BYTES]);
/// Frees what a stopped measurement left.
void pfp_long_abandon(struct pfp_run *run);

// jobs/read.c
/// Begins to read an item, or finishes it at once. The job to hash first, or NULL: it is finished, or under way
/// otherwise, or was put off.
struct pfp_job *pfp_read_begin(struct pfp_worker *worker, unsigned lane, struct pfp_item *item);
/// The next leaf of the file under way, or NULL after the last.
struct pfp_job *pfp_read_leaf(struct pfp_worker *worker, unsigned lane);
void pfp_read_leaf_done(struct pfp_worker *worker, struct pfp_reading *reading, uint32_t index,
                        const uint8_t digest[PFP_HASH_BYTES]);

// jobs/worker.c
/// A worker's thread: takes pieces until the measurement is over.
void *pfp_worker_main(void *worker);

#endif
