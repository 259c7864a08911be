"""The Makefile says what it can do."""

import re
import shutil
import unittest

from place import ROOT, fresh, run


class Makefile(unittest.TestCase):
    def setUp(self):
        text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
        self.phony = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE).group(1).split())
        self.targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))

    def test_help_lists_every_target_with_a_line_of_its_own(self):
        listed = dict(re.findall(r"^ +([a-z-]+) +(\S.*)$", run("make", "help").stdout, re.MULTILINE))
        self.assertEqual(set(listed), self.phony)

    def test_every_target_is_phony_and_every_phony_target_exists(self):
        self.assertEqual(self.targets, self.phony)

    def test_without_a_target_everything_is_built(self):
        database = run("make", "-npq").stdout
        self.assertIn(".DEFAULT_GOAL := all", database)

    def test_every_script_a_target_starts_is_there_and_executable(self):
        text = (ROOT / "Makefile").read_text()
        for name in set(re.findall(r"^\t@?((?:\.ci|Tests|CSources)/\S+)", text, re.MULTILINE)):
            with self.subTest(script=name):
                self.assertTrue((ROOT / name).is_file())
                self.assertTrue((ROOT / name).stat().st_mode & 0o100)

    def test_the_key_of_an_sdk_build_is_its_own_and_never_the_public_one(self):
        room = fresh("sdk-key")
        shutil.copy(ROOT / "Makefile", room)
        shutil.copytree(ROOT / "CSources" / "ProofKey", room / "CSources" / "ProofKey")
        generated, key = room / "CSources" / "ProofKey" / "sdk_key.c", room / "mpk.bin"
        generated.write_text("untouched")
        unnamed = run("make", "sdk-key", cwd=room)
        self.assertEqual((unnamed.returncode, generated.read_text()), (2, "untouched"))
        self.assertIn("make sdk-key SDK_KEY=mpk.bin", unnamed.stderr)
        made = run("make", "sdk-key", "SDK_KEY=mpk.bin", cwd=room)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(key.stat().st_size, 16)
        self.assertIn("PFC_MODE_PRODUCTION", generated.read_text())
