#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Judges what the core's objects ask of the outside world, and what they show to it.

    symbols.py            builds the core with gcc and with clang, and judges both
    symbols.py OBJECT…    judges these objects as if they were the core

Rules, one check for each object and rule:
  asks      Undefined symbols are the core's own, the four memory functions of C, helpers the compiler itself inserts,
            or, for the objects named in DOORS alone, the functions named there. No malloc, no stdio, no system call,
            and no libsodium function that was not decided on. The native SHA-256 (sha256_*.o) asks for no memory
            function either: it handles keys, and a program can replace the functions of a shared library.
  shows     Every global symbol begins with pfc_.
  keeps     No writable data: all memory is the caller's. One exception, by name and size: sha256.o keeps `chosen`, one
            byte, which path of SHA-256 was chosen.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]

# Functions that crypto.c, the core's one door to libsodium, may call. None of these allocates or asks the operating
# system: those of libsodium that draw randomness (crypto_box_seal, …_keypair) are deliberately absent.
SODIUM = {
    "crypto_auth_hmacsha256_final",
    "crypto_auth_hmacsha256_init",
    "crypto_auth_hmacsha256_update",
    "crypto_box_easy",
    "crypto_box_seal_open",
    "crypto_generichash",
    "crypto_hash_sha256_final",
    "crypto_hash_sha256_init",
    "crypto_hash_sha256_update",
    "crypto_onetimeauth_poly1305_verify",
    "crypto_scalarmult",
    "crypto_scalarmult_base",
    "crypto_secretbox_easy",
    "crypto_secretbox_open_easy",
    "crypto_sign_detached",
    "crypto_sign_seed_keypair",
    "crypto_sign_verify_detached",
    "crypto_stream_xsalsa20_xor_ic",
    "sodium_is_zero",
    "sodium_memcmp",
    "sodium_memzero",
}
# The self-test of the native SHA-256 compares with libsodium's; the choice of a path on Arm asks what the kernel has
# told the process.
DOORS = {
    "crypto.o": SODIUM,
    "sha256_trial.o": {name for name in SODIUM if "sha256" in name},
    "sha256.o": {"getauxval"},
}

# (object, symbol): bytes.
KEPT = {("sha256.o", "chosen"): 1}

WITHOUT_MEMORY = {"sha256.o", "sha256_native.o", "sha256_x86.o", "sha256_arm.o"}

MEMORY = {"memcpy", "memmove", "memset", "memcmp"}

# The address table of position-independent code, stack guards, fortified twins of the memory functions, and the
# arithmetic that 32-bit Arm has no instruction for.
COMPILER = re.compile(r"_GLOBAL_OFFSET_TABLE_|__stack_chk_(fail|guard)|__mem(cpy|move|set)_chk|__aeabi_\w+")

WRITABLE = set("BbCDdGgSsVv")


def symbols_of(nm, path):
    """Name, type letter and size (0 if nm tells none) of each."""
    listing = subprocess.run([nm, "-P", str(path)], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in listing.splitlines() if line.strip()]
    return [(fields[0], fields[1], int(fields[3], 16) if len(fields) > 3 else 0) for fields in lines]


def judge(objects, nm):
    """Returns (number of checks, findings)."""
    tables = {path: symbols_of(nm, path) for path in objects}
    own = {name for table in tables.values() for name, kind, _ in table if kind in "TRDBVW"}
    checks, findings = 0, []
    for path, table in sorted(tables.items()):
        asked = {name for name, kind, _ in table if kind in "Uvw"} - own - DOORS.get(path.name, set())
        if path.name not in WITHOUT_MEMORY:
            asked -= MEMORY
        asked = sorted(name for name in asked if not COMPILER.fullmatch(name))
        shown = sorted(name for name, kind, _ in table
                       if kind.isupper() and kind != "U" and not name.startswith("pfc_"))
        kept = sorted(name for name, kind, size in table
                      if kind in WRITABLE and KEPT.get((path.name, name)) != size)
        for names, fault in ((asked, "asks for"), (shown, "shows"), (kept, "keeps writable data in")):
            checks += 1
            if names:
                findings.append(f"{path.name} {fault} {', '.join(names)}")
    return checks, findings


def build(compiler):
    """The core's objects as this compiler makes them."""
    directory = ROOT / ".build" / "symbols" / compiler
    subprocess.run(
        ["make", "--no-print-directory", "-s", "-C", str(ROOT / "CSources"), f"CC={compiler}", f"BUILD={directory}",
         "objects"],
        check=True, stdout=subprocess.DEVNULL)
    sources = (ROOT / "CSources" / "ProofCore").glob("*.c")
    return [directory / "objects" / "CSources" / "ProofCore" / f"{source.stem}.o" for source in sources]


def main(arguments):
    nm = os.environ.get("NM", "nm")
    groups = [("given", [pathlib.Path(argument) for argument in arguments])] if arguments else [
        (compiler, build(compiler)) for compiler in ("gcc", "clang")]
    passed = failed = 0
    for name, objects in groups:
        if not objects:
            findings, checks = [f"no objects to judge in {ROOT.name}/CSources/ProofCore"], 1
        else:
            checks, findings = judge(objects, nm)
        for finding in findings:
            print(f"symbols: {name}: {finding}")
        passed += checks - len(findings)
        failed += len(findings)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        print(f"symbols: failed: {' '.join(error.cmd)}")
        print("0 passed, 1 failed")
        sys.exit(1)
