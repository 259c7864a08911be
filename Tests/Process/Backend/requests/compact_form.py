# SPDX-License-Identifier: Apache-2.0

"""Verifies compact proofs and event tokens of ProofKit: docs/SPEC.md, section 15. Standard library only.

`check` verifies the tag, `judge` the fields. The caller finds the keys by `handle_of`, and uses a replay key once.
"""

import base64
import hashlib
import hmac
import re
import struct
from dataclasses import dataclass

REQUEST, BODY, EVENT = 1, 2, 3
LABELS = {REQUEST: b"pfc1.mac-request", BODY: b"pfc1.mac-body...", EVENT: b"pfc1.mac-event.."}
NONE = bytes(32)
ERROR = 1
KEPT = 64


class Refused(Exception):
    """Its argument is the number of docs/SPEC.md, section 15."""


@dataclass(frozen=True)
class Keys:
    """The keys of one handle: for requests, or for the events of one audience."""

    handle: bytes
    generation: int
    tag: bytes
    mask: bytes
    events: bool


@dataclass(frozen=True)
class Token:
    created: int
    event: int
    flags: int
    measured: int
    beacon: bytes
    count: int
    replay_key: bytes


def request_digest(method, scheme, authority, target, body, authorization=b""):
    """The digest of a request in its one spelling; `body` is SHA-256 of the coded bytes."""
    return sha256(b"\n".join((method, scheme, authority, target, body, sha256(authorization))))


def account_digest(key, name):
    return mac(key, b"pfc1.account...." + name.encode())


def handle_of(text, kind):
    """The handle, by which the caller finds the keys."""
    data = decode(text, kind)
    need(any(data[2:18]), 36)
    return data[2:18]


def check(text, kind, keys, account=NONE, digest=NONE, body=NONE):
    """`digest` is that of the request, the body, or the business data; `body` is the body's within a request."""
    data = decode(text, kind)
    need(any(data[2:18]), 36)
    need(keys.events == (kind == EVENT) and data[2:18] == keys.handle, 37)
    tag = data[42:]
    plain = bytes(a ^ b for a, b in zip(data[18:42], mac(keys.mask, b"pfc1.mask......." + tag)))
    created, event, start, count, flags, measured = struct.unpack("<IHIIBB", plain[:16])
    beacon, generation = plain[18:22], struct.unpack("<H", plain[22:])[0]
    known = generation == keys.generation & 0xFFFF
    expected = mac(keys.tag, LABELS[kind] + data[:18] + plain + account + digest)[:24]
    if not hmac.compare_digest(expected, tag):
        # Nothing authenticates these hints: they choose a word for the log.
        need(known and not flags & 0xFC and count, 48)
        need(plain[16] == account[0], 49)
        need(kind != REQUEST or plain[4:6] == body[:2], 50)
        need(plain[17] != digest[0], 48)
        raise Refused(52 if kind == EVENT else 50 if kind == BODY else 51)
    hint = plain[4:6] == (body[:2] if kind == REQUEST else bytes(2))
    need(not flags & 0xFC and created and count and (kind == EVENT or hint), 64)
    need(known, 65)
    need(not flags & ERROR, 36)
    replay_key = data[2:18] + struct.pack("<II", start, count)
    return Token(created, event if kind == EVENT else 0, flags, measured, beacon, count, replay_key)


def judge(token, now, event=0, window=60, measured_max=255, beacons=None, newest=0):
    """`beacons` anchor a token (`beacons_at`); None if the rule asks for none. `now` is the highest time seen."""
    need(token.event == event, 66)
    need(token.created <= now + window, 67)
    need(token.created >= now - window, 68)
    need(beacons is None or any(token.beacon) and token.beacon in beacons, 69)
    need(token.measured <= measured_max, 70)
    need(newest < token.count + KEPT, 71)


def beacons_at(key, now):
    """The four beacons that are valid at a moment."""
    intervals = [struct.pack("<I", now // 300 + step & 0xFFFFFFFF) for step in (1, 0, -1, -2)]
    made = [mac(key, b"pfc1.beacon....." + interval)[:4] for interval in intervals]
    return [beacon if any(beacon) else b"\1\0\0\0" for beacon in made]


def decode(text, kind):
    need(re.fullmatch(r"[A-Za-z0-9_-]{88}", text) is not None, 32)
    data = base64.urlsafe_b64decode(text)
    need(data[0] >> 4 == 1, 34)
    need(data[0] & 15 == kind, 35)
    return data


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256).digest()


def sha256(data):
    return hashlib.sha256(data).digest()


def need(condition, number):
    if not condition:
        raise Refused(number)
