# SPDX-License-Identifier: Apache-2.0

"""Common start of every test here: the firmware with power, its backend, an owner whose token is held."""

import pathlib
import unittest

import stage
from central import GRANT
from proofspec.message import Verdict
from stage import App, Backend

BUILD = pathlib.Path(stage.ROOT) / ".build" / "firmware"
stage.BUILD = BUILD / "tests"


def grant_handle(profile):
    """The handle of *grant*: `full` has no characteristic for sealed commands before it."""
    return GRANT - 2 if profile == "full" else GRANT


class Hardware(stage.Hardware):
    """A board whose firmware has this profile."""

    def __init__(self, profile, *words):
        self.profile = profile
        super().__init__(*words)

    def run(self, *words):
        return super().run("--profile", self.profile, *words)

    def start(self, *words, env=None):
        return super().start("--profile", self.profile, *words, env=env)


class Firmware(unittest.TestCase):
    profile = "full"

    def setUp(self):
        self.backend, self.owner = Backend(7), App(40)
        self.hardware = self.make("board")

    def make(self, name):
        made = Hardware(self.profile, f"{self.id().rsplit('.', 1)[1]}-{name}", [self.backend.public])
        self.addCleanup(made.scrap)
        self.assertTrue(made.start())
        return made

    def hold(self, **changes):
        token = self.owner.token(self.backend, self.hardware, **changes)
        with self.hardware.connect() as link:
            self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)
        return token

    def power_cycle(self):
        self.hardware.cut()
        self.assertTrue(self.hardware.start())
