// SPDX-License-Identifier: Apache-2.0

/// A reader for the Wycheproof files: objects, arrays, strings, integers, true, false, null; nothing more.
///
/// Bounded: depth, size and the number of values have limits, and what is beyond them is an error, not a crash.

#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stddef.h>

enum json_type { JSON_NULL, JSON_TRUE, JSON_FALSE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/// One value. `text` is a string's characters, escapes resolved, or a number's digits; `name` its name in an object.
struct json {
  enum json_type type;
  const char *name;
  const char *text;
  long long number;
  const struct json *first;  ///< First of an array's or object's values
  const struct json *next;   ///< In the same array or object
};

/// A document: the values and the text they lead into.
struct json_file {
  char *text;
  struct json *values;
  size_t count;
  const struct json *root;
};

/// False if the file is absent, too large or not JSON of this kind; then there is nothing to close.
bool json_open(struct json_file *file, const char *folder, const char *name);
void json_close(struct json_file *file);

/// A member, or NULL.
const struct json *json_member(const struct json *object, const char *name);
/// A member's text, or "".
const char *json_text(const struct json *object, const char *name);

#endif
