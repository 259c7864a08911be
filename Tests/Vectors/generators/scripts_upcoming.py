# SPDX-License-Identifier: Apache-2.0

"""Dialogues about upcoming tokens: a candidate on one link, which its first proof commits."""

from collections.abc import Iterator
from dataclasses import replace

from proofspec.message import Verdict
from proofspec.order import EPOCH, FLOOR, create_order
from proofspec.proof import DEVICE, INTEGRITY
from proofspec.token import UPCOMING, create_token, token_digest

from .dialogue import CLASS, OLDER_GENERATION, Script, revoke, wrong_device, wrong_integrity
from .scripts_command import ONE, TWO
from .world import BACKEND, DOOR, SAFE, START, App, Place, bare_app, ephemeral

ACCEPTED, DIFFERS = Verdict.ACCEPTED, Verdict.DEVICE_DIFFERS

# The same installation, after its app was updated; and after its system was updated too.
UPDATED = replace(bare_app("one, updated"), instance_id=ONE.instance_id)
BOTH = replace(bare_app("one, app and system updated"), instance_id=ONE.instance_id)


def made(who: App, generation: int, where: Place = DOOR, **other: object) -> bytes:
    body = who.body_2(where, **({"generation": generation, "base": 1} | other))
    return create_token(where.public, ephemeral(body), BACKEND.seed, body, where.factory_secret)


def upcoming(who: App = UPDATED, generation: int = 2, where: Place = DOOR, **other: object) -> bytes:
    return made(who, generation, where, policy=UPCOMING, **other)


def ready(s: Script, token: bytes, uses: int = 65535, who: App = UPDATED) -> Script:
    s.dpk = who.at(s.where).device_key
    return s.expect(3, token, Verdict.READY, uses, 0, token_digest(token))


def order(type: int, issued: int) -> bytes:
    return create_order(BACKEND.seed, type, issued, DOOR.id, bytes(16), 0)


def scripts() -> Iterator[Script]:
    for where in (DOOR, SAFE):
        s = Script(f"an upcoming token commits at its first proof, at {where.id[:2].hex()}", where)
        s.hold(ONE, made(ONE, 1, where))
        ready(s, upcoming(where=where))
        s.command(ONE, s.ask(), ACCEPTED, 65535)
        s.command(UPDATED, s.ask(), ACCEPTED, 65535)
        s.command(ONE, s.ask(), DIFFERS, held=UPDATED)
        s.token(made(ONE, 1, where), Verdict.SUPERSEDED, OLDER_GENERATION)
        s.command(UPDATED, s.ask(), ACCEPTED, 65535)
        s.restart()
        s.hold(UPDATED, upcoming(where=where)).token(made(ONE, 1, where), Verdict.SUPERSEDED, OLDER_GENERATION)
        yield s

    s = Script("an upcoming token that is not proved changes nothing")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    s.disconnect().command(UPDATED, s.ask(), DIFFERS, held=ONE)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.link(2)
    ready(s, upcoming())
    s.link(1).command(UPDATED, s.ask(), DIFFERS, held=ONE)
    s.restart()
    s.hold(ONE, made(ONE, 1))
    yield s

    s = Script("without a held slot an upcoming token is an ordinary one")
    s.hold(UPDATED, upcoming()).command(UPDATED, s.ask(), ACCEPTED, 65535)
    s.token(made(ONE, 1), Verdict.SUPERSEDED, OLDER_GENERATION)
    yield s

    s = Script("after a revocation of the present generation an upcoming token is an ordinary one")
    s.hold(ONE, made(ONE, 1)).order(revoke(ONE, 1, START))
    s.hold(UPDATED, upcoming()).command(UPDATED, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("two generations share their uses")
    s.hold(ONE, made(ONE, 1, uses=3), 3)
    s.command(ONE, s.ask(), ACCEPTED, 2)
    ready(s, upcoming(uses=9), 2)
    s.command(ONE, s.ask(), ACCEPTED, 1)
    s.command(UPDATED, s.ask(), ACCEPTED, 0)
    s.command(UPDATED, s.ask(), Verdict.USES_EXHAUSTED)
    yield s

    s = Script("the upcoming token's own limit of uses holds after the commit")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming(uses=2), 2)
    s.command(UPDATED, s.ask(), ACCEPTED, 1)
    s.command(UPDATED, s.ask(), ACCEPTED, 0)
    s.command(UPDATED, s.ask(), Verdict.USES_EXHAUSTED)
    yield s

    s = Script("two generations share their attempts, and a new candidate brings none")
    s.hold(ONE, made(ONE, 1))
    changed = Verdict.INTEGRITY_DIFFERS
    s.command(ONE, s.ask(), changed, 2, secrets=wrong_integrity(ONE))
    ready(s, upcoming(attempts=9))
    s.command(UPDATED, s.ask(), changed, 1, secrets=wrong_integrity(UPDATED))
    s.disconnect()
    ready(s, upcoming(attempts=9))
    s.command(UPDATED, s.ask(), changed, 0, secrets=wrong_integrity(UPDATED))
    s.command(UPDATED, s.ask(), Verdict.ATTEMPTS_EXHAUSTED)
    s.command(ONE, s.ask(), Verdict.ATTEMPTS_EXHAUSTED)
    yield s

    s = Script("a device match is judged under the slot and commits nothing")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    s.command(UPDATED, s.ask(), DIFFERS, kind=DEVICE, held=ONE)
    s.command(ONE, s.ask(), Verdict.ACCEPTED_DEVICE_ONLY, 65535, kind=DEVICE)
    s.command(UPDATED, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("a command that is not permitted commits nothing")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming(integrity_classes=2, device_classes=0))
    s.command(UPDATED, s.ask(), Verdict.NOT_PERMITTED, CLASS)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("a candidate whose generation was revoked meanwhile")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    s.link(2).order(revoke(ONE, 2, START)).hold(BOTH, made(BOTH, 3))
    s.link(1).command(UPDATED, s.ask(), Verdict.REVOKED, signed=False)
    s.token(upcoming(), Verdict.REVOKED)
    s.command(BOTH, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("a candidate that a newer token has passed meanwhile")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    s.link(2).hold(BOTH, made(BOTH, 3))
    s.link(1).command(UPDATED, s.ask(), Verdict.SUPERSEDED, signed=False)
    s.command(BOTH, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("a candidate below a floor that rose meanwhile")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    s.link(2).hold(BOTH, made(BOTH, 3, issued=START + 20)).order(order(FLOOR, START + 10))
    s.link(1).command(UPDATED, s.ask(), Verdict.SUPERSEDED, signed=False)
    yield s

    s = Script("app first, then app and system: each proof commits, and no generation returns")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    s.command(UPDATED, s.ask(), ACCEPTED, 65535)
    ready(s, upcoming(BOTH, 4), who=BOTH)
    s.command(BOTH, s.ask(), ACCEPTED, 65535)
    s.token(upcoming(), Verdict.SUPERSEDED, OLDER_GENERATION)
    s.token(made(ONE, 1), Verdict.SUPERSEDED, OLDER_GENERATION)
    yield s

    s = Script("the last of two upcoming tokens is the link's candidate")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    ready(s, upcoming(BOTH, 4), who=BOTH)
    s.command(UPDATED, s.ask(), DIFFERS, held=ONE)
    s.command(BOTH, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("four candidates, and the link is busy")
    s.hold(ONE, made(ONE, 1))
    for _ in range(4):
        ready(s, upcoming())
    s.busy_token(upcoming())
    s.command(UPDATED, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("a wrong device proof beside a candidate is one refusal")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    for _ in range(16):
        s.command(UPDATED, s.ask(), DIFFERS, secrets=wrong_device(UPDATED), held=ONE)
    s.command(UPDATED, s.ask(), Verdict.BUSY, signed=False)
    yield s

    s = Script("a candidate serves its own instance only")
    s.hold(TWO, made(TWO, 1)).hold(ONE, made(ONE, 1))
    ready(s, upcoming())
    posing = replace(UPDATED, instance_id=TWO.instance_id)
    s.command(posing, s.ask(), DIFFERS, held=TWO)
    s.command(TWO, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("each generation has an end of its own")
    s.hold(ONE, made(ONE, 1, not_after=START + 10))
    ready(s, upcoming())
    s.order(order(EPOCH, START + 20))
    s.command(ONE, s.ask(), Verdict.EXPIRED)
    s.command(UPDATED, s.ask(), ACCEPTED, 65535)
    yield s

    s = Script("a recall after the commit is made under the newer pair")
    s.hold(ONE, made(ONE, 1, uses=9), 9)
    ready(s, upcoming(uses=9), 9)
    live = s.ask()
    nonce = s.command(UPDATED, live, ACCEPTED, 8)
    s.disconnect()
    s.recall(ONE, live.counter, nonce, DIFFERS, signed=False)
    s.recall(UPDATED, live.counter, nonce, ACCEPTED)
    yield s

    s = Script("a recall where the command did not come is made under the older pair")
    s.hold(ONE, made(ONE, 1, uses=9), 9)
    ready(s, upcoming(uses=9), 9)
    live = s.ask()
    s.disconnect()
    s.recall(UPDATED, live.counter, bytes(16), DIFFERS, signed=False)
    s.recall(ONE, live.counter, bytes(16), Verdict.NOT_EXECUTED)
    yield s

    s = Script("an upcoming token tells the time")
    s.hold(ONE, made(ONE, 1))
    ready(s, upcoming(issued=START + 50))
    s.status(1, START + 50)
    s.command(UPDATED, s.ask(), ACCEPTED, 65535, kind=INTEGRITY)
    yield s
