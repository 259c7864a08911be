# SPDX-License-Identifier: Apache-2.0

"""The programs that the probe is put into: how each is started, when it is ready, what it does besides."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = ROOT / ".build" / "apps"
CORE = BUILD / "core"
MEASURER = BUILD / "libmeasurer.so"
PYPI = ROOT / ".build" / "pypi"

# Longer than any answer takes on a loaded machine; a program that hangs ends here with a failure.
PATIENCE = 180


class Refusal(Exception):
    """The measuring thread answered with an error, or not at all."""


def run(*command, **options):
    """A tool that must succeed; its words come with the failure."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def build():
    """The C libraries and the plug-in that is linked with them, below .build/apps."""
    BUILD.mkdir(parents=True, exist_ok=True)
    run("make", "-s", "-C", ROOT / "CSources", f"BUILD={CORE}",
        env={name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")})
    flags = run("pkg-config", "--cflags", "--libs", "proofprobe", "proofkey",
                env=dict(os.environ, PKG_CONFIG_PATH=str(CORE))).split()
    run(os.environ.get("CC", "cc"), "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror",
        "-O2", "-shared", "-fPIC", "-pthread", "-Wl,-soname,libmeasurer.so", HERE / "measurer.c", HERE / "doors.c",
        *flags, f"-Wl,-rpath,{CORE}", "-o", MEASURER)


def relink(link, target):
    link.unlink(missing_ok=True)
    link.symlink_to(target)


class Program:
    """One start of a program. `left_out`: the sources its operator does not ask for. `own`: parts of the paths of the
    libraries that it opens itself, by which the operator lists its plugins.
    """

    left_out = ()
    own = ()
    needs = ()
    # Some of what `later` opens, by which the test knows that it did.
    opens = ("libnss_mdns4_minimal.so.2",)

    def __init__(self, folder, plugins, variables, wrapper=(), cwd="/"):
        folder.mkdir(parents=True, exist_ok=True)
        storage = self.made(folder.parent / "storage")
        self.pid = 0
        self.folder, self.bundle = folder, self.installed(folder.parent / "bundle")
        listener = socket.socket(socket.AF_UNIX)
        path = folder / "socket"
        path.unlink(missing_ok=True)
        # A socket's path is short, wherever this tree stands.
        with Inside(folder):
            listener.bind("socket")
        listener.listen()
        listener.settimeout(PATIENCE)
        link = f"/proc/{os.getpid()}/fd/{os.open(folder, os.O_PATH)}"
        self.held = int(link.rsplit("/", 1)[1])
        environment = {**variables, "PROOF_SOCKET": f"{link}/socket", "PROOF_BUNDLE": str(self.bundle),
                       "PROOF_STORAGE": str(storage), "PROOF_PLUGINS": str(plugins), **self.variables()}
        self.log = open(folder / "log", "w", encoding="utf-8")
        self.process = subprocess.Popen([*map(str, wrapper), *map(str, self.command())], cwd=cwd, env=environment,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
                                        bufsize=1, start_new_session=True)
        try:
            self.begun()
            connection, _ = listener.accept()
        except (TimeoutError, Refusal) as error:
            self.close()
            raise Refusal(f"did not begin: {error} {self.words()}") from None
        finally:
            listener.close()
        connection.settimeout(PATIENCE)
        self.connection = connection
        # A wrapper such as setsid may stand between this process and the program.
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        self.pid = struct.unpack("3i", credentials)[0]
        self.lines = connection.makefile("rw", encoding="utf-8", buffering=1)
        self.ask("ready")

    @staticmethod
    def made(storage):
        storage.mkdir(mode=0o700, exist_ok=True)
        return storage

    @staticmethod
    def installed(bundle):
        """The folder that is measured as the program's own."""
        if not bundle.exists():
            shutil.copytree(HERE / "programs", bundle)
            for path in BUILD.glob("App.class"):
                shutil.copy2(path, bundle)
        return bundle

    @classmethod
    def prepare(cls):
        """Makes what the program is started with, below .build/apps."""

    def variables(self):
        return {}

    def command(self):
        raise NotImplementedError

    def executable(self):
        return os.readlink(f"/proc/{self.pid}/exe")

    def begun(self):
        """Returns when the program has started, where it says so itself."""

    def words(self):
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-400:]

    def ask(self, line):
        try:
            self.lines.write(line + "\n")
            answer = []
            for said in self.lines:
                said = said.rstrip("\n")
                if said == "ok":
                    return answer
                if said.startswith("error "):
                    raise Refusal(f"{line.split()[0]}: {said}")
                answer.append(said)
        except TimeoutError:
            raise Refusal(f"{line.split()[0]}: no answer in {PATIENCE} seconds") from None
        except OSError as error:
            raise Refusal(f"{line.split()[0]}: {error}") from None
        raise Refusal(f"{line.split()[0]}: ended with {self.process.poll()} {self.words()}")

    def records(self, question):
        """Class, number, name and digest of each record; no digest if it is absent."""
        for line in self.ask(question):
            source, name, digest = line.split(" ")
            cls, number = map(int, source.split("/"))
            yield cls, number, bytes.fromhex(name), None if digest == "absent" else bytes.fromhex(digest)

    def collect(self, sources):
        return list(self.records("collect " + " ".join("/".join(map(str, source)) for source in sources)))

    def measured_under(self, config):
        """IM and DM under an encoded configuration, which stays."""
        self.ask("config " + config.hex())
        return tuple(map(bytes.fromhex, self.ask("measure")[0].split(" ")))

    def say(self, line):
        """Tells the program itself, and waits until it has done it."""
        self.process.stdin.write(line + "\n")
        for said in self.process.stdout:
            if said == "done\n":
                return
        raise Refusal(f"{line}: ended with {self.process.wait()} {self.words()}")

    def work(self):
        self.say("work")

    def later(self):
        """Opens what the system's libraries open for themselves at their first use."""
        self.say("later")

    def close(self):
        # The connection is still open here, so that the number is the program's.
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.log):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        if hasattr(self, "connection"):
            self.lines.close()
            self.connection.close()
        os.close(self.held)


class Inside:
    """This process's working folder, for as long as it lasts."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self.before = os.open(".", os.O_PATH | os.O_DIRECTORY)
        os.chdir(self.folder)

    def __exit__(self, *_):
        os.fchdir(self.before)
        os.close(self.before)


class Python(Program):
    """CPython in a virtual environment with numpy, pandas, lxml and cryptography; the environment is its bundle."""

    own = (str(PYPI), "/usr/lib/python3", "libmeasurer.so", "libffi.so")
    needs = (PYPI / "bin/python",)
    opens = ("libnss_mdns4_minimal.so.2", "libnss_systemd.so.2", "UTF-16.so", "EUC-JP.so", "legacy.so")

    @staticmethod
    def installed(bundle):
        return PYPI

    def command(self):
        return [PYPI / "bin" / "python", HERE / "programs" / "app.py", MEASURER]

    def begun(self):
        if self.process.stdout.readline() != "0\n":
            raise Refusal("the program did not come to its end of the beginning")


class Node(Program):
    """node with an addon. V8 writes code at run time and maps code of its own anew, so 3/4 is left out."""

    own = ("measurer",)
    left_out = ("3/4",)
    needs = ("/usr/bin/node",)

    @classmethod
    def prepare(cls):
        relink(BUILD / "measurer.node", MEASURER)

    def command(self):
        return ["/usr/bin/node", self.bundle / "app.js", BUILD / "measurer.node"]


class Redis(Program):
    """Redis with a module, under its own benchmark."""

    own = ("measurer",)
    needs = ("/usr/bin/redis-check-rdb",)
    opens = ()

    @classmethod
    def prepare(cls):
        # One program; it goes by the name it is called by.
        relink(BUILD / "redis-server", "/usr/bin/redis-check-rdb")

    def command(self):
        return [BUILD / "redis-server", "--port", "0", "--unixsocket", "redis", "--dir", self.folder, "--save", "",
                "--loadmodule", MEASURER]

    def begun(self):
        for said in self.process.stdout:
            if "eady to accept connections" in said:
                return
        raise Refusal("redis did not start")

    def client(self, *command):
        return [*command[:1], "-s", "redis", *command[1:]]

    def work(self):
        self.benchmark = subprocess.Popen(self.client("redis-benchmark", "-q", "-l", "-c", "4"), cwd=self.folder,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def later(self):
        """The system's libraries open nothing here; a child that saves is begun instead."""
        run(*self.client("redis-cli", "BGSAVE"), cwd=self.folder)

    def close(self):
        if hasattr(self, "benchmark"):
            self.benchmark.kill()
            self.benchmark.wait()
        super().close()


class Java(Program):
    """A Java machine with a JNI library. HotSpot writes code at run time, so 3/4 is left out."""

    own = ("measurer", "/usr/lib/jvm")
    left_out = ("3/4",)
    needs = ("/usr/bin/java", "/usr/bin/javac")

    @classmethod
    def prepare(cls):
        run("javac", "-d", BUILD, HERE / "programs" / "App.java")

    def command(self):
        return ["/usr/bin/java", "-cp", self.bundle, "App", MEASURER]


class Gtk(Program):
    """gtk3-demo on a virtual display, with a module of GTK. It is ready when its windows have been drawn.

    GDK asks OpenGL for its visuals once for a display and keeps the answer there. The first program of a display opens
    the OpenGL libraries for that, later ones do not. No program declares them: libepoxy opens them for itself.
    """

    own = ("measurer",)
    needs = ("/usr/bin/gtk3-demo", "/usr/bin/Xvfb")
    opens = ()
    display = None

    @classmethod
    def screen(cls):
        if cls.display is None:
            reading, writing = os.pipe()
            cls.server = subprocess.Popen(
                ["Xvfb", "-displayfd", str(writing), "-nolisten", "tcp", "-noreset", "-screen", "0", "800x600x24"],
                pass_fds=[writing], stderr=subprocess.DEVNULL)
            os.close(writing)
            with open(reading, encoding="ascii") as number:
                cls.display = f":{number.readline().strip()}"
        return cls.display

    @classmethod
    def end(cls):
        if cls.display is not None:
            cls.server.terminate()
            cls.server.wait()

    def variables(self):
        return {"DISPLAY": self.screen(), "GTK_MODULES": str(MEASURER), "GDK_BACKEND": "x11"}

    def command(self):
        return ["/usr/bin/gtk3-demo"]

    def work(self):
        """Draws by itself."""

    def later(self):
        """Opens nothing later: it takes no commands."""


PROGRAMS = {"python": Python, "node": Node, "redis": Redis, "java": Java, "gtk": Gtk}
