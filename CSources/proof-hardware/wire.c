// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"
#include "options.h"
#include "system.h"

static int complain(const char *path, const char *what) {
  log_line(LOG_ERROR, "%s: %s", path, what);
  return STATUS_FAILED;
}

// The socket -----------------------------------------------------------------------------------------------------

/// Removes a socket that its process left behind; a socket that a process listens at is not ours and stays.
static bool remove_stale(const struct sockaddr_un *address) {
  struct stat status;
  int probe;
  int result;
  const int error = errno;  // of the bind that failed: told if the socket is not stale
  if (lstat(address->sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  // Not blocking: a listener whose queue is full would hold this process up for as long as it does not accept.
  probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  result = connect(probe, (const struct sockaddr *)address, sizeof *address);
  if (result != 0 && errno == ECONNREFUSED) result = unlink(address->sun_path) == 0 ? 1 : 0;
  (void)close(probe);
  errno = error;
  return result == 1;
}

static int open_socket(struct wire *wire) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const struct sockaddr *where = (const struct sockaddr *)&address;
  const char *path = wire->path;
  int result;
  // Until it is bound it is not ours to unlink at the end.
  wire->path = NULL;
  if (strlen(path) >= sizeof address.sun_path) return complain(path, "too long for a socket's path");
  memcpy(address.sun_path, path, strlen(path));
  wire->door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (wire->door < 0) return complain(path, system_error());
  result = bind(wire->door, where, sizeof address);
  if (result != 0 && errno == EADDRINUSE && remove_stale(&address)) result = bind(wire->door, where, sizeof address);
  if (result != 0) return complain(path, system_error());
  wire->path = path;
  return listen(wire->door, WIRE_WAITING) == 0 ? GO_ON : complain(path, system_error());
}

// The FIFOs ------------------------------------------------------------------------------------------------------

static int open_fifos(struct wire *wire) {
  struct stat status;
  const char *paths[2] = {wire->fifo_in, wire->fifo_out};
  for (int i = 0; i < 2; i++) {
    if (stat(paths[i], &status) != 0) return complain(paths[i], system_error());
    if (!S_ISFIFO(status.st_mode)) return complain(paths[i], "not a FIFO: mkfifo makes one");
  }
  wire->door = open(wire->fifo_in, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  return wire->door >= 0 ? GO_ON : complain(wire->fifo_in, system_error());
}

/// A whole PDU out of what came, or what is missing of one.
static enum wire_result receive_fifo(struct wire *wire, unsigned link, uint8_t *pdu, size_t *size) {
  for (;;) {
    size_t wanted = WIRE_LENGTH_BYTES;
    ssize_t count;
    if (wire->filled >= WIRE_LENGTH_BYTES) {
      size_t length = (size_t)(wire->bytes[0] | wire->bytes[1] << 8);
      // A length out of range: the start of the next PDU is unknown.
      if (length == 0 || length > PFD_MTU_MAX) return WIRE_END;
      wanted += length;
      if (wire->filled == wanted) {
        *size = length;
        memcpy(pdu, wire->bytes + WIRE_LENGTH_BYTES, length);
        wire->filled = 0;
        return WIRE_PDU;
      }
    }
    count = read(wire->in[link], wire->bytes + wire->filled, wanted - wire->filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return WIRE_LATER;
    if (count <= 0) return WIRE_END;
    wire->filled += (size_t)count;
  }
}

static void reopen(struct wire *wire) {
  wire->filled = 0;
  wire->door = open(wire->fifo_in, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (wire->door < 0) log_line(LOG_ERROR, "%s: %s", wire->fifo_in, system_error());
}

/// Drops queued bytes. The FIFO is opened again before the caller closes `descriptor`: it always has a reader, so that
/// a central that opens now is not cut off.
static void leave_fifo(struct wire *wire, int descriptor) {
  while (read(descriptor, wire->bytes, sizeof wire->bytes) > 0) continue;
  reopen(wire);
}

// Both -----------------------------------------------------------------------------------------------------------

int wire_open(struct wire *wire, const struct options *options) {
  memset(wire, 0, sizeof *wire);
  wire->path = options->socket;
  wire->fifo_in = options->fifo_in;
  wire->fifo_out = options->fifo_out;
  wire->door = WIRE_NONE;
  for (unsigned i = 0; i < PFD_LINKS; i++) wire->in[i] = wire->out[i] = WIRE_NONE;
  return wire->path != NULL ? open_socket(wire) : open_fifos(wire);
}

void wire_close(struct wire *wire) {
  for (unsigned i = 0; i < PFD_LINKS; i++) {
    if (wire->in[i] != WIRE_NONE) wire_detach(wire, i);
  }
  while (wire->waiters > 0) wire_forget(wire, 0);
  if (wire->door >= 0) (void)close(wire->door);
  wire->door = WIRE_NONE;
  if (wire->path != NULL) (void)unlink(wire->path);
}

int wire_accept(struct wire *wire) {
  int descriptor;
  if (wire->path == NULL) {
    int waiting = 0;
    descriptor = wire->door;
    // No byte: a central that was sent away is leaving now.
    if (ioctl(descriptor, FIONREAD, &waiting) != 0 || waiting == 0) {
      reopen(wire);
      (void)close(descriptor);
      return WIRE_NONE;
    }
    // The FIFO that is read becomes the link's; it is a door again when the central is gone.
    wire->door = WIRE_NONE;
    return descriptor;
  }
  descriptor = accept4(wire->door, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return descriptor >= 0 ? descriptor : WIRE_NONE;
}

void wire_queue(struct wire *wire) {
  while (wire->waiters < WIRE_WAITING && wire->door != WIRE_NONE) {
    int descriptor = wire_accept(wire);
    if (descriptor == WIRE_NONE) return;
    wire->waiting[wire->waiters++] = descriptor;
  }
}

static int take_waiting(struct wire *wire, unsigned index) {
  int descriptor = wire->waiting[index];
  wire->waiters--;
  for (unsigned i = index; i < wire->waiters; i++) wire->waiting[i] = wire->waiting[i + 1];
  return descriptor;
}

int wire_next(struct wire *wire) { return wire->waiters > 0 ? take_waiting(wire, 0) : WIRE_NONE; }

void wire_forget(struct wire *wire, unsigned index) { wire_refuse(wire, take_waiting(wire, index)); }

void wire_refuse(struct wire *wire, int descriptor) {
  if (wire->path == NULL) leave_fifo(wire, descriptor);
  (void)close(descriptor);
}

bool wire_attach(struct wire *wire, unsigned link, int descriptor) {
  int out = descriptor;
  if (wire->path == NULL) {
    out = open(wire->fifo_out, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (out < 0) {
      log_line(LOG_ERROR, "%s: %s: the central must read before it writes", wire->fifo_out, system_error());
      wire_refuse(wire, descriptor);
      return false;
    }
  }
  wire->in[link] = descriptor;
  wire->out[link] = out;
  return true;
}

void wire_detach(struct wire *wire, unsigned link) {
  if (wire->path == NULL) leave_fifo(wire, wire->in[link]);
  (void)close(wire->in[link]);
  // Last: its end tells the next central that the door is open.
  if (wire->out[link] != wire->in[link]) (void)close(wire->out[link]);
  wire->in[link] = wire->out[link] = WIRE_NONE;
}

enum wire_result wire_receive(struct wire *wire, unsigned link, uint8_t pdu[PFD_MTU_MAX], size_t *size) {
  ssize_t count;
  if (wire->path == NULL) return receive_fifo(wire, link, pdu, size);
  do {
    count = recv(wire->in[link], pdu, PFD_MTU_MAX, MSG_TRUNC);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return WIRE_LATER;
  // Longer than any MTU: no radio delivers it.
  if (count <= 0 || count > (ssize_t)PFD_MTU_MAX) return WIRE_END;
  *size = (size_t)count;
  return WIRE_PDU;
}

int wire_send(struct wire *wire, unsigned link, const uint8_t *pdu, size_t size) {
  uint8_t framed[WIRE_LENGTH_BYTES + PFD_MTU_MAX] = {(uint8_t)size, (uint8_t)(size >> 8)};
  ssize_t count;
  do {
    if (wire->path != NULL) {
      count = send(wire->out[link], pdu, size, MSG_NOSIGNAL);
    } else {
      // Less than PIPE_BUF: whole or not at all.
      memcpy(framed + WIRE_LENGTH_BYTES, pdu, size);
      count = write(wire->out[link], framed, WIRE_LENGTH_BYTES + size);
    }
  } while (count < 0 && errno == EINTR);
  return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) ? -1 : 0;
}
