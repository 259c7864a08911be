# SPDX-License-Identifier: Apache-2.0

"""Nodes of proof-service on a replicated database, behind HAProxy, and what clients write down about their answers.

    with Site(members=3) as site:
        site.nodes[0] …; site.ask("GET", "/health")
"""

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Tests" / part) for part in ("Support/Runner", "Process/Service", "Process/Scale")]
from kill import exchanges_of  # noqa: E402
from ports import free_port  # noqa: E402
from replicated import PATIENCE, Database, Place, wait_until  # noqa: E402
from service import BUILT, Service, let_unregistered_apps_pass  # noqa: E402

# A report: head, key id, salt, device.
SALT, DEVICE = slice(12, 28), slice(28, 44)
# Longer than a failover and its judgement.
SALT_SECONDS = 600
# The apps of Tests/Process/Backend/gates.py have this one.
ACCOUNT = "acme"


def run(program, *arguments, **more):
    done = subprocess.run([BUILT / program, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE,
                          **more)
    if done.returncode:
        raise RuntimeError(f"{program} {arguments[:2]}: {done.stdout} {done.stderr}")
    return done.stdout


class Site:
    """A replicated database with an account, nodes of the service, and HAProxy before both."""

    def __init__(self, members=3, nodes=3, etcds=3, parameters=None, options=(), events=None):
        """`events`: makes what nodes redeem events with, from this site; it gives more options in `options`."""
        self.ends = contextlib.ExitStack()
        with contextlib.ExitStack() as ends:
            self.place = ends.enter_context(Place())
            self.database = ends.enter_context(Database(self.place, members, etcds, parameters))
            self.port = free_port()
            self.ports = [free_port() for _ in range(nodes)]
            self.options = options
            self.database.balance(self.backend())
            self.database.wait_until_whole()
            self.make_account()
            self.events = events(self) if events else None
            self.nodes, self.every_node = [None] * nodes, []
            for number in range(nodes):
                self.start_node(number)
            # HAProxy refuses requests until it has seen a node.
            self.wait_until_all_serve()
            self.ends = ends.pop_all()

    def backend(self):
        """The part of HAProxy's configuration for apps."""
        servers = "\n".join(f"  server node{n + 1} 127.0.0.1:{port} check" for n, port in enumerate(self.ports))
        return f"""listen apps
  mode http
  bind 127.0.0.1:{self.port}
  option httplog
  option http-buffer-request
  option httpchk GET /health
  http-check expect status 200
  timeout check 5s
  retries 3
  retry-on conn-failure 503
  http-request disable-l7-retry if {{ path_beg /v1/manage/ }}
  option redispatch 1
  default-server inter 250ms fall 2 rise 1
{servers}
"""

    def make_account(self):
        folder = self.place.folder
        self.passwords = folder / "passwords"
        self.passwords.write_text("".join(
            f"localhost:{self.database.port}:*:proof_{role}:{role}-secret\n" for role in ("service", "migrator")))
        self.passwords.chmod(0o600)
        key = folder / "key"
        key.write_bytes(b"\7" * 32)
        key.chmod(0o600)
        for line in ("CREATE ROLE proof_migrator LOGIN PASSWORD 'migrator-secret'",
                     "CREATE ROLE proof_service LOGIN PASSWORD 'service-secret'",
                     "CREATE DATABASE proof OWNER proof_migrator"):
            self.database.sql(line, "postgres")
        run("proofctl", "store", "migrate", "--store", self.uri("proof_migrator"))
        self.store = ["--store", self.uri(), "--key-file", str(key)]
        made = run("proofctl", "init", ACCOUNT, "--url", "https://127.0.0.1:8443", "--json", *self.store)
        self.token = json.loads(made)["managementToken"]
        run("proofctl", "sdk", "add", "--development", *self.store)
        run("proofctl", "api", "add", "api.example.com", *self.store)
        let_unregistered_apps_pass(self.store)
        run("proofctl", "policy", "set", f"salt-lifetime={SALT_SECONDS}", "first-fetch-rate=0", "device-rate=0",
            "address-rate=0", *self.store)

    def uri(self, user="proof_service"):
        return (f"postgres://{user}@localhost:{self.database.port}/proof"
                f"?sslrootcert={self.database.certificates.authority}&passfile={self.passwords}")

    def start_node(self, number, *options, built=BUILT):
        more = self.events.options if self.events else ()
        node = Service(*self.store, "--plain", "--quiet", "--trusted-proxy", "127.0.0.1", *self.options, *more,
                       *options, port=self.ports[number], built=built)
        node.events_port = json.loads(node.lines[0]).get("events")
        self.place.processes.append(node.process)
        self.nodes[number] = node
        self.every_node.append(node)
        return node

    def serving(self):
        """How many nodes HAProxy sends requests to."""
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(self.place.folder / "haproxy.sock"))
            line.sendall(b"show stat\n")
            with line.makefile() as answer:
                rows = [row.split(",") for row in answer]
        return sum(row[:2] == ["apps", f"node{number + 1}"] and row[17].startswith("UP")
                   for row in rows for number in range(len(self.nodes)) if len(row) > 17)

    def wait_until_all_serve(self):
        wait_until(lambda: self.serving() == len(self.nodes), "HAProxy sends requests to every node")

    def ask(self, method, path, body=None, port=None, timeout=PATIENCE):
        """Status and body of an answer; over HAProxy if no node's port is given."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=timeout)) as line:
            headers = {"authorization": f"Bearer {self.token}"} if path.startswith("/v1/manage/") else {}
            line.request(method, path, body=body, headers=headers)
            answer = line.getresponse()
            return answer.status, answer.read()

    def load(self, *options, port=None):
        """A load generator as a process."""
        process = subprocess.Popen(
            [BUILT / "proof-load", "--to", f"127.0.0.1:{port or self.port}", "--account", ACCOUNT,
             "--json", *map(str, options)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.place.processes.append(process)
        return process

    def replay(self, exchanges, port=None):
        """Sends accepted reports again, and each changed: the counts of outcomes and of errors."""
        file = self.place.folder / f"replay.{secrets.token_hex(4)}"
        file.write_bytes(b"".join(len(part).to_bytes(4, "little") + part for pair in exchanges for part in pair))
        load = self.load("--replay", file, "--connections", 2, "--patient", port=port)
        out, problem = load.communicate(timeout=PATIENCE)
        file.unlink()
        if not out:
            raise RuntimeError(problem)
        figures = json.loads(out)
        return figures["outcomes"], figures["errors"]

    def troubles(self):
        """The last lines of all nodes about their storage, also of those that have left, and of HAProxy about who
        serves and about requests that got no answer."""
        lines = [line.strip() for node in self.every_node for line in node.lines if '"storage' in line]
        said = (self.place.folder / "haproxy.log").read_text().splitlines()
        return (lines[-20:] + [line for line in said if line.startswith("Server ")][-12:]
                + [line for line in said if " 503 " in line][:8])

    def marks(self):
        """The digests of the reports whose use the primary has."""
        tables = " UNION ALL ".join(f"SELECT report FROM pf.spent_{slot:02}" for slot in range(64))
        return set(self.database.sql(f"SELECT encode(report, 'hex') FROM ({tables}) AS all_marks").split())

    def close(self):
        self.ends.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Attestations:
    """A load that never gives up, and all that was answered to it."""

    def __init__(self, site, connections=2, pause=40):
        self.site = site
        name = secrets.token_hex(4)
        self.accepted, self.times = (site.place.folder / f"{kind}.{name}" for kind in ("accepted", "times"))
        self.process = site.load(
            "--patient", "--connections", connections, "--pause", pause, "--devices", 2000, "--records", 3,
            "--seconds", 1_000_000, "--accepted", self.accepted, "--times", self.times)
        self.read = 0
        self.salts = {}

    def news(self):
        """The exchanges since the last call. Raises if one challenge has two answers."""
        every = exchanges_of(self.accepted)
        fresh = every[self.read:]
        self.read = len(every)
        twice = []
        for report, answer in fresh:
            place = (report[DEVICE], report[SALT])
            if self.salts.setdefault(place, (report, answer)) != (report, answer):
                twice.append(place)
        return fresh, twice

    def moments(self):
        """When reports were accepted, in seconds of the monotonic clock."""
        data, place, moments = self.times.read_bytes() if self.times.exists() else b"", 0, []
        while len(data) >= place + 4:
            size = int.from_bytes(data[place:place + 4], "little")
            part = data[place + 4:place + 4 + size]
            if len(part) < size:
                break
            moments.append(int(part) / 1000)
            place += 4 + size
        return moments

    def pause(self, begin, end):
        """The longest time without an accepted report that overlaps a span."""
        moments = [moment for moment in self.moments() if moment > begin - 30]
        gaps = [(after - before) for before, after in zip(moments, moments[1:]) if after >= begin and before <= end]
        return max(gaps, default=float("inf"))

    def flows_since(self, moment):
        """Whether reports were accepted after a moment."""
        return any(one > moment for one in self.moments()[-20:])

    def close(self):
        self.process.kill()
        self.process.communicate()


class Registrations:
    """Registers an app again and again; `acknowledged` has each digest that the service said it has."""

    # Each one changes the account, which every node reads again.
    def __init__(self, site, pause=3):
        self.site, self.rest = site, pause
        self.acknowledged, self.unknown = [], 0
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.is_over.wait(self.rest):
            digest = os.urandom(32).hex()
            try:
                # An operator gives up where a machine hangs, and registers the next app.
                status, said = self.site.ask("POST", "/v1/manage/registration/add",
                                             json.dumps({"digest": digest, "name": "app"}), timeout=10)
            except (OSError, http.client.HTTPException):
                status = 0
            if status == 200:
                self.acknowledged.append(digest)
            else:
                self.unknown += 1

    def lost(self):
        """The acknowledged registrations that the database does not have; the others are forgotten."""
        known = self.acknowledged[:]
        rows = self.site.database.sql("SELECT convert_from(key, 'UTF8') FROM pf.row WHERE tbl = 3").split()
        gone = [digest for digest in known if digest not in set(rows)]
        return len(known), gone

    def close(self):
        self.is_over.set()
        self.thread.join()


class Visits:
    """Loads that follow one another and have no patience: any answer but `done` is a fault."""

    def __init__(self, site):
        self.site, self.is_over, self.turns, self.faults = site, threading.Event(), 0, []
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.is_over.is_set():
            out, problem = self.site.load("--connections", 2, "--devices", 10, "--records", 3, "--pairs", 40,
                                          "--pause", 5).communicate(timeout=PATIENCE)
            figures = json.loads(out) if out else {"outcomes": {}, "errors": problem}
            if figures["outcomes"] != {"done": 40} or figures["errors"]:
                self.faults.append(figures)
            self.turns += 1

    def more(self):
        """Waits until another load was answered whole."""
        before = self.turns
        wait_until(lambda: self.turns > before + 1, "reports are accepted")

    def close(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join()


def digest_of(report):
    return hashlib.sha256(report).hexdigest()


def quantile(values, part):
    """A value of a sorted list: the smallest one that at least this part does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * part // 100) - 1))]


def seconds_since(moment):
    return time.monotonic() - moment
