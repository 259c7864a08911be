# SPDX-License-Identifier: Apache-2.0

"""Dialogues about tokens and orders: section 10, TOKEN and ORDER."""

from collections.abc import Iterator
from dataclasses import replace

from proofspec.basics import DEVELOPMENT, FOREVER, GENERATION_MAX, u8
from proofspec.keys import LITERAL
from proofspec.message import Type, Verdict
from proofspec.order import ANYONE, EPOCH, FLOOR, create_order
from proofspec.token import seal_token, token_header

from .dialogue import (
    BELOW_FLOOR,
    KIND,
    LITERAL_FORM,
    OLDER_GENERATION,
    OTHER_MODE,
    SLOTS,
    SUITE,
    VERSION,
    Script,
    revoke,
    wrong_device,
    wrong_integrity,
)
from .hostile_config import flipped
from .hostile_order import EPOCH_ORDER, REVOKE_ORDER
from .hostile_order import signed as signed_order
from .hostile_token import BODY, TWIN, gate_plain, signed
from .scripts_command import ONE, TWO, ready
from .world import (
    BACKEND,
    DOOR,
    GATE,
    OTHER_BACKEND,
    START,
    STRANGER,
    bare_app,
    stuff,
)

ACCEPTED = Verdict.ACCEPTED
SUPERSEDED, REVOKED, EXPIRED = Verdict.SUPERSEDED, Verdict.REVOKED, Verdict.EXPIRED
DAY = 86_400
CROWD = [bare_app(f"tenant {i}") for i in range(9)]


def epoch(issued: int) -> bytes:
    return create_order(BACKEND.seed, EPOCH, issued, DOOR.id)


def floor(issued: int) -> bytes:
    return create_order(BACKEND.seed, FLOOR, issued, DOOR.id)


def full(comment: str) -> Script:
    """Eight instances hold a slot each, issued a second after each other."""
    s = Script(comment)
    for i, tenant in enumerate(CROWD[:8]):
        s.hold(tenant, tenant.token(issued=START + i))
    return s


def scripts() -> Iterator[Script]:
    yield from _tokens()
    yield from _refused_tokens()
    yield from _openings()
    yield from _orders()
    yield from _revocations()
    yield from _floors()


def _tokens() -> Iterator[Script]:
    s = Script("new hardware: nothing held, epoch 0").status(0, 0)
    s.hold(ONE, ONE.token())
    s.step("the epoch rose to the token's time of issue").status(1, START)
    yield s

    s = ready("a held token again: held, with the uses that are left", uses=3)
    s.command(ONE, s.ask(), ACCEPTED, 2)
    s.hold(ONE, ONE.token(uses=3), 2)
    s.disconnect().hold(ONE, ONE.token(uses=3), 2)
    s.status(1, START)
    yield s

    s = ready("a later generation takes the slot, with attempts and uses of its own", attempts=1)
    s.command(ONE, s.ask(), Verdict.INTEGRITY_DIFFERS, 0, secrets=wrong_integrity(ONE))
    s.hold(ONE, ONE.token(generation=2, attempts=2, uses=9), 9)
    s.command(ONE, s.ask(), ACCEPTED, 8)
    s.command(ONE, s.ask(), Verdict.INTEGRITY_DIFFERS, 1, secrets=wrong_integrity(ONE))
    s.step("the generation before is superseded").token(ONE.token(attempts=1), SUPERSEDED, OLDER_GENERATION)
    s.status(1, START)
    yield s

    s = ready("the same generation in other bytes is superseded")
    s.token(ONE.token(uses=7), SUPERSEDED, OLDER_GENERATION)
    s.token(ONE.token(issued=START + 5), SUPERSEDED, OLDER_GENERATION)
    s.step("the epoch did not rise").status(1, START)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("generations may be left out, up to the last", generation=7)
    s.hold(ONE, ONE.token(generation=GENERATION_MAX))
    s.token(ONE.token(generation=GENERATION_MAX - 1), SUPERSEDED, OLDER_GENERATION)
    yield s

    s = ready("generations of one instance do not matter to another", generation=9)
    s.hold(TWO, TWO.token(generation=1)).status(2, START)
    yield s

    s = ready("a token with other secrets: the ones before no longer fit")
    new = replace(TWO, instance_id=ONE.instance_id)
    s.hold(new, new.token(generation=2)).status(1, START)
    s.command(new, s.ask(), Verdict.DEVICE_DIFFERS, secrets=ONE.at(DOOR))
    s.command(new, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("by a second issuer, for the same instance")
    s.hold(ONE, ONE.token(by=OTHER_BACKEND, generation=2))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = full("nine instances, eight slots")
    s.token(CROWD[8].token(issued=START + 8), Verdict.NO_ROOM, SLOTS)
    s.step("the epoch did not rise").status(8, START + 7)
    s.step("an instance with a slot needs no other")
    s.hold(CROWD[0], CROWD[0].token(generation=2, issued=START + 9)).status(8, START + 9)
    s.step("the floor frees a slot").order(floor(START + 2)).status(7, START + 9)
    s.hold(CROWD[8], CROWD[8].token(issued=START + 8)).status(8, START + 9)
    yield s

    s = ready("a later time of issue moves the epoch, an earlier one does not")
    s.hold(TWO, TWO.token(issued=START - 50)).status(2, START)
    s.hold(TWO, TWO.token(issued=START + 50, generation=2)).status(2, START + 50)
    yield s

    s = Script("presented when the epoch is at its end, and beyond it")
    s.order(epoch(START + 100))
    s.hold(ONE, ONE.token(not_after=START + 100))
    s.order(epoch(START + 101))
    s.token(TWO.token(not_after=START + 100), EXPIRED, 1)
    s.step("the first day is over").order(epoch(START + 100 + DAY - 1))
    s.token(TWO.token(not_after=START + 100), EXPIRED, 1)
    s.order(epoch(START + 100 + DAY)).token(TWO.token(not_after=START + 100), EXPIRED, 2)
    s.step("without an end").hold(TWO, TWO.token())
    yield s


def _refused_tokens() -> Iterator[Script]:
    dev, literal = ONE.token(mode=DEVELOPMENT), ONE.token(form=LITERAL)
    resealed = seal_token(DOOR.public, stuff("own", 32), token_header(DOOR.id), gate_plain())
    stranger = signed(ONE.body(by=STRANGER), by=STRANGER)
    good = ONE.token()
    for comment, token, verdict, *detail in (
        ("a development token", dev, Verdict.WRONG_MODE, OTHER_MODE),
        ("a literal token", literal, Verdict.WRONG_MODE, LITERAL_FORM),
        ("a stranger's token", stranger, Verdict.NOT_SIGNED),
        ("a token for the gate, sealed again to the door", resealed, Verdict.NOT_SIGNED),
        ("a token for the gate", ONE.token(GATE), Verdict.NOT_FOR_ME),
        ("a token for hardware with the same hint", ONE.token(TWIN), Verdict.NOT_FOR_ME),
        ("another id in the body", signed(replace(BODY, hardware_id=TWIN.id)), Verdict.NOT_FOR_ME),
        ("a bit changed in the box", flipped(good, 100), Verdict.NOT_FOR_ME),
        ("a range left", signed(replace(BODY, uses=0)), Verdict.MALFORMED),
        ("a version too new", good[:2] + u8(3) + good[3:], Verdict.TOO_NEW, VERSION),
        ("a byte short", good[:-1], Verdict.MALFORMED),
        ("a byte more", good + b"\x00", Verdict.MALFORMED),
        ("another magic", b"PX" + good[2:], Verdict.MALFORMED),
    ):
        s = Script(f"{comment} changes nothing")
        live = s.ask()
        s.token(token, verdict, *detail).status(0, 0)
        s.hold(ONE, good)
        s.step("the challenge is still alive").command(ONE, live, ACCEPTED, 65535)
        yield s

    s = Script("production tokens at development hardware", mode=DEVELOPMENT)
    s.token(good, Verdict.WRONG_MODE, OTHER_MODE).hold(ONE, dev)
    yield s


def _openings() -> Iterator[Script]:
    bad = [flipped(ONE.token(), 60 + i) for i in range(5)]
    s = ready("four openings for nothing, then busy until the link ends")
    for token in bad[:4]:
        s.token(token, Verdict.NOT_FOR_ME)
    s.busy_token(bad[4]).busy_token(TWO.token())
    s.order(epoch(START + 5), Verdict.BUSY)
    s.step("a held token costs nothing").hold(ONE, ONE.token())
    s.step("nor does one whose header is wrong").token(ONE.token(GATE), Verdict.NOT_FOR_ME)
    s.token(ONE.token()[:-1], Verdict.MALFORMED)
    s.step("commands are still done").command(ONE, s.ask(), ACCEPTED, 65535)
    s.disconnect().hold(TWO, TWO.token())
    yield s

    s = Script("openings of tokens and orders count together, whatever came of them")
    s.token(bad[0], Verdict.NOT_FOR_ME)
    s.token(signed(ONE.body(by=STRANGER), by=STRANGER), Verdict.NOT_SIGNED)
    s.order(flipped(epoch(START), -1), Verdict.NOT_SIGNED)
    s.token(ONE.token(mode=DEVELOPMENT), Verdict.WRONG_MODE, OTHER_MODE)
    s.busy_token(ONE.token())
    yield s

    s = ready("superseded, revoked and expired openings count as well", generation=5)
    s.order(revoke(ONE, 2)).order(epoch(START + 1000))
    s.token(ONE.token(generation=2), REVOKED)
    s.token(ONE.token(generation=4), SUPERSEDED, OLDER_GENERATION)
    s.token(ONE.token(generation=6, not_after=START + 1), EXPIRED, 1)
    s.token(ONE.token(generation=3), SUPERSEDED, OLDER_GENERATION)
    s.busy_token(ONE.token(generation=6))
    s.disconnect().hold(ONE, ONE.token(generation=6))
    yield s

    s = Script("wrong headers do not count as openings")
    for _ in range(3):
        s.token(ONE.token(GATE), Verdict.NOT_FOR_ME)
        s.token(ONE.token()[:100], Verdict.MALFORMED)
        s.token(b"PT\x03\x01" + ONE.token()[4:], Verdict.TOO_NEW, VERSION)
    s.hold(ONE, ONE.token())
    yield s

    s = Script("nor do orders with wrong headers")
    order = epoch(START)
    for wrong, verdict, *detail in (
        (b"PT" + order[2:], Verdict.MALFORMED),
        (b"PO\x02" + order[3:], Verdict.TOO_NEW, VERSION),
        (b"PO\x01\x02" + order[4:], Verdict.TOO_NEW, SUITE),
    ):
        s.order(wrong, verdict, *detail).order(wrong[:-1], Verdict.MALFORMED)
    s.order(order).status(0, START)
    yield s

    s = Script("openings that change something do not count")
    for i in range(6):
        s.hold(ONE, ONE.token(generation=i + 1))
        s.order(epoch(START + 1 + i))
    yield s

    s = ready("an order that changes nothing counts as an opening")
    for _ in range(4):
        s.order(epoch(START))
    s.order(epoch(START + 1), Verdict.BUSY)
    s.disconnect().order(epoch(START + 1)).status(1, START + 1)
    yield s


def _orders() -> Iterator[Script]:
    s = Script("the epoch rises and never falls")
    s.order(epoch(START)).status(0, START)
    s.order(epoch(START + 9)).status(0, START + 9)
    s.order(epoch(START + 3)).status(0, START + 9)
    yield s

    far = replace(EPOCH_ORDER, hardware_id=GATE.id)
    any_epoch = replace(EPOCH_ORDER, hardware_id=ANYONE)
    all_revoked = replace(REVOKE_ORDER, hardware_id=ANYONE)
    good = epoch(START)
    for comment, order, verdict, *detail in (
        ("an order for the gate", signed_order(far), Verdict.NOT_FOR_ME),
        ("an epoch for any hardware", signed_order(any_epoch), Verdict.NOT_FOR_ME),
        ("a revocation for any hardware", signed_order(all_revoked), Verdict.NOT_FOR_ME),
        ("a stranger's order", signed_order(EPOCH_ORDER, STRANGER), Verdict.NOT_SIGNED),
        ("a type too new", signed_order(replace(EPOCH_ORDER, type=4)), Verdict.TOO_NEW, KIND),
        ("a version too new", good[:2] + u8(3) + good[3:], Verdict.TOO_NEW, VERSION),
        ("a byte short", good[:-1], Verdict.MALFORMED),
        ("another magic", b"PT" + good[2:], Verdict.MALFORMED),
    ):
        s = Script(f"{comment} changes nothing")
        yield s.order(order, verdict, *detail).status(0, 0)

    s = Script("an order in the place of a token, and the other way round")
    s.expect(Type.TOKEN, good, Verdict.MALFORMED)
    s.expect(Type.ORDER, ONE.token(), Verdict.MALFORMED)
    s.expect(Type.TOKEN, good + bytes(288 - len(good)), Verdict.MALFORMED)
    yield s


def _revocations() -> Iterator[Script]:
    s = ready("a revoked instance, until a later generation comes")
    live = s.ask()
    s.order(revoke(ONE, 1)).status(1, START + 10)
    s.step("the challenge outlived the order, the token did not")
    s.command(ONE, live, REVOKED, signed=False)
    s.command(ONE, s.ask(), REVOKED, signed=False, secrets=wrong_device(ONE))
    s.recall(ONE, 1, bytes(16), Verdict.UNKNOWN_INSTANCE, signed=False)
    s.step("the very token that was held").token(ONE.token(), REVOKED)
    s.hold(ONE, ONE.token(generation=2))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("revoked for good")
    s.order(revoke(ONE, FOREVER))
    s.token(ONE.token(generation=2), REVOKED)
    s.token(ONE.token(generation=GENERATION_MAX), REVOKED)
    s.step("others are not concerned").hold(TWO, TWO.token())
    yield s

    s = ready("generations before the held one are revoked: it stays", generation=5)
    s.order(revoke(ONE, 4))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.token(ONE.token(generation=4), REVOKED)
    s.order(revoke(ONE, 5, START + 20))
    s.command(ONE, s.ask(), REVOKED, signed=False)
    s.step("a lower revocation takes nothing back").order(revoke(ONE, 3, START + 30))
    s.token(ONE.token(generation=5), REVOKED)
    s.hold(ONE, ONE.token(generation=6))
    yield s

    s = Script("revoked before it was ever seen: a slot is taken")
    s.order(revoke(ONE, 3)).status(1, START + 10)
    s.command(ONE, s.ask(), REVOKED, signed=False)
    s.token(ONE.token(generation=3), REVOKED)
    s.hold(ONE, ONE.token(generation=4)).status(1, START + 10)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = full("no slot is left for a revocation")
    s.order(revoke(CROWD[8], 1), Verdict.NO_ROOM, SLOTS).status(8, START + 7)
    s.step("of an instance with a slot").order(revoke(CROWD[3], 1)).status(8, START + 10)
    s.step("a revoked slot is not free").token(CROWD[8].token(), Verdict.NO_ROOM, SLOTS)
    yield s


def _floors() -> Iterator[Script]:
    s = ready("a floor: what was issued before it is superseded and gone")
    s.hold(TWO, TWO.token(issued=START + 100))
    s.order(floor(START + 100)).status(1, START + 100)
    s.command(ONE, s.ask(), Verdict.UNKNOWN_INSTANCE, signed=False)
    s.command(TWO, s.ask(), ACCEPTED, 65535)
    s.token(ONE.token(), SUPERSEDED, BELOW_FLOOR)
    s.token(ONE.token(issued=START + 99, generation=9), SUPERSEDED, BELOW_FLOOR)
    s.hold(ONE, ONE.token(issued=START + 100))
    yield s

    s = ready("a floor does not fall")
    s.order(floor(START + 100))
    s.order(floor(START + 50))
    s.token(ONE.token(issued=START + 99), SUPERSEDED, BELOW_FLOOR)
    yield s

    s = ready("a floor frees the slot of a revocation issued before it")
    s.order(revoke(ONE, 1, START + 10)).status(1, START + 10)
    s.order(floor(START + 10)).status(1, START + 10)
    s.order(floor(START + 11)).status(0, START + 11)
    s.step("its tokens are superseded, no longer revoked").token(ONE.token(), SUPERSEDED, BELOW_FLOOR)
    yield s

    s = ready("a floor ends a token and spares an older generation's later revocation", generation=5)
    s.order(revoke(ONE, 3, START + 200)).order(floor(START + 150)).status(1, START + 200)
    s.command(ONE, s.ask(), REVOKED, signed=False)
    s.token(ONE.token(generation=5), SUPERSEDED, BELOW_FLOOR)
    s.token(ONE.token(generation=3, issued=START + 160), REVOKED)
    s.restart().token(ONE.token(generation=3, issued=START + 160), REVOKED)
    s.step("up to its own time").order(floor(START + 200)).status(1, START + 200)
    s.token(ONE.token(generation=3, issued=START + 200), REVOKED)
    s.order(floor(START + 201)).status(0, START + 201)
    yield s

    s = ready("the next generation comes beside a revocation that a floor has spared", generation=5)
    s.order(revoke(ONE, 3, START + 200)).order(floor(START + 150))
    s.hold(ONE, ONE.token(generation=6, issued=START + 160)).status(1, START + 200)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("a later revocation of fewer generations renews the wider one", generation=5)
    s.order(revoke(ONE, 3, START + 120)).order(revoke(ONE, 2, START + 200))
    s.order(floor(START + 150))
    s.token(ONE.token(generation=3, issued=START + 160), REVOKED)
    yield s

    s = Script("superseded by the floor is told before revoked")
    s.order(revoke(ONE, 5, START + 100)).order(floor(START + 50))
    s.token(ONE.token(generation=5), SUPERSEDED, BELOW_FLOOR)
    s.token(ONE.token(generation=5, issued=START + 60), REVOKED)
    yield s
