// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "evidence/bundle_index.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/crypto_generichash_blake2b.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crypto.h"
#include "base/secret.h"
#include "system/platform.h"

enum {
  TAG_BYTES = 16,
  ENTRY_BYTES = 16,
  HEAD_BYTES = 8 + PFP_BUNDLE_SHARDS * (PFC_DIGEST_BYTES + 4),
  ENTRIES_MAX = 1 << 24
};

static const char MAGIC[9] = "PKBI0001";
static const uint8_t LABEL[17] = "pfp1.index......";

static uint64_t read_number(const uint8_t *bytes, unsigned size) {
  uint64_t number = 0;
  for (unsigned i = 0; i < size; i++) number |= (uint64_t)bytes[i] << (8 * i);
  return number;
}

static void write_number(uint8_t *bytes, uint64_t number, unsigned size) {
  for (unsigned i = 0; i < size; i++) bytes[i] = (uint8_t)(number >> (8 * i));
}

static void keyed(uint8_t digest[32], const uint8_t key[32], char what, const void *first, size_t first_size,
                  const void *second, size_t second_size) {
  crypto_generichash_blake2b_state state;
  (void)crypto_generichash_blake2b_init_salt_personal(&state, key, 32, 32, NULL, LABEL);
  (void)crypto_generichash_blake2b_update(&state, (const uint8_t *)&what, 1);
  (void)crypto_generichash_blake2b_update(&state, first, first_size);
  if (second_size != 0) (void)crypto_generichash_blake2b_update(&state, second, second_size);
  (void)crypto_generichash_blake2b_final(&state, digest, 32);
  pfc_wipe(&state, sizeof state);
}

static struct pfp_index_entry blind(const struct pfp_bundle_look *look, const struct pfp_entry *entry) {
  uint8_t name[32], content[32];
  keyed(name, look->key, 'n', entry->path, entry->path_size, NULL, 0);
  keyed(content, look->key, 'c', entry->path, entry->path_size, entry->digest, sizeof entry->digest);
  return (struct pfp_index_entry){read_number(name, 8), read_number(content, 8)};
}

int pfp_index_begin(struct pfp_bundle_look **look, const char *storage) {
  uint8_t secret[PFP_SECRET_BYTES];
  int result = pfp_secret_read(secret, storage);
  *look = NULL;
  if (result != PFP_OK) return result;
  *look = calloc(1, sizeof **look);
  if (*look != NULL) {
    (*look)->collects = true;
    memcpy((*look)->key, secret, sizeof secret);
  }
  pfc_wipe(secret, sizeof secret);
  return *look != NULL ? PFP_OK : PFP_E_RESOURCE;
}

// Reading --------------------------------------------------------------------------------------------------------

/// The whole file, or NULL.
static uint8_t *read_whole(size_t *size, const char *storage) {
  struct stat status;
  uint8_t *bytes = NULL;
  char path[4096];
  int fd = -1;
  size_t have = 0;
  if (snprintf(path, sizeof path, "%s/" PFP_INDEX_NAME, storage) < (int)sizeof path) {
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  }
  if (fd < 0) return NULL;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= HEAD_BYTES + TAG_BYTES &&
      status.st_size <= HEAD_BYTES + TAG_BYTES + (off_t)ENTRIES_MAX * ENTRY_BYTES) {
    *size = (size_t)status.st_size;
    bytes = malloc(*size);
  }
  while (bytes != NULL && have < *size) {
    ssize_t got = read(fd, bytes + have, *size - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      free(bytes);
      bytes = NULL;
    } else {
      have += (size_t)got;
    }
  }
  (void)close(fd);
  return bytes;
}

/// Everything that must hold of an index, from its tag on.
static bool decode(struct pfp_bundle_look *look, const uint8_t *bytes, size_t size) {
  uint8_t tag[32];
  size_t count = (size - HEAD_BYTES - TAG_BYTES) / ENTRY_BYTES;
  uint64_t sum = 0;
  keyed(tag, look->key, 't', bytes, size - TAG_BYTES, NULL, 0);
  if (memcmp(bytes, MAGIC, 8) != 0 || memcmp(tag, bytes + size - TAG_BYTES, TAG_BYTES) != 0) return false;
  if (size != HEAD_BYTES + TAG_BYTES + count * ENTRY_BYTES) return false;
  memcpy(look->digests, bytes + 8, sizeof look->digests);
  for (size_t i = 0; i < PFP_BUNDLE_SHARDS; i++) {
    look->from[i] = (uint32_t)sum;
    sum += read_number(bytes + 8 + sizeof look->digests + 4 * i, 4);
    if (sum > count) return false;
  }
  look->from[PFP_BUNDLE_SHARDS] = (uint32_t)sum;
  if (sum != count) return false;
  look->entries = calloc(count + 1, sizeof *look->entries);
  look->seen = calloc(count + 1, 1);
  if (look->entries == NULL || look->seen == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    look->entries[i].name = read_number(bytes + HEAD_BYTES + i * ENTRY_BYTES, 8);
    look->entries[i].content = read_number(bytes + HEAD_BYTES + i * ENTRY_BYTES + 8, 8);
  }
  look->count = count;
  return true;
}

int pfp_index_load(struct pfp_bundle_look **look, const char *storage) {
  uint8_t *bytes = NULL;
  size_t size = 0;
  *look = calloc(1, sizeof **look);
  if (*look == NULL) return PFP_E_RESOURCE;
  if (storage == NULL || pfp_secret_read((*look)->key, storage) != PFP_OK) return PFP_OK;
  bytes = read_whole(&size, storage);
  (*look)->has_index = bytes != NULL && decode(*look, bytes, size);
  free(bytes);
  return PFP_OK;
}

// Entries --------------------------------------------------------------------------------------------------------

static void collect(struct pfp_bundle_look *look, size_t shard, struct pfp_index_entry entry) {
  if (look->count == look->capacity) {
    size_t capacity = look->capacity == 0 ? 1024 : 2 * look->capacity;
    struct pfp_index_entry *entries = realloc(look->entries, capacity * sizeof *entries);
    uint8_t *shard_of;
    if (entries != NULL) look->entries = entries;
    shard_of = entries != NULL && capacity <= ENTRIES_MAX ? realloc(look->shard_of, capacity) : NULL;
    if (shard_of == NULL) {
      look->failed = true;
      return;
    }
    look->shard_of = shard_of;
    look->capacity = capacity;
  }
  look->shard_of[look->count] = (uint8_t)shard;
  look->entries[look->count++] = entry;
}

static void differs(struct pfp_bundle_look *look, size_t shard, const char *path, uint8_t how) {
  uint64_t at = look->differing_count[shard]++;
  if (at >= PFP_INDEX_DIFFERING_MAX) return;
  // No memory: words are missing then, and no evidence.
  look->differing[shard][at] = (struct pfp_index_differing){strdup(path), how};
}

void pfp_index_entry(struct pfp_bundle_look *look, size_t shard, const struct pfp_entry *entry) {
  struct pfp_index_entry now;
  size_t low, high;
  look->present[shard]++;
  if (!look->collects && !look->has_index) {
    // Where a shard has one entry, that one can be named.
    if (look->present[shard] == 1) look->differing[shard][0].path = strdup(entry->path);
    return;
  }
  now = blind(look, entry);
  if (look->collects) {
    collect(look, shard, now);
    return;
  }
  low = look->from[shard];
  high = look->from[shard + 1];
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (look->entries[middle].name < now.name) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == look->from[shard + 1] || look->entries[low].name != now.name) {
    differs(look, shard, entry->path, PFP_INDEX_ADDED);
    return;
  }
  if (look->seen[low] == 0) look->found[shard]++;
  look->seen[low] = 1;
  if (look->entries[low].content != now.content) differs(look, shard, entry->path, PFP_INDEX_CHANGED);
}

uint64_t pfp_index_gone(const struct pfp_bundle_look *look, size_t shard) {
  return look->from[shard + 1] - look->from[shard] - look->found[shard];
}

// Writing --------------------------------------------------------------------------------------------------------

static int compare(const void *left, const void *right) {
  const struct pfp_index_entry *a = left, *b = right;
  return (a->name > b->name) - (a->name < b->name);
}

/// The index as bytes, or NULL without memory.
static uint8_t *encode(size_t *size, const struct pfp_bundle_look *look,
                       uint8_t digests[PFP_BUNDLE_SHARDS][PFC_DIGEST_BYTES]) {
  struct pfp_index_entry *sorted = calloc(look->count + 1, sizeof *sorted);
  uint8_t tag[32], *bytes = NULL;
  size_t at = 0;
  *size = HEAD_BYTES + look->count * ENTRY_BYTES + TAG_BYTES;
  if (sorted != NULL) bytes = calloc(1, *size);
  if (bytes != NULL) {
    memcpy(bytes, MAGIC, 8);
    memcpy(bytes + 8, digests, PFP_BUNDLE_SHARDS * PFC_DIGEST_BYTES);
    for (size_t shard = 0; shard < PFP_BUNDLE_SHARDS; shard++) {
      size_t from = at;
      for (size_t i = 0; i < look->count; i++) {
        if (look->shard_of[i] == shard) sorted[at++] = look->entries[i];
      }
      qsort(sorted + from, at - from, sizeof *sorted, compare);
      write_number(bytes + 8 + PFP_BUNDLE_SHARDS * PFC_DIGEST_BYTES + 4 * shard, at - from, 4);
    }
    for (size_t i = 0; i < at; i++) {
      write_number(bytes + HEAD_BYTES + i * ENTRY_BYTES, sorted[i].name, 8);
      write_number(bytes + HEAD_BYTES + i * ENTRY_BYTES + 8, sorted[i].content, 8);
    }
    keyed(tag, look->key, 't', bytes, *size - TAG_BYTES, NULL, 0);
    memcpy(bytes + *size - TAG_BYTES, tag, TAG_BYTES);
  }
  free(sorted);
  return bytes;
}

static int write_whole(const char *name, const uint8_t *bytes, size_t size) {
  size_t done = 0;
  int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return pfp_error_is_resource(errno) ? PFP_E_RESOURCE : PFP_E_UNREADABLE;
  while (done < size) {
    ssize_t count = write(fd, bytes + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += (size_t)count;
  }
  return close(fd) == 0 && done == size ? PFP_OK : PFP_E_UNREADABLE;
}

int pfp_index_write(struct pfp_bundle_look *look, const char *storage,
                    uint8_t digests[PFP_BUNDLE_SHARDS][PFC_DIGEST_BYTES]) {
  char path[4096], temporary[4096];
  unsigned long long suffix;
  uint8_t *bytes = NULL;
  size_t size = 0;
  int result = PFP_E_RESOURCE;
  if (snprintf(path, sizeof path, "%s/" PFP_INDEX_NAME, storage) >= (int)sizeof path) return PFP_E_ARGUMENT;
  if (getrandom(&suffix, sizeof suffix, 0) != (ssize_t)sizeof suffix ||
      snprintf(temporary, sizeof temporary, "%s/." PFP_INDEX_NAME "-%016llx", storage, suffix) >=
          (int)sizeof temporary) {
    return PFP_E_RESOURCE;
  }
  if (!look->failed) bytes = encode(&size, look, digests);
  if (bytes != NULL) {
    result = write_whole(temporary, bytes, size);
    if (result == PFP_OK && rename(temporary, path) != 0) result = PFP_E_UNREADABLE;
    if (result != PFP_OK) (void)unlink(temporary);
  }
  free(bytes);
  return result;
}

void pfp_index_free(struct pfp_bundle_look *look) {
  if (look == NULL) return;
  for (size_t i = 0; i < PFP_BUNDLE_SHARDS; i++) {
    for (size_t j = 0; j < PFP_INDEX_DIFFERING_MAX; j++) free(look->differing[i][j].path);
  }
  free(look->entries);
  free(look->shard_of);
  free(look->seen);
  pfc_wipe(look->key, sizeof look->key);
  free(look);
}
