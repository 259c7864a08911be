#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Measures the measurement: cold against warm, and against size. Against other programs proof-bench does.

    bench.py warm [--seconds 60]       a full proof, cold and warm, of an app with 200 MiB of code
    bench.py curves [--seconds 60]     cost against bytes and against files, up to 4 GiB and 100,000 files
    bench.py floor [--seconds 30]      a warm proof beside its floor: what the kernel is asked in one, and nothing else
    bench.py tree [--seconds 60]       a trial: one big file by BLAKE3's tree, beside b3sum and this version
    bench.py report                    what was found, as tables; plots into docs/results

Results of each part replace its older ones in .build/probe-bench/results. In each round every candidate runs once,
another one first each time; ratios are medians over rounds of the two within one round, so that whatever else the
machine does meets both. Rounds during which others took more than a twentieth of the processors are told apart. On a
machine that is never quiet, `--first` gives all candidates alike real-time priority, and rests as long as they ran.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import inputs
import machine
import report

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.normpath(f"{HERE}/../../.build/probe-bench")
RESULTS = f"{BUILD}/results"
MEASURE = f"{BUILD}/probe-measure"
PROOF = f"{BUILD}/probe-proof"
TREE = f"{BUILD}/probe-tree"
# A user id without rights.
ORDINARY = 65534

def keep(name: str, result: dict) -> None:
    os.makedirs(RESULTS, exist_ok=True)
    result["machine"] = machine.describe()
    with open(f"{RESULTS}/{name}.json", "w", encoding="ascii") as file:
        json.dump(result, file)


def interleave(commands: dict[str, tuple[list[str], str]], seconds: float, least: int) -> list[dict]:
    """Rounds: for each candidate what it took and worked, and what others took."""
    rounds: list[dict] = []
    order = list(commands)
    for name in order:
        machine.run(*commands[name])  # Brings the files into memory.
    ends = time.monotonic() + seconds
    while time.monotonic() < ends or len(rounds) < least:
        machine.wait()
        with machine.Foreign() as foreign:
            found = {}
            for name in order:
                found[name] = machine.run(*commands[name])
                foreign.own += found[name][1]
        rounds.append({"foreign": foreign.share, "found": found})
        order.append(order.pop(0))
    return rounds


def warm(seconds: float) -> None:
    """Short runs of the whole app, as many as fit."""
    bundle = inputs.make(f"{BUILD}/trees/d", *inputs.TREES["d"])
    storage = f"{BUILD}/storage"
    os.makedirs(storage, mode=0o700, exist_ok=True)
    many = [f"{BUILD}/{name}" for name in sorted(os.listdir(BUILD)) if name.startswith("libcode")]
    layouts = {
        "50 libraries of 4 MiB": many,
        "one library of 200 MiB": [f"{BUILD}/libwhole.so"],
    }
    for number, (layout, libraries) in enumerate(layouts.items()):
        runs = []
        ends = time.monotonic() + seconds / len(layouts)
        while time.monotonic() < ends or len(runs) < 3:
            machine.wait()
            with machine.Foreign() as foreign:
                began = os.times()
                done = subprocess.run([PROOF, bundle, storage, "40", *libraries], stdout=subprocess.PIPE, check=True)
                ended = os.times()
                foreign.own = sum(ended[2:4]) - sum(began[2:4])
            runs.append({"foreign": foreign.share, "kinds": json.loads(done.stdout)})
        keep(f"warm-{number}", {"layout": layout, "runs": runs})
        print(report.warm_lines(RESULTS, number))


def curves(seconds: float) -> None:
    """Two lines of folders: files of 1 MiB up to 4 GiB, and files of 4 KiB up to 100,000."""
    lines = {
        "bytes": (1 << 20, [1 << step for step in range(13)]),
        "files": (4 << 10, [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000]),
    }
    for name, (size, counts) in lines.items():
        whole = inputs.make(f"{BUILD}/curves/{name}/whole", counts[-1], size)
        commands, points = {}, []
        for count in counts:
            root = whole
            if count != counts[-1]:
                root = inputs.make_part(whole, f"{BUILD}/curves/{name}/{count}", count)
            commands[str(count)] = ([MEASURE, "."], root)
            said = subprocess.run([MEASURE, ".", "--statistics"], cwd=root, stdout=subprocess.PIPE, check=True)
            points.append({"count": count, "size": size, **json.loads(said.stdout.splitlines()[1])})
        rounds = interleave(commands, seconds / len(lines), 3)
        keep(f"curve-{name}", {"points": points, "rounds": rounds})
        print(report.curve_lines(RESULTS, name))


def floor(seconds: float) -> None:
    """A warm proof with descriptors kept, and its floor, in turns; medians of pairs.

    The app is an ordinary user's, if root starts this: then its libraries' digests are kept.
    """
    bundle = inputs.make(f"{BUILD}/trees/d", *inputs.TREES["d"])
    storage = f"{BUILD}/storage-floor"
    os.makedirs(storage, mode=0o700, exist_ok=True)
    user = []
    if os.geteuid() == 0:
        os.chown(storage, ORDINARY, ORDINARY)
        user = ["--user", str(ORDINARY)]
    pairs = {"times": [], "work": []}
    ends = time.monotonic() + seconds
    while time.monotonic() < ends or not pairs["times"]:
        done = subprocess.run([PROOF, *user, bundle, storage, "40", f"{BUILD}/libwhole.so"],
                              stdout=subprocess.PIPE, check=True)
        kinds = json.loads(done.stdout)
        for what, ratios in pairs.items():
            proofs, floors = kinds["warm, descriptors"][what], kinds["floor"][what]
            ratios += [proof / least for proof, least in zip(proofs, floors, strict=True)]
    print(f"a warm proof of 2,000 files with descriptors kept, {len(pairs['times'])} pairs, medians: "
          f"{statistics.median(pairs['times']):.2f} times the floor's time, "
          f"{statistics.median(pairs['work']):.2f} times its processor time; "
          f"others ran {os.getloadavg()[0]:.0f} at once")


def tree(seconds: float) -> None:
    """One file of 256 MiB by each candidate in turns; medians of the ratios to b3sum within one round."""
    bundle = inputs.make(f"{BUILD}/trees/a", *inputs.TREES["a"])
    file = next(os.path.join(folder, name) for folder, _, names in os.walk(bundle) for name in names)
    check_tree(file)
    commands = {"b3sum, 2 threads": (["b3sum", "--no-mmap", "--num-threads", "2", file], bundle),
                "b3sum, 2 threads, mapped": (["b3sum", "--num-threads", "2", file], bundle),
                "b3sum, 1 thread": (["b3sum", "--num-threads", "1", file], bundle),
                "this version": ([MEASURE, "."], bundle)}
    for way in ("read", "huge", "map"):
        commands[f"tree, {way}"] = ([TREE, way, "2", file], bundle)
    rounds = interleave(commands, seconds, 5)
    print(f"{len(rounds)} rounds; least and median in milliseconds, processor time, median ratio to b3sum's best:")
    for name in commands:
        times = [one["found"][name][0] * 1e3 for one in rounds]
        work = [one["found"][name][1] * 1e3 for one in rounds]
        best = [min(one["found"][peer][0] for peer in commands if peer.startswith("b3sum")) for one in rounds]
        ratios = [time / 1e3 / least for time, least in zip(times, best, strict=True)]
        print(f"| {name} | {min(times):.1f} | {statistics.median(times):.1f} | {statistics.median(work):.1f} "
              f"| {statistics.median(ratios):.2f} |")


def check_tree(big: str) -> None:
    """The trial gives b3sum's digest for the big file, and for lengths around each bound of the tree."""
    folder = f"{BUILD}/tree"
    os.makedirs(folder, exist_ok=True)
    files = [big]
    for size in (0, 1, 64, 65, 1023, 1024, 1025, 8191, 1 << 20, (1 << 20) + 1, 3 << 20, (7 << 20) + 5):
        files.append(f"{folder}/{size}")
        inputs.write_file(files[-1], size, 0)
    for file in files:
        wanted = subprocess.run(["b3sum", file], stdout=subprocess.PIPE, check=True).stdout.split()[0]
        for way in ("read", "huge", "map"):
            found = subprocess.run([TREE, way, "2", file], stdout=subprocess.PIPE, check=True).stdout.split()[0]
            if found != wanted:
                sys.exit(f"the trial's digest of {file} is wrong")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the measurement.")
    parser.add_argument("part", choices=["warm", "curves", "floor", "tree", "report"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", action="store_true", help="real-time priority, resting as long as it runs")
    options = parser.parse_args()
    machine.rests = options.first
    if options.part != "report":
        subprocess.run(["make", "--silent", "-C", HERE, "all", "libraries"], check=True)
        if options.first and not machine.put_first():
            print("only root may put the benchmark first; it is not", file=sys.stderr)
    if options.part == "warm":
        warm(options.seconds)
    elif options.part == "curves":
        curves(options.seconds)
    elif options.part == "floor":
        floor(options.seconds)
    elif options.part == "tree":
        tree(options.seconds)
    else:
        print(report.everything(RESULTS))
        report.plots(RESULTS, os.path.normpath(f"{HERE}/../../docs/results"))


if __name__ == "__main__":
    main()
