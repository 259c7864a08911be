#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The attack matrix: real tools against a live app, judged by a real verifier.

  run.py [--only WORD] [--report FILE]

Each attack is one line, each of its verdicts one check, in every policy. As root the question is what is detected; a
second part, as an ordinary user, asks what the app's own hardening prevents. Mounts are made in a mount namespace of
this run's own. What this machine does not let be tried is named, and the run has failed. An attack that no kernel of
this version, or none of its file system tools, can make is skipped: named, counted, and not among what passed. The last
line is `N passed, M failed`.
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

from attacks import ATTACKS
from stage import BUILD, ROOT, VERDICTS, Judge, Refusal, Stage, compile_all, diagnosis, remove_folder, where
from stored import Case
from tools import frida, gdb, strace

sys.path.insert(0, str(ROOT / "Tests" / "Support" / "Runner"))
from checks import Checks  # noqa: E402

POLICIES = ("full", "incremental", "trusting")
SENT_NOWHERE = 99  # The sample's status, as in sample.c.
SECONDS_FOR_ONE = 300  # Far beyond what any attack takes: a hang must end as a failure.
OWN_MOUNTS = ["unshare", "--mount", "--propagation", "private"]
if os.geteuid() != 0:
    OWN_MOUNTS += ["--user", "--map-root-user"]
# As a folder for the ordinary user's part: on a disk, and open to everyone.
OPEN_TO_ALL = "/var/tmp"


@contextlib.contextmanager
def limited():
    """Ends what hangs."""
    signal.alarm(SECONDS_FOR_ONE)
    try:
        yield
    finally:
        signal.alarm(0)


def attack_once(attack, policy):
    """One attack under one policy. Two verdicts after it, and what the diagnosis says before and after them."""
    with contextlib.ExitStack() as stack:
        stage = Stage(BUILD / "stage", attack.program)
        stack.callback(stage.close)
        if attack.arranged is not None:
            stack.callback(attack.arranged(stage))
            # The app ends before what was mounted under it goes.
            stack.callback(stage.close)
        judge = Judge()
        stack.callback(judge.close)
        app = stage.start()
        config = judge.enrol(app, policy)
        app.ask("config " + config)
        for _ in range(2):
            if judge.judge(app) != 1:
                raise Refusal("the untouched app is not accepted: " + "; ".join(t for _, t in diagnosis(app)))
        if attack.stored is not None:
            return attack.stored(Case(stage, judge, app, config, policy)), [[]]
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
        first = diagnosis(app)
        verdicts = [judge.judge(app), judge.judge(app)]
        return verdicts, [first, diagnosis(app)]


def attack_until_done(make, attack, policy):
    """`make` makes the attack, and again where the tool failed to make it: the app's own fault handler saw its thread
    sent to an address in the first page, where no code of app, probe or library can be (`sample.c`). frida's injector
    does that about four times in 1,400, to the address 0x320 each time. Any other end of the app is a failure."""
    for _ in range(3):
        try:
            return make(attack, policy)
        except Refusal as refusal:
            if not attack.may_end_app or f"ended with {SENT_NOWHERE}" not in str(refusal):
                raise
            print(f"{attack.name}, {policy}: the tool sent the app's thread nowhere; made again", flush=True)
    raise Refusal("the tool sent the app's thread nowhere three times")


def matrix(checks, attacks):
    """Does them all; for each: the attack, its verdicts by policy, the sources that saw it."""
    for attack in attacks:
        cells, sources = {}, set()
        for policy in POLICIES:
            try:
                with limited():
                    verdicts, told = attack_until_done(attack_once, attack, policy)
            except (Refusal, RuntimeError, OSError, subprocess.SubprocessError) as error:
                verdicts, told = [None], [[("", f"{type(error).__name__}: {error}")]]
            cells[policy] = verdicts
            checks.that(all(verdict in attack.verdicts_under(policy) for verdict in verdicts),
                        f"{attack.name}, {policy}: verdict {verdicts}, {told}")
            for found in told:
                seen = {source for source, _ in found}
                sources |= seen
                must = attack.seen_under(policy)
                checks.that(seen >= set(must) if must else not seen,
                            f"{attack.name}, {policy}: seen by {sorted(seen)}, not by all of {must}: {found}")
                checks.that(not seen & set(attack.not_seen_by), f"{attack.name}, {policy}: seen by {sorted(seen)}")
                if attack.says is not None:
                    checks.that(attack.says in [text for _, text in found], f"{attack.name}, {policy}: says {found}")
        yield attack, cells, sorted(sources)


def words_of(verdicts):
    verdict = verdicts[0]
    same = all(other == verdict for other in verdicts)
    return (VERDICTS.get(verdict, "no proof") if same else " then ".join(str(v) for v in verdicts))


def verdict_of(cells):
    """In words: one for all policies that agree, and which do not."""
    words = {policy: words_of(cells[policy]) for policy in POLICIES}
    full = words.pop("full")
    return "; ".join([full, *(f"{policy}: {verdict}" for policy, verdict in words.items() if verdict != full)])


def line_of(row):
    attack, cells, sources = row
    return f"{attack.name:47} {attack.tool:18} {verdict_of(cells):22} {', '.join(sources) or '-'}"


# An ordinary user -----------------------------------------------------------------------------------------------

AS_NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]


def write_as_nobody(app, _wrapper):
    """/proc/PID/mem, opened by another process of the same user."""
    code = ("import sys\nwith open(f'/proc/{sys.argv[1]}/mem', 'r+b', buffering=0) as memory:\n"
            "    memory.seek(int(sys.argv[2]))\n    memory.write(memory.read(1))\n")
    at = where(app)["may_open"]
    subprocess.run([*AS_NOBODY, sys.executable, "-c", code, str(app.pid), str(at)], check=True, capture_output=True)


def gain_rights(app, _wrapper):
    """A set-user-id program, started by the app: an owner of the app would own its new rights."""
    program = app.folder / "rank"
    shutil.copy(BUILD / "rank", program)
    program.chmod(0o4755)
    app.ask(f"do gain {program}")


# Name, tool, how, and the verdict while it is done to an app that is not hardened.
PREVENTED = [
    ("debugger attached", "gdb", lambda app, wrapper: gdb(app, wrapper=wrapper).kill, 16),
    ("system calls traced", "strace", lambda app, wrapper: strace(app, wrapper=wrapper).kill, 16),
    ("function hooked", "frida", lambda app, wrapper: frida(app, wrapper=wrapper).end, 16),
    ("memory written", "/proc/PID/mem", write_as_nobody, 16),
    ("rights gained by a program it starts", "set-user-id", gain_rights, 1),
]


def attempt(tool, policy, harden, program="sample"):
    """Whether the tool got in, and the verdict while it tried and after it."""
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="proofkit-attack-", dir=OPEN_TO_ALL)
        stack.callback(remove_folder, folder)
        os.chmod(folder, 0o755)
        stage = Stage(pathlib.Path(folder) / "stage", program, options=["--harden"] if harden else [])
        run_as_owner(stage)
        stack.callback(stage.close)
        judge = Judge()
        stack.callback(judge.close)
        app = stage.start(wrapper=AS_NOBODY)
        app.folder = stage.folder
        # The only difference between the two is the hardening, not what this system allows to the tools of every user.
        app.ask("do traceable")
        app.ask("config " + judge.enrol(app, policy))
        if judge.judge(app) != 1:
            raise Refusal("the untouched app is not accepted")
        try:
            undo = tool(app, AS_NOBODY)
            entered = True
            if undo is not None:
                stack.callback(undo)
        except (Refusal, RuntimeError, OSError, subprocess.SubprocessError):
            entered = False
        return entered, judge.judge(app)


def run_as_owner(stage):
    for folder, _, names in os.walk(stage.folder):
        for path in [folder, *(os.path.join(folder, name) for name in names)]:
            os.chown(path, 65534, 65534, follow_symlinks=False)


def prevention(checks):
    print("\nAs an ordinary user, from another process of that user:")
    for name, tool, attack, seen_as in PREVENTED:
        for policy in POLICIES:
            with limited():
                control, control_verdict = attempt(attack, policy, harden=False)
                hardened, verdict = attempt(attack, policy, harden=True)
            checks.that(control, f"{name}, {policy}: without hardening it should succeed")
            checks.that(control_verdict == seen_as, f"{name}, {policy}: without hardening: verdict {control_verdict}")
            checks.that(not hardened, f"{name}, {policy}: succeeds although the app is hardened")
            checks.that(verdict == 1, f"{name}, {policy}: the hardened app is not accepted: {verdict}")
        print(f"{name:47} {tool:18} plain: {'succeeds' if control else 'fails'}, {VERDICTS.get(control_verdict, '?')}; "
              f"hardened: {'succeeds' if hardened else 'prevented'}, {VERDICTS.get(verdict, '?')}", flush=True)


# --------------------------------------------------------------------------------------------------------------


# Kept code ------------------------------------------------------------------------------------------------------

def attack_kept(attack, policy):
    """An attack on the code of an ordinary user's app that root installed: two measurements have kept its digests. What
    the diagnosis says of the untouched app, the verdict on it, and both after the attack."""
    with contextlib.ExitStack() as stack:
        folder = tempfile.mkdtemp(prefix="proofkit-attack-", dir=OPEN_TO_ALL)
        stack.callback(remove_folder, folder)
        os.chmod(folder, 0o755)
        stage = Stage(pathlib.Path(folder) / "stage", attack.program)
        for own in (stage.storage, stage.spare):
            os.chown(own, 65534, 65534)
        stack.callback(stage.close)
        judge = Judge()
        stack.callback(judge.close)
        app = stage.start(wrapper=AS_NOBODY)
        app.ask("config " + judge.enrol(app, policy))
        before = [judge.judge(app), judge.judge(app)]
        undo = attack.live(stage, app)
        if undo is not None:
            stack.callback(undo)
        return before, [judge.judge(app), judge.judge(app)], {source for source, _ in diagnosis(app)}


def kept_code(checks, word):
    print("\nOn an ordinary user's app that root installed, whose code was hashed before:")
    for attack in ATTACKS:
        if not attack.is_on_kept_code or word not in attack.name:
            continue
        for policy in POLICIES[1:]:
            before, after, seen = None, None, set()
            try:
                with limited():
                    before, after, seen = attack_until_done(attack_kept, attack, policy)
            except (Refusal, RuntimeError, OSError, subprocess.SubprocessError) as error:
                print(f"{attack.name}, {policy}: {type(error).__name__}: {error}", flush=True)
            checks.that(before == [1, 1], f"{attack.name}, {policy}: the untouched app: {before}")
            checks.that(after == [16, 16], f"{attack.name}, {policy}, kept code: verdicts {after}")
            checks.that(seen >= set(attack.seen_by), f"{attack.name}, {policy}, kept code: seen by {sorted(seen)}")
        print(f"{attack.name:47} {attack.tool:18} {words_of(after or [None])}, {', '.join(sorted(seen))}", flush=True)


def write_report(path, rows):
    """The table as Markdown."""
    lines = ["| attack | tool | sources that differ | verdict |", "|---|---|---|---|"]
    for attack, cells, sources in rows:
        lines.append(f"| {attack.name} | {attack.tool} | {', '.join(sources) or 'none'} | {verdict_of(cells)} |")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def check_page(checks, rows, skipped):
    """docs/SECURITY.md tells every attack, its verdict and the kill rate as they are. Sources that see an attack
    besides those that must are not compared: what an injected agent leaves behind varies."""
    page = (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    lines = [line.split(" | ") for line in page.split("\n") if line.startswith("| ")]
    for attack, cells, _ in rows:
        line = next((line for line in lines if line[:2] == ["| " + attack.name, attack.tool]), None)
        checks.that(line is not None and line[3] == verdict_of(cells) + " |"
                    and set(attack.seen_by) <= set(line[2].split(", ")),
                    f"{attack.name}: docs/SECURITY.md says {line}; the present table is in .build/attack/matrix.md")
    for attack in skipped:
        checks.that(any(line[:2] == ["| " + attack.name, attack.tool] for line in lines),
                    f"{attack.name}: skipped here, and docs/SECURITY.md has no row for it")
    # Each attack that was made is held to its own verdict, so that the rate is that of those listed.
    rate = f"Kill rate: {sum(not attack.survives for attack in ATTACKS)} of {len(ATTACKS)}"
    checks.that(rate in page, f'docs/SECURITY.md does not say "{rate}"')


def in_own_mounts():
    """Runs this program again in a mount namespace of its own: nothing it mounts is seen by anyone else."""
    if os.environ.get("PROOFKIT_ATTACK_MOUNTS") != "own":
        os.environ["PROOFKIT_ATTACK_MOUNTS"] = "own"
        os.execvp("unshare", [*OWN_MOUNTS, sys.executable, *sys.argv])


def works(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def may_attach():
    """Whether root may trace a process that is not its child's."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as subject:
        try:
            strace(subject).kill()
            return True
        except RuntimeError:
            return False


def obstacles():
    """Reasons why this machine cannot try every attack, in words. None is passed over."""
    if os.geteuid() != 0:
        return ["the matrix needs root: it mounts, traces, and changes users"]
    tools = ["gdb", "strace", "mkfs.xfs", "xfs_io",
             "valgrind", "qemu-x86_64", "unshare", "setpriv", "setarch", "chroot", "mount"]
    missing = [f"not installed: {tool} (.ci/setup attack)" for tool in tools if shutil.which(tool) is None]
    if missing:
        return missing
    found = []
    if subprocess.run([ROOT / ".ci" / "pypi", "attack"]).returncode != 0:
        found.append("not installed: frida (.ci/pypi attack)")
    if not works(*OWN_MOUNTS, "mount", "-t", "tmpfs", "none", "/mnt"):
        found.append("this system does not let root mount (CAP_SYS_ADMIN)")
    if not may_attach():
        found.append("this system does not let root trace another process (CAP_SYS_PTRACE, seccomp, or ptrace_scope 3)")
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        found.append("this is a process namespace of its own, as a container has: whether a debugger stands outside "
                     "of it cannot be seen here (docs/SECURITY.md)")
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    if scope.exists() and int(scope.read_text(encoding="ascii")) > 1:
        found.append(f"{scope} keeps everybody's tools out: what hardening prevents cannot be compared")
    if os.statvfs(OPEN_TO_ALL).f_flag & os.ST_NOSUID:
        found.append(f"{OPEN_TO_ALL} is mounted nosuid: what hardening prevents cannot be compared")
    return found


def give_up(_signal, _frame):
    raise RuntimeError("did not end")


def begin():
    """Ends with what cannot be tried here, or is ready: in mounts of its own, with everything compiled."""
    found = obstacles()
    if found:
        for obstacle in found:
            print("cannot be run here: " + obstacle)
        print(f"0 passed, {len(found)} failed")
        sys.exit(1)
    in_own_mounts()
    signal.signal(signal.SIGALRM, give_up)
    compile_all()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", default="", help="attacks whose name has this word")
    parser.add_argument("--report", type=pathlib.Path, default=ROOT / ".build" / "attack" / "matrix.md")
    arguments = parser.parse_args()
    begin()
    checks = Checks()
    rows, possible, skipped = [], [], []
    for attack in ATTACKS:
        if arguments.only not in attack.name:
            continue
        reason = attack.impossible() if attack.impossible is not None else None
        if reason is not None:
            print(f"skipped: {attack.name}: {reason}", flush=True)
        (possible if reason is None else skipped).append(attack)
    for row in matrix(checks, possible):
        rows.append(row)
        print(line_of(row), flush=True)
    seen = [row for row in rows if not any(1 in row[1][policy] for policy in POLICIES if policy != "trusting")]
    kept_code(checks, arguments.only)
    if not arguments.only:
        prevention(checks)
        write_report(arguments.report, rows)
        check_page(checks, rows, skipped)
    print(f"\nkill rate: {len(seen)} of {len(rows)} attacks, {len(skipped)} skipped")
    for row in rows:
        if row not in seen:
            print(f"survivor: {row[0].name} ({'expected' if row[0].survives else 'NOT EXPECTED'})")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
