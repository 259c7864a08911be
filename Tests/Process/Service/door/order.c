// SPDX-License-Identifier: Apache-2.0

// Connections leave in the order in which they were accepted, also if the threads that serve them begin in another one.
//
// Two threads are late. Both have silent connections, and one has the latest of all, from the same address.
// That thread goes on first, the other one after it: its connections are older, so none of them may close the latest.
// With a share of several connections, nor may one that comes after all of them.
//
// To be linked with `-Wl,--wrap=MHD_add_connection,--wrap=pfh_connection_notify`. The exit status is 0 if the latest
// connection gets its answer each time.

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../../CSources/CMicroHTTPD/parts.h"

enum { THREADS = 2, SILENT = 40 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned handed, begun;
static struct MHD_Daemon *latest, *released;
static int are_all_released;

enum MHD_Result __real_MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket socket, const struct sockaddr *peer,
                                          socklen_t size);
enum MHD_Result __wrap_MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket socket, const struct sockaddr *peer,
                                          socklen_t size);
void __real_pfh_connection_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                                  enum MHD_ConnectionNotificationCode code);
void __wrap_pfh_connection_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                                  enum MHD_ConnectionNotificationCode code);

enum MHD_Result __wrap_MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket socket, const struct sockaddr *peer,
                                          socklen_t size) {
  const enum MHD_Result result = __real_MHD_add_connection(daemon, socket, peer, size);
  pthread_mutex_lock(&mutex);
  handed += 1;
  latest = daemon;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return result;
}

void __wrap_pfh_connection_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                                  enum MHD_ConnectionNotificationCode code) {
  const struct pfh_lane *const lane = context;
  pthread_mutex_lock(&mutex);
  while (!are_all_released && released != lane->daemon) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  __real_pfh_connection_notify(context, connection, socket_context, code);
  if (code != MHD_CONNECTION_NOTIFY_STARTED) return;
  pthread_mutex_lock(&mutex);
  begun += 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void respond(void *context, const struct pfh_request *request, pfh_response *response) {
  (void)context;
  (void)request;
  // A failed setting leaves status 500, which the test refuses.
  if (pfh_response_set(response, 200, NULL, 0)) return;
}

static int connected(const struct sockaddr_in *address) {
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  if (one < 0 || connect(one, (const struct sockaddr *)address, sizeof *address) != 0) return -1;
  return one;
}

static void await(const unsigned *count, unsigned enough) {
  pthread_mutex_lock(&mutex);
  while (*count < enough) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

/// The load of the lane that serves this daemon.
static unsigned load_of(struct pfh_server *server, const struct MHD_Daemon *daemon) {
  unsigned load = 0;
  pthread_mutex_lock(&server->mutex);
  for (unsigned i = 0; i < THREADS; i++) {
    if (server->lanes[i].daemon == daemon) load = server->lanes[i].load;
  }
  pthread_mutex_unlock(&server->mutex);
  return load;
}

static int play(unsigned share) {
  const struct pfh_limits limits = {
      .threads = THREADS,
      .connections = 1000,
      .connections_per_address = share,
      .head = 32 << 10,
      .body = 1 << 10,
      .bodies = 1 << 20,
      .request_ms = 60000,
      .idle_ms = 60000,
  };
  pfh_server *server;
  handed = begun = 0;
  released = NULL;
  are_all_released = 0;
  if (pfh_server_start(&server, "127.0.0.1", 0, NULL, &limits, "", respond, NULL) != PFH_OK) return 0;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(pfh_server_port(server))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int silent[SILENT];
  for (unsigned i = 0; i < SILENT; i++) silent[i] = connected(&address);
  // The latest of all is known once the others were handed out.
  await(&handed, SILENT);
  const int one = connected(&address);
  await(&handed, SILENT + 1);
  pthread_mutex_lock(&mutex);
  struct MHD_Daemon *const first = latest;
  pthread_mutex_unlock(&mutex);
  const unsigned before = load_of(server, first);
  pthread_mutex_lock(&mutex);
  released = first;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  await(&begun, before);
  pthread_mutex_lock(&mutex);
  are_all_released = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  await(&begun, SILENT + 1);
  const unsigned later = share > 1 ? 1 : 0;
  const int next = later ? connected(&address) : -1;
  await(&begun, SILENT + 1 + later);

  static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  static const char expected[] = "HTTP/1.1 200 ";
  char answer[1024] = "";
  const ssize_t sent = send(one, request, sizeof request - 1, MSG_NOSIGNAL);
  const ssize_t got = recv(one, answer, sizeof answer - 1, 0);
  const int is_served = sent > 0 && got > 0 && strncmp(answer, expected, sizeof expected - 1) == 0;
  const uint64_t displaced = pfh_server_counts(server).connections_displaced;
  for (unsigned i = 0; i < SILENT; i++) close(silent[i]);
  close(one);
  if (later) close(next);
  const int is_drained = pfh_server_stop(server, 60000);
  pfh_server_free(server);
  const int is_right = is_served && is_drained && before < SILENT && displaced == SILENT + 1 + later - share;
  if (!is_right) {
    fprintf(stderr, "share %u: served %d (%zd of %zd), drained %d, first %u, displaced %llu\n", share, is_served, got,
            sent, is_drained, before, (unsigned long long)displaced);
  }
  return is_right;
}

int main(void) { return play(1) && play(4) ? 0 : 1; }
