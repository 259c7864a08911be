# SPDX-License-Identifier: Apache-2.0

"""Sealed commands and answers that are refused, section 18."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec import curves, sealed
from proofspec.basics import u8
from proofspec.sealed import DEVICE, INTEGRITY, Facts

from .hostile import expect
from .hostile_config import flipped
from .sealed import EPHEMERAL, RATCHET, command, facts, head, put_facts
from .world import GATE, stuff


def cases() -> Iterator[Block]:
    yield from _shapes()
    yield from _boxes()
    yield from _contents()
    yield from _answers()


def offer(comment: str, message: bytes, word: str, *flags: str, of: Facts | None = None) -> Block:
    made = put_facts(case("open_sealed_command", comment), of or facts())
    return expect(made.put("message", message), word, *flags)


def _shapes() -> Iterator[Block]:
    right = command(facts(), INTEGRITY)
    yield offer("a sealed command", right, "none")
    yield offer("one of kind device", command(facts(), DEVICE), "none")
    yield offer("nothing", b"", "malformed", "Truncated")
    for kind in (0, 1, 2, 3, 4, 7, 255):
        yield offer(f"kind {kind}", u8(kind) + right[1:], "too-new", "UnknownType")
    for kind, size in ((5, 141), (5, 359), (6, 109), (6, 327), (5, 49), (6, 1)):
        message = (u8(kind) + right[1:49] + bytes(400))[:size]
        yield offer(f"kind {kind}, {size} bytes", message, "malformed", "WrongLength")


def _boxes() -> Iterator[Block]:
    of = facts()
    right = command(of, INTEGRITY)
    for at, what in ((1, "hint, first byte"), (8, "hint, last byte"), (17, "E_app"), (48, "E_app, last byte")):
        yield offer(f"a bit of the {what}", flipped(right, at), "differs", "BitFlip")
    yield offer("a bit of the counter", flipped(right, 9), "stale", "BitFlip")
    for at, what in ((49, "authenticator"), (65, "class"), (66, "integrity proof"), (len(right) - 1, "command")):
        yield offer(f"a bit of the {what}", flipped(right, at), "not-for-me", "BitFlip")
    yield offer("a byte less", right[:-1], "not-for-me", "Truncated")
    yield offer("a byte more", right + b"\x00", "not-for-me", "Extended")
    yield offer("the other kind", u8(DEVICE) + right[1:], "differs", "WrongKind")
    yield offer("a hint of zeros", right[:1] + bytes(8) + right[9:], "differs", "Guess")
    for name, other, word in (
        ("challenge", replace(of, challenge=stuff("another challenge", 32)), "differs"),
        ("E_lock", replace(of, lock_key=curves.hardware_public(stuff("another lock key", 32))), "differs"),
        ("device proof key", replace(of, device_key=stuff("another device key", 16)), "differs"),
        ("hardware", replace(of, hardware_id=GATE.id), "not-for-me"),
        ("instance", replace(of, instance_id=stuff("another instance", 16)), "not-for-me"),
        ("token", replace(of, token_digest=stuff("another digest", 16)), "not-for-me"),
    ):
        yield offer(f"made for another {name}", command(other, INTEGRITY), word, "WrongTranscript")
    zero = bytes(32)
    low = sealed.make_head(of, INTEGRITY, zero)
    boxed = curves.box(sealed.first_key(of, zero, low), right[65:])
    yield offer("E_app of low order", low + boxed, "not-for-me", "LowOrderPoint")
    begun = head(of, INTEGRITY)
    yield offer("a box under the shared secret alone", begun + _box_of(of, begun, b""), "not-for-me", "WrongKey")
    only = begun + curves.box(sealed.first_key(of, b"", begun), right[65:])
    yield offer("a box under the device proof key alone", only, "not-for-me", "WrongKey")


def _box_of(of: Facts, begun: bytes, device_key: bytes) -> bytes:
    shared = curves.shared_secret(EPHEMERAL, of.lock_key)
    return curves.box(sealed.first_key(replace(of, device_key=device_key), shared, begun), bytes(77))


def _contents() -> Iterator[Block]:
    of = facts()
    begun = head(of, DEVICE)

    def of_plain(plain: bytes) -> bytes:
        return sealed.seal(of, begun, EPHEMERAL, plain)

    yield offer("zeros, whose proof is judged later", of_plain(bytes(45)), "none")
    yield offer("class 15", of_plain(u8(15) + bytes(44)), "none")
    for cls in (16, 255):
        yield offer(f"class {cls}", of_plain(u8(cls) + bytes(44)), "malformed", "OutOfRange")
    for at in (9, 12):
        plain = bytes(at) + b"\x01" + bytes(44 - at)
        yield offer(f"a known counter without a tag, byte {at}", of_plain(plain), "malformed", "Inconsistent")
    yield offer("a ratchet", command(of, DEVICE, ratchet=RATCHET, known=3), "none")


def _answers() -> Iterator[Block]:
    key, counter = stuff("a key of an answer", 32), 9

    def answer(comment: str, message: bytes, word: str, *flags: str) -> Block:
        made = case("open_sealed_down", comment).put_all(key=key, counter=counter, message=message)
        return expect(made, word, *flags)

    right = sealed.encode_down(key, counter, 1, 65535)
    yield answer("an answer", right, "none")
    for at, what in ((0, "counter"), (8, "authenticator"), (24, "verdict"), (34, "next counter")):
        yield answer(f"a bit of the {what}", flipped(right, at), "differs", "BitFlip")
    yield answer("to another counter", sealed.encode_down(key, 8, 1, 65535), "differs", "WrongOccasion")
    other = sealed.encode_down(stuff("another key of an answer", 32), counter, 1, 65535)
    yield answer("under another key", other, "differs", "WrongKey")
    clear = right[:8] + bytes(16) + b"\x01\xff\xff" + bytes(8)
    yield answer("in the clear", clear, "differs", "Guess")
    yield answer("a byte less", right[:-1], "malformed", "WrongLength")
    yield answer("a byte more", right + b"\x00", "malformed", "WrongLength")
    for verdict in (0, 9, 15, 24, 40, 51, 255):
        message = sealed.encode_down(key, counter, verdict, 0)
        yield answer(f"verdict {verdict}", message, "malformed", "OutOfRange")
