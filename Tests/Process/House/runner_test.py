# SPDX-License-Identifier: Apache-2.0

"""`Tests/Support/Runner/runner.py` counts what held, and nothing else."""

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
        result = run("python3", ROOT / "Tests" / "Support" / "Runner" / "runner.py", folder, *texts)
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

    def test_a_program_that_checks_nothing_has_failed(self):
        self.assertEqual(self.played("pass"), (1, "0 passed, 0 failed\n"))

    def played(self, lines):
        program = f"import sys\nfrom checks import Checks\nchecks = Checks()\n{lines}\nsys.exit(checks.close())"
        result = run("python3", "-c", program, PYTHONPATH=str(ROOT / "Tests" / "Support" / "Runner"))
        return result.returncode, result.stdout


SUBJECT = """
import sys
from mutation import Broken, Mutant, play

class Subject:
    def untouched(self, names):
        return "it fails" if "bad" in names else None

    def notices(self, mutant):
        if mutant.edits is None:
            raise Broken("no such text")
        return mutant.edits

sys.exit(play(Subject(), [{}], {}))
"""


class Mutated(unittest.TestCase):
    """`Tests/Support/Runner/mutation.py`: a mutant has passed when it was noticed, and in no other case."""

    def test_a_mutant_that_is_noticed_has_passed(self):
        self.assertEqual(self.played("Mutant('a', 'test', True), Mutant('b', 'test', 'words')"),
                         (0, ["caught a (test)", "caught b (test): words", "2 passed, 0 failed"]))

    def test_a_mutant_that_survives_has_failed(self):
        self.assertEqual(self.played("Mutant('a', 'test', True), Mutant('b', 'test', False)"),
                         (1, ["caught a (test)", "FAILED b (test): SURVIVED", "1 passed, 1 failed"]))

    def test_a_mutant_that_tests_nothing_has_failed(self):
        self.assertEqual(self.played("Mutant('a', 'test', None)"),
                         (1, ["FAILED a (test): tests nothing: no such text", "0 passed, 1 failed"]))

    def test_tests_that_fail_without_an_edit_catch_nothing(self):
        self.assertEqual(self.played("Mutant('a', 'bad', True)"),
                         (1, ["FAILED without any edit: it fails", "0 passed, 1 failed"]))

    def test_words_choose_and_words_that_choose_nothing_are_an_error(self):
        two = "Mutant('a', 'test', True), Mutant('b', 'bad', True)"
        self.assertEqual(self.played(two, ["a"]), (0, ["caught a (test)", "1 passed, 0 failed"]))
        self.assertEqual(self.played(two, ["c"]), (1, ["0 passed, 0 failed"]))

    def played(self, mutants, words=()):
        result = run("python3", "-c", SUBJECT.format(mutants, list(words)),
                     PYTHONPATH=str(ROOT / "Tests" / "Support" / "Runner"))
        return result.returncode, result.stdout.splitlines()


PROGRAM = """
#include <stdio.h>
#include <string.h>
int held(void);
int main(int argc, char **argv) {
  if (argc != 3 || strcmp(argv[2], "held") != 0) return puts("0 passed, 0 failed") < 0;
  if (held() == 9) return 9;
  printf("%d passed, %d failed\\n", held(), !held());
  return !held();
}
"""


class MutatedProgram(unittest.TestCase):
    """`Program` of `Tests/Support/Runner/mutation.py`."""

    def test_an_edit_that_the_test_sees_is_noticed(self):
        self.assertEqual(self.played("return 0;"), (0, "1 passed, 0 failed"))

    def test_an_edit_that_the_test_does_not_see_is_not(self):
        self.assertEqual(self.played("return 2 - 1;"), (1, "0 passed, 1 failed"))

    def test_a_test_that_does_not_exist_catches_nothing(self):
        self.assertEqual(self.played("return 0;", by="other"), (1, "0 passed, 1 failed"))

    def test_a_program_that_dies_has_noticed_unless_it_must_end(self):
        self.assertEqual(self.played("return 9;"), (0, "1 passed, 0 failed"))
        self.assertEqual(self.played("return 9;", must_end=True), (1, "0 passed, 1 failed"))

    def test_an_edit_that_does_not_compile_has_failed(self):
        self.assertEqual(self.played("return"), (1, "0 passed, 1 failed"))

    def played(self, instead, by="held", must_end=False):
        folder = fresh(self.id().rsplit(".", 1)[1])
        (folder / "main.c").write_text(PROGRAM)
        (folder / "held.c").write_text("int held(void) { return 1; }\n")
        program = f"""
import pathlib, sys
from mutation import CC, Mutant, Program, play
folder = pathlib.Path({str(folder)!r})
subject = Program(folder, folder / "built", [CC], [folder / "main.c", folder / "held.c"], ([CC], []),
                  must_end={must_end})
sys.exit(play(subject, [Mutant("a", {by!r}, [("held.c", "return 1;", {instead!r})])]))
"""
        result = run("python3", "-c", program, PYTHONPATH=str(ROOT / "Tests" / "Support" / "Runner"))
        return result.returncode, result.stdout.splitlines()[-1]
