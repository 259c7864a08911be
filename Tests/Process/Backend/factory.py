#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Hardware with a factory secret, from its registration to a command: proofctl, proof-service, proof-unlock and the
hardware's process. The app and the reader of its tokens are of the second implementation (Tests/Vectors).

No file, log or memory of a backend at rest holds a factory secret.
"""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import unittest

from jwcrypto import jwe, jwk

from place import BIN, Place

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / name) for name in ("Support/Runner", "Adversary/Attacker", "Vectors")]
os.environ.setdefault("PROOF_HARDWARE", str(BIN / "proof-hardware"))
import runner  # noqa: E402
import stage  # noqa: E402
from sealing import SealedApp  # noqa: E402
from proofspec.message import Verdict  # noqa: E402
from proofspec.token import factory_secret, unseal_token_2  # noqa: E402

# A piece of a secret that a search looks for.
WINDOW = 8
PAGE = 4096


def forms(secret):
    """Needles: pieces of the bytes, of their hexadecimal and of their base64."""
    texts = [secret.hex(), secret.hex().upper(), base64.b64encode(secret).decode(),
             base64.urlsafe_b64encode(secret).decode()]
    yield from (secret[at:at + WINDOW] for at in range(len(secret) - WINDOW + 1))
    yield from (text[at:at + 2 * WINDOW].encode() for text in texts for at in range(0, 24))


def is_in(data, secret):
    return any(form in data for form in forms(secret))


def memory(pid):
    """Memory of a process that it can write."""
    held = []
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as file:
        for line in maps:
            first, end, rights = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line).groups()
            # A guard page has no rights, and libsodium's blocks lose them between uses.
            if "[v" in line or rights.startswith("r--") or rights[2] == "x":
                continue
            try:
                file.seek(int(first, 16))
                data = file.read(int(end, 16) - int(first, 16))
            except OSError:  # never written
                continue
            pages = (data[at:at + PAGE] for at in range(0, len(data), PAGE))
            held += [page for page in pages if page.count(0) != len(page)]
    return b"".join(held)


class FactoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.place = Place()
        place.make_account()
        place.start_service()
        cls.app = stage.App(40)
        issuer = place.ask("issuer", "new", "--output", place.path("issuer.key"), where=[])["publicKey"]
        cls.lock = place.ask("hardware", "new", "--output", place.path("lock.key"), "--factory-secret",
                             place.path("lock.factory"))
        place.ask("hardware", "factory-key", "--output", place.path("factory.key"), where=place.remote)
        cls.drawn, cls.key = (pathlib.Path(place.path(name)).read_bytes() for name in ("lock.factory", "factory.key"))
        cls.derived = factory_secret(cls.drawn, bytes.fromhex(cls.lock["id"]))
        cls.hardware = stage.Hardware("factory-backend", [bytes.fromhex(issuer)])
        secret = pathlib.Path(place.path("lock.key")).read_bytes()
        cls.hardware.provision(place.write(
            "provisioning",
            f"id = {cls.lock['id']}\nsecret-key = {secret.hex()}\nfactory-secret = {cls.drawn.hex()}\n"))
        os.remove(place.path("provisioning"))
        cls.sealing = {"kty": "oct", "alg": "dir", "kid": "k",
                       "k": base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()}
        place.write("sealing.jwks", json.dumps({"keys": [cls.sealing]}))

    @classmethod
    def tearDownClass(cls):
        cls.hardware.scrap()
        cls.place.close()

    def setUp(self):
        self.log = open(self.place.path(f"{self._testMethodName}.log"), "w+b")
        self.addCleanup(self.log.close)

    def start(self, *options, ledger="ledger"):
        place = self.place
        self.backend = subprocess.Popen(
            [BIN / "proof-unlock", "--keys", place.path("sealing.jwks"), "--issuer-key", place.path("issuer.key"),
             "--store", str(place.store), "--ledger", place.path(ledger), "--classes", "0,1", "--anyone", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, env=place.environment)
        self.addCleanup(self.end)
        self.port = int(self.backend.stdout.readline().split()[-1])

    def end(self):
        self.backend.stdin.close()
        self.backend.wait(timeout=60)
        self.backend.stdout.close()

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def grant(self, app, generation=1):
        """The protected API, for an app that passed."""
        secrets = app.secrets
        claims = {name: base64.b64encode(value).decode() for name, value in (
            ("imh", secrets.im), ("dmh", secrets.dm), ("mpk", secrets.key), ("dpk", secrets.device_key),
            ("did", app.instance))}
        made = jwe.JWE(json.dumps(claims | {"exp": 4_000_000_000, "mgn": generation, "mmd": "production"}).encode(),
                       protected=json.dumps({"alg": "dir", "enc": "A256GCM", "kid": "k"}))
        made.add_recipient(jwk.JWK(**self.sealing))
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", f"/unlock-grant?hardware={self.lock['id']}",
                               headers={"Proof-Token": made.serialize(compact=True), "Content-Length": "0"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def test_the_hardware_takes_what_the_backend_issues(self):
        self.start("--factory-key", self.place.path("factory.key"))
        status, token = self.grant(self.app)
        self.assertEqual((status, token[:4]), (200, b"PT\2\2"))
        secret = pathlib.Path(self.place.path("lock.key")).read_bytes()
        plain = unseal_token_2(self.derived, secret, self.hardware.id, token)
        self.assertTrue(plain[72:168] == self.app.shared(self.hardware).encoded())
        self.assertTrue(self.hardware.start())
        self.addCleanup(self.hardware.stop)
        with self.hardware.connect() as link:
            self.assertEqual(self.app.present(link, self.hardware, token), Verdict.HELD)
            self.assertEqual(self.app.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_a_token_that_permits_a_channel_opens_one_where_the_registration_names_the_feature(self):
        factory = ["--factory-key", self.place.path("factory.key")]
        self.start(*factory, "--channel", ledger="channel")
        app = stage.App(70)
        self.assertEqual(self.grant(app), (503, b"unavailable\n"))
        self.assertRegex(self.said(), rb"do not name channels")
        self.place.ask("hardware", "change", self.lock["id"], "--features", "token-2,factory-secret,sealed,channels",
                       where=self.place.remote)
        status, token = self.grant(app)
        self.assertEqual(status, 200)
        self.end()
        self.start(*factory, ledger="channel")
        other = stage.App(71)
        _, without = self.grant(other)
        self.assertTrue(self.hardware.start("--seal", "yes", "--channel", "yes"))
        self.addCleanup(self.hardware.stop)
        with self.hardware.connect() as link:
            for app, token, opens in ((app, token, True), (other, without, False)):
                self.assertEqual(app.present(link, self.hardware, token), Verdict.HELD)
                sealing = SealedApp(app, self.hardware, token)
                self.assertEqual(sealing.open(link).verdict, Verdict.ACCEPTED)
                self.assertEqual(sealing.next != 0, opens)
                if opens:
                    self.assertEqual(sealing.go_on(link).verdict, Verdict.ACCEPTED)
                # An app that knows no sealed command is served as before.
                self.assertEqual(app.do(link, self.hardware).verdict, Verdict.ACCEPTED)

    def test_nothing_at_rest_holds_the_secret(self):
        self.start("--factory-key", self.place.path("factory.key"))
        for seed in range(50, 60):
            self.assertEqual(self.grant(stage.App(seed))[0], 200)
        held = memory(self.backend.pid)
        self.assertTrue(any(self.key[at:at + WINDOW] in held for at in range(25)), "the search is blind")
        self.assertFalse(is_in(held, self.drawn), "the drawn secret in memory")
        self.assertFalse(is_in(held, self.derived), "the derived secret in memory")
        self.place.ask("hardware", "list", where=self.place.remote)
        files = [path for path in self.place.folder.rglob("*") if path.is_file() and path.name != "lock.factory"]
        self.assertGreater(len(files), 6)
        for path in files:
            data = path.read_bytes()
            for secret in (self.drawn, self.derived):
                self.assertFalse(is_in(data, secret), path.name)
            if path.name != "factory.key":
                self.assertFalse(is_in(data, self.key), path.name)
        flash = self.hardware.flash.read_bytes()
        self.assertTrue(is_in(flash, self.derived), "the search is blind")
        self.assertFalse(is_in(flash, self.drawn), "the lock keeps what is derived, alone")
        for line in self.hardware.log:
            self.assertFalse(is_in(line.encode(), self.derived))

    def test_issuing_needs_the_right_factory_key(self):
        self.start(ledger="none")
        self.assertEqual(self.grant(self.app), (503, b"unavailable\n"))
        self.assertRegex(self.said(), rb"proofctl hardware factory-key")
        self.end()
        name = self.place.write("wrong.key", os.urandom(32))
        # Another test searches all files for the key.
        self.addCleanup(os.remove, name)
        self.start("--factory-key", name, ledger="none")
        self.assertEqual(self.grant(self.app), (503, b"unavailable\n"))
        self.assertRegex(self.said(), rb"the factory key is not the account's")
        # A key file that is replaced counts from the next request on.
        fresh = self.place.write("fresh.key", self.key)
        os.rename(fresh, name)
        self.assertEqual(self.grant(self.app)[0], 200)

    def test_a_factory_key_that_others_know_is_replaced(self):
        name = self.place.write("replaced.key", self.key)
        self.start("--factory-key", name, ledger="replaced")
        self.assertEqual(self.grant(self.app)[0], 200)
        self.place.ask("hardware", "factory-key", "--replace", "--output", self.place.path("next.key"))
        self.assertEqual(self.grant(self.app)[0], 503)
        os.rename(self.place.path("next.key"), name)
        self.assertEqual(self.grant(self.app)[0], 200)
        self.assertNotEqual(pathlib.Path(name).read_bytes(), self.key)
        type(self).key = pathlib.Path(name).read_bytes()
        os.rename(name, self.place.path("factory.key"))

    def test_a_registration_that_lost_its_features_gets_no_token(self):
        self.start("--factory-key", self.place.path("factory.key"), ledger="down")
        self.assertEqual(self.grant(self.app)[0], 200)
        with contextlib.closing(sqlite3.connect(self.place.store)) as store:
            key = self.lock["id"].encode()
            row, = store.execute("SELECT value FROM row WHERE key = ?", (key,)).fetchone()
            fields = {name: value for name, value in json.loads(row).items()
                      if name not in ("features", "factorySecret")}

            def put(value):
                store.execute("UPDATE row SET value = ? WHERE key = ?", (value, key))
                store.commit()

            put(json.dumps(fields).encode())
            try:
                for app in (self.app, stage.App(60)):
                    self.assertEqual(self.grant(app, 2), (503, b"unavailable\n"))
                self.assertRegex(self.said(), rb"names none any more")
                # After a restart, too.
                self.end()
                self.start("--factory-key", self.place.path("factory.key"), ledger="down")
                self.assertEqual(self.grant(self.app, 2)[0], 503)
            finally:
                put(row)
            self.assertEqual(self.grant(self.app, 2)[0], 200)


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(FactoryTest), sys.argv[1:]))
