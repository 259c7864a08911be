# SPDX-License-Identifier: Apache-2.0

"""Floods of the firmware's one link: the owner is served within ten seconds behind two others (docs/FIRMWARE.md,
section 2). The deadline is the property; nothing else here looks at a clock.
"""

import contextlib
import socket
import threading
import time

from case import Firmware
from central import COMMAND, MTU_REQUEST, SECONDS, WRITE_COMMAND, LinkEnded, u16
from proofspec.message import Verdict
from stage import App

DEADLINE = 10
HALF = bytes([WRITE_COMMAND]) + u16(COMMAND) + bytes([0x84, 0, 90, 0]) + bytes(14)


class Stranger(threading.Thread):
    """Comes, says something or nothing, holds the link until it is ended, and comes again without end."""

    def __init__(self, path, says):
        super().__init__(daemon=True)
        self.path, self.says, self.ended, self.came = path, says, threading.Event(), threading.Event()

    def run(self):
        while not self.ended.is_set():
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link, contextlib.suppress(OSError):
                link.settimeout(SECONDS)
                link.connect(self.path)
                self.came.set()
                for pdu in self.says:
                    link.send(pdu)
                while not self.ended.is_set() and link.recv(600):
                    continue


class Admission(Firmware):
    def strangers(self, count, *says):
        for _ in range(count):
            stranger = Stranger(self.hardware.socket, says)
            stranger.start()
            # Ends when the hardware does.
            self.addCleanup(stranger.join, SECONDS)
            self.addCleanup(stranger.ended.set)
            stranger.came.wait(SECONDS)

    def assert_owner_served(self):
        began = time.monotonic()
        with contextlib.suppress(LinkEnded), self.hardware.connect() as link:
            link.socket.settimeout(2 * DEADLINE)
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)
            took = time.monotonic() - began
            print(f"served after {took:.1f} s; ", end="", flush=True)
            self.assertLess(took, DEADLINE)
            self.hardware.stop()
            return
        self.fail("the owner's link was ended")

    def test_a_proved_idle_link_of_a_guest(self):
        self.hold()
        guest = App(60)
        link = self.hardware.connect()
        self.addCleanup(link.close)
        self.assertEqual(guest.present(link, self.hardware, guest.token(self.backend, self.hardware)), Verdict.HELD)
        self.assertEqual(guest.do(link, self.hardware, (0, b"status")).verdict, Verdict.ACCEPTED)
        self.assert_owner_served()

    def test_a_proved_idle_link_and_a_stranger_behind_it(self):
        self.hold()
        guest = App(60)
        link = self.hardware.connect()
        self.addCleanup(link.close)
        self.assertEqual(guest.present(link, self.hardware, guest.token(self.backend, self.hardware)), Verdict.HELD)
        self.assertEqual(guest.do(link, self.hardware, (0, b"status")).verdict, Verdict.ACCEPTED)
        self.strangers(1, bytes([MTU_REQUEST]) + u16(185))
        self.assert_owner_served()

    def test_two_silent_strangers_who_come_again_without_end(self):
        self.hold()
        self.strangers(2)
        self.assert_owner_served()

    def test_two_strangers_with_half_open_messages(self):
        self.hold()
        self.strangers(2, *[HALF] * 40)
        self.assert_owner_served()
