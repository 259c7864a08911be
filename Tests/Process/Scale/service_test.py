#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""proof-service on a PostgreSQL that cluster.sh started: killed processes, two side by side, a server that stops.

Every connection to the database has TLS and SCRAM. The services have TLS, too.
"""

import concurrent.futures
import contextlib
import http.client
import http.server
import itertools
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Tests" / "Support" / "Runner"), str(ROOT / "Tests" / "Process" / "Service")]
from checks import Checks  # noqa: E402
from kill import DEVICE, exchanges_of  # noqa: E402
from pooler import Pooler  # noqa: E402
from service import BUILT, PATIENCE, Service, let_unregistered_apps_pass, make_certificate, refusal  # noqa: E402

SERVERS = pathlib.Path(os.environ["PROOF_POSTGRES"])
POSTGRES = pathlib.Path(os.environ.get("POSTGRES_BIN", "/usr/lib/postgresql/15/bin"))
PORT = (SERVERS / "main" / "port").read_text().strip()
CONNECTIONS = 8
# SchemaVersion.needed, less one.
TOO_OLD = 9


def sql(text, database="service"):
    """The answer of the superuser's statement, as psql prints it."""
    done = subprocess.run(
        [POSTGRES / "psql", "-q", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", SERVERS / "main" / "socket",
         "-p", PORT, "-U", "postgres", "-d", database, "-c", text], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def control(*arguments, **environment):
    """pg_ctl on the server; PostgreSQL refuses to run as root."""
    user = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--"] if os.geteuid() == 0 else []
    # pg_ctl's child would keep a pipe open.
    subprocess.run([*user, POSTGRES / "pg_ctl", "-D", SERVERS / "main" / "data", "-l", SERVERS / "main" / "log", "-w",
                    "-t", "60", *arguments], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment})


def uri(passwords, user="proof_service", **others):
    parameters = {"sslrootcert": SERVERS / "authority.pem", "passfile": passwords, "connect_timeout": 30, **others}
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    return f"postgres://{user}@localhost:{PORT}/service?{query}"


def proofctl(*arguments):
    """Exit code and JSON of the operator's tool."""
    done = subprocess.run([BUILT / "proofctl", *map(str, arguments), "--json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def make_passwords(folder):
    """The file of the roles' passwords, for connections."""
    passwords = folder / "passwords"
    passwords.write_text("".join(f"localhost:{PORT}:*:proof_{role}:{role}-secret\n"
                                 for role in ("service", "migrator")))
    passwords.chmod(0o600)
    return passwords


def make_account(folder):
    """The options of an account in a database of its own, locked by the key file of the folder."""
    passwords = make_passwords(folder)
    sql("CREATE DATABASE service OWNER proof_migrator", "postgres")
    code, said = proofctl("store", "migrate", "--store", uri(passwords, "proof_migrator"))
    if code != 0:
        raise RuntimeError(said)
    subprocess.run([BUILT / "service-store", "make", folder, uri(passwords)], check=True, capture_output=True)
    return ["--store", uri(passwords), "--key-file", str(folder / "key")]


class Node(Service):
    """A service with TLS."""

    environment = None

    def __init__(self, store, certificate):
        self.chain, key = certificate
        self.context = ssl.create_default_context(cafile=self.chain)
        super().__init__(*store, "--certificate", self.chain, "--private-key", key, "--quiet",
                         environment=self.environment)

    def connection(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.context)

    def ask(self, method, path, body=None, headers=None):
        """Status and body of an answer."""
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def health(self, wanted):
        """The answer of /health once its status is `wanted`, or the last one after PATIENCE."""
        end = time.monotonic() + PATIENCE
        while (answer := self.ask("GET", "/health"))[0] != wanted and time.monotonic() < end:
            pass
        return answer

    def metric(self, name):
        text = self.ask("GET", "/metrics")[1].decode()
        return int(next(line.split()[1] for line in text.splitlines() if line.startswith(f"proof_service_{name} ")))

    def load(self, *options, connections=CONNECTIONS):
        return subprocess.Popen(
            [BUILT / "proof-load", "--to", f"127.0.0.1:{self.port}", "--tls", self.chain, "--connections",
             str(connections), "--json", *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def loaded(self, *options, connections=CONNECTIONS):
        """Outcomes and errors of a load that ends by itself."""
        out, _ = self.load(*options, connections=connections).communicate(timeout=PATIENCE * 3)
        figures = json.loads(out)
        return figures["outcomes"], figures["errors"]


class Doubler(http.server.ThreadingHTTPServer):
    """Passes challenges on to one node, and each report to both nodes at the same time.

    The first two reports reach one node after the other has answered, so that each node wins one.
    """

    daemon_threads = True

    def __init__(self, nodes):
        super().__init__(("127.0.0.1", 0), DoublerHandler)
        self.nodes = nodes
        self.pool = concurrent.futures.ThreadPoolExecutor(4 * CONNECTIONS)
        self.answers = []
        self.numbers = itertools.count()


class DoublerHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        kept = {"content-type": "application/octet-stream"}
        is_report = self.path == "/v1/report"
        nodes, number = self.server.nodes if is_report else self.server.nodes[:1], None
        if is_report:
            number = next(self.server.numbers)
            if number == 1:
                nodes = nodes[::-1]
        calls = []
        for node in nodes:
            calls.append(self.server.pool.submit(node.ask, "POST", self.path, body, kept))
            if number in (0, 1):
                calls[-1].result()
        answers = [call.result() for call in calls]
        if is_report:
            self.server.answers.append(answers)
        status, content = answers[0]
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


def marks():
    """How many marks of used challenges the database has."""
    tables = " UNION ALL ".join(f"SELECT count(*) AS n FROM pf.spent_{slot:02}" for slot in range(64))
    return int(sql(f"SELECT sum(n) FROM ({tables}) AS counts"))


def test_set_up(checks, passwords, folder):
    migrator = uri(passwords, "proof_migrator")
    newest = int(sql("SELECT version FROM pf.schema"))
    migrate = ["store", "migrate", "--store", migrator]
    checks.that(proofctl(*migrate) == (0, {"from": newest, "to": newest, "gates": True}), "is not repeated")
    # A service of this program needs schema 10. Version 11 is for those with readers.
    back = proofctl(*migrate, "--to", TOO_OLD)
    checks.that(back[0] == 0 and (back[1]["from"], back[1]["to"]) == (newest, TOO_OLD), f"goes back: {back}")
    code, said = proofctl("init", "x", "--store", uri(passwords), "--url", "https://a.example.com", "--key-file",
                          folder / "key")
    checks.that(code == 1 and "migrate" in said["error"], f"a schema that is too old: {said}")
    checks.that(proofctl(*migrate)[0] == 0, "goes forward again")
    code, said = proofctl("store", "migrate", "--store", uri(passwords), "--to", TOO_OLD)
    checks.that(code == 1, f"the service's role has no right to migrate: {said}")
    code, said = proofctl("store", "migrate", "--store", folder / "store")
    checks.that(code == 2 and "postgres://" in said["error"], f"a file has no schema to migrate: {said}")


def test_refusals(checks, passwords, folder):
    """A store that cannot be opened ends the service with one line: the cause, and no password."""
    options = ["--key-file", folder / "key", "--plain", "--listen", "127.0.0.1:0"]
    good = uri(passwords)
    secret = "service-secret"
    wrong = folder / "wrong-passwords"
    wrong.write_text(f"localhost:{PORT}:*:proof_service:wrong-{secret}\n")
    wrong.chmod(0o600)
    for store, words in [
        (good.replace("proof_service@", f"proof_service:{secret}@"), "holds a password"),
        (good + f"&password={secret}", "holds a password"),
        (good + "&sslmode=require", "sslmode=verify-full"),
        (good.replace("sslrootcert", "sslcrl"), "sslrootcert"),
        (good.replace("authority.pem", "other.pem"), "not trusted"),
        (good.replace(str(passwords), str(wrong)), "refused access"),
        (good.replace(str(passwords), str(folder / "nothing")), "refused access"),
        (good + "&account=nothing", "has no account"),
        (good.replace("/service?", "/postgres?"), "not as this program needs it"),
        ("postgres://", "host"),
    ]:
        status, said = refusal("--store", store, *options)
        checks.that(status == 1 and words in said and secret not in said and said.count("\n") == 1,
                    f"{words}: {status} {said}")


def test_attestation(checks, store, certificate, folder):
    with Node(store, certificate) as node:
        accepted = folder / "accepted.first"
        outcomes, errors = node.loaded("--pairs", 100, "--devices", 20, "--accepted", accepted)
        checks.that(outcomes == {"done": 100} and not errors, f"100 attestations: {outcomes} {errors}")
        checks.that(node.metric("reports_passed_total") == 100, "they pass")
        checks.that(marks() == 100, "each challenge is marked once")
        checks.that(sql("SELECT count(*), sum(version) FROM pf.device") == "20|100", "each report is noted once")
        insecure = sql("SELECT count(*) FILTER (WHERE NOT ssl), count(*) > 0 "
                       "FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = 'proof_service'")
        checks.that(insecure == "0|t", f"every connection has TLS: {insecure}")
        outcomes, errors = node.loaded("--replay", accepted)
        checks.that(outcomes == {"same": 100, "other askAgain": 100} and not errors, f"sent again: {outcomes} {errors}")
        checks.that(marks() == 100, "no mark is added")
        checks.that(node.stop() == 0, "stops")


def test_kill(checks, store, certificate, folder):
    """kill -9 under load: what was answered is answered again, byte for byte, by the next process."""
    count = 0
    for number in range(2):
        accepted = folder / f"accepted.{number}"
        with Node(store, certificate) as node:
            load = node.load("--accepted", accepted, "--seconds", 600)
            before = marks()
            while marks() < before + 20:
                pass
            node.process.kill()
            load.communicate(timeout=PATIENCE)
        exchanges = exchanges_of(accepted)
        count += len(exchanges)
        accepted.write_bytes(b"".join(len(one).to_bytes(4, "little") + one for pair in exchanges for one in pair))
        with Node(store, certificate) as node:
            outcomes, errors = node.loaded("--replay", accepted)
            checks.that(outcomes == {"same": len(exchanges), "other askAgain": len(exchanges)} and not errors,
                        f"round {number}, {len(exchanges)} accepted reports: {outcomes} {errors}")
    checks.that(count > 10, f"only {count} reports were accepted before the kills")


def test_two_nodes(checks, store, certificate, token, folder):
    with Node(store, certificate) as one, Node(store, certificate) as other:
        # 1. The same report to both at once.
        before = marks()
        doubler = Doubler([one, other])
        thread = threading.Thread(target=doubler.serve_forever)
        thread.start()
        try:
            load = subprocess.run(
                [BUILT / "proof-load", "--to", f"127.0.0.1:{doubler.server_port}", "--connections", str(CONNECTIONS),
                 "--pairs", "100", "--devices", "20", "--json"], capture_output=True, text=True, timeout=PATIENCE * 3)
        finally:
            doubler.shutdown()
            thread.join()
            doubler.server_close()
        outcomes = json.loads(load.stdout)["outcomes"]
        checks.that(outcomes == {"done": 100}, f"100 attestations over both: {load.stdout} {load.stderr}")
        pairs = doubler.answers
        checks.that(len(pairs) == 100 and all(pair[0] == pair[1] and pair[0][0] == 200 for pair in pairs),
                    f"{sum(pair[0] != pair[1] for pair in pairs)} of {len(pairs)} reports got two answers")
        checks.that(marks() == before + 100, "each report is one use")
        repeated = one.metric("reports_repeated_total") + other.metric("reports_repeated_total")
        checks.that(repeated == 100, f"{repeated} of 100 second answers came from the mark")
        wins = [node.metric("reports_passed_total") for node in (one, other)]
        checks.that(sum(wins) == 100 and min(wins) > 0, f"both nodes won some, or they did not race: {wins}")

        # 2. A ban that one node acknowledged holds for the next report to the other one.
        for round_number in range(5):
            accepted = folder / f"accepted.ban.{round_number}"
            outcomes, errors = other.loaded("--pairs", 1, "--devices", 1, "--accepted", accepted, connections=1)
            checks.that(outcomes == {"done": 1} and not errors, f"{outcomes} {errors}")
            device = json.dumps({"device": exchanges_of(accepted)[0][0][DEVICE].hex()})
            passed, failed = other.metric("reports_passed_total"), other.metric("reports_failed_total")
            status, said = one.ask("POST", "/v1/manage/device/fail", device, {"authorization": f"Bearer {token}"})
            checks.that(status == 200, f"the ban: {status} {said}")
            other.loaded("--pairs", 3, "--devices", 1, connections=1)
            now = (other.metric("reports_passed_total"), other.metric("reports_failed_total"))
            checks.that(now == (passed, failed + 3),
                        f"round {round_number}: passed and failed {passed, failed}, then {now}")
            status, said = one.ask("POST", "/v1/manage/device/clear", device, {"authorization": f"Bearer {token}"})
            checks.that(status == 200, f"the ban is taken back: {status} {said}")


def test_pooler(checks, store, certificate, folder):
    """pgbouncer in session mode stands between a node and the database, and each report is answered as without it."""
    with Pooler(SERVERS, PORT, folder) as pooler:
        behind = ["--store", pooler.uri, *store[2:]]
        with Node(behind, certificate) as node, Node(store, certificate) as direct:
            accepted = folder / "accepted.pooler"
            outcomes, errors = node.loaded("--pairs", 100, "--devices", 20, "--accepted", accepted)
            checks.that(outcomes == {"done": 100} and not errors, f"attestations behind pgbouncer: {outcomes} {errors}")
            outcomes, errors = direct.loaded("--replay", accepted)
            checks.that(outcomes == {"same": 100, "other askAgain": 100} and not errors,
                        f"sent again to a node without it: {outcomes} {errors}")
            checks.that(node.stop() == 0 and direct.stop() == 0, "both stop")


def test_outage(checks, store, certificate, folder):
    """A PostgreSQL that is stopped at once: 503 while it is away, service afterwards, nothing lost."""
    with Node(store, certificate) as node:
        accepted = folder / "accepted.outage"
        node.loaded("--pairs", 20, "--devices", 20, "--accepted", accepted)
        report, answer = exchanges_of(accepted)[0]
        control("-m", "immediate", "stop")
        try:
            for method, path, body in [("GET", "/health", None), ("POST", "/v1/report", report),
                                       ("GET", "/v1/config/demo", None)]:
                status, said = node.ask(method, path, body)
                checks.that(status == 503 and b"cannot reach its storage" in said, f"{path}: {status} {said}")
            failed = node.wait_for("storage failed")
            checks.that("unreachable" in failed["reason"] and "secret" not in failed["reason"], f"the reason: {failed}")
        finally:
            control("start")
        status = node.health(200)[0]
        checks.that(status == 200, f"serves again without a restart: {status}")
        node.wait_for("storage serves again")
        checks.that(node.ask("POST", "/v1/report", report) == (200, answer), "a report of before gets its answer again")
        outcomes, errors = node.loaded("--pairs", 20, "--devices", 20)
        checks.that(outcomes == {"done": 20} and not errors, f"20 attestations afterwards: {outcomes} {errors}")
        checks.that(node.stop() == 0, "stops")


def dump(folder):
    """A backup of the database."""
    file = folder / "backup"
    subprocess.run([POSTGRES / "pg_dump", "-Fc", "-f", file, "-h", SERVERS / "main" / "socket", "-p", PORT, "-U",
                    "postgres", "service"], check=True, capture_output=True)
    return file


def restore(backup):
    """The database as it was at the time of the backup."""
    sql("DROP DATABASE service WITH (FORCE)", "postgres")
    sql("CREATE DATABASE service OWNER proof_migrator", "postgres")
    subprocess.run([POSTGRES / "pg_restore", "--exit-on-error", "-h", SERVERS / "main" / "socket", "-p", PORT, "-U",
                    "postgres", "-d", "service", backup], check=True, capture_output=True)


def test_restored_backup(checks, store, certificate, folder):
    """A backup knows no challenge that was used since. After `store after-restore` none of them counts again."""
    sql("CHECKPOINT")
    subprocess.run([BUILT / "proofctl", "policy", "set", "salt-lifetime=600", *store], check=True, capture_output=True)
    backup = dump(folder)
    accepted = folder / "accepted.backup"
    with Node(store, certificate) as node:
        outcomes, _ = node.loaded("--pairs", 20, "--devices", 20, "--accepted", accepted)
        checks.that(outcomes == {"done": 20}, f"used since the backup: {outcomes}")
        checks.that(node.stop() == 0, "stops")
    # The restored database alone would take these reports a second time.
    restore(backup)
    with Node(store, certificate) as node:
        node.loaded("--replay", accepted)
        checks.that(node.metric("reports_passed_total") > 0, "the test has no used challenge that lives")
        node.stop()
    restore(backup)
    code, said = proofctl("store", "after-restore", *store)
    checks.that(code == 0 and said["account"] == "demo", f"after-restore: {code} {said}")
    for _ in range(2):
        with Node(store, certificate) as node:
            outcomes, errors = node.loaded("--replay", accepted)
            checks.that(outcomes == {"askAgain": 20, "other askAgain": 20} and not errors,
                        f"reports of before, after the restore: {outcomes} {errors}")
            checks.that(node.metric("reports_passed_total") == 0, "no report of before counts")
            outcomes, errors = node.loaded("--pairs", 20, "--devices", 20)
            checks.that(outcomes == {"done": 20} and not errors, f"new ones: {outcomes} {errors}")
            node.stop()
        # A repeated call does no harm.
        checks.that(proofctl("store", "after-restore", *store)[0] == 0, "after-restore again")


def main():
    checks = Checks()
    folder = pathlib.Path(tempfile.mkdtemp())
    # pgbouncer runs as another user.
    folder.chmod(0o755)
    try:
        passwords = make_passwords(folder)
        key = folder / "key"
        key.write_bytes(b"\7" * 32)
        key.chmod(0o600)
        sql("CREATE DATABASE service OWNER proof_migrator", "postgres")
        code, said = proofctl("store", "migrate", "--store", uri(passwords, "proof_migrator"))
        checks.that(code == 0 and said["from"] == 0, f"migrates an empty database: {said}")
        test_set_up(checks, passwords, folder)
        store = ["--store", uri(passwords), "--key-file", key]
        made = subprocess.run([BUILT / "service-store", "make", folder, uri(passwords)], check=True,
                              capture_output=True, text=True)
        let_unregistered_apps_pass(list(map(str, store)))
        certificate = make_certificate(folder, "service")
        test_refusals(checks, passwords, folder)
        test_attestation(checks, store, certificate, folder)
        test_kill(checks, store, certificate, folder)
        test_two_nodes(checks, store, certificate, made.stdout.strip(), folder)
        test_pooler(checks, store, certificate, folder)
        test_outage(checks, store, certificate, folder)
        test_restored_backup(checks, store, certificate, folder)
    finally:
        shutil.rmtree(folder)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
