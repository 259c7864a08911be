# SPDX-License-Identifier: Apache-2.0

"""A replicated PostgreSQL on this machine: etcd, Patroni, HAProxy in front, and a line that can be cut to each member.

    with Place() as place, Database(place, members=3) as database: …

Each member's PostgreSQL, its Patroni and its way to etcd go through packets.py. HAProxy asks each Patroni for
`/primary`, and passes the sessions of nodes on to that one. All ports are of 127.0.0.1. `close` ends every process that
was started, and removes the folder.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "Support" / "Runner"))
from ports import free_port  # noqa: E402

POSTGRES = pathlib.Path(os.environ.get("POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
HAPROXY = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
PATIENCE = 300
# Patroni's shortest. The node that held the lock is replaced after this time without a renewal.
TTL = 20


def wait_until(holds, name, patience=PATIENCE, pause=0.1):
    """Waits for a condition of another program; a limit, no measure."""
    end = time.monotonic() + patience
    while not (found := holds()):
        if time.monotonic() > end:
            raise TimeoutError(f"{name}: not so after {patience} s")
        time.sleep(pause)
    return found


class Place:
    """A folder, and the processes that were started for it."""

    def __init__(self):
        # A time limit ends this program by SIGTERM: what it started ends, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="proof-scale-"))
        self.folder.chmod(0o755)
        self.processes = []

    def start(self, name, *command, user=None, environment=None, **more):
        """Starts a process that ends with this one at the latest. Its output goes to NAME.log."""
        words = ["setpriv", "--pdeathsig", "KILL"]
        if user and os.geteuid() == 0:
            words += ["--reuid", user, "--regid", user, "--init-groups"]
        log = open(self.folder / f"{name}.log", "ab")
        with log:
            process = subprocess.Popen(
                [*words, "--", *map(str, command)], stderr=log, start_new_session=True,
                env={**os.environ, **(environment or {})}, **{"stdout": log, "stdin": subprocess.DEVNULL, **more})
        self.processes.append(process)
        return process

    def own(self, path):
        """Gives a file or folder to the user that PostgreSQL runs as."""
        if os.geteuid() == 0:
            shutil.chown(path, "postgres", "postgres")

    def close(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        for process in self.processes:
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def children_of(pids):
    """The processes below some others, those included."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found, grows = set(pids), True
    while grows:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grows = bool(more)
    return found


def tell(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Certificates:
    """An authority of our own, and a certificate for localhost that all members show."""

    def __init__(self, place):
        self.authority = place.folder / "authority.pem"
        self.chain, self.key = place.folder / "server.pem", place.folder / "server.key"
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        authority_key, request = place.folder / "authority.key", place.folder / "server.csr"
        self.run("req", "-x509", *curve, "-days", "30", "-subj", "/CN=authority", "-keyout", authority_key, "-out",
                 self.authority)
        self.run("req", *curve, "-subj", "/CN=localhost", "-keyout", self.key, "-out", request)
        names = place.folder / "names"
        names.write_text("subjectAltName=DNS:localhost\n")
        self.run("x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", authority_key, "-CAcreateserial",
                 "-days", "30", "-extfile", names, "-out", self.chain)
        self.key.chmod(0o600)
        place.own(self.key)

    @staticmethod
    def run(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Packets:
    """The lines between the machines: packets.py, told over its input."""

    def __init__(self, place, pairs):
        self.turn = threading.Lock()
        self.process = place.start(
            "packets", sys.executable, "-B", HERE / "packets.py", *(f"{port}:{target}" for port, target in pairs),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answer()

    def answer(self):
        if not self.process.stdout.readline():
            raise RuntimeError("packets.py has ended")

    def tell(self, links, state, **more):
        with self.turn:
            self.process.stdin.write((json.dumps({"links": links, "is": state, **more}) + "\n").encode())
            self.process.stdin.flush()
            self.answer()


class Etcd:
    """Members of etcd."""

    def __init__(self, place, count):
        self.place = place
        self.clients = [free_port() for _ in range(count)]
        self.peers = [free_port() for _ in range(count)]
        self.all = ",".join(f"etcd{n}=http://127.0.0.1:{port}" for n, port in enumerate(self.peers))
        self.processes = [self.start(number) for number in range(count)]
        # Patroni ends if the version of the cluster is not decided yet.
        for client in self.clients:
            wait_until(lambda port=client: self.is_ready(port), "etcd is ready")

    @staticmethod
    def is_ready(port):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/version", timeout=2) as answer:
                return json.load(answer)["etcdcluster"] != "not_decided"
        except OSError:
            return False

    def start(self, number):
        client, peer = f"http://127.0.0.1:{self.clients[number]}", f"http://127.0.0.1:{self.peers[number]}"
        name = f"etcd{number}"
        return self.place.start(
            name, "etcd", "--name", name, "--data-dir", self.place.folder / name, "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--initial-cluster", self.all, "--initial-cluster-state", "new", "--initial-cluster-token",
            self.place.folder.name, "--enable-v2", "--unsafe-no-fsync", "--heartbeat-interval", "200",
            "--election-timeout", "2000",
            environment={"ETCD_UNSUPPORTED_ARCH": "arm64"})


class Member:
    """One database machine: a Patroni and its PostgreSQL, with lines that can be cut."""

    def __init__(self, database, number):
        self.database, self.place, self.name = database, database.place, f"db{number}"
        self.listens, self.postgres = free_port(), free_port()
        self.rest_listens, self.rest = free_port(), free_port()
        self.etcd = [(free_port(), client) for client in database.etcd.clients]
        self.data = self.place.folder / self.name / "data"
        self.process = None

    @property
    def pairs(self):
        """The ports that others use, each with the one behind it."""
        return [(self.postgres, self.listens), (self.rest, self.rest_listens), *self.etcd]

    @property
    def links(self):
        return [port for port, _ in self.pairs]

    def configure(self):
        folder = self.data.parent
        folder.mkdir()
        socket_folder = folder / "socket"
        socket_folder.mkdir()
        for path in (folder, socket_folder):
            self.place.own(path)
        certificates = self.database.certificates
        parameters = {
            "ssl": "on", "ssl_cert_file": str(certificates.chain), "ssl_key_file": str(certificates.key),
            "password_encryption": "scram-sha-256", "max_connections": 100, "shared_buffers": "32MB",
            "wal_keep_size": "256MB", "wal_receiver_timeout": "5s", "wal_sender_timeout": "5s",
            # A standby whose primary has gone asks again at once, and finds the new one.
            "wal_retrieve_retry_interval": "500ms",
            "unix_socket_directories": str(socket_folder), "checkpoint_timeout": "5min", "max_wal_size": "512MB",
            **self.database.parameters,
        }
        users = self.database.users
        file = folder / "patroni.json"
        file.write_text(json.dumps({
            "scope": "proof", "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest_listens}", "connect_address": f"127.0.0.1:{self.rest}"},
            # Not etcd3: the cache of Patroni before 3.1 may keep an old sync key for ever (patroni/patroni#2779).
            # With `use_proxies` Patroni asks the addresses as they stand, and not those that etcd tells.
            "etcd": {"hosts": [f"127.0.0.1:{port}" for port, _ in self.etcd], "use_proxies": True},
            "bootstrap": {
                "dcs": {
                    "ttl": TTL, "loop_wait": 1, "retry_timeout": 3, "maximum_lag_on_failover": 1 << 20,
                    "synchronous_mode": True, "synchronous_mode_strict": self.database.is_strict,
                    "primary_start_timeout": 0,
                    "postgresql": {"use_pg_rewind": True, "parameters": parameters},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.listens}", "connect_address": f"127.0.0.1:{self.postgres}",
                "data_dir": str(self.data), "bin_dir": str(POSTGRES), "pgpass": str(folder / "pgpass"),
                "use_unix_socket": True, "remove_data_directory_on_rewind_failure": True,
                "remove_data_directory_on_diverged_timelines": True,
                "parameters": {"unix_socket_directories": str(socket_folder)},
                "authentication": {
                    name: {"username": user, "password": password} for name, (user, password) in users.items()},
                "pg_hba": [
                    "local all postgres trust", "local all all scram-sha-256",
                    "hostssl replication replicator 127.0.0.1/32 scram-sha-256",
                    "hostssl all all 127.0.0.1/32 scram-sha-256",
                ],
            },
        }, indent=1))
        file.chmod(0o600)
        self.place.own(file)
        self.file = file

    def start(self):
        self.process = self.place.start(
            self.name, "patroni", self.file, user="postgres",
            environment={"LANG": "C", "HOME": str(self.data.parent)})

    @property
    def postmaster(self):
        """The process of PostgreSQL; None if it does not run."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            if f"{self.data}".encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        return None

    def everything(self):
        roots = [pid for pid in (self.process.pid if self.process else None, self.postmaster) if pid]
        return children_of(roots)

    def asks(self, path, method="GET", body=None):
        """Status and JSON of its Patroni, beside the lines that may be cut; None if it gives no answer."""
        question = urllib.request.Request(f"http://127.0.0.1:{self.rest_listens}{path}", method=method,
                                          data=json.dumps(body).encode() if body else None)
        try:
            with urllib.request.urlopen(question, timeout=30 if body else 2) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()
        except OSError:
            return None

    @property
    def is_primary(self):
        answer = self.asks("/primary")
        return answer is not None and answer[0] == 200

    # Faults, each with the way back.

    def kill_postgres(self):
        """kill -9 of PostgreSQL's first process; Patroni lives."""
        if pid := self.postmaster:
            tell([pid], signal.SIGKILL)

    def kill(self):
        """kill -9 of Patroni and PostgreSQL: the machine is dead."""
        tell(self.everything(), signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """SIGSTOP of all of it: the machine hangs, its connections stay."""
        self.stopped = self.everything()
        tell(self.stopped, signal.SIGSTOP)

    def go_on(self):
        tell(self.stopped, signal.SIGCONT)

    def cut(self):
        """No packet from or to it."""
        self.database.packets.tell(self.links, "cut")

    def slow(self, seconds):
        self.database.packets.tell(self.links, "slow", seconds=seconds)

    def heal(self):
        self.database.packets.tell(self.links, "open")


class Database:
    """The members, etcd, and HAProxy's port for the nodes."""

    def __init__(self, place, members=3, etcds=3, parameters=None):
        self.place = place
        self.parameters = parameters or {}
        # With two members a strict primary would stop to write when the other one is away.
        self.is_strict = members > 2
        self.users = {"superuser": ("postgres", "superuser-secret"), "replication": ("replicator", "replica-secret"),
                      "rewind": ("rewinder", "rewind-secret")}
        self.certificates = Certificates(place)
        self.etcd = Etcd(place, etcds)
        self.members = [Member(self, number + 1) for number in range(members)]
        self.packets = Packets(place, [pair for member in self.members for pair in member.pairs])
        self.port = free_port()
        for member in self.members:
            member.configure()
            member.start()
        self.balancer = None

    def balance(self, more=""):
        """Starts HAProxy with the port for the nodes, and other sections."""
        servers = "\n".join(
            f"  server {member.name} 127.0.0.1:{member.postgres} check port {member.rest}" for member in self.members)
        file = self.place.folder / "haproxy.cfg"
        file.write_text(f"""global
  maxconn 1000
  stats socket {self.place.folder}/haproxy.sock mode 600 level admin
  log stdout format raw local0 info
defaults
  log global
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  timeout check 2s
listen database
  mode tcp
  bind 127.0.0.1:{self.port}
  option httpchk OPTIONS /primary
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
{more}""")
        self.balancer = self.place.start("haproxy", HAPROXY, "-f", file)

    def primary(self):
        """The member that Patroni names; None while there is none or two."""
        found = [member for member in self.members if member.is_primary]
        return found[0] if len(found) == 1 else None

    def state(self):
        """The cluster as some Patroni tells it: role and state by name."""
        for member in self.members:
            if (answer := member.asks("/cluster")) and answer[0] == 200:
                return {one["name"]: (one["role"], one["state"]) for one in json.loads(answer[1])["members"]}
        return {}

    def is_whole(self):
        """Whether there is a primary, a synchronous standby, and every member streams."""
        state = self.state()
        roles = sorted(role for role, _ in state.values())
        replicas = ["replica"] * (len(self.members) - 2)
        wanted = sorted(["leader", "sync_standby", *replicas])
        return (len(state) == len(self.members) and roles == wanted and self.primary() is not None
                and all(what in ("running", "streaming") for _, what in state.values()))

    def wait_until_whole(self, patience=PATIENCE):
        try:
            wait_until(self.is_whole, "the database is whole", patience, pause=0.25)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {self.state()}") from None

    def sql(self, text, database="proof", member=None):
        """The superuser's statement, on the primary if no member is named."""
        member = member or wait_until(self.primary, "a primary")
        done = subprocess.run(
            [POSTGRES / "psql", "-q", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", member.data.parent / "socket",
             "-p", str(member.listens), "-U", "postgres", "-d", database, "-c", text],
            capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(f"psql: {done.stderr}")
        return done.stdout.strip()

    def switch_over(self):
        """Patroni gives the primary's role to the synchronous standby."""
        primary = wait_until(self.primary, "a primary")
        return primary.asks("/switchover", "POST", {"leader": primary.name})

    def close(self):
        for member in self.members:
            tell(member.everything(), signal.SIGKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
