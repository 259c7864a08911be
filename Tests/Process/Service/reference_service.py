#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0

"""A second attestation service, written from docs/SPEC.md and docs/SERVICE.md alone. It also misbehaves on request.

usage: reference_service.py FOLDER

FOLDER gets certificates (if it has none). The service listens on ports of the loopback interface: one for each
certificate, one without TLS, one that closes each connection at once, one that accepts and never says a word.
`outdated` speaks TLS 1.1 and nothing newer. It prints one line of JSON that says where, and then answers each line of
JSON on its standard input by one on its standard output. It ends with its input.

  {"set": {"serial": 2, "pins": {…}, …}}    attributes of the account
  {"behave": WHAT, "path": "/v1/report"}    hang, stall, garbage, nothttp, half, reset, huge, redirect, a number (that
                                            status), or null for good behaviour; at all paths if none is named
  {"seen": true}                            requests by path, connections and bytes of requests by listener
  {"last": true}                            what the last report said
  {"configuration": {"ser": 1, …}}          a signed configuration with these claims changed
  {"sign": "text", "key": "00…"}            the text's signature under a message key
  {"reach": "outdated"}                     the version of TLS that a client without demands gets there
"""

import hmac
import http.server
import io
import json
import os
import socket
import socketserver
import ssl
import sys
import threading
import time
import urllib.parse
import warnings

import certificates
from account import Account
from messages import MESSAGE_MAX, Malformed
from tokens import b64

PLAIN = ("plain", "closing", "silent")
NAMES = ("good", "otherkey", "stranger", "expired", "wrongname", "outdated") + PLAIN


class State:
    def __init__(self, account: Account) -> None:
        self.account = account
        self.lock = threading.Lock()
        self.misbehaviour: dict[str, object] = {}
        self.seen: dict[str, int] = {}
        self.connections = dict.fromkeys(NAMES, 0)
        self.bytes = dict.fromkeys(NAMES, 0)
        self.waiting = 0
        self.released = threading.Event()

    def count(self, table: dict, name: str, more: int = 1) -> None:
        with self.lock:
            table[name] = table.get(name, 0) + more

    def behaviour(self, path: str) -> object:
        with self.lock:
            return self.misbehaviour.get(path, self.misbehaviour.get("*"))


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, name: str, state: State, folder: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.state = name, state
        self.context = None
        if name not in PLAIN:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
            # A client that offers HTTP/2 gets it, and no answer.
            self.context.set_alpn_protocols(["h2", "http/1.1"])
        if name == "outdated":
            lower(self.context)

    def handle_error(self, request, client_address) -> None:
        """A client that goes away in the middle is no news here."""


def lower(context: ssl.SSLContext) -> None:
    """TLS 1.1 at most, with what it takes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("DEFAULT@SECLEVEL=0")


def reach(port: int) -> str:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    lower(context)
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as secure:
        return str(secure.version())


class Counting(io.RawIOBase):
    """Bytes of a connection after its handshake, each counted, even those that never become a request."""

    def __init__(self, connection: socket.socket, server: Listener) -> None:
        self.connection, self.server = connection, server

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        count = self.connection.recv_into(buffer)
        self.server.state.count(self.server.state.bytes, self.server.name, count)
        return count


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def setup(self) -> None:
        self.server.state.count(self.server.state.connections, self.server.name)
        if self.server.name == "closing":
            raise ConnectionAbortedError
        if self.server.name == "silent":
            self.server.state.released.wait()
        # Do the handshake in the connection's own thread: one that hangs delays no other.
        if self.server.context is not None:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()
        if self.server.context is not None:
            self.rfile = io.BufferedReader(Counting(self.connection, self.server))

    def log_message(self, format: str, *args) -> None:
        pass

    def do_GET(self) -> None:
        self.serve(b"")

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length", "0"))
        if size > MESSAGE_MAX:
            self.reply(413, b"too long\n")
            return
        self.serve(self.rfile.read(size))

    def serve(self, body: bytes) -> None:
        state = self.server.state
        path = urllib.parse.urlsplit(self.path).path
        state.count(state.seen, path)
        behaviour = state.behaviour(path)
        if behaviour is not None:
            self.misbehave(behaviour)
            return
        try:
            self.dispatch(path, body)
        except Malformed as error:
            self.reply(400, f"{error}\n".encode())

    def dispatch(self, path: str, body: bytes) -> None:
        account = self.server.state.account
        parts = path.split("/")
        if self.command == "GET" and parts[1:3] == ["v1", "config"] and parts[3:] == [account.name]:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            serial = int(query.get("serial", ["0"])[0])
            if serial >= account.serial:
                self.reply(204, b"")
            else:
                self.reply(200, account.configuration().encode())
            return
        answers = {"/v1/challenge": account.challenge, "/v1/report": account.answer}
        if self.command != "POST" or path not in answers:
            self.reply(404, b"no such path\n")
            return
        answer = answers[path](body)
        if answer is None:
            self.reply(404, b"no such account or key\n")
        else:
            self.reply(200, answer)

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp=None) -> str:
        return super().date_time_string(time.time() + self.server.state.account.clock_offset)

    def misbehave(self, what: object) -> None:
        self.close_connection = True
        if isinstance(what, int):
            self.close_connection = False
            self.reply(what, b"not now\n")
        elif what == "hang":
            with self.server.state.lock:
                self.server.state.waiting += 1
            self.server.state.released.wait()
        elif what == "stall":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nPA")
            self.wfile.flush()
            self.server.state.released.wait()
        elif what == "garbage":
            self.reply(200, os.urandom(500))
        elif what == "nothttp":
            self.wfile.write(os.urandom(40) + b"\r\n\r\n")
        elif what == "half":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + bytes(500))
        elif what == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0, 0, 0, 0, 0]))
            self.connection.close()
        elif what == "huge":
            self.pour(1 << 30)
        elif what == "redirect":
            self.send_response(302)
            self.send_header("Location", "/health")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def pour(self, size: int) -> None:
        """A gigabyte, chunked, so that no length warns of it."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        chunk = b"10000\r\n" + bytes(65536) + b"\r\n"
        for _ in range(size // 65536):
            self.wfile.write(chunk)
            self.server.state.count(self.server.state.seen, "poured", 65536)
        self.wfile.write(b"0\r\n\r\n")


def command(state: State, ports: dict[str, int], line: dict) -> dict:
    account = state.account
    if "set" in line:
        for name, value in line["set"].items():
            if name not in Account.__dataclass_fields__:
                return {"error": f"no attribute {name}"}
            setattr(account, name, value)
        return {}
    if "behave" in line:
        with state.lock:
            path = line.get("path", "*")
            if line["behave"] is None:
                state.misbehaviour.pop(path, None)
                if path == "*":
                    state.misbehaviour.clear()
                state.released.set()
                state.released = threading.Event()
            else:
                state.misbehaviour[path] = line["behave"]
        return {}
    if "seen" in line:
        with state.lock:
            return {"paths": dict(state.seen), "connections": dict(state.connections), "bytes": dict(state.bytes),
                    "waiting": state.waiting}
    if "last" in line:
        with account.lock:
            return dict(account.last)
    if "configuration" in line:
        return {"configuration": account.configuration(**line["configuration"])}
    if "sign" in line:
        signature = hmac.digest(bytes.fromhex(line["key"]), line["sign"].encode(), "sha256")
        return {"signature": b64(signature)}
    if "reach" in line:
        return {"version": reach(ports[line["reach"]])}
    return {"error": "what?"}


def main() -> None:
    folder = sys.argv[1]
    if not os.path.exists(f"{folder}/wrongname.pin"):
        certificates.make_all(folder)
    pins = {name: open(f"{folder}/{name}.pin", encoding="ascii").read() for name in NAMES if name not in PLAIN}
    account = Account("acme", [pins["good"]])
    state = State(account)
    listeners = [Listener(name, state, folder) for name in NAMES]
    ports = {listener.name: listener.server_address[1] for listener in listeners}
    account.url = f"https://127.0.0.1:{ports['good']}"
    for listener in listeners:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
    print(json.dumps({
        "ports": ports, "pins": pins, "authority": f"{folder}/authority.pem", "account": account.name,
        "fingerprint": account.fingerprint(), "secret": b64(account.secret),
        "wrong_secret": b64(account.wrong_secret), "measurement_key": b64(account.measurement_key),
    }), flush=True)
    for line in sys.stdin:
        print(json.dumps(command(state, ports, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
