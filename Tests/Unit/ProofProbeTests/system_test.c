// SPDX-License-Identifier: Apache-2.0

/// The operating system's calls as the probe makes them: flags, fields, answers cut short, and errors.

#define _GNU_SOURCE

#include "system/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "context/context.h"
#include "probe_suites.h"
#include "tree.h"
#include "wrapped.h"

/// The next calls: interrupted so many times, then at most so many bytes each; 0 for no limit.
static struct {
  unsigned interrupts;
  size_t most;
} calls;

static bool interrupted(void) {
  if (calls.interrupts == 0) return false;
  calls.interrupts--;
  errno = EINTR;
  return true;
}

static size_t at_most(size_t size) { return calls.most != 0 && size > calls.most ? calls.most : size; }

WRAPPED(int, openat, int folder, const char *name, int flags) {
  return interrupted() ? -1 : __real_openat(folder, name, flags);
}
WRAPPED(ssize_t, read, int fd, void *bytes, size_t size) {
  return interrupted() ? -1 : __real_read(fd, bytes, at_most(size));
}
WRAPPED(ssize_t, pread, int fd, void *bytes, size_t size, off_t offset) {
  return interrupted() ? -1 : __real_pread(fd, bytes, at_most(size), offset);
}

static void errors_have_their_meaning(void) {
  static const int change[] = {ENOENT, ELOOP, ENXIO, ENOTDIR, EINVAL, ESTALE, ENODEV};
  static const int resource[] = {EMFILE, ENFILE, ENOMEM};
  for (int error = -1; error < 200; error++) {
    bool changes = false, means = false;
    for (unsigned i = 0; i < 7; i++) changes = changes || error == change[i];
    for (unsigned i = 0; i < 3; i++) means = means || error == resource[i];
    test_case("error %d", error);
    CHECK(pfp_error_is_change(error) == changes);
    CHECK(pfp_error_is_resource(error) == means);
  }
}

// Opening --------------------------------------------------------------------------------------------------------

static struct tree opened_tree(void) {
  struct tree tree = tree_make();
  tree_text(&tree, "file", "0123456789");
  tree_folder(&tree, "folder");
  tree_folder(&tree, "folder/below");
  tree_link(&tree, "to-file", "file");
  tree_link(&tree, "to-folder", "folder");
  if (mkfifo(tree_path(&tree, "fifo"), 0600) != 0) abort();
  return tree;
}

static void links_are_followed_if_asked(void) {
  static const struct {
    const char *name;
    bool folder, follow;
    int error;
  } cases[] = {
      {"file", false, false, 0},        {"file", false, true, 0},       {"to-file", false, true, 0},
      {"to-file", false, false, ELOOP}, {"fifo", false, false, 0},      {"missing", false, true, ENOENT},
      {"folder", true, false, 0},       {"to-folder", true, true, 0},   {"to-folder", true, false, ENOTDIR},
      {"file", true, false, ENOTDIR},   {"missing", true, true, ENOENT},
  };
  struct tree tree = opened_tree();
  int root = pfp_open_folder(pfp_here(), tree.root, false);
  REQUIRE(CHECK(root >= 0));
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case("%s, follow %d", cases[i].name, cases[i].follow);
    calls.interrupts = 2;
    int fd = (cases[i].folder ? pfp_open_folder : pfp_open_file)(root, cases[i].name, cases[i].follow);
    CHECK_COUNT(calls.interrupts, 0);
    calls.interrupts = 0;
    if (cases[i].error != 0) {
      CHECK_NUMBER(fd, -cases[i].error);
      continue;
    }
    REQUIRE(CHECK(fd >= 0));
    CHECK_NUMBER(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CHECK_NUMBER(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDONLY | O_NONBLOCK);
    int copy = pfp_duplicate(fd);
    CHECK(copy >= 0 && copy != fd && fcntl(copy, F_GETFD) == FD_CLOEXEC);
    pfp_close(copy);
    pfp_close(fd);
    CHECK(fcntl(fd, F_GETFD) < 0 && fcntl(copy, F_GETFD) < 0);
  }
  pfp_close(-1);
  pfp_close(root);
  CHECK_NUMBER(pfp_duplicate(-1), -EBADF);
  tree_drop(&tree);
}

static void folders_below(void) {
  static const struct {
    const char *path;
    int error;
  } cases[] = {{"folder", 0},         {"folder/below", 0}, {"folder/../folder/below", 0}, {"to-folder/below", ELOOP},
               {"to-folder", ELOOP},  {"file", ENOTDIR},   {"..", EXDEV},                 {"folder/../..", EXDEV},
               {"missing", ENOENT},   {"/etc", EXDEV}};
  struct tree tree = opened_tree();
  int root = pfp_open_folder(pfp_here(), tree.root, false);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    int fd = pfp_open_below(root, cases[i].path);
    test_case("%s", cases[i].path);
    if (cases[i].error != 0) CHECK_NUMBER(fd, -cases[i].error);
    if (cases[i].error == 0 && CHECK(fd >= 0)) {
      CHECK_NUMBER(fcntl(fd, F_GETFD), FD_CLOEXEC);
      CHECK_NUMBER(fcntl(fd, F_GETFL) & O_PATH, O_PATH);
    }
    pfp_close(fd);
  }
  pfp_close(root);
  tree_drop(&tree);
}

// Identity -------------------------------------------------------------------------------------------------------

static void as_statx(const struct pfp_identity *identity, int fd, const char *path, int flags, uint8_t type) {
  struct statx found;
  // STATX_MNT_ID_UNIQUE, Linux 6.8; before it STATX_MNT_ID.
  REQUIRE(CHECK(statx(fd, path, flags, STATX_BASIC_STATS | STATX_MNT_ID | 0x4000, &found) == 0));
  CHECK_COUNT(identity->device, (uint64_t)found.stx_dev_major << 32 | found.stx_dev_minor);
  CHECK_COUNT(identity->mount, found.stx_mnt_id);
  CHECK(identity->mount != 0);
  CHECK_COUNT(identity->inode, found.stx_ino);
  CHECK_COUNT(identity->changed, (uint64_t)found.stx_ctime.tv_sec * 1000000000 + found.stx_ctime.tv_nsec);
  CHECK_COUNT(identity->modified, (uint64_t)found.stx_mtime.tv_sec * 1000000000 + found.stx_mtime.tv_nsec);
  CHECK_NUMBER(identity->type, type);
  CHECK_NUMBER(identity->mode, type == 3 ? 0 : found.stx_mode & 07777);
}

static void fields_of_the_kernel(void) {
  static const struct {
    const char *path;
    uint8_t type;
    bool follow;
    uint64_t size;
  } cases[] = {{"file", 1, false, 10},   {"to-file", 3, false, 4}, {"to-file", 1, true, 10},
               {"folder", 2, false, 0},  {"fifo", 4, false, 0},    {"/dev/null", 6, false, UINT64_C(1) << 32 | 3}};
  const struct timespec times[2] = {{1000000001, 123456789}, {1000000003, 987654321}};
  struct tree tree = opened_tree();
  int root = pfp_open_folder(pfp_here(), tree.root, false);
  tree_mode(&tree, "file", 07751);
  REQUIRE(CHECK(utimensat(root, "file", times, 0) == 0));
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfp_identity identity, again;
    test_case("%s, follow %d", cases[i].path, cases[i].follow);
    memset(&identity, 0xEE, sizeof identity);
    REQUIRE(CHECK_NUMBER(pfp_identify_name(&identity, root, cases[i].path, cases[i].follow), 0));
    as_statx(&identity, root, cases[i].path, cases[i].follow ? 0 : AT_SYMLINK_NOFOLLOW, cases[i].type);
    CHECK_COUNT(identity.size, cases[i].size);
    if (cases[i].type == 1) CHECK_COUNT(identity.modified, UINT64_C(1000000003987654321));
    if (cases[i].type == 3) continue;
    int fd = pfp_open_file(root, cases[i].path, cases[i].follow);
    memset(&again, 0xEE, sizeof again);
    CHECK_NUMBER(pfp_identify(&again, fd), 0);
    CHECK_BYTES(&again, &identity, sizeof again);
    CHECK(pfp_unmoved(&identity, fd));
    pfp_close(fd);
    CHECK(!pfp_unmoved(&identity, fd));
    CHECK_NUMBER(pfp_identify(&again, fd), -EBADF);
    CHECK_ZEROS(&again, sizeof again);
  }
  struct pfp_identity missing;
  CHECK_NUMBER(pfp_identify_name(&missing, root, "missing", false), -ENOENT);
  CHECK_ZEROS(&missing, sizeof missing);
  pfp_close(root);
  tree_drop(&tree);
}

/// An open file's identity with one field in turn another.
static void each_field_of_an_open_file(void) {
  struct tree tree = opened_tree();
  struct pfp_identity one, others[7];
  int fd = pfp_open_file(pfp_here(), tree_path(&tree, "file"), false);
  tree_mode(&tree, "file", 0644);
  REQUIRE(CHECK_NUMBER(pfp_identify(&one, fd), 0));
  for (unsigned i = 0; i < 7; i++) others[i] = one;
  others[0].inode++;
  others[1].size++;
  others[2].changed++;
  others[3].modified--;
  others[4].mode ^= 04000;
  others[5].mode ^= 1;
  others[6].type = PFP_TYPE_FOLDER;
  CHECK(pfp_unmoved(&one, fd));
  for (unsigned i = 0; i < 7; i++) {
    test_case("field %u", i);
    CHECK(!pfp_unmoved(&others[i], fd));
  }
  pfp_close(fd);
  tree_drop(&tree);
}

/// A file is root's alone if no group, no other user may write to it.
static void guards_of_files(void) {
  static const struct {
    uid_t owner;
    mode_t mode;
    uint8_t guard;
  } cases[] = {{0, 0644, PFP_GUARD_ROOT}, {0, 0755, PFP_GUARD_ROOT}, {0, 04755, PFP_GUARD_ROOT},
               {0, 0664, PFP_GUARD_NONE}, {0, 0646, PFP_GUARD_NONE}, {0, 0622, PFP_GUARD_NONE},
               {1, 0644, PFP_GUARD_NONE}, {1, 0400, PFP_GUARD_NONE}, {65534, 0600, PFP_GUARD_NONE}};
  struct tree tree = opened_tree();
  if (geteuid() != 0) test_note("skipped: it takes root to make files of root's");
  for (unsigned i = 0; geteuid() == 0 && i < sizeof cases / sizeof cases[0]; i++) {
    struct pfp_identity identity;
    test_case("owner %u, mode %o", cases[i].owner, cases[i].mode);
    CHECK(chown(tree_path(&tree, "file"), cases[i].owner, 0) == 0);
    tree_mode(&tree, "file", cases[i].mode);
    CHECK_NUMBER(pfp_identify_name(&identity, pfp_here(), tree_path(&tree, "file"), false), 0);
    CHECK_NUMBER(identity.guard, cases[i].guard);
  }
  tree_drop(&tree);
}

// Reading --------------------------------------------------------------------------------------------------------

static void bytes_at_their_place(void) {
  static const struct {
    uint64_t offset;
    size_t size;
    const char *text;
  } cases[] = {{0, 10, "0123456789"}, {0, 4, "0123"}, {3, 4, "3456"}, {6, 4, "6789"}, {6, 5, "6789"},
               {9, 1, "9"},           {10, 3, ""},    {99, 3, ""},    {0, 0, ""}};
  struct tree tree = opened_tree();
  int fd = pfp_open_file(pfp_here(), tree_path(&tree, "file"), false);
  for (unsigned i = 0; i < 3 * sizeof cases / sizeof cases[0]; i++) {
    size_t size = strlen(cases[i / 3].text);
    char bytes[16] = "";
    test_case("%zu bytes at %d, way %u", cases[i / 3].size, (int)cases[i / 3].offset, i % 3);
    // Whole, in pieces of two bytes, interrupted.
    calls.most = i % 3 == 1 ? 2 : 0;
    calls.interrupts = i % 3 == 2 && cases[i / 3].size != 0 ? 2 : 0;
    CHECK_NUMBER(pfp_read_at(fd, bytes, cases[i / 3].size, cases[i / 3].offset), size);
    CHECK_BYTES(bytes, cases[i / 3].text, size + 1);
    CHECK_COUNT(calls.interrupts, 0);
    calls.most = 0;
    memset(bytes, 0, sizeof bytes);
    if (i % 3 == 1) continue;
    calls.interrupts = i % 3 == 2 && cases[i / 3].size != 0 ? 2 : 0;
    CHECK(lseek(fd, (off_t)cases[i / 3].offset, SEEK_SET) >= 0);
    CHECK_NUMBER(pfp_read(fd, bytes, cases[i / 3].size), size);
    CHECK_BYTES(bytes, cases[i / 3].text, size + 1);
    CHECK_COUNT(calls.interrupts, 0);
  }
  char byte;
  pfp_close(fd);
  CHECK_NUMBER(pfp_read(fd, &byte, 1), -EBADF);
  CHECK_NUMBER(pfp_read_at(fd, &byte, 1, 0), -EBADF);
  tree_drop(&tree);
}

/// A short answer is the end of a file: no second call asks for more.
static void a_short_answer_is_the_end(void) {
  struct tree tree = opened_tree();
  char bytes[16];
  int fd = pfp_open_file(pfp_here(), tree_path(&tree, "file"), false);
  calls.most = 4;
  CHECK_NUMBER(pfp_read(fd, bytes, 10), 4);
  calls.most = 0;
  CHECK_NUMBER(pfp_read(fd, bytes, 10), 6);
  CHECK_NUMBER(pfp_read(fd, bytes, 10), 0);
  pfp_close(fd);
  tree_drop(&tree);
}

static void targets_of_links(void) {
  struct tree tree = opened_tree();
  char bytes[16] = "";
  int root = pfp_open_folder(pfp_here(), tree.root, false);
  CHECK_NUMBER(pfp_read_link(root, "to-folder", bytes, 7), 6);
  CHECK_BYTES(bytes, "folder", 7);
  // A target that fills the buffer may have been cut off.
  CHECK_NUMBER(pfp_read_link(root, "to-folder", bytes, 6), -ENAMETOOLONG);
  CHECK_NUMBER(pfp_read_link(root, "to-folder", bytes, 5), -ENAMETOOLONG);
  CHECK_NUMBER(pfp_read_link(root, "file", bytes, 7), -EINVAL);
  CHECK_NUMBER(pfp_read_link(root, "missing", bytes, 7), -ENOENT);
  pfp_close(root);
  tree_drop(&tree);
}

// Folders --------------------------------------------------------------------------------------------------------

static const char *const listed[] = {"block", "character", "fifo", "file", "folder", "link", "socket"};
static const uint8_t listed_types[] = {7, 6, 4, 1, 2, 3, 5};

/// How many of the names, and whether each came once with its type.
static unsigned list_all(struct pfp_listing *listing, bool is_root) {
  unsigned seen = 0, count = 0;
  const char *name;
  uint8_t type;
  int more;
  while ((more = pfp_listing_next(listing, &name, &type)) == 1) {
    count++;
    for (unsigned i = 0; i < 7; i++) {
      if (strcmp(name, listed[i]) != 0) continue;
      test_case("%s", name);
      CHECK_NUMBER(type, listed_types[i]);
      CHECK((seen & 1u << i) == 0);
      seen |= 1u << i;
    }
  }
  CHECK_NUMBER(more, 0);
  CHECK_NUMBER(pfp_listing_next(listing, &name, &type), 0);
  CHECK_COUNT(seen, is_root ? 0x7F : 0x7C);
  return count;
}

static void names_with_their_types(void) {
  static struct pfp_listing listing;
  struct tree tree = tree_make();
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
  const char *name;
  uint8_t type;
  bool is_root = geteuid() == 0;
  char *here = realpath(".", NULL);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  tree_text(&tree, "file", "");
  tree_folder(&tree, "folder");
  tree_link(&tree, "link", "nowhere");
  REQUIRE(CHECK(mkfifo(tree_path(&tree, "fifo"), 0600) == 0));
  REQUIRE(CHECK(chdir(tree.root) == 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0));
  REQUIRE(CHECK(chdir(here) == 0));
  free(here);
  (void)close(fd);
  if (is_root) {
    CHECK(mknod(tree_path(&tree, "character"), S_IFCHR | 0600, makedev(1, 3)) == 0);
    CHECK(mknod(tree_path(&tree, "block"), S_IFBLK | 0600, makedev(7, 3)) == 0);
  }
  int root = pfp_open_folder(pfp_here(), tree.root, false);
  CHECK_NUMBER(pfp_listing_begin(&listing, root), 0);
  CHECK_COUNT(list_all(&listing, is_root), is_root ? 7 : 5);
  // Begun anew in the middle, it begins with the first name again.
  CHECK_NUMBER(pfp_listing_begin(&listing, root), 0);
  CHECK_NUMBER(pfp_listing_next(&listing, &name, &type), 1);
  CHECK_NUMBER(pfp_listing_begin(&listing, root), 0);
  CHECK_COUNT(list_all(&listing, is_root), is_root ? 7 : 5);
  pfp_close(root);
  CHECK_NUMBER(pfp_listing_begin(&listing, root), -EBADF);
  fd = pfp_open_file(pfp_here(), tree_path(&tree, "file"), false);
  CHECK_NUMBER(pfp_listing_begin(&listing, fd), 0);
  CHECK_NUMBER(pfp_listing_next(&listing, &name, &type), -ENOTDIR);
  pfp_close(fd);
  tree_drop(&tree);
}

// Means ----------------------------------------------------------------------------------------------------------

static bool on_processors(void *user) {
  cpu_set_t all, one;
  (void)user;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  unsigned count = (unsigned)CPU_COUNT(&all);
  bool good = CHECK_NUMBER(pfp_processors(), count);
  struct pfp_files *files = files_workers(0), *three = files_workers(3);
  good = CHECK_NUMBER(pfp_workers(files), count < 2 ? 1 : 2) && good;
  CPU_ZERO(&one);
  for (unsigned i = 0; CPU_COUNT(&one) == 0; i++) {
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  }
  if (sched_setaffinity(0, sizeof one, &one) != 0) return false;
  good = CHECK_NUMBER(pfp_processors(), 1) && CHECK_NUMBER(pfp_workers(files), 1) && good;
  good = CHECK_NUMBER(pfp_workers(three), 3) && good;
  pfp_files_free(files);
  pfp_files_free(three);
  return good;
}

static bool spare_descriptors(void *user) {
  static const struct {
    rlim_t limit;
    uint32_t spare;
  } cases[] = {{1000, 488}, {612, 100}, {514, 2}, {513, 1}, {512, 0}, {511, 0}, {3, 0}, {0, 0}};
  bool good = true;
  (void)user;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const struct rlimit limit = {cases[i].limit, 1000};
    test_case("a limit of %u", (unsigned)cases[i].limit);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    good = CHECK_COUNT(pfp_descriptors_spare(), cases[i].spare) && good;
  }
  return good;
}

static void means_of_the_process(void) {
  CHECK(in_child(on_processors, NULL));
  CHECK(in_child(spare_descriptors, NULL));
}

/// The mask and the stack of a thread of the probe's own.
struct own_thread {
  sigset_t blocked;
  size_t stack;
};

static void *look_at_itself(void *user) {
  struct own_thread *own = user;
  pthread_attr_t attributes;
  if (pthread_sigmask(SIG_BLOCK, NULL, &own->blocked) != 0) abort();
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) abort();
  if (pthread_attr_getstacksize(&attributes, &own->stack) != 0) abort();
  (void)pthread_attr_destroy(&attributes);
  return NULL;
}

static void threads_take_no_signals(void) {
  static const int own_signals[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
  struct own_thread own;
  sigset_t before, after, found;
  pthread_t thread;
  (void)sigemptyset(&before);
  (void)sigaddset(&before, SIGUSR2);
  REQUIRE(CHECK(pthread_sigmask(SIG_SETMASK, &before, &found) == 0));
  REQUIRE(CHECK_NUMBER(pfp_thread_start(&thread, look_at_itself, &own), 0));
  REQUIRE(CHECK(pthread_join(thread, NULL) == 0 && pthread_sigmask(SIG_SETMASK, &found, &after) == 0));
  for (int number = 1; number <= SIGRTMAX; number++) {
    bool taken = number == SIGKILL || number == SIGSTOP || (number > 31 && number < SIGRTMIN);
    for (unsigned i = 0; i < 7; i++) taken = taken || number == own_signals[i];
    test_case("signal %d", number);
    CHECK((sigismember(&own.blocked, number) == 0) == taken);
    CHECK(sigismember(&after, number) == sigismember(&before, number));
  }
  if (!SANITIZED) CHECK_COUNT(own.stack, 512 << 10);
}

static const struct test tests[] = {
    TEST("each errno is a change, a lack of means, or neither", errors_have_their_meaning),
    TEST("files and folders are opened for reading, following links only if asked", links_are_followed_if_asked),
    TEST("a folder is opened below another one, over no link and no way out", folders_below),
    TEST("each field of an identity is the kernel's", fields_of_the_kernel),
    TEST("an open file with one field changed has moved", each_field_of_an_open_file),
    TEST("a file that only root may write to is guarded", guards_of_files),
    TEST("bytes are read from their place, in pieces and after signals too", bytes_at_their_place),
    TEST("a short answer of the kernel is the end of the file", a_short_answer_is_the_end),
    TEST("a link's target that may have been cut off is an error", targets_of_links),
    TEST("a folder lists each name once, with its type", names_with_their_types),
    TEST("processors and spare descriptors follow the limits of the process", means_of_the_process),
    TEST("a thread of the probe's takes only the signals it causes itself", threads_take_no_signals),
};

const struct suite system_suite = SUITE("system", tests);
