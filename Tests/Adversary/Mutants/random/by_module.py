#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Plays the unit tests of a module against mutants of that module, and lists those that survive, for a reader.

    by_module.py --seed S [--jobs N] [--seldom OPERATOR]… [--only OPERATOR]… FOLDER=COUNT …

One build has the Swift mutants of all folders. A mutant without a form that asks at run time is drawn again, and so
is one that overlaps another; one whose form does not compile is left out. Each suite is played once to note which
mutants it comes to, and a mutant then meets those that come to it. `--built` takes the build that stands. `--jobs`
judges so many mutants of Swift at once: most tests wait. `--seldom` draws this operator only where the line has room
for no other, `--only` leaves out the others. Results stand in .build/mutants/random/by-module-S.json; a run that was
stopped goes on.
"""

import argparse
import concurrent.futures
import json
import os
import random
import sys
import time

import c_side
import operators_c
import operators_swift
import swift_side
from drawing import sources
from modules import C_MODULES, FOLDER, SWIFT_MODULES
from touching import Touching

# The stages of C that take seconds.
UNITS_OF_C = ("core of this noun", "core", "units", "process", "probe process", "probe files", "probe hand-over")


def draw(seed, folder, taken, seldom, only):
    """Mutants of this folder without end; each has a line of its own."""
    own = random.Random(f"{seed}/{folder}")
    lines = [(source, line) for source in sources(folder) for line in source.code_lines()]
    while True:
        source, line = own.choice(lines)
        found = candidates_of(source, line)
        found = [mutant for mutant in found if not only or mutant.operator in only]
        if not found or (source.name, line) in taken:
            continue
        found = [mutant for mutant in found if mutant.operator not in seldom] or found
        taken.add((source.name, line))
        operator = own.choice(sorted({mutant.operator for mutant in found}))
        yield own.choice([mutant for mutant in found if mutant.operator == operator])


def candidates_of(source, line):
    return (operators_swift if source.language == "swift" else operators_c).candidates(source, line)


def choose_swift(draws, counts):
    """{number: mutant} without overlaps, and {number: folder}."""
    chosen, folders = {}, {}
    for folder, count in counts.items():
        while sum(name == folder for name in folders.values()) < count:
            mutant = next(draws[folder])
            if mutant.choice is not None and not any(swift_side.overlap(mutant, other) for other in chosen.values()):
                chosen[len(chosen) + 1], folders[len(folders) + 1] = mutant, folder
    return chosen, folders


def build_swift(draws, counts):
    """Leaves out what does not compile in the form that asks."""
    swift_side.begin()
    chosen, folders = choose_swift(draws, counts)
    waiting = set(counts)
    while waiting:
        swift_side.place(swift_side.choosing(chosen))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda folder: swift_side.errors_of(folder.split("/")[1]), sorted(waiting)))
        for folder, errors in zip(sorted(waiting), found):
            if not errors:
                waiting.discard(folder)
            for number in swift_side.blamed(errors, chosen) if errors else ():
                del chosen[number], folders[number]
        print(f"  {len(chosen)} mutants; left: {sorted(waiting)}", flush=True)
    refused = swift_side.prepare(chosen)
    while refused:
        for number in refused:
            del chosen[number], folders[number]
        refused = swift_side.prepare(chosen)
    return chosen, folders


def keep(path, chosen, folders):
    path.write_text(json.dumps({number: [folders[number], mutant.source.name, mutant.line, mutant.operator,
                                         mutant.edits] for number, mutant in chosen.items()}) + "\n")


def kept(path):
    """The mutants of the build that stands."""
    chosen, folders = {}, {}
    for number, (folder, name, line, operator, edits) in json.loads(path.read_text()).items():
        source = next(source for source in sources(folder) if source.name == name)
        chosen[int(number)] = next(mutant for at in range(line, 0, -1) for mutant in candidates_of(source, at)
                                   if mutant.operator == operator and [list(edit) for edit in mutant.edits] == edits)
        folders[int(number)] = folder
    return chosen, folders


class Notes:
    def __init__(self, seed):
        self.path = FOLDER / f"by-module-{seed}.json"
        self.results = json.loads(self.path.read_text()) if self.path.exists() else {}

    def add(self, folder, mutant, verdict, word):
        before, after = mutant.describe()
        self.results[f"{mutant.source.name}:{mutant.line}"] = {
            "folder": folder, "operator": mutant.operator, "before": before, "after": after, "verdict": verdict,
            "word": word}
        self.path.write_text(json.dumps(self.results, indent=1) + "\n")
        print(f"{time.strftime('%H:%M:%S')} {verdict} {mutant.source.name}:{mutant.line} {mutant.operator}: {word}",
              flush=True)
        if verdict != "killed":
            print(f"    - {before}\n    + {after}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", required=True)
    parser.add_argument("folders", nargs="+", metavar="FOLDER=COUNT")
    parser.add_argument("--jobs", type=int, default=1, help="mutants of Swift that are judged at once")
    parser.add_argument("--seldom", action="append", default=[], metavar="OPERATOR",
                        help="an operator for lines that have room for no other")
    parser.add_argument("--only", action="append", default=[], metavar="OPERATOR", help="no other operator than these")
    parser.add_argument("--built", action="store_true", help="play the mutants of the build that stands")
    options = parser.parse_args()
    counts = {name: int(count) for name, count in (word.split("=") for word in options.folders)}
    FOLDER.mkdir(parents=True, exist_ok=True)
    notes, taken = Notes(options.seed), set()
    draws = {folder: draw(options.seed, folder, taken, options.seldom, options.only) for folder in counts}
    of_c = {folder: count for folder, count in counts.items() if folder in C_MODULES}
    of_swift = {folder: count for folder, count in counts.items() if folder in SWIFT_MODULES}
    if of_c:
        c_side.prepare()
    for folder, count in of_c.items():
        stages = [name for name in C_MODULES[folder] if name in UNITS_OF_C]
        while count:
            mutant = next(draws[folder])
            if not c_side.compiles(folder, mutant):
                continue
            count -= 1
            if f"{mutant.source.name}:{mutant.line}" not in notes.results:
                verdict, by, word = c_side.run(mutant, stages)
                notes.add(folder, mutant, verdict, f"{by}: {word}" if verdict == "killed" else word)
    if of_swift:
        path = FOLDER / f"by-module-{options.seed}-chosen.json"
        chosen, folders = kept(path) if options.built else build_swift(draws, of_swift)
        keep(path, chosen, folders)
        touching = Touching(FOLDER / f"by-module-{options.seed}-touched.json")
        touching.measure()
        waiting = [number for number, mutant in chosen.items()
                   if folders[number] in of_swift and f"{mutant.source.name}:{mutant.line}" not in notes.results]
        # A pass that is cut short has looked at each folder.
        random.Random(options.seed).shuffle(waiting)
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            judged = {pool.submit(touching.judge, number, []): number for number in waiting}
            for done in concurrent.futures.as_completed(judged):
                verdict, _, word = done.result()
                notes.add(folders[judged[done]], chosen[judged[done]], verdict, word)
    for folder in counts:
        verdicts = [result["verdict"] for result in notes.results.values() if result["folder"] == folder]
        print(f"{folder}: {len(verdicts)} mutants, " +
              ", ".join(f"{verdicts.count(word)} {word}" for word in sorted(set(verdicts))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
