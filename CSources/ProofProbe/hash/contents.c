// SPDX-License-Identifier: Apache-2.0

/// Contents in memory. Leaves are handed out in order and end in any order; they retire in order, so that one tree is
/// open at a time and nothing has to be allocated.
///
/// Two threads share a `struct contents` by its lock. A leaf is handed out, marked as ended and retired under the lock,
/// and its place is used again only after that; its bytes and its digest belong in between to the thread that took it.
/// A thread that is handed nothing ends and never waits for leaves of the other one. All leaves are hashed even so: a
/// thread is handed nothing only after the last leaf, or while the other one has a leaf that holds up the retirement;
/// that one then asks again, after it marked the leaf.

#include <pthread.h>
#include <string.h>

#include "base/thread.h"
#include "hash/fold.h"
#include "hash/lanes.h"

/// Leaves between the oldest that has not ended and the newest handed out. Much more than there are lanes, because a
/// long leaf may hold up many short contents. Tests build with fewer.
#ifndef PFP_CONTENT_LEAVES_AHEAD
#define PFP_CONTENT_LEAVES_AHEAD 128
#endif
enum { AHEAD = PFP_CONTENT_LEAVES_AHEAD };

struct leaf {
  struct pfp_job job;
  uint8_t ended;
};

struct contents {
  pthread_mutex_t lock;
  const struct pfp_hash *hash;
  struct pfp_content *contents;
  size_t count;
  size_t next;         ///< Content to hand out from
  size_t next_offset;  ///< and where in it
  size_t retiring;     ///< Content whose leaves retire
  uint64_t retired;    ///< Its leaves so far
  uint64_t issued_total, retired_total;
  struct pfp_fold tree;
  struct leaf leaves[AHEAD];
};

static struct pfp_job *hand_out(struct contents *all) {
  if (all->next == all->count || all->issued_total - all->retired_total == AHEAD) return NULL;
  const struct pfp_content *content = &all->contents[all->next];
  struct leaf *leaf = &all->leaves[all->issued_total++ % AHEAD];
  size_t left = content->size - all->next_offset;
  leaf->ended = 0;
  leaf->job.bytes = content->size == 0 ? NULL : content->bytes + all->next_offset;
  leaf->job.size = left < PFP_LEAF_BYTES ? left : PFP_LEAF_BYTES;
  leaf->job.role = pfp_leaf_count(content->size) == 0 ? PFP_CONTENT : PFP_LEAF;
  all->next_offset += leaf->job.size;
  if (all->next_offset == content->size) {
    all->next++;
    all->next_offset = 0;
  }
  return &leaf->job;
}

static struct pfp_job *next(void *user, unsigned lane) {
  struct contents *all = user;
  struct pfp_job *job;
  (void)lane;
  (void)pthread_mutex_lock(&all->lock);
  job = hand_out(all);
  (void)pthread_mutex_unlock(&all->lock);
  return job;
}

static void retire(struct contents *all, const uint8_t digest[PFP_HASH_BYTES]) {
  struct pfp_content *content = &all->contents[all->retiring];
  uint64_t leaves = pfp_leaf_count(content->size);
  if (leaves == 0) {
    memcpy(content->digest, digest, PFP_HASH_BYTES);
  } else {
    if (all->retired == 0) {
      pfp_fold_init(&all->tree, all->hash, PFP_TREE);
      pfp_fold_number(&all->tree, content->size, 8);
    }
    pfp_fold_update(&all->tree, digest, PFP_HASH_BYTES);
    if (++all->retired < leaves) return;
    pfp_fold_final(content->digest, &all->tree);
  }
  all->retired = 0;
  all->retiring++;
}

static void done(void *user, struct pfp_job *job) {
  struct contents *all = user;
  struct leaf *leaf = (struct leaf *)(void *)job;  // its first member
  (void)pthread_mutex_lock(&all->lock);
  leaf->ended = 1;
  while (all->retired_total < all->issued_total) {
    leaf = &all->leaves[all->retired_total % AHEAD];
    if (!leaf->ended) break;
    retire(all, leaf->job.digest);
    all->retired_total++;
  }
  (void)pthread_mutex_unlock(&all->lock);
}

static void init(struct contents *all, const struct pfp_hash *hash, struct pfp_content *contents, size_t count) {
  // The leaves need no clearing: each is filled when it is handed out.
  (void)pthread_mutex_init(&all->lock, NULL);
  all->hash = hash;
  all->contents = contents;
  all->count = count;
  all->next = all->next_offset = all->retiring = 0;
  all->retired = all->issued_total = all->retired_total = 0;
}

/// Hashes leaves until none is handed out.
static void *work(void *user) {
  struct contents *all = user;
  struct pfp_lanes lanes;
  struct pfp_source_of_jobs source = {next, done, all};
  pfp_lanes_run(&lanes, all->hash, &source);
  return NULL;
}

void pfp_hash_contents(const struct pfp_hash *hash, struct pfp_content *contents, size_t count) {
  struct contents all;
  init(&all, hash, contents, count);
  (void)work(&all);
  (void)pthread_mutex_destroy(&all.lock);
}

void pfp_hash_contents_shared(const struct pfp_hash *hash, struct pfp_content *contents, size_t count) {
  struct contents all;
  pthread_t second;
  int two;
  init(&all, hash, contents, count);
  two = pfp_thread_start(&second, work, &all) == 0;
  (void)work(&all);
  if (two) (void)pthread_join(second, NULL);
  (void)pthread_mutex_destroy(&all.lock);
}
