# SPDX-License-Identifier: Apache-2.0

"""The worked example of docs/SPEC.md, section 20: a channel behind the command of section 18."""

from proofspec import channel, curves, sealed

from .example import Page
from .sealed import EPHEMERAL, command, facts


def example() -> str:
    page = Page()
    of = facts()
    opening = command(of, sealed.INTEGRITY)
    shared = curves.shared_secret(EPHEMERAL, of.lock_key)
    chain = sealed.chain(of, shared, opening)
    page.say("**Opening**: the sealed COMMAND of section 18, whose token permits a channel. Its answer tells `next` 8.")
    page.show("C", chain)
    down = sealed.down_key(of, shared, opening)
    page.show("SEALED-DOWN", sealed.encode_down(down, of.counter, 1, 65535, 8))
    page.say("**App**: the command *open* of class 1 again.")
    message = channel.encode_up(chain, 8, 1, b"open")
    page.show("up", channel.up_key(chain, 8))
    page.show("nonce", channel.nonce(chain, message))
    page.show("SEALED-UP", message)
    page.say("**Hardware**: *accepted*, uses without limit, `next` 9.")
    back = channel.back_key(chain, 8)
    page.show("back", back)
    answer = sealed.encode_down(back, 8, 1, 65535, 9)
    page.show("SEALED-DOWN", answer)
    page.show("C_next", channel.following(chain, 8))
    if channel.open_up(chain, message) != (1, b"open") or sealed.open_down(back, 8, answer)[1] != 9:
        raise AssertionError("the example does not open")
    return page.text()
