// SPDX-License-Identifier: Apache-2.0

/// The ring between the calling thread and the workers, without a worker: the test says when an item is done.

#include "jobs/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "jobs/work.h"
#include "probe_suites.h"
#include "tree.h"

enum { ITEMS = 512, MESSAGES = 262144 };

struct ring {
  struct pfp_files *files;
  struct pfp_run *run;
};

static struct ring ring_make(void) {
  struct ring ring = {.files = files_new(PFP_POLICY_FULL, 0)};
  faults_reset();
  CHECK_NUMBER(pfp_run_begin(&ring.run, ring.files, 0), PFP_OK);
  return ring;
}

static void ring_drop(const struct ring *ring) {
  pfp_run_end(ring->run);
  pfp_files_free(ring->files);
}

/// Puts an item with a path of this many bytes in. Whether there was room.
static bool put(struct ring *ring, size_t path_size, char letter) {
  static char path[PFP_PATH_MAX + 1];
  memset(path, letter, sizeof path);
  struct pfp_item *item = pfp_run_item(ring->run, path, path_size);
  if (item == NULL) return false;
  CHECK_COUNT(item->path_size, path_size);
  CHECK_BYTES(pfp_item_path(item), path, path_size);
  // Zeros end the path until the content is known.
  CHECK_ZEROS(item->message, 16);
  CHECK_ZEROS(item->message + 16 + path_size, 32);
  CHECK(item->fd == -1 && item->known_fd == -1 && item->state == PFP_STATE_PRESENT && item->folder == NULL);
  CHECK(!item->is_known && !item->prepared && !item->has_first && item->readings == 0 && item->counted == 0);
  CHECK(item->place == NULL && item->result == PFP_OK && !atomic_load(&item->done));
  pfp_run_fill(ring->run);
  return true;
}

/// Takes the oldest out. Its path is of one letter.
static bool take(struct ring *ring, char letter) {
  int result;
  struct pfp_item *item = pfp_run_oldest(ring->run, false, &result);
  CHECK_NUMBER(result, PFP_OK);
  if (item != NULL) return CHECK(false);
  item = &ring->run->items[ring->run->retired % ITEMS];
  atomic_store(&item->done, true);
  if (!CHECK(pfp_run_oldest(ring->run, true, &result) == item) || !CHECK_NUMBER(result, PFP_OK)) return false;
  bool good = true;
  for (uint32_t i = 0; i < item->path_size; i++) good = good && pfp_item_path(item)[i] == letter;
  // The next item in this place must not find what this one leaves.
  memset(item->message, 0xEE, 16 + item->path_size + 32);
  memset(item->content, 0xEE, 32);
  item->is_known = item->prepared = item->has_first = true;
  item->readings = 2;
  item->counted = 77;
  item->known_fd = item->fd = 1000;
  item->result = PFP_E_LIMIT;
  pfp_run_retire(ring->run);
  return CHECK(good);
}

static void as_many_items(void) {
  struct ring ring = ring_make();
  for (unsigned i = 0; i < ITEMS; i++) REQUIRE(CHECK(put(&ring, 1, (char)('a' + i % 26))));
  CHECK(!put(&ring, 1, 'x'));
  for (unsigned i = 0; i < 3 * ITEMS; i++) {
    test_case("item %u", i);
    REQUIRE(take(&ring, (char)('a' + i % 26)));
    REQUIRE(CHECK(put(&ring, 1, (char)('a' + (i + ITEMS) % 26))));
    REQUIRE(CHECK(!put(&ring, 1, 'x')));
  }
  for (unsigned i = 3 * ITEMS; i < 4 * ITEMS; i++) REQUIRE(take(&ring, (char)('a' + i % 26)));
  int result = 1;
  CHECK(pfp_run_oldest(ring.run, true, &result) == NULL && result == PFP_OK);
  ring_drop(&ring);
}

/// Messages of so many bytes, each with 48 bytes beside its path: as many as fit, without one being cut in two.
static void as_many_bytes(void) {
  static const unsigned sizes[] = {4096, 2048, 4000, 4143, 3999, 1024};
  for (unsigned s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
    unsigned size = sizes[s], fit = MESSAGES / size;
    struct ring ring = ring_make();
    for (unsigned i = 0; i < fit; i++) REQUIRE(CHECK(put(&ring, size - 48, (char)('a' + i % 26))));
    test_case("messages of %u bytes", size);
    CHECK(!put(&ring, size - 48, 'x'));
    // The rest before the end is too small for one more, and for a shorter one it is not.
    unsigned left = MESSAGES - fit * size, taken = 0, in = fit;
    CHECK(put(&ring, left >= 49 ? left - 48 : 1, (char)('a' + in % 26)) == (left >= 49));
    in += left >= 49;
    for (unsigned i = 0; i < 5 * fit; i++) {
      REQUIRE(take(&ring, (char)('a' + taken++ % 26)));
      while (put(&ring, size - 48, (char)('a' + in % 26))) in++;
      CHECK(in - taken <= fit + 1 && in - taken + 1 >= fit);
    }
    while (taken < in) REQUIRE(take(&ring, (char)('a' + taken++ % 26)));
    ring_drop(&ring);
  }
}

/// A message that would go over the end starts over, where the oldest still is: then there is no room.
static void the_end_of_the_messages(void) {
  struct ring ring = ring_make();
  // 260,000 bytes in 65 messages; 2,144 are left at the end.
  for (unsigned i = 0; i < 65; i++) REQUIRE(CHECK(put(&ring, 4000 - 48, 'a')));
  CHECK(!put(&ring, 2145 - 48, 'b'));
  REQUIRE(take(&ring, 'a'));
  // It starts over, in the place of the first one.
  CHECK(!put(&ring, 4001 - 48, 'b'));
  CHECK(put(&ring, 4000 - 48, 'b'));
  CHECK(!put(&ring, 1, 'c'));
  for (unsigned i = 0; i < 64; i++) REQUIRE(take(&ring, 'a'));
  REQUIRE(take(&ring, 'b'));
  ring_drop(&ring);
}

/// A folder stays open as long as an entry of it is under way.
static void folders_of_items(void) {
  struct ring ring = ring_make();
  struct pfp_folder *folder = malloc(sizeof *folder);
  int fd = dup(0);
  REQUIRE(CHECK(folder != NULL && fd >= 0));
  *folder = (struct pfp_folder){.fd = fd, .references = 3};
  ring.run->folders = 1;
  pfp_folder_release(ring.run, NULL);
  for (unsigned i = 0; i < 2; i++) {
    REQUIRE(CHECK(put(&ring, 3, 'a')));
    ring.run->items[i].folder = folder;
  }
  REQUIRE(take(&ring, 'a'));
  CHECK_COUNT(folder->references, 2);
  REQUIRE(take(&ring, 'a'));
  CHECK_COUNT(folder->references, 1);
  CHECK_COUNT(ring.run->folders, 1);
  CHECK(dup2(fd, fd) == fd);
  pfp_folder_release(ring.run, folder);
  CHECK_COUNT(ring.run->folders, 0);
  CHECK(dup2(fd, fd) < 0);
  ring_drop(&ring);
}

/// The sum has what each worker counted.
static void statistics_of_workers(void) {
  struct ring ring = ring_make();
  const struct pfp_files_statistics *sum = pfp_files_statistics(ring.files);
  CHECK_COUNT(ring.run->limit, UINT64_C(1) << 40);
  pfp_run_end(ring.run);
  CHECK_NUMBER(pfp_run_begin(&ring.run, ring.files, 4), PFP_OK);
  CHECK_COUNT(ring.run->workers, 4);
  for (unsigned i = 0; i < 4; i++) {
    ring.run->worker[i].statistics = (struct pfp_files_statistics){
        .files = 1u << i, .files_read = 16u << i, .bytes_read = 256u << i, .retries = 4096u << i,
        .reused = 65536u << i};
  }
  pfp_run_end(ring.run);
  CHECK_COUNT(sum->files, 15);
  CHECK_COUNT(sum->files_read, 15 * 16);
  CHECK_COUNT(sum->bytes_read, 15 * 256);
  CHECK_COUNT(sum->retries, 15 * 4096);
  CHECK_COUNT(sum->reused, 15 * 65536);
  pfp_files_free(ring.files);
}

static const struct test tests[] = {
    TEST("512 entries are under way", as_many_items),
    TEST("messages of 256 KiB are under way, each in one piece", as_many_bytes),
    TEST("a message starts over before the end if it does not fit", the_end_of_the_messages),
    TEST("a folder stays open while entries of it are under way", folders_of_items),
    TEST("statistics of all workers come together", statistics_of_workers),
};

const struct suite run_suite = SUITE("run", tests);
