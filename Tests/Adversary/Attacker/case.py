# SPDX-License-Identifier: Apache-2.0

"""Common start of every test here: production hardware with power, its backend, an owner whose token is held."""

import os
import unittest

from proofspec.message import Verdict
from stage import App, Backend, Hardware

ROUNDS = int(os.environ.get("ATTACK_ROUNDS", "50000"))
SEED = int(os.environ.get("ATTACK_SEED", "1"))


class Attack(unittest.TestCase):
    clock = "system"

    def setUp(self):
        self.backend = Backend(7)
        self.owner = App(40)
        self.hardware = self.make("hardware")
        self.link = self.hardware.connect()
        self.addCleanup(self.link.close)
        self.token = self.owner.token(self.backend, self.hardware, uses=1000)
        self.assertEqual(self.owner.present(self.link, self.hardware, self.token), Verdict.HELD)

    def make(self, name, *provision, start=True, **options):
        """Hardware with power."""
        made = Hardware(f"{self.id().rsplit('.', 1)[1]}-{name}", [self.backend.public], *provision, **options)
        self.addCleanup(made.scrap)
        if start:
            self.assertTrue(made.start("--clock", self.clock))
        return made

    def connect(self, mtu=185, hardware=None, **options):
        link = (hardware or self.hardware).connect(mtu, **options)
        self.addCleanup(link.close)
        return link

    def power_cycle(self, hardware=None, *words):
        hardware = hardware or self.hardware
        hardware.cut()
        return hardware.start("--clock", self.clock, *words)

    def assert_owner_gets_in(self, link=None):
        """On a link of its own; the receipt is checked."""
        answer = self.owner.do(link or self.connect(), self.hardware)
        self.assertEqual(answer.verdict, Verdict.ACCEPTED)
        return answer

    def assert_nothing_done(self, link):
        self.assertEqual(self.hardware.done(link), (0, 0, 0))
