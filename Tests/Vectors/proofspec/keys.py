# SPDX-License-Identifier: Apache-2.0

"""Section 3: keys, their ids, and the secrets made for one piece of hardware."""

from dataclasses import dataclass

from .basics import ID_BYTES, KEY_BYTES, kdf, label, sha256, u8

DIVERSIFIED, LITERAL = 1, 2


def key_id(mode: int, mpk: bytes) -> bytes:
    return u8(mode) + kdf("pfc1.key-id.....", mpk, u8(mode))[:7]


def device_key(mpk: bytes, salt: bytes) -> bytes:
    """DPK of an MPK and a configuration's salt."""
    return kdf("pfc1.device-key.", mpk, salt)[:KEY_BYTES]


def issuer_id(public: bytes) -> bytes:
    return sha256(label("pfc1.issuer-id..") + public)[:ID_BYTES]


def receipt_key(device_key: bytes) -> bytes:
    """`device_key` is DPK_hw, or DPK in the literal form."""
    return kdf("pfc1.receipt-key", device_key)


def recall_key(device_key: bytes) -> bytes:
    return kdf("pfc1.recall-key.", device_key)


@dataclass(frozen=True)
class Secrets:
    """Two keys and two measurements: an app's own, or one hardware's share of them."""

    key: bytes  # MPK or K_hw
    im: bytes  # IM or IM_hw
    device_key: bytes  # DPK or DPK_hw
    dm: bytes  # DM or DM_hw

    def diversified(self, hardware_id: bytes) -> "Secrets":
        return Secrets(
            kdf("pfc1.hw-key.....", self.key, hardware_id)[:KEY_BYTES],
            kdf("pfc1.hw-im......", self.im, hardware_id),
            kdf("pfc1.hw-dkey....", self.device_key, hardware_id)[:KEY_BYTES],
            kdf("pfc1.hw-dm......", self.dm, hardware_id),
        )

    def in_form(self, form: int, hardware_id: bytes) -> "Secrets":
        """The secrets in a token of this form; the literal form is the secrets themselves."""
        if form not in (DIVERSIFIED, LITERAL):
            raise ValueError(f"form {form}")
        return self if form == LITERAL else self.diversified(hardware_id)

    def encoded(self) -> bytes:
        """The 96 bytes of a token's body and of a slot."""
        return self.key + self.im + self.device_key + self.dm
