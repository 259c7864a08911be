#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Every verb of the operator's tool, on a store and against a running service: output, JSON, exit codes, what it says
when it refuses, and completion."""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import sqlite3
import stat
import subprocess
import sys
import unittest

from bound_verbs import Bounds
from detail_verbs import Alone, DetailVerbs
from gate_verbs import GateVerbs
from gates import App as GateApp
from key_verbs import KeyVerbs
from log_verbs import LogVerbs
from place import App, Place
from sent_verbs import Sent
from verbs import Verbs, flags, verbs

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / name) for name in ("Process/Service", "Support/Runner")]
import certificates  # noqa: E402
import runner  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"


class OnTheStore(DetailVerbs, GateVerbs, KeyVerbs, LogVerbs, Verbs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.place.make_account()

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def test_init_writes_its_secrets_for_its_owner_alone(self):
        for name in ("store.db", "management"):
            self.assertEqual(stat.S_IMODE(os.stat(self.place.path(name)).st_mode), 0o600)
        self.refused(1, "account .acme. already", "init", "acme", "--url", "https://a.example.com")
        key = self.place.path("store.key")
        where = ["--store", self.place.path("second.db"), "--key-file", key]
        made = self.place.ask("init", "second", "--url", "https://a.example.com", where=where)
        self.assertRegex(made["config"], "^#second@a.example.com")
        self.assertEqual(stat.S_IMODE(os.stat(key).st_mode), 0o600)
        self.assertEqual(self.place.ask("api", "list", where=where), [])

    def test_init_makes_no_account_whose_token_it_cannot_write(self):
        there, fourth = self.place.write("there", "mine"), ["--store", self.place.path("fourth.db")]
        self.refused(1, "is there already; name another file", "init", "fourth", "--url", "https://a.example.com",
                     "--management-token", there, where=fourth)
        self.assertEqual(pathlib.Path(there).read_text(), "mine")
        self.place.ask("init", "fourth", "--url", "https://a.example.com", where=fourth)

    def test_a_string_from_standard_input_has_all_its_lines(self):
        text = "-----BEGIN\nsecond line\n-----END\n"
        for name, value, given in (("input", "-", text), ("file", "@" + self.place.write("lines", text), "")):
            self.ask("string", "set", name, value, given=given)
        rows = {row[0].decode(): json.loads(row[1])["value"] for row in sqlite3.connect(self.place.store).execute(
            "SELECT key, value FROM row WHERE tbl = 8")}
        # Sealed: of their lengths one can tell that both are whole.
        self.assertEqual({name: len(base64.b64decode(value)) - 40 for name, value in rows.items()
                          if name in ("input", "file")}, {"input": len(text) - 1, "file": len(text) - 1})
        for name in ("input", "file"):
            self.ask("string", "remove", name)

    def test_a_new_management_token_replaces_the_old_one(self):
        where = ["--store", self.place.path("third.db")]
        old = self.place.ask("init", "third", "--url", "https://a.example.com", where=where)["managementToken"]
        new = self.place.ask("management", "change", where=where)["token"]
        self.assertNotEqual(new, old)

    def test_a_store_that_does_not_open_says_why(self):
        self.refused(1, "store|exist", "api", "list", where=["--store", self.place.path("nothing.db")])
        wrong = self.place.write("wrong", "another passphrase\n")
        self.refused(1, "passphrase is not", "api", "list", "--passphrase-file", wrong)
        right = self.place.write("right", "four words of test\n")
        self.assertEqual(self.ask("api", "list", "--passphrase-file", right), self.ask("api", "list"))
        for ends in ("", "\r\n", "\n\n"):
            same = self.place.write("same", f"four words of test{ends}")
            self.assertEqual(self.ask("api", "list", "--passphrase-file", same), self.ask("api", "list"), repr(ends))
        shown = self.place.write("shown", "four words of test\n", 0o644)
        self.refused(1, "chmod 600", "api", "list", "--passphrase-file", shown)
        self.refused(2, "--store FILE.URI, or --service", "api", "list", where=[])
        self.refused(2, "not both", "api", "list", "--service", "https://a.example.com")

    def test_a_usage_error_ends_with_2(self):
        for arguments, words in (
                (["nonsense"], "nothing called"), (["api"], "add, change, list, remove, check"),
                (["api", "nonsense"], "has no"),
                (["api", "add"], "DOMAIN is missing"), (["api", "list", "x"], "too many"),
                (["api", "list", "--nonsense"], "unknown argument: --nonsense"),
                (["api", "list", "--ca"], "needs a value"), (["api", "list", "--ca", "--json"], "needs a value"),
                (["api", "list", "--json", "--json"], "twice"),
                (["proof", "compute"], "--nonce is missing")):
            self.refused(2, words, *arguments, where=[])
        self.assertEqual(self.place.run(where=[])[0], 2)
        for arguments, hint in ((["api", "add"], "try proofctl api add --help"), (["api"], "try proofctl --help")):
            self.assertIn(hint, self.place.run(*arguments, where=[])[2])

    def test_help_explains_every_verb(self):
        code, text, _ = self.place.run("--help", where=[])
        self.assertEqual(code, 0)
        self.assertGreaterEqual(len(verbs(self.place)), 50)
        for verb in verbs(self.place):
            code, own, _ = self.place.run(*verb.split(), "--help", where=[])
            self.assertEqual(code, 0, verb)
            self.assertTrue(own.startswith(f"usage: proofctl {verb}"), own)
            self.assertIn("--json", own)

    def test_completion_for_bash(self):
        script = self.place.run("completion", "bash", where=[])[1]
        self.assertEqual(self.place.ask("completion", "bash", where=[])["script"], script.removesuffix("\n"))
        path = self.place.write("completion", script)

        def complete(*words):
            line = (f'source {path}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _proofctl; '
                    'printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout.split()

        self.assertIn("registration", complete("proofctl", "reg"))
        self.assertEqual(complete("proofctl", "api", "a"), ["add"])
        self.assertIn("--jwe", complete("proofctl", "api", "add", "--j"))
        self.assertIn("--app", complete("proofctl", "diagnose", "--a"))
        for words in (["explain"], ["explain", "SDK-1"]):
            self.assertEqual(complete("proofctl", *words, "LOCK-4"), ["LOCK-4", "LOCK-48", "LOCK-49", "LOCK-49.N"])
        for noun, verb in [verb.split() for verb in verbs(self.place) if " " in verb]:
            self.assertEqual(complete("proofctl", noun, verb), [verb])
            offered = complete("proofctl", noun, verb, "--")
            self.assertEqual(sorted(offered), sorted(flags(self.place, f"{noun} {verb}", whole=True)))

    def test_explain_says_what_a_code_means(self):
        page = (DOCS / "BACKEND.md").read_text(encoding="utf-8")
        shown = re.search(r"proofctl explain LOCK-18 gate-68\n```\n\n```text\n(.*?)```", page, re.DOTALL)[1]
        self.assertEqual(self.place.run("explain", "LOCK-18", "gate-68", where=[]), (0, shown, ""))
        reasons = self.place.ask("explain", "LOCK-18", "STORE-6", where=[])
        self.assertEqual([(one["code"], one["mender"]) for one in reasons],
                         [("LOCK-18", "online"), ("STORE-6", "online")])
        self.assertEqual(set(reasons[0]), {"code", "condition", "cause", "mender", "step"})

    def test_explain_knows_each_code_of_the_page_and_no_other(self):
        page = (DOCS / "REASONS.md").read_text(encoding="utf-8")
        code = r"[A-Za-z]+-\d+(?:\.\d+|\.N)?|[a-z-]+"
        codes = re.findall(rf"^\| (?!code )({code})(?: \| [^|]+){{4}} \|$", page, re.MULTILINE)
        self.assertGreater(len(codes), 200)
        self.assertEqual([one["code"] for one in self.place.ask("explain", *codes, where=[])], codes)
        days, last = self.place.ask("explain", "LOCK-34.7", "LOCK-34.65535", where=[])
        self.assertEqual((days["code"], last["code"]), ("LOCK-34.N", "LOCK-34.65535"))
        for unknown, hint in (("LOCK-51", "no code “LOCK-51”"), ("LOCK-18.9", "no code “LOCK-18.9”"),
                              ("lock-18", "there is LOCK-18"), ("", "no code")):
            code, output, errors = self.place.run("explain", "LOCK-18", unknown, where=[])
            self.assertEqual((code, output), (1, ""))
            self.assertIn(hint, errors)
            self.assertIn("docs/REASONS.md", errors)
        self.assertEqual(self.place.run("explain", where=[])[0], 2)

    def test_an_error_has_its_code_in_text_and_json(self):
        missing = ["--store", self.place.path("nowhere")]
        self.assertRegex(self.place.run("policy", "show", where=missing)[2], r"\[(SERVICE|ACCOUNT)-1\]\n$")
        said = json.loads(self.place.run("policy", "show", "--json", where=missing)[1])
        self.assertIn(said["code"], ("SERVICE-1", "ACCOUNT-1"))
        self.assertEqual(self.place.ask("explain", said["code"], where=[])[0]["code"], said["code"])

    def test_proof_compute_is_the_formula(self):
        key, nonce, measured = os.urandom(16), os.urandom(16), os.urandom(32)
        expected = hmac.new(key, nonce + measured, hashlib.sha256).hexdigest()
        path = self.place.write("key.hex", key.hex() + "\n")
        for form in (key.hex(), "@" + path):
            got = self.place.ask("proof", "compute", "--key", form, "--nonce", nonce.hex(), "--measurement",
                                 measured.hex(), where=[])
            self.assertEqual(got, {"proof": expected})
        self.refused(2, "32 hexadecimal", "proof", "compute", "--key", key.hex()[1:], "--nonce", nonce.hex(),
                     "--measurement", measured.hex(), where=[])


class BehindAService(DetailVerbs, GateVerbs, KeyVerbs, LogVerbs, Verbs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.place.make_account()
        cls.place.start_service()
        cls.where = cls.place.remote

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def test_every_verb_needs_the_right_token(self):
        self.refused(2, "management token", "secret", "get", where=["--service", self.place.url])
        wrong = self.place.write("wrong-token", "x" * 43)
        self.refused(1, "management token", "secret", "get",
                     where=["--service", self.place.url, "--token-file", wrong])
        self.refused(1, "cannot be reached", "secret", "get",
                     where=["--service", "http://127.0.0.1:1", "--token-file", wrong])

    def test_lists_may_be_long(self):
        one = self.ask("hardware", "new", "--output", self.place.path("long.hw"))["id"]
        with sqlite3.connect(self.place.store) as store:
            row = store.execute("SELECT value FROM row WHERE tbl = 6 AND key = ?", [one.encode()]).fetchone()[0]
            store.executemany("INSERT INTO row (tbl, key, value) VALUES (6, ?, ?)",
                              [(f"{number:032x}".encode(), row) for number in range(1, 2001)])
        store.close()
        self.assertGreater(len(self.ask("hardware", "list")), 2000)
        with sqlite3.connect(self.place.store) as store:
            store.execute("DELETE FROM row WHERE tbl = 6 AND key < ?", [f"{2001:032x}".encode()])
        store.close()

    def test_z_a_new_management_token_replaces_the_old_one(self):
        token = self.ask("management", "change")["token"]
        self.refused(1, "management token", "secret", "get")
        new = self.place.write("new-token", token)
        self.place.ask("secret", "get", where=["--service", self.place.url, "--token-file", new])


class WithAnApp(unittest.TestCase):
    """Verbs that need a running app or TLS, each on the store and behind the service."""

    @classmethod
    def setUpClass(cls):
        place = cls.place = Place()
        place.make_account()
        place.start_service()
        place.ask("sdk", "add", "--development")
        place.ask("api", "add", "door.example.com", "--jwe")
        cls.sides = {"store": ["--store", str(place.store)], "service": place.remote}
        cls.app = App(place)
        assert cls.app.ask("initialise", place.ask("config", "show")["signed"]) == "well"
        status, _, _, reason = cls.app.fetch("door.example.com?measurement")
        assert status == "success", reason

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def test_diagnose_looks_at_a_running_apps_store(self):
        folder = self.place.path("kept")

        def look(where):
            code, output, _ = self.place.run("diagnose", "--app", folder, "--json", where=where)
            return code, [finding for finding in json.loads(output) if finding["what"] == "stored measurement"][0]

        code, finding = look([])
        self.assertEqual((code, finding["state"]), (1, "failed"), "nothing was kept yet")
        self.assertRegex(finding["detail"], "does not exist; name the folder")
        self.assertFalse(os.path.exists(folder), "looking changes nothing")
        self.assertEqual(self.app.ask("keep", folder), "well")
        for where in ([], *self.sides.values()):
            code, finding = look(where)
            self.assertEqual((code, finding["state"]), (0, "well"), finding)
            self.assertRegex(finding["detail"], "instance 0707.*, generation [1-9][0-9]*, 0 tokens")
            self.place.ask("diagnose", "--app", folder, where=where)
        stored = pathlib.Path(folder, "measurement")
        whole = stored.read_bytes()
        stored.write_bytes(whole[:-1])
        code, finding = look([])
        self.assertEqual((code, finding["state"]), (1, "failed"))
        self.assertRegex(finding["detail"], r"damaged.*\?measurement")
        self.assertEqual(stored.read_bytes(), whole[:-1], "a damaged file stays where it is")
        stored.write_bytes(whole)

    def test_diagnose_says_what_is_ill(self):
        for where, what in ((["--store", self.place.path("none.db")], "store"),
                            (["--service", "http://127.0.0.1:1"], "service"),
                            (["--service", self.place.url, "--token-file", self.place.write("no", "x" * 43)],
                             "management")):
            code, output, _ = self.place.run("diagnose", "--json", where=where)
            self.assertEqual(code, 1)
            self.assertIn(what, [finding["what"] for finding in json.loads(output) if finding["state"] == "failed"])

    def test_devices_and_response_codes_of_a_real_app(self):
        for side, where in self.sides.items():
            with self.subTest(side):
                device = self.place.ask("device", "list", "--count", 1, where=where)[0]["device"]
                self.assertEqual(self.place.ask("device", "fail", "latest", where=where), {"device": device})
                self.app.fetch("door.example.com?measurement")
                seen = self.place.ask("device", "list", where=where)[0]
                self.assertIs(seen["passed"], False)
                code = self.place.ask("arc", "read", seen["arc"], where=where)
                self.assertEqual((code["passed"], "forced-fail" in code["properties"]), (False, True))
                self.place.ask("device", "pass", "latest", where=where)
                self.app.fetch("door.example.com?measurement")
                self.assertIs(self.place.ask("device", "list", where=where)[0]["passed"], True)
                self.place.ask("device", "clear", "latest", where=where)
                self.place.ask("device", "annotate", "latest", "debug,root", where=where)

    def test_tokens_of_an_admitted_device_are_revoked(self):
        key = os.urandom(16)
        self.place.ask("sdk", "add", "--key", self.place.write("gate.mpk", key), "--mode", "development")
        public = self.place.ask("gate", "keys", "new", self.place.path("front.key"), where=[])["publicKey"]
        self.place.ask("gate", "add", "front", "--public", self.place.write("front.public", public))
        self.place.ask("api", "add", "pay.example.com", "--gate", "front")
        app = GateApp(self.place.url, key)
        for side, where in self.sides.items():
            with self.subTest(side):
                generation = app.admit()["generation"]
                device = app.device().hex()
                self.assertEqual(self.place.ask("gate", "revoke", "front", device, where=where), {"device": device})
                shown, = self.place.ask("gate", "show", "front", where=where)["revoked"]
                self.assertEqual((shown["device"], shown["generation"]), (device, generation))

    def test_apis_and_a_service_behind_tls(self):
        folder = self.place.path("certificates")
        certificates.make_all(folder)
        port = self.place.start_tls(f"{folder}/good.pem", f"{folder}/good.key")
        authority, host = f"{folder}/authority.pem", f"127.0.0.1:{port}"
        right, wrong = (pathlib.Path(folder, f"{name}.pin").read_text() for name in ("good", "otherkey"))
        for side, where in self.sides.items():
            with self.subTest(side):
                self.place.ask("api", "add", host, "--no-token", "--pin", right, where=where)
                checked = self.place.ask("api", "check", host, "--ca", authority, where=where)
                self.assertEqual(checked, [{"host": host, "state": "well", "pins": 1,
                                            "detail": "answers with status 404"}])
                self.place.ask("pin", "set", host, wrong, where=where)
                for why in (["--ca", authority], []):
                    code, output, _ = self.place.run("api", "check", host, *why, "--json", where=where)
                    self.assertEqual((code, json.loads(output)[0]["state"]), (1, "failed"))
                self.place.ask("api", "remove", host, where=where)
        token = ["--token-file", self.place.path("management")]
        secure = ["--service", f"https://{host}", *token, "--ca", authority]
        self.assertEqual(self.place.ask("policy", "show", where=secure), self.place.ask("policy", "show"))
        code, _, errors = self.place.run("policy", "show", where=["--service", f"https://{host}", *token])
        self.assertEqual(code, 1)
        self.assertRegex(errors, "certificate|trust")
        # An address is asked under the account's pins.
        self.addCleanup(self.place.ask, "config", "url", self.place.ask("config", "show")["url"])
        self.addCleanup(self.place.ask, "pin", "service", "none")
        self.place.ask("config", "url", f"https://{host}")
        for pin, state, detail in (("none", "well", f"https://{host} answers, not pinned"),
                                   (right, "well", f"https://{host} answers, with a pinned key"),
                                   (wrong, "failed", f"https://{host}: ")):
            self.place.ask("pin", "service", pin)
            output = self.place.run("diagnose", "--regions", "--ca", authority, "--json")[1]
            found, = (one for one in json.loads(output) if one["what"] == "region home")
            self.assertEqual((found["state"], found["detail"].startswith(detail)), (state, True), found)


class Everything(unittest.TestCase):
    """Runs last: what the tests above did with success, against what the tool's own help offers."""

    # Verbs that need no account; on the store alone, as the service does not run yet.
    LOCAL = {"registration digest", "proof compute", "issuer new", "issuer show", "measurement-token inspect",
             "keyset generate", "completion bash", "gate keys", "explain", "ledger copy"}
    STORE = {"init"}
    # Verbs that ask a gate: Tests/Process/Gate/event_test.py uses each flag, at a running gate.
    AT_A_GATE = {"event check", "event forget"}
    # Verbs that ask a database: Tests/Process/Scale uses each flag, at a running server.
    AT_A_DATABASE = {"store migrate", "store move", "store after-restore"}
    # A flag that stands for an account.
    ELSEWHERE = {("token check", "--key"): "neither", ("token check", "--audience"): "neither"}

    def test_every_verb_and_flag_was_used(self):
        place = Place()
        self.addCleanup(place.close)
        self.maxDiff = None
        left_out = []
        for verb in set(verbs(place)) - self.AT_A_GATE - self.AT_A_DATABASE:
            sides = ["neither"] if verb in self.LOCAL else ["store"] if verb in self.STORE else ["store", "service"]
            for side in sides:
                left_out += [(verb, flag, side) for flag in ["--json", *flags(place, verb)]
                             if not {(verb, flag, side), (verb, flag, self.ELSEWHERE.get((verb, flag)))} & Place.done]
        self.assertEqual(left_out, [])
        used = {flag for _, flag, _ in Place.done}
        self.assertLessEqual({"--store", "--key-file", "--passphrase-file", "--service", "--token-file", "--ca"}, used)


if __name__ == "__main__":
    CLASSES = (Sent, Bounds, OnTheStore, BehindAService, WithAnApp, Alone, Everything)
    sys.exit(runner.run(runner.of_classes(*CLASSES), sys.argv[1:]))
