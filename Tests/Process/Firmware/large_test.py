# SPDX-License-Identifier: Apache-2.0

"""The profile `large`: all of `full`, sealed commands and channels, with commands of the second implementation."""

import collections
import contextlib
import os
import random
import threading

import channel_process_test
import loan_test
import story_test
from case import Firmware
from central import CAPABILITIES, SEALED_CHALLENGE, LinkEnded
from channel_process_test import CHANNEL, FEATURE_CHANNEL, FEATURE_SEALED, SEALED_ONLY
from proofspec import channel, sealed
from proofspec.message import Type, Verdict, parse_answer
from sealing import SealedApp
from stage import App

CUTS = int(os.environ["FIRMWARE_CUTS"])
SEED = int(os.environ["FIRMWARE_SEED"])
USES = 1000
Whole = channel_process_test.Channel.__dict__


class Sealed:
    """The occasion of a sealed or a channel's command, for its recall."""

    def __init__(self, counter, nonce):
        self.counter, self.answered = counter, nonce

    def nonce(self):
        return self.answered


class LargeStory(story_test.Story):
    profile = "large"


class LargeLoans(loan_test.Loans):
    profile = "large"


class Large(Firmware):
    profile = "large"
    hold = Whole["hold"]

    @property
    def app(self):
        return self.owner

    def key(self, link):
        """E_lock, as it stands in a challenge."""
        return link.read(SEALED_CHALLENGE)[40:]

    def fail_after(self, seconds, link, type, message):
        """Cuts the power after drawn seconds, which no result depends on. Returns whether the board had answered."""
        answered = False
        timer = threading.Timer(seconds, self.hardware.cut)
        timer.start()
        with contextlib.suppress(LinkEnded):
            answered = link.say(type, message)[0] == Type.SEALED_DOWN
        timer.join()
        return answered


class SealedOnTheBoard(Large):
    def test_provisioning_and_board_tell_the_same_features(self):
        self.hardware.stop()
        told = self.hardware.features()
        self.assertEqual(told & (FEATURE_SEALED | FEATURE_CHANNEL), FEATURE_SEALED | FEATURE_CHANNEL)

    def test_a_sealed_command_is_done_and_each_has_a_key_of_its_own(self):
        keys = []
        with self.hardware.connect() as link:
            app = self.hold(link, SEALED_ONLY)
            for done in (1, 2, 3):
                keys.append(self.key(link))
                answer = app.open(link)
                self.assertEqual((answer.verdict, app.next), (Verdict.ACCEPTED, 0))
                self.assertEqual(self.hardware.done(link), (1, 1, done))
        self.assertEqual(len(set(keys)), 3)

    def test_the_longest_command_is_taken(self):
        with self.hardware.connect() as link:
            app = self.hold(link)
            longest = (1, bytes(sealed.COMMAND_MAX))
            self.assertEqual(app.open(link, longest).verdict, Verdict.ACCEPTED)
            self.assertEqual(app.go_on(link, longest).verdict, Verdict.ACCEPTED)

    def test_a_stranger_uses_up_no_key(self):
        """The hardware wipes a key with the X25519 for which it was made: the key that is still there was not used."""
        with self.hardware.connect() as link:
            owner = self.hold(link)
            stranger = SealedApp(App(90), self.hardware, owner.token)
            before = self.key(link)
            for _ in range(3):
                self.assertEqual(stranger.open(link).verdict, Verdict.DEVICE_DIFFERS)
            self.assertEqual(self.key(link), before)
            self.assertEqual(self.hardware.done(link), (0, 0, 0))
            # The owner's device causes it, once for each challenge, also where the box does not open.
            message = owner.seal(link)
            changed = message[:-1] + bytes([message[-1] ^ 1])
            self.assertEqual(owner.send(link, Type.COMMAND, changed).verdict, Verdict.DEVICE_DIFFERS)
            self.assertNotEqual(self.key(link), before)
            self.assertEqual(owner.open(link).verdict, Verdict.ACCEPTED)

    def test_a_restart_makes_another_key(self):
        with self.hardware.connect() as link:
            app = self.hold(link)
            message, before = app.seal(link), self.key(link)
        self.power_cycle()
        with self.hardware.connect() as link:
            self.assertNotEqual(self.key(link), before)
            self.assertEqual(app.send(link, Type.COMMAND, message).verdict, Verdict.STALE)
            self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)

    def test_power_that_fails_during_a_sealed_command(self):
        """Done and charged, or neither, and the recall says which; the message does nothing a second time."""
        dice, outcomes = random.Random(SEED), collections.Counter()
        with self.hardware.connect() as link:
            app = self.hold(link, SEALED_ONLY, uses=USES)
        left = USES
        for cut in range(CUTS):
            with self.subTest(cut=cut):
                with self.hardware.connect() as link:
                    message = app.seal(link)
                    answered = self.fail_after(dice.uniform(0, 0.25), link, Type.COMMAND, message)
                self.assertTrue(self.hardware.start())
                with self.hardware.connect() as link:
                    self.assertEqual(app.send(link, Type.COMMAND, message).verdict, Verdict.STALE)
                    told = self.owner.recall(link, self.hardware, Sealed(app.counter, app.nonce))
                    outcomes[told.name] += 1
                    self.assertIn(told, (Verdict.ACCEPTED,) if answered else (Verdict.ACCEPTED, Verdict.NOT_EXECUTED))
                    answer = app.open(link)
                    left -= 2 if told == Verdict.ACCEPTED else 1
                    self.assertEqual((answer.verdict, answer.detail), (Verdict.ACCEPTED, left))
        print(f"seed {SEED}, {CUTS} cuts during a sealed command: {dict(outcomes)}")

    def test_a_token_for_sealed_commands_and_channels_is_held_here_alone(self):
        with self.hardware.connect() as link:
            app = self.hold(link, SEALED_ONLY | CHANNEL)
            clear = self.owner.do(link, self.hardware)
            self.assertEqual((clear.verdict, clear.detail), (Verdict.NOT_PERMITTED, 3))
            self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
            self.assertEqual(app.go_on(link).verdict, Verdict.ACCEPTED)


class FromFull(Firmware):
    hold = Whole["hold"]

    @property
    def app(self):
        return self.owner

    def test_a_board_of_the_profile_full_is_updated_and_forgets_nothing(self):
        with self.hardware.connect() as link:
            self.hold(link, 0)
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)
        self.hardware.cut()
        self.hardware.profile = "large"
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.ACCEPTED)
            app = self.hold(link, CHANNEL | SEALED_ONLY, 2)
            self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
            self.assertEqual(app.go_on(link).verdict, Verdict.ACCEPTED)


class TooNewForFull(Firmware):
    hold = Whole["hold"]

    def test_the_profile_full_takes_no_such_token_and_seals_nothing(self):
        with self.hardware.connect() as link:
            features = int.from_bytes(link.read(CAPABILITIES)[4:8], "little")
            self.assertEqual(features & (FEATURE_SEALED | FEATURE_CHANNEL), 0)
            for policy in (SEALED_ONLY, CHANNEL, SEALED_ONLY | CHANNEL):
                token = self.owner.token(self.backend, self.hardware, version=2, base=1, device_classes=0,
                                         policy=policy)
                self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.TOO_NEW)
            self.assertEqual(parse_answer(link.say(Type.COMMAND, bytes([5]) + bytes(141))[1]).verdict, Verdict.TOO_NEW)


class ChannelOnTheBoard(Large):
    """The channel's tests of the hardware as a process, and those of the board alone."""

    verdict, recording, power, clients, go_on_until = (
        Whole[name] for name in ("verdict", "test_the_recording_tells_lengths_and_nothing_else",
                                 "test_the_power_ends_it",
                                 "test_clients_that_know_no_channel_are_served_as_their_token_says", "go_on_until"))

    def start(self, *_):
        """Gives the board its power back, if it has none."""
        if self.hardware.process.poll() is not None:
            self.assertTrue(self.hardware.start())

    def test_further_commands_take_one_message_each_way_up_to_sixteen(self):
        self.go_on_until(16)

    def test_the_recording_tells_lengths_and_nothing_else(self):
        self.recording()

    def test_a_restart_ends_it(self):
        self.power()

    def test_clients_that_know_no_channel_are_served(self):
        self.clients()

    def test_the_link_s_end_ends_it(self):
        with self.hardware.connect() as link:
            app = self.hold(link)
            app.open(link)
            waiting = app.seal_next()
        with self.hardware.connect() as link:
            self.assertEqual(self.verdict(link, waiting), (Verdict.STALE, 6))

    def test_another_message_or_a_recorded_one_ends_it(self):
        with self.hardware.connect() as link:
            app = self.hold(link)
            for other in (lambda: self.owner.ask(link), lambda: self.owner.do(link, self.hardware),
                          lambda: self.verdict(link, app.heard[-2][1])):
                self.assertEqual(app.open(link).verdict, Verdict.ACCEPTED)
                self.assertEqual(app.go_on(link).verdict, Verdict.ACCEPTED)
                waiting = app.seal_next()
                other()
                self.assertEqual(self.verdict(link, waiting), (Verdict.STALE, 6))

    def test_power_that_fails_during_its_command(self):
        """Done and charged, or neither, and the recall says which; the message does nothing a second time."""
        dice, outcomes = random.Random(SEED), collections.Counter()
        with self.hardware.connect() as link:
            app = self.hold(link, uses=USES)
        left = USES
        for cut in range(CUTS):
            with self.subTest(cut=cut):
                with self.hardware.connect() as link:
                    answer = app.open(link)
                    self.assertEqual((answer.verdict, answer.detail), (Verdict.ACCEPTED, left - 1))
                    counter, chain = app.next, app.chain
                    message = app.seal_next()
                    answered = self.fail_after(dice.uniform(0, 0.25), link, Type.SEALED_UP, message)
                self.assertTrue(self.hardware.start())
                with self.hardware.connect() as link:
                    self.assertEqual(self.verdict(link, message), (Verdict.STALE, 6))
                    told = self.owner.recall(link, self.hardware, Sealed(counter, channel.nonce(chain, message)))
                    outcomes[told.name] += 1
                    self.assertIn(told, (Verdict.ACCEPTED,) if answered else (Verdict.ACCEPTED, Verdict.NOT_EXECUTED))
                    answer = app.open(link)
                    left -= 3 if told == Verdict.ACCEPTED else 2
                    self.assertEqual((answer.verdict, answer.detail), (Verdict.ACCEPTED, left))
        print(f"seed {SEED}, {CUTS} cuts during a channel's command: {dict(outcomes)}")
