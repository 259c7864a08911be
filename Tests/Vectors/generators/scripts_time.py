# SPDX-License-Identifier: Apache-2.0

"""Dialogues about the hardware's time, which a signature moves by a bounded step."""

from collections.abc import Iterator

from proofspec.hardware import AHEAD, EPOCH_STEP
from proofspec.message import Type, Verdict

from .dialogue import Script, revoke
from .scripts_command import ONE, TWO, ready
from .scripts_token import ACCEPTED, EXPIRED, epoch, floor
from .world import START


def scripts() -> Iterator[Script]:
    """One signature moves the time by at most 400 days."""
    far = START + EPOCH_STEP

    def ahead(s: Script, order: bytes) -> Script:
        return s.expect(Type.ORDER, order, EXPIRED, AHEAD)

    s = Script("an epoch up to the step and a second beyond it")
    s.order(epoch(START))
    ahead(s, epoch(far + 1)).status(0, START)
    s.order(epoch(far)).status(0, far)
    s.step("from there the next step").order(epoch(far + EPOCH_STEP)).status(0, far + EPOCH_STEP)
    ahead(s, epoch(2**64 - 1)).status(0, far + EPOCH_STEP)
    yield s

    s = Script("the first time is taken as it comes")
    s.order(epoch(2**64 - 1)).status(0, 2**64 - 1)
    yield s

    s = ready("a floor or a revocation beyond the step does nothing")
    ahead(s, floor(far + 1)).status(1, START)
    ahead(s, revoke(ONE, 1, far + 1)).status(1, START)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("a token issued beyond the step is refused, one at the step is held")
    s.expect(Type.TOKEN, TWO.token(issued=far + 1), EXPIRED, AHEAD).status(1, START)
    s.hold(TWO, TWO.token(issued=far)).status(2, far)
    yield s

    s = ready("beyond the step is told before the generation", generation=5)
    s.expect(Type.TOKEN, ONE.token(issued=far + 1, generation=4), EXPIRED, AHEAD)
    yield s

    s = ready("what is beyond the step counts as an opening")
    for second in range(3):
        ahead(s, epoch(far + 1 + second))
    s.expect(Type.TOKEN, TWO.token(issued=far + 9), EXPIRED, AHEAD)
    s.order(epoch(START + 1), Verdict.BUSY)
    s.disconnect().order(epoch(START + 1)).status(1, START + 1)
    yield s

    s = Script("the days since a token's end are told up to a limit")
    s.order(epoch(2**64 - 1)).token(ONE.token(not_after=START + 1), EXPIRED, 49_711)
    yield s

    s = ready("the step counts from the running clock")
    s.clock(100)
    ahead(s, epoch(far + 101))
    s.order(epoch(far + 100)).status(1, far + 100)
    yield s

    s = Script("five years without power, made up for in steps")
    s.order(epoch(START))
    now = START + 5 * 365 * 86_400
    s.expect(Type.TOKEN, ONE.token(issued=now), EXPIRED, AHEAD)
    for days in (400, 800, 1200, 1600):
        s.order(epoch(START + days * 86_400))
    s.hold(ONE, ONE.token(issued=now)).status(1, now)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s
