#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""A PostgreSQL whose disk is full, and clocks that jump, a node's or the database's: `cluster.sh disk_clock_test.py`.

The database lives on a file system of its own in a mount namespace, which ends with the test. That needs root.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from service_test import (BUILT, PATIENCE, POSTGRES, SERVERS, Node, control, exchanges_of,  # noqa: E402
                          make_account, marks)
from checks import Checks  # noqa: E402
from moved_clock import MovedClock  # noqa: E402
from service import let_unregistered_apps_pass, make_certificate  # noqa: E402

# Room for the server to start in, beside what the database has.
ROOM = 48 << 20


class SmallDisk:
    """The server `main` on a small file system, until the block ends."""

    def __init__(self):
        self.data = SERVERS / "main" / "data"
        self.mount = SERVERS / "main" / "small"

    def __enter__(self):
        control("-m", "fast", "stop")
        self.mount.mkdir()
        size = sum(one.stat().st_size for one in self.data.rglob("*") if one.is_file() and not one.is_symlink())
        # The holder keeps the namespace: the server may end when its disk is full, and the files must stay.
        self.holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             f"mount -t tmpfs -o size={size + ROOM},mode=755 small '{self.mount}' && cp -a '{self.data}' '{self.mount}'"
             " && echo ready && exec sleep infinity"], stdout=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise RuntimeError("no file system of its own")
        self.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.CalledProcessError):
            self.pg_ctl("-m", "immediate", "stop")
        self.holder.kill()
        self.holder.communicate()
        self.mount.rmdir()
        control("start")

    def inside(self, *command):
        return subprocess.run(["nsenter", f"--mount=/proc/{self.holder.pid}/ns/mnt", *command], check=True,
                              stdout=subprocess.DEVNULL)

    def pg_ctl(self, *arguments):
        self.inside("setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--",
                    POSTGRES / "pg_ctl", "-D", self.mount / "data", "-l", SERVERS / "main" / "log", "-w", "-t", "60",
                    *arguments)

    def start(self):
        """Starts the server, unless it runs."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.pg_ctl("status")
            return
        self.pg_ctl("start")

    @property
    def root(self):
        return pathlib.Path(f"/proc/{self.holder.pid}/root{self.mount}")

    def fill(self):
        """Leaves no block free."""
        with open(self.root / "ballast", "ab") as ballast:
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(1 << 16))
                    ballast.flush()

    def free(self):
        (self.root / "ballast").unlink()


def test_full_disk(checks, store, certificate, folder):
    """503 while the disk is full; what was answered before is answered again afterwards, and counts once."""
    with SmallDisk() as disk, Node(store, certificate) as node:
        accepted = folder / "accepted.full"
        load = node.load("--accepted", accepted, "--seconds", 600, "--patient")
        before = marks()
        while marks() < before + 200:
            pass
        # The server ends its connections when it cannot write, and finds some room again when it recovers. So load and
        # filling go on until nothing is taken.
        end = time.monotonic() + PATIENCE
        while True:
            disk.fill()
            out, _ = node.load("--pairs", 4, "--devices", 4).communicate(timeout=PATIENCE * 3)
            refused = json.loads(out)
            if refused["answered"] == 0 or time.monotonic() > end:
                break
        node.wait_for("storage failed")
        load.terminate()
        load.communicate(timeout=PATIENCE)
        checks.that(refused["answered"] == 0 and any("503" in error for error in refused["errors"]),
                    f"a full disk takes no report, and the node says so: {out}")
        disk.free()
        disk.start()
        serves(checks, node, "without a restart of the node")
        exchanges = exchanges_of(accepted)
        checks.that(len(exchanges) > 100, f"{len(exchanges)} reports were accepted before")
        accepted.write_bytes(b"".join(len(one).to_bytes(4, "little") + one for pair in exchanges for one in pair))
        passed = node.metric("reports_passed_total")
        outcomes, errors = node.loaded("--replay", accepted)
        checks.that(outcomes == {"same": len(exchanges), "other askAgain": len(exchanges)} and not errors,
                    f"{len(exchanges)} accepted reports: {outcomes} {errors}")
        checks.that(node.metric("reports_passed_total") == passed, "none counts a second time")
        outcomes, errors = node.loaded("--pairs", 50, "--devices", 20)
        checks.that(outcomes == {"done": 50} and not errors, f"50 attestations afterwards: {outcomes} {errors}")
        checks.that(node.stop() == 0, "stops")


class Moved(Node):
    """A service whose clock the test moves."""

    def __init__(self, store, certificate, clock):
        self.environment = clock.environment
        super().__init__(store, certificate)


def serves(checks, node, case):
    """Waits until a node says that it serves."""
    status = node.health(200)[0]
    checks.that(status == 200, f"{case}: /health: {status}")


def no_challenge(checks, node, case):
    """A node whose clock differs from the database's says so, and issues none."""
    answer = node.health(503)
    checks.that(answer[0] == 503 and b"clocks" in answer[1], f"{case}: /health: {answer}")
    figures = json.loads(node.load("--pairs", 4, "--devices", 4).communicate(timeout=PATIENCE)[0])
    checks.that(figures["answered"] == 0 and any("503" in error for error in figures["errors"]),
                f"{case}: asked for challenges: {figures}")


def test_database_clock(checks, store, certificate, folder):
    """The database's clock jumps by an hour: the nodes issue no challenge, no report counts twice, and all is as before
    when the clock is right again."""
    clock = MovedClock(folder)
    control("-m", "fast", "stop")
    control("start", **clock.environment)
    try:
        with Node(store, certificate) as one, Node(store, certificate) as two:
            for seconds in (3600, -3600):
                case = f"the database {seconds:+} s"
                accepted = folder / f"accepted.database.{seconds}"
                outcomes, errors = one.loaded("--pairs", 40, "--devices", 10, "--accepted", accepted)
                checks.that(outcomes == {"done": 40} and not errors, f"{case}: before: {outcomes} {errors}")
                clock.move(seconds)
                for node in (one, two):
                    no_challenge(checks, node, case)
                passed = one.metric("reports_passed_total"), two.metric("reports_passed_total")
                for node in (two, one):
                    outcomes, errors = node.loaded("--replay", accepted)
                    answers = {"same", "askAgain"} if seconds > 0 else {"same"}
                    checks.that(set(outcomes) <= answers | {"other askAgain"} and not errors,
                                f"{case}: reports of before: {outcomes} {errors}")
                clock.move(0)
                for node in (one, two):
                    serves(checks, node, f"{case}, and back")
                    outcomes, errors = node.loaded("--replay", accepted)
                    checks.that(outcomes == {"same": 40, "other askAgain": 40} and not errors,
                                f"{case}, and back: reports of before: {outcomes} {errors}")
                now = one.metric("reports_passed_total"), two.metric("reports_passed_total")
                checks.that(now == passed, f"{case}: passed {passed}, then {now}")
                outcomes, errors = two.loaded("--pairs", 40, "--devices", 10)
                checks.that(outcomes == {"done": 40} and not errors, f"{case}, and back: {outcomes} {errors}")
            checks.that(one.stop() == 0 and two.stop() == 0, "both stop")
    finally:
        control("-m", "fast", "stop")
        control("start")


def test_clocks(checks, store, certificate, folder):
    """The clock of one node jumps by an hour: no report counts twice, and the other node's challenges stay good."""
    clock = MovedClock(folder)
    with Node(store, certificate) as right, Moved(store, certificate, clock) as wrong:
        for seconds in (3600, -3600, 0):
            case = f"{seconds:+} s"
            clock.move(0)
            # A request that comes while the clocks are compared is judged by the comparison before.
            serves(checks, wrong, case)
            accepted = folder / f"accepted.{seconds}"
            for node in (right, wrong):
                outcomes, errors = node.loaded("--pairs", 40, "--devices", 10, "--accepted", accepted)
                checks.that(outcomes == {"done": 40} and not errors, f"{case}: before: {outcomes} {errors}")
            clock.move(seconds)
            if seconds:
                no_challenge(checks, wrong, case)
            else:
                outcomes, errors = wrong.loaded("--pairs", 40, "--devices", 10)
                checks.that(outcomes == {"done": 40} and not errors, f"{case}: challenges: {outcomes} {errors}")
            passed = right.metric("reports_passed_total"), wrong.metric("reports_passed_total")
            for node in (wrong, right):
                outcomes, errors = node.loaded("--replay", accepted)
                answer = "askAgain" if seconds and node is wrong else "same"
                checks.that(outcomes == {answer: 80, "other askAgain": 80} and not errors,
                            f"{case}: reports of before: {outcomes} {errors}")
            now = right.metric("reports_passed_total"), wrong.metric("reports_passed_total")
            checks.that(now == passed, f"{case}: passed {passed}, then {now}")
            outcomes, errors = right.loaded("--pairs", 40, "--devices", 10)
            checks.that(outcomes == {"done": 40} and not errors,
                        f"{case}: the right clock goes on: {outcomes} {errors}")
        checks.that(wrong.stop() == 0 and right.stop() == 0, "both stop")


def main():
    if os.geteuid() != 0:
        print("skipped: a file system of its own needs root\n0 passed, 0 failed, 1 skipped")
        return 0
    checks = Checks()
    folder = pathlib.Path(tempfile.mkdtemp())
    # PostgreSQL's user loads the library of the moved clock.
    folder.chmod(0o755)
    try:
        key = folder / "key"
        key.write_bytes(b"\7" * 32)
        key.chmod(0o600)
        store = make_account(folder)
        let_unregistered_apps_pass(store)
        # Reports are sent again within this time.
        subprocess.run([BUILT / "proofctl", "policy", "set", "salt-lifetime=600", *store], check=True,
                       capture_output=True)
        certificate = make_certificate(folder, "service")
        test_clocks(checks, store, certificate, folder)
        test_database_clock(checks, store, certificate, folder)
        test_full_disk(checks, store, certificate, folder)
    finally:
        shutil.rmtree(folder)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
