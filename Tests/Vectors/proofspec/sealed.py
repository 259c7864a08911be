# SPDX-License-Identifier: Apache-2.0

"""Section 18: sealed commands."""

from dataclasses import dataclass

from . import curves
from . import ratchet as ratchets
from .basics import Reader, Refused, kdf, label, mac, same, sha256, u8, u16, u32, u64
from .keys import Secrets
from .message import Answer, parse_answer
from .proof import proof

INTEGRITY, DEVICE = 5, 6
HINT_BYTES, TAG_BYTES, HEAD_BYTES, COMMAND_MAX, DOWN_BYTES = 8, 16, 49, 216, 35


def is_integrity(kind: int) -> bool:
    return kind == INTEGRITY


def fixed(kind: int) -> int:
    return 142 if is_integrity(kind) else 110


@dataclass(frozen=True)
class Facts:
    """Known to both ends before a command is sealed."""

    hardware_id: bytes
    instance_id: bytes
    token_digest: bytes
    device_key: bytes
    lock_key: bytes  # E_lock
    challenge: bytes
    counter: int


@dataclass(frozen=True)
class Inside:
    """The content of a box."""

    cls: int
    integrity_proof: bytes  # empty for kind 6
    ratchet_tag: bytes  # zeros where the token has no ratchet
    known: int
    device_proof: bytes
    command: bytes

    def encoded(self) -> bytes:
        step = self.ratchet_tag + u32(self.known)
        return u8(self.cls) + self.integrity_proof + step + self.device_proof + self.command


def encode_challenge(counter: int, challenge: bytes, lock_key: bytes) -> bytes:
    return u64(counter) + challenge + lock_key


def hint(facts: Facts, kind: int, app_key: bytes) -> bytes:
    told = facts.challenge + u64(facts.counter) + u8(kind) + facts.lock_key + app_key
    return mac(kdf("pfc2.hint-key...", facts.device_key), told)[:HINT_BYTES]


def make_head(facts: Facts, kind: int, app_key: bytes) -> bytes:
    return u8(kind) + hint(facts, kind, app_key) + u64(facts.counter) + app_key


def identity(facts: Facts, head: bytes) -> bytes:
    """H."""
    who = facts.hardware_id + facts.instance_id + facts.token_digest
    return sha256(label("pfc2.channel-id.") + who + facts.challenge + head + facts.lock_key)


def _key(name: str, facts: Facts, shared: bytes, info: bytes) -> bytes:
    return kdf(name, shared + facts.device_key, info)


def first_key(facts: Facts, shared: bytes, head: bytes) -> bytes:
    return _key("pfc2.chan-first.", facts, shared, identity(facts, head))


def transcript(facts: Facts, message: bytes) -> bytes:
    """T."""
    return sha256(label("pfc2.transcript.") + identity(facts, message[:HEAD_BYTES]) + message)


def down_key(facts: Facts, shared: bytes, message: bytes) -> bytes:
    return _key("pfc2.chan-down..", facts, shared, transcript(facts, message))


def step(facts: Facts, shared: bytes, message: bytes) -> bytes:
    """Takes the nonce's place where the ratchet moves."""
    return _key("pfc2.chan-step..", facts, shared, transcript(facts, message))[:16]


def nonce(facts: Facts, head: bytes, cls: int, command: bytes) -> bytes:
    about = u64(facts.counter) + head[:1] + u8(cls) + u16(len(command)) + command
    told = facts.hardware_id + facts.challenge + about + identity(facts, head)
    return sha256(label("pfc2.nonce......") + told)[:16]


def inside(
    facts: Facts, head: bytes, cls: int, command: bytes, secrets: Secrets, ratchet: bytes = b"", known: int = 0
) -> Inside:
    """The proofs of a command; `secrets` are those that stand in the token."""
    answered = nonce(facts, head, cls, command)
    integrity = proof(secrets.key, answered, secrets.im) if is_integrity(head[0]) else b""
    tag = ratchets.tag(ratchet, answered) if ratchet else bytes(8)
    escort = ratchets.escort(answered, integrity, tag, known)
    return Inside(cls, integrity, tag, known, proof(secrets.device_key, escort, secrets.dm), command)


def seal(facts: Facts, head: bytes, ephemeral: bytes, plain: bytes) -> bytes:
    shared = curves.shared_secret(ephemeral, facts.lock_key)
    return head + curves.box(first_key(facts, shared, head), plain)


def parse(message: bytes) -> tuple[int, bytes, int, bytes]:
    """Kind, hint, counter, E_app of a message whose shape is that of a sealed command."""
    if not message:
        raise Refused("malformed")
    if message[0] not in (INTEGRITY, DEVICE):
        raise Refused("too-new")
    if not fixed(message[0]) <= len(message) <= fixed(message[0]) + COMMAND_MAX:
        raise Refused("malformed")
    r = Reader(message)
    return r.uint(1), r.take(HINT_BYTES), r.uint(8), r.take(32)


def open_command(facts: Facts, lock_secret: bytes, message: bytes) -> Inside:
    """The hardware's checks before it judges the proofs."""
    kind, told, counter, app_key = parse(message)
    if counter != facts.counter:
        raise Refused("stale")
    if not same(told, hint(facts, kind, app_key)):
        raise Refused("differs")
    head = message[:HEAD_BYTES]
    shared = curves.shared_secret(lock_secret, app_key)
    plain = Reader(curves.unbox(first_key(facts, shared, head), message[HEAD_BYTES:]))
    cls, integrity = plain.uint(1), plain.take(32 if is_integrity(kind) else 0)
    tag, known = plain.take(8), plain.uint(4)
    if cls > 15 or (not any(tag) and known):
        raise Refused("malformed")
    return Inside(cls, integrity, tag, known, plain.take(32), plain.rest)


def chain(facts: Facts, shared: bytes, message: bytes) -> bytes:
    """The first key of the channel that this command may open: section 20."""
    return _key("pfc2.chan-key...", facts, shared, transcript(facts, message))


def encode_down(key: bytes, counter: int, verdict: int, detail: int, following: int = 0) -> bytes:
    return u64(counter) + curves.box(key, u8(verdict) + u16(detail) + u64(following))


def open_down(key: bytes, counter: int, message: bytes) -> tuple[Answer, int]:
    """The answer, and the counter of a channel's next command, or 0."""
    if len(message) != DOWN_BYTES:
        raise Refused("malformed")
    try:
        plain = curves.unbox(key, message[8:])
    except Refused:
        raise Refused("differs") from None
    if message[:8] != u64(counter):
        raise Refused("differs")
    answer = parse_answer(plain[:3] + u64(counter) + bytes(32))
    if answer.verdict not in VERDICTS:
        raise Refused("malformed")
    return answer, Reader(plain[3:]).uint(8)


# The verdicts that section 10 knows.
VERDICTS = {*range(1, 9), *range(16, 24), *range(32, 40), 48, 49, 50}
