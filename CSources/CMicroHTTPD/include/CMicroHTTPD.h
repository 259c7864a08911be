// SPDX-License-Identifier: Apache-2.0

/// The one door to libmicrohttpd and GnuTLS. No other source of this package names a function of them.
///
/// A server collects whole requests within its limits and calls one function for each; nothing here is variadic, and no
/// type of the two libraries is visible. Outputs come first; a size follows its pointer.
///
/// Time: a watch thread of the server's own ends connections that take too long. libmicrohttpd knows only a limit of
/// inactivity, which a client that sends a byte a second never meets.

#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PFH_MUST_USE __attribute__((warn_unused_result))

enum {
  /// An IPv6 address as text, with its end.
  PFH_ADDRESS_TEXT = 46,
  /// Headers of a request, and values of its query, beyond which it is refused.
  PFH_HEADERS_MAX = 64,
  PFH_QUERY_MAX = 16,
  /// Certificates of a chain.
  PFH_CHAIN_MAX = 8,
};

enum pfh_result {
  PFH_OK = 0,
  /// The text is no IPv4 or IPv6 address.
  PFH_E_ADDRESS = 1,
  /// A system call failed; `errno` says which way. Binding the socket …
  PFH_E_BIND = 2,
  /// … or reading the certificate's file …
  PFH_E_CERTIFICATE_FILE = 3,
  /// … or reading the private key's.
  PFH_E_KEY_FILE = 4,
  /// The file holds no certificate in PEM.
  PFH_E_CERTIFICATE = 5,
  /// The file holds no unencrypted private key in PEM.
  PFH_E_KEY = 6,
  /// The private key's file can be read by everyone on the machine.
  PFH_E_KEY_OPEN = 7,
  /// Certificate and private key do not belong together.
  PFH_E_MISMATCH = 8,
  /// The libraries failed: no memory, no threads, too few files may be open.
  PFH_E_LIBRARY = 9,
  /// The file holds more than PFH_CHAIN_MAX certificates.
  PFH_E_CHAIN = 10,
};

// Addresses (address.c).

/// Writes an address in the one form that stands for it; an IPv4 address inside an IPv6 one comes out as IPv4.
/// PFH_E_ADDRESS for other text, brackets, ports and zones included.
PFH_MUST_USE enum pfh_result pfh_address_canonical(char canonical[PFH_ADDRESS_TEXT], const char *text);

/// Writes what one customer of a network has: of an IPv6 address the first 64 bits, the rest zeros; an IPv4 address as
/// it is. PFH_E_ADDRESS as above.
PFH_MUST_USE enum pfh_result pfh_address_network(char canonical[PFH_ADDRESS_TEXT], const char *text);

/// 1 for an address that only this machine reaches, in canonical form.
PFH_MUST_USE int pfh_address_is_loopback(const char *canonical);

// Certificates (certificate.c).

/// A certificate chain with its private key. Never changes.
typedef struct pfh_certificate pfh_certificate;

/// Reads both files, and checks that they belong together. The key's file must not be readable by everyone.
PFH_MUST_USE enum pfh_result pfh_certificate_read(pfh_certificate **certificate, const char *chain_file,
                                                  const char *key_file);

/// When the first certificate of the chain ends, in seconds since 1970.
PFH_MUST_USE int64_t pfh_certificate_end(const pfh_certificate *certificate);

/// `certificate` may be NULL.
void pfh_certificate_free(pfh_certificate *certificate);

// Requests, as the responding function sees them (request.c).

/// A name and a value, as they were sent; none ends with a zero that counts.
struct pfh_field {
  const char *name;
  size_t name_size;
  const char *value;
  size_t value_size;
};

/// A whole request. Everything in it lives until the responding function returns.
struct pfh_request {
  const char *method;
  /// As sent, still percent-encoded.
  const char *path;
  /// Path and query as one text, as sent: what the request's first line has between method and version.
  const char *target;
  const char *peer;
  const uint8_t *body;
  size_t body_size;
  size_t header_count;
  size_t query_count;
  const struct pfh_field *headers;
  const struct pfh_field *query;
};

typedef struct pfh_response pfh_response;

/// Sets status (200 to 599) and body, which is copied. To be called once, before headers are added. 0 if refused.
PFH_MUST_USE int pfh_response_set(pfh_response *response, unsigned status, const uint8_t *body, size_t size);

/// Adds a header. 0 if it is none, say because of a line break.
PFH_MUST_USE int pfh_response_header(pfh_response *response, const char *name, const char *value);

/// Answers one request; called from several threads. If it sets nothing and puts nothing off, the client gets status
/// 500.
typedef void (*pfh_respond)(void *context, const struct pfh_request *request, pfh_response *response);

/// Goes on with an answer that was put off, on the thread of its connection: sets it, or puts it off again. `response`
/// is NULL if the connection has ended meanwhile; then the function finishes the work without an answer.
typedef void (*pfh_resume)(void *work, pfh_response *response);

/// Puts an answer off: the thread that called the responding function serves other connections until the answer is
/// woken, and calls `resume` then, once. To be called at most once by each responding or resuming function.
void pfh_response_put_off(pfh_response *response, pfh_resume resume, void *work);

/// Wakes an answer that was put off. To be called once for each, by any thread, also before the function that put it
/// off has returned. The response may be gone when this returns.
void pfh_response_wake(pfh_response *response);

// Servers (server.c).

struct pfh_limits {
  /// Threads that answer.
  unsigned threads;
  /// Connections open at once. When a further one comes, one is closed: the eldest that has sent nothing, else the
  /// eldest between two requests, else the eldest whose request is still arriving, else the new one.
  unsigned connections;
  /// The same among the connections of one address; IPv6 addresses with the same first 64 bits count as one. 0: no
  /// such limit.
  unsigned connections_per_address;
  /// Bytes of request line and headers; beyond them the status is 431 or 414.
  size_t head;
  /// Bytes of a body; beyond them the status is 413.
  size_t body;
  /// Bytes of all bodies being received; beyond them the status is 503.
  size_t bodies;
  /// Milliseconds from the first line of a request to its last byte; the same again for sending the answer, and from
  /// the beginning of a connection to the first line.
  uint32_t request_ms;
  /// Milliseconds that a connection may stay open without a request.
  uint32_t idle_ms;
  /// The mode of a Unix socket.
  unsigned local_mode;
};

/// Counters since the server was started.
struct pfh_counts {
  uint64_t connections_open;
  uint64_t connections_accepted;
  /// Connections closed to make room for another.
  uint64_t connections_displaced;
  uint64_t requests_in_flight;
  uint64_t requests_timed_out;
  uint64_t requests_too_large;
  uint64_t requests_refused_busy;
  uint64_t requests_refused_stopping;
};

typedef struct pfh_server pfh_server;

/// Listens and answers. `certificate` is NULL for plain HTTP; otherwise the server takes it over when it starts, and
/// only TLS 1.2 and later are spoken. Port 0 lets the system choose. `unlimited` names addresses, in canonical form and
/// with spaces between them, to which `connections_per_address` does not apply: proxies, which speak for many.
PFH_MUST_USE enum pfh_result pfh_server_start(pfh_server **server, const char *address, uint16_t port,
                                              pfh_certificate *certificate, const struct pfh_limits *limits,
                                              const char *unlimited, pfh_respond respond, void *context);

PFH_MUST_USE uint16_t pfh_server_port(const pfh_server *server);

PFH_MUST_USE struct pfh_counts pfh_server_counts(const pfh_server *server);

/// Takes over another certificate for handshakes from now on. 0 if this server speaks plain HTTP.
PFH_MUST_USE int pfh_server_renew(pfh_server *server, pfh_certificate *certificate);

/// Stops, once: new connections are refused at once, new requests get 503, those in flight have `drain_ms` to finish.
/// Then everything is closed; no function is called any more, and its counts can still be read. 1 if all finished. It
/// returns only after each function has, and after each answer that was put off was woken.
PFH_MUST_USE int pfh_server_stop(pfh_server *server, uint32_t drain_ms);

/// Gives back what a stopped server held.
void pfh_server_free(pfh_server *server);

#ifdef __cplusplus
}
#endif

#endif
