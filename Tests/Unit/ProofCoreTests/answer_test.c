// SPDX-License-Identifier: Apache-2.0

/// Answers to a gate's challenges: proofs, puzzles and birthday problems; also the second implementation's.

#include <stdlib.h>
#include <string.h>

#include "ProofCore.h"
#include "harness.h"
#include "vectors.h"

struct characters {
  char bytes[256];
  size_t size;
};

static void characters_of(const struct block *block, const char *name, struct characters *text) {
  text->size = block_bytes(block, name, (uint8_t *)text->bytes, sizeof text->bytes);
}

static void judge_proof(const struct block *block) {
  uint8_t secret[PFC_GATE_SECRET_BYTES], gate_id[PFC_ID_BYTES], id[PFC_CHALLENGE_ID_BYTES], proof[PFC_PROOF_BYTES];
  struct characters method, scheme, authority, target;
  struct pfc_gate_keys keys;
  struct pfc_http request;
  block_exactly(block, "secret", secret, sizeof secret);
  block_exactly(block, "gate_id", gate_id, sizeof gate_id);
  block_exactly(block, "id", id, sizeof id);
  characters_of(block, "method", &method);
  characters_of(block, "scheme", &scheme);
  characters_of(block, "authority", &authority);
  characters_of(block, "target", &target);
  // Body and authorization do not count.
  memset(&request, 0x5a, sizeof request);
  request.method = method.bytes;
  request.method_size = method.size;
  request.scheme = scheme.bytes;
  request.scheme_size = scheme.size;
  request.authority = authority.bytes;
  request.authority_size = authority.size;
  request.target = target.bytes;
  request.target_size = target.size;
  pfc_gate_keys_make(&keys, secret, 1);
  CHECK_NUMBER(pfc_gate_proof_make(proof, &keys, gate_id, id, &request), PFC_OK);
  check_field(block, "proof", proof, sizeof proof);
  CHECK_NUMBER(pfc_gate_proof_check(proof, &keys, gate_id, id, &request), PFC_OK);
  for (unsigned bit = 0; bit < 8 * sizeof proof; bit++) {
    proof[bit / 8] ^= (uint8_t)(1u << bit % 8);
    CHECK_NUMBER(pfc_gate_proof_check(proof, &keys, gate_id, id, &request), PFC_E_DIFFERS);
    proof[bit / 8] ^= (uint8_t)(1u << bit % 8);
  }
  for (unsigned at = 0; at < sizeof id; at++) {
    id[at] ^= 1;
    CHECK_NUMBER(pfc_gate_proof_check(proof, &keys, gate_id, id, &request), PFC_E_DIFFERS);
    id[at] ^= 1;
  }
  gate_id[15] ^= 1;
  CHECK_NUMBER(pfc_gate_proof_check(proof, &keys, gate_id, id, &request), PFC_E_DIFFERS);
  gate_id[15] ^= 1;
  keys.proof[0] ^= 1;
  CHECK_NUMBER(pfc_gate_proof_check(proof, &keys, gate_id, id, &request), PFC_E_DIFFERS);
  keys.proof[0] ^= 1;
  target.bytes[0] = '#';
  CHECK_NUMBER(pfc_gate_proof_make(proof, &keys, gate_id, id, &request), PFC_E_MALFORMED);
  CHECK(pfc_is_zero(proof, sizeof proof));
  CHECK_NUMBER(pfc_gate_proof_check(proof, &keys, gate_id, id, &request), PFC_E_MALFORMED);
}

static void judge_puzzle(const struct block *block) {
  uint8_t id[PFC_CHALLENGE_ID_BYTES], seed[PFC_PUZZLE_SEED_BYTES], solution[PFC_PUZZLE_SOLUTION_BYTES];
  unsigned level = byte_of(block, "level");
  block_exactly(block, "id", id, sizeof id);
  pfc_puzzle_seed(seed, id);
  check_field(block, "seed", seed, sizeof seed);
  for (uint32_t i = 0; i < PFC_PUZZLES; i++) {
    uint32_t counter = 0, hashes = 0;
    int result;
    // In odd pieces, so that a search begins at every kind of counter.
    do {
      result = pfc_puzzle_search(&counter, &hashes, seed, i, level, 7);
      CHECK(hashes > 0 && hashes <= 7);
    } while (result == PFC_E_DIFFERS);
    CHECK_NUMBER(result, PFC_OK);
    for (unsigned k = 0; k < 4; k++) solution[4 * i + k] = (uint8_t)(counter >> 8 * k);
  }
  check_field(block, "solution", solution, sizeof solution);
}

static void judge_pairing(const struct block *block) {
  uint8_t id[PFC_CHALLENGE_ID_BYTES], solution[PFC_PAIRING_LEVEL_MAX * PFC_PAIRING_SOLUTION_BYTES];
  unsigned level = byte_of(block, "level");
  struct pfc_pairing_room *room = malloc(sizeof *room);
  block_exactly(block, "id", id, sizeof id);
  for (uint8_t index = 0; room != NULL && index < level; index++) {
    uint8_t *one = solution + index * PFC_PAIRING_SOLUTION_BYTES;
    uint16_t attempt = 0;
    while (pfc_pairing_solve(one, room, id, index, attempt) != PFC_OK && attempt < 100) {
      CHECK(pfc_is_zero(one, PFC_PAIRING_SOLUTION_BYTES));
      attempt++;
    }
    CHECK_NUMBER(pfc_pairing_check(one, id, index), PFC_OK);
    CHECK_NUMBER(pfc_pairing_check(one, id, (uint8_t)(index + 1)), PFC_E_DIFFERS);
  }
  if (room != NULL) {
    check_field(block, "solution", solution, level * PFC_PAIRING_SOLUTION_BYTES);
  } else {
    test_note("not solved here: no room of %u KiB", (unsigned)(sizeof *room >> 10));
  }
  free(room);
}

/// The result that the second implementation expects.
static int expected(const struct block *block) {
  return strcmp(block_word(block, "refusal"), "none") == 0 ? PFC_OK : PFC_E_DIFFERS;
}

static void judge_puzzles(const struct block *block) {
  uint8_t id[PFC_CHALLENGE_ID_BYTES], seed[PFC_PUZZLE_SEED_BYTES], solution[128];
  size_t size = block_bytes(block, "solution", solution, sizeof solution);
  block_exactly(block, "id", id, sizeof id);
  pfc_puzzle_seed(seed, id);
  // A text of another length is the caller's to refuse.
  if (size != PFC_PUZZLE_SOLUTION_BYTES) return;
  CHECK_NUMBER(pfc_puzzle_check(solution, seed, byte_of(block, "level")), expected(block));
}

static void judge_pairings(const struct block *block) {
  uint8_t id[PFC_CHALLENGE_ID_BYTES], solution[PFC_PAIRING_LEVEL_MAX * PFC_PAIRING_SOLUTION_BYTES];
  size_t size = block_bytes(block, "solution", solution, sizeof solution);
  unsigned level = byte_of(block, "level");
  int result = PFC_OK;
  block_exactly(block, "id", id, sizeof id);
  if (size != level * PFC_PAIRING_SOLUTION_BYTES) return;
  for (uint8_t index = 0; result == PFC_OK && index < level; index++) {
    result = pfc_pairing_check(solution + index * PFC_PAIRING_SOLUTION_BYTES, id, index);
  }
  CHECK_NUMBER(result, expected(block));
}

static void valid_file(void) {
  static const struct judge judges[] = {
      {"gate_proof", judge_proof}, {"puzzle", judge_puzzle}, {"pairing", judge_pairing}};
  JUDGE_FILE("work.txt", judges);
}

static void hostile_file(void) {
  static const struct judge judges[] = {{"check_puzzles", judge_puzzles}, {"check_pairings", judge_pairings}};
  JUDGE_FILE("hostile_work.txt", judges);
}

static void arguments(void) {
  static const uint8_t seed[PFC_PUZZLE_SEED_BYTES] = {1}, solution[PFC_PUZZLE_SOLUTION_BYTES] = {0};
  uint32_t counter = 0, hashes = 9;
  CHECK_NUMBER(pfc_puzzle_check(solution, seed, 0), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_puzzle_check(solution, seed, PFC_PUZZLE_LEVEL_MAX + 1), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_puzzle_search(&counter, &hashes, seed, 0, 0, 1), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_puzzle_search(&counter, &hashes, seed, 0, PFC_PUZZLE_LEVEL_MAX + 1, 1), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_puzzle_search(&counter, &hashes, seed, PFC_PUZZLES, 1, 1), PFC_E_ARGUMENT);
  CHECK_NUMBER(hashes, 0);
  counter = UINT32_MAX - 4;
  CHECK_NUMBER(pfc_puzzle_search(&counter, &hashes, seed, 0, 24, 4), PFC_E_ARGUMENT);
  CHECK_NUMBER(pfc_puzzle_search(&counter, &hashes, seed, 0, 24, 3), PFC_E_DIFFERS);
  CHECK_NUMBER(counter, UINT32_MAX - 1);
  CHECK_NUMBER(hashes, 3);
  counter = UINT32_MAX;
  CHECK_NUMBER(pfc_puzzle_search(&counter, &hashes, seed, 0, 24, 1), PFC_E_ARGUMENT);
  counter = UINT32_MAX - 1;
  CHECK_NUMBER(pfc_puzzle_search(&counter, &hashes, seed, 0, 24, 0), PFC_E_DIFFERS);
  CHECK_NUMBER(hashes, 0);
}

static const struct test tests[] = {
    TEST("proofs and solutions are the second implementation's", valid_file),
    TEST("hostile solutions are wrong", hostile_file),
    TEST("levels, indices and counters out of range are refused", arguments),
};

const struct suite answer_suite = SUITE("answers to a gate's challenges", tests);
