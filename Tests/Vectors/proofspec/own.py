# SPDX-License-Identifier: Apache-2.0

"""Section 16: a gate's own keys, and the texts that its nodes make and read."""

from dataclasses import dataclass

from .basics import kdf, label, mac, same, u8, u32
from .gate import decode_text, encode_text

SECRET_BYTES = 32
TAG_BYTES = 16
WORD_SECONDS = 60


@dataclass(frozen=True)
class Own:
    """One own secret of one gate."""

    secret: bytes
    gate_id: bytes
    number: int

    def _key(self, name: str, more: bytes = b"") -> bytes:
        return kdf(name, self.secret, self.gate_id + u8(self.number) + more)

    @property
    def nonce(self) -> bytes:
        return self._key("pfc1.nonce-key..")

    @property
    def challenge(self) -> bytes:
        return self._key("pfc1.chall-key..")

    @property
    def clearance(self) -> bytes:
        return self._key("pfc1.clear-key..")

    @property
    def ticket(self) -> bytes:
        return self._key("pfc1.ticket-key.")

    def verdict(self, authority: bytes) -> bytes:
        return self._key("pfc1.verdict-key", authority)


def tag(key: bytes, name: str, text: bytes) -> bytes:
    return mac(key, label(name) + text)[:TAG_BYTES]


def word(own: Own, now: int, start: bytes) -> str:
    """A word on the time."""
    head = u32(now) + start
    return encode_text(head + tag(own.nonce, "pfc1.gate-nonce.", head))


def read_word(owns: list[Own], text: str) -> tuple[int, bytes] | None:
    """Time and start; None for another text."""
    made = decode_text(text) if len(text) == 32 else b""
    for own in owns:
        if len(made) == 24 and same(tag(own.nonce, "pfc1.gate-nonce.", made[:8]), made[8:]):
            return int.from_bytes(made[:4], "little"), made[4:8]
    return None
