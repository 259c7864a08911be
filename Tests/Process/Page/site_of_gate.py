# SPDX-License-Identifier: Apache-2.0

"""A real proof-gate behind a real nginx over TLS, with named challenges: the place that browsers open pages of."""

import http.server
import json
import os
import pathlib
import queue
import re
import signal
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
FOLDERS = ("Process/Gate", "Process/Backend", "Process/Service", "Vectors")
sys.path[:0] = [str(ROOT / "Tests" / name) for name in FOLDERS]
from parties import PATIENCE, Prover, block, start_nginx, stop_nginx  # noqa: E402
from place import BIN, Place  # noqa: E402
from ports import free_port  # noqa: E402
import certificates  # noqa: E402
import gates  # noqa: E402

FOLDER = "/.well-known/proofkit/"
ROUTES = """route silent
  path /silent
  need work 10
route memory
  path /memory
  need memory 1
route person
  path /person
  need person
  young none
route both
  path /both
  need work 10 person
route rest
  path /*
  need none
"""
# Pages of the operator, beside the lines of docs/GATE.md.
PAGES = """
location = /hello { default_type text/html; return 200 '<!DOCTYPE html><html lang="en"><title>Hello</title>Hello'; }
location = /frame { default_type text/html; return 200 '<!DOCTYPE html><html lang="en"><title>F</title><script>
var got = []; onmessage = (e) => got.push([e.origin, e.data]); </script><iframe id="f"></iframe>'; }
location = /custom { default_type text/html; return 200 '<!DOCTYPE html><html lang="en"><title>Own</title>Own'; }
"""


class PageSite(Place):
    """An account with a gate for `localhost:PORT`, nginx with the lines of docs/GATE.md, and the gate."""

    def __init__(self, *options, start_proxy=None, stop_proxy=None):
        super().__init__()
        self.stop_proxy = stop_proxy or PageSite.stop_nginx
        self.tls_port, self.gate_port = free_port(), free_port()
        self.host = f"localhost:{self.tls_port}"
        self.origin = f"https://{self.host}"
        self.make_account()
        self.start_service()
        self.key = os.urandom(16)
        self.ask("sdk", "add", "--key", self.write("mpk", self.key), "--mode", "development")
        self.ask("policy", "set", "rejection=none", "device-rate=0", "address-rate=0", "first-fetch-rate=0")
        _, public, _ = self.run("gate", "keys", "new", self.path("gate.key"), where=[])
        self.write("gate.public", public)
        self.ask("gate", "add", "front", "--public", self.path("gate.public"), "--development")
        self.ask("api", "add", self.host, "--gate", "front")
        self.ask("challenge", "add", "person", "--kind", "person")
        self.ask("challenge", "add", "short", "--kind", "person", "--life", "10")
        self.ask("challenge", "add", "work", "--kind", "work", "--level", "12")
        self.ask("challenge", "add", "memory", "--kind", "memory", "--level", "1")
        self.ask("gate", "configuration", "front", "--output", self.path("front.jws"))
        self.fingerprint = self.ask("config", "show")["initial"].rsplit("#", 1)[-1]
        self.write("routes", ROUTES)
        certificates.make_authority(str(self.folder), "authority")
        certificates.make_leaf(str(self.folder), "leaf", "authority", "DNS:localhost", 2)
        self.context = ssl.create_default_context(cafile=self.path("authority.pem"))
        subprocess.run([BIN / "proof-gate", "prepare", self.path("state")], check=True)
        self.start_gate(*options)
        (start_proxy or PageSite.start_nginx)(self)

    def start_gate(self, *options, replay=None):
        self.lines, self.news = [], threading.Condition()
        self.gate = subprocess.Popen(
            [BIN / "proof-gate", "--configuration", self.path("front.jws"), "--fingerprint", self.fingerprint,
             "--gate-key", self.path("gate.key"), "--own-secret", f"1:{self.path('state')}/own.key", "--routes",
             self.path("routes"), "--replay", replay or "memory",
             "--listen", f"127.0.0.1:{self.gate_port}", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environment)
        self.processes.append(self.gate)
        self.port_of(self.gate)
        self.reader = threading.Thread(target=self.read, args=(self.gate.stdout,), daemon=True)
        self.reader.start()

    def port_of(self, process):
        for line in process.stdout:
            self.lines.append(line)
            if '"port":' in line:
                return
        raise AssertionError(self.lines)

    def read(self, log):
        for line in log:
            with self.news:
                self.lines.append(line)
                self.news.notify_all()

    def restart_gate(self, *options, **more):
        self.gate.send_signal(signal.SIGTERM)
        self.gate.wait(timeout=PATIENCE)
        self.reader.join(timeout=PATIENCE)
        self.gate.stdout.close()
        self.start_gate(*options, **more)

    def start_nginx(self):
        api = free_port()
        server = block("nginx", "nginx")
        for was, now in {"listen 443": f"listen 127.0.0.1:{self.tls_port}", "api.example.com": "localhost",
                         "127.0.0.1:9080": f"127.0.0.1:{self.gate_port}", "127.0.0.1:8080": f"127.0.0.1:{api}",
                         "/etc/ssl/api.pem": self.path("leaf.pem"),
                         "/etc/ssl/private/api.key": self.path("leaf.key"),
                         "    location / {": f"{PAGES}{block('nginx', 'nginx', 1)}    location / {{"}.items():
            assert server.count(was) == 1, was
            server = server.replace(was, now)
        user = "user root;" if os.getuid() == 0 else ""
        folders = "".join(f"{name}_temp_path {self.path('temporary')};" for name in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.write("nginx.conf", f"""{user} worker_processes 2; pid {self.path('nginx.pid')};
error_log {self.path('nginx.log')}; events {{}}
http {{ access_log off; {folders}
server {{ listen 127.0.0.1:{api}; default_type text/html;
return 200 '<!DOCTYPE html><html lang="en"><title>API</title><p id="verdict">$http_proof_verdict</p>'; }}
{server}
}}
""")
        start_nginx(self.folder, self.path("nginx.conf"))

    def stop_nginx(self):
        stop_nginx(self.folder, self.path("nginx.conf"))

    def close(self):
        self.stop_proxy(self)
        super().close()

    # Requests of a program -------------------------------------------------------------------------------------------

    def send(self, path, body=None, fields=(), method=None):
        """Status, header fields and body of an answer."""
        if body is not None and not isinstance(body, bytes):
            body, fields = json.dumps(body).encode(), [("Content-Type", "application/json"), *fields]
        request = urllib.request.Request(self.origin + path, body, dict(fields), method=method)
        opener = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=self.context), urllib.request.ProxyHandler({}), NoRedirect())
        try:
            with opener.open(request, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def challenge(self, name):
        status, fields, _ = self.send(f"{FOLDER}challenges/{name}")
        assert status == 428, status
        return fields["Proof-Challenge"]

    def app(self):
        """An app that the gate admits."""
        return Prover(gates.App(self.url, self.key).admit(self.host), self.host)

    def send_proved(self, app, path, fields=()):
        """Sends a GET with a proof. A gate that has just started asks for one with a nonce of its own."""
        found = self.send(path, fields=[*app.prove("GET", path), *fields])
        if (nonce := found[1]["Proof-Nonce"]) is None:
            return found
        # The gate's nonce is the same for a while, and a proof's is used once.
        proof = app.prove("GET", path, nonce=f"{nonce}.{os.urandom(8).hex()}")
        return self.send(path, fields=[*proof, *fields])

    def page(self, name, challenge=None, **more):
        """The address of a page for a named challenge."""
        values = {"challenge": challenge or self.challenge(name), "method": "GET",
                  "target": f"{FOLDER}challenges/{name}"} | more
        return f"{self.origin}{FOLDER}page?{urllib.parse.urlencode(values)}"

    def reasons(self):
        return [json.loads(line) for line in self.lines if re.match(r"\{", line)]

    def await_judgement(self, reference, *results):
        """Waits for the gate's line about a judgement: it may come after the answer."""
        def is_there():
            return any(line.get("reference") == reference and line["result"] in results for line in self.reasons())
        with self.news:
            assert self.news.wait_for(is_there, PATIENCE), (reference, results, self.lines)


class Listener(http.server.ThreadingHTTPServer):
    """A presenter's server on this machine, with the results that came."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Listener.Handler)
        self.results = queue.Queue()
        self.thread = threading.Thread(target=self.serve_forever)
        self.thread.start()

    def result(self):
        """Names and values of the next result."""
        return dict(urllib.parse.parse_qsl(self.results.get(timeout=PATIENCE)))

    def close(self):
        self.shutdown()
        self.thread.join(timeout=PATIENCE)
        self.server_close()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            path, _, query = self.path.partition("?")
            if path == "/done":
                self.server.results.put(query)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            """The tests read `results`."""


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None
