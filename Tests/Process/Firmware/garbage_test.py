# SPDX-License-Identifier: Apache-2.0

"""The walk of skipped instructions tells a slot of garbage from a slot that opens."""

import types
import unittest

from verifier_state import FREE, HELD, LOST, REVOKED, State

RIGHTS, SECRETS = bytes([HELD]) + bytes(range(1, 84)), bytes(range(96))
KNOWN = {SECRETS, bytes(96)}


def state(rights, secrets):
    made = State.__new__(State)
    vars(made).update(vars(types.SimpleNamespace(
        slots=[rights], secrets=[secrets], lasts=[b""], counter=7,
        durable={"verifier.ledger.epoch": 1, "verifier.ledger.floor": 1},
        passing=dict.fromkeys(("verifier.epoch", "verifier.alive_from", "verifier.swept_from"), 0))))
    return made


class GarbageTest(unittest.TestCase):
    def differences(self, was, rights, secrets):
        return state(rights, secrets).differences(state(was, SECRETS), KNOWN.__contains__)

    def test_other_rights_with_secrets_that_were_written_open(self):
        for number in (HELD, FREE, REVOKED):
            self.assertEqual(self.differences(RIGHTS, bytes([number]) + RIGHTS[:0:-1], SECRETS), ["slots"])
        self.assertEqual(self.differences(bytes(84), RIGHTS, SECRETS), ["slots"])

    def test_garbage_opens_nothing_whatever_number_it_begins_with(self):
        garbage = bytes(range(100, 196))
        for number in range(256):
            expected = [LOST] if number == FREE else []
            self.assertEqual(self.differences(RIGHTS, bytes([number]) + RIGHTS[:0:-1], garbage), expected, number)

    def test_a_revoked_slot_stays_revoked(self):
        revoked = bytes([REVOKED]) + RIGHTS[1:]
        for number in range(256):
            self.assertEqual(self.differences(revoked, bytes([number]) + RIGHTS[:0:-1], bytes(range(1, 97))), ["slots"])

    def test_a_slot_that_was_wiped_is_lost(self):
        self.assertEqual(self.differences(RIGHTS, bytes(84), bytes(96)), [LOST])

    def test_flash_forgives_nothing(self):
        after = state(bytes([HELD]) + RIGHTS[:0:-1], bytes(range(1, 97)))
        self.assertEqual(after.differences_at_start(state(RIGHTS, SECRETS)), ["slots", "secrets"])
        self.assertEqual(state(RIGHTS, SECRETS).differences_at_start(state(RIGHTS, SECRETS)), [])


if __name__ == "__main__":
    unittest.main()
