# SPDX-License-Identifier: Apache-2.0

"""Accidents of docs/results/accidents.md on the firmware, by the second implementation: changed devices, updates,
tables, times and issuers. Those that the SDK heals stand in app_accidents_test.py, a restored log in
restored_log_test.py, power cuts in power_test.py, lost answers, replays and revocations in story_test.py.
"""

import contextlib
import dataclasses
from unittest import mock

from board import SLOTS
from case import Firmware
from proofspec.message import Type, Verdict, parse_answer
from proofspec.order import EPOCH, FLOOR
from proofspec.token import UPCOMING, VERSION_2
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
        return self.told(who or self.owner, secrets)[0]

    def told(self, who, secrets=None):
        """Verdict and detail of a command to open."""
        with self.hardware.connect() as link:
            answer = who.do(link, self.hardware, secrets=secrets)
            return Verdict(answer.verdict), answer.detail

    def present(self, who, **changes):
        with self.hardware.connect() as link:
            return who.present(link, self.hardware, who.token(self.backend, self.hardware, **changes))

    def told_of(self, token):
        """Verdict and detail of a token."""
        with self.hardware.connect() as link:
            answer = parse_answer(link.say(Type.TOKEN, token)[1])
            return Verdict(answer.verdict), answer.detail

    @contextlib.contextmanager
    def offline(self):
        """No token and no order can be had within."""
        with mock.patch.object(self, "backend", None):
            yield

    def changed(self, who, **parts):
        """The same installation with other parts of its measurement."""
        other = App(90)
        other.instance, other.secrets = who.instance, dataclasses.replace(who.secrets, **parts)
        return other

    def test_4_a_time_of_2100_is_refused_and_the_owner_gets_in(self):
        self.hold()
        self.assertEqual(self.carry(self.backend.order(EPOCH, BEGIN + 100 * 365 * DAY, self.hardware.id)),
                         (Verdict.EXPIRED, AHEAD))
        self.power_cycle()
        self.assertEqual(self.open(), Verdict.ACCEPTED)

    def test_8_and_10_a_changed_device_is_refused_at_no_cost_until_a_new_token_comes(self):
        self.hold()
        elsewhere = self.changed(self.owner, device_key=bytes(16 * [9]), dm=bytes(32 * [9]))
        with self.offline():
            # More tries than the token has attempts: the device's facts spend none.
            for _ in range(4):
                self.assertEqual(self.told(self.owner, elsewhere.shared(self.hardware)), (Verdict.DEVICE_DIFFERS, 0))
        self.assertEqual(self.present(elsewhere, generation=2), Verdict.HELD)
        with self.offline():
            self.assertEqual(self.open(elsewhere), Verdict.ACCEPTED)
            before = self.owner.shared(self.hardware)
            self.assertEqual(self.told(elsewhere, before), (Verdict.DEVICE_DIFFERS, 0))

    def test_8_another_user_with_a_folder_of_its_own_enrols_beside_the_first(self):
        self.hold()
        second = App(60)
        with self.offline():
            self.assertEqual(self.told(second), (Verdict.UNKNOWN_INSTANCE, 0))
        self.assertEqual(self.present(second), Verdict.HELD)
        with self.offline():
            for who in (second, self.owner):
                self.assertEqual(self.open(who), Verdict.ACCEPTED)

    def test_11_a_coming_pair_takes_over_when_it_proves_itself_and_the_older_one_never_returns(self):
        token = self.hold()
        updated = self.changed(self.owner, key=bytes(16 * [8]), im=bytes(32 * [8]))
        coming = updated.token(self.backend, self.hardware, version=VERSION_2, policy=UPCOMING, generation=2, base=1)
        with self.offline():
            # The wrong pair first: the present key over the updated files. It costs one of three attempts.
            wrong = self.changed(self.owner, im=updated.secrets.im).shared(self.hardware)
            self.assertEqual(self.told(self.owner, wrong), (Verdict.INTEGRITY_DIFFERS, 2))
            # Presented and not proved, then gone with its link: the present pair still opens.
            self.assertEqual(self.told_of(coming)[0], Verdict.READY)
            self.assertEqual(self.open(), Verdict.ACCEPTED)
            with self.hardware.connect() as link:
                self.assertEqual(parse_answer(link.say(Type.TOKEN, coming)[1]).verdict, Verdict.READY)
                self.assertEqual(updated.do(link, self.hardware).verdict, Verdict.ACCEPTED)
            self.power_cycle()
            self.assertEqual(self.told_of(token), (Verdict.SUPERSEDED, 2))
            self.assertEqual(self.told(self.owner), (Verdict.INTEGRITY_DIFFERS, 1))
            self.assertEqual(self.open(updated), Verdict.ACCEPTED)

    def test_11_an_update_that_was_not_registered_is_refused_until_a_new_token_comes(self):
        self.hold()
        updated = self.changed(self.owner, im=bytes(32 * [8]))
        with self.offline():
            self.assertEqual(self.told(self.owner, updated.shared(self.hardware)), (Verdict.INTEGRITY_DIFFERS, 2))
        self.assertEqual(self.present(updated, generation=2), Verdict.HELD)
        with self.offline():
            self.assertEqual(self.open(updated), Verdict.ACCEPTED)

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
