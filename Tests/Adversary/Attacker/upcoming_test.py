# SPDX-License-Identifier: Apache-2.0

"""Attackers who hold both tokens of an update, or the app before it, and a lock as a process."""

from case import SEED, Attack
from central import LinkEnded
from proofspec.message import NO_RECEIPT, Verdict, parse_answer
from proofspec.order import FLOOR, REVOKE
from proofspec.proof import DEVICE, INTEGRITY, receipt
from proofspec.token import UPCOMING, VERSION_2, token_digest
from stage import BEGIN, POWER_FAILED, App

READY, HELD, ACCEPTED = Verdict.READY, Verdict.HELD, Verdict.ACCEPTED
DIFFERS, SUPERSEDED = Verdict.DEVICE_DIFFERS, Verdict.SUPERSEDED


class Upcoming(Attack):
    def setUp(self):
        super().setUp()
        # The same installation, after its app was updated.
        self.updated = App(90)
        self.updated.instance = self.owner.instance
        self.coming = self.made(self.updated, 2)

    def made(self, who, generation, **changes):
        fields = {"version": VERSION_2, "policy": UPCOMING, "generation": generation, "base": 1, "uses": 1000}
        return who.token(self.backend, self.hardware, **(fields | changes))

    def stand(self, link, token=None):
        """Presents the upcoming token and checks the receipt."""
        token = token or self.coming
        answer = parse_answer(link.say(3, token)[1])
        self.assertEqual(answer.verdict, READY)
        key = self.updated.shared(self.hardware).device_key
        self.assertEqual(answer.receipt, receipt(key, token_digest(token), READY, answer.detail, 0))
        return answer

    def do(self, who, link, **how):
        """A command; the verdict, and the receipt is checked where the pair is the one that was judged."""
        command, occasion = who.make(self.hardware, who.ask(link), **how)
        answer = who.send(link, command.encoded())
        if answer.receipt != NO_RECEIPT and answer.verdict != DIFFERS:
            key = who.shared(self.hardware).device_key
            expected = receipt(key, occasion.nonce(), answer.verdict, answer.detail, answer.counter)
            self.assertEqual(answer.receipt, expected)
        return answer

    def test_a_thief_of_both_tokens_does_not_lock_the_owner_out(self):
        for _ in range(3):
            thief = self.connect()
            self.stand(thief)
            self.assertEqual(self.do(self.owner, thief).verdict, ACCEPTED)
            thief.close()
        self.power_cycle()
        self.assert_owner_gets_in()

    def test_the_older_generation_never_returns(self):
        link = self.connect()
        self.stand(link)
        recorded, _ = self.owner.make(self.hardware, self.owner.ask(self.link))
        self.assertEqual(self.do(self.updated, link).verdict, ACCEPTED)
        # A command of the older generation, made before and delivered after.
        self.assertEqual(self.owner.send(self.link, recorded.encoded()).verdict, Verdict.STALE)
        for _ in range(2):
            for other in (link, self.connect()):
                self.assertEqual(self.owner.present(other, self.hardware, self.token), SUPERSEDED)
                self.assertEqual(self.do(self.owner, other).verdict, DIFFERS)
            self.assertEqual(self.do(self.updated, link).verdict, ACCEPTED)
            self.power_cycle()
            link = self.connect()
        self.assertEqual(self.hardware.done(link)[2], 0)
        self.assertEqual(self.do(self.updated, link).verdict, ACCEPTED)

    def test_a_withdrawn_build_does_not_commit(self):
        link = self.connect()
        self.stand(link)
        order = self.backend.order(REVOKE, BEGIN + 1, self.hardware.id, self.owner.instance, 4)
        self.assertEqual(parse_answer(self.connect().say(6, order)[1]).verdict, Verdict.ORDER_DONE)
        self.assertEqual(self.do(self.updated, link).verdict, Verdict.REVOKED)
        self.assertEqual(parse_answer(link.say(3, self.coming)[1]).verdict, Verdict.REVOKED)
        self.power_cycle()
        link = self.connect()
        self.assertEqual(parse_answer(link.say(3, self.coming)[1]).verdict, Verdict.REVOKED)
        self.assert_nothing_done(link)

    def test_a_floor_ends_a_candidate(self):
        link = self.connect()
        self.stand(link)
        order = self.backend.order(FLOOR, BEGIN + 1, self.hardware.id, bytes(16), 0)
        self.assertEqual(parse_answer(self.connect().say(6, order)[1]).verdict, Verdict.ORDER_DONE)
        self.assertEqual(self.do(self.updated, link).verdict, Verdict.UNKNOWN_INSTANCE)
        self.assertEqual(parse_answer(link.say(3, self.coming)[1]).verdict, SUPERSEDED)

    def test_two_generations_have_one_budget_of_uses(self):
        guest = App(50)
        held = guest.token(self.backend, self.hardware, uses=3)
        link = self.connect()
        self.assertEqual(guest.present(link, self.hardware, held), HELD)
        later = App(95)
        later.instance = guest.instance
        token = self.made(later, 2, uses=3)
        done = 0
        for who in (guest, later, guest, later, later, later):
            if who is later:
                parse_answer(link.say(3, token)[1])
            done += self.do(who, link).verdict == ACCEPTED
            link.close()
            link = self.connect()
        self.assertEqual(done, 3)

    def test_two_generations_have_one_budget_of_attempts(self):
        differs = []
        for who in (self.owner, self.updated, self.updated):
            link = self.connect()
            if who is self.updated:
                self.stand(link)
            secrets = who.shared(self.hardware)
            wrong = type(secrets)(secrets.key, bytes(32 * [9]), secrets.device_key, secrets.dm)
            differs.append(self.do(who, link, secrets=wrong).detail)
            link.close()
        self.assertEqual(differs, [2, 1, 0])
        link = self.connect()
        self.stand(link)
        self.assertEqual(self.do(self.updated, link).verdict, Verdict.ATTEMPTS_EXHAUSTED)
        self.assertEqual(self.do(self.owner, link).verdict, Verdict.ATTEMPTS_EXHAUSTED)

    def test_a_device_proof_commits_nothing(self):
        link = self.connect()
        self.stand(link)
        self.assertEqual(self.do(self.updated, link, kind=DEVICE, what=(0, b"open")).verdict, DIFFERS)
        self.assert_owner_gets_in()

    def test_proofs_of_one_pair_do_not_mix_with_those_of_the_other(self):
        old, new = self.owner.shared(self.hardware), self.updated.shared(self.hardware)
        make = type(old)
        for secrets in (
            make(new.key, new.im, old.device_key, old.dm),
            make(old.key, old.im, new.device_key, new.dm),
            make(new.key, old.im, new.device_key, new.dm),
        ):
            link = self.connect()
            self.stand(link)
            command, _ = self.owner.make(self.hardware, self.owner.ask(link), kind=INTEGRITY, secrets=secrets)
            verdict = self.owner.send(link, command.encoded()).verdict
            self.assertIn(verdict, (Verdict.INTEGRITY_DIFFERS, Verdict.ATTEMPTS_EXHAUSTED))
            link.close()
        self.assert_nothing_done(self.connect())

    def test_power_cuts_around_the_commit_leave_one_generation(self):
        hardware = self.hardware = self.make("cut", start=False)
        fresh = hardware.flash.read_bytes()
        held = self.owner.token(self.backend, hardware, uses=1000)
        token = self.made(self.updated, 2)
        cuts = {1: 0, 2: 0}
        operation = 0
        while True:
            operation += 1
            hardware.flash.write_bytes(fresh)
            if hardware.start("--cut", f"{operation}:{SEED + operation}"):
                try:
                    with hardware.connect() as link:
                        self.owner.present(link, hardware, held)
                        link.say(3, token)
                        self.do(self.updated, link)
                    hardware.stop()
                    break
                except (LinkEnded, ConnectionRefusedError):
                    pass
            self.assertEqual(hardware.process.wait(timeout=60), POWER_FAILED)
            self.assertTrue(hardware.start())
            with hardware.connect() as link:
                # The verdict may be either: one generation proves, and the other does not.
                verdict = self.owner.present(link, hardware, held)
                self.assertIn(verdict, (HELD, SUPERSEDED))
                newer = verdict == SUPERSEDED
                self.assertEqual(self.do(self.owner, link).verdict, DIFFERS if newer else ACCEPTED)
                self.assertEqual(parse_answer(link.say(3, token)[1]).verdict, HELD if newer else READY)
                self.assertEqual(self.do(self.updated, link).verdict, ACCEPTED)
                self.assertEqual(self.do(self.owner, link).verdict, DIFFERS)
            hardware.stop()
            cuts[2 if newer else 1] += 1
        self.assertGreater(cuts[1], 0)
        print(f"{cuts[1]} cuts left the older generation, {cuts[2]} the newer ", end="")
