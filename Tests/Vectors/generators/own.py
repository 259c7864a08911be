# SPDX-License-Identifier: Apache-2.0

"""own.txt: a gate's own keys and texts, section 16."""

from collections.abc import Iterator

from blocks import Block, case
from proofspec.own import Own, read_word, word

from . import own_texts
from .gates import FRONT, OWN_SECRET, SIDE
from .own_texts import put_own
from .world import START, stuff

HOST = b"api.example.com"
FIRST = Own(OWN_SECRET, FRONT.id, 1)
SECOND = Own(stuff("gate's second own secret", 32), FRONT.id, 2)
ELSEWHERE = Own(OWN_SECRET, SIDE.id, 1)


def texts() -> Iterator[Block]:
    yield from _keys()
    yield from _words()
    yield from own_texts.texts(FIRST)


def _keys() -> Iterator[Block]:
    for own, host, comment in (
        (FIRST, HOST, "the first secret of a gate"),
        (SECOND, HOST, "the second one"),
        (Own(OWN_SECRET, FRONT.id, 255), HOST, "another number: every key differs"),
        (ELSEWHERE, HOST, "another gate: every key differs"),
        (FIRST, b"shop.example.com:8443", "another host: only the key of verdicts differs"),
    ):
        yield put_own(case("own_keys", comment), own).put_all(
            host=host,
            nonce_key=own.nonce,
            challenge_key=own.challenge,
            clearance_key=own.clearance,
            ticket_key=own.ticket,
            verdict_key=own.verdict(host),
        )


def _words() -> Iterator[Block]:
    for now, comment in ((START, "a word"), (2**32 - 1, "in the last second of 32 bits")):
        start = stuff("start of a verifier", 4)
        text = word(FIRST, now, start)
        if read_word([SECOND, FIRST], text) != (now, start) or read_word([SECOND], text):
            raise AssertionError("a word that says something else")
        made = put_own(case("word", comment), FIRST)
        yield made.put_all(time=now, start=start, text=text)
