# SPDX-License-Identifier: Apache-2.0

"""Section 15: the gate token."""

import string
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from .basics import GENERATION_MAX, Reader, Refused, is_zero, label, u8, u16, u32, u64
from .curves import hardware_public, issuer_public, seal, sign, unseal, verifies
from .keys import issuer_id
from .refusals import Refusal, refuse

MAGIC, VERSION, SUITE, FORM = b"PG", 1, 1, 3
HEADER_BYTES, BODY_BYTES, TOKEN_BYTES = 8, 168, 288
LIFE, AHEAD = 86400, 300
FAILED, FORCED = 1, 2
ARC = frozenset((string.ascii_uppercase + "234567").encode())


@dataclass(frozen=True)
class Body:
    mode: int
    flags: int
    generation: int
    issued: int
    not_after: int
    first_seen: int
    gate_id: bytes
    instance_id: bytes
    issuer_id: bytes
    properties: int
    arc: bytes  # 10
    secret: bytes
    findings: bytes  # 32
    app: bytes  # 16
    form: int = FORM
    zero: bytes = bytes(2)

    def encoded(self) -> bytes:
        return (
            u8(self.mode)
            + u8(self.form)
            + u16(self.flags)
            + u32(self.generation)
            + u64(self.issued)
            + u64(self.not_after)
            + u64(self.first_seen)
            + self.gate_id
            + self.instance_id
            + self.issuer_id
            + u32(self.properties)
            + self.arc
            + self.zero
            + self.secret
            + self.findings
            + self.app
        )

    def in_range(self) -> bool:
        return (
            self.flags < 4
            and 1 <= self.generation <= GENERATION_MAX
            and self.issued != 0
            and self.not_after >= self.issued
            and 1 <= self.first_seen <= self.issued
            and not is_zero(self.instance_id)
            and (is_zero(self.arc) or set(self.arc) <= ARC)
            and is_zero(self.zero)
            and not is_zero(self.secret)
            and _findings_in_range(self.findings)
        )


def _findings_in_range(data: bytes) -> bool:
    pairs = [(data[i], data[i + 1]) for i in range(0, 32, 2)]
    while pairs and pairs[-1] == (0, 0):
        pairs.pop()
    known = all(1 <= c <= 3 and n for c, n in pairs)
    return known and all(a < b for a, b in zip(pairs, pairs[1:], strict=False))


def decode_body(data: bytes) -> Body:
    """Splits 168 bytes; ranges are for `in_range`."""
    r = Reader(data)
    mode, form = r.uint(1), r.uint(1)
    flags, generation = r.uint(2), r.uint(4)
    issued, not_after, first_seen = r.uint(8), r.uint(8), r.uint(8)
    gate_id, instance_id, issuer = r.take(16), r.take(16), r.take(8)
    properties, arc, zero = r.uint(4), r.take(10), r.take(2)
    secret, findings, app = r.take(32), r.take(32), r.take(16)
    return Body(
        mode,
        flags,
        generation,
        issued,
        not_after,
        first_seen,
        gate_id,
        instance_id,
        issuer,
        properties,
        arc,
        secret,
        findings,
        app,
        form,
        zero,
    )


def token_header(gate_id: bytes, key_number: int) -> bytes:
    return MAGIC + u8(VERSION) + u8(SUITE) + u8(key_number) + gate_id[:3]


def signed_bytes(recipient: bytes, header: bytes, body: bytes) -> bytes:
    return label("pfc1.gate-sign..") + recipient + header + body


def create_token(
    recipient: bytes, key_number: int, ephemeral: bytes, issuer_seed: bytes, body: Body
) -> bytes:
    header, raw = token_header(body.gate_id, key_number), body.encoded()
    right = body.issuer_id == issuer_id(issuer_public(issuer_seed)) and body.mode in (1, 2)
    if not right or not body.in_range() or body.not_after - body.issued > LIFE:
        raise ValueError("a token that no gate accepts")
    signature = sign(issuer_seed, signed_bytes(recipient, header, raw))
    return header + seal(recipient, ephemeral, raw + signature)


def open_token(
    gate_id: bytes,
    secrets: Mapping[int, bytes],
    mode: int,
    issuers: Collection[bytes],
    floor: int,
    now: int,
    token: bytes,
) -> Body:
    """Steps 1 to 16 of the page. `secrets` are the gate's X25519 secret keys by number."""
    if len(token) != TOKEN_BYTES:
        refuse(Refusal.TOKEN_LENGTH)
    if token[:2] != MAGIC:
        refuse(Refusal.TOKEN_MAGIC)
    if token[2] != VERSION or token[3] != SUITE:
        refuse(Refusal.TOKEN_VERSION)
    if token[5:8] != gate_id[:3]:
        refuse(Refusal.TOKEN_GATE)
    if token[4] not in secrets:
        refuse(Refusal.TOKEN_KEY)
    secret = secrets[token[4]]
    try:
        plain = unseal(secret, token[HEADER_BYTES:])
    except Refused:
        refuse(Refusal.TOKEN_SEAL)
    raw, signature = plain[:BODY_BYTES], plain[BODY_BYTES:]
    body = decode_body(raw)
    known = [p for p in issuers if issuer_id(p) == body.issuer_id]
    if not known:
        refuse(Refusal.TOKEN_ISSUER)
    signed = signed_bytes(hardware_public(secret), token[:HEADER_BYTES], raw)
    if not verifies(known[0], signed, signature):
        refuse(Refusal.TOKEN_SIGNATURE)
    if body.gate_id != gate_id:
        refuse(Refusal.TOKEN_GATE)
    if body.mode != mode:
        refuse(Refusal.TOKEN_MODE)
    if body.form != FORM:
        refuse(Refusal.TOKEN_FORM)
    if not body.in_range():
        refuse(Refusal.TOKEN_RANGE)
    if body.not_after - body.issued > LIFE:
        refuse(Refusal.TOKEN_LIFE)
    if body.issued > now + AHEAD:
        refuse(Refusal.TOKEN_AHEAD)
    if now > body.not_after:
        refuse(Refusal.TOKEN_EXPIRED)
    if body.issued < floor:
        refuse(Refusal.TOKEN_SUPERSEDED)
    return body
