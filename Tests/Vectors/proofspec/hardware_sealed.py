# SPDX-License-Identifier: Apache-2.0

"""Section 18, "Rules for the hardware": what the model does with ASK 3 and sealed commands."""

from dataclasses import dataclass

from . import curves, sealed
from .basics import Refused
from .message import Answer, Command, Type, Verdict, encode_challenge
from .stored import HELD

LIFE = 600  # seconds of E_lock
UNKNOWN_KIND = 4  # detail of too new
ASK_AGAIN = 1  # detail of busy
NO_CHALLENGE, OTHER_CHALLENGE, TIMED_OUT, ENDED, REPLACED = 1, 2, 3, 4, 5  # details of stale
DOWN = 10  # the type of SEALED-DOWN


@dataclass(frozen=True)
class LockKey:
    """A pair of the hardware's own; its secret is used once."""

    secret: bytes
    public: bytes
    born: int


@dataclass(frozen=True)
class Opened:
    """A sealed command that was opened."""

    step: bytes
    down: bytes
    chain: bytes
    slot: int


class SealedRules:
    """The part of the model that answers sealed commands. `lock_key` is None where none is ready."""

    seals = False  # Whether this hardware answers them
    lock_key: LockKey | None = None

    def prepare(self, secret: bytes) -> None:
        """While idle: makes a pair, unless one is there."""
        self.seals = True
        if self._ready_key() is None:
            self.lock_key = LockKey(secret, curves.hardware_public(secret), self.clock())

    def _ready_key(self) -> LockKey | None:
        if self.lock_key and self.clock() - self.lock_key.born >= LIFE:
            self.lock_key = None
        return self.lock_key

    def _sealed_challenge(self) -> tuple[int, bytes]:
        """ASK 3."""
        if not self.seals:
            return Type.VERDICT, Answer(Verdict.TOO_NEW, UNKNOWN_KIND).encoded()
        self.link.live = None
        key = self._ready_key()
        if key is None:
            return Type.VERDICT, Answer(Verdict.BUSY, ASK_AGAIN).encoded()
        type, answer = self._challenge()
        if type != Type.CHALLENGE:
            return type, answer
        live = self.link.live
        live.lock_key = key
        assert answer == encode_challenge(live.counter, live.bytes)
        return type, sealed.encode_challenge(live.counter, live.bytes, key.public)

    def _sealed_command(self, message: bytes) -> tuple[int, bytes]:
        try:
            kind, told, counter, app_key = sealed.parse(message)
        except Refused:
            return Type.VERDICT, Answer(Verdict.MALFORMED).encoded()
        answer, opened = self._meet_sealed(message, kind, told, counter, app_key)
        if opened is None:
            return Type.VERDICT, answer.encoded()
        after = self._open_channel(opened.slot, kind, counter, answer.verdict, opened.chain)
        return DOWN, sealed.encode_down(opened.down, counter, answer.verdict, answer.detail, after)

    def _meet_sealed(
        self, message: bytes, kind: int, told: bytes, counter: int, app_key: bytes
    ) -> tuple[Answer, Opened | None]:
        """The answer, and what was opened, with the key that hides it; None for a VERDICT."""

        def stale(detail: int) -> tuple[Answer, None]:
            return Answer(Verdict.STALE, detail, counter), None

        def differs() -> tuple[Answer, None]:
            self.link.refusals += 1
            return Answer(Verdict.DEVICE_DIFFERS, counter=counter), None

        if self._refuses_more():
            return self._busy(counter), None
        live, self.link.live = self.link.live, None
        if live is None:
            return stale(NO_CHALLENGE)
        if live.counter != counter:
            return stale(OTHER_CHALLENGE)
        if self._too_old(live):
            return stale(TIMED_OUT)
        key = self._ready_key()
        if key is None or live.lock_key is not key:
            return stale(REPLACED)

        def facts(slot, instance_id: bytes) -> sealed.Facts:
            own = self.settings.hardware_id, instance_id, slot.token_digest, slot.secrets.device_key
            return sealed.Facts(*own, key.public, live.bytes, counter)

        i, judged = self._hinted(facts, kind, told, app_key)
        if judged is None:
            return differs()
        if counter <= self.recalled[i]:
            return stale(ENDED)
        of = facts(judged, self.store.slots[i].instance_id)
        self.lock_key = None
        try:
            shared = curves.shared_secret(key.secret, app_key)
            inside = sealed.open_command(of, key.secret, message)
        except Refused as refused:
            if refused.word == "malformed":
                return Answer(Verdict.MALFORMED, counter=counter), None
            return differs()
        nonce = sealed.nonce(of, message[: sealed.HEAD_BYTES], inside.cls, inside.command)
        command = Command(
            kind,
            inside.cls,
            of.instance_id,
            counter,
            inside.integrity_proof,
            inside.device_proof,
            inside.command,
            inside.ratchet_tag,
            inside.known,
        )
        keys = (make(of, shared, message) for make in (sealed.step, sealed.down_key, sealed.chain))
        opened = Opened(*keys, i)
        candidate = judged if judged is not self.store.slots[i] else None
        if candidate is not None:
            self._share(candidate, self.store.slots[i])
        return self._judged(i, candidate, command, nonce, opened), opened

    def _hinted(self, facts, kind: int, told: bytes, app_key: bytes):
        """The slot's number, and the slot or the link's candidate that has this hint; the candidate first."""
        candidate = self.link.candidate
        if candidate is not None and sealed.is_integrity(kind):
            i = self._find(self.link.candidate_of)
            slot = None if i is None else self.store.slots[i]
            if slot is not None and slot.state == HELD and slot.token_digest != candidate.token_digest:
                if sealed.hint(facts(candidate, slot.instance_id), kind, app_key) == told:
                    return i, candidate
        for i, slot in enumerate(self.store.slots):
            if slot.state == HELD and sealed.hint(facts(slot, slot.instance_id), kind, app_key) == told:
                return i, slot
        return -1, None
