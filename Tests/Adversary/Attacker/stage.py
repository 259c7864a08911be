# SPDX-License-Identifier: Apache-2.0

"""The other parties: hardware as a real process, a backend that issues tokens and orders, an app that owns one."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading

from central import CAPABILITIES, CHALLENGE, REPLY, STATUS, AttError, Central
from proofspec.basics import DEVELOPMENT, FOREVER, PRODUCTION
from proofspec.curves import issuer_public
from proofspec.keys import DIVERSIFIED, Secrets, issuer_id
from proofspec.message import NO_RECEIPT, Type, Verdict, make_command, make_recall, parse_answer
from proofspec.order import create_order
from proofspec.proof import INTEGRITY, Occasion, receipt
from proofspec.token import Body, create_token, token_digest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = ROOT / ".build" / "attacker"
PROGRAM = os.environ.get("PROOF_HARDWARE", str(ROOT / ".build" / "core" / "proof-hardware"))

OPEN = (1, b"open")
BEGIN = 1_700_000_000
POWER_FAILED = 3
PAGE = 4096
MODES = {PRODUCTION: "production", DEVELOPMENT: "development"}


class Refused(AssertionError):
    """The process did not start."""


class Hardware:
    """One piece of hardware: its flash file, and the process while it has power."""

    def __init__(self, name, issuers, mode=PRODUCTION, *provision):
        self.folder = BUILD / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.flash = self.folder / "flash"
        # A socket's path is short: 108 bytes at most.
        self.room = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.room.name, "socket")
        self.process = self.ear = None
        self.log = []
        self.issuers = issuers
        self.mode = mode
        trusted = (word for key in issuers for word in ("--issuer", key.hex()))
        self.provision("--mode", MODES[mode], *trusted, *provision)

    def run(self, *words):
        """A run that ends by itself: provisioning, or a refusal."""
        return subprocess.run([PROGRAM, "--flash", str(self.flash), *words], capture_output=True, text=True, timeout=60)

    def provision(self, *words):
        """The parties here live in the past (BEGIN), so the time is unknown unless a test says otherwise."""
        done = self.run("--provision", *words, *([] if "--epoch" in words else ["--epoch", "0"]))
        if done.returncode != 0:
            raise Refused(done.stderr)
        fields = dict(line.split(" = ") for line in done.stdout.splitlines())
        self.id, self.public = bytes.fromhex(fields["id"]), bytes.fromhex(fields["public-key"])

    def features(self):
        """As provisioning prints them, and as the hardware tells them."""
        printed = self.run("--provision", "--floor", "0", "--epoch", "0").stdout
        if not self.start():
            raise AssertionError("it does not start")
        with self.connect() as link:
            told = int.from_bytes(link.read(CAPABILITIES)[4:8], "little")
        self.stop()
        if f"features = 0x{told:02x}\n" not in printed:
            raise AssertionError(f"it tells the features 0x{told:02x}, and provisioning printed {printed}")
        return told

    def start(self, *words, env=None):
        """Power on. Returns when it listens, or False when power failed before."""
        self.process = subprocess.Popen(
            [PROGRAM, "--flash", str(self.flash), "--socket", self.socket, "--log-level", "debug", *words],
            stderr=subprocess.PIPE, text=True, env=env)
        for line in self.process.stderr:
            self.log.append(line.rstrip())
            if "listening:" in line:
                self.ear = threading.Thread(target=self._listen, args=(self.process.stderr,), daemon=True)
                self.ear.start()
                return True
        self.process.wait()
        self.process.stderr.close()
        return False

    def _listen(self, stream):
        for line in stream:
            self.log.append(line.rstrip())
        stream.close()

    def cut(self):
        """Power off, without warning."""
        self.process.kill()
        self.process.wait()
        # A dead process leaves its socket behind; the next one clears it away.

    def stop(self):
        """Asks it to end; the exit status."""
        if self.process is None or self.process.poll() is not None:
            return None
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        if self.ear:
            self.ear.join()
        return status

    def scrap(self):
        self.stop()
        self.room.cleanup()

    def connect(self, mtu=185, subscribed=True):
        return Central(self.socket, mtu, subscribed)

    def resident(self):
        """Kilobytes of memory in use."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        raise AssertionError("no VmRSS")

    def done(self, central):
        """Reads the device's result of the last command on this link: result, lock open, commands done."""
        reply = central.read(REPLY)
        return reply[8], reply[9], int.from_bytes(reply[14:18], "little")

    def damage(self, page):
        with open(self.flash, "r+b") as file:
            file.seek(page * PAGE)
            file.write(os.urandom(PAGE))


class Backend:
    """An issuer."""

    def __init__(self, seed):
        self.seed = bytes([seed]) * 32
        self.public = issuer_public(self.seed)
        self.id = issuer_id(self.public)

    def order(self, type, issued, hardware_id, *about):
        return create_order(self.seed, type, issued, hardware_id, *about)


class App:
    """An instance with its measurement; `drift` is what differs from the one that the backend knows."""

    def __init__(self, seed):
        self.instance = bytes([seed]) * 16
        self.secrets = Secrets(*(bytes([seed + n]) * size for n, size in ((1, 16), (2, 32), (3, 16), (4, 32))))

    def body(self, backend, hardware, **changes):
        fields = {"mode": hardware.mode, "form": DIVERSIFIED, "integrity_classes": 0xF, "device_classes": 0x1,
                  "attempts": 3, "uses": FOREVER, "generation": 1, "not_after": 0, "issued": BEGIN,
                  "hardware_id": hardware.id, "instance_id": self.instance, "issuer_id": backend.id,
                  "secrets": self.shared(hardware)} | changes
        return Body(**fields)

    def shared(self, hardware):
        return self.secrets.diversified(hardware.id)

    def token(self, backend, hardware, **changes):
        return create_token(hardware.public, os.urandom(32), backend.seed, self.body(backend, hardware, **changes))

    def present(self, central, hardware, token):
        """Presents a token and checks the receipt; the verdict."""
        answer = parse_answer(central.say(Type.TOKEN, token)[1])
        if answer.verdict == Verdict.HELD:
            expected = receipt(self.shared(hardware).device_key, token_digest(token), 3, answer.detail, 0)
            assert answer.receipt == expected, "receipt of the token"
        return Verdict(answer.verdict)

    def ask(self, central):
        value = central.read(CHALLENGE)
        return int.from_bytes(value[:8], "little"), value[8:]

    def make(self, hardware, challenge, what=OPEN, kind=INTEGRITY, secrets=None):
        """A command and the occasion that its receipt answers."""
        counter, bytes_ = challenge
        occasion = Occasion(hardware.id, bytes_, counter, kind, *what)
        return make_command(occasion, self.instance, secrets or self.shared(hardware)), occasion

    def send(self, central, message):
        return parse_answer(central.say(Type.COMMAND, message)[1])

    def do(self, central, hardware, what=OPEN, kind=INTEGRITY, secrets=None):
        """Asks, proves, sends, checks the receipt of whatever has one. The answer."""
        command, occasion = self.make(hardware, self.ask(central), what, kind, secrets)
        answer = self.send(central, command.encoded())
        if answer.receipt != NO_RECEIPT and secrets is None:
            key = self.shared(hardware).device_key
            expected = receipt(key, occasion.nonce(), answer.verdict, answer.detail, answer.counter)
            assert answer.receipt == expected, "receipt of the command"
        return answer

    def do_or_fault(self, central, hardware):
        """The verdict on a command under an old challenge, where the hardware gives no new one."""
        try:
            challenge = self.ask(central)
        except AttError:
            challenge = (1, bytes(32))
        return Verdict(self.send(central, self.make(hardware, challenge)[0].encoded()).verdict)

    def recall(self, central, hardware, occasion):
        key = self.shared(hardware).device_key
        message = make_recall(key, self.instance, occasion.counter, occasion.nonce())
        answer = parse_answer(central.say(Type.RECALL, message.encoded())[1])
        if answer.receipt != NO_RECEIPT:
            expected = receipt(key, occasion.nonce(), answer.verdict, 0, occasion.counter)
            assert answer.receipt == expected, "receipt of the recall"
        return Verdict(answer.verdict)


def epoch_of(central):
    return int.from_bytes(central.read(STATUS)[20:28], "little")
