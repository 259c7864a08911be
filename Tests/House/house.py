"""Runs the tests of the house, each named after the property it holds, and counts them.

    house.py            all
    house.py TEXT…      those whose name contains one of the texts
"""

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


def main(filters):
    found = tests_in(unittest.TestLoader().discover(str(HERE), pattern="*_test.py"))
    chosen = unittest.TestSuite(test for test in found if not filters or any(text in test.id() for text in filters))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(chosen)
    bad = len({test.id() for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - bad - len(result.skipped)} passed, {bad} failed")
    # A filter that names no test has tested nothing.
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
