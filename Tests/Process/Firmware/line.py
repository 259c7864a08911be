# SPDX-License-Identifier: Apache-2.0

"""A central at the serial line itself."""

from central import CHALLENGE_CCCD, VERDICT_CCCD, Central, LinkEnded, u16


class Line(Central):
    """A central on the board's line; a kill of the board under it takes effect at once."""

    def __init__(self, board):
        self.board, self.waiting, self.mtu, self.notified = board, [], 23, []
        self.sent = self.received = 0
        board.end()
        while self.pdu():
            continue
        self.exchange(185)
        self.write(CHALLENGE_CCCD, u16(1))
        self.write(VERDICT_CCCD, u16(1))

    def pdu(self):
        while not self.waiting:
            came = self.board.receive()
            if came is None:
                raise LinkEnded()
            self.waiting += came
        return self.waiting.pop(0)

    def send(self, pdu):
        try:
            self.board.send(pdu)
        except OSError:
            raise LinkEnded() from None

    def receive(self):
        pdu = self.pdu()
        if not pdu:
            raise LinkEnded()
        return pdu
