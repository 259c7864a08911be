# SPDX-License-Identifier: Apache-2.0

"""Commands of a channel that are refused, section 20."""

from collections.abc import Iterator

from blocks import Block, case
from proofspec import channel, curves
from proofspec.basics import u8, u64

from .channels import CHAIN
from .hostile import expect
from .hostile_config import flipped
from .world import stuff


def offer(comment: str, message: bytes, word: str, *flags: str) -> Block:
    made = case("open_channel_command", comment).put_all(chain=CHAIN, message=message)
    return expect(made, word, *flags)


def cases() -> Iterator[Block]:
    right = channel.encode_up(CHAIN, 8, 1, b"again")
    yield offer("a command", right, "none")
    yield offer("no command", channel.encode_up(CHAIN, 8, 0, b""), "none")
    for size in (0, 1, 8, 24):
        yield offer(f"{size} bytes", right[:size], "malformed", "Truncated")
    for size in (242, 358):
        yield offer(f"{size} bytes", right + bytes(size - len(right)), "malformed", "WrongLength")
    for at in range(8):
        yield offer(f"a bit of the counter, byte {at}", flipped(right, at), "not-for-me", "BitFlip")
    for at in range(8, len(right)):
        yield offer(f"a bit of byte {at}", flipped(right, at), "not-for-me", "BitFlip")
    yield offer("a byte less", right[:-1], "not-for-me", "Truncated")
    yield offer("a byte more", right + b"\x00", "not-for-me", "Extended")
    yield from _keys(right)
    for cls in (15, 16, 127, 255):
        box = curves.box(channel.up_key(CHAIN, 8), u8(cls) + b"x")
        flags = () if cls == 15 else ("OutOfRange",)
        yield offer(f"class {cls}", u64(8) + box, "none" if cls == 15 else "malformed", *flags)


def _keys(right: bytes) -> Iterator[Block]:
    """Boxes under every key that is not the command's."""
    plain = u8(1) + b"again"
    for name, key in (
        ("the chain itself", CHAIN),
        ("the key of the answer", channel.back_key(CHAIN, 8)),
        ("the next chain", channel.following(CHAIN, 8)),
        ("the next chain's key", channel.up_key(channel.following(CHAIN, 8), 8)),
        ("another counter's key", channel.up_key(CHAIN, 9)),
        ("another channel's key", channel.up_key(stuff("another channel", 32), 8)),
        ("zeros", bytes(32)),
    ):
        yield offer(f"a box under {name}", u64(8) + curves.box(key, plain), "not-for-me", "WrongKey")
    yield offer("in the clear", right[:8] + bytes(16) + plain, "not-for-me", "Guess")
    yield offer("the answer as a command", u64(8) + curves.box(channel.back_key(CHAIN, 8), bytes(11)), "not-for-me",
                "WrongKey")
