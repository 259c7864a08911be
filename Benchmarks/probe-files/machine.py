# SPDX-License-Identifier: Apache-2.0

"""Load of the machine by other work, and resources of one process on it."""

import os
import time

# The share of all processors that others may take in a quiet moment.
QUIET = 0.05

TICK = 1 / os.sysconf("SC_CLK_TCK")


def busy_seconds() -> float:
    """Working time of all processors so far, stolen time included."""
    with open("/proc/stat", encoding="ascii") as stat:
        numbers = [int(field) for field in stat.readline().split()[1:9]]
    user, nice, system, _idle, _wait, irq, soft, stolen = numbers
    return (user + nice + system + irq + soft + stolen) * TICK


def put_first() -> bool:
    """This process and its children before all others, if root asks for it: others then hardly get in between."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    return True


# Whether to rest between rounds, for others' sake, instead of waiting for them.
rests = False
last_round = 0.0


def wait() -> None:
    """Before a round: waits for a moment in which others leave the processors alone, but not for long."""
    if rests:
        time.sleep(last_round)
        return
    for _ in range(30):
        before = busy_seconds()
        time.sleep(0.1)
        if busy_seconds() - before <= 0.1 * QUIET * (os.cpu_count() or 1):
            return


def describe() -> str:
    """Processor, number of processors, memory, kernel."""
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / (1 << 30)
    return f"{model}, {os.cpu_count()} processors, {memory:.0f} GiB, {os.uname().sysname} {os.uname().release}"


class Foreign:
    """The share of all processors that others took while this was open."""

    def __enter__(self) -> "Foreign":
        self.own = 0.0
        self.share = 1.0
        self.before, self.began = busy_seconds(), time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        global last_round
        wall = last_round = time.monotonic() - self.began
        others = busy_seconds() - self.before - self.own
        self.share = max(0.0, others) / max(wall * (os.cpu_count() or 1), TICK)


def run(command: list[str], folder: str) -> tuple[float, float]:
    """Runs a program in a folder, its output thrown away. Seconds it took, and seconds of processor."""
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    nothing = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
    began = time.perf_counter()
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=nothing)
    _, status, usage = os.wait4(child, 0)
    took = time.perf_counter() - began
    os.fchdir(here)
    os.close(here)
    if status != 0:
        raise SystemExit(f"{command[0]} failed with status {status}")
    return took, usage.ru_utime + usage.ru_stime


def quantile(values: list[float], q: float) -> float:
    """A quantile that is one of the values."""
    ordered = sorted(values)
    return ordered[round((len(ordered) - 1) * q)]
