#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Runs every command and compiles every code sample of README.md, of the pages below docs and of the DocC catalogues.

    run.py           all pages
    run.py PAGE…     these

A fenced block is judged by its language:
  sh       run by `bash -euo pipefail` in the repository's root
  c        a program is compiled as C11 with all warnings, linked with the core, and run; with key and probe as well
           if it includes ProofProbe.h; anything else is compiled as a piece of a program that has included ProofCore.h
  swift    compiled, as a package that depends on this one, and run
Blocks of other languages are not code (`text`, `json`, …), but a shell by another name is refused.

A comment in the line before the fence changes that:
  <!-- continues -->            the block goes on where the page's last block of this language ended
  <!-- in a function -->        a C or Swift block that is statements
  <!-- in a function of A: B, C: D -->   the same in Swift, with these parameters; it may throw and wait
  <!-- not run: REASON -->      neither run nor compiled; REASON says who does it instead, or why it cannot be run
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
OUT = ROOT / ".build" / "readme"

FENCE = re.compile(r"^( *)```(\w*)\s*$")
# Another kind of fence, taken for text, would hide the page's other blocks.
OTHER_FENCE = re.compile(r"^\s*(```|~~~)")
COMMENT = re.compile(r"^ *<!-- (continues|in a function(?: of \w+: .+)?|not run: \S.*) -->$")
FUNCTION = re.compile(r"in a function(?: of (.+))?$")
JUDGED = ("sh", "c", "swift")
REFUSED = ("bash", "shell", "zsh", "console", "cpp", "objc")


class Block:
    def __init__(self, page, line, language):
        self.page, self.line, self.language = page, line, language
        self.comment, self.lines = None, []

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def blocks_of(name, text):
    """The page's judged blocks, continuations joined; raises ValueError where the page breaks the convention."""
    blocks, inside, previous = [], None, ""
    for number, line in enumerate(text.split("\n"), 1):
        fence = FENCE.match(line)
        if inside is not None:
            if fence and not fence.group(2) and fence.group(1) == inside.indent:
                blocks.append(inside)
                inside = None
            else:
                inside.lines.append(line.removeprefix(inside.indent))
        elif fence:
            inside = Block(name, number, fence.group(2))
            inside.indent = fence.group(1)
            comment = COMMENT.match(previous)
            inside.comment = comment.group(1) if comment else None
            if inside.language in REFUSED:
                raise ValueError(f"{inside.place}: a block of `{inside.language}`; say sh, c or swift")
        elif OTHER_FENCE.match(line):
            raise ValueError(f"{name}:{number}: a fence that is not read: begin a block with ``` and one word")
        previous = line
    if inside is not None:
        raise ValueError(f"{inside.place}: the block has no end")

    joined = []
    for block in blocks:
        if block.language not in JUDGED or (block.comment or "").startswith("not run: "):
            continue
        if block.comment == "continues":
            earlier = [other for other in joined if other.language == block.language]
            if not earlier:
                raise ValueError(f"{block.place}: continues nothing")
            earlier[-1].lines += block.lines
        else:
            joined.append(block)
    return joined


def started(command, **options):
    """None if the command succeeds, else what it said."""
    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, cwd=ROOT, **options)
    return None if result.returncode == 0 else result.stdout or f"exit status {result.returncode}"


def run_shell(block):
    # A person's shell has no variables of the make that started this.
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKE", "PART")}
    return started(["bash", "-euo", "pipefail", "-c", block.text], env=environment)


def c_flags():
    """{library: what pkg-config says}, as it would to a program outside this repository."""
    subprocess.run(["make", "--no-print-directory", "-s", "-C", str(ROOT / "CSources")], check=True,
                   stdout=subprocess.DEVNULL)
    environment = dict(os.environ, PKG_CONFIG_PATH=str(ROOT / ".build" / "core"))
    said = {libraries: subprocess.run(["pkg-config", "--cflags", "--libs", *libraries.split()], check=True,
                                      env=environment, capture_output=True, text=True).stdout.split()
            for libraries in ("proofcore", "proofprobe proofkey")}
    return {"core": said["proofcore"],
            "probe": said["proofprobe proofkey"] + [f"-Wl,-rpath,{ROOT / '.build' / 'core'}"]}


def run_c(block, number, flags):
    source, program = OUT / f"block{number}.c", OUT / f"block{number}"
    is_program = re.search(r"\bint main\(", block.text)
    flags = flags["probe" if "#include <ProofProbe.h>" in block.text else "core"]
    text = block.text
    if not is_program:
        if block.comment == "in a function":
            text = "void sample(void);\nvoid sample(void) {\n" + text + "}\n"
        text = "#include <ProofCore.h>\n#include <string.h>\n" + text
    source.write_text(text)
    compiler = ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", program]
    if not is_program:
        return started(compiler + ["-c", "-Wno-unused"] + flags)
    return started(compiler + flags) or started([program])


def swift_text(block):
    """The block as a source file: statements become the body of a function, after the imports."""
    function = FUNCTION.match(block.comment or "")
    if not function:
        return block.text
    imports = [line for line in block.lines if line.startswith("import ")]
    body = [line for line in block.lines if line not in imports]
    return "\n".join(imports + ["", f"func sample({function.group(1) or ''}) async throws {{", *body, "}"]) + "\n"


def run_swift(blocks):
    """{block: None or what went wrong}; one package for all, so that the library is built once."""
    package = OUT / "swift"
    libraries = re.findall(r'\.library\(name: "(\w+)"', (ROOT / "Package.swift").read_text())
    tools = (ROOT / "Package.swift").read_text().split("\n", 1)[0]
    shutil.rmtree(package / "Sources", ignore_errors=True)
    targets = []
    for number, block in enumerate(blocks):
        folder = package / "Sources" / f"Sample{number}"
        folder.mkdir(parents=True)
        (folder / "main.swift").write_text(swift_text(block))
        imports = [name for name in re.findall(r"^import (\w+)", block.text, re.MULTILINE) if name in libraries]
        needs = ", ".join(f'.product(name: "{name}", package: "{ROOT.name.lower()}")' for name in imports)
        targets.append(f'    .executableTarget(name: "Sample{number}", dependencies: [{needs}]),\n')
    (package / "Package.swift").write_text(
        f'{tools}\nimport PackageDescription\n\nlet package = Package(\n  name: "Samples",\n'
        f'  dependencies: [.package(path: "../../..")],\n  targets: [\n{"".join(targets)}  ],\n'
        '  swiftLanguageModes: [.v6])\n')
    # All at once is quicker; one by one tells which of them does not compile.
    build = ["swift", "build", "--quiet", "--package-path", package]
    are_good = started(build) is None
    verdicts = {}
    for number, block in enumerate(blocks):
        verdicts[block] = ((None if are_good else started(build + ["--product", f"Sample{number}"]))
                           or started(["swift", "run", "--quiet", "--skip-build", "--package-path", package,
                                       f"Sample{number}"]))
    return verdicts


def main(arguments):
    OUT.mkdir(parents=True, exist_ok=True)
    pages = [pathlib.Path(argument).resolve() for argument in arguments] or [
        ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("Sources/*/*.docc/**/*.md"))]
    blocks, passed, failed = [], 0, 0
    for page in pages:
        name = page.relative_to(ROOT) if page.is_relative_to(ROOT) else page
        try:
            blocks += blocks_of(str(name), page.read_text())
        except ValueError as error:
            failed += 1
            print(f"readme: {error}")
    flags = c_flags() if any(block.language == "c" for block in blocks) else {}
    swift = [block for block in blocks if block.language == "swift"]
    verdicts = run_swift(swift) if swift else {}
    for number, block in enumerate(blocks):
        if block.language == "sh":
            fault = run_shell(block)
        elif block.language == "c":
            fault = run_c(block, number, flags)
        else:
            fault = verdicts[block]
        print(f"{'failed' if fault else 'ok':8}{block.place} ({block.language})")
        if fault:
            failed += 1
            print(fault.rstrip())
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
