#!/usr/bin/env python3
"""Runs the unit tests of this folder; the last line is `N passed, M failed`."""

import sys
import unittest
from pathlib import Path


def main() -> int:
    tests = unittest.defaultTestLoader.discover(str(Path(__file__).resolve().parent))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(tests)
    # A test with several failing sub-tests stands in the lists more than once.
    troubled = {_whole(test) for test, _ in result.failures + result.errors}
    print(f"{result.testsRun - len(troubled)} passed, {len(troubled)} failed")
    return 0 if result.testsRun and result.wasSuccessful() else 1


def _whole(test: unittest.TestCase) -> str:
    return getattr(test, "test_case", test).id()


if __name__ == "__main__":
    sys.exit(main())
