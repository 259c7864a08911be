# SPDX-License-Identifier: Apache-2.0

"""The board that the firmware runs on: qemu's mps2-an385, its NOR flash in a file, and the serial lines to it."""

import ctypes
import hashlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
BUILD = ROOT / ".build" / "firmware"
PAGE = 4096
SLOTS = {"full": 2, "large": 2, "symmetric": 1}
# As NOR_LOG_PAGES of port.h, and FLASH_LOG_PAGES of proof-hardware.
LOG_PAGES = {"full": 6, "large": 6, "symmetric": 0}
# As PFD_GRANT_PAGES, where the profile takes grants.
LOAN_PAGES = {"full": 4, "large": 4, "symmetric": 0}
# As PFC_FEATURE_SEALED and PFC_FEATURE_CHANNEL: the firmware's, of which the program that provisions knows nothing.
FEATURES = {"full": 0, "large": 1 << 2 | 1 << 7, "symmetric": 0}
SEED_PAGES = 2
NOR_BYTES = 16 << 20
END = b"\0\0"


def framed(pdu):
    """As it goes over the serial line."""
    return len(pdu).to_bytes(2, "little") + pdu


def pages(slots):
    """As PFD_FLASH_PAGES: identity, and two copies of each record."""
    return 2 + 2 * (1 + slots)


def nor_pages(profile):
    """As NOR_PAGES of port.h: ledger, seed, log, loans."""
    return pages(SLOTS[profile]) + SEED_PAGES + LOG_PAGES[profile] + LOAN_PAGES[profile]


def put_seed(file, slots):
    """A seed in both its pages, as random.c reads it."""
    head = (1).to_bytes(4, "little") + os.urandom(32)
    seed = head + hashlib.sha256(b"port.seed......." + head).digest()[:16]
    for page in (pages(slots), pages(slots) + 1):
        file.seek(page * PAGE)
        file.write(seed.ljust(PAGE, b"\xff"))


def factory(flash, profile, words):
    """Writes a flash image as the hardware's program provisions it, with as many slots as the firmware has, then the
    seed. Uses a file of its own until all of it stands: a refusal leaves the flash as it was.

    The program has the log behind the ledger. The firmware has the seed between them; a log that is not kept is blank,
    and so are the pages of loans behind it.
    """
    slots = SLOTS[profile]
    ledger, log = pages(slots) * PAGE, LOG_PAGES[profile] * PAGE
    log_at = ledger + SEED_PAGES * PAGE
    blank = b"\xff" * log
    program = BUILD / f"proof-hardware-{slots}" / "proof-hardware"
    flash.parent.mkdir(parents=True, exist_ok=True)
    new = flash.with_name(f"{flash.name}.new")
    new.unlink(missing_ok=True)
    if flash.exists():
        new.touch(0o600)
        with open(flash, "rb") as file:
            kept = file.read(ledger)
            file.seek(log_at)
            kept_log = file.read(log)
        new.write_bytes(kept + (kept_log if kept_log != blank else b""))
        shutil.copymode(flash, new)
    loans = b"\xff" * LOAN_PAGES[profile] * PAGE
    done = subprocess.run([program, "--flash", new, *words, *(("--grants", "yes") if loans else ())],
                          stdout=subprocess.PIPE, text=True)
    sys.stdout.write(re.sub(r"(?m)^features = 0x([0-9a-f]+)$",
                            lambda found: f"features = 0x{int(found[1], 16) | FEATURES[profile]:02x}", done.stdout))
    sys.stdout.flush()
    if done.returncode != 0:
        new.unlink(missing_ok=True)
        return done.returncode
    with open(new, "r+b") as file:
        file.seek(ledger)
        made_log = file.read()
        made_log = made_log[:len(made_log) - len(loans)]
        if len(made_log) not in (0, log):
            print(f"proof-firmware: the profile {profile} keeps no log", file=sys.stderr)
            new.unlink()
            return 2
        put_seed(file, slots)
        file.seek(log_at)
        file.write(made_log or blank)
        file.write(loans)
        file.truncate(NOR_BYTES)
    new.replace(flash)
    return 0


def command(flash, firmware, serial, monitor=None, log=None, clock="", registers=None):
    """How qemu is called: its RAM at 0x21000000 is the file, byte for byte, whenever it dies. `clock` ",sleep=off": the
    board's time passes at once while the processor waits. `registers`: path of a socket that reads and writes them.
    """
    words = [os.environ.get("QEMU", "qemu-system-arm"), "-display", "none", "-nodefaults",
             "-nic", "user,restrict=on", "-icount", f"shift=0{clock}",
             "-object", f"memory-backend-file,id=nor,size={NOR_BYTES},mem-path={flash},share=on",
             "-machine", "mps2-an385,memory-backend=nor", "-m", "16M", "-kernel", str(firmware),
             "-chardev", f"socket,id=line,fd={serial}", "-serial", "chardev:line"]
    if log is not None:
        # A pipe: it holds 64 KiB until a reader comes.
        words += ["-chardev", f"file,id=log,path=/dev/fd/{log}", "-serial", "chardev:log"]
    if monitor:
        words += ["-qmp", f"unix:{monitor},server=on,wait=off"]
    if registers:
        words += ["-qtest", f"unix:{registers},server=on,wait=off", "-qtest-log", "none"]
    return words


def die_with_parent():
    """Ends the board with its parent: killing this program cuts the board's power."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Board:
    """The firmware while it has power, the serial line to it and, if it is asked for, the one for its log."""

    def __init__(self, flash, firmware, monitor=None, logs=False, clock="", registers=None):
        self.line, theirs = socket.socketpair()
        # A hang must end as a failure of the waiting test.
        self.line.settimeout(60)
        self.log, log = os.pipe() if logs else (None, None)
        words = command(flash, firmware, theirs.fileno(), monitor, log, clock, registers)
        passed = [theirs.fileno()] + ([log] if logs else [])
        self.process = subprocess.Popen(words, pass_fds=passed, preexec_fn=die_with_parent)
        theirs.close()
        if logs:
            os.close(log)
            os.set_blocking(self.log, False)
        self.bytes = b""

    def send(self, pdu):
        self.line.sendall(framed(pdu))

    def end(self):
        """Ends a link: this side's half of it."""
        self.line.sendall(END)

    def receive(self):
        """Returns whole PDUs that came, and b"" where the firmware ended its link. None once it has no power."""
        try:
            piece = self.line.recv(65536)
        except ConnectionResetError:
            return None
        except BlockingIOError:
            return []
        if not piece:
            return None
        self.bytes += piece
        came = []
        while len(self.bytes) >= 2:
            size = int.from_bytes(self.bytes[:2], "little")
            if len(self.bytes) < 2 + size:
                break
            came.append(self.bytes[2 : 2 + size])
            self.bytes = self.bytes[2 + size :]
        return came

    def logged(self):
        """Returns the bytes of the log's line since the last call; nothing once it has ended, too."""
        try:
            return os.read(self.log, 65536)
        except BlockingIOError:
            return b""

    def cut(self):
        self.process.kill()
        self.process.wait()
        self.line.close()
