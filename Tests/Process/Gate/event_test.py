#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""A gate that redeems event tokens for a backend, with a real service and tokens that are made by SPEC.md alone."""

import concurrent.futures
import http.client
import json
import os
import signal
import subprocess
import unittest
import urllib.error
import urllib.request

from gate_site import GateProcess, Site
from parties import HOST, PATIENCE, Prover, block
from redeeming import ACCOUNT, ORDER, RULES, Asker, Maker, admit
from verbs import flags
import gates

class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        site = cls.site = Site()
        site.ask("event", "add", "3300-3310", "--gate", "front", "--audience", "shop", "--account", "--data")
        site.ask("risk", "add", "many", "--when", "accounts-of-device/hour > 2", "--level", "high",
                 "--reason", "more than 2 accounts in an hour")
        key = os.urandom(16)
        site.ask("sdk", "add", "--key", site.write("mpk2", key), "--mode", "development")
        cls.key = key
        site.configure()
        site.write("routes", RULES)
        prepare = block("Start").split("\n", 1)[0]
        cls.shell(prepare)
        credential, cls.line = block("Events").rstrip().split("\nproof-gate --", 1)
        cls.line = "proof-gate --" + cls.line.replace("127.0.0.1:9082", "127.0.0.1:0")
        cls.shell(credential)
        with open(site.path("shop.credential"), encoding="ascii") as file:
            cls.credential = file.read().strip()
        cls.own = (site.folder / "state" / "own.key").read_bytes()
        cls.apps = 0

    @classmethod
    def tearDownClass(cls):
        cls.site.close()

    @classmethod
    def shell(cls, text):
        environment = cls.site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"}
        return subprocess.run(["bash", "-euc", text], cwd=cls.site.folder, env=environment, timeout=PATIENCE,
                              check=True, capture_output=True, text=True).stdout

    def setUp(self):
        # Each test has an app of its own: counts of one do not reach another.
        Events.apps += 1
        admission = gates.App(self.site.url, self.key, f"app {self.apps}").admit(HOST)
        self.prover, self.maker = Prover(admission), Maker(admission, self.own)
        self.device = gates.App(self.site.url, self.key, f"app {self.apps}").device().hex()
        self.start()
        self.addCleanup(lambda: self.gate.process.poll() is None and self.gate.end())

    def start(self, *options):
        self.gate = GateProcess(self.site, self.line, [0], *options)
        listening = next(line for line in self.gate.lines if line["event"] == "listening")
        self.events = listening["events"]

    def admit(self):
        """A request with the app's gate token: the gate knows the app from now on."""
        self.assertEqual(admit(self.prover, self.gate), 200)

    def post(self, path, body, credential=None, method="POST"):
        return Asker(self.events, self.credential).post(path, body, credential, method)

    def redeem(self, token, *words, **more):
        return Asker(self.events, self.credential).redeem(token, *words, **more)

    def test_a_token_counts_once_and_the_answer_has_counts_and_risk(self):
        token = self.maker.make()
        self.assertEqual(self.redeem(token)["reason"], "unknown-app", "the gate has not opened the app's token yet")
        self.admit()
        self.assertEqual(self.redeem(token, account=self.maker.another_account())["reason"], "other-account")
        self.assertEqual(self.redeem(token, event=3301)["reason"], "other-event")
        self.assertEqual(self.redeem(token, data=b"other")["reason"], "other-data")
        self.assertEqual(self.redeem(token, event=9)["reason"], "unlisted-event")
        said = self.redeem(token, key="order 1", address="192.0.2.7")
        self.assertTrue(said["valid"], said)
        self.assertLess(said["age"], 60)
        self.assertEqual(said["device"], self.device)
        self.assertIs(said["attestation"]["failed"], False)
        self.assertEqual(said["counts"]["eventsOfDevice"], {"minute": 1, "hour": 1, "day": 1})
        self.assertEqual(said["risk"], {"level": "none", "reasons": []})
        again = self.redeem(token, key="order 1", address="192.0.2.7")
        self.assertEqual(again, said | {"repeated": True, "attestation": again["attestation"]})
        self.assertEqual(self.redeem(token)["reason"], "replayed")
        self.assertEqual(self.redeem(self.maker.make(), key="order 1")["reason"], "other-question")
        others = ["bob@example.com", "cyd@example.com"]
        for account in others:
            said = self.redeem(self.maker.make(account=account.encode()), account=account)
        self.assertEqual(said["counts"]["accountsOfDevice"]["hour"], 3)
        self.assertEqual(said["risk"], {"level": "high", "reasons": ["more than 2 accounts in an hour"]})
        said = self.redeem("A" * 88, address="192.0.2.8")
        self.assertEqual((said["valid"], said["counts"]["invalidOfAddress"]["hour"]), (False, 1))
        # Nothing of users stands in the log.
        text = json.dumps(self.gate.lines)
        for word in (token, self.credential, self.device, "order 1", ACCOUNT, *others):
            self.assertNotIn(word, text)
        measures = self.gate.get("/metrics")
        self.assertIn('proof_gate_events_total{result="replayed"} 1', measures)

    def test_a_backend_in_a_process_of_its_own_redeems_with_the_lines_of_the_page(self):
        self.admit()
        scope = {}
        exec(block("Events", "python"), scope)
        token, listener = self.maker.make(), f"http://127.0.0.1:{self.events}"

        def redeem(key, credential=self.credential):
            return scope["redeem"](listener, credential, token, 3300, ACCOUNT, ORDER, key)
        said = redeem("order 31")
        self.assertEqual((said["valid"], said["attestation"]["failed"]), (True, False))
        self.assertEqual((redeem("order 31")["valid"], redeem("order 31")["repeated"]), (True, True))
        self.assertEqual(redeem("order 32")["reason"], "replayed")
        with self.assertRaises(urllib.error.HTTPError) as raised:
            redeem("order 31", "x")
        self.assertEqual(raised.exception.code, 401)
        raised.exception.close()

    def test_without_the_credential_nothing_is_answered(self):
        self.admit()
        token = self.maker.make()
        question = {"token": token, "event": 3300}
        for credential in ("", "x", self.credential[:-1], self.credential + "x"):
            self.assertEqual(self.post("/v1/event", question, credential)[0], 401)
        self.assertEqual(self.post("/v1/event", question, method="GET")[0], 405)
        self.assertEqual(self.post("/v1/other", question)[0], 404)
        for body in (b"", b"[]", b"{", b'{"token":"a"}', json.dumps(question | {"acount": "ada"}).encode(),
                     json.dumps(question | {"data": "AA"}).encode(), json.dumps(question | {"event": 65536}).encode(),
                     b'{"event":1,"event":2,"token":"a"}'):
            self.assertEqual(self.post("/v1/event", body)[0], 400, body)
        self.assertEqual(self.post("/v1/event", b" " * 5000)[0], 413)
        with self.assertRaises((urllib.error.HTTPError, urllib.error.URLError)) as raised:
            urllib.request.urlopen(f"http://127.0.0.1:{self.gate.port}/v1/event", b"{}", timeout=PATIENCE)
        raised.exception.close()
        # The token was not used up, and a credential that is taken back counts no more.
        self.assertTrue(self.redeem(token)["valid"])
        self.shell("cp -p event.credentials all && : > event.credentials")
        self.addCleanup(lambda: self.shell("cp -p all event.credentials"))
        self.gate.hang_up()
        self.assertEqual(self.post("/v1/event", question)[0], 401)

    def test_a_credential_has_a_rate(self):
        self.gate.end()
        self.start("--event-rate", "1")
        statuses = [self.post("/v1/forget", {"account": "absent"})[0] for _ in range(200)]
        self.assertEqual(set(statuses), {200, 429})

    def test_killed_between_redemptions_nothing_counts_twice_and_counters_survive(self):
        self.admit()
        used = [self.maker.make() for _ in range(20)]
        pool = concurrent.futures.ThreadPoolExecutor(4)
        self.addCleanup(pool.shutdown)

        def redeem(token):
            try:
                return self.redeem(token)["valid"]
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                return None

        done = []
        waiting = [pool.submit(redeem, token) for token in used]
        done.append(waiting[0].result())
        self.gate.end(signal.SIGKILL)
        answers = done + [future.result() for future in waiting[1:]]
        counted = answers.count(True)
        self.assertGreaterEqual(counted, 1)
        self.start()
        self.admit()
        again = [self.redeem(token) for token in used]
        for before, said in zip(answers, again):
            if before:
                self.assertEqual(said["reason"], "replayed")
        # A token whose answer was lost has counted or counts now: 20 tokens are 20 events.
        late = [said for said in again if said["valid"]]
        self.assertTrue(all(said["reason"] == "replayed" for said in again if not said["valid"]))
        last = self.redeem(self.maker.make())
        self.assertEqual(last["counts"]["eventsOfDevice"]["day"], 21, (counted, len(late)))

    def test_two_gates_with_one_store_count_a_token_once_and_share_counts(self):
        self.admit()
        first, events = self.gate, self.events
        self.addCleanup(lambda: first.process.poll() is None and first.end())
        token = self.maker.make()
        self.assertTrue(self.redeem(token, key="order 2")["valid"])
        self.start("--event-audience", "shop")
        self.admit()
        self.assertEqual(self.redeem(token)["reason"], "replayed")
        said = self.redeem(token, key="order 2")
        self.assertEqual((said["valid"], said["repeated"]), (True, True))
        self.assertEqual(self.redeem(self.maker.make())["counts"]["eventsOfDevice"]["day"], 2)
        self.events = events
        self.assertEqual(self.redeem(self.maker.make())["counts"]["eventsOfDevice"]["day"], 3)

    def test_events_of_an_audience_that_is_not_listed_start_no_gate(self):
        process = GateProcess.__new__(GateProcess)
        with self.assertRaisesRegex(AssertionError, "lists no event of audience till"):
            process.__init__(self.site, self.line, [0], "--event-audience", "till")
        process.end()

    def test_proofctl_asks_and_forgets(self):
        self.admit()
        self.site.write("order", ORDER + b"\n\xff")
        token = self.maker.make(data=ORDER + b"\n\xff")
        where = ["--events", f"http://127.0.0.1:{self.events}", "--credential", self.site.path("shop.credential")]
        words = ["event", "check", "3300", "-", "--account", ACCOUNT, "--data", "@" + self.site.path("order")]
        code, output, problem = self.site.run(*words, "--json", given=token + "\n", where=where)
        self.assertEqual(code, 0, problem)
        self.assertTrue(json.loads(output)["valid"])
        code, output, _ = self.site.run(*words, "--json", given=token + "\n", where=where)
        self.assertEqual((code, json.loads(output)["reason"]), (1, "replayed"))
        words += ["--address", "192.0.2.9", "--key", "order 18"]
        token = self.maker.make(data=ORDER + b"\n\xff")
        for repeated in ("false", "true"):
            code, output, problem = self.site.run(*words, given=token + "\n", where=where)
            self.assertEqual((code, problem), (0, ""))
            self.assertRegex(output, f"(?m)^repeated +{repeated}$")
        self.assertLessEqual(set(flags(self.site, "event check")), set(words + where))
        self.assertLessEqual(set(flags(self.site, "event forget")), set(where))
        code, output, problem = self.site.run("event", "forget", ACCOUNT, "--json", where=where)
        self.assertEqual(code, 0, problem)
        self.assertGreaterEqual(json.loads(output)["devices"], 1)
        code, output, problem = self.site.run("event", "forget", ACCOUNT, "--json", where=where)
        self.assertEqual((code, json.loads(output)), (0, {"devices": 0}))


if __name__ == "__main__":
    unittest.main()
