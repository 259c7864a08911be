# SPDX-License-Identifier: Apache-2.0

"""Orders and messages that are refused."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from blocks import Block, case
from proofspec.basics import label, u8, u64
from proofspec.curves import sign
from proofspec.keys import issuer_id
from proofspec.message import Answer, Status, Type, Verdict, encode_challenge, make_recall
from proofspec.order import ANYONE, EPOCH, FLOOR, REVOKE, Order, create_order, sign_order

from . import attacks, world
from .hostile import expect
from .hostile_config import flipped
from .world import BACKEND, DOOR, GATE, OTHER_BACKEND, START, STRANGER, Issuer, stuff

WHO = world.app("one").instance_id
KNOWN = (BACKEND.public, OTHER_BACKEND.public)
EPOCH_ORDER = Order(EPOCH, BACKEND.id, START, DOOR.id, bytes(16), 0)
REVOKE_ORDER = Order(REVOKE, BACKEND.id, START, DOOR.id, WHO, 1)
FLOOR_ORDER = Order(FLOOR, BACKEND.id, START, DOOR.id, bytes(16), 0)


def offer(
    comment: str, order: bytes, word: str, *flags: str, issuers: Sequence[bytes] = KNOWN
) -> Block:
    block = case("open_order", comment).put("hardware_id", DOOR.id)
    for public in issuers:
        block.put("issuer", public)
    return expect(block.put("order", order), word, *flags)


def signed(order: Order, by: Issuer = BACKEND) -> bytes:
    return sign_order(by.seed, order.signed_part())


def raw(at: int, value: bytes, order: Order = REVOKE_ORDER) -> bytes:
    """Rightly signed, with some bytes of its own."""
    part = order.signed_part()
    return sign_order(BACKEND.seed, part[:at] + value + part[at + len(value) :])


def orders() -> Iterator[Block]:
    yield from _accepted()
    yield from _shape()
    yield from _address()
    yield from _signature()
    yield from _ranges()


def _accepted() -> Iterator[Block]:
    for order, comment in (
        (EPOCH_ORDER, "epoch"),
        (REVOKE_ORDER, "revoke"),
        (FLOOR_ORDER, "floor"),
    ):
        yield offer(comment, signed(order), "none")
    other = create_order(OTHER_BACKEND.seed, EPOCH, 2**64 - 1, DOOR.id)
    yield offer("epoch by the second issuer, last second", other, "none", "EdgeCase")
    first = replace(EPOCH_ORDER, issued=1)
    yield offer("issued in second 1", signed(first), "none", "EdgeCase")
    ever = replace(REVOKE_ORDER, generation=2**32 - 1)
    yield offer("revoke for good", signed(ever), "none", "EdgeCase")


def _shape() -> Iterator[Block]:
    good = signed(REVOKE_ORDER)
    for length in (0, 1, 4, 24, 60, 123):
        yield offer(f"{length} bytes of it", good[:length], "malformed", "Truncated")
    yield offer("a byte more", good + b"\x00", "malformed", "Extended")
    for magic in (b"PT", b"OP", b"po", bytes(2)):
        yield offer(f"magic {magic.hex()}, signed so", raw(0, magic), "malformed", "WrongMagic")
    token = world.app("one").token()
    yield offer("the beginning of a token", token[:124], "malformed", "WrongMagic")
    for at, what in ((2, "version"), (3, "suite")):
        for value in (0, 2, 255):
            order = raw(at, u8(value))
            yield offer(f"{what} {value}, signed so", order, "too-new", "UnknownVersion")
    far = replace(REVOKE_ORDER, hardware_id=GATE.id).signed_part()
    new = sign_order(BACKEND.seed, far[:2] + b"\x02" + far[3:])
    yield offer("too new and for another", new, "too-new", "UnknownVersion", "Precedence")


def _address() -> Iterator[Block]:
    for order, comment in (
        (replace(EPOCH_ORDER, hardware_id=GATE.id), "epoch for the gate"),
        (replace(REVOKE_ORDER, hardware_id=GATE.id), "revoke for the gate"),
        (replace(FLOOR_ORDER, hardware_id=GATE.id), "floor for the gate"),
        (replace(EPOCH_ORDER, hardware_id=ANYONE), "epoch for any hardware"),
        (replace(REVOKE_ORDER, hardware_id=ANYONE), "revoke for any hardware"),
        (replace(FLOOR_ORDER, hardware_id=ANYONE), "floor for any hardware"),
        (replace(EPOCH_ORDER, hardware_id=flipped(DOOR.id, 15)), "epoch, a bit of the id"),
    ):
        yield offer(f"{comment}, signed so", signed(order), "not-for-me", "WrongRecipient")
    far = signed(replace(EPOCH_ORDER, hardware_id=GATE.id), STRANGER)
    yield offer("for another and not signed", far, "not-for-me", "Precedence", "Stranger")


def _signature() -> Iterator[Block]:
    part, good = REVOKE_ORDER.signed_part(), signed(REVOKE_ORDER)
    mine = label("pfc1.order-sign.") + part

    def by_backend(comment: str, transcript: bytes, flag: str) -> Block:
        return offer(comment, part + sign(BACKEND.seed, transcript), "not-signed", flag)

    yield offer("a signature of zeros", part + bytes(64), "not-signed", "Unsigned")
    stranger = signed(replace(REVOKE_ORDER, issuer_id=STRANGER.id), STRANGER)
    yield offer("by a stranger, in his own name", stranger, "not-signed", "Stranger")
    posing = signed(REVOKE_ORDER, STRANGER)
    yield offer("by a stranger, in the backend's name", posing, "not-signed", "Stranger")
    named = signed(REVOKE_ORDER, OTHER_BACKEND)
    yield offer("by an issuer in another's name", named, "not-signed", "WrongIssuer")
    yield offer("no issuer is known", good, "not-signed", "Stranger", issuers=())
    yield by_backend("without a label", part, "WrongLabel")
    for name in ("pfc1.token-sign.", "pfc1.issuer-id.."):
        yield by_backend(f"under the label {name}", label(name) + part, "WrongLabel")
    yield by_backend("without the last byte", mine[:-1], "WrongTranscript")
    yield by_backend("over its own signature too", mine + bytes(64), "WrongTranscript")
    for at, what in ((4, "type"), (16, "time"), (40, "instance"), (56, "generation")):
        order = flipped(good, at)
        yield offer(f"{what} changed after the signature", order, "not-signed", "BitFlip")
    anyone = part[:24] + ANYONE + part[40:]
    epoch = anyone[:4] + u8(EPOCH) + anyone[5:]
    moved = epoch + good[60:]
    comment = "turned into an epoch for any hardware"
    yield offer(comment, moved, "not-for-me", "Recombined")
    yield offer("turned into an epoch", part[:4] + u8(EPOCH) + good[5:], "not-signed", "Recombined")
    for at in (60, 91, 92, 123):
        yield offer(
            f"a bit of the signature, byte {at}", flipped(good, at), "not-signed", "BitFlip"
        )
    folded = part + attacks.plus_order(good[60:])
    yield offer("S + L: not reduced", folded, "not-signed", "Malleable")
    forged = attacks.sign_with_r_of_zero(BACKEND.seed, BACKEND.public, mine, attacks.IDENTITY)
    yield offer("R is the identity, S fits", part + forged, "not-signed", "SmallOrder")
    point = attacks.IDENTITY
    weak = replace(REVOKE_ORDER, issuer_id=issuer_id(point)).signed_part()
    nobody = attacks.sign_for_small_order(point, label("pfc1.order-sign.") + weak)
    yield offer(
        "an issuer's key is the identity: nobody signed",
        weak + nobody,
        "not-signed",
        "SmallOrder",
        issuers=(*KNOWN, point),
    )
    odd = signed(replace(REVOKE_ORDER, issued=0), STRANGER)
    yield offer("not signed and out of range", odd, "not-signed", "Stranger", "Precedence")


def _ranges() -> Iterator[Block]:
    yield offer("type 0", raw(4, u8(0)), "malformed", "OutOfRange")
    for type in (4, 255):
        yield offer(f"type {type}", raw(4, u8(type)), "too-new", "UnknownVersion")
    for at in (5, 6, 7):
        yield offer(f"byte {at} is not zero", raw(at, u8(1)), "too-new", "Reserved")
    for order, comment in (
        (replace(REVOKE_ORDER, issued=0), "revoke issued in second 0"),
        (replace(EPOCH_ORDER, issued=0), "epoch issued in second 0"),
        (replace(FLOOR_ORDER, issued=0), "floor issued in second 0"),
        (replace(REVOKE_ORDER, instance_id=bytes(16)), "revoke without an instance"),
        (replace(REVOKE_ORDER, generation=0), "revoke of generation 0"),
        (replace(EPOCH_ORDER, instance_id=WHO), "epoch with an instance"),
        (replace(EPOCH_ORDER, generation=1), "epoch with a generation"),
        (replace(FLOOR_ORDER, instance_id=WHO), "floor with an instance"),
        (replace(FLOOR_ORDER, generation=1), "floor with a generation"),
    ):
        yield offer(comment, signed(order), "malformed", "OutOfRange")


def parse(comment: str, type: int, message: bytes, word: str, *flags: str) -> Block:
    block = case("parse_message", comment).put_all(type=type, message=message)
    return expect(block, word, *flags)


def messages() -> Iterator[Block]:
    lengths = (
        (Type.ASK, "ask", 1),
        (Type.CHALLENGE, "challenge", 40),
        (Type.VERDICT, "verdict", 43),
        (Type.RECALL, "recall", 72),
        (Type.STATUS, "status", 28),
        (Type.ORDER, "order", 124),
        (Type.TOKEN, "token", 288),
    )
    right = {
        Type.ASK: u8(1),
        Type.CHALLENGE: encode_challenge(1, stuff("challenge", 32)),
        Type.VERDICT: Answer(Verdict.BUSY, 5).encoded(),
        Type.RECALL: make_recall(stuff("dpk", 16), WHO, 1, stuff("nonce", 16)).encoded(),
        Type.STATUS: Status(1, DOOR.id, 8, 1, START).encoded(),
        Type.ORDER: signed(EPOCH_ORDER),
        Type.TOKEN: world.app("one").token(),
    }
    for type, name, length in lengths:
        fill = right[type] + b"\x01"
        yield parse(f"{name} of {length}", type, fill[:length], "none")
        yield parse(f"{name} of 0", type, b"", "malformed", "WrongLength")
        if length > 1:
            short = fill[: length - 1]
            yield parse(f"{name} of {length - 1}", type, short, "malformed", "WrongLength")
        long = fill[: length + 1]
        yield parse(f"{name} of {length + 1}", type, long, "malformed", "WrongLength")
    for what in (0, 3, 255):
        yield parse(f"ask for {what}", Type.ASK, u8(what), "too-new", "UnknownVersion")
    yield parse("ask for the status", Type.ASK, u8(2), "none")
    yield from _commands()
    for type in (0, 9, 15):
        yield parse(f"type {type}", type, b"\x01", "malformed", "UnknownType")


def _commands() -> Iterator[Block]:
    def command(kind: int, cls: int, length: int) -> bytes:
        head = u8(kind) + u8(cls) + WHO + u64(1)
        return (head + stuff("proofs and a command", 400))[:length]

    for kind, cls, length in (
        (1, 0, 90), (1, 15, 346), (2, 0, 58), (2, 15, 314),
        (3, 0, 102), (3, 15, 358), (4, 0, 70), (4, 15, 326),
    ):
        comment = f"command of kind {kind}, class {cls}, {length} bytes"
        yield parse(comment, Type.COMMAND, command(kind, cls, length), "none", "EdgeCase")
    for kind, length in (
        (1, 0), (1, 1), (1, 58), (1, 89), (1, 347), (2, 2), (2, 57), (2, 315),
        (3, 58), (3, 101), (3, 359), (4, 57), (4, 69), (4, 327),
    ):
        comment = f"command of kind {kind}, {length} bytes"
        message = command(kind, 0, length)
        yield parse(comment, Type.COMMAND, message, "malformed", "WrongLength")
    for kind, cls, length in ((0, 0, 98), (5, 0, 98), (255, 0, 98), (5, 16, 58), (6, 0, 358)):
        comment = f"command of kind {kind}, class {cls}, {length} bytes"
        message = command(kind, cls, length)
        yield parse(comment, Type.COMMAND, message, "too-new", "UnknownVersion")
    for length in (57, 359):
        message = command(5, 0, length)
        comment = f"command of kind 5, {length} bytes"
        yield parse(comment, Type.COMMAND, message, "malformed", "WrongLength")
    for cls in (16, 128, 255):
        message = command(1, cls, 98)
        yield parse(f"command of class {cls}", Type.COMMAND, message, "malformed", "OutOfRange")
