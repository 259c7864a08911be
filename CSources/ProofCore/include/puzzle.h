// SPDX-License-Identifier: Apache-2.0

/// The puzzles of a challenge of kind work (a): 16 independent searches for a SHA-256 that begins with zeros.
///
///     seed = SHA256("pfc1.puzzle-seed" || challenge id)[0..28)
///     h    = SHA256("pfc1.puzzle....." || seed || u32(index) || u32(counter))
///
/// Counter solves puzzle `index` if h begins with `level` zero bits, from the upper bit of its first byte. All texts
/// are public, so nothing here runs in constant time. A hash takes one compression.

#ifndef PFC_PUZZLE_H
#define PFC_PUZZLE_H

#include <stddef.h>
#include <stdint.h>

#include "result.h"
#include "wire.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The seed of a challenge's puzzles.
void pfc_puzzle_seed(uint8_t seed[PFC_PUZZLE_SEED_BYTES], const uint8_t challenge_id[PFC_CHALLENGE_ID_BYTES]);

/// Searches from `*counter` on with at most `tries` hashes, and tells in `*hashes` how many it took. PFC_OK: `*counter`
/// solves the puzzle. PFC_E_DIFFERS: none of them does, and `*counter` is the next one. PFC_E_ARGUMENT: an index or a
/// level out of range, or no counter is left. A caller that wants to stop in between gives few tries.
PFC_MUST_USE int pfc_puzzle_search(uint32_t *counter, uint32_t *hashes, const uint8_t seed[PFC_PUZZLE_SEED_BYTES],
                                   uint32_t index, unsigned level, uint32_t tries);

/// Checks 16 counters, 4 bytes each. PFC_E_ARGUMENT for a level of 0 or above PFC_PUZZLE_LEVEL_MAX, PFC_E_DIFFERS
/// unless all puzzles are solved.
PFC_MUST_USE int pfc_puzzle_check(const uint8_t solution[PFC_PUZZLE_SOLUTION_BYTES],
                                  const uint8_t seed[PFC_PUZZLE_SEED_BYTES], unsigned level);

#ifdef __cplusplus
}
#endif

#endif
