// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "page.h"

#include <fcntl.h>
#include <sodium/crypto_generichash_blake2b.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "harness.h"

const struct page_key page_key = {{1, 2, 3}, {4, 5, 6}};

void page_hash(uint8_t digest[32], const struct page_key *key, const char role[17], const void *message, size_t size) {
  if (crypto_generichash_blake2b_salt_personal(digest, 32, message, size, key->key, 32, key->salt,
                                               (const uint8_t *)role) != 0) {
    abort();
  }
}

void page_content(uint8_t digest[32], const struct page_key *key, const uint8_t *bytes, size_t size) {
  if (size <= 65536) {
    page_hash(digest, key, "pfp1.content....", bytes, size);
    return;
  }
  size_t leaves = (size + 65535) / 65536;
  uint8_t *message = malloc(8 + 32 * leaves);
  if (message == NULL) abort();
  put64(message, size);
  for (size_t i = 0; i < leaves; i++) {
    size_t left = size - 65536 * i;
    page_hash(message + 8 + 32 * i, key, "pfp1.leaf.......", bytes + 65536 * i, left < 65536 ? left : 65536);
  }
  page_hash(digest, key, "pfp1.tree.......", message, 8 + 32 * leaves);
  free(message);
}

void page_entry(uint8_t digest[32], const struct page_entry *entry) {
  uint8_t message[1 + 1 + 2 + 8 + 4 + PFP_PATH_MAX + 32] = {entry->type, entry->state};
  put16(message + 2, entry->mode);
  put64(message + 4, entry->size);
  put32(message + 12, (uint32_t)entry->path_size);
  memcpy(message + 16, entry->path, entry->path_size);
  memcpy(message + 16 + entry->path_size, entry->content, 32);
  page_hash(digest, &page_key, "pfp1.entry......", message, 16 + entry->path_size + 32);
}

void page_bundle(uint8_t digest[32], uint16_t mode, const uint8_t (*entries)[32], size_t count) {
  uint8_t *message = malloc(2 + 32 * count + 8);
  if (message == NULL) abort();
  put16(message, mode);
  for (size_t i = 0; i < count; i++) memcpy(message + 2 + 32 * i, entries[i], 32);
  put64(message + 2 + 32 * count, count);
  page_hash(digest, &page_key, "pfp1.bundle.....", message, 2 + 32 * count + 8);
  free(message);
}

static void read_content(struct page_entry *entry, const char *path) {
  uint8_t *bytes = malloc(entry->size + 1);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (bytes == NULL || fd < 0 || read(fd, bytes, entry->size + 1) != (ssize_t)entry->size) abort();
  page_content(entry->content, &page_key, bytes, entry->size);
  (void)close(fd);
  free(bytes);
}

struct page_entry page_look(const struct tree *tree, const char *path) {
  struct page_entry entry = {.state = 1, .path = path, .path_size = strlen(path)};
  const char *full = tree_path(tree, path);
  char target[PFP_PATH_MAX + 1];
  struct stat found;
  if (lstat(full, &found) != 0) abort();
  entry.mode = found.st_mode & 07777;
  if (S_ISREG(found.st_mode)) {
    entry.type = 1;
    entry.size = (uint64_t)found.st_size;
    read_content(&entry, full);
  } else if (S_ISLNK(found.st_mode)) {
    ssize_t size = readlink(full, target, sizeof target);
    if (size < 0) abort();
    entry.type = 3;
    entry.mode = 0;
    entry.size = (uint64_t)size;
    page_hash(entry.content, &page_key, "pfp1.link.......", target, (size_t)size);
  } else {
    entry.type = S_ISDIR(found.st_mode) ? 2 : S_ISFIFO(found.st_mode) ? 4 : S_ISSOCK(found.st_mode) ? 5 :
                 S_ISCHR(found.st_mode) ? 6 : 7;
    if (entry.type >= 6) entry.size = (uint64_t)major(found.st_rdev) << 32 | minor(found.st_rdev);
  }
  return entry;
}
