#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Requests signed by the installation's key in a TPM (swtpm, unmodified): judged by a RequestVerifier and by an
unmodified foreign library. A copied storage does not sign without that TPM."""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import http_message_signatures as rfc9421
import httpx
from cryptography.hazmat.primitives.asymmetric import ec

from tpm import TPM, Authority

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import runner  # noqa: E402

URL = "https://api.example.com/pay?to=7"
BODY = b'{"cents":1200}'
FIELDS = [["Content-Type", "application/json"], ["Authorization", "Bearer abc"]]


class Peer:
    """The app's process: its storage, and the TPM of its machine or none."""

    def __init__(self, storage, device=None):
        self.process = subprocess.Popen(
            [f"{os.environ['PROOF_BIN']}/request-peer", str(storage), *([str(device)] if device else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **question):
        self.process.stdin.write(json.dumps({"method": "POST", "url": URL, "body": BODY.hex()} | question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def sign(self, nonce="n0", **question):
        now = int(datetime.datetime.now().timestamp())
        return self.ask(fields=FIELDS, created=now, nonce=nonce, keyid="installation", **question)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


class Resolver(rfc9421.HTTPSignatureKeyResolver):
    def __init__(self, point):
        self.public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), b"\4" + bytes.fromhex(point))

    def resolve_public_key(self, key_id):
        return self.public


def believed(fields, point, url=URL, method="POST"):
    """The foreign library's verdict: how many signatures by the installation's key it believes."""
    verifier = rfc9421.HTTPMessageVerifier(
        signature_algorithm=rfc9421.algorithms.ECDSA_P256_SHA256, key_resolver=Resolver(point))
    request = httpx.Request(method, url, headers=[tuple(field) for field in fields], content=BODY)
    return len(verifier.verify(request, expect_tag="proofkit-key"))


class RequestsInTPM(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="proofkit-tpm-"))
        cls.authority = Authority(cls.folder / "authority")
        cls.tpm = TPM(cls.authority, cls.folder, "usual")
        cls.storage = cls.folder / "storage"
        cls.app = Peer(cls.storage, cls.tpm.device)

    @classmethod
    def tearDownClass(cls):
        cls.app.close()
        cls.tpm.close()
        shutil.rmtree(cls.folder)

    def peer(self, storage, device=None):
        peer = Peer(storage, device)
        self.addCleanup(peer.close)
        return peer

    def copied(self, name):
        storage = self.folder / name
        shutil.copytree(self.storage, storage)
        return storage

    def test_a_foreign_library_verifies_a_signature_by_the_tpm(self):
        answer = self.app.sign()
        self.assertEqual(believed(answer["fields"], answer["point"]), 1)
        for change in ({"url": URL + "0"}, {"method": "PUT"}):
            with self.subTest(change), self.assertRaises(rfc9421.InvalidSignature):
                believed(answer["fields"], answer["point"], **change)
        # Each request is signed anew by the same key, also in another process.
        again = self.peer(self.storage, self.tpm.device).sign(nonce="n1")
        self.assertEqual(again["point"], answer["point"])
        self.assertNotEqual(again["fields"], answer["fields"])
        self.assertEqual(believed(again["fields"], answer["point"]), 1)

    def test_a_request_verifier_demands_and_takes_it_beside_the_proof_of_the_gate(self):
        answer = self.app.sign(prove=True)
        # A verifier that has just started takes proofs that have its word on the time.
        word = self.app.ask(fields=answer["fields"], judge=answer["point"])["word"]
        answer = self.app.sign(prove=True, word=word)
        fields, point = answer["fields"], answer["point"]
        self.assertEqual([field for name, field in fields if name == "signature"][1][:13], "proofkit-key=")
        for change in ({"url": URL + "0"}, {"body": b"{}".hex()}, {"method": "PUT"}):
            with self.subTest(change):
                judged = self.app.ask(fields=fields, judge=point, **change)["judged"]
                self.assertNotIn(judged, ("signed", "not signed"))
        stranger = self.peer(self.folder / "stranger").sign()["point"]
        self.assertIn("signature", self.app.ask(fields=fields, judge=stranger)["judged"])
        alone = [field for field in fields if "proofkit-key=" not in field[1]]
        self.assertNotEqual(self.app.ask(fields=alone, judge=point)["judged"], "signed")
        self.assertEqual(self.app.ask(fields=fields, judge=point)["judged"], "signed")
        self.assertNotEqual(self.app.ask(fields=fields, judge=point)["judged"], "signed", "a replay")

    def test_a_copied_storage_does_not_sign_without_that_tpm(self):
        point = self.app.sign()["point"]
        other = TPM(self.authority, self.folder, "other")
        self.addCleanup(other.close)
        for name, device in (("other-tpm", other.device), ("no-tpm", self.folder / "none"), ("no-device", None)):
            with self.subTest(name):
                answer = self.peer(self.copied(name), device).sign()
                self.assertEqual(answer.get("error"), "InstallationKeyError", answer)
                for word in ("attack", "tamper", "stolen", "clone", "fraud"):
                    self.assertNotIn(word, answer["words"])
        # A thief who makes a new key in that storage signs under another point, which the backend does not know.
        storage = self.copied("new-key")
        (storage / "installation-key").unlink()
        answer = self.peer(storage, other.device).sign(prove=True)
        self.assertNotEqual(answer["point"], point)
        with self.assertRaises(rfc9421.InvalidSignature):
            believed(answer["fields"], point)
        self.assertNotEqual(self.app.ask(fields=answer["fields"], judge=point)["judged"], "signed")


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(RequestsInTPM), sys.argv[1:]))
