# SPDX-License-Identifier: Apache-2.0

"""Signed and encrypted tokens, by hashlib and plain Python alone; AES and GCM as FIPS 197 and SP 800-38D say."""

import base64
import hashlib
import hmac
import json
import os


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def compact(value: dict) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def sign_hs256(claims: dict, secret: bytes) -> str:
    signed = b64url(compact({"alg": "HS256", "typ": "JWT"})) + "." + b64url(compact(claims))
    return signed + "." + b64url(hmac.new(secret, signed.encode(), hashlib.sha256).digest())


def _sbox() -> list[int]:
    box, p, q = [0] * 256, 1, 1
    while True:
        p ^= (p << 1) ^ (0x11B if p & 0x80 else 0)
        p &= 0xFF
        q ^= q << 1
        q ^= q << 2
        q ^= q << 4
        q &= 0xFF
        q ^= 0x09 if q & 0x80 else 0
        box[p] = q ^ (q << 1 | q >> 7) & 255 ^ (q << 2 | q >> 6) & 255 ^ (q << 3 | q >> 5) & 255 \
            ^ (q << 4 | q >> 4) & 255 ^ 0x63
        if p == 1:
            break
    box[0] = 0x63
    return box


SBOX = _sbox()


def _double(a: int) -> int:
    return ((a << 1) ^ (0x1B if a & 0x80 else 0)) & 0xFF


def _round_keys(key: bytes) -> list[bytes]:
    words = [list(key[i:i + 4]) for i in range(0, 32, 4)]
    constant = 1
    for i in range(8, 60):
        word = list(words[i - 1])
        if i % 8 == 0:
            word = [SBOX[b] for b in word[1:] + word[:1]]
            word[0] ^= constant
            constant = _double(constant)
        elif i % 8 == 4:
            word = [SBOX[b] for b in word]
        words.append([a ^ b for a, b in zip(words[i - 8], word)])
    return [bytes(sum(words[i:i + 4], [])) for i in range(0, 60, 4)]


def _block(keys: list[bytes], block: bytes) -> bytes:
    state = [a ^ b for a, b in zip(block, keys[0])]
    for number, key in enumerate(keys[1:], 1):
        state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if number < 14:
            mixed = []
            for c in range(0, 16, 4):
                a = state[c:c + 4]
                t = a[0] ^ a[1] ^ a[2] ^ a[3]
                mixed += [a[i] ^ t ^ _double(a[i] ^ a[(i + 1) % 4]) for i in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, key)]
    return bytes(state)


def _times(x: int, y: int) -> int:
    z = 0
    for i in range(127, -1, -1):
        if x >> i & 1:
            z ^= y
        y = (y >> 1) ^ (0xE1 << 120 if y & 1 else 0)
    return z


def encrypt_gcm(key: bytes, iv: bytes, plain: bytes, aad: bytes) -> tuple[bytes, bytes]:
    keys = _round_keys(key)
    h = int.from_bytes(_block(keys, bytes(16)), "big")
    sealed = b""
    for i in range(0, len(plain), 16):
        pad = _block(keys, iv + (2 + i // 16).to_bytes(4, "big"))
        sealed += bytes(a ^ b for a, b in zip(plain[i:i + 16], pad))
    data = aad + bytes(-len(aad) % 16) + sealed + bytes(-len(sealed) % 16)
    data += (8 * len(aad)).to_bytes(8, "big") + (8 * len(sealed)).to_bytes(8, "big")
    digest = 0
    for i in range(0, len(data), 16):
        digest = _times(digest ^ int.from_bytes(data[i:i + 16], "big"), h)
    tag = digest ^ int.from_bytes(_block(keys, iv + b"\x00\x00\x00\x01"), "big")
    return sealed, tag.to_bytes(16, "big")


def encrypt_jwe(claims: dict, key: bytes) -> str:
    """`dir` with `A256GCM`."""
    header = b64url(compact({"alg": "dir", "enc": "A256GCM", "typ": "JWT"}))
    iv = os.urandom(12)
    sealed, tag = encrypt_gcm(key, iv, compact(claims), header.encode())
    return f"{header}..{b64url(iv)}.{b64url(sealed)}.{b64url(tag)}"


def self_test() -> None:
    """Test case 16 of the GCM specification."""
    sealed, tag = encrypt_gcm(
        bytes.fromhex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"),
        bytes.fromhex("cafebabefacedbaddecaf888"),
        bytes.fromhex(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
            "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"),
        bytes.fromhex("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
    assert sealed.hex().startswith("522dc1f099567d07f47f37a32a84427d"), sealed.hex()
    assert tag.hex() == "76fc6ece0f4e1768cddf8853bb2d551b", tag.hex()


self_test()
