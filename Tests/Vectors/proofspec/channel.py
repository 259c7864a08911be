# SPDX-License-Identifier: Apache-2.0

"""Section 20: the messages and keys of a channel."""

from . import curves
from .basics import Refused, kdf, u8, u64
from .sealed import COMMAND_MAX

FIXED = 25


def up_key(chain: bytes, counter: int) -> bytes:
    return kdf("pfc2.chan-up....", chain, u64(counter))


def back_key(chain: bytes, counter: int) -> bytes:
    return kdf("pfc2.chan-back..", chain, u64(counter))


def following(chain: bytes, counter: int) -> bytes:
    """C_next."""
    return kdf("pfc2.chan-next..", chain, u64(counter))


def nonce(chain: bytes, message: bytes) -> bytes:
    return kdf("pfc2.chan-nonce.", chain, message)[:16]


def encode_up(chain: bytes, counter: int, cls: int, command: bytes) -> bytes:
    return u64(counter) + curves.box(up_key(chain, counter), u8(cls) + command)


def parse_up(message: bytes) -> int:
    """The counter of a message whose shape is that of a SEALED-UP."""
    if not FIXED <= len(message) <= FIXED + COMMAND_MAX:
        raise Refused("malformed")
    return int.from_bytes(message[:8], "little")


def open_up(chain: bytes, message: bytes) -> tuple[int, bytes]:
    """Class and command."""
    counter = parse_up(message)
    plain = curves.unbox(up_key(chain, counter), message[8:])
    if plain[0] > 15:
        raise Refused("malformed")
    return plain[0], plain[1:]
