#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Draws mutants of all modules from a seed, and sees to it that the tests notice at least 95 of 100.

    run.py --seed S --count N [--seed T --count M] [--c-only | --part c | --part swift] [--draw-only]

Several samples share the build of Swift. `survivors.md` lists by seed, index and line those that no test can notice,
with the reason; they do not count. Results stand in .build/mutants/random; a run that was stopped goes on where it
was. README.md tells the operators, the tests of each module, and the time it takes.
"""

import argparse
import fcntl
import hashlib
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import c_side  # noqa: E402
import swift_side  # noqa: E402
from drawing import Drawing  # noqa: E402
from modules import BRIDGES, C_MODULES, FOLDER, SWIFT_MODULES, stages  # noqa: E402
from touching import Touching  # noqa: E402

BOUND = 0.95
SURVIVORS = pathlib.Path(__file__).resolve().parent / "survivors.md"


class Sample:
    """The mutants of one seed; `first` is the number of its first in the shared build."""

    def __init__(self, seed, count, first, options):
        self.seed, self.count, self.first = seed, count, first
        self.drawing = Drawing(seed)
        if options.c_only:
            for folder in set(self.drawing.lines) - set(C_MODULES):
                del self.drawing.lines[folder]
        self.path = FOLDER / f"{seed}-{count}{'-c' if options.c_only else ''}.json"
        digest = hashlib.sha256("\0".join(source.text for sources in self.drawing.sources.values()
                                          for source in sources).encode()).hexdigest()
        self.state = json.loads(self.path.read_text()) if self.path.exists() else {}
        if self.state.get("sources") != digest:
            self.state = {"sources": digest, "draws": {}, "results": {}}
        self.own = {"draws": {}, "results": {}}  # This process alone
        self.mutants, self.counts = {}, {}

    @property
    def draws(self):
        return self.state["draws"]

    @property
    def results(self):
        return self.state["results"]

    def save(self):
        """Writes the state; another process may play the other part of this sample."""
        with open(self.path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self.path.exists():
                other = json.loads(self.path.read_text())
                if other.get("sources") == self.state["sources"]:
                    self.state = other
            for name, values in self.own.items():
                self.state[name].update(values)
            self.path.write_text(json.dumps(self.state, indent=1) + "\n")

    def draw(self, index):
        self.counts[index] = self.counts.get(index, 0) + 1
        self.mutants[index] = self.drawing.draw(index)
        return self.mutants[index]

    def redraw_c(self, index):
        """Draws until it is Swift, or C that compiles."""
        while True:
            folder, mutant = self.draw(index)
            if folder in SWIFT_MODULES or c_side.compiles(folder, mutant):
                return

    def note(self, index, verdict, by, word):
        folder, mutant = self.mutants[index]
        before, after = mutant.describe()
        self.own["draws"][str(index)] = self.counts[index]
        self.own["results"][str(index)] = {"file": mutant.source.name, "line": mutant.line, "operator": mutant.operator,
                                           "before": before, "after": after, "verdict": verdict, "by": by, "word": word}
        self.save()
        print(f"{self.seed}/{index} {verdict} {mutant.source.name}:{mutant.line} {mutant.operator}"
              f"{f': {by}: {word}' if verdict == 'killed' else ''}", flush=True)
        if verdict != "killed":
            print(f"    - {before}\n    + {after}", flush=True)

    def waiting(self, folders):
        return [index for index in range(self.count)
                if str(index) not in self.results and self.mutants[index][0] in folders]


def draw_all(samples, part):
    """Draws every sample, or draws again what an earlier run has drawn."""
    for sample in samples:
        for index in range(sample.count):
            if str(index) in sample.draws:
                for _ in range(sample.draws[str(index)]):
                    sample.draw(index)
            elif part == "swift" and sample.draw(index)[0] in C_MODULES:
                pass  # The other part sees to it that it compiles.
            else:
                sample.counts[index], sample.drawing.random[index] = 0, None
                sample.redraw_c(index)
                # The other part counts what it draws again.
                if part == "c" and sample.mutants[index][0] in C_MODULES:
                    sample.own["draws"][str(index)] = sample.counts[index]
        sample.save()


def by_number(samples):
    return {sample.first + index: (sample, index) for sample in samples for index in range(sample.count)
            if sample.mutants[index][0] in SWIFT_MODULES}


def compile_swift(samples):
    """Draws again what is Swift and does not compile, until one build has all."""
    def redraw_swift(number):
        sample = next(s for s in samples if s.first <= number < s.first + s.count)
        sample.redraw_c(number - sample.first)
        sample.own["draws"][str(number - sample.first)] = sample.counts[number - sample.first]
        sample.save()
        folder, mutant = sample.mutants[number - sample.first]
        # Became C: it plays there, and the build goes without.
        return mutant if folder in SWIFT_MODULES else None
    asked = {number: sample.mutants[index][1] for number, (sample, index) in by_number(samples).items()}
    while True:
        together, alone = swift_side.sort_out(asked, redraw_swift)
        refused = swift_side.prepare(together)
        if not refused:
            break
        asked = {**together, **alone}
        for number in refused:
            print(f"  number {number} is refused by the whole compiler", flush=True)
            del asked[number]
            mutant = redraw_swift(number)
            if mutant:
                asked[number] = mutant
    for sample in samples:
        sample.own["draws"].update({str(index): count for index, count in sample.counts.items()
                                    if sample.mutants[index][0] not in C_MODULES})
        sample.save()
    return together


def play_c(sample):
    # The tests of the probe and of the firmware take longest.
    last = ("CSources/ProofProbe", "CSources/ports")
    for index in sorted(sample.waiting(C_MODULES), key=lambda i: sample.mutants[i][0] in last):
        folder, mutant = sample.mutants[index]
        sample.note(index, *c_side.run(mutant, stages(folder, mutant.source.name)))


def play_swift(sample, together, touching):
    for index in sample.waiting(SWIFT_MODULES):
        number = sample.first + index
        if number in together:
            folder, mutant = sample.mutants[index]
            sample.note(index, *touching.judge(number, stages(folder, mutant.source.name)))
    for index in sample.waiting([*SWIFT_MODULES, *BRIDGES]):
        folder, mutant = sample.mutants[index]
        sample.note(index, *swift_side.run_alone(mutant, stages(folder, mutant.source.name)))


def argued(sample):
    """Indices that survivors.md calls equivalent, as long as the line is the one it names."""
    text = SURVIVORS.read_text() if SURVIVORS.exists() else ""
    found = set()
    for seed, index, place, verdict in re.findall(r"^\| (\w+)/(\d+) \| `([^`]+)` \| (\w+) \|", text, re.MULTILINE):
        result = sample.results.get(index)
        if seed == sample.seed and verdict == "equivalent" and result and place == result["file"]:
            found.add(index)
    return found


def summary(sample):
    """The counts of the sample's last line. Survivors are failures where they are too many."""
    equivalent = {index for index in argued(sample) if sample.results[index]["verdict"] == "survived"}
    killed = sum(result["verdict"] == "killed" for result in sample.results.values())
    refused = sum(result["verdict"] == "refused" for result in sample.results.values())
    judged = sample.count - refused - len(equivalent)
    redrawn = sum(sample.draws.values()) - sample.count
    print(f"seed {sample.seed}: {sample.count} mutants, {redrawn + refused} more did not compile; {killed} killed, "
          f"{len(equivalent)} equivalent, {judged - killed} survived: {killed / max(1, judged):.1%} of {judged}")
    return killed + len(equivalent), 0 if killed >= BOUND * judged else judged - killed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", action="append", required=True)
    parser.add_argument("--count", action="append", type=int, required=True)
    parser.add_argument("--c-only", action="store_true", help="draw from the C modules alone: no Swift is built")
    parser.add_argument("--part", choices=["c", "swift"], help="play this part of the sample")
    parser.add_argument("--draw-only", action="store_true", help="print what is drawn, compiled or not")
    options = parser.parse_args()
    options.part = "c" if options.c_only else options.part
    FOLDER.mkdir(parents=True, exist_ok=True)
    samples, first = [], 1
    for seed, count in zip(options.seed, options.count, strict=True):
        samples.append(Sample(seed, count, first, options))
        first += count
    for sample in samples:
        print(f"seed {sample.seed}, {sample.count} mutants; lines of code: {sample.drawing.weights()}")
    if options.part != "swift":
        c_side.prepare()
    draw_all(samples, options.part)
    if options.draw_only:
        for sample in samples:
            for index, (_, mutant) in sorted(sample.mutants.items()):
                before, after = mutant.describe()
                print(f"{sample.seed}/{index} {mutant.source.name}:{mutant.line} {mutant.operator}\n"
                      f"    - {before}\n    + {after}")
        return 0
    if options.part != "c":
        together = compile_swift(samples)
        # A list of another build tells nothing of this one.
        build = json.dumps([sorted((number, mutant.source.name, mutant.line, mutant.edits)
                                   for number, mutant in together.items()),
                            [sample.state["sources"] for sample in samples]])
        touching = Touching(FOLDER / f"touched-{hashlib.sha256(build.encode()).hexdigest()[:16]}.json")
        touching.measure()
    for sample in samples:
        if options.part != "swift":
            play_c(sample)
        if options.part != "c":
            play_swift(sample, together, touching)
    counts = [summary(sample) for sample in samples]
    failed = sum(bad for _, bad in counts)
    print(f"{sum(good for good, _ in counts)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
