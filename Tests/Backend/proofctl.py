#!/usr/bin/env python3
"""Every verb of the operator's tool, on a store and against a running service: output, JSON, exit codes, what it says
when it refuses, and completion."""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import unittest

from place import BIN, Place

PIN = base64.b64encode(bytes(range(32))).decode()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Verbs:
    """What holds wherever the account is."""

    where = None

    def ask(self, *arguments, given=""):
        return self.place.ask(*arguments, given=given, where=self.where)

    def refused(self, code, words, *arguments, given="", where="same"):
        """The tool says no: its exit code, and words that tell what to do, in both forms."""
        where = self.where if where == "same" else where
        for form in ([], ["--json"]):
            got, output, errors = self.place.run(*arguments, *form, given=given, where=where)
            self.assertEqual(got, code, (arguments, output, errors))
            self.assertRegex(errors, words)
            if form:
                self.assertRegex(json.loads(output)["error"], words)

    def test_secret(self):
        before = base64.b64decode(self.ask("secret", "get")["secret"], validate=True)
        self.assertEqual(len(before), 64)
        url = self.ask("secret", "get", "--base64url")["secret"]
        self.assertEqual(base64.urlsafe_b64decode(url + "=" * (-len(url) % 4)), before)
        self.assertEqual(self.ask("secret", "change"), {})
        self.assertNotEqual(base64.b64decode(self.ask("secret", "get")["secret"]), before)
        self.ask("secret", "change", "--printable")
        self.assertTrue(base64.b64decode(self.ask("secret", "get")["secret"]).decode().isprintable())
        key = self.ask("sealing", "get")["secret"]
        self.ask("sealing", "change")
        self.assertNotEqual(self.ask("sealing", "get")["secret"], key)

    def test_development_key(self):
        key = self.ask("devkey", "change")["key"]
        self.assertEqual(self.ask("devkey", "get")["key"], key)
        self.ask("devkey", "remove")
        self.assertIsNone(self.ask("devkey", "get")["key"])

    def test_message_key(self):
        self.assertEqual(self.ask("messagekey", "get"), {"id": None, "secret": None})
        made = self.ask("messagekey", "change")
        self.assertEqual(len(base64.b64decode(made["secret"], validate=True)), 32)
        self.assertEqual(self.ask("messagekey", "get"), made)
        url = self.ask("messagekey", "get", "--base64url")["secret"]
        self.assertEqual(base64.urlsafe_b64decode(url + "="), base64.b64decode(made["secret"]))
        self.assertNotEqual(self.ask("messagekey", "change")["id"], made["id"])
        self.ask("messagekey", "remove")
        self.assertIsNone(self.ask("messagekey", "get")["secret"])

    def test_api_and_pins(self):
        self.ask("keyset", "add", "ES256", "--kid", "for-api")
        self.ask("api", "add", "one.example.com")
        self.ask("api", "add", "two.example.com", "--jwe", "--pin", PIN)
        self.ask("api", "add", "three.example.com", "--no-token")
        self.ask("api", "add", "four.example.com", "--keyset", "for-api")
        listed = {api["host"]: api for api in self.ask("api", "list")}
        self.assertEqual(listed["two.example.com"]["kind"], "measurement")
        self.assertEqual(listed["three.example.com"]["kind"], "none")
        self.assertEqual(listed["four.example.com"]["kid"], "for-api")
        pins = {entry["host"]: entry["pins"] for entry in self.ask("pin", "list")}
        self.assertEqual(pins["two.example.com"], [PIN])
        self.refused(1, "already", "api", "add", "one.example.com")
        self.refused(1, "44 characters", "api", "add", "five.example.com", "--pin", "x")
        self.assertNotIn("five.example.com", {api["host"] for api in self.ask("api", "list")})
        self.refused(2, "exclude", "api", "add", "x.example.com", "--jwe", "--no-token")
        self.refused(1, "still used by four", "keyset", "remove", "for-api")
        self.ask("pin", "set", "*", PIN)
        self.ask("pin", "set", "one.example.com", "none")
        pins = {entry["host"]: entry["pins"] for entry in self.ask("pin", "list")}
        self.assertEqual((pins["*"], pins["one.example.com"]), ([PIN], []))
        self.ask("pin", "remove", "*")
        self.ask("pin", "service", PIN)
        self.ask("pin", "service", "none")
        for host in listed:
            self.ask("api", "remove", host)
        self.assertEqual(self.ask("api", "list"), [])
        self.refused(1, "no API", "api", "remove", "one.example.com")
        self.ask("keyset", "remove", "for-api")

    def test_api_check_says_what_it_cannot_reach(self):
        self.ask("api", "add", "localhost:1")
        code, output, _ = self.place.run("api", "check", "--json", where=self.where)
        self.assertEqual(code, 1)
        self.assertEqual([finding["state"] for finding in json.loads(output)], ["failed"])
        self.ask("api", "remove", "localhost:1")
        self.refused(1, "no such API", "api", "check", "nowhere.example.com")

    def test_forcing_pins_needs_a_typed_yes(self):
        before = self.ask("config", "show")
        for given in ("", "yes\n", "no\n", "YES please\n"):
            self.refused(1, "Type YES.*YES|YES", "pin", "force-apply", given=given)
        self.assertEqual(self.ask("config", "show")["serial"], before["serial"])
        self.ask("pin", "force-apply", given="YES\n")
        self.assertGreater(self.ask("config", "show")["serial"], before["serial"])

    def test_registration(self):
        digest = self.place.ask("registration", "digest", BIN / "app-peer", where=[])["digest"]
        added = self.ask("registration", "add", BIN / "app-peer", "--name", "door", "--development", "--expire-after",
                         "2h")
        self.assertEqual((added["digest"], added["name"], added["development"]), (digest, "door", True))
        self.assertEqual(added["expiry"] - added["added"], 7200)
        self.assertIn(digest, [entry["digest"] for entry in self.ask("registration", "list")])
        self.ask("registration", "remove", digest)
        self.refused(1, "no registration|no .*registered", "registration", "remove", digest)
        self.refused(1, "does not exist|cannot be read", "registration", "add", "/nonexistent")
        self.refused(2, "90s, 15m", "registration", "add", BIN / "app-peer", "--expire-after", "soon")

    def test_policy(self):
        self.ask("policy", "set", "rejection=debug,root", "token-lifetime=120", "issuer=us")
        policy = self.ask("policy", "show")
        self.assertEqual((policy["rejection"], policy["token-lifetime"], policy["issuer"]), ("debug,root", "120", "us"))
        self.refused(1, "10 to 86400", "policy", "set", "token-lifetime=1")
        self.refused(1, "no setting", "policy", "set", "colour=red")
        self.refused(2, "NAME=VALUE", "policy", "set", "rejection")
        self.ask("policy", "set", "token-lifetime=300", "issuer=none")

    def test_devices(self):
        device = "00" * 15 + "07"
        self.assertEqual(self.ask("device", "list", "--count", 3), [])
        for verb in ("pass", "fail", "clear"):
            self.assertEqual(self.ask("device", verb, device), {"device": device})
        self.ask("device", "policy", device, "debug")
        self.refused(1, "no device", "device", "pass", "latest")
        self.refused(1, "32 hexadecimal", "device", "pass", "x")
        self.refused(2, "DEVICE", "device", "pass")

    def test_keysets(self):
        self.assertEqual(self.ask("keyset", "add", "EdDSA", "--kid", "e1")["kid"], "e1")
        self.ask("keyset", "add", "dir", "--kid", "d1")
        self.assertEqual({key["kid"] for key in self.ask("keyset", "list")} >= {"e1", "d1"}, True)
        published = [key["kid"] for key in self.ask("keyset", "jwks")["keys"]]
        self.assertEqual([kid for kid in published if kid in ("e1", "d1")], ["e1"])
        self.assertNotIn("d", self.ask("keyset", "get", "e1"))
        self.assertIn("k", self.ask("keyset", "get", "d1"))
        self.refused(1, "already", "keyset", "add", "ES256", "--kid", "e1")
        self.refused(1, "allowed: HS256", "keyset", "add", "RS256")
        for kid in ("e1", "d1"):
            self.ask("keyset", "remove", kid)

    def test_tokens(self):
        self.ask("api", "add", "token.example.com")
        good = self.ask("token", "example", "token.example.com", "--data-hash", "Bearer x")["token"]
        bad = self.ask("token", "example", "token.example.com", "--invalid")["token"]
        checked = self.ask("token", "check", good, "--data-hash", "Bearer x")
        self.assertTrue(checked["valid"] and checked["bound"])
        for arguments in ([good, "--data-hash", "Bearer y"], [bad], [good[:-2]]):
            code, output, _ = self.place.run("token", "check", *arguments, "--json", where=self.where)
            self.assertEqual(code, 1, output)
        secret = base64.b64decode(self.ask("secret", "get")["secret"])
        key = {"kty": "oct", "alg": "HS256", "k": base64.urlsafe_b64encode(secret).rstrip(b"=").decode()}
        path = self.place.write(f"{type(self).__name__}.jwk", json.dumps(key))
        self.assertTrue(self.place.ask("token", "check", good, "--key", path, where=[])["valid"])
        code, output, _ = self.place.run("token", "check", bad, "--key", path, "--json", where=[])
        self.assertEqual((code, json.loads(output)["reason"]), (1, "signature"))
        self.refused(1, "response code", "arc", "read", "AAAAAAAAAA")
        self.ask("api", "remove", "token.example.com")

    def test_strings(self):
        self.ask("string", "set", "greeting", "-", given="hello\n")
        self.assertIn("greeting", json.dumps(self.ask("string", "list")))
        self.assertNotIn("hello", json.dumps(self.ask("string", "list")))
        self.ask("string", "remove", "greeting")

    def test_builds_of_the_sdk(self):
        name = type(self).__name__
        key = self.place.path(f"{name}.mpk")
        made = self.ask("sdk", "new", "--key", key, "--name", name, "--sources", ROOT, "--output",
                        self.place.path(f"{name}.c"))
        self.assertEqual(made["mode"], "production")
        self.assertEqual(os.stat(key).st_size, 16)
        with open(self.place.path(f"{name}.c"), encoding="ascii") as file:
            self.assertIn(made["id"], file.read(), "the generated code is this key's")
        self.assertIn(made["id"], [build["id"] for build in self.ask("sdk", "list")])
        self.ask("sdk", "revoke", made["id"])
        self.assertTrue([build for build in self.ask("sdk", "list") if build["id"] == made["id"]][0]["revoked"])
        self.assertRegex(self.ask("sdk", "config-string")["config"], r"^#acme@.*#[A-Za-z0-9+/]{43}=$")
        self.refused(1, "--sources", "sdk", "new", "--sources", "/nonexistent")
        self.refused(2, "--development", "sdk", "add")

    def test_hardware_of_the_account(self):
        new = self.ask("hardware", "new", "--output", self.place.path(f"{type(self).__name__}.hw"), "--name", "door")
        self.assertEqual(new["registeredIn"], ["account"])
        mine = [one for one in self.ask("hardware", "list") if one["id"] == new["id"]]
        self.assertEqual((mine[0]["name"], mine[0]["revoked"]), ("door", False))
        self.ask("hardware", "revoke", new["id"])
        self.refused(1, "no hardware", "hardware", "revoke", "01" * 16)
        self.refused(2, "32 hexadecimal", "hardware", "revoke", "x")

    def test_diagnose(self):
        findings = self.ask("diagnose")
        self.assertEqual({finding["state"] for finding in findings}, {"well"}, findings)
        self.assertGreaterEqual(len(findings), 3)
        self.assertIn("apis", self.ask("metrics", "show"))


class OnTheStore(Verbs, unittest.TestCase):
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

    def test_a_store_that_does_not_open_says_why(self):
        self.refused(1, "store|exist", "api", "list", where=["--store", self.place.path("nothing.db")])
        wrong = self.place.write("wrong", "another passphrase\n")
        self.refused(1, "passphrase is not", "api", "list", "--passphrase-file", wrong)
        shown = self.place.write("shown", "four words of test\n", 0o644)
        self.refused(1, "chmod 600", "api", "list", "--passphrase-file", shown)
        self.refused(2, "--store FILE, or --service", "api", "list", where=[])
        self.refused(2, "not both", "api", "list", "--service", "https://a.example.com")

    def test_what_is_not_understood_ends_with_2(self):
        for arguments, words in (
                (["nonsense"], "nothing called"), (["api"], "add, list, remove, check"),
                (["api", "nonsense"], "has no"),
                (["api", "add"], "DOMAIN is missing"), (["api", "list", "x"], "too many"),
                (["api", "list", "--nonsense"], "no flag"), (["api", "list", "--ca"], "needs a value"),
                (["proof", "compute"], "--nonce is missing")):
            self.refused(2, words, *arguments, where=[])
        self.assertEqual(self.place.run(where=[])[0], 2)

    def test_help_explains_every_verb(self):
        code, text, _ = self.place.run("--help", where=[])
        self.assertEqual(code, 0)
        verbs = re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)  +\S", text, re.M)
        self.assertGreaterEqual(len(verbs), 50)
        for verb in verbs:
            code, own, _ = self.place.run(*verb.split(), "--help", where=[])
            self.assertEqual(code, 0, verb)
            self.assertTrue(own.startswith(f"usage: proofctl {verb}"), own)
            self.assertIn("--json", own)

    def test_completion_for_bash(self):
        script = self.place.run("completion", "bash", where=[])[1]
        path = self.place.write("completion", script)

        def complete(*words):
            line = (f'source {path}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _proofctl; '
                    'printf "%s\\n" "${COMPREPLY[@]}"')
            return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout.split()

        self.assertIn("registration", complete("proofctl", "reg"))
        self.assertEqual(complete("proofctl", "api", "a"), ["add"])
        self.assertIn("--jwe", complete("proofctl", "api", "add", "--j"))
        self.assertIn("--registry", complete("proofctl", "diagnose", "--r"))

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

    def test_registry_orders_and_inspection(self):
        registry, ledger = self.place.path("own/hardware.json"), self.place.path("own/ledger")
        new = self.place.ask("hardware", "new", "--output", self.place.path("own.key"), "--registry", registry,
                             where=[])
        issuer = self.place.ask("issuer", "new", "--output", self.place.path("own.issuer"), where=[])
        self.assertEqual(self.place.ask("issuer", "show", self.place.path("own.issuer"), where=[]), issuer)
        self.refused(1, "File exists", "issuer", "new", "--output", self.place.path("own.issuer"), where=[])
        own = ["--issuer-key", self.place.path("own.issuer"), "--registry", registry, "--ledger", ledger]
        for arguments in (["epoch"], ["epoch", new["id"]], ["floor", new["id"]],
                          ["revoke", new["id"], "--instance", "07" * 16, "--through", "3"]):
            order = bytes.fromhex(self.place.ask("order", "sign", *arguments, *own, where=[])["order"])
            self.assertEqual((len(order), order[:2]), (124, b"PO"))
        self.refused(2, "epoch, revoke or floor", "order", "sign", "party", *own, where=[])
        self.refused(1, "No hardware", "order", "sign", "floor", "01" * 16, *own, where=[])
        self.refused(1, "no measurement token|does not parse", "measurement-token", "inspect", "00", where=[])
        self.place.ask("hardware", "revoke", new["id"], "--registry", registry, where=[])
        self.assertTrue(self.place.ask("hardware", "list", "--registry", registry, where=[])[0]["revoked"])

    def test_measurement_token_issue(self):
        from jwcrypto import jwe, jwk
        encoded = {name: base64.b64encode(bytes([value] * count)).decode() for name, value, count in
                   (("imh", 1, 32), ("dmh", 2, 32), ("mpk", 3, 16), ("dpk", 4, 16), ("did", 5, 16))}
        claims = dict(encoded, exp=4_000_000_000, mgn=6, mmd="production")
        key = {"kty": "oct", "alg": "dir", "k": base64.urlsafe_b64encode(bytes(32)).rstrip(b"=").decode()}
        token = jwe.JWE(json.dumps(claims).encode(), protected=json.dumps({"alg": "dir", "enc": "A256GCM"}))
        token.add_recipient(jwk.JWK(**key))
        registry = self.place.path("two/hardware.json")
        new = self.place.ask("hardware", "new", "--output", self.place.path("two.key"), "--registry", registry,
                             where=[])
        issuer = self.place.ask("issuer", "new", "--output", self.place.path("two.issuer"), where=[])
        arguments = ["measurement-token", "issue", token.serialize(compact=True), new["id"], "--key",
                     self.place.write("two.jwk", json.dumps(key)), "--issuer-key", self.place.path("two.issuer"),
                     "--registry", registry, "--ledger", self.place.path("two/ledger"), "--classes", "0,2",
                     "--device-classes", "0", "--uses", "7", "--lifetime", "60"]
        made = self.place.ask(*arguments, where=[])
        seen = self.place.ask("measurement-token", "inspect", made["token"], "--hardware", new["id"], "--hardware-key",
                              self.place.path("two.key"), "--issuer", issuer["publicKey"], where=[])
        self.assertEqual((seen["integrityClasses"], seen["deviceClasses"]), ([0, 2], [0]))
        self.assertEqual((seen["uses"], seen["generation"], seen["attempts"]), (7, 6, 5))
        self.assertEqual((seen["notAfter"] - seen["issued"], seen["instance"]), (60, "05" * 16))
        self.refused(1, "literal", *arguments, "--literal", where=[])
        self.refused(1, "allowed: 1 to", *(arguments[:-3] + ["0", "--lifetime", "60"]), where=[])


class BehindAService(Verbs, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.place.make_account()
        cls.place.start_service()
        cls.where = cls.place.remote

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def test_without_the_right_token_nothing_is_told(self):
        self.refused(2, "management token", "secret", "get", where=["--service", self.place.url])
        wrong = self.place.write("wrong-token", "x" * 43)
        self.refused(1, "management token", "secret", "get",
                     where=["--service", self.place.url, "--token-file", wrong])
        self.refused(1, "cannot be reached", "secret", "get",
                     where=["--service", "http://127.0.0.1:1", "--token-file", wrong])

    def test_z_a_new_management_token_replaces_the_old_one(self):
        token = self.ask("management", "change")["token"]
        self.refused(1, "management token", "secret", "get")
        new = self.place.write("new-token", token)
        self.place.ask("secret", "get", where=["--service", self.place.url, "--token-file", new])


if __name__ == "__main__":
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2)
    loader = unittest.defaultTestLoader
    result = runner.run(unittest.TestSuite(
        loader.loadTestsFromTestCase(case) for case in (OnTheStore, BehindAService)))
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad or not result.testsRun else 0)
