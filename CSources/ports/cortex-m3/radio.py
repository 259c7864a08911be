"""The radio beside the board: a Unix socket for centrals, PDUs over the serial line (docs/FIRMWARE.md, section 2)."""

import os
import selectors
import socket

PDU_MAX = 65535


class Radio:
    """One central at a time; the next waits at the door until both sides have ended the link before."""

    def __init__(self, board, path):
        self.board, self.path, self.central = board, path, None
        self.awaited = 1  # ends of the firmware's that are still to come: one at power on
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.path.exists(path):
            os.unlink(path)
        self.door.bind(path)
        self.door.listen(8)
        self.selector = selectors.DefaultSelector()
        self.selector.register(board.line, selectors.EVENT_READ, self.hear)

    def hear(self):
        came = self.board.receive()
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

    def ready(self):
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
