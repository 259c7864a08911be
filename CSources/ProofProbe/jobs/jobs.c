// SPDX-License-Identifier: Apache-2.0

#include <string.h>

#include "jobs/work.h"

void pfp_item_message(struct pfp_item *item) {
  uint8_t *header = item->message;
  const uint64_t size = item->state == PFP_STATE_PRESENT ? item->identity.size : 0;
  header[0] = item->identity.type;
  header[1] = item->state;
  header[2] = (uint8_t)item->identity.mode;
  header[3] = (uint8_t)(item->identity.mode >> 8);
  for (unsigned i = 0; i < 8; i++) header[4 + i] = (uint8_t)(size >> (8 * i));
  for (unsigned i = 0; i < 4; i++) header[12 + i] = (uint8_t)(item->path_size >> (8 * i));
  memcpy(item->message + PFP_ENTRY_HEADER + item->path_size, item->content, PFP_HASH_BYTES);
}

void pfp_worker_task(struct pfp_worker *worker, enum pfp_task what, void *owner) {
  // Each comes from a lane that became free, and a free lane takes a task before anything else: never more than there
  // are lanes.
  worker->tasks[worker->tasks_to % PFP_TASKS].what = what;
  worker->tasks[worker->tasks_to % PFP_TASKS].owner = owner;
  worker->tasks_to++;
}

struct pfp_job *pfp_worker_job(struct pfp_worker *worker, unsigned lane, enum pfp_kind kind, void *owner,
                               uint32_t index, enum pfp_role role, const uint8_t *bytes, size_t size) {
  struct pfp_lane_job *job = &worker->jobs[lane];
  job->job.bytes = bytes;
  job->job.size = size;
  job->job.role = (uint8_t)role;
  job->kind = kind;
  job->owner = owner;
  job->index = index;
  return &job->job;
}
