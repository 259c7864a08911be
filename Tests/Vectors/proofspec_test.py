# SPDX-License-Identifier: Apache-2.0

"""The Python implementation against published values, itself, and the committed vectors."""

import hashlib
import hmac
import json
import unittest
from pathlib import Path

from nacl.public import PrivateKey, PublicKey, SealedBox

from blocks import read
from generators import carried, gates, logs, plain, world
from generators.dialogue import Script, wrong_integrity
from generators.world import BACKEND, DOOR, START, stuff
from judging import VALID, refusal
from proofspec import compact, curves, gate, gate_token, log, stored, work
from proofspec.baseline import fnv1a
from proofspec.basics import LABELS, Refused, kdf, mac
from proofspec.config import decode_config
from proofspec.frame import COMPLETE, MORE, Receiver, crc16, fragments
from proofspec.hardware import Hardware, Settings
from proofspec.message import LENGTHS, Type, Verdict, parse_answer
from proofspec.order import REVOKE, create_order, open_order
from proofspec.refusals import Refusal
from proofspec.token import open_token
from replay import Player

HERE = Path(__file__).resolve().parent
APP = world.app("one")


def blocks(name: str) -> list:
    return list(read((HERE / name).read_text(encoding="ascii")))


def flips(data: bytes) -> list[bytes]:
    """Every byte string that differs in one bit."""
    return [
        data[:i] + bytes([data[i] ^ 1 << bit]) + data[i + 1 :]
        for i in range(len(data))
        for bit in range(8)
    ]


def hkdf(salt: bytes, key: bytes, info: bytes, length: int) -> bytes:
    """RFC 5869, whole."""
    prk = hmac.new(salt or bytes(32), key, hashlib.sha256).digest()
    out = block = b""
    counter = 1
    while len(out) < length:
        block = hmac.new(prk, block + info + bytes([counter]), hashlib.sha256).digest()
        out, counter = out + block, counter + 1
    return out[:length]


class PublishedValues(unittest.TestCase):
    def test_hmac_of_rfc_4231(self) -> None:
        """The sixth and seventh case have a key longer than a block."""
        cases = (
            (b"\x0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b"),
            (b"Jefe", b"what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c7"),
            (b"\xaa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a7"),
            (bytes(range(1, 26)), b"\xcd" * 50, "82558a389a443c0ea4cc819899f2083a"),
            (b"\x0c" * 20, b"Test With Truncation", "a3b6167473100ee06e0c796c2955552b"),
            (
                b"\xaa" * 131,
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f",
            ),
            (
                b"\xaa" * 131,
                b"This is a test using a larger than block-size key and a larger than "
                b"block-size data. The key needs to be hashed before being used by the "
                b"HMAC algorithm.",
                "9b09ffa71b942fcb27635fbcd5b0e944",
            ),
        )
        for key, data, start in cases:
            self.assertEqual(mac(key, data).hex()[:32], start)

    def test_hkdf_of_rfc_5869_and_kdf_is_its_first_block(self) -> None:
        first = hkdf(bytes(range(13)), b"\x0b" * 22, bytes(range(0xF0, 0xFA)), 42)
        self.assertEqual(
            first.hex(),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        )
        second = hkdf(bytes(range(0x60, 0xB0)), bytes(range(80)), bytes(range(0xB0, 0x100)), 82)
        self.assertTrue(second.hex().startswith("b11e398dc80327a1c8e7f78c596a4934"))
        third = hkdf(b"", b"\x0b" * 22, b"", 42)
        self.assertTrue(third.hex().startswith("8da4e775a563c18f715f802a063c5a31"))
        for name in LABELS:
            for key, info in ((b"", b""), (b"key", b"info"), (stuff("k", 32), stuff("i", 100))):
                self.assertEqual(kdf(name.decode(), key, info), hkdf(name, key, info, 32))

    def test_fnv_1a(self) -> None:
        for name, hash in ((b"", 0x811C9DC5), (b"a", 0xE40C292C), (b"foobar", 0xBF9CF968)):
            self.assertEqual(fnv1a(name), hash)

    def test_crc_16_ccitt_false(self) -> None:
        self.assertEqual(crc16(b"123456789"), 0x29B1)
        self.assertEqual(crc16(b""), 0xFFFF)

    def test_x25519_of_rfc_7748(self) -> None:
        """The first iteration: scalar and point are 9, and 9 is the base point."""
        public = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
        nine = (9).to_bytes(32, "little")
        self.assertEqual(curves.hardware_public(nine).hex(), public)

    def test_ed25519_of_rfc_8032(self) -> None:
        seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
        public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
        signature = (
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        )
        self.assertEqual(curves.issuer_public(seed).hex(), public)
        self.assertEqual(curves.sign(seed, b"").hex(), signature)

    def test_the_sealed_box_is_libsodiums(self) -> None:
        sealed = curves.seal(DOOR.public, stuff("any", 32), b"hello")
        self.assertEqual(SealedBox(PrivateKey(DOOR.secret)).decrypt(sealed), b"hello")
        theirs = SealedBox(PublicKey(DOOR.public)).encrypt(b"hello")
        self.assertEqual(curves.unseal(DOOR.secret, theirs), b"hello")

    def test_chacha20_is_that_of_rfc_8439(self) -> None:
        """Appendix A.1, test vectors 1 and 2."""
        first = "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        second = "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        for counter, stream in enumerate((first, second)):
            made = work.chacha_block(bytes(32), counter)
            self.assertEqual((len(made), made[:32].hex()), (64, stream))

    def test_labels_are_16_ascii_characters_and_differ(self) -> None:
        self.assertEqual(len(set(LABELS)), len(LABELS))
        for name in LABELS:
            self.assertTrue(name.isascii() and len(name) == 16 and name.startswith((b"pfc1.", b"pfc2.")))

    def test_labels_are_those_of_the_page(self) -> None:
        page = (HERE.parents[1] / "docs" / "SPEC.md").read_text(encoding="utf-8")
        rows = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `pfc")]
        self.assertEqual(sorted(rows), sorted(name.decode() for name in LABELS))


class RoundTrips(unittest.TestCase):
    def test_what_a_configuration_says_is_what_is_read(self) -> None:
        for block in plain.configs():
            raw = block.bytes("config")
            self.assertEqual(decode_config(raw).encoded(), raw)

    def test_every_changed_bit_of_a_configuration_is_refused(self) -> None:
        for changed in flips(world.config().encoded()):
            with self.assertRaises(Refused):
                decode_config(changed)

    def test_every_shorter_configuration_is_refused(self) -> None:
        whole = world.config().encoded()
        for length in range(len(whole)):
            with self.assertRaises(Refused):
                decode_config(whole[:length])

    def test_a_token_opens_to_the_body_that_was_sealed(self) -> None:
        body = APP.body(uses=7, not_after=START + 9)
        self.assertEqual(self.open(APP.token(uses=7, not_after=START + 9)), body)

    def test_every_changed_bit_of_a_token_is_refused(self) -> None:
        for changed in flips(APP.token()):
            with self.assertRaises(Refused):
                self.open(changed)

    def open(self, token: bytes) -> object:
        return open_token(DOOR.id, DOOR.secret, DOOR.public, 1, False, [BACKEND.public], token)

    def test_every_changed_bit_of_an_order_is_refused(self) -> None:
        order = create_order(BACKEND.seed, REVOKE, START, DOOR.id, APP.instance_id, 1)
        open_order(DOOR.id, [BACKEND.public], order)
        for changed in flips(order):
            with self.assertRaises(Refused):
                open_order(DOOR.id, [BACKEND.public], changed)

    def test_no_changed_bit_of_a_compact_token_is_accepted(self) -> None:
        for kind in gates.NAMES:
            subject, keys = gates.SUBJECTS[kind], gates.site_keys(kind)
            token = compact.make(kind, 3, gates.fields(kind), subject, keys)
            compact.check(token, kind, subject, keys)
            for changed in flips(token):
                with self.assertRaises(Refused):
                    compact.check(changed, kind, subject, keys)

    def test_every_changed_bit_of_a_gate_token_is_refused(self) -> None:
        front, by = gates.FRONT, gates.GATE_ISSUER
        token = next(b for b in gates.keys() if b.word("block") == "gate_token").bytes("token")
        for changed in flips(token):
            with self.assertRaises(Refused):
                gate_token.open_token(front.id, front.secrets, 1, [by.public], 0, START, changed)

    def test_base64url_is_strict(self) -> None:
        for length in range(70):
            data = stuff(f"text {length}", length)
            self.assertEqual(gate.decode_text(gate.encode_text(data)), data)
        for text in ("A", "Zh", "Zm9=", "Zm+v", "Zm9vY", "Zm9", " Zg", "Zg\n"):
            with self.assertRaises(Refused):
                gate.decode_text(text)

    def test_no_changed_bit_of_the_log_is_accepted(self) -> None:
        key, store = logs.FIRST, log.store_key(DOOR.secret)
        entry = log.seal(key, 3, DOOR.id, logs.command(4))
        record = log.encode_key_record(store, log.KeyRecord(1, 16, 0, 0, 0, key))
        for raw, read_back in (
            (entry, lambda changed: log.open_entry(key, 3, DOOR.id, changed)),
            (log.encode_page(store, 127), lambda changed: log.decode_page(store, changed)),
            (record, lambda changed: log.decode_key_record(store, changed)),
        ):
            read_back(raw)
            for changed in flips(raw):
                with self.assertRaises(Refused):
                    read_back(changed)

    def test_stored_records_and_the_newer_copy(self) -> None:
        key = stored.record_key(DOOR.secret)
        for block in carried.records():
            if block.word("block") == "old_slot":
                continue
            is_slot = block.word("block") == "slot"
            number, raw = (block.int("number") if is_slot else 0), block.bytes("bytes")
            sequence, payload = stored.decode_record(key, number, raw)
            decode = stored.decode_slot if is_slot else stored.decode_global
            self.assertEqual(decode(payload).payload(), payload)
            older = stored.encode_record(key, number, sequence - 1, payload[::-1])
            self.assertEqual(stored.newest(key, number, (older, raw)), (sequence, payload))
            damaged = raw[:-1] + bytes([raw[-1] ^ 1])
            found = stored.newest(key, number, (older, damaged))
            self.assertEqual(found, (sequence - 1, payload[::-1]))
            self.assertIsNone(stored.newest(key, number, (damaged, b"")))

    def test_every_message_passes_through_packets_of_every_size(self) -> None:
        receiver = Receiver()
        for type, lengths in LENGTHS.items():
            for length in sorted(set(lengths)):
                message = stuff(f"{type} {length}", length)
                for packet in range(20, 515):
                    made = fragments(type, message, packet)
                    outcomes = [receiver.receive(p) for p in made]
                    self.assertEqual(outcomes, [MORE] * (len(made) - 1) + [COMPLETE])
                    self.assertEqual((receiver.type, receiver.message), (type, message))
                    self.assertTrue(all(len(p) == packet for p in made[:-1]))

    def test_the_packet_budget_is_the_pages(self) -> None:
        lengths = ((Type.ASK, 1), (Type.CHALLENGE, 40), (Type.TOKEN, 288), (Type.COMMAND, 98))
        lengths += ((Type.VERDICT, 43),)

        def packets(mtu: int) -> list[int]:
            return [len(fragments(type, bytes(n), mtu - 3)) for type, n in lengths]

        self.assertEqual(packets(23), [1, 3, 17, 6, 3])
        self.assertEqual(packets(185), [1, 1, 2, 1, 1])


class CommittedVectors(unittest.TestCase):
    def hostile(self, noun: str, least: int) -> None:
        cases = blocks(f"hostile_{noun}.txt")
        whole = json.loads((HERE / f"proofkit_{noun}_test.json").read_text(encoding="ascii"))
        tests = [t for group in whole["testGroups"] for t in group["tests"]]
        self.assertEqual(whole["numberOfTests"], len(tests))
        self.assertEqual(len(cases), len(tests))
        by_id = {t["tcId"]: t for t in tests}
        for case in cases:
            with self.subTest(noun=noun, comment=case.word("comment")):
                word = case.word("refusal")
                self.assertEqual(refusal(case), word)
                self.assertEqual(case.word("result"), "valid" if word == VALID else "invalid")
                twin = by_id[case.int("case")]
                self.assertEqual(twin["comment"], case.word("comment"))
                self.assertEqual((twin["result"], twin["refusal"]), (case.word("result"), word))
                self.assertLessEqual(set(twin["flags"]), set(whole["notes"]))
        results = [t["result"] for t in tests]
        self.assertGreaterEqual(results.count("invalid"), least)
        self.assertGreaterEqual(results.count("valid"), 2)

    def test_hostile_configurations(self) -> None:
        self.hostile("config", 100)

    def test_hostile_measurements(self) -> None:
        self.hostile("measurement", 10)

    def test_hostile_tokens(self) -> None:
        self.hostile("token", 100)

    def test_hostile_orders(self) -> None:
        self.hostile("order", 50)

    def test_hostile_proofs(self) -> None:
        self.hostile("proof", 80)

    def test_hostile_messages(self) -> None:
        self.hostile("message", 30)

    def test_hostile_frames(self) -> None:
        self.hostile("frame", 50)

    def test_hostile_logs(self) -> None:
        self.hostile("log", 50)

    def test_hostile_sealed_commands(self) -> None:
        self.hostile("sealed", 50)

    def test_hostile_commands_of_channels(self) -> None:
        self.hostile("channel", 50)

    def test_hostile_grants(self) -> None:
        self.hostile("grant", 60)

    def test_hostile_gate_tokens(self) -> None:
        self.hostile("gate", 90)

    def test_hostile_requests(self) -> None:
        self.hostile("request", 60)

    def test_hostile_compact_tokens(self) -> None:
        self.hostile("compact", 100)

    def test_hostile_cases_reach_every_refusal_of_gates(self) -> None:
        told = {b.word("refusal") for noun in ("gate", "compact") for b in blocks(f"hostile_{noun}.txt")}
        # Another length than a text gives cannot be written here.
        expected = {str(int(r)) for r in Refusal} - {str(int(Refusal.LENGTH))}
        self.assertEqual(expected - told, set())

    def test_the_model_answers_every_script_as_written(self) -> None:
        scripts = blocks("verifier.txt")
        self.assertGreaterEqual(len(scripts), 100)
        for script in scripts:
            with self.subTest(comment=script.word("comment")):
                self.assertGreater(Player(script).play(), 0)

    def test_the_scripts_reach_every_verdict_but_fault(self) -> None:
        told = {
            bytes.fromhex(reply.split(" ")[1])[0]
            for script in blocks("verifier.txt")
            for reply in script.all("reply")
            if reply.startswith(f"{int(Type.VERDICT)} ")
        }
        self.assertEqual(told, set(Verdict) - {Verdict.FAULT})


class TheModel(unittest.TestCase):
    def hardware(self) -> Hardware:
        self.drawn = 0

        def random() -> bytes:
            self.drawn += 1
            return stuff(f"drawn {self.drawn}", 32)

        settings = Settings(DOOR.id, DOOR.secret, 1, False, (BACKEND.public,))
        return Hardware(settings, random, lambda: 0)

    def test_no_counter_comes_twice_whatever_restarts_there_are(self) -> None:
        hardware, seen = self.hardware(), []
        for round in range(40):
            for _ in range(round * 7 % 100):
                seen.append(int.from_bytes(hardware.receive(Type.ASK, b"\x01")[1][:8], "little"))
            hardware.restart()
        self.assertEqual(seen, sorted(set(seen)))
        self.assertGreater(len(seen), 1000)

    def test_a_lost_attempt_is_still_lost_after_a_restart(self) -> None:
        script = Script("attempts")
        script.hold(APP, APP.token())
        wrong = wrong_integrity(APP)
        script.command(APP, script.ask(), Verdict.INTEGRITY_DIFFERS, 2, secrets=wrong)
        script.restart()
        script.command(APP, script.ask(), Verdict.INTEGRITY_DIFFERS, 1, secrets=wrong)

    def test_a_source_of_randomness_that_repeats_itself_is_a_fault(self) -> None:
        settings = Settings(DOOR.id, DOOR.secret, 1, False, (BACKEND.public,))
        good = stuff("stuck", 32)
        for stuck in (good, bytes(32)):
            drawn = iter((good, stuck))
            hardware = Hardware(settings, lambda drawn=drawn: next(drawn), lambda: 0)
            self.assertEqual(hardware.receive(Type.ASK, b"\x01")[0], Type.CHALLENGE)
            answer = hardware.receive(Type.ASK, b"\x01")[1]
            self.assertEqual(parse_answer(answer).verdict, Verdict.FAULT)
            # The one before is not live any more, either.
            self.assertIsNone(hardware.link.live)

    def test_no_changed_bit_of_a_command_is_accepted_or_costs_an_attempt(self) -> None:
        script = Script("flips")
        script.hold(APP, APP.token())
        live = script.ask()
        script.command(APP, live, Verdict.ACCEPTED, 65535, command=b"o")
        sent = bytes.fromhex(script.block.all("send")[-1].split(" ")[1])

        def verdict(message: bytes) -> int:
            """The same challenge again, which real hardware never gives."""
            hardware = script.hardware
            hardware.disconnect()
            hardware.before, hardware.next_counter = b"", live.counter
            hardware.recalled = [-1] * len(hardware.recalled)
            hardware.receive(Type.ASK, b"\x01")
            return hardware.receive(Type.COMMAND, message)[1][0]

        harmless = {
            Verdict.DEVICE_DIFFERS,
            Verdict.STALE,
            Verdict.UNKNOWN_INSTANCE,
            Verdict.MALFORMED,
            Verdict.TOO_NEW,
        }
        # Each of them, or the model judges less than it seems to.
        self.assertEqual({verdict(changed) for changed in flips(sent)}, harmless)
        self.assertEqual(verdict(sent), Verdict.ACCEPTED)
