#!/usr/bin/env python3
"""Takes out defences of the probe one by one; the test program of its process must fail each time.

  mutants.py [WORD]     all, or those whose description has the word

A mutant is (what is taken out, the filter of the test that must notice, edits); an edit is (file, old text, new text),
and the old text stands in the file exactly once. The last line is `N passed, M failed`.
"""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Tests" / "Runner"))
from planting import changed  # noqa: E402

PROBE = ROOT / "CSources" / "ProofProbe"
BUILD = ROOT / ".build" / "probe" / "mutants"
ENVIRONMENT, DEVICE, WATCH, BREAKPOINTS = ("linux_environment.c", "linux_device.c", "linux_watch.c",
                                           "linux_breakpoints.c")
FEW, RELEASE = "with too few descriptors", "a proof is released"

MUTANTS = [
    ("a preload file that cannot be read has a digest", "a preload file that is there",
     [(ENVIRONMENT, "length >= 0 ? digest : NULL", "digest")]),
    ("no descriptor to look for tracers is no tracer told", "without a descriptor to look",
     [(WATCH, "if (sight->tracer < 0 && pfp_error_is_resource(errno)) result = -1;", "")]),
    ("no descriptor for a device's file is no such file", FEW,
     [(DEVICE, "if (size < 0 && pfp_error_is_resource(errno)) evidence->failed = 1;", "")]),
    ("no descriptor for the second view is no view", FEW,
     [(ENVIRONMENT, "if (agree < 0 && pfp_error_is_resource(errno)) evidence->failed = 1;", "")]),
    ("no descriptor for the secret is no secret", FEW,
     [(DEVICE, "if (result == PFP_E_RESOURCE) evidence->failed = 1;", "")]),
    ("no descriptor for the executable is no executable", FEW,
     [("linux_process.c", "return pfp_error_is_resource(errno) ? -1 : 0;", "return 0;")]),
    ("breakpoints in use are free", "a hardware breakpoint of perf",
     [(WATCH, "hold->code == PFP_BREAKPOINTS_X86 ?", "hold->code <= PFP_BREAKPOINTS_X86 ?")]),
    ("the descriptors of breakpoints are the whole process's", "children forked",
     [(BREAKPOINTS, "if (syscall(SYS_close_range, 0u, UINT_MAX, CLOSE_RANGE_UNSHARE) != 0) {", "if (hold == NULL) {"),
      (BREAKPOINTS, "  (void)syscall(SYS_close_range, 0u, UINT_MAX, 0u);\n", "")]),
    ("personality is not asked", "personality is an observation",
     [(WATCH, "if (sight->personality == 0) return", "if (sight->personality != 1) return")]),
    ("the second look is the first", RELEASE,
     [(WATCH, "mask(proof, key, seen);", "mask(proof, key, own.seen[after]);")]),
    ("a proof is masked without a fresh key", RELEASE,
     [(WATCH, "mask(proof, key, own.seen[after]);",
       "memset(key, 0, sizeof key);\n  mask(proof, key, own.seen[after]);")]),
    ("a child releases by what its parent saw", RELEASE,
     [(WATCH, "pfp_transcript_number(&transcript, (uint64_t)getpid());", "")]),
    ("a look that failed releases", RELEASE,
     [(WATCH, "if (result != PFP_OK) pfc_wipe(proof, PFC_PROOF_BYTES);", ""),
      ("probe.c", "if (result != PFP_OK) pfc_wipe(proof, PFC_PROOF_BYTES);", "")]),
    ("evidence is freed unwiped", "no call leaves a digest",
     [("evidence.c", "pfc_wipe(evidence->records[i], sizeof *evidence->records[i]);", "")]),
]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")


def compile_one(source, target):
    folders = ["CSources/ProofCore/include", "CSources/ProofKey/include", "CSources/ProofProbe/include",
               "CSources/ProofProbe", "Tests/ProofCoreTests", "Tests/ProofProbeTests"]
    run(os.environ.get("CC", "cc"), "-std=c11", "-w", "-O1", "-pthread", *[f"-I{ROOT / folder}" for folder in folders],
        "-c", source, "-o", target)


def link(objects):
    run(os.environ.get("CC", "cc"), "-pthread", "-rdynamic",
        "-Wl,--wrap=pfp_mappings_read,--wrap=pfp_objects_read", "-o", BUILD / "tests", *objects,
        ROOT / ".build/probe/liblazy.so", f"-Wl,-rpath,{ROOT / '.build/probe'}", "-lsodium")


def passes(word):
    """Whether the tests whose name has this word pass."""
    done = subprocess.run([BUILD / "tests", "--filter", word], capture_output=True, text=True)
    return done.returncode == 0 and not done.stdout.rstrip().endswith("0 passed, 0 failed")


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    run(os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-Wl,-z,lazy", "-o", ROOT / ".build/probe/liblazy.so",
        ROOT / "Tests/ProofProbeTests/lazy_caller.c")
    sources = [*(ROOT / "Tests/ProofProbeTests").glob("process_*.c"), ROOT / "Tests/ProofCoreTests/harness.c",
               *(ROOT / "CSources/ProofCore").glob("*.c"), *(ROOT / "CSources/ProofKey").glob("*.c"),
               *PROBE.glob("*.c")]
    objects = {source.name: BUILD / f"{source.stem}.o" for source in sources}
    for source in sources:
        compile_one(source, objects[source.name])
    link(objects.values())
    mutants = [mutant for mutant in MUTANTS if wanted in mutant[0]]
    for word in sorted({word for _, word, _ in mutants}):
        if not passes(word):
            raise SystemExit(f"mutants: the untouched probe fails: {word}")
    caught = survived = 0
    for what, word, edits in mutants:
        own = dict(objects)
        for name, text in changed(PROBE, edits).items():
            source = BUILD / f"mutant-{name}"
            source.write_text(text, encoding="utf-8")
            own[name] = source.with_suffix(".o")
            compile_one(source, own[name])
        link(own.values())
        seen = not passes(word)
        print(f"{'caught  ' if seen else 'SURVIVED'}  {what}", flush=True)
        caught += seen
        survived += not seen
    print(f"{caught} passed, {survived} failed")
    return survived != 0


if __name__ == "__main__":
    sys.exit(main())
