// SPDX-License-Identifier: Apache-2.0

#include "block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { FILE_MAX = 64 * 1024 * 1024 };

static char *read_whole(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  size_t size = 0, room = 0;
  if (file == NULL) return NULL;
  for (;;) {
    if (room - size < 2) {
      char *more;
      room = room == 0 ? 65536 : 2 * room;
      more = room > FILE_MAX ? NULL : realloc(text, room);
      if (more == NULL) {
        free(text);
        (void)fclose(file);
        return NULL;
      }
      text = more;
    }
    size_t read = fread(text + size, 1, room - size - 1, file);
    if (read == 0) break;
    size += read;
  }
  text[size] = '\0';
  (void)fclose(file);
  return text;
}

bool block_open(struct block_file *file, const char *folder, const char *name) {
  char path[1024];
  memset(file, 0, sizeof *file);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  test_case("%s", name);
  file->text = read_whole(path);
  file->next = file->text;
  return CHECK(file->text != NULL);
}

void block_close(struct block_file *file) {
  free(file->text);
  free(file->fields);
  memset(file, 0, sizeof *file);
}

static char *trim(char *text) {
  char *end;
  while (*text == ' ') text++;
  end = text + strlen(text);
  while (end > text && end[-1] == ' ') *--end = '\0';
  return text;
}

/// Takes one line off the text; NULL at the end.
static char *next_line(struct block_file *file) {
  char *line = file->next, *end;
  if (*line == '\0') return NULL;
  file->line++;
  end = strchr(line, '\n');
  if (end == NULL) {
    file->next = line + strlen(line);
  } else {
    *end = '\0';
    file->next = end + 1;
  }
  return line;
}

bool block_next(struct block_file *file, struct block *block) {
  size_t count = 0;
  char *line;
  while ((line = next_line(file)) != NULL) {
    char *equals;
    if (*line == '#') continue;
    if (*line == '\0') {
      if (count == 0) continue;
      break;
    }
    equals = strchr(line, '=');
    if (!CHECK(equals != NULL)) return false;
    *equals = '\0';
    if (count == file->capacity) {
      size_t room = count == 0 ? 64 : 2 * count;
      struct field *more = realloc(file->fields, room * sizeof *more);
      if (!CHECK(more != NULL)) return false;
      file->fields = more;
      file->capacity = room;
    }
    if (count == 0) block->line = file->line;
    file->fields[count].name = trim(line);
    file->fields[count].value = trim(equals + 1);
    count++;
  }
  block->fields = file->fields;
  block->count = count;
  return count != 0;
}

const char *block_word(const struct block *block, const char *name) {
  for (size_t i = 0; i < block->count; i++) {
    if (strcmp(block->fields[i].name, name) == 0) return block->fields[i].value;
  }
  (void)check_true(false, name, "block.c", __LINE__);
  return "";
}

bool parse_number(const char *value, uint64_t *number) {
  uint64_t sum = 0;
  *number = 0;
  if (*value == '\0') return false;
  for (; *value != '\0' && *value != ' '; value++) {
    uint64_t digit = (uint64_t)(*value - '0');
    if (*value < '0' || *value > '9' || sum > (UINT64_MAX - digit) / 10) return false;
    sum = 10 * sum + digit;
  }
  *number = sum;
  return true;
}

uint64_t block_number(const struct block *block, const char *name) {
  uint64_t number;
  if (!parse_number(block_word(block, name), &number)) (void)check_true(false, name, "block.c", __LINE__);
  return number;
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool parse_bytes(const char *value, uint8_t *bytes, size_t capacity, size_t *size) {
  *size = 0;
  for (; *value != '\0' && *value != ' '; value += 2) {
    int high = digit_of(value[0]), low = high < 0 ? -1 : digit_of(value[1]);
    if (low < 0 || *size == capacity) return false;
    bytes[(*size)++] = (uint8_t)(16 * high + low);
  }
  return true;
}

size_t block_bytes(const struct block *block, const char *name, uint8_t *bytes, size_t capacity) {
  size_t size;
  if (!parse_bytes(block_word(block, name), bytes, capacity, &size)) {
    (void)check_true(false, name, "block.c", __LINE__);
    return 0;
  }
  return size;
}

void block_exactly(const struct block *block, const char *name, uint8_t *bytes, size_t size) {
  memset(bytes, 0, size);
  if (block_bytes(block, name, bytes, size) != size) (void)check_true(false, name, "block.c", __LINE__);
}
