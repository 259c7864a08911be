# SPDX-License-Identifier: Apache-2.0

"""The operator's side: the service, the gate, nginx with the lines of docs/GATE.md, and the API."""

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

from stage import BIN, PATIENCE, ROOT, Trouble, block, commands

sys.path += [str(ROOT / "Tests" / name) for name in ("Process/Service", "Support/Runner")]
import certificates  # noqa: E402
from ports import free_port  # noqa: E402

ROUTES = """
route health
  methods GET
  path /health
  need none
  limit address 3/hour

route prices
  methods GET HEAD
  path /prices
  need proof

route orders
  methods POST
  path /orders
  need proof

route search
  path /search/*
  need work 12
  spend yes
  limit address 6/hour then person

route article
  path /article
  need person

route rest
  path /*
  need proof
  unanchored refuse
  young none
"""


class Site:
    """All that an operator runs for one API."""

    def __init__(self, stage):
        self.stage = stage
        certificates.make_authority(str(stage.folder), "authority")
        for name in ("service", "leaf"):
            certificates.make_leaf(str(stage.folder), name, "authority", "DNS:localhost,IP:127.0.0.1", 2)
            os.chmod(stage.path(f"{name}.key"), 0o600)
        # The gate comes back on its port.
        self.port, self.gate_port = free_port(), free_port()
        self.host = f"localhost:{self.port}"
        self.origin = f"https://{self.host}"
        self.service_port = 0
        self.judged, self.marks = {}, 0

    # The service ------------------------------------------------------------------------------------------------------

    def start_service(self):
        stage = self.stage
        stage.operate("init", "demo", "--url", "https://localhost:1", "--management-token", stage.path("management"))
        stage.operate("sdk", "add", "--development")
        self.service = stage.start(
            "proof-service", BIN / "proof-service", "--store", stage.path("store"), "--listen", "127.0.0.1:0",
            "--certificate", stage.path("service.pem"), "--private-key", stage.path("service.key"), "--log", "json",
            environment=stage.operator)
        self.service_port = self.service.wait("listening")["port"]
        stage.operate("config", "url", f"https://localhost:{self.service_port}")

    def list_gate(self):
        """Does once what docs/MANAGEMENT.md and docs/GATE.md tell the operator."""
        stage = self.stage
        stage.write("gate.public", stage.run(BIN / "proofctl", "gate", "keys", "new", stage.path("gate.key")))
        stage.operate("gate", "add", "front", "--public", stage.path("gate.public"), "--development")
        stage.operate("api", "add", self.host, "--gate", "front")
        stage.operate("challenge", "add", "person", "--kind", "person")
        stage.operate("gate", "configuration", "front", "--output", stage.path("front.jws"))
        initial = stage.operate("config", "show")["initial"]
        stage.operator["FINGERPRINT"] = initial.rsplit("#", 1)[-1]
        stage.write("routes", ROUTES)
        prepare, keys, _ = commands("Start")
        stage.shell(prepare)
        stage.shell(keys.replace("api.example.com", self.host))
        credential, self.line = commands("Configuration from the service")
        stage.shell(credential)

    # The gate ---------------------------------------------------------------------------------------------------------

    def start_gate(self):
        """The line of docs/GATE.md, with this site's addresses."""
        line = self.line
        for was, now in {"https://attest.example.com": f"https://localhost:{self.service_port}",
                         "127.0.0.1:9080": f"127.0.0.1:{self.gate_port}", "127.0.0.1:9081": "127.0.0.1:0"}.items():
            if was not in line:
                raise Trouble(f"docs/GATE.md has no {was} in the line that starts a gate")
            line = line.replace(was, now)
        self.gate = self.stage.start(
            "proof-gate", "bash", "-c", f"exec {line} --service-ca authority.pem --poll-seconds 1",
            environment=self.stage.operator)
        started = self.gate.wait("listening")
        self.gate_port, self.status_port = started["port"], started["status"]

    def kill_gate(self):
        self.note_judgements()
        self.gate.end(signal.SIGKILL)

    def measures(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.status_port}/metrics", timeout=PATIENCE) as answer:
            text = answer.read().decode()
        lines = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines if name.startswith("proof_gate_")}

    def note_judgements(self):
        """Adds the judgements of this process of the gate: a restart counts from nought."""
        for name, value in self.measures().items():
            found = re.fullmatch(r'proof_gate_judgements_total\{route="(.*)",result="(.*)",watched="(.*)"\}', name)
            if found and value:
                self.judged[found.groups()] = self.judged.get(found.groups(), 0) + int(value)

    def judgements(self, after, last):
        """Status and reason of what was judged after a position of the log, up to a line that is wanted."""
        self.gate.wait(lambda line: line.get("event") == "judged" and last(line), after)
        return [(line["status"], line.get("reason", "")) for line in self.gate.lines[after:]
                if line.get("event") == "judged"]

    def switch(self, state):
        """Turns the kill switch, and waits until the gate has heard of it."""
        after = len(self.gate.lines)
        self.stage.operate("gate", "watch", "front", state)
        self.gate.wait("has taken a configuration", after)

    # The API and nginx ------------------------------------------------------------------------------------------------

    def start_api(self):
        self.api = self.stage.start(
            "the API", "/usr/bin/python3", ROOT / "Tests/Process/Demo/gate/api.py", self.stage.path("verdict.keys"),
            self.host)
        self.api_port = self.api.wait("listening")["port"]

    def reached(self):
        """The requests that the API has received through nginx. A request past nginx marks the log's end."""
        self.marks += 1
        mark = f"/mark/{self.marks}"
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.api_port}{mark}", timeout=PATIENCE).close()
        except urllib.error.HTTPError as error:
            error.close()
        self.api.wait(lambda line: line.get("target") == mark)
        return [line for line in self.api.lines
                if line.get("event") == "request" and not line["target"].startswith("/mark/")]

    def start_nginx(self):
        stage, lines = self.stage, block("nginx", "nginx")
        for was, now in {"listen 443": f"listen 127.0.0.1:{self.port}", "127.0.0.1:9080": f"127.0.0.1:{self.gate_port}",
                         "127.0.0.1:8080": f"127.0.0.1:{self.api_port}", "api.example.com": "localhost",
                         "/etc/ssl/api.pem": stage.path("leaf.pem"),
                         "/etc/ssl/private/api.key": stage.path("leaf.key")}.items():
            if was not in lines:
                raise Trouble(f"docs/GATE.md has no {was} in the lines for nginx")
            lines = lines.replace(was, now)
        head, foot = lines.rstrip().removesuffix("}"), "}"
        folders = "".join(f"{name}_temp_path {stage.path('temporary')};" for name in
                          ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        stage.write("nginx.conf", f"{'user root;' if os.getuid() == 0 else ''} daemon off; worker_processes 1;\n"
                    f"pid {stage.path('nginx.pid')}; error_log {stage.path('nginx.log')}; events {{}}\n"
                    f"http {{ access_log off; {folders}\n{head}{block('nginx', 'nginx', 1)}{foot}\n}}\n")
        checked = subprocess.run(
            [BIN / "proof-gate", "check", "--nginx", stage.path("nginx.conf"), "--routes", stage.path("routes"),
             "--allow", "unguarded"], capture_output=True, text=True, timeout=PATIENCE, check=False)
        if checked.returncode != 0:
            raise Trouble(f"proof-gate check --nginx: {checked.stdout}{checked.stderr}")
        self.nginx = stage.start("nginx", "/usr/sbin/nginx", "-p", stage.folder, "-c", stage.path("nginx.conf"))
        self.await_nginx()

    def await_nginx(self):
        """nginx says nothing when it listens: the first connection that it takes does."""
        context = ssl.create_default_context(cafile=self.stage.path("authority.pem"))
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context),
                                             urllib.request.ProxyHandler({}))
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.nginx.process.poll() is None:
            try:
                opener.open(f"https://127.0.0.1:{self.port}/.well-known/proofkit/", timeout=PATIENCE).close()
            except urllib.error.HTTPError as error:
                error.close()
                return
            except OSError:
                continue
            return
        raise Trouble(f"nginx does not listen: {self.nginx.lines}")


def json_of(text):
    """A body in JSON, or an empty one."""
    try:
        return json.loads(text)
    except ValueError:
        return {}
