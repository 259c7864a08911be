// SPDX-License-Identifier: Apache-2.0

/// The platform as the probe meets it, able to fail on command. The linker puts these before the real ones (--wrap).

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "system/platform.h"
#include "tree.h"
#include "wrapped.h"

struct faults faults;
static atomic_uint reads, pages;

void faults_reset(void) {
  // Plainly assigned, not cleared as memory: the counters are atomic.
  faults.after_read = faults.before_read = NULL;
  faults.after_look = NULL;
  faults.after_link = faults.after_name = NULL;
  faults.before_open = NULL;
  faults.denies = NULL;
  faults.after_map = NULL;
  faults.no_maps = faults.no_leases = faults.no_mounts = faults.folders_move = faults.pages_fail = false;
  faults.no_types = false;
  faults.read_error = faults.listing_error = faults.identify_error = 0;
  faults.guarded_looks = faults.clock_lags = faults.names_good = faults.short_reads = 0;
  faults.reads_good = faults.pages_good = 0;
  faults.clock_ahead = UINT64_C(60000000000);
  atomic_store(&reads, 0);
  atomic_store(&pages, 0);
}

WRAPPED(int64_t, pfp_read, int fd, void *bytes, size_t size) {
  atomic_fetch_add(&faults.reads_made, 1);
  if (faults.before_read != NULL) faults.before_read(fd);
  if (faults.read_error != 0 && atomic_fetch_add(&reads, 1) >= faults.reads_good) return -faults.read_error;
  if (faults.short_reads != 0) {
    faults.short_reads--;
    size /= 2;
  }
  int64_t got = __real_pfp_read(fd, bytes, size);
  if (faults.after_read != NULL) faults.after_read(fd);
  return got;
}

WRAPPED(int64_t, pfp_read_at, int fd, void *bytes, size_t size, uint64_t offset) {
  atomic_fetch_add(&faults.reads_made, 1);
  if (faults.before_read != NULL) faults.before_read(fd);
  if (faults.read_error != 0 && atomic_fetch_add(&reads, 1) >= faults.reads_good) return -faults.read_error;
  int64_t got = __real_pfp_read_at(fd, bytes, size, offset);
  if (faults.after_read != NULL) faults.after_read(fd);
  return got;
}

WRAPPED(int, pfp_open_file, int folder, const char *name, bool follow) {
  atomic_fetch_add(&faults.opens, 1);
  if (faults.before_open != NULL) faults.before_open(name);
  return __real_pfp_open_file(folder, name, follow);
}

WRAPPED(int, pfp_open_folder, int folder, const char *name, bool follow) {
  atomic_fetch_add(&faults.opens, 1);
  if (faults.before_open != NULL) faults.before_open(name);
  if (faults.denies != NULL && faults.denies(name)) return -EACCES;
  return __real_pfp_open_folder(folder, name, follow);
}

WRAPPED(int, pfp_open_below, int root, const char *path) {
  atomic_fetch_add(&faults.opens_below, 1);
  return __real_pfp_open_below(root, path);
}

WRAPPED(int64_t, pfp_read_link, int folder, const char *name, void *bytes, size_t size) {
  int64_t got = __real_pfp_read_link(folder, name, bytes, size);
  if (faults.after_link != NULL) faults.after_link(name);
  return got;
}

WRAPPED(int, pfp_listing_next, struct pfp_listing *listing, const char **name, uint8_t *type) {
  if (faults.listing_error != 0 && faults.names_good-- == 0) return -faults.listing_error;
  int more = __real_pfp_listing_next(listing, name, type);
  if (more == 1 && faults.no_types) *type = 0;
  if (more == 1 && faults.after_name != NULL) faults.after_name(*name);
  return more;
}

WRAPPED(int, pfp_identify, struct pfp_identity *identity, int fd) {
  int result = faults.identify_error != 0 ? -faults.identify_error : __real_pfp_identify(identity, fd);
  atomic_fetch_add(&faults.looks, 1);
  if (faults.after_look != NULL) faults.after_look(fd);
  if (faults.guarded_looks != 0) {
    faults.guarded_looks--;
    identity->guard = PFP_GUARD_VERITY;
  }
  return result;
}

WRAPPED(int, pfp_identify_name, struct pfp_identity *identity, int folder, const char *name, bool follow) {
  atomic_fetch_add(&faults.looks, 1);
  return __real_pfp_identify_name(identity, folder, name, follow);
}

WRAPPED(bool, pfp_unmoved, const struct pfp_identity *identity, int fd) {
  atomic_fetch_add(&faults.looks, 1);
  if (faults.folders_move && identity->type == PFP_TYPE_FOLDER) return false;
  return __real_pfp_unmoved(identity, fd);
}

/// Both ways are tested whatever pays here.
WRAPPED(bool, pfp_map_pays, void) { return !faults.no_maps; }

WRAPPED(int, pfp_map_begin, struct pfp_map *map, int fd, uint64_t size) {
  int result = faults.no_maps ? -ENOTSUP : __real_pfp_map_begin(map, fd, size);
  if (result == 0 && faults.after_map != NULL) faults.after_map(fd);
  return result;
}

WRAPPED(void *, pfp_pages, size_t size) {
  if (faults.pages_fail && atomic_fetch_add(&pages, 1) >= faults.pages_good) return NULL;
  void *made = __real_pfp_pages(size);
  if (made != NULL) atomic_fetch_add(&faults.pages_held, (long)size);
  return made;
}

WRAPPED(void, pfp_pages_free, void *freed, size_t size) {
  if (freed != NULL) atomic_fetch_sub(&faults.pages_held, (long)size);
  __real_pfp_pages_free(freed, size);
}

WRAPPED(uint64_t, pfp_keep_clock, void) {
  uint64_t now = __real_pfp_keep_clock() + faults.clock_ahead;
  if (faults.clock_lags == 0) return now;
  faults.clock_lags--;
  return now - UINT64_C(3600000000000);
}

WRAPPED(int, pfp_lease_begin, int fd) { return faults.no_leases ? -EACCES : __real_pfp_lease_begin(fd); }

WRAPPED(int, pfp_mounts_watch, void) { return faults.no_mounts ? -ENOENT : __real_pfp_mounts_watch(); }
