# SPDX-License-Identifier: Apache-2.0

"""Mutants take hours and are played seldom: no change may leave one without its place, or a module without tests."""

import re
import sys
import unittest

from place import ROOT, run

RANDOM = ROOT / "Tests" / "Adversary" / "Mutants" / "random"


def random_modules():
    """modules.py and drawing.py of the random mutants."""
    sys.path.insert(0, str(RANDOM))
    try:
        import drawing
        import modules
    finally:
        sys.path.remove(str(RANDOM))
    return modules, drawing


class Mutants(unittest.TestCase):
    def test_the_old_text_of_each_mutant_stands_in_its_file(self):
        for script in ("Tests/Unit/ProofModelTests/Mutants/mutants.py", "Tests/Adversary/Mutants/run.py"):
            with self.subTest(script=script):
                result = run("python3", str(ROOT / script), "--places")
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertRegex(result.stdout, r"^\d{3} passed, 0 failed$")

    def test_random_mutants_are_drawn_from_each_module(self):
        modules, drawing = random_modules()
        drawing.Drawing(1)
        # A module that is not listed ends the run.
        listed = modules.MODULES.pop("Sources/ProofModel")
        try:
            with self.assertRaisesRegex(SystemExit, "Sources/ProofModel"):
                drawing.Drawing(1)
        finally:
            modules.MODULES["Sources/ProofModel"] = listed

    def test_each_script_that_judges_random_mutants_plays_tests(self):
        modules, _ = random_modules()
        scripts = {match[1] for stages in modules.MODULES.values() for stage in stages
                   if (match := re.match(r"@?!(\S+)", stage))}
        self.assertGreater(len(scripts), 10)
        for script in sorted(scripts):
            # A file of tests without these lines does nothing, and with success, when it is run.
            self.assertIn('if __name__ == "__main__":', (ROOT / script).read_text(), script)
