#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""proof-gate beside nginx, Caddy and HAProxy."""

import os
import subprocess
import unittest
import urllib.error
import urllib.request

from gate_site import GateProcess
from parties import (HOST, PATIENCE, block, start_caddy, start_haproxy, start_nginx, stop_caddy,
                     stop_haproxy, stop_nginx)
from ports import free_port
from proxied import Proxied


class Nginx(Proxied, unittest.TestCase):
    heading = "nginx"
    tells_length = True
    hidden = 404
    options = ()

    @classmethod
    def start_proxy(cls, api):
        user = "user root;" if os.getuid() == 0 else ""
        folders = "".join(f"{name}_temp_path {cls.site.path('temporary')};" for name in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        cls.site.write("nginx.conf", f"{user} worker_processes 2; pid {cls.site.path('nginx.pid')};"
                       f" error_log {cls.site.path('nginx.log')}; events {{}}\n"
                       f"http {{ access_log off; {folders}\n{cls.page('nginx', api)} }}\n")
        start_nginx(cls.site.folder, cls.site.path("nginx.conf"))

    @classmethod
    def stop_proxy(cls):
        stop_nginx(cls.site.folder, cls.site.path("nginx.conf"))

    def test_a_dry_run_tells_the_rule_and_uses_nothing_up(self):
        line = block("A dry run").strip()
        fields = self.prover.prove("GET", "/orders/9")

        def write(fields):
            self.site.write("request.txt", "\r\n".join(
                ["GET /orders/9 HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in fields), "", ""]))
        write(fields)
        for _ in range(2):
            self.assertIn(f"route: orders\nstatus: 200\nreason: passed\napp: {self.prover.handle}\n",
                          self.run_line(line))
        self.passes("GET", "/orders/9", fields)
        write([])
        environment = self.site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", line], cwd=self.site.folder, env=environment, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stdout.splitlines()[:2]), (1, ["route: orders", "status: 401"]))

    def test_another_address_may_not_ask(self):
        gate = GateProcess(self.site, self.line.replace("state/replay", "memory"), [0], "--trusted-proxy 192.0.2.1")
        self.addCleanup(gate.end)
        with self.assertRaises(urllib.error.HTTPError) as raised:
            gate.get("/judge", gate.port)
        self.assertEqual(raised.exception.code, 403)
        raised.exception.close()

    def test_mode_watch_refuses_nothing_and_says_what_it_would_have_refused(self):
        gate = GateProcess(self.site, self.line.replace("state/replay", "memory"), [0], "--mode watch")
        self.addCleanup(lambda: self.assertEqual(gate.end(), 0, "SIGTERM ends it in order"))
        question = urllib.request.Request(f"http://127.0.0.1:{gate.port}/judge", headers={
            "X-Original-Method": "POST", "X-Original-URI": "/orders", "X-Original-Host": HOST,
            "X-Original-Scheme": "https"})
        with urllib.request.urlopen(question, timeout=PATIENCE) as answer:
            self.assertEqual(answer.status, 200)
            self.assertIsNotNone(answer.headers["Proof-Verdict"])
        line = gate.wait(lambda line: line["event"] == "judged")
        self.assertEqual((line["watched"], line["result"]), ("yes", "request-1"))


class Caddy(Proxied, unittest.TestCase):
    heading = "Caddy"
    tells_length = False
    hidden = 401
    options = ("--proxy x-forwarded",)
    gone = 502

    @classmethod
    def start_proxy(cls, api):
        site = cls.page("caddy", api).replace(f"{HOST}:127.0.0.1:{cls.port}", f"{HOST}:{cls.port}")
        cls.admin = f"127.0.0.1:{free_port()}"
        cls.site.write("Caddyfile", f"{{\n admin {cls.admin}\n auto_https disable_redirects\n}}\n{site}")
        start_caddy(cls.site.folder)

    @classmethod
    def stop_proxy(cls):
        stop_caddy(cls.site.folder, cls.admin)


class HAProxyLines:
    """HAProxy with the lines of the page."""

    heading = "HAProxy"
    options = ()

    @classmethod
    def lines(cls):
        return block(cls.heading, "haproxy")

    @classmethod
    def start_proxy(cls, api):
        names = {":443": f"127.0.0.1:{cls.port}", "127.0.0.1:9080": f"127.0.0.1:{cls.gate_port}",
                 "127.0.0.1:8080": f"127.0.0.1:{api}", "/etc/haproxy/api.pem": cls.site.path("both.pem"),
                 "/etc/haproxy/proof-gate.lua": cls.site.path("gate.lua")}
        for text, name in ((block(cls.heading, "lua"), "gate.lua"), (cls.lines(), "haproxy.cfg")):
            for was, now in names.items():
                text = text.replace(was, now)
            cls.site.write(name, text)
        cls.site.write("both.pem", "".join((cls.site.folder / name).read_text() for name in ("leaf.pem", "leaf.key")))
        start_haproxy(cls.site.folder)

    @classmethod
    def stop_proxy(cls):
        stop_haproxy(cls.site.folder)


class HAProxy(HAProxyLines, Proxied, unittest.TestCase):
    gone = 503
    tells_length = True
    hidden = 401
