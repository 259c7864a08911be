# SPDX-License-Identifier: Apache-2.0

"""Reads the symbol graphs of the public API: no C declaration in them, and the probe uses every name.

usage: symbols.py PROBE_FOLDER SYMBOLS.json...
"""

import json
import pathlib
import re
import sys

# Members that a conformance adds and code does not call by name.
UNNAMED = {"==", "!=", "hash", "hashValue", "encode", "init", "self", "subscript", "<", "rawValue"}
C_NAMES = re.compile(r"\bpfc_|\bPFC_|ProofCore|CSodium|sodium_|Unsafe|OpaquePointer|CInt\b")


def declaration(symbol):
    return "".join(fragment["spelling"] for fragment in symbol.get("declarationFragments", []))


def main():
    probe = "\n".join(path.read_text() for path in sorted(pathlib.Path(sys.argv[1]).glob("*.swift")))
    words = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", probe))
    leaks = []
    unused = []
    count = 0
    for name in sys.argv[2:]:
        for symbol in json.loads(pathlib.Path(name).read_text())["symbols"]:
            count += 1
            title = ".".join(symbol["pathComponents"])
            text = declaration(symbol)
            identifiers = [f.get("preciseIdentifier", "") for f in symbol.get("declarationFragments", [])]
            if C_NAMES.search(text) or any(i.startswith("c:") for i in identifiers):
                leaks.append(f"{title}: {text}")
            base = re.split(r"[(]", symbol["pathComponents"][-1])[0]
            is_error_case = symbol["pathComponents"][0] in ("ProofError", "Verdict", "Advice", "RefusalDetail")
            if base not in words and base not in UNNAMED and not is_error_case:
                unused.append(title)
    for leak in leaks:
        print(f"leak: {leak}")
    for title in sorted(set(unused)):
        print(f"not in the probe: {title}")
    if count < 300:
        sys.exit(f"only {count} public symbols were found: the symbol graphs are not what they should be")
    if leaks:
        sys.exit("the public API leaks")
    if unused:
        sys.exit("the probe leaves something out")
    print(f"ok: {count} public symbols, no C among them, all in the probe")


main()
