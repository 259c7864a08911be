# SPDX-License-Identifier: Apache-2.0

"""Section 20, "Rules for the hardware": what the model does with channels."""

from dataclasses import dataclass, replace

from . import channel as formats
from . import sealed
from .basics import FOREVER, Refused
from .message import Answer, Type, Verdict
from .proof import is_integrity
from .stored import HELD, NONCE_BYTES
from .token import CHANNEL

COMMANDS, COMMANDS_BLIND, LIFE = 16, 4, 30
NO_CHANNEL = 6  # detail of stale
DOWN = 10  # the type of SEALED-DOWN


@dataclass(frozen=True)
class Channel:
    """A channel that waits for its next command."""

    slot: int
    token_digest: bytes
    kind: int
    chain: bytes
    next: int
    before: int
    opened: int
    left: int


class ChannelRules:
    """The part of the model that opens channels."""

    channels = False  # Whether this hardware opens them

    def keep_channels(self) -> None:
        self.channels = True

    def _open_channel(self, i: int, kind: int, counter: int, verdict: int, chain: bytes) -> int:
        """The counter of the next command, or 0."""
        slot = self.store.slots[i]
        told = verdict in (Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY)
        if not self.channels or not told or not slot.policy & CHANNEL:
            return 0
        left = COMMANDS if self.has_clock else COMMANDS_BLIND
        return self._wait(Channel(i, slot.token_digest, kind, chain, 0, counter, self.clock(), left))

    def _wait(self, channel: Channel) -> int:
        """Draws the counter of the next command, and raises the barrier to it."""
        if channel.left == 0:
            return 0
        counter = self._take_counter()
        self.recalled[channel.slot] = counter - 1
        self.link.channel = replace(channel, next=counter)
        return counter

    def _sealed_up(self, message: bytes) -> tuple[int, bytes]:
        try:
            counter = formats.parse_up(message)
        except Refused:
            self.link.channel = None
            return Type.VERDICT, Answer(Verdict.MALFORMED).encoded()
        channel, self.link.channel = self.link.channel, None
        if not self.channels:
            return Type.VERDICT, Answer(Verdict.MALFORMED).encoded()
        if self._refuses_more():
            return Type.VERDICT, self._busy(counter).encoded()
        if channel is None or self._channel_is_over(channel, counter):
            return Type.VERDICT, Answer(Verdict.STALE, NO_CHANNEL, counter).encoded()
        try:
            cls, _ = formats.open_up(channel.chain, message)
        except Refused as refused:
            verdict = Verdict.MALFORMED
            if refused.word != "malformed":
                verdict = Verdict.DEVICE_DIFFERS
                self.link.refusals += 1
            return Type.VERDICT, Answer(verdict, counter=counter).encoded()
        verdict, detail = self._decide_in(channel, cls, formats.nonce(channel.chain, message))
        after = 0
        if verdict in (Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY):
            moved = formats.following(channel.chain, counter)
            after = self._wait(replace(channel, chain=moved, before=counter, left=channel.left - 1))
        key = formats.back_key(channel.chain, counter)
        return DOWN, sealed.encode_down(key, counter, verdict, detail, after)

    def _channel_is_over(self, channel: Channel, counter: int) -> bool:
        """Steps 4 to 6."""
        slot, limit = self.store.slots[channel.slot], self.settings.challenge_limit
        if channel.next != counter or channel.left == 0:
            return True
        if self.has_clock and self.clock() - channel.opened > (min(limit, LIFE) if limit else LIFE):
            return True
        if slot.state != HELD or slot.token_digest != channel.token_digest or not slot.policy & CHANNEL:
            return True
        return slot.last_counter != channel.before or counter <= self.recalled[channel.slot]

    def _decide_in(self, channel: Channel, cls: int, nonce: bytes) -> tuple[Verdict, int]:
        """Steps 9 to 13."""
        i = channel.slot
        slot = self.store.slots[i]
        if slot.not_after and self._epoch() > slot.not_after:
            return Verdict.EXPIRED, 0
        if slot.attempts == 0:
            return Verdict.ATTEMPTS_EXHAUSTED, 0
        if slot.uses == 0:
            return Verdict.USES_EXHAUSTED, 0
        integrity = is_integrity(channel.kind)
        own = slot.integrity_classes if integrity else slot.device_classes
        classes = own | self._lent(i) if integrity else own
        if not classes >> cls & 1:
            return Verdict.NOT_PERMITTED, self._class_detail(i, slot, cls)
        if not own >> cls & 1:
            self._charge(i)
        verdict = Verdict.ACCEPTED if integrity else Verdict.ACCEPTED_DEVICE_ONLY
        slot.last_verdict, slot.last_counter = verdict, channel.next
        slot.last_nonce = nonce[:NONCE_BYTES]
        if slot.uses != FOREVER:
            slot.uses -= 1
        if slot.uses != FOREVER or slot.ratchet_policy:
            self._keep(i)
        return verdict, self._uses_left(slot)
