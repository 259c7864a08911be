#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0

"""proof-gate's defaults, bounds and ends, and which of its servers, keys and files a signal renews."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import ssl
import subprocess
import time
import unittest

from alone_gate_test import RULES, TOLD
from gate_site import GateProcess, Site
from parties import HOST, PATIENCE, Prover, answer
from recorded_waits import RecordedWaits
from redeeming import Asker
import certificates
import demand
import gates

# A request whose body does not come, and whose sender learns that the gate has its header.
HALF = b"POST /judge HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
TLS = " --certificate tls.pem --private-key tls.key"
EVENTS = " --events 127.0.0.1:0 --event-credentials backends --event-replay state/events"


class Bounds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Site()
        cls.addClassCleanup(cls.site.close)
        cls.site_line = cls.site.prepared()
        cls.line = cls.site_line.replace("state/replay", "memory")
        cls.site.write("routes", RULES)
        cls.site.ask("event", "add", "3300", "--gate", "front", "--audience", "shop")
        cls.site.configure()

    def start(self, *options, line=None):
        gate = GateProcess(self.site, line or self.line, [0], *options)
        self.addCleanup(lambda: gate.process.poll() is None and gate.end())
        return gate

    def run_line(self, line):
        """Exit status, output and errors of a line in the folder of the site."""
        environment = self.site.environment | {"PATH": f"{os.environ['PROOF_BIN']}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-c", f"exec {line.strip()}"], cwd=self.site.folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr

    def half(self, gate):
        """A request that stays in flight."""
        one = socket.create_connection(("127.0.0.1", gate.port), timeout=PATIENCE)
        self.addCleanup(one.close)
        one.sendall(HALF)
        self.assertTrue(one.recv(4096).startswith(b"HTTP/1.1 100 "))
        return one

    def ask(self, gate, target, fields=()):
        connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", "/judge", headers=TOLD | {"X-Original-URI": target} | dict(fields))
            answer = connection.getresponse()
            answer.read()
            return answer.status

    # Defaults

    def test_the_port_is_9080_where_none_is_named(self):
        line = self.line.replace("--listen 127.0.0.1:9080 ", "").replace("127.0.0.1:9081", "127.0.0.1:0")
        self.assertNotIn("9080", line)
        with socket.socket() as own:
            own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # The port is taken afterwards, whose ever it is.
            with contextlib.suppress(OSError):
                own.bind(("127.0.0.1", 9080))
                own.listen()
            status, _, errors = self.run_line(line)
        self.assertEqual(status, 1)
        self.assertIn("proof-gate: cannot listen on port 9080 of 127.0.0.1", errors)

    def test_a_unix_socket_has_no_port(self):
        gate = self.start(line=self.line.replace("127.0.0.1:9080", "unix:s"))
        self.assertEqual((gate.started["address"], gate.port), ("unix:s", 0))

    def test_a_stop_waits_for_30_seconds_where_no_time_is_named(self):
        for option, seconds in (("", [30.0]), ("--drain-seconds 25", [25.0])):
            waits = RecordedWaits(self.site.folder)
            waits.file.unlink(missing_ok=True)
            before = dict(self.site.environment)
            self.site.environment |= waits.environment
            try:
                gate = self.start(option)
            finally:
                self.site.environment = before
            self.half(gate)
            self.assertEqual(gate.end(), 1)
            self.assertEqual([wait for wait, in waits.of("condition")], seconds)

    def test_a_configuration_is_fetched_every_day_at_the_least(self):
        # The configuration that is there is kept; the service is not asked before it serves.
        gate = self.start("--service http://127.0.0.1:1 --credential none --poll-seconds 86400")
        self.assertEqual(gate.end(), 0)

    # Limits of the process

    def test_it_may_open_two_files_for_each_connection_and_128_more(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for allowed, expected in ((256, 2176), (2175, 2176), (2177, 2177)):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            gate = self.start()
            limits = pathlib.Path(f"/proc/{gate.process.pid}/limits").read_text()
            gate.end()
            self.assertEqual(re.search(r"^Max open files +(\d+) ", limits, re.M)[1], str(expected))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        # The system's own limit may be exactly that, and not less.
        line = self.line.replace("127.0.0.1:9080", "127.0.0.1:0").replace("127.0.0.1:9081", "127.0.0.1:0")
        status, _, errors = self.run_line(f"bash -c 'ulimit -n 2175; exec \"$@\"' bash {line}")
        self.assertEqual(status, 1)
        self.assertIn("2176 files may have to be open at once, and the system allows 2175", errors)
        gate = self.start(line=f"bash -c 'ulimit -n 2176; exec \"$@\"' bash {self.line.strip()}")
        self.assertEqual(gate.end(), 0)

    def test_it_writes_no_core_dump(self):
        gate = self.start()
        limits = pathlib.Path(f"/proc/{gate.process.pid}/limits").read_text()
        self.assertRegex(limits, r"Max core file size +1 +1 ")

    # Stops

    def test_a_stop_that_gives_up_a_request_ends_with_1(self):
        gate = self.start("--drain-seconds 0")
        self.half(gate)
        self.assertEqual(gate.end(), 1)
        self.assertEqual(gate.lines[-2]["unfinished"], "yes")

    def test_a_second_signal_ends_it_at_once(self):
        gate = self.start()
        self.half(gate)
        gate.process.send_signal(signal.SIGTERM)
        gate.wait(lambda line: line["event"] == "stopping")
        self.assertEqual(gate.end(), -signal.SIGTERM)

    # Renewals by a signal

    def renewed(self, gate):
        after = len(gate.lines)
        gate.hang_up()
        return gate.wait(lambda line: "certificate" in line["event"], after)

    def make_certificate(self):
        certificates.make_leaf(str(self.site.folder), "tls", "authority", "IP:127.0.0.1", 2)
        os.chmod(self.site.path("tls.key"), 0o600)
        return ssl.PEM_cert_to_DER_cert(pathlib.Path(self.site.path("tls.pem")).read_text().split("-----END", 1)[0]
                                        + "-----END CERTIFICATE-----\n")

    def served(self, port):
        """The certificate that a listener shows."""
        context = ssl.create_default_context(cafile=self.site.path("authority.pem"))
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as plain:
            with context.wrap_socket(plain, server_hostname="127.0.0.1") as secure:
                return secure.getpeercert(binary_form=True)

    def test_both_listeners_with_tls_serve_the_new_certificate(self):
        first = self.make_certificate()
        self.site.write("backends", "")
        gate = self.start(TLS + EVENTS)
        ports = (gate.port, gate.started["events"])
        self.assertEqual([self.served(port) for port in ports], [first, first])
        second = self.make_certificate()
        self.assertNotEqual(first, second)
        self.assertEqual([self.served(port) for port in ports], [first, first], "not before the signal")
        self.assertEqual(self.renewed(gate)["event"], "certificate renewed")
        self.assertEqual([self.served(port) for port in ports], [second, second])
        self.site.write("tls.pem", "rubbish")
        line = self.renewed(gate)
        self.assertEqual(line["event"], "certificate not renewed")
        self.assertIn("tls.pem", line["reason"])
        self.assertEqual([self.served(port) for port in ports], [second, second])

    def test_without_tls_no_certificate_is_renewed(self):
        gate = self.start()
        gate.hang_up()
        self.assertEqual(gate.end(), 0)
        self.assertFalse([line for line in gate.lines if "certificate" in line["event"]])

    def test_credentials_of_backends_are_read_again_and_their_requests_are_measured(self):
        def draw(name):
            status, token, errors = self.run_line(f"proof-gate event-credential --file backends --seconds 86400 {name}")
            self.assertEqual((status, errors), (0, ""))
            return token.strip()

        self.site.write("backends", "")
        first = draw("first")
        gate = self.start(EVENTS)
        port = gate.started["events"]
        self.assertEqual(Asker(port, first).redeem("A")["reason"], "malformed")
        self.site.write("backends", "")
        second = draw("second")
        question = {"token": "A", "event": 3300}
        self.assertEqual(Asker(port, second).post("/v1/event", question)[0], 401)
        gate.hang_up()
        self.assertEqual([Asker(port, one).post("/v1/event", question)[0] for one in (first, second)], [401, 200])
        found = gate.get("/metrics")
        self.assertIn('proof_gate_events_total{result="malformed"} 2\n', found)
        self.assertIn('proof_requests_total{route="/v1/event",method="POST",status="401"} 2\n', found)

    def test_a_new_key_makes_a_new_verifier_and_the_same_keys_keep_it(self):
        """A verifier that stayed would hold the app's token, which a new issuer or another own secret must not."""
        # A store that forgets would refuse proofs of its first second.
        gate = self.start(line=self.site_line)

        def known():
            found = re.search(r"^proof_gate_installations (\d+)$", gate.get("/metrics"), re.M)
            return found[1]

        def admit(prover=self.site.prover, count="1"):
            self.assertEqual(self.ask(gate, "/x", prover.prove("GET", "/x")), 200)
            self.assertEqual(known(), count)

        admit()
        gate.hang_up()
        self.assertEqual(known(), "1")
        # Another issuer, with the gate's own key, its mode and its floor as they were.
        self.site.ask("gate", "rotate", "front", "issuer", "next")
        self.site.configure()
        self.assertEqual(gate.hang_up()["event"], "has read its files again")
        self.assertEqual(known(), "0")
        admit()
        # An app that the next issuer admits passes.
        self.site.ask("gate", "rotate", "front", "issuer", "promote")
        self.site.configure()
        gate.hang_up()
        key = os.urandom(16)
        self.site.ask("sdk", "add", "--key", self.site.write("mpk3", key), "--mode", "development")
        other = Prover(gates.App(self.site.url, key, "third").admit(HOST))
        admit(other)
        admit(count="2")
        own = pathlib.Path(self.site.path("state/own.key"))
        before = own.read_bytes()
        self.addCleanup(own.write_bytes, before)
        own.write_bytes(os.urandom(32))
        gate.hang_up()
        self.assertEqual(known(), "0")

    def test_events_that_the_account_lists_later_are_judged_after_a_signal(self):
        self.site.write("backends", "")
        _, credential, _ = self.run_line("proof-gate event-credential --file backends --seconds 86400 shop")
        gate = self.start(EVENTS)
        office = Asker(gate.started["events"], credential.strip())

        def reason():
            return office.redeem("A", event=3400)["reason"]

        self.assertEqual(reason(), "unlisted-event")
        self.site.ask("event", "add", "3400", "--gate", "front", "--audience", "shop")
        self.addCleanup(self.site.ask, "event", "remove", "3400")
        self.site.configure()
        self.assertEqual(reason(), "unlisted-event", "not before the signal")
        self.assertEqual(gate.hang_up()["event"], "has read its files again")
        self.assertEqual(reason(), "malformed")

    def test_a_rule_for_a_host_or_an_event_that_the_account_does_not_list_is_refused(self):
        self.site.write("backends", "")
        line = self.line.replace("127.0.0.1:9080", "127.0.0.1:0").replace("127.0.0.1:9081", "127.0.0.1:0").strip()
        for rule, more, words in (
                ("host other.example.com\n  need none", "", "route a is for host other.example.com, which the account"
                 f" does not list for the gate: it lists {HOST}"),
                ("need proof event 3301", EVENTS, "route a needs event 3301, which the account does not list for the"
                 " gate's audience: it lists 3300-3300"),
                ("need proof event 3300", "", "route a needs event 3300, and this gate redeems none")):
            self.site.write("special", f"route a\n  path /*\n  {rule}\n")
            status, _, errors = self.run_line(line.replace("--routes routes", "--routes special") + more)
            self.assertEqual(status, 1, errors)
            self.assertIn(words, errors)

    def test_a_table_of_demands_has_10000_clients(self):
        handing = ('proof-gate verdict-key --configuration front.jws --fingerprint "$FINGERPRINT"'
                   f" --own-secret 1:state/own.key --output {self.site.path('api.keys')} {HOST}")
        self.assertEqual(self.run_line(handing)[0], 0)
        number, key = pathlib.Path(self.site.path("api.keys")).read_text().split()
        gate = self.start()
        connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=PATIENCE)
        self.addCleanup(connection.close)

        def post(client, kind="work"):
            # A demand is taken within 30 s of its making, and all of them take longer on a busy machine.
            text = demand.demand(int(number), bytes.fromhex(key), f"s.{client:022}", kind, int(time.time()), 1)
            connection.request("POST", "/demand", text)
            answer = connection.getresponse()
            return answer.status, answer.read()

        found = {post(client) for client in range(10_000)}
        self.assertEqual(found, {(204, b"")})
        self.assertEqual(post(10_000), (503, b"the table of demands is full\n"))
        self.assertEqual(gate.wait(lambda line: line["event"] == "demand refused")["reason"],
                         "the table of demands is full")
        # A client whose demand stands gets another one.
        self.assertEqual(post(9_999, "memory"), (204, b""))

    # Requests

    def test_a_challenge_has_a_name_and_a_client_that_answers_it_is_cleared(self):
        self.site.ask("challenge", "add", "slow", "--kind", "work", "--level", "3", "--life", "300")
        self.addCleanup(self.site.ask, "challenge", "remove", "slow")
        self.site.configure()
        gate = self.start()

        def get(name, fields=(), method="GET"):
            told = {"X-Original-Host": HOST, "X-Original-Scheme": "https"}
            connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=PATIENCE)
            with contextlib.closing(connection):
                connection.request(method, f"/.well-known/proofkit/challenges/{name}", headers=told | dict(fields))
                found = connection.getresponse()
                return found.status, found.headers, found.read()

        status, fields, _ = get("slow")
        self.assertEqual((status, len(fields["Proof-Challenge"])), (428, 80))
        status, _, body = get("slow", answer(fields))
        said = json.loads(body)
        self.assertEqual((status, set(said)), (200, {"clearance", "expires"}))
        self.assertEqual(get("slow", [("Proof-Clearance", said["clearance"])])[0], 200)
        self.assertEqual([get("none")[0], get("slow", method="POST")[0]], [404, 405])
        found = gate.get("/metrics")
        for code, count in (("challenge-work", 1), ("cleared", 2)):
            self.assertIn(f'proof_gate_judgements_total{{route="page",result="{code}",watched="no"}} {count}\n', found)

    def test_threads_answer_as_many_as_the_option_says(self):
        def threads(*options):
            gate = self.start(*options)
            status = pathlib.Path(f"/proc/{gate.process.pid}/status").read_text()
            gate.end()
            return int(re.search(r"^Threads:\s+(\d+)$", status, re.M)[1])

        usual = threads()
        self.assertEqual((threads("--threads 8"), threads("--threads 11")), (usual, usual + 3))

    # Files

    def test_a_page_has_at_most_a_mebibyte(self):
        text = "own {{nonce}} {{data}}"

        def write(size):
            self.site.write("page.html", text + " " * (size - len(text) - 3) + "END")

        write(2**20)
        gate = self.start("--page-file page.html")
        connection = http.client.HTTPConnection("127.0.0.1", gate.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", "/judge", headers=TOLD | {"X-Original-URI": "/person"})
            answer = connection.getresponse()
            answer.read()
            query = f"page?challenge={answer.headers['Proof-Challenge']}&method=GET&target=%2Fperson"
            connection.request("GET", "/.well-known/proofkit/" + query, headers=TOLD)
            self.assertTrue(connection.getresponse().read().endswith(b" END"))
        write(2**20 + 1)
        status, _, errors = self.run_line(self.line.strip() + " --page-file page.html")
        self.assertEqual((status, errors), (1, "proof-gate: read page.html: File too large\n"))

    def test_a_request_to_judge_has_at_most_65536_bytes(self):
        words = self.line.split("--replay")[0].replace("proof-gate ", "proof-gate check ").strip()
        for size, is_read in ((65536, True), (65537, False)):
            self.site.write("request", "x" * size)
            status, _, errors = self.run_line(f"{words} request")
            self.assertEqual((status, "read request: File too large" in errors), (1, not is_read), errors)

    def test_a_part_of_nginxs_configuration_that_cannot_be_read_is_named(self):
        folder = self.site.folder / "part.conf"
        folder.mkdir()
        for pattern in ("part.conf", "part.c*"):
            self.site.write("whole.conf", f"events {{}}\ninclude {self.site.folder}/{pattern};\n")
            status, output, errors = self.run_line("proof-gate check --nginx whole.conf")
            self.assertEqual((status, output), (1, ""))
            self.assertIn(f"proof-gate check: {folder}:1: ", errors)
            self.assertIn("Is a directory", errors)


if __name__ == "__main__":
    unittest.main()
