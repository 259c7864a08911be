#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Each kind of key is rotated by the commands of docs/ROTATION.md, as they stand, while apps fetch tokens and two
backends check them: proof-unlock, and this program with PyJWT and jwcrypto. Neither refuses a good token, and both
refuse tokens by a retired key."""

import base64
import hmac
import http.client
import json
import os
import pathlib
import re
import sys
import threading
import unittest

import jwt
from jwcrypto import jwe, jwk
from jwcrypto.common import JWException

from flow import Hardware
from place import BIN, App, PageLines, Place

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import runner  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "ROTATION.md"
OWN = ("sealing", "secret", "customkey", "messagekey")


def commands(section, *, instead=None):
    """The lines of a section's blocks."""
    text = re.search(rf"^## {section}\. .*?(?=^## |\Z)", PAGE.read_text(), re.M | re.S)[0]
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()]
    return [re.sub(r"\bsealing\b", instead, line) if instead else line for line in lines]


def header(token):
    text = token.split(".")[0]
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


class Refused(Exception):
    """A backend refused a token."""


class Backends:
    """Checks tokens. Each check raises Refused, or returns the claims."""

    def __init__(self, place):
        self.place = place

    def keys(self, noun):
        return json.loads((self.place.folder / f"{noun}.jwks").read_text())

    def signed(self, token, noun, audience=None):
        keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(self.keys(noun)).keys}
        name = header(token).get("kid")
        if name not in keys:
            raise Refused(f"{noun}: no key {name}")
        try:
            return jwt.decode(token, keys[name].key, algorithms=["HS256"], audience=audience)
        except jwt.PyJWTError as error:
            raise Refused(f"{noun}: {error}") from error

    def published(self, token, audience="curve.example.com"):
        connection = http.client.HTTPConnection(self.place.url.removeprefix("http://"), timeout=60)
        connection.request("GET", "/v1/jwks/acme")
        keys = {key.key_id: key for key in jwt.PyJWKSet.from_dict(json.loads(connection.getresponse().read())).keys}
        connection.close()
        name = header(token).get("kid")
        if name not in keys:
            raise Refused(f"key set: no key {name}")
        try:
            return jwt.decode(token, keys[name].key, algorithms=["ES256"], audience=audience)
        except jwt.PyJWTError as error:
            raise Refused(f"key set: {error}") from error

    def opened(self, token):
        key = jwk.JWKSet.from_json(json.dumps(self.keys("sealing"))).get_key(header(token).get("kid"))
        if key is None:
            raise Refused("sealing: no such key")
        try:
            opened = jwe.JWE()
            opened.deserialize(token, key)
        except JWException as error:
            raise Refused(f"sealing: {error}") from error
        return json.loads(opened.payload)

    def own(self, token):
        """By the backend's own pairs: those that its folder holds. What is sealed is signed by a published key."""
        name = header(token).get("kid")
        file = self.place.folder / f"{name}.jwk"
        if not re.fullmatch(r"b\d", name or "") or not file.exists():
            raise Refused(f"own pair: no key {name}")
        try:
            opened = jwe.JWE()
            opened.deserialize(token, jwk.JWK.from_json(file.read_text()))
        except JWException as error:
            raise Refused(f"own pair: {error}") from error
        return self.published(opened.payload.decode(), "vault.example.com")

    def message(self, token, message, signature):
        """By the key that the token names, and no other."""
        name = self.signed(token, "secret", "plain.example.com")["mskid"]
        keys = {key["kid"]: key["k"] for key in self.keys("messagekey")["keys"]}
        if name not in keys:
            raise Refused(f"messagekey: no key {name}")
        key = base64.urlsafe_b64decode(keys[name] + "=" * (-len(keys[name]) % 4))
        if not hmac.compare_digest(base64.b64encode(hmac.digest(key, message.encode(), "sha256")).decode(), signature):
            raise Refused("messagekey: wrong signature")

    def grant(self, token):
        """proof-unlock: a measurement token's bytes, or nothing where a newer measurement has one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.place.unlock_port, timeout=60)
        connection.request("POST", f"/unlock-grant?hardware={self.place.hardware['id']}&form=literal",
                           headers={"Approov-Token": token, "Content-Length": "0"})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        if response.status not in (200, 409):
            raise Refused(f"proof-unlock: {response.status} {body}")
        return body if response.status == 200 else None


class Load:
    """Apps that fetch tokens of every kind, and backends that check each at once and again later."""

    def __init__(self, place, backends):
        self.place, self.backends = place, backends
        self.failures, self.held, self.rounds, self.checked = [], [], {}, 0
        self.changed, self.stopping = threading.Condition(), False
        self.apps = [App(place, f"app-{number}") for number in range(2)]
        for app in self.apps:
            assert app.ask("initialise", place.config) == "well"
        self.threads = [threading.Thread(target=self.work, args=(number,)) for number in range(len(self.apps))]
        for thread in self.threads:
            thread.start()

    def hold(self, kind, token, check):
        """Checks a token now, and after each later step."""
        check(token)
        with self.changed:
            self.held.append((kind, token, check))
            self.checked += 1

    def fetch(self, app, *words):
        status, token, _, reason = app.ask(*words).split("|")
        if status != "success":
            raise Refused(f"{words}: {status} {reason}")
        return token

    def work(self, number):
        app, count = self.apps[number], 0
        while not self.stopping:
            count += 1
            try:
                token = self.fetch(app, "fetch", "door.example.com?measurement")
                self.hold("sealing", token, self.backends.opened)
                self.hold("unlock", token, self.backends.grant)
                token = self.fetch(app, "bound", f"text-{count}", "plain.example.com")
                self.hold("secret", token, lambda token: self.backends.signed(token, "secret", "plain.example.com"))
                message = f"open:{token}"
                signature = app.ask("sign", message)
                self.backends.message(token, message, signature)
                with self.changed:
                    self.held.append(("messagekey", token, lambda token, message=message, signature=signature:
                                      self.backends.message(token, message, signature)))
                token = self.fetch(app, "custom", '{"role":"door"}')
                self.hold("customkey", token, lambda token: self.backends.signed(token, "customkey"))
                token = self.fetch(app, "fetch", "curve.example.com")
                self.hold("keyset", token, self.backends.published)
                self.hold("own pair", self.fetch(app, "fetch", "vault.example.com?measurement"), self.backends.own)
            except Exception as error:  # noqa: BLE001  Whatever it is, the test tells it.
                with self.changed:
                    self.failures.append(f"app {number}, round {count}: {error!r}")
                    self.stopping = True
            with self.changed:
                self.rounds[number] = count
                self.changed.notify_all()

    def go_on(self):
        """Returns when each app has done a whole round that began after this call; every held token is good."""
        with self.changed:
            wanted = {number: self.rounds.get(number, 0) + 2 for number in range(len(self.apps))}
            done = self.changed.wait_for(
                lambda: self.stopping or all(self.rounds.get(number, 0) >= count for number, count in wanted.items()),
                timeout=600)
            assert done and not self.failures, self.failures
            held = list(self.held)
        for kind, token, check in held:
            try:
                check(token)
            except Refused as error:
                raise AssertionError(f"{kind}: a token that was good is refused: {error}") from error
        return held

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(timeout=300)


class Rotation(PageLines, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.place = Place()
        place.make_account()
        place.start_service()
        place.ask("sdk", "add", "--development")
        place.ask("policy", "set", "rejection=none", "custom-tokens=on", "token-lifetime=3600", "device-rate=0",
                  "address-rate=0")
        place.ask("messagekey", "change")
        for arguments in (["plain.example.com"], ["door.example.com", "--jwe"]):
            place.ask("api", "add", *arguments)
        place.ask("keyset", "add", "ES256", "--kid", "2026")
        place.ask("api", "add", "curve.example.com", "--keyset", "2026")
        public = place.ask("keyset", "generate", "ECDH-ES+A256KW", "--output", place.path("b1.jwk"), "--kid", "b1",
                           where=[])
        place.ask("keyset", "add", "ECDH-ES+A256KW", "--public", place.write("b1.public", json.dumps(public)))
        place.ask("keyset", "add", "ES256", "--kid", "s1")
        place.ask("api", "add", "vault.example.com", "--jwe", "--keyset", "b1", "--signed-by", "s1")
        for noun in OWN:
            place.ask(noun, "keys", "--output", place.path(f"{noun}.jwks"))
        place.config = place.ask("config", "show")["signed"]
        place.hardware = place.ask("hardware", "new", "--output", place.path("door.key"), "--literal", "--development")
        cls.issuers = [bytes.fromhex(place.ask("issuer", "new", "--output", place.path(name), where=[])["publicKey"])
                       for name in ("issuer.key", "next-issuer.key")]
        unlock = place.start(
            BIN / "proof-unlock", "--keys", place.path("sealing.jwks"), "--issuer-key", place.path("issuer.key"),
            "--store", place.store, "--ledger", place.path("ledger"), "--classes", "0", "--anyone", "--audience",
            "door.example.com", "--token-header", "Approov-Token")
        place.unlock_port = int(unlock.stdout.readline().split()[-1])
        cls.backends = Backends(place)
        cls.load = Load(place, cls.backends)

    @classmethod
    def tearDownClass(cls):
        cls.load.stop()
        cls.place.close()

    def refuses_old(self, kind, names):
        """Tokens by these keys are refused, at least one of them; tokens by other keys are taken, at least one."""
        refused = taken = 0
        for held, token, check in list(self.load.held):
            if held != kind:
                continue
            if header(token)["kid"] in names:
                with self.assertRaises(Refused, msg=kind):
                    check(token)
                refused += 1
            else:
                check(token)
                taken += 1
        self.assertGreater(min(refused, taken), 0, f"{kind}: {refused} refused, {taken} taken")
        with self.load.changed:
            self.load.held = [one for one in self.load.held if one[0] != kind or header(one[1])["kid"] not in names]

    def test_1_own_keys(self):
        self.load.go_on()
        lines = {noun: commands(1, instead=noun) for noun in OWN}
        old = {noun: [key["kid"] for key in self.backends.keys(noun)["keys"]] for noun in OWN}
        for noun in OWN:
            self.assertEqual(len(lines[noun]), 5)
            # Out of turn: no key to promote, no key to retire, and a next key that was not handed out.
            self.run_line(f"proofctl {noun} promote", refused="no next key")
            self.run_line(f"proofctl {noun} retire", refused="no old key")
            self.run_line(lines[noun][0])
            self.run_line(lines[noun][0], refused="promote it, or drop it")
            self.run_line(lines[noun][2], refused="never handed out.*Hand it out")
        self.load.go_on()
        for step in (1, 2):
            for noun in OWN:
                self.run_line(lines[noun][step])
            held = self.load.go_on()
        for noun in OWN:
            names = [key["kid"] for key in self.backends.keys(noun)["keys"]]
            self.assertEqual((len(names), names[0]), (2, old[noun][0]))
            self.run_line(lines[noun][3], refused=r"end in \d+ seconds")
            self.assertEqual([key["state"] for key in self.place.ask(noun, "list")], ["active", "old"])
        self.assertEqual({header(token)["kid"] for kind, token, _ in held if kind == "sealing"},
                         {key["kid"] for key in self.backends.keys("sealing")["keys"]}, "tokens by both keys were good")
        for noun in OWN:
            self.run_line(lines[noun][3] + " --at-once")
        self.load.go_on()
        # The message key's tokens are by the secret, whose old ones go as well.
        with self.load.changed:
            self.load.held = [one for one in self.load.held if one[0] != "messagekey"]
        for noun in OWN:
            self.run_line(lines[noun][4])
            self.assertEqual(len(self.backends.keys(noun)["keys"]), 1)
        for kind, noun in (("sealing", "sealing"), ("unlock", "sealing"), ("secret", "secret"),
                           ("customkey", "customkey")):
            self.refuses_old(kind, old[noun])
        with self.load.changed:
            self.load.held = [one for one in self.load.held if one[0] != "messagekey"]
        self.load.go_on()

    def test_2_key_sets(self):
        add, change, remove = commands(2)
        self.run_line(remove, refused="still used by curve.example.com")
        self.run_line(add)
        self.run_line(change, refused=r"for \d+ more seconds")
        self.load.go_on()
        self.run_line(change + " --at-once")
        self.load.go_on()
        listed = {api["host"]: api.get("kid") for api in self.place.ask("api", "list")}
        self.assertEqual(listed["curve.example.com"], "2027")
        self.run_line(remove, refused=r"end in \d+ seconds")
        self.run_line("proofctl api change curve.example.com --keyset 2026 --audience on --at-once")
        self.run_line("proofctl api change curve.example.com --keyset 2027 --at-once")
        self.load.go_on()
        self.run_line(remove + " --at-once")
        self.refuses_old("keyset", ["2026"])
        self.load.go_on()
        # From a key set to the account's own key and back, without a moment at which the API is unknown.
        self.run_line("proofctl keyset add HS256 --kid shared")
        self.run_line("proofctl api change plain.example.com --keyset shared", refused="never handed out")

    def test_3_own_pair(self):
        generate, add, change, remove = commands(3)
        self.run_line(remove, refused="still used by vault.example.com")
        self.run_line(generate)
        self.run_line(generate.split(" >")[0], refused="b2.jwk")
        self.run_line(add)
        self.load.go_on()
        # Its backend handed it in, so nothing has to be waited for.
        self.run_line(change)
        held = self.load.go_on()
        self.assertEqual({header(token)["kid"] for kind, token, _ in held if kind == "own pair"}, {"b1", "b2"})
        self.run_line(remove, refused=r"end in \d+ seconds")
        # The key that signs inside moves as any other published key.
        self.run_line("proofctl keyset add ES256 --kid s2")
        self.run_line("proofctl keyset change s1 s2", refused=r"for \d+ more seconds")
        self.run_line("proofctl api change vault.example.com --signed-by s2", refused=r"for \d+ more seconds")
        self.run_line("proofctl api change vault.example.com --unsigned", refused="--signed-by")
        self.run_line("proofctl keyset change s1 s2 --at-once")
        self.load.go_on()
        self.run_line("proofctl keyset remove s1", refused=r"end in \d+ seconds")
        signers = {api["host"]: api.get("signedBy") for api in self.place.ask("api", "list")}
        self.assertEqual(signers["vault.example.com"], "s2")
        # The service's copy of a public key opens nothing: tokens by it are good while the backend has its pair.
        self.run_line(remove + " --at-once")
        self.load.go_on()

    def test_4_configuration_key(self):
        before = json.loads(json.dumps(self.place.ask("config", "show")))
        held, late = App(self.place, "held"), App(self.place, "late")
        self.assertEqual(held.ask("initialise", before["signed"]), "well")
        (change, retire) = commands(4)

        def serial(app):
            """A newer configuration comes with a fetch."""
            app.ask("bound", os.urandom(8).hex(), "plain.example.com")
            return app.ask("configure")

        self.run_line(change)
        after = self.place.ask("config", "show")
        self.assertNotEqual(after["initial"], before["initial"])
        self.load.go_on()
        for app, first in ((held, None), (late, before["signed"])):
            if first:
                self.assertEqual(app.ask("initialise", first), "well")
            self.assertEqual(serial(app), str(after["serial"]))
        self.run_line(change)
        newest = str(self.place.ask("config", "show")["serial"])
        for app in (held, late):
            self.assertEqual(serial(app), newest)
        new = App(self.place, "new")
        self.assertEqual(new.ask("initialise", self.place.ask("config", "show")["signed"]), "well")
        self.run_line(retire)
        newest = str(self.place.ask("config", "show")["serial"])
        self.assertEqual(serial(new), newest)
        left = App(self.place, "left")
        self.assertEqual(left.ask("initialise", before["signed"]), "well")
        self.assertNotEqual(serial(left), newest, "an app of before the first change is left behind")
        self.load.go_on()

    def test_5_issuer_key(self):
        secret = pathlib.Path(self.place.path("door.key")).read_bytes()

        def signers(token):
            answer = self.backends.grant(token)
            if answer is None:
                return None
            found = []
            for issuer in self.issuers:
                try:
                    Hardware(bytes.fromhex(self.place.hardware["id"]), secret, issuer).open(answer)
                    found.append(issuer)
                except Exception:  # noqa: BLE001, S112  Signed by another.
                    continue
            return found

        app = App(self.place, "opener")
        self.assertEqual(app.ask("initialise", self.place.config), "well")

        def newest():
            return signers(self.load.fetch(app, "fetch", "door.example.com?measurement"))

        show, move = commands(5)
        self.assertEqual(newest(), [self.issuers[0]])
        self.assertIn(self.issuers[1].hex(), self.run_line(show))
        self.run_line(move)
        self.assertEqual(newest(), [self.issuers[1]], "proof-unlock signs with the file that stands there")
        self.load.go_on()
        # A file that cannot be used changes nothing.
        good = pathlib.Path(self.place.path("issuer.key")).read_bytes()
        self.place.write("issuer.key", b"short")
        self.assertEqual(newest(), [self.issuers[1]])
        self.place.write("issuer.key", good)
        self.assertEqual(newest(), [self.issuers[1]])

    def test_6_management_tokens(self):
        add, remove = commands(6)
        first = ["--service", self.place.url, "--token-file", self.place.path("management")]
        second = ["--service", self.place.url, "--token-file", self.place.path("second-token")]
        self.run_line(remove, refused="no token with the role .all. would be left")
        self.run_line(add)
        for where in (first, second):
            self.assertTrue(self.place.ask("api", "list", where=where))
        self.run_line(remove)
        self.assertEqual(self.place.run("api", "list", where=first)[0], 1)
        self.assertTrue(self.place.ask("api", "list", where=second))
        self.assertEqual([token["name"] for token in self.place.ask("management", "list")], ["second"])
        self.load.go_on()

    def test_7_nothing_was_refused(self):
        self.load.stop()
        self.assertEqual(self.load.failures, [])
        print(f"rotation: {self.load.checked} tokens checked while keys changed, none refused")


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(Rotation), sys.argv[1:]))
