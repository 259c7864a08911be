/// How a measurement of files is divided. Not for anybody outside.
///
///     files_bundle.c   one measurement of a bundle, from its root on
///     files_walk.c     the calling thread: lists folders and hands out entries in canonical order   ─┐
///     files_collect.c  and reports and folds them as they come back                                   │ items
///     files_run.c      the ring between it and the workers: out in the order they went in             │
///     files_handover.c what is to be done, who takes it, who sleeps and who wakes                     │
///     files_worker.c   a worker: keeps the lanes of the hash full                                   ◀┘
///     files_read.c     one entry: open, identify, read, judge whether it moved
///     files_long.c     a long file: its windows are shared by all workers
///     files_warm.c     what is known: whether it still holds, without any of the above
///
/// An item is the walker's until it is published, one worker's until it is done, and the calling thread's again from
/// then on. Folders, names, what is known and all callbacks belong to the calling thread alone.

#ifndef PFP_FILES_PARTS_H
#define PFP_FILES_PARTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "files.h"
#include "files_known.h"
#include "files_names.h"
#include "files_platform.h"
#include "hash_fold.h"
#include "hash_lanes.h"
#include "thread.h"

#define PFP_WORKERS_MAX 4      ///< That an app may ask for
#define PFP_WORKERS_DEFAULT 2  ///< At most, unless it asks

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

/// Writes the entry's message except for the path, which is there already.
void pfp_item_message(struct pfp_item *item);

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

/// A file measured by itself, known.
struct pfp_single {
  struct pfp_single *next;
  bool kept;  ///< `identity` and `content` hold.
  struct pfp_identity identity;
  uint8_t content[PFP_HASH_BYTES];
  uint32_t path_size;
  char path[];
};

struct pfp_files {
  struct pfp_hash hash;
  struct pfp_files_options options;
  atomic_bool cancel;
  atomic_uint_fast32_t descriptors_left;  ///< How many more may be kept
  struct pfp_files_statistics statistics;
  struct pfp_failure failure;
  char failure_path[PFP_PATH_MAX + 1];
  char path[PFP_PATH_MAX + 1];  ///< Path of the entry being reported

  struct pfp_known known;
  bool known_whole;     ///< `known` is all there was, and each entry of it may be taken for unchanged.
  struct pfp_bundle known_bundle;
  uint64_t known_files;  ///< Regular files among its entries
  struct pfp_identity known_root;
  char known_path[PFP_PATH_MAX + 1];  ///< The root's, as given
  int mounts;                         ///< Watched, or -1
  struct pfp_single *singles;
  size_t singles_bytes;
};

static inline bool pfp_incremental(const struct pfp_files *files) {
  return files->options.policy != PFP_POLICY_FULL;
}
static inline bool pfp_trusts_owner(const struct pfp_files *files) {
  return files->options.policy == PFP_POLICY_TRUSTING;
}

/// Notes what went wrong and answers `result`.
int pfp_files_fail(struct pfp_files *files, int result, int error, const char *path, size_t path_size);

/// Gives a kept descriptor up.
void pfp_files_release(struct pfp_files *files, int fd);

/// 0, or PFP_E_CANCELLED: when the caller said so from elsewhere or in answer to a report of progress.
int pfp_files_progress(struct pfp_files *files, const struct pfp_progress *progress);

/// Threads to read with.
unsigned pfp_workers(const struct pfp_files *files);

// files_run.c
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

// files_handover.c
//
// All work that no worker has begun stands in the run, guarded by its lock, in pieces:
//
//   an item    published and not taken, as long as `longs` has a free place for each worker: any may be a long file
//   a window   of an open file, not taken, at most PFP_WINDOWS_AHEAD behind the first that is not folded
//
// Rules:
//
//   1. A worker takes one piece at a time, and begins it before it takes another. Nothing is set aside for later, so
//      nothing can be stranded with a worker that sleeps.
//   2. It sleeps in `pfp_take_or_sleep` alone, with all lanes idle, and only if the function that takes finds nothing
//      behind the same lock. The condition for sleeping and the condition for taking are one function.
//   3. Each function that lets a piece be taken wakes all sleepers behind the lock: `pfp_publish`, `pfp_long_open`,
//      `pfp_window_fold`, `pfp_place_free`. So does `pfp_run_stop`. Taking lets nothing be taken.
//   4. The calling thread publishes everything before it waits, and looks up from its wait at intervals.
//
// From these: if all workers sleep, every window that was taken is folded, so no open file is held up, so every window
// is taken, so all places are free, so every item is taken, and done. Then the calling thread does not wait. A worker
// that is awake ends a piece in a bounded number of steps, and each piece is taken once. So every measurement ends.
// Tests/Models/handoff.pml is this page as a model; handover_test.c plays the functions below in all orders.

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

// files_worker.c
void *pfp_worker_main(void *worker);
/// Something to be done by this worker when a lane is free.
void pfp_worker_task(struct pfp_worker *worker, enum pfp_task what, void *owner);
struct pfp_job *pfp_worker_job(struct pfp_worker *worker, unsigned lane, enum pfp_kind kind, void *owner,
                               uint32_t index, enum pfp_role role, const uint8_t *bytes, size_t size);
static inline uint8_t *pfp_worker_slot(const struct pfp_worker *worker, unsigned lane) {
  return worker->slots + (size_t)lane * PFP_SLOT_BYTES;
}

// files_read.c
/// Begins to read an item, or finishes it at once. The job to hash first, or NULL: it is finished, or under way
/// otherwise, or was put off.
struct pfp_job *pfp_read_begin(struct pfp_worker *worker, unsigned lane, struct pfp_item *item);
/// The next leaf of the file under way, or NULL after the last.
struct pfp_job *pfp_read_leaf(struct pfp_worker *worker, unsigned lane);
void pfp_read_leaf_done(struct pfp_worker *worker, struct pfp_reading *reading, uint32_t index,
                        const uint8_t digest[PFP_HASH_BYTES]);
/// The content of an item was read and hashed: accepts it, or has it read again, or gives up.
void pfp_read_content(struct pfp_worker *worker, struct pfp_item *item, const uint8_t digest[PFP_HASH_BYTES]);
/// The entry is no longer as listed: reads again or gives up.
void pfp_read_broken(struct pfp_worker *worker, struct pfp_item *item);
/// A reading did not come to the file's end: it was cut off, or `error`.
void pfp_read_unfinished(struct pfp_worker *worker, struct pfp_item *item, int error);
/// Ends a reading: judges whether the file moved, and keeps or closes the descriptor.
void pfp_read_end(struct pfp_worker *worker, struct pfp_item *item, int fd);

// files_long.c
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

// files_bundle.c
/// A bundle's root, open.
struct pfp_root {
  const char *path;  ///< As given
  int fd;
  struct pfp_identity identity;
  uint64_t before;  ///< The clock before it was identified
};

/// Measures a bundle by walking it. Closes the root.
int pfp_bundle_measure(struct pfp_files *files, const struct pfp_root *root, pfp_entry_fn entry, void *user,
                       struct pfp_bundle *bundle);

// files_warm.c
/// Whether everything known of the bundle still holds.
bool pfp_warm_holds(struct pfp_files *files, const struct pfp_root *root);
/// Reports every known entry.
int pfp_warm_report(struct pfp_files *files, pfp_entry_fn entry, void *user);

#endif
