# SPDX-License-Identifier: Apache-2.0

"""The tool's bounds from both sides: sizes of files and answers, time limits, numbers, and a terminal's first line.
Each claim of a token, and each part of a service's answer that is wrong."""

import base64
import email.utils
import hashlib
import json
import os
import pathlib
import pty
import subprocess
import sys
import unittest

import jwt

from detail_verbs import Alone, Server
from place import BIN

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
from recorded_waits import RecordedWaits  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
MEBIBYTE = 2**20
ID = "0123456789abcdef" * 2
FEATURES = ["token-2", "ratchet", "sealed", "log", "grants", "factory-secret"]


class Bounds(unittest.TestCase):
    setUp, run_in, says = Alone.setUp, Alone.run_in, Alone.says

    def service(self):
        server = Server(self)
        return server, ["--service", server.url, "--token-file", self.place.write("token", "t" * 43)]

    def sent(self, server):
        return json.loads(server.came[-1][3])

    # Sizes

    def test_an_answer_has_at_most_16_mebibytes(self):
        server, where = self.service()
        # The tool ends the connection when the limit is reached.
        server.handle_error = lambda *_: None
        for size, status in ((16 * MEBIBYTE, 0), (16 * MEBIBYTE + 1, 1)):
            server.body = b'{"a":7}' + b" " * (size - 7)
            code, output, errors = self.run_in({}, "policy", "show", *where)
            self.assertEqual((code, output), (status, "" if status else "a  7\n"), (size, errors))

    def test_texts_in_files_have_at_most_a_mebibyte(self):
        server, where = self.service()
        at = ["--events", server.url, "--credential", self.place.write("credential", "c" * 43)]
        server.body = b'{"valid":true}'
        for size, status in ((MEBIBYTE, 0), (MEBIBYTE + 1, 1)):
            file = self.place.write("text", "x" * (size - 1) + "\n")
            for words, member in ((["event", "check", "7", f"@{file}", *at], "token"),
                                  (["string", "set", "n", f"@{file}", *where], "value")):
                server.came.clear()
                code, _, errors = self.run_in({}, *words)
                self.assertEqual(code, status, (words, size, errors))
                if status:
                    self.assertIn("File too large", errors)
                    self.assertEqual(server.came, [])
                else:
                    self.assertEqual(self.sent(server)[member], "x" * (size - 1))

    def test_business_data_have_at_most_16_mebibytes(self):
        server, _ = self.service()
        at = ["--events", server.url, "--credential", self.place.write("credential", "c" * 43)]
        server.body = b'{"valid":true}'
        for size, status in ((16 * MEBIBYTE, 0), (16 * MEBIBYTE + 1, 1)):
            data = b"x" * (size - 1) + b"y"
            file = self.place.write("data", data)
            server.came.clear()
            code, _, errors = self.run_in({}, "event", "check", "7", "token", *at, "--data", f"@{file}")
            self.assertEqual(code, status, errors)
            if status:
                self.assertIn(f"read {file}: File too large", errors)
                self.assertEqual(server.came, [])
            else:
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                self.assertEqual([json.loads(one[3])["data"] for one in server.came], [digest])

    def test_records_have_at_most_4_mebibytes(self):
        server, where = self.service()
        first, last = (f"1 5 {name.encode().hex()} {'cd' * 32}" for name in ("kernel", "modules"))
        for size, status in ((4 * MEBIBYTE, 0), (4 * MEBIBYTE + 1, 1)):
            file = self.place.write("records", first + "\n" * (size - len(first) - len(last)) + last)
            server.came.clear()
            code, _, errors = self.run_in({}, "registration", "environment", "add", file, *where)
            self.assertEqual(code, status, errors)
            if status:
                self.assertIn(f"read {file}: File too large", errors)
                self.assertEqual(server.came, [])
            else:
                records = self.sent(server)["records"]
                decoded = base64.urlsafe_b64decode(records + "=" * (-len(records) % 4))
                self.assertTrue(b"kernel" in decoded and b"modules" in decoded)

    def test_a_passphrase_of_line_ends_alone_is_none(self):
        store = self.place.path("own.db")
        self.assertEqual(self.run_in({"PROOF_PASSPHRASE": "x"}, "init", "own", "--url", "https://a.example.com",
                                     "--store", store)[0], 0)
        for text in ("", "\n", "\r\n"):
            self.says(1, "The passphrase is “”; allowed: at least one character", "api", "list", "--store", store,
                      "--passphrase-file", self.place.write("words", text))

    # Time limits

    def limits(self, *words):
        """Seconds that each request of a command may take."""
        waits = RecordedWaits(self.place.folder)
        waits.file.unlink(missing_ok=True)
        self.run_in(waits.environment, *words)
        return waits.limits()

    def test_each_request_has_its_time_limit(self):
        server, where = self.service()
        at = ["--events", server.url, "--credential", self.place.write("credential", "c" * 43)]
        server.body = b'[{"host":"localhost:1"}]'
        for words, limits in ((["policy", "show", *where], [30]), (["api", "check", *where], [30, 30, 10]),
                              (["event", "check", "7", "token", *at], [30]), (["event", "forget", "a", *at], [30]),
                              (["diagnose", *where], [10, 10, 30])):
            self.assertEqual(self.limits(*words), limits, words)

    def test_clocks_may_differ_by_30_seconds(self):
        server, where = self.service()
        now = 1_800_000_000
        environment = RecordedWaits(self.place.folder).environment | {"RECORDED_NOW": str(now)}
        for theirs, state, detail in (
                (now - 30, "well", "differs by 30 seconds"), (now + 30, "well", "differs by -30 seconds"),
                (now, "well", "differs by 0 seconds"),
                (now - 31, "failed", "this machine's clock differs by 31 seconds; set one of the two"),
                (now + 31, "failed", "this machine's clock differs by -31 seconds; set one of the two")):
            server.date = theirs
            output = self.run_in(environment, "diagnose", "--json", *where)[1]
            found, = (one for one in json.loads(output) if one["what"] == "clock")
            self.assertEqual((found["state"], found["detail"]), (state, detail), email.utils.formatdate(theirs))

    # Numbers

    def test_features_are_hexadecimal(self):
        server, where = self.service()
        change = ["hardware", "change", ID, *where, "--features"]
        for text, words in (("0x0", []), ("0x10", FEATURES[4:5]), ("0x1f", FEATURES[:5]), ("0x3F", FEATURES)):
            self.assertEqual(self.run_in({}, *change, text)[0], 0, text)
            self.assertEqual(self.sent(server)["features"], words, text)
        for text in ("0x", "0xg", "0x1g"):
            self.says(2, "takes a number such as 0x21, or words", *change, text)

    def backend(self, *more):
        """Flags of a backend whose account has hardware."""
        store = self.place.path("own.db")
        lock = {"PROOF_PASSPHRASE": "x"}
        for words in (["init", "own", "--url", "https://a.example.com", "--store", store],
                      ["hardware", "new", "--output", self.place.path("door.key"), "--store", store, *more],
                      ["issuer", "new", "--output", self.place.path("issuer.key")]):
            code, output, errors = self.run_in(lock, *words, "--json")
            self.assertEqual(code, 0, errors)
            if words[0] == "hardware":
                hardware = json.loads(output)["id"]
        return lock, hardware, ["--store", store, "--issuer-key", self.place.path("issuer.key"), "--ledger",
                                self.place.path("ledger")]

    def test_orders_have_bounds(self):
        lock, hardware, own = self.backend()
        revoke = ["order", "sign", "revoke", hardware, *own, "--instance", "07" * 16]

        def signed(*words):
            code, output, errors = self.run_in(lock, *words, "--json")
            self.assertEqual(code, 0, errors)
            return json.loads(output)

        # From the first second the steps are many; from now on one order is enough.
        steps = signed("order", "sign", "epoch", hardware, *own, "--from", "1")["orders"]
        self.assertGreater(len(steps), 40)
        for generation in (1, 4_294_967_294):
            self.assertEqual(len(signed(*revoke, "--through", str(generation))["order"]), 248)
        for generation in ("0", "4294967295", "4294967296", "x"):
            self.says(2, "--through takes 1 to 4294967294", *revoke, "--through", generation, **lock)
        # An order that cannot be written is not signed, and one that was signed is noted.
        there = self.place.write("there", "x")
        self.says(1, f"{there}: File exists. Nothing was signed; name another file.", "order", "sign", "floor",
                  hardware, *own, "--output", there, **lock)
        self.assertEqual(pathlib.Path(there).read_text(), "x")

    def test_classes_go_from_0_to_15_and_a_token_names_the_begin_of_its_hardware(self):
        lock, hardware, own = self.backend("--development")
        flags = ["--development", "--hardware", hardware, "--hardware-key", self.place.path("door.key"), "--issuer",
                 json.loads(self.run_in({}, "issuer", "show", self.place.path("issuer.key"), "--json")[1])["publicKey"]]
        store = own[:2]
        self.assertEqual(self.run_in(lock, "api", "add", "door.example.com", "--jwe", *store)[0], 0)
        key = self.place.path("sealing.jwks")
        self.assertEqual(self.run_in(lock, "sealing", "keys", "--output", key, *store)[0], 0)
        code, output, errors = self.run_in(lock, "token", "example", "door.example.com", "--measurement", "--json",
                                           *store)
        self.assertEqual(code, 0, errors)
        issue = ["measurement-token", "issue", json.loads(output)["token"], hardware, "--key", key, "--audience",
                 "door.example.com", *own]
        code, output, errors = self.run_in(lock, *issue, "--classes", "0,1,14,15", "--device-classes", "15", "--json")
        self.assertEqual(code, 0, errors)
        code, output, errors = self.run_in({}, "measurement-token", "inspect", json.loads(output)["token"], *flags,
                                           "--json")
        self.assertEqual(code, 0, errors)
        seen = json.loads(output)
        self.assertEqual((seen["integrityClasses"], seen["deviceClasses"], seen["delegableClasses"]),
                         ([0, 1, 14, 15], [15], []))
        self.assertEqual((seen["hardwareBegins"], seen["bytes"]), (hardware[:8], 288))
        self.says(1, "class", *issue, "--classes", "16", **lock)

    # Processes

    def test_a_text_that_is_typed_ends_with_its_line(self):
        server, where = self.service()
        for words, body in ((["string", "set", "n", "-"], {"name": "n", "value": "one"}),
                            (["token", "check", "-"], {"token": "one"})):
            server.came.clear()
            ours, theirs = pty.openpty()
            with subprocess.Popen([BIN / "proofctl", *words, *where], stdin=theirs, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                os.close(theirs)
                os.write(ours, b"one\ntwo\n")
                try:
                    process.wait(timeout=60)
                finally:
                    process.kill()
                    os.close(ours)
            self.assertEqual([json.loads(one[3]) for one in server.came], [body])

    def test_it_writes_no_core_dump(self):
        _, where = self.service()
        with subprocess.Popen([BIN / "proofctl", "pin", "force", *where], stdin=subprocess.PIPE, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            self.assertIn("Running apps", process.stderr.readline())
            limits = pathlib.Path(f"/proc/{process.pid}/limits").read_text(encoding="ascii")
            process.stdin.close()
            self.assertRegex(limits, r"Max core file size +1 +1 ")

    def test_a_build_for_development_needs_no_key(self):
        output = self.place.path("development.c")
        code, text, errors = self.run_in({}, "sdk", "new", "--mode", "development", "--sources", ROOT, "--output",
                                         output)
        self.assertEqual((code, errors), (0, ""))
        self.assertTrue(text.strip() and os.path.exists(output))
        self.says(2, "--key is missing", "sdk", "new", "--mode", "production", "--sources", ROOT)

    # Claims and answers

    def test_each_claim_of_a_token_is_shown(self):
        key = os.urandom(64)
        encoded = base64.urlsafe_b64encode(key).rstrip(b"=").decode()
        file = self.place.write("hs.jwk", json.dumps({"kty": "oct", "alg": "HS256", "k": encoded}))
        told = {"exp": 4_000_000_000, "iss": "us", "sub": "device", "did": base64.b64encode(bytes([5] * 16)).decode(),
                "ip": "192.0.2.1", "arc": "3OQ4KIY25V", "pay": base64.b64encode(bytes([6] * 32)).decode(),
                "anno": ["debug", "root"], "jti": "x", "own": {"a": 1}}
        for more, audience, shown in (({}, [], {}), ({"aud": "a.example.com"}, ["--audience", "a.example.com"],
                                                     {"aud": ["a.example.com"]})):
            token = jwt.encode(told | more, key, algorithm="HS256")
            code, output, errors = self.run_in({}, "token", "check", token, "--key", file, *audience, "--json")
            self.assertEqual((code, json.loads(output)), (0, {"valid": True, "claims": told | shown}), errors)
        # Nothing is shown that the token does not say.
        code, output, _ = self.run_in({}, "token", "check", jwt.encode({"exp": 4_000_000_000}, key, algorithm="HS256"),
                                      "--key", file, "--json")
        self.assertEqual((code, json.loads(output)), (0, {"valid": True, "claims": {"exp": 4_000_000_000}}))

    def test_a_log_names_an_answer_that_is_no_key_and_its_help_names_each_status(self):
        server, where = self.service()
        part = self.place.write("part", bytes(64))
        show = ["log", "show", part, "--hardware", ID, *where]
        for body, words in ((b"{}", f"The account has no factory secret of hardware {ID}"),
                            (b'{"sealed":"?"}', f"The account has no factory secret of hardware {ID}"),
                            (b'{"sealed":"AAAA"}', "the service answered with something else than a factory key"),
                            *((json.dumps({"sealed": "AAAA", "key": base64.b64encode(bytes(size)).decode()}).encode(),
                               "the service answered with something else than a factory key") for size in (31, 33))):
            server.body = body
            self.says(1, f"^proofctl: {words}", *show)
        for verb in ("show", "verify"):
            self.assertIn("exit status: 0 whole, 1 no part could be read, 3 incomplete, 4 altered\n",
                          self.run_in({}, "log", verb, "--help")[1])
