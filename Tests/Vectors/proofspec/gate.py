# SPDX-License-Identifier: Apache-2.0

"""Section 15: a gate's keys, accounts, beacons, and base64url."""

import base64
import string
from dataclasses import dataclass

from .basics import DIGEST_BYTES, GENERATION_MAX, KEY_BYTES, Refused, is_zero, kdf, label, mac, u8, u32

HANDLE_BYTES = 16
ALPHABET = frozenset(string.ascii_letters + string.digits + "-_")
NO_BEACON = bytes(4)
BEACON_HEAD = 0x14
BEACON_SECONDS = 300


def secret(mpk: bytes, im: bytes, gate_id: bytes, instance_id: bytes, generation: int) -> bytes:
    """S of one gate, app instance and generation."""
    if not 1 <= generation <= GENERATION_MAX:
        raise ValueError(f"generation {generation}")
    k_gate = kdf("pfc1.gate-key...", mpk, gate_id)[:KEY_BYTES]
    im_gate = kdf("pfc1.gate-im....", im, gate_id)
    info = gate_id + instance_id + u32(generation)
    return kdf("pfc1.gate-secret", k_gate + im_gate, info)


@dataclass(frozen=True)
class Keys:
    """The tag's and the mask's key of one use, with handle and generation mod 2^16."""

    handle: bytes
    generation: int
    is_event: bool
    tag: bytes
    mask: bytes


def handle(s: bytes) -> bytes:
    return kdf("pfc1.gate-handle", s)[:HANDLE_BYTES]


def request_keys(s: bytes, generation: int) -> Keys:
    tag, mask = kdf("pfc1.compact-key", s), kdf("pfc1.mask-key...", s)
    return Keys(handle(s), generation % 2**16, False, tag, mask)


def event_keys(s: bytes, generation: int, audience: bytes) -> Keys:
    tag = kdf("pfc1.event-key..", s, audience)
    mask = kdf("pfc1.mask-key...", s, audience)
    return Keys(handle(s), generation % 2**16, True, tag, mask)


def standard_key(s: bytes) -> bytes:
    return kdf("pfc1.request-key", s)


def proof_key(s: bytes) -> bytes:
    return kdf("pfc1.gproof-key.", s)


def account(key: bytes, name: bytes) -> bytes:
    if not 1 <= len(name) <= 128:
        raise ValueError(f"an account of {len(name)} bytes")
    return mac(key, label("pfc1.account....") + name)


NO_ACCOUNT = NO_DIGEST = bytes(DIGEST_BYTES)


def beacon_key(own: bytes, gate_id: bytes, number: int) -> bytes:
    return kdf("pfc1.beacon-key.", own, gate_id + u8(number))


def beacon(key: bytes, interval: int) -> bytes:
    made = mac(key, label("pfc1.beacon.....") + u32(interval % 2**32))[:4]
    return b"\x01\x00\x00\x00" if is_zero(made) else made


def beacon_message(key: bytes, now: int) -> bytes:
    interval = now // BEACON_SECONDS
    return u8(BEACON_HEAD) + u32(interval % 2**32) + beacon(key, interval)


def read_beacon(message: bytes) -> tuple[int, bytes]:
    """Interval and beacon."""
    if len(message) != 9 or message[0] & 15 != BEACON_HEAD & 15:
        raise Refused("malformed")
    if message[0] != BEACON_HEAD:
        raise Refused("too-new")
    if message[5:] == NO_BEACON:
        raise Refused("malformed")
    return int.from_bytes(message[1:5], "little"), message[5:]


def valid_beacons(key: bytes, now: int) -> list[bytes]:
    interval = now // BEACON_SECONDS
    return [beacon(key, i) for i in (interval + 1, interval, interval - 1, interval - 2)]


def encode_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode_text(text: str) -> bytes:
    """Strict: what it gives is encoded to the same text."""
    if len(text) % 4 == 1 or not set(text) <= ALPHABET:
        raise Refused("malformed")
    made = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if encode_text(made) != text:
        raise Refused("malformed")
    return made
