# SPDX-License-Identifier: Apache-2.0

"""The board's timer, which a test moves on: the firmware finds that seconds have passed, and nothing waits."""

import re
import socket

# As BOARD_HERTZ and BOARD_TIMER of board.h: the timer counts down.
HERTZ, VALUE = 25_000_000, 0x40000004
# The timer goes round after 171 seconds; the firmware must have looked at it before.
FORWARD_MAX = 160


class Timer:
    """Connects to the socket of the board's registers; the firmware must have answered before."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rw")

    def do(self, line):
        self.stream.write(line + "\n")
        self.stream.flush()
        answer = self.stream.readline()
        assert answer.startswith("OK"), f"{line}: {answer}"
        return answer

    def forward(self, seconds):
        assert 0 < seconds <= FORWARD_MAX
        value = int(re.fullmatch(r"OK (0x[0-9a-f]+)\n", self.do(f"readl {VALUE:#x}"))[1], 16)
        self.do(f"writel {VALUE:#x} {(value - seconds * HERTZ) & 0xFFFFFFFF:#x}")

    def close(self):
        self.stream.close()
        self.socket.close()
