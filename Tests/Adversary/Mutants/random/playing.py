# SPDX-License-Identifier: Apache-2.0

"""Copies of the tree, and the tests played in them: each against a time limit from a run without any mutant."""

import contextlib
import json
import os
import pathlib
import re
import select
import shlex
import signal
import subprocess
import sys
import time

from modules import C_ENVIRONMENT, C_TREE, FOLDER, OF_SWIFT, ROOT, STAGES, TREE
from source import squeezed

# A mutant that takes this many times as long as no mutant hangs. The machine may be busy with other work by then.
PATIENCE_FACTOR, PATIENCE_MIN = 6, 240
# Seconds in which a script that is told to end stops its servers.
ENDING = 10
# How the harness in C, its sanitizers, Swift and Python tell of a failure.
TOLD = re.compile(r"^[\w/.-]+\.[ch]:\d+: \w+: \"|✘ Test \S|runtime error: |ERROR: \w+Sanitizer|^FAIL|Fatal error|"
                  r"\.\.\. (?:FAIL|ERROR)$", re.MULTILINE)
BASELINES = FOLDER / "baselines.json"


def synchronise(target, names):
    """Makes the copy equal to the tree; only files that differ are written, so builds stay incremental."""
    for name in names:
        wanted = [ROOT / name] if (ROOT / name).is_file() else [p for p in (ROOT / name).rglob("*") if p.is_file()]
        there = {path for path in ([target / name] if (target / name).is_file() else (target / name).rglob("*"))
                 if path.is_file() and "__pycache__" not in path.parts}
        for path in wanted:
            if "__pycache__" in path.parts:
                continue
            copy = target / path.relative_to(ROOT)
            there.discard(copy)
            write(copy, path.read_bytes(), path.stat().st_mode)
        for path in there:
            path.unlink()


def write(path, data, mode=None):
    data = data.encode() if isinstance(data, str) else data
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if mode is not None:
            path.chmod(mode)


def tell_session(session, number):
    """Sends a signal to what was begun, also to what has a process group of its own."""
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            if os.getsid(int(entry.name)) == session:
                os.kill(int(entry.name), number)


def end_session(process):
    """Ends what was begun. A script may first stop servers that left its session, as cluster.sh does."""
    tell_session(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(ENDING)
    tell_session(process.pid, signal.SIGKILL)


def play(command, folder, seconds, environment=None):
    """The exit status, None for one that hangs, and what was printed. The first failure that is told ends it."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    variables["PYTHONUNBUFFERED"] = "1"
    process = subprocess.Popen(command, shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, env={**variables, **(environment or {})},
                               start_new_session=True, executable="/bin/bash")
    end, output, status = time.monotonic() + seconds, b"", None
    while time.monotonic() < end:
        if select.select([process.stdout], [], [], 1)[0]:
            piece = os.read(process.stdout.fileno(), 65536)
            output += piece
            if not piece or TOLD.search(output[-len(piece) - 200:].decode(errors="replace")):
                status = process.wait() if not piece else 1
                break
        elif process.poll() is not None:  # Something it left behind holds the pipe.
            status = process.returncode
            break
    end_session(process)
    process.stdout.close()
    process.wait()
    return status, output.decode(errors="replace")


def command_of(stage):
    """The stage's command, the copy it is played in, and its environment."""
    if stage.startswith("@"):
        command, folder, environment = command_of(stage[1:])
        return f"Tests/Process/Scale/cluster.sh {command}", folder, environment
    if stage.startswith("core of "):
        return STAGES["core of this noun"].format(noun=stage.removeprefix("core of ")), C_TREE, C_ENVIRONMENT
    if stage in OF_SWIFT:
        return STAGES[stage], TREE, {"PYPI_FOLDER": str(ROOT / ".build/pypi")}
    if stage in STAGES:
        return STAGES[stage], C_TREE, C_ENVIRONMENT
    if stage.startswith("!"):
        binaries = str(TREE / ".build" / "debug")
        python = str(ROOT / ".build/pypi/bin/python") if re.search("Backend|Gate|Scale", stage) else "/usr/bin/python3"
        return (f"{shlex.quote(python)} {stage[1:]}", TREE,
                {"PROOF_BUILT": binaries, "PROOF_BIN": binaries, "PYTHONDONTWRITEBYTECODE": "1"})
    return f"swift test --skip-build --disable-xctest --filter '^({stage})\\.'", TREE, {}


def baselines():
    return json.loads(BASELINES.read_text()) if BASELINES.exists() else {}


def patience(stage):
    """The time limit of a stage. The first time it is asked, the stage is played without a mutant, and must pass."""
    seconds = baselines().get(stage) or played_alone(stage)
    return max(PATIENCE_MIN, PATIENCE_FACTOR * seconds)


def played_alone(stage, more=None):
    """The seconds that a stage takes without a mutant, which are kept."""
    command, folder, environment = command_of(stage)
    begin = time.monotonic()
    status, output = play(command, folder, 3600, {**environment, "MUTANT_CHOSEN": "0", **(more or {})})
    if status != 0:
        sys.exit(f"mutants: without any mutant this fails: {stage}\n{output[-3000:]}")
    seconds = round(time.monotonic() - begin, 1)
    BASELINES.write_text(json.dumps(baselines() | {stage: seconds}, indent=1) + "\n")
    print(f"  without a mutant {stage} takes {seconds} s", flush=True)
    return seconds


def noticed(command, folder, seconds, environment):
    """How a mutant is noticed, or nothing."""
    status, output = play(command, folder, seconds, environment)
    if status is None:  # Other work may have held it up: it hangs if it does so again.
        status, output = play(command, folder, seconds, environment)
    if status is None:
        return "hangs, twice"
    return last_word(output) if status != 0 else ""


def judge(names, number=0):
    """Plays the stages until one notices: (verdict, stage, its last word)."""
    for stage in names:
        command, folder, environment = command_of(stage)
        word = noticed(command, folder, patience(stage), {**environment, "MUTANT_CHOSEN": str(number)})
        if word:
            return "killed", stage, word
    return "survived", names[-1], ""


def last_word(output):
    """The first line that tells of a failure."""
    told = TOLD.search(output)
    if told:
        begin = output.rfind("\n", 0, told.start()) + 1
        return squeezed(output[begin:].split("\n", 1)[0])[:160]
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "the process ended"
