# SPDX-License-Identifier: Apache-2.0

"""ProofJOSE against PyJWT, cryptography and jwcrypto: keys, signed and sealed tokens, both ways."""

import base64
import hashlib
import hmac
import json
import pathlib
import random
import sys
import time
import unittest

import jwt
from cryptography.hazmat.primitives import serialization
from jwcrypto import jwe, jwk
from jwcrypto.common import JWException

from peer import Peer, Refused

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import runner  # noqa: E402

SIGNING = ["HS256", "ES256", "EdDSA", "RS256"]
SEALING = ["dir", "A256KW"]
# To a public key: what is sealed is signed inside.
PUBLIC = ["ECDH-ES+A256KW", "RSA-OAEP-256"]
NOW = int(time.time())
# PyJWT compares with its clock: far beyond the end of these tests, however long they take.
LATER = NOW + 86_400
IM, DM, MPK = bytes(range(32)), bytes(range(100, 132)), bytes(range(200, 216))
PLAIN = {"exp": LATER, "did": bytes(range(16)).hex(), "ip": "2001:db8::1", "arc": "ABCDEFGH27",
         "anno": ["debug"], "bound": "Bearer abc", "vendor": {"text": "\u00e9\"\\/\u2028", "list": [1, None, True]}}
MEASURED = dict(PLAIN, imh=IM.hex(), dmh=DM.hex(), mpk=MPK.hex())

peer = Peer()


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def padded(data):
    return base64.b64encode(data).decode()


rsa_keys = {}


def generated(algorithm, kid="k1"):
    """A fresh key; of RSA one of two that are made once, because making one takes seconds on a busy machine."""
    if not algorithm.startswith("RS"):
        return peer.ask("generate", alg=algorithm, kid=kid)
    made = rsa_keys.setdefault(algorithm, [])
    if len(made) < 2:
        made.append(peer.ask("generate", alg=algorithm, kid=kid))
    else:
        made.append(made.pop(0))
    return made[-1] | {"kid": kid}


def checking_key(key):
    """The key of a backend: the public key, or the shared secret."""
    return key if key["kty"] == "oct" else peer.ask("public", key=key)


def accepted_by_pyjwt(token, key, **options):
    return jwt.decode(token, jwt.PyJWK(checking_key(key)).key, algorithms=[key["alg"]], **options)


made_rsa = {}


def rsa_of(size, algorithm):
    """A key of jwcrypto, made once."""
    if size not in made_rsa:
        made_rsa[size] = jwk.JWK.generate(kty="RSA", size=size, alg=algorithm)
    return made_rsa[size]


class Signed(unittest.TestCase):
    def test_pyjwt_accepts_our_tokens_and_reads_their_encodings(self):
        for algorithm in SIGNING:
            with self.subTest(algorithm):
                key = generated(algorithm)
                token = peer.ask("sign", key=key, claims=PLAIN)
                claims = accepted_by_pyjwt(token, key)
                self.assertEqual(claims.pop("did"), padded(bytes(range(16))))
                self.assertEqual(claims.pop("pay"), padded(hashlib.sha256(b"Bearer abc").digest()))
                expected = {name: PLAIN[name] for name in PLAIN if name not in ("did", "bound")}
                self.assertEqual(claims, expected)
                self.assertEqual(jwt.get_unverified_header(token), {"alg": algorithm, "kid": "k1", "typ": "JWT"})

    def test_pyjwt_finds_the_key_in_our_published_set(self):
        keys = [generated(algorithm, kid=algorithm) for algorithm in SIGNING]
        published = jwt.PyJWKSet.from_dict(peer.ask("publish", keys=keys))
        self.assertEqual([key.key_id for key in published.keys], ["ES256", "EdDSA", "RS256"])
        for key in keys[1:]:
            token = peer.ask("sign", key=key, claims=PLAIN)
            found = published[jwt.get_unverified_header(token)["kid"]]
            self.assertEqual(jwt.decode(token, found.key, algorithms=[key["alg"]])["arc"], "ABCDEFGH27")

    def test_pyjwt_refuses_a_failing_apps_token_which_looks_the_same(self):
        for algorithm in SIGNING:
            good, failing = generated(algorithm), generated(algorithm)
            token = peer.ask("sign", key=failing, claims=PLAIN)
            other = peer.ask("sign", key=good, claims=PLAIN)
            self.assertEqual(token.split(".")[:2], other.split(".")[:2])
            self.assertEqual(len(token), len(other))
            with self.assertRaises(jwt.InvalidSignatureError):
                accepted_by_pyjwt(token, good)

    def test_pyjwt_refuses_what_has_expired_or_is_for_others(self):
        for algorithm in SIGNING:
            key = generated(algorithm)
            for change, error in [({"exp": NOW - 1}, jwt.ExpiredSignatureError),
                                  ({"aud": ["x"]}, jwt.InvalidAudienceError),
                                  ({"nbf": LATER}, jwt.ImmatureSignatureError),
                                  ({"iat": LATER}, jwt.ImmatureSignatureError)]:
                token = peer.ask("sign", key=key, claims=dict(PLAIN, **change))
                with self.assertRaises(error):
                    accepted_by_pyjwt(token, key)

    def test_pyjwt_refuses_our_token_with_any_character_changed(self):
        key = generated("HS256")
        token = peer.ask("sign", key=key, claims=PLAIN)
        for place in range(len(token)):
            # In their upper bits: PyJWT does not look at those that a part's last character has to spare.
            altered = token[:place] + ("A" if token[place] != "A" else "g") + token[place + 1:]
            with self.assertRaises(jwt.InvalidTokenError):
                accepted_by_pyjwt(altered, key)
            with self.assertRaises(Refused):
                peer.ask("verify", key=key, token=altered, now=NOW)

    def test_we_accept_pyjwts_tokens(self):
        for algorithm in SIGNING:
            key = generated(algorithm)
            for expiry in (LATER, LATER + 0.5, float(LATER)):
                claims = {"exp": expiry, "did": padded(bytes(16)), "sub": "x", "more": [1, {"a": "\u00e9"}]}
                token = jwt.encode(claims, jwt.PyJWK(key).key, algorithm=algorithm, headers={"kid": "k1"})
                read = peer.ask("verify", key=checking_key(key), token=token, now=NOW)
                self.assertEqual(float(read["exp"]), expiry)
                self.assertEqual((read["did"], read["sub"], read["more"]), (padded(bytes(16)), "x", claims["more"]))

    def test_we_refuse_pyjwts_tokens_of_other_algorithms_keys_and_times(self):
        key = generated("HS256")
        secret = decoded(key["k"])
        good = {"exp": LATER}
        for token in [jwt.encode(good, secret, algorithm="HS512", headers={"kid": "k1"}),
                      jwt.encode(good, secret, algorithm="HS384", headers={"kid": "k1"}),
                      jwt.encode(good, None, algorithm="none", headers={"kid": "k1"}),
                      # A secret without its last byte is the same to HMAC if that byte is 0.
                      jwt.encode(good, secret[:-1] + bytes([secret[-1] ^ 1]), algorithm="HS256",
                                 headers={"kid": "k1"}),
                      jwt.encode(good, secret, algorithm="HS256", headers={"kid": "k2"}),
                      jwt.encode(good, secret, algorithm="HS256"),
                      jwt.encode({"exp": NOW}, secret, algorithm="HS256", headers={"kid": "k1"}),
                      jwt.encode({}, secret, algorithm="HS256", headers={"kid": "k1"}),
                      jwt.encode(dict(good, aud="x"), secret, algorithm="HS256", headers={"kid": "k1"}),
                      jwt.encode(dict(good, nbf=NOW + 9), secret, algorithm="HS256", headers={"kid": "k1"})]:
            with self.assertRaises(Refused):
                peer.ask("verify", key=key, token=token, now=NOW)
        unnamed = jwt.encode(good, secret, algorithm="HS256")
        self.assertEqual(peer.ask("verify", key=key, token=unnamed, now=NOW, kid="optional"), {"exp": str(LATER),
                                                                                               "aud": []})

    def test_a_public_key_signs_nothing_as_a_shared_secret(self):
        for algorithm in ("ES256", "EdDSA", "RS256"):
            public = checking_key(generated(algorithm))
            pem = jwt.PyJWK(public).key.public_bytes(serialization.Encoding.PEM,
                                                     serialization.PublicFormat.SubjectPublicKeyInfo)
            for secret in (pem, pem.strip(), json.dumps(public).encode(), decoded(public.get("x") or public["n"])):
                parts = [unpadded(json.dumps({"alg": "HS256", "kid": "k1"}).encode()),
                         unpadded(json.dumps({"exp": LATER}).encode())]
                mac = hmac.digest(secret, ".".join(parts).encode(), "sha256")
                with self.assertRaises(Refused):
                    peer.ask("verify", key=public, token=".".join(parts + [unpadded(mac)]), now=NOW)

    def test_audience_and_binding_are_what_the_backend_asks_for(self):
        key = generated("ES256")
        token = peer.ask("sign", key=key, claims=dict(PLAIN, aud=["api.example"]))
        self.assertEqual(accepted_by_pyjwt(token, key, audience="api.example")["aud"], "api.example")
        asked = {"key": checking_key(key), "token": token, "now": NOW, "audience": "api.example"}
        self.assertEqual(peer.ask("verify", bound="Bearer abc", **asked)["aud"], ["api.example"])
        with self.assertRaises(Refused):
            peer.ask("verify", bound="Bearer abd", **asked)
        with self.assertRaises(Refused):
            peer.ask("verify", **dict(asked, audience="other.example"))

    def test_pyjwt_accepts_each_token_that_we_accept(self):
        """Rightly signed nonsense from a fixed seed: we may be stricter, never more lenient, and read the same."""
        dice = random.Random(7)
        key = generated("HS256")
        secret = decoded(key["k"])
        pieces = ['"exp":%d' % LATER, '"exp":%d.5' % LATER, '"exp":"1"', '"exp":1e400', '"exp":-1',
                  '"exp":null', '"aud":"x"', '"aud":[]', '"iat":%d' % NOW, '"iat":%d' % (NOW + 9), '"nbf":0',
                  '"nbf":"x"', '"sub":1', '"sub":"s"', '"iss":"i"', '"x":[[]]', '"x":{"x":1}', '"x":01', '"x":NaN',
                  '"x":"\\ud800"', '"x":"\\u0000"']
        heads = ['"alg":"HS256"', '"alg":"none"', '"alg":"HS512"', '"kid":"k1"', '"kid":1', '"typ":"JWT"', '"typ":"x"',
                 '"crit":["x"]', '"b64":false', '"zip":"DEF"', '"x":1', '"jku":"https://x.example"']
        agreed = 0
        for _ in range(1500):
            header = ['"alg":"HS256"', '"kid":"k1"'] + dice.sample(heads, dice.choice([0, 0, 0, 1]))
            payload = dice.sample(pieces, dice.randint(0, 3)) + dice.choice([[], ['"exp":%d' % LATER]])
            parts = [unpadded(("{%s}" % ",".join(part)).encode()) for part in (header, payload)]
            mac = hmac.digest(secret, ".".join(parts).encode(), "sha256")
            token = ".".join(parts + [unpadded(mac)])
            try:
                ours = peer.ask("verify", key=key, token=token, now=NOW)
            except Refused:
                continue
            theirs = jwt.decode(token, secret, algorithms=["HS256"])
            self.assertEqual(float(ours["exp"]), theirs["exp"])
            self.assertEqual(ours.get("x"), theirs.get("x"))
            agreed += 1
        self.assertGreater(agreed, 100)


class Sealed(unittest.TestCase):
    def opened(self, token, key):
        box = jwe.JWE()
        box.deserialize(token, jwk.JWK(**key))
        return json.loads(box.payload), json.loads(box.objects["protected"])

    def sealed(self, key, claims, header=None, algorithms=None):
        protected = {"alg": key["alg"], "enc": "A256GCM", "kid": "k1", "typ": "JWT", **(header or {})}
        box = jwe.JWE(json.dumps(claims).encode(), protected=json.dumps(protected), algs=algorithms)
        box.add_recipient(jwk.JWK(**{name: key[name] for name in ("kty", "k")}))
        return box.serialize(compact=True)

    def test_jwcrypto_opens_our_tokens_and_reads_the_measurement(self):
        for algorithm in SEALING:
            with self.subTest(algorithm):
                key = generated(algorithm)
                token = peer.ask("seal", key=key, claims=MEASURED)
                claims, header = self.opened(token, key)
                self.assertEqual(header, {"alg": algorithm, "enc": "A256GCM", "kid": "k1", "typ": "JWT"})
                texts = [claims[name] for name in ("imh", "dmh", "mpk")]
                self.assertEqual(texts, [padded(IM), padded(DM), padded(MPK)])
                self.assertEqual([len(text) for text in texts], [44, 44, 24])
                self.assertEqual(claims["exp"], LATER)
                self.assertEqual(claims["vendor"], PLAIN["vendor"])

    def test_we_open_jwcryptos_tokens(self):
        for algorithm in SEALING:
            key = generated(algorithm)
            claims = {"exp": LATER, "imh": padded(IM), "dmh": padded(DM), "mpk": padded(MPK), "x": "\u00e9"}
            read = peer.ask("open", key=key, token=self.sealed(key, claims), now=NOW)
            self.assertEqual((read["imh"], read["dmh"], read["mpk"]), (IM.hex(), DM.hex(), MPK.hex()))
            self.assertEqual(read["x"], "\u00e9")

    def test_a_wrong_key_is_refused_on_both_sides_and_any_character_changed_on_ours(self):
        for algorithm in SEALING:
            key, other = generated(algorithm), generated(algorithm)
            token = peer.ask("seal", key=key, claims=MEASURED)
            with self.assertRaises(JWException):
                self.opened(token, other)
            with self.assertRaises(Refused) as caught:
                peer.ask("open", key=other, token=token, now=NOW)
            self.assertIn("cannot be opened", str(caught.exception))
            for place in range(len(token)):
                altered = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1:]
                with self.assertRaises(Refused):
                    peer.ask("open", key=key, token=altered, now=NOW)

    def test_other_algorithms_encryptions_compression_and_keys_in_headers_are_refused(self):
        wrapping, direct = generated("A256KW"), generated("dir")
        good = {"exp": LATER}
        everything = ["A256KW", "A256GCMKW", "dir", "A256GCM", "A128GCM", "A192GCM", "A256CBC-HS512", "A128CBC-HS256"]
        for key, header in [(wrapping, {"enc": "A128GCM"}), (wrapping, {"enc": "A192GCM"}),
                            (wrapping, {"enc": "A256CBC-HS512"}), (wrapping, {"enc": "A128CBC-HS256"}),
                            (wrapping, {"alg": "A256GCMKW"}), (wrapping, {"zip": "DEF"}), (direct, {"zip": "DEF"}),
                            (direct, {"kid": "k2"}), (direct, {"jwk": {"kty": "oct"}}), (direct, {"cty": "JWT"}),
                            (direct, {"typ": "other"})]:
            token = self.sealed(key, good, header, everything)
            with self.assertRaises(Refused):
                peer.ask("open", key=key, token=token, now=NOW)
        with self.assertRaises(Refused):
            peer.ask("open", key=direct, token=self.sealed(direct, {"exp": NOW}), now=NOW)

    def test_no_initialization_vector_comes_twice(self):
        for algorithm in SEALING:
            key = generated(algorithm)
            vectors = {peer.ask("seal", key=key, claims=PLAIN).split(".")[2] for _ in range(300)}
            self.assertEqual(len(vectors), 300)
            self.assertEqual({len(decoded(vector)) for vector in vectors}, {12})


class Nested(unittest.TestCase):
    """Signed, then sealed to a public key."""

    CLAIMS = dict(MEASURED, aud=["api.example"])

    def box(self, payload, key, header=None, cty="JWT"):
        protected = {"alg": key["alg"], "enc": "A256GCM", "kid": key["kid"], "typ": "JWT", **(header or {})}
        if cty:
            protected["cty"] = cty
        box = jwe.JWE(payload.encode(), protected=json.dumps(protected), algs=[protected["alg"], protected["enc"]])
        box.add_recipient(jwk.JWK(**peer.ask("public", key=key)))
        return box.serialize(compact=True)

    def open(self, token, key, signer):
        return peer.ask("unnest", key=key, signer=checking_key(signer), token=token, now=NOW, audience="api.example")

    def test_jwcrypto_opens_our_tokens_and_pyjwt_verifies_what_is_inside(self):
        for algorithm in PUBLIC:
            for signing in ("ES256", "EdDSA", "RS256"):
                with self.subTest(algorithm + signing):
                    key, signer = generated(algorithm), generated(signing, kid="s1")
                    token = peer.ask("nest", key=peer.ask("public", key=key), signer=signer, claims=self.CLAIMS)
                    box = jwe.JWE()
                    box.deserialize(token, jwk.JWK(**key))
                    header = json.loads(box.objects["protected"])
                    header.pop("epk", None)
                    self.assertEqual(header, {"alg": algorithm, "cty": "JWT", "enc": "A256GCM", "kid": "k1",
                                              "typ": "JWT"})
                    claims = accepted_by_pyjwt(box.payload.decode(), signer, audience="api.example")
                    self.assertEqual((claims["imh"], claims["dmh"], claims["mpk"]),
                                     (padded(IM), padded(DM), padded(MPK)))

    def test_we_open_what_pyjwt_signed_and_jwcrypto_sealed(self):
        for algorithm in PUBLIC:
            for signing in ("ES256", "EdDSA", "RS256"):
                key, signer = generated(algorithm), generated(signing, kid="s1")
                inner = jwt.encode({"exp": LATER, "aud": "api.example", "imh": padded(IM), "dmh": padded(DM),
                                    "mpk": padded(MPK)}, jwt.PyJWK(signer).key, algorithm=signing,
                                   headers={"kid": "s1"})
                for header in ({}, {"apu": unpadded(b"Alice"), "apv": unpadded(b"Bob")}):
                    read = self.open(self.box(inner, key, header), key, signer)
                    self.assertEqual((read["imh"], read["dmh"], read["mpk"]), (IM.hex(), DM.hex(), MPK.hex()))

    def test_a_token_that_the_service_did_not_sign_is_refused(self):
        for algorithm in PUBLIC:
            key, signer = generated(algorithm), generated("ES256", kid="s1")
            good = {"exp": LATER, "aud": "api.example"}
            stranger = generated("ES256", kid="s1")

            def signed(claims, with_key=signer, name="ES256", kid="s1"):
                return jwt.encode(claims, jwt.PyJWK(with_key).key, algorithm=name, headers={"kid": kid})

            self.assertEqual(self.open(self.box(signed(good), key), key, signer)["aud"], ["api.example"])
            public = jwt.PyJWK(checking_key(signer)).key.public_bytes(
                serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
            parts = [unpadded(json.dumps(part).encode()) for part in ({"alg": "HS256", "kid": "s1"}, good)]
            mac = ".".join(parts + [unpadded(hmac.digest(public, ".".join(parts).encode(), "sha256"))])
            for inner, cty in [(signed(good, stranger), "JWT"), (signed(good, kid="s2"), "JWT"),
                               (mac, "JWT"), (jwt.encode(good, None, algorithm="none"), "JWT"),
                               (json.dumps(good), "JWT"), (json.dumps(good), None), (signed(good), None),
                               (signed(good), "json"), (signed(good)[:-2], "JWT"), ("", "JWT"),
                               (signed(dict(good, aud="other")), "JWT"), (signed({"exp": LATER}), "JWT"),
                               (signed(dict(good, exp=NOW)), "JWT"), (self.box(signed(good), key), "JWT")]:
                with self.assertRaises(Refused):
                    self.open(self.box(inner, key, cty=cty), key, signer)

    def test_other_algorithms_of_the_same_key_and_a_wrong_key_are_refused(self):
        for algorithm, others in zip(PUBLIC, (["ECDH-ES", "ECDH-ES+A128KW"], ["RSA-OAEP", "RSA1_5"]), strict=True):
            key, other, signer = generated(algorithm), generated(algorithm), generated("ES256", kid="s1")
            inner = jwt.encode({"exp": LATER, "aud": "api.example"}, jwt.PyJWK(signer).key, algorithm="ES256",
                               headers={"kid": "s1"})
            for name in others:
                with self.assertRaises(Refused) as caught:
                    self.open(self.box(inner, key, {"alg": name}), key, signer)
                self.assertIn("not accepted", str(caught.exception))
            with self.assertRaises(Refused):
                self.open(self.box(inner, key, {"zip": "DEF"}), key, signer)
            token = self.box(inner, key)
            with self.assertRaises(Refused) as caught:
                self.open(token, other, signer)
            self.assertIn("cannot be opened", str(caught.exception))
            parts = token.split(".")
            for part in range(1, 5):
                # The upper bits of a character: those of the last one to spare are another error.
                altered = list(parts)
                altered[part] = ("A" if parts[part][0] != "A" else "g") + parts[part][1:]
                with self.assertRaises(Refused) as caught:
                    self.open(".".join(altered), key, signer)
                self.assertIn("cannot be opened", str(caught.exception))


class Keys(unittest.TestCase):
    def test_pem_is_the_one_of_cryptography_both_ways(self):
        for algorithm in ("ES256", "EdDSA", "RS256", *PUBLIC):
            key = generated(algorithm)
            public = peer.ask("public", key=key)
            theirs = jwk.JWK(**public).export_to_pem().decode()
            self.assertEqual(peer.ask("pem", key=key), theirs)
            self.assertEqual(peer.ask("from-pem", pem=theirs, alg=algorithm, kid="k1"), public)
            secret = jwk.JWK(**key).export_to_pem(True, None).decode()
            with self.assertRaises(Refused) as caught:
                peer.ask("from-pem", pem=secret, alg=algorithm, kid="k1")
            self.assertIn("public part", str(caught.exception))
        for size in (1024, 2056):
            theirs = jwk.JWK.generate(kty="RSA", size=size)
            with self.assertRaises(Refused):
                peer.ask("from-pem", pem=theirs.export_to_pem().decode(), alg="RS256", kid="k1")

    def test_our_keys_are_keys_to_jwcrypto_with_the_same_thumbprint(self):
        for algorithm in SIGNING + SEALING + PUBLIC:
            for _ in range(2 if algorithm.startswith("RS") else 20):
                key = generated(algorithm)
                theirs = jwk.JWK(**key)
                self.assertEqual(peer.ask("thumbprint", key=key), theirs.thumbprint())
                if key["kty"] != "oct":
                    public = peer.ask("public", key=key)
                    self.assertEqual(jwk.JWK(**public).thumbprint(), theirs.thumbprint())
                    self.assertNotIn("d", public)
                    self.assertEqual({name: key[name] for name in public}, public)

    def test_their_keys_are_keys_to_us_with_the_same_thumbprint(self):
        for make in [lambda: jwk.JWK.generate(kty="EC", crv="P-256"),
                     lambda: jwk.JWK.generate(kty="OKP", crv="Ed25519"),
                     lambda: jwk.JWK.generate(kty="EC", crv="P-256", alg="ECDH-ES+A256KW"),
                     lambda: rsa_of(2048, "RS256"), lambda: rsa_of(3072, "RSA-OAEP-256"),
                     lambda: jwk.JWK.generate(kty="oct", size=256, alg="dir"),
                     lambda: jwk.JWK.generate(kty="oct", size=512, alg="HS256")]:
            for _ in range(20):
                theirs = make()
                key = json.loads(theirs.export())
                self.assertEqual(peer.ask("thumbprint", key=key), theirs.thumbprint())
                ours = peer.ask("private", key=key)
                self.assertEqual({name: ours[name] for name in key}, key)

    def test_keys_of_other_kinds_are_refused_in_words(self):
        for theirs in [jwk.JWK.generate(kty="RSA", size=2048), jwk.JWK.generate(kty="RSA", size=1024, use="sig"),
                       jwk.JWK.generate(kty="RSA", size=2048, public_exponent=3, use="sig"),
                       jwk.JWK.generate(kty="RSA", size=2048, alg="PS256"), jwk.JWK.generate(kty="EC", crv="P-384"),
                       jwk.JWK.generate(kty="EC", crv="P-521"), jwk.JWK.generate(kty="EC", crv="secp256k1"),
                       jwk.JWK.generate(kty="OKP", crv="X25519"), jwk.JWK.generate(kty="OKP", crv="Ed448")]:
            with self.assertRaises(Refused) as caught:
                peer.ask("thumbprint", key=json.loads(theirs.export()))
            self.assertIn("not supported", str(caught.exception))

    def test_our_json_is_pythons_sorted_json(self):
        dice = random.Random(3)
        letters = ["a", "B", "\u00e9", "\u212a", "\u2028", "\U0001f600", "\uff5e", "\"", "\\", "/", "\n", "\x01",
                   "\x7f", ""]

        def value(depth):
            kind = dice.randint(0, 6 if depth < 5 else 3)
            if kind == 0:
                return dice.choice([None, True, False])
            if kind == 1:
                return dice.randint(-2**60, 2**60)
            if kind in (2, 3):
                return "".join(dice.choices(letters, k=dice.randint(0, 6)))
            if kind == 4:
                return [value(depth + 1) for _ in range(dice.randint(0, 4))]
            return {"".join(dice.choices(letters, k=3)): value(depth + 1) for _ in range(dice.randint(0, 5))}

        for _ in range(500):
            tree = value(0)
            canonical = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            for text in (json.dumps(tree), json.dumps(tree, indent=1, ensure_ascii=False)):
                self.assertEqual(peer.ask("canonical", text=text), canonical)


if __name__ == "__main__":
    status = runner.run(runner.of_classes(Signed, Sealed, Nested, Keys), sys.argv[1:])
    peer.close()
    sys.exit(status)
