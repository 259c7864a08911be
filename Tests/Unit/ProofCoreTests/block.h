// SPDX-License-Identifier: Apache-2.0

/// Reader of the block format of Tests/Vectors/README.md: blocks of `name = value` lines, separated by empty lines.

#ifndef BLOCK_H
#define BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct field {
  const char *name;
  const char *value;
};

/// One block. Its fields lead into the file's text and live as long as the file.
struct block {
  const struct field *fields;
  size_t count;
  unsigned line;  ///< Line of the first field
};

/// A file of blocks, wholly in memory.
struct block_file {
  char *text;
  char *next;
  struct field *fields;
  size_t capacity;
  unsigned line;
};

/// False, with a failed check, if the file cannot be read or is not in the format.
bool block_open(struct block_file *file, const char *folder, const char *name);
/// The next block, or false at the end. The block before becomes invalid.
bool block_next(struct block_file *file, struct block *block);
void block_close(struct block_file *file);

/// Each fails a check, and answers with nothing, where the field is missing or not what is asked for.
const char *block_word(const struct block *block, const char *name);
uint64_t block_number(const struct block *block, const char *name);
size_t block_bytes(const struct block *block, const char *name, uint8_t *bytes, size_t capacity);
/// As `block_bytes`, where the size is known.
void block_exactly(const struct block *block, const char *name, uint8_t *bytes, size_t size);

/// Bytes, or a number, out of one value.
bool parse_bytes(const char *value, uint8_t *bytes, size_t capacity, size_t *size);
bool parse_number(const char *value, uint64_t *number);

#endif
