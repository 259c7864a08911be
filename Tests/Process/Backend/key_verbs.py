# SPDX-License-Identifier: Apache-2.0

"""The verbs about keys and management tokens, wherever the account is."""

import base64
import json
import os
import pathlib
import re
import stat

from jwcrypto import jwe, jwk

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "MANAGEMENT.md"


class KeyVerbs:
    """Joins `Verbs`, which has `ask` and `refused`."""

    def test_the_steps_of_a_rotation(self):
        for noun in ("secret", "sealing", "customkey", "messagekey"):
            with self.subTest(noun):
                if noun == "messagekey":
                    self.assertEqual(self.ask(noun, "list"), [])
                    self.ask(noun, "change")
                before = self.ask(noun, "list")
                self.assertEqual([key["state"] for key in before], ["active"])
                self.assertEqual(self.ask(noun, "get", "--base64url").get("kid", before[0]["kid"]), before[0]["kid"])
                drawn = self.ask(noun, "next", *(["--printable"] if noun == "secret" else []))
                self.ask(noun, "drop")
                self.refused(1, "no next key", noun, "drop")
                self.ask(noun, "next")
                path = self.place.path(f"{type(self).__name__}.{noun}.jwks")
                self.assertEqual(self.ask(noun, "keys", "--output", path), {"keys": f"in {path}"})
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
                shown = self.ask(noun, "keys")
                self.assertEqual(json.loads(pathlib.Path(path).read_text()), shown)
                self.assertEqual([key["kid"] for key in shown["keys"]][0], before[0]["kid"])
                self.assertNotIn(drawn["kid"], [key["kid"] for key in shown["keys"]], "one that was dropped is gone")
                self.ask(noun, "promote")
                self.refused(1, r"end in \d+ seconds", noun, "retire")
                self.ask(noun, "retire", "--at-once")
                self.ask(noun, "next")
                self.refused(1, "never handed out", noun, "promote")
                self.ask(noun, "promote", "--at-once")
                self.ask(noun, "retire", "--at-once")
                self.refused(1, "refuse every token.*next.*keys.*promote.*retire.*--at-once", noun, "change")
                self.ask(noun, "change", "--at-once")
                after = self.ask(noun, "list")
                self.assertEqual([key["state"] for key in after], ["active"])
                self.assertNotEqual(after[0]["kid"], before[0]["kid"])
                # For people a time is a date.
                text = self.place.run(noun, "list", where=self.where)[1]
                self.assertRegex(text, r"^kid +state +added\n[0-9a-f]{16} +active +20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$")
        self.ask("messagekey", "remove")

    def test_an_api_moves_between_keys(self):
        self.ask("api", "add", "moves.example.com")
        for kid, algorithm in (("m1", "ES256"), ("m2", "HS256")):
            self.ask("keyset", "add", algorithm, "--kid", kid)
        self.refused(1, "more seconds", "api", "change", "moves.example.com", "--keyset", "m1")
        self.refused(2, "say what to change", "api", "change", "moves.example.com")
        self.refused(1, "one of the two", "api", "change", "moves.example.com", "--keyset", "m1", "--own-key")
        self.ask("api", "change", "moves.example.com", "--keyset", "m1", "--at-once", "--audience", "off")
        self.assertEqual(self.refused_words("api", "add", "moves.example.com"), "api change")
        self.refused(1, "never handed out", "keyset", "change", "m1", "m2")
        self.ask("keyset", "get", "m2")
        self.assertEqual(self.ask("keyset", "change", "m1", "m2"), {"apis": ["moves.example.com"]})
        self.assertEqual(self.ask("keyset", "change", "m2", "m1", "--at-once"), {"apis": ["moves.example.com"]})
        self.refused(1, "still used", "keyset", "remove", "m1", "--at-once")
        self.ask("api", "change", "moves.example.com", "--own-key", "--audience", "policy")
        api = [api for api in self.ask("api", "list") if api["host"] == "moves.example.com"]
        self.assertEqual(api, [{"host": "moves.example.com", "kind": "token"}])
        self.refused(1, r"end in \d+ seconds", "keyset", "remove", "m1")
        for kid in ("m1", "m2"):
            self.ask("keyset", "remove", kid, "--at-once")
        self.ask("api", "remove", "moves.example.com")

    def refused_words(self, *arguments):
        """The verb that a refusal names."""
        _, _, errors = self.place.run(*arguments, where=self.where)
        return re.search("“([^“]*)” changes it", errors)[1]

    def test_the_configuration_key(self):
        before = self.ask("config", "show")
        self.ask("config", "change-key")
        after = self.ask("config", "show")
        self.assertNotEqual(after["initial"], before["initial"])
        self.assertEqual((after["serial"], len(after["handovers"])), (before["serial"] + 1, 1))
        self.refused(1, "confirmed with YES", "config", "retire-keys", "yes")
        self.ask("config", "retire-keys", "YES")
        self.assertNotIn("handovers", self.ask("config", "show"))

    def test_the_page_says_how_tools_get_tokens_of_their_own(self):
        section = PAGE.read_text().split("## Roles of management tokens")[1].split("\n## ")[0]
        add, show, remove = [line.split()[1:] for line in section.splitlines() if line.startswith("proofctl ")]
        path = self.place.path(f"{type(self).__name__}.{add[-1]}")
        self.assertEqual(self.ask(*add[:-1], path), {"token": f"in {path}"})
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual({token["name"]: token["role"] for token in self.ask(*show)}, {"owner": "all", "ci": "enrol"})
        first = pathlib.Path(path).read_text()
        self.ask("management", "change", "ci", "--output", path)
        self.assertNotEqual(pathlib.Path(path).read_text(), first)
        if hasattr(self.place, "url"):
            where = ["--service", self.place.url, "--token-file", path]
            self.assertEqual(self.place.ask("registration", "list", where=where), self.ask("registration", "list"))
            self.refused(1, "role .enrol. of this token does not cover .secret/get.", "secret", "get", where=where)
        self.refused(1, "already", "management", "add", "ci", "--role", "read")
        self.refused(1, "all, read, hardware, enrol", "management", "add", "cj", "--role", "king")
        self.refused(2, "--role is missing", "management", "add", "cj")
        self.refused(1, "no token with the role", "management", "remove", "owner")
        self.ask(*remove)
        self.refused(1, "no management token", "management", "remove", "ci")

    def test_secret(self):
        before = base64.b64decode(self.ask("secret", "get")["secret"], validate=True)
        self.assertEqual(len(before), 64)
        url = self.ask("secret", "get", "--base64url")["secret"]
        self.assertEqual(base64.urlsafe_b64decode(url + "=" * (-len(url) % 4)), before)
        self.assertEqual(self.ask("secret", "change", "--at-once"), {})
        self.assertNotEqual(base64.b64decode(self.ask("secret", "get")["secret"]), before)
        self.ask("secret", "change", "--printable", "--at-once")
        self.assertTrue(base64.b64decode(self.ask("secret", "get")["secret"]).decode().isprintable())
        key = self.ask("sealing", "get")["secret"]
        self.assertRegex(self.ask("sealing", "get", "--base64url")["secret"], "^[A-Za-z0-9_-]{43}$")
        self.ask("sealing", "change", "--at-once")
        self.assertNotEqual(self.ask("sealing", "get")["secret"], key)

    def test_the_key_of_custom_tokens(self):
        key = base64.b64decode(self.ask("customkey", "get")["secret"], validate=True)
        self.assertEqual(len(key), 64)
        url = self.ask("customkey", "get", "--base64url")["secret"]
        self.assertEqual(base64.urlsafe_b64decode(url + "=" * (-len(url) % 4)), key)
        self.ask("customkey", "change", "--at-once")
        self.assertNotEqual(base64.b64decode(self.ask("customkey", "get")["secret"]), key)

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
        self.assertNotEqual(self.ask("messagekey", "change", "--at-once")["id"], made["id"])
        self.ask("messagekey", "remove")
        self.assertIsNone(self.ask("messagekey", "get")["secret"])

    def test_keysets(self):
        self.assertEqual(self.ask("keyset", "add", "EdDSA", "--kid", "e1")["kid"], "e1")
        self.ask("keyset", "add", "dir", "--kid", "d1")
        self.assertEqual({key["kid"] for key in self.ask("keyset", "list")} >= {"e1", "d1"}, True)
        published = [key["kid"] for key in self.ask("keyset", "jwks")["keys"]]
        self.assertEqual([kid for kid in published if kid in ("e1", "d1")], ["e1"])
        self.assertNotIn("d", self.ask("keyset", "get", "e1"))
        self.assertIn("k", self.ask("keyset", "get", "d1"))
        self.refused(1, "already", "keyset", "add", "ES256", "--kid", "e1")
        self.refused(1, "allowed: HS256", "keyset", "add", "RS384")
        for kid in ("e1", "d1"):
            self.ask("keyset", "remove", kid)

    def test_keys_of_rsa(self):
        self.ask("keyset", "add", "RS256", "--kid", "r1", "--bits", "2048")
        self.refused(1, "2048, 3072 and 4096", "keyset", "add", "RS256", "--bits", "1024")
        self.refused(1, "one size", "keyset", "add", "ES256", "--bits", "2048")
        self.refused(2, "2048, 3072 or 4096", "keyset", "add", "RS256", "--bits", "many")
        key = self.ask("keyset", "get", "r1")
        self.assertEqual(sorted(key), ["alg", "e", "kid", "kty", "n", "use"])
        pem = self.ask("keyset", "get", "r1", "--pem")["pem"]
        self.assertEqual(jwk.JWK.from_pem(pem.encode()).thumbprint(), jwk.JWK(**key).thumbprint())
        shown = self.place.run("keyset", "get", "r1", "--pem", where=self.where)[1]
        self.assertEqual(shown, pem, "for people it is the PEM itself")
        self.ask("keyset", "remove", "r1")
        self.ask("keyset", "add", "dir", "--kid", "d1")
        self.refused(1, "published", "keyset", "get", "d1", "--pem")
        self.ask("keyset", "remove", "d1")

    def test_a_backends_public_key(self):
        own = f"own-{self.where and 'remote' or 'store'}.jwk"
        path = self.place.path(own)
        public = self.place.ask("keyset", "generate", "ECDH-ES+A256KW", "--output", path, "--kid", "b1", where=[])
        self.place.ask("keyset", "generate", "RSA-OAEP-256", "--output", path + ".rsa", "--bits", "2048", where=[])
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertNotIn("d", public)
        with open(path, encoding="ascii") as file:
            private = json.load(file)
        self.assertEqual({name: private[name] for name in public}, public)
        file = self.place.write(own + ".public", json.dumps(public), mode=0o644)
        self.assertEqual(self.ask("keyset", "add", "ECDH-ES+A256KW", "--public", file)["kid"], "b1")
        pem = jwk.JWK(**public).export_to_pem()
        file = self.place.write(own + ".pem", pem, mode=0o644)
        added = self.ask("keyset", "add", "ECDH-ES+A256KW", "--public", file, "--kid", "b2")
        self.assertIs(added["public"], True)
        self.assertEqual(self.ask("keyset", "get", "b2", "--pem")["pem"], pem.decode())
        self.refused(1, "private key", "keyset", "add", "ECDH-ES+A256KW", "--public", path)
        secret = self.place.write(own + ".secret", jwk.JWK(**private).export_to_pem(True, None))
        self.refused(1, "private key", "keyset", "add", "ECDH-ES+A256KW", "--public", secret)
        self.refused(1, "not supported", "keyset", "add", "RSA-OAEP-256", "--public", file)
        self.refused(1, "not there", "keyset", "add", "RSA-OAEP-256", "--public", self.place.path("nothing"))
        self.refused(2, "exclude", "keyset", "add", "RSA-OAEP-256", "--public", file, "--bits", "2048")
        self.refused(1, "--public FILE", "keyset", "add", "ECDH-ES+A256KW")
        self.refused(2, "makes keys of", "keyset", "generate", "ES256", "--output", path, where=[])
        self.refused(1, "exists", "keyset", "generate", "ECDH-ES+A256KW", "--output", path, where=[])
        self.assertNotIn("b1", [key["kid"] for key in self.ask("keyset", "jwks")["keys"]])
        self.ask("keyset", "add", "ES256", "--kid", "s1")
        self.refused(1, "--signed-by", "api", "add", "vault.example.com", "--jwe", "--keyset", "b1")
        self.ask("api", "add", "vault.example.com", "--jwe", "--keyset", "b1", "--signed-by", "s1")
        self.refused(1, "still used by vault", "keyset", "remove", "s1")
        self.ask("keyset", "add", "EdDSA", "--kid", "s2")
        change = ["api", "change", "vault.example.com"]
        self.refused(1, "more seconds", *change, "--signed-by", "s2")
        self.refused(1, "one of the two", *change, "--signed-by", "s2", "--unsigned")
        self.refused(1, "--signed-by", *change, "--unsigned")
        self.ask(*change, "--signed-by", "s2", "--at-once")
        self.refused(1, r"end in \d+ seconds", "keyset", "remove", "s1")
        token = self.ask("token", "example", "vault.example.com")["token"]
        outer = jwe.JWE()
        outer.deserialize(token, jwk.JWK(**private))
        self.assertEqual(len(outer.payload.split(b".")), 3)
        code, output, _ = self.place.run("token", "check", token, "--json", where=self.where)
        self.assertEqual(code, 1)
        self.assertIn("only that backend opens it", json.loads(output)["problem"])
        self.ask(*change, "--own-key", "--unsigned")
        self.ask("api", "remove", "vault.example.com")
        for kid in ("b1", "b2", "s1", "s2"):
            self.ask("keyset", "remove", kid, "--at-once")
