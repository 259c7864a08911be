# SPDX-License-Identifier: Apache-2.0

"""The log that the profile `full` keeps, as it stands in the board's flash, read by the second implementation."""

import random
import unittest

import log_process_test
import stage
from board import LOG_PAGES, PAGE, SEED_PAGES, SLOTS, pages
from case import BUILD
from central import AttError, LinkEnded
from proofspec import log
from proofspec.message import Type, Verdict
from stage import PRODUCTION, App, Backend

stage.BUILD = BUILD / "tests"
LOG_AT = (pages(SLOTS["full"]) + SEED_PAGES) * PAGE
Whole = log_process_test.Log.__dict__


class LogOnTheBoard(unittest.TestCase):
    provision, entries, token, live, keep_begin_and_end = (
        Whole[name] for name in ("provision", "entries", "token", "live", "keep_begin_and_end"))

    def setUp(self):
        self.backend, self.app = Backend(7), App(40)
        self.hardware = stage.Hardware(self.id().rsplit(".", 1)[1], [self.backend.public], PRODUCTION, "--floor", "0")
        self.addCleanup(self.hardware.scrap)
        self.file = self.hardware.folder / "provisioning"
        self.file.touch(0o600)

    def area(self):
        with open(self.hardware.flash, "rb") as file:
            file.seek(LOG_AT)
            return file.read(LOG_PAGES["full"] * PAGE)

    def pages(self):
        area = self.area()
        found = [area[at:at + PAGE] for at in range(0, len(area), PAGE)]
        return found[:2], found[2:]

    def test_the_second_implementation_reads_the_log_in_flash(self):
        self.provision(log="yes")
        self.live(20)
        self.live(17, present=False)
        found, newest = self.entries()
        events = [found[number].event for number in sorted(found)]
        self.assertEqual(events, [log.NOTE, log.TOKEN] + [log.COMMAND] * 20 + [log.NOTE] + [log.COMMAND] * 17)
        self.assertEqual((newest.number, newest.sequence), (32, 3))

    def test_it_is_off_unless_provisioning_says_so(self):
        self.provision()
        self.live(3)
        self.assertEqual(self.area(), b"\xff" * len(self.area()))
        self.assertEqual(self.hardware.features() & log_process_test.FEATURE_LOG, 0)
        self.provision(log="yes")
        self.assertEqual(self.hardware.features() & log_process_test.FEATURE_LOG, log_process_test.FEATURE_LOG)

    def test_provisioning_keeps_begins_and_ends_a_log(self):
        self.keep_begin_and_end()
        self.assertEqual(self.area(), b"\xff" * len(self.area()))
        self.live(1)

    def test_after_power_cuts_each_accepted_command_is_in_the_log(self):
        self.provision(log="yes")
        self.live(0)
        told, dice = set(), random.Random(1)
        for cut in range(8):
            self.assertTrue(self.hardware.start())
            try:
                with self.hardware.connect() as link:
                    for _ in range(dice.randrange(1, 4)):
                        answer = self.app.do(link, self.hardware)
                        self.assertEqual(answer.verdict, Verdict.ACCEPTED)
                        told.add(answer.counter & 0xFFFFFFFF)
                    # One more, and power fails before its answer.
                    command, _ = self.app.make(self.hardware, self.app.ask(link))
                    link.tell(Type.COMMAND, command.encoded())
                    self.hardware.cut()
            except (AttError, LinkEnded, OSError):
                pass
            with self.subTest(cut=cut):
                found = self.entries(cut=True)[0]
                self.assertLessEqual(told, {content.counter for content in found.values() if content})
        self.live(1, present=False)
        self.assertEqual(sorted(self.entries()[0]), list(range(len(self.entries()[0]))))


if __name__ == "__main__":
    unittest.main()
