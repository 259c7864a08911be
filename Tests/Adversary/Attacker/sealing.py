# SPDX-License-Identifier: Apache-2.0

"""An app that seals its commands and goes on in a channel: sections 18 and 20 of the second implementation."""

import os

from central import SEALED_CHALLENGE
from proofspec import channel, curves, sealed
from proofspec.message import Type, parse_answer
from proofspec.token import token_digest
from stage import OPEN


class SealedApp:
    """`app` with the token that the hardware holds. `chain` and `next` are those of the channel; `next` 0 is none."""

    def __init__(self, app, hardware, token):
        self.app, self.hardware, self.token = app, hardware, token
        self.chain, self.next = b"", 0
        self.heard = []  # (type, message) in both directions

    def seal(self, link, what=OPEN, kind=sealed.INTEGRITY):
        """Asks, proves and seals. The message; the answer's key and the nonce for a recall are kept."""
        value = link.read(SEALED_CHALLENGE)
        secrets = self.app.shared(self.hardware)
        facts = sealed.Facts(self.hardware.id, self.app.instance, token_digest(self.token), secrets.device_key,
                             value[40:], value[8:40], int.from_bytes(value[:8], "little"))
        ephemeral = os.urandom(32)
        head = sealed.make_head(facts, kind, curves.hardware_public(ephemeral))
        message = sealed.seal(facts, head, ephemeral, sealed.inside(facts, head, *what, secrets).encoded())
        shared = curves.shared_secret(ephemeral, facts.lock_key)
        self.key, self.counter = sealed.down_key(facts, shared, message), facts.counter
        self.nonce = sealed.nonce(facts, head, *what)
        self.chain = sealed.chain(facts, shared, message)
        return message

    def seal_next(self, what=OPEN):
        """Seals the channel's next command. The message; the keys move on."""
        message = channel.encode_up(self.chain, self.next, *what)
        self.key, self.counter = channel.back_key(self.chain, self.next), self.next
        self.chain = channel.following(self.chain, self.next)
        return message

    def send(self, link, type, message):
        """The answer. One that comes in the clear ends the channel."""
        kind, told = link.say(type, message)
        self.heard += [(type, message), (kind, told)]
        self.next = 0
        if kind != Type.SEALED_DOWN:
            return parse_answer(told)
        answer, self.next = sealed.open_down(self.key, self.counter, told)
        return answer

    def open(self, link, what=OPEN, kind=sealed.INTEGRITY):
        """A command with a proof, which may open a channel."""
        return self.send(link, Type.COMMAND, self.seal(link, what, kind))

    def go_on(self, link, what=OPEN):
        """A further command in the channel: one message each way."""
        return self.send(link, Type.SEALED_UP, self.seal_next(what))
