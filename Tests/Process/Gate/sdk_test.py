#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""An app with the SDK behind nginx and proof-gate, over TLS: the app calls `perform` alone, and each challenge of the
gate is answered by the SDK."""

import http.server
import json
import os
import pathlib
import select
import ssl
import subprocess
import sys
import threading
import unittest

from parties import Api, Handler, PATIENCE, block, start_nginx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Page"))
from place import BIN  # noqa: E402
from site_of_gate import PageSite  # noqa: E402

RULES = "".join(f"route {name}\n  path /{name}\n{lines}" for name, lines in {
    "proof": "  need proof\n  young none\n",
    "work": "  need proof work 16\n  young none\n",
    "memory": "  need proof memory 1\n  young none\n",
    "token": "  need token\n  young none\n",
    "young": "  need proof\n  young work 12\n",
    "both": "  need proof work 8 memory 1\n  young work 10\n",
    "moved": "  need proof work 6\n  young none\n",
    "storm": "  need proof work 14 memory 1\n  young none\n",
    "steep": "  need proof work 19\n  young none\n",
}.items()) + "route rest\n  path /*\n  need proof\n"


class MovingApi(Handler):
    """An API with an open redirect."""

    def respond(self):
        if self.path != "/moved":
            super().respond()
            return
        self.server.seen.append((self.command, self.path, 302))
        self.send_response(302)
        self.send_header("Location", self.server.elsewhere)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = respond


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """An attacker's server with a certificate that the app trusts: it asks for everything."""

    def do_GET(self):
        self.server.seen.append(list(self.headers.items()))
        self.send_response(428)
        self.send_header("Proof-Challenge", self.server.challenge)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """The tests read `seen`."""


class SDKSite(PageSite):
    """An API behind a proxy, the gate, and apps with the SDK."""

    def __init__(self, *options, start_proxy=None, stop_proxy=None):
        super().__init__(*options, start_proxy=start_proxy or SDKSite.start_guarded, stop_proxy=stop_proxy)
        self.ask("sdk", "add", "--development")
        self.ask("policy", "set", "rejection=none", "device-rate=0", "address-rate=0", "first-fetch-rate=0")
        self.write("routes", RULES)
        self.restart_gate()
        self.apps = 0

    def start_api(self):
        """The API, with the keys of this gate's verdicts. Returns what a proxy's lines of the page become here."""
        subprocess.run(
            [BIN / "proof-gate", "verdict-key", "--configuration", self.path("front.jws"), "--fingerprint",
             self.fingerprint, "--own-secret", f"1:{self.path('state')}/own.key", "--output",
             self.path("verdict.keys"), self.host], check=True, timeout=PATIENCE)
        keys = [line.split() for line in (self.folder / "verdict.keys").read_text().splitlines()]
        self.api = Api({int(number): bytes.fromhex(key) for number, key in keys}, self.host, MovingApi)
        return {"127.0.0.1:9080": f"127.0.0.1:{self.gate_port}",
                "127.0.0.1:8080": f"127.0.0.1:{self.api.server_address[1]}",
                "/etc/ssl/api.pem": self.path("leaf.pem"), "/etc/ssl/private/api.key": self.path("leaf.key")}

    def start_guarded(self):
        text = replaced(block("nginx", "nginx"), {"443": f"127.0.0.1:{self.tls_port}"} | self.start_api())
        self.start_nginx_with(text)

    def start_nginx_with(self, text):
        """nginx with a server's lines, and those of the page of challenges."""
        text = text.rstrip().removesuffix("}") + block("nginx", "nginx", 1) + "}\n"
        folders = "".join(f"{name}_temp_path {self.path('temporary')};" for name in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;" if os.getuid() == 0 else ""
        self.write("nginx.conf", f"{user} worker_processes 2; pid {self.path('nginx.pid')};"
                   f" error_log {self.path('nginx.log')}; events {{}}\nhttp {{ access_log off; {folders}\n{text} }}\n")
        start_nginx(self.folder, self.path("nginx.conf"))

    def app(self):
        return App(self)

    def judgements(self):
        """Status and result of each question to the gate, in order."""
        return [(line["status"], line["result"]) for line in self.reasons() if "reference" in line]

    def close(self):
        super().close()
        self.api.close()


def replaced(text, names):
    """A text of the page with the addresses and files of this test."""
    for was, now in names.items():
        assert was in text, was
        text = text.replace(was, now)
    return text


class App:
    """An app of its own, started and admitted."""

    def __init__(self, site):
        site.apps += 1
        bundle, storage = site.folder / f"app-{site.apps}", site.folder / f"storage-{site.apps}"
        bundle.mkdir()
        storage.mkdir(mode=0o700)
        (bundle / "rules").write_text(f"app {site.apps}\n")
        config = site.ask("config", "show")["signed"]
        self.process = site.start(BIN / "gate-app", bundle, storage, site.path("authority.pem"), config, site.host)
        self.origin = site.origin
        line = self.line()
        assert line == "ready", line

    def line(self):
        """The next line of the app: one for each request."""
        assert select.select([self.process.stdout], [], [], PATIENCE)[0], "the app does not answer"
        line = self.process.stdout.readline().rstrip("\n")
        assert line, "the app died"
        return line

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.line()

    def send(self, method, path, *body):
        """Status, clearance and JSON of one call."""
        answer = self.ask("send", method, self.origin + path, *body)
        assert not answer.startswith("error"), answer
        status, clearance, text = answer.split(" ", 2)
        return int(status), clearance, json.loads(text) if text else None


class SDK(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = SDKSite()
        cls.addClassCleanup(cls.site.close)

    def setUp(self):
        self.app = self.site.app()
        self.addCleanup(lambda: (self.app.process.kill(), self.app.process.wait(timeout=PATIENCE)))

    def served(self, method, path, *body):
        """Clearance, and what the verdict says, of a call that the API has seen once."""
        before = len(self.site.api.seen)
        status, clearance, answer = self.app.send(method, path, *body)
        self.assertEqual((status, len(self.site.api.seen) - before), (200, 1), (path, answer))
        self.assertEqual(answer["body"], body[0] if body else "")
        return clearance, answer["said"]

    def test_each_kind_is_answered_within_one_call(self):
        clearance, said = self.served("GET", "/proof")
        self.assertEqual((clearance, said["pass"], said["rule"]), ("-", True, "proof"))
        for path, solved in (("/work", ["work"]), ("/memory", ["work", "memory"])):
            clearance, said = self.served("POST", path, "one-body")
            self.assertEqual((len(clearance), sorted(said["solved"])), (88, sorted(solved)))
            # The clearance serves the next call.
            self.assertEqual(self.served("POST", path, "another")[0], clearance)
        self.served("GET", "/token")

    def test_a_route_with_several_kinds_is_served_by_one_call(self):
        before = len(self.site.judgements())
        clearance, said = self.served("POST", "/both", "a-body")
        self.assertEqual((len(clearance), sorted(said["solved"])), (88, ["memory", "work"]))
        found = self.site.judgements()[before:]
        self.assertEqual([status for status, _ in found].count(428), 2, found)

    def test_a_young_app_pays_and_a_restarted_gate_gets_ticket_or_token(self):
        clearance, said = self.served("POST", "/young", "x")
        self.assertEqual((len(clearance), said["solved"]), (88, ["work"]))
        self.site.restart_gate()
        self.served("POST", "/young", "x")

    def test_an_app_at_an_address_of_bad_tokens_works_before_its_token_is_opened(self):
        prover, status = PageSite.app(self.site), 401
        self.site.restart_gate()
        while status == 401:
            fields = [*prover.prove("GET", "/proof", with_token=False), ("Proof-Token", prover.bad_token())]
            status, _, _ = self.site.send("/proof", fields=fields)
        before = len(self.site.judgements())
        self.served("GET", "/proof")
        self.assertIn((428, "busy"), self.site.judgements()[before:])

    def test_an_unknown_app_answers_a_challenge_of_kind_token(self):
        self.served("GET", "/token")
        self.site.restart_gate()
        self.served("GET", "/token")
        self.site.restart_gate()
        self.served("POST", "/both", "x")

    def test_named_challenges_are_answered_and_unknown_names_are_errors(self):
        for name in ("work", "memory"):
            text = self.app.ask("named", name)
            self.assertEqual(len(text), 88, text)
            self.assertEqual(self.app.ask("clearance"), text)
        self.assertIn("no challenge nothing", self.app.ask("named", "nothing"))
        self.assertIn("presenter", self.app.ask("named", "person"))

    def test_many_calls_at_once_are_all_served(self):
        self.assertEqual(self.app.ask("storm", "40", self.site.origin + "/storm"), "200:40")

    def test_work_beyond_the_apps_ceiling_is_an_error(self):
        self.assertIn("level 19", self.app.ask("send", "GET", self.site.origin + "/steep"))

    def test_a_redirect_carries_neither_proof_nor_clearance_away(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.site.path("leaf.pem"), self.site.path("leaf.key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        server.seen, server.challenge = [], self.site.challenge("work")
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            evil = f"https://localhost:{server.server_address[1]}/"
            self.site.api.elsewhere = evil
            status, clearance, _ = self.app.send("GET", "/moved")
            self.assertEqual((status, len(clearance)), (302, 88))
            self.assertIn("error", self.app.ask("send", "GET", evil))
            self.assertEqual(server.seen, [])
        finally:
            server.shutdown()
            server.server_close()
            thread.join(timeout=PATIENCE)


if __name__ == "__main__":
    unittest.main()
