// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "LoadLink.h"

enum { ANSWER_MAX = 512 << 10, PATIENCE_SECONDS = 30 };

struct load_link {
  struct sockaddr_in address;
  SSL_CTX *context;
  SSL *secure;
  int socket;
  unsigned opened;
  size_t received;
  char name[64];
  uint8_t answer[ANSWER_MAX + 1];
};

load_link *load_link_new(const char *address, uint16_t port, const char *ca_file) {
  struct load_link *const link = calloc(1, sizeof *link);
  if (link == NULL) return NULL;
  link->socket = -1;
  link->address.sin_family = AF_INET;
  link->address.sin_port = htons(port);
  snprintf(link->name, sizeof link->name, "%s", address);
  if (inet_pton(AF_INET, address, &link->address.sin_addr) != 1) goto failed;
  if (ca_file != NULL) {
    link->context = SSL_CTX_new(TLS_client_method());
    if (link->context == NULL || SSL_CTX_load_verify_file(link->context, ca_file) != 1) goto failed;
    SSL_CTX_set_verify(link->context, SSL_VERIFY_PEER, NULL);
  }
  return link;
failed:
  load_link_free(link);
  return NULL;
}

static void hang_up(struct load_link *link) {
  SSL_free(link->secure);
  link->secure = NULL;
  if (link->socket >= 0) close(link->socket);
  link->socket = -1;
}

void load_link_free(load_link *link) {
  if (link == NULL) return;
  hang_up(link);
  SSL_CTX_free(link->context);
  free(link);
}

static int dial(struct load_link *link) {
  const int yes = 1;
  const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
  link->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (link->socket < 0 || setsockopt(link->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0 ||
      setsockopt(link->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0 ||
      connect(link->socket, (const struct sockaddr *)&link->address, sizeof link->address) != 0) {
    return 0;
  }
  link->opened += 1;
  if (link->context == NULL) return 1;
  link->secure = SSL_new(link->context);
  return link->secure != NULL && X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(link->secure), link->name) == 1 &&
         SSL_set_fd(link->secure, link->socket) == 1 && SSL_connect(link->secure) == 1;
}

static int put(struct load_link *link, const uint8_t *bytes, size_t size) {
  while (size > 0) {
    const ssize_t count = link->secure != NULL ? SSL_write(link->secure, bytes, (int)size)
                                               : send(link->socket, bytes, size, MSG_NOSIGNAL);
    if (count <= 0) return 0;
    bytes += count;
    size -= (size_t)count;
  }
  return 1;
}

static int get(struct load_link *link) {
  const size_t room = ANSWER_MAX - link->received;
  uint8_t *const end = link->answer + link->received;
  const ssize_t count =
      link->secure != NULL ? SSL_read(link->secure, end, (int)room) : recv(link->socket, end, room, 0);
  if (count <= 0) return 0;
  link->received += (size_t)count;
  link->answer[link->received] = '\0';
  return 1;
}

/// Reads a whole answer: head, then as much as it announces.
static int receive(struct load_link *link, unsigned *status, const uint8_t **body, size_t *body_size) {
  const char *const text = (const char *)link->answer;
  const char *head_end;
  link->received = 0;
  link->answer[0] = '\0';
  while ((head_end = strstr(text, "\r\n\r\n")) == NULL) {
    if (link->received == ANSWER_MAX) return LOAD_E_ANSWER;
    if (!get(link)) return LOAD_E_CONNECTION;
  }
  if (sscanf(text, "HTTP/1.1 %3u", status) != 1) return LOAD_E_ANSWER;
  size_t size = 0;
  const char *const length = strcasestr(text, "\r\ncontent-length:");
  if (length != NULL && length < head_end) size = strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
  const size_t start = (size_t)(head_end + 4 - text);
  if (size > ANSWER_MAX - start) return LOAD_E_ANSWER;
  while (link->received < start + size) {
    if (!get(link)) return LOAD_E_CONNECTION;
  }
  *body = link->answer + start;
  *body_size = size;
  const char *const closing = strcasestr(text, "\r\nconnection: close");
  if (closing != NULL && closing < head_end) hang_up(link);
  return LOAD_OK;
}

int load_link_exchange(load_link *link, const uint8_t *request, size_t size, unsigned *status, const uint8_t **body,
                       size_t *body_size) {
  int result = LOAD_E_CONNECTION;
  if (link->socket >= 0 || dial(link)) {
    result = put(link, request, size) ? receive(link, status, body, body_size) : LOAD_E_CONNECTION;
  }
  if (result != LOAD_OK) hang_up(link);
  return result;
}

unsigned load_link_opened(const load_link *link) { return link->opened; }

struct job {
  void (*body)(void *context, unsigned index);
  void *context;
  unsigned index;
  pthread_t thread;
};

static void *run(void *context) {
  const struct job *const job = context;
  job->body(job->context, job->index);
  return NULL;
}

int load_run(unsigned count, void (*body)(void *context, unsigned index), void *context) {
  struct job *const jobs = calloc(count, sizeof *jobs);
  if (jobs == NULL) return 0;
  // SSL_write knows no MSG_NOSIGNAL.
  signal(SIGPIPE, SIG_IGN);
  unsigned started = 0;
  for (; started < count; started++) {
    jobs[started] = (struct job){body, context, started, 0};
    if (pthread_create(&jobs[started].thread, NULL, run, &jobs[started]) != 0) break;
  }
  for (unsigned i = 0; i < started; i++) pthread_join(jobs[i].thread, NULL);
  free(jobs);
  return started == count;
}

void load_pause(unsigned milliseconds) {
  const struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
  nanosleep(&time, NULL);
}

uint64_t load_monotonic_milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

double load_processor_seconds(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}
