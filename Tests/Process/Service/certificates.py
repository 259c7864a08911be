# SPDX-License-Identifier: Apache-2.0

"""Certificates for tests, by the openssl command line: one authority, and what goes wrong."""

import base64
import hashlib
import os
import subprocess


def openssl(*arguments: str) -> bytes:
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout


def make_key(path: str) -> None:
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path)


def make_authority(folder: str, name: str) -> None:
    make_key(f"{folder}/{name}.key")
    openssl("req", "-x509", "-new", "-key", f"{folder}/{name}.key", "-subj", f"/CN=ProofKit test {name}", "-days", "30",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
            "-out", f"{folder}/{name}.pem")


def make_leaf(folder: str, name: str, authority: str, names: str, days: int) -> None:
    """A certificate and its key; a negative number of days: expired. The pin is in `name.pin`."""
    make_key(f"{folder}/{name}.key")
    openssl("req", "-new", "-key", f"{folder}/{name}.key", "-subj", "/CN=attest", "-out", f"{folder}/{name}.csr")
    with open(f"{folder}/{name}.ext", "w", encoding="ascii") as file:
        file.write(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
    openssl("x509", "-req", "-in", f"{folder}/{name}.csr", "-CA", f"{folder}/{authority}.pem",
            "-CAkey", f"{folder}/{authority}.key", "-CAcreateserial", "-days", str(days),
            "-extfile", f"{folder}/{name}.ext", "-out", f"{folder}/{name}.pem")
    public = openssl("pkey", "-in", f"{folder}/{name}.key", "-pubout", "-outform", "DER")
    with open(f"{folder}/{name}.pin", "w", encoding="ascii") as file:
        file.write(base64.b64encode(hashlib.sha256(public).digest()).decode())


# A system that would let its programs speak any TLS.
TOLERANT = """openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = tls
[tls]
MinProtocol = TLSv1
CipherString = DEFAULT@SECLEVEL=0
"""
LOOPBACK = "IP:127.0.0.1,IP:::1,DNS:localhost"


def make_all(folder: str) -> None:
    """good; otherkey: same authority, same name, another key; stranger: of an unknown authority; expired; wrongname;
    outdated: a good one, for a listener that speaks TLS 1.1 at most."""
    os.makedirs(folder, exist_ok=True)
    make_authority(folder, "authority")
    make_authority(folder, "unknown")
    make_leaf(folder, "good", "authority", LOOPBACK, 10)
    make_leaf(folder, "otherkey", "authority", LOOPBACK, 10)
    make_leaf(folder, "stranger", "unknown", LOOPBACK, 10)
    make_leaf(folder, "expired", "authority", LOOPBACK, -1)
    make_leaf(folder, "outdated", "authority", LOOPBACK, 10)
    with open(f"{folder}/tolerant.cnf", "w", encoding="ascii") as file:
        file.write(TOLERANT)
    make_leaf(folder, "wrongname", "authority", "DNS:attest.example.com", 10)
