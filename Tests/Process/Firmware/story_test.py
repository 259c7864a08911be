# SPDX-License-Identifier: Apache-2.0

"""The demonstration's scenarios with the firmware in the hardware's place, by the second implementation's app."""

import dataclasses
import io
import pathlib

import stage
from board import SLOTS, Board, pages
from case import BUILD, Firmware
from central import AttError, LinkEnded
from eventlog import EventLog
from line import Line
from proofspec.message import Type, Verdict, parse_answer
from proofspec.order import REVOKE
from proofspec.proof import DEVICE
from stage import BEGIN, PAGE, App


class Story(Firmware):
    def test_the_owner_opens_and_the_receipt_is_right(self):
        self.hold()
        with self.hardware.connect() as link:
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)
            self.assertEqual(self.hardware.done(link), (1, 1, 1))

    def test_a_changed_app_is_refused_and_costs_an_attempt(self):
        self.hold()
        right = self.owner.shared(self.hardware)
        changed = dataclasses.replace(right, im=bytes([right.im[0] ^ 1]) + right.im[1:])
        with self.hardware.connect() as link:
            for left in (2, 1, 0):
                answer = self.owner.do(link, self.hardware, secrets=changed)
                self.assertEqual((answer.verdict, answer.detail), (Verdict.INTEGRITY_DIFFERS, left))
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ATTEMPTS_EXHAUSTED)
            self.assertEqual(self.hardware.done(link), (0, 0, 0))

    def test_a_stranger_is_refused_and_costs_nothing(self):
        self.hold()
        with self.hardware.connect() as link:
            secrets = App(90).shared(self.hardware)
            self.assertEqual(self.owner.do(link, self.hardware, secrets=secrets).verdict, Verdict.DEVICE_DIFFERS)
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_a_device_match_does_what_it_may_and_nothing_more(self):
        self.hold()
        with self.hardware.connect() as link:
            status = self.owner.do(link, self.hardware, (0, b"status"), DEVICE)
            self.assertEqual(status.verdict, Verdict.ACCEPTED_DEVICE_ONLY)
            self.assertEqual(self.owner.do(link, self.hardware, kind=DEVICE).verdict, Verdict.NOT_PERMITTED)

    def test_a_replay_is_refused_also_after_a_power_cut(self):
        self.hold()
        with self.hardware.connect() as link:
            command, _ = self.owner.make(self.hardware, self.owner.ask(link))
            self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.ACCEPTED)
            self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
        self.power_cycle()
        with self.hardware.connect() as link:
            self.owner.ask(link)
            self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_a_challenge_dies_with_its_link_and_no_two_are_alike(self):
        self.hold()
        seen = set()
        for _ in range(3):
            with self.hardware.connect() as link:
                challenge = self.owner.ask(link)
            seen.add(challenge[1])
            with self.hardware.connect() as link:
                command, _ = self.owner.make(self.hardware, challenge)
                self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
            self.power_cycle()
        self.assertEqual(len(seen), 3)

    def test_a_revoked_instance_stays_out(self):
        token = self.hold()
        order = self.backend.order(REVOKE, BEGIN + 1, self.hardware.id, self.owner.instance, 1)
        with self.hardware.connect() as link:
            self.assertEqual(parse_answer(link.say(Type.ORDER, order)[1]).verdict, Verdict.ORDER_DONE)
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.REVOKED)
        self.power_cycle()
        with self.hardware.connect() as link:
            self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.REVOKED)

    def test_a_lost_verdict_is_recalled(self):
        self.hold()
        with self.hardware.connect() as link:
            command, occasion = self.owner.make(self.hardware, self.owner.ask(link))
            self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.ACCEPTED)
        with self.hardware.connect() as link:
            self.assertEqual(self.owner.recall(link, self.hardware, occasion), Verdict.ACCEPTED)

    def test_garbage_is_refused_and_the_owner_gets_in(self):
        self.hold()
        with self.hardware.connect() as link:
            for size in (0, 1, 2, 20, 182):
                link.command(8, bytes(range(size)))
            for opcode in range(0, 256, 3):
                link.send(bytes([opcode | 0x40, 1, 2, 3]))
            link.settle()
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_a_link_that_proves_nothing_for_long_is_given_up(self):
        self.hardware.stop()
        board = Board(self.hardware.flash, BUILD / "cortex-m3" / f"{self.profile}.elf", logs=True, clock=",sleep=off")
        self.addCleanup(board.cut)
        with self.assertRaises(LinkEnded):
            link = Line(board)
            while True:
                link.receive()
        said = io.StringIO()
        EventLog("info", said).take(board.logged())
        self.assertIn("link 0: closed to make room: no command accepted", said.getvalue())

    def test_provisioning_that_is_refused_leaves_the_hardware_as_it_was(self):
        self.hold()
        self.hardware.stop()
        before = self.hardware.flash.read_bytes()
        for words in (("--floor", "-1"), ("missing",), ("--secret-key", "00" * 32)):
            self.assertNotEqual(self.hardware.run("--provision", *words).returncode, 0)
            self.assertTrue(self.hardware.flash.read_bytes() == before, words)
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_what_stands_at_the_socket_s_path_is_left_alone(self):
        self.hold()
        other = stage.Hardware(f"{self.id().rsplit('.', 1)[1]}-other", [self.backend.public])
        self.addCleanup(other.scrap)
        file, long = (pathlib.Path(other.room.name) / name for name in ("file", "long-" * 30))
        for path, why in ((file, "in use"), (long, "too long"), (pathlib.Path(self.hardware.socket), "in use")):
            if path in (file, long):
                path.write_text("kept")
            done = other.run("--socket", str(path))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(why, done.stderr)
            if path in (file, long):
                self.assertEqual(path.read_text(), "kept")
        with self.hardware.connect() as link:
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_without_a_seed_no_challenge_is_given(self):
        self.hardware.cut()
        with open(self.hardware.flash, "r+b") as file:
            file.seek(pages(SLOTS[self.profile]) * PAGE)
            file.write(b"\xff" * 2 * PAGE)
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link, self.assertRaises(AttError):
            self.owner.ask(link)
