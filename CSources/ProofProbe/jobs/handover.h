// SPDX-License-Identifier: Apache-2.0

/// The hand-over of work between the calling thread and the workers.
///
/// All work that no worker has begun stands in the run, guarded by its lock, in pieces:
///
///   an item    published and not taken, as long as `longs` has a free place for each worker: any may be a long file
///   a window   of an open file, not taken, at most PFP_WINDOWS_AHEAD behind the first that is not folded
///
/// Rules:
///
///   1. A worker takes one piece at a time, and begins it before it takes another. Nothing is set aside for later, so
///      nothing can be stranded with a worker that sleeps.
///   2. It sleeps in `pfp_take_or_sleep` alone, with all lanes idle, and only if the function that takes finds nothing
///      behind the same lock. The condition for sleeping and the condition for taking are one function.
///   3. Each function that lets a piece be taken wakes all sleepers behind the lock: `pfp_publish`, `pfp_long_open`,
///      `pfp_window_fold`, `pfp_place_free`. So does `pfp_run_stop`. Taking lets nothing be taken.
///   4. The calling thread publishes everything before it waits, and looks up from its wait at intervals.
///
/// From these: if all workers sleep, every window that was taken is folded, so no open file is held up, so every window
/// is taken, so all places are free, so every item is taken, and done. Then the calling thread does not wait. A worker
/// that is awake ends a piece in a bounded number of steps, and each piece is taken once. So every measurement ends.
/// Tests/Adversary/Models/handoff.pml is this page as a model; handover_test.c plays the functions below in all orders.

#ifndef PFP_FILES_HANDOVER_H
#define PFP_FILES_HANDOVER_H

#include "jobs/run.h"

/// All items written so far may be taken.
void pfp_publish(struct pfp_run *run);
/// The next piece into `*piece`: a window of a file that this worker began, an item, or a window of any file. Windows
/// only if `windows`. False if there is none at the moment.
bool pfp_take(struct pfp_worker *worker, bool windows, struct pfp_piece *piece);
/// Takes a piece into `worker->taken`, sleeping until there is one. False when the measurement is over.
bool pfp_take_or_sleep(struct pfp_worker *worker);
/// A place for a long file: the one that the item has, or a free one. NULL for an item that was no long file when it
/// was taken, if others might need what is left.
struct pfp_long *pfp_place_reserve(struct pfp_worker *worker, struct pfp_item *item);
/// The item needs its place no more.
void pfp_place_free(struct pfp_run *run, struct pfp_item *item);
/// The file's windows may be taken from now on.
void pfp_long_open(struct pfp_run *run, struct pfp_long *file, uint64_t windows);
/// Folds a window that ended, and those that waited for it. True if it was the file's last: the file is then this
/// worker's alone.
bool pfp_window_fold(struct pfp_run *run, const struct pfp_window *window);
/// An item is done.
void pfp_item_done(struct pfp_run *run, struct pfp_item *item);
/// Waits until the item is done. Looks up at intervals, to report progress and to see whether the caller cancelled.
int pfp_await(struct pfp_run *run, uint64_t index);
/// Ends every wait in this run.
void pfp_run_stop(struct pfp_run *run);
/// Whether the measurement is over.
bool pfp_run_stopped(const struct pfp_run *run);

#endif
