# SPDX-License-Identifier: Apache-2.0

"""Section 5: leaves, the wrapped DPK, and how a configuration is made from a first look."""

from collections.abc import Sequence

from .basics import Refused, kdf, label, mac, sha256, u8, u32, xor
from .config import Config, Source, in_range
from .evidence import DEVICE, Record, check_evidence, joined
from .keys import device_key, key_id

LEAF = "pfc1.leaf......."


def fnv1a(name: bytes) -> int:
    h = 2166136261
    for byte in name:
        h = ((h ^ byte) * 16777619) % 2**32
    return h


def device_set(records: Sequence[Record]) -> tuple[bytes, bytes]:
    """DS of section 6, and the transcript it is the digest of."""
    devices = [r for r in records if r.cls == DEVICE]
    transcript = label("pfc1.device-set.") + joined(devices) + u32(len(devices))
    return sha256(transcript), transcript


def wrap_mask(ds: bytes, salt: bytes) -> bytes:
    return kdf("pfc1.wrap-key...", ds, salt)[:16]


def group_of(record: Record, sources: Sequence[Source]) -> int:
    first = 0
    for s in sources:
        if (s.cls, s.number) == record.source:
            return first + fnv1a(record.name) % s.groups
        first += s.groups
    raise Refused("not-asked")


def leaf_keys(mpk: bytes, dpk: bytes, salt: bytes) -> tuple[bytes, bytes]:
    """LD for device groups, LA for the others."""
    return kdf("pfc1.dleaf-key..", mpk, salt), kdf("pfc1.leaf-key...", dpk, salt)


def leaf_check(la: bytes) -> bytes:
    return mac(la, label(LEAF) + b"\x02")[:4]


def leaves(
    ld: bytes, la: bytes, sources: Sequence[Source], records: Sequence[Record]
) -> tuple[bytes, ...]:
    keys = [ld if s.cls == DEVICE else la for s in sources for _ in range(s.groups)]
    made = [mac(k, label(LEAF) + b"\x00" + u8(i))[:4] for i, k in enumerate(keys)]
    for r in records:
        i = group_of(r, sources)
        made[i] = xor(made[i], mac(keys[i], label(LEAF) + b"\x01" + u8(i) + r.encoded())[:4])
    return tuple(made)


def make_config(
    mode: int,
    policy: int,
    generation: int,
    limit: int,
    mpk: bytes,
    salt: bytes,
    sources: Sequence[Source],
    records: Sequence[Record],
) -> Config:
    """The configuration that asks for `sources` and remembers `records`."""
    check_evidence(records, [(s.cls, s.number) for s in sources])
    dpk = device_key(mpk, salt)
    ds, _ = device_set(records)
    ld, la = leaf_keys(mpk, dpk, salt)
    config = Config(
        mode,
        policy,
        generation,
        key_id(mode, mpk),
        salt,
        xor(dpk, wrap_mask(ds, salt)),
        leaf_check(la),
        limit,
        tuple(sources),
        leaves(ld, la, sources, records),
    )
    if not in_range(config):
        raise Refused("malformed")
    return config
