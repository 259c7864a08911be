# SPDX-License-Identifier: Apache-2.0

"""The properties of a gate behind a proxy of other people: what passes, what is refused, and a part that is gone."""

import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

from gate_site import GateProcess, Site
from parties import HOST, PATIENCE, Api, Client, answer, block
from place import PageLines
from ports import free_port
import demand

AMBIGUOUS = ("/orders%2f7", "/orders/../health", "/orders/%2e%2e/health", "//health", "/orders//7", "/orders\\7",
             "/health%00", "/health?", "/health#x", "/%68ealth", f"https://{HOST}/orders", "/orders/..;a/health")


class Behind(PageLines):
    """A client, a proxy with the lines of the page, the gate and an API. A subclass starts and stops its proxy."""

    @classmethod
    def setUpClass(cls):
        cls.site = cls.place = Site()
        cls.addClassCleanup(cls.site.close)
        lines = re.split(r"(?<!\\)\n", block("Start").strip())
        for line in lines[:2]:
            cls.run_line(cls(), line)
        keys = [line.split() for line in (cls.site.folder / "verdict.keys").read_text().splitlines()]
        cls.line, cls.gate_port, cls.port = lines[2], free_port(), free_port()
        cls.start_gate()
        cls.addClassCleanup(lambda: cls.gate.process.poll() is None and cls.gate.end())
        cls.api = Api({int(number): bytes.fromhex(key) for number, key in keys})
        cls.addClassCleanup(cls.api.close)
        cls.start_proxy(cls.api.server_address[1])
        cls.addClassCleanup(cls.stop_proxy)
        cls.client = Client(cls.port, cls.site.path("authority.pem"))
        cls.prover = cls.site.prover

    @classmethod
    def start_gate(cls):
        cls.gate = GateProcess(cls.site, cls.line, [cls.gate_port], *cls.options)

    @classmethod
    def page(cls, kind, api):
        """The proxy's lines of the page, with the addresses of this test."""
        text = block(cls.heading, kind)
        for was, now in {"443": f"127.0.0.1:{cls.port}", "127.0.0.1:9080": f"127.0.0.1:{cls.gate_port}",
                         "127.0.0.1:8080": f"127.0.0.1:{api}", "/etc/ssl/api.pem": cls.site.path("leaf.pem"),
                         "/etc/ssl/private/api.key": cls.site.path("leaf.key")}.items():
            assert was in text or was == "443", was
            text = text.replace(was, now)
        return text

    def sent(self, *arguments, **more):
        """Status, fields and JSON of an answer, and how many requests the API saw meanwhile."""
        before = len(self.api.seen)
        return *self.client.send(*arguments, **more), len(self.api.seen) - before

    def refused(self, status, kind, *arguments, **more):
        found, fields, _, seen = self.sent(*arguments, **more)
        self.assertEqual((found, fields["Proof-Refusal"], seen), (status, kind, 0), arguments)
        self.assertIsNone(fields["Proof-Verdict"])
        return fields

    def passes(self, *arguments, **more):
        status, fields, answer, _ = self.sent(*arguments, **more)
        self.assertEqual(status, 200, (arguments, answer, dict(fields)))
        self.assertIsNone(fields["Proof-Verdict"], "a verdict is for the API alone")
        return answer["said"]

    def curl(self, target, fields, *options):
        """Version and status of an answer over HTTP/2."""
        done = subprocess.run(
            ["curl", "--silent", "--http2", "--cacert", self.site.path("authority.pem"), "--path-as-is",
             "--resolve", f"{HOST}:{self.port}:127.0.0.1", "--output", os.devnull, "--noproxy", "*",
             "--write-out", "%{http_version} %{http_code}", f"https://{HOST}:{self.port}{target}",
             *options,
             *(word for name, value in [("Host", HOST), *fields] for word in ("--header", f"{name}: {value}"))],
            capture_output=True, text=True, timeout=PATIENCE, check=True)
        return done.stdout


class Proxied(Behind):
    """The properties that hold behind each proxy."""

    gone = 500

    def test_an_app_that_proves_passes_and_its_verdict_names_it(self):
        body = b'{"cents":1200}'
        fields = [("Content-Type", "application/json"), ("Authorization", "Bearer abc")]
        target = "/orders/7?to=%C3%BC"
        said = self.passes("POST", target, self.prover.prove("POST", target, body, fields), body)
        self.assertEqual((said["rule"], said["pass"], said["app"]["handle"]), ("orders", True, self.prover.handle))
        self.assertFalse(said["app"]["failed"])
        said = self.passes("GET", "/orders/7", self.prover.prove("GET", "/orders/7", with_token=False))
        self.assertIn("body", said, "the API learns that a GET has no body")
        line = self.gate.wait(lambda line: line.get("reference") == said["id"])
        self.assertEqual((line["result"], line["handle"]), ("passed", self.prover.handle))

    def test_without_a_proof_nothing_passes_but_what_the_rules_leave_open(self):
        fields = self.refused(401, "proof", "POST", "/orders", [], b"x")
        self.assertTrue(fields["Proof-Time"])
        line = self.gate.wait(lambda line: line.get("reference") == fields["Proof-Reference"])
        self.assertEqual((line["route"], line["result"], line["status"]), ("orders", "request-1", 401))
        self.assertNotIn("app", self.passes("GET", "/health"))
        self.assertIn("why", self.passes("GET", "/prices"), "watched")
        self.refused(401, "proof", "POST", "/health", [], b"")

    def test_a_request_counts_once(self):
        fields = self.prover.prove("POST", "/orders", b"x")
        self.passes("POST", "/orders", fields, b"x")
        self.refused(401, "proof", "POST", "/orders", fields, b"x")

    def test_a_changed_request_does_not_reach_the_apis_code(self):
        def fields():
            return self.prover.prove("POST", "/orders?n=1", b"one", [("Authorization", "Bearer abc")])
        self.refused(401, "proof", "POST", "/orders?n=2", fields(), b"one")
        self.refused(401, "proof", "PUT", "/orders?n=1", fields(), b"one")
        other = [(name, "Bearer xyz" if name == "Authorization" else value) for name, value in fields()]
        self.refused(401, "proof", "POST", "/orders?n=1", other, b"one")
        status, _, answer, _ = self.sent("POST", "/orders?n=1", fields(), b"two")
        self.assertEqual((status, answer), (418, {"refused": "body"}), "the verdict tells the API")
        # Where the proxy tells the length, the gate refuses; elsewhere the API, by the digest of an empty body.
        status, _, _, _ = self.sent("GET", "/orders", self.prover.prove("GET", "/orders"), b"two")
        self.assertEqual(status, 401 if self.tells_length else 418)

    def test_a_client_speaks_neither_for_the_gate_nor_for_the_proxy(self):
        self.passes("GET", "/health")
        for name in ("Proof-Verdict", "Proof-Reference", "Proof-Anything"):
            self.refused(403, "refused", "GET", "/health", [(name, "x")])
        for said in (("X-Original-URI", "/health"), ("X_Original_URI", "/health"), ("X-Original-Method", "GET"),
                     ("X-Forwarded-Uri", "/health"), ("X-Forwarded-Method", "GET"), ("Proof-Route", "health"),
                     ("X-Original-Host", "other.example.com"), ("Proof_Verdict", "x"), ("X-Forwarded-Proto", "http")):
            status, _, _, seen = self.sent("POST", "/orders", [said], b"")
            self.assertIn(status, (401, 403), said)
            self.assertEqual(seen, 0, said)
        status, _, _, seen = self.sent("GET", "/proof-gate")
        self.assertEqual((status, seen), (self.hidden, 0), "the question's own address is no client's")
        self.assertEqual(self.sent("GET", "/health", host="other.example.com")[3], 0)

    def test_a_target_with_two_readings_reaches_nothing(self):
        for target in AMBIGUOUS:
            status, _, _, seen = self.sent("GET", target)
            self.assertIn(status, (400, 401, 403), target)
            self.assertEqual(seen, 0, target)

    def test_a_challenge_is_answered_once_and_its_clearance_passes(self):
        body = b"x" * 100_000
        for method, target, sent in (("GET", "/search?q=%C3%BC", None), ("POST", "/search?a=b", body)):
            status, fields, problem, seen = self.sent(method, target, [], sent)
            self.assertEqual((status, seen, fields["Content-Type"]), (428, 0, "application/problem+json"))
            self.assertEqual((problem["status"], problem["kind"]), (428, "work"))
            self.assertEqual(problem["challenge"], fields["Proof-Challenge"])
            self.assertEqual(fields["Cache-Control"], "private, no-store")
            self.assertIsNone(fields["Proof-Status"])
            solved = answer(fields)
            found, passed, said, _ = self.sent(method, target, solved, sent)
            self.assertEqual((found, said["said"]["solved"]), (200, ["work"]))
            self.assertEqual(said["body"], (sent or b"").decode())
            status, again, _, seen = self.sent(method, target, solved, sent)
            self.assertEqual((status, seen), (428, 0))
            self.assertNotEqual(again["Proof-Challenge"], fields["Proof-Challenge"])
            clearance = [("Proof-Clearance", passed["Proof-Clearance"])]
            self.assertEqual(self.sent("GET", "/search", clearance)[0], 200)
            self.assertEqual(self.sent("GET", "/orders", clearance)[0], 401, "work is no proof")
            self.assertEqual(self.curl("/search", [("Cookie", f"a=b; __Host-proof-clearance={clearance[0][1]}")]),
                             "2 200")
        line = self.gate.wait(lambda line: line.get("reference") == problem["reference"])
        self.assertEqual((line["status"], line["result"]), (428, "challenge-work"))

    def test_a_clearance_that_is_spent_is_replaced(self):
        _, fields, _, _ = self.sent("GET", "/comments")
        _, fields, _, _ = self.sent("GET", "/comments", answer(fields))
        first = fields["Proof-Clearance"]
        status, fields, _, _ = self.sent("GET", "/comments", [("Cookie", f"__Host-proof-clearance={first}")])
        self.assertEqual(status, 200)
        cookie = fields["Set-Cookie"]
        self.assertRegex(cookie, "^__Host-proof-clearance=[^;]*; Path=/; Max-Age=900; Secure; HttpOnly; SameSite=Lax$")
        self.assertEqual(self.sent("GET", "/comments", [("Proof-Clearance", first)])[0], 428)
        self.assertEqual(self.sent("GET", "/comments", [("Cookie", cookie.split(";")[0])])[0], 200)

    def test_an_app_of_less_than_a_day_pays_and_its_ticket_admits_it_after_a_restart(self):
        def prove(**more):
            return self.prover.prove("POST", "/accounts", b"x", **more)
        status, fields, _, seen = self.sent("POST", "/accounts", prove(), b"x")
        self.assertEqual((status, seen), (428, 0))
        said = self.passes("POST", "/accounts", prove() + answer(fields), b"x")
        self.assertEqual((said["solved"], said["app"]["handle"]), (["work"], self.prover.handle))
        self.gate.end()
        self.start_gate()
        status, fields, _, _ = self.sent("GET", "/orders", self.prover.prove("GET", "/orders"))
        ticket = fields["Proof-Ticket"]
        self.assertEqual((status, len(ticket)), (200, 256))
        self.gate.end()
        self.start_gate()
        status, fields, problem, _ = self.sent("GET", "/orders", self.prover.prove("GET", "/orders", with_token=False))
        self.assertEqual((status, fields["Proof-Refusal"], problem["kind"]), (428, "token", "token"))
        self.passes("GET", "/orders",
                    self.prover.prove("GET", "/orders", with_token=False) + [("Proof-Ticket", ticket)])

    def test_an_address_that_sent_bad_tokens_does_work_before_a_token_is_opened(self):
        self.gate.end()
        self.start_gate()
        found = [401]
        while found[-1] == 401:
            fields = self.prover.prove("GET", "/orders", with_token=False)
            found.append(self.client.send("GET", "/orders", [*fields, ("Proof-Token", self.prover.bad_token())])[0])
        self.assertGreaterEqual(len(found), 9, "eight openings at once")
        status, fields, problem, seen = self.sent("GET", "/orders", self.prover.prove("GET", "/orders"))
        self.assertEqual((status, fields["Proof-Refusal"], problem["kind"], seen), (428, "token", "work", 0))
        said = self.passes("GET", "/orders", self.prover.prove("GET", "/orders") + answer(fields))
        self.assertEqual((said["solved"], said["app"]["handle"]), (["work"], self.prover.handle))
        self.passes("GET", "/orders", self.prover.prove("GET", "/orders", with_token=False))

    def test_a_challenge_to_an_app_that_showed_its_token_carries_its_ticket(self):
        self.gate.end()
        self.start_gate()
        status, fields, _, _ = self.sent("POST", "/accounts", self.prover.prove("POST", "/accounts", b"x"), b"x")
        self.assertEqual((status, len(fields["Proof-Challenge"]), len(fields["Proof-Ticket"])), (428, 80, 256))

    def test_a_page_of_another_origin_may_ask_and_read(self):
        mine, other = ("Origin", "https://www.example.com"), ("Origin", "https://evil.example")
        announced = ("Access-Control-Request-Method", "POST")
        self.passes("OPTIONS", "/search", [mine, announced])
        self.assertEqual(self.sent("OPTIONS", "/search", [other, announced])[0], 428)
        _, fields, _, _ = self.sent("GET", "/search", [mine])
        self.assertEqual(fields["Access-Control-Allow-Origin"], mine[1])
        self.assertIn("Proof-Challenge", fields["Access-Control-Expose-Headers"])
        self.assertIsNone(self.sent("GET", "/search", [other])[1]["Access-Control-Allow-Origin"])

    def test_a_person_gets_a_page(self):
        status, fields, _, seen = self.sent("GET", "/search?q=1", [("Accept", "text/html,*/*;q=0.8")])
        self.assertEqual((status, seen, fields["Content-Type"]), (428, 0, "text/html; charset=utf-8"))
        self.assertIn("default-src 'none'", fields["Content-Security-Policy"])

    def test_an_api_asks_for_a_challenge(self):
        number, key = next(iter(self.api.keys.items()))
        _, fields, _, _ = self.sent("GET", "/search")
        _, fields, _, _ = self.sent("GET", "/search", answer(fields))
        clearance = [("Proof-Clearance", fields["Proof-Clearance"])]
        client = demand.client_of(self.passes("GET", "/search", clearance))
        self.assertTrue(client.startswith("s."), "a session of its own")
        # The clearance tells its last second, 900 s after it was made: the demand is of a later one.
        now = int(time.time()) + 1
        text = demand.demand(number, key, client, "memory", now, 1)
        for data, status in ((text[:-1], 403), (text, 204)):
            request = urllib.request.Request(f"http://127.0.0.1:{self.gate.port}/demand", data.encode(), method="POST")
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE) as found:
                    self.assertEqual(found.status, status)
            except urllib.error.HTTPError as error:
                self.assertEqual(error.code, status)
                error.close()
        status, _, problem, _ = self.sent("GET", "/search", clearance)
        self.assertEqual((status, problem["kind"]), (428, "memory"))

    def test_a_rule_may_ask_for_the_gates_word_on_the_time(self):
        fields = self.refused(401, "clock", "GET", "/account", self.prover.prove("GET", "/account"))
        nonce = fields["Proof-Nonce"] + ".once"
        # By the gate's word a clock that is wrong by a day does no harm.
        proof = self.prover.prove("GET", "/account", created=1_000_000_000, nonce=nonce)
        self.assertTrue(self.passes("GET", "/account", proof)["app"]["anchored"])
        self.refused(401, "proof", "GET", "/account", proof)

    def test_with_the_gate_down_the_proxy_is_closed_and_nothing_counts_twice_afterwards(self):
        fields = self.prover.prove("POST", "/orders", b"x")
        self.passes("POST", "/orders", fields, b"x")
        self.gate.end(signal.SIGKILL)
        for request in (("POST", "/orders", self.prover.prove("POST", "/orders", b"x"), b"x"), ("GET", "/health")):
            status, _, _, seen = self.sent(*request)
            self.assertEqual((status, seen), (self.gone, 0))
        self.start_gate()
        self.refused(401, "proof", "POST", "/orders", fields, b"x")
        self.passes("POST", "/orders", self.prover.prove("POST", "/orders", b"x"), b"x")

    def test_sighup_takes_good_files_and_keeps_the_old_ones_for_bad_ones(self):
        good = block("Rules", "text")
        self.addCleanup(self.gate.hang_up)
        self.addCleanup(self.site.write, "routes", good)
        self.site.write("routes", good.replace("need none", "need nothing", 1))
        line = self.gate.hang_up()
        self.assertEqual(line["event"], "files not taken")
        self.assertIn("routes, line 4: need is nothing; it takes none or some of", line["reason"])
        self.passes("GET", "/health")
        self.assertIn("proof_gate_files_refused_total 1\n", self.gate.get("/metrics"))
        self.site.write("routes", good.replace("need none", "need proof", 1))
        self.assertEqual(self.gate.hang_up()["event"], "has read its files again")
        self.refused(401, "proof", "GET", "/health")
        # The gate still knows the app: keys and issuers are the same.
        self.passes("GET", "/orders", self.prover.prove("GET", "/orders", with_token=False))

    def test_over_http_2_a_request_is_judged_alike(self):
        fields = self.prover.prove("GET", "/orders/2?a=b")
        self.assertEqual(self.curl("/orders/2?a=b", []), "2 401")
        self.assertEqual(self.curl("/orders/2?a=c", fields), "2 401")
        self.assertEqual(self.curl("/orders/2?a=b", fields), "2 200")
        self.assertEqual(self.curl("/orders/2?a=b", fields), "2 401")
        self.assertEqual(self.curl("/health", [("Proof-Verdict", "x")]), "2 403")

    def test_the_api_refuses_what_comes_past_the_proxy(self):
        with self.assertRaises(urllib.error.HTTPError) as raised:
            self.gate.get("/orders", self.api.server_address[1])
        self.assertEqual(raised.exception.code, 418)
        raised.exception.close()

    def test_state_is_told_beside_the_proxy(self):
        self.passes("GET", "/health")
        self.assertEqual(self.gate.get("/health"), "ok\n")
        measures = self.gate.get("/metrics")
        self.assertRegex(measures, r'proof_gate_judgements_total\{route="health",result="unjudged",watched="no"\} \d')
        self.assertRegex(measures, r"proof_gate_configuration_age_seconds \d")
        with self.assertRaises(urllib.error.HTTPError) as raised:
            self.gate.get("/metrics", self.gate.port)
        self.assertEqual(raised.exception.code, 404, "not where the proxy asks")
        raised.exception.close()
