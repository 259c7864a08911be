// SPDX-License-Identifier: Apache-2.0

#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_LIMIT = 4 * 1024 * 1024, VALUES_LIMIT = 200000, DEPTH_LIMIT = 16 };

struct parser {
  char *at;
  struct json_file *file;
  size_t capacity;
};

static void skip_blanks(struct parser *parser) {
  while (*parser->at == ' ' || *parser->at == '\n' || *parser->at == '\r' || *parser->at == '\t') parser->at++;
}

static int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/// Resolves escapes in place: what they stand for is never longer. Characters beyond ASCII become `?`: they occur in
/// comments alone.
static char *parse_string(struct parser *parser) {
  char *start, *to;
  if (*parser->at != '"') return NULL;
  start = to = ++parser->at;
  while (*parser->at != '"') {
    char c = *parser->at++;
    if ((unsigned char)c < 0x20) return NULL;
    if (c == '\\') {
      unsigned code = 0;
      c = *parser->at++;
      switch (c) {
        case '"':
        case '\\':
        case '/': break;
        case 'b': c = '\b'; break;
        case 'f': c = '\f'; break;
        case 'n': c = '\n'; break;
        case 'r': c = '\r'; break;
        case 't': c = '\t'; break;
        case 'u':
          for (int i = 0; i < 4; i++) {
            int digit = hex_of(*parser->at);
            if (digit < 0) return NULL;
            code = 16 * code + (unsigned)digit;
            parser->at++;
          }
          c = code > 0 && code < 0x80 ? (char)code : '?';
          break;
        default: return NULL;
      }
    }
    *to++ = c;
  }
  parser->at++;
  *to = '\0';
  return start;
}

static struct json *parse_value(struct parser *parser, unsigned depth);

/// The members of an object or the elements of an array, linked in order.
static bool parse_members(struct parser *parser, struct json *parent, char close, unsigned depth) {
  const struct json **link = &parent->first;
  parser->at++;
  skip_blanks(parser);
  if (*parser->at == close) {
    parser->at++;
    return true;
  }
  for (;;) {
    char *name = NULL;
    struct json *value;
    skip_blanks(parser);
    if (close == '}') {
      name = parse_string(parser);
      skip_blanks(parser);
      if (name == NULL || *parser->at != ':') return false;
      parser->at++;
    }
    value = parse_value(parser, depth + 1);
    if (value == NULL) return false;
    value->name = name;
    *link = value;
    link = &value->next;
    skip_blanks(parser);
    if (*parser->at == close) break;
    if (*parser->at != ',') return false;
    parser->at++;
  }
  parser->at++;
  return true;
}

static bool parse_word(struct parser *parser, const char *word) {
  size_t size = strlen(word);
  if (strncmp(parser->at, word, size) != 0) return false;
  parser->at += size;
  return true;
}

static struct json *parse_value(struct parser *parser, unsigned depth) {
  struct json *value;
  bool good = true;
  if (depth > DEPTH_LIMIT || parser->file->count == parser->capacity) return NULL;
  value = &parser->file->values[parser->file->count++];
  memset(value, 0, sizeof *value);
  value->text = "";
  skip_blanks(parser);
  switch (*parser->at) {
    case '{':
      value->type = JSON_OBJECT;
      good = parse_members(parser, value, '}', depth);
      break;
    case '[':
      value->type = JSON_ARRAY;
      good = parse_members(parser, value, ']', depth);
      break;
    case '"':
      value->type = JSON_STRING;
      value->text = parse_string(parser);
      good = value->text != NULL;
      break;
    case 't':
      value->type = JSON_TRUE;
      good = parse_word(parser, "true");
      break;
    case 'f':
      value->type = JSON_FALSE;
      good = parse_word(parser, "false");
      break;
    case 'n':
      value->type = JSON_NULL;
      good = parse_word(parser, "null");
      break;
    default: {
      char *end;
      value->type = JSON_NUMBER;
      value->number = strtoll(parser->at, &end, 10);
      good = end != parser->at;
      parser->at = end;
      break;
    }
  }
  return good ? value : NULL;
}

bool json_open(struct json_file *file, const char *folder, const char *name) {
  char path[1024];
  struct parser parser = {NULL, file, 0};
  FILE *stream;
  size_t size;
  memset(file, 0, sizeof *file);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  stream = fopen(path, "rb");
  if (stream == NULL) return false;
  file->text = malloc(SIZE_LIMIT + 1);
  file->values = malloc(VALUES_LIMIT * sizeof *file->values);
  parser.capacity = VALUES_LIMIT;
  size = file->text != NULL ? fread(file->text, 1, SIZE_LIMIT, stream) : SIZE_LIMIT;
  (void)fclose(stream);
  if (file->text != NULL && file->values != NULL && size < SIZE_LIMIT) {
    file->text[size] = '\0';
    parser.at = file->text;
    file->root = parse_value(&parser, 0);
  }
  if (file->root != NULL) skip_blanks(&parser);
  if (file->root == NULL || *parser.at != '\0') {
    json_close(file);
    return false;
  }
  return true;
}

void json_close(struct json_file *file) {
  free(file->text);
  free(file->values);
  memset(file, 0, sizeof *file);
}

const struct json *json_member(const struct json *object, const char *name) {
  for (const struct json *value = object->first; value != NULL; value = value->next) {
    if (value->name != NULL && strcmp(value->name, name) == 0) return value;
  }
  return NULL;
}

const char *json_text(const struct json *object, const char *name) {
  const struct json *value = json_member(object, name);
  return value != NULL ? value->text : "";
}
