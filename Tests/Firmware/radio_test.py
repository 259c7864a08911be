"""The radio beside the board, by a clock of its own: who says nothing does not keep the only link."""

import contextlib
import io
import socket
import threading
import unittest

import stage
from board import Board
from case import BUILD
from central import STATUS
from eventlog import EventLog
from radio import PATIENCE, Radio
from stage import Backend

IMAGE = BUILD / "cortex-m3" / "full.elf"


class Silence(unittest.TestCase):
    def setUp(self):
        self.hardware = stage.Hardware(self.id().rsplit(".", 1)[1], [Backend(7).public])
        self.addCleanup(self.hardware.scrap)
        self.now, self.said = 0.0, io.StringIO()
        self.board = Board(self.hardware.flash, IMAGE, logs=True)
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

    def test_who_says_nothing_makes_room_for_the_next(self):
        self.now = PATIENCE - 0.001
        self.radio.give_up()
        self.assertIsNotNone(self.radio.central)
        self.now = PATIENCE
        self.radio.turn()
        self.assertIsNone(self.radio.central)
        self.assertEqual(self.central.recv(100), b"")
        self.assertIn("a central said nothing for 30 seconds: given up", self.said.getvalue())
        thread = threading.Thread(target=self.serve)
        thread.start()
        try:
            with self.hardware.connect() as link:
                self.assertEqual(link.read(STATUS)[2:18], self.hardware.id)
        finally:
            self.board.process.kill()
            thread.join()

    def test_who_has_said_something_is_left_to_the_firmware(self):
        self.central.send(bytes([2, 185, 0]))
        while self.radio.given_up_at is not None:
            self.radio.turn()
        self.now = 1000.0
        self.radio.give_up()
        self.assertIsNotNone(self.radio.central)
