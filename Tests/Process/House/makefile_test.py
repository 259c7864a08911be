# SPDX-License-Identifier: Apache-2.0

"""The Makefile says what it can do."""

import re
import shutil
import unittest

from place import CI, ROOT, fresh, run


class Part:
    def __init__(self, line):
        words, self.help = line.rsplit("  # ", 1)
        suite, self.name, purposes, self.command = words.split(maxsplit=3)
        self.suite = suite.removesuffix("=")
        self.purposes = purposes.split(",")


def parts():
    """The lines of .ci/parts."""
    return [Part(line) for line in (CI / "parts").read_text().splitlines() if line and not line.startswith("#")]


class Makefile(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "Makefile").read_text().replace("\\\n", " ")
        self.phony = set(re.search(r"^\.PHONY: (.*)$", self.text, re.MULTILINE).group(1).split())
        self.targets = set(re.findall(r"^([a-z-]+):", self.text, re.MULTILINE))

    def test_help_lists_every_target_with_a_line_of_its_own(self):
        listed = dict(re.findall(r"^ +([a-z-]+) +(\S.*)$", run("make", "help").stdout, re.MULTILINE))
        self.assertEqual(set(listed), self.phony)

    def test_every_target_is_phony_and_every_phony_target_exists(self):
        self.assertEqual(self.targets, self.phony)

    def test_help_fits_a_screen(self):
        self.assertLessEqual(len(self.targets), 20)

    def test_a_name_that_is_no_target_is_refused_with_the_place_to_look(self):
        done = run("make", "check-format")
        self.assertEqual(done.returncode, 2)
        self.assertIn("make parts", done.stderr)

    def test_without_a_target_everything_is_built(self):
        database = run("make", "-npq").stdout
        self.assertIn(".DEFAULT_GOAL := all", database)

    def test_every_script_a_target_starts_is_there_and_executable(self):
        text = (ROOT / "Makefile").read_text()
        commands = [part.command for part in parts()]
        names = set(re.findall(r"^\t@?((?:\.ci|Tests|CSources|docs)/\S+)", text, re.MULTILINE)).union(
            *(re.findall(r"(?<!\. )(?:\.ci|Tests|CSources|Benchmarks|docs)/\S+\.?\w+", command.replace(";", " "))
              for command in commands)) - {".ci/parts.sh"}
        for name in {name for name in names if not (ROOT / name).is_dir()}:
            with self.subTest(script=name):
                self.assertTrue((ROOT / name).is_file())
                if f"python3 {name}" not in " ".join(commands):
                    self.assertTrue((ROOT / name).stat().st_mode & 0o100)

class Parts(unittest.TestCase):
    def test_every_part_has_a_suite_of_the_makefile_and_a_name_of_its_own(self):
        suites = {part.suite.rstrip("+") for part in parts()}
        self.assertEqual(suites, set(re.findall(r"\.ci/play (\w+) ", (ROOT / "Makefile").read_text())))
        names = [(part.suite.rstrip("+"), part.name) for part in parts()]
        self.assertEqual(len(set(names)), len(names))

    def test_every_purpose_has_packages(self):
        for part in parts():
            with self.subTest(part=part.name):
                debian = [purpose for purpose in part.purposes if not purpose.startswith(("pypi-", "swift"))]
                self.assertTrue(run(CI / "setup", "--list", *debian).stdout.split())
                known = (CI / "packages").read_text()
                for purpose in part.purposes:
                    if purpose.startswith("pypi-"):
                        self.assertRegex(known, rf"(?m)^{purpose} ")

    def test_a_suite_installs_what_any_of_its_parts_needs_and_the_parts_played_by_name_alone_are_left_out(self):
        needs = run(CI / "play", "--needs", "check").stdout.split()
        self.assertEqual(set(needs), {purpose for part in parts() if part.suite == "check"
                                      for purpose in part.purposes})
        self.assertNotIn("service", run(CI / "play", "--needs", "bench").stdout.split())

    def test_every_part_is_listed(self):
        listed = re.findall(r"^ +make (\w+) +PART=(\S+) +\S", run("make", "parts").stdout, re.MULTILINE)
        self.assertEqual(listed, [(part.suite.rstrip("+"), part.name) for part in parts()])

    def test_an_unknown_part_or_suite_is_refused_before_anything_is_played(self):
        for words in (("check", "formt"), ("chek",), ("check", "format", "formt")):
            with self.subTest(words=words):
                done = run(CI / "play", *words)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(words[-1], done.stderr)

    def played(self, *words):
        """Suites of a table of these tests' own."""
        room = fresh(self.id().rsplit(".", 1)[1])
        shutil.copytree(CI, room / ".ci", ignore=shutil.ignore_patterns("parts"))
        (room / ".ci" / "parts").write_text(
            "test  one    base  echo 2 passed, 0 failed  # one\n"
            "test= two    base  test ! -e stop && echo 3 passed, 0 failed  # two; and more\n"
            "test+ three  base  echo \"$WORD\" passed, 0 failed  # three\n")
        for name in ("Makefile", "Package.swift"):
            shutil.copy(ROOT / name, room)
        return run("make", "test", *words, cwd=room, WORD="4")

    def test_a_suite_plays_its_parts_and_adds_up(self):
        done = self.played()
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "5 passed, 0 failed"), done.stderr)

    def test_a_part_is_played_by_its_name_and_several_by_theirs(self):
        done = self.played("PART=three")
        self.assertEqual((done.returncode, done.stdout), (0, "4 passed, 0 failed\n"), done.stderr)
        done = self.played("PART=three one")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "6 passed, 0 failed"), done.stderr)


class Key(unittest.TestCase):
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
