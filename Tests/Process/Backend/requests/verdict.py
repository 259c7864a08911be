# SPDX-License-Identifier: Apache-2.0

"""Checks the verdicts of a gate for one API: docs/SPEC.md, section 16. Standard library only.

`check` returns what the gate said. Look at `pass`, and at `body`: without it no proof covers the body.
"""

import base64
import hashlib
import hmac
import json
import re

SECONDS = 30


class Refused(Exception):
    """Its argument is the word of docs/SPEC.md, section 16."""


def check(text, keys, method, scheme, authority, target, body, now, authorization=b""):
    """`keys` are the host's verdict keys by number; `body` is SHA-256 of the coded bytes."""
    need(re.fullmatch(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}", text) and len(text) <= 4096, "text")
    raw, tag = (decode(part) for part in text.split("."))
    need(len(raw) > 2, "text")
    need(raw[0] == 0x1C, "kind")
    need(raw[1] in keys, "key")
    expected = hmac.digest(keys[raw[1]], b"pfc1.verdict...." + raw, "sha256")
    need(hmac.compare_digest(expected, tag), "tag")
    said = json.loads(raw[2:])
    need(abs(said["at"] - now) <= SECONDS, "time")
    covered = decode(said["body"]) if "body" in said else None
    need(covered in (None, body), "body")
    lines = (method, scheme, authority, target, covered or bytes(32), hashlib.sha256(authorization).digest())
    need(hashlib.sha256(b"\n".join(lines)).digest() == decode(said["request"]), "request")
    return said


def decode(part):
    data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    need(base64.urlsafe_b64encode(data).rstrip(b"=") == part.encode(), "text")
    return data


def need(condition, word):
    if not condition:
        raise Refused(word)
