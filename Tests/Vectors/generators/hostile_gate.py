# SPDX-License-Identifier: Apache-2.0

"""Gate tokens and beacons that are refused. Each is what an attacker could send, or a defect could make."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from blocks import Block, case
from proofspec.basics import DEVELOPMENT, GENERATION_MAX, PRODUCTION, label, u8
from proofspec.curves import seal, sign, unseal
from proofspec.gate import beacon_message
from proofspec.gate_token import BODY_BYTES, Body, signed_bytes, token_header
from proofspec.refusals import Refusal as R

from . import attacks, hostile_token
from .gates import FRONT, GATE_ISSUER, OTHER_GATE_ISSUER, SIDE, Site, body
from .hostile import expect
from .hostile_config import flipped
from .world import START, STRANGER, Issuer, Place, stuff

EPHEMERAL = stuff("ephemeral of hostile gate tokens", 32)
GOOD_BODY = body()
# A gate whose id begins as the front gate's does, and one that has the front gate's keys.
TWIN = Site("twin", FRONT.id[:3] + stuff("gate twin", 13), FRONT.secrets)


@dataclass(frozen=True)
class Asked:
    """The gate that is asked, and when."""

    where: Site = FRONT
    mode: int = PRODUCTION
    issuers: Sequence[bytes] = (GATE_ISSUER.public, OTHER_GATE_ISSUER.public)
    floor: int = 0
    now: int = START + 10
    secrets: Mapping[int, bytes] | None = field(default=None, hash=False)


def offer(
    comment: str, token: bytes, reason: R | None, *flags: str, asked: Asked = Asked()
) -> Block:
    block = case("open_gate_token", comment).put_all(
        gate_id=asked.where.id, mode=asked.mode, floor=asked.floor, now=asked.now
    )
    for number, secret in (asked.secrets or asked.where.secrets).items():
        block.put("gate_key", (number, secret))
    for public in asked.issuers:
        block.put("issuer", public)
    return expect(block.put("token", token), "none" if reason is None else str(int(reason)), *flags)


def signed(
    made: Body | bytes,
    where: Site = FRONT,
    number: int = 1,
    by: Issuer = GATE_ISSUER,
    header: bytes | None = None,
    signature: bytes | None = None,
) -> bytes:
    """A token of any body, rightly signed and sealed unless told otherwise."""
    raw = made if isinstance(made, bytes) else made.encoded()
    header = token_header(where.id, number) if header is None else header
    if signature is None:
        signature = sign(by.seed, signed_bytes(where.public(number), header, raw))
    return header + seal(where.public(number), EPHEMERAL, raw + signature)


GOOD = signed(GOOD_BODY)


def gates() -> Iterator[Block]:
    yield from _accepted()
    yield from _header()
    yield from _box()
    yield from _signature()
    yield from _confusion()
    yield from _ranges()
    yield from _time()
    yield from _beacons()


def _accepted() -> Iterator[Block]:
    yield offer("plain", GOOD, None)
    yield offer("under the gate's second key", signed(GOOD_BODY, number=2), None)
    other = signed(body(by=OTHER_GATE_ISSUER), by=OTHER_GATE_ISSUER)
    yield offer("by the second issuer", other, None)
    dev = signed(body(mode=DEVELOPMENT))
    yield offer("development", dev, None, asked=Asked(mode=DEVELOPMENT))
    top = signed(body(generation=GENERATION_MAX, flags=3, properties=2**32 - 1))
    yield offer("fields at their upper end", top, None, "EdgeCase")
    almost = signed(body(secret=b"\x01" + bytes(31)))
    yield offer("a secret of nearly all zeros", almost, None, "EdgeCase")


def _header() -> Iterator[Block]:
    for length in (0, 1, 8, 56, 287):
        yield offer(f"{length} bytes of it", GOOD[:length], R.TOKEN_LENGTH, "Truncated")
    yield offer("a byte more", GOOD + b"\x00", R.TOKEN_LENGTH, "Extended")
    for magic in (b"PT", b"PO", b"pg", bytes(2)):
        header = magic + token_header(FRONT.id, 1)[2:]
        token = signed(GOOD_BODY, header=header)
        yield offer(f"magic {magic.hex()}, signed so", token, R.TOKEN_MAGIC, "WrongMagic")
    for at, name in ((2, "version"), (3, "suite")):
        for value in (0, 2, 255):
            header = bytearray(token_header(FRONT.id, 1))
            header[at] = value
            token = signed(GOOD_BODY, header=bytes(header))
            yield offer(f"{name} {value}", token, R.TOKEN_VERSION, "UnknownVersion")
    yield offer("another hint", flipped(GOOD, 7), R.TOKEN_GATE, "WrongRecipient")
    yield offer("for another gate", signed(body(SIDE), SIDE), R.TOKEN_GATE, "WrongRecipient")
    third = signed(GOOD_BODY, header=token_header(FRONT.id, 3))
    yield offer("a key that the gate does not hold", third, R.TOKEN_KEY, "WrongKey")
    late = Asked(secrets={2: FRONT.secrets[2]})
    yield offer("a key that was rotated out", GOOD, R.TOKEN_KEY, "WrongKey", asked=late)


def _box() -> Iterator[Block]:
    for at in (8, 39, 40, 56, 150, 287):
        yield offer(f"a bit of byte {at}", flipped(GOOD, at), R.TOKEN_SEAL, "BitFlip")
    number = GOOD[:4] + u8(2) + GOOD[5:]
    yield offer("the number of the gate's other key", number, R.TOKEN_SEAL, "WrongKey")
    zeros = token_header(FRONT.id, 1) + bytes(280)
    yield offer("a box of zeros", zeros, R.TOKEN_SEAL, "LowOrderPoint")
    plain = unseal(FRONT.secrets[1], GOOD[8:])
    for name, point in attacks.LOW_ORDER[:3]:
        box = attacks.seal_to_anyone(point, FRONT.public(1), plain)
        token = token_header(FRONT.id, 1) + box
        yield offer(f"{name} as ephemeral key", token, R.TOKEN_SEAL, "LowOrderPoint")


def _signature() -> Iterator[Block]:
    raw, header = GOOD_BODY.encoded(), token_header(FRONT.id, 1)
    mine = signed_bytes(FRONT.public(1), header, raw)

    def by_issuer(comment: str, transcript: bytes, flag: str) -> Block:
        token = signed(raw, signature=sign(GATE_ISSUER.seed, transcript))
        return offer(comment, token, R.TOKEN_SIGNATURE, flag)

    yield offer("a signature of zeros", signed(raw, signature=bytes(64)), R.TOKEN_SIGNATURE, "Unsigned")
    stranger = signed(body(by=STRANGER), by=STRANGER)
    yield offer("by a stranger in its own name", stranger, R.TOKEN_ISSUER, "Stranger")
    posing = signed(GOOD_BODY, by=STRANGER)
    yield offer("by a stranger in the issuer's name", posing, R.TOKEN_SIGNATURE, "Stranger")
    named = signed(GOOD_BODY, by=OTHER_GATE_ISSUER)
    yield offer("by an issuer in another's name", named, R.TOKEN_SIGNATURE, "WrongIssuer")
    nobody = signed(replace(GOOD_BODY, issuer_id=bytes(8)))
    yield offer("an issuer id of zeros", nobody, R.TOKEN_ISSUER, "WrongIssuer")
    only = Asked(issuers=(OTHER_GATE_ISSUER.public,))
    yield offer("its issuer is not trusted here", GOOD, R.TOKEN_ISSUER, "Stranger", asked=only)
    yield by_issuer("without a label", mine[16:], "WrongLabel")
    for name in ("pfc1.token-sign.", "pfc1.order-sign.", "pfc1.gate-secret"):
        yield by_issuer(f"under the label {name}", label(name) + mine[16:], "WrongLabel")
    yield by_issuer("without the recipient", mine[:16] + mine[48:], "WrongTranscript")
    other = signed_bytes(FRONT.public(2), header, raw)
    yield by_issuer("over the gate's other key", other, "WrongRecipient")
    second = signed_bytes(FRONT.public(1), token_header(FRONT.id, 2), raw)
    yield by_issuer("over another key number", second, "WrongTranscript")
    yield by_issuer("without the header", mine[:48] + raw, "WrongTranscript")
    own = sign(GATE_ISSUER.seed, mine)
    for at, what in ((0, "mode"), (2, "flags"), (4, "generation"), (16, "end"), (88, "S")):
        token = signed(flipped(raw, at, 1), signature=own)
        yield offer(f"{what} changed after the signature", token, R.TOKEN_SIGNATURE, "BitFlip")
    malleable = signed(raw, signature=attacks.plus_order(own))
    yield offer("S + L: not reduced", malleable, R.TOKEN_SIGNATURE, "Malleable")


def _confusion() -> Iterator[Block]:
    """The gate as a lock, with every key the same."""
    lock = Place(FRONT.id, FRONT.secrets[1])
    lock_body = hostile_token.APP.body(lock, GATE_ISSUER)
    token = hostile_token.signed(lock_body, lock, GATE_ISSUER)
    yield offer("a lock's token by the gate's issuer", token, R.TOKEN_MAGIC, "WrongMagic")
    header = token_header(FRONT.id, 1)
    yield offer(
        "a lock's token behind a gate's header", header + token[8:], R.TOKEN_SIGNATURE, "WrongLabel"
    )
    raw = lock_body.encoded()
    named = raw[:64] + GATE_ISSUER.id + raw[72:]
    yield offer("a lock's body, signed for a gate", signed(named), R.TOKEN_FORM, "Literal")
    for form in (0, 1, 2, 4, 255):
        odd = signed(replace(GOOD_BODY, form=form))
        yield offer(f"form {form}", odd, R.TOKEN_FORM, "OutOfRange")
    twin = signed(body(TWIN), TWIN)
    yield offer("a gate with the same hint and key", twin, R.TOKEN_GATE, "WrongRecipient")
    dev = signed(body(mode=DEVELOPMENT))
    yield offer("development at a production gate", dev, R.TOKEN_MODE, "WrongMode")
    at_dev = Asked(mode=DEVELOPMENT)
    yield offer("production at a development gate", GOOD, R.TOKEN_MODE, "WrongMode", asked=at_dev)
    both = signed(replace(GOOD_BODY, gate_id=TWIN.id, mode=DEVELOPMENT, form=1))
    yield offer("another gate, mode and form", both, R.TOKEN_GATE, "Precedence")
    form = signed(replace(GOOD_BODY, form=1, generation=0))
    yield offer("another form, and out of range", form, R.TOKEN_FORM, "Precedence")


def _ranges() -> Iterator[Block]:
    cases: tuple[tuple[str, dict], ...] = (
        ("flag 2", {"flags": 4}),
        ("flag 15", {"flags": 0x8000}),
        ("generation 0", {"generation": 0}),
        ("generation 2^32 - 1", {"generation": 2**32 - 1}),
        ("issued in second 0", {"issued": 0}),
        ("over before its issue", {"not_after": START - 1}),
        ("never seen", {"first_seen": 0}),
        ("first seen after its issue", {"first_seen": START + 1}),
        ("an instance id of zeros", {"instance_id": bytes(16)}),
        ("an ARC with a digit it has not", {"arc": b"ABCDEFGH21"}),
        ("an ARC in lower case", {"arc": b"abcdefgh27"}),
        ("an ARC that ends early", {"arc": b"ABCDEFGH2\x00"}),
        ("a reserved byte", {"zero": b"\x01\x00"}),
        ("the other reserved byte", {"zero": b"\x00\x80"}),
        ("a finding twice", {"findings": bytes((2, 5, 2, 5)) + bytes(28)}),
        ("findings out of order", {"findings": bytes((3, 1, 2, 5)) + bytes(28)}),
        ("a finding after the end", {"findings": bytes(2) + bytes((2, 5)) + bytes(28)}),
        ("a finding of class 4", {"findings": bytes((4, 1)) + bytes(30)}),
        ("a finding of class 0", {"findings": bytes((0, 1)) + bytes(30)}),
        ("a finding of number 0", {"findings": bytes((2, 0)) + bytes(30)}),
    )
    for comment, other in cases:
        yield offer(comment, signed(replace(GOOD_BODY, **other)), R.TOKEN_RANGE, "OutOfRange")
    zero = signed(replace(GOOD_BODY, secret=bytes(32)))
    yield offer("a secret of zeros", zero, R.TOKEN_RANGE, "ZeroSecret")
    empty = signed(bytes(BODY_BYTES))
    yield offer("a body of zeros", empty, R.TOKEN_ISSUER, "ZeroSecret")


def _time() -> Iterator[Block]:
    def at(now: int, floor: int = 0) -> Asked:
        return Asked(now=now, floor=floor)

    edge = "EdgeCase"
    yield offer("issued 300 s ahead", GOOD, None, edge, asked=at(START - 300))
    yield offer("issued 301 s ahead", GOOD, R.TOKEN_AHEAD, "WrongTime", asked=at(START - 301))
    yield offer("a gate whose time is 0", GOOD, R.TOKEN_AHEAD, "WrongTime", asked=at(0))
    yield offer("its last second", GOOD, None, edge, asked=at(START + 3600))
    yield offer("a second later", GOOD, R.TOKEN_EXPIRED, "WrongTime", asked=at(START + 3601))
    yield offer("the end of time", GOOD, R.TOKEN_EXPIRED, "WrongTime", asked=at(2**64 - 1))
    day = signed(body(not_after=START + 86400))
    yield offer("a life of a day", day, None, edge)
    long = signed(body(not_after=START + 86401))
    yield offer("a second more than a day", long, R.TOKEN_LIFE, "WrongTime")
    endless = signed(body(not_after=2**64 - 1))
    yield offer("a life without end", endless, R.TOKEN_LIFE, "WrongTime")
    wraps = signed(body(issued=2**64 - 5, not_after=2**64 - 1, first_seen=1))
    yield offer("issued at the end of time", wraps, R.TOKEN_AHEAD, "WrongTime")
    at_floor = at(START + 10, START)
    yield offer("issued at the floor", GOOD, None, edge, asked=at_floor)
    above = at(START + 10, START + 1)
    yield offer("issued a second below the floor", GOOD, R.TOKEN_SUPERSEDED, "WrongTime", asked=above)
    both = at(START + 3601, START + 1)
    yield offer("expired and below the floor", GOOD, R.TOKEN_EXPIRED, "Precedence", asked=both)
    far = at(0, START + 1)
    yield offer("lives too long, and is ahead", long, R.TOKEN_LIFE, "Precedence", asked=far)


def _beacons() -> Iterator[Block]:
    good = beacon_message(FRONT.beacon_key, START)

    def read(comment: str, message: bytes, word: str, *flags: str) -> Block:
        return expect(case("read_beacon", comment).put("message", message), word, *flags)

    yield read("a beacon", good, "none")
    yield read("nearly zeros", good[:5] + bytes(3) + b"\x01", "none", "EdgeCase")
    yield read("the last interval", u8(0x14) + b"\xff" * 8, "none", "EdgeCase")
    for length in (0, 1, 8):
        yield read(f"{length} bytes of it", good[:length], "malformed", "Truncated")
    yield read("a byte more", good + b"\x00", "malformed", "Extended")
    for first in (0x10, 0x11, 0x12, 0x13, 0x15, 0x00, 0xFF):
        yield read(f"first byte {first:#04x}", u8(first) + good[1:], "malformed", "WrongMagic")
    for first in (0x04, 0x24, 0xF4):
        yield read(f"first byte {first:#04x}", u8(first) + good[1:], "too-new", "UnknownVersion")
    yield read("a beacon of zeros", good[:5] + bytes(4), "malformed", "OutOfRange")
