#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The demonstration of several machines from outside: its lines, its exit status, and what it leaves behind."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "Support" / "Runner"))
from checks import Checks  # noqa: E402

LINES = ["stands", "load", "failover", "failover", "again", "node", "node", "node", "upgrade", "end"]
PATIENCE = 400


def leftovers(folder):
    """Processes that name the demonstration's folder, and what still lies there."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(folder) in words:
                found.append(words.strip())
    return found + [str(path) for path in folder.iterdir()]


def start(folder):
    # A shell that starts a test in the background has it ignore SIGINT, and so would the demonstration.
    return subprocess.Popen([sys.executable, "-B", HERE / "demo.py", "--json"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(folder)},
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def main():
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        demonstration = start(folder)
        out, problem = demonstration.communicate(timeout=PATIENCE)
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        checks.that(demonstration.returncode == 0, f"status {demonstration.returncode}: {problem[-2000:]}")
        checks.that([line["line"] for line in lines] == LINES, f"the lines: {out}")
        failovers = [line for line in lines if line["line"] == "failover"]
        checks.that([line["kind"] for line in failovers] == ["switchover", "postgres"], f"the failovers: {failovers}")
        for line in failovers:
            checks.that(line["lost"] == line["twice"] == 0 and line["accepted"] > 0, f"a failover: {line}")
        for line in lines:
            if line["line"] == "again":
                checks.that(line["again"] > 0 and line["others"] == 0, f"sent again: {line}")
            if line["line"] == "upgrade":
                checks.that(line["attestations"] > 0 and line["failed"] == 0, f"the upgrade: {line}")
        checks.that(not leftovers(folder), f"left behind: {leftovers(folder)}")

        # It is interrupted while the database stands up.
        demonstration = start(folder)
        # The demonstration does not tell this moment: its folder is read again and again.
        while not list(folder.glob("*/haproxy.cfg")) and demonstration.poll() is None:
            time.sleep(0.05)
        demonstration.send_signal(signal.SIGINT)
        demonstration.communicate(timeout=PATIENCE)
        checks.that(demonstration.returncode != 0, "an interrupted demonstration ends with an error")
        checks.that(not leftovers(folder), f"left behind after SIGINT: {leftovers(folder)}")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
