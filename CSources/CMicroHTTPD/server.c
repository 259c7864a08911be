// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "parts.h"

/// The most that a stop waits for the ends of connections that no request is in flight on.
enum { CLOSE_MS = 2000 };

/// Mutex, condition on the monotonic clock, and the watch's thread. 0 if one cannot be had.
static int start_watch(struct pfh_server *server) {
  pthread_condattr_t attributes;
  if (pthread_mutex_init(&server->mutex, NULL) != 0) return 0;
  if (pthread_condattr_init(&attributes) != 0) goto no_condition;
  if (pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) != 0 ||
      pthread_cond_init(&server->changed, &attributes) != 0) {
    pthread_condattr_destroy(&attributes);
    goto no_condition;
  }
  pthread_condattr_destroy(&attributes);
  if (pthread_create(&server->watch, NULL, pfh_watch, server) == 0) return 1;
  pthread_cond_destroy(&server->changed);
no_condition:
  pthread_mutex_destroy(&server->mutex);
  return 0;
}

static void stop_watch(struct pfh_server *server) {
  pthread_mutex_lock(&server->mutex);
  server->is_ended = 1;
  pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->mutex);
  pthread_join(server->watch, NULL);
}

static void end_watch(struct pfh_server *server) {
  pthread_cond_destroy(&server->changed);
  pthread_mutex_destroy(&server->mutex);
}

enum pfh_result pfh_server_start(pfh_server **server, const char *address, uint16_t port,
                                 pfh_certificate *certificate, const struct pfh_limits *limits,
                                 const char *unlimited, pfh_respond respond, void *context) {
  *server = NULL;
  struct pfh_server *const made = calloc(1, sizeof *made);
  if (made == NULL) return PFH_E_LIBRARY;
  made->limits = *limits;
  made->unlimited = strdup(unlimited);
  if (made->unlimited == NULL) {
    free(made);
    return PFH_E_LIBRARY;
  }
  made->respond = respond;
  made->context = context;
  atomic_init(&made->certificate, certificate);
  const char *const path = pfh_local_path(address);
  if (path != NULL && (made->local_path = strdup(path)) == NULL) {
    free(made->unlimited);
    free(made);
    return PFH_E_LIBRARY;
  }
  const enum pfh_result result = path == NULL ? pfh_listen(&made->socket, &made->port, address, port)
                                              : pfh_listen_local(&made->socket, path, limits->local_mode);
  if (result != PFH_OK) {
    const int reason = errno;
    free(made->local_path);
    free(made->unlimited);
    free(made);
    errno = reason;
    return result;
  }
  if (!start_watch(made)) goto no_watch;
  if (!pfh_lanes_start(made, certificate != NULL)) goto no_lanes;
  if (!pfh_accept_start(made)) goto no_accept;
  *server = made;
  return PFH_OK;
no_accept:
  pfh_lanes_stop(made);
no_lanes:
  stop_watch(made);
  end_watch(made);
no_watch:
  close(made->socket);
  free(made->local_path);
  free(made->unlimited);
  free(made);
  return PFH_E_LIBRARY;
}

uint16_t pfh_server_port(const pfh_server *server) { return server->port; }

struct pfh_counts pfh_server_counts(const pfh_server *server) {
  // The count of requests in flight stands under the mutex, which is not the caller's to see.
  union {
    const struct pfh_server *constant;
    struct pfh_server *any;
  } own = {.constant = server};
  pthread_mutex_lock(&own.any->mutex);
  const uint64_t in_flight = server->in_flight;
  pthread_mutex_unlock(&own.any->mutex);
  const struct pfh_counts counts = {
      .connections_open = atomic_load(&server->open),
      .connections_accepted = atomic_load(&server->accepted),
      .connections_displaced = atomic_load(&server->displaced),
      .requests_in_flight = in_flight,
      .requests_timed_out = atomic_load(&server->timed_out),
      .requests_too_large = atomic_load(&server->too_large),
      .requests_refused_busy = atomic_load(&server->refused_busy),
      .requests_refused_stopping = atomic_load(&server->refused_stopping),
  };
  return counts;
}

int pfh_server_renew(pfh_server *server, pfh_certificate *certificate) {
  pfh_certificate *const before = atomic_load(&server->certificate);
  if (before == NULL) return 0;
  pfh_certificate_chain(certificate, before);
  atomic_store(&server->certificate, certificate);
  return 1;
}

static struct timespec time_after(uint32_t ms) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += (time_t)(ms / 1000);
  end.tv_nsec += (long)(ms % 1000) * 1000000L;
  if (end.tv_nsec >= 1000000000L) {
    end.tv_sec += 1;
    end.tv_nsec -= 1000000000L;
  }
  return end;
}

/// Waits until no request is in flight, or the time is over. 1 if none is.
static int drain(struct pfh_server *server, uint32_t ms) {
  const struct timespec end = time_after(ms);
  pthread_mutex_lock(&server->mutex);
  int failure = 0;
  while (server->in_flight > 0 && failure == 0) {
    failure = pthread_cond_timedwait(&server->changed, &server->mutex, &end);
  }
  const int is_drained = server->in_flight == 0;
  pthread_mutex_unlock(&server->mutex);
  return is_drained;
}

/// Ends all streams, and waits until libmicrohttpd has closed their connections, or the time is over.
///
/// Once it stops, libmicrohttpd 0.9.75 queues no answer (MHD_queue_response returns MHD_YES at once) and then reads the
/// answer that was to refuse a malformed request: the process ends. A connection that is closed refuses nothing.
static void close_connections(struct pfh_server *server, uint32_t ms) {
  const struct timespec end = time_after(ms);
  int failure = 0;
  pthread_mutex_lock(&server->mutex);
  for (struct pfh_connection *each = server->connections; each != NULL; each = each->next) {
    shutdown(each->socket, SHUT_RDWR);
  }
  while ((server->connections != NULL || server->arriving != NULL) && failure == 0) {
    failure = pthread_cond_timedwait(&server->changed, &server->mutex, &end);
  }
  pthread_mutex_unlock(&server->mutex);
}

/// Waits until libmicrohttpd may be stopped: with a suspended connection it ends the process, and a call that resumes
/// one would use what was freed.
static void await_holds(struct pfh_server *server) {
  pthread_mutex_lock(&server->mutex);
  server->is_closing = 1;
  while (server->holds > 0) pthread_cond_wait(&server->changed, &server->mutex);
  pthread_mutex_unlock(&server->mutex);
}

int pfh_server_stop(pfh_server *server, uint32_t drain_ms) {
  atomic_store(&server->is_stopping, 1);
  // Remove the name while the socket is still held: a successor cannot have made its own there yet.
  if (server->local_path != NULL) (void)unlink(server->local_path);
  pfh_accept_stop(server);
  const int is_drained = drain(server, drain_ms);
  close_connections(server, CLOSE_MS);
  await_holds(server);
  pfh_lanes_stop(server);
  stop_watch(server);
  return is_drained;
}

void pfh_server_free(pfh_server *server) {
  end_watch(server);
  pfh_certificate_free(atomic_load(&server->certificate));
  // Those that libmicrohttpd had no memory for.
  while (server->arriving != NULL) {
    struct pfh_connection *const next = server->arriving->next;
    free(server->arriving);
    server->arriving = next;
  }
  free(server->local_path);
  free(server->unlimited);
  free(server);
}
