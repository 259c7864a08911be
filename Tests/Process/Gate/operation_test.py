#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Operations of a gate: rate limits, shares of clients, emergency tokens, other listeners, bodies at the
gate, and a proxy that asks twice."""

import http.client
import os
import pathlib
import signal
import socket
import ssl
import stat
import subprocess
import unittest

from gate_site import GateProcess, Site
from parties import HOST, PATIENCE, Client, block, start_nginx, stop_nginx
from ports import free_port
import certificates

RULES = """
route limited
  path /limited
  need none
  limit address 3/hour
route instance
  path /instance
  need proof
  young none
  limit instance 2/hour
  limit address 100/hour
route stepped
  path /stepped
  need none
  limit address 1/hour then work 8
route share
  path /share
  need proof
  young none
  rollout 0
route body
  path /body
  methods POST
  need proof
  young none
  body gate
route rest
  path /*
  need proof
  young none
"""
NGINX = """
user root; worker_processes 1; pid PLACE/nginx.pid; error_log PLACE/nginx.log; events {}
http { access_log off; client_body_temp_path PLACE/t; proxy_temp_path PLACE/t; fastcgi_temp_path PLACE/t;
  uwsgi_temp_path PLACE/t; scgi_temp_path PLACE/t;
  server {
    listen 127.0.0.1:PORT ssl; ssl_certificate PLACE/leaf.pem; ssl_certificate_key PLACE/leaf.key;
    auth_request /proof-gate;
    location / { try_files /none @api; }
    location @api { return_later; }
    location = /proof-gate {
      internal; proxy_pass http://unix:PLACE/own/socket:/judge; proxy_pass_request_body off; proxy_http_version 1.1;
      proxy_set_header Connection ""; proxy_set_header Content-Length "";
      proxy_set_header X-Original-Method $request_method; proxy_set_header X-Original-URI $request_uri;
      proxy_set_header X-Original-Host $http_host; proxy_set_header X-Original-Scheme $scheme;
      proxy_set_header X-Original-Content-Length $content_length;
      proxy_set_header X-Original-Transfer-Encoding $http_transfer_encoding;
      proxy_set_header X-Original-Request-ID $request_id;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header Proof-Route "";
    }
  }
  server { listen 127.0.0.1:API; return 200 "{}"; }
}
"""


class Operation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Site()
        cls.addClassCleanup(cls.site.close)
        cls.line = cls.site.prepared()
        cls.site.write("routes", RULES)
        cls.prover = cls.site.prover

    def start(self, *options):
        gate = GateProcess(self.site, self.line, [0], *options)
        self.addCleanup(lambda: gate.process.poll() is None and gate.end())
        return gate

    def ask(self, gate, method, target, fields=(), address="192.0.2.1", body=None, told=None, connection=None):
        """Status for the client and fields of the gate's answer to a question."""
        connection = connection or http.client.HTTPConnection("127.0.0.1", gate.port, timeout=PATIENCE)
        connection.putrequest("GET" if body is None else "POST", "/judge", skip_accept_encoding=True)
        lines = [("X-Original-Method", method), ("X-Original-URI", target), ("X-Original-Host", HOST),
                 ("X-Original-Scheme", "https"), ("X-Forwarded-For", address), *fields]
        if body is not None:
            lines += [("Content-Length", str(len(body))),
                      ("X-Original-Content-Length", str(len(body) if told is None else told))]
        for name, value in lines:
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return int(answer.headers.get("Proof-Status", answer.status)), answer.headers

    def test_rates_count_by_address_and_installation(self):
        gate = self.start()
        found = [self.ask(gate, "GET", "/limited")[0] for _ in range(5)]
        self.assertEqual(found, [200, 200, 200, 429, 429])
        status, fields = self.ask(gate, "GET", "/limited")
        self.assertTrue(1 <= int(fields["Retry-After"]) <= 1201, dict(fields))
        self.assertEqual(self.ask(gate, "GET", "/limited", address="192.0.2.2")[0], 200)
        six = [self.ask(gate, "GET", "/limited", address=f"2001:db8::{number}")[0] for number in range(1, 5)]
        self.assertEqual(six, [200, 200, 200, 429], "an IPv6 client has 64 bits of addresses")
        found = [self.ask(gate, "GET", "/instance", self.prover.prove("GET", "/instance"), f"192.0.2.{number}")[0]
                 for number in range(4)]
        self.assertEqual(found, [200, 200, 429, 429])
        # Requests without a proof cost the installation nothing, and a reading of the files leaves the counts.
        gate.hang_up()
        self.assertEqual(self.ask(gate, "GET", "/limited")[0], 429)
        self.assertIn('result="limit-address"', gate.get("/metrics"))

    def test_a_rate_may_ask_for_work(self):
        gate = self.start()
        self.assertEqual(self.ask(gate, "GET", "/stepped")[0], 200)
        status, fields = self.ask(gate, "GET", "/stepped")
        self.assertEqual((status, len(fields["Proof-Challenge"])), (428, 80))

    def test_outside_its_share_a_rule_only_watches(self):
        gate = self.start()
        self.assertEqual(self.ask(gate, "POST", "/share")[0], 200)
        line = gate.wait(lambda line: line.get("route") == "share")
        self.assertEqual((line["watched"], line["status"]), ("yes", 200))

    def test_an_emergency_token_passes_until_its_line_is_gone(self):
        draw = [f"{os.environ['PROOF_BIN']}/proof-gate", "bypass", "--file", self.site.path("bypass"),
                "--seconds", "60"]
        token = subprocess.run([*draw, "on-call"], check=True, capture_output=True, text=True,
                               timeout=PATIENCE).stdout.strip()
        kept = pathlib.Path(self.site.path("bypass"))
        self.assertEqual(stat.S_IMODE(kept.stat().st_mode), 0o600)
        self.assertNotIn(token, kept.read_text())
        plain = self.start()
        self.assertEqual(self.ask(plain, "POST", "/orders", [("Proof-Bypass", token)])[0], 403)
        plain.end()
        gate = self.start("--bypass-file bypass")
        status, fields = self.ask(gate, "POST", "/orders", [("Proof-Bypass", token)])
        self.assertEqual(status, 200)
        line = gate.wait(lambda line: line.get("result") == "bypass")
        self.assertIn("on-call", line["reason"])
        self.assertIn('result="bypass"', gate.get("/metrics"))
        self.assertFalse([line for line in gate.lines if token in str(line)])
        for wrong in (token[:-1], token + "A", ""):
            self.assertEqual(self.ask(gate, "POST", "/orders", [("Proof-Bypass", wrong)])[0], 403)
        self.assertEqual(self.ask(gate, "POST", "/orders", [("Proof-Bypass", token)] * 2)[0], 403)
        kept.write_text("# nothing\n")
        gate.hang_up()
        self.assertEqual(self.ask(gate, "POST", "/orders", [("Proof-Bypass", token)])[0], 403)

    def test_a_body_that_the_proxy_hands_over_is_judged(self):
        gate = self.start()

        def proof(body):
            return self.prover.prove("POST", "/body", body)
        self.assertEqual(self.ask(gate, "POST", "/body", proof(b"one"), body=b"one")[0], 200)
        self.assertEqual(self.ask(gate, "POST", "/body", proof(b"one"), body=b"two")[0], 401)
        self.assertEqual(self.ask(gate, "POST", "/body", proof(b"one"), body=b"on", told=3)[0], 403, "cut off")
        self.assertEqual(self.ask(gate, "POST", "/body", [*proof(b"one"), ("X-Original-Content-Length", "3")])[0], 403,
                         "not handed over")
        chunked = [*proof(b"one"), ("X-Original-Transfer-Encoding", "chunked")]
        self.assertEqual(self.ask(gate, "POST", "/body", chunked, body=b"one")[0], 403)
        self.assertEqual(self.ask(gate, "POST", "/body", proof(b""), body=b"")[0], 200)

    def test_the_exceptions_of_the_page_are_rules(self):
        shipped = block("Rules", "text", 2)
        self.assertIn("route acme", shipped)
        self.site.write("exceptions", shipped + "\n" + block("Rules", "text", 1) + RULES)
        gate = GateProcess(self.site, self.line.replace("--routes routes", "--routes exceptions"), [0])
        self.addCleanup(lambda: gate.process.poll() is None and gate.end())
        for method, target, status in (("GET", "/health", 200), ("POST", "/health", 401),
                                       ("GET", "/.well-known/acme-challenge/x", 200), ("GET", "/static/a.css", 200),
                                       ("POST", "/webhooks/pay", 200), ("GET", "/search", 401)):
            self.assertEqual(self.ask(gate, method, target)[0], status, target)

    def test_caddy_hands_no_body_over(self):
        with self.assertRaisesRegex(AssertionError, "body gate, and Caddy"):
            self.start("--proxy x-forwarded")
        done = subprocess.run(
            [f"{os.environ['PROOF_BIN']}/proof-gate", "check", "--nginx", self.site.write("n.conf", "events {}"),
             "--routes", self.site.path("routes"), "--allow", "no-question"],
            capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertIn("body-gate: route body", done.stdout)

    # Listeners

    def local(self):
        folder = pathlib.Path(self.site.path("own"))
        folder.mkdir(mode=0o755, exist_ok=True)
        folder.chmod(0o755)
        return folder

    def unix(self, path):
        connection = http.client.HTTPConnection("gate")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(PATIENCE)
        connection.sock.connect(str(path))
        return connection

    def test_a_unix_socket_has_the_mode_and_a_folder_that_others_cannot_write(self):
        folder = self.local()
        line = self.line.replace("127.0.0.1:9080", f"unix:{folder}/socket")

        def start(*options):
            return GateProcess(self.site, line, [0], *options)
        gate = start("--socket-mode 600")
        self.assertEqual(stat.S_IMODE((folder / "socket").stat().st_mode), 0o600)
        fields = self.prover.prove("POST", "/orders", b"x")
        status, _ = self.ask(gate, "POST", "/orders", fields, connection=self.unix(folder / "socket"))
        self.assertEqual(status, 200, "a client of the socket counts as the proxy")
        found = [self.ask(gate, "GET", "/limited", connection=self.unix(folder / "socket"))[0] for _ in range(4)]
        self.assertEqual(found, [200, 200, 200, 429], "the proxy tells the client's address")
        # A second gate does not take the socket away; one that was killed leaves a socket that can be replaced.
        with self.assertRaisesRegex(AssertionError, "cannot listen on unix:"):
            start()
        gate.end(signal.SIGKILL)
        self.assertTrue((folder / "socket").is_socket())
        gate = start()
        self.assertEqual(stat.S_IMODE((folder / "socket").stat().st_mode), 0o660)
        self.assertEqual(gate.end(), 0)
        self.assertFalse((folder / "socket").exists())
        folder.chmod(0o775)
        with self.assertRaisesRegex(AssertionError, "only the owner may write"):
            start()
        folder.chmod(0o755)
        (folder / "socket").write_text("a file of another program")
        with self.assertRaisesRegex(AssertionError, "cannot listen on unix:"):
            start()
        (folder / "socket").unlink()
        with self.assertRaisesRegex(AssertionError, "600 to 770"):
            start("--socket-mode 666")

    def test_the_gate_listens_with_tls_and_renews_its_certificate(self):
        certificates.make_leaf(str(self.site.folder), "tls", "authority", "IP:127.0.0.1", 2)
        os.chmod(self.site.path("tls.key"), 0o600)
        gate = self.start("--certificate tls.pem --private-key tls.key")
        context = ssl.create_default_context(cafile=self.site.path("authority.pem"))

        def connection():
            return http.client.HTTPSConnection("127.0.0.1", gate.port, timeout=PATIENCE, context=context)
        status, _ = self.ask(gate, "GET", "/limited", address="192.0.2.77", connection=connection())
        self.assertEqual(status, 200)
        with self.assertRaises((http.client.HTTPException, OSError)):
            self.ask(gate, "GET", "/limited")
        certificates.make_leaf(str(self.site.folder), "tls", "authority", "IP:127.0.0.1", 2)
        os.chmod(self.site.path("tls.key"), 0o600)
        after = len(gate.lines)
        gate.hang_up()
        gate.wait(lambda line: line["event"] == "certificate renewed", after)
        self.assertEqual(self.ask(gate, "GET", "/limited", address="192.0.2.77", connection=connection())[0], 200)
        # The state stays on its own address.
        self.assertEqual(gate.get("/health"), "ok\n")

    # Second questions

    def test_a_proxy_that_asks_twice_gets_one_answer_and_a_client_does_not(self):
        folder, port, api = self.local(), free_port(), free_port()
        text = NGINX.replace("return_later;", f"proxy_pass http://127.0.0.1:{api};")
        for was, now in (("PLACE", str(self.site.folder)), ("PORT", str(port)), ("API", str(api))):
            text = text.replace(was, now)
        if os.getuid() != 0:
            text = text.replace("user root;", "")
        file = self.site.write("twice.conf", text)
        start_nginx(self.site.folder, file)
        self.addCleanup(stop_nginx, self.site.folder, file)
        line = self.line.replace("127.0.0.1:9080", f"unix:{folder}/socket")
        client = Client(port, self.site.path("authority.pem"))

        def send(fields, target="/orders"):
            return client.send("GET", target, fields)[0]
        gate = GateProcess(self.site, line, [0])
        self.assertEqual(send(self.prover.prove("GET", "/orders")), 401, "the second question is a replay")
        gate.end()
        gate = GateProcess(self.site, line, [0], "--request-ids")
        self.addCleanup(lambda: gate.process.poll() is None and gate.end())
        fields = self.prover.prove("GET", "/orders")
        self.assertEqual(send(fields), 200)
        line = gate.wait(lambda line: line.get("result") == "asked-again")
        self.assertEqual(line["route"], "rest")
        self.assertEqual(send(fields), 401, "the client's repetition has another id")
        own = ("X-Original-Request-ID", "0123456789abcdef0123456789abcdef")
        fields = [*self.prover.prove("GET", "/orders"), own]
        self.assertEqual(send(fields), 200)
        self.assertEqual(send(fields), 401, "a client that chooses the id has nothing of it")
        self.assertEqual(send(fields, "/orders2"), 401)
