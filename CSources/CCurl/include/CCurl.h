// SPDX-License-Identifier: Apache-2.0

/// libcurl, as much of it as one HTTPS request needs, without variable arguments.
///
///     struct phc_client *client = phc_client_create(&options);
///     enum phc_result result = phc_client_send(&answer, client, &request);
///     …
///     phc_client_free(client);
///
/// A client is one connection, kept alive from request to request. One thread at a time may send with it; any thread
/// may wake it. TLS 1.2 or later; the chain and the host name are always verified, and the pins beside them, before
/// a byte of the request is sent. No redirect is followed, no proxy used, no cookie and no password file read. No
/// variable of the environment decides where a request goes, whom it trusts, or who can read it (SSLKEYLOGFILE).

#ifndef PHC_CURL_H
#define PHC_CURL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How a request ended. Numbers are never reused.
enum phc_result {
  PHC_OK = 0,
  PHC_E_UNREACHABLE = 1,  ///< The name does not resolve, or no server accepts a connection.
  PHC_E_TIMED_OUT = 2,
  PHC_E_BROKEN_OFF = 3,  ///< The connection ended before the answer did.
  PHC_E_UNTRUSTED = 4,   ///< The certificate does not verify, or its key is not pinned.
  PHC_E_GARBLED = 5,     ///< No HTTP, or longer than the limit.
  PHC_E_CANCELLED = 6,
  PHC_E_REFUSED = 7  ///< The request or the options make no sense, or there is no memory.
};

/// Options of a client. Strings are copied.
struct phc_options {
  /// A file of certificates (PEM) that alone may vouch for the service; NULL for those of the system.
  const char *authorities;
  /// 1: `http` is allowed too. The caller has checked that the host is this machine.
  int allows_plain;
  long connect_timeout_ms;
};

struct phc_request {
  const char *url;
  /// The host or address to connect to in place of the URL's host, an IPv6 address in brackets; NULL for that host.
  const char *connect_host;
  /// 4 or 6: connections of this IP version alone; 0: of any.
  int family;
  /// `sha256//BASE64;sha256//BASE64`, or NULL: any key.
  const char *pins;
  /// The value of the field `Authorization`, or NULL.
  const char *authorization;
  /// NULL for a GET or a POST by `body`. Otherwise a token of HTTP; the caller has checked it.
  const char *method;
  /// `Name: value` each, for a request with fields of its own; NULL: those of the attestation. `Name;` has no value.
  const char *const *fields;
  size_t field_count;
  /// NULL for a GET.
  const uint8_t *body;
  size_t body_size;
  long timeout_ms;
  size_t answer_limit;
};

struct phc_answer {
  long status;
  uint8_t *body;  ///< Owned by the client, valid until its next request.
  size_t body_size;
  int64_t server_time;  ///< The `Date` field in Unix seconds, or -1
  /// The header of the answer, if the request had fields of its own: names and values in turn, each with a zero at its
  /// end. Owned by the client, valid until its next request.
  char *head;
  size_t head_size;
  char words[256];      ///< The error, for people
};

struct phc_client;

/// NULL without memory.
struct phc_client *phc_client_create(const struct phc_options *options);
/// NULL is fine.
void phc_client_free(struct phc_client *client);

/// Sends a request and waits. On failure there is no body, and `words` says why.
enum phc_result phc_client_send(struct phc_answer *answer, struct phc_client *client,
                                const struct phc_request *request);

/// Ends the request in progress with PHC_E_CANCELLED; without one, the next. Any thread, while the client exists.
void phc_client_cancel(struct phc_client *client);
/// Forgets a cancellation that no request has met.
void phc_client_rearm(struct phc_client *client);

/// How many connections the client has made since it was created.
long phc_client_connections(const struct phc_client *client);

#ifdef __cplusplus
}
#endif

#endif
