#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Takes out defences of the probe one by one; the test program of its process must fail each time.

  mutants.py [WORD…]     all, or those whose description has one of the words

A mutant is (what is taken out, the filter of the test that must notice, edits), as
Tests/Support/Runner/mutation.py has it.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from mutation import CC, Mutant, Program, command, main  # noqa: E402

PROBE = ROOT / "CSources" / "ProofProbe"
BUILD = ROOT / ".build" / "probe" / "mutants"
ENVIRONMENT, DEVICE, WATCH, BREAKPOINTS = ("process/environment.c", "process/device.c", "process/watch.c",
                                           "process/breakpoints.c")
VIEW = "process/view.c"
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
     [("process/process.c", "return pfp_error_is_resource(errno) ? -1 : 0;", "return 0;")]),
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
      ("probe/probe.c", "if (result != PFP_OK) pfc_wipe(proof, PFC_PROOF_BYTES);", "")]),
    ("a library that programs open is a module beside any other that opens it", "the app does not need the one",
     [("process/modules.c", "if (name == NULL || (!opener->explained && !opener->is_system_module)) continue;",
       "if (name == NULL) continue;")]),
    ("a library that programs open is a module beside an opener that others can write", "the app does not need the one",
     [("process/modules.c", "fnmatch(OPENED[i].opener, name, 0) == 0 && only_root_writes(opener->path)",
       "fnmatch(OPENED[i].opener, name, 0) == 0")]),
    ("a library that programs open is a module wherever it is opened", "the app does not need the one",
     [("process/modules.c", "if (fnmatch(OPENED[i].pattern, rest, 0) != 0) continue;",
       "if (fnmatch(OPENED[i].pattern, rest, 0) == 0) return 1;")]),
    ("what a library of the system's opens for itself is no module", "library of the system's opens is one",
     [("process/modules.c",
       "if (!has_pattern(object->path) && !is_opened_by_a_library(objects, object->path)) continue;",
       "if (!has_pattern(object->path)) continue;")]),
    ("code of any file is kept", "this user can change",
     [(VIEW, "(object->guarded || (segment->flags & PFP_EXECUTE) == 0)", "object != NULL && segment != NULL")]),
    ("code is kept though a page of it is a private copy", "code is hashed again",
     [(VIEW, "object->misplaced == 0 &&\n         object->private_pages == 0;", "object->misplaced == 0;")]),
    ("code is kept though another file is mapped over it", "code is hashed again",
     [(VIEW, "!entry->replaced && object->misplaced == 0 &&", "!entry->replaced &&")]),
    ("code is kept though its path leads to another file", "replaced or covered",
     [(VIEW, "!entry->replaced && object->misplaced", "object->misplaced")]),
    ("code is kept though its file changed", "replaced or covered",
     [(VIEW, "entry != NULL && object->unchanged && !entry", "entry != NULL && !entry")]),
    ("a measurement that failed leaves what was kept", "was cancelled",
     [(VIEW, "  if (result != PFP_OK) {\n    pfp_view_free(view);\n    forget(process);", "  if (result != PFP_OK) {\n"
       "    pfp_view_free(view);")]),
    ("a file counts as guarded with any owner", "this user can change",
     [("files/files.c", "guarded = pfp_identify(&now, fd) == 0 && pfp_identity_equal(&now, identity) && "
       "pfp_keep_guarded(&now, &memory, fd);",
       "guarded = pfp_identify(&now, fd) == 0 || memory.next != 0 || identity;")]),
    ("evidence is freed unwiped", "no call leaves a digest",
     [("evidence/evidence.c", "pfc_wipe(evidence->records[i], sizeof *evidence->records[i]);", "")]),
]


def begin():
    library = ROOT / ".build/probe/liblazy.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    command(CC, "-shared", "-fPIC", "-O2", "-Wl,-z,lazy", "-o", library,
            ROOT / "Tests/Unit/ProofProbeTests/lazy_caller.c")
    folders = ["CSources/ProofCore/include", "CSources/ProofKey/include", "CSources/ProofProbe/include",
               "CSources/ProofProbe", "Tests/Unit/ProofCoreTests", "Tests/Unit/ProofProbeTests"]
    sources = [*(ROOT / "Tests/Unit/ProofProbeTests").glob("process_*.c"), ROOT / "Tests/Unit/ProofCoreTests/harness.c",
               *(ROOT / "CSources/ProofCore").glob("*.c"), *(ROOT / "CSources/ProofKey").glob("*.c"),
               *PROBE.glob("*/*.c")]
    compiler = [CC, "-std=c11", "-w", "-O1", "-pthread", *[f"-I{ROOT / folder}" for folder in folders]]
    wrapped = ("pfp_mappings_read", "pfp_objects_read", "pfp_hash_memory", "pfp_keep_clock", "malloc", "calloc",
               "realloc", "strdup", "vasprintf", "fopen", "fdopendir", "open", "openat", "fstatfs", "ioctl",
               "dl_iterate_phdr")
    linker = [CC, "-pthread", "-rdynamic", *[f"-Wl,--wrap={name}" for name in wrapped]]
    return Program(PROBE, BUILD, compiler, sources,
                   (linker, [library, f"-Wl,-rpath,{library.parent}", "-lsodium"]))


if __name__ == "__main__":
    sys.exit(main(begin, [Mutant(*mutant) for mutant in MUTANTS], __doc__))
