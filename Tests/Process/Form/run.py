#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Form, judged by tools where there is one and by a few plain rules; one check for each file and rule.

Swift by `swift format`, shell by shellcheck, Python by pyflakes; C, shell and Python keep to 120 columns without tabs;
no line of anything ends in a space, and no file names a path of one machine. Comments and pages begin with a subject or
a verb (prose.py). A source file names its licence (licence.py).
"""

import pathlib
import re
import subprocess
import sys

import licence
import prose

ROOT = pathlib.Path(__file__).resolve().parents[3]
COLUMNS = 120

# Such a path works nowhere else, and says where it was made.
ONE_MACHINE = re.compile(r"(?<![A-Za-z0-9_.$}])/(home|root|work|Users|opt/swift|tmp/[a-z]+)/")


def tracked():
    """Every file git has or would take, with its text; files that are not text are left out."""
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in sorted(filter(None, listing.split("\0"))):
        path = ROOT / name
        if not path.is_file():
            continue
        try:
            yield name, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def language(name, text):
    suffix = pathlib.Path(name).suffix
    if suffix in (".c", ".h"):
        return "c"
    if suffix == ".swift":
        return "swift"
    first = text.split("\n", 1)[0]
    if suffix == ".py" or (first.startswith("#!") and "python3" in first):
        return "python"
    if suffix == ".sh" or (first.startswith("#!") and re.search(r"\b(ba)?sh\b", first)):
        return "shell"
    if pathlib.Path(name).name == "Makefile":
        return "make"
    return "text"


TOOLS = {
    "swift": ["swift", "format", "lint", "--strict"],
    # SC2016: single quotes keep text for sed, awk and apt from the shell on purpose.
    "shell": ["shellcheck", "--external-sources", "--severity=warning", "--exclude=SC2016"],
    "python": ["pyflakes3"],
}


def findings_of(name, text, kind):
    """Yields for each rule that applies: a list of findings, empty when the rule holds."""
    lines = text.split("\n")
    if kind in TOOLS:
        tool = subprocess.run(TOOLS[kind] + [name], cwd=ROOT, capture_output=True, text=True)
        yield [] if tool.returncode == 0 else [(tool.stdout + tool.stderr).strip() or f"{name}: {TOOLS[kind][0]}"]
    if kind in ("c", "shell", "python"):
        yield [f"{name}:{n}: more than {COLUMNS} columns" for n, line in enumerate(lines, 1) if len(line) > COLUMNS]
        yield [f"{name}:{n}: a tab" for n, line in enumerate(lines, 1) if "\t" in line]
    # Vectors and corpora come from elsewhere, byte for byte.
    if kind != "text" or name.endswith(".md"):
        yield [f"{name}:{n}: space at the end" for n, line in enumerate(lines, 1) if line.endswith((" ", "\t", "\r"))]
        yield [] if text.endswith("\n") or not text else [f"{name}: no newline at the end"]
    if licence.line(name, text) is not None:
        yield licence.findings(name, text)
    if prose.covers(name, kind):
        yield list(prose.findings(name, text, kind))
    yield [f"{name}:{n}: a path of one machine" for n, line in enumerate(lines, 1) if ONE_MACHINE.search(line)]


def main():
    passed = failed = 0
    for name, text in tracked():
        for findings in findings_of(name, text, language(name, text)):
            if findings:
                failed += 1
                print("\n".join(findings))
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
