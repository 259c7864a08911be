# SPDX-License-Identifier: Apache-2.0

"""Arithmetic that an attacker has and a library does not offer."""

import hashlib

from nacl import bindings

from proofspec.basics import kdf
from proofspec.curves import box, hardware_public

# Order of Ed25519's base point.
L = 2**252 + 27742317777372353535851937790883648493
P = 2**255 - 19

IDENTITY = (1).to_bytes(32, "little")
# y coordinates of the points of order 2, 4, 8 (RFC 8032's encoding, x even).
SMALL_ORDER = (
    ("the identity", IDENTITY),
    ("a point of order 2", (P - 1).to_bytes(32, "little")),
    ("a point of order 4", bytes(32)),
    (
        "a point of order 8",
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    ),
)
NON_CANONICAL_IDENTITY = (P + 1).to_bytes(32, "little")

# u coordinates with which X25519 gives zero for every secret key: order 1 or 4, 2, and 8, on the
# curve or its twist, then the same in encodings that are not reduced.
LOW_ORDER = (
    ("u = 0", bytes(32)),
    ("u = 1", (1).to_bytes(32, "little")),
    (
        "u of order 8",
        bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    ),
    (
        "another u of order 8",
        bytes.fromhex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
    ),
    ("u = p - 1", (P - 1).to_bytes(32, "little")),
    ("u = p", P.to_bytes(32, "little")),
    ("u = p + 1", (P + 1).to_bytes(32, "little")),
)


def _scalar(seed: bytes) -> int:
    raw = bytearray(hashlib.sha512(seed).digest()[:32])
    raw[0] &= 248
    raw[31] = raw[31] & 127 | 64
    return int.from_bytes(raw, "little")


def _challenge(r: bytes, public: bytes, message: bytes) -> int:
    return int.from_bytes(hashlib.sha512(r + public + message).digest(), "little") % L


def _base(scalar: int) -> bytes:
    return bindings.crypto_scalarmult_ed25519_base_noclamp(scalar.to_bytes(32, "little"))


def sign_with_r_of_zero(seed: bytes, public: bytes, message: bytes, r: bytes) -> bytes:
    """R is the identity: the equation holds, and S reveals the key."""
    s = _challenge(r, public, message) * _scalar(seed) % L
    return r + s.to_bytes(32, "little")


def sign_for_small_order(public: bytes, message: bytes) -> bytes:
    """A signature made without a key that a public key of small order verifies: h·A is the identity."""
    k = 1
    while True:
        r = _base(k)
        if _challenge(r, public, message) % 8 == 0:
            return r + k.to_bytes(32, "little")
        k += 1


def plus_order(signature: bytes) -> bytes:
    """The same S, not reduced."""
    s = int.from_bytes(signature[32:], "little") + L
    return signature[:32] + s.to_bytes(32, "little")


def seal_to_anyone(point: bytes, recipient: bytes, plain: bytes) -> bytes:
    """A box with an ephemeral key of low order: the shared secret is zero for every recipient."""
    nonce = hashlib.blake2b(point + recipient, digest_size=24).digest()
    return point + bindings.crypto_box_afternm(plain, nonce, hsalsa20(bytes(32), bytes(16)))


def box_2_to_anyone(
    point: bytes, s: bytes, recipient: bytes, hardware_id: bytes, header: bytes, plain: bytes
) -> bytes:
    """The same by suite 2, made by an attacker who knows the factory secret."""
    key = kdf("pfc2.token-seal.", bytes(32) + s, point + recipient + hardware_id + header)
    return point + box(key, plain)


def hsalsa20(key: bytes, block: bytes) -> bytes:
    """The hash with which a box turns the shared secret into its key."""
    sigma = b"expand 32-byte k"
    words = [sigma[:4], key[:16], sigma[4:8], block, sigma[8:12], key[16:], sigma[12:]]
    raw = b"".join(words)
    x = [int.from_bytes(raw[i : i + 4], "little") for i in range(0, 64, 4)]
    columns = ((0, 4, 8, 12), (5, 9, 13, 1), (10, 14, 2, 6), (15, 3, 7, 11))
    rows = ((0, 1, 2, 3), (5, 6, 7, 4), (10, 11, 8, 9), (15, 12, 13, 14))
    for _ in range(10):
        for line in columns + rows:
            for step, turn in enumerate((7, 9, 13, 18)):
                a, b, c = line[(step + 1) % 4], line[step], line[(step + 3) % 4]
                total = (x[b] + x[c]) & 0xFFFFFFFF
                x[a] ^= (total << turn | total >> 32 - turn) & 0xFFFFFFFF
    return b"".join(x[i].to_bytes(4, "little") for i in (0, 5, 10, 15, 6, 7, 8, 9))


def check_arithmetic() -> None:
    """A box made here must be one that the library opens."""
    secret, nonce = bytes(range(32)), bytes(24)
    public = hardware_public(secret)
    shared = bindings.crypto_scalarmult(secret, public)
    if hsalsa20(shared, bytes(16)) != bindings.crypto_box_beforenm(public, secret):
        raise AssertionError("hsalsa20")
    if (
        bindings.crypto_box_open(
            bindings.crypto_box_afternm(b"x", nonce, hsalsa20(shared, bytes(16))),
            nonce,
            public,
            secret,
        )
        != b"x"
    ):
        raise AssertionError("box")
