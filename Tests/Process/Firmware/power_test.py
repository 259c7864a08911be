# SPDX-License-Identifier: Apache-2.0

"""Power is cut by killing the emulator, at whatever instruction it is; most stand in the flash driver, which takes its
time as flash does, and leaves words half changed. What docs/SPEC.md promises of the hardware's memory must hold.
"""

import dataclasses
import os
import random
import threading
import time
import unittest

import stage
from board import Board, nor_pages
from case import BUILD
from central import STATUS, LinkEnded
from line import Line
from proofspec.message import Type, Verdict, parse_answer
from stage import App, Backend

CUTS = int(os.environ["FIRMWARE_CUTS"])
SEED = int(os.environ["FIRMWARE_SEED"])
IMAGE = BUILD / "cortex-m3" / "full.elf"
USES = 60000
ATTEMPTS = 60000


class Power(unittest.TestCase):
    """One board, cut again and again, and what its owner remembers of it."""

    def setUp(self):
        print(f"seed {SEED}, {CUTS} cuts", flush=True)
        self.random = random.Random(SEED)
        self.backend, self.owner = Backend(7), App(40)
        self.hardware = stage.Hardware("power", [self.backend.public])
        self.addCleanup(self.hardware.scrap)
        self.board = None
        self.addCleanup(self.cut)
        self.counter = 0
        self.generation = 0
        self.uses, self.attempts = (USES, USES), (ATTEMPTS, ATTEMPTS)
        self.told = self.changed = 0

    def cut(self):
        if self.board:
            self.board.cut()
        self.board = None

    def boot(self):
        self.board = Board(self.hardware.flash, IMAGE)
        return Line(self.board)

    def present(self, link):
        """A token of the next generation: uses and attempts begin anew."""
        token = self.owner.token(self.backend, self.hardware, generation=self.generation + 1, uses=USES,
                                 attempts=ATTEMPTS)
        self.pending_token = True
        verdict = parse_answer(link.say(Type.TOKEN, token)[1]).verdict
        self.assertEqual(verdict, Verdict.HELD)
        self.pending_token = False
        self.generation += 1
        self.uses, self.attempts = (USES, USES), (ATTEMPTS, ATTEMPTS)

    def ask(self, link):
        challenge = self.owner.ask(link)
        self.assertGreater(challenge[0], self.counter, "a challenge's counter came back")
        self.counter = challenge[0]
        return challenge

    def command(self, link):
        message, self.occasion = self.owner.make(self.hardware, self.ask(link))
        low, high = self.uses
        self.uses = (low - 1, high)
        self.message = message.encoded()
        answer = self.owner.send(link, self.message)
        self.assertEqual(answer.verdict, Verdict.ACCEPTED)
        self.assertTrue(low - 1 <= answer.detail <= high - 1, f"uses {answer.detail}, expected {low - 1}..{high - 1}")
        self.uses = (answer.detail, answer.detail)

    def changed_app(self, link):
        right = self.owner.shared(self.hardware)
        wrong = dataclasses.replace(right, im=bytes([right.im[0] ^ 1]) + right.im[1:])
        message, _ = self.owner.make(self.hardware, self.ask(link), secrets=wrong)
        low, high = self.attempts
        self.attempts = (low - 1, high)
        answer = self.owner.send(link, message.encoded())
        self.assertEqual(answer.verdict, Verdict.INTEGRITY_DIFFERS)
        self.assertTrue(low - 1 <= answer.detail <= high - 1,
                        f"attempts {answer.detail}, expected {low - 1}..{high - 1}")
        self.attempts = (answer.detail, answer.detail)

    def check(self, link):
        """Checks that hold at every boot."""
        status = link.read(STATUS)
        self.assertEqual(status[2:18], self.hardware.id, "boot refused")
        if self.pending_token:
            # Held, or as if it never came: then it is taken now, and otherwise it was.
            token = self.owner.token(self.backend, self.hardware, generation=self.generation + 1, uses=USES,
                                     attempts=ATTEMPTS)
            verdict = parse_answer(link.say(Type.TOKEN, token)[1]).verdict
            self.assertIn(verdict, (Verdict.HELD, Verdict.SUPERSEDED))
            self.generation += 1
            self.uses, self.attempts = (USES, USES), (ATTEMPTS, ATTEMPTS)
            self.pending_token = False
        if self.message:
            # The recorded command opens nothing, whatever became of it.
            self.ask(link)
            self.assertEqual(self.owner.send(link, self.message).verdict, Verdict.STALE)

    def test_cut_at_any_instruction_it_boots_and_nothing_comes_back(self):
        self.pending_token, self.message = False, None
        link = self.boot()
        self.present(link)
        for number in range(CUTS):
            with self.subTest(cut=number):
                before = self.content()
                what = self.random.choice([self.command, self.command, self.changed_app, self.present, None])
                if what is None:
                    # In the middle of a start.
                    self.cut()
                    self.board = Board(self.hardware.flash, IMAGE)
                    self.power_fails(self.random.uniform(0, 0.3))
                else:
                    self.told += self.attempt(what, link)
                self.changed += self.content() != before
                link = self.boot()
                self.check(link)
                self.command(link)
        print(f"erases of each page: {self.wear()}")
        print(f"{self.told} cuts after the verdict was told, {self.changed} after flash had changed")
        self.assertGreater(self.changed, 0)

    def attempt(self, what, link):
        """Power fails while the board is at it, or soon after; whether it had answered."""
        after = self.random.uniform(0, 0.25)
        board = self.board
        answered = True
        timer = threading.Timer(after, board.process.kill)
        timer.start()
        try:
            what(link)
        except LinkEnded:
            answered = False
        timer.join()
        self.cut()
        return answered

    def power_fails(self, after):
        # When power fails is what is drawn here; nothing waits for anything.
        time.sleep(after)
        self.cut()

    def wear(self):
        """As the flash driver counts it, behind the last page."""
        number = nor_pages("full")
        with open(self.hardware.flash, "rb") as file:
            file.seek(number * stage.PAGE)
            return [int.from_bytes(file.read(4), "little") for _ in range(number)]

    def content(self):
        with open(self.hardware.flash, "rb") as file:
            return file.read(16 * stage.PAGE)
