# SPDX-License-Identifier: Apache-2.0

"""Accident 6 of docs/results/accidents.md on the firmware: the board's flash is put back to an earlier image. The
ratchet tells the app, and the log tells the backend. The app is that of the second implementation.
"""

import copy
import os
import unittest

import stage
from case import BUILD
from proofspec import log, ratchet
from proofspec.message import Type, Verdict, make_command
from proofspec.proof import Occasion, receipt
from proofspec.token import VERSION_2, create_token, factory_secret, token_digest
from stage import OPEN, PRODUCTION, App, Backend

stage.BUILD = BUILD / "tests"
SECRET, DRAWN = bytes(range(1, 33)), bytes(range(3, 35))
STEPPING = 3  # the kind of a command with integrity and a ratchet


class Stepping(App):
    """An app whose ratchet steps with each command."""

    def begin(self, hardware, token):
        self.ratchet, self.known = ratchet.begin(self.shared(hardware), token_digest(token)), 0

    def step(self, link, hardware):
        """A command; the answer, whose receipt is checked."""
        counter, bytes_ = self.ask(link)
        secrets = self.shared(hardware)
        occasion = Occasion(hardware.id, bytes_, counter, STEPPING, *OPEN)
        command = make_command(occasion, self.instance, secrets, self.ratchet, self.known)
        answer = self.send(link, command.encoded())
        nonce = occasion.nonce()
        expected = receipt(secrets.device_key, nonce, answer.verdict, answer.detail, answer.counter)
        assert answer.receipt == expected, "receipt of the command"
        if answer.verdict == Verdict.ACCEPTED:
            self.ratchet = ratchet.step(self.ratchet, nonce)
        elif answer.verdict == Verdict.ACCEPTED_COPY:
            self.ratchet = ratchet.fork(secrets, nonce)
        if answer.verdict in (Verdict.ACCEPTED, Verdict.ACCEPTED_COPY):
            self.known = counter & 0xFFFFFFFF
        return Verdict(answer.verdict), answer.detail


class RestoredLog(unittest.TestCase):
    def setUp(self):
        self.backend, self.owner = Backend(7), Stepping(40)
        self.hardware = stage.Hardware("restored", [self.backend.public], PRODUCTION, "--floor", "0")
        self.addCleanup(self.hardware.scrap)
        file = self.hardware.folder / "provisioning"
        file.touch(0o600)
        file.write_text(f"secret-key = {SECRET.hex()}\nfactory-secret = {DRAWN.hex()}\nlog = yes\n")
        self.hardware.provision(str(file), "--floor", "0")
        self.said = []
        key = log.first_key(DRAWN, self.hardware.id)
        self.reading = log.Reading(key, 0, self.hardware.id, lambda what, at, count: self.said.append((what, at)))

    def token(self, policy, generation=1):
        body = self.owner.body(self.backend, self.hardware, version=VERSION_2, policy=policy, generation=generation,
                               base=generation)
        token = create_token(self.hardware.public, os.urandom(32), self.backend.seed, body,
                             factory_secret(DRAWN, self.hardware.id))
        self.owner.begin(self.hardware, token)
        return token

    def visit(self, commands, token=None):
        """Power on, a token if there is one, commands, the log for the backend, power off: what each command got."""
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            if token:
                self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)
            told = [self.owner.step(link, self.hardware) for _ in range(commands)]
            if any(verdict in (Verdict.ACCEPTED, Verdict.ACCEPTED_COPY) for verdict, _ in told):
                nonce = os.urandom(16)
                type_, message = link.say(Type.LOG_ASK, log.ask(self.reading.due, nonce))
                self.assertEqual(type_, Type.LOG)
                self.reading.take(nonce, message)
        self.hardware.cut()
        return told

    def verdicts(self, *visit):
        return [verdict for verdict, _ in self.visit(*visit)]

    def test_6_a_restored_flash_is_told_by_the_ratchet_and_seen_in_the_log(self):
        self.assertEqual(self.verdicts(1, self.token(ratchet.REPORT)), [Verdict.ACCEPTED])
        flash = self.hardware.flash.read_bytes()
        self.assertEqual(self.verdicts(3), [Verdict.ACCEPTED] * 3)
        self.assertEqual(copy.deepcopy(self.reading).close(), log.WHOLE, self.said)
        self.hardware.flash.write_bytes(flash)
        # No token and no order from here on: the owner is told once, and gets in.
        self.assertEqual(self.verdicts(2), [Verdict.ACCEPTED_COPY, Verdict.ACCEPTED])
        self.assertEqual(self.reading.close(), log.ALTERED, self.said)
        self.assertTrue(self.reading.alarms & {"forked", "shorter"}, self.said)
