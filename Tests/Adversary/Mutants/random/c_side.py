# SPDX-License-Identifier: Apache-2.0

"""Mutants of C: one after the other in a copy, each compiled alone first."""

import pathlib
import re
import shutil
import subprocess
import tempfile

from modules import C_FLAGS, C_TREE, FOLDER, ROOT, SODIUM
from playing import judge, patience, synchronise, write

HERE = pathlib.Path(__file__).resolve().parent
COPIED = ["CSources", "Tests", "Benchmarks/probe-files", ".ci", "docs"]


def prepare():
    synchronise(C_TREE, COPIED)
    for name in ("gcc", "clang"):
        command = f'"{HERE / "compiler.py"}" "{FOLDER / "objects"}" {name}'
        write(FOLDER / name, f'#!/bin/sh\nexec /usr/bin/python3 {command} "$@"\n')
        (FOLDER / name).chmod(0o755)


def flags(tree, folder):
    names = ["CSources/ProofCore/include", "CSources/ProofKey/include", "CSources/ProofProbe/include",
             "CSources/ProofDevice/include", folder, f"{folder}/include"]
    return ["-std=c11", *C_FLAGS.split(), "-O0", *(f"-I{tree / name}" for name in names)]


def compiler(tree, folder):
    """The compiler of a folder, with the flags that its sources need."""
    packages = {"CSources/CCurl": "libcurl", "CSources/CCrypto": "libcrypto",
                "CSources/CMicroHTTPD": "libmicrohttpd gnutls", "CSources/CTPM": "tss2-esys"}.get(folder, "libsodium")
    more = subprocess.run(["pkg-config", "--cflags", *packages.split()], capture_output=True, text=True).stdout.split()
    if folder == "CSources/ports":
        gcc, more = ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"], [
            "-DPFC_PROFILE=\"large.h\"", f"-I{tree / folder}/profiles", f"-I{tree / folder}/cortex-m3",
            *(f"-isystem{SODIUM}/src/libsodium/{name}" for name in ("", "include", "include/sodium"))]
    else:
        gcc = ["gcc"]
    return [*gcc, *flags(tree, folder), *more]


def compile_one(tree, folder, name):
    """Whether the file, or those of the folder if it is a header, compiles."""
    paths = sorted((tree / folder).rglob("*.c")) if name.endswith(".h") else [tree / name]
    # clang takes such a one for an error.
    command = [*compiler(tree, folder), "-Werror=discarded-qualifiers", "-fsyntax-only", *paths]
    return subprocess.run(command, capture_output=True).returncode == 0


CONDITION = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|elif|else|endif)\b")


def unseen(folder, path):
    """The lines of a file that the preprocessor leaves out: those of other processors and other systems."""
    done = subprocess.run([*compiler(ROOT, folder), "-E", "-dD", path], capture_output=True, text=True)
    if done.returncode != 0:  # A header that needs another one before it.
        return set()
    seen, name, number = set(), "", 0
    for line in done.stdout.splitlines():
        marker = re.match(r'# (\d+) "(.*?)"', line)
        if marker:
            number, name = int(marker.group(1)), marker.group(2)
            continue
        if line.strip() and name == str(path):
            seen.add(number)
        number += 1
    # A call of a macro may have all its lines in the first one: so whole branches are judged.
    left_out, branch = set(), set()
    for number, line in enumerate([*path.read_text().splitlines(), "#endif"], 1):
        if CONDITION.match(line):
            if not branch & seen:
                left_out |= branch
            branch = set()
        elif line.strip():
            branch.add(number)
    return left_out


def compiles(folder, mutant):
    """Judged in a copy of its own: tests may be playing in the other."""
    name = mutant.source.name
    with tempfile.TemporaryDirectory() as place:
        tree = pathlib.Path(place)
        shutil.copytree(ROOT / "CSources", tree / "CSources")
        (tree / name).write_text(mutant.source.edited(mutant.edits))
        return compile_one(tree, folder, name)


def forget_objects():
    for made in (C_TREE / ".build").rglob("*.o"):
        made.unlink()


def run(mutant, names):
    path = C_TREE / mutant.source.name
    noun = path.stem.split("_")[0]
    for stage in names:
        stage = stage.replace("of this noun", f"of {noun}")
        patience(stage)  # Played without the mutant if it never was.
        try:
            write(path, mutant.source.edited(mutant.edits))
            # make knows of no header, because no dependency file comes with a remembered object.
            if path.suffix == ".h":
                forget_objects()
            result = judge([stage])
        finally:
            write(path, (ROOT / mutant.source.name).read_bytes())
            if path.suffix == ".h":
                forget_objects()
        if result[0] != "survived":
            break
    return result
