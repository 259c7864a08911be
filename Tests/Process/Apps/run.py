#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The probe inside programs of other people: however they are started and whatever they do, one IM, one DM, no alarm.

    run.py [--starts N] [--keep] [PROGRAM…]     all programs, 3 starts each; --keep: goes on after a failure

An untouched program is enrolled once: its plugins are listed, a baseline is taken. Each start after that has another
working folder, locale, time zone, HOME, environment and parent. In every second start the program computes while it is
measured, and its system libraries open what they open for themselves: name services, character sets, providers. Then it
enrols with a running proof-service, whose programs are in the folder PROOF_BIN, and its token is good. The last line
counts; a program that is not installed is a failure.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from programs import BUILD, PROGRAMS, Gtk, Refusal, build

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))

from checks import Checks  # noqa: E402

# Programs are measured and do not enrol if the service's programs are missing.
if "PROOF_BIN" in os.environ:
    import enrolment
else:
    enrolment = None

LOCALES = ["C", "C.UTF-8", "POSIX", "de_DE.UTF-8", ""]
WRAPPERS = [[], ["env"], ["setsid", "-w"], ["nice", "-n", "5"], ["sh", "-c", 'exec "$@"', "sh"]]
ZONES = ["UTC", "Asia/Tokyo", "", "EST5EDT"]

# Name services of an ordinary desktop, set on every machine: another one for hosts, one for users.
SWITCH = "passwd: files systemd\ngroup: files systemd\nhosts: files mdns4_minimal [NOTFOUND=return] dns\n"
DESKTOP = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/nsswitch.conf && exec "$@"']

QUIET = ("LD_", "PYTHON", "NODE_", "JAVA_", "MAKE", "MFLAGS", "GTK_", "PROOF_")


def variables_of(index, home):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(QUIET)}
    return {**inherited, "LANG": LOCALES[index % 5], "LC_ALL": LOCALES[index % 5], "TZ": ZONES[index % 4],
            "HOME": ["/root", "/nonexistent", str(home)][index % 3], f"UNMEASURED_{index}": "x" * (index * 997 % 4001)}


def name_of(path):
    """By which name the probe knows the object."""
    said = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True).stdout
    for line in said.splitlines():
        if "(SONAME)" in line:
            return line.split("[", 1)[1].rstrip("]")
    return os.path.basename(path)


def opened_by_itself(program, path):
    return any(place in path for place in program.own)


class Subject:
    """One program, enrolled."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.plugins = folder / "plugins"
        self.plugins.write_text("")
        with self.start(0) as listed:
            names = sorted({name_of(path) for path in listed.ask("objects") if opened_by_itself(program, path)})
        self.plugins.write_text("\n".join(names) + "\n")
        with self.start(0) as enrolled:
            self.config = enrolled.ask("baseline " + " ".join(program.left_out))[0]
            self.measured = enrolled.ask("measure")[0]
            self.records = self.observed(enrolled)

    @contextlib.contextmanager
    def start(self, index, wrapper=()):
        cwd = ["/", "/usr", self.folder, "/var"][index % 4]
        started = self.program(self.folder / f"start{index}", self.plugins, variables_of(index, self.folder),
                               wrapper=wrapper, cwd=cwd)
        try:
            yield started
        finally:
            started.close()

    def observed(self, started):
        """{record: digest} of what a configuration of this program asks for."""
        return {f"{cls}/{number} {name.decode(errors='replace')}": digest for cls, number, name, digest in
                started.records("records " + " ".join(self.program.left_out))}

    def differing(self, started):
        """The records that are not the enrolled program's, for people."""
        now = self.observed(started)
        return sorted(name for name in now.keys() | self.records.keys() if now.get(name) != self.records.get(name))


def judge(checks, subject, started, name):
    measured = started.ask("measure")[0]
    if measured != subject.measured:
        words = subject.differing(started)
        part = "DM" if measured.split(" ")[1] != subject.measured.split(" ")[1] else "IM"
        checks.that(False, f"{name}: another {part}\n    " + "\n    ".join(words))
    else:
        checks.that(True, "")
    alarms = started.ask("alarms")
    checks.that(not alarms, f"{name}: {len(alarms)} alarms\n    " + "\n    ".join(alarms))


def play(checks, subject, index, desktop):
    busy = index % 2 == 1
    wrapper = [*(desktop if busy else []), *WRAPPERS[index % 5]]
    name = f"{subject.program.__name__}, start {index}"
    with subject.start(index, wrapper) as started:
        started.ask("config " + subject.config)
        judge(checks, subject, started, f"{name}, as it is")
        if busy:
            started.work()
            judge(checks, subject, started, f"{name}, at work")
            started.later()
            opened = {os.path.basename(path) for path in started.ask("objects")}
            expected = {other for other in started.opens if desktop or "mdns" not in other}
            checks.that(expected <= opened, f"{name}: did not open {' '.join(sorted(expected - opened))}")
            judge(checks, subject, started, f"{name}, after what libraries open for themselves")
        judge(checks, subject, started, f"{name}, again")


def enrol(checks, subject, account, desktop):
    """The program is registered by its files, starts, works, and gets a token that its API accepts; with another file
    in its bundle it gets one that is refused."""
    name = subject.program.__name__
    account.ask_without(subject.program.left_out)
    with subject.start(1, desktop) as started:
        account.register(started.executable(), started.bundle)
        started.work()
        started.later()
        outcome, token, _, reasons = account.fetch(started)
        good, said = account.is_good(token)
        checks.that(outcome == 1 and good, f"{name}: outcome {outcome}, {reasons}, {said}")
        stranger = started.bundle / "stranger"
        stranger.write_text("not registered\n")
        try:
            outcome, token, _, _ = account.fetch(started)
        finally:
            stranger.unlink()
        checks.that(outcome == 1 and not account.is_good(token)[0], f"{name}: a changed bundle got a good token")


def desktop_of(folder):
    """The command that gives a program a desktop's name services; empty where this user may not mount."""
    switch = folder / "nsswitch.conf"
    switch.write_text(SWITCH)
    command = [*DESKTOP, str(switch)]
    return command if subprocess.run([*command, "true"], capture_output=True).returncode == 0 else []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--starts", type=int, default=3)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("programs", nargs="*")
    asked = parser.parse_args()
    checks = Checks()
    build()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="stage", dir=BUILD))
    skipped, account = 0, None
    try:
        desktop = desktop_of(folder)
        account = enrolment.Account() if enrolment else None
        for name, program in PROGRAMS.items():
            if asked.programs and name not in asked.programs:
                continue
            missing = [str(path) for path in program.needs if not os.path.exists(path)]
            if not checks.that(not missing, f"{name}: not installed: {' '.join(missing)}"):
                continue
            skipped += 0 if desktop else asked.starts // 2
            place = folder / name
            place.mkdir()
            before = checks.failed
            try:
                program.prepare()
                subject = Subject(program, place)
                for index in range(1, asked.starts + 1):
                    play(checks, subject, index, desktop)
                    if checks.failed > before and not asked.keep:
                        break
                if account:
                    enrol(checks, subject, account, desktop)
            except Refusal as refusal:
                checks.that(False, f"{name}: {refusal}")
            print(f"{name}: {asked.starts} starts, {checks.failed - before} failures", flush=True)
    finally:
        Gtk.end()
        if account:
            account.close()
        shutil.rmtree(folder, ignore_errors=True)
    if skipped:
        print(f"skipped: {skipped} starts with a desktop's name services, because this user may not mount")
    if not enrolment:
        print("skipped: enrolment, because PROOF_BIN names no folder with proofctl and proof-service")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
