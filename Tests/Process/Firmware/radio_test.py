# SPDX-License-Identifier: Apache-2.0

"""The radio beside the board, by a clock of its own: who says nothing, or hears nothing, does not keep the one link."""

import contextlib
import io
import os
import socket
import tempfile
import threading
import unittest

import stage
from board import Board
from case import BUILD
from central import READ, SECONDS, STATUS, u16
from eventlog import EventLog
from figures_test import Monitor
from radio import PATIENCE, Radio
from stage import Backend

IMAGE = BUILD / "cortex-m3" / "full.elf"


class Beside(unittest.TestCase):
    """A board with a radio, and a central that has come."""

    def setUp(self):
        self.room = tempfile.TemporaryDirectory()
        self.addCleanup(self.room.cleanup)
        self.monitor = os.path.join(self.room.name, "monitor")
        self.hardware = stage.Hardware(self.id().rsplit(".", 1)[1], [Backend(7).public])
        self.addCleanup(self.hardware.scrap)
        self.now, self.said = 0.0, io.StringIO()
        self.board = Board(self.hardware.flash, IMAGE, self.monitor, logs=True)
        self.addCleanup(self.board.cut)
        self.radio = Radio(self.board, self.hardware.socket, EventLog("info", self.said), clock=lambda: self.now)
        self.addCleanup(self.radio.close)
        self.board.end()
        self.central = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(self.central.close)
        self.central.settimeout(60)
        self.central.connect(self.hardware.socket)
        while self.radio.central is None:
            self.radio.turn()

    def serve(self):
        with contextlib.suppress(EOFError):
            while True:
                self.radio.turn()

    def assert_the_next_is_served(self, before=lambda: None):
        thread = threading.Thread(target=self.serve)
        thread.start()
        try:
            before()
            with self.hardware.connect() as link:
                self.assertEqual(link.read(STATUS)[2:18], self.hardware.id)
        finally:
            self.board.process.kill()
            self.central.close()
            thread.join()


class Silence(Beside):
    def test_a_silent_central_makes_room_for_the_next(self):
        self.now = PATIENCE - 0.001
        self.radio.give_up()
        self.assertIsNotNone(self.radio.central)
        self.now = PATIENCE
        self.radio.turn()
        self.assertIsNone(self.radio.central)
        self.assertEqual(self.central.recv(100), b"")
        self.assertIn("a central said nothing for 4 seconds: given up", self.said.getvalue())
        self.assert_the_next_is_served()

    def test_a_central_that_has_sent_a_pdu_is_left_to_the_firmware(self):
        self.central.send(bytes([2, 185, 0]))
        while self.radio.given_up_at is not None:
            self.radio.turn()
        self.now = 1000.0
        self.radio.give_up()
        self.assertIsNotNone(self.radio.central)


class Deafness(Beside):
    def test_a_central_that_reads_no_answer_is_dropped_when_the_firmware_ends_the_link(self):
        def ask_until_nobody_listens():
            self.central.settimeout(1)
            with self.assertRaises(TimeoutError):
                while True:
                    self.central.send(bytes([READ]) + u16(STATUS))
            Monitor(self.monitor).do("system_reset")
            self.central.settimeout(SECONDS)
            with self.assertRaises((BrokenPipeError, ConnectionResetError)):
                while True:
                    self.central.send(bytes([READ]) + u16(STATUS))

        self.assert_the_next_is_served(ask_until_nobody_listens)


class Restart(Beside):
    def test_a_board_that_restarts_while_nobody_is_there_serves_the_next(self):
        self.central.close()
        while self.radio.awaited or self.radio.central:
            self.radio.turn()
        Monitor(self.monitor).do("system_reset")
        answered, post = [], self.radio.post
        self.radio.post = lambda piece: (answered.append(piece), post(piece))
        # It says that there is no link, as at power on, and is told the same.
        while not answered:
            self.radio.turn()
        self.assert_the_next_is_served()
