# SPDX-License-Identifier: Apache-2.0

"""Dialogues about the ratchet: owners, copies, lost answers, the policies."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from proofspec import ratchet as ratchets
from proofspec.message import Type, Verdict, make_command
from proofspec.proof import DEVICE, DEVICE_RATCHET, INTEGRITY, INTEGRITY_RATCHET, Occasion
from proofspec.ratchet import REFUSE, REPORT
from proofspec.token import token_digest

from .dialogue import INTEGRITY_DEMANDED, Live, Script, revoke, wrong_device, wrong_integrity
from .scripts_command import ONE
from .scripts_version import second
from .world import DOOR, START, stuff

ACCEPTED, DEVICE_ONLY = Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY
COPY, DEVICE_COPY = Verdict.ACCEPTED_COPY, Verdict.ACCEPTED_DEVICE_ONLY_COPY
COPIED, NOT_EXECUTED = Verdict.COPIED, Verdict.NOT_EXECUTED
UNLOCK, SETTINGS = 0, 2  # the first is permitted to a device match, too


@dataclass
class Phone:
    """One holder of the app's storage: what it knows of the ratchet."""

    ratchet: bytes
    policy: int
    known: int = 0

    def copy(self) -> "Phone":
        return replace(self)

    def follow(self, verdict: Verdict, nonce: bytes, counter: int) -> None:
        if verdict not in (ACCEPTED, DEVICE_ONLY, COPY, DEVICE_COPY):
            return
        self.known = counter & 0xFFFFFFFF
        if verdict in (ACCEPTED, DEVICE_ONLY):
            self.ratchet = ratchets.step(self.ratchet, nonce)
        elif self.policy == REPORT:
            self.ratchet = ratchets.fork(ONE.at(DOOR), nonce)


def ready(comment: str, policy: int, **other: object) -> tuple[Script, Phone]:
    s, token = Script(comment), second(policy=policy, **other)
    uses = other.get("uses", 65535)
    s.hold(ONE, token, uses if isinstance(uses, int) else 65535)
    return s, Phone(ratchets.begin(ONE.at(DOOR), token_digest(token)), policy)


def wire(phone: Phone, live: Live, kind: int, cls: int) -> tuple[bytes, bytes]:
    """A command and its nonce."""
    occasion = Occasion(DOOR.id, live.bytes, live.counter, kind, cls, b"open")
    made = make_command(occasion, ONE.instance_id, ONE.at(DOOR), phone.ratchet, phone.known)
    return made.encoded(), occasion.nonce()


def act(
    s: Script,
    phone: Phone,
    verdict: Verdict,
    detail: int = 65535,
    kind: int = INTEGRITY_RATCHET,
    cls: int = UNLOCK,
) -> tuple[int, bytes]:
    """One command; the phone follows the answer. Counter and nonce, for a recall."""
    live = s.ask()
    message, nonce = wire(phone, live, kind, cls)
    s.dpk = ONE.at(DOOR).device_key
    s.expect(Type.COMMAND, message, verdict, detail, live.counter, nonce)
    phone.follow(verdict, nonce, live.counter)
    return live.counter, nonce


def scripts() -> Iterator[Script]:
    for policy in (REPORT, REFUSE):
        s, owner = ready(f"an owner stays in step, policy {policy}", policy)
        for _ in range(4):
            act(s, owner, ACCEPTED, cls=SETTINGS)
            act(s, owner, DEVICE_ONLY, kind=DEVICE_RATCHET)
        yield s
    yield from _copies()
    yield from _lost()
    yield from _kinds()
    yield from _tokens()


def _copies() -> Iterator[Script]:
    s, owner = ready("a copy is told of, and then the owner", REPORT)
    act(s, owner, ACCEPTED)
    copy = owner.copy()
    act(s, owner, ACCEPTED)
    s.step("the copy").link(2)
    act(s, copy, COPY, cls=SETTINGS)
    act(s, copy, DEVICE_ONLY, kind=DEVICE_RATCHET)
    s.step("the owner").link(1)
    act(s, owner, DEVICE_COPY, kind=DEVICE_RATCHET)
    act(s, owner, ACCEPTED)
    act(s, copy, COPY)
    yield s

    s, owner = ready("a copy is refused but for classes of a device match", REFUSE, uses=20)
    copy = owner.copy()
    counter, _ = act(s, owner, ACCEPTED, 19, cls=SETTINGS)
    for _ in range(3):
        refused, nonce = act(s, copy, COPIED, counter & 0xFFFF, cls=SETTINGS)
        s.recall(ONE, refused, nonce, NOT_EXECUTED)
    act(s, copy, COPY, 18)
    counter, _ = act(s, copy, DEVICE_COPY, 17, kind=DEVICE_RATCHET)
    s.step("unlocking did not bring it into step")
    act(s, copy, COPIED, counter & 0xFFFF, cls=SETTINGS)
    s.step("the owner is in step all the while")
    act(s, owner, ACCEPTED, 16, cls=SETTINGS)
    act(s, owner, ACCEPTED, 15, cls=SETTINGS)
    yield s

    s, owner = ready("the copy speaks first, and refuses the owner", REFUSE)
    copy = owner.copy()
    counter, _ = act(s, copy, ACCEPTED, cls=SETTINGS)
    act(s, owner, COPIED, counter & 0xFFFF, cls=SETTINGS)
    act(s, owner, COPY)
    s.step("a new token ends it")
    token = second(policy=REFUSE, generation=2)
    s.hold(ONE, token)
    owner.ratchet = ratchets.begin(ONE.at(DOOR), token_digest(token))
    act(s, owner, ACCEPTED, cls=SETTINGS)
    yield s

    s, owner = ready("a command corrupted on the air is no copy", REPORT)
    for at in (58, 65, 66, 69):
        live = s.ask()
        message, nonce = wire(owner, live, INTEGRITY_RATCHET, UNLOCK)
        bad = message[:at] + bytes([message[at] ^ 1]) + message[at + 1 :]
        s.expect(Type.COMMAND, bad, Verdict.DEVICE_DIFFERS, 0, live.counter, nonce)
    act(s, owner, ACCEPTED)
    yield s


def _lost() -> Iterator[Script]:
    s, owner = ready("lost answers and lost commands are no copies", REPORT)
    for i in range(3):
        s.step(f"the answer is lost, {i}")
        before = owner.copy()
        counter, nonce = act(s, owner, ACCEPTED)
        owner = before
        s.recall(ONE, counter, nonce, ACCEPTED)
        owner.follow(ACCEPTED, nonce, counter)
        s.step(f"the command is lost, {i}")
        live = s.ask()
        _, nonce = wire(owner, live, INTEGRITY_RATCHET, UNLOCK)
        s.recall(ONE, live.counter, nonce, NOT_EXECUTED)
        act(s, owner, ACCEPTED)
    s.step("an answer is lost, and the power")
    counter, nonce = act(s, owner, ACCEPTED)
    s.restart()
    s.recall(ONE, counter, nonce, ACCEPTED)
    yield s

    s, owner = ready("a copy is no lost answer", REPORT)
    copy, before = owner.copy(), owner.copy()
    counter, nonce = act(s, before, ACCEPTED)
    s.step("the copy speaks before the owner asks")
    later, later_nonce = act(s, copy, COPY)
    s.recall(ONE, counter, nonce, Verdict.STALE)
    s.restart()
    s.recall(ONE, counter, nonce, Verdict.STALE)
    s.recall(ONE, later, later_nonce, COPY)
    yield s

    s, owner = ready("refused commands do not step", REPORT, attempts=5)
    for secrets, verdict, detail, bad in (
        (wrong_integrity(ONE), Verdict.INTEGRITY_DIFFERS, 4, INTEGRITY_RATCHET),
        (wrong_device(ONE), Verdict.DEVICE_DIFFERS, 0, INTEGRITY_RATCHET),
        (wrong_device(ONE), Verdict.DEVICE_DIFFERS, 0, DEVICE_RATCHET),
    ):
        live = s.ask()
        occasion = Occasion(DOOR.id, live.bytes, live.counter, bad, UNLOCK, b"open")
        made = make_command(occasion, ONE.instance_id, secrets, owner.ratchet, owner.known)
        s.expect(Type.COMMAND, made.encoded(), verdict, detail, live.counter, occasion.nonce())
    act(s, owner, Verdict.NOT_PERMITTED, INTEGRITY_DEMANDED, kind=DEVICE_RATCHET, cls=SETTINGS)
    act(s, owner, ACCEPTED)
    yield s


def _kinds() -> Iterator[Script]:
    for policy, detail in ((REPORT, 6), (REFUSE, 7)):
        s, owner = ready(f"kinds without a ratchet are refused, policy {policy}", policy)
        s.command(ONE, s.ask(), Verdict.NOT_PERMITTED, detail)
        s.command(ONE, s.ask(), Verdict.NOT_PERMITTED, detail, kind=DEVICE)
        s.step("before the class is looked at")
        s.command(ONE, s.ask(), Verdict.NOT_PERMITTED, detail, cls=9)
        act(s, owner, ACCEPTED)
        yield s

    s = Script("kinds with a ratchet are refused where there is none")
    s.hold(ONE, second())
    phone = Phone(stuff("any ratchet", 16), 0)
    act(s, phone, Verdict.NOT_PERMITTED, 8)
    act(s, phone, Verdict.NOT_PERMITTED, 8, kind=DEVICE_RATCHET)
    s.command(ONE, s.ask(), ACCEPTED, 65535, kind=INTEGRITY)
    yield s


def _tokens() -> Iterator[Script]:
    s, owner = ready("the same token again does not bring a copy into step", REPORT)
    first = owner.copy()
    act(s, owner, ACCEPTED)
    s.hold(ONE, second(policy=REPORT))
    act(s, first, COPY)
    yield s

    s, owner = ready("a revocation takes the ratchet, and a token of policy 0 has none", REPORT)
    act(s, owner, ACCEPTED)
    s.order(revoke(ONE, 1))
    s.hold(ONE, second(generation=2, issued=START + 20))
    s.command(ONE, s.ask(), ACCEPTED, 65535)
    yield s
