#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The token fetch from outside: a real service, an app with the SDK, and this program, which holds PyJWT, jwcrypto and
PyNaCl alone and plays the API backend and the hardware of the literal mode."""

import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time
import unittest

import jwt
import nacl.public
import nacl.signing
from jwcrypto import jwe, jwk
from jwcrypto.common import JWException

from place import BIN, App, Place
from unlock_bounds import UnlockBounds
from unlock_files import UnlockFiles

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import runner  # noqa: E402

LITERAL, ATTEMPTS, GENERATION_AT = 2, 5, 12


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def proof(key, nonce, measurement):
    return hmac.new(key, nonce + measurement, hashlib.sha256).hexdigest()


class Hardware:
    """SPEC.md sections 7 and 8 in the literal form, in a few lines."""

    def __init__(self, identity, secret, issuer):
        self.identity, self.secret, self.issuer = identity, nacl.public.PrivateKey(secret), issuer

    def open(self, token):
        assert len(token) == 288 and token[:4] == b"PT\x01\x01" and token[4:8] == self.identity[:4]
        plain = nacl.public.SealedBox(self.secret).decrypt(token[8:])
        body, signature = plain[:168], plain[168:]
        signed = b"pfc1.token-sign." + bytes(self.secret.public_key) + token[:8] + body
        nacl.signing.VerifyKey(self.issuer).verify(signed, signature)
        assert body[32:48] == self.identity and body[1] == LITERAL
        self.generation, = struct.unpack_from("<I", body, GENERATION_AT)
        self.instance = body[48:64]
        self.keys = {"integrity": body[72:88], "device": body[120:136]}
        self.measured = {"integrity": body[88:120], "device": body[136:168]}

    def judge(self, kind, nonce, answer):
        return hmac.compare_digest(proof(self.keys[kind], nonce, self.measured[kind]), answer)


class Flow(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.place = Place()
        place.make_account()
        place.start_service()
        place.ask("sdk", "add", "--development")
        place.ask("policy", "set", "rejection=app-not-registered")
        place.ask("api", "add", "plain.example.com")
        place.ask("keyset", "add", "ES256", "--kid", "curve")
        place.ask("keyset", "add", "EdDSA", "--kid", "edwards")
        place.ask("api", "add", "curve.example.com", "--keyset", "curve")
        place.ask("api", "add", "edwards.example.com", "--keyset", "edwards")
        place.ask("api", "add", "door.example.com", "--jwe")
        place.ask("keyset", "add", "RS256", "--kid", "rsa", "--bits", "2048")
        place.ask("api", "add", "rsa.example.com", "--keyset", "rsa")
        public = place.ask("keyset", "generate", "ECDH-ES+A256KW", "--output", place.path("vault.jwk"), "--kid", "own",
                           where=[])
        place.ask("keyset", "add", "ECDH-ES+A256KW", "--public", place.write("vault.public", json.dumps(public)))
        place.ask("api", "add", "vault.example.com", "--jwe", "--keyset", "own", "--signed-by", "curve")
        cls.secret = base64.b64decode(place.ask("secret", "get")["secret"])
        cls.sealing = base64.b64decode(place.ask("sealing", "get")["secret"])
        cls.config = place.ask("config", "show")["signed"]
        cls.app, cls.stranger = App(place), App(place, "stranger")
        place.ask("registration", "add", BIN / "app-peer", "--bundle", cls.app.bundle, "--expire-after", "1h")
        for app in (cls.app, cls.stranger):
            assert app.ask("initialise", cls.config) == "well"

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def open(self, token):
        opened = jwe.JWE()
        opened.deserialize(token, jwk.JWK(kty="oct", k=unpadded(self.sealing)))
        return json.loads(opened.payload)

    def measured(self):
        status, token, _, reason = self.app.fetch("door.example.com?measurement")
        self.assertEqual(status, "success", reason)
        return token, self.open(token)

    def test_the_digest_from_files_is_the_running_apps(self):
        listed = [entry["digest"] for entry in self.place.ask("registration", "list")]
        self.assertEqual(listed, [self.app.ask("digest")])
        self.assertNotIn(self.stranger.ask("digest"), listed)

    def test_pyjwt_accepts_our_token_and_refuses_a_failing_apps(self):
        jwks = jwt.PyJWKSet.from_dict(self.place.ask("keyset", "jwks"))
        keys = {"plain": (self.secret, "HS256"), "curve": (jwks["curve"].key, "ES256"),
                "edwards": (jwks["edwards"].key, "EdDSA"), "rsa": (jwks["rsa"].key, "RS256")}
        for name, (key, algorithm) in keys.items():
            with self.subTest(algorithm):
                status, token, _, reason = self.app.fetch(f"{name}.example.com")
                self.assertEqual(status, "success", reason)
                host = f"{name}.example.com"
                claims = jwt.decode(token, key, algorithms=[algorithm], audience=host)
                # A backend that expects no audience, or another API's, takes it for another backend's.
                for other in (None, "other.example.com"):
                    with self.assertRaises(jwt.InvalidAudienceError):
                        jwt.decode(token, key, algorithms=[algorithm], audience=other)
                self.assertTrue(0 < claims["exp"] - time.time() <= 300)
                self.assertEqual(len(base64.b64decode(claims["did"], validate=True)), 16)
                status, token, _, _ = self.stranger.fetch(f"{name}.example.com")
                self.assertEqual(status, "success", "a failing app cannot tell")
                self.assertEqual(sorted(jwt.decode(token, options={"verify_signature": False})), sorted(claims))
                with self.assertRaises(jwt.InvalidSignatureError):
                    jwt.decode(token, key, algorithms=[algorithm], audience=host)

    def test_the_page_reads_a_token_as_it_stands(self):
        page = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "BACKEND.md").read_text(encoding="utf-8")
        block, = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        self.place.ask("api", "add", "api.example.com")
        printed = self.place.ask("secret", "get")["secret"]
        token = self.place.ask("token", "example", "api.example.com")["token"]
        told = {"printed": printed, "token": token}
        exec(block, told)  # pylint: disable=exec-used
        self.assertEqual(told["claims"]["aud"], "api.example.com")
        # As text it is another key.
        with self.assertRaises(jwt.InvalidSignatureError):
            jwt.decode(token, printed, algorithms=["HS256"], audience="api.example.com")

    def test_a_backend_that_knows_no_audience_is_told_none(self):
        self.place.ask("api", "add", "old.example.com", "--audience", "off")
        status, token, _, reason = self.app.fetch("old.example.com")
        self.assertEqual(status, "success", reason)
        self.assertNotIn("aud", jwt.decode(token, self.secret, algorithms=["HS256"]))

    def test_a_custom_token_is_signed_by_a_key_of_its_own(self):
        self.place.ask("policy", "set", "custom-tokens=on")
        made = self.place.ask("customkey", "get")["secret"]
        self.assertNotEqual(base64.b64decode(made), self.secret)
        self.assertEqual(len(base64.b64decode(made)), 64)

    def test_jwcrypto_opens_our_token_and_reads_the_measurement(self):
        _, claims = self.measured()
        for name, count in (("imh", 32), ("dmh", 32), ("mpk", 16), ("dpk", 16), ("did", 16)):
            self.assertEqual(len(base64.b64decode(claims[name], validate=True)), count)
        self.assertEqual(claims["mmd"], "development")
        self.assertGreaterEqual(claims["mgn"], 1)
        status, token, _, _ = self.stranger.fetch("door.example.com?measurement")
        self.assertEqual(status, "success")
        with self.assertRaises(JWException):
            self.open(token)

    def test_only_the_backend_opens_what_is_sealed_to_its_public_key_and_only_the_service_makes_it(self):
        with open(self.place.path("vault.jwk"), encoding="ascii") as file:
            private = jwk.JWK(**json.load(file))
        curve = jwt.PyJWKSet.from_dict(self.place.ask("keyset", "jwks"))["curve"].key

        def inside(app):
            status, token, _, reason = app.fetch("vault.example.com?measurement")
            self.assertEqual(status, "success", reason)
            opened = jwe.JWE()
            opened.deserialize(token, private)
            self.assertEqual(json.loads(opened.objects["protected"])["cty"], "JWT")
            return token, opened.payload.decode()

        token, signed = inside(self.app)
        claims = jwt.decode(signed, curve, algorithms=["ES256"], audience="vault.example.com")
        self.assertEqual(len(base64.b64decode(claims["imh"], validate=True)), 32)
        _, failing = inside(self.stranger)
        with self.assertRaises(jwt.InvalidSignatureError):
            jwt.decode(failing, curve, algorithms=["ES256"], audience="vault.example.com")

        place = self.place
        new = place.ask("hardware", "new", "--output", place.path("vault.key"), "--literal", "--development")
        place.ask("issuer", "new", "--output", place.path("vault-issuer.key"), where=[])
        service = place.write("curve.jwk", json.dumps(place.ask("keyset", "get", "curve")))
        options = ["--keys", f"{place.path('vault.jwk')},{service}", "--issuer-key", place.path("vault-issuer.key"),
                   "--store", place.store, "--ledger", place.path("vault-ledger"), "--classes", "0", "--anyone"]
        unlock = subprocess.run([BIN / "proof-unlock", *map(str, options)], stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, env=place.environment, check=False)
        self.assertEqual(unlock.returncode, 1)
        self.assertIn("for whom", unlock.stderr, "a public key's tokens need an audience")
        server = place.start(BIN / "proof-unlock", *options, "--audience", "vault.example.com")
        port = int(server.stdout.readline().split()[-1])

        def grant(token):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("POST", f"/unlock-grant?hardware={new['id']}&form=literal",
                                   headers={"Proof-Token": token, "Content-Length": "0"})
                response = connection.getresponse()
                return response.status, response.read()
            finally:
                connection.close()

        status, answer = grant(token)
        self.assertEqual((status, len(answer)), (200, 288), answer)
        header = {"alg": "ECDH-ES+A256KW", "enc": "A256GCM", "kid": "own", "typ": "JWT", "cty": "JWT"}
        ours = jwk.JWK.generate(kty="EC", crv="P-256")
        forged = jwt.encode(claims, jwt.PyJWK(json.loads(ours.export()) | {"alg": "ES256"}).key, algorithm="ES256",
                            headers={"kid": "curve"})
        for payload, content in ((forged, "JWT"), (failing, "JWT"), (json.dumps(claims), None)):
            protected = {name: value for name, value in header.items() if name != "cty" or content}
            box = jwe.JWE(payload.encode(), protected=json.dumps(protected))
            box.add_recipient(jwk.JWK(**json.loads(private.export_public())))
            self.assertEqual(grant(box.serialize(compact=True))[0], 401)
        # The service's own token, sealed anew by this program, is the service's still.
        box = jwe.JWE(signed.encode(), protected=json.dumps(header))
        box.add_recipient(jwk.JWK(**json.loads(private.export_public())))
        self.assertEqual(grant(box.serialize(compact=True))[0], 200)

    def test_the_literal_proofs_verify_by_the_formula_alone(self):
        _, claims = self.measured()
        for kind, key, measurement in (("integrity", "mpk", "imh"), ("device", "dpk", "dmh")):
            nonce = os.urandom(16)
            expected = proof(base64.b64decode(claims[key]), nonce, base64.b64decode(claims[measurement]))
            self.assertEqual(self.app.ask("prove", kind, nonce.hex()), expected)
            other = (int.from_bytes(nonce, "big") ^ 1).to_bytes(16, "big")
            self.assertNotEqual(self.app.ask("prove", kind, other.hex()), expected)
            computed = self.place.ask(
                "proof", "compute", "--nonce", nonce.hex(), "--key", base64.b64decode(claims[key]).hex(),
                "--measurement", base64.b64decode(claims[measurement]).hex(), where=[])
            self.assertEqual(computed["proof"], expected)

    def test_this_program_is_backend_and_hardware_of_the_literal_mode(self):
        """A measurement token made, sealed, opened and judged without a line of ours."""
        _, claims = self.measured()
        issuer, identity, secret = nacl.signing.SigningKey.generate(), os.urandom(16), os.urandom(32)
        hardware = Hardware(identity, secret, bytes(issuer.verify_key))
        now = int(time.time())
        body = struct.pack("<BBHHHIIQQ", 2, LITERAL, 1, 1, ATTEMPTS, 2 ** 32 - 1, claims["mgn"], 0, now)
        body += identity + base64.b64decode(claims["did"])
        body += hashlib.sha256(b"pfc1.issuer-id.." + bytes(issuer.verify_key)).digest()[:8]
        body += b"".join(base64.b64decode(claims[name]) for name in ("mpk", "imh", "dpk", "dmh"))
        header = b"PT\x01\x01" + identity[:4]
        public = nacl.public.PrivateKey(secret).public_key
        signature = issuer.sign(b"pfc1.token-sign." + bytes(public) + header + body).signature
        token = header + nacl.public.SealedBox(public).encrypt(body + signature)
        hardware.open(token)
        for kind in ("integrity", "device"):
            nonce = os.urandom(16)
            self.assertTrue(hardware.judge(kind, nonce, self.app.ask("prove", kind, nonce.hex())))
            self.assertFalse(hardware.judge(kind, os.urandom(16), self.app.ask("prove", kind, nonce.hex())))
        inspected = self.place.ask(
            "measurement-token", "inspect", token.hex(), "--hardware", identity.hex(), "--hardware-key",
            self.place.write("python-hardware", secret), "--issuer", bytes(issuer.verify_key).hex(), "--development",
            where=[])
        self.assertEqual((inspected["form"], inspected["generation"]), ("literal", claims["mgn"]))

    def test_unlock_grant_gives_the_hardware_a_token_it_opens(self):
        place = self.place
        key = {"kty": "oct", "alg": "dir", "k": unpadded(self.sealing)}
        files = ["--keys", place.write("sealing.jwk", json.dumps(key))]
        new = place.ask("hardware", "new", "--output", place.path("door.key"), "--literal", "--development")
        strict = place.ask("hardware", "new", "--output", place.path("strict.key"), "--development", where=place.remote)
        issuer = place.ask("issuer", "new", "--output", place.path("issuer.key"), where=[])
        secrets = {name: os.urandom(16).hex() for name in ("ada", "bob")}
        users = [f"{name} {hashlib.sha256(secret.encode()).hexdigest()} {may}" for (name, secret), may in zip(
            secrets.items(), ("*", f"{strict['id']},{'00' * 15}02"), strict=True)]
        users = place.write("users", "\n".join(users) + "\n")
        options = [*files, "--issuer-key", place.path("issuer.key"), "--store", place.store, "--ledger",
                   place.path("backend/ledger"), "--classes", "0,1"]
        for given in ([], ["--users", users, "--anyone"]):
            refused = subprocess.run([BIN / "proof-unlock", *map(str, options), *given], capture_output=True, text=True,
                                     env=place.environment, check=False)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn("one of the two", refused.stderr)
        log = pathlib.Path(place.path("proof-unlock.log"))
        with open(log, "w", encoding="utf-8") as errors:
            server = place.start(BIN / "proof-unlock", *options, "--users", users, "--audience", "door.example.com",
                                 errors=errors)
        references = {}
        port = int(server.stdout.readline().split()[-1])
        limits = pathlib.Path(f"/proc/{server.pid}/limits").read_text(encoding="ascii")
        self.assertRegex(limits, r"Max core file size +1 +1 ", "a core dump would hold its keys")

        def grant(token, hardware, form="literal", method="POST", user=secrets["ada"]):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request(method, f"/unlock-grant?hardware={hardware}&form={form}",
                                   headers={"Proof-Token": token, "Content-Length": "0", "User-Token": user})
                response = connection.getresponse()
                answer = response.status, response.read()
                if answer[0] != 200:
                    references[response.headers["Proof-Reference"]] = answer[1].decode().strip()
                return answer
            finally:
                connection.close()

        token, claims = self.measured()
        status, answer = grant(token, new["id"])
        self.assertEqual(status, 200, answer)
        with open(place.path("door.key"), "rb") as file:
            hardware = Hardware(bytes.fromhex(new["id"]), file.read(), bytes.fromhex(issuer["publicKey"]))
        hardware.open(answer)
        self.assertEqual(hardware.instance, base64.b64decode(claims["did"]))
        self.assertEqual(hardware.generation, claims["mgn"])
        # The text that app and hardware log when this token is presented.
        digest = hashlib.sha256(b"pfc1.token-id..." + answer).hexdigest()
        self.assertIn(f"ref={new['id'][:8]}-t{digest[:8]} issued to instance {hardware.instance.hex()}\n",
                      log.read_text(encoding="utf-8"))
        nonce = os.urandom(16)
        self.assertTrue(hardware.judge("integrity", nonce, self.app.ask("prove", "integrity", nonce.hex())))

        self.assertEqual(grant(token, strict["id"]), (403, b"hardware\n"), "literal by name only")
        self.assertEqual(grant(token, strict["id"], "diversified")[0], 200)
        self.assertEqual(grant(token, new["id"], user=""), (401, b"user\n"), "an app is not a person")
        self.assertEqual(grant(token, new["id"], user="ada"), (401, b"user\n"))
        self.assertEqual(grant(token, new["id"], user=secrets["bob"]), (403, b"rights\n"), "this door is not bob's")
        self.assertEqual(grant(token, strict["id"], "diversified", user=secrets["bob"])[0], 200)
        self.assertEqual(grant(token, "00" * 15 + "01"), (403, b"hardware\n"))
        sealed, _, tag = token.rpartition(".")
        # Each bit of the tag's first letter counts.
        changed = f"{sealed}.{'B' if tag[0] == 'A' else 'A'}{tag[1:]}"
        self.assertEqual(grant(changed, new["id"]), (401, b"signature\n"))
        self.assertEqual(grant("", new["id"]), (401, b"missing\n"))
        self.assertEqual(grant(token, new["id"], method="GET"), (405, b"method\n"))
        _, failing, _, _ = self.stranger.fetch("door.example.com?measurement")
        self.assertEqual(grant(failing, new["id"]), (401, b"signature\n"))
        newer, _ = self.measured()
        self.assertEqual(grant(newer, new["id"])[0], 200)
        self.assertEqual(grant(token, new["id"]), (409, b"superseded\n"), "a generation never goes back")
        place.ask("hardware", "revoke", new["id"], where=place.remote)
        self.assertEqual(grant(newer, new["id"]), (403, b"hardware\n"), "a revocation counts at once")
        late = place.ask("hardware", "new", "--output", place.path("late.key"), "--development", where=place.remote)
        self.assertEqual(grant(newer, late["id"], "diversified")[0], 200, "and so does a registration")
        told = log.read_text(encoding="utf-8")
        self.assertEqual(len(references), 11, references)
        codes = {"signature": "TOKEN-5", "missing": "TOKEN-1", "superseded": "BACKEND-7", "hardware": "BACKEND-"}
        for reference, word in references.items():
            line = next(line for line in told.splitlines() if f"ref={reference} " in line)
            self.assertIn(codes.get(word, ""), line)


class Unlock(unittest.TestCase):
    """proof-unlock by itself: its options, and files that it cannot use."""

    def setUp(self):
        place = self.place = Place()
        self.addCleanup(place.close)
        place.make_account()
        place.ask("issuer", "new", "--output", place.path("issuer.key"), where=[])
        key = {"kty": "oct", "alg": "dir", "k": unpadded(bytes(32))}
        self.options = {"--keys": place.write("sealing.jwk", json.dumps(key)), "--issuer-key": place.path("issuer.key"),
                        "--store": str(place.store), "--ledger": place.path("ledger"), "--classes": "0,1",
                        "--users": place.write("users", f"ada {'0a' * 32} *\n")}

    def refused(self, status, words, *more, without=(), **changed):
        """It ends with a status and words."""
        options = {name: value for name, value in (self.options | changed).items() if name not in without}
        done = subprocess.run([BIN / "proof-unlock", *(word for pair in options.items() for word in pair), *more],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              env=self.place.environment, check=False)
        self.assertEqual((done.returncode, done.stdout), (status, ""), (more, done.stderr))
        self.assertRegex(done.stderr, words)

    def test_options_that_cannot_hold_end_with_2(self):
        for name in ("--keys", "--issuer-key", "--store", "--ledger", "--classes"):
            self.refused(2, f"{name} is missing", without=[name])
        for more, words in (
                (["--port", "65536"], "--port is 65536"), (["--port", "-1"], "--port is -1"),
                (["--anyone"], "give one of the two"), (["--nonsense"], "--nonsense"),
                *((["--token-header", text], "the name of a header, such as Proof-Token")
                  for text in ("", "a b", "a:b", "ä", "a\x7f"))):
            self.refused(2, words, *more)
        for name, value, words in (("--classes", "16", "class"), ("--device-classes", "x", "class"),
                                   ("--attempts", "0", "attempts"), ("--uses", "0", "uses"),
                                   ("--lifetime", "0", "life"), ("--ratchet", "warn", "report.*refuse"),
                                   ("--delegable-classes", "16", "class")):
            with self.subTest(name):
                self.refused(2, words, **{name: value})

    def test_files_that_cannot_be_used_are_named(self):
        place = self.place
        for name in ("--keys", "--issuer-key", "--store", "--users", "--factory-key"):
            self.refused(1, f"proof-unlock: .*{place.path('none')}", **{name: place.path("none")})
        identity = "01" * 16
        for text, words in ((f"ada {'0a' * 32}\n", "user 1: write NAME SHA256 HARDWARE"),
                            (f"ada {'0a' * 31} *\n", "user 1: write NAME SHA256 HARDWARE"),
                            (f"ada {'0a' * 32} * x\n", "user 1: write NAME SHA256 HARDWARE"),
                            (f"ada {'0a' * 32} *\nbob {'0b' * 32} {identity},x\n", "user 2: x is no hardware id"),
                            (f"ada {'0a' * 32} *\nbob {'0a' * 32} *\n", "user 2: its secret is given twice")):
            self.refused(1, f"users, {words}", **{"--users": place.write("users", text)})
        self.refused(1, "proof-unlock: ", **{"--keys": place.write("empty.jwk", '{"keys":[]}')})
        place.write("short.key", bytes(31))
        self.refused(1, "proof-unlock: ", **{"--issuer-key": place.path("short.key")})

    def test_it_answers_one_path_until_its_input_ends(self):
        for more in ([], ["--token-header", "X-Token", "--port", "0"]):
            options = [word for pair in self.options.items() for word in pair]
            server = self.place.start(BIN / "proof-unlock", *options, *more)
            port = int(re.fullmatch(r"listening on port (\d+)\n", server.stdout.readline())[1])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            for path, status, words in (("/", 404, b"there is no such path\n"),
                                        ("/unlock-grant?hardware=x", 401, None)):
                connection.request("POST", path, headers={"Content-Length": "0"})
                response = connection.getresponse()
                body = response.read()
                self.assertEqual((response.status, words is None or body == words), (status, True), body)
            connection.close()
            server.stdin.close()
            self.assertEqual(server.wait(timeout=60), 0)


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(Unlock, UnlockBounds, UnlockFiles, Flow), sys.argv[1:]))
