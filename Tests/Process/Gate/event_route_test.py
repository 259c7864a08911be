#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Routes that need an event, behind nginx, Caddy and HAProxy with the lines of docs/GATE.md: apps with the SDK send
event tokens, and what an attacker makes of their requests is refused."""

import concurrent.futures
import http.client
import json
import pathlib
import signal
import subprocess
import threading
import unittest

from parties import PATIENCE, Client, block, start_caddy, start_haproxy, stop_caddy, stop_haproxy
from ports import free_port
from sdk_test import BIN, SDKSite, replaced

RULES = """
route pay
  path /pay/*
  need proof event 3300
  young none
route proof
  path /proof
  need proof
  young none
"""
TWICE = """
location /pay/twice { auth_request /proof-gate; try_files /none @twice; }
location @twice {
  auth_request /proof-gate; auth_request_set $twice $upstream_http_proof_verdict;
  proxy_pass http://API; proxy_set_header Host $http_host; proxy_set_header Proof-Verdict $twice;
}
"""


class EventSite(SDKSite):
    """A gate that redeems events, behind one of the proxies."""

    def __init__(self, case):
        super().__init__(*case.options, start_proxy=case.start_proxy, stop_proxy=case.stop_proxy)
        self.ask("event", "add", "3300-3310", "--gate", "front", "--audience", "shop")
        pathlib.Path(self.path("front.jws")).unlink()
        self.ask("gate", "configuration", "front", "--output", self.path("front.jws"))
        self.write("routes", RULES)
        drawn = subprocess.run(
            [BIN / "proof-gate", "event-credential", "--file", self.path("credentials"), "--seconds", "3600", "shop"],
            check=True, timeout=PATIENCE, capture_output=True, text=True)
        self.credential = drawn.stdout.strip()
        self.options = case.options
        self.restart()

    def restart(self):
        self.restart_gate(
            *self.options, "--events", "127.0.0.1:0", "--event-credentials", self.path("credentials"),
            "--event-replay", self.path("state") + "/events", replay=self.path("state") + "/replay")


class Events:
    """The properties that hold behind each proxy. A subclass starts and stops its proxy."""

    options = ()

    @classmethod
    def setUpClass(cls):
        cls.site = EventSite(cls)
        cls.addClassCleanup(cls.site.close)

    def setUp(self):
        self.apps = []
        self.addCleanup(lambda: [(app.process.kill(), app.process.wait(timeout=PATIENCE)) for app in self.apps])

    def app(self):
        """An app that the gate knows, and that knows the gate's time."""
        app = self.site.app()
        self.apps.append(app)
        self.assertEqual(app.send("GET", "/proof")[0], 200)
        return app

    def fields(self, app, path, body="order", data=None):
        """The fields of a request with an event token, which the app would send now."""
        line = app.ask("fields", "3300", "POST", self.site.origin + path, body, data or body)
        self.assertFalse(line.startswith("error"), line)
        return dict(field.split(":", 1) for field in line.split("\t"))

    def sent(self, path, fields, body="order"):
        """Status, JSON, and what the API served meanwhile, of a request that is sent as it is."""
        before = len(self.site.api.seen)
        client = Client(self.site.tls_port, self.site.path("authority.pem"), "localhost")
        status, _, answer = client.send("POST", path, fields.items(), body.encode(), self.site.host)
        served = [seen for seen in self.site.api.seen[before:] if seen[2] == 200]
        return status, answer, len(served)

    def logged(self, reference, *results):
        self.site.await_judgement(reference, *results)

    def refused(self, path, fields, result, status=403, or_else=None, **more):
        found, answer, served = self.sent(path, fields, **more)
        self.assertEqual((found, served), (status, 0), answer)
        self.logged(answer["reference"], result, or_else)

    def test_the_sdk_sends_an_event_in_one_call_and_the_api_learns_its_facts(self):
        app = self.site.app()
        self.apps.append(app)
        app.ask("user", "ada")
        # The app has never heard of the gate's time: the SDK learns it within the call.
        for number in (1, 2):
            answer = app.ask("event", "3300", "POST", self.site.origin + "/pay/1", "order")
            status, _, text = answer.split(" ", 2)
            self.assertEqual(status, "200", answer)
            event = json.loads(text)["said"]["event"]
            self.assertEqual((event["number"], event["anchored"], event["counts"]["eventsOfDevice"]["day"]),
                             (3300, True, number))
            self.assertEqual(event["risk"], {"level": "none", "reasons": []})
            self.assertRegex(event["account"], r"^1\.[A-Za-z0-9_-]{43}$")
        status, _, answer = app.send("POST", "/pay/1", "order")
        self.assertEqual(status, 403, "no event, no service")
        self.logged(answer["reference"], "event-missing")

    def test_a_request_passes_once_and_its_event_does_not_pass_with_another_proof(self):
        app = self.app()
        first = self.fields(app, "/pay/2")
        status, answer, served = self.sent("/pay/2", first)
        self.assertEqual((status, served, answer["said"]["event"]["number"]), (200, 1, 3300), answer)
        self.refused("/pay/2", first, "request-22", 401)
        again = self.fields(app, "/pay/2") | {"proof-event": first["proof-event"]}
        self.refused("/pay/2", again, "event-replayed")

    def test_an_event_of_another_app_is_refused_and_counts_for_its_own(self):
        app, other = self.app(), self.app()
        mine, theirs = self.fields(app, "/pay/3"), self.fields(other, "/pay/3")
        self.refused("/pay/3", mine | {"proof-event": theirs["proof-event"]}, "event-other-app")
        self.assertEqual(self.sent("/pay/3", theirs)[0], 200, "it was not used up")
        self.assertEqual(self.sent("/pay/3", self.fields(app, "/pay/3") | {"proof-event": mine["proof-event"]})[0], 200)

    def test_another_body_or_account_is_refused(self):
        app = self.app()
        # The gate redeems for the body that the proof covers; the API compares it with the one that came.
        status, answer, served = self.sent("/pay/4", self.fields(app, "/pay/4"), body="other")
        self.assertEqual((status, answer, served), (418, {"refused": "body"}, 0))
        self.refused("/pay/4", self.fields(app, "/pay/4", data="other"), "event-other-data")
        ada = app.ask("user", "ada") and self.fields(app, "/pay/4")
        eve = app.ask("user", "eve") and self.fields(app, "/pay/4")
        # The word is a guess by one byte of the account, which two accounts share once in 256 runs.
        self.refused("/pay/4", eve | {"proof-event": ada["proof-event"]}, "event-other-account", or_else="event-tag")
        self.refused("/pay/4", ada | {"proof-account": eve["proof-account"]}, "request-19", 401)
        self.assertEqual(self.sent("/pay/4", ada)[0], 200)

    def test_killed_in_the_window_no_event_counts_twice(self):
        app = self.app()
        paths = [f"/pay/kill-{number}" for number in range(24)]
        tokens = {path: self.fields(app, path) for path in paths}
        answered, killed, lock = [], threading.Event(), threading.Lock()

        def send(path):
            try:
                status = self.sent(path, tokens[path])[0]
            except (OSError, http.client.HTTPException):
                return
            with lock:
                answered.append((path, status))
                # The other threads have requests in flight now, and the rest comes later.
                if len(answered) == 8 and not killed.is_set():
                    killed.set()
                    self.site.gate.kill()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(send, paths))
        self.assertEqual(self.site.gate.wait(timeout=PATIENCE), -signal.SIGKILL)
        self.site.restart()
        self.assertEqual(app.send("GET", "/proof")[0], 200, "a ticket or the token brings the app back")
        passed = {path for path, status in answered if status == 200}
        self.assertTrue(8 <= len(passed) < len(paths), answered)
        for path in paths:
            status, _, _ = self.sent(path, tokens[path])
            self.assertIn(status, (401, 200), path)
            fields = self.fields(app, path) | {"proof-event": tokens[path]["proof-event"]}
            status, answer, _ = self.sent(path, fields)
            if status != 200:
                self.logged(answer["reference"], "event-replayed")
        served = [path for _, path, status in self.site.api.seen if status == 200 and path in tokens]
        self.assertEqual(len(served), len(set(served)), "an event reached the API twice")
        self.assertLessEqual(passed, set(served))
        # Each of the events has counted once.
        _, answer, _ = self.sent("/pay/5", self.fields(app, "/pay/5"))
        self.assertEqual(answer["said"]["event"]["counts"]["eventsOfDevice"]["day"], len(paths) + 1)


class Nginx(Events, unittest.TestCase):
    options = ("--request-ids",)
    stop_proxy = None

    @staticmethod
    def start_proxy(site):
        names = {"443": f"127.0.0.1:{site.tls_port}"} | site.start_api()
        text = block("nginx", "nginx").rstrip().removesuffix("}") + TWICE.replace("API", "127.0.0.1:8080") + "}\n"
        asked = "proxy_set_header X-Original-Method $request_method;"
        text = replaced(text, names).replace(
            asked, asked + " proxy_set_header X-Original-Request-ID $request_id;", 1)
        site.start_nginx_with(text)

    def test_a_proxy_that_asks_twice_redeems_once(self):
        app = self.app()
        status, answer, served = self.sent("/pay/twice", self.fields(app, "/pay/twice"))
        self.assertEqual((status, served), (200, 1), answer)
        self.logged(answer["said"]["id"], "asked-again")
        status, answer, _ = self.sent("/pay/twice", self.fields(app, "/pay/twice"))
        self.assertEqual(answer["said"]["event"]["counts"]["eventsOfDevice"]["day"], 2)

    def test_a_gate_that_redeems_nothing_does_not_start(self):
        line = [BIN / "proof-gate", "--configuration", "front.jws", "--fingerprint", self.site.fingerprint,
                "--gate-key", "gate.key", "--own-secret", "1:state/own.key", "--routes", "routes"]

        def run(*words):
            done = subprocess.run([*line, *words], cwd=self.site.folder, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False)
            return done.returncode, done.stderr
        code, words = run("--replay", "memory", "--listen", "127.0.0.1:0")
        self.assertEqual(code, 1)
        self.assertIn("route pay needs event 3300, and this gate redeems none: start it with --events", words)
        self.addCleanup(self.site.write, "routes", RULES)
        self.site.write("routes", RULES.replace("3300", "4000"))
        code, words = run("--replay", "memory", "--listen", "127.0.0.1:0", "--events", "127.0.0.1:0",
                          "--event-credentials", "credentials", "--event-replay", "memory")
        self.assertEqual(code, 1)
        self.assertIn("route pay needs event 4000, which the account does not list for the gate's audience: it lists"
                      " 3300-3310", words)

    def test_a_dry_run_uses_no_event_up(self):
        app = self.site.app()
        self.apps.append(app)
        first = self.fields(app, "/pay/6")
        token = first["proof-token"]
        app.send("GET", "/proof")
        fields = self.fields(app, "/pay/6")

        def check(fields):
            head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            self.site.write("request", f"POST /pay/6 HTTP/1.1\r\nHost: {self.site.host}\r\n{head}\r\n")
            done = subprocess.run(
                [BIN / "proof-gate", "check", "--configuration", "front.jws", "--fingerprint", self.site.fingerprint,
                 "--gate-key", "gate.key", "--own-secret", "1:state/own.key", "--routes", "routes", "request"],
                cwd=self.site.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
            return done.returncode, done.stdout
        for _ in range(2):
            code, text = check(fields | {"proof-token": token})
            self.assertEqual((code, text.splitlines()[:3]), (0, ["route: pay", "status: 200", "reason: passed"]))
        code, text = check(first)
        self.assertEqual((code, "no beacon" in text), (1, True), text)
        self.assertEqual(self.sent("/pay/6", fields)[0], 200)


class Caddy(Events, unittest.TestCase):
    options = ("--proxy", "x-forwarded")

    @classmethod
    def start_proxy(cls, site):
        cls.admin = f"127.0.0.1:{free_port()}"
        names = {"api.example.com:443": f"localhost:{site.tls_port}"} | site.start_api()
        text = replaced(block("Caddy", "caddy"), names)
        site.write("Caddyfile", f"{{\n admin {cls.admin}\n auto_https disable_redirects\n}}\n{text}")
        start_caddy(site.folder)

    @classmethod
    def stop_proxy(cls, site):
        stop_caddy(site.folder, cls.admin)


class HAProxy(Events, unittest.TestCase):
    @staticmethod
    def start_proxy(site):
        names = site.start_api()
        site.write("both.pem", "".join((site.folder / name).read_text() for name in ("leaf.pem", "leaf.key")))
        own = {"127.0.0.1:9080": names["127.0.0.1:9080"]}
        site.write("gate.lua", replaced(block("HAProxy", "lua"), own))
        site.write("haproxy.cfg", replaced(block("HAProxy", "haproxy"), {
            ":443": f"127.0.0.1:{site.tls_port}", "127.0.0.1:8080": names["127.0.0.1:8080"],
            "/etc/haproxy/api.pem": site.path("both.pem"), "/etc/haproxy/proof-gate.lua": site.path("gate.lua")}))
        start_haproxy(site.folder)

    @staticmethod
    def stop_proxy(site):
        stop_haproxy(site.folder)


if __name__ == "__main__":
    unittest.main()
