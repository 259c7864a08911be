// SPDX-License-Identifier: Apache-2.0

#define _DEFAULT_SOURCE
#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_BYTES = 10 };

static int64_t now(void) {
  struct timespec time = {0};
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/// Waits until the descriptor is ready for `events`, until the deadline.
static int is_ready(struct line *line, short events) {
  for (;;) {
    const int64_t left = line->deadline - now();
    struct pollfd entry = {.fd = line->file, .events = events};
    const int count = left > 0 ? poll(&entry, 1, (int)left) : 0;
    if (count > 0) return 1;
    if (count < 0 && errno == EINTR) continue;
    line->failure = count == 0 ? PHT_E_TIMED_OUT : PHT_E_BROKEN_OFF;
    return 0;
  }
}

static TSS2_RC broken(struct line *line) {
  if (line->failure == PHT_OK) line->failure = PHT_E_BROKEN_OFF;
  return TSS2_TCTI_RC_IO_ERROR;
}

static TSS2_RC line_transmit(TSS2_TCTI_CONTEXT *context, size_t size, const uint8_t *command) {
  struct line *line = (struct line *)(void *)context;
  size_t sent = 0;
  line->count = 0;
  if (line->failure != PHT_OK) return broken(line);
  while (sent < size) {
    if (!is_ready(line, POLLOUT)) return broken(line);
    // A socket whose TPM has ended must not end the app (SIGPIPE).
    const ssize_t more = line->is_socket ? send(line->file, command + sent, size - sent, MSG_NOSIGNAL)
                                         : write(line->file, command + sent, size - sent);
    if (more > 0) sent += (size_t)more;
    // The kernel's driver refuses a command while it has another one of this descriptor.
    if (more < 0 && errno == EBUSY) line->failure = PHT_E_BUSY;
    if (more == 0 || (more < 0 && errno != EINTR && errno != EAGAIN)) return broken(line);
  }
  return TSS2_RC_SUCCESS;
}

/// The size in the head of an answer; HEAD_BYTES as long as there is no head.
static size_t announced(const struct line *line) {
  if (line->count < HEAD_BYTES) return HEAD_BYTES;
  const uint8_t *field = line->answer + 2;
  return (size_t)field[0] << 24 | (size_t)field[1] << 16 | (size_t)field[2] << 8 | field[3];
}

static TSS2_RC line_receive(TSS2_TCTI_CONTEXT *context, size_t *size, uint8_t *response, int32_t timeout) {
  struct line *line = (struct line *)(void *)context;
  // The deadline is the caller's.
  (void)timeout;
  if (line->failure != PHT_OK) return broken(line);
  while (line->count < announced(line)) {
    if (!is_ready(line, POLLIN)) return broken(line);
    const ssize_t more = read(line->file, line->answer + line->count, sizeof line->answer - line->count);
    if (more > 0) line->count += (size_t)more;
    if (more == 0 || (more < 0 && errno != EINTR && errno != EAGAIN)) return broken(line);
    if (announced(line) < HEAD_BYTES || announced(line) > sizeof line->answer) return broken(line);
  }
  // One command, one answer: bytes beyond it are none of a TPM.
  if (line->count != announced(line)) return broken(line);
  if (response == NULL) {
    *size = line->count;
    return TSS2_RC_SUCCESS;
  }
  if (*size < line->count) return TSS2_TCTI_RC_INSUFFICIENT_BUFFER;
  memcpy(response, line->answer, line->count);
  *size = line->count;
  explicit_bzero(line->answer, line->count);
  return TSS2_RC_SUCCESS;
}

static TSS2_RC line_cancel(TSS2_TCTI_CONTEXT *context) {
  (void)context;
  return TSS2_TCTI_RC_NOT_IMPLEMENTED;
}

static TSS2_RC line_locality(TSS2_TCTI_CONTEXT *context, uint8_t locality) {
  (void)context;
  (void)locality;
  return TSS2_TCTI_RC_NOT_IMPLEMENTED;
}

static void line_finalize(TSS2_TCTI_CONTEXT *context) { (void)context; }

static enum pht_result opening(void) {
  switch (errno) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ENOTDIR: return PHT_E_ABSENT;
    case EACCES:
    case EPERM: return PHT_E_DENIED;
    case EBUSY:
    case EAGAIN: return PHT_E_BUSY;
    // A socket whose TPM has ended.
    case ECONNREFUSED: return PHT_E_ABSENT;
    default: return PHT_E_BROKEN_OFF;
  }
}

static int connected(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t size = strlen(path);
  if (size >= sizeof address.sun_path) {
    errno = ENOENT;
    return -1;
  }
  memcpy(address.sun_path, path, size);
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return -1;
  if (connect(file, (const struct sockaddr *)(const void *)&address, sizeof address) == 0) return file;
  const int reason = errno;
  (void)close(file);
  errno = reason;
  return -1;
}

enum pht_result line_open(struct line *line, const struct pht_tpm *tpm) {
  struct stat status = {0};
  memset(line, 0, sizeof *line);
  line->file = -1;
  line->deadline = now() + tpm->timeout;
  line->common.magic = 0x50544354;
  line->common.version = 1;
  line->common.transmit = line_transmit;
  line->common.receive = line_receive;
  line->common.finalize = line_finalize;
  line->common.cancel = line_cancel;
  line->common.setLocality = line_locality;
  if (stat(tpm->device, &status) != 0) return opening();
  if (S_ISSOCK(status.st_mode)) {
    line->is_socket = 1;
    line->file = connected(tpm->device);
  } else if (S_ISCHR(status.st_mode)) {
    line->file = open(tpm->device, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } else {
    return PHT_E_ABSENT;
  }
  return line->file >= 0 ? PHT_OK : opening();
}

void line_close(struct line *line) {
  if (line->file >= 0) (void)close(line->file);
  line->file = -1;
  explicit_bzero(line->answer, sizeof line->answer);
}
