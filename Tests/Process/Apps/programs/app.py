# SPDX-License-Identifier: Apache-2.0

"""An ordinary Python program: numbers, tables, XML, cryptography. It measures nothing itself.

Standard input says what it does besides: `work` begins threads that compute, `later` opens what system libraries open
by themselves at their first use. Each line is answered by `done`.
"""

import ctypes
import hashlib
import io
import json
import os
import pwd
import re
import socket
import sqlite3
import ssl
import sys
import threading
import zlib

import lxml.etree
import lxml.html
import numpy
import numpy.fft
import numpy.linalg
import numpy.random
import pandas
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def round_of_work():
    numbers = numpy.random.default_rng().standard_normal((64, 64))
    numpy.linalg.svd(numbers)
    numpy.fft.fft(numbers)
    table = pandas.DataFrame({"key": ["a", "b"] * 32, "value": numbers[0]})
    table.groupby("key").agg(["mean", "std", "median", "max"])
    pandas.read_csv(io.StringIO(table.to_csv()))
    table.value.rolling(4).mean().sort_values()
    pandas.to_datetime(["2026-01-01", "2026-02-01"]).tz_localize("UTC")
    page = lxml.html.fromstring("<p>some <b>text</b></p>")
    lxml.etree.tostring(page.xpath("//b")[0])
    key = Fernet(Fernet.generate_key())
    key.decrypt(key.encrypt(b"text"))
    Ed25519PrivateKey.generate().sign(b"text")
    ec.generate_private_key(ec.SECP256R1())
    hashlib.sha256(zlib.compress(json.dumps(table.to_dict()).encode())).hexdigest()
    re.findall(r"\d+", str(numbers))
    ssl.create_default_context()
    sqlite3.connect(":memory:").execute("select 1").fetchall()


def work():
    while True:
        round_of_work()


def later():
    """Name services, character sets, providers of OpenSSL: what the system's libraries open for themselves."""
    for host in ("localhost", "nowhere.invalid", "nowhere.local"):
        try:
            socket.getaddrinfo(host, 80)
        except OSError:
            pass
    for name in ("root", "nobody-of-this-name"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            pass
    os.getgrouplist("root", 0)
    library = ctypes.CDLL(None)
    library.iconv_open.restype = ctypes.c_void_p
    for charset in (b"UTF-16", b"ISO-8859-15", b"EUC-JP"):
        assert library.iconv_open(charset, b"UTF-8") != ctypes.c_void_p(-1).value
    crypto = ctypes.CDLL("libcrypto.so.3")
    crypto.OSSL_PROVIDER_load.restype = ctypes.c_void_p
    crypto.OSSL_PROVIDER_load.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    assert crypto.OSSL_PROVIDER_load(None, b"legacy") and crypto.OSSL_PROVIDER_load(None, b"default")


def main():
    round_of_work()  # The libraries' files of their first use are open from here on.
    measurer = ctypes.CDLL(sys.argv[1])
    print(measurer.measurer_from_python(), flush=True)
    for line in sys.stdin:
        if line == "work\n":
            for _ in range(2):
                threading.Thread(target=work, daemon=True).start()
        elif line == "later\n":
            later()
        print("done", flush=True)
    os._exit(0)  # The threads compute on.


main()
