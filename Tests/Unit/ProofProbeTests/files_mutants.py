#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Takes out lines of the probe's files one by one, and sees to it that the test each has fails.

  files_mutants.py [WORD…]     all, or those whose description has one of the words

A mutant is (what is taken out, words of the name of the test that must fail, edits), as
Tests/Support/Runner/mutation.py has it.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from mutation import Mutant, Program, command, main  # noqa: E402

PROBE = ROOT / "CSources" / "ProofProbe"
PLACE = ROOT / ".build" / "probe-mutants"
FILES, KEEP, TRUST = "system/files.c", "system/keep.c", "system/trust.c"
OUTCOME, WALK = "jobs/outcome.c", "files/walk.c"
IDENTITY = "two identities are one"
EQUAL = "return a->device == b->device && a->mount == b->mount && a->inode == b->inode && a->size == b->size &&"
ROOTS = "an ordinary process keeps root's files"

MUTANTS = [
    ("the mount is not compared", IDENTITY, [(FILES, EQUAL, EQUAL.replace(" && a->mount == b->mount", ""))]),
    ("the mode is not compared", IDENTITY, [(FILES, " && a->mode == b->mode", "")]),
    ("the device is not compared", IDENTITY, [(FILES, EQUAL, EQUAL.replace("a->device == b->device && ", ""))]),
    ("the inode is not compared", IDENTITY, [(FILES, EQUAL, EQUAL.replace(" && a->inode == b->inode", ""))]),
    ("the size is not compared", IDENTITY, [(FILES, EQUAL, EQUAL.replace(" && a->size == b->size", ""))]),
    ("ctime is not compared", IDENTITY, [(FILES, "a->changed == b->changed && ", "")]),
    ("mtime is not compared", IDENTITY, [(FILES, "a->modified == b->modified && ", "")]),
    ("the type is not compared", IDENTITY, [(FILES, " && a->type == b->type", "")]),
    ("a file that moved while it was read is kept", "a file that moved while it was read",
     [(OUTCOME, "  if (!item->steady) item->keep = PFP_KEEP_NOTHING;\n", "")]),
    ("a folder that moved while it was listed is taken for whole", "a folder that moved while it was listed",
     [(WALK, "!pfp_unmoved(&level->identity, level->folder->fd)) walk->whole = false;",
       "!pfp_unmoved(&level->identity, level->folder->fd)) (void)0;")]),
    ("a folder that was opened again is taken for the one handed out", "opened again for its descent",
     [(WALK, "    // It may not be the one that was handed out.\n    walk->whole = false;\n", "")]),
    ("root of any user namespace is root", "privileges", [(TRUST, " && pfp_trust_root();", ";")]),
    ("files that a group may write to are root's alone", ROOTS,
     [(FILES, "(S_IWGRP | S_IWOTH)", "S_IWOTH")]),
    ("files that everybody may write to are root's alone", ROOTS,
     [(FILES, "(S_IWGRP | S_IWOTH)", "S_IWGRP")]),
    ("every owner is taken for root", ROOTS, [(FILES, "found->stx_uid == 0 && ", "")]),
    ("the saved user is not asked", "any id of root's", [(TRUST, " && saved != 0", "")]),
    ("capabilities are not asked", "any id of root's", [(TRUST, " && !has_capabilities()", "")]),
    ("root's files are kept for root", "files that this process could change",
     [(KEEP, "identity->guard == PFP_GUARD_ROOT && unprivileged(memory);",
       "identity->guard == PFP_GUARD_ROOT && (unprivileged(memory) || true);")]),
    ("squashfs is a file system like others", "squashfs and EROFS", [(KEEP, "    case SQUASHFS_MAGIC:\n", "")]),
    ("fs-verity counts on every file system", "fs-verity guards",
     [(KEEP, "return kind != SILENT;", "return true;")]),
    ("what was pinned is kept", "late in a pinned page",
     [(KEEP, "if (!pfp_keep_guarded(identity, memory, fd)) return 0;", "(void)0;"),
      (KEEP, "if (*keep == PFP_KEEP && !trusts_owner && !pfp_keep_guarded(identity, memory, fd))",
       "if (memory == NULL)")]),
]


def begin():
    """The compiler's words, the sources, and the linker's words, as files.mk has them."""
    words = command("make", "-n", "-f", ROOT / "Tests/Unit/ProofProbeTests/files.mk", f"BUILD={PLACE}/build",
                    "CFLAGS=-O1 -w", PLACE / "build/probe-files-tests").split("&& ", 1)[1].split()
    output = words.index("-o")
    compiler, rest = words[:output], words[output + 2:]
    sources = [pathlib.Path(word) for word in rest if word.endswith(".c")]
    libraries = [word for word in rest if not word.endswith(".c")]
    return Program(PROBE, PLACE, compiler, sources, (compiler, libraries), ["--scratch", PLACE / "scratch"],
                   must_end=True)


if __name__ == "__main__":
    sys.exit(main(begin, [Mutant(*mutant) for mutant in MUTANTS], __doc__))
