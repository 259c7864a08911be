# SPDX-License-Identifier: Apache-2.0

"""Attackers who bend time: an issuer's clock was wrong once, and a stranger replays what it signed."""

import time

from case import Attack
from proofspec.message import Type, Verdict, parse_answer
from proofspec.order import EPOCH, FLOOR, REVOKE, sign_order
from stage import BEGIN, Backend, epoch_of

DAY = 86_400
STEP = 400 * DAY
AHEAD = 65535
POISON = 3_687_490_304  # in the year 2086


class Time(Attack):
    def setUp(self):
        super().setUp()
        self.poisoned = self.backend.order(EPOCH, POISON, self.hardware.id)

    def carry(self, order, hardware=None):
        with self.connect(hardware=hardware) as link:
            answer = parse_answer(link.say(Type.ORDER, order)[1])
            return Verdict(answer.verdict), answer.detail

    def epoch(self):
        with self.connect() as link:
            return epoch_of(link)

    def poison(self):
        """Hardware whose factory had no clock takes the first time as it comes."""
        self.link.close()
        self.hardware.stop()
        self.hardware.provision("--floor", "0", "--epoch", "0")
        self.assertTrue(self.hardware.start())
        self.assertEqual(self.carry(self.poisoned), (Verdict.ORDER_DONE, 0))
        self.assertGreaterEqual(self.epoch(), POISON)
        self.hardware.stop()

    def present_and_open(self, **changes):
        token = self.owner.token(self.backend, self.hardware, generation=9, **changes)
        with self.connect() as link:
            self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)
        self.assert_owner_gets_in()

    def test_an_order_signed_under_a_wrong_clock_is_refused_and_ends_no_token(self):
        ending = self.owner.token(self.backend, self.hardware, generation=2, not_after=BEGIN + 30 * DAY)
        self.assertEqual(self.owner.present(self.link, self.hardware, ending), Verdict.HELD)
        for order in (self.poisoned, self.backend.order(FLOOR, POISON, self.hardware.id),
                      self.backend.order(REVOKE, POISON, self.hardware.id, self.owner.instance, 9)):
            self.assertEqual(self.carry(order), (Verdict.EXPIRED, AHEAD))
        self.assertLess(self.epoch(), BEGIN + 3600)
        self.assert_owner_gets_in()
        self.power_cycle()
        self.assertLess(self.epoch(), BEGIN + 3600)
        self.assert_owner_gets_in()

    def test_a_token_signed_under_a_wrong_clock_moves_no_time(self):
        token = self.owner.token(self.backend, self.hardware, generation=2, issued=POISON)
        with self.connect() as link:
            answer = parse_answer(link.say(Type.TOKEN, token)[1])
        self.assertEqual((answer.verdict, answer.detail), (Verdict.EXPIRED, AHEAD))
        self.assertLess(self.epoch(), BEGIN + 3600)
        self.assert_owner_gets_in()

    def test_new_hardware_knows_the_time_of_its_provisioning(self):
        self.link.close()
        self.hardware.stop()
        now = int(time.time())
        self.hardware.flash.unlink()
        self.hardware.provision("--mode", "production", "--issuer", self.backend.public.hex(), "--epoch", str(now))
        self.assertTrue(self.hardware.start())
        self.assertGreaterEqual(self.epoch(), now)
        self.assertEqual(self.carry(self.backend.order(EPOCH, POISON, self.hardware.id)), (Verdict.EXPIRED, AHEAD))

    def test_the_clock_of_the_factory_is_the_time_where_none_is_given(self):
        before = int(time.time())
        self.link.close()
        self.hardware.stop()
        done = self.hardware.run("--provision", "--floor", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.hardware.start())
        self.assertGreaterEqual(self.epoch(), before)

    def test_an_order_for_any_hardware_is_for_none(self):
        mine = self.backend.order(EPOCH, BEGIN + 100, self.hardware.id)
        anyone = sign_order(self.backend.seed, mine[:24] + bytes(16) + mine[40:60])
        self.assertEqual(self.carry(anyone), (Verdict.NOT_FOR_ME, 0))

    def test_a_poisoned_ledger_is_not_made_permanent_by_default(self):
        self.poison()
        before = self.hardware.flash.read_bytes()
        done = self.hardware.run("--provision")
        self.assertEqual(done.returncode, 1)
        for word in ("days ahead of this machine's clock", "--renew yes", "--floor"):
            self.assertIn(word, done.stderr)
        self.assertEqual(self.hardware.flash.read_bytes(), before)

    def test_a_poisoned_lock_is_cured_by_another_id_and_no_replay_poisons_it_again(self):
        self.poison()
        old = self.hardware.id, self.hardware.public
        self.hardware.provision("--renew", "yes", "--floor", str(BEGIN), "--epoch", str(BEGIN))
        self.assertNotEqual(self.hardware.id, old[0])
        self.assertNotEqual(self.hardware.public, old[1])
        self.assertTrue(self.hardware.start())
        self.assertEqual(self.carry(self.poisoned), (Verdict.NOT_FOR_ME, 0))
        self.present_and_open(not_after=BEGIN + 30 * DAY)
        self.assertEqual(self.carry(self.poisoned), (Verdict.NOT_FOR_ME, 0))
        self.assertLess(self.epoch(), BEGIN + 3600)
        self.assert_owner_gets_in()

    def test_a_poisoned_lock_is_cured_by_another_issuer_and_no_replay_poisons_it_again(self):
        self.poison()
        old, self.backend = self.backend, Backend(8)
        # No floor: issuers of the past are trusted no more.
        self.hardware.provision("--issuer", self.backend.public.hex(), "--epoch", str(int(time.time())))
        self.assertTrue(self.hardware.start())
        self.assertEqual(self.carry(self.poisoned), (Verdict.NOT_SIGNED, 0))
        self.assertEqual(self.carry(old.order(EPOCH, BEGIN + STEP, self.hardware.id)), (Verdict.NOT_SIGNED, 0))
        self.present_and_open(issued=int(time.time()) + 60)

    def test_a_floor_cures_a_poison_beyond_the_step(self):
        self.poison()
        self.hardware.provision("--floor", str(BEGIN), "--epoch", str(BEGIN))
        self.assertTrue(self.hardware.start())
        self.assertEqual(self.carry(self.poisoned), (Verdict.EXPIRED, AHEAD))
        self.present_and_open(not_after=BEGIN + 30 * DAY)

    def test_a_lock_that_lay_in_a_drawer_for_five_years_is_brought_up_in_steps(self):
        now = BEGIN + 5 * 365 * DAY
        self.assertEqual(self.carry(self.backend.order(EPOCH, now, self.hardware.id)), (Verdict.EXPIRED, AHEAD))
        steps = [*range(BEGIN + STEP, now, STEP), now]
        self.assertEqual(len(steps), 5)
        for step in steps:
            self.assertEqual(self.carry(self.backend.order(EPOCH, step, self.hardware.id)), (Verdict.ORDER_DONE, 0))
        self.assertGreaterEqual(self.epoch(), now)
        self.present_and_open(issued=now, not_after=now + 30 * DAY)
