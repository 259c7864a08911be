# SPDX-License-Identifier: Apache-2.0

"""SERVICE.md sections 4 and 8: the salt of a challenge, and the secret of its credential."""

from dataclasses import dataclass

from .basics import mac, u8, u32, u64

TAG_LABEL, SECRET_LABEL = b"pfs1.salt-tag...", b"pfs1.salt-secret"
HALF_BYTES = 8
GATE_PURPOSE = 5


@dataclass(frozen=True)
class Terms:
    """Everything that a report under the salt is judged by."""

    account: bytes
    key_id: bytes
    device: bytes
    purpose: int
    gate: bytes  # empty if the challenge is about no gate
    expiry: int
    generation: int
    policy: int
    limit: int
    mode: int
    sources: list[tuple[int, int, int, int]]

    def covered(self) -> bytes:
        gate = b"\x01" + self.gate if self.gate else b"\x00"
        head = u8(len(self.account)) + self.account + self.key_id + self.device + u8(self.purpose) + gate
        sources = b"".join(bytes(source) for source in self.sources)
        return head + u64(self.expiry) + u32(self.generation) + u8(len(self.sources)) + sources


def first_half(terms: Terms, epoch: int, noise: int) -> bytes:
    number, place = 0, 0
    for value, bits in (
        (terms.expiry, 19),
        (terms.generation, 16),
        (epoch, 2),
        (terms.policy, 2),
        (terms.limit - 16, 6),
        (terms.mode, 3),
        (noise, 16),
    ):
        number |= (value % (1 << bits)) << place
        place += bits
    return u64(number)


def salt(key: bytes, terms: Terms, epoch: int, noise: int) -> bytes:
    half = first_half(terms, epoch, noise)
    return half + mac(key, TAG_LABEL + terms.covered() + half)[:HALF_BYTES]


def credential_secret(key: bytes, made: bytes, point: bytes) -> bytes:
    return mac(key, SECRET_LABEL + made + point)
