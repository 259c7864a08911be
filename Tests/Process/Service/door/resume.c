// SPDX-License-Identifier: Apache-2.0

// A stop waits for a thread that is still in libmicrohttpd, waking an answer that its client has already got.
//
// To be linked with `-Wl,--wrap=MHD_resume_connection`: the call stays in the library until the answer has come and the
// server was told to stop. The exit status is 0 if the stop came to its end after that call only.

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "CMicroHTTPD.h"

/// How long a stop that is wrong has time to come to its end.
enum { WAIT_NS = 200000000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pfh_response *sleeping;
static pthread_t waker;
static int is_waking, is_answered, is_to_stop, is_stopped, was_early, was_held, is_over;

void __real_MHD_resume_connection(struct MHD_Connection *connection);
void __wrap_MHD_resume_connection(struct MHD_Connection *connection);

void __wrap_MHD_resume_connection(struct MHD_Connection *connection) {
  __real_MHD_resume_connection(connection);
  // The connection's own thread resumes it if the wake-up came early; it must go on.
  if (!pthread_equal(pthread_self(), waker)) return;
  struct timespec end;
  pthread_mutex_lock(&mutex);
  while (!is_answered) pthread_cond_wait(&changed, &mutex);
  is_to_stop = 1;
  pthread_cond_broadcast(&changed);
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_nsec += WAIT_NS;
  end.tv_sec += end.tv_nsec / 1000000000L;
  end.tv_nsec %= 1000000000L;
  while (!is_stopped && pthread_cond_timedwait(&changed, &mutex, &end) == 0) {}
  was_early = is_stopped;
  was_held = 1;
  pthread_mutex_unlock(&mutex);
}

static void *wake(void *context) {
  (void)context;
  pthread_mutex_lock(&mutex);
  while (!is_over) {
    pfh_response *const response = sleeping;
    sleeping = NULL;
    if (response == NULL) {
      pthread_cond_wait(&changed, &mutex);
      continue;
    }
    is_waking = 1;
    pthread_mutex_unlock(&mutex);
    pfh_response_wake(response);
    pthread_mutex_lock(&mutex);
    is_waking = 0;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void go_on(void *context, pfh_response *response) {
  (void)context;
  // A failed setting leaves status 500, which is an answer as well.
  if (response != NULL && pfh_response_set(response, 200, NULL, 0)) return;
}

static void respond(void *context, const struct pfh_request *request, pfh_response *response) {
  (void)context;
  (void)request;
  pfh_response_put_off(response, go_on, NULL);
  pthread_mutex_lock(&mutex);
  is_answered = 0;
  sleeping = response;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

/// Asks until the waker's call is held: an answer that is woken early is resumed by its own thread.
static void *ask(void *context) {
  const struct sockaddr_in *const address = context;
  static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(one, (const struct sockaddr *)address, sizeof *address) != 0) return NULL;
  char answer[1024];
  int is_done = 0;
  while (!is_done && send(one, request, sizeof request - 1, MSG_NOSIGNAL) > 0 &&
         recv(one, answer, sizeof answer, 0) > 0) {
    pthread_mutex_lock(&mutex);
    is_answered = 1;
    pthread_cond_broadcast(&changed);
    // A further request would hold the stop up by itself.
    while (is_waking && !is_to_stop) pthread_cond_wait(&changed, &mutex);
    is_done = is_to_stop;
    pthread_mutex_unlock(&mutex);
  }
  close(one);
  return NULL;
}

int main(void) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&changed, &attributes);
  const struct pfh_limits limits = {
      .threads = 1,
      .connections = 10,
      .head = 32 << 10,
      .body = 1 << 10,
      .bodies = 1 << 20,
      .request_ms = 60000,
      .idle_ms = 60000,
  };
  pfh_server *server;
  if (pfh_server_start(&server, "127.0.0.1", 0, NULL, &limits, "", respond, NULL) != PFH_OK) return 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(pfh_server_port(server))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  pthread_t client;
  pthread_mutex_lock(&mutex);
  if (pthread_create(&waker, NULL, wake, NULL) != 0) return 3;
  pthread_mutex_unlock(&mutex);
  if (pthread_create(&client, NULL, ask, &address) != 0) return 4;
  pthread_mutex_lock(&mutex);
  while (!is_to_stop) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  const int is_drained = pfh_server_stop(server, 60000);
  pthread_mutex_lock(&mutex);
  is_stopped = 1;
  is_over = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  pthread_join(waker, NULL);
  pthread_join(client, NULL);
  pfh_server_free(server);
  if (is_drained && was_held && !was_early) return 0;
  fprintf(stderr, "drained %d, held %d, stopped early %d\n", is_drained, was_held, was_early);
  return 1;
}
