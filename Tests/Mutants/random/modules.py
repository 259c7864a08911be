"""The product's modules, and the tests each one's mutants meet: the cheapest first, until one notices."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDER = ROOT / ".build" / "mutants" / "random"
TREE = FOLDER / "tree"      # SwiftPM's copy
C_TREE = FOLDER / "c-tree"  # The C tests' copy

# `result` is compared, so a pointer for a size and a pointer of another type count as "does not compile".
C_FLAGS = "-Wno-error -Werror=incompatible-pointer-types -Werror=int-conversion"
SANITIZED = f"-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all {C_FLAGS}"
# A failure is told at once; the address sanitizer need not be loaded before that.
LINES = "env ASAN_OPTIONS=verify_asan_link_order=0 stdbuf -oL"

# Name: its command, played in the copy.
STAGES = {
    "core": f"CFLAGS='{SANITIZED}' LDFLAGS='-fsanitize=address,undefined' BUILD=$PWD/.build/core-asan "
            f"RUN='{LINES}' Tests/ProofCoreTests/run.sh",
    "units": f"make -s -j2 -C Tests/ProofHardwareTests BUILD=$PWD/.build/hardware-tests CFLAGS='-O1 {C_FLAGS}' && "
             f"{LINES} .build/hardware-tests/proof-hardware-tests",
    "process": f"make -s -j2 -C CSources hardware CFLAGS='-O1 {C_FLAGS}' && "
               "/usr/bin/python3 Tests/Attacker/run.py --folder Tests/ProofHardwareTests",
    "attacker": f"make -s -j2 -C CSources hardware CFLAGS='-O1 {C_FLAGS}' && "
                "/usr/bin/python3 Tests/Attacker/run.py --rounds 1000",
    "each wipe": "mkdir -p .build/secrets && python3 Tests/Secrets/each_wipe.py",
    "probe files": f"{LINES} make -s -f Tests/ProofProbeTests/files.mk CFLAGS='-O1 -g {C_FLAGS}'",
    "probe hand-over": f"{LINES} make -s -f Tests/ProofProbeTests/files.mk CFLAGS='-O1 -g {C_FLAGS}' handover",
    "probe process": f"CFLAGS='{C_FLAGS}' Tests/ProofProbeTests/run.sh process",
    "probe roots": f"CFLAGS='{C_FLAGS}' Tests/ProofProbeTests/run.sh roots",
    "door": f"CC='gcc {C_FLAGS}' Tests/Service/door/hostile.py",
}

PROBE_FILES = ["probe files", "probe hand-over", "probe process"]
# Folder: its stages. A stage that is not in STAGES is a filter of `swift test`, or "!" and a script of process tests.
C_MODULES = {
    "CSources/ProofCore": ["core", "units", "process", "each wipe"],
    "CSources/ProofKey": ["probe process"],
    "CSources/ProofProbe": ["probe process", "probe files", "probe hand-over", "probe roots"],
    "CSources/ProofDevice": ["units", "process", "attacker"],
    "CSources/proof-hardware": ["process", "attacker"],
}
SERVER = "!Tests/Service/server_test.py"
CHANGES = "!Tests/Service/changes.py"
FETCH = "!Tests/Backend/flow.py"
OPERATOR = "!Tests/Backend/proofctl.py"
BRIDGES = {
    "CSources/CCurl": ["ProofKitHTTPTests"],
    "CSources/CCrypto": ["ProofJOSETests", "ProofBackendTests|ProofServiceTests"],
    "CSources/CMicroHTTPD": ["ProofServiceHTTPTests", "ProofKitHTTPTests", SERVER],
    "CSources/CSQLite": ["ProofServiceTests"],
}
SWIFT_MODULES = {
    "Sources/DurableFiles": ["ProofKitTests|ProofBackendTests", OPERATOR],
    "Sources/ProofModel": ["ProofModelTests", "ProofKitTests|ProofLinkTests|ProofBackendTests", "ProofServiceTests"],
    "Sources/ProofJOSE": ["ProofJOSETests", "ProofBackendTests|ProofServiceTests", OPERATOR],
    "Sources/ProofKit": ["ProofKitTests|ProofModelTests", "ProofServiceTests|ProofKitHTTPTests", "ProofLinkTests"],
    "Sources/ProofKitHTTP": ["ProofKitHTTPTests", FETCH],
    "Sources/ProofLink": ["ProofLinkTests"],
    "Sources/ProofBackend": ["ProofBackendTests", "ProofServiceTests", FETCH, OPERATOR],
    "Sources/ProofService": ["ProofServiceTests", "ProofServiceHTTPTests|ProofKitHTTPTests|ProofBackendTests", OPERATOR,
                             SERVER, CHANGES],
    "Sources/proofctl": [OPERATOR, FETCH],
    "Sources/proof-unlock": [FETCH, OPERATOR],
    "Sources/proof-service": [SERVER, CHANGES, OPERATOR],
}
MODULES = {**C_MODULES, **BRIDGES, **SWIFT_MODULES}


def stages(folder, name):
    """The stages of a file's mutants."""
    stem = pathlib.Path(name).name
    if folder == "CSources/ProofProbe" and stem.startswith(("hash", "files", "thread", "bundle", "linux_files",
                                                            "linux_folder", "linux_map.", "linux_keep", "linux_lease",
                                                            "linux_trust", "linux_proc.")):
        return [*PROBE_FILES, "probe roots"]
    return MODULES[folder]
