# SPDX-License-Identifier: Apache-2.0

"""The page of challenges behind Caddy and HAProxy, with the lines of docs/GATE.md."""

import json
import unittest

from parties import block, start_caddy, start_haproxy, stop_caddy, stop_haproxy
from ports import free_port
from site_of_gate import FOLDER, PageSite


class Proxied:
    """The properties that hold behind each proxy."""

    @classmethod
    def setUpClass(cls):
        cls.site = PageSite(*cls.options, start_proxy=cls.start_proxy, stop_proxy=cls.stop_proxy)
        cls.addClassCleanup(cls.site.close)

    def test_the_page_and_its_answers_come_through(self):
        challenge = self.site.challenge("person")
        status, fields, body = self.site.send(self.site.page("person", challenge)[len(self.site.origin):])
        self.assertEqual((status, fields["Content-Type"]), (200, "text/html; charset=utf-8"))
        self.assertIn("frame-ancestors 'none'", fields["Content-Security-Policy"])
        self.assertIn(challenge, body.decode())
        asked = {"challenge": challenge, "method": "GET", "target": f"{FOLDER}challenges/person"}
        status, _, body = self.site.send(f"{FOLDER}answer", asked | {"answer": "slider 1 x"})
        self.assertEqual((status, json.loads(body)["code"]), (400, "8002"))
        status, _, _ = self.site.send(f"{FOLDER}answer", asked | {"answer": "x"}, [("Origin", "https://evil.example")])
        self.assertEqual(status, 403)

    def test_a_client_does_not_name_its_host_or_address(self):
        challenge = self.site.challenge("person")
        address = self.site.page("person", challenge)[len(self.site.origin):]
        for name, value in (("X-Original-Host", "evil.example"), ("X-Forwarded-Host", "evil.example"),
                            ("X-Original-Scheme", "http"), ("X-Forwarded-Proto", "http"),
                            ("X-Forwarded-For", "192.0.2.9"), ("X_Original_Host", "evil.example")):
            status, _, body = self.site.send(address, fields=[(name, value)])
            # The request is refused, or judged by what the proxy has seen.
            self.assertTrue(status == 400 and b"proxy" in body or status == 200, (name, status, body[:99]))
            self.assertNotIn(b"evil.example", body)

    def test_a_body_beyond_the_bound_is_refused(self):
        status, _, _ = self.site.send(f"{FOLDER}answer", {"challenge": "x" * 20_000})
        self.assertIn(status, (400, 413))


class Caddy(Proxied, unittest.TestCase):
    options = ("--proxy", "x-forwarded")

    @classmethod
    def start_proxy(cls, site):
        lines = block("Caddy", "caddy", 1).replace("127.0.0.1:9080", f"127.0.0.1:{site.gate_port}")
        cls.admin = f"127.0.0.1:{free_port()}"
        site.write("Caddyfile", f"{{\n admin {cls.admin}\n auto_https disable_redirects\n}}\n"
                   f"localhost:{site.tls_port} {{\n bind 127.0.0.1\n"
                   f" tls {site.path('leaf.pem')} {site.path('leaf.key')}\n{lines}\n respond 404\n}}\n")
        start_caddy(site.folder)

    @classmethod
    def stop_proxy(cls, site):
        stop_caddy(site.folder, cls.admin)


class HAProxy(Proxied, unittest.TestCase):
    options = ()

    @staticmethod
    def start_proxy(site):
        lines = block("HAProxy", "haproxy", 1).replace("127.0.0.1:9080", f"127.0.0.1:{site.gate_port}")
        use, backend = lines.split("\nbackend ", 1)
        site.write("both.pem", "".join((site.folder / name).read_text() for name in ("leaf.pem", "leaf.key")))
        site.write("haproxy.cfg", f"""defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend clients
    bind 127.0.0.1:{site.tls_port} ssl crt {site.path('both.pem')} alpn h2,http/1.1
{use}
    http-request deny deny_status 404 unless {{ path_beg {FOLDER} }}
backend {backend}
""")
        start_haproxy(site.folder)

    @staticmethod
    def stop_proxy(site):
        stop_haproxy(site.folder)
