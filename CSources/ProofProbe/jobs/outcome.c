// SPDX-License-Identifier: Apache-2.0

#include <string.h>

#include "jobs/handover.h"
#include "jobs/work.h"

void pfp_item_finish(struct pfp_worker *worker, struct pfp_item *item) {
  pfp_files_release(worker->run->files, item->known_fd);
  item->known_fd = -1;
  pfp_place_free(worker->run, item);
  pfp_worker_task(worker, PFP_TASK_ENTRY, item);
}

void pfp_item_give_up(struct pfp_worker *worker, struct pfp_item *item, int result, int error) {
  item->result = result;
  item->error = error;
  pfp_place_free(worker->run, item);
  pfp_item_done(worker->run, item);
}

static void finish_absent(struct pfp_worker *worker, struct pfp_item *item, int error) {
  item->state = PFP_STATE_ABSENT;
  item->error = error;
  item->keep = PFP_KEEP_NOTHING;
  memset(item->content, 0, sizeof item->content);
  pfp_item_finish(worker, item);
}

void pfp_read_broken(struct pfp_worker *worker, struct pfp_item *item) {
  if (item->readings > 1) {
    pfp_item_give_up(worker, item, PFP_E_CHANGING, 0);
    return;
  }
  worker->statistics.retries++;
  pfp_worker_task(worker, PFP_TASK_AGAIN, item);
}

void pfp_item_failed(struct pfp_worker *worker, struct pfp_item *item, int error) {
  if (pfp_error_is_resource(error)) {
    pfp_item_give_up(worker, item, PFP_E_RESOURCE, error);
  } else if (pfp_error_is_change(error) && !item->follow) {
    pfp_read_broken(worker, item);
  } else {
    finish_absent(worker, item, error);
  }
}

void pfp_read_unfinished(struct pfp_worker *worker, struct pfp_item *item, int error) {
  pfp_files_release(worker->run->files, item->fd);
  item->fd = -1;
  if (error != 0) {
    pfp_item_failed(worker, item, error);
  } else {
    pfp_read_broken(worker, item);
  }
}

bool pfp_item_count(struct pfp_worker *worker, struct pfp_item *item) {
  struct pfp_run *run = worker->run;
  atomic_fetch_sub(&run->counted, item->counted);
  item->counted = item->identity.size;
  // A size beyond the limit must not wrap the sum; two workers at once may both see it exceeded, which it then is.
  if (item->counted > run->limit || atomic_fetch_add(&run->counted, item->counted) + item->counted > run->limit) {
    pfp_item_give_up(worker, item, PFP_E_LIMIT, 0);
    return false;
  }
  return true;
}

void pfp_read_content(struct pfp_worker *worker, struct pfp_item *item, const uint8_t digest[PFP_HASH_BYTES]) {
  bool same = item->has_first && memcmp(item->first, digest, PFP_HASH_BYTES) == 0;
  if (!item->steady && !same) {
    // It moved meanwhile. If another reading gives the same content, only its times did.
    memcpy(item->first, digest, PFP_HASH_BYTES);
    item->has_first = true;
    pfp_read_broken(worker, item);
    return;
  }
  memcpy(item->content, digest, PFP_HASH_BYTES);
  if (item->identity.type == PFP_TYPE_FILE) {
    worker->statistics.files++;
    worker->statistics.files_read++;
    worker->statistics.bytes_read += item->identity.size;
  }
  pfp_item_finish(worker, item);
}

void pfp_read_end(struct pfp_worker *worker, struct pfp_item *item, int fd) {
  struct pfp_files *files = worker->run->files;
  item->steady = pfp_unmoved(&item->identity, fd);
  if (!item->steady) item->keep = PFP_KEEP_NOTHING;
  if (item->keep == PFP_KEEP && !item->follow && pfp_descriptor_take(files)) {
    item->fd = fd;
    return;
  }
  pfp_close(fd);
}
