# SPDX-License-Identifier: Apache-2.0

"""A central, written from docs/LINK.md: PDUs over a Unix socket, and the messages of docs/SPEC.md in them.

It can behave, and it can misbehave: every PDU can be sent as it is wanted.
"""

import os
import socket

from proofspec.frame import COMPLETE, Receiver, fragments
from proofspec.message import Type

TOKEN, CHALLENGE, COMMAND, VERDICT, STATUS, ORDER = 3, 5, 8, 10, 13, 15
RECALL, REPLY, CAPABILITIES, LOG, SEALED_CHALLENGE, GRANT = 17, 19, 21, 23, 25, 27
CHALLENGE_CCCD, VERDICT_CCCD = 6, 11
ERROR, MTU_REQUEST, READ, READ_BLOB, WRITE, WRITE_COMMAND, NOTIFICATION = 1, 2, 10, 12, 18, 82, 27

WRITTEN_AT = {Type.ASK: CHALLENGE, Type.TOKEN: TOKEN, Type.COMMAND: COMMAND, Type.ORDER: ORDER, Type.RECALL: RECALL,
              Type.SEALED_UP: COMMAND, Type.LOG_ASK: LOG, Type.GRANT: GRANT}

# A hang must end as a failure. Nothing here takes a fraction of it.
SECONDS = int(os.environ.get("LINK_SECONDS", "60"))


class LinkEnded(Exception):
    """The hardware has ended the link."""


class AttError(Exception):
    def __init__(self, pdu):
        super().__init__(f"error 0x{pdu[4]:02x} of request 0x{pdu[1]:02x}")
        self.code = pdu[4]


def u16(value):
    return value.to_bytes(2, "little")


class Central:
    def __init__(self, path, mtu=23, subscribed=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(path))
        self.mtu = 23
        self.notified = []  # (handle, value), not looked at yet
        self.sent = self.received = 0  # PDUs
        if mtu != 23:
            self.exchange(mtu)
        if subscribed:
            self.write(CHALLENGE_CCCD, u16(1))
            self.write(VERDICT_CCCD, u16(1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # PDUs

    def send(self, pdu):
        try:
            self.socket.send(pdu)
        except (BrokenPipeError, ConnectionResetError):
            raise LinkEnded() from None
        self.sent += 1

    def receive(self):
        try:
            pdu = self.socket.recv(1024)
        except ConnectionResetError:
            pdu = b""
        if not pdu:
            raise LinkEnded()
        self.received += 1
        assert len(pdu) <= self.mtu, f"{len(pdu)} bytes with an MTU of {self.mtu}"
        return pdu

    def request(self, pdu):
        """Sends a request, waits for its response; notifications before it are kept."""
        self.send(pdu)
        while True:
            answer = self.receive()
            if answer[0] == NOTIFICATION:
                self.notified.append((int.from_bytes(answer[1:3], "little"), answer[3:]))
                continue
            if answer[0] == ERROR:
                raise AttError(answer)
            assert answer[0] == pdu[0] + 1, f"response 0x{answer[0]:02x} to request 0x{pdu[0]:02x}"
            return answer[1:]

    def exchange(self, mtu):
        theirs = int.from_bytes(self.request(bytes([MTU_REQUEST]) + u16(mtu)), "little")
        self.mtu = min(mtu, theirs)

    def write(self, handle, value):
        self.request(bytes([WRITE]) + u16(handle) + value)

    def command(self, handle, value):
        self.send(bytes([WRITE_COMMAND]) + u16(handle) + value)

    def read(self, handle):
        """The whole value, in as many reads as it takes."""
        value = self.request(bytes([READ]) + u16(handle))
        piece = value
        while len(piece) == self.mtu - 1:
            piece = self.request(bytes([READ_BLOB]) + u16(handle) + u16(len(value)))
            value += piece
        return value

    # Messages

    def packets(self, type, message):
        return fragments(type, message, self.mtu - 3)

    def tell(self, type, message):
        for packet in self.packets(type, message):
            self.command(WRITTEN_AT[type], packet)

    def hear(self):
        """The next whole message: type and bytes."""
        receiver = Receiver()
        while True:
            if not self.notified:
                pdu = self.receive()
                assert pdu[0] == NOTIFICATION, f"0x{pdu[0]:02x} where a notification was expected"
                self.notified.append((int.from_bytes(pdu[1:3], "little"), pdu[3:]))
            _, packet = self.notified.pop(0)
            if receiver.receive(packet) == COMPLETE:
                return receiver.type, receiver.message

    def say(self, type, message):
        self.tell(type, message)
        return self.hear()

    def settle(self):
        """Returns when everything sent before has been taken: one request, answered. What was notified is dropped."""
        self.request(bytes([READ]) + u16(CHALLENGE_CCCD))
        self.notified.clear()
