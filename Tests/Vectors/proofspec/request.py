# SPDX-License-Identifier: Apache-2.0

"""Section 15: the digest of a request, and its one spelling."""

import re
from dataclasses import dataclass

from .basics import Refused, sha256

METHOD = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}\Z")
HOST = re.compile(rb"(\[[!-~]+?\]|[!-~]+?)(?::([0-9]+))?\Z")
TARGET = re.compile(rb"(/[!-~]*|\*)\Z")
PORTS = {b"http": b"80", b"https": b"443"}


@dataclass(frozen=True)
class Request:
    method: bytes
    scheme: bytes
    authority: bytes
    target: bytes
    body_digest: bytes
    authorization: bytes = b""

    def is_canonical(self) -> bool:
        return (
            self.scheme in PORTS
            and METHOD.match(self.method) is not None
            and _authority(self.authority, PORTS[self.scheme])
            and TARGET.match(self.target) is not None
            and not set(self.target) & set(b"#\\")
            and not set(self.authorization) & set(b"\0\r\n")
        )

    def digest(self) -> bytes:
        if not self.is_canonical():
            raise Refused("malformed")
        lines = (self.method, self.scheme, self.authority, self.target, self.body_digest)
        return sha256(b"\n".join(lines) + b"\n" + sha256(self.authorization))


def _authority(text: bytes, own_port: bytes) -> bool:
    if not 1 <= len(text) <= 255 or set(text) & set(b"@/?#\\ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        return False
    if any(not 0x21 <= byte <= 0x7E for byte in text):
        return False
    found = HOST.match(text)
    if found is None:
        return False
    host, port = found.groups()
    # Another colon than those in brackets begins a port.
    if host.startswith(b"["):
        if len(host) < 3 or not host.endswith(b"]") or b"]" in host[1:-1]:
            return False
    elif b":" in host:
        return False
    if port is None:
        return True
    return 1 <= int(port) <= 65535 and not port.startswith(b"0") and port != own_port
