// SPDX-License-Identifier: Apache-2.0

/// The puzzle of a challenge of kind work (b): a generalised birthday problem (Wagner), which needs memory to solve and
/// none to check.
///
///     key    = SHA256("pfc1.pairing...." || challenge id || u8(index of the puzzle) || u16(attempt))
///     leaf n = bytes 16 n to 16 n + 15 of the ChaCha20 key stream (RFC 8439) under key, nonce 0, counter from 0
///
/// A leaf is four little-endian words w0 to w3. Its digits of 18 bits are the low bits of w0, w1, w2, w3, and the fifth
/// the upper 14 bits of w0 below bits 18 to 21 of w1. A solution names 16 of 2^19 leaves, as the leaves of a binary
/// tree: the exclusive or of 2 neighbours has a first digit of 0, of 4 a second one, of 8 a third one, of 16 a fourth
/// and a fifth one. All 16 differ, and in each pair of subtrees the left one's first leaf has the lower number. All
/// texts are public, so nothing here runs in constant time.

#ifndef PFC_PAIRING_H
#define PFC_PAIRING_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Pairs that a solver keeps of each round; the expected number is PFC_PAIRING_LEAVES.
#define PFC_PAIRING_ROOM (PFC_PAIRING_LEAVES + (PFC_PAIRING_LEAVES >> 5))

/// The room of a solver: 32 MiB, which the caller owns. What it holds afterwards is of no use.
struct pfc_pairing_room {
  uint32_t words[2][PFC_PAIRING_ROOM][4];
  uint32_t pairs[PFC_PAIRING_ROUNDS - 1][PFC_PAIRING_ROOM][2];
  uint32_t ends[1u << PFC_PAIRING_DIGIT_BITS];
  uint32_t order[PFC_PAIRING_ROOM];
};

/// The key of the leaves of one attempt at one puzzle.
void pfc_pairing_key(uint8_t key[32], const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES], uint8_t index,
                     uint16_t attempt);

/// Makes one attempt, which has a solution in about 6 of 7 cases. PFC_OK: `solution` has the attempt's number and the
/// leaves. PFC_E_DIFFERS: this attempt has none; make the next one.
PFC_MUST_USE int pfc_pairing_solve(uint8_t solution[PFC_PAIRING_SOLUTION_BYTES], struct pfc_pairing_room *room,
                                   const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES], uint8_t index,
                                   uint16_t attempt);

/// Checks the solution of one puzzle. PFC_E_DIFFERS for another one.
PFC_MUST_USE int pfc_pairing_check(const uint8_t solution[PFC_PAIRING_SOLUTION_BYTES],
                                   const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES], uint8_t index);

#ifdef __cplusplus
}
#endif

#endif
