#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Attacks the hardware process over its link, written from docs/SPEC.md and docs/LINK.md alone.

    run.py [--rounds N] [--seed N] [TEXT…]     TEXT: tests whose name contains one of them

Each test is named after what must not happen. The last line is `N passed, M failed`.
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / name) for name in ("Support/Runner", "Vectors")]

import runner  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=50_000, help="garbage packets; the whole is 1000000")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=pathlib.Path, default=HERE, help="where the tests are")
    parser.add_argument("text", nargs="*")
    options = parser.parse_args()
    os.environ["ATTACK_ROUNDS"], os.environ["ATTACK_SEED"] = str(options.rounds), str(options.seed)
    sys.path.insert(0, str(HERE))
    return runner.run(runner.in_folder(options.folder.resolve()), options.text)


if __name__ == "__main__":
    sys.exit(main())
