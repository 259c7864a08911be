#!/usr/bin/env python3
"""Skips the instructions of the verdict path one by one, and expects that no refused command is done for it.

    run.py                    each instruction, at -O2
    run.py --long             each instruction and each adjacent pair, at -O2 and at -Os
    run.py --every            in every call of the hash's compression function, not in the first alone
    run.py --scenario NAME    one message only; may stand several times
    run.py --log FILE         also writes each survivor there: level, mode, message, address, step, place

A survivor is an attempt after which the device did the command, or told the app that it had. The last line counts the
walks (one message, one level, one mode) with and without survivors.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CORE = ROOT / "CSources" / "ProofCore"
TESTS = HERE.parent / "ProofCoreTests"
OUT = ROOT / ".build" / "faults"
CC = os.environ.get("CC", "cc")
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
WORLD = [TESTS / name for name in ("world.c", "flash.c", "forge.c", "harness.c")]
# The instruction's bytes are not shown, so that each line is one instruction.
LINE = re.compile(r"^ +([0-9a-f]+):\t(.*)$")
SYMBOL = re.compile(r"^([0-9a-f]+) <(.+)>:$")
COMPRESSION = re.compile(r"SHA256_Transform|sha256_transform", re.IGNORECASE)
COUNTS = ("attempts", "refused", "otherwise", "crashed", "endless", "opened", "told")


def build(level):
    folder = OUT / level
    folder.mkdir(parents=True, exist_ok=True)
    walker, target = folder / "walk", folder / "target"
    subprocess.run([CC, *WARNINGS, "-O2", "-D_GNU_SOURCE", "-o", walker, HERE / "walk.c"], check=True)
    # Static and at fixed addresses: libsodium and the C library are walked through as well.
    subprocess.run([CC, *WARNINGS, f"-{level}", "-g", "-static", "-no-pie", f"-I{CORE / 'include'}", f"-I{TESTS}",
                    "-o", target, HERE / "target.c", HERE / "device.c", HERE / "gadget.S", *WORLD,
                    *sorted(CORE.glob("*.c")), "-lsodium"], check=True)
    return walker, target


def disassemble(target, table):
    """Writes the table of instructions; returns the symbols, by address."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", target], check=True, capture_output=True,
                          text=True).stdout
    symbols, addresses, name = {}, [], ""
    for line in text.splitlines():
        if found := SYMBOL.match(line):
            name = found[2]
            symbols[int(found[1], 16)] = name
        elif found := LINE.match(line):
            addresses.append((int(found[1], 16), 1 if COMPRESSION.search(name) else 0))
    addresses.sort()
    with open(table, "w", encoding="ascii") as file:
        for (address, flags), (after, _) in zip(addresses, addresses[1:] + [(addresses[-1][0] + 1, 0)]):
            file.write(f"{address:x} {min(after - address, 15):x} {flags:x}\n")
    return symbols


def places(target, addresses):
    """Function and line of each address."""
    if not addresses:
        return {}
    lines = subprocess.run(["addr2line", "-s", "-f", "-e", target, *[f"{a:x}" for a in addresses]], check=True,
                           capture_output=True, text=True).stdout.split("\n")
    return {a: f"{lines[2 * i]} {lines[2 * i + 1].split(' ')[0]}" for i, a in enumerate(addresses)}


def walk(walker, target, table, symbols, mode, depth, scenario):
    by_name = {name: address for address, name in symbols.items()}
    done = subprocess.run([walker, table, *[f"{by_name[n]:x}" for n in ("walk_begin", "walk_end", "fault_gadget")],
                           mode, depth, target, scenario], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"faults: {scenario}: {done.stderr.strip()}")
    reached = [(int(a, 16), result, int(step)) for a, result, step in re.findall(
        r"^reached ([0-9a-f]+) (\w+) (\d+)$", done.stdout, re.MULTILINE)]
    counts = dict(zip(COUNTS, map(int, re.findall(r" (\d+)", done.stdout.splitlines()[-1]))))
    return counts, reached


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--scenario", action="append")
    parser.add_argument("--log")
    options = parser.parse_args()
    passed = failed = 0
    log = open(options.log, "w", encoding="ascii") if options.log else None
    for level in ("O2", "Os") if options.long else ("O2",):
        walker, target = build(level)
        table = OUT / level / "table"
        symbols = disassemble(target, table)
        scenarios = subprocess.run([target, "--list"], check=True, capture_output=True, text=True).stdout.split()
        for mode in ("single", "pair") if options.long else ("single",):
            total = dict.fromkeys(COUNTS, 0)
            for scenario in options.scenario or scenarios:
                counts, reached = walk(walker, target, table, symbols, mode, "every" if options.every else "once",
                                       scenario)
                for name in COUNTS:
                    total[name] += counts[name]
                print(f"{level} {mode:6} {scenario:20} " + " ".join(f"{n} {counts[n]}" for n in COUNTS), flush=True)
                where = places(target, sorted({address for address, _, _ in reached}))
                for address, result, step in reached:
                    line = f"{level} {mode} {scenario} {result} {address:x} {step} {where[address]}"
                    if log:
                        print(line, file=log, flush=True)
                    else:
                        print(f"  {line}")
                passed, failed = passed + (not reached), failed + bool(reached)
            print(f"{level} {mode:6} {'all':20} " + " ".join(f"{n} {total[n]}" for n in COUNTS), flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
