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

from jwcrypto import jwe, jwk

from place import BIN, App, Place

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Service"))
import certificates  # noqa: E402

PIN = base64.b64encode(bytes(range(32))).decode()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def verbs(place):
    return re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)  +\S", place.run("--help", where=[])[1], re.M)


def flags(place, verb, whole=False):
    """A verb's own flags, or with those that every verb has."""
    paragraphs = place.run(*verb.split(), "--help", where=[])[1].split("\n\n")
    return re.findall(r"^  (--[a-z0-9-]+)", "\n".join(paragraphs[2 if whole else 2:None if whole else -1]), re.M)


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
        self.assertRegex(self.ask("sealing", "get", "--base64url")["secret"], "^[A-Za-z0-9_-]{43}$")
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
        bundle = self.place.folder / f"{type(self).__name__}.app"
        (bundle / "views").mkdir(parents=True)
        (bundle / "views" / "main").write_text("view\n")
        bundled = self.place.ask("registration", "digest", BIN / "app-peer", "--bundle", bundle, where=[])["digest"]
        added = self.ask("registration", "add", BIN / "app-peer", "--bundle", bundle)
        self.assertEqual((added["digest"], added["name"]), (bundled, "app-peer"))
        self.assertNotEqual(bundled, digest)
        self.ask("registration", "remove", bundled)
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

    def test_the_services_address(self):
        before = self.ask("config", "show")
        self.ask("config", "url", "https://attest.example.com:8443")
        self.assertIn("@attest.example.com:8443#", self.ask("config", "show")["initial"])
        self.refused(1, "https://HOST", "config", "url", "ftp://attest.example.com")
        self.ask("config", "url", before["url"])

    def test_strings(self):
        self.ask("string", "set", "greeting", "-", given="hello\n")
        self.assertIn("greeting", json.dumps(self.ask("string", "list")))
        self.assertNotIn("hello", json.dumps(self.ask("string", "list")))
        self.ask("string", "remove", "greeting")

    def test_builds_of_the_sdk(self):
        name = type(self).__name__
        key = self.place.path(f"{name}.mpk")
        made = self.ask("sdk", "new", "--key", key, "--name", name, "--mode", "production", "--sources", ROOT,
                        "--output", self.place.path(f"{name}.c"))
        self.assertEqual(made["mode"], "production")
        self.assertEqual(os.stat(key).st_size, 16)
        with open(self.place.path(f"{name}.c"), encoding="ascii") as file:
            self.assertIn(made["id"], file.read(), "the generated code is this key's")
        self.assertIn(made["id"], [build["id"] for build in self.ask("sdk", "list")])
        self.ask("sdk", "revoke", made["id"])
        self.assertTrue([build for build in self.ask("sdk", "list") if build["id"] == made["id"]][0]["revoked"])
        self.assertRegex(self.ask("sdk", "config-string")["config"], r"^#acme@.*#[A-Za-z0-9+/]{43}=$")
        own = self.place.write(f"{name}.own", os.urandom(16))
        added = self.ask("sdk", "add", "--key", own, "--name", "own", "--mode", "development")
        self.assertEqual((added["name"], added["mode"]), ("own", "development"))
        bench = self.ask("sdk", "add", "--development")
        self.assertEqual(bench["mode"], "development")
        self.refused(1, "already", "sdk", "add", "--development")
        self.refused(1, "--sources", "sdk", "new", "--sources", "/nonexistent")
        self.refused(2, "--development", "sdk", "add")

    def test_hardware(self):
        key = self.place.path(f"{type(self).__name__}.hw")
        new = self.ask("hardware", "new", "--output", key, "--name", "door")
        self.assertEqual((new["mode"], new["literal"], new["secretKey"]), ("production", False, f"in {key}"))
        self.assertEqual((stat.S_IMODE(os.stat(key).st_mode), os.stat(key).st_size), (0o600, 32))
        bench = self.ask("hardware", "new", "--output", key + "2", "--development", "--literal")
        listed = {one["id"]: one for one in self.ask("hardware", "list")}
        self.assertEqual((listed[new["id"]]["name"], listed[new["id"]]["revoked"]), ("door", False))
        self.assertEqual((listed[bench["id"]]["mode"], listed[bench["id"]]["literal"]), ("development", True))
        self.ask("hardware", "revoke", new["id"])
        self.assertEqual([one["revoked"] for one in self.ask("hardware", "list") if one["id"] == new["id"]], [True])
        self.refused(1, "File exists", "hardware", "new", "--output", key)
        for form in ("3", "4"):
            code, _, errors = self.place.run("hardware", "new", "--output", key + form, "--name", "x" * 129,
                                             where=self.where)
            self.assertEqual(code, 1)
            self.assertRegex(errors, "128 bytes.*registered nowhere: delete it")
        self.refused(1, "no hardware", "hardware", "revoke", "01" * 16)
        self.refused(2, "32 hexadecimal", "hardware", "revoke", "x")

    def backend(self):
        """Flags of a backend of this class, and its public key."""
        name = self.place.path(f"{type(self).__name__}.issuer")
        if not os.path.exists(name):
            new = self.place.ask("issuer", "new", "--output", name, where=[])
            self.assertEqual(self.place.ask("issuer", "show", name, where=[]), new)
            self.refused(1, "File exists", "issuer", "new", "--output", name, where=[])
        issuer = self.place.ask("issuer", "show", name, where=[])
        return ["--issuer-key", name, "--ledger", self.place.path(f"{type(self).__name__}-ledger")], issuer["publicKey"]

    def test_orders(self):
        own, _ = self.backend()
        new = self.ask("hardware", "new", "--output", self.place.path(f"{type(self).__name__}.ordered"))
        for arguments in (["epoch"], ["epoch", new["id"]], ["floor", new["id"]],
                          ["revoke", new["id"], "--instance", "07" * 16, "--through", "3"],
                          ["revoke", new["id"], "--instance", "07" * 16]):
            order = bytes.fromhex(self.ask("order", "sign", *arguments, *own)["order"])
            self.assertEqual((len(order), order[:2]), (124, b"PO"))
        self.refused(2, "epoch, revoke or floor", "order", "sign", "party", *own)
        self.refused(2, "HARDWARE is missing", "order", "sign", "floor", *own)
        self.refused(2, "1 to 4294967294", "order", "sign", "revoke", new["id"], "--instance", "07" * 16, "--through",
                     "0", *own)
        self.refused(1, "No hardware .*hardware new", "order", "sign", "floor", "01" * 16, *own)

    def test_measurement_tokens(self):
        own, issuer = self.backend()
        encoded = {name: base64.b64encode(bytes([value] * count)).decode() for name, value, count in
                   (("imh", 1, 32), ("dmh", 2, 32), ("mpk", 3, 16), ("dpk", 4, 16), ("did", 5, 16))}
        key = {"kty": "oct", "alg": "dir", "k": base64.urlsafe_b64encode(bytes(32)).rstrip(b"=").decode()}
        files = self.place.write("sealing.jwk", json.dumps(key))

        def sealed(**claims):
            made = jwe.JWE(json.dumps(dict(encoded, exp=4_000_000_000, mgn=6, **claims)).encode(),
                           protected=json.dumps({"alg": "dir", "enc": "A256GCM"}))
            made.add_recipient(jwk.JWK(**key))
            return made.serialize(compact=True)

        name = self.place.path(type(self).__name__)
        new = self.ask("hardware", "new", "--output", name + ".door")
        bench = self.ask("hardware", "new", "--output", name + ".bench", "--development", "--literal")

        def issue(hardware, token, *flags):
            return ["measurement-token", "issue", token, hardware["id"], "--key", files, *own, *flags]

        def inspect(hardware, token, *flags):
            return self.place.ask("measurement-token", "inspect", token, "--hardware", hardware["id"], "--hardware-key",
                                  hardware["secretKey"].removeprefix("in "), "--issuer", issuer, *flags, where=[])

        production = sealed(mmd="production")
        limits = ["--classes", "0,2", "--device-classes", "0", "--uses", "7", "--lifetime", "60", "--attempts", "4"]
        made = self.ask(*issue(new, production, *limits))
        seen = inspect(new, made["token"])
        self.assertEqual((seen["integrityClasses"], seen["deviceClasses"]), ([0, 2], [0]))
        self.assertEqual((seen["uses"], seen["generation"], seen["attempts"]), (7, 6, 4))
        self.assertEqual((seen["notAfter"] - seen["issued"], seen["instance"]), (60, "05" * 16))
        output = name + ".token"
        made = self.ask(*issue(bench, sealed(mmd="development"), "--classes", "1", "--literal", "--output", output))
        self.assertEqual((made["token"], stat.S_IMODE(os.stat(output).st_mode)), (f"in {output}", 0o600))
        seen = inspect(bench, "@" + output, "--development")
        self.assertEqual((seen["form"], seen["uses"], seen["attempts"]), ("literal", "unlimited", 5))
        self.assertEqual(self.place.ask("measurement-token", "inspect", "@" + output, where=[])["bytes"], 288)

        self.refused(1, "literal", *issue(new, production, *limits, "--literal"))
        self.refused(1, "development", *issue(bench, production, *limits))
        self.refused(1, "allowed: 1 to", *issue(new, production, "--classes", "0", "--uses", "0"))
        self.refused(2, "--classes is missing", *issue(new, production))
        self.refused(1, "No hardware .*hardware new", *issue({"id": "01" * 16}, production, *limits))
        self.ask("hardware", "revoke", new["id"])
        self.refused(1, "is revoked", *issue(new, production, *limits))
        self.refused(1, "no measurement token|does not parse", "measurement-token", "inspect", "00", where=[])

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
        for noun, verb in [verb.split() for verb in verbs(self.place) if " " in verb]:
            self.assertEqual(complete("proofctl", noun, verb), [verb])
            offered = complete("proofctl", noun, verb, "--")
            self.assertEqual(sorted(offered), sorted(flags(self.place, f"{noun} {verb}", whole=True)))

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


class WithAnApp(unittest.TestCase):
    """What needs a running app or TLS, each on the store and behind the service."""

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
                self.place.ask("device", "policy", "latest", "debug,root", where=where)

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
                self.assertEqual([(one["host"], one["state"]) for one in checked], [(host, "well")])
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


class Everything(unittest.TestCase):
    """Runs last: what the tests above did with success, against what the tool's own help offers."""

    # Without an account; on the store alone, as there is no service yet.
    LOCAL = {"registration digest", "proof compute", "issuer new", "issuer show", "measurement-token inspect",
             "completion bash"}
    STORE = {"init"}
    # A flag that stands for an account.
    ELSEWHERE = {("token check", "--key"): "neither"}

    def test_every_verb_and_flag_was_used(self):
        place = Place()
        self.addCleanup(place.close)
        self.maxDiff = None
        left_out = []
        for verb in verbs(place):
            sides = ["neither"] if verb in self.LOCAL else ["store"] if verb in self.STORE else ["store", "service"]
            for side in sides:
                left_out += [(verb, flag, side) for flag in ["--json", *flags(place, verb)]
                             if not {(verb, flag, side), (verb, flag, self.ELSEWHERE.get((verb, flag)))} & Place.done]
        self.assertEqual(left_out, [])
        used = {flag for _, flag, _ in Place.done}
        self.assertLessEqual({"--store", "--key-file", "--passphrase-file", "--service", "--token-file", "--ca"}, used)


if __name__ == "__main__":
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2)
    loader = unittest.defaultTestLoader
    result = runner.run(unittest.TestSuite(
        loader.loadTestsFromTestCase(case) for case in (OnTheStore, BehindAService, WithAnApp,
                                                   Everything)))
    bad = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - bad} passed, {bad} failed")
    sys.exit(1 if bad or not result.testsRun else 0)
