// SPDX-License-Identifier: Apache-2.0

/// The division of a measurement of files into jobs. Internal.
///
///     files/bundle.c   one measurement of a bundle, from its root on
///     files/walk.c     the calling thread: lists folders and hands out entries in canonical order   ─┐
///     files/collect.c  and reports and folds them as they come back                                   │ items
///     jobs/run.c       the ring between it and the workers: out in the order they went in             │
///     jobs/handover.c  what is to be done, who takes it, who sleeps and who wakes                     │
///     jobs/worker.c    a worker: keeps the lanes of the hash full                                   ◀┘
///     jobs/read.c      one entry: open, identify, read, judge whether it moved
///     jobs/long.c      a long file: its windows are shared by all workers
///     files/warm.c     what is known: whether it still holds, without any of the above
///
/// An item is the walker's until it is published, one worker's until it is done, and the calling thread's again from
/// then on. Folders, names, what is known and all callbacks belong to the calling thread alone.

#ifndef PFP_FILES_RUN_H
#define PFP_FILES_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "context/context.h"
#include "hash/lanes.h"

/// An open folder, for as long as entries of it are under way.
struct pfp_folder {
  int fd;
  uint32_t references;
};

// Items ----------------------------------------------------------------------------------------------------------

#define PFP_ITEMS 512u          ///< Under way at any time. A power of two.
#define PFP_MESSAGES (1u << 18)  ///< Bytes of their messages.
#define PFP_ENTRY_HEADER 16u

/// One entry under way.
struct pfp_item {
  struct pfp_folder *folder;
  struct pfp_long *place;  ///< Reserved for it since it was first read as a long file, or NULL
  /// Input of the entry's digest: header, path, content (files.h). Until the content is known its zeros terminate the
  /// path.
  uint8_t *message;
  uint64_t message_end;  ///< In the ring of messages
  uint32_t path_size;
  uint32_t name_at;  ///< Place in the path where the entry's own name begins
  bool follow;       ///< A single file: its name is a path, and links are followed.
  bool is_known;     ///< `known` and `known_content` are what was measured last.
  bool prepared;     ///< The walker identified it; only the digest is missing.
  bool steady;       ///< It did not move while it was read last.
  uint8_t readings;  ///< Begun so far
  uint8_t state;
  int result;  ///< enum pfp_result: anything but PFP_OK ends the measurement.
  int error;
  int fd;      ///< Kept open, or -1
  int known_fd;
  enum pfp_keep keep;
  struct pfp_identity identity;
  struct pfp_identity known;
  uint64_t counted;  ///< Bytes of it that count towards the limit
  uint8_t known_content[PFP_HASH_BYTES];
  uint8_t content[PFP_HASH_BYTES];
  uint8_t first[PFP_HASH_BYTES];  ///< Content as of the first reading
  uint8_t digest[PFP_HASH_BYTES];
  bool has_first;
  atomic_bool done;
};

/// The entry's path, while its content is not known; the entry's own name.
static inline const char *pfp_item_path(const struct pfp_item *item) {
  return (const char *)item->message + PFP_ENTRY_HEADER;
}
static inline const char *pfp_item_name(const struct pfp_item *item) { return pfp_item_path(item) + item->name_at; }

// Long files -----------------------------------------------------------------------------------------------------

// Tests of the hand-over build with smaller numbers, so that a file of a few leaves is a long one. No digest depends on
// any of them.
#ifndef PFP_LONG_FROM
#define PFP_LONG_FROM (1u << 20)  ///< Bytes: from here on a file is mapped and shared.
#endif
#ifndef PFP_WINDOW_LEAVES
#define PFP_WINDOW_LEAVES 8u
#endif
#ifndef PFP_WINDOWS_AHEAD
#define PFP_WINDOWS_AHEAD 16u  ///< Taken and not yet folded, of one file
#endif
#define PFP_WINDOW_BYTES ((uint64_t)PFP_WINDOW_LEAVES * PFP_LEAF_BYTES)
#define PFP_WINDOWS 3u  ///< Windows of one worker: lanes may still hold leaves of older ones.
/// Each worker may have one file with windows left and keep others from ending by its windows.
#define PFP_LONGS (PFP_WORKERS_MAX * (PFP_WINDOWS + 1u))

/// A file that is hashed by all workers. Everything but the constants is guarded by the run's lock.
struct pfp_long {
  struct pfp_item *item;            ///< NULL: free
  const struct pfp_worker *opener;  ///< The worker that began it, and prefers its windows
  int fd;
  bool mapped;
  bool broken;  ///< It ended before its size,
  int error;    ///< or could not be read on.
  struct pfp_map map;
  uint64_t size, windows;
  uint64_t next, folded;
  struct pfp_fold fold;
  bool ready[PFP_WINDOWS_AHEAD];
  uint8_t leaves[PFP_WINDOWS_AHEAD][PFP_WINDOW_LEAVES * PFP_HASH_BYTES];
};

/// A piece of a long file, one worker's.
struct pfp_window {
  struct pfp_long *file;  ///< NULL: free
  uint64_t index;
  uint32_t leaves, begun, ended;
  bool broken;
  int error;
  uint8_t digests[PFP_WINDOW_LEAVES * PFP_HASH_BYTES];
};

/// A file of more than one leaf that one worker reads alone.
struct pfp_reading {
  struct pfp_item *item;  ///< NULL: free
  int fd;
  uint32_t leaves, begun, ended;
  bool over;    ///< All leaves that there will be have begun.
  bool broken;  ///< It ended before its size,
  int error;    ///< or could not be read on.
  uint8_t message[8 + PFP_LONG_FROM / PFP_LEAF_BYTES * PFP_HASH_BYTES];
};

// Workers --------------------------------------------------------------------------------------------------------

/// Lanes' worth of jobs that ended in one step, and what follows from each.
enum pfp_task { PFP_TASK_ENTRY, PFP_TASK_TREE, PFP_TASK_AGAIN };
#define PFP_TASKS 32u

/// One being read, one for each lane, one for each tree that waits for a lane.
#define PFP_READINGS (2u * PFP_LANES_MAX + 2u)

/// Bytes of a lane's buffer: a leaf and the byte that should not be there. Neighbours are apart by a little more than a
/// page, so that the same offset in all of them does not fall into one set of the cache.
#define PFP_SLOT_BYTES (PFP_LEAF_BYTES + 4096u + 128u)

/// Kinds of hashing job of a lane; the owner is an item, a reading, a reading, a window, an item.
enum pfp_kind { PFP_JOB_CONTENT, PFP_JOB_LEAF, PFP_JOB_TREE, PFP_JOB_LONG, PFP_JOB_ENTRY };

struct pfp_lane_job {
  struct pfp_job job;  // first: the lanes know nothing else
  enum pfp_kind kind;
  uint32_t index;
  void *owner;
};

/// A worker's next piece: an item, a window of a long file, or nothing.
struct pfp_piece {
  struct pfp_item *item;
  struct pfp_long *file;
  uint64_t window;
};

struct pfp_worker {
  struct pfp_run *run;
  pthread_t thread;
  struct pfp_lanes lanes;
  struct pfp_lane_job jobs[PFP_LANES_MAX];
  uint8_t *slots;
  struct pfp_piece taken;       ///< Taken when it was woken, begun before anything else
  struct pfp_reading *reading;  ///< Leaves left to begin
  struct pfp_window *window;    ///< Leaves left to begin
  struct {
    enum pfp_task what;
    void *owner;
  } tasks[PFP_TASKS];
  uint32_t tasks_from, tasks_to;
  struct pfp_reading readings[PFP_READINGS];
  struct pfp_window windows[PFP_WINDOWS];
  struct pfp_keep_memory memory;
  struct pfp_files_statistics statistics;
};

// A measurement --------------------------------------------------------------------------------------------------

struct pfp_run {
  struct pfp_files *files;
  unsigned workers;  ///< Started
  pthread_mutex_t lock;
  pthread_cond_t work;     ///< A piece may be taken, or there will be none any more.
  pthread_cond_t arrived;  ///< The awaited item is done, or the measurement stops.
  uint64_t filled;         ///< Items written by the walker
  uint64_t published;      ///< Guarded by the lock: items that workers may take
  uint64_t taken;          ///< Guarded by the lock
  uint64_t retired;        ///< Items over and done with
  uint32_t places;         ///< Guarded by the lock: of `longs`, those not free
  unsigned asleep;         ///< Guarded by the lock: workers in `pfp_take_or_sleep`
  atomic_bool stop;        ///< Work under way is given up.
  atomic_uint_fast64_t awaited;
  atomic_uint_fast64_t counted;  ///< Bytes towards the limit
  atomic_uint_fast64_t bytes;    ///< Bytes read or known, for progress
  uint64_t limit;
  uint64_t messages_head, messages_tail;
  uint32_t folders;  ///< Open
  struct pfp_item items[PFP_ITEMS];
  uint8_t messages[PFP_MESSAGES];
  struct pfp_long longs[PFP_LONGS];
  struct pfp_worker worker[PFP_WORKERS_MAX];
};

/// Prepares a run and starts its workers. `*run` is NULL on failure.
int pfp_run_begin(struct pfp_run **run, struct pfp_files *files, unsigned workers);
/// The next free item, with a message of room for a path of `path_size` bytes; NULL if there is no room until items
/// retire.
struct pfp_item *pfp_run_item(struct pfp_run *run, const char *path, size_t path_size);
/// The item just written may be taken.
void pfp_run_fill(struct pfp_run *run);
/// The oldest item, if it is done; if `wait`, once it is done. NULL if there is none, and if the measurement is over
/// instead, which `*result` tells.
struct pfp_item *pfp_run_oldest(struct pfp_run *run, bool wait, int *result);
/// The oldest item is over and done with.
void pfp_run_retire(struct pfp_run *run);
/// Stops the workers, waits for them, adds up their statistics, closes and frees everything.
void pfp_run_end(struct pfp_run *run);
void pfp_folder_release(struct pfp_run *run, struct pfp_folder *folder);

#endif
