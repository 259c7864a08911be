# SPDX-License-Identifier: Apache-2.0

"""Dialogues in which versions meet: tokens of both, hardware with a factory secret and without."""

from collections.abc import Iterator
from dataclasses import replace

from proofspec.message import Verdict
from proofspec.token import create_token

from .dialogue import OLDER_GENERATION, RESERVED, SUITE, SUITE_DEMANDED, Script
from .hostile_token_2 import sealed
from .scripts_command import ONE
from .world import BACKEND, DOOR, SAFE, Place, ephemeral, stuff

ACCEPTED = Verdict.ACCEPTED


def second(where: Place = DOOR, **other: object) -> bytes:
    """A token of version 2, by the suite that the place demands."""
    body = ONE.body_2(where, **other)
    return create_token(where.public, ephemeral(body), BACKEND.seed, body, where.factory_secret)


def scripts() -> Iterator[Script]:
    s = Script("version 2 by suite 1, at hardware without a factory secret")
    s.hold(ONE, second()).command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("version 2 by suite 2, at hardware with a factory secret", SAFE)
    s.hold(ONE, second(SAFE)).command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("suite 1 where there is a factory secret costs no opening", SAFE)
    for _ in range(5):
        s.token(ONE.token(DOOR), Verdict.WRONG_MODE, SUITE_DEMANDED)
        s.token(second(), Verdict.WRONG_MODE, SUITE_DEMANDED)
    s.hold(ONE, second(SAFE)).command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("suite 2 where there is no factory secret is too new and costs no opening")
    for _ in range(5):
        s.token(second(SAFE), Verdict.TOO_NEW, SUITE)
    s.hold(ONE, ONE.token()).command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    other = Place(SAFE.id, SAFE.secret, stuff("other factory", 32))
    s = Script("four tokens under a wrong factory secret, and the link is busy", SAFE)
    for generation in range(1, 5):
        s.token(second(other, generation=generation), Verdict.NOT_FOR_ME)
    s.busy_token(second(SAFE))
    s.disconnect().hold(ONE, second(SAFE))
    yield s

    s = Script("version 2 supersedes version 1 by its generation, and the other way round")
    s.hold(ONE, ONE.token()).token(second(), Verdict.SUPERSEDED, OLDER_GENERATION)
    s.hold(ONE, second(generation=2)).command(ONE, s.ask(), ACCEPTED, 65535)
    s.token(ONE.token(generation=2), Verdict.SUPERSEDED, OLDER_GENERATION)
    s.hold(ONE, ONE.token(generation=3)).command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("a base below the generation changes nothing for an ordinary token", SAFE)
    s.hold(ONE, second(SAFE, generation=4, base=1))
    s.token(second(SAFE, generation=3, base=1), Verdict.SUPERSEDED, OLDER_GENERATION)
    yield s

    s = Script("a policy that this version does not carry out is too new, and counts as an opening")
    for policy in (3, 16, 0x80, 0x41):
        s.token(sealed(replace(ONE.body_2(), policy=policy), DOOR), Verdict.TOO_NEW, RESERVED)
    s.busy_token(second())
    yield s

    s = Script("a recall compares the first eight bytes of the nonce", SAFE)
    s.hold(ONE, second(SAFE, uses=2), 2)
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 1)
    s.recall(ONE, live.counter, nonce[:8] + bytes(8), ACCEPTED)
    s.recall(ONE, live.counter, bytes(8) + nonce[8:], Verdict.NOT_EXECUTED)
    yield s
