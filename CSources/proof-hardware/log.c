// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE
#include "log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static enum log_level threshold = LOG_INFO;
static struct timespec began;

bool log_level_read(enum log_level *level, const char *text) {
  static const char *const names[] = {"error", "info", "debug"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(text, names[i]) != 0) continue;
    *level = (enum log_level)i;
    return true;
  }
  return false;
}

void log_begin(enum log_level level) {
  threshold = level;
  (void)clock_gettime(CLOCK_MONOTONIC, &began);
}

/// One write for one line, so that lines of several processes do not mix. Standard error that is closed is no reason
/// to stop opening doors.
static void put(const char *text, size_t size) {
  ssize_t ignored = write(STDERR_FILENO, text, size);
  (void)ignored;
}

void log_line(enum log_level level, const char *format, ...) {
  char line[LINE_MAX_BYTES];
  struct timespec time;
  va_list arguments;
  int head, body;
  if (level > threshold) return;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  if (time.tv_nsec < began.tv_nsec) {
    time.tv_sec--;
    time.tv_nsec += 1000000000;
  }
  head = snprintf(line, sizeof line, "%6lld.%03ld %s ", (long long)(time.tv_sec - began.tv_sec),
                  (time.tv_nsec - began.tv_nsec) / 1000000, level == LOG_ERROR ? "ERROR" : "     ");
  va_start(arguments, format);
  body = vsnprintf(line + head, sizeof line - (size_t)head - 1, format, arguments);
  va_end(arguments);
  if (body < 0) return;
  head += body < LINE_MAX_BYTES - head - 1 ? body : LINE_MAX_BYTES - head - 2;
  line[head] = '\n';
  put(line, (size_t)head + 1);
}

void log_plain(const char *format, ...) {
  char text[LINE_MAX_BYTES];
  va_list arguments;
  int size;
  va_start(arguments, format);
  size = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (size > 0) put(text, size < LINE_MAX_BYTES ? (size_t)size : sizeof text - 1);
}

void log_hex(char *text, const uint8_t *bytes, size_t size) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    text[2 * i] = digits[bytes[i] >> 4];
    text[2 * i + 1] = digits[bytes[i] & 15];
  }
  text[2 * size] = '\0';
}

// Words ----------------------------------------------------------------------------------------------------------

const char *log_result(int result) {
  switch (result) {
    case PFC_E_DAMAGED:
      return "both copies of a record are damaged: provision it anew";
    case PFC_E_STORAGE:
      return "flash does not answer, or takes nothing any more";
    case PFC_E_ARGUMENT:
      return "a field of the identity is out of range";
    default:
      return "unexpected";
  }
}

static const char *verdict_name(uint8_t verdict) {
  switch (verdict) {
    case PFC_VERDICT_NONE: return "given";
    case PFC_VERDICT_ACCEPTED: return "accepted";
    case PFC_VERDICT_ACCEPTED_DEVICE: return "accepted, device only";
    case PFC_VERDICT_HELD: return "held";
    case PFC_VERDICT_READY: return "ready";
    case PFC_VERDICT_DONE: return "order done";
    case PFC_VERDICT_NOT_EXECUTED: return "not executed";
    case PFC_VERDICT_ACCEPTED_COPY: return "accepted, copy seen";
    case PFC_VERDICT_ACCEPTED_DEVICE_COPY: return "accepted, device only, copy seen";
    case PFC_VERDICT_COPIED: return "copy refused";
    case PFC_VERDICT_INTEGRITY_DIFFERS: return "integrity differs";
    case PFC_VERDICT_DEVICE_DIFFERS: return "device differs";
    case PFC_VERDICT_STALE: return "stale";
    case PFC_VERDICT_NOT_PERMITTED: return "not permitted";
    case PFC_VERDICT_NO_ATTEMPTS: return "attempts exhausted";
    case PFC_VERDICT_NO_USES: return "uses exhausted";
    case PFC_VERDICT_UNKNOWN: return "unknown instance";
    case PFC_VERDICT_NOT_FOR_ME: return "not for me";
    case PFC_VERDICT_NOT_SIGNED: return "not signed";
    case PFC_VERDICT_EXPIRED: return "expired";
    case PFC_VERDICT_SUPERSEDED: return "superseded";
    case PFC_VERDICT_REVOKED: return "revoked";
    case PFC_VERDICT_WRONG_MODE: return "wrong mode";
    case PFC_VERDICT_NO_ROOM: return "no room";
    case PFC_VERDICT_TOO_NEW: return "too new";
    case PFC_VERDICT_MALFORMED: return "malformed";
    case PFC_VERDICT_BUSY: return "busy";
    case PFC_VERDICT_FAULT: return "fault";
    default: return "unknown verdict";
  }
}

static const char *message_name(uint8_t type) {
  static const char *const names[] = {"?",     "ask",   "challenge", "token",  "command",         "verdict",
                                      "order", "recall", "status",   "channel command", "?", "log",
                                      "?",     "grant"};
  return names[type < sizeof names / sizeof names[0] ? type : 0];
}

static const char *done_name(uint8_t done) {
  switch (done) {
    case PFD_DONE: return "done";
    case PFD_DONE_RANGE: return "number out of range";
    case PFD_DONE_NOT_STORED: return "not done: its state could not be stored";
    default: return "no such command";
  }
}

/// How many of a kind there were in this hour, where the lines between are left out; otherwise nothing.
static const char *nth(uint64_t number) {
  static char text[48];
  if (number <= 10) return "";
  (void)snprintf(text, sizeof text, "; number %" PRIu64 " in this hour", number);
  return text;
}

/// The text that app and backend log for the same token, grant, command or recall; otherwise nothing.
static const char *reference(const struct pfd_event *event) {
  static char text[40];
  char hardware[2 * sizeof event->hardware + 1], digest[2 * sizeof event->message + 1];
  uint32_t counter = 0;
  log_hex(hardware, event->hardware, sizeof event->hardware);
  log_hex(digest, event->message, sizeof event->message);
  for (size_t i = 0; i < sizeof event->message; i++) counter |= (uint32_t)event->message[i] << 8 * i;
  text[0] = 0;
  if (event->a == PFC_MESSAGE_TOKEN) (void)snprintf(text, sizeof text, ", ref=%s-t%s", hardware, digest);
  if (event->a == PFC_MESSAGE_GRANT) (void)snprintf(text, sizeof text, ", ref=%s-g%s", hardware, digest);
  if (event->a == PFC_MESSAGE_COMMAND || event->a == PFC_MESSAGE_RECALL || event->a == PFC_MESSAGE_SEALED_UP) {
    (void)snprintf(text, sizeof text, ", ref=%s-%" PRIu32, hardware, counter);
  }
  return text;
}

static void log_judged(const struct pfd_event *event) {
  char id[2 * sizeof event->id + 1];
  // Challenges are frequent and decide nothing.
  enum log_level level = event->b == PFC_VERDICT_NONE ? LOG_DEBUG : LOG_INFO;
  bool taken = event->a == PFC_MESSAGE_GRANT && event->b == PFC_VERDICT_DONE;
  const char *verdict = taken ? "taken" : verdict_name(event->b);
  if (event->b == PFC_VERDICT_FAULT) level = LOG_ERROR;
  log_hex(id, event->id, sizeof event->id);
  log_line(level, "link %d: %s of %s: %s (%d), detail %d%s%s", event->link, message_name(event->a),
           strcmp(id, "00000000") == 0 ? "anyone" : id, verdict, event->b, event->detail,
           reference(event), nth(event->number));
}

void log_event(const struct pfd_event *event) {
  switch (event->kind) {
    case PFD_EVENT_STARTED:
      log_line(LOG_INFO, "started: mode %s, %d slots used, epoch %" PRIu64,
               event->a == PFC_MODE_PRODUCTION ? "production" : "development", event->b, event->number);
      break;
    case PFD_EVENT_REFUSES:
      log_line(LOG_ERROR, "refuses everything: %s (%d)", log_result(event->result), event->result);
      break;
    case PFD_EVENT_CONNECTED:
      log_line(LOG_DEBUG, "link %d: connected", event->link);
      break;
    case PFD_EVENT_DISCONNECTED:
      log_line(LOG_DEBUG, "link %d: disconnected, %" PRIu64 " packets refused", event->link, event->number);
      break;
    case PFD_EVENT_JUDGED:
      log_judged(event);
      break;
    case PFD_EVENT_DONE:
      log_line(LOG_INFO, "link %d: command of class %d: %s", event->link, event->a, done_name(event->b));
      break;
    case PFD_EVENT_REFUSED:
      log_line(LOG_DEBUG, "link %d: packet %" PRIu64 " refused: opcode 0x%02x, error 0x%02x", event->link,
               event->number, event->a, event->b);
      break;
    case PFD_EVENT_LOCKED:
      log_line(LOG_INFO, "the lock closed itself");
      break;
    case PFD_EVENT_EVICTED:
      log_line(LOG_INFO, "link %d: closed to make room: no command accepted%s", event->link, nth(event->number));
      break;
    default:
      break;
  }
}
