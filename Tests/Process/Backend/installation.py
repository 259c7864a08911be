#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""The installation's key: in storage, in a TPM (swtpm), copied, forged, demanded and missing. Real processes."""

import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import urllib.request

from place import App, Place
from tpm import TPM, Authority, Mutator, NoTPM

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import runner  # noqa: E402

HOST = "api.example.com"
ROUNDS = 60


class InstallationKeys(unittest.TestCase):
    """One account, one service, one maker of TPMs; each test has apps and TPMs of its own."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="proofkit-tpm-"))
        cls.authority = Authority(cls.folder / "authority")
        cls.stranger = Authority(cls.folder / "stranger")
        cls.stranger.make(cls.folder / "first")
        cls.tpm = TPM(cls.authority, cls.folder, "usual")
        place = cls.place = Place()
        place.make_account()
        # Its log is not read: more lines than a pipe holds would stop it.
        place.start_service("--quiet", "--tpm-authorities", str(cls.authority.certificates))
        place.ask("sdk", "add", "--development")
        place.ask("api", "add", HOST)
        cls.config = place.ask("config", "show")["signed"]
        cls.build = bytes.fromhex(place.ask("sdk", "list")[0]["id"])
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.tpm.close()
        cls.place.close()
        shutil.rmtree(cls.folder)

    def setUp(self):
        # The requests of this file come from one address.
        self.place.ask("policy", "set", "address-rate=0", "device-rate=0", "first-fetch-rate=0")
        self.rule("any")

    def rule(self, rule, rejection="installation-key-changed,installation-key-missing"):
        self.place.ask("policy", "set", f"installation-key={rule}", f"rejection={rejection}")

    def app(self, *key, storage=None):
        type(self).count += 1
        app = App(self.place, f"app{self.count}", key=key, storage=storage)
        self.assertEqual(app.ask("initialise", self.config), "well")
        self.addCleanup(self.end, app)
        return app

    @staticmethod
    def end(app):
        app.process.kill()
        app.process.wait(timeout=60)

    def another_tpm(self, authority=None, **options):
        type(self).count += 1
        tpm = TPM(authority or self.authority, self.folder, f"tpm{self.count}", **options)
        self.addCleanup(tpm.close)
        return tpm

    def fetch(self, app):
        """The service's note of a fetch that succeeded from the app's side."""
        status, _, _, reason = app.fetch(HOST)
        self.assertEqual(status, "success", reason)
        return self.noted(app)

    def noted(self, app):
        """The service's note of the app's device."""
        name = app.ask("device")
        return next(device for device in self.place.ask("device", "list") if device["did"] == name)

    def key(self, app):
        """The device's key as an operator sees it; nil if it has shown none."""
        return self.noted(app).get("key")

    def seen(self, app):
        """Whether it passed, and the properties about its key."""
        device = self.fetch(app)
        return device["passed"], [one for one in device["properties"] if one.startswith("installation-key")]

    def copy(self, app):
        """The app's storage, on another machine."""
        type(self).count += 1
        storage = self.place.folder / f"copy{self.count}"
        shutil.copytree(app.storage, storage)
        return storage

    def test_a_key_in_storage_signs_each_report_and_is_listed(self):
        app = self.app("stored")
        self.assertEqual(self.seen(app), (True, []))
        self.assertEqual(self.key(app), "storage")
        self.assertEqual((app.storage / "installation-key").stat().st_mode & 0o777, 0o600)
        again = self.app("stored", storage=app.storage)
        self.assertEqual(again.ask("key"), app.ask("key"))
        self.assertEqual(self.seen(again), (True, []))

    def test_an_app_without_a_key_passes_until_the_policy_demands_one(self):
        app = self.app()
        self.assertEqual(self.seen(app), (True, []))
        self.assertIsNone(self.key(app))
        for rule in ("signed", "hardware"):
            # The rule rejects whatever `rejection` says.
            self.rule(rule, rejection="none")
            self.assertEqual(self.seen(self.app()), (False, ["installation-key-missing"]), rule)

    def test_a_device_that_has_a_key_is_held_to_it(self):
        app = self.app("stored")
        self.assertEqual(self.seen(app), (True, []))
        self.assertEqual(self.seen(self.app(storage=self.copy(app))), (False, ["installation-key-missing"]))
        storage = self.copy(app)
        (storage / "installation-key").unlink()
        self.assertEqual(self.seen(self.app("stored", storage=storage)), (False, ["installation-key-changed"]))
        # The attempts of the others changed nothing for the installation.
        self.assertEqual(self.seen(self.app("stored", storage=app.storage)), (True, []))

    def test_a_key_in_a_tpm_is_proved_where_the_policy_demands_it(self):
        app = self.app(self.tpm.device)
        self.assertTrue(app.ask("key").startswith("tpm "), app.ask("key"))
        self.assertEqual(self.seen(app), (True, []))
        # Unproved: the service did not ask for the TPM's certificate.
        self.assertEqual(self.key(app), "tpm-unproved")
        self.rule("hardware")
        again = self.app(self.tpm.device, storage=app.storage)
        self.assertEqual(self.seen(again), (True, []))
        self.assertEqual(self.key(app), "tpm")
        # Evidence once shown holds.
        self.assertEqual(self.seen(self.app(self.tpm.device, storage=app.storage)), (True, []))

    def test_a_new_installation_proves_its_key_with_its_first_report(self):
        self.rule("hardware")
        app = self.app(self.tpm.device)
        self.assertEqual(self.seen(app), (True, []))
        self.assertEqual(self.key(app), "tpm")

    def test_storage_copied_to_a_machine_with_another_tpm_cannot_report(self):
        app = self.app(self.tpm.device)
        self.assertEqual(self.seen(app), (True, []))
        thief = self.app(self.another_tpm().device, storage=self.copy(app))
        status, _, _, reason = thief.fetch(HOST)
        self.assertEqual(status, "key unavailable", reason)
        self.assertIn("does not make the key", reason)
        # The same holds for a key of the thief's own, in storage or in the thief's TPM.
        for key in ("stored", self.another_tpm().device):
            storage = self.copy(app)
            (storage / "installation-key").unlink()
            self.assertEqual(self.seen(self.app(key, storage=storage)), (False, ["installation-key-changed"]))

    def test_a_claim_without_proof_is_no_hardware(self):
        self.rule("hardware")
        unproved = (False, ["installation-key-unproved"])
        self.assertEqual(self.seen(self.app("stored")), unproved)
        # A TPM without a certificate, and one whose maker the operator does not know.
        uncertified = self.app(self.another_tpm(certified=False).device)
        self.assertEqual(self.seen(uncertified), unproved)
        self.assertEqual(self.key(uncertified), "tpm-unproved")
        self.assertEqual(self.seen(self.app(self.another_tpm(self.stranger).device)), unproved)
        # A file that says “TPM” of a private number: no TPM makes that key.
        app = self.app("stored")
        app.ask("key")
        data = bytearray((app.storage / "installation-key").read_bytes())
        data[3] = 2
        (app.storage / "installation-key").write_bytes(data)
        status, _, _, reason = self.app(self.tpm.device, storage=app.storage).fetch(HOST)
        self.assertEqual(status, "key unavailable", reason)

    def test_a_tpm_that_does_not_serve_is_a_readable_error(self):
        app = self.app(self.tpm.device)
        self.assertEqual(self.seen(app), (True, []))
        self.tpm.stop()
        self.addCleanup(self.tpm.start)
        before = self.place.ask("metrics", "show")["devices"]
        status, _, _, reason = self.app(self.tpm.device, storage=app.storage).fetch(HOST)
        self.assertEqual((status, "there is none at" in reason), ("key unavailable", True), reason)
        for answer, words in (
                (None, "did not answer in time"), ("end", "ended before its answer"), (0x921, "locked out"),
                (0x922, "has no room"), (0x902, "has no room"), (0x101, "code 0x101"), (b"\0" * 64, "ended before"),
                (b"\x80\x01\xff\xff\xff\xff\0\0\0\0", "ended before")):
            with self.subTest(answer=answer):
                fake = NoTPM(answer, self.tpm.device)
                try:
                    status, _, _, reason = self.app(self.tpm.device, storage=app.storage).fetch(HOST)
                finally:
                    fake.close()
                self.assertEqual((status, words in reason), ("key unavailable", True), reason)
                for word in ("attack", "tamper", "stolen", "clone", "fraud"):
                    self.assertNotIn(word, reason)
        # A new installation does not settle for less because a TPM is busy, and gets a key where there is none.
        fake = NoTPM(0x922, self.tpm.device)
        fresh = self.app(self.tpm.device)
        self.assertEqual(fresh.fetch(HOST)[0], "key unavailable")
        self.assertFalse((fresh.storage / "installation-key").exists())
        fake.close()
        fresh = self.app(self.tpm.device, storage=fresh.storage)
        self.assertEqual(self.seen(fresh), (True, []))
        self.assertIn("storage", fresh.ask("key"))
        self.assertEqual(self.place.ask("metrics", "show")["devices"], before + 1)

    def demand(self, certificate):
        """The demand of a challenge after a question with this certificate: 0 nothing, 1 evidence, 2 a secret."""
        return self.challenge(certificate)[0]

    def challenge(self, certificate, point=bytes(64)):
        """The end of a challenge to a key and a certificate: its demand, and a credential if there is one."""
        def text(words):
            return struct.pack("<H", len(words)) + words.encode()
        endorsement = b"\0"
        if certificate is not None:
            endorsement = b"\1" + point + struct.pack("<I", len(certificate)) + certificate
        body = b"PA\2\1" + self.build + bytes(15) + b"\1" + b"\1" + bytes(4) + text("acme") + text("1") + endorsement
        with urllib.request.urlopen(f"{self.place.url}/v1/challenge", data=body, timeout=60) as answer:
            challenge = answer.read()
        return challenge[33 + 4 * challenge[32]:]

    def signed(self, name, *, usage="2.23.133.8.1", kind=("-newkey", "rsa:2048"), end="20991231235959Z", own=False):
        """A certificate by the maker's authority, in DER."""
        type(self).count += 1
        base = self.folder / f"certificate{self.count}"
        subprocess.run(["openssl", "req", *kind, "-nodes", "-subj", f"/CN={name}", "-keyout", f"{base}.key",
                        "-out", f"{base}.csr"], check=True, capture_output=True)
        (self.folder / "extensions").write_text(
            "basicConstraints = critical,CA:FALSE\n" + (f"extendedKeyUsage = {usage}\n" if usage else ""))
        issuer = f"{base}.key" if own else self.authority.folder / "signkey.pem"
        (self.folder / "index").write_text("")
        (self.folder / "ca.conf").write_text(
            f"[ca]\ndefault_ca = it\n[it]\ndatabase = {self.folder / 'index'}\nnew_certs_dir = {self.folder}\n"
            "default_md = sha256\npolicy = all\nrand_serial = yes\nunique_subject = no\n"
            "[all]\ncommonName = supplied\n")
        words = ["-selfsign"] if own else ["-cert", self.authority.folder / "issuer.pem"]
        subprocess.run(["openssl", "ca", "-batch", "-notext", "-config", self.folder / "ca.conf", "-in", f"{base}.csr",
                        "-keyfile", issuer, *words, "-startdate", "20200101000000Z", "-enddate", end, "-extfile",
                        self.folder / "extensions", "-out", f"{base}.pem"], check=True, capture_output=True)
        return subprocess.run(["openssl", "x509", "-in", f"{base}.pem", "-outform", "DER"], check=True,
                              capture_output=True).stdout

    def test_only_a_certificate_of_an_endorsement_key_is_believed(self):
        good = self.signed("good")
        self.assertEqual((self.demand(None), self.demand(good)), (0, 0), "the policy does not ask")
        self.rule("hardware")
        self.assertEqual((self.demand(None), self.demand(good)), (1, 2))
        for name, certificate in (
                ("no usage", self.signed("x", usage=None)), ("a server's", self.signed("x", usage="serverAuth")),
                ("an attestation key's", self.signed("x", usage="2.23.133.8.3")),
                ("one that has ended", self.signed("x", end="20200201000000Z")),
                ("an elliptic key's", self.signed("x", kind=("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"))),
                ("a longer key's", self.signed("x", kind=("-newkey", "rsa:3072"))),
                ("one of its own", self.signed("x", own=True)), ("with a byte more", good + b"\0"),
                ("cut short", good[:-1]), ("with another signature", good[:-1] + bytes([good[-1] ^ 1])),
                ("empty", b""), ("none", b"certificate")):
            with self.subTest(name):
                self.assertEqual(self.demand(certificate), 0)
        dice = random.Random(21)
        for _ in range(150):
            mutant = bytearray(good)
            for _ in range(dice.randrange(1, 4)):
                mutant[dice.randrange(len(mutant))] = dice.randrange(256)
            self.assertEqual(self.demand(bytes(mutant)), 2 if mutant == good else 0, mutant.hex())

    def tool(self, tpm, *words):
        """A program of tpm2-tools: its exit status, and what it says."""
        run = subprocess.run([f"tpm2_{words[0]}", "-T", tpm.transport, *map(str, words[1:])],
                             capture_output=True, timeout=60, cwd=tpm.home)
        return run.returncode, run.stdout + run.stderr

    def well(self, tpm, *words):
        # No resource manager is there: the tools leave objects behind, and swtpm has room for three.
        self.tool(tpm, "flushcontext", "-t")
        code, said = self.tool(tpm, *words)
        self.assertEqual(code, 0, said)

    def opens(self, tpm, certificate, context, public):
        """Whether a TPM opens the service's credential for the key in `context`, whose public area is `public`."""
        x, y = public[-66:-34], public[-32:]
        demand = self.challenge(certificate, x + y)
        self.assertEqual(demand[0], 2)
        size = struct.unpack("<I", demand[1:5])[0]
        parts = demand[5:5 + size], demand[9 + size:]
        (tpm.home / "credential").write_bytes(
            struct.pack(">II", 0xBADCC0DE, 1) + b"".join(struct.pack(">H", len(part)) + part for part in parts))
        self.well(tpm, "startauthsession", "--policy-session", "-S", "session")
        self.well(tpm, "policysecret", "-S", "session", "-c", "e")
        self.tool(tpm, "flushcontext", "-t")
        code, said = self.tool(tpm, "activatecredential", "-c", context, "-C", "0x81010001", "-i", "credential", "-o",
                               "secret", "-P", "session:session")
        self.tool(tpm, "flushcontext", "session")
        return code == 0, said

    def test_no_key_that_was_made_outside_or_can_leave_opens_a_credential(self):
        """The attacker has root, a certified TPM, and tpm2-tools."""
        self.rule("hardware")
        tpm = self.another_tpm()
        self.well(tpm, "nvread", "0x1c00002", "-o", "certificate")
        certificate = (tpm.home / "certificate").read_bytes()
        genuine = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|sign"
        for attributes, expected in (
                (genuine, True), (genuine.replace("fixedtpm|fixedparent|", ""), False),
                (genuine + "|restricted", False), (genuine.replace("|noda", ""), False)):
            with self.subTest(attributes):
                self.well(tpm, "createprimary", "-C", "o", "-g", "sha256", "-G", "ecc256:ecdsa-sha256:null", "-a",
                          attributes, "-c", "key", "-f", "tss", "-o", "public")
                public = (tpm.home / "public").read_bytes()
                self.assertEqual(self.opens(tpm, certificate, "key", public)[0], expected)
        # The public half of a software key under the attributes of a key in hardware.
        self.well(tpm, "createprimary", "-C", "o", "-g", "sha256", "-G", "ecc256:ecdsa-sha256:null", "-a", genuine,
                  "-c", "key", "-f", "tss", "-o", "public")
        public = bytearray((tpm.home / "public").read_bytes())
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", tpm.home / "own"],
                       check=True)
        point = subprocess.run(["openssl", "ec", "-in", tpm.home / "own", "-pubout", "-outform", "DER"], check=True,
                               capture_output=True).stdout[-64:]
        public[-66:-34], public[-32:] = point[:32], point[32:]
        (tpm.home / "forged").write_bytes(public)
        self.well(tpm, "loadexternal", "-C", "o", "-u", "forged", "-c", "outside")
        self.tool(tpm, "flushcontext", "-t")
        is_open, said = self.opens(tpm, certificate, "outside", bytes(public))
        self.assertFalse(is_open, said)
        # With its private half the TPM does not take it under these attributes.
        code, said = self.tool(tpm, "loadexternal", "-C", "n", "-G", "ecc", "-r", "own", "-a", genuine, "-c", "whole")
        self.assertNotEqual(code, 0, said)

    def test_answers_of_a_tpm_that_are_almost_right_end_no_app(self):
        self.rule("hardware")
        own = self.another_tpm()
        app = self.app(own.device)
        self.assertEqual(self.seen(app), (True, []))
        seed = 20
        print(f"seed {seed}", end=" ", flush=True)
        mutator = Mutator(own, seed)
        self.addCleanup(mutator.close)
        ends = {}
        for number in range(ROUNDS):
            # In turn an installation with a key, and one that makes its key and proves it.
            storage = app.storage if number % 2 else None
            mutated = self.app(mutator.device, storage=storage)
            status, _, _, reason = mutated.fetch(HOST)
            self.assertIn(status, ("success", "key unavailable", "internal error"), reason)
            ends[status] = ends.get(status, 0) + 1
            # A transient object of an operation that broke off stays: the kernel's resource manager takes it out,
            # and swtpm has none.
            if status != "success":
                own.stop()
                own.start()
            self.end(mutated)
        self.assertGreater(mutator.changed, ROUNDS // 2)
        self.assertGreater(ends.get("key unavailable", 0), 0, ends)
        self.assertEqual(self.seen(self.app(own.device, storage=app.storage)), (True, []))

    def test_damage_and_open_files_are_told(self):
        app = self.app("stored")
        app.ask("key")
        path = app.storage / "installation-key"
        whole = path.read_bytes()
        for data in (b"", whole[:-1], whole + b"x", bytes(100), whole[:3] + b"\x09" + whole[4:]):
            path.write_bytes(data)
            status, _, _, reason = self.app("stored", storage=app.storage).fetch(HOST)
            self.assertEqual((status, "holds no installation key" in reason), ("key unavailable", True), reason)
        path.write_bytes(whole)
        path.chmod(0o644)
        status, _, _, reason = self.app("stored", storage=app.storage).fetch(HOST)
        self.assertEqual((status, "cannot be read" in reason), ("key unavailable", True), reason)

    def test_a_service_without_authorities_counts_no_key_as_hardware(self):
        self.rule("hardware")
        place = self.place
        before = place.url
        try:
            place.start_service()
            type(self).config = place.ask("config", "show")["signed"]
            self.assertEqual(self.seen(self.app(self.tpm.device)), (False, ["installation-key-unproved"]))
        finally:
            place.url = before
            place.ask("config", "url", before)
            type(self).config = place.ask("config", "show")["signed"]

    def test_authorities_that_are_none_end_the_service_at_once(self):
        whole = self.authority.certificates.read_bytes()
        for data in (b"", b"no certificate", whole + b"-----BEGIN CERTIFICATE-----\nx"):
            path = self.place.write("authorities.pem", data)
            with self.assertRaises(AssertionError):
                self.place.start_service("--tpm-authorities", path)

    def test_the_settings_words(self):
        code, _, words = self.place.run("policy", "set", "installation-key=maybe")
        self.assertNotEqual(code, 0)
        self.assertIn("any, signed, hardware", words)
        shown = json.dumps(self.place.ask("policy", "show"))
        self.assertIn('"installation-key": "any"', shown)


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(InstallationKeys), sys.argv[1:]))
