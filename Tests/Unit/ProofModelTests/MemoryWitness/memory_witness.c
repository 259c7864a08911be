// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "MemoryWitness.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "MemoryScan.h"

enum { PAGE = 4096 };
_Static_assert(WITNESS_BYTES_MAX <= MEMORY_SCAN_NEEDLE_MAX, "a pattern can be scanned for");
static const size_t LARGEST = (size_t)256 << 20;

static uint8_t mask[WITNESS_BYTES_MAX];
static uint8_t masked[WITNESS_BYTES_MAX];
static size_t pattern_size = WITNESS_BYTES_MAX;
/// Held where the pattern changes, and where any thread that unmaps looks for it.
static atomic_flag pattern_lock = ATOMIC_FLAG_INIT;
static _Atomic int is_watching;
static _Atomic size_t unmapped;
static _Atomic size_t unmapped_unwiped;

static void hold(void) {
  while (atomic_flag_test_and_set_explicit(&pattern_lock, memory_order_acquire)) {
  }
}

static void let_go(void) { atomic_flag_clear_explicit(&pattern_lock, memory_order_release); }

void witness_begin(size_t size) {
  hold();
  pattern_size = size;
  // Two independent draws: their difference is the pattern, which stands nowhere.
  while (getrandom(mask, sizeof mask, 0) != (ssize_t)sizeof mask) {
  }
  while (getrandom(masked, sizeof masked, 0) != (ssize_t)sizeof masked) {
  }
  unmapped = 0;
  unmapped_unwiped = 0;
  is_watching = 1;
  let_go();
}

void witness_fill(void *secret) {
  uint8_t *bytes = secret;
  for (size_t i = 0; i < pattern_size; i++) bytes[i] = mask[i] ^ masked[i];
}

static size_t count_in(const uint8_t *bytes, size_t size) {
  const uint8_t first = mask[0] ^ masked[0];
  size_t count = 0;
  size_t at = 0;
  while (at + pattern_size <= size) {
    const uint8_t *found = memchr(bytes + at, first, size - pattern_size + 1 - at);
    size_t i = 1;
    if (found == NULL) break;
    while (i < pattern_size && (found[i] ^ mask[i]) == masked[i]) i++;
    count += i == pattern_size;
    at = (size_t)(found - bytes) + 1;
  }
  return count;
}

size_t witness_copies(void) { return memory_scan(count_in, pattern_size, LARGEST); }

size_t witness_unmapped(void) { return unmapped; }

size_t witness_unmapped_unwiped(void) { return unmapped_unwiped; }

void witness_unmap_unwiped(void) {
  void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  witness_fill(page);
  munmap(page, PAGE);
}

/// A sanitizer's own, where there is one: it keeps books about mappings.
extern int __interceptor_munmap(void *address, size_t size) __attribute__((weak));

/// Stands in front of the C library's: libsodium, which gives a freed secret's pages back, calls this one.
int munmap(void *address, size_t size) {
  if (is_watching && size <= LARGEST) {
    uint8_t page[PAGE];
    size_t found = 0;
    hold();
    for (size_t at = 0; at < size; at += PAGE) {
      if (memory_scan_read(page, (uintptr_t)address + at, PAGE)) found += count_in(page, PAGE);
    }
    let_go();
    explicit_bzero(page, sizeof page);
    unmapped++;
    unmapped_unwiped += found > 0;
  }
  if (__interceptor_munmap != NULL) return __interceptor_munmap(address, size);
  return (int)syscall(SYS_munmap, address, size);
}
