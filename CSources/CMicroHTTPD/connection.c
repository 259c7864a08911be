// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "parts.h"

/// How often the watch looks. A deadline is met with this precision.
enum { WATCH_MS = 200 };

int64_t pfh_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

void pfh_connection_grant(struct pfh_connection *connection, uint32_t ms) {
  if (connection != NULL) atomic_store(&connection->deadline, pfh_now() + ms);
}

struct pfh_connection *pfh_connection_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : (struct pfh_connection *)info->socket_context;
}

unsigned pfh_connections_held(const struct pfh_limits *limits) {
  return limits->connections + limits->connections / 4 + 8 * limits->threads;
}

static int is_unlimited(const struct pfh_server *server, const char *peer) {
  const size_t size = strlen(peer);
  for (const char *at = server->unlimited; *at != '\0';) {
    const size_t length = strcspn(at, " ");
    if (length == size && memcmp(at, peer, size) == 0) return 1;
    at += length;
    while (*at == ' ') at++;
  }
  return 0;
}

/// Closes the connection that is to go if `network` has its share already; NULL stands for all networks. The list is
/// the server's, under its mutex; `fresh` is not in it yet, and goes itself if no other may or it is the eldest silent
/// one.
static void make_room(struct pfh_server *server, struct pfh_connection *fresh, const char *network, unsigned limit) {
  unsigned count = 0;
  struct pfh_connection *leaving = fresh;
  int phase = PFH_ANSWERING;
  for (struct pfh_connection *each = server->connections; each != NULL; each = each->next) {
    if (each->is_displaced || (network != NULL && strcmp(each->network, network) != 0)) continue;
    count++;
    const int own = atomic_load(&each->phase);
    // The list ends with the eldest.
    if (own != PFH_ANSWERING && own <= phase) {
      leaving = each;
      phase = own;
    }
  }
  if (count < limit || fresh->is_displaced) return;
  if (phase == PFH_SILENT && leaving->number > fresh->number) leaving = fresh;
  leaving->is_displaced = 1;
  atomic_store(&leaving->deadline, PFH_NO_DEADLINE);
  atomic_fetch_add(&server->displaced, 1);
  // The connection's own thread sees the end of the stream, and closes.
  shutdown(leaving->socket, SHUT_RDWR);
}

/// Takes the record of this socket out of those that arrive; NULL if there is none. Under the server's mutex.
static struct pfh_connection *taken(struct pfh_server *server, int socket) {
  for (struct pfh_connection **each = &server->arriving; *each != NULL; each = &(*each)->next) {
    struct pfh_connection *const found = *each;
    if (found->socket != socket) continue;
    *each = found->next;
    found->next = NULL;
    return found;
  }
  return NULL;
}

static void forget(struct pfh_server *server, int socket) {
  pthread_mutex_lock(&server->mutex);
  struct pfh_connection *const found = taken(server, socket);
  if (found != NULL) found->lane->load -= 1;
  pthread_mutex_unlock(&server->mutex);
  free(found);
}

int pfh_connection_arrive(struct pfh_lane *lane, int socket, const struct sockaddr *peer) {
  struct pfh_server *const server = lane->server;
  struct pfh_connection *const made = calloc(1, sizeof *made);
  if (made == NULL) return 0;
  // If its memory fails, libmicrohttpd closes a connection that it took, and tells of nothing. The number comes again.
  forget(server, socket);
  made->lane = lane;
  made->socket = socket;
  pfh_address_of_peer(made->peer, peer);
  if (!is_unlimited(server, made->peer) && pfh_address_network(made->network, made->peer) != PFH_OK) {
    made->network[0] = '\0';
  }
  atomic_init(&made->phase, PFH_SILENT);
  pthread_mutex_lock(&server->mutex);
  made->number = server->arrived++;
  made->next = server->arriving;
  server->arriving = made;
  lane->load += 1;
  pthread_mutex_unlock(&server->mutex);
  return 1;
}

void pfh_connection_refused(struct pfh_lane *lane, int socket) { forget(lane->server, socket); }

/// Puts a connection behind all that arrived after it. Under the server's mutex.
static void insert(struct pfh_server *server, struct pfh_connection *made) {
  struct pfh_connection *before = NULL, *after = server->connections;
  while (after != NULL && after->number > made->number) {
    before = after;
    after = after->next;
  }
  made->previous = before;
  made->next = after;
  if (after != NULL) after->previous = made;
  if (before != NULL) before->next = made;
  else server->connections = made;
}

static void begin(struct pfh_lane *lane, struct MHD_Connection *connection, void **socket_context) {
  struct pfh_server *const server = lane->server;
  pfh_certificate_serve(server);
  const union MHD_ConnectionInfo *const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  pthread_mutex_lock(&server->mutex);
  struct pfh_connection *const made = info == NULL ? NULL : taken(server, info->connect_fd);
  if (made == NULL) {
    // Each connection has a record; one that had none would be neither watched nor served.
    pthread_mutex_unlock(&server->mutex);
    return;
  }
  pfh_connection_grant(made, server->limits.request_ms);
  const unsigned share = server->limits.connections_per_address;
  if (share > 0 && made->network[0] != '\0') make_room(server, made, made->network, share);
  make_room(server, made, NULL, server->limits.connections);
  insert(server, made);
  // A stop has ended the streams of those that were in the list.
  if (atomic_load(&server->is_stopping)) shutdown(made->socket, SHUT_RDWR);
  pthread_mutex_unlock(&server->mutex);
  atomic_fetch_add(&server->open, 1);
  atomic_fetch_add(&server->accepted, 1);
  *socket_context = made;
}

/// libmicrohttpd closes the socket after this: while a connection is in the list, its socket is its own.
static void end(struct pfh_lane *lane, struct pfh_connection *connection) {
  struct pfh_server *const server = lane->server;
  if (connection == NULL) return;
  pthread_mutex_lock(&server->mutex);
  if (connection->previous != NULL) connection->previous->next = connection->next;
  if (connection->next != NULL) connection->next->previous = connection->previous;
  if (server->connections == connection) server->connections = connection->next;
  lane->load -= 1;
  if (server->is_full) pfh_accept_interrupt(server);
  server->is_full = 0;
  // A stop may wait for the last one.
  if (server->connections == NULL && atomic_load(&server->is_stopping)) pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->mutex);
  atomic_fetch_sub(&server->open, 1);
  free(connection->target);
  free(connection);
}

void pfh_connection_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                           enum MHD_ConnectionNotificationCode code) {
  struct pfh_lane *const lane = context;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    begin(lane, connection, socket_context);
  } else {
    end(lane, *socket_context);
    *socket_context = NULL;
  }
}

static void look(struct pfh_server *server) {
  const int64_t now = pfh_now();
  for (struct pfh_connection *each = server->connections; each != NULL; each = each->next) {
    int64_t deadline = atomic_load(&each->deadline);
    if (now < deadline) continue;
    // Not if a request came in this moment, and moved the deadline.
    if (!atomic_compare_exchange_strong(&each->deadline, &deadline, PFH_NO_DEADLINE)) continue;
    // Count first: a peer that sees the end of the stream must find it counted.
    if (atomic_load(&each->phase) != PFH_IDLE) atomic_fetch_add(&server->timed_out, 1);
    // The connection's own thread sees the end of the stream, and closes.
    shutdown(each->socket, SHUT_RDWR);
  }
}

void *pfh_watch(void *context) {
  struct pfh_server *const server = context;
  pthread_mutex_lock(&server->mutex);
  while (!server->is_ended) {
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    next.tv_nsec += WATCH_MS * 1000000L;
    if (next.tv_nsec >= 1000000000L) {
      next.tv_sec += 1;
      next.tv_nsec -= 1000000000L;
    }
    pthread_cond_timedwait(&server->changed, &server->mutex, &next);
    look(server);
  }
  pthread_mutex_unlock(&server->mutex);
  return NULL;
}
