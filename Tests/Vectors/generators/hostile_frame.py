# SPDX-License-Identifier: Apache-2.0

"""Packets that a receiver must not be led astray by."""

from collections.abc import Iterator

from blocks import Block, case
from proofspec.basics import u8, u16
from proofspec.frame import (
    COMPLETE,
    FIRST,
    GARBAGE,
    LAST,
    LOST,
    MORE,
    REPEATED,
    check,
    crc16,
    fragments,
)
from proofspec.message import Type, Verdict

from . import world
from .hostile import expect
from .hostile_config import flipped
from .world import stuff

ASK = fragments(Type.ASK, b"\x01", 20)[0]
CHALLENGE = stuff("a challenge message", 40)
PARTS = fragments(Type.CHALLENGE, CHALLENGE, 20)  # 16, 18, 8 bytes of stream
ANSWER = bytes([Verdict.BUSY]) + stuff("a verdict message", 42)
ANSWER_PARTS = fragments(Type.VERDICT, ANSWER, 20)
TOKEN = world.app("one").token()

Step = tuple[bytes, str] | tuple[bytes, str, int, bytes]
DONE: Step = (PARTS[2], COMPLETE, Type.CHALLENGE, CHALLENGE)


def play(comment: str, steps: list[Step], *flags: str) -> Block:
    """A new receiver gets these packets; the outcome of each is written by hand."""
    block = case("reassemble", comment)
    delivered = False
    for step in steps:
        block.put("packet", step[0]).put("outcome", step[1])
        if len(step) == 4:
            block.put_all(type=step[2], message=step[3])
            delivered = True
    return expect(block, "none" if delivered else "incomplete", *flags)


def first(type: int, length: int, part: bytes, last: bool = False, index: int = 0) -> bytes:
    return u8(FIRST | (LAST if last else 0) | type) + u8(index) + u16(length) + part


def later(type: int, index: int, part: bytes, last: bool = False) -> bytes:
    return u8((LAST if last else 0) | type) + u8(index) + part


def stream(type: int, message: bytes) -> bytes:
    return message + check(type, message)


def frames() -> Iterator[Block]:
    yield from _accepted()
    yield from _ignored_alone()
    yield from _ignored_in_flight()
    yield from _repeated()
    yield from _dropped()
    yield from _checks()


def _accepted() -> Iterator[Block]:
    yield play("a message in one packet", [(ASK, COMPLETE, Type.ASK, b"\x01")])
    yield play("a message in three packets", [(PARTS[0], MORE), (PARTS[1], MORE), DONE])
    one = fragments(Type.TOKEN, TOKEN, 514)[0]
    yield play("a token in one packet of 294", [(one, COMPLETE, Type.TOKEN, TOKEN)])
    uneven: list[Step] = [(first(Type.CHALLENGE, 40, stream(2, CHALLENGE)[:1]), MORE)]
    raw = stream(Type.CHALLENGE, CHALLENGE)
    uneven += [(later(2, i, raw[i : i + 1]), MORE) for i in range(1, 41)]
    uneven += [(later(2, 41, raw[41:], last=True), COMPLETE, Type.CHALLENGE, CHALLENGE)]
    yield play("one byte in each packet", uneven, "EdgeCase")
    cut: list[Step] = [
        (first(2, 40, raw[:41]), MORE),
        (later(2, 1, raw[41:], last=True), COMPLETE, 2, CHALLENGE),
    ]
    yield play("the check is cut in two", cut, "EdgeCase")
    twice: list[Step] = [(PARTS[0], MORE), (PARTS[1], MORE), DONE]
    yield play("the same message twice", twice * 2)
    mixed: list[Step] = [(PARTS[0], MORE), (ASK, COMPLETE, Type.ASK, b"\x01"), (PARTS[1], GARBAGE)]
    yield play("a short message in the middle of a long one", mixed, "Interleaved")


def _bad_packets() -> Iterator[tuple[str, bytes, str]]:
    """Everything that is ignored whether or not a message is in flight."""
    yield "an empty packet", b"", "Truncated"
    yield "one byte", ASK[:1], "Truncated"
    yield "two bytes: a later fragment without content", later(2, 1, b""), "Truncated"
    yield "515 bytes", first(Type.COMMAND, 346, bytes(511)), "Extended"
    yield "515 bytes, later", later(Type.CHALLENGE, 1, bytes(513)), "Extended"
    yield "600 bytes, later", later(Type.CHALLENGE, 1, bytes(598)), "Extended"
    for type in (0, 14, 15):
        yield f"type {type}", first(type, 1, ASK[4:], last=True), "UnknownType"
        yield f"type {type}, later", later(type, 1, PARTS[1][2:]), "UnknownType"
    for bit in (0x10, 0x20, 0x30):
        yield f"reserved bits {bit:#04x}", u8(ASK[0] | bit) + ASK[1:], "Reserved"
        yield f"reserved bits {bit:#04x}, later", u8(2 | bit) + PARTS[1][1:], "Reserved"
    yield "a first fragment with index 1", first(2, 40, CHALLENGE[:16], index=1), "WrongIndex"
    yield "a first fragment with index 255", first(2, 40, CHALLENGE[:16], index=255), "WrongIndex"
    yield "a first fragment of 3 bytes: half a length", PARTS[0][:3], "Truncated"
    yield "a first fragment of 4 bytes: no content", PARTS[0][:4], "Truncated"
    yield "first and last, no content", first(Type.ASK, 1, b"", last=True), "Truncated"
    for type, length in (
        (Type.ASK, 0),
        (Type.ASK, 2),
        (Type.CHALLENGE, 39),
        (Type.CHALLENGE, 41),
        (Type.TOKEN, 287),
        (Type.TOKEN, 289),
        (Type.COMMAND, 57),
        (Type.COMMAND, 359),
        (Type.VERDICT, 42),
        (Type.ORDER, 125),
        (Type.RECALL, 71),
        (Type.STATUS, 29),
        (Type.TOKEN, 65535),
        (Type.CHALLENGE, 40 << 8),
    ):
        yield f"{type.name.lower()} of {length} bytes", first(type, length, b"x"), "WrongLength"
    yield "a later fragment with index 0", later(2, 0, CHALLENGE[:16]), "WrongIndex"
    raw = stream(Type.ASK, b"\x01")
    over = first(Type.ASK, 1, raw + b"\x00", last=True)
    yield "a first fragment beyond the end, last", over, "Extended"
    yield "a first fragment beyond the end", first(Type.ASK, 1, raw + b"\x00"), "Extended"
    yield "a first fragment at the end, not last", first(Type.ASK, 1, raw), "WrongLast"
    yield "a first fragment before the end, last", first(2, 40, CHALLENGE[:9], True), "WrongLast"
    without = first(Type.ASK, 1, b"\x01", last=True)
    yield "a message without its check, last", without, "WrongLast"


def _ignored_alone() -> Iterator[Block]:
    for comment, packet, flag in _bad_packets():
        yield play(comment, [(packet, GARBAGE)], flag)
    yield play("a later fragment, nothing in flight", [(PARTS[1], GARBAGE)], "WrongIndex")
    yield play("a last fragment, nothing in flight", [(PARTS[2], GARBAGE)], "WrongIndex")
    yield play("nothing but the end", [(PARTS[1], GARBAGE), (PARTS[2], GARBAGE)], "WrongIndex")


def _ignored_in_flight() -> Iterator[Block]:
    for comment, packet, flag in _bad_packets():
        steps: list[Step] = [(PARTS[0], MORE), (packet, GARBAGE), (PARTS[1], MORE), DONE]
        yield play(f"{comment}, ignored in the middle of a message", steps, flag, "Noise")


def _repeated() -> Iterator[Block]:
    a, b, _ = PARTS
    yield play(
        "the second fragment twice", [(a, MORE), (b, MORE), (b, REPEATED), DONE], "Repetition"
    )
    other = later(2, 1, stuff("other content", 18))
    steps: list[Step] = [(a, MORE), (b, MORE), (other, REPEATED), DONE]
    yield play("an index taken, with other content", steps, "Repetition")
    steps = [(a, MORE), (b, MORE), (later(2, 1, bytes(18), last=True), REPEATED), DONE]
    yield play("an index taken, marked last", steps, "Repetition")
    steps = [(a, MORE), (a, MORE), (b, MORE), DONE]
    yield play("the first fragment twice: it begins anew", steps, "Repetition")
    steps = [(a, MORE), (b, MORE), (a, MORE), (b, MORE), DONE]
    yield play("from the start again after two fragments", steps, "Repetition")
    steps = [(a, MORE), (b, MORE), DONE, (PARTS[2], GARBAGE), (b, GARBAGE)]
    yield play("repetitions after the end", steps, "Repetition")


def _dropped() -> Iterator[Block]:
    a, b, c = PARTS
    rest: list[Step] = [(c, GARBAGE)]
    yield play("the second fragment is lost", [(a, MORE), (c, LOST), *rest], "WrongIndex")
    skipped: list[Step] = [(a, MORE), (later(2, 255, b[2:]), LOST), (b, GARBAGE), *rest]
    yield play("index 255 after 0", skipped, "WrongIndex")
    steps: list[Step] = [(a, MORE), (ANSWER_PARTS[1], LOST), (b, GARBAGE), *rest]
    yield play("a later fragment of another type", steps, "Interleaved")
    steps = [(a, MORE), (b, MORE), (ANSWER_PARTS[1], LOST), (c, GARBAGE)]
    yield play("another type with an index already taken", steps, "Interleaved")
    steps = [(a, MORE), (ANSWER_PARTS[0], MORE), (b, LOST), (ANSWER_PARTS[1], GARBAGE)]
    yield play("two messages among each other", steps, "Interleaved")
    steps = [
        (a, MORE),
        (ANSWER_PARTS[0], MORE),
        (ANSWER_PARTS[1], MORE),
        (ANSWER_PARTS[2], COMPLETE, Type.VERDICT, ANSWER),
        (b, GARBAGE),
    ]
    yield play("a new message takes the place of the old", steps, "Interleaved")
    long = later(2, 2, c[2:] + b"\x00", last=True)
    yield play("a byte beyond the end", [(a, MORE), (b, MORE), (long, LOST)], "Extended")
    much = later(2, 1, bytes(512))
    yield play("512 bytes beyond the end", [(a, MORE), (much, LOST), (b, GARBAGE)], "Extended")
    unmarked = later(2, 2, c[2:])
    steps = [(a, MORE), (b, MORE), (unmarked, LOST), (c, GARBAGE)]
    yield play("the end without its mark", steps, "WrongLast")
    early = later(2, 1, b[2:], last=True)
    yield play("the mark before the end", [(a, MORE), (early, LOST), *rest], "WrongLast")
    short = later(2, 2, c[2:-1], last=True)
    yield play("the last byte is missing", [(a, MORE), (b, MORE), (short, LOST)], "WrongLast")
    recovered: list[Step] = [(a, MORE), (c, LOST), (a, MORE), (b, MORE), DONE]
    yield play("a loss, then the message again", recovered, "WrongIndex", "Noise")
    wrap: list[Step] = [(first(Type.COMMAND, 346, b"x"), MORE)]
    wrap += [(later(Type.COMMAND, i, b"x"), MORE) for i in range(1, 256)]
    wrap += [(later(Type.COMMAND, 0, b"x"), GARBAGE), (later(Type.COMMAND, 1, b"x"), REPEATED)]
    yield play("the index does not wrap", wrap, "WrongIndex")


def _checks() -> Iterator[Block]:
    a, b, c = PARTS
    raw = stream(Type.CHALLENGE, CHALLENGE)
    for comment, last in (
        ("a bit of the check", flipped(c, -1)),
        ("a bit of the message", flipped(c, 2)),
        ("the check's bytes changed places", c[:-2] + c[-1:] + c[-2:-1]),
        ("a check of zeros", c[:-2] + bytes(2)),
        ("the check of the message alone", c[:-2] + _crc(CHALLENGE)),
        ("the check with another type", c[:-2] + check(Type.VERDICT, CHALLENGE)),
        ("the check with the length in big-endian", c[:-2] + _crc(b"\x02\x00\x28" + CHALLENGE)),
    ):
        yield play(comment, [(a, MORE), (b, MORE), (last, LOST), (c, GARBAGE)], "WrongCheck")
    for at in (4, 19):
        steps: list[Step] = [(flipped(a, at), MORE), (b, MORE), (c, LOST)]
        yield play(f"a bit of the first fragment, byte {at}", steps, "WrongCheck", "BitFlip")
    steps = [(a, MORE), (later(2, 1, raw[18:34] + raw[16:18]), MORE), (c, LOST)]
    yield play("content that changed places", steps, "WrongCheck", "Recombined")
    command = b"\x02" + stuff("a command", 57)
    whole = stream(Type.COMMAND, command)
    longer = first(Type.COMMAND, 59, whole[:30])
    end = later(Type.COMMAND, 1, whole[30:] + b"\x00", last=True)
    yield play("a length that lies by one", [(longer, MORE), (end, LOST)], "WrongCheck")
    turned = [
        (u8(p[0] & 0xF0 | Type.TOKEN) + p[1:]) for p in fragments(Type.COMMAND, b"\x01" * 288, 514)
    ]
    yield play("a command sent as a token", [(turned[0], LOST)], "WrongCheck", "BitFlip")
    single = flipped(ASK, -1)
    yield play("a message in one packet, a wrong check", [(single, LOST)], "WrongCheck")
    steps = [(a, MORE), (single, LOST), (b, GARBAGE), (c, GARBAGE)]
    yield play("one with a wrong check in the middle of another", steps, "WrongCheck")


def _crc(data: bytes) -> bytes:
    return u16(crc16(data))
