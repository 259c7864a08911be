"""Mutants of C: one after the other in a copy, each compiled alone first."""

import subprocess

from modules import C_FLAGS, C_TREE, ROOT
from playing import judge, synchronise, write

COPIED = ["CSources", "Tests", "Benchmarks/probe-files", ".ci"]


def prepare():
    synchronise(C_TREE, COPIED)


def flags(folder):
    names = ["CSources/ProofCore/include", "CSources/ProofKey/include", "CSources/ProofProbe/include",
             "CSources/ProofDevice/include", folder, f"{folder}/include"]
    return ["-std=c11", *C_FLAGS.split(), "-O0", *(f"-I{C_TREE / name}" for name in names)]


def compile_one(folder, name):
    """Whether the file, or the first that includes this header, compiles."""
    path = C_TREE / name
    if path.suffix == ".h":
        users = [source for source in sorted((C_TREE / folder).glob("*.c")) if f'{path.name}"' in source.read_text()]
        path = users[0] if users else None
    if path is None:
        return True
    packages = {"CSources/CCurl": "libcurl", "CSources/CCrypto": "libcrypto",
                "CSources/CMicroHTTPD": "libmicrohttpd gnutls"}.get(folder, "libsodium")
    more = subprocess.run(["pkg-config", "--cflags", *packages.split()], capture_output=True, text=True).stdout.split()
    return subprocess.run(["gcc", *flags(folder), *more, "-c", "-o", "/dev/null", path],
                          capture_output=True).returncode == 0


def compiles(folder, mutant):
    name = mutant.source.name
    try:
        write(C_TREE / name, mutant.source.edited(mutant.edits))
        return compile_one(folder, name)
    finally:
        write(C_TREE / name, (ROOT / name).read_bytes())


def run(mutant, names):
    path = C_TREE / mutant.source.name
    try:
        write(path, mutant.source.edited(mutant.edits))
        return judge(names)
    finally:
        write(path, (ROOT / mutant.source.name).read_bytes())
