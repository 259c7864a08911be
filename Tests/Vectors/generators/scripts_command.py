# SPDX-License-Identifier: Apache-2.0

"""Dialogues about commands: section 10, COMMAND."""

from collections.abc import Iterator

from proofspec.basics import DEVELOPMENT, u8, u64
from proofspec.keys import LITERAL
from proofspec.message import Type, Verdict, make_command, parse_command
from proofspec.order import EPOCH, create_order
from proofspec.proof import DEVICE, INTEGRITY, Occasion, proof

from .dialogue import (
    CLASS,
    INTEGRITY_DEMANDED,
    KIND,
    NO_CHALLENGE,
    OTHER_CHALLENGE,
    TIMED_OUT,
    Live,
    Script,
    revoke,
    wrong_device,
    wrong_integrity,
)
from .hostile_config import flipped
from .world import BACKEND, DOOR, GATE, START, app, bare_app, stuff

ONE, TWO = app("one"), bare_app("two")
ACCEPTED, DEVICE_ONLY = Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY
INTEGRITY_DIFFERS, DEVICE_DIFFERS = Verdict.INTEGRITY_DIFFERS, Verdict.DEVICE_DIFFERS


def ready(comment: str, **token: int) -> Script:
    """A new piece of hardware that holds a token of app one."""
    s = Script(comment).step("the token is presented")
    return s.hold(ONE, ONE.token(**token), min(token.get("uses", 65535), 65535))


def scripts() -> Iterator[Script]:
    yield from _accepted()
    yield from _challenges()
    yield from _proofs()
    yield from _limits()
    yield from _shapes()


def _accepted() -> Iterator[Script]:
    s = ready("first contact: an integrity command is accepted")
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("a device command is accepted with reduced rights")
    s.command(ONE, s.ask(), DEVICE_ONLY, 65535, kind=DEVICE)
    yield s

    s = ready("commands of every permitted class")
    for cls in (0, 1, 2):
        s.command(ONE, s.ask(), ACCEPTED, 65535, cls=cls)
    yield s

    s = ready("the shortest and the longest command")
    for length in (0, 256):
        for kind, verdict in ((1, ACCEPTED), (2, DEVICE_ONLY)):
            s.command(ONE, s.ask(), verdict, 65535, kind=kind, command=stuff("c", length))
    yield s

    s = Script("literal secrets where they are allowed", literal=True)
    s.hold(ONE, ONE.token(form=LITERAL), form=LITERAL)
    s.command(ONE, s.ask(), ACCEPTED, 65535, form=LITERAL)
    s.command(ONE, s.ask(), DEVICE_ONLY, 65535, form=LITERAL, kind=DEVICE)
    s.step("diversified secrets do not fit a literal token")
    s.command(ONE, s.ask(), DEVICE_DIFFERS, form=LITERAL, secrets=ONE.at(DOOR))
    yield s

    s = Script("development hardware and a development token", mode=DEVELOPMENT)
    s.hold(ONE, ONE.token(mode=DEVELOPMENT))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("two instances, each with secrets of its own")
    s.hold(TWO, TWO.token())
    s.command(TWO, s.ask(), ACCEPTED, 65535)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.step("one instance with the other's secrets")
    s.command(ONE, s.ask(), DEVICE_DIFFERS, secrets=TWO.at(DOOR))
    yield s

    s = Script("a challenge outlives a token and an order")
    live = s.ask()
    s.hold(ONE, ONE.token())
    s.order(create_order(BACKEND.seed, EPOCH, START + 1, DOOR.id))
    s.command(ONE, live, ACCEPTED, 65535)
    yield s


def _challenges() -> Iterator[Script]:
    s = ready("the same challenge twice is refused the second time")
    live = s.ask()
    s.command(ONE, live, ACCEPTED, 65535)
    s.stale(ONE, live, NO_CHALLENGE)
    yield s

    s = ready("a command without a challenge")
    s.stale(ONE, Live(1, stuff("invented", 32)), NO_CHALLENGE)
    s.stale(ONE, Live(0, bytes(32)), NO_CHALLENGE)
    yield s

    s = ready("a new challenge replaces the one before")
    first, second = s.ask(), s.ask()
    s.step("under the first challenge: this ends the second as well")
    s.stale(ONE, first, OTHER_CHALLENGE)
    s.stale(ONE, second, NO_CHALLENGE)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("the last challenge with the counter after")
    live = s.ask()
    s.stale(ONE, Live(live.counter + 1, live.bytes), OTHER_CHALLENGE)
    s.step("it ended the challenge")
    s.stale(ONE, live, NO_CHALLENGE)
    yield s

    s = ready("a challenge as old as the limit, and a second older")
    s.clock(1000)
    live = s.ask()
    s.clock(1000 + s.limit).command(ONE, live, ACCEPTED, 65535)
    live = s.ask()
    s.clock(1000 + 2 * s.limit + 1).stale(ONE, live, TIMED_OUT)
    s.step("and it is dead").stale(ONE, live, NO_CHALLENGE)
    yield s

    s = ready("a challenge dies with its link")
    live = s.ask()
    s.disconnect()
    s.stale(ONE, live, NO_CHALLENGE)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("a refused command ends its challenge")
    for secrets, verdict, detail in (
        (wrong_device(ONE), DEVICE_DIFFERS, 0),
        (wrong_integrity(ONE), INTEGRITY_DIFFERS, 2),
    ):
        live = s.ask()
        s.command(ONE, live, verdict, detail, secrets=secrets)
        s.stale(ONE, live, NO_CHALLENGE)
    yield s

    s = ready("the challenge's own bytes count, not only its counter")
    live = s.ask()
    other = _wire(Live(live.counter, flipped(live.bytes, 31)), b"open")
    s.command(ONE, live, DEVICE_DIFFERS, wire=other)
    yield s


def _proofs() -> Iterator[Script]:
    s = ready("a changed app on the right device: integrity differs, and attempts run out")
    for left in (2, 1, 0):
        s.command(ONE, s.ask(), INTEGRITY_DIFFERS, left, secrets=wrong_integrity(ONE))
    s.step("no attempt is left, not even for the right app")
    s.command(ONE, s.ask(), Verdict.ATTEMPTS_EXHAUSTED)
    s.command(ONE, s.ask(), Verdict.ATTEMPTS_EXHAUSTED, kind=DEVICE)
    s.step("the token is still held")
    s.hold(ONE, ONE.token())
    yield s

    s = ready("a success gives no attempt back")
    s.command(ONE, s.ask(), INTEGRITY_DIFFERS, 2, secrets=wrong_integrity(ONE))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.command(ONE, s.ask(), INTEGRITY_DIFFERS, 1, secrets=wrong_integrity(ONE))
    yield s

    s = ready("a changed app gets what a device match permits")
    s.command(ONE, s.ask(), INTEGRITY_DIFFERS, 2, secrets=wrong_integrity(ONE))
    s.command(ONE, s.ask(), DEVICE_ONLY, 65535, kind=DEVICE, secrets=wrong_integrity(ONE))
    yield s

    s = ready("a stranger takes no attempts: device differs")
    for _ in range(4):
        s.command(ONE, s.ask(), DEVICE_DIFFERS, secrets=TWO.at(DOOR))
    s.step("even with the right integrity proof")
    s.command(ONE, s.ask(), DEVICE_DIFFERS, secrets=wrong_device(ONE))
    s.command(ONE, s.ask(), DEVICE_DIFFERS, kind=DEVICE, secrets=wrong_device(ONE))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("secrets of other forms and places do not fit")
    s.command(ONE, s.ask(), DEVICE_DIFFERS, secrets=ONE.own)
    s.command(ONE, s.ask(), DEVICE_DIFFERS, secrets=ONE.at(GATE))
    yield s

    yield _changed_commands()

    s = ready("sixteen refusals, then busy until the link ends")
    for _ in range(15):
        s.command(ONE, s.ask(), DEVICE_DIFFERS, secrets=wrong_device(ONE))
    s.step("the sixteenth is a recall with a wrong tag")
    s.recall(ONE, 1, bytes(16), DEVICE_DIFFERS, signed=False, key=bytes(16))
    live = s.ask()
    s.command(ONE, live, Verdict.BUSY, signed=False)
    s.recall(ONE, 1, bytes(16), Verdict.BUSY, signed=False)
    s.step("tokens and questions are still answered")
    s.hold(ONE, ONE.token()).status(1, START)
    s.disconnect()
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("fifteen refusals are not yet too many; a success does not take them back")
    for _ in range(15):
        s.command(ONE, s.ask(), DEVICE_DIFFERS, secrets=wrong_device(ONE))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.command(ONE, s.ask(), DEVICE_DIFFERS, secrets=wrong_device(ONE))
    s.command(ONE, s.ask(), Verdict.BUSY, signed=False)
    yield s

    s = Script("an instance without a slot")
    live = s.ask()
    s.command(ONE, live, Verdict.UNKNOWN_INSTANCE, signed=False)
    s.hold(ONE, ONE.token())
    s.step("the challenge was used up")
    s.stale(ONE, live, NO_CHALLENGE)
    yield s


def _changed_commands() -> Script:
    """The command that arrives differs from the one that the owner's app signed."""
    s = ready("a command changed on its way: device differs")
    at = {"kind 1 as kind 2": 0, "class": 1, "the command's last bit": -1}
    for what, where in at.items():
        live = s.ask()
        sent = _wire(live, b"open")
        s.step(what)
        changed = flipped(sent, where) if where else u8(2) + sent[1:26] + sent[58:]
        _tampered(s, live, changed)
    live = s.ask()
    s.step("a byte is appended")
    _tampered(s, live, _wire(live, b"open") + b"\x00")
    live = s.ask()
    s.step("the last byte is cut off")
    _tampered(s, live, _wire(live, b"open")[:-1])
    live = s.ask()
    s.step("the proofs changed places")
    sent = _wire(live, b"open")
    _tampered(s, live, sent[:26] + sent[58:90] + sent[26:58] + sent[90:])
    live = s.ask()
    s.step("a bit of the integrity proof alone: the device proof answers for it")
    _tampered(s, live, flipped(_wire(live, b"open"), 26))
    live = s.ask()
    s.step("the integrity proof of another command beside the device proof of this one")
    sent, other = _wire(live, b"open"), _wire(live, b"close")
    _tampered(s, live, sent[:26] + other[26:58] + sent[58:])
    live = s.ask()
    s.step("the device proof over the nonce itself, not over the escort nonce")
    sent, secrets = _wire(live, b"open"), ONE.at(DOOR)
    nonce = Occasion(DOOR.id, live.bytes, live.counter, 1, 0, b"open").nonce()
    plain = proof(secrets.device_key, nonce, secrets.dm)
    _tampered(s, live, sent[:58] + plain + sent[90:])
    s.step("no attempt was taken")
    s.command(ONE, s.ask(), INTEGRITY_DIFFERS, 2, secrets=wrong_integrity(ONE))
    return s


def _wire(live: Live, command: bytes) -> bytes:
    occasion = Occasion(DOOR.id, live.bytes, live.counter, 1, 0, command)
    return make_command(occasion, ONE.instance_id, ONE.at(DOOR)).encoded()


def _tampered(s: Script, live: Live, sent: bytes) -> None:
    """The receipt is over the nonce of what arrived."""
    c = parse_command(sent)
    s.command(ONE, live, DEVICE_DIFFERS, kind=c.kind, cls=c.cls, command=c.command, wire=sent)


def _limits() -> Iterator[Script]:
    refused = Verdict.NOT_PERMITTED
    s = ready("classes that the token does not permit", uses=5)
    s.command(ONE, s.ask(), refused, CLASS, cls=3)
    s.command(ONE, s.ask(), refused, CLASS, cls=15)
    s.step("permitted by an integrity match, asked for with a device match")
    s.command(ONE, s.ask(), refused, INTEGRITY_DEMANDED, cls=1, kind=DEVICE)
    s.step("permitted by no match")
    s.command(ONE, s.ask(), refused, CLASS, cls=3, kind=DEVICE)
    s.step("no use was taken")
    s.command(ONE, s.ask(), ACCEPTED, 4, cls=1)
    yield s

    s = ready("no class for a device match", device_classes=0)
    s.command(ONE, s.ask(), refused, INTEGRITY_DEMANDED, kind=DEVICE)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s

    s = ready("class 15 alone", integrity_classes=0x8000, device_classes=0x8000)
    s.command(ONE, s.ask(), ACCEPTED, 65535, cls=15)
    s.command(ONE, s.ask(), DEVICE_ONLY, 65535, cls=15, kind=DEVICE)
    s.command(ONE, s.ask(), refused, CLASS, cls=0)
    s.command(ONE, s.ask(), refused, CLASS, cls=7)
    yield s

    s = ready("an integrity proof that differs is told before a class not permitted")
    s.command(ONE, s.ask(), INTEGRITY_DIFFERS, 2, cls=9, secrets=wrong_integrity(ONE))
    yield s

    s = ready("a stranger does not learn which classes a token permits")
    for cls in (0, 1, 9):
        for kind in (INTEGRITY, DEVICE):
            other = wrong_device(ONE)
            s.command(ONE, s.ask(), DEVICE_DIFFERS, cls=cls, kind=kind, secrets=other)
    yield s

    s = ready("uses run out, shared by both kinds", uses=2)
    s.command(ONE, s.ask(), ACCEPTED, 1)
    s.command(ONE, s.ask(), DEVICE_ONLY, 0, kind=DEVICE)
    s.command(ONE, s.ask(), Verdict.USES_EXHAUSTED)
    s.command(ONE, s.ask(), Verdict.USES_EXHAUSTED, kind=DEVICE)
    s.step("told before a wrong proof")
    s.command(ONE, s.ask(), Verdict.USES_EXHAUSTED, secrets=wrong_device(ONE))
    s.step("the token is still held")
    s.hold(ONE, ONE.token(uses=2), 0)
    yield s

    s = Script("detail says at most 65534")
    s.hold(ONE, ONE.token(uses=65536), 65534)
    for _ in range(2):
        s.command(ONE, s.ask(), ACCEPTED, 65534)
    s.command(ONE, s.ask(), ACCEPTED, 65533)
    yield s

    s = ready("an epoch beyond the end: expired, with a receipt", not_after=START + 100)
    s.order(create_order(BACKEND.seed, EPOCH, START + 100, DOOR.id))
    s.step("the last second")
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.order(create_order(BACKEND.seed, EPOCH, START + 101, DOOR.id))
    s.command(ONE, s.ask(), Verdict.EXPIRED)
    s.command(ONE, s.ask(), Verdict.EXPIRED, secrets=wrong_device(ONE))
    s.step("the token is held nevertheless")
    s.hold(ONE, ONE.token(not_after=START + 100))
    yield s

    s = ready("the epoch moves on with the clock", not_after=START + 100)
    s.clock(100).status(1, START + 100)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.clock(101).status(1, START + 101)
    s.command(ONE, s.ask(), Verdict.EXPIRED)
    s.step("a token that ended meanwhile: the first day")
    s.token(TWO.token(not_after=START + 100), Verdict.EXPIRED, 1)
    s.step("and one that did not").hold(TWO, TWO.token(not_after=START + 101))
    yield s

    s = ready("an order moves the epoch, and the clock goes on from there", not_after=START + 100)
    s.clock(10).order(create_order(BACKEND.seed, EPOCH, START + 50, DOOR.id))
    s.status(1, START + 50)
    s.clock(60).status(1, START + 100)
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    s.step("an order of an earlier second does not set it back")
    s.order(create_order(BACKEND.seed, EPOCH, START + 60, DOOR.id)).status(1, START + 100)
    s.clock(61).command(ONE, s.ask(), Verdict.EXPIRED)
    yield s

    s = ready("expired is told before attempts", not_after=START + 100, attempts=1)
    s.command(ONE, s.ask(), INTEGRITY_DIFFERS, 0, secrets=wrong_integrity(ONE))
    s.order(create_order(BACKEND.seed, EPOCH, START + 101, DOOR.id))
    s.command(ONE, s.ask(), Verdict.EXPIRED)
    yield s

    s = ready("revoked is told before expired", not_after=START + 100)
    s.order(revoke(ONE, 1, START + 200))
    s.command(ONE, s.ask(), Verdict.REVOKED, signed=False)
    yield s


def _shapes() -> Iterator[Script]:
    s = ready("malformed commands leave the challenge alone, and so do those of a later version")
    live = s.ask()
    sent = _wire(live, b"open")
    for comment, wire in (
        ("kind 0", u8(0) + sent[1:]),
        ("kind 5", u8(5) + sent[1:]),
        ("kind 255, of the shortest length", u8(255) + sent[1:58]),
        ("kind 5, class 16", u8(5) + u8(16) + sent[2:]),
    ):
        s.step(comment).expect(Type.COMMAND, wire, Verdict.TOO_NEW, KIND)
    for comment, wire in (
        ("kind 5, shorter than any command", u8(5) + sent[1:57]),
        ("kind 5, longer than any command", u8(5) + sent[1:] + bytes(359 - len(sent))),
        ("kind 3, a byte short", u8(3) + sent[1:90] + bytes(11)),
        ("kind 4, a byte short", u8(4) + sent[1:58] + bytes(11)),
        ("class 16", sent[:1] + u8(16) + sent[2:]),
        ("empty", b""),
        ("without its device proof", sent[:58]),
        ("a byte short of an empty command", sent[:89]),
        ("257 bytes of command", sent[:90] + bytes(257)),
    ):
        s.step(comment).expect(Type.COMMAND, wire, Verdict.MALFORMED)
    s.command(ONE, live, ACCEPTED, 65535)
    yield s

    s = ready("what is no question is malformed, and nothing else")
    live = s.ask()
    for type, message in (
        (Type.ASK, b""),
        (Type.ASK, b"\x01\x01"),
        (Type.CHALLENGE, u64(1) + bytes(32)),
        (Type.VERDICT, bytes(43)),
        (Type.STATUS, bytes(28)),
        (Type.TOKEN, b""),
        (Type.ORDER, b""),
        (Type.RECALL, bytes(71)),
        (Type.RECALL, bytes(73)),
        *((type, b"\x01") for type in (0, 2, 3, 4, 5, 6, 7, 8, 9, 15)),
    ):
        s.expect(type, message, Verdict.MALFORMED)
    for what in (0, 3, 4, 255):
        s.expect(Type.ASK, u8(what), Verdict.TOO_NEW, KIND)
    s.command(ONE, live, ACCEPTED, 65535)
    yield s
