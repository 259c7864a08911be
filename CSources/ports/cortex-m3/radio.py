# SPDX-License-Identifier: Apache-2.0

"""The radio beside the board: a Unix socket for centrals, PDUs over the serial line (docs/FIRMWARE.md, section 2)."""

import os
import selectors
import socket
import stat
import time
from selectors import EVENT_READ, EVENT_WRITE

from board import END, framed
from eventlog import INFO

PDU_MAX = 65535
# As PFD_ALONE_SECONDS. The firmware never hears of a link that says nothing, so the radio ends such a link.
PATIENCE = 4


def clear(path):
    """Removes a socket that its process left behind; a socket in use, or another file, is not ours and stays."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            probe.connect(path)
    except ConnectionRefusedError:
        os.unlink(path)
    except FileNotFoundError:
        pass


class Radio:
    """One central at a time; the next waits at the door until both sides have ended the link before. A central that
    says nothing at all for `patience` seconds by `clock` is given up.
    """

    def __init__(self, board, path, log, patience=PATIENCE, clock=time.monotonic):
        self.board, self.path, self.central, self.log = board, path, None, log
        self.patience, self.clock = patience, clock
        self.given_up_at = None  # by the clock; while there is a central and it has said nothing
        self.awaited = 1  # ends of the firmware's that are still to come: one at power on
        # PDUs on their way. The radio waits for neither side: the firmware takes nothing while no central hears it, and
        # a central may never hear.
        self.for_board, self.for_central = b"", []
        self.board.line.setblocking(False)
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        clear(path)
        self.door.bind(path)
        self.door.listen(8)
        self.selector = selectors.DefaultSelector()
        self.selector.register(board.line, EVENT_READ, self.serve_board)
        self.selector.register(board.log, EVENT_READ, self.note)
        self.is_listening = False

    def watch(self, file, events, action):
        """Asks for these events and no others; none: not even for that it has gone."""
        if file in self.selector.get_map():
            self.selector.unregister(file)
        if events:
            self.selector.register(file, events, action)

    def watch_both(self):
        """A central that does not take what it is sent, or whose last words are on their way still, is not read."""
        self.watch(self.board.line, EVENT_READ | (EVENT_WRITE if self.for_board else 0), self.serve_board)
        if self.central:
            events = EVENT_WRITE if self.for_central else 0 if self.for_board else EVENT_READ
            self.watch(self.central, events, self.serve_central)

    def serve_board(self, events):
        if events & EVENT_WRITE:
            self.push()
        if events & EVENT_READ:
            self.hear()

    def serve_central(self, events):
        if self.central is None:  # left a moment ago, in the same turn
            return
        if events & EVENT_WRITE:
            self.deliver()
        elif events & EVENT_READ:
            self.listen()

    def post(self, piece):
        self.for_board += piece
        self.push()

    def push(self):
        try:
            self.for_board = self.for_board[self.board.line.send(self.for_board):]
        except BlockingIOError:
            pass
        except OSError:  # without power: hear() finds the end
            self.for_board = b""
        self.watch_both()

    def hear(self):
        came = self.board.receive()
        # The firmware logs its decision before it answers: a central that has the answer finds the line.
        self.note()
        if came is None:
            raise EOFError
        for pdu in came:
            if pdu:
                if self.central and not self.awaited:
                    self.for_central.append(pdu)
                    self.deliver()
            elif self.awaited:
                self.awaited -= 1
                self.ready()
            elif self.central:
                self.leave(told=True)
            else:  # It has restarted, and waits for this side's end as at power on.
                self.post(END)

    def deliver(self):
        try:
            while self.for_central:
                self.central.send(self.for_central[0])
                self.for_central.pop(0)
        except BlockingIOError:
            pass
        except OSError:
            self.leave()
        self.watch_both()

    def note(self, _=None):
        self.log.take(self.board.logged())

    def ready(self):
        if not self.is_listening:
            self.is_listening = True
            self.log.line(INFO, f"listening: {self.path}")
        self.watch(self.door, EVENT_READ, self.enter)

    def enter(self, _):
        self.central, _ = self.door.accept()
        self.central.setblocking(False)
        self.given_up_at = self.clock() + self.patience
        self.watch(self.door, 0, self.enter)
        self.watch_both()

    def listen(self):
        try:
            pdu = self.central.recv(PDU_MAX)
        except BlockingIOError:
            return
        except ConnectionError:
            pdu = b""
        if pdu:
            self.given_up_at = None
            self.post(framed(pdu))
        else:
            self.leave()

    def give_up(self):
        """Ends the link of a central that has been silent for too long."""
        if self.given_up_at is not None and self.clock() >= self.given_up_at:
            self.log.line(INFO, f"a central said nothing for {self.patience} seconds: given up")
            self.leave()

    def leave(self, told=False):
        """The link is over. `told`: the firmware has said so already."""
        self.watch(self.central, 0, None)
        self.central.close()
        self.central, self.given_up_at, self.for_central = None, None, []
        self.post(END)
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
        for key, events in self.selector.select(left):
            key.data(events)
        self.give_up()

    def run(self):
        self.post(END)
        while True:
            self.turn()
