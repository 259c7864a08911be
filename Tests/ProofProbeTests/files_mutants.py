#!/usr/bin/env python3
"""Takes out lines of the probe's files one by one, and sees to it that the test each has fails.

  files_mutants.py [WORD]     all, or those whose description has the word

A mutant is (what is taken out, words of the name of the test that must fail, edits); an edit is (file, old text, new
text), and the old text stands in the file exactly once.
"""

import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "Runner"))
from planting import changed  # noqa: E402

PROBE = "CSources/ProofProbe"
PLACE = ROOT / ".build" / "probe-mutants"
FILES, READ, WALK, KEEP, TRUST = "linux_files.c", "files_read.c", "files_walk.c", "linux_keep.c", "linux_trust.c"
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
     [(READ, "  if (!item->steady) item->keep = PFP_KEEP_NOTHING;\n", "")]),
    ("a folder that moved while it was listed is taken for whole", "a folder that moved while it was listed",
     [(WALK, "!pfp_unmoved(&level->identity, level->folder->fd)) walk->whole = false;",
       "!pfp_unmoved(&level->identity, level->folder->fd)) (void)0;")]),
    ("a folder that was opened again is taken for the one handed out", "opened again for its descent",
     [(WALK, "    // It may not be the one that was handed out.\n    walk->whole = false;\n", "")]),
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


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def plan():
    """The compiler's words, the sources, and the linker's words, as files.mk has them."""
    words = run("make", "-n", "-f", ROOT / "Tests/ProofProbeTests/files.mk", f"BUILD={PLACE}/build", "CFLAGS=-O1 -w",
                PLACE / "build/probe-files-tests").split("&& ", 1)[1].split()
    output = words.index("-o")
    sources = [word for word in words[output + 2:] if word.endswith(".c")]
    return words[:output], sources, [word for word in words[output + 2:] if not word.endswith(".c")]


COMPILER, SOURCES, LINKER = plan()


def compile_one(source, target):
    run(*COMPILER, "-c", source, "-o", target)
    return target


def tests(objects, words):
    """Whether the test passes in a program of these objects."""
    program = PLACE / "tests"
    run(*COMPILER, *objects.values(), *LINKER, "-o", program)
    done = subprocess.run([program, "--scratch", PLACE / "scratch", "--filter", words], capture_output=True, text=True)
    if "passed" not in done.stdout or "0 passed, 0 failed" in done.stdout.splitlines():
        sys.exit(f"no test is called so, or it did not end: {words}\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def with_edits(objects, edits):
    """The same objects, but for those of the changed files."""
    objects = dict(objects)
    for name, text in changed(ROOT / PROBE, edits).items():
        source = PLACE / name
        source.write_text(text, encoding="utf-8")
        objects[name] = compile_one(source, source.with_suffix(".o"))
    return objects


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    shutil.rmtree(PLACE, ignore_errors=True)
    (PLACE / "objects").mkdir(parents=True)
    objects = {pathlib.Path(source).name: compile_one(source, PLACE / "objects" / (pathlib.Path(source).stem + ".o"))
               for source in SOURCES}
    caught = survived = 0
    for words in sorted({mutant[1] for mutant in MUTANTS if wanted in mutant[0]}):
        if not tests(objects, words):
            sys.exit(f"the untouched probe fails: {words}")
    for what, words, edits in MUTANTS:
        if wanted not in what:
            continue
        fine = tests(with_edits(objects, edits), words)
        print(f"{'SURVIVED' if fine else 'caught  '}  {what} ({words})", flush=True)
        survived += fine
        caught += not fine
    print(f"{caught} passed, {survived} failed")
    return survived != 0


if __name__ == "__main__":
    sys.exit(main())
