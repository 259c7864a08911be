# SPDX-License-Identifier: Apache-2.0

"""`make demo HARDWARE=firmware`: the act about the lock, its app and its thieves, with the firmware as the lock."""

import json
import pathlib
import unittest

import board
from demonstration import LOCK, Stage, faults

PROGRAM = pathlib.Path(board.HERE) / "proof-firmware"


class Demonstration(unittest.TestCase):
    def test_every_line_ends_as_it_must_and_nothing_stays_behind(self):
        stage = Stage()
        self.addCleanup(stage.close)
        status, output, errors = stage.play("--json", "--act", "1", "--hardware", str(PROGRAM))
        told = json.loads(output)
        self.assertEqual(faults(told["lines"], LOCK), [], errors)
        self.assertEqual((status, told["ok"]), (0, True), errors)
        self.assertEqual(stage.left_behind(), [])
