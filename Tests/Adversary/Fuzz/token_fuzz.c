// SPDX-License-Identifier: Apache-2.0

/// Tokens: raw bytes, and bodies that the harness signs and seals, so that the fuzzer stands behind the signature.
///
/// Oracles: a second reading of docs/SPEC.md, section 8, gives the same answer; what opens can be created again, byte
/// for byte, from what was opened; a refused token leaves all zeros.

#include <stdlib.h>

#include "fuzz.h"

enum { HEAD = 8, BODY = 168 };

/// How the harness makes the token around the fuzzer's body.
struct making {
  uint8_t header[HEAD];
  uint8_t body[BODY];
  uint8_t ephemeral[PFC_SECRET_KEY_BYTES];
  int safe;             ///< Sealed by suite 2, to hardware with a factory secret
  unsigned signer;      ///< An index into the fixture's issuers
  int recipient_wrong;  ///< The signature names another recipient: a token re-sealed by a thief
  int sealed_wrong;     ///< Sealed to another piece of hardware
  int damaged;          ///< A bit flipped after sealing
};

static void encode_body(uint8_t body[BODY], const struct pfc_token *token, const uint8_t *issuer_id) {
  body[0] = token->mode;
  body[1] = token->form;
  fuzz_put16(body + 2, token->integrity_classes);
  fuzz_put16(body + 4, token->device_classes);
  fuzz_put16(body + 6, token->attempts);
  fuzz_put32(body + 8, token->uses);
  fuzz_put32(body + 12, token->generation);
  fuzz_put64(body + 16, token->not_after);
  fuzz_put64(body + 24, token->issued);
  if (token->version == PFC_TOKEN_VERSION_2) {
    memset(body + 32, 0, PFC_ID_BYTES);
    body[36] = 1;
  } else {
    memcpy(body + 32, token->hardware_id, PFC_ID_BYTES);
  }
  memcpy(body + 48, token->instance_id, PFC_ID_BYTES);
  memcpy(body + 64, issuer_id, PFC_ISSUER_ID_BYTES);
  memcpy(body + 72, token->secrets.integrity_key, PFC_KEY_BYTES);
  memcpy(body + 88, token->secrets.integrity, PFC_MEASUREMENT_BYTES);
  memcpy(body + 120, token->secrets.device_key, PFC_KEY_BYTES);
  memcpy(body + 136, token->secrets.device, PFC_MEASUREMENT_BYTES);
}

static int expected(const struct making *making, const struct pfc_hardware *hardware) {
  const uint8_t *header = making->header, *body = making->body;
  uint16_t integrity = fuzz_get16(body + 2), device = fuzz_get16(body + 4);
  uint32_t generation = fuzz_get32(body + 12);
  uint64_t not_after = fuzz_get64(body + 16), issued = fuzz_get64(body + 24);
  if (memcmp(header, "PT", 2) != 0) return PFC_E_MALFORMED;
  int second = header[2] == 2, factory = hardware->has_factory_secret;
  if (header[2] != 1 && !second) return PFC_E_TOO_NEW;
  if (header[3] != 1 && !(second && factory && header[3] == 2)) return PFC_E_TOO_NEW;
  if (memcmp(header + 4, hardware->id, 4) != 0) return PFC_E_RECIPIENT;
  if (factory && header[3] == 1) return PFC_E_MODE;
  if (factory != making->safe) return PFC_E_RECIPIENT;
  if (making->sealed_wrong || making->damaged) return PFC_E_RECIPIENT;
  if (making->signer >= hardware->issuer_count || making->recipient_wrong) return PFC_E_SIGNATURE;
  if (memcmp(body + 64, fuzz_fixture()->issuer_ids[making->signer], PFC_ISSUER_ID_BYTES) != 0) {
    return PFC_E_SIGNATURE;
  }
  if (!second && memcmp(body + 32, hardware->id, PFC_ID_BYTES) != 0) return PFC_E_RECIPIENT;
  // Bits 0 and 1 are the ratchet's policy, which is not 3; bit 2 permits a channel; bit 3 demands sealed commands;
  // bit 5 says that the token is for a measurement to come.
  int unknown = (body[32] & (PFC_CHANNEL ? 0xD0 : 0xD4)) != 0 || (body[32] & 3) == 3, upcoming = body[32] >> 5 & 1;
  if (second && (unknown || body[33] != 0 || !fuzz_all(body + 40, 8, 0))) return PFC_E_TOO_NEW;
  if (body[0] != hardware->mode) return PFC_E_MODE;
  if (body[1] == PFC_FORM_LITERAL && !hardware->allow_literal) return PFC_E_MODE;
  if (body[1] == PFC_FORM_LITERAL && (factory || (second && upcoming))) return PFC_E_MODE;
  if (body[1] != PFC_FORM_DIVERSIFIED && body[1] != PFC_FORM_LITERAL) return PFC_E_MALFORMED;
  if (integrity == 0 || (device & ~integrity) != 0) return PFC_E_MALFORMED;
  if (fuzz_get16(body + 6) == 0 || fuzz_get32(body + 8) == 0) return PFC_E_MALFORMED;
  if (generation == 0 || generation == UINT32_MAX || issued == 0) return PFC_E_MALFORMED;
  if (second && (fuzz_get16(body + 34) & ~integrity) != 0) return PFC_E_MALFORMED;
  if (second && (fuzz_get32(body + 36) == 0 || fuzz_get32(body + 36) > generation)) return PFC_E_MALFORMED;
  if (not_after != 0 && not_after < issued) return PFC_E_MALFORMED;
  if (fuzz_all(body + 48, 16, 0) || fuzz_all(body + 72, 16, 0) || fuzz_all(body + 88, 32, 0) ||
      fuzz_all(body + 120, 16, 0) || fuzz_all(body + 136, 32, 0)) {
    return PFC_E_MALFORMED;
  }
  return PFC_OK;
}

/// The box of suite 2, from docs/SPEC.md, section 8.
static void make_safe(uint8_t bytes[PFC_TOKEN_BYTES], const uint8_t inside[BODY + PFC_SIGNATURE_BYTES],
                      const struct making *making, const uint8_t *recipient, const struct pfc_hardware *hardware) {
  uint8_t input[64], info[32 + 32 + 16 + HEAD], key[32];
  pfc_public_key(bytes + HEAD, making->ephemeral);
  REQUIRE(pfc_shared_secret(input, making->ephemeral, recipient) == PFC_OK);
  memcpy(input + 32, hardware->factory_secret, PFC_FACTORY_SECRET_BYTES);
  memcpy(info, bytes + HEAD, 32);
  memcpy(info + 32, recipient, 32);
  memcpy(info + 64, hardware->id, 16);
  memcpy(info + 80, bytes, HEAD);
  pfc_derive(key, PFC_LABEL_TOKEN_SEAL, input, sizeof input, info, sizeof info);
  pfc_box(bytes + HEAD + 32, inside, BODY + PFC_SIGNATURE_BYTES, key);
}

static void make(uint8_t bytes[PFC_TOKEN_BYTES], const struct making *making, const struct pfc_hardware *hardware) {
  uint8_t stranger_secret[PFC_SECRET_KEY_BYTES], stranger[PFC_PUBLIC_KEY_BYTES];
  uint8_t transcript[PFC_LABEL_BYTES + PFC_PUBLIC_KEY_BYTES + PFC_ID_BYTES + HEAD + BODY];
  uint8_t *at = transcript;
  uint8_t inside[BODY + PFC_SIGNATURE_BYTES];
  memset(stranger_secret, 0x77, sizeof stranger_secret);
  pfc_public_key(stranger, stranger_secret);
  int second = making->header[2] == 2;
  memcpy(at, second ? PFC_LABEL_TOKEN_SIGN_2 : PFC_LABEL_TOKEN_SIGN, PFC_LABEL_BYTES);
  memcpy(at += PFC_LABEL_BYTES, making->recipient_wrong ? stranger : hardware->public_key, PFC_PUBLIC_KEY_BYTES);
  at += PFC_PUBLIC_KEY_BYTES;
  if (second) memcpy(at, hardware->id, PFC_ID_BYTES);
  if (second) at += PFC_ID_BYTES;
  memcpy(at, making->header, HEAD);
  memcpy(at += HEAD, making->body, BODY);
  at += BODY;
  memcpy(inside, making->body, BODY);
  pfc_sign(inside + BODY, transcript, (size_t)(at - transcript), fuzz_fixture()->signing_keys[making->signer]);
  memcpy(bytes, making->header, HEAD);
  if (making->safe) {
    make_safe(bytes, inside, making, making->sealed_wrong ? stranger : hardware->public_key, hardware);
    return;
  }
  REQUIRE(pfc_seal(bytes + HEAD, inside, sizeof inside, making->sealed_wrong ? stranger : hardware->public_key,
                   making->ephemeral) == PFC_OK);
}

static int open(struct pfc_token *token, const uint8_t *bytes, size_t size, const struct pfc_hardware *hardware) {
  uint8_t *copy = fuzz_copy(bytes, size);
  memset(token, 0xEE, sizeof *token);
  int result = pfc_token_open(token, copy, size, hardware);
  REQUIRE(result == PFC_OK || fuzz_all(token, sizeof *token, 0));
  free(copy);
  return result;
}

static void give_factory_secret(struct pfc_hardware *hardware) {
  memset(hardware->factory_secret, 0x5f, sizeof hardware->factory_secret);
  hardware->has_factory_secret = 1;
}

static void check_made(struct fuzz_input *input, struct pfc_hardware *hardware) {
  const struct fuzz_fixture *fixture = fuzz_fixture();
  struct pfc_token token = fuzz_token(0x49);
  struct making making = {.header = {'P', 'T', 1, 1}};
  uint8_t bytes[PFC_TOKEN_BYTES], again[PFC_TOKEN_BYTES];
  uint8_t how = fuzz_u8(input);
  making.signer = (how & 3u) % FUZZ_ISSUERS;
  making.recipient_wrong = (how & 0x1C) == 0x04;
  making.sealed_wrong = (how & 0x1C) == 0x08;
  hardware->allow_literal = (how & 0x20) != 0;
  hardware->mode = (how & 0x40) != 0 ? PFC_MODE_DEVELOPMENT : PFC_MODE_PRODUCTION;
  // Bit 7: version 2, and then by suite 2, unless a bit of the mode says otherwise.
  token.version = (how & 0x80) != 0 ? PFC_TOKEN_VERSION_2 : PFC_VERSION;
  making.safe = (how & 0xA0) == 0x80;
  if (making.safe) give_factory_secret(hardware);
  making.header[2] = token.version;
  if (making.safe) making.header[3] = PFC_SUITE_FACTORY;
  memcpy(making.header + 4, hardware->id, 4);
  memset(making.ephemeral, 0x65, sizeof making.ephemeral);
  encode_body(making.body, &token, fixture->issuer_ids[making.signer]);
  fuzz_xor(input, making.body, BODY);
  fuzz_xor(input, making.header, HEAD);
  make(bytes, &making, hardware);
  making.damaged = fuzz_flip(input, bytes + HEAD, sizeof bytes - HEAD);

  int result = open(&token, bytes, sizeof bytes, hardware);
  REQUIRE(result == expected(&making, hardware));
  if (result == PFC_OK) {
    REQUIRE(pfc_token_create(again, &token, hardware->public_key,
                             making.safe ? hardware->factory_secret : NULL, fixture->signing_keys[making.signer],
                             making.ephemeral) == PFC_OK);
    REQUIRE(memcmp(again, bytes, sizeof bytes) == 0);
  }
}

/// Any structure on its way out: refused, or it opens on hardware that trusts the signer and is in its mode.
static void check_create(struct fuzz_input *input, struct pfc_hardware *hardware) {
  struct pfc_token token = fuzz_token(0x49), opened;
  uint8_t fields[sizeof token], bytes[PFC_TOKEN_BYTES], ephemeral[PFC_SECRET_KEY_BYTES];
  memcpy(fields, &token, sizeof token);
  fuzz_xor(input, fields, sizeof fields);
  memcpy(&token, fields, sizeof token);
  memset(ephemeral, 0x65, sizeof ephemeral);
  memset(bytes, 0xEE, sizeof bytes);
  const uint8_t *factory = NULL;
  if (token.version == PFC_TOKEN_VERSION_2 && (token.issued & 1) != 0) {
    give_factory_secret(hardware);
    factory = hardware->factory_secret;
  }
  int result =
      pfc_token_create(bytes, &token, hardware->public_key, factory, fuzz_fixture()->signing_keys[0], ephemeral);
  if (result != PFC_OK) {
    REQUIRE(result == PFC_E_ARGUMENT && fuzz_all(bytes, sizeof bytes, 0));
    return;
  }
  memcpy(hardware->id, token.hardware_id, PFC_ID_BYTES);
  hardware->mode = token.mode;
  hardware->allow_literal = 1;
  REQUIRE(open(&opened, bytes, sizeof bytes, hardware) == PFC_OK);
  REQUIRE(opened.uses == token.uses && opened.issued == token.issued && opened.not_after == token.not_after);
  REQUIRE(memcmp(&opened.secrets, &token.secrets, sizeof token.secrets) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input input = {data, size};
  struct pfc_hardware hardware = fuzz_fixture()->hardware;
  struct pfc_token token;
  switch (fuzz_u8(&input) % 3) {
    case 0:
      check_made(&input, &hardware);
      break;
    case 1:
      check_create(&input, &hardware);
      break;
    default:
      REQUIRE(open(&token, input.bytes, input.left, &hardware) != PFC_OK || input.left == PFC_TOKEN_BYTES);
  }
  return 0;
}
