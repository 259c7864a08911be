"""The parties beside a gate: an API that believes verdicts alone, an app that proves, and lines of the page."""

import base64
import hashlib
import hmac
import http.client
import http.server
import json
import pathlib
import re
import socket
import ssl
import sys
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "Tests" / part) for part in ("Backend", "Backend/requests", "Service", "Vectors")]
import verdict  # noqa: E402
from proofspec import gate  # noqa: E402

HOST = "api.example.com"
PATIENCE = 60


def block(after, kind="sh", number=0):
    """A block of docs/GATE.md, by its heading."""
    text = (ROOT / "docs/GATE.md").read_text().split(f"\n## {after}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)[number]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Api(http.server.ThreadingHTTPServer):
    """Serves what carries a verdict for exactly this request, and remembers what came."""

    daemon_threads = True

    def __init__(self, keys):
        super().__init__(("127.0.0.1", 0), Handler)
        self.keys, self.seen = keys, []
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()

    def handle_error(self, request, client_address):
        """A proxy may reset a connection that it does not need any more."""
        if not isinstance(sys.exc_info()[1], ConnectionResetError):
            super().handle_error(request, client_address)

    def close(self):
        self.shutdown()
        self.server_close()
        self.thread.join(timeout=PATIENCE)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def respond(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = self.headers.get_all("Proof-Verdict") or []
        try:
            said = verdict.check(
                found[0] if len(found) == 1 else "", self.server.keys, self.command.encode(), b"https", HOST.encode(),
                self.path.encode(), hashlib.sha256(body).digest(), int(time.time()),
                self.headers.get("Authorization", "").encode())
            status, answer = 200, {"said": said, "body": body.decode()}
        except verdict.Refused as refused:
            status, answer = 418, {"refused": refused.args[0]}
        self.server.seen.append((self.command, self.path, status))
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = respond

    def log_message(self, *_):
        """The tests read `seen`."""


class Prover:
    """An app with an admission, which signs by RFC 9421."""

    def __init__(self, admission):
        self.key = gate.standard_key(admission["secret"])
        self.handle = gate.encode_text(gate.handle(admission["secret"]))
        self.token = gate.encode_text(admission["token"])

    def prove(self, method, target, body=None, fields=(), created=None, nonce=None, with_token=True):
        """The header fields of the request, those of the proof among them."""
        fields = list(fields)
        if body is not None:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            fields.append(("Content-Digest", f"sha-256=:{digest}:"))
        path, _, query = target.partition("?")
        values = {"@method": method, "@authority": HOST, "@path": path, "@query": "?" + query}
        values |= {name.lower(): value for name, value in fields
                   if name.lower() in ("content-digest", "authorization", "content-type")}
        created = int(time.time()) if created is None else created
        names = " ".join(f'"{name}"' for name in values)
        parameters = (f'({names});created={created};keyid="{self.handle}";nonce="{nonce or uuid.uuid4().hex}"'
                      ';alg="hmac-sha256";tag="proofkit"')
        base = "".join(f'"{name}": {value}\n' for name, value in values.items()) + f'"@signature-params": {parameters}'
        mac = base64.b64encode(hmac.digest(self.key, base.encode(), "sha256")).decode()
        fields += [("Signature-Input", f"proofkit={parameters}"), ("Signature", f"proofkit=:{mac}:")]
        return fields + ([("Proof-Token", self.token)] if with_token else [])


class Client:
    """Sends requests over TLS, byte for byte as they are given."""

    def __init__(self, port, authority):
        self.port = port
        self.context = ssl.create_default_context(cafile=authority)

    def send(self, method, target, fields=(), body=None, host=HOST):
        """Status, header fields and JSON of the answer; None for a body that is no JSON."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in fields]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as plain:
            with self.context.wrap_socket(plain, server_hostname=HOST) as tls:
                tls.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
                answer = http.client.HTTPResponse(tls, method=method)
                answer.begin()
                data = answer.read()
        try:
            return answer.status, answer.headers, json.loads(data)
        except ValueError:
            return answer.status, answer.headers, None
