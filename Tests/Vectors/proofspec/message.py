# SPDX-License-Identifier: Apache-2.0

"""Section 10: the messages."""

from dataclasses import dataclass, replace
from enum import IntEnum

from . import ratchet as ratchets
from .basics import Reader, Refused, u8, u16, u32, u64
from .keys import Secrets
from .proof import Occasion, escort, has_ratchet, is_integrity, is_sealed, proof, recall_tag

COMMAND_BYTES_MAX = 256
STATUS_VERSION = 1
ASK_CHALLENGE, ASK_STATUS, ASK_SEALED = 1, 2, 3
NO_RECEIPT = bytes(32)


class Type(IntEnum):
    ASK = 1
    CHALLENGE = 2
    TOKEN = 3
    COMMAND = 4
    VERDICT = 5
    ORDER = 6
    RECALL = 7
    STATUS = 8
    SEALED_UP = 9
    SEALED_DOWN = 10
    LOG_ASK = 11
    LOG = 12
    GRANT = 13


class Verdict(IntEnum):
    ACCEPTED = 1
    ACCEPTED_DEVICE_ONLY = 2
    HELD = 3
    ORDER_DONE = 4
    NOT_EXECUTED = 5
    ACCEPTED_COPY = 6
    ACCEPTED_DEVICE_ONLY_COPY = 7
    READY = 8
    INTEGRITY_DIFFERS = 16
    DEVICE_DIFFERS = 17
    STALE = 18
    NOT_PERMITTED = 19
    ATTEMPTS_EXHAUSTED = 20
    USES_EXHAUSTED = 21
    UNKNOWN_INSTANCE = 22
    COPIED = 23
    NOT_FOR_ME = 32
    NOT_SIGNED = 33
    EXPIRED = 34
    SUPERSEDED = 35
    REVOKED = 36
    WRONG_MODE = 37
    NO_ROOM = 38
    TOO_NEW = 39
    MALFORMED = 48
    BUSY = 49
    FAULT = 50


# Shortest and longest message of each type; the table of section 10.
LENGTHS = {
    Type.ASK: (1, 1),
    Type.CHALLENGE: (40, 40),
    Type.TOKEN: (288, 288),
    Type.COMMAND: (58, 102 + COMMAND_BYTES_MAX),
    Type.VERDICT: (43, 43),
    Type.ORDER: (124, 124),
    Type.RECALL: (72, 72),
    Type.STATUS: (28, 28),
    Type.SEALED_UP: (25, 241),
    Type.SEALED_DOWN: (35, 35),
    Type.LOG_ASK: (24, 24),
    Type.LOG: (48, 336),
    Type.GRANT: (96, 96),
}


def length_allowed(type: int, length: int) -> bool:
    low, high = LENGTHS.get(type, (1, 0))
    # A LOG has 48 bytes, and 32 for each entry.
    return low <= length <= high and (type != Type.LOG or length % 32 == 16)


@dataclass(frozen=True)
class Command:
    kind: int
    cls: int
    instance_id: bytes
    counter: int
    integrity_proof: bytes  # empty for kinds 2 and 4
    device_proof: bytes
    command: bytes
    ratchet_tag: bytes = b""  # empty for kinds 1 and 2
    known: int = 0

    def encoded(self) -> bytes:
        return (
            u8(self.kind)
            + u8(self.cls)
            + self.instance_id
            + u64(self.counter)
            + self.integrity_proof
            + self.ratchet_tag
            + (u32(self.known) if has_ratchet(self.kind) else b"")
            + self.device_proof
            + self.command
        )


@dataclass(frozen=True)
class Recall:
    instance_id: bytes
    counter: int
    nonce: bytes
    tag: bytes

    def encoded(self) -> bytes:
        return self.instance_id + u64(self.counter) + self.nonce + self.tag


@dataclass(frozen=True)
class Answer:
    """A VERDICT."""

    verdict: int
    detail: int = 0
    counter: int = 0
    receipt: bytes = NO_RECEIPT

    def encoded(self) -> bytes:
        return u8(self.verdict) + u16(self.detail) + u64(self.counter) + self.receipt


@dataclass(frozen=True)
class Status:
    mode: int
    hardware_id: bytes
    slots: int
    slots_used: int
    epoch: int

    def encoded(self) -> bytes:
        head = u8(STATUS_VERSION) + u8(self.mode) + self.hardware_id
        return head + u8(self.slots) + u8(self.slots_used) + u64(self.epoch)


def encode_challenge(counter: int, challenge: bytes) -> bytes:
    return u64(counter) + challenge


def answered_nonce(c: Command, nonce: bytes) -> bytes:
    """The nonce that the command's device proof answers."""
    if has_ratchet(c.kind) or is_sealed(c.kind):
        return ratchets.escort(nonce, c.integrity_proof, c.ratchet_tag, c.known)
    return escort(nonce, c.integrity_proof) if is_integrity(c.kind) else nonce


def make_command(
    occasion: Occasion, instance_id: bytes, secrets: Secrets, ratchet: bytes = b"", known: int = 0
) -> Command:
    """A command with its proofs; `secrets` are those that stand in the token."""
    nonce, kind = occasion.nonce(), occasion.kind
    integrity = proof(secrets.key, nonce, secrets.im) if is_integrity(kind) else b""
    tag = ratchets.tag(ratchet, nonce) if has_ratchet(kind) else b""
    bare = Command(
        kind, occasion.cls, instance_id, occasion.counter, integrity, b"", occasion.command, tag, known
    )
    device = proof(secrets.device_key, answered_nonce(bare, nonce), secrets.dm)
    return replace(bare, device_proof=device)


def make_recall(device_key: bytes, instance_id: bytes, counter: int, nonce: bytes) -> Recall:
    tag = recall_tag(device_key, instance_id, counter, nonce)
    return Recall(instance_id, counter, nonce, tag)


def parse_command(data: bytes) -> Command:
    if not length_allowed(Type.COMMAND, len(data)):
        raise Refused("malformed")
    kind = data[0]
    if not 1 <= kind <= 4:
        raise Refused("too-new")
    fixed = (90 if is_integrity(kind) else 58) + (12 if has_ratchet(kind) else 0)
    if not fixed <= len(data) <= fixed + COMMAND_BYTES_MAX or data[1] > 15:
        raise Refused("malformed")
    r = Reader(data)
    head = (r.uint(1), r.uint(1), r.take(16), r.uint(8), r.take(32 if is_integrity(kind) else 0))
    step = (r.take(8), r.uint(4)) if has_ratchet(kind) else (b"", 0)
    return Command(*head, r.take(32), r.rest, *step)


def parse_recall(data: bytes) -> Recall:
    if len(data) != 72:
        raise Refused("malformed")
    r = Reader(data)
    return Recall(r.take(16), r.uint(8), r.take(16), r.take(32))


def parse_answer(data: bytes) -> Answer:
    if len(data) != 43:
        raise Refused("malformed")
    r = Reader(data)
    return Answer(r.uint(1), r.uint(2), r.uint(8), r.take(32))


def parse(type: int, data: bytes) -> None:
    """Refuses a message that the table of section 10 does not have."""
    if type not in LENGTHS or not length_allowed(type, len(data)):
        raise Refused("malformed")
    if type == Type.COMMAND:
        parse_command(data)
    if type == Type.ASK and data[0] not in (ASK_CHALLENGE, ASK_STATUS):
        raise Refused("too-new")
