// SPDX-License-Identifier: Apache-2.0

/// libsodium is the oracle of every kernel and of the tree rule.

#define _GNU_SOURCE

#include "hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "hash/fold.h"
#include "hash/lanes.h"
#include "hash/machine.h"
#include "page.h"
#include "probe_suites.h"
#include "tree.h"

static const enum pfp_kernel kernels[] = {PFP_KERNEL_PORTABLE, PFP_KERNEL_X4, PFP_KERNEL_X8, PFP_KERNEL_BEST};
enum { KERNELS = sizeof kernels / sizeof kernels[0] };

static const char *const names[] = {"best", "portable", "x4", "x8"};
static const char *const roles[PFP_ROLES] = {PFP_ROLE_CONTENT, PFP_ROLE_TREE,  PFP_ROLE_LEAF,
                                             PFP_ROLE_LINK,    PFP_ROLE_ENTRY, PFP_ROLE_BUNDLE};

struct fixture {
  struct page_key page;
  struct pfp_hash hash;
};

static bool fixture_make(struct fixture *fixture, struct dice *dice, enum pfp_kernel kernel) {
  dice_fill(dice, fixture->page.key, sizeof fixture->page.key);
  dice_fill(dice, fixture->page.salt, sizeof fixture->page.salt);
  return pfp_hash_init(&fixture->hash, fixture->page.key, fixture->page.salt, kernel) == PFP_OK;
}

// Jobs for the lanes ---------------------------------------------------------------------------------------------

struct batch {
  struct pfp_job jobs[40];
  unsigned count, handed, ended;
};

static struct pfp_job *batch_next(void *user, unsigned lane) {
  struct batch *batch = user;
  (void)lane;
  return batch->handed < batch->count ? &batch->jobs[batch->handed++] : NULL;
}

static void batch_done(void *user, struct pfp_job *job) {
  struct batch *batch = user;
  (void)job;
  batch->ended++;
}

static void batch_run(struct batch *batch, const struct pfp_hash *hash) {
  struct pfp_lanes lanes;
  struct pfp_source_of_jobs source = {batch_next, batch_done, batch};
  batch->handed = batch->ended = 0;
  pfp_lanes_run(&lanes, hash, &source);
}

static const uint8_t *noise(size_t size) {
  static uint8_t *bytes;
  static size_t have;
  if (have < size) {
    struct dice dice = {99};
    free(bytes);
    bytes = malloc(size);
    if (bytes == NULL) abort();
    have = size;
    dice_fill(&dice, bytes, size);
  }
  return bytes;
}

/// Random leaves, 1 to 40 at once, of 0 to 9,000 bytes, every role, any alignment.
static void random_leaves_as_libsodium(void) {
  const unsigned wanted = options.thorough ? 1000000 : 20000;
  const uint8_t *bytes = noise(1 << 20);
  struct dice dice = {1};
  unsigned compared = 0;
  for (unsigned k = 0; k < KERNELS; k++) {
    unsigned hashed = 0;
    if (!pfp_kernel_available(kernels[k])) continue;
    while (hashed < wanted) {
      struct fixture fixture;
      struct batch batch;
      REQUIRE(CHECK(fixture_make(&fixture, &dice, kernels[k])));
      batch.count = 1 + dice_below(&dice, 40);
      // Most are short, so that block edges and refills are frequent; some are whole leaves.
      uint32_t longest = dice_below(&dice, 16) == 0 ? PFP_LEAF_BYTES : dice_below(&dice, 4) == 0 ? 9000 : 600;
      for (unsigned i = 0; i < batch.count; i++) {
        batch.jobs[i].bytes = bytes + dice_below(&dice, 1 << 19);
        batch.jobs[i].size = dice_below(&dice, longest + 1);
        batch.jobs[i].role = (uint8_t)dice_below(&dice, PFP_ROLES);
      }
      batch_run(&batch, &fixture.hash);
      REQUIRE(CHECK_COUNT(batch.ended, batch.count));
      for (unsigned i = 0; i < batch.count; i++) {
        uint8_t expected[32];
        const struct pfp_job *job = &batch.jobs[i];
        page_hash(expected, &fixture.page, roles[job->role], job->bytes, job->size);
        test_case("%s, job %u of %u, %zu bytes, %s", names[kernels[k]], i, batch.count, job->size, roles[job->role]);
        REQUIRE(CHECK_BYTES(job->digest, expected, 32));
      }
      hashed += batch.count;
    }
    compared += hashed;
  }
  test_note("%u random leaves compared with libsodium", compared);
}

static void block_edges(void) {
  const uint8_t *bytes = noise(1 << 20);
  struct dice dice = {2};
  for (unsigned k = 0; k < KERNELS; k++) {
    struct fixture fixture;
    if (!pfp_kernel_available(kernels[k])) continue;
    REQUIRE(CHECK(fixture_make(&fixture, &dice, kernels[k])));
    for (size_t size = 0; size <= 1200; size++) {
      // Beside others of other lengths, so that the edge falls anywhere in a run.
      struct batch batch = {.count = 9};
      for (unsigned i = 0; i < batch.count; i++) {
        batch.jobs[i] = (struct pfp_job){.bytes = bytes + i, .size = i == size % 9 ? size : 128 * i, .role = PFP_LEAF};
      }
      batch_run(&batch, &fixture.hash);
      for (unsigned i = 0; i < batch.count; i++) {
        uint8_t expected[32];
        page_hash(expected, &fixture.page, PFP_ROLE_LEAF, batch.jobs[i].bytes, batch.jobs[i].size);
        test_case("%s, %zu bytes", names[kernels[k]], batch.jobs[i].size);
        REQUIRE(CHECK_BYTES(batch.jobs[i].digest, expected, 32));
      }
    }
  }
}

static void contents_follow_the_tree_rule(void) {
  static const size_t sizes[] = {
      0,      1,      127,    128,    129,    65535,  65536,         65537,          131071,
      131072, 131073, 655360, 655361, 786431, 917504, 8 * 65536 + 1, 15 * 65536 - 1, 1 << 20,
  };
  enum { SIZES = sizeof sizes / sizeof sizes[0] };
  const uint8_t *bytes = noise(1 << 20);
  struct dice dice = {3};
  for (unsigned k = 0; k < KERNELS; k++) {
    struct fixture fixture;
    struct pfp_content together[SIZES];
    if (!pfp_kernel_available(kernels[k])) continue;
    REQUIRE(CHECK(fixture_make(&fixture, &dice, kernels[k])));
    for (unsigned i = 0; i < SIZES; i++) together[i] = (struct pfp_content){.bytes = bytes, .size = sizes[i]};
    pfp_hash_contents(&fixture.hash, together, SIZES);
    for (unsigned i = 0; i < SIZES; i++) {
      uint8_t expected[32];
      struct pfp_content alone = {.bytes = bytes, .size = sizes[i]};
      page_content(expected, &fixture.page, bytes, sizes[i]);
      test_case("%s, %zu bytes", names[kernels[k]], sizes[i]);
      CHECK_BYTES(together[i].digest, expected, 32);
      pfp_hash_contents(&fixture.hash, &alone, 1);
      CHECK_BYTES(alone.digest, expected, 32);
      memset(alone.digest, 0, sizeof alone.digest);
      pfp_hash_contents_shared(&fixture.hash, &alone, 1);
      CHECK_BYTES(alone.digest, expected, 32);
    }
  }
}

/// One long leaf holds back the tree while hundreds of short contents end: more than are kept in flight.
static void many_contents_in_any_order(void) {
  enum { COUNT = 700 };
  static struct pfp_content contents[COUNT];
  const uint8_t *bytes = noise(1 << 20);
  struct dice dice = {4};
  for (unsigned k = 0; k < KERNELS; k++) {
    struct fixture fixture;
    if (!pfp_kernel_available(kernels[k])) continue;
    REQUIRE(CHECK(fixture_make(&fixture, &dice, kernels[k])));
    for (unsigned i = 0; i < COUNT; i++) {
      size_t size = i % 97 == 0 ? 200000 : dice_below(&dice, 40);
      contents[i] = (struct pfp_content){.bytes = size == 0 ? NULL : bytes + i, .size = size};
    }
    for (unsigned threads = 1; threads <= 2; threads++) {
      for (unsigned i = 0; i < COUNT; i++) memset(contents[i].digest, 0, sizeof contents[i].digest);
      (threads == 1 ? pfp_hash_contents : pfp_hash_contents_shared)(&fixture.hash, contents, COUNT);
      for (unsigned i = 0; i < COUNT; i++) {
        uint8_t expected[32];
        page_content(expected, &fixture.page, contents[i].bytes, contents[i].size);
        test_case("%s, %u threads, content %u", names[kernels[k]], threads, i);
        REQUIRE(CHECK_BYTES(contents[i].digest, expected, 32));
      }
    }
  }
}

static void key_salt_and_role_matter(void) {
  struct dice dice = {5};
  struct fixture fixture;
  uint8_t plain[32], other[32];
  REQUIRE(CHECK(fixture_make(&fixture, &dice, PFP_KERNEL_BEST)));
  pfp_hash_one(plain, &fixture.hash, PFP_CONTENT, "abc", 3);
  for (unsigned role = 1; role < PFP_ROLES; role++) {
    pfp_hash_one(other, &fixture.hash, (enum pfp_role)role, "abc", 3);
    CHECK_DIFFER(plain, other, 32);
  }
  for (unsigned byte = 0; byte < sizeof fixture.page.key + sizeof fixture.page.salt; byte++) {
    struct fixture changed = fixture;
    if (byte < sizeof fixture.page.key) {
      changed.page.key[byte] ^= 1;
    } else {
      changed.page.salt[byte - sizeof fixture.page.key] ^= 1;
    }
    REQUIRE(CHECK_NUMBER(pfp_hash_init(&changed.hash, changed.page.key, changed.page.salt, PFP_KERNEL_BEST), PFP_OK));
    struct pfp_content content = {.bytes = (const uint8_t *)"abc", .size = 3};
    pfp_hash_contents(&changed.hash, &content, 1);
    CHECK_DIFFER(plain, content.digest, 32);
  }
}

/// The bytes that a tree hashes have another digest when offered as a short content.
static void a_tree_is_no_content(void) {
  struct dice dice = {6};
  struct fixture fixture;
  const uint8_t *bytes = noise(1 << 20);
  struct pfp_content whole = {.bytes = bytes, .size = 65537};
  uint8_t message[8 + 64];
  REQUIRE(CHECK(fixture_make(&fixture, &dice, PFP_KERNEL_BEST)));
  put64(message, 65537);
  page_hash(message + 8, &fixture.page, PFP_ROLE_LEAF, bytes, 65536);
  page_hash(message + 40, &fixture.page, PFP_ROLE_LEAF, bytes + 65536, 1);
  struct pfp_content forged = {.bytes = message, .size = sizeof message};
  pfp_hash_contents(&fixture.hash, &whole, 1);
  pfp_hash_contents(&fixture.hash, &forged, 1);
  CHECK_DIFFER(whole.digest, forged.digest, 32);
}

static void kernels_that_do_not_exist(void) {
  struct fixture fixture;
  memset(&fixture, 0, sizeof fixture);
  CHECK_NUMBER(pfp_hash_init(&fixture.hash, fixture.page.key, fixture.page.salt, (enum pfp_kernel)4), PFP_E_ARGUMENT);
  CHECK_NUMBER(pfp_kernel_available((enum pfp_kernel)4), 0);
  for (unsigned k = 0; k < KERNELS; k++) {
    int expected = pfp_kernel_available(kernels[k]) ? PFP_OK : PFP_E_ARGUMENT;
    CHECK_NUMBER(pfp_hash_init(&fixture.hash, fixture.page.key, fixture.page.salt, kernels[k]), expected);
  }
  test_note("this machine runs: portable%s%s", pfp_kernel_available(PFP_KERNEL_X4) ? ", x4" : "",
            pfp_kernel_available(PFP_KERNEL_X8) ? ", x8" : "");
}

static void the_widest_kernel_is_the_best(void) {
  CHECK_NUMBER(pfp_kernel_best(false, false), PFP_KERNEL_PORTABLE);
  CHECK_NUMBER(pfp_kernel_best(true, false), PFP_KERNEL_X4);
  CHECK_NUMBER(pfp_kernel_best(false, true), PFP_KERNEL_X8);
  CHECK_NUMBER(pfp_kernel_best(true, true), PFP_KERNEL_X8);
}

/// The compiler's own questions to the processor, as an oracle.
static void kernels_of_this_machine(void) {
#if defined(__x86_64__)
  CHECK(pfp_machine_has_x4() == (__builtin_cpu_supports("avx2") != 0));
  CHECK(pfp_machine_has_x8() == (__builtin_cpu_supports("avx512f") != 0));
#else
  CHECK(!pfp_machine_has_x4() && !pfp_machine_has_x8());
#endif
  CHECK_NUMBER(pfp_kernel_available(PFP_KERNEL_BEST), 1);
  CHECK_NUMBER(pfp_kernel_available(PFP_KERNEL_PORTABLE), 1);
  CHECK_NUMBER(pfp_kernel_available(PFP_KERNEL_X4), pfp_machine_has_x4());
  CHECK_NUMBER(pfp_kernel_available(PFP_KERNEL_X8), pfp_machine_has_x8());
}

static void a_kernel_is_the_one_asked_for(void) {
  static const unsigned widths[] = {1, 1, 4, 8};
  struct dice dice = {7};
  for (unsigned kernel = PFP_KERNEL_BEST; kernel <= PFP_KERNEL_X8; kernel++) {
    struct fixture fixture;
    unsigned best = pfp_machine_has_x8() ? 3 : pfp_machine_has_x4() ? 2 : 1;
    test_case("%s", names[kernel]);
    CHECK_NUMBER(pfp_kernel_width((enum pfp_kernel)kernel), widths[kernel]);
    CHECK((pfp_kernel_compress((enum pfp_kernel)kernel) != NULL) == (kernel > 1 && PFP_HAVE_X86_KERNELS));
    if (!pfp_kernel_available((enum pfp_kernel)kernel)) continue;
    REQUIRE(CHECK(fixture_make(&fixture, &dice, (enum pfp_kernel)kernel)));
    CHECK_NUMBER(fixture.hash.kernel, kernel == PFP_KERNEL_BEST ? best : kernel);
    CHECK_BYTES(fixture.hash.key, fixture.page.key, 32);
    CHECK_BYTES(fixture.hash.salt, fixture.page.salt, 16);
  }
  CHECK(pfp_kernel_compress(PFP_KERNEL_X4) != pfp_kernel_compress(PFP_KERNEL_X8) || !PFP_HAVE_X86_KERNELS);
}

/// A content of 64 KiB is one leaf, and one byte more makes two.
static void leaves_of_a_content(void) {
  static const struct {
    uint64_t size, leaves;
  } cases[] = {{0, 0},      {1, 0},      {65535, 0},  {65536, 0},  {65537, 2},
               {131072, 2}, {131073, 3}, {196608, 3}, {196609, 4}, {UINT64_C(1) << 50, UINT64_C(1) << 34}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%llu bytes", (unsigned long long)cases[i].size);
    CHECK_COUNT(pfp_leaf_count(cases[i].size), cases[i].leaves);
  }
}

static void folds_in_pieces(void) {
  static const uint8_t message[] = {0xAB, 0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01, 0x34, 0x12, 'x', 'y'};
  struct dice dice = {8};
  struct fixture fixture;
  REQUIRE(CHECK(fixture_make(&fixture, &dice, PFP_KERNEL_BEST)));
  for (unsigned role = 0; role < PFP_ROLES; role++) {
    struct pfp_fold fold;
    uint8_t digest[32], expected[32];
    test_case("%s", roles[role]);
    CHECK_BYTES(pfp_role_bytes((enum pfp_role)role), roles[role], 16);
    pfp_fold_init(&fold, &fixture.hash, (enum pfp_role)role);
    pfp_fold_number(&fold, 0xAB, 1);
    pfp_fold_number(&fold, UINT64_C(0x0123456789ABCDEF), 8);
    pfp_fold_number(&fold, 0x1234, 2);
    pfp_fold_update(&fold, "xy", 2);
    pfp_fold_final(digest, &fold);
    page_hash(expected, &fixture.page, roles[role], message, sizeof message);
    CHECK_BYTES(digest, expected, 32);
  }
}

static bool without_a_thread(void *user) {
  struct pfp_content contents[3], expected[3];
  struct rlimit none = {1, 1};
  struct dice dice = {9};
  struct fixture fixture;
  (void)user;
  become_ordinary();
  // An ordinary user's other processes count: at least this one is there.
  if (setrlimit(RLIMIT_NPROC, &none) != 0 || !fixture_make(&fixture, &dice, PFP_KERNEL_BEST)) return false;
  for (unsigned i = 0; i < 3; i++) {
    contents[i] = expected[i] = (struct pfp_content){.bytes = noise(1 << 20), .size = 70000 * (size_t)i};
  }
  pfp_hash_contents(&fixture.hash, expected, 3);
  pfp_hash_contents_shared(&fixture.hash, contents, 3);
  bool good = true;
  for (unsigned i = 0; i < 3; i++) good = CHECK_BYTES(contents[i].digest, expected[i].digest, 32) && good;
  return good;
}

static void hashed_alone_without_a_thread(void) {
  if (!SANITIZED) CHECK(in_child(without_a_thread, NULL));
}

static const struct test tests[] = {
    TEST("random leaves have libsodium's digest in every kernel", random_leaves_as_libsodium),
    TEST("every length around a block's edge has libsodium's digest in every kernel", block_edges),
    TEST("short and long contents follow the tree rule in every kernel", contents_follow_the_tree_rule),
    TEST("contents end in any order and keep their own digests", many_contents_in_any_order),
    TEST("each bit of key and salt, and the role, changes the digest", key_salt_and_role_matter),
    TEST("the bytes a tree hashes are not a content with the tree's digest", a_tree_is_no_content),
    TEST("a kernel that does not exist or cannot run is refused", kernels_that_do_not_exist),
    TEST("the best kernel is the widest that the machine can run", the_widest_kernel_is_the_best),
    TEST("this machine's kernels are those that the compiler finds", kernels_of_this_machine),
    TEST("a prepared kernel is the one that was asked for", a_kernel_is_the_one_asked_for),
    TEST("a content of more than 64 KiB has leaves", leaves_of_a_content),
    TEST("a message folded in pieces has the digest of the whole", folds_in_pieces),
    TEST("contents are hashed by one thread if no second one can be started", hashed_alone_without_a_thread),
};

const struct suite hash_suite = SUITE("hash", tests);
