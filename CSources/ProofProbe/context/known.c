// SPDX-License-Identifier: Apache-2.0

#include "context/known.h"

#include <string.h>

/// An entry as packed; the part of its path that the entry before does not have follows.
struct packed {
  uint8_t content[PFP_HASH_BYTES];
  uint64_t inode, size, changed, modified;
  int32_t fd;
  uint16_t shared;  ///< Bytes of the path that are those of the entry before
  uint16_t own;     ///< Bytes that are not
  uint16_t mode;
  uint8_t type;
  uint8_t mount;
};
_Static_assert(sizeof(struct packed) == PFP_CACHE_ENTRY_BYTES, "no holes, and as files.h says");

void pfp_known_init(struct pfp_known *known) { memset(known, 0, sizeof *known); }

// Reading --------------------------------------------------------------------------------------------------------

void pfp_known_read(struct pfp_known_cursor *cursor, const struct pfp_known *known, struct pfp_known_page *page) {
  cursor->known = known;
  cursor->page = page;
  cursor->at = 0;
  cursor->left = page == NULL ? 0 : page->entries;
}

bool pfp_known_next(struct pfp_known_cursor *cursor) {
  struct packed packed;
  struct pfp_known_entry *entry = &cursor->entry;
  if (cursor->left == 0) return false;
  cursor->left--;
  cursor->packed = cursor->page->bytes + cursor->at;
  memcpy(&packed, cursor->packed, sizeof packed);
  memcpy(cursor->path + packed.shared, cursor->packed + sizeof packed, packed.own);
  cursor->at += (uint32_t)sizeof packed + packed.own;
  entry->path = cursor->path;
  entry->path_size = (uint32_t)packed.shared + packed.own;
  cursor->path[entry->path_size] = '\0';
  entry->fd = packed.fd;
  entry->identity = (struct pfp_identity){
      .device = cursor->known->device[packed.mount],
      .mount = cursor->known->mount[packed.mount],
      .inode = packed.inode,
      .size = packed.size,
      .changed = packed.changed,
      .modified = packed.modified,
      .mode = packed.mode,
      .type = packed.type,
  };
  memcpy(entry->content, packed.content, sizeof entry->content);
  return true;
}

void pfp_known_take(struct pfp_known_cursor *cursor) {
  const int32_t none = -1;
  memcpy(cursor->packed + offsetof(struct packed, fd), &none, sizeof none);
}

// Writing --------------------------------------------------------------------------------------------------------

static struct pfp_known_page *page_add(struct pfp_known *known, size_t bytes_max) {
  struct pfp_known_page *page;
  if (known->bytes + sizeof *page > bytes_max) return NULL;
  page = pfp_pages(sizeof *page);
  if (page == NULL) return NULL;
  if (known->last == NULL) {
    known->first = page;
  } else {
    known->last->next = page;
  }
  known->last = page;
  known->bytes += sizeof *page;
  return page;
}

/// The number of a device and mount, or PFP_KNOWN_MOUNTS if there is none left.
static uint32_t mount_of(struct pfp_known *known, const struct pfp_identity *identity) {
  uint32_t i = 0;
  while (i < known->mounts && (known->device[i] != identity->device || known->mount[i] != identity->mount)) i++;
  if (i == known->mounts && i < PFP_KNOWN_MOUNTS) {
    known->device[i] = identity->device;
    known->mount[i] = identity->mount;
    known->mounts++;
  }
  return i;
}

bool pfp_known_append(struct pfp_known *known, const struct pfp_known_entry *entry, size_t bytes_max) {
  struct pfp_known_page *page = known->last;
  uint32_t mount = mount_of(known, &entry->identity), shared = 0;
  if (mount == PFP_KNOWN_MOUNTS) return false;
  while (shared < known->last_size && known->last_path[shared] == entry->path[shared]) shared++;
  if (page == NULL || page->used + sizeof(struct packed) + (entry->path_size - shared) > sizeof page->bytes) {
    page = page_add(known, bytes_max);
    if (page == NULL) return false;
    shared = 0;  // each page can be read without the others
  }
  struct packed packed = {
      .inode = entry->identity.inode,
      .size = entry->identity.size,
      .changed = entry->identity.changed,
      .modified = entry->identity.modified,
      .fd = entry->fd,
      .shared = (uint16_t)shared,
      .own = (uint16_t)(entry->path_size - shared),
      .mode = entry->identity.mode,
      .type = entry->identity.type,
      .mount = (uint8_t)mount,
  };
  memcpy(packed.content, entry->content, sizeof packed.content);
  memcpy(page->bytes + page->used, &packed, sizeof packed);
  memcpy(page->bytes + page->used + sizeof packed, entry->path + shared, packed.own);
  page->used += (uint32_t)sizeof packed + packed.own;
  page->entries++;
  known->entries++;
  known->last_size = entry->path_size;
  memcpy(known->last_path + shared, entry->path + shared, packed.own);
  known->last_path[known->last_size] = '\0';
  return true;
}

// Giving back ----------------------------------------------------------------------------------------------------

/// Descriptors of the page's entries from the cursor's on.
static uint32_t close_rest(struct pfp_known_cursor *cursor) {
  uint32_t closed = 0;
  while (pfp_known_next(cursor)) {
    if (cursor->entry.fd < 0) continue;
    pfp_close(cursor->entry.fd);
    closed++;
  }
  return closed;
}

static void page_drop(struct pfp_known *known) {
  struct pfp_known_page *page = known->first;
  known->first = page->next;
  if (known->first == NULL) known->last = NULL;
  known->bytes -= sizeof *page;
  pfp_pages_free(page, sizeof *page);
}

uint32_t pfp_known_clear(struct pfp_known *known) {
  uint32_t closed = 0;
  while (known->first != NULL) {
    struct pfp_known_cursor cursor;
    pfp_known_read(&cursor, known, known->first);
    closed += close_rest(&cursor);
    page_drop(known);
  }
  pfp_known_init(known);
  return closed;
}

void pfp_known_consume(struct pfp_known_consumer *consumer, struct pfp_known *known) {
  consumer->known = *known;
  consumer->holds = false;
  consumer->closed = 0;
  pfp_known_read(&consumer->cursor, &consumer->known, consumer->known.first);
  pfp_known_init(known);
}

static bool advance(struct pfp_known_consumer *consumer) {
  while (!pfp_known_next(&consumer->cursor)) {
    if (consumer->known.first == NULL) return false;
    page_drop(&consumer->known);
    pfp_known_read(&consumer->cursor, &consumer->known, consumer->known.first);
  }
  return true;
}

const struct pfp_known_entry *pfp_known_find(struct pfp_known_consumer *consumer, const char *path) {
  for (;;) {
    int order;
    if (!consumer->holds) {
      if (!advance(consumer)) return NULL;
      consumer->holds = true;
    }
    order = strcmp(consumer->cursor.path, path);
    if (order > 0) return NULL;
    consumer->holds = false;
    if (order == 0) {
      pfp_known_take(&consumer->cursor);
      return &consumer->cursor.entry;
    }
    if (consumer->cursor.entry.fd >= 0) {
      pfp_close(consumer->cursor.entry.fd);
      consumer->closed++;
    }
  }
}

void pfp_known_consumed(struct pfp_known_consumer *consumer, struct pfp_known *known, bool failed) {
  // The page being read, as far as it was not consumed, is not worth packing again.
  if (consumer->holds && consumer->cursor.entry.fd >= 0) {
    pfp_close(consumer->cursor.entry.fd);
    consumer->closed++;
  }
  consumer->closed += close_rest(&consumer->cursor);
  if (consumer->known.first != NULL) page_drop(&consumer->known);
  // Mounts are numbered in each: what was written must have numbered them alike.
  bool alike = known->mounts <= consumer->known.mounts &&
               memcmp(known->device, consumer->known.device, known->mounts * sizeof known->device[0]) == 0 &&
               memcmp(known->mount, consumer->known.mount, known->mounts * sizeof known->mount[0]) == 0;
  if (!failed || !alike || consumer->known.first == NULL) {
    consumer->closed += pfp_known_clear(&consumer->known);
    return;
  }
  memcpy(known->device, consumer->known.device, sizeof known->device);
  memcpy(known->mount, consumer->known.mount, sizeof known->mount);
  known->mounts = consumer->known.mounts;
  known->bytes += consumer->known.bytes;
  if (known->last == NULL) {
    known->first = consumer->known.first;
  } else {
    known->last->next = consumer->known.first;
  }
  known->last = consumer->known.last;
}
