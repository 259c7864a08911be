# SPDX-License-Identifier: Apache-2.0

"""Asks a gate to challenge a client's next request: docs/SPEC.md, section 16. Standard library only.

`client_of` takes what `verdict.check` returned. Send the text as `Proof-Demand`, or post it to the gate's `/demand`.
"""

import base64
import hashlib
import hmac
import json


def client_of(said):
    """The name of a verdict's client; None if the gate named none."""
    return "h." + said["app"]["handle"] if "app" in said else said.get("client")


def demand(number, key, client, kind, now, level=0, seconds=3600):
    """`number` and `key`: a line of verdict-key. `kind`: proof, work, memory or person."""
    members = {"at": now, "for": client, "kind": kind, "level": level, "seconds": seconds}
    said = bytes((0x1D, number)) + json.dumps(members).encode()
    return encode(said) + "." + encode(hmac.digest(key, b"pfc1.demand....." + said, hashlib.sha256))


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
