#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""An API behind a gate: serves requests that carry a verdict for exactly this request.

  api.py KEYS HOST     KEYS: what `proof-gate verdict-key` wrote

It writes a line of JSON for each request, with all that it received.
"""

import hashlib
import http.server
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Backend" / "requests"))
import verdict  # noqa: E402

ARTICLE = b'<!DOCTYPE html><html lang="en"><title>Article</title><h1>An article for people</h1>\n'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = self.headers.get_all("Proof-Verdict") or []
        try:
            said = verdict.check(
                found[0] if len(found) == 1 else "", keys, self.command.encode(), b"https", host.encode(),
                self.path.encode(), hashlib.sha256(body).digest(), int(time.time()),
                self.headers.get("Authorization", "").encode())
            is_served = said["pass"] and not said.get("app", {}).get("failed", False)
        except verdict.Refused:
            is_served = False
        kind = "text/html" if self.path == "/article" else "text/plain"
        data = b"no\n" if not is_served else ARTICLE if self.path == "/article" else b"done\n"
        status = 200 if is_served else 403
        say({"event": "request", "method": self.command, "target": self.path, "status": status,
             "fields": [pair for pair in self.headers.items() if pair[0] != "Proof-Verdict"], "body": body.decode()})
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = respond

    def log_message(self, *_):
        """`respond` writes the log."""


def say(line):
    print(json.dumps(line), flush=True)


lines = pathlib.Path(sys.argv[1]).read_text().splitlines()
keys = {int(number): bytes.fromhex(key) for number, key in map(str.split, lines)}
host = sys.argv[2]
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
say({"event": "listening", "port": server.server_address[1]})
server.serve_forever()
