# SPDX-License-Identifier: Apache-2.0

"""Dialogues about corners of section 10 that an independent implementation could get wrong and pass all others."""

from collections.abc import Iterator

from proofspec.message import Verdict
from proofspec.order import EPOCH, FLOOR, create_order

from .dialogue import (
    ENDED,
    NO_CHALLENGE,
    OTHER_CHALLENGE,
    VERSION,
    Script,
    revoke,
    wrong_integrity,
)
from .scripts_command import ONE, TWO, ready
from .world import BACKEND, DOOR, START, stuff

ACCEPTED, NOT_EXECUTED, STALE = Verdict.ACCEPTED, Verdict.NOT_EXECUTED, Verdict.STALE
OTHER_NONCE = stuff("nonce of a command never sent", 16)


def scripts() -> Iterator[Script]:
    yield from _barriers()
    yield from _swept_barriers()
    yield from _orders()
    yield from _forgetting()


def floor(issued: int) -> bytes:
    return create_order(BACKEND.seed, FLOOR, issued, DOOR.id)


def _barriers() -> Iterator[Script]:
    s = ready("an accepted command ends the instance's older challenges on another link")
    older = s.ask()
    newer = s.link(2).ask()
    s.command(ONE, newer, ACCEPTED, 65535)
    s.link(1).stale(ONE, older, ENDED)
    s.step("a new challenge of that link serves").command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("an accepted command leaves another instance's older challenge alive")
    s.hold(TWO, TWO.token())
    older = s.ask()
    s.link(2).command(ONE, s.ask(), ACCEPTED, 65535)
    s.link(1).command(TWO, older, ACCEPTED, 65535)
    yield s

    s = ready("each link has a live challenge of its own")
    first = s.ask()
    second = s.link(2).ask()
    s.step("the other link's challenge").stale(ONE, first, OTHER_CHALLENGE)
    s.step("took this link's with it").stale(ONE, second, NO_CHALLENGE)
    s.link(1).command(ONE, first, ACCEPTED, 65535)
    yield s

    s = ready("the end of one link leaves the other link's challenge alive")
    live = s.ask()
    s.link(2).ask()
    s.disconnect().link(1).command(ONE, live, ACCEPTED, 65535)
    yield s

    s = ready("a recalled challenge is stale before its instance is revoked")
    live = s.ask()
    s.recall(ONE, live.counter, OTHER_NONCE, NOT_EXECUTED)
    s.order(revoke(ONE, 1)).stale(ONE, live, ENDED)
    s.command(ONE, s.ask(), Verdict.REVOKED, signed=False)
    yield s


def _swept_barriers() -> Iterator[Script]:
    """The highest counter belongs to an instance that the floor leaves in its slot."""

    def swept(comment: str) -> tuple[Script, object]:
        s = ready(comment)
        s.hold(TWO, TWO.token(issued=START + 100))
        first, live = s.ask(), s.ask()
        s.recall(ONE, first.counter, OTHER_NONCE, NOT_EXECUTED)
        s.recall(TWO, live.counter, OTHER_NONCE, NOT_EXECUTED)
        s.order(floor(START + 50)).status(1, START + 100)
        return s, live

    s, live = swept("an instance new after a floor waits for the highest barrier of any instance")
    s.hold(ONE, ONE.token(issued=START + 60, generation=2))
    s.stale(ONE, live, ENDED)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s, live = swept("so does one whose slot a revocation took after the floor")
    s.order(revoke(ONE, 1, START + 60)).status(2, START + 100)
    s.hold(ONE, ONE.token(issued=START + 60, generation=2))
    s.stale(ONE, live, ENDED)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s


def _orders() -> Iterator[Script]:
    s = Script("busy is told to an order before its header is looked at, to a token after it")
    token = ONE.token()
    for i in range(4):
        s.token(token[:-1] + bytes([token[-1] ^ 1 << i]), Verdict.NOT_FOR_ME)
    order = create_order(BACKEND.seed, EPOCH, START, DOOR.id)
    s.order(b"PT" + order[2:], Verdict.BUSY).order(b"PO\x02" + order[3:], Verdict.BUSY)
    s.token(b"PO" + token[2:], Verdict.MALFORMED).token(b"PT\x03" + token[3:], Verdict.TOO_NEW, VERSION)
    s.busy_token(token)
    yield s

    s = Script("a revocation of the floor's own second counts")
    s.order(floor(START + 10)).order(revoke(ONE, 1, START + 10)).status(1, START + 10)
    s.token(ONE.token(issued=START + 10), Verdict.REVOKED)
    yield s

    s = Script("a revocation issued before the floor changes nothing and takes no slot")
    s.order(floor(START + 11)).order(revoke(ONE, 1, START + 10)).status(0, START + 11)
    s.hold(ONE, ONE.token(issued=START + 11))
    yield s

    s = Script("the epoch stays unknown while a clock runs, until something signed comes")
    s.clock(500).status(0, 0)
    s.order(create_order(BACKEND.seed, EPOCH, START, DOOR.id)).status(0, START)
    s.clock(600).status(0, START + 100)
    yield s


def _forgetting() -> Iterator[Script]:
    s = Script("a slot that a revocation took knows nothing of challenges before it")
    s.ask()
    s.order(revoke(ONE, 1))
    s.hold(ONE, ONE.token(generation=2))
    s.recall(ONE, 1, OTHER_NONCE, STALE)
    s.recall(ONE, s.ask().counter, OTHER_NONCE, NOT_EXECUTED)
    yield s

    s = ready("a revoked slot without counted uses forgets its last command at a restart")
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 65535)
    s.order(revoke(ONE, 1)).restart()
    s.hold(ONE, ONE.token(generation=2))
    s.recall(ONE, live.counter, nonce, STALE)
    yield s

    s = ready("a revoked slot with counted uses remembers it", uses=3)
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 2)
    s.order(revoke(ONE, 1)).restart()
    s.hold(ONE, ONE.token(generation=2))
    s.recall(ONE, live.counter, nonce, ACCEPTED)
    yield s

    s = ready("an accepted command gives no spent attempt back", attempts=2)
    wrong = wrong_integrity(ONE)
    s.command(ONE, s.ask(), Verdict.INTEGRITY_DIFFERS, 1, secrets=wrong)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.command(ONE, s.ask(), Verdict.INTEGRITY_DIFFERS, 0, secrets=wrong)
    s.command(ONE, s.ask(), Verdict.ATTEMPTS_EXHAUSTED)
    yield s
