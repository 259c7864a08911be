#!/usr/bin/env python3
"""Tests the firmware on its emulated board.

    run.py [TEXT…]     TEXT: tests whose name contains one of them

The last line is `N passed, M failed`.
"""

import argparse
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PORT = HERE.parent.parent / "CSources" / "ports" / "cortex-m3"


def tests_in(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_in(item)
        else:
            yield item


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuts", type=int, default=20, help="power cuts; the whole is 200")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("text", nargs="*")
    options = parser.parse_args()
    os.environ["FIRMWARE_CUTS"], os.environ["FIRMWARE_SEED"] = str(options.cuts), str(options.seed)
    # The parties of Tests/Attacker, with the firmware as the hardware.
    os.environ["PROOF_HARDWARE"] = str(PORT / "proof-firmware")
    sys.path[:0] = [str(HERE), *(str(HERE.parent / name) for name in ("Attacker", "Vectors", "Demo")), str(PORT)]
    found = tests_in(unittest.TestLoader().discover(str(HERE), pattern="*_test.py"))
    chosen = unittest.TestSuite(
        test for test in found if not options.text or any(text in test.id() for text in options.text))
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(chosen)
    bad = len({test.id() for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - bad} passed, {bad} failed")
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
