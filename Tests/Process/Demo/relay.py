# SPDX-License-Identifier: Apache-2.0

"""The program proof-relay from outside: options, faults, traces, and its socket (docs/LINK.md, section 10)."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from demonstration import BIN, MOMENT

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


class Dice:
    """SplitMix64, as the simulated air draws its faults."""

    def __init__(self, seed):
        self.state = seed

    def roll(self):
        self.state = (self.state + GOLDEN) & MASK
        mixed = ((self.state ^ (self.state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return mixed ^ (mixed >> 31)


def losses(seed, link, count, chance):
    """The trace of a link's PDUs to the hardware, if loss is the only fault."""
    own = Dice((seed + link * GOLDEN & MASK) ^ (1 << 32))
    dice, letters = Dice(own.roll()), ""
    for _ in range(count):
        # Disconnection and loss of power come first; a PDU that is not lost has four further chances.
        dice.roll(), dice.roll()
        lost = dice.roll() % 1000 < chance
        letters += "l" if lost else "."
        for _ in range(1 if lost else 5):
            dice.roll()
    return letters


class Relay(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="r"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.door, self.lock = str(self.folder / "door"), str(self.folder / "lock")

    def listen(self, path=None):
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.settimeout(MOMENT)
        listener.bind(path or self.lock)
        listener.listen()
        self.addCleanup(listener.close)
        return listener

    def connect(self):
        app = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        app.settimeout(MOMENT)
        app.connect(self.door)
        self.addCleanup(app.close)
        return app

    def run_once(self, *options):
        """A relay that must not start: its status, and its two outputs."""
        done = subprocess.run([BIN / "proof-relay", *options], capture_output=True, text=True, timeout=MOMENT,
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def start(self, *options, quick=True):
        """A relay that listens, and the seed that it told."""
        words = ["--listen", self.door, "--connect", self.lock, *(["--interval", "1", "--latency", "0"] * quick)]
        relay = subprocess.Popen([BIN / "proof-relay", *words, *options], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop, relay)
        seed = re.fullmatch(r"seed (\d+)\n", relay.stdout.readline())
        self.assertEqual(relay.stdout.readline(), f"listening: {self.door}\n")
        return relay, int(seed[1])

    def stop(self, relay, number=signal.SIGTERM):
        if relay.poll() is None:
            relay.send_signal(number)
        relay.wait(timeout=MOMENT)
        for stream in (relay.stdout, relay.stderr):
            stream.close()

    def trace(self, relay):
        """The relay's words of a link at its end: number, PDUs, and a letter for each PDU in each direction."""
        head = re.fullmatch(r"link (\d+): (\d+) PDUs, \d+ ms\n", relay.stdout.readline())
        to_hardware = re.fullmatch(r"  to hardware (\S*)\n", relay.stdout.readline())
        to_app = re.fullmatch(r"  to app      (\S*)\n", relay.stdout.readline())
        return int(head[1]), int(head[2]), to_hardware[1], to_app[1]

    def test_pdus_go_both_ways_in_their_order_and_each_link_tells_its_trace(self):
        lock = self.listen()
        relay, seed = self.start("--seed", "7")
        self.assertEqual(seed, 7)
        for number in (1, 2):
            app, (hardware, _) = self.connect(), lock.accept()
            hardware.settimeout(MOMENT)
            sent = [bytes([n]) * 1024 for n in range(20)]
            for pdu in sent:
                app.send(pdu)
            self.assertEqual([hardware.recv(2000) for _ in sent], sent)
            hardware.send(b"x")
            self.assertEqual(app.recv(2000), b"x")
            # Either side's end is the link's.
            ended, other = (app, hardware) if number == 1 else (hardware, app)
            ended.close()
            self.assertEqual(other.recv(2000), b"")
            other.close()
            self.assertEqual(self.trace(relay), (number, 21, "." * 20, "."))

    def test_links_go_on_beside_one_another(self):
        lock = self.listen()
        relay, _ = self.start()
        apps, parts = [], []
        for _ in range(3):
            apps.append(self.connect())
            parts.append(lock.accept()[0])
        for number, (app, hardware) in enumerate(zip(apps, parts)):
            hardware.settimeout(MOMENT)
            app.send(bytes([number]))
            self.assertEqual(hardware.recv(10), bytes([number]))
        apps[1].close()
        self.assertEqual(parts[1].recv(10), b"")
        self.assertEqual(self.trace(relay), (2, 1, ".", ""))
        for number in (0, 2):
            parts[number].send(b"y")
            self.assertEqual(apps[number].recv(10), b"y")
        for hardware in parts:
            hardware.close()

    def test_each_chance_is_a_fault_of_its_own(self):
        lock = self.listen()
        pdu = bytes(range(200))
        for option, letters in (("--loss", "l"), ("--duplication", "d"), ("--reordering", ".r"), ("--corruption", ".c"),
                                ("--truncation", ".t"), ("--disconnection", "e"), ("--hostility", ".h")):
            with self.subTest(option):
                relay, _ = self.start(option, "1000", "--seed", "5")
                app, (hardware, _) = self.connect(), lock.accept()
                hardware.settimeout(MOMENT)
                app.send(pdu)
                if option == "--disconnection":
                    self.assertEqual((app.recv(9), hardware.recv(9)), (b"", b""))
                elif option != "--loss":
                    came = hardware.recv(2000)
                    changed = sum((a ^ b).bit_count() for a, b in zip(came, pdu))
                    self.assertEqual(changed, 1 if option == "--corruption" else 0)
                    self.assertEqual(len(came) < 200, option == "--truncation")
                if option == "--duplication":
                    self.assertEqual(hardware.recv(2000), pdu)
                app.close()
                hardware.close()
                self.assertEqual(self.trace(relay), (1, 1, letters, ""))
                self.stop(relay)

    def test_a_link_ends_at_the_pdu_that_was_named(self):
        lock = self.listen()
        for at in (1, 3):
            relay, _ = self.start("--ends-at", str(at))
            app, (hardware, _) = self.connect(), lock.accept()
            hardware.settimeout(MOMENT)
            for _ in range(at - 1):
                app.send(b"a")
                self.assertEqual(hardware.recv(9), b"a")
            app.send(b"a")
            self.assertEqual(hardware.recv(9), b"")
            self.assertEqual(self.trace(relay), (1, at, "." * (at - 1) + "e", ""))
            hardware.close()
            self.stop(relay)

    def test_the_same_seed_gives_each_link_the_same_fates(self):
        lock = self.listen()
        for seed in (0, 7, MASK):
            relay, told = self.start("--seed", str(seed), "--loss", "500")
            self.assertEqual(told, seed)
            for number in (1, 2):
                app, (hardware, _) = self.connect(), lock.accept()
                for _ in range(40):
                    app.send(b"a")
                app.close()
                self.assertEqual(self.trace(relay), (number, 40, losses(seed, number, 40, 500), ""))
                hardware.close()
            self.stop(relay)

    def test_a_seed_that_is_missing_is_drawn(self):
        self.listen()
        seeds = set()
        for _ in range(3):
            relay, seed = self.start()
            self.assertIn(seed, range(1, 1_000_000))
            seeds.add(seed)
            self.stop(relay)
        self.assertGreater(len(seeds), 1)

    def test_an_app_is_told_that_no_hardware_listens_and_the_next_one_is_served(self):
        relay, _ = self.start()
        self.assertEqual(self.connect().recv(9), b"")
        self.assertEqual(relay.stdout.readline(), f"no process listens at {self.lock}\n")
        lock = self.listen()
        app, (hardware, _) = self.connect(), lock.accept()
        app.close()
        self.assertEqual(self.trace(relay), (1, 0, "", ""))
        hardware.close()

    def test_a_signal_ends_it_with_its_links_and_removes_its_socket(self):
        lock = self.listen()
        for number in (signal.SIGTERM, signal.SIGINT):
            relay, _ = self.start()
            app, (hardware, _) = self.connect(), lock.accept()
            hardware.settimeout(MOMENT)
            app.send(b"a")
            self.assertEqual(hardware.recv(9), b"a")
            relay.send_signal(number)
            self.assertEqual((app.recv(9), hardware.recv(9)), (b"", b""))
            self.assertEqual(self.trace(relay), (1, 1, ".", ""))
            self.assertEqual(relay.wait(timeout=MOMENT), 0)
            self.assertEqual(relay.stderr.read(), "")
            self.assertFalse(os.path.exists(self.door))
            hardware.close()

    def test_it_takes_the_place_of_a_dead_listener_alone(self):
        dead = self.listen(self.door)
        dead.close()
        relay, _ = self.start()
        status, output, errors = self.run_once("--listen", self.door, "--connect", self.lock)
        self.assertEqual((status, output, errors), (1, "", f"proof-relay: {self.door}: Address already in use\n"))
        # The first one still listens.
        self.assertEqual(self.connect().recv(9), b"")

    def test_a_listener_whose_queue_is_full_is_in_use(self):
        full = self.listen(self.door)
        full.listen(0)
        waiting = []
        try:
            while True:
                one = socket.socket(socket.AF_UNIX, full.type | socket.SOCK_NONBLOCK)
                self.addCleanup(one.close)
                one.connect(self.door)
                waiting.append(one)
        except BlockingIOError:
            pass
        self.assertTrue(waiting)
        status, output, errors = self.run_once("--listen", self.door, "--connect", self.lock)
        self.assertEqual((status, output, errors), (1, "", f"proof-relay: {self.door}: Address already in use\n"))

    def test_a_file_in_the_place_of_the_socket_stays(self):
        pathlib.Path(self.door).write_text("kept")
        status, output, errors = self.run_once("--listen", self.door, "--connect", self.lock)
        self.assertEqual((status, output, errors), (1, "", f"proof-relay: {self.door}: Address already in use\n"))
        self.assertEqual(pathlib.Path(self.door).read_text(), "kept")

    def test_a_path_has_room_for_107_bytes(self):
        start = str(self.folder) + "/"
        self.door = start + "d" * (107 - len(start))
        self.lock = start + "l" * (107 - len(start))
        lock = self.listen()
        self.start()
        app, (hardware, _) = self.connect(), lock.accept()
        app.close()
        hardware.close()
        long = self.door + "d"
        self.assertEqual(self.run_once("--listen", long, "--connect", self.lock),
                         (1, "", f"proof-relay: {long}: File name too long\n"))
        self.assertEqual(self.run_once("--listen", str(self.folder / "none" / "x"), "--connect", self.lock)[2],
                         f"proof-relay: {self.folder}/none/x: No such file or directory\n")

    def test_a_system_without_descriptors_is_told(self):
        done = subprocess.run(["bash", "-c", 'ulimit -n 4; exec "$@"', "bash", BIN / "proof-relay", "--listen",
                               self.door, "--connect", self.lock], capture_output=True, text=True, timeout=MOMENT,
                              stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", "proof-relay: signals: Too many open files\n"))

    def test_each_number_has_its_bounds(self):
        listen = ["--listen", self.door, "--connect", self.lock]
        chances = ["--loss", "--duplication", "--reordering", "--corruption", "--truncation", "--disconnection",
                   "--hostility"]
        bounds = [(name, 0, 1000) for name in chances] + [("--interval", 1, 4000), ("--latency", 0, 60_000),
                                                          ("--slowness", 0, 60_000), ("--ends-at", 1, 1_000_000)]
        for name, least, most in bounds:
            for value in (least - 1, most + 1, "x"):
                self.assertEqual(self.run_once(*listen, name, str(value)), (
                    2, "", f"proof-relay: {name} is {value}; it takes {least} to {most}; --help tells more\n"))
        for end in (1, 2):
            words = [str(word) for bound in bounds for word in (bound[0], bound[end])]
            relay, _ = self.start(*words, quick=False)
            self.stop(relay)
        for left in (listen[:2], listen[2:]):
            missing = ({"--listen", "--connect"} - set(left)).pop()
            self.assertEqual(self.run_once(*left), (2, "", f"proof-relay: {missing} is missing; --help tells more\n"))
        self.assertEqual(self.run_once(*listen, "--seed", "-1")[0], 2)
        status, text, errors = self.run_once("--help")
        self.assertEqual((status, errors), (0, ""))
        for name in ("--listen", "--connect", "--seed", *(bound[0] for bound in bounds)):
            self.assertIn(f"  {name} ", text)
