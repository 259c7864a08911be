// SPDX-License-Identifier: Apache-2.0

#include "vectors.h"

#include <string.h>

void judge_file(const char *name, const struct judge *judges, size_t count) {
  struct block_file file;
  struct block block;
  unsigned blocks = 0;
  if (options.vectors == NULL) {
    test_note("%s not run: no folder of vectors", name);
    return;
  }
  if (!block_open(&file, options.vectors, name)) {
    block_close(&file);
    return;
  }
  while (block_next(&file, &block)) {
    const char *type = block_word(&block, "block");
    judge_block *run = NULL;
    blocks++;
    test_case("%s line %u, case %s: %s", name, block.line, block_word(&block, "case"), block_word(&block, "comment"));
    for (size_t i = 0; i < count; i++) {
      if (strcmp(judges[i].type, type) == 0) run = judges[i].run;
    }
    if (CHECK(run != NULL)) run(&block);
  }
  block_close(&file);
  test_case("%s", name);
  CHECK(blocks > 0);
  test_note("%s: %u blocks", name, blocks);
}

static const char *skip_word(const char *value) {
  while (*value != '\0' && *value != ' ') value++;
  while (*value == ' ') value++;
  return value;
}

static bool next_byte(const char **value, uint8_t *byte) {
  uint64_t number;
  if (!parse_number(*value, &number) || number > 255) return false;
  *byte = (uint8_t)number;
  *value = skip_word(*value);
  return true;
}

bool parse_record(const char *value, struct vector_record *record) {
  size_t size;
  memset(record, 0, sizeof *record);
  if (!next_byte(&value, &record->class_) || !next_byte(&value, &record->number)) return false;
  record->absent = strncmp(value, "absent", 6) == 0;
  if (!record->absent && (!parse_bytes(value, record->digest, sizeof record->digest, &size) || size != 32))
    return false;
  value = skip_word(value);
  return parse_bytes(value, record->name, sizeof record->name, &record->name_size);
}

bool parse_source(const char *value, struct pfc_source *source) {
  return next_byte(&value, &source->class_) && next_byte(&value, &source->number) &&
         next_byte(&value, &source->version) && next_byte(&value, &source->groups_log2);
}

int add_records(struct pfc_measurement *fold, const struct block *block) {
  for (size_t i = 0; i < block->count; i++) {
    struct vector_record record;
    int result;
    if (strcmp(block->fields[i].name, "record") != 0) continue;
    if (!CHECK(parse_record(block->fields[i].value, &record))) return PFC_E_ARGUMENT;
    result = pfc_measurement_update(fold, record.class_, record.number, record.name, record.name_size,
                                    record.absent ? NULL : record.digest);
    if (result != PFC_OK) return result;
  }
  return PFC_OK;
}

struct pfc_key key_of(const struct block *block, uint8_t mpk[PFC_KEY_BYTES], uint8_t mode) {
  block_exactly(block, "mpk", mpk, PFC_KEY_BYTES);
  return pfc_key_plain(mpk, mode);
}

void check_field(const struct block *block, const char *name, const void *bytes, size_t size) {
  uint8_t expected[1024];
  size_t expected_size = block_bytes(block, name, expected, sizeof expected);
  if (!check_number((long long)size, (long long)expected_size, name, "vectors.c", __LINE__)) return;
  (void)check_bytes(bytes, expected, size, name, "vectors.c", __LINE__);
}

uint8_t byte_of(const struct block *block, const char *name) {
  uint64_t number = block_number(block, name);
  CHECK(number <= 255);
  return (uint8_t)number;
}

void secrets_of(const struct block *block, struct pfc_secrets *secrets) {
  uint8_t mpk[16], hardware[16];
  struct pfc_key key = key_of(block, mpk, PFC_MODE_PRODUCTION);
  struct pfc_measured measured;
  block_exactly(block, "hardware_id", hardware, 16);
  block_exactly(block, "im", measured.integrity, 32);
  block_exactly(block, "dm", measured.device, 32);
  block_exactly(block, "dpk", measured.device_key, 16);
  CHECK_NUMBER(pfc_secrets_make(secrets, &key, &measured, byte_of(block, "form"), hardware), PFC_OK);
}

void recall_of(const struct block *block, uint8_t message[PFC_RECALL_BYTES]) {
  uint8_t dpk[16], instance[16], nonce[16];
  block_exactly(block, "dpk_hw", dpk, 16);
  block_exactly(block, "instance_id", instance, 16);
  block_exactly(block, "nonce", nonce, 16);
  pfc_recall_create(message, instance, block_number(block, "counter"), nonce, dpk);
  check_field(block, "tag", message + 40, 32);
  CHECK_NUMBER(pfc_recall_check(message, dpk), PFC_OK);
}

void take_factory_secret(const struct block *block, struct pfc_hardware *hardware) {
  for (size_t i = 0; i < block->count; i++) {
    if (strcmp(block->fields[i].name, "factory_secret") != 0) continue;
    block_exactly(block, "factory_secret", hardware->factory_secret, PFC_FACTORY_SECRET_BYTES);
    hardware->has_factory_secret = 1;
  }
}
