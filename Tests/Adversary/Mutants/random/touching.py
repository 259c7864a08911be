# SPDX-License-Identifier: Apache-2.0

"""Notes which tests come to which mutants of the one build of Swift. A mutant meets those tests alone that come to it:
no other one can notice it. Unit tests come first, and of them those that come to the fewest mutants."""

import json
import re
import time

from modules import FOLDER, STAGES, TREE
from playing import PATIENCE_FACTOR, judge, last_word, noticed, play, played_alone

PROGRAM = ".build/debug/ProofKitPackageTests.xctest --disable-xctest --testing-library swift-testing"
# Seconds; unit tests of a mutant that take less do not hang.
UNITS_MIN = 60
# Suites played in one process: the nearest ones alone, then many.
NEAREST, TOGETHER = 3, 40


def suites():
    """Names of all suites, and of the tests that stand in none."""
    _, output = play(f"{PROGRAM} --list-tests", TREE, UNITS_MIN)
    # Module.Suite/test() in the whole, Module.test() alone; a suite can hold others.
    return sorted({line.split("/")[0] for line in output.splitlines() if re.match(r"^\w+\.\S", line)})


def filter_of(names):
    return "'^(" + "|".join(re.escape(name).replace("'", "'\\''") for name in names) + ")(/|$)'"


def is_units(stage):
    """Whether a stage is a filter of unit tests, which stand in the suites already."""
    return stage not in STAGES and stage[0] not in "!@"


class Touching:
    """{suite or stage: [seconds, the numbers of the mutants that it comes to]}, of one build, kept beside results."""

    def __init__(self, path):
        self.path = path
        self.found = json.loads(path.read_text()) if path.exists() else {}

    def measure(self):
        """Plays each suite once, without a mutant."""
        for name in suites():
            if name not in self.found:
                self.note(name, lambda more, name=name: self.play_suite(name, more))

    def play_suite(self, name, more):
        status, output = play(f"{PROGRAM} --filter {filter_of([name])}", TREE, 3600, more)
        if status != 0:
            print(f"  without any mutant this suite fails, and is left out: {name}: {last_word(output)}", flush=True)
        return status == 0

    def note(self, name, run):
        touched = FOLDER / f"touched-{time.monotonic_ns()}"
        begin = time.monotonic()
        counts = run({"MUTANT_TOUCHED": str(touched)})
        seconds = round(time.monotonic() - begin, 1)
        numbers = {int(word) for word in touched.read_text().split()} if touched.exists() else set()
        touched.unlink(missing_ok=True)
        self.found[name] = [seconds, sorted(numbers) if counts else []]
        self.path.write_text(json.dumps(self.found) + "\n")

    def of(self, number):
        """The suites that come to it, those with the fewest mutants first."""
        found = sorted((len(numbers), name) for name, (_, numbers) in self.found.items()
                       if number in numbers and is_units(name))
        return [name for _, name in found]

    def units(self, number):
        """How the unit tests notice it, or nothing."""
        names = self.of(number)
        for some in (names[:NEAREST], names[NEAREST:NEAREST + TOGETHER], names[NEAREST + TOGETHER:]):
            if some:
                seconds = max(UNITS_MIN, PATIENCE_FACTOR * sum(self.found[name][0] for name in some))
                word = noticed(f"{PROGRAM} --filter {filter_of(some)}", TREE, seconds, {"MUTANT_CHOSEN": str(number)})
                if word:
                    return word
        return ""

    def judge(self, number, stages):
        """(verdict, stage, word), as of `playing.judge`."""
        word = self.units(number)
        if word:
            return "killed", "units", word
        for stage in stages:
            if is_units(stage):
                continue
            if stage not in self.found:
                self.note(stage, lambda more, stage=stage: played_alone(stage, more))
            if number in self.found[stage][1]:
                verdict = judge([stage], number)
                if verdict[0] == "killed":
                    return verdict
        came = len(self.of(number))
        return "survived", "", f"{came} suites come to it" if came else "no unit test comes to it"
