// SPDX-License-Identifier: Apache-2.0

/// Lines on standard error, for a firmware engineer: time, what happened, to whom. Never a secret.

#ifndef LOG_H
#define LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ProofDevice.h"

enum log_level { LOG_ERROR, LOG_INFO, LOG_DEBUG };

bool log_level_read(enum log_level *level, const char *text);

/// From here on lines of this level and below are written, with the time since now.
void log_begin(enum log_level level);

/// One line. What is longer than a line is cut.
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void log_line(enum log_level level, const char *format, ...);

/// Text as it is, whatever the level.
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void log_plain(const char *format, ...);

/// The line of an event of the unit.
void log_event(const struct pfd_event *event);

/// Why a function of the core did not do what it should.
const char *log_result(int result);

/// Lower case, with a terminator: `text` has 2 * size + 1 characters.
void log_hex(char *text, const uint8_t *bytes, size_t size);

#endif
