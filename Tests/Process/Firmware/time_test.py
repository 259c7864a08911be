# SPDX-License-Identifier: Apache-2.0

"""Limits of time, by the board's own clock: the test moves the board's timer on, and waits for nothing."""

import os
import time

import large_test
from board import Board
from case import BUILD, Firmware
from line import Line
from proofspec import sealed
from proofspec.message import Type, Verdict, parse_answer
from timer import Timer

CHANNEL_SECONDS = 30
KEY_SECONDS, KEY_STEP = 600, 150
# A link ends 4 seconds after its last accepted command: a challenge is to end before.
CHALLENGE_SECONDS = 2
# Shorter than a channel's limit, and longer than this machine takes for a few messages.
SHORTER_SECONDS = 20


class OnTheClock(Firmware):
    """The board without its radio: its timer is in the test's hand."""

    def power(self, *provisioned):
        self.hardware.stop()
        if provisioned:
            self.hardware.provision(*provisioned)
        path = os.path.join(self.hardware.room.name, "registers")
        self.board = Board(self.hardware.flash, BUILD / "cortex-m3" / f"{self.profile}.elf", registers=path)
        self.addCleanup(self.board.cut)
        link = Line(self.board)
        self.timer = Timer(path)
        self.addCleanup(self.timer.close)
        return link


class Full(OnTheClock):
    def test_a_challenge_is_stale_after_the_hardware_s_limit(self):
        link = self.power("--challenge-seconds", str(CHALLENGE_SECONDS), "--floor", "0")
        token = self.owner.token(self.backend, self.hardware)
        self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)
        self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)
        command, _ = self.owner.make(self.hardware, self.owner.ask(link))
        self.timer.forward(CHALLENGE_SECONDS + 1)
        self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
        self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)


class Sealed(OnTheClock, large_test.Large):
    def ends(self, link, app, seconds):
        """Moves the time on to a second after the limit, with commands in the channel. One must be refused: returns by
        how many seconds the time was moved before."""
        passed = 0
        # A link ends 4 seconds after its last accepted command, and a channel with its 16th.
        for step in [2] * (seconds // 2) + [1]:
            passed += step
            self.timer.forward(step)
            if not self.goes_on(link, app):
                return passed
        self.fail(f"the channel goes on after {passed} s")

    def goes_on(self, link, app):
        """Sends a command in the channel. Returns whether it was accepted: otherwise the channel has ended."""
        kind, told = link.say(Type.SEALED_UP, app.seal_next())
        if kind != Type.SEALED_DOWN:
            answer = parse_answer(told)
            self.assertEqual((answer.verdict, answer.detail), (Verdict.STALE, 6))
            return False
        answer, app.next = sealed.open_down(app.key, app.counter, told)
        self.assertEqual(answer.verdict, Verdict.ACCEPTED)
        return True

    def test_a_channel_ends_after_30_seconds(self):
        link = self.power()
        app = self.hold(link)
        began = time.monotonic()
        self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
        passed = self.ends(link, app, CHANNEL_SECONDS)
        # Time passes by itself as well.
        self.assertGreaterEqual(passed + time.monotonic() - began, CHANNEL_SECONDS)
        # The link is served: a fresh proof opens another channel.
        self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
        self.assertEqual(app.go_on(link).verdict, Verdict.ACCEPTED)

    def test_a_channel_ends_with_the_hardware_s_shorter_limit_for_challenges(self):
        link = self.power("--challenge-seconds", str(SHORTER_SECONDS), "--floor", "0")
        app = self.hold(link)
        self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
        self.assertEqual(app.go_on(link).verdict, Verdict.ACCEPTED)
        self.ends(link, app, SHORTER_SECONDS)

    def test_a_key_that_is_not_used_is_replaced_after_600_seconds(self):
        link, steps = self.power(), KEY_SECONDS // KEY_STEP
        key = self.key(link)
        for step in range(1, steps + 1):
            self.timer.forward(KEY_STEP)
            # The firmware ends the old link meanwhile. On the new one it has looked at the clock.
            link = Line(self.board)
            self.assertEqual(self.key(link) == key, step < steps)
