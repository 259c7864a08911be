# SPDX-License-Identifier: Apache-2.0

"""Event tokens that are made by SPEC.md alone, and a backend that redeems them."""

import hashlib
import http.client
import itertools
import json
import os
import struct
import time
import urllib.request

from parties import HOST, PATIENCE
from proofspec import compact, gate

RULES = "route all\n  path /*\n  need proof\n  young none\n"
ORDER = b'{"cents":1200}'
# No text of random letters, such as a handle in a log, can have it.
ACCOUNT = "ada@example.com"


class Maker:
    """Makes the event tokens of one app."""

    def __init__(self, admission, own):
        (_, _, audience, _), = admission["events"]
        self.keys = gate.event_keys(admission["secret"], admission["generation"], audience)
        self.account_key = admission["account key"]
        self.number = admission["account number"]
        self.beacons = gate.beacon_key(own, admission["gate"], 1)
        self.start, self.count = struct.unpack("<I", os.urandom(4))[0], 0

    def restart(self):
        """The app starts anew, under another number: no token of before is too old by its count."""
        self.start, self.count = (self.start + 1) % 2**32, 0
        return self

    def make(self, event=3300, account=ACCOUNT.encode(), data=ORDER, ahead=0):
        """A token; `ahead`: seconds by which the app's clock is."""
        now = int(time.time())
        self.count += 1
        fields = compact.Fields(now + ahead, event, self.start, self.count, 0, 0, gate.beacon(self.beacons, now // 300))
        subject = compact.Subject(
            gate.account(self.account_key, account), hashlib.sha256(data).digest(), bytes(32))
        return compact.to_text(compact.make(compact.EVENT, self.number, fields, subject, self.keys))


    def another_account(self, account=ACCOUNT):
        """A name whose tokens are told apart from the account's by their hint, which has one byte of each."""
        names = (f"eve{number}@example.com" for number in itertools.count())
        hint = gate.account(self.account_key, account.encode())[0]
        return next(name for name in names if gate.account(self.account_key, name.encode())[0] != hint)


class Asker:
    """A backend that asks a listener for events."""

    def __init__(self, port, credential):
        self.port, self.credential = port, credential

    def post(self, path, body, credential=None, method="POST"):
        headers = {"content-type": "application/json"}
        if credential != "":
            headers["authorization"] = f"Bearer {credential or self.credential}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body), headers)
            answer = connection.getresponse()
            content = answer.read()
            return answer.status, json.loads(content) if "json" in answer.getheader("content-type", "") else content
        finally:
            connection.close()

    def redeem(self, token, event=3300, account=ACCOUNT, data=ORDER, **more):
        digest = gate.encode_text(hashlib.sha256(data).digest())
        status, said = self.post("/v1/event", {
            "token": token, "event": event, "account": account, "data": digest} | more)
        assert status == 200, said
        return said


def admit(prover, gate_process):
    """A request with the app's gate token: the gate knows the app from now on. Gives the status."""
    fields = prover.prove("GET", "/orders")
    question = urllib.request.Request(f"http://127.0.0.1:{gate_process.port}/judge", headers=dict(fields) | {
        "X-Original-Method": "GET", "X-Original-URI": "/orders", "X-Original-Host": HOST,
        "X-Original-Scheme": "https"})
    with urllib.request.urlopen(question, timeout=PATIENCE) as answer:
        return answer.status
