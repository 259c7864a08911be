"""Runs one hostile case, as its block says, through the Python implementation."""

from blocks import Block
from proofspec.basics import Refused
from proofspec.config import decode_config
from proofspec.curves import hardware_public
from proofspec.evidence import Record
from proofspec.frame import COMPLETE, Receiver
from proofspec.measurement import measure
from proofspec.message import parse, parse_recall
from proofspec.order import open_order
from proofspec.proof import Occasion, check_digest, escort, proof, recall_tag, receipt
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
}
