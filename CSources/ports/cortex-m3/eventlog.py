# SPDX-License-Identifier: Apache-2.0

"""The board's own log: frames from its second serial line (log.c), as the lines that proof-hardware's log.c writes."""

import struct
import sys
import time

MARK = 0xE7
FRAME_BYTES = 31
EVENT = struct.Struct("<BBBBhHQ4s4s4s")
ERROR, INFO, DEBUG = range(3)
LEVELS = {"error": ERROR, "info": INFO, "debug": DEBUG}
PRODUCTION = 1
STARTED, REFUSES = 1, 2
GIVEN, FAULT = 0, 50
TOKEN, COMMAND, RECALL, CHANNEL, GRANT = 3, 4, 7, 9, 13
DONE_VERDICT = 4

RESULTS = {
    -2: "both copies of a record are damaged: provision it anew",
    -12: "flash does not answer, or takes nothing any more",
    -1: "a field of the identity is out of range",
}
VERDICTS = {
    GIVEN: "given", 1: "accepted", 2: "accepted, device only", 3: "held", 4: "order done", 5: "not executed",
    6: "accepted, copy seen", 7: "accepted, device only, copy seen", 8: "ready", 23: "copy refused",
    16: "integrity differs", 17: "device differs", 18: "stale", 19: "not permitted", 20: "attempts exhausted",
    21: "uses exhausted", 22: "unknown instance", 32: "not for me", 33: "not signed", 34: "expired",
    35: "superseded", 36: "revoked", 37: "wrong mode", 38: "no room", 39: "too new", 48: "malformed", 49: "busy",
    FAULT: "fault",
}
MESSAGES = dict(enumerate(("?", "ask", "challenge", "token", "command", "verdict", "order", "recall", "status",
                           "channel command", "?", "log", "?", "grant")))
DONE = {1: "done", 3: "number out of range", 4: "not done: its state could not be stored"}


def nth(number):
    """How many of a kind there were in this hour, where the lines between are left out."""
    return f"; number {number} in this hour" if number > 10 else ""


def reference(type_, hardware, message):
    """The text that app and backend log for the same token, grant, command or recall."""
    if type_ not in (TOKEN, COMMAND, RECALL, CHANNEL, GRANT):
        return ""
    names = {TOKEN: f"t{message.hex()}", GRANT: f"g{message.hex()}"}
    named = names.get(type_, int.from_bytes(message, "little"))
    return f", ref={hardware.hex()}-{named}"


def words(event):
    """The level of an event, and what is said of it; nothing of one that is not known."""
    kind, link, a, b, result, detail, number, id_, hardware, message = event
    if kind == STARTED:
        mode = "production" if a == PRODUCTION else "development"
        return INFO, f"started: mode {mode}, {b} slots used, epoch {number}"
    if kind == REFUSES:
        return ERROR, f"refuses everything: {RESULTS.get(result, 'unexpected')} ({result})"
    if kind == 3:
        return DEBUG, f"link {link}: connected"
    if kind == 4:
        return DEBUG, f"link {link}: disconnected, {number} packets refused"
    if kind == 5:
        level = DEBUG if b == GIVEN else ERROR if b == FAULT else INFO
        who = id_.hex() if any(id_) else "anyone"
        verdict = "taken" if (a, b) == (GRANT, DONE_VERDICT) else VERDICTS.get(b, "unknown verdict")
        return level, (f"link {link}: {MESSAGES.get(a, '?')} of {who}: {verdict} ({b}), "
                       f"detail {detail}{reference(a, hardware, message)}{nth(number)}")
    if kind == 6:
        return INFO, f"link {link}: command of class {a}: {DONE.get(b, 'no such command')}"
    if kind == 7:
        return DEBUG, f"link {link}: packet {number} refused: opcode 0x{a:02x}, error 0x{b:02x}"
    if kind == 8:
        return INFO, "the lock closed itself"
    if kind == 9:
        return INFO, f"link {link}: closed to make room: no command accepted{nth(number)}"
    return None


class EventLog:
    """Lines on standard error, as far as their level is asked for."""

    def __init__(self, level, out=None):
        self.threshold, self.out, self.began = LEVELS[level], out or sys.stderr, time.monotonic()
        self.bytes, self.next = b"", 1

    def line(self, level, text):
        if level <= self.threshold:
            head = f"{time.monotonic() - self.began:10.3f} {'ERROR' if level == ERROR else '     '} "
            self.out.write(head + text + "\n")
            self.out.flush()

    def take(self, piece):
        """Bytes from the serial line, in whatever pieces. What is no frame is passed over, byte by byte."""
        self.bytes += piece
        while len(self.bytes) >= FRAME_BYTES:
            frame = self.bytes[:FRAME_BYTES]
            if frame[0] != MARK or sum(frame[:-1]) & 0xFF != frame[-1]:
                self.bytes = self.bytes[1:]
                continue
            self.bytes = self.bytes[FRAME_BYTES:]
            self.tell(frame[1], EVENT.unpack(frame[2:-1]))

    def tell(self, number, event):
        # A start counts anew.
        began = number == 1 and event[0] in (STARTED, REFUSES)
        if not began and (lost := (number - self.next) & 0xFF):
            self.line(ERROR, f"{lost} events were lost on their way here")
        self.next = (number + 1) & 0xFF
        if said := words(event):
            self.line(*said)
