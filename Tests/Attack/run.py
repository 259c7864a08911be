#!/usr/bin/env python3
"""The attack matrix: real tools against a live app, judged by a real verifier.

  run.py [--only WORD] [--report FILE]

Each attack is one line, each of its verdicts one check, in both policies. As root the question is what is detected; a
second part, as an ordinary user, asks what the app's own hardening prevents. Mounts are made in a mount namespace of
this run's own. The last line is `N passed, M failed`.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import protocol
from attacks import ATTACKS, frida, gdb, strace, where
from stage import BUILD, ROOT, VERDICTS, Judge, Refusal, Stage, compile_all, diagnosis

POLICIES = ("full", "incremental")
SECONDS_FOR_ONE = 60  # Far beyond what any attack takes: a hang must end as a failure.


class Count:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.problems = []

    def check(self, holds, problem):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            self.problems.append(problem)
        return holds


def attack_once(attack, policy):
    """One attack under one policy. Verdicts after it, cold and warm, and what the diagnosis says."""
    with contextlib.ExitStack() as stack:
        stage = Stage(BUILD / "stage", attack.program)
        stack.callback(stage.close)
        judge = Judge()
        stack.callback(judge.close)
        app = stage.start()
        config = judge.enrol(app, policy)
        app.ask("config " + config)
        for _ in range(2):
            if judge.judge(app) != 1:
                raise Refusal("the untouched app is not accepted: " + "; ".join(t for _, t in diagnosis(app)))
        if attack.live is not None:
            undo = attack.live(stage, app)
            if undo is not None:
                stack.callback(undo)
        else:
            app.close()
            options = attack.start(stage)
            if "undo" in options:
                stack.callback(options.pop("undo"))
                # The app ends before what was mounted under it goes.
                stack.callback(stage.close)
            app = stage.start(**options)
            app.ask("config " + config)
        verdicts = [judge.judge(app), judge.judge(app)]
        return verdicts, diagnosis(app)


def matrix(count, only):
    rows = []
    for attack in ATTACKS:
        if only not in attack.name:
            continue
        cells, sources, texts = {}, set(), []
        for policy in POLICIES:
            signal.alarm(SECONDS_FOR_ONE)
            try:
                verdicts, found = attack_once(attack, policy)
            except (Refusal, RuntimeError, OSError, subprocess.SubprocessError) as error:
                verdicts, found = [None], [("", f"{type(error).__name__}: {error}")]
            signal.alarm(0)
            cells[policy] = verdicts
            sources |= {source for source, _ in found}
            texts = texts or [text for _, text in found]
            seen = {source for source, _ in found}
            count.check(all(verdict in attack.verdicts for verdict in verdicts),
                        f"{attack.name}, {policy}: verdict {verdicts}, {found[:3]}")
            count.check(bool(seen & set(attack.seen_by)) if attack.seen_by else not seen,
                        f"{attack.name}, {policy}: seen by {sorted(seen)}, not by any of {attack.seen_by}: {found[:3]}")
            count.check(not seen & set(attack.not_seen_by), f"{attack.name}, {policy}: seen by {sorted(seen)}")
        rows.append((attack, cells, sorted(sources), texts))
        print(line_of(rows[-1]), flush=True)
    return rows


def words_of(verdicts):
    verdict = verdicts[0]
    same = all(other == verdict for other in verdicts)
    return (VERDICTS.get(verdict, "no proof") if same else " then ".join(str(v) for v in verdicts))


def line_of(row):
    attack, cells, sources, _ = row
    full, incremental = (words_of(cells[policy]) for policy in POLICIES)
    verdict = full if full == incremental else f"full: {full}; incremental: {incremental}"
    return f"{attack.name:45} {attack.tool:18} {verdict:22} {', '.join(sources) or '-'}"


# An ordinary user -----------------------------------------------------------------------------------------------

AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]


def write_as_nobody(app, _wrapper):
    """/proc/PID/mem, opened by another process of the same user."""
    code = ("import sys\nwith open(f'/proc/{sys.argv[1]}/mem', 'r+b', buffering=0) as memory:\n"
            "    memory.seek(int(sys.argv[2]))\n    memory.write(memory.read(1))\n")
    at = where(app)["may_open"]
    subprocess.run([*AS_NOBODY, sys.executable, "-c", code, str(app.pid), str(at)], check=True, capture_output=True)


PREVENTED = [
    ("debugger attached", "gdb", lambda app, wrapper: gdb(app, wrapper=wrapper).kill),
    ("system calls traced", "strace", lambda app, wrapper: strace(app, wrapper=wrapper).kill),
    ("function hooked", "frida", lambda app, wrapper: frida(app, wrapper=wrapper).end),
    ("memory written", "/proc/PID/mem", write_as_nobody),
]


def others_may_trace():
    """Whether this system lets processes of one user look into each other at all."""
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    return not scope.exists() or scope.read_text(encoding="ascii").strip() == "0"


def attempt(tool, harden):
    """Whether the tool got in, and the verdict while it tried and after it."""
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="proofkit-attack-")
        stack.callback(shutil.rmtree, folder, True)
        os.chmod(folder, 0o755)
        stage = Stage(pathlib.Path(folder) / "stage", options=["--harden"] if harden else [])
        run_as_owner(stage)
        stack.callback(stage.close)
        judge = Judge()
        stack.callback(judge.close)
        app = stage.start(wrapper=AS_NOBODY)
        app.ask("config " + judge.enrol(app, "incremental"))
        if judge.judge(app) != 1:
            raise Refusal("the untouched app is not accepted")
        try:
            undo = tool(app, AS_NOBODY)
            entered = True
            if undo is not None:
                stack.callback(undo)
        except (RuntimeError, OSError, subprocess.SubprocessError):
            entered = False
        return entered, judge.judge(app)


def run_as_owner(stage):
    for folder, _, names in os.walk(stage.folder):
        for path in [folder, *(os.path.join(folder, name) for name in names)]:
            os.chown(path, 65534, 65534, follow_symlinks=False)


def prevention(count):
    print("\nAs an ordinary user, from another process of that user:")
    for name, tool, attack in PREVENTED:
        signal.alarm(SECONDS_FOR_ONE)
        control, control_verdict = attempt(attack, harden=False)
        hardened, verdict = attempt(attack, harden=True)
        signal.alarm(0)
        count.check(control == others_may_trace(), f"{name}: without hardening the tool should get in")
        count.check(not control or control_verdict == 16, f"{name}: without hardening: verdict {control_verdict}")
        count.check(not hardened, f"{name}: gets in although the app is hardened")
        count.check(verdict == 1, f"{name}: the hardened app is not accepted: {verdict}")
        words = ("gets in, " + VERDICTS.get(control_verdict, "?")) if control else "kept out by the system"
        print(f"{name:45} {tool:18} plain: {words}; hardened: {'gets in' if hardened else 'kept out'}, "
              f"{VERDICTS.get(verdict, '?')}", flush=True)


# --------------------------------------------------------------------------------------------------------------


def write_report(path, rows):
    """The table as Markdown."""
    lines = ["| attack | tool | sources that differ | verdict, full | verdict, incremental |", "|---|---|---|---|---|"]
    for attack, cells, sources, _ in rows:
        full, incremental = (words_of(cells[policy]) for policy in POLICIES)
        lines.append(f"| {attack.name} | {attack.tool} | {', '.join(sources) or 'none'} | {full} | {incremental} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def in_own_mounts():
    """Runs this program again in a mount namespace of its own: nothing it mounts is seen by anyone else."""
    if os.environ.get("PROOFKIT_ATTACK_MOUNTS") != "own":
        os.environ["PROOFKIT_ATTACK_MOUNTS"] = "own"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])


def missing_tools():
    """Names what is needed and not here. frida comes from PyPI into a virtual environment of this repository."""
    tools = ["gdb", "strace", "valgrind", "qemu-x86_64", "unshare", "setpriv", "mount"]
    missing = [tool for tool in tools if shutil.which(tool) is None]
    python = ROOT / ".build" / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parent.parent], check=True)
    if subprocess.run([python, "-c", "import frida"], capture_output=True).returncode != 0:
        install = subprocess.run([python, "-m", "pip", "install", "--quiet", "frida==17.*"], capture_output=True)
        if install.returncode != 0:
            missing.append("frida (PyPI)")
    return missing


def give_up(_signal, _frame):
    raise RuntimeError("did not end")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", help="attacks whose name has this word")
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / ".build" / "attack" / "matrix.md")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print("the attack matrix needs root: it mounts, traces and drops privileges")
        print("0 passed, 1 failed")
        return 1
    missing = missing_tools()
    if missing:
        print("not here: " + ", ".join(missing))
        print("0 passed, 1 failed")
        return 1
    in_own_mounts()
    signal.signal(signal.SIGALRM, give_up)
    compile_all()
    count = Count()
    rows = matrix(count, arguments.only)
    if not arguments.only:
        protocol.check(count)
        prevention(count)
        write_report(arguments.report, rows)
    wanted = [row for row in rows if row[0].seen_by]
    caught = [row for row in wanted if all(v in row[0].verdicts for vs in row[1].values() for v in vs)]
    survivors = [row[0].name for row in rows if any(1 in vs for vs in row[1].values())]
    print(f"\nkill rate: {len(caught)} of {len(wanted)} attacks on code, files, environment and device")
    print("survivors: " + ("; ".join(survivors) or "none"))
    for problem in count.problems:
        print("FAILED " + problem)
    print(f"{count.passed} passed, {count.failed} failed")
    return 1 if count.failed else 0


if __name__ == "__main__":
    sys.exit(main())
