#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""A compiler that remembers: `compiler.py CACHE COMPILER ARGUMENT…`. Each C source is compiled once for its text, its
flags and all headers; a command with several sources compiles each, then links. Mutants change one file at a time."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys


def headers():
    """A digest of every header of the copy this is run in."""
    digest = hashlib.sha256()
    for folder in ("CSources", "Tests", "Benchmarks"):
        for path in sorted((pathlib.Path(os.environ["MUTANT_TREE"]) / folder).rglob("*.h")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def compile_one(cache, command, source, seen):
    """The object of this source."""
    key = hashlib.sha256("\0".join([*command, os.path.abspath(source), seen]).encode())
    key.update(pathlib.Path(source).read_bytes())
    made = cache / f"{key.hexdigest()}.o"
    if not made.exists():
        half = cache / f"{key.hexdigest()}.{os.getpid()}.o"
        done = subprocess.run([*command, "-c", source, "-o", half])
        if done.returncode != 0:
            sys.exit(done.returncode)
        half.rename(made)
    return made


def main():
    cache, compiler, words = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    sources = [word for word in words if word.endswith(".c")]
    if not sources or "-o" not in words or {"-shared", "-E", "-M", "-static"} & set(words):
        os.execvp(compiler, [compiler, *words])
    output = words[words.index("-o") + 1]
    rest = [word for word in words if word not in sources and word not in ("-o", output, "-c")]
    flags = [word for word in rest if not word.startswith(("-l", "-Wl,", "-fuse-ld", "-MMD", "-MP"))
             and not word.endswith((".o", ".a", ".so"))]
    cache.mkdir(parents=True, exist_ok=True)
    seen = headers()
    objects = [compile_one(cache, [compiler, *flags], source, seen) for source in sources]
    if "-c" in words:
        shutil.copyfile(objects[0], output)
        return 0
    # The linker looks into a library for what came before it.
    libraries = [word for word in rest if word.startswith("-l") or word.endswith((".o", ".a", ".so"))]
    return subprocess.run([compiler, *[word for word in rest if word not in libraries], *objects, *libraries,
                           "-o", output]).returncode


if __name__ == "__main__":
    sys.exit(main())
