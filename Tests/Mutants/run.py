#!/usr/bin/env python3
"""Takes out the core's defences one by one and sees to it that a test notices each time.

    run.sh [TEXT]      all mutants, or those whose description contains TEXT

The core's tests are built once, under the address sanitizer; each mutant is compiled from a changed copy of the core's
sources and linked with them. A mutant is caught when the tests named with it fail, or the sanitizer stops them.
"""

import os
import pathlib
import shutil
import subprocess
import sys

from mutants import MUTANTS

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Runner"))
from planting import changed  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CORE = ROOT / "CSources" / "ProofCore"
TESTS = ROOT / "Tests" / "ProofCoreTests"
OUT = ROOT / ".build" / "mutants"
FLAGS = ["-std=c11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{CORE / 'include'}"]
CC = os.environ.get("CC", "cc")
PATIENCE = 300  # seconds: a mutant that hangs is caught as well


def compile_to(source, target, *more):
    subprocess.run([CC, *FLAGS, *more, f"-I{CORE}", "-c", "-o", target, source], check=True)


def objects(folder, prefix, sources):
    made = {}
    for source in sources:
        target = folder / f"{prefix}{source.stem}.o"
        newest = max(p.stat().st_mtime for p in [source, *CORE.glob("include/*.h"), *CORE.glob("*.h"),
                                                 *TESTS.glob("*.h")])
        if not target.exists() or target.stat().st_mtime < newest:
            compile_to(source, target)
        made[source.name] = target
    return made


def link(target, parts):
    subprocess.run([CC, *FLAGS, "-o", target, *parts, "-lsodium"], check=True)


def run(program, noun):
    """Whether the tests of this noun pass."""
    command = [program, "--vectors", ROOT / "Tests" / "Vectors", "--filter", noun]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return False, "hangs"
    lines = (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()
    return done.returncode == 0, lines[-1]


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    OUT.mkdir(parents=True, exist_ok=True)
    core = objects(OUT, "core_", sorted(CORE.glob("*.c")))
    tests = objects(OUT, "test_", sorted(TESTS.glob("*.c")))
    program = OUT / "program"
    link(program, [*core.values(), *tests.values()])
    caught = survived = 0
    for noun in sorted({mutant[2] for mutant in MUTANTS}):
        fine, line = run(program, noun)
        if not fine or line.startswith("0 passed"):
            sys.exit(f"mutants: the untouched core does not pass the tests of '{noun}': {line}")
    for rule, what, noun, edits in MUTANTS:
        if wanted not in what:
            continue
        folder = OUT / "mutant"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        parts = dict(core)
        for name, text in changed(CORE, edits).items():
            (folder / name).write_text(text)
            compile_to(folder / name, folder / f"{name}.o", "-w")
            parts[name] = folder / f"{name}.o"
        link(program, [*parts.values(), *tests.values()])
        fine, line = run(program, noun)
        print(f"{'SURVIVED' if fine else 'caught  '}  rule {rule}: {what} ({noun})", flush=True)
        survived += fine
        caught += not fine
    print(f"{caught} passed, {survived} failed")
    return survived != 0


if __name__ == "__main__":
    sys.exit(main())
