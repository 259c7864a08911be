# SPDX-License-Identifier: Apache-2.0

"""Tokens that the hardware refuses. Each is what an attacker could send, or a defect could make."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from blocks import Block, case
from proofspec.basics import DEVELOPMENT, FOREVER, GENERATION_MAX, PRODUCTION, label, u8, u16
from proofspec.curves import sign, unseal
from proofspec.keys import LITERAL, Secrets, issuer_id
from proofspec.order import EPOCH, create_order
from proofspec.token import BODY_BYTES, Body, seal_token, signed_bytes, token_header

from . import attacks, world
from .hostile import expect
from .hostile_config import flipped
from .world import BACKEND, DOOR, GATE, OTHER_BACKEND, START, STRANGER, Issuer, Place, stuff

APP = world.app("one")
BODY = APP.body()
EPHEMERAL = stuff("ephemeral of hostile tokens", 32)
# Hardware whose ids begin alike, so that the hint fits both.
TWIN = Place(DOOR.id[:4] + stuff("twin", 12), stuff("twin's secret", 32))
TENANT = Place(TWIN.id, DOOR.secret)


@dataclass(frozen=True)
class Lock:
    """The hardware that is asked."""

    where: Place = DOOR
    mode: int = PRODUCTION
    literal: bool = False
    issuers: Sequence[bytes] = (BACKEND.public, OTHER_BACKEND.public)


def offer(comment: str, token: bytes, word: str, *flags: str, lock: Lock = Lock()) -> Block:
    block = case("open_token", comment).put_all(
        hardware_id=lock.where.id,
        hardware_secret=lock.where.secret,
        mode=lock.mode,
        literal=lock.literal,
    )
    for public in lock.issuers:
        block.put("issuer", public)
    if lock.where.factory_secret:
        block.put_all(drawn=lock.where.drawn, factory_secret=lock.where.factory_secret)
    return expect(block.put("token", token), word, *flags)


def signed(
    body: Body | bytes,
    where: Place = DOOR,
    by: Issuer = BACKEND,
    header: bytes | None = None,
    signature: bytes | None = None,
) -> bytes:
    """A token of any body, rightly signed and sealed unless told otherwise."""
    raw = body if isinstance(body, bytes) else body.encoded()
    header = token_header(where.id) if header is None else header
    if signature is None:
        signature = sign(by.seed, signed_bytes(where.public, header, raw))
    return seal_token(where.public, EPHEMERAL, header, raw + signature)


GOOD = signed(BODY)


def tokens() -> Iterator[Block]:
    yield from _accepted()
    yield from _header()
    yield from _box()
    yield from _signature()
    yield from _curve()
    yield from _address()
    yield from _mode()
    yield from _ranges()
    yield from _precedence()


def _accepted() -> Iterator[Block]:
    edge = "EdgeCase"
    yield offer("plain", GOOD, "none")
    other = signed(APP.body(by=OTHER_BACKEND), by=OTHER_BACKEND)
    yield offer("by the second issuer", other, "none")
    literal = signed(APP.body(form=LITERAL))
    yield offer("literal where it is allowed", literal, "none", lock=Lock(literal=True))
    dev = signed(APP.body(mode=DEVELOPMENT))
    yield offer("development", dev, "none", lock=Lock(mode=DEVELOPMENT))
    low = APP.body(integrity_classes=1, device_classes=0, attempts=1, uses=1, issued=1)
    yield offer("every field at its lower end", signed(low), "none", edge)
    high = APP.body(
        integrity_classes=0xFFFF,
        device_classes=0xFFFF,
        attempts=0xFFFF,
        uses=FOREVER,
        generation=GENERATION_MAX,
        issued=2**64 - 1,
        not_after=2**64 - 1,
    )
    yield offer("every field at its upper end", signed(high), "none", edge)
    yield offer("ends when it was issued", signed(APP.body(not_after=START)), "none", edge)
    almost = Secrets(*(b"\x01" + bytes(n - 1) for n in (16, 32, 16, 32)))
    yield offer("secrets of nearly all zeros", signed(replace(BODY, secrets=almost)), "none", edge)


def _header() -> Iterator[Block]:
    for length in (0, 1, 7, 8, 40, 56, 224, 287):
        yield offer(f"{length} bytes of it", GOOD[:length], "malformed", "Truncated")
    yield offer("a byte more", GOOD + b"\x00", "malformed", "Extended")
    yield offer("twice", GOOD * 2, "malformed", "Extended")
    for magic in (b"PO", b"TP", b"pt", bytes(2)):
        comment = f"magic {magic.hex()}"
        yield offer(comment, magic + GOOD[2:], "malformed", "WrongMagic")
        header = magic + token_header(DOOR.id)[2:]
        sealed = signed(BODY, header=header)
        yield offer(f"{comment}, signed so", sealed, "malformed", "WrongMagic")
    order = create_order(BACKEND.seed, EPOCH, START, DOOR.id)
    padded = order + bytes(288 - len(order))
    yield offer("an order, padded", padded, "malformed", "WrongMagic")
    for at, what in ((2, "version"), (3, "suite")):
        for value in (0, 3, 255) if what == "version" else (0, 2, 255):
            header = bytearray(token_header(DOOR.id))
            header[at] = value
            sealed = signed(BODY, header=bytes(header))
            yield offer(f"{what} {value}, signed so", sealed, "too-new", "UnknownVersion")
    yield offer("a bit of the version", flipped(GOOD, 2, 1), "too-new", "BitFlip")
    for at in (4, 7):
        yield offer(f"a bit of the hint, byte {at}", flipped(GOOD, at), "not-for-me", "BitFlip")
    gate = signed(APP.body(GATE), GATE)
    yield offer("the token for the gate", gate, "not-for-me", "WrongRecipient")


def _box() -> Iterator[Block]:
    for at, what in (
        (8, "the ephemeral key"),
        (39, "the ephemeral key's last byte"),
        (40, "the authenticator"),
        (55, "the authenticator's last byte"),
        (56, "the body"),
        (128, "K_hw"),
        (223, "DM_hw"),
        (224, "the signature"),
        (-1, "the last byte"),
    ):
        yield offer(f"a bit of {what}", flipped(GOOD, at, 3), "not-for-me", "BitFlip")
    gate = signed(APP.body(GATE), GATE)
    mixed = token_header(DOOR.id) + gate[8:]
    yield offer("the gate's token under the door's header", mixed, "not-for-me", "Recombined")
    plain = unseal(DOOR.secret, GOOD[8:])
    other = seal_token(DOOR.public, stuff("other ephemeral", 32), token_header(DOOR.id), plain)
    for at, what in ((40, "the ephemeral key"), (56, "the ephemeral key and authenticator")):
        halves = GOOD[:at] + other[at:]
        yield offer(f"{what} of one, the rest of another", halves, "not-for-me", "Recombined")
    zeros = token_header(DOOR.id) + bytes(280)
    yield offer("a box of zeros", zeros, "not-for-me", "LowOrderPoint")
    bare = token_header(DOOR.id) + bytes(48) + plain
    yield offer("not sealed at all", bare, "not-for-me", "LowOrderPoint", "Unsigned")
    twin = signed(APP.body(TWIN), TWIN)
    yield offer("for hardware with the same hint", twin, "not-for-me", "WrongRecipient")
    for name, point in attacks.LOW_ORDER:
        sealed = token_header(DOOR.id) + attacks.seal_to_anyone(point, DOOR.public, plain)
        comment = f"{name} as ephemeral key, the box made for it"
        yield offer(comment, sealed, "not-for-me", "LowOrderPoint")


def _signature() -> Iterator[Block]:
    raw, header = BODY.encoded(), token_header(DOOR.id)
    mine = signed_bytes(DOOR.public, header, raw)

    def by_backend(comment: str, transcript: bytes, flag: str) -> Block:
        return offer(
            comment, signed(raw, signature=sign(BACKEND.seed, transcript)), "not-signed", flag
        )

    for fill in (0x00, 0xFF):
        token = signed(raw, signature=bytes([fill]) * 64)
        yield offer(f"signature of bytes {fill:#04x}", token, "not-signed", "Unsigned")
    stranger = signed(APP.body(by=STRANGER), by=STRANGER)
    yield offer("by a stranger, in his own name", stranger, "not-signed", "Stranger")
    posing = signed(BODY, by=STRANGER)
    yield offer("by a stranger, in the backend's name", posing, "not-signed", "Stranger")
    named = signed(BODY, by=OTHER_BACKEND)
    yield offer("by an issuer in another's name", named, "not-signed", "WrongIssuer")
    yield offer("no issuer is known", GOOD, "not-signed", "Stranger", lock=Lock(issuers=()))
    only = Lock(issuers=(OTHER_BACKEND.public,))
    yield offer("its issuer is not known here", GOOD, "not-signed", "Stranger", lock=only)
    nobody = signed(replace(BODY, issuer_id=bytes(8)))
    yield offer("issuer id of zeros", nobody, "not-signed", "WrongIssuer")
    near = signed(replace(BODY, issuer_id=flipped(BACKEND.id, 7)))
    yield offer("a bit of the issuer id, signed so", near, "not-signed", "WrongIssuer")
    yield by_backend("without a label", mine[16:], "WrongLabel")
    for name in ("pfc1.order-sign.", "pfc1.token-id...", "pfc1.issuer-id.."):
        yield by_backend(f"under the label {name}", label(name) + mine[16:], "WrongLabel")
    yield by_backend("without the recipient", mine[:16] + mine[48:], "WrongTranscript")
    gate = signed_bytes(GATE.public, header, raw)
    yield by_backend("over the gate's public key", gate, "WrongRecipient")
    yield by_backend(
        "over a public key of zeros", mine[:16] + bytes(32) + mine[48:], "WrongTranscript"
    )
    yield by_backend("over the recipient's id", mine[:16] + DOOR.id + mine[48:], "WrongTranscript")
    yield by_backend("without the header", mine[:48] + raw, "WrongTranscript")
    hint = signed_bytes(DOOR.public, token_header(GATE.id), raw)
    yield by_backend("over another hint", hint, "WrongTranscript")
    yield by_backend("over the header alone", mine[:56], "WrongTranscript")
    yield by_backend("over the body alone", raw, "WrongTranscript")
    yield by_backend("without the body's last byte", mine[:-1], "WrongTranscript")
    yield by_backend("over the body twice", mine + raw, "WrongTranscript")
    own = sign(BACKEND.seed, mine)
    for at, what in ((0, "mode"), (2, "classes"), (8, "uses"), (12, "generation"), (16, "end")):
        token = signed(flipped(raw, at, 1), signature=own)
        yield offer(f"{what} changed after the signature", token, "not-signed", "BitFlip")
    mallory = signed(replace(BODY, secrets=world.bare_app("two").at(DOOR)), signature=own)
    yield offer("another's secrets after the signature", mallory, "not-signed", "Recombined")
    older = signed(replace(BODY, generation=2), signature=own)
    yield offer(
        "a later generation with the first one's signature", older, "not-signed", "Recombined"
    )
    resealed = seal_token(DOOR.public, stuff("own", 32), header, gate_plain())
    yield offer("the gate opened it and sealed it to the door", resealed, "not-signed", "Resealed")
    twin = unseal(TWIN.secret, signed(APP.body(TWIN), TWIN)[8:])
    yield offer(
        "hardware with the same hint sealed its own to the door",
        seal_token(DOOR.public, stuff("own", 32), header, twin),
        "not-signed",
        "Resealed",
    )
    swapped = unseal(DOOR.secret, GOOD[8:])
    halves = swapped[BODY_BYTES:] + swapped[:BODY_BYTES]
    turned = seal_token(DOOR.public, EPHEMERAL, header, halves)
    yield offer("signature before body", turned, "not-signed", "Recombined")
    for at in (0, 31, 32, 63):
        token = signed(raw, signature=flipped(own, at))
        yield offer(f"a bit of the signature, byte {at}", token, "not-signed", "BitFlip")
    token = signed(raw, signature=own[32:] + own[:32])
    yield offer("S before R", token, "not-signed", "Recombined")


def gate_plain() -> bytes:
    """A token for the gate, as the gate's owner sees it."""
    return unseal(GATE.secret, signed(APP.body(GATE), GATE)[8:])


def _curve() -> Iterator[Block]:
    raw, header = BODY.encoded(), token_header(DOOR.id)
    mine = signed_bytes(DOOR.public, header, raw)
    own = sign(BACKEND.seed, mine)
    token = signed(raw, signature=attacks.plus_order(own))
    yield offer("S + L: not reduced", token, "not-signed", "Malleable")
    top = own[:63] + bytes([own[63] | 0x80])
    yield offer("S with its highest bit set", signed(raw, signature=top), "not-signed", "Malleable")
    zero = own[:32] + bytes(32)
    yield offer("S of zero", signed(raw, signature=zero), "not-signed", "Unsigned")
    for name, r in (
        ("the identity", attacks.IDENTITY),
        ("the identity, not reduced", attacks.NON_CANONICAL_IDENTITY),
    ):
        forged = attacks.sign_with_r_of_zero(BACKEND.seed, BACKEND.public, mine, r)
        token = signed(raw, signature=forged)
        yield offer(f"R is {name}, S fits", token, "not-signed", "SmallOrder")
    for name, point in attacks.SMALL_ORDER:
        body = replace(BODY, issuer_id=issuer_id(point)).encoded()
        forged = attacks.sign_for_small_order(point, signed_bytes(DOOR.public, header, body))
        lock = Lock(issuers=(BACKEND.public, point))
        token = signed(body, signature=forged)
        comment = f"an issuer's key is {name}: nobody signed"
        yield offer(comment, token, "not-signed", "SmallOrder", lock=lock)


def _address() -> Iterator[Block]:
    body = replace(BODY, hardware_id=TWIN.id)
    yield offer("another id with the same hint", signed(body), "not-for-me", "WrongRecipient")
    yield offer(
        "the key was given to hardware with another id",
        GOOD,
        "not-for-me",
        "WrongRecipient",
        lock=Lock(TENANT),
    )
    body = replace(BODY, hardware_id=GATE.id)
    yield offer("another id, signed to the door", signed(body), "not-for-me", "WrongRecipient")
    body = replace(BODY, hardware_id=bytes(16))
    yield offer("an id of zeros", signed(body), "not-for-me", "WrongRecipient")


def _mode() -> Iterator[Block]:
    dev = signed(APP.body(mode=DEVELOPMENT))
    yield offer("development at a production lock", dev, "wrong-mode", "WrongMode")
    at_dev = Lock(mode=DEVELOPMENT)
    yield offer("production at a development lock", GOOD, "wrong-mode", "WrongMode", lock=at_dev)
    for mode in (0, 3, 255):
        token = signed(replace(BODY, mode=mode))
        yield offer(f"mode {mode}", token, "wrong-mode", "OutOfRange")
    literal = signed(APP.body(form=LITERAL))
    yield offer("literal where it is not allowed", literal, "wrong-mode", "Literal")
    both = signed(APP.body(form=LITERAL, mode=DEVELOPMENT))
    yield offer("literal, development lock", both, "wrong-mode", "Literal", lock=at_dev)
    lock = Lock(literal=True)
    yield offer("development where literal is allowed", both, "wrong-mode", "WrongMode", lock=lock)


def _ranges() -> Iterator[Block]:
    for form in (0, 3, 255):
        raw = u8(1) + u8(form) + BODY.encoded()[2:]
        yield offer(f"form {form}", signed(raw), "malformed", "OutOfRange")
    yield offer(
        "form 3 where literal is allowed",
        signed(u8(1) + u8(3) + BODY.encoded()[2:]),
        "malformed",
        "OutOfRange",
        lock=Lock(literal=True),
    )
    cases: tuple[tuple[str, dict], ...] = (
        ("no class at all", {"integrity_classes": 0, "device_classes": 0}),
        ("classes for a device match only", {"integrity_classes": 0, "device_classes": 1}),
        ("a device class more", {"integrity_classes": 0x0007, "device_classes": 0x000F}),
        ("disjoint device classes", {"integrity_classes": 0x0007, "device_classes": 0x0008}),
        ("device class 15", {"integrity_classes": 0x7FFF, "device_classes": 0x8000}),
        ("no attempts", {"attempts": 0}),
        ("no uses", {"uses": 0}),
        ("generation 0", {"generation": 0}),
        ("generation 2^32 - 1", {"generation": 2**32 - 1}),
        ("ends a second before its issue", {"not_after": START - 1}),
        ("ends in second 1", {"not_after": 1}),
        ("issued in second 0", {"issued": 0}),
        ("issued in second 0, with an end", {"issued": 0, "not_after": START}),
        ("instance id of zeros", {"instance_id": bytes(16)}),
    )
    for comment, fields in cases:
        token = signed(replace(BODY, **fields))
        yield offer(comment, token, "malformed", "OutOfRange")
    s = BODY.secrets
    for comment, secrets in (
        ("K_hw", replace(s, key=bytes(16))),
        ("IM_hw", replace(s, im=bytes(32))),
        ("DPK_hw", replace(s, device_key=bytes(16))),
        ("DM_hw", replace(s, dm=bytes(32))),
        ("all secrets", Secrets(bytes(16), bytes(32), bytes(16), bytes(32))),
    ):
        token = signed(replace(BODY, secrets=secrets))
        yield offer(f"{comment} of zeros", token, "malformed", "ZeroSecret")
    yield offer("a body of zeros, signed", signed(bytes(168)), "not-signed", "ZeroSecret")
    only = bytes(32) + DOOR.id + bytes(16) + BACKEND.id + bytes(96)
    yield offer(
        "zeros but for id and issuer", signed(only), "wrong-mode", "ZeroSecret", "Precedence"
    )
    named = u8(1) + u8(1) + only[2:]
    yield offer("zeros but for mode, form, id, issuer", signed(named), "malformed", "ZeroSecret")


def _precedence() -> Iterator[Block]:
    first = "Precedence"
    yield offer("short and a version too new", b"PT\x02", "malformed", "Truncated", first)
    header = bytearray(token_header(GATE.id))
    header[2] = 3
    new = signed(BODY, header=bytes(header))
    yield offer("a version too new and for another", new, "too-new", "UnknownVersion", first)
    dev = signed(APP.body(mode=DEVELOPMENT), by=STRANGER)
    yield offer("not signed and of the wrong mode", dev, "not-signed", "Stranger", first)
    far = signed(replace(BODY, hardware_id=TWIN.id), by=STRANGER)
    yield offer("not signed and for another", far, "not-signed", "Stranger", first)
    odd = signed(replace(BODY, uses=0), by=STRANGER)
    yield offer("not signed and out of range", odd, "not-signed", "Stranger", first)
    away = signed(replace(BODY, hardware_id=TWIN.id, mode=DEVELOPMENT))
    yield offer("for another and of the wrong mode", away, "not-for-me", "WrongRecipient", first)
    wrong = signed(replace(BODY, mode=DEVELOPMENT, uses=0))
    yield offer("of the wrong mode and out of range", wrong, "wrong-mode", "WrongMode", first)
    classes = u8(1) + u8(2) + u16(0) + BODY.encoded()[4:]
    yield offer("literal and out of range", signed(classes), "wrong-mode", "Literal", first)
