# SPDX-License-Identifier: Apache-2.0

"""An owner lends on the emulated board, whose pages for loans begin blank."""

from unittest import mock

from case import Firmware, grant_handle
from central import CAPABILITIES, WRITTEN_AT
from lending import Lending
from proofspec import grant
from proofspec.message import Type
from stage import App

FEATURE_GRANTS = 1 << 4


class Loans(Lending, Firmware):
    def setUp(self):
        super().setUp()
        place = mock.patch.dict(WRITTEN_AT, {Type.GRANT: grant_handle(self.profile)})
        place.start()
        self.addCleanup(place.stop)

    def test_a_member_opens_and_the_loan_outlives_power(self):
        self.member = App(60)
        with self.hardware.connect() as link:
            self.assertTrue(int.from_bytes(link.read(CAPABILITIES)[4:8], "little") & FEATURE_GRANTS)
        made = self.live_through_a_loan()
        self.hardware.stop()
        name = f"ref={self.hardware.id[:4].hex()}-g{grant.digest(made)[:4].hex()}"
        self.assertTrue([line for line in self.hardware.log if "grant of " in line and name in line],
                        self.hardware.log[-10:])
