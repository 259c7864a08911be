# SPDX-License-Identifier: Apache-2.0

"""docs/SERVICE.md sections 2 to 5: the messages of app and service, read and written."""

import os
import sys
from dataclasses import dataclass, field

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Vectors"))

from proofspec.baseline import make_config  # noqa: E402
from proofspec.basics import Refused, mac, sha256, u8, u16, u32  # noqa: E402
from proofspec.config import Config, Source  # noqa: E402
from proofspec.evidence import Record  # noqa: E402
from proofspec.measurement import Measurement, measure  # noqa: E402

QUESTION, CHALLENGE, REPORT, ANSWER = 1, 2, 3, 4
TOKEN, MEASUREMENT, SECURE_STRING, CUSTOM, GATE, STRING_KEY = range(1, 7)
(DONE, UNKNOWN_DOMAIN, UNPROTECTED, REJECTED, DISABLED, UNKNOWN_KEY, BAD_KEY, BAD_PAYLOAD, ASK_AGAIN, UNBELIEVABLE,
 NOT_ENCRYPTED, NO_GATE) = range(1, 13)
MESSAGE_MAX = 1 << 20


class Malformed(Exception):
    """The body does not parse: status 400."""


def derive(label: str, key: bytes, info: bytes) -> bytes:
    """KDF of SPEC.md section 1, for the labels of SERVICE.md."""
    assert len(label) == 16
    return mac(mac(label.encode(), key), info + b"\x01")


def text(value: str) -> bytes:
    raw = value.encode()
    return u16(len(raw)) + raw


def blob(value: bytes) -> bytes:
    return u32(len(value)) + value


def head(kind: int, version: int = 1) -> bytes:
    return b"PA" + u8(version) + u8(kind)


class Fields:
    """Takes fields off the front of a message."""

    def __init__(self, data: bytes, kind: int) -> None:
        self.data, self.at = data, 0
        # A question or a report of version 3 is that of an app that withholds facts.
        self.withholds = kind in (QUESTION, REPORT) and data[:4] == b"PA" + u8(3) + u8(kind)
        if len(data) > MESSAGE_MAX or self.take(4) != head(kind) and not self.withholds:
            raise Malformed("head")

    def take(self, n: int) -> bytes:
        if n > len(self.data) - self.at:
            raise Malformed("too short")
        self.at += n
        return self.data[self.at - n:self.at]

    def uint(self, n: int) -> int:
        return int.from_bytes(self.take(n), "little")

    def text(self, limit: int = 1024) -> str:
        size = self.uint(2)
        if size > limit:
            raise Malformed("text")
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise Malformed("text") from error

    def blob(self, limit: int) -> bytes:
        size = self.uint(4)
        if size > limit:
            raise Malformed("blob")
        return self.take(size)

    def flag(self) -> bool:
        value = self.uint(1)
        if value > 1:
            raise Malformed("flag")
        return value == 1

    def withheld(self) -> int:
        """The collection mode. This service knows no installation keys."""
        if not self.withholds:
            return 0
        mode = self.uint(1)
        if not 1 <= mode <= 7 or self.flag():
            raise Malformed("collection mode")
        return mode

    def end(self) -> None:
        if self.at != len(self.data):
            raise Malformed("bytes after the end")


@dataclass(frozen=True)
class Question:
    key_id: bytes
    device: bytes
    purpose: int
    serial: int
    account: str
    sdk_version: str
    host: str = ""
    withheld: int = 0


def read_question(data: bytes) -> Question:
    f = Fields(data, QUESTION)
    fields = (f.take(8), f.take(16), f.uint(1), f.uint(4), f.text(), f.text())
    if not TOKEN <= fields[2] <= STRING_KEY:
        raise Malformed("purpose")
    question = Question(*fields, host=f.text() if fields[2] == GATE else "", withheld=f.withheld())
    f.end()
    return question


@dataclass(frozen=True)
class Draft:
    """The draft of a configuration in a challenge."""

    salt: bytes
    lifetime: int
    policy: int
    limit: int
    generation: int
    sources: tuple[Source, ...]

    def challenge(self, serial: int) -> bytes:
        return (
            head(CHALLENGE)
            + self.salt
            + u16(self.lifetime)
            + u8(self.policy)
            + u8(self.limit)
            + u32(self.generation)
            + u32(serial)
            + u8(len(self.sources))
            + b"".join(s.encoded() for s in self.sources)
        )


@dataclass(frozen=True)
class Report:
    key_id: bytes
    salt: bytes
    device: bytes
    purpose: int
    serial: int
    account: str
    subject: str
    payload: bytes
    sdk_version: str
    user_property: str
    development_key: str
    data_hash: bytes | None
    properties: tuple[tuple[str, str], ...]
    records: tuple[tuple[int, int, bytes, bytes | None], ...]  # class, number, name, digest
    im: bytes
    dm: bytes
    tagged: bytes
    tag: bytes
    withheld: int = 0
    pairs: dict = field(default_factory=dict)


def read_report(data: bytes) -> Report:
    f = Fields(data, REPORT)
    head_fields = (f.take(8), f.take(16), f.take(16), f.uint(1), f.uint(4), f.text(), f.text(), f.blob(65536))
    said = (f.text(), f.text(128), f.text(), f.take(32) if f.flag() else None)
    count = f.uint(1)
    if count > 64:
        raise Malformed("properties")
    properties = tuple((f.text(), f.text()) for _ in range(count))
    count = f.uint(4)
    if count > 65536:
        raise Malformed("records")
    records = []
    for _ in range(count):
        cls, number, present = f.uint(1), f.uint(1), f.flag()
        name = f.take(f.uint(1))
        records.append((cls, number, name, f.take(32) if present else None))
    im, dm = f.take(32), f.take(32)
    withheld = f.withheld()
    tagged = data[:f.at]
    tag = f.take(32)
    f.end()
    if any(a[:3] >= b[:3] for a, b in zip(records, records[1:])):
        raise Malformed("order of records")
    return Report(*head_fields, *said, properties, tuple(records), im, dm, tagged, tag, withheld)

# The sources that each bit of a collection mode withholds.
WITHHELD = {1: {(1, 2), (3, 8), (3, 9)}, 2: {(1, 1), (1, 3), (1, 4)}, 4: set()}


def shown(sources: tuple[Source, ...], withheld: int) -> tuple[Source, ...]:
    hidden = set().union(*(WITHHELD[bit] for bit in WITHHELD if withheld & bit))
    return tuple(s for s in sources if (s.cls, s.number) not in hidden)


def device_id(account: str, records) -> bytes:
    secret = next((r[3] for r in records if r[:2] == (1, 5) and r[3] is not None), bytes(32))
    return sha256(b"pfa1.device-id.." + text(account) + secret)[:16]


def app_digest(records) -> bytes:
    parts = b"".join(
        u8(c) + u8(n) + u8(d is not None) + u8(len(name)) + name + (d or b"")
        for c, n, name, d in records
        if c == 2 and n in (2, 3)
    )
    return sha256(b"pfa1.app-digest." + parts)


def believe(report: Report, draft: Draft, mode: int, mpk: bytes) -> tuple[Config, Measurement] | None:
    """Does what the app did; None if anything is another."""
    if derive_tag("pfa1.report-key.", mpk, report.salt, report.tagged) != report.tag:
        return None
    if device_id(report.account, report.records) != report.device:
        return None
    versions = {(s.cls, s.number): s.version for s in draft.sources}
    try:
        records = [Record(c, n, versions[c, n], name, digest) for c, n, name, digest in report.records]
        config = make_config(
            mode, draft.policy, draft.generation, draft.limit, mpk, draft.salt, draft.sources, records
        )
        measurement = measure(mpk, config, records)
    except (Refused, KeyError):
        return None
    if (measurement.im, measurement.dm) != (report.im, report.dm):
        return None
    return config, measurement


def derive_tag(label: str, mpk: bytes, salt: bytes, data: bytes) -> bytes:
    return mac(derive(label, mpk, salt), data)


def string_key(secret: bytes, device: bytes, passes: bool) -> bytes:
    """Section 11: the key of an installation's own strings."""
    return derive("pfa1.string-key." if passes else "pfa1.string-fake", secret, device)


def answer(mpk: bytes, salt: bytes, outcome: int, serial: int, forced: int, token: str = "", lifetime: int = 0,
           arc: str = "", reasons: str = "", secure_string: str | None = None,
           message_key: bytes | None = None, string_keys: tuple[bytes, ...] = ()) -> bytes:
    body = (
        head(ANSWER, 3 if string_keys else 1) + salt + u8(outcome) + u32(serial) + u32(forced) + u32(lifetime)
        + blob(token.encode()) + text(arc) + text(reasons)
        + (u8(0) if secure_string is None else u8(1) + text(secure_string))
        + (u8(0) if message_key is None else u8(1) + message_key)
        + (u8(len(string_keys)) + b"".join(string_keys) if string_keys else b"")
    )
    return body + derive_tag("pfa1.answer-key.", mpk, salt, body)
