#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Verifies what another implementation made: README.md, "Producers"."""

import sys
from pathlib import Path

from blocks import Block, read
from judging import compact_keys, compact_subject, own_secrets, parse_records, request_of, sealed_facts
from proofspec import channel, compact, curves, gate, gate_token, grant, log, sealed
from proofspec.baseline import make_config
from proofspec.basics import Refused
from proofspec.config import Source, decode_config
from proofspec.curves import hardware_public
from proofspec.frame import COMPLETE, MORE, Receiver, fragments
from proofspec.keys import LITERAL, Secrets, issuer_id
from proofspec.measurement import measure
from proofspec.message import NO_RECEIPT, Verdict, make_command, make_recall, parse_answer
from proofspec.order import open_order
from proofspec.proof import Occasion, receipt
from proofspec.token import open_token, token_digest

# The verdicts that carry a receipt, by what they answer; section 10's table.
PROVED = {
    "token": {Verdict.HELD, Verdict.READY},
    "command": {
        Verdict.ACCEPTED,
        Verdict.ACCEPTED_DEVICE_ONLY,
        Verdict.ACCEPTED_COPY,
        Verdict.ACCEPTED_DEVICE_ONLY_COPY,
        Verdict.COPIED,
        Verdict.INTEGRITY_DIFFERS,
        Verdict.DEVICE_DIFFERS,
        Verdict.NOT_PERMITTED,
        Verdict.ATTEMPTS_EXHAUSTED,
        Verdict.USES_EXHAUSTED,
        Verdict.EXPIRED,
    },
    "recall": {
        Verdict.ACCEPTED,
        Verdict.ACCEPTED_DEVICE_ONLY,
        Verdict.ACCEPTED_COPY,
        Verdict.ACCEPTED_DEVICE_ONLY_COPY,
        Verdict.NOT_EXECUTED,
        Verdict.STALE,
    },
    "order": set(),
    "ask": set(),
    "other": set(),
}


class Difference(Exception):
    """Another implementation's result differs from the page."""


def equal(what: str, here: object, there: object) -> None:
    if here != there:
        raise Difference(f"{what}: {_shown(there)} should be {_shown(here)}")


def _shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def made_config(b: Block) -> None:
    sources = [Source(*map(int, line.split(" "))) for line in b.all("source")]
    versions = {(s.cls, s.number): s.version for s in sources}
    config = make_config(
        b.int("mode"),
        b.int("policy"),
        b.int("generation"),
        b.int("limit"),
        b.bytes("mpk"),
        b.bytes("salt"),
        sources,
        parse_records(b, versions),
    )
    equal("config", config.encoded(), b.bytes("config"))
    equal("decoded", config, decode_config(b.bytes("config")))


def made_measurement(b: Block) -> None:
    config = decode_config(b.bytes("config"))
    versions = {(s.cls, s.number): s.version for s in config.sources}
    found = measure(b.bytes("mpk"), config, parse_records(b, versions))
    equal("im", found.im, b.bytes("im"))
    equal("dpk", found.dpk, b.bytes("dpk"))
    equal("dm", found.dm, b.bytes("dm"))


def _own(b: Block) -> Secrets:
    return Secrets(b.bytes("mpk"), b.bytes("im"), b.bytes("dpk"), b.bytes("dm"))


def made_token(b: Block) -> None:
    where, secret, form = b.bytes("hardware_id"), b.bytes("hardware_secret"), b.int("form")
    issuer, token = b.bytes("issuer_public"), b.bytes("token")
    body = open_token(
        where,
        secret,
        hardware_public(secret),
        b.int("mode"),
        form == LITERAL,
        [issuer],
        token,
        b.bytes("factory_secret"),
    )
    for name in (
        "mode",
        "form",
        "integrity_classes",
        "device_classes",
        "attempts",
        "uses",
        "generation",
        "not_after",
        "issued",
        "version",
        "policy",
        "delegable_classes",
        "base",
    ):
        equal(name, getattr(body, name), b.int(name))
    equal("hardware_id", body.hardware_id, where)
    equal("instance_id", body.instance_id, b.bytes("instance_id"))
    equal("issuer_id", issuer_id(issuer), body.issuer_id)
    equal("secrets", _own(b).in_form(form, where).encoded(), body.secrets.encoded())
    equal("digest", token_digest(token), b.bytes("digest"))


def made_order(b: Block) -> None:
    here = b.bytes("hardware_id")
    order = open_order(here, [b.bytes("issuer_public")], b.bytes("order"))
    equal("type", order.type, b.int("type"))
    equal("issued", order.issued, b.int("issued"))
    equal("hardware_id", order.hardware_id, here)
    equal("instance_id", order.instance_id, b.bytes("instance_id"))
    equal("generation", order.generation, b.int("generation"))


def made_command(b: Block) -> None:
    occasion = Occasion(
        b.bytes("hardware_id"),
        b.bytes("challenge"),
        b.int("counter"),
        b.int("kind"),
        b.int("class"),
        b.bytes("command"),
    )
    secrets = _own(b).in_form(b.int("form"), occasion.hardware_id)
    made = make_command(
        occasion, b.bytes("instance_id"), secrets, b.bytes("ratchet"), b.int("known")
    )
    equal("message", made.encoded(), b.bytes("message"))


def made_answer(b: Block) -> None:
    answer, to = parse_answer(b.bytes("message")), b.word("answer_to")
    equal("verdict", answer.verdict, b.int("verdict"))
    equal("detail", answer.detail, b.int("detail"))
    equal("counter", answer.counter, b.int("counter"))
    if Verdict(answer.verdict) not in PROVED[to]:
        equal("no receipt", NO_RECEIPT, answer.receipt)
        return
    key, nonce = b.bytes("dpk_hw"), b.bytes("nonce")
    right = receipt(key, nonce, answer.verdict, answer.detail, answer.counter)
    equal("receipt", right, answer.receipt)
    if to == "token":
        equal("counter", 0, answer.counter)


def made_recall(b: Block) -> None:
    made = make_recall(
        b.bytes("dpk_hw"), b.bytes("instance_id"), b.int("counter"), b.bytes("nonce")
    )
    equal("message", made.encoded(), b.bytes("message"))


def made_frames(b: Block) -> None:
    type, message = b.int("type"), b.bytes("message")
    there = [bytes.fromhex(v) for v in b.all("fragment")]
    equal("fragments", fragments(type, message, b.int("packet")), there)
    receiver = Receiver()
    outcomes = [receiver.receive(packet) for packet in there]
    equal("outcomes", [MORE] * (len(there) - 1) + [COMPLETE], outcomes)
    equal("reassembled", (type, message), (receiver.type, receiver.message))


def made_gate_keys(b: Block) -> None:
    generation, audience = b.int("generation"), b.bytes("audience")
    where, who = b.bytes("gate_id"), b.bytes("instance_id")
    s = gate.secret(b.bytes("mpk"), b.bytes("im"), where, who, generation)
    plain, events = gate.request_keys(s, generation), gate.event_keys(s, generation, audience)
    equal("secret", s, b.bytes("secret"))
    equal("handle", gate.handle(s), b.bytes("handle"))
    equal("request_key", gate.standard_key(s), b.bytes("request_key"))
    equal("proof_key", gate.proof_key(s), b.bytes("proof_key"))
    equal("compact_key", plain.tag, b.bytes("compact_key"))
    equal("mask_key", plain.mask, b.bytes("mask_key"))
    equal("event_key", events.tag, b.bytes("event_key"))
    equal("event_mask_key", events.mask, b.bytes("event_mask_key"))


def made_beacon(b: Block) -> None:
    key = gate.beacon_key(b.bytes("own_secret"), b.bytes("gate_id"), b.int("number"))
    equal("message", gate.beacon_message(key, b.int("time")), b.bytes("message"))


def made_gate_token(b: Block) -> None:
    body = gate_token.open_token(
        b.bytes("gate_id"),
        {b.int("key_number"): b.bytes("gate_secret")},
        b.int("mode"),
        [b.bytes("issuer_public")],
        0,
        b.int("issued"),
        b.bytes("token"),
    )
    for name in ("flags", "generation", "issued", "not_after", "first_seen", "properties"):
        equal(name, getattr(body, name), b.int(name))
    for name in ("instance_id", "arc", "secret", "findings", "app"):
        equal(name, getattr(body, name), b.bytes(name))


def made_request(b: Block) -> None:
    equal("digest", request_of(b).digest(), b.bytes("digest"))


def made_compact(b: Block) -> None:
    fields = compact.Fields(
        b.int("created"),
        b.int("event"),
        b.int("start"),
        b.int("count"),
        b.int("flags"),
        b.int("measured"),
        b.bytes("beacon"),
    )
    kind, subject, keys = b.int("kind"), compact_subject(b), compact_keys(b)
    equal("token", compact.make(kind, b.int("account_key"), fields, subject, keys), b.bytes("token"))
    equal("text", compact.to_text(b.bytes("token")), b.word("text"))
    equal("read", compact.check(compact.from_text(b.word("text")), kind, subject, keys), fields)


def made_log(b: Block) -> None:
    """A LOG with all entries of a lock, and what each one says."""
    drawn, where = b.bytes("drawn"), b.bytes("hardware_id")
    key, found = log.first_key(drawn, where), []
    message, nonce = b.bytes("message"), b.bytes("nonce")
    reading = log.Reading(key, 0, where, lambda what, at, count: found.append(f"{what} {at} {count}"))
    reading.take(nonce, message)
    equal("findings", found, b.all("finding"))
    equal("outcome", reading.close(), b.word("outcome"))
    sent = log.decode_log(message)
    equal("message", sent.encoded(log.steps(key, sent.next), nonce), message)
    equal("ask", log.ask(sent.first, nonce), b.bytes("ask"))
    for content in b.all("content"):
        number, event, verdict, undone, cls, kind, flags, who, epoch, counter = content.split(" ")
        numbers = (int(event), int(verdict), int(undone), int(cls), int(kind), int(flags))
        written = log.Content(*numbers, bytes.fromhex(who), int(epoch), int(counter))
        here = log.open_entry(log.steps(key, int(number)), int(number), where, sent.entries[int(number)])
        equal(f"entry {number}", here, written)


def made_log_store(b: Block) -> None:
    key = log.store_key(b.bytes("hardware_secret"))
    equal("page", log.encode_page(key, b.int("number")), b.bytes("page"))
    record = log.KeyRecord(
        b.int("sequence"),
        b.int("number"),
        b.int("acknowledged"),
        b.int("undone"),
        b.int("flags"),
        b.bytes("key"),
    )
    equal("key record", log.encode_key_record(key, record), b.bytes("key_record"))


def made_sealed_command(b: Block) -> None:
    """A sealed command and its answer, byte for byte."""
    facts, secrets = sealed_facts(b), Secrets(*(b.bytes(name) for name in ("k", "im", "dpk", "dm")))
    cls, text, message, kind = b.int("class"), b.bytes("command"), b.bytes("message"), b.int("kind")
    asked = sealed.encode_challenge(facts.counter, facts.challenge, facts.lock_key)
    equal("challenge", asked, b.bytes("asked"))
    ephemeral = b.bytes("ephemeral")
    head = sealed.make_head(facts, kind, curves.hardware_public(ephemeral))
    inside = sealed.inside(facts, head, cls, text, secrets, b.bytes("ratchet"), b.int("known"))
    equal("message", sealed.seal(facts, head, ephemeral, inside.encoded()), message)
    equal("opened", sealed.open_command(facts, b.bytes("lock_secret"), message), inside)
    equal("nonce", sealed.nonce(facts, head, cls, text), b.bytes("nonce"))
    shared = curves.shared_secret(ephemeral, facts.lock_key)
    equal("step", sealed.step(facts, shared, message), b.bytes("step"))
    key = sealed.down_key(facts, shared, message)
    answer = sealed.encode_down(key, facts.counter, b.int("verdict"), b.int("detail"))
    equal("answer", answer, b.bytes("answer"))


def made_channel_command(b: Block) -> None:
    """A command of a channel and its answer, byte for byte."""
    chain, counter, message = b.bytes("chain"), b.int("counter"), b.bytes("message")
    equal("message", channel.encode_up(chain, counter, b.int("class"), b.bytes("command")), message)
    equal("opened", channel.open_up(chain, message), (b.int("class"), b.bytes("command")))
    equal("nonce", channel.nonce(chain, message), b.bytes("nonce"))
    equal("following", channel.following(chain, counter), b.bytes("following"))
    key = channel.back_key(chain, counter)
    answer = sealed.encode_down(key, counter, b.int("verdict"), b.int("detail"), b.int("next"))
    equal("answer", answer, b.bytes("answer"))


def made_grant(b: Block) -> None:
    """A grant, and the answer to it."""
    own, of, raw, hint = own_secrets(b), b.bytes("token_digest"), b.bytes("grant"), b.bytes("hint")
    names = (hint, b.bytes("owner"), b.bytes("member"))
    numbers = (b.int(name) for name in ("generation", "serial", "classes", "uses", "end"))
    made = grant.Grant(*names, *numbers)
    equal("grant", grant.create(made, own, of), raw)
    equal("read", grant.read(raw, hint), made)
    equal("digest", grant.digest(raw), b.bytes("digest"))
    answer = parse_answer(b.bytes("answer"))
    told = (answer.verdict, answer.detail, answer.counter)
    equal("verdict", (Verdict.ORDER_DONE, 0 if made.takes_back else made.uses, 0), told)
    key = own.device_key if made.takes_back else b.bytes("member_dpk")
    equal("receipt", receipt(key, grant.digest(raw), *told), answer.receipt)


CHECKS = {
    "made_config": made_config,
    "made_measurement": made_measurement,
    "made_token": made_token,
    "made_order": made_order,
    "made_command": made_command,
    "made_answer": made_answer,
    "made_recall": made_recall,
    "made_frames": made_frames,
    "made_gate_keys": made_gate_keys,
    "made_beacon": made_beacon,
    "made_gate_token": made_gate_token,
    "made_request": made_request,
    "made_compact": made_compact,
    "made_log": made_log,
    "made_log_store": made_log_store,
    "made_sealed_command": made_sealed_command,
    "made_channel_command": made_channel_command,
    "made_grant": made_grant,
}


def failure(block: Block) -> str | None:
    """Why a block is not what the page says; None if it is."""
    try:
        check = CHECKS.get(block.word("block"))
        if check is None:
            return f"no such block: {block.word('block')}"
        check(block)
    except Refused as refused:
        return f"refused: {refused.word}"
    except (Difference, ValueError) as reason:
        return str(reason)
    return None


def main() -> int:
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} FILE", file=sys.stderr)
        return 2
    passed = failed = 0
    for block in read(Path(sys.argv[1]).read_text(encoding="ascii")):
        reason = failure(block)
        if reason is None:
            passed += 1
            continue
        failed += 1
        names = dict(block.lines)
        where = f"case {names.get('case', '?')}, {names.get('comment', 'no comment')}"
        print(f"{where}: {reason}", file=sys.stderr)
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
