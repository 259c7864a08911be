# SPDX-License-Identifier: Apache-2.0

"""Reads llvm-cov's export: a table, the lines nothing reaches, and a verdict for each source.

    judge.py [--report] [--broken=N] [--without-native=M] EXPORT.json

N is how many of the programs that the figures come from failed; each counts as a failure. M is how many sources were
built without the code for SHA-256 instructions, because this processor has none.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
REPORT = ROOT / "docs" / "results" / "coverage.md"
LINES_FLOOR = 95.0


def unreached(file):
    """The lines whose every region was never entered, as the segments of the export tell."""
    lines, count, has_count, at = {}, 0, False, 1
    for line, _, segment_count, segment_has_count, is_entry, is_gap in file["segments"]:
        for between in range(at + 1, line):
            if has_count:
                lines.setdefault(between, []).append(count)
        if has_count:
            lines.setdefault(line, []).append(count)
        if segment_has_count and is_entry and not is_gap:
            lines.setdefault(line, []).append(segment_count)
        count, has_count, at = segment_count, segment_has_count and not is_gap, line
    return sorted(line for line, counts in lines.items() if max(counts) == 0)


def row(name, summary):
    cells = [name]
    for kind in ("lines", "regions", "branches", "functions"):
        part = summary[kind]
        cells.append(f"{part['covered']} of {part['count']}" if part["count"] else "none")
        cells.append(f"{part['percent']:.1f} %" if part["count"] else "")
    return cells


def table(rows):
    head = ["source", "lines", "", "regions", "", "branches", "", "functions", ""]
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    def cell(text, i):
        return text.ljust(widths[i]) if i == 0 else text.rjust(widths[i])
    rule = ["-" * max(widths[i], 3) for i in range(len(head))]
    return ["| " + " | ".join(cell(text, i) for i, text in enumerate(line)) + " |" for line in [head, rule, *rows]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--broken", type=int, default=0)
    parser.add_argument("--without-native", type=int, default=0)
    parser.add_argument("export", type=pathlib.Path)
    options = parser.parse_args()
    export = json.loads(options.export.read_text(encoding="utf-8"))["data"][0]
    files = sorted(export["files"], key=lambda file: file["filename"])
    rows, passed, failed, gaps = [], 0, options.broken, []
    for file in files:
        path = pathlib.Path(file["filename"])
        rows.append(row(path.name, file["summary"]))
        if file["summary"]["lines"]["percent"] >= LINES_FLOOR:
            passed += 1
        else:
            failed += 1
        source = (ROOT / "CSources" / "ProofCore" / path.name).read_text(encoding="utf-8").split("\n")
        for line in unreached(file):
            if source[line - 1].strip(" }"):
                gaps.append((path.name, line, source[line - 1].strip()))
    rows.append(row("all", export["totals"]))
    print("\n".join(table(rows)))
    print("\nreached by nothing:")
    print("\n".join(f"  {name}:{line}: {text}" for name, line, text in gaps) or "  no line")
    if options.report:
        text = ["# Coverage of the core", "",
                "Coverage by the C tests (`Tests/Unit/ProofCoreTests`) and the fuzzers' committed corpora",
                "(`Tests/Adversary/Fuzz/corpus`) together, without a fuzzer running. `make check PART=coverage` fails",
                f"below {LINES_FLOOR:.0f} % of the lines of any source. Written by "
                "`Tests/Adversary/Coverage/run.sh --report`.",
                "", *table(rows), "",
                *([f"The code for SHA-256 instructions, in {options.without_native} sources, is not counted: the "
                   "processor of this run has none.", ""] if options.without_native else []),
                "## Lines that nothing reaches", ""]
        text += [f"- `{name}:{line}`: `{line_text}`" for name, line, line_text in gaps] or ["None."]
        REPORT.parent.mkdir(parents=True, exist_ok=True)
        REPORT.write_text("\n".join(text) + "\n", encoding="utf-8")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
