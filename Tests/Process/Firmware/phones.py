# SPDX-License-Identifier: Apache-2.0

"""Phones with the SDK's sample app, the service, the backend and the operator's tool around the emulated board, as
`proof-demo --prepare` leaves them: real processes, no network unless a test asks for it.
"""

import contextlib
import json
import os
import pathlib
import queue
import re
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import board
from demonstration import BIN

FIRMWARE = pathlib.Path(board.HERE) / "proof-firmware"
API = "lock.example.com"
SECONDS = 120  # A hang must end as a failure. Nothing here takes a fraction of it.
# The environment is measured: the same one at each start of an app.
ENVIRONMENT = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ} | {"LANG": "C.UTF-8"}


def run(*words, status=0, environment=()):
    """A program's output; it must end with this status."""
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL,
                          env=ENVIRONMENT | dict(environment), check=False)
    if done.returncode != status:
        raise AssertionError(f"{words[:4]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout if status == 0 else done.stdout + done.stderr


def words(process):
    """All that a process says until it ends."""
    try:
        return "".join(process.communicate(timeout=SECONDS))
    finally:
        process.kill()


def prepare():
    """A folder in which a phone has enrolled at a lock and has its token, and the ports of service and backend. The
    lock has not seen the phone.
    """
    folder = pathlib.Path(tempfile.mkdtemp(prefix="d"))
    try:
        said = run(BIN / "proof-demo", "--json", "--prepare", folder / "0", "--hardware", FIRMWARE)
    except BaseException:
        shutil.rmtree(folder)
        raise
    ports = re.search(r"https://127\.0\.0\.1:(\d+), SQLite; http://127\.0\.0\.1:(\d+)", said.replace("\\/", "/"))
    return folder, tuple(map(int, ports.groups()))


class Program:
    """A program that runs until it is ended. Its lines are read at once, so that no pipe is ever full."""

    def __init__(self, *words):
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT)
        self.lines, self.said = queue.Queue(), []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip())
        self.lines.put(None)

    def line(self, what):
        """The next line that `what` is found in."""
        while True:
            try:
                line = self.lines.get(timeout=SECONDS)
            except queue.Empty:
                raise AssertionError(f"it has no line with {what!r}: {self.said[-8:]}") from None
            if line is None:
                raise AssertionError(f"it ended, and has no line with {what!r}: {self.said[-8:]}")
            self.said.append(line)
            if re.search(what, line):
                return line

    def end(self, sign):
        self.process.send_signal(sign)
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self.reader.join()
        self.process.stdout.close()


class Lock:
    """The board: its flash in a file, the firmware while it has power, and its log."""

    def __init__(self, folder, profile):
        self.flash, self.socket, self.program = folder / "flash", folder / "socket", None
        self.firmware = (FIRMWARE, "--profile", profile, "--flash", self.flash)

    def start(self):
        self.program = Program(*self.firmware, "--socket", self.socket, "--log-level", "debug")
        self.program.line("listening:")

    def cut(self):
        if self.program:
            self.program.end(signal.SIGKILL)
        self.program = None

    def cycle(self):
        self.cut()
        self.start()

    def restore(self, flash):
        """Puts an image of before back, while there is no power."""
        self.cut()
        self.flash.write_bytes(flash)
        self.start()

    def image(self):
        """Its flash between two visits: nothing is written then."""
        return self.flash.read_bytes()

    def erase(self):
        self.cut()
        self.flash.unlink()

    def provision(self, **fields):
        """Does as a factory does with a cable. A field `a_b` is the line `a-b` of the provisioning."""
        self.cut()
        file = self.flash.with_name("provisioning")
        file.touch(0o600)
        file.write_text("".join(f"{name.replace('_', '-')} = {value}\n" for name, value in fields.items()))
        said = run(*self.firmware, "--provision", file)
        file.unlink()
        self.start()
        return dict(line.split(" = ") for line in said.splitlines())

    def turn_page(self):
        """Passes over the log of before."""
        while not self.program.lines.empty():
            self.program.said.append(self.program.lines.get())

    def judges(self, message, verdict, detail="[0-9]+"):
        """Waits for the line of a judgement, which the board logs before the app has its answer. The low 32 bits of a
        command's counter.
        """
        line = self.program.line(rf": {message} of [0-9a-z]+: .+ \({verdict}\), detail {detail}(,|$)")
        return int(line.rsplit("-", 1)[1]) if message == "command" else None


class Phone:
    """The files of an installed app. Each verb is a process of its own, as after a restart of the phone."""

    def __init__(self, home, lock):
        self.home, self.lock = home, lock

    def start(self, verb, link=None):
        words = [BIN / "proof-demo", "app", "--json", "--home", self.home, "--socket", link or self.lock.socket]
        return subprocess.Popen([*map(str, words), *verb.split()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)

    def app(self, verb):
        """The app's answer to a verb: outcome, detail, isDone, and doneCount of a command."""
        self.lock.turn_page()
        said = words(self.start(verb))
        lines = [line for line in said.splitlines() if line.startswith("{")]
        if len(lines) != 1:
            raise AssertionError(f"the app said: {said}")
        return json.loads(lines[0])

    def copy(self, name):
        """Another phone with all of this one's files."""
        other = Phone(self.home.with_name(name), self.lock)
        shutil.copytree(self.home, other.home, symlinks=True)
        return other

    def back_up(self, name="backup"):
        copy = self.home.with_name(name)
        shutil.copytree(self.home / "storage", copy, symlinks=True)
        return copy

    def restore(self, backup):
        """Puts the app's folder back, as a restored backup does."""
        shutil.rmtree(self.home / "storage")
        shutil.copytree(backup, self.home / "storage", symlinks=True)


class World:
    """A copy of what was prepared, for one test. Service and backend do not run: there is no network."""

    def __init__(self, prepared, profile="full"):
        self.parent, self.ports = prepared
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=self.parent))
        run("cp", "-a", "--sparse=always", f"{self.parent}/0/.", self.folder)
        self.lock = Lock(self.folder / "lock", profile)
        self.phone = Phone(self.folder / "phone", self.lock)
        self.id = (self.phone.home / "paired" / "hardware").read_text().strip()
        self.account = ("--store", self.folder / "service" / "store", "--key-file",
                        self.folder / "service" / "store.key")
        self.backend = self.folder / "backend"
        self.issuer_key = self.backend / "issuer.key"
        self.issuer = json.loads(run(BIN / "proofctl", "issuer", "show", self.issuer_key, "--json"))["publicKey"]
        self.running = []

    def close(self):
        self.stop()
        self.lock.cut()
        shutil.rmtree(self.folder)

    def keep(self):
        """Takes the place of what was prepared: worlds that are made from now on begin with this one's files."""
        self.stop()
        self.lock.cut()
        shutil.rmtree(self.parent / "0")
        self.folder.rename(self.parent / "0")

    def proofctl(self, *words, status=0, environment=()):
        """The operator's tool on the account; its answer in JSON, or its refusal's words."""
        said = run(BIN / "proofctl", *words, "--json", *self.account, status=status, environment=environment)
        return json.loads(said) if status == 0 else said

    def sign_epoch(self, *words, environment=()):
        """An order of the time, signed by the backend's issuer."""
        return self.proofctl("order", "sign", "epoch", self.id, *words, "--issuer-key", self.issuer_key, "--ledger",
                             self.backend / "ledger", environment=environment)["order"]

    def stop(self):
        for program in self.running:
            program.end(signal.SIGTERM)
        self.running = []

    @contextlib.contextmanager
    def online(self, ratchet="report", channel=False):
        """Within, service and backend run at the addresses that the apps know. `channel`: tokens permit channels."""
        service = self.folder / "service"
        try:
            self.running.append(Program(
                BIN / "proof-service", *self.account, "--listen", f"127.0.0.1:{self.ports[0]}", "--certificate",
                service / "service.pem", "--private-key", service / "service.key", "--log", "json", "--quiet"))
            self.running[-1].line("listening")
            self.running.append(Program(
                BIN / "proof-unlock", "--port", self.ports[1], "--keys", self.backend / "sealing.jwk", "--issuer-key",
                self.issuer_key, "--factory-key", self.backend / "factory.key", "--store", service / "store",
                "--ledger", self.backend / "ledger", "--classes", "0,1,2", "--device-classes", "0", "--attempts", "20",
                "--audience", API, "--anyone", *(("--ratchet", ratchet) if ratchet else ()),
                *(("--channel",) if channel else ())))
            self.running[-1].line("listening on port")
            yield
        finally:
            self.stop()


class Relay:
    """Stands between an app and the lock, counts the PDUs of both directions, and asks before it passes one on."""

    def __init__(self, lock, passes):
        """`passes`: from the number of a PDU, whether it is the app's, and its bytes, whether the link goes on."""
        self.lock, self.passes, self.count = lock, passes, 0
        self.folder = tempfile.TemporaryDirectory(prefix="r")
        self.path = os.path.join(self.folder.name, "socket")
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.door.bind(self.path)
        self.door.listen(8)
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.door.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.door.close()
        self.folder.cleanup()

    def _serve(self):
        while True:
            try:
                app, _ = self.door.accept()
            except OSError:
                return
            with app, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as lock, contextlib.suppress(OSError):
                lock.connect(str(self.lock.socket))
                self._carry(app, lock)

    def _carry(self, app, lock):
        with selectors.DefaultSelector() as selector:
            selector.register(app, selectors.EVENT_READ, lock)
            selector.register(lock, selectors.EVENT_READ, app)
            while True:
                for key, _ in selector.select():
                    pdu = key.fileobj.recv(65536)
                    if not pdu:
                        return
                    self.count += 1
                    if not self.passes(self.count, key.fileobj is app, pdu):
                        return
                    key.data.send(pdu)
