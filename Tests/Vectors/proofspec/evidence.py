# SPDX-License-Identifier: Apache-2.0

"""Section 4: what was observed about the device, the app and its environment."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .basics import Refused, label, sha256, u8

DEVICE, APP, ENVIRONMENT = 1, 2, 3
ABSENT_DIGEST = sha256(label("pfc1.absent....."))


@dataclass(frozen=True)
class Record:
    """One observation of one source."""

    cls: int
    number: int
    version: int
    name: bytes
    digest: bytes | None  # None: the source could not be read

    @property
    def source(self) -> tuple[int, int]:
        return (self.cls, self.number)

    @property
    def order(self) -> tuple[int, int, bytes]:
        # Python compares byte strings as section 4 does: a proper prefix comes first.
        return (self.cls, self.number, self.name)

    def encoded(self) -> bytes:
        if not 1 <= len(self.name) <= 255:
            raise Refused("malformed")
        present = self.digest is not None
        return (
            u8(self.cls)
            + u8(self.number)
            + u8(self.version)
            + u8(1 if present else 0)
            + u8(len(self.name))
            + self.name
            + (self.digest if present else ABSENT_DIGEST)
        )


def check_evidence(records: Sequence[Record], sources: Sequence[tuple[int, int]]) -> None:
    """Refuses records out of order, of a source not asked for, or a source without a record."""
    if any(a.order >= b.order for a, b in pairwise(records)):
        raise Refused("disordered")
    seen = {r.source for r in records}
    if seen - set(sources):
        raise Refused("not-asked")
    if set(sources) - seen:
        raise Refused("missing")


def joined(records: Sequence[Record]) -> bytes:
    return b"".join(r.encoded() for r in records)
