# SPDX-License-Identifier: Apache-2.0

"""Texts of a gate that are refused: ids, clearances, tickets and solutions, section 16."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec import challenge as ch
from proofspec import work
from proofspec.basics import u8
from proofspec.gate import encode_text
from proofspec.own import Own, tag
from proofspec.request import Request

from . import own_texts as texts
from .hostile import expect
from .hostile_config import flipped
from .own import ELSEWHERE, FIRST, SECOND
from .own_texts import APP, GUEST, HANDLE, PAY, UNSEEN
from .world import START, stuff

# Found by changed solvers: the exclusive or of all leaves has a fifth digit that is not 0; leaves from 2^19 on.
NEARLY = bytes.fromhex(
    "00003d3a10470753fff1175ea16e718471b57d81f81cabde701d3bc888a182486861619c7fefa4018679"
)
BEYOND = bytes.fromhex(
    "00009e4d7871f5e6f3a802a38d54e9e29c3a882b1bfd5464d813c5ccff580bdbe1487b35f029d2bccce2"
)
OTHER_ADDRESS = ch.at_address(b"192.0.2.2")


def cases() -> Iterator[Block]:
    yield from _challenges()
    yield from _clearances()
    yield from _tickets()


def _shapes(text: str) -> Iterator[tuple[str, str, str]]:
    yield "no text", "", "Truncated"
    yield "a character less", text[:-1], "Truncated"
    yield "a character more", text + "A", "Extended"
    yield "padding", text[:-1] + "=", "Malleable"
    yield "the other alphabet", text[:-1] + "+", "Malleable"
    yield "a blank", text[:-1] + ".", "Malleable"


def _challenges() -> Iterator[Block]:
    def offer(
        comment: str,
        raw: bytes | str,
        word: str,
        *flags: str,
        request: Request = PAY,
        client: bytes = GUEST,
        now: int = START,
        own: Own = FIRST,
    ) -> Block:
        block = texts.put_own(case("read_challenge", comment), own)
        texts.put_place(block, request).put_all(body_digest=request.body_digest, client=client)
        text = raw if isinstance(raw, str) else encode_text(raw)
        return expect(block.put_all(now=now, text=text), word, *flags)

    good = ch.make_challenge(FIRST, texts.challenge(), PAY.digest(), GUEST)
    yield offer("a challenge", good, "none")
    of_app = ch.make_challenge(FIRST, texts.challenge(), PAY.digest(), APP)
    yield offer("an app's", of_app, "none", client=APP)
    for comment, text, flag in _shapes(encode_text(good)):
        yield offer(comment, text, "text", flag)
    for version in (0, 2, 15):
        raw = u8(version << 4 | 9) + good[1:]
        yield offer(f"version {version}", raw, "version", "UnknownVersion")
    for kind in (0, 1, 4, 10, 11, 12, 15):
        raw = u8(0x10 | kind) + good[1:44]
        raw += tag(FIRST.challenge, "pfc1.challenge..", raw)
        yield offer(f"kind {kind}, rightly tagged", raw, "kind", "WrongMagic")
    yield offer("another kind than it was set with", u8(0x16) + good[1:], "tag", "BitFlip")
    yield offer("an own secret that the gate does not hold", good, "key", "WrongKey", own=SECOND)
    yield offer("another gate", good, "tag", "WrongRecipient", own=ELSEWHERE)
    for at in (2, 3, 4, 7, 8, 12, 28, 43, 44, 59):
        yield offer(f"a bit of byte {at}", flipped(good, at), "tag", "BitFlip")
    for name, key in (("pfc1.clearance..", FIRST.challenge), ("pfc1.challenge..", FIRST.clearance)):
        raw = good[:44] + tag(key, name, good[:44])
        yield offer(f"label {name}, another use's key or text", raw, "tag", "WrongLabel")
    for comment, request, client in (
        ("another method", replace(PAY, method=b"PUT"), GUEST),
        ("another host", replace(PAY, authority=b"shop.example.com"), GUEST),
        ("another target", replace(PAY, target=b"/pay?to=8"), GUEST),
        ("another body", UNSEEN, GUEST),
        ("another address", PAY, OTHER_ADDRESS),
        ("an app in the place of an address", PAY, APP),
    ):
        yield offer(comment, good, "subject", "WrongTranscript", request=request, client=client)
    late, early = START + 61, START + 60 - 3631
    yield offer("its last second", good, "none", "EdgeCase", now=START + 60)
    yield offer("a second later", good, "expired", "WrongTime", now=late)
    yield offer("the farthest end", good, "none", "EdgeCase", now=early + 1)
    yield offer("a second farther", good, "ahead", "WrongTime", now=early)
    other = "expired, and another client"
    yield offer(other, good, "expired", "Precedence", now=late, client=APP)


def _clearances() -> Iterator[Block]:
    def offer(
        comment: str,
        raw: bytes | str,
        word: str,
        *flags: str,
        authority: bytes = PAY.authority,
        client: bytes = GUEST,
        proven: bytes = b"",
        cookie: bool = False,
        now: int = START,
        own: Own = FIRST,
    ) -> Block:
        block = texts.put_own(case("read_clearance", comment), own)
        block.put_all(authority=authority, client=client, proven=proven, cookie=cookie, now=now)
        text = raw if isinstance(raw, str) else encode_text(raw)
        return expect(block.put("text", text), word, *flags)

    made = texts.clearance()
    good = ch.make_clearance(FIRST, made, GUEST)
    of_app = ch.make_clearance(FIRST, texts.clearance(flags=1, holder=HANDLE), b"")
    yield offer("a session's", good, "none")
    yield offer("a session's in a cookie", good, "none", cookie=True)
    yield offer("an app's", of_app, "none", proven=HANDLE)
    yield offer("an app's from elsewhere", of_app, "none", proven=HANDLE, client=OTHER_ADDRESS)
    for comment, text, flag in _shapes(encode_text(good)):
        yield offer(comment, text, "text", flag)
    for head in (0x00, 0x0A, 0x2A, 0x19, 0x1B):
        raw = u8(head) + good[1:50]
        raw += tag(FIRST.clearance, "pfc1.clearance..", raw + GUEST)
        yield offer(f"head {head:#04x}, rightly tagged", raw, "kind", "WrongMagic")
    yield offer("an own secret that the gate does not hold", good, "key", "WrongKey", own=SECOND)
    yield offer("another gate", good, "tag", "WrongRecipient", own=ELSEWHERE)
    yield offer("another address", good, "tag", "WrongTranscript", client=OTHER_ADDRESS)
    for at in (2, 3, 4, 6, 10, 14, 18, 34, 50, 65):
        yield offer(f"a bit of byte {at}", flipped(good, at), "tag", "BitFlip")
    for comment, other in (
        ("no kinds", {"kinds": 0}),
        ("a kind that is none", {"kinds": 0b100000}),
        ("a flag", {"flags": 2}),
        ("a flag of the second byte", {"flags": 0x100}),
    ):
        raw = ch.make_clearance(FIRST, replace(made, **other), GUEST)
        yield offer(comment, raw, "reserved", "Reserved")
    zero = ch.make_clearance(FIRST, texts.clearance(flags=1, holder=bytes(16)), b"")
    yield offer("a handle of zeros", zero, "reserved", "Reserved", proven=bytes(16))
    yield offer("its last second", good, "none", "EdgeCase", now=START + 900)
    yield offer("a second later", good, "expired", "WrongTime", now=START + 901)
    yield offer("a second farther than any", good, "ahead", "WrongTime", now=START + 900 - 3631)
    yield offer("another host", good, "host", "WrongTranscript", authority=b"shop.example.com")
    yield offer("an app's in a cookie", of_app, "place", "WrongTranscript", proven=HANDLE, cookie=True)
    yield offer("an app's without a proof", of_app, "handle", "WrongTranscript")
    other = stuff("another handle", 16)
    yield offer("an app's with another's proof", of_app, "handle", "WrongTranscript", proven=other)


def _tickets() -> Iterator[Block]:
    def offer(
        comment: str,
        raw: bytes | str,
        word: str,
        *flags: str,
        mode: int = 1,
        floor: int = 0,
        now: int = START,
        own: Own = FIRST,
    ) -> Block:
        block = texts.put_own(case("read_ticket", comment), own)
        text = raw if isinstance(raw, str) else encode_text(raw)
        return expect(block.put_all(mode=mode, floor=floor, now=now, text=text), word, *flags)

    good = ch.make_ticket(FIRST, texts.ticket_body(), stuff("nonce", 24))
    yield offer("a ticket", good, "none")
    for comment, text, flag in _shapes(encode_text(good)):
        yield offer(comment, text, "text", flag)
    for at, name in ((0, "kind"), (2, "kind"), (3, "kind"), (1, "key")):
        yield offer(f"a bit of byte {at}", flipped(good, at), name, "BitFlip")
    for at in (4, 27, 28, 100, 175, 176, 191):
        yield offer(f"a bit of byte {at}", flipped(good, at), "seal", "BitFlip")
    yield offer("another gate", good, "seal", "WrongRecipient", own=ELSEWHERE)
    yield offer("of the other mode", good, "mode", "WrongMode", mode=2)
    yield offer("its last second", good, "none", "EdgeCase", now=START + 3600)
    yield offer("a second later", good, "expired", "WrongTime", now=START + 3601)
    yield offer("issued at the floor", good, "none", "EdgeCase", floor=START)
    yield offer("issued below the floor", good, "superseded", "WrongTime", floor=START + 1)


def solutions() -> Iterator[Block]:
    def offer(kind: str, comment: str, raw: bytes, level: int, solution: bytes, *flags: str) -> Block:
        block = case(kind, comment).put_all(id=raw, level=level, solution=solution)
        return expect(block, "wrong" if flags else "none", *flags)

    raw, level = texts.PUZZLE_ID, 8
    solution = work.solve_puzzles(raw, level)
    puzzle = "check_puzzles"
    yield offer(puzzle, "16 counters", raw, level, solution)
    yield offer(puzzle, "of a lower level", raw, 1, solution)
    for at in (0, 32, 60):
        yield offer(puzzle, f"a bit of byte {at}", raw, level, flipped(solution, at), "BitFlip")
    swapped = solution[4:8] + solution[:4] + solution[8:]
    yield offer(puzzle, "two counters exchanged", raw, level, swapped, "Ordering")
    yield offer(puzzle, "zeros", raw, level, bytes(64), "Incomplete")
    yield offer(puzzle, "a counter less", raw, level, solution[:-4], "Truncated")
    yield offer(puzzle, "a counter more", raw, level, solution + bytes(4), "Extended")
    yield offer(puzzle, "another challenge", flipped(raw, 40), level, solution, "WrongTranscript")
    raw, level, solution = texts.PAIRING_ID, 2, texts.PAIRINGS
    pairing = "check_pairings"
    one = solution[:42]
    yield offer(pairing, "two problems", raw, level, solution)
    yield offer(pairing, "the first alone", raw, 1, one)
    for at in (0, 1, 2, 4, 20, 41, 42, 83):
        yield offer(pairing, f"a bit of byte {at}", raw, level, flipped(solution, at), "BitFlip")
    yield offer(pairing, "the first one twice", raw, level, one + one, "Recombined")
    yield offer(pairing, "in another order", raw, level, solution[42:] + one, "Ordering")
    yield offer(pairing, "zeros", raw, level, bytes(84), "Ordering")
    yield offer(pairing, "another challenge", flipped(raw, 40), level, solution, "WrongTranscript")
    yield offer(pairing, "a byte less", raw, level, solution[:-1], "Truncated")
    yield offer(pairing, "one problem less", raw, level, one, "Truncated")
    chosen = _leaves(one)
    for half in (1, 2, 4, 8):
        swapped = chosen[half : 2 * half] + chosen[:half] + chosen[2 * half :]
        comment = f"subtrees of {half} exchanged"
        yield offer(pairing, comment, raw, 1, _encoded(one, swapped), "Ordering")
    half = chosen[:8] + chosen[:8]
    yield offer(pairing, "eight leaves twice", raw, 1, _encoded(one, half), "Ordering")
    yield offer(pairing, "all digits but the fifth", raw, 1, NEARLY, "Incomplete")
    yield offer(pairing, "leaves from 2^19 on, otherwise right", raw, 1, BEYOND, "OutOfRange")


def _leaves(solution: bytes) -> list[int]:
    made = []
    for at in range(2, 42, 5):
        both = int.from_bytes(solution[at : at + 5], "little")
        made += [both % 2**20, both >> 20]
    return made


def _encoded(solution: bytes, chosen: list[int]) -> bytes:
    pairs = zip(chosen[::2], chosen[1::2], strict=True)
    return solution[:2] + b"".join((a | b << 20).to_bytes(5, "little") for a, b in pairs)
