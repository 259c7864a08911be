# SPDX-License-Identifier: Apache-2.0

"""Parts of the port on this machine, at their bounds: clock, log, flash, seed, hashes, and loops over memory."""

import ctypes
import hashlib
import hmac
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PORT, CORE = ROOT / "CSources" / "ports", ROOT / "CSources" / "ProofCore"
SODIUM = ROOT / ".build" / "foreign" / "libsodium" / "source" / "src" / "libsodium"
PAGE, WORDS = 4096, 1024
FULL = (1 << 32) - 1
SEED = struct.Struct("<I32s16s")


def built(folder, name, sources, *flags):
    library = os.path.join(folder, name)
    subprocess.run(["cc", "-std=gnu11", "-w", "-O1", "-shared", "-fPIC", *flags, *sources,
                    "-lsodium", "-o", library], check=True)
    return ctypes.CDLL(library)


def seed(sequence, content=b"\7" * 32):
    head = struct.pack("<I", sequence) + content
    return head + hashlib.sha256(b"port.seed......." + head).digest()[:16]


def derived(label, key, info=b""):
    return hmac.digest(hmac.digest(label, key, "sha256"), info + b"\1", "sha256")


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.port = built(
                folder, "port.so", [HERE / "parts.c", CORE / "crypto.c", *sorted(CORE.glob("sha256*.c"))],
                "-DPFC_PROFILE=\"full.h\"", f"-I{PORT / 'profiles'}", f"-I{PORT / 'cortex-m3'}",
                f"-I{CORE / 'include'}", f"-I{ROOT / 'CSources' / 'ProofDevice' / 'include'}", f"-I{HERE}")
            cls.hashes = built(
                folder, "hashes.so", [PORT / "cortex-m3" / f"{name}.c" for name in ("sha256", "sha512", "blake2b")],
                "-DCONFIGURED=1", "-DNATIVE_LITTLE_ENDIAN=1", f"-I{SODIUM}", f"-I{SODIUM / 'include'}",
                f"-I{SODIUM / 'include' / 'sodium'}")

    def number(self, name, value=None):
        found = ctypes.c_uint32.in_dll(self.port, name)
        if value is not None:
            found.value = value & FULL
        return found.value

    def array(self, name, kind, count):
        return (kind * count).in_dll(self.port, name)


class Clock(Parts):
    def at(self, timer):
        self.array("parts_now", ctypes.c_uint32, 4)[1] = timer & FULL

    def test_a_second_is_25_million_ticks_of_a_timer_that_counts_down_and_goes_round(self):
        self.number("parts_step", 0)
        self.port.clock_begin()
        registers = self.array("parts_now", ctypes.c_uint32, 4)
        self.assertEqual(list(registers)[:3], [1, FULL, FULL], "control, value, reload")
        self.port.clock_seconds.restype = self.port.clock_count.restype = ctypes.c_uint32
        passed = 0
        for more, seconds in ((0, 0), (24_999_999, 0), (1, 1), (24_999_999, 1), (1, 2), (75_000_000, 5),
                              (12_500_000, 5), (12_499_999, 5), (1, 6), (4_000_000_000, 166), (249_999_999, 175),
                              (1, 176), (4_294_967_295, 347), (25_000_000, 348), (7_704, 348), (1, 348)):
            passed += more
            self.at(FULL - passed)
            self.assertEqual(self.port.clock_seconds(None), seconds, passed)
            self.assertEqual(seconds, passed // 25_000_000, "the row itself")
        for ticks in (0, 1, 25, 1_000_000):
            self.at(FULL - ticks)
            self.assertEqual(self.port.clock_count(), 40 * ticks)


class Log(Parts):
    def said(self, room, step):
        """The bytes of one event on a line that takes so many, and the looks at the timer."""
        for name, value in (("parts_said_count", 0), ("parts_room", room), ("parts_step", step), ("parts_looks", 0)):
            self.number(name, value)
        event = bytes(range(1, 33))
        self.port.log_event(None, event)
        self.port.parts_line()
        count = self.number("parts_said_count")
        return bytes(self.array("parts_said", ctypes.c_uint8, 256))[:count], self.number("parts_looks")

    def test_a_frame_is_a_mark_a_number_the_event_and_the_sum_of_all(self):
        self.port.log_begin()
        line = self.array("parts_uart", ctypes.c_uint32, 5)
        self.assertEqual((line[2], line[4]), (1, 16), "transmit alone, at the port's speed")
        first, _ = self.said(1000, 1)
        numbers = [first[1]]
        for _ in range(256):
            frame, _ = self.said(1000, 1)
            body = bytes([0xE7, frame[1]]) + bytes(range(1, 29))
            self.assertEqual(frame, body + bytes([sum(body) & 255]))
            numbers.append(frame[1])
        self.assertEqual(numbers, [(numbers[0] + each) & 255 for each in range(257)])

    def test_a_line_that_is_full_is_waited_for_a_millisecond_and_no_longer(self):
        for room in (0, 1, 30):
            for step, looks in ((25_000, 3), (24_999, 3), (12_500, 4), (12_501, 3), (1_000, 27)):
                frame, looked = self.said(room, step)
                self.assertEqual((len(frame), looked), (room, looks), (room, step))
        frame, looked = self.said(31, 1_000_000)
        self.assertEqual((len(frame), looked), (31, 1), "a line that takes each byte is not waited for")


class Flash(Parts):
    PAGES = 20

    def setUp(self):
        self.nor = self.array("parts_nor", ctypes.c_uint32, 1 << 15)
        for at in range(len(self.nor)):
            self.nor[at] = FULL
        for page in range(self.PAGES):
            self.nor[self.PAGES * WORDS + page] = 0

    def test_the_places_are_those_of_the_page(self):
        # docs/FIRMWARE.md: 8 for the records of two slots. Then the seed has 2, the log 6, and the loans have 4.
        self.assertEqual(list(self.array("parts_places", ctypes.c_uint32, 6)), [4096, 8, 10, 6, 16, 20])

    def test_a_page_is_erased_whole_and_alone_and_its_erasures_are_counted(self):
        for page in (0, 1, 7, 19):
            for at in range(len(self.nor)):
                if at < self.PAGES * WORDS:
                    self.nor[at] = 0
            before = list(self.nor)[self.PAGES * WORDS:]
            self.number("parts_step", 1000)
            self.assertEqual(self.port.nor_erase(None, page * PAGE), 0)
            for at in range(self.PAGES * WORDS):
                self.assertEqual(self.nor[at], FULL if at // WORDS == page else 0, at)
            before[page] += 1
            self.assertEqual(list(self.nor)[self.PAGES * WORDS:], before)

    def test_programming_clears_bits_and_sets_none(self):
        self.number("parts_step", 1000)
        for offset, size in ((0, 8), (PAGE - 8, 8), (PAGE, 16), (3 * PAGE + 8, 24)):
            content = bytes((7 * at + 1) & 255 for at in range(size))
            self.assertEqual(self.port.nor_program(None, offset, content, size), 0)
            read = ctypes.create_string_buffer(b"\x55" * (size + 8), size + 8)
            self.assertEqual(self.port.nor_read(None, offset, read, size), 0)
            self.assertEqual(read.raw, content + b"\x55" * 8)
            self.assertEqual(self.nor[(offset + size) // 4], FULL)
            self.assertEqual(self.port.nor_program(None, offset, b"\xF0" * size, size), 0)
            self.port.nor_read(None, offset, read, size)
            self.assertEqual(read.raw[:size], bytes(byte & 0xF0 for byte in content))
            self.port.nor_program(None, offset, b"\xFF" * size, size)
            again = ctypes.create_string_buffer(size)
            self.port.nor_read(None, offset, again, size)
            self.assertEqual(again.raw, read.raw[:size])

    def test_a_word_takes_20_microseconds(self):
        for step, looks in ((1000, 2), (500, 2), (499, 3), (250, 3), (100, 6)):
            self.number("parts_step", step)
            self.number("parts_looks", 0)
            self.port.nor_program(None, 0, bytes(8), 8)
            self.assertEqual(self.number("parts_looks"), 2 * looks, step)
            self.number("parts_looks", 0)
            self.port.nor_erase(None, 0)
            self.assertEqual(self.number("parts_looks"), WORDS * looks, step)

    def test_a_log_has_begun_where_a_bit_of_its_two_key_pages_is_clear(self):
        self.assertEqual(self.port.nor_has_log(), 0)
        first = 10 * WORDS
        for at, begun in ((first - 1, 0), (first, 1), (first + WORDS, 1), (first + 2 * WORDS - 1, 1),
                          (first + 2 * WORDS, 0)):
            self.nor[at] = FULL ^ 1 << 31
            self.assertEqual(self.port.nor_has_log(), begun, at)
            self.nor[at] = FULL


class Seed(Parts):
    def start(self, first, second, *, unread=-1, unwritten=-1, size=32, count=1):
        """The bytes that a start draws, or None; the two pages after it, and the order in which they were written."""
        pages = self.array("parts_pages", ctypes.c_uint8 * 64, 20)
        for page, content in ((8, first), (9, second)):
            ctypes.memmove(pages[page], content.ljust(64, b"\0"), 64)
        for name, value in (("parts_unread", unread), ("parts_unwritten", unwritten), ("parts_written_count", 0)):
            self.number(name, value)
        drawn = ctypes.create_string_buffer(size * count)
        result = self.port.parts_start(drawn, size, count)
        written = list(self.array("parts_written", ctypes.c_uint8, 8))[:self.number("parts_written_count")]
        return drawn.raw if result == 0 else None, [bytes(pages[page])[:52] for page in (8, 9)], written

    @staticmethod
    def pool(content):
        return derived(b"port.seed-pool..", content)

    def test_the_newest_intact_seed_is_replaced_by_its_successor_the_other_page_first(self):
        old, new = seed(5, b"\1" * 32), seed(6, b"\2" * 32)
        damaged = bytearray(new)
        damaged[51] ^= 1
        last = bytearray(new)
        last[36] ^= 1
        for first, second, used, order in (
                (old, new, new, [8, 9]), (new, old, new, [9, 8]), (old, bytes(damaged), old, [9, 8]),
                (bytes(last), old, old, [8, 9]), (new, b"", new, [9, 8]), (b"", new, new, [8, 9]),
                (new, new, new, [8, 9]), (seed(255), seed(256), seed(256), [8, 9]),
                (seed(65_536), seed(65_535), seed(65_536), [9, 8]), (seed(1 << 24), seed(9), seed(1 << 24), [9, 8]),
                (seed(FULL - 1), seed(FULL - 2), seed(FULL - 1), [9, 8])):
            sequence, content, _ = SEED.unpack(used)
            drawn, pages, written = self.start(first, second)
            successor = seed(sequence + 1, derived(b"port.seed-next..", content))
            self.assertEqual((pages, written), ([successor] * 2, order), sequence)
            self.assertEqual(drawn, derived(b"port.seed-draw..", self.pool(content), struct.pack("<I", 1)))

    def test_without_a_seed_or_a_page_that_takes_its_successor_nothing_is_drawn(self):
        good = seed(1)
        self.assertIsNone(self.start(b"", b"")[0])
        self.assertIsNone(self.start(seed(1)[:51], seed(2)[:35])[0])
        for page in (8, 9):
            self.assertIsNone(self.start(good, good, unwritten=page)[0])
            # The other copy serves where one cannot be read.
            self.assertIsNotNone(self.start(good, good, unread=page)[0])
        self.assertIsNone(self.start(good, b"", unread=8)[0])

    def test_each_block_of_32_bytes_is_one_drawing(self):
        pool = self.pool(b"\7" * 32)
        for size, blocks in ((0, 0), (1, 1), (31, 1), (32, 1), (33, 2), (64, 2), (65, 3), (100, 4)):
            drawn, _, _ = self.start(seed(1), b"", size=size, count=3)
            expected, number = b"", 0
            for _ in range(3):
                stream = b""
                for _ in range(blocks):
                    number += 1
                    stream += derived(b"port.seed-draw..", pool, struct.pack("<I", number))
                expected += stream[:size]
            self.assertEqual(drawn, expected, size)


class Memory(Parts):
    def test_bytes_are_copied_set_and_compared_at_each_alignment_and_size(self):
        for name in ("port_memcpy", "port_memset"):
            getattr(self.port, name).restype = ctypes.c_void_p
        self.port.port_strlen.restype = ctypes.c_size_t
        source = ctypes.create_string_buffer(bytes(range(1, 65)), 64)
        place = ctypes.addressof(source)
        for to in range(4):
            for at in range(4):
                for size in range(20):
                    target = ctypes.create_string_buffer(b"\xAA" * 64, 64)
                    begin = ctypes.addressof(target)
                    found = self.port.port_memcpy(ctypes.c_void_p(begin + 8 + to), ctypes.c_void_p(place + at),
                                                  ctypes.c_size_t(size))
                    self.assertEqual(found, begin + 8 + to)
                    expected = b"\xAA" * (8 + to) + source.raw[at:at + size]
                    self.assertEqual(target.raw, expected.ljust(64, b"\xAA"), (to, at, size))
                    found = self.port.port_memset(ctypes.c_void_p(begin + 8 + to), 0x1C5, ctypes.c_size_t(size))
                    self.assertEqual(found, begin + 8 + to)
                    self.assertEqual(target.raw, (b"\xAA" * (8 + to) + b"\xC5" * size).ljust(64, b"\xAA"))

    def test_the_first_byte_that_differs_decides_and_a_text_ends_with_zero(self):
        for first, second, sign in ((b"abc", b"abc", 0), (b"abd", b"abc", 1), (b"abc", b"abd", -1),
                                    (b"\xffa", b"\x01b", 1), (b"aZ", b"bA", -1), (b"a\0c", b"a\0b", 1)):
            for size in range(len(first) + 1):
                found = self.port.port_memcmp(first, second, ctypes.c_size_t(size))
                expected = (first[:size] > second[:size]) - (first[:size] < second[:size])
                self.assertEqual((found > 0) - (found < 0), expected, (first, second, size))
            self.assertEqual((first > second) - (first < second), sign)
        for size in (0, 1, 2, 9):
            self.assertEqual(self.port.port_strlen(b"x" * size), size)


class Hashes(Parts):
    MESSAGE = bytes((31 * at + 5) & 255 for at in range(600))

    def digest(self, name, size, pieces):
        state, made = ctypes.create_string_buffer(1024), ctypes.create_string_buffer(64)
        getattr(self.hashes, f"crypto_hash_{name}_init")(state)
        at = 0
        while at < size:
            piece = min(pieces, size - at)
            getattr(self.hashes, f"crypto_hash_{name}_update")(state, self.MESSAGE[at:at + piece],
                                                               ctypes.c_ulonglong(piece))
            at += piece
        getattr(self.hashes, f"crypto_hash_{name}_final")(state, made)
        # The state is wiped up to the size that libsodium gives it.
        width = {"sha256": 104, "sha512": 208}[name]
        self.assertEqual(state.raw[:width], bytes(width))
        return made.raw[:{"sha256": 32, "sha512": 64}[name]]

    def test_messages_of_each_length_have_the_digests_of_python(self):
        for name in ("sha256", "sha512"):
            for size in range(300):
                expected = hashlib.new(name, self.MESSAGE[:size]).digest()
                for pieces in (1 + size % 7, 64, 600):
                    self.assertEqual(self.digest(name, size, pieces), expected, (name, size, pieces))
        made = ctypes.create_string_buffer(64)
        self.hashes.crypto_hash_sha512(made, self.MESSAGE, ctypes.c_ulonglong(600))
        self.assertEqual(made.raw, hashlib.sha512(self.MESSAGE).digest())

    def test_keys_of_each_length_have_the_tags_of_python(self):
        for size in (0, 1, 31, 32, 33, 63, 64, 65, 100):
            for length in (0, 1, 55, 56, 64, 200):
                state, tag = ctypes.create_string_buffer(1024), ctypes.create_string_buffer(32)
                self.hashes.crypto_auth_hmacsha256_init(state, self.MESSAGE[:size], ctypes.c_size_t(size))
                self.hashes.crypto_auth_hmacsha256_update(state, self.MESSAGE, ctypes.c_ulonglong(length))
                self.hashes.crypto_auth_hmacsha256_final(state, tag)
                self.assertEqual(tag.raw, hmac.digest(self.MESSAGE[:size], self.MESSAGE[:length], "sha256"),
                                 (size, length))

    def test_blake2b_of_each_length_is_that_of_python(self):
        initial = (0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
                   0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179)
        for size in (1, 2, 24, 64, 127, 128, 129, 256, 300):
            # libsodium's state begins with h, t and f.
            state = ctypes.create_string_buffer(1024)
            words = (ctypes.c_uint64 * 12).from_buffer(state)
            words[:8] = initial
            words[0] ^= 0x01010040
            for at in range(0, size, 128):
                block = self.MESSAGE[at:min(at + 128, size)]
                words[8] += len(block)
                if at + 128 >= size:
                    words[10] = (1 << 64) - 1
                self.assertEqual(self.hashes.blake2b_compress_ref(state, block.ljust(128, b"\0")), 0)
            self.assertEqual(bytes(words)[:64], hashlib.blake2b(self.MESSAGE[:size]).digest(), size)
