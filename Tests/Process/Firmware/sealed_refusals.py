# SPDX-License-Identifier: Apache-2.0

"""Sealed commands and commands of channels that the profile `large` must refuse, as refusals.py has the others."""

import dataclasses

from proofspec import channel
from sealing import SealedApp
from stage import OPEN, App
from timer import HERTZ

CHANNEL, SEALED_ONLY = 1 << 2, 1 << 3
# As PFC_CHANNEL_SECONDS of wire.h.
CHANNEL_SECONDS = 30
FORBIDDEN = (9, b"open")


class Changed:
    """The owner's app, with another measurement."""

    def __init__(self, app):
        self.app, self.instance = app, app.instance

    def shared(self, hardware):
        right = self.app.shared(hardware)
        return dataclasses.replace(right, im=bytes([right.im[0] ^ 1]) + right.im[1:])


def owner(on, policy=0):
    """The owner with a token of version 2, held in its slot."""
    token = on.hold(on.owner, version=2, base=2, generation=2, policy=policy)
    return SealedApp(on.owner, on.hardware, token)


def believed(on, app, message):
    """The app believes an answer that opens under the key of its last message."""
    on.believes_sealed(app.key, app.counter)
    return message


def command_in_the_clear(on):
    """The owner's right command, where the token permits sealed commands alone."""
    owner(on, SEALED_ONLY)
    return on.command()


def sealed_changed_app(on):
    app = owner(on, CHANNEL)
    app.app = Changed(on.owner)
    return believed(on, app, app.seal(on.link))


def sealed_stranger(on):
    token = owner(on).token
    return SealedApp(App(90), on.hardware, token).seal(on.link)


def sealed_box(on):
    """The owner's device causes the work, and its box does not open."""
    app = owner(on)
    message = app.seal(on.link)
    return believed(on, app, message[:-1] + bytes([message[-1] ^ 1]))


def sealed_replay(on):
    app = owner(on)
    on.accepted(app.open(on.link))
    return believed(on, app, app.heard[0][1])


def sealed_not_permitted(on):
    app = owner(on)
    return believed(on, app, app.seal(on.link, FORBIDDEN))


def opened(on):
    app = owner(on, CHANNEL)
    on.accepted(app.open(on.link))
    return app


def channel_stranger(on):
    """The counter went over the link, where anyone can read it; the channel's key did not."""
    return channel.encode_up(bytes([9]) * 32, opened(on).next, *OPEN)


def channel_replay(on):
    app = opened(on)
    on.accepted(app.go_on(on.link))
    return believed(on, app, app.heard[-2][1])


def channel_not_permitted(on):
    app = opened(on)
    return believed(on, app, app.seal_next(FORBIDDEN))


def channel_ended(on):
    """The next command of a channel that another message has ended."""
    app = opened(on)
    message = app.seal_next()
    on.accepted(on.owner.do(on.link, on.hardware))
    return believed(on, app, message)


def channel_superseded(on):
    """The channel of a token that a later one has taken the place of."""
    app = opened(on)
    message = app.seal_next()
    on.hold(on.owner, version=2, base=3, generation=3, policy=CHANNEL)
    return believed(on, app, message)


def channel_old(on):
    """The next command of a channel that stands, one second after its end."""
    app = opened(on)
    message = app.seal_next()
    on.board.ticks += (CHANNEL_SECONDS + 1) * HERTZ
    return believed(on, app, message)

