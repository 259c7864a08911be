# SPDX-License-Identifier: Apache-2.0

"""The device's state survives a restart of the process: lock, autolock and firmware version, in FLASH.state."""

import os
import random
import threading

from case import Attack
from central import REPLY, AttError, LinkEnded
from proofspec.message import Verdict

DONE, OUT_OF_RANGE, NOT_STORED = 1, 3, 4
STATUS = (0, b"status")
KILLS = 40


class State(Attack):
    def setUp(self):
        super().setUp()
        self.state = self.hardware.folder / "flash.state"

    def say(self, link, class_, text):
        """The device's result for an accepted command."""
        self.assertEqual(self.owner.do(link, self.hardware, (class_, text)).verdict, Verdict.ACCEPTED)
        return link.read(REPLY)[8]

    def shown(self, link):
        """Lock, autolock, firmware version, as the reply tells them."""
        self.assertEqual(self.say(link, *STATUS), DONE)
        reply = link.read(REPLY)
        return reply[9], int.from_bytes(reply[10:12], "little"), int.from_bytes(reply[12:14], "little")

    def test_state_told_as_done_is_there_after_kill_9(self):
        for class_, text in ((3, b"install 9"), (2, b"autolock 3600"), (1, b"open")):
            self.assertEqual(self.say(self.link, class_, text), DONE)
        self.assertTrue(self.power_cycle())
        link = self.connect()
        self.assertEqual(self.shown(link), (1, 3600, 9))
        self.assertEqual(self.say(link, 3, b"install 8"), OUT_OF_RANGE)
        self.assertEqual(self.say(link, 1, b"close"), DONE)
        self.assertEqual(self.hardware.stop(), 0)
        self.assertTrue(self.hardware.start())
        self.assertEqual(self.shown(self.connect()), (0, 3600, 9))

    def test_a_kill_at_any_time_leaves_the_state_told_last_or_the_one_sent_then(self):
        dice, version, later = random.Random(17), 1, 0
        for turn in range(KILLS):
            link = self.connect()
            killer = threading.Timer(dice.uniform(0, 0.02), self.hardware.process.kill)
            killer.start()
            sent = version
            try:
                while True:
                    sent = version + 1
                    self.assertEqual(self.say(link, 3, b"install %d" % sent), DONE)
                    version = sent
            except (AttError, LinkEnded, OSError):
                killer.join()
            self.hardware.process.wait()
            self.assertTrue(self.hardware.start("--clock", self.clock))
            with self.hardware.connect() as again:
                # Each start uses up one of the 1000 uses at most; a new generation brings them back.
                token = self.owner.token(self.backend, self.hardware, uses=1000, generation=2 + turn)
                self.assertEqual(self.owner.present(again, self.hardware, token), Verdict.HELD)
                found = self.shown(again)[2]
            self.assertIn(found, (version, sent), f"kill {turn}")
            later += found == sent
            version = found
        print(f"state: {KILLS} kills, version {version}, {later} of them behind the storing")

    def test_state_that_is_no_state_is_refused_and_the_cure_works(self):
        self.assertEqual(self.say(self.link, 3, b"install 9"), DONE)
        self.hardware.stop()
        good = self.state.read_bytes()
        self.assertEqual((len(good), self.state.stat().st_mode & 0o777), (24, 0o600))
        for bad in (b"", good[:-1], good + b"\0", bytes(24), b"PD\2" + good[3:], good[:-1] + bytes([good[-1] ^ 1])):
            self.state.write_bytes(bad)
            self.assert_refused("not the state of a device")
            self.assertEqual(self.state.read_bytes(), bad)
        self.state.write_bytes(good)
        self.state.chmod(0o620)
        self.assert_refused("chmod 600")
        self.state.unlink()
        os.mkfifo(self.state)
        self.assert_refused("not the state of a device")
        self.state.unlink()
        self.state.symlink_to("elsewhere")
        self.assert_refused("flash.state: ")
        self.state.unlink()
        self.assertTrue(self.hardware.start())
        self.assertEqual(self.shown(self.connect()), (0, 0, 1))

    def assert_refused(self, text):
        done = self.hardware.run("--socket", self.hardware.socket)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertFalse(os.path.exists(self.hardware.socket))

    def test_a_command_whose_state_cannot_be_stored_is_not_done(self):
        (self.hardware.folder / "flash.state.new").mkdir()
        self.assertEqual(self.say(self.link, 1, b"open"), NOT_STORED)
        self.assertEqual(self.shown(self.link), (0, 0, 1))
        (self.hardware.folder / "flash.state.new").rmdir()
        self.assertEqual(self.say(self.link, 1, b"open"), DONE)
        self.hardware.stop()
        self.assertTrue(any("could not be stored" in line for line in self.hardware.log))

    def test_provisioning_keeps_the_state_and_new_flash_begins_anew(self):
        self.assertEqual(self.say(self.link, 3, b"install 9"), DONE)
        self.hardware.stop()
        self.hardware.provision("--renew", "yes")
        self.assertTrue(self.state.exists())
        self.hardware.flash.unlink()
        self.hardware.provision("--mode", "production", "--issuer", self.backend.public.hex())
        self.assertFalse(self.state.exists())
