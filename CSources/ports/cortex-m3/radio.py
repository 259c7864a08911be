"""The radio beside the board: a Unix socket for centrals, PDUs over the serial line (docs/FIRMWARE.md, section 2)."""

import os
import selectors
import socket

from eventlog import INFO

PDU_MAX = 65535


class Radio:
    """One central at a time; the next waits at the door until both sides have ended the link before."""

    def __init__(self, board, path, log):
        self.board, self.path, self.central, self.log = board, path, None, log
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
        self.selector.unregister(self.door)
        self.selector.register(self.central, selectors.EVENT_READ, self.listen)

    def listen(self):
        try:
            pdu = self.central.recv(PDU_MAX)
        except ConnectionError:
            pdu = b""
        if pdu:
            self.board.send(pdu)
        else:
            self.leave()

    def leave(self, told=False):
        """The link is over. `told`: the firmware has said so already."""
        self.selector.unregister(self.central)
        self.central.close()
        self.central = None
        self.board.end()
        self.awaited = 0 if told else 1
        if told:
            self.ready()

    def close(self):
        if self.central:
            self.central.close()
        self.door.close()
        os.unlink(self.path)

    def run(self):
        self.board.end()
        while True:
            for key, _ in self.selector.select():
                key.data()
