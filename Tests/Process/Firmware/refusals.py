# SPDX-License-Identifier: Apache-2.0

"""Messages that the firmware must refuse: a board before the last packet of each, and the state that must not change.

Commands may be refused at the cost of an attempt; tokens, orders and recalls that are refused leave no trace.
"""

import dataclasses
import os
import shutil

import sealed_refusals
import stage
from board import PAGE, nor_pages
from central import WRITE_COMMAND, WRITTEN_AT
from elsewhere import hardware_with
from emulated import Emulated, Image
from line import Line
from proofspec import sealed
from proofspec.basics import DEVELOPMENT
from proofspec.curves import sign
from proofspec.frame import COMPLETE, Receiver
from proofspec.keys import LITERAL, Secrets
from proofspec.message import NO_RECEIPT, Type, Verdict, make_recall, parse_answer
from proofspec.order import EPOCH, FLOOR, REVOKE, create_order, sign_order
from proofspec.proof import DEVICE, receipt
from proofspec.token import seal_token, signed_bytes, token_digest, token_header
from stage import BEGIN, App, Backend
from timer import HERTZ
from verifier_state import BUILD, DEVICE_KEY, DEVICE_SECRETS, DONE, HELD, State, layout

stage.BUILD = BUILD / "tests"
COMMANDS = (Type.COMMAND, Type.SEALED_UP)
ACCEPTED = (Verdict.ACCEPTED, Verdict.ACCEPTED_DEVICE_ONLY)
CHALLENGE_SECONDS = 2
# More than a few is a counter that was overwritten, and no command.
DONE_MAX = 8
# Counted uses are stored: a restart finds the slot as it was.
COUNTED = {"uses": 1000, "attempts": 5}


@dataclasses.dataclass(frozen=True)
class InBox:
    """A sealed answer that opened: only the hardware can have made it."""

    verdict: Verdict


class Stage:
    """The firmware with an owner's token held, before the last packet of a message that it must refuse."""

    lie = None  # a receipt's key, its nonce, and the verdicts that it must not tell
    box = None  # the key of a sealed answer, and its counter

    def __init__(self, image, sources, refusal, profile="full", seed=40):
        self.image, self.refusal = Image(image), refusal
        self.fields, self.nor_used = layout(sources, profile), PAGE * nor_pages(profile)
        self.backend, self.stranger, self.owner, self.guest = Backend(7), Backend(8), App(seed), App(seed + 20)
        name = f"skip-{os.getpid()}"
        if profile == "symmetric":
            self.hardware, _ = hardware_with(profile, name, self.backend, self.owner, **COUNTED)
        else:
            self.hardware = stage.Hardware(name, [self.backend.public], stage.PRODUCTION, *refusal.provision)
        self.board = Emulated(self.image, self.hardware.flash.read_bytes())
        self.hardware.scrap()
        shutil.rmtree(self.hardware.folder)
        self.link = Line(self.board)
        if profile != "symmetric":
            self.hold(self.owner)
        self.message = message = refusal.make(self)
        packets = self.link.packets(refusal.type, message)
        for packet in packets[:-1]:
            self.link.command(WRITTEN_AT[refusal.type], packet)
            self.board.wake()
        self.board.send(bytes([WRITE_COMMAND, WRITTEN_AT[refusal.type], 0]) + packets[-1])
        self.board.sent.clear()
        self.board.pc += 2  # behind the wait
        self.before, self.flash = self.state(), self.board.flash(self.nor_used)

    # Parts of the scenarios.

    def hold(self, app, **changes):
        token = app.token(self.backend, self.hardware, **COUNTED | changes)
        self.expect(app.present(self.link, self.hardware, token), Verdict.HELD)
        return token

    def obey(self, *about):
        order = self.backend.order(about[0], about[1], self.hardware.id, *about[2:])
        self.expect(parse_answer(self.link.say(Type.ORDER, order)[1]).verdict, Verdict.ORDER_DONE)

    @staticmethod
    def expect(verdict, expected):
        if verdict != expected:
            raise RuntimeError(f"the stage cannot be set: verdict {verdict!r} where {expected!r} was expected")

    def accepted(self, answer):
        self.expect(answer.verdict, Verdict.ACCEPTED)

    def command(self, **options):
        command, occasion = self.owner.make(self.hardware, self.owner.ask(self.link), **options)
        self.believes(occasion.nonce(), ACCEPTED)
        return command.encoded()

    def believes(self, nonce, verdicts, app=None):
        """Sets the receipt that would be false: the key, the nonce, and the verdicts."""
        self.lie = ((app or self.owner).shared(self.hardware).device_key, nonce, verdicts)

    def believes_sealed(self, key, counter):
        """Sets the box that the app opens, as it knows its key: an acceptance in it would be false."""
        self.box = key, counter

    def seal(self, app, signer, **changes):
        """A token with public values, signed by `signer`, which may be a stranger: `None` leaves the signature out."""
        body = app.body(self.backend, self.hardware, **changes)
        header, raw = token_header(body.hardware_id), body.encoded()
        signature = bytes(64)
        if signer:
            signature = sign(signer.seed, signed_bytes(self.hardware.public, header, raw))
        token = seal_token(self.hardware.public, os.urandom(32), header, raw + signature)
        self.believes(token_digest(token), (Verdict.HELD,), app)
        return token

    def forge_order(self, type, issued, *about):
        """In the backend's name, signed by another."""
        order = self.backend.order(type, issued, self.hardware.id, *about)
        return sign_order(self.stranger.seed, order[:-64])

    # Results.

    def state(self):
        return State(self.image, self.fields, self.board)

    def opened(self):
        """Names of forbidden actions and changes. Secrets apart: see `spoilt`."""
        after = self.state()
        names = [DONE] if 0 < (after.done - self.before.done) & 0xFFFFFFFF < DONE_MAX else []
        if self.refusal.type in COMMANDS:
            return names
        if after.serves and after.base == self.before.base:
            names += after.differences(self.before, self.is_known)
        flash = self.board.flash(self.nor_used)
        if flash != self.flash:
            # Restarted or torn: what counts is what the next start finds.
            names += [f"{name} at the next start" for name in self.started(flash).differences_at_start(self.before)]
        return names

    def is_known(self, secrets):
        """Whether anyone can have these secrets of a slot: they were written before, belong to one of the parties, are
        blank, or were in the message. Each kind of proof needs the device's. `foretold` finds those that a fault makes
        alike on all hardware.
        """
        apps = (self.owner, self.guest, App(90))
        known = [*self.before.secrets, *(app.shared(self.hardware).encoded() for app in apps), bytes(96), b"\xff" * 96]
        return (secrets[DEVICE_SECRETS] in [one[DEVICE_SECRETS] for one in known]
                or secrets[DEVICE_KEY] in self.message)

    def started(self, flash):
        return State(self.image, self.fields, Emulated(self.image, flash))

    def spoilt(self):
        """The state, if it is served and is damaged: other secrets, another base, a slot of no meaning."""
        names = ["secrets", "base"] + ["slots", "lasts"] * (self.refusal.type not in COMMANDS)
        after = self.state()
        differs = any(getattr(after, name) != getattr(self.before, name) for name in names)
        return after if after.serves and differs else None

    def foretold(self, ours, theirs):
        """Secrets of a device that the owner's slot has got, and that another piece of hardware, spoilt in the same
        way, has got as well: an attacker who knows the firmware knows them.
        """
        if theirs is None or ours.base != self.before.base:
            return None
        for was, one, other, slot in zip(self.before.secrets, ours.secrets, theirs.secrets, ours.slots):
            if one[DEVICE_SECRETS] == other[DEVICE_SECRETS] != was[DEVICE_SECRETS] and slot[0] == HELD:
                return Secrets(one[:16], one[16:48], one[48:64], one[64:])
        return None

    def opens_with(self, secrets):
        """Whether a command by a holder of these secrets is executed now."""
        self.link.waiting, self.link.notified = [], []
        try:
            challenge = self.owner.ask(self.link)
            command, _ = self.owner.make(self.hardware, challenge, (0, b"status"), DEVICE, secrets)
            self.owner.send(self.link, command.encoded())
        except Exception:  # a glitched board need not speak
            return False
        finally:
            self.link.waiting, self.link.notified = [], []
        return 0 < (self.state().done - self.before.done) & 0xFFFFFFFF < DONE_MAX

    def answer(self):
        """The verdict that came, and None where none did: what a glitched board says need not be a message at all."""
        receiver = Receiver()
        try:
            for pdu in self.board.receive() or []:
                if pdu[:1] == b"\x1b" and receiver.receive(pdu[3:]) == COMPLETE:
                    if receiver.type == Type.SEALED_DOWN:
                        return InBox(sealed.open_down(*self.box, receiver.message)[0].verdict)
                    return parse_answer(receiver.message)
        except Exception:
            return None
        return None

    def told(self):
        """Whether an answer has come that an app believes, and that is not true."""
        answer = self.answer()
        if answer is None:
            return False
        if isinstance(answer, InBox):
            return answer.verdict in ACCEPTED
        if self.lie is None or answer.receipt == NO_RECEIPT:
            return False
        key, nonce, verdicts = self.lie
        expected = receipt(key, nonce, answer.verdict, answer.detail, answer.counter)
        return answer.verdict in verdicts and answer.receipt == expected


@dataclasses.dataclass(frozen=True)
class Refusal:
    """One message: how it is made on a stage, and what an untouched board says to it."""

    type: Type
    verdict: Verdict
    make: object
    provision: tuple = ()  # Further words for the factory


# Commands -----------------------------------------------------------------------------------------------------------


def changed_app(on):
    right = on.owner.shared(on.hardware)
    return on.command(secrets=dataclasses.replace(right, im=bytes([right.im[0] ^ 1]) + right.im[1:]))


def stranger(on):
    return on.command(secrets=App(90).shared(on.hardware))


def replay(on):
    message = on.command()
    on.owner.send(on.link, message)
    return message


def not_permitted(on):
    return on.command(what=(9, b"open"))


def old_challenge(on):
    """The owner's right command, one second after the hardware's limit for challenges."""
    message = on.command()
    on.board.ticks += (CHALLENGE_SECONDS + 1) * HERTZ
    return message


# Tokens -------------------------------------------------------------------------------------------------------------


def token_stranger(on):
    return on.seal(on.guest, on.stranger)


def token_unsigned(on):
    return on.seal(on.guest, None)


def token_development(on):
    return on.seal(on.guest, on.backend, mode=DEVELOPMENT)


def token_literal(on):
    return on.seal(on.guest, on.backend, form=LITERAL)


def token_elsewhere(on):
    """Its first four bytes are this hardware's, as an attacker would choose them."""
    other = on.hardware.id[:-1] + bytes([on.hardware.id[-1] ^ 1])
    return on.seal(on.guest, on.backend, hardware_id=other)


def token_expired(on):
    on.obey(EPOCH, BEGIN + 100)
    return on.seal(on.guest, on.backend, not_after=BEGIN + 10)


def token_floor(on):
    on.obey(FLOOR, BEGIN + 100)
    return on.seal(on.guest, on.backend)


def token_revoked(on):
    on.obey(REVOKE, BEGIN + 1, on.guest.instance, 1)
    return on.seal(on.guest, on.backend)


def token_superseded(on):
    """The owner's first token, after a second."""
    first = on.seal(on.owner, on.backend)
    on.hold(on.owner, generation=2)
    return first


# Orders -------------------------------------------------------------------------------------------------------------


def order_forged_floor(on):
    return on.forge_order(FLOOR, BEGIN + 100)


def order_forged_epoch(on):
    return on.forge_order(EPOCH, BEGIN + 100)


def order_forged_revoke(on):
    return on.forge_order(REVOKE, BEGIN + 100, on.owner.instance, 1)


def order_elsewhere(on):
    other = on.hardware.id[:-1] + bytes([on.hardware.id[-1] ^ 1])
    return create_order(on.backend.seed, FLOOR, BEGIN + 100, other)


def order_replayed_floor(on):
    """It was obeyed, and a later one after it: nothing may come back."""
    on.obey(FLOOR, BEGIN + 200)
    return on.backend.order(FLOOR, BEGIN + 100, on.hardware.id)


def order_replayed_epoch(on):
    on.obey(EPOCH, BEGIN + 200)
    return on.backend.order(EPOCH, BEGIN + 100, on.hardware.id)


def order_replayed_revoke(on):
    on.obey(REVOKE, BEGIN + 200, on.owner.instance, 5)
    return on.backend.order(REVOKE, BEGIN + 100, on.hardware.id, on.owner.instance, 1)


# Recalls ------------------------------------------------------------------------------------------------------------


SIGNED = (*ACCEPTED, Verdict.NOT_EXECUTED, Verdict.STALE)


def recall_forged(on):
    """Recall of a command that is on its way, after one that was done: nonce and counter went over the link, where
    anyone can read them; the key did not.
    """
    command, _ = on.owner.make(on.hardware, on.owner.ask(on.link))
    on.expect(on.owner.send(on.link, command.encoded()).verdict, Verdict.ACCEPTED)
    _, occasion = on.owner.make(on.hardware, on.owner.ask(on.link))
    on.believes(occasion.nonce(), SIGNED)
    key = App(90).shared(on.hardware).device_key
    return make_recall(key, on.owner.instance, occasion.counter, occasion.nonce()).encoded()


def recall_of_another(on):
    """Another tenant's own key, the owner's instance: what kills the owner's challenge must be the owner's."""
    on.hold(on.guest)
    counter, bytes_ = on.owner.ask(on.link)
    _, occasion = on.owner.make(on.hardware, (counter, bytes_))
    on.believes(occasion.nonce(), SIGNED)
    key = on.guest.shared(on.hardware).device_key
    return make_recall(key, on.owner.instance, counter, occasion.nonce()).encoded()


def recall_unknown(on):
    """Recall of an instance that this hardware does not know."""
    counter, bytes_ = on.owner.ask(on.link)
    _, occasion = on.owner.make(on.hardware, (counter, bytes_))
    key = on.guest.shared(on.hardware).device_key
    on.believes(occasion.nonce(), SIGNED, on.guest)
    return make_recall(key, on.guest.instance, counter, occasion.nonce()).encoded()


REFUSALS = {
    "changed-app": Refusal(Type.COMMAND, Verdict.INTEGRITY_DIFFERS, changed_app),
    "stranger": Refusal(Type.COMMAND, Verdict.DEVICE_DIFFERS, stranger),
    "replay": Refusal(Type.COMMAND, Verdict.STALE, replay),
    "not-permitted": Refusal(Type.COMMAND, Verdict.NOT_PERMITTED, not_permitted),
    "old-challenge": Refusal(Type.COMMAND, Verdict.STALE, old_challenge,
                             ("--challenge-seconds", str(CHALLENGE_SECONDS))),
    "token-stranger": Refusal(Type.TOKEN, Verdict.NOT_SIGNED, token_stranger),
    "token-unsigned": Refusal(Type.TOKEN, Verdict.NOT_SIGNED, token_unsigned),
    "token-development": Refusal(Type.TOKEN, Verdict.WRONG_MODE, token_development),
    "token-literal": Refusal(Type.TOKEN, Verdict.WRONG_MODE, token_literal),
    "token-elsewhere": Refusal(Type.TOKEN, Verdict.NOT_FOR_ME, token_elsewhere),
    "token-expired": Refusal(Type.TOKEN, Verdict.EXPIRED, token_expired),
    "token-floor": Refusal(Type.TOKEN, Verdict.SUPERSEDED, token_floor),
    "token-revoked": Refusal(Type.TOKEN, Verdict.REVOKED, token_revoked),
    "token-superseded": Refusal(Type.TOKEN, Verdict.SUPERSEDED, token_superseded),
    "order-forged-floor": Refusal(Type.ORDER, Verdict.NOT_SIGNED, order_forged_floor),
    "order-forged-epoch": Refusal(Type.ORDER, Verdict.NOT_SIGNED, order_forged_epoch),
    "order-forged-revoke": Refusal(Type.ORDER, Verdict.NOT_SIGNED, order_forged_revoke),
    "order-elsewhere": Refusal(Type.ORDER, Verdict.NOT_FOR_ME, order_elsewhere),
    # Done already: nothing is refused, and nothing may happen.
    "order-replayed-floor": Refusal(Type.ORDER, Verdict.ORDER_DONE, order_replayed_floor),
    "order-replayed-epoch": Refusal(Type.ORDER, Verdict.ORDER_DONE, order_replayed_epoch),
    "order-replayed-revoke": Refusal(Type.ORDER, Verdict.ORDER_DONE, order_replayed_revoke),
    "recall-forged": Refusal(Type.RECALL, Verdict.DEVICE_DIFFERS, recall_forged),
    "recall-of-another": Refusal(Type.RECALL, Verdict.DEVICE_DIFFERS, recall_of_another),
    "recall-unknown": Refusal(Type.RECALL, Verdict.UNKNOWN_INSTANCE, recall_unknown),
}
# Those of the profile `large` alone.
SEALED = {
    "command-in-the-clear": Refusal(Type.COMMAND, Verdict.NOT_PERMITTED, sealed_refusals.command_in_the_clear),
    "sealed-changed-app": Refusal(Type.COMMAND, Verdict.INTEGRITY_DIFFERS, sealed_refusals.sealed_changed_app),
    "sealed-stranger": Refusal(Type.COMMAND, Verdict.DEVICE_DIFFERS, sealed_refusals.sealed_stranger),
    "sealed-box": Refusal(Type.COMMAND, Verdict.DEVICE_DIFFERS, sealed_refusals.sealed_box),
    "sealed-replay": Refusal(Type.COMMAND, Verdict.STALE, sealed_refusals.sealed_replay),
    "sealed-not-permitted": Refusal(Type.COMMAND, Verdict.NOT_PERMITTED, sealed_refusals.sealed_not_permitted),
    "channel-stranger": Refusal(Type.SEALED_UP, Verdict.DEVICE_DIFFERS, sealed_refusals.channel_stranger),
    "channel-replay": Refusal(Type.SEALED_UP, Verdict.STALE, sealed_refusals.channel_replay),
    "channel-not-permitted": Refusal(Type.SEALED_UP, Verdict.NOT_PERMITTED, sealed_refusals.channel_not_permitted),
    "channel-ended": Refusal(Type.SEALED_UP, Verdict.STALE, sealed_refusals.channel_ended),
    "channel-superseded": Refusal(Type.SEALED_UP, Verdict.STALE, sealed_refusals.channel_superseded),
    "channel-old": Refusal(Type.SEALED_UP, Verdict.STALE, sealed_refusals.channel_old),
}
ALL = REFUSALS | SEALED
