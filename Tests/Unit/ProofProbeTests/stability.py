#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The same untouched app gives the same IM and DM; only DM stays when app, library, bundle or system is replaced.

  stability.py [--long]

Quick: 100 starts and 2,000 warm proofs. Long: 1,000 and 100,000. What is mounted is mounted in a namespace of its own,
for which an ordinary user needs user namespaces. The last line is `N passed, M failed`.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / name) for name in ("Adversary/Attack", "Support/Runner")]

import beginning  # noqa: E402
import live  # noqa: E402
from checks import Checks  # noqa: E402
from run import OWN_MOUNTS, in_own_mounts, works  # noqa: E402
from stage import BUILD, Judge, Stage, compile_all, diagnosis  # noqa: E402

# Reads, touches and backs up the bundle, over and over, until it is ended.
MEDDLER = r"""
while :; do
  cat "$1"/views/* "$1"/rules > "$2/read"
  touch "$1"/views/view-0* "$1"/rules
  tar -cf "$2/backup.tar" -C "$1" .
  cp -a "$1" "$2/copy" && rm -rf "$2/copy"
done
"""


class Subject:
    """One installed app with its baseline, and what it measured then."""

    def __init__(self, stack, policy):
        self.stage = Stage(BUILD / "stability")
        stack.callback(self.stage.close)
        judge = Judge()
        stack.callback(judge.close)
        app = self.stage.start()
        self.config = judge.enrol(app, policy)
        self.integrity, self.device = self.measure(app)
        app.close()

    def measure(self, app):
        app.ask("config " + self.config)
        return self.again(app)

    @staticmethod
    def again(app):
        return tuple(app.ask("measure")[0].split(" ")[1:3])

    def once(self, **options):
        """Starts, measures, ends. IM and DM, and why if they differ."""
        app = self.stage.start(**options)
        measured = self.measure(app)
        words = "; ".join(text for _, text in diagnosis(app)) if measured[0] != self.integrity else ""
        app.close()
        self.stage.running.remove(app)
        return measured, words


def same(checks, subject, name, **options):
    measured, words = subject.once(**options)
    return checks.that(measured == (subject.integrity, subject.device), f"{name}: {words or 'differs'}")


def starts(checks, number):
    """Other addresses each time; other folders, locales, variables, parents; load beside it, a log growing."""
    wrappers = [[], ["env"], ["sh", "-c", 'exec "$@"', "sh"], ["setsid", "-w"], ["nice", "-n", "5"],
                ["unshare", "--time", "--monotonic", "1000000", "--boottime", "1000000", "--fork"]]
    locales = ["C", "C.UTF-8", "POSIX", "de_DE.UTF-8", ""]
    with contextlib.ExitStack() as stack:
        subject = Subject(stack, "full")
        for _ in range(2):
            load = subprocess.Popen(["sh", "-c", "while :; do :; done"])
            stack.callback(load.wait)
            stack.callback(load.kill)
        for index in range(number):
            locale = locales[index % len(locales)]
            variables = {**os.environ, "LANG": locale, "LC_ALL": locale, f"UNMEASURED_{index}": "x" * (index % 977),
                         "LD_BIND_NOW": "1" if index % 2 else "", "TZ": f"UTC{index % 24 - 12:+}"}
            with open(subject.stage.folder / "app.log", "a", encoding="ascii") as log:
                log.write("a line\n" * index)
            same(checks, subject, f"start {index}", env=variables, wrapper=wrappers[index % len(wrappers)],
                 cwd=["/", "/usr", subject.stage.bundle, subject.stage.folder][index % 4])
    print(f"{number} starts: same IM and DM", flush=True)


def untouched_by_care(checks):
    """Checks changes by backups and administrators that leave a file's content as it was."""
    with contextlib.ExitStack() as stack:
        subject = Subject(stack, "incremental")
        stage = subject.stage
        for path in stage.bundle.rglob("*"):
            if path.is_file() and not path.is_symlink():
                os.utime(path, (4102444800, 4102444800))  # As if the clock stood in the year 2100.
        same(checks, subject, "files touched")
        shutil.copytree(stage.bundle, stage.spare / "away", symlinks=True)
        shutil.rmtree(stage.bundle)
        shutil.copytree(stage.spare / "away", stage.bundle, symlinks=True)
        same(checks, subject, "bundle copied away and back")
        shutil.copy(stage.executable, stage.spare / "sample")
        os.replace(stage.spare / "sample", stage.executable)
        same(checks, subject, "executable copied away and back")
        stage.folder.rename(stage.folder.with_name("stability-moved"))
        stage.folder.with_name("stability-moved").rename(stage.folder)
        same(checks, subject, "installation moved away and back")
    print("touched, copied and moved files: same IM and DM", flush=True)


def moved_clock(checks):
    """The time of day goes years ahead and back, in one process and at each start."""
    year = 31_557_600
    for policy in ("full", "incremental"):
        with contextlib.ExitStack() as stack:
            subject = Subject(stack, policy)
            for first in (0, -year, year):
                app = subject.stage.start()
                for shift in (first, first + 3600, first - 3600, first - 40 * year, first + 10 * year):
                    app.ask(f"clock {shift}")
                    checks.that(subject.measure(app) == (subject.integrity, subject.device),
                                f"clock set {shift} s ahead, {policy}: differs")
    print("clock set forward and back: same IM and DM", flush=True)


def any_load_order(checks):
    """The app opens its plugins in one order at the baseline, in the other order later."""
    plugins = [BUILD / f"libplugin-{name}.so" for name in ("first", "second")]
    for policy in ("full", "incremental"):
        with contextlib.ExitStack() as stack:
            stage = Stage(BUILD / "stability", options=[word for path in plugins for word in ("--plugin", path.name)])
            stack.callback(stage.close)
            judge = Judge()
            stack.callback(judge.close)
            for order in (plugins, plugins[::-1]):
                app = stage.start()
                for path in order:
                    app.ask(f"do dlopen {path}")
                if order is plugins:
                    config = judge.enrol(app, policy)
                app.ask("config " + config)
                checks.that(judge.judge(app) == 1, f"plugins opened in the order {order}, {policy}: {diagnosis(app)}")
    print("plugins opened in either order: accepted", flush=True)


def only_device_stays(checks):
    """Replacements after which IM must differ and DM must not."""
    cases = [("executable", beginning.executable_constant), ("library", beginning.library_swapped),
             ("bundle", lambda stage: live.bundle_changed(stage, None) or {}), ("os-release", beginning.other_release)]
    for policy in ("full", "incremental"):
        for name, change in cases:
            with contextlib.ExitStack() as stack:
                subject = Subject(stack, policy)
                options = change(subject.stage)
                if "undo" in options:
                    stack.callback(options.pop("undo"))
                (integrity, device), _ = subject.once(**options)
                checks.that(integrity != subject.integrity, f"{name} replaced, {policy}: IM stays")
                checks.that(device == subject.device, f"{name} replaced, {policy}: DM differs")
    print("executable, library, bundle, os-release replaced: DM stays, IM differs", flush=True)


def warm(checks, number):
    """One process, one proof after the other, while another process reads, touches and backs up the same files."""
    with contextlib.ExitStack() as stack:
        subject = Subject(stack, "incremental")
        app = subject.stage.start()
        subject.measure(app)
        meddler = subprocess.Popen(["sh", "-c", MEDDLER, "sh", subject.stage.bundle, subject.stage.spare],
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        stack.callback(meddler.wait)
        stack.callback(os.killpg, meddler.pid, 9)
        wrong = 0
        for index in range(number):
            measured = subject.again(app)
            if measured != (subject.integrity, subject.device):
                wrong += 1
                if wrong == 1:
                    words = "; ".join(text for _, text in diagnosis(app))
                    print(f"warm proof {index}: {words or 'differs'}", flush=True)
        checks.that(wrong == 0, f"{wrong} of {number} warm proofs differ")
    print(f"{number} warm proofs beside a meddler: {wrong} false alarms", flush=True)


def main():
    thorough = "--long" in sys.argv[1:]
    if not works(*OWN_MOUNTS, "mount", "-t", "tmpfs", "none", "/mnt"):
        print("cannot be run here: " + " ".join(OWN_MOUNTS) + ": neither root nor user namespaces may mount")
        print("0 passed, 1 failed")
        return 1
    in_own_mounts()
    compile_all()
    checks = Checks()
    untouched_by_care(checks)
    any_load_order(checks)
    moved_clock(checks)
    only_device_stays(checks)
    starts(checks, 1000 if thorough else 100)
    warm(checks, 100_000 if thorough else 2_000)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
