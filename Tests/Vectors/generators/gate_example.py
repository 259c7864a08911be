# SPDX-License-Identifier: Apache-2.0

"""The worked example of docs/SPEC.md, section 15: a gate token, a request and an event."""

from proofspec import gate
from proofspec.basics import PRODUCTION, sha256
from proofspec.compact import (
    EVENT,
    REQUEST,
    Fields,
    Rules,
    Subject,
    check,
    judge,
    make,
    plain_part,
    to_text,
)
from proofspec.curves import hardware_public, sign
from proofspec.gate_token import Body, create_token, open_token, signed_bytes, token_header
from proofspec.request import Request

from .example import Page
from .world import START, Issuer, stuff

MPK, IM = stuff("example mpk", 16), stuff("example gate im", 32)
GATE, INSTANCE = stuff("example gate id", 16), stuff("example instance", 16)
AUDIENCE, GENERATION = stuff("example audience", 16), 5


def example() -> str:
    page = Page()
    s = _keys(page)
    _token(page, s)
    beacon = _beacon(page)
    _request(page, s, beacon)
    _event(page, s, beacon)
    return page.text()


def _keys(page: Page) -> bytes:
    s = gate.secret(MPK, IM, GATE, INSTANCE, GENERATION)
    plain, events = gate.request_keys(s, GENERATION), gate.event_keys(s, GENERATION, AUDIENCE)
    page.say("**Keys** of an app at a gate, generation 5.")
    page.show("MPK", MPK)
    page.show("IM", IM)
    page.show("gate id", GATE)
    page.show("instance id", INSTANCE)
    page.show("S", s)
    page.show("handle", gate.handle(s))
    page.show("standard form's key", gate.standard_key(s))
    page.show("proof challenge's key", gate.proof_key(s))
    page.show("compact form: tag key", plain.tag)
    page.show("compact form: mask key", plain.mask)
    page.show("audience", AUDIENCE)
    page.show("event: tag key", events.tag)
    page.show("event: mask key", events.mask)
    return s


def _token(page: Page, s: bytes) -> None:
    issuer, secret = Issuer(stuff("example gate issuer", 32)), stuff("example gate secret", 32)
    public, ephemeral = hardware_public(secret), stuff("example gate ephemeral", 32)
    body = Body(
        mode=PRODUCTION,
        flags=0,
        generation=GENERATION,
        issued=START,
        not_after=START + 3600,
        first_seen=START - 86400,
        gate_id=GATE,
        instance_id=INSTANCE,
        issuer_id=issuer.id,
        properties=1 << 16,
        arc=b"ABCDEFGH27",
        secret=s,
        findings=bytes((3, 1)) + bytes(30),
        app=stuff("example app digest", 16),
    )
    token = create_token(public, 1, ephemeral, issuer.seed, body)
    open_token(GATE, {1: secret}, PRODUCTION, [issuer.public], 0, START, token)
    header = token_header(GATE, 1)
    page.say(
        "**Gate token** for an hour, sealed to the gate's key number 1: property 16, one finding "
        "(class 3, number 1), first seen a day before."
    )
    page.show("issuer's seed", issuer.seed)
    page.show("gate's secret key", secret)
    page.show("gate's public key", public)
    page.show("ephemeral secret key", ephemeral)
    page.show("header", header)
    page.show("body", body.encoded())
    page.show("signature", sign(issuer.seed, signed_bytes(public, header, body.encoded())))
    page.show("GATE TOKEN", token)


def _beacon(page: Page) -> bytes:
    own = stuff("example gate's own secret", 32)
    key = gate.beacon_key(own, GATE, 1)
    message = gate.beacon_message(key, START)
    page.say(f"**Beacon** at {START}, from the gate's own secret number 1.")
    page.show("own secret", own)
    page.show("beacon key", key)
    page.show("message", message)
    page.show("Proof-Time", gate.encode_text(message))
    return message[5:]


def _show(page: Page, kind: int, fields: Fields, subject: Subject, keys: gate.Keys) -> None:
    token = make(kind, 1, fields, subject, keys)
    found = check(token, kind, subject, keys)
    judge(found, Rules(START + 5, 60, 0, fields.event, 10, False, [fields.beacon]))
    page.show("account", subject.account)
    page.show("plain", plain_part(kind, fields, subject, keys.generation))
    page.show("tag", token[42:])
    page.show("token", token)
    page.show("in a header", to_text(token))


def _request(page: Page, s: bytes, beacon: bytes) -> None:
    body = b'{"amount":100}'
    request = Request(
        b"POST", b"https", b"api.example.com", b"/pay?to=7", sha256(body), b"Bearer abc"
    )
    key = stuff("example account key", 32)
    account = gate.account(key, b"user-4711")
    page.say(
        "**Request**: `POST https://api.example.com/pay?to=7` with the body `{\"amount\":100}` and "
        "the authorization `Bearer abc`, for the account `user-4711` under account key 1. The "
        "app measured 3 s before, and it is its first token since start 89abcdef."
    )
    page.show("account key", key)
    page.show("body digest", request.body_digest)
    page.show("SHA256(authorization)", sha256(request.authorization))
    page.show("request digest", request.digest())
    fields = Fields(START, 0, 0x89ABCDEF, 1, 0, 3, beacon)
    subject = Subject(account, request.digest(), request.body_digest)
    _show(page, REQUEST, fields, subject, gate.request_keys(s, GENERATION))


def _event(page: Page, s: bytes, beacon: bytes) -> None:
    account = gate.account(stuff("example account key", 32), b"user-4711")
    page.say("**Event** 3300 for the same account, with the business data `order 17`, count 2.")
    fields = Fields(START + 1, 3300, 0x89ABCDEF, 2, 0, 4, beacon)
    subject = Subject(account, sha256(b"order 17"), bytes(32))
    page.show("digest", subject.digest)
    _show(page, EVENT, fields, subject, gate.event_keys(s, GENERATION, AUDIENCE))
