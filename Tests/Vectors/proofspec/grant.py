# SPDX-License-Identifier: Apache-2.0

"""Section 19: grants."""

from dataclasses import dataclass

from .basics import Reader, Refused, kdf, label, mac, same, sha256, u8, u16, u32, u64
from .keys import Secrets

MAGIC = b"PD"
VERSION, SUITE = 1, 1
GRANT_BYTES, TAG_AT, HINT_BYTES = 96, 64, 4
USES_MAX = 65_534
LATER_VERSION, LATER_SUITE, RESERVED = 1, 2, 3  # details of too new


@dataclass(frozen=True)
class Grant:
    """The fields before the tag."""

    hint: bytes
    owner: bytes  # instance id
    member: bytes  # digest of its token
    generation: int
    serial: int
    classes: int
    uses: int
    end: int

    def encoded(self, version: int = VERSION, suite: int = SUITE, zero: int = 0) -> bytes:
        head = MAGIC + u8(version) + u8(suite) + self.hint + self.owner + self.member
        return head + u32(self.generation) + u32(self.serial) + u16(self.classes) + u16(self.uses) + u64(
            self.end
        ) + u32(zero)

    @property
    def takes_back(self) -> bool:
        return self.classes == 0

    def in_range(self) -> bool:
        if not self.generation or not self.serial:
            return False
        if self.takes_back:
            return self.uses == 0 and self.end == 0
        return 1 <= self.uses <= USES_MAX and self.end != 0


def grant_key(own: Secrets, token_digest: bytes) -> bytes:
    return kdf("pfc2.grant-key..", own.key + own.im + own.device_key + own.dm, token_digest)


def seal(fields: bytes, own: Secrets, token_digest: bytes) -> bytes:
    """Puts the tag behind the 64 bytes."""
    return fields + mac(grant_key(own, token_digest), fields)


def create(grant: Grant, own: Secrets, token_digest: bytes) -> bytes:
    return seal(grant.encoded(), own, token_digest)


def digest(data: bytes) -> bytes:
    return sha256(label("pfc2.grant-id...") + data)[:16]


def read(data: bytes, hardware_id: bytes) -> Grant:
    """Steps 1 to 4 of section 19: the shape alone."""
    if len(data) != GRANT_BYTES or data[:2] != MAGIC:
        raise Refused("malformed")
    if data[2] != VERSION:
        raise Refused("too-new", LATER_VERSION)
    if data[3] != SUITE:
        raise Refused("too-new", LATER_SUITE)
    if any(data[60:TAG_AT]):
        raise Refused("too-new", RESERVED)
    r = Reader(data[4:60])
    names = r.take(HINT_BYTES), r.take(16), r.take(16)
    grant = Grant(*names, *(r.uint(n) for n in (4, 4, 2, 2, 8)))
    if not grant.in_range():
        raise Refused("malformed")
    if grant.hint != hardware_id[:HINT_BYTES]:
        raise Refused("not-for-me")
    return grant


def check(data: bytes, own: Secrets, token_digest: bytes) -> None:
    """Step 8: the tag."""
    if not same(mac(grant_key(own, token_digest), data[:TAG_AT]), data[TAG_AT:]):
        raise Refused("differs")
