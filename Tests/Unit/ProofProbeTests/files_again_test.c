// SPDX-License-Identifier: Apache-2.0

/// Rules by which a file may be taken for unchanged the next time. Each stands behind another that would notice too: a
/// test of the outcome alone would not tell that one of them is missing.

#include <stdio.h>
#include <string.h>

#include "files/walk.h"
#include "harness.h"
#include "probe_suites.h"
#include "tree.h"

static void every_field_counts(void) {
  const struct pfp_identity one = {1, 2, 3, 4, 5, 6, 0644, PFP_TYPE_FILE, PFP_GUARD_NONE};
  struct pfp_identity others[8] = {one, one, one, one, one, one, one, one}, same = one;
  others[0].device++;
  others[1].mount++;
  others[2].inode++;
  others[3].size++;
  others[4].changed++;
  others[5].modified++;
  others[6].mode = 0755;
  others[7].type = PFP_TYPE_LINK;
  CHECK(pfp_identity_equal(&one, &same));
  for (unsigned i = 0; i < 8; i++) {
    test_case("field %u", i);
    CHECK(!pfp_identity_equal(&one, &others[i]));
    CHECK(!pfp_identity_equal(&others[i], &one));
  }
}

static const struct tree *touched;

static void touch_it(int fd) {
  (void)fd;
  tree_touch(touched, "one");
}

/// The times move after each reading; the second reading gives the same content, so the digest stands.
static void moved_while_read(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0);
  tree_text(&tree, "one", "content");
  touched = &tree;
  faults_reset();
  faults.after_read = touch_it;
  (void)measure(files, &tree);
  CHECK_COUNT(pfp_files_statistics(files)->retries, 1);
  CHECK(!files->known_whole);
  CHECK_COUNT(files->known.entries, 0);
  faults_reset();
  (void)measure(files, &tree);
  CHECK(files->known_whole);
  CHECK_COUNT(files->known.entries, 1);
  pfp_files_free(files);
  tree_drop(&tree);
}

static void moved_while_listed(void) {
  struct tree tree = tree_make();
  struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0);
  tree_folder(&tree, "folder");
  tree_text(&tree, "folder/one", "content");
  faults_reset();
  faults.folders_move = true;
  (void)measure(files, &tree);
  CHECK(!files->known_whole);
  faults_reset();
  (void)measure(files, &tree);
  CHECK(files->known_whole);
  pfp_files_free(files);
  tree_drop(&tree);
}

/// Names that sort before "a/": all these folders wait for their descent, and some are opened again for it.
static void opened_again(void) {
  char name[32] = "a", inside[48];
  for (unsigned count = PFP_OPENED; count <= PFP_OPENED + 1; count++) {
    struct tree tree = tree_make();
    struct pfp_files *files = files_new(PFP_POLICY_TRUSTING, 0);
    memset(name + 1, 0, sizeof name - 1);
    for (unsigned i = 0; i < count; i++) {
      tree_folder(&tree, name);
      (void)snprintf(inside, sizeof inside, "%s/file", name);
      tree_text(&tree, inside, "text");
      name[i + 1] = '-';
    }
    test_case("%u folders", count);
    faults_reset();
    (void)measure(files, &tree);
    CHECK(files->known_whole == (count <= PFP_OPENED));
    pfp_files_free(files);
    tree_drop(&tree);
  }
}

static const struct test tests[] = {
    TEST("two identities are one only if every field is", every_field_counts),
    TEST("a file that moved while it was read is not kept", moved_while_read),
    TEST("a folder that moved while it was listed is listed again", moved_while_listed),
    TEST("a folder that was opened again for its descent is listed again", opened_again),
};

const struct suite files_again_suite = SUITE("again", tests);
