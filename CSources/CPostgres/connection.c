// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <errno.h>
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "CPostgres.h"

struct phq_connection {
  PGconn *pg;  ///< NULL once it is closed.
  PGnotify *notice;
  int doubtful;
};

int64_t phq_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// Keeps the words on one line, without the prefix of libpq's severity.
static void say(struct phq_fault *fault, const char *words) {
  size_t at = 0;
  for (; words != NULL && *words != 0 && at + 1 < sizeof fault->words; words++) {
    unsigned char byte = (unsigned char)*words;
    fault->words[at++] = byte < 0x20 || byte == 0x7F ? ' ' : *words;
  }
  while (at > 0 && fault->words[at - 1] == ' ') at--;
  fault->words[at] = 0;
}

static enum phq_result fail(struct phq_fault *fault, enum phq_result result, const char *words) {
  memset(fault, 0, sizeof *fault);
  say(fault, words);
  return result;
}

enum phq_result phq_settings(const char *text, void *user,
                             void (*take)(void *user, const char *keyword, const char *value)) {
  char *words = NULL;
  PQconninfoOption *options = PQconninfoParse(text, &words);
  // The parser's words quote the string, and the password may be what it quotes.
  if (words != NULL) explicit_bzero(words, strlen(words));
  PQfreemem(words);
  if (options == NULL) return PHQ_E_MISUSE;
  for (const PQconninfoOption *option = options; option->keyword != NULL; option++) {
    if (option->val != NULL) take(user, option->keyword, option->val);
  }
  for (PQconninfoOption *option = options; option->keyword != NULL; option++) {
    if (option->val != NULL) explicit_bzero(option->val, strlen(option->val));
  }
  PQconninfoFree(options);
  return PHQ_OK;
}

/// Warnings set a flag; no notice is printed to the standard error.
static void hear(void *user, const PGresult *result) {
  struct phq_connection *connection = user;
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (state != NULL && strcmp(state, "01000") == 0) connection->doubtful = 1;
}

/// libpq 15 has no code for a failed connection, so the words decide.
static enum phq_result judge(const PGconn *pg) {
  static const char *const untrusted[] = {"certificate", "SSL", "channel binding", "server signature", "verify-full"};
  const char *words = PQerrorMessage(pg);
  for (size_t i = 0; i < sizeof untrusted / sizeof *untrusted; i++) {
    if (strstr(words, untrusted[i]) != NULL) return PHQ_E_UNTRUSTED;
  }
  if (strstr(words, "authentication failed") != NULL || strstr(words, "no pg_hba.conf entry") != NULL ||
      strstr(words, "no password supplied") != NULL || PQconnectionNeedsPassword(pg)) {
    return PHQ_E_DENIED;
  }
  return PHQ_E_UNREACHABLE;
}

enum phq_result phq_connect(struct phq_connection **connection, struct phq_fault *fault, const char *const *keywords,
                            const char *const *values) {
  struct phq_connection *made = calloc(1, sizeof *made);
  enum phq_result result = PHQ_OK;
  *connection = NULL;
  memset(fault, 0, sizeof *fault);
  if (made == NULL) return fail(fault, PHQ_E_MISUSE, "no memory");
  made->pg = PQconnectdbParams(keywords, values, 0);
  if (made->pg == NULL) {
    result = fail(fault, PHQ_E_MISUSE, "no memory");
  } else if (PQstatus(made->pg) != CONNECTION_OK) {
    result = fail(fault, judge(made->pg), PQerrorMessage(made->pg));
  } else if (PQsetnonblocking(made->pg, 1) != 0) {
    result = fail(fault, PHQ_E_MISUSE, "the socket cannot be made non-blocking");
  }
  if (result != PHQ_OK) {
    phq_close(made);
    return result;
  }
  (void)PQsetNoticeReceiver(made->pg, hear, made);
  *connection = made;
  return PHQ_OK;
}

static void hang_up(struct phq_connection *connection) {
  PQfreemem(connection->notice);
  connection->notice = NULL;
  PQfinish(connection->pg);
  connection->pg = NULL;
}

void phq_close(struct phq_connection *connection) {
  if (connection == NULL) return;
  hang_up(connection);
  free(connection);
}

int phq_is_open(const struct phq_connection *connection) { return connection->pg != NULL; }
int phq_backend(const struct phq_connection *connection) {
  return connection->pg == NULL ? 0 : PQbackendPID(connection->pg);
}
int phq_is_encrypted(const struct phq_connection *connection) {
  return connection->pg != NULL && PQsslInUse(connection->pg);
}

static enum phq_result lost(struct phq_connection *connection, struct phq_fault *fault) {
  enum phq_result result = fail(fault, PHQ_E_BROKEN_OFF,
                                connection->pg == NULL ? "the connection is closed" : PQerrorMessage(connection->pg));
  hang_up(connection);
  return result;
}

/// Waits until the socket has something to read, or, if `sends`, takes something. 0 at the deadline.
static int wait_socket(const struct phq_connection *connection, int sends, int64_t deadline) {
  for (;;) {
    struct pollfd socket = {.fd = PQsocket(connection->pg), .events = POLLIN};
    int64_t left = deadline - phq_now();
    int ready;
    if (sends) socket.events = POLLIN | POLLOUT;
    if (left < 0) left = 0;
    if (left > 60000) left = 60000;
    ready = poll(&socket, 1, (int)left);
    if (ready > 0) return 1;
    if (ready < 0 && errno != EINTR) return 1;  // The read that follows reports it.
    if (phq_now() >= deadline) return 0;
  }
}

/// Sends what is queued, and waits until PQgetResult does not block.
static enum phq_result wait_answer(struct phq_connection *connection, struct phq_fault *fault, int64_t deadline) {
  for (;;) {
    int sends = PQflush(connection->pg);
    if (sends < 0) return lost(connection, fault);
    if (!PQisBusy(connection->pg)) return PHQ_OK;
    if (!wait_socket(connection, sends, deadline)) {
      hang_up(connection);
      return fail(fault, PHQ_E_TIMED_OUT, "no answer before the deadline; the connection was closed");
    }
    if (!PQconsumeInput(connection->pg)) return lost(connection, fault);
  }
}

static enum phq_result refused(const PGresult *result, struct phq_fault *fault) {
  const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char *severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  const char *words = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  (void)fail(fault, PHQ_E_REFUSED, words != NULL ? words : PQresultErrorMessage(result));
  // An error without SQLSTATE is libpq's own: the connection ended.
  if (state == NULL) return PHQ_E_BROKEN_OFF;
  (void)snprintf(fault->state, sizeof fault->state, "%.5s", state);
  fault->ends_session = severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
  return PHQ_E_REFUSED;
}

static int is_error(const PGresult *result) {
  ExecStatusType status = PQresultStatus(result);
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE;
}

enum phq_result phq_execute(struct phq_connection *connection, struct phq_fault *fault, const char *script,
                            int64_t deadline) {
  enum phq_result result = PHQ_OK;
  memset(fault, 0, sizeof *fault);
  if (connection->pg == NULL) return lost(connection, fault);
  if (PQpipelineStatus(connection->pg) != PQ_PIPELINE_OFF && !PQexitPipelineMode(connection->pg)) {
    return fail(fault, PHQ_E_MISUSE, "calls are queued on this connection");
  }
  if (!PQsendQuery(connection->pg, script)) return lost(connection, fault);
  for (;;) {
    PGresult *answer;
    enum phq_result waited;
    struct phq_fault other;
    waited = wait_answer(connection, &other, deadline);
    if (waited != PHQ_OK) {
      // The server's own last word explains more than the end of the connection.
      if (result != PHQ_OK) return result;
      *fault = other;
      return waited;
    }
    answer = PQgetResult(connection->pg);
    if (answer == NULL) break;
    if (is_error(answer) && result == PHQ_OK) result = refused(answer, fault);
    PQclear(answer);
  }
  if (fault->ends_session || PQstatus(connection->pg) != CONNECTION_OK) hang_up(connection);
  return result;
}

enum phq_result phq_queue(struct phq_connection *connection, struct phq_fault *fault, const char *name,
                          const char *statement, int count, const uint8_t *const *values, const int *sizes) {
  int formats[32];
  memset(fault, 0, sizeof *fault);
  if (connection->pg == NULL) return lost(connection, fault);
  if (count < 0 || count > (int)(sizeof formats / sizeof *formats)) {
    return fail(fault, PHQ_E_MISUSE, "more than 32 parameters");
  }
  for (int i = 0; i < count; i++) formats[i] = 1;
  if (!PQenterPipelineMode(connection->pg)) return fail(fault, PHQ_E_MISUSE, "a script runs on this connection");
  if (statement != NULL && !PQsendPrepare(connection->pg, name, statement, 0, NULL)) return lost(connection, fault);
  if (!PQsendQueryPrepared(connection->pg, name, count, (const char *const *)values, sizes, formats, 1) ||
      !PQpipelineSync(connection->pg)) {
    return lost(connection, fault);
  }
  return PHQ_OK;
}

enum phq_result phq_take(struct phq_rows *rows, struct phq_connection *connection, struct phq_fault *fault,
                         int64_t deadline) {
  enum phq_result result = PHQ_OK;
  int ends = 0;
  memset(rows, 0, sizeof *rows);
  memset(fault, 0, sizeof *fault);
  if (connection->pg == NULL) return lost(connection, fault);
  if (PQpipelineStatus(connection->pg) == PQ_PIPELINE_OFF) return fail(fault, PHQ_E_MISUSE, "no call is queued");
  connection->doubtful = 0;
  for (;;) {
    PGresult *answer;
    struct phq_fault other;
    enum phq_result waited = wait_answer(connection, &other, deadline);
    if (waited != PHQ_OK) {
      phq_rows_free(rows);
      // The server's own last word explains more than the end of the connection.
      if (result != PHQ_OK) return result;
      *fault = other;
      return waited;
    }
    answer = PQgetResult(connection->pg);
    if (answer == NULL) {
      // The end of one statement of the call. Two in a row: the connection has ended.
      if (++ends > 1 || PQstatus(connection->pg) != CONNECTION_OK) {
        phq_rows_free(rows);
        if (result == PHQ_OK) return lost(connection, fault);
        hang_up(connection);
        return result;
      }
      continue;
    }
    ends = 0;
    switch (PQresultStatus(answer)) {
      case PGRES_PIPELINE_SYNC:
        PQclear(answer);
        rows->doubtful = connection->doubtful;
        if (result != PHQ_OK) phq_rows_free(rows);
        return result;
      case PGRES_TUPLES_OK:
        rows->result = answer;
        rows->rows = PQntuples(answer);
        rows->columns = PQnfields(answer);
        continue;
      case PGRES_COMMAND_OK:
        rows->prepared = 1;
        break;
      case PGRES_PIPELINE_ABORTED:
        break;
      default:
        if (result == PHQ_OK) result = refused(answer, fault);
    }
    PQclear(answer);
    if (result == PHQ_E_BROKEN_OFF) {
      hang_up(connection);
      return result;
    }
  }
}

void phq_rows_free(struct phq_rows *rows) {
  PQclear(rows->result);
  rows->result = NULL;
  rows->rows = rows->columns = 0;
}

const uint8_t *phq_value(const struct phq_rows *rows, int row, int column, size_t *size) {
  *size = 0;
  if (row < 0 || column < 0 || row >= rows->rows || column >= rows->columns) return NULL;
  if (PQgetisnull(rows->result, row, column)) return NULL;
  *size = (size_t)PQgetlength(rows->result, row, column);
  return (const uint8_t *)PQgetvalue(rows->result, row, column);
}

enum phq_result phq_notified(struct phq_notice *notice, struct phq_connection *connection, struct phq_fault *fault,
                             int64_t deadline) {
  memset(notice, 0, sizeof *notice);
  memset(fault, 0, sizeof *fault);
  if (connection->pg == NULL) return lost(connection, fault);
  PQfreemem(connection->notice);
  for (;;) {
    connection->notice = PQnotifies(connection->pg);
    if (connection->notice != NULL) {
      notice->channel = connection->notice->relname;
      notice->payload = connection->notice->extra;
      return PHQ_OK;
    }
    if (!wait_socket(connection, 0, deadline)) return fail(fault, PHQ_E_TIMED_OUT, "no notification");
    if (!PQconsumeInput(connection->pg) || PQstatus(connection->pg) != CONNECTION_OK) return lost(connection, fault);
  }
}
