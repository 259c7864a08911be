# SPDX-License-Identifier: Apache-2.0

"""The worked example of docs/SPEC.md, section 17: two entries, and the LOG that carries them."""

from proofspec import log
from proofspec.basics import mac
from proofspec.log import Content, KeyRecord, Log, Reading

from .example import Page
from .world import START, stuff

DRAWN, HARDWARE = stuff("example drawn", 32), stuff("example hardware id", 16)
SECRET, NONCE = stuff("example hardware secret", 32), stuff("example log nonce", 16)
INSTANCE = stuff("example instance", 16)


def example() -> str:
    page = Page()
    first = log.first_key(DRAWN, HARDWARE)
    page.say("**Keys.**")
    page.show("F", DRAWN)
    page.show("hardware id", HARDWARE)
    page.show("L_0", first)
    for number in (1, 2):
        page.show(f"L_{number}", log.steps(first, number))
    note = Content(log.NOTE, flags=log.STARTED, who=bytes((3, 0, 0, 0)), epoch=START, counter=65536)
    opened = Content(log.COMMAND, 1, cls=2, kind=1, who=INSTANCE[:4], epoch=START, counter=65536)
    entries = []
    for number, (content, what) in enumerate(
        (
            (note, "a note of a start and three refusals to commands"),
            (opened, "a command of kind 1 and class 2 that was accepted"),
        )
    ):
        key = log.steps(first, number)
        own = log.entry_key(key, number)
        entry = log.seal(key, number, HARDWARE, content)
        page.say(f"**Entry {number}**: {what}.")
        page.show(f"k_{number}", own)
        page.show("content", content.encoded())
        page.show("mask", mac(own, b"\x01" + entry[16:])[:16])
        page.show("entry", entry)
        entries.append(entry)
    page.say("**Flash**: the first page's head, and the first key record.")
    store = log.store_key(SECRET)
    page.show("hardware's secret key", SECRET)
    page.show("store key", store)
    page.show("page head", log.encode_page(store, 0))
    page.show("key record", log.encode_key_record(store, KeyRecord(1, 0, 0, 0, 0, first)))
    page.say("**Messages**: all from entry 0 on.")
    page.show("nonce", NONCE)
    page.show("LOG-ASK", log.ask(0, NONCE))
    key = log.steps(first, 2)
    page.show("head key", log.head_key(key))
    message = Log(0, 0, 2, bytes(4), 0, 0, tuple(entries)).encoded(key, NONCE)
    page.show("LOG", message)
    found: list[str] = []
    reading = Reading(first, 0, HARDWARE, lambda what, at, count: found.append(f"{what} {at}+{count}"))
    reading.take(NONCE, message)
    if found != ["entry 0+1", "entry 1+1"] or reading.close() != log.WHOLE:
        raise AssertionError(f"the example is not read: {found}")
    return page.text()
