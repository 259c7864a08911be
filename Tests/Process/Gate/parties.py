# SPDX-License-Identifier: Apache-2.0

"""The parties beside a gate: an API that believes verdicts alone, an app that proves, proxies, lines of the page."""

import base64
import contextlib
import hashlib
import hmac
import http.client
import http.server
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = ("Process/Backend", "Process/Backend/requests", "Process/Service", "Support/Runner", "Vectors")
sys.path[:0] = [str(ROOT / "Tests" / name) for name in FOLDERS]
import verdict  # noqa: E402
from proofspec import gate, work  # noqa: E402

HOST = "api.example.com"
PATIENCE = 300


def block(after, kind="sh", number=0):
    """A block of docs/GATE.md, by its heading."""
    text = (ROOT / "docs/GATE.md").read_text().split(f"\n## {after}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(rf"^```{kind}\n(.*?)^```", text, re.M | re.S)[number]


@contextlib.contextmanager
def ending(pid_file):
    """Gives descriptors of the processes whose ids are in a file. Its block stops them; they have ended after it."""
    descriptors = [os.pidfd_open(int(number)) for number in pathlib.Path(pid_file).read_text().split()]
    try:
        yield descriptors
        for descriptor in descriptors:
            assert select.select([descriptor], [], [], PATIENCE)[0], f"a process of {pid_file} does not end"
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def start_nginx(folder, file):
    """Starts nginx with a configuration whose `pid` is nginx.pid in the folder. The command returns when it listens."""
    subprocess.run(["/usr/sbin/nginx", "-p", folder, "-c", file], check=True, timeout=PATIENCE)


def stop_nginx(folder, file):
    """Stops nginx, and waits for the end of its master: the command returns before."""
    with ending(pathlib.Path(folder) / "nginx.pid"):
        subprocess.run(["/usr/sbin/nginx", "-p", folder, "-c", file, "-s", "stop"], check=True, timeout=PATIENCE)


def start_haproxy(folder):
    """Starts HAProxy with haproxy.cfg of the folder. The command returns when it listens."""
    subprocess.run(["/usr/sbin/haproxy", "-D", "-f", folder / "haproxy.cfg", "-p", folder / "haproxy.pid"], check=True,
                   timeout=PATIENCE)


def stop_haproxy(folder):
    with ending(folder / "haproxy.pid") as descriptors:
        for descriptor in descriptors:
            signal.pidfd_send_signal(descriptor, signal.SIGTERM)


def caddy(folder, verb, *words):
    """Runs a verb of Caddy: `start` returns when it listens."""
    environment = os.environ | {"HOME": str(folder), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}
    subprocess.run(["caddy", verb, *words], check=True, timeout=PATIENCE, env=environment, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def start_caddy(folder):
    """Starts Caddy with Caddyfile of the folder."""
    caddy(folder, "start", "--config", folder / "Caddyfile", "--adapter", "caddyfile", "--pidfile",
          folder / "caddy.pid")


def stop_caddy(folder, admin):
    with ending(folder / "caddy.pid"):
        caddy(folder, "stop", "--address", admin)


def answer(fields):
    """The fields that answer the challenge of kind work in the fields of a refusal."""
    text = fields["Proof-Challenge"]
    challenge = base64.urlsafe_b64decode(text)
    assert challenge[0] & 15 == 7, text
    solution = work.solve_puzzles(challenge, challenge[2])
    return [("Proof-Challenge", text), ("Proof-Answer", gate.encode_text(solution))]


class Api(http.server.ThreadingHTTPServer):
    """Serves what carries a verdict for exactly this request, and remembers what came."""

    daemon_threads = True

    def __init__(self, keys, host=HOST, handler=None):
        super().__init__(("127.0.0.1", 0), handler or Handler)
        self.keys, self.host, self.seen = keys, host, []
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
                found[0] if len(found) == 1 else "", self.server.keys, self.command.encode(), b"https",
                self.server.host.encode(),
                self.path.encode(), hashlib.sha256(body).digest(), int(time.time()),
                self.headers.get("Authorization", "").encode())
            status, answer = 200, {"said": said, "body": body.decode(errors="replace")}
        except verdict.Refused as refused:
            status, answer = 418, {"refused": refused.args[0]}
        self.server.seen.append((self.command, self.path, status))
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_OPTIONS = do_POST = do_PUT = respond

    def log_message(self, *_):
        """The tests read `seen`."""


class Prover:
    """An app with an admission, which signs by RFC 9421."""

    def __init__(self, admission, authority=HOST):
        self.authority = authority
        self.key = gate.standard_key(admission["secret"])
        self.handle = gate.encode_text(gate.handle(admission["secret"]))
        self.token = gate.encode_text(admission["token"])

    def bad_token(self):
        """The app's token with another byte: only its opening shows that it is bad."""
        token = bytearray(base64.urlsafe_b64decode(self.token + "=="))
        token[200] ^= 1
        return gate.encode_text(bytes(token))

    def prove(self, method, target, body=None, fields=(), created=None, nonce=None, with_token=True):
        """The header fields of the request, those of the proof among them."""
        fields = list(fields)
        if body is not None:
            digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
            fields.append(("Content-Digest", f"sha-256=:{digest}:"))
        path, _, query = target.partition("?")
        values = {"@method": method, "@authority": self.authority, "@path": path, "@query": "?" + query}
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

    def __init__(self, port, authority, name=HOST):
        self.port, self.name = port, name
        self.context = ssl.create_default_context(cafile=authority)

    def send(self, method, target, fields=(), body=None, host=HOST):
        """Status, header fields and JSON of the answer; None for a body that is no JSON."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in fields]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as plain:
            with self.context.wrap_socket(plain, server_hostname=self.name) as tls:
                # A proxy may refuse, and close, before it has read the whole body. Its answer is there to read.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
                    tls.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
                answer = http.client.HTTPResponse(tls, method=method)
                answer.begin()
                data = answer.read()
        try:
            return answer.status, answer.headers, json.loads(data)
        except ValueError:
            return answer.status, answer.headers, None
