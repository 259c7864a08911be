# SPDX-License-Identifier: Apache-2.0

"""The demonstration's programs, what its story must tell, and a place to play it in."""

import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("PROOF_BIN", ROOT / ".build" / "release"))
PATIENCE = 300
# For programs that answer at once.
MOMENT = 300

# Promises of the story: a piece of the line, and how it must end. First the act about the lock.
LOCK = [
    ("app enrols", "enrolled"),
    ("it is measured", "fetched"),
    ("kept on the phone", "0600"),
    ("asks for another measurement", "not fetched: no network"),
    ("for the first time", "accepted"),
    ("started again", "accepted"),
    ("power fails", "accepted"),
    ("plays the recording", "stale"),
    ("after a power cut", "stale"),
    ("on its way", "device differs, then accepted"),
    ("forges a token", "not for me"),
    ("debugger", "integrity differs, for debugger"),
    ("preloaded", "integrity differs, for preloading"),
    ("bundle is changed", "integrity differs, for bundle"),
    ("is copied to", "device differs"),
    ("token alone is stolen", "held, then device differs"),
    ("carries the order", "order done"),
    ("lost phone", "revoked"),
    ("bad radio", "accepted, accepted, accepted, accepted"),
    ("each was done", "once"),
    ("version 2 is installed", "integrity differs"),
    ("asks for the status", "accepted, device only"),
    ("that proof", "ask the backend: not permitted"),
    ("what changed", "bundle"),
    ("version 2 is registered", "fetched"),
    ("it opens the lock, offline", "accepted"),
    ("version 3 is registered", "registered"),
    ("opens at its first try", "accepted"),
    ("version 2 is put back", "integrity differs"),
    ("the copy opens the lock", "accepted"),
    ("there is a copy", "accepted, copy seen"),
    ("does not lock the owner out", "accepted"),
    ("copy opens it again", "accepted, copy seen"),
    ("tells the service", "copy-seen"),
]

# The end of that act. It is not played with the firmware (Lock.keepsLog).
LOG = [
    ("proved nothing asks for the log", "not handed out"),
    ("sends a command, and carries it", "carried"),
    ("proofctl log show", "whole"),
    ("keeps the first part back", "incomplete"),
    ("changes one bit of a part", "incomplete, its head is wrong: PROOF-26"),
]

# Before the copy. Not with the firmware either (Lock.sealsCommands).
SEALED = [
    ("in the clear", "the command, and whose it is"),
    ("seals its command and opens", "accepted"),
    ("hears of that", "neither"),
    ("plays the recording", "stale"),
    ("the second time in a channel", "accepted, accepted"),
    ("reads the second one, and plays it", "neither, stale"),
]

# After the first openings without a network. Not with the firmware either (Lock.takesGrants).
GUEST = [("so does a guest's", "enrolled, fetched")]
LENT = [
    ("guest's phone tries to open", "not permitted"),
    ("lends it two openings", "lent"),
    ("one bit of it is changed", "refused"),
    ("brings it, and opens twice", "taken, accepted, accepted"),
    ("a third time", "not permitted"),
    ("takes it back, and the guest tries", "taken, taken, not permitted"),
]

ONLINE = LOCK.index(("asks for another measurement", "not fetched: no network"))
LISTENING = LOCK.index(("plays the recording", "stale"))
COPY = LOCK.index(("the copy opens the lock", "accepted"))
PROCESS = [*LOCK[:ONLINE], *GUEST, *LOCK[ONLINE:LISTENING], *LENT, *LOCK[LISTENING:COPY], *SEALED, *LOCK[COPY:], *LOG]

WRONG_SIGNATURE = "refused: the signature does not match the request"

# Then the act about the API.
SHOP = [
    ("attestation service and shop", "listening"),
    ("shop's API, pin and event", "listed"),
    ("both apps are measured", "admitted, admitted"),
    ("asks for the prices", "served"),
    ("service is stopped; the app buys", "done"),
    ("redeems a voucher, with an event token", "done"),
    ("he sends the same once more", "refused: the proof was used before"),
    ("changes the body", "refused: the body does not have the digest that was signed"),
    ("changes the URL", WRONG_SIGNATURE),
    ("changes the method", WRONG_SIGNATURE),
    ("signs in as another user", WRONG_SIGNATURE),
    ("takes the gate token", WRONG_SIGNATURE),
    ("a bot without the SDK", "refused: the request has no signature of this form"),
    ("redeems the voucher again", "refused: the compact token was used before"),
    ("redeems it for himself", "refused: the compact token looks made for another account"),
    ("redeems another voucher with it", "refused: the compact token looks made for other business data"),
    ("a proxy takes the shop's place", "nothing sent: another key"),
    ("the shop is back", "refused: the key id is not known, then done"),
    ("one bit of its bundle", "admitted"),
    ("asks for the prices", "served"),
    ("buys tea", "declined: the app failed its attestation"),
    ("user without money", "the same answer"),
    ("put right", "done"),
]


def faults(lines, story=(*PROCESS, *SHOP)):
    """Faults of a story that was told: lines that did not end as they must, and promises without a line."""
    rest = iter(lines)
    wrong = [line for line in lines if not line["ok"] or line["happened"] != line["expected"]]
    return wrong + [promise for promise in story
                    if not any(promise[0] in line["what"] and line["happened"] == promise[1] for line in rest)]


class Descendant:
    """A process that another one started; its number may be another's once it has ended, its descriptor never."""

    def __init__(self, pid):
        self.descriptor = os.pidfd_open(pid)
        self.words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")

    def __str__(self):
        return self.words

    def ends(self, seconds):
        """Whether it has ended, or does in time."""
        return bool(select.select([self.descriptor], [], [], seconds)[0])

    def kill(self):
        signal.pidfd_send_signal(self.descriptor, signal.SIGKILL)

    def __del__(self):
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


def descendants(pid):
    """All that a process started, and what these started in turn."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in path.read_text().split():
            try:
                found += [Descendant(int(child)), *descendants(int(child))]
            except OSError:
                continue
    return found


class Stage:
    """A place of its own for everything temporary, so that what stays behind shows."""

    def __init__(self):
        # Short: a socket's path has room for 107 bytes.
        self.folder = tempfile.mkdtemp(prefix="d")
        self.environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.environment["TMPDIR"] = self.folder

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                   "text": True, **options}
        return subprocess.Popen([BIN / "proof-demo", *arguments], env=self.environment, **options)

    def play(self, *arguments):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, output, errors

    def left_behind(self):
        """Processes with the folder in their command line, and files in it."""
        left = os.listdir(self.folder)
        for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if self.folder.encode() in entry.read_bytes():
                    left.append(entry.parent.name)
            except OSError:
                continue
        return left

    def close(self):
        shutil.rmtree(self.folder)
