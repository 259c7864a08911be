# SPDX-License-Identifier: Apache-2.0

"""Tokens made by other people's software (PyJWT, jwcrypto), for the Swift tests, which then need no Python.

    python vectors.py FILE            writes the file, with fresh signatures and initialization vectors
    python vectors.py --check FILE    has the same software verify what the file holds

The keys are made of counters; they protect nothing.
"""

import base64
import json
import pathlib
import sys

import jwt
from jwcrypto import jwe, jwk

HEAD = """# Tokens made by PyJWT and jwcrypto (Tests/Process/JOSE/vectors.py).
# A key stands as its JSON, a payload in hex.
"""


def unpadded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def counting(start, count):
    return bytes((start + i) % 256 for i in range(count))


MAC = {"kty": "oct", "k": unpadded(counting(1, 64)), "alg": "HS256", "kid": "mac"}
DIRECT = {"kty": "oct", "k": unpadded(counting(2, 32)), "alg": "dir", "kid": "direct"}
WRAPPING = {"kty": "oct", "k": unpadded(counting(3, 32)), "alg": "A256KW", "kid": "wrapping"}
# RFC 7515, A.3, and RFC 8037, A.1.
CURVE = {
    "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": "curve",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    "d": "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",
}
EDWARDS = {
    "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": "edwards",
    "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
}


def published(comment):
    """A key of the RFC examples."""
    path = pathlib.Path(__file__).resolve().parents[2] / "Vectors/jose/rfc.txt"
    for block in path.read_text(encoding="ascii").split("\n\n"):
        fields = dict(line.split(" = ", 1) for line in block.strip().split("\n") if " = " in line)
        if fields.get("comment") == comment:
            return json.loads(fields["key"])
    raise KeyError(comment)


RSA = published("RFC 7515, A.2: RS256") | {"kid": "rsa"}
# To a public key: RFC 7518, C, and the one above.
AGREEING = {
    "kty": "EC", "crv": "P-256", "alg": "ECDH-ES+A256KW", "kid": "agreeing",
    "x": "weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ", "y": "e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck",
    "d": "VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw",
}
ENCRYPTING = RSA | {"alg": "RSA-OAEP-256", "kid": "encrypting"}

PLAIN = {
    "exp": 1900000000.25, "did": base64.b64encode(counting(4, 16)).decode(), "ip": "192.0.2.1", "arc": "ABCDEFGH27",
    "anno": ["debug", "allow-debug"], "pay": base64.b64encode(counting(5, 32)).decode(),
    "vendor": {"text": "\u00e9\u2028\U0001f600\"\\/"},
}
MEASURED = dict(
    PLAIN, exp=1900000000, imh=base64.b64encode(counting(6, 32)).decode(),
    dmh=base64.b64encode(counting(7, 32)).decode(), mpk=base64.b64encode(counting(8, 16)).decode())


def signed(key):
    return jwt.encode(PLAIN, jwt.PyJWK(key).key, algorithm=key["alg"], headers={"kid": key["kid"]})


def sealed(key):
    header = {"alg": key["alg"], "enc": "A256GCM", "kid": key["kid"], "typ": "JWT"}
    token = jwe.JWE(json.dumps(MEASURED).encode(), protected=json.dumps(header))
    token.add_recipient(jwk.JWK(**key))
    return token.serialize(compact=True)


def nested(key):
    inner = jwt.encode(MEASURED | {"aud": "api.example.com"}, jwt.PyJWK(CURVE).key, algorithm="ES256",
                       headers={"kid": "curve"})
    header = {"alg": key["alg"], "enc": "A256GCM", "kid": key["kid"], "typ": "JWT", "cty": "JWT"}
    token = jwe.JWE(inner.encode(), protected=json.dumps(header))
    token.add_recipient(jwk.JWK(**json.loads(jwk.JWK(**key).export_public())))
    return token.serialize(compact=True)


def payload_of(kind, key, token):
    """The payload as read by the software that made the token, also after its end in 2030."""
    if kind == "jws":
        checking = key if key["kty"] == "oct" else json.loads(jwk.JWK(**key).export_public())
        claims = jwt.decode(token, jwt.PyJWK(checking).key, algorithms=[key["alg"]], options={"verify_exp": False})
        return json.dumps(claims).encode()
    opened = jwe.JWE()
    opened.deserialize(token, jwk.JWK(**key))
    if kind == "nested":
        claims = jwt.decode(opened.payload, jwt.PyJWK(CURVE).key, algorithms=["ES256"], audience="api.example.com",
                            options={"verify_exp": False})
        return json.dumps(claims).encode()
    return opened.payload


def make(path):
    cases = [("jws", "PyJWT", key, signed(key)) for key in (MAC, CURVE, EDWARDS, RSA)]
    cases += [("jwe", "jwcrypto", key, sealed(key)) for key in (DIRECT, WRAPPING)]
    cases += [("nested", "jwcrypto, signed by PyJWT", key, nested(key)) for key in (AGREEING, ENCRYPTING)]
    with open(path, "w", encoding="ascii") as file:
        file.write(HEAD)
        for number, (kind, maker, key, token) in enumerate(cases, 1):
            file.write(f"\ncase = {number}\ncomment = {key['alg']} by {maker}\nblock = {kind}\n")
            file.write(f"key = {json.dumps(key, separators=(',', ':'))}\ntoken = {token}\n")
            file.write(f"payload = {payload_of(kind, key, token).hex()}\n")


def check(path):
    passed = 0
    with open(path, encoding="ascii") as file:
        for block in file.read().split("\n\n")[1:]:
            fields = dict(line.split(" = ", 1) for line in block.strip().split("\n"))
            content = payload_of(fields["block"], json.loads(fields["key"]), fields["token"])
            assert json.loads(content) == json.loads(bytes.fromhex(fields["payload"])), fields["comment"]
            passed += 1
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(sys.argv[2])
    else:
        make(sys.argv[1])
