# SPDX-License-Identifier: Apache-2.0

"""The board's log: events over its second serial line, in the words of proof-hardware, and the firmware's behaviour
when the log has no reader.
"""

import contextlib
import ctypes
import dataclasses
import fcntl
import io
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import unittest

import stage
from board import SLOTS, Board
from case import BUILD, Firmware
from eventlog import EVENT, FRAME_BYTES, MARK, EventLog
from line import Line
from proofspec.message import Verdict
from radio import Radio
from stage import App, Backend

SOURCES = pathlib.Path(stage.ROOT) / "CSources"
IMAGE = BUILD / "cortex-m3" / "full.elf"


def frame(number, *event):
    body = bytes([MARK, number]) + EVENT.pack(*event)
    return body + bytes([sum(body) & 0xFF])


def untimed(text):
    return [re.sub(r"^ *[0-9]+\.[0-9]{3} ", "", line) for line in text]


def unnamed(line):
    """The reference without what differs from one piece of hardware, and one sealing, to the next."""
    return re.sub(r"-t[0-9a-f]{8}", "-DIGEST", re.sub(r"ref=[0-9a-f]{8}", "ref=HARDWARE", line))


class Words(unittest.TestCase):
    """The same lines as log.c's, and nothing made of noise."""

    def setUp(self):
        self.said = io.StringIO()
        self.log = EventLog("debug", self.said)

    def lines(self):
        return untimed(self.said.getvalue().splitlines())

    def test_every_event_in_the_words_of_proof_hardware(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "log.so")
            subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", f"-I{SOURCES}/ProofCore/include",
                            f"-I{SOURCES}/ProofDevice/include", SOURCES / "proof-hardware" / "log.c", "-o", library],
                           check=True)
            theirs = ctypes.CDLL(library)
        events = [(kind, 0, a, b, 0, 65535, 2**40 + 1, id_, b"\xdb\xe6\x59\x3c", b"\x12\x04\0\x80")
                  for kind, a, b in [(kind, a, b) for kind in range(12) for a in range(12) for b in range(0, 256)]
                  for id_ in (bytes(4), b"\x1a\x2b\x3c\x0d")]
        events += [(2, 0, 0, 0, result, 0, 0, bytes(4), bytes(4), bytes(4)) for result in range(-20, 5)]
        for number, event in enumerate(events):
            self.log.take(frame((number + 1) & 0xFF, *event))
        with tempfile.TemporaryFile() as file:
            kept = os.dup(2)
            os.dup2(file.fileno(), 2)
            try:
                theirs.log_begin(2)
                for event in events:
                    theirs.log_event(EVENT.pack(*event) + bytes(4))
            finally:
                os.dup2(kept, 2)
                os.close(kept)
            file.seek(0)
            said = untimed(file.read().decode().splitlines())
        lines = self.lines()
        # One by one: a diff of so many lines would take hours.
        for line, theirs in zip(lines, said):
            self.assertEqual(line, theirs)
        self.assertEqual(len(lines), len(said))
        self.assertGreater(len(lines), 1000)

    def test_noise_is_passed_over_and_lost_events_are_counted(self):
        locked = (8, 0, 0, 0, 0, 0, 0, bytes(4), bytes(4), bytes(4))
        stream = b"\xff\xe7" + frame(1, *locked) + frame(2, *locked)[:-1] + b"\0" + frame(5, *locked)
        for at in range(len(stream)):
            self.log.take(stream[at : at + 1])
        self.assertEqual(self.lines(), ["      the lock closed itself", "ERROR 3 events were lost on their way here",
                                        "      the lock closed itself"])
        # Power on again, with its own count.
        self.log.take(frame(1, 1, 0, 1, 2, 0, 0, 3, bytes(4), bytes(4), bytes(4)))
        self.assertEqual(self.lines()[3:], ["      started: mode production, 2 slots used, epoch 3"])


class OnTheBoard(Firmware):
    def play(self, hardware, *words):
        """A start, a token, an acceptance, a changed app, a stranger, noise: what the hardware logs of it."""
        hardware.cut()
        hardware.log.clear()
        self.assertTrue(hardware.start(*words))
        right = self.owner.shared(hardware)
        wrong = dataclasses.replace(right, im=bytes([right.im[0] ^ 1]) + right.im[1:])
        with hardware.connect() as link:
            token = self.owner.token(self.backend, hardware)
            self.assertEqual(self.owner.present(link, hardware, token), Verdict.HELD)
            for secrets in (None, wrong, App(90).shared(hardware)):
                self.owner.do(link, hardware, secrets=secrets)
        self.assertEqual(hardware.stop(), 0)
        return [line for line in untimed(hardware.log) if "flash operations" not in line and "listening" not in line]

    def test_it_logs_what_the_simulated_hardware_logs(self):
        here = self.play(self.hardware)
        program = stage.PROGRAM
        self.addCleanup(setattr, stage, "PROGRAM", program)
        stage.PROGRAM = str(BUILD / f"proof-hardware-{SLOTS['full']}" / "proof-hardware")
        # It has no profiles: the program itself was built with as many slots.
        simulated = stage.Hardware(f"{self.id().rsplit('.', 1)[1]}-simulated", [self.backend.public])
        self.addCleanup(simulated.scrap)
        self.assertTrue(simulated.start())
        there = self.play(simulated)
        # The link's end comes with the power's there, and may be seen before it here.
        for log in (here, there):
            log[:] = [unnamed(line) for line in log if "disconnected" not in line]
        self.assertEqual(here, there)
        self.assertTrue(any("integrity differs (16)" in line for line in here), here)

    def test_only_the_level_that_was_asked_for(self):
        # The hardware's start before this one took the first 65,536 counters.
        played = self.play(self.hardware, "--log-level", "info")
        verdicts = [unnamed(re.sub(r" of [0-9a-f]{8}", "", line)) for line in played]
        self.assertEqual(verdicts, [
            "      started: mode production, 0 slots used, epoch 0",
            "      link 0: token of anyone: held (3), detail 65535, ref=HARDWARE-DIGEST",
            "      link 0: command: accepted (1), detail 65535, ref=HARDWARE-65537",
            "      link 0: command of class 1: done",
            "      link 0: command: integrity differs (16), detail 2, ref=HARDWARE-65538",
            "      link 0: command: device differs (17), detail 0, ref=HARDWARE-65539"])


class Order(unittest.TestCase):
    def test_the_log_has_the_line_of_each_answer(self):
        backend, owner = Backend(7), App(40)
        hardware = stage.Hardware("order", [backend.public])
        self.addCleanup(hardware.scrap)
        said = io.StringIO()
        board = Board(hardware.flash, IMAGE, logs=True)
        radio = Radio(board, hardware.socket, EventLog("debug", said))
        # Nothing reads the log but what passes an answer on.
        radio.selector.unregister(board.log)
        thread = threading.Thread(target=self.run_until_power_fails, args=(radio,))
        thread.start()
        try:
            with hardware.connect() as link:
                token = owner.token(backend, hardware)
                self.assertEqual(owner.present(link, hardware, token), Verdict.HELD)
                self.assertIn("token of anyone: held (3)", said.getvalue())
                self.assertEqual(owner.do(link, hardware).verdict, Verdict.ACCEPTED)
                self.assertIn("accepted (1)", said.getvalue())
        finally:
            board.process.kill()
            thread.join()
            board.cut()
            radio.close()

    def run_until_power_fails(self, radio):
        with contextlib.suppress(EOFError):
            radio.run()


class NobodyListens(unittest.TestCase):
    def test_the_firmware_waits_for_nobody_who_does_not_read_its_log(self):
        backend, owner = Backend(7), App(40)
        hardware = stage.Hardware("unread", [backend.public])
        self.addCleanup(hardware.scrap)
        board = Board(hardware.flash, IMAGE, logs=True)
        self.addCleanup(board.cut)
        room = fcntl.fcntl(board.log, fcntl.F_SETPIPE_SZ, 4096)
        link = Line(board)
        events = room // FRAME_BYTES + 20
        for _ in range(events):
            owner.ask(link)
        # A reader comes: the log goes on and tells that it has a hole.
        board.logged()
        said = io.StringIO()
        log = EventLog("debug", said)
        owner.ask(link)
        log.take(board.logged())
        self.assertIn("events were lost", said.getvalue())
        self.assertIn("ask of anyone: given", said.getvalue())
