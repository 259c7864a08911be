# SPDX-License-Identifier: Apache-2.0

"""Grants and records of loans that are refused, sections 19 and 12."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec import grant
from proofspec.basics import u8, u16
from proofspec.grant import USES_MAX, Grant
from proofspec.keys import Secrets
from proofspec.stored import Loan
from proofspec.token import token_digest

from .grants import END, MEMBER, OWNER, OWNER_TOKEN, SLOTS, back, loan
from .hostile import expect
from .hostile_config import flipped
from .world import DOOR, GATE, stuff

OWN, OF = OWNER.at(DOOR), token_digest(OWNER_TOKEN)


def offer(comment: str, raw: bytes, word: str, *flags: str) -> Block:
    made = case("open_grant", comment).put_all(
        hardware_id=DOOR.id, token_digest=OF, k=OWN.key, im=OWN.im, dpk=OWN.device_key, dm=OWN.dm, grant=raw
    )
    return expect(made, word, *flags)


def sealed(fields: bytes) -> bytes:
    return grant.seal(fields, OWN, OF)


def made(of: Grant) -> bytes:
    return sealed(of.encoded())


def cases() -> Iterator[Block]:
    yield offer("a loan", made(loan()), "none")
    yield offer("takes back", made(back()), "none")
    yield from _shapes()
    yield from _ranges()
    yield from _tags()
    yield from _records()


def _shapes() -> Iterator[Block]:
    right = made(loan())
    for size in (0, 1, 63, 64, 95):
        yield offer(f"{size} bytes", right[:size], "malformed", "Truncated")
    yield offer("97 bytes", right + b"\x00", "malformed", "Extended")
    for magic in (b"PT", b"PO", b"PG", b"pd", b"\x00\x00"):
        yield offer(f"magic {magic!r}", sealed(magic + right[2:64]), "malformed", "WrongMagic")
    for version in (0, 2, 255):
        yield offer(f"version {version}", sealed(loan().encoded(version=version)), "too-new", "UnknownVersion")
    for suite in (0, 2, 255):
        yield offer(f"suite {suite}", sealed(loan().encoded(suite=suite)), "too-new", "UnknownVersion")
    for zero in (1, 1 << 31):
        yield offer(f"zero {zero:#x}", sealed(loan().encoded(zero=zero)), "too-new", "Reserved")
    yield offer("for the gate", made(loan(hint=GATE.id[:4])), "not-for-me", "WrongRecipient")
    both = sealed(loan(hint=GATE.id[:4]).encoded(version=2))
    yield offer("version 2 and another hint", both, "too-new", "Precedence")


def _ranges() -> Iterator[Block]:
    for of, comment in (
        (loan(generation=0), "generation 0"),
        (loan(serial=0), "serial 0"),
        (back(serial=0), "serial 0, takes back"),
        (loan(uses=0), "no uses"),
        (loan(uses=USES_MAX + 1), "uses without limit"),
        (loan(end=0), "no end"),
        (back(uses=1), "takes back, with uses"),
        (back(end=1), "takes back, with an end"),
        (loan(classes=0), "no classes"),
    ):
        yield offer(comment, made(of), "malformed", "OutOfRange")
    yield offer("the least", made(loan(generation=1, serial=1, uses=1, end=1)), "none", "EdgeCase")
    most = loan(serial=2**32 - 1, classes=65535, uses=USES_MAX, end=2**64 - 1)
    yield offer("the most", made(most), "none", "EdgeCase")


def _tags() -> Iterator[Block]:
    right = made(loan())
    # Fields that an app, a courier or a thief would like to change.
    for other, comment in (
        (loan(classes=0b011), "wider classes"),
        (loan(uses=3), "more uses"),
        (loan(end=END + 1), "a later end"),
        (loan(serial=2), "a higher serial"),
        (loan(generation=2), "another generation"),
        (loan(member=stuff("another token", 16)), "another member"),
        (loan(owner=MEMBER.instance_id), "another owner"),
        (back(), "what takes back"),
    ):
        yield offer(f"{comment} under the tag of another grant", other.encoded() + right[64:], "differs", "BitFlip")
    for at in (8, 24, 41, 45, 49, 51, 52, 59, 64, 95):
        yield offer(f"a bit of byte {at}", flipped(right, at), "differs", "BitFlip")
    for guess, name in ((bytes(32), "zeros"), (b"\xff" * 32, "ones")):
        yield offer(f"a tag of {name}", right[:64] + guess, "differs", "Guess")
    fields = loan().encoded()
    for other, name in (
        (replace(OWN, key=stuff("another key", 16)), "K_hw"),
        (replace(OWN, im=stuff("a changed app", 32)), "IM_hw"),
        (replace(OWN, device_key=stuff("another device key", 16)), "DPK_hw"),
        (replace(OWN, dm=stuff("another device", 32)), "DM_hw"),
        (Secrets(bytes(16), bytes(32), OWN.device_key, OWN.dm), "an app with a device match only"),
        (OWNER.at(GATE), "the owner at other hardware"),
        (MEMBER.at(DOOR), "the member itself"),
    ):
        yield offer(f"other secrets: {name}", grant.seal(fields, other, OF), "differs", "WrongKey")
    for digest, name in ((stuff("an older token", 16), "of another token"), (bytes(16), "of zeros")):
        yield offer(f"the digest {name}", grant.seal(fields, OWN, digest), "differs", "WrongKey")
    wrong = grant.mac(OWN.key + OWN.im + OWN.device_key + OWN.dm, fields)
    yield offer("a tag under the secrets themselves", fields + wrong, "differs", "WrongLabel")
    half = grant.mac(grant.grant_key(OWN, OF), fields[:60])
    yield offer("a tag over 60 bytes", fields + half, "differs", "WrongTranscript")


def _records() -> Iterator[Block]:
    right = Loan(1, 1, 2, END, *(stuff(f"name {i}", 8) for i in range(4)), [1] * SLOTS).payload()

    def read(comment: str, raw: bytes, word: str, *flags: str) -> Block:
        return expect(case("read_loan", comment).put("bytes", raw), word, *flags)

    yield read("a loan", right, "none")
    yield read("of slot 8", u8(9) + right[1:], "damaged", "OutOfRange")
    yield read("of slot 254", u8(255) + right[1:], "damaged", "OutOfRange")
    yield read("a zero that is none", right[:1] + u8(1) + right[2:], "too-new", "Reserved")
    yield read("two zeros that are none", right[:6] + u16(256) + right[8:], "too-new", "Reserved")
