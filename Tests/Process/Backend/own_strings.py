#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Strings that apps define for themselves: restart, update, rotation, a failing app, copies, concurrent processes."""

import pathlib
import shutil
import sys
import unittest

from place import BIN, App, PageLines, Place
from rotation import commands

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import runner  # noqa: E402

NONE = "error: This installation has no string"
REJECTED = "error: The attestation service gave nothing (rejected)"


class OwnStrings(PageLines, unittest.TestCase):
    """One account and one service; each test has apps of its own."""

    @classmethod
    def setUpClass(cls):
        place = cls.place = Place()
        place.make_account()
        place.start_service("--quiet")
        place.ask("sdk", "add", "--development")
        place.ask("policy", "set", "secure-strings=on", "address-rate=0", "device-rate=0", "first-fetch-rate=0")
        cls.config = place.ask("config", "show")["signed"]
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def setUp(self):
        self.place.ask("policy", "set", "rejection=none")

    def app(self, *, storage=None, registered=False):
        type(self).count += 1
        app = App(self.place, f"app{self.count}", storage=storage)
        if registered:
            self.register(app)
        return self.started(app)

    def started(self, app):
        self.addCleanup(self.end, app)
        self.assertEqual(app.ask("initialise", self.config), "well")
        return app

    @staticmethod
    def end(app):
        app.process.kill()
        app.process.wait(timeout=60)

    def register(self, app):
        self.place.ask("registration", "add", BIN / "app-peer", "--bundle", app.bundle)

    def restarted(self, app):
        """The same installed app in a new process."""
        self.end(app)
        app.start()
        return self.started(app)

    def text(self, app, name="session"):
        """The string, or None if it is not there."""
        answer = app.ask("string", name)
        if answer.startswith(NONE):
            return None
        self.assertFalse(answer.startswith("error:"), answer)
        return answer

    def test_a_string_survives_restarts_and_an_update_that_is_registered(self):
        self.place.ask("policy", "set", "rejection=app-not-registered")
        app = self.app(registered=True)
        self.assertEqual(app.ask("define", "session", "s3cret"), "well")
        app = self.restarted(app)
        self.assertEqual(self.text(app), "s3cret")
        # The update: other files, so another digest.
        (app.bundle / "rules").write_text("version 2: doors open at noon\n")
        app = self.restarted(app)
        self.assertIn(REJECTED, app.ask("string", "session"), "no registered build")
        first = self.place.ask("registration", "list")
        self.register(app)
        self.assertEqual(len(self.place.ask("registration", "list")), len(first) + 1)
        app = self.restarted(app)
        self.assertEqual(self.text(app), "s3cret")

    def test_a_failing_app_reads_no_string_and_destroys_none(self):
        app = self.app()
        self.assertEqual(app.ask("define", "session", "mine"), "well")
        self.place.ask("policy", "set", "rejection=app-not-registered")
        failing = self.restarted(app)
        self.assertIn(REJECTED, failing.ask("string", "session"))
        self.assertEqual(failing.ask("remove", "session"), "well")
        self.assertEqual(failing.ask("define", "session", "other"), "well")
        failing = self.restarted(failing)
        self.assertEqual(self.text(failing), "other")
        self.place.ask("policy", "set", "rejection=none")
        self.assertEqual(self.text(self.restarted(failing)), "mine")

    def test_the_file_of_another_installation_does_not_open(self):
        app, thief = self.app(), self.app()
        self.assertEqual(app.ask("define", "session", "mine"), "well")
        file = next((app.storage / "strings").glob("strings-*"))
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertNotIn(b"mine", file.read_bytes())
        self.assertNotIn(b"session", file.read_bytes())
        self.assertEqual(thief.ask("define", "other", "x"), "well")
        shutil.copy(file, thief.storage / "strings" / file.name)
        self.assertIsNone(self.text(thief))
        self.assertIsNone(self.text(thief, "other"))
        self.assertEqual(self.text(app), "mine")
        # Whole storage with the storage secret is the same installation, as far as the service can see.
        storage = self.place.folder / "copied-storage"
        shutil.copytree(app.storage, storage)
        self.assertEqual(self.text(self.app(storage=storage)), "mine")

    def test_two_processes_of_one_installation_keep_each_others_strings(self):
        one = self.app()
        other = self.app(storage=one.storage)
        for number in range(20):
            for app, name in ((one, "one"), (other, "other")):
                app.process.stdin.write(f"define {name}{number} {number}\n")
                app.process.stdin.flush()
            for app in (one, other):
                self.assertEqual(app.process.stdout.readline(), "well\n")
        for number in range(20):
            self.assertEqual(self.text(one, f"other{number}"), str(number))
            self.assertEqual(self.text(other, f"one{number}"), str(number))

    def test_no_string_is_lost_by_the_commands_of_the_page(self):
        kept, late = self.app(), self.app()
        for app in (kept, late):
            self.assertEqual(app.ask("define", "session", "s3cret"), "well")
            self.assertEqual(app.ask("define", "other", "too"), "well")
        rotate, retire = commands(8)
        self.run_line(rotate)
        kept = self.restarted(kept)
        self.assertEqual(self.text(kept), "s3cret")
        self.run_line(retire, refused="installations that used no string since the rotation")
        self.run_line(f"{retire} --at-once")
        kept, late = self.restarted(kept), self.restarted(late)
        self.assertEqual((self.text(kept), self.text(kept, "other")), ("s3cret", "too"))
        # This installation used no string between the two lines.
        self.assertIsNone(self.text(late))

    def test_an_account_without_strings_says_so(self):
        self.place.ask("policy", "set", "secure-strings=off")
        self.addCleanup(self.place.ask, "policy", "set", "secure-strings=on")
        answer = self.app().ask("define", "session", "x")
        self.assertIn("The attestation service gave nothing (disabled)", answer)


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(OwnStrings), sys.argv[1:]))
