# SPDX-License-Identifier: Apache-2.0

"""check.py accepts what was made rightly, and nothing that differs in one value."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from blocks import Block, case, put_records, read, write
from check import CHECKS, failure
from generators import gates, logs, world
from generators import grants as grant_cases
from generators import sealed as sealed_cases
from generators.world import BACKEND, DOOR, SAFE, START, Place, stuff
from proofspec import channel, curves, grant, log, sealed
from proofspec.frame import fragments
from proofspec.keys import Secrets
from proofspec.measurement import measure
from proofspec.message import Answer, Type, Verdict, make_command, make_recall
from proofspec.order import REVOKE, create_order
from proofspec.proof import Occasion, receipt
from proofspec.token import Body, create_token, token_digest

HERE = Path(__file__).resolve().parent
APP = world.app("one")
# Flipping these changes nothing that another field does not say as well.
FREE_FIELDS = {"case", "comment", "block", "answer_to"}


def put_own(block: Block, own: Secrets) -> Block:
    return block.put_all(mpk=own.key, im=own.im, dpk=own.device_key, dm=own.dm)


def made_token(body: Body, where: Place) -> Block:
    token = create_token(
        where.public, stuff("any", 32), BACKEND.seed, body, where.factory_secret
    )
    names = "mode form integrity_classes device_classes attempts uses generation not_after issued"
    names += " version policy delegable_classes base"
    made = case("made_token", f"version {body.version}").put_all(
        hardware_id=where.id, hardware_secret=where.secret, issuer_public=BACKEND.public
    )
    made.put_all(**{name: getattr(body, name) for name in names.split()})
    made.put("factory_secret", where.factory_secret)
    put_own(made.put("instance_id", APP.instance_id), APP.own)
    return made.put_all(token=token, digest=token_digest(token))


def producer() -> list[Block]:
    """The output of a right implementation."""
    config, seen, mpk = world.config(), world.evidence(), world.mpk()
    head = case("made_config", "five sources").put_all(
        mode=1, policy=1, generation=1, limit=30, mpk=mpk, salt=config.salt
    )
    for s in config.sources:
        head.put("source", (s.cls, s.number, s.version, s.groups_log2))
    put_records(head, seen).put("config", config.encoded())
    found = measure(mpk, config, seen)
    measured = case("made_measurement", "nothing changed")
    put_records(measured.put_all(mpk=mpk, config=config.encoded()), seen)
    measured.put_all(im=found.im, dpk=found.dpk, dm=found.dm)

    token, tokens = APP.token(), [made_token(APP.body(), DOOR), made_token(APP.body_2(SAFE), SAFE)]
    order = create_order(BACKEND.seed, REVOKE, START, DOOR.id, APP.instance_id, 2)
    made_order = case("made_order", "revoke").put_all(
        issuer_public=BACKEND.public,
        type=REVOKE,
        issued=START,
        hardware_id=DOOR.id,
        instance_id=APP.instance_id,
        generation=2,
        order=order,
    )
    here, nonce = APP.at(DOOR), stuff("nonce", 16)
    recall = make_recall(here.device_key, APP.instance_id, 9, nonce)
    made_recall = case("made_recall", "counter 9").put_all(
        dpk_hw=here.device_key, instance_id=APP.instance_id, counter=9, nonce=nonce
    )
    made_recall.put("message", recall.encoded())
    frames = case("made_frames", "a token").put_all(type=Type.TOKEN, packet=20, message=token)
    for fragment in fragments(Type.TOKEN, token, 20):
        frames.put("fragment", fragment)
    return [
        head,
        measured,
        *tokens,
        made_order,
        command(1),
        command(2),
        command(3),
        command(4),
        answer("command", Verdict.ACCEPTED, 4, 7),
        answer("token", Verdict.HELD, 5, 0),
        answer("recall", Verdict.STALE, 0, 3),
        answer("command", Verdict.STALE, 0, 3),
        answer("recall", Verdict.DEVICE_DIFFERS, 0, 3),
        answer("order", Verdict.ORDER_DONE, 0, 0),
        made_recall,
        frames,
        *of_gates(),
        *of_logs(),
        of_sealed(),
        of_channel(),
        of_grant(),
    ]


def of_grant() -> Block:
    made, own, of = grant_cases.loan(), grant_cases.OWNER.at(DOOR), token_digest(grant_cases.OWNER_TOKEN)
    raw, key = grant.create(made, own, of), grant_cases.MEMBER.at(DOOR).device_key
    proved = receipt(key, grant.digest(raw), Verdict.ORDER_DONE, 2, 0)
    block = grant_cases.put_grant(case("made_grant", "a grant and its answer"), made)
    # The message carries four bytes of the id.
    block.lines = [(name, value) for name, value in block.lines if name != "hardware_id"]
    block.put_all(hint=made.hint, grant=raw, digest=grant.digest(raw), member_dpk=key)
    return block.put("answer", Answer(Verdict.ORDER_DONE, 2, 0, proved).encoded())


def of_channel() -> Block:
    chain, counter = stuff("a channel's key", 32), 8
    message, key = channel.encode_up(chain, counter, 1, b"again"), channel.back_key(chain, counter)
    made = case("made_channel_command", "a command of a channel and its answer")
    made = made.put_all(chain=chain, counter=counter, **{"class": 1}, command=b"again", message=message)
    made = made.put_all(nonce=channel.nonce(chain, message), following=channel.following(chain, counter))
    return made.put_all(verdict=1, detail=9, next=10, answer=sealed.encode_down(key, counter, 1, 9, 10))


def of_sealed() -> Block:
    of, key = sealed_cases.facts(), stuff("an app's ephemeral key", 32)
    message = sealed_cases.command(of, sealed.INTEGRITY)
    shared = curves.shared_secret(key, of.lock_key)
    own = sealed_cases.ONE.at(DOOR)
    made = case("made_sealed_command", "a sealed command and its answer")
    made = sealed_cases.put_facts(made, of).put("class", 1).put_all(
        asked=sealed.encode_challenge(of.counter, of.challenge, of.lock_key),
        kind=sealed.INTEGRITY,
        known=0,
        ratchet=b"",
        command=b"open",
        k=own.key,
        im=own.im,
        dm=own.dm,
        ephemeral=key,
        message=message,
        nonce=sealed.nonce(of, message[:49], 1, b"open"),
        step=sealed.step(of, shared, message),
        verdict=1,
        detail=9,
    )
    return made.put("answer", sealed.encode_down(sealed.down_key(of, shared, message), of.counter, 1, 9))


def of_logs() -> list[Block]:
    lock, first = logs.Lock(), log.first_key(logs.DRAWN, DOOR.id)
    lock.happen(2)
    lock.cut()
    lock.happen(1)
    message = lock.log(0, 5).encoded(log.steps(first, 5), logs.NONCE)
    made = case("made_log", "commands, of which one was cut").put_all(
        drawn=logs.DRAWN, hardware_id=DOOR.id, nonce=logs.NONCE, ask=log.ask(0, logs.NONCE)
    )
    made.put("message", message)
    for number in (0, 3):
        content = log.open_entry(log.steps(first, number), number, DOOR.id, lock.flash[number])
        told = (content.verdict, content.undone, content.cls, content.kind, content.flags)
        made.put("content", (number, content.event, *told, content.who, content.epoch, content.counter))
    for finding in ("entry 0 1", "entry 1 1", "torn 2 1", "entry 3 1", "entry 4 1"):
        made.put("finding", finding)
    made.put("outcome", "whole")
    key, record = log.store_key(DOOR.secret), log.KeyRecord(4, 32, 20, 1, log.STARTED, first)
    stored = case("made_log_store", "a page head and a key record").put_all(
        hardware_secret=DOOR.secret, page=log.encode_page(key, 32), **vars(record)
    )
    return [made, stored.put("key_record", log.encode_key_record(key, record))]


def of_gates() -> list[Block]:
    """A producer's gate blocks have the fields of the vectors, or fewer."""
    keys, tokens = list(gates.keys()), {"gate_keys", "gate_token", "beacon"}
    found = {kind: next(b for b in keys if b.word("block") == kind) for kind in tokens}
    found["request"] = next(gates.requests())
    compacts = [b for b in gates.compacts() if b.word("block") == "compact"]
    derived = {"gate_public", "issuer_seed", "ephemeral_secret", "header", "body", "signature"}
    derived |= {"plain", "tag", "beacon_key"}
    made = []
    for block in [*found.values(), *(compacts[i] for i in (0, 6, 12))]:
        copy = Block()
        copy.lines = [(n, v) for n, v in block.lines if n not in derived]
        copy.lines[2] = ("block", "made_" + block.word("block"))
        made.append(copy)
    return made


def command(kind: int) -> Block:
    occasion = Occasion(DOOR.id, stuff("challenge", 32), 7, kind, 2, b"open")
    ratchet = stuff("a ratchet", 16)
    made = make_command(occasion, APP.instance_id, APP.at(DOOR), ratchet, 6)
    block = case("made_command", f"kind {kind}").put_all(
        hardware_id=DOOR.id, challenge=occasion.challenge, counter=7, kind=kind
    )
    block.put("class", 2).put("instance_id", APP.instance_id).put("form", 1)
    put_own(block, APP.own).put_all(command=b"open", ratchet=ratchet, known=6)
    return block.put("message", made.encoded())


def answer(to: str, verdict: Verdict, detail: int, counter: int) -> Block:
    proved = {("command", 1), ("token", 3), ("recall", 18)}
    key, nonce = APP.at(DOOR).device_key, stuff("nonce", 16)
    right = receipt(key, nonce, verdict, detail, counter)
    signed = right if (to, verdict) in proved else bytes(32)
    return case("made_answer", f"{verdict.name} to a {to}").put_all(
        answer_to=to,
        dpk_hw=key if any(signed) else b"",
        nonce=nonce if any(signed) else b"",
        verdict=verdict,
        detail=detail,
        counter=counter,
        message=Answer(verdict, detail, counter, signed).encoded(),
    )


def other(value: str) -> str:
    """A value that differs in its last digit; a word or an empty value stays."""
    last = value[-1:]
    return value[:-1] + ("1" if last == "0" else "0") if last.isalnum() else value


class Check(unittest.TestCase):
    def test_every_kind_of_block_is_made_here(self) -> None:
        self.assertEqual({b.word("block") for b in producer()}, set(CHECKS))

    def test_right_blocks_pass(self) -> None:
        for block in read(write("made", producer())):
            self.assertIsNone(failure(block), block.word("comment"))

    def test_a_block_with_any_one_value_changed_fails(self) -> None:
        count = 0
        for block in producer():
            for i, (name, value) in enumerate(block.lines):
                if name in FREE_FIELDS or not value:
                    continue
                changed = Block()
                changed.lines = [*block.lines]
                changed.lines[i] = (name, other(value))
                if self._unused(block, name):
                    continue
                count += 1
                with self.subTest(comment=block.word("comment"), name=name):
                    self.assertIsNotNone(failure(changed))
        self.assertGreater(count, 100)

    def _unused(self, block: Block, name: str) -> bool:
        """MPK and IM enter no command of kind device, and a ratchet only kinds 3 and 4. A compact token leaves
        out what its kind has
        not, and a beacon the second within its interval."""
        match block.word("block"):
            case "made_command":
                kind = block.int("kind")
                step = kind <= 2 and name in ("ratchet", "known")
                return step or (kind % 2 == 0 and name in ("mpk", "im"))
            case "made_compact":
                return name == "body_digest" or (name == "audience" and block.int("kind") != 3)
            case "made_beacon":
                return name == "time"
        return False

    def test_a_receipt_where_none_is_due_fails(self) -> None:
        block = answer("command", Verdict.STALE, 0, 3)
        message = block.lines[-1][1]
        block.lines[-1] = ("message", message[:-2] + "01")
        self.assertIsNotNone(failure(block))

    def run_check(self, text: str) -> tuple[int, str]:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="ascii") as file:
            file.write(text)
            file.flush()
            command = [sys.executable, str(HERE / "check.py"), file.name]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()[-1]

    def test_the_program_counts_and_exits(self) -> None:
        made = producer()
        self.assertEqual(self.run_check(write("made", made)), (0, f"{len(made)} passed, 0 failed"))
        unknown = case("made_nothing", "no such block")
        text = write("made", [*made, unknown])
        self.assertEqual(self.run_check(text), (1, f"{len(made)} passed, 1 failed"))
        self.assertEqual(self.run_check("# nothing was made\n"), (1, "0 passed, 0 failed"))
