# SPDX-License-Identifier: Apache-2.0

"""Section 6: the measurements IM and DM, and the key DPK that only this device unwraps."""

from collections.abc import Sequence
from dataclasses import dataclass

from .baseline import device_set, leaf_check, leaf_keys, leaves, wrap_mask
from .basics import kdf, label, mac, u32, xor
from .config import Config
from .evidence import DEVICE, Record, check_evidence, joined
from .keys import Secrets, key_id


@dataclass(frozen=True)
class Measurement:
    ds: bytes
    im: bytes
    dpk: bytes
    dm: bytes
    leaf_check: bytes
    leaves: tuple[bytes, ...]
    comparable: str  # none, device, other, all
    differing: tuple[int, ...]

    def secrets(self, mpk: bytes) -> Secrets:
        return Secrets(mpk, self.im, self.dpk, self.dm)


def measure(mpk: bytes, config: Config, records: Sequence[Record]) -> Measurement:
    check_evidence(records, [(s.cls, s.number) for s in config.sources])
    mc, salt = config.encoded(), config.salt
    ds, _ = device_set(records)
    imk = kdf("pfc1.im-key.....", mpk, salt)
    im = mac(
        imk,
        label("pfc1.integrity..") + u32(len(mc)) + mc + joined(records) + u32(len(records)),
    )
    dpk = xor(config.wrapped, wrap_mask(ds, salt))
    dmk = kdf("pfc1.dm-key.....", dpk, salt)
    dm = mac(dmk, label("pfc1.device.....") + config.device_part() + ds)

    ld, la = leaf_keys(mpk, dpk, salt)
    now = leaves(ld, la, config.sources, records)
    device_ok = key_id(config.mode, mpk) == config.key_id
    other_ok = leaf_check(la) == config.leaf_check
    comparable = {
        (False, False): "none",
        (True, False): "device",
        (False, True): "other",
        (True, True): "all",
    }[device_ok, other_ok]
    of_device = [s.cls == DEVICE for s in config.sources for _ in range(s.groups)]
    differing = tuple(
        i
        for i, (a, b) in enumerate(zip(now, config.leaves, strict=True))
        if a != b and (device_ok if of_device[i] else other_ok)
    )
    return Measurement(ds, im, dpk, dm, leaf_check(la), now, comparable, differing)
