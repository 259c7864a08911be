# SPDX-License-Identifier: Apache-2.0

"""Attackers who recorded what was said, and say it again."""

from case import Attack
from proofspec.message import Type, Verdict
from proofspec.proof import DEVICE, INTEGRITY


class Replay(Attack):
    def recorded(self):
        """An unlock that the hardware accepted, as it went over the air."""
        command, _ = self.owner.make(self.hardware, self.owner.ask(self.link))
        self.assertEqual(self.owner.send(self.link, command.encoded()).verdict, Verdict.ACCEPTED)
        return command

    def with_counter(self, command, counter):
        raw = bytearray(command.encoded())
        raw[18:26] = counter.to_bytes(8, "little")
        return bytes(raw)

    def test_a_recorded_unlock_is_refused_on_its_link_and_on_every_other(self):
        command = self.recorded()
        for link in (self.link, self.connect()):
            self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
            counter, _ = self.owner.ask(link)
            self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
            counter, _ = self.owner.ask(link)
            # Under the counter of the live challenge the proof is another's.
            renamed = self.with_counter(command, counter)
            self.assertEqual(self.owner.send(link, renamed).verdict, Verdict.DEVICE_DIFFERS)
        self.assertEqual(self.hardware.done(self.link)[2], 1)
        self.assert_owner_gets_in()

    def test_a_recorded_unlock_is_refused_after_a_power_loss(self):
        command = self.recorded()
        highest = command.counter
        for _ in range(3):
            self.power_cycle()
            link = self.connect()
            self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
            counter, _ = self.owner.ask(link)
            self.assertGreater(counter, highest)
            highest = counter
            self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
            self.owner.ask(link)
            self.assert_nothing_done(link)
        self.assert_owner_gets_in()

    def test_a_challenge_is_answered_once_whatever_the_answer_was(self):
        challenge = self.owner.ask(self.link)
        command, _ = self.owner.make(self.hardware, challenge)
        wrong = bytearray(command.encoded())
        wrong[-10] ^= 1
        self.assertEqual(self.owner.send(self.link, bytes(wrong)).verdict, Verdict.DEVICE_DIFFERS)
        self.assertEqual(self.owner.send(self.link, command.encoded()).verdict, Verdict.STALE)
        challenge = self.owner.ask(self.link)
        for expected in (Verdict.ACCEPTED, Verdict.STALE):
            command, _ = self.owner.make(self.hardware, challenge)
            self.assertEqual(self.owner.send(self.link, command.encoded()).verdict, expected)

    def test_a_challenge_dies_with_its_link(self):
        challenge = self.owner.ask(self.link)
        command, _ = self.owner.make(self.hardware, challenge)
        other = self.connect()
        self.assertEqual(self.owner.send(other, command.encoded()).verdict, Verdict.STALE)
        self.link.close()
        again = self.connect()
        self.assertEqual(self.owner.send(again, command.encoded()).verdict, Verdict.STALE)
        self.assert_nothing_done(again)
        self.assert_owner_gets_in()

    def test_a_proof_is_good_for_its_command_class_and_kind_alone(self):
        def changed(edit, kind=INTEGRITY):
            command, _ = self.owner.make(self.hardware, self.owner.ask(self.link), (0, b"status"), kind)
            raw = bytearray(command.encoded())
            edit(raw)
            return self.owner.send(self.link, bytes(raw)).verdict

        def another_class(raw):
            raw[1] = 1

        def another_command(raw):
            raw[-6:] = b"open  "

        def a_longer_command(raw):
            raw.append(0)

        def the_other_kind(raw):
            raw[0] = DEVICE

        for edit in (another_class, another_command, a_longer_command, the_other_kind):
            with self.subTest(edit.__name__):
                self.assertEqual(changed(edit), Verdict.DEVICE_DIFFERS)
        # A device proof dressed up as an integrity command is short of one proof.
        raw = bytearray(self.owner.make(self.hardware, self.owner.ask(self.link), kind=DEVICE)[0].encoded())
        raw[0] = INTEGRITY
        self.assertEqual(self.owner.send(self.link, bytes(raw)).verdict, Verdict.MALFORMED)
        self.assert_nothing_done(self.link)
        self.assert_owner_gets_in()

    def test_a_session_recorded_at_one_hardware_opens_no_other_of_the_same_app(self):
        other = self.make("other")
        link = self.connect(hardware=other)
        self.assertEqual(self.owner.present(link, other, self.owner.token(self.backend, other)), Verdict.HELD)
        # The token of the first, as recorded: another's, told by its first bytes, or by its seal.
        for token in (self.token, self.token[:4] + other.id[:4] + self.token[8:]):
            self.assertEqual(self.owner.present(link, other, token), Verdict.NOT_FOR_ME)
        command = self.recorded()
        counter, bytes_ = self.owner.ask(link)
        self.assertEqual(self.owner.send(link, self.with_counter(command, counter)).verdict, Verdict.DEVICE_DIFFERS)
        # A live relay of the other's challenge: the proof names the hardware that it is for.
        challenge = self.owner.ask(link)
        command, _ = self.owner.make(self.hardware, challenge)
        self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.DEVICE_DIFFERS)
        # Even with the other's secrets, made for this hardware's id.
        command, _ = self.owner.make(self.hardware, self.owner.ask(link), secrets=self.owner.shared(other))
        self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.DEVICE_DIFFERS)
        self.assertEqual(other.done(link), (0, 0, 0))
        self.assertEqual(self.owner.do(link, other).verdict, Verdict.ACCEPTED)

    def test_a_recorded_recall_changes_nothing_and_a_changed_one_is_a_strangers(self):
        command, occasion = self.owner.make(self.hardware, self.owner.ask(self.link))
        self.assertEqual(self.owner.send(self.link, command.encoded()).verdict, Verdict.ACCEPTED)
        self.assertEqual(self.owner.recall(self.connect(), self.hardware, occasion), Verdict.ACCEPTED)
        link = self.connect()
        forged = bytes(self.owner.instance) + (2**40).to_bytes(8, "little") + bytes(16) + bytes(32)
        self.assertEqual(link.say(Type.RECALL, forged)[1][0], Verdict.DEVICE_DIFFERS)
        self.assert_owner_gets_in(self.link)
