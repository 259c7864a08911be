# SPDX-License-Identifier: Apache-2.0

"""Sections 1 and 2: integers, labels, hashes, the key derivation."""

import hashlib
import hmac

LABELS = (
    b"pfc1.key-id.....",
    b"pfc1.im-key.....",
    b"pfc1.device-key.",
    b"pfc1.dm-key.....",
    b"pfc1.wrap-key...",
    b"pfc1.leaf-key...",
    b"pfc1.dleaf-key..",
    b"pfc1.config-tag.",
    b"pfc1.hw-key.....",
    b"pfc1.hw-im......",
    b"pfc1.hw-dkey....",
    b"pfc1.hw-dm......",
    b"pfc1.receipt-key",
    b"pfc1.recall-key.",
    b"pfc1.record-key.",
    b"pfc1.integrity..",
    b"pfc1.device.....",
    b"pfc1.device-set.",
    b"pfc1.absent.....",
    b"pfc1.leaf.......",
    b"pfc1.nonce......",
    b"pfc1.escort.....",
    b"pfc1.token-sign.",
    b"pfc1.token-id...",
    b"pfc1.order-sign.",
    b"pfc1.issuer-id..",
    b"pfc2.token-sign.",
    b"pfc2.token-seal.",
    b"pfc2.factory-s..",
    b"pfc2.ratchet-0..",
    b"pfc2.ratchet-tag",
    b"pfc2.ratchet-up.",
    b"pfc2.ratchet-fk.",
    b"pfc2.escort.....",
    b"pfc2.factory-l..",
    b"pfc2.log-step...",
    b"pfc2.log-entry..",
    b"pfc2.log-head...",
    b"pfc2.log-store..",
    b"pfc2.hint-key...",
    b"pfc2.channel-id.",
    b"pfc2.chan-first.",
    b"pfc2.transcript.",
    b"pfc2.chan-down..",
    b"pfc2.chan-step..",
    b"pfc2.nonce......",
    b"pfc2.chan-key...",
    b"pfc2.chan-up....",
    b"pfc2.chan-back..",
    b"pfc2.chan-next..",
    b"pfc2.chan-nonce.",
    b"pfc2.grant-key..",
    b"pfc2.grant-id...",
    b"pfc1.gate-key...",
    b"pfc1.gate-im....",
    b"pfc1.gate-secret",
    b"pfc1.gate-handle",
    b"pfc1.request-key",
    b"pfc1.compact-key",
    b"pfc1.event-key..",
    b"pfc1.mask-key...",
    b"pfc1.gproof-key.",
    b"pfc1.beacon-key.",
    b"pfc1.gate-sign..",
    b"pfc1.mac-request",
    b"pfc1.mac-body...",
    b"pfc1.mac-event..",
    b"pfc1.mask.......",
    b"pfc1.account....",
    b"pfc1.beacon.....",
    b"pfc1.nonce-key..",
    b"pfc1.chall-key..",
    b"pfc1.clear-key..",
    b"pfc1.ticket-key.",
    b"pfc1.verdict-key",
    b"pfc1.gate-nonce.",
    b"pfc1.challenge..",
    b"pfc1.binding....",
    b"pfc1.gate-proof.",
    b"pfc1.mac-gproof.",
    b"pfc1.puzzle-seed",
    b"pfc1.puzzle.....",
    b"pfc1.pairing....",
    b"pfc1.clearance..",
    b"pfc1.host.......",
    b"pfc1.gate-ticket",
    b"pfc1.verdict....",
)

KEY_BYTES = 16  # MPK, DPK, nonce, salt, hardware id, instance id
DIGEST_BYTES = 32
ID_BYTES = 8  # key id, issuer id
SIGNATURE_BYTES = 64

PRODUCTION, DEVELOPMENT = 1, 2
GENERATION_MAX = 2**32 - 2
FOREVER = 2**32 - 1  # uses: without limit; revoked generation: all, for good


class Refused(Exception):
    """An input that the page says is refused; `word` is its reason, `detail` the VERDICT's, if one is told."""

    def __init__(self, word: str, detail: int = 0) -> None:
        super().__init__(word)
        self.word, self.detail = word, detail


def u8(v: int) -> bytes:
    return v.to_bytes(1, "little")


def u16(v: int) -> bytes:
    return v.to_bytes(2, "little")


def u32(v: int) -> bytes:
    return v.to_bytes(4, "little")


def u64(v: int) -> bytes:
    return v.to_bytes(8, "little")


class Reader:
    """Takes fields off the front of a byte string whose length was checked before."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, n: int) -> bytes:
        if n > len(self.rest):
            raise ValueError("reader past the end")
        head, self.rest = self.rest[:n], self.rest[n:]
        return head

    def uint(self, n: int) -> int:
        return int.from_bytes(self.take(n), "little")


def label(text: str) -> bytes:
    """The 16 bytes of a label, which must be one of section 2."""
    raw = text.encode("ascii")
    if raw not in LABELS:
        raise ValueError(f"not a label: {text}")
    return raw


def sha256(m: bytes) -> bytes:
    return hashlib.sha256(m).digest()


def mac(key: bytes, m: bytes) -> bytes:
    """HMAC-SHA-256."""
    return hmac.new(key, m, hashlib.sha256).digest()


def kdf(name: str, key: bytes, info: bytes = b"") -> bytes:
    """The first 32 bytes of HKDF-SHA-256: extract with the label as salt, expand once."""
    return mac(mac(label(name), key), info + b"\x01")


def same(a: bytes, b: bytes) -> bool:
    return hmac.compare_digest(a, b)


def xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def is_zero(data: bytes) -> bool:
    return not any(data)
