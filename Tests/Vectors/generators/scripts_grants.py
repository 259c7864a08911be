# SPDX-License-Identifier: Apache-2.0

"""Dialogues about grants: section 19."""

from collections.abc import Iterator
from dataclasses import replace

from proofspec import grant
from proofspec.grant import Grant
from proofspec.message import Type, Verdict, make_command
from proofspec.order import EPOCH, FLOOR, create_order
from proofspec.proof import DEVICE, Occasion
from proofspec.token import UPCOMING, token_digest

from .dialogue import CLASS, INTEGRITY_DEMANDED, OLDER_GENERATION, RESERVED, SUITE, VERSION, Script, revoke
from .dialogue import wrong_device, wrong_integrity
from .grants import END, MEMBER, MEMBER_TOKEN, OWN, OWNED, OWNER, OWNER_TOKEN, back, loan, token_of
from .hostile_config import flipped
from .world import BACKEND, DOOR, START, App, bare_app, stuff

ACCEPTED, DONE, NOT_PERMITTED = Verdict.ACCEPTED, Verdict.ORDER_DONE, Verdict.NOT_PERMITTED
DIFFERS, UNKNOWN = Verdict.DEVICE_DIFFERS, Verdict.UNKNOWN_INSTANCE
SPENT, OWNER_CANNOT, NOT_DELEGABLE = 4, 5, 9
NO_MEMBER = 1
UNLIMITED = 65535
SECOND, THIRD = bare_app("a second owner"), bare_app("a third phone")
# The door's id begins like this one.
LIKE_DOOR = replace(DOOR, id=DOOR.id[:4] + stuff("another rest", 12))


class GrantScript(Script):
    """A script whose hardware takes grants from here on."""

    def begin(self) -> "GrantScript":
        self.hardware.take_grants()
        self.block.put("grants", 1)
        return self

    def taken(self, raw: bytes, who: App, uses: int = 0) -> "GrantScript":
        """Done, with the receipt of this app."""
        self.dpk = who.at(self.where).device_key
        return self.expect(Type.GRANT, raw, DONE, uses, 0, grant.digest(raw))

    def refused(self, raw: bytes, verdict: Verdict, detail: int = 0) -> "GrantScript":
        detail = self.wait if verdict == Verdict.BUSY else detail
        return self.expect(Type.GRANT, raw, verdict, detail)

    def opens(self, who: App, uses: int = UNLIMITED, cls: int = 0) -> "GrantScript":
        self.command(who, self.ask(), ACCEPTED, uses, cls=cls)
        return self

    def opens_not(self, who: App, detail: int, cls: int = 0, **how: object) -> "GrantScript":
        self.command(who, self.ask(), NOT_PERMITTED, detail, cls=cls, **how)
        return self


def made(of: Grant, who: App = OWNER, token: bytes = OWNER_TOKEN) -> bytes:
    return grant.create(of, who.at(DOOR), token_digest(token))


def begun(comment: str, uses: int | None = None) -> GrantScript:
    """Hardware that takes grants and holds the tokens of owner and member."""
    s = GrantScript(comment).begin()
    s.step("owner and member present their tokens")
    limit = {} if uses is None else {"uses": uses}
    s.hold(OWNER, token_of(OWNER, **OWNED, **limit), UNLIMITED if uses is None else uses)
    s.hold(MEMBER, MEMBER_TOKEN)
    return s


def limited(uses: int) -> bytes:
    return token_of(OWNER, **OWNED, uses=uses)


def scripts() -> Iterator[Script]:
    yield from _lent()
    yield from _refused()
    yield from _serials()
    yield from _owners()
    yield from _ends()


def _lent() -> Iterator[Script]:
    s = begun("a loan of two uses")
    s.opens_not(MEMBER, CLASS)
    s.taken(made(loan()), MEMBER, 2)
    s.opens(MEMBER).opens(MEMBER).opens_not(MEMBER, SPENT)
    s.step("the member's own class, and one that was not lent").opens(MEMBER, cls=1)
    s.opens_not(MEMBER, CLASS, cls=2)
    yield s

    s = begun("the owner is charged", 5)
    token = limited(5)
    s.taken(made(loan(), token=token), MEMBER, 2).opens(MEMBER)
    s.opens(OWNER, 3).opens(MEMBER, cls=1).opens(OWNER, 2)
    yield s

    s = begun("more uses than the owner has", 2)
    token = limited(2)
    s.taken(made(loan(uses=9), token=token), MEMBER, 9)
    s.opens(MEMBER).opens(MEMBER).opens_not(MEMBER, OWNER_CANNOT)
    s.command(OWNER, s.ask(), Verdict.USES_EXHAUSTED)
    yield s

    s = begun("only an integrity match borrows")
    s.taken(made(loan()), MEMBER, 2)
    s.opens_not(MEMBER, INTEGRITY_DEMANDED, kind=DEVICE)
    s.command(MEMBER, s.ask(), Verdict.INTEGRITY_DIFFERS, 2, secrets=wrong_integrity(MEMBER))
    s.command(MEMBER, s.ask(), DIFFERS, secrets=wrong_device(MEMBER))
    s.opens(MEMBER)
    yield s

    s = begun("the loan outlives a start")
    s.taken(made(loan()), MEMBER, 2).restart()
    s.begin().step("presented again").taken(made(loan()), MEMBER, 2)
    yield s

    s = begun("hardware that takes no grants lends nothing, and answers that the message is malformed")
    s.taken(made(loan()), MEMBER, 2).restart().refused(made(loan(serial=2)), Verdict.MALFORMED)
    yield s

    s = begun("a candidate commits with a lent command")
    s.taken(made(loan()), MEMBER, 2)
    updated = replace(bare_app("a member, updated"), instance_id=MEMBER.instance_id)
    raw = token_of(updated, **OWN, generation=2, base=1, policy=UPCOMING)
    s.dpk = updated.at(DOOR).device_key
    s.expect(Type.TOKEN, raw, Verdict.READY, UNLIMITED, 0, token_digest(raw))
    s.opens(updated).opens(updated).opens_not(updated, SPENT)
    yield s


def _refused() -> Iterator[Script]:
    right = made(loan())
    s = begun("shapes")
    for raw, verdict, detail in (
        (right[:95], Verdict.MALFORMED, 0),
        (right + b"\x00", Verdict.MALFORMED, 0),
        (b"PG" + right[2:], Verdict.MALFORMED, 0),
        (made(loan(uses=65535)), Verdict.MALFORMED, 0),
        (made(loan(serial=0)), Verdict.MALFORMED, 0),
        (made(back(uses=1)), Verdict.MALFORMED, 0),
        (right[:2] + b"\x02" + right[3:], Verdict.TOO_NEW, VERSION),
        (right[:3] + b"\x02" + right[4:], Verdict.TOO_NEW, SUITE),
        (right[:60] + b"\x01" + right[61:], Verdict.TOO_NEW, RESERVED),
        (right[:4] + b"\x00" + right[5:], Verdict.NOT_FOR_ME, 0),
    ):
        s.refused(raw, verdict, detail)
    s.opens_not(MEMBER, CLASS).taken(right, MEMBER, 2)
    yield s

    s = begun("wider classes, more uses, a later end, another member: not what the owner made")
    for other in (loan(classes=0b101), loan(uses=9), loan(end=END + 1), loan(serial=2), loan(generation=2),
                  loan(member=token_digest(OWNER_TOKEN)), back()):
        s.refused(other.encoded() + right[64:], DIFFERS)
    for at in (64, 80, 95):
        s.refused(flipped(right, at), DIFFERS)
    s.opens_not(MEMBER, CLASS)
    yield s

    s = begun("made by a changed app, on another device, with a device match only, by the member")
    for own in (wrong_integrity(OWNER), wrong_device(OWNER), replace(OWNER.at(DOOR), key=bytes(16), im=bytes(32)),
                MEMBER.at(DOOR), OWNER.at(LIKE_DOOR)):
        s.refused(grant.create(loan(), own, token_digest(OWNER_TOKEN)), DIFFERS)
    s.step("for a token that the lock does not hold")
    s.refused(grant.create(loan(), OWNER.at(DOOR), stuff("a token for another lock", 16)), DIFFERS)
    yield s

    s = begun("sixteen wrong tags, and the link is busy")
    for _ in range(16):
        s.refused(flipped(right, 64), DIFFERS)
    s.refused(right, Verdict.BUSY)
    s.command(OWNER, s.ask(), Verdict.BUSY, signed=False)
    s.disconnect().taken(right, MEMBER, 2)
    yield s

    s = begun("an owner whom the hardware does not know, another generation, another member")
    s.refused(made(loan(owner=THIRD.instance_id), THIRD), UNKNOWN)
    s.refused(made(loan(generation=2)), Verdict.SUPERSEDED, OLDER_GENERATION)
    s.refused(made(loan(member=stuff("a token", 16))), UNKNOWN, NO_MEMBER)
    s.refused(made(back(member=stuff("a token", 16))), UNKNOWN, NO_MEMBER)
    yield s

    s = begun("wider classes that the owner made")
    for classes in (0b010, 0b011, 0x8001, 0xFFFF):
        s.refused(made(loan(classes=classes)), NOT_PERMITTED, NOT_DELEGABLE)
    yield s

    s = begun("what was lent is not lent on")
    s.taken(made(loan(uses=9)), MEMBER, 9)
    third = token_of(THIRD, **OWN)
    s.hold(THIRD, third)
    on = loan(owner=MEMBER.instance_id, member=token_digest(third))
    s.refused(made(on, MEMBER, MEMBER_TOKEN), NOT_PERMITTED, NOT_DELEGABLE)
    s.opens_not(THIRD, CLASS)
    yield s

    s = begun("an end that has passed")
    s.order(create_order(BACKEND.seed, EPOCH, END, DOOR.id))
    s.taken(made(loan()), MEMBER, 2).opens(MEMBER)
    s.order(create_order(BACKEND.seed, EPOCH, END + 1, DOOR.id))
    s.refused(made(loan(serial=2)), Verdict.EXPIRED, 1).opens_not(MEMBER, SPENT)
    s.order(create_order(BACKEND.seed, EPOCH, END + 3 * 86_400, DOOR.id))
    s.refused(made(loan(serial=2)), Verdict.EXPIRED, 4)
    s.taken(made(back(serial=2)), OWNER)
    yield s


def _serials() -> Iterator[Script]:
    s = begun("again, after a lost answer; then the serial is used")
    right = made(loan(serial=5))
    s.taken(right, MEMBER, 2).taken(right, MEMBER, 2).opens(MEMBER).taken(right, MEMBER, 1)
    s.opens(MEMBER).taken(right, MEMBER, 0).opens_not(MEMBER, SPENT)
    for serial in (5, 4, 1):
        s.refused(made(loan(serial=serial, uses=3)), NOT_PERMITTED, SPENT)
    s.taken(made(loan(serial=6, uses=1)), MEMBER, 1).refused(right, NOT_PERMITTED, SPENT)
    s.opens(MEMBER).opens_not(MEMBER, SPENT)
    yield s

    s = begun("taken back, then presented")
    s.taken(made(loan()), MEMBER, 2).opens(MEMBER)
    s.step("an old one takes nothing back").refused(made(back()), NOT_PERMITTED, SPENT)
    s.taken(made(back(serial=2)), OWNER).opens_not(MEMBER, SPENT)
    s.refused(made(loan()), NOT_PERMITTED, SPENT).refused(made(loan(serial=2)), NOT_PERMITTED, SPENT)
    s.taken(made(back(serial=2)), OWNER).taken(made(back()), OWNER).opens_not(MEMBER, SPENT)
    s.taken(made(loan(serial=3)), MEMBER, 2).opens(MEMBER)
    yield s

    s = begun("taken back before it is presented")
    s.taken(made(back(serial=3)), OWNER)
    for serial in (1, 3):
        s.refused(made(loan(serial=serial)), NOT_PERMITTED, SPENT)
    s.opens_not(MEMBER, CLASS).taken(made(loan(serial=4)), MEMBER, 2)
    yield s

    s = begun("taken back by the name of a token that the member has replaced")
    s.taken(made(loan()), MEMBER, 2)
    s.hold(MEMBER, token_of(MEMBER, **OWN, generation=2)).opens(MEMBER)
    s.refused(made(loan(serial=2)), UNKNOWN, NO_MEMBER)
    s.taken(made(back(serial=2)), OWNER).opens_not(MEMBER, SPENT)
    yield s

    s = begun("two owners")
    token = token_of(SECOND, **OWNED)
    s.hold(SECOND, token).taken(made(loan(serial=9)), MEMBER, 2)
    s.step("the second takes back what is not its own")
    s.taken(made(back(owner=SECOND.instance_id), SECOND, token), SECOND).opens(MEMBER)
    s.step("the loan presented last counts")
    s.taken(made(loan(owner=SECOND.instance_id, serial=2, uses=1), SECOND, token), MEMBER, 1)
    s.taken(made(back(serial=10)), OWNER).opens(MEMBER).opens_not(MEMBER, SPENT)
    s.refused(made(loan(serial=9)), NOT_PERMITTED, SPENT)
    yield s


def _owners() -> Iterator[Script]:
    s = begun("the owner is revoked, and comes again")
    s.taken(made(loan(uses=9)), MEMBER, 9).opens(MEMBER)
    s.order(revoke(OWNER, 1)).opens_not(MEMBER, OWNER_CANNOT).opens(MEMBER, cls=1)
    s.refused(made(loan(serial=2)), Verdict.REVOKED)
    again = token_of(OWNER, **OWNED, generation=2, issued=START + 20)
    s.hold(OWNER, again).opens_not(MEMBER, CLASS)
    s.refused(made(loan(serial=2)), DIFFERS)
    s.taken(made(loan(generation=2), token=again), MEMBER, 2).opens(MEMBER)
    yield s

    s = begun("the member is revoked, and comes again")
    s.taken(made(loan(uses=9)), MEMBER, 9).order(revoke(MEMBER, 1))
    s.command(MEMBER, s.ask(), Verdict.REVOKED, signed=False)
    s.refused(made(loan(serial=2)), UNKNOWN, NO_MEMBER)
    s.hold(MEMBER, token_of(MEMBER, **OWN, generation=2, issued=START + 20)).opens_not(MEMBER, CLASS)
    yield s

    s = begun("the owner's new token: what was taken goes on, what was not does not")
    s.taken(made(loan()), MEMBER, 2)
    s.hold(OWNER, token_of(OWNER, **OWNED, generation=2)).opens(MEMBER)
    s.refused(made(loan(serial=2)), DIFFERS)
    yield s

    s = begun("the owner's new token lends no more")
    s.taken(made(loan()), MEMBER, 2)
    s.hold(OWNER, token_of(OWNER, **(OWNED | {"delegable_classes": 0}), generation=2))
    s.opens_not(MEMBER, OWNER_CANNOT)
    s.hold(OWNER, token_of(OWNER, **OWNED, generation=3)).opens(MEMBER)
    s.hold(OWNER, token_of(OWNER, **(OWNED | {"integrity_classes": 2, "delegable_classes": 2, "device_classes": 0}),
                           generation=4))
    s.opens_not(MEMBER, OWNER_CANNOT)
    yield s

    s = begun("the owner's attempts are exhausted")
    s.taken(made(loan(uses=9)), MEMBER, 9)
    for left in (2, 1, 0):
        s.command(OWNER, s.ask(), Verdict.INTEGRITY_DIFFERS, left, secrets=wrong_integrity(OWNER))
    s.opens_not(MEMBER, OWNER_CANNOT).refused(made(loan(serial=2)), NOT_PERMITTED, OWNER_CANNOT)
    s.taken(made(back(serial=2)), OWNER)
    yield s

    s = GrantScript("the owner's time is over").begin()
    token = token_of(OWNER, **OWNED, not_after=START + 100)
    s.hold(OWNER, token).hold(MEMBER, MEMBER_TOKEN)
    s.taken(made(loan(uses=9), token=token), MEMBER, 9)
    s.order(create_order(BACKEND.seed, EPOCH, START + 100, DOOR.id)).opens(MEMBER)
    s.order(create_order(BACKEND.seed, EPOCH, START + 101, DOOR.id)).opens_not(MEMBER, OWNER_CANNOT)
    s.refused(made(loan(serial=2), token=token), NOT_PERMITTED, OWNER_CANNOT)
    yield s


def _ends() -> Iterator[Script]:
    s = GrantScript("the owner's slot is used again").begin()
    later = token_of(MEMBER, **OWN, issued=START + 50)
    s.hold(OWNER, OWNER_TOKEN).hold(MEMBER, later)
    s.taken(made(loan(member=token_digest(later), serial=7)), MEMBER, 2)
    s.order(create_order(BACKEND.seed, FLOOR, START + 10, DOOR.id)).opens_not(MEMBER, OWNER_CANNOT)
    token = token_of(SECOND, **OWNED, issued=START + 60)
    s.hold(SECOND, token).opens_not(MEMBER, CLASS)
    s.step("its serials begin again")
    s.taken(made(loan(owner=SECOND.instance_id, member=token_digest(later)), SECOND, token), MEMBER, 2).opens(MEMBER)
    yield s

    s = GrantScript("the member's slot is used again").begin()
    early = token_of(OWNER, **OWNED, issued=START + 50)
    s.hold(OWNER, early).hold(MEMBER, MEMBER_TOKEN)
    s.taken(made(loan(), token=early), MEMBER, 2)
    s.order(create_order(BACKEND.seed, FLOOR, START + 10, DOOR.id))
    third = token_of(THIRD, **OWN, issued=START + 60)
    s.hold(THIRD, third).opens_not(THIRD, CLASS)
    s.refused(made(loan(), token=early), UNKNOWN, NO_MEMBER)
    s.taken(made(loan(member=token_digest(third)), token=early), THIRD, 2).opens(THIRD)
    yield s

    s = begun("a command that was made for another class is not lent")
    s.taken(made(loan()), MEMBER, 2)
    live = s.ask()
    occasion = Occasion(DOOR.id, live.bytes, live.counter, 1, 2, b"open")
    other = make_command(occasion, MEMBER.instance_id, MEMBER.at(DOOR)).encoded()
    s.command(MEMBER, live, DIFFERS, wire=other[:1] + b"\x00" + other[2:])
    yield s
