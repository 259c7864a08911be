# SPDX-License-Identifier: Apache-2.0

"""gate.txt, request.txt, compact.txt; and the gates that the hostile cases are about."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from blocks import Block, case
from proofspec import gate
from proofspec.basics import DEVELOPMENT, GENERATION_MAX, PRODUCTION, sha256
from proofspec.compact import (
    BODY,
    ERROR,
    EVENT,
    REQUEST,
    YOUNG,
    Fields,
    Subject,
    check,
    make,
    make_error,
    plain_part,
    to_text,
)
from proofspec.curves import hardware_public, sign
from proofspec.gate_token import FAILED, FORCED, Body, create_token, open_token, signed_bytes
from proofspec.gate_token import token_header as gate_header
from proofspec.request import Request

from . import world
from .world import START, App, Issuer, issuer, stuff

# No lock knows these two.
GATE_ISSUER, OTHER_GATE_ISSUER = issuer("gate issuer"), issuer("other gate issuer")
APP = world.app("one")
GENERATION = 0x10203
AUDIENCE, OTHER_AUDIENCE = stuff("audience shop", 16), stuff("audience game", 16)
OWN_SECRET = stuff("gate's own secret", 32)
EVENT_NUMBER = 3300


@dataclass(frozen=True)
class Site:
    """A gate."""

    name: str
    id: bytes
    secrets: Mapping[int, bytes] = field(hash=False)

    def public(self, number: int) -> bytes:
        return hardware_public(self.secrets[number])

    def secret(self, who: App = APP, generation: int = GENERATION) -> bytes:
        """S."""
        return gate.secret(who.own.key, who.own.im, self.id, who.instance_id, generation)

    @property
    def beacon_key(self) -> bytes:
        return gate.beacon_key(OWN_SECRET, self.id, 1)


def site(name: str, *numbers: int) -> Site:
    secrets = {n: stuff(f"gate {name} secret {n}", 32) for n in numbers}
    return Site(name, stuff(f"gate id {name}", 16), secrets)


FRONT, SIDE = site("front", 1, 2), site("side", 1)


def body(where: Site = FRONT, by: Issuer = GATE_ISSUER, **other: object) -> Body:
    """A gate token's body with harmless defaults."""
    made = Body(
        mode=PRODUCTION,
        flags=0,
        generation=GENERATION,
        issued=START,
        not_after=START + 3600,
        first_seen=START - 86400,
        gate_id=where.id,
        instance_id=APP.instance_id,
        issuer_id=by.id,
        properties=1 << 16,
        arc=b"ABCDEFGH27",
        secret=where.secret(),
        findings=bytes((2, 5, 3, 1)) + bytes(28),
        app=stuff("app digest", 16),
    )
    return replace(made, **other)  # type: ignore[arg-type]


def keys() -> Iterator[Block]:
    ones = world.Secrets(b"\xff" * 16, b"\xff" * 32, b"\xff" * 16, b"\xff" * 32)
    bright = App("ones", b"\xff" * 16, ones)
    for who, where, generation, audience, comment in (
        (APP, FRONT, GENERATION, AUDIENCE, "an app at a gate"),
        (APP, FRONT, GENERATION, OTHER_AUDIENCE, "another audience: only the event keys differ"),
        (APP, FRONT, GENERATION + 1, AUDIENCE, "the next generation: every key differs"),
        (APP, SIDE, GENERATION, AUDIENCE, "another gate: every key differs"),
        (world.bare_app("two"), FRONT, GENERATION, AUDIENCE, "another app"),
        (bright, FRONT, GENERATION_MAX, b"\xff" * 16, "all ones, the highest generation"),
        (APP, FRONT, 1, bytes(16), "the lowest generation, an audience of zeros"),
    ):
        s = where.secret(who, generation)
        plain, events = gate.request_keys(s, generation), gate.event_keys(s, generation, audience)
        yield case("gate_keys", comment).put_all(
            mpk=who.own.key,
            im=who.own.im,
            gate_id=where.id,
            instance_id=who.instance_id,
            generation=generation,
            audience=audience,
            secret=s,
            handle=gate.handle(s),
            request_key=gate.standard_key(s),
            compact_key=plain.tag,
            mask_key=plain.mask,
            proof_key=gate.proof_key(s),
            event_key=events.tag,
            event_mask_key=events.mask,
        )
    account_key = stuff("account key", 32)
    for name in (b"u", b"user-4711", "Bücher-用户".encode(), b"x" * 128, b"\x00"):
        made = case("account", f"an account of {len(name)} bytes")
        made.put_all(account_key=account_key, name=name)
        yield made.put("account", gate.account(account_key, name))
    for now, comment in (
        (START, "an interval"),
        (START + 299 - START % 300, "its last second"),
        (START + 300 - START % 300, "the next one"),
        (300, "interval 1"),
        (2**32 - 1, "the last second of 32 bits"),
    ):
        key = FRONT.beacon_key
        yield case("beacon", comment).put_all(
            own_secret=OWN_SECRET,
            gate_id=FRONT.id,
            number=1,
            time=now,
            beacon_key=key,
            message=gate.beacon_message(key, now),
        )
    yield from _tokens()


def _tokens() -> Iterator[Block]:
    none = {"arc": bytes(10), "findings": bytes(32), "app": bytes(16), "properties": 0}
    full = bytes(x for n in range(1, 17) for x in (1 + n // 6, n))
    for where, number, by, other, comment in (
        (FRONT, 1, GATE_ISSUER, {}, "an hour"),
        (FRONT, 2, GATE_ISSUER, {}, "under the gate's second key"),
        (FRONT, 1, OTHER_GATE_ISSUER, {}, "by another issuer"),
        (SIDE, 1, GATE_ISSUER, {"mode": DEVELOPMENT}, "another gate, development"),
        (FRONT, 1, GATE_ISSUER, {"flags": FAILED}, "an app that failed"),
        (FRONT, 1, GATE_ISSUER, {"flags": FAILED | FORCED, "properties": 2**32 - 1}, "all bits"),
        (FRONT, 1, GATE_ISSUER, none, "nothing known of the app"),
        (FRONT, 1, GATE_ISSUER, {"findings": full}, "sixteen findings"),
        (FRONT, 1, GATE_ISSUER, {"not_after": START, "first_seen": START}, "a life of 0 s"),
        (FRONT, 1, GATE_ISSUER, {"not_after": START + 86400, "first_seen": 1}, "a life of a day"),
    ):
        made = body(where, by, **other)
        yield put_token(comment, where, number, by, made)


def ephemeral(made: Body) -> bytes:
    return stuff("gate ephemeral " + sha256(made.encoded()).hex(), 32)


def put_token(comment: str, where: Site, number: int, by: Issuer, made: Body) -> Block:
    secret = ephemeral(made)
    token = create_token(where.public(number), number, secret, by.seed, made)
    back = open_token(where.id, where.secrets, made.mode, [by.public], 0, made.issued, token)
    if back != made:
        raise AssertionError("a token that opens to another body")
    header, raw = gate_header(where.id, number), made.encoded()
    block = case("gate_token", comment).put_all(
        gate_id=where.id,
        key_number=number,
        gate_secret=where.secrets[number],
        gate_public=where.public(number),
        issuer_seed=by.seed,
        issuer_public=by.public,
        ephemeral_secret=secret,
    )
    put_body(block, made)
    block.put_all(header=header, body=raw)
    block.put("signature", sign(by.seed, signed_bytes(where.public(number), header, raw)))
    return block.put("token", token)


def put_body(block: Block, made: Body) -> Block:
    """The fields of a body, but for gate and issuer."""
    return block.put_all(
        mode=made.mode,
        flags=made.flags,
        generation=made.generation,
        issued=made.issued,
        not_after=made.not_after,
        first_seen=made.first_seen,
        instance_id=made.instance_id,
        properties=made.properties,
        arc=made.arc,
        secret=made.secret,
        findings=made.findings,
        app=made.app,
    )


# Requests ------------------------------------------------------------------------------------------

BODY_TEXT = b'{"amount":100}'
PAY = Request(b"POST", b"https", b"api.example.com", b"/pay?to=7", sha256(BODY_TEXT), b"Bearer abc")


def requests() -> Iterator[Block]:
    empty = sha256(b"")
    get = Request(b"GET", b"https", b"api.example.com", b"/", empty)
    for request, comment in (
        (PAY, "a payment"),
        (get, "a GET: the body digest of no bytes, no authorization"),
        (replace(get, method=b"get"), "a method's case is kept"),
        (replace(get, method=b"M-SEARCH"), "another method"),
        (replace(get, scheme=b"http"), "http"),
        (replace(get, authority=b"api.example.com:8443"), "a port"),
        (replace(get, scheme=b"http", authority=b"api.example.com:443"), "a foreign default port"),
        (replace(get, authority=b"[2001:db8::1]"), "an IPv6 address"),
        (replace(get, authority=b"[2001:db8::1]:65535"), "an IPv6 address with the last port"),
        (replace(get, authority=b"xn--bcher-kva.example"), "an international name"),
        (replace(get, target=b"/?"), "a bare question mark is not nothing"),
        (replace(get, target=b"/a%20b+c?d=%E7%94%A8&e=+"), "percent signs and pluses as sent"),
        (replace(get, target=b"/a/../b//c"), "dot segments as sent: a gate's route refuses them"),
        (replace(get, target=b"*", method=b"OPTIONS"), "the asterisk"),
        (replace(get, target=b"/" + b"x" * 600), "a long target"),
        (replace(PAY, authorization="Basic ü\t".encode()), "an authorization of other bytes"),
    ):
        yield put_request(case("request", comment), request).put("digest", request.digest())


def put_request(block: Block, request: Request) -> Block:
    """Texts as hex, because hostile ones are no text."""
    return block.put_all(
        method=request.method,
        scheme=request.scheme,
        authority=request.authority,
        target=request.target,
        authorization=request.authorization,
        body_digest=request.body_digest,
    )


# Compact tokens ------------------------------------------------------------------------------------

ACCOUNT_KEY = stuff("account key", 32)
ACCOUNT = gate.account(ACCOUNT_KEY, b"user-4711")
SUBJECTS = {
    REQUEST: Subject(ACCOUNT, PAY.digest(), PAY.body_digest),
    BODY: Subject(ACCOUNT, sha256(BODY_TEXT), bytes(32)),
    EVENT: Subject(ACCOUNT, sha256(b"order 17"), bytes(32)),
}
NAMES = {REQUEST: "request", BODY: "body", EVENT: "event"}
FIRST = 0x89ABCDEF


def fields(kind: int, **other: int | bytes) -> Fields:
    """Fields that every strict rule accepts at START."""
    event = EVENT_NUMBER if kind == EVENT else 0
    now = gate.beacon(FRONT.beacon_key, START // 300)
    made = Fields(START, event, FIRST, 7, 0, 3, now)
    return replace(made, **other)  # type: ignore[arg-type]


def site_keys(kind: int, where: Site = FRONT, audience: bytes = AUDIENCE) -> gate.Keys:
    s = where.secret()
    if kind == EVENT:
        return gate.event_keys(s, GENERATION, audience)
    return gate.request_keys(s, GENERATION)


def compacts() -> Iterator[Block]:
    for kind, name in NAMES.items():
        yield put_compact(f"a {name}", kind, fields(kind))
        yield put_compact(f"a {name}: the next count", kind, fields(kind, count=8))
        guest = replace(SUBJECTS[kind], account=gate.NO_ACCOUNT)
        yield put_compact(f"a {name} without an account", kind, fields(kind), guest, 0)
        low = fields(kind, created=1, start=0, count=1, measured=0, beacon=gate.NO_BEACON)
        yield put_compact(f"a {name}: fields at their lower end", kind, low)
        top = fields(kind, created=2**32 - 1, start=2**32 - 1, count=2**32 - 1, flags=YOUNG)
        top = replace(top, measured=255, beacon=b"\xff" * 4, event=65535 if kind == EVENT else 0)
        yield put_compact(f"a {name}: fields at their upper end", kind, top, number=255)
        error = fields(kind, flags=ERROR | YOUNG, measured=4)
        yield put_compact(f"a {name} of an app in error state", kind, error)
    nothing = replace(SUBJECTS[EVENT], digest=gate.NO_DIGEST)
    yield put_compact("an event without business data", EVENT, fields(EVENT), nothing)
    for kind, cause in ((REQUEST, 1), (BODY, 2), (EVENT, 255)):
        random = stuff(f"error {kind}", 47)
        token = make_error(kind, cause, random)
        made = case("error_token", f"cause {cause}, without keys").put_all(kind=kind, cause=cause)
        yield made.put_all(random=b"\x00" + random, token=token).put("text", to_text(token))


def put_compact(
    comment: str, kind: int, made: Fields, subject: Subject | None = None, number: int = 3
) -> Block:
    subject, keys = subject or SUBJECTS[kind], site_keys(kind)
    token = make(kind, number, made, subject, keys)
    if not made.flags & ERROR and check(token, kind, subject, keys) != made:
        raise AssertionError("a token that says something else")
    return case("compact", comment).put_all(
        secret=FRONT.secret(),
        generation=GENERATION,
        audience=AUDIENCE,
        kind=kind,
        account_key=number,
        account=subject.account,
        digest=subject.digest,
        body_digest=subject.body,
        created=made.created,
        event=made.event,
        start=made.start,
        count=made.count,
        flags=made.flags,
        measured=made.measured,
        beacon=made.beacon,
        plain=plain_part(kind, made, subject, keys.generation),
        tag=token[42:],
        token=token,
        text=to_text(token),
    )
