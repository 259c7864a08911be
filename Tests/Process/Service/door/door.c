// SPDX-License-Identifier: Apache-2.0

// The C door alone, to be built with sanitizers that see all of it: `door [CERTIFICATE KEY]` prints its port, echoes
// bodies, renews its certificate at a line `r` on standard input, and stops at any other.
//
// One request in four is answered at once. The others are put off: woken before the function returns, woken by another
// thread, and put off twice.

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "CMicroHTTPD.h"

/// A request that was put off.
struct work {
  struct work *next;
  pfh_response *response;
  int rounds;
  char sum[32];
  size_t size;
  uint8_t body[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct work *sleeping;
static int is_over;
static atomic_uint requests;
static atomic_long unfinished;

static void *wake_all(void *context) {
  (void)context;
  pthread_mutex_lock(&mutex);
  while (!is_over || sleeping != NULL) {
    struct work *const work = sleeping;
    if (work == NULL) {
      pthread_cond_wait(&changed, &mutex);
      continue;
    }
    sleeping = work->next;
    pfh_response *const response = work->response;
    pthread_mutex_unlock(&mutex);
    // The work belongs to the connection's thread from here on.
    pfh_response_wake(response);
    pthread_mutex_lock(&mutex);
  }
  pthread_mutex_unlock(&mutex);
  return NULL;
}

static void sleep_until_woken(struct work *work) {
  pthread_mutex_lock(&mutex);
  work->next = sleeping;
  sleeping = work;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}

static void give(pfh_response *response, const char *sum, const uint8_t *body, size_t size) {
  // A failed setting leaves status 500, which the door's own tests cover.
  if (pfh_response_set(response, 200, body, size) && pfh_response_header(response, "X-Sum", sum)) return;
}

static void go_on(void *context, pfh_response *response) {
  struct work *const work = context;
  work->rounds -= 1;
  if (response != NULL && work->rounds > 0) {
    work->response = response;
    pfh_response_put_off(response, go_on, work);
    sleep_until_woken(work);
    return;
  }
  if (response != NULL) give(response, work->sum, work->body, work->size);
  free(work);
  atomic_fetch_sub(&unfinished, 1);
}

static void echo(void *context, const struct pfh_request *request, pfh_response *response) {
  (void)context;
  // Read all of it, so that a sanitizer sees what does not belong to the request.
  size_t sum = strlen(request->path) + strlen(request->target);
  for (size_t i = 0; i < request->body_size; i++) sum += request->body[i];
  for (size_t i = 0; i < request->header_count; i++) {
    for (size_t j = 0; j < request->headers[i].value_size; j++) sum += (unsigned char)request->headers[i].value[j];
  }
  char text[32];
  snprintf(text, sizeof text, "%zu", sum);
  const unsigned kind = atomic_fetch_add(&requests, 1) % 4;
  struct work *const work = kind == 0 ? NULL : malloc(sizeof *work + request->body_size);
  if (work == NULL) {
    give(response, text, request->body, request->body_size);
    return;
  }
  memcpy(work->sum, text, sizeof text);
  work->size = request->body_size;
  if (work->size > 0) memcpy(work->body, request->body, work->size);
  work->response = response;
  work->rounds = kind == 3 ? 2 : 1;
  atomic_fetch_add(&unfinished, 1);
  pfh_response_put_off(response, go_on, work);
  if (kind == 1) {
    pfh_response_wake(response);
  } else {
    sleep_until_woken(work);
  }
}

int main(int count, char **arguments) {
  pfh_certificate *certificate = NULL;
  const int is_secure = count == 3;
  if (is_secure && pfh_certificate_read(&certificate, arguments[1], arguments[2]) != PFH_OK) return 2;
  const struct pfh_limits limits = {
      .threads = 4,
      .connections = 1000,
      .head = 32 << 10,
      .body = 1 << 20,
      .bodies = 4 << 20,
      // Many times what a busy machine takes to serve an honest client. A client that left in the middle of a request
      // stays until this deadline, and so does a stop, which has far longer.
      .request_ms = 20000,
      .idle_ms = 20000,
  };
  pthread_t waker;
  if (pthread_create(&waker, NULL, wake_all, NULL) != 0) return 7;
  pfh_server *server;
  if (pfh_server_start(&server, "127.0.0.1", 0, certificate, &limits, "", echo, NULL) != PFH_OK) return 3;
  printf("%u\n", (unsigned)pfh_server_port(server));
  fflush(stdout);
  char line[8];
  while (fgets(line, sizeof line, stdin) != NULL && line[0] == 'r') {
    pfh_certificate *fresh = NULL;
    if (!is_secure || pfh_certificate_read(&fresh, arguments[1], arguments[2]) != PFH_OK) return 4;
    if (!pfh_server_renew(server, fresh)) return 5;
  }
  const int is_drained = pfh_server_stop(server, 300000);
  const struct pfh_counts counts = pfh_server_counts(server);
  pfh_server_free(server);
  pthread_mutex_lock(&mutex);
  is_over = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
  pthread_join(waker, NULL);
  const long left = atomic_load(&unfinished);
  if (is_drained && counts.connections_open == 0 && counts.requests_in_flight == 0 && left == 0) return 0;
  fprintf(stderr, "door: drained %d, %llu connections open, %llu requests in flight, %ld unfinished\n", is_drained,
          (unsigned long long)counts.connections_open, (unsigned long long)counts.requests_in_flight, left);
  return 6;
}
