// SPDX-License-Identifier: Apache-2.0

/// Gate tokens and beacons: raw bytes, and bodies that the harness signs and seals.
///
/// Oracles: a second reading of docs/SPEC.md, section 15, gives the same refusal; what opens can be created again, byte
/// for byte; a refused token leaves all zeros; a beacon that is read is the message's.

#include <stdlib.h>

#include "fuzz.h"

enum { HEAD = 8, BODY = 168 };

#define NOW UINT64_C(1700000000)

/// How the harness makes the token around the fuzzer's body.
struct making {
  uint8_t header[HEAD];
  uint8_t body[BODY];
  unsigned signer;      ///< An index into the fixture's issuers
  int recipient_wrong;  ///< The signature names another recipient
  int label_wrong;      ///< The signature is a lock's
  int sealed_wrong;     ///< Sealed to another key
  int damaged;          ///< A bit flipped after sealing
};

static const uint8_t ephemeral[PFC_SECRET_KEY_BYTES] = "an ephemeral key of one harness";

/// The fixture's hardware as a gate with one key.
static struct pfc_gate gate_of(void) {
  const struct pfc_hardware *hardware = &fuzz_fixture()->hardware;
  struct pfc_gate gate = {.mode = PFC_MODE_PRODUCTION, .key_count = 1, .issuer_count = hardware->issuer_count};
  memcpy(gate.id, hardware->id, PFC_ID_BYTES);
  gate.keys[0].number = 7;
  memcpy(gate.keys[0].public_key, hardware->public_key, 32);
  memcpy(gate.keys[0].secret_key, hardware->secret_key, 32);
  memcpy(gate.issuers, hardware->issuers, sizeof gate.issuers);
  return gate;
}

static void template_of(struct making *making) {
  static const uint8_t head[5] = {'P', 'G', 1, 1, 7};
  uint8_t *body = making->body;
  memcpy(making->header, head, sizeof head);
  memset(making->header + 5, 0x48, 3);
  body[0] = PFC_MODE_PRODUCTION;
  body[1] = 3;
  fuzz_put32(body + 4, 9);
  fuzz_put64(body + 8, NOW);
  fuzz_put64(body + 16, NOW + 3600);
  fuzz_put64(body + 24, NOW - 3600);
  memset(body + 32, 0x48, 16);
  memset(body + 48, 0x49, 16);
  memcpy(body + 64, fuzz_fixture()->issuer_ids[making->signer], 8);
  memset(body + 76, 'A', 10);
  memset(body + 88, 0x53, 32);
  memcpy(body + 120, "\x01\x02\x02\x01", 4);
}

static int arc_is_right(const uint8_t *arc) {
  if (fuzz_all(arc, 10, 0)) return 1;
  for (int i = 0; i < 10; i++) {
    if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", arc[i]) == NULL || arc[i] == 0) return 0;
  }
  return 1;
}

static int findings_are_right(const uint8_t *pairs) {
  int count = 16;
  while (count > 0 && fuzz_all(pairs + 2 * (count - 1), 2, 0)) count--;
  for (int i = 0; i < count; i++) {
    if (pairs[2 * i] < 1 || pairs[2 * i] > 3 || pairs[2 * i + 1] < 1) return 0;
    if (i > 0 && memcmp(pairs + 2 * i - 2, pairs + 2 * i, 2) >= 0) return 0;
  }
  return 1;
}

static enum pfc_refusal expected(const struct making *making, const struct pfc_gate *gate, uint64_t now) {
  const uint8_t *header = making->header, *body = making->body;
  uint32_t generation = fuzz_get32(body + 4);
  uint64_t issued = fuzz_get64(body + 8), not_after = fuzz_get64(body + 16), seen = fuzz_get64(body + 24);
  if (memcmp(header, "PG", 2) != 0) return PFC_REFUSAL_TOKEN_MAGIC;
  if (header[2] != 1 || header[3] != 1) return PFC_REFUSAL_TOKEN_VERSION;
  if (memcmp(header + 5, gate->id, 3) != 0) return PFC_REFUSAL_TOKEN_GATE;
  if (header[4] != 7) return PFC_REFUSAL_TOKEN_KEY;
  if (making->sealed_wrong || making->damaged) return PFC_REFUSAL_TOKEN_SEAL;
  if (memcmp(body + 64, fuzz_fixture()->issuer_ids[0], 8) != 0 &&
      memcmp(body + 64, fuzz_fixture()->issuer_ids[1], 8) != 0) {
    return PFC_REFUSAL_TOKEN_ISSUER;
  }
  if (making->recipient_wrong || making->label_wrong ||
      memcmp(body + 64, fuzz_fixture()->issuer_ids[making->signer], 8) != 0) {
    return PFC_REFUSAL_TOKEN_SIGNATURE;
  }
  if (memcmp(body + 32, gate->id, 16) != 0) return PFC_REFUSAL_TOKEN_GATE;
  if (body[0] != gate->mode) return PFC_REFUSAL_TOKEN_MODE;
  if (body[1] != 3) return PFC_REFUSAL_TOKEN_FORM;
  if (fuzz_get16(body + 2) > 3 || generation == 0 || generation == UINT32_MAX) return PFC_REFUSAL_TOKEN_RANGE;
  if (issued == 0 || not_after < issued || seen == 0 || seen > issued) return PFC_REFUSAL_TOKEN_RANGE;
  if (fuzz_all(body + 48, 16, 0) || !arc_is_right(body + 76) || !fuzz_all(body + 86, 2, 0)) {
    return PFC_REFUSAL_TOKEN_RANGE;
  }
  if (fuzz_all(body + 88, 32, 0) || !findings_are_right(body + 120)) return PFC_REFUSAL_TOKEN_RANGE;
  if (not_after - issued > 86400) return PFC_REFUSAL_TOKEN_LIFE;
  if (issued > now && issued - now > 300) return PFC_REFUSAL_TOKEN_AHEAD;
  if (now > not_after) return PFC_REFUSAL_TOKEN_EXPIRED;
  return issued < gate->floor ? PFC_REFUSAL_TOKEN_SUPERSEDED : PFC_REFUSAL_NONE;
}

static void make(uint8_t bytes[PFC_GATE_TOKEN_BYTES], const struct making *making, const struct pfc_gate *gate) {
  uint8_t stranger_secret[PFC_SECRET_KEY_BYTES], stranger[PFC_PUBLIC_KEY_BYTES];
  uint8_t transcript[PFC_LABEL_BYTES + PFC_PUBLIC_KEY_BYTES + HEAD + BODY];
  uint8_t inside[BODY + PFC_SIGNATURE_BYTES];
  const uint8_t *own = gate->keys[0].public_key;
  memset(stranger_secret, 0x77, sizeof stranger_secret);
  pfc_public_key(stranger, stranger_secret);
  memcpy(transcript, making->label_wrong ? PFC_LABEL_TOKEN_SIGN : PFC_LABEL_GATE_SIGN, PFC_LABEL_BYTES);
  memcpy(transcript + 16, making->recipient_wrong ? stranger : own, PFC_PUBLIC_KEY_BYTES);
  memcpy(transcript + 48, making->header, HEAD);
  memcpy(transcript + 56, making->body, BODY);
  memcpy(inside, making->body, BODY);
  pfc_sign(inside + BODY, transcript, sizeof transcript, fuzz_fixture()->signing_keys[making->signer]);
  memcpy(bytes, making->header, HEAD);
  REQUIRE(pfc_seal(bytes + HEAD, inside, sizeof inside, making->sealed_wrong ? stranger : own, ephemeral) == PFC_OK);
}

static enum pfc_refusal open(struct pfc_gate_token *token, const uint8_t *bytes, size_t size,
                             const struct pfc_gate *gate, uint64_t now) {
  uint8_t *copy = fuzz_copy(bytes, size);
  memset(token, 0xEE, sizeof *token);
  enum pfc_refusal refusal = pfc_gate_token_open(token, copy, size, gate, now);
  REQUIRE(refusal == PFC_REFUSAL_NONE || fuzz_all(token, sizeof *token, 0));
  REQUIRE((pfc_refusal_class(refusal) == PFC_TELL_PASS) == (refusal == PFC_REFUSAL_NONE));
  free(copy);
  return refusal;
}

static void check_made(struct fuzz_input *input, struct pfc_gate *gate) {
  struct pfc_gate_token token;
  struct making making = {.header = {0}};
  uint8_t bytes[PFC_GATE_TOKEN_BYTES], again[PFC_GATE_TOKEN_BYTES];
  uint8_t how = fuzz_u8(input);
  uint64_t now = NOW + (uint64_t)(int64_t)(int32_t)fuzz_u32(input);
  making.signer = (how & 3u) % FUZZ_ISSUERS;
  making.recipient_wrong = (how & 0x1C) == 0x04;
  making.sealed_wrong = (how & 0x1C) == 0x08;
  making.label_wrong = (how & 0x1C) == 0x0C;
  gate->floor = (how & 0x20) != 0 ? NOW + 1 : 0;
  gate->mode = (how & 0x40) != 0 ? PFC_MODE_DEVELOPMENT : PFC_MODE_PRODUCTION;
  template_of(&making);
  fuzz_xor(input, making.body, BODY);
  fuzz_xor(input, making.header, HEAD);
  make(bytes, &making, gate);
  making.damaged = fuzz_flip(input, bytes + HEAD, sizeof bytes - HEAD);
  enum pfc_refusal refusal = open(&token, bytes, sizeof bytes, gate, now);
  REQUIRE(refusal == expected(&making, gate, now));
  if (refusal != PFC_REFUSAL_NONE) return;
  REQUIRE(pfc_gate_token_create(again, &token, token.key_number, gate->keys[0].public_key,
                                fuzz_fixture()->signing_keys[making.signer], ephemeral) == PFC_OK);
  REQUIRE(memcmp(again, bytes, sizeof bytes) == 0);
}

/// Any structure on its way out: refused, or it opens at the moment of its issue.
static void check_create(struct fuzz_input *input, struct pfc_gate *gate) {
  struct pfc_gate_token token = {.mode = 1, .generation = 1, .issued = NOW, .not_after = NOW, .first_seen = NOW};
  struct pfc_gate_token opened;
  uint8_t fields[sizeof token], bytes[PFC_GATE_TOKEN_BYTES];
  token.instance_id[0] = token.secret[0] = 1;
  memcpy(fields, &token, sizeof token);
  fuzz_xor(input, fields, sizeof fields);
  memcpy(&token, fields, sizeof token);
  memset(bytes, 0xEE, sizeof bytes);
  int result = pfc_gate_token_create(bytes, &token, 7, gate->keys[0].public_key, fuzz_fixture()->signing_keys[0],
                                     ephemeral);
  if (result != PFC_OK) {
    REQUIRE(result == PFC_E_ARGUMENT && fuzz_all(bytes, sizeof bytes, 0));
    return;
  }
  memcpy(gate->id, token.gate_id, PFC_ID_BYTES);
  gate->mode = token.mode;
  REQUIRE(open(&opened, bytes, sizeof bytes, gate, token.issued) == PFC_REFUSAL_NONE);
  REQUIRE(memcmp(opened.secret, token.secret, sizeof token.secret) == 0 && opened.flags == token.flags);
  REQUIRE(memcmp(opened.findings, token.findings, sizeof token.findings) == 0);
}

static void check_beacon(struct fuzz_input *input) {
  uint8_t beacon[PFC_BEACON_BYTES];
  uint32_t interval;
  uint8_t *message = fuzz_copy(input->bytes, input->left);
  int result = pfc_beacon_read(beacon, &interval, message, input->left);
  int right = input->left == 9 && message[0] == 0x14 && !fuzz_all(message + 5, 4, 0);
  REQUIRE((result == PFC_OK) == right);
  if (right) {
    REQUIRE(interval == fuzz_get32(message + 1) && memcmp(beacon, message + 5, 4) == 0);
  } else {
    REQUIRE(interval == 0 && fuzz_all(beacon, sizeof beacon, 0));
  }
  free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct pfc_gate gate = gate_of();
  struct pfc_gate_token token;
  switch (fuzz_u8(&input) % 4) {
    case 0:
      check_made(&input, &gate);
      break;
    case 1:
      check_create(&input, &gate);
      break;
    case 2:
      check_beacon(&input);
      break;
    default:
      REQUIRE(open(&token, input.bytes, input.left, &gate, NOW) != PFC_REFUSAL_NONE || input.left == 288);
  }
  return 0;
}
