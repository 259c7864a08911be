#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Kills a process before each system call of a save. What is stored then is the old pair, string or link memory, or
the new one.

    cut.py TRACER VICTIM RECORDER

Also: two real processes and one folder, a lock that ends with its process, however that ends, and the replay stores in
SQLite files (redemptions.py).
"""

import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import redemptions  # noqa: E402
from checks import Checks  # noqa: E402

TRACER, VICTIM, RECORDER = sys.argv[1:4]
checks = Checks()


def victim(*arguments, umask=0o022):
    run = subprocess.run([VICTIM, *map(str, arguments)], capture_output=True, text=True, timeout=60, umask=umask)
    return run.returncode, run.stdout.strip()


def cuts(folder, verb, found_after, first=None):
    """Cuts a verb before each of its calls in turn, until it comes to its end: its calls, and the number stored last.

    The verb stores a number, one more than the last. `found_after(number, place)` checks what stands after a cut, that
    number or the next, and tells it.
    """
    calls, stored = [], 1
    checks.that(victim(first or verb, folder, 1)[0] == 0, f"the first {verb}")
    for number in range(1, 1000):
        run = subprocess.run([TRACER, str(number), VICTIM, verb, folder, str(stored + 1)], capture_output=True,
                             text=True, timeout=60)
        if run.returncode == 3:
            break
        checks.that(run.returncode == 0, f"cut {number} of {verb}: {run.stderr}")
        calls.append(run.stdout.strip())
        stored = found_after(stored, f"after cut {number} of {verb} before {calls[-1]}")
    return calls, stored


def printed(folder, verb):
    """For `cuts`: a verb of the victim prints the number that stands."""
    def found_after(stored, place):
        status, found = victim(verb, folder)
        is_one = status == 0 and found in (str(stored), str(stored + 1))
        checks.that(is_one, f"{place}: {found}")
        return int(found) if is_one else stored
    return found_after


def strings(folder):
    """The same for a string of the app's own: after each cut it is the old one or the new one, and the other stays."""
    def found_after(stored, place):
        old, new = (victim("string", folder, value) for value in (stored, stored + 1))
        checks.that({old, new} == {(0, "same\nsame"), (0, "same\nother")}, f"{place}: {old}, {new}")
        return stored + (new == (0, "same\nsame"))

    calls, stored = cuts(folder, "define", found_after, first="first")
    for call in ("unlinkat", "openat", "write", "fsync", "renameat"):
        checks.that(call in calls, f"defining a string did not call {call}")
    checks.that(calls.count("fsync") == 2, "a definition synchronizes its file, and its folder")
    checks.that(stored > 1, "a cut after the renaming leaves the new string")
    names = {entry.name.split("-")[0] for entry in pathlib.Path(folder).iterdir()}
    checks.that(names <= {"strings", "strings.lock"}, f"leftovers: {names}")


def links(folder):
    """The same for the memory of a link: the command and the ratchet's values that may follow it, or those before."""
    pathlib.Path(folder).mkdir(mode=0o700)
    calls, stored = cuts(folder, "remember", printed(folder, "remembered"))
    for call in ("openat", "write", "fsync", "renameat"):
        checks.that(call in calls, f"saving a link's memory did not call {call}")
    checks.that(calls.count("fsync") == 2, "the memory of a link synchronizes its file, and its folder")
    checks.that(calls.index("fsync") < calls.index("renameat"), "the memory is on the medium before it has the name")
    checks.that(stored > 1, "a cut after the renaming leaves the new memory")
    names = {entry.name.split("-")[0] for entry in pathlib.Path(folder).iterdir()}
    checks.that(names == {"link"}, f"leftovers: {names}")


def making(place, *missing):
    """A folder, and those above it that are missing, are on the medium one after the other before the store is used."""
    calls, folder = [], place.joinpath("new", *missing)
    folder.parents[len(missing) - 1].mkdir(exist_ok=True)
    for number in range(1, 1000):
        run = subprocess.run([TRACER, str(number), VICTIM, "make", str(folder)], capture_output=True, text=True,
                             timeout=60)
        shutil.rmtree(place / "new" / missing[0], ignore_errors=True)
        if run.returncode == 3:
            break
        checks.that(run.returncode == 0, f"cut {number} of making {folder}: {run.stderr}")
        calls.append(run.stdout.strip())
    # The first of those that fails for want of a folder above is tried again.
    made = [call for call in calls if call in ("mkdir", "fsync")]
    expected = ["mkdir"] * (len(missing) - 1) + ["mkdir", "fsync"] * len(missing)
    checks.that(made[:len(expected)] == expected, f"each folder is on the medium before the next: {made}")


def masks(place):
    """For its owner alone, whatever mask the process has: one that forbids nothing, and one that forbids everything."""
    for umask in (0, 0o277):
        folder = place / f"state-{umask:o}" / "store"
        # A folder that its maker may not enter is no fault of the store's.
        if umask:
            folder.mkdir(mode=0o700, parents=True)
        status, words = victim("save", folder, 1, umask=umask)
        checks.that(status == 0, f"a mask of {umask:o}: {words}")
        for path, mode in ((folder, 0o700), (folder / "measurement", 0o600), (folder / "lock", 0o600)):
            found = path.stat().st_mode & 0o7777 if path.exists() else None
            checks.that(found == mode, f"a mask of {umask:o}: {path.name} has mode {found}")
    checks.that((place / "state-0").stat().st_mode & 0o7777 == 0o700, "a folder above that was missing")


def main():
    with tempfile.TemporaryDirectory() as place:
        masks(pathlib.Path(place))
        redemptions.play(checks, TRACER, VICTIM, RECORDER, place)
        making(pathlib.Path(place), "store")
        making(pathlib.Path(place), "state", "store")
        strings(str(pathlib.Path(place) / "strings"))
        links(str(pathlib.Path(place) / "links"))
        folder = pathlib.Path(place) / "store"
        calls, stored = cuts(str(folder), "save", printed(str(folder), "load"))
        print("cut before each of:", " ".join(calls))
        for call in ("unlinkat", "openat", "write", "fsync", "renameat"):
            checks.that(call in calls, f"the save did not call {call}: the tracer watched something else")
        checks.that(calls.count("fsync") == 2, "a save synchronizes its file, and its folder")
        checks.that(calls.index("fsync") < calls.index("renameat"), "the file is on the medium before it has the name")
        checks.that(stored > 1, "a cut after the renaming leaves the new pair")
        checks.that(not list(folder.glob("*.damaged-*")), "no cut damages anything")
        checks.that(victim("save", folder, stored + 1)[0] == 0, "the next save works")
        names = {entry.name for entry in folder.iterdir()}
        checks.that(names == {"measurement", "lock", "CACHEDIR.TAG"}, f"leftovers: {names}")
        old = victim("save", folder, stored)
        checks.that(old[0] == 1 and "would not be newer" in old[1], f"an older generation: {old}")

        holder = subprocess.Popen([VICTIM, "hold", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)
        checks.that(holder.stdout.readline().strip() == "held", "the holder")
        status, words = victim("load", folder)
        checks.that(status == 1 and f"in use by process {holder.pid}." in words, f"two processes: {words}")
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
        holder.stdin.close()
        holder.stdout.close()
        checks.that(victim("load", folder) == (0, str(stored + 1)), "a killed process leaves no lock behind")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
