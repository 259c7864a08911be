# SPDX-License-Identifier: Apache-2.0

"""key.txt, proof.txt, config.txt, measurement.txt."""

from collections.abc import Iterator, Sequence

from blocks import Block, case, put_records
from proofspec import ratchet as ratchets
from proofspec.baseline import device_set, make_config
from proofspec.basics import DEVELOPMENT, GENERATION_MAX, PRODUCTION, xor
from proofspec.config import CONFIG_BYTES_MAX, FULL, INCREMENTAL, TRUSTING, Config, Source, config_tag
from proofspec.curves import hardware_public
from proofspec.evidence import APP, DEVICE, ENVIRONMENT, Record
from proofspec.keys import (
    DIVERSIFIED,
    LITERAL,
    Secrets,
    device_key,
    key_id,
    recall_key,
    receipt_key,
)
from proofspec.measurement import measure
from proofspec.proof import Occasion, escort, proof, recall_tag, receipt

from . import world
from .world import BACKEND, DOOR, GATE, OTHER_BACKEND, SOURCES, changed, evidence, mpk, stuff

FF16, FF32 = b"\xff" * 16, b"\xff" * 32


def keys() -> Iterator[Block]:
    for mode, key, comment in (
        (PRODUCTION, mpk(), "a production key"),
        (DEVELOPMENT, mpk(), "the same bytes as a development key have another id"),
        (PRODUCTION, bytes(15) + b"\x01", "nearly all zeros"),
        (PRODUCTION, FF16, "all ones"),
    ):
        yield case("mpk", comment).put_all(mode=mode, mpk=key, key_id=key_id(mode, key))
    for name in ("plain", "other"):
        salt = stuff(f"salt {name}", 16)
        made = case("dpk", f"the {name} salt").put_all(mpk=mpk(), salt=salt)
        yield made.put("dpk", device_key(mpk(), salt))
    for who, comment in ((BACKEND, "an issuer"), (OTHER_BACKEND, "another issuer")):
        made = case("issuer", comment).put_all(issuer_seed=who.seed, issuer_public=who.public)
        yield made.put("issuer_id", who.id)
    for where, comment in ((DOOR, "a door"), (GATE, "a gate")):
        made = case("hardware", comment).put("hardware_secret", where.secret)
        yield made.put("hardware_public", hardware_public(where.secret))
    one, two = world.app("one").own, world.bare_app("two").own
    ones = Secrets(FF16, FF32, FF16, FF32)
    for own, where, form, comment in (
        (one, DOOR, DIVERSIFIED, "an app's secrets for the door"),
        (one, GATE, DIVERSIFIED, "the same app at the gate shares nothing with the door"),
        (one, DOOR, LITERAL, "the literal form: receipt and recall keys from DPK itself"),
        (two, DOOR, DIVERSIFIED, "another app"),
        (ones, DOOR, DIVERSIFIED, "secrets of all ones"),
    ):
        made = case("diversified", comment).put_all(
            form=form, hardware_id=where.id, mpk=own.key, im=own.im, dpk=own.device_key, dm=own.dm
        )
        there = own.in_form(form, where.id)
        put_secrets(made, there)
        made.put("receipt_key", receipt_key(there.device_key))
        yield made.put("recall_key", recall_key(there.device_key))


def put_secrets(block: Block, secrets: Secrets) -> Block:
    """As they stand in a token."""
    return block.put_all(
        k_hw=secrets.key, im_hw=secrets.im, dpk_hw=secrets.device_key, dm_hw=secrets.dm
    )


def proofs() -> Iterator[Block]:
    a = world.app("one").own
    for key, measurement, comment in (
        (a.key, a.im, "integrity: MPK and IM"),
        (a.device_key, a.dm, "device: DPK and DM"),
        (bytes(16), bytes(32), "the formula itself has no forbidden inputs: all zeros"),
        (FF16, FF32, "all ones"),
    ):
        nonce = stuff(f"bare nonce {comment}", 16)
        made = case("bare", comment).put_all(key=key, nonce=nonce, measurement=measurement)
        yield made.put("proof", proof(key, nonce, measurement))
    challenge = stuff("challenge", 32)
    plain = Occasion(DOOR.id, challenge, 1, 1, 0, b"open")
    for occasion, comment in (
        (plain, "a command of four bytes"),
        (Occasion(DOOR.id, challenge, 1, 2, 0, b"open"), "the same as kind device"),
        (Occasion(DOOR.id, challenge, 1, 1, 1, b"open"), "the same in class 1"),
        (Occasion(GATE.id, challenge, 1, 1, 0, b"open"), "the same at the gate"),
        (Occasion(DOOR.id, challenge, 2, 1, 0, b"open"), "the same under counter 2"),
        (Occasion(DOOR.id, challenge, 1, 1, 15, b""), "an empty command in class 15"),
        (Occasion(DOOR.id, challenge, 2**64 - 1, 2, 3, b"\x00"), "the highest counter"),
        (Occasion(DOOR.id, challenge, 300, 1, 2, stuff("long", 256)), "the longest command"),
    ):
        made = case("nonce", comment).put_all(
            hardware_id=occasion.hardware_id,
            challenge=occasion.challenge,
            counter=occasion.counter,
            kind=occasion.kind,
        )
        made.put_all(**{"class": occasion.cls}, command=occasion.command)
        yield made.put("nonce", occasion.nonce())
    here, nonce = a.diversified(DOOR.id), plain.nonce()
    for given, comment in (
        (proof(here.key, nonce, here.im), "the escort nonce of an integrity proof"),
        (bytes(32), "of zeros"),
    ):
        made = case("escort", comment).put_all(nonce=nonce, integrity_proof=given)
        yield made.put("escort", escort(nonce, given))
    for given, known, comment in (
        (proof(here.key, nonce, here.im), 0, "a ratchet, from a token on"),
        (proof(here.key, nonce, here.im), 2**32 - 1, "a ratchet, the highest counter known"),
        (b"", 7, "a ratchet beside a device proof alone"),
    ):
        digest = stuff("digest of a token", 16)
        first = ratchets.begin(here, digest)
        tag = ratchets.tag(first, nonce)
        yield case("ratchet", comment).put_all(
            dpk_hw=here.device_key,
            dm_hw=here.dm,
            token_digest=digest,
            nonce=nonce,
            integrity_proof=given,
            known=known,
            first=first,
            tag=tag,
            next=ratchets.step(first, nonce),
            fork=ratchets.fork(here, nonce),
            escort=ratchets.escort(nonce, given, tag, known),
        )
    key = here.device_key
    for verdict, detail, counter, comment in (
        (1, 65535, 1, "accepted, uses without limit"),
        (1, 65534, 2**64 - 1, "accepted, many uses left, the highest counter"),
        (2, 0, 7, "accepted by the device match, no use left"),
        (3, 5, 0, "held: counter 0"),
        (16, 2, 9, "integrity differs, two attempts left"),
    ):
        made = case("receipt", comment).put_all(
            dpk_hw=key, nonce=nonce, verdict=verdict, detail=detail, counter=counter
        )
        made.put("receipt_key", receipt_key(key))
        yield made.put("receipt", receipt(key, nonce, verdict, detail, counter))
    for counter, comment in ((1, "the first counter"), (2**40, "a counter beyond 32 bits")):
        who = world.app("one").instance_id
        made = case("recall", comment).put_all(
            dpk_hw=key, instance_id=who, counter=counter, nonce=nonce
        )
        made.put("recall_key", recall_key(key))
        yield made.put("tag", recall_tag(key, who, counter, nonce))


def put_config(
    comment: str,
    sources: Sequence[Source] = SOURCES,
    records: Sequence[Record] | None = None,
    mode: int = PRODUCTION,
    policy: int = FULL,
    generation: int = 1,
    limit: int = 30,
) -> Block:
    records = evidence(sources) if records is None else records
    key, salt = mpk(), stuff(f"salt {comment}", 16)
    made = make_config(mode, policy, generation, limit, key, salt, sources, records)
    block = case("config", comment).put_all(
        mode=mode, policy=policy, generation=generation, limit=limit, mpk=key, salt=salt
    )
    for s in sources:
        block.put("source", (s.cls, s.number, s.version, s.groups_log2))
    put_records(block, records)
    return block.put_all(
        key_id=made.key_id,
        dpk=device_key(key, salt),
        device_set=device_set(records)[0],
        wrapped=made.wrapped,
        leaf_check=made.leaf_check,
        leaves=b"".join(made.leaves),
        tag=config_tag(made.body()),
        config=made.encoded(),
    )


def many_sources() -> list[Source]:
    """24 sources with 128 groups: the longest configuration."""
    logs = [6, 5] + [1] * 10 + [0] * 12
    classes = [DEVICE] * 8 + [APP] * 8 + [ENVIRONMENT] * 8
    return [
        Source(c, 1 + i * 10, 255 - i, g)
        for i, (c, g) in enumerate(zip(classes, logs, strict=True))
    ]


def configs() -> Iterator[Block]:
    small = (Source(DEVICE, 1, 1, 0), Source(APP, 1, 1, 0))
    device, program = small
    one_each = [world.record(device, b"d", "device"), world.record(program, b"a", "app")]
    yield put_config("the smallest: two sources of one group and one record each", small, one_each)
    yield put_config("five sources of three classes")
    yield put_config("development mode", mode=DEVELOPMENT)
    yield put_config("incremental policy", policy=INCREMENTAL)
    yield put_config("trusting policy", policy=TRUSTING)
    yield put_config("the highest generation", generation=GENERATION_MAX)
    yield put_config("the lowest limit", small, one_each, limit=16)
    yield put_config("the highest limit", small, one_each, limit=50)
    absent = [world.record(device, b"d", None), world.record(program, b"a", "app")]
    yield put_config("a device source that could not be read", small, absent)
    ends = [world.record(device, b"\x00", "x"), world.record(program, b"\xff" * 255, "y")]
    yield put_config("names of one zero byte and of 255 bytes", small, ends)
    names = (b"a", b"a\x00", b"a\x00b", b"aa", b"b", b"b\xff", b"\x80")
    ordered = [world.record(device, b"d", "z")] + [world.record(program, n, "z") for n in names]
    yield put_config("names that are prefixes of others, and one above 0x7f", small, ordered)
    extremes = (Source(DEVICE, 255, 255, 0), Source(APP, 255, 1, 1), Source(ENVIRONMENT, 1, 1, 0))
    yield put_config("the highest source numbers and version", extremes)
    wide = (Source(DEVICE, 1, 1, 0), Source(APP, 1, 1, 6))
    yield put_config("a source of 64 groups, some of them empty", wide, sparse(wide))
    longest = put_config("the longest: 24 sources, 128 leaves", many_sources(), one_record_each())
    if len(longest.bytes("config")) != CONFIG_BYTES_MAX:
        raise AssertionError("the longest configuration is not the longest")
    yield longest


def sparse(sources: Sequence[Source]) -> list[Record]:
    d, a = sources
    return [world.record(d, b"d", "d")] + [world.record(a, b"%02d" % i, "a") for i in range(5)]


def one_record_each() -> list[Record]:
    return [world.record(s, b"only", f"{s.cls} {s.number}") for s in many_sources()]


def put_measurement(
    comment: str, config: Config, records: Sequence[Record], key: bytes, comparable: str
) -> Block:
    found = measure(key, config, records)
    if found.comparable != comparable:
        raise AssertionError(f"{comment}: comparable are {found.comparable}")
    block = case("measurement", comment).put_all(mpk=key, config=config.encoded())
    put_records(block, records)
    return block.put_all(
        device_part=config.device_part(),
        device_set=found.ds,
        im=found.im,
        dpk=found.dpk,
        dm=found.dm,
        leaf_check=found.leaf_check,
        leaves=b"".join(found.leaves),
        comparable=found.comparable,
        differing=found.differing,
    )


def measurements() -> Iterator[Block]:
    mc, seen, new = world.config(), evidence(), mpk("new release")
    moved = evidence(device="another phone")
    more = sorted([*seen, world.record(SOURCES[2], b"added", "new")], key=lambda r: r.order)
    fewer = [r for r in seen if r.name != b"1-3"]
    unread = [Record(r.cls, r.number, r.version, r.name, None) if r.cls == 3 else r for r in seen]
    for config, records, key, comparable, comment in (
        (mc, seen, mpk(), "all", "nothing changed"),
        (mc, changed(seen, APP), mpk(), "all", "the app changed: IM differs, DM does not"),
        (mc, changed(seen, ENVIRONMENT), mpk(), "all", "the environment changed"),
        (mc, more, mpk(), "all", "a record more than at first"),
        (mc, fewer, mpk(), "all", "a record less than at first"),
        (mc, unread, mpk(), "all", "the environment could not be read"),
        (mc, changed(seen, DEVICE), mpk(), "device", "the device changed: another DPK"),
        (mc, moved, mpk(), "device", "the configuration was carried to another phone"),
        (mc, seen, new, "other", "an update of the SDK: another MPK, the same DPK and DM"),
        (mc, changed(seen, APP), new, "other", "an update of the SDK and a changed app"),
        (mc, moved, new, "none", "another phone and another MPK: nothing to compare"),
    ):
        yield put_measurement(comment, config, records, key, comparable)
    dev = world.config(mode=DEVELOPMENT)
    yield put_measurement("development mode", dev, seen, mpk(), "all")
    again = world.config(policy=INCREMENTAL, generation=2, salt=stuff("salt again", 16))
    yield put_measurement("a second configuration of the same device", again, seen, mpk(), "all")
    longest = world.config(sources=many_sources(), records=one_record_each())
    yield put_measurement("the longest configuration", longest, one_record_each(), mpk(), "all")
    first = measure(mpk(), mc, seen)
    if xor(first.dpk, device_key(mpk(), mc.salt)) != bytes(16):
        raise AssertionError("unwrapping on the same device gives DPK")
