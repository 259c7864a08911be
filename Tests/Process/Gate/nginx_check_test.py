#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""`proof-gate check --nginx` finds each known mistake, in configurations that nginx itself takes."""

import os
import pathlib
import subprocess
import tempfile
import unittest

from parties import HOST, PATIENCE, block
import certificates

LOCATION = "    location / {\n"
GATE = "    location = /proof-gate {\n"
TIME = "        add_header Proof-Time $proof_time always;\n"
API = "        proxy_pass http://127.0.0.1:8080;\n"
REFUSAL = "    location = /proof-gate-refusal {\n"
NESTED = "        location /orders/ {\n"
VERDICT = "        proxy_set_header Proof-Verdict $proof_verdict;\n"
TICKET = "        add_header Proof-Ticket $proof_ticket always;\n"
REFUSAL_TICKET = TICKET + "    }\n"
TOLD = ("Method $request_method", "URI $request_uri", "Host $http_host", "Scheme $scheme",
        "Content-Length $content_length", "Transfer-Encoding $http_transfer_encoding")

# The kind of the finding, a text of the page, and the mistake in its place.
MISTAKES = [
    ("not-internal", "        internal;\n", ""),
    ("question-body", "        proxy_pass_request_body off;\n", ""),
    ("question-body", '        proxy_set_header Content-Length "";\n', ""),
    ("question-body", '        proxy_set_header Content-Length "";\n',
     "        proxy_set_header Content-Length $content_length;\n"),
    ("question-fields", GATE, GATE + "        proxy_pass_request_headers off;\n"),
    ("question-path", "http://proof_gate/judge", "http://proof_gate/"),
    ("question-path", "http://proof_gate/judge", "http://proof_gate"),
    ("no-endpoint", "auth_request /proof-gate;", "auth_request /gate-proof;"),
    ("no-question", "auth_request /proof-gate;", ""),
    ("cache", GATE, GATE + "        proxy_cache kept;\n"),
    ("cache", LOCATION, LOCATION + "        proxy_cache kept;\n"),
    ("cache", LOCATION, "    proxy_cache kept;\n" + LOCATION),
    ("satisfy", LOCATION, LOCATION + "        satisfy any; allow 127.0.0.1; deny all;\n"),
    ("satisfy", LOCATION, "    satisfy any;\n" + LOCATION),
    ("intercept", GATE, GATE + "        proxy_intercept_errors on;\n"),
    ("intercept", LOCATION, LOCATION + "        proxy_intercept_errors on; error_page 404 /else;\n"),
    *(("told", f"        proxy_set_header X-Original-{line};\n", "") for line in TOLD),
    ("told", "X-Original-URI $request_uri", "X-Original-URI $uri"),
    ("told", "X-Original-URI $request_uri", "X-Original-URI $http_x_original_uri"),
    ("told", "X-Original-Scheme $scheme", "X-Original-Scheme $http_x_forwarded_proto"),
    ("told", "X-Original-Method $request_method", "X-Original-Method GET"),
    ("told", "        proxy_set_header X-Forwarded-For $remote_addr;\n", ""),
    ("route", '        proxy_set_header Proof-Route "";\n', ""),
    ("route", 'Proof-Route "";', "Proof-Route $http_proof_route;"),
    ("verdict", VERDICT, ""),
    ("verdict", "Proof-Verdict $proof_verdict", "Proof-Verdict $http_proof_verdict"),
    ("verdict", "auth_request_set $proof_verdict $upstream_http_proof_verdict",
     "auth_request_set $proof_verdict $upstream_http_x_verdict"),
    ("verdict", API, NESTED + "            proxy_set_header X-Api 1;\n    " + API + "        }\n" + API),
    ("answer-field", TIME, ""),
    ("answer-field", TIME, TIME.replace(" always", "")),
    ("answer-field", TIME, "    " + TIME.replace("$proof_time", "$http_proof_time")),
    ("answer-field", API, NESTED + "            add_header X-Own 1;\n    " + API + "        }\n" + API),
    ("refusal", "        error_page 401 403 = /proof-gate-refusal;\n", ""),
    ("refusal", "error_page 401 403 = /", "error_page 401 403 /"),
    ("refusal", "error_page 401 403 = /", "error_page 401 = /"),
    ("refusal", REFUSAL + "        internal;\n", REFUSAL),
    ("refusal", "http://proof_gate/refusal", "http://proof_gate/judge"),
    ("refusal", "        proxy_set_header X-Proof-Challenge $proof_challenge;\n", ""),
    ("refusal", "X-Proof-Status $proof_status", "X-Proof-Status $http_x_proof_status"),
    ("refusal", "X-Original-Method $proof_method", "X-Original-Method $request_method"),
    ("refusal", REFUSAL_TICKET, "    }\n"),
    ("refusal", REFUSAL_TICKET, REFUSAL_TICKET.replace(" always", "")),
    ("refusal", REFUSAL_TICKET, REFUSAL_TICKET.replace("$proof_ticket", "$upstream_http_proof_ticket")),
    ("refusal", REFUSAL_TICKET, REFUSAL_TICKET.replace("$proof_ticket", "$http_proof_ticket")),
    ("answer-field", TICKET, ""),
    ("target", API, API.replace("8080;", "8080/;")),
    ("target", API, API.replace("8080;", "8080/api/;")),
    ("target", API, API.replace("8080;", "8080$uri;")),
    ("target", LOCATION, LOCATION + "        rewrite ^/old/(.*)$ /new/$1 break;\n"),
    ("target", LOCATION, "    rewrite ^/old/(.*)$ /new/$1;\n" + LOCATION),
    ("early", LOCATION, LOCATION + "        if ($http_x_debug = \"1\") { return 200 \"{}\"; }\n"),
    ("early", LOCATION, LOCATION + "        return 200;\n"),
    ("nested-off", API, API + "        location /health {\n            auth_request off;\n    " + API + "        }\n"),
    ("unguarded", GATE, "    location /internal/ {\n" + API + "    }\n" + GATE),
    ("unguarded", GATE, "    location @api {\n" + API + "    }\n" + GATE),
    ("buffer", GATE, GATE + "        proxy_buffer_size 1k;\n"),
    ("buffer", LOCATION, "    large_client_header_buffers 4 2k;\n" + LOCATION),
]

# Configurations without a mistake that look like one.
SOUND = [
    ("comments", LOCATION, LOCATION + "        # satisfy any; auth_request off;\n"),
    ("a quoted word", LOCATION, LOCATION + "        add_header_note;\n".replace(
        "add_header_note", 'set $note "satisfy any; } proxy_cache kept"')),
    ("the question above", LOCATION, "    auth_request /proof-gate;\n" + LOCATION),
    ("a literal scheme where all is TLS", "X-Original-Scheme $scheme", "X-Original-Scheme https"),
    ("a cache that is off", LOCATION, LOCATION + "        proxy_cache off;\n"),
    ("a redirect to TLS", "server {\n    listen 443",
     "server {\n    listen 80;\n    return 301 https://$host$request_uri;\n}\n\nserver {\n    listen 443"),
    ("a page of its own", GATE, "    location = /robots.txt {\n        return 200 \"\";\n    }\n" + GATE),
    ("the target as it is", API, API.replace("8080;", "8080$request_uri;")),
]


class NginxCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        certificates.make_authority(str(cls.folder), "authority")
        certificates.make_leaf(str(cls.folder), "leaf", "authority", f"DNS:{HOST}", 2)
        cls.page = block("nginx", "nginx").replace("/etc/ssl/api.pem", f"{cls.folder}/leaf.pem").replace(
            "/etc/ssl/private/api.key", f"{cls.folder}/leaf.key")

    def write(self, server, name="nginx.conf"):
        folders = "".join(f"{part}_temp_path {self.folder}/temporary;" for part in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (self.folder / "server.conf").write_text(server)
        (self.folder / name).write_text(
            f"pid {self.folder}/nginx.pid; error_log {self.folder}/nginx.log; events {{}}\n"
            f"http {{ access_log off; proxy_cache_path {self.folder}/kept keys_zone=kept:1m; {folders}\n"
            "include server.co*; }\n")
        return self.folder / name

    def is_taken(self, file):
        """Whether nginx takes the configuration."""
        done = subprocess.run(["/usr/sbin/nginx", "-t", "-p", self.folder, "-c", file], capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        return done.returncode == 0, done.stderr

    def check(self, file, *options):
        done = subprocess.run([f"{os.environ['PROOF_BIN']}/proof-gate", "check", "--nginx", file, *options],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        lines = done.stdout.splitlines()
        self.assertTrue(lines and lines[-1].endswith(" found"), done)
        self.assertEqual(done.returncode, 0 if len(lines) == 1 else 1)
        return [line.split(": ")[1] for line in lines[:-1]], done.stdout

    def planted(self, was, now):
        self.assertIn(was, self.page)
        return self.write(self.page.replace(was, now, 1))

    def test_the_lines_of_the_page_have_no_mistake(self):
        file = self.write(self.page)
        self.assertEqual(self.is_taken(file)[0], True)
        self.assertEqual(self.check(file)[0], [])

    def test_each_mistake_is_found_and_nginx_takes_it(self):
        for kind, was, now in MISTAKES:
            with self.subTest(kind=kind, now=now or f"without {was.strip()}"):
                file = self.planted(was, now)
                taken, words = self.is_taken(file)
                self.assertTrue(taken, words)
                found, text = self.check(file)
                self.assertEqual(set(found), {kind}, text)
                self.assertIn(f"{self.folder}/server.conf:" if kind != "no-question" else "", text)
                self.assertEqual(self.check(file, "--allow", kind)[0], [])

    def test_lines_that_look_like_a_mistake_are_none(self):
        for name, was, now in SOUND:
            with self.subTest(name):
                file = self.planted(was, now)
                self.assertTrue(self.is_taken(file)[0], self.is_taken(file)[1])
                self.assertEqual(self.check(file), ([], f"{file}: 0 found\n"))

    def test_a_file_that_nginx_refuses_has_its_line(self):
        for text, words in (("events {", "nginx.conf:1: the file ends inside a block"),
                            ("a 'b", "nginx.conf:1: a quote"), ("include none.conf;", "there is no file")):
            file = self.folder / "nginx.conf"
            file.write_text(text)
            self.assertFalse(self.is_taken(file)[0])
            done = subprocess.run([f"{os.environ['PROOF_BIN']}/proof-gate", "check", "--nginx", file],
                                  capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(words, done.stderr)
