# SPDX-License-Identifier: Apache-2.0

"""Takes defences out one by one: a test must notice each time. The runner of every `mutants.py`.

A *mutant* is a description, the test that must notice, and edits; an edit is (file, old text, new text), and the old
text stands in the file exactly once. A *subject* is what the edits are made to, and knows how to test it:

    untouched(names)    None if all of these tests pass without an edit, or the reason
    notices(mutant)     whether the mutant's test fails with the edits, or words for it; raises `Broken`
"""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import typing

from checks import Checks
from planting import changed

ROOT = pathlib.Path(__file__).resolve().parents[3]
CC = os.environ.get("CC", "cc")
PATIENCE = 300  # seconds: a test that hangs has failed


class Mutant(typing.NamedTuple):
    what: str  # The defence taken out
    by: str  # The test that must notice, as its subject names tests
    edits: list


class Broken(Exception):
    """The edits do not blind the subject, they break it: they test nothing."""


def play(subject, mutants, words=()):
    """Plays the mutants whose description contains one of the words, or all; the exit status. The last line printed is
    `N passed, M failed`."""
    chosen = [mutant for mutant in mutants if not words or any(word in mutant.what for word in words)]
    checks = Checks()
    problem = subject.untouched(sorted({mutant.by for mutant in chosen})) if chosen else None
    if problem is not None:
        checks.that(False, f"without any edit: {problem}")
        return checks.close()
    for mutant in chosen:
        told = f"{mutant.what} ({mutant.by})"
        try:
            noticed = subject.notices(mutant)
        except Broken as error:
            checks.that(False, f"{told}: tests nothing: {error}")
            continue
        if checks.that(noticed, f"{told}: SURVIVED"):
            print(f"caught {told}{'' if noticed is True else f': {noticed}'}", flush=True)
    return checks.close()


def command(*words):
    """A tool that must succeed; its output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"{words[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


class Program:
    """A test program in C, whose `--filter` names a test.

    folder       where the sources are that mutants edit
    place        where it is built; deleted first
    compiler     words before `-c SOURCE -o OBJECT`
    linker       words before and after the objects
    options      words of each run
    must_end     a program that dies tests nothing; otherwise it has noticed
    """

    def __init__(self, folder, place, compiler, sources, linker, options=(), must_end=False):
        self.folder, self.place, self.compiler = folder, place, compiler
        self.linker, self.options, self.must_end = linker, options, must_end
        shutil.rmtree(place, ignore_errors=True)
        (place / "objects").mkdir(parents=True)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
            compiled = threads.map(lambda source: self.compile(source, place / "objects"), sources)
            self.objects = {self.name(source): made for source, made in zip(sources, compiled)}

    def name(self, source):
        """How an edit names a source: by its path in `folder`, or by its name where it stands elsewhere."""
        source = pathlib.Path(source)
        return str(source.relative_to(self.folder)) if source.is_relative_to(self.folder) else source.name

    def compile(self, source, folder):
        # Two folders of a library may each have a source of this name.
        target = folder / f"{self.name(source).replace('/', '-')}.o"
        command(*self.compiler, "-c", source, "-o", target)
        return target

    def test(self, objects, name):
        """Whether this test passes in a program of these objects, and the last line printed."""
        program = self.place / "tests"
        command(*self.linker[0], "-o", program, *objects.values(), *self.linker[1])
        try:
            done = subprocess.run([program, *self.options, "--filter", name], capture_output=True, text=True,
                                  timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return False, "hangs"
        line = (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()[-1]
        if self.must_end and not line.endswith(" failed"):
            raise Broken(f"the program died: {line}")
        return done.returncode == 0 and not line.startswith("0 passed"), line

    def untouched(self, names):
        for name in names:
            fine, line = self.test(self.objects, name)
            if not fine:
                return f"{name}: {line}"
        return None

    def notices(self, mutant):
        own, folder = dict(self.objects), self.place / "mutant"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, text in changed(self.folder, mutant.edits).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
            own[name] = self.compile(folder / name, folder)
        return not self.test(own, mutant.by)[0]


def places(folder, mutants):
    """Checks that no change has left a mutant without its old text in the folder's files; the exit status."""
    checks = Checks()
    for mutant in mutants:
        try:
            changed(folder, mutant.edits)
            words = None
        except SystemExit as error:
            words = error
        checks.that(words is None, f"{mutant.what}: {words}")
    return checks.close()


def main(begin, mutants, usage, folder=None):
    """The main function of a script: its arguments choose mutants. `begin` makes the subject, of the folder's files."""
    if folder and sys.argv[1:] == ["--places"]:
        return places(folder, mutants)
    if any(word.startswith("-") for word in sys.argv[1:]):
        sys.exit(usage)
    return play(begin(), mutants, sys.argv[1:])
