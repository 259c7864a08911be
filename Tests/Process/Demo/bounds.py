# SPDX-License-Identifier: Apache-2.0

"""Bounds of the thief's programs, the relay and the shop: sizes of packets and paths, queues, files and time limits."""

import json
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

from demonstration import BIN, MOMENT, ROOT
from till import Till

sys.path[:0] = [str(ROOT / "Tests" / name) for name in ("Vectors", "Support/Runner")]
from proofspec import frame, message  # noqa: E402
from recorded_waits import RecordedWaits  # noqa: E402

MEBIBYTE = 2**20
# PDUs of the attribute protocol, and the handles of docs/LINK.md.
SUBSCRIBE, SUBSCRIBED = bytes([0x12, 0x0B, 0, 1, 0]), bytes([0x13])
READ, READ_ON = bytes([0x0A, 0x05, 0]), bytes([0x0C, 0x05, 0])
COMMAND, NOTIFIED = bytes([0x52, 0x08, 0]), bytes([0x1B, 0x0A, 0])


def written(content):
    """The PDUs of a COMMAND."""
    return [COMMAND + packet for packet in frame.fragments(message.Type.COMMAND, content, 20)]


def notified(verdict):
    """The PDUs of a VERDICT."""
    content = message.Answer(verdict).encoded()
    return [NOTIFIED + packet for packet in frame.fragments(message.Type.VERDICT, content, 20)]


class LockByHand:
    """A lock's side of a link: it answers, and keeps each message that came."""

    def __init__(self, link):
        self.link, self.messages = link, []
        assert link.recv(2000) == SUBSCRIBE
        link.send(SUBSCRIBED)

    def take(self, handle, verdict):
        """Takes a message that is written to a handle, and answers it."""
        receiver, state = frame.Receiver(), frame.MORE
        while state == frame.MORE:
            pdu = self.link.recv(2000)
            assert pdu[:3] == bytes([0x52, handle, 0]), pdu
            state = receiver.receive(pdu[3:])
        assert state == frame.COMPLETE, state
        self.messages.append(receiver.message)
        for pdu in notified(verdict):
            self.link.send(pdu)

    def challenge(self, content):
        """Hands out a challenge, in parts of 22 bytes."""
        assert self.link.recv(2000) == READ
        self.link.send(b"\x0b" + content[:22])
        assert self.link.recv(2000) == READ_ON + bytes([22, 0])
        self.link.send(b"\x0d" + content[22:])


class Socketed(unittest.TestCase):
    """A test with a short folder for sockets."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="b"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.door, self.lock = str(self.folder / "door"), str(self.folder / "lock")

    def made(self, listens=None):
        made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(made.close)
        made.settimeout(MOMENT)
        if listens:
            made.bind(listens)
            made.listen()
        return made

    def connect(self, path):
        made = self.made()
        made.connect(path)
        return made

    def accept(self, listener):
        accepted = listener.accept()[0]
        self.addCleanup(accepted.close)
        accepted.settimeout(MOMENT)
        return accepted

    def start(self, *words, **more):
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, **more)

        def end():
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=MOMENT)
        self.addCleanup(end)
        return process

    def attack(self, *words):
        return self.start(BIN / "proof-demo", "attack", *words)

    def told(self, process):
        output, errors = process.communicate(timeout=MOMENT)
        return process.returncode, output, errors

    def full(self, process, path):
        """How many connections a listener that is stopped takes. It goes on afterwards."""
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        held = []
        try:
            while True:
                one = self.made()
                one.setblocking(False)
                try:
                    one.connect(path)
                except BlockingIOError:
                    return len(held)
                held.append(one)
        finally:
            self.during_the_queue()
            for one in held:
                one.close()
            process.send_signal(signal.SIGCONT)

    def during_the_queue(self):
        """A subclass looks at the listener here, while its queue is full."""


class ALinkByHand(Socketed):
    def serve(self, listener, verdicts):
        """A lock's side of a replay: the PDUs that came."""
        link = self.accept(listener)
        came = [link.recv(2000)]
        link.send(SUBSCRIBED)
        for index, verdict in enumerate(verdicts):
            if index:
                # A challenge is read in parts of 22 bytes.
                challenge = bytes(range(1, 41))
                came.append(link.recv(2000))
                link.send(b"\x0b" + challenge[:22])
                came.append(link.recv(2000))
                link.send(b"\x0d" + challenge[22:])
            while True:
                came.append(link.recv(2000))
                if came[-1][:3] == COMMAND and came[-1][3] & frame.LAST:
                    break
            for pdu in notified(verdict):
                link.send(pdu)
        self.assertEqual(link.recv(2000), b"")
        return came

    def test_a_recording_is_sent_before_and_after_a_challenge_in_packets_of_20_bytes(self):
        listener = self.made(self.lock)
        content = bytes([1, 1]) + bytes(range(96))
        for second, says in ((message.Verdict.STALE, "stale\n"),
                             (message.Verdict.DEVICE_DIFFERS, "stale, then device differs\n")):
            attack = self.attack("replay", "--command", content.hex(), "--socket", self.lock)
            came = self.serve(listener, [message.Verdict.STALE, second])
            self.assertEqual(self.told(attack), (0, says, ""))
            self.assertEqual(came, [SUBSCRIBE, *written(content), READ, READ_ON + bytes([22, 0]), *written(content)])

    def test_an_error_and_an_end_of_the_lock_are_told(self):
        listener = self.made(self.lock)
        for pdu, says in ((bytes([1, 0x12, 0x0B, 0, 3]), "the hardware answers error 3"),
                          (None, "the hardware closed the link, or sent nothing for 20 seconds")):
            attack = self.attack("replay", "--command", "00" * 98, "--socket", self.lock)
            link = self.accept(listener)
            self.assertEqual(link.recv(2000), SUBSCRIBE)
            if pdu:
                link.send(pdu)
            else:
                link.close()
            self.assertEqual(self.told(attack), (1, "", f"proof-demo attack: {says}\n"))

    def tap(self, *options):
        listener = self.made(self.lock)
        tap = self.attack("tap", "--listen", self.door, "--socket", self.lock, *options)
        self.assertEqual(tap.stdout.readline(), "ready\n")
        return tap, listener

    def test_a_tap_passes_what_is_no_command_as_it_is(self):
        _, listener = self.tap()
        app = self.connect(self.door)
        lock = self.accept(listener)
        # A write of nothing, and one to another characteristic, are no packets of a command.
        for pdu in (SUBSCRIBE, READ, COMMAND, bytes([0x52, 0x03, 0]) + bytes(20), b"x", bytes(1024), COMMAND[:2]):
            app.send(pdu)
            self.assertEqual(lock.recv(2000), pdu)
            lock.send(pdu)
            self.assertEqual(app.recv(2000), pdu)
        # A PDU has at most 1,024 bytes.
        app.send(bytes(1025))
        self.assertEqual(lock.recv(2000), bytes(1024))

    def test_a_tap_passes_a_command_when_it_is_whole(self):
        tap, listener = self.tap()
        app = self.connect(self.door)
        lock = self.accept(listener)
        # The last packet has 3 bytes, the fewest that one can have, with the last two sizes.
        for size in (98, 102, 69, 87):
            content = bytes([1, 2]) + os.urandom(size - 2)
            pdus = written(content)
            for pdu in pdus:
                app.send(pdu)
            self.assertEqual([lock.recv(2000) for _ in pdus], pdus)
            self.assertEqual(tap.stdout.readline(), f"command {content.hex()}\n")
            for pdu in notified(message.Verdict.ACCEPTED):
                lock.send(pdu)
                self.assertEqual(app.recv(2000), pdu)

    def test_a_tap_replaces_the_command_and_its_class_and_nothing_else(self):
        tap, listener = self.tap("--replace", "open")
        app = self.connect(self.door)
        lock = self.accept(listener)
        head = bytes([1, 5]) + os.urandom(88)
        for number in range(2):
            for pdu in written(head + b"status"):
                app.send(pdu)
            passed = head[:1] + b"\x01" + head[2:] + b"open" if number == 0 else head + b"status"
            expected = written(passed)
            self.assertEqual([lock.recv(2000) for _ in expected], expected)
            self.assertEqual(tap.stdout.readline(), f"command {(head + b'status').hex()}\n")
            for pdu in notified(message.Verdict.DEVICE_DIFFERS):
                lock.send(pdu)
                self.assertEqual(app.recv(2000), pdu)
            if number == 0:
                self.assertEqual(tap.stdout.readline(), "verdict device differs\n")
        tap.kill()
        self.assertEqual(tap.stdout.read(), "")

    def test_a_tap_holds_9_apps_in_its_queue(self):
        tap, listener = self.tap()
        first = self.connect(self.door)
        self.accept(listener)
        first.send(READ)
        self.assertEqual(self.full(tap, self.door), 9)

    def test_a_path_has_room_for_107_bytes(self):
        start = str(self.folder) + "/"
        path = start + "l" * (107 - len(start))
        listener = self.made(path)
        attack = self.attack("replay", "--command", "00" * 98, "--socket", path)
        self.accept(listener).close()
        self.assertIn("the hardware closed the link", self.told(attack)[2])
        for words in (("replay", "--command", "00" * 98, "--socket", path + "l"),
                      ("tap", "--socket", path, "--listen", path + "l")):
            self.assertEqual(self.told(self.attack(*words)), (
                1, "", f"proof-demo attack: {path}l is too long for a socket\n"))

    def test_a_closed_standard_input_changes_nothing(self):
        line = ["bash", "-c", 'exec "$@" <&-', "bash"]
        process = self.start(*line, BIN / "proof-demo", "attack", "replay", "--command", "00" * 98, "--socket",
                             self.lock)
        self.assertEqual(self.told(process),
                         (1, "", f"proof-demo attack: {self.lock}: No such file or directory\n"))


class ARelayByHand(Socketed):
    def relay(self, *options):
        relay = self.start(BIN / "proof-relay", "--listen", self.door, "--connect", self.lock, "--interval", "1",
                           "--latency", "0", *options)
        self.assertRegex(relay.stdout.readline(), r"^seed \d+\n$")
        self.assertEqual(relay.stdout.readline(), f"listening: {self.door}\n")
        return relay

    def test_without_a_chance_each_pdu_arrives(self):
        listener = self.made(self.lock)
        # With a chance of 1 in 1,000 for each fault some of so many do not.
        for options in ((), tuple(word for name in ("loss", "duplication", "reordering", "corruption", "truncation",
                                                    "disconnection", "hostility") for word in (f"--{name}", "0"))):
            relay = self.relay("--seed", "7", *options)
            app, lock = self.connect(self.door), self.accept(listener)
            sent = [number.to_bytes(2, "little") * 9 for number in range(1000)]
            for first in range(0, len(sent), 50):
                for pdu in sent[first:first + 50]:
                    app.send(pdu)
                self.assertEqual([lock.recv(2000) for _ in range(50)], sent[first:first + 50])
            app.close()
            self.assertRegex(relay.stdout.readline(), r"^link 1: 1000 PDUs, \d+ ms\n$")
            self.assertEqual(relay.stdout.readline(), f"  to hardware {'.' * 1000}\n")
            relay.terminate()
            self.assertEqual(relay.wait(timeout=MOMENT), 0)

    def test_a_pdu_has_at_most_1024_bytes(self):
        listener = self.made(self.lock)
        self.relay()
        app, lock = self.connect(self.door), self.accept(listener)
        for size, arrives in ((1024, 1024), (1025, 1024), (1, 1)):
            app.send(b"x" * size)
            self.assertEqual(lock.recv(2000), b"x" * arrives)

    def during_the_queue(self):
        # A listener that is alive and takes no more is no dead one.
        second = self.start(BIN / "proof-relay", "--listen", self.door, "--connect", self.lock)
        status, output, errors = self.told(second)
        self.assertEqual((status, output), (1, ""))
        self.assertTrue(errors.startswith(f"proof-relay: {self.door}: "), errors)
        self.assertTrue(stat.S_ISSOCK(os.stat(self.door).st_mode))

    def test_it_holds_17_apps_in_its_queue(self):
        relay = self.relay()
        place = os.stat(self.door).st_ino
        self.assertEqual(self.full(relay, self.door), 17)
        self.assertEqual(os.stat(self.door).st_ino, place)

    def test_an_app_without_hardware_leaves_no_descriptor_behind(self):
        relay = self.relay()
        counts = set()
        for _ in range(5):
            self.assertEqual(self.connect(self.door).recv(9), b"")
            self.assertEqual(relay.stdout.readline(), f"no process listens at {self.lock}\n")
            counts.add(len(os.listdir(f"/proc/{relay.pid}/fd")))
        self.assertEqual(len(counts), 1, counts)


class TimeLimits(unittest.TestCase):
    def test_the_thief_waits_for_20_seconds(self):
        folder = tempfile.mkdtemp(prefix="w")
        self.addCleanup(shutil.rmtree, folder)
        waits = RecordedWaits(folder)
        subprocess.run([BIN / "proof-demo", "attack", "request", "--url", "https://127.0.0.1:1", "--authority",
                        "/none"], env=os.environ | waits.environment, stdin=subprocess.DEVNULL, timeout=MOMENT,
                       capture_output=True, check=False)
        self.assertEqual(waits.limits(), [20.0])


class AShopsBounds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.till = Till()
        cls.addClassCleanup(cls.till.close)

    def refused(self, **changed):
        done = subprocess.run([BIN / "proof-shop", *self.till.options(**changed)], capture_output=True, text=True,
                              timeout=MOMENT, env=self.till.environment, stdin=subprocess.DEVNULL, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        return done.stderr

    def list(self):
        """Lists the host of the shop that is open, and the one event."""
        self.till.operate("api", "add", self.till.host, "--gate", "shop")
        if not self.till.operate("event", "list"):
            self.till.operate("event", "add", "3300", "--gate", "shop", "--audience", "till", "--account", "--data")
        self.till.configure()

    def test_the_system_chooses_a_port_where_none_is_named_and_it_writes_no_core_dump(self):
        self.till.open_shop(listen=None)
        # Those that a system chooses are no port of a known service.
        self.assertGreater(self.till.port, 1023)
        limits = pathlib.Path(f"/proc/{self.till.shop.pid}/limits").read_text(encoding="ascii")
        self.assertRegex(limits, r"Max core file size +1 +1 ")
        self.assertEqual(self.till.close_shop(), 0)

    def test_a_file_of_users_has_at_most_a_mebibyte(self):
        line = f"ada {'ab' * 32} 0\n"
        for size in (MEBIBYTE, MEBIBYTE + 1):
            users = self.till.write("many", "\n" * (size - len(line)) + line)
            if size == MEBIBYTE:
                self.till.open_shop(users=users)
                self.assertEqual(self.till.close_shop(), 0)
            else:
                self.assertEqual(self.refused(users=users), f"proof-shop: read {users}: File too large\n")

    def test_its_secrets_have_32_bytes(self):
        own = self.till.folder / "state" / "own.key"
        self.addCleanup(own.write_bytes, own.read_bytes())
        own.write_bytes(bytes(33))
        self.assertIn("File too large", self.refused())
        long = self.till.write("long.key", "k" * 33)
        self.assertIn(f"{long}: File too large", self.refused(gate_key=long))
        own.write_bytes(b"")
        self.assertIn("own secret has 0 bytes; it must have 32", self.refused())
        self.assertIn("has 0 bytes; it must have 32", self.refused(gate_key=self.till.write("empty.key", "")))

    def test_the_app_waits_for_20_seconds_and_sends_the_words_that_were_typed(self):
        record = self.till.path("record")
        self.till.open_shop(record=record)
        self.list()
        home = self.till.install("rich")
        waits = RecordedWaits(self.till.folder)
        self.addCleanup(setattr, self.till, "environment", self.till.environment)
        self.till.environment = self.till.environment | waits.environment
        answers, _ = self.till.app(home, "enrol", "prices", *["buy tea 2"] * 8, "redeem spring")
        self.assertTrue(all(answer["detail"] for answer in answers))
        # A time limit is that of the whole request: a part of it was spent before this connection.
        self.assertTrue(19 < max(waits.limits()) <= 20, waits.limits())
        lines = [json.loads(line) for line in pathlib.Path(record).read_text(encoding="utf-8").splitlines()]
        sent = {(line["method"], line["target"], bytes.fromhex(line["body"])) for line in lines}
        self.assertEqual(sent, {("GET", "/prices", b""), ("POST", "/orders?item=tea", b"2"),
                                ("POST", "/vouchers", b"spring")})
        for line in lines:
            kinds = [value for name, value in line["fields"] if name.lower() == "content-type"]
            self.assertEqual(kinds, ["text/plain"] if line["method"] == "POST" else [], line)
        self.assertEqual(self.till.close_shop(), 0)

    def test_a_device_that_the_configuration_revokes_is_served_no_more(self):
        self.till.open_shop()
        self.list()
        home = self.till.install("bob")
        self.assertEqual([answer["outcome"] for answer in self.till.app(home, "enrol", "prices")[0]],
                         ["admitted", "served"])
        seen = self.till.operate("device", "list")[0]
        self.assertEqual(seen["said"]["app"], "shop-app")
        self.till.operate("gate", "revoke", "shop", seen["device"])
        self.till.log()
        self.assertEqual(self.till.app(home, "prices")[0][0]["outcome"], "served", "before it has the configuration")
        self.till.configure()
        self.assertEqual(self.till.app(home, "prices")[0][0]["outcome"], "token refused")
        self.assertIn("GET /prices: refused: The gate's configuration revokes this instance.\n", self.till.log())
        self.assertEqual(self.till.close_shop(), 0)
