#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Bounds the core's stack: from what the compilers say about it, and from what it really takes.

    stack.py                   builds the core with gcc and clang, and judges both
    stack.py --report          the same, and writes docs/results/stack.md (needs what make check PART=foreign needs)
    stack.py DIRECTORY         judges the .su and .ci files below DIRECTORY as if they were the core's
    stack.py --peak COMMAND…   judges what this build of stack_peak.c, perhaps under an emulator, says

gcc and clang tell each function's frame (-fstack-usage); gcc also tells who calls whom (-fcallgraph-info).
  frame     no function takes more than FRAME_MAX bytes
  fixed     no frame's size depends on data
  acyclic   no function calls itself, directly or not
  chain     no chain of calls within the core takes more than CHAIN_MAX bytes
  peak      no operation of the hardware takes more than PEAK_MAX bytes, libsodium included; measured by
            Tests/Process/House/stack_peak.c on a painted stack
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
REPORT = ROOT / "docs" / "results" / "stack.md"

FRAME_MAX = 1024
CHAIN_MAX = 2048
# Mostly libsodium's Ed25519, and that differs with the processor's instruction set.
PEAK_MAX = 6144

NODE = re.compile(r'node: { title: "([^"]+)" label: "([^"]*)"')
EDGE = re.compile(r'edge: { sourcename: "([^"]+)" targetname: "([^"]+)"')
BYTES = re.compile(r"(\d+) bytes \(([a-z,]+)\)")


def frames_below(directory):
    """{function: (bytes, kind)} of all .su files. The largest of namesakes counts."""
    frames = {}
    for path in sorted(directory.rglob("*.su")):
        for line in path.read_text().splitlines():
            place, size, kind = line.split("\t")
            name = f"{path.stem}:{place.rsplit(':', 1)[1]}"
            if name not in frames or int(size) > frames[name][0]:
                frames[name] = (int(size), kind)
    return frames


def calls_below(directory):
    """({function: bytes}, {function: {functions it calls}}) of all .ci files."""
    sizes, calls = {}, {}
    for path in sorted(directory.rglob("*.ci")):
        text = path.read_text()
        for title, label in NODE.findall(text):
            size = BYTES.search(label)
            if size:
                sizes[title] = int(size.group(1))
                calls.setdefault(title, set())
        for source, target in EDGE.findall(text):
            calls.setdefault(source, set()).add(target)
    return sizes, calls


def deepest_chains(sizes, calls):
    """({function: (bytes, chain)}, cycle or None)."""
    deepest, on_path = {}, []

    def walk(function):
        if function in deepest:
            return None
        if function in on_path:
            return on_path[on_path.index(function):] + [function]
        on_path.append(function)
        best = (0, [])
        for callee in sorted(calls.get(function, ())):
            if callee not in sizes:
                continue  # libsodium, memcpy, a callback
            cycle = walk(callee)
            if cycle:
                return cycle
            best = max(best, deepest[callee], key=lambda pair: pair[0])
        on_path.pop()
        deepest[function] = (sizes[function] + best[0], [function] + best[1])
        return None

    for function in sorted(sizes):
        cycle = walk(function)
        if cycle:
            return deepest, cycle
    return deepest, None


def short(title):
    return title.rsplit(":", 1)[-1]


def judge(name, directory):
    """Returns (passed, findings, frames, deepest)."""
    frames = frames_below(directory)
    if not frames:
        return 0, [f"{name}: no .su files"], {}, {}
    passed, findings = 0, []
    for function, (size, kind) in sorted(frames.items()):
        fault = None
        if size > FRAME_MAX:
            fault = f"{function} takes {size} bytes of stack; at most {FRAME_MAX} are allowed"
        # "dynamic,bounded" is a frame that pushes arguments: it varies, within the size told.
        elif kind not in ("static", "dynamic,bounded"):
            fault = f"{function} has a stack frame whose size depends on data"
        if fault:
            findings.append(f"{name}: {fault}")
        else:
            passed += 1
    sizes, calls = calls_below(directory)
    deepest, cycle = deepest_chains(sizes, calls)
    if sizes:
        if cycle:
            findings.append(f"{name}: recursion: {' → '.join(short(title) for title in cycle)}")
        else:
            passed += 1
        too_deep = [(size, chain) for size, chain in deepest.values() if size > CHAIN_MAX]
        if too_deep:
            size, chain = max(too_deep, key=lambda pair: pair[0])
            findings.append(f"{name}: {' → '.join(short(title) for title in chain)} takes {size} bytes of stack;"
                            f" at most {CHAIN_MAX} are allowed")
        else:
            passed += 1
    return passed, findings, frames, deepest


def peaks_of(command):
    """{operation: bytes}, as the program says."""
    said = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    return {name: int(size) for size, name in (line.split(" ", 1) for line in said.splitlines())}


def judge_peaks(name, peaks):
    """Returns (passed, findings)."""
    if not peaks:
        return 0, [f"{name}: no operation was measured"]
    findings = [f"{name}: {operation} takes {size} bytes of stack; at most {PEAK_MAX} are allowed"
                for operation, size in peaks.items() if size > PEAK_MAX]
    return len(peaks) - len(findings), findings


def make_core(directory, targets, **variables):
    subprocess.run(
        ["make", "--no-print-directory", "-s", "-C", str(ROOT / "CSources"), f"BUILD={directory}",
         *(f"{name}={value}" for name, value in variables.items()), *targets],
        check=True, stdout=subprocess.DEVNULL)


def arm_peaks():
    """Peaks that `make check PART=foreign` measures, for the report."""
    place = ROOT / ".build" / "foreign" / "armhf"
    root = place / "sysroot" / "root"
    subprocess.run([str(ROOT / "Tests" / "Process" / "Foreign" / "sysroot"), "armhf", str(root.parent)], check=True)
    make_core(place / "build" / "core", ["stack-peak"], CROSS="arm-linux-gnueabihf-", SYSROOT=root)
    return peaks_of(["qemu-arm", "-L", root, place / "build" / "core" / "stack-peak"])


def public_functions():
    """Functions that the headers declare."""
    headers = (ROOT / "CSources" / "ProofCore" / "include").glob("*.h")
    return set(re.findall(r"\b(pfc_\w+)\(", "\n".join(header.read_text() for header in headers)))


def report(frames, deepest, peaks):
    """Peaks, the deepest chains that begin at a public function, and the largest frames, as a page."""
    arm = arm_peaks()
    lines = [
        "# Stack of the C core", "",
        "Written by `Tests/Process/Objects/stack.py --report`; `make check PART=stack` and `make check PART=foreign` "
        "assert the bounds at every change. All figures are bytes, of", "builds at `-O2`.", "",
        "## Stack of the hardware's operations", "",
        f"Measured on a painted stack, libsodium included. Bound: {PEAK_MAX}.", "",
        "| operation | amd64 | 32-bit Arm |", "|---|---:|---:|"]
    lines += [f"| {operation} | {peaks[operation]} | {arm[operation]} |" for operation in peaks]
    lines += [
        "", "## Deepest chains of calls", "",
        f"The core's own frames as gcc states them for amd64; libsodium and callbacks come on top. Bound: {CHAIN_MAX}. "
        "There is no recursion.", "", "| public function | bytes | chain |", "|---|---:|---|"]
    public = public_functions()
    ranked = sorted(((size, chain) for title, (size, chain) in deepest.items() if title in public),
                    key=lambda pair: (-pair[0], pair[1]))
    for size, chain in ranked[:10]:
        lines.append(f"| `{chain[0]}` | {size} | {' → '.join(short(title) for title in chain[1:]) or '–'} |")
    lines += ["", "## Largest frames", "",
              f"A dash: that compiler inlined or split the function. Bound: {FRAME_MAX}. No frame's size depends on "
              "data.", "", "| function | gcc | clang |", "|---|---:|---:|"]
    names = sorted(set().union(*frames.values()))
    ranked = sorted(names, key=lambda name: (-max(frames[c].get(name, (0,))[0] for c in frames), name))
    for name in ranked[:10]:
        cells = [str(frames[compiler][name][0]) if name in frames[compiler] else "–" for compiler in frames]
        lines.append(f"| `{short(name)}` | {' | '.join(cells)} |")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text("\n".join(lines) + "\n")


def judge_builds():
    """Builds with both compilers; returns (passed, findings, frames, deepest, peaks)."""
    place = ROOT / ".build" / "stack"
    make_core(place / "gcc", ["objects", "stack-peak"], CC="gcc", CFLAGS="-O2 -fcallgraph-info=su,da")
    make_core(place / "clang", ["objects", "stack-peak"], CC="clang", CFLAGS="-O2")
    core = pathlib.Path("objects") / "CSources"
    passed, findings, frames, deepest, peaks = 0, [], {}, {}, {}
    for compiler in ("clang", "gcc"):
        good, found, frames[compiler], deepest = judge(compiler, place / compiler / core)
        if compiler == "gcc" and not deepest:
            found.append("gcc: no .ci files, so no chain was looked at")
        peaks = peaks_of([place / compiler / "stack-peak"])
        more, found_too = judge_peaks(compiler, peaks)
        passed += good + more
        findings += found + found_too
    return passed, findings, {name: frames[name] for name in ("gcc", "clang")}, deepest, peaks


def main(arguments):
    if arguments[:1] == ["--peak"]:
        passed, findings = judge_peaks(pathlib.Path(arguments[1]).name, peaks_of(arguments[1:]))
    elif arguments and arguments != ["--report"]:
        passed, findings, _, _ = judge(arguments[0], pathlib.Path(arguments[0]))
    else:
        passed, findings, frames, deepest, peaks = judge_builds()
        if arguments:
            report(frames, deepest, peaks)
            print(f"stack: wrote {REPORT.relative_to(ROOT)}")
    for finding in findings:
        print(f"stack: {finding}")
    print(f"{passed} passed, {len(findings)} failed")
    return 1 if findings else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        print(f"stack: failed: {' '.join(error.cmd)}")
        print("0 passed, 1 failed")
        sys.exit(1)
