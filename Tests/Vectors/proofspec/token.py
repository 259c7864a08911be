# SPDX-License-Identifier: Apache-2.0

"""Section 8: the measurement token."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from .basics import GENERATION_MAX, Reader, Refused, is_zero, kdf, label, sha256, u8, u16, u32, u64
from .curves import (
    box,
    hardware_public,
    issuer_public,
    seal,
    shared_secret,
    sign,
    unbox,
    unseal,
    verifies,
)
from .keys import DIVERSIFIED, LITERAL, Secrets, issuer_id

MAGIC = b"PT"
VERSION, VERSION_2 = 1, 2
SUITE, SUITE_FACTORY = 1, 2
UPCOMING, RATCHET_BITS = 0x20, 0x03
POLICIES = (0, 1, 2)  # of the ratchet
CHANNEL, SEALED = 0x04, 0x08  # sections 20 and 18
HEADER_BYTES, BODY_BYTES, TOKEN_BYTES = 8, 168, 288


@dataclass(frozen=True)
class Body:
    mode: int
    form: int
    integrity_classes: int
    device_classes: int
    attempts: int
    uses: int
    generation: int
    not_after: int
    issued: int
    hardware_id: bytes
    instance_id: bytes
    issuer_id: bytes
    secrets: Secrets
    version: int = VERSION
    # Version 2 alone; `zero` and `extension` are there for hostile cases.
    policy: int = 0
    zero: int = 0
    delegable_classes: int = 0
    base: int = 0
    extension: bytes = bytes(8)

    def encoded(self) -> bytes:
        return (
            u8(self.mode)
            + u8(self.form)
            + u16(self.integrity_classes)
            + u16(self.device_classes)
            + u16(self.attempts)
            + u32(self.uses)
            + u32(self.generation)
            + u64(self.not_after)
            + u64(self.issued)
            + self._middle()
            + self.instance_id
            + self.issuer_id
            + self.secrets.encoded()
        )

    def _middle(self) -> bytes:
        """The 16 bytes in which the versions differ."""
        if self.version == VERSION:
            return self.hardware_id
        head = u8(self.policy) + u8(self.zero) + u16(self.delegable_classes)
        return head + u32(self.base) + self.extension

    def is_known(self) -> bool:
        """Whether every bit that is set has a meaning in this version of the page."""
        unknown = self.policy & ~(UPCOMING | CHANNEL | SEALED) not in POLICIES or self.zero or any(self.extension)
        return self.version == VERSION or not unknown

    def in_range(self) -> bool:
        s = self.secrets
        second = self.version == VERSION_2
        return (
            (not second or self.delegable_classes & ~self.integrity_classes == 0)
            and (not second or 1 <= self.base <= self.generation)
            and self._in_range(s)
        )

    def _in_range(self, s: Secrets) -> bool:
        return (
            self.mode in (1, 2)
            and self.form in (DIVERSIFIED, LITERAL)
            and self.integrity_classes != 0
            and self.device_classes & ~self.integrity_classes == 0
            and self.attempts != 0
            and self.uses != 0
            and 1 <= self.generation <= GENERATION_MAX
            and (self.not_after == 0 or self.not_after >= self.issued)
            and self.issued != 0
            and not is_zero(self.instance_id)
            and not any(is_zero(x) for x in (s.key, s.im, s.device_key, s.dm))
        )


def decode_body(data: bytes, version: int = VERSION, hardware_id: bytes = b"") -> Body:
    """Splits 168 bytes; ranges are for `in_range`. Version 2 takes the hardware id from who opens."""
    r = Reader(data)
    rest: dict = {}
    if version == VERSION_2:
        m = Reader(data[32:48])
        rest = {
            "version": version,
            "policy": m.uint(1),
            "zero": m.uint(1),
            "delegable_classes": m.uint(2),
            "base": m.uint(4),
            "extension": m.take(8),
        }
    made = Body(
        mode=r.uint(1),
        form=r.uint(1),
        integrity_classes=r.uint(2),
        device_classes=r.uint(2),
        attempts=r.uint(2),
        uses=r.uint(4),
        generation=r.uint(4),
        not_after=r.uint(8),
        issued=r.uint(8),
        hardware_id=r.take(16),
        instance_id=r.take(16),
        issuer_id=r.take(8),
        secrets=Secrets(r.take(16), r.take(32), r.take(16), r.take(32)),
    )
    return replace(made, hardware_id=hardware_id, **rest) if version == VERSION_2 else made


def token_header(hardware_id: bytes, version: int = VERSION, suite: int = SUITE) -> bytes:
    return MAGIC + u8(version) + u8(suite) + hardware_id[:4]


def signed_bytes(recipient: bytes, header: bytes, body: bytes) -> bytes:
    """The signed bytes of version 1."""
    return label("pfc1.token-sign.") + recipient + header + body


def signed_bytes_2(recipient: bytes, hardware_id: bytes, header: bytes, body: bytes) -> bytes:
    return label("pfc2.token-sign.") + recipient + hardware_id + header + body


def factory_secret(drawn: bytes, hardware_id: bytes) -> bytes:
    """S of one piece of hardware, from F."""
    return kdf("pfc2.factory-s..", drawn, hardware_id)


def _seal_key(
    shared: bytes, s: bytes, ephemeral: bytes, recipient: bytes, hardware_id: bytes, header: bytes
) -> bytes:
    return kdf("pfc2.token-seal.", shared + s, ephemeral + recipient + hardware_id + header)


def seal_token_2(
    s: bytes, recipient: bytes, ephemeral: bytes, hardware_id: bytes, header: bytes, plain: bytes
) -> bytes:
    """Suite 2, with the factory secret S."""
    public, shared = hardware_public(ephemeral), shared_secret(ephemeral, recipient)
    return header + public + box(_seal_key(shared, s, public, recipient, hardware_id, header), plain)


def unseal_token_2(s: bytes, secret: bytes, hardware_id: bytes, token: bytes) -> bytes:
    header, public, boxed = token[:HEADER_BYTES], token[8:40], token[40:]
    shared = shared_secret(secret, public)
    return unbox(_seal_key(shared, s, public, hardware_public(secret), hardware_id, header), boxed)


def token_digest(token: bytes) -> bytes:
    return sha256(label("pfc1.token-id...") + token)[:16]


def seal_token(recipient: bytes, ephemeral: bytes, header: bytes, plain: bytes) -> bytes:
    """`plain` is body ‖ signature; `ephemeral` the secret key of this token alone."""
    return header + seal(recipient, ephemeral, plain)


def transcript(recipient: bytes, header: bytes, raw: bytes, hardware_id: bytes) -> bytes:
    """The signed bytes, in the version of the header."""
    if header[2] == VERSION_2:
        return signed_bytes_2(recipient, hardware_id, header, raw)
    return signed_bytes(recipient, header, raw)


def create_token(
    recipient: bytes, ephemeral: bytes, issuer_seed: bytes, body: Body, s: bytes = b""
) -> bytes:
    """`s` is the factory secret: suite 2; empty: suite 1."""
    if body.issuer_id != issuer_id(issuer_public(issuer_seed)) or not body.in_range():
        raise ValueError("a token that no hardware accepts")
    if not body.is_known() or (s and (body.version == VERSION or body.form == LITERAL)):
        raise ValueError("a token that no hardware accepts")
    if body.form == LITERAL and body.policy & UPCOMING:
        raise ValueError("a token that no hardware accepts")
    header = token_header(body.hardware_id, body.version, SUITE_FACTORY if s else SUITE)
    raw, id = body.encoded(), body.hardware_id
    plain = raw + sign(issuer_seed, transcript(recipient, header, raw, id))
    if s:
        return seal_token_2(s, recipient, ephemeral, id, header, plain)
    return seal_token(recipient, ephemeral, header, plain)


def check_header(hardware_id: bytes, token: bytes, s: bytes = b"") -> None:
    """Checks before any public-key work."""
    if len(token) != TOKEN_BYTES or token[:2] != MAGIC:
        raise Refused("malformed")
    known = [(VERSION, SUITE), (VERSION_2, SUITE)] + [(VERSION_2, SUITE_FACTORY)] * bool(s)
    if token[2] not in (VERSION, VERSION_2):
        raise Refused("too-new", 1)
    if (token[2], token[3]) not in known:
        raise Refused("too-new", 2)
    if token[4:8] != hardware_id[:4]:
        raise Refused("not-for-me")
    if s and token[3] != SUITE_FACTORY:
        raise Refused("wrong-mode", 3)


def open_token(
    hardware_id: bytes,
    secret: bytes,
    public: bytes,
    mode: int,
    literal_allowed: bool,
    issuers: Collection[bytes],
    token: bytes,
    s: bytes = b"",
) -> Body:
    """Refuses with the first reason in the page's order. `public` belongs to `secret`."""
    check_header(hardware_id, token, s)
    header = token[:HEADER_BYTES]
    if header[3] == SUITE_FACTORY:
        plain = unseal_token_2(s, secret, hardware_id, token)
    else:
        plain = unseal(secret, token[HEADER_BYTES:])
    raw, signature = plain[:BODY_BYTES], plain[BODY_BYTES:]
    body = decode_body(raw, header[2], hardware_id)
    signed = transcript(public, header, raw, hardware_id)
    known = [p for p in issuers if issuer_id(p) == body.issuer_id]
    if not any(verifies(p, signed, signature) for p in known):
        raise Refused("not-signed")
    if body.hardware_id != hardware_id:
        raise Refused("not-for-me")
    if not body.is_known():
        raise Refused("too-new", 3)
    if body.mode != mode:
        raise Refused("wrong-mode", 1)
    if body.form == LITERAL and (not literal_allowed or header[3] == SUITE_FACTORY or body.policy & UPCOMING):
        raise Refused("wrong-mode", 2)
    if not body.in_range():
        raise Refused("malformed")
    return body
