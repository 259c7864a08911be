# SPDX-License-Identifier: Apache-2.0

"""sealed.txt: sealed commands and their answers, section 18."""

from collections.abc import Iterator

from blocks import Block, case
from proofspec import curves, sealed
from proofspec.sealed import DEVICE, INTEGRITY, Facts
from proofspec.token import token_digest

from . import world
from .world import DOOR, stuff

ONE = world.app("one")
LOCK_SECRET = stuff("a lock's ephemeral key", 32)
EPHEMERAL = stuff("an app's ephemeral key", 32)
DIGEST = token_digest(ONE.token())
RATCHET = stuff("a ratchet of the app", 16)


def facts(counter: int = 7, digest: bytes = DIGEST) -> Facts:
    own = ONE.at(DOOR)
    lock_key = curves.hardware_public(LOCK_SECRET)
    challenge = stuff("a sealed challenge", 32)
    return Facts(DOOR.id, ONE.instance_id, digest, own.device_key, lock_key, challenge, counter)


def head(of: Facts, kind: int, ephemeral: bytes = EPHEMERAL) -> bytes:
    return sealed.make_head(of, kind, curves.hardware_public(ephemeral))


def command(of: Facts, kind: int, text: bytes = b"open", cls: int = 1, ratchet: bytes = b"", known: int = 0) -> bytes:
    begun = head(of, kind)
    plain = sealed.inside(of, begun, cls, text, ONE.at(DOOR), ratchet, known).encoded()
    return sealed.seal(of, begun, EPHEMERAL, plain)


def put_facts(block: Block, of: Facts) -> Block:
    return block.put_all(
        hardware_id=of.hardware_id,
        instance_id=of.instance_id,
        token_digest=of.token_digest,
        dpk=of.device_key,
        lock_secret=LOCK_SECRET,
        challenge=of.challenge,
        counter=of.counter,
    )


def cases() -> Iterator[Block]:
    yield from _challenges()
    yield from _commands()
    yield from _answers()


def _challenges() -> Iterator[Block]:
    for counter in (1, 2**64 - 1):
        of = facts(counter)
        made = case("sealed_challenge", f"counter {counter}").put_all(
            counter=counter, challenge=of.challenge, lock_key=of.lock_key
        )
        yield made.put("message", sealed.encode_challenge(counter, of.challenge, of.lock_key))


def _commands() -> Iterator[Block]:
    own = ONE.at(DOOR)
    for kind, cls, text, ratchet, known, comment in (
        (INTEGRITY, 1, b"open", b"", 0, "integrity"),
        (DEVICE, 1, b"open", b"", 0, "device"),
        (INTEGRITY, 0, b"", b"", 0, "integrity, no command: 142 bytes"),
        (DEVICE, 0, b"", b"", 0, "device, no command: 110 bytes"),
        (INTEGRITY, 1, stuff("eight", 8), b"", 0, "integrity, 8 bytes: 150 bytes"),
        (INTEGRITY, 15, stuff("long", 216), b"", 0, "integrity, the longest: 358 bytes"),
        (DEVICE, 15, stuff("long", 216), b"", 0, "device, the longest: 326 bytes"),
        (INTEGRITY, 2, b"open", RATCHET, 0, "integrity with a ratchet"),
        (DEVICE, 2, b"open", RATCHET, 2**32 - 1, "device with a ratchet, the highest known counter"),
    ):
        of = facts(2**64 - 1 if cls == 15 else 7)
        message = command(of, kind, text, cls, ratchet, known)
        begun = message[: sealed.HEAD_BYTES]
        shared = curves.shared_secret(EPHEMERAL, of.lock_key)
        if sealed.open_command(of, LOCK_SECRET, message).command != text:
            raise AssertionError("a sealed command that opens differently")
        made = put_facts(case("sealed_command", comment), of).put_all(
            kind=kind,
            **{"class": cls},
            known=known,
            ratchet=ratchet,
            command=text,
            k=own.key,
            im=own.im,
            dm=own.dm,
            ephemeral=EPHEMERAL,
            shared=shared,
            hint=begun[1:9],
            h=sealed.identity(of, begun),
            first=sealed.first_key(of, shared, begun),
            nonce=sealed.nonce(of, begun, cls, text),
            step=sealed.step(of, shared, message),
            down=sealed.down_key(of, shared, message),
        )
        yield made.put("message", message)


def _answers() -> Iterator[Block]:
    key = stuff("a key of an answer", 32)
    for counter, verdict, detail, following in (
        (7, 1, 65535, 0),
        (2**64 - 1, 16, 2, 0),
        (3, 7, 9, 2**64 - 1),
        (4, 19, 6, 0),
    ):
        made = case("sealed_down", f"verdict {verdict}").put_all(
            key=key, counter=counter, verdict=verdict, detail=detail, next=following
        )
        yield made.put("message", sealed.encode_down(key, counter, verdict, detail, following))
