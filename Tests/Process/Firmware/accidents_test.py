# SPDX-License-Identifier: Apache-2.0

"""Accidents of docs/results/accidents.md on the firmware: tables, times and issuers. Power cuts stand in power_test.py,
lost answers, replays and revocations in story_test.py.
"""

from board import SLOTS
from case import Firmware
from proofspec.message import Type, Verdict, parse_answer
from proofspec.order import EPOCH, FLOOR
from stage import BEGIN, App, Backend

DAY = 86_400
STEP = 400 * DAY
AHEAD = 65535


class Accidents(Firmware):
    def carry(self, order):
        with self.hardware.connect() as link:
            answer = parse_answer(link.say(Type.ORDER, order)[1])
            return Verdict(answer.verdict), answer.detail

    def open(self, who=None, secrets=None):
        with self.hardware.connect() as link:
            return Verdict((who or self.owner).do(link, self.hardware, secrets=secrets).verdict)

    def present(self, who, **changes):
        with self.hardware.connect() as link:
            return who.present(link, self.hardware, who.token(self.backend, self.hardware, **changes))

    def test_4_a_time_of_2100_is_refused_and_the_owner_gets_in(self):
        self.hold()
        self.assertEqual(self.carry(self.backend.order(EPOCH, BEGIN + 100 * 365 * DAY, self.hardware.id)),
                         (Verdict.EXPIRED, AHEAD))
        self.power_cycle()
        self.assertEqual(self.open(), Verdict.ACCEPTED)

    def test_13_a_full_table_refuses_one_more_and_a_floor_frees_it(self):
        owners = [App(40 + 5 * number) for number in range(SLOTS["full"])]
        for owner in owners:
            self.assertEqual(self.present(owner), Verdict.HELD)
        late = App(200)
        self.assertEqual(self.present(late, issued=BEGIN + DAY), Verdict.NO_ROOM)
        self.assertEqual(self.open(owners[0]), Verdict.ACCEPTED)
        self.assertEqual(self.carry(self.backend.order(FLOOR, BEGIN + DAY, self.hardware.id)), (Verdict.ORDER_DONE, 0))
        self.assertEqual(self.present(late, issued=BEGIN + DAY), Verdict.HELD)
        self.power_cycle()
        self.assertEqual(self.open(late), Verdict.ACCEPTED)

    def test_17_an_epoch_past_the_token_expires_it_until_a_new_one_comes(self):
        self.hold(not_after=BEGIN + 30 * DAY)
        self.assertEqual(self.carry(self.backend.order(EPOCH, BEGIN + 40 * DAY, self.hardware.id)),
                         (Verdict.ORDER_DONE, 0))
        self.assertEqual(self.open(), Verdict.EXPIRED)
        self.assertEqual(self.present(self.owner, generation=2, issued=BEGIN + 40 * DAY,
                                      not_after=BEGIN + 70 * DAY), Verdict.HELD)
        self.assertEqual(self.open(), Verdict.ACCEPTED)

    def test_18_a_floor_supersedes_the_token_until_a_new_one_comes(self):
        token = self.hold()
        self.assertEqual(self.carry(self.backend.order(FLOOR, BEGIN + DAY, self.hardware.id)), (Verdict.ORDER_DONE, 0))
        self.assertEqual(self.open(), Verdict.UNKNOWN_INSTANCE)
        with self.hardware.connect() as link:
            self.assertEqual(self.owner.present(link, self.hardware, token), Verdict.SUPERSEDED)
        self.assertEqual(self.present(self.owner, generation=2, issued=BEGIN + DAY), Verdict.HELD)
        self.assertEqual(self.open(), Verdict.ACCEPTED)

    def test_19_a_token_of_the_next_issuer_is_taken_where_both_are_trusted(self):
        self.hold()
        self.backend = Backend(8)
        self.assertEqual(self.present(self.owner, generation=2), Verdict.NOT_SIGNED)
        self.assertEqual(self.open(), Verdict.ACCEPTED)
        self.hardware.cut()
        self.hardware.provision("--floor", "0",
                                *(word for backend in (Backend(7), self.backend)
                                  for word in ("--issuer", backend.public.hex())))
        self.assertTrue(self.hardware.start())
        self.assertEqual(self.present(self.owner, generation=2), Verdict.HELD)
        self.assertEqual(self.open(), Verdict.ACCEPTED)
