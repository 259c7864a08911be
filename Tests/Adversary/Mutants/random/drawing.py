# SPDX-License-Identifier: Apache-2.0

"""Draws mutants from a seed: a module by its lines of code, a line, one of the operators it has room for, a place."""

import functools
import random
import sys

import operators_c
import operators_swift
from c_side import unseen
from modules import MODULES, NOT_DRAWN, ROOT
from source import Source


@functools.cache
def sources(folder):
    """The sources of a module."""
    language = "swift" if folder.startswith("Sources/") else "c"
    paths = sorted((ROOT / folder).rglob("*.swift" if language == "swift" else "*.[ch]"))
    return [Source(path, str(path.relative_to(ROOT)), language, unseen(folder, path) if language == "c" else ())
            for path in paths if "generate" not in path.parts]


class Drawing:
    """Every source of the product, and one random sequence for each index, so that a run can go on anywhere."""

    def __init__(self, seed):
        present = {str(path.relative_to(ROOT)) for name in ("Sources", "CSources")
                   for path in (ROOT / name).iterdir() if path.is_dir()}
        if present - set(MODULES) - NOT_DRAWN:
            sys.exit(f"mutants: modules.py lists no tests for {sorted(present - set(MODULES) - NOT_DRAWN)}")
        self.seed, self.sources, self.lines = seed, {}, {}
        for folder in MODULES:
            self.sources[folder] = sources(folder)
            self.lines[folder] = [(source, line) for source in sources(folder) for line in source.code_lines()]
        self.random, self.taken = {}, {}

    def weights(self):
        return {folder: len(lines) for folder, lines in self.lines.items()}

    def draw(self, index):
        """The next mutant of this index: its module and itself. No two indices have the same line."""
        own = self.random.get(index)
        if own is None:
            own = self.random[index] = random.Random(f"{self.seed}/{index}")
        self.taken.pop(index, None)
        while True:
            folder = own.choices(list(self.lines), weights=[len(lines) for lines in self.lines.values()])[0]
            while True:
                source, line = own.choice(self.lines[folder])
                module = operators_swift if source.language == "swift" else operators_c
                found = module.candidates(source, line)
                if found:
                    break
            operator = own.choice(sorted({mutant.operator for mutant in found}))
            mutant = own.choice([mutant for mutant in found if mutant.operator == operator])
            if (source.name, mutant.line) not in self.taken.values():
                self.taken[index] = (source.name, mutant.line)
                return folder, mutant
