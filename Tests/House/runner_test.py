"""`Tests/Runner/runner.py` counts what held, and nothing else."""

import unittest

from place import ROOT, fresh, run

TESTS = """
import unittest

class Planted(unittest.TestCase):
    def test_holds(self):
        pass

    def test_other(self):
        {}
"""


class Runner(unittest.TestCase):
    def played(self, other, *texts):
        folder = fresh(self.id().rsplit(".", 1)[1])
        (folder / "planted_test.py").write_text(TESTS.format(other))
        result = run("python3", ROOT / "Tests" / "Runner" / "runner.py", folder, *texts)
        return result.returncode, result.stdout.splitlines()[-1]

    def test_what_holds_has_passed(self):
        self.assertEqual(self.played("pass"), (0, "2 passed, 0 failed"))

    def test_a_failure_and_an_error_have_failed(self):
        self.assertEqual(self.played("self.fail()"), (1, "1 passed, 1 failed"))
        self.assertEqual(self.played("1 / 0"), (1, "1 passed, 1 failed"))

    def test_a_test_with_many_failing_sub_tests_has_failed_once(self):
        loop = "for i in range(3):\n            with self.subTest(i=i): self.fail()"
        self.assertEqual(self.played(loop), (1, "1 passed, 1 failed"))

    def test_a_skipped_test_has_not_passed(self):
        self.assertEqual(self.played("self.skipTest('no')"), (0, "1 passed, 0 failed"))

    def test_a_class_that_cannot_be_set_up_has_failed(self):
        broken = "pass\n\n    @classmethod\n    def setUpClass(cls): 1 / 0"
        self.assertEqual(self.played(broken), (1, "0 passed, 1 failed"))

    def test_a_text_selects_by_name_and_one_that_selects_nothing_is_an_error(self):
        self.assertEqual(self.played("self.fail()", "holds"), (0, "1 passed, 0 failed"))
        self.assertEqual(self.played("pass", "nobody"), (1, "0 passed, 0 failed"))


class Checked(unittest.TestCase):
    def test_what_holds_and_what_does_not_is_counted_and_faults_are_named(self):
        self.assertEqual(self.played("checks.that(True, 'a'); checks.that([], 'b')"),
                         (1, "FAILED b\n1 passed, 1 failed\n"))
        self.assertEqual(self.played("checks.that(1, 'a')"), (0, "1 passed, 0 failed\n"))

    def test_who_checks_nothing_has_failed(self):
        self.assertEqual(self.played("pass"), (1, "0 passed, 0 failed\n"))

    def played(self, lines):
        program = f"import sys\nfrom checks import Checks\nchecks = Checks()\n{lines}\nsys.exit(checks.close())"
        result = run("python3", "-c", program, PYTHONPATH=str(ROOT / "Tests" / "Runner"))
        return result.returncode, result.stdout
