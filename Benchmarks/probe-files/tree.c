// SPDX-License-Identifier: Apache-2.0

/// A trial: the digest of one big file by BLAKE3's tree, whose compression has 7 rounds where BLAKE2b's has 12.
///
///     probe-tree read|huge|map THREADS FILE
///
/// Prints the digest as b3sum does. `read` copies windows of 1 MiB into a buffer, `huge` into one of huge pages, and
/// `map` maps the file. Chunks, and parents, are compressed side by side: sixteen with AVX-512, else eight with AVX2.
/// The program is none of the product's: docs/results/probe.md says what the trial found.
///
/// BLAKE3: one function, fast everywhere. O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020.

#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1024, BLOCK = 64, LANES_MAX = 16, WINDOW = 1 << 20, HUGE_PAGE = 2 << 20, THREADS_MAX = 64 };
enum { CHUNK_START = 1, CHUNK_END = 2, PARENT = 4, ROOT = 8 };

static const uint32_t IV[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                               0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
static const uint8_t ORDER[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};

struct digest {
  uint32_t words[8];
};

static void stop(const char *what) {
  perror(what);
  exit(1);
}

// One at a time ----------------------------------------------------------------------------------------------------

static uint32_t rotated(uint32_t word, unsigned count) { return word >> count | word << (32 - count); }

static void mix(uint32_t v[16], unsigned a, unsigned b, unsigned c, unsigned d, uint32_t x, uint32_t y) {
  v[a] += v[b] + x;
  v[d] = rotated(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = rotated(v[b] ^ v[c], 12);
  v[a] += v[b] + y;
  v[d] = rotated(v[d] ^ v[a], 8);
  v[c] += v[d];
  v[b] = rotated(v[b] ^ v[c], 7);
}

static void compress(struct digest *chain, const uint8_t block[BLOCK], unsigned size, uint64_t counter,
                     uint32_t flags) {
  uint32_t v[16], m[16], next[16];
  memcpy(v, chain, 32);
  memcpy(v + 8, IV, 16);
  v[12] = (uint32_t)counter;
  v[13] = (uint32_t)(counter >> 32);
  v[14] = size;
  v[15] = flags;
  memcpy(m, block, BLOCK);
  for (unsigned round = 0;; round++) {
    for (unsigned i = 0; i < 4; i++) mix(v, i, 4 + i, 8 + i, 12 + i, m[2 * i], m[2 * i + 1]);
    for (unsigned i = 0; i < 4; i++) {
      mix(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i], m[9 + 2 * i]);
    }
    if (round == 6) break;
    for (unsigned i = 0; i < 16; i++) next[i] = m[ORDER[i]];
    memcpy(m, next, sizeof m);
  }
  for (unsigned i = 0; i < 8; i++) chain->words[i] = v[i] ^ v[i + 8];
}

static struct digest parent(const struct digest *left, const struct digest *right, uint32_t flags) {
  uint8_t block[BLOCK];
  struct digest chain;
  memcpy(chain.words, IV, sizeof IV);
  memcpy(block, left, 32);
  memcpy(block + 32, right, 32);
  compress(&chain, block, BLOCK, 0, PARENT | flags);
  return chain;
}

static struct digest chunk(const uint8_t *bytes, size_t size, uint64_t counter, uint32_t flags) {
  struct digest chain;
  uint32_t start = CHUNK_START;
  memcpy(chain.words, IV, sizeof IV);
  while (size > BLOCK) {
    compress(&chain, bytes, BLOCK, counter, start);
    start = 0;
    bytes += BLOCK;
    size -= BLOCK;
  }
  uint8_t last[BLOCK] = {0};
  if (size > 0) memcpy(last, bytes, size);
  compress(&chain, last, (unsigned)size, counter, start | CHUNK_END | flags);
  return chain;
}

static const uint8_t SCHEDULE[7][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},  {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8},
    {3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1},  {10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6},
    {12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4},  {9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7},
    {11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13},
};

/// Several inputs of `blocks` whole blocks each, `stride` bytes apart. Chunks count on; parents count nothing.
struct inputs {
  const uint8_t *bytes;
  size_t stride;
  unsigned blocks;
  uint64_t counter;
  uint32_t flags, first, last;
};

static uint32_t flags_at(const struct inputs *inputs, unsigned block) {
  return inputs->flags | (block == 0 ? inputs->first : 0) | (block + 1 == inputs->blocks ? inputs->last : 0);
}

static void counters(uint32_t lows[LANES_MAX], uint32_t highs[LANES_MAX], const struct inputs *inputs) {
  for (unsigned i = 0; i < LANES_MAX; i++) {
    uint64_t counter = (inputs->flags & PARENT) != 0 ? 0 : inputs->counter + i;
    lows[i] = (uint32_t)counter;
    highs[i] = (uint32_t)(counter >> 32);
  }
}

// Eight at a time --------------------------------------------------------------------------------------------------

static inline __m256i turn16(__m256i x) {
  return _mm256_shuffle_epi8(x, _mm256_set_epi8(13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2, 13, 12, 15, 14, 9,
                                                8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2));
}
static inline __m256i turn8(__m256i x) {
  return _mm256_shuffle_epi8(x, _mm256_set_epi8(12, 15, 14, 13, 8, 11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1, 12, 15, 14, 13, 8,
                                                11, 10, 9, 4, 7, 6, 5, 0, 3, 2, 1));
}
static inline __m256i turn12(__m256i x) { return _mm256_or_si256(_mm256_srli_epi32(x, 12), _mm256_slli_epi32(x, 20)); }
static inline __m256i turn7(__m256i x) { return _mm256_or_si256(_mm256_srli_epi32(x, 7), _mm256_slli_epi32(x, 25)); }

#define ADD _mm256_add_epi32
#define XOR _mm256_xor_si256

static inline void mix_eight(__m256i v[16], unsigned a, unsigned b, unsigned c, unsigned d, __m256i x, __m256i y) {
  v[a] = ADD(ADD(v[a], v[b]), x);
  v[d] = turn16(XOR(v[d], v[a]));
  v[c] = ADD(v[c], v[d]);
  v[b] = turn12(XOR(v[b], v[c]));
  v[a] = ADD(ADD(v[a], v[b]), y);
  v[d] = turn8(XOR(v[d], v[a]));
  v[c] = ADD(v[c], v[d]);
  v[b] = turn7(XOR(v[b], v[c]));
}

/// Eight rows of eight words become eight columns.
static inline void transpose(__m256i r[8]) {
  __m256i a[8], b[8];
  for (unsigned i = 0; i < 4; i++) {
    a[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  for (unsigned i = 0; i < 2; i++) {
    b[4 * i] = _mm256_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm256_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm256_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm256_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
  for (unsigned i = 0; i < 4; i++) {
    r[i] = _mm256_permute2x128_si256(b[i], b[4 + i], 0x20);
    r[4 + i] = _mm256_permute2x128_si256(b[i], b[4 + i], 0x31);
  }
}

static void eight(struct digest *out, const struct inputs *inputs) {
  uint32_t lows[LANES_MAX], highs[LANES_MAX];
  __m256i h[8], v[16], m[16];
  counters(lows, highs, inputs);
  for (unsigned i = 0; i < 8; i++) h[i] = _mm256_set1_epi32((int)IV[i]);
  for (unsigned block = 0; block < inputs->blocks; block++) {
    for (unsigned i = 0; i < 8; i++) {
      const uint8_t *at = inputs->bytes + i * inputs->stride + (size_t)block * BLOCK;
      m[i] = _mm256_loadu_si256((const __m256i *)(const void *)at);
      m[8 + i] = _mm256_loadu_si256((const __m256i *)(const void *)(at + 32));
      _mm_prefetch((const char *)at + 4 * BLOCK, _MM_HINT_T0);
    }
    transpose(m);
    transpose(m + 8);
    for (unsigned i = 0; i < 8; i++) v[i] = h[i];
    for (unsigned i = 0; i < 4; i++) v[8 + i] = _mm256_set1_epi32((int)IV[i]);
    v[12] = _mm256_loadu_si256((const __m256i *)(const void *)lows);
    v[13] = _mm256_loadu_si256((const __m256i *)(const void *)highs);
    v[14] = _mm256_set1_epi32(BLOCK);
    v[15] = _mm256_set1_epi32((int)flags_at(inputs, block));
#pragma GCC unroll 7
    for (unsigned round = 0; round < 7; round++) {
      const uint8_t *s = SCHEDULE[round];
#pragma GCC unroll 4
      for (unsigned i = 0; i < 4; i++) mix_eight(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
#pragma GCC unroll 4
      for (unsigned i = 0; i < 4; i++) {
        mix_eight(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
      }
    }
    for (unsigned i = 0; i < 8; i++) h[i] = XOR(v[i], v[8 + i]);
  }
  transpose(h);
  for (unsigned i = 0; i < 8; i++) _mm256_storeu_si256((__m256i *)(void *)&out[i], h[i]);
}

// Sixteen at a time ------------------------------------------------------------------------------------------------

#define WIDE __attribute__((target("avx512f")))

WIDE static inline void mix_sixteen(__m512i v[16], unsigned a, unsigned b, unsigned c, unsigned d, __m512i x,
                                    __m512i y) {
  v[a] = _mm512_add_epi32(_mm512_add_epi32(v[a], v[b]), x);
  v[d] = _mm512_ror_epi32(_mm512_xor_si512(v[d], v[a]), 16);
  v[c] = _mm512_add_epi32(v[c], v[d]);
  v[b] = _mm512_ror_epi32(_mm512_xor_si512(v[b], v[c]), 12);
  v[a] = _mm512_add_epi32(_mm512_add_epi32(v[a], v[b]), y);
  v[d] = _mm512_ror_epi32(_mm512_xor_si512(v[d], v[a]), 8);
  v[c] = _mm512_add_epi32(v[c], v[d]);
  v[b] = _mm512_ror_epi32(_mm512_xor_si512(v[b], v[c]), 7);
}

/// Sixteen rows of sixteen words become sixteen columns.
WIDE static inline void transpose_sixteen(__m512i r[16]) {
  __m512i t[16], u[16];
  for (unsigned i = 0; i < 8; i++) {
    t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  for (unsigned i = 0; i < 4; i++) {
    u[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    u[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    u[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (unsigned i = 0; i < 4; i++) {
    __m512i a = _mm512_shuffle_i32x4(u[i], u[4 + i], 0x88), b = _mm512_shuffle_i32x4(u[i], u[4 + i], 0xDD);
    __m512i c = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0x88), d = _mm512_shuffle_i32x4(u[8 + i], u[12 + i], 0xDD);
    r[i] = _mm512_shuffle_i32x4(a, c, 0x88);
    r[4 + i] = _mm512_shuffle_i32x4(b, d, 0x88);
    r[8 + i] = _mm512_shuffle_i32x4(a, c, 0xDD);
    r[12 + i] = _mm512_shuffle_i32x4(b, d, 0xDD);
  }
}

WIDE static void sixteen(struct digest *out, const struct inputs *inputs) {
  uint32_t lows[LANES_MAX], highs[LANES_MAX];
  __m512i h[16], v[16], m[16];
  counters(lows, highs, inputs);
  for (unsigned i = 0; i < 16; i++) h[i] = _mm512_set1_epi32((int)IV[i % 8]);
  for (unsigned block = 0; block < inputs->blocks; block++) {
    for (unsigned i = 0; i < 16; i++) {
      const uint8_t *at = inputs->bytes + i * inputs->stride + (size_t)block * BLOCK;
      m[i] = _mm512_loadu_si512(at);
      _mm_prefetch((const char *)at + 4 * BLOCK, _MM_HINT_T0);
    }
    transpose_sixteen(m);
    for (unsigned i = 0; i < 8; i++) v[i] = h[i];
    for (unsigned i = 0; i < 4; i++) v[8 + i] = _mm512_set1_epi32((int)IV[i]);
    v[12] = _mm512_loadu_si512(lows);
    v[13] = _mm512_loadu_si512(highs);
    v[14] = _mm512_set1_epi32(BLOCK);
    v[15] = _mm512_set1_epi32((int)flags_at(inputs, block));
#pragma GCC unroll 7
    for (unsigned round = 0; round < 7; round++) {
      const uint8_t *s = SCHEDULE[round];
#pragma GCC unroll 4
      for (unsigned i = 0; i < 4; i++) mix_sixteen(v, i, 4 + i, 8 + i, 12 + i, m[s[2 * i]], m[s[2 * i + 1]]);
#pragma GCC unroll 4
      for (unsigned i = 0; i < 4; i++) {
        mix_sixteen(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
      }
    }
    for (unsigned i = 0; i < 8; i++) h[i] = _mm512_xor_si512(v[i], v[8 + i]);
  }
  transpose_sixteen(h);
  for (unsigned i = 0; i < 16; i++) _mm256_storeu_si256((__m256i *)(void *)&out[i], _mm512_castsi512_si256(h[i]));
}

// The tree ---------------------------------------------------------------------------------------------------------

/// The chaining value of a whole window: a complete subtree of 1,024 chunks.
static struct digest window_of(const uint8_t *bytes, uint64_t counter) {
  const int is_wide = __builtin_cpu_supports("avx512f") != 0;
  const unsigned lanes = is_wide ? 16 : 8;
  void (*const several)(struct digest *, const struct inputs *) = is_wide ? sixteen : eight;
  struct digest level[WINDOW / CHUNK];
  unsigned count = WINDOW / CHUNK;
  for (unsigned i = 0; i < count; i += lanes) {
    const struct inputs chunks = {bytes + (size_t)i * CHUNK, CHUNK, CHUNK / BLOCK, counter + i,
                                  0, CHUNK_START, CHUNK_END};
    several(level + i, &chunks);
  }
  for (count /= 2; count >= lanes; count /= 2) {
    for (unsigned i = 0; i < count; i += lanes) {
      const struct inputs pairs = {(const uint8_t *)(level + 2 * i), BLOCK, 1, 0, PARENT, 0, 0};
      struct digest parents[LANES_MAX];
      several(parents, &pairs);
      memcpy(level + i, parents, lanes * sizeof parents[0]);
    }
  }
  for (; count > 0; count /= 2) {
    for (unsigned i = 0; i < count; i++) level[i] = parent(&level[2 * i], &level[2 * i + 1], 0);
  }
  return level[0];
}

/// Any part: the left subtree is the largest complete one.
static struct digest part_of(const uint8_t *bytes, size_t size, uint64_t counter, uint32_t flags) {
  size_t left = CHUNK;
  if (size <= CHUNK) return chunk(bytes, size, counter, flags);
  while (left * 2 < size) left *= 2;
  struct digest first = part_of(bytes, left, counter, 0);
  struct digest second = part_of(bytes + left, size - left, counter + left / CHUNK, 0);
  return parent(&first, &second, flags);
}

static struct digest join(const struct digest *windows, size_t count, uint32_t flags) {
  size_t left = 1;
  if (count == 1) return windows[0];
  while (left * 2 < count) left *= 2;
  struct digest first = join(windows, left, 0), second = join(windows + left, count - left, 0);
  return parent(&first, &second, flags);
}

struct work {
  int file;
  const uint8_t *map;  ///< NULL where windows are read.
  int is_huge;
  uint64_t size;
  size_t windows;
  struct digest *found;
  atomic_size_t next;
};

static void *hash_windows(void *argument) {
  struct work *work = argument;
  uint8_t *buffer = NULL;
  if (work->map == NULL) {
    if (posix_memalign((void **)&buffer, HUGE_PAGE, HUGE_PAGE) != 0) stop("memory");
    if (work->is_huge) (void)madvise(buffer, HUGE_PAGE, MADV_HUGEPAGE);
  }
  for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->windows;) {
    uint64_t at = (uint64_t)i * WINDOW;
    size_t size = work->size - at < WINDOW ? (size_t)(work->size - at) : WINDOW;
    const uint8_t *bytes = work->map != NULL ? work->map + at : buffer;
    for (size_t done = 0; work->map == NULL && done < size;) {
      ssize_t count = pread(work->file, buffer + done, size - done, (off_t)(at + done));
      if (count <= 0) stop("read");
      done += (size_t)count;
    }
    uint32_t root = work->windows == 1 ? ROOT : 0;
    work->found[i] =
        size == WINDOW && root == 0 ? window_of(bytes, at / CHUNK) : part_of(bytes, size, at / CHUNK, root);
  }
  free(buffer);
  return NULL;
}

int main(int argc, char **argv) {
  struct work work = {0};
  struct stat status;
  pthread_t threads[THREADS_MAX];
  unsigned long count;
  if (argc != 4 || !__builtin_cpu_supports("avx2")) {
    (void)fprintf(stderr, "usage: probe-tree read|huge|map THREADS FILE (on a processor with AVX2)\n");
    return 2;
  }
  count = strtoul(argv[2], NULL, 10);
  if (count == 0 || count > THREADS_MAX) return 2;
  work.file = open(argv[3], O_RDONLY | O_CLOEXEC);
  if (work.file < 0 || fstat(work.file, &status) != 0) stop(argv[3]);
  work.size = (uint64_t)status.st_size;
  work.windows = work.size == 0 ? 1 : (size_t)((work.size + WINDOW - 1) / WINDOW);
  work.is_huge = strcmp(argv[1], "huge") == 0;
  if (strcmp(argv[1], "map") == 0 && work.size > 0) {
    void *map = mmap(NULL, work.size, PROT_READ, MAP_SHARED, work.file, 0);
    if (map == MAP_FAILED) stop("mmap");
    (void)madvise(map, work.size, MADV_SEQUENTIAL);
    work.map = map;
  }
  work.found = calloc(work.windows, sizeof *work.found);
  if (work.found == NULL) stop("memory");
  for (unsigned long i = 1; i < count; i++) {
    if (pthread_create(&threads[i], NULL, hash_windows, &work) != 0) stop("thread");
  }
  (void)hash_windows(&work);
  for (unsigned long i = 1; i < count; i++) (void)pthread_join(threads[i], NULL);
  struct digest digest = join(work.found, work.windows, ROOT);
  const uint8_t *bytes = (const uint8_t *)digest.words;
  for (unsigned i = 0; i < 32; i++) (void)printf("%02x", bytes[i]);
  (void)printf("  %s\n", argv[3]);
  return 0;
}
