# SPDX-License-Identifier: Apache-2.0

"""A bot without a browser at the page of challenges, behind nginx over TLS."""

import base64
import hashlib
import json
import re
import struct
import time
import unittest

from pictures import solve
from site_of_gate import FOLDER, PageSite


def setUpModule():
    global site
    site = PageSite()
    unittest.addModuleCleanup(site.close)


class Program(unittest.TestCase):
    """A bot without a browser. What it needs is what docs/PAGE.md says that the page costs it."""

    def setUp(self):
        site.restart_gate()

    def attempt(self):
        """Status of an answer, and the processor seconds of work and of looking at the picture."""
        challenge = site.challenge("person")
        target = f"{FOLDER}challenges/person"
        asked = {"challenge": challenge, "method": "GET", "target": target}
        _, _, document = site.send(site.page("person", challenge)[len(site.origin):])
        data = json.loads(re.search(r'id="data">(.*?)</script>', document.decode())[1])
        start = time.process_time()
        solution = puzzles(data["round"]["work"])
        worked = time.process_time()
        status, _, shown = site.send(f"{FOLDER}picture", asked | {
            "work": data["round"]["work"]["challenge"], "answer": solution})
        self.assertEqual(status, 200)
        shown = json.loads(shown)
        looking = time.process_time()
        place = solve(shown["picture"], shown["piece"])
        looked = time.process_time()
        status, fields, _ = site.send(f"{FOLDER}answer", asked | {"answer": f"slider {place} {shown['mark']}"})
        self.assertEqual(status == 200, fields["Set-Cookie"] is not None)
        return status, worked - start, looked - looking

    def test_a_simple_program_solves_the_slider_and_ten_tries_end_it(self):
        found = [self.attempt() for _ in range(10)]
        right = sum(status == 200 for status, _, _ in found)
        work, look = (sorted(values)[5] * 1000 for values in list(zip(*found))[1:])
        print(f"a program was right in {right} of 10; {work:.0f} ms of work, {look:.0f} ms for a picture (Python)")
        self.assertGreaterEqual(right, 8)
        self.assertEqual(self.attempt()[0], 429)

    def test_pictures_tell_nothing_by_their_length(self):
        lengths = set()
        for _ in range(3):
            challenge = site.challenge("person")
            _, _, document = site.send(site.page("person", challenge, script="no")[len(site.origin):])
            lengths.add(len(document))
        self.assertEqual(len(lengths), 1)


def puzzles(work):
    """SPEC.md section 16, work (a), with hashlib."""
    identity = base64.urlsafe_b64decode(work["challenge"])
    seed = hashlib.sha256(b"pfc1.puzzle-seed" + identity).digest()[:28]
    solution = b""
    for index in range(16):
        start = hashlib.sha256(b"pfc1.puzzle....." + seed + struct.pack("<I", index))
        for counter in range(1 << 32):
            tried = start.copy()
            tried.update(struct.pack("<I", counter))
            if int.from_bytes(tried.digest()[:4], "big") >> (32 - work["level"]) == 0:
                solution += struct.pack("<I", counter)
                break
    return base64.urlsafe_b64encode(solution).decode().rstrip("=")
