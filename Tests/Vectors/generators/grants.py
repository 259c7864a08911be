# SPDX-License-Identifier: Apache-2.0

"""grant.txt: grants and the records of loans, sections 19 and 12."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec import grant
from proofspec.grant import USES_MAX, Grant
from proofspec.stored import Loan, decode_loan, encode_record, record_key
from proofspec.token import token_digest

from . import world
from .world import DOOR, START, App, Place, stuff

OWNER, MEMBER = world.app("one"), world.bare_app("a member")
END = START + 90 * 86_400
SLOTS = 8
# Rights of the two in the vectors: the owner may lend class 0, the member has class 1.
OWNED = {"integrity_classes": 0b111, "device_classes": 0b001, "delegable_classes": 0b001}
OWN = {"integrity_classes": 0b010, "device_classes": 0}


def token_of(who: App, where: Place = DOOR, **other: object) -> bytes:
    """A token of version 2."""
    body = who.body_2(where, **other)
    return world.create_token(where.public, world.ephemeral(body), world.BACKEND.seed, body, where.factory_secret)


OWNER_TOKEN, MEMBER_TOKEN = token_of(OWNER, **OWNED), token_of(MEMBER, **OWN)


def loan(**other: object) -> Grant:
    """The owner lends class 0 to the member, twice."""
    made = Grant(DOOR.id[:4], OWNER.instance_id, token_digest(MEMBER_TOKEN), 1, 1, 0b001, 2, END)
    return replace(made, **other)  # type: ignore[arg-type]


def back(**other: object) -> Grant:
    return loan(**({"classes": 0, "uses": 0, "end": 0} | other))


def put_grant(block: Block, made: Grant) -> Block:
    own = OWNER.at(DOOR)
    return block.put_all(
        hardware_id=DOOR.id,
        token_digest=token_digest(OWNER_TOKEN),
        k=own.key,
        im=own.im,
        dpk=own.device_key,
        dm=own.dm,
        owner=made.owner,
        member=made.member,
        generation=made.generation,
        serial=made.serial,
        classes=made.classes,
        uses=made.uses,
        end=made.end,
    )


def cases() -> Iterator[Block]:
    own, of = OWNER.at(DOOR), token_digest(OWNER_TOKEN)
    for made, comment in (
        (loan(), "a loan of class 0, twice"),
        (loan(serial=2**32 - 1, classes=0xFFFF, uses=USES_MAX, end=2**64 - 1), "the most of everything"),
        (loan(generation=2**32 - 1, uses=1, end=1), "the least uses and the first end"),
        (back(serial=2), "takes back"),
    ):
        raw = grant.create(made, own, of)
        if grant.read(raw, DOOR.id) != made:
            raise AssertionError("a grant that reads differently")
        grant.check(raw, own, of)
        block = put_grant(case("grant", comment), made)
        yield block.put_all(key=grant.grant_key(own, of), grant=raw, digest=grant.digest(raw))
    for kept, comment in (
        (Loan.empty(SLOTS), "nothing was lent"),
        (
            Loan(1, 1, 2, END, *(stuff(f"name {i}", 8) for i in range(4)), [1, 0, 0, 0, 0, 0, 0, 2**32 - 1]),
            "a loan of slot 0",
        ),
        (Loan(8, 0xFFFF, 0, 2**64 - 1, *([bytes([255] * 8)] * 4), [0] * 8), "of slot 7, used up"),
    ):
        if decode_loan(kept.payload()) != kept:
            raise AssertionError("a loan that reads differently")
        key = record_key(DOOR.secret)
        yield case("loan", comment).put_all(
            slots=SLOTS,
            owner=kept.owner,
            classes=kept.classes,
            uses=kept.uses,
            end=kept.end,
            digest=kept.digest,
            owner_id=kept.owner_id,
            member_id=kept.member_id,
            named=kept.named,
            serials=" ".join(str(serial) for serial in kept.serials),
            payload=kept.payload(),
            record_key=key,
            bytes=encode_record(key, 1 + SLOTS, 5, kept.payload()),
        )
