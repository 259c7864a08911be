#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""An API behind a gate, written by others: it verifies the requests of the standard form with the library
http-message-signatures of PyPI, where that is installed.

usage: protected_api.py

It listens on two ports of the loopback interface, and prints one line of JSON that says where. Each line of JSON on its
standard input is answered by one on its standard output. It ends with its input.

  {"key": "00…", "keyid": "…"}      the key of the app
  {"seen": true}                    the requests of both ports: port, method, target, fields, body's length, verdict

Paths: /redirect leads to the same path at the other port, /token asks for a gate token, /slow answers when the server
ends, /empty has no body.
"""

import http.server
import json
import sys
import threading
import types

try:
    from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
except ImportError:
    HTTPMessageVerifier = None


class Keys(HTTPSignatureKeyResolver if HTTPMessageVerifier else object):
    known: dict[str, bytes] = {}

    def resolve_public_key(self, key_id: str):
        return self.known.get(key_id)


class Seen:
    lock = threading.Lock()
    requests: list[dict] = []
    ended = threading.Event()


def verdict(request: "Handler", body: bytes) -> str:
    if HTTPMessageVerifier is None or "signature" not in request.headers:
        return "unsigned"
    host = request.headers["host"]
    message = types.SimpleNamespace(
        method=request.command, url=f"http://{host}{request.path}", headers=request.headers)
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.HMAC_SHA256, key_resolver=Keys())
    try:
        found = verifier.verify(message, expect_tag="proofkit", body=body or None)
    except Exception as error:  # noqa: BLE001: the library's words go to the test
        return f"refused: {error}"
    return "verified: " + " ".join(sorted(name.strip('"') for name in found[0].covered_components))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with Seen.lock:
            Seen.requests.append({
                "port": self.server.server_port, "method": self.command, "target": self.path,
                "fields": [[name.lower(), value] for name, value in self.headers.items()],
                "size": len(body), "verdict": verdict(self, body)})
        fields = {"Proof-Time": "FAAAAAABAgME", "X-Twice": "a"}
        status = 200
        if self.path == "/redirect":
            status = 302
            fields["Location"] = f"http://127.0.0.1:{self.server.other}/redirect"
        elif self.path == "/token" and "x-token" not in self.headers:
            status = 401
            fields["Proof-Refusal"] = "token"
        elif self.path == "/slow":
            Seen.ended.wait()
        text = b"" if self.path == "/empty" or self.command == "HEAD" else b"hello"
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("X-Twice", "b")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = answer

    def log_message(self, *words) -> None:
        pass


def main() -> None:
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(2)]
    servers[0].other, servers[1].other = servers[1].server_port, servers[0].server_port
    for server in servers:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"ports": [server.server_port for server in servers],
                      "verifies": HTTPMessageVerifier is not None}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if "key" in command:
            Keys.known[command["keyid"]] = bytes.fromhex(command["key"])
        with Seen.lock:
            print(json.dumps({"requests": Seen.requests}), flush=True)
    Seen.ended.set()


if __name__ == "__main__":
    main()
