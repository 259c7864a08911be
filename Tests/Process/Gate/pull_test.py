#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""A gate that fetches its configuration from a real service, over TLS: what it takes, and what holds while the service
is gone. The gate's time of day is moved; an hour passes at once."""

import http.server
import os
import pathlib
import signal
import threading
import time
import unittest
import urllib.error
import urllib.request

from gate_site import GateProcess, Logged, Site
from parties import HOST, PATIENCE, Prover
from ports import free_port
import certificates
import gates
from moved_clock import MovedClock

RULES = """
route lenient
  methods GET
  path /lenient
  need proof
  young none
  doubt pass
route rest
  path /*
  need proof
  young none
"""
HOUR = 3600


class Service(Logged):
    """proof-service behind TLS, at a port that stays."""

    def __init__(self, site, port):
        super().__init__(
            f"{os.environ['PROOF_BIN']}/proof-service", "--store", site.store, "--listen", f"127.0.0.1:{port}",
            "--certificate", site.path("service.pem"), "--private-key", site.path("service.key"), "--log", "json",
            env=site.environment)

    def kill(self):
        self.end(signal.SIGKILL)

    def wait_for_unchanged(self, count):
        """Waits until that many more questions of a gate were answered with "unchanged"."""
        place = len(self.lines)
        for _ in range(count):
            line = self.wait(lambda line: line.get("status") == 304, place)
            place = next(index for index in range(place, len(self.lines)) if self.lines[index] is line) + 1


class Scripted(http.server.ThreadingHTTPServer):
    """A service that gives the answers of a list, and the last one from then on."""

    daemon_threads = True

    def __init__(self, *answers):
        super().__init__(("127.0.0.1", 0), ScriptedHandler)
        self.answers, self.came, self.news = list(answers), [], threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def wait(self, count):
        """Waits until that many questions have come."""
        with self.news:
            assert self.news.wait_for(lambda: len(self.came) >= count, PATIENCE), self.came

    def close(self):
        self.shutdown()
        self.server_close()


class ScriptedHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        with self.server.news:
            answers = self.server.answers
            status, fields, body = answers.pop(0) if len(answers) > 1 else answers[0]
            self.server.came.append((self.path, self.headers["Authorization"], self.headers["If-None-Match"]))
            self.server.news.notify_all()
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """The tests read `came`."""


class Pull(unittest.TestCase):
    def setUp(self):
        self.site = Site()
        self.addCleanup(self.site.close)
        self.site.ask("gate", "change", "front", "--life", "86400")
        self.key = os.urandom(16)
        self.site.ask("sdk", "add", "--key", self.site.write("mpk2", self.key), "--mode", "development")
        self.app = gates.App(self.site.url, self.key, "second")
        self.prover = Prover(self.app.admit(HOST))
        self.site.write("routes", RULES)
        os.unlink(self.site.path("front.jws"))
        self.site.ask("gate", "credential", "front", "--output", self.site.path("credential"))
        certificates.make_leaf(str(self.site.folder), "service", "authority", "IP:127.0.0.1", 2)
        os.chmod(self.site.path("service.key"), 0o600)
        self.port = free_port()
        self.line = (f"{self.site.prepared()} --service https://127.0.0.1:{self.port} --credential credential"
                     " --service-ca authority.pem --poll-seconds 1 --stale-after 7200")
        self.clock = MovedClock(self.site.folder)
        self.move(0)
        self.site.environment |= self.clock.environment

    def move(self, seconds):
        self.shift = seconds
        self.clock.move(seconds)

    def serve(self):
        # The service keeps the real time.
        moved = {name: self.site.environment.pop(name) for name in self.clock.environment}
        service = Service(self.site, self.port)
        self.site.environment |= moved
        self.addCleanup(lambda: service.process.poll() is None and service.kill())
        return service

    def manage(self, *words):
        moved = {name: self.site.environment.pop(name) for name in self.clock.environment}
        self.site.ask(*words)
        self.site.environment |= moved

    def start(self):
        gate = GateProcess(self.site, self.line, [0])
        self.addCleanup(lambda: gate.process.poll() is None and gate.end())
        return gate

    def judge(self, gate, method, target, prover=None):
        """Status for a client whose app proves a request now."""
        fields = (prover or self.prover).prove(method, target, b"" if method == "POST" else None,
                                               created=int(time.time()) + self.shift)
        question = urllib.request.Request(f"http://127.0.0.1:{gate.port}/judge", headers=dict(fields) | {
            "X-Original-Method": method, "X-Original-URI": target, "X-Original-Host": HOST,
            "X-Original-Scheme": "https"})
        try:
            with urllib.request.urlopen(question, timeout=PATIENCE) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return int(error.headers.get("Proof-Status", error.code))

    def measures(self, gate):
        lines = (line.rsplit(" ", 1) for line in gate.get("/metrics").splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines if name.startswith("proof_gate_")}

    def test_an_hour_without_the_service(self):
        service = self.serve()
        gate = self.start()
        self.assertTrue(any(line["event"] == "no kept configuration" for line in gate.lines))
        self.assertEqual(os.stat(self.site.path("front.jws")).st_mode & 0o777, 0o600)
        self.assertEqual(self.judge(gate, "POST", "/orders"), 200)
        service.kill()
        self.move(HOUR)
        gate.wait(lambda line: line["event"] == "configuration not fetched", len(gate.lines))
        self.assertEqual(self.judge(gate, "POST", "/orders"), 200, "an app passes while the service is gone")
        found = self.measures(gate)
        self.assertGreaterEqual(found["proof_gate_configuration_age_seconds"], HOUR)
        self.assertGreaterEqual(found["proof_gate_service_silence_seconds"], HOUR)
        self.assertGreaterEqual(found["proof_gate_pull_failures_in_row"], 1)
        self.assertGreaterEqual(found['proof_gate_pulls_total{result="failed"}'], 1)
        self.assertEqual(gate.get("/health"), "ok\n")
        # A restart goes on with the configuration that was kept.
        gate.end()
        gate = self.start()
        self.assertTrue(any(line["event"] == "kept configuration" for line in gate.lines))
        self.assertEqual(self.judge(gate, "POST", "/orders"), 200)
        # Past the bound the rule's doubt counts.
        self.move(2 * HOUR + 60)
        self.assertEqual(self.judge(gate, "POST", "/orders"), 503)
        self.assertEqual(self.judge(gate, "GET", "/lenient"), 200)
        with self.assertRaises(urllib.error.HTTPError) as raised:
            gate.get("/health")
        self.assertEqual(raised.exception.code, 503)
        raised.exception.close()
        # The service is back, and so is its time.
        self.move(0)
        after = len(gate.lines)
        self.serve()
        gate.wait(lambda line: line["event"] == "has taken a configuration", after)
        self.assertEqual(gate.get("/health"), "ok\n")
        self.assertEqual(self.measures(gate)["proof_gate_pull_failures_in_row"], 0)

    def test_a_revocation_arrives_and_nothing_is_sent_twice(self):
        service = self.serve()
        gate = self.start()
        self.assertEqual(self.judge(gate, "POST", "/orders"), 200)
        other = self.site.prover
        self.assertEqual(self.judge(gate, "POST", "/orders", other), 200)
        after = len(gate.lines)
        self.manage("gate", "revoke", "front", self.app.device().hex())
        taken = gate.wait(lambda line: line["event"] == "has taken a configuration", after)
        self.assertEqual(self.judge(gate, "POST", "/orders"), 401)
        self.assertEqual(self.judge(gate, "POST", "/orders", other), 200, "the other app goes on")
        # The next answers say that nothing has changed.
        # The gate asks again after it has taken an answer: of three answers it has counted two.
        service.wait_for_unchanged(3)
        self.assertGreaterEqual(self.measures(gate)['proof_gate_pulls_total{result="unchanged"}'], 2)
        after = [line for line in gate.lines if line["event"] == "has taken a configuration"]
        self.assertEqual(after[-1]["serial"], taken["serial"])
        # A credential that is revoked fetches no more, and the gate goes on.
        after = len(gate.lines)
        self.manage("management", "remove", "gate.front")
        line = gate.wait(lambda line: line["event"] == "configuration not fetched", after)
        self.assertIn("refuses the credential", line["reason"])
        self.assertEqual(self.judge(gate, "POST", "/orders", other), 200)

    def test_a_damaged_cache_is_told_and_fetched_anew(self):
        service = self.serve()
        self.start().end()
        kept = pathlib.Path(self.site.path("front.jws"))
        whole = kept.read_text()
        kept.write_text(whole[:len(whole) // 2])
        gate = self.start()
        self.assertTrue(any(line["event"] == "kept configuration damaged" for line in gate.lines))
        self.assertEqual(self.judge(gate, "POST", "/orders"), 200)
        self.assertNotEqual(kept.read_text(), whole[:len(whole) // 2])
        gate.end()
        service.kill()
        kept.write_text(whole[:len(whole) // 2])
        process = GateProcess.__new__(GateProcess)
        with self.assertRaisesRegex(AssertionError, "none can be fetched"):
            process.__init__(self.site, self.line, [0])
        process.end()
        tries = [line for line in process.lines if line["event"] == "configuration not fetched"]
        self.assertEqual(len(tries), 5)

    def scripted(self, *answers):
        """The line of a gate that asks a service of ours, over plain HTTP on this machine."""
        service = Scripted(*answers)
        self.addCleanup(service.close)
        line = self.line.replace(f"https://127.0.0.1:{self.port}", f"http://127.0.0.1:{service.server_port}/")
        return service, line.replace(" --service-ca authority.pem", "")

    def test_each_answer_of_a_service_has_its_words(self):
        self.manage("gate", "configuration", "front", "--output", self.site.path("whole.jws"))
        text = pathlib.Path(self.site.path("whole.jws")).read_text().strip()
        folded = f" {text[:40]}\r\n {text[40:]}\n".encode()
        service, self.line = self.scripted(
            (404, {}, b""), (401, {}, b""), (500, {}, b""), (200, {"eTaG": '"one"'}, folded), (304, {}, b""),
            (503, {}, b""))
        pathlib.Path(self.site.path("credential")).chmod(0o600)
        credential = pathlib.Path(self.site.path("credential")).read_text().strip()
        gate = self.start()
        reasons = [line["reason"] for line in gate.lines if line["event"] == "configuration not fetched"]
        self.assertEqual(len(reasons), 3)
        for reason, words in zip(reasons, (
                "the service has no such gate, or is of an earlier version",
                "the service refuses the credential: draw another one with proofctl gate credential",
                "the service answered with status 500")):
            self.assertIn(words, reason)
        self.assertIn("no kept configuration", [line["event"] for line in gate.lines])
        first = gate.wait(lambda line: line["event"] == "configuration not fetched" and "failures" in line)
        self.assertEqual(first["failures"], 1)
        self.assertIn("status 503", first["reason"])
        second = gate.wait(lambda line: line.get("failures") == 2)
        self.assertEqual(second["event"], "configuration not fetched")
        asked = ("/v1/gate/configuration", f"Bearer {credential}")
        # A gate without a configuration asks for a whole one; then it says which one it has.
        self.assertEqual(service.came[:6], [(*asked, None)] * 4 + [(*asked, '"one"')] * 2)
        found = self.measures(gate)
        self.assertEqual((found['proof_gate_pulls_total{result="taken"}'],
                          found['proof_gate_pulls_total{result="unchanged"}'],
                          found['proof_gate_pulls_total{result="refused"}']), (1, 1, 0))
        self.assertGreaterEqual(found['proof_gate_pulls_total{result="failed"}'], 5)
        self.assertGreaterEqual(found["proof_gate_pull_failures_in_row"], 2)

    def test_a_first_configuration_that_cannot_be_kept_ends_the_gate(self):
        self.manage("gate", "configuration", "front", "--output", self.site.path("whole.jws"))
        body = pathlib.Path(self.site.path("whole.jws")).read_bytes()
        service, line = self.scripted((200, {}, body))
        line = line.replace("--configuration front.jws", "--configuration none/front.jws")
        self.assertIn("none/front.jws", line)
        process = GateProcess.__new__(GateProcess)
        with self.assertRaises(AssertionError):
            process.__init__(self.site, line, [0])
        process.end()
        self.assertEqual(len(service.came), 1)
        last, = [line["event"] for line in process.lines if line["event"].startswith("proof-gate: ")]
        # Not the reading of the file, which comes later.
        self.assertEqual(last, "proof-gate: create none/front.jws.new: No such file or directory\n")
