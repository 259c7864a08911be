# SPDX-License-Identifier: Apache-2.0

"""Proofs, receipts and recall tags that do not fit the occasion."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec.basics import kdf, label, mac, sha256, u8, u16, u64
from proofspec.keys import recall_key, receipt_key
from proofspec.message import make_recall
from proofspec.proof import DEVICE, INTEGRITY, Occasion, escort, proof, receipt

from . import world
from .hostile import expect
from .hostile_config import flipped
from .world import DOOR, GATE, stuff

OWN = world.app("one").own
HERE = OWN.diversified(DOOR.id)
NOW = Occasion(DOOR.id, stuff("challenge", 32), 7, INTEGRITY, 1, b"open the door")
NONCE = NOW.nonce()
GOOD = proof(HERE.key, NONCE, HERE.im)


def put_occasion(block: Block, occasion: Occasion) -> Block:
    block.put_all(
        hardware_id=occasion.hardware_id,
        challenge=occasion.challenge,
        counter=occasion.counter,
        kind=occasion.kind,
    )
    return block.put("class", occasion.cls).put("command", occasion.command)


def offer(comment: str, given: bytes, word: str, *flags: str, occasion: Occasion = NOW) -> Block:
    """The hardware computes the proof for `occasion`; the app gave another."""
    device = occasion.kind == DEVICE
    block = case("check_proof", comment).put_all(
        key=HERE.device_key if device else HERE.key, measurement=HERE.dm if device else HERE.im
    )
    return expect(put_occasion(block, occasion).put("proof", given), word, *flags)


def proofs() -> Iterator[Block]:
    yield offer("integrity", GOOD, "none")
    device = replace(NOW, kind=DEVICE)
    fits = proof(HERE.device_key, device.nonce(), HERE.dm)
    yield offer("device", fits, "none", occasion=device)
    for command in (b"", stuff("long", 256)):
        other = replace(NOW, command=command)
        given = proof(HERE.key, other.nonce(), HERE.im)
        yield offer(f"a command of {len(command)} bytes", given, "none", occasion=other)
    yield from _shape()
    yield from _occasion()
    yield from _keys()
    yield from _formula()
    yield from _escorts()
    yield from _receipts()
    yield from _recalls()


def _shape() -> Iterator[Block]:
    for length in (0, 1, 16, 31):
        yield offer(f"{length} bytes of it", GOOD[:length], "length", "Truncated")
    yield offer("a byte more", GOOD + b"\x00", "length", "Extended")
    for at in (0, 1, 15, 16, 30, 31):
        for bit in (0, 7):
            comment = f"bit {bit} of byte {at}"
            yield offer(comment, flipped(GOOD, at, bit), "differs", "BitFlip")
    for fill in (0x00, 0xFF):
        yield offer(f"bytes {fill:#04x}", bytes([fill]) * 32, "differs", "Guess")
    yield offer("right in its first half", GOOD[:16] + bytes(16), "differs", "Guess")
    yield offer("reversed", GOOD[::-1], "differs", "Guess")


def _occasion() -> Iterator[Block]:
    command = NOW.command
    for comment, other in (
        ("for the gate", replace(NOW, hardware_id=GATE.id)),
        ("under another challenge", replace(NOW, challenge=stuff("another", 32))),
        ("under a challenge of zeros", replace(NOW, challenge=bytes(32))),
        ("under a challenge with one bit more", replace(NOW, challenge=flipped(NOW.challenge, 31))),
        ("under the counter before", replace(NOW, counter=6)),
        ("under the counter after", replace(NOW, counter=8)),
        ("under the counter in big-endian", replace(NOW, counter=7 << 56)),
        ("of the other kind", replace(NOW, kind=DEVICE)),
        ("in class 0", replace(NOW, cls=0)),
        ("in class 2", replace(NOW, cls=2)),
        ("kind and class changed places", replace(NOW, kind=2, cls=1)),
        ("for another command", replace(NOW, command=b"open the gate")),
        ("for one bit of the command", replace(NOW, command=flipped(command, 0))),
        ("for the command without its end", replace(NOW, command=command[:-1])),
        ("for the command and a zero", replace(NOW, command=command + b"\x00")),
        ("for no command", replace(NOW, command=b"")),
    ):
        given = proof(HERE.key, other.nonce(), HERE.im)
        yield offer(comment, given, "differs", "WrongOccasion")
    tail = label("pfc1.nonce......") + DOOR.id + NOW.challenge + u64(7) + u8(1) + u8(1)
    for comment, transcript in (
        ("the nonce without the command's length", tail + command),
        ("the nonce with a length of one byte", tail + u8(len(command)) + command),
        ("the nonce with a length of four bytes", tail + u16(len(command)) + bytes(2) + command),
        ("the nonce without its label", (tail + u16(len(command)) + command)[16:]),
    ):
        given = proof(HERE.key, sha256(transcript)[:16], HERE.im)
        yield offer(comment, given, "differs", "WrongTranscript")
    for comment, nonce in (
        ("the challenge as nonce", NOW.challenge[:16]),
        ("the second half of the nonce's hash", sha256(NOW.transcript())[16:]),
        ("a nonce of the app's choice", stuff("the app's choice", 16)),
    ):
        given = proof(HERE.key, nonce, HERE.im)
        yield offer(comment, given, "differs", "WrongTranscript")


def _keys() -> Iterator[Block]:
    there, other = OWN.diversified(GATE.id), world.bare_app("two").at(DOOR)
    for comment, key, measurement in (
        ("MPK and IM, not diversified", OWN.key, OWN.im),
        ("K_hw with IM", HERE.key, OWN.im),
        ("MPK with IM_hw", OWN.key, HERE.im),
        ("the gate's secrets", there.key, there.im),
        ("another app's secrets", other.key, other.im),
        ("another app's measurement", HERE.key, other.im),
        ("the device proof in its place", HERE.device_key, HERE.dm),
        ("K_hw with DM_hw", HERE.key, HERE.dm),
        ("DPK_hw with IM_hw", HERE.device_key, HERE.im),
        ("a measurement of zeros", HERE.key, bytes(32)),
        ("a key of zeros", bytes(16), HERE.im),
    ):
        yield offer(comment, proof(key, NONCE, measurement), "differs", "WrongKey")
    device = replace(NOW, kind=DEVICE)
    over_one = proof(HERE.device_key, NONCE, HERE.dm)
    yield offer(
        "a device proof over the nonce of kind 1, given as kind 2",
        over_one,
        "differs",
        "WrongOccasion",
        occasion=device,
    )
    own = proof(OWN.device_key, device.nonce(), OWN.dm)
    yield offer("DPK and DM, not diversified", own, "differs", "WrongKey", occasion=device)


def _formula() -> Iterator[Block]:
    wrong = ("differs", "WrongTranscript")
    yield offer("measurement before nonce", mac(HERE.key, HERE.im + NONCE), *wrong)
    yield offer("the measurement as key", mac(HERE.im, NONCE + HERE.key), *wrong)
    yield offer("the nonce as key", mac(NONCE, HERE.key + HERE.im), *wrong)
    yield offer("a hash of all", sha256(HERE.key + NONCE + HERE.im), *wrong)
    yield offer("the nonce alone", mac(HERE.key, NONCE), *wrong)
    yield offer("with a label", mac(HERE.key, label("pfc1.nonce......") + NONCE + HERE.im), *wrong)
    yield offer("a longer nonce", mac(HERE.key, sha256(NOW.transcript()) + HERE.im), *wrong)
    echo = receipt(HERE.device_key, NONCE, 1, 65535, 7)
    yield offer("the receipt of its own acceptance", echo, "differs", "WrongKey")


def _escorts() -> Iterator[Block]:
    """The device proof beside an integrity proof."""
    key, dm, right = HERE.device_key, HERE.dm, escort(NONCE, GOOD)

    def check(comment: str, given: bytes, word: str, *flags: str, beside: bytes = GOOD) -> Block:
        block = case("check_escort", f"device proof beside an integrity proof: {comment}")
        put_occasion(block.put_all(key=key, measurement=dm), NOW)
        return expect(block.put("integrity_proof", beside).put("proof", given), word, *flags)

    fits = proof(key, right, dm)
    yield check("as it should be", fits, "none")
    changed = flipped(GOOD, 31, 7)
    own = proof(key, escort(NONCE, changed), dm)
    yield check("a changed app's, both of its own", own, "none", beside=changed)
    yield check("a bit of the integrity proof", fits, "differs", "BitFlip", beside=changed)
    yield check("a bit of the device proof", flipped(fits, 0), "differs", "BitFlip")
    yield check("zeros", bytes(32), "differs", "Guess")
    yield check("beside zeros", fits, "differs", "Guess", beside=bytes(32))
    device = replace(NOW, kind=DEVICE).nonce()
    other = replace(NOW, command=b"open the gate").nonce()
    for comment, nonce, flag in (
        ("over the nonce itself", NONCE, "WrongTranscript"),
        ("over the nonce of kind 2", device, "WrongOccasion"),
        ("over the escort of kind 2", escort(device, GOOD), "WrongOccasion"),
        ("over the escort of another command", escort(other, GOOD), "WrongOccasion"),
        ("an escort without its label", sha256(NONCE + GOOD)[:16], "WrongLabel"),
        (
            "an escort under the nonce's label",
            sha256(label("pfc1.nonce......") + NONCE + GOOD)[:16],
            "WrongLabel",
        ),
        (
            "an escort of half the integrity proof",
            sha256(label("pfc1.escort.....") + NONCE + GOOD[:16])[:16],
            "WrongTranscript",
        ),
        (
            "an escort with its parts the other way round",
            sha256(label("pfc1.escort.....") + GOOD + NONCE)[:16],
            "WrongTranscript",
        ),
    ):
        yield check(comment, proof(key, nonce, dm), "differs", flag)
    yield check(
        "DPK and DM, not diversified", proof(OWN.device_key, right, OWN.dm), "differs", "WrongKey"
    )
    yield check("K_hw in the place of DPK_hw", proof(HERE.key, right, dm), "differs", "WrongKey")
    yield check("IM_hw in the place of DM_hw", proof(key, right, HERE.im), "differs", "WrongKey")
    yield check("31 bytes", fits[:31], "length", "Truncated")


def _receipts() -> Iterator[Block]:
    key = HERE.device_key
    right = receipt(key, NONCE, 1, 9, 7)

    def check(comment: str, given: bytes, word: str, *flags: str) -> Block:
        block = case("check_receipt", comment).put_all(
            dpk_hw=key, nonce=NONCE, verdict=1, detail=9, counter=7, receipt=given
        )
        return expect(block, word, *flags)

    yield check("receipt of an acceptance", right, "none")
    transcript = NONCE + u8(1) + u16(9) + u64(7)
    other = replace(NOW, command=b"open the gate").nonce()
    for comment, given, flag in (
        ("zeros", bytes(32), "Guess"),
        ("another verdict", receipt(key, NONCE, 2, 9, 7), "WrongOccasion"),
        ("another detail", receipt(key, NONCE, 1, 8, 7), "WrongOccasion"),
        ("detail in big-endian", receipt(key, NONCE, 1, 9 << 8, 7), "WrongTranscript"),
        ("another counter", receipt(key, NONCE, 1, 9, 6), "WrongOccasion"),
        ("counter 0, as for a token", receipt(key, NONCE, 1, 9, 0), "WrongOccasion"),
        ("another command", receipt(key, other, 1, 9, 7), "WrongOccasion"),
        ("DPK_hw itself as key", mac(key, transcript), "WrongKey"),
        ("the recall key", mac(recall_key(key), transcript), "WrongKey"),
        ("from DPK, not diversified", receipt(OWN.device_key, NONCE, 1, 9, 7), "WrongKey"),
        ("from K_hw", receipt(HERE.key, NONCE, 1, 9, 7), "WrongKey"),
        ("under another label", mac(kdf("pfc1.hw-dkey....", key), transcript), "WrongLabel"),
        ("the app's own proof", GOOD, "WrongKey"),
        ("without the counter", mac(receipt_key(key), transcript[:-8]), "WrongTranscript"),
        ("a bit of it", flipped(right, 31), "BitFlip"),
    ):
        yield check(f"receipt: {comment}", given, "differs", flag)
    for length in (0, 31):
        yield check(f"receipt: {length} bytes", right[:length], "length", "Truncated")


def _recalls() -> Iterator[Block]:
    key, who = HERE.device_key, world.app("one").instance_id
    right = make_recall(key, who, 7, NONCE)

    def check(comment: str, message: bytes, word: str, *flags: str) -> Block:
        block = case("check_recall", f"recall: {comment}").put_all(dpk_hw=key, message=message)
        return expect(block, word, *flags)

    head = right.encoded()[:40]
    yield check("as it should be", right.encoded(), "none")
    for at, what in ((0, "instance"), (16, "counter"), (24, "nonce"), (40, "tag"), (71, "tag")):
        message = flipped(right.encoded(), at)
        yield check(f"a bit of the {what}, byte {at}", message, "differs", "BitFlip")
    for comment, tag, flag in (
        ("a tag of zeros", bytes(32), "Guess"),
        ("DPK_hw itself as key", mac(key, head), "WrongKey"),
        ("the receipt key", mac(receipt_key(key), head), "WrongKey"),
        ("from DPK, not diversified", mac(recall_key(OWN.device_key), head), "WrongKey"),
        ("from K_hw", mac(recall_key(HERE.key), head), "WrongKey"),
        ("without the nonce", mac(recall_key(key), head[:24]), "WrongTranscript"),
    ):
        yield check(comment, head + tag, "differs", flag)
