// SPDX-License-Identifier: Apache-2.0

// Changes a file through a page that stays pinned: the bytes arrive when mapping and descriptor are long gone.
//
//   pin userfaultfd|fuse|direct FILE OFFSET HEX FOLDER
//
// userfaultfd   process_vm_writev; its source's page does not come
// fuse          process_vm_writev; its source is mapped from a file of FUSE, mounted at FOLDER, that is not answered
// direct        a direct read from such a file into a mapping of FILE
//
// Says "held" when the page is pinned and nothing else of the file is held. A line of input delivers the bytes:
// "written". Ends with its input.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "hex.h"

enum { PAGE = 4096 };

static _Noreturn void die(const char *what) {
  fprintf(stderr, "pin: %s: %s\n", what, strerror(errno));
  exit(1);
}

static uint8_t wanted[PAGE];  // Bytes to be written at the start of a page
static size_t wanted_size;
static uint8_t *target;

// Holding the bytes back --------------------------------------------------------------------------------------------

static int held[2];      // A byte comes when the page is pinned.
static int released[2];  // A byte comes when the bytes may.

static void say(const int pipe_ends[2]) {
  if (write(pipe_ends[1], "x", 1) != 1) die("write");
}

static void wait_for(const int pipe_ends[2]) {
  char byte;
  if (read(pipe_ends[0], &byte, 1) != 1) die("read");
}

static int uffd;

static void *serve_page(void *page) {
  struct uffd_msg message;
  struct uffdio_copy copy = {.dst = (uintptr_t)page, .src = (uintptr_t)wanted, .len = PAGE};
  if (read(uffd, &message, sizeof message) != sizeof message) die("userfaultfd");
  say(held);
  wait_for(released);
  if (ioctl(uffd, UFFDIO_COPY, &copy) != 0) die("copy");
  return NULL;
}

static int fuse;

static void reply(uint64_t unique, int error, const void *body, size_t size) {
  struct fuse_out_header header = {.len = (uint32_t)(sizeof header + size), .error = -error, .unique = unique};
  struct iovec parts[2] = {{&header, sizeof header}, {NULL, size}};
  memcpy(&parts[1].iov_base, &body, sizeof body);
  if (writev(fuse, parts, size == 0 ? 1 : 2) < 0) die("fuse reply");
}

static struct fuse_attr attributes(uint64_t node) {
  return (struct fuse_attr){.ino = node,
                            .size = node == 1 ? 0 : PAGE,
                            .blocks = 8,
                            .mode = node == 1 ? S_IFDIR | 0755u : S_IFREG | 0444u,
                            .nlink = 1,
                            .blksize = PAGE};
}

/// A folder with one file in it, whose bytes come late.
static void *serve_folder(void *is_direct) {
  static _Alignas(16) uint8_t buffer[FUSE_MIN_READ_BUFFER + PAGE];
  for (;;) {
    struct fuse_in_header *in = (struct fuse_in_header *)buffer;
    ssize_t size = read(fuse, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return NULL;
    if (in->opcode == FUSE_INIT) {
      struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = PAGE, .max_readahead = PAGE};
      reply(in->unique, 0, &out, sizeof out);
    } else if (in->opcode == FUSE_LOOKUP) {
      struct fuse_entry_out out = {.nodeid = 2, .attr_valid = 9, .entry_valid = 9, .attr = attributes(2)};
      reply(in->unique, 0, &out, sizeof out);
    } else if (in->opcode == FUSE_GETATTR) {
      struct fuse_attr_out out = {.attr_valid = 9, .attr = attributes(in->nodeid)};
      reply(in->unique, 0, &out, sizeof out);
    } else if (in->opcode == FUSE_OPEN) {
      struct fuse_open_out out = {.open_flags = is_direct != NULL ? FOPEN_DIRECT_IO : 0};
      reply(in->unique, 0, &out, sizeof out);
    } else if (in->opcode == FUSE_READ) {
      const struct fuse_read_in *asked = (const struct fuse_read_in *)(in + 1);
      size_t count = asked->size < PAGE ? asked->size : PAGE;
      say(held);
      wait_for(released);
      reply(in->unique, 0, wanted, count);
    } else if (in->opcode == FUSE_RELEASE) {
      reply(in->unique, 0, NULL, 0);
    } else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET && in->opcode != FUSE_INTERRUPT) {
      reply(in->unique, ENOSYS, NULL, 0);
    }
  }
}

// Ways --------------------------------------------------------------------------------------------------------------

static int slow_file;

static void *write_from_memory(void *source) {
  const struct iovec from = {source, wanted_size}, to = {target, wanted_size};
  if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != (ssize_t)wanted_size) die("process_vm_writev");
  return NULL;
}

static void *read_directly(void *unused) {
  if (read(slow_file, target, wanted_size) != (ssize_t)wanted_size) die("read");
  return unused;
}

static void start(pthread_t *thread, void *(*what)(void *), void *user) {
  if (pthread_create(thread, NULL, what, user) != 0) die("thread");
}

static void mount_slow(const char *folder, int is_direct) {
  static char path[4096];
  char how[128];
  pthread_t server;
  fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (fuse < 0) die("/dev/fuse");
  (void)snprintf(how, sizeof how, "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
  if (mount("slow", folder, "fuse", MS_NOSUID | MS_NODEV, how) != 0) die("mount");
  start(&server, serve_folder, is_direct ? path : NULL);
  (void)snprintf(path, sizeof path, "%s/slow", folder);
  slow_file = open(path, O_RDONLY | O_CLOEXEC);
  // The answer to this flush is that there is none: at this process's end the kernel asks for none, which would wait.
  (void)close(dup(slow_file));
  // The descriptor is enough: the folder looks as it did.
  if (slow_file < 0 || umount2(folder, MNT_DETACH) != 0) die(path);
}

int main(int argc, char **argv) {
  pthread_t server, writer;
  uint8_t *page;
  if (argc != 6) return 2;
  const char *way = argv[1];
  int is_direct = strcmp(way, "direct") == 0;
  wanted_size = (size_t)hex_read(wanted, sizeof wanted, argv[4]);
  off_t offset = (off_t)strtoull(argv[3], NULL, 10), inside = offset % PAGE;
  int file = open(argv[2], O_RDWR | O_CLOEXEC);
  if (file < 0 || pipe2(held, O_CLOEXEC) != 0 || pipe2(released, O_CLOEXEC) != 0) die(argv[2]);
  page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset - inside);
  if (page == MAP_FAILED) die("mmap");
  target = page + inside;
  if (strcmp(way, "userfaultfd") == 0) {
    struct uffdio_api api = {.api = UFFD_API};
    void *source = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)source, PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api) != 0 || ioctl(uffd, UFFDIO_REGISTER, &range) != 0) die(way);
    start(&server, serve_page, source);
    start(&writer, write_from_memory, source);
  } else {
    mount_slow(argv[5], is_direct);
    if (is_direct) {
      start(&writer, read_directly, NULL);
    } else {
      void *source = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, slow_file, 0);
      if (source == MAP_FAILED) die("mmap of FUSE");
      start(&writer, write_from_memory, source);
    }
  }
  wait_for(held);
  if (munmap(page, 2 * PAGE) != 0 || close(file) != 0) die("munmap");
  puts("held");
  (void)fflush(stdout);
  if (getchar() == EOF) return 0;
  say(released);
  (void)pthread_join(writer, NULL);
  puts("written");
  (void)fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
