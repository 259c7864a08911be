# SPDX-License-Identifier: Apache-2.0

"""`make long PART=mutants-swift` takes hours and is played seldom: no change may leave a mutant without its place."""

import unittest

from place import ROOT, run


class Mutants(unittest.TestCase):
    def test_the_old_text_of_each_mutant_stands_in_its_file(self):
        result = run("python3", str(ROOT / "Tests/Unit/ProofModelTests/Mutants/mutants.py"), "--places")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertRegex(result.stdout, r"^\d{3} passed, 0 failed$")
