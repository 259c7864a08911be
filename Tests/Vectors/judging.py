# SPDX-License-Identifier: Apache-2.0

"""Runs one hostile case, as its block says, through the Python implementation."""

from blocks import Block
from proofspec import challenge, channel, compact, curves, gate, gate_token, grant, log, sealed, work
from proofspec.basics import Refused
from proofspec.config import decode_config
from proofspec.curves import hardware_public
from proofspec.evidence import Record
from proofspec.frame import COMPLETE, Receiver
from proofspec.keys import Secrets
from proofspec.measurement import measure
from proofspec.message import parse, parse_recall
from proofspec.order import open_order
from proofspec.own import Own
from proofspec.proof import Occasion, check_digest, escort, proof, recall_tag, receipt
from proofspec.request import Request
from proofspec.stored import decode_loan
from proofspec.token import open_token

VALID = "none"


def refusal(block: Block) -> str:
    """The word with which the case is refused; VALID if it is not."""
    try:
        _JUDGES[block.word("block")](block)
    except Refused as refused:
        return refused.word
    return VALID


def parse_records(block: Block, versions: dict[tuple[int, int], int]) -> list[Record]:
    """The record lines; the version of a source not asked for does not matter."""
    made = []
    for line in block.all("record"):
        cls, number, digest, name = line.split(" ")
        source = (int(cls), int(number))
        seen = None if digest == "absent" else bytes.fromhex(digest)
        made.append(Record(*source, versions.get(source, 1), bytes.fromhex(name), seen))
    return made


def _issuers(block: Block) -> list[bytes]:
    return [bytes.fromhex(v) for v in block.all("issuer")]


def _open_log_entry(block: Block) -> None:
    log.open_entry(
        block.bytes("key"), block.int("number"), block.bytes("hardware_id"), block.bytes("entry")
    )


def _read_log_page(block: Block) -> None:
    log.decode_page(log.store_key(block.bytes("hardware_secret")), block.bytes("bytes"))


def _read_log_key_record(block: Block) -> None:
    log.decode_key_record(log.store_key(block.bytes("hardware_secret")), block.bytes("bytes"))


def sealed_facts(block: Block) -> sealed.Facts:
    names = ("hardware_id", "instance_id", "token_digest", "dpk")
    lock_key = curves.hardware_public(block.bytes("lock_secret"))
    return sealed.Facts(
        *(block.bytes(name) for name in names), lock_key, block.bytes("challenge"), block.int("counter")
    )


def own_secrets(block: Block) -> Secrets:
    return Secrets(*(block.bytes(name) for name in ("k", "im", "dpk", "dm")))


def _open_grant(block: Block) -> None:
    grant.read(block.bytes("grant"), block.bytes("hardware_id"))
    grant.check(block.bytes("grant"), own_secrets(block), block.bytes("token_digest"))


def _read_loan(block: Block) -> None:
    decode_loan(block.bytes("bytes"))


def _open_sealed_command(block: Block) -> None:
    sealed.open_command(sealed_facts(block), block.bytes("lock_secret"), block.bytes("message"))


def _open_channel_command(block: Block) -> None:
    channel.open_up(block.bytes("chain"), block.bytes("message"))


def _open_sealed_down(block: Block) -> None:
    sealed.open_down(block.bytes("key"), block.int("counter"), block.bytes("message"))


def _read_log_message(block: Block) -> None:
    log.decode_log(block.bytes("message"))


def _read_config(block: Block) -> None:
    decode_config(block.bytes("config"))


def _measure(block: Block) -> None:
    config = decode_config(block.bytes("config"))
    versions = {(s.cls, s.number): s.version for s in config.sources}
    measure(block.bytes("mpk"), config, parse_records(block, versions))


def _open_token(block: Block) -> None:
    secret = block.bytes("hardware_secret")
    open_token(
        block.bytes("hardware_id"),
        secret,
        hardware_public(secret),
        block.int("mode"),
        bool(block.int("literal")),
        _issuers(block),
        block.bytes("token"),
        b"".join(bytes.fromhex(v) for v in block.all("factory_secret")),
    )


def _open_order(block: Block) -> None:
    open_order(block.bytes("hardware_id"), _issuers(block), block.bytes("order"))


def _occasion(block: Block) -> Occasion:
    return Occasion(
        block.bytes("hardware_id"),
        block.bytes("challenge"),
        block.int("counter"),
        block.int("kind"),
        block.int("class"),
        block.bytes("command"),
    )


def _check_proof(block: Block) -> None:
    nonce = _occasion(block).nonce()
    expected = proof(block.bytes("key"), nonce, block.bytes("measurement"))
    check_digest(expected, block.bytes("proof"))


def _check_escort(block: Block) -> None:
    nonce = escort(_occasion(block).nonce(), block.bytes("integrity_proof"))
    expected = proof(block.bytes("key"), nonce, block.bytes("measurement"))
    check_digest(expected, block.bytes("proof"))


def _check_receipt(block: Block) -> None:
    expected = receipt(
        block.bytes("dpk_hw"),
        block.bytes("nonce"),
        block.int("verdict"),
        block.int("detail"),
        block.int("counter"),
    )
    check_digest(expected, block.bytes("receipt"))


def _check_recall(block: Block) -> None:
    r = parse_recall(block.bytes("message"))
    expected = recall_tag(block.bytes("dpk_hw"), r.instance_id, r.counter, r.nonce)
    check_digest(expected, r.tag)


def _parse_message(block: Block) -> None:
    parse(block.int("type"), block.bytes("message"))


def _reassemble(block: Block) -> None:
    """Every outcome must be as written; refused only if no message came through."""
    receiver, seen, delivered = Receiver(), "", 0
    for name, value in block.lines:
        if name == "packet":
            seen = receiver.receive(bytes.fromhex(value))
            delivered += seen == COMPLETE
        elif name == "outcome" and value != seen:
            raise AssertionError(f"{block.word('comment')}: {seen} instead of {value}")
        elif name == "type" and int(value) != receiver.type:
            raise AssertionError(f"{block.word('comment')}: another type")
        elif name == "message" and bytes.fromhex(value) != receiver.message:
            raise AssertionError(f"{block.word('comment')}: another message")
    if not delivered:
        raise Refused("incomplete")


def _open_gate_token(block: Block) -> None:
    keys = [value.split(" ") for value in block.all("gate_key")]
    gate_token.open_token(
        block.bytes("gate_id"),
        {int(number): bytes.fromhex(secret) for number, secret in keys},
        block.int("mode"),
        _issuers(block),
        block.int("floor"),
        block.int("now"),
        block.bytes("token"),
    )


def _read_beacon(block: Block) -> None:
    gate.read_beacon(block.bytes("message"))


def compact_keys(block: Block) -> gate.Keys:
    """From `secret`, `generation`, `audience` and `kind`."""
    s, generation = block.bytes("secret"), block.int("generation")
    if block.int("kind") == compact.EVENT:
        return gate.event_keys(s, generation, block.bytes("audience"))
    return gate.request_keys(s, generation)


def compact_subject(block: Block) -> compact.Subject:
    return compact.Subject(
        block.bytes("account"), block.bytes("digest"), block.bytes("body_digest")
    )


def _check_compact(block: Block) -> None:
    token = compact.from_text(block.word("text"))
    kind, now = block.int("kind"), block.int("now")
    found = compact.check(token, kind, compact_subject(block), compact_keys(block))
    rules = compact.Rules(
        now,
        block.int("window"),
        block.int("newest"),
        block.int("event"),
        block.int("measured_max"),
        bool(block.int("unanchored")),
        gate.valid_beacons(block.bytes("beacon_key"), now),
    )
    compact.judge(found, rules)


def request_of(block: Block) -> Request:
    """From `method` to `body_digest`."""
    names = ("method", "scheme", "authority", "target", "body_digest", "authorization")
    return Request(*(block.bytes(name) for name in names))


def _read_request(block: Block) -> None:
    request_of(block).digest()


def _owns(block: Block) -> list[Own]:
    return [Own(block.bytes("own_secret"), block.bytes("gate_id"), block.int("number"))]


def _read_challenge(block: Block) -> None:
    names = ("method", "scheme", "authority", "target", "body_digest")
    request = Request(*(block.bytes(name) for name in names)).digest()
    client, now = block.bytes("client"), block.int("now")
    challenge.read_challenge(_owns(block), block.word("text"), request, client, now, set())


def _read_clearance(block: Block) -> None:
    challenge.read_clearance(
        _owns(block),
        block.word("text"),
        block.bytes("authority"),
        block.bytes("client"),
        block.bytes("proven"),
        bool(block.int("cookie")),
        block.int("now"),
    )


def _read_ticket(block: Block) -> None:
    mode, floor, now = block.int("mode"), block.int("floor"), block.int("now")
    challenge.read_ticket(_owns(block), block.word("text"), mode, floor, now)


def _check_puzzles(block: Block) -> None:
    work.check_puzzles(block.bytes("id"), block.int("level"), block.bytes("solution"))


def _check_pairings(block: Block) -> None:
    work.check_pairings(block.bytes("id"), block.int("level"), block.bytes("solution"))


_JUDGES = {
    "read_config": _read_config,
    "measure": _measure,
    "open_token": _open_token,
    "open_order": _open_order,
    "check_proof": _check_proof,
    "check_escort": _check_escort,
    "check_receipt": _check_receipt,
    "check_recall": _check_recall,
    "parse_message": _parse_message,
    "reassemble": _reassemble,
    "open_gate_token": _open_gate_token,
    "read_beacon": _read_beacon,
    "check_compact": _check_compact,
    "read_request": _read_request,
    "read_challenge": _read_challenge,
    "read_clearance": _read_clearance,
    "read_ticket": _read_ticket,
    "open_log_entry": _open_log_entry,
    "read_log_page": _read_log_page,
    "read_log_key_record": _read_log_key_record,
    "read_log_message": _read_log_message,
    "open_sealed_command": _open_sealed_command,
    "open_sealed_down": _open_sealed_down,
    "open_channel_command": _open_channel_command,
    "open_grant": _open_grant,
    "read_loan": _read_loan,
    "check_puzzles": _check_puzzles,
    "check_pairings": _check_pairings,
}
