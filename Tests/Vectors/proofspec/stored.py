# SPDX-License-Identifier: Apache-2.0

"""Section 12: the records that the hardware keeps in flash."""

from dataclasses import dataclass

from .basics import Reader, Refused, kdf, mac, same, u8, u16, u32, u64
from .keys import Secrets
from .token import CHANNEL, POLICIES, RATCHET_BITS, SEALED

MAGIC = b"PS"
VERSION = 2
GLOBAL_BYTES, SLOT_BYTES, TAG_BYTES = 24, 208, 16
OLD_VERSION, OLD_SLOT_BYTES = 1, 196
NONCE_BYTES = 8  # of the last nonce, in a slot
PREFIX_BYTES, LOAN_HEAD_BYTES = 8, 48  # of ids and digests in a loan; of a loan before its serials
FREE, HELD, REVOKED = 0, 1, 2
NO_SECRETS = Secrets(bytes(16), bytes(32), bytes(16), bytes(32))


@dataclass
class Global:
    next_counter: int = 1  # the first that is not reserved
    epoch: int = 0
    floor: int = 0

    def payload(self) -> bytes:
        return u64(self.next_counter) + u64(self.epoch) + u64(self.floor)


@dataclass
class Slot:
    state: int = FREE
    last_verdict: int = 0
    integrity_classes: int = 0
    device_classes: int = 0
    attempts: int = 0
    uses: int = 0
    generation: int = 0
    revoked_generation: int = 0
    not_after: int = 0
    issued: int = 0
    revoked_at: int = 0
    last_counter: int = 0
    instance_id: bytes = bytes(16)
    token_digest: bytes = bytes(16)
    last_nonce: bytes = bytes(NONCE_BYTES)
    secrets: Secrets = NO_SECRETS
    delegable_classes: int = 0
    ratchet: bytes = bytes(16)
    policy: int = 0
    copies: int = 0  # seen; stays at 255

    @property
    def ratchet_policy(self) -> int:
        return self.policy & RATCHET_BITS

    def payload(self) -> bytes:
        return (
            u8(self.state)
            + u8(self.last_verdict)
            + u16(self.integrity_classes)
            + u16(self.device_classes)
            + u16(self.attempts)
            + u32(self.uses)
            + u32(self.generation)
            + u32(self.revoked_generation)
            + u64(self.not_after)
            + u64(self.issued)
            + u64(self.revoked_at)
            + u64(self.last_counter)
            + self.instance_id
            + self.token_digest
            + self.last_nonce
            + self.secrets.encoded()
            + self.ratchet
            + u8(self.policy)
            + u8(self.copies)
            + u16(self.delegable_classes)
        )


@dataclass
class Loan:
    """The loan of the instance of one slot (section 19)."""

    owner: int  # its slot, counted from 1; 0 for none
    classes: int
    uses: int
    end: int
    digest: bytes
    owner_id: bytes
    member_id: bytes
    named: bytes
    serials: list[int]  # the highest of each slot

    @staticmethod
    def empty(slots: int) -> "Loan":
        return Loan(0, 0, 0, 0, *([bytes(PREFIX_BYTES)] * 4), [0] * slots)

    def payload(self) -> bytes:
        head = u8(self.owner) + u8(0) + u16(self.classes) + u16(self.uses) + u16(0) + u64(self.end)
        names = self.digest + self.owner_id + self.member_id + self.named
        return head + names + b"".join(u32(serial) for serial in self.serials)


def decode_loan(payload: bytes) -> Loan:
    r = Reader(payload)
    owner, zero, classes, uses, zeros, end = (r.uint(n) for n in (1, 1, 2, 2, 2, 8))
    names = [r.take(PREFIX_BYTES) for _ in range(4)]
    serials = [r.uint(4) for _ in range((len(payload) - LOAN_HEAD_BYTES) // 4)]
    if owner > len(serials):
        raise Refused("damaged")
    if zero or zeros:
        raise Refused("too-new")
    return Loan(owner, classes, uses, end, *names, serials)


def decode_global(payload: bytes) -> Global:
    r = Reader(payload)
    return Global(r.uint(8), r.uint(8), r.uint(8))


def decode_slot(payload: bytes) -> Slot:
    r = Reader(payload)
    numbers = [r.uint(n) for n in (1, 1, 2, 2, 2, 4, 4, 4, 8, 8, 8, 8)]
    ids = [r.take(n) for n in (16, 16, NONCE_BYTES)]
    secrets = Secrets(r.take(16), r.take(32), r.take(16), r.take(32))
    ratchet, policy, copies, delegable = r.take(16), r.uint(1), r.uint(1), r.uint(2)
    step = policy & ~(SEALED | CHANNEL)
    if step not in POLICIES or (step == 0 and (any(ratchet) or copies)):
        raise Refused("too-new")
    return Slot(*numbers, *ids, secrets, delegable, ratchet, policy, copies)


def renewed(payload: bytes) -> bytes:
    """A slot's payload of version 1 in version 2."""
    return payload[: 84 + NONCE_BYTES] + payload[100:] + bytes(20)


def record_key(hardware_secret: bytes) -> bytes:
    return kdf("pfc1.record-key.", hardware_secret)


def encode_record(
    key: bytes, number: int, sequence: int, payload: bytes, version: int = VERSION
) -> bytes:
    head = MAGIC + u8(version) + u8(number) + u32(sequence) + payload
    return head + mac(key, head)[:TAG_BYTES]


def decode_record(key: bytes, number: int, data: bytes) -> tuple[int, bytes]:
    """Sequence and payload of a copy that counts."""
    length = 8 + (GLOBAL_BYTES if number == 0 else SLOT_BYTES) + TAG_BYTES
    if len(data) != length or data[:4] != MAGIC + u8(VERSION) + u8(number):
        raise Refused("malformed")
    if not same(data[-TAG_BYTES:], mac(key, data[:-TAG_BYTES])[:TAG_BYTES]):
        raise Refused("damaged")
    return int.from_bytes(data[4:8], "little"), data[8:-TAG_BYTES]


def newest(key: bytes, number: int, copies: tuple[bytes, bytes]) -> tuple[int, bytes] | None:
    """Picks the copy with the higher sequence and a right tag; None if no copy is right."""
    good = []
    for copy in copies:
        try:
            good.append(decode_record(key, number, copy))
        except Refused:
            continue
    return max(good, default=None)
