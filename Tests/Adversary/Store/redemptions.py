# SPDX-License-Identifier: Apache-2.0

"""Kills and power cuts of the replay stores in files, of event redemptions and of request proofs.

A *kill* ends the process before one system call; the kernel keeps all that was written. A *power cut* is played on a
model of the medium: the calls of a real run end before each of them in turn. None, all or some of the bytes that were
not synchronized then are there afterwards.

A replay journal is mapped into memory, so a kill can fall between any two of its stores: each content that the file had
is tried.
"""

import hashlib
import itertools
import os
import pathlib
import shutil
import subprocess
import time

PATIENCE = 300
COUNT = 3
# A SQLite file of a replay store alone, the service's database, and a replay journal.
FILE, DATABASE, JOURNAL = "replay", "service.db", "replay.journal"


class Medium:
    """The files of a folder: what is on the medium, and what only the kernel has. Names count as well as bytes."""

    def __init__(self, files):
        self.stable = {name: bytes(content) for name, content in files.items()}
        self.names = set(self.stable)  # on the medium
        self.files = dict(self.stable)  # as the kernel has them
        self.pending = {name: [] for name in self.files}

    @staticmethod
    def changed(content, call):
        """A file's content after a write or a cut."""
        kind, at, data = call
        if kind == "cut":
            return content[:at].ljust(at, b"\0")
        return content[:at].ljust(at, b"\0") + data + content[at + len(data):]

    def play(self, line):
        word, *rest = line.split(" ")
        if word == "say":
            return
        name = rest[0]
        if word == "make":
            self.files[name], self.stable[name], self.pending[name] = b"", b"", []
        elif word == "remove":
            # The name may come back until the folder is synchronized.
            del self.files[name]
        elif word == "sync" and name == ".":
            self.names = set(self.files)
        elif word == "sync":
            self.stable[name], self.pending[name] = self.files[name], []
        else:
            call = ("cut", int(rest[1]), b"") if word == "cut" else ("write", int(rest[1]), bytes.fromhex(rest[2]))
            self.files[name] = self.changed(self.files[name], call)
            self.pending[name].append(call)

    def left(self, name, calls):
        content = self.stable[name]
        for call in calls:
            content = self.changed(content, call)
        return content

    def choices(self, name):
        """Contents that a file may have after a power cut."""
        calls = self.pending.get(name, [])
        yield self.left(name, [])
        if not calls:
            return
        yield self.left(name, calls)
        yield self.left(name, calls[:-1])
        yield self.left(name, calls[1:])
        kind, at, data = calls[-1]
        yield self.left(name, [*calls[:-1], (kind, at, data[:len(data) // 2])] if kind == "write" else calls[:-1])

    def cut(self):
        """The folders that may be there when the power comes back: each a dictionary of contents."""
        for names in (self.names & set(self.stable), set(self.files)):
            names = sorted(names)
            for contents in itertools.product(*(list(dict.fromkeys(self.choices(name))) for name in names)):
                yield dict(zip(names, contents))


class Stores:
    def __init__(self, checks, tracer, victim, recorder, place):
        self.checks, self.tracer, self.victim, self.recorder = checks, tracer, victim, recorder
        self.place = pathlib.Path(place)
        self.boot = self.place / "boot"
        self.boot.write_text("00000000-0000-4000-8000-000000000000\n")
        self.number = 0

    def folder(self, files=None):
        self.number += 1
        folder = self.place / f"store-{self.number}"
        folder.mkdir()
        for name, content in (files or {}).items():
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o600)
        return folder

    def run(self, *words, **variables):
        done = subprocess.run([self.victim, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE,
                              env=os.environ | variables, check=False)
        return done.returncode, done.stdout

    def provisioned(self, name):
        folder = self.folder()
        self.checks.that(self.run("provision", folder / name)[0] == 0, f"{name} is provisioned")
        return folder

    def uses(self, path, is_cut, **variables):
        """The store's memory after its start: the moment of the gap, the counts, and the tokens that were used."""
        if is_cut:
            variables = {"LD_PRELOAD": self.recorder, "MEDIUM_BOOT": str(self.boot)}
        status, text = self.run("uses", path, 1, COUNT, **variables)
        found = {"used": set(), "judged": set()}
        if status != 0:
            return None
        for word, number in (line.split() for line in text.splitlines()):
            if word in ("used", "judged"):
                found[word].add(int(number))
            else:
                found[word] = int(number)
        return found

    def holds(self, found, said, verb, told):
        """No answered use is taken back, and no token counts twice."""
        if not self.checks.that(found is not None, f"{told}: the store does not open"):
            return
        if verb == "insert":
            self.checks.that(said <= found["used"] or found["gap"] > 0,
                             f"{told}: {said} were answered, {found['used']} are known, and the store says nothing")
            return
        self.checks.that(said <= found["used"], f"{told}: {said} were answered, and {found['used']} are used")
        self.checks.that(len(found["used"]) <= len(said) + 1, f"{told}: {found['used']} are used, {said} answered")
        self.checks.that(found.get("events") == len(found["used"]),
                         f"{told}: {found['used']} are used, and {found.get('events')} events are counted")
        self.checks.that(found["judged"] == found["used"], f"{told}: judgements of {found['judged']}")

    def kills(self, verb, name):
        """The process ends before each system call of the uses, and the store is complete when it starts again."""
        calls = []
        for number in range(1, 2000):
            folder = self.provisioned(name)
            run = subprocess.run([self.tracer, str(number), self.victim, verb, folder / name, "1", str(COUNT)],
                                 capture_output=True, text=True, timeout=PATIENCE, check=False)
            if run.returncode == 3:
                break
            if not self.checks.that(run.returncode == 0, f"kill {number} of {verb}: {run.stdout}{run.stderr}"):
                break
            *lines, call = run.stdout.split()
            calls.append(call)
            said = {int(line) for line in lines}
            told = f"{verb} in {name}, killed before call {number}, {call}"
            found = self.uses(folder / name, False)
            self.holds(found, said, verb, told)
            if found is not None:
                self.checks.that(said <= found["used"], f"{told}: {said} were answered, {found['used']} are used")
                # Others write into the service's database, so its redeemers never take it for complete.
                self.checks.that(found["gap"] == 0 or name == DATABASE, f"{told}: a kill forgets nothing")
            shutil.rmtree(folder)
        print(f"{verb} in {name}: killed before each of {len(calls)} calls:", " ".join(sorted(set(calls))))
        change = "flock" if name == JOURNAL else "pwrite64"
        self.checks.that(change in calls and "write" in calls, f"the tracer watched no {verb}")
        return calls

    def stores(self):
        """The process ends after each of its stores into a journal: whole, with each use that was answered."""
        folder, states = self.provisioned(JOURNAL), self.folder()
        # Each state is looked at in the second of the uses, however long that takes: no store was silent.
        same = {"STORE_NOW": str(int(time.time()))}
        size = (folder / JOURNAL).stat().st_size
        run = subprocess.run([self.tracer, "states", folder / JOURNAL, states, self.victim, "insert", folder / JOURNAL,
                              "1", str(COUNT)], capture_output=True, text=True, timeout=10 * PATIENCE, check=False,
                             env=os.environ | same)
        self.checks.that(run.returncode == 0, f"a journal, store by store: {run.stderr}")
        said, number, seen = set(), 0, set()
        for line in run.stdout.splitlines():
            if not line.startswith("state "):
                said.add(int(line))
                continue
            number = int(line.split()[1])
            copy = self.folder({JOURNAL: (states / str(number)).read_bytes()})
            os.truncate(copy / JOURNAL, size)
            told = f"a journal after store {number}"
            found = self.uses(copy / JOURNAL, False, LD_PRELOAD=self.recorder, MEDIUM_UNDATED="yes", **same)
            self.holds(found, said, "insert", told)
            if found is not None:
                self.checks.that(said <= found["used"] and len(found["used"]) <= len(said) + 1,
                                 f"{told}: {said} were answered, {found['used']} are used")
                self.checks.that(found["gap"] == 0, f"{told}: a kill is no damage")
                seen.add(len(found["used"]) - len(said))
            shutil.rmtree(copy)
        print(f"insert in {JOURNAL}: killed after each of {number} stores")
        # A key is used before it is answered: without such a state nothing was tried.
        self.checks.that(number > 10 * COUNT and seen == {0, 1} and said == set(range(1, COUNT + 1)),
                         f"{number} stores, {said} answered, {seen} more used")

    def cuts(self, verb, name):
        """The power goes before each call that changes a file, and at the end."""
        folder = self.provisioned(name)
        base = {path.name: path.read_bytes() for path in folder.iterdir()}
        log = self.place / f"log-{verb}-{name}"
        mapped = {"MEDIUM_MAPPED": name} if name == JOURNAL else {}
        status, _ = self.run(verb, folder / name, 1, COUNT, LD_PRELOAD=self.recorder, MEDIUM_FOLDER=str(folder),
                             MEDIUM_LOG=str(log), **mapped)
        self.checks.that(status == 0, f"a recorded {verb}")
        lines = [line for line in log.read_text().splitlines() if not line.split(" ")[1].endswith("-shm")]
        medium, said, seen = Medium(base), set(), set()
        for number, line in enumerate([*lines, None]):
            for files in medium.cut():
                digests = [(name, hashlib.sha256(content).digest()) for name, content in sorted(files.items())]
                key = (*digests, *sorted(said))
                if name not in files or key in seen:
                    continue
                seen.add(key)
                copy = self.folder(files)
                told = f"{verb} in {name}, power cut {number} before {(line or 'the end')[:40]}"
                found = self.uses(copy / name, True)
                self.holds(found, said, verb, told)
                if found is not None:
                    self.checks.that(found["gap"] > 0, f"{told}: the store says that uses may be missing")
                shutil.rmtree(copy)
            if line is not None and line.startswith("say "):
                said |= {int(word) for word in bytes.fromhex(line[4:]).decode().split()}
            elif line is not None:
                medium.play(line)
        words = [line.split(" ")[0] for line in lines]
        print(f"{verb} in {name}: {len(seen)} states of the medium after power cuts at {len(lines) + 1} places")
        self.checks.that(said == set(range(1, COUNT + 1)), f"{verb} in {name} answered {said}")
        # The model has seen all that was written.
        left = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
        self.checks.that(medium.files == left, f"the record of {verb} is complete")
        return words


def play(checks, tracer, victim, recorder, place):
    stores = Stores(checks, tracer, victim, recorder, place)
    stores.stores()
    for verb, name in (("redeem", FILE), ("redeem", DATABASE), ("insert", FILE), ("insert", JOURNAL)):
        stores.kills(verb, name)
        words = stores.cuts(verb, name)
        if verb == "redeem":
            # Between two answers the medium was waited for.
            answers = [index for index, word in enumerate(words) if word == "say"]
            checks.that(all("sync" in words[begin + 1:end] for begin, end in zip([0, *answers], answers)),
                        f"each answer waits for the medium: {words}")
