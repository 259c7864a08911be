#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Tests the solver of a gate's page in node, and an API's check of verdicts in Python, against the vectors."""

import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Tests" / part) for part in ("Process/Backend/requests", "Vectors", "Support/Runner")]
import blocks  # noqa: E402
import runner  # noqa: E402
import verdict  # noqa: E402
from proofspec.own import Own  # noqa: E402


class SolverTests(unittest.TestCase):
    def test_the_pages_solver_finds_what_the_other_implementations_find(self):
        script = ROOT / "Tests/Process/Page/work_test.js"
        ran = subprocess.run(["node", script], text=True, capture_output=True, timeout=300)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertRegex(ran.stdout, r"\n[1-9]\d* passed, 0 failed\n$")


class VerdictTests(unittest.TestCase):
    def setUp(self):
        text = (ROOT / "Tests/Vectors/own.txt").read_text()
        self.cases = [block for block in blocks.read(text) if block.word("block") == "verdict"]
        self.assertEqual(len(self.cases), 2)

    def asked(self, block, **other):
        own = Own(block.bytes("own_secret"), block.bytes("gate_id"), block.int("number"))
        question = {name: block.bytes(name) for name in ("method", "scheme", "authority", "target")}
        question |= {"body": block.bytes("body_digest"), "now": block.int("now"), "text": block.word("text")}
        question["keys"] = {own.number: own.verdict(question["authority"])}
        return verdict.check(**question | other)

    def refused(self, block, word, **other):
        with self.assertRaises(verdict.Refused, msg=word) as raised:
            self.asked(block, **other)
        self.assertEqual(raised.exception.args[0], word)

    def test_the_vectors_are_believed(self):
        passed, refused = (self.asked(block) for block in self.cases)
        self.assertTrue(passed["pass"] and "body" in passed and not passed["app"]["failed"])
        self.assertFalse(refused["pass"] or "body" in refused or "app" in refused)

    def test_nothing_else_is_believed(self):
        for block in self.cases:
            now, text = block.int("now"), block.word("text")
            for name in ("method", "scheme", "target", "authority"):
                self.refused(block, "tag" if name == "authority" else "request",
                             **{name: b"x", **({"keys": {1: bytes(32)}} if name == "authority" else {})})
            self.refused(block, "request", authorization=b"Bearer abc")
            self.refused(block, "time", now=now + 31)
            self.refused(block, "time", now=now - 31)
            self.refused(block, "key", keys={2: bytes(32)})
            self.refused(block, "tag", keys={1: bytes(32)})
            for place, letter in enumerate(text):
                other = text[:place] + ("B" if letter == "A" else "A") + text[place + 1:]
                with self.assertRaises(verdict.Refused, msg=place):
                    self.asked(block, text=other)
            for other in ("", ".", text + "A", text.split(".")[0], text + "\n", "HAE." + "A" * 43):
                with self.assertRaises(verdict.Refused, msg=other):
                    self.asked(block, text=other)
        self.refused(self.cases[0], "body", body=bytes(32))
        self.asked(self.cases[1], body=bytes(32))

    def test_the_function_stays_small(self):
        lines = (ROOT / "Tests/Process/Backend/requests/verdict.py").read_text().splitlines()
        self.assertLess(len(lines), 60)
        imports = {line.split()[1] for line in lines if re.match(r"import |from ", line)}
        self.assertLessEqual(imports, set(sys.stdlib_module_names))


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(SolverTests, VerdictTests), sys.argv[1:]))
