// SPDX-License-Identifier: Apache-2.0

/// The second implementation's vectors (Tests/Vectors/README.md): what is sent and what is stored.

#include <string.h>

#include "ProofCore.h"
#include "flash.h"
#include "harness.h"
#include "packets.h"
#include "vectors.h"

// Token and order ------------------------------------------------------------------------------------------------

/// Makes the block's token; `factory_secret` is NULL for suite 1.
static void judge_token(const struct block *block, struct pfc_token token, const uint8_t *factory_secret) {
  uint8_t recipient[32], seed[32], public_key[32], signing_key[64], ephemeral[32], bytes[PFC_TOKEN_BYTES], plain[232],
      digest[16];
  uint8_t hardware_secret[32], ephemeral_public[32];
  token.mode = byte_of(block, "mode");
  token.form = byte_of(block, "form");
  token.integrity_classes = (uint16_t)block_number(block, "integrity_classes");
  token.device_classes = (uint16_t)block_number(block, "device_classes");
  token.attempts = (uint16_t)block_number(block, "attempts");
  token.uses = (uint32_t)block_number(block, "uses");
  token.generation = (uint32_t)block_number(block, "generation");
  token.not_after = block_number(block, "not_after");
  token.issued = block_number(block, "issued");
  block_exactly(block, "hardware_id", token.hardware_id, 16);
  block_exactly(block, "instance_id", token.instance_id, 16);
  secrets_of(block, &token.secrets);
  block_exactly(block, "hardware_public", recipient, 32);
  block_exactly(block, "hardware_secret", hardware_secret, 32);
  block_exactly(block, "issuer_seed", seed, 32);
  block_exactly(block, "ephemeral_secret", ephemeral, 32);
  pfc_signing_key(public_key, signing_key, seed);
  pfc_public_key(ephemeral_public, ephemeral);
  check_field(block, "ephemeral_public", ephemeral_public, 32);
  REQUIRE(CHECK_NUMBER(pfc_token_create(bytes, &token, recipient, factory_secret, signing_key, ephemeral), PFC_OK));
  check_field(block, "token", bytes, sizeof bytes);
  check_field(block, "header", bytes, 8);
  pfc_token_digest(digest, bytes);
  check_field(block, "digest", digest, 16);
  if (factory_secret != NULL) return;
  REQUIRE(CHECK_NUMBER(pfc_unseal(plain, bytes + 8, 280, recipient, hardware_secret), PFC_OK));
  check_field(block, "body", plain, 168);
  check_field(block, "signature", plain + 168, 64);
}

static void judge_token_1(const struct block *block) {
  const struct pfc_token token = {.version = PFC_VERSION};
  judge_token(block, token, NULL);
}

static void judge_token_2(const struct block *block) {
  struct pfc_token token = {.version = PFC_TOKEN_VERSION_2};
  uint8_t drawn[PFC_FACTORY_SECRET_BYTES], secret[PFC_FACTORY_SECRET_BYTES], id[PFC_ID_BYTES];
  size_t size = block_bytes(block, "drawn", drawn, sizeof drawn);
  token.policy = byte_of(block, "policy");
  token.delegable_classes = (uint16_t)block_number(block, "delegable_classes");
  token.base = (uint32_t)block_number(block, "base");
  block_exactly(block, "hardware_id", id, sizeof id);
  if (size != 0) {
    pfc_factory_secret(secret, drawn, id);
    check_field(block, "factory_secret", secret, sizeof secret);
  }
  judge_token(block, token, size != 0 ? secret : NULL);
}

static void judge_order(const struct block *block) {
  struct pfc_order order;
  uint8_t seed[32], public_key[32], signing_key[64], bytes[PFC_ORDER_BYTES];
  memset(&order, 0, sizeof order);
  order.type = byte_of(block, "type");
  order.issued = block_number(block, "issued");
  order.generation = (uint32_t)block_number(block, "generation");
  block_exactly(block, "hardware_id", order.hardware_id, 16);
  block_exactly(block, "instance_id", order.instance_id, 16);
  block_exactly(block, "issuer_seed", seed, 32);
  pfc_signing_key(public_key, signing_key, seed);
  REQUIRE(CHECK_NUMBER(pfc_order_create(bytes, &order, signing_key), PFC_OK));
  check_field(block, "order", bytes, sizeof bytes);
}

// Messages -------------------------------------------------------------------------------------------------------

static void check_message(const struct block *block, uint8_t type, const uint8_t *message, size_t size) {
  CHECK_NUMBER(block_number(block, "type"), type);
  CHECK_NUMBER(pfc_message_fits(type, size), 1);
  check_field(block, "message", message, size);
}

static void judge_ask(const struct block *block) {
  const uint8_t what = byte_of(block, "what");
  CHECK(what == PFC_ASK_CHALLENGE || what == PFC_ASK_STATUS);
  check_message(block, PFC_MESSAGE_ASK, &what, 1);
}

static void judge_challenge(const struct block *block) {
  struct pfc_challenge challenge;
  uint8_t message[PFC_CHALLENGE_MESSAGE_BYTES];
  challenge.counter = block_number(block, "counter");
  block_exactly(block, "challenge", challenge.bytes, 32);
  pfc_challenge_encode(message, &challenge);
  check_message(block, PFC_MESSAGE_CHALLENGE, message, sizeof message);
}

static void judge_message_token(const struct block *block) {
  uint8_t token[PFC_TOKEN_BYTES];
  block_exactly(block, "token", token, sizeof token);
  check_message(block, PFC_MESSAGE_TOKEN, token, sizeof token);
}

static void judge_message_order(const struct block *block) {
  uint8_t order[PFC_ORDER_BYTES];
  block_exactly(block, "order", order, sizeof order);
  check_message(block, PFC_MESSAGE_ORDER, order, sizeof order);
}

static void judge_command(const struct block *block) {
  struct pfc_request request;
  struct pfc_secrets secrets;
  struct pfc_command decoded;
  uint8_t command[PFC_COMMAND_MAX], message[PFC_MESSAGE_MAX], nonce[16], escort[16], ratchet[16];
  size_t size;
  memset(&request, 0, sizeof request);
  request.kind = byte_of(block, "kind");
  request.command_class = byte_of(block, "class");
  block_exactly(block, "instance_id", request.instance_id, 16);
  block_exactly(block, "hardware_id", request.hardware_id, 16);
  request.challenge.counter = block_number(block, "counter");
  block_exactly(block, "challenge", request.challenge.bytes, 32);
  request.command = command;
  request.command_size = block_bytes(block, "command", command, sizeof command);
  block_exactly(block, "k_hw", secrets.integrity_key, 16);
  block_exactly(block, "im_hw", secrets.integrity, 32);
  block_exactly(block, "dpk_hw", secrets.device_key, 16);
  block_exactly(block, "dm_hw", secrets.device, 32);
  if (pfc_kind_has_ratchet(request.kind)) {
    block_exactly(block, "ratchet", ratchet, 16);
    request.ratchet = ratchet;
    request.known = (uint32_t)block_number(block, "known");
  }
  REQUIRE(CHECK_NUMBER(pfc_command_create(message, sizeof message, &size, nonce, &request, &secrets), PFC_OK));
  check_field(block, "nonce", nonce, 16);
  check_message(block, PFC_MESSAGE_COMMAND, message, size);
  REQUIRE(CHECK_NUMBER(pfc_command_decode(&decoded, message, size), PFC_OK));
  check_field(block, "device_proof", decoded.device_proof, 32);
  if (pfc_kind_has_ratchet(request.kind)) {
    check_field(block, "ratchet_tag", decoded.ratchet_tag, PFC_RATCHET_TAG_BYTES);
    check_field(block, "integrity_proof", decoded.integrity_proof, pfc_kind_is_integrity(request.kind) ? 32 : 0);
    pfc_command_escort(escort, nonce, &decoded);
    check_field(block, "escort", escort, 16);
  } else if (request.kind == PFC_KIND_INTEGRITY) {
    pfc_nonce_escort(escort, nonce, decoded.integrity_proof);
    check_field(block, "integrity_proof", decoded.integrity_proof, 32);
    check_field(block, "escort", escort, 16);
  } else {
    check_field(block, "integrity_proof", "", 0);
    check_field(block, "escort", "", 0);
  }
}

static void judge_verdict(const struct block *block) {
  struct pfc_answer answer, decoded;
  uint8_t message[PFC_VERDICT_MESSAGE_BYTES];
  memset(&answer, 0, sizeof answer);
  answer.verdict = byte_of(block, "verdict");
  answer.detail = (uint16_t)block_number(block, "detail");
  answer.counter = block_number(block, "counter");
  block_exactly(block, "receipt", answer.receipt, 32);
  pfc_answer_encode(message, &answer);
  check_message(block, PFC_MESSAGE_VERDICT, message, sizeof message);
  CHECK_NUMBER(pfc_answer_decode(&decoded, message, sizeof message), PFC_OK);
}

static void judge_message_recall(const struct block *block) {
  uint8_t message[PFC_RECALL_BYTES];
  recall_of(block, message);
  check_message(block, PFC_MESSAGE_RECALL, message, sizeof message);
}

static void judge_status(const struct block *block) {
  struct pfc_status status, decoded;
  uint8_t message[PFC_STATUS_BYTES];
  memset(&status, 0, sizeof status);
  status.mode = byte_of(block, "mode");
  status.slots = byte_of(block, "slots");
  status.slots_used = byte_of(block, "slots_used");
  status.epoch = block_number(block, "epoch");
  block_exactly(block, "hardware_id", status.hardware_id, 16);
  pfc_status_encode(message, &status);
  check_message(block, PFC_MESSAGE_STATUS, message, sizeof message);
  CHECK_NUMBER(pfc_status_decode(&decoded, message, sizeof message), PFC_OK);
}

// Frames and records ---------------------------------------------------------------------------------------------

static void judge_frame(const struct block *block) {
  static struct packets packets;
  uint8_t message[PFC_MESSAGE_MAX], check[2];
  struct shape shape = {byte_of(block, "type"), block_bytes(block, "message", message, sizeof message)};
  struct pfc_reassembler reassembler;
  size_t next = 0;
  packets_cut(&packets, &shape, message, (size_t)block_number(block, "packet"));
  pfc_reassemble_init(&reassembler);
  for (size_t i = 0; i < block->count; i++) {
    uint8_t fragment[PFC_PACKET_MAX];
    size_t size;
    if (strcmp(block->fields[i].name, "fragment") != 0) continue;
    REQUIRE(CHECK(parse_bytes(block->fields[i].value, fragment, sizeof fragment, &size)));
    REQUIRE(CHECK(next < packets.count));
    CHECK_NUMBER(packets.sizes[next], size);
    CHECK_BYTES(packets.bytes[next], fragment, size);
    next++;
    CHECK_NUMBER(pfc_reassemble(&reassembler, fragment, size),
                 next == packets.count ? PFC_FRAME_COMPLETE : PFC_FRAME_MORE);
  }
  CHECK_NUMBER(next, packets.count);
  CHECK_NUMBER(reassembler.size, shape.size);
  CHECK_BYTES(reassembler.bytes, message, shape.size);
  memcpy(check, reassembler.bytes + reassembler.size, 2);
  check_field(block, "check", check, 2);
}

/// Saves and loads a payload as record `number` with the block's sequence, and compares the bytes on flash.
static void judge_record(const struct block *block, unsigned number, const uint8_t *payload, size_t size) {
  static struct flash flash;
  struct pfc_storage storage = flash_storage(&flash);
  struct pfc_record record = {.sequence = (uint32_t)block_number(block, "sequence") - 1, .copy = 1};
  uint8_t secret[32], key[32], loaded[PFC_RECORD_PAYLOAD_MAX];
  flash_erase(&flash, 1);
  block_exactly(block, "hardware_secret", secret, 32);
  pfc_record_key(key, secret);
  check_field(block, "record_key", key, 32);
  REQUIRE(CHECK_NUMBER(payload_save(&record, payload, size, &storage, number, key), PFC_OK));
  check_field(block, "bytes", flash.areas[number][0], flash.last_size);
  REQUIRE(CHECK_NUMBER(payload_load(&record, loaded, size, &storage, number, key), PFC_OK));
  CHECK_BYTES(loaded, payload, size);
  CHECK_COUNT(record.sequence, block_number(block, "sequence"));
}

static void judge_global(const struct block *block) {
  uint8_t payload[PFC_LEDGER_GLOBAL_BYTES];
  put64(payload, block_number(block, "next_counter"));
  put64(payload + 8, block_number(block, "epoch"));
  put64(payload + 16, block_number(block, "floor"));
  judge_record(block, 0, payload, sizeof payload);
}

static void judge_slot(const struct block *block) {
  struct pfc_slot slot, decoded;
  uint8_t payload[PFC_SLOT_BYTES], again[PFC_SLOT_BYTES];
  memset(&slot, 0, sizeof slot);
  slot.state = byte_of(block, "state");
  slot.last.verdict = byte_of(block, "last_verdict");
  slot.integrity_classes = (uint16_t)block_number(block, "integrity_classes");
  slot.device_classes = (uint16_t)block_number(block, "device_classes");
  slot.attempts = (uint16_t)block_number(block, "attempts");
  slot.uses = (uint32_t)block_number(block, "uses");
  slot.generation = (uint32_t)block_number(block, "generation");
  slot.revoked = (uint32_t)block_number(block, "revoked_generation");
  slot.not_after = block_number(block, "not_after");
  slot.issued = block_number(block, "issued");
  slot.revoked_at = block_number(block, "revoked_at");
  slot.last.counter = block_number(block, "last_counter");
  block_exactly(block, "instance_id", slot.instance_id, 16);
  block_exactly(block, "token_digest", slot.token_digest, 16);
  block_exactly(block, "last_nonce", slot.last.nonce, PFC_LAST_NONCE_BYTES);
  block_exactly(block, "k_hw", slot.secrets.integrity_key, 16);
  block_exactly(block, "im_hw", slot.secrets.integrity, 32);
  block_exactly(block, "dpk_hw", slot.secrets.device_key, 16);
  block_exactly(block, "dm_hw", slot.secrets.device, 32);
  slot.delegable_classes = (uint16_t)block_number(block, "delegable_classes");
  block_exactly(block, "ratchet", slot.ratchet, PFC_RATCHET_BYTES);
  slot.policy = byte_of(block, "policy");
  slot.copies = byte_of(block, "copies");
  pfc_slot_encode(payload, &slot);
  judge_record(block, (unsigned)block_number(block, "number"), payload, sizeof payload);
  CHECK_NUMBER(pfc_slot_decode(&decoded, payload), PFC_OK);
  pfc_slot_encode(again, &decoded);
  CHECK_BYTES(again, payload, sizeof payload);
}

/// A slot's record of version 1: what a start makes of it.
static void judge_old_slot(const struct block *block) {
  static struct flash flash;
  const struct pfc_storage storage = flash_storage(&flash);
  unsigned number = (unsigned)block_number(block, "number");
  struct pfc_record record;
  uint8_t secret[32], key[32], bytes[PFC_RECORD_BYTES(PFC_SLOT_BYTES)];
  flash_erase(&flash, 1);
  block_exactly(block, "hardware_secret", secret, 32);
  pfc_record_key(key, secret);
  block_exactly(block, "bytes", flash.areas[number][1], PFC_RECORD_BYTES(PFC_RECORD_PAYLOAD_MAX_1));
  REQUIRE(CHECK_NUMBER(pfc_record_load(&record, bytes, PFC_SLOT_BYTES, &storage, number, key), PFC_OK));
  CHECK_COUNT(record.sequence, block_number(block, "sequence"));
  CHECK_NUMBER(record.is_old, 1);
  CHECK_NUMBER(record.has_old, 1);
  pfc_slot_upgrade(bytes + PFC_RECORD_HEAD_BYTES);
  for (unsigned copies = 0; copies < PFC_RECORD_COPIES; copies++) {
    REQUIRE(CHECK_NUMBER(pfc_record_save(&record, bytes, PFC_SLOT_BYTES, &storage, number, key), PFC_OK));
  }
  check_field(block, "renewed", flash.areas[number][record.copy], PFC_RECORD_BYTES(PFC_SLOT_BYTES));
}

// Files ----------------------------------------------------------------------------------------------------------

static void token_file(void) {
  static const struct judge judges[] = {{"token", judge_token_1}, {"token_2", judge_token_2}};
  JUDGE_FILE("token.txt", judges);
}

static void order_file(void) {
  static const struct judge judges[] = {{"order", judge_order}};
  JUDGE_FILE("order.txt", judges);
}

static void message_file(void) {
  static const struct judge judges[] = {{"ask", judge_ask},         {"challenge", judge_challenge},
                                        {"command", judge_command}, {"message_token", judge_message_token},
                                        {"verdict", judge_verdict}, {"message_order", judge_message_order},
                                        {"status", judge_status},   {"recall", judge_message_recall},
                                        {"command_ratchet", judge_command}};
  JUDGE_FILE("message.txt", judges);
}

static void frame_file(void) {
  static const struct judge judges[] = {{"frame", judge_frame}};
  JUDGE_FILE("frame.txt", judges);
}

static void record_file(void) {
  static const struct judge judges[] = {{"global", judge_global}, {"slot", judge_slot}, {"old_slot", judge_old_slot}};
  JUDGE_FILE("record.txt", judges);
}

static const struct test tests[] = {
    TEST("tokens are the second implementation's", token_file),
    TEST("orders are the second implementation's", order_file),
    TEST("messages are the second implementation's", message_file),
    TEST("frames are the second implementation's", frame_file),
    TEST("stored records are the second implementation's", record_file),
};

const struct suite wire_vectors_suite = SUITE("wire vectors", tests);
