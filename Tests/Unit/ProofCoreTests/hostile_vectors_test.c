// SPDX-License-Identifier: Apache-2.0

/// The second implementation's hostile cases: what must be refused, and for which reason, with a few that must not.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "vectors.h"

/// The core's result for a refusal's word.
static int result_of(const char *refusal) {
  static const struct {
    const char *word;
    int result;
  } words[] = {
      {"none", PFC_OK},
      {"foreign", PFC_E_FOREIGN},
      {"damaged", PFC_E_DAMAGED},
      {"too-new", PFC_E_TOO_NEW},
      {"malformed", PFC_E_MALFORMED},
      {"not-for-me", PFC_E_RECIPIENT},
      {"not-signed", PFC_E_SIGNATURE},
      {"wrong-mode", PFC_E_MODE},
      {"not-asked", PFC_E_SOURCE},
      {"missing", PFC_E_SOURCE},
      {"disordered", PFC_E_ORDER},
      {"differs", PFC_E_DIFFERS},
  };
  for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcmp(words[i].word, refusal) == 0) return words[i].result;
  }
  CHECK_NUMBER(0, 1);
  return 0;
}

static int expected_of(const struct block *block) {
  int expected = result_of(block_word(block, "refusal"));
  CHECK_NUMBER(strcmp(block_word(block, "result"), "valid") == 0, expected == PFC_OK);
  return expected;
}

static void judge_read_config(const struct block *block) {
  static uint8_t bytes[4096];
  size_t size = block_bytes(block, "config", bytes, sizeof bytes);
  struct pfc_config config;
  memset(&config, 0xa5, sizeof config);
  CHECK_NUMBER(pfc_config_decode(&config, bytes, size), expected_of(block));
  if (expected_of(block) != PFC_OK) CHECK_ZEROS(&config, sizeof config);
}

static void judge_measure(const struct block *block) {
  uint8_t mpk[16], bytes[PFC_CONFIG_BYTES_MAX];
  size_t size = block_bytes(block, "config", bytes, sizeof bytes);
  struct pfc_key key = key_of(block, mpk, PFC_MODE_PRODUCTION);
  struct pfc_measurement fold;
  struct pfc_measured measured;
  int result = pfc_measurement_init(&fold, bytes, size, &key, 0);
  REQUIRE(CHECK_NUMBER(result, PFC_OK));
  result = add_records(&fold, block);
  if (result == PFC_OK) result = pfc_measurement_final(&measured, &fold);
  CHECK_NUMBER(result, expected_of(block));
}

static void hardware_of(const struct block *block, struct pfc_hardware *hardware) {
  memset(hardware, 0, sizeof *hardware);
  block_exactly(block, "hardware_id", hardware->id, 16);
  hardware->mode = PFC_MODE_PRODUCTION;
  for (size_t i = 0; i < block->count; i++) {
    size_t size;
    if (strcmp(block->fields[i].name, "issuer") != 0) continue;
    REQUIRE(CHECK(hardware->issuer_count < PFC_ISSUERS_MAX));
    CHECK(parse_bytes(block->fields[i].value, hardware->issuers[hardware->issuer_count++].public_key, 32, &size));
  }
}

static void judge_open_token(const struct block *block) {
  static uint8_t bytes[1024];
  size_t size = block_bytes(block, "token", bytes, sizeof bytes);
  struct pfc_hardware hardware;
  struct pfc_token token;
  hardware_of(block, &hardware);
  block_exactly(block, "hardware_secret", hardware.secret_key, 32);
  pfc_public_key(hardware.public_key, hardware.secret_key);
  hardware.mode = (uint8_t)block_number(block, "mode");
  hardware.allow_literal = (uint8_t)block_number(block, "literal");
  take_factory_secret(block, &hardware);
  memset(&token, 0xa5, sizeof token);
  CHECK_NUMBER(pfc_token_open(&token, bytes, size, &hardware), expected_of(block));
  if (expected_of(block) != PFC_OK) CHECK_ZEROS(&token, sizeof token);
}

static void judge_open_order(const struct block *block) {
  static uint8_t bytes[1024];
  size_t size = block_bytes(block, "order", bytes, sizeof bytes);
  struct pfc_hardware hardware;
  struct pfc_order order;
  hardware_of(block, &hardware);
  memset(&order, 0xa5, sizeof order);
  CHECK_NUMBER(pfc_order_open(&order, bytes, size, &hardware), expected_of(block));
  if (expected_of(block) != PFC_OK) CHECK_ZEROS(&order, sizeof order);
}

/// Proofs, receipts and recalls of another length have no place in a message or a prototype.
static bool has_no_place(const struct block *block) { return strcmp(block_word(block, "refusal"), "length") == 0; }

/// Checks a proof over the nonce of the block's command, or over its escort.
static void check_proof(const struct block *block, bool escort) {
  uint8_t key[16], measurement[32], hardware[16], command[PFC_COMMAND_MAX], nonce[16], proof[32], integrity[32];
  struct pfc_challenge challenge;
  struct pfc_proof_key expanded;
  size_t size = block_bytes(block, "command", command, sizeof command);
  block_exactly(block, "key", key, 16);
  block_exactly(block, "measurement", measurement, 32);
  block_exactly(block, "hardware_id", hardware, 16);
  block_exactly(block, "challenge", challenge.bytes, 32);
  challenge.counter = block_number(block, "counter");
  block_exactly(block, "proof", proof, 32);
  REQUIRE(CHECK_NUMBER(pfc_nonce_derive(nonce, hardware, &challenge, (uint8_t)block_number(block, "kind"),
                                        (uint8_t)block_number(block, "class"), command, size),
                       PFC_OK));
  if (escort) {
    block_exactly(block, "integrity_proof", integrity, 32);
    pfc_nonce_escort(nonce, nonce, integrity);
  }
  pfc_proof_key_init(&expanded, key);
  CHECK_NUMBER(pfc_proof_check(proof, &expanded, nonce, measurement), expected_of(block));
}

static void judge_check_proof(const struct block *block) {
  if (!has_no_place(block)) check_proof(block, false);
}

static void judge_check_escort(const struct block *block) {
  if (!has_no_place(block)) check_proof(block, true);
}

static void judge_check_receipt(const struct block *block) {
  uint8_t dpk[16], nonce[16], receipt[32];
  if (has_no_place(block)) return;
  block_exactly(block, "dpk_hw", dpk, 16);
  block_exactly(block, "nonce", nonce, 16);
  block_exactly(block, "receipt", receipt, 32);
  CHECK_NUMBER(pfc_receipt_check(receipt, dpk, nonce, (uint8_t)block_number(block, "verdict"),
                                 (uint16_t)block_number(block, "detail"), block_number(block, "counter")),
               expected_of(block));
}

static void judge_check_recall(const struct block *block) {
  uint8_t dpk[16], message[PFC_RECALL_BYTES];
  if (has_no_place(block)) return;
  block_exactly(block, "dpk_hw", dpk, 16);
  block_exactly(block, "message", message, sizeof message);
  CHECK_NUMBER(pfc_recall_check(message, dpk), expected_of(block));
}

/// The result of the reader of this message type.
static int parses(uint8_t type, const uint8_t *message, size_t size) {
  struct pfc_challenge challenge;
  struct pfc_command command;
  struct pfc_answer answer;
  struct pfc_recall recall;
  struct pfc_status status;
  if (!pfc_message_fits(type, size)) return PFC_E_MALFORMED;
  switch (type) {
    // The verifier reads it itself; its answers are in verifier.txt.
    case PFC_MESSAGE_ASK:
      return message[0] == PFC_ASK_CHALLENGE || message[0] == PFC_ASK_STATUS ? PFC_OK : PFC_E_TOO_NEW;
    case PFC_MESSAGE_CHALLENGE: return pfc_challenge_decode(&challenge, message, size);
    case PFC_MESSAGE_COMMAND: return pfc_command_decode(&command, message, size);
    case PFC_MESSAGE_VERDICT: return pfc_answer_decode(&answer, message, size);
    case PFC_MESSAGE_RECALL: return pfc_recall_decode(&recall, message, size);
    case PFC_MESSAGE_STATUS: return pfc_status_decode(&status, message, size);
    default: return PFC_OK;  // Tokens and orders are opened, which is other files' business.
  }
}

static void judge_parse_message(const struct block *block) {
  static uint8_t message[2048];
  size_t size = block_bytes(block, "message", message, sizeof message);
  CHECK_NUMBER(parses((uint8_t)block_number(block, "type"), message, size), expected_of(block));
}

static int frame_result_of(const char *word) {
  static const char *const words[] = {"more", "complete", "repeated", "garbage", "lost"};
  static const int results[] = {PFC_FRAME_MORE, PFC_FRAME_COMPLETE, PFC_FRAME_REPEATED, PFC_FRAME_GARBAGE,
                                PFC_FRAME_LOST};
  for (unsigned i = 0; i < 5; i++) {
    if (strcmp(words[i], word) == 0) return results[i];
  }
  CHECK_NUMBER(0, 1);
  return 99;
}

static void judge_reassemble(const struct block *block) {
  struct pfc_reassembler reassembler;
  static uint8_t bytes[2048];
  size_t size = 0;
  enum pfc_frame_result result = PFC_FRAME_GARBAGE;
  pfc_reassemble_init(&reassembler);
  for (size_t i = 0; i < block->count; i++) {
    const char *name = block->fields[i].name, *value = block->fields[i].value;
    uint64_t number;
    if (strcmp(name, "packet") == 0) {
      REQUIRE(CHECK(parse_bytes(value, bytes, sizeof bytes, &size)));
      result = pfc_reassemble(&reassembler, bytes, size);
    } else if (strcmp(name, "outcome") == 0) {
      CHECK_NUMBER(result, frame_result_of(value));
    } else if (strcmp(name, "type") == 0) {
      CHECK(parse_number(value, &number));
      CHECK_NUMBER(reassembler.type, number);
    } else if (strcmp(name, "message") == 0) {
      REQUIRE(CHECK(parse_bytes(value, bytes, sizeof bytes, &size)));
      CHECK_NUMBER(reassembler.size, size);
      CHECK_BYTES(reassembler.bytes, bytes, size);
    }
  }
}

static void config_file(void) {
  static const struct judge judges[] = {{"read_config", judge_read_config}};
  JUDGE_FILE("hostile_config.txt", judges);
}

static void measurement_file(void) {
  static const struct judge judges[] = {{"measure", judge_measure}};
  JUDGE_FILE("hostile_measurement.txt", judges);
}

static void token_file(void) {
  static const struct judge judges[] = {{"open_token", judge_open_token}};
  JUDGE_FILE("hostile_token.txt", judges);
}

static void order_file(void) {
  static const struct judge judges[] = {{"open_order", judge_open_order}};
  JUDGE_FILE("hostile_order.txt", judges);
}

static void proof_file(void) {
  static const struct judge judges[] = {{"check_proof", judge_check_proof},
                                        {"check_escort", judge_check_escort},
                                        {"check_receipt", judge_check_receipt},
                                        {"check_recall", judge_check_recall}};
  JUDGE_FILE("hostile_proof.txt", judges);
}

static void message_file(void) {
  static const struct judge judges[] = {{"parse_message", judge_parse_message}};
  JUDGE_FILE("hostile_message.txt", judges);
}

static void frame_file(void) {
  static const struct judge judges[] = {{"reassemble", judge_reassemble}};
  JUDGE_FILE("hostile_frame.txt", judges);
}

static const struct test tests[] = {
    TEST("hostile configurations are refused for the right reason", config_file),
    TEST("hostile evidence is refused for the right reason", measurement_file),
    TEST("hostile tokens are refused for the right reason", token_file),
    TEST("hostile orders are refused for the right reason", order_file),
    TEST("hostile proofs, receipts and recalls are refused", proof_file),
    TEST("hostile messages are refused", message_file),
    TEST("hostile packets have the right outcome, one by one", frame_file),
};

const struct suite hostile_vectors_suite = SUITE("hostile vectors", tests);
