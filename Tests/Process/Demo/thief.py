# SPDX-License-Identifier: Apache-2.0

"""The thief of requests from outside: the requests that he sends to an API which writes down what comes."""

import base64
import hashlib
import http.server
import json
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest

from demonstration import BIN, MOMENT, ROOT

sys.path.insert(0, str(ROOT / "Tests" / "Vectors"))
from proofspec import work  # noqa: E402


class Api(http.server.ThreadingHTTPServer):
    """Answers each request with one status and the class of a refusal, and keeps what came."""

    daemon_threads = True

    def __init__(self, chain, key):
        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.status, self.refusal, self.came = 200, None, []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A client that does not trust the certificate leaves."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fields = [(name.lower(), value) for name, value in self.headers.items()]
        self.server.came.append((self.command, self.path, fields, body))
        self.send_response(self.server.status)
        if self.server.refusal:
            self.send_header("PROOF-Refusal", self.server.refusal)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = respond

    def log_message(self, *_):
        """The tests read `came`."""


class AThiefOfRequests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="f"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in ("own", "other"):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-days", "2", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-out",
                            cls.folder / f"{name}.pem", "-keyout", cls.folder / f"{name}.key"], check=True,
                           capture_output=True)
        cls.api = Api(cls.folder / "own.pem", cls.folder / "own.key")
        cls.addClassCleanup(cls.api.server_close)
        cls.addClassCleanup(cls.api.shutdown)
        cls.url = f"https://127.0.0.1:{cls.api.server_port}"

    def attack(self, *words):
        run = subprocess.run([BIN / "proof-demo", "attack", *words], capture_output=True, text=True, timeout=MOMENT,
                             stdin=subprocess.DEVNULL, check=False)
        return run.returncode, run.stdout, run.stderr

    def send(self, *words, says="200\n"):
        """The request that came."""
        self.api.came.clear()
        told = self.attack("request", "--url", self.url, "--authority", str(self.folder / "own.pem"), *words)
        self.assertEqual(told, (0, says, ""))
        came, = self.api.came
        return came

    def record(self, *lines):
        path = self.folder / "record"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return ["--record", str(path)]

    @staticmethod
    def seen(method, target, fields=(), body=""):
        return {"method": method, "target": target, "fields": list(map(list, fields)), "body": body}

    def test_a_request_of_his_own_has_what_the_options_say(self):
        method, target, fields, body = self.send("--target", "/prices?a=b")
        self.assertEqual((method, target, body), ("GET", "/prices?a=b", b""))
        self.assertNotIn("authorization", dict(fields))
        self.assertEqual(dict(fields)["host"], self.url.removeprefix("https://"))
        method, target, fields, body = self.send("--method", "POST", "--target", "/orders", "--body", "12", "--user",
                                                 "secret")
        self.assertEqual((method, target, body), ("POST", "/orders", b"12"))
        self.assertEqual([value for name, value in fields if name == "authorization"], ["Bearer secret"])

    def test_he_tells_the_status_and_the_class_of_a_refusal(self):
        for status, refusal, says in ((401, "signature", "401 signature\n"), (402, None, "402\n"),
                                      (200, "token", "200 token\n")):
            self.api.status, self.api.refusal = status, refusal
            self.send("--target", "/", says=says)
        self.api.status, self.api.refusal = 200, None

    def test_the_latest_request_of_a_path_is_sent_as_it_came(self):
        own = [("Host", "h"), ("content-length", "9"), ("Accept", "a/a"), ("USER-AGENT", "u"), ("X-One", "1"),
               ("x-two", "2"), ("X-One", "3"), ("alone",)]
        record = self.record(
            self.seen("POST", "/orders?item=ring", [("x-old", "1")], b"old".hex()),
            self.seen("PUT", "/orders?item=tea", own, b"new".hex()), self.seen("GET", "/prices"))
        method, target, fields, body = self.send("--seen", "/orders", *record)
        self.assertEqual((method, target, body), ("PUT", "/orders?item=tea", b"new"))
        self.assertEqual([field for field in fields if field[0].startswith("x-")],
                         [("x-one", "1"), ("x-two", "2"), ("x-one", "3")])
        named = [name for name, _ in fields]
        self.assertEqual((named.count("host"), named.count("content-length")), (1, 1))
        self.assertEqual(dict(fields)["host"], self.url.removeprefix("https://"))
        self.assertNotIn("alone", named)
        for value in ("a/a", "u", "9", "h"):
            self.assertNotIn(value, [found for name, found in fields if name in ("accept", "user-agent", "host")])
        method, target, fields, body = self.send("--seen", "/prices", *record)
        self.assertEqual((method, target, body), ("GET", "/prices", b""))
        self.assertNotIn("content-length", dict(fields))
        # Each part may be another one.
        method, target, fields, body = self.send(
            "--seen", "/orders?item=ring", *record, "--method", "POST", "--target", "/else", "--body", "x", "--user",
            "s")
        self.assertEqual((method, target, body), ("POST", "/else", b"x"))
        self.assertEqual((dict(fields)["x-old"], dict(fields)["authorization"]), ("1", "Bearer s"))

    def test_an_empty_body_stays_one_except_of_a_get(self):
        for method, length in (("POST", "0"), ("GET", None)):
            came = self.send("--seen", "/a", *self.record(self.seen(method, "/a")))
            self.assertEqual((came[0], dict(came[2]).get("content-length"), came[3]), (method, length, b""))

    def test_a_request_with_a_gate_token_is_looked_for(self):
        record = self.record(self.seen("GET", "/a?first", [("Proof-Token", "t")]),
                             self.seen("GET", "/a?second", [("PROOF-TOKEN", "t")]), self.seen("GET", "/a?third"),
                             self.seen("GET", "/b", [("proof-token", "t")]))
        self.assertEqual(self.send("--seen", "/a", "--with-token", *record)[1], "/a?second")
        self.assertEqual(self.send("--seen", "/a", *record)[1], "/a?third")

    def test_a_request_that_was_not_seen_is_told(self):
        at = ["request", "--url", self.url, "--authority", str(self.folder / "own.pem"), "--seen"]
        record = self.record(self.seen("GET", "/a"), self.seen("GET", "/b", body="zz"))
        for words, says in ((["/c"], "no request of /c was seen"), (["/b"], "no request of /b was seen"),
                            (["/a", "--with-token"], "no request of /a was seen"),
                            (["/a", "--sign"], "the request that was seen has no key id")):
            self.assertEqual(self.attack(*at, *words, *record), (1, "", f"proof-demo attack: {says}\n"))
        self.assertEqual(self.attack(*at, "/a")[::2],
                         (2, "proof-demo attack: --record is missing; --help tells more\n"))

    def test_he_signs_under_the_owners_name_with_keys_of_his_own(self):
        signed = ('proofkit=("@method" "@authority");created=1700000000;keyid="name of the keys";nonce="n";'
                  'alg="hmac-sha256";tag="proofkit"')
        fields = [("Signature-Input", signed), ("Signature", "proofkit=:AAAA:"), ("Proof-Token", "t"),
                  ("Authorization", "Bearer s"), ("Content-Type", "text/plain")]
        record = self.record(self.seen("POST", "/a", fields, b"body".hex()))
        macs = set()
        for _ in range(2):
            method, target, sent, body = self.send("--seen", "/a", "--sign", *record)
            self.assertEqual((method, target, body), ("POST", "/a", b"body"))
            names = [name for name, _ in sent]
            for name in ("signature-input", "signature", "content-digest", "proof-token"):
                self.assertEqual(names.count(name), 1, name)
            sent = dict(sent)
            self.assertEqual(sent["content-digest"],
                             f"sha-256=:{base64.b64encode(hashlib.sha256(b'body').digest()).decode()}:")
            self.assertIn('keyid="name of the keys"', sent["signature-input"])
            for part in ('"authorization"', '"content-type"', '"content-digest"', '"@method"'):
                self.assertIn(part, sent["signature-input"])
            self.assertNotIn("created=1700000000", sent["signature-input"])
            self.assertNotIn('nonce="n"', sent["signature-input"])
            macs.add(sent["signature"])
        self.assertEqual(len(macs), 2)

    def test_an_api_with_another_certificate_gets_nothing(self):
        self.api.came.clear()
        status, output, errors = self.attack("request", "--url", self.url, "--authority",
                                             str(self.folder / "other.pem"))
        self.assertEqual((status, output), (1, ""))
        self.assertTrue(errors.startswith("proof-demo attack: "), errors)
        self.assertEqual(self.api.came, [])

    def test_work_is_solved_and_its_hashes_are_counted(self):
        vectors = json.loads((ROOT / "Tests" / "Vectors" / "proofkit_work_test.json").read_text())
        challenge = bytes.fromhex(vectors["testGroups"][0]["tests"][0]["id"])
        text = base64.urlsafe_b64encode(challenge).decode().rstrip("=")
        status, output, errors = self.attack("solve", "--challenge", text)
        self.assertEqual((status, errors), (0, ""))
        solution, hashes, _ = re.fullmatch(r"(\S+) (\d+) (\d+)\n", output).groups()
        right = work.solve_puzzles(challenge, challenge[2])
        self.assertEqual(solution, base64.urlsafe_b64encode(right).decode().rstrip("="))
        counters = [int.from_bytes(right[at:at + 4], "little") for at in range(0, len(right), 4)]
        self.assertEqual(int(hashes), sum(counter + 1 for counter in counters))
        self.assertEqual(self.attack("solve", "--challenge", "x")[0], 1)
