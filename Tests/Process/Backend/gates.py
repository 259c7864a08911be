#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Admissions to a gate from outside: a real service, the operator's lines as the pages have them, an app written from
SERVICE.md, and a gate written from SPEC.md section 15 with PyNaCl alone."""

import base64
import hashlib
import hmac
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time
import unittest
import urllib.request

import nacl.exceptions
import nacl.public
import nacl.signing
from jwcrypto import jwk, jws

from flow import Hardware, proof
from place import BIN, PageLines, Place

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / name) for name in ("Process/Service", "Support/Runner")]
import messages  # noqa: E402
import runner  # noqa: E402
from messages import Record, Source, make_config, measure  # noqa: E402

DOCS = pathlib.Path(__file__).resolve().parents[3] / "docs"
HOST = "pay.example.com"


def block(page, after, number=0):
    """The lines of a block of a page, the first one after a line."""
    text = (DOCS / page).read_text().split(f"\n{after}\n", 1)[1]
    return re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S)[number].splitlines()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def kdf(label, key, info):
    """SPEC.md section 1, for outputs of one block."""
    assert len(label) == 16
    return hmac.digest(hmac.digest(label.encode(), key, "sha256"), info + b"\x01", "sha256")


class RefusedToken(Exception):
    """A gate refused a token."""


class Gate:
    """SPEC.md section 15 for tokens. It knows its secret keys, and the configuration that it was handed."""

    def __init__(self, configuration, key, *secrets):
        token = jws.JWS()
        token.deserialize(configuration.strip(), key)
        assert json.loads(token.objects["protected"]) == {"alg": "EdDSA", "typ": "gate+jwt"}, token.objects["protected"]
        self.claims = json.loads(token.payload)
        own = {bytes(nacl.public.PrivateKey(secret).public_key): secret for secret in secrets}
        self.keys = {key["num"]: own[decoded(key["key"])] for key in self.claims["xks"] if decoded(key["key"]) in own}
        self.issuers = {bytes.fromhex(key["id"]): decoded(key["key"]) for key in self.claims["iss"]}
        self.id = decoded(self.claims["gat"])

    def open(self, token):
        if len(token) != 288 or token[:4] != b"PG\x01\x01" or token[5:8] != self.id[:3] or token[4] not in self.keys:
            raise RefusedToken("head")
        secret = nacl.public.PrivateKey(self.keys[token[4]])
        try:
            plain = nacl.public.SealedBox(secret).decrypt(token[8:])
        except nacl.exceptions.CryptoError as error:
            raise RefusedToken("seal") from error
        body, signature = plain[:168], plain[168:]
        if body[64:72] not in self.issuers:
            raise RefusedToken("issuer")
        nacl.signing.VerifyKey(self.issuers[body[64:72]]).verify(
            b"pfc1.gate-sign.." + bytes(secret.public_key) + token[:8] + body, signature)
        names = ("mode", "form", "flags", "generation", "issued", "not_after", "first_seen")
        facts = dict(zip(names, struct.unpack_from("<BBHIQQQ", body)))
        assert facts["form"] == 3 and body[32:48] == self.id and body[86:88] == bytes(2)
        now = int(time.time())
        assert facts["first_seen"] <= facts["issued"] <= now + 300 and now <= facts["not_after"]
        return facts | {"instance": body[48:64], "properties": struct.unpack_from("<I", body, 72)[0],
                        "arc": body[76:86].decode(), "secret": body[88:120], "app": body[152:168]}


class App:
    """An app that was written from SERVICE.md and SPEC.md: its records say what the test likes."""

    def __init__(self, url, key, name="app"):
        self.url, self.key, self.name = url, key, name
        self.key_id = b"\x02" + kdf("pfc1.key-id.....", key, b"\x02")[:7]

    def digest(self, cls, number):
        secret = self.name if (cls, number) == (1, 5) else ""
        return hashlib.sha256(f"{secret} {cls} {number}".encode()).digest()

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, body, {"content-type": "application/octet-stream"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def device(self):
        text = messages.text("acme") + self.digest(1, 5)
        return hashlib.sha256(b"pfa1.device-id.." + text).digest()[:16]

    def report(self, number, host):
        """The answer to a report of this purpose, and what the app keeps: configuration, measurement, records."""
        purpose = bytes([number])
        head = b"PA\x01"
        question = (head + bytes([1]) + self.key_id + self.device() + purpose + bytes(4) + messages.text("acme")
                    + messages.text("1") + (messages.text(host) if number == 5 else b""))
        challenge = self.post("/v1/challenge", question)
        salt, policy, limit, generation = challenge[4:20], challenge[22], challenge[23], challenge[24:28]
        sources = [Source(*challenge[33 + 4 * n:37 + 4 * n]) for n in range(challenge[32])]
        generation, = struct.unpack("<I", generation)
        records = [Record(s.cls, s.number, s.version, b"x", self.digest(s.cls, s.number)) for s in sources]
        config = make_config(2, policy, generation, limit, self.key, salt, tuple(sources), records)
        measured = measure(self.key, config, records)
        report = (head + bytes([3]) + self.key_id + salt + self.device() + purpose + bytes(4) + messages.text("acme")
                  + messages.text(host) + messages.blob(b"") + messages.text("1") + messages.text("")
                  + messages.text("") + bytes([0, 0]) + struct.pack("<I", len(records)))
        for record in records:
            report += bytes([record.cls, record.number, 1, 1]) + b"x" + record.digest
        report += measured.im + measured.dm
        answer = self.post("/v1/report", report + messages.derive_tag("pfa1.report-key.", self.key, salt, report))
        assert answer[-32:] == messages.derive_tag("pfa1.answer-key.", self.key, salt, answer[:-32])
        return answer, config, measured, records

    def admit(self, host=HOST):
        """The answer's fields, and S as the app derives it."""
        answer, config, measured, _ = self.report(5, host)
        admission = self.read(answer)
        gate_key = kdf("pfc1.gate-key...", self.key, admission["gate"])[:16]
        gate_im = kdf("pfc1.gate-im....", measured.im, admission["gate"])
        info = admission["gate"] + self.device() + struct.pack("<I", config.generation)
        admission["secret"] = kdf("pfc1.gate-secret", gate_key + gate_im, info)
        return admission

    @staticmethod
    def read(answer):
        """SERVICE.md sections 5 and 9."""
        assert answer[:4] == b"PA\x02\x04" and answer[20] == 1, answer[:21]
        rest = messages.Fields(answer[:4].replace(b"\x02", b"\x01", 1) + answer[33:-32], 4)
        shape = [len(answer), rest.blob(262_144)]
        rest.text()
        shape += [rest.text(), rest.uint(1), rest.uint(1)]
        part = messages.Fields(b"PA\x01\x04" + rest.blob(32_768), 4)
        rest.end()
        assert part.uint(1) == 1
        fields = {"gate": part.take(16), "generation": part.uint(4), "life": part.uint(4), "token": part.take(288)}
        fields["account number"] = part.uint(1)
        fields["account key"] = part.take(32) if fields["account number"] else None
        fields["form"], fields["freshness"] = part.uint(1), part.uint(1)
        fields["headers"] = [part.text(64), part.text(64), part.text(64)]
        fields["hosts"] = [part.text(253) for _ in range(part.uint(1))]
        fields["events"] = [(part.uint(2), part.uint(2), part.take(16), part.uint(4)) for _ in range(part.uint(2))]
        part.end()
        fields["shape"] = shape
        return fields


class Gates(PageLines, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.place = Place()
        place.make_account()
        place.start_service()
        cls.mpk = os.urandom(16)
        place.ask("sdk", "add", "--key", place.write("mpk", cls.mpk), "--mode", "development")
        place.ask("policy", "set", "rejection=none", "device-rate=0", "address-rate=0", "first-fetch-rate=0")
        signed = place.ask("config", "show")["signed"]
        key = json.loads(decoded(signed.split(".")[1]))["key"]
        cls.trusted = jwk.JWK(kty="OKP", crv="Ed25519", x=key)
        cls.app = App(place.url, cls.mpk)

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def gate(self, *names):
        secrets = [(self.place.folder / name).read_bytes() for name in names or ("gate.key",)]
        return Gate((self.place.folder / "front.jws").read_text(), self.trusted, *secrets)

    def test_1_the_lines_of_the_page_and_the_token_of_a_real_service(self):
        lines = block("MANAGEMENT.md", "## Gates")
        self.assertEqual(len(lines), 5)
        for line in lines:
            self.run_line(line)
        for name in ("gate.key", "front.jws"):
            self.assertEqual((self.place.folder / name).stat().st_mode & 0o777, 0o600)
        begun = int(time.time())
        admission = self.app.admit()
        facts = self.gate().open(admission["token"])
        self.assertEqual(facts["secret"], admission["secret"], "app and service derive one S")
        self.assertEqual((facts["generation"], facts["instance"]), (1, self.app.device()))
        self.assertEqual((facts["mode"], facts["flags"]), (2, 0))
        self.assertEqual(facts["not_after"] - facts["issued"], admission["life"])
        self.assertGreaterEqual(facts["first_seen"], begun)
        self.assertEqual(self.place.ask("arc", "read", facts["arc"])["passed"], True)
        listed, = self.place.ask("device", "list")
        self.assertEqual(facts["app"].hex(), listed["app"][:32])
        # The handle, by section 15, is the one that the operator is told.
        handle = kdf("pfc1.gate-handle", facts["secret"], b"")[:16].hex()
        self.assertEqual(listed["handles"], {"front": handle})
        self.assertEqual((admission["form"], admission["freshness"], admission["hosts"]), (2, 5, [HOST]))
        self.assertEqual(admission["headers"], ["proof", "proof-token", ""])
        claims = self.gate().claims
        self.assertEqual(decoded(claims["aks"][0]["key"]), admission["account key"])
        event, = claims["evt"]
        self.assertEqual(admission["events"], [(3300, 3400, decoded(event["aud"]), 60)])
        personal = hashlib.blake2b(decoded(claims["gat"]) + b"shop", digest_size=32, person=b"pfs1.audience...")
        self.assertEqual(personal.digest()[:16], decoded(event["aud"]))

    def test_1_the_redeemers_of_an_audience_get_its_events_alone(self):
        path = pathlib.Path(self.place.path("shop.jws"))
        self.place.ask("event", "add", "1-5", "--gate", "front", "--audience", "bank")
        self.run_line(f"proofctl gate configuration front --audience shop --output {path.name}")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        token = jws.JWS()
        token.deserialize(path.read_text().strip(), self.trusted)
        self.assertEqual(json.loads(token.objects["protected"]), {"alg": "EdDSA", "typ": "redeemer+jwt"})
        claims, gate = json.loads(token.payload), self.gate().claims
        self.assertEqual(claims.pop("aud"), "shop")
        self.assertEqual(claims["evt"], [event for event in gate["evt"] if event["audience"] == "shop"])
        for name in ("acc", "aks", "gat", "key", "mod", "nam"):
            self.assertEqual(claims[name], gate[name], name)
        self.assertEqual(sorted(set(gate) - set(claims)),
                         ["challenges", "flr", "frm", "frs", "hdr", "hst", "iss", "lif", "rev", "watch", "xks"])
        self.assertEqual(set(claims) - set(gate), set())
        self.place.ask("event", "remove", "1-5")
        with self.assertRaisesRegex(AssertionError, "redeemer"):
            Gate(path.read_text(), self.trusted, (self.place.folder / "gate.key").read_bytes())

    def test_1_under_names_challenges_stand_in_the_configuration_and_so_does_the_kill_switch(self):
        self.assertEqual((self.gate().claims["challenges"], self.gate().claims["watch"]), ([], False))
        lines = block("MANAGEMENT.md", "page asks for it by its name and gets a clearance for the answer:")
        self.assertEqual(len(lines), 5)
        for line in lines[:3]:
            self.run_line(line)
        listed = [{"name": "late", "kind": "person", "level": 0, "life": 600, "gate": "front"},
                  {"name": "sign-up", "kind": "work", "level": 18, "life": 300}]
        self.assertEqual(self.place.ask("challenge", "list"), listed)
        configuration = "proofctl gate configuration front --output front.jws"
        self.run_line(configuration)
        del listed[0]["gate"]
        self.assertEqual(self.gate().claims["challenges"], listed)
        for line, watched in ((lines[3], True), (lines[4], False)):
            self.run_line(line)
            self.run_line(configuration)
            self.assertIs(self.gate().claims["watch"], watched)
        for name in ("late", "sign-up"):
            self.run_line(f"proofctl challenge remove {name}")
        self.run_line(configuration)
        self.assertEqual(self.gate().claims["challenges"], [])

    def test_2_a_failing_app_sees_what_every_app_sees(self):
        stranger = App(self.place.url, self.mpk, "stranger")
        self.place.ask("device", "fail", stranger.device().hex())
        good, bad = self.app.admit(), stranger.admit()
        self.assertEqual([self.gate().open(one["token"])["flags"] for one in (good, bad)], [0, 3])
        # Its proofs verify, so that the route's rule decides.
        self.assertEqual(self.gate().open(bad["token"])["secret"], bad["secret"])
        for name in set(good) - {"token", "secret", "generation"}:
            self.assertEqual(good[name], bad[name], name)
        self.assertEqual(good["token"][:8], bad["token"][:8])
        # An operator's measures tell them apart.
        with urllib.request.urlopen(self.place.url + "/metrics", timeout=60) as answer:
            text = answer.read().decode()
        self.assertIn("proof_service_admissions_failed_total 1\n", text)
        self.assertRegex(text, r"proof_service_admissions_passed_total [1-9]")

    def test_3_the_gates_keys_rotate_while_apps_are_admitted(self):
        held = [self.app.admit()["token"]]

        def go_on(*names):
            held.append(self.app.admit()["token"])
            gate = self.gate(*names)
            for token in held:
                gate.open(token)

        lines = block("ROTATION.md", "The gate's own key:")
        self.assertEqual(len(lines), 6)
        for line in lines[:4]:
            self.run_line(line)
            both = [name for name in ("gate.key", "gate2.key") if (self.place.folder / name).exists()]
            go_on(*both)
        self.run_line(lines[4], refused=r"end in \d+ seconds")
        self.run_line(lines[4] + " --at-once")
        self.run_line(lines[5])
        old = held[0]
        held[:] = [token for token in held if token[4] != old[4]]
        self.assertTrue(held)
        go_on("gate2.key")
        with self.assertRaises(RefusedToken):
            self.gate("gate.key", "gate2.key").open(old)

        text = "The account key and the issuer; the lines rotate `issuer`. For the account key write `account` instead:"
        for what in ("issuer", "account"):
            lines = [line.replace("issuer", what) for line in block("ROTATION.md", text)]
            self.assertEqual(len(lines), 5)
            self.run_line(lines[0])
            self.run_line(lines[2], refused="never handed out.*gate configuration front")
            for line in lines[1:3]:
                self.run_line(line)
                go_on("gate2.key")
            before, after = held[0], self.app.admit()
            if what == "account":
                keys = {key["sta"]: decoded(key["key"]) for key in self.gate("gate2.key").claims["aks"]}
                self.assertEqual(after["account key"], keys["next"], "the gate has it already")
                self.assertEqual(after["account number"], 2)
            self.run_line(lines[3], refused=r"end in \d+ seconds")
            self.run_line(lines[3] + " --at-once")
            self.run_line(lines[4])
            if what == "issuer":
                with self.assertRaisesRegex(RefusedToken, "issuer"):
                    self.gate("gate2.key").open(before)
                held.clear()
            go_on("gate2.key")

    def test_5_a_hundred_renewals_leave_the_lock_as_it_was(self):
        place = self.place
        place.ask("api", "add", "door.example.com", "--jwe")
        place.ask("sealing", "keys", "--output", place.path("sealing.jwks"))
        key, door = place.path("issuer.key"), place.path("door.key")
        issuer = place.ask("issuer", "new", "--output", key, where=[])["publicKey"]
        lock = place.ask("hardware", "new", "--output", door, "--development", "--literal")
        app = App(place.url, self.mpk, "owner")

        def measured():
            """The lock's token for a fresh measurement, and what the app keeps."""
            answer, config, measurement, records = app.report(2, "door.example.com")
            size, = struct.unpack_from("<I", answer, 33)
            token = place.ask("measurement-token", "issue", answer[37:37 + size].decode(), lock["id"], "--key",
                              place.path("sealing.jwks"), "--issuer-key", key, "--ledger", place.path("ledger"),
                              "--classes", "0", "--literal", "--audience", "door.example.com")["token"]
            hardware = Hardware(bytes.fromhex(lock["id"]), pathlib.Path(door).read_bytes(), bytes.fromhex(issuer))
            hardware.open(bytes.fromhex(token))
            return hardware, config, measurement, records

        hardware, config, before, records = measured()
        self.assertEqual((hardware.generation, before.im), (1, hardware.measured["integrity"]))
        self.assertEqual([app.admit()["generation"] for _ in range(100)], list(range(1, 101)))
        nonce = os.urandom(16)
        fresh = measure(self.mpk, config, records)
        self.assertTrue(hardware.judge("integrity", nonce, proof(self.mpk, nonce, fresh.im)))
        listed, = [one for one in place.ask("device", "list") if one["device"] == app.device().hex()]
        self.assertEqual(listed["generation"], 1, "the line that opens locks is where it was")
        self.assertEqual(measured()[0].generation, 2)
        self.assertEqual(app.admit()["generation"], 101)

    def test_4_no_hardware_takes_a_gates_issuer(self):
        shown = self.place.ask("gate", "show", "front")["issuers"][0]["public"]
        flash, own = self.place.path("lock"), nacl.signing.SigningKey.generate().verify_key.encode().hex()
        for issuer, taken in ((shown, False), (own, True)):
            done = subprocess.run(
                [BIN / "proof-hardware", "--flash", flash, "--provision", "--mode", "development", "--issuer", issuer],
                capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode == 0, taken, done.stderr)


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(Gates), sys.argv[1:]))
