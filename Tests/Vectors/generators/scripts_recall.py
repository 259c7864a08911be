# SPDX-License-Identifier: Apache-2.0

"""Dialogues about recalls and restarts: section 10, RECALL."""

from collections.abc import Iterator

from proofspec.keys import recall_key
from proofspec.message import Type, Verdict
from proofspec.order import EPOCH, FLOOR, create_order
from proofspec.proof import DEVICE

from .dialogue import (
    BELOW_FLOOR,
    CLASS,
    ENDED,
    NO_CHALLENGE,
    OTHER_CHALLENGE,
    Script,
    revoke,
    wrong_device,
    wrong_integrity,
)
from .scripts_command import ONE, TWO, ready
from .world import BACKEND, DOOR, START, bare_app, stuff

ACCEPTED, DEVICE_ONLY = Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY
NOT_EXECUTED, STALE = Verdict.NOT_EXECUTED, Verdict.STALE
OTHER_NONCE = stuff("nonce of a command never sent", 16)


def scripts() -> Iterator[Script]:
    yield from _told()
    yield from _fenced()
    yield from _refused()
    yield from _restarts()


def _told() -> Iterator[Script]:
    s = ready("the verdict was lost: the recall repeats it")
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 65535)
    s.recall(ONE, live.counter, nonce, ACCEPTED)
    s.step("as often as one likes").recall(ONE, live.counter, nonce, ACCEPTED)
    s.step("and over another link").disconnect().recall(ONE, live.counter, nonce, ACCEPTED)
    yield s

    s = ready("a device command is recalled as such, and no use is taken", uses=4)
    live = s.ask()
    nonce = s.command(ONE, live, DEVICE_ONLY, 3, kind=DEVICE)
    s.recall(ONE, live.counter, nonce, DEVICE_ONLY)
    s.command(ONE, s.ask(), ACCEPTED, 2)
    yield s

    s = ready("nothing was ever executed: a nonce of zeros is no command")
    s.recall(ONE, s.ask().counter, bytes(16), NOT_EXECUTED)
    yield s

    s = ready("another command under the same challenge was not executed")
    live = s.ask()
    s.command(ONE, live, ACCEPTED, 65535)
    s.recall(ONE, live.counter, OTHER_NONCE, NOT_EXECUTED)
    yield s

    s = ready("refused commands were not executed", uses=1)
    for secrets, cls, verdict, detail in (
        (wrong_integrity(ONE), 0, Verdict.INTEGRITY_DIFFERS, 2),
        (wrong_device(ONE), 0, Verdict.DEVICE_DIFFERS, 0),
        (None, 9, Verdict.NOT_PERMITTED, CLASS),
    ):
        live = s.ask()
        nonce = s.command(ONE, live, verdict, detail, cls=cls, secrets=secrets)
        s.recall(ONE, live.counter, nonce, NOT_EXECUTED)
    s.command(ONE, s.ask(), ACCEPTED, 0)
    live = s.ask()
    nonce = s.command(ONE, live, Verdict.USES_EXHAUSTED)
    s.recall(ONE, live.counter, nonce, NOT_EXECUTED)
    yield s

    s = ready("before the last accepted command: too old to tell")
    first = s.ask()
    nonce = s.command(ONE, first, ACCEPTED, 65535)
    second = s.ask()
    later = s.command(ONE, second, ACCEPTED, 65535)
    s.recall(ONE, first.counter, nonce, STALE)
    s.recall(ONE, first.counter, OTHER_NONCE, STALE)
    s.recall(ONE, second.counter, later, ACCEPTED)
    yield s

    s = ready("a later token of the instance does not make it forget")
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 65535)
    s.hold(ONE, ONE.token(generation=2, uses=5), 5)
    s.recall(ONE, live.counter, nonce, ACCEPTED)
    yield s

    s = Script("a challenge given before the token was presented")
    first, live = s.ask(), s.ask()
    s.hold(ONE, ONE.token())
    s.step("of that time the slot knows nothing")
    s.recall(ONE, first.counter, OTHER_NONCE, STALE)
    s.step("but of its own commands it does")
    nonce = s.command(ONE, live, ACCEPTED, 65535)
    s.recall(ONE, live.counter, nonce, ACCEPTED)
    s.recall(ONE, first.counter, OTHER_NONCE, STALE)
    yield s

    s = ready("a slot that was free in between remembers nothing")
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 65535)
    s.order(create_order(BACKEND.seed, FLOOR, START + 1, DOOR.id))
    s.recall(ONE, live.counter, nonce, Verdict.UNKNOWN_INSTANCE, signed=False)
    s.hold(ONE, ONE.token(issued=START + 1))
    s.recall(ONE, live.counter, nonce, STALE)
    yield s

    s = ready("an expired token can be recalled", not_after=START + 100)
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 65535)
    s.order(create_order(BACKEND.seed, EPOCH, START + 500, DOOR.id))
    s.recall(ONE, live.counter, nonce, ACCEPTED)
    yield s


def _fenced() -> Iterator[Script]:
    s = ready("not executed, and never will be: the late command is stale")
    live = s.ask()
    late = stuff("the late command's nonce", 16)
    s.recall(ONE, live.counter, late, NOT_EXECUTED)
    s.step("the command arrives after all")
    s.stale(ONE, live, ENDED)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("a recall of an earlier challenge leaves the live one alone")
    first, second = s.ask(), s.ask()
    s.recall(ONE, first.counter, OTHER_NONCE, NOT_EXECUTED)
    s.command(ONE, second, ACCEPTED, 65535)
    yield s

    s = ready("a recall of one instance does not concern another")
    s.hold(TWO, TWO.token())
    live = s.ask()
    s.recall(ONE, live.counter, OTHER_NONCE, NOT_EXECUTED)
    s.command(TWO, live, ACCEPTED, 65535)
    s.step("nor does it know what the other did")
    s.recall(ONE, live.counter, OTHER_NONCE, NOT_EXECUTED)
    yield s

    s = ready("a recall outlives its slot, because its instance may come back into one")
    live = s.ask()
    s.recall(ONE, live.counter, OTHER_NONCE, NOT_EXECUTED)
    s.order(create_order(BACKEND.seed, FLOOR, START + 1, DOOR.id)).status(0, START + 1)
    s.step("whoever has the slot now needs a new challenge")
    s.hold(TWO, TWO.token(issued=START + 1))
    s.stale(TWO, live, ENDED)
    s.command(TWO, s.ask(), ACCEPTED, 65535)
    s.step("the instance that comes back into another slot, too")
    s.hold(ONE, ONE.token(issued=START + 1, generation=2))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("a lower recall does not lift a higher one")
    first, second = s.ask(), s.ask()
    s.recall(ONE, second.counter, OTHER_NONCE, NOT_EXECUTED)
    s.recall(ONE, first.counter, OTHER_NONCE, NOT_EXECUTED)
    s.stale(ONE, second, ENDED)
    yield s


def _refused() -> Iterator[Script]:
    s = ready("a recall of a challenge that is yet to come is malformed")
    live = s.ask()
    s.recall(ONE, live.counter + 1, OTHER_NONCE, Verdict.MALFORMED, signed=False)
    s.recall(ONE, 2**64 - 1, OTHER_NONCE, Verdict.MALFORMED, signed=False)
    s.step("it forbade nothing").command(ONE, live, ACCEPTED, 65535)
    yield s

    s = ready("a recall with a wrong tag tells nothing and forbids nothing")
    live = s.ask()
    own = ONE.at(DOOR)
    for key in (bytes(16), TWO.at(DOOR).device_key, ONE.own.device_key, own.key):
        s.recall(ONE, live.counter, OTHER_NONCE, Verdict.DEVICE_DIFFERS, signed=False, key=key)
    s.step("under the recall key's own bytes")
    wrong = recall_key(own.device_key)[:16]
    s.recall(ONE, live.counter, OTHER_NONCE, Verdict.DEVICE_DIFFERS, signed=False, key=wrong)
    s.command(ONE, live, ACCEPTED, 65535)
    yield s

    s = ready("sixteen wrong tags, then busy")
    s.ask()
    for _ in range(16):
        s.recall(ONE, 1, OTHER_NONCE, Verdict.DEVICE_DIFFERS, signed=False, key=bytes(16))
    s.recall(ONE, 1, OTHER_NONCE, Verdict.BUSY, signed=False)
    s.command(ONE, s.ask(), Verdict.BUSY, signed=False)
    s.disconnect().recall(ONE, 1, OTHER_NONCE, NOT_EXECUTED)
    yield s

    s = ready("a recall of an instance without a slot, or with a revoked one")
    live = s.ask()
    three = bare_app("three")
    s.recall(three, live.counter, OTHER_NONCE, Verdict.UNKNOWN_INSTANCE, signed=False)
    nonce = s.command(ONE, live, ACCEPTED, 65535)
    s.order(revoke(ONE, 1))
    s.recall(ONE, live.counter, nonce, Verdict.UNKNOWN_INSTANCE, signed=False)
    yield s

    s = ready("recalls of other lengths are malformed")
    for length in (0, 40, 71, 73, 104):
        s.expect(Type.RECALL, stuff("a recall", length), Verdict.MALFORMED)
    yield s


def _restarts() -> Iterator[Script]:
    s = ready("uses and the last command are there after a restart", uses=3)
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 2)
    s.restart()
    s.hold(ONE, ONE.token(uses=3), 2).status(1, START)
    s.recall(ONE, live.counter, nonce, ACCEPTED)
    yield s

    s = ready("a challenge does not outlive a restart", uses=3)
    live = s.ask()
    s.restart().stale(ONE, live, NO_CHALLENGE)
    s.hold(ONE, ONE.token(uses=3), 3)
    yield s

    s = ready("what was not executed before a restart", uses=3)
    first, second = s.ask(), s.ask()
    nonce = s.stale(ONE, first, OTHER_CHALLENGE)
    s.restart()
    s.recall(ONE, first.counter, nonce, NOT_EXECUTED)
    s.recall(ONE, second.counter, OTHER_NONCE, NOT_EXECUTED)
    yield s

    s = ready("where uses are not counted, a restart forgets: too old to tell")
    live = s.ask()
    nonce = s.command(ONE, live, ACCEPTED, 65535)
    s.recall(ONE, live.counter, nonce, ACCEPTED)
    s.restart()
    s.recall(ONE, live.counter, nonce, STALE)
    s.recall(ONE, live.counter, OTHER_NONCE, STALE)
    yield s

    s = ready("after a restart the epoch is what was signed last")
    s.clock(500).status(1, START + 500)
    s.restart().status(1, START)
    s.clock(700).status(1, START + 200)
    s.order(create_order(BACKEND.seed, EPOCH, START + 300, DOOR.id))
    s.restart().status(1, START + 300)
    yield s

    s = ready("revocations, epoch and floor are there after a restart")
    s.order(revoke(ONE, 1, START + 10))
    s.hold(TWO, TWO.token(issued=START + 5))
    s.order(create_order(BACKEND.seed, FLOOR, START + 5, DOOR.id))
    s.restart().status(2, START + 10)
    s.token(ONE.token(issued=START + 6), Verdict.REVOKED)
    s.token(TWO.token(issued=START + 4, generation=2), Verdict.SUPERSEDED, BELOW_FLOOR)
    s.hold(TWO, TWO.token(issued=START + 5))
    yield s

    s = ready("a revocation alone is there after a restart")
    s.order(revoke(ONE, 1)).restart()
    s.status(1, START + 10).token(ONE.token(), Verdict.REVOKED)
    yield s

    s = ready("a slot that a floor freed is free after a restart")
    s.order(create_order(BACKEND.seed, FLOOR, START + 1, DOOR.id)).restart()
    s.status(0, START + 1).token(ONE.token(), Verdict.SUPERSEDED, BELOW_FLOOR)
    yield s

    s = Script("openings and refusals start anew after a restart")
    for i in range(4):
        s.token(_broken(i), Verdict.NOT_FOR_ME)
    s.busy_token(ONE.token())
    s.restart().hold(ONE, ONE.token())
    yield s


def _broken(i: int) -> bytes:
    token = ONE.token()
    return token[:-1] + bytes([token[-1] ^ 1 << i])
