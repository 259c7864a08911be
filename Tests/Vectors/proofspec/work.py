# SPDX-License-Identifier: Apache-2.0

"""Section 16: the puzzles of work (a), and the check of the birthday problems of work (b)."""

import struct
from itertools import count

from .basics import Refused, label, sha256, u8, u16, u32

PUZZLES, LEVEL_MAX = 16, 24
DIGIT_MASK = 2**18 - 1
LEAVES, CHOSEN, SOLUTION_BYTES, PAIRING_LEVEL_MAX = 2**19, 16, 42, 7


def _h(seed: bytes, i: int, counter: int) -> bytes:
    return sha256(label("pfc1.puzzle.....") + seed + u32(i) + u32(counter))


def seed_of(challenge: bytes) -> bytes:
    return sha256(label("pfc1.puzzle-seed") + challenge)[:28]


def begins_with_zeros(h: bytes, level: int) -> bool:
    return int.from_bytes(h, "big") >> (256 - level) == 0


def solve_puzzles(challenge: bytes, level: int) -> bytes:
    seed = seed_of(challenge)
    return b"".join(
        u32(next(c for c in count() if begins_with_zeros(_h(seed, i, c), level)))
        for i in range(PUZZLES)
    )


def check_puzzles(challenge: bytes, level: int, solution: bytes) -> None:
    if not 1 <= level <= LEVEL_MAX or len(solution) != 4 * PUZZLES:
        raise Refused("wrong")
    seed = seed_of(challenge)
    for i, counter in enumerate(struct.unpack("<16I", solution)):
        if not begins_with_zeros(_h(seed, i, counter), level):
            raise Refused("wrong")


def chacha_block(key: bytes, counter: int) -> bytes:
    """RFC 8439, section 2.3, with a nonce of zeros."""
    first = list(struct.unpack("<4I", b"expand 32-byte k") + struct.unpack("<8I", key))
    first += [counter, 0, 0, 0]
    x = first.copy()

    def mix(a: int, b: int, c: int, d: int) -> None:
        for to, other, at, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = (x[to] + x[other]) % 2**32
            word = x[at] ^ x[to]
            x[at] = (word << bits | word >> (32 - bits)) % 2**32

    for _ in range(10):
        for i in range(4):
            mix(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) % 2**32 for a, b in zip(x, first, strict=True)))


def leaf(key: bytes, n: int) -> tuple[int, ...]:
    return struct.unpack_from("<4I", chacha_block(key, n // 4), n % 4 * 16)


def digit(words: tuple[int, ...], number: int) -> int:
    """Digits are numbered from 0; the fifth one stands in what the first two words have left."""
    if number < 4:
        return words[number] & DIGIT_MASK
    return words[0] >> 18 | (words[1] >> 18 & 15) << 14


def check_pairing(challenge: bytes, problem: int, solution: bytes) -> None:
    attempt, chosen = int.from_bytes(solution[:2], "little"), []
    for at in range(2, SOLUTION_BYTES, 5):
        both = int.from_bytes(solution[at : at + 5], "little")
        chosen += [both % 2**20, both >> 20]
    if len(set(chosen)) != CHOSEN or max(chosen) >= LEAVES:
        raise Refused("wrong")
    key = sha256(label("pfc1.pairing....") + challenge + u8(problem) + u16(attempt))
    trees = [(n, leaf(key, n)) for n in chosen]
    for level in range(4):
        pairs = list(zip(trees[::2], trees[1::2], strict=True))
        trees = []
        for (left, a), (right, b) in pairs:
            words = tuple(x ^ y for x, y in zip(a, b, strict=True))
            if left >= right or digit(words, level) or level == 3 and digit(words, 4):
                raise Refused("wrong")
            trees.append((left, words))


def check_pairings(challenge: bytes, level: int, solution: bytes) -> None:
    if not 1 <= level <= PAIRING_LEVEL_MAX or len(solution) != level * SOLUTION_BYTES:
        raise Refused("wrong")
    for problem in range(level):
        at = problem * SOLUTION_BYTES
        check_pairing(challenge, problem, solution[at : at + SOLUTION_BYTES])
