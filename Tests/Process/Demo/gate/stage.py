# SPDX-License-Identifier: Apache-2.0

"""The processes of the demonstration and the folder that they use. Both end with it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[4]
BIN = pathlib.Path(os.environ.get("PROOF_BIN", ROOT / ".build" / "release")).resolve()
PATIENCE = 300


class Trouble(Exception):
    """The reason why the demonstration cannot go on."""


class Interrupted(BaseException):
    """A signal asked the demonstration to end."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def block(heading, kind, number=0):
    """A block of docs/GATE.md, by its heading."""
    text = (ROOT / "docs/GATE.md").read_text().split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)[number]


def commands(heading, number=0):
    """The commands of a block of docs/GATE.md."""
    return re.split(r"(?<!\\)\n", block(heading, "sh", number).strip())


class Child:
    """A process. Its output is read as it comes; lines of JSON become dictionaries."""

    def __init__(self, stage, name, command, environment=None):
        self.name = name
        # proof-child ends the program when the demonstration is killed. A session of its own keeps Ctrl-C from it.
        self.process = subprocess.Popen(
            [BIN / "proof-child", str(os.getpid()), shutil.which(command[0]), *map(str, command[1:])],
            cwd=stage.folder, text=True,
            env=stage.environment | (environment or {}), start_new_session=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        stage.children.append(self)
        self.lines, self.news = [], threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            try:
                found = json.loads(line)
            except ValueError:
                found = None
            with self.news:
                self.lines.append(found if isinstance(found, dict) else {"event": line.strip()})
                self.news.notify_all()
        with self.news:
            self.lines.append({"event": "ended"})
            self.news.notify_all()

    def wait(self, wanted, after=0):
        """The first line from a position on that is wanted; a name is the line's event."""
        def is_wanted(line):
            return wanted in line.get("event", "") if isinstance(wanted, str) else wanted(line)

        def found():
            return next((line for line in self.lines[after:] if line.get("event") == "ended" or is_wanted(line)), None)
        with self.news:
            line = found() if self.news.wait_for(found, PATIENCE) else None
        if line is None or (line.get("event") == "ended" and not is_wanted(line)):
            raise Trouble(f"{self.name} did not say what it must; its last lines: {self.lines[-5:]}")
        return line

    def tell(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def end(self, number=signal.SIGTERM):
        """Ends the process, and kills what it started and left."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for descriptor in self.left():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)
        self.reader.join(timeout=PATIENCE)
        self.process.stdin.close()
        if not self.reader.is_alive():
            self.process.stdout.close()

    def left(self):
        """Descriptors of the processes of the child's session. A number may be another's later, a descriptor not."""
        for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(int(path.parent.name))
                # The name may have blanks; state, parent, group and session follow it.
                session = path.read_text().rpartition(")")[2].split()[3]
                if int(session) == self.process.pid:
                    yield descriptor
                else:
                    os.close(descriptor)


class Stage:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="proof-demo-gate-"))
        self.children = []
        # The user's own settings are left out: an app's environment is measured.
        self.environment = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(self.folder), "LANG": "C.UTF-8",
                            "TMPDIR": str(self.folder)}
        # The operator's tool and the service read the store with it.
        self.operator = {"PROOF_PASSPHRASE": "four words of demonstration", "PROOF_STORE": str(self.folder / "store")}

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, text, mode=0o600):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return str(path)

    def start(self, name, *command, environment=None):
        return Child(self, name, command, environment)

    def run(self, *command):
        """Runs a program to its end: its standard output."""
        done = subprocess.run([str(word) for word in command], cwd=self.folder, env=self.environment | self.operator,
                              capture_output=True, text=True, timeout=PATIENCE, check=False, start_new_session=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise Trouble(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return done.stdout

    def shell(self, line):
        return self.run("bash", "-euo", "pipefail", "-c", line)

    def operate(self, *words):
        """Runs the operator's tool: its answer."""
        return json.loads(self.run(BIN / "proofctl", *words, "--json", "--store", self.path("store")))

    def close(self):
        for child in reversed(self.children):
            child.end()
        shutil.rmtree(self.folder)
