// SPDX-License-Identifier: Apache-2.0

/// The digests of files.h and hash.h, from libsodium alone: an oracle that shares no code with the probe.

#ifndef PAGE_H
#define PAGE_H

#include "tree.h"

/// An entry as the page has it. `content` is given for files and links, and is zeros for all others.
struct page_entry {
  uint8_t type, state;
  uint16_t mode;
  uint64_t size;
  const char *path;
  size_t path_size;
  uint8_t content[32];
};

struct page_key {
  uint8_t key[32], salt[16];
};
/// The key and salt of `files_new`, and of entries and bundles here.
extern const struct page_key page_key;

/// B(role, message).
void page_hash(uint8_t digest[32], const struct page_key *key, const char role[17], const void *message, size_t size);
/// The digest of a content of any length.
void page_content(uint8_t digest[32], const struct page_key *key, const uint8_t *bytes, size_t size);
/// The digest of an entry.
void page_entry(uint8_t digest[32], const struct page_entry *entry);
/// The digest of a bundle: the root's mode, then the digests of its entries in order.
void page_bundle(uint8_t digest[32], uint16_t mode, const uint8_t (*entries)[32], size_t count);
/// The entry that a look at the path tells. Its path is the argument.
struct page_entry page_look(const struct tree *tree, const char *path);

#endif
