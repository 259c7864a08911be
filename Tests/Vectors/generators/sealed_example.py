# SPDX-License-Identifier: Apache-2.0

"""The worked example of docs/SPEC.md, section 18: one sealed command and its answer."""

from proofspec import curves, sealed
from proofspec.basics import kdf, u64

from .example import Page
from .sealed import EPHEMERAL, LOCK_SECRET, ONE, facts, head
from .world import DOOR


def example() -> str:
    page = Page()
    of, own = facts(), ONE.at(DOOR)
    page.say("**Challenge** with a key, under counter 7.")
    page.show("hardware id", of.hardware_id)
    page.show("e_lock", LOCK_SECRET)
    page.show("CHALLENGE", sealed.encode_challenge(of.counter, of.challenge, of.lock_key))
    page.say("**App**: the command *open* of class 1, kind 5, without a ratchet.")
    page.show("instance id", of.instance_id)
    page.show("token digest", of.token_digest)
    page.show("K_hw", own.key)
    page.show("IM_hw", own.im)
    page.show("DPK_hw", own.device_key)
    page.show("DM_hw", own.dm)
    page.show("e_app", EPHEMERAL)
    begun = head(of, sealed.INTEGRITY)
    shared = curves.shared_secret(EPHEMERAL, of.lock_key)
    page.show("hint key", kdf("pfc2.hint-key...", of.device_key))
    page.show("head", begun)
    page.show("shared", shared)
    page.show("H", sealed.identity(of, begun))
    page.show("first", sealed.first_key(of, shared, begun))
    page.show("nonce", sealed.nonce(of, begun, 1, b"open"))
    plain = sealed.inside(of, begun, 1, b"open", own).encoded()
    page.show("content", plain)
    message = sealed.seal(of, begun, EPHEMERAL, plain)
    page.show("COMMAND", message)
    page.say("**Hardware**: *accepted*, uses without limit.")
    down = sealed.down_key(of, shared, message)
    page.show("T", sealed.transcript(of, message))
    page.show("step", sealed.step(of, shared, message))
    page.show("down", down)
    answer = sealed.encode_down(down, of.counter, 1, 65535)
    page.show("SEALED-DOWN", answer)
    if sealed.open_command(of, LOCK_SECRET, message).command != b"open" or answer[:8] != u64(7):
        raise AssertionError("the example does not open")
    if sealed.open_down(down, of.counter, answer)[0].verdict != 1:
        raise AssertionError("the example's answer does not open")
    return page.text()
