# SPDX-License-Identifier: Apache-2.0

"""The product's modules, and the tests each one's mutants meet: the cheapest first, until one notices."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[4]
FOLDER = ROOT / ".build" / "mutants" / "random"
# SwiftPM's copy; a copy whose modules are built already saves the first build.
TREE = pathlib.Path(os.environ.get("MUTANT_SWIFT_TREE", FOLDER / "tree"))
C_TREE = FOLDER / "c-tree"  # The C tests' copy
SODIUM = ROOT / ".build" / "foreign" / "libsodium" / "source"

# `result` is compared, so a pointer for a size and a pointer of another type count as "does not compile".
C_FLAGS = "-Wno-error -Werror=incompatible-pointer-types -Werror=int-conversion"
# A failure is told at once, so that it can end the run.
C_ENVIRONMENT = {"CFLAGS": f"-O1 {C_FLAGS}", "RUN": "stdbuf -oL", "CC": str(FOLDER / "gcc"),
                 "CLANG": str(FOLDER / "clang"), "MUTANT_TREE": str(C_TREE)}

# Name: its command, played in the copy.
STAGES = {
    "core of this noun": "Tests/Unit/ProofCoreTests/run.sh --filter {noun}",
    "core": "Tests/Unit/ProofCoreTests/run.sh",
    # No RUN: the address sanitizer refuses a program into which stdbuf loads its library first.
    "core sanitized": "RUN= CFLAGS=\"$CFLAGS -fsanitize=address,undefined -fno-sanitize-recover=all\" "
                      "BUILD=$PWD/.build/core-sanitized Tests/Unit/ProofCoreTests/run.sh",
    "units": "make -s -C Tests/Unit/ProofHardwareTests CC=$CC CFLAGS=\"$CFLAGS\" BUILD=$PWD/.build/hardware-tests && "
             "$RUN .build/hardware-tests/proof-hardware-tests",
    "units sanitized": "make -s -C Tests/Unit/ProofHardwareTests CC=$CC CFLAGS=\"$CFLAGS -fsanitize=address,undefined "
                       "-fno-sanitize-recover=all\" BUILD=$PWD/.build/hardware-sanitized && "
                       ".build/hardware-sanitized/proof-hardware-tests",
    "process": "make -s -C CSources hardware CC=$CC CFLAGS=\"$CFLAGS\" && "
               "/usr/bin/python3 Tests/Adversary/Attacker/run.py --folder Tests/Unit/ProofHardwareTests",
    "attacker": "make -s -C CSources hardware CC=$CC CFLAGS=\"$CFLAGS\" && "
                "/usr/bin/python3 Tests/Adversary/Attacker/run.py --rounds 1000",
    "each wipe": "mkdir -p .build/secrets && python3 Tests/Adversary/Secrets/each_wipe.py",
    "probe files": "$RUN make -s -f Tests/Unit/ProofProbeTests/files.mk CC=$CLANG CFLAGS=\"$CFLAGS\"",
    "probe hand-over": "$RUN make -s -f Tests/Unit/ProofProbeTests/files.mk CC=$CLANG CFLAGS=\"$CFLAGS\" handover",
    "probe process": "Tests/Unit/ProofProbeTests/run.sh process",
    "probe roots": "Tests/Unit/ProofProbeTests/run.sh roots",
    # Real tools against a live app. The Python packages are those of the tree.
    "attack matrix": f"mkdir -p .build && ln -sfn {ROOT}/.build/pypi .build/pypi && Tests/Adversary/Attack/run.py",
    "probe sanitized": "make -s -f Tests/Unit/ProofProbeTests/files.mk sanitized-address",
    "second implementation": "CC=$CC Tests/Vectors/both-ways",
    "constant time": "Tests/Adversary/ConstantTime/run.sh",
    "wiping": "Tests/Adversary/Secrets/run.sh --wiping",
    "firmware": f"mkdir -p .build && ln -sfn {ROOT}/.build/foreign .build/foreign && "
                "env -u CC -u CFLAGS make -s -C CSources/ports/cortex-m3 && "
                "/usr/bin/python3 Tests/Process/Firmware/run.py parts_test admission_test figures_test large_test "
                "log_test power_test radio_test story_test time_test",
    "log's words": "/usr/bin/python3 Tests/Process/Firmware/run.py in_the_words_of_proof_hardware",
    "interoperation": "Tests/Process/JOSE/run.sh",
    "kills": "Tests/Adversary/Store/run.sh",
    "door": "/usr/bin/python3 Tests/Process/Service/door/hostile.py",
}
# Those that are played in SwiftPM's copy.
OF_SWIFT = {"interoperation", "kills", "door"}

# The folders of the probe that its tests of files build.
PROBE_FOLDERS_OF_FILES = ("base", "hash", "system", "context", "jobs", "files")
PROBE_FILES = ["probe files", "probe hand-over", "probe process"]
# Folder: its stages. A stage that is not in STAGES is a filter of `swift test`, or "!" and a script of process tests;
# "@" before either one starts PostgreSQL for it.
C_MODULES = {
    "CSources/ProofCore": ["core of this noun", "core", "core sanitized", "units", "process", "each wipe",
                           "second implementation", "wiping", "constant time"],
    "CSources/ProofProbe": ["probe process", "attack matrix", "probe files", "probe hand-over", "probe roots",
                            "probe sanitized"],
    "CSources/ProofDevice": ["units", "units sanitized", "process", "attacker", "each wipe"],
    "CSources/proof-hardware": ["process", "attacker", "log's words"],
    "CSources/ports": ["firmware"],
}
SERVER = "!Tests/Process/Service/server_test.py"
CHANGES = "!Tests/Process/Service/changes.py"
FETCH = "!Tests/Process/Backend/flow.py"
OPERATOR = "!Tests/Process/Backend/proofctl.py"
INSTALLATION = "!Tests/Process/Backend/installation.py"
ORDERS = "!Tests/Process/Backend/orders.py"
NGINX = "!Tests/Support/Runner/runner.py Tests/Process/Gate nginx_check_test"
GATE = "!Tests/Support/Runner/runner.py Tests/Process/Gate gate_test"
PULL = "!Tests/Support/Runner/runner.py Tests/Process/Gate pull_test operation_test"
EVENTS = "!Tests/Support/Runner/runner.py Tests/Process/Gate service_event_test"
# Beside PostgreSQL servers of their own.
# The suites of Tests/Process/Scale/run.sh: others of these targets have clocks that differ from the servers'.
IN_POSTGRES = (r"@PostgresStoreTests"
               r"|ProofServiceTests(?=\.(StoreConformance|SaltConformance|StorePlaceTests|StoreMoveTests"
               r"|PostgresAccountStoreTests)\b)"
               r"|ProofBackendTests(?=\.(ReplayStoreTests|RedemptionStoreTests|IssueLedgerTests)\b)")
NODES = "@!Tests/Process/Scale/service_test.py"
MOVES = "@!Tests/Process/Scale/move_test.py"
GATES = "@!Tests/Process/Scale/gates_test.py"
FACTORY = "!Tests/Process/Backend/factory.py"
STRINGS = "!Tests/Process/Backend/own_strings.py"
ADMISSIONS = "!Tests/Process/Backend/gates.py"
ROTATION = "!Tests/Process/Backend/rotation.py"
RUNBOOKS = "!Tests/Support/Runner/runner.py Tests/Process/Runbooks"
# The story alone notices most, in an eighth of the time.
STORY = "!Tests/Process/Demo/run.py the_story_ends"
DEMO = "!Tests/Process/Demo/run.py"
# C that only Swift tests reach.
BRIDGES = {
    "CSources/ProofKey": ["ProofKitHTTPTests", FETCH, DEMO],
    "CSources/CCurl": ["ProofKitHTTPTests", FETCH],
    "CSources/CCrypto": ["ProofJOSETests", "ProofBackendTests|ProofServiceTests", "interoperation", INSTALLATION],
    "CSources/CMicroHTTPD": ["door", "HTTPServingTests", "ProofKitHTTPTests", SERVER],
    "CSources/CSQLite": ["ProofServiceTests"],
    "CSources/CPostgres": [IN_POSTGRES, NODES, GATES],
    "CSources/CTPM": ["ProofKitKeysTests", INSTALLATION],
}
SWIFT_MODULES = {
    "Sources/Console": ["ConsoleTests", OPERATOR, SERVER, DEMO],
    "Sources/ProofBytes": ["ProofJOSETests", "ProofKitTests|HTTPServingTests|ProofGateTests|ProofBenchTests"],
    "Sources/DurableFiles": ["ProofKitTests|ProofBackendTests", OPERATOR, "kills"],
    "Sources/ProofModel": ["ProofModelTests", "ProofKitTests|ProofLinkTests|ProofBackendTests|ProofRequestTests",
                           "ProofServiceTests|ProofGateTests", OPERATOR],
    "Sources/ProofRequest": ["ProofRequestTests"],
    "Sources/ProofJOSE": ["ProofJOSETests", "ProofBackendTests|ProofServiceTests", OPERATOR, "interoperation"],
    "Sources/ProofKit": ["ProofKitTests|ProofModelTests", "ProofServiceTests|ProofKitHTTPTests", "ProofLinkTests",
                         FETCH, "kills"],
    "Sources/ProofKitHTTP": ["ProofKitHTTPTests", FETCH],
    "Sources/ProofKitKeys": ["ProofKitKeysTests", INSTALLATION],
    "Sources/ProofKitTPM": ["ProofKitKeysTests", INSTALLATION],
    "Sources/ProofLink": ["ProofLinkTests", STORY, DEMO],
    "Sources/ProofApp": ["ProofLinkTests|ProofKitTests", DEMO],
    "Sources/ProofMigration": ["ProofKitTests|ProofKitHTTPTests"],
    "Sources/ProofKitTesting": ["ProofKitTests"],
    "Sources/LinkSimulation": ["ProofLinkTests", DEMO],
    "Sources/ProofBackend": ["ProofBackendTests", "ProofServiceTests|ProofGateTests", FETCH, OPERATOR, ORDERS],
    "Sources/ProofGate": ["ProofGateTests", NGINX, "ProofKitHTTPTests", GATE, PULL],
    "Sources/AccountStores": ["ProofServiceTests|ProofBackendTests", IN_POSTGRES, OPERATOR, NODES, MOVES],
    "Sources/PostgresStore": [IN_POSTGRES, NODES, MOVES, GATES],
    "Sources/PostgresBackend": [IN_POSTGRES, GATES],
    "Sources/EventServing": ["ProofServiceTests", EVENTS],
    "Sources/HTTPServing": ["HTTPServingTests", "ProofKitHTTPTests", SERVER],
    "Sources/ProofService": ["ProofServiceTests", "HTTPServingTests|ProofKitHTTPTests|ProofBackendTests", OPERATOR,
                             SERVER, FACTORY, ADMISSIONS, STRINGS, CHANGES, INSTALLATION, ORDERS, ROTATION],
    "Sources/proof-demo": [STORY, DEMO],
    "Sources/proof-relay": ["ProofLinkTests", STORY, DEMO, RUNBOOKS],
    "Sources/proofctl": [FACTORY, ADMISSIONS, FETCH, STRINGS, OPERATOR, ROTATION, ORDERS, INSTALLATION,
                         RUNBOOKS],
    "Sources/proof-unlock": [FETCH, ORDERS, OPERATOR],
    "Sources/proof-shop": [STORY, DEMO],
    "Sources/proof-gate": [NGINX, GATE, PULL, RUNBOOKS],
    "Sources/proof-service": [SERVER, EVENTS, CHANGES, OPERATOR, RUNBOOKS],
}
# The demonstration starts its programs in a clean environment: their mutants are built alone.
ALONE = ("Sources/proof-demo/", "Sources/proof-relay/", "Sources/proof-shop/")
MODULES = {**C_MODULES, **BRIDGES, **SWIFT_MODULES}
# A module map, and a package of its own, which needs windows.
NOT_DRAWN = {"CSources/CSodium", "Sources/WebKitGTK"}


def stages(folder, name):
    """The stages of a file's mutants."""
    if folder == "CSources/ProofProbe" and pathlib.Path(name).parent.name in PROBE_FOLDERS_OF_FILES:
        return [*PROBE_FILES, "probe roots", "attack matrix", "probe sanitized"]
    return MODULES[folder]
