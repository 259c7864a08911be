// SPDX-License-Identifier: Apache-2.0

// The thread that accepts connections and hands them to libmicrohttpd's threads.
//
// libmicrohttpd accepts by itself, too, but cannot end that safely: in 0.9.75, MHD_quiesce_daemon and a thread of the
// pool that wakes at the same moment both remove the listening socket from the pool's epoll set, and the second one
// ends the process ("Failed to remove listen FD from epoll set").
//
// A lane keeps a connection to its end. So while all lanes are in functions of the application, connections wait in the
// system's queue, and each lane that comes back gets one. The model is Tests/Adversary/Models/accept.pml.

#define _GNU_SOURCE

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "parts.h"

/// The wait after a failure that other processes or connections have to end, say that no descriptor or memory is left.
/// The system tells of no such end.
enum { PAUSE_MS = 100 };

/// Why the thread does not wait for the next connection.
enum pause { READY, INTERRUPTED, FAILED };

/// Waits for a connection, for an interruption or for the end of a pause. 0 if the thread has to end.
static int await_connection(struct pfh_server *server, enum pause pause) {
  struct pollfd watched[] = {{server->accept_wake, POLLIN, 0}, {server->socket, POLLIN, 0}};
  // Interrupted or failed: the caller tries to accept, and comes back.
  (void)poll(watched, pause == READY ? 2 : 1, pause == FAILED ? PAUSE_MS : -1);
  uint64_t count;
  // Not blocking. There is nothing to do if it was not written.
  if (read(server->accept_wake, &count, sizeof count) < 0) count = 0;
  return !atomic_load(&server->is_stopping);
}

/// The lane for the next connection. NULL if there is none; then an interruption tells when to ask again.
static struct pfh_lane *next_lane(struct pfh_server *server) {
  struct pfh_lane *lane = NULL;
  pthread_mutex_lock(&server->mutex);
  server->is_full = pfh_lanes_load(server) >= pfh_connections_held(&server->limits);
  if (!server->is_full) {
    atomic_store(&server->is_crowded, 1);
    lane = pfh_lanes_idle(server);
    if (lane == NULL) lane = server->freed;
    if (lane != NULL) atomic_store(&server->is_crowded, 0);
  }
  server->freed = NULL;
  pthread_mutex_unlock(&server->mutex);
  return lane;
}

static void *accept_all(void *context) {
  struct pfh_server *const server = context;
  enum pause pause = READY;
  while (await_connection(server, pause)) {
    struct pfh_lane *const lane = next_lane(server);
    pause = lane == NULL ? INTERRUPTED : READY;
    if (lane == NULL) continue;
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    const int made = accept4(server->socket, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (made < 0) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause = FAILED;
      continue;
    }
    if (!pfh_connection_arrive(lane, made, (struct sockaddr *)&peer)) {
      close(made);
      pause = FAILED;
      continue;
    }
    // Refused, say for lack of memory: the library has closed the socket.
    if (MHD_add_connection(lane->daemon, made, (struct sockaddr *)&peer, size) != MHD_YES) {
      pfh_connection_refused(lane, made);
    }
  }
  return NULL;
}

int pfh_accept_start(struct pfh_server *server) {
  server->accept_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (server->accept_wake < 0) return 0;
  if (pthread_create(&server->accepting, NULL, accept_all, server) == 0) return 1;
  close(server->accept_wake);
  return 0;
}

void pfh_accept_interrupt(struct pfh_server *server) {
  const uint64_t one = 1;
  // The counter has room, so only a signal makes this fail.
  while (write(server->accept_wake, &one, sizeof one) < 0 && errno == EINTR) {}
}

void pfh_accept_stop(struct pfh_server *server) {
  pfh_accept_interrupt(server);
  pthread_join(server->accepting, NULL);
  // From now on no lane interrupts a wait.
  pthread_mutex_lock(&server->mutex);
  server->is_full = 0;
  atomic_store(&server->is_crowded, 0);
  pthread_mutex_unlock(&server->mutex);
  close(server->accept_wake);
  close(server->socket);
}
