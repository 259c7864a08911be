# SPDX-License-Identifier: Apache-2.0

"""Attackers who make tokens and orders, and owners whose rights are over."""

import os
from dataclasses import replace

from case import Attack
from proofspec.basics import DEVELOPMENT
from proofspec.curves import sign
from proofspec.keys import LITERAL
from proofspec.message import Type, Verdict, parse_answer
from proofspec.order import EPOCH, FLOOR, REVOKE, sign_order
from proofspec.proof import DEVICE
from proofspec.token import seal_token, signed_bytes, token_header
from stage import BEGIN, App, Backend, epoch_of


class Forgery(Attack):
    def setUp(self):
        super().setUp()
        self.thief = App(90)
        self.enemy = Backend(66)

    def sealed(self, body, seed, hardware=None):
        """A token that an attacker who knows every public key can make: signed by `seed`, sealed to the hardware."""
        hardware = hardware or self.hardware
        header = token_header(hardware.id)
        signature = sign(seed, signed_bytes(hardware.public, header, body.encoded()))
        return seal_token(hardware.public, os.urandom(32), header, body.encoded() + signature)

    def assert_thief_stays_out(self):
        self.assertEqual(self.thief.do(self.connect(), self.hardware).verdict, Verdict.UNKNOWN_INSTANCE)
        self.assert_owner_gets_in()

    def test_a_token_sealed_by_someone_who_knows_every_public_key_is_refused(self):
        own = self.thief.body(self.enemy, self.hardware)
        named = self.thief.body(self.backend, self.hardware)
        forged = {
            "its own issuer": self.sealed(own, self.enemy.seed),
            "the true issuer's name": self.sealed(named, self.enemy.seed),
            "no signature": seal_token(self.hardware.public, os.urandom(32), token_header(self.hardware.id),
                                       named.encoded() + bytes(64)),
        }
        for name, token in forged.items():
            with self.subTest(name):
                self.assertEqual(self.thief.present(self.connect(), self.hardware, token), Verdict.NOT_SIGNED)
        self.assert_thief_stays_out()

    def test_a_token_that_was_opened_elsewhere_cannot_be_sealed_anew(self):
        """The owner of one lock, who may look into it, makes of its token one for a neighbour's."""
        mine = self.make("mine")
        body = self.thief.body(self.backend, mine)
        signature = sign(self.backend.seed, signed_bytes(mine.public, token_header(mine.id), body.encoded()))
        for header in (token_header(mine.id), token_header(self.hardware.id)):
            token = seal_token(self.hardware.public, os.urandom(32), header, body.encoded() + signature)
            verdict = self.thief.present(self.connect(), self.hardware, token)
            self.assertIn(verdict, (Verdict.NOT_FOR_ME, Verdict.NOT_SIGNED))
        self.assert_thief_stays_out()

    def test_any_changed_byte_of_a_token_is_refused(self):
        fresh = self.thief.token(self.backend, self.hardware)
        # Public-key work is bounded on each link: a new link for each few.
        for start in range(0, len(fresh), 3):
            with self.connect() as link:
                for index in range(start, min(start + 3, len(fresh))):
                    changed = bytearray(fresh)
                    changed[index] ^= 1 << index % 8
                    verdict = self.thief.present(link, self.hardware, bytes(changed))
                    self.assertIn(verdict, (Verdict.MALFORMED, Verdict.NOT_FOR_ME, Verdict.TOO_NEW), f"byte {index}")
        self.assert_thief_stays_out()

    def test_older_and_revoked_generations_are_refused(self):
        tokens = {n: self.owner.token(self.backend, self.hardware, generation=n) for n in (1, 2, 3, 4)}
        link = self.connect()
        self.assertEqual(self.owner.present(link, self.hardware, tokens[3]), Verdict.HELD)
        self.assertEqual(self.owner.present(link, self.hardware, tokens[2]), Verdict.SUPERSEDED)
        revoke = self.backend.order(REVOKE, BEGIN + 1, self.hardware.id, self.owner.instance, 3)
        self.assertEqual(parse_answer(link.say(Type.ORDER, revoke)[1]).verdict, Verdict.ORDER_DONE)
        self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.REVOKED)
        for generation in (1, 2, 3):
            self.assertEqual(self.owner.present(self.connect(), self.hardware, tokens[generation]), Verdict.REVOKED)
        self.power_cycle()
        self.assertEqual(self.owner.present(self.connect(), self.hardware, tokens[3]), Verdict.REVOKED)
        self.assertEqual(self.owner.present(self.connect(), self.hardware, tokens[4]), Verdict.HELD)
        self.assert_owner_gets_in()

    def test_a_development_token_or_a_literal_one_never_opens_production_hardware(self):
        for name, changes in (("development", {"mode": DEVELOPMENT}),
                              ("literal", {"form": LITERAL, "secrets": self.thief.secrets})):
            with self.subTest(name):
                body = replace(self.thief.body(self.backend, self.hardware), **changes)
                token = self.sealed(body, self.backend.seed)
                self.assertEqual(self.thief.present(self.connect(), self.hardware, token), Verdict.WRONG_MODE)
        self.assert_thief_stays_out()

    def test_a_production_token_never_opens_development_hardware(self):
        bench = self.make("bench", DEVELOPMENT)
        token = self.sealed(replace(self.thief.body(self.backend, bench), mode=1), self.backend.seed, bench)
        self.assertEqual(self.thief.present(self.connect(hardware=bench), bench, token), Verdict.WRONG_MODE)

    def test_a_device_match_does_what_it_may_and_nothing_more(self):
        link = self.connect()
        self.assertEqual(self.owner.do(link, self.hardware, (0, b"status"), DEVICE).verdict,
                         Verdict.ACCEPTED_DEVICE_ONLY)
        for what in ((1, b"open"), (2, b"autolock 5"), (3, b"install 9"), (15, b"open")):
            self.assertEqual(self.owner.do(link, self.hardware, what, DEVICE).verdict, Verdict.NOT_PERMITTED)
        self.assertEqual(self.hardware.done(link), (1, 0, 1))

    def test_forged_orders_are_refused_and_move_nothing(self):
        link = self.connect()
        before = epoch_of(link)
        forged = [self.enemy.order(EPOCH, BEGIN * 2, self.hardware.id),
                  self.enemy.order(REVOKE, BEGIN * 2, self.hardware.id, self.owner.instance, 9),
                  self.enemy.order(FLOOR, BEGIN * 2, self.hardware.id)]
        for order in forged:
            named = order[:8] + self.backend.id + order[16:]
            for each in (order, named):
                with self.connect() as other:
                    self.assertEqual(parse_answer(other.say(Type.ORDER, each)[1]).verdict, Verdict.NOT_SIGNED)
        self.assertEqual(epoch_of(link), before)
        self.assert_owner_gets_in()

    def test_a_message_of_a_later_version_is_too_new(self):
        with self.connect() as link:
            now = self.backend.order(EPOCH, BEGIN + 1, self.hardware.id)[:60]
            for later in (now[:4] + b"\x04" + now[5:], now[:7] + b"\x01" + now[8:]):
                order = sign_order(self.backend.seed, later)
                self.assertEqual(parse_answer(link.say(Type.ORDER, order)[1]).verdict, Verdict.TOO_NEW)
            token = self.thief.token(self.backend, self.hardware)
            for changed in (b"PT\x03" + token[3:], b"PT\x01\x02" + token[4:]):
                self.assertEqual(self.thief.present(link, self.hardware, changed), Verdict.TOO_NEW)
        self.assert_owner_gets_in()

    def test_an_epoch_never_goes_back(self):
        link = self.connect()

        def order(issued):
            return parse_answer(link.say(Type.ORDER, self.backend.order(EPOCH, issued, self.hardware.id))[1]).verdict

        self.assertEqual(order(BEGIN + 5_000_000), Verdict.ORDER_DONE)
        self.assertEqual(order(BEGIN + 1), Verdict.ORDER_DONE)
        self.assertGreaterEqual(epoch_of(link), BEGIN + 5_000_000)
        expired = self.thief.token(self.backend, self.hardware, not_after=BEGIN + 4_000_000)
        self.assertEqual(self.thief.present(link, self.hardware, expired), Verdict.EXPIRED)
        self.power_cycle()
        link = self.connect()
        self.assertGreaterEqual(epoch_of(link), BEGIN + 5_000_000)
        self.assertEqual(self.thief.present(link, self.hardware, expired), Verdict.EXPIRED)

    def test_full_slots_take_no_other_instance_and_serve_those_they_have(self):
        others = [App(100 + 5 * n) for n in range(8)]
        for n, other in enumerate(others):
            expected = Verdict.HELD if n < 7 else Verdict.NO_ROOM
            with self.connect() as link:
                verdict = other.present(link, self.hardware, other.token(self.backend, self.hardware))
            self.assertEqual(verdict, expected)
        self.assert_owner_gets_in()
        # A floor makes room, as the verdict advises; what stood below it is out.
        link = self.connect()
        floor = self.backend.order(FLOOR, BEGIN + 10, self.hardware.id)
        self.assertEqual(parse_answer(link.say(Type.ORDER, floor)[1]).verdict, Verdict.ORDER_DONE)
        self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.UNKNOWN_INSTANCE)
        fresh = self.owner.token(self.backend, self.hardware, generation=2, issued=BEGIN + 11)
        self.assertEqual(self.owner.present(link, self.hardware, fresh), Verdict.HELD)
        self.assert_owner_gets_in()


class NoClock(Attack):
    clock = "none"

    def test_without_a_clock_only_signed_time_passes_and_the_rest_holds(self):
        link = self.connect()
        ending = self.owner.token(self.backend, self.hardware, generation=2, not_after=BEGIN + 100)
        self.assertEqual(self.owner.present(link, self.hardware, ending), Verdict.HELD)
        self.assertEqual(epoch_of(link), BEGIN)
        command, _ = self.owner.make(self.hardware, self.owner.ask(link))
        self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.ACCEPTED)
        self.assertEqual(self.owner.send(link, command.encoded()).verdict, Verdict.STALE)
        self.assertEqual(epoch_of(link), BEGIN)
        for issued, expected in ((BEGIN + 100, Verdict.ACCEPTED), (BEGIN + 101, Verdict.EXPIRED)):
            order = self.backend.order(EPOCH, issued, self.hardware.id)
            self.assertEqual(parse_answer(link.say(Type.ORDER, order)[1]).verdict, Verdict.ORDER_DONE)
            self.assertEqual(self.owner.do(link, self.hardware).verdict, expected)
        self.power_cycle()
        self.assertEqual(self.owner.do(self.connect(), self.hardware).verdict, Verdict.EXPIRED)
