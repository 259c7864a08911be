# SPDX-License-Identifier: Apache-2.0

"""Section 7: proof, nonce, receipt; and section 10's recall tag."""

from dataclasses import dataclass

from .basics import DIGEST_BYTES, KEY_BYTES, Refused, label, mac, same, sha256, u8, u16, u64
from .keys import recall_key, receipt_key

INTEGRITY, DEVICE, INTEGRITY_RATCHET, DEVICE_RATCHET = 1, 2, 3, 4
SEALED_INTEGRITY, SEALED_DEVICE = 5, 6


def is_integrity(kind: int) -> bool:
    return kind in (INTEGRITY, INTEGRITY_RATCHET, SEALED_INTEGRITY)


def is_sealed(kind: int) -> bool:
    return kind in (SEALED_INTEGRITY, SEALED_DEVICE)


def has_ratchet(kind: int) -> bool:
    return kind in (INTEGRITY_RATCHET, DEVICE_RATCHET)


@dataclass(frozen=True)
class Occasion:
    """Values that a nonce is bound to: this hardware, this challenge, this command."""

    hardware_id: bytes
    challenge: bytes
    counter: int
    kind: int
    cls: int
    command: bytes

    def transcript(self) -> bytes:
        return (
            label("pfc1.nonce......")
            + self.hardware_id
            + self.challenge
            + u64(self.counter)
            + u8(self.kind)
            + u8(self.cls)
            + u16(len(self.command))
            + self.command
        )

    def nonce(self) -> bytes:
        return sha256(self.transcript())[:KEY_BYTES]


def proof(key: bytes, nonce: bytes, measurement: bytes) -> bytes:
    """The bare formula; a key that enters it keys no other HMAC."""
    if (len(key), len(nonce), len(measurement)) != (KEY_BYTES, KEY_BYTES, DIGEST_BYTES):
        raise ValueError("lengths of key, nonce, measurement")
    return mac(key, nonce + measurement)


def escort(nonce: bytes, integrity_proof: bytes) -> bytes:
    """The nonce that the device proof beside an integrity proof answers."""
    return sha256(label("pfc1.escort.....") + nonce + integrity_proof)[:KEY_BYTES]


def check_digest(expected: bytes, given: bytes) -> None:
    """Refuses a proof, receipt or tag that is not the expected one."""
    if len(given) != DIGEST_BYTES:
        raise Refused("length")
    if not same(expected, given):
        raise Refused("differs")


def receipt(device_key: bytes, nonce: bytes, verdict: int, detail: int, counter: int) -> bytes:
    return mac(receipt_key(device_key), nonce + u8(verdict) + u16(detail) + u64(counter))


def recall_tag(device_key: bytes, instance_id: bytes, counter: int, nonce: bytes) -> bytes:
    return mac(recall_key(device_key), instance_id + u64(counter) + nonce)
