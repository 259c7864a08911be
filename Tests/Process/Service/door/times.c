// SPDX-License-Identifier: Apache-2.0

// The door's times: the deadline of each part of a request, the waits of a stop, and the pauses of the thread that
// accepts.
//
// To be linked with `-Wl,--wrap=clock_gettime,--wrap=pthread_cond_timedwait,--wrap=poll,--wrap=accept4,--wrap=calloc,
// --wrap=MHD_add_connection`: time is what a test says, and calls fail where it says so.

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../../../CSources/CMicroHTTPD/parts.h"
#include "check.h"

// Calls that the tests replace -----------------------------------------------------------------------------------

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end);
int __real_poll(struct pollfd *list, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *list, nfds_t count, int timeout);
int __real_accept4(int socket, struct sockaddr *peer, socklen_t *size, int flags);
int __wrap_accept4(int socket, struct sockaddr *peer, socklen_t *size, int flags);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
enum MHD_Result __real_MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket socket, const struct sockaddr *peer,
                                          socklen_t size);
enum MHD_Result __wrap_MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket socket, const struct sockaddr *peer,
                                          socklen_t size);

/// Milliseconds.
static _Atomic int64_t now;
static pthread_t stopping;
static struct timespec ends[8];
static unsigned waits;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
  CHECK(clock == CLOCK_MONOTONIC, "clock");
  const int64_t ms = atomic_load(&now);
  *time = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  return 0;
}

/// The time of a stop is over at once; the watch's never. Only a stop wakes the watch: a wait may also end by itself.
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end) {
  if (!pthread_equal(pthread_self(), stopping)) {
    const struct pfh_server *const server =
        (const void *)((const char *)condition - offsetof(struct pfh_server, changed));
    do {
      pthread_cond_wait(condition, mutex);
    } while (!server->is_ended && !atomic_load(&server->is_stopping));
    return 0;
  }
  if (waits < 8) ends[waits] = *end;
  waits += 1;
  return ETIMEDOUT;
}

/// Why a connection is not accepted, one after the other.
static const int reasons[] = {EAGAIN, EINTR, ECONNABORTED, EMFILE, ENFILE, ENOMEM};
enum { REASONS = sizeof reasons / sizeof *reasons };

static struct {
  int first, timeout;
  nfds_t count;
  short events;
} polls[REASONS + 1];
static atomic_uint polled, refused, accepted, pauses;
static atomic_int is_scripted, is_without_memory, is_refusing;

/// The end that the thread waits for, and how many connections it had accepted by then: it is done with all of them.
enum wait { ANY = 1, INTERRUPTION, PAUSE };
static atomic_uint done, waiting;

/// Called by the thread that accepts alone.
int __wrap_poll(struct pollfd *list, nfds_t count, int timeout) {
  const unsigned place = atomic_load(&polled);
  const int is_played = atomic_load(&is_scripted) && place <= REASONS;
  if (is_played) {
    polls[place].first = list[0].fd;
    polls[place].timeout = timeout;
    polls[place].count = count;
    polls[place].events = list[count - 1].events;
  }
  if (timeout > 0) atomic_fetch_add(&pauses, 1);
  atomic_store(&waiting, timeout >= 0 ? PAUSE : count == 2 ? ANY : INTERRUPTION);
  atomic_store(&done, atomic_load(&accepted));
  atomic_store(&polled, place + 1);
  return is_played ? 1 : __real_poll(list, count, timeout < 0 ? timeout : 0);
}

int __wrap_accept4(int socket, struct sockaddr *peer, socklen_t *size, int flags) {
  CHECK(flags == (SOCK_CLOEXEC | SOCK_NONBLOCK), "flags");
  if (atomic_load(&is_scripted)) {
    const unsigned place = atomic_fetch_add(&refused, 1);
    if (place < REASONS) {
      errno = reasons[place];
      return -1;
    }
  }
  const int made = __real_accept4(socket, peer, size, flags);
  if (made >= 0) atomic_fetch_add(&accepted, 1);
  return made;
}

void *__wrap_calloc(size_t count, size_t size) {
  return atomic_exchange(&is_without_memory, 0) ? NULL : __real_calloc(count, size);
}

enum MHD_Result __wrap_MHD_add_connection(struct MHD_Daemon *daemon, MHD_socket socket, const struct sockaddr *peer,
                                          socklen_t size) {
  if (!atomic_exchange(&is_refusing, 0)) return __real_MHD_add_connection(daemon, socket, peer, size);
  close(socket);
  return MHD_NO;
}

// A server and its client ----------------------------------------------------------------------------------------

enum { LARGE = 8 << 20 };

static uint8_t large[LARGE];
static pfh_server *serving;
static _Atomic int64_t deadline_within;
static atomic_int phase_within;

static void respond(void *context, const struct pfh_request *request, pfh_response *response) {
  (void)context;
  (void)request;
  pthread_mutex_lock(&serving->mutex);
  if (serving->connections != NULL) {
    atomic_store(&deadline_within, atomic_load(&serving->connections->deadline));
    atomic_store(&phase_within, atomic_load(&serving->connections->phase));
  }
  pthread_mutex_unlock(&serving->mutex);
  atomic_store(&now, 4000);
  // A failed setting leaves status 500, which the test refuses.
  if (pfh_response_set(response, 200, large, LARGE)) return;
}

static pfh_server *served(unsigned connections) {
  const struct pfh_limits limits = {
      .threads = 1,
      .connections = connections,
      .head = 32 << 10,
      .body = 1 << 10,
      .bodies = 1 << 20,
      .request_ms = 700,
      .idle_ms = 900,
  };
  pfh_server *server;
  if (pfh_server_start(&server, "127.0.0.1", 0, NULL, &limits, "", respond, NULL) != PFH_OK) exit(2);
  serving = server;
  return server;
}

static int connected(const pfh_server *server) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(pfh_server_port(server))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  if (one < 0 || connect(one, (const struct sockaddr *)&address, sizeof address) != 0) exit(2);
  return one;
}

static void say(int client, const char *text) {
  if (send(client, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text)) exit(2);
}

static int has(pfh_server *server, int phase, int64_t deadline) {
  pthread_mutex_lock(&server->mutex);
  const struct pfh_connection *const one = server->connections;
  const int is_so = one != NULL && atomic_load(&one->phase) == phase && atomic_load(&one->deadline) == deadline;
  pthread_mutex_unlock(&server->mutex);
  return is_so;
}

/// Whether the one connection comes to have this phase and this deadline.
static int comes_to(pfh_server *server, int phase, int64_t deadline) {
  AWAIT(has(server, phase, deadline));
  return has(server, phase, deadline);
}

/// Whether the thread that accepts is done with as many connections, and then waits for this.
static int waits_for(enum wait wait, unsigned connections) {
  AWAIT(atomic_load(&done) == connections && atomic_load(&waiting) == wait);
  return atomic_load(&done) == connections && atomic_load(&waiting) == wait;
}

// Tests ----------------------------------------------------------------------------------------------------------

/// A client has `request_ms` for the beginning, for the request and for the answer, and `idle_ms` before the next one.
static void test_deadlines(void) {
  atomic_store(&now, 1000);
  pfh_server *const server = served(10);
  const int client = connected(server);
  CHECK(comes_to(server, PFH_SILENT, 1700), "the beginning of a connection");
  atomic_store(&now, 2000);
  say(client, "GET / HTTP/1.1\r\n");
  CHECK(comes_to(server, PFH_RECEIVING, 2700), "the first line");
  atomic_store(&now, 3000);
  say(client, "Host: a\r\n\r\n");
  CHECK(comes_to(server, PFH_ANSWERING, 4700), "the answer");
  CHECK(atomic_load(&deadline_within) == INT64_MAX && atomic_load(&phase_within) == PFH_ANSWERING, "in the function");
  atomic_store(&now, 5000);
  static char answer[LARGE + 1000];
  for (size_t count = 0; count < LARGE;) {
    const ssize_t more = recv(client, answer + count, sizeof answer - count, 0);
    if (!CHECK(more > 0 && strncmp(answer, "HTTP/1.1 200 ", 13) == 0, "answer")) break;
    count += (size_t)more;
  }
  CHECK(comes_to(server, PFH_IDLE, 5900), "between two requests");
  atomic_store(&now, 6000);
  say(client, "GET / HTTP/1.1\r\n");
  CHECK(comes_to(server, PFH_RECEIVING, 6700), "the next first line");
  close(client);
  waits = 0;
  atomic_store(&now, 7000);
  CHECK(pfh_server_stop(server, 0) <= 1, "stop");
  pfh_server_free(server);
}

/// A stop waits as long as it is told for requests, then two seconds for the ends of connections.
static void test_stop(void) {
  static const struct {
    uint32_t ms;
    struct timespec end;
  } rows[] = {{0, {5, 500000000}}, {499, {5, 999000000}}, {500, {6, 0}}, {501, {6, 1000000}}, {12345, {17, 845000000}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pfh_server *const server = served(10);
    pthread_mutex_lock(&server->mutex);
    server->in_flight = 1;
    pthread_mutex_unlock(&server->mutex);
    // Its lane never begins with it.
    CHECK(pfh_connection_arrive(&server->lanes[0], 1 << 20, NULL) == 1, "arrives");
    waits = 0;
    atomic_store(&now, 5500);
    CHECK(pfh_server_stop(server, rows[i].ms) == 0 && waits == 2, "a request is given up");
    CHECK(ends[0].tv_sec == rows[i].end.tv_sec && ends[0].tv_nsec == rows[i].end.tv_nsec, "requests");
    CHECK(ends[1].tv_sec == 7 && ends[1].tv_nsec == 500000000, "connections");
    const struct pfh_counts counts = pfh_server_counts(server);
    CHECK(counts.requests_in_flight == 1 && counts.connections_open == 0, "counts");
    pfh_server_free(server);
  }
  pfh_server *const server = served(10);
  waits = 0;
  CHECK(pfh_server_stop(server, 60000) == 1 && waits == 0, "nothing to wait for");
  pfh_server_free(server);
}

/// The thread pauses for 100 ms where only others can end the failure. Then it looks at no connection.
static void test_failures(void) {
  atomic_store(&polled, 0);
  atomic_store(&accepted, 0);
  atomic_store(&is_scripted, 1);
  pfh_server *const server = served(10);
  AWAIT(atomic_load(&polled) == REASONS + 2);
  CHECK(waits_for(ANY, 0) && atomic_load(&polled) == REASONS + 2, "back at the wait for a connection");
  atomic_store(&is_scripted, 0);
  for (size_t i = 0; i <= REASONS; i++) {
    const int is_failure = i > 3;
    CHECK(polls[i].count == (is_failure ? 1 : 2) && polls[i].timeout == (is_failure ? 100 : -1), "after a reason");
    CHECK(polls[i].first == server->accept_wake && polls[i].events == POLLIN, "what is watched");
  }
  CHECK(pfh_server_stop(server, 0) == 1, "stop");
  pfh_server_free(server);
}

/// Whether the server ends a connection that said nothing.
static int is_ended(int client) {
  struct pollfd entry = {.fd = client, .events = POLLIN};
  char byte;
  return __real_poll(&entry, 1, 60000) == 1 && recv(client, &byte, 1, 0) <= 0;
}

/// One that there is no memory for, or that libmicrohttpd does not take, is closed, and no lane counts it.
static void test_refusals(void) {
  atomic_store(&pauses, 0);
  atomic_store(&accepted, 0);
  pfh_server *const server = served(10);
  for (int is_memory = 0; is_memory < 2; is_memory++) {
    atomic_store(is_memory ? &is_without_memory : &is_refusing, 1);
    const int client = connected(server);
    CHECK(is_ended(client), is_memory ? "memory" : "refused");
    CHECK(waits_for(ANY, (unsigned)is_memory + 1), is_memory ? "memory" : "refused");
    pthread_mutex_lock(&server->mutex);
    CHECK(pfh_lanes_load(server) == 0 && server->arriving == NULL, is_memory ? "memory" : "refused");
    pthread_mutex_unlock(&server->mutex);
    CHECK(atomic_load(&pauses) == (unsigned)is_memory, is_memory ? "memory" : "refused");
    close(client);
  }
  CHECK(pfh_server_counts(server).connections_accepted == 0, "counts");
  CHECK(pfh_server_stop(server, 0) == 1, "stop");
  pfh_server_free(server);
}

/// As many connections as can be held are handed out; the next one waits, and nothing but an interruption is watched.
static void test_full(void) {
  atomic_store(&accepted, 0);
  pfh_server *const server = served(8);
  pthread_mutex_lock(&server->mutex);
  // 8, a quarter of them, and 8 for the thread: 18.
  server->lanes[0].load = 17;
  pthread_mutex_unlock(&server->mutex);
  atomic_store(&now, 1000);
  const int first = connected(server);
  CHECK(comes_to(server, PFH_SILENT, 1700), "the eighteenth");
  const int second = connected(server);
  CHECK(waits_for(INTERRUPTION, 1), "the nineteenth waits, and an interruption alone is watched");
  pthread_mutex_lock(&server->mutex);
  CHECK(server->is_full, "full");
  pthread_mutex_unlock(&server->mutex);
  close(first);
  AWAIT(pfh_server_counts(server).connections_accepted == 2);
  CHECK(pfh_server_counts(server).connections_accepted == 2, "taken up at the first one's end");
  CHECK(waits_for(ANY, 2), "done with both");
  close(second);
  CHECK(pfh_server_stop(server, 0) == 1, "stop");
  pfh_server_free(server);
}

int main(void) {
  stopping = pthread_self();
  test_deadlines();
  test_stop();
  test_failures();
  test_refusals();
  test_full();
  return failures == 0 ? 0 : 1;
}
