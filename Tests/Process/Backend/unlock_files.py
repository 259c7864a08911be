# SPDX-License-Identifier: Apache-2.0

"""proof-unlock with files that change while it runs, with the headers that it reads, and with the rights that it gives.
This program makes the service's tokens itself."""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import re
import unittest

from jwcrypto import jwe, jwk

from place import BIN, Place


class UnlockFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.place = Place()
        cls.addClassCleanup(place.close)
        place.make_account()
        cls.hardware = place.ask("hardware", "new", "--output", place.path("door.key"), "--features",
                                 "token-2,ratchet,grants,sealed,channels")["id"]
        cls.issuer = place.ask("issuer", "new", "--output", place.path("issuer.key"), where=[])["publicKey"]
        cls.generation = 0

    def setUp(self):
        self.key = {"kty": "oct", "alg": "dir", "kid": "k",
                    "k": base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()}
        self.place.write("sealing.jwk", json.dumps(self.key))
        self.log = pathlib.Path(self.place.path("unlock.log"))
        self.read = 0

    def start(self, *more, users=("--anyone",), classes="0,1"):
        place = self.place
        options = ["--keys", place.path("sealing.jwk"), "--issuer-key", place.path("issuer.key"), "--store",
                   place.store, "--ledger", place.path("ledger"), "--classes", classes]
        with open(self.log, "w", encoding="utf-8") as errors:
            server = place.start(BIN / "proof-unlock", *options, *users, *more, errors=errors)
        self.port = int(re.fullmatch(r"listening on port (\d+)\n", server.stdout.readline())[1])
        self.read = 0

        def end():
            server.stdin.close()
            self.assertEqual(server.wait(timeout=60), 0)
        self.addCleanup(end)

    def token(self, **more):
        """A token of a newer generation, as the service would seal it."""
        type(self).generation += 1
        claims = {name: base64.b64encode(bytes([value] * count)).decode() for name, value, count in
                  (("imh", 1, 32), ("dmh", 2, 32), ("mpk", 3, 16), ("dpk", 4, 16), ("did", 5, 16))}
        claims |= {"exp": 4_000_000_000, "mgn": self.generation, "mmd": "production"} | more
        made = jwe.JWE(json.dumps(claims).encode(),
                       protected=json.dumps({"alg": "dir", "enc": "A256GCM", "kid": "k"}))
        made.add_recipient(jwk.JWK(**self.key))
        return made.serialize(compact=True)

    def grant(self, token=None, header="Proof-Token", **fields):
        """Status and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            headers = {name.replace("_", "-"): value for name, value in fields.items()}
            connection.request("POST", f"/unlock-grant?hardware={self.hardware}",
                               headers=headers | {header: token or self.token(), "Content-Length": "0"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def told(self):
        """The program's own lines since the last call."""
        text = self.log.read_text(encoding="utf-8")
        new, self.read = text[self.read:], len(text)
        return [line for line in new.splitlines() if line.startswith("proof-unlock: ")]

    def rights(self, *more, **options):
        """The rights of a token that this program issues with some options."""
        self.start(*more, **options)
        status, token = self.grant()
        self.assertEqual(status, 200, token)
        return self.place.ask("measurement-token", "inspect", token.hex(), "--hardware", self.hardware,
                              "--hardware-key", self.place.path("door.key"), "--issuer", self.issuer, where=[])

    def test_users_who_are_added_count_at_once_and_a_bad_file_changes_nothing(self):
        def users(*names, end=""):
            lines = [f"{name} {hashlib.sha256(name.encode()).hexdigest()} *\n" for name in names]
            return self.place.write("users", "".join(lines) + end)

        self.start(users=("--users", users("ada")))
        self.assertEqual([self.grant(User_Token=name)[0] for name in ("ada", "bob")], [200, 401])
        self.assertEqual(self.told(), [])
        users("ada", "bob")
        self.assertEqual([self.grant(User_Token=name)[0] for name in ("ada", "bob")], [200, 200])
        self.assertEqual(self.told(), ["proof-unlock: read its files again"])
        path = users("bob", end="eve\n")
        self.assertEqual([self.grant(User_Token=name)[0] for name in ("ada", "bob", "eve")], [200, 200, 401])
        self.assertEqual(self.told(), [f"proof-unlock: {path}, user 2: write NAME SHA256 HARDWARE,…|*. "
                                       "The previous files stay in use; replace the named one."])
        users("bob")
        self.assertEqual([self.grant(User_Token=name)[0] for name in ("ada", "bob")], [401, 200])

    def test_a_key_that_is_replaced_opens_no_token_any_more(self):
        self.start()
        old = self.token()
        self.assertEqual(self.grant(old)[0], 200)
        self.key["k"] = base64.urlsafe_b64encode(bytes(32)).rstrip(b"=").decode()
        self.place.write("sealing.jwk", json.dumps(self.key))
        self.assertEqual(self.grant(old)[0], 401)
        self.assertEqual(self.grant()[0], 200)

    def test_several_files_of_keys_count(self):
        self.place.write("other.jwk", json.dumps(self.key | {"kid": "other", "k": "A" * 43}))
        other = self.place.path("other.jwk")
        self.start("--port", "0")
        self.assertEqual(self.grant()[0], 200)
        options = ["--keys", f"{other},{self.place.path('sealing.jwk')}"]
        place = self.place
        server = place.start(BIN / "proof-unlock", *options, "--issuer-key", place.path("issuer.key"), "--store",
                             place.store, "--ledger", place.path("ledger"), "--classes", "0", "--anyone")
        self.port = int(server.stdout.readline().split()[-1])
        self.assertEqual(self.grant()[0], 200)
        server.stdin.close()
        self.assertEqual(server.wait(timeout=60), 0)

    def test_a_token_comes_in_the_header_that_was_named(self):
        self.start()
        self.assertEqual(self.grant()[0], 200)
        self.assertEqual(self.grant(header="X-Token"), (401, b"missing\n"))
        self.start("--token-header", "X-Token")
        self.assertEqual(self.grant(header="x-token")[0], 200)
        self.assertEqual(self.grant(), (401, b"missing\n"))
        # Each visible character of ASCII but the colon.
        name = "!#$%&'*+-.^_`|~0Az"
        self.start("--token-header", name)
        self.assertEqual(self.grant(header=name)[0], 200)

    def test_a_token_is_bound_to_the_header_that_was_named(self):
        bound = base64.b64encode(hashlib.sha256(b"Bearer a").digest()).decode()
        self.start("--binding-header", "AUTHORIZATION")
        self.assertEqual(self.grant(self.token(pay=bound), Authorization="Bearer a")[0], 200)
        for token, fields in ((self.token(pay=bound), {"Authorization": "Bearer b"}),
                              (self.token(), {"Authorization": "Bearer a"}), (self.token(pay=bound), {})):
            self.assertEqual(self.grant(token, **fields)[0], 401)
        self.start()
        self.assertEqual(self.grant(self.token(pay=bound), Authorization="Bearer b")[0], 200)

    def test_a_token_is_for_the_api_that_was_named(self):
        self.start("--audience", "door.example.com")
        for more, status in (({"aud": "door.example.com"}, 200), ({"aud": "other.example.com"}, 401), ({}, 401)):
            self.assertEqual(self.grant(self.token(**more))[0], status, more)
        self.start()
        self.assertEqual(self.grant(self.token(aud="door.example.com"))[0], 401)

    def test_rights_are_those_of_the_options(self):
        least = self.rights(classes="1")
        self.assertEqual((least["integrityClasses"], least["deviceClasses"], least["delegableClasses"]), ([1], [], []))
        self.assertEqual((least["attempts"], least["uses"], least["notAfter"] - least["issued"]),
                         (5, "unlimited", 30 * 86_400))
        self.assertEqual((least["ratchet"], least["sealedOnly"], least["channel"]), ("none", False, False))
        most = self.rights("--device-classes", "0,3", "--attempts", "9", "--uses", "7", "--lifetime", "60",
                           "--ratchet", "refuse", "--delegable-classes", "2", classes="0,2,3")
        self.assertEqual((most["integrityClasses"], most["deviceClasses"], most["delegableClasses"]),
                         ([0, 2, 3], [0, 3], [2]))
        self.assertEqual((most["attempts"], most["uses"], most["notAfter"] - most["issued"]), (9, 7, 60))
        self.assertEqual((most["ratchet"], most["sealedOnly"], most["channel"]), ("refuse", False, False))
        sealed = self.rights("--sealed-only")
        self.assertEqual((sealed["sealedOnly"], sealed["channel"]), (True, False))
        channel = self.rights("--channel")
        self.assertEqual((channel["sealedOnly"], channel["channel"]), (False, True))
