# SPDX-License-Identifier: Apache-2.0

"""Tokens of version 2 and of suite 2 that the hardware refuses."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block
from proofspec.basics import DEVELOPMENT, GENERATION_MAX, label
from proofspec.curves import box, shared_secret, sign, unseal
from proofspec.keys import LITERAL
from proofspec.token import (
    SUITE_FACTORY,
    UPCOMING,
    VERSION,
    VERSION_2,
    Body,
    factory_secret,
    seal_token,
    seal_token_2,
    signed_bytes,
    signed_bytes_2,
    token_header,
    transcript,
    unseal_token_2,
)

from . import attacks
from .hostile_config import flipped
from .hostile_token import APP, EPHEMERAL, TWIN, Lock, offer
from .world import BACKEND, DOOR, SAFE, STRANGER, Issuer, Place, stuff

S = SAFE.factory_secret
AT_SAFE = Lock(SAFE)
BODY = APP.body_2(SAFE)
HEAD = token_header(DOOR.id, VERSION_2, SUITE_FACTORY)
HEAD_1 = token_header(DOOR.id, VERSION_2)


def sealed(
    body: Body | bytes,
    where: Place = SAFE,
    by: Issuer = BACKEND,
    header: bytes | None = None,
    s: bytes | None = None,
    signature: bytes | None = None,
) -> bytes:
    """A token of version 2, by the suite that the place demands unless told otherwise."""
    raw = body if isinstance(body, bytes) else body.encoded()
    s = where.factory_secret if s is None else s
    if header is None:
        header = token_header(where.id, VERSION_2, SUITE_FACTORY if s else 1)
    if signature is None:
        signature = sign(by.seed, transcript(where.public, header, raw, where.id))
    plain = raw + signature
    if s:
        return seal_token_2(s, where.public, EPHEMERAL, where.id, header, plain)
    return seal_token(where.public, EPHEMERAL, header, plain)


GOOD = sealed(BODY)
PLAIN = unseal_token_2(S, SAFE.secret, SAFE.id, GOOD)


def tokens() -> Iterator[Block]:
    yield from _accepted()
    yield from _secrets()
    yield from _downgrades()
    yield from _box()
    yield from _signature()
    yield from _reserved()
    yield from _ranges()


def _accepted() -> Iterator[Block]:
    yield offer("version 2, suite 2", GOOD, "none", lock=AT_SAFE)
    yield offer("version 2, suite 1, no factory secret", sealed(BODY, DOOR), "none")
    literal = sealed(APP.body_2(DOOR, form=LITERAL), DOOR)
    yield offer("version 2, literal where it is allowed", literal, "none", lock=Lock(literal=True))
    upcoming = sealed(replace(BODY, policy=UPCOMING))
    yield offer("an upcoming token", upcoming, "none", lock=AT_SAFE)
    predicted = sealed(APP.body_2(DOOR, form=LITERAL, policy=UPCOMING), DOOR)
    yield offer("an upcoming token in the literal form", predicted, "wrong-mode", "Literal", lock=Lock(literal=True))
    high = APP.body_2(
        SAFE, delegable_classes=7, generation=GENERATION_MAX, base=GENERATION_MAX
    )
    yield offer("delegable classes and base at their ends", sealed(high), "none", "EdgeCase", lock=AT_SAFE)
    low = APP.body_2(SAFE, generation=GENERATION_MAX, base=1)
    yield offer("the lowest base", sealed(low), "none", "EdgeCase", lock=AT_SAFE)


def _secrets() -> Iterator[Block]:
    wrong = "WrongFactorySecret"
    for comment, s in (
        ("a bit of the factory secret differs", flipped(S, 0)),
        ("the last bit of the factory secret differs", flipped(S, 31, 7)),
        ("sealed with F in the place of S", SAFE.drawn),
        ("the factory secret of other hardware", factory_secret(SAFE.drawn, TWIN.id)),
        ("of another factory", factory_secret(stuff("other factory", 32), SAFE.id)),
        ("a factory secret of zeros", bytes(32)),
    ):
        yield offer(comment, sealed(BODY, s=s), "not-for-me", wrong, lock=AT_SAFE)
    # An attacker with X25519 and Ed25519 broken has the box of suite 1 and every signature, and S is missing.
    public, shared = GOOD[8:40], shared_secret(SAFE.secret, GOOD[8:40])
    guess = HEAD + public + box(shared, PLAIN)
    yield offer("boxed under the X25519 secret alone", guess, "not-for-me", wrong, lock=AT_SAFE)


def _downgrades() -> Iterator[Block]:
    down = "Downgrade"
    one = APP.token(DOOR)
    yield offer("version 1 where there is a factory secret", one, "wrong-mode", down, lock=AT_SAFE)
    two = sealed(BODY, DOOR)
    yield offer("version 2, suite 1 where there is one", two, "wrong-mode", down, lock=AT_SAFE)
    box_1 = HEAD + two[8:]
    yield offer("the box of suite 1 as suite 2", box_1, "not-for-me", down, lock=AT_SAFE)
    box_2 = HEAD_1 + GOOD[8:]
    yield offer("the box of suite 2 as suite 1", box_2, "wrong-mode", down, lock=AT_SAFE)
    yield offer("the box of suite 2 as suite 1, at hardware without", box_2, "not-for-me", down)
    yield offer("suite 2 where there is no factory secret", GOOD, "too-new", "UnknownVersion")
    header = token_header(DOOR.id, VERSION, SUITE_FACTORY)
    old = sealed(APP.body(DOOR), header=header)
    yield offer("version 1 with suite 2", old, "too-new", "UnknownVersion", lock=AT_SAFE)
    for suite in (0, 3, 255):
        token = sealed(BODY, header=token_header(DOOR.id, VERSION_2, suite))
        yield offer(f"version 2, suite {suite}", token, "too-new", "UnknownVersion", lock=AT_SAFE)
    literal = sealed(APP.body_2(SAFE, form=LITERAL))
    lock = Lock(SAFE, literal=True)
    yield offer("literal by suite 2", literal, "wrong-mode", "Literal", lock=lock)
    raw_1 = APP.body(DOOR).encoded()
    as_2 = sealed(raw_1, DOOR, header=HEAD_1)
    yield offer("a body of version 1 in version 2", as_2, "too-new", "Reserved")
    as_1 = sealed(BODY, DOOR, s=b"", header=token_header(DOOR.id))
    yield offer("a body of version 2 in version 1", as_1, "not-for-me", "WrongRecipient")
    far = token_header(TWIN.id[:3] + b"\xff", VERSION_2)
    yield offer("for another, and suite 1", far + two[8:], "not-for-me", "Precedence", lock=AT_SAFE)


def _box() -> Iterator[Block]:
    for at, what in ((8, "the ephemeral key"), (40, "the authenticator"), (56, "the body"), (-1, "the last byte")):
        yield offer(f"suite 2: a bit of {what}", flipped(GOOD, at, 3), "not-for-me", "BitFlip", lock=AT_SAFE)
    for at in (4, 7):
        yield offer(f"suite 2: a bit of the hint, byte {at}", flipped(GOOD, at), "not-for-me", "BitFlip", lock=AT_SAFE)
    other = Place(TWIN.id, SAFE.secret, SAFE.drawn)
    twin = sealed(APP.body_2(other), other)
    yield offer("suite 2, for hardware with the same hint and key", twin, "not-for-me", "WrongRecipient", lock=AT_SAFE)
    key = Place(SAFE.id, TWIN.secret, SAFE.drawn)
    yield offer("suite 2, to another key", sealed(BODY, key), "not-for-me", "WrongRecipient", lock=AT_SAFE)
    for name, point in attacks.LOW_ORDER:
        forged = attacks.box_2_to_anyone(point, S, SAFE.public, SAFE.id, HEAD, PLAIN)
        comment = f"suite 2: {name} as ephemeral key, the box made for it"
        yield offer(comment, HEAD + forged, "not-for-me", "LowOrderPoint", lock=AT_SAFE)


def _signature() -> Iterator[Block]:
    raw = BODY.encoded()
    mine = signed_bytes_2(SAFE.public, SAFE.id, HEAD, raw)

    def by_backend(comment: str, words: bytes, flag: str) -> Block:
        token = sealed(raw, signature=sign(BACKEND.seed, words))
        return offer(f"version 2 {comment}", token, "not-signed", flag, lock=AT_SAFE)

    yield by_backend("under the label of version 1", label("pfc1.token-sign.") + mine[16:], "WrongLabel")
    yield by_backend("signed as version 1", signed_bytes(SAFE.public, HEAD, raw), "WrongTranscript")
    yield by_backend("without the hardware id", mine[:48] + mine[64:], "WrongTranscript")
    twin = signed_bytes_2(SAFE.public, TWIN.id, HEAD, raw)
    yield by_backend("over another hardware id with the same hint", twin, "WrongRecipient")
    yield by_backend("over the header of suite 1", signed_bytes_2(SAFE.public, SAFE.id, HEAD_1, raw), "WrongTranscript")
    yield by_backend("over the factory secret, too", mine + S, "WrongTranscript")
    stranger = sealed(APP.body_2(SAFE, by=STRANGER), by=STRANGER)
    yield offer("suite 2, by a stranger", stranger, "not-signed", "Stranger", lock=AT_SAFE)
    tenant = Lock(Place(TWIN.id, DOOR.secret))
    yield offer("version 2: the key was given to hardware with another id", sealed(BODY, DOOR), "not-signed",
                "WrongRecipient", lock=tenant)
    plain = unseal(DOOR.secret, sealed(BODY, DOOR)[8:])
    resealed = seal_token_2(S, SAFE.public, stuff("own", 32), SAFE.id, HEAD, plain)
    yield offer("opened by suite 1 and sealed by suite 2", resealed, "not-signed", "Resealed", lock=AT_SAFE)


def _reserved() -> Iterator[Block]:
    for policy in (3, *(1 << bit for bit in (4, 6, 7)), 0x23, 0x81, 0xFF):
        token = sealed(replace(BODY, policy=policy))
        yield offer(f"policy {policy:#04x}", token, "too-new", "Reserved", lock=AT_SAFE)
    for comment, fields in (
        ("the byte behind the policy", {"zero": 1}),
        ("the extension's first bit", {"extension": b"\x01" + bytes(7)}),
        ("the extension's last bit", {"extension": bytes(7) + b"\x80"}),
    ):
        yield offer(comment, sealed(replace(BODY, **fields)), "too-new", "Reserved", lock=AT_SAFE)
    first = "Precedence"
    both = sealed(replace(BODY, policy=0x10, integrity_classes=0, device_classes=0))
    yield offer("a reserved bit, and no class", both, "too-new", "Reserved", first, lock=AT_SAFE)
    wrong = sealed(replace(BODY, policy=0x40, mode=DEVELOPMENT))
    yield offer("a reserved bit, and the wrong mode", wrong, "too-new", "Reserved", first, lock=AT_SAFE)
    posing = sealed(replace(BODY, policy=0x40), by=STRANGER)
    yield offer("a reserved bit, not signed", posing, "not-signed", "Stranger", first, lock=AT_SAFE)


def _ranges() -> Iterator[Block]:
    cases: tuple[tuple[str, dict], ...] = (
        ("base 0", {"base": 0}),
        ("a base above the generation", {"generation": 3, "base": 4}),
        ("a delegable class more", {"delegable_classes": 0x0008}),
        ("delegable class 15", {"delegable_classes": 0x8000}),
        ("version 2 without a class", {"integrity_classes": 0, "device_classes": 0}),
        ("version 2 without uses", {"uses": 0}),
        ("version 2, instance id of zeros", {"instance_id": bytes(16)}),
    )
    for comment, fields in cases:
        token = sealed(replace(BODY, **fields))
        yield offer(comment, token, "malformed", "OutOfRange", lock=AT_SAFE)
    dev = sealed(APP.body_2(SAFE, mode=DEVELOPMENT))
    yield offer("version 2, development", dev, "wrong-mode", "WrongMode", lock=AT_SAFE)
