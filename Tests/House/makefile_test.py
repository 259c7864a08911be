"""The Makefile says what it can do."""

import re
import shutil
import unittest

from place import CI, ROOT, fresh, run


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

    def purposes(self, target):
        """Purposes that a target installs itself; and those together with the purposes of the targets it begins."""
        head, recipe = re.search(rf"^{target}:(.*)\n((?:\t.*\n)*)", self.text, re.MULTILINE).groups()
        own = set(" ".join(re.findall(r"\.ci/setup (.*)", recipe)).split()) - {"swift"}
        return own, own.union(*(self.purposes(other)[1] for other in self.begun(recipe) + head.split("##")[0].split()))

    def begun(self, recipe):
        words = " ".join(re.findall(r"(?:\.ci/suite|\$\(MAKE\)(?!.* -C)) (.*)", recipe)).split()
        return [word for word in words if word in self.targets]

    def test_who_begins_other_targets_has_installed_what_they_need_before(self):
        run_all = (ROOT / ".ci" / "run").read_text()
        own = set(re.search(r"^\.ci/setup (.*)$", run_all, re.MULTILINE).group(1).split()) - {"swift"}
        needs = {".ci/run": (own, own.union(*(self.purposes(target)[1] for target in self.begun(run_all))))}
        for target in ("test", "check", "check-long"):
            needs[target] = self.purposes(target)
        for who, (own, whole) in needs.items():
            with self.subTest(who=who):
                packages = [set(run(CI / "setup", "--list", *names).stdout.split()) for names in (own, whole)]
                self.assertTrue(packages[0])
                self.assertEqual(packages[1] - packages[0], set())

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
