"""Section 8: the measurement token."""

from collections.abc import Collection
from dataclasses import dataclass

from .basics import GENERATION_MAX, Reader, Refused, is_zero, label, sha256, u8, u16, u32, u64
from .curves import issuer_public, seal, sign, unseal, verifies
from .keys import DIVERSIFIED, LITERAL, Secrets, issuer_id

MAGIC = b"PT"
VERSION, SUITE = 1, 1
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
            + self.hardware_id
            + self.instance_id
            + self.issuer_id
            + self.secrets.encoded()
        )

    def in_range(self) -> bool:
        s = self.secrets
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


def decode_body(data: bytes) -> Body:
    """Splits 168 bytes; ranges are for `in_range`."""
    r = Reader(data)
    return Body(
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


def token_header(hardware_id: bytes) -> bytes:
    return MAGIC + u8(VERSION) + u8(SUITE) + hardware_id[:4]


def signed_bytes(recipient: bytes, header: bytes, body: bytes) -> bytes:
    return label("pfc1.token-sign.") + recipient + header + body


def token_digest(token: bytes) -> bytes:
    return sha256(label("pfc1.token-id...") + token)[:16]


def seal_token(recipient: bytes, ephemeral: bytes, header: bytes, plain: bytes) -> bytes:
    """`plain` is body ‖ signature; `ephemeral` the secret key of this token alone."""
    return header + seal(recipient, ephemeral, plain)


def create_token(recipient: bytes, ephemeral: bytes, issuer_seed: bytes, body: Body) -> bytes:
    header, raw = token_header(body.hardware_id), body.encoded()
    if body.issuer_id != issuer_id(issuer_public(issuer_seed)) or not body.in_range():
        raise ValueError("a token that no hardware accepts")
    signature = sign(issuer_seed, signed_bytes(recipient, header, raw))
    return seal_token(recipient, ephemeral, header, raw + signature)


def check_header(hardware_id: bytes, token: bytes) -> None:
    """Checks before any public-key work."""
    if len(token) != TOKEN_BYTES or token[:2] != MAGIC:
        raise Refused("malformed")
    if token[2] != VERSION or token[3] != SUITE:
        raise Refused("too-new")
    if token[4:8] != hardware_id[:4]:
        raise Refused("not-for-me")


def open_token(
    hardware_id: bytes,
    secret: bytes,
    public: bytes,
    mode: int,
    literal_allowed: bool,
    issuers: Collection[bytes],
    token: bytes,
) -> Body:
    """Refuses with the first reason in the page's order. `public` belongs to `secret`."""
    check_header(hardware_id, token)
    plain = unseal(secret, token[HEADER_BYTES:])
    raw, signature = plain[:BODY_BYTES], plain[BODY_BYTES:]
    body = decode_body(raw)
    signed = signed_bytes(public, token[:HEADER_BYTES], raw)
    known = [p for p in issuers if issuer_id(p) == body.issuer_id]
    if not any(verifies(p, signed, signature) for p in known):
        raise Refused("not-signed")
    if body.hardware_id != hardware_id:
        raise Refused("not-for-me")
    if body.mode != mode or (body.form == LITERAL and not literal_allowed):
        raise Refused("wrong-mode")
    if not body.in_range():
        raise Refused("malformed")
    return body
