# SPDX-License-Identifier: Apache-2.0

"""Entries, page heads, key records and LOGs that are refused, section 17."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec import log
from proofspec.basics import mac
from proofspec.log import KeyRecord

from .hostile import expect
from .hostile_config import flipped
from .logs import DRAWN, FIRST, HIGHEST, NONCE, Lock, command
from .world import DOOR, GATE, stuff


def cases() -> Iterator[Block]:
    yield from _entries()
    yield from _pages()
    yield from _key_records()
    yield from _messages()


def _entries() -> Iterator[Block]:
    def offer(comment: str, entry: bytes, word: str, *flags: str, number: int = 5) -> Block:
        made = case("open_log_entry", comment).put_all(
            key=key, number=number, hardware_id=DOOR.id, entry=entry
        )
        return expect(made, word, *flags)

    key = log.steps(FIRST, 5)
    right = log.seal(key, 5, DOOR.id, command(9))
    yield offer("a command", right, "none")
    yield offer("a bit of the cipher", flipped(right, 0), "differs", "BitFlip")
    yield offer("a bit of the tag", flipped(right, 31), "differs", "BitFlip")
    yield offer("erased flash", b"\xff" * 32, "differs", "Guess")
    yield offer("zeroed flash", bytes(32), "differs", "Guess")
    yield offer("the number before", right, "differs", "WrongTranscript", number=4)
    earlier = log.seal(log.steps(FIRST, 4), 5, DOOR.id, command(9))
    yield offer("under the key before", earlier, "differs", "WrongKey")
    later = log.seal(log.steps(FIRST, 6), 5, DOOR.id, command(9))
    yield offer("under the next key", later, "differs", "WrongKey")
    other = log.seal(log.steps(log.first_key(DRAWN, GATE.id), 5), 5, GATE.id, command(9))
    yield offer("of the gate", other, "differs", "WrongRecipient")
    yield offer("of another id", log.seal(key, 5, GATE.id, command(9)), "differs", "WrongRecipient")
    cipher = bytes(a ^ b for a, b in zip(command(9).encoded(), mac(log.entry_key(key, 5), b"\x01")))
    tag = mac(log.entry_key(key, 5), b"\x02" + (5).to_bytes(8, "little") + DOOR.id + cipher)[:16]
    yield offer("a tag over the cipher", cipher + tag, "differs", "WrongTranscript")
    for content, comment in (
        (b"\x00" + bytes(15), "event 0"),
        (b"\x06" + bytes(15), "event 6"),
        (b"\x01\x01\x00\x01" + bytes(12), "a command with a flag"),
        (b"\x05\x10\x00\x00" + bytes(12), "a note of 16 undone entries"),
        (b"\x05\x00\x01\x00" + bytes(12), "a note with a class"),
        (b"\x05\x00\x00\x02" + bytes(12), "a note with an unknown flag"),
    ):
        yield offer(comment, log.seal_bytes(key, 5, DOOR.id, content), "too-new", "Reserved")


def _pages() -> Iterator[Block]:
    def offer(comment: str, raw: bytes, word: str, *flags: str) -> Block:
        made = case("read_log_page", comment).put_all(hardware_secret=DOOR.secret, bytes=raw)
        return expect(made, word, *flags)

    key = log.store_key(DOOR.secret)
    right = log.encode_page(key, 127)
    yield offer("a page", right, "none")
    yield offer("erased flash", b"\xff" * 32, "damaged", "Guess")
    yield offer("zeroed flash", bytes(32), "damaged", "Guess")
    yield offer("a bit of the number", flipped(right, 8), "damaged", "BitFlip")
    yield offer("of the gate", log.encode_page(log.store_key(GATE.secret), 127), "damaged", "WrongKey")
    for at, value, word, flag, comment in (
        (0, 0x51, "damaged", "WrongMagic", "another magic"),
        (3, 2, "damaged", "WrongMagic", "said to be a key record"),
        (2, 2, "too-new", "UnknownVersion", "version 2"),
        (7, 1, "too-new", "Reserved", "a reserved byte"),
    ):
        body = right[:at] + bytes([value]) + right[at + 1 : 16]
        yield offer(comment, body + mac(key, body)[:16], word, flag)


def _key_records() -> Iterator[Block]:
    def offer(comment: str, raw: bytes, word: str, *flags: str) -> Block:
        made = case("read_log_key_record", comment).put_all(hardware_secret=DOOR.secret, bytes=raw)
        return expect(made, word, *flags)

    key = log.store_key(DOOR.secret)
    record = KeyRecord(3, 48, 40, 2, log.STARTED, log.steps(FIRST, 48))
    right = log.encode_key_record(key, record)
    yield offer("a key record", right, "none")
    yield offer("a bit of the key", flipped(right, 40), "damaged", "BitFlip")
    yield offer("the key programmed to zeros", right[:32] + bytes(32) + right[64:], "damaged", "ZeroSecret")
    zeros = log.encode_key_record(key, replace(record, key=bytes(32)))
    yield offer("a key of zeros, rightly tagged", zeros, "damaged", "ZeroSecret")
    odd = log.encode_key_record(key, replace(record, number=49))
    yield offer("a number within a block", odd, "damaged", "OutOfRange")
    yield offer(
        "of the gate", log.encode_key_record(log.store_key(GATE.secret), record), "damaged", "WrongKey"
    )
    for at, value, word, flag, comment in (
        (1, 0x53, "damaged", "WrongMagic", "another magic"),
        (3, 1, "damaged", "WrongMagic", "said to be a page"),
        (2, 2, "too-new", "UnknownVersion", "version 2"),
        (24, 16, "too-new", "OutOfRange", "16 undone entries"),
        (25, 2, "too-new", "Reserved", "an unknown flag"),
        (31, 1, "too-new", "Reserved", "a reserved byte"),
    ):
        body = right[:at] + bytes([value]) + right[at + 1 : 64]
        yield offer(comment, body + mac(key, body)[:16], word, flag)


def _messages() -> Iterator[Block]:
    def offer(comment: str, message: bytes, word: str, *flags: str) -> Block:
        return expect(case("read_log_message", comment).put("message", message), word, *flags)

    lock = Lock()
    lock.happen(12)
    sent, key = lock.log(2, 3), log.steps(FIRST, 12)
    right = sent.encoded(key, NONCE)
    yield offer("three entries", right, "none")
    none = replace(sent, first=12, entries=()).encoded(key, NONCE)
    yield offer("no entries", none, "none")
    high = replace(sent, first=HIGHEST - 3, next=HIGHEST).encoded(key, NONCE)
    yield offer("the highest numbers", high, "none", "EdgeCase")
    yield offer("nothing", b"", "malformed", "Truncated")
    yield offer("a byte less than the shortest", none[:-1], "malformed", "Truncated")
    yield offer("a byte less", right[:-1], "malformed", "Truncated")
    yield offer("a byte more", right + b"\x00", "malformed", "Extended")
    yield offer("an entry less than it says", right[:-32], "malformed", "Inconsistent")
    ten = replace(lock.log(0, 10)).encoded(key, NONCE)
    yield offer("ten entries", ten, "malformed", "OutOfRange")
    for changed, comment in (
        (replace(sent, oldest=3), "the oldest entry behind the first"),
        (replace(sent, next=4), "more entries than there are"),
        (replace(sent, next=1), "next before first"),
        (replace(sent, first=HIGHEST), "numbers that wrap around"),
        (replace(sent, first=11, entries=()), "no entries, though there are some"),
    ):
        yield offer(comment, changed.encoded(key, NONCE), "malformed", "Inconsistent")
    for changed, comment, flag in (
        (replace(sent, flags=2), "an unknown flag", "Reserved"),
        (replace(sent, undone=16), "16 undone entries", "OutOfRange"),
    ):
        yield offer(comment, changed.encoded(key, NONCE), "too-new", flag)
    yield offer("the byte before the entries", right[:31] + b"\x01" + right[32:], "too-new", "Reserved")
    odd = right[:31] + b"\x01" + right[32:-1]
    yield offer("a reserved byte and a wrong length", odd, "malformed", "Precedence")
    yield offer("garbage", stuff("garbage of a log", 336), "malformed", "Noise")
