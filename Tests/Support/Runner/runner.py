#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The one runner of Python tests: those of a folder, or of a program's own classes.

    runner.py FOLDER [TEXT…]     FOLDER/*_test.py; TEXT: tests whose name contains one of them

The last line is `N passed, M failed`. A test with several failing sub-tests has failed once; one that was skipped has
not passed, and a name that selects no test has tested nothing.
"""

import pathlib
import sys
import unittest


class Result(unittest.TextTestResult):
    """Counts what passed as it passes, rather than what is left when all else is taken away."""

    def __init__(self, *words):
        super().__init__(*words)
        self.passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def failed(self):
        bad = [test for test, _ in self.failures + self.errors] + self.unexpectedSuccesses
        # Failing sub-tests stand there one by one, and one of a class or a module without a test.
        return len({getattr(test, "test_case", test).id() for test in bad})


def in_folder(folder):
    """The tests of a folder's files, which find their helpers beside them."""
    sys.path.insert(0, str(folder))
    return unittest.TestLoader().discover(str(folder), pattern="*_test.py")


def of_classes(*classes):
    """The tests of these classes, in this order."""
    return unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, classes))


def _each(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from _each(item)
        else:
            yield item


def run(suite, texts=()):
    """Runs the tests whose name contains one of the texts, or all; the exit status."""
    chosen = unittest.TestSuite(
        test for test in _each(suite) if not texts or any(text in test.id() for text in texts))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Result).run(chosen)
    print(f"{result.passed} passed, {result.failed()} failed")
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(run(in_folder(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:]))
