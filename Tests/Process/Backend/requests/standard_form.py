# SPDX-License-Identifier: Apache-2.0

"""Verifies a request proof of ProofKit's standard form: RFC 9421 with hmac-sha256. Standard library only.

`verify` checks the signature and what it covers. The caller looks the key up by the key id, compares the body with
`Proof.body`, judges `created`, and uses (key id, nonce) once.
"""

import base64
import binascii
import hashlib
import hmac
import re
from dataclasses import dataclass

DERIVED = ("@method", "@authority", "@path", "@query")
WHEN_PRESENT = ("authorization", "content-type", "x-http-method-override", "proof-account")
SINGLE = WHEN_PRESENT + ("content-digest", "content-length", "host")
NAMES, VALUES = r'(?:"[^"\\]*"(?: "[^"\\]*")*)?', r'(?:;[a-z]+=(?:"[^"\\]*"|-?\d{1,15}))*'
INPUT = re.compile(rf"([a-z*][a-z0-9_.*-]*)=(\(({NAMES})\)({VALUES}))")
PARAMETER = re.compile(r';([a-z]+)=(?:"([^"\\]*)"|(-?\d{1,15}))')
SIGNATURE = re.compile(r"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):")
AMBIGUOUS = re.compile(r"//|\\|#|%(?![0-9A-Fa-f]{2})|%00|%2[Ff]|%5[Cc]|(/|^)(\.|%2[Ee]){1,2}(;[^/]*)?(/|$)")


class Refused(Exception):
    """The reason, for the log."""


@dataclass(frozen=True)
class Proof:
    key_id: str
    created: int
    nonce: str
    body: bytes | None  # SHA-256 of the coded bytes; None for a GET or HEAD without a body


def verify(method, authority, target, headers, key_of, more_fields=()):
    """`authority` comes from the route; `headers` is a list of pairs; `key_of` finds 32 bytes by key id, or None."""
    fields = {}
    for name, value in headers:
        fields.setdefault(name.lower(), []).append(value.strip(" \t"))
    path, mark, query = target.partition("?")
    need(target.startswith("/") and not AMBIGUOUS.search(path) and not AMBIGUOUS.search("?" + query.replace("/", ""))
         and (query or not mark), "ambiguous target")
    need(all(len(fields.get(name, ())) <= 1 for name in SINGLE), "a field that can be given once is given twice")
    covered, parameters, text, signature = find(fields)
    required = list(DERIVED)
    has_digest = "content-digest" in fields
    if has_digest or method not in ("GET", "HEAD"):
        required.append("content-digest")
    elif "transfer-encoding" in fields or fields.get("content-length", ["0"]) != ["0"]:
        raise Refused("uncovered body")
    required += [name for name in WHEN_PRESENT + tuple(more_fields) if name in fields]
    need(set(required) <= set(covered) and len(set(covered)) == len(covered), "uncovered component")
    need(set(parameters) <= {"created", "expires", "keyid", "nonce", "alg", "tag"}, "unknown parameter")
    need(parameters.get("alg", "hmac-sha256") == "hmac-sha256", "another algorithm")
    created, key_id, nonce = (parameters.get(name) for name in ("created", "keyid", "nonce"))
    need(type(created) is int and isinstance(key_id, str) and isinstance(nonce, str), "missing parameter")
    need(key_id and 1 <= len(nonce) <= 128, "bad parameter")
    values = {"@method": method, "@authority": authority, "@path": path, "@query": "?" + query}
    lines = []
    for name in covered:
        need(name in values or name in fields, f"covers {name}, which the request does not have")
        lines.append(f'"{name}": {values[name] if name in values else ", ".join(fields[name])}\n')
    base = "".join(lines) + '"@signature-params": ' + text
    key = key_of(key_id)
    need(key is not None, "unknown key")
    need(hmac.compare_digest(hmac.new(key, base.encode("latin-1"), hashlib.sha256).digest(), signature), "signature")
    return Proof(key_id, created, nonce, digest(fields["content-digest"][0]) if has_digest else None)


def find(fields):
    """The one signature with our tag: covered names, parameters, their text, and the signature's bytes."""
    inputs, signatures = (", ".join(fields.get(name, ())) for name in ("signature-input", "signature"))
    need(inputs and len(inputs) <= 4096 and len(signatures) <= 4096, "no signature, or one that is too long")
    found = [match.groups() for match in INPUT.finditer(inputs)]
    need(", ".join(f"{label}={text}" for label, text, _, _ in found) == inputs, "malformed Signature-Input")
    values = SIGNATURE.findall(signatures)
    need(", ".join(f"{label}=:{value}:" for label, value in values) == signatures, "malformed Signature")
    need(len({one[0] for one in found}) == len(found) and len(dict(values)) == len(values), "a label is given twice")
    read = [(label, text, names, PARAMETER.findall(rest)) for label, text, names, rest in found]
    ours = [one for one in read if ("tag", "proofkit", "") in one[3]]
    need(len(ours) == 1, "not one signature with the tag")
    label, text, names, pairs = ours[0]
    need(label in dict(values) and len({name for name, _, _ in pairs}) == len(pairs), "label or parameter")
    parameters = {name: int(number) if number else value for name, value, number in pairs}
    return re.findall(r'"([^"]*)"', names), parameters, text, decode(dict(values)[label])


def digest(field):
    match = re.fullmatch(r"(?:.*, *)?sha-256=:([A-Za-z0-9+/]{43}=):(?:,.*)?", field)
    need(match is not None, "malformed Content-Digest")
    return decode(match[1])


def decode(text):
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error:
        raise Refused("malformed base64") from None
    need(base64.b64encode(data).decode() == text, "base64 that is not canonical")
    return data


def need(condition, reason):
    if not condition:
        raise Refused(reason)
