// SPDX-License-Identifier: Apache-2.0

/// A client's connection for the load generator: HTTP/1.1 kept alive, plain or TLS, one blocking exchange at a time.

#ifndef LOADLINK_H
#define LOADLINK_H

#include <stddef.h>
#include <stdint.h>

enum {
  LOAD_OK = 0,
  /// No connection, or none any more: it is to be opened again.
  LOAD_E_CONNECTION = 1,
  /// The answer is no HTTP, or does not fit.
  LOAD_E_ANSWER = 2,
};

typedef struct load_link load_link;

/// `ca_file` is NULL for plain HTTP; otherwise TLS, and the server's certificate must lead there and name `address`.
/// NULL if there is no memory, or the file cannot be used.
load_link *load_link_new(const char *address, uint16_t port, const char *ca_file);

/// `link` may be NULL.
void load_link_free(load_link *link);

/// Sends a whole request and receives a whole answer; opens the connection if it is not open. `body` points into the
/// link, until the next call.
int load_link_exchange(load_link *link, const uint8_t *request, size_t size, unsigned *status, const uint8_t **body,
                       size_t *body_size);

/// How often connections were opened.
unsigned load_link_opened(const load_link *link);

/// Runs `body` on so many threads, with 0, 1, …, and returns when all have ended. 0 if not all could be started.
int load_run(unsigned count, void (*body)(void *context, unsigned index), void *context);

/// Waits.
void load_pause(unsigned milliseconds);

/// Milliseconds of CLOCK_MONOTONIC.
uint64_t load_monotonic_milliseconds(void);

/// Seconds of processor time that this process has used.
double load_processor_seconds(void);

#endif
