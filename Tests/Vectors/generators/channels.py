# SPDX-License-Identifier: Apache-2.0

"""channel.txt: the keys and messages of channels, section 20."""

from collections.abc import Iterator

from blocks import Block, case
from proofspec import channel, curves, sealed
from proofspec.sealed import DEVICE, INTEGRITY

from .sealed import EPHEMERAL, command, facts, put_facts
from .world import stuff

CHAIN = stuff("a channel's key", 32)


def cases() -> Iterator[Block]:
    yield from _openings()
    yield from _commands()


def _openings() -> Iterator[Block]:
    """The first key: from a sealed command."""
    of = facts()
    for kind in (INTEGRITY, DEVICE):
        message = command(of, kind)
        shared = curves.shared_secret(EPHEMERAL, of.lock_key)
        made = put_facts(case("channel_key", f"opened by kind {kind}"), of)
        yield made.put_all(shared=shared, message=message, chain=sealed.chain(of, shared, message))


def _commands() -> Iterator[Block]:
    for counter, cls, text, comment in (
        (8, 1, b"again", "a command"),
        (9, 1, b"again", "the same under the next counter"),
        (1, 0, b"", "no command: 25 bytes"),
        (2**64 - 1, 15, stuff("long", 216), "the longest: 241 bytes"),
    ):
        message = channel.encode_up(CHAIN, counter, cls, text)
        if channel.open_up(CHAIN, message) != (cls, text):
            raise AssertionError("a command of a channel that opens differently")
        back = channel.back_key(CHAIN, counter)
        yield case("channel_command", comment).put_all(
            chain=CHAIN,
            counter=counter,
            **{"class": cls},
            command=text,
            up=channel.up_key(CHAIN, counter),
            nonce=channel.nonce(CHAIN, message),
            back=back,
            following=channel.following(CHAIN, counter),
            message=message,
            answer=sealed.encode_down(back, counter, 1, 65535, counter // 2),
        )
