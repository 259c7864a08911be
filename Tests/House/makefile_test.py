"""The Makefile says what it can do."""

import re
import unittest

from place import ROOT, run


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
