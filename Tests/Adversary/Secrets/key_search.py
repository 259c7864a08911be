# SPDX-License-Identifier: Apache-2.0

"""Searches binaries and the memory of a process at rest for the measurement proof key and its HMAC midstates.

    key_search.py [--fresh N]

For the checked-in key: ProofKey's object and a program that uses it, from two compilers at every level, with and
without link-time optimisation; the Swift products in .build/release, if they are built; a core dump of a process that
has made proofs. Then all of it but Swift for N keys freshly made. Planted keys, in binary and in memory, and a key
whose tables are not volatile, must be found. Last, the factory secret: proof-hardware, provisioned with one, holds in
memory and flash what is derived from it, and the drawn bytes nowhere; no log has either.
"""

import argparse
import base64
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Tests" / name) for name in ("Support/Runner", "Vectors")]
from checks import Checks  # noqa: E402
from proofspec.basics import kdf  # noqa: E402

HERE = ROOT / "Tests" / "Adversary" / "Secrets"
CORE = ROOT / "CSources" / "ProofCore"
KEY = ROOT / "CSources" / "ProofKey"
BUILD = ROOT / ".build" / "secrets" / "key"
WINDOW = 8
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{CORE}/include", f"-I{KEY}/include"]
PRODUCTS = ("proof-demo", "proof-bench", "proofctl", "proof-service")

checks = Checks()


def compilers():
    """gcc, and the clang that stands beside swift: the ones that build the package."""
    swift = pathlib.Path(shutil.which("swift")).resolve()
    return {"gcc": "gcc", "clang": str(swift.parent / "clang")}


def build(compiler, flags, sources, output):
    link = [] if "-c" in flags else ["-lsodium"]
    if compiler.endswith("clang") and "-flto" in flags and link:
        link.append("-fuse-ld=lld")
    subprocess.run([compiler, *FLAGS, *flags, *map(str, sources), "-o", str(output), *link], check=True)


built = {}


def objects_of(compiler, flags, *others):
    """The core and `others`, compiled once for each compiler and level: what does not depend on the key."""
    name = "-".join([pathlib.Path(compiler).name, *flags])
    folder = BUILD / name
    folder.mkdir(exist_ok=True)
    for source in [*sorted(CORE.glob("*.c")), *others]:
        if (name, source) not in built:
            built[name, source] = folder / f"{source.stem}.o"
            build(compiler, [*flags, "-c"], [source], built[name, source])
    return [path for (of, source), path in built.items() if of == name and (source.parent == CORE or source in others)]


def needles_of(key):
    """Bytes that must not be found, by name: the only place where the key's bytes leave the core."""
    program = BUILD / "needles"
    build("gcc", ["-O1"], [key, *objects_of("gcc", ["-O1"], HERE / "needles.c", HERE / "needle.c")], program)
    lines = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    return [(name, form, bytes.fromhex(text)) for name, form, text in (line.split("|") for line in lines if line)]


def found(data, needles):
    """The needles that have a window in `data`, without their bytes."""
    hits = []
    for name, form, needle in needles:
        if any(needle[i:i + WINDOW] in data for i in range(len(needle) - WINDOW + 1)):
            hits.append(f"{name}, {form}")
    return hits


def search(path, needles, what):
    hits = found(path.read_bytes(), needles)
    checks.that(not hits, f"{what}: {'; '.join(hits)}")


def must_find(path, needles, what, secret):
    hits = found(path.read_bytes(), needles)
    checks.that(any(secret in hit for hit in hits), f"{what} is not found: the search is blind")


def dump(program, argument, path):
    """The memory of `program` at rest."""
    process = subprocess.Popen([program, *argument], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{program} did not come to rest")
        path.unlink(missing_ok=True)
        gcore(process.pid, path)
    finally:
        process.stdin.close()
        process.wait()


def gcore(process, path):
    """All of a process's memory: also what the kernel would leave out of a core file."""
    subprocess.run(["gdb", "--batch", "--nx", "-p", str(process), "-ex", "set use-coredump-filter off",
                    "-ex", "set dump-excluded-mappings on", "-ex", f"gcore {path}"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not path.exists():
        raise RuntimeError(f"gdb wrote no core of process {process}")


def search_binaries(key, needles, levels, what):
    for name, compiler in compilers().items():
        for flags in levels:
            label = f"{what}, {name} {' '.join(flags)}"
            thing = BUILD / "sdk_key.o"
            build(compiler, [*flags, "-c"], [key], thing)
            search(thing, needles, f"{label}, object")
            program = BUILD / "resting"
            build(compiler, flags, [thing, *objects_of(compiler, flags, HERE / "resting.c")], program)
            search(program, needles, f"{label}, program")
            subprocess.run(["strip", str(program)], check=True)
            search(program, needles, f"{label}, stripped program")


def search_memory(key, needles, what, controls):
    program, core = BUILD / "at_rest", BUILD / "core"
    build("gcc", ["-O2"], [key, *objects_of("gcc", ["-O2"], HERE / "resting.c")], program)
    dump(program, [], core)
    search(core, needles, f"{what}: memory at rest ({core.stat().st_size} bytes)")
    if controls:
        dump(program, ["key"], core)
        must_find(core, needles, "a key planted in memory", "MPK, as it is")
        dump(program, ["midstate"], core)
        must_find(core, needles, "a midstate planted in memory", "midstate")
    core.unlink()


def search_controls(key, needles):
    """A gate that finds nothing where there is something has failed."""
    whole = next(needle for _, form, needle in needles if form == "as it is")
    planted = BUILD / "planted.c"
    planted.write_text("extern const unsigned char planted[16];\nconst unsigned char planted[16] = {"
                       + ", ".join(map(str, whole)) + "};\n", encoding="ascii")
    build("gcc", ["-O2", "-c"], [planted], BUILD / "planted.o")
    must_find(BUILD / "planted.o", needles, "a key planted in an object", "MPK, as it is")
    planted.unlink()
    # A generator that leaves out volatile lets the compiler put the key together at build time.
    folded = BUILD / "folded.c"
    text = key.read_text(encoding="ascii")
    folded.write_text(text.replace("static const volatile", "static const"), encoding="ascii")
    for name, compiler in compilers().items():
        build(compiler, ["-O2", "-c"], [folded], BUILD / "folded.o")
        must_find(BUILD / "folded.o", needles, f"a key that {name} folded", "MPK, as it is")


def forms(secret):
    """A secret as it is, and as text."""
    return [("as it is", secret), ("in hexadecimal", secret.hex().encode()),
            ("in capitals", secret.hex().upper().encode()), ("in base64", base64.b64encode(secret))]


def search_factory_secret():
    subprocess.run(["make", "-s", "-C", str(ROOT / "CSources"), "hardware"], check=True)
    # Any public key: Ed25519's base point.
    program, issuer = ROOT / ".build" / "core" / "proof-hardware", "58" + 31 * "66"
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        flash, file, log, core = (place / name for name in ("flash", "provisioning", "log", "core"))
        drawn, identity = os.urandom(32), os.urandom(16)
        derived = kdf("pfc2.factory-s..", drawn, identity)
        file.write_text(f"id = {identity.hex()}\nfactory-secret = {drawn.hex()}\n", encoding="ascii")
        file.chmod(0o600)
        words = [program, "--flash", flash, "--log-level", "debug"]
        done = subprocess.run([*words, "--provision", file, "--mode", "production", "--issuer", issuer], check=True,
                              capture_output=True)
        file.unlink()
        with open(log, "w+b") as said:
            process = subprocess.Popen([*words, "--socket", place / "socket"], stderr=said)
            try:
                while b"listening" not in log.read_bytes():
                    if process.poll() is not None:
                        raise RuntimeError(f"proof-hardware ended: {log.read_text()}")
                gcore(process.pid, core)
            finally:
                process.terminate()
                process.wait()
        output = done.stdout + done.stderr + log.read_bytes()
        for what, data, may_hold in (("binary", program.read_bytes(), False), ("output and log", output, False),
                                     ("flash", flash.read_bytes(), True), ("memory at rest", core.read_bytes(), True)):
            needles = [("the drawn factory secret", form, needle) for form, needle in forms(drawn)]
            mine = [("the derived factory secret", form, needle) for form, needle in forms(derived)]
            hits = found(data, needles + (mine[1:] if may_hold else mine))
            checks.that(not hits, f"proof-hardware, {what}: {'; '.join(hits)}")
            if may_hold:
                checks.that(found(data, mine[:1]), f"proof-hardware, {what}: the search is blind")


def search_products(needles):
    products = [ROOT / ".build" / "release" / name for name in PRODUCTS]
    built = [product for product in products if product.exists()]
    for product in built:
        search(product, needles, f"Swift product {product.name}")
    names = ", ".join(product.name for product in built)
    print(f"  Swift products in .build/release searched: {names or 'none is built'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fresh", type=int, default=20, help="how many fresh keys to make and search for")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    checked_in = KEY / "sdk_key.c"
    needles = needles_of(checked_in)
    search_controls(checked_in, needles)
    levels = [["-O0"], ["-Os"], ["-O2"], ["-O3"], ["-O2", "-flto"], ["-O3", "-flto"]]
    search_binaries(checked_in, needles, levels, "checked-in key")
    search_memory(checked_in, needles, "checked-in key", controls=True)
    search_products(needles)
    before = checks.passed + checks.failed
    print(f"  {before} searches for the checked-in key, its midstates, and planted ones")
    fresh, file = BUILD / "fresh.c", BUILD / "fresh.bin"
    for i in range(options.fresh):
        file.unlink(missing_ok=True)
        mode = "production" if i % 2 == 0 else "development"
        subprocess.run([KEY / "generate", "--mode", mode, "--key-file", file, "--output", fresh], check=True,
                       stdout=subprocess.DEVNULL)
        needles = needles_of(fresh)
        whole = next(needle for _, form, needle in needles if form == "as it is")
        checks.that(whole == file.read_bytes(), f"fresh key {i}: what it dissolves into is another key")
        checks.that(not found(fresh.read_bytes(), needles), f"fresh key {i}: in its source")
        search_binaries(fresh, needles, [["-O2"], ["-O3", "-flto"]], f"fresh key {i}")
        search_memory(fresh, needles, f"fresh key {i}", controls=False)
    file.unlink(missing_ok=True)
    fresh.unlink(missing_ok=True)
    search_factory_secret()
    number = checks.passed + checks.failed - before
    print(f"  {number} searches for {options.fresh} fresh keys, and for a factory secret")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
