# SPDX-License-Identifier: Apache-2.0

"""Channels on the hardware as a process, with commands of the second implementation, and clients that know none."""

import unittest

from central import CAPABILITIES, SEALED_CHALLENGE, AttError
from proofspec.message import Type, Verdict, parse_answer
from sealing import SealedApp
from stage import PRODUCTION, App, Backend, Hardware

CHANNEL, SEALED_ONLY = 1 << 2, 1 << 3
FEATURE_SEALED, FEATURE_CHANNEL = 1 << 2, 1 << 7
# Commands of two classes with one length.
OPENING, CLOSING = (1, b"open ABC"), (2, b"autolock")


class Channel(unittest.TestCase):
    def setUp(self):
        self.backend, self.app = Backend(7), App(40)
        self.hardware = Hardware(self.id().rsplit(".", 1)[1], [self.backend.public], PRODUCTION, "--floor", "0")
        self.addCleanup(self.hardware.scrap)

    def start(self, *words, seals="yes", opens="yes"):
        self.assertTrue(self.hardware.start("--seal", seals, "--channel", opens, *words))

    def hold(self, link, policy=CHANNEL, generation=1, **fields):
        token = self.app.token(self.backend, self.hardware, version=2, base=generation, generation=generation,
                               device_classes=0, policy=policy, **fields)
        self.assertEqual(self.app.present(link, self.hardware, token), Verdict.HELD)
        return SealedApp(self.app, self.hardware, token)

    def verdict(self, link, message, type=Type.SEALED_UP):
        kind, told = link.say(type, message)
        self.assertEqual(kind, Type.VERDICT)
        answer = parse_answer(told)
        return Verdict(answer.verdict), answer.detail

    def go_on_until(self, limit, *words):
        self.start(*words)
        with self.hardware.connect(mtu=185) as link:
            app = self.hold(link)
            self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
            for left in reversed(range(limit)):
                sent, received = link.sent, link.received
                self.assertEqual(app.go_on(link).verdict, Verdict.ACCEPTED)
                self.assertEqual((link.sent - sent, link.received - received), (1, 1))
                self.assertEqual(app.next != 0, left > 0)
            self.assertEqual(self.hardware.done(link)[2], limit + 1)
        self.hardware.stop()
        who, where = self.app.instance[:4].hex(), self.hardware.id[:4].hex()
        told = [f"{name} of {who}: accepted (1), detail 65535, ref={where}-{counter}"
                for counter, name in enumerate(["command"] + limit * ["channel command"], 1)]
        self.assertEqual([line.split("link 0: ")[1] for line in self.hardware.log if "accepted" in line], told)

    def test_further_commands_take_one_message_each_way_up_to_sixteen(self):
        self.go_on_until(16, "--clock", "system")

    def test_hardware_without_a_clock_takes_four(self):
        self.go_on_until(4, "--clock", "none")

    def test_the_recording_tells_lengths_and_nothing_else(self):
        """Two stories of equal lengths look alike, and a refusal looks like a success."""
        self.start()
        shapes = []
        for what, refused in ((OPENING, CLOSING), (CLOSING, OPENING)):
            with self.hardware.connect() as link:
                app = self.hold(link, generation=len(shapes) + 1,
                                integrity_classes=1 << OPENING[0] if not shapes else 1 << CLOSING[0])
                self.assertEqual(app.open(link, what).verdict, Verdict.ACCEPTED)
                self.assertEqual(app.go_on(link, what).verdict, Verdict.ACCEPTED)
                self.assertEqual(app.go_on(link, refused).verdict, Verdict.NOT_PERMITTED)
            shapes.append([(type, len(message)) for type, message in app.heard])
            heard = b"".join(message for _, message in app.heard)
            secrets = self.app.shared(self.hardware)
            for hidden in (what[1], refused[1], self.app.instance, secrets.device_key, secrets.im):
                for at in range(len(hidden) - 3):
                    self.assertNotIn(hidden[at:at + 4], heard)
        self.assertEqual(shapes[0], shapes[1])
        self.assertEqual(shapes[0], [(Type.COMMAND, 142 + 8), (Type.SEALED_DOWN, 35)]
                         + 2 * [(Type.SEALED_UP, 25 + 8), (Type.SEALED_DOWN, 35)])

    def test_a_thief_who_plays_what_he_heard_ends_the_channel_and_does_nothing(self):
        self.start()
        with self.hardware.connect() as link:
            app = self.hold(link)
            app.open(link)
            app.go_on(link)
            recorded = app.heard[-2][1]
            with self.hardware.connect() as other:
                self.assertEqual(self.verdict(other, recorded), (Verdict.STALE, 6))
            self.assertEqual(app.go_on(link).verdict, Verdict.ACCEPTED)
            waiting = app.seal_next()
            self.assertEqual(self.verdict(link, recorded), (Verdict.STALE, 6))
            self.assertEqual(self.verdict(link, waiting), (Verdict.STALE, 6))
            self.assertEqual(self.hardware.done(link)[2], 3)
            # The link is served: a fresh proof opens another channel.
            self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
            self.assertEqual(app.go_on(link).verdict, Verdict.ACCEPTED)

    def test_the_power_ends_it(self):
        self.start()
        with self.hardware.connect() as link:
            app = self.hold(link)
            app.open(link)
            waiting = app.seal_next()
        self.hardware.cut()
        self.start()
        with self.hardware.connect() as link:
            self.assertEqual(self.verdict(link, waiting), (Verdict.STALE, 6))
            self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)

    def test_clients_that_know_no_channel_are_served_as_their_token_says(self):
        """A client in the clear, one that seals and reads no `next`, and hardware that opens none."""
        self.start()
        with self.hardware.connect() as link:
            app = self.hold(link)
            for _ in range(2):
                self.assertEqual(self.app.do(link, self.hardware).verdict, Verdict.ACCEPTED)
                self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
            self.assertEqual(self.app.do(link, self.hardware).verdict, Verdict.ACCEPTED)
        with self.hardware.connect() as link:
            self.hold(link, CHANNEL | SEALED_ONLY, 2)
            answer = self.app.do(link, self.hardware)
            self.assertEqual((answer.verdict, answer.detail), (Verdict.NOT_PERMITTED, 3))
        with self.hardware.connect() as link:
            app = self.hold(link, 0, 3)
            self.assertEqual((app.open(link).verdict, app.next), (Verdict.ACCEPTED, 0))

    def open_none(self, seals, opens):
        self.start(seals=seals, opens=opens)
        with self.hardware.connect() as link:
            app = self.hold(link)
            told = int.from_bytes(link.read(CAPABILITIES)[4:8], "little")
            self.assertEqual(told & (FEATURE_SEALED | FEATURE_CHANNEL), FEATURE_SEALED if seals == "yes" else 0)
            if seals == "yes":
                self.assertEqual((app.open(link).verdict, app.next), (Verdict.ACCEPTED, 0))
            else:
                self.assertRaises(AttError, link.read, SEALED_CHALLENGE)
            self.assertEqual(self.verdict(link, bytes(29))[0], Verdict.MALFORMED if opens == "no" else Verdict.STALE)
            self.assertEqual(self.app.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_hardware_opens_none_unless_it_is_told_to(self):
        self.open_none(seals="yes", opens="no")

    def test_hardware_that_answers_no_sealed_commands_opens_none(self):
        self.open_none(seals="no", opens="yes")
        self.assertEqual(self.hardware.run("--socket", self.hardware.socket, "--channel", "maybe").returncode, 2)
