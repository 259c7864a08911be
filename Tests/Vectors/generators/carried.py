# SPDX-License-Identifier: Apache-2.0

"""token.txt, order.txt, message.txt, frame.txt, record.txt."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec.basics import DEVELOPMENT, FOREVER, GENERATION_MAX
from proofspec.curves import hardware_public, sign
from proofspec.frame import check, fragments
from proofspec.keys import DIVERSIFIED, LITERAL
from proofspec.message import (
    Answer,
    Status,
    Type,
    Verdict,
    answered_nonce,
    encode_challenge,
    make_command,
    make_recall,
)
from proofspec.order import EPOCH, FLOOR, REVOKE, create_order
from proofspec.proof import Occasion, escort, receipt
from proofspec.ratchet import REFUSE, REPORT
from proofspec.stored import (
    FREE,
    HELD,
    NONCE_BYTES,
    OLD_VERSION,
    REVOKED,
    Global,
    Slot,
    decode_record,
    decode_slot,
    encode_record,
    record_key,
    renewed,
)
from proofspec.token import Body, create_token, open_token, token_digest, transcript

from . import world
from .plain import put_secrets
from .world import BACKEND, DOOR, GATE, OTHER_BACKEND, SAFE, START, App, Issuer, Place, stuff


def put_token(
    comment: str, who: App, where: Place = DOOR, by: Issuer = BACKEND, **other: int
) -> Block:
    return _put_token(comment, who, where, by, who.body(where, by, **other))


def put_token_2(comment: str, who: App, where: Place = SAFE, **other: int) -> Block:
    return _put_token(comment, who, where, BACKEND, who.body_2(where, **other))


def _put_token(comment: str, who: App, where: Place, by: Issuer, body: Body) -> Block:
    secret = world.ephemeral(body)
    s = where.factory_secret
    token = create_token(where.public, secret, by.seed, body, s)
    literal = body.form == LITERAL
    back = open_token(
        where.id, where.secret, where.public, body.mode, literal, [by.public], token, s
    )
    if back != body:
        raise AssertionError("a token that opens to another body")
    raw = body.encoded()
    header = token[:8]
    made = case("token" if body.version == 1 else "token_2", comment).put_all(
        hardware_id=where.id,
        hardware_secret=where.secret,
        hardware_public=where.public,
        issuer_seed=by.seed,
        issuer_public=by.public,
        ephemeral_secret=secret,
        mode=body.mode,
        form=body.form,
        integrity_classes=body.integrity_classes,
        device_classes=body.device_classes,
        attempts=body.attempts,
        uses=body.uses,
        generation=body.generation,
        not_after=body.not_after,
        issued=body.issued,
        instance_id=who.instance_id,
        mpk=who.own.key,
        im=who.own.im,
        dpk=who.own.device_key,
        dm=who.own.dm,
    )
    if body.version != 1:
        made.put_all(
            policy=body.policy,
            delegable_classes=body.delegable_classes,
            base=body.base,
            drawn=where.drawn,
            factory_secret=s,
        )
    return made.put_all(
        ephemeral_public=hardware_public(secret),
        header=header,
        body=raw,
        signature=sign(by.seed, transcript(where.public, header, raw, where.id)),
        token=token,
        digest=token_digest(token),
    )


def tokens() -> Iterator[Block]:
    one, two = world.app("one"), world.bare_app("two")
    yield put_token("plain: three classes, one of them for a device match", one)
    yield put_token("the same app at the gate", one, GATE)
    yield put_token("by another issuer", one, by=OTHER_BACKEND)
    yield put_token("another app", two)
    yield put_token("the literal form", one, form=LITERAL)
    yield put_token("development mode", one, mode=DEVELOPMENT)
    yield put_token("nothing for a device match", one, device_classes=0)
    yield put_token("every class for both", one, integrity_classes=0xFFFF, device_classes=0xFFFF)
    yield put_token("class 15 only", one, integrity_classes=0x8000, device_classes=0x8000)
    yield put_token("one use, one attempt", one, uses=1, attempts=1)
    yield put_token("the most uses that are counted", one, uses=FOREVER - 1, attempts=65535)
    yield put_token("the highest generation", one, generation=GENERATION_MAX)
    yield put_token("ends a day after its issue", one, not_after=START + 86400)
    yield put_token("ends with the second of its issue", one, not_after=START)
    yield put_token("issued in second 1, ends with the last", one, issued=1, not_after=2**64 - 1)
    yield put_token_2("version 2, suite 1: hardware without a factory secret", one, DOOR)
    yield put_token_2("version 2, suite 2", one)
    yield put_token_2("version 2, suite 2, another app", two)
    yield put_token_2("version 2, two classes may be passed on", one, delegable_classes=6)
    yield put_token_2("version 2, the highest of four generations", one, generation=7, base=4)
    high = GENERATION_MAX
    yield put_token_2("version 2, every field at its end", one, integrity_classes=0xFFFF,
                      device_classes=0xFFFF, delegable_classes=0xFFFF, generation=high, base=high)
    yield put_token_2("version 2, the literal form", one, DOOR, form=LITERAL)
    yield put_token_2("version 2, a ratchet that reports", one, policy=REPORT)
    yield put_token_2("version 2, a ratchet that refuses", one, policy=REFUSE)


def put_order(
    comment: str,
    type: int,
    issued: int = START,
    where: bytes = DOOR.id,
    instance_id: bytes = bytes(16),
    generation: int = 0,
    by: Issuer = BACKEND,
) -> Block:
    order = create_order(by.seed, type, issued, where, instance_id, generation)
    return case("order", comment).put_all(
        issuer_seed=by.seed,
        issuer_public=by.public,
        type=type,
        issued=issued,
        hardware_id=where,
        instance_id=instance_id,
        generation=generation,
        order=order,
    )


def orders() -> Iterator[Block]:
    who = world.app("one").instance_id
    yield put_order("epoch for one piece of hardware", EPOCH)
    yield put_order("epoch by another issuer, the last second", EPOCH, 2**64 - 1, by=OTHER_BACKEND)
    yield put_order("revoke the first generation", REVOKE, instance_id=who, generation=1)
    yield put_order("revoke for good", REVOKE, instance_id=who, generation=FOREVER)
    yield put_order("revoke all but the highest", REVOKE, instance_id=who, generation=FOREVER - 2)
    yield put_order("floor", FLOOR)
    yield put_order("floor at the gate, second 1", FLOOR, 1, GATE.id)


def put_command(comment: str, who: App, occasion: Occasion, form: int = DIVERSIFIED) -> Block:
    secrets = who.at(DOOR, form)
    made = make_command(occasion, who.instance_id, secrets)
    block = case("command", comment).put_all(
        hardware_id=occasion.hardware_id,
        challenge=occasion.challenge,
        counter=occasion.counter,
        kind=occasion.kind,
        **{"class": occasion.cls},
        instance_id=who.instance_id,
    )
    return put_secrets(block, secrets).put_all(
        command=occasion.command,
        nonce=occasion.nonce(),
        integrity_proof=made.integrity_proof,
        escort=escort(occasion.nonce(), made.integrity_proof) if occasion.kind == 1 else b"",
        device_proof=made.device_proof,
        type=Type.COMMAND,
        message=made.encoded(),
    )


def put_command_ratchet(comment: str, who: App, occasion: Occasion, known: int) -> Block:
    """A command of kind 3 or 4."""
    secrets, ratchet = who.at(DOOR), stuff("a ratchet", 16)
    made = make_command(occasion, who.instance_id, secrets, ratchet, known)
    block = case("command_ratchet", comment).put_all(
        hardware_id=occasion.hardware_id,
        challenge=occasion.challenge,
        counter=occasion.counter,
        kind=occasion.kind,
        **{"class": occasion.cls},
        instance_id=who.instance_id,
    )
    return put_secrets(block, secrets).put_all(
        command=occasion.command,
        ratchet=ratchet,
        known=known,
        nonce=occasion.nonce(),
        integrity_proof=made.integrity_proof,
        ratchet_tag=made.ratchet_tag,
        escort=answered_nonce(made, occasion.nonce()),
        device_proof=made.device_proof,
        type=Type.COMMAND,
        message=made.encoded(),
    )


def messages() -> Iterator[Block]:
    one, challenge = world.app("one"), stuff("challenge", 32)
    for what, comment in ((1, "ask for a challenge"), (2, "ask for the status")):
        yield case("ask", comment).put_all(what=what, type=Type.ASK, message=bytes([what]))
    for counter in (1, 2**64 - 1):
        made = case("challenge", f"counter {counter}")
        made.put_all(counter=counter, challenge=challenge, type=Type.CHALLENGE)
        yield made.put("message", encode_challenge(counter, challenge))
    token = one.token()
    made = case("message_token", "a token is its own message")
    yield made.put_all(token=token, type=Type.TOKEN, message=token)
    for occasion, form, comment in (
        (Occasion(DOOR.id, challenge, 1, 1, 0, b"open"), 1, "integrity"),
        (Occasion(DOOR.id, challenge, 1, 2, 0, b"open"), 1, "device"),
        (Occasion(DOOR.id, challenge, 2, 1, 15, b""), 1, "integrity, an empty command: 90 bytes"),
        (Occasion(DOOR.id, challenge, 2, 2, 15, b""), 1, "device, an empty command: 58 bytes"),
        (Occasion(DOOR.id, challenge, 3, 1, 1, stuff("long", 256)), 1, "integrity, 346 bytes"),
        (Occasion(DOOR.id, challenge, 3, 2, 1, stuff("long", 256)), 1, "device, 314 bytes"),
        (Occasion(DOOR.id, challenge, 4, 1, 1, stuff("eight", 8)), 1, "eight bytes: 98 bytes"),
        (Occasion(DOOR.id, challenge, 5, 1, 0, b"open"), LITERAL, "integrity, literal secrets"),
    ):
        yield put_command(comment, one, occasion, form)
    for occasion, known, comment in (
        (Occasion(DOOR.id, challenge, 1, 3, 0, b"open"), 0, "integrity with a ratchet"),
        (Occasion(DOOR.id, challenge, 1, 4, 0, b"open"), 0, "device with a ratchet"),
        (Occasion(DOOR.id, challenge, 9, 3, 15, b""), 8, "integrity, no command: 102 bytes"),
        (Occasion(DOOR.id, challenge, 9, 4, 15, b""), 2**32 - 1, "device, no command: 70 bytes"),
        (Occasion(DOOR.id, challenge, 9, 3, 1, stuff("eight", 8)), 8, "eight bytes: 110 bytes"),
        (Occasion(DOOR.id, challenge, 9, 3, 1, stuff("long", 256)), 8, "integrity, 358 bytes"),
        (Occasion(DOOR.id, challenge, 9, 4, 1, stuff("long", 256)), 8, "device, 326 bytes"),
    ):
        yield put_command_ratchet(comment, one, occasion, known)
    secrets = one.at(DOOR)
    for verdict, detail, counter, signed in (
        (Verdict.ACCEPTED, 65535, 1, True),
        (Verdict.INTEGRITY_DIFFERS, 2, 2**40, True),
        (Verdict.UNKNOWN_INSTANCE, 0, 3, False),
        (Verdict.ACCEPTED_COPY, 65535, 4, True),
        (Verdict.ACCEPTED_DEVICE_ONLY_COPY, 9, 5, True),
        (Verdict.COPIED, 3, 6, True),
        (Verdict.BUSY, 5, 0, False),
    ):
        key, nonce = secrets.device_key, stuff("nonce of a verdict", 16)
        tag = receipt(key, nonce, verdict, detail, counter) if signed else bytes(32)
        made = case("verdict", verdict.name.lower().replace("_", " "))
        made.put_all(verdict=verdict, detail=detail, counter=counter, receipt=tag)
        answer = Answer(verdict, detail, counter, tag)
        yield made.put_all(type=Type.VERDICT, message=answer.encoded())
    order = create_order(BACKEND.seed, EPOCH, START, DOOR.id)
    made = case("message_order", "an order is its own message")
    yield made.put_all(order=order, type=Type.ORDER, message=order)
    for counter in (1, 2**64 - 1):
        nonce = stuff("nonce recalled", 16)
        recall = make_recall(secrets.device_key, one.instance_id, counter, nonce)
        made = case("recall", f"counter {counter}").put_all(
            dpk_hw=secrets.device_key, instance_id=one.instance_id, counter=counter, nonce=nonce
        )
        yield made.put_all(tag=recall.tag, type=Type.RECALL, message=recall.encoded())
    for mode, slots, used, epoch in ((1, 8, 0, 0), (2, 8, 8, START), (1, 255, 254, 2**64 - 1)):
        made = case("status", f"{used} of {slots} slots used").put_all(
            mode=mode, hardware_id=DOOR.id, slots=slots, slots_used=used, epoch=epoch
        )
        status = Status(mode, DOOR.id, slots, used, epoch)
        yield made.put_all(type=Type.STATUS, message=status.encoded())


def put_frame(comment: str, type: int, message: bytes, packet: int) -> Block:
    block = case("frame", f"{comment}, packets of {packet}").put_all(
        type=type, packet=packet, message=message, check=check(type, message)
    )
    for fragment in fragments(type, message, packet):
        block.put("fragment", fragment)
    return block


def frames() -> Iterator[Block]:
    one = world.app("one")
    command = make_command(
        Occasion(DOOR.id, stuff("challenge", 32), 1, 1, 0, stuff("eight", 8)),
        one.instance_id,
        one.at(DOOR),
    ).encoded()
    samples: tuple[tuple[str, int, bytes], ...] = (
        ("ask", Type.ASK, b"\x01"),
        ("challenge", Type.CHALLENGE, encode_challenge(1, stuff("challenge", 32))),
        ("token", Type.TOKEN, one.token()),
        ("command", Type.COMMAND, command),
        ("verdict", Type.VERDICT, Answer(Verdict.BUSY, 5).encoded()),
    )
    for name, type, message in samples:
        for packet in (20, 182, 514):
            yield put_frame(name, type, message, packet)
    rest: tuple[tuple[str, int, bytes], ...] = (
        ("order", Type.ORDER, create_order(BACKEND.seed, EPOCH, START, DOOR.id)),
        ("recall", Type.RECALL, stuff("any recall", 72)),
        ("status", Type.STATUS, Status(1, DOOR.id, 8, 0, 0).encoded()),
        ("shortest command", Type.COMMAND, b"\x02" + stuff("short", 57)),
        ("longest command", Type.COMMAND, b"\x01" + stuff("longest", 345)),
    )
    for name, type, message in rest:
        yield put_frame(name, type, message, 20)
    yield put_frame("the stream fills one packet exactly: token", Type.TOKEN, one.token(), 294)
    yield put_frame("one byte too many for one packet: token", Type.TOKEN, one.token(), 293)
    yield put_frame("the last packet is full: challenge", Type.CHALLENGE, samples[1][2], 24)
    longest = rest[-1]
    yield put_frame("longest command in one", longest[1], longest[2], 352)


def records() -> Iterator[Block]:
    key = record_key(DOOR.secret)
    for sequence, kept, comment in (
        (1, Global(), "the first"),
        (2, Global(65, START, START - 1), "after a token and a floor"),
        (2**32 - 1, Global(2**64 - 1, 2**64 - 1, 2**64 - 1), "every field at its end"),
    ):
        made = case("global", comment).put_all(
            hardware_secret=DOOR.secret,
            sequence=sequence,
            next_counter=kept.next_counter,
            epoch=kept.epoch,
            floor=kept.floor,
        )
        raw = encode_record(key, 0, sequence, kept.payload())
        if decode_record(key, 0, raw) != (sequence, kept.payload()):
            raise AssertionError("a record that reads differently")
        yield made.put_all(record_key=key, bytes=raw)
    one = world.app("one")
    body = one.body(uses=10, not_after=START + 86400)
    held = Slot(
        state=HELD,
        last_verdict=1,
        integrity_classes=body.integrity_classes,
        device_classes=body.device_classes,
        attempts=3,
        uses=9,
        generation=2,
        revoked_generation=1,
        not_after=body.not_after,
        issued=body.issued,
        revoked_at=START - 3600,
        last_counter=4,
        instance_id=one.instance_id,
        token_digest=token_digest(one.token()),
        last_nonce=stuff("last nonce", 16)[:NONCE_BYTES],
        secrets=body.secrets,
        delegable_classes=2,
    )
    reporting = replace(held, policy=REPORT, copies=3, ratchet=stuff("a stored ratchet", 16))
    revoked = Slot(
        state=REVOKED, revoked_generation=FOREVER, revoked_at=START, instance_id=one.instance_id
    )
    for number, sequence, slot, comment in (
        (1, 7, held, "held, one use taken"),
        (8, 1, revoked, "revoked for good, without a token ever"),
        (2, 3, Slot(state=FREE), "freed"),
        (3, 9, reporting, "a ratchet that reports, three copies seen"),
        (3, 10, replace(reporting, policy=REFUSE, copies=255), "a ratchet that refuses"),
    ):
        made = case("slot", comment).put_all(
            hardware_secret=DOOR.secret, number=number, sequence=sequence
        )
        fields = {k: v for k, v in vars(slot).items() if k != "secrets"}
        put_secrets(made.put_all(**fields), slot.secrets)
        raw = encode_record(key, number, sequence, slot.payload())
        if decode_slot(decode_record(key, number, raw)[1]) != slot:
            raise AssertionError("a slot that reads differently")
        yield made.put_all(record_key=key, bytes=raw)
        if slot.policy == 0:
            yield _old_slot(f"of version 1: {comment}", number, sequence, slot)


def _old_slot(comment: str, number: int, sequence: int, slot: Slot) -> Block:
    """The same slot as firmware of version 1 left it, and as the next start writes it."""
    key, payload = record_key(DOOR.secret), slot.payload()
    nonce = stuff("last nonce", 16) if any(slot.last_nonce) else bytes(16)
    old = payload[:84] + nonce + payload[92:188]
    return case("old_slot", comment).put_all(
        hardware_secret=DOOR.secret,
        number=number,
        sequence=sequence,
        bytes=encode_record(key, number, sequence, old, OLD_VERSION),
        renewed=encode_record(key, number, sequence + 2, renewed(old)),
    )
