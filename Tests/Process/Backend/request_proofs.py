#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Requests and events judged in Python, against the vectors and against other people's implementations of RFC 9421.

The signer is `request-peer`, a real program with ProofRequest and ProofKitKeys in it.
"""

import base64
import datetime
import hashlib
import hmac
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import urllib.parse

import http_message_signatures as rfc9421
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from fastapi.testclient import TestClient
import httpx

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "Tests/Process/Backend/requests"))
sys.path.insert(0, str(ROOT / "Tests/Vectors"))
sys.path.insert(0, str(ROOT / "Tests/Support/Runner"))
import api  # noqa: E402
import compact_form  # noqa: E402
import digest_field  # noqa: E402
import runner  # noqa: E402
import standard_form  # noqa: E402
from proofspec import compact, gate  # noqa: E402

NOW = 1_800_000_000
KEY = bytes(range(32))
KEY_ID = "AQEBAQEBAQEBAQEBAQEBAQ"
HANDLE = bytes([1] * 16)
BODY = b'{"cents":1200}'
URL = "https://api.example.com/pay?to=7"
FIELDS = [["Content-Type", "application/json"], ["Authorization", "Bearer abc"]]
COVERED = ("@method", "@authority", "@path", "@query", "content-digest", "authorization", "content-type")


class HttpParser:
    """Reads a message for `httpsig`, whose own parser, a C extension, no longer builds."""

    def execute(self, message, _):
        head, _, self.body = message.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        self.method, target, _ = first.split(" ")
        self.url = urllib.parse.urlsplit(target)
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}

    def get_headers(self):
        return self.headers

    def get_status_code(self):
        return 0

    def get_method(self):
        return self.method

    def get_url(self):
        return self.url.geturl()

    def get_path(self):
        return self.url.path

    def get_query_string(self):
        return self.url.query

    def recv_body(self):
        return self.body


sys.modules["http_parser"] = types.ModuleType("http_parser")
sys.modules["http_parser.parser"] = types.SimpleNamespace(HttpParser=HttpParser)
import httpsig  # noqa: E402


def base_and_signature(fields, label, target="/pay?to=7", body=BODY):
    """The bytes to sign as `httpsig`, by an author of the RFC, computes them from the message, and the signature."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in [["host", "api.example.com"], *fields])
    parsed = httpsig.parse_components(f"POST {target} HTTP/1.1\r\n{lines}\r\n".encode() + body)
    ours = parsed["inputSignatures"][label]
    made = httpsig.generate_base(parsed, ours["coveredComponents"], ours["params"])
    return made["signatureInput"].encode(), base64.b64decode(ours["signature"].strip(":"))


class Peer:
    """The signer's process."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="proofkit-request-")
        self.process = subprocess.Popen(
            [f"{os.environ['PROOF_BIN']}/request-peer", f"{self.folder.name}/app"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def sign(self, method="POST", url=URL, body=BODY, fields=None, key=KEY, nonce="n0", created=NOW):
        return self.ask(method=method, url=url, fields=FIELDS if fields is None else fields, created=created,
                        nonce=nonce, keyid=KEY_ID, **({"key": key.hex()} if key else {}),
                        **({"body": body.hex()} if body is not None else {}))

    def refusal(self, request, key=KEY):
        return self.ask(method=request.method, url=str(request.url), key=key.hex(), verify=True,
                        fields=[list(field) for field in request.headers.items()])["refusal"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.folder.cleanup()


class Resolver(rfc9421.HTTPSignatureKeyResolver):
    def __init__(self, public=KEY, private=KEY):
        self.public, self.private = public, private

    def resolve_public_key(self, key_id):
        return self.public

    def resolve_private_key(self, key_id):
        return self.private


def request_of(fields, method="POST", url=URL, body=BODY):
    return httpx.Request(method, url, headers=[tuple(field) for field in fields], content=body)


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.peer = Peer()

    @classmethod
    def tearDownClass(cls):
        cls.peer.close()

    def verify(self, fields, method="POST", target="/pay?to=7", key=KEY, host="api.example.com"):
        return standard_form.verify(method, host, target, [tuple(one) for one in fields], lambda _: key)

    def test_our_request_is_verified_by_the_python_functions(self):
        fields = self.peer.sign()["fields"]
        proof = self.verify(fields)
        self.assertEqual(proof, standard_form.Proof(KEY_ID, NOW, "n0", hashlib.sha256(BODY).digest()))
        get = self.peer.sign("GET", "https://api.example.com/balance", None, [])["fields"]
        self.assertIsNone(self.verify(get, "GET", "/balance").body)

    def test_a_changed_request_is_refused_by_the_python_functions(self):
        fields = self.peer.sign()["fields"]
        changes = [dict(method="PUT"), dict(target="/pay?to=8"), dict(target="/pay"), dict(target="/Pay?to=7"),
                   dict(key=bytes(32)), dict(key=None), dict(host="evil.example.com"), dict(target="/pay?to=7#x"),
                   dict(target="//pay?to=7"), dict(target="/a/../pay?to=7"), dict(target="/pay?")]
        for change in changes:
            with self.subTest(change), self.assertRaises(standard_form.Refused):
                self.verify(fields, **change)
        for index, (name, value) in enumerate(fields):
            for mutant in (value + "x", value[:-1], "", f"{value}, {value}"):
                changed = [*fields[:index], [name, mutant], *fields[index + 1:]]
                with self.subTest(name=name, value=mutant), self.assertRaises(standard_form.Refused):
                    self.verify(changed)
            with self.subTest(twice=name), self.assertRaises(standard_form.Refused):
                self.verify([*fields, [name, value]])
            if name not in ("content-type", "authorization"):
                with self.subTest(without=name), self.assertRaises(standard_form.Refused):
                    self.verify(fields[:index] + fields[index + 1:])
        for added in (["X-HTTP-Method-Override", "DELETE"], ["Proof-Account", "1"], ["Host", "a"], ["Host", "b"]):
            with self.subTest(added=added), self.assertRaises(standard_form.Refused):
                self.verify([*fields, added, *([["Host", "c"]] if added[0] == "Host" else [])])

    def test_each_changed_bit_of_a_signature_is_refused(self):
        fields = self.peer.sign()["fields"]
        name, value = fields[-1]
        self.assertEqual(name, "signature")
        raw = base64.b64decode(value.split(":")[1])
        for bit in range(256):
            wrong = bytearray(raw)
            wrong[bit // 8] ^= 1 << bit % 8
            text = f"proofkit=:{base64.b64encode(wrong).decode()}:"
            with self.assertRaises(standard_form.Refused):
                self.verify([*fields[:-1], [name, text]])

    def test_our_request_is_verified_by_http_message_signatures(self):
        verifier = rfc9421.HTTPMessageVerifier(
            signature_algorithm=rfc9421.algorithms.HMAC_SHA256, key_resolver=Resolver())
        now = int(datetime.datetime.now().timestamp())
        for method, url, body, extra in [
                ("POST", URL, BODY, []), ("PUT", "https://api.example.com/a%20b?x=%2F&y=", b"", []),
                ("GET", "https://api.example.com/balance", None, [["X-Other", "1"]])]:
            fields = self.peer.sign(method, url, body, FIELDS + extra, created=now)["fields"]
            request = request_of(fields, method, url, body or b"")
            results = verifier.verify(request, expect_tag="proofkit")
            self.assertEqual(len(results), 1)
            self.assertEqual(results[0].parameters["keyid"], KEY_ID)
            request = request_of(fields, method, url + "x", body or b"")
            with self.assertRaises(rfc9421.InvalidSignature):
                verifier.verify(request, expect_tag="proofkit")

    def test_a_request_signed_by_http_message_signatures_is_verified_by_ours(self):
        signer = rfc9421.HTTPMessageSigner(
            signature_algorithm=rfc9421.algorithms.HMAC_SHA256, key_resolver=Resolver())
        request = request_of(FIELDS)

        def sign(request, covered=COVERED, tag="proofkit"):
            signer.sign(request, key_id=KEY_ID, nonce="n1", tag=tag, label="theirs", covered_component_ids=covered,
                        body=BODY)
            return request

        self.assertEqual(self.peer.refusal(sign(request)), -1)
        self.assertEqual(self.peer.refusal(request, bytes(32)), 19)
        self.assertEqual(self.verify(list(request.headers.items())).nonce, "n1")
        fresh = request_of(FIELDS)
        self.assertEqual(self.peer.refusal(sign(fresh, COVERED[:-1])), 9)
        fresh = request_of(FIELDS)
        self.assertEqual(self.peer.refusal(sign(fresh, tag="other")), 1)

    def test_another_author_computes_the_same_bytes_to_sign(self):
        fields = self.peer.sign()["fields"]
        base, signature = base_and_signature(fields, "proofkit")
        self.assertEqual(hmac.new(KEY, base, hashlib.sha256).digest(), signature)
        base, signature = base_and_signature(fields, "proofkit", "/pay?to=8")
        self.assertNotEqual(hmac.new(KEY, base, hashlib.sha256).digest(), signature)

    def test_the_installations_key_is_verified_by_two_other_implementations(self):
        now = int(datetime.datetime.now().timestamp())
        answer = self.peer.sign(key=None, created=now)
        point = bytes.fromhex(answer["point"])
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\4" + point)
        verifier = rfc9421.HTTPMessageVerifier(
            signature_algorithm=rfc9421.algorithms.ECDSA_P256_SHA256, key_resolver=Resolver(public))
        self.assertEqual(len(verifier.verify(request_of(answer["fields"]), expect_tag="proofkit-key")), 1)

        def check(target):
            base, signature = base_and_signature(answer["fields"], "proofkit-key", target)
            r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
            public.verify(utils.encode_dss_signature(r, s), base, ec.ECDSA(hashes.SHA256()))

        check("/pay?to=7")
        with self.assertRaises(InvalidSignature):
            check("/pay?to=8")


class Tokens(unittest.TestCase):
    def test_the_vectors_of_compact_tokens_valid_and_hostile(self):
        path = ROOT / "Tests/Vectors/proofkit_compact_test.json"
        tests = json.loads(path.read_text())["testGroups"][0]["tests"]
        for test in tests:
            with self.subTest(test["comment"], tcId=test["tcId"]):
                self.assertEqual(judged(test), int(str(test["refusal"]).replace("none", "0")))
        self.assertGreater(len(tests), 180)

    def test_the_functions_stay_small(self):
        for name in ("standard_form", "compact_form", "digest_field"):
            text = (ROOT / f"Tests/Process/Backend/requests/{name}.py").read_text()
            self.assertLess(sum(bool(line.strip()) for line in text.splitlines()), 100, name)


class DigestField(unittest.TestCase):
    """A request whose digest travels in a header field of its own."""

    def setUp(self):
        secret = bytes(range(32))
        self.keys = keys_of(secret, 1, compact_form.REQUEST)
        self.digest, self.body = self.digests("/pay?to=7", BODY)
        fields = compact.Fields(NOW, 0, 7, 1, 0, 0, bytes(4))
        subject = compact.Subject(bytes(32), self.digest, self.body)
        made = compact.make(compact.REQUEST, 0, fields, subject, gate.request_keys(secret, 1))
        self.text = compact.to_text(made)

    @staticmethod
    def digests(target, body, method=b"POST", authorization=b"Bearer abc"):
        body = hashlib.sha256(body).digest()
        return compact_form.request_digest(
            method, b"https", b"api.example.com", target.encode(), body, authorization), body

    @staticmethod
    def value(digest):
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def check(self, values=None, digests=None, text=None):
        digest, body = digests or (self.digest, self.body)
        values = [self.value(self.digest)] if values is None else values
        return digest_field.check(text or self.text, self.keys, values, digest, body)

    def refused(self, word, **change):
        with self.subTest(word, **change), self.assertRaises(digest_field.Refused) as refusal:
            self.check(**change)
        self.assertEqual(refusal.exception.args, (word,))

    def test_a_mismatch_says_which_of_url_and_body_differs(self):
        self.assertEqual(self.check().created, NOW)
        self.refused(digest_field.OTHER_URL, digests=self.digests("/pay?to=8", BODY))
        self.refused(digest_field.OTHER_URL, digests=self.digests("/pay?to=7", BODY, b"PUT"))
        self.refused(digest_field.OTHER_URL, digests=self.digests("/pay?to=7", BODY, authorization=b"Bearer abd"))
        self.refused(digest_field.OTHER_BODY, digests=self.digests("/pay?to=7", BODY + b"x"))
        self.refused(digest_field.OTHER_BODY, digests=self.digests("/pay?to=8", BODY + b"x"))

    def test_a_changed_missing_double_or_malformed_field_is_refused(self):
        good, other = self.value(self.digest), self.value(self.digests("/pay?to=8", BODY)[0])
        self.refused(digest_field.NOT_PROVED, values=[other])
        self.refused(digest_field.NOT_PROVED, values=[other], digests=self.digests("/pay?to=8", BODY))
        self.refused(digest_field.MISSING, values=[])
        self.refused(digest_field.REPEATED, values=[good, good])
        self.refused(digest_field.REPEATED, values=[good, other])
        for text in ("", "x", good[:-1], good + "A", good + "=", good + "\n", f"{good}, {good}", good[:-1] + "B"):
            self.refused(digest_field.MALFORMED, values=[text])
        changed = self.text[:80] + ("B" if self.text[80] == "A" else "A") + self.text[81:]
        self.refused(digest_field.NOT_PROVED, text=changed)
        with self.assertRaises(compact_form.Refused):
            self.check(text="x")


def judged(test):
    """The refusal's number by the functions of the page; 0 for none."""
    audience = bytes.fromhex(test["audience"])
    keys = keys_of(bytes.fromhex(test["secret"]), test["generation"], test["kind"], audience)
    values = {name: bytes.fromhex(test[name]) for name in ("account", "digest", "body_digest", "beacon_key")}
    try:
        token = compact_form.check(test["text"], test["kind"], keys, values["account"], values["digest"],
                                   values["body_digest"])
        beacons = None if test["unanchored"] else compact_form.beacons_at(values["beacon_key"], int(test["now"]))
        compact_form.judge(token, int(test["now"]), test["event"], test["window"], test["measured_max"], beacons,
                           test["newest"])
        return 0
    except compact_form.Refused as refused:
        return refused.args[0]


def keys_of(secret, generation, kind, audience=None):
    """The keys by the second implementation: a backend gets them from the gate."""
    made = gate.event_keys(secret, generation, audience) if kind == compact_form.EVENT else gate.request_keys(
        secret, generation)
    return compact_form.Keys(made.handle, generation, made.tag, made.mask, kind == compact_form.EVENT)


class Replay(unittest.TestCase):
    def test_a_killed_verifier_forgets_nothing_that_it_has_accepted(self):
        with tempfile.TemporaryDirectory(prefix="proofkit-replay-") as folder:
            path = f"{folder}/replay"
            accepted = []
            for start in range(12):
                peer = subprocess.Popen(
                    [f"{os.environ['PROOF_BIN']}/request-peer", "replay", path, str(NOW + start)],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                # Nothing is known of the time before the first start. The later starts make no gap.
                self.assertEqual(peer.stdout.readline(), f"gap {NOW}\n")
                for text in accepted:
                    self.assertEqual(self.ask(peer, text), "used", (start, text))
                for number in range(start + 1):
                    accepted.append(f"{start}.{number}")
                    self.assertEqual(self.ask(peer, accepted[-1]), "new")
                # More are on their way while it is killed: each is answered, or may be unknown.
                peer.stdin.write("".join(f"late {start} {number}\n" for number in range(200)))
                peer.stdin.flush()
                answers = [peer.stdout.readline() for _ in range(start * 10)]
                peer.kill()
                answers += peer.communicate()[0].splitlines(keepends=True)
                self.assertLessEqual({one.strip() for one in answers if one.endswith("\n")}, {"new"})
                accepted += [f"late {start} {number}" for number, one in enumerate(answers) if one == "new\n"]

    @staticmethod
    def ask(peer, text):
        peer.stdin.write(text + "\n")
        peer.stdin.flush()
        return peer.stdout.readline().strip()


class API(unittest.TestCase):
    """The example in FastAPI, with real requests."""

    @classmethod
    def setUpClass(cls):
        cls.peer = Peer()

    @classmethod
    def tearDownClass(cls):
        cls.peer.close()

    def setUp(self):
        self.secret = bytes(range(64, 96))
        self.keys = keys_of(self.secret, 1, compact_form.REQUEST)
        known = {HANDLE: (KEY, None, None), self.keys.handle: (KEY, self.keys, None)}
        self.client = TestClient(api.make(known, lambda: NOW), base_url="https://api.example.com")

    def send(self, fields, method="POST", target="/pay?to=7", body=BODY):
        return self.client.request(method, target, headers=[tuple(one) for one in fields], content=body)

    def test_an_honest_request_is_served_once(self):
        fields = self.peer.sign()["fields"]
        answer = self.send(fields)
        self.assertEqual((answer.status_code, answer.json()), (200, {"paid": 1200}))
        again = self.send(fields)
        self.assertEqual((again.status_code, again.headers["Proof-Refusal"]), (401, "proof"))
        get = self.peer.sign("GET", "https://api.example.com/balance", None, [], nonce="n2")["fields"]
        self.assertEqual(self.send(get, "GET", "/balance", None).json(), {"cents": 1200})

    def test_a_changed_or_bare_request_is_refused(self):
        fields = self.peer.sign(nonce="n3")["fields"]
        for change in (dict(body=b'{"cents":9900}'), dict(target="/pay?to=8"), dict(method="PUT")):
            self.assertEqual(self.send(fields, **change).status_code, 401, change)
        self.assertEqual(self.send([]).status_code, 401)
        self.assertEqual(self.send(self.peer.sign(nonce="n4", created=NOW - 61)["fields"]).status_code, 401)
        self.assertEqual(self.send(self.peer.sign(nonce="n5", key=bytes(32))["fields"]).status_code, 401)
        self.assertEqual(self.send(fields).status_code, 200)

    def test_the_compact_form(self):
        digest = hashlib.sha256(BODY).digest()
        request = compact_form.request_digest(
            b"POST", b"https", b"api.example.com", b"/pay?to=7", digest, b"Bearer abc")
        subject = compact.Subject(bytes(32), request, digest)
        fields = compact.Fields(NOW, 0, 7, 1, 0, 3, bytes(4))
        text = compact.to_text(
            compact.make(compact_form.REQUEST, 0, fields, subject, gate.request_keys(self.secret, 1)))
        headers = [["Authorization", "Bearer abc"], ["Proof", text]]
        self.assertEqual(self.send(headers, body=b"{}").status_code, 401)
        self.assertEqual(self.send(headers).json(), {"paid": 1200})
        self.assertEqual(self.send(headers).status_code, 401)


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(Requests, Tokens, DigestField, Replay, API), sys.argv[1:]))
