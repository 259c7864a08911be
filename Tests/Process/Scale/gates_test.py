#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""Gates on several machines: processes of proof-gate that keep used proofs and event tokens in PostgreSQL.

    Tests/Process/Scale/cluster.sh .build/pypi/bin/python Tests/Process/Scale/gates_test.py
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "Tests" / name) for name in ("Support/Runner", "Process/Gate", "Process/Backend")]
os.environ.setdefault("PROOF_BIN", str(ROOT / ".build" / "debug"))
os.environ["PROOF_STORE_MAKER"] = str(pathlib.Path(__file__).resolve().parent / "fresh_store.sh")
import runner  # noqa: E402
from gate_site import GateProcess, Site  # noqa: E402
from parties import HOST, PATIENCE, block  # noqa: E402

SERVERS = pathlib.Path(os.environ["PROOF_POSTGRES"])
POSTGRES = os.environ.get("POSTGRES_BIN", "/usr/lib/postgresql/15/bin")
ORDER = ("GET", "/orders/9")


def page_line():
    """The line of docs/SCALE.md that starts a gate on a database."""
    text = (ROOT / "docs/SCALE.md").read_text().split("\n## Gates\n", 1)[1].split("\n## ", 1)[0]
    return re.search(r"^```sh\n(proof-gate .*?)^```", text, re.M | re.S)[1]


class Gates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        site = cls.site = Site()
        cls.addClassCleanup(site.close)
        prepare, *_ = re.split(r"(?<!\\)\n", block("Start").strip())
        environment = site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"}
        subprocess.run(["bash", "-c", prepare], cwd=site.folder, env=environment, check=True, capture_output=True)
        site.write("routes", "route rest\n  path /*\n  need proof\n  young none\n")
        cls.database = str(site.store).replace("proof_service@", "proof_gate@")
        cls.name = re.search(r"/(store_\d+)\?", cls.database)[1]
        cls.line = page_line().replace('"$replay"', f"'{cls.database}&place=front'")

    def start_whole(self, line=None):
        """A gate whose place is known to lack nothing, as one is after its first window."""
        first = self.start(line)
        self.assertEqual(self.ask(first, self.prove())[1], "clock", "a new place may be a restored backup")
        first.end()
        self.psql("UPDATE pf.replay SET gap = 0, highest = extract(epoch FROM now())")
        return self.start(line)

    def start(self, line=None):
        gate = GateProcess(self.site, line or self.line, [0])
        self.addCleanup(lambda: gate.process.poll() is None and gate.end(signal.SIGKILL))
        return gate

    def setUp(self):
        self.psql("DELETE FROM pf.replay WHERE account = 0")
        self.gate = self.start_whole()

    def psql(self, text):
        return subprocess.check_output(
            [f"{POSTGRES}/psql", "-tAqX", "-h", SERVERS / "main" / "socket", "-p",
             (SERVERS / "main" / "port").read_text().strip(), "-U", "postgres", "-d", self.name, "-c", text], text=True)

    def ask(self, gate, fields, method=ORDER[0], path=ORDER[1]):
        """Status and reason of a gate's judgement, as a proxy hears it."""
        question = urllib.request.Request(f"http://127.0.0.1:{gate.port}/judge", headers={
            "X-Original-Method": method, "X-Original-URI": path, "X-Original-Host": HOST,
            "X-Original-Scheme": "https", **dict(fields)})
        try:
            with urllib.request.urlopen(question, timeout=PATIENCE) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as error:
            with error:
                return int(error.headers.get("Proof-Status") or error.code), error.headers.get("Proof-Refusal", "")

    def prove(self):

        return self.site.prover.prove(*ORDER)

    def test_a_proof_counts_at_one_gate_also_after_kill_9(self):
        one, other = self.gate, self.start()
        fields = self.prove()
        self.assertEqual(self.ask(one, fields)[0], 200)
        self.assertEqual([self.ask(gate, fields)[0] for gate in (other, one)], [401, 401])
        fields = self.prove()
        self.assertEqual(self.ask(other, fields)[0], 200)
        other.end(signal.SIGKILL)
        self.assertEqual(self.ask(self.start(), fields)[0], 401)
        self.assertEqual(self.ask(one, fields)[0], 401)

    def test_of_two_gates_that_are_asked_at_once_one_accepts(self):
        gates = self.gate, self.start()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            proofs = [self.prove() for _ in range(40)]
            pairs = [[pool.submit(self.ask, gate, fields) for gate in gates] for fields in proofs]
            for pair in pairs:
                self.assertEqual(sorted(call.result()[0] for call in pair), [200, 401])

    def test_another_place_shares_nothing(self):
        one, other = self.gate, self.start_whole(self.line.replace("place=front", "place=side"))
        fields = self.prove()
        self.assertEqual([self.ask(gate, fields)[0] for gate in (one, other)], [200, 200])

    def test_without_the_database_no_proof_counts_and_nothing_is_forgotten(self):
        gate = self.gate
        used, fields = self.prove(), self.prove()
        self.assertEqual(self.ask(gate, used)[0], 200)
        self.psql(f"ALTER DATABASE {self.name} CONNECTION LIMIT 0")
        self.addCleanup(self.psql, f"ALTER DATABASE {self.name} CONNECTION LIMIT -1")
        self.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'proof_gate'")
        self.assertEqual(self.ask(gate, fields)[0], 503)
        self.psql(f"ALTER DATABASE {self.name} CONNECTION LIMIT -1")
        self.assertEqual(self.ask(gate, used)[0], 401)
        self.assertEqual(self.ask(gate, self.prove())[0], 200)

    def test_a_wrong_role_or_uri_ends_the_start_and_shows_no_password(self):
        for line, words in (
                (self.line.replace("proof_gate@", "proof_service@"), "42501"),
                (self.line.replace("proof_gate@", "proof_gate:secret@"), "holds a password"),
                (self.line.replace("sslrootcert", "sslcrl"), "sslrootcert")):
            done = subprocess.run(["bash", "-c", line], cwd=self.site.folder, capture_output=True, text=True,
                                  timeout=PATIENCE, check=False, env=self.site.environment | {
                                      "PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"})
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertNotIn("secret", done.stderr)

    def test_a_new_folder_needs_no_replay_file(self):
        file = self.site.folder / "state" / "replay"
        shutil.move(file, self.site.path("replay.away"))
        self.addCleanup(shutil.move, self.site.path("replay.away"), file)
        self.assertEqual(self.ask(self.start(), self.prove())[0], 200)

    def test_silence_of_a_minute_counts_as_a_restored_backup(self):
        fields = self.prove()
        self.assertEqual(self.ask(self.gate, fields)[0], 200)
        self.gate.end()
        self.psql("UPDATE pf.replay SET highest = highest - 70")
        self.psql("DELETE FROM pf.replay_used")
        self.assertEqual(self.ask(self.start(), fields)[0], 401)


if __name__ == "__main__":
    sys.exit(runner.run(runner.of_classes(Gates), sys.argv[1:]))
