// SPDX-License-Identifier: Apache-2.0

#include "hash/lanes.h"

#include <string.h>

/// The last, partial block: from its padded copy.
static void begin_final(struct pfp_lanes *lanes, unsigned i) {
  memset(lanes->final[i], 0, PFP_BLOCK_BYTES);
  memcpy(lanes->final[i], lanes->lane[i].message, lanes->lane[i].tail);
  lanes->lane[i].message = lanes->final[i];
  lanes->lane[i].blocks = 1;
  lanes->lane[i].ends = 1;
}

static void begin(struct pfp_lanes *lanes, unsigned i, const struct pfp_hash *hash, struct pfp_job *job) {
  size_t whole = (job->size - 1) / PFP_BLOCK_BYTES;
  lanes->lane[i].job = job;
  lanes->lane[i].message = job->bytes;
  lanes->lane[i].tail = (uint8_t)(job->size - whole * PFP_BLOCK_BYTES);
  lanes->lane[i].ends = lanes->lane[i].tail == PFP_BLOCK_BYTES;
  lanes->lane[i].blocks = whole + lanes->lane[i].ends;
  for (unsigned word = 0; word < 8; word++) lanes->states.chain[word][i] = hash->start[job->role][word];
  lanes->states.count[i] = PFP_BLOCK_BYTES;
  if (lanes->lane[i].blocks == 0) begin_final(lanes, i);
}

static void finish(struct pfp_lanes *lanes, unsigned i) {
  uint8_t *digest = lanes->lane[i].job->digest;
  for (unsigned byte = 0; byte < PFP_HASH_BYTES; byte++) {
    digest[byte] = (uint8_t)(lanes->states.chain[byte / 8][i] >> (8 * (byte % 8)));
  }
}

/// A message without bytes: the key block is then the final one, which the prepared chaining values do not stand for.
/// A message alone: it is done sooner by itself than in one of many lanes.
static void hash_alone(const struct pfp_hash *hash, const struct pfp_source_of_jobs *source, struct pfp_job *job) {
  pfp_hash_one(job->digest, hash, job->role, job->bytes, job->size);
  source->done(source->user, job);
}

/// Gives idle lanes work. Answers how many lanes are busy.
static unsigned fill(struct pfp_lanes *lanes, unsigned width, const struct pfp_hash *hash,
                     const struct pfp_source_of_jobs *source) {
  for (;;) {
    unsigned busy = 0, begun = 0, newest = 0;
    for (unsigned i = 0; i < width; i++) {
      while (lanes->lane[i].job == NULL) {
        struct pfp_job *job = source->next(source->user, i);
        if (job == NULL) break;
        if (job->size == 0) {
          hash_alone(hash, source, job);
          continue;
        }
        begin(lanes, i, hash, job);
        begun++;
        newest = i;
      }
      busy += lanes->lane[i].job != NULL;
    }
    if (busy != 1 || begun != 1) return busy;
    struct pfp_job *job = lanes->lane[newest].job;
    lanes->lane[newest].job = NULL;
    hash_alone(hash, source, job);
  }
}

/// As many blocks as all busy lanes have without a break.
static void step(struct pfp_lanes *lanes, unsigned width, pfp_compress_fn compress) {
  const uint8_t *message[PFP_LANES_MAX];
  uint64_t tail[PFP_LANES_MAX];
  const uint8_t *any = NULL;
  size_t run = SIZE_MAX;
  for (unsigned i = 0; i < width; i++) {
    if (lanes->lane[i].job == NULL) continue;
    any = lanes->lane[i].message;
    if (lanes->lane[i].blocks < run) run = lanes->lane[i].blocks;
  }
  for (unsigned i = 0; i < width; i++) {
    int busy = lanes->lane[i].job != NULL;
    int final = busy && lanes->lane[i].ends && lanes->lane[i].blocks == run;
    message[i] = busy ? lanes->lane[i].message : any;
    tail[i] = final ? lanes->lane[i].tail : PFP_BLOCK_BYTES;
    lanes->states.last[i] = final ? UINT64_MAX : 0;
  }
  for (unsigned i = width; i < PFP_LANES_MAX; i++) {
    message[i] = any;
    tail[i] = PFP_BLOCK_BYTES;
  }
  compress(&lanes->states, message, run, tail);
  for (unsigned i = 0; i < width; i++) {
    if (lanes->lane[i].job == NULL) continue;
    lanes->lane[i].blocks -= run;
    lanes->lane[i].message += run * PFP_BLOCK_BYTES;
  }
}

static void run_portable(const struct pfp_hash *hash, const struct pfp_source_of_jobs *source) {
  struct pfp_job *job;
  while ((job = source->next(source->user, 0)) != NULL) {
    pfp_hash_one(job->digest, hash, job->role, job->bytes, job->size);
    source->done(source->user, job);
  }
}

void pfp_lanes_run(struct pfp_lanes *lanes, const struct pfp_hash *hash, const struct pfp_source_of_jobs *source) {
  pfp_compress_fn compress = pfp_kernel_compress(hash->kernel);
  unsigned width = pfp_kernel_width(hash->kernel);
  if (compress == NULL) {
    run_portable(hash, source);
    return;
  }
  memset(lanes, 0, sizeof *lanes);
  while (fill(lanes, width, hash, source) != 0) {
    step(lanes, width, compress);
    for (unsigned i = 0; i < width; i++) {
      struct pfp_job *job = lanes->lane[i].job;
      if (job == NULL || lanes->lane[i].blocks != 0) continue;
      if (!lanes->lane[i].ends) {
        begin_final(lanes, i);
        continue;
      }
      finish(lanes, i);
      lanes->lane[i].job = NULL;
      source->done(source->user, job);
    }
  }
}
