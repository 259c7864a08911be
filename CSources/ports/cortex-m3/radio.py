"""The radio beside the board: a Unix socket for centrals, PDUs over the serial line (docs/FIRMWARE.md, section 2)."""

import os
import selectors
import socket
import time

from eventlog import INFO

PDU_MAX = 65535
# As long as the firmware bears with a link that proves nothing. Of one that says nothing it never hears.
PATIENCE = 30


class Radio:
    """One central at a time; the next waits at the door until both sides have ended the link before. A central that
    says nothing at all for `patience` seconds by `clock` is given up.
    """

    def __init__(self, board, path, log, patience=PATIENCE, clock=time.monotonic):
        self.board, self.path, self.central, self.log = board, path, None, log
        self.patience, self.clock = patience, clock
        self.given_up_at = None  # by the clock; while there is a central and it has said nothing
        self.awaited = 1  # ends of the firmware's that are still to come: one at power on
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists(path):
            os.unlink(path)
        self.door.bind(path)
        self.door.listen(8)
        self.selector = selectors.DefaultSelector()
        self.selector.register(board.line, selectors.EVENT_READ, self.hear)
        self.selector.register(board.log, selectors.EVENT_READ, self.note)
        self.is_listening = False

    def hear(self):
        came = self.board.receive()
        # The firmware logs what it decided before it answers: whoever has the answer finds the line.
        self.note()
        if came is None:
            raise EOFError
        for pdu in came:
            if pdu:
                if self.central and not self.awaited:
                    self.tell(pdu)
            elif self.awaited:
                self.awaited -= 1
                self.ready()
            else:
                self.leave(told=True)

    def tell(self, pdu):
        try:
            self.central.send(pdu)
        except OSError:
            self.leave()

    def note(self):
        self.log.take(self.board.logged())

    def ready(self):
        if not self.is_listening:
            self.is_listening = True
            self.log.line(INFO, f"listening: {self.path}")
        self.selector.register(self.door, selectors.EVENT_READ, self.enter)

    def enter(self):
        self.central, _ = self.door.accept()
        self.given_up_at = self.clock() + self.patience
        self.selector.unregister(self.door)
        self.selector.register(self.central, selectors.EVENT_READ, self.listen)

    def listen(self):
        if self.central is None:  # left a moment ago, in the same turn
            return
        try:
            pdu = self.central.recv(PDU_MAX)
        except ConnectionError:
            pdu = b""
        if pdu:
            self.given_up_at = None
            self.board.send(pdu)
        else:
            self.leave()

    def give_up(self):
        """Ends the link of a central that has been silent for too long."""
        if self.given_up_at is not None and self.clock() >= self.given_up_at:
            self.log.line(INFO, f"a central said nothing for {self.patience} seconds: given up")
            self.leave()

    def leave(self, told=False):
        """The link is over. `told`: the firmware has said so already."""
        self.selector.unregister(self.central)
        self.central.close()
        self.central = self.given_up_at = None
        self.board.end()
        self.awaited = 0 if told else 1
        if told:
            self.ready()

    def close(self):
        if self.central:
            self.central.close()
        self.door.close()
        os.unlink(self.path)

    def turn(self):
        """Waits for what comes next, and takes it."""
        left = None if self.given_up_at is None else max(0, self.given_up_at - self.clock())
        for key, _ in self.selector.select(left):
            key.data()
        self.give_up()

    def run(self):
        self.board.end()
        while True:
            self.turn()
