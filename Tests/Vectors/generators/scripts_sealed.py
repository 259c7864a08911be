# SPDX-License-Identifier: Apache-2.0

"""Dialogues about sealed commands: section 18."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from proofspec import curves, sealed
from proofspec import ratchet as ratchets
from proofspec.basics import u64
from proofspec.keys import Secrets
from proofspec.message import ASK_SEALED, Type, Verdict, parse_answer
from proofspec.order import FLOOR, create_order
from proofspec.proof import DEVICE, INTEGRITY
from proofspec.sealed import Facts
from proofspec.token import SEALED, UPCOMING, token_digest

from .dialogue import (
    BELOW_FLOOR,
    CLASS,
    ENDED,
    INTEGRITY_DEMANDED,
    KIND,
    NO_CHALLENGE,
    OTHER_CHALLENGE,
    RESERVED,
    TIMED_OUT,
    Live,
    Script,
    revoke,
    wrong_device,
    wrong_integrity,
)
from .hostile_config import flipped
from .scripts_command import ONE
from .scripts_upcoming import UPDATED, made, ready
from .scripts_version import second
from .world import BACKEND, DOOR, START, App, bare_app, stuff

ACCEPTED, DEVICE_ONLY, COPY = Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY, Verdict.ACCEPTED_COPY
DIFFERS, STALE, NOT_PERMITTED = Verdict.DEVICE_DIFFERS, Verdict.STALE, Verdict.NOT_PERMITTED
FIVE, SIX = sealed.INTEGRITY, sealed.DEVICE
REPLACED, SEALED_DEMANDED, ASK_AGAIN = 5, 3, 1
DOWN = 10
UNLIMITED = 65535
OTHER = bare_app("another")
# Points of small order: X25519 gives zeros.
SMALL = (bytes(32), u64(1) + bytes(24))


@dataclass(frozen=True)
class LiveKey(Live):
    """A challenge that came with E_lock."""

    lock_key: bytes


@dataclass(frozen=True)
class Sent:
    """A sealed command, and what its app knows of it."""

    message: bytes
    nonce: bytes
    step: bytes
    down: bytes
    counter: int


class SealedScript(Script):
    """A script whose hardware answers sealed commands from its first `prepare` on."""

    keys = 0

    def prepare(self) -> "SealedScript":
        """A pair of the hardware, unless one is there: other secrets each time."""
        self.keys += 1
        secret = stuff(f"lock key {self.keys}", 32)
        self.hardware.prepare(secret)
        self.block.put("prepare", secret)
        return self

    def ask_sealed(self) -> LiveKey:
        self.draws += 1
        self.block.put("random", self._random())
        _, raw = self.send(Type.ASK, bytes([ASK_SEALED]))
        if len(raw) != 72:
            raise AssertionError(f"{self.block.word('comment')}: no challenge with a key: {raw.hex()}")
        return LiveKey(int.from_bytes(raw[:8], "little"), raw[8:40], raw[40:])

    def not_asked(self, verdict: Verdict, detail: int) -> "SealedScript":
        return self.expect(Type.ASK, bytes([ASK_SEALED]), verdict, detail)

    def open(self, sent: Sent, verdict: Verdict, detail: int = UNLIMITED) -> Sent:
        """The answer is sealed, and says this."""
        type, raw = self.send(Type.COMMAND, sent.message)
        if type != DOWN:
            raise AssertionError(f"{self.block.word('comment')}: {type} {raw.hex()}")
        answer, following = sealed.open_down(sent.down, sent.counter, raw)
        if (answer.verdict, answer.detail, following) != (verdict, detail, 0):
            raise AssertionError(f"{self.block.word('comment')}: {answer} instead of {verdict} {detail}")
        return sent

    def refuse(self, sent: Sent, verdict: Verdict, detail: int = 0, counter: int | None = None) -> "SealedScript":
        """The answer is in the clear, and has no receipt."""
        _, raw = self.send(Type.COMMAND, sent.message)
        answer = parse_answer(raw)
        wanted = (verdict, detail, sent.counter if counter is None else counter, bytes(32))
        if (answer.verdict, answer.detail, answer.counter, answer.receipt) != wanted:
            raise AssertionError(f"{self.block.word('comment')}: {answer} instead of {wanted}")
        return self


@dataclass(frozen=True)
class Phone:
    """Holds a token, seals under it, and follows the ratchet if there is one."""

    who: App
    digest: bytes
    ratchet: bytes = b""
    known: int = 0

    def seal(
        self,
        live: LiveKey,
        kind: int = FIVE,
        cls: int = 0,
        command: bytes = b"open",
        secrets: Secrets | None = None,
        app_key: bytes | None = None,
        plain: bytes | None = None,
    ) -> Sent:
        own = self.who.at(DOOR)
        facts = Facts(DOOR.id, self.who.instance_id, self.digest, own.device_key, live.lock_key, live.bytes,
                      live.counter)
        secret = stuff(f"app key {live.counter}", 32)
        head = sealed.make_head(facts, kind, app_key or curves.hardware_public(secret))
        inside = sealed.inside(facts, head, cls, command, secrets or own, self.ratchet, self.known)
        message = sealed.seal(facts, head, secret, inside.encoded() if plain is None else plain)
        shared = curves.shared_secret(secret, live.lock_key)
        step, down = sealed.step(facts, shared, message), sealed.down_key(facts, shared, message)
        return Sent(message, sealed.nonce(facts, head, cls, command), step, down, live.counter)

    def after(self, sent: Sent, verdict: Verdict = ACCEPTED, policy: int = ratchets.REPORT) -> "Phone":
        """It heard the answer."""
        if verdict == COPY:
            fork = ratchets.fork(self.who.at(DOOR), sent.step) if policy == ratchets.REPORT else self.ratchet
            return replace(self, ratchet=fork, known=sent.counter)
        return replace(self, ratchet=ratchets.step(self.ratchet, sent.step), known=sent.counter)


def begun(comment: str, token: bytes | None = None, uses: int = UNLIMITED) -> tuple[SealedScript, Phone]:
    """Hardware that is prepared and holds a token of app one."""
    token = token or ONE.token()
    s = SealedScript(comment).prepare()
    s.hold(ONE, token, uses)
    return s, Phone(ONE, token_digest(token))


def stepping(comment: str, policy: int) -> tuple[SealedScript, Phone]:
    token = second(policy=policy)
    s, phone = begun(comment, token)
    return s, replace(phone, ratchet=ratchets.begin(ONE.at(DOOR), phone.digest))


def act(s: SealedScript, phone: Phone, verdict: Verdict = ACCEPTED, detail: int = UNLIMITED, **how: object) -> Sent:
    sent = phone.seal(s.prepare().ask_sealed(), **how)
    return s.open(sent, verdict, detail)


def cut(sent: Sent, message: bytes) -> Sent:
    return replace(sent, message=message)


def damaged(sent: Sent, at: int) -> Sent:
    return cut(sent, flipped(sent.message, at))


def scripts() -> Iterator[Script]:
    yield from _accepted()
    yield from _keys()
    yield from _strangers()
    yield from _judged()
    yield from _demanded()
    yield from _ratchets()
    yield from _candidates()
    yield from _ends()


def _accepted() -> Iterator[Script]:
    s, phone = begun("sealed commands of both kinds are accepted, and answered sealed")
    act(s, phone)
    act(s, phone, DEVICE_ONLY, kind=SIX)
    for length in (0, 216):
        act(s, phone, command=stuff("c", length), cls=2)
    s.step("in the clear as before")
    s.command(ONE, s.ask(), ACCEPTED, UNLIMITED)
    yield s

    s, phone = begun("a token of version 2 without a ratchet", second())
    act(s, phone)
    act(s, phone, DEVICE_ONLY, kind=SIX)
    yield s

    s, phone = begun("two apps, each under its own hint")
    token = OTHER.token()
    s.hold(OTHER, token)
    other = Phone(OTHER, token_digest(token))
    act(s, phone)
    act(s, other)
    act(s, phone, DEVICE_ONLY, kind=SIX)
    yield s


def _keys() -> Iterator[Script]:
    s, phone = SealedScript("hardware that answers no sealed commands"), None
    s.hold(ONE, ONE.token()).not_asked(Verdict.TOO_NEW, KIND)
    live = s.ask()
    phone = Phone(ONE, token_digest(ONE.token()))
    made_up = LiveKey(live.counter, live.bytes, curves.hardware_public(stuff("no key of the lock", 32)))
    for kind in (FIVE, SIX):
        s.refuse(phone.seal(made_up, kind), Verdict.TOO_NEW, KIND, 0)
    s.step("the challenge was not touched").command(ONE, live, ACCEPTED, UNLIMITED)
    s.token(second(policy=SEALED), Verdict.TOO_NEW, RESERVED)
    s.step("from now on it does").prepare()
    act(s, phone)
    yield s

    s, phone = begun("a key is used once, and who asks without one waits")
    sent = act(s, phone)
    s.not_asked(Verdict.BUSY, ASK_AGAIN)
    s.step("the same bytes again").refuse(sent, STALE, NO_CHALLENGE)
    s.prepare().prepare()
    act(s, phone)
    yield s

    s, phone = begun("asking for a key ends the challenge, also where none is there")
    act(s, phone)
    live = s.ask()
    s.not_asked(Verdict.BUSY, ASK_AGAIN).stale(ONE, live, NO_CHALLENGE)
    first = s.prepare().ask_sealed()
    s.ask_sealed()
    s.refuse(phone.seal(first), STALE, OTHER_CHALLENGE)
    yield s

    s, phone = begun("a challenge that came without a key seals nothing")
    key = s.ask_sealed().lock_key
    live = s.ask()
    s.refuse(phone.seal(LiveKey(live.counter, live.bytes, key)), STALE, REPLACED)
    s.step("and one that came with a key serves a command in the clear")
    s.command(ONE, s.ask_sealed(), ACCEPTED, UNLIMITED)
    yield s

    s, phone = begun("one link uses the key that another one was told")
    live = s.ask_sealed()
    s.link(2)
    act(s, phone)
    s.link(1).refuse(phone.seal(live), STALE, REPLACED)
    act(s, phone)
    yield s

    s, phone = begun("a key ends after 600 seconds, in use and at hand")
    s.clock(599)
    live = s.ask_sealed()
    s.clock(600).refuse(phone.seal(live), STALE, REPLACED)
    s.not_asked(Verdict.BUSY, ASK_AGAIN)
    act(s, phone)
    yield s

    s, phone = begun("a challenge times out before its key")
    live = s.ask_sealed()
    s.clock(31).refuse(phone.seal(live), STALE, TIMED_OUT)
    s.step("the key was not used")
    s.open(phone.seal(s.ask_sealed()), ACCEPTED)
    yield s

    s, phone = begun("a start ends the key, and hardware seals again once it is prepared")
    live = s.ask_sealed()
    s.restart()
    s.refuse(phone.seal(live), Verdict.TOO_NEW, KIND, 0)
    s.prepare().refuse(phone.seal(live), STALE, NO_CHALLENGE)
    yield s


def _strangers() -> Iterator[Script]:
    s, phone = begun("each part of the head counts: kind, hint, E_app")
    for at, verdict, detail in ((0, DIFFERS, 0), (1, DIFFERS, 0), (8, DIFFERS, 0), (17, DIFFERS, 0),
                                (48, DIFFERS, 0), (9, STALE, OTHER_CHALLENGE)):
        sent = phone.seal(s.ask_sealed(), command=stuff("c", 40))
        bad = damaged(sent, at)
        if at == 0:  # 5 becomes 6, whose shape fits too
            bad = cut(sent, bytes([SIX]) + sent.message[1:])
        s.refuse(bad, verdict, detail, sent.counter ^ 1 if at == 9 else sent.counter)
    s.step("none of them used the key").open(phone.seal(s.ask_sealed()), ACCEPTED)
    yield s

    s, phone = begun("a box that does not open uses the key up")
    for at in (49, 64, 65, -1):
        sent = phone.seal(s.prepare().ask_sealed())
        s.refuse(damaged(sent, at), DIFFERS).not_asked(Verdict.BUSY, ASK_AGAIN)
    act(s, phone)
    yield s

    s, phone = begun("a point of small order gives no shared secret")
    for point in SMALL:
        s.refuse(phone.seal(s.prepare().ask_sealed(), app_key=point), DIFFERS)
    act(s, phone)
    yield s

    s, phone = begun("sixteen strangers, and the link is busy")
    stranger = Phone(OTHER, phone.digest)
    for _ in range(16):
        s.refuse(stranger.seal(s.ask_sealed()), DIFFERS)
    sent = phone.seal(s.ask_sealed())
    s.refuse(sent, Verdict.BUSY, s.wait)
    s.step("another link is not").link(2)
    act(s, phone)
    yield s

    s, phone = begun("another token's digest, the key of another piece of hardware")
    s.refuse(replace(phone, digest=bytes(16)).seal(s.ask_sealed()), DIFFERS)
    live = s.prepare().ask_sealed()
    other = LiveKey(live.counter, live.bytes, curves.hardware_public(stuff("a man in the middle", 32)))
    s.refuse(phone.seal(other), DIFFERS)
    act(s, phone)
    yield s

    s, phone = begun("lengths and kinds that are none")
    sent = phone.seal(s.ask_sealed(), command=b"")
    s.refuse(cut(sent, sent.message[:-1]), Verdict.MALFORMED, 0, 0)
    s.refuse(cut(sent, bytes([7]) + sent.message[1:]), Verdict.TOO_NEW, KIND, 0)
    long = phone.seal(s.ask_sealed(), command=bytes(216))
    s.refuse(cut(long, long.message + b"\0"), Verdict.MALFORMED, 0, 0)
    s.step("the challenge lives").open(long, ACCEPTED)
    yield s

    s, phone = begun("a class above 15, and a counter known without a tag")
    for kind, proofs in ((FIVE, 64), (SIX, 32)):
        for plain in (b"\x10" + bytes(proofs + 12), bytes(proofs - 32 + 9) + b"\1" + bytes(3 + 32)):
            s.refuse(phone.seal(s.prepare().ask_sealed(), kind, plain=plain), Verdict.MALFORMED)
    act(s, phone)
    yield s


def _judged() -> Iterator[Script]:
    s, phone = begun("proofs inside the box are judged as in the clear")
    act(s, phone, DIFFERS, 0, secrets=wrong_device(ONE))
    act(s, phone, DIFFERS, 0, kind=SIX, secrets=wrong_device(ONE))
    for left in (2, 1, 0):
        act(s, phone, Verdict.INTEGRITY_DIFFERS, left, secrets=wrong_integrity(ONE))
    act(s, phone, Verdict.ATTEMPTS_EXHAUSTED, 0)
    yield s

    s, phone = begun("a device proof that differs counts as a refusal of the link")
    for _ in range(16):
        act(s, phone, DIFFERS, 0, secrets=wrong_device(ONE))
    s.refuse(phone.seal(s.prepare().ask_sealed()), Verdict.BUSY, s.wait)
    yield s

    s, phone = begun("classes and uses", ONE.token(uses=2), 2)
    act(s, phone, NOT_PERMITTED, CLASS, cls=9)
    act(s, phone, NOT_PERMITTED, INTEGRITY_DEMANDED, kind=SIX, cls=1)
    act(s, phone, detail=1)
    act(s, phone, DEVICE_ONLY, 0, kind=SIX)
    act(s, phone, Verdict.USES_EXHAUSTED, 0)
    yield s

    s, phone = begun("a token that has expired", ONE.token(not_after=START + 100))
    s.clock(100)
    act(s, phone)
    s.clock(101)
    act(s, phone, Verdict.EXPIRED, 0)
    yield s


def _demanded() -> Iterator[Script]:
    token = second(policy=SEALED)
    s, phone = begun("a token that demands sealed commands refuses the others, after their proofs", token)
    for kind in (INTEGRITY, DEVICE):
        s.command(ONE, s.ask(), NOT_PERMITTED, SEALED_DEMANDED, kind=kind)
    s.command(ONE, s.ask(), DIFFERS, secrets=wrong_device(ONE))
    s.command(ONE, s.ask(), Verdict.INTEGRITY_DIFFERS, 2, secrets=wrong_integrity(ONE))
    act(s, phone)
    act(s, phone, DEVICE_ONLY, kind=SIX)
    yield s


def _ratchets() -> Iterator[Script]:
    for policy in (ratchets.REPORT, ratchets.REFUSE):
        s, owner = stepping(f"the ratchet moves by what only both ends know, policy {policy}", policy)
        for kind, verdict in ((FIVE, ACCEPTED), (SIX, DEVICE_ONLY), (FIVE, ACCEPTED)):
            owner = owner.after(act(s, owner, verdict, kind=kind))
        yield s

    s, owner = stepping("a copy that heard the command cannot follow, and is told of", ratchets.REPORT)
    copy = owner
    sent = act(s, owner)
    owner = owner.after(sent)
    thief = replace(copy, ratchet=ratchets.step(copy.ratchet, sent.nonce), known=sent.counter)
    act(s, thief, COPY)
    s.step("the owner is told next")
    act(s, owner, COPY)
    yield s

    s, owner = stepping("after a copy was seen, both follow the fork of their own command", ratchets.REPORT)
    copy = owner
    owner = owner.after(act(s, owner))
    fork = act(s, copy, COPY)
    copy = copy.after(fork, COPY)
    act(s, copy)
    yield s

    s, owner = stepping("a copy is refused but for classes of a device match", ratchets.REFUSE)
    copy = owner
    sent = act(s, owner, cls=2)
    act(s, copy, Verdict.COPIED, sent.counter & 0xFFFF, cls=2)
    act(s, copy, COPY, cls=0)
    act(s, owner.after(sent), cls=2)
    yield s

    s, owner = stepping("a tag stands for a ratchet, and zeros for none", ratchets.REPORT)
    act(s, replace(owner, ratchet=b""), NOT_PERMITTED, ratchets.DETAILS[ratchets.REPORT])
    act(s, owner)
    yield s

    s, phone = begun("a tag where the token has no ratchet", second())
    act(s, replace(phone, ratchet=stuff("no ratchet", 16)), NOT_PERMITTED, ratchets.DETAILS[ratchets.NONE])
    act(s, phone)
    yield s


def _candidates() -> Iterator[Script]:
    s, phone = begun("an upcoming token commits at its first sealed proof", made(ONE, 1))
    token = made(UPDATED, 2, policy=UPCOMING)
    next_phone = Phone(UPDATED, token_digest(token))
    ready(s, token)
    s.step("a device match knows the slot alone").refuse(next_phone.seal(s.ask_sealed(), SIX), DIFFERS)
    act(s, phone)
    act(s, next_phone)
    s.refuse(phone.seal(s.prepare().ask_sealed()), DIFFERS)
    act(s, next_phone, DEVICE_ONLY, kind=SIX)
    yield s

    s, phone = begun("a sealed command that is not permitted commits nothing", made(ONE, 1))
    token = made(UPDATED, 2, policy=UPCOMING)
    next_phone = Phone(UPDATED, token_digest(token))
    ready(s, token)
    act(s, next_phone, NOT_PERMITTED, CLASS, cls=9)
    act(s, next_phone, Verdict.INTEGRITY_DIFFERS, 2, secrets=wrong_integrity(UPDATED))
    act(s, phone)
    yield s

    s, phone = begun("a candidate below the floor, and one that was revoked", made(ONE, 1, issued=START + 9))
    token = made(UPDATED, 2, policy=UPCOMING)
    next_phone = Phone(UPDATED, token_digest(token))
    ready(s, token)
    s.order(create_order(BACKEND.seed, FLOOR, START + 5, DOOR.id, bytes(16), 0))
    act(s, next_phone, Verdict.SUPERSEDED, 0)
    act(s, phone)
    s.disconnect().token(token, Verdict.SUPERSEDED, BELOW_FLOOR)
    yield s


def _ends() -> Iterator[Script]:
    s, phone = begun("a revoked instance has no hint; its token tells why")
    live = s.ask_sealed()
    s.order(revoke(ONE, 1)).refuse(phone.seal(live), DIFFERS)
    s.token(ONE.token(), Verdict.REVOKED)
    yield s

    s, phone = begun("a recall tells of a sealed command, and ends those before it")
    sent = act(s, phone)
    s.recall(ONE, sent.counter, sent.nonce, ACCEPTED)
    lost = phone.seal(s.prepare().ask_sealed())
    s.recall(ONE, lost.counter, lost.nonce, Verdict.NOT_EXECUTED)
    s.refuse(lost, STALE, ENDED)
    s.step("the key was not used").open(phone.seal(s.ask_sealed()), ACCEPTED)
    yield s

    s, phone = begun("a command on one link ends the challenge of another one")
    live = s.ask_sealed()
    s.link(2).command(ONE, s.ask(), ACCEPTED, UNLIMITED)
    s.link(1).refuse(phone.seal(live), STALE, ENDED)
    yield s
