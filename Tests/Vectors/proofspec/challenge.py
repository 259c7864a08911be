# SPDX-License-Identifier: Apache-2.0

"""Section 16: challenges, answers of kind proof, clearances, tickets and verdicts."""

import json
from dataclasses import dataclass

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
)
from nacl.exceptions import CryptoError

from .basics import Reader, Refused, is_zero, label, mac, same, sha256, u8, u16, u32
from .gate import decode_text, encode_text
from .own import Own, tag
from .request import Request

TOKEN, PROOF, WORK, MEMORY_WORK, PERSON = 5, 6, 7, 8, 9
CLEARANCE, TICKET, VERDICT = 0x1A, 0x1B, 0x1C
LIFE_MAX, SKEW = 3600, 30
ZEROS = bytes(32)


def refuse_if(condition: bool, word: str) -> None:
    if condition:
        raise Refused(word)


def app(handle: bytes) -> bytes:
    return b"\x01" + handle


def at_address(prefix: bytes) -> bytes:
    return b"\x02" + prefix


@dataclass(frozen=True)
class Challenge:
    kind: int
    level: int
    expiry: int
    route: int
    nonce: bytes


def binding(own: Own, request: bytes, client: bytes) -> bytes:
    return tag(own.challenge, "pfc1.binding....", request + client)


def make_challenge(own: Own, made: Challenge, request: bytes, client: bytes) -> bytes:
    body = u8(0x10 | made.kind) + u8(own.number) + u8(made.level) + b"\0"
    body += u32(made.expiry) + u32(made.route) + made.nonce + binding(own, request, client)
    return body + tag(own.challenge, "pfc1.challenge..", body)


def read_challenge(
    owns: list[Own], text: str, request: bytes, client: bytes, now: int, seen: set[bytes]
) -> Challenge:
    """Steps 1 to 10; `seen` has the names of the challenges that were answered."""
    raw = _decode(text, 80)
    refuse_if(raw[0] >> 4 != 1, "version")
    refuse_if(not TOKEN <= raw[0] & 15 <= PERSON, "kind")
    own = _own(owns, raw[1])
    refuse_if(not same(tag(own.challenge, "pfc1.challenge..", raw[:44]), raw[44:]), "tag")
    reader = Reader(raw[2:])
    level, _ = reader.uint(1), reader.uint(1)
    made = Challenge(raw[0] & 15, level, reader.uint(4), reader.uint(4), reader.take(16))
    _check_end(made.expiry, now)
    refuse_if(not same(binding(own, request, client), raw[28:44]), "subject")
    refuse_if(replay_name("pfc1.challenge..", raw) in seen, "spent")
    return made


def replay_name(name: str, raw: bytes) -> bytes:
    return sha256(label(name) + raw)[:24]


def _decode(text: str, count: int) -> bytes:
    refuse_if(len(text) != count, "text")
    try:
        return decode_text(text)
    except Refused:
        raise Refused("text") from None


def _own(owns: list[Own], number: int) -> Own:
    for own in owns:
        if own.number == number:
            return own
    raise Refused("key")


def _check_end(expiry: int, now: int) -> None:
    refuse_if(expiry < now, "expired")
    refuse_if(expiry > now + LIFE_MAX + SKEW, "ahead")


def make_proof(key: bytes, gate_id: bytes, challenge: bytes, request: Request) -> bytes:
    """The request has a body digest of zeros and no authorization."""
    assert request.body_digest == ZEROS and not request.authorization
    digest = sha256(label("pfc1.gate-proof.") + gate_id + challenge + request.digest())
    return mac(key, label("pfc1.mac-gproof.") + digest)


# Clearances ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clearance:
    kinds: int
    work: int
    memory_work: int
    flags: int
    expiry: int
    start: bytes
    serial: int
    host: bytes
    holder: bytes


def host_digest(authority: bytes) -> bytes:
    return sha256(label("pfc1.host.......") + authority)[:16]


def make_clearance(own: Own, made: Clearance, bound: bytes) -> bytes:
    body = u8(CLEARANCE) + u8(own.number) + u8(made.kinds) + u8(made.work | made.memory_work << 5)
    body += u16(made.flags) + u32(made.expiry) + made.start + u32(made.serial)
    body += host_digest(made.host) + made.holder
    return body + tag(own.clearance, "pfc1.clearance..", body + bound)


def read_clearance(
    owns: list[Own],
    text: str,
    authority: bytes,
    client: bytes,
    proven: bytes,
    as_cookie: bool,
    now: int,
) -> None:
    raw = _decode(text, 88)
    refuse_if(raw[0] != CLEARANCE, "kind")
    own = _own(owns, raw[1])
    is_app = raw[4] & 1
    bound = b"" if is_app else client
    refuse_if(not same(tag(own.clearance, "pfc1.clearance..", raw[:50] + bound), raw[50:]), "tag")
    reserved = raw[2] == 0 or raw[2] >> 5 or raw[4] & 0xFE or raw[5]
    refuse_if(bool(reserved or is_app and is_zero(raw[34:50])), "reserved")
    _check_end(int.from_bytes(raw[6:10], "little"), now)
    refuse_if(raw[18:34] != host_digest(authority), "host")
    refuse_if(bool(is_app and as_cookie), "place")
    refuse_if(bool(is_app and proven != raw[34:50]), "handle")


# Tickets -------------------------------------------------------------------------------------------


def make_ticket(own: Own, body: bytes, nonce: bytes) -> bytes:
    head = u8(TICKET) + u8(own.number) + bytes(2)
    data = label("pfc1.gate-ticket") + head + own.gate_id
    box = crypto_aead_xchacha20poly1305_ietf_encrypt(body, data, nonce, own.ticket)
    return head + nonce + box


def read_ticket(owns: list[Own], text: str, mode: int, floor: int, now: int) -> bytes:
    raw = _decode(text, 256)
    refuse_if(raw[0] != TICKET or raw[2:4] != bytes(2), "kind")
    own = _own(owns, raw[1])
    data = label("pfc1.gate-ticket") + raw[:4] + own.gate_id
    try:
        body = crypto_aead_xchacha20poly1305_ietf_decrypt(raw[28:], data, raw[4:28], own.ticket)
    except CryptoError:
        raise Refused("seal") from None
    refuse_if(body[107] != mode, "mode")
    refuse_if(int.from_bytes(body[124:132], "little") < now, "expired")
    refuse_if(int.from_bytes(body[116:124], "little") < floor, "superseded")
    return body


# Verdicts ------------------------------------------------------------------------------------------


def make_verdict(own: Own, authority: bytes, said: dict) -> str:
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    raw = u8(VERDICT) + u8(own.number) + text.encode()
    tagged = mac(own.verdict(authority), label("pfc1.verdict....") + raw)
    return encode_text(raw) + "." + encode_text(tagged)
