// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parts.h"

enum { BODY_FIRST = 4096 };

/// The reasons for which the server itself refuses a request, before the handler sees it.
enum refusal { ACCEPTED, AMBIGUOUS, LENIENT, TOO_LARGE, TOO_MANY_FIELDS, BUSY, STOPPING, OUT_OF_MEMORY };

/// An answer. One that was put off has a `resume`.
///
/// Two threads agree on what follows, under the server's mutex: the connection's, which parks the answer, and the one
/// that wakes it. The second of the two goes on. So a connection is resumed once for each time that it was suspended,
/// never before, and the thread that wakes touches nothing of an answer that was not parked. The model is
/// Tests/Adversary/Models/later.pml.
struct pfh_response {
  struct MHD_Response *made;
  unsigned status;
  pfh_resume resume;
  void *work;
  struct pfh_server *server;
  struct MHD_Connection *connection;
  int is_woken;
  int is_parked;
};

struct collected {
  struct pfh_connection *connection;
  uint8_t *body;
  size_t size;
  size_t capacity;
  /// Bytes that were read and not kept.
  size_t skipped;
  enum refusal refusal;
  struct pfh_response response;
};

int pfh_response_set(pfh_response *response, unsigned status, const uint8_t *body, size_t size) {
  if (response->made != NULL || status < 200 || status > 599) return 0;
  // Read only: the library copies, and its prototype does not say so.
  union {
    const uint8_t *constant;
    void *any;
  } bytes = {.constant = body};
  response->made = MHD_create_response_from_buffer(size, bytes.any, MHD_RESPMEM_MUST_COPY);
  response->status = status;
  return response->made != NULL;
}

int pfh_response_header(pfh_response *response, const char *name, const char *value) {
  return response->made != NULL && MHD_add_response_header(response->made, name, value) == MHD_YES;
}

static enum MHD_Result send_response(struct MHD_Connection *connection, pfh_response *response) {
  if (response->made == NULL) return MHD_NO;
  const enum MHD_Result result = MHD_queue_response(connection, response->status, response->made);
  MHD_destroy_response(response->made);
  return result;
}

/// Answers with a line for people, and ends the connection: what is left of the request is not read.
static enum MHD_Result refuse(struct MHD_Connection *connection, enum refusal refusal) {
  static const struct {
    unsigned status;
    const char *text;
  } words[] = {
      [ACCEPTED] = {500, "the service failed to answer; try again\n"},
      [AMBIGUOUS] = {400, "the request states its length twice\n"},
      [LENIENT] = {400, "end each line of the head with CR LF, continue none, and use no control characters\n"},
      [TOO_LARGE] = {413, "the body is larger than this service takes\n"},
      [TOO_MANY_FIELDS] = {431, "more headers or query values than this service takes\n"},
      [BUSY] = {503, "the service is busy; try again in a second\n"},
      [STOPPING] = {503, "the service is stopping; try again in a second\n"},
      [OUT_OF_MEMORY] = {503, "the service is out of memory; try again in a second\n"},
  };
  pfh_response response = {.made = NULL};
  const char *const text = words[refusal].text;
  if (!pfh_response_set(&response, words[refusal].status, (const uint8_t *)text, strlen(text))) return MHD_NO;
  if (!pfh_response_header(&response, "Content-Type", "text/plain; charset=utf-8") ||
      !pfh_response_header(&response, "Connection", "close") ||
      (words[refusal].status == 503 && !pfh_response_header(&response, "Retry-After", "1"))) {
    MHD_destroy_response(response.made);
    return MHD_NO;
  }
  return send_response(connection, &response);
}

void *pfh_request_begun(void *context, const char *uri, struct MHD_Connection *connection) {
  const struct pfh_server *const server = context;
  struct pfh_connection *const own = pfh_connection_of(connection);
  if (own != NULL) {
    // Copy it now: the library ends texts inside it when it reads the query.
    free(own->target);
    own->target = strdup(uri);
    atomic_store(&own->phase, PFH_RECEIVING);
    pfh_connection_grant(own, server->limits.request_ms);
  }
  return NULL;
}

size_t pfh_request_unescape(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

static void drop_body(struct pfh_server *server, struct collected *collected) {
  atomic_fetch_sub(&server->bodies, collected->capacity);
  free(collected->body);
  collected->body = NULL;
  collected->size = 0;
  collected->capacity = 0;
}

static void give_up(struct pfh_server *server, struct collected *collected, enum refusal refusal) {
  drop_body(server, collected);
  collected->refusal = refusal;
  if (refusal == TOO_LARGE) atomic_fetch_add(&server->too_large, 1);
  if (refusal == BUSY) atomic_fetch_add(&server->refused_busy, 1);
  if (refusal == STOPPING) atomic_fetch_add(&server->refused_stopping, 1);
}

/// The size that the head announces; 0 if it announces none.
static uint64_t announced(struct MHD_Connection *connection) {
  const char *const text = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
  // libmicrohttpd has refused what is no number, and numbers that do not fit.
  return text == NULL ? 0 : strtoull(text, NULL, 10);
}

static enum MHD_Result count_length(void *context, enum MHD_ValueKind kind, const char *name, const char *value) {
  unsigned *const lengths = context;
  (void)kind;
  (void)value;
  *lengths += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 ||
              strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
  return MHD_YES;
}

/// Two lengths: a proxy in front may believe the other one, and take the rest for a second request (RFC 9112, 6.1).
static int is_ambiguous(struct MHD_Connection *connection) {
  unsigned lengths = 0;
  MHD_get_connection_values(connection, MHD_HEADER_KIND, count_length, &lengths);
  return lengths > 1;
}

// Refuse a bare LF as a line's end, and a line that continues another (RFC 9112, 2.2 and 5.2): a proxy in front may
// read such a head as another request. libmicrohttpd takes both, and 0.9.75 has no option against it. The library
// parses a head in the buffer that received it, and ends each text there: it writes two zeros over CR LF, one over a
// bare LF, and copies a continued line elsewhere. So the texts of a strict head are two zeros apart, and together they
// are as long as the library says that the head was. Later versions of the library refuse by themselves (server.c).

struct head {
  const char *at;
  int is_strict;
};

static int has_control(const char *text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    const unsigned char byte = (unsigned char)text[i];
    if ((byte < 0x20 && byte != '\t') || byte == 0x7F) return 1;
  }
  return 0;
}

static enum MHD_Result follow(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size,
                              const char *value, size_t value_size) {
  struct head *const head = context;
  (void)kind;
  head->is_strict = 0;
  if (name != head->at || value == NULL) return MHD_NO;
  const char *text = name + name_size + 1;
  while (*text == ' ' || *text == '\t') text++;
  if (text != value || value[value_size] != '\0' || value[value_size + 1] != '\0') return MHD_NO;
  if (has_control(name, name_size) || has_control(value, value_size)) return MHD_NO;
  head->at = value + value_size + 2;
  head->is_strict = 1;
  return MHD_YES;
}

static int is_strict(struct MHD_Connection *connection, const char *method, const char *version) {
  if (version[0] == '\0') return 0;
  const size_t size = strlen(version);
  if (version[size + 1] != '\0') return 0;
  struct head head = {version + size + 2, 1};
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, follow, &head);
  if (!head.is_strict) return 0;
  const union MHD_ConnectionInfo *const info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  // The empty line at the end is two characters more.
  return info != NULL && info->header_size == (size_t)(head.at - method) + 2;
}

static enum MHD_Result begin(struct pfh_server *server, struct MHD_Connection *connection, const char *method,
                             const char *version, void **state) {
  struct collected *const collected = calloc(1, sizeof *collected);
  if (collected == NULL) return refuse(connection, OUT_OF_MEMORY);
  collected->connection = pfh_connection_of(connection);
  *state = collected;
  pthread_mutex_lock(&server->mutex);
  server->in_flight += 1;
  pthread_mutex_unlock(&server->mutex);
  if (atomic_load(&server->is_stopping)) {
    give_up(server, collected, STOPPING);
    return refuse(connection, STOPPING);
  }
  if (collected->connection == NULL || collected->connection->target == NULL) {
    give_up(server, collected, OUT_OF_MEMORY);
    return refuse(connection, OUT_OF_MEMORY);
  }
  if (is_ambiguous(connection)) {
    give_up(server, collected, AMBIGUOUS);
    return refuse(connection, AMBIGUOUS);
  }
  if (MHD_VERSION < PFH_STRICT_VERSION && !is_strict(connection, method, version)) {
    give_up(server, collected, LENIENT);
    return refuse(connection, LENIENT);
  }
  const uint64_t size = announced(connection);
  if (size > server->limits.body) {
    give_up(server, collected, TOO_LARGE);
    // A body that is not much too large is read to its end: closed over unread bytes, a connection is reset, and the
    // client may never see why.
    if (size > 2 * server->limits.body) return refuse(connection, TOO_LARGE);
  }
  return MHD_YES;
}

/// Room for `more` bytes. The sender's announcement reserves nothing: memory goes to who has sent.
static enum refusal make_room(struct pfh_server *server, struct collected *collected, size_t more) {
  const size_t needed = collected->size + more;
  if (needed > server->limits.body) return TOO_LARGE;
  if (needed <= collected->capacity) return ACCEPTED;
  size_t capacity = collected->capacity == 0 ? BODY_FIRST : 2 * collected->capacity;
  while (capacity < needed) capacity *= 2;
  if (capacity > server->limits.body) capacity = server->limits.body;
  const size_t grown = capacity - collected->capacity;
  if (atomic_fetch_add(&server->bodies, grown) + grown > server->limits.bodies) {
    atomic_fetch_sub(&server->bodies, grown);
    return BUSY;
  }
  uint8_t *const body = realloc(collected->body, capacity);
  if (body == NULL) {
    atomic_fetch_sub(&server->bodies, grown);
    return OUT_OF_MEMORY;
  }
  collected->body = body;
  collected->capacity = capacity;
  return ACCEPTED;
}

static enum MHD_Result collect(struct pfh_server *server, struct collected *collected, const char *data,
                               size_t size) {
  if (collected->refusal == ACCEPTED) {
    const enum refusal refusal = make_room(server, collected, size);
    if (refusal == ACCEPTED) {
      memcpy(collected->body + collected->size, data, size);
      collected->size += size;
      return MHD_YES;
    }
    collected->skipped = collected->size;
    give_up(server, collected, refusal);
  }
  collected->skipped += size;
  // A body of unknown length that does not end in sight: no answer is worth reading that.
  return collected->skipped <= 2 * server->limits.body ? MHD_YES : MHD_NO;
}

/// Values until there are too many.
struct fields {
  struct pfh_field *list;
  size_t count;
  size_t max;
  int is_over;
};

static enum MHD_Result add_field(void *context, enum MHD_ValueKind kind, const char *name, size_t name_size,
                                 const char *value, size_t value_size) {
  struct fields *const fields = context;
  (void)kind;
  if (fields->count == fields->max) {
    fields->is_over = 1;
    return MHD_NO;
  }
  const struct pfh_field field = {name, name_size, value, value == NULL ? 0 : value_size};
  fields->list[fields->count++] = field;
  return MHD_YES;
}

// Answers that are put off ---------------------------------------------------------------------------------------

void pfh_response_put_off(pfh_response *response, pfh_resume resume, void *work) {
  response->resume = resume;
  response->work = work;
}

/// Gives up one of the holds.
static void let_go(struct pfh_server *server) {
  pthread_mutex_lock(&server->mutex);
  server->holds -= 1;
  if (server->holds == 0 && server->is_closing) pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->mutex);
}

void pfh_response_wake(pfh_response *response) {
  struct pfh_server *const server = response->server;
  struct MHD_Connection *const connection = response->connection;
  pthread_mutex_lock(&server->mutex);
  response->is_woken = 1;
  const int is_parked = response->is_parked;
  if (is_parked) server->holds += 1;
  if (server->is_closing) pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->mutex);
  if (!is_parked) return;
  // The connection is suspended, so it lives until it is taken up again. That may come before this call returns, and
  // the call still writes to libmicrohttpd's own descriptor then.
  MHD_resume_connection(connection);
  let_go(server);
}

/// Suspends the connection of an answer that was put off. 0 if the answer was woken meanwhile: go on with it.
static int park(struct pfh_server *server, struct MHD_Connection *connection, struct pfh_response *response) {
  pthread_mutex_lock(&server->mutex);
  // While the server ends, suspend nothing more: it would wait for one connection after the other.
  while (server->is_closing && !response->is_woken) pthread_cond_wait(&server->changed, &server->mutex);
  const int is_woken = response->is_woken;
  if (!is_woken) server->holds += 1;
  pthread_mutex_unlock(&server->mutex);
  if (is_woken) return 0;
  // Suspend first: a thread that finds the answer parked resumes its connection.
  MHD_suspend_connection(connection);
  pthread_mutex_lock(&server->mutex);
  const int is_late = response->is_woken;
  if (!is_late) response->is_parked = 1;
  pthread_mutex_unlock(&server->mutex);
  if (is_late) MHD_resume_connection(connection);
  return 1;
}

/// Goes on with an answer that was put off and woken. `response` is where the next one is set; NULL for nowhere.
static void go_on(struct collected *collected, struct pfh_response *response) {
  struct pfh_response *const put_off = &collected->response;
  const pfh_resume resume = put_off->resume;
  put_off->resume = NULL;
  put_off->is_woken = 0;
  put_off->is_parked = 0;
  pfh_lane_enter(collected->connection->lane);
  resume(put_off->work, response);
  pfh_lane_leave(collected->connection->lane);
}

/// Sends the answer, or waits for one that was put off.
static enum MHD_Result settle(struct pfh_server *server, struct MHD_Connection *connection,
                              struct collected *collected) {
  struct pfh_response *const response = &collected->response;
  while (response->resume != NULL) {
    if (park(server, connection, response)) return MHD_YES;
    go_on(collected, response);
  }
  pfh_connection_grant(collected->connection, server->limits.request_ms);
  if (response->made == NULL) return refuse(connection, ACCEPTED);
  if (atomic_load(&server->is_stopping) && !pfh_response_header(response, "Connection", "close")) {
    MHD_destroy_response(response->made);
    return MHD_NO;
  }
  return send_response(connection, response);
}

static enum MHD_Result answer(struct pfh_server *server, struct MHD_Connection *connection,
                              struct collected *collected, const char *path, const char *method) {
  struct pfh_request request;
  request.method = method;
  request.path = path;
  request.target = collected->connection->target;
  request.peer = collected->connection->peer;
  request.body = collected->body;
  request.body_size = collected->size;
  struct pfh_field header_list[PFH_HEADERS_MAX];
  struct pfh_field query_list[PFH_QUERY_MAX];
  struct fields headers = {header_list, 0, PFH_HEADERS_MAX, 0};
  struct fields query = {query_list, 0, PFH_QUERY_MAX, 0};
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, add_field, &headers);
  MHD_get_connection_values_n(connection, MHD_GET_ARGUMENT_KIND, add_field, &query);
  if (headers.is_over || query.is_over) {
    give_up(server, collected, TOO_MANY_FIELDS);
    return refuse(connection, TOO_MANY_FIELDS);
  }
  request.headers = header_list;
  request.query = query_list;
  request.header_count = headers.count;
  request.query_count = query.count;

  collected->response.server = server;
  collected->response.connection = connection;
  atomic_store(&collected->connection->phase, PFH_ANSWERING);
  atomic_store(&collected->connection->deadline, PFH_NO_DEADLINE);
  pfh_lane_enter(collected->connection->lane);
  server->respond(server->context, &request, &collected->response);
  pfh_lane_leave(collected->connection->lane);
  drop_body(server, collected);
  return settle(server, connection, collected);
}

enum MHD_Result pfh_request_handle(void *context, struct MHD_Connection *connection, const char *path,
                                   const char *method, const char *version, const char *data, size_t *size,
                                   void **state) {
  struct pfh_server *const server = context;
  if (*state == NULL) return begin(server, connection, method, version, state);
  struct collected *const collected = *state;
  if (*size > 0) {
    const size_t count = *size;
    *size = 0;
    return collect(server, collected, data, count);
  }
  if (collected->refusal != ACCEPTED) return refuse(connection, collected->refusal);
  if (collected->response.resume == NULL) return answer(server, connection, collected, path, method);
  let_go(server);
  go_on(collected, &collected->response);
  return settle(server, connection, collected);
}

void pfh_request_completed(void *context, struct MHD_Connection *connection, void **state,
                           enum MHD_RequestTerminationCode code) {
  struct pfh_server *const server = context;
  struct collected *const collected = *state;
  (void)code;
  (void)connection;
  if (collected == NULL) return;
  *state = NULL;
  // The connection ended between its answer's being woken and taken up.
  if (collected->response.resume != NULL) {
    let_go(server);
    go_on(collected, NULL);
  }
  if (collected->connection != NULL) {
    atomic_store(&collected->connection->phase, PFH_IDLE);
    pfh_connection_grant(collected->connection, server->limits.idle_ms);
  }
  drop_body(server, collected);
  free(collected);
  pthread_mutex_lock(&server->mutex);
  server->in_flight -= 1;
  // Only a stop waits for this. Without one, each request would wake the watch, which looks at each connection.
  if (server->in_flight == 0 && atomic_load(&server->is_stopping)) pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->mutex);
}
