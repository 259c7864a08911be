#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Takes out the core's defences one by one and sees to it that a test notices each time.

    run.sh [TEXT…]      all mutants, or those whose description contains one of the texts
    run.sh --places     none: whether each old text still stands in its file

The core's tests are built under the address sanitizer. A mutant is caught when the tests named with it fail, or the
sanitizer stops them.
"""

import pathlib
import sys

from mutants import MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from mutation import CC, Mutant, Program, main  # noqa: E402

CORE = ROOT / "CSources" / "ProofCore"
FLAGS = ["-std=c11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def begin():
    sources = [*sorted(CORE.glob("*.c")), *sorted((ROOT / "Tests" / "Unit" / "ProofCoreTests").glob("*.c"))]
    return Program(CORE, ROOT / ".build" / "mutants" / "core",
                   [CC, "-w", *FLAGS, f"-I{CORE / 'include'}", f"-I{CORE}"], sources, ([CC, *FLAGS], ["-lsodium"]),
                   ["--vectors", ROOT / "Tests" / "Vectors"])


if __name__ == "__main__":
    sys.exit(main(begin, [Mutant(f"rule {rule}: {what}", noun, edits) for rule, what, noun, edits in MUTANTS],
                  __doc__, CORE))
