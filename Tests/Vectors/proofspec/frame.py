# SPDX-License-Identifier: Apache-2.0

"""Section 11: cutting messages into packets, and putting them together again."""

from .basics import u8, u16
from .message import LENGTHS, length_allowed

FIRST, LAST, RESERVED, TYPE_MASK = 0x80, 0x40, 0x30, 0x0F
PACKET_BYTES_MIN, PACKET_BYTES_MAX = 20, 514
CHECK_BYTES = 2

MORE, COMPLETE, REPEATED, GARBAGE, LOST = "more", "complete", "repeated", "garbage", "lost"


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE: polynomial 0x1021, initial value 0xFFFF."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1
            crc &= 0xFFFF
    return crc


def check(type: int, message: bytes) -> bytes:
    return u16(crc16(u8(type) + u16(len(message)) + message))


def fragments(type: int, message: bytes, packet: int) -> list[bytes]:
    """The packets of a message; all but the last are `packet` bytes long."""
    if not length_allowed(type, len(message)):
        raise ValueError("a length that this type never has")
    if not PACKET_BYTES_MIN <= packet <= PACKET_BYTES_MAX:
        raise ValueError("packet size")
    stream = message + check(type, message)
    made: list[bytes] = []
    while stream:
        first = not made
        extra = u16(len(message)) if first else b""
        room = packet - 2 - len(extra)
        part, stream = stream[:room], stream[room:]
        flags = (FIRST if first else 0) | (0 if stream else LAST)
        made.append(u8(flags | type) + u8(len(made)) + extra + part)
    return made


class Receiver:
    """Puts one message at a time together. `receive` says what became of a packet."""

    def __init__(self) -> None:
        self._drop()
        self.type, self.message = 0, b""  # the message completed last

    def _drop(self) -> None:
        self.flying: int | None = None  # type of the message in flight
        self.length, self.next, self.stream = 0, 0, b""

    def receive(self, packet: bytes) -> str:
        if not 3 <= len(packet) <= PACKET_BYTES_MAX:
            return GARBAGE
        type, index = packet[0] & TYPE_MASK, packet[1]
        if type not in LENGTHS or packet[0] & RESERVED:
            return GARBAGE
        last = bool(packet[0] & LAST)
        if packet[0] & FIRST:
            return self._first(type, index, last, packet)
        return self._later(type, index, last, packet[2:])

    def _first(self, type: int, index: int, last: bool, packet: bytes) -> str:
        if index != 0 or len(packet) < 5:
            return GARBAGE
        length, part = int.from_bytes(packet[2:4], "little"), packet[4:]
        total = length + CHECK_BYTES
        if not length_allowed(type, length) or len(part) > total:
            return GARBAGE
        if last != (len(part) == total):
            return GARBAGE
        self.flying, self.length, self.next, self.stream = type, length, 1, part
        return self._finish() if last else MORE

    def _later(self, type: int, index: int, last: bool, part: bytes) -> str:
        if index == 0 or self.flying is None:
            return GARBAGE
        if type == self.flying and index < self.next:
            return REPEATED
        stream, total = self.stream + part, self.length + CHECK_BYTES
        fits = len(stream) <= total and last == (len(stream) == total)
        if type != self.flying or index > self.next or not fits:
            self._drop()
            return LOST
        self.stream, self.next = stream, self.next + 1
        return self._finish() if last else MORE

    def _finish(self) -> str:
        type, stream, length = self.flying, self.stream, self.length
        self._drop()
        message, given = stream[:length], stream[length:]
        if type is None or check(type, message) != given:
            return LOST
        self.type, self.message = type, message
        return COMPLETE
