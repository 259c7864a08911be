# SPDX-License-Identifier: Apache-2.0

"""Section 15: the compact token of requests and events."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from .basics import Reader, is_zero, label, mac, same, u8, u16, u32, xor
from .gate import NO_BEACON, Keys, Refused, decode_text, encode_text
from .refusals import Refusal, refuse

REQUEST, BODY, EVENT = 1, 2, 3
KINDS = (REQUEST, BODY, EVENT)
LABELS = {REQUEST: "pfc1.mac-request", BODY: "pfc1.mac-body...", EVENT: "pfc1.mac-event.."}
BYTES, TEXT, TAG_BYTES = 66, 88, 24
ERROR, YOUNG = 1, 2
KEPT = 64


@dataclass(frozen=True)
class Subject:
    """Values that a token is bound to; `body` only for requests."""

    account: bytes
    digest: bytes
    body: bytes


@dataclass(frozen=True)
class Fields:
    """The plain part, but for hints and generation."""

    created: int
    event: int
    start: int
    count: int
    flags: int
    measured: int
    beacon: bytes


@dataclass(frozen=True)
class Rules:
    now: int
    window: int
    newest: int
    event: int
    measured_max: int
    unanchored: bool
    beacons: Collection[bytes]


def head(kind: int, account_key: int, handle: bytes) -> bytes:
    return u8(0x10 | kind) + u8(account_key) + handle


def body_hint(kind: int, fields: Fields, subject: Subject) -> bytes:
    """The two bytes of `event`."""
    if kind == EVENT:
        return u16(fields.event)
    return subject.body[:2] if kind == REQUEST else bytes(2)


def plain_part(kind: int, fields: Fields, subject: Subject, generation: int) -> bytes:
    return (
        u32(fields.created)
        + body_hint(kind, fields, subject)
        + u32(fields.start)
        + u32(fields.count)
        + u8(fields.flags)
        + u8(fields.measured)
        + subject.account[:1]
        + subject.digest[:1]
        + fields.beacon
        + u16(generation)
    )


def tag_of(kind: int, start: bytes, plain: bytes, subject: Subject, keys: Keys) -> bytes:
    message = label(LABELS[kind]) + start + plain + subject.account + subject.digest
    return mac(keys.tag, message)[:TAG_BYTES]


def mask_of(tag: bytes, keys: Keys) -> bytes:
    return mac(keys.mask, label("pfc1.mask.......") + tag)[:24]


def seal_plain(kind: int, account_key: int, plain: bytes, subject: Subject, keys: Keys) -> bytes:
    """A token of any plain part."""
    start = head(kind, account_key, keys.handle)
    tag = tag_of(kind, start, plain, subject, keys)
    return start + xor(plain, mask_of(tag, keys)) + tag


def make(kind: int, account_key: int, fields: Fields, subject: Subject, keys: Keys) -> bytes:
    if kind not in KINDS or keys.is_event != (kind == EVENT) or fields.flags > 3:
        raise ValueError("a token that is never valid")
    plain = plain_part(kind, fields, subject, keys.generation)
    return seal_plain(kind, account_key, plain, subject, keys)


def make_error(kind: int, cause: int, random: bytes) -> bytes:
    """An error is made with no key: 47 random bytes behind the cause."""
    return head(kind, 0, bytes(16)) + u8(cause) + random


def to_text(token: bytes) -> str:
    return encode_text(token)


def from_text(text: str) -> bytes:
    if len(text) != TEXT:
        refuse(Refusal.TEXT)
    try:
        return decode_text(text)
    except Refused:
        refuse(Refusal.TEXT)


def check(token: bytes, kind: int, subject: Subject, keys: Keys) -> Fields:
    """Steps 2 to 10."""
    if len(token) != BYTES:
        refuse(Refusal.LENGTH)
    if token[0] >> 4 != 1:
        refuse(Refusal.VERSION)
    if token[0] & 15 != kind:
        refuse(Refusal.KIND)
    if is_zero(token[2:18]):
        refuse(Refusal.ERROR_STATE)
    if token[2:18] != keys.handle or keys.is_event != (kind == EVENT):
        refuse(Refusal.HANDLE)
    tag = token[42:]
    plain = xor(token[18:42], mask_of(tag, keys))
    r = Reader(plain)
    created, hint, start, count = r.uint(4), r.take(2), r.uint(4), r.uint(4)
    flags, measured, account_hint, digest_hint = r.uint(1), r.uint(1), r.take(1), r.take(1)
    beacon, generation = r.take(4), r.uint(2)
    if not same(tag_of(kind, token[:18], plain, subject, keys), tag):
        if generation != keys.generation or flags > 3 or count == 0:
            refuse(Refusal.TAG)
        if account_hint != subject.account[:1]:
            refuse(Refusal.OTHER_ACCOUNT)
        if kind == REQUEST and hint != subject.body[:2]:
            refuse(Refusal.OTHER_BODY)
        if digest_hint != subject.digest[:1]:
            others = {REQUEST: Refusal.OTHER_REQUEST, BODY: Refusal.OTHER_BODY}
            refuse(others.get(kind, Refusal.OTHER_DATA))
        refuse(Refusal.TAG)
    event = int.from_bytes(hint, "little")
    fields = Fields(created, event, start, count, flags, measured, beacon)
    if flags > 3 or created == 0 or count == 0 or hint != body_hint(kind, fields, subject):
        refuse(Refusal.RESERVED)
    if generation != keys.generation:
        refuse(Refusal.GENERATION)
    if flags & ERROR:
        refuse(Refusal.ERROR_STATE)
    return fields if kind == EVENT else replace(fields, event=0)


def judge(fields: Fields, rules: Rules) -> None:
    """Steps 11 to 16."""
    if fields.event != rules.event:
        refuse(Refusal.EVENT)
    if fields.created > rules.now + rules.window:
        refuse(Refusal.AHEAD)
    if rules.now > fields.created + rules.window:
        refuse(Refusal.STALE)
    anchored = fields.beacon != NO_BEACON and fields.beacon in rules.beacons
    if not anchored and not rules.unanchored:
        refuse(Refusal.UNANCHORED)
    if fields.measured > rules.measured_max:
        refuse(Refusal.MEASURED)
    if rules.newest - fields.count >= KEPT:
        refuse(Refusal.KEPT)
