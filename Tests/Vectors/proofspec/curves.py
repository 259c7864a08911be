# SPDX-License-Identifier: Apache-2.0

"""X25519, the sealed box and Ed25519, on libsodium through PyNaCl's bindings."""

import hashlib

from nacl import bindings, exceptions

from .basics import SIGNATURE_BYTES, Refused

PUBLIC_BYTES = 32


def hardware_public(secret: bytes) -> bytes:
    """The X25519 public key of a secret key."""
    return bindings.crypto_scalarmult_base(secret)


def _box_nonce(ephemeral_public: bytes, recipient: bytes) -> bytes:
    return hashlib.blake2b(ephemeral_public + recipient, digest_size=24).digest()


def seal(recipient: bytes, ephemeral_secret: bytes, plain: bytes) -> bytes:
    """crypto_box_seal with a given ephemeral key, so that vectors can be made again."""
    public = bindings.crypto_scalarmult_base(ephemeral_secret)
    return public + bindings.crypto_box(
        plain, _box_nonce(public, recipient), recipient, ephemeral_secret
    )


def unseal(secret: bytes, sealed: bytes) -> bytes:
    """crypto_box_seal_open; refuses an X25519 result of all zeros."""
    public, box = sealed[:PUBLIC_BYTES], sealed[PUBLIC_BYTES:]
    nonce = _box_nonce(public, hardware_public(secret))
    try:
        return bindings.crypto_box_open(box, nonce, public, secret)
    except exceptions.CryptoError:
        raise Refused("not-for-me") from None


def shared_secret(secret: bytes, public: bytes) -> bytes:
    """X25519; refuses a result of all zeros."""
    try:
        return bindings.crypto_scalarmult(secret, public)
    except exceptions.CryptoError:
        raise Refused("not-for-me") from None


def box(key: bytes, plain: bytes) -> bytes:
    """XSalsa20-Poly1305 with a nonce of zeros: authenticator, then ciphertext."""
    return bindings.crypto_secretbox(plain, bytes(24), key)


def unbox(key: bytes, boxed: bytes) -> bytes:
    try:
        return bindings.crypto_secretbox_open(boxed, bytes(24), key)
    except exceptions.CryptoError:
        raise Refused("not-for-me") from None


def issuer_public(seed: bytes) -> bytes:
    """The Ed25519 public key of a 32-byte seed."""
    return bindings.crypto_sign_seed_keypair(seed)[0]


def sign(seed: bytes, message: bytes) -> bytes:
    secret = bindings.crypto_sign_seed_keypair(seed)[1]
    return bindings.crypto_sign(message, secret)[:SIGNATURE_BYTES]


def verifies(public: bytes, message: bytes, signature: bytes) -> bool:
    """Ed25519 as libsodium verifies it: S canonical, small-order A and R refused."""
    try:
        bindings.crypto_sign_open(signature + message, public)
    except exceptions.CryptoError:
        return False
    return True
