/// Contents in memory. Leaves are handed out in order and end in any order; they retire in order, so that one tree is
/// open at a time and nothing has to be allocated.

#include <string.h>

#include "hash_fold.h"
#include "hash_lanes.h"

/// Leaves between the oldest that has not ended and the newest handed out. Much more than there are lanes, because a
/// long leaf may hold up many short contents.
enum { AHEAD = 128 };

struct leaf {
  struct pfp_job job;
  uint8_t ended;
};

struct contents {
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

static struct pfp_job *next(void *user, unsigned lane) {
  struct contents *all = user;
  (void)lane;
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
  leaf->ended = 1;
  while (all->retired_total < all->issued_total) {
    leaf = &all->leaves[all->retired_total % AHEAD];
    if (!leaf->ended) break;
    retire(all, leaf->job.digest);
    all->retired_total++;
  }
}

void pfp_hash_contents(const struct pfp_hash *hash, struct pfp_content *contents, size_t count) {
  struct contents all;
  struct pfp_lanes lanes;
  struct pfp_source_of_jobs source = {next, done, &all};
  // The leaves need no clearing: each is filled when it is handed out.
  all.hash = hash;
  all.contents = contents;
  all.count = count;
  all.next = all.next_offset = all.retiring = 0;
  all.retired = all.issued_total = all.retired_total = 0;
  pfp_lanes_run(&lanes, hash, &source);
}
