# SPDX-License-Identifier: Apache-2.0

"""Section 17: the log of the hardware, what it stores and sends, and how a backend reads it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from .basics import Reader, Refused, kdf, mac, same, u8, u32, u64

COMMAND, TOKEN, ORDER, GRANT, NOTE = 1, 2, 3, 4, 5
STARTED = 0x01
UNDONE_MAX, BLOCK, ENTRIES_MAX, STEPS_MAX = 15, 16, 9, 1 << 20
TAG_BYTES, ENTRY_BYTES, FIELDS_BYTES = 16, 32, 32
MAGIC, VERSION, PAGE, KEY = b"PL", 1, 1, 2


# Keys


def first_key(drawn: bytes, hardware_id: bytes) -> bytes:
    return kdf("pfc2.factory-l..", drawn, hardware_id)


def step(key: bytes) -> bytes:
    return kdf("pfc2.log-step...", key)


def steps(key: bytes, count: int) -> bytes:
    for _ in range(count):
        key = step(key)
    return key


def entry_key(key: bytes, number: int) -> bytes:
    return kdf("pfc2.log-entry..", key, u64(number))


def head_key(key: bytes) -> bytes:
    return kdf("pfc2.log-head...", key)


def store_key(hardware_secret: bytes) -> bytes:
    return kdf("pfc2.log-store..", hardware_secret)


# Entries


@dataclass(frozen=True)
class Content:
    event: int
    verdict: int = 0
    undone: int = 0
    cls: int = 0
    kind: int = 0
    flags: int = 0
    who: bytes = bytes(4)  # notes: the counts of refusals
    epoch: int = 0
    counter: int = 0

    def encoded(self) -> bytes:
        second = self.undone if self.event == NOTE else self.verdict
        head = u8(self.event) + u8(second) + u8(self.cls | self.kind << 4) + u8(self.flags)
        return head + self.who + u32(self.epoch) + u32(self.counter)


def decode_content(data: bytes) -> Content:
    event, second, third, flags = data[:4]
    if event not in (COMMAND, TOKEN, ORDER, GRANT, NOTE):
        raise Refused("too-new")
    note = event == NOTE
    if note and (second > UNDONE_MAX or third or flags & ~STARTED) or not note and flags:
        raise Refused("too-new")
    numbers = Reader(data[8:])
    return Content(
        event,
        verdict=0 if note else second,
        undone=second if note else 0,
        cls=third & 15,
        kind=third >> 4,
        flags=flags,
        who=data[4:8],
        epoch=numbers.uint(4),
        counter=numbers.uint(4),
    )


def _xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def seal_bytes(key: bytes, number: int, hardware_id: bytes, content: bytes) -> bytes:
    own = entry_key(key, number)
    tag = mac(own, b"\x02" + u64(number) + hardware_id + content)[:TAG_BYTES]
    return _xor(content, mac(own, b"\x01" + tag)[:16]) + tag


def seal(key: bytes, number: int, hardware_id: bytes, content: Content) -> bytes:
    return seal_bytes(key, number, hardware_id, content.encoded())


def open_entry(key: bytes, number: int, hardware_id: bytes, entry: bytes) -> Content:
    own, tag = entry_key(key, number), entry[16:]
    content = _xor(entry[:16], mac(own, b"\x01" + tag)[:16])
    if not same(mac(own, b"\x02" + u64(number) + hardware_id + content)[:TAG_BYTES], tag):
        raise Refused("differs")
    return decode_content(content)


# Flash


@dataclass(frozen=True)
class KeyRecord:
    sequence: int
    number: int
    acknowledged: int
    undone: int
    flags: int
    key: bytes


def _stored(key: bytes, body: bytes) -> bytes:
    return body + mac(key, body)[:TAG_BYTES]


def _check(key: bytes, data: bytes, sort: int) -> None:
    body, tag = data[:-TAG_BYTES], data[-TAG_BYTES:]
    if not same(mac(key, body)[:TAG_BYTES], tag) or data[:2] != MAGIC or data[3] != sort:
        raise Refused("damaged")
    if data[2] != VERSION:
        raise Refused("too-new")


def encode_page(key: bytes, number: int) -> bytes:
    return _stored(key, MAGIC + u8(VERSION) + u8(PAGE) + bytes(4) + u64(number))


def decode_page(key: bytes, data: bytes) -> int:
    _check(key, data, PAGE)
    if any(data[4:8]):
        raise Refused("too-new")
    return Reader(data[8:16]).uint(8)


def encode_key_record(key: bytes, record: KeyRecord) -> bytes:
    head = MAGIC + u8(VERSION) + u8(KEY) + u32(record.sequence) + u64(record.number)
    told = u64(record.acknowledged) + u8(record.undone) + u8(record.flags) + bytes(6)
    return _stored(key, head + told + record.key)


def decode_key_record(key: bytes, data: bytes) -> KeyRecord:
    _check(key, data, KEY)
    if data[24] > UNDONE_MAX or data[25] & ~STARTED or any(data[26:32]):
        raise Refused("too-new")
    numbers = Reader(data[4:24])
    sequence, number, acknowledged = numbers.uint(4), numbers.uint(8), numbers.uint(8)
    if number % BLOCK or not any(data[32:64]):
        raise Refused("damaged")
    return KeyRecord(sequence, number, acknowledged, data[24], data[25], data[32:64])


# Messages


@dataclass(frozen=True)
class Log:
    first: int
    oldest: int
    next: int
    refused: bytes
    flags: int
    undone: int
    entries: tuple[bytes, ...]

    def encoded(self, key: bytes, nonce: bytes) -> bytes:
        """`key` is L_next."""
        body = u64(self.first) + u64(self.oldest) + u64(self.next) + self.refused
        body += u8(self.flags) + u8(self.undone) + u8(len(self.entries)) + b"\x00"
        body += b"".join(self.entries)
        return body + mac(head_key(key), nonce + body)[:TAG_BYTES]


def ask(start: int, nonce: bytes) -> bytes:
    return u64(start) + nonce


def decode_log(data: bytes) -> Log:
    if len(data) < FIELDS_BYTES + TAG_BYTES:
        raise Refused("malformed")
    numbers = Reader(data)
    first, oldest, after = numbers.uint(8), numbers.uint(8), numbers.uint(8)
    count = data[30]
    if len(data) != FIELDS_BYTES + ENTRY_BYTES * count + TAG_BYTES or count > ENTRIES_MAX:
        raise Refused("malformed")
    if not oldest <= first <= after or first + count > after or (count == 0 and first != after):
        raise Refused("malformed")
    if data[31] or data[28] & ~STARTED or data[29] > UNDONE_MAX:
        raise Refused("too-new")
    body = data[FIELDS_BYTES:-TAG_BYTES]
    entries = tuple(body[i : i + ENTRY_BYTES] for i in range(0, len(body), ENTRY_BYTES))
    return Log(first, oldest, after, data[24:28], data[28], data[29], entries)


# Reading

WHOLE, INCOMPLETE, ALTERED = "whole", "incomplete", "altered"


@dataclass
class Reading:
    """A reader, with the entries that its caller keeps."""

    key: bytes  # L_first
    first: int
    hardware_id: bytes
    found: Callable[[str, int, int], None]  # finding, first entry, how many
    bound: int = STEPS_MAX
    due: int = -1
    end: int = -1
    oldest: int = 0
    unexplained: int = 0
    kept: dict[int, bytes] = field(default_factory=dict)
    absent: set[int] = field(default_factory=set)
    alarms: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.due = self.end = self.first

    def take(self, nonce: bytes, message: bytes) -> None:
        log = decode_log(message)
        start = self.first if log.first < self.due else self.due
        if log.first < self.first or log.next - start > self.bound:
            raise Refused("too-far")
        key = self._key(log.next)
        right = mac(head_key(key), nonce + message[:-TAG_BYTES])[:TAG_BYTES]
        if not same(right, message[-TAG_BYTES:]):
            raise Refused("differs")
        if log.next < self.end:
            self._tell("shorter", log.next, self.end - log.next)
        is_last = log.first + len(log.entries) == log.next and log.next >= self.end
        self.end, self.oldest = max(self.end, log.next), max(self.oldest, log.oldest)
        for number, entry in enumerate(log.entries, log.first):
            if number < self.due:
                self._again(number, entry)
            else:
                self._skip(number)
                self._due(entry)
            self.kept.setdefault(number, entry)
        if is_last and self.due == log.next:
            self._explain(log.undone)

    def close(self) -> str:
        self._skip(self.end)
        self._unclear()
        if self.alarms & {"changed", "forked", "shorter"}:
            return ALTERED
        return INCOMPLETE if self.absent or "unclear" in self.alarms else WHOLE

    def _key(self, number: int) -> bytes:
        return steps(self.key, number - self.first)

    def _tell(self, finding: str, first: int, count: int) -> None:
        if count > 0:
            self.alarms.add(finding)
            self.found(finding, first, count)

    def _open(self, number: int, entry: bytes) -> tuple[str, int]:
        """The finding of an entry that opens or comes late, and its undone."""
        try:
            content = open_entry(self._key(number), number, self.hardware_id, entry)
        except Refused as refused:
            return ("unknown" if refused.word == "too-new" else "unclear"), 0
        return "entry", content.undone

    def _again(self, number: int, entry: bytes) -> None:
        before = self.kept.get(number)
        if before == entry:
            return
        finding, _ = self._open(number, entry)
        if before is None:
            self.absent.discard(number)
            self._tell(finding, number, 1)
            return
        both = finding != "unclear" and self._open(number, before)[0] != "unclear"
        self._tell("forked" if both else "changed", number, 1)

    def _due(self, entry: bytes) -> None:
        finding, undone = self._open(self.due, entry)
        if finding == "unclear":
            self.unexplained += 1
        elif finding == "unknown":
            self._unclear()
            self._tell(finding, self.due, 1)
        else:
            self._explain(undone)
            self._tell(finding, self.due, 1)
        self.due += 1

    def _explain(self, undone: int) -> None:
        wrong, self.unexplained = self.unexplained, 0
        torn = min(wrong, undone)
        undone = min(undone, self.due - self.first)
        self._tell("changed", self.due - wrong, wrong - torn)
        self._tell("torn", self.due - torn, torn)
        self._tell("undone", self.due - undone, undone - torn)

    def _unclear(self) -> None:
        self._tell("unclear", self.due - self.unexplained, self.unexplained)
        self.unexplained = 0

    def _skip(self, to: int) -> None:
        if self.due >= to:
            return
        self._unclear()
        self.absent |= set(range(self.due, to))
        kept = min(max(self.oldest, self.due), to)
        self._tell("overwritten", self.due, kept - self.due)
        self._tell("missing", kept, to - kept)
        self.due = to
