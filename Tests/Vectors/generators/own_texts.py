# SPDX-License-Identifier: Apache-2.0

"""Section 16: the texts of own.txt, and the answers of work.txt."""

from collections.abc import Iterator
from dataclasses import replace

from blocks import Block, case
from proofspec import challenge as ch
from proofspec import gate, work
from proofspec.basics import sha256, u8, u32, u64
from proofspec.gate import encode_text
from proofspec.own import Own
from proofspec.request import Request

from .gates import BODY_TEXT, FRONT
from .world import START, stuff

HANDLE = gate.handle(FRONT.secret())
ADDRESSES = {"an IPv4 address": b"192.0.2.1", "an IPv6 address": b"2001:db8:0:7"}
PAY = Request(b"POST", b"https", b"api.example.com", b"/pay?to=7", sha256(BODY_TEXT))
UNSEEN = replace(PAY, body_digest=ch.ZEROS)
APP, GUEST = ch.app(HANDLE), ch.at_address(ADDRESSES["an IPv4 address"])
NONCE = stuff("nonce of a challenge", 16)

# Another implementation found these; the second one checks them.
PAIRING_ID = u8(0x18) + u8(1) + u8(2) + u8(0) + stuff("challenge of kind work (b)", 56)
PAIRINGS = bytes.fromhex(
    "01002c6390a40f89c665937cabecc54a748a12862a761f7c710833fa69743c6823b8733571308f15eb5f"
    "00008f513035775c2d91ce395dfa30115b87cf52fd41935390c5402a44d25b467e4af25e75422ab40361"
)
PUZZLE_ID = u8(0x17) + u8(1) + u8(8) + u8(0) + stuff("challenge of kind work (a)", 56)


def put_own(block: Block, own: Own) -> Block:
    return block.put_all(own_secret=own.secret, gate_id=own.gate_id, number=own.number)


def put_place(block: Block, request: Request) -> Block:
    return block.put_all(
        method=request.method,
        scheme=request.scheme,
        authority=request.authority,
        target=request.target,
    )


def challenge(kind: int = ch.PERSON, level: int = 0, **other: int | bytes) -> ch.Challenge:
    made = ch.Challenge(kind, level, START + 60, 7, NONCE)
    return replace(made, **other)  # type: ignore[arg-type]


def clearance(**other: int | bytes) -> ch.Clearance:
    made = ch.Clearance(
        kinds=0b10100,
        work=14,
        memory_work=0,
        flags=0,
        expiry=START + 900,
        start=stuff("start of a process", 4),
        serial=0x01020304,
        host=PAY.authority,
        holder=stuff("session", 16),
    )
    return replace(made, **other)  # type: ignore[arg-type]


def ticket_body(flags: int = 0, mode: int = 1, issued: int = START) -> bytes:
    body = FRONT.secret() + stuff("instance of a ticket", 16) + stuff("app digest", 16)
    body += bytes((2, 5, 3, 1)) + bytes(28) + b"ABCDEFGH27" + u8(flags) + u8(mode)
    body += u32(0x10203) + u32(1 << 16) + u64(issued) + u64(issued + 3600) + u64(issued - 86400)
    return body + stuff("issuer of a ticket", 8)


def texts(first: Own) -> Iterator[Block]:
    yield from _challenges(first)
    yield from _clearances(first)
    yield from _tickets(first)
    yield from _verdicts(first)


def answers() -> Iterator[Block]:
    """work.txt."""
    yield from _proofs()
    yield from _work()


def _challenges(own: Own) -> Iterator[Block]:
    levels = {ch.WORK: 14, ch.MEMORY_WORK: 2}
    cases = [(kind, UNSEEN, GUEST, f"kind {kind}") for kind in range(ch.TOKEN, ch.PERSON + 1)]
    cases += [(ch.PROOF, PAY, APP, "for an app, with the body's digest")]
    for name, prefix in ADDRESSES.items():
        cases.append((ch.PERSON, PAY, ch.at_address(prefix), f"for {name}"))
    for kind, request, client, comment in cases:
        made = challenge(kind, levels.get(kind, 0))
        raw = ch.make_challenge(own, made, request.digest(), client)
        text = encode_text(raw)
        if ch.read_challenge([own], text, request.digest(), client, START, set()) != made:
            raise AssertionError("a challenge that says something else")
        block = put_place(put_own(case("challenge", comment), own), request)
        block.put_all(body_digest=request.body_digest, client=client, kind=kind, level=made.level)
        block.put_all(expiry=made.expiry, route=made.route, nonce=made.nonce, now=START)
        block.put_all(binding=raw[28:44], id=raw, text=text)
        yield block.put("replay_key", ch.replay_name("pfc1.challenge..", raw))


def _proofs() -> Iterator[Block]:
    get = replace(UNSEEN, method=b"GET", target=b"/", authority=b"shop.example.com:8443")
    for request, comment in ((UNSEEN, "a payment"), (get, "a GET with a port")):
        raw = u8(0x16) + stuff("challenge of kind proof", 59)
        proof = ch.make_proof(gate.proof_key(FRONT.secret()), FRONT.id, raw, request)
        block = case("gate_proof", comment).put_all(secret=FRONT.secret(), gate_id=FRONT.id, id=raw)
        yield put_place(block, request).put("proof", proof)


def _work() -> Iterator[Block]:
    solution = work.solve_puzzles(PUZZLE_ID, 8)
    work.check_puzzles(PUZZLE_ID, 8, solution)
    block = case("puzzle", "the lowest counters that solve 16 puzzles").put_all(id=PUZZLE_ID, level=8)
    yield block.put_all(seed=work.seed_of(PUZZLE_ID), solution=solution)
    work.check_pairings(PAIRING_ID, 2, PAIRINGS)
    yield case("pairing", "two birthday problems").put_all(
        id=PAIRING_ID, level=2, solution=PAIRINGS
    )


def _clearances(own: Own) -> Iterator[Block]:
    of_app = clearance(flags=1, kinds=0b10, work=0, holder=HANDLE)
    top = clearance(kinds=0b11111, work=24, memory_work=7, serial=2**32 - 1)
    for made, client, comment in (
        (clearance(), GUEST, "a session's, for work and a person"),
        (of_app, APP, "an app's, for a proof"),
        (top, GUEST, "fields at their upper end"),
    ):
        bound = b"" if made.flags else client
        raw = ch.make_clearance(own, made, bound)
        proven = HANDLE if made.flags else b""
        ch.read_clearance([own], encode_text(raw), made.host, client, proven, False, START)
        block = put_own(case("clearance", comment), own).put_all(
            authority=made.host,
            client=client,
            kinds=made.kinds,
            work_level=made.work,
            memory_work_level=made.memory_work,
            flags=made.flags,
            expiry=made.expiry,
            start=made.start,
            serial=made.serial,
            holder=made.holder,
        )
        block.put_all(now=START, clearance=raw, text=encode_text(raw))
        yield block.put("replay_key", ch.replay_name("pfc1.clearance..", raw))


def _tickets(own: Own) -> Iterator[Block]:
    for flags, comment in ((0, "a ticket"), (3, "of an app that failed, and was decided about")):
        body, nonce = ticket_body(flags), stuff(f"nonce of ticket {flags}", 24)
        raw = ch.make_ticket(own, body, nonce)
        if ch.read_ticket([own], encode_text(raw), 1, 0, START) != body:
            raise AssertionError("a ticket that opens to another body")
        block = put_own(case("ticket", comment), own).put_all(nonce=nonce, body=body, now=START)
        yield block.put("text", encode_text(raw))


def _verdicts(own: Own) -> Iterator[Block]:
    said: dict = {"at": START, "id": "r1", "rule": "pay", "pass": True}
    app = {
        "handle": encode_text(HANDLE),
        "failed": False,
        "forced": False,
        "anchored": True,
        "properties": 1 << 16,
        "seen": START - 86400,
        "findings": ["3.1"],
        "arc": "ABCDEFGH27",
    }
    full = {**said, "body": encode_text(PAY.body_digest), "solved": ["work", "person"], "app": app}
    bare = {**said, "pass": False, "why": 'no "proof" \\ ü'}
    for more, request, comment in (
        (full, PAY, "an app's request that passed"),
        (bare, UNSEEN, "a refused one without a proof"),
    ):
        digest = request.digest()
        more = {**more, "request": encode_text(digest)}
        text = ch.make_verdict(own, request.authority, more)
        block = put_place(put_own(case("verdict", comment), own), request)
        yield block.put_all(body_digest=PAY.body_digest, now=START, text=text)
