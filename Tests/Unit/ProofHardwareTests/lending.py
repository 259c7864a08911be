# SPDX-License-Identifier: Apache-2.0

"""An owner who lends, a member who opens: grants of the second implementation, for hardware of any kind.

A test that inherits this has `backend`, `owner`, `member` and `hardware`.
"""

from proofspec import grant
from proofspec.message import Type, Verdict, parse_answer
from proofspec.proof import receipt
from proofspec.token import token_digest
from stage import BEGIN

OPEN, RING, USES = 0x2, 0x8, 3


class Lending:
    generation = 1  # of the owner's token

    def hold(self, link):
        def token(app, **fields):
            return app.token(self.backend, self.hardware, version=2, base=1, device_classes=0, **fields)

        self.owners = token(self.owner, integrity_classes=OPEN | RING, delegable_classes=OPEN)
        self.members = token(self.member, integrity_classes=RING)
        self.assertEqual(self.owner.present(link, self.hardware, self.owners), Verdict.HELD)
        self.assertEqual(self.member.present(link, self.hardware, self.members), Verdict.HELD)

    def grant(self, serial=1, classes=OPEN, secrets=None, hint=None):
        fields = grant.Grant(hint or self.hardware.id[:4], self.owner.instance, token_digest(self.members),
                             self.generation, serial, classes, USES if classes else 0, BEGIN + 1000 if classes else 0)
        return grant.create(fields, secrets or self.owner.shared(self.hardware), token_digest(self.owners))

    def present(self, link, made, reader):
        answer = parse_answer(link.say(Type.GRANT, made)[1])
        if answer.verdict == Verdict.ORDER_DONE:
            key = reader.shared(self.hardware).device_key
            self.assertEqual(answer.receipt, receipt(key, grant.digest(made), answer.verdict, answer.detail, 0))
        return Verdict(answer.verdict), answer.detail

    def open(self, link):
        return Verdict(self.member.do(link, self.hardware).verdict)

    def live_through_a_loan(self):
        """A loan, its use, power that goes, what is left, taking back, and grants that others made."""
        with self.hardware.connect() as link:
            self.hold(link)
            self.assertEqual(self.open(link), Verdict.NOT_PERMITTED)
            made = self.grant()
            self.assertEqual(self.present(link, made, self.member), (Verdict.ORDER_DONE, USES))
            self.assertEqual(self.open(link), Verdict.ACCEPTED)
        self.hardware.cut()
        self.assertTrue(self.hardware.start())
        with self.hardware.connect() as link:
            self.assertEqual(self.present(link, made, self.member), (Verdict.ORDER_DONE, USES - 1))
            self.assertEqual(self.open(link), Verdict.ACCEPTED)
            self.assertEqual(self.present(link, self.grant(2, 0), self.owner), (Verdict.ORDER_DONE, 0))
            self.assertEqual(self.open(link), Verdict.NOT_PERMITTED)
            self.assertEqual(self.present(link, made, self.member), (Verdict.NOT_PERMITTED, 4))
            changed = self.owner.secrets.diversified(bytes(16))
            self.assertEqual(self.present(link, self.grant(3, OPEN, changed), self.member)[0], Verdict.DEVICE_DIFFERS)
            self.assertEqual(self.present(link, self.grant(3, hint=b"else"), self.member)[0], Verdict.NOT_FOR_ME)
        return made
