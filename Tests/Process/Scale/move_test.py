#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""`proofctl store move` on the PostgreSQL that cluster.sh started: a file, the database, a file again, with kills."""

import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
from service_test import BUILT, PORT, Checks, Node, POSTGRES, SERVERS, exchanges_of, proofctl, sql, uri  # noqa: E402
from service import let_unregistered_apps_pass, make_certificate, make_store, refusal  # noqa: E402

# One process of psql keeps a lock while a move waits for it.
PSQL = [POSTGRES / "psql", "-q", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", SERVERS / "main" / "socket",
        "-p", PORT, "-U", "postgres", "-d", "service"]
KINDS = ["row", "counter", "device", "gate_line"]


class Lock:
    """A lock in the database, so that a move stops before a known statement."""

    def __init__(self, statement):
        self.process = subprocess.Popen(PSQL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write(f"BEGIN; {statement}; SELECT 'held';\n")
        self.process.stdin.flush()
        while self.process.stdout.readline().strip() != "held":
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate("ROLLBACK;\n")


def kill_at(lock, arguments):
    """Kills a move that waits for a lock."""
    with Lock(lock):
        command = subprocess.Popen([BUILT / "proofctl", *map(str, arguments)], stdout=subprocess.DEVNULL)
        while command.poll() is None and sql("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0":
            pass
        alive = command.poll() is None
        command.kill()
        command.wait()
    while sql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'proof_migrator'") != "0":
        pass
    return alive


def count(path):
    """How many records of each kind a file holds."""
    with sqlite3.connect(path) as connection:
        return [connection.execute(f'SELECT count(*) FROM "{kind}"').fetchone()[0] for kind in KINDS]


def attest(checks, options, certificate, accepted, before=None):
    """20 devices attest. Reports of before get no second use at this place."""
    with Node(options, certificate) as node:
        if before:
            outcomes, errors = node.loaded("--replay", before)
            pairs = len(exchanges_of(before))
            refused = {"askAgain": pairs, "other askAgain": pairs}
            checks.that(outcomes == refused and not errors, f"old salts: {outcomes} {errors}")
        outcomes, errors = node.loaded("--pairs", 40, "--devices", 20, "--accepted", accepted)
        checks.that(outcomes == {"done": 40} and not errors, f"40 attestations: {outcomes} {errors}")
        checks.that(node.stop() == 0, "stops")


def test_there(checks, first, service, key, certificate, migrator, folder):
    accepted = folder / "accepted.file"
    options = ["--store", first, "--key-file", key]
    attest(checks, options, certificate, accepted)
    move = ["store", "move", first, migrator, "--key-file", key]
    checks.that(kill_at("LOCK TABLE pf.account IN ACCESS EXCLUSIVE MODE", move), "is killed before the mark")
    attest(checks, options, certificate, folder / "accepted.again")
    with Node(options, certificate) as node:
        for lock in ["SELECT pg_advisory_xact_lock(20561, 0)", "LOCK TABLE pf.device IN ACCESS EXCLUSIVE MODE",
                     "LOCK TABLE pf.move IN SHARE MODE"]:
            checks.that(kill_at(lock, move), f"is killed at: {lock}")
            checks.that(sql("SELECT count(*) FROM pf.account") == "0", f"the target is empty after: {lock}")
            status, said = node.ask("POST", "/v1/report", exchanges_of(accepted)[0][0])
            checks.that(status == 503, f"the running service refuses a report: {status} {said}")
            status, said = node.ask("GET", "/v1/config/demo")
            checks.that(status == 503, f"the running service refuses a reading: {status} {said}")
    status, said = refusal("--store", first, "--key-file", key, "--plain", "--listen", "127.0.0.1:0")
    checks.that(status == 1 and "was moved to" in said and "secret" not in said, f"it does not start: {said}")
    code, said = proofctl("store", "move", first, folder / "other", "--key-file", key)
    checks.that(code == 1 and "was moved to" in said["error"], f"another target: {said}")
    code, said = proofctl("store", "move", "--undo", first, migrator)
    checks.that((code, said) == (0, {"undone": True}), f"the mark is taken back: {said}")
    attest(checks, options, certificate, folder / "accepted.undone")
    before = count(first)
    code, said = proofctl(*move)
    checks.that(code == 0 and said["moved"] and said["devices"] == 20, f"moves: {said}")
    now = [int(sql(f'SELECT count(*) FROM pf."{kind}"')) for kind in KINDS]
    now[1] += 1  # The revision has a column of its own.
    checks.that(now == before and before[2] == 20, f"counts: {before}, then {now}")
    code, said = proofctl(*move)
    checks.that(code == 0 and not said["moved"], f"a move that is over is known: {said}")
    code, said = proofctl("store", "move", "--undo", first, migrator)
    checks.that(code == 1 and "its account is at" in said["error"], f"is not undone afterwards: {said}")
    before = int(sql("SELECT sum(version) FROM pf.device"))
    attest(checks, ["--store", service, "--key-file", key], certificate, folder / "accepted.db", accepted)
    now = sql("SELECT count(*), sum(version) FROM pf.device")
    checks.that(now == f"20|{before + 40}", f"the same devices attest: {before}, then {now}")


def test_back(checks, last, service, key, certificate, migrator, folder):
    move = ["store", "move", migrator, last, "--key-file", key]
    used = folder / "used"
    used.write_bytes(b"x")
    code, said = proofctl("store", "move", migrator, used, "--key-file", key)
    checks.that(code == 1 and used.read_bytes() == b"x", f"a target that is not empty: {said}")
    code, said = proofctl("store", "move", service, last, "--key-file", key)
    checks.that(code == 1 and not last.exists(), f"the service's role has no right to move: {said}")
    with Node(["--store", service, "--key-file", key], certificate) as node:
        checks.that(kill_at("LOCK TABLE pf.gate_line IN ACCESS EXCLUSIVE MODE", move), "is killed while it copies")
        checks.that(not last.exists(), "the target is empty")
        status, said = node.ask("POST", "/v1/report", exchanges_of(folder / "accepted.db")[0][0])
        checks.that(status == 503, f"the running service refuses a report: {status} {said}")
        status, said = node.ask("GET", "/v1/config/demo")
        checks.that(status == 503, f"the running service refuses a reading: {status} {said}")
    status, said = refusal("--store", service, "--key-file", key, "--plain", "--listen", "127.0.0.1:0")
    checks.that(status == 1 and "was moved to" in said and "secret" not in said, f"it does not start: {said}")
    code, said = proofctl(*move)
    checks.that(code == 0 and said["moved"] and said["devices"] == 20, f"moves back: {said}")
    checks.that(list(folder.glob("*.moving*")) == [], "leaves no other file")
    attest(checks, ["--store", last, "--key-file", key], certificate, folder / "accepted.last", folder / "accepted.db")
    checks.that(count(last)[2] == 20, "the same devices attest")


def test_damage(checks, last, key, folder):
    """Damage in the source is told; the target stays empty."""
    damaged = folder / "damaged"
    with sqlite3.connect(last) as connection, sqlite3.connect(damaged) as copy:
        connection.backup(copy)
    damaged.chmod(0o600)
    with sqlite3.connect(damaged) as connection:
        connection.execute("UPDATE device SET generation = -1 WHERE device = (SELECT max(device) FROM device)")
    code, said = proofctl("store", "move", damaged, folder / "target", "--key-file", key)
    checks.that(code == 1 and "a generation that is none" in said["error"], f"damage: {said}")
    checks.that(not (folder / "target").exists(), "the target is empty")
    code, said = proofctl("store", "move", "--undo", damaged, folder / "target")
    checks.that(code == 0, f"the mark is taken back: {said}")


def main():
    checks = Checks()
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        passwords = folder / "passwords"
        lines = (f"localhost:{PORT}:*:proof_{role}:{role}-secret\n" for role in ("service", "migrator"))
        passwords.write_text("".join(lines))
        passwords.chmod(0o600)
        sql("CREATE DATABASE service OWNER proof_migrator", "postgres")
        migrator, service = uri(passwords, "proof_migrator"), uri(passwords)
        checks.that(proofctl("store", "migrate", "--store", migrator)[0] == 0, "migrates")
        options = make_store(folder)
        let_unregistered_apps_pass(options)
        first, key = pathlib.Path(options[1]), options[3]
        certificate = make_certificate(folder, "service")
        test_there(checks, first, service, key, certificate, migrator, folder)
        test_back(checks, folder / "last", service, key, certificate, migrator, folder)
        test_damage(checks, folder / "last", key, folder)
    finally:
        shutil.rmtree(folder)
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
