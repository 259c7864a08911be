// SPDX-License-Identifier: Apache-2.0

/// libpq, as much of it as the store needs. No other source of this package names a function of it.
///
///     phq_connect(&connection, &fault, keywords, values);
///     phq_queue(connection, &fault, "name", "SELECT $1::int8", 1, values, sizes);
///     phq_take(&rows, connection, &fault, phq_now() + 2000);
///     …
///     phq_close(connection);
///
/// One thread at a time uses a connection. Each call ends at its deadline. A connection that missed a deadline or broke
/// is closed: every later call answers PHQ_E_BROKEN_OFF.
///
/// No function sends a cancel request. A cancel that meets a commit in its wait for the synchronous standby makes the
/// server report success for a row that is on one machine only. The socket is closed instead.
///
/// Parameters and results are in the binary format of the protocol. Every queued call is a transaction of its own.

#ifndef CPOSTGRES_H
#define CPOSTGRES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PHQ_MUST_USE __attribute__((warn_unused_result))

/// The result of a call. Numbers are never reused.
enum phq_result {
  PHQ_OK = 0,
  PHQ_E_UNREACHABLE = 1,  ///< No host accepted a session with the settings.
  PHQ_E_UNTRUSTED = 2,    ///< The server's certificate or its proof of the password does not verify.
  PHQ_E_DENIED = 3,       ///< The server refused the user or the password.
  PHQ_E_TIMED_OUT = 4,    ///< No answer before the deadline. The socket is closed.
  PHQ_E_BROKEN_OFF = 5,   ///< The connection ended before the answer.
  PHQ_E_REFUSED = 6,      ///< The server answered with an error: `state` is its SQLSTATE.
  PHQ_E_MISUSE = 7        ///< The arguments make no sense, or memory is exhausted.
};

/// The error of a call. The password is not in it.
struct phq_fault {
  char state[6];     ///< SQLSTATE, or empty
  int ends_session;  ///< 1: the server ended the session with this error (FATAL or PANIC).
  char words[256];   ///< The primary message on one line. DETAIL is left out: it can quote a row.
};

/// The answer to one call. `phq_rows_free` frees it.
struct phq_rows {
  void *result;
  int rows, columns;
  int prepared;  ///< 1: the statement that this call carried is prepared on the connection now.
  int doubtful;  ///< 1: the server warned with SQLSTATE 01000: a commit may be on one machine only.
};

/// A notification. The strings are the connection's, valid until its next call.
struct phq_notice {
  const char *channel;
  const char *payload;
};

struct phq_connection;

/// Milliseconds of the monotonic clock. Deadlines are in its terms.
int64_t phq_now(void);

/// Calls `take` for each setting that a connection string (URI or keywords) contains. The string is not sent anywhere.
PHQ_MUST_USE enum phq_result phq_settings(const char *text, void *user,
                                          void (*take)(void *user, const char *keyword, const char *value));

/// Connects. `keywords` and `values` end with NULL; `connect_timeout` among them limits each address of each host.
PHQ_MUST_USE enum phq_result phq_connect(struct phq_connection **connection, struct phq_fault *fault,
                                         const char *const *keywords, const char *const *values);

/// Closes the socket and frees the connection. NULL is fine.
void phq_close(struct phq_connection *connection);

/// 1 until the connection missed a deadline or broke.
int phq_is_open(const struct phq_connection *connection);
/// The process of the server that serves this connection.
int phq_backend(const struct phq_connection *connection);
/// 1 if the connection is encrypted.
int phq_is_encrypted(const struct phq_connection *connection);

/// Runs a script of statements without parameters. No other call may be queued.
PHQ_MUST_USE enum phq_result phq_execute(struct phq_connection *connection, struct phq_fault *fault, const char *script,
                                         int64_t deadline);

/// Queues one call of the prepared statement `name`, and sends what the socket takes. `statement` is its text if it is
/// not prepared on this connection yet, otherwise NULL. A value NULL is SQL's NULL.
PHQ_MUST_USE enum phq_result phq_queue(struct phq_connection *connection, struct phq_fault *fault, const char *name,
                                       const char *statement, int count, const uint8_t *const *values,
                                       const int *sizes);

/// Waits for the answer to the oldest queued call.
PHQ_MUST_USE enum phq_result phq_take(struct phq_rows *rows, struct phq_connection *connection, struct phq_fault *fault,
                                      int64_t deadline);
void phq_rows_free(struct phq_rows *rows);

/// The bytes of a value, owned by `rows`; NULL for SQL's NULL.
const uint8_t *phq_value(const struct phq_rows *rows, int row, int column, size_t *size);

/// Waits for a notification. PHQ_E_TIMED_OUT leaves the connection open: no notification came.
PHQ_MUST_USE enum phq_result phq_notified(struct phq_notice *notice, struct phq_connection *connection,
                                          struct phq_fault *fault, int64_t deadline);

#ifdef __cplusplus
}
#endif

#endif
