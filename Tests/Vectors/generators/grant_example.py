# SPDX-License-Identifier: Apache-2.0

"""The worked example of docs/SPEC.md, section 19: a loan, its answer, and what takes it back."""

from proofspec import grant
from proofspec.message import Answer, Verdict
from proofspec.proof import receipt
from proofspec.token import token_digest

from .example import Page
from .grants import MEMBER, OWNER, OWNER_TOKEN, back, loan
from .world import DOOR


def example() -> str:
    page, own, of = Page(), OWNER.at(DOOR), token_digest(OWNER_TOKEN)
    lent, taken = loan(), back(serial=2)
    page.say("**Owner**: lends class 0 to the member, two uses.")
    page.show("hardware id", DOOR.id)
    page.show("instance id", lent.owner)
    page.show("token digest", of)
    page.show("K_hw", own.key)
    page.show("IM_hw", own.im)
    page.show("DPK_hw", own.device_key)
    page.show("DM_hw", own.dm)
    page.show("member's token", lent.member)
    page.show("key", grant.grant_key(own, of))
    raw = grant.create(lent, own, of)
    page.show("GRANT", raw)
    page.show("digest", grant.digest(raw))
    page.say("**Hardware**: *done*, two uses left, with the member's receipt.")
    member = MEMBER.at(DOOR).device_key
    page.show("member's DPK_hw", member)
    proved = receipt(member, grant.digest(raw), Verdict.ORDER_DONE, 2, 0)
    page.show("VERDICT", Answer(Verdict.ORDER_DONE, 2, 0, proved).encoded())
    page.say("**Owner**: takes it back. The receipt is the owner's.")
    raw = grant.create(taken, own, of)
    page.show("GRANT", raw)
    proved = receipt(own.device_key, grant.digest(raw), Verdict.ORDER_DONE, 0, 0)
    page.show("VERDICT", Answer(Verdict.ORDER_DONE, 0, 0, proved).encoded())
    if grant.read(raw, DOOR.id) != taken:
        raise AssertionError("the example does not read")
    return page.text()
