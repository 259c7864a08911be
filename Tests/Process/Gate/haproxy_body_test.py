#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""HAProxy hands bodies over to proof-gate, with the lines of docs/GATE.md: its own Lua reads them."""

import base64
import hashlib
import os
import socket
import unittest

from gate_test import HAProxyLines
from parties import HOST, PATIENCE, block
from proxied import Behind

RULES = """
route orders
  path /orders/*
  methods GET POST
  need proof
  young none
  body gate
route rest
  path /*
  need proof
  young none
"""
QUESTION = "    http-request lua.proof_gate\n"
# The tests wait for a body that does not come.
WAIT = "wait-for-body time 10s"


class HAProxyBody(HAProxyLines, Behind, unittest.TestCase):
    @classmethod
    def lines(cls):
        text, more = super().lines(), block(cls.heading, "haproxy", 2)
        assert text.count(QUESTION) == 1 and more.count(WAIT) == 1, more
        return text.replace(QUESTION, more.replace(WAIT, "wait-for-body time 1s"))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.write("routes", RULES)
        cls.gate.hang_up()

    def post(self, body, sent=None, target="/orders"):
        """Status, class of the refusal and JSON of an answer to a proof of one body with another one."""
        sent = body if sent is None else sent
        status, fields, answer, seen = self.sent("POST", target, self.prover.prove("POST", target, body), sent)
        self.assertEqual(seen, 1 if status == 200 else 0)
        return status, fields["Proof-Refusal"], answer

    def test_a_body_that_the_proof_covers_passes_and_reaches_the_api(self):
        for body in (b"", b"x", b'{"cents":1200}', bytes(range(32, 127)) * 100):
            status, _, answer = self.post(body)
            self.assertEqual((status, answer["body"]), (200, body.decode()), len(body))
            self.assertTrue(answer["said"]["pass"])

    def test_bytes_of_any_value_are_handed_over(self):
        # The API answers only to the body that the verdict names.
        self.assertEqual(self.post(bytes(range(256)) * 8)[0], 200)

    def test_a_changed_body_is_refused_by_the_gate(self):
        for sent in (b'{"cents":1201}', b'{"cents":120}', b'{"cents":12000}', b""):
            self.assertEqual(self.post(b'{"cents":1200}', sent)[:2], (401, "proof"), sent)
        line = self.gate.wait(lambda line: line.get("result") == "request-17")
        self.assertEqual(line["route"], "orders")

    def test_a_body_beyond_the_buffer_is_refused_and_one_below_it_passes(self):
        for size, status in ((12_000, 200), (16_384, 403), (100_000, 403)):
            found, kind, _ = self.post(b"x" * size)
            self.assertEqual((found, kind), (status, None if status == 200 else "refused"), size)

    def test_elsewhere_a_body_of_any_length_passes_and_the_api_compares_it(self):
        body = b"x" * 100_000
        self.assertEqual(self.post(body, target="/other")[0], 200)
        fields = self.prover.prove("POST", "/other", body)
        self.assertEqual(self.sent("POST", "/other", fields, b"y" * 100_000)[0], 418)

    def raw(self, *parts):
        """The first line of the answer to bytes that are sent as they are."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as plain:
            with self.client.context.wrap_socket(plain, server_hostname=HOST) as tls:
                tls.sendall(b"".join(parts))
                return tls.makefile("rb").readline().decode()

    def head(self, body, *fields):
        proved = self.prover.prove("POST", "/orders", body)
        lines = ["POST /orders HTTP/1.1", f"Host: {HOST}", "Connection: close", *fields]
        return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in proved), "", ""]).encode()

    def test_a_chunked_body_is_refused(self):
        before = len(self.api.seen)
        answer = self.raw(self.head(b"abc", "Transfer-Encoding: chunked"), b"3\r\nabc\r\n0\r\n\r\n")
        self.assertIn(" 403 ", answer)
        self.assertEqual(len(self.api.seen), before)

    def test_a_body_that_does_not_come_is_answered_by_haproxy(self):
        before = len(self.api.seen)
        self.assertIn(" 408 ", self.raw(self.head(b"abc", "Content-Length: 3"), b"a"))
        self.assertEqual(len(self.api.seen), before)

    def test_a_client_names_no_digest_of_its_own(self):
        digest = base64.b64encode(hashlib.sha256(b"two").digest()).decode()
        fields = self.prover.prove("POST", "/orders", b"one")
        for own in (("Content-Digest", f"sha-256=:{digest}:"), ("X-Original-Content-Length", "3")):
            status, _, _, seen = self.sent("POST", "/orders", [*fields, own], b"two")
            self.assertIn(status, (401, 403), own)
            self.assertEqual(seen, 0, own)

    def test_over_http_2_a_body_is_handed_over(self):
        for proved, sent, status in ((b"one", b"one", "2 200"), (b"one", b"two", "2 401")):
            fields = self.prover.prove("POST", "/orders", proved)
            path = self.site.write(f"body-{os.getpid()}", sent.decode())
            self.assertEqual(self.curl("/orders", fields, "--header", "Content-Type:", "--data-binary",
                                       f"@{path}"), status)


if __name__ == "__main__":
    unittest.main()
