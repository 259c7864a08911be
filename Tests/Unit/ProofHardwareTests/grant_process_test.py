# SPDX-License-Identifier: Apache-2.0

"""Loans of owners, on the hardware as a process, with grants of the second implementation."""

import unittest

from central import CAPABILITIES, AttError, LinkEnded
from proofspec import grant
from proofspec.message import Type, Verdict, parse_answer
from proofspec.proof import receipt
from proofspec.token import token_digest
from stage import BEGIN, PAGE, POWER_FAILED, PRODUCTION, App, Backend, Hardware

OPEN, RING, USES = 0x2, 0x8, 3
LOG_PAGES, GRANT_PAGES = 6, 16
FEATURE_GRANTS = 1 << 4


class Grants(unittest.TestCase):
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

    def features(self):
        """As provisioning prints them, and as the hardware tells them."""
        printed = self.hardware.run("--provision", "--floor", "0", "--epoch", "0").stdout
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            told = int.from_bytes(link.read(CAPABILITIES)[4:8], "little")
        self.hardware.stop()
        self.assertIn(f"features = 0x{told:02x}\n", printed)
        return told

    def hold(self, link):
        def token(app, **fields):
            return app.token(self.backend, self.hardware, version=2, base=1, device_classes=0, **fields)

        self.owners = token(self.owner, integrity_classes=OPEN | RING, delegable_classes=OPEN)
        self.members = token(self.member, integrity_classes=RING)
        self.assertEqual(self.owner.present(link, self.hardware, self.owners), Verdict.HELD)
        self.assertEqual(self.member.present(link, self.hardware, self.members), Verdict.HELD)

    def make(self, serial=1, classes=OPEN, secrets=None, hint=None):
        fields = grant.Grant(hint or self.hardware.id[:4], self.owner.instance, token_digest(self.members), 1, serial,
                             classes, USES if classes else 0, BEGIN + 1000 if classes else 0)
        return grant.create(fields, secrets or self.owner.shared(self.hardware), token_digest(self.owners))

    def present(self, link, made, reader):
        answer = parse_answer(link.say(Type.GRANT, made)[1])
        if answer.verdict == Verdict.ORDER_DONE:
            key = reader.shared(self.hardware).device_key
            self.assertEqual(answer.receipt, receipt(key, grant.digest(made), answer.verdict, answer.detail, 0))
        return Verdict(answer.verdict), answer.detail

    def open(self, link):
        return Verdict(self.member.do(link, self.hardware).verdict)

    def test_a_member_opens_and_the_loan_outlives_a_restart(self):
        self.provision("--grants", "yes")
        self.hardware.start()
        with self.hardware.connect() as link:
            self.hold(link)
            self.assertEqual(self.open(link), Verdict.NOT_PERMITTED)
            made = self.make()
            self.assertEqual(self.present(link, made, self.member), (Verdict.ORDER_DONE, USES))
            self.assertEqual(self.open(link), Verdict.ACCEPTED)
        self.hardware.cut()
        self.hardware.start()
        with self.hardware.connect() as link:
            self.assertEqual(self.present(link, made, self.member), (Verdict.ORDER_DONE, USES - 1))
            self.assertEqual(self.open(link), Verdict.ACCEPTED)
            self.assertEqual(self.present(link, self.make(2, 0), self.owner), (Verdict.ORDER_DONE, 0))
            self.assertEqual(self.open(link), Verdict.NOT_PERMITTED)
            self.assertEqual(self.present(link, made, self.member), (Verdict.NOT_PERMITTED, 4))
            changed = self.owner.secrets.diversified(bytes(16))
            self.assertEqual(self.present(link, self.make(3, OPEN, changed), self.member)[0], Verdict.DEVICE_DIFFERS)
            self.assertEqual(self.present(link, self.make(3, hint=b"else"), self.member)[0], Verdict.NOT_FOR_ME)
        self.hardware.stop()
        name = f"{self.hardware.id[:4].hex()}-g{grant.digest(made)[:4].hex()}"
        taken = [line for line in self.hardware.log if f"ref={name}" in line]
        self.assertTrue(taken[0].endswith(f": taken (4), detail {USES}, ref={name}"), taken)
        self.assertIn("grant of ", taken[0])

    def test_it_takes_none_unless_provisioning_says_so(self):
        self.hardware.start()
        with self.hardware.connect() as link:
            self.hold(link)
            self.assertEqual(self.present(link, self.make(), self.member)[0], Verdict.MALFORMED)
        self.hardware.stop()
        self.assertEqual((self.size(), self.features() & FEATURE_GRANTS), (0, 0))

    def test_pages_come_stay_and_go(self):
        file = self.hardware.folder / "provisioning"
        file.touch(0o600)
        file.write_text(f"factory-secret = {bytes(range(3, 35)).hex()}\nlog = yes\n")
        self.provision("--grants", "yes")
        self.assertEqual((self.size(), self.features() & FEATURE_GRANTS), (GRANT_PAGES, FEATURE_GRANTS))
        self.provision()
        self.assertEqual(self.size(), GRANT_PAGES)
        self.provision(str(file))
        self.assertEqual((self.size(), self.features() & FEATURE_GRANTS), (LOG_PAGES + GRANT_PAGES, FEATURE_GRANTS))
        self.provision("--grants", "no")
        self.assertEqual((self.size(), self.features() & FEATURE_GRANTS), (LOG_PAGES, 0))
        self.provision("--grants", "yes")
        self.provision("--log", "no")
        self.assertEqual((self.size(), self.features() & FEATURE_GRANTS), (GRANT_PAGES, FEATURE_GRANTS))
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
            made, opened = self.make(serial), 0
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
