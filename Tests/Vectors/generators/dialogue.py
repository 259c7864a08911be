# SPDX-License-Identifier: Apache-2.0

"""How a verifier script is written down: each step with the answer that is expected by hand."""

from dataclasses import dataclass, replace

from blocks import Block, case
from proofspec.basics import PRODUCTION
from proofspec.hardware import Hardware, Settings
from proofspec.keys import DIVERSIFIED, Secrets
from proofspec.message import (
    ASK_CHALLENGE,
    ASK_STATUS,
    NO_RECEIPT,
    Type,
    Verdict,
    make_command,
    make_recall,
    parse_answer,
)
from proofspec.order import REVOKE, create_order
from proofspec.proof import INTEGRITY, Occasion, receipt
from proofspec.token import token_digest

from .world import BACKEND, DOOR, OTHER_BACKEND, START, App, Issuer, Place, stuff


# Details of refusals, by hand from the page's table.
NO_CHALLENGE, OTHER_CHALLENGE, TIMED_OUT, ENDED = 1, 2, 3, 4  # stale
CLASS, INTEGRITY_DEMANDED = 1, 2  # not permitted
BELOW_FLOOR, OLDER_GENERATION = 1, 2  # superseded
OTHER_MODE, LITERAL_FORM, SUITE_DEMANDED = 1, 2, 3  # wrong mode
VERSION, SUITE, RESERVED, KIND = 1, 2, 3, 4  # too new
SLOTS = 8  # no room


@dataclass(frozen=True)
class Live:
    """A challenge that the hardware gave."""

    counter: int
    bytes: bytes


class Script:
    """Talks to the model and writes down what both said."""

    def __init__(
        self,
        comment: str,
        where: Place = DOOR,
        mode: int = PRODUCTION,
        literal: bool = False,
        issuers: tuple[Issuer, ...] = (BACKEND, OTHER_BACKEND),
    ) -> None:
        self.where, self.now, self.draws = where, 0, 0
        public = tuple(i.public for i in issuers)
        settings = Settings(
            where.id, where.secret, mode, literal, public, factory_secret=where.factory_secret
        )
        self.hardware = Hardware(settings, self._random, lambda: self.now)
        self.block: Block = case("script", comment).put_all(
            hardware_id=where.id,
            hardware_secret=where.secret,
            mode=mode,
            literal=literal,
            slots=settings.slots,
            challenge_limit=settings.challenge_limit,
            busy_wait=settings.busy_wait,
        )
        if where.factory_secret:
            self.block.put_all(drawn=where.drawn, factory_secret=where.factory_secret)
        for key in public:
            self.block.put("issuer", key)
        self.dpk = b""  # of the app that spoke last: keys the receipt
        self.limit, self.wait = settings.challenge_limit, settings.busy_wait

    def _random(self) -> bytes:
        return stuff(f"random {self.draws}", 32)

    def step(self, text: str) -> "Script":
        self.block.put("step", text)
        return self

    def clock(self, now: int) -> "Script":
        self.now = now
        self.block.put("clock", now)
        return self

    def link(self, number: int) -> "Script":
        self.hardware.use(number)
        self.block.put("link", number)
        return self

    def disconnect(self) -> "Script":
        self.hardware.disconnect()
        self.block.put("disconnect", 1)
        return self

    def restart(self) -> "Script":
        self.hardware.restart()
        self.block.put("restart", 1)
        return self

    def send(self, type: int, message: bytes) -> tuple[int, bytes]:
        self.block.put("send", f"{int(type)} {message.hex()}".rstrip())
        answer_type, answer = self.hardware.receive(type, message)
        self.block.put("reply", f"{int(answer_type)} {answer.hex()}")
        return answer_type, answer

    def expect(
        self,
        type: int,
        message: bytes,
        verdict: Verdict,
        detail: int = 0,
        counter: int = 0,
        nonce: bytes | None = None,
    ) -> "Script":
        """The answer must be this VERDICT; `nonce` is the receipt's, None for no receipt."""
        answer_type, raw = self.send(type, message)
        answer = parse_answer(raw)
        proved = NO_RECEIPT
        if nonce is not None:
            proved = receipt(self.dpk, nonce, verdict, detail, counter)
        wanted = (Type.VERDICT, verdict, detail, counter, proved)
        found = (answer_type, answer.verdict, answer.detail, answer.counter, answer.receipt)
        if found != wanted:
            raise AssertionError(f"{self.block.word('comment')}: {found} instead of {wanted}")
        return self

    def ask(self) -> Live:
        """Draws the next random bytes."""
        self.draws += 1
        self.block.put("random", self._random())
        _, raw = self.send(Type.ASK, bytes([ASK_CHALLENGE]))
        return Live(int.from_bytes(raw[:8], "little"), raw[8:])

    def status(self, used: int, epoch: int) -> "Script":
        _, raw = self.send(Type.ASK, bytes([ASK_STATUS]))
        if (raw[19], int.from_bytes(raw[20:], "little")) != (used, epoch):
            raise AssertionError(f"{self.block.word('comment')}: status {raw.hex()}")
        return self

    def token(self, token: bytes, verdict: Verdict, detail: int = 0) -> "Script":
        """A token that is not held."""
        return self.expect(Type.TOKEN, token, verdict, detail)

    def hold(self, who: App, token: bytes, uses: int = 65535, form: int = DIVERSIFIED) -> "Script":
        """A token that is held, with so many uses left."""
        self.dpk = who.at(self.where, form).device_key
        return self.expect(Type.TOKEN, token, Verdict.HELD, uses, 0, token_digest(token))

    def busy_token(self, token: bytes) -> "Script":
        return self.expect(Type.TOKEN, token, Verdict.BUSY, self.wait)

    def order(
        self, order: bytes, verdict: Verdict = Verdict.ORDER_DONE, detail: int = 0
    ) -> "Script":
        detail = self.wait if verdict == Verdict.BUSY else detail
        return self.expect(Type.ORDER, order, verdict, detail)

    def command(
        self,
        who: App,
        live: Live,
        verdict: Verdict,
        detail: int = 0,
        *,
        kind: int = INTEGRITY,
        cls: int = 0,
        command: bytes = b"open",
        form: int = DIVERSIFIED,
        secrets: Secrets | None = None,
        signed: bool = True,
        wire: bytes | None = None,
        held: App | None = None,
    ) -> bytes:
        """Sends a command under `live`; returns the nonce. `secrets` replaces the app's own. `held` is the app whose
        pair keys the receipt, where it is another one."""
        occasion = Occasion(self.where.id, live.bytes, live.counter, kind, cls, command)
        right = who.at(self.where, form)
        self.dpk = (held or who).at(self.where, form).device_key
        made = make_command(occasion, who.instance_id, secrets or right).encoded()
        nonce = occasion.nonce()
        self.expect(
            Type.COMMAND,
            made if wire is None else wire,
            verdict,
            self.wait if verdict == Verdict.BUSY else detail,
            live.counter,
            nonce if signed else None,
        )
        return nonce

    def stale(self, who: App, live: Live, detail: int) -> bytes:
        return self.command(who, live, Verdict.STALE, detail, signed=False)

    def recall(
        self,
        who: App,
        counter: int,
        nonce: bytes,
        verdict: Verdict,
        *,
        signed: bool = True,
        key: bytes | None = None,
    ) -> "Script":
        self.dpk = who.at(self.where).device_key
        made = make_recall(key or self.dpk, who.instance_id, counter, nonce).encoded()
        detail = self.wait if verdict == Verdict.BUSY else 0
        return self.expect(Type.RECALL, made, verdict, detail, counter, nonce if signed else None)


def wrong_device(who: App, where: Place = DOOR) -> Secrets:
    """Everything right but DM_hw, as on another phone."""
    return replace(who.at(where), dm=stuff("another device", 32))


def wrong_integrity(who: App, where: Place = DOOR) -> Secrets:
    """Everything right but IM_hw, as of a changed app."""
    return replace(who.at(where), im=stuff("a changed app", 32))


def revoke(who: App, generation: int, issued: int = START + 10, where: Place = DOOR) -> bytes:
    return create_order(BACKEND.seed, REVOKE, issued, where.id, who.instance_id, generation)
