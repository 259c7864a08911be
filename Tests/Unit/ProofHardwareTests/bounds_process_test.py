# SPDX-License-Identifier: Apache-2.0

"""Bounds of what provisioning takes, what it takes for granted, and the torn write of a power cut, bit by bit."""

import re
import time
import unittest

from central import CHALLENGE
from proofspec.message import Verdict
from stage import PAGE, POWER_FAILED, App, Backend, Hardware

DAY = 86400
DRAWN = bytes(range(3, 35))
MASK = (1 << 64) - 1


def dice(state):
    """SplitMix64, as its authors wrote it."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def torn(before, after, seed):
    """The bytes that an operation leaves if power fails in it."""
    rolls = dice(seed)
    at = next(rolls) % len(before)
    byte = before[at] ^ ((before[at] ^ after[at]) & (next(rolls) & 0xFF))
    return after[:at] + bytes([byte]) + before[at + 1:]


class Bounds(unittest.TestCase):
    def setUp(self):
        self.backend = Backend(7)
        self.hardware = Hardware(self.id().rsplit(".", 1)[1][:40], [self.backend.public])
        self.addCleanup(self.hardware.scrap)
        self.file = self.hardware.folder / "provisioning"
        self.file.touch(0o600)

    def provision(self, *words):
        return self.hardware.run("--provision", *words)

    def test_numbers_are_taken_up_to_their_bound(self):
        for name, taken, refused in (
                ("challenge-seconds", ("0", "65535"), ("65536", "-1", "+1", " 1", "1 ", "", "0x1")),
                ("floor", ("0", "1700000000"), (str(1 << 64), "-1", "")),
                ("epoch", ("0", "1700000000"), (str(1 << 64), "-1", "")),
                ("counter", ("1", str(1 << 62)), (str(1 << 63), "-1", ""))):
            for value in taken:
                with self.subTest(name, value=value):
                    done = self.provision("--floor", "0", "--epoch", "0", f"--{name}", value)
                    self.assertEqual(done.returncode, 0, done.stderr)
            for value in refused:
                with self.subTest(name, value=value):
                    done = self.provision(f"--{name}", value)
                    self.assertEqual(done.returncode, 2)
                    self.assertTrue(done.stderr.startswith(f"proof-hardware: not understood: --{name}\n"), done.stderr)

    def test_a_challenge_lives_for_30_seconds_where_nothing_else_is_said_and_keeps_its_time(self):
        def seconds(*words):
            done = self.provision("--floor", "0", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            page = self.hardware.flash.read_bytes()[:4096]
            newest = page.rindex(b"PI\2\1")
            return int.from_bytes(page[newest + 6:newest + 8], "little")

        self.hardware.flash.unlink()
        new = ("--mode", "production", "--issuer", self.backend.public.hex())
        self.assertEqual(seconds(*new), 30)
        self.assertEqual(seconds("--challenge-seconds", "9"), 9)
        self.assertEqual(seconds("--renew", "yes"), 9)
        self.assertEqual(seconds("--challenge-seconds", "0"), 0)
        self.assertEqual(seconds("--allow-literal", "yes"), 0)

    def test_a_log_begins_at_a_block_up_to_4194304(self):
        for number, why in (("0", "say log yes, too"), ("16", "say log yes, too"), ("4194304", "say log yes, too"),
                            ("8", "not understood"), ("17", "not understood"), ("4194320", "not understood")):
            with self.subTest(number):
                self.assertIn(why, self.provision("--log-number", number).stderr)

    def test_hexadecimal_digits_are_those_and_no_neighbours(self):
        for digits in ("0123456789abcdef", "ABCDEF0000999999"):
            done = self.provision("--floor", "0", "--epoch", "0", "--id", digits * 2)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"\nid = {digits.lower() * 2}\n", done.stdout)
        for wrong in "/:@G`g xX":
            for pair in (wrong + "0", "0" + wrong):
                self.assertEqual(self.provision("--id", "00" * 15 + pair).returncode, 2, pair)
        for size in (0, 30, 31, 33, 34):
            self.assertEqual(self.provision("--id", "a" * size).returncode, 2, size)

    def test_four_issuers_are_taken(self):
        keys = [word for seed in range(5) for word in ("--issuer", Backend(20 + seed).public.hex())]
        self.assertEqual(self.provision("--floor", "0", "--epoch", "0", *keys[:8]).returncode, 0)
        # The identity's second entry: 232 bytes behind the first one.
        identity = self.hardware.flash.read_bytes()[232:464]
        self.assertEqual((identity[:3], identity[5]), (b"PI\2", 4))
        self.assertEqual([identity[56 + 32 * i:88 + 32 * i].hex() for i in range(4)], keys[1:8:2])
        self.assertEqual(self.provision(*keys).returncode, 2)

    def test_a_file_has_less_than_4096_bytes_and_spaces_at_will(self):
        text = f"  mode =  development \r\n#\n   # a comment\n\nid={'ab' * 16}\nfloor  =5 \n"
        for size in (len(text), 4095):
            self.file.write_bytes(text.encode().ljust(size, b"#"))
            done = self.provision(str(self.file), "--epoch", "0")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith(f"mode = development\nid = {'ab' * 16}\n"), done.stdout)
        for size in (4096, 4097, 9000):
            self.file.write_bytes(text.encode().ljust(size, b"#"))
            self.assertIn("text of less than 4096 bytes", self.provision(str(self.file)).stderr)
        self.file.write_text(text + "\n\tmode = production\n")
        self.assertIn("provisioning:8: not", self.provision(str(self.file)).stderr)

    def test_each_feature_is_printed(self):
        plain = self.provision("--floor", "0", "--epoch", "0").stdout
        self.assertIn("features = 0x43\n", plain)
        self.file.write_text(f"factory-secret = {DRAWN.hex()}\nfloor = 0\nepoch = 0\n")
        for words, features in (((), 0x63), (("--log", "yes"), 0x6B), (("--grants", "yes"), 0x7B),
                                (("--log", "no"), 0x73), (("--grants", "no"), 0x63)):
            done = self.provision(str(self.file), *words)
            self.assertIn(f"features = 0x{features:02x}\n", done.stdout, done.stderr)

    def test_a_ledger_ahead_of_the_clock_by_more_than_a_day_is_told(self):
        for ahead, days in ((DAY - 600, None), (DAY + 600, 1), (3 * DAY - 600, 2), (3 * DAY + 600, 3)):
            with self.subTest(ahead=ahead):
                epoch = int(time.time()) + ahead
                self.assertEqual(self.provision("--floor", "0", "--epoch", str(epoch)).returncode, 0)
                done = self.provision()
                self.assertEqual(done.returncode, 0 if days is None else 1, done.stderr)
                if days:
                    self.assertIn(f"the ledger's time {epoch} is {days} days ahead of this", done.stderr)

    def test_new_hardware_counts_from_one_and_old_hardware_from_its_clock(self):
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            self.assertEqual(int.from_bytes(link.read(CHALLENGE)[:8], "little"), 1)
        self.hardware.stop()
        # Provisioned again, it counts from the seconds of its clock on, times 2^24.
        before = int(time.time())
        self.hardware.provision("--floor", "0")
        after = int(time.time())
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            counter = int.from_bytes(link.read(CHALLENGE)[:8], "little")
        self.assertTrue(before << 24 <= counter <= (after << 24) + (1 << 24), counter)

    def test_a_command_is_named_by_the_low_bits_of_its_counter(self):
        app, first = App(40), 0x0102030405060708
        self.hardware.provision("--floor", "0", "--counter", str(first))
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            token = app.token(self.backend, self.hardware)
            self.assertEqual(app.present(link, self.hardware, token), Verdict.HELD)
            answer = app.do(link, self.hardware)
        self.hardware.stop()
        self.assertGreaterEqual(answer.counter, first)
        name = f"ref={self.hardware.id[:4].hex()}-{answer.counter & 0xFFFFFFFF}"
        self.assertEqual(sum(line.endswith(name) for line in self.hardware.log), 1, self.hardware.log)


class Cut(unittest.TestCase):
    def setUp(self):
        self.hardware = Hardware(self.id().rsplit(".", 1)[1][:40], [Backend(7).public])
        self.addCleanup(self.hardware.scrap)

    def started(self, before, *words):
        """The flash after a start from these bytes."""
        self.hardware.flash.write_bytes(before)
        self.assertEqual(self.hardware.start(*words), not words)
        if words:
            self.assertEqual(self.hardware.process.returncode, POWER_FAILED)
        self.hardware.stop()
        return self.hardware.flash.read_bytes()

    def test_a_cut_leaves_whole_bytes_up_to_a_place_and_some_bits_of_the_byte_there(self):
        before = self.hardware.flash.read_bytes()
        whole = self.started(before)
        changed = [at for at in range(len(before)) if before[at] != whole[at]]
        # The first operation programs an entry: it begins where the first byte changed.
        first, page = changed[0], changed[0] // PAGE
        end = max(at for at in changed if at // PAGE == page) + 1
        cuts = {seed: self.started(before, "--cut", f"1:{seed}") for seed in (0, 1, 2, 5, 77, 12345, MASK >> 1)}
        sizes = [size for size in range(8, 240, 8) if all(
            cut == before[:first] + torn(before[first:first + size], whole[first:first + size], (seed + 1) & MASK)
            + before[first + size:] for seed, cut in cuts.items())]
        self.assertEqual(len(sizes), 1, "no size of an entry explains all cuts")
        self.assertTrue(first < end <= first + 232)
        self.assertEqual(len(set(cuts.values())), len(cuts))

    def test_lines_of_the_log_have_seconds_and_thousandths(self):
        begin = time.monotonic()
        self.assertTrue(self.hardware.start())
        self.hardware.stop()
        passed = time.monotonic() - begin
        stamps = [re.match(r" *(\d+)\.(\d{3}) ", line) for line in self.hardware.log]
        self.assertTrue(stamps and all(stamps), self.hardware.log)
        times = [int(stamp[1]) + int(stamp[2]) / 1000 for stamp in stamps]
        self.assertEqual(times, sorted(times))
        self.assertLessEqual(times[-1], passed)


if __name__ == "__main__":
    unittest.main()
