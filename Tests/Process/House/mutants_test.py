# SPDX-License-Identifier: Apache-2.0

"""The lists of mutants take hours and are played seldom: no change may leave a mutant without its place."""

import unittest

from place import ROOT, run


class Mutants(unittest.TestCase):
    def test_the_old_text_of_each_mutant_stands_in_its_file(self):
        for script in ("Tests/Unit/ProofModelTests/Mutants/mutants.py", "Tests/Adversary/Mutants/run.py"):
            with self.subTest(script=script):
                result = run("python3", str(ROOT / script), "--places")
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertRegex(result.stdout, r"^\d{3} passed, 0 failed$")
