// SPDX-License-Identifier: Apache-2.0

#define _DEFAULT_SOURCE
#include "needle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { NEEDLES_MAX = 1024, BYTES_MAX = 512, BUCKETS = 1 << 16 };

struct needle {
  const char *name;
  const char *form;
  size_t size;
  uint8_t bytes[BYTES_MAX];
};

/// One window of one needle; chained by its first two bytes.
struct window {
  uint16_t needle;
  uint16_t offset;
  int32_t next;
};

/// Mapped, so that neither the stack nor static memory holds a copy of what is searched for.
static struct pool {
  struct needle needles[NEEDLES_MAX];
  struct window windows[NEEDLES_MAX * 64];
  int32_t buckets[BUCKETS];
  size_t needle_count, window_count;
} *pool;

void needle_clear(void) {
  if (pool == NULL) {
    void *mapped = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) abort();
    pool = mapped;
  }
  pool->needle_count = pool->window_count = 0;
  memset(pool->buckets, 0xFF, sizeof pool->buckets);
}

static unsigned bucket_of(const uint8_t *bytes) { return bytes[0] | (unsigned)bytes[1] << 8; }

/// Bytes that stand in memory anyway: all alike, or a counter.
static int is_trivial(const uint8_t *bytes) {
  uint8_t step = (uint8_t)(bytes[1] - bytes[0]);
  for (unsigned i = 2; i < NEEDLE_WINDOW; i++) {
    if ((uint8_t)(bytes[i] - bytes[i - 1]) != step) return 0;
  }
  return 1;
}

static void add_form(const char *name, const char *form, const uint8_t *bytes, size_t size) {
  if (pool->needle_count == NEEDLES_MAX || size > BYTES_MAX || size < NEEDLE_WINDOW) abort();
  struct needle *needle = &pool->needles[pool->needle_count];
  needle->name = name;
  needle->form = form;
  needle->size = size;
  memcpy(needle->bytes, bytes, size);
  for (size_t i = 0; i + NEEDLE_WINDOW <= size; i++) {
    if (is_trivial(bytes + i)) continue;
    if (pool->window_count == sizeof pool->windows / sizeof pool->windows[0]) abort();
    struct window *window = &pool->windows[pool->window_count];
    int32_t *bucket = &pool->buckets[bucket_of(bytes + i)];
    *window = (struct window){(uint16_t)pool->needle_count, (uint16_t)i, *bucket};
    *bucket = (int32_t)pool->window_count++;
  }
  pool->needle_count++;
}

static void add_both_orders(const char *name, const char *form, const char *swapped, const uint8_t *bytes,
                            size_t size) {
  uint8_t words[BYTES_MAX];
  add_form(name, form, bytes, size);
  for (size_t i = 0; i < size; i++) words[i] = bytes[i ^ 3];
  if (size % 4 == 0) add_form(name, swapped, words, size);
  memset(words, 0, sizeof words);
}

void needle_add(const char *name, const void *bytes, size_t size) {
  add_both_orders(name, "as it is", "in words of the other order", bytes, size);
}

void needle_add_mac_key(const char *name, const uint8_t *key, size_t size) {
  struct pfc_mac mac;
  uint8_t padded[64];
  needle_add(name, key, size);
  for (size_t i = 0; i < size; i++) padded[i] = key[i] ^ 0x36;
  add_both_orders(name, "in the inner pad", "in the inner pad, other order", padded, size);
  for (size_t i = 0; i < size; i++) padded[i] = key[i] ^ 0x5C;
  add_both_orders(name, "in the outer pad", "in the outer pad, other order", padded, size);
  pfc_mac_init(&mac, key, size);
  const uint8_t *inner = (const uint8_t *)mac.state.ictx.state, *outer = (const uint8_t *)mac.state.octx.state;
  add_both_orders(name, "inner midstate", "inner midstate, other order", inner, 32);
  add_both_orders(name, "outer midstate", "outer midstate, other order", outer, 32);
  pfc_wipe(&mac, sizeof mac);
  pfc_wipe(padded, sizeof padded);
}

void needle_add_derived(const char *name, const char label[PFC_LABEL_BYTES + 1], const uint8_t *key, size_t key_size,
                        const void *info, size_t info_size) {
  struct pfc_mac mac;
  uint8_t extracted[32], derived[32];
  needle_add(name, key, key_size);
  pfc_mac_init(&mac, (const uint8_t *)label, PFC_LABEL_BYTES);
  pfc_mac_update(&mac, key, key_size);
  pfc_mac_final(extracted, &mac);
  needle_add_mac_key(name, extracted, sizeof extracted);
  pfc_derive(derived, label, key, key_size, info, info_size);
  needle_add_mac_key(name, derived, sizeof derived);
  pfc_wipe(extracted, sizeof extracted);
  pfc_wipe(derived, sizeof derived);
}

size_t needle_search(struct needle_found *found, size_t limit, const uint8_t *memory, size_t size) {
  size_t count = 0;
  for (size_t at = 0; at + NEEDLE_WINDOW <= size; at++) {
    for (int32_t i = pool->buckets[bucket_of(memory + at)]; i >= 0; i = pool->windows[i].next) {
      const struct needle *needle = &pool->needles[pool->windows[i].needle];
      size_t offset = pool->windows[i].offset, same = 0, known = 0;
      while (offset + same < needle->size && at + same < size && needle->bytes[offset + same] == memory[at + same]) {
        same++;
      }
      if (same < NEEDLE_WINDOW) continue;
      while (known < count && found[known].name != needle->name) known++;
      if (known == limit) continue;
      if (known == count) {
        found[count++] = (struct needle_found){.name = needle->name};
      }
      if (same > found[known].size) {
        found[known] = (struct needle_found){needle->name, needle->form, same, at};
      }
    }
  }
  return count;
}

void needle_each(void (*visit)(const char *name, const char *form, const uint8_t *bytes, size_t size)) {
  for (size_t i = 0; i < pool->needle_count; i++) {
    const struct needle *needle = &pool->needles[i];
    visit(needle->name, needle->form, needle->bytes, needle->size);
  }
}
