#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Hostile clients at the C door under address and undefined behaviour sanitizers, plain and TLS: `hostile.py [SEED]`.

Requests that are whole, cut short, mutated, doubled or too large, from clients that stay, leave or reset. What counts
is that the door goes on, holds nothing back, and stops clean. The door puts three answers in four off.
"""

import contextlib
import os
import pathlib
import random
import socket
import ssl
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
sys.path[:0] = [str(HERE.parent), str(HERE.parents[2] / "Support" / "Runner")]
from checks import Checks  # noqa: E402
from service import make_certificate  # noqa: E402

CONNECTIONS = 1000
# Stops while as many clients as this send what libmicrohttpd itself refuses.
STOPS, CLIENTS = 25, 300
# Programs that call the door's parts alone: the functions that they put in place of others, and the property.
PARTS = [
    ("resume", "MHD_resume_connection", "a stop waits for a thread that wakes an answer"),
    ("order", "MHD_add_connection pfh_connection_notify",
     "a late thread's older connections close none that was accepted after them"),
    ("values", "free stat listen", "addresses, sockets and certificate files have the bounds of the header"),
    ("rooms", "clock_gettime pthread_cond_timedwait MHD_get_connection_info",
     "the connection that leaves, its deadline, and the lane of the next one are those of the header"),
    ("times", "clock_gettime pthread_cond_timedwait poll accept4 calloc MHD_add_connection",
     "each part of a request and of a stop has its time, and a failure its pause"),
    ("requests", "calloc strdup realloc", "bodies and heads have the bounds of the header"),
]
REFUSED = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"
WHOLE = b"POST /a?b=c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
REQUESTS = [
    WHOLE, WHOLE * 2, WHOLE * 20,
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\nHost: a\n\n", b"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", b"GET / HTTP/9.1\r\n\r\n", b"HEAD /%00%zz HTTP/1.0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"GET /" + b"x" * 40000 + b" HTTP/1.1\r\n", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 3000 + b"\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1500000\r\n\r\n" + b"x" * 1500000,
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000000,
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
]


def make_chain(folder):
    """A chain of nine certificates with its key, the first eight alone, and another key; when the first one ends."""
    made = []
    for number in range(9):
        by = ["-CA", made[-1], "-CAkey", made[-1].with_suffix(".key")] if made else []
        made.append(folder / f"{number}.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", str(30 + number), "-subj", f"/CN={number}", *by, "-out", made[-1], "-keyout",
                        made[-1].with_suffix(".key")], check=True, capture_output=True)
    texts = [one.read_text() for one in reversed(made)]
    (folder / "chain.pem").write_text("".join(texts))
    (folder / "eight.pem").write_text("".join(texts[:8]))
    (folder / "chain.key").write_bytes(made[-1].with_suffix(".key").read_bytes())
    (folder / "other.key").write_bytes(made[0].with_suffix(".key").read_bytes())
    for one in folder.iterdir():
        one.chmod(0o600)
    told = subprocess.run(["openssl", "x509", "-in", made[-1], "-noout", "-enddate"], check=True, capture_output=True,
                          text=True).stdout
    return ssl.cert_time_to_seconds(told.strip().removeprefix("notAfter="))


def build(folder, name, *more):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libmicrohttpd", "gnutls"], check=True,
                           capture_output=True, text=True).stdout.split()
    program = folder / name
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic",
                    "-Wconversion", "-Wshadow", "-Werror", "-fsanitize=address,undefined",
                    "-fno-sanitize-recover=all", f"-I{ROOT}/CSources/CMicroHTTPD/include",
                    *sorted((ROOT / "CSources" / "CMicroHTTPD").glob("*.c")), HERE / f"{name}.c", *flags, *more,
                    "-lpthread", "-o", program], check=True)
    return program


def hostile(draw):
    request = draw.choice(REQUESTS)
    if draw.random() < 0.2:
        request = request[:draw.randrange(len(request) + 1)]
    if draw.random() < 0.2 and request:
        mutated = bytearray(request)
        for _ in range(3):
            mutated[draw.randrange(len(mutated))] = draw.randrange(256)
        request = bytes(mutated)
    return request


def attack(draw, port, context):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as plain:
        plain.settimeout(0.02)
        # One in five speaks plain HTTP to TLS.
        is_secure = context is not None and draw.random() < 0.8
        if is_secure:
            plain.settimeout(5)
        with context.wrap_socket(plain, server_hostname="127.0.0.1") if is_secure else plain as one:
            one.settimeout(0.02)
            one.sendall(hostile(draw))
            if draw.random() < 0.7:
                one.recv(65536)
            if draw.random() < 0.3:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


def honest(port, context):
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") if context else plain as one:
            one.sendall(WHOLE.replace(b"Host: a", b"Host: a\r\nConnection: close"))
            said = b""
            while part := one.recv(65536):
                said += part
            return said.startswith(b"HTTP/1.1 200") and said.endswith(b"hello")


def stop_under_fire(door):
    """The door's exit status, stopped while requests that are refused come in on connections that are open.

    libmicrohttpd 0.9.75 begins no answer once it stops, and then reads the answer that it did not begin: a connection
    that still stands then may end the process.
    """
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(subprocess.Popen(
            [door], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
        port = int(process.stdout.readline())
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(CLIENTS)]
        for client in clients:
            client.sendall(WHOLE)
        for client in clients:
            client.recv(65536)
        process.stdin.close()
        for client in clients:
            with contextlib.suppress(OSError):
                client.sendall(REFUSED)
        return process.wait(timeout=600)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    checks = Checks()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = folder / "files"
        files.mkdir(mode=0o755)
        words = {"values": [files, str(make_chain(files))]}
        for part, wraps, fault in PARTS:
            program = build(folder, part, *(f"-Wl,--wrap={wrap}" for wrap in wraps.split()))
            played = subprocess.run([program, *words.get(part, [])], timeout=600, stderr=subprocess.PIPE, text=True,
                                    errors="replace")
            print(played.stderr, end="")
            checks.that(played.returncode == 0, "; ".join([fault, *played.stderr.splitlines()[:3]]))
        door = build(folder, "door")
        chain, key = make_certificate(folder, "door")
        stops = [stop_under_fire(door) for _ in range(STOPS)]
        checks.that(stops == [0] * STOPS, f"stops while refused requests come in: {stops}")
        for context in [None, ssl.create_default_context(cafile=str(chain))]:
            kind = "TLS" if context else "plain"
            with subprocess.Popen([door, chain, key] if context else [door], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True) as process:
                port = int(process.stdout.readline())
                for number in range(CONNECTIONS):
                    attack(draw, port, context)
                    if number % 100 == 0:
                        checks.that(honest(port, context), f"{kind}: an honest client after {number} others")
                        if context:
                            process.stdin.write("r\n")
                            process.stdin.flush()
                process.stdin.close()
                checks.that(process.wait(timeout=600) == 0, f"{kind}: stops clean, status {process.returncode}")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
