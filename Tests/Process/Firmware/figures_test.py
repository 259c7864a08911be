# SPDX-License-Identifier: Apache-2.0

"""Flash, RAM, stack and instructions, asserted: what docs/results/firmware.md says must stay true."""

import dataclasses
import json
import os
import re
import socket
import subprocess
import tempfile
import unittest
from unittest import mock

import stage
from board import Board
from case import BUILD, Hardware, grant_handle
from central import WRITTEN_AT, AttError
from channel_process_test import CHANNEL, SEALED_ONLY
from elsewhere import hardware_with
from lending import OPEN, RING, USES, Lending
from line import Line
from proofspec import log, sealed
from proofspec.message import Type, Verdict, parse_answer
from proofspec.order import REVOKE
from proofspec.token import UPCOMING, create_token, factory_secret
from sealing import SealedApp
from stage import App, Backend

RAM = 0x20000000
PAINT = (0x5AC35AC3).to_bytes(4, "little")
# A member's own, without the class that it borrows.
RIGHTS = {"integrity_classes": RING, "device_classes": 0, "base": 1}
HERE = os.path.dirname(os.path.abspath(__file__))

# Bytes and instructions, each with a margin of about three in a hundred above what was measured; but no figure beyond
# what was aimed at.
LIMITS = {
    # Ratchets took 1,680 bytes of flash; upcoming tokens and details 1,380, and 224 of static RAM; the log 6,310 and
    # 144; SHA-512 in a loop saved 7,010. Loans took 4,512 and 136. The clock's check of itself
    # took 16, of symmetric 36.
    "full": {"flash": 60_900, "static": 2_720, "ram": 8_192},
    "large": {"flash": 69_600, "static": 3_320, "ram": 8_910},
    "symmetric": {"flash": 12_288, "static": 1_050, "ram": 2_048},
    "instructions": {
        "token-open": 2_600_000, "proof-check": 14_900, "message-token-held": 5_230_000,
        "message-command-accepted": 129_000, "message-command-stranger": 72_000, "message-command-garbage": 700,
        "message-token-garbage": 1_240_000,
    },
    # Each with a command of the longest, 216 bytes.
    "sealed-instructions": {
        "message-sealed-accepted": 1_820_000, "message-sealed-stranger": 137_500,
        "message-channel-accepted": 276_600, "sealed-key": 1_420_000,
    },
    "loan-instructions": {
        "message-grant-taken": 218_500, "message-grant-forged": 49_800, "message-command-lent": 148_900,
    },
    # Bytes of the core's stack. The firmware's whole stack is measured on the board.
    "loan-stack": {"message-grant-taken": 976, "message-grant-forged": 770, "message-command-lent": 968},
}
# Size aims: kilobytes of 1024.
AIMS = {"full": (60, 8), "large": (72, 10), "symmetric": (12, 2)}


def symbols(profile):
    text = subprocess.run(["arm-none-eabi-nm", BUILD / "cortex-m3" / f"{profile}.elf"], check=True,
                          capture_output=True, text=True).stdout
    return {name: int(value, 16) for value, _, name in (line.split(" ", 2) for line in text.splitlines())}


class Monitor:
    """The emulator's own socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.stream = self.socket.makefile("rw")
        self.stream.readline()
        self.do("qmp_capabilities")

    def do(self, command, **arguments):
        self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.stream.flush()
        while "return" not in (answer := json.loads(self.stream.readline())):
            assert "error" not in answer, answer


class Figures(Lending, unittest.TestCase):
    def setUp(self):
        self.room = tempfile.TemporaryDirectory()
        self.addCleanup(self.room.cleanup)
        self.backend, self.owner = Backend(7), App(40)

    def power(self, flash, profile):
        path = os.path.join(self.room.name, "monitor")
        board = Board(flash, BUILD / "cortex-m3" / f"{profile}.elf", path)
        self.addCleanup(board.cut)
        link = Line(board)  # the firmware has answered, so the monitor listens
        return link, Monitor(path)

    def weigh(self, profile, monitor):
        """Asserts sizes; the stack is what is no longer painted after what was done."""
        found = symbols(profile)
        path = os.path.join(self.room.name, "ram")
        size = found["stack_top"] - RAM
        monitor.do("pmemsave", val=RAM, size=size, filename=path)
        with open(path, "rb") as file:
            ram = file.read()
        bottom = at = found["stack_bottom"] - RAM
        while ram[at : at + 4] == PAINT:
            at += 4
        self.assertGreater(at, bottom, "the stack has overrun its bottom")
        weights = {"flash": found["flash_bytes"], "static": found["static_bytes"],
                   "ram": found["static_bytes"] + size - at}
        print(f"{profile}: flash {weights['flash']}, static {weights['static']}, stack {size - at}, "
              f"RAM {weights['ram']}; aims {AIMS[profile][0] * 1024} and {AIMS[profile][1] * 1024}")
        for name, weight in weights.items():
            self.assertLessEqual(weight, LIMITS[profile][name], name)

    def do_all(self, link, hardware):
        """The deepest there is: acceptance with counted uses, a spent attempt, a stranger, a recall, garbage."""
        right = self.owner.shared(hardware)
        wrong = dataclasses.replace(right, im=bytes([right.im[0] ^ 1]) + right.im[1:])
        self.assertEqual(self.owner.do(link, hardware).verdict, Verdict.ACCEPTED)
        self.assertEqual(self.owner.do(link, hardware, secrets=wrong).verdict, Verdict.INTEGRITY_DIFFERS)
        self.assertEqual(self.owner.do(link, hardware, secrets=App(90).shared(hardware)).verdict,
                         Verdict.DEVICE_DIFFERS)
        message, occasion = self.owner.make(hardware, self.owner.ask(link))
        self.assertEqual(self.owner.send(link, message.encoded()).verdict, Verdict.ACCEPTED)
        self.assertEqual(self.owner.recall(link, hardware, occasion), Verdict.ACCEPTED)

    def test_the_full_profile_in_flash_and_ram(self):
        hardware = stage.Hardware("full", [self.backend.public])
        self.addCleanup(hardware.scrap)
        link, monitor = self.power(hardware.flash, "full")
        token = self.owner.token(self.backend, hardware, uses=100)
        self.assertEqual(self.owner.present(link, hardware, token), Verdict.HELD)
        self.do_all(link, hardware)
        # An update: its token waits beside the held one, and its first command commits it.
        updated = App(60)
        updated.instance = self.owner.instance
        coming = updated.token(self.backend, hardware, version=2, policy=UPCOMING, generation=2, base=1, uses=100)
        self.assertEqual(updated.present(link, hardware, coming), Verdict.READY)
        self.assertEqual(updated.do(link, hardware).verdict, Verdict.ACCEPTED)
        order = self.backend.order(1, stage.BEGIN + 5, hardware.id, bytes(16), 0)
        self.assertEqual(parse_answer(link.say(Type.ORDER, order)[1]).verdict, Verdict.ORDER_DONE)
        self.weigh("full", monitor)

    def test_the_full_profile_with_its_log_in_ram(self):
        self.live("full")

    def live(self, profile):
        hardware = Hardware(profile, f"{profile}-log", [self.backend.public], stage.PRODUCTION, "--floor", "0")
        self.addCleanup(hardware.scrap)
        file = hardware.folder / "provisioning"
        file.touch(0o600)
        drawn = bytes(range(3, 35))
        file.write_text(f"secret-key = {bytes(range(1, 33)).hex()}\nfactory-secret = {drawn.hex()}\nlog = yes\n")
        hardware.provision(str(file), "--floor", "0")
        link, monitor = self.power(hardware.flash, profile)

        def present(app, **changes):
            body = app.body(self.backend, hardware, version=2, uses=100, **changes)
            token = create_token(hardware.public, bytes(range(2, 34)), self.backend.seed, body,
                                 factory_secret(drawn, hardware.id))
            return app.present(link, hardware, token), token

        self.assertEqual(present(self.owner, base=1, generation=1)[0], Verdict.HELD)
        self.do_all(link, hardware)
        updated = App(60)
        updated.instance = self.owner.instance
        verdict, self.owners = present(updated, policy=UPCOMING, generation=2, base=1, delegable_classes=OPEN)
        self.assertEqual(verdict, Verdict.READY)
        self.assertEqual(updated.do(link, hardware).verdict, Verdict.ACCEPTED)
        # A note and a new block, and the log handed out.
        for _ in range(18):
            self.assertEqual(updated.do(link, hardware).verdict, Verdict.ACCEPTED)
        self.assertEqual(link.say(Type.LOG_ASK, log.ask(0, bytes(16)))[0], Type.LOG)
        if profile == "large":
            self.do_sealed(link, hardware, present)
        self.owner, self.member, self.hardware, self.generation = updated, App(120), hardware, 2
        with mock.patch.dict(WRITTEN_AT, {Type.GRANT: grant_handle(profile)}):
            self.lend(link, present, seals=profile == "large")
        self.weigh(profile, monitor)

    def do_sealed(self, link, hardware, present):
        """A stranger's and the owner's sealed commands, of each kind and the longest, and a channel to its end."""
        guest = App(120)
        verdict, token = present(guest, policy=CHANNEL | SEALED_ONLY, base=1, generation=1)
        self.assertEqual(verdict, Verdict.HELD)
        longest = (0, bytes(sealed.COMMAND_MAX))
        stranger, app = SealedApp(App(90), hardware, token), SealedApp(guest, hardware, token)
        self.assertEqual(stranger.open(link, longest).verdict, Verdict.DEVICE_DIFFERS)
        self.assertEqual(app.open(link, longest, sealed.DEVICE).verdict, Verdict.ACCEPTED_DEVICE_ONLY)
        self.assertEqual(app.open(link, longest).verdict, Verdict.ACCEPTED)
        while app.next:
            self.assertEqual(app.go_on(link, longest).verdict, Verdict.ACCEPTED)

    def lend(self, link, present, seals):
        """A loan with all of its uses, forged and foreign ones, its renewal and its end; then a token in the place of
        a revoked one, with which the hardware forgets a loan that is stored.
        """
        policy = CHANNEL | SEALED_ONLY if seals else 0
        verdict, self.members = present(self.member, policy=policy, **RIGHTS, generation=2)
        self.assertEqual(verdict, Verdict.HELD)
        app = SealedApp(self.member, self.hardware, self.members)
        longest = (1, bytes(sealed.COMMAND_MAX))

        def use(goes_on=False):
            if not seals:
                return self.open(link)
            return Verdict((app.go_on if goes_on else app.open)(link, longest).verdict)

        self.assertEqual(use(), Verdict.NOT_PERMITTED)
        made = self.grant()
        self.assertEqual(self.present(link, made, self.member), (Verdict.ORDER_DONE, USES))
        for number in range(USES):
            self.assertEqual(use(goes_on=number > 0), Verdict.ACCEPTED)
        self.assertEqual(use(goes_on=True), Verdict.NOT_PERMITTED)
        changed = self.owner.secrets.diversified(bytes(16))
        self.assertEqual(self.present(link, self.grant(2, OPEN, changed), self.member)[0], Verdict.DEVICE_DIFFERS)
        self.assertEqual(self.present(link, self.grant(2, hint=b"else"), self.member)[0], Verdict.NOT_FOR_ME)
        self.assertEqual(self.present(link, self.grant(2), self.member), (Verdict.ORDER_DONE, USES))
        self.assertEqual(use(), Verdict.ACCEPTED)
        self.assertEqual(self.present(link, self.grant(3, 0), self.owner), (Verdict.ORDER_DONE, 0))
        self.assertEqual(use(), Verdict.NOT_PERMITTED)
        self.assertEqual(self.present(link, made, self.member), (Verdict.NOT_PERMITTED, 4))
        self.assertEqual(self.present(link, self.grant(4), self.member), (Verdict.ORDER_DONE, USES))
        order = self.backend.order(REVOKE, stage.BEGIN + 5, self.hardware.id, self.member.instance, 2)
        self.assertEqual(parse_answer(link.say(Type.ORDER, order)[1]).verdict, Verdict.ORDER_DONE)
        verdict, app.token = present(self.member, policy=policy, **RIGHTS, generation=3)
        self.assertEqual(verdict, Verdict.HELD)
        self.assertEqual(use(), Verdict.NOT_PERMITTED)

    def test_the_large_profile_with_its_log_in_ram(self):
        """As `full` with its log; also sealed commands of the longest and channels, with a loan as well."""
        self.live("large")

    def test_the_symmetric_profile_judges_what_was_opened_elsewhere(self):
        hardware, token = hardware_with("symmetric", "symmetric", self.backend, self.owner, uses=100)
        self.addCleanup(hardware.scrap)
        link, monitor = self.power(hardware.flash, "symmetric")
        # Longer than anything this build takes: refused by its first packet, and nothing of it is kept.
        for type, message in ((Type.TOKEN, token), (Type.ORDER, bytes(124))):
            with self.assertRaises(AttError) as refused:
                link.write(WRITTEN_AT[type], link.packets(type, message)[0])
            self.assertEqual(refused.exception.code, 0x80)
        self.do_all(link, hardware)
        self.weigh("symmetric", monitor)

    def test_instructions_of_each_operation(self):
        found = self.measured("full", "instructions")
        # The aim of the issue itself.
        self.assertLessEqual(found["proof-check"], 15_000)

    def test_instructions_of_sealed_commands(self):
        self.measured("large", "sealed-instructions")

    def measured(self, profile, limits):
        """Instructions of each operation, within these limits and those of loans."""
        subprocess.run([os.path.join(HERE, "programs.sh")], check=True, capture_output=True)
        done = subprocess.run(
            ["qemu-system-arm", "-M", "mps2-an385", "-icount", "shift=0", "-display", "none", "-monitor", "none",
             "-serial", "none", "-nic", "user,restrict=on", "-semihosting-config", "enable=on,target=native",
             "-kernel", BUILD / "cortex-m3" / f"figures-{profile}.elf"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        print(done.stdout, end="")
        figures = re.findall(r"figure (\S+) instructions (\d+) stack (\d+)", done.stdout)
        found = {name: int(count) for name, count, _ in figures}
        for name, limit in (LIMITS[limits] | LIMITS["loan-instructions"]).items():
            self.assertLessEqual(found[name], limit, name)
        stacks = {name: int(count) for name, _, count in figures}
        for name, limit in LIMITS["loan-stack"].items():
            self.assertLessEqual(stacks[name], limit, name)
        return found
