# SPDX-License-Identifier: Apache-2.0

"""Dialogues about channels: section 20. Each answer is written by hand from the page."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from proofspec import channel, curves, grant, sealed
from proofspec import ratchet as ratchets
from proofspec.basics import u8, u64
from proofspec.message import Type, Verdict, parse_answer
from proofspec.order import EPOCH, FLOOR, create_order
from proofspec.token import CHANNEL, SEALED, UPCOMING, token_digest

from .dialogue import CLASS, ENDED, INTEGRITY_DEMANDED, OLDER_GENERATION, Script, revoke
from .grants import MEMBER, OWNED, OWNER, loan, token_of
from .hostile_config import flipped
from .scripts_command import ONE
from .scripts_sealed import DOWN, SIX, LiveKey, Phone, SealedScript, Sent
from .scripts_upcoming import UPDATED, made, ready
from .scripts_version import second
from .world import BACKEND, DOOR, START, bare_app, stuff

ACCEPTED, DEVICE_ONLY, COPY = Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY, Verdict.ACCEPTED_COPY
DIFFERS, STALE, NOT_PERMITTED = Verdict.DEVICE_DIFFERS, Verdict.STALE, Verdict.NOT_PERMITTED
NO_CHANNEL, SPENT, OWNER_CANNOT = 6, 4, 5
COMMANDS = 16
UNLIMITED = 65535
OTHER = bare_app("another")


@dataclass
class End:
    """An app's end of a channel."""

    chain: bytes
    next: int
    before: int = 0
    nonce: bytes = b""


class ChannelScript(SealedScript):
    """A script whose hardware opens channels."""

    def keep(self) -> "ChannelScript":
        self.hardware.keep_channels()
        self.block.put("channels", 1)
        return self

    def opened(self, phone: Phone, verdict: Verdict = ACCEPTED, detail: int = UNLIMITED, after: int = 1, **how) -> End:
        """A sealed command; `after` is how far behind its counter the channel's next one is, or 0 for no channel."""
        live = self.prepare().ask_sealed()
        sent = phone.seal(live, **how)
        following = self.told(Type.COMMAND, sent.message, sent.down, sent.counter, verdict, detail)
        self.must(following == (sent.counter + after if after else 0), f"next {following}")
        return End(chain_of(phone, live, sent), following, sent.counter, sent.nonce)

    def told(self, type: int, message: bytes, key: bytes, counter: int, verdict: Verdict, detail: int) -> int:
        """The answer is sealed, and says this; what it says of a next command."""
        answer_type, raw = self.send(type, message)
        self.must(answer_type == DOWN, f"{answer_type} {raw.hex()}")
        answer, following = sealed.open_down(key, counter, raw)
        self.must((answer.verdict, answer.detail) == (verdict, detail), f"{answer}")
        return following

    def again(self, end: End, verdict: Verdict = ACCEPTED, detail: int = UNLIMITED, after: int = 1, cls: int = 0,
              command: bytes = b"again") -> "ChannelScript":
        """The channel's next command."""
        counter = end.next
        message = channel.encode_up(end.chain, counter, cls, command)
        key = channel.back_key(end.chain, counter)
        following = self.told(Type.SEALED_UP, message, key, counter, verdict, detail)
        self.must(following == (counter + after if after else 0), f"next {following}")
        end.nonce, end.before = channel.nonce(end.chain, message), counter
        end.chain, end.next = channel.following(end.chain, counter), following
        return self

    def refused(self, message: bytes, verdict: Verdict, detail: int = 0) -> "ChannelScript":
        """The answer is in the clear, without a receipt, and names the message's counter."""
        type, raw = self.send(Type.SEALED_UP, message)
        answer = parse_answer(raw)
        counter = 0 if verdict == Verdict.MALFORMED and len(message) < 25 else int.from_bytes(message[:8], "little")
        detail = self.wait if verdict == Verdict.BUSY else detail
        self.must((type, answer.verdict, answer.detail) == (Type.VERDICT, verdict, detail), f"{answer}")
        self.must((answer.counter, answer.receipt) == (counter, bytes(32)), f"{answer}")
        return self

    def over(self, end: End) -> "ChannelScript":
        return self.refused(channel.encode_up(end.chain, end.next or 99, 0, b"again"), STALE, NO_CHANNEL)

    def must(self, holds: bool, what: str) -> None:
        if not holds:
            raise AssertionError(f"{self.block.word('comment')}: {what}")


def chain_of(phone: Phone, live: LiveKey, sent: Sent) -> bytes:
    own = phone.who.at(DOOR)
    facts = sealed.Facts(DOOR.id, phone.who.instance_id, phone.digest, own.device_key, live.lock_key, live.bytes,
                         live.counter)
    return sealed.chain(facts, curves.shared_secret(stuff(f"app key {live.counter}", 32), live.lock_key), sent.message)


def begun(comment: str, uses: int | None = None, policy: int = CHANNEL) -> tuple[ChannelScript, Phone]:
    """Hardware that opens channels and holds a token of app one that permits one."""
    token = second(policy=policy, **({} if uses is None else {"uses": uses}))
    s = ChannelScript(comment)
    s.prepare()
    s.keep().hold(ONE, token, UNLIMITED if uses is None else uses)
    phone = Phone(ONE, token_digest(token))
    if policy & 3:
        phone = replace(phone, ratchet=ratchets.begin(ONE.at(DOOR), phone.digest))
    return s, phone


def scripts() -> Iterator[Script]:
    yield from _opened()
    yield from _judged()
    yield from _counters()
    yield from _ends()
    yield from _instances()
    yield from _tokens()
    yield from _loans()


def _opened() -> Iterator[Script]:
    s, phone = begun("a channel of an integrity command")
    end = s.opened(phone)
    s.again(end).again(end, cls=2, command=b"").again(end, command=stuff("long", 216))
    yield s

    s, phone = begun("a channel of a device command has its classes")
    end = s.opened(phone, DEVICE_ONLY, kind=SIX)
    s.again(end, DEVICE_ONLY).again(end, NOT_PERMITTED, INTEGRITY_DEMANDED, 0, cls=2).over(end)
    yield s

    s, phone = begun("a channel has sixteen further commands")
    end = s.opened(phone)
    for _ in range(COMMANDS - 1):
        s.again(end)
    s.step("the last one tells no next").again(end, after=0).over(end)
    yield s

    s, phone = begun("a token that does not permit a channel", policy=SEALED)
    s.over(s.opened(phone, after=0))
    yield s

    s, phone = begun("a command that is refused opens no channel")
    s.over(s.opened(phone, NOT_PERMITTED, CLASS, 0, cls=9))
    yield s

    token = second(policy=CHANNEL)
    s = ChannelScript("hardware that opens no channels takes the token, and a SEALED-UP is malformed")
    s.prepare()
    s.hold(ONE, token)
    end = s.opened(Phone(ONE, token_digest(token)), after=0)
    # Its counter is that of no channel: the hardware does not read the message.
    s.expect(Type.SEALED_UP, channel.encode_up(end.chain, 9, 0, b""), Verdict.MALFORMED)
    s.step("with it, the same token opens one").keep()
    s.again(s.opened(Phone(ONE, token_digest(token))))
    yield s

    s, phone = begun("the ratchet moves with the opening command alone", policy=CHANNEL | ratchets.REPORT)
    live = s.prepare().ask_sealed()
    sent = phone.seal(live)
    following = s.told(Type.COMMAND, sent.message, sent.down, sent.counter, ACCEPTED, UNLIMITED)
    end = End(chain_of(phone, live, sent), following)
    s.again(end).again(end)
    s.step("in step, with the ratchet that the opening command left").opened(phone.after(sent))
    yield s

    s, phone = begun("a copy opens no channel", policy=CHANNEL | ratchets.REPORT)
    s.opened(phone)
    s.step("out of step").over(s.opened(phone, COPY, after=0))
    yield s


def _judged() -> Iterator[Script]:
    s, phone = begun("uses are counted for each command, and the last is refused", 3)
    end = s.opened(phone, detail=2)
    s.again(end, detail=1).again(end, detail=0)
    s.again(end, Verdict.USES_EXHAUSTED, 0, 0).over(end)
    yield s

    s, phone = begun("a class that the token does not permit ends the channel")
    end = s.opened(phone)
    s.again(end, NOT_PERMITTED, CLASS, 0, cls=9).over(end)
    s.step("a fresh proof opens another one").again(s.opened(phone))
    yield s

    token = second(policy=CHANNEL, not_after=START + 100)
    s = ChannelScript("a token that expires within the channel")
    s.prepare()
    s.keep().hold(ONE, token)
    end = s.opened(Phone(ONE, token_digest(token)))
    s.again(end)
    s.link(2).order(create_order(BACKEND.seed, EPOCH, START + 101, DOOR.id, bytes(16), 0))
    s.link(1).again(end, Verdict.EXPIRED, 0, 0).over(end)
    yield s

    s, phone = begun("class 16 is malformed, and ends the channel")
    end = s.opened(phone)
    box = curves.box(channel.up_key(end.chain, end.next), u8(16))
    s.refused(u64(end.next) + box, Verdict.MALFORMED).over(end)
    yield s


def _counters() -> Iterator[Script]:
    s, phone = begun("a repeat is stale, and ends the channel")
    end = s.opened(phone)
    message = channel.encode_up(end.chain, end.next, 0, b"again")
    s.again(end).refused(message, STALE, NO_CHANNEL).over(end)
    yield s

    s, phone = begun("counters beside the next one")
    for off in (-1, 1, 2**32):
        end = s.opened(phone)
        s.refused(channel.encode_up(end.chain, end.next + off, 0, b"again"), STALE, NO_CHANNEL).over(end)
    yield s

    s, phone = begun("each altered byte ends the channel")
    for at in (8, 23, 24, 25, 29):
        end = s.opened(phone)
        s.refused(flipped(channel.encode_up(end.chain, end.next, 0, b"again"), at), DIFFERS).over(end)
    yield s

    s, phone = begun("sixteen refusals, and the link is busy")
    for _ in range(16):
        end = s.opened(phone)
        s.refused(flipped(channel.encode_up(end.chain, end.next, 0, b""), 20), DIFFERS)
    s.refused(bytes(25), Verdict.BUSY)
    yield s

    s, phone = begun("a stranger finds no channel")
    for message in (bytes(25), stuff("noise", 32) + bytes(100), bytes(241)):
        s.refused(message, STALE, NO_CHANNEL)
    yield s


def _ends() -> Iterator[Script]:
    s, phone = begun("a channel ends after thirty seconds")
    end = s.opened(phone)
    s.clock(30).again(end)
    s.clock(31).over(end)
    yield s

    for what in ("a challenge", "the status", "a token", "a command in the clear", "an order"):
        s, phone = begun(f"{what} on its link ends the channel")
        end = s.opened(phone)
        if what == "a challenge":
            s.ask()
        elif what == "the status":
            s.status(1, START)
        elif what == "a token":
            s.hold(ONE, second(policy=CHANNEL))
        elif what == "an order":
            s.order(create_order(BACKEND.seed, EPOCH, START, DOOR.id, bytes(16), 0))
        else:
            s.send(Type.COMMAND, bytes(58))
        s.over(end)
        yield s

    s, phone = begun("a length that no SEALED-UP has ends the channel")
    end = s.opened(phone)
    s.refused(channel.encode_up(end.chain, end.next, 0, b"")[:24], Verdict.MALFORMED).over(end)
    yield s

    s, phone = begun("a channel ends with its link, and is not on another one")
    end = s.opened(phone)
    s.link(2).over(end)
    s.link(1).again(end).disconnect()
    s.over(end)
    yield s

    s, phone = begun("a channel ends with the power")
    end = s.opened(phone)
    s.restart()
    s.prepare()
    s.keep().over(end)
    yield s


def _instances() -> Iterator[Script]:
    s, phone = begun("a command of the instance on another link ends the channel")
    end = s.opened(phone)
    s.link(2).command(ONE, s.ask(), ACCEPTED, UNLIMITED)
    s.link(1).over(end)
    yield s

    s, phone = begun("a challenge from before the channel is dead for the instance")
    live = s.link(2).ask()
    end = s.link(1).opened(phone)
    s.link(2).stale(ONE, live, ENDED)
    s.link(1).again(end)
    yield s

    s, phone = begun("a second channel of the instance ends the first")
    first = s.opened(phone)
    end = s.link(2).opened(phone)
    s.link(1).over(first)
    s.link(2).again(end)
    yield s

    s, phone = begun("channels of two instances do not touch each other")
    token = token_of(OTHER, policy=CHANNEL)
    s.hold(OTHER, token)
    first = s.opened(phone)
    end = s.link(2).opened(Phone(OTHER, token_digest(token)))
    s.step("counters are drawn for both in turn").link(1).again(first, after=3)
    s.link(2).again(end, after=2)
    s.step("keys of the one at the other").refused(channel.encode_up(first.chain, end.next, 0, b""), DIFFERS)
    yield s

    s, phone = begun("a recall tells of a channel's command")
    end = s.opened(phone)
    s.recall(ONE, end.before, end.nonce, ACCEPTED)
    s.over(end)
    end = s.opened(phone)
    s.again(end)
    s.link(2).recall(ONE, end.before, end.nonce, ACCEPTED)
    s.link(1).step("the recall was of an earlier one").again(end)
    lost = channel.encode_up(end.chain, end.next, 0, b"again")
    s.link(2).recall(ONE, end.next, channel.nonce(end.chain, lost), Verdict.NOT_EXECUTED)
    s.link(1).refused(lost, STALE, NO_CHANNEL)
    yield s


def _tokens() -> Iterator[Script]:
    s, phone = begun("a revocation ends the channel")
    end = s.opened(phone)
    s.link(2).order(revoke(ONE, 1))
    s.link(1).over(end)
    yield s

    s, phone = begun("a floor ends the channel")
    end = s.opened(phone)
    s.link(2).order(create_order(BACKEND.seed, FLOOR, START + 5, DOOR.id, bytes(16), 0))
    s.link(1).over(end)
    yield s

    s, phone = begun("a newer token ends the channel, also one that permits it")
    end = s.opened(phone)
    newer = second(policy=CHANNEL, generation=2, base=1)
    s.link(2).hold(ONE, newer)
    s.token(second(policy=CHANNEL, generation=1, attempts=9), Verdict.SUPERSEDED, OLDER_GENERATION)
    s.link(1).over(end)
    s.again(s.opened(Phone(ONE, token_digest(newer))))
    yield s

    s, phone = begun("a candidate that commits opens a channel")
    token = made(UPDATED, 2, policy=UPCOMING | CHANNEL)
    ready(s, token)
    end = s.opened(Phone(UPDATED, token_digest(token)))
    s.again(end)
    yield s


def _loans() -> Iterator[Script]:
    for what in ("uses", "owner"):
        s = ChannelScript(f"a loan within a channel ends with its {what}")
        s.prepare()
        s.keep()
        s.hardware.take_grants()
        s.block.put("grants", 1)
        owner, member = token_of(OWNER, **OWNED), token_of(MEMBER, integrity_classes=2, device_classes=0,
                                                           policy=CHANNEL)
        s.hold(OWNER, owner).hold(MEMBER, member)
        lent = grant.create(replace(loan(), member=token_digest(member)), OWNER.at(DOOR), token_digest(owner))
        s.dpk = MEMBER.at(DOOR).device_key
        s.expect(Type.GRANT, lent, Verdict.ORDER_DONE, 2, 0, grant.digest(lent))
        end = s.opened(Phone(MEMBER, token_digest(member)), cls=1)
        s.again(end)
        if what == "uses":
            s.again(end, cls=1).again(end)
            s.again(end, NOT_PERMITTED, SPENT, 0).over(end)
        else:
            s.link(2).order(revoke(OWNER, 1))
            s.link(1).again(end, NOT_PERMITTED, OWNER_CANNOT, 0).over(end)
        yield s
