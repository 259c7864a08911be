# SPDX-License-Identifier: Apache-2.0

"""The hardware's log as it stands in the flash file, read by the second implementation."""

import unittest

from central import SECONDS, AttError, LinkEnded
from proofspec import log
from proofspec.basics import Refused
from proofspec.message import Verdict
from proofspec.token import create_token, factory_secret
from stage import PAGE, POWER_FAILED, PRODUCTION, App, Backend, Hardware

SECRET, EPHEMERAL = bytes(range(1, 33)), bytes(range(2, 34))
DRAWN = bytes(range(3, 35))
LOG_PAGES = 6
FEATURE_LOG = 1 << 3


class Log(unittest.TestCase):
    def setUp(self):
        self.backend, self.app = Backend(7), App(40)
        self.hardware = Hardware(self.id().rsplit(".", 1)[1], [self.backend.public], PRODUCTION, "--floor", "0")
        self.addCleanup(self.hardware.scrap)
        self.file = self.hardware.folder / "provisioning"
        self.file.touch(0o600)
        self.plain_size = self.hardware.flash.stat().st_size

    def keep_begin_and_end(self):
        """Provisioning keeps the log that is there, begins another one, and ends it."""
        self.provision(log="yes")
        self.live(3)
        self.hardware.provision("--challenge-seconds", "20", "--floor", "0")
        self.live(1)
        self.assertEqual(len(self.entries()[0]), 8)
        self.provision(log="yes")
        self.assertEqual(self.entries()[0], {})
        self.hardware.provision("--log", "no", "--floor", "0")

    def provision(self, *words, **fields):
        fields = {"secret-key": SECRET.hex(), "factory-secret": DRAWN.hex(), **fields}
        self.file.write_text("".join(f"{name.replace('_', '-')} = {value}\n" for name, value in fields.items()))
        self.hardware.provision(str(self.file), "--floor", "0", *words)

    def refused(self, text, *words):
        done = self.hardware.run("--provision", *words)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(text, done.stderr)

    def pages(self):
        """The log's pages: of key records, and of the ring."""
        bytes_ = self.hardware.flash.read_bytes()
        self.assertEqual(len(bytes_), self.plain_size + LOG_PAGES * PAGE)
        pages = [bytes_[at:at + PAGE] for at in range(self.plain_size, len(bytes_), PAGE)]
        return pages[:2], pages[2:]

    def entries(self, first=0, cut=False):
        """The contents of all entries by number, and the newest key record. There is one, and two after a power cut."""
        records, ring = self.pages()
        store, keys, found, newest = log.store_key(SECRET), {}, {}, None
        key = log.first_key(DRAWN, self.hardware.id)
        for number in range(first + 2000):
            keys[number] = key
            key = log.step(key)
        for page in records:
            for at in range(0, PAGE - 96 + 1, 96):
                try:
                    record = log.decode_key_record(store, page[at:at + 80])
                except Refused:
                    continue
                self.assertEqual(record.key, keys[record.number])
                self.assertTrue(newest is None or (cut and abs(newest.number - record.number) == log.BLOCK))
                newest = record if newest is None else max(newest, record, key=lambda one: one.sequence)
        for page in ring:
            try:
                number = log.decode_page(store, page[:32])
            except Refused:
                continue
            for at in range(32, PAGE, 32):
                if page[at:at + 32] == b"\xFF" * 32:
                    break
                try:
                    found[number] = log.open_entry(keys[number], number, self.hardware.id, page[at:at + 32])
                except Refused:
                    found[number] = None  # Torn
                number += 1
        return found, newest

    def token(self, generation=1):
        body = self.app.body(self.backend, self.hardware, version=2, base=generation, generation=generation)
        secret = factory_secret(DRAWN, self.hardware.id)
        return create_token(self.hardware.public, EPHEMERAL, self.backend.seed, body, secret)

    def live(self, commands, present=True):
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            if present:
                self.assertEqual(self.app.present(link, self.hardware, self.token()), Verdict.HELD)
            for _ in range(commands):
                self.assertEqual(self.app.do(link, self.hardware).verdict, Verdict.ACCEPTED)
        self.hardware.stop()

    def test_the_second_implementation_reads_the_log_in_flash(self):
        self.provision(log="yes")
        self.live(20)
        self.live(17, present=False)
        found, newest = self.entries()
        self.assertEqual(sorted(found), list(range(40)))
        events = [found[number].event for number in range(40)]
        self.assertEqual(events, [log.NOTE, log.TOKEN] + [log.COMMAND] * 20 + [log.NOTE] + [log.COMMAND] * 17)
        names = {content.who for content in found.values() if content.event != log.NOTE}
        self.assertEqual(names, {self.app.instance[:4]})
        counters = [content.counter for content in found.values() if content.event == log.COMMAND]
        self.assertEqual(counters, sorted(set(counters)))
        self.assertEqual((newest.number, newest.sequence), (32, 3))

    def test_a_log_begins_at_its_number(self):
        self.provision(log="yes", log_number="1024")
        self.live(3)
        found, newest = self.entries(1024)
        self.assertEqual(sorted(found), list(range(1024, 1029)))
        self.assertEqual(newest.number, 1024)

    def test_it_is_off_unless_provisioning_says_so(self):
        self.provision()
        self.live(3)
        self.assertEqual(self.hardware.flash.stat().st_size, self.plain_size)
        self.assertNotIn(b"PL\1", self.hardware.flash.read_bytes())
        self.assertEqual(self.hardware.features() & FEATURE_LOG, 0)
        self.provision(log="yes")
        self.assertEqual(self.hardware.features() & FEATURE_LOG, FEATURE_LOG)

    def test_provisioning_keeps_begins_and_ends_a_log(self):
        self.keep_begin_and_end()
        self.assertEqual(self.hardware.flash.stat().st_size, self.plain_size)
        self.live(1)

    def test_a_log_needs_its_first_key_and_stays_with_its_hardware(self):
        self.refused("say factory-secret in FILE", "--log", "yes")
        self.refused("say log yes, too", "--log-number", "16")
        self.provision(log="yes")
        for number in ("15", "-16", "4194320", "x"):
            self.assertEqual(self.hardware.run("--provision", "--log-number", number).returncode, 2)
            self.file.write_text(f"log = yes\nlog-number = {number}\n")
            self.assertIn("provisioning:2: not", self.hardware.run("--provision", str(self.file)).stderr)
        self.file.write_text("secret-key = " + bytes(range(9, 41)).hex() + "\n")
        self.refused("belongs to the id and key before", str(self.file))
        self.live(1)

    def test_after_power_cuts_each_accepted_command_is_in_the_log(self):
        self.provision(log="yes")
        self.live(0)
        told, cuts = set(), 0
        for cut in range(1, 25):
            accepted = []
            if self.hardware.start("--cut", f"{cut % 8 + 1}:{cut}"):
                try:
                    with self.hardware.connect() as link:
                        for _ in range(6):
                            answer = self.app.do(link, self.hardware)
                            self.assertEqual(answer.verdict, Verdict.ACCEPTED)
                            accepted.append(answer.counter & 0xFFFFFFFF)
                except (AttError, LinkEnded, OSError):
                    self.hardware.process.wait(timeout=SECONDS)
            self.hardware.stop()
            cuts += self.hardware.process.returncode == POWER_FAILED
            told |= set(accepted)
            with self.subTest(cut=cut):
                found = self.entries(cut=True)[0]
                self.assertLessEqual(told, {content.counter for content in found.values() if content})
        self.live(1, present=False)
        found = self.entries()[0]
        self.assertEqual(sorted(found), list(range(len(found))))
        torn = sum(content is None for content in found.values())
        undone = sum(content.undone for content in found.values() if content and content.event == log.NOTE)
        self.assertGreater(cuts, 15)
        self.assertGreater(torn, 3)
        self.assertLessEqual(torn, cuts)
        # A torn note says nothing, and what it should have said is said by the next one, with itself.
        self.assertGreaterEqual(undone, torn)


if __name__ == "__main__":
    unittest.main()
