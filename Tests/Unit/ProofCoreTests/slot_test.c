// SPDX-License-Identifier: Apache-2.0

/// A slot's bytes in storage, and what revocations, floors and tokens leave in it.

#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "world.h"

static struct pfc_slot slot_make(uint64_t seed) {
  struct dice dice = {seed};
  struct pfc_slot slot;
  memset(&slot, 0, sizeof slot);
  slot.state = PFC_SLOT_HELD;
  slot.integrity_classes = (uint16_t)dice_roll(&dice);
  slot.device_classes = (uint16_t)dice_roll(&dice);
  slot.delegable_classes = (uint16_t)dice_roll(&dice);
  slot.attempts = (uint16_t)dice_roll(&dice);
  slot.uses = (uint32_t)dice_roll(&dice);
  slot.generation = 1 + (uint32_t)dice_below(&dice, 1000);
  slot.not_after = dice_roll(&dice);
  slot.issued = dice_roll(&dice);
  slot.last.verdict = (uint8_t)dice_roll(&dice);
  slot.last.counter = dice_roll(&dice);
  dice_fill(&dice, slot.instance_id, sizeof slot.instance_id);
  dice_fill(&dice, slot.token_digest, sizeof slot.token_digest);
  dice_fill(&dice, slot.last.nonce, sizeof slot.last.nonce);
  dice_fill(&dice, &slot.secrets, sizeof slot.secrets);
  dice_fill(&dice, slot.ratchet, sizeof slot.ratchet);
  slot.policy = PFC_RATCHET_REPORT;
  slot.copies = 9;
  return slot;
}

#if PFC_OPENS_TOKENS && PFC_RATCHETS
/// Attempts and uses are the lesser ones; a ratchet and its copies go on where both generations have a ratchet.
static void a_candidate_inherits(void) {
  static const uint8_t policies[] = {0, 1, 2};
  for (unsigned i = 0; i < 9; i++) {
    struct pfc_slot slot = slot_make(30), candidate = slot_make(31), before;
    const bool has_both = policies[i / 3] != 0 && policies[i % 3] != 0;
    test_case("policies %u and %u", policies[i / 3], policies[i % 3]);
    slot.policy = policies[i / 3];
    candidate.policy = policies[i % 3];
    slot.revoked = 77, slot.revoked_at = 78, slot.copies = 3;
    slot.attempts = (uint16_t)(i < 4 ? 5 : 7), candidate.attempts = 6;
    slot.uses = i < 4 ? 70 : 50, candidate.uses = 60;
    before = candidate;
    pfc_slot_inherit(&candidate, &slot);
    CHECK_NUMBER(candidate.attempts, i < 4 ? 5 : 6);
    CHECK_NUMBER(candidate.uses, i < 4 ? 60 : 50);
    CHECK_NUMBER(candidate.revoked, 77);
    CHECK_COUNT(candidate.revoked_at, 78);
    CHECK_NUMBER(candidate.copies, has_both ? 3 : before.copies);
    CHECK_BYTES(candidate.ratchet, has_both ? slot.ratchet : before.ratchet, 16);
  }
}
#endif

static void every_field_has_its_offset(void) {
  struct pfc_slot slot = slot_make(1), decoded;
  uint8_t bytes[PFC_SLOT_BYTES], again[PFC_SLOT_BYTES];
  slot.revoked = 77;
  slot.revoked_at = UINT64_C(0x0102030405060708);
  pfc_slot_encode(bytes, &slot);
  CHECK_NUMBER(bytes[0], slot.state);
  CHECK_NUMBER(bytes[1], slot.last.verdict);
  CHECK_NUMBER(bytes[2] + 256 * bytes[3], slot.integrity_classes);
  CHECK_NUMBER(bytes[4] + 256 * bytes[5], slot.device_classes);
  CHECK_NUMBER(bytes[6] + 256 * bytes[7], slot.attempts);
  CHECK_NUMBER(get32(bytes + 8), slot.uses);
  CHECK_NUMBER(get32(bytes + 12), slot.generation);
  CHECK_NUMBER(get32(bytes + 16), slot.revoked);
  CHECK_COUNT(get64(bytes + 20), slot.not_after);
  CHECK_COUNT(get64(bytes + 28), slot.issued);
  CHECK_COUNT(get64(bytes + 36), slot.revoked_at);
  CHECK_COUNT(get64(bytes + 44), slot.last.counter);
  CHECK_BYTES(bytes + 52, slot.instance_id, 16);
  CHECK_BYTES(bytes + 68, slot.token_digest, 16);
  CHECK_BYTES(bytes + 84, slot.last.nonce, 8);
  CHECK_BYTES(bytes + 92, &slot.secrets, 96);
  CHECK_BYTES(bytes + 188, slot.ratchet, 16);
  CHECK_NUMBER(bytes[204], slot.policy);
  CHECK_NUMBER(bytes[205], slot.copies);
  CHECK_NUMBER(bytes[206] + 256 * bytes[207], slot.delegable_classes);
  memset(&decoded, 0xa5, sizeof decoded);
  CHECK_NUMBER(pfc_slot_decode(&decoded, bytes), PFC_OK);
  pfc_slot_encode(again, &decoded);
  CHECK_BYTES(again, bytes, sizeof bytes);
}

static void unknown_states_are_damage(void) {
  struct pfc_slot slot = slot_make(2), decoded;
  uint8_t bytes[PFC_SLOT_BYTES];
  pfc_slot_encode(bytes, &slot);
  for (unsigned state = 0; state < 256; state++) {
    test_case("state %u", state);
    bytes[0] = (uint8_t)state;
    memset(&decoded, 0xa5, sizeof decoded);
    CHECK_NUMBER(pfc_slot_decode(&decoded, bytes), state <= PFC_SLOT_REVOKED ? PFC_OK : PFC_E_DAMAGED);
    if (state > PFC_SLOT_REVOKED) CHECK_ZEROS(&decoded, sizeof decoded);
  }
}

static void unknown_states_stop_the_start(void) {
  static struct world world;
  struct pfc_slot slot = slot_make(3);
  uint8_t bytes[PFC_SLOT_BYTES];
  world_make(&world, 4);
  pfc_slot_encode(bytes, &slot);
  bytes[0] = 3;
  REQUIRE(CHECK_NUMBER(payload_save(&world.verifier.ledger.records[2], bytes, sizeof bytes, &world.platform.storage,
                                       3, world.verifier.ledger.record_key),
                       PFC_OK));
  CHECK_NUMBER(world_restart(&world), PFC_E_DAMAGED);
}

static void revoking_takes_the_secrets(void) {
  static const uint8_t zeros[96];
  for (unsigned newer = 0; newer < 2; newer++) {
    struct pfc_slot slot = slot_make(5), before = slot;
    test_case("a generation %s", newer != 0 ? "newer than the revoked" : "that is revoked");
    slot.issued = before.issued = 1000;
    pfc_slot_revoke(&slot, slot.generation - newer, 2000);
    CHECK_NUMBER(slot.revoked, before.generation - newer);
    CHECK_NUMBER(slot.generation, before.generation);
    CHECK_BYTES(slot.instance_id, before.instance_id, 16);
    CHECK_COUNT(slot.issued, 1000);
    CHECK_COUNT(slot.revoked_at, 2000);
    if (newer != 0) {
      CHECK_NUMBER(slot.state, PFC_SLOT_HELD);
      CHECK_BYTES(&slot.secrets, &before.secrets, sizeof slot.secrets);
    } else {
      CHECK_NUMBER(slot.state, PFC_SLOT_REVOKED);
      CHECK_BYTES(&slot.secrets, zeros, sizeof slot.secrets);
      CHECK_BYTES(slot.token_digest, zeros, sizeof slot.token_digest);
      pfc_slot_revoke(&slot, 1, 1500);
      CHECK_NUMBER(slot.revoked, before.generation);
      CHECK_COUNT(slot.revoked_at, 2000);
    }
  }
}

static void floors_leave_what_lies_above_them(void) {
  static const struct {
    uint8_t state;
    uint64_t issued, revoked_at;
    int changed;
    uint8_t left;
  } cases[] = {
      {PFC_SLOT_FREE, 0, 0, 0, PFC_SLOT_FREE},           {PFC_SLOT_HELD, 100, 0, 0, PFC_SLOT_HELD},
      {PFC_SLOT_HELD, 99, 0, 1, PFC_SLOT_FREE},          {PFC_SLOT_HELD, 99, 99, 1, PFC_SLOT_FREE},
      {PFC_SLOT_HELD, 99, 100, 1, PFC_SLOT_REVOKED},     {PFC_SLOT_HELD, 100, 99, 0, PFC_SLOT_HELD},
      {PFC_SLOT_REVOKED, 99, 99, 1, PFC_SLOT_FREE},      {PFC_SLOT_REVOKED, 0, 100, 0, PFC_SLOT_REVOKED},
      {PFC_SLOT_REVOKED, 100, 99, 0, PFC_SLOT_REVOKED},  {PFC_SLOT_REVOKED, 100, 100, 0, PFC_SLOT_REVOKED},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct pfc_slot slot = slot_make(7), before;
    test_case("%u", i + 1);
    if (cases[i].state == PFC_SLOT_FREE) memset(&slot, 0, sizeof slot);
    slot.state = cases[i].state;
    slot.issued = cases[i].issued;
    slot.revoked_at = cases[i].revoked_at;
    before = slot;
    CHECK_NUMBER(pfc_slot_supersede(&slot, 100), cases[i].changed);
    CHECK_NUMBER(slot.state, cases[i].left);
    if (cases[i].changed == 0) CHECK_BYTES(&slot, &before, sizeof slot);
    if (cases[i].left == PFC_SLOT_FREE) CHECK_ZEROS(&slot, sizeof slot);
    if (cases[i].changed != 0 && cases[i].left == PFC_SLOT_REVOKED) {
      CHECK_ZEROS(&slot.secrets, sizeof slot.secrets);
      CHECK_ZEROS(slot.token_digest, sizeof slot.token_digest);
      CHECK_ZEROS(slot.ratchet, sizeof slot.ratchet);
      CHECK_BYTES(slot.instance_id, before.instance_id, 16);
      CHECK_COUNT(slot.revoked_at, 100);
      CHECK_NUMBER(slot.generation, before.generation);
    }
  }
}

static void tokens_leave_what_the_instance_remembers(void) {
  struct pfc_slot slot = slot_make(6), before;
  struct pfc_token token;
  uint8_t digest[PFC_TOKEN_DIGEST_BYTES] = {6};
  slot.revoked = 3;
  slot.revoked_at = 500;
  before = slot;
  memset(&token, 0, sizeof token);
  token.generation = 9;
  token.uses = 4;
  pfc_slot_fill(&slot, &token, digest);
  CHECK_NUMBER(slot.state, PFC_SLOT_HELD);
  CHECK_NUMBER(slot.generation, 9);
  CHECK_NUMBER(slot.uses, 4);
  CHECK_BYTES(slot.token_digest, digest, sizeof digest);
  CHECK_NUMBER(slot.revoked, 3);
  CHECK_COUNT(slot.revoked_at, 500);
  CHECK_NUMBER(slot.last.verdict, before.last.verdict);
  CHECK_COUNT(slot.last.counter, before.last.counter);
  CHECK_BYTES(slot.last.nonce, before.last.nonce, sizeof slot.last.nonce);
}

static const struct test tests[] = {
#if PFC_OPENS_TOKENS && PFC_RATCHETS
    TEST("a newer generation inherits what is spent, and a ratchet from a ratchet alone", a_candidate_inherits),
#endif
    TEST("every field stands at its offset", every_field_has_its_offset),
    TEST("an unknown state is damage", unknown_states_are_damage),
    TEST("an unknown state stops the start, though its record is intact", unknown_states_stop_the_start),
    TEST("revoking takes the secrets, or spares a newer generation", revoking_takes_the_secrets),
    TEST("a floor leaves what lies above it: the token, or the revocation alone", floors_leave_what_lies_above_them),
    TEST("a new token leaves what its instance remembers", tokens_leave_what_the_instance_remembers),
};

const struct suite slot_suite = SUITE("slot", tests);
