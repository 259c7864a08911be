# SPDX-License-Identifier: Apache-2.0

"""Floods of the process over its socket: the owner is served within ten seconds, which is the promise of docs/LINK.md
section 7. The deadline is the property; nothing else here looks at a clock.
"""

import contextlib
import socket
import threading
import time

from case import Attack
from central import COMMAND, WRITE_COMMAND, AttError, LinkEnded, u16
from proofspec.message import Verdict
from stage import App

DEADLINE = 10
LINKS = 8


class Stranger(threading.Thread):
    """Opens links without end. Each of `held` sockets stays until the hardware ends it; one more comes and goes."""

    # Notified after each round of each stranger.
    rounds = threading.Condition()

    def __init__(self, path, held, says=b""):
        super().__init__(daemon=True)
        self.path, self.held, self.says, self.ended, self.connected = path, held, says, threading.Event(), 0
        self.sockets = []

    def open(self):
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.setblocking(False)
        try:
            link.connect(self.path)
            if self.says:
                for _ in range(20):
                    link.send(self.says)
        except OSError:
            link.close()
            return None
        self.connected += 1
        return link

    def has_ended(self, link):
        try:
            return link.recv(600) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    def run(self):
        while not self.ended.is_set():
            for link in [link for link in self.sockets if self.has_ended(link)]:
                self.sockets.remove(link)
                link.close()
            while len(self.sockets) < self.held and (link := self.open()):
                self.sockets.append(link)
            if link := self.open():
                link.close()
            with self.rounds:
                self.rounds.notify_all()

    def stop(self):
        self.ended.set()
        self.join()
        for link in self.sockets:
            link.close()


class Admission(Attack):
    def strangers(self, *held, says=b""):
        for count in held:
            stranger = Stranger(self.hardware.socket, count, says)
            stranger.start()
            self.addCleanup(stranger.stop)
            yield stranger

    def wait_until(self, holds):
        with Stranger.rounds:
            self.assertTrue(Stranger.rounds.wait_for(holds, 6 * DEADLINE), "the strangers did not get their links")

    def prove(self, guest, links):
        for link in links:
            self.assertEqual(guest.do(link, self.hardware, (0, b"status")).verdict, Verdict.ACCEPTED)

    def guests(self, count):
        """Guests whose tokens are held: seven, since the owner has the eighth slot."""
        made = [App(60 + 7 * n) for n in range(count)]
        for guest in made:
            self.assertEqual(guest.present(self.link, self.hardware, guest.token(self.backend, self.hardware)),
                             Verdict.HELD)
        return made

    def assert_owner_served(self):
        """An owner who comes again when he is sent away; within the deadline his command is accepted."""
        began, tries = time.monotonic(), 0
        while True:
            tries += 1
            with contextlib.suppress(LinkEnded, AttError, OSError):
                with self.hardware.connect() as link:
                    link.socket.settimeout(DEADLINE)
                    self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)
                    break
            self.assertLess(time.monotonic() - began, DEADLINE, f"not served in {tries} tries")
            # The pace of an app that is sent away: a central without one would flood the hardware itself.
            time.sleep(0.02)
        took = time.monotonic() - began
        print(f"served after {took:.1f} s, try {tries}; ", end="", flush=True)
        self.assertLess(took, DEADLINE)

    def fill(self, count=LINKS):
        return [self.connect(23) for _ in range(count)]

    def test_eight_proved_idle_links_of_one_guest(self):
        guest, = self.guests(1)
        self.link.close()
        self.prove(guest, self.fill())
        self.assert_owner_served()

    def test_eight_proved_idle_links_of_seven_guests(self):
        guests = self.guests(7)
        self.link.close()
        links = self.fill()
        for guest, link in zip(guests + guests[:1], links):
            self.prove(guest, [link])
        self.assert_owner_served()

    def test_a_stranger_who_reconnects_without_end(self):
        self.link.close()
        strangers = list(self.strangers(5, 5))
        self.wait_until(lambda: min(stranger.connected for stranger in strangers) >= 50)
        self.assert_owner_served()

    def test_twelve_strangers_links_and_proved_idle_links_together(self):
        guests = self.guests(4)
        self.link.close()
        links = self.fill()
        for n, link in enumerate(links):
            self.prove(guests[n % 4], [link])
        strangers = list(self.strangers(6, 6))
        self.wait_until(lambda: min(len(stranger.sockets) for stranger in strangers) >= 6)
        self.assert_owner_served()

    def test_half_open_messages_on_all_links(self):
        half = bytes([WRITE_COMMAND]) + u16(COMMAND) + bytes([0x84, 0, 90, 0]) + bytes(16)
        self.link.close()
        strangers = list(self.strangers(8, 4, says=half))
        self.wait_until(lambda: sum(len(stranger.sockets) for stranger in strangers) >= 12)
        self.assert_owner_served()

    def test_an_owner_in_session_is_not_disturbed(self):
        self.assert_owner_gets_in(self.link)
        strangers = list(self.strangers(6, 6))
        self.wait_until(lambda: min(len(stranger.sockets) for stranger in strangers) >= 6)
        for _ in range(200):
            self.assert_owner_gets_in(self.link)

    def test_a_central_that_comes_when_all_links_are_taken_waits_for_its_turn(self):
        self.link.close()
        links = self.fill()
        late = self.connect(23)
        late.settle()
        self.assertEqual(sum(self.is_over(link) for link in links), 1)

    def is_over(self, link):
        try:
            link.settle()
            return False
        except LinkEnded:
            return True

    def test_a_flood_of_connections_is_a_handful_of_log_lines(self):
        self.link.close()
        self.hardware.stop()
        self.hardware.log.clear()
        self.assertTrue(self.hardware.start("--log-level", "info"))
        stranger, other = self.strangers(8, 8)
        while stranger.connected < 3000:
            time.sleep(0.01)
        stranger.stop()
        other.stop()
        self.hardware.stop()
        lines = [line for line in self.hardware.log if "flash operations" not in line]
        print(f"{stranger.connected + other.connected} connections, {len(lines)} lines; ", end="")
        self.assertLess(len(lines), 30, lines[:40])
