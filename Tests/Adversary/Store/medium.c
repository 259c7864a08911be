// SPDX-License-Identifier: Apache-2.0

// Records the changes that a process makes to the files of a folder: preloaded into it, for a model of a medium that
// loses power.
//
// MEDIUM_FOLDER names the folder, MEDIUM_LOG the file that gets a line for each call, in the order of the calls:
//
//     make NAME               the file is new
//     write NAME AT HEX       bytes at an offset
//     cut NAME COUNT          the file has this length now
//     sync NAME               the file is on the medium; `.` is the folder, whose names are
//     remove NAME
//     say HEX                 a write to standard output
//
// MEDIUM_MAPPED names a file of the folder that the process maps into its memory. Before each `say`, and when it is
// unmapped, the sectors of 512 bytes that have changed since are noted as writes. The kernel may write them at any time
// and in any order, so the reader chooses among them as among other writes.
//
// MEDIUM_UNDATED lets files look as if they had never been changed: a copy that a test makes late is no backup then.
//
// MEDIUM_BOOT names a file that is read in the place of the kernel's id of the machine's start.
//
// A log that misses a call of another name would model another medium, so the reader compares files and log at the end.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static const char boot_id[] = "/proc/sys/kernel/random/boot_id";

typedef int open_function(const char *, int, ...);
typedef ssize_t write_function(int, const void *, size_t);
typedef ssize_t pwrite_function(int, const void *, size_t, off_t);
typedef int cut_function(int, off_t);
typedef int sync_function(int);
typedef int remove_function(const char *);
typedef int unmap_function(void *, size_t);
typedef int status_function(const char *, struct stat *);

/// The function that this library stands in front of. ISO C has no cast from an object's address to a function's.
#define ORIGINAL(type, name)                                        \
  static type *original;                                            \
  if (original == NULL) {                                           \
    void *const found = dlsym(RTLD_NEXT, name);                     \
    if (found == NULL) abort();                                     \
    (void)memcpy(&original, &found, sizeof original);               \
  }                                                                 \
  _Static_assert(sizeof original == sizeof(void *), "one address")

/// The name of a path in the folder, "." for the folder; NULL for another path.
static const char *name_of_path(const char *path) {
  const char *const folder = getenv("MEDIUM_FOLDER");
  const size_t length = folder == NULL ? 0 : strlen(folder);
  if (length == 0 || strncmp(path, folder, length) != 0) return NULL;
  if (path[length] == 0) return ".";
  return path[length] == '/' ? path + length + 1 : NULL;
}

static const char *name_of(int file, char path[PATH_MAX]) {
  char link[64];
  (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  if (length < 0) return NULL;
  path[length] = 0;
  return name_of_path(path);
}

/// Appends a line: the text, then the bytes as hexadecimal digits.
static void note(const char *text, const unsigned char *bytes, size_t count) {
  ORIGINAL(write_function, "write");
  const char *const log = getenv("MEDIUM_LOG");
  if (log == NULL) return;
  const size_t begun = strlen(text);
  char *const line = malloc(begun + 2 * count + 2);
  if (line == NULL) abort();
  (void)memcpy(line, text, begun);
  for (size_t index = 0; index < count; index++) (void)snprintf(line + begun + 2 * index, 3, "%02x", bytes[index]);
  line[begun + 2 * count] = '\n';
  // The name is none of the folder's, so this call notes nothing.
  const int file = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  const size_t length = begun + 2 * count + 1;
  if (file < 0 || original(file, line, length) != (ssize_t)length || close(file) != 0) abort();
  free(line);
}

static void note_name(const char *word, const char *name) {
  char text[PATH_MAX + 16];
  (void)snprintf(text, sizeof text, "%s %s", word, name);
  note(text, NULL, 0);
}

static void note_write(int file, const void *bytes, size_t count, long long at) {
  char path[PATH_MAX];
  char text[PATH_MAX + 48];
  const char *const name = name_of(file, path);
  if (name == NULL) return;
  (void)snprintf(text, sizeof text, "write %s %lld ", name, at);
  note(text, bytes, count);
}

enum { SECTOR = 512 };

/// The mapped file as it was noted last.
static unsigned char *mapped;
static size_t mapped_size;

/// Reads the mapped file; NULL if there is none.
static unsigned char *read_mapped(size_t *size) {
  const char *const folder = getenv("MEDIUM_FOLDER");
  const char *const name = getenv("MEDIUM_MAPPED");
  char path[PATH_MAX];
  struct stat status;
  if (folder == NULL || name == NULL) return NULL;
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  if (fstat(file, &status) != 0 || status.st_size % SECTOR != 0) abort();
  *size = (size_t)status.st_size;
  unsigned char *const content = malloc(*size + 1);
  if (content == NULL || read(file, content, *size) != status.st_size) abort();
  (void)close(file);
  return content;
}

static void note_mapped(void) {
  size_t size = 0;
  if (mapped == NULL) return;
  unsigned char *const content = read_mapped(&size);
  if (content == NULL || size != mapped_size) abort();
  for (size_t at = 0; at < size; at += SECTOR) {
    if (memcmp(mapped + at, content + at, SECTOR) == 0) continue;
    char text[PATH_MAX + 48];
    (void)snprintf(text, sizeof text, "write %s %zu ", getenv("MEDIUM_MAPPED"), at);
    note(text, content + at, SECTOR);
  }
  free(mapped);
  mapped = content;
}

int munmap(void *address, size_t size) {
  ORIGINAL(unmap_function, "munmap");
  note_mapped();
  return original(address, size);
}

static int open_noted(open_function *original, const char *path, int flags, mode_t mode) {
  const char *const boot = getenv("MEDIUM_BOOT");
  if (boot != NULL && strcmp(path, boot_id) == 0) path = boot;
  const char *const name = name_of_path(path);
  const int is_new = name != NULL && (flags & O_CREAT) != 0 && access(path, F_OK) != 0;
  const char *const watched = getenv("MEDIUM_MAPPED");
  const int is_mapped = name != NULL && watched != NULL && strcmp(name, watched) == 0;
  if (is_mapped && (flags & O_ACCMODE) == O_RDWR && mapped == NULL) mapped = read_mapped(&mapped_size);
  const int file = original(path, flags, mode);
  if (file >= 0 && is_new) note_name("make", name);
  return file;
}

#define MODE                                                                  \
  va_list arguments;                                                          \
  va_start(arguments, flags);                                                 \
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0; \
  va_end(arguments)

int open(const char *path, int flags, ...) {
  ORIGINAL(open_function, "open");
  MODE;
  return open_noted(original, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  ORIGINAL(open_function, "open64");
  MODE;
  return open_noted(original, path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t count) {
  ORIGINAL(write_function, "write");
  const off_t at = lseek(file, 0, SEEK_CUR);
  const ssize_t done = original(file, bytes, count);
  if (done <= 0) return done;
  if (file == STDOUT_FILENO) {
    note_mapped();
    note("say ", bytes, (size_t)done);
  } else {
    note_write(file, bytes, (size_t)done, at);
  }
  return done;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  ORIGINAL(pwrite_function, "pwrite");
  const ssize_t done = original(file, bytes, count, at);
  if (done > 0) note_write(file, bytes, (size_t)done, at);
  return done;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t at) {
  ORIGINAL(pwrite_function, "pwrite64");
  const ssize_t done = original(file, bytes, count, at);
  if (done > 0) note_write(file, bytes, (size_t)done, at);
  return done;
}

static int cut_noted(cut_function *original, int file, off_t count) {
  char path[PATH_MAX];
  char text[PATH_MAX + 48];
  const int result = original(file, count);
  const char *const name = name_of(file, path);
  if (result != 0 || name == NULL) return result;
  (void)snprintf(text, sizeof text, "cut %s %lld", name, (long long)count);
  note(text, NULL, 0);
  return result;
}

int ftruncate(int file, off_t count) {
  ORIGINAL(cut_function, "ftruncate");
  return cut_noted(original, file, count);
}

int ftruncate64(int file, off_t count) {
  ORIGINAL(cut_function, "ftruncate64");
  return cut_noted(original, file, count);
}

static int sync_noted(sync_function *original, int file) {
  char path[PATH_MAX];
  const int result = original(file);
  const char *const name = name_of(file, path);
  if (result == 0 && name != NULL) note_name("sync", name);
  return result;
}

int fsync(int file) {
  ORIGINAL(sync_function, "fsync");
  return sync_noted(original, file);
}

int fdatasync(int file) {
  ORIGINAL(sync_function, "fdatasync");
  return sync_noted(original, file);
}

int stat(const char *path, struct stat *status) {
  ORIGINAL(status_function, "stat");
  const int result = original(path, status);
  if (result == 0 && getenv("MEDIUM_UNDATED") != NULL) status->st_ctim.tv_sec = 0;
  return result;
}

int unlink(const char *path) {
  ORIGINAL(remove_function, "unlink");
  const int result = original(path);
  const char *const name = name_of_path(path);
  if (result == 0 && name != NULL) note_name("remove", name);
  return result;
}
