# SPDX-License-Identifier: Apache-2.0

"""Loans of owners, on the hardware as a process, with grants of the second implementation."""

import unittest

from central import AttError, LinkEnded
from lending import USES, Lending
from proofspec import grant
from proofspec.message import Verdict
from stage import PAGE, POWER_FAILED, PRODUCTION, App, Backend, Hardware

LOG_PAGES, GRANT_PAGES = 6, 16
FEATURE_GRANTS = 1 << 4


class Grants(Lending, unittest.TestCase):
    def setUp(self):
        self.backend, self.owner, self.member = Backend(7), App(40), App(60)
        self.hardware = Hardware(self.id().rsplit(".", 1)[1], [self.backend.public], PRODUCTION, "--floor", "0")
        self.addCleanup(self.hardware.scrap)
        self.plain_size = self.hardware.flash.stat().st_size

    def provision(self, *words):
        return self.hardware.provision(*words, "--floor", "0")

    def size(self):
        """Pages behind the ledger's."""
        return (self.hardware.flash.stat().st_size - self.plain_size) // PAGE

    def test_a_member_opens_and_the_loan_outlives_a_restart(self):
        self.provision("--grants", "yes")
        self.hardware.start()
        made = self.live_through_a_loan()
        self.hardware.stop()
        name = f"{self.hardware.id[:4].hex()}-g{grant.digest(made)[:4].hex()}"
        taken = [line for line in self.hardware.log if f"ref={name}" in line]
        self.assertTrue(taken[0].endswith(f": taken (4), detail {USES}, ref={name}"), taken)
        self.assertIn("grant of ", taken[0])

    def test_it_takes_none_unless_provisioning_says_so(self):
        self.hardware.start()
        with self.hardware.connect() as link:
            self.hold(link)
            self.assertEqual(self.present(link, self.grant(), self.member)[0], Verdict.MALFORMED)
        self.hardware.stop()
        self.assertEqual((self.size(), self.hardware.features() & FEATURE_GRANTS), (0, 0))

    def test_pages_come_stay_and_go(self):
        file = self.hardware.folder / "provisioning"
        file.touch(0o600)
        file.write_text(f"factory-secret = {bytes(range(3, 35)).hex()}\nlog = yes\n")
        self.provision("--grants", "yes")
        self.assertEqual((self.size(), self.hardware.features() & FEATURE_GRANTS), (GRANT_PAGES, FEATURE_GRANTS))
        self.provision()
        self.assertEqual(self.size(), GRANT_PAGES)
        self.provision(str(file))
        self.assertEqual((self.size(), self.hardware.features() & FEATURE_GRANTS),
                         (LOG_PAGES + GRANT_PAGES, FEATURE_GRANTS))
        self.provision("--grants", "no")
        self.assertEqual((self.size(), self.hardware.features() & FEATURE_GRANTS), (LOG_PAGES, 0))
        self.provision("--grants", "yes")
        self.provision("--log", "no")
        self.assertEqual((self.size(), self.hardware.features() & FEATURE_GRANTS), (GRANT_PAGES, FEATURE_GRANTS))
        self.assertEqual(self.hardware.run("--provision", "--grants", "maybe").returncode, 2)

    def test_after_power_cuts_no_use_is_lent_twice(self):
        self.provision("--grants", "yes")
        self.hardware.start()
        with self.hardware.connect() as link:
            self.hold(link)
        self.hardware.stop()
        serial, cuts = 0, 0
        for cut in range(1, 16):
            serial += 1
            made, opened = self.grant(serial), 0
            if self.hardware.start("--cut", f"{cut % 4 + 1}:{cut}"):
                try:
                    with self.hardware.connect() as link:
                        self.present(link, made, self.member)
                        while self.open(link) == Verdict.ACCEPTED:
                            opened += 1
                except (AttError, LinkEnded):
                    pass
                cuts += self.hardware.stop() in (None, POWER_FAILED)
            else:
                cuts += 1
            self.hardware.start()
            with self.hardware.connect() as link:
                self.assertEqual(self.present(link, made, self.member)[0], Verdict.ORDER_DONE)
                while self.open(link) == Verdict.ACCEPTED:
                    opened += 1
            self.hardware.stop()
            self.assertLessEqual(opened, USES)
        self.assertEqual(cuts, 15, "power fails in each of the first four operations")


if __name__ == "__main__":
    unittest.main()
