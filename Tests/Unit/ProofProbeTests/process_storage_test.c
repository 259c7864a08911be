// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_suites.h"
#include "base/secret.h"

static char folder[64], path[128];

/// A new folder of this user alone, and the secret's path in it.
static bool begin(void) {
  (void)strcpy(folder, "/var/tmp/proofkit-storage-XXXXXX");
  if (!CHECK(mkdtemp(folder) != NULL)) return false;
  (void)snprintf(path, sizeof path, "%s/%s", folder, PFP_SECRET_NAME);
  return true;
}

/// The number of files in the folder, which is removed with them.
static int finish(void) {
  int count = 0;
  DIR *listing = opendir(folder);
  const struct dirent *entry;
  while (listing != NULL && (entry = readdir(listing)) != NULL) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    (void)unlinkat(dirfd(listing), entry->d_name, 0);
    count++;
  }
  if (listing != NULL) (void)closedir(listing);
  (void)rmdir(folder);
  return count;
}

static void made_once_and_private(void) {
  uint8_t first[PFP_SECRET_BYTES], second[PFP_SECRET_BYTES];
  struct stat status;
  REQUIRE(begin());
  CHECK_NUMBER(pfp_secret_read(first, folder), PFP_E_MISSING);
  // This file gets 0600 under every umask.
  mode_t mask = umask(0);
  CHECK_NUMBER(pfp_storage_prepare(folder), PFP_OK);
  (void)umask(mask);
  CHECK_NUMBER(stat(path, &status), 0);
  CHECK_NUMBER(status.st_mode & 07777, 0600);
  CHECK_NUMBER(status.st_size, PFP_SECRET_BYTES);
  CHECK_NUMBER(pfp_secret_read(first, folder), PFP_OK);
  CHECK_NUMBER(pfp_storage_prepare(folder), PFP_OK);
  CHECK_NUMBER(pfp_secret_read(second, folder), PFP_OK);
  CHECK_BYTES(second, first, sizeof first);
  CHECK_NUMBER(finish(), 1);
}

static void two_installations_differ(void) {
  uint8_t first[PFP_SECRET_BYTES], second[PFP_SECRET_BYTES];
  REQUIRE(begin());
  CHECK_NUMBER(pfp_storage_prepare(folder), PFP_OK);
  CHECK_NUMBER(pfp_secret_read(first, folder), PFP_OK);
  (void)finish();
  REQUIRE(begin());
  CHECK_NUMBER(pfp_storage_prepare(folder), PFP_OK);
  CHECK_NUMBER(pfp_secret_read(second, folder), PFP_OK);
  CHECK_DIFFER(first, second, sizeof first);
  (void)finish();
}

static void many_at_once_make_one(void) {
  enum { PROCESSES = 16 };
  uint8_t secret[PFP_SECRET_BYTES];
  int gate[2];
  REQUIRE(begin());
  REQUIRE(CHECK_NUMBER(pipe(gate), 0));
  for (int i = 0; i < PROCESSES; i++) {
    if (fork() == 0) {
      char byte;
      uint8_t own[PFP_SECRET_BYTES];
      (void)close(gate[1]);
      (void)!read(gate[0], &byte, 1);  // Until the parent lets all go at once.
      _exit(pfp_storage_prepare(folder) == PFP_OK && pfp_secret_read(own, folder) == PFP_OK ? 0 : 1);
    }
  }
  (void)close(gate[0]);
  (void)close(gate[1]);
  for (int i = 0; i < PROCESSES; i++) {
    int status = -1;
    (void)wait(&status);
    CHECK_NUMBER(status, 0);
  }
  CHECK_NUMBER(pfp_secret_read(secret, folder), PFP_OK);
  CHECK_NUMBER(finish(), 1);
}

static void folders_open_to_others_are_refused(void) {
  static const mode_t MODES[] = {0701, 0710, 0704, 0750, 0755, 0770, 0777};
  for (size_t i = 0; i < sizeof MODES / sizeof MODES[0]; i++) {
    uint8_t secret[PFP_SECRET_BYTES];
    test_case("%o", (unsigned)MODES[i]);
    REQUIRE(begin());
    CHECK_NUMBER(chmod(folder, MODES[i]), 0);
    CHECK_NUMBER(pfp_storage_prepare(folder), PFP_E_EXPOSED);
    CHECK_NUMBER(chmod(folder, 0700), 0);
    CHECK_NUMBER(pfp_storage_prepare(folder), PFP_OK);
    CHECK_NUMBER(chmod(folder, MODES[i]), 0);
    CHECK_NUMBER(pfp_secret_read(secret, folder), PFP_E_EXPOSED);
    CHECK_NUMBER(finish(), 1);
  }
}

static void what_is_no_secret_is_not_read(void) {
  uint8_t secret[PFP_SECRET_BYTES];
  char other[160];
  int file;
  REQUIRE(begin());
  CHECK_NUMBER(pfp_storage_prepare(folder), PFP_OK);
  CHECK_NUMBER(chmod(path, 0640), 0);
  CHECK_NUMBER(pfp_secret_read(secret, folder), PFP_E_EXPOSED);
  CHECK_NUMBER(chmod(path, 0600), 0);
  (void)snprintf(other, sizeof other, "%s/second-name", folder);
  CHECK_NUMBER(link(path, other), 0);
  CHECK_NUMBER(pfp_secret_read(secret, folder), PFP_E_EXPOSED);
  CHECK_NUMBER(unlink(path), 0);
  CHECK_NUMBER(symlink("second-name", path), 0);
  CHECK_NUMBER(pfp_secret_read(secret, folder), PFP_E_UNREADABLE);
  CHECK_NUMBER(unlink(path), 0);
  CHECK_NUMBER(mkfifo(path, 0600), 0);
  CHECK_NUMBER(pfp_secret_read(secret, folder), PFP_E_EXPOSED);
  CHECK_NUMBER(unlink(path), 0);
  // Too short, then too long.
  for (int size = PFP_SECRET_BYTES - 1; size <= PFP_SECRET_BYTES + 1; size += 2) {
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK_NUMBER(write(file, "0123456789012345678901234567890123456789", (size_t)size), size);
    (void)close(file);
    CHECK_NUMBER(pfp_secret_read(secret, folder), PFP_E_UNREADABLE);
  }
  (void)finish();
  CHECK_NUMBER(pfp_storage_prepare(folder), PFP_E_MISSING);
  CHECK_NUMBER(pfp_storage_prepare("/etc/hostname"), PFP_E_TYPE);
}

static const struct test tests[] = {
    TEST("the secret is made once, for this user alone, and never replaced", made_once_and_private),
    TEST("two installations have two secrets", two_installations_differ),
    TEST("concurrent processes that create it find the same secret", many_at_once_make_one),
    TEST("a folder open to others is refused, when writing and when reading", folders_open_to_others_are_refused),
    TEST("a file that is not exactly a secret is not read as one", what_is_no_secret_is_not_read),
};

const struct suite process_storage_suite = SUITE("storage", tests);
