# SPDX-License-Identifier: Apache-2.0

"""Section 10, "Rules for the hardware": a model that follows it sentence by sentence."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace

from . import ratchet as ratchets
from .basics import FOREVER, Refused, same
from .curves import hardware_public
from .hardware_channel import Channel, ChannelRules
from .hardware_grants import GrantRules
from .hardware_sealed import LockKey, Opened, SealedRules
from .message import (
    ASK_CHALLENGE,
    ASK_SEALED,
    ASK_STATUS,
    Answer,
    Command,
    Status,
    Type,
    Verdict,
    answered_nonce,
    encode_challenge,
    length_allowed,
    parse_command,
    parse_recall,
)
from .order import FLOOR, REVOKE, Order, check_address, open_order
from .proof import Occasion, has_ratchet, is_integrity, is_sealed, proof, recall_tag, receipt
from .stored import FREE, HELD, NO_SECRETS, NONCE_BYTES, REVOKED, Global, Loan, Slot
from .token import CHANNEL, RATCHET_BITS, SEALED, UPCOMING, Body, check_header, open_token, token_digest

OPENINGS_MAX, REFUSALS_MAX = 4, 16
EPOCH_STEP = 400 * 86_400  # seconds by which one signature moves the time
AHEAD = 65535  # detail of what is beyond the step
NO_CHALLENGE, OTHER_CHALLENGE, TIMED_OUT, ENDED = 1, 2, 3, 4  # details of stale
SEALED_DEMANDED = 3  # of not permitted
BELOW_FLOOR, OLDER_GENERATION = 1, 2  # of superseded
RESERVED_BIT, UNKNOWN_KIND = 3, 4  # of too new
NOT_DRAWN = 2  # of fault
DAYS_MAX = 49_711  # of expired
COUNTER_BLOCK = 64  # the page leaves the size open
UNLIMITED = 65535  # detail for a token without limit

WORDS = {
    "malformed": Verdict.MALFORMED,
    "too-new": Verdict.TOO_NEW,
    "not-for-me": Verdict.NOT_FOR_ME,
    "not-signed": Verdict.NOT_SIGNED,
    "wrong-mode": Verdict.WRONG_MODE,
}


@dataclass(frozen=True)
class Settings:
    hardware_id: bytes
    secret: bytes
    mode: int
    literal: bool
    issuers: tuple[bytes, ...]
    slots: int = 8
    challenge_limit: int = 30  # seconds
    busy_wait: int = 5  # seconds
    factory_secret: bytes = b""  # S; empty where there is none


@dataclass
class Challenge:
    counter: int
    bytes: bytes
    born: int
    lock_key: LockKey | None = None


@dataclass
class Link:
    """State that is forgotten when the link ends."""

    live: Challenge | None = None
    openings: int = 0
    refusals: int = 0
    candidate: Slot | None = None  # an upcoming token that has not proved its generation
    candidate_of: bytes = b""  # its instance
    channel: Channel | None = None


@dataclass
class Store:
    """State that is kept for ever."""

    globals: Global = field(default_factory=Global)
    slots: list[Slot] = field(default_factory=list)
    loans: list[Loan] = field(default_factory=list)


def uses_left(slot: Slot) -> int:
    return UNLIMITED if slot.uses == FOREVER else min(slot.uses, UNLIMITED - 1)


class Hardware(SealedRules, ChannelRules, GrantRules):
    """One piece of hardware; `use` says over which of its links the next message comes."""

    def __init__(
        self, settings: Settings, random: Callable[[], bytes], clock: Callable[[], int]
    ) -> None:
        self.settings, self.random, self.clock = settings, random, clock
        self.has_clock = True  # the vectors' hardware
        self.public = hardware_public(settings.secret)
        slots = range(settings.slots)
        self.flash = Store(slots=[Slot() for _ in slots], loans=[Loan.empty(settings.slots) for _ in slots])
        self.restart()

    def restart(self) -> None:
        """Power comes back: everything but the flash is new."""
        self.store = deepcopy(self.flash)
        self.next_counter = self.store.globals.next_counter
        self.before = b""  # the challenge before
        self.epoch, self.epoch_since = self.store.globals.epoch, self.clock()
        # For each slot the counter up to which its instance has recalled its commands, or had one accepted.
        self.recalled = [-1] * len(self.store.slots)
        self.noted: set[int] = set()  # slots that stored a refused copy since the start
        self.swept = -1  # the highest of these when a floor was last raised
        for slot in self.store.slots:
            if slot.state != FREE and slot.uses == FOREVER and not slot.ratchet_policy:
                slot.last_verdict, slot.last_counter = 0, self.next_counter
        self.links: dict[int, Link] = {}
        self.seals, self.lock_key, self.grants, self.channels = False, None, False, False
        self.use(1)

    def use(self, number: int) -> None:
        self.number = number
        self.link = self.links.setdefault(number, Link())

    def disconnect(self) -> None:
        self.link = self.links[self.number] = Link()

    def receive(self, type: int, message: bytes) -> tuple[int, bytes]:
        """The one answer to a message."""
        if type == Type.SEALED_UP:
            return self._sealed_up(message)
        self.link.channel = None
        if type == Type.ASK and len(message) == 1:
            if message[0] == ASK_CHALLENGE:
                return self._challenge()
            if message[0] == ASK_STATUS:
                return Type.STATUS, self._status().encoded()
            if message[0] == ASK_SEALED:
                return self._sealed_challenge()
            return Type.VERDICT, Answer(Verdict.TOO_NEW, UNKNOWN_KIND).encoded()
        if type == Type.COMMAND and self.seals and length_allowed(type, len(message)) and is_sealed(message[0]):
            return self._sealed_command(message)
        handler = {
            Type.TOKEN: self._token,
            Type.COMMAND: self._command,
            Type.ORDER: self._order,
            Type.RECALL: self._recall,
            Type.GRANT: self._grant,
        }.get(type)
        answer = handler(message) if handler else Answer(Verdict.MALFORMED)
        return Type.VERDICT, answer.encoded()

    # ASK

    def _status(self) -> Status:
        used = sum(s.state != FREE for s in self.store.slots)
        s = self.settings
        return Status(s.mode, s.hardware_id, s.slots, used, self._epoch())

    def _challenge(self) -> tuple[int, bytes]:
        fresh, self.link.live = self.random(), None
        if not any(fresh) or fresh == self.before:
            return Type.VERDICT, Answer(Verdict.FAULT, NOT_DRAWN).encoded()
        counter = self._take_counter()
        self.before = fresh
        self.link.live = Challenge(counter, fresh, self.clock())
        return Type.CHALLENGE, encode_challenge(counter, fresh)

    def _take_counter(self) -> int:
        if self.next_counter == self.store.globals.next_counter:
            self.store.globals.next_counter += COUNTER_BLOCK
            self._keep_globals()
        counter, self.next_counter = self.next_counter, self.next_counter + 1
        return counter

    # TOKEN

    def _token(self, token: bytes) -> Answer:
        s = self.settings
        try:
            check_header(s.hardware_id, token, s.factory_secret)
        except Refused as refused:
            return Answer(WORDS[refused.word], refused.detail)
        digest = token_digest(token)
        for slot in self.store.slots:
            if slot.state == HELD and slot.token_digest == digest:
                return self._held(slot)
        if self.link.openings >= OPENINGS_MAX:
            return self._busy()
        try:
            body = open_token(
                s.hardware_id,
                s.secret,
                self.public,
                s.mode,
                s.literal,
                s.issuers,
                token,
                s.factory_secret,
            )
            if body.policy & SEALED and not self.seals:
                raise Refused("too-new", RESERVED_BIT)
            verdict, i = self._judge(body)
        except Refused as refused:
            verdict, i = WORDS[refused.word], refused.detail
        if verdict == Verdict.READY:
            self.link.openings += 1
            return self._stand(i, body, digest)
        if verdict != Verdict.HELD:
            self.link.openings += 1
            return Answer(verdict, i)
        self._take(i, body, digest)
        return self._held(self.store.slots[i])

    def _stand(self, i: int, body: Body, digest: bytes) -> Answer:
        """The token becomes the link's candidate; the slot stays as it is."""
        slot, link = self.store.slots[i], self.link
        link.candidate, link.candidate_of = replace(slot), body.instance_id
        self._fill(link.candidate, body, digest)
        self._share(link.candidate, slot)
        self._raise_epoch(body.issued)
        self._keep_globals()
        return self._signed(link.candidate, digest, Verdict.READY, uses_left(link.candidate), 0)

    @staticmethod
    def _share(candidate: Slot, slot: Slot) -> None:
        """Two generations of one instance have one budget, one revocation and one last command."""
        candidate.attempts = min(candidate.attempts, slot.attempts)
        candidate.uses = min(candidate.uses, slot.uses)
        candidate.revoked_generation, candidate.revoked_at = slot.revoked_generation, slot.revoked_at
        candidate.last_verdict, candidate.last_counter = slot.last_verdict, slot.last_counter
        candidate.last_nonce = slot.last_nonce
        if candidate.ratchet_policy and slot.ratchet_policy:
            candidate.ratchet, candidate.copies = slot.ratchet, slot.copies

    def _judge(self, body: Body) -> tuple[Verdict, int]:
        """HELD and the slot to take, or the verdict against an opened token and its detail."""
        known = self.store.globals
        i = self._find(body.instance_id)
        slot = Slot() if i is None else self.store.slots[i]
        if body.issued < known.floor:
            return Verdict.SUPERSEDED, BELOW_FLOOR
        if self._is_ahead(body.issued):
            return Verdict.EXPIRED, AHEAD
        if body.generation <= slot.revoked_generation:
            return Verdict.REVOKED, 0
        if body.generation <= slot.generation:
            return Verdict.SUPERSEDED, OLDER_GENERATION
        past = max(self._epoch(), body.issued) - body.not_after
        if body.not_after and past > 0:
            return Verdict.EXPIRED, min(past // 86_400 + 1, DAYS_MAX)
        if body.policy & UPCOMING and slot.state == HELD:
            return Verdict.READY, i
        if i is None:
            i = self._free()
        return (Verdict.NO_ROOM, self.settings.slots) if i is None else (Verdict.HELD, i)

    def _take(self, i: int, body: Body, digest: bytes) -> None:
        slot = self.store.slots[i]
        if slot.state != HELD:
            self._forget(i)
        if slot.state == FREE:
            slot = self._settle(i, body.instance_id)
        # The last accepted command and the revoked generation belong to the instance and stay.
        self._fill(slot, body, digest)
        self._raise_epoch(body.issued)
        self._keep(i)
        self._keep_globals()

    @staticmethod
    def _fill(slot: Slot, body: Body, digest: bytes) -> None:
        slot.state = HELD
        slot.integrity_classes, slot.device_classes = body.integrity_classes, body.device_classes
        slot.delegable_classes = body.delegable_classes
        slot.attempts, slot.uses = body.attempts, body.uses
        slot.generation = body.generation
        slot.not_after, slot.issued = body.not_after, body.issued
        slot.token_digest, slot.secrets = digest, body.secrets
        slot.policy, slot.copies = body.policy & (RATCHET_BITS | CHANNEL | SEALED), 0
        slot.ratchet = ratchets.begin(body.secrets, digest) if slot.ratchet_policy else bytes(16)

    def _held(self, slot: Slot) -> Answer:
        return self._signed(slot, slot.token_digest, Verdict.HELD, uses_left(slot), 0)

    # COMMAND

    def _command(self, message: bytes) -> Answer:
        try:
            c = parse_command(message)
        except Refused as refused:
            kind = refused.word == "too-new"
            return Answer(WORDS[refused.word], UNKNOWN_KIND if kind else 0)
        if self._refuses_more():
            return self._busy(c.counter)
        live, self.link.live = self.link.live, None
        if live is None:
            return Answer(Verdict.STALE, NO_CHALLENGE, c.counter)
        if live.counter != c.counter:
            return Answer(Verdict.STALE, OTHER_CHALLENGE, c.counter)
        if self._too_old(live):
            return Answer(Verdict.STALE, TIMED_OUT, c.counter)
        i = self._find(c.instance_id)
        if i is None:
            return Answer(Verdict.UNKNOWN_INSTANCE, counter=c.counter)
        slot = self.store.slots[i]
        if c.counter <= self.recalled[i]:
            return Answer(Verdict.STALE, ENDED, c.counter)
        if slot.state == REVOKED:
            return Answer(Verdict.REVOKED, counter=c.counter)
        hardware_id = self.settings.hardware_id
        occasion = Occasion(hardware_id, live.bytes, c.counter, c.kind, c.cls, c.command)
        nonce = occasion.nonce()
        return self._judged(i, self._candidate(slot, c, nonce), c, nonce)

    def _judged(
        self, i: int, candidate: Slot | None, c: Command, nonce: bytes, opened: Opened | None = None
    ) -> Answer:
        """Judges a command of slot i under the candidate that it belongs to, or the slot."""
        slot = self.store.slots[i]
        if candidate is None:
            verdict, detail = self._decide(i, slot, c, nonce, opened)
            return self._signed(slot, nonce, verdict, detail, c.counter)
        if candidate.issued < self.store.globals.floor:
            return Answer(Verdict.SUPERSEDED, counter=c.counter)
        if candidate.generation <= slot.revoked_generation:
            return Answer(Verdict.REVOKED, counter=c.counter)
        if candidate.generation <= slot.generation:
            return Answer(Verdict.SUPERSEDED, counter=c.counter)
        verdict, detail = self._decide(i, candidate, c, nonce, opened)
        return self._signed(candidate, nonce, verdict, detail, c.counter)

    def _candidate(self, slot: Slot, c: Command, nonce: bytes) -> Slot | None:
        """The link's candidate, if this command has its device proof."""
        candidate = self.link.candidate
        if candidate is None or not is_integrity(c.kind) or self.link.candidate_of != c.instance_id:
            return None
        if candidate.token_digest == slot.token_digest:
            return None
        secrets, answered = candidate.secrets, answered_nonce(c, nonce)
        if not same(proof(secrets.device_key, answered, secrets.dm), c.device_proof):
            return None
        self._share(candidate, slot)
        return candidate

    def _refuses_more(self) -> bool:
        return self.link.refusals >= REFUSALS_MAX

    def _too_old(self, live: Challenge) -> bool:
        return self.clock() - live.born > self.settings.challenge_limit

    def _decide(
        self, i: int, slot: Slot, c: Command, nonce: bytes, opened: Opened | None = None
    ) -> tuple[Verdict, int]:
        """Verdict and detail of a command whose answer is bound to it; `slot` is slot i, or its candidate."""
        secrets, present = slot.secrets, self.store.slots[i]
        if slot.not_after and self._epoch() > slot.not_after:
            return Verdict.EXPIRED, 0
        if slot.attempts == 0:
            return Verdict.ATTEMPTS_EXHAUSTED, 0
        if slot.uses == 0:
            return Verdict.USES_EXHAUSTED, 0
        integrity = is_integrity(c.kind)
        answered = answered_nonce(c, nonce)
        if not same(proof(secrets.device_key, answered, secrets.dm), c.device_proof):
            self.link.refusals += 1
            return Verdict.DEVICE_DIFFERS, 0
        if integrity and not same(proof(secrets.key, nonce, secrets.im), c.integrity_proof):
            present.attempts -= 1
            self._keep(i)
            return Verdict.INTEGRITY_DIFFERS, present.attempts
        policy = slot.ratchet_policy
        if slot.policy & SEALED and opened is None:
            return Verdict.NOT_PERMITTED, SEALED_DEMANDED
        is_tagged = has_ratchet(c.kind) if opened is None else any(c.ratchet_tag)
        if is_tagged != (policy != ratchets.NONE):
            return Verdict.NOT_PERMITTED, ratchets.DETAILS[policy]
        own = slot.integrity_classes if integrity else slot.device_classes
        classes = own | self._lent(i) if integrity else own
        if not classes >> c.cls & 1:
            return Verdict.NOT_PERMITTED, self._class_detail(i, slot, c.cls)
        verdict = Verdict.ACCEPTED if integrity else Verdict.ACCEPTED_DEVICE_ONLY
        moves = nonce if opened is None else opened.step
        if policy and not same(ratchets.tag(slot.ratchet, nonce), c.ratchet_tag):
            if policy == ratchets.REFUSE and not slot.device_classes >> c.cls & 1:
                present.copies = min(present.copies + 1, 255)
                if i not in self.noted:
                    self.noted.add(i)
                    self._keep(i)
                return Verdict.COPIED, slot.last_counter & 0xFFFF
            slot.copies = min(slot.copies + 1, 255)
            verdict = Verdict.ACCEPTED_COPY if integrity else Verdict.ACCEPTED_DEVICE_ONLY_COPY
            if policy == ratchets.REPORT:
                slot.ratchet = ratchets.fork(secrets, moves)
        elif policy:
            slot.ratchet = ratchets.step(slot.ratchet, moves)
        if not own >> c.cls & 1:
            self._charge(i)
        slot.last_verdict, slot.last_counter = verdict, c.counter
        slot.last_nonce = nonce[:NONCE_BYTES]
        self.recalled[i] = c.counter
        if slot.uses != FOREVER:
            slot.uses -= 1
        if slot.uses != FOREVER or policy:
            self._keep(i)
        if slot is not present:  # the generation has proved itself
            self.store.slots[i], self.link.candidate = slot, None
            self._keep(i)
        return verdict, uses_left(slot)

    # RECALL

    def _recall(self, message: bytes) -> Answer:
        try:
            r = parse_recall(message)
        except Refused:
            return Answer(Verdict.MALFORMED)
        if self._refuses_more():
            return self._busy(r.counter)
        i = self._find(r.instance_id)
        if i is None or self.store.slots[i].state == REVOKED:
            return Answer(Verdict.UNKNOWN_INSTANCE, counter=r.counter)
        slot = self.store.slots[i]
        key = slot.secrets.device_key
        if not same(recall_tag(key, r.instance_id, r.counter, r.nonce), r.tag):
            self.link.refusals += 1
            return Answer(Verdict.DEVICE_DIFFERS, counter=r.counter)
        if r.counter >= self.next_counter:
            return Answer(Verdict.MALFORMED, counter=r.counter)
        self.recalled[i] = max(self.recalled[i], r.counter)
        if slot.last_verdict and (r.counter, r.nonce[:NONCE_BYTES]) == (
            slot.last_counter,
            slot.last_nonce,
        ):
            verdict = slot.last_verdict
        elif r.counter < slot.last_counter:
            verdict = Verdict.STALE
        else:
            verdict = Verdict.NOT_EXECUTED
        return self._signed(slot, r.nonce, verdict, 0, r.counter)

    # ORDER

    def _order(self, message: bytes) -> Answer:
        s = self.settings
        if self.link.openings >= OPENINGS_MAX:
            return self._busy()
        try:
            check_address(s.hardware_id, message)
        except Refused as refused:
            return Answer(WORDS[refused.word], refused.detail)  # cost no public-key work: not counted
        before, detail = deepcopy(self.store), 0
        try:
            order = open_order(s.hardware_id, s.issuers, message)
            if self._is_ahead(order.issued):
                verdict, detail = Verdict.EXPIRED, AHEAD
            else:
                verdict = self._obey(order)
                detail = s.slots if verdict == Verdict.NO_ROOM else 0
        except Refused as refused:
            verdict, detail = WORDS[refused.word], refused.detail
        if self.store == before:
            self.link.openings += 1
        for i, slot in enumerate(self.store.slots):
            if slot != before.slots[i]:
                self._keep(i)
        self._keep_globals()
        return Answer(verdict, detail)

    def _obey(self, order: Order) -> Verdict:
        if order.type == REVOKE and not self._revoke(order):
            return Verdict.NO_ROOM
        self._raise_epoch(order.issued)
        known = self.store.globals
        if order.type == FLOOR:
            known.floor = max(known.floor, order.issued)
            self.swept = max(self.swept, *self.recalled)
            for i, slot in enumerate(self.store.slots):
                self.store.slots[i] = self._under_floor(slot, known.floor)
        return Verdict.ORDER_DONE

    def _revoke(self, order: Order) -> bool:
        if order.issued < self.store.globals.floor:
            return True  # what it revokes is superseded
        i = self._find(order.instance_id)
        if i is None:
            i = self._free()
            if i is None:
                return False
            self._settle(i, order.instance_id)
        slot = self.store.slots[i]
        slot.revoked_generation = max(slot.revoked_generation, order.generation)
        slot.revoked_at = max(slot.revoked_at, order.issued)
        if slot.generation <= slot.revoked_generation:
            self.store.slots[i] = self._without_token(slot)
        return True

    @staticmethod
    def _under_floor(slot: Slot, floor: int) -> Slot:
        if slot.state == FREE or max(slot.issued, slot.revoked_at) < floor:
            return Slot()
        if slot.issued < floor:
            return Hardware._without_token(slot)
        return slot

    @staticmethod
    def _without_token(slot: Slot) -> Slot:
        emptied = replace(slot, state=REVOKED, token_digest=bytes(16), secrets=NO_SECRETS)
        return replace(emptied, ratchet=bytes(16), policy=0, copies=0)

    # Shared

    @staticmethod
    def _uses_left(slot: Slot) -> int:
        return uses_left(slot)

    def _epoch(self) -> int:
        """It is at least this late: the epoch as signed, and what the clock has counted since."""
        return self.epoch + self.clock() - self.epoch_since if self.epoch else 0

    def _is_ahead(self, issued: int) -> bool:
        """Where a time is known, one signature may not move it further than the step."""
        known = max(self._epoch(), self.store.globals.floor)
        return known != 0 and issued > known + EPOCH_STEP

    def _raise_epoch(self, issued: int) -> None:
        if issued > self._epoch():
            self.epoch, self.epoch_since = issued, self.clock()
        self.store.globals.epoch = max(self.store.globals.epoch, issued)

    def _find(self, instance_id: bytes) -> int | None:
        found = (
            i
            for i, s in enumerate(self.store.slots)
            if s.state != FREE and s.instance_id == instance_id
        )
        return next(found, None)

    def _settle(self, i: int, instance_id: bytes) -> Slot:
        """An instance new to the slot: what came before it is not remembered."""
        self.store.slots[i] = Slot(instance_id=instance_id, last_counter=self.next_counter)
        self.recalled[i] = self.swept
        return self.store.slots[i]

    def _free(self) -> int | None:
        return next((i for i, s in enumerate(self.store.slots) if s.state == FREE), None)

    def _busy(self, counter: int = 0) -> Answer:
        return Answer(Verdict.BUSY, self.settings.busy_wait, counter)

    def _signed(self, slot: Slot, nonce: bytes, verdict: int, detail: int, counter: int) -> Answer:
        tag = receipt(slot.secrets.device_key, nonce, verdict, detail, counter)
        return Answer(verdict, detail, counter, tag)

    def _keep(self, i: int) -> None:
        self.flash.slots[i] = deepcopy(self.store.slots[i])

    def _keep_globals(self) -> None:
        self.flash.globals = deepcopy(self.store.globals)
