# SPDX-License-Identifier: Apache-2.0

"""Section 19, "Rules for the hardware": what the model does with grants and lent classes."""

from copy import deepcopy

from . import grant as formats
from .basics import FOREVER, Refused
from .grant import Grant
from .message import Answer, Verdict
from .stored import HELD, PREFIX_BYTES, Loan, Slot

CLASS, INTEGRITY_DEMANDED, SPENT, OWNER_CANNOT, NOT_DELEGABLE = 1, 2, 4, 5, 9  # details of not permitted
OTHER_GENERATION = 2  # of superseded
NO_MEMBER = 1  # of unknown instance
DAYS_MAX = 49_711

WORDS = {"malformed": Verdict.MALFORMED, "too-new": Verdict.TOO_NEW, "not-for-me": Verdict.NOT_FOR_ME}


class GrantRules:
    """The part of the model that takes grants."""

    grants = False  # Whether this hardware takes them

    def take_grants(self) -> None:
        self.grants = True

    # COMMAND

    def _own_loan(self, i: int) -> bool:
        return self.store.loans[i].member_id == self.store.slots[i].instance_id[:PREFIX_BYTES]

    def _lender(self, loan: Loan) -> Slot | None:
        if not loan.owner:
            return None
        slot = self.store.slots[loan.owner - 1]
        named = slot.instance_id[:PREFIX_BYTES] == loan.owner_id
        return slot if named and slot.state == HELD else None

    def _can_command(self, slot: Slot) -> bool:
        ended = slot.not_after and self._epoch() > slot.not_after
        return not ended and slot.attempts > 0 and slot.uses > 0

    def _is_over(self, loan: Loan) -> bool:
        return loan.uses == 0 or self._epoch() > loan.end

    def _lent(self, i: int) -> int:
        """The classes that are lent to the instance of slot i now."""
        loan = self.store.loans[i]
        if not self.grants or not self._own_loan(i) or self._is_over(loan):
            return 0
        owner = self._lender(loan)
        if owner is None or not self._can_command(owner):
            return 0
        return loan.classes & owner.delegable_classes & owner.integrity_classes

    def _class_detail(self, i: int, slot: Slot, cls: int) -> int:
        """The detail of step 14; `slot` is slot i or its candidate."""
        loan = self.store.loans[i]
        if slot.integrity_classes >> cls & 1 or self._lent(i) >> cls & 1:
            return INTEGRITY_DEMANDED
        if not self.grants or not self._own_loan(i) or not loan.classes >> cls & 1:
            return CLASS
        return SPENT if self._is_over(loan) else OWNER_CANNOT

    def _charge(self, i: int) -> None:
        loan = self.store.loans[i]
        owner = self.store.slots[loan.owner - 1]
        if owner.uses != FOREVER:
            owner.uses -= 1
            self._keep(loan.owner - 1)
        loan.uses -= 1
        self._keep_loan(i)

    # TOKEN

    def _forget(self, i: int) -> None:
        """Slot i, which is not held, comes to be held."""
        if not self.grants:
            return
        self.store.loans[i] = Loan.empty(len(self.store.slots))
        for k, loan in enumerate(self.store.loans):
            loan.serials[i] = 0
            if loan.owner == i + 1:
                kept = Loan.empty(len(self.store.slots))
                kept.member_id, kept.serials = loan.member_id, loan.serials
                self.store.loans[k] = kept
            self._keep_loan(k)

    # GRANT

    def _grant(self, message: bytes) -> Answer:
        if not self.grants:
            return Answer(Verdict.MALFORMED)
        try:
            grant = formats.read(message, self.settings.hardware_id)
        except Refused as refused:
            return Answer(WORDS[refused.word], refused.detail)
        if self._refuses_more():
            return self._busy()
        o = self._find(grant.owner)
        if o is None:
            return Answer(Verdict.UNKNOWN_INSTANCE)
        owner = self.store.slots[o]
        if owner.state != HELD:
            return Answer(Verdict.REVOKED)
        try:
            formats.check(message, owner.secrets, owner.token_digest)
        except Refused:
            self.link.refusals += 1
            return Answer(Verdict.DEVICE_DIFFERS)
        if grant.generation != owner.generation:
            return Answer(Verdict.SUPERSEDED, OTHER_GENERATION)
        m = self._member(grant, o)
        if m is None:
            return Answer(Verdict.UNKNOWN_INSTANCE, NO_MEMBER)
        refusal = self._judge_grant(grant, o, m, formats.digest(message))
        if refusal is not None:
            return refusal
        concerned = owner if grant.takes_back else self.store.slots[m]
        left = 0 if grant.takes_back else self.store.loans[m].uses
        return self._signed(concerned, formats.digest(message), Verdict.ORDER_DONE, left, 0)

    def _member(self, grant: Grant, o: int) -> int | None:
        for i, slot in enumerate(self.store.slots):
            loan = self.store.loans[i]
            if slot.state != HELD:
                continue
            known = loan.owner == o + 1 and self._own_loan(i) and loan.named == grant.member[:PREFIX_BYTES]
            if slot.token_digest == grant.member or (grant.takes_back and known):
                return i
        return None

    def _judge_grant(self, grant: Grant, o: int, m: int, digest: bytes) -> Answer | None:
        """None for *done*; whatever is to be stored is then stored."""
        owner, loan = self.store.slots[o], self.store.loans[m]
        if not self._own_loan(m):
            loan = Loan.empty(len(self.store.slots))
        stands = loan.owner == o + 1
        if grant.serial <= loan.serials[o]:
            if grant.takes_back:
                again = not stands or loan.uses == 0
            else:
                again = stands and grant.serial == loan.serials[o] and loan.digest == digest[:PREFIX_BYTES]
            return None if again else Answer(Verdict.NOT_PERMITTED, SPENT)
        if not grant.takes_back:
            if not self._can_command(owner):
                return Answer(Verdict.NOT_PERMITTED, OWNER_CANNOT)
            if grant.classes & ~(owner.delegable_classes & owner.integrity_classes):
                return Answer(Verdict.NOT_PERMITTED, NOT_DELEGABLE)
            past = self._epoch() - grant.end
            if past > 0:
                return Answer(Verdict.EXPIRED, min(past // 86_400 + 1, DAYS_MAX))
        loan = deepcopy(loan)
        loan.member_id = self.store.slots[m].instance_id[:PREFIX_BYTES]
        loan.serials[o] = grant.serial
        if not grant.takes_back:
            loan.owner, loan.classes, loan.uses, loan.end = o + 1, grant.classes, grant.uses, grant.end
            loan.digest, loan.owner_id = digest[:PREFIX_BYTES], grant.owner[:PREFIX_BYTES]
            loan.named = grant.member[:PREFIX_BYTES]
        elif stands:
            loan.uses = 0
        self.store.loans[m] = loan
        self._keep_loan(m)
        return None

    def _keep_loan(self, i: int) -> None:
        self.flash.loans[i] = deepcopy(self.store.loans[i])
