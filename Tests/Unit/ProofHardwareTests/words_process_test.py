# SPDX-License-Identifier: Apache-2.0

"""The words of proof-hardware for what it cannot do: each situation, its exit status, and the whole last line."""

import os
import re
import subprocess
import unittest

from case import Attack
from stage import POWER_FAILED, PROGRAM, Backend, Hardware

FAILED, WRONG = 1, 2


class Words(unittest.TestCase):
    def setUp(self):
        self.backend = Backend(7)
        self.hardware = Hardware(self.id().rsplit(".", 1)[1][:40], [self.backend.public])
        self.addCleanup(self.hardware.scrap)
        self.folder = self.hardware.folder
        self.file = self.folder / "provisioning"

    def run_with(self, *words, flash=None):
        return subprocess.run([PROGRAM, *(("--flash", flash) if flash else ()), *words], capture_output=True, text=True,
                              check=False, timeout=60, cwd=self.folder)

    def assert_words(self, status, text, *words, flash=None, level="ERROR"):
        """A line of the log is this text, behind its time and level."""
        done = self.run_with(*words, flash=flash)
        self.assertEqual(done.returncode, status, done.stderr)
        line = rf" *\d+\.\d{{3}} {level} {re.escape(text)}"
        self.assertTrue(any(re.fullmatch(line, told) for told in done.stderr.splitlines()), done.stderr)

    def assert_usage(self, text, *words):
        done = self.run_with(*words)
        self.assertEqual(done.returncode, WRONG, done.stderr)
        begin = f"proof-hardware: {text}\n\nusage: proof-hardware --flash "
        self.assertTrue(done.stderr.startswith(begin), done.stderr)

    def written(self, text, mode=0o600):
        self.file.write_text(text)
        self.file.chmod(mode)
        return self.file

    def test_a_command_line_is_told_what_is_missing(self):
        flash = self.hardware.flash
        for text, *words in (
                ("missing: --flash FILE", "--socket", "a"),
                ("not an option: nothing", "--flash", flash, "nothing"),
                ("not together: --provision and --socket or --fifo", "--flash", flash, "--provision", "--socket", "a"),
                ("not together: --provision and --socket or --fifo", "--flash", flash, "--provision", "--fifo", "a",
                 "b"),
                ("missing: --provision", "--flash", flash, "--socket", "a", "--floor", "5"),
                ("one of these is needed: --socket PATH, --fifo IN OUT", "--flash", flash),
                ("one of these is needed: --socket PATH, --fifo IN OUT", "--flash", flash, "--socket", "a", "--fifo",
                 "b", "c"),
                ("two paths are missing behind: --fifo", "--flash", flash, "--fifo", "a"),
                ("not an option, or a value is missing behind it: --socket", "--flash", flash, "--socket"),
                ("not understood: --clock", "--flash", flash, "--clock", "wall")):
            with self.subTest(text, words=words):
                self.assert_usage(text, *words)

    def test_flash_that_cannot_be_used_is_told(self):
        flash = self.hardware.flash
        none, folder, short, empty, link = (self.folder / name for name in ("none", "folder", "short", "empty", "link"))
        folder.mkdir()
        short.write_bytes(flash.read_bytes()[:-1])
        empty.touch()
        for path in (short, empty):
            path.chmod(0o600)
        link.symlink_to(flash)
        serve = ("--socket", "door")
        self.assert_words(FAILED, f"{none}: no flash: provision it first (--provision)", *serve, flash=none)
        self.assert_words(FAILED, f"{folder}: Is a directory", *serve, flash=folder)
        self.assert_words(FAILED, f"{short}: not the flash of this build: it has another size", *serve, flash=short)
        self.assert_words(FAILED, f"{empty}: empty: provision it first (--provision)", *serve, flash=empty)
        self.assert_words(FAILED, f"{link}: Too many levels of symbolic links", *serve, flash=link)
        self.assert_words(FAILED, "/dev/null: not a file", *serve, flash="/dev/null")
        for mode in (0o604, 0o640, 0o602, 0o620, 0o601, 0o610):
            flash.chmod(mode)
            self.assert_words(FAILED, f"{flash}: others can read or write the keys in it: chmod 600", *serve,
                              flash=flash)

    def test_a_door_that_cannot_be_opened_is_told(self):
        flash, file = self.hardware.flash, self.folder / "file"
        file.touch()
        deep = "d" * 108
        self.assert_words(FAILED, f"{deep}: too long for a socket's path", "--socket", deep, flash=flash)
        self.assert_words(FAILED, "none/door: No such file or directory", "--socket", "none/door", flash=flash)
        # By its name in the folder: a socket's path has 107 bytes at most.
        self.assert_words(FAILED, "file: Address already in use", "--socket", "file", flash=flash)
        self.assertTrue(file.exists())
        os.mkfifo(self.folder / "in", 0o600)
        self.assert_words(FAILED, f"{file}: not a FIFO: mkfifo makes one", "--fifo", "in", file, flash=flash)
        self.assert_words(FAILED, f"{file}: not a FIFO: mkfifo makes one", "--fifo", file, "in", flash=flash)
        self.assert_words(FAILED, "none: No such file or directory", "--fifo", "in", "none", flash=flash)

    def test_a_provisioning_file_that_cannot_be_used_is_told(self):
        flash = self.hardware.flash
        provision = ("--provision", str(self.file))
        open_one = (f"{self.file}: others can read or write it: chmod 600. With --open-provision such a file is taken "
                    "if it ")
        self.assert_words(FAILED, f"{self.folder}/none: No such file or directory", "--provision",
                          f"{self.folder}/none", flash=flash)
        self.assert_words(FAILED, "/dev/null: not a regular file: write the lines into one that only you can read "
                          "(chmod 600)", "--provision", "/dev/null", flash=flash)
        for text in ("a" * 5, "mode", "mode = ", "= production", "mode = both", "floor = 1x", "id = 00"):
            self.written("\n" + text + "\n")
            self.assert_words(FAILED, f"{self.file}:2: not `name = value` of a field that can be provisioned",
                              *provision, flash=flash)
        for mode in (0o640, 0o604):
            done = self.run_with("--provision", self.written("floor = 0\n", mode), flash=flash)
            self.assertEqual(done.returncode, FAILED)
            self.assertIn(open_one, done.stderr)
        self.written("floor = 0\n", 0o600)
        self.assert_words(0, "the identity in flash is kept where nothing else is said", *provision, flash=flash,
                          level="     ")

    def test_new_hardware_needs_a_mode_and_an_issuer(self):
        new = self.folder / "new"
        for words in ((), ("--mode", "production"), ("--issuer", "ab" * 32)):
            self.assert_words(WRONG, "new hardware needs a mode and an issuer: --mode production --issuer HEX",
                              "--provision", *words, flash=new)
            new.unlink(missing_ok=True)

    def test_a_log_needs_what_it_begins_with(self):
        flash, provision = self.hardware.flash, ("--provision", self.file)
        secret = f"factory-secret = {bytes(range(3, 35)).hex()}\n"
        self.written("log = yes\n")
        self.assert_words(WRONG, "a log begins with a key of the factory secret: say factory-secret in FILE, as 64 "
                          "hexadecimal digits", *provision, flash=flash)
        self.written("log-number = 64\n")
        self.assert_words(WRONG, "log-number says where a log begins: say log yes, too", *provision, flash=flash)
        self.written("log-number = 65\n")
        self.assert_words(FAILED, f"{self.file}:1: not `name = value` of a field that can be provisioned", *provision,
                          flash=flash)
        self.written(secret + "log = yes\n")
        self.assertEqual(self.run_with(*provision, flash=flash).returncode, 0)
        self.written("id = " + "ab" * 16 + "\n" + secret)
        belongs = "the log in flash belongs to the id and key before: say log yes for a new one, or log no"
        self.assert_words(WRONG, belongs, *provision, flash=flash)
        self.written(f"secret-key = {bytes(range(2, 34)).hex()}\n{secret}")
        self.assert_words(WRONG, belongs, *provision, flash=flash)
        for answer in ("no", "yes"):
            self.written("id = " + "ab" * 16 + "\n" + secret + f"log = {answer}\n")
            self.assertEqual(self.run_with(*provision, flash=flash).returncode, 0)


class Endings(Attack):
    def said(self, hardware):
        return [line.split("proof-hardware: ", 1)[-1] for line in hardware.log]

    def test_a_cut_and_a_stop_tell_the_flash_operations(self):
        self.hardware.stop()
        self.assertRegex("\n".join(self.said(self.hardware)), r"(?m)stopped after \d+ flash operations, \d+ erases$")
        self.assertFalse(self.hardware.start("--cut", "1:5"))
        self.assertEqual(self.hardware.process.returncode, POWER_FAILED)
        self.assertIn("power failed in flash operation 1", "\n".join(self.said(self.hardware)))
        self.assertTrue(self.hardware.start())


if __name__ == "__main__":
    unittest.main()
