# SPDX-License-Identifier: Apache-2.0

"""Section 9: orders, which any app may carry."""

from collections.abc import Collection
from dataclasses import dataclass

from .basics import Reader, Refused, is_zero, label, u8, u32, u64
from .curves import issuer_public, sign, verifies
from .keys import issuer_id

MAGIC = b"PO"
VERSION, SUITE = 1, 1
SIGNED_BYTES, ORDER_BYTES = 60, 124
EPOCH, REVOKE, FLOOR = 1, 2, 3
ANYONE = bytes(16)


@dataclass(frozen=True)
class Order:
    type: int
    issuer_id: bytes
    issued: int
    hardware_id: bytes
    instance_id: bytes
    generation: int

    def signed_part(self) -> bytes:
        return (
            MAGIC
            + u8(VERSION)
            + u8(SUITE)
            + u8(self.type)
            + bytes(3)
            + self.issuer_id
            + u64(self.issued)
            + self.hardware_id
            + self.instance_id
            + u32(self.generation)
        )


def sign_order(issuer_seed: bytes, part: bytes) -> bytes:
    return part + sign(issuer_seed, label("pfc1.order-sign.") + part)


def create_order(
    issuer_seed: bytes,
    type: int,
    issued: int,
    hardware_id: bytes,
    instance_id: bytes = bytes(16),
    generation: int = 0,
) -> bytes:
    who = issuer_id(issuer_public(issuer_seed))
    order = Order(type, who, issued, hardware_id, instance_id, generation)
    if not in_range(order.signed_part()):
        raise ValueError("an order that no hardware obeys")
    return sign_order(issuer_seed, order.signed_part())


def decode_order(part: bytes) -> Order:
    r = Reader(part[4:])
    type = r.uint(1)
    r.take(3)
    return Order(type, r.take(8), r.uint(8), r.take(16), r.take(16), r.uint(4))


def in_range(part: bytes) -> bool:
    o = decode_order(part)
    revoke = o.type == REVOKE
    return (
        o.type in (EPOCH, REVOKE, FLOOR)
        and o.issued != 0
        and not is_zero(o.hardware_id)
        and is_zero(o.instance_id) != revoke
        and (o.generation != 0) == revoke
    )


def check_address(hardware_id: bytes, order: bytes) -> None:
    """Checks before any public-key work."""
    if len(order) != ORDER_BYTES or order[:2] != MAGIC:
        raise Refused("malformed")
    if order[2] != VERSION:
        raise Refused("too-new", 1)
    if order[3] != SUITE:
        raise Refused("too-new", 2)
    if order[24:40] != hardware_id:
        raise Refused("not-for-me")


def open_order(hardware_id: bytes, issuers: Collection[bytes], order: bytes) -> Order:
    """Refuses with the first reason in the page's order."""
    check_address(hardware_id, order)
    part, signature = order[:SIGNED_BYTES], order[SIGNED_BYTES:]
    decoded = decode_order(part)
    known = [p for p in issuers if issuer_id(p) == decoded.issuer_id]
    if not any(verifies(p, label("pfc1.order-sign.") + part, signature) for p in known):
        raise Refused("not-signed")
    if decoded.type > FLOOR:
        raise Refused("too-new", 4)
    if not is_zero(part[5:8]):
        raise Refused("too-new", 3)
    if not in_range(part):
        raise Refused("malformed")
    return decoded
