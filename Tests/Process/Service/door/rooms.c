// SPDX-License-Identifier: Apache-2.0

// The door's books: which connection leaves for another one, when the watch ends one, and which lane gets the next.
//
// To be linked with `-Wl,--wrap=clock_gettime,--wrap=pthread_cond_timedwait,--wrap=MHD_get_connection_info`: time is
// what a test says, and a connection of libmicrohttpd is one of a socket pair.

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../../../CSources/CMicroHTTPD/parts.h"
#include "check.h"

// Time -----------------------------------------------------------------------------------------------------------

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end);

enum { WAITS = 4 };

static struct timespec now, ends[WAITS], nexts[WAITS];
static unsigned waits, last_wait;
static struct pfh_server *watched;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time) {
  CHECK(clock == CLOCK_MONOTONIC, "clock");
  *time = now;
  return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end) {
  CHECK(condition == &watched->changed && mutex == &watched->mutex, "wait");
  if (waits < WAITS) ends[waits] = *end;
  waits += 1;
  if (waits < last_wait) now = nexts[waits];
  watched->is_ended = waits == last_wait;
  return ETIMEDOUT;
}

static void set_ms(int64_t ms) { now = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}; }

static void test_clock(void) {
  struct pfh_connection connection;
  memset(&connection, 0, sizeof connection);
  now = (struct timespec){5, 999999999};
  CHECK(pfh_now() == 5999, "5.999999999");
  now = (struct timespec){7, 1000000};
  CHECK(pfh_now() == 7001, "7.001");
  pfh_connection_grant(&connection, 250);
  CHECK(atomic_load(&connection.deadline) == 7251, "7.251");
  pfh_connection_grant(NULL, 250);
}

static void begin(struct pfh_server *server, struct pfh_lane *lanes, unsigned threads) {
  memset(server, 0, sizeof *server);
  memset(lanes, 0, threads * sizeof *lanes);
  pthread_mutex_init(&server->mutex, NULL);
  pthread_cond_init(&server->changed, NULL);
  server->lanes = lanes;
  server->limits.threads = threads;
  server->limits.connections = 1000;
  server->limits.request_ms = 300;
  server->accept_wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  static char none[] = "";
  server->unlimited = none;
  for (unsigned i = 0; i < threads; i++) lanes[i].server = server;
}

static void finish(struct pfh_server *server) {
  pthread_cond_destroy(&server->changed);
  pthread_mutex_destroy(&server->mutex);
  close(server->accept_wake);
}

/// How often the thread that accepts was interrupted since the last look.
static uint64_t interruptions(const struct pfh_server *server) {
  uint64_t count = 0;
  return read(server->accept_wake, &count, sizeof count) == sizeof count ? count : 0;
}

/// The watch looks every 200 ms.
static void test_rhythm(void) {
  static const struct timespec begins[WAITS] = {{5, 0}, {5, 799999999}, {5, 800000000}, {5, 999999999}};
  static const struct timespec expected[WAITS] = {{5, 200000000}, {5, 999999999}, {6, 0}, {6, 199999999}};
  struct pfh_server server;
  struct pfh_lane lane;
  begin(&server, &lane, 1);
  watched = &server;
  waits = 0;
  last_wait = WAITS;
  now = begins[0];
  memcpy(nexts, begins, sizeof nexts);
  CHECK(pfh_watch(&server) == NULL && waits == WAITS, "waits");
  for (size_t i = 0; i < WAITS; i++) {
    CHECK(ends[i].tv_sec == expected[i].tv_sec && ends[i].tv_nsec == expected[i].tv_nsec, "end of a wait");
  }
  finish(&server);
}

/// Whether the stream of a socket's other end was shut down.
static int is_shut(int peer) {
  char byte;
  return recv(peer, &byte, 1, MSG_DONTWAIT) == 0;
}

/// A deadline is over when its millisecond has come; who is between two requests has not failed.
static void test_deadlines(void) {
  static const struct {
    int64_t deadline;
    int phase, is_over, is_failure;
  } rows[] = {
      {9999, PFH_SILENT, 1, 1},  {10000, PFH_SILENT, 1, 1},     {10000, PFH_IDLE, 1, 0},
      {10001, PFH_IDLE, 0, 0},   {10000, PFH_RECEIVING, 1, 1},  {10000, PFH_ANSWERING, 1, 1},
      {10001, PFH_SILENT, 0, 0}, {INT64_MAX, PFH_SILENT, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct pfh_server server;
    struct pfh_lane lane;
    struct pfh_connection connection;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) exit(2);
    begin(&server, &lane, 1);
    memset(&connection, 0, sizeof connection);
    connection.socket = pair[0];
    atomic_init(&connection.deadline, rows[i].deadline);
    atomic_init(&connection.phase, rows[i].phase);
    server.connections = &connection;
    watched = &server;
    for (unsigned round = 0; round < 2; round++) {
      server.is_ended = 0;
      waits = 0;
      last_wait = 1;
      set_ms(10000);
      pfh_watch(&server);
      const char *const row = rows[i].is_over ? "over" : "not over";
      CHECK(is_shut(pair[1]) == rows[i].is_over, row);
      CHECK(atomic_load(&connection.deadline) == (rows[i].is_over ? INT64_MAX : rows[i].deadline), row);
      CHECK(atomic_load(&server.timed_out) == (uint64_t)rows[i].is_failure, row);
    }
    finish(&server);
    close(pair[0]);
    close(pair[1]);
  }
}

// Connections ----------------------------------------------------------------------------------------------------

const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type, ...);

/// One end of a socket pair, which stands for libmicrohttpd's connection.
struct end {
  int socket, peer;
  void *context;
};

const union MHD_ConnectionInfo *__wrap_MHD_get_connection_info(struct MHD_Connection *connection,
                                                               enum MHD_ConnectionInfoType type, ...) {
  static union MHD_ConnectionInfo info;
  const struct end *const own = (const void *)connection;
  if (type == MHD_CONNECTION_INFO_CONNECTION_FD) {
    info.connect_fd = own->socket;
  } else {
    info.socket_context = own->context;
  }
  return &info;
}

static struct MHD_Connection *as_connection(struct end *end) { return (void *)end; }

static void arrive(struct pfh_lane *lane, struct end *end, const char *peer) {
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) exit(2);
  if (inet_pton(AF_INET6, peer, &six.sin6_addr) != 1) exit(2);
  *end = (struct end){pair[0], pair[1], NULL};
  CHECK(pfh_connection_arrive(lane, end->socket, (const struct sockaddr *)&six) == 1, peer);
}

static void start(struct pfh_lane *lane, struct end *end) {
  pfh_connection_notify(lane, as_connection(end), &end->context, MHD_CONNECTION_NOTIFY_STARTED);
}

static void leave(struct pfh_lane *lane, struct end *end) {
  pfh_connection_notify(lane, as_connection(end), &end->context, MHD_CONNECTION_NOTIFY_CLOSED);
  CHECK(end->context == NULL, "a connection that has ended");
  close(end->socket);
  close(end->peer);
}

/// As many as the limit, a quarter of them, and eight for each thread.
static void test_held(void) {
  static const unsigned rows[][3] = {{1000, 4, 1282}, {8, 1, 18}, {5, 3, 30}, {7, 2, 24}, {1024, 8, 1344}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct pfh_limits limits = {.connections = rows[i][0], .threads = rows[i][1]};
    CHECK(pfh_connections_held(&limits) == rows[i][2], "held");
  }
}

static void test_arrivals(void) {
  static const struct {
    const char *unlimited, *peer, *network;
  } rows[] = {
      {"", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"},  {"192.0.2.10", "::ffff:192.0.2.1", "192.0.2.1"},
      {"192.0.2.1", "::ffff:192.0.2.10", "192.0.2.10"}, {"192.0.2.1", "::ffff:192.0.2.1", ""},
      {"192.0.2.7 192.0.2.1", "::ffff:192.0.2.1", ""},  {"192.0.2.1  ::2 ", "::ffff:192.0.2.1", ""},
      {"::2   ::3", "::3", ""},                         {"::2 ::33", "::3", "::"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct pfh_server server;
    struct pfh_lane lanes[2];
    struct end first, second;
    begin(&server, lanes, 2);
    char unlimited[64];
    snprintf(unlimited, sizeof unlimited, "%s", rows[i].unlimited);
    server.unlimited = unlimited;
    arrive(&lanes[0], &first, "::9");
    arrive(&lanes[1], &second, rows[i].peer);
    const struct pfh_connection *const made = server.arriving;
    CHECK(strcmp(made->network, rows[i].network) == 0, rows[i].network);
    CHECK(made->number == 1 && made->next->number == 0 && made->next->next == NULL, "numbers");
    CHECK(lanes[0].load == 1 && lanes[1].load == 1 && pfh_lanes_load(&server) == 2, "loads");
    // The number of a socket that was closed comes again, with another lane.
    CHECK(pfh_connection_arrive(&lanes[1], first.socket, NULL) == 1, "again");
    CHECK(lanes[0].load == 0 && lanes[1].load == 2 && server.arriving->next == made && made->next == NULL, "again");
    CHECK(server.arriving->peer[0] == '\0' && server.arriving->network[0] == '\0', "no peer");
    pfh_connection_refused(&lanes[1], second.socket);
    pfh_connection_refused(&lanes[1], second.socket);
    CHECK(lanes[1].load == 1 && server.arriving->socket == first.socket && server.arriving->next == NULL, "refused");
    pfh_connection_refused(&lanes[1], first.socket);
    CHECK(pfh_lanes_load(&server) == 0 && server.arriving == NULL, "refused");
    const int sockets[] = {first.socket, first.peer, second.socket, second.peer};
    for (size_t j = 0; j < 4; j++) close(sockets[j]);
    finish(&server);
  }
}

/// The connections that stand, one letter each: `s`ilent, `i`dle, `r`eceiving, `a`nswering, `x` shut down already. A
/// capital is of the new one's network. `leaves` is the place of the one that goes: one more than there are for the
/// new one, -1 for none.
static void test_rooms(void) {
  static const struct {
    const char *standing;
    unsigned connections, share;
    int leaves;
  } rows[] = {
      {"sss", 3, 0, 0},  {"sss", 4, 0, -1}, {"isr", 3, 0, 1}, {"rii", 3, 0, 1},   {"arr", 3, 0, 1}, {"ara", 3, 0, 1},
      {"aaa", 3, 0, 3},  {"aaa", 4, 0, -1}, {"xss", 3, 0, -1}, {"xss", 2, 0, 1},  {"irs", 3, 0, 2}, {"sSS", 9, 2, 1},
      {"sSss", 9, 2, -1}, {"SsS", 9, 2, 0}, {"AsA", 9, 2, 3}, {"ASs", 9, 2, 1},   {"IsR", 9, 2, 0}, {"SSS", 9, 4, -1},
      {"XS", 9, 2, -1},  {"SS", 9, 0, -1},  {"aA", 2, 1, 2},  {"A", 1, 1, 1},     {"Sa", 9, 1, 0},  {"ssS", 2, 9, 0},
      {"sS", 9, 1, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct pfh_server server;
    struct pfh_lane lane;
    struct end all[8];
    const char *const row = rows[i].standing;
    const int count = (int)strlen(row);
    begin(&server, &lane, 1);
    set_ms(50000);
    for (int j = 0; j < count; j++) {
      arrive(&lane, &all[j], row[j] < 'a' ? "2001:db8::1" : "2001:db8:0:1::1");
      start(&lane, &all[j]);
      struct pfh_connection *const own = all[j].context;
      const char small = (char)(row[j] | 0x20);
      atomic_store(&own->phase, small == 'i' ? PFH_IDLE : small == 'r' ? PFH_RECEIVING
                                : small == 'a' ? PFH_ANSWERING : PFH_SILENT);
      own->is_displaced = small == 'x';
    }
    server.limits.connections = rows[i].connections;
    server.limits.connections_per_address = rows[i].share;
    arrive(&lane, &all[count], "2001:db8::2");
    start(&lane, &all[count]);
    for (int j = 0; j <= count; j++) {
      const struct pfh_connection *const own = all[j].context;
      const int goes = j == rows[i].leaves;
      CHECK(is_shut(all[j].peer) == goes, row);
      CHECK(own->is_displaced == (goes || (row[j] | 0x20) == 'x'), row);
      CHECK(atomic_load(&own->deadline) == (goes ? INT64_MAX : 50300), row);
    }
    CHECK(atomic_load(&server.displaced) == (rows[i].leaves >= 0), row);
    const uint64_t all_of_them = (uint64_t)count + 1;
    CHECK(atomic_load(&server.open) == all_of_them && atomic_load(&server.accepted) == all_of_them, row);
    for (int j = 0; j <= count; j++) leave(&lane, &all[j]);
    CHECK(atomic_load(&server.open) == 0 && server.connections == NULL && lane.load == 0, row);
    finish(&server);
  }
}

/// Connections stand in the order of their arrival, the latest first, whatever the order in which they begin and end.
static void test_order(void) {
  static const int begins[4] = {2, 0, 3, 1};
  for (int gone = 0; gone < 4; gone++) {
    struct pfh_server server;
    struct pfh_lane lane;
    struct end all[4];
    begin(&server, &lane, 1);
    for (int i = 0; i < 4; i++) arrive(&lane, &all[i], "::1");
    for (int i = 0; i < 4; i++) start(&lane, &all[begins[i]]);
    CHECK(server.arriving == NULL && interruptions(&server) == 0, "all have begun");
    server.is_full = 1;
    leave(&lane, &all[gone]);
    CHECK(!server.is_full && interruptions(&server) == 1, "there is room");
    const struct pfh_connection *before = NULL, *each = server.connections;
    for (int i = 3; i >= 0; i--) {
      if (i == gone) continue;
      CHECK(each == all[i].context && each->previous == before && each->number == (uint64_t)i, "order");
      before = each;
      each = each->next;
    }
    CHECK(each == NULL && interruptions(&server) == 0, "the last one");
    // One without a record changes nothing, when it begins and when it ends.
    struct end stranger = {-7, -7, NULL};
    start(&lane, &stranger);
    CHECK(stranger.context == NULL && atomic_load(&server.open) == 3, "a stranger");
    leave(&lane, &stranger);
    for (int i = 0; i < 4; i++) {
      if (i != gone) leave(&lane, &all[i]);
    }
    CHECK(lane.load == 0 && interruptions(&server) == 0, "all have ended");
    finish(&server);
  }
}

/// A connection that begins while the server stops is ended at once, and finds no other way.
static void test_stopping(void) {
  struct pfh_server server;
  struct pfh_lane lane;
  struct end one;
  begin(&server, &lane, 1);
  arrive(&lane, &one, "::1");
  atomic_store(&server.is_stopping, 1);
  start(&lane, &one);
  CHECK(is_shut(one.peer) && atomic_load(&server.displaced) == 0, "stopping");
  CHECK(pfh_connection_of(as_connection(&one)) == one.context, "its record");
  leave(&lane, &one);
  finish(&server);
}

// Lanes ----------------------------------------------------------------------------------------------------------

static void test_lanes(void) {
  static const struct {
    unsigned loads[3];
    int is_busy[3], best;
  } rows[] = {
      {{3, 2, 4}, {0, 0, 0}, 1}, {{3, 2, 4}, {0, 1, 0}, 0}, {{3, 2, 4}, {1, 1, 0}, 2}, {{0, 0, 0}, {1, 1, 1}, -1},
      {{4, 3, 2}, {0, 0, 0}, 2}, {{2, 3, 4}, {0, 0, 0}, 0}, {{2, 3, 4}, {1, 0, 0}, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct pfh_server server;
    struct pfh_lane lanes[3];
    begin(&server, lanes, 3);
    for (size_t j = 0; j < 3; j++) {
      lanes[j].load = rows[i].loads[j];
      if (rows[i].is_busy[j]) pfh_lane_enter(&lanes[j]);
    }
    CHECK(pfh_lanes_idle(&server) == (rows[i].best < 0 ? NULL : &lanes[rows[i].best]), "the lane with the least");
    CHECK(pfh_lanes_load(&server) == (i == 3 ? 0 : 9), "all loads");
    for (int is_crowded = 0; is_crowded < 2; is_crowded++) {
      atomic_store(&server.is_crowded, is_crowded);
      pfh_lane_enter(&lanes[2]);
      pfh_lane_leave(&lanes[2]);
      CHECK(!atomic_load(&lanes[2].is_busy) && !atomic_load(&server.is_crowded), "left");
      CHECK(interruptions(&server) == (uint64_t)is_crowded, "left");
      CHECK(server.freed == (is_crowded ? &lanes[2] : NULL), "left");
    }
    finish(&server);
  }
}

int main(void) {
  test_clock();
  test_rhythm();
  test_deadlines();
  test_held();
  test_arrivals();
  test_rooms();
  test_order();
  test_stopping();
  test_lanes();
  return failures == 0 ? 0 : 1;
}
