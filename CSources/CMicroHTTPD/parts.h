// SPDX-License-Identifier: Apache-2.0

/// Declarations shared by the parts of a server.

#ifndef PFH_PARTS_H
#define PFH_PARTS_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "CMicroHTTPD.h"

/// A connection has no deadline while its request is being answered: that time is ours, not the client's.
#define PFH_NO_DEADLINE INT64_MAX

/// The version of libmicrohttpd from which on it refuses lenient heads itself, and no longer parses them in one place.
#define PFH_STRICT_VERSION 0x00097601

/// The state of a connection, in the order in which connections are closed to make room. The last one is not closed.
enum pfh_phase { PFH_SILENT, PFH_IDLE, PFH_RECEIVING, PFH_ANSWERING };

struct pfh_connection {
  /// Connections are numbered as they are accepted. Their threads begin with them in another order.
  uint64_t number;
  struct pfh_connection *previous;
  struct pfh_connection *next;
  struct pfh_lane *lane;
  int socket;
  /// Monotonic milliseconds after which the watch shuts the socket down.
  _Atomic int64_t deadline;
  /// An enum pfh_phase. To end while idle is no failure.
  atomic_int phase;
  /// Shut down to make room, under the server's mutex. Its own thread has not closed it yet.
  int is_displaced;
  /// The target of the request that is being received; NULL if there was no memory for it.
  char *target;
  char peer[PFH_ADDRESS_TEXT];
  /// The address or prefix that limits count by; empty for one without a limit of its own.
  char network[PFH_ADDRESS_TEXT];
};

/// One of libmicrohttpd's threads. It serves a connection from its beginning to its end.
struct pfh_lane {
  struct pfh_server *server;
  struct MHD_Daemon *daemon;
  /// Connections that were handed to it and have not ended, under the server's mutex.
  unsigned load;
  /// Whether it runs a function of the application, which may wait for something.
  atomic_int is_busy;
};

struct pfh_server {
  /// As many as `limits.threads`.
  struct pfh_lane *lanes;
  struct pfh_limits limits;
  /// Addresses without a limit of their own.
  char *unlimited;
  pfh_respond respond;
  void *context;
  int socket;
  uint16_t port;
  pthread_t accepting;
  /// An event descriptor that interrupts the wait of the thread that accepts.
  int accept_wake;
  /// The path of a Unix socket; NULL for another one.
  char *local_path;

  /// Handshakes read it without a lock.
  _Atomic(pfh_certificate *) certificate;

  /// Guards the list of connections, the loads of the lanes, the counts of requests in flight and of answers put off,
  /// the state of each of those, and the end of the watch.
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  pthread_t watch;
  /// The latest first.
  struct pfh_connection *connections;
  /// Connections that were handed to libmicrohttpd and that their lanes have not begun with; not in the list yet.
  struct pfh_connection *arriving;
  uint64_t arrived;
  /// The thread that accepts waits until a connection ends. It sets this before it waits, and the connection's end
  /// interrupts it in the same section of the mutex that clears it.
  int is_full;
  /// The thread that accepts waits until a lane leaves the application. It sets this before it looks at the lanes, and
  /// a lane is not busy any more before it looks at this: so one of the two sees the other.
  atomic_int is_crowded;
  /// The lane that ended that wait. It gets a connection, also if it is busy again meanwhile.
  struct pfh_lane *freed;
  uint64_t in_flight;
  /// Reasons why libmicrohttpd must not be stopped yet: connections that are suspended and were not taken up again, and
  /// calls that resume one. Such a call still uses libmicrohttpd when the connection may already have its answer.
  uint64_t holds;
  /// No further connection is suspended: the server waits for the last ones.
  int is_closing;
  int is_ended;

  atomic_int is_stopping;
  atomic_size_t bodies;
  _Atomic uint64_t open;
  _Atomic uint64_t accepted;
  _Atomic uint64_t displaced;
  _Atomic uint64_t timed_out;
  _Atomic uint64_t too_large;
  _Atomic uint64_t refused_busy;
  _Atomic uint64_t refused_stopping;
};

// address.c

/// A socket that listens. On PFH_E_BIND, `errno` is set.
enum pfh_result pfh_listen(int *listening, uint16_t *chosen, const char *address, uint16_t port);

// local.c

/// The path of an address that begins with `unix:`; NULL for another one.
const char *pfh_local_path(const char *address);

/// A Unix socket that listens, with this mode. Its folder must not be writable for others than its owner, who is this
/// user or root. On PFH_E_BIND, `errno` is set: EPERM for such a folder.
enum pfh_result pfh_listen_local(int *listening, const char *path, unsigned mode);

/// The address of a peer in canonical form.
void pfh_address_of_peer(char canonical[PFH_ADDRESS_TEXT], const struct sockaddr *peer);

// accept.c

/// Starts the thread that accepts. 0 if it cannot be had.
int pfh_accept_start(struct pfh_server *server);

/// Interrupts the wait of that thread, or its next one.
void pfh_accept_interrupt(struct pfh_server *server);

/// Ends it, once `is_stopping` is set, and closes the listening socket: the system refuses new connections, and those
/// that nothing accepted yet.
void pfh_accept_stop(struct pfh_server *server);

// lanes.c

/// Starts all lanes. 0 if one cannot be had; then none is left.
int pfh_lanes_start(struct pfh_server *server, int is_secure);

/// Stops all lanes, and waits for their threads.
void pfh_lanes_stop(struct pfh_server *server);

/// The loads of all lanes together. Under the server's mutex.
uint64_t pfh_lanes_load(const struct pfh_server *server);

/// The lane that is not busy and has the least load; NULL if all are busy. Under the server's mutex.
struct pfh_lane *pfh_lanes_idle(struct pfh_server *server);

/// A lane's thread begins with a function of the application.
void pfh_lane_enter(struct pfh_lane *lane);

/// It has come back.
void pfh_lane_leave(struct pfh_lane *lane);

// certificate.c

/// The server whose connections this thread serves: a thread of libmicrohttpd's pool serves one server in its life,
/// and GnuTLS asks for the certificate without saying on whose behalf.
void pfh_certificate_serve(struct pfh_server *server);

/// Puts a certificate in front of those before it, which live on: a handshake may still hold them.
void pfh_certificate_chain(pfh_certificate *certificate, pfh_certificate *before);

/// The callback that gives libmicrohttpd its certificates: a gnutls_certificate_retrieve_function3.
void *pfh_certificate_door(void);

// connection.c

int64_t pfh_now(void);

/// How many connections may be open: more than the limit, because one that was shut down to make room is closed a
/// moment later by its own thread.
unsigned pfh_connections_held(const struct pfh_limits *limits);

/// Makes the record of a connection before libmicrohttpd gets it for this lane. 0 if there is no memory for it.
int pfh_connection_arrive(struct pfh_lane *lane, int socket, const struct sockaddr *peer);

/// Drops that record: libmicrohttpd did not take the connection, and has closed its socket.
void pfh_connection_refused(struct pfh_lane *lane, int socket);

/// MHD_NotifyConnectionCallback of a lane.
void pfh_connection_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                           enum MHD_ConnectionNotificationCode code);

struct pfh_connection *pfh_connection_of(struct MHD_Connection *connection);

/// Gives a connection so many milliseconds from now. `connection` may be NULL.
void pfh_connection_grant(struct pfh_connection *connection, uint32_t ms);

/// The watch's thread.
void *pfh_watch(void *context);

// request.c

/// MHD_AccessHandlerCallback.
enum MHD_Result pfh_request_handle(void *context, struct MHD_Connection *connection, const char *path,
                                   const char *method, const char *version, const char *data, size_t *size,
                                   void **state);

/// MHD_RequestCompletedCallback.
void pfh_request_completed(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode code);

/// Called with the first line of each request.
void *pfh_request_begun(void *context, const char *uri, struct MHD_Connection *connection);

/// Leaves percent encoding alone: undone here, %00 would end a path early.
size_t pfh_request_unescape(void *context, struct MHD_Connection *connection, char *text);

#endif
