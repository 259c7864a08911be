#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The times and sizes of a gate that fetches its configuration, and a configuration that it cannot take."""

import pathlib
import unittest

from gate_site import GateProcess, Site
from pull_test import RULES, Scripted
from recorded_waits import RecordedWaits

SAMPLES = 400


class PullBounds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Site()
        cls.addClassCleanup(cls.site.close)
        cls.line = cls.site.prepared().replace("state/replay", "memory")
        cls.site.write("routes", RULES)
        cls.whole = pathlib.Path(cls.site.path("front.jws")).read_bytes()
        cls.site.ask("gate", "credential", "front", "--output", cls.site.path("credential"))
        cls.credential = pathlib.Path(cls.site.path("credential")).read_text().strip()

    def setUp(self):
        pathlib.Path(self.site.path("front.jws")).unlink(missing_ok=True)
        self.site.write("credential", self.credential + "\n")

    def scripted(self, *answers):
        service = Scripted(*answers)
        self.addCleanup(service.close)
        return service

    def gate(self, service, *options, waits=None):
        before = dict(self.site.environment)
        self.site.environment |= waits.environment if waits else {}
        try:
            return GateProcess(self.site, self.line, [0], f"--service http://127.0.0.1:{service.server_port}",
                               "--credential credential", *options)
        finally:
            self.site.environment = before

    def start(self, *words, **more):
        gate = self.gate(*words, **more)
        self.addCleanup(lambda: gate.process.poll() is None and gate.end())
        return gate

    def waits(self, sleeps):
        waits = RecordedWaits(self.site.folder, sleeps)
        waits.file.unlink(missing_ok=True)
        return waits

    def refused(self, service, *options, waits):
        """The log of a gate that does not start."""
        process = GateProcess.__new__(GateProcess)
        before = dict(self.site.environment)
        self.site.environment |= waits.environment
        try:
            with self.assertRaises(AssertionError):
                process.__init__(self.site, self.line, [0], f"--service http://127.0.0.1:{service.server_port}",
                                 "--credential credential", *options)
        finally:
            self.site.environment = before
        self.assertEqual(process.end(), 1)
        return [line["event"] for line in process.lines]

    def test_five_first_tries_have_pauses_that_double(self):
        service, waits = self.scripted((503, {}, b"")), self.waits(10)
        events = self.refused(service, waits=waits)
        self.assertEqual((len(service.came), events.count("configuration not fetched")), (5, 5))
        self.assertEqual(waits.sleeps(), [0.25, 0.5, 1.0, 2.0])
        self.assertEqual(waits.limits(), [10.0] * 5)

    def test_it_asks_every_30_seconds_with_a_fifth_more_or_less(self):
        # The extremes of many pauses are near the bounds: 0.8 and 1.2 of the time.
        for option, seconds in (("", 30), ("--poll-seconds 10", 10)):
            self.setUp()
            service, waits = self.scripted((200, {"ETag": '"one"'}, self.whole), (304, {}, b"")), self.waits(SAMPLES)
            gate = self.start(service, option, waits=waits)
            service.wait(SAMPLES + 2)
            self.assertEqual(gate.end(), 0)
            found = waits.sleeps()[:SAMPLES]
            self.assertGreaterEqual(min(found), 0.8 * seconds)
            self.assertLessEqual(max(found), 1.2 * seconds)
            self.assertLess(min(found), 0.815 * seconds)
            self.assertGreater(max(found), 1.185 * seconds)

    def test_a_credential_has_at_most_1024_bytes(self):
        for size, is_taken in ((1024, True), (1025, False)):
            self.setUp()
            self.site.write("credential", self.credential + " " * (size - len(self.credential)))
            service = self.scripted((200, {}, self.whole), (304, {}, b""))
            if is_taken:
                self.assertEqual(self.start(service).end(), 0)
                self.assertEqual(service.came[0][1], f"Bearer {self.credential}")
            else:
                self.assertIn("configuration not fetched", self.refused(service, waits=self.waits(10)))
                self.assertEqual(service.came, [])

    def test_a_configuration_that_cannot_be_taken_is_counted_and_changes_nothing(self):
        own = pathlib.Path(self.site.path("state/own.key"))
        self.site.ask("gate", "change", "front", "--life", "86400")
        self.site.configure()
        newer = pathlib.Path(self.site.path("front.jws")).read_bytes()
        self.setUp()
        # The newer one comes after a failure, so that the gate's own secret is away by then.
        service = self.scripted((200, {"ETag": '"one"'}, self.whole), (503, {}, b""))
        gate = self.start(service, "--poll-seconds 1")
        gate.wait(lambda line: line["event"] == "configuration not fetched")
        self.addCleanup(own.with_suffix(".away").rename, own)
        own.rename(own.with_suffix(".away"))
        with service.news:
            service.answers[:] = [(200, {"ETag": '"two"'}, newer), (304, {}, b"")]
        line = gate.wait(lambda line: line["event"] == "configuration not taken")
        self.assertIn("own.key", line["reason"])
        self.assertTrue(line["reason"].endswith(" The previous one stays in use."), line)
        self.assertIn("proof_gate_files_refused_total 1\n", gate.get("/metrics"))
        serial, = (line["serial"] for line in gate.lines if line["event"] == "reads its files")
        self.assertIn(f"proof_gate_configuration_serial {serial}\n", gate.get("/metrics"))
        self.assertFalse([line for line in gate.lines if line["event"] == "has taken a configuration"])


    def test_a_configuration_that_cannot_be_kept_is_taken_and_told(self):
        self.site.ask("gate", "change", "front", "--life", "43200")
        self.site.configure()
        newer = pathlib.Path(self.site.path("front.jws")).read_bytes()
        self.setUp()
        folder = self.site.folder / "kept"
        folder.mkdir(mode=0o700)
        service = self.scripted((200, {"ETag": '"one"'}, self.whole), (503, {}, b""))
        line = self.line
        self.addCleanup(setattr, self, "line", line)
        self.line = line.replace("front.jws", "kept/front.jws")
        gate = self.start(service, "--poll-seconds 1")
        gate.wait(lambda line: line["event"] == "configuration not fetched")
        folder.rename(self.site.folder / "away")
        with service.news:
            service.answers[:] = [(200, {"ETag": '"two"'}, newer), (304, {}, b"")]
        self.assertIn("kept/front.jws",
                      gate.wait(lambda line: line["event"] == "configuration not kept")["reason"])
        first, = (line["serial"] for line in gate.lines if line["event"] == "reads its files")
        taken, = (line["serial"] for line in gate.lines if line["event"] == "has taken a configuration")
        self.assertGreater(taken, first)
        self.assertIn("proof_gate_files_refused_total 0\n", gate.get("/metrics"))


if __name__ == "__main__":
    unittest.main()
