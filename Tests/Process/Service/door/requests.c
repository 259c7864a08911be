// SPDX-License-Identifier: Apache-2.0

// The door's requests: the bounds of bodies and heads, from both sides, and what each refusal says.
//
// To be linked with `-Wl,--wrap=calloc,--wrap=strdup,--wrap=realloc`: memory fails where a test says so.

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../../../CSources/CMicroHTTPD/parts.h"
#include "check.h"

// Memory ---------------------------------------------------------------------------------------------------------

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);

/// The call that fails next.
enum call { NONE, CALLOC, REALLOC, STRDUP };
static atomic_int failing;

static int fails(int call) { return atomic_compare_exchange_strong(&failing, &call, NONE); }

void *__wrap_calloc(size_t count, size_t size) { return fails(CALLOC) ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *block, size_t size) { return fails(REALLOC) ? NULL : __real_realloc(block, size); }
char *__wrap_strdup(const char *text) { return fails(STRDUP) ? NULL : __real_strdup(text); }

// A server and its client ----------------------------------------------------------------------------------------

static pfh_server *serving;
static atomic_size_t bodies_within;

static int is_field(const struct pfh_field *field, const char *name, const char *value) {
  return field->name_size == strlen(name) && memcmp(field->name, name, field->name_size) == 0 &&
         field->value_size == strlen(value) &&
         (field->value_size == 0 || memcmp(field->value, value, field->value_size) == 0);
}

/// Answers with the body that it got, except for paths that a test names.
static void respond(void *context, const struct pfh_request *request, pfh_response *response) {
  CHECK(context == &serving, "context");
  atomic_store(&bodies_within, atomic_load(&serving->bodies));
  if (strncmp(request->path, "/status/", 8) == 0) {
    const unsigned status = (unsigned)strtoul(request->path + 8, NULL, 10);
    const int is_taken = status >= 200 && status <= 599;
    CHECK(pfh_response_header(response, "X", "early") == 0, "a header before the status");
    CHECK(pfh_response_set(response, status, (const uint8_t *)"body", 4) == is_taken, request->path);
    CHECK(pfh_response_set(response, 200, (const uint8_t *)"other", 5) == !is_taken, "a second time");
    return;
  }
  if (strcmp(request->path, "/none") == 0) return;
  if (strcmp(request->path, "/query") == 0) {
    CHECK(strcmp(request->target, "/query?a=1&b&c=&%41=%2f") == 0 && request->query_count == 4, request->target);
    CHECK(is_field(&request->query[0], "a", "1") && is_field(&request->query[1], "b", ""), "query");
    CHECK(is_field(&request->query[2], "c", "") && is_field(&request->query[3], "%41", "%2f"), "query");
    CHECK(strcmp(request->method, "PUT") == 0 && strcmp(request->peer, "127.0.0.1") == 0, "method and peer");
    CHECK(request->header_count == 3 && is_field(&request->headers[1], "x-A", "b c"), "header");
  }
  CHECK(pfh_response_set(response, 200, request->body, request->body_size) == 1, "answer");
  CHECK(pfh_response_header(response, "X-Break", "a\r\nb") == 0, "a line break is no header");
}

static pfh_server *served(size_t body, size_t bodies) {
  const struct pfh_limits limits = {
      .threads = 2,
      .connections = 100,
      .head = 32 << 10,
      .body = body,
      .bodies = bodies,
      .request_ms = 600000,
      .idle_ms = 600000,
  };
  pfh_server *server;
  if (pfh_server_start(&server, "127.0.0.1", 0, NULL, &limits, "", respond, &serving) != PFH_OK) exit(2);
  serving = server;
  return server;
}

static void stopped(pfh_server *server) {
  CHECK(pfh_server_stop(server, 60000) == 1, "stop");
  CHECK(atomic_load(&server->bodies) == 0 && pfh_server_counts(server).connections_open == 0, "nothing is held");
  pfh_server_free(server);
}

static int connected(const pfh_server *server) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(pfh_server_port(server))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const struct timeval patience = {.tv_sec = 60};
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  if (one < 0 || setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
      connect(one, (const struct sockaddr *)&address, sizeof address) != 0) exit(2);
  return one;
}

static void say(int client, const void *bytes, size_t size) {
  CHECK(send(client, bytes, size, MSG_NOSIGNAL) == (ssize_t)size, "send");
}

static char heard[40000];

/// Everything that the server says until it closes; its size.
static size_t rest(int client) {
  size_t count = 0;
  for (;;) {
    const ssize_t more = recv(client, heard + count, sizeof heard - 1 - count, 0);
    if (more <= 0) break;
    count += (size_t)more;
  }
  heard[count] = '\0';
  close(client);
  return count;
}

/// The status in what was heard, 0 for none.
static int status_of(const char *answer) {
  return strncmp(answer, "HTTP/1.", 7) == 0 ? (int)strtol(answer + 9, NULL, 10) : 0;
}

/// The status of the answer to these bytes.
static int asked(const pfh_server *server, const void *bytes, size_t size) {
  const int client = connected(server);
  say(client, bytes, size);
  shutdown(client, SHUT_WR);
  rest(client);
  return status_of(heard);
}

static int asked_text(const pfh_server *server, const char *text) { return asked(server, text, strlen(text)); }

static void post(int client, const char *path, size_t announced, const char *more) {
  char head[256];
  snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %zu\r\n\r\n", path, more, announced);
  say(client, head, strlen(head));
}

static const char *filler(void) {
  static char bytes[20000];
  memset(bytes, 'x', sizeof bytes);
  return bytes;
}

// Bodies ---------------------------------------------------------------------------------------------------------

/// Room is 4096 bytes, twice as much each time, and no more than the limit.
static void test_room(void) {
  static const size_t rows[][3] = {
      {10000, 1, 4096},    {10000, 4096, 4096},   {10000, 4097, 8192}, {10000, 8192, 8192}, {10000, 8193, 10000},
      {10000, 10000, 10000}, {3000, 1, 3000},     {3000, 3000, 3000},  {4096, 4096, 4096},  {4097, 4097, 4097},
      {10000, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pfh_server *const server = served(rows[i][0], 10000);
    // In pieces and at once.
    for (int is_split = 0; is_split < 2; is_split++) {
      char row[32];
      snprintf(row, sizeof row, "%zu of %zu", rows[i][1], rows[i][0]);
      const int client = connected(server);
      post(client, "/", rows[i][1], "Connection: close\r\n");
      const int has_rest = is_split && rows[i][1] > 1;
      const size_t first = has_rest ? rows[i][1] - 1 : rows[i][1];
      say(client, filler(), first);
      if (has_rest) {
        AWAIT(atomic_load(&server->bodies) > 0);
        CHECK(atomic_load(&server->bodies) > 0, row);
      }
      say(client, filler(), rows[i][1] - first);
      const size_t size = rest(client);
      CHECK(status_of(heard) == 200 && size > rows[i][1], row);
      CHECK(memcmp(heard + size - rows[i][1], filler(), rows[i][1]) == 0, row);
      CHECK(atomic_load(&bodies_within) == rows[i][2], row);
    }
    stopped(server);
  }
}

/// Bodies that together take all the room that there is are taken; one byte of one more is not.
static void test_all_bodies(void) {
  static const size_t rows[][2] = {{4096, 1}, {8191, 1}, {8192, 2}, {12287, 2}, {12288, 3}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pfh_server *const server = served(10000, rows[i][0]);
    int clients[4];
    char row[32];
    snprintf(row, sizeof row, "%zu", rows[i][0]);
    for (size_t j = 0; j < rows[i][1]; j++) {
      clients[j] = connected(server);
      post(clients[j], "/", 2, "Connection: close\r\n");
      say(clients[j], "a", 1);
      AWAIT(atomic_load(&server->bodies) == 4096 * (j + 1));
      CHECK(atomic_load(&server->bodies) == 4096 * (j + 1), row);
    }
    const int late = connected(server);
    post(late, "/", 2, "");
    say(late, "ab", 2);
    rest(late);
    CHECK(status_of(heard) == 503 && strstr(heard, "\r\n\r\nthe service is busy; try again in a second\n"), row);
    CHECK(pfh_server_counts(server).requests_refused_busy == 1, row);
    for (size_t j = 0; j < rows[i][1]; j++) {
      say(clients[j], "b", 1);
      rest(clients[j]);
      CHECK(status_of(heard) == 200 && strstr(heard, "\r\n\r\nab") != NULL, row);
    }
    stopped(server);
  }
}

/// The status of the answer to a body in two chunks, or in one.
static int asked_in_chunks(const pfh_server *server, size_t first, size_t second) {
  static const char head[] =
      "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
  char bytes[8192];
  size_t size = (size_t)snprintf(bytes, sizeof bytes, "%s", head);
  for (int part = 0; part < 2; part++) {
    const size_t count = part == 0 ? first : second;
    if (count == 0) continue;
    size += (size_t)snprintf(bytes + size, sizeof bytes - size, "%zx\r\n", count);
    memcpy(bytes + size, filler(), count);
    size += count;
    size += (size_t)snprintf(bytes + size, sizeof bytes - size, "\r\n");
  }
  size += (size_t)snprintf(bytes + size, sizeof bytes - size, "0\r\n\r\n");
  return asked(server, bytes, size);
}

/// A body of up to twice the limit is read to its end before it is refused, a larger one is not.
static void test_too_large(void) {
  static const struct {
    size_t size;
    int chunked, announced;
    uint64_t count;
  } rows[] = {{1000, 200, 200, 0}, {1001, 413, 413, 4}, {2000, 413, 413, 4}, {2001, 0, 413, 4}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pfh_server *const server = served(1000, 10000);
    char row[32];
    snprintf(row, sizeof row, "%zu", rows[i].size);
    CHECK(asked_in_chunks(server, rows[i].size, 0) == rows[i].chunked, row);
    CHECK(asked_in_chunks(server, 1000, rows[i].size - 1000) == rows[i].chunked, row);
    CHECK(asked_in_chunks(server, rows[i].size - 1, 1) == rows[i].chunked, row);

    // A client that asks first learns whether the body is read.
    const int client = connected(server);
    char said[5] = "";
    post(client, "/", rows[i].size, "Connection: close\r\nExpect: 100-continue\r\n");
    const int is_read = rows[i].size <= 2000;
    CHECK(recv(client, heard, 12, MSG_WAITALL | MSG_PEEK) == 12, row);
    snprintf(said, sizeof said, "%.4s", heard + 8);
    CHECK(strcmp(said, is_read ? " 100" : " 413") == 0, row);
    if (is_read) {
      CHECK(recv(client, heard, 25, MSG_WAITALL) == 25, row);
      say(client, filler(), rows[i].size);
    }
    rest(client);
    CHECK(status_of(heard) == rows[i].announced, row);
    CHECK(rows[i].announced == 200 || strstr(heard, "\r\n\r\nthe body is larger than this service takes\n"), row);
    CHECK(pfh_server_counts(server).requests_too_large == rows[i].count, row);
    stopped(server);
  }
}

// Heads ----------------------------------------------------------------------------------------------------------

/// Control characters but the tab are no part of a value; all else is.
static void test_characters(void) {
  static const char begin[] = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX";
  pfh_server *const server = served(1000, 10000);
  char request[512], others[256];
  size_t count = 0;
  for (unsigned byte = 1; byte < 256; byte++) {
    if (byte == '\r' || byte == '\n') continue;
    if ((byte >= 32 || byte == 9) && byte != 127) {
      others[count++] = (char)byte;
      continue;
    }
    char row[16];
    snprintf(row, sizeof row, "byte %u", byte);
    snprintf(request, sizeof request, "%s: a%cb\r\n\r\n", begin, (int)byte);
    CHECK(asked_text(server, request) == 400, row);
    snprintf(request, sizeof request, "%s%cY: a\r\n\r\n", begin, (int)byte);
    CHECK(asked_text(server, request) == 400, row);
  }
  others[count] = '\0';
  snprintf(request, sizeof request, "%s: a%sb\r\n\r\n", begin, others);
  CHECK(count == 224 && asked_text(server, request) == 200, "all other bytes in one value");
  stopped(server);
}

static void test_heads(void) {
  static const struct {
    const char *request;
    int status;
    const char *words;
  } rows[] = {
      {"GET /\r\n\r\n", 400, NULL},
      {"GET / HTTP/1.0\r\n\r\n", 200, ""},
      {"GET / HTTP/1.0\r\nX:\t y\r\n\r\n", 200, ""},
      {"GET / HTTP/1.0\r\nX:\t y\n\r\n", 400,
       "end each line of the head with CR LF, continue none, and use no control characters\n"},
      {"POST / HTTP/1.0\r\nContent-Length: 1\r\n\r\nz", 200, "z"},
      {"POST / HTTP/1.0\r\nContent-Length: 1\r\ncontent-length: 1\r\n\r\nz", 400,
       "the request states its length twice\n"},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTRANSFER-encoding: chunked\r\n\r\n0\r\n\r\n", 400,
       "the request states its length twice\n"},
      {"PUT /query?a=1&b&c=&%41=%2f HTTP/1.0\r\nHost: a\r\nx-A:  b c\r\nContent-Length: 0\r\n\r\n", 200, ""},
      {"GET /none HTTP/1.0\r\n\r\n", 500, "the service failed to answer; try again\n"},
      {"GET /status/199 HTTP/1.0\r\n\r\n", 200, "other"},
      {"GET /status/200 HTTP/1.0\r\n\r\n", 200, "body"},
      {"GET /status/599 HTTP/1.0\r\n\r\n", 599, "body"},
      {"GET /status/600 HTTP/1.0\r\n\r\n", 200, "other"},
  };
  pfh_server *const server = served(1000, 10000);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK(asked_text(server, rows[i].request) == rows[i].status, rows[i].request);
    const char *const body = strstr(heard, "\r\n\r\n");
    CHECK(rows[i].words == NULL || (body != NULL && strcmp(body + 4, rows[i].words) == 0), rows[i].request);
    if (rows[i].status != 400 && rows[i].status != 500) continue;
    CHECK(strstr(heard, "\r\nConnection: close\r\n") != NULL && strstr(heard, "Retry-After") == NULL, rows[i].request);
    CHECK(rows[i].words == NULL || strstr(heard, "\r\nContent-Type: text/plain; charset=utf-8\r\n") != NULL, heard);
  }
  CHECK(pfh_server_renew(server, NULL) == 0, "a server without TLS has no certificate to renew");
  stopped(server);
}

/// A request that there is no memory for is told to come again, and the next one is served.
static void test_memory(void) {
  pfh_server *const server = served(1000, 10000);
  for (int call = CALLOC; call <= STRDUP; call++) {
    const char *const row = call == CALLOC ? "calloc" : call == REALLOC ? "realloc" : "strdup";
    const int client = connected(server);
    post(client, "/", 1, "");
    say(client, "a", 1);
    CHECK(recv(client, heard, 15, MSG_WAITALL) == 15 && status_of(heard) == 200, row);
    heard[15] = '\0';
    while (strstr(heard, "\r\n\r\na") == NULL) {
      const size_t size = strlen(heard);
      const ssize_t more = recv(client, heard + size, 1, 0);
      if (!CHECK(more == 1, row)) break;
      heard[size + 1] = '\0';
    }
    atomic_store(&failing, call);
    post(client, "/", 1, "");
    say(client, "a", 1);
    rest(client);
    CHECK(atomic_load(&failing) == NONE && status_of(heard) == 503, row);
    CHECK(strstr(heard, "\r\n\r\nthe service is out of memory; try again in a second\n") != NULL, row);
    CHECK(strstr(heard, "\r\nRetry-After: 1\r\n") != NULL && strstr(heard, "\r\nConnection: close\r\n") != NULL, row);
    CHECK(strstr(heard, "\r\nContent-Type: text/plain; charset=utf-8\r\n") != NULL, row);
    CHECK(asked_text(server, "GET / HTTP/1.0\r\n\r\n") == 200, row);
  }
  stopped(server);
}

int main(void) {
  test_room();
  test_all_bodies();
  test_too_large();
  test_characters();
  test_heads();
  test_memory();
  return failures == 0 ? 0 : 1;
}
