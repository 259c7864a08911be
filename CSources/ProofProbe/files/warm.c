// SPDX-License-Identifier: Apache-2.0

/// A bundle of which everything is known: one look at each entry tells whether it is as it was. A folder that was not
/// changed has the entries it had, so nothing has to be listed; an entry that was not changed has the digest it had, so
/// nothing has to be read. One difference, and the bundle is walked.

#include <errno.h>
#include <string.h>

#include "files/bundle.h"
#include "jobs/work.h"
#include "base/thread.h"

/// Pages of known entries that are worth a second thread: starting one costs as much as about a hundred looks, and a
/// page holds some three hundred entries.
enum { PAGES_FOR_TWO = 2 };

struct warm {
  struct pfp_files *files;
  int root;
  bool by_name;  ///< Something was mounted: open descriptors do not tell what their names lead to.
  atomic_bool differs;
  pthread_mutex_t lock;
  struct pfp_known_page *next;  ///< Guarded by the lock
};

/// Looks at pages until there are none left. Each thread has one.
struct look {
  struct warm *warm;
  bool reports;         ///< The calling thread's: it asks between pages whether the caller cancelled.
  int folder;           ///< Open, of the path's first `folder_size` bytes; or -1
  uint32_t folder_size;
  char folder_path[PFP_PATH_MAX + 1];
  struct pfp_known_cursor cursor;
};

/// The folder of the entry, for looking its name up.
static int folder_of(struct look *look, const char **name) {
  const struct pfp_known_entry *entry = &look->cursor.entry;
  const char *slash = strrchr(entry->path, '/');
  if (slash == NULL) {
    *name = entry->path;
    return look->warm->root;
  }
  uint32_t size = (uint32_t)(slash - entry->path);
  *name = slash + 1;
  if (look->folder < 0 || look->folder_size != size || memcmp(look->folder_path, entry->path, size) != 0) {
    pfp_close(look->folder);
    memcpy(look->folder_path, entry->path, size);
    look->folder_path[size] = '\0';
    look->folder_size = size;
    look->folder = pfp_open_below(look->warm->root, look->folder_path);
  }
  return look->folder;
}

static bool holds(struct look *look) {
  const struct pfp_known_entry *entry = &look->cursor.entry;
  struct pfp_identity now;
  const char *name;
  int folder;
  if (entry->fd >= 0 && !look->warm->by_name) return pfp_unmoved(&entry->identity, entry->fd);
  folder = folder_of(look, &name);
  return folder >= 0 && pfp_identify_name(&now, folder, name, false) == 0 &&
         pfp_identity_equal(&now, &entry->identity);
}

static bool given_up(const struct warm *warm) {
  return atomic_load_explicit(&warm->differs, memory_order_relaxed) ||
         atomic_load_explicit(&warm->files->cancel, memory_order_relaxed);
}

static void look_at_all(struct look *look) {
  struct warm *warm = look->warm;
  look->folder = -1;
  for (;;) {
    (void)pthread_mutex_lock(&warm->lock);
    struct pfp_known_page *page = warm->next;
    if (page != NULL) warm->next = page->next;
    (void)pthread_mutex_unlock(&warm->lock);
    if (page == NULL) break;
    // How far it is, is not told: if something differs, the walk begins with the first entry.
    const struct pfp_progress nothing_done = {0};
    if (look->reports && pfp_files_progress(warm->files, &nothing_done) != PFP_OK) break;
    pfp_known_read(&look->cursor, &warm->files->known, page);
    while (!given_up(warm) && pfp_known_next(&look->cursor)) {
      if (!holds(look)) atomic_store(&warm->differs, true);
    }
  }
  pfp_close(look->folder);
}

static void *second_thread(void *user) {
  look_at_all(user);
  return NULL;
}

bool pfp_warm_holds(struct pfp_files *files, const struct pfp_root *root) {
  struct warm warm = {.files = files, .root = root->fd, .next = files->known.first};
  struct look *look;
  pthread_t second;
  bool two = files->options.workers != 1 && files->known.bytes > PAGES_FOR_TWO * sizeof(struct pfp_known_page) &&
             pfp_processors() > 1;
  if (!files->known_whole || strcmp(files->known_path, root->path) != 0) return false;
  if (!pfp_identity_equal(&root->identity, &files->known_root)) return false;
  look = pfp_pages(2 * sizeof *look);
  if (look == NULL) return false;
  warm.by_name = files->mounts < 0 || pfp_mounts_moved(files->mounts);
  (void)pthread_mutex_init(&warm.lock, NULL);
  look[0].warm = look[1].warm = &warm;
  look[0].reports = true;
  two = two && pfp_thread_start(&second, second_thread, &look[1]) == 0;
  look_at_all(&look[0]);
  if (two) (void)pthread_join(second, NULL);
  (void)pthread_mutex_destroy(&warm.lock);
  pfp_pages_free(look, 2 * sizeof *look);
  return !atomic_load(&warm.differs) && !atomic_load(&files->cancel);
}

// Reporting ------------------------------------------------------------------------------------------------------

/// Entries whose digests are made side by side.
enum { TOGETHER = 64, MESSAGES = 32768 };

struct report {
  struct pfp_files *files;
  struct pfp_known_cursor cursor;
  struct pfp_lanes lanes;
  struct pfp_item items[TOGETHER];
  struct pfp_job jobs[TOGETHER];
  uint32_t filled, begun;
  uint32_t used;
  uint8_t messages[MESSAGES];
};

static struct pfp_job *next(void *user, unsigned lane) {
  struct report *report = user;
  (void)lane;
  return report->begun < report->filled ? &report->jobs[report->begun++] : NULL;
}

static void done(void *user, struct pfp_job *job) {
  (void)user;
  (void)job;
}

/// Hashes and reports what was gathered.
static int flush(struct report *report, pfp_entry_fn entry_fn, void *user) {
  struct pfp_files *files = report->files;
  struct pfp_source_of_jobs source = {next, done, report};
  report->begun = 0;
  pfp_lanes_run(&report->lanes, &files->hash, &source);
  for (uint32_t i = 0; i < report->filled; i++) {
    const struct pfp_item *item = &report->items[i];
    memcpy(files->path, pfp_item_path(item), item->path_size);
    files->path[item->path_size] = '\0';
    struct pfp_entry entry = {
        .path = files->path,
        .path_size = item->path_size,
        .type = item->identity.type,
        .state = PFP_STATE_PRESENT,
        .mode = item->identity.mode,
        .size = item->identity.size,
    };
    memcpy(entry.content, item->content, sizeof entry.content);
    memcpy(entry.digest, report->jobs[i].digest, sizeof entry.digest);
    if (entry_fn(user, &entry) != 0) return pfp_files_fail(files, PFP_E_CANCELLED, 0, "", 0);
  }
  report->filled = report->used = 0;
  return PFP_OK;
}

static void gather(struct report *report, const struct pfp_known_entry *known) {
  struct pfp_item *item = &report->items[report->filled];
  size_t size = PFP_ENTRY_HEADER + (size_t)known->path_size + PFP_HASH_BYTES;
  item->message = report->messages + report->used;
  item->path_size = known->path_size;
  item->state = PFP_STATE_PRESENT;
  item->identity = known->identity;
  memcpy(item->content, known->content, sizeof item->content);
  memcpy(item->message + PFP_ENTRY_HEADER, known->path, known->path_size);
  pfp_item_message(item);
  report->jobs[report->filled] = (struct pfp_job){.bytes = item->message, .size = size, .role = PFP_ENTRY};
  report->used += (uint32_t)size;
  report->filled++;
}

int pfp_warm_report(struct pfp_files *files, pfp_entry_fn entry, void *user) {
  struct report *report = pfp_pages(sizeof *report);
  int result = PFP_OK;
  if (report == NULL) return pfp_files_fail(files, PFP_E_RESOURCE, ENOMEM, "", 0);
  report->files = files;
  for (struct pfp_known_page *page = files->known.first; page != NULL && result == PFP_OK; page = page->next) {
    pfp_known_read(&report->cursor, &files->known, page);
    while (result == PFP_OK && pfp_known_next(&report->cursor)) {
      size_t size = PFP_ENTRY_HEADER + (size_t)report->cursor.entry.path_size + PFP_HASH_BYTES;
      if (report->filled == TOGETHER || report->used + size > MESSAGES) result = flush(report, entry, user);
      if (result == PFP_OK) gather(report, &report->cursor.entry);
    }
  }
  if (result == PFP_OK) result = flush(report, entry, user);
  pfp_pages_free(report, sizeof *report);
  return result;
}
