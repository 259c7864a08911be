# SPDX-License-Identifier: Apache-2.0

"""Section 7: the ratchet."""

from .basics import KEY_BYTES, kdf, label, mac, sha256, u32
from .keys import Secrets

NONE, REPORT, REFUSE = 0, 1, 2
TAG_BYTES = 8
POLICY_BITS = 0x03
# Details of *not permitted* where the kind is that of the other sort of slot, by policy.
DETAILS = {NONE: 8, REPORT: 6, REFUSE: 7}


def begin(secrets: Secrets, token_digest: bytes) -> bytes:
    """R_0."""
    return kdf("pfc2.ratchet-0..", secrets.device_key + secrets.dm, token_digest)[:KEY_BYTES]


def tag(ratchet: bytes, nonce: bytes) -> bytes:
    return mac(kdf("pfc2.ratchet-tag", ratchet), nonce)[:TAG_BYTES]


def step(ratchet: bytes, nonce: bytes) -> bytes:
    """R_next."""
    return kdf("pfc2.ratchet-up.", ratchet, nonce)[:KEY_BYTES]


def fork(secrets: Secrets, nonce: bytes) -> bytes:
    """R_fork."""
    return kdf("pfc2.ratchet-fk.", secrets.device_key + secrets.dm, nonce)[:KEY_BYTES]


def escort(nonce: bytes, integrity_proof: bytes, tag: bytes, known: int) -> bytes:
    """The nonce that the device proof of kind 3 or 4 answers."""
    told = integrity_proof + tag + u32(known)
    return sha256(label("pfc2.escort.....") + nonce + told)[:KEY_BYTES]
