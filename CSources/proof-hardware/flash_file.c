// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "flash_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "options.h"
#include "system.h"

enum { SIZES = 4, WITH_LOG = 1, WITH_GRANTS = 2 };

// The size tells what the file has.
_Static_assert((int)FLASH_GRANT_PAGES != (int)FLASH_LOG_PAGES, "a log and loans have different sizes");

static unsigned page_count(unsigned areas) {
  return PFD_FLASH_PAGES + ((areas & WITH_LOG) != 0 ? FLASH_LOG_PAGES : 0) +
         ((areas & WITH_GRANTS) != 0 ? FLASH_GRANT_PAGES : 0);
}

static bool whole(ssize_t count, size_t size) { return count >= 0 && (size_t)count == size; }

/// SplitMix64: the same tear for the same seed, on every machine.
static uint64_t roll(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/// Writes `after` over `before` and makes it durable; or, if power fails in this operation, a part of it: whole bytes
/// up to a random place, in the byte there any of its changing bits, and then the process is no more.
static int operate(struct flash_file *flash, uint32_t offset, const uint8_t *before, uint8_t *after, size_t size) {
  flash->operations++;
  if (flash->worn != 0 && flash->operations >= flash->worn) return -1;
  if (flash->operations == flash->cut) {
    uint64_t state = flash->cut_seed + flash->operations;
    size_t torn = (size_t)(roll(&state) % size);
    uint8_t changing = (uint8_t)(before[torn] ^ after[torn]);
    after[torn] = (uint8_t)(before[torn] ^ (changing & (uint8_t)roll(&state)));
    memcpy(after + torn + 1, before + torn + 1, size - torn - 1);
  }
  if (!whole(pwrite(flash->file, after, size, (off_t)offset), size) || fdatasync(flash->file) != 0) {
    log_line(LOG_ERROR, "flash file: %s", system_error());
    return -1;
  }
  if (flash->operations == flash->cut) {
    log_line(LOG_ERROR, "power failed in flash operation %lu", flash->operations);
    _exit(STATUS_POWER);
  }
  return 0;
}

static int flash_read(void *context, uint32_t offset, uint8_t *bytes, size_t size) {
  const struct flash_file *flash = context;
  return whole(pread(flash->file, bytes, size, (off_t)offset), size) ? 0 : -1;
}

static int flash_erase(void *context, uint32_t offset) {
  struct flash_file *flash = context;
  uint8_t before[FLASH_PAGE_BYTES], after[FLASH_PAGE_BYTES];
  if (flash_read(flash, offset, before, sizeof before) != 0) return -1;
  memset(after, 0xFF, sizeof after);
  flash->erases++;
  return operate(flash, offset, before, after, sizeof after);
}

static int flash_program(void *context, uint32_t offset, const uint8_t *bytes, size_t size) {
  struct flash_file *flash = context;
  uint8_t before[PFD_ENTRY_BYTES], after[PFD_ENTRY_BYTES];
  if (size > sizeof before || flash_read(flash, offset, before, size) != 0) return -1;
  for (size_t i = 0; i < size; i++) after[i] = before[i] & bytes[i];
  return operate(flash, offset, before, after, size);
}

static int complain(const char *path, const char *what) {
  log_line(LOG_ERROR, "%s: %s", path, what);
  return STATUS_FAILED;
}

/// Makes pages of the file erased flash.
static int format(const struct flash_file *flash, unsigned from, unsigned to) {
  uint8_t page[FLASH_PAGE_BYTES];
  memset(page, 0xFF, sizeof page);
  for (unsigned i = from; i < to; i++) {
    if (!whole(pwrite(flash->file, page, sizeof page, (off_t)i * FLASH_PAGE_BYTES), sizeof page)) return -1;
  }
  return fdatasync(flash->file);
}

static void set_areas(struct flash_file *flash, unsigned areas) {
  flash->port.log_page = PFD_FLASH_PAGES;
  flash->port.log_pages = (areas & WITH_LOG) != 0 ? FLASH_LOG_PAGES : 0;
  flash->port.grant_page = (uint16_t)((areas & WITH_GRANTS) != 0 ? page_count(areas & WITH_LOG) : 0);
}

int flash_file_set_areas(struct flash_file *flash, const struct options *options, bool log, bool begins, bool grants) {
  unsigned areas = (log ? WITH_LOG : 0u) | (grants ? WITH_GRANTS : 0u);
  bool keeps = log && !begins && flash->port.log_pages != 0;
  unsigned kept = page_count(keeps ? WITH_LOG : 0);
  if (ftruncate(flash->file, (off_t)kept * FLASH_PAGE_BYTES) != 0 || format(flash, kept, page_count(areas)) != 0) {
    return complain(options->flash, system_error());
  }
  set_areas(flash, areas);
  return GO_ON;
}

/// The areas of a file of this size; SIZES if it is none of this build.
static unsigned areas_of(off_t size) {
  unsigned areas = 0;
  while (areas < SIZES && size != (off_t)page_count(areas) * FLASH_PAGE_BYTES) areas++;
  return areas;
}

int flash_file_open(struct flash_file *flash, const struct options *options) {
  const char *path = options->flash;
  struct stat status;
  unsigned areas = 0;
  memset(flash, 0, sizeof *flash);
  flash->file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (options->provision ? O_CREAT : 0), 0600);
  if (flash->file < 0 && errno == ENOENT) return complain(path, "no flash: provision it first (--provision)");
  if (flash->file < 0 || fstat(flash->file, &status) != 0) return complain(path, system_error());
  if (!S_ISREG(status.st_mode)) return complain(path, "not a file");
  if ((status.st_mode & 077) != 0) return complain(path, "others can read or write the keys in it: chmod 600");
  if (flock(flash->file, LOCK_EX | LOCK_NB) != 0) return complain(path, "another process is this hardware");
  flash->formatted = status.st_size == 0 && options->provision;
  if (flash->formatted && format(flash, 0, PFD_FLASH_PAGES) != 0) return complain(path, system_error());
  if (status.st_size != 0) areas = areas_of(status.st_size);
  if (areas == SIZES) return complain(path, "not the flash of this build: it has another size");
  if (status.st_size == 0 && !options->provision) return complain(path, "empty: provision it first (--provision)");
  flash->cut = options->cut;
  flash->cut_seed = options->cut_seed;
  flash->worn = options->worn;
  flash->port = (struct pfd_flash){.context = flash,
                                   .page_bytes = FLASH_PAGE_BYTES,
                                   .read = flash_read,
                                   .erase = flash_erase,
                                   .program = flash_program};
  set_areas(flash, areas);
  return GO_ON;
}

void flash_file_close(struct flash_file *flash) {
  if (flash->file > 0) (void)close(flash->file);
  flash->file = -1;
}
