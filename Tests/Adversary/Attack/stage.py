# SPDX-License-Identifier: Apache-2.0

"""The stage of an attack: an installed app, the judge it talks to, and the conversation between them."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / ".build" / "attack"
OBJECTS = BUILD / "objects"
PYTHON = ROOT / ".build" / "pypi" / "bin" / "python"  # The one that has frida

CORE = ["CSources/ProofCore/include", "CSources/ProofKey/include", "CSources/ProofProbe/include", "CSources/ProofProbe"]
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

VERDICTS = {1: "accepted", 2: "accepted, device only", 16: "integrity differs", 17: "device differs", 35: "superseded",
            "damaged": "configuration damaged"}


class Refusal(Exception):
    """The app or the judge answered with an error."""


def run(*command):
    """A tool that must succeed; its words come with the failure."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done


def compiler(*more):
    include = [f"-I{ROOT / folder}" for folder in CORE]
    return [os.environ.get("CC", "cc"), *WARNINGS, "-O2", *os.environ.get("CFLAGS", "").split(), *more, *include]


def object_name(source):
    """The name of a source's object. Two folders of the probe may each have a source of one name."""
    return f"{source.parent.name}-{source.stem}.o"


def link_app(name, objects, binding="-Wl,-z,lazy"):
    run(*compiler(binding, "-Wl,--wrap=clock_gettime"), "-pthread", *objects, BUILD / "libsample.so.1",
        "-Wl,-rpath,$ORIGIN:.", "-lsodium", "-o", BUILD / name)


def alone():
    """Waits until no other run plays on this machine, and keeps it to the end of this process. One attack sets
    breakpoints on every processor: the untouched app of another run would not be accepted meanwhile."""
    # The kernel lets go of the lock with the process.
    fcntl.flock(os.open("/run/proofkit-attack.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600), fcntl.LOCK_EX)


def compile_all():
    """Builds the app, its library, the forged library, what is injected, and the judge, below .build/attack."""
    OBJECTS.mkdir(parents=True, exist_ok=True)
    alone()
    core = sorted((ROOT / "CSources/ProofCore").glob("*.c")) + [ROOT / "CSources/ProofKey/sdk_key.c"]
    probe = sorted((ROOT / "CSources/ProofProbe").glob("*/*.c"))
    flags = compiler()
    library = [*flags, "-shared", "-fPIC", "-Wl,-soname,libsample.so.1"]
    run(*library, HERE / "sample_library.c", "-o", BUILD / "libsample.so.1")
    run(*library, "-DSAMPLE_ANSWER=1", HERE / "sample_library.c", "-o", BUILD / "libforged.so")
    for name in ("first", "second"):
        run(*flags, "-shared", "-fPIC", f"-Wl,-soname,libplugin-{name}.so", HERE / "sample_library.c",
            "-o", BUILD / f"libplugin-{name}.so")
    for name in ("preload", "audit"):
        run(*flags, "-shared", "-fPIC", HERE / f"{name}.c", "-o", BUILD / f"lib{name}.so")
    # Both ways to bind: lazily, with slots that stay writable, and at once, with slots that are sealed. The second path
    # is for the copy that runs from memory and has no folder of its own.
    objects = []
    for source in [HERE / "sample.c", HERE / "inside.c", HERE / "clock.c", *core, *probe]:
        objects.append(OBJECTS / object_name(source))
        run(*flags, "-c", source, "-o", objects[-1])
    for name, binding in (("sample", "-Wl,-z,lazy"), ("sample-now", "-Wl,-z,now")):
        link_app(name, objects, binding)
    for name in ("rank", "breakpoint", "lurker"):
        run(*flags, HERE / f"{name}.c", "-o", BUILD / name)
    run(*flags, "-D_GNU_SOURCE", HERE / "move.c", "-o", BUILD / "move")
    run(*flags, "-pthread", HERE / "pin.c", "-o", BUILD / "pin")
    run(*flags, HERE / "exchange.c", "-o", BUILD / "exchange")
    run(*flags, HERE / "judge.c", *core, ROOT / "CSources/ProofProbe/evidence/sources.c", "-lsodium",
        "-o", BUILD / "judge")


class Process:
    """A program that answers line by line."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, bufsize=1, **options)
        self.answer()

    @property
    def pid(self):
        return self.process.pid

    def answer(self):
        lines = []
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == "ok":
                return lines
            if line.startswith("error "):
                raise Refusal(line[6:])
            lines.append(line)
        raise Refusal(f"ended with {self.process.wait()}")

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Refusal(f"ended with {self.process.wait()}") from None
        return self.answer()

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        with contextlib.suppress(BrokenPipeError):  # Bytes unread at its end
            self.process.stdin.close()


class Judge(Process):
    def __init__(self):
        super().__init__([BUILD / "judge"])

    def enrol(self, app, policy, generation=1):
        """The service's work: baseline, configuration, token."""
        records = app.ask(f"records {policy}")
        lines = self.ask("\n".join([f"enrol {policy} {generation}", *records, "end"]))
        words = dict(line.split(" ", 1) for line in lines)
        if words["verdict"] != "3":
            raise Refusal("the hardware does not hold the token: verdict " + words["verdict"])
        return words["config"]

    def judge(self, app, kind=1):
        """One command under a fresh challenge. The verdict's number."""
        challenge = self.ask("challenge")[0].split(" ", 1)[1]
        message = app.ask(f"command {challenge} {kind}")[0].split(" ")[1]
        return int(self.ask(f"command {message}")[0].split(" ")[1])


def mounts_below(folder):
    """Mount points in a folder, as this process sees them."""
    inside = str(pathlib.Path(folder).resolve()) + "/"
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        points = [line.split(" ")[4].replace("\\040", " ") for line in mounts]
    return [point for point in points if (point + "/").startswith(inside)]


def remove_folder(folder):
    """Deletes a folder, and never what is mounted in it: an attack that failed between two mounts may have left the
    system's own folders there."""
    left = mounts_below(folder)
    if left:
        raise SystemExit(f"{folder} is not deleted: something is mounted at {', '.join(left[:3])}")
    shutil.rmtree(folder, ignore_errors=True)


class Stage:
    """One installation: executable, library, bundle, storage. Made anew for each attack."""

    def __init__(self, folder, program="sample", wrapper=(), options=()):
        self.folder = pathlib.Path(folder)
        self.program = program
        self.wrapper = list(wrapper)
        self.options = list(options)
        self.app_folder = self.folder / "app"
        self.executable = self.app_folder / "sample"
        self.library = self.app_folder / "libsample.so.1"
        self.bundle = self.folder / "bundle"
        self.storage = self.folder / "storage"
        self.spare = self.folder / "spare"
        self.running = []
        self.install()

    def install(self):
        remove_folder(self.folder)
        for folder in (self.app_folder, self.bundle / "views", self.storage, self.spare):
            folder.mkdir(parents=True)
        self.storage.chmod(0o700)
        shutil.copy(BUILD / self.program, self.executable)
        shutil.copy(BUILD / "libsample.so.1", self.library)
        for index in range(12):
            (self.bundle / "views" / f"view-{index:02}").write_text(f"view {index}\n" * (index + 1))
        (self.bundle / "rules").write_text("doors stay shut\n" * 8000)
        (self.bundle / "link").symlink_to("rules")

    def arguments(self):
        return [self.executable, "--bundle", self.bundle, "--storage", self.storage, *self.options]

    def start(self, wrapper=None, **options):
        """The app, running. `wrapper` is what runs it."""
        app = Process([*(self.wrapper if wrapper is None else wrapper), *self.arguments()], cwd=options.pop("cwd", "/"),
                      **options)
        self.running.append(app)
        return app

    def close(self):
        for process in self.running:
            process.close()
        self.running.clear()


def where(app):
    """Addresses of parts of the app, by name."""
    return {line.split(" ")[1]: int(line.split(" ")[2], 16) for line in app.ask("where")}


def diagnosis(app):
    """Differences: (source, text) of each finding."""
    return [tuple(line.split(" ", 5)[5].split("|", 1)) for line in app.ask("diagnose") if line.startswith("finding")]
