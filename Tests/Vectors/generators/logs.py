# SPDX-License-Identifier: Apache-2.0

"""log.txt: the hardware's log, section 17. Keys, entries, what is stored and sent, and readings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from blocks import Block, case
from proofspec import log
from proofspec.basics import Refused
from proofspec.log import Content, KeyRecord, Log

from .world import DOOR, GATE, stuff

DRAWN = stuff("log drawn", 32)
FIRST = log.first_key(DRAWN, DOOR.id)
NONCE = stuff("log nonce", 16)
WHO = stuff("log instance", 16)[:4]
HIGHEST = 2**64 - 1


def command(counter: int, verdict: int = 1, cls: int = 0, kind: int = 1) -> Content:
    return Content(
        log.COMMAND, verdict, cls=cls, kind=kind, who=WHO, epoch=1_700_000_000, counter=counter
    )


CONTENTS = (
    (command(7), "a command that was accepted"),
    (command(2**32 - 1, verdict=23, cls=15, kind=4), "a copy's command, every field at its end"),
    (Content(log.TOKEN, 3, who=WHO, epoch=1_700_000_000), "a token that is held"),
    (Content(log.ORDER, 4, kind=3), "an order that names no instance"),
    (Content(log.NOTE, flags=log.STARTED, counter=65537), "a note of a start"),
    (Content(log.NOTE, undone=15, who=b"\xff\x00\x01\x02", epoch=5), "a note of undone entries"),
)


def put_content(block: Block, content: Content) -> Block:
    return block.put_all(
        event=content.event,
        verdict=content.verdict,
        undone=content.undone,
        **{"class": content.cls},
        kind=content.kind,
        flags=content.flags,
        who=content.who,
        epoch=content.epoch,
        counter=content.counter,
    )


def logs() -> Iterator[Block]:
    yield from _keys()
    yield from _entries()
    yield from _stored()
    yield from _messages()
    for story in STORIES:
        yield story().block


def _keys() -> Iterator[Block]:
    for where, number, comment in (
        (DOOR, 0, "the first key"),
        (DOOR, 1, "after one entry"),
        (DOOR, 300, "after 300 entries"),
        (GATE, 0, "the same F at the gate"),
    ):
        first = log.first_key(DRAWN, where.id)
        key = log.steps(first, number)
        yield case("log_keys", comment).put_all(
            drawn=DRAWN,
            hardware_id=where.id,
            number=number,
            first_key=first,
            key=key,
            entry_key=log.entry_key(key, number),
            head_key=log.head_key(key),
        )


def _entries() -> Iterator[Block]:
    for number, (content, comment) in enumerate(CONTENTS):
        number = HIGHEST if number == 1 else number
        key = log.steps(FIRST, number % 16)
        made = case("log_entry", comment).put_all(key=key, number=number, hardware_id=DOOR.id)
        entry = log.seal(key, number, DOOR.id, content)
        if log.open_entry(key, number, DOOR.id, entry) != content:
            raise AssertionError("an entry that opens differently")
        yield put_content(made, content).put_all(content=content.encoded(), entry=entry)


def _stored() -> Iterator[Block]:
    key = log.store_key(DOOR.secret)
    for number, comment in ((0, "the first page"), (127, "the second"), (HIGHEST, "the highest number")):
        made = case("log_page", comment).put_all(hardware_secret=DOOR.secret, number=number)
        yield made.put_all(store_key=key, bytes=log.encode_page(key, number))
    for record, comment in (
        (KeyRecord(1, 0, 0, 0, 0, FIRST), "the first key record"),
        (KeyRecord(9, 128, 100, 1, log.STARTED, log.steps(FIRST, 128)), "with something to tell"),
        (KeyRecord(2**32 - 1, 2**64 - 16, HIGHEST, 15, 1, b"\xff" * 32), "every field at its end"),
    ):
        raw = log.encode_key_record(key, record)
        if log.decode_key_record(key, raw) != record:
            raise AssertionError("a key record that reads differently")
        yield case("log_key_record", comment).put_all(
            hardware_secret=DOOR.secret,
            sequence=record.sequence,
            number=record.number,
            acknowledged=record.acknowledged,
            undone=record.undone,
            flags=record.flags,
            key=record.key,
            bytes=raw,
        )


def _messages() -> Iterator[Block]:
    for start in (0, HIGHEST):
        made = case("log_ask", f"from entry {start}").put_all(**{"from": start}, nonce=NONCE)
        yield made.put("message", log.ask(start, NONCE))
    for count, comment in ((0, "no entries"), (1, "one entry"), (9, "nine entries")):
        lock = Lock()
        lock.happen(20)
        sent = replace(lock.log(20 - count, count), oldest=4, refused=b"\x01\x02\x03\xff", undone=count)
        key = log.steps(FIRST, 20)
        made = case("log_message", comment).put_all(
            key=key,
            nonce=NONCE,
            first=sent.first,
            oldest=sent.oldest,
            next=sent.next,
            refused=sent.refused,
            flags=sent.flags,
            undone=sent.undone,
        )
        for entry in sent.entries:
            made.put("entry", entry)
        yield made.put("message", sent.encoded(key, NONCE))


# Readings


@dataclass
class Lock:
    """Flash that a story may do anything to."""

    flash: list[bytes] = field(default_factory=list)
    oldest: int = 0
    undone: int = 0
    flags: int = 0

    def write(self, content: Content) -> None:
        number = len(self.flash)
        self.flash.append(log.seal(log.steps(FIRST, number), number, DOOR.id, content))

    def happen(self, times: int = 1, counter: int = 0) -> None:
        for _ in range(times):
            if self.undone or self.flags:
                self.write(Content(log.NOTE, undone=self.undone, flags=self.flags, counter=99))
                self.undone = self.flags = 0
            self.write(command(counter or len(self.flash)))

    def cut(self) -> None:
        """The write of an entry is cut, and the hardware starts."""
        self.write(command(5))
        self.damage(len(self.flash) - 1)
        self.undone, self.flags = self.undone + 1, log.STARTED

    def damage(self, number: int) -> None:
        self.flash[number] = self.flash[number][:20] + bytes(12)

    def log(self, first: int, count: int) -> Log:
        entries = tuple(self.flash[first : first + count])
        return Log(first, self.oldest, len(self.flash), bytes(4), self.flags, self.undone, entries)


class Story:
    """A reading: LOGs in the order in which they come, and what is found."""

    def __init__(self, comment: str, first: int = 0, bound: int = log.STEPS_MAX) -> None:
        self.lock = Lock()
        key = log.steps(FIRST, first)
        self.block = case("log_reading", comment).put_all(
            hardware_id=DOOR.id, first=first, first_key=key, bound=bound
        )
        self.told: list[str] = []
        self.reading = log.Reading(key, first, DOOR.id, self._found, bound)

    def _found(self, finding: str, first: int, count: int) -> None:
        self.block.put("finding", f"{finding} {first} {count}")
        if finding != "entry":
            self.told.append(f"{finding} {first}+{count}")

    def bring(self, first: int, count: int, *told: str) -> "Story":
        sent = self.lock.log(first, count)
        return self.offer(sent.encoded(log.steps(FIRST, sent.next), NONCE), "none", *told)

    def offer(self, message: bytes, word: str, *told: str, nonce: bytes = NONCE) -> "Story":
        """The findings are written by hand; the implementation must agree."""
        self.block.put("log", f"{nonce.hex()} {message.hex()}")
        result, self.told = "none", []
        try:
            self.reading.take(nonce, message)
        except Refused as refused:
            result = refused.word
        self.block.put("result", result)
        return self._agree(word, result, told)

    def close(self, outcome: str, *told: str) -> "Story":
        self.block.put("close", 1)
        self.told = []
        found = self.reading.close()
        self.block.put("outcome", found)
        return self._agree(outcome, found, told)

    def _agree(self, word: str, found: str, told: Sequence[str]) -> "Story":
        if (word, list(told)) != (found, self.told):
            comment = self.block.word("comment")
            raise AssertionError(f"{comment}: {found} {self.told} instead of {word} {list(told)}")
        return self


def whole() -> Story:
    story = Story("all entries, in order and again")
    story.lock.happen(12)
    return story.bring(0, 9).bring(0, 9).bring(6, 6).bring(12, 0).close("whole")


def truncated() -> Story:
    story = Story("the last entries are kept back")
    story.lock.happen(12)
    return story.bring(0, 9).close("incomplete", "missing 9+3")


def gap() -> Story:
    story = Story("entries are kept back and come late")
    story.lock.happen(12)
    story.bring(0, 2).bring(5, 7, "missing 2+3")
    return story.bring(1, 4).close("whole")


def overwritten() -> Story:
    story = Story("the ring has overwritten entries")
    story.lock.happen(15)
    story.bring(0, 2)
    story.lock.oldest = 8
    story.bring(10, 5, "overwritten 2+6", "missing 8+2")
    return story.bring(8, 2).close("incomplete")


def forked() -> Story:
    story = Story("flash was put back, and two entries have one number")
    story.lock.happen(6)
    story.bring(0, 6)
    del story.lock.flash[4:]
    story.lock.happen(1, counter=77)
    story.bring(4, 1, "shorter 5+1", "forked 4+1")
    story.lock.happen(3, counter=78)
    return story.bring(5, 3, "forked 5+1").close("altered")


def torn() -> Story:
    story = Story("a write was cut, and the next LOG has the note")
    story.lock.happen(3)
    story.lock.cut()
    story.lock.happen(2)
    return story.bring(0, 4).bring(4, 3, "torn 3+1").close("whole")


def torn_last() -> Story:
    story = Story("a write was cut, and the LOG itself tells of it; later the note does, too")
    story.lock.happen(3)
    story.lock.cut()
    story.bring(0, 4, "torn 3+1")
    story.lock.happen(1)
    return story.bring(4, 2, "undone 3+1").close("whole")


def undone() -> Story:
    story = Story("an entry did not happen, and the write behind it was cut")
    story.lock.happen(3)
    story.lock.undone = 1
    story.lock.cut()
    story.lock.happen(1)
    return story.bring(0, 6, "torn 3+1", "undone 2+1").close("whole")


def changed() -> Story:
    story = Story("an entry in flash was changed")
    story.lock.happen(8)
    story.lock.damage(3)
    return story.bring(0, 8, "changed 3+1").close("altered")


def changed_last() -> Story:
    story = Story("the last entry in flash was changed")
    story.lock.happen(8)
    story.lock.damage(7)
    return story.bring(0, 8, "changed 7+1").close("altered")


def changed_before_torn() -> Story:
    story = Story("more entries do not open than the note tells of")
    story.lock.happen(4)
    story.lock.cut()
    story.lock.happen(1)
    story.lock.damage(2)
    story.lock.damage(3)
    return story.bring(0, 7, "changed 2+2", "torn 4+1").close("altered")


def start_alone() -> Story:
    story = Story("a note of a start explains nothing")
    story.lock.happen(4)
    story.lock.flags = log.STARTED
    story.lock.happen(1)
    story.lock.damage(3)
    return story.bring(0, 6, "changed 3+1").close("altered")


def swapped_in_flash() -> Story:
    story = Story("two entries have changed places in flash")
    story.lock.happen(6)
    flash = story.lock.flash
    flash[1], flash[2] = flash[2], flash[1]
    return story.bring(0, 6, "changed 1+2").close("altered")


def changed_after_reading() -> Story:
    story = Story("an entry was changed after it was read")
    story.lock.happen(6)
    story.bring(0, 6)
    story.lock.damage(2)
    return story.bring(1, 3, "changed 2+1").close("altered")


def unclear() -> Story:
    story = Story("the note that tells of a cut write is kept back")
    story.lock.happen(3)
    story.lock.cut()
    story.lock.happen(1)
    story.bring(0, 4).bring(5, 1, "unclear 3+1", "missing 4+1")
    return story.close("incomplete")


def unknown() -> Story:
    story = Story("a later version wrote an entry, behind one that does not open")
    story.lock.happen(2)
    story.lock.flash.append(log.seal_bytes(log.steps(FIRST, 2), 2, DOOR.id, b"\x06" + bytes(15)))
    story.lock.happen(1)
    story.lock.damage(1)
    return story.bring(0, 4, "unclear 1+1", "unknown 2+1").close("incomplete")


def couriers() -> Story:
    story = Story("couriers that change a LOG, or answer another nonce")
    story.lock.happen(6)
    story.bring(0, 2)
    sent = story.lock.log(2, 3)
    key = log.steps(FIRST, 6)
    right = sent.encoded(key, NONCE)
    story.offer(right, "differs", nonce=stuff("another nonce", 16))
    story.offer(right[:40] + bytes([right[40] ^ 1]) + right[41:], "differs")
    story.offer(right[:32] + right[64:96] + right[32:64] + right[96:], "differs")
    story.offer(right[:30] + b"\x02" + right[31:96] + right[128:], "differs")
    story.offer(replace(sent, undone=3).encoded(key, NONCE)[:-16] + right[-16:], "differs")
    story.offer(right[:-1] + bytes([right[-1] ^ 0x80]), "differs")
    story.offer(right[:-32], "malformed")
    story.offer(sent.encoded(log.steps(FIRST, 5), NONCE), "differs")
    story.offer(right, "none")
    return story.bring(5, 1).close("whole")


def too_far() -> Story:
    story = Story("numbers beyond the bound of steps, and before the reader's first entry", 3, 10)
    story.lock.happen(14)
    sent = story.lock.log(5, 4)
    key = log.steps(FIRST, 14)
    story.offer(sent.encoded(key, NONCE), "too-far")
    story.offer(replace(sent, next=HIGHEST).encoded(key, NONCE), "too-far")
    story.offer(replace(sent, first=HIGHEST - 9, next=HIGHEST).encoded(key, NONCE), "too-far")
    story.lock.flash.pop()
    story.offer(story.lock.log(2, 4).encoded(log.steps(FIRST, 13), NONCE), "too-far")
    return story.bring(3, 9).bring(12, 1).close("whole")


STORIES = (
    whole,
    truncated,
    gap,
    overwritten,
    forked,
    torn,
    torn_last,
    undone,
    changed,
    changed_last,
    changed_before_torn,
    start_alone,
    swapped_in_flash,
    changed_after_reading,
    unclear,
    unknown,
    couriers,
    too_far,
)
