#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Tests the firmware on its emulated board.

    run.py [TEXT…]     TEXT: tests whose name contains one of them

The last line is `N passed, M failed`.
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
PORT = HERE.parents[2] / "CSources" / "ports" / "cortex-m3"
FOLDERS = ("Support/Runner", "Adversary/Attacker", "Vectors", "Process/Demo", "Unit/ProofHardwareTests")
sys.path[:0] = [*(str(HERE.parents[1] / name) for name in FOLDERS), str(PORT)]

import runner  # noqa: E402


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cuts", type=int, default=20, help="power cuts; the whole is 200")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("text", nargs="*")
    options = parser.parse_args()
    os.environ["FIRMWARE_CUTS"], os.environ["FIRMWARE_SEED"] = str(options.cuts), str(options.seed)
    # The parties of Tests/Adversary/Attacker, with the firmware as the hardware.
    os.environ["PROOF_HARDWARE"] = str(PORT / "proof-firmware")
    return runner.run(runner.in_folder(HERE), options.text)


if __name__ == "__main__":
    sys.exit(main())
