#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Orders are signed while the backend issues tokens: two processes, one ledger.

The invariant of docs/BACKEND.md: the records have one order, and each obeys all before it. No issue stands behind a
revocation that covers it, or behind a newer generation. Acknowledged records are there, whichever process was
killed."""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import random
import stat
import struct
import subprocess
import sys
import threading
import unittest

from jwcrypto import jwe, jwk

from place import BIN, Place

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support" / "Runner"))
import runner  # noqa: E402

SEED = int(os.environ.get("PROOFKIT_SEED", "1"))
ISSUED, REVOKED = 1, 2


class Ledger:
    """The two files, read by docs/BACKEND.md alone."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def records(self):
        """Instance, event and generation of each record, in order. A record that is not counted is the last one."""
        data, count = ((self.folder / name).read_bytes() for name in ("issued", "issued.count"))
        assert count[8:] == hashlib.sha256(b"pfb2.ledgercount" + count[:8]).digest()[:16]
        number, = struct.unpack("<Q", count[:8])
        assert number * 64 <= len(data) <= (number + 1) * 64, (number, len(data))
        found = []
        for at in range(0, len(data) - len(data) % 64, 64):
            record = data[at:at + 64]
            whole = record[48:] == hashlib.sha256(b"pfb2.ledger....." + record[:48]).digest()[:16]
            assert whole or at // 64 == number, f"record {at // 64} of {number} is damaged"
            if whole:
                event, generation = struct.unpack("<BxxxI", record[32:40])
                found.append((record[:16], event, generation))
        return found

    def check_order(self):
        """Each record obeys those before it."""
        issued, revoked = {}, {}
        for instance, event, generation in self.records():
            if event == REVOKED:
                revoked[instance] = max(revoked.get(instance, 0), generation)
                continue
            assert generation > revoked.get(instance, 0), "a token stands behind the revocation that covers it"
            assert generation >= issued.get(instance, 0), "a token stands behind a newer one"
            issued[instance] = generation
        return issued, revoked


class Orders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = cls.place = Place()
        place.make_account()
        cls.hardware = place.ask("hardware", "new", "--output", place.path("door.key"))["id"]
        place.ask("issuer", "new", "--output", place.path("issuer.key"), where=[])
        cls.key = {"kty": "oct", "alg": "dir", "kid": "k",
                   "k": base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()}
        place.write("sealing.jwks", json.dumps({"keys": [cls.key]}))
        cls.own = ["--issuer-key", place.path("issuer.key"), "--ledger", place.path("ledger")]
        cls.ledger = Ledger(place.path("ledger"))
        cls.start_backend()

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    @classmethod
    def start_backend(cls):
        cls.backend = cls.place.start(
            BIN / "proof-unlock", "--keys", cls.place.path("sealing.jwks"), *cls.own, "--store", cls.place.store,
            "--classes", "0", "--anyone")
        cls.port = int(cls.backend.stdout.readline().split()[-1])

    def token(self, instance, generation):
        """A service token of an app that passed."""
        claims = {name: base64.b64encode(bytes([value] * count)).decode() for name, value, count in
                  (("imh", 1, 32), ("dmh", 2, 32), ("mpk", 3, 16), ("dpk", 4, 16))}
        claims |= {"did": base64.b64encode(instance).decode(), "exp": 4_000_000_000, "mgn": generation,
                   "mmd": "production"}
        made = jwe.JWE(json.dumps(claims).encode(),
                       protected=json.dumps({"alg": "dir", "enc": "A256GCM", "kid": "k"}))
        made.add_recipient(jwk.JWK(**self.key))
        return made.serialize(compact=True)

    def grant(self, instance, generation):
        """The status, or None where the backend died."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", f"/unlock-grant?hardware={self.hardware}",
                               headers={"Proof-Token": self.token(instance, generation), "Content-Length": "0"})
            return connection.getresponse().status
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def revoke(self, instance, *words):
        return ["order", "sign", "revoke", self.hardware, "--instance", instance.hex(), *words, *self.own]

    def test_1_an_order_is_signed_while_the_backend_runs(self):
        phone, other = bytes([1]) * 16, bytes([2]) * 16
        self.assertEqual([self.grant(phone, 3), self.grant(other, 3)], [200, 200])
        path = self.place.path("revocation")
        self.assertEqual(self.place.ask(*self.revoke(phone, "--output", path)), {"order": f"in {path}"})
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        order = bytes.fromhex(pathlib.Path(path).read_text().strip())
        self.assertEqual((len(order), order[:2]), (124, b"PO"))
        self.assertEqual(self.grant(phone, 4), 403, "the running backend obeys it")
        self.assertEqual(self.grant(other, 3), 200)
        self.place.ask(*self.revoke(other, "--through", "6"))
        self.assertEqual([self.grant(other, 6), self.grant(other, 7), self.grant(other, 6)], [403, 200, 403])
        # In the other direction, the tool obeys the backend's issues.
        found = self.ledger.records()
        self.assertEqual([event for _, event, _ in found], [ISSUED, ISSUED, REVOKED, ISSUED, REVOKED, ISSUED])
        code, _, words = self.place.run(*self.revoke(other, "--output", path))
        self.assertEqual((code, "File exists" in words), (1, True))
        self.assertEqual(self.grant(other, 7), 200, "an order that cannot be written is not signed")

    def test_2_two_processes_race_and_are_killed(self):
        chance = random.Random(SEED)
        print(f"orders: seed {SEED}")
        phones = [bytes([16 + number]) * 16 for number in range(4)]
        promised, stop, faults = [], threading.Event(), []

        def issue(phone, seed):
            own, generation = random.Random(seed), 1
            while not stop.is_set():
                generation += own.randrange(3)
                status = self.grant(phone, generation)
                if status == 200:
                    promised.append((phone, ISSUED, generation))
                elif status not in (None, 403, 409):
                    faults.append(f"{status} for generation {generation}")
                    return

        threads = [threading.Thread(target=issue, args=(phone, number)) for number, phone in enumerate(phones)]
        for thread in threads:
            thread.start()
        killed = signed = 0
        for turn in range(40):
            through = turn + chance.randrange(1, 20)
            phone = chance.choice(phones)
            process = subprocess.Popen(
                [BIN / "proofctl", *map(str, self.revoke(phone, "--through", through)), "--store", self.place.store],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.place.environment)
            try:
                # Killed at a moment that chance chooses; a fault, and no way to wait for something.
                output, errors = process.communicate(timeout=chance.uniform(0.05, 0.6) if turn % 2 else 60)
                self.assertEqual(process.returncode, 0, errors)
                self.assertTrue(output.strip())
                promised.append((phone, REVOKED, through))
                signed += 1
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate(timeout=60)
                killed += 1
                if output.strip():
                    promised.append((phone, REVOKED, through))
            if turn % 10 == 9:
                self.backend.kill()
                self.backend.wait(timeout=60)
                self.start_backend()
        stop.set()
        for thread in threads:
            thread.join(timeout=120)
        self.assertEqual(faults, [])
        # One more step, after which each record is counted.
        self.place.ask(*self.revoke(bytes([99]) * 16))
        found = self.ledger.records()
        self.ledger.check_order()
        for record in promised:
            self.assertIn(record, found, "what was acknowledged is there")
        count, = struct.unpack("<Q", (self.ledger.folder / "issued.count").read_bytes()[:8])
        self.assertEqual(count, len(found))
        self.assertGreater(signed, 0)
        print(f"orders: {len(found)} records of two processes, {signed} orders signed, {killed} killed")

    def test_3_a_process_that_holds_the_ledger_for_good_is_named(self):
        holder = subprocess.Popen(
            [sys.executable, "-c",
             "import fcntl, os, sys; f = open(sys.argv[1], 'r+'); fcntl.flock(f, fcntl.LOCK_EX); f.seek(0); "
             "f.truncate(); f.write(f'{os.getpid()}\\n'); f.flush(); print('held', flush=True); sys.stdin.read()",
             self.place.path("ledger/lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(holder.stdout.readline(), "held\n")
            code, _, words = self.place.run(*self.revoke(bytes([1]) * 16))
            self.assertEqual(code, 1)
            self.assertRegex(words, f"in use by process {holder.pid}.*within 10 seconds")
            self.assertEqual(self.grant(bytes([2]) * 16, 9), 503)
        finally:
            holder.communicate(timeout=60)
        self.assertEqual(self.grant(bytes([2]) * 16, 9), 200, "and the backend goes on")


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(Orders), sys.argv[1:]))
