// SPDX-License-Identifier: Apache-2.0

#include <string.h>

#include "jobs/handover.h"
#include "jobs/work.h"

static struct pfp_job *task_begin(struct pfp_worker *worker, unsigned lane) {
  unsigned slot = worker->tasks_from++ % PFP_TASKS;
  void *owner = worker->tasks[slot].owner;
  switch (worker->tasks[slot].what) {
    case PFP_TASK_ENTRY: {
      struct pfp_item *item = owner;
      pfp_item_message(item);
      return pfp_worker_job(worker, lane, PFP_JOB_ENTRY, item, 0, PFP_ENTRY, item->message,
                            PFP_ENTRY_HEADER + (size_t)item->path_size + PFP_HASH_BYTES);
    }
    case PFP_TASK_TREE: {
      struct pfp_reading *reading = owner;
      return pfp_worker_job(worker, lane, PFP_JOB_TREE, reading, 0, PFP_TREE, reading->message,
                            8 + (size_t)reading->leaves * PFP_HASH_BYTES);
    }
    case PFP_TASK_AGAIN: return pfp_read_begin(worker, lane, owner);
  }
  return NULL;
}

/// Something that was taken.
static struct pfp_job *piece_begin(struct pfp_worker *worker, unsigned lane, struct pfp_piece *piece) {
  struct pfp_piece begun = *piece;
  *piece = (struct pfp_piece){0};
  if (begun.item != NULL) return pfp_read_begin(worker, lane, begun.item);
  pfp_window_begin(worker, &begun);
  return pfp_window_leaf(worker, lane);
}

static bool is_piece(const struct pfp_piece *piece) { return piece->item != NULL || piece->file != NULL; }

/// The work of a free lane, in order of preference: a piece that this worker woke up for, a task that follows from
/// finished jobs, the rest of a file or window under way, a new piece. NULL only if there is none of them.
static struct pfp_job *next(void *user, unsigned lane) {
  struct pfp_worker *worker = user;
  while (!pfp_run_stopped(worker->run)) {
    struct pfp_job *job;
    struct pfp_piece piece;
    if (is_piece(&worker->taken)) {
      job = piece_begin(worker, lane, &worker->taken);
    } else if (worker->tasks_from != worker->tasks_to) {
      job = task_begin(worker, lane);
    } else if (worker->reading != NULL) {
      job = pfp_read_leaf(worker, lane);
    } else if (worker->window != NULL) {
      job = pfp_window_leaf(worker, lane);
    } else if (pfp_take(worker, pfp_window_free(worker), &piece)) {
      job = piece_begin(worker, lane, &piece);
    } else {
      return NULL;
    }
    if (job != NULL) return job;
  }
  return NULL;
}

static void done(void *user, struct pfp_job *job) {
  struct pfp_worker *worker = user;
  struct pfp_lane_job *ours = (struct pfp_lane_job *)(void *)job;  // its first member
  switch (ours->kind) {
    case PFP_JOB_CONTENT: pfp_read_content(worker, ours->owner, job->digest); break;
    case PFP_JOB_LEAF: pfp_read_leaf_done(worker, ours->owner, ours->index, job->digest); break;
    case PFP_JOB_TREE: {
      struct pfp_reading *reading = ours->owner;
      struct pfp_item *item = reading->item;
      reading->item = NULL;
      pfp_read_content(worker, item, job->digest);
      break;
    }
    case PFP_JOB_LONG: pfp_window_leaf_done(worker, ours->owner, ours->index, job->digest); break;
    case PFP_JOB_ENTRY: {
      struct pfp_item *item = ours->owner;
      memcpy(item->digest, job->digest, PFP_HASH_BYTES);
      pfp_item_done(worker->run, item);
      break;
    }
  }
}

void *pfp_worker_main(void *user) {
  struct pfp_worker *worker = user;
  struct pfp_source_of_jobs source = {next, done, worker};
  while (pfp_take_or_sleep(worker)) pfp_lanes_run(&worker->lanes, &worker->run->files->hash, &source);
  return NULL;
}
