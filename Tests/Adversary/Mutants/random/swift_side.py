# SPDX-License-Identifier: Apache-2.0

"""Mutants of Swift: one build has all of them, and an environment variable chooses one. What has no such form, and the
C that only Swift tests reach, is built alone."""

import collections
import hashlib
import json
import re
import subprocess
import sys

from modules import ALONE, FOLDER, ROOT, TREE
from playing import judge, patience, synchronise, write

COPIED = ["Sources", "CSources", "Tests", "Benchmarks", "docs", "README.md", "Package.swift", ".ci"]
BEGUN = FOLDER / "begun"  # The state of the tree that its modules were built from
CHOICE = """// The mutant that this process is.
internal import Glibc

let chosenMutant: Int = {
  guard let text = unsafe getenv("MUTANT_CHOSEN") else { return 0 }
  return unsafe Int(String(cString: text)) ?? 0
}()
// Where the numbers that this process comes to are noted.
let touchedMutants: Int32 = {
  guard let path = unsafe getenv("MUTANT_TOUCHED") else { return -1 }
  return unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
}()
// A race of two threads notes a number twice.
nonisolated(unsafe) let notedMutants = UnsafeMutablePointer<UInt8>.allocate(capacity: 8_192)
let clearedMutants: Void = unsafe notedMutants.initialize(repeating: 0, count: 8_192)
@inline(never) func isMutant(_ number: Int) -> Bool {
  if touchedMutants >= 0 {
    _ = clearedMutants
    if unsafe notedMutants[number] == 0 {
      unsafe notedMutants[number] = 1
      let line = Array("\\(number)\\n".utf8)
      _ = unsafe line.withUnsafeBytes { unsafe write(touchedMutants, $0.baseAddress, $0.count) }
    }
  }
  return chosenMutant == number
}
"""
# In these the form that asks compiles whenever the plain one does.
SAME_IN_BOTH = ("statement removed", "branch removed", "arguments swapped", "return value replaced")


def build(*what):
    done = subprocess.run(["swift", "build", *(what or ("--build-tests",))], cwd=TREE, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def begin():
    """Builds the modules without mutants, once for each state of the tree: one is compiled against the others."""
    digest = hashlib.sha256()
    for path in sorted(path for name in ("Sources", "CSources") for path in (ROOT / name).rglob("*.[chms]*")):
        digest.update(path.read_bytes() if path.is_file() else b"")
    digest.update((ROOT / "Package.swift").read_bytes())
    if BEGUN.exists() and BEGUN.read_text() == digest.hexdigest():
        return
    synchronise(TREE, COPIED)
    status, output = build("--quiet")
    if status:
        sys.exit(f"mutants: without any mutant this does not compile:\n{output[-3000:]}")
    BEGUN.write_text(digest.hexdigest())


def mark(number):
    """A character that an operator's name can have."""
    return chr(0x2200 + number)


def choosing(mutants):
    """The files of a build with these mutants, by name: {number: mutant}."""
    by_file = collections.defaultdict(list)
    by_module = collections.defaultdict(str)
    for number, mutant in mutants.items():
        def numbered(text):
            return text.replace("NUMBER", str(number)).replace("MARK", mark(number))
        by_file[mutant.source].append([(start, end, numbered(new)) for start, end, new in mutant.choice])
        module = "/".join(mutant.source.name.split("/")[:2])
        by_module[module] += numbered(mutant.declares) if mutant.declares else ""
    texts = {source.name: source.edited([edit for edits in all_edits for edit in edits])
             for source, all_edits in by_file.items()}
    return texts | {f"{module}/MutantChoice.swift": CHOICE + more for module, more in by_module.items()}


def overlap(one, two):
    return one.source is two.source and any(
        a[0] <= b[1] and b[0] <= a[1] for a in one.choice for b in two.choice)


def place(texts):
    """The copy is the tree with these files changed."""
    for module in (TREE / "Sources").iterdir():
        choice = module / "MutantChoice.swift"
        if choice.exists() and str(choice.relative_to(TREE)) not in texts:
            choice.unlink()
    for name in {path.relative_to(TREE).as_posix() for path in (TREE / "Sources").rglob("*.swift")} - set(texts):
        if (ROOT / name).exists():
            write(TREE / name, (ROOT / name).read_bytes())
    for name, text in texts.items():
        write(TREE / name, text)


def errors_of(module):
    """Errors of the compiler in this module as it stands in the copy: (file, line)."""
    description = json.loads(next((TREE / ".build").glob("*/debug/description.json")).read_text())
    command = next(c for c in description["swiftCommands"].values() if c["moduleName"] == module.replace("-", "_"))
    arguments = iter(command["otherArguments"])
    kept = []
    for word in arguments:
        if word == "-Xcc":
            kept += [word, next(arguments)]
        elif word in ("-index-store-path", "-emit-objc-header-path"):
            next(arguments)
        elif word not in ("-incremental", "-enable-batch-mode", "-serialize-diagnostics", "-parseable-output",
                          "-emit-objc-header", "-g", "-j2"):
            kept.append(word)
    files = sorted(str(path) for path in (TREE / "Sources" / module).rglob("*.swift"))
    # SwiftPM writes a source of its own for resources in code.
    files += sorted(map(str, (TREE / ".build").glob(f"*/debug/{module}.build/DerivedSources/*.swift")))
    done = subprocess.run([command["executable"], "-emit-sil", "-wmo", "-o", "/dev/null", "-module-name",
                           command["moduleName"], "-I", command["importPath"], *kept, *files],
                          cwd=TREE, capture_output=True, text=True)
    return located(done.stdout + done.stderr) if done.returncode else set()


def located(output):
    found = {(name.replace(f"{TREE}/", ""), int(line))
             for name, line in re.findall(r"^([^\s:]+\.swift):(\d+):\d+: error:", output, re.MULTILINE)}
    return found or sys.exit(f"mutants: the compiler fails with no line to blame:\n{output[-3000:]}")


def blamed(errors, mutants):
    """The numbers of the mutants on these lines; if none is, the nearest. Other lines fail because those do."""
    exact, near = set(), set()
    for name, line in errors:
        if name.endswith("MutantChoice.swift"):
            text = (TREE / name).read_text().splitlines()[line - 1]
            exact |= {number for number in mutants if mark(number) in text}
            continue
        here = {number: mutant for number, mutant in mutants.items() if mutant.source.name == name}
        if not here:
            continue

        def distance(number):
            lines = [here[number].source.line_of(at) for edit in here[number].choice for at in edit[:2]]
            return 0 if min(lines) <= line <= max(lines) else min(abs(line - near) for near in lines)
        closest = min(map(distance, here))
        numbers = {number for number in here if distance(number) == closest}
        if closest == 0:
            exact |= numbers
        near |= numbers
    return exact or near or sys.exit(f"mutants: these do not compile, and have no mutant: {sorted(errors)}")


def sort_out(drawn, redraw):
    """Redraws what does not compile. Leaves {number: mutant} of one build, and of those that are built alone."""
    begin()
    together, alone, compiled, unchecked = {}, {}, set(), dict(drawn)
    while unchecked:
        for number, mutant in unchecked.items():
            clash = (mutant.choice is None or mutant.source.name.startswith(ALONE)
                     or any(overlap(mutant, other) for other in together.values()))
            (alone if clash else together)[number] = mutant
        modules = {mutant.source.name.split("/")[1] for number, mutant in unchecked.items() if number in together}
        unchecked = {}
        place(choosing(together))
        for module in sorted(modules):
            while True:
                errors = errors_of(module)
                if not errors:
                    break
                new = blamed(errors, together)
                for number in new:
                    mutant = together.pop(number)
                    print(f"  {module}: number {number} has no form that asks ({mutant.operator})", flush=True)
                    if mutant.operator not in SAME_IN_BOTH:
                        alone[number] = mutant
                    else:
                        unchecked[number] = redraw(number)
                place(choosing(together))
        for number in sorted(set(alone) - compiled):
            mutant = alone[number]
            place({mutant.source.name: mutant.source.edited(mutant.edits)})
            if errors_of(mutant.source.name.split("/")[1]):
                del alone[number]
                unchecked[number] = redraw(number)
            else:
                compiled.add(number)
        # A mutant that became C is played elsewhere.
        unchecked = {number: mutant for number, mutant in unchecked.items() if mutant}
    return together, alone


def prepare(together):
    """The one build; the numbers that only the whole compiler refuses."""
    synchronise(TREE, [name for name in COPIED if name != "Sources"])
    place(choosing(together))
    status, output = build()
    build_preload()
    return blamed(located(output), together) if status else set()


def build_preload():
    """The library that the demonstration's attackers load. No package builds it: see the target `programs`."""
    subprocess.run(["cc", "-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-fPIC", "-shared", "-o",
                    TREE / ".build/debug/libDemoPreload.so", TREE / "Sources/proof-demo/Props/preload.c"], check=True)


def run_alone(mutant, names):
    name = mutant.source.name
    for stage in names:
        patience(stage)  # Played without the mutant if it never was.
    try:
        write(TREE / name, mutant.source.edited(mutant.edits))
        status, output = build()
        if status:
            return "refused", "build", next((line for line in output.splitlines() if "error:" in line), "")[:200]
        return judge(names)
    finally:
        write(TREE / name, (ROOT / name).read_bytes())
