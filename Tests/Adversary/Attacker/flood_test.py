# SPDX-License-Identifier: Apache-2.0

"""Attackers who shout: strangers who burn attempts, garbage, fragments that lie, centrals that only hold links."""

import random

from case import ROUNDS, SEED, Attack
from central import CHALLENGE, COMMAND, ORDER, RECALL, SECONDS, TOKEN, AttError, LinkEnded, u16
from proofspec.message import Type, Verdict
from stage import App

REFUSALS = 16


class Flood(Attack):
    def test_a_stranger_cannot_burn_the_owners_attempts(self):
        """It knows the instance's id, from the air, and guesses, on link after link, while the owner waits."""
        stranger = App(90)
        stranger.instance = self.owner.instance
        for _ in range(4):
            link = self.connect(23)
            for _ in range(REFUSALS):
                self.assertEqual(stranger.do(link, self.hardware, secrets=stranger.shared(self.hardware)).verdict,
                                 Verdict.DEVICE_DIFFERS)
            answer = stranger.do(link, self.hardware, secrets=stranger.shared(self.hardware))
            self.assertEqual((answer.verdict, answer.detail), (Verdict.BUSY, 5))
            # Meanwhile, on the owner's link.
            self.assert_owner_gets_in(self.link)
            link.close()
        # All three attempts are the owner's still: a changed app of the owner's device is told so.
        changed = App(40)
        changed.secrets = type(changed.secrets)(changed.secrets.key, bytes(32), *list(
            (changed.secrets.device_key, changed.secrets.dm)))
        for left in (2, 1):
            answer = changed.do(self.link, self.hardware)
            self.assertEqual((answer.verdict, answer.detail), (Verdict.INTEGRITY_DIFFERS, left))
        self.assert_owner_gets_in(self.link)

    def test_a_proof_corrupted_on_the_way_costs_no_attempt(self):
        for _ in range(5):
            raw = bytearray(self.owner.make(self.hardware, self.owner.ask(self.link))[0].encoded())
            raw[30] ^= 0x10
            self.assertEqual(self.owner.send(self.link, bytes(raw)).verdict, Verdict.DEVICE_DIFFERS)
        self.assert_owner_gets_in()

    def test_strangers_tokens_cost_the_hardware_four_openings_a_link(self):
        stranger, link = App(90), self.connect()
        for attempt in range(6):
            forged = bytearray(stranger.token(self.backend, self.hardware))
            forged[100] ^= 1
            verdict = stranger.present(link, self.hardware, bytes(forged))
            self.assertEqual(verdict, Verdict.NOT_FOR_ME if attempt < 4 else Verdict.BUSY)
        # Not so the token that is held: it costs nothing.
        self.assertEqual(self.owner.present(link, self.hardware, self.token), Verdict.HELD)

    def garbage(self, dice, live):
        """One PDU that means nothing, or half of something."""
        kind = dice.randrange(6)
        if kind == 0:
            return bytes(dice.getrandbits(8) for _ in range(dice.randrange(1, 40)))
        handle = dice.choice((TOKEN, CHALLENGE, COMMAND, ORDER, RECALL))
        if kind == 1:
            value = bytes(dice.getrandbits(8) for _ in range(dice.randrange(0, 21)))
        elif kind == 2:
            value = bytes([dice.choice(live)[0], dice.getrandbits(8)]) + dice.randbytes(18)
        elif kind == 3:
            value = dice.choice(live)
        else:
            changed = bytearray(dice.choice(live))
            changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
            value = bytes(changed)
        # No requests here: an attacker in a hurry does not wait for responses.
        return bytes([0x52]) + u16(handle) + value

    def test_garbage_leaves_the_owner_in_and_memory_flat(self):
        dice = random.Random(SEED)
        stranger, link = App(90), self.connect(23)
        live = (link.packets(Type.TOKEN, self.token) + link.packets(Type.COMMAND, bytes(98))
                + link.packets(Type.ORDER, bytes(124)) + link.packets(Type.RECALL, bytes(72)))
        command, _ = stranger.make(self.hardware, (1, bytes(32)))
        live += link.packets(Type.COMMAND, command.encoded())
        self.assert_owner_gets_in(self.link)
        before = self.hardware.resident()
        sent = 0
        while sent < ROUNDS:
            try:
                link.send(self.garbage(dice, live))
                sent += 1
                if sent % 64 == 0:
                    self.drain(link)
                if sent % (ROUNDS // 10) == 0:
                    self.assert_owner_gets_in(self.link)
            except LinkEnded:
                link.close()
                link = self.connect(23)
        self.drain(link)
        after = self.hardware.resident()
        print(f"{sent} garbage packets, seed {SEED}: {before} KB before, {after} KB after ", end="")
        self.assertLessEqual(after, before + 64)
        self.assert_owner_gets_in()

    def drain(self, link):
        """Takes whatever was answered, up to the response to one request of our own."""
        link.send(bytes([0x0A]) + u16(6))
        while True:
            pdu = link.receive()
            if pdu[:1] == b"\x0b" and len(pdu) == 3:
                return

    def test_fragments_of_two_centrals_never_mix(self):
        other = App(90)
        links = [self.connect(23), self.connect(23)]
        messages = [self.token, other.token(self.backend, self.hardware)]
        streams = [link.packets(Type.TOKEN, message) for link, message in zip(links, messages)]
        for pair in zip(*streams):
            for link, packet in zip(links, pair):
                link.command(TOKEN, packet)
        for link in links:
            self.assertEqual(link.hear()[1][0], Verdict.HELD)
        # Half a message of one, the other half of the other: neither is one.
        for index, packet in enumerate(streams[0]):
            links[index % 2].command(TOKEN, packet)
        for link in links:
            link.settle()
        self.assert_owner_gets_in(links[0])

    def test_fragments_that_overlap_or_lie_about_length_make_no_message(self):
        link = self.connect(23)
        # 64 KiB, no bytes, one more than the type has, and one less: refused at the first fragment.
        for length in (0xFFFF, 0x8000, 0, 289, 287):
            with self.assertRaises(AttError) as refused:
                link.write(TOKEN, bytes([0x83, 0]) + u16(length) + bytes(16))
            self.assertEqual(refused.exception.code, 0x80)
        packets = link.packets(Type.TOKEN, self.token)
        # The same piece twice is a repetition, and harmless; an earlier one too.
        for packet in packets[:3] + [packets[1], packets[2], packets[0], packets[1], packets[2]] + packets[3:]:
            link.write(TOKEN, packet)
        self.assertEqual(link.hear()[1][0], Verdict.HELD)
        # A gap, an index from elsewhere, a last mark too early: the message in flight is dropped, and told so.
        for bad in (packets[3], bytes([packets[2][0], 200]) + packets[2][2:], bytes([0x43, 2]) + packets[2][2:]):
            link.write(TOKEN, packets[0])
            link.write(TOKEN, packets[1])
            with self.assertRaises(AttError) as refused:
                link.write(TOKEN, bad)
            self.assertEqual(refused.exception.code, 0x81)
            with self.assertRaises(AttError) as refused:
                link.write(TOKEN, packets[2])
            self.assertEqual(refused.exception.code, 0x80)
        self.assert_owner_gets_in(link)

    def test_fragments_that_never_end_block_nobody_but_their_sender(self):
        link = self.connect(23)
        packets = link.packets(Type.COMMAND, bytes([1, 1]) + bytes(300))
        for _ in range(100):
            for packet in packets[:-1]:
                link.command(COMMAND, packet)
        self.assert_owner_gets_in(self.link)
        self.assert_owner_gets_in(link)

    def test_fragments_of_another_type_are_refused_before_they_disturb(self):
        link = self.connect(23)
        packets = link.packets(Type.TOKEN, self.token)
        for index, packet in enumerate(packets):
            with self.assertRaises(AttError):
                link.write(COMMAND, packet)
            if index < len(packets) - 1:
                link.write(TOKEN, packet)
        link.write(TOKEN, packets[-1])
        self.assertEqual(link.hear()[1][0], Verdict.HELD)

    def test_centrals_that_only_hold_links_do_not_keep_an_owner_in_session_out(self):
        self.assert_owner_gets_in(self.link)
        for _ in range(7):
            self.connect(23)
        # The ninth waits until one of those that proved nothing has had its time.
        late = self.connect(23)
        self.assert_owner_gets_in(self.link)
        self.assert_owner_gets_in(late)

    def test_a_central_that_takes_nothing_waits_alone(self):
        deaf = self.connect(23)
        deaf.socket.setblocking(False)
        sent = 0
        try:
            # Until its own pipe is full: the hardware has stopped reading from it.
            for sent in range(1, 1_000_000):
                deaf.tell(Type.ASK, b"\1")
        except BlockingIOError:
            sent -= 1
        self.assertGreater(sent, 1)
        self.assert_owner_gets_in(self.link)
        # When it listens again, nothing was lost: three notifications for each challenge.
        deaf.socket.settimeout(SECONDS)
        for _ in range(sent):
            self.assertEqual(deaf.hear()[0], Type.CHALLENGE)
        self.assert_owner_gets_in(deaf)

    def test_a_datagram_that_no_radio_delivers_ends_its_link_alone(self):
        link = self.connect(23)
        link.send(bytes(518))
        with self.assertRaises(LinkEnded):
            link.receive()
        self.assert_owner_gets_in(self.link)
