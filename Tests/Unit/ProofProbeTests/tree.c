// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

static char scratch[400];
static unsigned made;

static void die(const char *what, const char *path) {
  printf("%s: %s: %s\n", what, path, strerror(errno));
  exit(2);
}

/// By the tool that knows paths longer than paths can be.
static void drop(const char *path) {
  char command[700];
  (void)snprintf(command, sizeof command, "rm -rf --one-file-system '%s'", path);
  if (system(command) != 0) die("rm", path);
}

static pid_t owner;

static void clean(void) {
  if (getpid() == owner) drop(scratch);
}

void tree_scratch(const char *folder) {
  char absolute[300];
  if (mkdir(folder, 0755) != 0 && errno != EEXIST) die("mkdir", folder);
  if (folder[0] == '/') {
    (void)snprintf(absolute, sizeof absolute, "%s", folder);
  } else {
    char here[200];
    if (getcwd(here, sizeof here) == NULL) die("getcwd", ".");
    (void)snprintf(absolute, sizeof absolute, "%s/%s", here, folder);
  }
  // Ordinary users of tests that give up rights must get there.
  (void)snprintf(scratch, sizeof scratch, "%s/%d", absolute, (int)getpid());
  drop(scratch);
  if (mkdir(scratch, 0755) != 0) die("mkdir", scratch);
  owner = getpid();
  if (atexit(clean) != 0) exit(2);
}

struct tree tree_make(void) {
  struct tree tree;
  (void)snprintf(tree.root, sizeof tree.root, "%s/t%u", scratch, made++);
  drop(tree.root);
  if (mkdir(tree.root, 0755) != 0 || chmod(tree.root, 0755) != 0) die("mkdir", tree.root);
  return tree;
}

const char *tree_path(const struct tree *tree, const char *path) {
  static char buffers[4][8192];
  static unsigned turn;
  char *buffer = buffers[turn++ % 4];
  (void)snprintf(buffer, sizeof buffers[0], "%s/%s", tree->root, path);
  return buffer;
}

void tree_file(const struct tree *tree, const char *path, const void *bytes, size_t size) {
  const char *full = tree_path(tree, path);
  int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, bytes, size) != (ssize_t)size || fchmod(fd, 0644) != 0 || close(fd) != 0) die("write", full);
}

void tree_text(const struct tree *tree, const char *path, const char *text) {
  tree_file(tree, path, text, strlen(text));
}

void tree_noise(const struct tree *tree, const char *path, size_t size, uint64_t seed) {
  struct dice dice = {seed};
  uint8_t *bytes = malloc(size + 1);
  if (bytes == NULL) die("malloc", path);
  dice_fill(&dice, bytes, size);
  tree_file(tree, path, bytes, size);
  free(bytes);
}

void tree_folder(const struct tree *tree, const char *path) {
  const char *full = tree_path(tree, path);
  if (mkdir(full, 0755) != 0 || chmod(full, 0755) != 0) die("mkdir", full);
}

void tree_link(const struct tree *tree, const char *path, const char *target) {
  const char *full = tree_path(tree, path);
  if (symlink(target, full) != 0) die("symlink", full);
}

void tree_rename(const struct tree *tree, const char *from, const char *to) {
  if (rename(tree_path(tree, from), tree_path(tree, to)) != 0) die("rename", to);
}

void tree_remove(const struct tree *tree, const char *path) {
  if (remove(tree_path(tree, path)) != 0) die("remove", path);
}

void tree_mode(const struct tree *tree, const char *path, mode_t mode) {
  if (chmod(tree_path(tree, path), mode) != 0) die("chmod", path);
}

void tree_touch(const struct tree *tree, const char *path) {
  const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
  if (utimensat(AT_FDCWD, tree_path(tree, path), times, AT_SYMLINK_NOFOLLOW) != 0) die("utimensat", path);
}

void tree_overwrite(const char *path, off_t offset, char byte) {
  static atomic_uint times;
  const struct timespec own[2] = {{.tv_nsec = UTIME_OMIT},
                                  {.tv_sec = 1000000001 + (time_t)atomic_fetch_add(&times, 1)}};
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || pwrite(fd, &byte, 1, offset) != 1 || futimens(fd, own) != 0 || close(fd) != 0) die("poke", path);
}

void tree_poke(const struct tree *tree, const char *path, off_t offset, char byte) {
  tree_overwrite(tree_path(tree, path), offset, byte);
}

void tree_copy(const struct tree *to, const struct tree *from) {
  char command[2048];
  (void)snprintf(command, sizeof command, "cp -a '%s/.' '%s'", from->root, to->root);
  if (system(command) != 0) die("cp", from->root);
}

void tree_drop(const struct tree *tree) { drop(tree->root); }

struct tree tree_sample(void) {
  struct tree tree = tree_make();
  tree_text(&tree, "readme", "a bundle\n");
  tree_text(&tree, "empty", "");
  tree_folder(&tree, "lib");
  tree_noise(&tree, "lib/one-leaf", 65536, 1);
  tree_noise(&tree, "lib/one-more", 65537, 2);
  tree_noise(&tree, "lib/some-leaves", 300000, 3);
  tree_noise(&tree, "lib/long", 3000001, 4);
  tree_folder(&tree, "lib/deep");
  tree_folder(&tree, "lib/deep/deeper");
  tree_text(&tree, "lib/deep/deeper/leaf", "leaf");
  tree_folder(&tree, "lib-2");
  tree_text(&tree, "lib-2/x", "x");
  tree_folder(&tree, "nothing");
  tree_link(&tree, "link", "lib/long");
  tree_link(&tree, "lib/dangling", "nowhere/at/all");
  if (mkfifo(tree_path(&tree, "fifo"), 0600) != 0) die("mkfifo", "fifo");
  for (unsigned i = 0; i < 40; i++) {
    char name[32];
    (void)snprintf(name, sizeof name, "lib/small-%u", i);
    tree_noise(&tree, name, 37u * i * i, 100 + i);
  }
  return tree;
}

// Measuring ------------------------------------------------------------------------------------------------------

struct pfp_files *files_new(enum pfp_policy policy, uint32_t descriptors) {
  struct pfp_files_options file_options = {
      .key = {1, 2, 3}, .salt = {4, 5, 6}, .policy = (uint8_t)policy, .limit_log2 = 40, .descriptors = descriptors};
  struct pfp_files *files;
  if (pfp_files_create(&files, &file_options) != PFP_OK) die("pfp_files_create", "");
  return files;
}

struct pfp_files *files_workers(unsigned workers) {
  struct pfp_files_options file_options = {.key = {1, 2, 3},
                                           .salt = {4, 5, 6},
                                           .policy = PFP_POLICY_FULL,
                                           .limit_log2 = 40,
                                           .workers = (uint8_t)workers};
  struct pfp_files *files;
  if (pfp_files_create(&files, &file_options) != PFP_OK) die("pfp_files_create", "");
  return files;
}

struct pfp_bundle measure(struct pfp_files *files, const struct tree *tree) {
  struct pfp_bundle bundle;
  CHECK_NUMBER(pfp_files_digest_bundle(files, tree->root, NULL, NULL, &bundle), PFP_OK);
  return bundle;
}

struct pfp_bundle measure_cold(const struct tree *tree) {
  struct pfp_files *files = files_new(PFP_POLICY_FULL, 0);
  struct pfp_bundle bundle = measure(files, tree);
  pfp_files_free(files);
  return bundle;
}

int measure_result(struct pfp_files *files, const struct tree *tree) {
  struct pfp_bundle bundle;
  return pfp_files_digest_bundle(files, tree->root, NULL, NULL, &bundle);
}

bool same_digest(const struct pfp_bundle *a, const struct pfp_bundle *b) {
  return memcmp(a->digest, b->digest, PFP_HASH_BYTES) == 0;
}

bool in_child(bool (*work)(void *), void *user) {
  int status;
  (void)fflush(stdout);
  pid_t child = fork();
  if (child < 0) die("fork", "");
  if (child == 0) {
    bool good = work(user);
    (void)fflush(stdout);
    _exit(good ? 0 : 1);
  }
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) die("waitpid", "");
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void become_ordinary(void) {
  if (geteuid() != 0) return;
  if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) die("setresuid", "");
}
