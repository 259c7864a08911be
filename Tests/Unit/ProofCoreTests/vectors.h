// SPDX-License-Identifier: Apache-2.0

/// Shared by the vector suites: walking over a file's blocks, and composite values.

#ifndef VECTORS_H
#define VECTORS_H

#include "ProofCore.h"
#include "block.h"
#include "harness.h"

/// Judges one block by checks.
typedef void judge_block(const struct block *block);

struct judge {
  const char *type;  ///< Type of the block
  judge_block *run;
};

/// Runs every block of a file through the judge of its type; a type without one is a failure. Notes how many there
/// were, or that there is no folder.
void judge_file(const char *name, const struct judge *judges, size_t count);

#define JUDGE_FILE(name_, judges_) judge_file((name_), (judges_), sizeof(judges_) / sizeof((judges_)[0]))

/// One `record` line, its name of any length.
struct vector_record {
  uint8_t class_;
  uint8_t number;
  bool absent;
  size_t name_size;
  uint8_t name[600];
  uint8_t digest[PFC_DIGEST_BYTES];
};

bool parse_record(const char *value, struct vector_record *record);
bool parse_source(const char *value, struct pfc_source *source);

/// Adds all of a block's records to a fold; PFC_OK or the first refusal.
int add_records(struct pfc_measurement *fold, const struct block *block);

/// A key from `mpk`, in the mode given. Points into `mpk`.
struct pfc_key key_of(const struct block *block, uint8_t mpk[PFC_KEY_BYTES], uint8_t mode);

/// A field of one byte.
uint8_t byte_of(const struct block *block, const char *name);

/// The secrets that a block's `mpk`, `im`, `dpk`, `dm` give in its `form` for its hardware.
void secrets_of(const struct block *block, struct pfc_secrets *secrets);

/// The recall that a block describes; checks its `tag`.
void recall_of(const struct block *block, uint8_t message[PFC_RECALL_BYTES]);

/// Gives hardware the block's factory secret, if it has one.
void take_factory_secret(const struct block *block, struct pfc_hardware *hardware);

/// Compares a field with what was computed.
void check_field(const struct block *block, const char *name, const void *bytes, size_t size);

#endif
