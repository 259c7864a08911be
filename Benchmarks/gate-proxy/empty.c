// SPDX-License-Identifier: Apache-2.0

// The least process that a proxy can ask, as a peer of proof-gate:  empty [ANSWER]
//
// Listens on a free port of 127.0.0.1, prints it, and answers each request of each connection: one read and one write.
// The answer is 204, or the bytes of the file ANSWER. Before such an answer it computes the cryptography of a proof and
// nothing else: the HMAC of a request's signature base (480 bytes), that of a gate nonce (64 bytes), the digest that
// names the used proof (96 bytes), and the HMAC of the verdict (320 bytes). It parses nothing: a head ends with an
// empty line, and requests have no body.

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MAX = 65536, ANSWER_MAX = 16384, EVENTS = 64 };

struct connection {
  int socket;
  size_t size;
  char head[HEAD_MAX + 1];
};

static char answer[ANSWER_MAX] = "HTTP/1.1 204 No Content\r\n\r\n";
static size_t answer_size = 27;
static int is_floor;
// Takes each result, so that a compiler cannot leave the computation out.
static volatile unsigned char result;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void compute(const char *text) {
  static const unsigned char key[32] = {7};
  unsigned char tag[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  const unsigned char *const bytes = (const unsigned char *)text;
  if (HMAC(EVP_sha256(), key, sizeof key, bytes, 480, tag, &size) == NULL) fail("HMAC");
  result ^= tag[0];
  if (HMAC(EVP_sha256(), key, sizeof key, bytes, 64, tag, &size) == NULL) fail("HMAC");
  result ^= tag[0];
  if (EVP_Digest(bytes, 96, tag, &size, EVP_sha256(), NULL) != 1) fail("digest");
  result ^= tag[0];
  if (HMAC(EVP_sha256(), key, sizeof key, bytes, 320, tag, &size) == NULL) fail("HMAC");
  result ^= tag[0];
}

static void end(struct connection *connection) {
  (void)close(connection->socket);
  free(connection);
}

static void serve(struct connection *connection) {
  const ssize_t count = read(connection->socket, connection->head + connection->size, HEAD_MAX - connection->size);
  if (count <= 0) {
    end(connection);
    return;
  }
  connection->size += (size_t)count;
  connection->head[connection->size] = '\0';
  if (connection->size < 4 || memcmp(connection->head + connection->size - 4, "\r\n\r\n", 4) != 0) {
    if (connection->size == HEAD_MAX) end(connection);
    return;
  }
  connection->size = 0;
  if (is_floor) compute(connection->head);
  if (write(connection->socket, answer, answer_size) != (ssize_t)answer_size) end(connection);
}

static void take(int listener, int poll) {
  const int on = 1;
  struct connection *const connection = calloc(1, sizeof *connection);
  if (connection == NULL) fail("memory");
  connection->socket = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  if (connection->socket < 0) fail("accept");
  (void)setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(poll, EPOLL_CTL_ADD, connection->socket, &event) != 0) fail("epoll_ctl");
}

static void read_answer(const char *path) {
  FILE *const file = fopen(path, "rb");
  if (file == NULL) fail(path);
  answer_size = fread(answer, 1, sizeof answer, file);
  if (ferror(file) || fclose(file) != 0 || answer_size == 0) fail(path);
  is_floor = 1;
}

int main(int count, char **arguments) {
  if (count > 2) {
    (void)fprintf(stderr, "usage: empty [ANSWER]\n");
    return 2;
  }
  if (count == 2) read_answer(arguments[1]);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &size) != 0) {
    fail("listen");
  }
  (void)printf("%d\n", ntohs(address.sin_port));
  if (fflush(stdout) != 0) fail("output");
  const int poll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event) != 0) fail("epoll");
  for (;;) {
    struct epoll_event events[EVENTS];
    const int ready = epoll_wait(poll, events, EVENTS, -1);
    for (int index = 0; index < ready; index++) {
      if (events[index].data.ptr == NULL) {
        take(listener, poll);
      } else {
        serve(events[index].data.ptr);
      }
    }
  }
}
