# SPDX-License-Identifier: Apache-2.0

"""Verbs of the operator's tool that behave alike on a store and behind a running service."""

import base64
import hashlib
import json
import os
import pathlib
import re
import stat
import struct
import time

from jwcrypto import jwe, jwk

from place import BIN

PIN = base64.b64encode(bytes(range(32))).decode()
ROOT = pathlib.Path(__file__).resolve().parents[3]


def verbs(place):
    return re.findall(r"^  ([a-z-]+(?: [a-z-]+)?)  +\S", place.run("--help", where=[])[1], re.M)


def flags(place, verb, whole=False):
    """A verb's own flags, or with those that every verb has."""
    paragraphs = place.run(*verb.split(), "--help", where=[])[1].split("\n\n")
    return re.findall(r"^  (--[a-z0-9-]+)", "\n".join(paragraphs[2 if whole else 2:None if whole else -1]), re.M)


class Verbs:
    """Tests that hold on a store and behind a running service."""

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

    def test_api_and_pins(self):
        self.ask("keyset", "add", "ES256", "--kid", "for-api")
        self.ask("api", "add", "one.example.com")
        self.ask("api", "add", "two.example.com", "--jwe", "--pin", PIN)
        self.ask("api", "add", "three.example.com", "--no-token")
        self.ask("api", "add", "four.example.com", "--keyset", "for-api", "--audience", "off")
        self.refused(2, "on or off", "api", "add", "five.example.com", "--audience", "maybe")
        listed = {api["host"]: api for api in self.ask("api", "list")}
        self.assertEqual(listed["two.example.com"]["kind"], "measurement")
        self.assertEqual(listed["three.example.com"]["kind"], "none")
        self.assertEqual(listed["four.example.com"]["kid"], "for-api")
        self.assertIs(listed["four.example.com"]["audience"], False)
        self.assertNotIn("audience", listed["one.example.com"])
        pins = {entry["host"]: entry["pins"] for entry in self.ask("pin", "list")}
        self.assertEqual(pins["two.example.com"], [PIN])
        self.refused(1, "The API .one.example.com. exists already", "api", "add", "one.example.com")
        self.refused(1, "44 characters", "api", "add", "five.example.com", "--pin", "x")
        self.assertNotIn("five.example.com", {api["host"] for api in self.ask("api", "list")})
        self.refused(1, "already", "api", "add", "two.example.com", "--pin", base64.b64encode(bytes(32)).decode())
        pins = {entry["host"]: entry["pins"] for entry in self.ask("pin", "list")}
        self.assertEqual(pins["two.example.com"], [PIN], "what was refused changed nothing")
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
            self.refused(1, "Type YES.*YES|YES", "pin", "force", given=given)
        self.assertEqual(self.ask("config", "show")["serial"], before["serial"])
        self.ask("pin", "force", given="YES\n")
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

    def test_registrations_of_what_is_to_come(self):
        present = self.ask("registration", "add", BIN / "app-peer")["digest"]
        # Records as an app on a reference machine prints them (EvidenceRecord.line).
        line = f"{b'executable'.hex()} {'ab' * 32}\n"
        code = self.place.write(f"{type(self).__name__}.code", f"2 1 {line}3 6 {line}")
        update = ["registration", "add", BIN / "request-peer", "--upcoming", present]
        # The SDK build that the update will have.
        key = self.place.write(f"{type(self).__name__}.coming", os.urandom(16))
        build = self.ask("sdk", "add", "--key", key, "--name", "coming", "--mode", "production")["id"]
        added = self.ask(*update, "--records", code, "--key-id", build, "--expire-after", "30d")
        told = added["upcoming"]
        self.assertEqual((told["updates"], told["keyID"], told["predicted"]), (present, build, True), told)
        links = self.place.write(f"{type(self).__name__}.links", f"3 6 {line}")
        told = self.ask(*update, "--records", links)["upcoming"]
        self.assertFalse(told["predicted"])
        self.assertIn("no records of app 1", told["reason"])
        self.refused(2, "goes with --upcoming", "registration", "add", BIN / "app-peer", "--records", code)
        self.refused(1, "no SDK build", *update, "--key-id", "01" * 8)
        self.refused(2, "goes with --upcoming", "registration", "add", BIN / "app-peer", "--key-id", build)
        self.refused(2, "is not there", *update, "--records", code + ".none")
        self.refused(2, "line 1: no record", *update, "--records", self.place.write(code + ".bad", "2 1 x y\n"))
        self.refused(1, "no registration", *update[:-1], "11" * 32)
        system = self.place.write(f"{type(self).__name__}.system",
                                  f"1 5 {b'kernel'.hex()} {'cd' * 32}\n1 6 6162 absent\n")
        environment = ["registration", "environment", "add", system]
        added = self.ask(*environment, "--name", "next image", "--expire-after", "30d")
        self.assertEqual((added["name"], added["upcoming"]["records"]), ("next image", 2))
        self.assertIn(added["digest"], [entry["digest"] for entry in self.ask("registration", "list")])
        self.refused(2, "it has: add", "registration", "environment", "remove", system)
        for digest in {entry["digest"] for entry in self.ask("registration", "list")}:
            self.ask("registration", "remove", digest)

    def test_policy(self):
        self.ask("policy", "set", "rejection=debug,root", "token-lifetime=120", "issuer=us")
        policy = self.ask("policy", "show")
        self.assertEqual((policy["rejection"], policy["token-lifetime"], policy["issuer"]), ("debug,root", "120", "us"))
        self.refused(1, "10 to 86400", "policy", "set", "token-lifetime=1")
        self.refused(1, "no setting .colour.*proofctl policy show", "policy", "set", "colour=red")
        self.refused(2, "NAME=VALUE", "policy", "set", "rejection")
        for nothing in ["", ",", "debug,"]:
            self.refused(1, "none", "policy", "set", f"rejection={nothing}")
        self.ask("policy", "set", "token-lifetime=300", "issuer=none")
        self.assertEqual(policy["custom-claims"], "jti")
        self.assertEqual(self.ask("policy", "set", "custom-claims=sub,iss")["custom-claims"], "iss,sub")
        self.refused(1, "iss, sub, aud, nbf, iat, jti", "policy", "set", "custom-claims=exp")
        self.ask("policy", "set", "custom-claims=jti")
        self.assertEqual(policy["withholding"], "basic,extra")
        for facts, kept in [("all", "basic,unique,extra"), ("none", "none"), ("extra,basic", "basic,extra")]:
            self.assertEqual(self.ask("policy", "set", f"withholding={facts}")["withholding"], kept)
        self.refused(1, "basic, unique, extra", "policy", "set", "withholding=serials")

    def test_the_page_says_how_to_leave_sources_out(self):
        page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "MANAGEMENT.md").read_text()
        section = page.split("## Sources left out")[1].split("\n## ")[0]
        lines = [line.split()[1:] for line in section.splitlines() if line.startswith("proofctl ")]
        self.assertEqual(len(lines), 3)
        key = self.place.write(f"{type(self).__name__}.jit.key", os.urandom(16))
        build = self.ask("sdk", "add", "--key", key, "--name", "jit", "--without", "3/5")
        self.assertEqual(build["without"], "3/5")
        words = {"KEY-ID": build["id"], "app": str(BIN / "app-peer")}
        answers = [self.ask(*[words.get(word, word) for word in line]) for line in lines]
        self.assertEqual(answers[0]["sources-without"], "3/8,3/9")
        self.assertEqual(answers[1]["without"], "3/4")
        self.assertEqual(answers[2]["without"], "3/4/anonymous,3/4/writable")
        self.refused(1, "such as 3/4,3/8", "policy", "set", "sources-without=1/5")
        self.refused(1, "such as 3/4,3/8", "sdk", "sources", build["id"], "3/4/anonymous")
        self.refused(1, "3/4/anonymous", "registration", "add", BIN / "app-peer", "--without", "3/6/libc.so.6")
        self.ask("policy", "set", "sources-without=none")
        self.assertNotIn("without", self.ask("sdk", "sources", build["id"], "none"))
        self.ask("registration", "remove", answers[2]["digest"])

    def test_devices(self):
        device = "00" * 15 + "07"
        self.assertEqual(self.ask("device", "list", "--count", 3), [])
        for verb in ("pass", "fail", "clear"):
            self.assertEqual(self.ask("device", verb, device), {"device": device})
        self.ask("device", "annotate", device, "debug")
        self.refused(1, "no device", "device", "pass", "latest")
        self.refused(1, "32 hexadecimal", "device", "pass", "x")
        self.refused(2, "DEVICE", "device", "pass")

    def test_tokens(self):
        self.ask("api", "add", "token.example.com")
        good = self.ask("token", "example", "token.example.com", "--data-hash", "Bearer x")["token"]
        bad = self.ask("token", "example", "token.example.com", "--invalid")["token"]
        self.ask("api", "add", "measured.example.com", "--jwe")
        measured = self.ask("token", "example", "measured.example.com", "--measurement")["token"]
        claims = self.ask("token", "check", measured)["claims"]
        self.assertEqual((claims["imh"], claims["mmd"], claims["mgn"]), ("(secret)", "development", 1))
        self.refused(1, "--jwe", "token", "example", "token.example.com", "--measurement")
        self.ask("api", "remove", "measured.example.com")
        checked = self.ask("token", "check", good, "--data-hash", "Bearer x")
        self.assertTrue(checked["valid"] and checked["bound"])
        for arguments in ([good, "--data-hash", "Bearer y"], [bad], [good[:-2]]):
            code, output, _ = self.place.run("token", "check", *arguments, "--json", where=self.where)
            self.assertEqual(code, 1, output)
        secret = base64.b64decode(self.ask("secret", "get")["secret"])
        key = {"kty": "oct", "alg": "HS256", "k": base64.urlsafe_b64encode(secret).rstrip(b"=").decode()}
        path = self.place.write(f"{type(self).__name__}.jwk", json.dumps(key))
        local = ["token", "check", good, "--key", path]
        offline = self.place.ask(*local, "--audience", "token.example.com", where=[])
        self.assertTrue(offline["valid"])
        # A number of seconds, with a key file as with the account.
        self.assertIsInstance(offline["claims"]["exp"], int)
        self.assertEqual(offline["claims"]["exp"], checked["claims"]["exp"])
        for other in ([], ["--audience", "other.example.com"]):
            code, output, _ = self.place.run(*local, *other, "--json", where=[])
            self.assertEqual((code, json.loads(output)["reason"]), (1, "audience"))
        self.refused(2, "--audience goes with --key", "token", "check", good, "--audience", "x")
        code, output, _ = self.place.run("token", "check", bad, "--key", path, "--json", where=[])
        self.assertEqual((code, json.loads(output)["reason"]), (1, "signature"))
        self.refused(1, "response code", "arc", "read", "AAAA")
        self.ask("api", "remove", "token.example.com")

    def test_the_services_address(self):
        before = self.ask("config", "show")
        self.ask("config", "url", "https://attest.example.com:8443")
        self.assertIn("@attest.example.com:8443#", self.ask("config", "show")["initial"])
        self.refused(1, "https://HOST", "config", "url", "ftp://attest.example.com")
        self.ask("config", "url", before["url"])

    def test_the_secret_of_strings_is_rotated(self):
        before = self.ask("stringkey", "list")
        self.assertEqual([one["state"] for one in before], ["active"])
        fresh = self.ask("stringkey", "rotate")
        self.assertEqual([one["kid"] for one in self.ask("stringkey", "list")], [fresh["kid"], before[0]["kid"]])
        self.refused(1, "is not retired yet", "stringkey", "rotate")
        self.refused(1, "used no string since", "stringkey", "retire")
        self.ask("stringkey", "retire", "--at-once")
        self.assertEqual([one["kid"] for one in self.ask("stringkey", "list")], [fresh["kid"]])

    def test_the_key_of_challenges_is_rotated_and_replaced(self):
        before = self.ask("saltkey", "list")
        self.assertEqual([one["state"] for one in before], ["active"])
        fresh = self.ask("saltkey", "rotate")
        self.assertEqual([one["kid"] for one in self.ask("saltkey", "list")], [fresh["kid"], before[0]["kid"]])
        self.refused(1, "may wait for another", "saltkey", "rotate")
        last = self.ask("saltkey", "replace")
        self.assertEqual([one["kid"] for one in self.ask("saltkey", "list")], [last["kid"]])

    def test_strings(self):
        self.ask("string", "set", "greeting", "-", given="hello\n")
        self.assertIn("greeting", json.dumps(self.ask("string", "list")))
        self.assertNotIn("hello", json.dumps(self.ask("string", "list")))
        self.ask("string", "remove", "greeting")
        self.refused(1, "no text in UTF-8", "string", "set", "bytes",
                     "@" + self.place.write(f"{type(self).__name__}.bytes", b"\xff\xfe"))

    def test_a_name_does_not_command_the_terminal(self):
        name = "a\x1b[2J\nb\x9bc\u202e"
        self.ask("string", "set", name, "x")
        self.assertEqual([one["name"] for one in self.ask("string", "list")], [name])
        code, text, _ = self.place.run("string", "list", where=self.where)
        self.assertEqual((code, text.splitlines()), (0, ["name", r"a\u{1b}[2J\u{a}b\u{9b}c\u{202e}"]))
        self.ask("string", "remove", name)

    def test_builds_of_the_sdk(self):
        name = type(self).__name__
        key = self.place.path(f"{name}.mpk")
        made = self.ask("sdk", "new", "--key", key, "--name", name, "--mode", "production", "--sources", ROOT,
                        "--output", self.place.path(f"{name}.c"), "--without", "none")
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
        self.refused(2, "--key is missing", "sdk", "new", "--sources", ROOT, "--output",
                     self.place.path(f"{name}.none"))
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

    def test_factory_secrets(self):
        name = self.place.path(f"{type(self).__name__}.factory")
        secret = self.place.write(name + ".drawn", os.urandom(32))
        new = self.ask("hardware", "new", "--output", name + ".key", "--factory-secret", name, "--features", "token-2")
        self.assertEqual((new["features"], new["factorySecret"]), (["token-2", "factory-secret"], f"in {name}"))
        self.assertEqual((stat.S_IMODE(os.stat(name).st_mode), os.stat(name).st_size), (0o600, 32))
        code, _, errors = self.place.run("hardware", "new", "--output", name + ".2", "--factory-secret", name,
                                         where=self.where)
        self.assertEqual(code, 1)
        self.assertRegex(errors, "File exists.*registered nowhere: delete it")
        identity, key = os.urandom(16).hex(), new["publicKey"]
        added = self.ask("hardware", "add", identity, key, "--features", "0x01", "--name", "side", "--development",
                         "--literal")
        self.assertEqual((added["features"], added["mode"], added["literal"]), (["token-2"], "development", True))
        self.refused(1, "already", "hardware", "add", identity, key)
        self.refused(1, "literal", "hardware", "change", identity, "--factory-secret", secret)
        other = os.urandom(16).hex()
        added = self.ask("hardware", "add", other, key, "--factory-secret", secret)
        self.assertEqual(added["features"], ["token-2", "factory-secret"])
        third = os.urandom(16).hex()
        self.assertEqual(self.ask("hardware", "add", third, key)["features"], [])
        self.assertEqual(self.ask("hardware", "change", third, "--features", "token-2")["features"], ["token-2"])
        self.refused(1, "factory-secret", "hardware", "change", third, "--features", "factory-secret")
        changed = self.ask("hardware", "change", third, "--factory-secret", secret)
        self.assertEqual(changed["features"], ["token-2", "factory-secret"])
        for wrong in ("x", "token-2,token-2"):
            self.refused(2, "takes token-2, ratchet, sealed, log, grants, factory-secret", "hardware", "change", third,
                         "--features", wrong)
        self.refused(2, "does not know", "hardware", "change", third, "--features", "0x0100")
        self.refused(2, "a number such as 0x21", "hardware", "change", third, "--features", "0xyz")
        self.refused(1, "no hardware", "hardware", "change", "01" * 16, "--features", "token-2")
        for size in (31, 33, 0):
            self.refused(1, "has 32|too large|holds", "hardware", "change", third, "--factory-secret",
                         self.place.write(name + ".wrong", os.urandom(size)))
        self.refused(1, "factory secret", "hardware", "change", third, "--factory-secret",
                     self.place.write(name + ".zeros", bytes(32)))
        self.refused(1, "others can read", "hardware", "change", third, "--factory-secret",
                     self.place.write(name + ".open", os.urandom(32), 0o644))
        opener = name + ".opener"
        self.assertEqual(self.ask("hardware", "factory-key", "--output", opener), {"factoryKey": f"in {opener}"})
        self.assertEqual((stat.S_IMODE(os.stat(opener).st_mode), os.stat(opener).st_size), (0o600, 32))
        first = pathlib.Path(opener).read_bytes()
        self.ask("hardware", "factory-key", "--output", opener, "--replace")
        self.assertNotEqual(pathlib.Path(opener).read_bytes(), first)
        self.refused(2, "--output is missing", "hardware", "factory-key")
        listed = json.dumps(self.ask("hardware", "list"))
        for drawn in (name, secret, opener):
            drawn = pathlib.Path(drawn).read_bytes()
            for text in (drawn.hex()[:16], base64.b64encode(drawn)[:12].decode()):
                self.assertNotIn(text, listed)

    def backend(self):
        """Flags of a backend of this class, and its public key."""
        name = self.place.path(f"{type(self).__name__}.issuer")
        if not os.path.exists(name):
            new = self.place.ask("issuer", "new", "--output", name, where=[])
            self.assertEqual(self.place.ask("issuer", "show", name, where=[]), new)
            self.refused(1, "File exists", "issuer", "new", "--output", name, where=[])
        issuer = self.place.ask("issuer", "show", name, where=[])
        return ["--issuer-key", name, "--ledger", self.place.path(f"{type(self).__name__}-ledger")], issuer["publicKey"]

    def old_ledger(self):
        """Flags of a ledger whose only record is 200 days old. It is of an earlier version, without a count."""
        folder = pathlib.Path(self.place.path(f"{type(self).__name__}-old-ledger"))
        folder.mkdir(mode=0o700, exist_ok=True)
        record = bytes([8]) * 16 + bytes([9]) * 16 + struct.pack("<BxxxIQ", 1, 1, int(time.time()) - 200 * 86400)
        issued = folder / "issued"
        issued.write_bytes(record + hashlib.sha256(b"pfb1.ledger....." + record).digest()[:16])
        issued.chmod(0o600)
        (folder / "issued.count").unlink(missing_ok=True)
        return ["--ledger", folder]

    def test_orders(self):
        own, _ = self.backend()
        new = self.ask("hardware", "new", "--output", self.place.path(f"{type(self).__name__}.ordered"))
        for arguments in (["epoch", new["id"]], ["floor", new["id"]],
                          ["revoke", new["id"], "--instance", "07" * 16, "--through", "3"],
                          ["revoke", new["id"], "--instance", "07" * 16]):
            order = bytes.fromhex(self.ask("order", "sign", *arguments, *own)["order"])
            self.assertEqual((len(order), order[:2]), (124, b"PO"))
        path = self.place.path(f"{type(self).__name__}.order")
        self.assertEqual(self.ask("order", "sign", "floor", new["id"], "--output", path, *own), {"order": f"in {path}"})
        self.assertEqual(bytes.fromhex(pathlib.Path(path).read_text())[:2], b"PO")
        self.refused(1, "File exists", "order", "sign", "floor", new["id"], "--output", path, *own)
        steps = self.ask("order", "sign", "epoch", new["id"], "--from", str(int(time.time()) - 900 * 86400), *own)
        self.assertEqual([bytes.fromhex(step)[:5] for step in steps["orders"]], [b"PO\1\1\1"] * 3)
        behind = [*own[:2], *self.old_ledger()]
        self.refused(1, "The clock is 200 days beyond", "order", "sign", "floor", new["id"], *behind)
        self.ask("order", "sign", "floor", new["id"], "--trust-clock", *behind)
        self.refused(2, "Unix seconds from 1", "order", "sign", "epoch", new["id"], "--from", "0", *own)
        self.refused(2, "epoch, revoke or floor", "order", "sign", "party", new["id"], *own)
        for word in ("epoch", "floor"):
            self.refused(2, "HARDWARE is missing", "order", "sign", word, *own)
        self.refused(2, "1 to 4294967294", "order", "sign", "revoke", new["id"], "--instance", "07" * 16, "--through",
                     "0", *own)
        self.refused(1, "No hardware .*hardware new", "order", "sign", "floor", "01" * 16, *own)

    def test_ledgers(self):
        own, _ = self.backend()
        new = self.ask("hardware", "new", "--output", self.place.path(f"{type(self).__name__}.noted"))
        self.ask("order", "sign", "revoke", new["id"], "--instance", "07" * 16, *own)
        ledger, copy = own[-1], self.place.path(f"{type(self).__name__}-copy")
        count = self.place.ask("ledger", "copy", ledger, copy, where=[])["pairs"]
        self.assertGreater(count, 0)
        self.refused(1, "has notes already", "ledger", "copy", ledger, copy, where=[])
        self.assertEqual(self.place.ask("ledger", "copy", copy, copy + "-2", where=[]), {"pairs": count})

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

        named = sealed(mmd="production", aud="door.example.com")
        self.refused(1, "not for this service", *issue(new, named, "--classes", "0"))
        self.ask(*issue(new, named, "--classes", "0", "--audience", "door.example.com"))
        behind = ["--classes", "0", "--audience", "door.example.com", *self.old_ledger()]
        own, first = own[:2], own
        self.refused(1, "The clock is 200 days beyond", *issue(new, named, *behind))
        self.ask(*issue(new, named, *behind, "--trust-clock"))
        own = first
        production = sealed(mmd="production")
        limits = ["--classes", "0,2", "--device-classes", "0", "--uses", "7", "--lifetime", "60", "--attempts", "4"]
        made = self.ask(*issue(new, production, *limits))
        seen = inspect(new, made["token"])
        self.assertEqual((seen["integrityClasses"], seen["deviceClasses"]), ([0, 2], [0]))
        self.assertEqual((seen["uses"], seen["generation"], seen["attempts"]), (7, 6, 4))
        self.assertEqual((seen["notAfter"] - seen["issued"], seen["instance"]), (60, "05" * 16))
        self.assertEqual((seen["ratchet"], seen["sealedOnly"]), ("none", False))
        self.refused(1, "do not name ratchets", *issue(new, production, *limits, "--ratchet", "report"))
        self.ask("hardware", "change", new["id"], "--features", "token-2,ratchet")
        for policy in ("report", "refuse"):
            made = self.ask(*issue(new, production, *limits, "--ratchet", policy))
            self.assertEqual(inspect(new, made["token"])["ratchet"], policy)
        self.refused(1, "report.*refuse", *issue(new, production, *limits, "--ratchet", "warn"))
        self.refused(1, "do not name sealed commands", *issue(new, production, *limits, "--sealed-only"))
        self.ask("hardware", "change", new["id"], "--features", "token-2,ratchet,sealed")
        seen = inspect(new, self.ask(*issue(new, production, *limits, "--sealed-only"))["token"])
        self.assertEqual((seen["sealedOnly"], seen["ratchet"], seen["version"]), (True, "none", 2))
        self.assertEqual(seen["channel"], False)
        self.refused(1, "do not name channels", *issue(new, production, *limits, "--channel"))
        self.ask("hardware", "change", new["id"], "--features", "token-2,ratchet,sealed,channels")
        seen = inspect(new, self.ask(*issue(new, production, *limits, "--channel"))["token"])
        self.assertEqual((seen["channel"], seen["sealedOnly"], seen["version"]), (True, False, 2))
        lent = [*limits, "--delegable-classes", "2"]
        self.refused(1, "do not name grants", *issue(new, production, *lent))
        self.ask("hardware", "change", new["id"], "--features", "token-2,grants")
        seen = inspect(new, self.ask(*issue(new, production, *lent))["token"])
        self.assertEqual((seen["delegableClasses"], seen["integrityClasses"], seen["version"]), ([2], [0, 2], 2))
        self.refused(1, "set of classes to delegate", *issue(new, production, *limits, "--delegable-classes", "1"))
        output = name + ".token"
        made = self.ask(*issue(bench, sealed(mmd="development"), "--classes", "1", "--literal", "--output", output))
        self.assertEqual((made["token"], stat.S_IMODE(os.stat(output).st_mode)), (f"in {output}", 0o600))
        seen = inspect(bench, "@" + output, "--development")
        self.assertEqual((seen["form"], seen["uses"], seen["attempts"]), ("literal", "unlimited", 5))
        self.assertEqual(self.place.ask("measurement-token", "inspect", "@" + output, where=[])["bytes"], 288)

        # Hardware with a factory secret: version 2, sealed by suite 2, or nothing.
        safe = self.ask("hardware", "new", "--output", name + ".safe", "--factory-secret", name + ".drawn")
        self.ask("hardware", "factory-key", "--output", name + ".opener")
        self.refused(1, "factory-key", *issue(safe, production, *limits))
        self.refused(1, "was changed, or the factory key", *issue(safe, production, *limits, "--factory-key",
                                                               self.place.write(name + ".other", os.urandom(32))))
        made = self.ask(*issue(safe, production, *limits, "--factory-key", name + ".opener"))
        self.assertEqual(bytes.fromhex(made["token"])[:4], b"PT\2\2")
        seen = inspect(safe, made["token"], "--factory-secret", name + ".drawn")
        self.assertEqual((seen["version"], seen["generation"]), (2, 6))
        unsealed = ["measurement-token", "inspect", made["token"], "--hardware", safe["id"], "--hardware-key",
                    name + ".safe", "--issuer", issuer]
        self.refused(1, "version|newer", *unsealed, where=[])
        self.refused(1, "for other hardware", *unsealed, "--factory-secret", name + ".other", where=[])

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
        # Each address that apps get, from here.
        url = self.place.start_service()
        self.ask("config", "failover", "http://127.0.0.1:1")
        self.ask("config", "region", "abroad", url, "--failover", "http://127.0.0.1:2")
        self.assertEqual(self.ask("config", "show")["regions"],
                         {"abroad": {"url": url, "failover": "http://127.0.0.1:2"}})
        code, output, _ = self.place.run("diagnose", "--regions", "--json", where=self.where)
        states = {finding["what"]: finding["state"] for finding in json.loads(output)}
        self.assertEqual((code, states["region home"], states["region abroad"]), (1, "well", "well"), output)
        self.assertEqual({states["fail-over of home"], states["fail-over of abroad"]}, {"failed"}, output)
        self.ask("config", "failover", "none")
        self.ask("config", "region", "abroad", url)
        self.assertEqual({finding["state"] for finding in self.ask("diagnose", "--regions")}, {"well"})
        self.ask("config", "region", "abroad", "none")
        self.refused(1, "region", "config", "region", "abroad", "none")
        self.refused(1, "no home|not home", "config", "region", "home", url)
        self.assertNotIn("regions", self.ask("config", "show"))
        self.assertIn("apis", self.ask("metrics", "show"))
