# SPDX-License-Identifier: Apache-2.0

"""Attackers with a hand on the power, and flash at its end."""

import time

from case import SEED, Attack
from central import LinkEnded
from proofspec.message import Type, Verdict, parse_answer
from proofspec.order import EPOCH, FLOOR, REVOKE
from stage import BEGIN, POWER_FAILED, App

PAGES_OF_IDENTITY = (0, 1)
PAGES_OF_LEDGER = (2, 3)
PAGES_OF_FIRST_SLOT = (4, 5)


class Flash(Attack):
    def life(self, hardware, told):
        """A piece of life, as far as power lasts; what the outside was told goes to `told`."""
        link = hardware.connect()
        told["held"] = self.owner.present(link, hardware, self.fresh) == Verdict.HELD
        for _ in range(3):
            challenge = self.owner.ask(link)
            told["counter"] = challenge[0]
            command, _ = self.owner.make(hardware, challenge)
            told["command"] = command.encoded()
            if self.owner.send(link, command.encoded()).verdict == Verdict.ACCEPTED:
                told["accepted"] += 1
        revoke = self.backend.order(REVOKE, BEGIN + 9, hardware.id, self.guest.instance, 5)
        told["revoked"] = parse_answer(link.say(Type.ORDER, revoke)[1]).verdict == Verdict.ORDER_DONE

    def test_power_cut_at_every_write_with_torn_bytes_gives_nothing_back(self):
        self.guest = App(90)
        uses = 5
        hardware = self.make("cut", start=False)
        erased_then_provisioned = hardware.flash.read_bytes()
        self.fresh = self.owner.token(self.backend, hardware, uses=uses)
        operation, cuts = 0, 0
        while True:
            operation += 1
            hardware.flash.write_bytes(erased_then_provisioned)
            told = {"held": False, "accepted": 0, "revoked": False, "counter": 0, "command": None}
            started = hardware.start("--cut", f"{operation}:{SEED + operation}")
            if started:
                try:
                    self.life(hardware, told)
                    hardware.stop()
                    break
                except (LinkEnded, ConnectionRefusedError):
                    pass
            self.assertEqual(hardware.process.wait(timeout=60), POWER_FAILED)
            cuts += 1
            self.assertTrue(hardware.start())
            self.afterwards(hardware, told, uses)
            hardware.stop()
        self.assertGreaterEqual(cuts, 7)
        print(f"{cuts} cuts, seed {SEED} ", end="")

    def afterwards(self, hardware, told, uses):
        with hardware.connect() as link:
            self.assertEqual(self.owner.present(link, hardware, self.fresh), Verdict.HELD)
            if told["command"]:
                self.assertEqual(self.owner.send(link, told["command"]).verdict, Verdict.STALE)
                self.assertGreater(self.owner.ask(link)[0], told["counter"])
            if told["revoked"]:
                token = self.guest.token(self.backend, hardware)
                self.assertEqual(self.guest.present(link, hardware, token), Verdict.REVOKED)
            accepted = told["accepted"]
            while (answer := self.owner.do(link, hardware)).verdict == Verdict.ACCEPTED:
                accepted += 1
            self.assertEqual(answer.verdict, Verdict.USES_EXHAUSTED)
            # Never one more; one less if the answer was lost with the power.
            self.assertIn(accepted, (uses - 1, uses))

    def test_flash_that_is_full_opens_nothing_and_says_so(self):
        self.hardware.cut()
        self.assertTrue(self.hardware.start("--worn", "3"))
        link = self.connect()
        # The start took one operation, this takes another; from the third on flash takes nothing.
        self.assert_owner_gets_in(link)
        for _ in range(3):
            self.assertEqual(self.owner.do(link, self.hardware).verdict, Verdict.FAULT)
        self.assertEqual(self.hardware.done(link)[2], 1)
        stranger = App(90)
        token = stranger.token(self.backend, self.hardware)
        self.assertEqual(stranger.present(self.connect(), self.hardware, token), Verdict.FAULT)
        self.hardware.stop()
        self.assertTrue(any("ERROR" in line and "fault" in line for line in self.hardware.log))
        # It cannot even start: no counter could be reserved.
        self.assertTrue(self.hardware.start("--worn", "1"))
        self.assertTrue(any("refuses everything" in line for line in self.hardware.log))
        self.assertEqual(self.owner.do_or_fault(self.connect(), self.hardware), Verdict.FAULT)
        self.power_cycle()
        self.assert_owner_gets_in()

    def test_one_damaged_copy_is_survived(self):
        self.hardware.stop()
        intact = self.hardware.flash.read_bytes()
        for page in PAGES_OF_IDENTITY + PAGES_OF_LEDGER:
            self.hardware.flash.write_bytes(intact)
            self.hardware.damage(page)
            self.assertTrue(self.hardware.start())
            self.assert_owner_gets_in()
            self.hardware.stop()

    def test_both_copies_damaged_refuse_safely_say_so_and_are_provisioned_back(self):
        for pages in (PAGES_OF_LEDGER, PAGES_OF_FIRST_SLOT):
            with self.subTest(pages=pages):
                identity = self.hardware.id, self.hardware.public
                self.hardware.stop()
                for page in pages:
                    self.hardware.damage(page)
                self.assertTrue(self.hardware.start())
                self.assertTrue(any("refuses everything" in line and "provision" in line for line in self.hardware.log))
                link = self.connect()
                self.assertEqual(self.owner.present(link, self.hardware, self.token), Verdict.FAULT)
                self.assertEqual(self.owner.do_or_fault(link, self.hardware), Verdict.FAULT)
                self.assert_nothing_done(link)
                self.hardware.stop()
                self.hardware.provision()
                # The same hardware; what was issued before stays outside, what is issued now gets in.
                self.assertEqual((self.hardware.id, self.hardware.public), identity)
                self.assertTrue(self.hardware.start())
                link = self.connect()
                self.assertEqual(self.owner.present(link, self.hardware, self.token), Verdict.SUPERSEDED)
                fresh = self.owner.token(self.backend, self.hardware, issued=int(time.time()) + 60)
                self.assertEqual(self.owner.present(link, self.hardware, fresh), Verdict.HELD)
                self.assert_owner_gets_in(link)

    def test_a_damaged_identity_refuses_and_needs_a_new_one(self):
        self.hardware.stop()
        for page in PAGES_OF_IDENTITY:
            self.hardware.damage(page)
        self.assertTrue(self.hardware.start())
        self.assertEqual(self.owner.do_or_fault(self.connect(), self.hardware), Verdict.FAULT)
        self.hardware.stop()
        self.assertNotEqual(self.hardware.run("--provision").returncode, 0)
        self.hardware.provision("--mode", "production", "--issuer", self.backend.public.hex())
        self.assertTrue(self.hardware.start())
        link = self.connect()
        self.assertEqual(self.owner.present(link, self.hardware, self.token), Verdict.NOT_FOR_ME)
        fresh = self.owner.token(self.backend, self.hardware)
        self.assertEqual(self.owner.present(link, self.hardware, fresh), Verdict.HELD)
        self.assert_owner_gets_in(link)

    def test_provisioned_by_a_clock_that_is_behind_nothing_of_the_past_comes_back(self):
        # By less than a day: what is further ahead is for the operator to decide (time_test.py).
        later = int(time.time()) + 3600
        self.hardware.stop()
        self.hardware.provision("--counter", str(2**62))
        self.assertTrue(self.hardware.start())
        link = self.connect()
        token = self.owner.token(self.backend, self.hardware, issued=later)
        self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.HELD)
        counter, _ = self.owner.ask(link)
        for type, issued in ((EPOCH, later + 10), (FLOOR, later + 20)):
            order = self.backend.order(type, issued, self.hardware.id)
            self.assertEqual(parse_answer(self.connect().say(Type.ORDER, order)[1]).verdict, Verdict.ORDER_DONE)
            self.hardware.stop()
            self.hardware.provision()
            self.assertTrue(self.hardware.start())
            link = self.connect()
            last = self.owner.token(self.backend, self.hardware, issued=issued - 1)
            for old in (token, last):
                self.assertEqual(self.owner.present(link, self.hardware, old), Verdict.SUPERSEDED)
            self.assertGreater(self.owner.ask(link)[0], counter)
            fresh = self.owner.token(self.backend, self.hardware, issued=issued)
            self.assertEqual(self.owner.present(link, self.hardware, fresh), Verdict.HELD)
            self.assert_owner_gets_in(link)

    def test_a_floor_holds_through_a_power_cut(self):
        floor = self.backend.order(FLOOR, BEGIN + 10, self.hardware.id)
        self.assertEqual(parse_answer(self.link.say(Type.ORDER, floor)[1]).verdict, Verdict.ORDER_DONE)
        self.power_cycle()
        self.assertEqual(self.owner.present(self.connect(), self.hardware, self.token), Verdict.SUPERSEDED)
