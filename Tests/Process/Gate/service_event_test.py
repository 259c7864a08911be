#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Event tokens at the service itself, beside a gate that has the same store of redemptions; and both killed."""

import concurrent.futures
import http.client
import json
import os
import signal
import subprocess
import threading
import time
import unittest

from gate_site import GateProcess, Logged, Site
from parties import HOST, PATIENCE, Prover, block
from place import BIN
from redeeming import ACCOUNT, RULES, Asker, Maker, admit
import certificates
import gates


class ServiceProcess(Logged):
    """proof-service with options of its own, for the site's store."""

    def __init__(self, site, *options, transport=("--plain",)):
        super().__init__(
            BIN / "proof-service", "--store", site.store, "--listen", "127.0.0.1:0", *transport, "--log", "json",
            *options, cwd=site.folder, env=site.environment)
        self.url, self.events = f"http://127.0.0.1:{self.started['port']}", self.started.get("events")


def next_second():
    """Waits until the clock shows another second. A store that may lack uses takes no token from before its start."""
    began = int(time.time())
    while int(time.time()) <= began:
        time.sleep(0.05)


class ServiceEvents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        site = cls.site = Site()
        cls.addClassCleanup(site.close)
        site.ask("event", "add", "3300-3310", "--gate", "front", "--audience", "shop", "--account", "--data")
        cls.key = os.urandom(16)
        site.ask("sdk", "add", "--key", site.write("mpk2", cls.key), "--mode", "development")
        site.configure()
        site.write("routes", RULES)
        cls.shell(block("Start").split("\n", 1)[0])
        credential, line = block("Events").rstrip().split("\nproof-gate --", 1)
        cls.line = "proof-gate --" + line.replace("127.0.0.1:9082", "127.0.0.1:0")
        cls.shell(credential)
        cls.options = block("Events at the service").split("--plain", 1)[1].replace("\\\n", " ").replace(
            "127.0.0.1:8444", "127.0.0.1:0").split()
        with open(site.path("shop.credential"), encoding="ascii") as file:
            cls.credential = file.read().strip()
        cls.own = (site.folder / "state" / "own.key").read_bytes()
        cls.apps = 0

    @classmethod
    def shell(cls, text):
        environment = cls.site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-euc", text], cwd=cls.site.folder, env=environment, timeout=PATIENCE, check=True,
                       capture_output=True, text=True)

    def start_service(self, *options, **more):
        service = ServiceProcess(self.site, *(options or self.options), **more)
        self.addCleanup(lambda: service.process.poll() is None and service.end())
        return service, Asker(service.events, self.credential)

    def start_gate(self):
        gate = GateProcess(self.site, self.line, [0])
        self.addCleanup(lambda: gate.process.poll() is None and gate.end())
        port = next(line["events"] for line in gate.lines if line["event"] == "listening")
        return gate, Asker(port, self.credential)

    def new_app(self, service):
        """An app of its own for each test, with a gate token from this process of the service."""
        ServiceEvents.apps += 1
        return self.fetch(service)

    def fetch(self, service):
        admission = gates.App(service.url, self.key, f"app {self.apps}").admit(HOST)
        return Prover(admission), Maker(admission, self.own)

    def test_a_token_counts_at_the_service_or_at_the_gate(self):
        service, office = self.start_service()
        gate, door = self.start_gate()
        prover, maker = self.new_app(service)
        self.assertEqual(admit(prover, gate), 200)
        first, second = maker.make(), maker.make()
        # The service has issued the app's gate token, so it knows the app without a request.
        said = office.redeem(first, key="order 1")
        self.assertEqual((said["valid"], said["counts"]["eventsOfDevice"]["day"]), (True, 1), said)
        self.assertEqual(door.redeem(first)["reason"], "replayed")
        said = door.redeem(first, key="order 1")
        self.assertEqual((said["valid"], said["repeated"]), (True, True))
        said = door.redeem(second)
        self.assertEqual((said["valid"], said["counts"]["eventsOfDevice"]["day"]), (True, 2), said)
        self.assertEqual(office.redeem(second)["reason"], "replayed")
        tokens = [maker.make() for _ in range(30)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            pairs = [(pool.submit(office.redeem, token), pool.submit(door.redeem, token)) for token in tokens]
            for pair in pairs:
                said = [future.result() for future in pair]
                self.assertEqual(sorted(one["valid"] for one in said), [False, True], said)
        self.assertEqual(office.redeem(maker.make())["counts"]["eventsOfDevice"]["day"], 33)

    def test_the_service_knows_the_apps_that_it_has_issued_tokens_to(self):
        service, office = self.start_service()
        _, stranger = self.new_app(self.site)
        token = stranger.make()
        self.assertEqual(office.redeem(token)["reason"], "unknown-app", "another process issued the gate token")
        _, maker = self.fetch(service)
        used = maker.make()
        self.assertTrue(office.redeem(used)["valid"])
        service.end(signal.SIGKILL)
        service, office = self.start_service()
        self.assertEqual(office.redeem(used)["reason"], "unknown-app")
        _, newer = self.fetch(service)
        self.assertTrue(office.redeem(newer.make())["valid"])

    def test_an_app_of_another_gate_is_unknown_here(self):
        site, host = self.site, "back.example.com"
        site.ask("gate", "add", "back", "--public", site.path("gate.public"), "--development")
        self.addCleanup(site.ask, "gate", "remove", "back")
        site.ask("api", "add", host, "--gate", "back")
        self.addCleanup(site.ask, "api", "remove", host)
        service, office = self.start_service()
        ServiceEvents.apps += 1
        front = gates.App(service.url, self.key, f"app {self.apps} in front").admit(HOST)
        back = gates.App(service.url, self.key, f"app {self.apps}").admit(host)
        # All that a token of this gate has, but the app's secret is that of the other gate.
        names = ("gate", "events", "account key", "account number")
        stranger = Maker(back | {name: front[name] for name in names}, self.own)
        self.assertEqual(office.redeem(stranger.make())["reason"], "unknown-app")
        self.assertTrue(office.redeem(Maker(front, self.own).make())["valid"])

    def test_credentials_paths_and_what_is_logged(self):
        service, office = self.start_service()
        _, maker = self.new_app(service)
        question = {"token": maker.make(), "event": 3300}
        for credential in ("", "x", self.credential + "x"):
            self.assertEqual(office.post("/v1/event", question, credential)[0], 401)
        self.assertEqual(office.post("/v1/event", question, method="GET")[0], 405)
        self.assertEqual(office.post("/v1/other", question)[0], 404)
        self.assertEqual(office.post("/v1/event", b"{")[0], 400)
        # The listener of apps has no such path, and the listener of backends none of theirs.
        port = int(service.url.rsplit(":", 1)[1])
        self.assertEqual(Asker(port, self.credential).post("/v1/event", question)[0], 404)
        self.assertEqual(office.post("/v1/report", b"")[0], 404)
        token = maker.make()
        self.assertTrue(office.redeem(token)["valid"])
        status, said = office.post("/v1/forget", {"account": ACCOUNT})
        self.assertEqual(status, 200)
        self.assertGreaterEqual(said["devices"], 1)
        self.assertEqual(office.post("/v1/forget", {"account": ACCOUNT}), (200, {"devices": 0}))
        service.end()
        text = json.dumps(service.lines)
        self.assertIn("event judged", text)
        for word in (token, self.credential, ACCOUNT):
            self.assertNotIn(word, text)

    def test_the_service_judges_by_the_account_as_it_is_now(self):
        service, office = self.start_service()
        _, maker = self.new_app(service)
        self.assertEqual(office.redeem(maker.make(event=3400), event=3400)["reason"], "unlisted-event")
        self.site.ask("event", "add", "3400-3401", "--gate", "front", "--audience", "shop", "--account", "--data")
        self.assertTrue(office.redeem(maker.make(event=3400), event=3400)["valid"])
        self.site.ask("event", "remove", "3400-3401")
        self.assertEqual(office.redeem(maker.make(event=3400), event=3400)["reason"], "unlisted-event")

    def test_a_next_key_does_not_count_as_handed_out_to_the_gate(self):
        service, office = self.start_service()
        _, maker = self.new_app(service)
        self.site.ask("gate", "rotate", "front", "account", "next")
        self.addCleanup(self.site.ask, "gate", "rotate", "front", "account", "drop")
        self.assertTrue(office.redeem(maker.make())["valid"])
        code, _, problem = self.site.run("gate", "rotate", "front", "account", "promote")
        self.assertEqual(code, 1)
        self.assertIn("never handed out", problem)

    def in_the_database(self):
        """A process of the service whose used tokens stand in its database."""
        place = self.options.index("--event-replay") + 1
        return self.start_service(*self.options[:place], "database", *self.options[place + 1:])

    def test_processes_that_share_the_services_database_count_together(self):
        (service, office), (other, desk) = self.in_the_database(), self.in_the_database()
        # Both know the installation, each by a gate token of its own.
        (_, first), (_, second) = self.new_app(service), self.fetch(other)
        # The app's clock is ahead by the life of a token.
        next_second()
        self.assertEqual(office.redeem(first.make())["reason"], "before-start")
        questions = [(asker, maker.make(ahead=60)) for asker, maker in ((office, first), (desk, second))
                     for _ in range(20)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            pairs = [[pool.submit(asker.redeem, token) for _ in "ab"] for asker, token in questions]
            for pair in pairs:
                said = [future.result() for future in pair]
                self.assertEqual(sorted(one["valid"] for one in said), [False, True], said)
        said = office.redeem(first.make(ahead=60), key="order 1")
        self.assertEqual((said["valid"], said["counts"]["eventsOfDevice"]["day"]), (True, 41), said)
        # The counts are there for a process that is started after a kill.
        service.end(signal.SIGKILL)
        other.end(signal.SIGKILL)
        service, office = self.in_the_database()
        _, newer = self.fetch(service)
        next_second()
        self.assertEqual(office.redeem(newer.make(ahead=60))["counts"]["eventsOfDevice"]["day"], 42)
        self.assertEqual(office.post("/v1/forget", {"account": ACCOUNT})[0], 200)
        # The account's own tables are as they were.
        self.assertEqual([gate["name"] for gate in self.site.ask("gate", "list")], ["front"])

    def test_a_gate_has_no_database(self):
        process = GateProcess.__new__(GateProcess)
        with self.assertRaisesRegex(AssertionError, "--event-replay database is for proof-service"):
            line = self.line.replace("--event-replay state/events", "--event-replay database")
            process.__init__(self.site, line, [0])
        process.end()

    def curl(self, url, *options):
        """Exit status and output of a question about events."""
        done = subprocess.run(
            ["curl", "--silent", "--noproxy", "*", "--max-time", str(PATIENCE), "--header",
             f"Authorization: Bearer {self.credential}", "--data", '{"event":3300,"token":"A"}', *options, url],
            capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
        return done.returncode, done.stdout

    def test_the_listener_has_tls_and_takes_no_plain_questions(self):
        folder = str(self.site.folder)
        certificates.make_authority(folder, "other")
        certificates.make_leaf(folder, "events", "authority", "IP:127.0.0.1", 2)
        os.chmod(self.site.path("events.key"), 0o600)
        files = ("--certificate", self.site.path("events.pem"), "--private-key", self.site.path("events.key"))
        service, _ = self.start_service(transport=files)
        place, good = f"127.0.0.1:{service.events}/v1/event", ("--cacert", self.site.path("authority.pem"))
        code, text = self.curl(f"https://{place}", *good)
        self.assertEqual((code, json.loads(text)["reason"]), (0, "needs-account"))
        bad = ("--cacert", self.site.path("other.pem"))
        self.assertEqual(self.curl(f"https://{place}", *bad), (60, ""), "another authority's certificate")
        self.assertEqual(self.curl(f"https://{place}", *good, "--tls-max", "1.1")[0], 35)
        code, text = self.curl(f"http://{place}")
        self.assertNotEqual(code, 0)
        self.assertEqual(text, "")
        # A new certificate counts from SIGHUP on.
        certificates.make_leaf(folder, "events", "other", "IP:127.0.0.1", 2)
        os.chmod(self.site.path("events.key"), 0o600)
        service.process.send_signal(signal.SIGHUP)
        service.wait(lambda line: line["event"] == "certificate renewed")
        self.assertEqual(self.curl(f"https://{place}", *good), (60, ""))
        self.assertEqual(self.curl(f"https://{place}", *bad)[0], 0)
        service.end()
        self.assertEqual(json.dumps(service.lines).count("event judged"), 2)

    def test_plain_questions_stay_on_this_machine(self):
        options = " ".join(self.options).replace("--events 127.0.0.1:0", "--events 0.0.0.0:0").split()
        ended = subprocess.run(
            [BIN / "proof-service", "--store", self.site.store, "--listen", "127.0.0.1:0", "--plain", *options],
            cwd=self.site.folder, env=self.site.environment, capture_output=True, text=True, timeout=PATIENCE,
            check=False)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("--events on 0.0.0.0 would show credentials to the network", ended.stderr)

    def test_a_service_without_the_options_redeems_nothing(self):
        service = ServiceProcess(self.site)
        self.addCleanup(service.end)
        self.assertIsNone(service.events)
        port = int(service.url.rsplit(":", 1)[1])
        self.assertEqual(Asker(port, self.credential).post("/v1/event", {})[0], 404)
        for options in (["--event-gate", "front"], ["--event-rate", "1"]):
            ended = subprocess.run(
                [BIN / "proof-service", "--store", self.site.store, "--plain", *options], env=self.site.environment,
                capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn(f"{options[0]} goes with --events", ended.stderr)

    def test_both_killed_under_load_no_token_counts_twice_and_no_count_is_lost(self):
        service, office = self.start_service()
        gate, door = self.start_gate()
        prover, maker = self.new_app(service)
        admit(prover, gate)
        yes, tokens = {}, []
        lock = threading.Lock()

        def redeem(asker, token, victim):
            try:
                said = asker.redeem(token)
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                return
            with lock:
                yes[token] = yes.get(token, 0) + said["valid"]
                # The other threads have questions in flight now, and most of the tokens come later.
                if len(yes) == 10:
                    victim.process.kill()

        for victim in (gate, service):
            batch = [maker.restart().make() for _ in range(60)]
            tokens += batch
            before, yes = yes, {}
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                ends = [pool.submit(redeem, asker, token, victim) for token in batch for asker in (office, door)]
            self.assertEqual(victim.end(signal.SIGKILL), -signal.SIGKILL)
            for end in ends:
                end.result()
            yes = before | yes
            if victim is gate:
                gate, door = self.start_gate()
                admit(prover, gate)
        service, office = self.start_service()
        _, newer = self.fetch(service)
        for token in tokens:
            self.assertLessEqual(yes.get(token, 0), 1)
            said = door.redeem(token)
            if yes.get(token):
                self.assertEqual(said["reason"], "replayed", "an acknowledged redemption was lost")
            self.assertIn(said.get("reason", "valid"), ("valid", "replayed"))
        # Each token has counted once, whether its answer arrived or not.
        self.assertEqual(office.redeem(newer.make())["counts"]["eventsOfDevice"]["day"], len(tokens) + 1)


if __name__ == "__main__":
    unittest.main()
