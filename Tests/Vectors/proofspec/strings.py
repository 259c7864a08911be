# SPDX-License-Identifier: Apache-2.0

"""SERVICE.md section 11 and SPEC.md section 13: the keys of an app's own strings, and the file that holds them."""

from nacl import bindings

from .basics import mac, sha256, u8, u16, u32

LABELS = {
    "key": b"pfa1.string-key.",
    "decoy": b"pfa1.string-fake",
    "id": b"pfa1.string-kid.",
    "index": b"pfa1.string-name",
    "seal": b"pfa1.string-seal",
    "value": b"pfa1.string-data",
    "file": b"pfs1.strings....",
}
ID_BYTES, PLACE_BYTES, NONCE_BYTES = 8, 16, 24


def _kdf(name: str, key: bytes, info: bytes = b"") -> bytes:
    return mac(mac(LABELS[name], key), info + b"\x01")


def string_key(secret: bytes, device: bytes) -> bytes:
    """The key of an installation whose app passes."""
    return _kdf("key", secret, device)


def decoy(secret: bytes, device: bytes) -> bytes:
    """The key of an installation whose app fails."""
    return _kdf("decoy", secret, device)


def key_id(key: bytes) -> bytes:
    return _kdf("id", key)[:ID_BYTES]


def place(key: bytes, name: bytes) -> bytes:
    return mac(_kdf("index", key), name)[:PLACE_BYTES]


def seal(key: bytes, name: bytes, value: bytes, nonce: bytes) -> bytes:
    """The ciphertext with its tag."""
    context = LABELS["value"] + place(key, name)
    plain = u16(len(name)) + name + value
    return bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, context, nonce, _kdf("seal", key))


def record(key: bytes, name: bytes, value: bytes, nonce: bytes) -> bytes:
    sealed = seal(key, name, value, nonce)
    return key_id(key) + place(key, name) + nonce + u32(len(sealed)) + sealed


def file(records: list[bytes]) -> bytes:
    body = b"PKSS" + u8(1) + u8(0) + u16(len(records)) + b"".join(sorted(records))
    return body + sha256(LABELS["file"] + body)
