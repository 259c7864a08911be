#!/usr/bin/env python3
"""Attacks the hardware process over its link, written from docs/SPEC.md and docs/LINK.md alone.

    run.py [--rounds N] [--seed N] [TEXT…]     TEXT: tests whose name contains one of them

Each test is named after what must not happen. The last line is `N passed, M failed`.
"""

import argparse
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def tests_in(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_in(item)
        else:
            yield item


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50_000, help="garbage packets; the whole is 1000000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, default=HERE, help="where the tests are")
    parser.add_argument("text", nargs="*")
    options = parser.parse_args()
    os.environ["ATTACK_ROUNDS"], os.environ["ATTACK_SEED"] = str(options.rounds), str(options.seed)
    sys.path[:0] = [str(HERE), str(HERE.parent / "Vectors")]
    found = tests_in(unittest.TestLoader().discover(str(options.folder), pattern="*_test.py"))
    chosen = unittest.TestSuite(
        test for test in found if not options.text or any(text in test.id() for text in options.text))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(chosen)
    bad = len({test.id() for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - bad} passed, {bad} failed")
    # A name that selects no test has tested nothing.
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
