// SPDX-License-Identifier: Apache-2.0

// Each lane is a daemon of libmicrohttpd with one thread. A pool of that library would hand out connections without
// regard to threads that wait.

#define _GNU_SOURCE

#include <stdlib.h>

#include "parts.h"

/// TLS 1.2 with forward secrecy and authenticated encryption, and TLS 1.3.
#define PRIORITIES                                                                                       \
  "NONE:+VERS-TLS1.3:+VERS-TLS1.2:+AES-256-GCM:+CHACHA20-POLY1305:+AES-128-GCM:+ECDHE-ECDSA:+ECDHE-RSA:" \
  "+AEAD:+GROUP-X25519:+GROUP-SECP256R1:+GROUP-SECP384R1:+SIGN-ALL:-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1:"     \
  "-SIGN-DSA-SHA1:+COMP-NULL:%SERVER_PRECEDENCE"

static int start(struct pfh_lane *lane, int is_secure) {
  struct pfh_server *const server = lane->server;
  const struct pfh_limits *const limits = &server->limits;
  // No MHD_USE_ERROR_LOG: what it says is about clients' faults, and goes to standard error line by line.
  const unsigned flags =
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
      (is_secure ? MHD_USE_TLS : 0U);
  struct MHD_OptionItem options[16];
  size_t count = 0;
  // The thread that accepts keeps the limit. The library counts a connection for a moment after it told of its end.
  options[count++] =
      (struct MHD_OptionItem){MHD_OPTION_CONNECTION_LIMIT, (intptr_t)pfh_connections_held(limits) + 1, NULL};
  options[count++] = (struct MHD_OptionItem){MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)limits->head, NULL};
#if MHD_VERSION >= PFH_STRICT_VERSION
  // The strictest but the one for tests of clients: no bare LF, no continued lines.
  options[count++] = (struct MHD_OptionItem){MHD_OPTION_CLIENT_DISCIPLINE_LVL, 2, NULL};
#else
  options[count++] = (struct MHD_OptionItem){MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL};
#endif
  union {
    void (*function)(void *, struct MHD_Connection *, void **, enum MHD_ConnectionNotificationCode);
    intptr_t number;
  } notify = {.function = pfh_connection_notify};
  options[count++] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_CONNECTION, notify.number, lane};
  union {
    void (*function)(void *, struct MHD_Connection *, void **, enum MHD_RequestTerminationCode);
    intptr_t number;
  } completed = {.function = pfh_request_completed};
  options[count++] = (struct MHD_OptionItem){MHD_OPTION_NOTIFY_COMPLETED, completed.number, server};
  union {
    void *(*function)(void *, const char *, struct MHD_Connection *);
    intptr_t number;
  } begun = {.function = pfh_request_begun};
  options[count++] = (struct MHD_OptionItem){MHD_OPTION_URI_LOG_CALLBACK, begun.number, server};
  union {
    size_t (*function)(void *, struct MHD_Connection *, char *);
    intptr_t number;
  } unescape = {.function = pfh_request_unescape};
  options[count++] = (struct MHD_OptionItem){MHD_OPTION_UNESCAPE_CALLBACK, unescape.number, server};
  if (is_secure) {
    union {
      const char *constant;
      void *any;
    } priorities = {.constant = PRIORITIES};
    options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0, priorities.any};
    options[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, pfh_certificate_door()};
  }
  options[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
  lane->daemon = MHD_start_daemon(flags, 0, NULL, NULL, pfh_request_handle, server, MHD_OPTION_ARRAY, options,
                                  MHD_OPTION_END);
  return lane->daemon != NULL;
}

static void stop(struct pfh_server *server, unsigned count) {
  for (unsigned i = 0; i < count; i++) MHD_stop_daemon(server->lanes[i].daemon);
  free(server->lanes);
}

int pfh_lanes_start(struct pfh_server *server, int is_secure) {
  server->lanes = calloc(server->limits.threads, sizeof *server->lanes);
  if (server->lanes == NULL) return 0;
  for (unsigned i = 0; i < server->limits.threads; i++) {
    server->lanes[i].server = server;
    if (start(&server->lanes[i], is_secure)) continue;
    stop(server, i);
    return 0;
  }
  return 1;
}

void pfh_lanes_stop(struct pfh_server *server) { stop(server, server->limits.threads); }

uint64_t pfh_lanes_load(const struct pfh_server *server) {
  uint64_t load = 0;
  for (unsigned i = 0; i < server->limits.threads; i++) load += server->lanes[i].load;
  return load;
}

struct pfh_lane *pfh_lanes_idle(struct pfh_server *server) {
  struct pfh_lane *best = NULL;
  for (unsigned i = 0; i < server->limits.threads; i++) {
    struct pfh_lane *const lane = &server->lanes[i];
    if (!atomic_load(&lane->is_busy) && (best == NULL || lane->load < best->load)) best = lane;
  }
  return best;
}

void pfh_lane_enter(struct pfh_lane *lane) { atomic_store(&lane->is_busy, 1); }

void pfh_lane_leave(struct pfh_lane *lane) {
  struct pfh_server *const server = lane->server;
  atomic_store(&lane->is_busy, 0);
  if (!atomic_load(&server->is_crowded)) return;
  pthread_mutex_lock(&server->mutex);
  if (atomic_load(&server->is_crowded)) {
    atomic_store(&server->is_crowded, 0);
    server->freed = lane;
    pfh_accept_interrupt(server);
  }
  pthread_mutex_unlock(&server->mutex);
}
