#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Finds circles among the C sources of one library.

    circles.py           builds the C libraries and the simulated hardware, and judges each folder of CSources
    circles.py FOLDER    judges the objects and headers of this folder as if they were one library's

Rules, one check for each library and rule:
  calls     No two objects of a library need each other, directly or by others. An object needs another if it asks for
            a symbol that the other one defines: a function, a table.
  includes  No header includes itself by others.
  folders   No two folders of a library need each other, by calls and includes, directly or by other folders.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / ".build" / "core"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def circles(graph):
    """The groups of two and more names that reach one another, by Tarjan's algorithm."""
    number, lowest, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = lowest[name] = len(number)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in number:
                visit(other)
                lowest[name] = min(lowest[name], lowest[other])
            elif other in stack:
                lowest[name] = min(lowest[name], number[other])
        if lowest[name] == number[name]:
            group = stack[stack.index(name):]
            del stack[stack.index(name):]
            if len(group) > 1 or name in graph[name]:
                found.append(sorted(group))

    for name in sorted(graph):
        if name not in number:
            visit(name)
    return found


def calls(objects):
    """{object: {object: a symbol of it}} of objects by their names"""
    defined, asked = {}, {}
    for name, path in objects.items():
        listing = subprocess.run(["nm", "-P", "-g", str(path)], check=True, capture_output=True, text=True).stdout
        asked[name] = set()
        for line in listing.splitlines():
            symbol, kind = line.split()[:2]
            if kind in "Uvw":
                asked[name].add(symbol)
            else:
                defined[symbol] = name
    graph = {name: {} for name in asked}
    for name, symbols in asked.items():
        for symbol in sorted(symbols):
            if defined.get(symbol, name) != name:
                graph[name].setdefault(defined[symbol], symbol)
    return graph


def includes(sources, headers):
    """{source: {header: its name in the directive}} of files by their names. A quoted name is looked for in the
    file's own folder, then in the library's, then in its `include`.
    """
    graph = {}
    for name, path in sources.items():
        graph[name] = {}
        for text in INCLUDE.findall(path.read_text()):
            places = (pathlib.PurePath(name).parent, pathlib.PurePath(), pathlib.PurePath("include"))
            found = next((str(place / text) for place in places if str(place / text) in headers), None)
            if found is not None:
                graph[name][found] = text
    return graph


def folders(*graphs):
    """The graph of the files' folders. Public headers stand in `include`: every folder may include them, and what they
    include is public too."""
    def folder(name):
        return str(pathlib.PurePath(name).parent)

    found = {}
    for graph in graphs:
        for name, others in graph.items():
            needs = found.setdefault(folder(name), {})
            for other, way in others.items():
                found.setdefault(folder(other), {})
                if folder(other) not in (folder(name), "include"):
                    needs.setdefault(folder(other), f"{pathlib.PurePath(name).name}: {way}")
    return found


def judge(name, rule, graph):
    """Prints the circles; whether there is none."""
    found = circles(graph)
    for group in found:
        ways = [f"{one} -> {other} ({by})" for one in group for other, by in sorted(graph[one].items())
                if other in group]
        print(f"circles: {name}: {rule}: {', '.join(ways)}")
    return not found


def named(folder, paths):
    """The paths by their names in a folder."""
    return {str(path.relative_to(folder)): path for path in paths}


def libraries():
    """(name, folder, objects by their sources' names) of each library; only those that CSources/Makefile builds have
    objects."""
    subprocess.run(["make", "--no-print-directory", "-s", "-C", str(ROOT / "CSources"), f"BUILD={BUILD}"],
                   check=True, stdout=subprocess.DEVNULL)
    for folder in sorted(path for path in (ROOT / "CSources").iterdir() if path.is_dir()):
        built = BUILD / "objects" / "CSources" / folder.name
        # An object may be left of a source that is gone.
        yield folder.name, folder, {name: path for name in named(folder, folder.rglob("*.c"))
                                    if (path := (built / name).with_suffix(".o")).exists()}


def main(arguments):
    given = [(folder.name, folder, {f"{name[:-2]}.c": path
                                    for name, path in named(folder, folder.rglob("*.o")).items()})
             for folder in map(pathlib.Path, arguments)]
    verdicts = []
    for name, folder, objects in given or libraries():
        headers = named(folder, folder.rglob("*.h"))
        called = calls(objects)
        if objects:
            verdicts.append(judge(name, "calls", called))
        verdicts.append(judge(name, "includes", includes(headers, headers)))
        # A library of one folder has nothing to judge here.
        if len({pathlib.PurePath(file).parent for file in objects}) > 1:
            sources = headers | named(folder, folder.rglob("*.c"))
            verdicts.append(judge(name, "folders", folders(called, includes(sources, headers))))
    print(f"{sum(verdicts)} passed, {len(verdicts) - sum(verdicts)} failed")
    return 0 if verdicts and all(verdicts) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        print(f"circles: failed: {' '.join(map(str, error.cmd))}")
        print("0 passed, 1 failed")
        sys.exit(1)
