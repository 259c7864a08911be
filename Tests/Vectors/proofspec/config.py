# SPDX-License-Identifier: Apache-2.0

"""Section 5: the bytes of a measurement configuration (MC)."""

from dataclasses import dataclass
from itertools import pairwise

from .basics import GENERATION_MAX, Reader, Refused, is_zero, kdf, mac, same, u8, u32
from .evidence import APP, DEVICE, ENVIRONMENT

MAGIC = b"PKMC"
VERSION, SUITE = 1, 1
FULL, INCREMENTAL, TRUSTING = 1, 2, 3
HEAD_BYTES, TAG_BYTES = 60, 16
CONFIG_BYTES_MIN, CONFIG_BYTES_MAX = HEAD_BYTES + TAG_BYTES, 684
SOURCES_MAX, LEAVES_MAX, GROUPS_LOG2_MAX = 24, 128, 6


@dataclass(frozen=True)
class Source:
    cls: int
    number: int
    version: int
    groups_log2: int

    @property
    def groups(self) -> int:
        return 1 << self.groups_log2

    def encoded(self) -> bytes:
        return u8(self.cls) + u8(self.number) + u8(self.version) + u8(self.groups_log2)


@dataclass(frozen=True)
class Config:
    mode: int
    policy: int
    generation: int
    key_id: bytes
    salt: bytes
    wrapped: bytes
    leaf_check: bytes
    limit: int
    sources: tuple[Source, ...]
    leaves: tuple[bytes, ...]

    def body(self) -> bytes:
        """All bytes before the tag."""
        return (
            MAGIC
            + u8(VERSION)
            + u8(SUITE)
            + u8(self.mode)
            + u8(self.policy)
            + u32(self.generation)
            + self.key_id
            + self.salt
            + self.wrapped
            + self.leaf_check
            + u8(self.limit)
            + u8(len(self.sources))
            + u8(len(self.leaves))
            + u8(0)
            + b"".join(s.encoded() for s in self.sources)
            + b"".join(self.leaves)
        )

    def encoded(self) -> bytes:
        body = self.body()
        return body + config_tag(body)

    def device_part(self) -> bytes:
        devices = b"".join(s.encoded() for s in self.sources if s.cls == DEVICE)
        return u8(VERSION) + u8(SUITE) + u8(self.mode) + self.salt + self.wrapped + devices


def config_tag(body: bytes) -> bytes:
    """Tag of all bytes before it; the salt stands in them at offset 20."""
    return mac(kdf("pfc1.config-tag.", body[20:36]), body)[:TAG_BYTES]


def decode_config(data: bytes) -> Config:
    """Refuses with foreign, damaged, too-new or malformed, in the page's order."""
    if len(data) < CONFIG_BYTES_MIN or not data.startswith(MAGIC):
        raise Refused("foreign" if len(data) >= 4 and data[:4] != MAGIC else "damaged")
    if len(data) > CONFIG_BYTES_MAX:
        raise Refused("damaged")
    body, tag = data[:-TAG_BYTES], data[-TAG_BYTES:]
    if not same(tag, config_tag(body)):
        raise Refused("damaged")
    if body[4] != VERSION or body[5] != SUITE:
        raise Refused("too-new")
    r = Reader(body[6:])
    mode, policy, generation = r.uint(1), r.uint(1), r.uint(4)
    key_id, salt, wrapped, leaf_check = r.take(8), r.take(16), r.take(16), r.take(4)
    limit, n, m, zero = r.uint(1), r.uint(1), r.uint(1), r.uint(1)
    if len(r.rest) != 4 * n + 4 * m:
        raise Refused("malformed")
    sources = tuple(Source(*r.take(4)) for _ in range(n))
    leaves = tuple(r.take(4) for _ in range(m))
    config = Config(
        mode, policy, generation, key_id, salt, wrapped, leaf_check, limit, sources, leaves
    )
    if zero != 0 or not in_range(config):
        raise Refused("malformed")
    return config


def in_range(c: Config) -> bool:
    """Every range of section 5's tables."""
    order = [(s.cls, s.number) for s in c.sources]
    return (
        c.mode in (1, 2)
        and c.policy in (FULL, INCREMENTAL, TRUSTING)
        and 1 <= c.generation <= GENERATION_MAX
        and c.key_id[0] == c.mode
        and not is_zero(c.salt)
        and 16 <= c.limit <= 50
        and 1 <= len(c.sources) <= SOURCES_MAX
        and all(s.cls in (DEVICE, APP, ENVIRONMENT) for s in c.sources)
        and all(1 <= s.number <= 255 and 1 <= s.version <= 255 for s in c.sources)
        and all(s.groups_log2 <= GROUPS_LOG2_MAX for s in c.sources)
        and all(a < b for a, b in pairwise(order))
        and {DEVICE, APP} <= {s.cls for s in c.sources}
        and len(c.leaves) == sum(s.groups for s in c.sources) <= LEAVES_MAX
    )
