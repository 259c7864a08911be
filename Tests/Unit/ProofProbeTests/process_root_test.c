// SPDX-License-Identifier: Apache-2.0

/// The identity of the root file system, of each type that has one. fstatfs and ioctl stand before the kernel's.

#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>

#include "process/process.h"
#include "process_kernel.h"
#include "process_suites.h"
#include "process_words.h"
#include "wrapped.h"

enum { XFS_UUID = 64, XFS_BYTES = 112, BTRFS_UUID = 16, BTRFS_BYTES = 1024 };

/// The kernel's answers while a test plays; `type` 0: its own.
static struct {
  unsigned long type, request;
  uint8_t id[8], answer[BTRFS_BYTES];
  size_t answer_size;
  int fails_status, fails_request;
} kernel;

WRAPPED(int, fstatfs, int descriptor, struct statfs *status) {
  if (kernel.fails_status) {
    errno = kernel.fails_status;
    return -1;
  }
  if (kernel.type == 0) return __real_fstatfs(descriptor, status);
  memset(status, 0, sizeof *status);
  memcpy(&status->f_type, &kernel.type, sizeof status->f_type);
  memcpy(&status->f_fsid, kernel.id, sizeof kernel.id);
  return 0;
}

int (*kernel_answers)(unsigned long request, void *argument);

WRAPPED(int, ioctl, int descriptor, unsigned long request, void *argument) {
  if (kernel_answers != NULL) return kernel_answers(request, argument);
  if (kernel.type == 0) return __real_ioctl(descriptor, request, argument);
  if (kernel.fails_request || request != kernel.request) {
    errno = ENOTTY;
    return -1;
  }
  memcpy(argument, kernel.answer, kernel.answer_size);
  return 0;
}

static void begin(unsigned long type) {
  memset(&kernel, 0, sizeof kernel);
  kernel.type = type;
}

static void check(const char *expected, const char *file_system) {
  char text[PFP_ROOT_TEXT_MAX] = "";
  test_case("%s", file_system);
  CHECK_NUMBER(pfp_root_identity(text, "/"), strlen(expected));
  text[strlen(expected)] = 0;
  if (!CHECK(strcmp(text, expected) == 0)) test_note("said: %s", text);
}

/// An answer with a UUID here, all other bytes of it 0xEE.
static void answer(unsigned long request, size_t size, size_t uuid) {
  kernel.request = request;
  kernel.answer_size = size;
  memset(kernel.answer, 0xEE, sizeof kernel.answer);
  for (size_t i = 0; i < 16; i++) kernel.answer[uuid + i] = (uint8_t)(0x0F + 0x10 * i);
}

static void each_type_has_its_identity(void) {
  static const char HEX[] = "0f1f2f3f4f5f6f7f8f9fafbfcfdfefff";
  char expected[64];
  begin(0xEF53);
  memcpy(kernel.id, (const uint8_t[]){0, 1, 2, 3, 0xFC, 0xFD, 0xFE, 0xFF}, 8);
  check("ext 00010203fcfdfeff", "ext4");
  begin(0x58465342);
  answer(0x80705864, XFS_BYTES, XFS_UUID);
  (void)snprintf(expected, sizeof expected, "xfs %s", HEX);
  check(expected, "xfs");
  begin(0x9123683E);
  answer(0x8400941F, BTRFS_BYTES, BTRFS_UUID);
  (void)snprintf(expected, sizeof expected, "btrfs %s", HEX);
  check(expected, "btrfs");
  begin(0x794C7630);
  check("", "overlayfs");
  begin(0);
}

static void an_identity_of_zeros_is_none(void) {
  begin(0xEF53);
  check("", "ext4");
  kernel.id[7] = 1;
  check("ext 0000000000000001", "ext4 with one bit");
  begin(0x58465342);
  answer(0x80705864, XFS_BYTES, XFS_UUID);
  memset(kernel.answer + XFS_UUID, 0, 16);
  check("", "xfs");
  kernel.answer[XFS_UUID] = 0x80;
  check("xfs 80000000000000000000000000000000", "xfs with one bit");
  begin(0);
}

static void an_identity_that_cannot_be_asked_is_an_error(void) {
  static const unsigned long TYPES[] = {0x58465342, 0x9123683E};
  char text[PFP_ROOT_TEXT_MAX];
  for (size_t i = 0; i < 2; i++) {
    begin(TYPES[i]);
    kernel.fails_request = 1;
    errno = 0;
    CHECK_NUMBER(pfp_root_identity(text, "/"), -1);
    CHECK_NUMBER(errno, ENOTTY);
  }
  begin(0xEF53);
  kernel.fails_status = EIO;
  errno = 0;
  CHECK_NUMBER(pfp_root_identity(text, "/"), -1);
  CHECK_NUMBER(errno, EIO);
  begin(0);
  CHECK_NUMBER(pfp_root_identity(text, "/proc/self/exe"), -1);
  CHECK_NUMBER(errno, ENOTDIR);
  CHECK_NUMBER(pfp_root_identity(text, "/no-such-folder"), -1);
  CHECK_NUMBER(errno, ENOENT);
}

/// The record of the root file system: F(`pfp1.fact.......`, text), or absent and with these words.
static void check_record(const char *text, const char *told) {
  static struct pfp_process process = {.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  uint8_t digest[PFC_DIGEST_BYTES];
  evidence_begin();
  pfp_device_report(&evidence, NULL, &process, 1);
  CHECK_NUMBER(evidence.failed, 0);
  page_begin();
  if (text != NULL) page_text(text);
  page_digest(digest, "pfp1.fact.......");
  evidence_check(1, 4, "root", text != NULL ? digest : NULL, 0, told);
  pfp_evidence_free(&evidence);
}

static void a_record_has_the_identity_or_why_not(void) {
  static struct pfp_process process = {.maps = -1, .pagemap = -1, .status = -1, .initial = -1};
  begin(0xEF53);
  kernel.id[0] = 0xA1;
  check_record("ext a100000000000000", NULL);
  kernel.id[0] = 0;
  check_record(NULL, "has no identity that lasts");
  begin(0x794C7630);
  check_record(NULL, "has no identity that lasts");
  begin(0xEF53);
  kernel.fails_status = EIO;
  check_record(NULL, "cannot be read");
  test_case("no memory");
  kernel.fails_status = ENOMEM;
  evidence_begin();
  pfp_device_report(&evidence, NULL, &process, 1);
  CHECK_NUMBER(evidence.failed, 1);
  pfp_evidence_free(&evidence);
  begin(0);
}

static const struct test tests[] = {
    TEST("each type of file system has its identity", each_type_has_its_identity),
    TEST("an identity of zeros is none", an_identity_of_zeros_is_none),
    TEST("an identity that cannot be asked for is an error", an_identity_that_cannot_be_asked_is_an_error),
    TEST("the record has the identity, or says why it has none", a_record_has_the_identity_or_why_not),
};

const struct suite process_root_suite = SUITE("root", tests);
