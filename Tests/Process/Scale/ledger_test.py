#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Backends on several machines: processes of proof-unlock that share a ledger in PostgreSQL, and orders beside them.

    Tests/Process/Scale/cluster.sh .build/pypi/bin/python Tests/Process/Scale/ledger_test.py
"""

import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Tests" / name) for name in ("Support/Runner", "Process/Backend")]
os.environ.setdefault("PROOF_BIN", str(ROOT / ".build" / "debug"))
os.environ["PROOF_STORE_MAKER"] = str(pathlib.Path(__file__).resolve().parent / "fresh_store.sh")
import runner  # noqa: E402
from orders import ISSUED, REVOKED, SEED, Orders  # noqa: E402
from place import BIN, PageLines  # noqa: E402

SERVERS = pathlib.Path(os.environ["PROOF_POSTGRES"])
POSTGRES = os.environ.get("POSTGRES_BIN", "/usr/lib/postgresql/15/bin")


def page_lines():
    """The commands of docs/SCALE.md, section "Ledgers of backends"."""
    text = (ROOT / "docs/SCALE.md").read_text().split("\n## Ledgers of backends\n", 1)[1].split("\n## ", 1)[0]
    return re.search(r"^```sh\n(.*?)^```", text, re.M | re.S)[1].strip().split("\n")


class Ledgers(PageLines, Orders):
    """The tests of Orders are of the file: here are others, with its parties."""

    test_1_an_order_is_signed_while_the_backend_runs = None
    test_2_two_processes_race_and_are_killed = None
    test_3_a_process_that_holds_the_ledger_for_good_is_named = None

    @classmethod
    def start_backend(cls):
        """None: each test starts those that it needs."""

    def setUp(self):
        self.folder = self.place.path("ledger")
        self.uri = f"{self.place.store}&ledger={self._testMethodName}"
        self.name = re.search(r"/(store_\d+)\?", str(self.place.store))[1]
        self.own[-1] = self.uri

    def start(self, line=None):
        """Another backend on the test's ledger: its process and port."""
        where = self.place.environment | {"PATH": f"{BIN}:{os.environ['PATH']}"}
        process = subprocess.Popen(
            ["bash", "-c", f"exec {line}"] if line else
            [BIN / "proof-unlock", "--keys", self.place.path("sealing.jwks"), *self.own, "--store", self.place.store,
             "--classes", "0", "--anyone"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=where, cwd=self.place.folder)
        self.place.processes.append(process)
        return process, int(process.stdout.readline().split()[-1])

    def at(self, port, *question):
        self.port = port
        return self.grant(*question)

    def psql(self, text):
        return subprocess.check_output(
            [f"{POSTGRES}/psql", "-tAqX", "-h", SERVERS / "main" / "socket", "-p",
             (SERVERS / "main" / "port").read_text().strip(), "-U", "postgres", "-d", self.name, "-c", text], text=True)

    def test_the_lines_of_the_page_copy_a_folder_and_serve_from_the_database(self):
        phone, other = bytes([1]) * 16, bytes([2]) * 16
        self.own[-1] = self.folder
        process, port = self.start()
        self.assertEqual([self.at(port, phone, 3), self.at(port, other, 3)], [200, 200])
        self.place.ask(*self.revoke(other, "--through", "6"))
        process.communicate(timeout=60)
        copy, serve, order = page_lines()
        values = {"$ledger": self.uri, "$store": self.place.store, "$HARDWARE": self.hardware,
                  "$INSTANCE": phone.hex()}

        def filled(line):
            for name, value in values.items():
                line = line.replace(f'"{name}"', f"'{value}'").replace(name, value)
            return line

        self.run_line(filled(copy))
        self.place.write("users", f"ada {'0' * 64} *\n")
        process, port = self.start(filled(serve).replace("--users users", "--anyone"))
        self.own[-1] = self.uri
        _, second = self.start()
        for place in (port, second):
            self.assertEqual([self.at(place, other, 6), self.at(place, phone, 2), self.at(place, phone, 3)],
                             [403, 409, 200], "what the folder remembered")
        self.run_line(filled(order))
        self.assertEqual([self.at(place, phone, 9) for place in (port, second)], [403, 403])
        self.assertEqual([self.at(place, other, 7) for place in (second, port)], [200, 200])
        # A backend that is given an empty ledger would have forgotten.
        self.run_line(filled(copy), refused="has notes already")

    def test_backends_and_tools_race_and_are_killed(self):
        chance = random.Random(SEED)
        phones = [bytes([16 + number]) * 16 for number in range(4)]
        backends = [self.start() for _ in range(2)]
        notes, stop, faults, changed = [], threading.Event(), [], threading.Condition()

        def note(*values):
            with changed:
                notes.append(values)
                changed.notify_all()

        def tokens():
            return [each for each in notes if each[1] == ISSUED]

        def issue(phone, seed):
            own, generation = random.Random(seed), 1
            while not stop.is_set():
                generation += own.randrange(3)
                begin = time.monotonic()
                status = self.at_any(backends, own, phone, generation)
                if status == 200:
                    note(phone, ISSUED, generation, begin, time.monotonic())
                elif status not in (None, 403, 409):
                    faults.append(f"{status} for generation {generation}")

        threads = [threading.Thread(target=issue, args=(phone, number)) for number, phone in enumerate(phones * 2)]
        for thread in threads:
            thread.start()
        for turn in range(24):
            through, phone = turn + chance.randrange(1, 20), chance.choice(phones)
            begin = time.monotonic()
            self.place.ask(*self.revoke(phone, "--through", through))
            note(phone, REVOKED, through, begin, time.monotonic())
            if turn % 6 == 5:
                at = chance.randrange(2)
                process, _ = backends[at]
                process.kill()
                process.wait(timeout=60)
                backends[at] = self.start()
        # The threads may have been late. Their generations pass those of the revocations in any case.
        with changed:
            changed.wait_for(lambda: len(tokens()) > 20, timeout=300)
        stop.set()
        for thread in threads:
            thread.join(timeout=120)
        self.assertEqual(faults, [])
        issued = tokens()
        self.assertGreater(len(issued), 20)
        for phone, _, generation, begin, _ in issued:
            for other, event, bound, _, end in notes:
                if other == phone and end < begin:
                    self.assertTrue(generation > bound if event == REVOKED else generation >= bound,
                                    "a token stands behind a newer one, or behind its revocation")
        # The acknowledged notes are there.
        held = {row.split("|")[0]: tuple(map(int, row.split("|")[1:])) for row in self.psql(
            "SELECT encode(instance, 'hex'), issued, revoked FROM pf.ledger_pair JOIN pf.ledger USING (place) "
            f"WHERE name = '{self._testMethodName}'").split()}
        for phone, event, generation, _, _ in notes:
            self.assertGreaterEqual(held[phone.hex()][0 if event == ISSUED else 1], generation)
        print(f"ledger: seed {SEED}, {len(issued)} tokens, 24 orders, 4 backends killed")

    def at_any(self, backends, chance, phone, generation):
        """As `at`, from several threads."""
        party = object.__new__(type(self))
        party.port = chance.choice(backends)[1]
        return Orders.grant(party, phone, generation)

    def test_without_the_database_nothing_is_issued_and_nothing_is_forgotten(self):
        phone, other = bytes([1]) * 16, bytes([2]) * 16
        _, port = self.start()
        self.assertEqual(self.at(port, phone, 5), 200)
        self.place.ask(*self.revoke(other))
        self.psql(f"ALTER DATABASE {self.name} CONNECTION LIMIT 0")
        self.addCleanup(self.psql, f"ALTER DATABASE {self.name} CONNECTION LIMIT -1")
        self.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'proof_service'")
        self.assertEqual(self.at(port, phone, 6), 503)
        code, _, words = self.place.run(*self.revoke(phone))
        self.assertEqual(code, 1)
        self.assertNotIn("password", words)
        self.psql(f"ALTER DATABASE {self.name} CONNECTION LIMIT -1")
        self.assertEqual([self.at(port, phone, 4), self.at(port, phone, 6), self.at(port, other, 9)], [409, 200, 403])

    def test_a_wrong_uri_ends_the_start_and_shows_no_password(self):
        for uri, words in ((self.uri.replace("proof_service@", "proof_service:secret@"), "holds a password"),
                           (self.uri.replace("sslrootcert", "sslcrl"), "sslrootcert"),
                           (self.uri.replace("proof_service@", "proof_gate@"), "42501")):
            self.own[-1] = uri
            done = subprocess.run(
                [BIN / "proof-unlock", "--keys", self.place.path("sealing.jwks"), *self.own, "--store",
                 self.place.store, "--classes", "0", "--anyone"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
                env=self.place.environment)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertNotIn("secret", done.stderr)


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(Ledgers), sys.argv[1:]))
